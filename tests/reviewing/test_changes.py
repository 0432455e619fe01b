"""What changed between two results, against a second computation by hand."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reviewing_support import edit, make, row
from scipy import stats
from support import Run, cli, ok, refused

from privacy_eval.results.arrays import StoredArrays
from privacy_eval.results.json_store import read_results
from privacy_eval.reviewing.changes import (
    BEYOND,
    OTHER_MODEL,
    PAIRED,
    SAME,
    SAME_FILES,
    UNPAIRED,
    UNTESTED,
    Change,
    changes,
    sentence,
)

ATTACKED = "ASV-libri_dev_enrolls_B1-libri_dev_trials_f_B1"


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("older"), "--speaker-names")


@pytest.fixture(scope="module")
def newer(older: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same system after a change that raises all scores of targets but a few."""
    tree = Path(shutil.copytree(older, tmp_path_factory.mktemp("newer") / "tree"))
    trials = (tree / "data/libri_dev_trials_f/trials").read_text().splitlines()
    is_target = {tuple(t.split()[:2]): t.endswith(" target") for t in trials}
    scores = tree / "exp/B1/results-demo_B1" / ATTACKED / "scores"
    lines = [line.split() for line in scores.read_text().splitlines()]
    raised = [
        f"{e} {u} {float(s) + (40 + n % 7) * (is_target[e, u] and n % 9 > 0)}"
        for n, (e, u, s) in enumerate(lines)
    ]
    scores.write_text("\n".join(raised) + "\n")
    of_tree = ("--tree", tree, "--results", "exp", "--out", "results", "--conf", "small.yaml")
    ok(cli("stage", "privacy-metrics", *of_tree, "--bootstrap", 40, "--seed", 3))
    cli("stage", "collect", *of_tree, "--speaker-names")
    return tree


def results_of(tree: Path) -> Path:
    return tree / "results/results.json"


def against(one: Path, other: Path, *options: object) -> Run:
    return cli("verify", results_of(one), "--against", results_of(other), *options)


def states(numbers: list[Change]) -> set[str]:
    return {number.state for number in numbers}


def test_results_against_themselves_have_not_changed(older: Path) -> None:
    numbers, notes = changes(results_of(older), results_of(older))
    assert states(numbers) == {SAME} and notes == []
    assert ok(against(older, older, "--fail-on-change")).out.count("0 of 0") == 1


def test_errors_of_paired_differences_are_those_of_the_replicates(newer: Path, older: Path) -> None:
    numbers, _ = changes(results_of(newer), results_of(older))
    tested = [number for number in numbers if number.p is not None]
    of_eer = next(n for n in tested if n.row["metric"] == "eer" and n.row["name"] == ATTACKED)
    values = []
    for tree in (newer, older):
        results = read_results(results_of(tree))
        record = next(r for r in results.verification if r.condition.name == ATTACKED)
        arrays = StoredArrays([(results, results_of(tree))]).of(record)
        assert arrays is not None
        values.append(arrays["bootstrap_challenge_eer"].astype(float))
        n = int(arrays["bootstrap_speakers"])
    differences = values[0] - values[1]
    spread = math.sqrt(sum((d - differences.mean()) ** 2 for d in differences) / 39)
    se = spread * math.sqrt(n / (n - 1))
    t = (of_eer.row["value"] - of_eer.older) / se
    assert of_eer.test == PAIRED and of_eer.se == pytest.approx(se, rel=1e-9)
    assert of_eer.p == pytest.approx(2 * stats.t.sf(abs(t), n - 1), rel=1e-9)
    half = stats.t.ppf(0.975, n - 1) * se
    assert of_eer.low == pytest.approx(of_eer.difference - half)
    assert of_eer.high == pytest.approx(of_eer.difference + half)
    smallest = min(tested, key=lambda number: number.p or 0)
    assert smallest.p_corrected == pytest.approx(min(1, len(tested) * (smallest.p or 0)))
    assert {n.row["name"] for n in numbers if n.state == BEYOND} == {ATTACKED}


def test_ci_fails_on_request_only(newer: Path, older: Path) -> None:
    run = ok(against(newer, older))
    assert ATTACKED in run.out and "changed beyond noise" in run.out
    assert against(newer, older, "--fail-on-change").code == 1
    plain = json.loads(against(newer, older, "--format", "json").out)
    assert {"sentence", "notes", "numbers"} == plain.keys()
    refused(cli("verify", results_of(newer), "--fail-on-change"), "--against", code=2)
    refused(against(newer, older, "--files", older), "--files", code=2)
    refused(cli("verify", results_of(newer), "--against", newer / "none.json"), "none.json")


def test_without_replicates_two_intervals_are_compared(
    newer: Path, older: Path, tmp_path: Path
) -> None:
    """Files that are mailed alone have no replicates: sqrt(0.2^2 + 0.1^2) / (2 * 1.96)."""
    for name, tree, low, high in (("new", newer, 0.1, 0.3), ("old", older, 0.3, 0.4)):
        alone = tmp_path / name
        alone.mkdir()
        shutil.copytree(tree / "results", alone / "results", ignore=lambda *_: ["records"])

        def change(plain: dict[str, Any], low: float = low, high: float = high) -> None:
            record = next(r for r in plain["verification"] if r["condition"] == ATTACKED)
            eer = next(r for r in record["rows"] if r["metric"] == "eer")
            eer.update(low=low, high=high)
            for other in record["rows"]:
                if other["metric"] == "cllr_min":
                    del other["low"], other["high"]

        edit(alone, change)
    numbers, _ = changes(results_of(tmp_path / "new"), results_of(tmp_path / "old"))
    of = {n.row["metric"]: n for n in numbers if n.row["name"] == ATTACKED}
    assert of["eer"].test == UNPAIRED
    assert of["eer"].se == pytest.approx(math.sqrt(0.05) / (2 * stats.norm.ppf(0.975)))
    assert of["eer"].p == pytest.approx(2 * stats.norm.sf(abs(of["eer"].difference / of["eer"].se)))  # type: ignore[operator]
    assert of["cllr_min"].state == UNTESTED


def test_versions_seeds_protocols_and_what_is_in_one_only_are_said(
    older: Path, tmp_path: Path
) -> None:
    tree = Path(shutil.copytree(older, tmp_path / "tree"))

    def change(plain: dict[str, Any]) -> None:
        for record in plain["verification"]:
            record["provenance"] |= {"version": "9"}
            record["provenance"]["options"]["seed"] = 4
        row(plain, "verification", "eer")["value"] += 0.01
        plain["similarity"] = []
        plain["protocol"]["title"] = "another one"

    edit(tree, change)
    numbers, notes = changes(results_of(tree), results_of(older))
    said = " ".join(notes)
    assert all(word in said for word in ("version: ", "seed: ", "protocols", "only in the older"))
    assert [n.row["metric"] for n in numbers if n.state == SAME_FILES] == ["eer"]
    assert BEYOND not in states(numbers)


def test_values_of_other_encoders_are_not_compared(
    newer: Path, older: Path, tmp_path: Path
) -> None:
    tree = Path(shutil.copytree(newer, tmp_path / "tree"))

    def change(plain: dict[str, Any]) -> None:
        for record in (*plain["similarity"], *plain["identification"], *plain["amounts"]):
            if "plda" in record["provenance"]["inputs"]:
                record["provenance"]["inputs"]["plda"]["sha256"] = "0" * 64

    edit(tree, change)
    numbers, _ = changes(results_of(tree), results_of(older))
    of_scores = [n for n in numbers if n.row.get("attacker") == "plda"]
    assert of_scores and {n.state for n in of_scores} == {OTHER_MODEL}
    assert OTHER_MODEL in sentence(numbers)


def test_equal_distributions_rarely_change(older: Path) -> None:
    """Under no difference, t of paired replicates rejects about as often as it says."""
    from privacy_eval.metrics.confidence import BootstrapReplicates
    from privacy_eval.reviewing.changes import _paired

    rng, rejected = np.random.default_rng(1), 0
    for _ in range(400):
        speakers = rng.normal(size=(2, 20))
        drawn = rng.integers(20, size=(200, 20))
        one, other = (
            BootstrapReplicates({"eer": s[drawn].mean(axis=1)}, 20, "design", 0) for s in speakers
        )
        found = _paired("eer", one, other)
        assert found is not None
        t = abs(speakers[0].mean() - speakers[1].mean()) / found[0]
        rejected += bool(2 * stats.t.sf(t, found[1]) < 0.05)
    assert 5 <= rejected <= 35
    assert _paired("eer", one, replace(other, seed=1)) is None
    assert _paired("eer", one, None) is None
