"""What a record holds of groups becomes rows: numbers written by hand are found again."""

from collections.abc import Iterable
from typing import Any

import pytest
from support import B1, imported, scored

from privacy_eval.disclosure.group_records import error_rows, summary_rows
from privacy_eval.disclosure.groups import FalseMatches
from privacy_eval.metrics.strata import Stratum
from privacy_eval.results.rows import measurements_of, rows_of

VALUES = Stratum(90, 900, 7, 0.2, 0.6, rank1=0.5, intervals={"eer": (0.1, 0.3)})
#: Of these values: linkability, which is undefined, has no row.
OF_VALUES = {("eer", 0.2, 0.1, 0.3), ("cllr_min", 0.6, None, None), ("rank1", 0.5, None, None)}
COUNTS = {"n_target": 90, "n_nontarget": 900, "n_speakers": 7}


def rows(of_groups: Iterable[dict[str, Any]], **wanted: object) -> list[dict[str, Any]]:
    """The rows of a record with groups that hold these values."""
    record = scored(imported(B1).verification[-1], of_groups=[*of_groups])
    return measurements_of([record]).select(**wanted).to_rows()


def test_values_of_a_group_have_their_counts_and_intervals() -> None:
    of = [*summary_rows("accent", {"us": VALUES})]
    found = rows(of, group_by="accent", group="us")
    numbers = [(r["metric"], r["value"], r.get("low"), r.get("high")) for r in found]
    assert {*numbers} == OF_VALUES and len(numbers) == 3
    for row in found:
        assert row["variant"] == "exact" and COUNTS.items() <= row.items()
    record = scored(imported(B1).verification[-1], of_groups=of)
    of_sets = [row for row in rows_of(record) if "group" not in row]
    assert list(rows_of(record, whole=True)) == of_sets and of_sets


def test_the_test_of_a_group_is_a_difference_to_the_others() -> None:
    test = {"difference": -0.05, "se": 0.02, "p_value": 0.012}
    of = summary_rows("accent", {"us": VALUES}, {"us": test})
    (row,) = rows(of, against="others")
    assert (row["metric"], row["value"], row["se"], row["p"]) == ("eer", -0.05, 0.02, 0.012)


def test_error_rates_of_groups_name_both_groups_and_the_threshold() -> None:
    """Group c has no nontargets within, so that disparities are of two groups."""
    names = ("a", "b", "c")
    matrix: dict[str, dict[str, float | None]] = {
        "a": {"a": 0.02, "b": 0.03, "c": 0.04},
        "b": {"a": 0.05, "b": 0.01, "c": 0.07},
        "c": {"a": 0.08, "b": 0.09, "c": None},
    }
    counts = {e: {t: 100 * i + j for j, t in enumerate(names)} for i, e in enumerate(names)}
    matches = FalseMatches(1.5, names, matrix, (0.1, 0.3, 0.2))
    of = error_rows("accent", {"0.01": matches}, counts)
    found = rows(of, group_by="accent", threshold=0.01)
    rates = {
        (r["group"], r["against_group"]): (r.get("value"), r["n_nontarget"])
        for r in found
        if r["metric"] == "fmr"
    }
    assert rates == {(e, t): (matrix[e][t], counts[e][t]) for e in names for t in names}
    missed = {r["group"]: r["value"] for r in found if r["metric"] == "fnmr"}
    assert missed == {"a": 0.1, "b": 0.3, "c": 0.2}
    gaps = {r["metric"]: r["value"] for r in found if r.get("n_groups") == 2}
    by_hand = {"fmr_gap": 0.01, "fnmr_gap": 0.2, "fmr_ratio": 2, "fnmr_ratio": 3, "fdr": 0.895}
    by_hand |= {"gini_fmr": 1 / 3, "gini_fnmr": 1 / 2, "garbe": 5 / 12}
    assert {key: gaps[key] for key in by_hand} == pytest.approx(by_hand)
    assert len(found) == 9 + 3 + 10
