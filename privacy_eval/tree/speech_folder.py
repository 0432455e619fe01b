"""Read a folder of somebody's speech: speakers, sessions, genders and transcripts from its layout.

Two layouts are recognized: LibriSpeech's, SPEAKER/CHAPTER/SPEAKER-CHAPTER-NUMBER.flac at any depth,
with SPEAKERS.TXT and *.trans.txt; else folders are speakers, and those within them sessions.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError, abbreviate, counted
from ..io.data_dir import SPEAKER_GENDERS, read_spk2gender
from ..io.files import read_text
from ..io.transcripts import read_transcripts

#: Suffixes of audio files.
AUDIO = (".wav", ".flac")

_SPEAKERS, _GENDERS, _WORDS, _CHAPTER_WORDS = "SPEAKERS.TXT", "spk2gender", "text", ".trans.txt"
#: How the same utterance is named where several microphones recorded it, as in VCTK.
_MICROPHONE = re.compile(r"(.+)[_-]mic\d+")


@dataclass(frozen=True)
class SpeechFolder:
    """Utterances of a folder.

    Attributes
    ----------
    audio : mapping of str to Path
        Audio file of every utterance, sorted by id.
    speaker_of, session_of : mapping of str to str
        By utterance; the session is "" where the layout tells none.
    gender_of : mapping of str to {"f", "m"}
        By speaker; empty if unknown.
    said : mapping of str to str
        Words by utterance; empty if any utterance has none.
    remarks : tuple of str
        What is missing.
    """

    audio: Mapping[str, Path]
    speaker_of: Mapping[str, str]
    session_of: Mapping[str, str]
    gender_of: Mapping[str, str]
    said: Mapping[str, str]
    remarks: tuple[str, ...] = ()


def audio_files(folder: Path) -> list[Path]:
    """List the audio below a folder; hidden files are skipped.

    Raises
    ------
    PrivacyEvalError
        No such folder.
    """
    if not folder.is_dir():
        raise PrivacyEvalError(f"{folder}: no such folder (audio)")
    files: list[Path] = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        visible = (Path(at, name) for name in sorted(names) if not name.startswith("."))
        files += (path for path in visible if path.suffix.lower() in AUDIO)
    return files


def read_speech_folder(folder: Path) -> SpeechFolder:
    """Read the utterances of a folder, and what its layout tells about them.

    Raises
    ------
    PrivacyEvalError
        No audio; audio outside of any speaker's folder; two files of one utterance; the same
        utterance from several microphones; a damaged list; speakers without gender in a list.
    """
    paths = audio_files(folder)
    if not paths:
        raise PrivacyEvalError(f"{folder}: no audio (*{' or *'.join(AUDIO)}) in it")
    placed = _librispeech(paths) or _by_speaker(paths, folder)
    names = Counter(name for name, _, _ in placed)
    twice = [name for name, count in names.items() if count > 1]
    refuse(twice, folder, "two audio files of one utterance")
    recorded = Counter(m[1] for name in names if (m := _MICROPHONE.fullmatch(name)))
    copies = [name for name, count in recorded.items() if count > 1]
    refuse(copies, folder, "utterances of several microphones (keep the files of one)")
    rows = sorted(zip(placed, paths, strict=True))
    audio = {name: path for (name, _, _), path in rows}
    speaker_of = {name: speaker for (name, speaker, _), _ in rows}
    said, remarks = _said(folder, paths, audio)
    return SpeechFolder(
        audio,
        speaker_of,
        {name: session for (name, _, session), _ in rows},
        _gender_of(folder, set(speaker_of.values())),
        said,
        remarks,
    )


def refuse(names: Collection[str], where: Path, problem: str) -> None:
    """Raise an error that names the first of what has a problem, if anything has.

    Raises
    ------
    PrivacyEvalError
    """
    if names:
        raise PrivacyEvalError(f"{where}: {problem}: {len(names)}: {abbreviate(list(names))}")


def _librispeech(paths: Collection[Path]) -> list[tuple[str, str, str]]:
    """Return utterance, speaker and chapter of every file, or nothing if any is named otherwise."""
    placed = []
    for path in paths:
        speaker, chapter = path.parts[-3:-1] if len(path.parts) > 2 else ("", "")
        if not path.stem.startswith(f"{speaker}-{chapter}-"):
            return []
        placed.append((path.stem, speaker, chapter))
    return placed


def _by_speaker(paths: Collection[Path], folder: Path) -> list[tuple[str, str, str]]:
    """Return utterance, speaker and session of every file by the folders that it is in.

    An utterance is named by its file if those names are unique and begin with the speaker, as Kaldi
    needs them; otherwise by folders and file.
    """
    parts = [path.relative_to(folder).with_suffix("").parts for path in paths]
    parts = [tuple("_".join(part.split()) for part in names) for names in parts]
    outside = [str(path) for path, names in zip(paths, parts, strict=True) if len(names) < 2]
    refuse(outside, folder, "audio outside of a speaker's folder (expected SPEAKER/.../FILE)")
    stems = [names[-1] for names in parts]
    named = len(set(stems)) == len(stems) and all(n[-1].startswith(n[0]) for n in parts)
    return [
        (names[-1] if named else "-".join(names), names[0], "/".join(names[1:-1]))
        for names in parts
    ]


def _gender_of(folder: Path, speakers: Collection[str]) -> dict[str, str]:
    """Read the genders of the speakers from `spk2gender` in the folder, or from LibriSpeech's
    SPEAKERS.TXT there or up to two folders above."""
    path, gender_of = folder / _GENDERS, {}
    if path.is_file():
        gender_of = read_spk2gender(path)
    else:
        above = (folder, *folder.absolute().parents[:2])
        tables = [place / _SPEAKERS for place in above if (place / _SPEAKERS).is_file()]
        if not tables:
            return {}
        path = tables[0]
        gender_of = _read_speakers(path)
    refuse(sorted(set(speakers) - gender_of.keys()), path, "no gender of speakers")
    return {speaker: gender_of[speaker] for speaker in sorted(speakers)}


def _read_speakers(path: Path) -> dict[str, str]:
    gender_of: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.startswith(";"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) < 2 or fields[1].lower() not in SPEAKER_GENDERS:
            raise PrivacyEvalError(f"{path}:{number}: expected SPEAKER | F or M | ...")
        gender_of[fields[0]] = fields[1].lower()
    return gender_of


def _said(
    folder: Path, paths: Collection[Path], utterances: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Read the transcripts beside the audio, or `text` in the folder; and what is missing."""
    tables = sorted(
        table
        for place in {path.parent for path in paths}
        for table in place.glob(f"*{_CHAPTER_WORDS}")
    )
    if (folder / _WORDS).is_file():
        tables = [folder / _WORDS]
    words: dict[str, str] = {}
    for table in tables:
        words |= read_transcripts(table)
    missing = [name for name in utterances if name not in words]
    if not missing:
        return {name: words[name].strip() for name in utterances}, ()
    if not tables:
        return {}, ("no transcripts: no attacker of the words",)
    return {}, (
        f"no attacker of the words: {counted(len(missing), 'utterance')} without transcript: "
        f"{abbreviate(missing)}",
    )
