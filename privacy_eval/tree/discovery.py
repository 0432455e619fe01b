"""Find systems in an experiment tree, their conditions, and the files of each.

Layouts, all below one results folder or collection:

* a checkout: `exp/results-TAG/ASV-<enrollment set>-<trial set>/scores`;
* a protocol's several folders: `exp/results-X` and `exp/results-X.orig`;
* an `exp/` of 2024 and later, or one of each team, see `editions`;
* an organizers' collection: `exp/<team>/<system>/results-TAG/ASV-*/scores`.

Trial keys are `data/<trial set>/trials` or `keys-*/<trial set>` in the tree. No
file is opened here.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from ..errors import PrivacyEvalError, UsageError, abbreviate, counted, printable
from ..io.confine import paths_outside
from ..io.names import check_name
from ..protocol.protocol import ANONYMIZED, Protocol, ResultsFolder
from .conditions import (
    ConditionFiles,
    RecognitionFiles,
    System,
    anonymized_names,
    recognition_conditions,
    trial_conditions,
)
from .editions import edition_systems, recognized_set
from .keys import Search, data_folders, find_key_folders, first_file, subfolders, walk

_RESULTS = "results-"

# Ratio of `difflib`: names of 7 letters that differ in one.
_ALIKE = 0.85


def find_systems(
    tree: Path,
    results: Path,
    protocol: Protocol,
    *,
    name: str | None = None,
    anon_suffix: str | Sequence[str] | None = None,
    keys: Path | None = None,
    allow_outside: bool = False,
) -> list[System]:
    """Find the systems below a results folder or a collection of them.

    Parameters
    ----------
    tree : Path
        The experiment tree, with `data/` and keys folders.
    results : Path
        A folder with `ASV-*` in it, or one up to eight levels above (three through
        symlinks); hidden folders are skipped.
    protocol : Protocol
    name : str, optional
        Select one of several systems, or name the only one (by default its path in the
        collection, or the folder's tag).
    anon_suffix : str or sequence of str, optional
        Anonymization suffixes, instead of the protocol's and of the one after the first `_`
        of a folder `results-TAG_SUFFIX`.
    keys : Path, optional
        The only folder with trial keys.
    allow_outside : bool
        Read through symlinks to outside the tree, the results and the keys folder.

    Returns
    -------
    list of System
        By name; empty without a folder `ASV-*` or `ASR-*`.

    Raises
    ------
    PrivacyEvalError
        No such folder; no system of that name; a folder with conditions and, below it, results
        of other systems.

    Examples
    --------
    >>> import tempfile
    >>> from privacy_eval import load_protocol
    >>> from privacy_eval.simulate import write_demo_tree
    >>> protocol, tree = load_protocol("vpc2024"), Path(tempfile.mkdtemp(), "tree")
    >>> _ = write_demo_tree(tree, protocol, speakers=3, utterances=4, systems=1)
    >>> [system.name for system in find_systems(tree, tree, protocol)]
    ['B1']
    """
    for folder, what in ((tree, "experiment tree"), (results, "results folder"), (keys, "keys")):
        if folder is not None and not folder.is_dir():
            raise PrivacyEvalError(f"{folder}: no such folder ({what}){parent_hint(tree)}")
    if not results.name:  # the current folder: what its siblings have a name
        results = Path(os.path.abspath(results))
    key_folders = find_key_folders(tree, results) if keys is None else [keys]
    roots = [] if allow_outside else [p for p in (tree, results, keys) if p is not None]
    search = Search(protocol, tree / "data" if keys is None else None, key_folders, roots)
    given = [anon_suffix] if isinstance(anon_suffix, str) else anon_suffix
    systems = edition_systems(results, tree / "data", given, search)
    too_deep: list[Path] = []
    folders = _results_folders(results, protocol, too_deep)
    for base_name, parts in _by_system(folders, results, protocol):
        own = [suffix for folder, _ in parts for suffix in folder_suffixes(folder, protocol)]
        suffixes = dict.fromkeys((protocol.anon_suffix, *own))
        chosen = list(suffixes if given is None else given)
        systems += _build_systems(base_name, parts, chosen, search)
    systems += [_unsearched(folder, results) for folder in too_deep if name is None]
    systems = [_with_printable_names(system) for system in systems]
    _check_unique(systems)
    if name is not None and len(systems) == 1:
        check_name(name, "--system")
        systems = [_rename(systems[0], name)]
    elif name is not None and systems:
        names = ", ".join(sorted(s.name for s in systems))
        systems = [s for s in systems if s.name == name]
        if not systems:
            raise UsageError(f"{results}: no system {name!r}; available: {names}")
    return sorted(systems, key=lambda s: s.name)


def results_folders(
    system: System | None,
    results: Path,
    protocol: Protocol,
    *,
    name: str | None = None,
    anon_suffix: str = "",
) -> list[tuple[Path, ResultsFolder]]:
    """List the results folders of a system's scores, existing or not.

    Parameters
    ----------
    system : System or None
        None for a new one, in `results` if its name is `results-*`, else in a folder
        `results-NAME` in it.
    name : str or None
        NAME of a new one; by default the suffix `anon_suffix` without its punctuation.
    """
    if system is not None:
        base, _ = _split_suffix(system.folders[0], protocol)
        first = system.folders[0].with_name(base)
    elif results.name.startswith(_RESULTS):
        first = results
    else:
        first = results / f"{_RESULTS}{name or anon_suffix.strip('._+-') or 'asv'}"
    return [(first.with_name(first.name + part.suffix), part) for part in protocol.results_folders]


def _is_condition(folder: Path) -> bool:
    return folder.name.startswith(("ASV-", "ASR-"))


def _ends_search(folder: Path) -> bool:
    """Whether nothing below can be results: a condition in a results folder."""
    return folder.parent.name.startswith(_RESULTS) and _is_condition(folder)


def _results_folders(results: Path, protocol: Protocol, too_deep: list[Path]) -> list[Path]:
    """List the folders with conditions: `results` and its siblings of the same system, or
    those below it; `too_deep` as in `walk`."""
    conditions = [*filter(_is_condition, subfolders(results))]
    if conditions and results.name.startswith(_RESULTS):
        below = []
    else:
        below = walk(results, _is_condition, _ends_search, too_deep)
        below = [folder for folder in below if folder != results]
    if conditions and below:
        raise PrivacyEvalError(
            f"{results}: contains conditions ({abbreviate([p.name for p in conditions])}) and, in "
            f"subfolders, results of other systems ({abbreviate([str(p) for p in below])}): "
            f"choose one with --results, or move the conditions into a folder {_RESULTS}TAG"
        )
    if not conditions:
        return below
    siblings = [
        results.with_name(results.name + f.suffix) for f in protocol.results_folders if f.suffix
    ]
    return [
        results,
        *(p for p in siblings if p.is_dir() and any(map(_is_condition, subfolders(p)))),
    ]


def _split_suffix(folder: Path, protocol: Protocol) -> tuple[str, ResultsFolder]:
    """Split off the suffix of the protocol's results folder from a folder's name."""
    for part in sorted(protocol.results_folders, key=lambda f: -len(f.suffix)):
        if part.suffix and folder.name.endswith(part.suffix):
            return folder.name.removesuffix(part.suffix), part
    main = next((f for f in protocol.results_folders if not f.suffix), protocol.results_folders[0])
    return folder.name, main


def _unsearched(folder: Path, results: Path) -> System:
    """Return a system without anything but its problem: it is too deep to be searched."""
    problem = f"{folder}: more than eight levels below {results}, and not searched: move it up"
    within = folder.relative_to(results).as_posix()
    return System(within, (folder,), "", problem=problem)


Parts = list[tuple[Path, ResultsFolder]]


def _with_printable_names(system: System) -> System:
    """Return a system as it is, or only its problem if results cannot name it, its suffix or its
    folders, as these are not printable."""
    try:
        for name in (system.name, system.anon_suffix, *(f.name for f in system.folders)):
            check_name(name, ascii(str(system.folders[0]))[1:-1])
    except PrivacyEvalError as error:
        name, suffix = (ascii(text)[1:-1].strip() for text in (system.name, system.anon_suffix))
        return System(name, system.folders, suffix, problem=str(error))
    return system


def _check_unique(systems: list[System]) -> None:
    """Check that names of systems are unique."""
    named: dict[str, System] = {}
    for system in systems:
        if system.name in named:
            raise PrivacyEvalError(
                f"{named[system.name].folders[0]} and {system.folders[0]} would both be the "
                f"system {system.name!r}: rename one of the folders"
            )
        named[system.name] = system


def suffix_of_unmatched(folders: Iterable[str], protocol: Protocol) -> str | None:
    """Guess the anonymization suffix of folders that match no condition."""
    sets = (re.escape(t.trials_name) for t in protocol.trial_sets())
    names = "|".join(sorted(sets, key=len, reverse=True))
    guesses = (re.search(rf"-(?:{names})([^-]+)$", name) for name in folders)
    return next((match[1] for match in guesses if match), None)


def _suffix_problem(suffix: str, unmatched: Iterable[Path], protocol: Protocol) -> str | None:
    starts = tuple(f"ASV-{t.enrollment_name}" for t in protocol.trial_sets())
    folders = [p for p in unmatched if p.name.startswith(starts)]
    if not folders:
        return None
    guess = suffix_of_unmatched((p.name for p in folders), protocol) or "_SUFFIX"
    return (
        f"{folders[0].parent}: no condition with anonymization suffix {suffix!r}; is it {guess!r}? "
        f"Rename the folder to {_RESULTS}TAG{guess}, or use --anon-suffix {guess} for all systems; "
        f"{len(folders)} folders match no condition of protocol {protocol.name}: "
        f"{abbreviate([p.name for p in folders])}"
    )


def tree_suffixes(tree: Path, protocol: Protocol) -> dict[str, int]:
    """Count the data sets of a tree by anonymization suffix, the most frequent first."""
    sets = {n for t in protocol.trial_sets() for n in (t.trials_name, t.enrollment_name)}
    names = sorted(sets.union(*map(protocol.supersets, sets)), key=len, reverse=True)
    folders = [f.name for f in data_folders(tree)]
    starts = ((f, next((n for n in names if f.startswith(n)), f)) for f in folders)
    suffixes = Counter(folder[len(start) :] for folder, start in starts)
    return {suffix: number for suffix, number in suffixes.most_common() if suffix}


def suffix_hint(tree: Path, protocol: Protocol, used: Collection[str]) -> str | None:
    """Describe the data sets with other anonymization suffixes than those used, if any, and the
    option that evaluates them."""
    others = {s: n for s, n in tree_suffixes(tree, protocol).items() if s not in used}
    if not others:
        return None
    alike = [s for name in used for s in others if s.strip("._+-") == name.strip("._+-")]
    alike += [s for name in used for s in difflib.get_close_matches(name, others)]
    counts = ", ".join(f"{suffix} ({number})" for suffix, number in others.items())
    return (
        f"{tree / 'data'}: data sets with another anonymization suffix: {counts}; to evaluate "
        f"those: --anon-suffix {[*alike, *others][0]}"
    )


def check_suffixes(
    suffixes: Iterable[str], systems: Iterable[System], tree: Path, protocol: Protocol
) -> None:
    """Check the anonymization suffixes of an option.

    Raises
    ------
    UsageError
        Neither data sets nor results have one of them; the message names those that exist.
    """
    suffixes_in_use = set(tree_suffixes(tree, protocol)) | {
        system.anon_suffix
        for system in systems
        if any(c.condition.trial == ANONYMIZED for c in system.conditions)
    }
    for suffix in suffixes:
        hint = None if suffix in suffixes_in_use else suffix_hint(tree, protocol, [suffix])
        if hint is None and suffixes_in_use and suffix not in suffixes_in_use:
            hint = f"those of the results: {', '.join(sorted(suffixes_in_use))}"
        if hint is not None:
            raise UsageError(f"no data set or results with anonymization suffix {suffix!r}; {hint}")


def parent_hint(tree: Path, results: Path | None = None) -> str:
    """Return a hint for the end of a message if the parent of the tree, or a folder above the
    results, looks more like a tree."""
    tree = Path(os.path.abspath(tree))
    results = Path(os.path.abspath(tree if results is None else results))
    below = [p for p in results.parents if tree in p.parents]
    other = next((p for p in (tree.parent, *below) if (p / "data").is_dir()), None)
    if other is None or (tree / "data").is_dir():
        return ""
    moved = f" --results {shlex.quote(os.path.relpath(results, other))}" if results != tree else ""
    return f"; {other} looks like the tree: --tree {shlex.quote(str(other))}{moved}"


def check_new_results(results: Path, protocol: Protocol) -> None:
    """Check that a new results folder is not a misspelt one.

    Raises
    ------
    UsageError
        Beside it is one of a very similar name: the same but for case, or one letter or so;
        other digits make another name.
    """

    def tag(folder: Path) -> str:
        return _split_suffix(folder, protocol)[0].removeprefix(_RESULTS)

    tags = {p.name: tag(p) for p in subfolders(results.parent) if p.name.startswith(_RESULTS)}
    new = tag(results)
    if new in tags.values():
        return
    for name, other in tags.items():
        matcher = difflib.SequenceMatcher(None, new.casefold(), other.casefold())
        digits = [re.sub(r"\D", "", text) for text in (new, other)]
        if digits[0] == digits[1] and matcher.ratio() >= _ALIKE:
            raise UsageError(
                f"{results}: no such folder, but {name}; if it is to be another system, make the "
                "folder first"
            )


def _by_system(folders: list[Path], results: Path, protocol: Protocol) -> list[tuple[str, Parts]]:
    """Group results folders into systems, and name these."""
    grouped: dict[tuple[Path, str], Parts] = {}
    for folder in folders:
        base, part = _split_suffix(folder, protocol)
        grouped.setdefault((folder.parent, base), []).append((folder, part))
    tags = Counter(parent for parent, _ in grouped)
    systems: list[tuple[str, Parts]] = []
    for (parent, base), parts in grouped.items():
        tag = base.removeprefix(_RESULTS)
        inside = results in parent.parents
        name = parent.relative_to(results).as_posix() if inside else tag
        if inside and (tags[parent] > 1 or tag == base):
            name = f"{name}/{tag}"
        systems.append((name, parts))
    return systems


def folder_suffixes(folder: Path, protocol: Protocol) -> list[str]:
    """Return the anonymization suffix in a folder's name `results-TAG_SUFFIX`, if any."""
    base, _ = _split_suffix(folder, protocol)
    _, underscore, own = base.removeprefix(_RESULTS).partition("_")
    return [underscore + own] if own else []


def guess_suffix(suffixes: list[str], protocol: Protocol, tree: Path | None) -> str:
    """Guess a system's anonymization suffix: the last one that data sets of the tree have, or
    the first."""
    in_tree = {} if tree is None else tree_suffixes(tree, protocol)
    return next((suffix for suffix in reversed(suffixes) if suffix in in_tree), suffixes[0])


Files = TypeVar("Files", ConditionFiles, RecognitionFiles)


def _rename(system: System, name: str) -> System:
    def renamed(files: Files) -> Files:
        return replace(files, condition=replace(files.condition, system=name))

    return replace(
        system,
        name=name,
        conditions=tuple(map(renamed, system.conditions)),
        recognition=tuple(map(renamed, system.recognition)),
    )


def _build_systems(name: str, parts: Parts, suffixes: list[str], search: Search) -> list[System]:
    """Build the system of some results folders, or one for each suffix in them."""
    protocol = search.protocol
    children = [(child, part) for folder, part in parts for child in subfolders(folder)]
    present = {child.name for child, _ in children}
    used = [suffix for suffix in suffixes if present & anonymized_names(protocol, suffix)]
    chosen = used or [guess_suffix(suffixes, protocol, search.data and search.data.parent)]
    names_of_conditions = {
        folder
        for suffix in suffixes
        for names in (trial_conditions, recognition_conditions)
        for folder in names(protocol, protocol.results_folders[0], suffix)
    }
    unmatched = tuple(
        child
        for child, _ in children
        if _is_condition(child) and child.name not in names_of_conditions
    )
    systems = []
    for suffix in chosen:
        system = name if len(chosen) == 1 else f"{name}{suffix}"
        conditions: list[ConditionFiles] = []
        recognition: list[RecognitionFiles] = []
        for folder_of, part in parts:
            verified = trial_conditions(protocol, part, suffix, system)
            decoded = recognition_conditions(protocol, part, suffix, system)
            for child in (c for c, _ in children if c.parent == folder_of):
                if child.name in verified:
                    conditions += search.files_by_attacker(verified[child.name], child)
                elif child.name in decoded:
                    outside = paths_outside([child, *sorted(child.glob("*"))], search.roots)
                    recognition.append(RecognitionFiles(decoded[child.name], child, outside))
        own = list(_recognized(system, parts, suffix, search))
        replaced = {files.condition.name for files in own}
        recognition = [f for f in recognition if f.condition.name not in replaced] + own
        systems.append(
            System(
                name=system,
                folders=tuple(folder for folder, _ in parts),
                anon_suffix=suffix,
                conditions=tuple(conditions),
                recognition=tuple(recognition),
                unmatched=unmatched,
                problem=None if used else _suffix_problem(suffix, unmatched, protocol),
            )
        )
    return systems


def _recognized(
    system: str, parts: Parts, suffix: str, search: Search
) -> Iterator[RecognitionFiles]:
    """Yield the sets that a recognizer of one's own has transcribed, beside the results folders,
    where the protocol names a folder for them."""
    (folder, part), data = parts[0], search.data
    if data is None:
        return
    decoded = recognition_conditions(search.protocol, part, suffix, system)
    for place in search.protocol.recognition.folders:
        for name, condition in decoded.items():
            at = folder.parent / place / name.removeprefix("ASR-")
            if at.is_dir():
                yield recognized_set(condition, at, data, suffix, search)


def unmatched_folders(systems: Iterable[System]) -> dict[Path, list[str]]:
    """List `ASV-*` and `ASR-*` folders that match no condition, by results folder."""
    return _names_by_parent(folder for system in systems for folder in system.unmatched)


def sibling_results_folders(systems: Iterable[System], results: Path) -> dict[Path, list[str]]:
    """List results folders in one folder, perhaps versions of one system, that are treated as
    separate systems."""
    first = (system.folders[0] for system in systems)
    candidates = (f for f in first if f.parent != results and f.name.startswith(_RESULTS))
    return {p: names for p, names in _names_by_parent(candidates).items() if len(names) > 1}


def _names_by_parent(folders: Iterable[Path]) -> dict[Path, list[str]]:
    unique = sorted({(folder.parent, printable(folder.name)) for folder in folders})
    grouped = itertools.groupby(unique, key=lambda pair: pair[0])
    return {parent: [name for _, name in pairs] for parent, pairs in grouped}


def score_file(condition: ConditionFiles) -> Path:
    """Return the score file of a condition.

    Raises
    ------
    PrivacyEvalError
        There is none, or more than one.
    """
    if condition.scores is None:
        raise PrivacyEvalError(missing_scores_message(condition))
    packed = condition.folder / "scores.gz"
    if condition.scores != packed and packed.is_file():
        raise PrivacyEvalError(
            f"{condition.folder}: both {condition.scores.name} and {packed.name} exist; remove one"
        )
    return condition.scores


def missing_scores_message(condition: ConditionFiles) -> str:
    """Return the error message for a condition without a score file."""
    near = sorted(p.name for p in condition.folder.glob("*") if p.name.lower().startswith("score"))
    c = condition.condition
    text = f"{c.system}: no score file in {c.name}"
    if {"scores", "scores.gz"} & set(near):
        return f"{text}: `scores` is not a regular file"
    return f"{text}; is it {abbreviate(near)}?" if near else text


@dataclass(frozen=True)
class AttackerProblem:
    """Scores in a folder that names no attacker, or an attacker of other programs without scores.

    Attributes
    ----------
    system : str
    text : str
        The name, with a similar one if there is one.
    folder : Path or None
        The first folder of that name; None for an attacker without scores.
    """

    system: str
    text: str
    folder: Path | None = None


def attacker_problems(systems: Iterable[System], protocol: Protocol) -> Iterator[AttackerProblem]:
    """Yield, for every system, score folders that no attacker of the protocol claims, then its
    attackers from outside of which no condition has scores."""
    attackers = {a.id: a for a in protocol.other_attackers}
    for system in systems:
        unclaimed: dict[str, list[Path]] = {}
        for folder in _condition_folders(system):
            for child in subfolders(folder):
                if child.name not in attackers and first_file(_scores(child)):
                    unclaimed.setdefault(child.name, []).append(child)
        present = {c.condition.attacker for c in system.conditions if c.scores is not None}
        absent = [a for a in attackers if attackers[a].scoring == "outside" and a not in present]
        for name, folders in unclaimed.items():
            unused = [a for a in attackers if a not in present]
            similar = _similar(name, unused) or _similar(name, attackers)
            hint = f" (is it {similar}?)" if similar else ""
            text = f"{name}{hint} in {counted(len(folders), 'condition')}"
            yield AttackerProblem(system.name, text, folders[0])
        for name in absent:
            similar = _similar(name, unclaimed)
            yield AttackerProblem(system.name, name + (f" (is it {similar}?)" if similar else ""))


def _condition_folders(system: System) -> list[Path]:
    folders = (
        files.folder if files.condition.is_by_challenge else files.folder.parent
        for files in system.conditions
    )
    return list(dict.fromkeys(folders))


def _scores(folder: Path) -> list[Path]:
    return [folder / "scores", folder / "scores.gz"]


def _similar(name: str, names: Iterable[str]) -> str:
    """Return the most similar of some names; "" if there is none."""
    by_lower = {other.lower(): other for other in names}
    return next((by_lower[n] for n in difflib.get_close_matches(name.lower(), by_lower, 1)), "")
