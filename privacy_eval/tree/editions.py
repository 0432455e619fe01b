"""Find systems in an `exp/` of VoicePrivacy 2024 and 2026: folders of models, shared by systems.

* `exp/asv_anon<SUFFIX>/<enrollment set>-<trial set>/scores`: attacker's model of one system;
* `exp/asv_orig/...`: model trained on original speech, of all systems;
* `exp/asr/<set>/wer`, `exp/ser/results_folds<SUFFIX>.csv`: recognition and emotions.

VoicePAT has a folder `cosine_out` in between. In a collection, each team has such folders of its
own, `exp/<team>/asv_anon<SUFFIX>`; what they lack may be in the folders above, for all teams.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from ..io.confine import paths_outside
from ..protocol.protocol import (
    ANONYMIZED,
    ORIGINAL,
    Protocol,
    ResultsFolder,
    bundled,
    load_protocol,
)
from .conditions import (
    ConditionFiles,
    EmotionFiles,
    RecognitionCondition,
    RecognitionFiles,
    System,
    Transcripts,
    recognition_conditions,
    trial_conditions,
)
from .keys import Search, first_file, subfolders, walk

_SUFFIX = "{suffix}"
_VOICEPAT = "cosine_out"

#: Beginnings of folders' names that do not name a team: those of the challenge and its zips.
_NAMELESS = re.compile(r"exp|result_for_submission.*")

#: Folders of an `exp/` besides those that the protocol names, and the output of this program.
_OTHERS = ("results_summary", "models", "privacy_eval")


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
            name = (
                name if names[name] == 1 else (exp.folder.relative_to(results) / suffix).as_posix()
            )
            system = _build(name, suffix, around, is_only=owners[suffix] == 1)
            if any(files.condition.trial == ANONYMIZED for files in system.conditions):
                systems.append(system)
    return systems


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
        """The suffixes of anonymized speech."""
        return _candidates(self.models, self.search.protocol)

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
        names = {template.replace(_SUFFIX, suffix) for template in part.folders}
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
        places = [e.conditions(part, suffix) for e in around]
        for condition in trial_conditions(protocol, part, suffix, name).values():
            shares = is_only or (condition.is_original and part.asv_model == ORIGINAL)
            at = condition.name.removeprefix("ASV-")
            folder = next((p[at] for p in (places if shares else places[:1]) if at in p), None)
            if folder is not None:
                conditions += search.files_by_attacker(condition, folder)
    original = next(p for p in protocol.results_folders if p.asv_model != ANONYMIZED)
    recognition: list[RecognitionFiles] = []
    for decoded in recognition_conditions(protocol, original, suffix, name).values():
        shared = around if is_only or decoded.speech == ORIGINAL else around[:1]
        decodings = (e.recognition(decoded.name.removeprefix("ASR-")) for e in shared)
        folder = next((f for f in decodings if f is not None), None)
        if folder is not None:
            recognition.append(recognized_set(decoded, folder, exp.data, suffix, search))
    tables = (e.emotion(suffix) for e in (around if is_only else around[:1]))
    emotion = [EmotionFiles(p, paths_outside([p], search.roots)) for p in tables if p is not None]
    folders = tuple(dict.fromkeys(files.folder.parent for files in conditions))
    return System(
        name,
        folders,
        suffix,
        tuple(conditions),
        tuple(recognition),
        emotion=tuple(emotion[:1]),
        exps=tuple(e.folder for e in (around if is_only else around[:1])),
        original_exps=tuple(e.folder for e in around),
    )


def recognized_set(
    decoded: RecognitionCondition, folder: Path, data: Path, suffix: str, search: Search
) -> RecognitionFiles:
    """Find the files of a recognized set, whose references are below `data`."""
    transcripts = _transcripts(folder, data, suffix, search.protocol)
    spoken = [] if transcripts is None else [transcripts.reference, transcripts.utt2spk]
    outside = paths_outside([folder, *sorted(folder.glob("*")), *spoken], search.roots)
    return RecognitionFiles(decoded, folder, outside, transcripts)


def _transcripts(folder: Path, data: Path, suffix: str, protocol: Protocol) -> Transcripts | None:
    """Find the transcripts of a set; an anonymized one without its own reference has the original
    one's."""
    names = dict.fromkeys((folder.name, folder.name.removesuffix(suffix)))
    reference = first_file(data / name / "text" for name in names)
    if reference is None or not (folder / "text").is_file():
        return None
    utt2spk = first_file([reference.with_name("utt2spk")])
    is_rated = any(path.name.lower() == "wer" for path in folder.iterdir())
    rules = {"normalization": protocol.recognition.normalization, "variant": protocol.variant}
    return Transcripts(folder / "text", reference, utt2spk, is_rated, rules)


def _suffix(folder: Path, template: str) -> str | None:
    """The suffix in the name of a folder of this form, "" if it has none; None of other forms."""
    match = re.fullmatch(re.escape(template).replace(re.escape(_SUFFIX), "(.+)"), folder.name)
    return None if match is None else "".join(match.groups())


def _children(folder: Path) -> Iterable[Path]:
    """The folders of a model's conditions; VoicePAT's, unless there is one of the same name above.
    Speaker vectors are below `cosine_out`, wherever the scores are."""
    below = folder / _VOICEPAT
    children = [*(subfolders(below) if below.is_dir() else ()), *subfolders(folder)]
    return {child.name: child for child in children}.values()


def _candidates(
    places: Sequence[tuple[ResultsFolder, list[Path]]], protocol: Protocol
) -> list[str]:
    """List the suffixes in names of models' folders and of their conditions."""
    suffixes: set[str] = set()
    sets = [f"{t.enrollment_name}-{t.trials_name}" for t in protocol.trial_sets()]
    for part, folders in places:
        for folder in folders:
            suffixes |= {_suffix(folder, template) or "" for template in part.folders}
            names = [child.name for child in _children(folder)]
            suffixes |= {n.removeprefix(s) for n in names for s in sets if n.startswith(s)}
    return sorted(suffixes - {""})
