"""The words of a tree as an attacker: what is scored, from which texts, and what is left alone."""

import json
import shutil
from pathlib import Path

import pytest
from support import (
    ATTACKERS,
    ENROLLS,
    TRIALS,
    SpeechTree,
    cli,
    csv_rows,
    lines_to,
    needs_attackers,
    ok,
    refused,
    snapshot,
    utterances_of,
)

from privacy_eval import load_protocol
from privacy_eval.errors import UsageError
from privacy_eval.products.freshness import NOTE
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import Record
from privacy_eval.simulate import write_demo_tree
from privacy_eval.stages.attackers import select_attackers

OA = f"ASV-{ENROLLS}-{TRIALS}_anon"


def transcribe(tree: SpeechTree, without: str = "") -> None:
    for name in (ENROLLS, TRIALS):
        spoken = utterances_of(name).items()
        words = (f"{u} {s} says word{n % 7}" for n, (u, s) in enumerate(spoken) if u != without)
        lines_to(tree.root / "data" / name / "text", words)


def scored(tree: SpeechTree, *options: str) -> Path:
    ok(cli("stage", "asv-scores", *tree_options(tree), *options))
    return tree.root / tree.results / OA / "words/scores"


def tree_options(tree: SpeechTree) -> list[str]:
    return ["--tree", str(tree.root), "--results", tree.results, "--conf", "small.yaml"]


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path / "tree")


def test_scores_are_those_of_text_scores(tree: SpeechTree, tmp_path: Path) -> None:
    transcribe(tree)
    by_words = scored(tree)
    enrollment, trial = tree.root / "data" / ENROLLS, tree.root / "data" / TRIALS
    alone = cli(
        *("text-scores", "--enrollment", enrollment, "--trial", trial),
        *("--trials", trial / "trials", "--out", tmp_path / "scores"),
    )
    assert alone.code == 0 and (tmp_path / "scores").read_text() == by_words.read_text()
    others = [p.parent.parent.name for p in tree.root.rglob("words/scores")]
    assert others == [OA]


def test_without_transcripts_nothing_changes(tree: SpeechTree) -> None:
    assert not scored(tree).exists()
    before = snapshot(tree.root / tree.results)
    transcribe(tree)
    assert not scored(tree, "--attackers", "challenge").exists()
    assert scored(tree, "--attackers", "words").exists()
    after = snapshot(tree.root / tree.results)
    assert {path: after[path] for path in before} == before


def test_words_alone_need_no_vectors_but_to_be_named(tree: SpeechTree) -> None:
    transcribe(tree)
    tree.scp(f"{TRIALS}_anon").unlink()
    assert cli("stage", "asv-scores", *tree_options(tree)).code == 1
    assert not list(tree.root.rglob("words"))
    assert scored(tree, "--attackers", "words").exists()


def test_transcripts_that_are_missing(tree: SpeechTree) -> None:
    named = cli("stage", "asv-scores", *tree_options(tree), "--attackers", "words")
    assert named.code == 0 and f"data/{ENROLLS}/text" in named.err
    transcribe(tree, without=next(iter(utterances_of(TRIALS))))
    refused(
        cli("stage", "asv-scores", *tree_options(tree)),
        "have no transcript",
        "--attackers challenge",
    )
    assert (tree.root / tree.results / OA / "scores").exists()
    assert not list(tree.root.rglob("words/scores"))


def test_other_words_are_scored_again_and_edited_scores_kept(tree: SpeechTree) -> None:
    transcribe(tree)
    path = scored(tree)
    text = tree.root / "data" / TRIALS / "text"
    text.write_text(text.read_text().replace("word1", "word2"))
    run = cli("stage", "asv-scores", *tree_options(tree))
    assert "(1 new)" in run.out and "trial_transcript" in run.err
    path.write_text("edited\n")
    assert "1 external" in cli("stage", "asv-scores", *tree_options(tree)).out
    assert path.read_text() == "edited\n"


def test_a_recognizer_is_asked_before_the_transcript(tmp_path: Path) -> None:
    protocol = load_protocol("vpc2024")
    write_demo_tree(tmp_path / "tree", protocol, speakers=2, utterances=2, systems=1)
    ok(
        cli(
            "stage",
            "asv-scores",
            "--tree",
            tmp_path / "tree",
            "--results",
            "exp",
            "--conf",
            "vpc2024",
        )
    )
    folder = tmp_path / "tree/exp/asv_orig/libri_dev_enrolls-libri_dev_trials_f_B1/words"
    inputs = json.loads((folder / NOTE).read_text())["inputs"]
    assert inputs["trial_recognized"]["path"] == "exp/asr/libri_dev_asr_B1/text"
    assert inputs["enrollment_text"]["path"] == "data/libri_dev_enrolls/text"


def test_names_of_attackers() -> None:
    protocol = load_protocol("vpc2024")
    assert select_attackers(protocol, "challenge") == {"cosine"}
    assert select_attackers(protocol, "all") == {a.id for a in protocol.attackers}
    assert select_attackers(protocol, " words,") == {"words"}
    with pytest.raises(UsageError, match="plda"):
        select_attackers(protocol, "words,plda")


# --- by session

_TREE = ("--results", "exp", "--conf", "protocol.yaml")
_SETS = ENROLLMENT, TRIAL = "libri_test_enrolls", "libri_test_trials_f"
_BY_WORDS = """\
extends: vpc2020
name: words_of_a_book
splits: [test]
genders: {f: female}
data_sets:
  - id: libri
    title: Libri
    row: libri_test
    enrollment: libri_test_enrolls
    trials: libri_test_trials_f
    weight: 1
table_rows: [libri]
data_folders: []
"""


def evaluated(root: Path, *more: str, attacker: str = "words") -> Record:
    """The record of the words in a tree of transcripts, or of another attacker."""
    lines_to(root / "protocol.yaml", _BY_WORDS.splitlines())
    (root / "exp/results-anon").mkdir(parents=True, exist_ok=True)
    tree = ("--tree", root, *_TREE)
    scores = [("asv-scores", "--attackers", "words")] * (attacker == "words")
    for verb in (*scores, ("privacy-metrics", *more), ("collect",)):
        ok(cli("stage", verb[0], *tree, *verb[1:]))
    records = read_results(root / "exp/privacy_eval/results.json").verification
    return next(r for r in records if r.condition.attacker == attacker)


@needs_attackers
def test_targets_of_enrolled_sessions_are_golden(tmp_path: Path) -> None:
    golden = ATTACKERS / "words"
    for name in _SETS:
        shutil.copytree(golden / name, tmp_path / "data" / name)
    facts = json.loads((golden / "libri_test_expected.json").read_text())[TRIAL]["words"]
    record = evaluated(tmp_path)
    expected = {"enrolled": facts["session_enrolled"], "other": facts["session_not_enrolled"]}
    assert {*record.measurements.values("session")} == expected.keys()
    for name, facts in expected.items():
        eer = record.find("eer", session=name)
        assert (eer["n_target"], eer["n_nontarget"]) == (facts["targets"], facts["nontargets"])
        assert eer["value"] == pytest.approx(facts["eer_kaldi"], abs=1e-12)
        cllr_min = record.find("cllr_min", session=name)["value"]
        assert cllr_min == pytest.approx(facts["cllr_min"], abs=1e-9)


def test_sessions_are_in_records_tables_and_the_report(tmp_path: Path) -> None:
    """Two subjects: a speaker is known by the subject of the session that was enrolled."""
    speakers, data = [f"s{n}" for n in range(10)], tmp_path / "data"
    enrolled = {f"{s}-a-0": s for s in speakers}
    tried = {f"{s}-{session}-{n}": s for s in speakers for session in "ab" for n in (1, 2, 3)}
    for name, spoken in ((ENROLLMENT, enrolled), (TRIAL, tried)):
        words = (f"{u} word{s if '-a-' in u else 's0'} and" for u, s in spoken.items())
        lines_to(data / name / "text", words)
        lines_to(data / name / "utt2spk", (f"{u} {s}" for u, s in spoken.items()))
    lines_to(data / ENROLLMENT / "enrolls", enrolled)
    pairs = [(s, u, s == of) for s in speakers for u, of in tried.items()]
    lines = (f"{s} {u} {'target' if same else 'nontarget'}" for s, u, same in pairs)
    lines_to(data / TRIAL / "trials", lines)
    of_voices = tmp_path / "exp/results-anon" / f"ASV-{ENROLLMENT}-{TRIAL}_anon" / "scores"
    lines_to(of_voices, (f"{s} {u} {n % 7}" for n, (s, u, _) in enumerate(pairs)))
    record = evaluated(tmp_path, "--bootstrap", "50")
    enrolled_session, other = (record.find("eer", session=n) for n in ("enrolled", "other"))
    # The other session of nine speakers is about the subject of s0, whose score is the highest.
    for of in (enrolled_session, other):
        assert [of[n] for n in ("n_target", "n_nontarget", "n_speakers")] == [30, 540, 10]
    # 27 of 540 nontargets score as the highest targets: Kaldi takes the first step above 5 %.
    assert enrolled_session["value"] == pytest.approx(2 / 30, abs=1e-9)
    assert other["value"] > 0.5 and other["low"] < other["value"] <= other["high"]
    out = tmp_path / "exp/privacy_eval"
    rows = csv_rows(out / "results.csv")
    of_words = [r for r in rows if (r["attacker"], r["metric"]) == ("words", "eer")]
    (row,) = (r for r in of_words if r["session"] == "other")
    assert (float(row["value"]), row["n_target"]) == (pytest.approx(other["value"]), "30")
    page = tmp_path / "report.html"
    assert cli("report", "--results", out / "results.json", "--out", page).code == 0
    text = page.read_text()
    assert "(table sessions)" in text and "by session: " in text
    by_session = [
        r.measurements.select(session=("enrolled", "other")) for r in (evaluated(tmp_path), record)
    ]
    assert "low" not in by_session[0].columns
    assert [*by_session[0]["value"]] == [*by_session[1]["value"]]


@pytest.mark.parametrize("told", ["by ids", "by utt2session"])
def test_sessions_of_voices_are_strata_of_enough_targets(told: str, tmp_path: Path) -> None:
    """Scores of another program: EERs by loops over the trials; a caution where all targets are of
    sessions that were enrolled."""
    speakers, data = [f"s{n}" for n in range(4)], tmp_path / "data"
    part = "-" if told == "by ids" else "_"
    enrolled = {part.join((s, "a", "0")): (s, "a") for s in speakers}
    tried = {part.join((s, c, f"{n}")): (s, c) for s in speakers for c in "ab" for n in range(9)}
    for name, spoken in ((ENROLLMENT, enrolled), (TRIAL, tried)):
        lines_to(data / name / "utt2spk", (f"{u} {s}" for u, (s, _) in spoken.items()))
        if told == "by utt2session":
            sessions = (f"{u} {s}_{session}" for u, (s, session) in spoken.items())
            lines_to(data / name / "utt2session", sessions)
    pairs = [(s, u, s == of[0]) for s in speakers for u, of in tried.items()]
    scores = {(s, u): (37 * n) % 101 + 40 * same for n, (s, u, same) in enumerate(pairs)}
    of_voices = tmp_path / "exp/results-anon" / f"ASV-{ENROLLMENT}-{TRIAL}_anon" / "scores"

    def written(kept: str) -> Record:
        some = [(s, u, same) for s, u, same in pairs if tried[u][1] in kept]
        named = (f"{s} {u} {'target' if same else 'nontarget'}" for s, u, same in some)
        lines_to(data / TRIAL / "trials", named)
        lines_to(of_voices, (f"{s} {u} {scores[s, u]}" for s, u, _ in some))
        return evaluated(tmp_path, attacker="plda")

    record = written("ab")
    nontargets = [scores[s, u] for s, u, same in pairs if not same]
    for name, session in (("enrolled", "a"), ("other", "b")):
        of = [scores[s, u] for s, u, same in pairs if same and tried[u][1] == session]
        values = record.find("eer", session=name)
        counts = values["n_target"], values["n_nontarget"]
        assert counts == (len(of), len(nontargets)) == (36, 216)
        assert values["value"] == pytest.approx(loop_eer(of, nontargets), abs=1e-12)
    assert "same_session" not in record.caveats
    alone = written("a")
    assert alone.measurements.values("session") == ["enrolled"] and "same_session" in alone.caveats
    assert not written("b").caveats.get("same_session")


def loop_eer(targets: list[int], nontargets: list[int]) -> float:
    """Kaldi's EER, step by step over the sorted targets."""
    low, high = sorted(targets), sorted(nontargets)
    for step, threshold in enumerate(low):
        place = max(0, len(high) - 1 - int(len(high) * step / len(low)))
        if high[place] < threshold:
            return step / len(low)
    return 1.0
