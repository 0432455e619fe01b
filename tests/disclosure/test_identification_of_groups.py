"""Identification by groups of speakers: over a tree, on single files, and on to all outputs."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import (
    ENROLLS,
    SMALL_PROTOCOL,
    SpeechTree,
    cli,
    csv_rows,
    lines_to,
    ok,
    refused,
)

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import Record, galleries

STAGES = ("asv-scores", "privacy-metrics", "similarity", "identification", "collect")
#: One speaker of b; s4 is in no group.
ACCENTS = ["speaker,accent", "s1,a", "s2,a", "s3,b", "s4,"]


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> SpeechTree:
    protocol = f"{SMALL_PROTOCOL}groups: ['data/m.csv:accent', 'data/{ENROLLS}/spk2gender']\n"
    tree = SpeechTree(tmp_path_factory.mktemp("tree") / "tree", protocol=protocol)
    lines_to(tree.root / "data/m.csv", ACCENTS)
    for verb in STAGES:
        run = ok(tree.run(verb, *(["--bootstrap", 20] if verb == "identification" else [])))
        assert verb != "identification" or "1 of 4 speakers are in no group of accent" in run.err
    return tree


def records(tree: SpeechTree) -> list[Record]:
    return list(read_results(tree.root / "exp/privacy_eval/results.json").identification)


def of_groups(record: Record, column: str) -> dict[str, list[Any]]:
    """The rows of groups, by name."""
    rows = record.measurements.select(group_by=column).groups("group")
    return {name: of for (name,), of in rows.items()}


def test_records_are_those_of_single_files(tree: SpeechTree) -> None:
    by = ("--by", tree.root / "data/m.csv:accent", "--by", tree.root / f"data/{ENROLLS}/spk2gender")
    for record in records(tree):
        options = ("--bootstrap", 20, "--format", "json")
        found = json.loads(tree.identified(record.condition, *by, *options).out)
        columns = record.measurements.values("group_by")
        assert {*columns} == found["groups"].keys() == {"accent", "gender"}
        for column in columns:
            plain: dict[str, Any] = found["groups"][column]["groups"]
            groups = of_groups(record, column)
            assert list(plain) == list(groups)
            for name, rows in groups.items():
                one, of = plain[name], rows[-1]
                counts = (one["n_tests"], one["n_speakers"], one["n_enrolled"])
                assert counts == (of["n_tests"], of["n_speakers"], of["n_enrolled"])
                assert one["linkage"] == of.get("value")
                assert ("linkage_interval" in one) == (of["n_speakers"] > 3)
                if "low" in of:
                    assert one["linkage_interval"] == [of["low"], of["high"]]
        accents, genders = (of_groups(record, column) for column in ("accent", "gender"))
        sizes = [[row.get("gallery") for row in accents[name]] for name in "ab"]
        assert sizes == [[2], [None]]
        # All speakers are women: their gallery is the whole one.
        *_, whole = galleries(record)
        alike = ("value", "low", "high")
        assert [genders["f"][-1][n] for n in alike] == [whole[n] for n in alike]
    text = tree.identified(records(tree)[0].condition, *by).out
    assert "one group only" in text and "1 speaker without accent" in text


@pytest.mark.wing("disclosure")
def test_outputs(tree: SpeechTree) -> None:
    results = tree.root / "exp/privacy_eval/results.json"
    record = next(r for r in records(tree) if not r.condition.is_original)
    of_linkage = [r for r in csv_rows(results.with_suffix(".csv")) if r["metric"] == "linkage"]
    keys = ("name", "gallery", "group_by", "group")
    rows = {tuple(r[k] for k in keys): r for r in of_linkage}
    row = rows[record.condition.name, "2", "accent", "a"]
    of = of_groups(record, "accent")["a"][0]
    assert (float(row["value"]), row["low"]) == (of["value"], "")  # of two speakers
    row, whole = rows[record.condition.name, "4", "gender", "f"], of_groups(record, "gender")["f"]
    *_, every = galleries(record)
    assert (float(row["value"]), float(row["low"])) == (every["value"], whole[0]["low"])
    ok(cli("tables", "--results", results, "--formats", "txt", "--out", tree.root / "tables"))
    (table,) = (tree.root / "tables").rglob("*_groups_0_identification.txt")
    assert "Found among N, %" in table.read_text() and "n/a" in table.read_text()
    assert cli("figures", "--results", results, "--out", tree.root / "figures").code == 0
    assert list((tree.root / "figures").glob("groups-identification_accent_*.png"))
    assert cli("report", "--results", results, "--out", tree.root / "r.html").code == 0
    policy = tree.root / "policy.yaml"
    policy.write_text("rules: [{name: x, metric: linkage_2, each: accent, at-most: 1}]")
    (rule,) = json.loads(cli("gate", "--policy", policy, results, "--format", "json").out)["rules"]
    assert rule["of"].split(", ")[0] == "a"


def test_groups_follow_the_labels(tree: SpeechTree) -> None:
    again = ("identification", "--bootstrap", 20)
    assert "3 up to date\n" in tree.run(*again).out
    labels = tree.root / "data/m.csv"
    try:
        lines_to(labels, [*ACCENTS[:-1], "s4,b"])
        assert tree.run("collect").code == 1
        assert "(3 new)" in tree.run(*again).out
        lines_to(labels, [*ACCENTS[:2], "s1,b"])
        refused(tree.run(*again), "m.csv:3: duplicate 's1' with another label")
    finally:
        lines_to(labels, ACCENTS)
        assert tree.run(*again).code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": 1.5}, "not within 0 to 1"),
        ({"low": 0.9, "high": 0.1}, "low <= high"),
        ({"n_tests": -1}, "less than 0"),
    ],
)
def test_wrong_entries_are_refused(
    tree: SpeechTree, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    plain = json.loads((tree.root / "exp/privacy_eval/results.json").read_text())
    rows = plain["identification"][0]["rows"]
    next(row for row in rows if row.get("group") == "a").update(change)
    (tmp_path / "results.json").write_text(json.dumps(plain))
    with pytest.raises(PrivacyEvalError, match=message):
        read_results(tmp_path / "results.json")


def test_usage(tree: SpeechTree, tmp_path: Path) -> None:
    record = records(tree)[0]
    by = ("--by", tree.root / "data/m.csv:accent")
    refused(tree.identified(record.condition, *by, *by), "given twice", code=2)
    done = tree.identified(record.condition, *by, "--job", "1/2", "--out", tmp_path / "ranks")
    assert done.code == 2 and "--by goes without --job" in done.err
    unknown = lines_to(tmp_path / "u.csv", ["speaker,g", "someone,a"])
    done = tree.identified(record.condition, "--by", f"{unknown}:g")
    assert done.code == 1 and "u.csv: no speaker has a group of g: s1, s2, s3, s4" in done.err
    refused(
        tree.identified(record.condition, "--by", f"{unknown}:h"), "expected one column 'h'", code=2
    )
    assert tree.run("identification", *by).code == 2
