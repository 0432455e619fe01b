"""Protocols of studies: error messages name invalid entries."""

from pathlib import Path
from typing import Any

import pytest
from study_support import small_file, small_study, small_values

from privacy_eval import PrivacyEvalError
from privacy_eval.io.user_metrics import load_user_metrics
from privacy_eval.protocol.protocol import bundled, bundled_studies, load_protocol
from privacy_eval.study.protocol import check_pairs, load_study


def test_bundled_studies() -> None:
    assert bundled_studies() == ["metric_study"]
    assert not set(bundled_studies()) & set(bundled())
    study = load_study("metric_study")
    assert None not in vars(study).values()
    check_pairs(study, [])


WRONG: list[tuple[str, object, str]] = [
    ("seed", -1, "seed: .* at least 0"),
    ("variant", "both", "variant: expected challenge or exact, found 'both'"),
    ("discrete.cases.0.labels", "NNTX", "Case 1: labels: expected T and N"),
    ("gaussian.deviations", [0], "gaussian: deviations: .*positive"),
    ("gaussian.deviations", [], "gaussian: deviations: expected at least one"),
    ("gaussian.scores", 2, "gaussian: scores"),
    ("gaussian.cases.0.keys", ["NT"], "one label per mean, not 'NT'"),
    ("gaussian.cases.0.keys", ["NTN"], "duplicate key"),
    ("gaussian.cases.0.title", "nontarget higher", "duplicate title"),
    ("clusters.utterances", 1, "clusters: utterances: .*2"),
    ("clusters.deviation", 0, "clusters: deviation: .*positive"),
    ("clusters.protocols.0.enrolled", [], "fractions from 0 to 1"),
    ("clusters.protocols.0.enrolled", ["C"], "expected A or B, found 'C'"),
    ("vectors", None, "attacks requires the entry vectors"),
    ("vectors.lda_dim", 9, "lda_dim: expected 1 to dimension"),
    ("attacks.pool", 4, "attacks: pool"),
    ("attacks.trial", 0, "attacks: trial: .*1"),
    ("attacks.linkages", ["plda", "dice"], "expected plda or cosine or euclidean"),
    ("attacks.techniques.0.title", "weak", "duplicate title"),
    ("estimators.eers", [0.5], "estimators: eers: .*0.5"),
    ("estimators.targets", [0], "estimators: targets: .*1"),
    ("estimators.speaker_share", 1, "estimators: speaker_share"),
    ("estimators.tolerances", {"err": 0.1}, "not built-in metrics: err"),
    ("estimators.tolerances", {"eer": 0}, "estimators: tolerances: .*positive"),
    ("gaussian.typo", 1, "unknown entry 'typo'"),
]


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_invalid_entries_are_named(path: str, value: object, message: str, tmp_path: Path) -> None:
    values: Any = small_values()
    part = values
    *steps, last = path.split(".")
    for step in steps:
        part = part[int(step) if step.isdigit() else step]
    part[last] = value
    file = small_file(tmp_path, **values)
    with pytest.raises(PrivacyEvalError, match=f"small_study.yaml: .*{message}"):
        load_study(str(file))


def test_experiments_are_optional(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\ntitle: Mine\nseed: 1\nvariant: exact\n")
    assert load_study(str(file)).gaussian is None


def test_protocols_of_studies_and_of_trees_are_not_mixed_up() -> None:
    with pytest.raises(PrivacyEvalError, match="bundled protocols: vpc2020"):
        load_protocol("metric_study")
    with pytest.raises(PrivacyEvalError, match="bundled protocols: metric_study"):
        load_study("vpc2020")


def test_pairs_must_be_of_known_metrics() -> None:
    values = small_values()
    for pair in (["eer"], ["eer", "mine"], ["eer", "cllr", "cllr_min"]):
        study = small_study(gaussian={**values["gaussian"], "pairs": [pair]})
        with pytest.raises(PrivacyEvalError, match="gaussian: pairs: expected two of"):
            check_pairs(study, [])


def test_user_defined_metrics(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text("def spread(scores):\n    return scores.target[-1] - scores.target[0]\n")
    metric = load_user_metrics([f"spread={source}:spread"])[0]
    source.write_text(source.read_text() + "\n")
    assert load_user_metrics([f"spread={source}:spread"])[0].sha256 != metric.sha256
    (tmp_path / "broken.py").write_text("def (")
    for text, message in (
        ("spread", "expected NAME=FILE.py:FUNCTION"),
        (f"={source}:spread", "expected NAME=FILE.py:FUNCTION"),
        (f"eer={source}:spread", "built-in metric eer"),
        (f"EER={source}:spread", "built-in metric eer"),
        (f"ROCCH_EER={source}:spread", "built-in metric rocch_eer"),
        (f"expected_Privacy_disclosure={source}:spread", "built-in metric zebra_population"),
        (f"a b={source}:spread", "valid identifier"),
        (f"x={source}:other", "has no function 'other'"),
        (f"x={tmp_path}/none.py:f", "cannot be imported"),
        (f"x={tmp_path}/broken.py:f", "cannot be imported"),
        ("x=no_such_module:f", "cannot be imported"),
    ):
        with pytest.raises(PrivacyEvalError, match=message):
            load_user_metrics([text])
