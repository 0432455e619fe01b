"""Find the trial keys of trial sets."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from ..errors import PrivacyEvalError
from ..protocol.protocol import ANONYMIZED, Protocol
from .conditions import TrialCondition

# Hidden folders, and metadata in archives created by macOS.
_IGNORED = (".", "__MACOSX")


def trial_keys(
    condition: TrialCondition, protocol: Protocol, tree: Path, results: Path, keys: Path | None
) -> tuple[Path | None, list[Path]]:
    """Find the trial key of a condition; also return the candidate paths."""
    bases = [folder for folder in (tree, results) if folder.is_dir()]
    folders = find_key_folders(*bases) if keys is None else [keys]
    candidates = key_paths(condition, protocol, tree / "data" if keys is None else None, folders)
    return first_file(candidates), candidates


def subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            children = [folder / e.name for e in entries if e.is_symlink() or e.is_dir()]
        return sorted(p for p in children if p.is_dir() and not p.name.startswith(_IGNORED))
    except OSError as error:
        raise PrivacyEvalError(f"{folder}: cannot be read ({error.strerror})") from error


def key_paths(
    condition: TrialCondition, protocol: Protocol, data: Path | None, key_folders: list[Path]
) -> list[Path]:
    """List candidate paths of a trial key: of the trial set itself, of its usual anonymized
    copy, of the original set; in `data/`, then in keys folders under any of its names."""
    cell = protocol.trial_set(condition.data_set, condition.split, condition.gender)
    usual, names = cell.trials_name, cell.key_names
    suffixes = [""]
    if condition.trial == ANONYMIZED:
        own = condition.trial_set.removeprefix(usual)
        suffixes = list(dict.fromkeys((own, protocol.anon_suffix, "")))
    paths = [data / f"{usual}{suffix}" / "trials" for suffix in suffixes] if data else []
    for folder, suffix, name in itertools.product(key_folders, suffixes, names):
        paths += [folder / f"{name}{suffix}", folder / f"{name}{suffix}" / "trials"]
    return [path for p in paths for path in (p, p.with_name(f"{p.name}.gz"))]


def first_file(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def find_key_folders(*bases: Path) -> list[Path]:
    """List the folders `keys-*` of a tree and of a collection."""
    folders = {
        path.resolve(): path
        for base in bases
        for path in subfolders(base)
        if path.name.startswith("keys-")
    }
    return sorted(folders.values())
