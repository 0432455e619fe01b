"""Tensors of files of torch, read without torch."""

from __future__ import annotations

import pickle
import resource
import struct

import numpy as np
import pytest
from support import ROOT

from privacy_eval import PrivacyEvalError
from privacy_eval.io.arrays import read_torch

TINY = ROOT / "tests" / "data" / "models" / "ge2e"


@pytest.mark.parametrize("name", ["tiny_good", "other_zip_format"])
def test_tensors_of_both_layouts(name: str) -> None:
    file = read_torch((TINY / f"{name}.pt").read_bytes(), name)
    state = file.content["model_state"]
    with np.load(TINY / "tiny.npz", allow_pickle=False) as expected:
        assert set(state) == {key for key in expected.files if "." in key or "_" in key}
        for key, view in state.items():
            assert np.array_equal(file.array(view), expected[key])
    assert file.content["step"] == 7
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
        for key, view in file.content["model_state"].items():
            file.array(view, key)
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
    assert read_torch(legacy({"a": [1, 2.5, None, True, ("b",)]}, []), "f").content == {
        "a": [1, 2.5, None, True, ("b",)]
    }
