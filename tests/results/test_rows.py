"""What a record holds beside its metrics becomes rows: numbers written by hand are found again."""

from support import B1, imported, scored

from privacy_eval.metrics.strata import Stratum
from privacy_eval.results.rows import measurements_of, rows_of

VALUES = Stratum(90, 900, 7, eer=0.2, cllr_min=0.6, intervals={"eer": (0.1, 0.3)})
#: Of these values: linkability, which is undefined, has no row.
OF_VALUES = {("eer", 0.2, 0.1, 0.3), ("cllr_min", 0.6, None, None)}
COUNTS = {"n_target": 90, "n_nontarget": 900, "n_speakers": 7}


def test_values_of_some_trials_have_their_counts_and_intervals() -> None:
    of = {"sessions": {"other": VALUES}}
    record = scored(imported(B1).verification[-1], **of)
    found = measurements_of([record]).select(session="other").to_rows()
    numbers = [(r["metric"], r["value"], r.get("low"), r.get("high")) for r in found]
    assert {*numbers} == OF_VALUES and len(numbers) == 2
    for row in found:
        assert row["variant"] == "exact" and COUNTS.items() <= row.items()
    of_sets = [row for row in rows_of(record) if "session" not in row]
    assert list(rows_of(record, whole=True)) == of_sets and of_sets
