"""Figure 1 of the voice similarity paper."""

from __future__ import annotations

import numpy as np
import pytest
from study_support import rows_of, tasks_of

from privacy_eval.study.protocol import load_study


@pytest.mark.parametrize("variant", ["exact", "challenge"])
def test_matrices_of_figure_1(variant: str) -> None:
    study = load_study("metric_study")
    assert study.matrices is not None and study.vectors is not None
    tasks = tasks_of(matrices=study.matrices, vectors=study.vectors)
    nothing, lost, ideal = rows_of(tasks)
    values = nothing["metrics"][variant]
    assert abs(values["deid"]) < 0.1 and abs(values["gvd_db"]) < 0.5
    values = lost["metrics"][variant]
    assert values["deid"] > 0.95 and values["gvd_db"] < -10
    values = ideal["metrics"][variant]
    assert values["deid"] > 0.95 and abs(values["gvd_db"]) < 0.5
    # The same original speech in all three, with a dominant diagonal; no diagonal in what is lost.
    first = np.array(nothing["matrices"][f"{variant}_oo"])
    assert all(np.array_equal(first, r["matrices"][f"{variant}_oo"]) for r in (lost, ideal))
    assert first.shape == (10, 10)
    others = first[~np.eye(10, dtype=bool)]
    assert np.diagonal(first).min() > 0.7 > others.max() and others.mean() < 0.2
    for row, part in ((lost, "oa"), (lost, "aa"), (ideal, "oa")):
        assert np.ptp(row["matrices"][f"{variant}_{part}"]) < 0.2
