"""Caveats: which values are implausible or uninformative, and that chance alone is neither."""

from __future__ import annotations

import numpy as np
import pytest

from privacy_eval import evaluate
from privacy_eval.metrics import CAVEATS, find_caveats, of_kind, withholding_caveat
from privacy_eval.protocol.published import load_published

#: Of few nontarget scores.
FEW = ["few_nontargets_0.01", "few_nontargets_0.001"]


def test_inverted_scores_of_a_good_recognizer_have_no_grade() -> None:
    generator = np.random.default_rng(0)
    target, nontarget = generator.normal(4, 1, 500), generator.normal(0, 1, 5000)
    upright, inverted = evaluate(target, nontarget), evaluate(-target, -nontarget)
    assert upright.zebra_tag is not None and list(upright.caveats) == FEW[1:]
    assert inverted.values["eer"] > 0.9 and list(inverted.caveats) == ["inverted", *FEW[1:]]
    assert inverted.zebra_tag is None
    assert all(withholding_caveat(inverted.caveats, m) is not None for m in of_kind("scores"))


def test_attackers_that_guess_have_no_caveat() -> None:
    """Of few trials, where the EER varies most, and of many."""
    generator = np.random.default_rng(0)
    for n_target, n_nontarget, times in ((20, 200, 300), (500, 5000, 30)):
        eers = []
        for _ in range(times):
            result = evaluate(generator.normal(size=n_target), generator.normal(size=n_nontarget))
            eers.append(result.values["eer"])
            assert "inverted" not in result.caveats
        assert max(eers) > 0.5


def test_published_eers_are_plausible() -> None:
    """60.4 % and less, of thousands of trials."""
    values = [v for v in load_published("vpc2020") if v.metric == "eer"]
    assert max(v.number for v in values) > 0.6
    for v in values:
        assert find_caveats(v.number, 500, 30_000, is_original=v.system == "Orig") == {}


@pytest.mark.parametrize(
    ("eer", "counts", "expected"),
    [
        (0.66, (None, None), ["inverted"]),  # imported: taken for many trials
        (0.65, (None, None), []),
        (0.70, (20, 20), ["inverted", *FEW]),  # by hand: 0.70 - 1.96 sqrt(0.21 / 40) = 0.558
        (0.70, (20, 1), FEW),  # 0.70 - 1.96 sqrt(0.21 / 80 + 0.21 / 4) = 0.240
        (float("inf"), (None, None), []),
        (None, (500, 30_000), []),
        (None, (500, 29_999), FEW[1:]),
        (None, (500, 3000), FEW[1:]),
        (None, (500, 2999), FEW),
        (None, (19, 50_000), ["few_targets"]),
        (0.9, (19, 500), ["inverted", "few_targets", *FEW]),
    ],
)
def test_caveats_by_eer_and_numbers_of_trials(
    eer: float | None, counts: tuple[int | None, int | None], expected: list[str]
) -> None:
    assert list(find_caveats(eer, *counts)) == expected


def test_weak_attacker_is_a_caveat_of_original_speech_only() -> None:
    many = 500, 30_000
    assert find_caveats(0.21, *many) == find_caveats(0.2, *many, is_original=True) == {}
    assert list(find_caveats(0.21, *many, is_original=True)) == ["weak_attacker"]
    assert list(find_caveats(0.9, *many, is_original=True)) == ["inverted"]
    assert withholding_caveat(find_caveats(0.3, 99, 99, is_original=True), "eer") is None


def test_few_targets_withhold_linkability_only() -> None:
    caveats = find_caveats(0.9, 19, 500)
    assert withholding_caveat(caveats, "linkability") is CAVEATS["few_targets"]
    assert withholding_caveat(caveats, "eer") is CAVEATS["inverted"]
    assert withholding_caveat(find_caveats(0.3, 19, 500), "eer") is None


def test_miss_rates_with_few_false_alarms_are_withheld_silently() -> None:
    """30 false alarms of 1 % are 3000 nontargets, of 0.1 % 30,000."""
    for rate, least in ((0.01, 3000), (0.001, 30_000)):
        metric = f"miss_at_fa_{rate}"
        withheld = withholding_caveat(find_caveats(0.3, 500, least - 1), metric)
        assert withheld is not None and not withheld.printed and not withheld.announced
        assert withholding_caveat(find_caveats(0.3, 500, least), metric) is None
        assert withholding_caveat(find_caveats(0.3, 500, None), metric) is None
