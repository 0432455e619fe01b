"""Audio of data folders: WAV, FLAC, MP3 and Ogg files, utterance by utterance.

The `wav.scp` of a data folder names a file per recording, or a command; `segments` may cut
recordings into utterances. Of a command that decodes a file, the file is read, and converted as the
command says; no command is run unless that is asked for.

Samples are on the scale of 16-bit integers, as Kaldi's features expect: int16 where the file has at
most 16 bits, float32 otherwise. The content of a file tells its format, whatever
its name ends in.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import re
import shlex
import struct
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate, library, shorten
from ..io.data_dir import read_utt2dur
from ..io.files import check_inside, command_output, load, opened, reading
from ..io.text_table import is_number, read_columns
from ..io.vectors import ScpLine, read_scp

Samples = NDArray[np.int16] | NDArray[np.float32] | NDArray[np.float64]

#: Limit for a recording or segment: over four hours at 16 kHz.
MAX_SAMPLES = 1 << 28
LOWEST_RATE, HIGHEST_RATE = 1000, 192000
#: Audio that Kaldi's programs would not read, and that is mixed; keys of `AudioReader.remarks`.
NOT_16_BIT = "not 16-bit PCM, which Kaldi does not read"
CHANNELS, MIXED = "several channels, only the first is read", "several channels, averaged"
OTHER_LENGTH = (
    "not as long as in reco2dur (of copies at another speed, lhotse names the original: save their "
    "audio first; if recordings have changed, remove reco2dur)"
)

_BLOCK_SAMPLES = 1 << 20
#: Decoded beyond full scale where it was loud; as integers, the library would turn that around.
_COMPRESSED = ("MPEG_LAYER_III", "VORBIS", "OPUS")
_SUBTYPES = {
    **dict.fromkeys(("PCM_16", "PCM_U8", "PCM_S8", "ULAW", "ALAW"), "int16"),
    **dict.fromkeys(("PCM_24", "PCM_32"), "int32"),
    **dict.fromkeys(("FLOAT", "DOUBLE", *_COMPRESSED), "float32"),
}
#: How an audio file begins; the formats that are read, first.
_BEGINNINGS = {
    "WAV": rb"RIFF....WAVE",
    "FLAC": rb"fLaC",
    "Ogg": rb"OggS",
    "MP3": rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]|ID3",
    "NIST SPHERE": rb"NIST_1A",
    "MPEG-4": rb"....ftyp(?!hei|hev|mif1|msf1|avi[fs]|crx)",
    "AAC": rb"\xff[\xf0\xf1\xf8\xf9]|ADIF",
    "AMR": rb"#!AMR",
    "Windows Media": rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11",
    "AIFF": rb"FORM....AIF[FC]",
    "AU": rb"\.snd",
    "CAF": rb"caff",
    "Matroska": rb"\x1a\x45\xdf\xa3",
}
READ = tuple(_BEGINNINGS)[:4]
#: What names of audio end in, whatever is in it.
SUFFIXES = (
    *(".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".sph", ".m4a", ".mp4", ".3gp", ".aac"),
    *(".amr", ".wma", ".aif", ".aiff", ".au", ".caf", ".webm", ".mka"),
)
#: In errors of what ffmpeg reads and this package does not.
CONVERTED = "convert it: ffmpeg -i FILE -sample_fmt s16 FILE.flac"
#: Codes of uncompressed WAV files, in their headers.
_CODES = (1, 3, 6, 7, 0xFFFE)
#: Part of a file's length that a decoder may leave, as tags or padding.
_SLACK = 0.05
#: Factor from the library's sample scale to that of 16-bit integers.
_SCALES = {"int16": 1.0, "int32": 2.0**-16, "float32": 2.0**15}
#: Placeholder sizes in headers that were written by streaming programs.
_STREAM_SIZES = (0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFF000, 0x7FFFF024)
_MAX_OVERSHOOT = 0.5
_MAX_PIPED_BYTES = 1 << 30


@dataclass(frozen=True)
class Audio:
    """Samples of an utterance.

    Attributes
    ----------
    samples : int16 or float32 array, shape (N,)
        On the scale of 16-bit integers.
    rate : int
        Hz.
    """

    samples: Samples
    rate: int


@dataclass(frozen=True)
class _Segment:
    """A recording, or a part of it: the file that its line of wav.scp refers to, None for the
    output of its command, and how it is converted, see `file_of_command`."""

    line: ScpLine
    where: str
    path: Path | None = None
    conversion: Mapping[str, int] = field(default_factory=dict)
    start: float = 0.0
    end: float = math.inf
    channel: int | None = None

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.end == math.inf


@dataclass(frozen=True)
class _Header:
    """Header of an audio file, as far as known; the MD5 is that of FLAC's samples."""

    size: int
    frames: int | None = None
    md5: bytes | None = None
    bits: int = 0


class AudioReader:
    """Reader of the utterances of a data folder, one at a time.

    Parameters
    ----------
    data : Path
        Folder of wav.scp and, maybe, segments.
    base : Path, optional
        Folder that paths in wav.scp are relative to. By default the current one or, for files
        that are not there, `data`.
    mix : bool
        Average the channels instead of reading the first.
    allow_pipes : bool
        Run the commands in wav.scp that do more than decode or copy a file.
    allow_outside : bool
        Read files outside of `base` and `data`.

    Attributes
    ----------
    ids : tuple of str
        Utterances, in the order of segments or wav.scp.
    remarks : dict of str to list of str
        Warnings, each with the utterances read so far that it concerns.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, a duplicate; a segment without recording; a command
        or a path that is not allowed, with the utterance.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> soundfile.write(folder / "u.wav", np.int16([1, 2, 3]), 16000)
    >>> _ = (folder / "wav.scp").write_text("u1 cat u.wav |\\n")
    >>> reader = AudioReader(folder, base=folder)
    >>> [(name, audio.samples.tolist()) for name, audio in reader]
    [('u1', [1, 2, 3])]
    """

    def __init__(
        self,
        data: Path,
        *,
        base: Path | None = None,
        mix: bool = False,
        allow_pipes: bool = False,
        allow_outside: bool = False,
    ) -> None:
        self.remarks: dict[str, list[str]] = {}
        self.data, self._base, self._mix = data, base, mix
        self._roots = [] if allow_outside else [Path() if base is None else base, data]
        scp = data / "wav.scp"
        self._segments = {
            line.id: self._recording(line, line.where(scp), allow_pipes)
            for line in read_scp(scp, "<file>")
        }
        if (data / "segments").is_file():
            self._segments = dict(_segments(data / "segments", self._segments))
        recorded = data / "reco2dur"
        self._seconds = read_utt2dur(recorded, ()) if recorded.is_file() else {}
        self.ids = tuple(self._segments)
        self._piped: tuple[str, bytes] = ("", b"")

    def __iter__(self) -> Iterator[tuple[str, Audio]]:
        return ((name, self.read(name)) for name in self.ids)

    def notes(self) -> tuple[str, ...]:
        """Return the remarks, each with the number and the first of the utterances concerned."""
        return tuple(f"{r}: {len(ids)} ({abbreviate(ids)})" for r, ids in self.remarks.items())

    def path(self, utterance: str) -> Path | None:
        """Return the file of an utterance; None if a command writes it."""
        return self._segments[utterance].path

    def whole_file(self, utterance: str) -> Path | None:
        """Return the file of an utterance; None if it is cut or converted."""
        segment = self._segments[utterance]
        plain = segment.whole and segment.channel is None and not segment.conversion
        return segment.path if plain else None

    def files(self, utterances: Iterable[str]) -> dict[str, Path]:
        """Return the files of utterances, without those that a command writes."""
        paths = {name: self.path(name) for name in utterances}
        return {name: path for name, path in paths.items() if path is not None}

    def existing_files(self, utterances: Iterable[str]) -> dict[str, Path]:
        """Return the `files` of utterances, if they are regular files.

        Raises
        ------
        PrivacyEvalError
            With file, line and utterance of one that is not.
        """
        files = self.files(utterances)
        for name, path in files.items():
            if not path.is_file():
                raise PrivacyEvalError(f"{self.where(name)}: no such regular file")
        return files

    def size(self, utterances: Iterable[str]) -> int:
        """Return the bytes of the audio files of utterances, each file counted once."""
        paths = set(self.files(utterances).values())
        return sum(path.stat().st_size for path in paths if path.is_file())

    def target(self, utterance: str) -> str:
        """Return an utterance's entries of wav.scp and segments."""
        segment = self._segments[utterance]
        channel = "" if segment.channel is None else f" {segment.channel}"
        times = "" if segment.whole else f" {segment.start} {segment.end}"
        return segment.line.target + times + channel

    def where(self, utterance: str) -> str:
        """Return file, line and utterance, the beginning of messages."""
        return self._segments[utterance].where

    def read(self, utterance: str) -> Audio:
        """Read an utterance.

        Parameters
        ----------
        utterance : str

        Returns
        -------
        Audio

        Raises
        ------
        PrivacyEvalError
            With file, line and utterance: a file that is missing, damaged, truncated, of another
            format, too long; a segment beyond its end; samples that are not finite.
        """
        audio, remarks = self._heard(utterance)
        for remark in remarks:
            self.remarks.setdefault(remark, []).append(utterance)
        return audio

    def _heard(self, utterance: str) -> tuple[Audio, list[str]]:
        segment = self._segments[utterance]
        with self._opened(segment) as file:
            return _read(file, segment, self._mix, self._seconds.get(segment.line.id))

    def cropped(self, seconds: float) -> AudioReader:
        """Return a reader of whole pieces of the utterances, from their start, without the rest.

        Parameters
        ----------
        seconds : float
            Of each piece, whose id is `<utterance>-c<k>`, k from 0.

        Returns
        -------
        AudioReader

        Raises
        ------
        PrivacyEvalError
            As `read`; no utterance is so long.
        """
        if not seconds >= 0.1:
            raise PrivacyEvalError(f"pieces of {seconds:g} s: --crop needs at least 0.1")
        crops, pieces = copy(self), dict[str, _Segment]()
        for name, of in self._segments.items():
            # Samples that are lost to rounding are no fault of a piece.
            for k in range(int(self.length(name) / seconds + 1e-6)):
                start, end = (round(of.start + n * seconds, 6) for n in (k, k + 1))
                pieces[f"{name}-c{k}"] = replace(of, start=start, end=end)
        if not pieces:
            raise PrivacyEvalError(f"{self.data}: no utterance has {seconds:g} s, for --crop")
        crops._segments, crops.ids, crops.remarks = pieces, tuple(pieces), {}
        return crops

    def length(self, utterance: str) -> float:
        """Return a duration, for which what tells none is read.

        Parameters
        ----------
        utterance : str

        Returns
        -------
        float
            Seconds.

        Raises
        ------
        PrivacyEvalError
            As `read`.
        """
        try:
            return self.seconds(utterance)
        except PrivacyEvalError:
            audio, _ = self._heard(utterance)
            return audio.samples.size / audio.rate

    def segment(self, utterance: str) -> str:
        """Return the line of `segments` of an utterance that is cut."""
        of = self._segments[utterance]
        channel = "" if of.channel is None else f" {of.channel}"
        return f"{utterance} {of.line.id} {of.start:.6f} {of.end:.6f}{channel}"

    def seconds(self, utterance: str) -> float:
        """Return the duration of an utterance, from the header of its file.

        Parameters
        ----------
        utterance : str

        Returns
        -------
        float

        Raises
        ------
        PrivacyEvalError
            With file, line and utterance: as `read`; the output of a command, or a file whose
            header tells no length.
        """
        segment = self._segments[utterance]
        if segment.path is None and segment.end < math.inf:
            return segment.end - segment.start
        if segment.path is None:
            raise PrivacyEvalError(f"{segment.where}: the duration of a command's output")
        with (
            opened(segment.path, segment.where, self._roots) as file,
            _sound(file, segment.where) as (audio, header),
        ):
            if header.frames is None:
                raise PrivacyEvalError(f"{segment.where}: its header tells no length")
            _, frames = _range(audio, segment)
            return float((header.frames if frames is None else frames) / audio.samplerate)

    def _recording(self, line: ScpLine, where: str, allow_pipes: bool) -> _Segment:
        name, conversion = line.target, dict[str, int]()
        if line.offset is not None or line.part:
            raise PrivacyEvalError(f"{where}: audio within an archive is not read; name files")
        if line.command is not None:
            try:
                name, conversion = file_of_command(line.command)
            except PrivacyEvalError as error:
                if allow_pipes:
                    return _Segment(line, where)
                refused = f"{where}: a command, which runs with --allow-pipes only"
                raise PrivacyEvalError(f"{refused} ({error})") from None
        bases = [Path(), self.data] if self._base is None else [self._base]
        forms = [name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))]  # of macOS
        paths = (base / form for form in forms for base in bases)
        path = next(filter(os.path.exists, paths), bases[-1] / name)
        check_inside([path], self._roots, f"{where}: ")
        return _Segment(line, where, path, conversion)

    def _opened(self, segment: _Segment) -> contextlib.AbstractContextManager[BinaryIO]:
        """Open a recording: its file, or the output of its command, which is kept for others."""
        line, path = segment.line, segment.path
        if path is not None and not segment.conversion:
            return opened(path, segment.where, self._roots)
        if self._piped[0] != line.id:
            self._piped = ("", b"")
            if path is None:
                output = command_output(
                    str(line.command), self._base or Path(), segment.where, _MAX_PIPED_BYTES
                )
            else:
                with opened(path, segment.where, self._roots) as file:
                    output = _converted(file, _Segment(line, segment.where), segment.conversion)
            self._piped = (line.id, output)
        return io.BytesIO(self._piped[1])


@dataclass(frozen=True)
class AudioFolders:
    """Data folders of original and anonymized audio.

    Attributes
    ----------
    original, anonymized : Path
    base : Path
        Folder that paths in wav.scp are relative to.
    allow_outside : bool
        See `AudioReader`.
    """

    original: Path
    anonymized: Path
    base: Path
    allow_outside: bool = False

    def readers(self) -> tuple[AudioReader, AudioReader]:
        """Return the readers of both."""
        original, anonymized = (
            AudioReader(folder, base=self.base, allow_outside=self.allow_outside)
            for folder in (self.original, self.anonymized)
        )
        return original, anonymized


def _segments(path: Path, recordings: Mapping[str, _Segment]) -> Iterator[tuple[str, _Segment]]:
    """Read the segments of recordings."""
    file, columns = load(path), ("utterance", "recording", "start", "end", "channel")
    number = len(file.content.lstrip().partition(b"\n")[0].split())
    names, *others = read_columns(file, columns[: 5 if number == 5 else 4])
    seen = set()
    fields = (column.tolist() for column in (names, *others))
    for row, (name, recording, start, end, *channel) in enumerate(zip(*fields, strict=True)):
        where = f"{path}:{names.line(row)}: {name}"
        if name in seen:
            raise PrivacyEvalError(f"{where}: duplicate utterance")
        seen.add(name)
        if recording not in recordings:
            raise PrivacyEvalError(f"{where}: recording {recording!r} is not in wav.scp")
        are_numbers = is_number(start) and is_number(end)
        times = (float(start), float(end)) if are_numbers else (math.nan, math.nan)
        if times[1] == -1:
            times = times[0], math.inf
        if not 0 <= times[0] < times[1]:
            raise PrivacyEvalError(
                f"{where}: expected seconds, 0 <= start < end, found {start} {end}"
            )
        if channel and not re.fullmatch("[0-9]{1,3}", channel[0]):
            raise PrivacyEvalError(f"{where}: expected a channel from 0, not {channel[0]}")
        whole, of = recordings[recording], int(channel[0]) if channel else None
        where += f" ({shorten(whole.line.target)})"
        yield name, replace(whole, where=where, start=times[0], end=times[1], channel=of)


def soundfile() -> Any:
    """Import the library that reads and writes audio, an extra of the package.

    Returns
    -------
    module

    Raises
    ------
    PrivacyEvalError
        How to install it.
    """
    return library("soundfile", "audio files")


def kind_of_audio(head: bytes) -> str:
    """Tell the format of an audio file by how it begins.

    Parameters
    ----------
    head : bytes
        The first 32 bytes.

    Returns
    -------
    str
        "" of anything else.

    Examples
    --------
    >>> kind_of_audio(b"OggS\\0"), kind_of_audio(b"Once upon a time")
    ('Ogg', '')
    """
    found = (n for n, how in _BEGINNINGS.items() if re.match(how, head, re.DOTALL))
    return next(found, "")


def read_recording(path: Path) -> tuple[Audio, Audio]:
    """Read a file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    averaged, first : Audio
        Of the average of its channels, and of the first; the same object if there are no others.

    Raises
    ------
    PrivacyEvalError
        As `AudioReader.read`.
    """
    segment = _Segment(ScpLine(1, path.stem, str(path)), str(path))
    with opened(path, path) as file:
        first, remarks = _read(file, segment, False, None)
        averaged = _read(file, segment, True, None)[0] if CHANNELS in remarks else first
        return averaged, first


def _read(
    file: BinaryIO, segment: _Segment, mix: bool, expected: float | None
) -> tuple[Audio, list[str]]:
    """Read an utterance from an open file of as many seconds as expected; also return remarks."""
    with _sound(file, segment.where) as (audio, header):
        samples = _samples(audio, header, segment, mix)
        if audio.format == "MP3" and segment.whole and file.tell() < (1 - _SLACK) * header.size:
            read = f"read to {file.tell() / header.size:.0%} only, without its length"
            raise PrivacyEvalError(f"{segment.where}: {read}; {CONVERTED}")
        remarks = [NOT_16_BIT] if audio.subtype != "PCM_16" else []
        several = audio.channels > 1 and segment.channel is None
        remarks += [MIXED if mix else CHANNELS] if several else []
        found = expected if header.frames is None else header.frames / audio.samplerate
        if expected and found and abs(found - expected) > 0.05 + 0.01 * expected:
            remarks.append(OTHER_LENGTH)
        return Audio(samples, int(audio.samplerate)), remarks


def _converted(file: BinaryIO, whole: _Segment, conversion: Mapping[str, int]) -> bytes:
    """Convert a recording as its command would, to a WAV file of 16 bits."""
    with _sound(file, whole.where) as (audio, header):
        old, new = audio.samplerate, conversion.get("rate", audio.samplerate)
        chosen = [conversion["channel"]] if "channel" in conversion else range(audio.channels)
        if "channels" in conversion and len(chosen) > 2:
            what = f"{whole.where}: the command mixes {len(chosen)} channels"
            raise PrivacyEvalError(f"{what}: choose one, by -map_channel or remix")
        channels = [_samples(audio, header, replace(whole, channel=c), False) for c in chosen]
    if not LOWEST_RATE <= new <= HIGHEST_RATE or channels[0].size * new > MAX_SAMPLES * old:
        raise PrivacyEvalError(f"{whole.where}: conversion to {new} Hz is not supported")
    samples = np.stack([resample(channel, old, new) for channel in channels], axis=1)
    if "channels" in conversion:
        samples = samples.mean(axis=1, dtype=np.float32)
    rounded = np.rint(samples).clip(-(1 << 15), (1 << 15) - 1).astype(np.int16)
    output = io.BytesIO()
    soundfile().write(output, rounded, new, format="WAV", subtype="PCM_16")
    return output.getvalue()


@contextlib.contextmanager
def _sound(file: BinaryIO, where: str) -> Iterator[tuple[Any, _Header]]:
    """Open an audio file by the library, after its header and format are checked."""
    module = soundfile()
    with reading(where):
        header = _read_header(file, where)
        file.seek(0)
        target = file if isinstance(file, io.BytesIO) else file.fileno()
        try:
            with module.SoundFile(target, closefd=False) as audio:
                _check_format(audio, header, where)
                yield audio, header
        except (module.SoundFileError, RuntimeError) as error:
            detail = str(error).rpartition(": ")[2]
            raise PrivacyEvalError(f"{where}: damaged or not supported ({detail})") from error


def _read_header(file: BinaryIO, where: str) -> _Header:
    """Check the header of a file before a library trusts it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(42)
    if start[:4] == b"RIFF" and start[8:12] == b"WAVE":
        return _Header(size, _wav_frames(file, size, where))
    if start[:4] == b"fLaC" and len(start) == 42 and start[4] & 0x7F == 0:
        packed = int.from_bytes(start[18:26], "big")
        frames, md5 = packed & ((1 << 36) - 1), start[26:42]
        bits = (packed >> 36 & 31) + 1
        return _Header(size, frames or None, md5 if any(md5) else None, bits)
    kind = kind_of_audio(start)
    if kind in READ[2:]:
        return _Header(size)
    problem = f"{kind} audio, which is not read; {CONVERTED}"
    if kind in ("", *READ):
        problem = "truncated" if kind else f"no audio (read are {', '.join(READ)})"
    raise PrivacyEvalError(f"{where}: {problem if size else 'an empty file'}")


def _wav_frames(file: BinaryIO, size: int, where: str) -> int | None:
    """Check the chunks of a WAV file and return its number of frames; None if it was streamed."""
    position, block, frames = 12, 0, -1
    while position + 8 <= size:
        file.seek(position)
        name, length = struct.unpack("<4sI", file.read(8))
        position += 8
        if name == b"data" and length in _STREAM_SIZES and length != size - position:
            return None
        if not name.isascii() or not name.decode("ascii").isprintable():
            raise PrivacyEvalError(f"{where}: damaged WAV file, no chunk at byte {position - 8}")
        if position + length > size:
            raise PrivacyEvalError(
                f"{where}: truncated, {size - position} of {length} bytes of the chunk "
                f"{name.decode().strip()}"
            )
        if name == b"fmt ":
            block = _block_bytes(file.read(min(length, 16)), where)
        elif name == b"data":
            if not block or frames >= 0:
                raise PrivacyEvalError(f"{where}: damaged WAV file, unexpected chunk data")
            frames = length // block
        position += length + length % 2
    if frames < 0:
        raise PrivacyEvalError(f"{where}: truncated WAV file without samples")
    return frames


def _block_bytes(content: bytes, where: str) -> int:
    """Return the bytes per frame; refuse an inconsistent format."""
    if len(content) == 16:
        code, channels, rate, per_second, block, bits = struct.unpack("<HHIIHH", content)
        if code not in _CODES:
            raise PrivacyEvalError(f"{where}: WAV of coding {code} is not supported; {CONVERTED}")
        if block == channels * -(-bits // 8) > 0 and per_second == rate * block:
            return int(block)
    raise PrivacyEvalError(f"{where}: damaged WAV file, its format contradicts itself")


def _check_format(audio: Any, header: _Header, where: str) -> None:
    if audio.subtype not in _SUBTYPES:
        what = f"{audio.format} of {audio.subtype}"
        raise PrivacyEvalError(f"{where}: {what} is not supported; {CONVERTED}")
    if not LOWEST_RATE <= audio.samplerate <= HIGHEST_RATE:
        raise PrivacyEvalError(
            f"{where}: {audio.samplerate} Hz, expected {LOWEST_RATE} to {HIGHEST_RATE}"
        )
    if header.frames is not None and audio.frames != header.frames:
        raise PrivacyEvalError(
            f"{where}: damaged, found {audio.frames} samples, the header declares {header.frames}"
        )


def _range(audio: Any, segment: _Segment) -> tuple[int, int | None]:
    """Return the first frame of a segment and the number of its frames, if known."""
    if segment.whole:
        return 0, None
    rate, frames = audio.samplerate, audio.frames
    if segment.start * rate >= frames:
        raise PrivacyEvalError(
            f"{segment.where}: begins at {segment.start} s, the recording ends at "
            f"{frames / rate:g} s"
        )
    start = int(segment.start * rate)
    if segment.end != math.inf and segment.end * rate > frames + _MAX_OVERSHOOT * rate:
        raise PrivacyEvalError(
            f"{segment.where}: ends at {segment.end} s, the recording at {frames / rate:g} s"
        )
    end = frames if segment.end == math.inf else min(frames, int(segment.end * rate))
    if start == end:
        raise PrivacyEvalError(
            f"{segment.where}: no samples from {segment.start} to {segment.end} s"
        )
    return start, end - start


def _samples(audio: Any, header: _Header, segment: _Segment, mix: bool) -> Samples:
    """Read frames in blocks, so that no more memory is used than they need."""
    start, frames = _range(audio, segment)
    wanted = header.frames if frames is None else frames
    dtype = _SUBTYPES[audio.subtype]
    mixed = mix and audio.channels > 1 and segment.channel is None
    channel = segment.channel or 0
    if channel >= audio.channels:
        raise PrivacyEvalError(f"{segment.where}: no channel {channel}, the first of which is 0")
    kind = np.dtype("int16" if dtype == "int16" and not mixed else "float32")
    most = MAX_SAMPLES if wanted is None else wanted
    if wanted is not None and wanted > MAX_SAMPLES:
        raise PrivacyEvalError(f"{segment.where}: over {MAX_SAMPLES} samples")
    # A header may be wrong, and compressed audio may expand many times.
    samples: Samples = np.empty(min(most, 2 * header.size), kind)
    expected = header.md5 if frames is None else None
    md5 = hashlib.md5(usedforsecurity=False)
    count, step = 0, max(1, _BLOCK_SAMPLES // audio.channels)
    audio.seek(start)
    while count < most:
        block = audio.read(min(step, most - count), dtype, always_2d=True)
        if not len(block):
            break
        if expected is not None:
            md5.update(_flac_bytes(block, header.bits))
        if count + len(block) > samples.size:
            samples = np.concatenate([samples[:count], np.empty(count + len(block), kind)])
        part = block.mean(axis=1, dtype=np.float32) if mixed else block[:, channel].astype(kind)
        if kind == np.float32:
            with np.errstate(over="ignore", invalid="ignore"):
                part *= np.float32(_SCALES[dtype])
            if audio.subtype in _COMPRESSED:
                np.clip(part, -32768, 32767, out=part)
            if not np.isfinite(part).all():
                raise PrivacyEvalError(f"{segment.where}: samples that are NaN or infinite")
        samples[count : count + len(block)] = part
        count += len(block)
    least = (1 - _SLACK) * audio.frames if frames is None and wanted is None else wanted or 0
    if count < least:
        wanted = wanted or audio.frames
        raise PrivacyEvalError(f"{segment.where}: truncated, {count} of {wanted} samples")
    if wanted is None and len(audio.read(1, dtype)):
        raise PrivacyEvalError(f"{segment.where}: over {MAX_SAMPLES} samples")
    if expected not in (None, md5.digest()):
        raise PrivacyEvalError(f"{segment.where}: damaged, samples do not match its MD5")
    return samples[:count]


def _flac_bytes(block: NDArray[Any], bits: int) -> bytes:
    """Return the bytes that FLAC's MD5 is of; the library fills samples with zeros below."""
    width, values = -(-bits // 8), block >> (8 * block.itemsize - bits)
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(-1, block.itemsize)[:, :width].tobytes()


def resample(samples: Samples, rate: int, new_rate: int) -> Samples:
    """Convert the sampling rate, as Kaldi does, by a windowed sinc of six zero crossings.

    Parameters
    ----------
    samples : int16 or float array, shape (N,)
    rate, new_rate : int
        Hz.

    Returns
    -------
    float32 array, shape (ceil(N new_rate / rate),)
        At the same rate, the samples themselves.

    Examples
    --------
    >>> resample(np.ones(480), 48000, 16000).size
    160
    """
    if rate == new_rate:
        return samples
    common = math.gcd(rate, new_rate)
    phases, advance = new_rate // common, rate // common
    cutoff = 0.99 * 0.5 * min(rate, new_rate)
    half_width = 6 / (2 * cutoff)
    instants = np.arange(phases) / new_rate
    first = np.ceil((instants - half_width) * rate).astype(np.int64)
    taps = math.floor(2 * half_width * rate) + 1
    time = (first[:, None] + np.arange(taps)) / rate - instants[:, None]
    kernel = 2 * cutoff * np.sinc(2 * cutoff * time) * 0.5 * (1 + np.cos(np.pi * time / half_width))
    kernel[np.abs(time) >= half_width] = 0.0
    kernel /= rate

    count = -(-samples.size * new_rate // rate)
    result = np.empty(count, np.float32)
    step = max(1, _BLOCK_SAMPLES // taps)
    for begin in range(0, count, step):
        place = np.arange(begin, min(begin + step, count))
        phase = place % phases
        start = place // phases * advance + first[phase]
        low, high = int(start.min()), int(start.max()) + taps
        missing = max(0, -low), max(0, high - samples.size)
        part = np.pad(samples[max(0, low) : high], missing)
        rows = np.lib.stride_tricks.sliding_window_view(part, taps)[start - low]
        result[begin : begin + step] = np.einsum("ij,ij->i", rows, kernel[phase])
    return result


_QUOTED = re.compile("'[^']*'")
_SHELL = re.compile(r"[$`;&|<>()*?\[\]{}~#!\n\\]")

_FILE, _RATE, _ONE = "(?P<file>[^-].*)", r"(?P<rate>[1-9]\d{0,5}k?)", "(?P<channels>1)"
_TO_PIPE = frozenset({"file", "wav", "output"})
#: By program, options with their values, and groups without which it does something else.
_DECODERS = {
    "cat": (_FILE, {"file"}),
    "flac": (f"-s|(?P<c>-c)|(?P<d>-d)|{_FILE}", {"file", "c", "d"}),
    "sox": (
        rf"\A(-t (wav|flac) )?{_FILE}|-t (?P<wav>wav)|-e signed-integer|-b 16|(?P<output>-)|"
        f"(-r|rate) {_RATE}|(-c|channels) {_ONE}|remix (?P<track>[1-9])",
        _TO_PIPE,
    ),
    "ffmpeg": (
        r"-(y|nostdin|hide_banner|nostats|vn)|-(v|loglevel) -?\w+|-threads \d+|"
        r"-(acodec|c:a|codec:a) pcm_s16le|-sample_fmt s16|-(ab|b:a) \w+|-map 0:a(:0)?|"
        rf"-i {_FILE}|-f (?P<wav>wav)|-ar {_RATE}|-ac {_ONE}|-map_channel 0\.0\.(?P<channel>\d)|"
        r"(?P<output>(-|pipe:1?)(?=\n\Z))",
        _TO_PIPE,
    ),
}
_NUMBERS = {"rate", "channels", "channel", "track"}
_LONG = {"--stdout": "-c", "--decode": "-d", "--silent": "-s", "--totally-silent": "-s"}


def file_of_command(command: str) -> tuple[str, dict[str, int]]:
    """Find the file that a command decodes, and how it is converted.

    Parameters
    ----------
    command : str
        Without the `|` at its end.

    Returns
    -------
    (str, dict of str to int)
        The file and its conversion: empty if samples stay as they are, else to 16 `bits`, and to
        a `rate` in Hz, one of the channels (`channel`, from 0), or their mean (`channels` is 1).

    Raises
    ------
    PrivacyEvalError
        Another program, or an option that is not known.

    Examples
    --------
    >>> file_of_command("flac -c -d -s 'a b.flac'")
    ('a b.flac', {})
    >>> file_of_command("ffmpeg -v error -i a.flac -f wav -ar 16000 -")
    ('a.flac', {'rate': 16000, 'bits': 16})
    """
    try:
        program, *words = shlex.split("" if _SHELL.search(_QUOTED.sub("", command)) else command)
    except ValueError:
        program, words = "", []
    if program not in _DECODERS:
        raise PrivacyEvalError(f"understood is one command of {', '.join(_DECODERS)}")
    options, needs = _DECODERS[program]
    text = "".join(f"{_LONG.get(word, word)}\n" for word in words)
    if program == "flac":  # -cd is -c -d
        text = re.sub(r"(?m)(?<=^-)[cds]+$", lambda m: "\n-".join(m[0]), text)
    found, at = dict[str, str](), 0
    while at < len(text):
        match = re.compile(f"(?:{options})\n".replace(" ", "\n")).match(text, at)
        new = {k: v for k, v in (match.groupdict() if match else {}).items() if v}
        if match is None or found.keys() & new.keys():
            unknown = " ".join(text[at:].split("\n")[:2]).strip()
            raise PrivacyEvalError(f"{program}: {shorten(unknown)} is not understood")
        found, at = found | new, match.end()
    if needs - found.keys() or next(iter(found)) not in ("file", "c", "d"):
        raise PrivacyEvalError(
            f"{program}: expected a file, then {', '.join(sorted(needs - {'file'}))}"
        )
    numbers = {n: int(found[n].replace("k", "000")) for n in _NUMBERS & found.keys()}
    if "track" in numbers:
        numbers["channel"] = numbers.pop("track") - 1
    return found["file"], numbers | ({"bits": 16} if "output" in needs else {})
