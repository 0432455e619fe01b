"""Caveats: which values are implausible or uninformative, and that chance alone is neither."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_eval import evaluate
from privacy_eval.metrics import (
    CAVEATS,
    VARIANTS,
    Trials,
    TrialScores,
    caveats_of,
    find_caveats,
    find_ties,
    kaldi_eer,
    of_kind,
    withholding_caveat,
)
from privacy_eval.metrics.eer import lowest_eer
from privacy_eval.protocol.published import load_published

#: Of few nontarget scores.
FEW = ["few_nontargets_0.01", "few_nontargets_0.001"]
#: Of few target scores.
LOW = ["few_targets_challenge", "few_targets_exact"]


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
        (
            0.70,
            (20, 20),
            ["inverted", "coarse_eer", *LOW, *FEW],
        ),  # by hand: 0.70 - 1.96 sqrt(0.21 / 40) = 0.558
        (
            0.70,
            (20, 1),
            ["few_trials", *LOW, *FEW],
        ),  # 0.70 - 1.96 sqrt(0.21 / 80 + 0.21 / 4) = 0.240
        (float("inf"), (None, None), []),
        (None, (500, 30_000), []),
        (None, (500, 29_999), FEW[1:]),
        (None, (500, 3000), FEW[1:]),
        (None, (500, 2999), FEW),
        (None, (19, 50_000), ["coarse_eer", "few_targets"]),
        (0.9, (19, 500), ["inverted", "coarse_eer", "few_targets", *FEW]),
        (None, (49, 50_000), LOW),
        (None, (50, 50_000), LOW[:1]),
        (None, (99, 50_000), LOW[:1]),
        (None, (100, 50_000), []),
        (0.0, (1, 1_000_000), ["few_trials", "few_targets"]),
        (0.0, (9, 50_000), ["few_trials", "few_targets"]),
        (0.0, (10, 50_000), ["coarse_eer", "few_targets"]),
        (0.1, (500, 1), ["few_trials", *FEW]),
        (0.1, (500, 29), ["coarse_eer", *FEW]),
        (0.1, (500, 30), FEW),
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


def test_linkability_of_few_targets_is_withheld_by_variant() -> None:
    for n, withheld in (
        (20, "both"),
        (49, "both"),
        (50, "challenge"),
        (99, "challenge"),
        (100, ""),
    ):
        found = find_caveats(0.03, n, 50_000)
        for variant in VARIANTS:
            of_variant = caveats_of(found, variant)
            assert of_variant == find_caveats(0.03, n, 50_000, variant=variant)
            caveat = withholding_caveat(of_variant, "linkability")
            assert (caveat is not None) is (withheld in ("both", variant))
            if caveat is not None:
                assert caveat.printed and caveat.mark == "?" and "reads as privacy" in caveat.reason
            assert withholding_caveat(of_variant, "eer") is None


def test_an_eer_of_one_trial_of_a_class_is_withheld_and_says_why() -> None:
    """Kaldi's EER of a single target is 0 whatever its score."""
    lowest, highest = np.arange(1000.0), np.arange(1000.0) + 5
    for target, nontarget in (([-1.0], lowest), ([2e3], lowest), (highest, [2.0])):
        result = evaluate(target, nontarget)
        assert "few_trials" in result.caveats and result.zebra_tag is None
        assert result.cells()[0]["value"].endswith("? %")
        assert "add trials" in repr(result)
    assert [evaluate([s], lowest).values["eer"] for s in (-1.0, 500.0, 2e3)] == [0.0] * 3


def test_miss_rates_with_few_false_alarms_are_withheld_silently() -> None:
    """30 false alarms of 1 % are 3000 nontargets, of 0.1 % 30,000."""
    for rate, least in ((0.01, 3000), (0.001, 30_000)):
        metric = f"miss_at_fa_{rate}"
        withheld = withholding_caveat(find_caveats(0.3, 500, least - 1), metric)
        assert withheld is not None and not withheld.printed and not withheld.announced
        assert withholding_caveat(find_caveats(0.3, 500, least), metric) is None
        assert withholding_caveat(find_caveats(0.3, 500, None), metric) is None


ENROLLED, UTTERANCES = np.divmod(np.arange(12 * 48), 48)
TARGET = UTTERANCES % 12 == ENROLLED
HONEST = np.random.default_rng(0).normal(TARGET * 2.0)
NOISE = np.random.default_rng(1).normal(size=HONEST.size)
BY_ENROLLED = HONEST[48 * ENROLLED]  # a score of each enrolled speaker


def ties_of(scores: np.ndarray, target: np.ndarray = TARGET) -> dict[str, float]:
    return find_ties(trials_of(scores, target))


def trials_of(scores: np.ndarray, target: np.ndarray = TARGET) -> Trials:
    return Trials(score=scores, label=target, enrolled=ENROLLED, utterance=UTTERANCES)


@pytest.mark.parametrize(
    ("scores", "key"),
    [
        (BY_ENROLLED, "constant_trials"),
        (BY_ENROLLED / 100 + 3e-8 * NOISE / 100, "constant_trials"),  # cosines near 0, float32
        (np.where(ENROLLED == 3, HONEST, BY_ENROLLED), "constant_trials"),  # 11 of 12 speakers
        (np.where(UTTERANCES == 3, HONEST, BY_ENROLLED), "constant_trials"),  # 47 of 48 utterances
        (HONEST[UTTERANCES], "constant_enrolled"),
        (np.where(UTTERANCES < 2, HONEST, -HONEST[UTTERANCES]), "constant_enrolled"),
        (np.full(576, 0.3), "constant"),
        (1e5 * (1 + 1e-8 * NOISE), "constant"),
        (HONEST, ""),
        (HONEST.round(2), ""),
        (HONEST.round(), ""),
        (1e-9 * HONEST, ""),
        (1e7 + HONEST, ""),  # as differences tell the speakers apart
        (TARGET.astype(float), ""),  # decisions that are all right: each group has few targets
        (np.where(ENROLLED % 4, BY_ENROLLED, HONEST), ""),  # 9 of 12 speakers
        (np.append(1e12, HONEST[1:]), ""),
    ],
)
def test_constant_scores_say_nothing(scores: np.ndarray, key: str) -> None:
    found = find_caveats(0.5, 48, 528, ties=ties_of(scores))
    assert [k for k in found if k.startswith("constant")] == [key] * bool(key)
    if key:
        assert "inverted" not in find_caveats(1.0, 48, 528, ties=ties_of(scores))
        assert all(withholding_caveat(found, m) is not None for m in of_kind("scores"))
    order = np.random.default_rng(2).permutation(576)
    assert find_ties(trials_of(scores).take(order)) == ties_of(scores)


def test_few_coarse_scores_are_not_constant() -> None:
    trials = Trials(score=[1, 1, 2, 2], label=[1, 0, 0, 1], enrolled=[*"aabb"], utterance=[*"abab"])
    assert find_ties(trials).keys() <= {"lowest_eer"}


def test_scores_without_trials_are_constant_if_all_are_equal() -> None:
    result = evaluate([0.5] * 30, [0.5] * 300)
    assert list(result.caveats) == ["constant", "few_targets_exact", *FEW] and "50.000? %" in repr(
        result
    )
    trials = trials_of(BY_ENROLLED).with_columns(trial_speaker=UTTERANCES % 12)
    result = evaluate(trials, bootstrap=20)
    assert next(iter(result.caveats)) == "constant_trials"


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
)
def test_eers_over_all_orders_of_ties(target: list[int], nontarget: list[int]) -> None:
    """Against every order of the trials that keeps those of different scores apart."""
    values, n = [*target, *nontarget], len(target)
    eers = set()
    for order in itertools.permutations(range(len(values))):
        if all(values[a] <= values[b] for a, b in itertools.pairwise(order)):
            place = np.argsort(order)
            eers.add(kaldi_eer(TrialScores(place[:n], place[n:])).value)
    scores = TrialScores(target, nontarget)
    assert (lowest_eer(scores), kaldi_eer(scores).value) == (min(eers), max(eers))


def test_coarse_scores_tell_the_range_of_their_eer() -> None:
    """By hand: of 12 targets 4 tie with 8 of 36 nontargets, the others are apart."""
    scores = TrialScores([7.0] * 4 + [9.0] * 8, [7.0] * 8 + [1.0] * 28)
    found = find_caveats(kaldi_eer(scores).value, 12, 36, ties=find_ties(scores))
    assert found["tied"].endswith(": 0.00 to 25.00 %")
    assert withholding_caveat(found, "eer") is None
    one = TrialScores([7.0] + [9.0] * 11, [7.0] + [1.0] * 35)  # a tie is no matter
    assert find_ties(one) == {}
