"""Evaluations of trials: whole, by a column, of labels; what results print, and as numbers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from latex_support import compiled, needs_latex

import privacy_eval as pe
from privacy_eval.metrics import Trials
from privacy_eval.metrics.evaluation import Evaluations
from privacy_eval.metrics.printed import CHANCE_OF_ZEBRA, Printed

OF_WING = pytest.mark.wing("disclosure")
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


@OF_WING
def test_groups_are_those_of_a_column_or_of_a_mapping() -> None:
    report = pe.groups(TRIALS, by="sex", bootstrap=9)
    assert report == pe.groups(TRIALS, by=SEX, bootstrap=9)
    within = pe.evaluate(TRIALS, by="sex", bootstrap=0)
    assert report["eer"] == {sex: of["eer"] for sex, of in within.items()}
    with pytest.raises(pe.PrivacyEvalError, match="session differs .*8 speakers"):
        pe.groups(TRIALS, by="session")
    with pytest.raises(pe.PrivacyEvalError, match="no column age"):
        pe.groups(TRIALS, by="age")


BY_GROUPS = pytest.mark.parametrize("call", ["evaluate", pytest.param("groups", marks=OF_WING)])


@BY_GROUPS
def test_speakers_without_a_value_are_told(call: str) -> None:
    by_sex = partial(getattr(pe, call), by="sex")
    found = by_sex(TRIALS.with_columns(sex=[{"b": None}.get(s, SEX[s]) for s in SPOKEN]))
    n = int(np.count_nonzero((ENROLLED == "b") | (SPOKEN == "b")))
    assert any(f"{n} trials" in note and note.endswith(" b") for note in found.notes)
    assert not any("left out" in note for note in by_sex(TRIALS).notes)


@pytest.mark.parametrize("wrong", [None, "x"])
@BY_GROUPS
def test_one_row_does_not_change_what_groups_are(call: str, wrong: Any) -> None:
    sex = [SEX[speaker] for speaker in SPOKEN]
    with pytest.raises(pe.PrivacyEvalError, match=f"sex differs .*a: .*{wrong or 'missing'}"):
        getattr(pe, call)(TRIALS.with_columns(sex=[wrong, *sex[1:]]), by="sex")


def test_the_table_says_how_trials_were_selected() -> None:
    assert "both speakers" in repr(pe.evaluate(TRIALS, by="sex", bootstrap=0))
    session = [None, *TRIALS["session"].tolist()[1:]]
    by_session = pe.evaluate(TRIALS.with_columns(session=session), by="session", bootstrap=0)
    assert by_session.notes[0].startswith("by the session of the trial")
    assert "1 trials without session" in by_session.to_latex()


@pytest.mark.parametrize("label", [~SAME, SAME ^ (np.arange(SAME.size) == 20)])
@pytest.mark.parametrize(
    "call",
    ["evaluate", *(pytest.param(n, marks=OF_WING) for n in ("identify", "singling_out"))],
)
def test_labels_agree_with_speakers(call: str, label: Any) -> None:
    n = int(np.count_nonzero(label != SAME))
    with pytest.raises(pe.PrivacyEvalError, match=f"{n} trials contradict .* of labels"):
        getattr(pe, call)(TRIALS.with_columns(label=label), bootstrap=0)


RESULTS: dict[str, Callable[[], Any]] = {
    "Evaluation": lambda: pe.evaluate(TRIALS, bootstrap=9),
    "Evaluations": lambda: pe.evaluate(TRIALS, by="sex", bootstrap=9),
    "Comparison": lambda: pe.compare(
        {"one": TRIALS, "two": TRIALS.with_columns(score=SCORES**3)}, bootstrap=9
    ),
    "GroupReport": lambda: pe.groups(TRIALS, by="sex", bootstrap=9),
    "AmountCurve": lambda: pe.amounts(TRIALS, [1, 2], bootstrap=9),
    "WorstCase": lambda: pe.worst_case(TRIALS, permutations=9),
}
KINDS = [
    pytest.param(kind, marks=OF_WING if kind in ("GroupReport", "AmountCurve", "WorstCase") else ())
    for kind in RESULTS
]


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_tables_of_text_html_and_numbers(kind: str) -> None:
    result = RESULTS[kind]()
    assert type(result).__name__ == kind and isinstance(result, Printed)
    text, html = repr(result), result._repr_html_()
    for row in result.cells():
        assert all(isinstance(cell, str) and cell in text for cell in row.values())
    assert html.count("<tr>") == len(result.cells()) + 1
    assert all(note in text for note in result.notes) and html.count("<li>") == len(result.notes)
    rows = result.to_rows()
    assert rows and any(isinstance(value, float) for value in rows[0].values())


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_frames(kind: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    result = RESULTS[kind]()
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(result.to_rows())


@OF_WING
def test_results_tell_what_the_command_line_tells() -> None:
    evaluation, worst = RESULTS["Evaluation"](), RESULTS["WorstCase"]()
    assert CHANCE_OF_ZEBRA in repr(evaluation) and "biased to the less private" in repr(evaluation)
    assert worst["gauss"] == worst.gauss and "without intervals" in repr(worst)
    comparison = RESULTS["Comparison"]()
    assert comparison["eer"]["two"].difference == 0 and "8 speakers" in repr(comparison)


@pytest.mark.parametrize("kind", KINDS)
def test_results_of_a_metric_are_found_by_its_name(kind: str) -> None:
    result = RESULTS[kind]()
    assert result["pav_exact" if kind == "WorstCase" else "eer"] is not None
    if kind in ("Evaluation", "Evaluations"):
        with pytest.raises(pe.PrivacyEvalError, match="no metric EER: did you mean eer"):
            result["EER"]


@OF_WING
def test_indices_of_results_without_a_class_of_their_own() -> None:
    found = pe.identify(TRIALS, gallery=4, bootstrap=0)
    assert found["rank1"] == {4: float(found.linkage[0])}
    strongest = pe.strongest(
        {"one": TRIALS, "two": TRIALS.with_columns(score=-SCORES)}, bootstrap=9
    )
    assert strongest["eer"] == strongest.eers
    inferred = pe.infer_attribute(np.eye(8), list("ffffmmmm"), list("abcdefgh"), bootstrap=9)
    assert inferred["attribute_uar"] == {name: of.uar for name, of in inferred.items()}
    with pytest.raises(pe.PrivacyEvalError, match="no metric eer: only attribute_uar"):
        inferred["eer"]


@pytest.mark.parametrize("kind", KINDS)
def test_frames_count_in_integers_and_have_one_kind_of_blank(kind: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    result = RESULTS[kind]()
    frame, rows = result.to_frame(), result.to_rows()
    for name, column in frame.items():
        assert [*column.isna()] == [row.get(name) in (None, "") for row in rows], name
        if {*(type(row.get(name)) for row in rows)} - {type(None)} == {int}:
            assert column.dtype == pandas.Int64Dtype(), name


def test_trial_speakers_are_judged_by_all_their_trials() -> None:
    by_speaker = pe.evaluate(TRIALS, by="trial_speaker", bootstrap=0)
    for speaker, of in by_speaker.items():
        assert of.values == pe.evaluate(TRIALS.select(trial_speaker=speaker), bootstrap=0).values


@OF_WING
@needs_latex
def test_tables_of_latex_compile(tmp_path: Path) -> None:
    """What nbconvert puts into a PDF, with any names."""
    names = ("a_b%&#$^~<\\", "é{|}\"'`±")
    systems = dict(zip(names, (TRIALS, TRIALS.with_columns(score=SCORES**3)), strict=True))
    results = [of() for of in RESULTS.values()] + [
        pe.evaluate(systems, bootstrap=9),
        pe.compare(systems, bootstrap=9),
        pe.strongest(systems, bootstrap=9),
        pe.identify(TRIALS, [2], bootstrap=9),
        pe.singling_out(TRIALS, [2], bootstrap=9),
    ]
    parts = [result._repr_latex_() for result in results]
    parts += [of.to_latex() for of in results if isinstance(of, Evaluations)]
    packages = r"\usepackage[T1]{fontenc}\usepackage{textcomp,longtable}"
    body = "\n\n".join(parts)
    text = rf"\documentclass{{article}}{packages}\begin{{document}}{body}" + "\n\\end{document}\n"
    (tmp_path / "notebook.tex").write_text(text, encoding="utf-8")
    compiled(tmp_path, "notebook.tex")


TABLE = {
    **{"enroll": ENROLLED, "utt": [f"{s}-{n % 2}" for n, s in enumerate(SPOKEN)], "spk": SPOKEN},
    **{"llr": SCORES, "mated": SAME, "sex": [SEX[speaker] for speaker in SPOKEN]},
    "session": [f"{n % 2}" for n in range(SAME.size)],
}


@pytest.mark.parametrize(
    "call",
    [
        lambda table: pe.evaluate(table, bootstrap=9),
        lambda table: pe.compare({"one": table, "two": table}, bootstrap=9),
        pytest.param(lambda table: pe.groups(table, by="sex"), marks=OF_WING),
        pytest.param(lambda table: pe.amounts(table, [1, 2]), marks=OF_WING),
        pytest.param(lambda table: pe.worst_case(table, permutations=9), marks=OF_WING),
        pytest.param(lambda table: pe.identify(table, 4, bootstrap=9), marks=OF_WING),
        lambda table: pe.strongest({"one": table, "two": table}, bootstrap=9),
        lambda table: pe.speaker_bootstrap(table, replicates=9, seed=0).interval("exact eer"),
        lambda table: pe.evaluate(pe.pair(table, table), bootstrap=0),
    ],
)
def test_what_trials_are_made_of_does_as_well(call: Callable[[Any], Any]) -> None:
    assert repr(call(TABLE)) == repr(call(TRIALS))


def test_several_systems_are_evaluated_by_name() -> None:
    result = pe.evaluate({"one": TABLE, "two": TRIALS}, bootstrap=0)
    assert result["one"] == result["two"] == pe.evaluate(TRIALS, bootstrap=0)
    with pytest.raises(pe.PrivacyEvalError, match="one system"):
        pe.evaluate({"one": TABLE}, by="sex")
    with pytest.raises(pe.PrivacyEvalError, match="name another system"):
        pe.compare([TRIALS, TRIALS])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pe.evaluate(TRIALS, by="sx"), ["sx", "did you mean sex"]),
        (lambda: pe.evaluate(RENAMED, by="spk1"), ["spk1", "it is named enrolled"]),
        (lambda: pe.Trials(TABLE, scores="llr"), ["scores", "did you mean score="]),
        (lambda: pe.Trials(TABLE, lable="mated"), ["lable", "did you mean label="]),
        (lambda: pe.evaluate(TABLE, enroled="enroll"), ["enroled", "did you mean enrolled="]),
        (lambda: pe.Trials(TABLE, label="mate"), ["mate", "did you mean mated"]),
        (lambda: pe.evaluate(TABLE, bootstrap=0).to_latex(["EER"]), ["EER", "did you mean eer"]),
        (lambda: pe.compare({"one": TABLE, "two": TRIALS.take(SCORES > 0)}), ["second one lacks"]),
    ],
)
def test_what_was_meant_is_told(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(pe.PrivacyEvalError) as refused:
        call()
    assert all(word in str(refused.value) for word in words), refused.value


OTHER_NAMES = {"enroll": "spk1", "llr": "cos", "mated": "is_same"}
OTHERS = {OTHER_NAMES.get(name, name): values for name, values in TABLE.items()}
NAMES = {"score": "cos", "label": "is_same", "enrolled": "spk1"}
RENAMED = Trials(OTHERS, **NAMES)


def test_evaluate_takes_the_names_of_columns() -> None:
    whole = pe.evaluate(TRIALS, bootstrap=9)
    assert pe.evaluate(OTHERS, bootstrap=9, **NAMES) == whole
    assert pe.evaluate({"a": OTHERS}, bootstrap=9, **NAMES)["a"] == whole
    rows = [pe.evaluate(TRIALS, bootstrap=0).to_latex(of) for of in ("eer", ["eer"])]
    assert rows[0] == rows[1] and f"{100 * whole['eer']:.2f}" in rows[0]


@OF_WING
def test_enrolled_speakers_are_enrolled_ids_if_there_are_no_others() -> None:
    names = {"enroll": "enroll_spk", "spk": "test_spk", "utt": "test_utt"}
    table = {names.get(name, name): values for name, values in TABLE.items()}
    assert repr(pe.identify(table, 4, bootstrap=9)) == repr(pe.identify(TRIALS, 4, bootstrap=9))
    order = np.random.default_rng(0).permutation(SAME.size)
    shuffled = {name: np.array(values)[order] for name, values in table.items()}
    compared = pe.compare({"one": table, "two": shuffled}, bootstrap=20)
    assert {of.difference for of in compared.differences["two"].values()} == {0}
    assert not any("order" in note for note in compared.notes)
    table.pop("test_utt")
    by_order = pe.compare({"one": table, "two": table}, bootstrap=20)
    assert any("by their order" in note for note in by_order.notes)
