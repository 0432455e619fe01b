"""Input files of a command: hashed and handed on."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from privacy_eval import PrivacyEvalError
from privacy_eval.io import files as module
from privacy_eval.io.files import Inputs, read_bytes


@pytest.mark.parametrize("content", [b"u1 s1\n" * 99, b"\xef\xbb\xbfu1 s1\n" * 99])
@pytest.mark.parametrize("packed", [False, True])
def test_large_files_are_hashed_like_small_ones(
    content: bytes, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(content) if packed else content)
    expected = hashlib.sha256(content.removeprefix(b"\xef\xbb\xbf")).hexdigest()
    assert Inputs().sha256(path) == expected
    monkeypatch.setattr(module, "_KEPT_BYTES", 10)
    large = Inputs()
    assert large.sha256(path) == expected
    assert hashlib.sha256(read_bytes(large.load(path))).hexdigest() == expected


def test_a_large_file_that_changes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_KEPT_BYTES", 10)
    path, inputs = tmp_path / "file", Inputs()
    path.write_bytes(b"u1 s1\n" * 99)
    inputs.sha256(path)
    path.write_bytes(b"u1 s2\n" * 99)
    with pytest.raises(PrivacyEvalError, match="file: changed"):
        inputs.load(path)
