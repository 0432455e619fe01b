"""Evaluations of trials: whole, by a column, of labels; what results print, and as numbers."""

from __future__ import annotations

import numpy as np
import pytest

import privacy_eval as pe
from privacy_eval.metrics import Evaluation, Trials
from privacy_eval.metrics.amount import AmountCurve
from privacy_eval.metrics.comparison import Comparison
from privacy_eval.metrics.evaluation import Evaluations
from privacy_eval.metrics.groups import GroupReport
from privacy_eval.metrics.printed import CHANCE_OF_ZEBRA, Printed
from privacy_eval.metrics.worst_case import WorstCase

PEOPLE = list("abcdefgh")
SEX = dict(zip(PEOPLE, "ffffmmmm", strict=True))
ENROLLED = np.repeat(PEOPLE, 16)
SPOKEN = np.tile(np.repeat(PEOPLE, 2), 8)
SAME = ENROLLED == SPOKEN
SCORES = np.random.default_rng(1).normal(size=SAME.size) + 2 * SAME
TRIALS = Trials(
    score=SCORES,
    label=SAME,
    enrolled=ENROLLED,
    utterance=[f"{speaker}-{n % 2}" for n, speaker in enumerate(SPOKEN)],
    trial_speaker=SPOKEN,
    sex=[SEX[speaker] for speaker in SPOKEN],
    session=[f"{n % 2}" for n in range(SAME.size)],
)


def test_arrays_labels_tables_and_trials_have_the_same_values() -> None:
    whole = pe.evaluate(TRIALS, bootstrap=0)
    table = {"score": SCORES, "label": SAME, "enroll": ENROLLED}
    for same in (
        pe.evaluate(SCORES[SAME], SCORES[~SAME]),
        pe.evaluate(scores=SCORES, labels=SAME.astype(int)),
        pe.evaluate(Trials(score=SCORES, label=SAME)),
        pe.evaluate(table, bootstrap=0),
    ):
        assert (same.values, same.intervals) == (whole.values, {})
    assert whole["eer"] == whole.values["eer"]


def test_enrolled_ids_that_are_speakers_give_intervals() -> None:
    named = TRIALS.with_columns(enrolled_speaker=TRIALS.enrolled)
    models = TRIALS.with_columns(enrolled=[f"model-{name}" for name in ENROLLED])
    assert TRIALS.knows_speakers and named.knows_speakers and not models.knows_speakers
    assert pe.evaluate(TRIALS, bootstrap=9) == pe.evaluate(named, bootstrap=9)
    assert not pe.evaluate(models, bootstrap=9).intervals
    known = models.with_columns(enrolled_speaker=ENROLLED)
    assert pe.evaluate(known, bootstrap=9).intervals == pe.evaluate(named, bootstrap=9).intervals


def test_a_column_of_speakers_takes_both_and_another_the_utterances() -> None:
    by_sex = pe.evaluate(TRIALS, by="sex", bootstrap=9)
    assert list(by_sex) == ["f", "m"]
    for sex, of in by_sex.items():
        both = [SEX[e] == SEX[s] == sex for e, s in zip(ENROLLED, SPOKEN, strict=True)]
        chosen = TRIALS.take(np.array(both))
        assert of.values == pe.evaluate(chosen, bootstrap=9).values
        assert of.intervals.keys() == of.values.keys()
    by_session = pe.evaluate(TRIALS, by="session", bootstrap=0)
    for session, of in by_session.items():
        assert of == pe.evaluate(TRIALS.select(session=session), bootstrap=0)
    one = TRIALS.with_columns(room=["1" if s == "a" else "2" for s in SPOKEN])
    with pytest.raises(pe.PrivacyEvalError, match="room 1: no nontarget"):
        pe.evaluate(one, by="room")


def test_groups_are_those_of_a_column_or_of_a_mapping() -> None:
    report = pe.groups(TRIALS, by="sex", bootstrap=9)
    assert report == pe.groups(TRIALS, by=SEX, bootstrap=9)
    within = pe.evaluate(TRIALS, by="sex", bootstrap=0)
    assert report["eer"] == {sex: of["eer"] for sex, of in within.items()}
    with pytest.raises(pe.PrivacyEvalError, match="session differs .*8 speakers"):
        pe.groups(TRIALS, by="session")
    with pytest.raises(pe.PrivacyEvalError, match="no column age"):
        pe.groups(TRIALS, by="age")


RESULTS = {
    Evaluation: lambda: pe.evaluate(TRIALS, bootstrap=9),
    Evaluations: lambda: pe.evaluate(TRIALS, by="sex", bootstrap=9),
    Comparison: lambda: pe.compare(
        {"one": TRIALS, "two": TRIALS.with_columns(score=SCORES**3)}, bootstrap=9
    ),
    GroupReport: lambda: pe.groups(TRIALS, by="sex", bootstrap=9),
    AmountCurve: lambda: pe.amounts(TRIALS, [1, 2], replicates=9),
    WorstCase: lambda: pe.worst_case(TRIALS, permutations=9),
}


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_results_are_tables_of_text_html_and_numbers(kind: type[Printed]) -> None:
    result = RESULTS[kind]()
    assert type(result) is kind
    text, html = repr(result), result._repr_html_()
    for row in result.cells():
        assert all(isinstance(cell, str) and cell in text for cell in row.values())
    assert html.count("<tr>") == len(result.cells()) + 1
    assert all(note in text for note in result.notes) and html.count("<li>") == len(result.notes)
    rows = result.to_rows()
    assert rows and any(isinstance(value, float) for value in rows[0].values())


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_results_are_frames(kind: type[Printed]) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    result = RESULTS[kind]()
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(result.to_rows())


def test_results_tell_what_the_command_line_tells() -> None:
    evaluation, worst = RESULTS[Evaluation](), RESULTS[WorstCase]()
    assert CHANCE_OF_ZEBRA in repr(evaluation) and "biased to the less private" in repr(evaluation)
    assert worst["gauss"] == worst.gauss and "without intervals" in repr(worst)
    comparison = RESULTS[Comparison]()
    assert comparison["eer"]["two"].difference == 0 and "8 speakers" in repr(comparison)
