"""Amount of speech: Kaldi's EER and ranks of a matrix, equal speakers, intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privacy_eval import PrivacyEvalError, TrialScores, kaldi_eer
from privacy_eval.disclosure import amount
from privacy_eval.disclosure.amount import Tests, amount_curve, error_rates, matrix_eer

#: Few values, so that many scores are tied; NaN: not compared.
SCORE = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, float("nan")])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_matrix_is_evaluated_as_its_trials_one_by_one(data: st.DataObject) -> None:
    tests, enrolled = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    scores = data.draw(arrays(np.float64, (tests, enrolled), elements=SCORE))
    own = data.draw(arrays(np.int64, tests, elements=st.integers(0, enrolled - 1)))
    scores[np.arange(tests), own] = np.nan_to_num(scores[np.arange(tests), own])
    target = [scores[row, own[row]] for row in range(tests)]
    nontarget = [
        scores[row, column]
        for row in range(tests)
        for column in range(enrolled)
        if column != own[row] and not np.isnan(scores[row, column])
    ]
    expected = kaldi_eer(TrialScores(target, nontarget)).value if nontarget else None
    assert matrix_eer(scores, own) == expected
    others = [[s for c, s in enumerate(scores[row]) if c != own[row]] for row in range(tests)]
    first = [
        0 if any(s > right for s in of) else 1 / (1 + sum(s == right for s in of))
        for right, of in zip(target, others, strict=True)
    ]
    assert error_rates(1, (scores, own)).rank1 == pytest.approx(np.mean(first))


@pytest.mark.parametrize("seed", range(20))
def test_a_sample_of_the_tests_does_not_change_the_eer(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the sample, here a test or two, misleads."""
    monkeypatch.setattr(amount, "_SAMPLE", 10)
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(300, 6)) + 3 * (np.arange(300) % 2 < seed % 2)[:, None]
    own = generator.integers(0, 6, 300)
    is_target = own[:, None] == np.arange(6)
    expected = kaldi_eer(TrialScores(scores[is_target], scores[~is_target])).value
    assert matrix_eer(scores, own) == expected


def curve_of_two() -> dict[int, Tests]:
    """Ten tests of one utterance, of speakers 0 to 4; one test of two of speakers 0 and 1."""
    own = np.repeat(np.arange(5), 2)
    scores = np.eye(5)[own] * np.arange(1, 11)[:, None] / 10 + np.linspace(0, 0.5, 5)
    return {2: (np.eye(5)[:2], np.array([0, 1])), 1: (scores, own)}


def test_the_curve_takes_the_speakers_of_its_largest_length() -> None:
    curve = amount_curve(curve_of_two(), list("abcde"))
    assert [(a.length, a.conversations, a.speakers) for a in curve.all] == [(1, 10, 5), (2, 2, 2)]
    assert [(a.length, a.conversations, a.speakers) for a in curve.equal] == [(1, 4, 2), (2, 2, 2)]
    assert curve.all[0].rank1 != curve.equal[0].rank1
    assert curve.all[1] == curve.equal[1]


def test_intervals_hold_their_values() -> None:
    for one in amount_curve(curve_of_two(), list("abcde"), replicates=30).equal:
        for name in ("eer", "rank1"):
            low, high = getattr(one, f"{name}_interval")
            assert low <= getattr(one, name) <= high
        assert one.rank1_interval is not None
    assert one.rank1_interval[0] == pytest.approx(2 / (2 + 1.959964**2), abs=1e-6)  # Wilson


def test_lengths_without_tests() -> None:
    nobody: dict[int, Tests] = {9: (np.empty((0, 5)), np.empty(0, dtype=np.int64))}
    curve = amount_curve(curve_of_two() | nobody, list("abcde"))
    assert (curve.all[-1].conversations, curve.all[-1].eer, curve.all[-1].rank1) == (0, None, None)
    assert [a.length for a in curve.equal] == [1, 2]
    with pytest.raises(PrivacyEvalError, match="no enrolled speaker"):
        amount_curve(nobody, list("abcde"))


def test_one_enrolled_speaker_has_no_eer() -> None:
    rates = error_rates(1, (np.array([[1.0]]), np.array([0])))
    assert (rates.eer, rates.rank1) == (None, 1)
