"""Folders of simulated data with a marker: what was simulated, so that it is done once."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError
from ..io.files import atomic_folder, sweep, write_text
from ..io.schema import load_json


@contextlib.contextmanager
def marked_folder(folder: Path, kind: str, marker: Mapping[str, Any]) -> Iterator[Path | None]:
    """Yield an empty folder that replaces `folder` when the block succeeds; None if `folder` has
    the same marker already.

    Parameters
    ----------
    kind : str
        Such as `demo_tree`; the marker is in `<kind>.json`.
    marker : mapping
        Sizes and seed of what is simulated.

    Raises
    ------
    PrivacyEvalError
        `folder` contains something else, or is the current one.
    """
    folder = Path(os.path.abspath(folder))
    if _read_marker(folder, kind) == marker:
        yield None
        return
    _check_replaceable(folder, kind, marker)
    sweep(folder)
    with atomic_folder(folder) as temporary:
        yield temporary
        write_text(temporary / f"{kind}.json", json.dumps(marker, indent=1) + "\n")
        if _read_marker(folder, kind) != marker:  # written in the meantime
            _check_replaceable(folder, kind, marker)


def _read_marker(folder: Path, kind: str) -> Mapping[str, Any]:
    """Read the marker of a folder; empty if there is none."""
    path = folder / f"{kind}.json"
    marker = load_json(path) if path.is_file() else {}
    return marker if isinstance(marker, dict) else {}


def _check_replaceable(folder: Path, kind: str, marker: Mapping[str, Any]) -> None:
    """Refuse to overwrite anything but an empty folder."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        there = _read_marker(folder, kind)
        different = [
            f"{key} {json.dumps(there.get(key))}, not {json.dumps(value)}"
            for key, value in marker.items()
            if kind in there and there.get(key) != value
        ]
        differences = f" (it is one of {'; '.join(different)})" if different else ""
        raise PrivacyEvalError(
            f"{folder}: contains something other than the {kind.replace('_', ' ')} of seed "
            f"{marker['seed']}{differences}; remove it or name another folder"
        )
    if folder.samefile(Path()):
        raise PrivacyEvalError(f"{folder}: is the current folder; choose another one")
