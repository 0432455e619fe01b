"""What a record holds beside its metrics becomes rows: numbers written by hand are found again."""

from typing import Any

import pytest
from support import B1, imported, scored

from privacy_eval.metrics.groups import (
    Disparities,
    FalseMatches,
    GroupErrors,
    GroupSummary,
    GroupTest,
    GroupValues,
    TargetStratum,
)
from privacy_eval.results.rows import measurements_of, rows_of

VALUES = GroupValues(90, 900, 7, eer=0.2, cllr_min=0.6, rank1=0.5)
INTERVALS = {"eer": (0.1, 0.3)}
#: Of these values: linkability, which is undefined, has no row.
OF_VALUES = {("eer", 0.2, 0.1, 0.3), ("cllr_min", 0.6, None, None), ("rank1", 0.5, None, None)}
COUNTS = {"n_target": 90, "n_nontarget": 900, "n_speakers": 7}


def rows(of: dict[str, Any], **wanted: object) -> list[dict[str, Any]]:
    """The rows of a record that holds these, too."""
    record = scored(imported(B1).verification[-1], **of)
    return measurements_of([record]).select(**wanted).to_rows()


@pytest.mark.parametrize(
    ("of", "place"),
    [
        ({"sessions": {"other": TargetStratum(VALUES, INTERVALS)}}, {"session": "other"}),
        (
            {"groups": {"accent": {"us": GroupSummary(VALUES, INTERVALS)}}},
            {"group_by": "accent", "group": "us"},
        ),
    ],
)
def test_values_of_some_trials_have_their_counts_and_intervals(
    of: dict[str, Any], place: dict[str, str]
) -> None:
    found = rows(of, **place)
    numbers = [(r["metric"], r["value"], r.get("low"), r.get("high")) for r in found]
    assert {*numbers} == OF_VALUES and len(numbers) == 3
    for row in found:
        assert row["variant"] == "exact" and COUNTS.items() <= row.items()
    record = scored(imported(B1).verification[-1], **of)
    of_sets = [row for row in rows_of(record) if not row.keys() & place.keys()]
    assert list(rows_of(record, whole=True)) == of_sets and of_sets


def test_the_test_of_a_group_is_a_difference_to_the_others() -> None:
    test = GroupTest(-0.05, 0.02, 0.012)
    of = {"groups": {"accent": {"us": GroupSummary(VALUES, test=test)}}}
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
    gaps = Disparities(0.01, 0.2, 2.0, 3.0, 0.895, None, None, None, None, None)
    errors = GroupErrors(counts, {"0.01": matches}, {"0.01": gaps})
    found = rows({"group_errors": {"accent": errors}}, group_by="accent", threshold=0.01)
    rates = {
        (r["group"], r["against_group"]): (r.get("value"), r["n_nontarget"])
        for r in found
        if r["metric"] == "fmr"
    }
    assert rates == {(e, t): (matrix[e][t], counts[e][t]) for e in names for t in names}
    missed = {r["group"]: r["value"] for r in found if r["metric"] == "fnmr"}
    assert missed == {"a": 0.1, "b": 0.3, "c": 0.2}
    of_groups = {r["metric"]: (r.get("value"), r["n_groups"]) for r in found if "n_groups" in r}
    assert of_groups["fmr_gap"] == (0.01, 2) and of_groups["fnmr_gap"] == (0.2, 2)
    assert of_groups["fmr_ratio"] == (2.0, 2) and of_groups["fnmr_ratio"] == (3.0, 2)
    assert of_groups["fdr"] == (0.895, 2) and of_groups["garbe"] == (None, 2)
    assert len(found) == 9 + 3 + 10
