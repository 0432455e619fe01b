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

from .config import ANONYMIZED, ORIGINAL, Config, ResultsFolder, TrialSet
from .errors import PrivacyEvalError, some

_RESULTS = "results-"
# Hidden folders, and what archives made by macOS hold beside their contents.
_IGNORED = (".", "__MACOSX")
# How many levels below a collection are looked into; through links fewer, which may lead anywhere.
_DEPTH, _LINKED_DEPTH = 8, 3


@dataclass(frozen=True)
class Condition:
    """One set of verification scores and what it compares.

    Attributes
    ----------
    system : str
    results_folder : str
        Suffix of the results folder it stands in, "" for the main one.
    name : str
        The condition's folder, `ASV-<enrollment set>-<trial set>`.
    data_set, split, gender : str
        Ids of the plan.
    enrollment, trial, asv_model : str
        `original` or `anonymized`: the speech enrolled and tried, and what the
        speaker-verification model was trained on.
    attack_model : str or None
        Id of the plan's attack model this is, if it is one.
    enrollment_set, trial_set : str
        Names of the data folders.
    folder : Path
    scores : Path or None
        The score file; None where the folder has none.
    trials : Path or None
        The trial key; None where none was found among `keys_tried`.
    keys_tried : tuple of Path
    utt2spk : Path or None
        Speakers of the trial utterances: beside the trial key, or in `data/`.
    outside : tuple of Path
        Which of these are links that lead out of the tree and the results.
    """

    system: str
    results_folder: str
    name: str
    data_set: str
    split: str
    gender: str
    enrollment: str
    trial: str
    asv_model: str
    attack_model: str | None
    enrollment_set: str
    trial_set: str
    folder: Path
    scores: Path | None
    trials: Path | None
    keys_tried: tuple[Path, ...]
    utt2spk: Path | None
    outside: tuple[Path, ...]


@dataclass(frozen=True)
class RecognitionFolder:
    """One `ASR-<set>` folder with word error rates."""

    system: str
    results_folder: str
    name: str
    data_set: str
    split: str
    speech: str
    path: Path
    outside: tuple[Path, ...]


@dataclass(frozen=True)
class System:
    """All that belongs to one system.

    Attributes
    ----------
    name : str
    folders : tuple of Path
        Its results folders.
    anon_suffix : str
        What marks anonymized sets in its folder names.
    conditions : tuple of Condition
    recognition : tuple of RecognitionFolder
    unknown : tuple of Path
        `ASV-*` and `ASR-*` folders that the plan has no place for.
    problem : str or None
        Why its conditions are probably not what was meant: none of anonymized speech,
        but unknown ones, so that its anonymized sets must be marked otherwise.
    """

    name: str
    folders: tuple[Path, ...]
    anon_suffix: str
    conditions: tuple[Condition, ...]
    recognition: tuple[RecognitionFolder, ...]
    unknown: tuple[Path, ...]
    problem: str | None

    @property
    def parts(self) -> set[str]:
        """Suffixes of the plan's results folders that it has."""
        conditions = {c.results_folder for c in self.conditions}
        return conditions | {r.results_folder for r in self.recognition}

    def missing(self, config: Config) -> list[str]:
        """Names of the plan's conditions that have no scores, each with its results
        folder's suffix."""
        there = {(c.results_folder, c.name) for c in self.conditions if c.scores is not None}
        wanted = [
            (folder.suffix, name)
            for folder in config.results_folders
            for name in _condition_names(config, [self.anon_suffix])
        ]
        return [
            f"{name} ({suffix})" if suffix else name
            for suffix, name in wanted
            if (suffix, name) not in there
        ]


@dataclass(frozen=True)
class NamedComparison:
    """A comparison of the plan on one trial set, under a suffix for anonymized sets."""

    trial_set: TrialSet
    enrollment: str
    trial: str
    anon_suffix: str

    @property
    def enrollment_name(self) -> str:
        name = self.trial_set.enrollment_name
        return name + self.anon_suffix if self.enrollment == ANONYMIZED else name

    @property
    def trial_name(self) -> str:
        name = self.trial_set.trials_name
        return name + self.anon_suffix if self.trial == ANONYMIZED else name


def find_systems(
    tree: Path,
    results: Path,
    config: Config,
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
    found = _results_folders(results, config)
    key_folders = _key_folders(tree, results) if keys is None else [keys]
    data = tree / "data" if keys is None else None
    roots = [] if allow_outside else [p.resolve() for p in (tree, results, keys) if p is not None]
    systems: list[System] = []
    for base_name, parts in _by_system(found, results, config):
        suffixes = _anon_suffixes(parts, config, anon_suffix)
        systems += _systems_of(base_name, parts, config, suffixes, data, key_folders, roots)
    _check_names(systems)
    if name is not None and len(systems) == 1:
        only = systems[0]
        systems = [
            replace(
                only,
                name=name,
                conditions=tuple(replace(c, system=name) for c in only.conditions),
                recognition=tuple(replace(r, system=name) for r in only.recognition),
            )
        ]
    elif name is not None and systems:
        names = ", ".join(sorted(s.name for s in systems))
        systems = [s for s in systems if s.name == name]
        if not systems:
            raise PrivacyEvalError(f"{results}: no system {name!r} there, only {names}")
    return sorted(systems, key=lambda s: s.name)


def named_comparisons(config: Config, anon_suffix: str) -> dict[str, NamedComparison]:
    """Every condition of the plan by its folder's name, `ASV-...`."""
    return _condition_names(config, [anon_suffix])


def results_folders(
    system: System | None,
    results: Path,
    config: Config,
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
        base, _ = _split_suffix(system.folders[0], config)
        first = system.folders[0].with_name(base)
    elif results.name.startswith(_RESULTS):
        first = results
    else:
        first = results / f"{_RESULTS}{name or anon_suffix.strip('._+-') or 'asv'}"
    return [(first.with_name(first.name + part.suffix), part) for part in config.results_folders]


def trial_keys(
    meaning: NamedComparison, config: Config, tree: Path, results: Path, keys: Path | None
) -> tuple[Path | None, list[Path]]:
    """The key of a comparison's trials, and where it was looked for."""
    bases = [folder for folder in (tree, results) if folder.is_dir()]
    folders = _key_folders(*bases) if keys is None else [keys]
    tried = _key_paths(meaning, config, tree / "data" if keys is None else None, folders)
    return _first_file(tried), tried


def condition_meaning(config: Config, folder_name: str, anon_suffix: str) -> NamedComparison | None:
    """What a folder name `ASV-...` compares under one suffix for anonymized sets."""
    return _condition_names(config, [anon_suffix]).get(folder_name)


def recognition_meaning(
    config: Config, folder_name: str, anon_suffix: str
) -> tuple[str, str, str] | None:
    """Data set, split and speech of a folder name `ASR-...`."""
    return _recognition_names(config, [anon_suffix]).get(folder_name)


def _condition_names(config: Config, suffixes: Iterable[str]) -> dict[str, NamedComparison]:
    names: dict[str, NamedComparison] = {}
    for suffix in suffixes:
        for trial_set in config.trial_sets():
            for comparison in config.comparisons:
                one = NamedComparison(trial_set, comparison.enrollment, comparison.trial, suffix)
                names.setdefault(f"ASV-{one.enrollment_name}-{one.trial_name}", one)
    return names


def _recognition_names(config: Config, suffixes: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    names: dict[str, tuple[str, str, str]] = {}
    for suffix in suffixes:
        for split in config.splits:
            for data_set in config.recognition.data_sets:
                name = data_set.set_name(split)
                names.setdefault(f"ASR-{name}", (data_set.id, split, ORIGINAL))
                names.setdefault(f"ASR-{name}{suffix}", (data_set.id, split, ANONYMIZED))
    return names


def _anonymized_names(config: Config, suffix: str) -> set[str]:
    """Folder names that only a system with this suffix has."""
    conditions = _condition_names(config, [suffix]).items()
    decoded = _recognition_names(config, [suffix]).items()
    return {
        *(name for name, meaning in conditions if meaning.trial == ANONYMIZED),
        *(name for name, (_, _, speech) in decoded if speech == ANONYMIZED),
    }


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [folder / e.name for e in entries if e.is_symlink() or e.is_dir()]
        return sorted(p for p in found if p.is_dir() and not p.name.startswith(_IGNORED))
    except OSError as error:
        raise PrivacyEvalError(f"{folder}: cannot be read ({error.strerror})") from error


def _holds_conditions(folders: Iterable[Path]) -> bool:
    return any(folder.name.startswith(("ASV-", "ASR-")) for folder in folders)


def _results_folders(results: Path, config: Config) -> list[Path]:
    """Every folder that holds conditions: `results` with those beside it that belong to the
    same system, or those below it."""
    own = [p for p in _subfolders(results) if _holds_conditions([p])]
    if own and results.name.startswith(_RESULTS):
        below = []
    else:
        below = [folder for folder in _walk(results) if folder != results]
    if own and below:
        raise PrivacyEvalError(
            f"{results}: holds {some([p.name for p in own])} as the results of one system do, but "
            f"also results of others below it: {some([str(p) for p in below])}. Name one of them "
            f"with --results, or put what is {results.name}'s own into a folder {_RESULTS}TAG"
        )
    if not own:
        return below
    beside = [
        results.with_name(results.name + f.suffix) for f in config.results_folders if f.suffix
    ]
    return [results, *(p for p in beside if p.is_dir() and _holds_conditions(_subfolders(p)))]


def _walk(folder: Path, level: int = 0, *, linked: bool = False) -> Iterator[Path]:
    """A folder and those below it that hold conditions."""
    below = _subfolders(folder)
    if _holds_conditions(below):
        yield folder
    for child in below:
        if folder.name.startswith(_RESULTS) and _holds_conditions([child]):
            continue  # a condition: nobody's results are in it
        is_linked = linked or child.is_symlink()
        if level < (_LINKED_DEPTH if is_linked else _DEPTH):
            yield from _walk(child, level + 1, linked=is_linked)


def _split_suffix(folder: Path, config: Config) -> tuple[str, ResultsFolder]:
    """A results folder's name without the plan's suffix, and which of the plan's
    folders it is."""
    for part in sorted(config.results_folders, key=lambda f: -len(f.suffix)):
        if part.suffix and folder.name.endswith(part.suffix):
            return folder.name.removesuffix(part.suffix), part
    main = next((f for f in config.results_folders if not f.suffix), config.results_folders[0])
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
    used: bool, suffix: str, unknown: tuple[Path, ...], config: Config
) -> str | None:
    sets = list(config.trial_sets())
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
        f"{len(strange)} folders are no conditions of the plan {config.name}: "
        f"{some([p.name for p in strange])}"
    )


def _by_system(found: list[Path], results: Path, config: Config) -> list[tuple[str, Parts]]:
    """Results folders grouped into systems, with the systems' names."""
    grouped: dict[tuple[Path, str], Parts] = {}
    for folder in found:
        base, part = _split_suffix(folder, config)
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


def _anon_suffixes(parts: Parts, config: Config, given: str | None) -> list[str]:
    """What may mark anonymized sets in these folders."""
    if given is not None:
        return [given]
    own = (suffix for folder, _ in parts for suffix in folder_suffixes(folder, config))
    return list(dict.fromkeys((config.anon_suffix, *own)))


def folder_suffixes(folder: Path, config: Config) -> list[str]:
    """The suffix for anonymized sets that a folder's name `results-TAG_SUFFIX` gives."""
    base, _ = _split_suffix(folder, config)
    _, underscore, own = base.removeprefix(_RESULTS).partition("_")
    return [underscore + own] if own else []


def likely_suffix(suffixes: list[str], config: Config, tree: Path | None) -> str:
    """Of what may mark anonymized sets, the last that marks data sets of a tree; the first
    where none does."""
    names = [n for t in config.trial_sets() for n in (t.trials_name, t.enrollment_name)]
    names += [holder for name in names for holder in config.holders(name)]
    for suffix in reversed(suffixes):
        if tree is not None and any((tree / "data" / f"{n}{suffix}").is_dir() for n in names):
            return suffix
    return suffixes[0]


def _systems_of(
    name: str,
    parts: Parts,
    config: Config,
    suffixes: list[str],
    data: Path | None,
    key_folders: list[Path],
    roots: list[Path],
) -> list[System]:
    """The one system of some results folders, or one per suffix that occurs in them."""
    meanings = _condition_names(config, suffixes)
    decoded = _recognition_names(config, suffixes)
    children = [(child, part) for folder, part in parts for child in _subfolders(folder)]
    there = {child.name for child, _ in children}
    used = [suffix for suffix in suffixes if there & _anonymized_names(config, suffix)]
    found = bool(used)
    tree = data.parent if data is not None else None
    used = used or [likely_suffix(suffixes, config, tree)]
    unknown = tuple(
        child
        for child, _ in children
        if child.name.startswith(("ASV-", "ASR-"))
        and child.name not in meanings
        and child.name not in decoded
    )
    systems = []
    for suffix in used:
        own = name if len(used) == 1 else f"{name}{suffix}"
        own_meanings = _condition_names(config, [suffix])
        own_decoded = _recognition_names(config, [suffix])
        systems.append(
            System(
                name=own,
                folders=tuple(folder for folder, _ in parts),
                anon_suffix=suffix,
                conditions=tuple(
                    _condition(
                        own, child, part, own_meanings[child.name], config, data, key_folders, roots
                    )
                    for child, part in children
                    if child.name in own_meanings
                ),
                recognition=tuple(
                    RecognitionFolder(
                        own,
                        part.suffix,
                        child.name,
                        *own_decoded[child.name],
                        path=child,
                        outside=outside_of([child, *sorted(child.glob("*"))], roots),
                    )
                    for child, part in children
                    if child.name in own_decoded
                ),
                unknown=unknown,
                problem=_suffix_problem(found, suffix, unknown, config),
            )
        )
    return systems


def _condition(
    system: str,
    folder: Path,
    part: ResultsFolder,
    meaning: NamedComparison,
    config: Config,
    data: Path | None,
    key_folders: list[Path],
    roots: list[Path],
) -> Condition:
    tried = _key_paths(meaning, config, data, key_folders)
    key = _first_file(tried)
    holders = [f for f in key_folders if key is not None and f in key.parents]
    if holders and any(
        path.is_file()
        and holders[0] not in path.parents
        and (data is None or data not in path.parents)
        for path in tried
    ):
        folders = ", ".join(str(f) for f in key_folders)
        raise PrivacyEvalError(
            f"{meaning.trial_name}: several of {folders} have a trial key; choose one with --keys"
        )
    scores = [folder / "scores", folder / "scores.gz"]
    data_folders = [path.parent for path in tried if data is not None and data in path.parents]
    beside = [folder for folder in (key.parent if key else None, *data_folders) if folder]
    utt2spk = _first_file([folder / "utt2spk" for folder in beside])
    return Condition(
        system=system,
        results_folder=part.suffix,
        name=folder.name,
        data_set=meaning.trial_set.data_set.id,
        split=meaning.trial_set.split,
        gender=meaning.trial_set.gender,
        enrollment=meaning.enrollment,
        trial=meaning.trial,
        asv_model=part.asv_model,
        attack_model=config.attack_model(meaning.enrollment, meaning.trial, part.asv_model),
        enrollment_set=meaning.enrollment_name,
        trial_set=meaning.trial_name,
        folder=folder,
        scores=_first_file(scores),
        trials=key,
        keys_tried=tuple(tried),
        utt2spk=utt2spk,
        outside=outside_of([_first_file(scores), key, utt2spk], roots),
    )


def _key_paths(
    meaning: NamedComparison, config: Config, data: Path | None, key_folders: list[Path]
) -> list[Path]:
    """Where the trial key may be: the trial set itself, its usual anonymized copy, the
    original set; in `data/`, then in keys folders under either naming."""
    suffixes = [""]
    if meaning.trial == ANONYMIZED:
        suffixes = list(dict.fromkeys((meaning.anon_suffix, config.anon_suffix, "")))
    usual, names = meaning.trial_set.trials_name, meaning.trial_set.key_names
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


def outside_of(paths: Iterable[Path | None], roots: list[Path]) -> tuple[Path, ...]:
    """Which paths lead to none of the roots; none do where there are no roots."""
    return tuple(
        path
        for path in paths
        if path is not None
        and roots
        and not any(Path(os.path.realpath(path)).is_relative_to(root) for root in roots)
    )


def leaves_tree(path: Path) -> str:
    """What to say of a path among those `outside`."""
    return (
        f"{path}: leads out of the tree and the results to {path.resolve()}; --allow-outside "
        "reads it all the same"
    )


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


def score_file(condition: Condition) -> Path:
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


def no_scores(condition: Condition) -> str:
    """What to say of a condition without a score file."""
    near = sorted(p.name for p in condition.folder.glob("*") if p.name.lower().startswith("score"))
    text = f"{condition.system}: the folder {condition.name} holds no file `scores`"
    if {"scores", "scores.gz"} & set(near):
        return f"{text}: what is called so is none"
    return f"{text}; is it {some(near)}?" if near else text


def _first_file(paths: list[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _key_folders(*bases: Path) -> list[Path]:
    """Folders `keys-*` of the tree and of a collection."""
    folders = {
        path.resolve(): path
        for base in bases
        for path in _subfolders(base)
        if path.name.startswith("keys-")
    }
    return sorted(folders.values())
