"""Simulated scores with a known error rate, and whole demo trees made of them."""

from __future__ import annotations

import glob
import json
import math
import os
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from . import __version__
from .config import ANONYMIZED, ORIGINAL, SPEECH, Config, TrialSet
from .errors import PrivacyEvalError
from .io.files import write_text
from .io.wer import WerLine, format_wer_line
from .results import load_json

_MARKER = "demo_tree.json"


@dataclass(frozen=True)
class ScoreModel:
    """Gaussian scores with speaker effects, so that trials of a speaker are alike.

    A target trial of speaker s: `separation` + `target_speaker` * a_s + noise. A
    nontarget trial of enrolled speaker e and trial speaker s: `enrolled_speaker` * b_e
    + `trial_speaker` * c_s + `pair` * p_es + noise. All effects and the noise are
    standard normal; the score is `offset` + `scale` times this.
    """

    separation: float
    target_speaker: float = 0.5
    enrolled_speaker: float = 0.4
    trial_speaker: float = 0.4
    pair: float = 0.3
    offset: float = 0.0
    scale: float = 1.0

    @property
    def target_deviation(self) -> float:
        """Standard deviation of target scores before scaling."""
        return math.hypot(1, self.target_speaker)

    @property
    def nontarget_deviation(self) -> float:
        """Standard deviation of nontarget scores before scaling."""
        return math.hypot(1, self.enrolled_speaker, self.trial_speaker, self.pair)

    @property
    def eer(self) -> float:
        """The population's EER: that of two normal distributions.

        Examples
        --------
        >>> ScoreModel(separation=0.0).eer
        0.5
        """
        spread = self.target_deviation + self.nontarget_deviation
        return float(ndtr(-self.separation / spread))

    @classmethod
    def with_eer(cls, eer: float, *, offset: float = 0.0, scale: float = 1.0) -> ScoreModel:
        """The model of the default effects that has an EER.

        Examples
        --------
        >>> round(ScoreModel.with_eer(0.25).eer, 12)
        0.25
        """
        zero = cls(0.0)
        spread = zero.target_deviation + zero.nontarget_deviation
        return cls(-float(ndtri(eer)) * spread, offset=offset, scale=scale)


@dataclass(frozen=True)
class SimulatedTrials:
    """Trials of every enrolled speaker with every utterance.

    Attributes
    ----------
    score : float64 array, shape (P,)
    is_target : bool array, shape (P,)
    enrolled_speaker, trial_speaker : int arrays, shape (P,)
    utterance : int array, shape (P,)
        Number of the utterance among its speaker's.
    """

    score: NDArray[np.float64]
    is_target: NDArray[np.bool_]
    enrolled_speaker: NDArray[np.int64]
    trial_speaker: NDArray[np.int64]
    utterance: NDArray[np.int64]


def simulate_trials(
    model: ScoreModel,
    *,
    enrolled: int,
    speakers: int,
    utterances: int,
    generator: np.random.Generator,
) -> SimulatedTrials:
    """Scores of `enrolled` speakers against `utterances` of each of the first `speakers`
    of them."""
    if not 0 < speakers <= enrolled or utterances < 1 or enrolled < 2:
        raise ValueError("need two enrolled speakers, and trial speakers among them")
    shape = (enrolled, speakers, utterances)
    e, s, u = (axis.ravel() for axis in np.indices(shape, dtype=np.int64))
    is_target = e == s
    effect = np.where(
        is_target,
        model.separation + model.target_speaker * generator.standard_normal(speakers)[s],
        model.enrolled_speaker * generator.standard_normal(enrolled)[e]
        + model.trial_speaker * generator.standard_normal(speakers)[s]
        + model.pair * generator.standard_normal((enrolled, speakers))[e, s],
    )
    score = model.offset + model.scale * (effect + generator.standard_normal(e.size))
    return SimulatedTrials(score, is_target, e, s, u)


#: Population EERs of the demo's systems, by enrollment and trial speech: B1 near chance
#: for the ignorant attacker, B2 in between, as the challenge's baselines are.
_DEMO_EER: Mapping[str, Mapping[tuple[str, str], float]] = {
    "B1": {(ORIGINAL, ANONYMIZED): 0.48, (ANONYMIZED, ANONYMIZED): 0.33},
    "B2": {(ORIGINAL, ANONYMIZED): 0.26, (ANONYMIZED, ANONYMIZED): 0.16},
}
_DEMO_ORIGINAL_EER = 0.04

#: Offset and scale of the demo's scores: LLRs as badly calibrated as PLDA's are.
_DEMO_CALIBRATION: Mapping[tuple[str, str], tuple[float, float]] = {
    (ORIGINAL, ORIGINAL): (-20.0, 12.0),
    (ORIGINAL, ANONYMIZED): (-90.0, 30.0),
    (ANONYMIZED, ANONYMIZED): (-15.0, 15.0),
}
_DEMO_WER: Mapping[str, float] = {"B1": 1.7, "B2": 2.3}
_DEMO_LM_WER: Mapping[str, float] = {"small": 0.055, "large": 0.042}


def write_demo_tree(folder: Path, config: Config, *, seed: int = 0) -> bool:
    """A small simulated challenge tree: every trial set and comparison, two systems.

    The tree appears whole or not at all. The same seed gives the same bytes.

    Returns
    -------
    bool
        False where the very same tree was there already.

    Raises
    ------
    PrivacyEvalError
        `folder` holds something else.
    """
    marker = {"demo_tree": 1, "version": __version__, "seed": seed, "plan": config.name}
    folder = Path(os.path.abspath(folder))
    if folder.exists():
        if (folder / _MARKER).is_file() and load_json(folder / _MARKER) == marker:
            return False
        if not folder.is_dir() or any(folder.iterdir()):
            raise PrivacyEvalError(
                f"{folder}: holds something other than the demo tree of seed {seed}; "
                "remove it or name another folder"
            )
        if folder.samefile(Path()):
            raise PrivacyEvalError(f"{folder}: is the current folder; name one to be made in it")
        folder.rmdir()
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.*.partial"):
        if left == partial or not _is_alive(left.name.split(".")[-2]):
            shutil.rmtree(left)
    originals: dict[str, str] = {}
    for trial_set in config.trial_sets():
        _write_data(partial / "data", trial_set, config)
        for system in _DEMO_EER:
            _write_scores(
                partial / "exp" / system / "results-simulated",
                system,
                trial_set,
                config,
                seed,
                originals,
            )
    for system in _DEMO_EER:
        _write_recognition(partial / "exp" / system / "results-simulated", system, config, seed)
    write_text(partial / _MARKER, json.dumps(marker, indent=1) + "\n")
    try:
        partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial)
        if (folder / _MARKER).is_file() and load_json(folder / _MARKER) == marker:
            return False  # another run was faster
        raise PrivacyEvalError(f"{folder}: cannot be made ({error.strerror})") from error
    return True


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        pass
    return True


_ENROLLED, _SPEAKERS, _UTTERANCES, _ENROLLMENT_UTTERANCES = 16, 12, 12, 3


def _speaker_names(trial_set: TrialSet) -> list[str]:
    first = 100 * (1 + zlib.crc32(trial_set.enrollment_name.encode()) % 80)
    offset = 50 * ("fm".index(trial_set.gender))
    return [f"{first + offset + i:04d}" for i in range(_ENROLLED)]


def _utterance(trial_set: TrialSet, speaker: str, number: int) -> str:
    """Sets of the same and of different sentences have utterances of their own."""
    sentences = "c" if "common" in trial_set.trials_name else "d"
    return f"{speaker}-{sentences}{number:03d}"


def _write_data(data: Path, trial_set: TrialSet, config: Config) -> None:
    speakers = _speaker_names(trial_set)
    for suffix in ("", config.anon_suffix):
        utterances = {
            _utterance(trial_set, s, u): s for s in speakers[:_SPEAKERS] for u in range(_UTTERANCES)
        }
        folder = data / f"{trial_set.trials_name}{suffix}"
        _write_data_dir(folder, utterances, {s: trial_set.gender for s in speakers[:_SPEAKERS]})
        write_text(
            folder / "trials",
            "".join(
                f"{s} {u} {'target' if s == spoken else 'nontarget'}\n"
                for s in speakers
                for u, spoken in utterances.items()
            ),
        )
        # Both genders share an enrollment set.
        genders = {
            s: t.gender
            for t in config.trial_sets()
            if t.enrollment_name == trial_set.enrollment_name
            for s in _speaker_names(t)
        }
        enrolled = {f"{s}-e{u:03d}": s for s in genders for u in range(_ENROLLMENT_UTTERANCES)}
        folder = data / f"{trial_set.enrollment_name}{suffix}"
        _write_data_dir(folder, enrolled, genders)
        write_text(folder / "enrolls", "".join(f"{u}\n" for u in sorted(enrolled)))


def _write_data_dir(
    folder: Path, speaker_of: Mapping[str, str], gender_of: Mapping[str, str]
) -> None:
    spoken: dict[str, list[str]] = {}
    for utterance, speaker in sorted(speaker_of.items()):
        spoken.setdefault(speaker, []).append(utterance)
    _write_lines(folder / "utt2spk", (f"{u} {s}" for u, s in sorted(speaker_of.items())))
    _write_lines(folder / "spk2utt", (f"{s} {' '.join(u)}" for s, u in sorted(spoken.items())))
    _write_lines(folder / "spk2gender", (f"{s} {g}" for s, g in sorted(gender_of.items())))


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))


def _write_scores(
    results: Path,
    system: str,
    trial_set: TrialSet,
    config: Config,
    seed: int,
    originals: dict[str, str],
) -> None:
    speakers = _speaker_names(trial_set)
    for comparison in config.comparisons:
        speech = (comparison.enrollment, comparison.trial)
        original = speech == (ORIGINAL, ORIGINAL)
        eer = _DEMO_ORIGINAL_EER if original else _DEMO_EER[system].get(speech, 0.3)
        offset, scale = _DEMO_CALIBRATION.get(speech, (0.0, 1.0))
        sets = [
            trial_set.enrollment_name + config.anon_suffix * (speech[0] == ANONYMIZED),
            trial_set.trials_name + config.anon_suffix * (speech[1] == ANONYMIZED),
        ]
        name = f"ASV-{sets[0]}-{sets[1]}"
        if not (original and name in originals):
            # Original speech scores the same whatever the system.
            own = "" if original else system
            trials = simulate_trials(
                ScoreModel.with_eer(eer, offset=offset, scale=scale),
                enrolled=_ENROLLED,
                speakers=_SPEAKERS,
                utterances=_UTTERANCES,
                generator=_generator(seed, own, name),
            )
            lines = [
                f"{speakers[e]} {_utterance(trial_set, speakers[s], u)} {score:.6f}\n"
                for e, s, u, score in zip(
                    trials.enrolled_speaker.tolist(),
                    trials.trial_speaker.tolist(),
                    trials.utterance.tolist(),
                    trials.score.tolist(),
                    strict=True,
                )
            ]
            content = "".join(lines)
            if original:
                originals[name] = content
        else:
            content = originals[name]
        write_text(results / name / "scores", content)


def _write_recognition(results: Path, system: str, config: Config, seed: int) -> None:
    for split in config.splits:
        for data_set in config.recognition.data_sets:
            for speech in SPEECH:
                name = data_set.set_name(split)
                name += config.anon_suffix * (speech == ANONYMIZED)
                factor = _DEMO_WER[system] if speech == ANONYMIZED else 1.0
                generator = _generator(seed, system if speech == ANONYMIZED else "", name)
                lines = [
                    format_wer_line(
                        _wer_line(
                            factor * _DEMO_LM_WER.get(model, 0.05), marker, name, config, generator
                        )
                    )
                    for model, marker in config.recognition.language_models.items()
                ]
                _write_lines(results / f"ASR-{name}" / "WER", lines)


def _wer_line(
    rate: float, marker: str, name: str, config: Config, generator: np.random.Generator
) -> WerLine:
    words = 20000
    insertions, deletions, substitutions = (
        int(n) for n in generator.poisson(rate * words * np.array([0.1, 0.15, 0.75]))
    )
    errors = insertions + deletions + substitutions
    model = config.recognition.models.get(ORIGINAL, "asr")
    return WerLine(
        wer=round(errors / words, 4),
        errors=errors,
        words=words,
        insertions=insertions,
        deletions=deletions,
        substitutions=substitutions,
        decode=f"exp/models/{model}/decode_{name}_{marker}",
        lm_weight=12,
        word_insertion_penalty=0.0,
    )


def _generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for every name, whatever else is drawn."""
    key: Sequence[int] = [seed, *(zlib.crc32(name.encode()) for name in names)]
    return np.random.default_rng(key)
