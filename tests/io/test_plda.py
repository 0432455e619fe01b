"""Kaldi's PLDA models."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import write

from privacy_eval import PrivacyEvalError
from privacy_eval.io.vectors import Plda, read_plda, write_plda

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden" / "plda"
BINARY = (GOLDEN / "plda.bin").read_bytes()
TEXT = (GOLDEN / "plda.txt").read_bytes()
DIMENSION = 32
#: Where the values begin: behind `\0B<Plda> `, and 8 or 13 bytes of each part's head.
MEAN = 2 + 7 + 8
TRANSFORM = MEAN + 8 * DIMENSION + 13
PSI = TRANSFORM + 8 * DIMENSION**2 + 8

SMALL = Plda(np.array([1.0, -2.5]), np.array([[1.0, 2.0], [3.0, 4e-9]]), np.array([0.5, 0.0]))
SMALL_TEXT = b"<Plda>  [ 1 -2.5 ]\n [\n  1 2 \n  3 4e-09 ]\n [ 0.5 0 ]\n</Plda> "


def block(code: str, *sizes: int, values: list[float]) -> bytes:
    letter = "d" if code[0] == "D" else "f"
    head = b"".join(b"\4" + struct.pack("<i", size) for size in sizes)
    return f"{code} ".encode() + head + struct.pack(f"<{len(values)}{letter}", *values)


def model(
    mean: bytes = block("DV", 2, values=[1, 2]),
    transform: bytes = block("DM", 2, 2, values=[1, 2, 3, 4]),
    psi: bytes = block("DV", 2, values=[5, 6]),
) -> bytes:
    return b"\0B<Plda> " + mean + transform + psi + b"</Plda> "


def same(a: Plda, b: Plda) -> bool:
    return all(
        x.dtype == y.dtype == np.float64 and x.shape == y.shape and x.tobytes() == y.tobytes()
        for x, y in ((a.mean, b.mean), (a.transform, b.transform), (a.psi, b.psi))
    )


# What is read and written


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "content",
    [
        model(),
        model(mean=block("FV", 2, values=[1, 2]), psi=block("FV", 2, values=[5, 6])),
        model(transform=block("FM", 2, 2, values=[1, 2, 3, 4])),
        b"<Plda>  [ 1 2 ]\n [\n  1 2 \n  3 4 ]\n [ 5 6 ]\n</Plda> ",
        b"<Plda> [ 1 2 ] [ 1 2\n3 4 ] [ 5 6 ] </Plda>",
        b"<Plda>  [ 1 2 ]\r\n [\r\n  1 2 \r\n  3 4 ]\r\n [ 5 6 ]\r\n</Plda> \r\n",
    ],
    ids=["double", "float vectors", "float matrix", "text", "bare text", "CRLF"],
)
def test_model_formats_read_the_same(
    tmp_path: Path, content: bytes, pack: Callable[[bytes], bytes]
) -> None:
    plda = read_plda(write(tmp_path / "plda", pack(content)))
    expected = Plda(np.array([1.0, 2]), np.array([[1.0, 2], [3, 4]]), np.array([5.0, 6]))
    assert same(plda, expected)


def test_model_is_written_byte_for_byte(tmp_path: Path) -> None:
    write_plda(tmp_path / "new" / "plda", SMALL)
    assert (tmp_path / "new" / "plda").read_bytes() == model(
        block("DV", 2, values=[1, -2.5]),
        block("DM", 2, 2, values=[1, 2, 3, 4e-9]),
        block("DV", 2, values=[0.5, 0]),
    )
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["plda"]


@pytest.mark.parametrize(
    ("binary", "text"), [("plda.bin", "plda.txt"), ("plda.s01", "plda.s01.txt")]
)
def test_golden_models_round_trip(tmp_path: Path, binary: str, text: str) -> None:
    plda = read_plda(GOLDEN / binary)
    write_plda(tmp_path / "binary", plda)
    assert (tmp_path / "binary").read_bytes() == (GOLDEN / binary).read_bytes()
    printed = read_plda(GOLDEN / text)
    for part in ("mean", "transform", "psi"):
        assert np.allclose(getattr(printed, part), getattr(plda, part), rtol=1e-6, atol=0)


def test_golden_values_by_hand() -> None:
    plda = read_plda(GOLDEN / "plda.bin")
    assert plda.mean.tolist() == list(struct.unpack_from(f"<{DIMENSION}d", BINARY, MEAN))
    row = struct.unpack_from(f"<{DIMENSION}d", BINARY, TRANSFORM + 8 * DIMENSION)
    assert plda.transform[1].tolist() == list(row)
    assert plda.psi.tolist() == list(struct.unpack_from(f"<{DIMENSION}d", BINARY, PSI))
    assert PSI + 8 * DIMENSION + len(b"</Plda> ") == len(BINARY)


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60)
@given(size=st.integers(1, 5), data=st.data())
def test_model_round_trips(folder: Path, size: int, data: st.DataObject) -> None:
    plda = Plda(
        data.draw(hnp.arrays(np.float64, size, elements=finite)),
        data.draw(hnp.arrays(np.float64, (size, size), elements=finite)),
        data.draw(hnp.arrays(np.float64, size, elements=st.floats(0, 1e300))),
    )
    write_plda(folder / "plda", plda)
    assert same(read_plda(folder / "plda"), plda)


def test_single_precision_is_written_as_double(tmp_path: Path) -> None:
    single = Plda(*(part.astype(np.float32) for part in (SMALL.mean, SMALL.transform, SMALL.psi)))
    write_plda(tmp_path / "plda", single)
    assert read_plda(tmp_path / "plda").mean.tolist() == SMALL.mean.tolist()


# Errors


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected <Plda> of a PLDA model, found b''"),
        (b"\0B", "expected <Plda> of a PLDA model, found b''"),
        (b"\0B<Nnet> " + model()[9:], "expected <Plda> of a PLDA model, found b'<Nnet> '"),
        (b"<Nnet> [ 1 ]", "expected <Plda> of a PLDA model"),
        (model()[2:], "mean: expected [ of a vector, found b'DV \\x04"),
        (b"\0B" + SMALL_TEXT, "mean: expected a vector (FV or DV), found an unknown type"),
        (model()[:-1], "expected </Plda> of a PLDA model, found b'</Plda>'"),
        (model()[:-8] + b"</Pldb> ", "expected </Plda> of a PLDA model"),
        (model() + b"x", "unexpected content after its end, from byte "),
        (model() + b"\0", "unexpected content after its end"),
        (SMALL_TEXT + b"x", "unexpected content after its end"),
        (SMALL_TEXT[:-8], "expected </Plda>"),
        (model(mean=b""), "mean: expected a vector (FV or DV), found a matrix"),
        (model(transform=b""), "transform: expected a matrix (FM or DM), found a vector"),
        (model(psi=b""), "psi: expected a vector (FV or DV), found an unknown type (b'</P')"),
        (model(psi=b"CM "), "psi: expected a vector (FV or DV), found a compressed matrix"),
        (
            model(psi=block("DV", 3, values=[5, 6, 7])),
            "inconsistent dimensions: mean 2, transform 2 x 2, psi 3",
        ),
        (model(mean=block("DV", 1, values=[5])), "mean 1, transform 2 x 2, psi 2"),
        (
            model(transform=block("DM", 2, 3, values=[1, 2, 3, 4, 5, 6])),
            "mean 2, transform 2 x 3, psi 2",
        ),
        (model(transform=block("DM", 1, 4, values=[1, 2, 3, 4])), "transform 1 x 4"),
        (b"<Plda> [ 1 2 ] [ 1 2 ] [ 5 6 ] </Plda>", "transform 1 x 2"),
        (b"<Plda> [ 1 2 ] [ 1 2\n 3 ] [ 5 6 ] </Plda>", "transform: rows of 2 and of other"),
        (b"<Plda> [ ] [ ] [ ] </Plda>", "mean: dimension 0"),
        (
            model(transform=block("DM", 2**31 - 1, 2**31 - 1, values=[])),
            "transform: dimension 2147483647 x 2147483647, expected at most",
        ),
        (
            model(transform=block("FM", 2, 2, values=[np.inf, 2, -np.inf, 4])),
            "transform: 2 of 4 values are NaN, infinite",
        ),
        (model(psi=block("DV", 2, values=[-1e-9, 1])), "1 of 2 values of psi are negative"),
        (b"<Plda> [ 1 ] [ 1 ] [ -1 ] </Plda>", "1 of 1 values of psi are negative"),
        (b"PKLcos\nsystem\n(S'true'\ntR.", "expected <Plda> of a PLDA model"),
        (gzip.compress(model(), mtime=0)[:-9], "truncated or damaged gzip file"),
    ],
)
def test_invalid_model_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path / "plda", content)
    with pytest.raises(PrivacyEvalError) as caught:
        read_plda(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("plda", "message"),
    [
        (Plda(SMALL.mean[:1], SMALL.transform, SMALL.psi), "inconsistent dimensions"),
        (Plda(SMALL.mean, SMALL.transform[:1], SMALL.psi), "inconsistent dimensions"),
        (Plda(SMALL.mean, SMALL.transform.ravel(), SMALL.psi), "inconsistent dimensions"),
        (Plda(SMALL.mean, SMALL.transform, SMALL.psi[:, None]), "inconsistent dimensions"),
        (Plda(SMALL.mean[:0], SMALL.transform[:0, :0], SMALL.psi[:0]), "inconsistent dimensions"),
        (Plda(SMALL.mean * np.nan, SMALL.transform, SMALL.psi), "2 values are NaN"),
        (Plda(SMALL.mean, SMALL.transform, -SMALL.psi), "1 of 2 values of psi"),
    ],
)
def test_invalid_model_is_not_written(tmp_path: Path, plda: Plda, message: str) -> None:
    path = write(tmp_path / "plda", b"old")
    with pytest.raises(PrivacyEvalError, match=f"^{path}: not written: {message}"):
        write_plda(path, plda)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
