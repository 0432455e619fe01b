"""Transcripts: the words of utterances and segments, and pairs of references and hypotheses.

A format is a row of `LINE_FORMATS`; tables and JSON are read by the names in `COLUMNS`. Kaldi's
text, whose lines may hold anything, is what no row recognizes, not even one of `_FOREIGN`.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ..errors import InputWarning, PrivacyEvalError, abbreviate, refuse_names
from .csv_text import csv_rows
from .files import Loaded, ask_if_cut, read_text
from .names import BLANKS, MAX_FIELD_BYTES
from .schema import parse_json

#: Lines of a file from which its format is recognized.
_SAMPLE = 1000
#: Control characters but tabs; one is a lone carriage return, which ends no line of Kaldi's.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
#: A time that a format does not have.
UNKNOWN = Decimal(-1)

_TIME = "(?:[0-9]+[.]?[0-9]*|[.][0-9]+)"
_PLACE = r"(?!SPEAKER\s)(?P<recording>\S+)\s+(?P<channel>\S+)\s+"
#: A channel, of lines that might as well be words, which decimals follow.
_SURE_PLACE = r"\S+\s+(?:[A-Za-z_]*[0-9]+|[A-Za-z])\s+"
_SURE_TIMES = r"[0-9]*[.][0-9]*\s+[0-9]*[.][0-9]*"

#: The form of a line, whose groups are fields of `Segment` or `duration`, by format.
LINE_FORMATS: Mapping[str, str] = {
    "STM": rf"{_PLACE}(?P<speaker>(?![0-9]*[.][0-9]*\s)\S+)\s+(?P<begin>{_TIME})\s+"
    rf"(?P<end>{_TIME})(?:\s+<[^<>\s]*>)?(?:\s+(?P<words>.*))?",
    "CTM": rf"{_PLACE}(?P<begin>{_TIME})\s+(?P<duration>{_TIME})\s+(?P<words>\S+)(?:\s+\S+){{0,3}}",
    "trn": r"(?P<words>.*)"
    r"\((?P<recording>(?P<speaker>[^()\s-]*(?=-)|[^()\s_-]*(?=_)|)[^()\s]+)\)",
    "id|words": r"(?P<recording>[^|\s]+)\|(?P<words>[^|]*)",
}
#: How lines begin that are no words with an id before them.
_SURE = {
    "STM": rf"{_SURE_PLACE}\S+\s+{_SURE_TIMES}(?:\s|$)",
    "CTM": rf"{_SURE_PLACE}{_SURE_TIMES}\s",
    "trn": r"(?:\(|[^\d_\s]+\s).*\((?=[^()\s]*[0-9])[^()\s]*\)$",
    "id|words": r"[^|\s]+\|[^\d|\s]*(?:\s|$)",
}
_KALDI = "(?P<recording>[^ \t]+)(?P<words>.*)"
#: Formats of sclite, whose words may have its marks.
SCLITE = ("STM", "CTM", "trn")

#: Names of columns of tables and of values of JSON, the ones to prefer first.
COLUMNS: Mapping[str, str] = {
    "recording": "id utterance_id utt_id uttid utt utterance key segment_id session_id file_id "
    "recording_id audio_filepath audio_path audio_file wav_filename wav_path path filepath "
    "file_name filename file wav audio",
    "speaker": "speaker speaker_id spk spk_id spkid client_id",
    "channel": "channel",
    "begin": "start_time begin_time start begin offset",
    "end": "end_time end",
    "duration": "duration dur",
    "reference": "text transcript transcription sentence words wrd txt reference ref "
    "reference_text ref_text normalized_text",
    "hypothesis": "pred_text hypothesis hyp prediction pred predicted_text predicted hyp_text "
    "recognized recognized_text",
}
_AUDIO = re.compile(r"(?is)\A(?:.*[/\\])?([^/\\]+)\.(?:wav|flac|mp3|ogg|opus|m4a|sph|webm)\Z")

#: What else would be misread as Kaldi's text.
_FOREIGN = {
    r"\AWEBVTT|^[0-9]+:[0-9:.,]+ --> ": "subtitles (SRT or WebVTT)",
    r'\AFile type = "ooTextFile"': "a TextGrid of Praat",
    r"\A#!MLF!#": "an HTK master label file",
    r"\A<[?!A-Za-z]+[^<>]*>$": "XML",
    r"\ASPEAKER\s+\S+\s+[0-9]+\s+[0-9.]+\s": "RTTM, which has no words",
    r"\A[^|\s]+\|[^|\n]*\|": "lines of several fields between bars",
    r"\A\S+:\s+(?:ref|hyp)=\[": "icefall's recogs",
    r"\A[^\s,;]+[,;]\S.*(?:\n[^\s,;]+[,;]\S.*)+\Z": "CSV without a header that names the columns",
    r"\A(?=.* )(?:[^\t\n]+\t[^\t\n]*\t.*(?:\n|\Z))+\Z": "TSV without a header of known columns",
    r"^id: \(": "alignments printed by sclite",
    "^;;": "sclite's comments, but lines that are neither STM, CTM nor trn",
}
#: What names a segment, as far as it tells those of a file apart.
_NAME = ("recording", "speaker", "begin", "end", "channel")
#: Anywhere in the words of a segment of an STM: sclite does not score it.
_UNSCORED = "IGNORE_TIME_SEGMENT_IN_SCORING"
#: Ways to say a reference, and a hypothesis.
Forms = tuple[list[str], ...]


@dataclass(frozen=True)
class Segment:
    """What was said in an utterance, or in a part of a recording; a word of a CTM.

    Attributes
    ----------
    recording : str
        The utterance, where a format has no recordings.
    where : str
        File and line, for messages.
    speaker, channel : str
        Empty where the format has none.
    begin, end : Decimal
        Seconds; `UNKNOWN` where the format has none.
    """

    recording: str
    words: str
    where: str
    speaker: str
    channel: str
    begin: Decimal
    end: Decimal


@dataclass(frozen=True)
class PairedTranscripts:
    """References and hypotheses of the same utterances.

    Attributes
    ----------
    texts : mapping
        Reference and hypothesis by utterance, in the order of the reference.
    missing, extra : int
        References without a hypothesis and hypotheses without a reference, left out on request.
    speakers : mapping
        By utterance, as the references name them; empty unless they name all.
    forms : mapping
        As `texts`, with every way to say them that sclite's alternatives allow.
    notes : tuple of str
        How the files were read.
    """

    texts: Mapping[str, tuple[str, str]]
    missing: int
    extra: int
    speakers: Mapping[str, str]
    forms: Mapping[str, Forms]
    notes: tuple[str, ...]


def read_transcripts(path: Path | Loaded) -> dict[str, str]:
    """Read the words of every utterance.

    Parameters
    ----------
    path : Path or Loaded
        Kaldi's `text`, or another format of `LINE_FORMATS`, a table or JSON.

    Returns
    -------
    dict of str to str
        In the order of the file; segments are named by recording, and by speaker and times where
        a recording has several.

    Raises
    ------
    PrivacyEvalError
        With file and line: as `read_segments`; a duplicate utterance.

    Examples
    --------
    >>> read_transcripts(Loaded(Path("x.stm"), b"r 1 ann 0.0 1.5 so it is\\n"))
    {'r': 'so it is'}
    """
    (by_name,) = _named(_read(path)[1])
    return {name: segment.words for name, segment in _scored(by_name).items()}


def _read(path: Path | Loaded) -> tuple[str, list[Segment]]:
    """Read segments; join the words of a CTM by recording and channel."""
    name, segments = read_segments(path)
    if name == "CTM":
        whole = {(s.recording, s.channel): replace(s, begin=UNKNOWN, end=UNKNOWN) for s in segments}
        segments = _placed(segments, whole.values(), path)
    return name, segments


def _scored(segments: Mapping[str, Segment]) -> dict[str, Segment]:
    return {n: s for n, s in segments.items() if s.begin < 0 or _UNSCORED not in s.words.upper()}


def _named(*files: Sequence[Segment]) -> list[dict[str, Segment]]:
    """Name the segments of files alike, by as little as tells all of a file apart."""
    for size in (1, 2, 4, 5):
        named = [{_name(segment, size): segment for segment in file} for file in files]
        if [*map(len, named)] == [*map(len, files)]:
            break
    for by_name, segment in ((n, s) for n, file in zip(named, files, strict=True) for s in file):
        if (last := by_name[name := _name(segment, size)]) is not segment:
            raise PrivacyEvalError(f"{last.where}: duplicate utterance {name}")
    return named


def _name(segment: Segment, size: int) -> str:
    values = (getattr(segment, field) for field in _NAME[:size])
    texts = (x if isinstance(x, str) else f"{x.normalize():f}" for x in values if x != UNKNOWN)
    return " ".join(text for text in texts if text)


def _placed(
    words: Sequence[Segment], segments: Collection[Segment], path: Path | Loaded
) -> list[Segment]:
    """Give the words of a CTM to segments, as sclite does: to the one that holds the middle of a
    word, on a border to the later one, in a gap to the next, after the last one to that."""
    held: dict[tuple[str, str], list[tuple[Segment, list[str]]]] = {}
    for segment in sorted(segments, key=lambda segment: (segment.begin, segment.end)):
        own = held.setdefault((segment.recording, segment.channel), [])
        if own and own[-1][0].end > segment.begin:
            raise PrivacyEvalError(
                f"{segment.where}: overlaps with {own[-1][0].where}, so that a CTM does not tell "
                "whose its words are: give hypotheses as STM or SegLST"
            )
        own.append((segment, []))
    places = {(word.recording, word.channel) for word in words}
    if not any(s.channel for s in segments) and len(places) == len({r for r, _ in places}):
        words = [replace(word, channel="") for word in words]
    unknown = {f"{w.recording} {w.channel}" for w in words} - {*map(" ".join, held)}
    what = "recordings or channels that the reference does not have"
    refuse_names(sorted(unknown), f"{path}: {len(unknown)} {what}")
    for word in sorted(words, key=lambda word: word.begin):
        own = held[word.recording, word.channel]
        at = bisect_right(own, (word.begin + word.end) / 2, key=lambda pair: pair[0].end)
        own[min(at, len(own) - 1)][1].append(word.words)
    return [replace(s, words=" ".join(heard)) for own in held.values() for s, heard in own]


def pair_transcripts(
    reference: Path | Loaded, hypothesis: Path | Loaded, *, allow_missing: bool = False
) -> PairedTranscripts:
    """Read two files and pair their utterances, or segments.

    Parameters
    ----------
    allow_missing : bool
        Leave out utterances that only one of them has.

    Raises
    ------
    PrivacyEvalError
        As `read_transcripts`; an utterance without hypothesis or reference; none with both; a CTM
        whose words are of no recording of the reference, or may be of several segments.
    """
    format, expected = _read(reference)
    other, actual = read_segments(hypothesis, is_hypothesis=True)
    formats = ((reference, format), (hypothesis, other))
    notes = [f"{path}: read as {name}" for path, name in formats if name]
    if other == "CTM":
        actual = _placed(actual, expected, hypothesis)
        silent = {s.recording for s in actual} - {s.recording for s in actual if s.words}
        if silent:
            notes.append(f"{hypothesis}: no words, so deletions, of {abbreviate(sorted(silent))}")
    spoken, recognized = _named(expected, actual)
    scored, recognized = _scored(spoken), _scored(recognized)
    if scored.keys().isdisjoint(recognized):
        ids = f"{abbreviate([*recognized])} and {abbreviate([*scored])}"
        raise PrivacyEvalError(f"{hypothesis}: no utterance of {reference}: ids {ids}")
    missing = [u for u in scored if u not in recognized]
    extra = [u for u in recognized if u not in spoken]
    if not allow_missing:
        refuse_utterances(hypothesis, "have no hypothesis", missing, len(scored))
        refuse_utterances(hypothesis, "have no reference", extra, len(recognized))
    pairs = {u: (segment, recognized[u]) for u, segment in scored.items() if u in recognized}
    forms = {u: (spoken_forms(s, format), spoken_forms(h, other)) for u, (s, h) in pairs.items()}
    texts = {u: (s.words, h.words) for u, (s, h) in pairs.items()}
    speakers = {u: segment.speaker for u, (segment, _) in pairs.items()}
    known = speakers if all(speakers.values()) else {}
    return PairedTranscripts(texts, len(missing), len(extra), known, forms, tuple(notes))


def read_segments(path: Path | Loaded, *, is_hypothesis: bool = False) -> tuple[str, list[Segment]]:
    """Read the transcripts of a file of any format.

    Parameters
    ----------
    is_hypothesis : bool
        Read the recognized words of a table or of JSON that also has the spoken ones.

    Returns
    -------
    str, list of Segment
        The format, "" of Kaldi's text; segments in the order of the file.

    Raises
    ------
    PrivacyEvalError
        With file and line: a line or an object of another form than most; a format that is not
        read; an empty file.

    Examples
    --------
    >>> name, segments = read_segments(Loaded(Path("x"), b"so it is (s1-u1)\\nwell (s1-u2)\\n"))
    >>> name, segments[0].recording, segments[0].words, segments[0].speaker
    ('trn', 's1-u1', 'so it is ', 's1')
    """
    text = read_text(path)
    lines = [(n, line.strip(BLANKS)) for n, line in enumerate(text.split("\n"), start=1)]
    lines = [(n, line) for n, line in lines if line]
    first = "\n".join(line for _, line in lines[:_SAMPLE])
    if re.match(r'\[\s*[\[\]{]|\{\s*"', first):
        if re.fullmatch(r"\{.*\}", lines[0][1]):
            objects = [(f"{path}:{n}", parse_json(line, f"{path}:{n}")) for n, line in lines]
        else:
            whole = parse_json(text, str(path))
            items = enumerate(whole if isinstance(whole, list) else [whole], start=1)
            objects = [(f"{path}: item {n}", item) for n, item in items]
        return _read_named("JSON", objects, is_hypothesis, path)
    ask_if_cut(path, text)
    if separator := _separator(first.partition("\n")[0]):
        (_, header), *rows = csv_rows(text, path, separator)
        objects = [(f"{path}:{n}", dict(zip(header, cells, strict=True))) for n, cells in rows]
        return _read_named("table", objects, is_hypothesis, path, header)
    name = _line_format(re.sub("(?m)^;;.*\n?", "", first).split("\n"), str(path))
    what = next((what for form, what in _FOREIGN.items() if re.search(form, first, re.M)), "")
    if what and not name:
        raise PrivacyEvalError(
            f"{path}: {what}: convert it to lines of <utterance> <words>, or to CSV with the "
            "header id,text"
        )
    segments = _read_lines(name, lines, path)
    if not segments:
        raise PrivacyEvalError(f"{path}: empty file, expected lines of <utterance> <words>")
    return name, segments


def _line_format(lines: Sequence[str], path: str) -> str:
    """Return the format of most lines, unless they may be words behind distinct ids."""
    ending = path.lower().removesuffix(".gz").rpartition(".")[2]
    for name in sorted(LINE_FORMATS, key=lambda name: name.lower() != ending):
        fitting = [line for line in lines if re.fullmatch(LINE_FORMATS[name], line)]
        repeated = len({re.split(r"\s", line)[0] for line in fitting}) < len(fitting)
        certain = [line for line in fitting if repeated or re.match(_SURE[name], line)]
        if 2 * len(certain) > len(lines) or (fitting and name.lower() == ending):
            return name
        if name in ("STM", "CTM") and len(fitting) == len(lines):
            text = f"{path}: read as Kaldi's text; if it is {name}, end its name in .{name.lower()}"
            warnings.warn(text, InputWarning, stacklevel=2)
    return ""


def _read_lines(name: str, lines: Iterable[tuple[int, str]], path: Path | Loaded) -> list[Segment]:
    form = re.compile(LINE_FORMATS.get(name, _KALDI))
    segments, others = [], []
    for number, line in lines:
        if control := _CONTROL.search(line):
            raise PrivacyEvalError(f"{path}:{number}: control character {ascii(control[0])}")
        if match := form.fullmatch(line):
            segments.append(_segment(match.groupdict(), f"{path}:{number}"))
        elif not (name in SCLITE and line.startswith(";;")):
            others.append(str(number))
    if others:
        raise PrivacyEvalError(
            f"{path}:{others[0]}: {len(others)} lines are not of the format {name}, as most are: "
            f"lines {abbreviate(others)}"
        )
    return segments


def _segment(fields: Mapping[str, Any], where: str) -> Segment:
    """Compose a segment of its fields, where None is as good as nothing."""
    texts = {key: str(value) for key, value in fields.items() if value not in (None, "")}
    name = texts.get("recording", "")
    if not 0 < len(name.encode()) <= MAX_FIELD_BYTES or not name.isprintable():
        raise PrivacyEvalError(f"{where}: not an utterance: {name[:80]!r}")
    try:
        begin, end, more = (Decimal(texts.get(k, UNKNOWN)) for k in ("begin", "end", "duration"))
        if end == UNKNOWN and UNKNOWN not in (begin, more):
            end = begin + more
        if end < begin and end != UNKNOWN:
            raise InvalidOperation
        begin = UNKNOWN if end == UNKNOWN else begin
    except InvalidOperation as error:
        raise PrivacyEvalError(f"{where}: expected begin and end in seconds") from error
    speaker, channel = (texts.get(key, "").strip() for key in ("speaker", "channel"))
    words = re.sub(r"[\r\n]+", " ", texts.get("words", ""))
    return Segment(name, words, where, speaker, channel, begin, end)


def _known(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of each field of `COLUMNS` that has any, the preferred ones first."""
    alike = [(name.strip(' "').lower().replace(" ", "_"), name) for name in names]
    known = {
        field: [name for alias in aliases.split() for same, name in alike if same == alias]
        for field, aliases in COLUMNS.items()
    }
    return {field: names for field, names in known.items() if names}


def _separator(line: str) -> str | None:
    """Return what separates the columns of a header, if a line is one."""
    for separator in "\t,;| ":
        cells = line[:4000].split(separator)
        known, begins = sum(map(len, _known(cells).values())), "recording" in _known(cells[:1])
        is_header = known > 1 or begins if separator != " " else begins and known == len(cells)
        if is_header and len(cells) > 1 and cells[0].strip().count(" ") < 2:
            return separator
    return None


def _read_named(
    kind: str,
    objects: Sequence[tuple[str, Any]],
    is_hypothesis: bool,
    path: Path | Loaded,
    names: Sequence[str] = (),
) -> tuple[str, list[Segment]]:
    """Read objects, or rows of a table, by the names of their values."""
    names = names or [*dict.fromkeys(n for _, own in objects if isinstance(own, dict) for n in own)]
    known = _known(names)
    words = (is_hypothesis and known.get("hypothesis")) or known.get("reference", [])
    if len(words) != 1 or "recording" not in known:
        raise PrivacyEvalError(
            f"{path}: expected one name of ids and one of words, such as id and text, found "
            f"{abbreviate(words if len(words) > 1 else names) or 'none'}"
        )
    name_of = {field: own[0] for field, own in known.items()} | {"words": words[0]}
    taken = name_of["recording"], name_of["words"]
    for where, given in objects:
        if not isinstance(given, dict) or any(
            not isinstance(given.get(n), str | int) for n in taken
        ):
            raise PrivacyEvalError(f"{where}: expected {taken[0]} and {taken[1]}")
    paths = [str(given[taken[0]]).strip() for _, given in objects]
    stems = [_AUDIO.sub(r"\1", name) for name in paths]
    ids = stems if len(set(stems)) == len(set(paths)) else paths
    segments = [
        _segment({f: given.get(n) for f, n in name_of.items()} | {"recording": name}, where)
        for (where, given), name in zip(objects, ids, strict=True)
    ]
    return f"{kind} ({', '.join(taken)})", segments


def spoken_forms(segment: Segment, format: str) -> list[str]:
    """Return every way to say a segment that alternatives of sclite, `{ a / b c / @ }`, allow.

    Raises
    ------
    PrivacyEvalError
        With file and line: over 100 ways; braces within braces, or open ones.

    Examples
    --------
    >>> _, (segment,) = read_segments(Loaded(Path("x.trn"), b"so { it / @ } is (u1)"))
    >>> spoken_forms(segment, "trn")
    ['so it is', 'so is']
    """
    text = segment.words
    if format not in SCLITE:
        return [text]
    parts = re.split(r"(?:(?<=\s)|^)\{\s([^{}]*)\s\}(?=\s|$)", text)
    choices = [re.split(r"\s/\s", p) if i % 2 else [p] for i, p in enumerate(parts)]
    if math.prod(map(len, choices)) > 100 or any({"{", "}"} & {*part.split()} for part in parts):
        raise PrivacyEvalError(
            f"{segment.where}: expected alternatives {{ a / b }}, at most 100: {text[:80]!r}"
        )
    said = (" ".join(way).split() for way in itertools.product(*choices))
    return [" ".join(word for word in words if word != "@") for words in said]


def speakers_of(
    utterances: Iterable[str], utt2spk: Mapping[str, str], path: Path | Loaded
) -> list[str]:
    """Look up the speaker of each utterance.

    Parameters
    ----------
    path : Path or Loaded
        Its file, for messages.

    Raises
    ------
    PrivacyEvalError
        An utterance without a speaker.
    """
    utterances = list(utterances)
    refuse_utterances(
        path, "have no speaker", [u for u in utterances if u not in utt2spk], len(utterances)
    )
    return [utt2spk[u] for u in utterances]


def joined_transcripts(path: Path | Loaded, groups: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Read transcripts and join those of the utterances of each group.

    Raises
    ------
    PrivacyEvalError
        As `read_transcripts`; an utterance without a transcript.
    """
    transcripts = read_transcripts(path)
    needed = list(dict.fromkeys(u for members in groups.values() for u in members))
    missing = [utterance for utterance in needed if utterance not in transcripts]
    refuse_utterances(path, "have no transcript", missing, len(needed))
    return {name: " ".join(transcripts[u] for u in members) for name, members in groups.items()}


def refuse_utterances(path: Path | Loaded, what: str, utterances: list[str], total: int) -> None:
    """Raise an error if there are any utterances, of a total, that something is wrong with."""
    refuse_names(utterances, f"{path}: {len(utterances)} of {total} utterances {what}")
