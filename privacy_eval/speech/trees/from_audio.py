"""Create an experiment tree from folders of audio: data folders, trials and a protocol.

The first n utterances of every speaker, sorted by id, are enrollment utterances; the others are
trials against every speaker of the same gender, or against all if no genders are given. Back ends
are trained on the training speech, which is of other speakers.

Without a list of speakers, the folders tell them, if it is plain which of them are the speakers
(`speech_folder`): enrollment and trials are of
different sessions, and trials are also against the speakers of the other gender.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import shlex
import statistics
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from ...asv.inputs import BACKEND_FILES
from ...choices import ENCODERS, GENDERS, LEAST_FOLDS, LEAST_SPEAKERS, SPECTRUM, grouped
from ...errors import InputWarning, PrivacyEvalError, UsageError, abbreviate, counted, printable
from ...io.csv_text import csv_text
from ...io.data_dir import SPEAKER_GENDERS, read_spk2gender, read_utt2spk
from ...io.files import atomic_folder, paths_outside, read_bytes, relative, write_bytes, write_text
from ...io.names import look_alike
from ...io.transcripts import read_transcripts
from ...io.vectors import CONTROL
from ...metrics.confidence import anticipated_interval
from ...protocol.protocol import DEFAULT_CROP, ENCODERS_FOLDER, LDA_JOINT, OF_CROPS
from ..audio import CONVERTED, OTHER_LENGTH, AudioReader, soundfile
from ..audit import Recording, look_at
from ..encoders import EncoderChoice, check_encoders
from ..xvector import EXTRACTOR_FILES
from .costs import STATED_FILE, read_costs
from .speech_folder import (
    SpeechFolder,
    audio_files,
    composed,
    composed_table,
    read_speech_folder,
    refuse,
)

#: The protocol and the model folder in the new tree.
PROTOCOL, MODEL = "protocol.yaml", "exp/models/asv"
ANON_SUFFIX = "_anon"
#: What a recording without its counterpart lacks, by its suffix.
_UNPAIRED = {"": "no anonymized copy", ANON_SUFFIX: "no original recording of this name"}

_ENROLLMENT, _TRAINING = "speech_enrolls", "speech_train"
#: Lists in Kaldi's data folders that options name, too.
_LISTS = {"original": ("utt2spk", "spk2gender", "text"), "training": ("utt2spk",), "anonymized": ()}
#: Id and title of the trials of all speakers.
_ALL = "all"
_EVERYONE = {_ALL: "all"}
_WHOLE = f"speech_trials_{_ALL}"
#: Alignments of the vectors of encoders, and what they are.
_ALIGNMENTS = {"ridge-reverse": "ridge", "procrustes": "rotation"}
#: Discriminants of the vectors of encoders.
_DISCRIMINANTS = "LDA of {}", "joint LDA of {}", "PLDA of {} crops"

#: Files by suffix and utterance, and what gets the number of recordings looked at.
_Paths = Mapping[str, Mapping[str, Path]]
#: Data folders: the speaker of every utterance, sorted.
_Sets = Mapping[str, Mapping[str, str]]
_Progress = Callable[[int, int, str], None] | None

_PROTOCOL_TEXT = """\
# Written by privacy-eval data-dir.
# Speakers {speakers}
# Trials:
#   enrollment: of every speaker, {rule}, sorted by id;
#   trials: every other utterance against every enrolled speaker{of_gender}.
{comments}extends: {parent}
name: speech
title: Speech
anon_suffix: {suffix}
splits: [test]
split_titles: {{test: Test set}}
genders: {genders}
{more}data_sets:
  - id: speech
    title: Speech
    row: speech
    enrollment: {enrollment}
    trials: speech_trials_{{gender}}
    weight: 1
data_folders: {combined}
table_rows: [speech]
{models}recognition:
  data_sets: []
  language_models: {{large: tglarge}}
  models: {{}}
  average: large
"""

#: The list of all recordings in a tree, and the script that converts some of them.
LIST, SCRIPT = "recordings.csv", "convert_recordings.sh"

_SHOWN = 50
_COLUMNS = "recording speaker unusable command cautions seconds rate".split()
_COMMAND = "test -e {1} || ffmpeg -nostdin -v error -i {0} -vn -map_metadata -1 -sample_fmt s16 {1}"
_SAME, _WHOSE = "same samples", "; whose is it?"
#: What the report tells of why a recording cannot be used, without names of files.
_REASON = re.compile(
    r"[\w -]+(?= audio, which)|truncated|silent|empty|too short|damaged|not supported|of one name|"
    r"beyond full scale|no (samples|speech|voiced frames|audio|anonymized copy|original recording)"
)


@dataclass(frozen=True)
class AudioFolders:
    """Audio folders and lists to create a tree from.

    Attributes
    ----------
    original : Path
        Evaluation audio, named by utterance id.
    utt2spk : Path, optional
        Its speakers; without it, the folders tell speakers, sessions, genders and words.
    anonymized : Path, optional
        The same utterances, anonymized. If it also contains the training utterances, a
        semi-informed attacker is evaluated.
    spk2gender : Path, optional
        Without it, and without genders in the folder, trials are against all speakers.
    enroll : int, optional
        Enrollment utterances per speaker; by default half of them.
    training, training_utt2spk : Path, optional
        Speech of other speakers to train the back ends on, or the aligned attackers; its speakers,
        which the folders tell otherwise.
    model : Path, optional
        Folder of an x-vector extractor, and of its back end if there is no training speech.
    text : Path, optional
        What is said in the evaluation audio, as Kaldi's `text`.
    encoders : tuple of str
        Speaker encoders in place of an extractor: `ge2e`, `ge2e-raw`, `d-vector`, ONNX files or
        checkpoints (.ckpt).
    speaker_level : int, optional
        Level of the folders that are the speakers, 1 for the first, where no list names them.
    allow_unusable : float
        Percent of the recordings that may be left out, as later stages cannot use them.
    crop : float
        Seconds of the pieces of training speech that attackers learn from.
    """

    original: Path
    utt2spk: Path | None = None
    anonymized: Path | None = None
    spk2gender: Path | None = None
    enroll: int | None = None
    training: Path | None = None
    training_utt2spk: Path | None = None
    model: Path | None = None
    text: Path | None = None
    encoders: tuple[str, ...] = ()
    speaker_level: int | None = None
    allow_unusable: float = 5.0
    crop: float = DEFAULT_CROP


def make_tree(
    tree: Path, source: AudioFolders, tell: Callable[[str], object], progress: _Progress = None
) -> tuple[bool, list[str]]:
    """Write the data folders, trials and protocol of a tree; files of audio are not copied.

    Return whether audio is outside the tree, and what the trials can carry, and what is missing.

    Parameters
    ----------
    tell : callable
        Print a line: which recordings cannot be used, before an error says that they are too many;
        then the data folders, and what was taken for speakers.
    progress : callable, optional
        Gets the number of recordings looked at, of all, and the name of the last.

    Raises
    ------
    PrivacyEvalError
        An utterance without audio or, if a list is named, without transcript, audio of no
        utterance, a speaker with too few utterances or without gender, trials of only one speaker,
        training speech of an evaluated speaker; a path that a wav.scp cannot hold; other content in
        the tree; a library or the model of an encoder is missing; too many unusable recordings.
    """
    soundfile()
    if SPECTRUM in source.encoders:
        raise UsageError(f"--encoders: the {SPECTRUM} attacks without being named")
    check_encoders(map(EncoderChoice, source.encoders))
    stated, source = _stated_costs(source), _of_data_folders(source, tree)
    speech = _evaluated(source)
    folders = [speech]
    if source.training is not None:
        training = _speech(source.training, source.training_utt2spk, source.speaker_level)
        file = source.training_utt2spk or source.training
        shared = sorted({*speech.speaker_of.values()} & {*training.speaker_of.values()})
        refuse(shared, file, "training speakers who are evaluated, too")
        shared = sorted(speech.speaker_of.keys() & training.speaker_of)
        refuse(shared, file, "training utterances evaluated, too")
        folders.append(training)
    audio = _audio(source, folders)
    named, tree = tree, Path(os.path.abspath(tree))
    _model_files(source)  # before any work: what is missing
    recordings, audio = _recordings(source, folders, audio, progress)
    for line in write_list(tree, recordings):
        tell(line)
    lost, remarks, faults = left_out(recordings, source.allow_unusable)
    for n, folder in enumerate(folders):
        kept = {u: s for u, s in folder.speaker_of.items() if u not in lost}
        folders[n] = replace(folder, speaker_of=kept)
    faults += _few(source, speech, folders[0])
    try:
        sets, lists = _evaluation_sets(folders[0], source)
        for of in folders[1:]:
            sets[_TRAINING] = of.speaker_of
        files = _data_folders(sets, lists, folders[0], audio, tree)
        files |= _model_files(source) | stated
    except PrivacyEvalError as error:
        faults.append(str(error))
    if faults:
        raise PrivacyEvalError("\n".join(faults))
    remarks += _caveats(source, folders) + [*_remarks(folders[0], sets)]
    is_informed = _TRAINING in sets and f"data/{_TRAINING}{ANON_SUFFIX}/wav.scp" in files
    is_informed |= _TRAINING in sets and source.anonymized is None
    source = replace(source, crop=_crop(recordings))
    files[PROTOCOL] = _protocol(source, folders[0], sets, is_informed, tuple(remarks)).encode()
    if source.encoders and is_informed and source.crop != DEFAULT_CROP:
        remarks.append(
            f"attackers learn from pieces of {source.crop:g} s (crop) of training speech"
        )
    if source.encoders and not is_informed:
        lacks = "attackers who learn from anonymized speech are left out"
        remarks.append(f"{lacks}: --training DIR names speech of other speakers to anonymize, too")
    tell(f"{named}: {'created' if _write(tree, files, source) else 'already exists'}")
    for name, speaker_of in sets.items():
        speakers = len(set(speaker_of.values()))
        tell(f"  data/{name}: {len(speaker_of)} utterances of {speakers} speakers")
    for what, folder in zip(("speakers", "training speakers"), folders, strict=False):
        tell(f"  {what} {folder.speakers}")
    everything = [path for paths in audio.values() for path in paths.values()]
    return bool(paths_outside(everything, [tree])), [*remarks, *folders[0].remarks]


def _audio(source: AudioFolders, folders: Sequence[SpeechFolder]) -> _Paths:
    """The files of original and of anonymized speech, by suffix and utterance."""
    originals = {u: p for folder in folders for u, p in folder.audio.items()}
    if source.anonymized is None:
        return {"": originals}
    if source.utt2spk is None:
        level = source.speaker_level or folders[0].level
        copies = read_speech_folder(source.anonymized, level=level).audio
    else:
        copies = _by_stem(source.anonymized)
    audio = {"": originals, ANON_SUFFIX: copies}
    if originals.keys().isdisjoint(copies):
        _refuse_affix(source, audio)
    return audio


def _stated_costs(source: AudioFolders) -> dict[str, bytes]:
    """Return the file of what the anonymized speech has cost, if its folder has one."""
    places = [source.anonymized / STATED_FILE.format(suffix="")] if source.anonymized else []
    found = [path for path in places if path.is_file()]
    _ = [read_costs(path) for path in found]  # refused before anything is written
    return {f"data/{STATED_FILE.format(suffix=ANON_SUFFIX)}": read_bytes(path) for path in found}


def _crop(recordings: Iterable[Recording]) -> float:
    """Return the seconds of the pieces of training speech: half of the median recording, if that is
    less than the usual."""
    training = [r.seconds for r in recordings if r.part.startswith("training") and r.seconds]
    half = math.floor(5 * statistics.median(training)) / 10 if training else DEFAULT_CROP
    return min(max(half, 1.0), DEFAULT_CROP)


def _of_data_folders(source: AudioFolders, tree: Path) -> AudioFolders:
    """Take speech, and lists that are not named, from Kaldi's data folders among the audio."""
    for role, lists in _LISTS.items():
        folder, prefix = getattr(source, role), "training_" * (role == "training")
        if folder is not None and (folder / "wav.scp").is_file():
            files = (folder / name for name in lists if not getattr(source, prefix + name))
            known = (f for f in files if f.is_file() or f.name == "utt2spk")
            new: dict[str, Any] = {prefix + file.name: file for file in known}
            new[role] = speech_of_data_folder(folder, tree / "audio_of_wav_scp" / role)
            source = replace(source, **new)
    return source


def _caveats(source: AudioFolders, folders: Sequence[SpeechFolder]) -> list[str]:
    """Say what to check of speakers and folders."""
    caveats = [caveat for folder in folders for caveat in folder.caveats]
    alike = look_alike(sorted({*folders[0].speaker_of.values()}))
    if source.anonymized and source.anonymized.absolute() == source.original.absolute():
        caveats.append("--anonymized is the folder of --original: nothing is anonymized")
    return caveats + [f"speakers look alike: {', '.join(group)}" for group in alike]


def _recordings(
    source: AudioFolders, folders: Sequence[SpeechFolder], audio: _Paths, progress: _Progress
) -> tuple[list[Recording], dict[str, Mapping[str, Path]]]:
    """Look at all recordings; return them, and the chosen files by suffix and utterance."""
    made, extracted = source.anonymized is None, source.model is not None
    places = filter(None, (source.original, source.training, source.anonymized))
    alike = {first: paths for place in places for first, paths in audio_files(place).items()}
    speaker_of = {u: s for folder in folders for u, s in folder.speaker_of.items()}
    training = speaker_of.keys() - folders[0].speaker_of
    unpaired = set[str]()
    if source.anonymized is not None:
        copies = audio[ANON_SUFFIX].keys()
        unpaired = copies ^ (speaker_of if copies & training else folders[0].speaker_of).keys()
    recordings, chosen = list[Recording](), dict[str, Mapping[str, Path]]()
    done = itertools.count(1)
    total = sum(len(alike[p]) for of in audio.values() for p in of.values())

    def look(path: Path) -> Recording:
        if progress is not None:
            progress(next(done), total, path.name)
        return look_at(path, source.encoders, anonymized=made, extracted=extracted)

    for suffix, paths in audio.items():
        files = {u: choose([look(path) for path in alike[first]]) for u, first in paths.items()}
        chosen[suffix] = {u: of[0].path for u, of in files.items()}
        new = [
            replace(
                one,
                problem=one.problem or _UNPAIRED[suffix] * (u in unpaired),
                utterance=u,
                speaker=speaker_of.get(u, ""),
                part="training recordings" if u in training else one.part,
            )
            for u, of in files.items()
            for one in of
        ]
        recordings += new if suffix else mark_copies(new)
    return recordings, chosen


def _evaluated(source: AudioFolders) -> SpeechFolder:
    """Read the evaluation speech, and what its lists say."""
    listed = source.spk2gender
    gender_of = {} if listed is None else composed_table(read_spk2gender(listed), listed)
    speech = _speech(source.original, source.utt2spk, source.speaker_level, gender_of)
    if listed is not None:
        speakers = sorted({*speech.speaker_of.values()})
        refuse([s for s in speakers if s not in gender_of], listed, "no gender of speakers")
        speech = replace(speech, gender_of={s: gender_of[s] for s in speakers})
    if source.text is not None:
        said = composed_table(read_transcripts(source.text), source.text)
        missing = [name for name in speech.speaker_of if name not in said]
        refuse(missing, source.text, "no transcript of utterances")
        speech = replace(speech, said=said, remarks=())
    return speech


def _speech(
    folder: Path, utt2spk: Path | None, level: int | None, known: Collection[str] = ()
) -> SpeechFolder:
    """Read speech: by its list of speakers, or by its folders."""
    if utt2spk is None:
        return read_speech_folder(folder, level=level, known=known)
    speaker_of = dict(sorted(composed_table(read_utt2spk(utt2spk), utt2spk).items()))
    files = _by_stem(folder)
    refuse([u for u in speaker_of if u not in files], folder, "no audio of utterances")
    refuse([u for u in files if u not in speaker_of], folder, "audio of unknown utterances")
    paths = {u: files[u] for u in speaker_of}
    return SpeechFolder(paths, speaker_of, {}, {}, {}, taken_from=utt2spk.name)


def _data_folders(
    sets: _Sets,
    lists: Mapping[str, Mapping[str, bytes]],
    speech: SpeechFolder,
    audio: _Paths,
    tree: Path,
) -> dict[str, bytes]:
    """The files of all data folders by their path in the tree; `audio`: by suffix and utterance."""
    files: dict[str, bytes] = {}
    for suffix, paths in audio.items():
        for name, speaker_of in sets.items():
            if speaker_of.keys() <= paths.keys():
                of_set = _data_folder(speaker_of, speech.gender_of, paths, tree)
                of_set |= lists.get(name, {})
                if not suffix and speaker_of.keys() <= speech.said.keys():
                    lines = (f"{u} {speech.said[u].strip()}".strip() for u in speaker_of)
                    of_set["text"] = _lines(lines)
                files |= {f"data/{name}{suffix}/{file}": text for file, text in of_set.items()}
    return files


def _titles(gender_of: Mapping[str, str]) -> Mapping[str, str]:
    """Return the titles of the trial sets by gender."""
    present = set(gender_of.values())
    return {g: GENDERS[g] for g in SPEAKER_GENDERS if g in present} or _EVERYONE


def _few(source: AudioFolders, speech: SpeechFolder, usable: SpeechFolder) -> Iterable[str]:
    """Name the speakers who have too few utterances to enroll and to try."""
    least, number = (source.enroll or 1) + 1, Counter(usable.speaker_of.values())
    if few := sorted(s for s in {*speech.speaker_of.values()} if number[s] < least):
        problem = f"speakers with fewer than {least} usable utterances"
        remedy = f"to enroll {least - 1}, and one trial; add recordings, or remove the speakers"
        where = source.utt2spk or source.original
        yield f"{where}: {problem} ({remedy}): {len(few)}: {abbreviate(few)}"


def _evaluation_sets(
    speech: SpeechFolder, source: AudioFolders
) -> tuple[dict[str, Mapping[str, str]], dict[str, dict[str, bytes]]]:
    """Split utterances into enrollment and trials, of different sessions where they are known;
    return these sets, and the lists of each."""
    speaker_of, gender_of = speech.speaker_of, speech.gender_of
    utterances_of = grouped(speaker_of, speaker_of.__getitem__)
    sessions = {
        speaker: grouped(own, lambda utterance: speech.session_of.get(utterance, ""))
        for speaker, own in utterances_of.items()
    }
    split = [_split(of, source.enroll) for of in sessions.values()]
    enrolled = {utterance for first, _ in split for utterance in first}
    tested = {utterance for _, others in split for utterance in others}
    sets: dict[str, Mapping[str, str]] = {
        _ENROLLMENT: {u: s for u, s in speaker_of.items() if u in enrolled}
    }
    lists = {_ENROLLMENT: {"enrolls": _lines(sorted(enrolled))}}
    by_gender = {
        gender: [s for s in sorted(sessions) if gender_of.get(s, gender) == gender]
        for gender in _titles(gender_of)
    }
    if source.utt2spk is None:  # also against the speakers of the other gender
        by_gender = {g: who for g, who in by_gender.items() if len(who) > 1}
        by_gender |= {_ALL: sorted(sessions)}
    remedy = " (without --spk2gender everybody is tried against everybody)"
    needed = f"trials need two speakers of a gender{remedy * (source.spk2gender is not None)}"
    for gender, speakers in by_gender.items():
        refuse(
            speakers if len(speakers) < 2 else (),
            source.spk2gender or source.utt2spk or source.original,
            f"{needed}; gender {gender} has",
        )
        among = set(speakers)
        tried = {u: s for u, s in speaker_of.items() if s in among and u in tested}
        lines = (
            f"{e} {u} {'target' if e == s else 'nontarget'}"
            for e in speakers
            for u, s in tried.items()
        )
        sets[name := f"speech_trials_{gender}"] = tried
        lists[name] = {"trials": _lines(lines)}
    return sets, lists


def _split(sessions: Mapping[str, list[str]], enroll: int | None) -> tuple[list[str], list[str]]:
    """Split a speaker's utterances into those to enroll and those of trials: the first sessions,
    which hold as many as are to enroll, and the others; or, of a single session, the first ones."""
    utterances = [u for name in sorted(sessions) for u in sessions[name]]
    wanted = enroll or max(len(utterances) // 2, 1)
    if len(sessions) < 2:
        return utterances[:wanted], utterances[wanted:]
    *earlier, _ = sorted(sessions)
    first: list[str] = []
    for number, name in enumerate(earlier, 1):
        first += sessions[name]
        if len(first) >= wanted or number == len(earlier):
            break
    others = utterances[len(first) :]
    return first[:enroll], others


def _remarks(speech: SpeechFolder, sets: _Sets) -> tuple[str, ...]:
    """Say what the trials can carry, and where enrollment and trials share a session."""
    tried: dict[str, str] = {}
    for name, speaker_of in sets.items():
        tried |= speaker_of if "_trials_" in name else {}
    speakers = len(set(tried.values()))
    per_speaker = len(tried) / speakers

    def interval(number: int) -> str:
        low, high = anticipated_interval(0.2, number, per_speaker)
        return f"{100 * low:.0f} to {100 * high:.0f} %"

    carried = (
        f"with {speakers} speakers and {per_speaker:.3g} trials of each, an EER of 20 % has a 95 % "
        f"interval of about {interval(speakers)}; {4 * speakers} speakers would give "
        f"{interval(4 * speakers)}"
    )
    if speakers < LEAST_SPEAKERS:
        few = "so few" if speakers > 2 else "two"
        carried = f"{few} speakers carry no claim about an anonymizer: {carried}"
    if not speech.session_of:
        unknown = "sessions of the recordings are not known; where enrollment and trials share one"
        return carried, f"{unknown}, linking is easier than across sessions"
    recorded = {(speaker, speech.session_of[u]) for u, speaker in speech.speaker_of.items()}
    sessions = Counter(speaker for speaker, _ in recorded)
    single = sum(number < 2 for number in sessions.values())
    shared = (
        f"{counted(single, 'speaker')} of {len(sessions)} with a single session: enrollment and "
        "trials share it, which makes linking easier than across sessions"
    )
    return (carried, shared) if single else (carried,)


def _by_stem(folder: Path) -> dict[str, Path]:
    """The audio below a folder by the stem of its name."""
    paths = list(audio_files(folder))
    form = composed({path.stem for path in paths}, folder)
    files = grouped(paths, lambda path: form[path.stem])
    twice = [" and ".join(map(str, of)) for of in files.values() if len(of) > 1]
    refuse(twice, folder, "two audio files of one utterance")
    return {utterance: of[0] for utterance, of in files.items()}


def _refuse_affix(source: AudioFolders, audio: _Paths) -> None:
    """Refuse copies that are all named after originals, with the same text before or after."""
    names = ("files", lambda p: p.stem), ("folders", lambda p: p.parent.name)
    for what, name_of in names[: 1 if source.utt2spk else 2]:
        originals, copies = ({*map(name_of, of.values())} for of in audio.values())
        first = min(copies, default="")
        for n, ends in itertools.product(range(1, len(first)), (True, False)):
            how, affix = ("end in", first[n:]) if ends else ("begin with", first[:n])
            rests = {c.removesuffix(affix) if ends else c.removeprefix(affix) for c in copies}
            if not rests & copies and 2 * len(rests & originals) > len(copies):
                problem = f"the names of all {what} {how} {affix}; rename them as the originals"
                raise PrivacyEvalError(f"{source.anonymized}: {problem}")


def _data_folder(
    speaker_of: Mapping[str, str],
    gender_of: Mapping[str, str],
    audio: Mapping[str, Path],
    tree: Path,
) -> dict[str, bytes]:
    """The files of a data folder by name."""
    utterances_of = grouped(speaker_of, speaker_of.__getitem__)
    files = {
        "utt2spk": _lines(f"{u} {s}" for u, s in speaker_of.items()),
        "spk2utt": _lines(f"{s} {' '.join(utterances_of[s])}" for s in sorted(utterances_of)),
        "wav.scp": _lines(f"{u} {_location(audio[u], tree)}" for u in speaker_of),
    }
    if utterances_of.keys() <= gender_of.keys():
        files["spk2gender"] = _lines(f"{s} {gender_of[s]}" for s in sorted(utterances_of))
    return files


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


def _protocol(
    source: AudioFolders,
    speech: SpeechFolder,
    sets: _Sets,
    is_informed: bool,
    remarks: tuple[str, ...],
) -> str:
    enrolled = f"the first {source.enroll}" if source.enroll else "half (rounded down)"
    titles = {**GENDERS, **_EVERYONE}
    tried = [name.removeprefix("speech_trials_") for name in sets if "_trials_" in name]
    parts = [f"speech_trials_{gender}" for gender in tried[:-1]]
    rule, of_gender, more = f"{enrolled} of the utterances", "", ""
    if source.utt2spk is None:
        rule = f"the first sessions with {enrolled} of the utterances (of a single session: these)"
        of_gender = " (f, m: of the same gender)" * bool(parts)
        # Averages are over all trials, of which those within a gender are a part.
        weights = ", ".join(f"{gender}: 0" for gender in tried[:-1])
        more = f"gender_weights: {{{weights}}}\n" * bool(parts)
    elif speech.gender_of:
        of_gender = " of the same gender"
    notes = (f"  - {json.dumps(note, ensure_ascii=False)}\n" for note in remarks)
    more += "# What the report says on its first screen:\nremarks:\n" + "".join(notes)
    all_parts = {u for part in parts for u in sets[part]}
    whole = len(tried) > 1 and tried[-1] == _ALL and all_parts == {*sets[_WHOLE]}
    return _PROTOCOL_TEXT.format(
        speakers=speech.speakers,
        rule=rule,
        of_gender=of_gender,
        comments=_comments(source),
        parent="vpc2022" if is_informed and not source.encoders else "vpc2020",
        suffix=ANON_SUFFIX,
        genders="{" + ", ".join(f"{g}: {titles[g]}" for g in tried) + "}",
        more=more,
        enrollment=_ENROLLMENT,
        combined=f"[{{name: {_WHOLE}, combine: [{', '.join(parts)}]}}]" if whole else "[]",
        models=_encoder_models(source, sets, speech, is_informed) or _models(is_informed),
    )


def _comments(source: AudioFolders) -> str:
    if source.encoders:
        return "# Vectors of speaker encoders are compared by cosine; nothing is trained.\n"
    trained = "is trained on speech_train" if source.training else f"is in {MODEL}"
    return f"# The back end of the attacker {trained}.\n"


def _models(is_informed: bool) -> str:
    """The ASV models of a protocol whose back ends are trained."""
    models = [f"{{trained_on: original, folder: {MODEL}, training_set: {_TRAINING}}}"]
    if is_informed:
        anonymized = f"folder: {MODEL}, training_set: '{_TRAINING}{{suffix}}'"
        models.append(f"{{trained_on: anonymized, {anonymized}}}")
    return "asv_models:\n" + "".join(f"  - {model}\n" for model in models)


def _encoder_models(
    source: AudioFolders, sets: _Sets, speech: SpeechFolder, is_informed: bool
) -> str:
    """The ASV model and the attackers of a protocol of encoders, the first of which is the
    challenge's own; those that lack training speech, words or speakers are left out."""
    if not source.encoders:
        return ""
    names = [Path(encoder).stem for encoder in source.encoders]
    attackers: list[Mapping[str, object]] = []

    def add(**attacker: object) -> None:
        attackers.append(attacker)

    voices = ["enrollment", "trial"]
    for number, (name, encoder) in enumerate(zip(names, source.encoders, strict=True)):
        one = {"encoder": encoder if encoder in ENCODERS else os.path.abspath(encoder)}
        learnt = {"knows": [*voices, "training"], **one}
        first, prefix = (name, f"{name}-") if number else ("cosine", "")
        vectors = "d-vectors" if name == "d-vector" else f"{name} vectors"
        add(id=first, title=f"cosine of {vectors}", knows=voices, scoring="cosine", **one)
        for alignment, how in _ALIGNMENTS.items() if is_informed else ():
            aligned = {"title": f"aligned {vectors} ({how})", "scoring": "aligned"}
            add(id=prefix + alignment, **aligned, alignment=alignment, **learnt)
        informed = {"attack_model": "semi-informed", **learnt}
        for scoring, how in zip(OF_CROPS, _DISCRIMINANTS, strict=True) if is_informed else ():
            add(id=prefix + scoring, title=how.format(name), scoring=scoring, **informed)
    add(id=SPECTRUM, title="the spectrum", scoring="cosine", encoder=SPECTRUM, knows=voices)
    if is_informed:
        title = {"title": "joint LDA of the spectrum", "attack_model": "semi-informed"}
        learnt = {"encoder": SPECTRUM, "knows": [*voices, "training"]}
        add(id=f"{SPECTRUM}-{LDA_JOINT}", **title, scoring=LDA_JOINT, **learnt)
    if speech.said:
        add(id="words", title="words alone", knows=["words"], scoring="words")
    few = min(len(set(s.values())) for n, s in sets.items() if n != _TRAINING)
    if len(attackers) > 1 and few >= LEAST_FOLDS:
        knows = [*voices, *["training"] * is_informed, *["words"] * bool(speech.said)]
        add(id="fused", title="fusion of the others", knows=knows, scoring="fused")
    model = f"{{trained_on: original, folder: {ENCODERS_FOLDER}/{names[0]}, backend: cosine}}"
    lines = [f"asv_models:\n  - {model}\n", f"training_set: {_TRAINING}\n"]
    lines += [f"crop: {source.crop:g}\n"] * (source.crop != DEFAULT_CROP) + ["attackers:\n"]
    lines += [f"  - {json.dumps(attacker, ensure_ascii=False)}\n" for attacker in attackers]
    return "".join(lines)


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _write(tree: Path, files: Mapping[str, bytes], source: AudioFolders) -> bool:
    """Write the files that are missing, the protocol last; return False if none was."""
    present = [name for name in files if os.path.lexists(tree / name)]
    different = [name for name in present if read_bytes(tree / name) != files[name]]
    refuse(different, tree, "other files are there; remove them, or name another --out")
    models = ENCODERS_FOLDER if source.encoders else MODEL
    (tree / models).mkdir(parents=True, exist_ok=True)  # a run without one says what is missing
    for name in files:
        if name not in present:
            write_bytes(tree / name, files[name])
    return len(present) < len(files)


def speech_of_data_folder(data: Path, out: Path) -> Path:
    """Write a folder of a data folder's utterances: links to files, and FLAC of 16 bits where a
    command converts or segments cut them. Nothing is run.

    Parameters
    ----------
    data, out : Path
        The data folder, and the new one, which replaces an earlier one.

    Returns
    -------
    Path
        `out`.

    Raises
    ------
    PrivacyEvalError
        As of `AudioReader`; an id that cannot name a file; a recording that is not as long as
        reco2dur says.
    """
    reader = AudioReader(data, mix=True, allow_outside=True)
    odd = [u for u in reader.ids if "/" in u or u[0] == "."]
    refuse(odd, data, "ids that cannot name a file (write - for /, in utt2spk, too)")
    with atomic_folder(out) as folder:
        for utterance in reader.ids:
            whole = reader.whole_file(utterance)
            if whole is not None:
                link = folder / f"{utterance}{whole.suffix or '.wav'}"
                link.symlink_to(os.path.abspath(whole))
                continue
            audio = reader.read(utterance)
            samples = np.rint(audio.samples).clip(-(1 << 15), (1 << 15) - 1).astype(np.int16)
            soundfile().write(folder / f"{utterance}.flac", samples, audio.rate, "PCM_16")
    for note in reader.notes():
        if note.startswith(OTHER_LENGTH):
            raise PrivacyEvalError(f"{data / 'wav.scp'}: {note}")
        warnings.warn(f"{data / 'wav.scp'}: {note}", InputWarning, stacklevel=2)
    return out


def choose(files: Sequence[Recording]) -> Sequence[Recording]:
    """Choose the usable one of the files of an utterance, such as one that was converted; all of
    them where that is none or several, which is a problem."""
    usable = [one for one in files if not one.problem]
    if len(usable) < 2:
        return usable or files
    names = " and ".join(one.path.name for one in usable)
    problem = f"{len(usable)} recordings of one name ({names})"
    return [replace(one, problem=problem) for one in usable]


def mark_copies(recordings: Iterable[Recording]) -> list[Recording]:
    """Add a caution to recordings that are copies of an earlier one."""
    earlier: dict[str, Recording] = {}
    marked = []
    for one in recordings:
        is_used = one.samples and not one.problem
        same = earlier.setdefault(one.samples, one) if is_used else one
        if same is not one:
            caution = f"{_SAME} as {same.path.name} of {same.speaker}"
            caution += _WHOSE * (one.speaker != same.speaker)
            one = replace(one, cautions=(*one.cautions, caution))
        marked.append(one)
    return marked


def write_list(tree: Path, recordings: Iterable[Recording]) -> list[str]:
    """Write the list of recordings, those that cannot be used first, and the commands that convert
    some of them; return what to print."""
    cells, cautions = list[tuple[object, ...]](), Counter[str]()
    for one in sorted(recordings, key=lambda one: (not one.problem, one.path)):
        problem, hint, _ = one.problem.partition(f"; {CONVERTED}")
        absolute = Path(os.path.abspath(one.path))
        paths = (shlex.quote(str(path)) for path in (absolute, absolute.with_suffix(".flac")))
        command = _COMMAND.format(*paths) if hint else ""
        about = "; ".join(one.cautions), round(one.seconds, 3), one.rate
        cells.append((one.path, one.speaker, problem, command, *about))
        cautions.update(c.partition(" as ")[0] for c in one.cautions if not problem)
    write_text(tree / LIST, csv_text([_COLUMNS, *cells]))
    shown = [row[:3] for row in cells if row[2]]
    lines = tabulate(shown[:_SHOWN], _COLUMNS[:3]).split("\n") if shown else []
    if len(shown) > _SHOWN:
        lines.append(f"and {len(shown) - _SHOWN} more in {tree / LIST}")
    if commands := [f"{row[3]}\n" for row in cells if row[3]]:
        write_text(tree / SCRIPT, "".join(commands))
        how = f"sh {shlex.quote(str(tree / SCRIPT))}"
        lines.append(f"ffmpeg converts {counted(len(commands), 'recording')}: {how}")
    lines += [f"{counted(n, 'recording')}: {c} (see {LIST})" for c, n in cautions.items()]
    lines += [f"{row[0]}: {row[4]}" for row in cells if _WHOSE in str(row[4])][:_SHOWN]
    return [printable(line) for line in lines]


def left_out(
    recordings: Sequence[Recording], percent: float
) -> tuple[set[str], list[str], list[str]]:
    """Return the utterances to leave out, what to say of recordings, and which are too many.

    Parameters
    ----------
    percent : float
        Of the recordings, and of those of the training speech, that may be left out.
    """
    lost = {one.utterance: one.problem for one in recordings if one.problem}
    remarks, faults = list[str](), list[str]()
    for part, members in grouped(recordings, lambda one: one.part).items():
        of_part = {one.utterance for one in members}
        without = of_part & lost.keys()
        text = f"{len(without)} of {len(of_part)} {part} cannot be used"
        if 100 * len(without) > percent * len(of_part):
            remedy = f"mend, convert or remove what {LIST} in the new tree lists"
            faults.append(f"{text}, over --allow-unusable {percent:g} percent; {remedy}")
        elif without:
            found = (_REASON.search(problem) for u, problem in lost.items() if u in without)
            reasons = Counter(match[0] if match else "other" for match in found)
            why = ", ".join(f"{n} {reason}" for reason, n in reasons.most_common())
            remarks.append(f"{text} and were left out: {why}")
    copies = sum(caution.startswith(_SAME) for one in recordings for caution in one.cautions)
    if copies:
        same = f"{counted(copies, 'recording')} with the samples of another one"
        remarks.append(f"{same}: remove them, as copies are linked whoever speaks")
    return {*lost}, remarks, faults
