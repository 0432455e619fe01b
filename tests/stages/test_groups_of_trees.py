"""Groups of speakers that a protocol names: in records, CSV, tables, report and gate."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from support import Run, cli, lines_to, score_lines, trial_lines, utterances

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.scores import pair, read_scores, read_trials
from privacy_eval.metrics import TrialScores, kaldi_eer
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
        return cli(verb, *tree, *options)


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> GroupedTree:
    tree = GroupedTree(tmp_path_factory.mktemp("groups") / "tree")
    done = tree.verb("privacy-metrics", "--bootstrap", 20)
    assert done.code == 0, done.err
    collected = tree.verb("collect", "--allow-missing")
    assert collected.code == 0, collected.err
    return tree


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
    enrolled = [accent_of.get(s, "") for s in trials.speaker.tolist()]
    tested = [accent_of[utt2spk[u]] for u in trials.utterance.tolist()]
    for accent in "ab":
        rows = np.array([e == t == accent for e, t in zip(enrolled, tested, strict=True)])
        target, nontarget = rows & trials.is_target, rows & ~trials.is_target
        within = record.groups["accent"][accent].within
        assert (within.n_target, within.n_nontarget) == (target.sum(), nontarget.sum())
        scores = TrialScores(trials.score[target], trials.score[nontarget])
        assert within.eer == kaldi_eer(scores).value
        assert set(record.groups["accent"][accent].intervals) >= {"eer", "rank1"}


def test_csv_names_the_groups(tree: GroupedTree) -> None:
    with open(tree.root / "out/results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = {row["metric"] for row in rows if "_within_" in row["metric"]}
    keys = ("eer", "cllr_min", "linkability", "rank1")
    assert names == {f"{key}_within_accent_{g}" for key in keys for g in "ab"}


def test_tables_and_report(tree: GroupedTree) -> None:
    results = ("--results", tree.root / "out/results.json")
    assert cli("tables", *results, "--out", tree.root / "tables").code == 0
    (table,) = (tree.root / "tables").rglob("*_groups_0.txt")
    text = table.read_text()
    assert "by accent" in text and "EER within, %" in text and "Lazy-informed" in text
    latex = table.with_suffix(".tex").read_text()
    assert "[U+" not in latex and latex.count(r"$\pm$") == text.count("\u00b1")
    assert cli("report", *results, "--out", tree.root / "report.html").code == 0
    html = (tree.root / "report.html").read_text()
    assert "Groups of speakers" in html
    groups = read_results(tree.root / "out/results.json").verification[0].groups["accent"]
    assert all(of.test is not None for of in groups.values())
    assert "By accent, the largest difference" in html


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


def test_records_follow_the_metadata(tmp_path: Path) -> None:
    tree = GroupedTree(tmp_path / "tree")
    again = ("privacy-metrics",)
    first = tree.verb(*again)
    assert first.code == 0 and "0 current" in first.err
    assert "0 conditions computed" in tree.verb(*again).err
    tree.write_accents(SPEAKERS[2:])
    changed = tree.verb(*again)
    assert " 0 current" in changed.err
    assert "2 of 8 speakers are in no group of accent" in changed.err
    (tree.root / "data/speakers.csv").unlink()
    missing = tree.verb(*again)
    assert missing.code == 1 and "speakers.csv" in missing.err


@pytest.mark.parametrize("groups", ["[../x.csv:a]", "[/x.csv:a]", "['x.csv:a', 'y.csv:a']"])
def test_wrong_entries(tmp_path: Path, groups: str) -> None:
    (tmp_path / "p.yaml").write_text(f"extends: vpc2020\nname: wrong\ngroups: {groups}\n")
    with pytest.raises(PrivacyEvalError, match=r"p\.yaml"):
        load_protocol(str(tmp_path / "p.yaml"))
    assert "groups" not in load_protocol("vpc2020").to_dict()
