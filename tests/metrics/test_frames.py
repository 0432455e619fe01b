"""Trials of data frames, mappings and arrays: right, or refused with column, rows and remedy."""

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics.trials import Trials

ENROLLED, UTTERANCE = ["b", "a", "b", "a"], ["u1", "u1", "u 2", "u 2"]
SCORE, LABEL = [0.5, -1.0, 2.0, 3.5], ["target", "nontarget", "nontarget", "target"]
SEX = ["f", "f", "m", "m"]
TABLE: dict[str, Any] = {
    "Enroll": ENROLLED, "utt": UTTERANCE, "LLR": SCORE, "target": LABEL, "sex": SEX
}  # fmt: skip
IS_TARGET = [True, False, False, True]

LIBRARIES = {"pd": "pandas", "pl": "polars", "pa": "pyarrow"}
LIBRARIES |= {name: name for name in LIBRARIES.values()}


def library(name: str) -> Any:
    return pytest.importorskip(LIBRARIES[name], reason=f"{LIBRARIES[name]} is not installed")


def of_pandas(**types: str) -> Any:
    return library("pd").DataFrame(TABLE).astype(types)


def of_polars(**types: str) -> Any:
    pl = library("pl")
    enum = {"Enum": pl.Enum(["unused", *"abfm", "u 2", "u1", "nontarget", "target"])}
    return pl.DataFrame(TABLE).cast({n: enum.get(t) or getattr(pl, t) for n, t in types.items()})


def of_arrow(*dictionaries: str, parts: bool = False) -> Any:
    pa = library("pa")
    columns = {name: pa.array(of) for name, of in TABLE.items()}
    columns |= {name: columns[name].dictionary_encode() for name in dictionaries}
    table = pa.table(columns)
    return pa.concat_tables([table[:1], table[1:]]) if parts else table


def structured() -> Any:
    dtype = [("Enroll", "U1"), ("utt", "S3"), ("LLR", "f4"), ("target", "U9"), ("sex", "U1")]
    return np.array([*zip(*TABLE.values(), strict=True)], dtype=dtype)


TEXTS = ("Enroll", "utt", "target", "sex")
TABLES: dict[str, Callable[[], Any]] = {
    "lists": lambda: TABLE,
    "arrays": lambda: {name: np.array(of) for name, of in TABLE.items()},
    "structured": structured,
    "pandas": of_pandas,
    "objects of pandas": lambda: of_pandas(**dict.fromkeys(TABLE, "object")),
    "categories of pandas": lambda: of_pandas(**dict.fromkeys(TEXTS, "category")),
    "nullable": lambda: of_pandas(LLR="Float64", sex="string"),
    "index": lambda: of_pandas().set_index(["Enroll", "utt"]),
    "duplicated index": lambda: of_pandas().set_axis([7, 7, 8, 8]),
    "arrow types of pandas": lambda: of_pandas(LLR="double[pyarrow]", utt="string[pyarrow]"),
    "polars": of_polars,
    "categories of polars": lambda: of_polars(**dict.fromkeys(TEXTS, "Categorical")),
    "enumerations": lambda: of_polars(**dict.fromkeys(TEXTS, "Enum")),
    "float32": lambda: of_polars(LLR="Float32"),
    "pyarrow": of_arrow,
    "dictionaries": lambda: of_arrow(*TEXTS),
    "chunks": lambda: of_arrow(*TEXTS, parts=True),
    "batch": lambda: of_arrow().to_batches()[0],
}


@pytest.mark.parametrize("table", TABLES)
def test_every_table_gives_the_same_trials(table: str) -> None:
    trials = Trials(TABLES[table]())
    assert {*trials.columns} == {"enrolled", "utterance", "score", "is_target", "sex"}
    assert (trials.enrolled.tolist(), trials.utterance.tolist()) == (ENROLLED, UTTERANCE)
    assert (trials.score.tolist(), trials.is_target.tolist()) == (SCORE, IS_TARGET)
    assert (trials["sex"].tolist(), trials.select(sex="m").score.tolist()) == (SEX, SCORE[2:])
    assert {*trials.enrolled.names} == {*trials.enrolled.used}


TRUTHS: dict[str, Callable[[], Any]] = {
    "boolean": lambda: library("pd").array([True, False, False, True], dtype="boolean"),
    "Int64": lambda: library("pd").Series([1, 0, 0, 1], dtype="Int64"),
    "floats": lambda: [1.0, -1.0, -1.0, 1.0],
    "int8": lambda: np.array([1, -1, -1, 1], dtype=np.int8),
    "category": lambda: library("pd").Categorical(["mated", "nonmated", "nonmated", "mated"]),
    "unused category": lambda: library("pd").Categorical([*"1001"], [*"012"]),
    "polars": lambda: library("pl").Series([True, False, False, True]),
    "pyarrow": lambda: library("pa").chunked_array([[True, False], [False, True]]),
    "words": lambda: np.array([b"same", b"diff", b"diff", b"same"]),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_labels_of_every_kind(truth: str) -> None:
    assert Trials(score=SCORE, label=TRUTHS[truth]()).is_target.tolist() == IS_TARGET


SCORES: dict[str, Callable[[], Any]] = {
    "float16": lambda: np.array(SCORE, dtype=np.float16),
    "objects": lambda: np.array(SCORE, dtype=object),
    "fractions": lambda: [Fraction(score) for score in SCORE],
    "Float32": lambda: library("pd").Series(SCORE, dtype="Float32"),
    "halves": lambda: library("pa").array(np.array(SCORE, dtype=np.float16)),
}


@pytest.mark.parametrize("scores", SCORES)
def test_scores_of_every_kind(scores: str) -> None:
    trials = Trials(score=SCORES[scores](), label=LABEL)
    assert trials.score.tolist() == SCORE and trials.score.dtype == np.float64


def without(row: int, name: str, value: Any) -> dict[str, Any]:
    return {**TABLE, name: [value if n == row else of for n, of in enumerate(TABLE[name])]}


class Tensor:
    """What a tensor of PyTorch with a gradient does."""

    shape = (4,)

    def __len__(self) -> int:
        return 4

    def detach(self) -> None: ...

    def __array__(self, *_: object, **__: object) -> None:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def masked(values: list[Any]) -> Any:
    return np.ma.array(values, mask=[False, True, True, False])


# What is given, and what the message must name: columns, rows, numbers, and words of the remedy.
WRONG: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "text as scores": (
        lambda: Trials({**TABLE, "LLR": ["0.5", "1", "2", "3"]}),
        ["LLR", "4 of 4", "text", "0.5", "row 0, 1, 2, 3", "floats"],
    ),
    "one text": (lambda: Trials(without(2, "LLR", "x")), ["LLR", "1 of 4", "row 2"]),
    "texts of pandas": (
        lambda: Trials(of_pandas(LLR="str")), ["LLR", "4 of 4", "text", "0.5"]
    ),
    "None": (lambda: Trials(without(2, "LLR", None)), ["LLR", "1 of 4", "missing", "row 2"]),
    "NaN": (lambda: Trials(without(1, "LLR", float("nan"))), ["score", "1 of 4", "nan", "row 1"]),
    "null of polars": (
        lambda: Trials(library("pl").DataFrame(without(1, "LLR", None))), ["1 of 4", "row 1"]
    ),
    "NA": (
        lambda: Trials(library("pd").DataFrame(without(1, "LLR", None)).convert_dtypes()),
        ["1 of 4", "row 1"],
    ),
    "masked": (lambda: Trials(score=masked(SCORE)), ["2", "score", "masked", "row 1, 2"]),
    "decimals": (
        lambda: Trials(score=[*map(Decimal, SCORE)]), ["score", "4 of 4", "Decimal", "floats"]
    ),
    "complex": (lambda: Trials(score=np.array(SCORE) + 0j), ["score", "complex"]),
    "truth values": (lambda: Trials(score=IS_TARGET), ["score", "truth values", "decisions"]),
    "exchanged": (
        lambda: Trials(score=[1, 0, 0, 1], label=SCORE), ["label", "'0.5'", "4 of 4", "scores?"]
    ),
    "huge": (lambda: Trials(score=[1, 2**53 + 1, 2, 3]), ["score", "row 1", "2^53"]),
    "gradient": (lambda: Trials(score=Tensor()), ["score", "tensor", "detach()"]),
    "three labels": (
        lambda: Trials(without(1, "target", "maybe")), ["target", "'maybe'", "1 of 4", "row 1"]
    ),
    "missing labels": (
        lambda: Trials(without(3, "target", None)), ["target", "'None'", "1 of 4", "row 3"]
    ),
    "missing truth": (
        lambda: Trials(label=library("pd").array([True, None], dtype="boolean")),
        ["label", "1 of 2", "row 1"],
    ),
    "one class": (
        lambda: Trials(score=SCORE, label=[1] * 4).scores, ["no nontarget trials"]
    ),
    "missing column": (
        lambda: Trials(TABLE, score="LR"), ["'LR'", "score=", "LLR"]
    ),
    "no score": (lambda: Trials(enrolled=ENROLLED).score, ["score", "enrolled", "score=..."]),
    "no table": (lambda: Trials(score="LLR"), ["score='LLR'", "table"]),
    "lengths": (lambda: Trials({**TABLE, "LLR": SCORE[:3]}), ["LLR 3, Enroll 4"]),
    "twice": (
        lambda: Trials({**TABLE, "utt": ["u"] * 4}), ["row 2", "2 duplicate", "'b u', 'a u'"]
    ),
    "missing id": (lambda: Trials(without(1, "utt", "")), ["utt", "1 of 4", "missing", "row 1"]),
    "two columns": (lambda: Trials({**TABLE, "score": SCORE}), ["LLR", "score", "score='LLR'"]),
    "frame as column": (
        lambda: Trials(score=of_pandas()[["LLR"]]), ["score", "DataFrame", "(4, 1)"]
    ),
    "two dimensions": (lambda: Trials(score=np.ones((4, 1))), ["score", "(4, 1)", "one value"]),
    "rows": (lambda: Trials(score=[[1.0], [2.0]]), ["score", "(2, 1)"]),
    "one value": (lambda: Trials({**TABLE, "system": "B1"}), ["system", "a str", "one value"]),
    "lists of lists": (
        lambda: Trials(library("pl").DataFrame({**TABLE, "utt": [["x"]] * 4})), ["utt"]
    ),
    "empty": (lambda: Trials(of_pandas()[:0]), ["no trials", "empty"]),
    "nothing": (Trials, ["no trials"]),
    "a path": (lambda: Trials("scores.txt"), ["str", "columns", "score=..."]),
    "a lazy frame": (lambda: Trials(of_polars().lazy()), ["LazyFrame", "collect()"]),
    "an index that does not fit": (
        lambda: Trials(score=of_pandas()["LLR"], label=of_pandas()["target"][::-1]),
        ["score", "label", "reset_index"],
    ),
    "columns of two levels": (
        lambda: Trials(library("pd").concat({"a": of_pandas()}, axis=1)), ["several levels", "join"]
    ),
    "a name twice": (
        lambda: Trials(library("pd").concat([of_pandas()] * 2, axis=1)), ["Enroll, LLR"]
    ),
    "weights": (
        lambda: Trials(score=SCORE, weight=[1, 0.5, 1, 1]), ["weight", "0.5", "row 1"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_named_with_its_remedy(case: str) -> None:
    call, named = WRONG[case]
    with pytest.raises(PrivacyEvalError) as refused:
        call()
    message = str(refused.value)
    assert [part for part in named if part not in message] == [], message
    assert "\n" not in message and len(message) < 320


def test_a_speaker_is_enrolled_or_speaks() -> None:
    kaldi = Trials({"speaker": ENROLLED, "utt": UTTERANCE})
    assert kaldi.columns == ("enrolled", "utterance")
    both = Trials({"enroll": ENROLLED, "utt": UTTERANCE, "spk": [*"bbaa"]})
    assert both.trial_speaker.tolist() == [*"bbaa"]
    named = Trials({"speaker": ENROLLED, "utt": UTTERANCE, "spk": [*"bbaa"]}, enrolled="speaker")
    assert (named.enrolled.tolist(), named.trial_speaker.tolist()) == (ENROLLED, [*"bbaa"])


def test_a_named_column_is_taken_and_others_come_along() -> None:
    frame = {**TABLE, "raw": [1, 2, 3, 4], "score": SCORE}
    trials = Trials(frame, score="raw", sex=[*"mmff"])
    assert (trials.score.tolist(), trials["LLR"].tolist()) == ([1, 2, 3, 4], SCORE)
    assert trials["sex"].tolist() == [*"mmff"]


class Unread:
    """A column that must not be converted."""

    def __len__(self) -> int:
        return 4

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("converted, though nobody asked")


def test_further_columns_are_converted_once_they_are_asked_for() -> None:
    trials = Trials({**TABLE, **{f"column{n}": Unread() for n in range(30)}})
    part = trials.select(sex="m").with_columns(score=[1, 2])
    assert len(repr(part)) < 150 and "column29" in part.columns and part.score.tolist() == [1, 2]
    with pytest.raises(AssertionError):
        part["column29"]


@pytest.mark.parametrize("kind", ["lists", "arrays", "pandas", "polars"])
def test_what_is_changed_later_stays_outside(kind: str) -> None:
    table = {**TABLE, "score": SCORE, "age": [20, 30, 40, 50], "target": IS_TARGET}
    del table["LLR"]
    if kind in ("pandas", "polars"):
        table = {name: library(kind).Series(of) for name, of in table.items()}
        table = library(kind).DataFrame(table) if kind == "polars" else table
    else:
        make = list if kind == "lists" else np.array
        table = {name: make(of) for name, of in table.items()}
    columns = {name: table[name] for name in ("score", "age", "target", "sex")}
    trials = Trials(enrolled=table["Enroll"], **columns)
    whole = Trials(table)
    for name, value in (("score", 9.0), ("age", 9), ("target", False), ("sex", "x")):
        for column in (columns[name], table[name]):
            column[0] = value
    for made in (trials, whole):
        assert (made.score.tolist(), made["age"].tolist()) == (SCORE, [20, 30, 40, 50])
        assert (made.is_target.tolist(), made["sex"].tolist()) == (IS_TARGET, SEX)
        with pytest.raises(ValueError, match="read-only"):
            made.score[0] = 1


def test_a_frame_that_is_changed_in_place() -> None:
    frame = of_pandas()
    trials = Trials(frame)
    frame.loc[0, "LLR"], frame.loc[0, "sex"] = 9.0, "x"
    assert (trials.score.tolist(), trials["sex"].tolist()) == (SCORE, SEX)


def test_scores_of_frames_are_not_copied() -> None:
    frames = [of_polars(), of_arrow()]
    if library("pd").__version__ >= "3":  # which copies on write
        frames.append(of_pandas())
    for frame in frames:
        assert np.shares_memory(Trials(frame).score, np.asarray(frame["LLR"]))


def test_an_array_that_nobody_can_write_to_is_not_copied() -> None:
    scores = np.array(SCORE)
    scores.setflags(write=False)
    assert np.shares_memory(Trials(score=scores).score, scores)


def test_a_frame_of_trials_is_one_again() -> None:
    library("pd")
    trials = Trials(TABLE, trial_speaker=[*"bbaa"], weight=[1, 2, 3, 4])
    again = Trials(trials.to_frame())
    assert {*again.columns} == {*trials.columns}
    for name in trials.columns:
        assert again[name].tolist() == trials[name].tolist()


def test_no_library_is_imported() -> None:
    program = (
        "import sys; from privacy_eval.metrics.trials import Trials; "
        "Trials({'score': [1, 2], 'label': [1, 0], 'sex': ['f', 'm']})['sex']; "
        "print({'pandas', 'polars', 'pyarrow', 'narwhals'} & {*sys.modules})"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "set()\n"
