"""Simulate speech: a source of glottal pulses and noise, filtered by formants that move; and write
folders of it, with an extractor that needs no training.

Speakers differ in vocal tract, formants, pitch and voice quality. Utterances of a speaker differ in
articulation, intonation, effort, channel and background noise.

References
----------
G. Fant, "Acoustic theory of speech production", 1960.
G. E. Peterson, H. L. Barney, "Control methods used in a study of the vowels", JASA 24, 1952.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import istft, stft

from ...io.files import write_text
from ...simulate.folders import marked_folder, simulate_words
from ..audio import soundfile

Array = NDArray[np.float64]

#: Hz.
RATE = 16000

#: Formants of vowels and of a nasal, in Hz, of a vocal tract of 17 cm.
_FORMANTS = np.array(
    [
        [280, 2250, 2900, 3500],
        [400, 1950, 2550, 3500],
        [530, 1830, 2480, 3500],
        [670, 1720, 2410, 3500],
        [720, 1100, 2450, 3500],
        [570, 850, 2410, 3500],
        [440, 1020, 2240, 3500],
        [300, 870, 2240, 3500],
        [490, 1350, 1690, 3300],
        [250, 1100, 2100, 3400],
    ],
    dtype=float,
)
_BANDWIDTHS = np.array([70.0, 90.0, 130.0, 200.0])
#: Kinds of phones: vowels, fricatives, pauses; and their shares.
_KINDS, _SHARES = 3, np.array([0.7, 0.22, 0.08])
_FFT, _HOP = 512, 128
_BINS = np.arange(_FFT // 2 + 1) * RATE / _FFT
_PEAK = 0.6 * 32767
#: How much speakers and utterances differ, as standard deviations of logarithms: lengths of vocal
#: tracts; each formant of a speaker, and each in every phone; formants of a phone in an utterance;
#: slow ripples in the spectrum of an utterance.
_TRACT, _FORMANT, _PHONE, _ARTICULATION, _CHANNEL = 0.08, 0.07, 0.05, 0.03, 0.08


@dataclass(frozen=True)
class Voice:
    """A speaker.

    Attributes
    ----------
    pitch : float
        Hz.
    formants : float array, shape (10, 4)
        Hz, by phone.
    bandwidths : float array, shape (4,)
        Hz.
    tilt : float
        Frequency in Hz from which the source falls by 12 dB per octave.
    breath : float
        Noise in the source, relative to the pulses.
    hiss : float
        Center of fricatives in Hz.
    """

    pitch: float
    formants: Array
    bandwidths: Array
    tilt: float
    breath: float
    hiss: float


def draw_voice(gender: str, generator: np.random.Generator) -> Voice:
    """Draw a speaker, `f` or `m`."""
    scale, pitch = (1.16, 205.0) if gender == "f" else (1.0, 120.0)
    normal = generator.standard_normal
    formants = _FORMANTS * scale * np.exp(_TRACT * normal())
    formants = formants * np.exp(_FORMANT * normal(4) + _PHONE * normal((10, 4)))
    return Voice(
        pitch * np.exp(0.12 * normal()),
        formants,
        _BANDWIDTHS * np.exp(0.2 * normal(4)),
        900.0 * np.exp(0.35 * normal()),
        0.03 * np.exp(0.5 * normal()),
        4800.0 * scale**0.5 * np.exp(0.12 * normal()),
    )


def speak(voice: Voice, seconds: float, generator: np.random.Generator) -> NDArray[np.int16]:
    """Speak random phones.

    Returns
    -------
    int16 array, shape (N,)
        Sampled at 16 kHz.
    """
    count = int(seconds * RATE)
    frames = count // _HOP + 2
    normal = generator.standard_normal
    # Phones: what they are, and how long.
    phones = int(seconds / 0.05) + 8
    lengths = np.exp(np.log(0.09) + 0.35 * normal(phones))
    kind = generator.choice(_KINDS, phones, p=_SHARES)
    kind[0] = 2
    lengths[kind == 2] *= 2.5
    borders = np.cumsum(lengths) * RATE / _HOP
    at = np.minimum(np.searchsorted(borders, np.arange(frames)), phones - 1)
    which = generator.integers(len(_FORMANTS), size=phones)
    target = voice.formants[which] * np.exp(_ARTICULATION * normal((phones, 4)))
    effort = np.exp(0.25 * normal(phones))
    # Tracks: they move from phone to phone.
    formants = gaussian_filter1d(target[at], 3.0, axis=0)
    voiced = gaussian_filter1d((kind[at] == 0) * effort[at], 1.5)
    hissing = gaussian_filter1d((kind[at] == 1) * effort[at], 1.5)
    envelope = _resonances(formants, voice.bandwidths) * _source(voice.tilt * effort.mean())
    hiss = 0.05 * np.exp(-0.5 * ((_BINS - voice.hiss) / 1300.0) ** 2)
    pulses = _pulses(voice, count, generator) + voice.breath * normal(count)
    ripple = np.exp(_CHANNEL * _smooth(normal(_BINS.size), 12.0))
    spectrum = _spectrum(pulses, envelope * voiced[:, None])
    spectrum += _spectrum(normal(count), hissing[:, None] * hiss)
    _, speech = istft(spectrum * ripple[:, None], RATE, nperseg=_FFT, noverlap=_FFT - _HOP)
    speech = speech[:count]
    level = np.sqrt(np.mean(speech**2))
    speech += level * 10 ** (-(33.0 + 4.0 * normal()) / 20) * normal(count)
    gain = _PEAK * np.exp(0.2 * min(normal(), 0.0)) / np.abs(speech).max()
    samples: NDArray[np.int16] = np.rint(gain * speech).astype(np.int16)
    return samples


def _pulses(voice: Voice, count: int, generator: np.random.Generator) -> Array:
    """The glottal source: pulses with intonation, jitter and shimmer."""
    knots = max(4, count // 4000)
    melody = np.interp(
        np.linspace(0, knots - 1, count),
        np.arange(knots),
        0.12 * generator.standard_normal(knots) + np.linspace(0.08, -0.08, knots),
    )
    register = 0.05 * generator.standard_normal()
    phase = np.cumsum(voice.pitch * np.exp(melody + register)) / RATE
    cycles = np.arange(1.0, np.floor(phase[-1]))
    jitter = 0.01 * generator.standard_normal(cycles.size)
    instants = np.interp(cycles + jitter, phase, np.arange(count))
    place = instants.astype(np.int64)
    late = instants - place
    strength = np.exp(0.05 * generator.standard_normal(cycles.size))
    pulses = np.zeros(count + 1)
    np.add.at(pulses, place, (1 - late) * strength)
    np.add.at(pulses, place + 1, late * strength)
    return np.asarray(pulses[:count] * np.sqrt(RATE / voice.pitch) / 10)


def _resonances(formants: Array, bandwidths: Array) -> Array:
    """Magnitudes of formants in cascade, shape (frames, bins)."""
    result = np.ones((len(formants), _BINS.size))
    for formant, bandwidth in zip(formants.T[:, :, None], bandwidths, strict=True):
        result *= formant**2 / np.hypot(formant**2 - _BINS**2, bandwidth * _BINS)
    return result


def _source(tilt: float) -> Array:
    """Spectrum of the glottal source and of radiation at the lips."""
    # The last factor stands for the formants above the fourth.
    return np.asarray((_BINS / 300.0) / (1 + (_BINS / tilt) ** 2) * (1 + (_BINS / 3000.0) ** 2))


def _smooth(values: Array, width: float) -> Array:
    smooth = gaussian_filter1d(values, width)
    return np.asarray(smooth / smooth.std())


def _spectrum(signal: Array, envelope: Array) -> Array:
    """Short-time spectrum, filtered by magnitudes that change from frame to frame."""
    _, _, spectrum = stft(signal, RATE, nperseg=_FFT, noverlap=_FFT - _HOP)
    columns = np.minimum(np.arange(spectrum.shape[1]), len(envelope) - 1)
    return np.asarray(spectrum * envelope[columns].T)


_DIMENSION = 30
_WINDOW = 10000

_TEXT = """\
<Nnet3> 
input-node name=input dim={d}
component-node name=statistics component=statistics input=input
component-node name=pooling component=pooling input=statistics
output-node name=output input=Round(pooling, 1)

<NumComponents> 2 
<ComponentName> statistics <StatisticsExtractionComponent> <InputDim> {d} <InputPeriod> 1 \
<OutputPeriod> 1 <IncludeVarinance> T </StatisticsExtractionComponent> 
<ComponentName> pooling <StatisticsPoolingComponent> <InputDim> {statistics} <InputPeriod> 1 \
<LeftContext> 0 <RightContext> {window} <NumLogCountFeatures> 0 <OutputStddevs> T \
<VarianceFloor> 1e-10 </StatisticsPoolingComponent> 
</Nnet3> 
"""  # noqa: W291


def mfcc_statistics_network() -> str:
    """Write a raw nnet3 model, as text, whose x-vectors are means and standard deviations.

    They are of the normalized MFCC of the voiced frames of an utterance: not a speaker
    recognizer for real speech.
    """
    return _TEXT.format(d=_DIMENSION, statistics=2 * _DIMENSION + 1, window=_WINDOW)


@dataclass(frozen=True)
class DemoSpeech:
    """Seed and sizes of simulated speech.

    Attributes
    ----------
    seed : int
    speakers, training : int
        Speakers to evaluate, half of them female, and others to train on.
    utterances : int
        Of each.
    seconds : float
        Of an utterance.
    """

    seed: int = 0
    speakers: int = 20
    training: int = 60
    utterances: int = 10
    seconds: float = 3.0


def write_demo_speech(
    folder: Path, demo: DemoSpeech, progress: Callable[[int, int, str], None] | None = None
) -> bool:
    """Write the folders `speech`, `training` and `extractor`, with `utt2spk`, `spk2gender`
    and `text`, which is not what the voices say.

    The same seed and sizes give the same bytes on one machine.

    Returns
    -------
    bool
        False if the same speech already exists.

    Raises
    ------
    PrivacyEvalError
        `folder` contains something else; the library soundfile is missing.
    """
    marker = {"demo_speech": 2, **asdict(demo)}
    total, done = (demo.speakers + demo.training) * demo.utterances, itertools.count(1)
    with marked_folder(folder, "demo_speech", marker) as new:
        if new is None:
            return False
        for name, speakers in (("speech", demo.speakers), ("training", demo.training)):
            (new / name).mkdir()
            lines, said = [], []
            for speaker, utterance, samples in _speech(name, speakers, demo):
                path = new / name / f"{utterance}.wav"
                soundfile().write(path, samples, RATE, subtype="PCM_16")
                lines.append(f"{utterance} {speaker}\n")
                said.append(f"{utterance} {simulate_words(speaker, utterance, demo.seed)}\n")
                if progress is not None:
                    progress(next(done), total, utterance)
            write_text(new / f"{name}_utt2spk", "".join(lines))
            write_text(new / f"{name}_text", "".join(said))
        genders = [f"{_name('speech', n)} {_gender(n)}\n" for n in range(demo.speakers)]
        write_text(new / "speech_spk2gender", "".join(genders))
        write_text(new / "extractor" / "final.raw", mfcc_statistics_network())
    return True


def _speech(name: str, speakers: int, demo: DemoSpeech) -> Iterator[tuple[str, str, np.ndarray]]:
    """Simulate the utterances of a folder."""
    key = demo.seed, zlib.crc32(name.encode())
    for number in range(speakers):
        voice = draw_voice(_gender(number), np.random.default_rng([*key, number]))
        for index in range(demo.utterances):
            generator = np.random.default_rng([*key, number, index])
            samples = speak(voice, demo.seconds, generator)
            speaker = _name(name, number)
            yield speaker, f"{speaker}-{index:03d}", samples


def _gender(number: int) -> str:
    return "fm"[number % 2]


def _name(folder: str, number: int) -> str:
    return f"{folder[0]}{number:03d}"
