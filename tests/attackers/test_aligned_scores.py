"""Aligned, normalized and fused attackers of a tree: golden scores, what they need, what is made
again, and what they must not have learnt from."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacker_support import REAL_B2, read_score_file, spk2utt_lines
from support import (
    ATTACKERS,
    ENROLLS,
    MODEL,
    SPEAKERS,
    TRIALS,
    Run,
    SpeechTree,
    cli,
    lines_to,
    needs_attackers,
    ok,
    refused,
    score_lines,
    snapshot,
    stage_of,
    utterances_of,
)

from privacy_eval import PrivacyEvalError, load_protocol
from privacy_eval.attackers import alignment
from privacy_eval.attackers.alignment import Alignment
from privacy_eval.choices import ALIGNMENTS, AlignmentName
from privacy_eval.products.freshness import NOTE
from privacy_eval.results.json_store import read_results
from privacy_eval.simulate import write_demo_tree
from privacy_eval.speech.trees.recordings import training_sets
from privacy_eval.stages.asv_scores import vector_sets

OA = f"ASV-{ENROLLS}-{TRIALS}_anon"
TRAINING = "train_clean_360"

# --- golden scores

ENROLLMENT_SET, TRIAL_SET = "libri_test_enrolls", "libri_test_trials_f"
NORMALIZED = ("none", "procrustes", "ridge-reverse")
#: Ids of attackers, and the entries of the protocol that define them.
ALIGNED = {
    **{name: f"alignment: {name}" for name in ALIGNMENTS},
    **{f"{name}-snorm": f"alignment: {name}, norm: snorm" for name in NORMALIZED},
    **{f"{name}-asnorm": f"alignment: {name}, norm: asnorm" for name in NORMALIZED},
}
ENTRIES = "\n".join(
    f"  - {{id: {name}, title: {name}, scoring: aligned, {how}}}" for name, how in ALIGNED.items()
)
PROTOCOL = f"""\
extends: vpc2020
name: ten_speakers
splits: [test]
genders: {{f: all}}
data_sets:
  - id: libri
    title: Libri
    row: libri_test
    enrollment: {ENROLLMENT_SET}
    trials: {TRIAL_SET}
    weight: 1
table_rows: [libri]
data_folders: []
attackers:
  - {{id: plda, title: PLDA, scoring: plda}}
{ENTRIES}
  - {{id: words, title: words, knows: [words], scoring: words}}
  - {{id: fused, title: fusion, scoring: fused, fuses: [none, ridge-reverse, words]}}
"""


class GoldenTree:
    """Golden vectors, lists and transcripts of a folder in the layout of a tree."""

    def __init__(self, root: Path, golden: Path) -> None:
        self.root = root
        lines_to(root / "protocol.yaml", PROTOCOL.splitlines())
        parts = {ENROLLMENT_SET: "test", TRIAL_SET: "test", TRAINING: "train"}
        for name, part in parts.items():
            data, utt2spk = root / "data" / name, golden / f"{part}_utt2spk"
            lines_to(data / "utt2spk", utt2spk.read_text().splitlines())
            lines_to(data / "spk2utt", spk2utt_lines(utt2spk))
            for kind, suffix in (("orig", ""), ("anon", "_anon")):
                scp = root / MODEL / f"xvect_{name}{suffix}/xvector.scp"
                scp.parent.mkdir(parents=True)
                shutil.copy(golden / f"{part}_{kind}.ark.gz", scp)
        for name, file in ((ENROLLMENT_SET, "enrolls"), (TRIAL_SET, "trials")):
            for each in (file, "text"):
                if (golden / each).exists():
                    shutil.copy(golden / each, root / "data" / name / each)
        (root / "exp/results-anon").mkdir(parents=True)

    def check(self, golden: Path, tolerances: Mapping[str, float]) -> str:
        """Score the trials by some attackers, and return the messages."""
        run = cli(
            *(
                "stage",
                "asv-scores",
                "--tree",
                self.root,
                "--results",
                "exp",
                "--conf",
                "protocol.yaml",
            ),
            *("--attackers", ",".join(tolerances)),
        )
        assert run.code == 0 and f"({len(tolerances)} new)" in run.out, run.err
        folder = self.root / "exp/results-anon" / f"ASV-{ENROLLMENT_SET}-{TRIAL_SET}_anon"
        for attacker, tolerance in tolerances.items():
            written = read_score_file(folder / attacker / "scores")
            file = attacker.replace("none", "cosine").replace("-", "_")
            expected = read_score_file(golden / f"{file}.gz")
            assert list(written) == list(expected)
            values = list(expected.values())
            assert list(written.values()) == pytest.approx(values, rel=0, abs=tolerance), attacker
        return run.err


def test_scores_of_real_speech_are_golden(tmp_path: Path) -> None:
    """With 251 pairs of 256 dimensions the rotation of Procrustes is not unique: its scores depend
    on rounding in the fourth decimal."""
    exact = dict.fromkeys((*ALIGNED, "words"), 1e-9)
    loose = {"procrustes": 5e-3, "procrustes-snorm": 5e-2, "procrustes-asnorm": 5e-2}
    tree = GoldenTree(tmp_path / "tree", REAL_B2)
    messages = tree.check(REAL_B2 / "scores", {**exact, **loose, "fused": 1e-6})
    assert "251 pairs for 256 dimensions" in messages
    condition = tree.root / f"exp/results-anon/ASV-{ENROLLMENT_SET}-{TRIAL_SET}_anon"
    shutil.copy(REAL_B2 / "scores/cosine.gz", condition / "scores.gz")
    options = ("--tree", tree.root, "--results", "exp", "--conf", "protocol.yaml")
    assert [cli("stage", verb, *options).code for verb in ("privacy-metrics", "collect")] == [0, 0]
    out = tree.root / "exp/privacy_eval"
    records = read_results(out / "results.json").verification
    few = f"anon: {TRAINING}, {TRAINING}_anon: 251 pairs for 256 dimensions"
    warned = {r.condition.attacker for r in records if any(x.startswith(few) for x in r.remarks)}
    of_means = ("none", "shift", "centered")
    assert warned == {a for a in ALIGNED if not a.startswith(of_means)}
    assert cli("report", "--results", out / "results.json", "--out", out / "report.html").code == 0
    page = (out / "report.html").read_text()
    assert few in page and "Scoring took" in page and "words: under a minute" in page
    costs = out / "attacker_seconds.json"
    assert json.loads(costs.read_text())["seconds"].keys() == {*ALIGNED, "words", "fused"}
    shutil.rmtree(condition / "words")
    assert cli("stage", "collect", *options).code == 0 and "words" not in costs.read_text()
    costs.write_text('{"seconds": "x"}')
    run = cli("report", "--results", out / "results.json", "--out", out / "again.html")
    assert run.code == 1 and "attacker_seconds.json" in run.err


@needs_attackers
def test_scores_of_simulated_vectors_are_golden(tmp_path: Path) -> None:
    golden = ATTACKERS / "vectors/simulated"
    tree = GoldenTree(tmp_path / "tree", golden)
    tree.check(golden / "scores", dict.fromkeys(ALIGNED, 1e-9))


# --- what is needed, and made again


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    tree = SpeechTree(tmp_path / "tree")
    for seed, name in enumerate((TRAINING, f"{TRAINING}_anon")):
        tree.training_set(name, MODEL, seed=seed)
    for name in (ENROLLS, TRIALS):
        spoken = utterances_of(name)
        words = (f"{u} {s} says word{n % 7}" for n, (u, s) in enumerate(spoken.items()))
        lines_to(tree.root / "data" / name / "text", words)
        lines_to(tree.root / "data" / name / "utt2spk", (f"{u} {s}" for u, s in spoken.items()))
    return tree


def scored(tree: SpeechTree, attackers: str | None = None) -> Run:
    return tree.run("asv-scores", *(() if attackers is None else ("--attackers", attackers)))


def score_file(tree: SpeechTree, attacker: str) -> Path:
    return tree.root / tree.results / OA / attacker / "scores"


def inputs_of(path: Path) -> dict[str, dict[str, str]]:
    inputs: dict[str, dict[str, str]] = json.loads(path.with_name(NOTE).read_text())["inputs"]
    return inputs


def add_to_protocol(tree: SpeechTree, text: str) -> None:
    path = tree.root / "small.yaml"
    path.write_text(path.read_text() + text)


def test_every_attacker_scores_once(tree: SpeechTree) -> None:
    assert scored(tree).code == 0
    before = snapshot(tree.root / tree.results)
    run = scored(tree, "all")
    assert run.code == 0 and "(5 new)" in run.out, run.err
    after = snapshot(tree.root / tree.results)
    assert {path: after[path] for path in before} == before
    voices = {"plda", "ridge-reverse", "ridge-reverse-asnorm", "procrustes"}
    fused = inputs_of(score_file(tree, "fused"))
    assert fused.keys() == {"trials", "utt2spk", *(f"{i}_scores" for i in (*voices, "words"))}
    aa = f"ASV-{ENROLLS}_anon-{TRIALS}_anon"
    beside = inputs_of(tree.root / tree.results / aa / "fused/scores")
    assert beside.keys() == fused.keys()
    assert Path(beside["plda_scores"]["path"]).parts[-2:] == (aa, "scores")
    assert beside["words_scores"] == fused["words_scores"]
    learnt = inputs_of(score_file(tree, "procrustes"))
    anonymized = tree.scp(f"{TRAINING}_anon").relative_to(tree.root)
    assert learnt["training_anonymized_vectors"]["path"] == str(anonymized)
    assert learnt["training_utt2spk"]["path"] == f"data/{TRAINING}/utt2spk"
    assert "new" not in scored(tree, "all").out


def test_by_default_what_was_computed_before_stays_current(tree: SpeechTree) -> None:
    assert scored(tree, "all").code == 0
    tree.training_set(f"{TRAINING}_anon", MODEL, seed=9)
    run = scored(tree)
    assert run.code == 0 and "(5 new)" in run.out and "training_anonymized_vectors" in run.err
    assert "ridge-reverse_scores" in run.err
    score_file(tree, "procrustes").write_text("edited\n")
    assert "1 external" in scored(tree, "challenge,procrustes").out


def test_an_alignment_is_learnt_once(tree: SpeechTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all conditions, and all normalizations."""
    path = tree.root / "small.yaml"
    path.write_text(re.sub("genders: .*", "genders: {f: female, m: male}", path.read_text()))
    for mark in ("", "_anon"):
        male = f"{TRIALS.removesuffix('f')}m{mark}"
        shutil.copytree(tree.root / "data" / f"{TRIALS}{mark}", tree.root / "data" / male)
        tree.vectors(male, of=TRIALS + mark)
    learnt: list[str] = []
    learn = alignment.learn_alignment

    def counted(name: AlignmentName, *vectors: Any) -> Alignment:
        learnt.append(name)
        return learn(name, *vectors)

    monkeypatch.setattr(alignment, "learn_alignment", counted)
    run = scored(tree, "ridge-reverse,ridge-reverse-asnorm,procrustes")
    assert run.code == 0 and "(6 new)" in run.out, run.err
    assert sorted(learnt) == ["procrustes", "ridge-reverse"]


@pytest.mark.parametrize("lost", ["utt2spk", "vectors", "anonymized vectors"])
def test_training_speech_that_is_missing(tree: SpeechTree, lost: str) -> None:
    path = {
        "utt2spk": tree.root / "data" / TRAINING / "utt2spk",
        "vectors": tree.scp(TRAINING),
        "anonymized vectors": tree.scp(f"{TRAINING}_anon"),
    }[lost]
    path.unlink()
    run = scored(tree, "all")
    assert run.code == 0 and str(path.relative_to(tree.root)) in run.err
    assert not score_file(tree, "procrustes").exists()
    fused = inputs_of(score_file(tree, "fused"))
    assert fused.keys() == {"trials", "utt2spk", "plda_scores", "words_scores"}


@pytest.mark.parametrize("attacker", ["procrustes", "ridge-reverse-asnorm"])
def test_training_speech_of_speakers_of_the_trials_is_an_error(
    tree: SpeechTree, attacker: str
) -> None:
    path = tree.root / "data" / TRAINING / "utt2spk"
    path.write_text(path.read_text().replace(" t3\n", f" {SPEAKERS[0]}\n"))
    refused(scored(tree, f"challenge,{attacker}"), "of speakers of the trials", "t3-u0")
    assert not score_file(tree, attacker).exists()
    assert (tree.root / tree.results / OA / "scores").exists()


@pytest.mark.parametrize("attackers", [(), ("words",), ("procrustes", "words")])
def test_training_speech_is_anonymized_and_extracted_for_those_who_learn_from_it(
    tree: SpeechTree, attackers: tuple[str, ...]
) -> None:
    for name in (TRAINING, f"{TRAINING}_anon"):
        shutil.rmtree(tree.scp(name).parent)
        lines_to(tree.root / "data" / name / "wav.scp", ["t0-u0 t.wav"])
    tree.backend(MODEL)  # else it would be trained on these
    learn = "procrustes" in attackers
    assert training_sets(tree.root, tree.protocol, attackers) == ([TRAINING] if learn else [])
    sets = {(TRAINING, MODEL), (f"{TRAINING}_anon", MODEL)} if learn else set()
    tree.run("asv-scores")
    assert set(vector_sets(stage_of(tree), attackers)) == sets


def test_utterances_without_a_pair_are_left_out(tree: SpeechTree) -> None:
    tree.training_set(f"{TRAINING}_anon", MODEL, seed=1, each=3)
    run = scored(tree, "ridge-reverse-asnorm")
    assert run.code == 0 and "left out 20 utterances" in run.err


# --- fusion


def test_scores_from_outside_join_in(tree: SpeechTree) -> None:
    add_to_protocol(
        tree,
        "attackers:\n"
        "  - {id: plda, title: PLDA, scoring: plda}\n"
        "  - {id: listeners, title: listeners}\n"
        "  - {id: both, title: both, scoring: fused, fuses: [plda, listeners]}\n"
        "  - {id: fused, title: fused, scoring: fused}\n",
    )
    assert "no scores to fuse" in scored(tree, "fused").err
    run = scored(tree, "all")
    assert "none of listeners" in run.err and not score_file(tree, "both").exists()
    lines_to(score_file(tree, "listeners"), score_lines("listeners"))
    assert "(4 new)" in scored(tree, "all").out
    assert score_file(tree, "both").read_text() == score_file(tree, "fused").read_text()
    # Of another attack model, its own scores of an attacker go before those of the ignorant one.
    other = tree.root / tree.results / f"ASV-{ENROLLS}_anon-{TRIALS}_anon"
    lines_to(other / "listeners/scores", score_lines("more listeners"))
    run = scored(tree, "all")
    assert "(2 new)" in run.out and "listeners_scores" in run.err


@pytest.mark.parametrize(
    ("spoil", "fact"),
    [
        ("no speakers", f"data/{TRIALS}/utt2spk"),
        ("few speakers", "too few speakers"),
        ("other trials", "words/scores"),
        ("equal scores", "fold 1 of 10: all training scores of words are the same"),
    ],
)
def test_what_cannot_be_fused(tree: SpeechTree, spoil: str, fact: str) -> None:
    if spoil == "few speakers":
        for suffix in ("", "_anon"):
            path = tree.root / "data" / f"{TRIALS}{suffix}" / "trials"
            lines_to(path, [x for x in path.read_text().splitlines() if "s4" not in x])
    assert scored(tree, "challenge,words").code == 0
    if spoil == "no speakers":
        (tree.root / "data" / TRIALS / "utt2spk").unlink()
    elif spoil == "other trials":
        lines_to(score_file(tree, "words"), score_lines("words")[1:])
    elif spoil == "equal scores":
        equal = [f"{line.rpartition(' ')[0]} 0.1" for line in score_lines("words")]
        lines_to(score_file(tree, "words"), equal)
    run = scored(tree, "fused")
    assert fact in run.err and not score_file(tree, "fused").exists()
    assert run.code == (0 if spoil == "no speakers" else 1)


# --- protocols


@pytest.mark.parametrize(
    ("entry", "fact"),
    [
        ("scoring: words, alignment: shift", "not aligned"),
        ("scoring: aligned, alignment: rotate", "alignment"),
        ("scoring: aligned, norm: snorm, top: 5", "top belongs to"),
        ("scoring: aligned, norm: asnorm, top: 0", "top must be positive"),
        ("scoring: outside, fuses: [plda, plda]", "not fused"),
        ("scoring: fused, fuses: [plda]", "several other attackers"),
        ("scoring: fused, fuses: [plda, me]", "several other attackers"),
    ],
)
def test_options_of_attackers_that_do_not_go_together(
    tmp_path: Path, entry: str, fact: str
) -> None:
    own = "{id: plda, title: PLDA, scoring: plda}"
    text = f"extends: vpc2020\nattackers: [{own}, {{id: me, title: me, {entry}}}]"
    lines_to(tmp_path / "mine.yaml", [text])
    with pytest.raises(PrivacyEvalError, match=fact):
        load_protocol("mine.yaml", base=tmp_path)


# --- a tree of 2024


def test_all_attackers_of_2024_through_all_stages(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write_demo_tree(tree, load_protocol("vpc2024"), speakers=8, utterances=4, systems=1)
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    for verb, *more in (
        ("asv-scores", "--attackers", "all"),
        ("privacy-metrics",),
        ("similarity",),
        ("identification",),
        ("collect",),
    ):
        ok(cli("stage", verb, *common, *more))
    results = read_results(tree / "exp/privacy_eval/results.json")
    ignorant = [r for r in results.verification if r.condition.attack_model == "ignorant"]
    tried = Counter(r.condition.attacker for r in ignorant)
    without_recordings = (a for a in results.protocol.attackers if not a.encoder)
    assert tried == dict.fromkeys((a.id for a in without_recordings), 4)
    eers = {
        a: [r.values("exact")["eer"] for r in ignorant if r.condition.attacker == a] for a in tried
    }
    assert max(np.mean(eers[a]) for a in ("procrustes", "ridge-reverse", "fused")) < 0.3
    assert "new" not in cli("stage", "asv-scores", *common, "--attackers", "all").out
