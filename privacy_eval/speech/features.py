"""MFCC, filter banks, energy-based voice activity and sliding mean normalization, as in Kaldi; and
Slaney's mel spectrogram, the front end of many neural networks that are not Kaldi's.

Samples of Kaldi's features are on the scale of 16-bit integers. Everything is computed in float64,
in blocks of frames, and rounded to float32.

References
----------
D. Povey et al., "The Kaldi speech recognition toolkit", ASRU 2011.
D. Snyder et al., "X-vectors: robust DNN embeddings for speaker recognition", ICASSP 2018.
M. Slaney, "Auditory toolbox", Technical Report 1998-010, Interval Research, 1998; as in librosa.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, check_values, library
from .audio import Audio, AudioReader, Samples, resample

Features = NDArray[np.float32]

#: Floor of energies before their logarithm: float32's epsilon.
_FLOOR, _MEL_SCALE = 2.0**-23, 1127.0
# More frames would be larger than the caches, and slower.
_BLOCK_FRAMES = 128
_MAX_WINDOW = 1 << 16
_WINDOWS = ("povey", "hamming", "hanning", "rectangular", "sine", "blackman")


@dataclass(frozen=True)
class MfccOptions:
    """Options of Kaldi's compute-mfcc-feats, with its defaults, but no dither.

    Attributes
    ----------
    sample_frequency, low_freq, high_freq : float
        Hz; a `high_freq` of 0 or below is counted from the Nyquist frequency.
    frame_length, frame_shift : float
        Milliseconds.
    dither : float
        Standard deviation of the noise added to every sample.
    preemphasis, cepstral_lifter, blackman_coeff, energy_floor : float
    window_type : {"povey", "hamming", "hanning", "rectangular", "sine", "blackman"}
    remove_dc_offset, round_to_power_of_two, snip_edges : bool
    use_energy, raw_energy : bool
        Replace C0 by the log energy; of the samples before pre-emphasis and window.
    num_mel_bins, num_ceps : int
    allow_downsample, allow_upsample : bool
        Resample recordings with another sampling rate.
    htk_compat : bool
        Must be False.

    Raises
    ------
    ValueError
        A value out of range.
    """

    sample_frequency: float = 16000.0
    frame_length: float = 25.0
    frame_shift: float = 10.0
    dither: float = 0.0
    preemphasis: float = 0.97
    remove_dc_offset: bool = True
    window_type: str = "povey"
    round_to_power_of_two: bool = True
    blackman_coeff: float = 0.42
    snip_edges: bool = True
    allow_downsample: bool = False
    allow_upsample: bool = False
    num_mel_bins: int = 23
    low_freq: float = 20.0
    high_freq: float = 0.0
    num_ceps: int = 13
    use_energy: bool = True
    energy_floor: float = 0.0
    raw_energy: bool = True
    cepstral_lifter: float = 22.0
    htk_compat: bool = False

    def __post_init__(self) -> None:
        within = 0 <= self.low_freq < self.highest <= self.sample_frequency / 2
        least = min(self.dither, self.energy_floor)
        checks = {
            "sample-frequency must be 1000 to 192000": 1000 <= self.sample_frequency <= 192000,
            "sample-frequency must be whole": self.sample_frequency == int(self.sample_frequency),
            f"a frame must have 2 to {_MAX_WINDOW} samples": 2 <= self.window <= _MAX_WINDOW,
            "frame-shift must be 1 sample to 1 s": 1 <= self.shift <= self.sample_frequency,
            "dither and energy-floor must not be negative": least >= 0,
            "preemphasis must be 0 to 1": 0 <= self.preemphasis <= 1,
            "cepstral-lifter must not be negative": self.cepstral_lifter >= 0,
            f"window-type must be one of {', '.join(_WINDOWS)}": self.window_type in _WINDOWS,
            "num-mel-bins must be 3 to 1000": 3 <= self.num_mel_bins <= 1000,
            "num-ceps must be 1 to num-mel-bins": 1 <= self.num_ceps <= self.num_mel_bins,
            "expected 0 <= low-freq < high-freq <= Nyquist": within,
            "htk-compat is not supported": not self.htk_compat,
        }
        check_values(checks)

    @property
    def rate(self) -> int:
        """Sampling rate in Hz."""
        return int(self.sample_frequency)

    @property
    def window(self) -> int:
        """Number of samples per frame."""
        return int(self.sample_frequency * 0.001 * self.frame_length)

    @property
    def shift(self) -> int:
        """Samples from one frame to the next."""
        return int(self.sample_frequency * 0.001 * self.frame_shift)

    @property
    def highest(self) -> float:
        """Upper end of the filter bank in Hz."""
        nyquist = self.sample_frequency / 2
        return self.high_freq if self.high_freq > 0 else nyquist + self.high_freq

    @property
    def fft_size(self) -> int:
        """Points of the Fourier transform."""
        power = 1 << (self.window - 1).bit_length()
        return power if self.round_to_power_of_two else self.window


@dataclass(frozen=True)
class VadOptions:
    """Options of Kaldi's compute-vad, with its defaults.

    Attributes
    ----------
    vad_energy_threshold, vad_energy_mean_scale : float
        The threshold for C0 is the first plus the second times the utterance's mean of C0.
    vad_proportion_threshold : float
        Fraction of frames in context that must exceed the threshold for a frame to be voiced.
    vad_frames_context : int
        Frames on either side that count.

    Raises
    ------
    ValueError
        A value out of range.
    """

    vad_energy_threshold: float = 5.0
    vad_energy_mean_scale: float = 0.5
    vad_proportion_threshold: float = 0.6
    vad_frames_context: int = 0

    def __post_init__(self) -> None:
        share = self.vad_proportion_threshold
        checks = {
            "vad-energy-mean-scale must not be negative": self.vad_energy_mean_scale >= 0,
            "vad-frames-context must not be negative": self.vad_frames_context >= 0,
            "vad-proportion-threshold must be between 0 and 1": 0 < share < 1,
        }
        check_values(checks)


#: conf/mfcc.conf and conf/vad.conf of the challenges of 2020 and 2022.
CHALLENGE_MFCC = MfccOptions(
    high_freq=7600.0, num_mel_bins=30, num_ceps=30, snip_edges=False, allow_downsample=True
)
CHALLENGE_VAD = VadOptions(
    vad_energy_threshold=5.5, vad_proportion_threshold=0.12, vad_frames_context=2
)


#: Utterances without features, as Kaldi leaves them out; keys of `AudioReader.remarks`.
TOO_SHORT = "left out, too short for a frame of features"
OTHER_RATE = (
    "left out, sampling rate differs from that of the features (resampled with the MFCC options "
    "--allow-upsample=true, --allow-downsample=true)"
)


def utterance_features(
    reader: AudioReader,
    options: MfccOptions = CHALLENGE_MFCC,
    *,
    seed: int = 0,
    ids: Sequence[str] | None = None,
    unreadable: Callable[[str, PrivacyEvalError], None] | None = None,
) -> Iterator[tuple[str, Features]]:
    """Compute the MFCC of a data folder, one utterance after another.

    Parameters
    ----------
    reader : AudioReader
        Its `remarks` list the utterances that are skipped, as in Kaldi: those without frames, and
        those of another sampling rate if the options do not allow resampling.
    options : MfccOptions
    seed : int
        Of the dither.
    ids : sequence of str, optional
        Only these utterances.
    unreadable : callable, optional
        Called with each utterance that cannot be read and its error; by default it is raised.

    Returns
    -------
    iterator of (str, float32 array of shape (T, num_ceps))

    Raises
    ------
    PrivacyEvalError
        As `AudioReader.read`.
    """
    for name in reader.ids if ids is None else ids:
        try:
            audio = reader.read(name)
        except PrivacyEvalError as error:
            if unreadable is None:
                raise
            unreadable(name, error)
            continue
        samples = _at_rate(audio, options)
        del audio  # of a long recording, as large as everything else
        features = None if samples is None else mfcc(samples, options, seed=seed, utterance=name)
        if features is None or not len(features):
            reader.remarks.setdefault(OTHER_RATE if features is None else TOO_SHORT, []).append(
                name
            )
        else:
            yield name, features


def _at_rate(audio: Audio, options: MfccOptions) -> Samples | None:
    """Return the samples at the rate of the options; None if resampling is not allowed."""
    lower, higher = audio.rate < options.rate, audio.rate > options.rate
    if (lower and not options.allow_upsample) or (higher and not options.allow_downsample):
        return None
    return resample(audio.samples, audio.rate, options.rate)


def mfcc(
    samples: Samples, options: MfccOptions = CHALLENGE_MFCC, *, seed: int = 0, utterance: str = ""
) -> Features:
    """Compute mel-frequency cepstral coefficients.

    Parameters
    ----------
    samples : int16 or float array, shape (N,)
        At the rate of the options, on the scale of 16-bit integers.
    options : MfccOptions
    seed : int
    utterance : str
        Both seed the dither, so that it does not depend on other utterances.

    Returns
    -------
    float32 array, shape (T, num_ceps)
        No frames where the samples are too few.

    Examples
    --------
    >>> mfcc(np.zeros(16000)).shape
    (100, 30)
    """
    noise = _noise(seed, utterance) if options.dither else None
    compute = partial(_cepstra, options=options, noise=noise)
    return by_blocks(_frames(samples, options), options.num_ceps, compute)


def fbank(samples: Samples, options: MfccOptions) -> Features:
    """Compute log mel filter bank energies, as compute-fbank-feats and kaldi-native-fbank do.

    Parameters
    ----------
    samples : int16 or float array, shape (N,)
        At the rate of the options, on the scale that the network expects: it moves energies
        above their floor, float32's epsilon.
    options : MfccOptions
        Those of cepstra, energy and dither are not used.

    Returns
    -------
    float32 array, shape (T, num_mel_bins)
        No frames where the samples are too few.

    Examples
    --------
    >>> fbank(np.zeros(16000), MfccOptions(num_mel_bins=80)).shape
    (98, 80)
    """
    frames = _frames(samples, options)
    return by_blocks(frames, options.num_mel_bins, lambda block: _log_mel(block, options)[0])


def by_blocks(
    frames: Samples, columns: int, compute: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> Features:
    """Compute the features of frames in float64 and in blocks.

    Parameters
    ----------
    frames : array, shape (T, window)
    columns : int
        Features of a frame.
    compute : callable
        Of some frames: their features.

    Returns
    -------
    float32 array, shape (T, columns)
    """
    result = np.empty((len(frames), columns), np.float32)
    for first in range(0, len(frames), _BLOCK_FRAMES):
        block = frames[first : first + _BLOCK_FRAMES].astype(np.float64)
        result[first : first + len(block)] = compute(block)
    return result


def _noise(seed: int, utterance: str) -> np.random.Generator:
    sha = hashlib.sha256(f"dither {seed} {utterance}".encode("utf-8", "surrogateescape"))
    return np.random.default_rng(int.from_bytes(sha.digest()[:8], "big"))


def _frames(samples: Samples, options: MfccOptions) -> Samples:
    """Return the frames as a view of the samples, mirrored beyond their ends."""
    count, window, shift = samples.size, options.window, options.shift
    snip = options.snip_edges
    number = (count - window) // shift + 1 if snip else (count + shift // 2) // shift
    if number < 1:
        return np.empty((0, window), samples.dtype)
    padded: Any = samples
    if not snip:
        before = window // 2 - shift // 2
        after = max(0, (number - 1) * shift - before + window - count)
        padded = np.pad(samples[max(0, -before) :], (max(0, before), after), "symmetric")
    frames: Any = np.lib.stride_tricks.sliding_window_view(padded, window)[::shift][:number]
    return cast(Samples, frames)


def _log_mel(
    frames: NDArray[np.float64], options: MfccOptions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the log energies in mel bands of some frames, shape (frames, window), and the
    energies of the frames."""
    if options.remove_dc_offset:
        frames -= frames.mean(axis=1, keepdims=True)
    energy = np.einsum("ti,ti->t", frames, frames)
    frames[:, 1:] -= options.preemphasis * frames[:, :-1]
    frames[:, 0] *= 1 - options.preemphasis
    frames *= _window(options)
    if not options.raw_energy:
        energy = np.einsum("ti,ti->t", frames, frames)
    padded = np.zeros((len(frames), options.fft_size))  # by scipy.fft: ten times slower
    padded[:, : options.window] = frames
    spectrum = scipy.fft.rfft(padded)[:, : options.fft_size // 2]
    power = spectrum.real**2 + spectrum.imag**2
    return np.log(np.maximum(power @ _mel_weights(options), _FLOOR)), energy


def _cepstra(
    frames: NDArray[np.float64], options: MfccOptions, noise: np.random.Generator | None
) -> NDArray[np.float64]:
    """Compute the coefficients of some frames, shape (frames, window)."""
    if noise is not None:
        frames += options.dither * noise.standard_normal(frames.shape)
    log_mel, energy = _log_mel(frames, options)
    cepstra: NDArray[np.float64] = scipy.fft.dct(log_mel, norm="ortho")[:, : options.num_ceps]
    if options.cepstral_lifter:
        place = np.arange(options.num_ceps)
        lifter = options.cepstral_lifter
        cepstra *= 1 + 0.5 * lifter * np.sin(np.pi * place / lifter)
    if options.use_energy:
        cepstra[:, 0] = np.log(np.maximum(energy, max(options.energy_floor, _FLOOR)))
    return cepstra


@lru_cache(maxsize=4)
def _window(options: MfccOptions) -> NDArray[np.float64]:
    angle = 2 * np.pi * np.arange(options.window) / (options.window - 1)
    hann, blackman = 0.5 - 0.5 * np.cos(angle), options.blackman_coeff
    values = {
        "povey": hann**0.85,
        "hamming": 0.54 - 0.46 * np.cos(angle),
        "hanning": hann,
        "rectangular": np.ones_like(angle),
        "sine": np.sin(angle / 2),
        "blackman": blackman - 0.5 * np.cos(angle) + (0.5 - blackman) * np.cos(2 * angle),
    }[options.window_type]
    rounded: NDArray[np.float64] = values.astype(np.float32).astype(np.float64)
    return rounded


@lru_cache(maxsize=4)
def _mel_weights(options: MfccOptions) -> NDArray[np.float64]:
    """Return the triangular filters, shape (fft_size / 2, num_mel_bins)."""
    bins = np.arange(options.fft_size // 2) * (options.sample_frequency / options.fft_size)
    ends = _mel(np.array([options.low_freq, options.highest]))
    edges = np.linspace(ends[0], ends[1], options.num_mel_bins + 2)
    rise, fall = np.diff(edges)[:-1], np.diff(edges)[1:]
    place = _mel(bins)[:, None]
    weights = np.minimum((place - edges[:-2]) / rise, (edges[2:] - place) / fall)
    return np.maximum(weights, 0.0)


def _mel(frequency: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    mel: NDArray[np.float64] = _MEL_SCALE * np.log1p(frequency / 700.0)
    return mel


def voice_activity(features: Features, options: VadOptions = CHALLENGE_VAD) -> NDArray[np.bool_]:
    """Detect voiced frames by their log energy (energy-based VAD).

    Parameters
    ----------
    features : float32 array, shape (T, D)
        The first column is the log energy.
    options : VadOptions

    Returns
    -------
    bool array, shape (T,)

    Examples
    --------
    >>> voice_activity(np.float32([[0], [0], [0], [20]])).tolist()
    [False, True, True, True]
    """
    energy, context = features[:, 0], options.vad_frames_context
    if not energy.size:
        return np.zeros(0, np.bool_)
    threshold = options.vad_energy_threshold
    threshold += options.vad_energy_mean_scale * float(energy.mean(dtype=np.float64))
    loud = np.concatenate([[0], np.cumsum(energy > np.float32(threshold))])
    place = np.arange(energy.size)
    first, last = np.maximum(place - context, 0), np.minimum(place + context + 1, energy.size)
    # Kaldi's float32 product decides about equal counts.
    needed = (last - first).astype(np.float32) * np.float32(options.vad_proportion_threshold)
    voiced: NDArray[np.bool_] = loud[last] - loud[first] >= needed
    return voiced


def sliding_cmvn(
    features: Features,
    *,
    window: int = 300,
    center: bool = True,
    min_window: int = 100,
    norm_vars: bool = False,
) -> Features:
    """Subtract the mean over a sliding window, over all frames, voiced or not.

    Parameters
    ----------
    features : float32 array, shape (T, D)
    window : int
        Frames; at the ends the window is shifted, so that it keeps its size.
    center : bool
        The window lies around the frame; otherwise it ends with it.
    min_window : int
        Least frames at the beginning, where the window ends with the frame.
    norm_vars : bool
        Divide by the standard deviation, too.

    Returns
    -------
    float32 array, shape (T, D)

    Raises
    ------
    ValueError
        A window of no frames, or smaller than `min_window`.

    Examples
    --------
    >>> sliding_cmvn(np.float32([[1], [2], [6]])).ravel().tolist()
    [-2.0, -1.0, 3.0]
    """
    if window < 1 or min_window < 1 or (min_window > window and not center):
        raise ValueError(f"window of {window} frames, at least {min_window}")
    first, last = _windows(len(features), window, center, min_window)
    size = (last - first)[:, None]
    sums = _running_sums(features.astype(np.float64))
    mean = (sums[last] - sums[first]) / size
    result = features - mean
    if norm_vars:
        squares = _running_sums(features.astype(np.float64) ** 2)
        variance = (squares[last] - squares[first]) / size - mean**2
        result /= np.sqrt(np.maximum(variance, 1e-10))
        result[size[:, 0] == 1] = 0.0
    return result.astype(np.float32)


def _windows(
    count: int, window: int, center: bool, min_window: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and end row of each frame's window."""
    place = np.arange(count)
    if center:
        first = np.clip(place - window // 2, 0, max(0, count - window))
        return first, np.minimum(first + window, count)
    first = np.maximum(place - window, 0)
    return first, np.minimum(
        np.where(first == 0, np.maximum(place + 1, min_window), place + 1), count
    )


def _running_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the first 0, 1, ... rows of values."""
    sums = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=sums[1:])
    return sums


#: Filter of `fractions_at`: as long and steep that vectors agree with those of soxr (1 - cosine
#: below 1e-4 where a narrow band is widened, 1e-6 otherwise).
_ZERO_CROSSINGS, _CUTOFF, _MAX_RATIO = 64, 0.97, 4096
_COSINES = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46)}


@dataclass(frozen=True)
class MelOptions:
    """Frames, window and filters of a mel spectrogram.

    Attributes
    ----------
    rate : int
        Hz.
    frame, shift : int
        Samples of a frame, and from one frame to the next.
    fft_size : int
        Points of the Fourier transform; the frame is in the middle of as many samples.
    num_mel_bins : int
    window_type : {"hann", "hamming"}
        Periodic.
    center : bool
        Put the first frame's middle at the first sample, with zeros beyond the ends.
    low_freq, high_freq : float
        Hz; a `high_freq` of 0 is the Nyquist frequency.
    filters : {"slaney", "speechbrain"}
        Slaney's, of equal area; or SpeechBrain's, of equal height, on HTK's scale, each as wide
        above its middle as below.

    Raises
    ------
    ValueError
        A value out of range.
    """

    rate: int = 16000
    frame: int = 400
    shift: int = 160
    fft_size: int = 400
    num_mel_bins: int = 40
    window_type: str = "hann"
    center: bool = True
    low_freq: float = 0.0
    high_freq: float = 0.0
    filters: str = "slaney"

    def __post_init__(self) -> None:
        nyquist = self.rate / 2
        within = 0 <= self.low_freq < (self.high_freq or nyquist) <= nyquist
        checks = {
            "rate must be 1000 to 192000": 1000 <= self.rate <= 192000,
            "expected 2 <= frame <= fft_size <= 65536": 2 <= self.frame <= self.fft_size <= 65536,
            "shift must be 1 sample to 1 s": 1 <= self.shift <= self.rate,
            "num_mel_bins must be 3 to 1000": 3 <= self.num_mel_bins <= 1000,
            f"window_type must be one of {', '.join(_COSINES)}": self.window_type in _COSINES,
            "expected 0 <= low_freq < high_freq <= Nyquist": within,
        }
        check_values(checks)


def mel_spectrogram(
    samples: NDArray[Any], options: MelOptions = MelOptions()
) -> NDArray[np.float32]:
    """Compute the power in mel bands, without a logarithm.

    Parameters
    ----------
    samples : float array, shape (N,)
        At the rate of the options.
    options : MelOptions

    Returns
    -------
    float32 array, shape (T, num_mel_bins)
        No frames where the samples are too few.

    Examples
    --------
    >>> mel_spectrogram(np.zeros(16000)).shape
    (101, 40)
    """
    size = options.fft_size
    padded = np.pad(np.asarray(samples, np.float32), size // 2 if options.center else 0)
    if padded.size < size:
        return np.empty((0, options.num_mel_bins), np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[:: options.shift]

    def compute(block: NDArray[np.float64]) -> NDArray[np.float64]:
        # In float64, as a logarithm would show rounding errors of the bands without power.
        spectrum = scipy.fft.rfft(block * periodic_window(options))
        power: NDArray[np.float64] = spectrum.real**2 + spectrum.imag**2
        return power @ mel_filters(options)

    return by_blocks(frames, options.num_mel_bins, compute)


@lru_cache(maxsize=8)
def periodic_window(options: MelOptions) -> NDArray[np.float64]:
    """Return the window of a frame, between zeros.

    Parameters
    ----------
    options : MelOptions

    Returns
    -------
    float array, shape (fft_size,)
    """
    mean, swing = _COSINES[options.window_type]
    window = mean - swing * np.cos(2 * np.pi * np.arange(options.frame) / options.frame)
    before = (options.fft_size - options.frame) // 2
    after = options.fft_size - options.frame - before
    return np.pad(window, (before, after))


@lru_cache(maxsize=8)
def _slaney_weights(options: MelOptions) -> NDArray[np.float64]:
    """Return triangular filters of equal area, shape (fft_size // 2 + 1, num_mel_bins)."""
    ends = _slaney_mel(np.array([options.low_freq, options.high_freq or options.rate / 2]))
    edges = _slaney_hertz(np.linspace(ends[0], ends[1], options.num_mel_bins + 2))
    bins = np.arange(options.fft_size // 2 + 1)[:, None] * (options.rate / options.fft_size)
    rise = (bins - edges[:-2]) / np.diff(edges)[:-1]
    fall = (edges[2:] - bins) / np.diff(edges)[1:]
    weights: NDArray[np.float64] = np.maximum(0, np.minimum(rise, fall))
    return weights * 2 / (edges[2:] - edges[:-2])


@lru_cache(maxsize=8)
def _speechbrain_weights(options: MelOptions) -> NDArray[np.float64]:
    """Return triangular filters of equal height, shape (fft_size // 2 + 1, num_mel_bins)."""
    ends = _mel(np.array([options.low_freq, options.high_freq or options.rate / 2]))
    edges = 700 * np.expm1(np.linspace(ends[0], ends[1], options.num_mel_bins + 2) / _MEL_SCALE)
    bins = np.arange(options.fft_size // 2 + 1)[:, None] * (options.rate / options.fft_size)
    weights: NDArray[np.float64] = 1 - np.abs(bins - edges[1:-1]) / np.diff(edges)[:-1]
    return np.maximum(0, weights)


def mel_filters(options: MelOptions) -> NDArray[np.float64]:
    """Return the filters of a mel spectrogram.

    Parameters
    ----------
    options : MelOptions

    Returns
    -------
    float array, shape (fft_size // 2 + 1, num_mel_bins)
    """
    speechbrains = options.filters == "speechbrain"
    return _speechbrain_weights(options) if speechbrains else _slaney_weights(options)


def _slaney_mel(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear below 1000 Hz, logarithmic above."""
    log = 15 + 27 * np.log(np.maximum(frequency, 1000) / 1000) / np.log(6.4)
    return np.where(frequency < 1000, 3 * frequency / 200, log)


def _slaney_hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < 15, 200 * mel / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


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
    common = math.gcd(audio.rate, rate)
    up, down = rate // common, audio.rate // common
    if max(up, down) > _MAX_RATIO:
        return resample(samples, audio.rate, rate).astype(np.float32)
    taps = 2 * _ZERO_CROSSINGS * max(up, down) + 1
    kernel = scipy.signal.firwin(taps, _CUTOFF / max(up, down), window=("kaiser", 10.0))
    resampled: NDArray[np.float32] = scipy.signal.resample_poly(samples, up, down, window=kernel)
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
