"""Find systems in an experiment tree, their conditions, and the files of each.

Layouts, all below one results folder or collection:

* a checkout: `exp/results-TAG/ASV-<enrollment set>-<trial set>/scores`;
* a protocol's several folders: `exp/results-X` and `exp/results-X.orig`;
* an `exp/` of 2024 and later, or one of each team;
* an organizers' collection: `exp/<team>/<system>/results-TAG/ASV-*/scores`.

Trial keys are `data/<trial set>/trials` or `keys-*/<trial set>` in the tree. No
file is opened here.

An `exp/` of 2024 and 2026 has folders of models, shared by systems:

* `exp/asv_anon<SUFFIX>/<enrollment set>-<trial set>/scores`: attacker's model of one system;
* `exp/asv_orig/...`: model trained on original speech, of all systems;
* `exp/asr/<set>/wer`, `exp/ser/results_folds<SUFFIX>.csv`: recognition and emotions.

VoicePAT has a folder `cosine_out` in between. In a collection, each team has such folders of its
own, `exp/<team>/asv_anon<SUFFIX>`; what they lack may be in the folders above, for all teams.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from ..errors import PrivacyEvalError, UsageError, abbreviate, counted, printable
from ..io.files import Inputs, paths_outside
from ..io.names import check_name
from ..protocol.protocol import (
    ANONYMIZED,
    ORIGINAL,
    SUFFIX,
    Protocol,
    ResultsFolder,
    bundled,
    load_protocol,
)
from .conditions import (
    Condition,
    ConditionFiles,
    EmotionFiles,
    RecognitionFiles,
    System,
    Transcripts,
    anonymized_names,
    by_attacker,
    recognition_conditions,
    trial_conditions,
)

_RESULTS = "results-"

# Ratio of `difflib`: names of 7 letters that differ in one.
_ALIKE = 0.85

# Hidden folders, and metadata in archives created by macOS.
_IGNORED = (".", "__MACOSX")

# Levels to search below a collection; fewer through symlinks, which may lead anywhere.
_DEPTH, _LINKED_DEPTH = 8, 3

_VOICEPAT = "cosine_out"

#: Beginnings of folders' names that do not name a team: those of the challenge and its zips.
_NAMELESS = re.compile(r"exp|result_for_submission.*")

#: SpeechBrain's network in an ASV model's folder: of a pretrained model, or of trainings.
_CHECKPOINTS = ("embedding_model.ckpt", "CKPT+*/embedding_model.ckpt")

#: Folders of an `exp/` besides those that the protocol names, and the output of this program.
_OTHERS = ("results_summary", "models", "privacy_eval")


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


def _rename(system: System, name: str) -> System:
    verified = (replace(f, condition=replace(f.condition, system=name)) for f in system.conditions)
    decoded = (replace(f, condition=replace(f.condition, system=name)) for f in system.recognition)
    of_checkpoints = ((at, replace(c, system=name)) for at, c in system.by_checkpoint)
    renamed = replace(system, name=name, by_checkpoint=tuple(of_checkpoints))
    return replace(renamed, conditions=tuple(verified), recognition=tuple(decoded))


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


def attacker_problems(
    systems: Iterable[System], protocol: Protocol
) -> Iterator[tuple[str, str, Path | None]]:
    """Yield, for every system, score folders that no attacker of the protocol claims, then its
    attackers from outside of which no condition has scores: system, name, with a similar one if
    there is one, and the first folder of that name, None without scores."""
    attackers = {a.id: a for a in protocol.other_attackers}
    for system in systems:
        unclaimed: dict[str, list[Path]] = {}
        files = ((c.folder, c.condition.is_by_challenge) for c in system.conditions)
        for folder in dict.fromkeys(
            at if of_challenge else at.parent for at, of_challenge in files
        ):
            for child in subfolders(folder):
                if child.name not in attackers and _scores(child):
                    unclaimed.setdefault(child.name, []).append(child)
        present = {c.condition.attacker for c in system.conditions if c.scores is not None}
        absent = [a for a in attackers if attackers[a].scoring == "outside" and a not in present]
        for name, folders in unclaimed.items():
            unused = [a for a in attackers if a not in present]
            similar = _similar(name, unused) or _similar(name, attackers)
            hint = f" (is it {similar}?)" if similar else ""
            text = f"{name}{hint} in {counted(len(folders), 'condition')}"
            yield system.name, text, folders[0]
        for name in absent:
            similar = _similar(name, unclaimed)
            yield system.name, name + (f" (is it {similar}?)" if similar else ""), None


def _scores(folder: Path) -> Path | None:
    return first_file([folder / "scores", folder / "scores.gz"])


def _similar(name: str, names: Iterable[str]) -> str:
    """Return the most similar of some names; "" if there is none."""
    by_lower = {other.lower(): other for other in names}
    return next((by_lower[n] for n in difflib.get_close_matches(name.lower(), by_lower, 1)), "")


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
    condition: Condition, protocol: Protocol, data: Path | None, key_folders: list[Path]
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

    def files(self, condition: Condition, folder: Path) -> ConditionFiles:
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
        scores = _scores(folder)
        outside = paths_outside([scores, *keys, utt2spk], self.roots)
        return ConditionFiles(condition, folder, scores, key, tuple(candidates), utt2spk, outside)

    def files_by_attacker(self, condition: Condition, folder: Path) -> list[ConditionFiles]:
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


def edition_systems(
    results: Path, data: Path, suffixes: Sequence[str] | None, search: Search
) -> list[System]:
    """Find the systems of an `exp/` and of the teams' below it, one for each anonymization suffix.

    Parameters
    ----------
    data : Path
        Data folders, with what was spoken.
    suffixes : sequence of str or None
        By default all that any folder has anonymized speech of.
    """
    protocol = search.protocol
    if not any(part.folders for part in protocol.results_folders):
        return []
    is_model = partial(_is_model, protocol)
    exps = [_Exp(at, results, data, search) for at in walk(results, is_model, is_model)]
    owned = {}
    for exp in exps:
        below = {s for e in exps if exp.folder in e.folder.parents for s in e.suffixes}
        owned[exp] = [s for s in exp.suffixes if exp.has_attacker(s) or s not in below]
    names = Counter(exp.name(suffix) for exp, own in owned.items() for suffix in own)
    owners = Counter(suffix for own in owned.values() for suffix in own)
    systems = []
    for exp, own in owned.items():
        around = [exp, *(e for e in reversed(exps) if e.folder in exp.folder.parents)]
        for suffix in own if suffixes is None else [s for s in own if s in suffixes]:
            name = exp.name(suffix)
            if names[name] > 1:
                name = (exp.folder.relative_to(results) / suffix).as_posix()
            system = _build(name, suffix, around, is_only=owners[suffix] == 1)
            is_scored = any(f.condition.trial == ANONYMIZED for f in system.conditions)
            if is_scored or system.by_checkpoint:
                systems.append(system)
    return systems


def checkpoints(model: Path) -> list[Path]:
    """List the checkpoints of the network in an ASV model's folder."""
    found = itertools.chain.from_iterable(model.glob(pattern) for pattern in _CHECKPOINTS)
    return sorted(path for path in found if path.is_file())


def model_of(condition: Path) -> Path:
    """Return the folder of the ASV model that a condition's folder is in."""
    return condition.parents[1] if condition.parent.name == _VOICEPAT else condition.parent


def looks_like(tree: Path, results: Path, protocol: Protocol) -> Protocol | None:
    """Return the bundled edition that a tree is of, judged by the names of its folders, unless
    that may be `protocol`; None if nothing tells."""
    own = _signs(tree, results, protocol)
    if own and not protocol.has_own_scoring:
        return None
    signs = [
        (_signs(tree, results, other), other)
        for other in map(load_protocol, bundled())
        if not own or other.has_own_scoring
    ]
    rating, likely = max(signs, key=lambda both: both[0])
    return likely if rating > own else None


def _signs(tree: Path, results: Path, protocol: Protocol) -> int:
    """Rate how well folders fit an edition: by the lengths of the names that it gives to results
    folders and ASV models, as longer ones say more."""
    folders = subfolders(results) if results.is_dir() else []
    kinds = [template for part in protocol.results_folders for template in part.folders]
    if kinds:
        there = [kind for kind in kinds if any(_suffix(f, kind) is not None for f in folders)]
        return sum(map(len, there))
    below = [child for folder in folders for child in subfolders(folder)]  # of a team
    named = [f.name for f in (results, *folders, *below) if f.name.startswith("results-")]
    endings = [
        p.suffix for p in protocol.results_folders if any(n.endswith(p.suffix) for n in named)
    ]
    models = [m.folder for m in protocol.asv_models if any(tree.glob(m.model_folder("*")))]
    return len(endings) + sum(map(len, [*endings, *models]))


def teams_without_systems(
    results: Path, systems: Iterable[System], protocol: Protocol
) -> list[Path]:
    """List the teams' folders of a collection without any system, also beside chosen `systems`."""
    if not (protocol.has_own_scoring and results.is_dir()):
        return []
    is_model = partial(_is_model, protocol)
    search = Search(protocol, None, [], [])
    exps = [_Exp(at, results, results, search) for at in walk(results, is_model, is_model)]
    holding = {exp.folder for exp in exps if exp.has_anonymized_speech()}
    holding |= {folder for s in systems for folder in s.folders}
    parts = [f.relative_to(results).parts for f in holding if f.is_relative_to(results)]
    if not any(e.folder != results and e.folder in holding for e in exps):
        return []
    others = [protocol.emotion_folder, *protocol.recognition.folders, *_OTHERS]
    names = {p[0] for p in parts if p} | {Path(other).parts[0] for other in others if other}
    return [
        folder
        for folder in subfolders(results)
        if not (is_model(folder) or folder.name in names or folder.name.startswith("keys-"))
    ]


def _is_model(protocol: Protocol, folder: Path) -> bool:
    templates = [template for part in protocol.results_folders for template in part.folders]
    return any(_suffix(folder, template) is not None for template in templates)


@dataclass(frozen=True, eq=False)
class _Exp:
    """A folder with folders of models.

    Attributes
    ----------
    results : Path
        The collection that it is in.
    data : Path
        Data folders, with what was spoken.
    """

    folder: Path
    results: Path
    data: Path
    search: Search

    def name(self, suffix: str) -> str:
        """Return the name of a system: of its team and its suffix."""
        parts = self.folder.relative_to(self.results).parts
        team = [part for part in parts if not _NAMELESS.fullmatch(part)]
        return "/".join([*team, suffix.strip("._+-") or suffix])

    @cached_property
    def models(self) -> list[tuple[ResultsFolder, list[Path]]]:
        """Each results folder of the protocol with the existing folders of its models."""
        folders = subfolders(self.folder)
        return [
            (part, [f for f in folders if any(_suffix(f, t) is not None for t in part.folders)])
            for part in self.search.protocol.results_folders
        ]

    @cached_property
    def suffixes(self) -> list[str]:
        """The suffixes of anonymized speech, in names of models' folders and their conditions."""
        suffixes: set[str] = set()
        sets = [f"{t.enrollment_name}-{t.trials_name}" for t in self.search.protocol.trial_sets()]
        for part, folders in self.models:
            for folder in folders:
                suffixes |= {_suffix(folder, template) or "" for template in part.folders}
                names = [child.name for child in _children(folder)]
                suffixes |= {n.removeprefix(s) for n in names for s in sets if n.startswith(s)}
                is_shared = part.asv_model == ORIGINAL and self.folder == self.results
                suffixes |= self.recorded if is_shared and checkpoints(folder) else set()
        return sorted(suffixes - {""})

    @property
    def recorded(self) -> set[str]:
        """The suffixes of data with recordings of both sides of trials."""
        protocol = self.search.protocol
        sides = [(t.enrollment_name, t.trials_name) for t in protocol.trial_sets()]

        def is_recorded(*names: str) -> bool:
            return all((self.data / name / "wav.scp").is_file() for name in names)

        suffixes = tree_suffixes(self.data.parent, protocol)
        return {s for s in suffixes if any(is_recorded(e + s, t + s) for e, t in sides)}

    def by_checkpoint(
        self, part: ResultsFolder, suffix: str, system: str
    ) -> Iterator[tuple[Path, Condition]]:
        """Yield the conditions that the checkpoint of a model can score, and their folders."""
        protocol = self.search.protocol
        if not protocol.speaker_vectors:
            return
        there = self.conditions(part, suffix)
        models = {t: self.folder / t.replace(SUFFIX, suffix) for t in part.folders}
        able = [template for template, model in models.items() if checkpoints(model)]
        for c in trial_conditions(protocol, part, suffix, system).values() if able else ():
            own = [t for t in part.folders if t.endswith(f"_{c.data_set}{SUFFIX}")]
            template = (own or part.folders)[0]
            if template in able:
                name = c.name.removeprefix("ASV-")
                yield there.get(name, models[template] / name), c

    def has_attacker(self, suffix: str) -> bool:
        """Whether there is an attacker's model trained on the anonymized speech of a suffix."""
        return any(
            _suffix(folder, template) == suffix
            for part, folders in self.models
            for folder in folders
            for template in part.folders
        )

    def conditions(self, part: ResultsFolder, suffix: str) -> dict[str, Path]:
        """Return the folders of a model's conditions by name."""
        names = {template.replace(SUFFIX, suffix) for template in part.folders}
        folders = next(folders for p, folders in self.models if p == part)
        of_models = [_children(folder) for folder in folders if folder.name in names]
        return {child.name: child for children in of_models for child in children}

    def has_anonymized_speech(self) -> bool:
        """Whether there are conditions of anonymized speech of any suffix."""
        return any(
            condition.trial == ANONYMIZED and name.removeprefix("ASV-") in present
            for suffix in self.suffixes
            for part, _ in self.models
            for present in [self.conditions(part, suffix)]
            for name, condition in trial_conditions(self.search.protocol, part, suffix).items()
        )

    def recognition(self, name: str) -> Path | None:
        """Return the folder of a decoded set."""
        places = [self.folder / p / name for p in self.search.protocol.recognition.folders]
        return next((folder for folder in places if folder.is_dir()), None)

    def emotion(self, suffix: str) -> Path | None:
        """Return the table of emotion recognition, if there is one."""
        folder = self.search.protocol.emotion_folder
        forms = ("results_folds", "results") if folder else ()
        return first_file(self.folder / folder / f"{form}{suffix}.csv" for form in forms)


def _build(name: str, suffix: str, around: Sequence[_Exp], *, is_only: bool) -> System:
    """Build a system of its own folder, and of those above it in what it shares with others:
    results of original speech, and those of its suffix if it is the only one that has it."""
    exp, search = around[0], around[0].search
    protocol = search.protocol
    conditions: list[ConditionFiles] = []
    for part in protocol.results_folders:
        there = [e.conditions(part, suffix) for e in around]
        for condition in trial_conditions(protocol, part, suffix, name).values():
            shares = is_only or (condition.is_original and part.asv_model == ORIGINAL)
            at = condition.name.removeprefix("ASV-")
            folder = next((p[at] for p in (there if shares else there[:1]) if at in p), None)
            if folder is not None:
                conditions += search.files_by_attacker(condition, folder)
    original = next(p for p in protocol.results_folders if p.asv_model != ANONYMIZED)
    recognition: list[RecognitionFiles] = []
    for decoded in recognition_conditions(protocol, original, suffix, name).values():
        shared = around if is_only or decoded.trial == ORIGINAL else around[:1]
        decodings = (e.recognition(decoded.name.removeprefix("ASR-")) for e in shared)
        folder = next((f for f in decodings if f is not None), None)
        if folder is not None:
            recognition.append(recognized_set(decoded, folder, exp.data, suffix, search))
    tables = (e.emotion(suffix) for e in (around if is_only else around[:1]))
    emotion = [EmotionFiles(p, paths_outside([p], search.roots)) for p in tables if p is not None]
    own = tuple(around if is_only else around[:1])
    by_checkpoint = {
        condition.label: (folder, condition)  # of the nearest model
        for one, part in itertools.product(reversed(own), protocol.results_folders)
        for folder, condition in one.by_checkpoint(part, suffix, name)
    }
    places = [files.folder.parent for files in conditions]
    folders = tuple(dict.fromkeys(places or (at.parent for at, _ in by_checkpoint.values())))
    return System(
        name,
        folders,
        suffix,
        tuple(conditions),
        tuple(recognition),
        emotion=tuple(emotion[:1]),
        exps=tuple(e.folder for e in own),
        original_exps=tuple(e.folder for e in around),
        by_checkpoint=tuple(by_checkpoint.values()),
    )


def recognized_set(
    decoded: Condition, folder: Path, data: Path, suffix: str, search: Search
) -> RecognitionFiles:
    """Find the files of a recognized set, whose references are below `data`; an anonymized set
    without its own reference has the original one's."""
    names = dict.fromkeys((folder.name, folder.name.removesuffix(suffix)))
    reference = first_file(data / name / "text" for name in names)
    transcripts, spoken = None, list[Path | None]()
    if reference is not None and (folder / "text").is_file():
        utt2spk = first_file([reference.with_name("utt2spk")])
        is_rated = any(path.name.lower() == "wer" for path in folder.iterdir())
        protocol = search.protocol
        rules = {"normalization": protocol.recognition.normalization, "variant": protocol.variant}
        transcripts = Transcripts(folder / "text", reference, utt2spk, is_rated, rules)
        spoken = [reference, utt2spk]
    outside = paths_outside([folder, *sorted(folder.glob("*")), *spoken], search.roots)
    return RecognitionFiles(decoded, folder, outside, transcripts)


def _suffix(folder: Path, template: str) -> str | None:
    """The suffix in the name of a folder of this form, "" if it has none; None of other forms."""
    match = re.fullmatch(re.escape(template).replace(re.escape(SUFFIX), "(.+)"), folder.name)
    return None if match is None else "".join(match.groups())


def _children(folder: Path) -> Iterable[Path]:
    """The folders of a model's conditions; VoicePAT's, unless there is one of the same name above.
    Speaker vectors are below `cosine_out`, wherever the scores are."""
    below = folder / _VOICEPAT
    children = [*(subfolders(below) if below.is_dir() else ()), *subfolders(folder)]
    return {child.name: child for child in children}.values()
