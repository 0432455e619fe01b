"""Kaldi data folders: utt2spk, spk2gender and the like; parts and unions of folders.

Folders are cut and united as Kaldi's `subset_data_dir.sh` and `combine_data.sh` do it:
lines are copied byte for byte, whatever they say (a wav.scp may hold commands).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from .files import read_bytes, read_text
from .text_table import MAX_FIELD_BYTES, Column, line_number, read_columns

#: Files with a line per utterance.
UTTERANCE_FILES = (
    "utt2spk",
    "segments",
    "text",
    "utt2lang",
    "utt2uniq",
    "utt2dur",
    "utt2num_frames",
    "feats.scp",
    "vad.scp",
)
#: Files with a line per recording; without `segments` an utterance is a recording.
RECORDING_FILES = ("wav.scp", "reco2file_and_channel", "reco2dur")
#: Files with a line per speaker. spk2utt is no source: it is made of utt2spk.
SPEAKER_FILES = ("spk2gender",)
#: Lists that say what a folder is for, and which field of their lines is the utterance.
LISTS = {"enrolls": 0, "trials": 1}
#: What Kaldi adds to a folder when it computes features.
FEATURE_FILES = ("utt2dur", "utt2num_frames", "feats.scp", "vad.scp")

#: The lines of a file by what they begin with, in the file's order.
Table = Mapping[bytes, bytes]

_SHOWN = 5
_MOST_BYTES_SHOWN = 80


@dataclass(frozen=True)
class UtteranceList:
    """The utterances that a list names.

    Attributes
    ----------
    path : Path
    content : bytes
    lines : mapping
        Utterance to the first line of the file, from 1, that names it.
    """

    path: Path
    content: bytes
    lines: Mapping[bytes, int]


@dataclass(frozen=True)
class DataDir:
    """A data folder that was read: the known files that are there."""

    path: Path
    tables: Mapping[str, Table]
    lists: Mapping[str, bytes]


@dataclass(frozen=True)
class NewDataDir:
    """Contents of a data folder to be written, and what its owner should know of it."""

    files: Mapping[str, bytes]
    notes: tuple[str, ...]


def read_utt2spk(path: Path) -> dict[str, str]:
    """Speaker of every utterance.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, an utterance that stands twice.
    """
    utterances, speakers = _read_unique(path, "utterance", "speaker")
    return dict(zip(utterances.tolist(), speakers.tolist(), strict=True))


def read_spk2utt(path: Path) -> dict[str, tuple[str, ...]]:
    """Utterances of every speaker.

    Raises
    ------
    PrivacyEvalError
        With file and line: a speaker without utterances or with two lines, an utterance
        that stands twice, a line that is not UTF-8; an empty file.
    """
    found: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        control = re.search(r"[\x00-\x08\x0b-\x1f]", line.removesuffix("\r"))
        if control:
            raise PrivacyEvalError(
                f"{path}:{number}: control character {ord(control[0]):#04x}, expected text"
            )
        # Like Kaldi, and unlike Python: other white space of Unicode is part of an id.
        speaker, *utterances = re.split("[ \t]+", line.strip(" \t\r"))
        if not speaker:
            continue
        if any(len(name.encode()) > MAX_FIELD_BYTES for name in (speaker, *utterances)):
            raise PrivacyEvalError(f"{path}:{number}: an id of over {MAX_FIELD_BYTES} bytes")
        if not utterances:
            raise PrivacyEvalError(f"{path}:{number}: speaker {speaker!r} has no utterance")
        twice = speaker if speaker in found else next((u for u in utterances if u in seen), None)
        seen.update(utterances)
        if twice is not None or len(set(utterances)) < len(utterances):
            raise PrivacyEvalError(f"{path}:{number}: {twice or 'an utterance'!r} stands twice")
        found[speaker] = tuple(utterances)
    if not found:
        raise PrivacyEvalError(f"{path}: empty file, expected <speaker> <utterance> ...")
    return found


def read_spk2gender(path: Path) -> dict[str, str]:
    """Gender, `f` or `m`, of every speaker; errors as of `read_utt2spk`."""
    speakers, genders = _read_unique(path, "speaker", "f|m")
    found = dict(zip(speakers.tolist(), genders.tolist(), strict=True))
    for row, (speaker, gender) in enumerate(found.items()):
        if gender not in ("f", "m"):
            raise PrivacyEvalError(
                f"{path}:{line_number(genders, row)}: gender of {speaker!r} must be f or m, "
                f"not {gender!r}"
            )
    return found


def _read_unique(path: Path, key: str, value: str) -> tuple[Column, Column]:
    """The two columns of a file; no key stands twice."""
    (keys, values), _ = read_columns(path, (key, value))
    seen: set[str] = set()
    for row, name in enumerate(keys.tolist()):
        if name in seen:
            raise PrivacyEvalError(f"{path}:{line_number(keys, row)}: duplicate {key} {name!r}")
        seen.add(name)
    return keys, values


def read_list(path: Path, kind: str) -> UtteranceList:
    """Read a list of utterances (`enrolls`: the first field of a line) or of trials
    (`trials`: the second of three).

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line; an empty file.
    """
    content = read_bytes(path)
    lines: dict[bytes, int] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        fields = line.split(None, 3)
        if fields and kind == "trials" and len(fields) != 3:
            raise PrivacyEvalError(
                f"{path}:{number}: expected 3 fields (<speaker> <utterance> <target|nontarget>), "
                f"found {'more' if len(fields) > 3 else len(fields)}: {_shown(line)}"
            )
        if fields:
            lines.setdefault(fields[LISTS[kind]], number)
    if not lines:
        raise PrivacyEvalError(f"{path}: empty file, expected a list of {kind}")
    return UtteranceList(path, content, lines)


def read_data_dir(folder: Path) -> DataDir:
    """Read the known files of a data folder.

    Raises
    ------
    PrivacyEvalError
        With file and line: a line of utt2spk or segments with too few fields, what has
        two lines in a file. No utt2spk.
    """
    tables = {
        name: _read_table(folder / name)
        for name in (*UTTERANCE_FILES, *RECORDING_FILES, *SPEAKER_FILES)
        if name == "utt2spk" or (folder / name).is_file()
    }
    lists = {name: read_bytes(folder / name) for name in LISTS if (folder / name).is_file()}
    return DataDir(folder, tables, lists)


def subset_data_dir(source: DataDir, wanted: UtteranceList) -> NewDataDir:
    """The lines of a data folder that belong to the utterances of a list, in their order.

    Raises
    ------
    PrivacyEvalError
        How many utterances the folder lacks, the first five, and the line of the list;
        an utterance without recording or segment, a speaker without gender.
    """
    utterances = source.tables["utt2spk"]
    lacking = [u for u in wanted.lines if u not in utterances]
    if lacking:
        raise PrivacyEvalError(
            f"{wanted.path}:{wanted.lines[lacking[0]]}: "
            f"not in {source.path / 'utt2spk'}: {_some(lacking, 'utterance')}"
        )
    speakers = {_second(line) for u, line in utterances.items() if u in wanted.lines}
    recordings: Mapping[bytes, object] = wanted.lines
    if "segments" in source.tables:
        segments = source.tables["segments"]
        recordings = {_second(segments[u]): None for u in wanted.lines if u in segments}
    tables = {}
    for name, table in source.tables.items():
        if name in SPEAKER_FILES:
            tables[name] = {k: line for k, line in table.items() if k in speakers}
        elif name in RECORDING_FILES:
            tables[name] = {k: line for k, line in table.items() if k in recordings}
        else:
            tables[name] = {k: line for k, line in table.items() if k in wanted.lines}
    return NewDataDir(_files(tables), _check(tables, lambda name: str(source.path / name)))


def combine_data_dirs(sources: Sequence[DataDir]) -> NewDataDir:
    """The sorted union of data folders. A file that only some of them have is left out
    and named in the notes, as are lines that some utterances lack.

    Raises
    ------
    PrivacyEvalError
        What has different lines in two of them, naming both; segments in some of them
        only; a recording, segment or gender that is missing.
    """
    tables: dict[str, Table] = {}
    notes: list[str] = []
    for name in (*UTTERANCE_FILES, *RECORDING_FILES, *SPEAKER_FILES):
        having = [s for s in sources if name in s.tables]
        if len(having) == len(sources):
            union = _union(name, sources)
            tables[name] = {key: union[key] for key in sorted(union)}
        elif having and name == "segments":
            without = next(s for s in sources if name not in s.tables)
            raise PrivacyEvalError(
                f"{having[0].path / name}: there are no segments in {without.path}, so that the "
                "two cannot be combined"
            )
        elif having:
            notes.append(_left_out(name, having, sources))
    files = _files(tables)
    for name in LISTS:
        having = [s for s in sources if name in s.lists]
        if len(having) == len(sources):
            files[name] = _union_of_lists(name, sources)
        elif having:
            notes.append(_left_out(name, having, sources))
    united = sources[0].path.parent / " + ".join(s.path.name for s in sources)
    return NewDataDir(files, (*notes, *_check(tables, lambda name: f"{united}: {name}")))


def write_data_dir(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a data folder, whole or not at all; one that is there is replaced.

    What a killed writer leaves is hidden, and removed by `sweep_data_dir`.

    Raises
    ------
    PrivacyEvalError
        `target` is a link or no folder, or cannot be written.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise PrivacyEvalError(f"{target}: is a link or no folder, and is not written over")
    try:
        with _locked_temporary(target) as temporary:
            new, old = temporary / "new", temporary / "old"
            new.mkdir()
            for name, content in files.items():
                (new / name).write_bytes(content)
            if target.exists():
                os.rename(target, old)
            try:
                os.rename(new, target)
            except BaseException:
                if old.exists():
                    os.rename(old, target)
                raise
    except OSError as error:
        raise PrivacyEvalError(
            f"{target}: cannot be written ({error.strerror or error})"
        ) from error


def sweep_data_dir(target: Path) -> None:
    """Remove temporary folders for `target` whose writer is gone."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.tmp")
    for left in target.parent.iterdir() if target.parent.is_dir() else ():
        if pattern.fullmatch(left.name):
            with contextlib.suppress(OSError), _open_folder(left) as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while it lives
                shutil.rmtree(left)


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Wait until no other process holds the folder so."""
    with _open_folder(folder) as handle:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _locked_temporary(target: Path) -> Iterator[Path]:
    """A new hidden folder beside `target`, locked for as long as its writer lives."""
    prefix = f".{target.name}."
    while True:
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix, suffix=".tmp"))
        with contextlib.suppress(FileNotFoundError), _open_folder(temporary) as handle:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            if temporary.exists():  # not swept between its making and its lock
                try:
                    yield temporary
                finally:
                    shutil.rmtree(temporary, ignore_errors=True)
                return


@contextlib.contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield handle
    finally:
        os.close(handle)


def _read_table(path: Path) -> Table:
    """The lines of a file by their first field, without line ends."""
    need = {"utt2spk": ("utterance", "speaker"), "segments": ("utterance", "recording")}
    fields = need.get(path.name, ())
    table: dict[bytes, bytes] = {}
    for number, line in enumerate(read_bytes(path).split(b"\n"), start=1):
        found = line.split(None, len(fields) or 1)
        if not found:
            continue
        if len(found) < len(fields) or (path.name == "utt2spk" and len(found) > len(fields)):
            described = " ".join(f"<{f}>" for f in fields)
            raise PrivacyEvalError(f"{path}:{number}: expected {described}, found {_shown(line)}")
        if found[0] in table:
            raise PrivacyEvalError(f"{path}:{number}: {_shown(found[0])} stands twice")
        table[found[0]] = line
    return table


def _files(tables: Mapping[str, Table]) -> dict[str, bytes]:
    """The tables as files, with the spk2utt that belongs to utt2spk."""
    files = {
        name: b"".join(b"%s\n" % line for line in table.values()) for name, table in tables.items()
    }
    spoken: dict[bytes, list[bytes]] = {}
    for utterance, line in tables["utt2spk"].items():
        spoken.setdefault(_second(line), []).append(utterance)
    files["spk2utt"] = b"".join(b"%s %s\n" % (s, b" ".join(u)) for s, u in spoken.items())
    return files


def _check(tables: Mapping[str, Table], source: Callable[[str], str]) -> tuple[str, ...]:
    """Make sure that every utterance can be found and every speaker has a gender; what
    other lines are missing."""
    wanted: dict[str, Iterable[bytes]] = {
        "utterance": tables["utt2spk"],
        "speaker": dict.fromkeys(_second(line) for line in tables["utt2spk"].values()),
    }
    if "segments" in tables:
        wanted["recording"] = dict.fromkeys(_second(line) for line in tables["segments"].values())
    notes = []
    for name, table in tables.items():
        what = "speaker" if name in SPEAKER_FILES else "utterance"
        if name in RECORDING_FILES and "segments" in tables:
            what = "recording"
        lacking = [key for key in wanted[what] if key not in table]
        if not lacking:
            continue
        message = f"{source(name)}: no line for {_some(lacking, what)}"
        if name in ("wav.scp", "segments", *SPEAKER_FILES):
            raise PrivacyEvalError(message)
        notes.append(message)
    return tuple(notes)


def _union(name: str, sources: Sequence[DataDir]) -> dict[bytes, bytes]:
    """The lines of a file in all folders."""
    union: dict[bytes, bytes] = {}
    origin: dict[bytes, DataDir] = {}
    for source in sources:
        for key, line in source.tables[name].items():
            if union.setdefault(key, line) != line:
                raise PrivacyEvalError(
                    f"{source.path / name}: another line for {_shown(key)} than in "
                    f"{origin[key].path / name}: {_shown(line)}, not {_shown(union[key])}"
                )
            origin.setdefault(key, source)
    return union


def _union_of_lists(name: str, sources: Sequence[DataDir]) -> bytes:
    """The lines of a list in all folders, in order, each once."""
    lines: dict[tuple[bytes, ...], bytes] = {}
    labels: dict[tuple[bytes, ...], tuple[Path, tuple[bytes, ...]]] = {}
    for source in sources:
        path = source.path / name
        for number, line in enumerate(source.lists[name].split(b"\n"), start=1):
            fields = tuple(line.split())
            if not fields:
                continue
            lines.setdefault(fields, line)
            first, label = labels.setdefault(fields[:2], (path, fields[2:]))
            if label != fields[2:]:
                raise PrivacyEvalError(
                    f"{path}:{number}: another label than in {first}: {_shown(line)}"
                )
    return b"".join(b"%s\n" % line for line in lines.values())


def _left_out(name: str, having: Sequence[DataDir], sources: Sequence[DataDir]) -> str:
    there = ", ".join(s.path.name for s in having)
    lacking = ", ".join(s.path.name for s in sources if s not in having)
    return f"{name} left out: there in {there}, not in {lacking}"


def _second(line: bytes) -> bytes:
    """The second field of a line that has one."""
    return line.split(None, 2)[1]


def _some(names: Sequence[bytes], what: str) -> str:
    """How many, and the first five."""
    more = ", ..." if len(names) > _SHOWN else ""
    shown = ", ".join(_shown(name) for name in names[:_SHOWN])
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''}: {shown}{more}"


def _shown(text: bytes) -> str:
    """An id or a line, as far as it fits into a message."""
    more = "..." if len(text) > _MOST_BYTES_SHOWN else ""
    return repr(text[:_MOST_BYTES_SHOWN].decode("utf-8", "backslashreplace")) + more
