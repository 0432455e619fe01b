"""Find the trial keys of trial sets, and the other files of conditions."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.confine import paths_outside
from ..io.inputs import Inputs
from ..protocol.protocol import ANONYMIZED, Protocol
from .conditions import ConditionFiles, TrialCondition, by_attacker

# Hidden folders, and metadata in archives created by macOS.
_IGNORED = (".", "__MACOSX")

# Levels to search below a collection; fewer through symlinks, which may lead anywhere.
_DEPTH, _LINKED_DEPTH = 8, 3


def subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            children = [folder / e.name for e in entries if e.is_symlink() or e.is_dir()]
        return sorted(p for p in children if p.is_dir() and not p.name.startswith(_IGNORED))
    except OSError as error:
        raise PrivacyEvalError(f"{folder}: cannot be read ({error.strerror})") from error


def walk(
    folder: Path,
    is_content: Callable[[Path], bool],
    ends_search: Callable[[Path], bool],
    too_deep: list[Path] | None = None,
) -> list[Path]:
    """List a folder and those below it that have content.

    A folder is searched once, however many links lead there: at its own place, else by the
    shortest way. Links to folders with content count, as systems may share results. `too_deep`
    receives the folders with content one level below the deepest that are searched.
    """
    folders: list[Path] = []
    searched: dict[tuple[int, int], bool] = {}
    waiting: dict[bool, list[list[Path]]]
    waiting = {linked: [[] for _ in range(_DEPTH + 2)] for linked in (False, True)}
    waiting[False][0] = [folder]
    for linked, deepest in ((False, _DEPTH), (True, _LINKED_DEPTH)):
        for level in range(deepest + 1):
            for at in waiting[linked][level]:
                identity = at.stat()
                key = identity.st_dev, identity.st_ino
                below = [] if key in searched else subfolders(at)
                if searched.setdefault(key, any(map(is_content, below))):
                    folders.append(at)
                for child in below:
                    if not ends_search(child):
                        waiting[linked or child.is_symlink()][level + 1].append(child)
    if too_deep is not None:
        beyond = waiting[False][_DEPTH + 1]
        too_deep += [at for at in beyond if any(map(is_content, subfolders(at)))]
    return sorted(folders)


def data_folders(tree: Path) -> list[Path]:
    """List the data folders of a tree."""
    return subfolders(tree / "data") if (tree / "data").is_dir() else []


def key_paths(
    condition: TrialCondition, protocol: Protocol, data: Path | None, key_folders: list[Path]
) -> list[Path]:
    """List candidate paths of a trial key: of the original trial set, of an anonymized one's own
    folder, of the usual anonymized copy; in `data/`, then in keys folders under any of its
    names. `find_key` makes sure that they agree."""
    cell = protocol.trial_set(condition.data_set, condition.split, condition.gender)
    usual, names = cell.trials_name, cell.key_names
    suffixes = [""]
    if condition.trial == ANONYMIZED:
        own = condition.trial_set.removeprefix(usual)
        suffixes = list(dict.fromkeys(("", own, protocol.anon_suffix)))
    usual_names = tuple(f"{usual}{suffix}" for suffix in suffixes)
    every = tuple(f"{name}{suffix}" for suffix, name in itertools.product(suffixes, names))
    return list(_key_paths(usual_names, every, data, tuple(key_folders)))


@functools.lru_cache(maxsize=1 << 10)
def _key_paths(
    usual: tuple[str, ...], names: tuple[str, ...], data: Path | None, folders: tuple[Path, ...]
) -> tuple[Path, ...]:
    """List the paths of `key_paths`; cached, as conditions of all attackers share them."""
    paths = [data / name / "trials" for name in usual] if data else []
    for folder, name in itertools.product(folders, names):
        paths += [folder / name, folder / name / "trials"]
    return tuple(path for p in paths for path in (p, p.with_name(f"{p.name}.gz")))


def find_key(candidates: Iterable[Path], inputs: Inputs) -> Path | None:
    """Return the first of the candidates that exists: anonymization may have written the others.

    Raises
    ------
    PrivacyEvalError
        Another one has other trials or labels: names the first of them.
    """
    present = [path for path in candidates if path.is_file()]
    for other in present[1:]:
        if inputs.sha256(present[0]) != inputs.sha256(other):
            from ..io.scores import read_trials
            from ..metrics.pairing import check_same_trials

            first, second = (
                read_trials(inputs.load(path), format="kaldi") for path in (present[0], other)
            )
            check_same_trials(first, second)
    return present[0] if present else None


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


@dataclass(frozen=True)
class Search:
    """Search locations of the files of conditions."""

    protocol: Protocol
    data: Path | None
    key_folders: list[Path]
    roots: list[Path]

    def files(self, condition: TrialCondition, folder: Path) -> ConditionFiles:
        """Find the files of a condition."""
        candidates = key_paths(condition, self.protocol, self.data, self.key_folders)
        keys = [path for path in candidates if path.is_file()]
        key = next(iter(keys), None)
        below = f"{self.data}/"
        in_data = [path for path in candidates if self.data and str(path).startswith(below)]
        chosen = next((f for f in self.key_folders if key is not None and f in key.parents), None)
        others = (p for p in candidates if p not in in_data and chosen not in p.parents)
        if chosen is not None and first_file(others) is not None:
            raise PrivacyEvalError(
                f"{condition.trial_set}: several of {', '.join(map(str, self.key_folders))} have a "
                "trial key; choose one with --keys"
            )
        adjacent = dict.fromkeys(path.parent for path in ([key] if key else []) + in_data)
        utt2spk = first_file(folder / "utt2spk" for folder in adjacent)
        scores = first_file([folder / "scores", folder / "scores.gz"])
        outside = paths_outside([scores, *keys, utt2spk], self.roots)
        return ConditionFiles(condition, folder, scores, key, tuple(candidates), utt2spk, outside)

    def files_by_attacker(self, condition: TrialCondition, folder: Path) -> list[ConditionFiles]:
        """Find the files of a condition, then those of its other attackers, in subfolders named by
        them; without those of the challenge's own attacker where only others have scores."""
        own, present = self.files(condition, folder), {f.name for f in subfolders(folder)}
        others = [
            self.files(by_attacker(condition, attacker, self.protocol), folder / attacker.id)
            for attacker in self.protocol.other_attackers
            if attacker.id in present
        ]
        others = [files for files in others if files.scores is not None]
        return others if others and own.scores is None else [own, *others]
