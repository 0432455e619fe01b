"""Measures of utterances by other tools: predicted quality, phones, pitch.

Quality is DNSMOS P.835 (speech, background, overall) and P.808; phones and pronunciations are those
of hama 1.7.0; pitch tracks are Praat's, the extra `pitch` of the package, or text files.

References
----------
C. K. A. Reddy et al., "DNSMOS P.835: a non-intrusive perceptual objective speech quality metric to
evaluate noise suppressors", ICASSP 2022; speechmos 0.0.1.1 (MIT).
"""

from __future__ import annotations

import functools
import math
import unicodedata
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputWarning, PrivacyEvalError, library, located, missing_library
from ..io.files import check_inside, digest, read_bytes, read_text
from ..io.text_table import is_number
from ..metrics.arguments import as_array
from ..metrics.caveats import LEVEL
from ..metrics.utility import WordErrors, align_symbols
from .audio import Audio, AudioReader
from .features import MelOptions, mel_spectrogram, soxr_at
from .models import MODELS, check_models, load_model, model_path
from .onnx_encoder import OnnxSession

_RATE = 16000
#: Values of an utterance: opinions from 1 to 5, and the level, which opinions fall with.
QUALITIES = ("sig", "bak", "ovrl", "p808", LEVEL)

#: Seconds of a window; there is one every second.
_SECONDS = 9.01
_SAMPLES = int(_SECONDS * _RATE)
#: Coefficients from the network's outputs to opinions, highest power first.
_POLYNOMIALS = (
    (-0.08397278, 1.22083953, 0.0052439),
    (-0.13166888, 1.60915514, -0.39604546),
    (-0.06766283, 1.11546468, 0.04602535),
)
_MEL = MelOptions(rate=_RATE, frame=321, fft_size=321, num_mel_bins=120)


def rate_quality(p835: OnnxSession, p808: OnnxSession, audio: Audio) -> dict[str, float]:
    """Predict the quality of an utterance by the networks of DNSMOS.

    Parameters
    ----------
    p835, p808 : OnnxSession
    audio : Audio

    Returns
    -------
    dict of str to float
        A mean opinion score for each of `QUALITIES`, and the level in dB.

    Raises
    ------
    PrivacyEvalError
        No samples; samples beyond full scale; a network that gives no finite numbers.
    """
    samples = soxr_at(audio, _RATE)
    if not samples.size:
        raise PrivacyEvalError("no samples")
    if np.abs(audio.samples.astype(np.float32)).max() > 32768:
        raise PrivacyEvalError("samples beyond full scale")
    opinions = []
    for window in _nine_seconds(samples):
        raw = _computed(p835, window[None], 3)
        of_p808 = _computed(p808, _p808_input(window)[None], 1)
        values = [float(np.polyval(p, x)) for p, x in zip(_POLYNOMIALS, raw, strict=True)]
        opinions.append([*values, *of_p808])
    means = np.mean(opinions, axis=0).tolist()
    return dict(zip(QUALITIES, (*means, level_db(audio)), strict=True))


def _computed(session: OnnxSession, values: NDArray[np.float32], size: int) -> list[float]:
    result = session.run(values).ravel()
    if result.size != size or not np.isfinite(result).all():
        raise PrivacyEvalError(f"{session.where}: expected {size} finite values")
    return [float(value) for value in result]


def level_db(audio: Audio) -> float:
    """Compute the level of an utterance relative to full scale.

    Parameters
    ----------
    audio : Audio

    Returns
    -------
    float
        dB; -100 of digital silence.

    Examples
    --------
    >>> round(level_db(Audio(np.full(100, 3276.8), 16000)), 3)
    -20.0
    """
    samples = audio.samples.astype(np.float64) / 32768
    return 10 * math.log10(max(float(np.mean(samples**2)), 1e-10)) if samples.size else -100.0


def load_dnsmos(cache: Path | None = None) -> Callable[[Audio], dict[str, float]]:
    """Read the networks of `rate_quality` from the cache of models.

    Parameters
    ----------
    cache : Path, optional
        Folder of models; by default the user's.

    Returns
    -------
    callable
        Rates an utterance.

    Raises
    ------
    PrivacyEvalError
        A model is missing, or libraries, all in one command.
    """
    check_models(["dnsmos"], cache=cache)

    where = [str(model_path("dnsmos", number, cache=cache)) for number in (0, 1)]
    contents = [load_model("dnsmos", number, cache=cache) for number in (0, 1)]
    p835, p808 = map(OnnxSession, contents, where)
    return functools.partial(rate_quality, p835, p808)


def _nine_seconds(samples: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Cut windows; a short utterance is doubled until it fills one.

    As in speechmos, windows that rounding makes a sample too short are left out: 8th to 24th.
    """
    while samples.size < _SAMPLES:
        samples = np.concatenate([samples, samples])
    count = int(samples.size // _RATE - _SECONDS) + 1
    windows = [samples[n * _RATE : int((n + _SECONDS) * _RATE)] for n in range(count)]
    return [window for window in windows if window.size == _SAMPLES]


def _p808_input(window: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute the mel spectrogram in decibels below its maximum, shape (900, 120)."""
    mel = mel_spectrogram(window[:-160], _MEL)
    decibels = 10 * np.log10(np.maximum(mel, 1e-10))
    decibels -= decibels.max()
    scaled: NDArray[np.float32] = (np.maximum(decibels, -80) + 40) / 40
    return scaled


_VERSION = "1.7.0"


@dataclass(frozen=True)
class PhoneRecognizer:
    """The recognizer, and the pronunciation of words.

    Attributes
    ----------
    recognizer, pronouncer : object
        `hama.ASRModel` and `hama.G2PModel`.
    """

    recognizer: Any
    pronouncer: Any

    def recognize(self, audio: Audio) -> list[str]:
        """Recognize the phones of an utterance.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        list of str
            In the International Phonetic Alphabet.

        Raises
        ------
        PrivacyEvalError
            No samples.
        """
        if not audio.samples.size:
            raise PrivacyEvalError("no samples")
        samples = audio.samples.astype(np.float32) / np.float32(32768)
        return _phones(self.recognizer.transcribe_waveform(samples, audio.rate).phonemes)

    def pronounce(self, text: str) -> list[str]:
        """Return the phones of a text, word by word.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of str
        """
        return [phone for word in text.split() for phone in self._word(word.lower())]

    @functools.lru_cache(maxsize=1 << 16)  # noqa: B019 (one recognizer per run)
    def _word(self, word: str) -> tuple[str, ...]:
        pronounced = self.pronouncer.predict(word)
        return tuple(_phones([part.phoneme for part in pronounced.alignments]))


def _phones(tokens: list[str]) -> list[str]:
    """Keep the tokens that begin with a letter: no marks, no punctuation."""
    return [token for token in tokens if token and unicodedata.category(token[0])[0] == "L"]


def load_phone_recognizer() -> PhoneRecognizer:
    """Load the recognizer of the installed package.

    Returns
    -------
    PhoneRecognizer

    Raises
    ------
    PrivacyEvalError
        Libraries are missing, all in one command; hama is of another version, or for another
        platform, or its model is not the pinned one.
    """
    check_models(["phones"])
    from importlib.metadata import version

    import hama

    if version("hama") != _VERSION:
        why = f"version {version('hama')} is installed"
        raise missing_library("phone error rates", f"hama=={_VERSION}", why)
    ((entry, sha256),) = MODELS["phones"].files.items()
    path = Path(hama.__file__).parents[1] / entry
    if digest(read_bytes(path)) != sha256:
        raise PrivacyEvalError(f"{path}: another file than the pinned one")
    try:
        return PhoneRecognizer(hama.ASRModel(), hama.G2PModel())
    except (RuntimeError, OSError) as error:
        raise PrivacyEvalError(f"hama does not run on this machine ({error})") from error


def phone_errors(reference: list[str], hypothesis: list[str]) -> WordErrors:
    """Count the phones of the reference, and the errors of the hypothesis.

    Parameters
    ----------
    reference, hypothesis : list of str

    Returns
    -------
    WordErrors

    Raises
    ------
    PrivacyEvalError
        kaldialign is not installed.

    Examples
    --------
    >>> phone_errors(["k", "a", "t"], ["k", "t", "s"]).errors
    2
    """
    return align_symbols(reference, hypothesis, purpose="phone error rates")


Track = NDArray[np.float64]

_STEP = 0.01  # seconds
_SUFFIX = ".f0"
#: Range of the fundamental frequency in Hz; values outside count as unvoiced.
LOWEST, HIGHEST = 75.0, 500.0
#: Longest tracks (200 s) that are correlated as the scripts do, in quadratic time; rounding of the
#: Fourier transform of longer ones may choose another of equal lags.
_MOST_DIRECT = 20_000
_LEAST_PAIRS = 500


def praat_track(audio: Audio) -> Track:
    """Track the pitch with Praat's autocorrelation method.

    Parameters
    ----------
    audio : Audio

    Returns
    -------
    float array, shape (F,)
        Hz, a value every 10 ms, 0 where unvoiced.

    Raises
    ------
    PrivacyEvalError
        praat-parselmouth is not installed; the utterance is too short.
    """
    parselmouth = library("parselmouth", "pitch tracks of audio", "praat-parselmouth")
    samples = np.asarray(audio.samples, dtype=np.float64) / 32768
    try:
        sound = parselmouth.Sound(samples, sampling_frequency=audio.rate)
        pitch = sound.to_pitch(time_step=_STEP, pitch_floor=LOWEST, pitch_ceiling=HIGHEST)
    except (parselmouth.PraatError, ValueError) as error:
        raise PrivacyEvalError(f"Praat: {str(error).splitlines()[0]}") from error
    return np.asarray(pitch.selected_array["frequency"], dtype=np.float64)


def read_track(path: Path) -> Track:
    """Read a pitch track: a number per line.

    Parameters
    ----------
    path : Path

    Returns
    -------
    float array, shape (F,)
        Hz, a value every 10 ms, 0 where unvoiced.

    Raises
    ------
    PrivacyEvalError
        With file and line: not a number from 0; an empty file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "u1.f0")
    >>> _ = path.write_text("0\\n110.5\\n")
    >>> read_track(path)
    array([  0. , 110.5])
    """
    values = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            values.append(float(line) if is_number(line) else math.nan)
            if not 0 <= values[-1] < math.inf:
                raise PrivacyEvalError(f"{path}:{number}: not a frequency: {line[:80]!r}")
    if not values:
        raise PrivacyEvalError(f"{path}: empty file, expected a frequency per line")
    return np.array(values)


def tracks_of(
    folder: Path,
    *,
    base: Path | None = None,
    allow_pipes: bool = False,
    allow_outside: bool = False,
) -> dict[str, Callable[[], Track]]:
    """List the pitch tracks of a folder, to be read one by one.

    Parameters
    ----------
    folder : Path
        With `wav.scp`, or with a text file `<utterance>.f0` for each utterance.
    base : Path, optional
        Folder that paths in wav.scp are relative to.
    allow_pipes, allow_outside : bool
        See `AudioReader`.

    Returns
    -------
    dict of str to callable
        Readers by utterance.

    Raises
    ------
    PrivacyEvalError
        As `AudioReader`; neither of these.
    """
    if (folder / "wav.scp").is_file():
        reader = AudioReader(
            folder, base=base, allow_pipes=allow_pipes, allow_outside=allow_outside
        )

        def track_of(utterance: str) -> Track:
            audio = reader.read(utterance)
            with located(reader.where(utterance)):
                track = praat_track(audio)
            for remark in reader.remarks:
                warnings.warn(f"{folder}: {remark}", InputWarning, stacklevel=2)
            return track

        return {u: functools.partial(track_of, u) for u in reader.ids}
    files = sorted(folder.glob(f"*{_SUFFIX}"))
    if not files:
        raise PrivacyEvalError(f"{folder}: neither wav.scp nor <utterance>{_SUFFIX}")
    if not allow_outside:
        check_inside(files, [folder, *filter(None, [base])])
    return {f.name.removesuffix(_SUFFIX): functools.partial(read_track, f) for f in files}


def pitch_correlation(original: ArrayLike, anonymized: ArrayLike) -> float:
    """Compute the pitch correlation of an utterance as the scripts of 2022 do.

    It is computed over all frames, with unvoiced ones as 0 Hz, so that it mainly measures whether
    the same frames are voiced: unrelated contours with the same voicing give 0.99. As it is the
    largest over shifts, unrelated utterances do not give 0 but about 0.25 (`mismatched_pairs`).

    The shorter track is stretched to the length of the longer one, and the anonymized track
    rotated by the lag of the greatest cross-correlation, which is not of centred tracks.

    Parameters
    ----------
    original, anonymized : array_like, shape (F,) and (G,)
        Fundamental frequency in Hz, a value every 10 ms, 0 where unvoiced.

    Returns
    -------
    float
        Pearson's correlation; 0 where a track is constant. Higher: more of the intonation is
        kept.

    Raises
    ------
    PrivacyEvalError
        An empty track; a value that is negative or not finite.

    Examples
    --------
    >>> round(pitch_correlation([0, 100, 120, 0], [0, 200, 240, 0]), 6)
    1.0
    >>> pitch_correlation([0, 100, 120, 0], [0, 0, 0, 0])
    0.0
    """
    from scipy import signal  # slow to import

    first, second = _track(original, "original"), _track(anonymized, "anonymized")
    frames = max(first.size, second.size)
    first, second = (_limited(_stretched(track, frames)) for track in (first, second))
    if not first.any() or not second.any():
        return 0.0
    method = "direct" if frames <= _MOST_DIRECT else "fft"
    lag = int(np.argmax(signal.correlate(first, second, method=method))) - (frames - 1)
    second = np.roll(second, lag)
    first, second = first - first.mean(), second - second.mean()
    scale = np.sqrt((first @ first) * (second @ second))
    return float(np.clip(first @ second / scale, -1, 1)) if scale else 0.0


def mismatched_pairs(speaker_of: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pair utterances with others of the set, for the pitch correlation that chance gives.

    The pairs are those of cyclic shifts by about half of the set, in the order of speakers. There
    are 500 or more, unless the set is too small.

    Parameters
    ----------
    speaker_of : mapping of str to str
        Speakers by utterance; "" where unknown.

    Returns
    -------
    list of (str, str)
        The original and the anonymized utterance of each pair; of the same speaker only if there
        is no other. Empty for a single utterance.

    Examples
    --------
    >>> mismatched_pairs({"a1": "a", "a2": "a", "b1": "b"})
    [('a2', 'b1'), ('b1', 'a1'), ('a1', 'b1'), ('b1', 'a2')]
    """
    names = sorted(speaker_of, key=lambda name: (speaker_of[name], name))
    n = len(names)
    shifts = sorted(range(1, n), key=lambda k: abs(2 * k - n))[: -(-_LEAST_PAIRS // max(n, 1))]
    pairs = [(name, names[(i + k) % n]) for k in shifts for i, name in enumerate(names)]
    return [(a, b) for a, b in pairs if speaker_of[a] != speaker_of[b]] or pairs


def mean_and_std(correlations: ArrayLike) -> tuple[float, float]:
    """Compute mean and standard deviation, that of the population, over the utterances of a set.

    Parameters
    ----------
    correlations : array_like, shape (U,)

    Returns
    -------
    mean, std : float

    Raises
    ------
    PrivacyEvalError
        No utterance.

    Examples
    --------
    >>> mean_and_std([0.5, 1.0])
    (0.75, 0.25)
    """
    values: NDArray[np.float64] = as_array(correlations, "correlations", np.float64)
    if not values.size:
        raise PrivacyEvalError("no utterances: pitch correlation is undefined")
    return float(values.mean()), float(values.std())


def _track(values: ArrayLike, name: str) -> Track:
    track: Track = as_array(values, f"values of the {name} pitch track", np.float64)
    if track.ndim != 1 or not track.size:
        raise PrivacyEvalError(f"{name} pitch track: expected a value per frame")
    if not np.isfinite(track).all() or track.min() < 0:
        raise PrivacyEvalError(f"{name} pitch track: a value that is negative or not finite")
    return track


def _stretched(track: Track, frames: int) -> Track:
    if track.size == frames:
        return track
    at = np.linspace(0, track.size - 1, frames)
    return np.interp(at, np.arange(track.size), track)


def _limited(track: Track) -> Track:
    return np.where((track < LOWEST) | (track > HIGHEST), 0.0, track)
