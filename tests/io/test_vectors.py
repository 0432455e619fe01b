"""Kaldi's vectors: archives, scp files and single objects, whole, broken and hostile."""

import errno
import gzip
import io
import os
import pickle
import re
import shlex
import struct
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import kaldiio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from support import lines_to, write

import privacy_eval.io.vectors as module
from privacy_eval import PrivacyEvalError
from privacy_eval.errors import InputWarning
from privacy_eval.io.vector_digest import stored_digest
from privacy_eval.io.vectors import (
    ObjectFile,
    Plda,
    Vectors,
    read_matrix,
    read_plda,
    read_vector,
    read_vectors,
    vector_locations,
    write_matrix,
    write_plda,
    write_vector,
    write_vectors,
)

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden" / "plda"
BINARY_ARCHIVE = (GOLDEN / "utt.bin.ark").read_bytes()

ids = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=9
)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


def fv(*values: float) -> bytes:
    return b"\0BFV \4" + struct.pack(f"<i{len(values)}f", len(values), *values)


def dv(*values: float) -> bytes:
    return b"\0BDV \4" + struct.pack(f"<i{len(values)}d", len(values), *values)


def fm(*rows: list[float]) -> bytes:
    values = [value for row in rows for value in row]
    sizes = struct.pack("<BiBi", 4, len(rows), 4, len(rows[0]))
    return b"\0BFM " + sizes + struct.pack(f"<{len(values)}f", *values)


def error_of(read: Callable[..., object], *arguments: Any, **options: Any) -> str:
    with pytest.raises(PrivacyEvalError) as caught:
        read(*arguments, **options)
    return str(caught.value)


def contents(vectors: Vectors) -> dict[str, list[float]]:
    return dict(zip(vectors.ids, vectors.matrix.tolist(), strict=True))


# What is read


def test_scp_with_every_kind_of_target(tmp_path: Path) -> None:
    """Offsets in any order, one object twice, gzip, a text archive, single objects, names
    with blanks and colons, a path from the root."""
    archive = b"x " + fv(1, 2) + b"y " + fv(3, 4) + b"z " + dv(5, 6)
    at = [m.start() for m in re.finditer(b"\0B", archive)]
    write(tmp_path / "x.ark", archive)
    write(tmp_path / "packed", gzip.compress(archive))
    write(tmp_path / "sub:dir/t.ark", "k  [ 7 8 ]\nl  [ 9 10 ]\n")
    write(tmp_path / "one vector", fv(11, 12))
    write(tmp_path / "one.txt", gzip.compress(b" [ 13 14 ]\n"))
    lines = {
        f"c x.ark:{at[2]}": [5, 6],
        f"a\t x.ark:{at[0]}  ": [1, 2],
        f"b ./x.ark:{at[1]}\r": [3, 4],
        f"b2 {tmp_path}/x.ark:{at[1]}": [3, 4],
        f"pz packed:{at[2]}": [5, 6],
        f"px packed:{at[0]}": [1, 2],
        "": None,
        "t sub:dir/t.ark:14": [9, 10],
        "v one vector": [11, 12],
        "w one.txt": [13, 14],
        "w2 one.txt": [13, 14],
    }
    for name in ("x.scp", "x.scp.gz"):
        text = "\n".join(lines).encode()
        path = write(tmp_path / name, gzip.compress(text) if name.endswith("gz") else text)
        assert contents(read_vectors(path, tree=tmp_path)) == {
            line.split()[0]: values for line, values in lines.items() if values
        }


def test_selected_vectors_of_an_scp(tmp_path: Path) -> None:
    """Other lines are neither read nor run."""
    write(tmp_path / "a.ark", fv(1, 2) + fv(3, 4))
    lines = ["u1 a.ark:0", f"u2 a.ark:{len(fv(1, 2))}", "u3 nowhere.ark:7", "u4 false |"]
    scp = write(tmp_path / "x.scp", "\n".join(lines))
    found = read_vectors(scp, tree=tmp_path, only={"u2", "u1"})
    assert found.ids == ("u1", "u2")
    np.testing.assert_array_equal(found.matrix, [[1, 2], [3, 4]])
    for name, message in (("u3", r"x\.scp:3: u3 .*nowhere"), ("u4", r"x\.scp:4: u4 .*command")):
        with pytest.raises(PrivacyEvalError, match=message):
            read_vectors(scp, tree=tmp_path, only=["u1", name])
    assert vector_locations(scp) == dict(line.split(" ", 1) for line in lines)
    assert vector_locations(write(tmp_path / "y.ark", b"u1 " + fv(1, 2))) is None
    with pytest.raises(PrivacyEvalError, match=r"z\.scp:1: .*found only 'u1'"):
        vector_locations(write(tmp_path / "z.scp", "u1\n"))


def test_paths_are_relative_to_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "exp/x.ark", fv(1))
    scp = write(tmp_path / "exp/x.scp", "a exp/x.ark\n")
    assert contents(read_vectors(scp, tree=tmp_path)) == {"a": [1]}
    missing = write(tmp_path / "exp/y.scp", "a exp/y.ark\n")
    assert "a (exp/y.ark): cannot be read (No such file" in error_of(
        read_vectors, missing, tree=tmp_path / "exp"
    )
    monkeypatch.chdir(tmp_path)
    assert contents(read_vectors(Path("exp/x.scp"))) == {"a": [1]}


@pytest.mark.parametrize("folder", ["/export/of/another/machine", "exp/other"])
def test_an_archive_beside_a_moved_scp_is_read_and_named(tmp_path: Path, folder: str) -> None:
    """The archive beside the scp stands in for one that is not there, never for one that is."""
    write(tmp_path / "exp/x.ark", fv(1) + fv(2))
    scp = write(tmp_path / "exp/x.scp", f"a {folder}/x.ark:0\nb {folder}/x.ark:14\n")
    with pytest.warns(InputWarning, match=rf"x.scp: 1 archive not there.*{folder}/x.ark"):
        assert contents(read_vectors(scp, tree=tmp_path)) == {"a": [1], "b": [2]}
    write(tmp_path / "exp/other/x.ark", fv(3) + fv(4))
    if folder == "exp/other":
        assert contents(read_vectors(scp, tree=tmp_path)) == {"a": [3], "b": [4]}
    (tmp_path / "exp/x.ark").unlink()
    (tmp_path / "exp/other/x.ark").unlink()
    found = error_of(read_vectors, scp, tree=tmp_path)
    assert f"{folder}/x.ark" in found and "o such file" in found and "allow-outside" not in found


@pytest.mark.parametrize("prefix", ["scp:", "scp,p:", "scp,p,s:"])
def test_prefixes_of_kaldi_are_no_part_of_the_path(tmp_path: Path, prefix: str) -> None:
    write(tmp_path / "x.ark", b"a " + fv(1))
    scp = write(tmp_path / "x.scp", "a x.ark:2\n")
    assert contents(read_vectors(Path(f"{prefix}{scp}"), tree=tmp_path)) == {"a": [1]}
    archive = Path(f"{prefix.replace('scp', 'ark')}{tmp_path / 'x.ark'}")
    assert contents(read_vectors(archive)) == {"a": [1]}


@pytest.mark.parametrize(
    ("packed", "part", "expected"),
    [
        (fv(1, 2, 3), "[0:1]", [1, 2]),
        (fv(1, 2, 3), "[2:2]", [3]),
        (b"[ 1 2 3 ]\n", "[1:2]", [2, 3]),
        (fm([1, 2, 3]), "", [1, 2, 3]),
        (b"[\n  1 2 3 ]\n", "", [1, 2, 3]),
        (fm([1, 2, 3], [4, 5, 6]), "[1:1]", [4, 5, 6]),
        (fm([1, 2, 3], [4, 5, 6]), "[0:0,1:2]", [2, 3]),
        (fm([1, 2, 3]), "[,1:2]", [2, 3]),
        (b"[\n  1 2 3\n  4 5 6 ]\n", "[1:1,0:0]", [4]),
    ],
)
def test_ranges_with_their_last_and_matrices_of_one_row(
    tmp_path: Path, packed: bytes, part: str, expected: list[float]
) -> None:
    """Ends are included, as in Kaldi's `ExtractObjectRange` and in kaldiio."""
    write(tmp_path / "x.ark", b"a " + packed)
    scp = write(tmp_path / "x.scp", f"a x.ark:2{part}\nb x.ark:2{part}\n")
    assert contents(read_vectors(scp, tree=tmp_path)) == {"a": expected, "b": expected}
    if not packed.startswith(b"["):
        loaded = (
            kaldiio.load_mat(f"{tmp_path}/x.ark:2{part}") if not part.startswith("[,") else None
        )
        assert loaded is None or loaded.ravel().tolist() == expected
    if not part:
        assert contents(read_vectors(tmp_path / "x.ark")) == {"a": expected}


def test_every_row_of_a_matrix_is_a_vector(tmp_path: Path) -> None:
    rows = [[float(10 * r + c) for c in range(3)] for r in range(5)]
    write(tmp_path / "x.ark", b"all " + fm(*rows))
    scp = write(tmp_path / "x.scp", "".join(f"u{r} x.ark:4[{r}:{r}]\n" for r in (3, 0, 4, 1, 2)))
    expected = {f"u{r}": rows[r] for r in range(5)}
    assert contents(read_vectors(scp, tree=tmp_path)) == expected


def test_golden_archives_agree() -> None:
    binary = read_vectors(GOLDEN / "utt.bin.ark")
    text = read_vectors(GOLDEN / "utt.txt.ark.gz")
    assert binary.matrix.shape == (200, 32)
    assert binary.ids[0] == "spk00-utt00"
    assert binary.ids == text.ids
    assert np.array_equal(binary.matrix, text.matrix)
    assert binary.digest == text.digest
    # Read by hand: the first entry is `spk00-utt00 ` and 10 bytes before the values.
    assert binary.matrix[0].tolist() == list(struct.unpack_from("<32f", BINARY_ARCHIVE, 22))


# Vectors


def test_digest_covers_ids_and_values(tmp_path: Path) -> None:
    def digest(content: bytes) -> str:
        return read_vectors(write(tmp_path / "x", content)).digest

    first = digest(b"a " + fv(1, 2) + b"b " + fv(3, 4))
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert digest(gzip.compress(b"a [ 1 2 ]\nb [ 3.0 4 ]\n")) == first
    others = [
        b"b " + fv(1, 2) + b"a " + fv(3, 4),
        b"a " + fv(1, 2) + b"b " + fv(3, 5),
        b"a " + fv(1, 2) + b"c " + fv(3, 4),
        b"a " + fv(1, 2, 3, 4),
        b"a " + fv(1) + b"b " + fv(2) + b"c " + fv(3) + b"d " + fv(4),
    ]
    assert len({first, *map(digest, others)}) == 1 + len(others)


def test_digest_of_stored_vectors_is_that_of_the_vectors_read(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    for folder, rows in (("a", slice(0, 3)), ("b", slice(3, 5))):
        names = [f"{folder}{row}" for row in range(5)[rows]]
        write_vectors(tmp_path / folder / "x.scp", names, matrix[rows], tree=tmp_path)
    lines = [*(tmp_path / "a/x.scp").open(), *(tmp_path / "b/x.scp").open()]
    scp = tmp_path / "x.scp"
    scp.write_text("".join(lines[::-1]))  # in another order than the archives
    of_file = stored_digest(scp, tree=tmp_path, roots=[tmp_path])
    assert of_file is not None and of_file == read_vectors(scp, tree=tmp_path).digest
    scp.write_text("".join(lines))
    assert stored_digest(scp, tree=tmp_path, roots=[]) not in (None, of_file)


LEFT_TO_THE_READER = {
    "text": ("a x.ark:2", b"a [ 1 2 ]\n"),
    "double precision": ("a x.ark:0", dv(1, 2)),
    "compressed": ("a x.ark:0", gzip.compress(fv(1, 2))),
    "infinite": ("a x.ark:0", fv(1, np.inf)),
    "not a number": ("a x.ark:0", fv(np.nan, 1)),
    "truncated": ("a x.ark:0", fv(1, 2)[:-1]),
    "dimensions": ("a x.ark:0\nb x.ark:18", fv(1, 2) + fv(1)),
    "duplicate": ("a x.ark:0\na x.ark:0", fv(1, 2)),
    "no offset": ("a x.ark", fv(1, 2)),
    "command": ("a cat x.ark |", fv(1, 2)),
    "outside": ("a ../x.ark:0", fv(1, 2)),
    "missing": ("a y.ark:0", fv(1, 2)),
    "control character": ("a x.ark:0\rb x.ark:0", fv(1, 2)),
    "no line": ("", fv(1, 2)),
}


@pytest.mark.parametrize("case", LEFT_TO_THE_READER)
def test_other_vectors_are_left_to_the_reader(case: str, tmp_path: Path) -> None:
    lines, archive = LEFT_TO_THE_READER[case]
    tree = tmp_path / "tree"
    for folder in (tmp_path, tree):
        write(folder / "x.ark", archive)
    scp = write(tree / "x.scp", f"{lines}\n".encode())
    assert stored_digest(scp, tree=tree, roots=[tree]) is None


def test_matrix_is_read_only(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path / "x", b"a " + fv(1, 2)))
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0, 0] = 3


def test_rows_by_id(tmp_path: Path) -> None:
    path = write(tmp_path / "x", b"a [ 1 ]\nb [ 2 ]\nc [ 3 ]\n")
    vectors = read_vectors(path)
    rows = vectors.rows(["c", "a", "c"], "trials")
    assert rows.dtype == np.int64
    assert rows.tolist() == [2, 0, 2]
    assert vectors.rows([], "trials").shape == (0,)
    assert "b" in vectors
    assert "x" not in vectors
    error = error_of(vectors.rows, ["a", "x", "x"], "the trials")
    assert error.startswith(f"{path}: no vector for 1 ids of the trials: x")
    assert "voiced" in error and "allow-missing" in error
    error = error_of(vectors.rows, [f"u{i}" for i in range(7)], "key")
    assert error.startswith(f"{path}: no vector for 7 ids of key: u0, u1, u2, u3, u4, ... (")


# Broken archives and objects

BAD_OBJECTS = [
    (b"", "the file ends where a vector should begin"),
    (b"\0", "expected a vector, binary"),
    (b"\0B", r"expected a vector \(FV or DV\), found its end \(b''\)"),
    (b"\0BFV", "found its end"),
    (b"\0BFV \4\2\0", "bytes of its size"),
    (b"\0BFV \2\2\0\0\0" + bytes(8), "damaged: .* instead of its size"),
    (fv(1, 2)[:-1], "truncated: 7 of 8 bytes of its values"),
    (dv(1, 2)[:-8], "truncated: 8 of 16 bytes of its values"),
    (b"\0BFV \4" + struct.pack("<i", -1), "dimension -1, expected at least 1"),
    (b"\0BFV \4" + struct.pack("<i", 0), "dimension 0, expected at least 1"),
    (b"\0BDV \4" + struct.pack("<i", 2**31 - 1), "dimension 2147483647, expected at most 1048576"),
    (b"\0BFV \4" + struct.pack("<i", 1 << 16), "truncated: 0 of 262144 bytes of its values"),
    (fm([1, 2], [3, 4]), "found a matrix of 2 x 2: average its rows"),
    (b"\0BCM " + bytes(40), "dimension 0 x 0, expected at least 1"),
    (b"\0BCM2 " + bytes(40), "dimension 0 x 0, expected at least 1"),
    (b"\0BXY " + bytes(40), "found an unknown type"),
    (b"\0B\4" + struct.pack("<i", 3), "found an unknown type"),
    (fv(1, float("nan"), float("inf")), "2 of 3 values are NaN, infinite or too large"),
    (dv(1, 1e39), "1 of 2 values are NaN, infinite or too large"),
    (b"[ 1 nan ]", "1 of 2 values are NaN, infinite or too large"),
    (b"[ 1 -inf ]", "1 of 2 values are NaN"),
    (b"[ 1 1e39 ]", "1 of 2 values are NaN"),
    (b"[ 1 1e999 ]", "1 of 2 values are NaN"),
    (b"[ ]", "dimension 0, expected at least 1"),
    (b"[ 1 2", "missing ] at its end"),
    (b"[ 1 2\n", "missing ] at its end"),
    (b"[ 1 2\n b [ 1 2 ]\n", "expected a vector, with its ] on the line of its ["),
    (b"[\n  1 2 \n  3 4 ]\n", "found a matrix of 2 x 2"),
    (b"[" + b" 1" * 65537 + b" ]", "more than 65536 values in a line"),
    (b"[ 1 x ]", "expected a number, found 'x'"),
    (b"[ 1 0x1p3 ]", "expected a number, found '0x1p3'"),
    (b"[ 1 1_0 ]", "expected a number, found '1_0'"),
    (b"[ 1 \xd9\xa1 ]", "expected a number, found"),
    (b"[ 1,2 ]", "expected a number, found '1,2'"),
    (b"[ 1 [ 2 ]", r"expected a number, found '\['"),
    (b"1 2 3", "expected a vector, binary"),
    (b"RIFF" + bytes(40), "expected a vector, binary .* found b'RIFF"),
    (b"fLaC" + bytes(40), "expected a vector, binary"),
    (b"NPY\1" + bytes(40), "expected a vector, binary .* without write_function"),
    (b"AUDIO\1" + bytes(40), "expected a vector, binary .*audio"),
    (b"\x93NUMPY\1" + bytes(40), "expected a vector, binary .* numpy.savez"),
]  # fmt: skip


def as_object_message(message: str) -> str:
    return message if "\\" in message or ".*" in message else re.escape(message)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(("content", "message"), BAD_OBJECTS)
def test_invalid_vector_is_refused(
    tmp_path: Path, content: bytes, message: str, pack: Callable[[bytes], bytes]
) -> None:
    """Alone, in an archive and as the target of an scp line."""
    alone = write(tmp_path / "v", pack(content))
    archive = write(tmp_path / "x.ark", pack(b"a " + fv(1, 2) + b"b " + content))
    scp = write(tmp_path / "x.scp", "a x.ark:2\nb x.ark:22\n")
    for read, path, where in (
        (read_vector, alone, f"{alone}"),
        (read_vectors, archive, f"{archive}: b"),
        (partial(read_vectors, tree=tmp_path), scp, rf"{scp}:2: b \(x.ark:22\)"),
    ):
        with pytest.raises(PrivacyEvalError, match=f"^{where}: .*{as_object_message(message)}"):
            read(path)


@pytest.mark.parametrize("content", [fv(1, 2), dv(1, 2), b" [ 1 2 ]\n"])
def test_trailing_content_is_refused(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "v", content + b"\nx")
    assert "unexpected content after its end, from byte" in error_of(read_vector, path)
    scp = write(tmp_path / "scp", "a v\n")
    assert error_of(read_vectors, scp, tree=tmp_path).startswith(
        f"{scp}:1: a (v): unexpected content"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (fv(1, 2), r"expected a matrix \(FM or DM\), found a vector"),
        (fm([1, 2])[:-1], "truncated: 7 of 8 bytes"),
        (b"\0BFM \4" + struct.pack("<iBi", 2, 4, 0), "dimension 2 x 0, expected at least 1"),
        (b"\0BFM \4" + struct.pack("<iBi", -2, 4, -3), "dimension -2 x -3, expected"),
        (b"\0BDM \4" + struct.pack("<iBi", 65536, 4, 65536), "dimension 65536 x 65536: more than"),
        (b"\0BDM \4" + struct.pack("<iBi", 1048577, 4, 1), "dimension 1048577 x 1, expected"),
        (b"[" + b"1\n" * 65537 + b"]", "dimension 65537 x 1, expected at most 65536"),
        (b"[" + b"\n" * 65539 + b"]", "more than 65536 lines"),
        (b"\0BFM \4" + struct.pack("<iBi", 2, 8, 2), "damaged"),
        (b"\0BCM4 " + bytes(40), "expected a compressed matrix"),
        (b"\0BCM ", "bytes of its size"),
        (b"\0BCM2 " + bytes(15), "bytes of its size"),
        (b"\0BCM " + struct.pack("<ffii", 0, 1, 2, 3) + bytes(29), "truncated: 29 of 30"),
        (b"\0BCM2 " + struct.pack("<ffii", 0, 1, 2, 3) + bytes(11), "truncated: 11 of 12"),
        (b"\0BCM3 " + struct.pack("<ffii", 0, 1, 2, 3) + bytes(5), "truncated: 5 of 6"),
        (b"\0BCM3 " + struct.pack("<ffii", 0, 1, 0, 3), "dimension 0 x 3"),
        (b"\0BCM3 " + struct.pack("<ffii", 0, 1, 1 << 30, 1 << 30), "dimension"),
        (b"\0BCM3 " + struct.pack("<ffii", float("nan"), 1, 1, 1) + b"a", "1 of 1 values are NaN"),
        (b"\0BCM3 " + struct.pack("<ffii", 3e38, 3e38, 1, 1) + b"\xff", "1 of 1 values are NaN"),
        (b" [\n 1 2 \n 3 ]\n", "rows of 2 and of other numbers of values"),
        (b" [\n ]\n", "dimension 1 x 0"),
        (b" [\n 1 2 \n", "missing ] at its end"),
        (b" [\n 1 2 ]\n [ 3 ]\n", "unexpected content after its end"),
    ],
)
def test_invalid_matrix_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path / "m", content)
    with pytest.raises(PrivacyEvalError, match=f"^{path}: .*{as_object_message(message)}"):
        read_matrix(path)


def test_compressed_matrices(tmp_path: Path) -> None:
    head = struct.pack("<ffii", -1, 255, 2, 3)
    by_row = write(tmp_path / "m", b"\0BCM3 " + head + bytes([0, 1, 2, 253, 254, 255]))
    assert read_matrix(by_row).tolist() == [[-1, 0, 1], [252, 253, 254]]
    head = struct.pack("<ffii", 0, 65535, 2, 1)
    of_two_bytes = write(tmp_path / "m", b"\0BCM2 " + head + struct.pack("<2H", 1, 65535))
    assert read_matrix(of_two_bytes).tolist() == [[1], [65535]]
    head = struct.pack("<ffii", 0, 65535, 6, 1)
    # Linear between the percentiles at bytes 0, 64, 192 and 255.
    percentiles = struct.pack("<4H", 0, 640, 1920, 2550)
    values = bytes([0, 32, 64, 128, 192, 255])
    by_column = write(tmp_path / "m", b"\0BCM " + head + percentiles + values)
    assert read_matrix(by_column).ravel().tolist() == [0, 320, 640, 1280, 1920, 2550]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": empty file, expected lines of <utterance> <archive>:<offset> or an archive"),
        (b" \n\t\n", ": empty file"),
        (b"a [ 1 ]\nb", ": expected an id and a blank at byte 8, where the file ends"),
        (b"a [ 1 ]\nb\n[ 1 ]\n", ": b: the line ends after the id, expected a vector"),
        (b"a [ 1 ]\na [ 2 ]\n", ": a: duplicate utterance"),
        (b"a [ 1 ]\nb\xe9 [ 2 ]\n", r": byte 8: not UTF-8 text: b'b\xe9'"),
        (b"a [ 1 ]\nb\0c [ 2 ]\n", ": byte 8: expected an id of 1 to 1024 bytes without blanks"),
        (b"a [ 1 ]\n" + b"b" * 1025 + b" [ 2 ]\n", ": expected an id and a blank at byte 8"),
        (b"a [ 1 ]\nb [ 2 ]\nc [ 3 4 ]\n", ": vectors of different dimensions: a has 1, c has 2"),
        (b"\xe9 [ 1 ]\n", ": byte 0: not UTF-8 text"),
    ],
)
def test_invalid_archive_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path / "x.ark", content)
    assert error_of(read_vectors, path).startswith(f"{path}{message}")


def test_deviating_dimension_is_located(tmp_path: Path) -> None:
    write(tmp_path / "x.ark", b"a " + fv(1, 2) + b"b " + fv(3, 4, 5))
    scp = write(tmp_path / "x.scp", "\nodd x.ark:22\nfirst x.ark:2\n")
    assert error_of(read_vectors, scp, tree=tmp_path) == (
        f"{scp}:3: vectors of different dimensions: odd has 3, first has 2"
    )


def test_damaged_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(b"a " + fv(*range(50_000)) + b"b " + fv(*range(50_000)))
    archive = write(tmp_path / "x.ark", packed[:-6])
    assert "truncated or damaged gzip file" in error_of(read_vectors, archive)
    # The vector of the line is before the damage, which is found all the same.
    scp = write(tmp_path / "x.scp", "a x.ark:2\n")
    assert re.match(
        f"{scp}:1: .*truncated or damaged gzip file", error_of(read_vectors, scp, tree=tmp_path)
    )
    wrong_sum = bytearray(packed)
    wrong_sum[-8] ^= 1
    write(archive, bytes(wrong_sum))
    assert "truncated or damaged gzip file" in error_of(read_vectors, scp, tree=tmp_path)
    assert "truncated or damaged gzip file" in error_of(
        read_vector, write(tmp_path / "v", gzip.compress(fv(1))[:-1])
    )


def test_read_failure_is_a_clear_error() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    file = ObjectFile(Failing(), "x.ark: a")
    assert error_of(file.read, 1) == "x.ark: a: cannot be read (Input/output error)"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_size_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100_000)
    bomb = pack(b"a " + fv(1, 2) + bytes(1_000_000))
    archive = write(tmp_path / "x.ark", bomb)
    text = write(tmp_path / "t", pack(b"a [" + b" " * 1_000_000))
    assert "larger than 100000 bytes" in error_of(read_vector, archive.with_name("t")) + error_of(
        read_vectors, text
    )
    scp = write(tmp_path / "x.scp", "a x.ark:2\nb x.ark:900000\n")
    assert "b (x.ark:900000): the offset 900000 is past the end" in error_of(
        read_vectors, scp, tree=tmp_path
    )


def test_total_size_of_vectors_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One vector of many ids takes as much memory as many vectors."""
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    for name in "uvw":
        write(tmp_path / name, fv(*range(100)))
    same = write(tmp_path / "same", "a v\nb v\nc v\n")
    other = write(tmp_path / "other", "a u\nb v\nc w\n")
    for scp in (same, other):
        assert "more than 1000 bytes of vectors" in error_of(read_vectors, scp, tree=tmp_path)
    assert len(read_vectors(write(tmp_path / "two", "a v\nb v\n"), tree=tmp_path).ids) == 2


# Broken scp files


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b", "expected <utterance> <archive>:<offset>, found only 'b'"),
        ("a x.ark:2", "duplicate utterance 'a'"),
        ("b\xa0c x.ark:2", None),
        (b"b\xe9 x.ark:2", r"not UTF-8 text: b'b\xe9'"),
        (b"b x\xe9.ark:2", r"not UTF-8 text: b'x\xe9.ark:2'"),
        ("b x\0.ark:2", "control character 0x00, expected text"),
        ("b\x07 x.ark:2", "control character 0x07"),
        ("b x.ark:2\rc x.ark:2", "control character 0x0d"),
        ("b" * 1025 + " x.ark:2", "expected an id of 1 to 1024 bytes"),
        ("b none.ark:2", "b (none.ark:2): cannot be read (No such file or directory)"),
        ("b none.ark", "b (none.ark): cannot be read (No such file or directory)"),
        ("b folder:2", "b (folder:2): cannot be read (Is a directory)"),
        ("b fifo:2", "b (fifo:2): cannot be read (not a regular file)"),
        ("b loop:2", "b (loop:2): cannot be read (Too many levels of symbolic links)"),
        ("b " + "n" * 300 + ":2", f"b (...{'n' * 198}:2): cannot be read (File name too long)"),
        ("b x.ark/y:2", "b (x.ark/y:2): cannot be read (Not a directory)"),
        ("b x.ark:20", "b (x.ark:20): the file ends where a vector should begin"),
        ("b x.ark:9999", "b (x.ark:9999): the file ends where a vector should begin"),
        (f"b x.ark:{10**17}", "the offset 100000000000000000 is past the end of the file"),
        ("b x.ark:" + "9" * 19, "b: expected <archive>:<offset>, a number of bytes within"),
        ("b x.ark:" + "9" * 5000, "b: expected <archive>:<offset>, a number of bytes within"),
        ("b x.ark:-2", "b: expected <archive>:<offset>, a number of bytes within the archive"),
        ("b x.ark:+2", "b: expected <archive>:<offset>"),
        ("b x.ark:2.0", "b: expected <archive>:<offset>"),
        ("b x.ark:two", "b: expected <archive>:<offset>"),
        ("b x.ark:\u0662", "b: expected <archive>:<offset>"),
        ("b x.ark:", "b: expected <archive>:<offset>"),
        ("b :2", "b: expected <archive>:<offset>"),
        ("b x.ark:1", "expected a vector, binary (\\0B) or text ([), found b'\\x00BFV"),
        ("b x.ark:3", "b (x.ark:3): begins within the previous object"),
        ("b x.ark", "expected a vector, binary"),
        ("b x.ark:2[0:2]", "the range [0:2] is not within 2 values"),
        ("b x.ark:2[1:0]", "the range [1:0] is not within 2 values"),
        ("b x.ark:2[0:1,0:1]", "the range [0:1,0:1] is not within 2 values"),
        ("b x.ark:2[0:1,0:1,0:1]", "b: expected <archive>:<offset>"),
        ("b x.ark[0]", "b: expected <archive>:<offset>"),
        ("b -", "b (-): cannot be read (No such file or directory)"),
    ],
)
def test_invalid_scp_line_is_refused(
    tmp_path: Path, line: str | bytes, message: str | None
) -> None:
    write(tmp_path / "x.ark", b"a " + fv(1, 2))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    line = line.encode() if isinstance(line, str) else line
    scp = write(tmp_path / "x.scp", b"a x.ark:2\n\n" + line + b"\n")
    if message is None:  # odd, but clear
        assert len(read_vectors(scp, tree=tmp_path).ids) == 2
        return
    found = error_of(read_vectors, scp, tree=tmp_path)
    assert found.startswith(f"{scp}:3: ")
    assert message in found


@pytest.mark.parametrize("read", [read_vectors, read_vector, read_matrix])
def test_unreadable_paths_are_errors(tmp_path: Path, read: Callable[[Path], object]) -> None:
    assert error_of(read, tmp_path / "none").startswith(f"{tmp_path}/none: cannot be read (No such")
    what = "a folder; name a file" if read is read_vectors else "cannot be read (Is a directory)"
    assert error_of(read, tmp_path).startswith(f"{tmp_path}: {what}")
    os.mkfifo(tmp_path / "fifo")
    assert (
        error_of(read, tmp_path / "fifo") == f"{tmp_path}/fifo: cannot be read (not a regular file)"
    )
    assert error_of(read, Path("/dev/null")) == "/dev/null: cannot be read (not a regular file)"
    assert "not a path" in error_of(read, tmp_path / "a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_unreadable_archive_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "x.ark", fv(1)).chmod(0)
    scp = write(tmp_path / "x.scp", "a x.ark\n")
    assert error_of(read_vectors, scp, tree=tmp_path) == (
        f"{scp}:1: a (x.ark): cannot be read (Permission denied)"
    )


# Hostile files


@pytest.mark.parametrize(
    "form",
    [
        "{} |",
        "{}|",
        "|",
        "  {} \t|\r",
        "| {}",
        "|{}",
        "{} 2>&1 |",
        "sh -c '{}' |",
        "x.ark:2 ; {} |",
    ],
)
def test_pipes_are_not_run_by_default(tmp_path: Path, form: str) -> None:
    write(tmp_path / "x.ark", b"a " + fv(1, 2))
    marker = tmp_path / "marker"
    line = form.format(f"touch {shlex.quote(str(marker))}")
    scp = write(tmp_path / "x.scp", f"a x.ark:2\nb {line}\n")
    found = error_of(read_vectors, scp, tree=tmp_path)
    assert found.startswith(f"{scp}:2: b")
    assert "--allow-pipes" in found or line.startswith("|")
    if line.startswith("|"):
        error_of(read_vectors, scp, tree=tmp_path, allow_pipes=True)
    assert not marker.exists()


def test_paths_are_not_run_as_commands(tmp_path: Path) -> None:
    """Given as a path or an archive, a command is a file name."""
    marker = tmp_path / "marker"
    name = f"touch {marker.name} |"
    write(tmp_path / name, b"a " + fv(1, 2))
    assert contents(read_vectors(tmp_path / name)) == {"a": [1, 2]}
    write(tmp_path / name, fv(1, 2))
    assert read_vector(tmp_path / name).tolist() == [1, 2]
    assert not marker.exists()


class Exploit:
    """Creates a folder when unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("before", [b"", b"NPY\1\x80", b"\0B"])
def test_pickles_are_never_loaded(tmp_path: Path, protocol: int, before: bytes) -> None:
    marker = tmp_path / "marker"
    body = before + b"PKL" + pickle.dumps(Exploit(marker), protocol)
    write(tmp_path / "object", body)
    write(tmp_path / "x.ark", b"a " + fv(1, 2) + b"b " + body)
    write(tmp_path / "first.ark", b"b " + body)
    for line in ("b object", "b object:0", "b x.ark:22"):
        error_of(read_vectors, write(tmp_path / "x.scp", line), tree=tmp_path)
    error_of(read_vectors, tmp_path / "x.ark")
    error_of(read_vectors, tmp_path / "first.ark")
    error_of(read_vector, tmp_path / "object")
    error_of(read_matrix, tmp_path / "object")
    assert not marker.exists()
    pickle.loads(pickle.dumps(Exploit(marker)))
    assert marker.exists()  # it would have worked


def test_paths_outside_the_tree_are_refused(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "tree-2"
    write(outside / "x.ark", fv(1))
    (tree / "exp").mkdir(parents=True)
    (tree / "link.ark").symlink_to("../tree-2/x.ark")
    (tree / "folder").symlink_to(outside)
    (tree / "within.ark").symlink_to(write(tree / "exp" / "y.ark", fv(2)))
    for target in (
        "../tree-2/x.ark", f"{outside}/x.ark", "link.ark", "folder/x.ark", "exp/../../tree-2/x.ark",
        "../tree-2/x.ark:0",
    ):  # fmt: skip
        scp = write(tree / "exp" / "x.scp", f"a within.ark\nb {target}\n")
        found = error_of(read_vectors, scp, tree=tree)
        assert found.startswith(f"{scp}:2: b: {tree / target.removesuffix(':0')}: is outside the")
        assert "--allow-outside" in found
        read = read_vectors(scp, tree=tree, allow_outside=True)
        assert contents(read) == {"a": [2], "b": [1]}
    scp = write(tree / "exp" / "x.scp", "a within.ark\nb ../tree-2/none.ark:2\n")
    found = error_of(read_vectors, scp, tree=tree)
    assert f"{tree}/../tree-2/none.ark: no such file" in found and "--allow-outside" not in found


def test_archives_next_to_the_scp_are_allowed(tmp_path: Path) -> None:
    scp = write(tmp_path / "other" / "x.scp", "a ../other/sub/x.ark\n")
    write(tmp_path / "other" / "sub" / "x.ark", fv(1))
    (tmp_path / "tree").mkdir()
    assert contents(read_vectors(scp, tree=tmp_path / "tree")) == {"a": [1]}


def test_folder_of_a_linked_scp_is_that_of_the_link(tmp_path: Path) -> None:
    write(tmp_path / "secret" / "x.ark", fv(1))
    write(tmp_path / "secret" / "x.scp", f"a {tmp_path}/secret/x.ark\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "x.scp").symlink_to(tmp_path / "secret" / "x.scp")
    assert "use --allow-outside" in error_of(
        read_vectors, tmp_path / "tree" / "x.scp", tree=tmp_path / "tree"
    )


# Pipes that are allowed


def test_allowed_commands(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "v", fv(1, 2))
    write(tmp_path / "x.ark", b"x " + dv(5, 6))
    scp = write(
        tmp_path / "x.scp",
        "a cat sub/v |\nb echo ' [ 3 4 ]'|\nc x.ark:2\nd tail -c +3 x.ark | cat |\n",
    )
    vectors = read_vectors(scp, tree=tmp_path, allow_pipes=True)
    assert contents(vectors) == {"a": [1, 2], "b": [3, 4], "c": [5, 6], "d": [5, 6]}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("false", "b (false |): the command ended with status 1"),
        ("cat v; exit 3", "b (cat v; exit 3 |): the command ended with status 3"),
        ("no-such-command-here 2>&1", "the command ended with status 127"),
        ("true", "b (true |): the file ends where a vector should begin"),
        ("cat v v", "unexpected content after its end, from byte 18"),
        ("head -c 17 v", "truncated: 7 of 8 bytes"),
        ("cat m", "found a matrix of 2 x 2"),
        ("printf PKL", "expected a vector, binary"),
        ("yes", "the command prints over"),
    ],
)
def test_failing_commands_are_errors(tmp_path: Path, command: str, message: str) -> None:
    write(tmp_path / "v", fv(1, 2))
    write(tmp_path / "m", fm([1, 2], [3, 4]))
    scp = write(tmp_path / "x.scp", f"a v\nb {command} |\n")
    found = error_of(read_vectors, scp, tree=tmp_path, allow_pipes=True)
    assert found.startswith(f"{scp}:2: b ({command} |): ")
    assert message in found


def test_command_without_tree_is_an_error(tmp_path: Path) -> None:
    scp = write(tmp_path / "x.scp", "a true |\n")
    assert "cannot be run (No such file" in error_of(
        read_vectors, scp, tree=tmp_path / "none", allow_pipes=True
    )


# Writing


def test_text_vector_equals_kaldi(tmp_path: Path) -> None:
    write_vector(tmp_path / "v", read_vector(GOLDEN / "mean.vec"))
    assert (tmp_path / "v").read_bytes() == (GOLDEN / "mean.vec").read_bytes()


def test_binary_archive_equals_kaldi(tmp_path: Path) -> None:
    vectors = read_vectors(GOLDEN / "utt.bin.ark")
    write_vectors(tmp_path / "exp" / "xvector.scp", vectors.ids, vectors.matrix, tree=tmp_path)
    assert (tmp_path / "exp" / "xvector.ark").read_bytes() == BINARY_ARCHIVE
    lines = (tmp_path / "exp" / "xvector.scp").read_text().splitlines()
    assert lines[:2] == ["spk00-utt00 exp/xvector.ark:12", "spk00-utt01 exp/xvector.ark:162"]
    assert sorted(p.name for p in (tmp_path / "exp").iterdir()) == ["xvector.ark", "xvector.scp"]
    write_matrix(tmp_path / "m", np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
    assert (tmp_path / "m").read_bytes() == fm([1, 2, 3], [4, 5, 6])


@settings(max_examples=60)
@given(
    names=st.lists(ids, min_size=1, max_size=6, unique=True),
    dimension=st.integers(1, 5),
    data=st.data(),
)
def test_vectors_round_trip(
    folder: Path, names: list[str], dimension: int, data: st.DataObject
) -> None:
    matrix = data.draw(hnp.arrays(np.float32, (len(names), dimension), elements=finite))
    scp = folder / "exp" / "x.scp"
    write_vectors(scp, names, matrix, tree=folder)
    for path in (scp, scp.with_suffix(".ark")):
        vectors = read_vectors(path, tree=folder)
        assert vectors.ids == tuple(names)
        assert vectors.matrix.tobytes() == matrix.tobytes()


@settings(max_examples=60)
@given(matrix=hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2), elements=finite))
def test_objects_round_trip(folder: Path, matrix: NDArray[np.float32]) -> None:
    # Printed with 7 digits, the largest numbers are larger still.
    matrix = np.clip(matrix, np.float32(-3.4e38), np.float32(3.4e38))
    write_matrix(folder / "m", matrix)
    assert read_matrix(folder / "m").tobytes() == matrix.tobytes()
    write_vector(folder / "v", matrix[0])
    assert np.allclose(read_vector(folder / "v"), matrix[0], 1e-6, 1e-44)


def test_archive_paths_outside_the_tree_and_through_links(tmp_path: Path) -> None:
    (tmp_path / "disk" / "deep").mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "exp").symlink_to(tmp_path / "disk" / "deep")
    for folder, shown in (
        (tmp_path / "disk" / "deep", "../disk/deep/x.ark"),
        (tmp_path / "tree" / "exp", "exp/x.ark"),
        (tmp_path / "tree" / ".." / "disk" / "deep", "../disk/deep/x.ark"),
    ):
        scp = folder / "x.scp"
        write_vectors(scp, ["a"], np.array([[1.0, 2.0]]), tree=tmp_path / "tree")
        assert scp.read_text() == f"a {shown}:2\n"
        assert contents(read_vectors(scp, tree=tmp_path / "tree")) == {"a": [1, 2]}


def test_killed_writer_leaves_no_stale_scp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scp = tmp_path / "x.scp"
    write_vectors(scp, ["a", "b"], np.array([[1.0], [2.0]]), tree=tmp_path)
    replaced = []

    def killed(source: Path, target: Path) -> None:
        replaced.append((Path(target).name, scp.exists()))
        if Path(target) == scp:
            raise KeyboardInterrupt
        os.rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("privacy_eval.io.files.os.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write_vectors(scp, ["b", "a"], np.array([[2.0], [1.0]]), tree=tmp_path)
    assert replaced == [("x.ark", False), ("x.scp", False)]
    assert [p.name for p in tmp_path.iterdir()] == ["x.ark"]


@pytest.mark.parametrize(
    ("names", "matrix", "message"),
    [
        (["a", "a"], [[1.0], [2.0]], "not written, duplicate id"),
        (["a b"], [[1.0]], "expected an id"),
        ([""], [[1.0]], "expected an id"),
        (["a\0"], [[1.0]], "expected an id"),
        (["\ud800"], [[1.0]], "not UTF-8"),
        (["\ufeffa"], [[1.0]], "begins with a byte order mark"),
        (["a"], [[np.nan]], "not written: 1 of 1 values are NaN, infinite or too large"),
        (["a"], [[1e39, 1]], "not written: 1 of 2 values"),
    ],
)
def test_invalid_vectors_are_not_written(
    tmp_path: Path, names: list[str], matrix: list[list[float]], message: str
) -> None:
    write_vectors(tmp_path / "x.scp", ["old"], np.array([[1.0]]), tree=tmp_path)
    found = error_of(write_vectors, tmp_path / "x.scp", names, np.array(matrix), tree=tmp_path)
    assert found.startswith(f"{tmp_path}/x.scp: ")
    assert message in found
    assert contents(read_vectors(tmp_path / "x.scp", tree=tmp_path)) == {"old": [1]}
    assert len(list(tmp_path.iterdir())) == 2


def test_invalid_arguments_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"1 ids for vectors of shape \(2, 1\)"):
        write_vectors(tmp_path / "x.scp", ["a"], np.ones((2, 1)), tree=tmp_path)
    for shape in ((2,), (0, 2), (2, 0)):
        with pytest.raises(ValueError, match="expected a matrix of values"):
            write_matrix(tmp_path / "m", np.ones(shape))
    with pytest.raises(ValueError, match="expected a vector of values"):
        write_vector(tmp_path / "v", np.ones((2, 2)))
    one = np.ones((1, 1))
    assert "another name than *.ark" in error_of(
        write_vectors, tmp_path / "x.ark", ["a"], one, tree=tmp_path
    )
    for name in (" x.scp", "|x.scp", "x\ny.scp"):
        assert "an scp cannot represent the path" in error_of(
            write_vectors, tmp_path / name, ["a"], one, tree=tmp_path
        )
    assert "not UTF-8 text" in error_of(
        write_vectors, tmp_path / os.fsdecode(b"x\xe9.scp"), ["a"], one, tree=tmp_path
    )
    assert list(tmp_path.iterdir()) == []


# Many at a time


@given(
    dimensions=st.lists(st.sampled_from([2, 2, 2, 2, 3]), min_size=1, max_size=9),
    gaps=st.lists(st.integers(0, 3), min_size=9, max_size=9),
    order=st.randoms(use_true_random=False),
    block=st.sampled_from([1, 40, 1 << 20]),
    cut=st.sampled_from([0, 0, 0, 1, 9, 20]),
    packed=st.booleans(),
)
def test_block_reading_agrees_with_one_by_one(
    dimensions: list[int], gaps: list[int], order: Any, block: int, cut: int, packed: bool
) -> None:
    """Whatever lies between vectors, however they are ordered, cut or packed: the same vectors or
    the same message."""
    content, lines = b"", []
    for number, (dimension, gap) in enumerate(zip(dimensions, gaps, strict=False)):
        content += b"x" * gap
        lines.append(f"u{number} x.ark:{len(content)}\n")
        content += fv(*(number + i for i in range(dimension)))
    order.shuffle(lines)
    content = content[: len(content) - cut]

    def outcome() -> object:
        try:
            read = read_vectors(folder / "x.scp", tree=folder)
        except PrivacyEvalError as error:
            return str(error)
        return read.ids, read.matrix.tolist()

    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        write(folder / "x.ark", gzip.compress(content) if packed else content)
        write(folder / "x.scp", "".join(lines))
        patch.setattr(module, "_AT_ONCE", block)
        found = outcome()
        patch.setattr(module, "_read_uniform", lambda *_: None)
        assert found == outcome()
        if not cut and set(dimensions) == {2}:
            assert isinstance(found, tuple)


def test_double_precision_is_kept_on_request(tmp_path: Path) -> None:
    """Of text, an array and double-precision objects; never beyond the range of float32."""
    value = 0.1234567890123
    text = lines_to(tmp_path / "x.ark", [f"u [ {value!r} 1 ]"])
    np.savez(tmp_path / "x.npz", u=np.array([value, 1]))
    for path in (text, tmp_path / "x.npz"):
        assert read_vectors(path, double=True).matrix.tolist() == [[value, 1]]
        assert read_vectors(path).matrix.tolist() == [[float(np.float32(value)), 1]]
    write_vectors(tmp_path / "y.scp", ["u"], np.array([[value]], dtype=np.float32), tree=tmp_path)
    stored = read_vectors(tmp_path / "y.scp", tree=tmp_path, double=True).matrix
    assert stored.tolist() == [[float(np.float32(value))]]
    lines_to(text, ["u [ 1e300 ]"])
    with pytest.raises(PrivacyEvalError, match="too large"):
        read_vectors(text, double=True)


def test_uniform_archive_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(*_: object) -> None:
        raise AssertionError("read one by one")

    write_vectors(tmp_path / "x.scp", ["a", "b", "c"], np.eye(3, dtype=np.float32), tree=tmp_path)
    monkeypatch.setattr(module, "read_array", one_by_one)
    assert read_vectors(tmp_path / "x.scp", tree=tmp_path).matrix.tolist() == np.eye(3).tolist()


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


@settings(max_examples=60)
@given(size=st.integers(1, 5), data=st.data())
def test_model_round_trips(folder: Path, size: int, data: st.DataObject) -> None:
    doubles = st.floats(allow_nan=False, allow_infinity=False)
    plda = Plda(
        data.draw(hnp.arrays(np.float64, size, elements=doubles)),
        data.draw(hnp.arrays(np.float64, (size, size), elements=doubles)),
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
    found = error_of(read_plda, path)
    assert found.startswith(f"{path}: ") and message in found


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
