"""Figures of a metric study: captions and axes against the rows."""

from pathlib import Path

import numpy as np
import pytest
from study_support import small_study
from support import nonempty

from privacy_eval.metrics import TrialScores, score_metrics
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.report.figures.tex import to_tex
from privacy_eval.study.figures import _gaussian_pairs, study_figures
from privacy_eval.study.run import make_records, read_rows, study_products


@pytest.fixture(name="drawings", scope="module")
def _drawings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawing]:
    folder: Path = tmp_path_factory.mktemp("study")
    study = small_study(**dict.fromkeys(("discrete", "gaussian", "matrices", "estimators")))
    records = study_products(study, folder)
    make_records(records)
    return {d.name: d for d in study_figures(study, read_rows(records))}


def test_the_axis_of_local_linkability_has_numbers_and_a_label(
    drawings: dict[str, Drawing],
) -> None:
    scores = drawings["clusters_scores"]
    scores.canvas.draw_without_rendering()
    right = [a for a in scores.canvas.axes if not a.get_title()]
    assert len(right) == 3
    for axes in right:
        assert axes.get_ylabel() == "local D(s)"
        assert "1.0" in [t.get_text() for t in axes.get_yticklabels()]
    assert "yticklabels={}" not in to_tex(scores.plot)


def test_scores_of_several_clusters_are_drawn_as_histograms_alone(
    drawings: dict[str, Drawing],
) -> None:
    scores = drawings["clusters_scores"]
    for _, _, panel in nonempty(scores.plot.panels()):
        names = [c.name for c in panel.curves]
        assert names == ["nontarget: histogram", "target: histogram", "local D(s)"]
        top = max(c.y.max() for c in panel.curves if c.fill)
        assert top < panel.y_limits[1] < 1.1 * top


def test_panels_of_pairs_are_large_enough_to_read() -> None:
    scores = TrialScores([3, 5, 7, 8], [1, 2, 4, 6])
    metrics = {key: value for key, value in score_metrics(scores).items() if np.isfinite(value)}
    canvas = _gaussian_pairs([{"case": "equal", "metrics": metrics}])
    assert min(canvas.get_size_inches()) >= len(metrics) - 1 > 6.9


def test_captions_count_the_combinations_of_attacks(drawings: dict[str, Drawing]) -> None:
    actual = [d for name, d in drawings.items() if name.startswith("attacks")]
    assert len(actual) == 2
    for d in actual:
        points = sum(len(c.get_offsets()) for c in d.canvas.axes[0].collections)
        assert points == 2 * 3 * 4 * 4
        assert (
            f"{points} points: the combinations of techniques (2), target selections (3), "
            "attackers (4) and linkages (4). The comparative study had 72" in d.caption
        )
