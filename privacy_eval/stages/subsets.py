"""The data folders of an evaluation, made of the challenge's: recipe stages 3 and 5.

A plan says which folders are cut out of which by what list, and which are united.
What is there already is kept, unless it is ours and what it was made of has changed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.confine import outside_message
from ..io.data_dir import (
    FEATURE_FILES,
    LISTS,
    RECORDING_FILES,
    SPEAKER_FILES,
    UTTERANCE_FILES,
    NewDataDir,
    combine_data_dirs,
    read_data_dir,
    read_list,
    subset_data_dir,
    write_data_dir,
)
from ..io.files import digest, locked_folder, read_bytes, sweep
from ..io.json_text import load_json
from ..io.schema import from_plain, to_plain
from ..protocol.protocol import DataFolder, Protocol

#: In every folder that we made, what it was made of.
MARKER = ".privacy_eval.json"

# What Kaldi adds to a data folder and can make again.
_BY_KALDI = re.compile(r"cmvn\.scp|frame_shift|split\d+(utt)?|conf|log|q|\.backup")


@dataclass(frozen=True)
class Made:
    """What became of the data folders of a plan.

    Attributes
    ----------
    made, kept : tuple of str
        Names of the folders that were made (anew), and of those that were left alone.
    lacking : mapping
        Name of a folder that could not be made to what it needs.
    notes : tuple of str
        What the owner of the tree should know, e.g. files left out of a combination.
    """

    made: tuple[str, ...]
    kept: tuple[str, ...]
    lacking: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Origin:
    """Files that a folder was made of: their digests by path from the tree."""

    sources: tuple[str, ...]
    list_as: str | None
    sha256: Mapping[str, str]

    def still(self, now: _Origin) -> bool:
        """Whether what is there now is the same. Features that came later do not count:
        Kaldi adds them, to every folder its own."""
        later = {
            path
            for path in now.sha256
            if path not in self.sha256 and path.rpartition("/")[2] in FEATURE_FILES
        }
        return self == replace(now, sha256={p: d for p, d in now.sha256.items() if p not in later})


@dataclass(frozen=True)
class _Marker:
    """What is noted in a folder of ours. A copy under another name is none of ours."""

    name: str
    origin: _Origin
    files: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Recipe:
    """What a folder is made of: one folder and a list, or several folders."""

    sources: tuple[Path, ...]
    list: Path | None
    list_as: str | None


def make_subsets(
    tree: Path,
    protocol: Protocol,
    *,
    suffixes: Sequence[str],
    allow_outside: bool = False,
    dry_run: bool = False,
) -> Made:
    """Make the plan's data folders in `data/` that are missing or no longer up to date.

    Parameters
    ----------
    tree : Path
        The experiment tree.
    suffixes : sequence of str
        What the folders' names end with: "" for the original ones, and what marks
        anonymized ones. Of these a set that is missing is also cut out of a
        combined set that others made, by the original set's list.
    allow_outside : bool
        Read files that are links out of the tree.
    dry_run : bool
        Write nothing: find out what would be made.

    Raises
    ------
    PrivacyEvalError
        With file and line: bad data, see `subset_data_dir` and `combine_data_dirs`.
        Something in the place of a folder that is none; `data/` lies outside the tree
        and something would have to be written there.
    """
    if not tree.is_dir():
        raise PrivacyEvalError(f"{tree}: no such folder (experiment tree)")
    folders = protocol.folders()
    names = {folder.name for folder in folders}
    for suffix in suffixes:
        if not re.fullmatch(r"[\w.+-]*", suffix, re.ASCII) or ".." in suffix:
            raise PrivacyEvalError(
                f"suffix {suffix!r}: becomes part of file names: ASCII letters, digits and "
                ". _ + - only"
            )
        for name in sorted(names):
            if suffix and name + suffix in names:
                raise PrivacyEvalError(
                    f"suffix {suffix!r}: {name + suffix} is another data folder of the plan"
                )
    run = _Run(tree, protocol, allow_outside, dry_run)
    if os.path.lexists(run.data) and not run.data.is_dir():
        raise PrivacyEvalError(f"{run.data}: is no folder")
    with locked_folder(run.data.resolve()) if run.data.is_dir() else nullcontext():
        for suffix in dict.fromkeys(suffixes):
            for folder in folders:
                run.make(folder, suffix)
    return Made(tuple(run.made), tuple(run.kept), run.lacking, tuple(run.notes))


def makeable(tree: Path, protocol: Protocol, suffix: str) -> set[str]:
    """Names of the plan's data folders that are not there and that `make_subsets` could make
    of what is there, by the names of files."""
    run = _Run(tree, protocol, allow_outside=False, dry_run=True)
    found: set[str] = set()
    for folder in protocol.folders():
        name = folder.name + suffix
        parts = [part + suffix for part in folder.combine]
        made = all(part in found or _usable(run.data / part) for part in parts)
        if folder.cut_from is not None:
            made = isinstance(run._recipe(folder, suffix), _Recipe)
        if made and not os.path.lexists(run.data / name):
            found.add(name)
    return found


@dataclass
class _Run:
    """One run over a tree, and what became of its folders so far."""

    tree: Path
    protocol: Protocol
    allow_outside: bool
    dry_run: bool
    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    lacking: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    digests: dict[Path, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.tree / "data"

    def make(self, folder: DataFolder, suffix: str) -> None:
        """Make one folder if it is missing or no longer up to date."""
        name = folder.name + suffix
        target = self.data / name
        if self._in_tree(self.data) and not self.dry_run:
            sweep(target)
        if os.path.lexists(target) and not target.is_dir():
            raise PrivacyEvalError(f"{target}: is no folder; expected a data folder or nothing")
        marker = _read_marker(target)
        if target.is_dir() and marker is None:
            self.kept.append(name)
            return
        recipe = self._recipe(folder, suffix)
        if isinstance(recipe, str):
            if marker is None:
                self.lacking[name] = recipe
            else:
                self.kept.append(name)
                self.notes.append(f"{name}: what it was made of is gone; left as it is")
            return
        origin = self._origin(recipe)
        if marker is not None and marker.origin.still(origin):
            self.kept.append(name)
            self.notes += [f"{name}: {note}" for note in marker.notes]
        elif marker is not None and (edited := _edited(target, marker)):
            self.kept.append(name)
            self.notes.append(
                f"{name}: no longer up to date, but others wrote {', '.join(edited)}; left as "
                "it is, remove it to have it made anew"
            )
        else:
            if marker is not None and (added := _added(target, marker)):
                self.notes.append(f"{name}: made anew, without {', '.join(added)} added to it")
            self._write(target, recipe, origin)

    def _write(self, target: Path, recipe: _Recipe, origin: _Origin) -> None:
        if not self._in_tree(self.data):
            raise PrivacyEvalError(
                f"{self.data}: leads out of the tree to {self.data.resolve()} and is not written to"
            )
        if self.dry_run:
            self.made.append(target.name)
            return
        new = _contents(recipe)
        files = {file: digest(content) for file, content in new.files.items()}
        marker = _Marker(target.name, origin, files, new.notes)
        text = json.dumps(to_plain(marker), indent=1) + "\n"
        write_data_dir(target, {**new.files, MARKER: text.encode()})
        self.made.append(target.name)
        self.notes += [f"{target.name}: {note}" for note in new.notes]
        self.digests = {p: d for p, d in self.digests.items() if p.parent != target}

    def _recipe(self, folder: DataFolder, suffix: str) -> _Recipe | str:
        """What a folder is made of, or what is missing for it."""
        if folder.cut_from is None:
            parts = tuple(self.data / (part + suffix) for part in folder.combine)
            absent = [part.name for part in parts if not _usable(part)]
            if absent:
                return f"needs {_paths(absent)} with utt2spk"
            return _Recipe(parts, None, None)
        assert folder.list is not None and folder.list_as is not None
        lists = [self.data / folder.cut_from / folder.list]
        if suffix:
            lists.append(self.data / folder.name / folder.list_as)
        wanted = next((path for path in lists if path.is_file()), None)
        # A combined folder of ours holds nothing but its parts.
        supersets = [
            self.data / (holder + suffix)
            for holder in self.protocol.supersets(folder.name)
            if _read_marker(self.data / (holder + suffix)) is None
        ]
        whole = self.data / (folder.cut_from + suffix)
        sources = [*supersets, whole] if suffix else [whole, *supersets]
        source = next((path for path in sources if _usable(path)), None)
        if source is None:
            names = [whole.name, *(h + suffix for h in self.protocol.supersets(folder.name))]
            itself = f"data/{folder.name + suffix} itself, or " if suffix else ""
            return f"needs {itself}{_paths(names, ' or ')} with utt2spk"
        if wanted is None:
            return f"needs the list {' or '.join(self._relative(path) for path in lists)}"
        return _Recipe((source,), wanted, folder.list_as)

    def _origin(self, recipe: _Recipe) -> _Origin:
        names = [*UTTERANCE_FILES, *RECORDING_FILES, *SPEAKER_FILES]
        names += LISTS if recipe.list is None else []
        files = [source / name for source in recipe.sources for name in names]
        files += [recipe.list] if recipe.list is not None else []
        return _Origin(
            tuple(source.name for source in recipe.sources),
            recipe.list_as,
            {self._relative(path): self._digest(path) for path in files if path.is_file()},
        )

    def _digest(self, path: Path) -> str:
        if path not in self.digests:
            if not self.allow_outside and not self._in_tree(path):
                raise PrivacyEvalError(outside_message(path))
            self.digests[path] = digest(read_bytes(path))
        return self.digests[path]

    def _in_tree(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.tree.resolve())

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.tree).as_posix()


def _contents(recipe: _Recipe) -> NewDataDir:
    sources = [read_data_dir(source) for source in recipe.sources]
    if recipe.list is None or recipe.list_as is None:
        return combine_data_dirs(sources)
    wanted = read_list(recipe.list, recipe.list_as)
    new = subset_data_dir(sources[0], wanted)
    return replace(new, files={**new.files, recipe.list_as: wanted.content})


def _read_marker(folder: Path) -> _Marker | None:
    """What is noted in a folder of ours; None for any other."""
    path = folder / MARKER
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    try:
        marker = from_plain(_Marker, load_json(path), str(path))
    except PrivacyEvalError:
        return None
    return marker if marker.name == folder.name else None


def _added(folder: Path, marker: _Marker) -> list[str]:
    """Names of the files and folders that we did not write."""
    return sorted({path.name for path in folder.iterdir()} - {*marker.files, MARKER})


def _edited(folder: Path, marker: _Marker) -> list[str]:
    """What others changed or added in a folder of ours and Kaldi cannot make again."""
    changed = [
        name
        for name, was in marker.files.items()
        if name not in FEATURE_FILES
        and not (os.path.isfile(folder / name) and digest(read_bytes(folder / name)) == was)
    ]
    return changed + [
        name
        for name in _added(folder, marker)
        if name not in FEATURE_FILES and not _BY_KALDI.fullmatch(name)
    ]


def _usable(folder: Path) -> bool:
    return (folder / "utt2spk").is_file()


def _paths(names: Sequence[str], between: str = ", ") -> str:
    return between.join(f"data/{name}" for name in names)
