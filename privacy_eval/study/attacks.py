"""Section 5 of the comparative study: target selections, attackers and linkages, on simulated
x-vectors or those of a tree, with voice conversion in the space of x-vectors.

Artificial voice similarity matrices (Figure 1 of the voice similarity paper), with the back end,
calibration and metrics used for real speech.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..asv.backend import BackendName, PldaBackend, score_matrix, train_backend
from ..asv.inputs import TreeVectors, backend_folder
from ..asv.model_folder import load_backend
from ..asv.voice_similarity import voice_similarity
from ..attackers.alignment import AffineMap, Alignment, align
from ..attackers.discriminant import lda
from ..errors import PrivacyEvalError
from ..io.data_dir import read_utt2spk
from ..io.files import Inputs, digest
from ..io.schema import to_plain
from ..metrics import TrialScores, similarity_metrics
from ..metrics.pav import FloatArray
from ..protocol.protocol import ORIGINAL, Protocol, TrialSet
from ..simulate import Anonymization, VectorModel
from .protocol import (
    Attacker,
    AttacksExperiment,
    Linkage,
    MatricesExperiment,
    Selection,
    Technique,
    VectorSettings,
)
from .scores import Metrics, Row, counts_of, plain

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Utterances:
    """X-vectors with their speakers.

    Attributes
    ----------
    vectors : float array, shape (U, D)
    speaker : int array, shape (U,)
        0..S-1.
    """

    vectors: FloatArray
    speaker: IntArray


@dataclass(frozen=True)
class Speech:
    """Original speech under attack.

    Attributes
    ----------
    name : str
        ASCII.
    enrollment, trial : Utterances
        Speakers have the same indices in both, and all have trials.
    targets : float array, shape (K, D)
        Target voices of the conversion: means of x-vectors.
    targets_are_speakers : bool
        Whether target k is the voice of speaker k; speakers are not converted to themselves.
    backend : PldaBackend or None
    training : Utterances or None
        Of other speakers, from whom an attacker can learn the conversion.
    sha256 : str
        Digest of all of these.
    """

    name: str
    enrollment: Utterances
    trial: Utterances
    targets: FloatArray
    targets_are_speakers: bool
    backend: PldaBackend | None
    training: Utterances | None
    sha256: str

    @property
    def speakers(self) -> int:
        """Number of speakers, S."""
        return 1 + int(max(self.enrollment.speaker.max(), self.trial.speaker.max()))


def voice_model(vectors: VectorSettings) -> VectorModel:
    """Return the model that x-vectors are drawn from."""
    return VectorModel(vectors.dimension, vectors.between, vectors.decay, vectors.within)


def simulated_backend(vectors: VectorSettings, generator: np.random.Generator) -> PldaBackend:
    """Train a back end on simulated speakers."""
    model = voice_model(vectors)
    speaker = np.repeat(np.arange(vectors.training), vectors.training_utterances)
    voices = model.voices(vectors.training, generator)[speaker]
    training = model.utterances(voices, generator).astype(np.float32)
    return train_backend(training, [f"{s:05d}" for s in speaker], lda_dim=vectors.lda_dim)


def simulated_speech(experiment: AttacksExperiment, vectors: VectorSettings, seed: int) -> Speech:
    """Simulate speech with the experiment's numbers of speakers and utterances."""
    generator = np.random.default_rng(seed)
    model = voice_model(vectors)
    voices = model.voices(experiment.speakers, generator)

    def utterances(voices: FloatArray, count: int) -> Utterances:
        speaker = np.repeat(np.arange(experiment.speakers, dtype=np.int64), count)
        return Utterances(model.utterances(voices[speaker], generator), speaker)

    enrollment, trial = (utterances(voices, n) for n in (experiment.enrollment, experiment.trial))
    targets = model.voices(experiment.pool, generator)
    backend = simulated_backend(vectors, generator)
    others = model.voices(experiment.speakers, generator)
    training = utterances(others, experiment.trial)
    sha256 = digest(repr([to_plain(experiment), to_plain(vectors), seed]).encode())
    return Speech("simulated", enrollment, trial, targets, False, backend, training, sha256)


def read_tree_speech(tree: Path, protocol: Protocol) -> list[Speech]:
    """Read the original speech of all trial sets of a tree that have x-vectors.

    Speakers are converted to the voices of the set's other speakers. Target trials are pairs of
    one speaker in the data folders' utt2spk; the tree's trial keys are not used.

    Raises
    ------
    PrivacyEvalError
        No x-vectors, a damaged file, or an utterance without speaker.
    """
    model = protocol.asv_model(ORIGINAL)
    if model is None:
        raise PrivacyEvalError(f"protocol {protocol.name}: no ASV model trained on original speech")
    folder = tree / model.model_folder("")
    stored = backend_folder(tree, model, "")
    backend = None if stored is None else load_backend(stored).model
    vectors = TreeVectors(tree, protocol, folder)
    trial_sets = (_read_trial_set(tree, vectors, t, backend) for t in protocol.trial_sets())
    sets = [trial_set for trial_set in trial_sets if trial_set is not None]
    if not sets:
        raise PrivacyEvalError(
            f"{folder}: no x-vectors of an enrollment and a trial set of the protocol "
            f"{protocol.name}, expected xvect_<set>/xvector.scp (or .npz, .npy, .h5)"
        )
    return [_with_training(speech, speakers, sets) for speech, speakers in sets]


def _with_training(
    speech: Speech, speakers: set[str], sets: Sequence[tuple[Speech, set[str]]]
) -> Speech:
    """Add the trial speech of those sets that share no speaker with this one."""
    others = [other for other, names in sets if not names & speakers]
    if not others:
        return speech
    first = np.cumsum([0, *(other.speakers for other in others)])
    training = Utterances(
        np.concatenate([other.trial.vectors for other in others]),
        np.concatenate([other.trial.speaker + n for other, n in zip(others, first, strict=False)]),
    )
    sha256 = digest("".join([speech.sha256, *(other.sha256 for other in others)]).encode())
    return replace(speech, training=training, sha256=sha256)


def _read_trial_set(
    tree: Path, vectors: TreeVectors, trial_set: TrialSet, backend: PldaBackend | None
) -> tuple[Speech, set[str]] | None:
    """Read a trial set and its speakers; None if either side has no x-vectors."""
    name = trial_set.trials_name
    sides: list[tuple[FloatArray, list[str]]] = []
    digests: list[str] = []
    inputs = Inputs()
    for side in (trial_set.enrollment_name, name):
        scp, utt2spk = vectors.find(side, ""), tree / "data" / side / "utt2spk"
        if scp is None or not utt2spk.is_file():
            return None
        read, speaker_of = vectors.read(scp), read_utt2spk(inputs.load(utt2spk))
        missing = [u for u in speaker_of if u not in read]
        if missing:
            raise PrivacyEvalError(
                f"{scp}: missing x-vector of {missing[0]}, which is in {utt2spk}"
            )
        rows = read.rows(list(speaker_of), str(utt2spk))
        sides.append((read.matrix[rows].astype(np.float64), list(speaker_of.values())))
        digests += [read.digest, inputs.sha256(utt2spk)]
    (enrolled, enrolled_names), (trial_vectors, trial_names) = sides
    number = {speaker: i for i, speaker in enumerate(sorted(set(trial_names)))}
    # The enrollment set may contain speakers of both genders: select those with trials.
    chosen = [i for i, speaker in enumerate(enrolled_names) if speaker in number]
    if not chosen:
        raise PrivacyEvalError(f"{name}: no speaker of the trials is in the enrollment set")
    if len(number) < 2:
        raise PrivacyEvalError(f"{name}: conversion needs at least two speakers")
    enrollment = Utterances(
        enrolled[chosen], np.array([number[enrolled_names[i]] for i in chosen], np.int64)
    )
    trial = Utterances(trial_vectors, np.array([number[s] for s in trial_names], np.int64))
    sha256 = digest("".join(digests).encode())
    targets = means(trial, len(number))
    speech = Speech(name, enrollment, trial, targets, True, backend, None, sha256)
    return speech, set(number)


def means(speech: Utterances, speakers: int) -> FloatArray:
    """Compute each speaker's mean x-vector, shape (S, D); 0 for a speaker without utterances."""
    counts = np.bincount(speech.speaker, minlength=speakers)
    sums = np.zeros((speakers, speech.vectors.shape[1]))
    np.add.at(sums, speech.speaker, speech.vectors)
    return np.asarray(sums / np.maximum(counts, 1)[:, None])


def select_targets(
    selection: Selection, speech: Speech, speaker: IntArray, generator: np.random.Generator
) -> IntArray:
    """Draw the target of every utterance, shape (U,): one for all (const), a different one for
    every speaker (perm), or one for every utterance (rand)."""
    pool = len(speech.targets)
    if selection == "const":
        return np.full(speaker.size, generator.integers(pool))
    if selection == "perm":
        order = generator.permutation(pool)
        if not speech.targets_are_speakers:
            return order[speaker % pool]
        target_of = np.empty_like(order)
        target_of[order] = np.roll(order, 1)  # one cycle: no speaker is converted to itself
        return target_of[speaker]
    if not speech.targets_are_speakers:
        return generator.integers(pool, size=speaker.size)
    others = generator.integers(pool - 1, size=speaker.size)
    return others + (others >= speaker)  # any other speaker


def residual(speech: Utterances, technique: Technique, speakers: int) -> FloatArray:
    """Compute what conversion leaves of the original utterance, shape (U, D): fractions of its
    difference from the speaker's mean and of that mean's difference from the overall mean.
    Converted speech is the target voice plus this residual."""
    mean_of = means(speech, speakers)
    present = np.bincount(speech.speaker, minlength=speakers) > 0
    mean_of_all = mean_of[present].mean(axis=0)
    within = speech.vectors - mean_of[speech.speaker]
    between = mean_of[speech.speaker] - mean_of_all
    rest = technique.residual * within + technique.leak * between
    return np.asarray(rest @ rotation(rest.shape[1]) if technique.rotated else rest)


@functools.cache
def rotation(dimension: int) -> FloatArray:
    """Draw the rotation of techniques that rotate, shape (D, D)."""
    import scipy.stats  # slow

    return np.asarray(scipy.stats.ortho_group.rvs(dimension, random_state=0))


def attacked_scores(
    speech: Speech,
    technique: Technique,
    selection: Selection,
    attacker: Attacker,
    linkages: Sequence[Linkage],
    generator: np.random.Generator,
) -> dict[Linkage, TrialScores]:
    """Score every enrollment utterance against every trial utterance.

    Parameters
    ----------
    attacker : str
        Conversion of enrollment speech: none (`ignorant`); like the trials with other targets
        (`semi-informed`); to the target of the trial (`informed`), so that under `rand` the
        enrollment differs from trial to trial. `aligned`: none, and trials are mapped to original
        speech by ridge regression.
    linkages : sequence of str
        Back ends; `lda-joint`: cosine after a discriminant, see `learn_discriminant`.
    """
    speakers, enrolled = speech.speakers, speech.enrollment
    targets = select_targets(selection, speech, speech.trial.speaker, generator)
    trial_vectors = speech.targets[targets] + residual(speech.trial, technique, speakers)
    enrollment_residual = residual(enrolled, technique, speakers)
    all_trials = np.arange(len(trial_vectors))
    training_pairs = functools.partial(_training_pairs, speech, technique, selection, targets)
    alignment = Alignment()
    # Enrollment vectors, and the trials to score against them.
    blocks = [(enrolled.vectors, all_trials)]
    if attacker == "aligned":
        training, converted = training_pairs(generator)
        alignment = align("ridge-reverse", training.vectors, converted)
    elif attacker == "semi-informed":
        drawn = _other_targets(selection, speech, enrolled.speaker, targets, generator)
        blocks = [(speech.targets[drawn] + enrollment_residual, all_trials)]
    elif attacker == "informed" and selection == "perm":
        target_of = np.empty(speakers, np.int64)  # all enrolled speakers have trials
        target_of[speech.trial.speaker] = targets
        blocks = [(speech.targets[target_of[enrolled.speaker]] + enrollment_residual, all_trials)]
    elif attacker == "informed":
        blocks = [
            (speech.targets[target] + enrollment_residual, np.flatnonzero(targets == target))
            for target in np.unique(targets)
        ]
    is_target = enrolled.speaker[:, None] == speech.trial.speaker[None, :]
    by_linkage: dict[Linkage, TrialScores] = {}
    for linkage in linkages:
        scores = np.empty(is_target.shape)
        backend: BackendName = "cosine" if linkage == "lda-joint" else linkage
        # PLDA subtracts the mean of its own training speech.
        compared = AffineMap(-alignment.original.offset if linkage == "plda" else np.zeros(1))
        if linkage == "lda-joint":
            compared = learn_discriminant(*training_pairs(beside(generator)), alignment)
        for vectors, trials in blocks:
            sides = alignment.original(vectors), alignment.anonymized(trial_vectors[trials])
            first, second = (compared(side).astype(np.float32) for side in sides)
            scores[:, trials] = score_matrix(
                first, 1, second, backend=backend, model=speech.backend
            )
        by_linkage[linkage] = TrialScores(scores[is_target], scores[~is_target])
    return by_linkage


def beside(generator: np.random.Generator) -> np.random.Generator:
    """Return a generator of other numbers, which leaves those that this one draws as they are."""
    bits: Any = generator.bit_generator
    return np.random.Generator(bits.jumped())


def learn_discriminant(
    training: Utterances, converted: FloatArray, alignment: Alignment
) -> AffineMap:
    """Learn what tells the training speakers apart in both their original and their converted
    speech, each as the attacker aligns it."""
    both = alignment.original(training.vectors), alignment.anonymized(converted)
    return lda(np.concatenate(both), np.tile(training.speaker, 2).astype(np.str_))


def _training_pairs(
    speech: Speech,
    technique: Technique,
    selection: Selection,
    targets: IntArray,
    generator: np.random.Generator,
) -> tuple[Utterances, FloatArray]:
    """Return the training speech and the same, converted: as an attacker has it who knows the
    conversion, but not the targets of the trials."""
    if speech.training is None:
        raise PrivacyEvalError(f"{speech.name}: no speech of other speakers to learn from")
    speaker, speakers = speech.training.speaker, 1 + int(speech.training.speaker.max())
    pool = replace(speech, targets_are_speakers=False)
    drawn = _other_targets(selection, pool, speaker, targets, generator)
    converted = speech.targets[drawn] + residual(speech.training, technique, speakers)
    return speech.training, converted


def _other_targets(
    selection: Selection,
    speech: Speech,
    speaker: IntArray,
    targets: IntArray,
    generator: np.random.Generator,
) -> IntArray:
    """Draw targets as an attacker does who knows how they are selected, but not the outcome."""
    drawn = select_targets(selection, speech, speaker, generator)
    if selection == "const" and drawn[0] == targets[0]:
        drawn = (drawn + 1) % len(speech.targets)
    return drawn


def attack_rows(
    experiment: AttacksExperiment,
    speech: Speech,
    technique: Technique,
    selection: Selection,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    """A row per attacker and linkage, of a technique and target selection."""
    rows: list[Row] = []
    needed = {"plda": speech.backend, "aligned": speech.training, "lda-joint": speech.training}
    linkages = [name for name in experiment.linkages if needed.get(name, True)]
    attackers = [name for name in experiment.attackers if needed.get(name, True)]
    for attacker in attackers:
        by_linkage = attacked_scores(speech, technique, selection, attacker, linkages, generator)
        for linkage, scores in by_linkage.items():
            rows.append(
                {
                    "speech": speech.name,
                    "technique": technique.title,
                    "selection": selection,
                    "attacker": attacker,
                    "linkage": linkage,
                    **counts_of(scores),
                    "numbers": {
                        "difference_of_means": difference_of_means(scores),
                        "separation": separation(scores),
                    },
                    "metrics": metrics(scores),
                }
            )
    return rows


def separation(scores: TrialScores) -> float:
    """Compute the difference of the means of target and nontarget scores in pooled standard
    deviations (root of the mean variance); 0 if all scores are equal."""
    deviation = math.sqrt((float(scores.target.var()) + float(scores.nontarget.var())) / 2)
    return difference_of_means(scores) / deviation if deviation else 0.0


def difference_of_means(scores: TrialScores) -> float:
    """Compute the mean target score less the mean nontarget score."""
    return float(scores.target.mean() - scores.nontarget.mean())


def matrix_rows(
    experiment: MatricesExperiment,
    vectors: VectorSettings,
    generator: np.random.Generator,
    _: Metrics,
) -> list[Row]:
    """A row per case; all cases share the original speech."""
    model, backend = voice_model(vectors), simulated_backend(vectors, generator)
    speaker = np.repeat(np.arange(experiment.speakers), experiment.utterances)
    names = np.char.zfill(speaker.astype(np.str_), 9)  # in the order of the numbers
    voices = model.voices(experiment.speakers, generator)[speaker]
    original = model.utterances(voices, generator)
    rows: list[Row] = []
    for case in experiment.cases:
        kind = Anonymization(case.keep, pseudo=case.pseudo, noise=case.noise * vectors.within)
        pseudo = kind.pseudo_voices(experiment.speakers, model, generator)[speaker]
        anonymized = kind.anonymize(model.utterances(voices, generator), pseudo, generator)
        measured = voice_similarity(original, anonymized, names, backend="plda", model=backend)
        arrays = measured.arrays()
        del arrays["speakers"]
        values = {v: similarity_metrics(one) for v, one in measured.by_variant.items()}
        matrices = {name: plain(matrix) for name, matrix in arrays.items()}
        rows.append({"case": case.title, "metrics": values, "matrices": matrices})
    return rows
