"""Files of torch, read without torch."""

from __future__ import annotations

import io
import pickle
import pickletools
import random
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import ROOT

from privacy_eval import PrivacyEvalError
from privacy_eval.io.arrays import read_torch_matrix, write_torch_vectors
from privacy_eval.io.vectors import read_vectors, vector_locations

GOLDEN = ROOT / "tests" / "data" / "golden" / "speaker_vectors"


def entries_of(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(GOLDEN / name / "speaker_vectors.pt") as archive:
        return {n: archive.read(n) for n in archive.namelist()}


def packed(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize("name", ["float16", "float64", "transposed", "slice"])
def test_matrix_and_ids(name: str) -> None:
    vectors = read_vectors(GOLDEN / name / "speaker_vectors.pt")
    assert np.array_equal(vectors.matrix, np.load(GOLDEN / name / "expected.npy"))
    assert vectors.matrix.dtype == np.float32 and not vectors.matrix.flags.writeable
    row_of = dict(line.split() for line in (GOLDEN / name / "id2idx").read_text().splitlines())
    assert {u: str(row) for row, u in enumerate(vectors.ids)} == row_of
    assert vector_locations(GOLDEN / name / "speaker_vectors.pt") is None


def test_the_stride_of_a_single_row_does_not_matter() -> None:
    """Half a kilobyte with a stride of 2^62, which NumPy cannot take."""

    def text(word: str) -> bytes:
        return b"X" + struct.pack("<I", len(word)) + word.encode()

    def number(value: int) -> bytes:
        return b"\x8a\x09" + value.to_bytes(9, "little")

    for shape, strides in (((1, 3), (2**62, 1)), ((3, 1), (1, 2**62))):
        rows, columns, down, right = map(number, (*shape, *strides))
        tensor = (
            b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(("
            + (text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu"))
            + (number(3) + b"tQ" + number(0) + rows + columns + b"\x86" + down + right)
            + b"\x86\x89ccollections\nOrderedDict\n)RtR."
        )
        content = packed({"a/data.pkl": tensor, "a/data/0": struct.pack("<3f", 0, 1, 2)})
        assert read_torch_matrix(content, "x").tolist() == np.arange(3.0).reshape(shape).tolist()


def test_only_some_ids() -> None:
    path = GOLDEN / "slice" / "speaker_vectors.pt"
    whole = read_vectors(path)
    part = read_vectors(path, only={whole.ids[7]})
    assert part.ids == (whole.ids[7],) and np.array_equal(part.matrix[0], whole.matrix[7])


def test_a_written_file_is_that_of_torch_save(tmp_path: Path) -> None:
    """The opcodes of torch's own file but for how numbers are packed, and its entries."""

    def opcodes(pickled: bytes) -> list[object]:
        return [
            "number" if op.name.startswith("BININT") else (op.name, argument)
            for op, argument, _ in pickletools.genops(pickled)
            if op.name != "BINPUT"
        ]

    whole = read_vectors(GOLDEN / "slice" / "speaker_vectors.pt")
    path = tmp_path / "new/speaker_vectors.pt"
    write_torch_vectors(path, whole.ids, whole.matrix)
    again = read_vectors(path)
    assert again.ids == whole.ids and np.array_equal(again.matrix, whole.matrix)
    assert (path.parent / "id2idx").read_bytes() == (GOLDEN / "slice/id2idx").read_bytes()
    with zipfile.ZipFile(path) as archive:
        ours = {n: archive.read(n) for n in archive.namelist()}
    golden = entries_of("slice")
    assert opcodes(ours.pop("speaker_vectors/data.pkl")) == opcodes(
        golden["speaker_vectors/data.pkl"]
    )
    assert len(ours.pop("speaker_vectors/data/0")) == 4 * whole.matrix.size
    assert ours and ours.items() <= golden.items()


@pytest.mark.parametrize(
    ("name", "message"),
    [("legacy", "torch 1.6"), ("dict", "found a dict"), ("hostile", "posix system|the name")],
)
def test_other_files_are_refused_and_not_run(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PrivacyEvalError, match=message):
        read_vectors(GOLDEN / name / "speaker_vectors.pt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"torch._utils\n_rebuild_tensor_v2", b"posix\nsystem"),
        (b"collections\nOrderedDict", b"builtins\nexec"),
        (b"torch\nDoubleStorage", b"torch\nLongStorage"),
        (b"K\x18K\xc0\x86", b"K\x19K\xc0\x86"),  # a row more than there are numbers
        (b"K\xc0K\x01\x86", b"K\xc1K\x01\x86"),  # longer strides
        (b"K\xc0K\x01\x86", b"K\xc0J\xff\xff\xff\xff\x86"),  # a negative stride
        (b"K\x18K\xc0\x86", b"K\x00K\xc0\x86"),
        (b"M\x00\x12", b"M\x01\x12"),  # another size of the storage
        (b"R", b""),
        (b"\x80\x02", b"\x80\x02\x80\x02"),
    ],
)
def test_changed_pickles_are_refused(old: bytes, new: bytes) -> None:
    entries = entries_of("float64")
    pickled = next(n for n in entries if n.endswith("data.pkl"))
    assert old in entries[pickled]
    changed = {**entries, pickled: entries[pickled].replace(old, new)}
    with pytest.raises(PrivacyEvalError, match="^f: "):
        read_torch_matrix(packed(changed), "f")
    assert read_torch_matrix(packed(entries), "f").shape == (24, 192)


def test_other_zips_are_refused() -> None:
    entries = entries_of("float64")
    pickled = next(n for n in entries if n.endswith("data.pkl"))
    for changed in (
        {**entries, f"x{pickled}": entries[pickled]},
        {n: c for n, c in entries.items() if n != pickled},
        {n: c for n, c in entries.items() if not n.endswith("data/0")},
        {**entries, pickled: pickle.dumps([0] * 10_000)},
    ):
        with pytest.raises(PrivacyEvalError, match="^f: "):
            read_torch_matrix(packed(changed), "f")
    with pytest.raises(PrivacyEvalError, match="^f: "):  # a bomb would be one of these
        read_torch_matrix(packed(entries, zipfile.ZIP_DEFLATED), "f")


def test_big_endian_numbers() -> None:
    entries = entries_of("float64")
    data = next(n for n in entries if n.endswith("data/0"))
    order = next(n for n in entries if n.endswith("byteorder"))
    entries[data] = np.frombuffer(entries[data], "<f8").astype(">f8").tobytes()
    entries[order] = b"big"
    expected = np.load(GOLDEN / "float64" / "expected.npy")
    assert np.array_equal(read_torch_matrix(packed(entries), "f"), expected)
    entries[order] = b"BIG"
    with pytest.raises(PrivacyEvalError, match="^f: unknown byte order b'BIG'"):
        read_torch_matrix(packed(entries), "f")


def test_damaged_files_are_read_or_refused() -> None:
    """Bytes changed at random, also within a valid zip: nothing but our error comes out."""
    generator = random.Random(0)
    entries = entries_of("float16")
    pickled = next(n for n in entries if n.endswith("data.pkl"))
    whole = (GOLDEN / "float16" / "speaker_vectors.pt").read_bytes()
    refused = 0
    for number in range(3000):
        content = bytearray(entries[pickled] if number % 2 else whole)
        for _ in range(generator.randint(1, 4)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        if number % 2:
            content = bytearray(packed({**entries, pickled: bytes(content)}))
        try:
            assert read_torch_matrix(bytes(content), "f").shape[1] <= 1 << 20
        except PrivacyEvalError as error:
            refused += 1
            assert str(error).startswith("f: ")
    assert refused > 2000


@pytest.mark.parametrize(
    ("line", "changed", "message"),
    [
        (3, "u 99", "id2idx:4: .*no row 99"),
        (3, "u -1", "id2idx:4"),
        (3, "u 0", "duplicate row 0"),
        (3, "u", "id2idx:4"),
        (3, "", "1 rows without an id: 3"),
    ],
)
def test_ids_must_fit_the_rows(line: int, changed: str, message: str, tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "float16" / "speaker_vectors.pt", tmp_path)
    lines = (GOLDEN / "float16" / "id2idx").read_text().splitlines()
    lines[line] = changed
    (tmp_path / "id2idx").write_text("\n".join(lines) + "\n")
    with pytest.raises(PrivacyEvalError, match=message):
        read_vectors(tmp_path / "speaker_vectors.pt")


def test_values_that_are_not_finite_are_named(tmp_path: Path) -> None:
    entries = entries_of("float64")
    data = next(n for n in entries if n.endswith("data/0"))
    numbers = np.frombuffer(entries[data], "<f8").copy()
    numbers[5 * 192] = 1e300
    (tmp_path / "speaker_vectors.pt").write_bytes(packed({**entries, data: numbers.tobytes()}))
    shutil.copy(GOLDEN / "float64" / "id2idx", tmp_path)
    with pytest.raises(PrivacyEvalError, match="not finite: 1272-8904-0005"):
        read_vectors(tmp_path / "speaker_vectors.pt")
