"""Read a folder of somebody's speech: speakers, sessions, genders and transcripts from its layout.

LibriSpeech's layout is recognized at any depth, SPEAKER/CHAPTER/SPEAKER-CHAPTER-NUMBER.flac with
SPEAKERS.TXT and *.trans.txt. In others, the folders of one level are the speakers, and those within
them sessions. SPEAKER/FILE is taken as such; which of several levels it is must be chosen, or be
told by a list of speakers or by file names that begin with the speaker. Speech of two people under
one name looks private whatever was done to it, so nothing is guessed.
"""

from __future__ import annotations

import os
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...choices import grouped
from ...errors import InputWarning, PrivacyEvalError, abbreviate, counted, printable, refuse_names
from ...io.data_dir import SPEAKER_GENDERS, read_spk2gender, read_utt2spk
from ...io.files import opened, read_text
from ...io.transcripts import read_transcripts
from ..audio import SUFFIXES, kind_of_audio

#: Tables of corpora: what separates their columns, and which of them is the gender.
_TABLES = {"SPEAKERS.TXT": ("|", 1), "speaker-info.txt": (None, 2)}
_GENDERS, _UTT2SPK, _WORDS, _CHAPTER_WORDS = "spk2gender", "utt2spk", "text", ".trans.txt"
#: How the same utterance is named where several microphones recorded it, as in VCTK.
_MICROPHONE = re.compile(r"(.+)[_-]mic\d+")
#: A folder of LibriSpeech, LibriTTS or MLS, and of one of its speakers' chapters or books.
_CHAPTER = re.compile(r"(\d+)[-_](\d+)[-_].+")
#: Names of groups of people: nobody is in two of them.
_GROUP = re.compile(
    r"f|m|(fe)?males?|(wo)?m[ae]n|boys?|girls?|kids|child(ren)?|adults?|teens|seniors?|old|young|"
    r"patients?|controls?|healthy|hc|pd|[2-9]0s|(non-?)?natives?|(north|south|east|west)(ern)?|"
    r"(dr|region|accent|dialect|group|grp|class)[-_ ]?\d+",
    re.IGNORECASE,
)
#: Names of parts of a corpus, of recordings (dates, and AMI's, ICSI's and Switchboard's ids) or of
#: ways of speaking, alone or within a name: who is recorded twice has two such folders.
_PART = re.compile(
    r"(.+[-_. ])?((train(ing)?|dev(el(opment)?)?|test(ing)?|eval(uation)?|val(id(ation|ated)?)?|"
    r"enrol(l|ls|lment|ment)?|trials?|orig(inal)?|anon(ymi[sz]ed)?|source|target|before|after|"
    r"raw|processed|clean|noisy|other|bona-?fide|spoof|fake|data(set)?|corpus|audios?|speech|"
    r"speakers|recordings?|clips?|utterances|sentences|sounds?|wavs?|flac|libri\w*|vctk|timit|"
    r"voxceleb|sessions?|ses|parts?|dis[ck]s?|cd|vol(ume)?|batch|fold|split|(sub)?set|takes?|"
    r"mic(rophone)?s?|channels?|(tele)?phones?|iphone|android|tablet|headset|noises?|laptop|studio|dialog(ue)?s?|dlg|conv(ersation)?s?|"
    r"meetings?|calls?|scripted|impro(vised)?|spontaneous|anger|angry|happy|happiness|sad(ness)?|"
    r"neutral|fear(ful)?|disgust(ed)?|surprised?|calm|bored(om)?|excited|frustrated|english|"
    r"french|german|mandarin|spanish|(mon|tues|wednes|thurs|fri|satur|sun)day)[-_ ]?\d*|(day|"
    r"week|month|visit|round|phase|block|run|rec|room|rm|ch|sess?|list|book|chapter|wav|"
    r"level)[-_ ]?\d+[a-z]?|(19|20)\d\d[-_]?[01]\d[-_]?[0-3]\d|(e[ns]|is|ts)\d{4}[a-d]|"
    r"i[bn]\d{4}|b(db|ed|mr|ns|ro|sr|tr)\d{3}|sw\d{4,5})([-_. ].+)?",
    re.IGNORECASE,
)


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
    taken_from : str
        What tells the speakers.
    level : int, optional
        That of the speakers' folders, 1 for the first; None in LibriSpeech's layout.
    recurring : tuple of str
        Which of them have folders in several places.
    """

    audio: Mapping[str, Path]
    speaker_of: Mapping[str, str]
    session_of: Mapping[str, str]
    gender_of: Mapping[str, str]
    said: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    taken_from: str = ""
    level: int | None = None
    recurring: tuple[str, ...] = ()

    @property
    def speakers(self) -> str:
        """What was taken for speakers: how, how many, and the first names."""
        names = sorted(set(self.speaker_of.values()))
        return printable(f"({self.taken_from}): {len(names)}: {abbreviate(names)}")

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to check of the speakers."""
        odd = not_speakers(sorted(set(self.speaker_of.values())))
        return *self.recurring, *[f"check that these are speakers: {abbreviate(odd)}"] * bool(odd)


def audio_files(folder: Path) -> dict[Path, list[Path]]:
    """List the recordings below a folder: files with the content or a suffix of audio; hidden ones
    are skipped. Each is mapped to all with the same name but for what follows its dot.

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
        files += filter(_is_audio, visible)
    alike = grouped(files, lambda path: (path.parent, path.stem))
    return {paths[0]: paths for paths in alike.values()}


def _is_audio(path: Path) -> bool:
    """Tell audio by its name, or by how it begins."""
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        with opened(path, path) as file:
            return bool(kind_of_audio(file.read(32)))
    except PrivacyEvalError:
        return False


def read_speech_folder(
    folder: Path, *, level: int | None = None, known: Collection[str] = ()
) -> SpeechFolder:
    """Read the utterances of a folder, and what its layout tells about them.

    Parameters
    ----------
    level : int, optional
        Level of the speakers' folders, 1 for those in `folder`.
    known : collection of str
        Speakers of a list, which may tell the level.

    Raises
    ------
    PrivacyEvalError
        No audio; audio outside of any speaker's folder; folders that may not be the speakers; two
        files of one utterance; the same utterance from several microphones; a damaged list;
        speakers without gender in a list.
    """
    paths = list(audio_files(folder))
    if not paths:
        raise PrivacyEvalError(f"{folder}: no audio in it")
    table, gender_of = _genders(folder)
    listed = folder / _UTT2SPK
    lists = composed_table(read_utt2spk(listed), listed) if listed.is_file() else {}
    of_list = {*lists.values()}
    placed = recognized = _librispeech(paths)
    if level or not placed:
        parts = [path.relative_to(folder).with_suffix("").parts for path in paths]
        form = composed({part for names in parts for part in names}, folder)
        parts = [tuple("_".join(form[part].split()) for part in names) for names in parts]
        level = level or _speaker_level(folder, parts, (of_list, gender_of.keys(), set(known)))
        placed = _by_level(folder, parts, level)
    names = Counter(name for name, _, _ in placed)
    refuse([n for n, c in names.items() if c > 1], folder, "two audio files of one utterance")
    recorded = Counter(m[1] for name in names if (m := _MICROPHONE.fullmatch(name)))
    problem = "utterances of several microphones (keep the files of one)"
    refuse([n for n, c in recorded.items() if c > 1], folder, problem)
    rows = sorted(zip(placed, paths, strict=True))
    audio = {name: path for (name, _, _), path in rows}
    speaker_of = {name: speaker for (name, speaker, _), _ in rows}
    speakers = sorted(set(speaker_of.values()))
    by_names = {speaker for _, speaker, _ in recognized}.difference(speakers)
    problem = f"speakers by LibriSpeech's layout are not at level {level}; list them by --utt2spk"
    refuse(sorted(by_names), folder, f"{problem} or --training-utt2spk")
    unlisted = [s for s in speakers if of_list and s not in of_list]
    refuse(unlisted, listed, "folders that are none of its speakers (--utt2spk reads it)")
    unknown = [s for s in speakers if gender_of and s not in gender_of]
    refuse(unknown, table, "no gender of speakers")
    said, remarks = _said(folder, paths, audio)
    end = len(folder.parts) + level if level else -2
    return SpeechFolder(
        audio,
        speaker_of,
        {name: session for (name, _, session), _ in rows},
        {speaker: gender_of[speaker] for speaker in speakers if gender_of},
        said,
        remarks,
        f"level {level}, folders" if level else "LibriSpeech's layout",
        level,
        _recurring(folder, {(speaker, path.parts[:end]) for (_, speaker, _), path in rows}),
    )


def not_speakers(names: Collection[str]) -> list[str]:
    """Return the names that no speaker has, as far as known; a letter is one only among such.

    Examples
    --------
    >>> not_speakers(["DR1", "train-clean-100", "OAF_angry"]), not_speakers(["f", "m"])
    (['DR1', 'train-clean-100', 'OAF_angry'], ['f', 'm'])
    >>> not_speakers(["e", "f", "g"]), not_speakers(["p225", "F01", "Actor_01", "female_2"])
    ([], [])
    """
    odd = [name for name in names if _GROUP.fullmatch(name) or _PART.fullmatch(name)]
    return odd if len(odd) == len(names) or max(map(len, odd), default=0) > 1 else []


def refuse(names: Collection[str], where: Path, problem: str) -> None:
    """Raise an error that names the first of what has a problem, if anything has.

    Raises
    ------
    PrivacyEvalError
    """
    refuse_names(names, f"{where}: {problem}: {len(names)}")


#: Utterance, speaker and session of a file.
_Placed = tuple[str, str, str]


def _librispeech(paths: Collection[Path]) -> list[_Placed]:
    """Return utterance, speaker and chapter of every file, or nothing if any is named otherwise."""
    placed = []
    for path in paths:
        *_, speaker, chapter, _ = path.absolute().parts
        if not (m := _CHAPTER.fullmatch(path.stem)) or (m[1], m[2]) != (speaker, chapter):
            return []
        placed.append((path.stem, speaker, chapter))
    return placed


def _speaker_level(
    folder: Path, parts: Sequence[tuple[str, ...]], lists: Iterable[Collection[str]]
) -> int:
    """Return the level of the speakers' folders: the only one, or that of a list of speakers or of
    the beginnings of file names, which only groups and parts of a corpus are above."""
    depths = {len(names) - 1 for names in parts}
    at = [sorted({names[n] for names in parts}) for n in range(min(depths))]
    found = [n for n, names in enumerate(at) if any({*names} <= {*known} for known in lists)]
    if not found and max(depths) < 2:
        found = [0]
    elif not found:
        # `p1_2` is named after `p1`, and not after `p`; of others, the x remains.
        rests = [[f"x{p[-1]}".removeprefix(f"x{name}")[:1] for name in p[:-1]] for p in parts]
        found = [n for n in range(len(at)) if not any(rest[n].isalnum() for rest in rests)]
        above = {name for names in at[: found[0]] for name in names} if found else set[str]()
        is_plain = len(not_speakers(above)) == len(above) and not _tell_more(parts, found)
        found = found if is_plain else []
    odd = not_speakers(at[found[0]]) if len(found) == 1 and at else []
    if len(found) == 1 and not odd:
        return found[0] + 1
    levels = ""
    for n in range(max(depths)):
        folders = {names[: n + 1] for names in parts if len(names) > n + 1}
        names = sorted({path[n] for path in folders})
        of = f" of {counted(len(names), 'name')}" * (len(names) < len(folders))
        levels += f"; level {n + 1}: {counted(len(folders), 'folder')}{of}: {abbreviate(names)}"
    which = "it is not plain which folders are the speakers"
    which = f"folders look like no speakers: {abbreviate(odd)}" if odd else which
    raise PrivacyEvalError(
        f"{folder}: {which}{levels}; choose --speaker-level N, or list the speakers by "
        "--utt2spk, of training speech by --training-utt2spk"
    )


def _tell_more(parts: Sequence[tuple[str, ...]], levels: Sequence[int]) -> bool:
    """Tell whether file names tell a folder below a level, too: american/kim/american_kim_1.wav."""
    told: dict[tuple[str, ...], set[str]] = {}
    for names in parts if levels else ():
        level = levels[0]
        if len(names) > level + 2:
            words = re.findall(r"[^\W_]+", names[-1].removeprefix(names[level]))
            told.setdefault(names[: level + 2], set()).add(words[0] if words else "")
    words_of = [words for words in told.values() if len(words) == 1]
    several = len({word for words in words_of for word in words}) > 1
    return several and len(words_of) == len(told) < len(parts)


def _by_level(folder: Path, parts: Sequence[tuple[str, ...]], level: int) -> list[_Placed]:
    """Return utterance, speaker and session of every file by the folders that it is in.

    An utterance is named by its file if those names are unique and begin with the speaker, as Kaldi
    needs them; otherwise by folders and file, the speaker first. The other folders tell sessions.
    """
    outside = ["/".join(names) for names in parts if len(names) <= level]
    remedy = f"which is at level {level}; move it, or list the speakers by --utt2spk"
    refuse(outside, folder, f"audio outside of a speaker's folder, {remedy}")
    named = len({n[-1] for n in parts}) == len(parts)
    named = named and all(n[-1].startswith(n[level - 1]) for n in parts)
    placed = []
    for *folders, stem in parts:
        speaker = folders.pop(level - 1)
        name = stem if named else "-".join((speaker, *folders, stem))
        placed.append((name, speaker, "/".join(folders)))
    return placed


def _recurring(folder: Path, places: Collection[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """Say which speakers have folders in several places; refuse those in two groups of people."""
    several, mixed = list[str](), list[str]()
    for speaker, pairs in grouped(sorted(places), lambda pair: pair[0]).items():
        of = [place for _, place in pairs]
        groups = {tuple(filter(_GROUP.fullmatch, place)) for place in of}
        where = f"{speaker} ({' and '.join('/'.join(place[-2:]) for place in of[:2])})"
        (several if len(groups) == 1 else mixed).extend([where] * (len(of) > 1))
    remedy = "rename them, or list the speakers by --utt2spk"
    refuse(mixed, folder, f"folders of one name for different people ({remedy})")
    taken = f"folders of one name are taken for one speaker (else {remedy}): {len(several)}: "
    return (f"{taken}{abbreviate(several)}",) if several else ()


def _genders(folder: Path) -> tuple[Path, dict[str, str]]:
    """Read the genders of speakers from `spk2gender` in the folder, or from a corpus's table there
    or up to two folders above."""
    path = folder / _GENDERS
    if path.is_file():
        return path, composed_table(read_spk2gender(path), path)
    for place in (folder, *folder.absolute().parents[:2]):
        for name, columns in _TABLES.items():
            if (place / name).is_file():
                return place / name, _read_speakers(place / name, *columns)
    return path, {}


def _read_speakers(path: Path, separator: str | None, column: int) -> dict[str, str]:
    """Read the genders of a corpus's table."""
    gender_of: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        fields = [field.strip() for field in line.split(separator)]
        if not line.strip() or line.startswith(";") or fields[0] == "ID":
            continue
        if len(fields) <= column or fields[column].lower() not in SPEAKER_GENDERS:
            raise PrivacyEvalError(f"{path}:{number}: no F or M in column {column + 1}")
        # VCTK's folder p225 is listed as p225 or, in its first versions, as 225.
        name = f"p{fields[0]}" if not separator and fields[0].isdigit() else fields[0]
        gender_of[name] = fields[column].lower()
    return gender_of


def _said(
    folder: Path, paths: Collection[Path], utterances: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Read the transcripts beside the audio, or `text` in the folder; and what is missing."""
    places = {path.parent for path in paths}
    tables = sorted(table for at in places for table in at.glob(f"*{_CHAPTER_WORDS}"))
    if (folder / _WORDS).is_file():
        tables = [folder / _WORDS]
    words: dict[str, str] = {}
    for table in tables:
        words |= composed_table(read_transcripts(table), table)
    missing = [name for name in utterances if name not in words]
    if not missing:
        return {name: words[name].strip() for name in utterances}, ()
    if not tables:
        return {}, ("no transcripts: no attacker of the words",)
    without = f"{counted(len(missing), 'utterance')} without transcript: {abbreviate(missing)}"
    return {}, (f"no attacker of the words: {without}",)


def composed(names: Iterable[str], where: object) -> dict[str, str]:
    """Map names to their composed form (NFC); macOS decomposes those of files (NFD).

    Parameters
    ----------
    where : object
        Beginning of messages.

    Raises
    ------
    PrivacyEvalError
        Two names have one form.

    Examples
    --------
    >>> composed(["Zoe"], "wav")
    {'Zoe': 'Zoe'}
    """
    form = {name: unicodedata.normalize("NFC", name) for name in sorted(names)}
    if twice := [n for n, count in Counter(form.values()).items() if count > 1]:
        text = f"names that differ only in Unicode's form (composed or not): {abbreviate(twice)}"
        raise PrivacyEvalError(f"{where}: {text}; rename one of each")
    if changed := [form[name] for name in form if form[name] != name]:
        text = f"{len(changed)} decomposed names, as of macOS, are read as composed ones"
        warnings.warn(f"{where}: {text}: {abbreviate(changed)}", InputWarning, stacklevel=2)
    return form


def composed_table(table: Mapping[str, str], where: object) -> dict[str, str]:
    """Return a table with composed names and values, see `composed`."""
    form = composed(table, where)
    return {form[name]: unicodedata.normalize("NFC", value) for name, value in table.items()}
