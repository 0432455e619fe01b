"""Write demo trees: simulated x-vectors in a tree with the challenge's layout, or scores where the
edition computes its own.

A tree may exceed memory: its data folders are simulated and written one by one, and simulated
again where another one is derived from them.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..asv.backend import PldaBackend, train_backend
from ..asv.model_folder import save_backend
from ..choices import grouped
from ..errors import PrivacyEvalError
from ..io.files import write_text
from ..io.vectors import Plda, write_vectors
from ..io.wer import WerLine, format_wer_line
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, AsvModel, Protocol, TrialSet
from .marked_folder import marked_folder
from .ratings import simulate_ratings
from .score_tree import ScoreTree, write_data
from .sizes import TrialSize, true_size
from .vectors import Anonymization, Matrix, VectorModel

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


@dataclass(frozen=True)
class _Demo:
    """Parameters of a demo tree; see `write_demo_tree`."""

    protocol: Protocol
    seed: int
    size: TrialSize | None

    def size_of(self, trial_set: TrialSet) -> TrialSize:
        """Return the size of a trial set; by default the challenge's."""
        place = trial_set.data_set.id, trial_set.split, trial_set.gender
        return self.size or true_size(self.protocol.name, *place)

    @cached_property
    def most(self) -> int:
        """The most speakers of any trial set, enrolled or not."""
        sizes = map(self.size_of, self.protocol.trial_sets())
        return max(max(size.enrolled, size.speakers) for size in sizes)

    def generator(self, *names: str) -> np.random.Generator:
        """Return an independent random stream for each name."""
        key: Sequence[int] = [self.seed, *(zlib.crc32(name.encode()) for name in names)]
        return np.random.default_rng(key)


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
    demo = _Demo(protocol, seed, of_sets)
    drawn = _systems(systems, demo)
    models = [] if protocol.has_own_scoring else _models(protocol, drawn)
    with marked_folder(folder, "demo_tree", marker) as temporary:
        if temporary is None:
            return False
        if protocol.has_own_scoring:
            names = [system.name for system in drawn]
            ScoreTree(temporary, protocol, names, of_sets, demo.generator, seed).write(progress)
            return True
        _write_speech(temporary, demo, drawn, models, progress)
        for system in drawn:
            _write_recognition(temporary / "exp" / system.name, system, demo)
        write_text(temporary / "ratings.csv", _ratings(drawn, demo))
    return True


def _systems(count: int, demo: _Demo) -> list[_System]:
    """Return B1, B2, and systems drawn around them, of weak to strong leakage."""
    systems = list(_BASELINES[:count])
    for number in range(len(_BASELINES) + 1, count + 1):
        draw = demo.generator("system", str(number)).uniform
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
    """A data folder: speaker of each utterance (sorted), x-vectors of shape (N, D), and an
    optional list: enrollment utterances, or trials of each enrolled speaker with each utterance,
    or with those chosen."""

    speaker_of: Mapping[str, str]
    vectors: Matrix
    gender_of: Mapping[str, str]
    list: Literal["enrolls", "trials"] | None = None
    enrolled: Sequence[str] = ()
    chosen: NDArray[np.bool_] | None = None


Draw = Callable[[], _SimulatedFolder]


def _trial_lines(enrolled: Iterable[str], speaker_of: Mapping[str, str]) -> Iterable[str]:
    return (
        f"{e} {utterance} {'target' if e == speaker else 'nontarget'}"
        for e in enrolled
        for utterance, speaker in speaker_of.items()
    )


def _ratings(systems: Sequence[_System], demo: _Demo) -> str:
    """Simulate a listening test of all systems on some trials of the last split."""
    keys = {}
    for t in demo.protocol.trial_sets():
        if t.split == demo.protocol.splits[-1]:
            speech = _trial_speech(t, demo)
            utterances_of = grouped(speech.speaker_of, speech.speaker_of.__getitem__)
            rated = itertools.islice(utterances_of.items(), _RATED)
            speaker_of = {u: s for s, utterances in rated for u in utterances[:_RATED]}
            enrolled = speech.enrolled[:_RATED]
            keys[t.data_set.id, t.gender] = "\n".join(_trial_lines(enrolled, speaker_of))
    return simulate_ratings([system.name for system in systems], keys, seed=demo.seed)


def _speakers(trial_set: TrialSet, demo: _Demo) -> list[str]:
    """Name the speakers: zero-padded numbers, in one block per enrollment set and
    gender."""
    size, genders = 50, list(demo.protocol.genders)
    while size < demo.most:
        size *= 10
    block = 1 + zlib.crc32(trial_set.enrollment_name.encode()) % 80
    first = size * (len(genders) * block + genders.index(trial_set.gender))
    width = len(str(81 * len(genders) * size))
    return [f"{first + i:0{width}d}" for i in range(demo.most)]


def _voices(trial_set: TrialSet, demo: _Demo) -> Matrix:
    """Draw voices, the same for trial sets with the same enrolled speakers."""
    generator = demo.generator("voices", trial_set.enrollment_name, trial_set.gender)
    return _VECTORS.voices(demo.most, generator)


def _trial_speech(trial_set: TrialSet, demo: _Demo) -> _SimulatedFolder:
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
    chosen = None  # all pairs of enrolled speakers and utterances are trials
    if size.nontargets is not None:
        pairs = itertools.product(enrolled, speaker_of.values())
        chosen = np.array([speaker == owner for speaker, owner in pairs])
        generator = demo.generator("trials", trial_set.trials_name)
        chosen[generator.choice(np.flatnonzero(~chosen), size.nontargets, replace=False)] = True
    return _SimulatedFolder(
        speaker_of,
        _VECTORS.utterances(voices, demo.generator(trial_set.trials_name)),
        dict.fromkeys(speakers, trial_set.gender),
        "trials",
        enrolled,
        chosen,
    )


def _enrollment_speech(name: str, demo: _Demo) -> _SimulatedFolder:
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
    vectors = _VECTORS.utterances(voices, demo.generator(name))
    return _SimulatedFolder(speaker_of, vectors, gender_of, "enrolls")


def _training_speech(demo: _Demo) -> _SimulatedFolder:
    generator = demo.generator("training")
    voices = _VECTORS.voices(_TRAINING_SPEAKERS, generator)
    speakers = [f"{s:03d}" for s in range(_TRAINING_SPEAKERS)]
    pairs = itertools.product(speakers, range(_TRAINING_UTTERANCES))
    return _SimulatedFolder(
        {f"{s}-{u}": s for s, u in pairs},
        _VECTORS.utterances(np.repeat(voices, _TRAINING_UTTERANCES, axis=0), generator),
        dict(zip(speakers, itertools.cycle(demo.protocol.genders), strict=False)),
    )


def _combined_speech(trial_sets: Sequence[TrialSet], demo: _Demo) -> _SimulatedFolder:
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
    original: Callable[[], _SimulatedFolder], system: _System, name: str, demo: _Demo
) -> _SimulatedFolder:
    """Anonymize a data folder, in which each speaker has one pseudo-voice."""
    speech = original()
    generator = demo.generator(system.name, name)
    names, owner = np.unique(list(speech.speaker_of.values()), return_inverse=True)
    pseudo = system.kind.pseudo_voices(names.size, _VECTORS, generator)
    return replace(speech, vectors=system.kind.anonymize(speech.vectors, pseudo[owner], generator))


def _write_speech(
    tree: Path,
    demo: _Demo,
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
    where = [models[0].model_folder(s.suffix) for s in systems]
    data.append((name, training, dict.fromkeys(where)))
    for system, folder in zip(systems, where, strict=True):
        anonymized = partial(_anonymized, training, system, "training", demo)
        data.append((name + system.suffix, anonymized, [folder]))
    for done, (name, draw, folders) in enumerate(data, start=1):
        speech = draw()
        _write_data(tree / "data" / name, speech, demo.seed)
        for folder in folders:
            scp = tree / folder / f"xvect_{name}" / "xvector.scp"
            write_vectors(scp, list(speech.speaker_of), speech.vectors, tree=tree)
        if progress is not None:
            progress(done, len(data), name)
    trained = [model for model in models if model.backend == "plda"]
    for system, model in itertools.product(systems, trained):
        training_set = f"xvect_{model.training_name(system.suffix)}"
        path = tree / model.model_folder(system.suffix) / training_set
        if model.trained_on == ANONYMIZED:
            _write_back_end(path, _anonymized(training, system, "training", demo))
        elif not (path / "plda").exists():  # systems share the model of original speech
            _write_back_end(path, training())


def _write_data(folder: Path, speech: _SimulatedFolder, seed: int) -> None:
    lists: dict[str, Iterable[str]] = {}
    if speech.list == "enrolls":
        lists["enrolls"] = speech.speaker_of
    elif speech.list == "trials":
        trials = _trial_lines(speech.enrolled, speech.speaker_of)
        chosen = speech.chosen
        lists["trials"] = trials if chosen is None else itertools.compress(trials, chosen)
    write_data(folder, seed, speech.speaker_of, speech.gender_of, lists)


def _write_back_end(folder: Path, speech: _SimulatedFolder) -> None:
    vectors, speakers = speech.vectors.astype(np.float32), list(speech.speaker_of.values())
    save_backend(folder, _reproducible(train_backend(vectors, speakers, lda_dim=_LDA_DIM)))


def _reproducible(model: PldaBackend) -> PldaBackend:
    """Round a model and fix the signs of its eigenvectors, which do not affect scores, so that
    its bytes are the same on any machine."""
    assert model.mean is not None and model.transform is not None
    of_lda = _signs(model.transform[:, : model.mean.size])
    plda = model.plda
    of_plda = _signs(plda.transform * of_lda)
    # + 0.0: no negative zeros.
    return PldaBackend(
        Plda(
            (plda.mean * of_lda).round(6) + 0.0,
            (of_plda[:, None] * plda.transform * of_lda).round(6) + 0.0,
            plda.psi.round(6),
        ),
        model.mean.round(5) + np.float32(0),
        (of_lda[:, None].astype(np.float32) * model.transform).round(5) + np.float32(0),
    )


def _signs(rows: NDArray[np.floating]) -> Matrix:
    """Return the sign of the largest element of every row, 1 or -1."""
    largest = np.abs(rows).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), largest] < 0, -1.0, 1.0)


def _write_recognition(folder: Path, system: _System, demo: _Demo) -> None:
    """Write word error rates, by recognizers trained like the results folders' models."""
    recognition = demo.protocol.recognition
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
        generator = demo.generator(owner, name)
        text = ""
        for language_model, marker in recognition.language_models.items():
            rate = factor * _LM_WER.get(language_model, 0.05)
            decode = f"exp/models/{recognizer}/decode_{name}_{marker}"
            text += format_wer_line(_wer_line(rate, decode, generator)) + "\n"
        results = folder / f"results-demo{system.suffix}{part.suffix}"
        write_text(results / f"ASR-{name}" / "WER", text)


def _wer_line(rate: float, decode: str, generator: np.random.Generator) -> WerLine:
    words = 20000
    counts: list[Any] = generator.poisson(rate * words * np.array([0.1, 0.15, 0.75])).tolist()
    return WerLine(
        round(sum(counts) / words, 4),
        sum(counts),
        words,
        **dict(zip(("insertions", "deletions", "substitutions"), counts, strict=True)),
        decode=decode,
        lm_weight=12,
        word_insertion_penalty=0.0,
    )
