"""What an experiment tree holds: systems, their conditions, and the files of each.

Layouts that are walked, all below one results folder or collection:

* a checkout: `exp/results-TAG/ASV-<enrollment set>-<trial set>/scores`;
* a plan's several folders: `exp/results-X` beside `exp/results-X.orig`;
* an organizers' collection: `exp/<team>/<system>/results-TAG/ASV-*/scores`.

Trial keys are `data/<trial set>/trials` or `keys-*/<trial set>` in the tree. No
file is opened here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PrivacyEvalError, abbreviate
from ..io.confine import paths_outside
from ..protocol.protocol import Protocol, ResultsFolder
from .conditions import (
    ConditionFiles,
    RecognitionFiles,
    System,
    TrialCondition,
    anonymized_names,
    recognition_conditions,
    trial_conditions,
)
from .keys import find_key_folders, first_file, key_paths, subfolders

_RESULTS = "results-"

# How many levels below a collection are looked into; through links fewer, which may lead anywhere.
_DEPTH, _LINKED_DEPTH = 8, 3


def find_systems(
    tree: Path,
    results: Path,
    protocol: Protocol,
    *,
    name: str | None = None,
    anon_suffix: str | None = None,
    keys: Path | None = None,
    allow_outside: bool = False,
) -> list[System]:
    """The systems below a results folder or a collection of them, by name; none where
    no folder `ASV-*` or `ASR-*` is found.

    Parameters
    ----------
    tree : Path
        The experiment tree, where `data/` and keys folders are.
    results : Path
        A folder with `ASV-*` in it, or one above such folders, eight levels at most (three
        through links); hidden folders are not looked into.
    name : str, optional
        Of several systems the one to take; a new name where there is only one (whose
        name is otherwise its path in the collection, or the folder's tag).
    anon_suffix : str, optional
        What marks anonymized sets, instead of the plan's suffix and of the one that
        follows the first `_` of a folder `results-TAG_SUFFIX`.
    keys : Path, optional
        The only folder to take trial keys from.
    allow_outside : bool
        Follow links that lead out of the tree, the results and the keys folder.

    Raises
    ------
    PrivacyEvalError
        No such folder, none of several systems of that name; a folder that holds the
        conditions of one system and, below it, those of others.
    """
    for folder, what in ((tree, "experiment tree"), (results, "results folder"), (keys, "keys")):
        if folder is not None and not folder.is_dir():
            raise PrivacyEvalError(f"{folder}: no such folder ({what})")
    if not results.name:  # the current folder: what is beside it has a name
        results = Path(os.path.abspath(results))
    found = _results_folders(results, protocol)
    key_folders = find_key_folders(tree, results) if keys is None else [keys]
    roots = [] if allow_outside else [p.resolve() for p in (tree, results, keys) if p is not None]
    search = _Search(protocol, tree / "data" if keys is None else None, key_folders, roots)
    systems: list[System] = []
    for base_name, parts in _by_system(found, results, protocol):
        suffixes = _anon_suffixes(parts, protocol, anon_suffix)
        systems += _systems_of(base_name, parts, protocol, suffixes, search)
    _check_names(systems)
    if name is not None and len(systems) == 1:
        systems = [_renamed(systems[0], name)]
    elif name is not None and systems:
        names = ", ".join(sorted(s.name for s in systems))
        systems = [s for s in systems if s.name == name]
        if not systems:
            raise PrivacyEvalError(f"{results}: no system {name!r} there, only {names}")
    return sorted(systems, key=lambda s: s.name)


def results_folders(
    system: System | None,
    results: Path,
    protocol: Protocol,
    *,
    name: str | None,
    anon_suffix: str,
) -> list[tuple[Path, ResultsFolder]]:
    """The results folders that a system's scores belong into, there or not yet.

    Parameters
    ----------
    system : System or None
        None: none is there yet; `results` itself is taken where it is called
        `results-*`, else a folder `results-NAME` in it.
    name : str or None
        NAME; by default the suffix without its punctuation.
    """
    if system is not None:
        base, _ = _split_suffix(system.folders[0], protocol)
        first = system.folders[0].with_name(base)
    elif results.name.startswith(_RESULTS):
        first = results
    else:
        first = results / f"{_RESULTS}{name or anon_suffix.strip('._+-') or 'asv'}"
    return [(first.with_name(first.name + part.suffix), part) for part in protocol.results_folders]


def _holds_conditions(folders: Iterable[Path]) -> bool:
    return any(folder.name.startswith(("ASV-", "ASR-")) for folder in folders)


def _results_folders(results: Path, protocol: Protocol) -> list[Path]:
    """Every folder that holds conditions: `results` with those beside it that belong to the
    same system, or those below it."""
    own = [p for p in subfolders(results) if _holds_conditions([p])]
    if own and results.name.startswith(_RESULTS):
        below = []
    else:
        below = [folder for folder in _walk(results) if folder != results]
    if own and below:
        raise PrivacyEvalError(
            f"{results}: holds {abbreviate([p.name for p in own])} as the results of one system "
            f"do, but also results of others below it: {abbreviate([str(p) for p in below])}. "
            "Name one of them "
            f"with --results, or put what is {results.name}'s own into a folder {_RESULTS}TAG"
        )
    if not own:
        return below
    beside = [
        results.with_name(results.name + f.suffix) for f in protocol.results_folders if f.suffix
    ]
    return [results, *(p for p in beside if p.is_dir() and _holds_conditions(subfolders(p)))]


def _walk(folder: Path, level: int = 0, *, linked: bool = False) -> Iterator[Path]:
    """A folder and those below it that hold conditions."""
    below = subfolders(folder)
    if _holds_conditions(below):
        yield folder
    for child in below:
        if folder.name.startswith(_RESULTS) and _holds_conditions([child]):
            continue  # a condition: nobody's results are in it
        is_linked = linked or child.is_symlink()
        if level < (_LINKED_DEPTH if is_linked else _DEPTH):
            yield from _walk(child, level + 1, linked=is_linked)


def _split_suffix(folder: Path, protocol: Protocol) -> tuple[str, ResultsFolder]:
    """A results folder's name without the plan's suffix, and which of the plan's
    folders it is."""
    for part in sorted(protocol.results_folders, key=lambda f: -len(f.suffix)):
        if part.suffix and folder.name.endswith(part.suffix):
            return folder.name.removesuffix(part.suffix), part
    main = next((f for f in protocol.results_folders if not f.suffix), protocol.results_folders[0])
    return folder.name, main


Parts = list[tuple[Path, ResultsFolder]]


def _check_names(systems: list[System]) -> None:
    """No two systems of one name, no name that is not text."""
    named: dict[str, System] = {}
    for system in systems:
        try:
            system.name.encode()
        except UnicodeEncodeError as error:
            folder = ascii(str(system.folders[0]))
            raise PrivacyEvalError(f"{folder}: the folder's name is not UTF-8") from error
        if system.name in named:
            raise PrivacyEvalError(
                f"{named[system.name].folders[0]} and {system.folders[0]} would both be the "
                f"system {system.name!r}: rename one of the folders"
            )
        named[system.name] = system


def _suffix_problem(
    used: bool, suffix: str, unknown: tuple[Path, ...], protocol: Protocol
) -> str | None:
    sets = list(protocol.trial_sets())
    starts = tuple(f"ASV-{t.enrollment_name}" for t in sets)
    strange = [p for p in unknown if p.name.startswith(starts)]
    if used or not strange:
        return None
    names = "|".join(sorted((re.escape(t.trials_name) for t in sets), key=len, reverse=True))
    marks = [re.search(rf"-(?:{names})([^-]+)$", p.name) for p in strange]
    mark = next((found[1] for found in marks if found), "_MARK")
    folder = strange[0].parent
    return (
        f"{folder}: no anonymized speech marked {suffix!r}. Marked {mark!r}? Rename it to "
        f"{_RESULTS}TAG{mark}, or say --anon-suffix {mark} if that is the mark of all systems; "
        f"{len(strange)} folders are no conditions of the plan {protocol.name}: "
        f"{abbreviate([p.name for p in strange])}"
    )


def _by_system(found: list[Path], results: Path, protocol: Protocol) -> list[tuple[str, Parts]]:
    """Results folders grouped into systems, with the systems' names."""
    grouped: dict[tuple[Path, str], Parts] = {}
    for folder in found:
        base, part = _split_suffix(folder, protocol)
        grouped.setdefault((folder.parent, base), []).append((folder, part))
    tags_beside: dict[Path, int] = {}
    for parent, _ in grouped:
        tags_beside[parent] = tags_beside.get(parent, 0) + 1
    systems: list[tuple[str, Parts]] = []
    for (parent, base), parts in grouped.items():
        tag = base.removeprefix(_RESULTS)
        inside = results in parent.parents
        name = parent.relative_to(results).as_posix() if inside else tag
        if inside and (tags_beside[parent] > 1 or tag == base):
            name = f"{name}/{tag}"
        systems.append((name, parts))
    return systems


def _anon_suffixes(parts: Parts, protocol: Protocol, given: str | None) -> list[str]:
    """What may mark anonymized sets in these folders."""
    if given is not None:
        return [given]
    own = (suffix for folder, _ in parts for suffix in folder_suffixes(folder, protocol))
    return list(dict.fromkeys((protocol.anon_suffix, *own)))


def folder_suffixes(folder: Path, protocol: Protocol) -> list[str]:
    """The suffix for anonymized sets that a folder's name `results-TAG_SUFFIX` gives."""
    base, _ = _split_suffix(folder, protocol)
    _, underscore, own = base.removeprefix(_RESULTS).partition("_")
    return [underscore + own] if own else []


def likely_suffix(suffixes: list[str], protocol: Protocol, tree: Path | None) -> str:
    """Of what may mark anonymized sets, the last that marks data sets of a tree; the first
    where none does."""
    names = [n for t in protocol.trial_sets() for n in (t.trials_name, t.enrollment_name)]
    names += [holder for name in names for holder in protocol.supersets(name)]
    for suffix in reversed(suffixes):
        if tree is not None and any((tree / "data" / f"{n}{suffix}").is_dir() for n in names):
            return suffix
    return suffixes[0]


def _renamed(system: System, name: str) -> System:
    return replace(
        system,
        name=name,
        conditions=tuple(
            replace(c, condition=replace(c.condition, system=name)) for c in system.conditions
        ),
        recognition=tuple(
            replace(r, condition=replace(r.condition, system=name)) for r in system.recognition
        ),
    )


def _systems_of(
    name: str, parts: Parts, protocol: Protocol, suffixes: list[str], search: _Search
) -> list[System]:
    """The one system of some results folders, or one per suffix that occurs in them."""
    children = [(child, part) for folder, part in parts for child in subfolders(folder)]
    there = {child.name for child, _ in children}
    used = [suffix for suffix in suffixes if there & anonymized_names(protocol, suffix)]
    found = bool(used)
    used = used or [likely_suffix(suffixes, protocol, search.data and search.data.parent)]
    known = {
        folder
        for suffix in suffixes
        for names in (trial_conditions, recognition_conditions)
        for folder in names(protocol, protocol.results_folders[0], suffix)
    }
    unknown = tuple(
        child for child, _ in children if _holds_conditions([child]) and child.name not in known
    )
    systems = []
    for suffix in used:
        own = name if len(used) == 1 else f"{name}{suffix}"
        conditions: list[ConditionFiles] = []
        recognition: list[RecognitionFiles] = []
        for folder, part in parts:
            verified = trial_conditions(protocol, part, suffix, own)
            decoded = recognition_conditions(protocol, part, suffix, own)
            below = [child for child, of in children if child.parent == folder and of is part]
            for child in below:
                if child.name in verified:
                    conditions.append(search.files(verified[child.name], child))
                elif child.name in decoded:
                    outside = paths_outside([child, *sorted(child.glob("*"))], search.roots)
                    recognition.append(RecognitionFiles(decoded[child.name], child, outside))
        systems.append(
            System(
                name=own,
                folders=tuple(folder for folder, _ in parts),
                anon_suffix=suffix,
                conditions=tuple(conditions),
                recognition=tuple(recognition),
                unknown=unknown,
                problem=_suffix_problem(found, suffix, unknown, protocol),
            )
        )
    return systems


@dataclass(frozen=True)
class _Search:
    """Where the files of conditions are looked for."""

    protocol: Protocol
    data: Path | None
    key_folders: list[Path]
    roots: list[Path]

    def files(self, condition: TrialCondition, folder: Path) -> ConditionFiles:
        """The files of a condition."""
        data = self.data
        tried = key_paths(condition, self.protocol, data, self.key_folders)
        key = first_file(tried)
        in_data = [path for path in tried if data is not None and data in path.parents]
        of_key = [f for f in self.key_folders if key is not None and f in key.parents]
        if of_key and any(
            path.is_file()
            for path in tried
            if path not in in_data and of_key[0] not in path.parents
        ):
            folders = ", ".join(map(str, self.key_folders))
            raise PrivacyEvalError(
                f"{condition.trial_set}: several of {folders} have a trial key; choose one with "
                "--keys"
            )
        beside = dict.fromkeys(path.parent for path in ([key] if key else []) + in_data)
        utt2spk = first_file([folder / "utt2spk" for folder in beside])
        scores = first_file([folder / "scores", folder / "scores.gz"])
        outside = paths_outside([scores, key, utt2spk], self.roots)
        return ConditionFiles(condition, folder, scores, key, tuple(tried), utt2spk, outside)


def unknown_folders(systems: Iterable[System]) -> dict[Path, list[str]]:
    """Names of `ASV-*` and `ASR-*` folders that the plan has no place for, by results folder."""
    found: dict[Path, set[str]] = {}
    for folder in (folder for system in systems for folder in system.unknown):
        found.setdefault(folder.parent, set()).add(folder.name)
    return {parent: sorted(names) for parent, names in sorted(found.items())}


def beside_each_other(systems: Iterable[System], results: Path) -> dict[Path, list[str]]:
    """Several results folders of what looks like one system, an old one beside the new
    perhaps; each counts as a system."""
    found: dict[Path, set[str]] = {}
    for first in (system.folders[0] for system in systems):
        if first.parent != results and first.name.startswith(_RESULTS):
            found.setdefault(first.parent, set()).add(first.name)
    return {parent: sorted(n) for parent, n in sorted(found.items()) if len(n) > 1}


def score_file(condition: ConditionFiles) -> Path:
    """The file of a condition's scores.

    Raises
    ------
    PrivacyEvalError
        There is none, or two.
    """
    if condition.scores is None:
        raise PrivacyEvalError(no_scores(condition))
    packed = condition.folder / "scores.gz"
    if condition.scores != packed and packed.is_file():
        raise PrivacyEvalError(
            f"{condition.scores}: beside it is {packed.name}; remove one of them"
        )
    return condition.scores


def no_scores(condition: ConditionFiles) -> str:
    """What to say of a condition without a score file."""
    near = sorted(p.name for p in condition.folder.glob("*") if p.name.lower().startswith("score"))
    c = condition.condition
    text = f"{c.system}: the folder {c.name} holds no file `scores`"
    if {"scores", "scores.gz"} & set(near):
        return f"{text}: what is called so is none"
    return f"{text}; is it {abbreviate(near)}?" if near else text
