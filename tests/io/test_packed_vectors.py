"""Vectors in NumPy and HDF5 files: tiny examples after the descriptions of the layouts.

Not written by the tools themselves that have these layouts.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import cli, lines_to, write

from privacy_eval import PrivacyEvalError, read_vectors
from privacy_eval.io.vectors import vector_locations, write_vectors

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
