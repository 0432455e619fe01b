"""Plans of studies: what is wrong in them is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from study_support import small_file, small_plan, small_values

from privacy_eval import PrivacyEvalError
from privacy_eval.protocol.protocol import bundled, bundled_studies, load_protocol
from privacy_eval.study.plan import check_pairs, load_study, own_metric


def test_bundled_studies() -> None:
    assert bundled_studies() == ["metric_study"]
    assert not set(bundled_studies()) & set(bundled())
    plan = load_study("metric_study")
    assert None not in (plan.discrete, plan.gaussian, plan.clusters, plan.attacks, plan.matrices)
    check_pairs(plan, [])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("seed",), -1, "seed: expected a whole number from 0"),
        (("variant",), "both", "variant: expected challenge or exact, found 'both'"),
        (("discrete", "cases", 0, "labels"), "NNTX", "Case 1: labels: expected T and N"),
        (("discrete", "cases", 0, "labels"), "TTT", "Case 1: labels: expected T and N"),
        (("gaussian", "deviations"), [0], "deviations: expected positive numbers"),
        (("gaussian", "deviations"), [], "deviations: expected some"),
        (("gaussian", "scores"), 2, "scores: expected one a distribution at least"),
        (("gaussian", "cases", 0, "keys"), ["NT"], "one letter a mean, not 'NT'"),
        (("gaussian", "cases", 0, "keys"), ["NTN"], "a key stands in two cases"),
        (("gaussian", "cases", 0, "title"), "non-mated higher", "two cases of one title"),
        (("clusters", "utterances"), 1, "utterances: expected at least 2"),
        (("clusters", "deviation"), 0, "deviation: expected a positive number"),
        (("clusters", "protocols", 0, "enrolled"), [], "expected shares from 0 to 1"),
        (("clusters", "protocols", 0, "enrolled"), ["C"], "expected A or B, found 'C'"),
        (("clusters", "protocols", 0, "trial_left"), 1.5, "expected shares from 0 to 1"),
        (("vectors",), None, "attacks needs the entry vectors"),
        (("vectors", "lda_dim"), 9, "lda_dim: expected 1 to dimension"),
        (("vectors", "training"), 1, "training: expected 2 speakers"),
        (("vectors", "within"), 0, "vectors: expected positive deviations"),
        (("attacks", "pool"), 4, "pool: expected no fewer than speakers"),
        (("attacks", "speakers"), 1, "attacks: speakers: expected at least 2"),
        (("attacks", "trial"), 0, "attacks: expected utterances of both kinds"),
        (("attacks", "linkages"), ["plda", "dice"], "expected plda or cosine or euclidean"),
        (("attacks", "techniques", 0, "title"), "weak", "two techniques of one title"),
        (("matrices", "utterances"), 1, "matrices: expected 2 speakers and utterances"),
        (("estimators", "eers"), [0.5], "eers: expected 0 < EER < 0.5"),
        (("estimators", "replicates"), 1, "replicates: expected at least 2"),
        (("estimators", "targets"), [0], "estimators: expected numbers from 1"),
        (("estimators", "speakers"), [1], "speakers: expected at least 2"),
        (("estimators", "speaker_share"), 1, "speaker_share: expected 0 to less than 1"),
        (("estimators", "tolerances"), {"err": 0.1}, "not err"),
        (("estimators", "tolerances"), {"eer": 0}, "tolerances: must be positive"),
        (("gaussian", "typo"), 1, "unknown entry 'typo'"),
    ],
)
def test_what_is_wrong(
    path: tuple[str | int, ...], value: object, message: str, tmp_path: Path
) -> None:
    values: Any = small_values()
    part = values
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    file = small_file(tmp_path, **values)
    with pytest.raises(PrivacyEvalError, match="small_study.yaml: ") as caught:
        load_study(str(file))
    assert message in str(caught.value)


def test_a_part_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\ntitle: Mine\nseed: 1\nvariant: exact\n")
    assert load_study(str(file)).gaussian is None


def test_a_study_is_no_plan_of_a_tree_nor_the_other_way_round() -> None:
    with pytest.raises(PrivacyEvalError, match="no such configuration; bundled ones: vpc2020"):
        load_protocol("metric_study")
    with pytest.raises(PrivacyEvalError, match="no such configuration; bundled ones: metric_study"):
        load_study("vpc2020")


def test_pairs_must_be_of_known_metrics() -> None:
    values = small_values()
    for pair in (["eer"], ["eer", "mine"], ["eer", "cllr", "cllr_min"]):
        plan = small_plan(gaussian={**values["gaussian"], "pairs": [pair]})
        with pytest.raises(PrivacyEvalError, match="gaussian: pairs: expected two of"):
            check_pairs(plan, [])


def test_metrics_of_ones_own(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text("def spread(scores):\n    return scores.target[-1] - scores.target[0]\n")
    metric = own_metric(f"spread={source}:spread")
    source.write_text(source.read_text() + "\n")
    assert own_metric(f"spread={source}:spread").sha256 != metric.sha256
    (tmp_path / "broken.py").write_text("def (")
    for text, message in (
        ("spread", "expected NAME=FILE.py:FUNCTION"),
        (f"={source}:spread", "expected NAME=FILE.py:FUNCTION"),
        (f"eer={source}:spread", "a metric of ours"),
        (f"a b={source}:spread", "no name of one"),
        (f"x={source}:other", "has no function 'other'"),
        (f"x={tmp_path}/none.py:f", "cannot be imported"),
        (f"x={tmp_path}/broken.py:f", "cannot be imported"),
        ("x=no_such_module_of_ours:f", "cannot be imported"),
    ):
        with pytest.raises(PrivacyEvalError, match=message):
            own_metric(text)
