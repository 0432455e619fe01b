"""Kaldi data folders: utt2spk, spk2gender and the like; subsets and unions of folders.

Subsets and unions are those of Kaldi's `subset_data_dir.sh` and `combine_data_dir.sh`: lines
are copied byte for byte without interpretation (a wav.scp may contain commands).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from ..choices import grouped, missing_among
from ..errors import PrivacyEvalError, abbreviate, counted, refuse_names, shorten
from .csv_text import SPEAKERS, UTTERANCES, is_header, read_table
from .files import MAX_TEXT_BYTES, Loaded, ask_if_cut, atomic_folder, load, read_bytes, read_text
from .names import decode_id

#: Files that Kaldi adds to a folder when it computes features.
FEATURE_FILES = ("utt2dur", "utt2num_frames", "feats.scp", "vad.scp")
#: Files with a line per utterance.
UTTERANCE_FILES = ("utt2spk", "segments", "text", "utt2lang", "utt2uniq", *FEATURE_FILES)
#: Files with a line per recording; without `segments` an utterance is a recording.
RECORDING_FILES = ("wav.scp", "reco2file_and_channel", "reco2dur")
#: Files with a line per speaker. spk2utt is not read: it follows from utt2spk.
SPEAKER_FILES = ("spk2gender",)
#: Lists of enrollment utterances or trials, and the field of the utterance in their lines.
LISTS = {"enrolls": 0, "trials": 1}

#: The lines of a file by their first field, in the file's order.
Table = Mapping[bytes, bytes]
#: Reads a file.
Load = Callable[[Path], Loaded]
#: Files of a data folder to be written, and warnings: files and lines that are missing.
NewDataDir = tuple[Mapping[str, bytes], tuple[str, ...]]

#: Patterns of the columns of tables with a header, by what messages call them.
_COLUMNS = {
    **{"utterance": UTTERANCES, "speaker": SPEAKERS, "f|m": "gender|sex"},
    "seconds": "(utt2)?dur(ation)?s?|sec(ond)?s|length|duration(sec(ond)?)?s?",
}

_ANY_ID = "ids?|name|key"

_ALL_FILES = (*UTTERANCE_FILES, *RECORDING_FILES, *SPEAKER_FILES)
_MOST_BYTES_SHOWN = 80

#: Genders of speakers in `spk2gender`; sets may have others, such as mixed ones.
SPEAKER_GENDERS = ("f", "m")


def read_utt2spk(path: Path | Loaded) -> dict[str, str]:
    """Read the speaker of every utterance: Kaldi's lines, or a table with these columns.

    Returns
    -------
    dict of str to str
        In the file's order.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a duplicate utterance, a missing speaker, such as
        None.
    """
    rows = _read_unique(path, "utterance", "speaker")
    speaker_of = {utterance: speaker for _, utterance, speaker in rows}
    missing = missing_among({*speaker_of.values()})
    # Kaldi's ids begin with the speaker's, who may be called as elsewhere a missing one.
    without = [row for row in rows if row[2] in missing and not row[1].startswith(row[2])]
    if without:
        line, _, speaker = without[0]
        raise PrivacyEvalError(
            f"{path}:{line}: no speaker of {counted(len(without), 'utterance')}, but {speaker!r}: "
            f"{abbreviate([u for _, u, _ in without])}; leave them out, or name one"
        )
    return speaker_of


def utterance_of(crop: str) -> str:
    """Return the utterance of a crop, `<utterance>-c<k>`; "" of another id."""
    utterance, _, number = crop.rpartition("-c")
    return utterance * number.isdecimal()


def speakers_of_crops(utt2spk: Path | Loaded, ids: Iterable[str]) -> dict[str, str]:
    """Read the speakers of utterances, or of crops: those of their utterances.

    Raises
    ------
    PrivacyEvalError
        As `read_utt2spk`; an utterance without a speaker.
    """
    of = read_utt2spk(utt2spk)
    spoken = {u: of.get(u, "") or of.get(utterance_of(u), "") for u in ids}
    unknown = [u for u, speaker in spoken.items() if not speaker]
    refuse_names(unknown, f"{utt2spk}: no speaker of {counted(len(unknown), 'utterance')}")
    return spoken


def read_spk2utt(path: Path | Loaded) -> dict[str, tuple[str, ...]]:
    """Read the utterances of every speaker.

    Raises
    ------
    PrivacyEvalError
        With file and line: a speaker without utterances, a duplicate speaker or utterance, a
        line that is not UTF-8; an empty file.
    """
    utterances_of: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    content = read_bytes(path, max_bytes=MAX_TEXT_BYTES)
    ask_if_cut(path, content)
    for number, line in enumerate(content.split(b"\n"), start=1):
        words = line.removesuffix(b"\r").replace(b"\t", b" ").split(b" ")
        if not any(words):
            continue
        speaker, *utterances = (decode_id(word, f"{path}:{number}") for word in words if word)
        if not utterances:
            raise PrivacyEvalError(f"{path}:{number}: speaker {speaker!r} has no utterance")
        if speaker in utterances_of:
            raise PrivacyEvalError(f"{path}:{number}: duplicate speaker {speaker!r}")
        for utterance in utterances:
            if utterance in seen:
                raise PrivacyEvalError(f"{path}:{number}: duplicate utterance {utterance!r}")
            seen.add(utterance)
        utterances_of[speaker] = tuple(utterances)
    if not utterances_of:
        raise PrivacyEvalError(f"{path}: empty file, expected <speaker> <utterance> ...")
    return utterances_of


def read_utt2dur(path: Path | Loaded, utterances: Iterable[str]) -> dict[str, float]:
    """Read the durations of utterances in seconds.

    Returns
    -------
    dict of str to float
        Of all utterances of the file.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a duplicate utterance, a duration that is no positive
        number; one of `utterances` without a duration.
    """
    from .text_table import is_number

    seconds: dict[str, float] = {}
    for line, name, text in _read_unique(path, "utterance", "seconds"):
        if not is_number(text) or not 0 < float(text) < math.inf:
            raise PrivacyEvalError(
                f"{path}:{line}: expected seconds, a positive number, found {shorten(text)!r}"
            )
        seconds[name] = float(text)
    missing = [u for u in utterances if u not in seconds]
    refuse_names(missing, f"{path}: no duration of {counted(len(missing), 'utterance')}")
    return seconds


def read_spk2gender(path: Path | Loaded) -> dict[str, str]:
    """Read the gender of every speaker: f or m, or F or M as in other corpora's lists.

    Returns
    -------
    dict of str to {"f", "m"}
        In lower case.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a duplicate speaker, another gender.
    """
    gender_of: dict[str, str] = {}
    for line, speaker, gender in _read_unique(path, "speaker", "f|m"):
        if gender.lower() not in SPEAKER_GENDERS:
            raise PrivacyEvalError(
                f"{path}:{line}: gender of {speaker!r} must be f or m, not {gender!r}"
            )
        gender_of[speaker] = gender.lower()
    return gender_of


def _read_unique(path: Path | Loaded, key: str, value: str) -> list[tuple[int, str, str]]:
    """Read a file of two columns, or these of a table with a header; keys are distinct. Return
    line, key and value of each row."""
    from .text_table import numbered, split_columns

    content, path = read_bytes(path), Path(path)
    first, columns = content[:1024].partition(b"\n")[0], (_COLUMNS[key], _COLUMNS[value])
    if is_header(first.decode("utf-8", "replace"), f"{columns[0]}|{_ANY_ID}", columns[1]):
        table = read_table(read_text(Loaded(path, content)), path)
        places = [n for c in columns if (n := table.find(c, _ANY_ID)) is not None]
        rows = numbered(*map(table.column, places))
    else:
        ask_if_cut(path, content)
        rows = numbered(*split_columns(content, (key, value), path))
    seen: set[str] = set()
    for line, name, _ in rows:
        if name in seen:
            raise PrivacyEvalError(f"{path}:{line}: duplicate {key} {name!r}")
        seen.add(name)
    return rows


def read_list(path: Path | Loaded, kind: str) -> dict[bytes, int]:
    """Read a list of utterances or of trials.

    Parameters
    ----------
    kind : {"enrolls", "trials"}
        Utterances are the first field of a line, or the second of three.

    Returns
    -------
    dict of bytes to int
        Utterance to the first line of the file, from 1, that names it.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line; an empty file.
    """
    content = read_bytes(path)
    ask_if_cut(path, content)
    lines: dict[bytes, int] = {}
    for number, line in enumerate(content.split(b"\n"), start=1):
        fields = line.split(None, 3)
        if fields and kind == "trials" and len(fields) != 3:
            raise PrivacyEvalError(
                f"{path}:{number}: expected 3 fields (<speaker> <utterance> <target|nontarget>), "
                f"found {'more' if len(fields) > 3 else len(fields)}: {_quote(line)}"
            )
        if fields:
            lines.setdefault(fields[LISTS[kind]], number)
    if not lines:
        raise PrivacyEvalError(f"{path}: empty file, expected a list of {kind}")
    return lines


def _read_tables(folder: Path, load: Load) -> dict[str, Table]:
    """Read the known files of a data folder but for lists, by name."""
    return {
        name: _read_table(load(folder / name))
        for name in _ALL_FILES
        if name == "utt2spk" or (folder / name).is_file()
    }


def subset_data_dir(folder: Path, selection: Loaded, kind: str, load: Load = load) -> NewDataDir:
    """Select the lines of a data folder that belong to the utterances of a list.

    Parameters
    ----------
    folder : Path
    selection : Loaded
        The list, which becomes a file of the new folder.
    kind : {"enrolls", "trials"}
        See `read_list`.
    load : callable
        Reads a file.

    Returns
    -------
    NewDataDir
        Lines in the order of the source.

    Raises
    ------
    PrivacyEvalError
        As `read_list`; with file and line: a line of utt2spk or segments with too few fields, a
        duplicate key; no utt2spk; how many utterances the folder does not have, the first five, and
        the line of the list; an utterance without recording or segment, a speaker without gender.
    """
    source, lines = _read_tables(folder, load), read_list(selection, kind)
    missing = [u for u in lines if u not in source["utt2spk"]]
    if missing:
        raise PrivacyEvalError(
            f"{selection}:{lines[missing[0]]}: "
            f"not in {folder / 'utt2spk'}: {_abbreviate_count(missing, 'utterance')}"
        )
    selected = {
        name: {u: line for u, line in table.items() if u in lines}
        for name, table in source.items()
        if name in ("utt2spk", "segments")
    }
    keys = _keys(selected)
    tables = {
        name: {k: line for k, line in table.items() if k in keys[_line_key(name, keys)]}
        for name, table in source.items()
    }
    files = {**_files(tables), kind: selection.content}
    return files, _check(tables, lambda name: str(folder / name))


def combine_data_dirs(folders: Sequence[Path], load: Load = load) -> NewDataDir:
    """Combine data folders.

    Parameters
    ----------
    folders : sequence of Path
    load : callable
        Reads a file.

    Returns
    -------
    NewDataDir
        Sorted lines. A file that only some of the folders have is skipped and named in the
        notes, as are lines that some utterances do not have.

    Raises
    ------
    PrivacyEvalError
        A malformed file, as of `subset_data_dir`; different lines for one key, naming both files;
        segments in some of the folders only; a recording, segment or gender that is missing.
    """
    sources = {folder: _read_tables(folder, load) for folder in folders}
    tables: dict[str, Table] = {}
    lists: dict[str, bytes] = {}
    notes: list[str] = []
    for name in (*_ALL_FILES, *LISTS):
        is_list = name in LISTS
        having = [f for f in folders if ((f / name).is_file() if is_list else name in sources[f])]
        if len(having) == len(folders) and is_list:
            lists[name] = _union_of_lists([load(folder / name) for folder in folders])
        elif len(having) == len(folders):
            union = _union({folder / name: of[name] for folder, of in sources.items()})
            tables[name] = {key: union[key] for key in sorted(union)}
        elif having and name == "segments":
            without = next(f for f in folders if f not in having)
            raise PrivacyEvalError(
                f"{having[0] / name}: {without} has no segments file to combine it with"
            )
        elif having:
            present = ", ".join(f.name for f in having)
            missing = ", ".join(f.name for f in folders if f not in having)
            notes.append(
                f"has no {name}: missing in {missing}, but in {present}: restore it, run again"
            )
    combined = folders[0].parent / " + ".join(f.name for f in folders)
    files = {**_files(tables), **lists}
    return files, (*notes, *_check(tables, lambda name: f"{combined}: {name}"))


def write_data_dir(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a data folder, whole or not at all; an existing one is replaced.

    Raises
    ------
    PrivacyEvalError
        `target` is a symbolic link or no folder, or cannot be written.
    """
    with atomic_folder(target) as new:
        for name, content in files.items():
            (new / name).write_bytes(content)


def _read_table(file: Loaded) -> Table:
    """Read the lines of a file by their first field, without line ends."""
    need = {"utt2spk": ("utterance", "speaker"), "segments": ("utterance", "recording")}
    fields = need.get(file.path.name, ())
    table: dict[bytes, bytes] = {}
    for number, line in enumerate(file.content.split(b"\n"), start=1):
        parts = line.split(None, len(fields) or 1)
        if not parts:
            continue
        if len(parts) < len(fields) or (file.path.name == "utt2spk" and len(parts) > len(fields)):
            described = " ".join(f"<{f}>" for f in fields)
            raise PrivacyEvalError(f"{file}:{number}: expected {described}, found {_quote(line)}")
        if parts[0] in table:
            raise PrivacyEvalError(f"{file}:{number}: duplicate {_quote(parts[0])}")
        table[parts[0]] = line
    return table


def _files(tables: Mapping[str, Table]) -> dict[str, bytes]:
    """Return the tables as files, with the spk2utt that belongs to utt2spk."""
    files = {
        name: b"".join(b"%s\n" % line for line in table.values()) for name, table in tables.items()
    }
    utt2spk = tables["utt2spk"]
    utterances_of = grouped(utt2spk, lambda utterance: _second(utt2spk[utterance]))
    files["spk2utt"] = b"".join(b"%s %s\n" % (s, b" ".join(u)) for s, u in utterances_of.items())
    return files


def _keys(tables: Mapping[str, Table]) -> dict[str, Collection[bytes]]:
    """Collect the utterances, speakers and, with segments, recordings of utt2spk and segments."""
    keys: dict[str, Collection[bytes]] = {
        "utterance": tables["utt2spk"],
        "speaker": dict.fromkeys(map(_second, tables["utt2spk"].values())),
    }
    if "segments" in tables:
        keys["recording"] = dict.fromkeys(map(_second, tables["segments"].values()))
    return keys


def _line_key(name: str, keys: Collection[str]) -> str:
    """Return the kind of key of a file's lines; recordings only if there are segments."""
    if name in SPEAKER_FILES:
        return "speaker"
    return "recording" if name in RECORDING_FILES and "recording" in keys else "utterance"


def _check(tables: Mapping[str, Table], source: Callable[[str], str]) -> tuple[str, ...]:
    """Make sure that every utterance has a recording and every speaker a gender; return
    which other lines are missing."""
    keys = _keys(tables)
    notes = []
    for name, table in tables.items():
        what = _line_key(name, keys)
        missing = [key for key in keys[what] if key not in table]
        if missing:
            message = f"{source(name)}: no line for {_abbreviate_count(missing, what)}"
            if name in ("wav.scp", "segments", *SPEAKER_FILES):
                raise PrivacyEvalError(message)
            notes.append(message)
    return tuple(notes)


def _union(tables: Mapping[Path, Table]) -> dict[bytes, bytes]:
    """Return the lines of a file in all folders."""
    union: dict[bytes, bytes] = {}
    origin: dict[bytes, Path] = {}
    for path, table in tables.items():
        for key, line in table.items():
            if union.setdefault(key, line) != line:
                raise PrivacyEvalError(
                    f"{path}: another line for {_quote(key)} than in {origin[key]}: "
                    f"{_quote(line)}, not {_quote(union[key])}"
                )
            origin.setdefault(key, path)
    return union


def _union_of_lists(files: Iterable[Loaded]) -> bytes:
    """Return the lines of a list in all folders, in order, each once."""
    lines: dict[tuple[bytes, ...], bytes] = {}
    labels: dict[tuple[bytes, ...], tuple[Loaded, tuple[bytes, ...]]] = {}
    for file in files:
        for number, line in enumerate(file.content.split(b"\n"), start=1):
            fields = tuple(line.split())
            if not fields:
                continue
            lines.setdefault(fields, line)
            first, label = labels.setdefault(fields[:2], (file, fields[2:]))
            if label != fields[2:]:
                raise PrivacyEvalError(
                    f"{file}:{number}: another label than in {first}: {_quote(line)}"
                )
    return b"".join(b"%s\n" % line for line in lines.values())


def _second(line: bytes) -> bytes:
    """Return the second field of a line that has one."""
    return line.split(None, 2)[1]


def _abbreviate_count(names: Sequence[bytes], what: str) -> str:
    """Format the number of names and the first five."""
    return f"{counted(len(names), what)}: {abbreviate([_quote(name) for name in names[:6]])}"


def _quote(text: bytes) -> str:
    """Quote an id or a line for a message, truncated if long."""
    more = "..." if len(text) > _MOST_BYTES_SHOWN else ""
    return repr(text[:_MOST_BYTES_SHOWN].decode("utf-8", "backslashreplace")) + more
