"""NumPy archives of untrusted sizes."""

import io
import pickle
import pickletools
import random
import resource
import shutil
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import ROOT, cli, lines_to, write

from privacy_eval import PrivacyEvalError
from privacy_eval.io.arrays import parse_arrays, read_torch, read_torch_matrix, write_torch_vectors
from privacy_eval.io.vectors import read_vectors, vector_locations, write_vectors


def archive(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in members:
            written.writestr(name, content)
    return file.getvalue()


def stored(array: object, save: object = np.save) -> bytes:
    file = io.BytesIO()
    save(file, array)  # type: ignore[operator]
    return file.getvalue()


ARRAY = stored(np.arange(4.0))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back(save: object) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array("text"), "c": np.arange(0)}
    file = io.BytesIO()
    save(file, **arrays)  # type: ignore[operator]
    found = parse_arrays(file.getvalue(), Path("x"))
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        ARRAY,
        b"x" + archive(("a.npy", ARRAY)),
        archive(("a.npy", ARRAY))[:-9],
        archive(("a.npy", ARRAY[:-1])),
        archive(("a.npy", ARRAY + b"x")),
        archive(("a.npy", ARRAY.replace(b"(4,)", b"(9,)"))),
        archive(("a.npy", ARRAY.replace(b"(4,), ", b"(-4,),"))),
        archive(("a.npy", ARRAY.replace(b"<f8", b"|O8"))),
        archive(("a.npy", stored(np.array([{}], dtype=object)))),
        archive(("a.npy", ARRAY), ("a", ARRAY)),
        archive(("a.txt", b"text")),
    ],
    ids=range(12),
)
def test_other_contents_are_refused(content: bytes) -> None:
    with pytest.raises(PrivacyEvalError, match=r"^x\.npz: .*damaged: "):
        parse_arrays(content, Path("x.npz"))


TINY = ROOT / "tests" / "data" / "models" / "ge2e"


@pytest.mark.parametrize("name", ["tiny_good", "other_zip_format"])
def test_tensors_of_both_layouts(name: str) -> None:
    file = read_torch((TINY / f"{name}.pt").read_bytes(), name)
    state = file["model_state"]
    with np.load(TINY / "tiny.npz", allow_pickle=False) as expected:
        assert set(state) == {key for key in expected.files if "." in key or "_" in key}
        for key, view in state.items():
            assert np.array_equal(view.array(name), expected[key])
    assert file["step"] == 7
    assert state["linear.weight"].strides == (1, 6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("behind_storage", "linear.bias does not fit"),
        ("negative_offset", "linear.bias does not fit"),
        ("negative_stride", "linear.bias does not fit"),
        ("huge_size", "linear.bias does not fit"),
        ("code", "posix system"),
        ("code_in_header", "posix system"),
        ("empty", "not a file of torch.save"),
        ("magic", "magic number"),
        ("trailing", "64 bytes too many"),
        ("truncated", "truncated"),
    ],
)
def test_hostile_files_are_refused_and_not_run(
    name: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PrivacyEvalError, match=f"^bad: .*{message}"):
        file = read_torch((TINY / f"bad_{name}.pt").read_bytes(), "bad")
        for key, view in file["model_state"].items():
            view.array("bad", key)
    assert "MUST-NOT-BE-PRINTED" not in capfd.readouterr().out
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


def legacy(*objects: object, behind: bytes = b"") -> bytes:
    head = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    return b"".join(pickle.dumps(o, 2) for o in (*head, *objects)) + behind


def test_a_pickle_may_neither_grow_nor_nest_without_end() -> None:
    for content in (
        legacy([0] * (1 << 20), []),
        legacy({(1, 2): 3}, []),
        legacy({"a": b"bytes"}, []),
        legacy({}, ["0"]),
        legacy({}, [], behind=struct.pack("<q", 1)),
        legacy({}),
        legacy({"a": 1, "b": 2}, []).replace(b"K\x02u.", b"u."),  # a key without value
    ):
        with pytest.raises(PrivacyEvalError, match="^f: "):
            read_torch(content, "f")
    assert read_torch(legacy({"a": [1, 2.5, None, True, ("b",)]}, []), "f") == {
        "a": [1, 2.5, None, True, ("b",)]
    }


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


IDS = ["spk1-u1", "spk1-u2", "id10/ü/3.wav"]
MATRIX = np.array([[0.5, -1.25, 3], [2, 1e-3, 7], [0, 0, -4]])
VECTORS = dict(zip(IDS, MATRIX, strict=True))

h5py = pytest.importorskip("h5py", reason="the extra `formats` is not installed")


def npy(folder: Path, matrix: object = MATRIX, ids: list[str] = IDS) -> Path:
    path = write(folder / "x.npy", b"")
    np.save(path, matrix, allow_pickle=True)
    lines_to(folder / "x.txt", ids)
    return path


def npz(folder: Path, arrays: Mapping[str, Any] = VECTORS) -> Path:
    # savez would write a name with a slash just so, but take it for a keyword.
    with zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.save(file, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", file.getvalue())
    return folder / "x.npz"


def hdf5(folder: Path, arrays: Mapping[str, Any] = VECTORS) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    return folder / "x.h5"


WRITERS: dict[str, Callable[[Path], Path]] = {
    "npy": npy,
    "npy float32, Fortran order": lambda p: npy(p, np.asfortranarray(MATRIX, dtype=">f4")),
    "npz": npz,
    "npz of rows": lambda p: npz(p, {u: v[None] for u, v in VECTORS.items()}),
    "npz with ids": lambda p: npz(p, {"ids": np.array(IDS), "xvectors": MATRIX}),
    "npz with bytes": lambda p: npz(p, {"x": MATRIX, "ids": np.array([i.encode() for i in IDS])}),
    "npz of integers": lambda p: npz(p, {"a": np.array([1, 2]), "b": np.array([3, 4])}),
    "hdf5": hdf5,
    "hdf5 float32": lambda p: hdf5(p, {u: v.astype("f4") for u, v in VECTORS.items()}),
    "hdf5 with ids": lambda p: hdf5(
        p, {"ids": np.array([i.encode() for i in IDS]), "embeddings": MATRIX}
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_vectors_come_back(tmp_path: Path, name: str) -> None:
    path = WRITERS[name](tmp_path)
    found = read_vectors(path)
    expected = {"a": [1, 2], "b": [3, 4]} if "integers" in name else VECTORS
    rows = dict(zip(found.ids, found.matrix, strict=True))
    assert rows.keys() == expected.keys()
    for utterance, vector in expected.items():
        np.testing.assert_array_equal(rows[utterance], np.asarray(vector, dtype="f4"))
    assert found.matrix.dtype == np.float32
    assert not found.matrix.flags.writeable
    assert vector_locations(path) is None


def test_file_names_do_not_matter(tmp_path: Path) -> None:
    path = npz(tmp_path).rename(tmp_path / "xvector.scp")
    assert set(read_vectors(path).ids) == set(IDS)


class _Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("harm"),)  # type: ignore[return-value]


ROW = np.zeros(3)
OBJECTS = np.array([_Harmful(), 1, 2], dtype=object)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"ids": np.array(IDS[:0], dtype="U1"), "x": np.zeros((0, 3))}, r"shape \(0, 3\)"),
        ({"a": OBJECTS}, "Python objects"),
        ({"a": ROW, "b": np.zeros(4)}, "different dimensions: a has 3, b has 4"),
        ({"a": MATRIX}, r"a: .*shape \(3, 3\)"),
        ({"a": np.float64(1)}, r"a: .*shape \(\)"),
        ({"a": np.zeros(0)}, r"a: .*shape \(0,\)"),
        ({"a": np.array(["x"])}, "arrays of text, a, among 1"),
        ({"ids": np.array(IDS), "x": MATRIX, "sex": np.array(IDS)}, "text, ids, sex, among 3"),
        ({"a": np.array([1j])}, "a: .*complex"),
        ({"a": np.array([0, np.nan])}, "a: 1 of . values are NaN"),
        ({"a": np.array([1e39])}, "a: 1 of . values are NaN"),
        ({"a b": ROW}, "without blanks"),
        ({"a\x1b[2J": ROW}, "control"),
        ({"a": np.zeros(70000)}, "a: more than 65536"),
        ({"a": np.zeros(3, dtype=[("x", "f4"), ("y", "f4")])}, "a: expected numbers"),
        ({"ids": np.array(IDS), "x": ROW}, r"2 dimensions.*\(3,\)"),
        ({"ids": np.array(IDS[:2]), "x": MATRIX}, "2 ids for 3 vectors"),
        ({"ids": np.array(["a", "b", "a"]), "x": MATRIX}, "duplicate utterance 'a'"),
        ({"ids": np.array(IDS, dtype=object), "x": MATRIX}, "Python objects"),
        ({"ids": np.array([b"a", b"b", b"\xff"]), "x": np.zeros((3, 0))}, r"shape \(3, 0\)"),
    ],
    ids=range(20),
)
def test_other_archives_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrays: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = npz(tmp_path, arrays)
    with pytest.raises(PrivacyEvalError, match=r"^\S*x\.npz: .*" + message):
        read_vectors(path)
    assert not Path("harm").exists()


def test_archive_bombs_are_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 28,)}
    )
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("a.npy", "w") as member:
            member.write(header.getvalue())
            for _ in range(1 << 6):
                member.write(bytes(1 << 24))
    assert path.stat().st_size < 1 << 23
    with pytest.raises(PrivacyEvalError, match=r"x\.npz: .*larger than"):
        read_vectors(path)


@pytest.mark.parametrize(
    ("matrix", "ids", "message"),
    [
        (MATRIX, IDS[:2], "x.txt: 2 ids for 3 vectors of x.npy"),
        (MATRIX, ["a", "a", "b"], "duplicate"),
        (MATRIX, ["a", "b x", "c"], "x.txt:2: "),
        (ROW, IDS, r"x.npy: .*shape \(3,\)"),
        (OBJECTS, IDS, "x.npy: .*Python objects"),
        (np.full((3, 2), np.inf), IDS, "spk1-u1: 2 of 2 values are NaN"),
    ],
    ids=range(6),
)
def test_other_matrices_are_refused(
    tmp_path: Path, matrix: object, ids: list[str], message: str
) -> None:
    path = npy(tmp_path, matrix, ids)
    with pytest.raises(PrivacyEvalError, match=message):
        read_vectors(path)


def test_a_matrix_needs_its_ids(tmp_path: Path) -> None:
    path = npy(tmp_path)
    outside = (tmp_path / "x.txt").rename(tmp_path / "y")
    with pytest.raises(PrivacyEvalError, match=r"x\.txt: no such file"):
        read_vectors(path)
    tree = tmp_path / "tree"
    path = npy(tree)
    (tree / "x.txt").unlink()
    (tree / "x.txt").symlink_to(outside)
    with pytest.raises(PrivacyEvalError, match="outside"):
        read_vectors(path, tree=tree)
    assert read_vectors(path, tree=tree, allow_outside=True).ids == tuple(IDS)


def _external_link(file: Any, folder: Path) -> None:
    hdf5(folder)
    file["b"] = h5py.ExternalLink(str(folder / "x.h5"), "/spk1-u1")


def _external_data(file: Any, folder: Path) -> None:
    secret = write(folder / "secret", bytes(24))
    file.create_dataset("b", (3,), "f8", external=[(str(secret), 0, 24)])


def _virtual(file: Any, folder: Path) -> None:
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource(hdf5(folder), "spk1-u1", shape=(3,))
    file.create_virtual_dataset("b", layout)


def _circle(file: Any, folder: Path) -> None:
    file["group/again"] = file.create_group("b")
    file["b/up"] = file["group"]


def _many_names(file: Any, folder: Path) -> None:
    file["b"] = file["a"]


def _soft_link(file: Any, folder: Path) -> None:
    file["b"] = h5py.SoftLink("/a")


def _bomb(file: Any, folder: Path) -> None:
    file.create_dataset("b", (1 << 40,), "f4", chunks=(1 << 20,))


def _texts(file: Any, folder: Path) -> None:
    file["b"] = ["x", "y"]


def _compound(file: Any, folder: Path) -> None:
    file["b"] = np.zeros(3, dtype=[("x", "f8")])


def _vectors_in_one(file: Any, folder: Path) -> None:
    file.create_dataset("b", (2,), h5py.vlen_dtype(np.float32))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_external_link, "b is a link to another place"),
        (_external_data, "b is stored in other files"),
        (_virtual, "b is stored in other files"),
        (_circle, "linked twice"),
        (_many_names, "linked twice"),
        (_soft_link, "b is a link to another place"),
        (_bomb, "larger than"),
        (_texts, "b: neither numbers nor text"),
        (_compound, "b: neither numbers nor text"),
        (_vectors_in_one, "b: neither numbers nor text"),
    ],
)
def test_other_hdf5_files_are_refused(
    tmp_path: Path, change: Callable[[Any, Path], None], message: str
) -> None:
    path = tmp_path / "vectors.h5"
    with h5py.File(path, "w") as file:
        file["a"] = ROW
        change(file, tmp_path)
    with pytest.raises(PrivacyEvalError, match=r"^\S*vectors\.h5: .*" + message):
        read_vectors(path)


@pytest.mark.parametrize("kept", [8, 20, 500, -1])
@pytest.mark.parametrize("writer", [npz, npy, hdf5])
def test_truncated_files_are_refused(
    tmp_path: Path, writer: Callable[[Path], Path], kept: int
) -> None:
    path = writer(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: min(kept, len(content) - 1)])
    with pytest.raises(PrivacyEvalError, match=rf"{path.name}: "):
        read_vectors(path)


@pytest.mark.wing("disclosure")
@pytest.mark.parametrize("writer", [npz, npy, hdf5])
def test_verbs_score_them(tmp_path: Path, writer: Callable[[Path], Path]) -> None:
    path = writer(tmp_path)
    write_vectors(tmp_path / "x.scp", IDS, MATRIX.astype("f4"), tree=Path())
    lines_to(tmp_path / "spk2utt", ["a spk1-u1", f"b {IDS[2]}"])
    lines_to(tmp_path / "utt2spk", ["spk1-u1 a", "spk1-u2 a", f"{IDS[2]} b"])
    found = []
    for vectors in (path, tmp_path / "x.scp"):
        run = cli(
            *("identification", "--enroll-vectors", vectors, "--trial-vectors", vectors),
            *("--spk2utt", tmp_path / "spk2utt", "--utt2spk", tmp_path / "utt2spk"),
            *("--backend", "cosine", "--format", "json"),
        )
        assert run.code == 0, run.err
        found.append(run.out)
    assert found[0] == found[1]
