"""Stages 3 and 5: create the evaluation data folders as subsets and combinations of the
challenge's.

External and edited folders are kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.data_dir import (
    FEATURE_FILES,
    LISTS,
    RECORDING_FILES,
    SPEAKER_FILES,
    UTTERANCE_FILES,
    NewDataDir,
    combine_data_dirs,
    subset_data_dir,
    write_data_dir,
)
from ..io.files import Inputs, digest, locked_folder, paths_outside, relative, sweep
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Sources,
    bring_up_to_date,
)
from ..protocol.protocol import DataFolder, Protocol
from .access import TreeAccess

# Files that Kaldi adds to a data folder and can regenerate.
_BY_KALDI = re.compile(r"cmvn\.scp|frame_shift|split\d+(utt)?|conf|log|q|\.backup")


@dataclass(frozen=True)
class _Recipe:
    """Sources of a data folder: one folder and a list, or several folders."""

    sources: tuple[Path, ...]
    wanted: Path | None = None
    list_as: str | None = None

    @property
    def files(self) -> list[Path]:
        """The input files."""
        names = [*UTTERANCE_FILES, *RECORDING_FILES, *SPEAKER_FILES]
        names += LISTS if self.wanted is None else []
        files = [source / name for source in self.sources for name in names]
        return [path for path in (*files, self.wanted) if path is not None and path.is_file()]

    def contents(self, inputs: Inputs) -> NewDataDir:
        if self.wanted is None or self.list_as is None:
            return combine_data_dirs(self.sources, inputs.load)
        wanted = inputs.load(self.wanted)
        return subset_data_dir(self.sources[0], wanted, self.list_as, inputs.load)


def make_subsets(
    access: TreeAccess, protocol: Protocol, *, suffixes: Sequence[str], dry_run: bool = False
) -> Outcome:
    """Make the protocol's data folders in `data/` that are missing or stale.

    Parameters
    ----------
    suffixes : sequence of str
        Of the folder names: "" for the original ones, and anonymization suffixes. A missing
        anonymized set may also be made as a subset of an external combined set, by the list
        of the original set.
    dry_run : bool
        Write nothing; only determine what would be made.

    Raises
    ------
    PrivacyEvalError
        Something other than a folder in a folder's place; `data/` is outside the tree and
        would have to be written to.
    """
    tree, data = access.tree, access.tree / "data"
    if not tree.is_dir():
        raise PrivacyEvalError(f"{tree}: no such folder (experiment tree)")
    folders = protocol.folders
    _check_suffixes(suffixes, {folder.name for folder in folders})
    if os.path.lexists(data) and not data.is_dir():
        raise PrivacyEvalError(f"{data}: is not a folder")
    names = [(folder, suffix) for suffix in dict.fromkeys(suffixes) for folder in folders]
    if not dry_run and not paths_outside([data], [tree]):
        for folder, suffix in names:
            sweep(data / (folder.name + suffix))
    products = [_product(access, protocol, folder, suffix) for folder, suffix in names]
    with locked_folder(data):
        outcome = bring_up_to_date(products, access.inputs, Run(dry_run=dry_run))
    for name in [name for name in outcome.missing if (data / name).is_dir()]:
        needed = outcome.missing.pop(name).where
        outcome.kept.append(name)
        outcome.notes.append(f"{name}: kept, but {needed} to be rebuilt; add that, or delete it")
    return outcome


def creatable_folders(tree: Path, protocol: Protocol, suffix: str) -> set[str]:
    """Return the missing data folders of the protocol that `make_subsets` could make, judging by
    file names only."""
    creatable: set[str] = set()
    for folder in protocol.folders:
        name = folder.name + suffix
        possible = all(
            part + suffix in creatable or usable(tree / "data" / (part + suffix))
            for part in folder.combine
        )
        if folder.cut_from is not None:
            try:
                _recipe(tree, protocol, folder, suffix)
            except MissingInput:
                possible = False
        if possible and not os.path.lexists(tree / "data" / name):
            creatable.add(name)
    return creatable


class FolderProduct(Product):
    """A data folder: it is written as a whole, and Kaldi may add to it."""

    @property
    def folder(self) -> Path:
        return self.note.parent

    @property
    def key(self) -> str:
        return self.folder.name

    def read_fingerprint(self) -> Fingerprint | None:
        return None if self.folder.is_symlink() else super().read_fingerprint()

    def is_whole(self, inputs: Inputs, stored: Fingerprint) -> bool:
        return self.folder.is_dir()  # an edited one is kept

    def changes(self, now: Fingerprint, stored: Fingerprint, *, options: bool = True) -> list[str]:
        """Ignore features that were added later: Kaldi adds them to every folder."""
        later = {n for n in now.inputs if n not in stored.inputs and _name(n) in FEATURE_FILES}
        return [n for n in super().changes(now, stored, options=options) if n not in later]

    def added(self) -> list[str]:
        """Return the names of the files added to the folder since it was made."""
        stored = self.read_fingerprint()
        if stored is None:
            return []
        return sorted({p.name for p in self.folder.iterdir()} - {*stored.files, self.note.name})

    def _foreign(self, inputs: Inputs) -> list[str]:
        if os.path.lexists(self.folder) and not self.folder.is_dir():
            raise PrivacyEvalError(f"{self.folder}: exists but is not a folder")
        stored = self.read_fingerprint()
        if stored is None:
            return [self.folder.name] if self.folder.is_dir() else []
        paths = {name: self.folder / _name(name) for name in stored.files}
        edited = [
            name
            for name, path in paths.items()
            if not os.path.isfile(path) or inputs.sha256(path) != stored.files[name]
        ]
        added = [name for name in self.added() if not _BY_KALDI.fullmatch(name)]
        return [name for name in (*edited, *added) if name not in FEATURE_FILES]

    def write(self, inputs: Inputs, content: Content, made_of: Fingerprint) -> None:
        data = self.folder.parent
        if paths_outside([data], [self.base]):
            raise PrivacyEvalError(
                f"{data}: is outside the tree ({data.resolve()}); refusing to write to it"
            )
        files = {path.name: text for path, text in content.files.items()}
        digests = {name: digest(text) for name, text in files.items()}
        fingerprint = replace(made_of, files=digests, remarks=content.remarks)
        write_data_dir(self.folder, {**files, self.note.name: fingerprint.text().encode()})
        inputs.forget(self.folder)


def _product(
    access: TreeAccess, protocol: Protocol, folder: DataFolder, suffix: str
) -> FolderProduct:
    tree = access.tree
    target = tree / "data" / (folder.name + suffix)

    def find(inputs: Inputs) -> Sources:
        files = _recipe(tree, protocol, folder, suffix).files
        access.check_in_tree(*files)
        return {relative(path, tree): path for path in files}

    def make(inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        contents, remarks = _recipe(tree, protocol, folder, suffix).contents(inputs)
        added = product.added()
        lost = (f"rebuilt, without {', '.join(added)} added to it",) if added else ()
        files = {target / name: content for name, content in contents.items()}
        return Content(files, remarks=remarks, notes=lost)

    product = FolderProduct(
        target.name,
        tree,
        target / NOTE,
        (),
        find,
        make,
        subject={"combine": list(folder.combine), "list_as": folder.list_as},
        guarded=True,
    )
    return product


def _recipe(tree: Path, protocol: Protocol, folder: DataFolder, suffix: str) -> _Recipe:
    """Return the sources of a data folder.

    Raises
    ------
    MissingInput
        A required folder or list is absent.
    """
    data = tree / "data"
    if folder.cut_from is None:
        parts = tuple(data / (part + suffix) for part in folder.combine)
        absent = [part.name for part in parts if not usable(part)]
        if absent:
            raise MissingInput("source", f"needs {_paths(absent)} with utt2spk")
        return _Recipe(parts)
    assert folder.list is not None and folder.list_as is not None
    lists = [data / folder.cut_from / folder.list]
    if suffix:
        lists.append(data / folder.name / folder.list_as)
    wanted = next((path for path in lists if path.is_file()), None)
    supersets = [data / (name + suffix) for name in protocol.supersets(folder.name)]
    whole = data / (folder.cut_from + suffix)
    # A combined folder made by this stage contains nothing but its parts.
    external = [s for s in supersets if _is_external(s)]
    sources = [*external, whole] if suffix else [whole, *external]
    source = next((path for path in sources if usable(path)), None)
    if source is None:
        names = _paths([whole.name, *(path.name for path in supersets)], " or ")
        itself = f"data/{folder.name + suffix} itself, or " if suffix else ""
        raise MissingInput("source", f"needs {itself}{names} with utt2spk")
    if wanted is None:
        tried = " or ".join(relative(path, tree) for path in lists)
        raise MissingInput("source", f"needs the list {tried}")
    return _Recipe((source,), wanted, folder.list_as)


def _is_external(folder: Path) -> bool:
    nothing = FolderProduct("", folder, folder / NOTE, (), lambda _: {}, lambda *_: Content({}))
    return nothing.read_fingerprint() is None


def _check_suffixes(suffixes: Sequence[str], names: Set[str]) -> None:
    for suffix in suffixes:
        if not re.fullmatch(r"[\w.+-]*", suffix, re.ASCII) or ".." in suffix:
            raise PrivacyEvalError(
                f"suffix {suffix!r}: becomes part of file names: ASCII letters, digits and "
                ". _ + - only"
            )
        for name in sorted(names):
            if suffix and name + suffix in names:
                raise PrivacyEvalError(
                    f"suffix {suffix!r}: {name + suffix} is another data folder of the protocol"
                )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def usable(folder: Path) -> bool:
    return (folder / "utt2spk").is_file()


def _paths(names: Sequence[str], between: str = ", ") -> str:
    return between.join(f"data/{name}" for name in names)
