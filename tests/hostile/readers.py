"""Every reader of strangers' files, with what it is fed and how its answer is judged.

A reader either gives the right result, by a slow second reading where there is one, or
raises a `PrivacyEvalError` that names the file (and the line, of formats made of lines).
One more reader is one more entry of `READERS`.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import gzip
import io
import json
import math
import os
import random
import re
import resource
import signal
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from mutations import BOM, TOKENS, mutate, mutate_json
from support import ANON, OTHER_PLAN, imported

from privacy_eval import PrivacyEvalError
from privacy_eval.compat.zebra import read_tags
from privacy_eval.io.data_dir import (
    combine_data_dirs,
    read_data_dir,
    read_list,
    read_spk2gender,
    read_spk2utt,
    read_utt2spk,
    subset_data_dir,
)
from privacy_eval.io.files import digest, read_text
from privacy_eval.io.json_text import load_json
from privacy_eval.io.kaldi_objects import (
    MAX_DIMENSION,
    binary_array,
    read_matrix,
    read_vector,
    text_array,
)
from privacy_eval.io.plda import read_plda
from privacy_eval.io.ratings import Ratings, read_ratings
from privacy_eval.io.results_txt import format_results_txt, parse_results_txt
from privacy_eval.io.schema import from_plain, to_plain
from privacy_eval.io.scores import pair, read_scores, read_trial_list, read_trials
from privacy_eval.io.scp import read_vectors
from privacy_eval.io.wer import format_wer_line, read_wer_folder
from privacy_eval.io.yaml_text import parse_yaml
from privacy_eval.protocol.protocol import Protocol, protocol_from_dict
from privacy_eval.protocol.published import parse_p_values, parse_values
from privacy_eval.report.figure_folder import read_captions
from privacy_eval.report.per_system import system_tables
from privacy_eval.report.text import FORMATS
from privacy_eval.results.arrays import Curves
from privacy_eval.results.challenge_text import (
    import_results_txt,
    part_of_system,
    to_results_txt,
)
from privacy_eval.results.csv_export import to_csv, to_speakers_csv
from privacy_eval.results.json_store import read_json, to_json
from privacy_eval.results.record_files import read_record
from privacy_eval.results.records import (
    Results,
    SimilarityRecord,
    SpeakerSimilarity,
    VerificationRecord,
)
from privacy_eval.study.plan import StudyPlan, study_from_dict
from privacy_eval.tree.conditions import SetCondition

#: Seconds that an input of a few kB may take: far more than any does, less than a hang.
SECONDS = 10
#: Bytes that it may ask for, and by which all inputs may raise the most that was ever in use.
ADDRESS_SPACE, GROWTH = 512 << 20, 256 << 20

Generate = Callable[[random.Random], bytes]


@dataclass(frozen=True)
class Reader:
    """How one reader is tried.

    Attributes
    ----------
    generate : function
        An input.
    read : function
        Reads the file of a path; nothing but `PrivacyEvalError` may come out.
    check : function
        Asserts that a result is right for an input.
    refuses : function, optional
        Whether an input must be refused, by a second reading; where it must not, the error is
        wrong.
    lines : bool
        Whether an error must name a line, too.
    name : str
        Name of the file.
    beside : bool
        Whether an error may name another file of its folder.
    """

    generate: Generate
    read: Callable[[Path], Any]
    check: Callable[[bytes, Any], None]
    refuses: Callable[[bytes], bool] | None = None
    lines: bool = False
    name: str = "input"
    beside: bool = False


class Hang(BaseException):
    """An input took too long. No `Exception`, so that no reader can take it for its own."""


class Failure(AssertionError):
    """A reader's answer is wrong; the message says how to see it again."""


def fuzz(
    name: str,
    folder: Path,
    *,
    inputs: int,
    seed: int = 0,
    first: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[int, int]:
    """Try one reader; how many inputs were read and how many refused.

    Raises
    ------
    Failure
        The first input that was answered wrongly.
    """
    reader = READERS[name]
    path = folder / reader.name
    path.parent.mkdir(parents=True, exist_ok=True)
    read = 0
    before = _most_memory()
    with _limits():
        for number in range(first, first + inputs):
            content = reader.generate(random.Random(f"{name} {seed} {number}"))
            try:
                read += try_one(reader, path, content)
            except (Exception, Hang) as error:
                small = minimised(reader, path, content, error)
                raise Failure(
                    f"{name}: {type(error).__name__}: {error}\n  for the input {small[:2000]!r}\n"
                    f"  again: scripts/fuzz.py --reader {name} --seed {seed} --first {number} "
                    "--inputs 1"
                ) from error
            if number % 1000 == 999:
                progress(number - first + 1)
                grown = _most_memory() - before
                if grown > GROWTH:
                    raise Failure(f"{name}: {grown >> 20} MiB more up to input {number}")
    return read, inputs - read


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def try_one(reader: Reader, path: Path, content: bytes) -> bool:
    """Whether an input was read; an exception where the answer is wrong."""
    path.write_bytes(content)
    refused: PrivacyEvalError | None = None
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        result = reader.read(path)
    except PrivacyEvalError as error:
        refused = error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if refused is None:
        assert reader.refuses is None or not reader.refuses(content), f"read as {result!r:.500}"
        reader.check(content, result)
        return True
    message = str(refused)
    named = path.parent if reader.beside else path
    assert message.startswith(str(named)), f"the file is not named: {message}"
    assert len(message) < 2 * len(content) + 5000, f"a message of {len(message)} characters"
    if reader.lines and not _OF_THE_FILE.search(message):
        line = re.match(r":(\d+)", message[len(str(path)) :])
        assert line, f"no line is named: {message}"
        assert 1 <= int(line[1]) <= (unpacked(content) or b"").count(b"\n") + 1, message
    assert reader.refuses is None or reader.refuses(content), f"refused: {message}"
    return False


#: Errors of a whole file.
_OF_THE_FILE = re.compile(r": (empty file|truncated or damaged gzip file|larger than)")


def minimised(reader: Reader, path: Path, content: bytes, error: BaseException) -> bytes:
    """A shorter input that is answered wrongly in the same way."""

    def fails(shorter: bytes) -> bool:
        try:
            try_one(reader, path, shorter)
        except (Exception, Hang) as found:
            return type(found) is type(error)
        return False

    size = 0 if isinstance(error, Hang) else len(content) // 2
    while size:
        at = 0
        while at < len(content):
            shorter = content[:at] + content[at + size :]
            if fails(shorter):
                content = shorter
            else:
                at += size
        size //= 2
    return content


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    """An alarm for what hangs, and a limit for what asks for memory it does not use."""

    def alarm(*_: object) -> None:
        raise Hang(f"more than {SECONDS} s")

    handler = signal.signal(signal.SIGALRM, alarm)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, handler)


# Second readings, slow and plain; None is for what must be refused


def unpacked(content: bytes) -> bytes | None:
    """Content of a file that may be gzip."""
    if content.startswith(b"\x1f\x8b"):
        try:
            return gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return None
    return content


def text_of(content: bytes) -> bytes | None:
    """Content of a text file that may be gzip and may begin with a byte order mark."""
    plain = unpacked(content)
    return None if plain is None else plain.removeprefix(BOM)


Row = tuple[str, ...]


def table(content: bytes, *widths: int) -> list[Row] | None:
    """The rows of a text table of one of these numbers of fields."""
    text = text_of(content)
    if text is None or re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n|\Z)", text):
        return None
    try:
        text.decode()
    except UnicodeDecodeError:
        return None
    lines = [line.strip(b" \t\r") for line in text.split(b"\n")]
    rows = [re.split(rb"[ \t]+", line) for line in lines if line]
    if not rows or len(rows[0]) not in widths or any(len(r) != len(rows[0]) for r in rows):
        return None
    if any(len(field) > 1024 for row in rows for field in row):
        return None
    return [tuple(field.decode() for field in row) for row in rows]


_DECIMAL = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def number(text: str) -> float | None:
    """A finite decimal number."""
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if math.isfinite(float(text)) else None


def distinct(rows: list[Row] | None, key: slice) -> list[Row] | None:
    return None if rows is None or len({row[key] for row in rows}) < len(rows) else rows


@functools.lru_cache(2)
def scores(content: bytes) -> list[Row] | None:
    rows = distinct(table(content, 3), slice(2))
    return None if rows is None or any(number(row[2]) is None for row in rows) else rows


@functools.lru_cache(2)
def trials(content: bytes) -> list[Row] | None:
    rows = distinct(table(content, 3), slice(2))
    return None if rows is None or any(r[2] not in ("target", "nontarget") for r in rows) else rows


@functools.lru_cache(2)
def trial_list(content: bytes) -> list[Row] | None:
    return distinct(table(content, 2, 3), slice(2))


@functools.lru_cache(2)
def utt2spk(content: bytes) -> list[Row] | None:
    return distinct(table(content, 2), slice(1))


@functools.lru_cache(2)
def spk2gender(content: bytes) -> list[Row] | None:
    rows = utt2spk(content)
    return None if rows is None or any(row[1] not in ("f", "m") for row in rows) else rows


@functools.lru_cache(2)
def spk2utt(content: bytes) -> list[Row] | None:
    text = text_of(content)
    if text is None or re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n|\Z)", text):
        return None
    lines = [line.strip(b" \t\r") for line in text.split(b"\n")]
    try:
        rows = [tuple(re.split("[ \t]+", line.decode())) for line in lines if line]
    except UnicodeDecodeError:
        return None
    spoken = [utterance for row in rows for utterance in row[1:]]
    if not rows or any(len(row) < 2 or any(len(f.encode()) > 1024 for f in row) for row in rows):
        return None
    return distinct(rows, slice(1)) if len(set(spoken)) == len(spoken) else None


_DTYPES = {b"F": np.dtype("<f4"), b"D": np.dtype("<f8")}


def binary_object(content: bytes, at: int, dimensions: int) -> tuple[np.ndarray, int] | None:
    """A binary vector or matrix behind its \\0B, and where it ends."""
    code = content[at : at + 3]
    if code not in ((b"FV ", b"DV ") if dimensions == 1 else (b"FM ", b"DM ")):
        return None
    at += 3
    shape = []
    for _ in range(dimensions):
        if content[at : at + 1] != b"\4" or len(content) < at + 5:
            return None
        shape.append(struct.unpack_from("<i", content, at + 1)[0])
        at += 5
    if min(shape) < 1 or max(shape) > MAX_DIMENSION:
        return None
    dtype = _DTYPES[code[:1]]
    size = math.prod(shape) * dtype.itemsize
    if len(content) < at + size:
        return None
    values = np.frombuffer(content, dtype, math.prod(shape), at).reshape(shape)
    return (values, at + size) if np.isfinite(values).all() else None


def text_object(content: bytes, at: int, dimensions: int) -> tuple[np.ndarray, int] | None:
    """A text vector or matrix from its [ on, and where it ends."""
    found = re.compile(rb"\s*\[([^]]*)\]").match(content, at)
    if found is None or (dimensions == 1 and b"\n" in found[1]):
        return None
    rows = [line.split() for line in found[1].split(b"\n") if line.strip()]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        return None
    words = [word.decode("latin-1") for row in rows for word in row]
    values = [number(word) if word.isascii() else None for word in words]
    if any(value is None for value in values):
        return None
    array = np.array(values, dtype=np.float64).reshape(len(rows), -1)
    return (array[0] if dimensions == 1 else array), found.end()


def single(array: np.ndarray) -> np.ndarray | None:
    """As float32, where all values fit."""
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float32)
    return rounded if np.isfinite(rounded).all() else None


@functools.lru_cache(2)
def one_object(content: bytes, dimensions: int) -> np.ndarray | None:
    """The only object of a file."""
    plain = unpacked(content)
    if plain is None:
        return None
    is_binary = plain.startswith(b"\0B")
    found = binary_object(plain, 2, dimensions) if is_binary else text_object(plain, 0, dimensions)
    return single(found[0]) if found is not None and not plain[found[1] :].strip() else None


@functools.lru_cache(2)
def archive(content: bytes) -> dict[str, np.ndarray] | None:
    """The vectors of an archive."""
    plain = text_of(content)
    if plain is None:
        return None
    found: dict[str, np.ndarray] = {}
    at = 0
    while plain[at:].strip():
        word = re.compile(rb"\s*([^\s]{1,1024})[ \t]").match(plain, at)
        if word is None or re.search(rb"[\x00-\x1f\x7f]", word[1]):
            return None
        at = word.end()
        is_binary = plain[at : at + 2] == b"\0B"
        one = binary_object(plain, at + 2, 1) if is_binary else text_object(plain, at, 1)
        vector = None if one is None else single(one[0])
        try:
            name = word[1].decode()
        except UnicodeDecodeError:
            return None
        if one is None or vector is None or name in found:
            return None
        found[name], at = vector, one[1]
    return found if found and len({v.size for v in found.values()}) == 1 else None


@functools.lru_cache(2)
def model(content: bytes) -> list[np.ndarray] | None:
    """Mean, transform and psi of a PLDA model."""
    plain = unpacked(content)
    if plain is None:
        return None
    is_binary = plain.startswith(b"\0B")
    begin = re.match(rb"\0B<Plda> " if is_binary else rb"\s*<Plda>", plain)
    if begin is None:
        return None
    at, parts = begin.end(), []
    for dimensions in (1, 2, 1):
        part = (binary_object if is_binary else text_object)(plain, at, dimensions)
        if part is None:
            return None
        parts.append(part[0].astype(np.float64))
        at = part[1]
    size = parts[0].size
    end = re.compile(rb"</Plda> \s*" if is_binary else rb"\s*</Plda>\s*").fullmatch(plain, at)
    fits = parts[1].shape == (size, size) and parts[2].size == size and (parts[2] >= 0).all()
    return parts if end is not None and fits else None


# What is asserted of results


def columns(*of: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(c.tolist() for c in of), strict=True))


def check_scores(content: bytes, found: Any) -> None:
    expected = [(s, u, number(x)) for s, u, x in scores(content) or []]
    assert columns(found.speaker, found.utterance, found.score) == expected
    assert found.digest == digest(text_of(content) or b"")


def check_trials(content: bytes, found: Any) -> None:
    expected = [(s, u, label == "target") for s, u, label in trials(content) or []]
    assert columns(found.speaker, found.utterance, found.is_target) == expected


def check_trial_list(content: bytes, found: Any) -> None:
    assert columns(found.speaker, found.utterance) == [r[:2] for r in trial_list(content) or []]


def check_pair(content: bytes, found: Any) -> None:
    """Scores joined with a fixed key, against a dictionary."""
    key = {row[:2]: row[2] == "target" for row in trials(TRIALS) or []}
    rows = [(s, u, number(x)) for s, u, x in scores(content) or [] if (s, u) in key]
    expected = [(s, u, x, key[s, u]) for s, u, x in rows]
    assert columns(found.speaker, found.utterance, found.score, found.is_target) == expected
    assert found.missing == len(key) - len(rows)
    assert found.extra == len(scores(content) or []) - len(rows)


def check_vectors(content: bytes, found: Any) -> None:
    expected = archive(content) or {}
    assert list(found.ids) == list(expected)
    assert found.matrix.tobytes() == np.stack(list(expected.values())).tobytes()


def check_object(dimensions: int) -> Callable[[bytes, Any], None]:
    def check(content: bytes, found: Any) -> None:
        expected = one_object(content, dimensions)
        assert expected is not None and expected.shape == found.shape
        assert found.tobytes() == expected.tobytes()

    return check


def check_model(content: bytes, found: Any) -> None:
    expected = model(content) or []
    for part, right in zip((found.mean, found.transform, found.psi), expected, strict=True):
        assert part.shape == right.shape and part.tobytes() == right.tobytes()


def check_results_txt(content: bytes, found: Any) -> None:
    """Nothing is lost, and what is written of it is read as the same."""
    text = format_results_txt(found)
    lines = [line for line in (text_of(content) or b"").split(b"\n") if line.strip()]
    assert text.count("\n") == len(lines)
    again = parse_results_txt(text, "again")
    assert format_results_txt(again) == text
    for block in (*found.verification, *found.utility, *found.similarity):
        values = block.metrics if hasattr(block, "metrics") else block.values
        for value in values.values():
            assert math.isfinite(value) or b"inf" in (text_of(content) or b"")


def check_wer(content: bytes, found: Any) -> None:
    lines, sources = found
    written = [format_wer_line(line).encode() for line in lines]
    stripped = [line.strip(b" \t\r") for line in (text_of(content) or b"").split(b"\n")]
    assert written == [line for line in stripped if line.startswith(b"%WER")]
    assert all(math.isfinite(line.wer) for line in lines)
    assert [source.name for source in sources] == ["WER"]


def check_results(content: bytes, found: Results) -> None:
    """What was read can be written, and now and then shown in every form."""
    to_json(found).encode()
    to_csv(found).encode()
    to_speakers_csv(found).encode()
    for system in found.systems:
        for folder in found.results_folders(system):
            to_results_txt(found, system, folder).encode()
            if zlib.crc32(content) % 128 == 0:
                for one in system_tables(found, system, folder):
                    for form in FORMATS.values():
                        form.write(one, "challenge").encode()


def check_import(content: bytes, found: Results) -> None:
    """Exported again, the records are the same text."""
    text = to_results_txt(found, "B1", "")
    again = import_results_txt(text, "again", found.protocol, system="B1")
    assert to_results_txt(again, "B1", "") == text
    if zlib.crc32(content) % 16 == 0:
        check_results(content, found)


def check_plan(content: bytes, found: Protocol) -> None:
    assert protocol_from_dict(found.to_dict(), "again") == found
    assert list(found.trial_sets())
    json.dumps(found.to_dict(), allow_nan=False).encode()


def check_curves(content: bytes, found: Any) -> None:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        assert set(found) == set(arrays.files)
    for name, array in found.items():
        assert array.dtype.kind in "fiuU", name


def check_published(content: bytes, found: Any) -> None:
    text = (text_of(content) or b"").decode().rstrip("\r\n")
    rows = list(csv.reader(io.StringIO(text, newline="\n")))
    assert len(found) == len(rows) - 1
    for value, row in zip(found, rows[1:], strict=True):
        assert row[-2] == value.value and int(row[-1]) == value.table
        assert value.number is None or math.isfinite(value.number)


def check_tags(content: bytes, found: Any) -> None:
    bounds = [bound for _, bound in found]
    assert bounds[0] == 0 and bounds == sorted(set(bounds)) and all(map(math.isfinite, bounds))
    assert len({tag for tag, _ in found}) == len(found)


def anything(content: bytes, found: Any) -> None:
    """Nothing but that it was read."""


# Inputs


_IDS = [f"s{n}" for n in range(1, 4)]
_PAIRS = [(s, f"{t}-u{n}") for s in _IDS for t in _IDS for n in range(2)]
SCORES = "".join(f"{s} {u} {n * 0.37 - 2:.4f}\n" for n, (s, u) in enumerate(_PAIRS)).encode()
TRIALS = "".join(
    f"{s} {u} {'target' if u.startswith(s) else 'nontarget'}\n" for s, u in _PAIRS
).encode()
UTT2SPK = b"".join(f"{s}-u{n} {s}\n".encode() for s in _IDS for n in range(2))
SPK2UTT = b"".join(f"{s} {s}-u0 {s}-u1\n".encode() for s in _IDS)
SPK2GENDER = b"s1 f\ns2 f\ns3 m\n"
ENROLLS = b"s1-u0\ns2-u0\ns3-u1\n"
_ARRAY = np.linspace(-2, 3, 4)
_VECTORS = {u.split()[0]: _ARRAY * (n + 1) for n, u in enumerate(UTT2SPK.decode().splitlines())}
ARCHIVES = [
    b"".join(b"%s \0B%s" % (u.encode(), binary_array(v.astype(t))) for u, v in _VECTORS.items())
    for t in (np.float32, np.float64)
] + [b"".join(u.encode() + b" " + text_array(v) for u, v in _VECTORS.items())]
_SQUARE = np.arange(12.0).reshape(3, 4) / 7
MATRICES = [b"\0B" + binary_array(_SQUARE.astype(t)) for t in (np.float32, np.float64)]
MATRICES.append(text_array(_SQUARE))
SINGLES = [b"\0B" + binary_array(_ARRAY.astype(t)) for t in (np.float32, np.float64)]
SINGLES.append(text_array(_ARRAY))
_PARTS = (_ARRAY[:3], np.eye(3) + _SQUARE[:, :3], np.array([3.0, 1.0, 0.5]))
MODELS = [
    b"\0B<Plda> " + b"".join(map(binary_array, _PARTS)) + b"</Plda> ",
    b"<Plda> " + b"".join(map(text_array, _PARTS)) + b"</Plda> ",
]
RESULTS_TXT = [
    b"".join(ANON.read_bytes().splitlines(keepends=True)[n : n + 12]) for n in (0, 7, 14)
] + [
    b"ASR-libri_dev_asr\n  %WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] "
    b"exp/models/asr_eval/decode_tgsmall/wer_12_0.5\n"
    b"libri_dev_trials_f  Pitch_correlation: mean=0.7705 std=0.1\n"
    b"libri_dev_trials_f\n  De-Identification : 0.93\n  Gain of voice distinctiveness : -9.5\n"
]
WER = (
    b"%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] a/decode_tgsmall/wer_12_0.5\n"
    b"%WER 4.15 [ 1650 / 39783, 172 ins, 250 del, 1228 sub ] a/decode_tglarge/wer_13\n"
)
YAML = [
    b"name: x\nsplits: [dev, test]\ngenders: {f: female}\n",
    b"a: &a [1, 2.5, yes]\nb: *a\nc: {<<: {x: 1}, y: 2}\n",
    b"- 2020-01-01\n- 1:30\n- !!str 1\n- 'a'\n- |\n  text\n",
    b"extends: vpc2020\ndata_sets:\n  - {id: libri, weight: 0.5}\n",
]
_YAML_TOKENS = (
    *TOKENS,
    *(b"&a ", b"*a", b"<<: *a", b"!!python/object/apply:os.system [id]", b"!!binary x"),
    *(b"!!set ", b"!!int "),
    *(
        b"!!timestamp ",
        b"0001-01-01 00:00:00 +23:59",
        b"2020-13-45",
        b"1:" * 200 + b"1.0",
        b"!!int ",
    ),
    *(b"? ", b"- ", b": ", b"---\n", b"...\n", b"%YAML 1.1\n", b"\t", b"'", b"|\n", b">\n", b"~"),
    *(b"!!float ", b"!!omap ", b"!!pairs ", b"[" * 300, b"{" * 300, b"!!merge ", b"=: 1"),
)
TAGS = b"A: 0\nB: 1\nC: 2.5\nD: 4\n"
_PUBLISHED = Path(__file__).resolve().parents[2] / "conf" / "published"


def _head(path: Path, lines: int) -> bytes:
    return b"".join(path.read_bytes().splitlines(keepends=True)[:lines])


def _whole_plan() -> dict[str, Any]:
    plain: dict[str, Any] = parse_yaml(OTHER_PLAN, "plan")  # type: ignore[assignment]
    return {
        **plain,
        "data_folders": [
            {"name": "{split}-cut", "cut_from": "x", "list": "l", "list_as": "enrolls"},
            {"name": "all", "combine": ["{split}-cut"]},
        ],
        "asv_models": [{"trained_on": "original", "folder": "exp/m{suffix}", "training_set": "t"}],
    }


PLAN = _whole_plan()


def _results() -> Results:
    """One record of each kind, with all that it may have."""
    whole = imported(ANON, protocol="vpc2020")
    plain = whole.protocol.to_dict()
    libri = {"data_sets": plain["data_sets"][:1], "table_rows": ["libri"], "splits": ["dev"]}
    protocol = protocol_from_dict({**plain, **libri, "data_folders": [], "asv_models": []}, "plan")
    verification = replace(
        whole.verification[0],
        n_target=10,
        n_nontarget=20,
        eer_interval_if_independent=(0.1, 0.2),
        speaker_intervals={"challenge": {"eer": (0.1, 0.2)}},
        trials_without_score=0,
        scores_without_trial=1,
        curves="x/y.npz",
        curves_sha256="0" * 64,
        provenance={"version": "1", "inputs": {"scores": {"path": "a", "sha256": "0"}}},
    )
    similarity = SimilarityRecord(
        SetCondition("B1", "", "libri_dev_trials_f", "libri", "dev", "f"),
        asv_model="original",
        metrics={"exact": {"deid": 0.9, "gvd_db": -9.5}},
        speakers=(SpeakerSimilarity("s1", 0.5, 1.0, 0.5, 0.7, None, 0.1),),
    )
    return Results(
        protocol,
        (verification,),
        whole.recognition[:1],
        whole.utility[:1],
        (similarity,),
        ("nothing",),
    )


RESULTS = _results()


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez(
        file,
        det_miss=np.linspace(0, 1, 5),
        det_false_alarm=np.linspace(1, 0, 5),
        exact_oo=np.eye(3, dtype=np.float32),
        speakers=np.array(_IDS),
    )
    return file.getvalue()


def of_bytes(seeds: Sequence[bytes], tokens: Sequence[bytes] = TOKENS) -> Generate:
    return lambda rng: mutate(rng, seeds, tokens)


def of_json(*seeds: Any) -> Generate:
    texts = [json.dumps(seed).encode() for seed in seeds]
    return lambda rng: mutate_json(rng, texts)


# Readers that need more than a path


def _read_pair(path: Path) -> Any:
    key = path.with_name("key")
    if not key.exists():
        key.write_bytes(TRIALS)
    return pair(read_scores(path), read_trials(key), allow_missing=True)


def _refuses_pair(content: bytes) -> bool:
    rows = scores(content)
    if rows is None:
        return True
    key = {row[:2]: row[2] for row in trials(TRIALS) or []}
    return len({key[row[:2]] for row in rows if row[:2] in key}) < 2


def _read_archive(path: Path) -> Any:
    return read_vectors(path, tree=path.parent)


def _read_scp(path: Path) -> Any:
    if not (path.parent / "x.ark").exists():
        (path.parent / "x.ark").write_bytes(ARCHIVES[0])
        (path.parent / "one.vec").write_bytes(SINGLES[0])
    return read_vectors(path, tree=path.parent)


_OFFSETS = {
    ARCHIVES[0].index(u.encode() + b" ") + len(u) + 1: v.astype(np.float32)
    for u, v in _VECTORS.items()
}
SCP = [
    "".join(f"{u} x.ark:{at}\n" for u, at in zip(_VECTORS, _OFFSETS, strict=True)).encode(),
    b"a one.vec\nb one.vec:0\nc x.ark:%d\n" % next(iter(_OFFSETS)),
]


def check_scp(content: bytes, found: Any) -> None:
    """Every line is an id and a place of the archive, and the vector is that of the place."""
    lines = [line for line in (text_of(content) or b"").split(b"\n") if line.strip()]
    assert len(lines) == len(found.ids)
    for line, name, row in zip(lines, found.ids, found.matrix, strict=True):
        form = re.fullmatch(rb"\s*(\S+)\s+(.*?)(?::(\d+))?\s*", line)
        assert form is not None and form[1].decode() == name, line
        is_single = os.path.normpath(form[2].decode()).endswith("one.vec")
        expected = _ARRAY.astype(np.float32) if is_single else _OFFSETS[int(form[3])]
        assert row.tobytes() == expected.tobytes(), line


def _read_list(kind: str) -> Callable[[Path], Any]:
    return lambda path: read_list(path, kind)


def _refuses_list(fields: int | None) -> Callable[[bytes], bool]:
    def refuses(content: bytes) -> bool:
        text = text_of(content)
        rows = [line.split() for line in (text or b"").split(b"\n") if line.split()]
        return not rows or (fields is not None and any(len(row) != fields for row in rows))

    return refuses


def _check_list(place: int) -> Callable[[bytes, Any], None]:
    def check(content: bytes, found: Any) -> None:
        rows = [line.split() for line in (text_of(content) or b"").split(b"\n") if line.split()]
        assert list(found.lines) == list(dict.fromkeys(row[place] for row in rows))

    return check


_DATA_DIR = {
    "utt2spk": UTT2SPK,
    "spk2gender": SPK2GENDER,
    "wav.scp": b"".join(b"%s cat x |\n" % line.split()[0] for line in UTT2SPK.splitlines()),
    "segments": b"".join(
        b"%s %s 0 1.5\n" % (line.split()[0], line.split()[0]) for line in UTT2SPK.splitlines()
    ),
    "text": b"".join(b"%s a word\n" % line.split()[0] for line in UTT2SPK.splitlines()),
    "enrolls": ENROLLS,
}


def _generate_data_dir(rng: random.Random) -> bytes:
    """A data folder in one file: the name of the file that is changed, and its content."""
    name = rng.choice(list(_DATA_DIR))
    return name.encode() + b"\n" + mutate(rng, [_DATA_DIR[name]])


def _read_data_dir(path: Path) -> Any:
    name, _, content = path.read_bytes().partition(b"\n")
    folder = path.with_name("input.dir")
    if not folder.is_dir():
        folder.mkdir()
        for file, usual in _DATA_DIR.items():
            (folder / file).write_bytes(usual)
    changed = folder / name.decode()
    changed.write_bytes(content)
    try:
        source = read_data_dir(folder)
        cut = subset_data_dir(source, read_list(folder / "enrolls", "enrolls"))
        return source, cut, combine_data_dirs([source, source])
    finally:
        changed.write_bytes(_DATA_DIR[changed.name])


def _check_data_dir(content: bytes, found: Any) -> None:
    source, cut, united = found
    name, _, changed = content.partition(b"\n")
    wanted = text_of(changed if name == b"enrolls" else ENROLLS) or b""
    lines = cut.files["utt2spk"].split(b"\n")  # bytes.splitlines would end lines at CR, too
    utterances = [line.split()[0] for line in lines if line]
    assert set(utterances) == {line.split()[0] for line in wanted.split(b"\n") if line.split()}
    for file, table_ in source.tables.items():
        assert sorted(line for line in united.files[file].split(b"\n") if line) == sorted(
            table_.values()
        )


def _read_results_txt(path: Path) -> Any:
    return parse_results_txt(read_text(path), str(path))


def _read_import(path: Path) -> Any:
    text = part_of_system(read_text(path), str(path), "B1")
    return import_results_txt(text, str(path), RESULTS.protocol, system="B1")


def _read_wer(path: Path) -> Any:
    return read_wer_folder(path.parent)


def _read_yaml(path: Path) -> Any:
    return parse_yaml(read_text(path), str(path))


def _read_plan(path: Path) -> Any:
    try:
        plain = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise PrivacyEvalError(f"{path}: not JSON") from error
    return protocol_from_dict(plain, str(path))


def _read_record(path: Path) -> Any:
    """A record that is whole by its digests, whatever it holds: whoever changes one can
    compute them."""
    with contextlib.suppress(ValueError, RecursionError):
        plain = json.loads(path.read_bytes())
        if isinstance(plain, dict):
            plain.pop("record_sha256", None)
            plain["curves_sha256"] = digest(b"")
            text = json.dumps(plain, sort_keys=True)
            path.write_text(json.dumps({"record_sha256": digest(text.encode()), **plain}))
    path.with_name("record.npz").write_bytes(b"")
    return read_record(path, VerificationRecord)


def _check_record(content: bytes, found: Any) -> None:
    if found is not None:
        json.dumps(to_plain(found), allow_nan=False).encode()


def _read_curves(path: Path) -> Any:
    record = replace(
        RESULTS.verification[0], curves=path.name, curves_sha256=digest(path.read_bytes())
    )
    results = replace(RESULTS, verification=(record,))
    curves = Curves([(results, path.parents[1] / "results.json")])
    return curves.of(record)


def _parsed(parse: Callable[[str, str], Any]) -> Callable[[Path], Any]:
    return lambda path: parse(read_text(path), str(path))


def _refuse(second: Callable[[bytes], object | None]) -> Callable[[bytes], bool]:
    return lambda content: second(content) is None


RATINGS = (
    b"evaluator,system,data_set,gender,trial,enrollment,same_speaker,naturalness,"
    b"intelligibility,similarity\n"
    b"ann,Original,libri,f,u1,s1,yes,9,8,7.5\n"
    b"ann,B1,libri,f,u2,s1,no,3,,1\n"
    b'"bob, ""the"" second",B1,libri,m,u3,s2,yes,10,10,10\n'
)
STUDY: dict[str, Any] = parse_yaml(  # type: ignore[assignment]
    read_text(_PUBLISHED.parent / "metric_study.yaml"), "metric_study.yaml"
)


def check_ratings(content: bytes, found: Ratings) -> None:
    """As many ratings as a plain reading of the CSV has cells of metrics, all on the scale."""
    text = (unpacked(content) or b"").decode("utf-8-sig")
    rows = csv.DictReader(io.StringIO(text.lstrip("\r\n"), newline=""))
    metrics = ("naturalness", "intelligibility", "similarity")
    cells = [row[m] for row in rows for m in metrics if (row.get(m) or "").strip(" \t\xa0")]
    _equal(len(found), len(cells))
    assert ((found.score >= 1) & (found.score <= 10)).all()
    _equal(sorted(found.score.tolist()), sorted(map(float, cells)))
    columns = (found.metric, found.evaluator, found.system, found.trial, found.enrollment)
    assert len(set(zip(*columns, strict=True))) == len(found)


def _read_study(path: Path) -> StudyPlan:
    return study_from_dict(load_json(path), str(path))


def check_study(content: bytes, found: StudyPlan) -> None:
    """Read back from its own values it is the same."""
    _equal(from_plain(StudyPlan, found.to_dict(), "again"), found)


READERS: Mapping[str, Reader] = {
    "scores": Reader(of_bytes([SCORES]), read_scores, check_scores, _refuse(scores), True),
    "trials": Reader(of_bytes([TRIALS]), read_trials, check_trials, _refuse(trials), True),
    "trial_list": Reader(
        of_bytes([TRIALS, TRIALS.replace(b" target", b"").replace(b" nontarget", b"")]),
        read_trial_list,
        check_trial_list,
        _refuse(trial_list),
        True,
    ),
    "pair": Reader(of_bytes([SCORES]), _read_pair, check_pair, _refuses_pair, beside=True),
    "utt2spk": Reader(
        of_bytes([UTT2SPK]),
        read_utt2spk,
        lambda content, found: _equal(list(found.items()), utt2spk(content)),
        _refuse(utt2spk),
        True,
    ),
    "spk2utt": Reader(
        of_bytes([SPK2UTT]),
        read_spk2utt,
        lambda content, found: _equal([(s, *u) for s, u in found.items()], spk2utt(content)),
        _refuse(spk2utt),
        True,
    ),
    "spk2gender": Reader(
        of_bytes([SPK2GENDER]),
        read_spk2gender,
        lambda content, found: _equal(list(found.items()), spk2gender(content)),
        _refuse(spk2gender),
        True,
    ),
    "enrolls": Reader(
        of_bytes([ENROLLS]), _read_list("enrolls"), _check_list(0), _refuses_list(None), True
    ),
    "trials_of_a_folder": Reader(
        of_bytes([TRIALS]), _read_list("trials"), _check_list(1), _refuses_list(3), True
    ),
    "data_dir": Reader(_generate_data_dir, _read_data_dir, _check_data_dir, beside=True),
    "archive": Reader(of_bytes(ARCHIVES[:2]), _read_archive, check_vectors, _refuse(archive)),
    "text_archive": Reader(of_bytes(ARCHIVES[2:]), _read_archive, check_vectors, _refuse(archive)),
    "scp": Reader(of_bytes(SCP), _read_scp, check_scp),
    "vector": Reader(
        of_bytes(SINGLES), read_vector, check_object(1), _refuse(lambda c: one_object(c, 1))
    ),
    "matrix": Reader(
        of_bytes(MATRICES), read_matrix, check_object(2), _refuse(lambda c: one_object(c, 2))
    ),
    "plda": Reader(of_bytes(MODELS), read_plda, check_model, _refuse(model)),
    "wer": Reader(of_bytes([WER]), _read_wer, check_wer, name="WER", beside=True),
    "results_txt": Reader(of_bytes(RESULTS_TXT), _read_results_txt, check_results_txt, lines=True),
    "import": Reader(
        of_bytes([b"# B1\n" + RESULTS_TXT[0] + b"# B2\n" + RESULTS_TXT[3], *RESULTS_TXT]),
        _read_import,
        check_import,
    ),
    "yaml": Reader(of_bytes(YAML, _YAML_TOKENS), _read_yaml, anything),
    "plan": Reader(of_json(PLAN), _read_plan, check_plan),
    "tags": Reader(of_bytes([TAGS], _YAML_TOKENS), read_tags, check_tags),
    "results_json": Reader(of_json(json.loads(to_json(RESULTS))), read_json, check_results),
    "record": Reader(
        of_json(to_plain(RESULTS.verification[0])), _read_record, _check_record, name="record.json"
    ),
    "curves": Reader(of_bytes([_npz()]), _read_curves, check_curves, name="records/x.npz"),
    "captions": Reader(
        of_json({"a": "b", "c": "d"}),
        lambda path: read_captions(path.parent),
        lambda content, found: _equal(all(isinstance(v, str) for v in found.values()), True),
        name="captions.json",
    ),
    "published": Reader(
        of_bytes([_head(_PUBLISHED / "vpc2020.csv", 6)]), _parsed(parse_values), check_published
    ),
    "p_values": Reader(
        of_bytes([_head(_PUBLISHED / "vpc2020_p_values.csv", 6)]),
        _parsed(parse_p_values),
        check_published,
    ),
    "ratings": Reader(
        of_bytes([RATINGS], (b"yes", b"no", b'"', b",", b",,", b"11", b"0", b"1e1", b"Original")),
        lambda path: read_ratings([path]),
        check_ratings,
        name="ratings.csv",
    ),
    "study": Reader(of_json(STUDY), _read_study, check_study),
}


def _equal(found: object, expected: object) -> None:
    assert found == expected


def memory_folder() -> str | None:
    """A folder in memory, where there is one: a million files are written and read."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
