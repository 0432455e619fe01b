"""Trials: made of arrays and tables, selected, matched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    with pytest.raises(PrivacyEvalError, match=r"row 2 .*: 1 duplicate trials: a u"):
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
