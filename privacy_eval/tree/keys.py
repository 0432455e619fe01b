"""Where the key of a trial set may be."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import PrivacyEvalError
from ..protocol.protocol import ANONYMIZED, Protocol
from .conditions import TrialCondition

# Hidden folders, and what archives made by macOS hold beside their contents.
_IGNORED = (".", "__MACOSX")


def subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [folder / e.name for e in entries if e.is_symlink() or e.is_dir()]
        return sorted(p for p in found if p.is_dir() and not p.name.startswith(_IGNORED))
    except OSError as error:
        raise PrivacyEvalError(f"{folder}: cannot be read ({error.strerror})") from error


def key_paths(
    condition: TrialCondition, protocol: Protocol, data: Path | None, key_folders: list[Path]
) -> list[Path]:
    """Where the trial key may be: the trial set itself, its usual anonymized copy, the
    original set; in `data/`, then in keys folders under either naming."""
    cell = protocol.trial_set(condition.data_set, condition.split, condition.gender)
    usual, names = cell.trials_name, cell.key_names
    suffixes = [""]
    if condition.trial == ANONYMIZED:
        own = condition.trial_set.removeprefix(usual)
        suffixes = list(dict.fromkeys((own, protocol.anon_suffix, "")))
    in_data = [data / f"{usual}{suffix}" / "trials" for suffix in suffixes] if data else []
    listed = [
        folder / f"{name}{suffix}"
        for folder in key_folders
        for suffix in suffixes
        for name in names
    ]
    in_folders = [path for entry in listed for path in (entry, entry / "trials")]
    plain = [*in_data, *in_folders]
    return [path for entry in plain for path in (entry, entry.with_name(entry.name + ".gz"))]


def first_file(paths: list[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def find_key_folders(*bases: Path) -> list[Path]:
    """Folders `keys-*` of the tree and of a collection."""
    folders = {
        path.resolve(): path
        for base in bases
        for path in subfolders(base)
        if path.name.startswith("keys-")
    }
    return sorted(folders.values())
