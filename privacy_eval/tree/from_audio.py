"""Create an experiment tree from folders of audio: data folders, trials and a protocol.

The first n utterances of every speaker, sorted by id, are enrollment utterances; the others are
trials against every speaker of the same gender, or against all if no genders are given. Back ends
are trained on the training speech, which is of other speakers.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..asv.tree_vectors import BACKEND_FILES
from ..errors import PrivacyEvalError, abbreviate
from ..io.confine import paths_outside
from ..io.data_dir import SPEAKER_GENDERS, read_spk2gender, read_utt2spk
from ..io.files import atomic_path, read_bytes, relative
from ..io.kaldi_objects import CONTROL
from ..io.transcripts import read_transcripts

#: The protocol and the model folder in the new tree.
PROTOCOL, MODEL = "protocol.yaml", "exp/models/asv"
ANON_SUFFIX = "_anon"
#: Files of an x-vector extractor, the required one first.
EXTRACTOR_FILES = ("final.raw", "extract.config", "min_chunk_size", "max_chunk_size")

_AUDIO = (".wav", ".flac")
_ENROLLMENT, _TRAINING = "speech_enrolls", "speech_train"
#: Id and title of the trials of all speakers.
_EVERYONE = {"all": "all"}
_TITLES = {"f": "female", "m": "male"}

_PROTOCOL_TEXT = """\
# Written by privacy-eval data-dir. The trials:
#   enrollment: of every speaker, {rule}, sorted by id;
#   trials: every other utterance against every enrolled speaker{of_gender}.
# The back end of the attacker {trained}.
extends: {parent}
name: speech
title: Speech
anon_suffix: {suffix}
splits: [test]
split_titles: {{test: Test set}}
genders: {genders}
data_sets:
  - id: speech
    title: Speech
    row: speech
    enrollment: {enrollment}
    trials: speech_trials_{{gender}}
    weight: 1
data_folders: []
table_rows: [speech]
asv_models:
  - {{trained_on: original, folder: {model}, training_set: {training}}}
{anonymized_model}recognition:
  data_sets: []
  language_models: {{large: tglarge}}
  models: {{}}
  average: large
"""


@dataclass(frozen=True)
class AudioFolders:
    """Audio folders and lists to create a tree from.

    Attributes
    ----------
    original, utt2spk : Path
        Evaluation audio, named by utterance id, and its speakers.
    anonymized : Path, optional
        The same utterances, anonymized. If it also contains the training utterances, a
        semi-informed attacker is evaluated.
    spk2gender : Path, optional
        Without it, trials are against all speakers.
    enroll : int, optional
        Enrollment utterances per speaker; by default half of them.
    training, training_utt2spk : Path, optional
        Speech of other speakers to train the back ends on.
    model : Path, optional
        Folder of an x-vector extractor, and of its back end if there is no training speech.
    text : Path, optional
        What is said in the evaluation audio, as Kaldi's `text`.
    """

    original: Path
    utt2spk: Path
    anonymized: Path | None = None
    spk2gender: Path | None = None
    enroll: int | None = None
    training: Path | None = None
    training_utt2spk: Path | None = None
    model: Path | None = None
    text: Path | None = None


@dataclass(frozen=True)
class NewTree:
    """Summary of a new tree.

    Attributes
    ----------
    made : bool
        False if it already existed.
    sets : mapping
        Numbers of speakers and utterances of its data folders.
    is_anonymized, is_trained : bool
        Whether it holds anonymized speech, and training speech.
    is_outside : bool
        Whether audio is outside the tree.
    """

    made: bool
    sets: Mapping[str, tuple[int, int]]
    is_anonymized: bool
    is_trained: bool
    is_outside: bool


@dataclass(frozen=True)
class _Set:
    """A data folder: the speaker of every utterance, sorted, and its enrollment or trial list."""

    speaker_of: Mapping[str, str]
    list: Mapping[str, bytes] = field(default_factory=dict)


def make_tree(tree: Path, source: AudioFolders) -> NewTree:
    """Write the data folders, trials and protocol of a tree; the audio is not copied.

    Raises
    ------
    PrivacyEvalError
        An utterance without audio or, if there are any, without transcript, audio of no utterance,
        two files of one utterance, a speaker
        with too few utterances or without gender, trials of only one speaker, training speech
        of an evaluated speaker; a path that a wav.scp cannot hold; other content in the tree.
    """
    speaker_of = dict(sorted(read_utt2spk(source.utt2spk).items()))
    gender_of = _genders(speaker_of, source)
    sets = _evaluation_sets(speaker_of, gender_of, source)
    original = _select(_audio_files(source.original), speaker_of, source.original)
    said = {} if source.text is None else read_transcripts(source.text)
    missing = [u for u in speaker_of if u not in said] if source.text is not None else []
    _refuse(missing, source.text or tree, "no transcript of utterances")
    training: Mapping[str, str] = {}
    if source.training is not None and source.training_utt2spk is not None:
        training = dict(sorted(read_utt2spk(source.training_utt2spk).items()))
        _refuse_shared(speaker_of, training, source.training_utt2spk)
        original |= _select(_audio_files(source.training), training, source.training)
        sets[_TRAINING] = _Set(training)
    audio = {"": original}
    is_informed = bool(training)
    if source.anonymized is not None:
        anonymized = _audio_files(source.anonymized)
        is_informed = not training.keys().isdisjoint(anonymized)
        needed = {**speaker_of, **training} if is_informed else speaker_of
        audio[ANON_SUFFIX] = _select(anonymized, needed, source.anonymized)

    tree = Path(os.path.abspath(tree))
    files: dict[str, bytes] = {}
    for suffix, paths in audio.items():
        for name, members in sets.items():
            if members.speaker_of.keys() <= paths.keys():
                files |= _data_folder(f"data/{name}{suffix}", members, gender_of, paths, tree)
                if not suffix and members.speaker_of.keys() <= said.keys():
                    lines = (f"{u} {said[u].strip()}".strip() for u in members.speaker_of)
                    files[f"data/{name}/text"] = _lines(lines)
    files |= _model_files(source)
    files[PROTOCOL] = _protocol(source, gender_of, is_informed).encode()
    everything = [path for paths in audio.values() for path in paths.values()]
    return NewTree(
        _write(tree, files),
        {n: (len(set(s.speaker_of.values())), len(s.speaker_of)) for n, s in sets.items()},
        source.anonymized is not None,
        bool(training),
        bool(paths_outside(everything, [tree])),
    )


def _genders(speaker_of: Mapping[str, str], source: AudioFolders) -> Mapping[str, str]:
    """The gender of every speaker; empty where none are given."""
    if source.spk2gender is None:
        return {}
    gender_of = read_spk2gender(source.spk2gender)
    speakers = sorted(set(speaker_of.values()))
    _refuse([s for s in speakers if s not in gender_of], source.spk2gender, "no gender of speakers")
    return {s: gender_of[s] for s in speakers}


def _titles(gender_of: Mapping[str, str]) -> Mapping[str, str]:
    """Return the titles of the trial sets by gender."""
    present = set(gender_of.values())
    return {g: _TITLES[g] for g in SPEAKER_GENDERS if g in present} or _EVERYONE


def _evaluation_sets(
    speaker_of: Mapping[str, str], gender_of: Mapping[str, str], source: AudioFolders
) -> dict[str, _Set]:
    """Split utterances into enrollment and trials."""
    utterances_of: dict[str, list[str]] = {}
    for utterance, speaker in speaker_of.items():
        utterances_of.setdefault(speaker, []).append(utterance)
    first = {s: source.enroll or len(u) // 2 for s, u in utterances_of.items()}
    _refuse(
        [s for s, u in utterances_of.items() if not 0 < first[s] < len(u)],
        source.utt2spk,
        f"speakers with fewer than {(source.enroll or 1) + 1} utterances (to enroll "
        f"{source.enroll or 1}, and one trial)",
    )
    enrolled = {u for s, names in utterances_of.items() for u in names[: first[s]]}
    sets = {
        _ENROLLMENT: _Set(
            {u: s for u, s in speaker_of.items() if u in enrolled},
            {"enrolls": _lines(sorted(enrolled))},
        )
    }
    for gender in _titles(gender_of):
        speakers = dict.fromkeys(
            s for s in sorted(utterances_of) if gender_of.get(s, gender) == gender
        )
        _refuse(
            speakers if len(speakers) < 2 else (),
            source.spk2gender or source.utt2spk,
            f"trials need two speakers of a gender; gender {gender} has",
        )
        tried = {u: s for u, s in speaker_of.items() if s in speakers and u not in enrolled}
        lines = (
            f"{e} {u} {'target' if e == s else 'nontarget'}"
            for e in speakers
            for u, s in tried.items()
        )
        sets[f"speech_trials_{gender}"] = _Set(tried, {"trials": _lines(lines)})
    return sets


def _refuse_shared(
    speaker_of: Mapping[str, str], training: Mapping[str, str], utt2spk: Path
) -> None:
    shared = sorted(set(speaker_of.values()) & set(training.values()))
    _refuse(shared, utt2spk, "training speakers who are evaluated, too")
    _refuse(sorted(speaker_of.keys() & training), utt2spk, "training utterances evaluated, too")


def _refuse(names: Collection[str], where: Path, problem: str) -> None:
    if names:
        raise PrivacyEvalError(f"{where}: {problem}: {len(names)}: {abbreviate(list(names))}")


def _audio_files(folder: Path) -> dict[str, Path]:
    """The audio below a folder by the stem of its name; hidden files are skipped."""
    if not folder.is_dir():
        raise PrivacyEvalError(f"{folder}: no such folder (audio)")
    files: dict[str, Path] = {}
    twice: list[str] = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(at, name)
            if path.suffix.lower() in _AUDIO and not name.startswith("."):
                if path.stem in files:
                    twice.append(f"{files[path.stem]} and {path}")
                files[path.stem] = path
    _refuse(twice, folder, "two audio files of one utterance")
    return files


def _select(files: Mapping[str, Path], needed: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """Return the audio of the needed utterances; refuse missing and unknown ones."""
    missing = [utterance for utterance in needed if utterance not in files]
    _refuse(missing, folder, f"no audio (<id>{' or <id>'.join(_AUDIO)}) of utterances")
    _refuse([stem for stem in files if stem not in needed], folder, "audio of unknown utterances")
    return {utterance: files[utterance] for utterance in needed}


def _data_folder(
    folder: str,
    members: _Set,
    gender_of: Mapping[str, str],
    audio: Mapping[str, Path],
    tree: Path,
) -> dict[str, bytes]:
    """The files of a data folder by their path in the tree."""
    utterances_of: dict[str, list[str]] = {}
    for utterance, speaker in members.speaker_of.items():
        utterances_of.setdefault(speaker, []).append(utterance)
    files = {
        "utt2spk": _lines(f"{u} {s}" for u, s in members.speaker_of.items()),
        "spk2utt": _lines(f"{s} {' '.join(utterances_of[s])}" for s in sorted(utterances_of)),
        "wav.scp": _lines(f"{u} {_location(audio[u], tree)}" for u in members.speaker_of),
        **members.list,
    }
    if utterances_of.keys() <= gender_of.keys():
        files["spk2gender"] = _lines(f"{s} {gender_of[s]}" for s in sorted(utterances_of))
    return {f"{folder}/{name}": text for name, text in files.items()}


def _location(path: Path, tree: Path) -> str:
    """Return a path as written to wav.scp: relative to the tree if inside it, else absolute."""
    absolute = Path(os.path.abspath(path))
    text = relative(absolute, tree) if absolute.is_relative_to(tree) else str(absolute)
    if CONTROL.search(os.fsencode(text)) or text.startswith("|") or not text.isprintable():
        raise PrivacyEvalError(f"{absolute}: this path cannot be written to a wav.scp; rename it")
    return text


def _model_files(source: AudioFolders) -> dict[str, bytes]:
    """The files of the model folder by their path in the tree."""
    if source.model is None:
        return {}
    names = (*EXTRACTOR_FILES, *(BACKEND_FILES if source.training is None else ()))
    return {
        f"{MODEL}/{name}": read_bytes(source.model / name)
        for name in names
        if name == EXTRACTOR_FILES[0] or (source.model / name).is_file()
    }


def _protocol(source: AudioFolders, gender_of: Mapping[str, str], is_informed: bool) -> str:
    informed = (
        f"  - {{trained_on: anonymized, folder: {MODEL}, training_set: '{_TRAINING}{{suffix}}'}}"
    )
    enrolled = f"the first {source.enroll}" if source.enroll else "half (rounded down)"
    return _PROTOCOL_TEXT.format(
        rule=f"{enrolled} of the utterances",
        of_gender=" of the same gender" if gender_of else "",
        trained="is trained on speech_train" if source.training else f"is in {MODEL}",
        parent="vpc2022" if is_informed else "vpc2020",
        suffix=ANON_SUFFIX,
        genders="{" + ", ".join(f"{g}: {title}" for g, title in _titles(gender_of).items()) + "}",
        enrollment=_ENROLLMENT,
        training=_TRAINING,
        model=MODEL,
        anonymized_model=f"{informed}\n" if is_informed else "",
    )


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _write(tree: Path, files: Mapping[str, bytes]) -> bool:
    """Write the files that are missing, the protocol last; return False if none was."""
    present = [name for name in files if os.path.lexists(tree / name)]
    different = [name for name in present if read_bytes(tree / name) != files[name]]
    _refuse(different, tree, "other files are there; remove them, or name another --out")
    (tree / MODEL).mkdir(parents=True, exist_ok=True)  # a run without one says what is missing
    for name in files:
        if name not in present:
            with atomic_path(tree / name) as temporary:
                temporary.write_bytes(files[name])
    return len(present) < len(files)
