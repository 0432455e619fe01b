"""Audit of anonymized audio: faults of files, copies of others, original speech that is still in.

Nothing is played or run; tags of files are read, never followed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import PrivacyEvalError, abbreviate, printable, shorten
from .audio import CHANNELS, Audio, AudioFolders, Samples, resample
from .raw_speech import RawSpeech, find_raw_speech

#: Problems, the worst first.
RAW = "original speech is still in"
UNREADABLE, MISSING, EMPTY = "cannot be read", "missing", "empty"
SILENT, CLIPPED = "silent", "clipped"
RATE, LENGTH = "another sampling rate than the original", "another length than the original"
SAME_BYTES, SAME_SAMPLES = "same bytes as another utterance", "same samples as another utterance"
TAGS = "tags in the file"
PROBLEMS = (
    *(RAW, UNREADABLE, MISSING, EMPTY, SILENT, CLIPPED, RATE, LENGTH),
    *(SAME_BYTES, SAME_SAMPLES, CHANNELS, TAGS),
)

#: Share of samples at full scale from which an utterance is clipped, and length ratios allowed.
LEAST_CLIPPED, LENGTH_RATIOS = 0.001, (0.5, 2.0)

_FULL_SCALE, _CHUNK = 32767, 32
#: Tags that encoders leave, and chunks that are not about a recording.
_HARMLESS_TAGS = ("ISFT", "ENCODER", "ENCODED-BY", "VENDOR")
_HARMLESS_CHUNKS = (b"fmt ", b"data", b"fact", b"PEAK", b"JUNK", b"PAD ", b"FLLR", b"LIST")
#: Bytes of a tag's chunk, and number of tags, that are read of a file, which may be hostile.
_MOST_HEADER, _MOST_TAGS = 1 << 16, 1000


@dataclass(frozen=True)
class AuditedUtterance:
    """What an audit found in an utterance.

    Attributes
    ----------
    utterance, file : str
    problems : dict of str to str
        Of `PROBLEMS`, each with its details.
    seconds, length_ratio, clipped : float or None
        Duration, duration relative to the original's, share of samples at full scale.
    raw : RawSpeech or None
    bytes_digest, samples_digest : str
        SHA-256, "" where nothing could be read.
    """

    utterance: str
    file: str
    problems: Mapping[str, str]
    seconds: float | None = None
    length_ratio: float | None = None
    clipped: float | None = None
    raw: RawSpeech | None = None
    bytes_digest: str = ""
    samples_digest: str = ""


def audit_audio(folders: AudioFolders, *, jobs: int = 1) -> Iterator[AuditedUtterance]:
    """Audit the utterances of an anonymized data folder; no command of a wav.scp is run.

    Parameters
    ----------
    folders : AudioFolders
    jobs : int
        Processes.

    Yields
    ------
    AuditedUtterance
        In the order of the original folder, then those that are only anonymized; once all are read,
        as duplicates are told apart.

    Raises
    ------
    PrivacyEvalError
        As `AudioReader`.
    """
    original, anonymized = folders.readers()
    ids = [*original.ids, *(u for u in anonymized.ids if u not in set(original.ids))]
    parts = [ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK)]
    work = partial(_audit_some, folders)
    if jobs > 1 and len(parts) > 1:
        with ProcessPoolExecutor(jobs) as pool:
            audited = [one for part in pool.map(work, parts) for one in part]
    else:
        audited = [one for part in parts for one in work(part)]
    yield from _with_duplicates(audited)


def audit_utterance(audio: Audio, original: Audio | None) -> AuditedUtterance:
    """Audit the samples of an utterance.

    Parameters
    ----------
    audio : Audio
    original : Audio, optional
        To compare with.

    Returns
    -------
    AuditedUtterance
        Without name and file.

    Examples
    --------
    >>> list(audit_utterance(Audio(np.zeros(16000, np.int16), 16000), None).problems)
    ['silent']
    """
    samples, problems = audio.samples, {}
    if not samples.size:
        return AuditedUtterance("", "", {EMPTY: ""}, seconds=0.0)
    clipped = clipped_share(samples)
    seconds = samples.size / audio.rate
    if float(np.abs(samples).max()) <= 1:
        problems[SILENT] = ""
    if clipped >= LEAST_CLIPPED and (
        original is None or clipped > 2 * clipped_share(original.samples)
    ):
        problems[CLIPPED] = f"{clipped:.1%} of the samples"
    ratio, raw = None, None
    if original is not None and original.samples.size:
        ratio = seconds * original.rate / original.samples.size
        if audio.rate != original.rate:
            problems[RATE] = f"{audio.rate} Hz, not {original.rate}"
        if not LENGTH_RATIOS[0] <= ratio <= LENGTH_RATIOS[1]:
            problems[LENGTH] = f"{ratio:.2f} times"
        same_rate = resample(samples, audio.rate, original.rate)
        raw = find_raw_speech(original.samples, same_rate, original.rate)
        if raw.is_raw:
            problems[RAW] = (
                f"{raw.seconds:.2f} s ({raw.share:.1%}), {raw.delay:+.3f} s late, correlation "
                f"{raw.correlation:.2f}"
            )
    digest = hashlib.sha256(np.ascontiguousarray(samples, np.float64).tobytes()).hexdigest()
    return AuditedUtterance("", "", problems, seconds, ratio, clipped, raw, samples_digest=digest)


def file_tags(content: bytes) -> dict[str, str]:
    """Read the tags of a WAV or FLAC file, without those that encoders leave.

    Parameters
    ----------
    content : bytes
        The file, or as much of it as holds its tags.

    Returns
    -------
    dict of str to str
        By name of the tag; names of chunks that are not audio, with "".

    Examples
    --------
    >>> file_tags(b"RIFF\\x1e\\0\\0\\0WAVELIST\\x12\\0\\0\\0INFOINAM\\5\\0\\0\\0alice\\0")
    {'INAM': 'alice'}
    """
    if content[:4] == b"RIFF":
        tags = dict(_wav_tags(content))
    else:
        tags = dict(_flac_tags(content) if content[:4] == b"fLaC" else ())
    return {name: text for name, text in tags.items() if name.upper() not in _HARMLESS_TAGS}


def _wav_tags(content: bytes) -> Iterator[tuple[str, str]]:
    for name, chunk in _chunks(content, 12):
        if name == b"LIST" and chunk[:4] == b"INFO":
            for tag, value in _chunks(chunk, 4):
                yield _text(tag), _text(value)
        elif name not in _HARMLESS_CHUNKS:
            yield _text(name).strip(), ""


def _chunks(content: bytes, position: int) -> Iterator[tuple[bytes, bytes]]:
    for _ in range(_MOST_TAGS):
        if position + 8 > len(content):
            return
        size = int.from_bytes(content[position + 4 : position + 8], "little")
        start = position + 8
        yield content[position : position + 4], content[start : start + min(size, _MOST_HEADER)]
        position = start + size + size % 2


def _flac_tags(content: bytes) -> Iterator[tuple[str, str]]:
    position, last = 4, False
    for _ in range(_MOST_TAGS):
        if last or position + 4 > len(content):
            return
        last, kind = bool(content[position] & 0x80), content[position] & 0x7F
        size = int.from_bytes(content[position + 1 : position + 4], "big")
        block = content[position + 4 : position + 4 + size]
        position += 4 + size
        if kind == 4:
            yield from _comments(block)
        elif kind == 6:
            yield "PICTURE", ""


def _comments(block: bytes) -> Iterator[tuple[str, str]]:
    """Read Vorbis comments after the vendor's name."""
    position = 8 + int.from_bytes(block[:4], "little")
    for _ in range(_MOST_TAGS):
        if position + 4 > len(block):
            return
        size = int.from_bytes(block[position : position + 4], "little")
        name, _, value = _text(block[position + 4 : position + 4 + size]).partition("=")
        position += 4 + size
        yield name.upper(), value


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace").rstrip("\0")


def clipped_share(samples: Samples) -> float:
    """Return the share of samples at full scale.

    Parameters
    ----------
    samples : int16 or float array, shape (N,)

    Returns
    -------
    float
        0 of no samples.
    """
    return float(np.mean(np.abs(samples.astype(np.float32)) >= _FULL_SCALE)) if samples.size else 0


def _audit_some(folders: AudioFolders, ids: Sequence[str]) -> list[AuditedUtterance]:
    original, anonymized = folders.readers()
    names, audited = (set(original.ids), set(anonymized.ids)), []
    readers = {"original": original, "anonymized": anonymized}
    for utterance in ids:
        if utterance not in names[1]:
            audited.append(AuditedUtterance(utterance, "", {MISSING: "not in wav.scp"}))
            continue
        path = anonymized.path(utterance)
        file = "" if path is None else str(path)
        try:
            audio = anonymized.read(utterance)
            compared = original.read(utterance) if utterance in names[0] else None
        except PrivacyEvalError as error:
            gone = path is not None and not path.exists()
            problem = {MISSING if gone else UNREADABLE: str(error)}
            audited.append(AuditedUtterance(utterance, file, problem))
            continue
        one = replace(audit_utterance(audio, compared), utterance=utterance, file=file)
        if stereo := [n for n, r in readers.items() if utterance in r.remarks.get(CHANNELS, ())]:
            one = replace(one, problems={**one.problems, CHANNELS: " and ".join(stereo)})
        if path is not None:
            content = path.read_bytes()
            one = replace(one, bytes_digest=hashlib.sha256(content).hexdigest())
            if tags := file_tags(content):
                text = abbreviate([f"{name}={value}" for name, value in tags.items()])
                one = replace(one, problems={**one.problems, TAGS: printable(shorten(text))})
        audited.append(one)
    return audited


def _with_duplicates(audited: Sequence[AuditedUtterance]) -> Iterator[AuditedUtterance]:
    """Add which utterances are copies of an earlier one; segments of a file share its bytes."""
    by_bytes: dict[str, AuditedUtterance] = {}
    by_samples: dict[str, AuditedUtterance] = {}
    for one in audited:
        problems = dict(one.problems)
        same = by_samples.setdefault(one.samples_digest, one) if one.samples_digest else one
        if same is not one and SILENT not in problems:
            earlier = by_bytes.get(one.bytes_digest)
            is_file = earlier is not None and earlier.file != one.file
            problems[SAME_BYTES if is_file else SAME_SAMPLES] = same.utterance
        if one.bytes_digest:
            by_bytes.setdefault(one.bytes_digest, one)
        yield replace(one, problems={p: problems[p] for p in PROBLEMS if p in problems})
