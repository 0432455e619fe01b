"""Write demo trees: simulated x-vectors in a tree with the challenge's layout, or scores where the
edition computes its own, and the ratings of a listening test.

A tree may exceed memory: its data folders are simulated and written one by one, and simulated
again where another one is derived from them.

Evaluators of the listening test share a mean rating of every system, but differ in offset, range
and step of their ratings, which are whole numbers with many ties. Three are unreliable: one gives a
single value, one stops early, one inverts the scale.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..asv.backend import PldaBackend, train_backend
from ..asv.model_folder import save_backend
from ..choices import ORIGINAL_SYSTEM, RATING_COLUMNS, grouped
from ..errors import PrivacyEvalError
from ..io.csv_text import csv_text
from ..io.files import write_text
from ..io.vectors import Plda, write_vectors
from ..io.wer import WerLine, format_wer_line
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, AsvModel, Protocol, TrialSet
from ..tree.conditions import trial_conditions
from .folders import Demo, TrialSize, marked_folder, trial_lines
from .models import Anonymization, Matrix, VectorModel
from .score_tree import ScoreTree

#: Allowed sizes of a demo tree. Voice similarity needs two speakers and two utterances.
DEMO_SIZES: Mapping[str, range] = {
    "speakers": range(2, 10_001),
    "utterances": range(2, 10_001),
    "systems": range(1, 1_001),
}

#: Speakers of a trial set that a listening test takes, and utterances of each.
_RATED = 12
_VECTORS = VectorModel()
_LDA_DIM = 16
_TRAINING_SPEAKERS, _TRAINING_UTTERANCES, _ENROLLMENT_UTTERANCES = 120, 8, 3

#: Word error rates of original speech, and their factor where the recognizer was trained
#: on anonymized speech.
_LM_WER: Mapping[str, float] = {"small": 0.055, "large": 0.042}
_RETRAINED_WER = 1.6
#: Words of a set that is recognized.
_WORDS = 20000


@dataclass(frozen=True)
class _System:
    """An anonymization system.

    Attributes
    ----------
    wer : mapping
        Factor between the word error rates of its speech and of original speech, by what
        the recognizer was trained on.
    """

    name: str
    kind: Anonymization
    wer: Mapping[str, float]

    @property
    def suffix(self) -> str:
        """The anonymization suffix; its results folders end in it, too."""
        return f"_{self.name}"


#: Like the challenge's baselines. B1: the leaking part is rotated away from the original voice,
#: pseudo-voices are much alike. B2: much leaks, little is turned.
_BASELINES = (
    _System(
        "B1",
        Anonymization(keep=0.6, turn_deg=87.0, pseudo=0.15, noise=0.8, shift=2.0),
        {ORIGINAL: 1.7, ANONYMIZED: 1.1},
    ),
    _System(
        "B2",
        Anonymization(keep=0.68, turn_deg=60.0, pseudo=0.1, noise=0.4, shift=0.7),
        {ORIGINAL: 2.3, ANONYMIZED: 1.3},
    ),
)


def write_demo_tree(
    folder: Path,
    protocol: Protocol,
    *,
    seed: int = 0,
    speakers: int | None = None,
    utterances: int | None = None,
    systems: int = 2,
    progress: Callable[[int, int, str], None] | None = None,
) -> bool:
    """Write a simulated challenge tree, in its state after anonymization.

    It contains data folders, x-vectors, also of training speech, back ends, word error rates and
    the ratings of a listening test, but no scores. Where the edition's own evaluation computes the
    scores, it contains what that leaves: trial keys, speaker vectors, also of training speech, the
    scores of their cosines, word errors with transcripts, and recalls of emotions. The tree is
    written atomically. The same seed and sizes give the same bytes.

    Parameters
    ----------
    speakers : int, optional
        Trial speakers of every trial set, of one gender; a third more are enrolled.
    utterances : int, optional
        Trial utterances of each. Trials are those of every enrolled speaker with every
        utterance, so that their number grows with `speakers` squared. Without both: 12 each,
        or, from 2022 on, the challenge's true numbers.
    systems : int
        B1 and B2 are like the challenge's baselines. Further ones, S3, S4, ... (S03 where
        there are ten or more, to be sorted by name), are drawn around them.
    progress : callable, optional
        Called with the number of data folders written, their total, and a name.

    Returns
    -------
    bool
        False if the same tree already exists.

    Raises
    ------
    ValueError
        A size outside `DEMO_SIZES`.
    PrivacyEvalError
        `folder` contains something else. The protocol does not define the folders of x-vectors
        and back ends that its results folders need.
    """
    is_true_size = protocol.weighs_utility and speakers is None and utterances is None
    speakers = 12 if speakers is None else speakers
    utterances = 12 if utterances is None else utterances
    sizes = {"speakers": speakers, "utterances": utterances, "systems": systems}
    for name, size in sizes.items():
        allowed = DEMO_SIZES[name]
        if size not in allowed:
            raise ValueError(f"expected {name} from {allowed[0]} to {allowed[-1]}, not {size}")
    if is_true_size:
        of_sets, sizes = None, {"systems": systems}
    else:
        spoken = speakers * utterances
        of_sets = TrialSize(speakers + math.ceil(speakers / 3), speakers, spoken, spoken)
    marker = {"demo_tree": 7, "seed": seed, "plan": protocol.name, **sizes}
    demo = Demo(folder, protocol, seed, of_sets)
    drawn = _systems(systems, demo)
    models = [] if protocol.has_own_scoring else _models(protocol, drawn)
    with marked_folder(folder, "demo_tree", marker) as temporary:
        if temporary is None:
            return False
        if protocol.has_own_scoring:
            names = [system.name for system in drawn]
            ScoreTree(temporary, protocol, seed, of_sets, names).write(progress)
            return True
        demo = replace(demo, tree=temporary)
        _write_speech(demo, drawn, models, progress)
        for system in drawn:
            _write_recognition(system, demo)
        write_text(temporary / "ratings.csv", _ratings(drawn, demo))
    return True


def _systems(count: int, demo: Demo) -> list[_System]:
    """Return B1, B2, and systems drawn around them, of weak to strong leakage."""
    systems = list(_BASELINES[:count])
    for number in range(len(_BASELINES) + 1, count + 1):
        draw = demo.stream("system", str(number)).uniform
        kind = Anonymization(
            keep=draw(0.5, 0.75),
            turn_deg=draw(50.0, 90.0),
            pseudo=draw(0.05, 0.25),
            noise=draw(0.3, 1.0),
            shift=draw(0.5, 2.5),
        )
        name = f"S{number:0{len(str(count))}d}"
        systems.append(_System(name, kind, {ORIGINAL: draw(1.3, 2.7), ANONYMIZED: draw(1.05, 1.4)}))
    return systems


def _models(protocol: Protocol, systems: Sequence[_System]) -> list[AsvModel]:
    """List the model trained on original speech, and those of the results folders."""
    models = []
    for trained_on in dict.fromkeys((ORIGINAL, *(f.asv_model for f in protocol.results_folders))):
        model = protocol.asv_model(trained_on)
        if model is None:
            raise PrivacyEvalError(
                f"protocol {protocol.name}: asv_models lacks a model trained on {trained_on} "
                "speech; a demo tree stores its x-vectors there"
            )
        places = {(model.model_folder(s.suffix), model.training_name(s.suffix)) for s in systems}
        if trained_on == ANONYMIZED and len(places) < len(systems):
            raise PrivacyEvalError(
                f"protocol {protocol.name}: asv_models: the model trained on anonymized speech "
                "has the same folder for all systems, expected {suffix} in it"
            )
        models.append(model)
    return models


@dataclass(frozen=True)
class _SimulatedFolder:
    """A data folder: speaker of each utterance (sorted), x-vectors of shape (N, D), and the lines
    of its list of enrollment utterances or trials."""

    speaker_of: Mapping[str, str]
    vectors: Matrix
    gender_of: Mapping[str, str]
    lists: Mapping[str, Iterable[str]] = field(default_factory=dict)


Draw = Callable[[], _SimulatedFolder]


def _ratings(systems: Sequence[_System], demo: Demo) -> str:
    """Simulate a listening test of all systems on some trials of the last split."""
    keys = {}
    for t in demo.protocol.trial_sets():
        if t.split == demo.protocol.splits[-1]:
            speaker_of = _trial_speech(t, demo).speaker_of
            utterances_of = grouped(speaker_of, speaker_of.__getitem__)
            spoken = [u[:_RATED] for u in itertools.islice(utterances_of.values(), _RATED)]
            enrolled = _speakers(t, demo)[: min(_RATED, demo.size_of(t).enrolled)]
            pairs = itertools.product(enrolled, itertools.chain(*spoken))
            keys[t.data_set.id, t.gender] = "\n".join(trial_lines(pairs, speaker_of))
    return simulate_ratings([system.name for system in systems], keys, seed=demo.seed)


def _most_speakers(demo: Demo) -> int:
    """Return the most speakers of any trial set, enrolled or not."""
    sizes = (demo.size_of(t) for t in demo.protocol.trial_sets())
    return max(max(size.enrolled, size.speakers) for size in sizes)


def _speakers(trial_set: TrialSet, demo: Demo) -> list[str]:
    """Name the speakers: zero-padded numbers, in one block per enrollment set and
    gender."""
    size, genders, most = 50, list(demo.protocol.genders), _most_speakers(demo)
    while size < most:
        size *= 10
    block = 1 + zlib.crc32(trial_set.enrollment_name.encode()) % 80
    first = size * (len(genders) * block + genders.index(trial_set.gender))
    width = len(str(81 * len(genders) * size))
    return [f"{first + i:0{width}d}" for i in range(most)]


def _voices(trial_set: TrialSet, demo: Demo) -> Matrix:
    """Draw voices, the same for trial sets with the same enrolled speakers."""
    generator = demo.stream("voices", trial_set.enrollment_name, trial_set.gender)
    return _VECTORS.voices(_most_speakers(demo), generator)


def _trial_speech(trial_set: TrialSet, demo: Demo) -> _SimulatedFolder:
    size, names = demo.size_of(trial_set), _speakers(trial_set, demo)
    enrolled, speakers = names[: size.enrolled], names[: size.speakers]
    # Data sets that share speakers have different utterances.
    number, counts = demo.protocol.data_sets.index(trial_set.data_set), size.of_speakers
    width = max(3, len(str(max(counts) - 1)))
    voices = np.repeat(_voices(trial_set, demo)[: size.speakers], counts, axis=0)
    speaker_of = {
        f"{s}-t{number}-{u:0{width}d}": s
        for s, count in zip(speakers, counts, strict=True)
        for u in range(count)
    }
    pairs: Iterable[tuple[str, str]] = itertools.product(enrolled, speaker_of)
    if size.nontargets is not None:  # else all of them are trials
        each = list(pairs)
        chosen = np.array([speaker == speaker_of[utterance] for speaker, utterance in each])
        generator = demo.stream("trials", trial_set.trials_name)
        chosen[generator.choice(np.flatnonzero(~chosen), size.nontargets, replace=False)] = True
        pairs = itertools.compress(each, chosen)
    return _SimulatedFolder(
        speaker_of,
        _VECTORS.utterances(voices, demo.stream(trial_set.trials_name)),
        dict.fromkeys(speakers, trial_set.gender),
        {"trials": trial_lines(pairs, speaker_of)},
    )


def _enrollment_speech(name: str, demo: Demo) -> _SimulatedFolder:
    """Simulate an enrollment set, which all genders share."""
    gender_of: dict[str, str] = {}
    voice_of: dict[str, Matrix] = {}
    for trial_set in demo.protocol.trial_sets():
        if trial_set.enrollment_name == name:
            speakers = _speakers(trial_set, demo)[: demo.size_of(trial_set).enrolled]
            gender_of.update(dict.fromkeys(speakers, trial_set.gender))
            voice_of.update(zip(speakers, _voices(trial_set, demo), strict=False))
    speaker_of = {
        f"{s}-e{u:03d}": s for s in sorted(gender_of) for u in range(_ENROLLMENT_UTTERANCES)
    }
    voices = np.stack([voice_of[s] for s in speaker_of.values()])
    vectors = _VECTORS.utterances(voices, demo.stream(name))
    return _SimulatedFolder(speaker_of, vectors, gender_of, {"enrolls": speaker_of})


def _training_speech(demo: Demo) -> _SimulatedFolder:
    generator = demo.stream("training")
    voices = _VECTORS.voices(_TRAINING_SPEAKERS, generator)
    speakers = [f"{s:03d}" for s in range(_TRAINING_SPEAKERS)]
    pairs = itertools.product(speakers, range(_TRAINING_UTTERANCES))
    return _SimulatedFolder(
        {f"{s}-{u}": s for s, u in pairs},
        _VECTORS.utterances(np.repeat(voices, _TRAINING_UTTERANCES, axis=0), generator),
        dict(zip(speakers, itertools.cycle(demo.protocol.genders), strict=False)),
    )


def _combined_speech(trial_sets: Sequence[TrialSet], demo: Demo) -> _SimulatedFolder:
    """Combine data folders, without their lists."""
    parts = [_trial_speech(trial_set, demo) for trial_set in trial_sets]
    if len(parts) == 1:
        return parts[0]
    speaker_of = {u: s for part in parts for u, s in part.speaker_of.items()}
    utterances = list(speaker_of)
    order = sorted(range(len(utterances)), key=utterances.__getitem__)
    return _SimulatedFolder(
        dict(sorted(speaker_of.items())),
        np.concatenate([part.vectors for part in parts])[order],
        {s: g for part in parts for s, g in part.gender_of.items()},
    )


def _anonymized(
    original: Callable[[], _SimulatedFolder], system: _System, name: str, demo: Demo
) -> _SimulatedFolder:
    """Anonymize a data folder, in which each speaker has one pseudo-voice."""
    speech = original()
    generator = demo.stream(system.name, name)
    names, owner = np.unique(list(speech.speaker_of.values()), return_inverse=True)
    pseudo = system.kind.pseudo_voices(names.size, _VECTORS, generator)
    return replace(speech, vectors=system.kind.anonymize(speech.vectors, pseudo[owner], generator))


def _write_speech(
    demo: Demo,
    systems: Sequence[_System],
    models: Sequence[AsvModel],
    progress: Callable[[int, int, str], None] | None,
) -> None:
    """Write data folders, their x-vectors, and the back ends to score them with."""
    enrollment: dict[str, Draw] = {
        t.enrollment_name: partial(_enrollment_speech, t.enrollment_name, demo)
        for t in demo.protocol.trial_sets()
    }
    trials: dict[str, Draw] = {
        t.trials_name: partial(_trial_speech, t, demo) for t in demo.protocol.trial_sets()
    }
    combined: dict[str, Draw] = {
        name: partial(_combined_speech, sets, demo)
        for name, sets in demo.protocol.anonymized_together().items()
    }
    folders_of = {s.name: {m.model_folder(s.suffix): None for m in models} for s in systems}
    every = {folder: None for folders in folders_of.values() for folder in folders}
    data: list[tuple[str, Draw, Iterable[str]]] = [
        (name, draw, every) for name, draw in {**enrollment, **trials}.items()
    ]
    for system, (name, draw) in itertools.product(systems, {**enrollment, **combined}.items()):
        anonymized = partial(_anonymized, draw, system, name, demo)
        data.append((name + system.suffix, anonymized, folders_of[system.name]))
    training: Draw = partial(_training_speech, demo)
    name = demo.protocol.attacker_training
    where = [models[0].model_folder(s.suffix) for s in systems] if name else []
    if name:
        data.append((name, training, dict.fromkeys(where)))
    for system, folder in zip(systems, where, strict=False):
        anonymized = partial(_anonymized, training, system, "training", demo)
        data.append((name + system.suffix, anonymized, [folder]))
    for done, (name, draw, folders) in enumerate(data, start=1):
        speech = draw()
        demo.write_data(name, speech.speaker_of, speech.gender_of, **speech.lists)
        for folder in folders:
            scp = demo.tree / folder / f"xvect_{name}" / "xvector.scp"
            write_vectors(scp, list(speech.speaker_of), speech.vectors, tree=demo.tree)
        if progress is not None:
            progress(done, len(data), name)
    trained = [model for model in models if model.backend == "plda"]
    for system, model in itertools.product(systems, trained):
        training_set = f"xvect_{model.training_name(system.suffix)}"
        path = demo.tree / model.model_folder(system.suffix) / training_set
        if model.trained_on == ANONYMIZED:
            speech = _anonymized(training, system, "training", demo)
        elif (path / "plda").exists():  # systems share the model of original speech
            continue
        else:
            speech = training()
        vectors, speakers = speech.vectors.astype(np.float32), list(speech.speaker_of.values())
        save_backend(path, _reproducible(train_backend(vectors, speakers, lda_dim=_LDA_DIM)))


def _reproducible(model: PldaBackend) -> PldaBackend:
    """Round a model and fix the signs of its eigenvectors, which do not affect scores, so that
    its bytes are the same on any machine."""
    assert model.mean is not None and model.transform is not None
    of_lda = _signs(model.transform[:, : model.mean.size])
    plda = model.plda
    of_plda = _signs(plda.transform * of_lda)
    # + 0.0: no negative zeros.
    mean = (plda.mean * of_lda).round(6) + 0.0
    whitening = (of_plda[:, None] * plda.transform * of_lda).round(6) + 0.0
    lda = (of_lda[:, None].astype(np.float32) * model.transform).round(5) + np.float32(0)
    rounded = Plda(mean, whitening, plda.psi.round(6))
    return PldaBackend(rounded, model.mean.round(5) + np.float32(0), lda)


def _signs(rows: NDArray[np.floating]) -> Matrix:
    """Return the sign of the largest element of every row, 1 or -1."""
    largest = np.abs(rows).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), largest] < 0, -1.0, 1.0)


def _write_recognition(system: _System, demo: Demo) -> None:
    """Write word error rates, by recognizers trained like the results folders' models."""
    recognition = demo.protocol.recognition
    own = demo.tree / "exp" / system.name / f"results-demo{system.suffix}"
    for part in demo.protocol.results_folders * (not recognition.data_sets):
        for name in trial_conditions(demo.protocol, part, system.suffix):
            (own.with_name(own.name + part.suffix) / name).mkdir(parents=True)
    for part, split, data_set, speech in itertools.product(
        demo.protocol.results_folders, demo.protocol.splits, recognition.data_sets, SPEECH
    ):
        recognizer = recognition.models.get(part.asv_model, "asr")
        name = data_set.set_name(split)
        retrained = part.asv_model != ORIGINAL
        owner = recognizer if retrained else ""
        factor = _RETRAINED_WER if retrained else 1.0
        if speech == ANONYMIZED:
            name += system.suffix
            factor = system.wer[part.asv_model]
        elif retrained:
            owner += system.suffix  # every system has its recognizer
        generator = demo.stream(owner, name)
        text = ""
        for language_model, marker in recognition.language_models.items():
            rate = factor * _LM_WER.get(language_model, 0.05)
            decode = f"exp/models/{recognizer}/decode_{name}_{marker}"
            expected = rate * _WORDS * np.array([0.1, 0.15, 0.75])
            inserted, deleted, substituted = generator.poisson(expected).tolist()
            total = inserted + deleted + substituted
            counts = total, _WORDS, inserted, deleted, substituted
            line = WerLine(round(total / _WORDS, 4), *counts, decode, 12, 0.0)
            text += format_wer_line(line) + "\n"
        write_text(own.with_name(own.name + part.suffix) / f"ASR-{name}/WER", text)


EVALUATORS = 36
#: Unreliable evaluators: gives one value, stops early, inverts the scale.
ONE_VALUE, STOPS_EARLY, INVERTS = "listener05", "listener11", "listener17"
_EARLY = 6
_LOW, _HIGH = 1, 10

# Where on the scale from 0 to 1 speech is placed, original first; anonymized systems then
# differ by a step from one to the next.
_ORIGINAL = {"naturalness": 0.88, "intelligibility": 0.92, True: 0.8, False: 0.24}
_FIRST = {"naturalness": 0.45, "intelligibility": 0.6, True: 0.36, False: 0.2}
_STEP = {"naturalness": 0.11, "intelligibility": 0.07, True: 0.1, False: 0.02}
_STEPS = 3


def simulate_ratings(
    systems: Sequence[str], keys: Mapping[tuple[str, str], str], *, seed: int = 0
) -> str:
    """Simulate a test of original speech and some systems, as CSV text.

    Every evaluator rates, of every trial set and system, one trial with an enrollment of
    the same speaker and one with another.

    Parameters
    ----------
    systems : sequence of str
        Without `Original`.
    keys : mapping
        Trial keys, `<enrolled speaker> <utterance> target|nontarget` in every line, by
        data set and gender; each has both kinds.

    Examples
    --------
    >>> key = "s1 u1 target\\ns2 u1 nontarget\\n"
    >>> lines = simulate_ratings(["B1"], {("libri", "f"): key}).splitlines()
    >>> lines[1].startswith("listener01,Original,libri,f,u1,s1,yes,"), len(lines) - 1
    (True, 144)
    """
    trials: dict[tuple[str, str, bool], list[list[str]]] = {}
    for place, text in keys.items():
        fields = [line.split() for line in text.splitlines()]
        for same in (True, False):
            trials[(*place, same)] = [f[:2] for f in fields if (f[2] == "target") is same]
    every = list[Sequence[object]]([RATING_COLUMNS])
    for number in range(1, EVALUATORS + 1):
        name = f"listener{number:02d}"
        generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
        offset = generator.normal(0, 0.07)
        width = generator.uniform(0.6, 1.1)
        step = generator.choice([1, 1, 2, 3])
        rows = []
        each = itertools.product(enumerate([ORIGINAL_SYSTEM, *systems]), trials.items())
        for (index, system), ((data_set, gender, same), pairs) in each:
            enrollment, trial = pairs[generator.integers(len(pairs))]
            scores = []
            for metric in ("naturalness", "intelligibility", same):
                rating = _mean_rating(index, metric) + generator.normal(0, 0.17)
                if name == INVERTS:
                    rating = 1 - rating
                at = 0.5 + width * (rating - 0.5) + offset
                scores.append(_rating(at, int(step)))
            if name == ONE_VALUE:
                scores = [5, 5, 5]
            where = (data_set, gender, trial, enrollment, "yes" if same else "no")
            rows.append([name, system, *where, *scores])
        if name == STOPS_EARLY:
            rows = rows[:: max(1, len(rows) // _EARLY)][:_EARLY]
        every += rows
    return csv_text(every)


def _mean_rating(index: int, metric: str | bool) -> float:
    """Return the mean rating, within 0 to 1, of a system (0: original speech)."""
    if index == 0:
        return _ORIGINAL[metric]
    return _FIRST[metric] + _STEP[metric] * ((index - 1) % _STEPS)


def _rating(at: float, step: int) -> int:
    """Round a value within 0 to 1 to the evaluator's steps of the scale."""
    value = _LOW + (_HIGH - _LOW) * min(max(at, 0.0), 1.0)
    return min(_HIGH, _LOW + step * round((value - _LOW) / step))
