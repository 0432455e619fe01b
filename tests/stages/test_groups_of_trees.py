"""Groups of speakers that a protocol names: in records, CSV, tables, report and gate."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from support import (
    ROOT,
    Run,
    cli,
    csv_rows,
    lines_to,
    ok,
    refused,
    score_lines,
    trial_lines,
    utterances,
)

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics import TrialScores, kaldi_eer
from privacy_eval.metrics.pairing import pair
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.results.json_store import read_results, to_json

#: Of the protocol below: one data set, split and gender.
PROTOCOL = """extends: vpc2020
name: with_groups
splits: [test]
genders: {f: female}
data_sets:
  - id: libri
    title: LibriSpeech
    row: "libri_{split}"
    enrollment: "libri_{split}_enrolls"
    trials: "libri_{split}_trials_{gender}"
    weight: 1
table_rows: [libri]
groups: ["data/speakers.csv:accent"]
"""
SET = "ASV-libri_test_enrolls-libri_test_trials_f"


OF_WING = pytest.mark.wing("disclosure")

SPEAKERS = [f"s{i}" for i in range(8)]


class GroupedTree:
    """A tree whose eight speakers have accents."""

    def __init__(self, root: Path) -> None:
        self.root = root
        spoken = utterances(SPEAKERS)
        for name in ("libri_test_trials_f", "libri_test_trials_f_anon"):
            lines_to(root / "data" / name / "trials", trial_lines(spoken))
            lines_to(root / "data" / name / "utt2spk", (f"{u} {s}" for u, s in spoken.items()))
        sets = ("libri_test_enrolls", "libri_test_trials_f")
        for suffixes in (("", ""), ("", "_anon"), ("_anon", "_anon")):
            name = "-".join(("ASV", sets[0] + suffixes[0], sets[1] + suffixes[1]))
            scores = score_lines(name, trial_lines(spoken))
            lines_to(root / "exp/results-now" / name / "scores", scores)
        self.write_accents(SPEAKERS)
        (root / "groups.yaml").write_text(PROTOCOL)

    def write_accents(self, speakers: list[str]) -> None:
        rows = [f"{s},{'ab'[i % 2]}" for i, s in enumerate(speakers)]
        lines_to(self.root / "data/speakers.csv", ["speaker,accent", *rows])

    def verb(self, verb: str, *options: object) -> Run:
        tree = ("--tree", self.root, "--results", "exp", "--conf", "groups.yaml", "--out", "out")
        return cli("stage", verb, *tree, *options)


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> GroupedTree:
    tree = GroupedTree(tmp_path_factory.mktemp("groups") / "tree")
    ok(tree.verb("privacy-metrics", "--bootstrap", 20))
    ok(tree.verb("collect", "--allow-missing"))
    return tree


@OF_WING
def test_records_have_the_values_of_each_group(tree: GroupedTree) -> None:
    results = read_results(tree.root / "out/results.json")
    assert json.loads(to_json(results)) == json.loads((tree.root / "out/results.json").read_text())
    assert results.protocol.groups == ("data/speakers.csv:accent",)
    record = next(r for r in results.verification if r.condition.name == SET)
    accent_of = {s: "ab"[i % 2] for i, s in enumerate(SPEAKERS)}
    folder = next((tree.root / "exp").glob(f"**/{SET}"))
    trials = pair(
        read_scores(folder / "scores"), read_trials(tree.root / "data/libri_test_trials_f/trials")
    )
    spoken = (tree.root / "data/libri_test_trials_f/utt2spk").read_text().splitlines()
    utt2spk = dict(line.split() for line in spoken)
    enrolled = [accent_of.get(s, "") for s in trials.enrolled.tolist()]
    tested = [accent_of[utt2spk[u]] for u in trials.utterance.tolist()]
    for accent in "ab":
        rows = np.array([e == t == accent for e, t in zip(enrolled, tested, strict=True)])
        target, nontarget = rows & trials.is_target, rows & ~trials.is_target
        place = {"group_by": "accent", "group": accent, "against": None}
        within = record.find("eer", **place)
        assert (within["n_target"], within["n_nontarget"]) == (target.sum(), nontarget.sum())
        scores = TrialScores(trials.score[target], trials.score[nontarget])
        assert within["value"] == kaldi_eer(scores).value
        assert "low" in within and "low" in record.find("rank1", **place)


@OF_WING
def test_false_matches_by_loops(tree: GroupedTree) -> None:
    """Rates at the thresholds of all nontargets, counted one by one."""
    accent_of = {s: "ab"[i % 2] for i, s in enumerate(SPEAKERS)}
    folder = next((tree.root / "exp").glob(f"**/{SET}"))
    scored = [line.split() for line in (folder / "scores").read_text().splitlines()]
    trials = [(e, u.split("-")[0], float(score)) for e, u, score in scored]
    nontargets = sorted((s for e, t, s in trials if e != t), reverse=True)
    keys = ("metric", "threshold", "group", "against_group")
    rows = {
        tuple(row[k] for k in keys): row
        for row in csv_rows(tree.root / "out/results.csv")
        if row["name"] == SET
    }
    for rate in ("0.01", "0.1"):
        threshold = nontargets[int(float(rate) * len(nontargets))]
        rates: dict[tuple[str, ...], float] = {}
        for one in "ab":
            missed = [s <= threshold for e, t, s in trials if e == t and accent_of[e] == one]
            rates[(one,)] = sum(missed) / len(missed)
            assert float(rows["fnmr", rate, one, ""]["value"]) == rates[(one,)]
            for other in "ab":
                cell = [
                    s > threshold
                    for e, t, s in trials
                    if e != t and (accent_of[e], accent_of[t]) == (one, other)
                ]
                row = rows["fmr", rate, one, other]
                rates[one, other] = sum(cell) / len(cell)
                assert float(row["value"]) == rates[one, other]
                assert int(row["n_nontarget"]) == len(cell)
        pairs = ([rates[g, g] for g in "ab"], [rates[(g,)] for g in "ab"])
        fdr = 1 - sum(max(of) - min(of) for of in pairs) / 2
        assert float(rows["fdr", rate, "", ""]["value"]) == pytest.approx(fdr, abs=1e-12)


@OF_WING
@pytest.mark.parametrize(
    ("metric", "change", "message"),
    [
        ("fmr", {"n_nontarget": -1}, "less than 0"),
        ("fmr", {"value": 1.5}, "not within 0 to 1"),
        ("fmr", {"against_group": "c"}, "every pair"),
        ("fnmr", {"group": "c"}, "every pair"),
        ("fnmr", {"group": None}, "every pair"),
        ("fdr", {"value": 0.123}, "contradict"),
        ("fdr", {"metric": "garbage"}, "unknown metric"),
    ],
)
def test_wrong_false_matches_are_refused(
    tree: GroupedTree, tmp_path: Path, metric: str, change: dict[str, object], message: str
) -> None:
    plain = json.loads((tree.root / "out/results.json").read_text())
    rows = plain["verification"][0]["rows"]
    row = next(row for row in rows if row["metric"] == metric and "threshold" in row)
    kept = {name: value for name, value in {**row, **change}.items() if value is not None}
    rows[rows.index(row)] = kept
    changed = tmp_path / "results.json"
    changed.write_text(json.dumps(plain))
    with pytest.raises(PrivacyEvalError, match=rf"results\.json.*{message}"):
        read_results(changed)


@OF_WING
def test_csv_names_the_groups(tree: GroupedTree) -> None:
    rows = csv_rows(tree.root / "out/results.csv")
    within = [r for r in rows if r["group_by"] == "accent" and not r["threshold"]]
    keys = ("eer", "cllr_min", "linkability", "rank1")
    assert {(r["metric"], r["group"]) for r in within} == {(k, g) for k in keys for g in "ab"}


@OF_WING
def test_tables_and_report(tree: GroupedTree) -> None:
    results = ("--results", tree.root / "out/results.json")
    assert cli("tables", *results, "--formats", "txt", "--out", tree.root / "tables").code == 0
    (table,) = (tree.root / "tables").rglob("*_groups_0.txt")
    for name, heading in (("disparities", "FNMR ratio"), ("false_match", "Nontargets")):
        (other,) = (tree.root / "tables").rglob(f"*_groups_0_{name}.txt")
        assert heading in other.read_text() and "Without intervals" in other.read_text()
    assert not list((tree.root / "tables").rglob("*_groups_0_wer*"))
    text = table.read_text()
    assert "by accent" in text and "EER within, %" in text and "Lazy-informed" in text
    latex = table.with_suffix(".tex").read_text()
    assert "[U+" not in latex and latex.count(r"$\pm$") == text.count("\u00b1")
    assert cli("report", *results, "--out", tree.root / "report.html").code == 0
    html = (tree.root / "report.html").read_text()
    assert "Groups of speakers" in html
    record = read_results(tree.root / "out/results.json").verification[0]
    tested = record.measurements.select(group_by="accent", against="others")
    assert len(tested) == len(tested.values("group")) == 2
    assert "By accent, the largest difference" in html


@OF_WING
def test_the_gate_judges_each_group(tree: GroupedTree) -> None:
    policy = tree.root / "policy.yaml"
    policy.write_text("rules: [{name: accents, metric: eer, each: accent, at-most: 1}]")
    results = tree.root / "out/results.json"
    files = ("--policy", policy, results, "--format", "json", "--markdown", tree.root / "m.md")
    run = cli("gate", *files)
    (rule,) = json.loads(run.out)["rules"]
    assert rule["of"].split(", ")[0] in ("a", "b")
    policy.write_text(
        "rules: [{name: accents, metric: eer, each: accent, require: [a, c], at-most: 1}]"
    )
    (rule,) = json.loads(cli("gate", *files).out)["rules"]
    assert (rule["decision"], rule["of"]) == ("UNDECIDED", "c")


@OF_WING
def test_records_follow_the_metadata(tmp_path: Path) -> None:
    tree = GroupedTree(tmp_path / "tree")
    again = ("privacy-metrics",)
    first = tree.verb(*again)
    assert first.code == 0 and "up to date (" in first.out
    assert tree.verb(*again).out.endswith(" up to date\n")
    tree.write_accents(SPEAKERS[2:])
    changed = tree.verb(*again)
    assert "up to date (" in changed.out
    assert "2 of 8 speakers are in no group of accent" in changed.err
    (tree.root / "data/speakers.csv").unlink()
    refused(tree.verb(*again), "speakers.csv")


@OF_WING
def test_results_do_not_hold_outdated_groups(tmp_path: Path) -> None:
    tree = GroupedTree(tmp_path / "tree")
    assert tree.verb("privacy-metrics").code == tree.verb("collect", "--allow-missing").code == 0
    tree.write_accents(SPEAKERS[2:])
    assert tree.verb("collect").code == 1
    assert tree.verb("privacy-metrics").code == tree.verb("collect", "--allow-missing").code == 0
    record = read_results(tree.root / "out/results.json").verification[0]
    within = record.measurements.select(metric="eer", group_by="accent", against=None)
    assert [*within["n_speakers"]] == [3, 3]


@OF_WING
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["s0,a", "s0,b"], r"speakers\.csv:3: duplicate 's0' with another label"),
        (["s0-u0,a", "s0-u1,b"], "speaker 's0' has several labels of accent: 'a' and 'b'"),
    ],
)
def test_contradictory_labels_fail(tmp_path: Path, rows: list[str], message: str) -> None:
    tree = GroupedTree(tmp_path / "tree")
    lines_to(tree.root / "data/speakers.csv", ["speaker,accent", *rows])
    done = tree.verb("privacy-metrics")
    assert done.code == 1 and re.search(message, done.err)
    assert not list((tree.root / "out").rglob("ASV*.json"))


@OF_WING
@pytest.mark.parametrize("size", [1, 8])
def test_tiny_groups_and_a_single_one(tmp_path: Path, size: int) -> None:
    """Groups of one speaker have no nontargets within; a single group has nothing beside it."""
    tree = GroupedTree(tmp_path / "tree")
    rows = [f"{s},g{i // size}" for i, s in enumerate(SPEAKERS)]
    lines_to(tree.root / "data/speakers.csv", ["speaker,accent", *rows])
    assert tree.verb("privacy-metrics", "--bootstrap", 20).code == 0
    assert tree.verb("collect", "--allow-missing").code == 0
    results = ("--results", tree.root / "out/results.json")
    for record in read_results(tree.root / "out/results.json").verification:
        rows = record.measurements.select(group_by="accent")
        assert not len(rows.select(metric="fdr")) and not len(rows.select(against="others"))
    assert cli("tables", *results, "--formats", "txt", "--out", tree.root / "tables").code == 0
    assert not list((tree.root / "tables").rglob("*_disparities*"))
    # The matrix of eight groups is in files only.
    assert bool(list((tree.root / "tables").rglob("*_false_match.txt"))) == (size == 8)
    assert cli("report", *results, "--out", tree.root / "report.html").code == 0
    assert "the largest difference" not in (tree.root / "report.html").read_text()


# Word error rates


@pytest.fixture(name="words", scope="module")
def _words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of 2024 with transcripts of eight speakers, of whom one has no group."""
    folder = tmp_path_factory.mktemp("words")
    shutil.unpack_archive(ROOT / "tests/data/golden/editions/trees.tar.xz", folder)
    tree = folder / "tree2024"
    lines_to(tree / "g.yaml", ["extends: vpc2024", "name: g", "groups: ['data/g.csv:g']"])
    speakers = {line.split()[1] for f in tree.glob("data/*/utt2spk") for line in lines_of(f)}
    rows = [f"{s},{'ab'[i % 2] if i else ''}" for i, s in enumerate(sorted(speakers))]
    lines_to(tree / "data/g.csv", ["speaker,g", *rows])
    for verb in ("privacy-metrics", "collect"):
        ok(cli("stage", verb, *in_tree(tree), *(["--bootstrap", 30] if verb != "collect" else [])))
    return tree


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def in_tree(tree: Path) -> tuple[object, ...]:
    return ("--tree", tree, "--results", "exp", "--conf", "g.yaml", "--out", "out")


@pytest.mark.wing("utility")
def test_word_errors_of_groups_are_those_of_their_transcripts(words: Path, tmp_path: Path) -> None:
    results = read_results(words / "out/results.json")
    label_of = dict(line.split(",") for line in lines_of(words / "data/g.csv"))
    assert len(results.recognition) == 8
    for record in results.recognition:
        c = record.condition
        data = words / "data" / c.name.removeprefix("ASR-").removesuffix("_toy")
        spoken = dict(line.split() for line in lines_of(data / "utt2spk"))
        present = {label_of[s] for s in spoken.values()} - {""}
        of_groups = {row["group"]: row for row in record.measurements.select(group_by="g")}
        assert {*of_groups} == present
        for group, row in of_groups.items():
            own = {u for u, s in spoken.items() if label_of[s] == group}
            assert row["n_speakers"] == len({spoken[u] for u in own})
            files = {"hypothesis": words / "exp/asr" / c.name.removeprefix("ASR-") / "text"}
            files["reference"] = data / "text"
            options: list[object] = ["--format", "json"]
            for name, path in files.items():
                mine = (line for line in lines_of(path) if line.split()[0] in own)
                options += [f"--{name}", lines_to(tmp_path / name, mine)]
            alone = json.loads(cli("wer", *options).out)
            assert (row["value"], row["n_words"]) == (alone["wer"], alone["words"])
            assert ("low" in row) == (row["n_speakers"] > 3)


@pytest.mark.wing("utility")
@OF_WING
def test_word_errors_reach_csv_tables_report_and_gate(words: Path) -> None:
    pytest.importorskip("kaldialign", reason="the extra wer is not installed")
    results = ("--results", words / "out/results.json")
    record = read_results(words / "out/results.json").recognition[0]
    rows = [r for r in csv_rows(words / "out/results.csv") if r["metric"].startswith("wer")]
    of = record.find("wer", group_by="g", group="a")
    name = record.condition.name
    (row,) = (r for r in rows if (r["name"], r["group_by"], r["group"]) == (name, "g", "a"))
    assert [float(row["value"]), row["low"]] == [of["value"], str(of.get("low", ""))]
    assert cli("tables", *results, "--formats", "txt", "--out", words / "tables").code == 0
    (table,) = (words / "tables").rglob("*_groups_0_wer.txt")
    assert "word error rates of transcripts" in table.read_text()
    # Five emotional speakers are in folds of which nothing but means is known.
    first = next((words / "tables").rglob(table.name.replace("_wer.txt", ".txt")))
    assert "Not by g: recalls of emotions" in first.read_text()
    assert cli("figures", *results, "--out", words / "figures").code == 0
    assert list((words / "figures").glob("groups-wer_g_*.png"))
    assert cli("report", *results, "--out", words / "report.html").code == 0
    html = (words / "report.html").read_text()
    assert "Not by g: recalls of emotions" in html
    policy = lines_to(
        words / "p.yaml",
        ["rules:", "- {name: w, metric: wer, each: g, at-most: 1, only: {data_set: [libri]}}"],
    )
    files = ("--policy", policy, words / "out/results.json", "--format", "json")
    grouped = json.loads(cli("gate", *files).out)["rules"]
    assert len({rule["of"].split(", ")[0] for rule in grouped} & {"a", "b"}) == 1
    policy.write_text("rules: [{name: w, metric: wer, at-most: 1}]")
    (whole,) = json.loads(cli("gate", *files).out)["rules"]
    assert "within" not in whole["of"]


@pytest.mark.wing("utility")
def test_word_errors_follow_the_labels(words: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(words, tree)
    (tree / "data/g.csv").write_text("speaker,g\nnobody,a\n")
    assert cli("stage", "collect", *in_tree(tree)).code == 1
    done = cli("stage", "privacy-metrics", *in_tree(tree))
    assert done.code == 0 and "speakers are in no group of g" in done.err
    assert cli("stage", "collect", *in_tree(tree)).code == 0
    results = read_results(tree / "out/results.json")
    records = (*results.recognition, *results.verification)
    assert not any(r.measurements.values("group_by") for r in records)
    (tree / "data/libri_dev_asr/utt2spk").unlink()
    done = cli("stage", "privacy-metrics", *in_tree(tree))
    assert done.code == 1 and "no utt2spk, required by groups of speakers" in done.err


@pytest.mark.parametrize("groups", ["[../x.csv:a]", "[/x.csv:a]", "['x.csv:a', 'y.csv:a']"])
def test_wrong_entries(tmp_path: Path, groups: str) -> None:
    (tmp_path / "p.yaml").write_text(f"extends: vpc2020\nname: wrong\ngroups: {groups}\n")
    with pytest.raises(PrivacyEvalError, match=r"p\.yaml"):
        load_protocol(str(tmp_path / "p.yaml"))
    assert "groups" not in load_protocol("vpc2020").to_dict()
