"""Faults of recordings: what later stages cannot use, damaged or copied files, and original speech
in anonymized audio.

Nothing is played or run; tags of files are read, never followed. Copies of original speech may be
delayed, scaled, or of some of the seconds: candidates for the delay come from the cross-correlation
of whole utterances and from stretches of equal shape, and at each of them short windows of both are
correlated.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

from ..errors import PrivacyEvalError, abbreviate, describe, printable, shorten
from ..io.files import digest
from .audio import (
    CHANNELS,
    CONVERTED,
    MIXED,
    Audio,
    AudioFolders,
    Samples,
    read_recording,
    resample,
)
from .features import CHALLENGE_MFCC, mfcc, voice_activity
from .ge2e import RATE as GE2E_RATE
from .ge2e import prepare
from .utility import level_db

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
    sha256 = digest(np.ascontiguousarray(samples, np.float64).tobytes())
    return AuditedUtterance("", "", problems, seconds, ratio, clipped, raw, samples_digest=sha256)


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
            one = replace(one, bytes_digest=digest(content))
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


FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Windows in seconds. They are raw if what a scale leaves of the original is at most so large, on
#: the scale of 16-bit integers (rounding) or as a share of the window's own level.
WINDOW, STEP, RESIDUAL, RELATIVE_RESIDUAL = 0.016, 0.004, 0.8, 0.01
#: Median correlation of windows of speech from which the whole is a copy, if not sample for sample.
COPY = 0.97
#: Share of the seconds, and seconds, from which an utterance holds raw speech.
LEAST_SHARE, LEAST_SECONDS = 0.003, 0.016

#: Samples of a stretch of equal shape, fewest extremes in it, and most delays that are tried.
_SHAPE, _EXTREMES, _DELAYS = 96, 12, 5
#: Least root mean square of a window of speech, as a share of the loudest, and of a raw window.
_LEAST_LEVEL, _RELATIVE_LEVEL, _RAW_LEVEL = 8.0, 0.02, 12.0
_TINY = 1e-12
#: Odd number, whose powers modulo 2^64 look random.
_BASE = 0x9E3779B97F4A7C15
#: First bits of codes by which most pairs that differ are told apart.
_FIRST_BITS = 18


@dataclass(frozen=True)
class RawSpeech:
    """Original speech that was found in an anonymized utterance.

    Attributes
    ----------
    seconds : float
        Of windows that correlate with the original.
    share : float
        Of the anonymized utterance's seconds.
    delay : float
        Seconds by which most of it is later than in the original.
    correlation : float
        Median over windows of speech at this delay, absolute.
    """

    seconds: float
    share: float
    delay: float
    correlation: float

    @property
    def is_raw(self) -> bool:
        """Whether there is more than chance makes of anonymized speech."""
        some = self.share >= LEAST_SHARE and self.seconds >= LEAST_SECONDS
        return some or self.correlation >= COPY


def find_raw_speech(original: ArrayLike, anonymized: ArrayLike, rate: int) -> RawSpeech:
    """Find original speech in anonymized speech of the same utterance.

    Parameters
    ----------
    original, anonymized : array_like, shapes (N,) and (M,)
        On the scale of 16-bit integers, of one sampling rate.
    rate : int
        Hz.

    Returns
    -------
    RawSpeech

    References
    ----------
    Docs, page "participants".

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> speech, other = generator.normal(0, 1000, (2, 16000)).round()
    >>> other[8000:8800] = -0.5 * speech[4000:4800]
    >>> raw = find_raw_speech(speech, other, 16000)
    >>> raw.is_raw, round(raw.delay, 3)
    (True, 0.25)
    >>> find_raw_speech(speech, generator.normal(0, 1000, 16000), 16000).is_raw
    False
    """
    x, y = (np.asarray(samples, dtype=np.float64) for samples in (original, anonymized))
    width, step = max(8, round(WINDOW * rate)), max(1, round(STEP * rate))
    if min(x.size, y.size) < width:
        return RawSpeech(0.0, 0.0, 0.0, 0.0)
    x, y = x - x.mean(), y - y.mean()  # of windows again: sums of small numbers are exact
    raw = np.zeros(y.size + 1, dtype=np.int64)
    best = (0, 0, 0.0)
    for delay in dict.fromkeys([0, _delay_of_whole(x, y), *_delays_of_shapes(x, y)]):
        first, correlations, is_raw = _correlations(x, y, delay, width, step)
        starts = first + step * np.flatnonzero(is_raw)
        np.add.at(raw, starts, 1)
        np.add.at(raw, starts + width, -1)
        of_speech = correlations[correlations >= 0]
        median = float(np.median(of_speech)) if of_speech.size else 0.0
        best = max(best, (starts.size, delay, median), key=lambda one: (one[0], one[2]))
    seconds = float(np.count_nonzero(np.cumsum(raw) > 0)) / rate
    return RawSpeech(seconds, seconds * rate / y.size, best[1] / rate, best[2])


def _delay_of_whole(x: FloatArray, y: FloatArray) -> int:
    """Find by how many samples y is later: the largest whitened cross-correlation, of any sign."""
    size = scipy.fft.next_fast_len(x.size + y.size, real=True)
    cross = np.conj(scipy.fft.rfft(x.astype(np.float32), size))
    cross *= scipy.fft.rfft(y.astype(np.float32), size)
    cross /= np.abs(cross) + _TINY * float(np.abs(cross).max() + 1)
    peak = int(np.argmax(np.abs(scipy.fft.irfft(cross, size))))
    return peak if peak < y.size else peak - size


def _delays_of_shapes(x: FloatArray, y: FloatArray) -> list[int]:
    """Find delays by stretches whose extremes are at the same samples, the most frequent first."""
    of_x, of_y = _shapes(x, 1), _shapes(y, 4)
    if not (of_x[0].size and of_y[0].size):
        return []
    # Codes whose first bits the other side has, too: few are left to sort.
    (x_codes, x_starts), (y_codes, y_starts) = _common(of_x, of_y), _common(of_y, of_x)
    if not x_codes.size:
        return []
    order = np.argsort(x_codes, kind="stable")
    shapes = x_codes[order]
    at = np.minimum(np.searchsorted(shapes, y_codes), shapes.size - 1)
    equal = shapes[at] == y_codes
    delays, counts = np.unique(y_starts[equal] - x_starts[order][at[equal]], return_counts=True)
    return [int(delay) for delay in delays[np.argsort(-counts, kind="stable")[:_DELAYS]]]


def _common(
    some: tuple[NDArray[np.uint64], IntArray], others: tuple[NDArray[np.uint64], IntArray]
) -> tuple[NDArray[np.uint64], IntArray]:
    """Select codes, and their starts, whose first bits occur in others."""
    occurs = np.zeros(1 << _FIRST_BITS, dtype=np.bool_)
    occurs[others[0] >> np.uint64(64 - _FIRST_BITS)] = True
    kept = occurs[some[0] >> np.uint64(64 - _FIRST_BITS)]
    return some[0][kept], some[1][kept]


@functools.lru_cache(maxsize=4)
def _powers(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the powers of the base and of its inverse, modulo 2^64, from 0 to a size."""
    powers, inverses = (
        np.cumprod(np.append(np.uint64(1), np.full(size, base, dtype=np.uint64)), dtype=np.uint64)
        for base in (_BASE, pow(_BASE, -1, 1 << 64))
    )
    return powers, inverses


def _shapes(samples: FloatArray, step: int) -> tuple[NDArray[np.uint64], IntArray]:
    """Encode where stretches have extremes, whatever their scale; return codes and starts."""
    rising = np.diff(samples) > 0
    extreme = (rising[1:] != rising[:-1]).astype(np.uint64)
    if extreme.size < _SHAPE:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    starts = np.arange(0, extreme.size - _SHAPE + 1, step)
    # Codes of all stretches from sums over the beginnings, modulo 2^64.
    powers, inverses = _powers(1 << (extreme.size - 1).bit_length())
    sums = np.append(np.uint64(0), np.cumsum(extreme * powers[: extreme.size]))
    codes = (sums[starts + _SHAPE] - sums[starts]) * inverses[starts]
    total = np.append(0, np.cumsum(extreme.astype(np.int64)))
    some = total[starts + _SHAPE] - total[starts] >= _EXTREMES
    return codes[some], starts[some]


def _correlations(
    x: FloatArray, y: FloatArray, delay: int, width: int, step: int
) -> tuple[int, FloatArray, NDArray[np.bool_]]:
    """Correlate windows of y with those of x that begin `delay` earlier.

    Returns the first sample of y, absolute correlations, -1 where either is too quiet, and
    whether windows are raw.
    """
    first, last = max(0, delay), min(y.size, x.size + delay)
    if last - first < width:
        return first, np.zeros(0), np.zeros(0, dtype=np.bool_)
    a, b = x[first - delay : last - delay], y[first:last]
    starts = np.arange(0, last - first - width + 1, step)

    def sums(values: FloatArray) -> FloatArray:
        total = np.append(0.0, np.cumsum(values))
        return np.asarray(total[starts + width] - total[starts])

    means = sums(a), sums(b)
    products = sums(a * b) - means[0] * means[1] / width
    of_a, of_b = (sums(v * v) - m * m / width for v, m in zip((a, b), means, strict=True))
    levels = [np.sqrt(np.maximum(energy, 0) / width) for energy in (of_a, of_b)]
    quiet = np.zeros(starts.size, dtype=np.bool_)
    for level in levels:
        quiet |= level < max(_LEAST_LEVEL, _RELATIVE_LEVEL * float(level.max()))
    correlations = np.abs(products) / np.sqrt(np.maximum(of_a * of_b, _TINY))
    residual = levels[1] * np.sqrt(np.maximum(1 - correlations**2, 0))
    is_raw = residual <= np.maximum(RESIDUAL, RELATIVE_RESIDUAL * levels[1])
    is_raw &= np.minimum(*levels) >= _RAW_LEVEL
    return first, np.where(quiet, -1.0, correlations), is_raw


#: Seconds of speech that ge2e must detect, where stage 4 anonymizes it. In 1 of 150 pieces of
#: LibriSpeech with 0.3 to 0.42 s, it detects none once they are converted; in 1 of 2800 with more.
LEAST_SPEECH = 0.45
#: The lowest rate that McAdams' method converts, and the shortest recording that encoders take.
_LOWEST_RATE, _SHORTEST = 2000, 0.1
_LOUDEST, _QUIET = 32768, -50.0


@dataclass(frozen=True)
class Recording:
    """What is known of a recording.

    Attributes
    ----------
    path : Path
    problem : str
        Why no later stage can use it; else empty.
    cautions : tuple of str
        What is odd in it.
    seconds : float
    rate : int
    samples : str
        Digest of the samples.
    utterance, speaker : str
    part : str
        What it is one of.
    """

    path: Path
    problem: str = ""
    cautions: tuple[str, ...] = ()
    seconds: float = 0.0
    rate: int = 0
    samples: str = field(default="", repr=False)
    utterance: str = ""
    speaker: str = ""
    part: str = "recordings"


def look_at(
    path: Path, encoders: tuple[str, ...] = (), *, anonymized: bool = True, extracted: bool = False
) -> Recording:
    """Look at a recording.

    Parameters
    ----------
    path : Path
    encoders : tuple of str
        Speaker encoders that it is for, which average the channels.
    anonymized : bool
        Whether stage 4 anonymizes it, from its first channel.
    extracted : bool
        Whether Kaldi's network extracts x-vectors of the first channel.

    Returns
    -------
    Recording

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.wav")
    >>> path.write_bytes(b"")
    0
    >>> look_at(path).problem
    'an empty file'
    """
    try:
        averaged, first = read_recording(path)
        problem = (
            _problem(averaged, first, uses_first=anonymized or not encoders)
            or ("ge2e" in encoders and _no_speech(averaged, anonymized))
            or (extracted and _no_x_vector(first))
            or ""
        )
    except Exception as error:  # also of a library, on a file that nobody foresaw
        return Recording(path, describe(error).removeprefix(f"{path}: "))
    samples = averaged.samples
    marks = {
        MIXED if encoders else CHANNELS: first is not averaged,
        CLIPPED: clipped_share(samples) >= LEAST_CLIPPED,
        f"level below {_QUIET:g} dB of full scale": level_db(averaged) < _QUIET,
        f"sampled below {GE2E_RATE} Hz, so without upper frequencies": averaged.rate < GE2E_RATE,
    }
    cautions = tuple(mark for mark, holds in marks.items() if holds)
    rate, seconds = averaged.rate, samples.size / averaged.rate
    sha256 = digest(f"{rate} ".encode() + samples.astype("<f4").tobytes())
    return Recording(path, problem, cautions, seconds, rate, sha256)


def _problem(averaged: Audio, first: Audio, *, uses_first: bool) -> str:
    """Say what no stage can use of samples."""
    peaks = [float(np.abs(a.samples.astype(np.float32)).max(initial=0)) for a in (averaged, first)]
    least, most = min(peaks) if uses_first else peaks[0], max(peaks)
    rate, seconds = first.rate, first.samples.size / first.rate
    problems = {
        "no samples": not seconds,
        SILENT: most <= 1,
        f"{SILENT} first channel or average of channels": least <= 1,
        f"too short, {seconds:.2f} s, needed are {_SHORTEST} s": seconds < _SHORTEST,
        f"{rate} Hz, expected at least {_LOWEST_RATE}": rate < _LOWEST_RATE,
        f"samples beyond full scale ({most / _LOUDEST:.3g} times); {CONVERTED}": (most > _LOUDEST),
    }
    return next((problem for problem, holds in problems.items() if holds), "")


def _no_speech(audio: Audio, anonymized: bool) -> str:
    """Say why ge2e makes no vector of samples."""
    speech = prepare(audio).size / GE2E_RATE
    if speech >= (LEAST_SPEECH if anonymized else 1 / GE2E_RATE):
        return ""
    needed = f"too short, {speech:.2f} s of speech, needed are {LEAST_SPEECH} s"
    return needed if speech else "no speech"


def _no_x_vector(audio: Audio) -> str:
    """Say why Kaldi's network extracts no x-vector of samples."""
    if audio.rate < CHALLENGE_MFCC.rate:
        return f"{audio.rate} Hz, the extractor needs at least {CHALLENGE_MFCC.rate}"
    samples = resample(audio.samples, audio.rate, int(CHALLENGE_MFCC.rate))
    return "" if voice_activity(mfcc(samples)).any() else "no voiced frames"
