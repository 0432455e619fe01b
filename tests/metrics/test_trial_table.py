"""Trials: made of arrays and tables, selected, matched."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacy_eval as pe
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics.trials import Ids, Trials, match

PAIRS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")), unique=True, min_size=1
)


@given(PAIRS, PAIRS, st.booleans())
def test_matching_is_a_join_by_both_ids(
    first: list[tuple[str, str]], second: list[tuple[str, str]], is_sparse: bool
) -> None:
    more = [(f"e{n}", f"t{n}") for n in range(30 * is_sparse)]  # too many pairs for a table
    tables = [[*pairs, *more] for pairs in (first, second)]
    trials = [
        Trials(enrolled=[e for e, _ in pairs], utterance=[u for _, u in pairs]) for pairs in tables
    ]
    rows = match(*trials)
    common = [pair for pair in tables[0] if pair in tables[1]]
    assert [tables[0][row] for row in rows[0]] == [tables[1][row] for row in rows[1]] == common


def test_selection_keeps_the_rows_of_messages() -> None:
    trials = Trials(score=[1, 2, 3, 4], sex=["f", "m", "f", None])
    chosen = trials.select(sex=["f"]).take(np.array([1]))
    assert (chosen.score.tolist(), chosen["sex"].tolist()) == ([3.0], ["f"])
    assert chosen.where(0) == "trials, row 2 (from 0)"


def test_weights_count_trials() -> None:
    trials = Trials(score=[1, 2, 3], label=[1, 0, 1], weight=[2, 1, 0])
    assert trials.scores.target.tolist() == [1.0, 1.0]
    assert trials.scores.nontarget.tolist() == [2.0]


def test_missing_names_have_none_and_ids_may_not_miss() -> None:
    with pytest.warns(UserWarning, match="rooms: 235.0 is taken for 235"):
        ids = Ids.of([235.0, None, 7.0], "rooms", may_miss=True)
    assert ids.tolist() == ["235", "", "7"]
    with pytest.raises(PrivacyEvalError, match="1 of 2 .* utterance are missing .* row 1"):
        Trials(enrolled=["a", "a"], utterance=["u", None])


def test_a_trial_twice_is_refused_with_its_ids() -> None:
    with pytest.raises(PrivacyEvalError, match=r"row 2 .*: 1 duplicate trial: 'a u"):
        Trials(enrolled=["a", "b", "a"], utterance=["u", "u", "u"])


def test_enrolled_ids_are_speakers_where_all_labels_agree() -> None:
    trials = Trials(enrolled=[*"baab"], label=[1, 1, 0, 0], trial_speaker=[*"babc"])
    assert [side.tolist() for side in trials.speakers] == [[*"baab"], [*"babc"]]
    assert trials.speakers[0].names == trials.speakers[1].names == ("a", "b", "c")


def test_speakers_that_are_not_known_are_asked_for() -> None:
    with pytest.raises(PrivacyEvalError, match="trial_speaker=.*utt2spk"):
        Trials(enrolled=["a"], label=[1]).speakers  # noqa: B018
    models = Trials(enrolled=["model1", "model2"], label=[1, 0], trial_speaker=["a", "a"])
    with pytest.raises(PrivacyEvalError, match="row 0 .*: .* model1 .* enrolled_speaker="):
        models.speakers  # noqa: B018
    assert models.with_columns(enrolled_speaker=["a", "b"]).speakers[0].tolist() == ["a", "b"]


def test_labels_that_contradict_speakers_are_refused() -> None:
    trials = Trials(enrolled=[*"aab"], label=[1, 1, 0], trial_speaker=[*"aba"])
    with pytest.raises(
        PrivacyEvalError, match="row 1 .*: labels of 1 trials .* target .* a and speaker b"
    ):
        trials.speakers  # noqa: B018


@pytest.mark.wing("disclosure")
def test_weighted_trials_have_groups() -> None:
    enrolled, spoken, number = np.indices((4, 4, 3)).reshape(3, -1)
    table = {"enrolled": enrolled, "utterance": 10 * spoken + number, "trial_speaker": spoken}
    table |= {"score": np.random.default_rng(0).normal(size=48), "label": enrolled == spoken}
    table |= {"sex": np.array(["f", "m"])[spoken % 2]}
    once = pe.evaluate(Trials(table), by="sex", bootstrap=0)
    twice = pe.evaluate(Trials(table, weight=[2] * 48), by="sex", bootstrap=0)
    assert twice["f"]["eer"] == once["f"]["eer"]
    for ranked in (lambda of: pe.identify(of, [2], bootstrap=0), lambda of: pe.amounts(of, [1])):
        ranked(Trials(table, weight=[1] * 48))
        with pytest.raises(PrivacyEvalError, match="weights"):
            ranked(Trials(table, weight=[2] * 48))


def test_columns_of_names_are_used_as_arrays() -> None:
    trials = Trials(score=[1, 2, 3], enrolled=[*"aba"], sex=["f", None, "m"])
    assert (trials.enrolled == "a").tolist() == [True, False, True]
    assert (trials.enrolled != trials["sex"]).tolist() == [True, True, True]
    assert np.asarray(trials["sex"]).tolist() == [*trials["sex"]] == ["f", "", "m"]
    assert (trials.enrolled[1], trials.enrolled[-1], [*trials.enrolled[1:]]) == (
        "b",
        "a",
        ["b", "a"],
    )
    assert trials.enrolled[trials.score > 1].tolist() == ["b", "a"]
    polars = pytest.importorskip("polars")
    assert polars.Series(trials.enrolled).to_list() == ["a", "b", "a"]


def test_a_value_that_no_trial_has_is_an_error() -> None:
    trials = Trials(score=[1, 2, 3], sex=["f", "m", "f"], seconds=[3, 4.5, 3])
    assert len(trials.select(seconds="3")) == len(trials.select(seconds=[3, 9])) == 2
    for wanted in ({"sex": "x"}, {"seconds": 4}, {"seconds": "long"}):
        with pytest.raises(PrivacyEvalError, match="no trial has .*(f, m|3.0, 4.5)"):
            trials.select(**wanted)
    assert trials.take([2, 0]).score.tolist() == [3.0, 1.0]


def test_sorted_scores_are_trials() -> None:
    scores = pe.TrialScores([2, 1], [0, -1, 1.5])
    assert pe.evaluate(scores, bootstrap=0)["eer"] == pe.evaluate(Trials(scores))["eer"]


def test_what_is_no_column_of_scores_is_asked_for() -> None:
    key = Trials(enrolled=["a", "a"], utterance=["u", "v"], label=[1, 0])
    for table in ({"enrolled": ["a"], "sim": [1]}, {"label": [0, 1], "sim": [1, 2]}):
        with pytest.raises(PrivacyEvalError, match="no column score.*sim"):
            pe.pair(table, key)


def test_rules_of_ids_in_one_text() -> None:
    key = Trials(enrolled=["a", "a"], utterance=["u", "v"], label=[1, 0])
    scores = Trials(enrolled=["a", "a"], utterance=["d\\a\\u.wav", "d/v.wav"], score=[1, 2])
    with pytest.raises(PrivacyEvalError, match="ids=.'basename', 'strip-extension'.") as error:
        pe.pair(scores, key)
    assert "--ids basename,strip-extension" in str(error.value)
    paired = pe.pair(scores, key, ids="basename,strip-extension")
    assert paired.utterance.tolist() == ["u", "v"] and paired.is_target.tolist() == [True, False]
    with pytest.raises(PrivacyEvalError, match="strip-extension.*not 'base'"):
        pe.pair(scores, key, ids="base")


def test_systems_of_other_weights_are_not_compared() -> None:
    first = Trials(
        score=[3, 0, 1, 2], label=[1, 0, 0, 1],
        enrolled_speaker=[*"aabb"], trial_speaker=[*"abab"], weight=[1, 2, 1, 1],
    )  # fmt: skip
    with pytest.raises(PrivacyEvalError, match="weights of 1 trials"):
        pe.compare({"A": first, "B": first.with_columns(weight=None)})
