"""Tables of a study from its rows."""

import csv
import io

import numpy as np
import pytest

from privacy_eval.metrics import VARIANTS, TrialScores, linkability
from privacy_eval.report.latex import to_latex
from privacy_eval.study.protocol import EstimatorsExperiment, StudyProtocol
from privacy_eval.study.tables import format_value, study_tables, values_csv

EXACT = ("eer", "exact", "0.2")
NAME = "50%_team & $x$"


def estimate(mean: float, deviation: float) -> dict[str, float]:
    return {"mean": mean, "deviation": deviation, "low": mean, "high": mean}


def row(speakers: int | None, targets: int, mean: float, deviation: float) -> dict[str, object]:
    """Estimates of an EER of 0.2 by `mean` and of a min Cllr that is right."""
    values = {"eer": estimate(mean, deviation), "linkability": estimate(0.5, 0.0)}
    return {
        "design": "independent" if speakers is None else "speakers",
        "true_eer": 0.2,
        **({} if speakers is None else {"n_speakers": speakers}),
        "n_target": targets,
        "n_nontarget": 2 * targets,
        "estimates": {"exact": values, "challenge": values},
    }


ESTIMATORS = EstimatorsExperiment(
    eers=(0.2,),
    replicates=2,
    targets=(10, 20, 40),
    nontargets_per_target=(2,),
    speakers=(3, 5),
    utterances=4,
    speaker_share=0.1,
    tolerances={"eer": 0.02, "linkability": 0.001},
)
STUDY = StudyProtocol("x", "x", seed=0, variant="exact", estimators=ESTIMATORS)


def needed(*rows: dict[str, object]) -> list[tuple[str, ...]]:
    tables = {t.name: t for t in study_tables(STUDY, {"estimators": rows})}
    return tables["estimators_needed"].rows


def test_required_number_of_trials() -> None:
    independent = [row(None, 10, 0.25, 0.01), row(None, 20, 0.21, 0.02), row(None, 40, 0.2, 0.01)]
    of_speakers = [row(3, 12, 0.2, 0.03), row(5, 20, 0.2, 0.021)]
    lines = needed(*independent, *of_speakers)
    assert lines[0] == ("EER", "2.0", "20", "20", "more than 5")
    # Good on few trials by chance, and bad on more: what counts is from where on all are good.
    independent[0], independent[1] = row(None, 10, 0.2, 0.0), row(None, 20, 0.23, 0.0)
    assert needed(*independent, *of_speakers)[0][3] == "40"
    independent[1] = row(None, 20, 0.2, 0.0)
    assert needed(*independent, *of_speakers)[0][3] == "at most 10"
    # The population's linkability at an EER of 0.2 is 0.523: 0.5 is not within 0.001 of it.
    assert lines[1][3:] == ("more than 40", "more than 5")


def test_ceilings() -> None:
    tables = {t.name: t for t in study_tables(STUDY, {"estimators": [row(None, 100, 0.2, 0)]})}
    # log10(101 * 200 / 100) = 2.305
    assert tables["estimators_ceiling"].rows == [("100", "200", "2.305", "C")]


def test_format_value() -> None:
    values = {"eer": 0.25, "cllr_min": -0.0001, "cllr": float("inf"), "mine": 2.0}
    assert [format_value(*item) for item in values.items()] == ["25.00", "0.000", "inf", "2.000"]


def test_names_are_escaped() -> None:
    row = {"case": NAME, "metrics": {"exact": {"eer": 0.5, "my_metric": 1.0}}}
    (table,) = study_tables(STUDY, {"gaussian": [row]})
    text = to_latex(table)
    assert r"50\%\_team \& \$x\$" in text and r"my\_metric" in text


def test_values_csv_has_every_value() -> None:
    gaussian = {"case": "a,b", "curves": [1], "metrics": {"exact": {"eer": 0.5, "cllr": 1.5}}}
    rows = {"gaussian": [gaussian], "estimators": [row(None, 10, 0.25, 0.01)]}
    header, *lines = csv.reader(io.StringIO(values_csv(rows)))
    read = [dict(zip(header, line, strict=True)) for line in lines]
    assert len(read) == 2 + 2 * 2 + 1  # with the ceiling
    place = {"experiment": "gaussian", "case": "a,b", "variant": "exact", "metric": "cllr"}
    assert [r["value"] for r in read if place.items() <= r.items()] == ["1.5"]
    (eer,) = [r for r in read if (r["metric"], r["variant"], r["true_eer"]) == EXACT]
    numbers = {name: float(eer[name]) for name in ("value", "se", "low", "high")}
    assert numbers == {"value": 0.25, "se": 0.01, "low": 0.25, "high": 0.25}


@pytest.mark.parametrize(("targets", "noted"), [(19, True), (49, True), (50, False)])
def test_linkability_of_few_targets_is_flagged(targets: int, noted: bool) -> None:
    separated = TrialScores(np.arange(targets) + 9.0, np.arange(4.0))
    metrics = {v: {"linkability": linkability(separated, variant=v).value} for v in VARIANTS}
    assert (metrics["exact"]["linkability"] == 0) is (targets < 20)
    case = {
        "case": "x",
        **{"n_target": targets, "n_nontarget": 4},
        "labels": "N" * 4 + "T" * targets,
        "metrics": metrics,
        "printed": {"linkability": 1.0},
    }
    (table,) = study_tables(STUDY, {"discrete": [case]})
    assert any("Linkability" in note for note in table.notes) is noted
