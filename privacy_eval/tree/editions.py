"""Find systems in an `exp/` of VoicePrivacy 2024 and 2026: folders of models, shared by systems.

* `exp/asv_anon<SUFFIX>/<enrollment set>-<trial set>/scores`: attacker's model of one system;
* `exp/asv_orig/...`: model trained on original speech, of all systems;
* `exp/asr/<set>/wer`, `exp/ser/results_folds<SUFFIX>.csv`: recognition and emotions.

VoicePAT has a folder `cosine_out` in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..protocol.protocol import ANONYMIZED, Protocol, ResultsFolder
from .conditions import (
    EmotionFiles,
    RecognitionFiles,
    System,
    Transcripts,
    TrialCondition,
    recognition_conditions,
    trial_conditions,
)
from .keys import Search, first_file, subfolders

_SUFFIX = "{suffix}"
_VOICEPAT = "cosine_out"


def edition_systems(
    exp: Path, data: Path, suffixes: Sequence[str] | None, search: Search
) -> list[System]:
    """Find the systems of an `exp/`, one for each anonymization suffix.

    Parameters
    ----------
    data : Path
        Data folders, with what was spoken.
    suffixes : sequence of str or None
        By default all that any folder has anonymized speech of.
    """
    protocol = search.protocol
    places = list(_places(exp, protocol))
    wanted = dict.fromkeys(suffixes or _candidates(places, protocol))
    systems = []
    for suffix in wanted:
        name = suffix.strip("._+-") or suffix
        conditions = [
            search.files(condition, folder)
            for part, places_of in places
            for condition, folder in _conditions(places_of, part, protocol, suffix, name)
        ]
        if not any(files.condition.trial == ANONYMIZED for files in conditions):
            continue
        folders = tuple(dict.fromkeys(files.folder.parent for files in conditions))
        original = next(p for p in protocol.results_folders if p.asv_model != ANONYMIZED)
        recognition = tuple(
            RecognitionFiles(decoded, folder, search.outside(paths), transcripts)
            for place in protocol.recognition.folders
            for decoded in recognition_conditions(protocol, original, suffix, name).values()
            for folder in [exp / place / decoded.name.removeprefix("ASR-")]
            if folder.is_dir()
            for transcripts in [_transcripts(folder, data, suffix, protocol)]
            for paths in [[folder, *sorted(folder.glob("*")), *_spoken(transcripts)]]
        )
        emotion = tuple(
            EmotionFiles(path, search.outside([path]))
            for form in ("results_folds", "results")
            for path in [exp / protocol.emotion_folder / f"{form}{suffix}.csv"]
            if protocol.emotion_folder and path.is_file()
        )
        systems.append(
            System(name, folders, suffix, tuple(conditions), recognition, (), None, emotion[:1])
        )
    return systems


def _transcripts(folder: Path, data: Path, suffix: str, protocol: Protocol) -> Transcripts | None:
    """Find the transcripts of a set; an anonymized one without its own reference has the original
    one's."""
    names = dict.fromkeys((folder.name, folder.name.removesuffix(suffix)))
    reference = first_file(data / name / "text" for name in names)
    if reference is None or not (folder / "text").is_file():
        return None
    utt2spk = first_file([reference.with_name("utt2spk")])
    is_rated = any(path.name.lower() == "wer" for path in folder.iterdir())
    normalization = protocol.recognition.normalization
    return Transcripts(folder / "text", reference, utt2spk, is_rated, normalization)


def _spoken(transcripts: Transcripts | None) -> list[Path]:
    paths = [] if transcripts is None else [transcripts.reference, transcripts.utt2spk]
    return [path for path in paths if path is not None]


def _places(exp: Path, protocol: Protocol) -> Iterator[tuple[ResultsFolder, list[Path]]]:
    """Yield each results folder with the existing folders of its models."""
    for part in protocol.results_folders:
        folders = subfolders(exp)
        yield part, [f for f in folders if any(_suffix(f, t) is not None for t in part.folders)]


def _suffix(folder: Path, template: str) -> str | None:
    """The suffix in the name of a folder of this form, "" if it has none; None of other forms."""
    match = re.fullmatch(re.escape(template).replace(re.escape(_SUFFIX), "(.+)"), folder.name)
    return None if match is None else "".join(match.groups())


def _conditions(
    folders: Sequence[Path], part: ResultsFolder, protocol: Protocol, suffix: str, system: str
) -> Iterator[tuple[TrialCondition, Path]]:
    """Yield the conditions in the folders of a system's models."""
    names = {template.replace(_SUFFIX, suffix) for template in part.folders}
    by_name = trial_conditions(protocol, part, suffix, system)
    for folder in folders:
        if folder.name not in names:
            continue
        for child in _children(folder):
            condition = by_name.get(f"ASV-{child.name}")
            if condition is not None:
                yield condition, child


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
