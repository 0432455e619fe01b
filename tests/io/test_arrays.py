"""NumPy archives of untrusted sizes."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from privacy_eval import PrivacyEvalError
from privacy_eval.io.arrays import parse_arrays


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
