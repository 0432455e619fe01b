"""Section 5 of the comparative study: target selections, attackers and linkages, with voices
converted in the space of x-vectors, simulated or a tree's own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..asv.backend import BackendName, PldaBackend, score_matrix, train_backend
from ..asv.model_folder import TreeVectors, backend_folder, load_backend
from ..errors import PrivacyEvalError
from ..io.data_dir import read_utt2spk
from ..io.files import digest
from ..io.schema import to_plain
from ..metrics import TrialScores
from ..protocol.protocol import ORIGINAL, Protocol
from ..simulate import VectorModel
from .plan import Attacker, AttacksPlan, Selection, Technique, VectorPlan
from .tasks import Metrics, Row, Task

FloatArray = NDArray[np.float64]
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
    """What is attacked.

    Attributes
    ----------
    name : str
        ASCII.
    enrollment, trial : Utterances
        Of original speech; speakers have the same numbers in both, and everybody has trials.
    targets : float array, shape (K, D)
        Voices that speakers may be converted to: means of x-vectors.
    own : bool
        Whether target k is speaker k, who is not converted to itself.
    model : Model or None
        Back end of PLDA.
    sha256 : str
        Digest of all this.
    """

    name: str
    enrollment: Utterances
    trial: Utterances
    targets: FloatArray
    own: bool
    model: PldaBackend | None
    sha256: str

    @property
    def speakers(self) -> int:
        """S."""
        return 1 + int(max(self.enrollment.speaker.max(), self.trial.speaker.max()))


def voice_model(plan: VectorPlan) -> VectorModel:
    """The model that x-vectors are drawn from."""
    return VectorModel(plan.dimension, plan.between, plan.decay, plan.within)


def trained(plan: VectorPlan, generator: np.random.Generator) -> PldaBackend:
    """A back end trained on new speakers of the plan."""
    voices = voice_model(plan).voices(plan.training, generator)
    repeated = np.repeat(voices, plan.training_utterances, axis=0)
    names = [f"{s:05d}" for s in range(plan.training) for _ in range(plan.training_utterances)]
    vectors = voice_model(plan).utterances(repeated, generator).astype(np.float32)
    return train_backend(vectors, names, lda_dim=plan.lda_dim)


def simulated_speech(plan: AttacksPlan, vectors: VectorPlan, seed: int) -> Speech:
    """Speech as the plan describes it."""
    generator = np.random.default_rng(seed)
    model = voice_model(vectors)
    voices = model.voices(plan.speakers, generator)

    def utterances(count: int) -> Utterances:
        speaker = np.repeat(np.arange(plan.speakers, dtype=np.int64), count)
        return Utterances(model.utterances(voices[speaker], generator), speaker)

    enrollment, trial = utterances(plan.enrollment), utterances(plan.trial)
    targets = model.voices(plan.pool, generator)
    inputs = [to_plain(plan), to_plain(vectors), seed]
    return Speech(
        "simulated",
        enrollment,
        trial,
        targets,
        False,
        trained(vectors, generator),
        digest(repr(inputs).encode()),
    )


def speech_of_tree(tree: Path, protocol: Protocol) -> list[Speech]:
    """The original speech of every trial set of a tree whose x-vectors are there.

    Voices that speakers are converted to are those of the set's other speakers. Mated pairs are
    those of one speaker in the data folders' utt2spk; the tree's trial lists are not asked.

    Raises
    ------
    PrivacyEvalError
        No x-vectors at all, a damaged file, an utterance without speaker.
    """
    model = protocol.asv_model(ORIGINAL)
    if model is None:
        raise PrivacyEvalError(f"plan {protocol.name}: names no model trained on original speech")
    folder = tree / model.model_folder("")
    vectors = TreeVectors(tree, protocol, folder)
    backend = backend_folder(tree, model, "")
    back_end_model = None if backend is None else load_backend(backend).model
    found = []
    for trial_set in protocol.trial_sets():
        parts, sha256 = [], []
        for name in (trial_set.enrollment_name, trial_set.trials_name):
            scp, utt2spk = vectors.find(name, ""), tree / "data" / name / "utt2spk"
            if scp is None or not utt2spk.is_file():
                break
            read, speaker_of = vectors.read(scp), read_utt2spk(utt2spk)
            unknown = [u for u in speaker_of if u not in read]
            if unknown:
                raise PrivacyEvalError(f"{scp}: no x-vector of {unknown[0]}, which {utt2spk} names")
            rows = read.rows(list(speaker_of), str(utt2spk))
            parts.append((read.matrix[rows].astype(np.float64), list(speaker_of.values())))
            sha256 += [read.digest, digest(utt2spk.read_bytes())]
        if len(parts) == 2:
            found.append(_of_parts(trial_set.trials_name, parts, back_end_model, sha256))
    if not found:
        raise PrivacyEvalError(
            f"{folder}: no x-vectors of an enrollment and a trial set of the plan {protocol.name}, "
            "expected xvect_<set>/xvector.scp"
        )
    return found


def _of_parts(
    name: str,
    parts: Sequence[tuple[FloatArray, list[str]]],
    model: PldaBackend | None,
    sha256: Sequence[str],
) -> Speech:
    (enrolled, enrolled_names), (tried, tried_names) = parts
    # The enrollment set may hold speakers of both genders: those who try are what counts.
    speakers = sorted(set(tried_names))
    number = {speaker: i for i, speaker in enumerate(speakers)}
    kept = [i for i, speaker in enumerate(enrolled_names) if speaker in number]
    if not kept:
        raise PrivacyEvalError(f"{name}: none of its speakers is in its enrollment set")
    enrollment = Utterances(
        enrolled[kept], np.array([number[enrolled_names[i]] for i in kept], np.int64)
    )
    trial = Utterances(tried, np.array([number[s] for s in tried_names], np.int64))
    if len(speakers) < 2:
        raise PrivacyEvalError(f"{name}: one speaker only, nobody to be converted to")
    return Speech(
        name,
        enrollment,
        trial,
        means(trial, len(speakers)),
        True,
        model,
        digest("".join(sha256).encode()),
    )


def means(speech: Utterances, speakers: int) -> FloatArray:
    """Mean x-vector of every speaker, shape (S, D); zero of one without utterances."""
    counts = np.bincount(speech.speaker, minlength=speakers)
    sums = np.zeros((speakers, speech.vectors.shape[1]))
    np.add.at(sums, speech.speaker, speech.vectors)
    return np.asarray(sums / np.maximum(counts, 1)[:, None])


def select_targets(
    selection: Selection, speech: Speech, speaker: IntArray, generator: np.random.Generator
) -> IntArray:
    """The target of every utterance, shape (U,): const one for all, perm one for every speaker
    and no two the same, rand one for every utterance."""
    pool = len(speech.targets)
    if selection == "const":
        return np.full(speaker.size, generator.integers(pool))
    if selection == "perm":
        return _permutation(speech, generator)[speaker]
    if not speech.own:
        return generator.integers(pool, size=speaker.size)
    others = generator.integers(pool - 1, size=speaker.size)
    return others + (others >= speaker)  # anybody but the speaker


def _permutation(speech: Speech, generator: np.random.Generator) -> IntArray:
    order = generator.permutation(len(speech.targets))
    if not speech.own:
        return order[: speech.speakers]
    to = np.empty_like(order)
    to[order] = np.roll(order, 1)  # one cycle: nobody keeps the own voice
    return to


def convert(
    speech: Utterances, technique: Technique, targets: FloatArray, speakers: int
) -> FloatArray:
    """X-vectors of converted speech, shape (U, D).

    Parameters
    ----------
    targets : float array, shape (U, D)
        The voice that each utterance is converted to.
    """
    return targets + kept_of(speech, technique, speakers)


def kept_of(speech: Utterances, technique: Technique, speakers: int) -> FloatArray:
    """What of an utterance its conversion keeps, shape (U, D): a share of what tells it from the
    speaker's other utterances, and of what tells the speaker from others."""
    own = means(speech, speakers)
    present = np.bincount(speech.speaker, minlength=speakers) > 0
    middle = own[present].mean(axis=0)
    residual = speech.vectors - own[speech.speaker]
    leaked = own[speech.speaker] - middle
    return np.asarray(technique.residual * residual + technique.leak * leaked)


def attacked_scores(
    speech: Speech,
    technique: Technique,
    selection: Selection,
    attacker: Attacker,
    linkages: Sequence[BackendName],
    generator: np.random.Generator,
) -> dict[BackendName, TrialScores]:
    """Scores of every enrollment with every trial utterance.

    Parameters
    ----------
    attacker : str
        How enrollment is processed: `ignorant` not at all; `semi-informed` as the trials, but
        with targets of its own drawing; `informed` with the very targets of the trial: under
        `rand` of every trial's, so that enrollment differs from trial to trial.
    """
    speakers = speech.speakers
    targets = select_targets(selection, speech, speech.trial.speaker, generator)
    tried = convert(speech.trial, technique, speech.targets[targets], speakers)
    enrolled = speech.enrollment
    kept = kept_of(enrolled, technique, speakers)
    blocks: list[tuple[FloatArray, IntArray]]  # enrollment, and the trials that meet it
    everything = np.arange(len(tried))
    if attacker == "ignorant":
        blocks = [(enrolled.vectors, everything)]
    elif attacker == "semi-informed":
        drawn = _other_targets(selection, speech, targets, generator)
        blocks = [(speech.targets[drawn] + kept, everything)]
    elif selection == "perm":
        mapping = np.empty(speakers, np.int64)  # whoever is enrolled has trials
        mapping[speech.trial.speaker] = targets
        blocks = [(speech.targets[mapping[enrolled.speaker]] + kept, everything)]
    else:
        blocks = [
            (speech.targets[target] + kept, np.flatnonzero(targets == target))
            for target in np.unique(targets)
        ]
    is_target = enrolled.speaker[:, None] == speech.trial.speaker[None, :]
    found: dict[BackendName, TrialScores] = {}
    for linkage in linkages:
        scores = np.empty(is_target.shape)
        for vectors, trials in blocks:
            scores[:, trials] = score_matrix(
                vectors.astype(np.float32),
                1,
                tried[trials].astype(np.float32),
                backend=linkage,
                model=speech.model,
            )
        found[linkage] = TrialScores(scores[is_target], scores[~is_target])
    return found


def _other_targets(
    selection: Selection, speech: Speech, targets: IntArray, generator: np.random.Generator
) -> IntArray:
    """Targets that somebody draws who knows how, but not which were drawn."""
    drawn = select_targets(selection, speech, speech.enrollment.speaker, generator)
    if selection == "const" and drawn[0] == targets[0]:
        drawn = (drawn + 1) % len(speech.targets)
    return drawn


def attack_tasks(plan: AttacksPlan, speeches: Sequence[Speech]) -> Iterator[Task]:
    """A task per speech, technique and target selection; a row per attacker and linkage."""
    for speech in speeches:
        for number, technique in enumerate(plan.techniques):
            for selection in plan.selections:
                inputs = [speech.sha256, to_plain(technique), plan.attackers, plan.linkages]
                yield Task(
                    "attacks",
                    f"{speech.name}_{number}_{selection}",
                    to_plain(inputs),
                    functools.partial(_attack, plan, speech, technique, selection),
                )


def _attack(
    plan: AttacksPlan,
    speech: Speech,
    technique: Technique,
    selection: Selection,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    rows: list[Row] = []
    for attacker in plan.attackers:
        linkages = [name for name in plan.linkages if name != "plda" or speech.model is not None]
        found = attacked_scores(speech, technique, selection, attacker, linkages, generator)
        for linkage, scores in found.items():
            rows.append(
                {
                    "speech": speech.name,
                    "technique": technique.title,
                    "selection": selection,
                    "attacker": attacker,
                    "linkage": linkage,
                    "n_target": scores.n_target,
                    "n_nontarget": scores.n_nontarget,
                    "difference_of_means": float(scores.target.mean() - scores.nontarget.mean()),
                    "separation": separation(scores),
                    "metrics": metrics.of(scores),
                }
            )
    return rows


def separation(scores: TrialScores) -> float:
    """Difference of the means of mated and non-mated scores in units of their common deviation
    (the root of the mean of both variances), which linkages of any scale share; 0 where all
    scores are equal."""
    deviation = math.sqrt((float(scores.target.var()) + float(scores.nontarget.var())) / 2)
    difference = float(scores.target.mean() - scores.nontarget.mean())
    return difference / deviation if deviation else 0.0
