"""Whole numbers beyond 2^53, neighbours of which are one float: refused where scores are read."""

import io
from pathlib import Path

import numpy as np
import pytest
from support import cli, lines_to, write

import privacy_eval as pe
from privacy_eval import PrivacyEvalError
from privacy_eval.io.scores import read_scores
from privacy_eval.metrics import TrialScores
from privacy_eval.metrics.arguments import as_numbers
from privacy_eval.metrics.eer import speaker_eers

#: 2^53, which a float holds, as the next whole number is none.
LIMIT = 9007199254740992
LOST = ["9007199254740993", "-9007199254740993", "+9007199254740993", "9007199254740993.0",
        "18014398509481983", "9223372036854775807", "18446744073709551615",
        "1152921504606846999"]  # fmt: skip
#: The same in all digits, in the fewest (as JavaScript and Rust write 2^60), or no whole numbers.
KEPT = ["9007199254740992", "-9007199254740992", "9007199254740994", "18014398509481984.0",
        "1152921504606846976", "1152921504606847000", "100000000000000000000", "1e20",
        "1.2345678901234567e+20", "9007199254740993e0", "0.9007199254740993",
        "9007199254740991"]  # fmt: skip


def score_lines(number: str) -> list[str]:
    return ["s1 u1 1", f"s1 u2 {number}", "s2 u1 3", "s2 u2 4.5"]


@pytest.mark.parametrize("number", LOST)
def test_a_whole_number_that_is_no_float_is_refused(tmp_path: Path, number: str) -> None:
    file = lines_to(tmp_path / "scores", score_lines(number))
    with pytest.raises(PrivacyEvalError) as refused:
        read_scores(file)
    assert str(refused.value).startswith(f"{file}:2: ") and number in str(refused.value)
    assert "ties" in str(refused.value) and "subtract" in str(refused.value)


@pytest.mark.parametrize("number", KEPT)
def test_other_large_numbers_are_read(tmp_path: Path, number: str) -> None:
    file = lines_to(tmp_path / "scores", score_lines(number))
    assert read_scores(file).score[1] == float(number)


@pytest.mark.parametrize("header", ["", "enroll,test,score\n"])
@pytest.mark.parametrize(
    "verb", ["metrics", pytest.param("count", marks=pytest.mark.wing("scale"))]
)
def test_verbs_name_file_and_line(tmp_path: Path, verb: str, header: str) -> None:
    """Also of files that are otherwise read in blocks."""
    key = lines_to(tmp_path / "key", [f"s{n} u target" for n in range(200)] + ["s u nontarget"])
    rows = [(f"s{n}", "u", LIMIT + n) for n in range(200)] + [("s", "u", 5)]
    text = "".join((",".join if header else " ".join)(map(str, row)) + "\n" for row in rows)
    file = write(tmp_path / "scores", header + text)
    out = ("--out", tmp_path / "counts") if verb == "count" else ()
    run = cli(verb, "--scores", file, "--trials", key, *out)
    assert (run.code, run.out) == (1, "")
    assert f"{file}:{3 if header else 2}: " in run.err and run.err.count("\n") == 1


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_arrays_of_integers(tmp_path: Path, dtype: type) -> None:
    for name, values in (("t", [1, LIMIT + 1, 3]), ("n", [0, LIMIT, 2])):
        file = io.BytesIO()
        np.save(file, np.array(values, dtype))
        write(tmp_path / f"{name}.npy", file.getvalue())
    target, nontarget = tmp_path / "t.npy", tmp_path / "n.npy"
    run = cli("metrics", "--target", target, "--nontarget", nontarget)
    assert run.code == 1 and f"{target}: scores, row 1: " in run.err
    assert cli("metrics", "--target", nontarget, "--nontarget", nontarget).code == 0


@pytest.mark.parametrize(
    "scores",
    [
        [LIMIT + 1, 1],
        (1, 2.5, LIMIT + 1),
        np.array([1, LIMIT + 1]),
        np.array([LIMIT + 1], np.uint64),
        np.array([1, 2**70 + 1], object),
        [1, 2**64 + 1],
    ],
)
def test_arguments_in_python(scores: object) -> None:
    calls = (
        lambda: as_numbers(scores, "scores"),
        lambda: pe.evaluate(scores, [0.0]),
        lambda: TrialScores([0.0], scores),
        lambda: TrialScores.from_labels(scores, np.arange(len(scores)) == 0),  # type: ignore[arg-type]
        lambda: speaker_eers(scores, [True] * len(scores), ["s"] * len(scores)),  # type: ignore[arg-type]
    )
    for call in calls:
        with pytest.raises(PrivacyEvalError, match="scores, row .* has more digits than a float"):
            call()


def test_arguments_that_floats_hold() -> None:
    for scores in ([LIMIT, 1], [1e20, 2.0], np.array([LIMIT, -LIMIT]), np.array([2**60, 1])):
        assert as_numbers(scores, "scores").dtype == np.float64
    for texts in (["1"], np.array(["1"]), np.array([None, 1.5])):
        with pytest.raises(PrivacyEvalError, match="must be numbers"):
            as_numbers(texts, "scores")


def test_tables_with_integers(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra `arrow` is not installed")
    decimals = pa.array([1, LIMIT + 1, 3]).cast(pa.decimal128(19, 0))
    for column in (pa.array([1, LIMIT + 1, 3]), pa.array([1, LIMIT + 1, 3], pa.uint64()), decimals):
        table = pa.table({"enroll": ["a"] * 3, "test": ["x", "y", "z"], "score": column})
        pq.write_table(table, tmp_path / "scores.parquet")
        with pytest.raises(PrivacyEvalError, match=r"scores.parquet:2: the whole number \d"):
            read_scores(tmp_path / "scores.parquet")


def test_a_matrix_of_integers(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="the extra `formats` is not installed")
    with h5py.File(tmp_path / "scores.h5", "w") as file:
        file["ID/row_ids"], file["ID/column_ids"] = np.array([b"a", b"b"]), np.array([b"x"])
        file["scores"], file["score_mask"] = np.array([[1], [LIMIT + 1]]), np.ones((2, 1), bool)
    with pytest.raises(PrivacyEvalError, match="scores.h5: scores, row 1: the whole number"):
        read_scores(tmp_path / "scores.h5")


def test_a_number_beyond_all_floats() -> None:
    with pytest.raises(PrivacyEvalError, match="more digits than a float"):
        pe.evaluate([10**400] * 12, list(range(12)))
