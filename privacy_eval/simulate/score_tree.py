"""Write the folders of a demo tree whose edition computes its own scores: trial keys, speaker
vectors and the scores of their cosines, word errors with transcripts, and recalls of emotions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.arrays import write_torch_vectors
from ..io.files import write_text
from ..io.wer import WerLine, format_wer_line
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, SUFFIX, ResultsFolder, TrialSet
from ..tree.conditions import Condition, trial_conditions
from .folders import Demo, simulate_words, trial_lines
from .models import DIMENSION, Anonymization, anonymization, cosine_scores, original_model

_GENDERS = ("f", "m")
#: Utterances of an enrolled speaker.
_ENROLLMENT = 12
#: Speakers, each of one fold, and utterances of each, in a set of emotion recognition.
_FOLDS, _EMOTIONAL = 5, 550
_NO_WEIGHTS: Mapping[str, Any] = {"lm_weight": None, "word_insertion_penalty": None}
#: EER and word error rate of original speech.
_ORIGINAL_EER, _ORIGINAL_WER = 0.05, 0.02
#: Fraction of right emotions in original speech, and the rate of chance.
_RECALLS, _CHANCE = {"neu": 0.72, "ang": 0.8, "hap": 0.66, "sad": 0.64}, 0.25
_VECTORS = original_model(_ORIGINAL_EER, _ENROLLMENT)
#: Of the data set that attackers train on.
_TRAINING_SPEAKERS, _TRAINING_UTTERANCES = 120, 8

Float32 = NDArray[np.float32]


def _strength(system: str, demo: Demo) -> Mapping[str, float]:
    """Draw how well a system anonymizes: the EER by attack model; and what it costs: the factor of
    the word error rate, and the share that is kept of what recalls of emotions exceed chance by. B1
    anonymizes lightly and B2 more."""
    draw = demo.stream("strength", system).uniform
    semi = {"B1": 0.18, "B2": 0.33}.get(system, draw(0.1, 0.4))
    return {
        "semi-informed": semi,
        "lazy-informed": semi + draw(0.03, 0.1),
        "ignorant": draw(0.46, 0.5),
        "wer": draw(1.3, 1.6) + 4 * semi,
        "emotion": draw(0.9, 1.1) * (1 - 1.8 * semi),
    }


def _anonymization(system: str, asv_model: str, demo: Demo) -> Anonymization:
    """Return what a system does to vectors of the model trained on original or anonymized speech;
    the second sees more of the voice."""
    eer = _strength(system, demo)
    linked = eer["semi-informed" if asv_model == ANONYMIZED else "lazy-informed"]
    return anonymization(linked, eer["ignorant"], _VECTORS, _ENROLLMENT)


@dataclass(frozen=True)
class _Trials:
    """A trial set: its speech, and every enrolled speaker of a gender with all utterances of it.

    Attributes
    ----------
    speaker_of : mapping
        Speaker of each utterance, sorted.
    gender_of : mapping
        Gender of each speaker of an utterance.
    enrolled : mapping
        Gender of each enrolled speaker.
    pairs : list of (str, str)
        Enrolled speaker and utterance of each trial.
    """

    speaker_of: Mapping[str, str]
    gender_of: Mapping[str, str]
    enrolled: Mapping[str, str]
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ScoreTree(Demo):
    """A demo tree of trial keys, scores and results of recognizers; see `write_demo_tree`.

    Attributes
    ----------
    systems : sequence of str
        Names; each one's anonymization suffix is `_NAME`.
    """

    systems: Sequence[str]

    def write(self, progress: Callable[[int, int, str], None] | None = None) -> None:
        """Write the tree; `progress` is called with the number of trial sets written, their
        total, and a name."""
        trial_sets = {t: self._trials(t) for t in self.protocol.trial_sets()}
        spoken: dict[tuple[str, str], list[_Trials]] = {}
        enrolled: dict[str, dict[str, str]] = {}
        for t, trials in trial_sets.items():
            spoken.setdefault((t.data_set.id, t.split), []).append(trials)
            enrolled.setdefault(t.enrollment_name, {}).update(trials.enrolled)
        for name, gender_of in enrolled.items():
            spoken_by = _enrollment_speech(gender_of)
            self.write_data(name, spoken_by, gender_of, enrolls=spoken_by)
        for done, (t, trials) in enumerate(trial_sets.items(), start=1):
            self._write_scores(t, trials, enrolled[t.enrollment_name])
            if progress is not None:
                progress(done, len(trial_sets), t.trials_name)
        if name := self.protocol.attacker_training:
            self._write_training(name)
        recognition = self.protocol.recognition
        recognized_sets = recognition.data_sets if recognition.folders else ()
        for split, recognized in itertools.product(self.protocol.splits, recognized_sets):
            self._write_recognition(
                recognized.set_name(split), spoken.get((recognized.id, split), [])
            )
        for system in self.systems if self.protocol.emotion_folder else ():
            self._write_emotions(system)

    def _trials(self, trial_set: TrialSet) -> _Trials:
        speaker_of: dict[str, str] = {}
        gender_of: dict[str, str] = {}
        enrolled: dict[str, str] = {}
        pairs: list[tuple[str, str]] = []
        for gender in _GENDERS if trial_set.gender not in _GENDERS else trial_set.gender:
            size = self.size_of(trial_set, gender)
            names = self._speakers(trial_set, gender, max(size.enrolled, size.speakers))
            speakers = zip(names, size.of_speakers, strict=False)
            spoken = {f"{name}-{n:04d}": name for name, number in speakers for n in range(number)}
            enrolled.update(dict.fromkeys(names[: size.enrolled], gender))
            gender_of.update(dict.fromkeys(names[: size.speakers], gender))
            speaker_of.update(spoken)
            pairs += itertools.product(names[: size.enrolled], spoken)
        return _Trials(speaker_of, gender_of, enrolled, pairs)

    def _speakers(self, trial_set: TrialSet, gender: str, count: int) -> list[str]:
        """Name speakers: numbers of one width, in a block for each enrollment set and gender."""
        sets = dict.fromkeys(t.enrollment_name for t in self.protocol.trial_sets())
        block = 10 + 2 * list(sets).index(trial_set.enrollment_name) + _GENDERS.index(gender)
        room = max(100, 10 ** len(str(count)))
        width = len(str((10 + 2 * len(sets)) * room))
        return [f"{block * room + n:0{width}d}" for n in range(count)]

    def _write_scores(
        self, trial_set: TrialSet, trials: _Trials, enrolled: Mapping[str, str]
    ) -> None:
        """Write a trial set with its key, and the vectors and scores of all attack models of all
        systems; `enrolled` are the genders of all speakers of its enrollment set."""
        enrollment, name = trial_set.enrollment_name, trial_set.trials_name
        key = trial_lines(trials.pairs, trials.speaker_of)
        self.write_data(name, trials.speaker_of, trials.gender_of, trials=key)
        row = {speaker: number for number, speaker in enumerate(trials.enrolled)}
        column = {utterance: number for number, utterance in enumerate(trials.speaker_of)}
        places = np.array(
            [(row[speaker], column[utterance]) for speaker, utterance in trials.pairs]
        )
        spoken_by = {enrollment: _enrollment_speech(enrolled), name: trials.speaker_of}
        place = trial_set.data_set.id, trial_set.split, trial_set.gender
        rows = [sorted(enrolled).index(speaker) for speaker in trials.enrolled]
        for system, part in itertools.product(self.systems, self.protocol.results_folders):
            conditions = trial_conditions(self.protocol, part, f"_{system}").values()
            own = [c for c in conditions if (c.data_set, c.split, c.gender) == place]
            speech = self._write_vectors(spoken_by, own[0], part, system)
            for c in (c for c in own if c.attack_model is not None):
                folder = self._folder(c, part, system) / c.name.removeprefix("ASV-")
                if (folder / "scores").exists():  # of original speech, which systems share
                    continue
                by_speaker = speech[c.enrollment, enrollment].reshape(-1, _ENROLLMENT, DIMENSION)
                scores = cosine_scores(by_speaker[rows], speech[c.trial, name], [*places.T])
                lines = zip(trials.pairs, scores.tolist(), strict=True)
                text = "".join(f"{e} {u} {score:.7f}\n" for (e, u), score in lines)
                write_text(folder / "scores", text)

    def _write_vectors(
        self,
        spoken_by: Mapping[str, Mapping[str, str]],
        condition: Condition,
        part: ResultsFolder,
        system: str,
    ) -> dict[tuple[str, str], Float32]:
        """Simulate and write the vectors of some sets, given as speakers of utterances, by a
        condition's model; return them by speech and set."""
        made, hidden = {}, _anonymization(system, part.asv_model, self)
        for name, speaker_of in spoken_by.items():
            speakers = speaker_of.values()
            voices = {s: _VECTORS.voices(1, self.stream("voice", s))[0] for s in speakers}
            voice = np.array([voices[s] for s in speakers])
            original = _VECTORS.utterances(voice, self.stream("vectors", name))
            draws = self.stream("anonymized", name, system)
            anonymized = hidden.anonymize(original, np.zeros_like(original), draws)
            for speech, suffix, vectors in (
                (ORIGINAL, "", original),
                (ANONYMIZED, f"_{system}", anonymized),
            ):
                made[speech, name] = matrix = vectors.astype(np.float32)
                within = self.protocol.speaker_vectors.replace("{set}", f"{name}{suffix}")
                path = self._folder(condition, part, system) / within
                if within and not path.exists():  # those of original speech are shared
                    write_torch_vectors(path, list(speaker_of), matrix)
        return made

    def _write_training(self, name: str) -> None:
        """Write the data set that attackers train on, with its vectors."""
        gender_of = {f"train{n:03d}": _GENDERS[n % 2] for n in range(_TRAINING_SPEAKERS)}
        spoken_by = {f"{s}-{n:02d}": s for s in gender_of for n in range(_TRAINING_UTTERANCES)}
        self.write_data(name, spoken_by, gender_of)
        for system, part in itertools.product(self.systems, self.protocol.results_folders):
            if part.asv_model == ORIGINAL:
                first = next(iter(trial_conditions(self.protocol, part, f"_{system}").values()))
                self._write_vectors({name: spoken_by}, first, part, system)

    def _folder(self, condition: Condition, part: ResultsFolder, system: str) -> Path:
        """Return the folder of a condition's model (or of its data set's model)."""
        ending = f"_{condition.data_set}{{suffix}}"
        template = next((f for f in part.folders if f.endswith(ending)), part.folders[0])
        model = template.replace(SUFFIX, f"_{system}")
        return self.tree / "exp" / model

    def _write_recognition(self, name: str, parts: Sequence[_Trials]) -> None:
        """Write a set with its words, and the transcripts and word errors of all speech."""
        speaker_of = {u: s for trials in parts for u, s in trials.speaker_of.items()}
        gender_of = {s: g for trials in parts for s, g in trials.gender_of.items()}
        if not parts:  # a set of emotion recognition: both speakers of some sessions
            of_one = self.size.utterances // self.size.speakers if self.size else _EMOTIONAL
            names = [f"Ses{n:02d}{'FM'[n % 2]}" for n in range(1, _FOLDS + 1)]
            speaker_of = {f"{s}_{n:04d}": s for s in names for n in range(of_one)}
            gender_of = {s: s[-1].lower() for s in names}
        spoken = {u: simulate_words(s, u, self.seed).split() for u, s in speaker_of.items()}
        self.write_data(name, speaker_of, gender_of)
        rates = {"": 1.0, **{f"_{s}": _strength(s, self)["wer"] for s in self.systems}}
        for suffix, factor in rates.items():
            folder = self.tree / "exp" / self.protocol.recognition.folders[0] / f"{name}{suffix}"
            heard, line = _misheard(spoken, _ORIGINAL_WER * factor, self.stream(name, suffix))
            write_text(folder / "text", "".join(f"{u} {' '.join(w)}\n" for u, w in heard.items()))
            write_text(folder / "wer", f"{format_wer_line(line)}\n")

    def _write_emotions(self, system: str) -> None:
        """Write the recalls of a system, by fold."""
        kept = _strength(system, self)["emotion"]
        names = ",".join(f"ACC_{emotion}" for emotion in _RECALLS)
        lines = [f",dataset,split,fold,ser,UAR,{names}"]
        for data_set, split, speech, fold in itertools.product(
            self.protocol.emotion, self.protocol.splits, SPEECH, range(1, _FOLDS + 1)
        ):
            owner = "" if speech == ORIGINAL else system
            share = 1.0 if speech == ORIGINAL else kept
            rates = [_CHANCE + share * (recall - _CHANCE) for recall in _RECALLS.values()]
            stream = self.stream("emotions", data_set.id, split, owner, f"{fold}")
            right = 100 * stream.binomial(_EMOTIONAL // 4, rates) / (_EMOTIONAL // 4)
            place = (data_set.id, split, f"{fold}", "anon" if owner else "original")
            values = [f"{value:.3f}" for value in (right.mean(), *right)]
            lines.append(",".join([f"{len(lines) - 1}", *place, *values]))
        path = self.tree / "exp" / self.protocol.emotion_folder / f"results_folds_{system}.csv"
        write_text(path, "".join(f"{line}\n" for line in lines))


def _enrollment_speech(gender_of: Mapping[str, str]) -> dict[str, str]:
    """Name the enrollment utterances of speakers; return the speaker of each, sorted."""
    return {f"{s}-e{n:02d}": s for s in sorted(gender_of) for n in range(_ENROLLMENT)}


def _misheard(
    spoken: Mapping[str, Sequence[str]], rate: float, stream: np.random.Generator
) -> tuple[dict[str, list[str]], WerLine]:
    """Return what a recognizer hears, and its errors. No misheard word is one of the language,
    and an utterance has insertions or deletions, not both: no alignment has fewer errors."""
    heard: dict[str, list[str]] = {}
    counts: dict[str, Any] = {"insertions": 0, "deletions": 0, "substitutions": 0}
    for utterance, words in spoken.items():
        other = "insertions" if stream.random() < 0.3 else "deletions"
        wrong, kinds = (stream.random((2, len(words)))).tolist()
        heard[utterance] = []
        for word, draw, kind in zip(words, wrong, kinds, strict=True):
            error = "" if draw >= rate else "substitutions" if kind < 0.75 else other
            counts.update({error: counts[error] + 1} if error else {})
            heard[utterance] += {
                "": [word],
                "substitutions": [f"{word}{word}"],
                "insertions": [word, f"{word}{word}"],
                "deletions": [],
            }[error]
    n_errors, n_words = sum(counts.values()), sum(map(len, spoken.values()))
    return heard, WerLine(n_errors / n_words, n_errors, n_words, **counts, decode="", **_NO_WEIGHTS)
