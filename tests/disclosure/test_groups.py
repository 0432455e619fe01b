"""Groups of speakers: golden values of independent tools, slow loops, metadata of every kind."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden import FOLDER
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT, Run, cli, csv_rows, lines_to, ok, refused

from privacy_eval.disclosure.groups import (
    KINDS,
    GroupReport,
    disparities,
    group_text,
    groups,
    max_t_test,
    summarize_groups,
)
from privacy_eval.io.scores import read_scores, read_trials, with_speakers
from privacy_eval.io.user_tables import age_bands
from privacy_eval.metrics.pairing import pair
from privacy_eval.metrics.strata import Stratum, grouped
from privacy_eval.metrics.trials import Trials

SMALL = FOLDER.parent / "groups"
SHARED = ROOT.parent / "shared/disclosure/groups"
ALL = SHARED if SHARED.is_dir() else SMALL
EXPECTED = json.loads((ALL / "expected.json").read_text())
CASES = [(name, column) for name in EXPECTED for column in ("gender", "accent", "age")]


def paths(name: str) -> list[Path]:
    """Scores and trial key, compressed in the repository."""
    folder = ALL / name
    return [
        p if p.exists() else p.with_suffix(".gz") for p in (folder / "scores", folder / "trials")
    ]


@cache
def trials_of_set(name: str) -> Trials:
    scores, key = paths(name)
    return pair(read_scores(scores), read_trials(key))


@cache
def of_speakers(name: str) -> Trials:
    return with_speakers(trials_of_set(name), ALL / name / "utt2spk")


def report_of(name: str, column: str, **options: int) -> GroupReport:
    rows = csv_rows(ALL / name / "metadata.csv")
    group_of = {row["speaker"]: row[column] for row in rows if row[column]}
    group_of = age_bands(group_of) if column == "age" else group_of
    return groups(of_speakers(name), group_of, **options)


@cache
def report(name: str, column: str) -> GroupReport:
    return report_of(name, column)


def close(value: float | None, expected: float | None, tolerance: float = 1e-9) -> bool:
    if value is None or expected is None:
        return value is expected is None
    return abs(value - expected) <= tolerance


NAMES = {"eer_kaldi": "eer", "min_cllr": "cllr_min", "linkability": "linkability"}


def differing(values: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Names of values that differ from expected ones."""
    pairs = {
        name: (values[name], expected[name]) for name in ("n_target", "n_nontarget", "n_speakers")
    }
    pairs |= {name: (values[own], expected.get(name)) for name, own in NAMES.items()}
    return [n for n, (v, e) in pairs.items() if not close(v, e, 1e-6 if n == "eer_kaldi" else 1e-9)]


@pytest.mark.parametrize(("name", "column"), CASES)
def test_golden_values(name: str, column: str) -> None:
    of, expected = report(name, column), EXPECTED[name]["attributes"][column]
    assert sorted(of.groups) == list(of.groups) == sorted(expected["groups"])
    for group, kinds in of.groups.items():
        for kind in KINDS:
            assert not differing(asdict(kinds[kind]), expected["groups"][group][kind]), (
                group,
                kind,
            )
        assert close(kinds["within"].rank1, expected["groups"][group]["within"]["rank1"])
    assert not differing(asdict(of.within_all), expected["within_all_groups"])
    assert not differing(asdict(of.between_all), expected["between_groups"])


@pytest.mark.parametrize(("name", "column"), CASES)
def test_golden_disparities(name: str, column: str) -> None:
    of = report(name, column)
    for rate in ("0.01", "0.1"):
        expected = EXPECTED[name]["attributes"][column]["at_threshold"][f"fmr_{rate}"]
        matches = of.false_match[rate]
        assert matches.threshold == EXPECTED[name]["thresholds_accept_above"][f"fmr_{rate}"]
        assert list(matches.groups) == expected["groups"]
        assert matches.fnmr == pytest.approx(expected["fnmr"], abs=1e-12)
        for enrolled, row in expected["fmr_matrix"].items():
            for tested, value in row.items():
                assert close(matches.fmr_matrix[enrolled][tested], value, 1e-12)
        measures = of.disparities[rate]
        assert measures is not None and list(measures) == list(expected["disparity_within"])
        for key, value in measures.items():
            assert close(value, expected["disparity_within"][key]), key


@pytest.mark.parametrize("name", EXPECTED)
def test_golden_test(name: str) -> None:
    """The reference's own p-values differ by up to 0.07 between seeds."""
    expected = EXPECTED[name]["attributes"]["accent"]["test_within_eer"]
    tests = report(name, "accent").test
    within = {group: kinds["within"] for group, kinds in report(name, "accent").groups.items()}
    assert {group for group, test in tests.items() if test} == {
        g for g, of in within.items() if of.n_speakers >= 4
    }
    columns = ("groups", "difference", "bootstrap_se", "bootstrap_max_t_p")
    for group, difference, se, p_value in zip(*(expected[c] for c in columns), strict=True):
        test = tests[group]
        if test is not None:
            assert test["difference"] == pytest.approx(difference, abs=1e-12)
            assert test["se"] == pytest.approx(se, rel=0.1)
            assert test["p_value"] == pytest.approx(p_value, abs=0.07)


# Loops


def slow_eer(trials: list[tuple[float, bool, float]]) -> float:
    """Mean of miss and false alarm where they are nearest; trials with weights."""
    totals = [sum(w for _, t, w in trials if t == of) for of in (True, False)]
    points = [(0.0, 1.0)]
    for threshold in sorted({s for s, _, _ in trials}):
        missed = sum(w for s, t, w in trials if t and s <= threshold)
        rejected = sum(w for s, t, w in trials if not t and s <= threshold)
        points.append((missed / totals[0], 1 - rejected / totals[1]))
    miss, false_alarm = min(points, key=lambda point: abs(point[0] - point[1]))
    return (miss + false_alarm) / 2


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_differences_are_those_of_loops(data: st.DataObject) -> None:
    """Four speakers of each of two groups, every speaker enrolled and tested once."""
    names = [f"s{i}" for i in range(8)]
    values = data.draw(st.lists(st.integers(0, 9).map(float), min_size=64, max_size=64))
    group_of = {name: "ab"[i // 4] for i, name in enumerate(names)}
    sides = [(e, t) for e in names for t in names]
    labels = [e == t for e, t in sides]
    enrolled, spoken = zip(*sides, strict=True)
    trials = grouped(
        Trials(
            score=values, label=labels, enrolled=enrolled, utterance=spoken, trial_speaker=spoken
        ),
        group_of,
    )
    tests = max_t_test(trials, replicates=20)
    within = {
        g: [
            (score, label, 1.0)
            for score, label, (e, t) in zip(values, labels, sides, strict=True)
            if group_of[e] == group_of[t] == g
        ]
        for g in "ab"
    }
    expected = slow_eer(within["a"]) - slow_eer(within["b"])
    for group, sign in (("a", 1), ("b", -1)):
        test = tests[group]
        if test is not None:  # replicates may all be equal
            assert test["difference"] == pytest.approx(sign * expected)
            assert 0 < test["p_value"] <= 1 and test["se"] > 0
    first = []
    for name in names[:4]:
        right = values[sides.index((name, name))]
        pairs = zip(values, sides, strict=True)
        others = [v for v, (e, t) in pairs if t == name != e and group_of[e] == "a"]
        first.append(0 if max(others) > right else 1 / (1 + others.count(right)))
    assert summarize_groups(trials)["a"].rank1 == pytest.approx(sum(first) / 4)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=6))
def test_disparities_are_those_of_loops(counts: list[tuple[int, int]]) -> None:
    fmr, fnmr = ([n[side] / 5 for n in counts] for side in (0, 1))
    of = disparities(fmr, fnmr)
    n = len(counts)

    def gini(x: list[float]) -> float | None:
        mean = sum(x) / n
        total = sum(abs(a - b) for a in x for b in x)
        return n / (n - 1) * total / (2 * n * n * mean) if mean else None

    assert of["fdr"] == pytest.approx(1 - (max(fmr) - min(fmr) + max(fnmr) - min(fnmr)) / 2)
    assert close(of["gini_fmr"], gini(fmr)) and close(of["gini_fnmr"], gini(fnmr))
    if min(fmr) > 0 and min(fnmr) > 0:
        product = max(fmr) / min(fmr) * (max(fnmr) / min(fnmr))
        assert of["inequity_max_min"] == pytest.approx(math.sqrt(product))
    else:
        assert of["inequity_max_min"] is of["inequity_max_geomean"] is None


# The verb

NAME = "tiny_groups"


def run(name: str, *options: object, by: Path | str = "") -> Run:
    scores, key = paths(name)
    files = ("--scores", scores, "--trials", key, "--utt2spk", ALL / name / "utt2spk")
    column = by or f"{ALL / name}/metadata.csv:accent"
    return cli("metrics", *files, "--by", column, *options)


def test_json() -> None:
    age = f"{ALL / NAME}/metadata.csv:age"
    plain = json.loads(run(NAME, "--by", age, "--format", "json").out)["groups"]
    assert list(plain) == ["accent", "age"]
    assert set(plain["age"]["groups"]) == {"under_30", "30_to_49", "from_50"}
    of = plain["accent"]
    assert list(of)[:6] == [
        "groups",
        "within_all",
        "between_all",
        "false_match",
        "disparities",
        "test",
    ]
    within = of["groups"]["a4"]["within"]
    assert (within["n_speakers"], within["eer"], within["rank1"]) == (1, None, None)
    assert list(of["false_match"]["0.01"]) == ["threshold", "groups", "fmr_matrix", "fnmr"]
    assert of["test"]["a3"] is None and list(of["test"]["a0"]) == ["difference", "se", "p_value"]
    assert any("a2 (6), a3 (3), a4 (1)" in caveat for caveat in of["caveats"])


def test_bootstrap_adds_intervals() -> None:
    done = run(NAME, "--bootstrap", 20, "--format", "json")
    groups = json.loads(done.out)["groups"]["accent"]["groups"]
    for group, kinds in groups.items():
        for kind, values in kinds.items():
            keys = {"eer", "cllr_min", "linkability"} | ({"rank1"} if kind == "within" else set())
            assert set(values["intervals"]) == (set() if group in ("a3", "a4") else keys)
            assert all(low <= high for low, high in values["intervals"].values())


def test_text() -> None:
    out = run(NAME).out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert lines["a0"][1:4] == ["20", "60", "1140"] and lines["a4"][-2:] == ["n/a", "n/a"]
    assert "largest difference in standard errors: a2, +7.1 points" in out
    assert "not tested (below 4 speakers): a3, a4" in out


def speakers() -> list[str]:
    return [f"s{i:02d}" for i in range(40)]


def metadata(tmp_path: Path, group_of: Mapping[str, str]) -> str:
    path = lines_to(tmp_path / "m.csv", ["id,g", *(f"{s},{g}" for s, g in group_of.items())])
    return f"{path}:g"


def of_groups(tmp_path: Path, group_of: Mapping[str, str]) -> dict[str, Any]:
    done = ok(run(NAME, "--format", "json", by=metadata(tmp_path, group_of)))
    plain: dict[str, Any] = json.loads(done.out)["groups"]["g"]
    return plain


def test_one_group_only(tmp_path: Path) -> None:
    plain = of_groups(tmp_path, dict.fromkeys(speakers(), "all"))
    assert plain["test"] == {"all": None} and plain["disparities"] == {"0.01": None, "0.1": None}
    assert any("one group only" in caveat for caveat in plain["caveats"])
    assert plain["groups"]["all"]["within"]["n_target"] == 120


def test_many_groups_of_two(tmp_path: Path) -> None:
    plain = of_groups(tmp_path, {s: f"g{i // 2}" for i, s in enumerate(speakers())})
    assert len(plain["groups"]) == 20 and set(plain["test"].values()) == {None}
    assert any("not tested" in caveat for caveat in plain["caveats"])


def test_missing_values(tmp_path: Path) -> None:
    group_of = {s: "" if i < 5 else "ab"[i % 2] for i, s in enumerate(speakers())}
    plain = of_groups(tmp_path, group_of)
    without = "5 speakers without g, in no group: s00, s01, s02, s03, s04"
    assert without in plain["caveats"]
    assert plain["within_all"]["n_speakers"] == 35
    del group_of["s00"]  # not named at all
    assert of_groups(tmp_path, group_of) == plain


def test_labels_of_utterances(tmp_path: Path) -> None:
    utt2spk = dict(line.split() for line in (ALL / NAME / "utt2spk").read_text().splitlines())
    group_of = {u: "ab"[int(s[1:]) % 2] for u, s in utt2spk.items()}
    by_utterance = of_groups(tmp_path, group_of)
    by_speaker = of_groups(tmp_path, {s: "ab"[int(s[1:]) % 2] for s in speakers()})
    assert by_utterance == by_speaker


def test_kaldi_files(tmp_path: Path) -> None:
    path = lines_to(tmp_path / "spk2gender", [f"{s} {'fm'[int(s[1:]) % 2]}" for s in speakers()])
    plain = json.loads(run(NAME, "--format", "json", by=path).out)["groups"]
    assert list(plain) == ["gender"] and set(plain["gender"]["groups"]) == {"f", "m"}


def test_wrong_metadata(tmp_path: Path) -> None:
    refused(run(NAME, by=metadata(tmp_path, {"someone": "a"})), "s00", "m.csv")
    contradictory = lines_to(tmp_path / "c.csv", ["id,g", "s00,a", "s00,b"])
    refused(run(NAME, by=f"{contradictory}:g"), "c.csv:3")
    utt2spk = [line.split()[0] for line in (ALL / NAME / "utt2spk").read_text().splitlines()]
    varying = metadata(tmp_path, {u: "ab"[i % 2] for i, u in enumerate(utt2spk)})
    refused(run(NAME, by=varying), "several labels of g")
    empty = run(NAME, by=metadata(tmp_path, dict.fromkeys(speakers(), "")))
    assert empty.code == 1 and "no speaker has a group of g" in empty.err
    assert run(NAME, by=f"{ALL / NAME}/metadata.csv:height").code == 2
    assert run(NAME, "--format", "csv").code == 2
    again = f"{ALL / NAME}/metadata.csv:accent"
    assert run(NAME, "--by", again).code == 2


def test_groups_of_few_trials_are_marked() -> None:
    for n, eer, linked in ((9, "3.30?", "n/a"), (19, "3.30", "n/a"), (49, "3.30", "0.400?")):
        of = Stratum(n, 5000, 4, eer=0.033, cllr_min=0.1, linkability=0.4, rank1=1.0)
        assert (group_text(of, "eer"), group_text(of, "linkability")) == (eer, linked)
    assert group_text(Stratum(50, 5000, 4, linkability=0.4), "linkability") == "0.400"
    assert group_text(Stratum(0, 0, 0), "eer") == "n/a"
