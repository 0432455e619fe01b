"""Conversion, target selection and attackers against their definitions."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from study_support import generator_of, records_of, rows_of, small_study
from support import REAL_TREE, SpeechTree, needs_real_tree

from privacy_eval import PrivacyEvalError
from privacy_eval.io.data_dir import read_utt2spk
from privacy_eval.io.files import Loaded
from privacy_eval.metrics import TrialScores, kaldi_eer, linkability
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.study import attacks
from privacy_eval.study.attacks import (
    Speech,
    Utterances,
    attack_rows,
    attacked_scores,
    read_tree_speech,
    residual,
    select_targets,
    separation,
    simulated_speech,
)
from privacy_eval.study.protocol import Attacker, Linkage, Selection, Technique, load_study
from privacy_eval.study.run import study_metrics

STUDY = small_study()
assert STUDY.attacks is not None and STUDY.vectors is not None
SPEECH = simulated_speech(STUDY.attacks, STUDY.vectors, 0)
PLAIN = Technique("plain", residual=0.5, leak=0.0)


def attacked(
    speech: Speech,
    technique: Technique,
    selection: Selection,
    attacker: Attacker,
    linkage: Linkage,
    seed: int = 0,
) -> TrialScores:
    generator = np.random.default_rng(seed)
    return attacked_scores(speech, technique, selection, attacker, [linkage], generator)[linkage]


def to_other_speakers(speech: Speech) -> Speech:
    """The same speech, converted to each other's voices."""
    targets = np.arange(speech.speakers * 3, dtype=float).reshape(-1, 3)
    return replace(speech, targets=targets, targets_are_speakers=True, backend=None)


def test_residual_by_hand() -> None:
    speech = Utterances(np.array([[1.0, 0.0], [3.0, 0.0], [10.0, 4.0]]), np.array([0, 0, 1]))
    technique = Technique("x", residual=0.5, leak=0.1)
    # Means (2, 0) and (10, 4), of all speakers (6, 2).
    expected = [[-0.5 - 0.4, -0.2], [0.5 - 0.4, -0.2], [0.4, 0.2]]
    assert residual(speech, technique, 2) == pytest.approx(np.array(expected))


@given(st.integers(0, 1000), st.booleans())
def test_target_selections(seed: int, others: bool) -> None:
    speech = to_other_speakers(SPEECH) if others else SPEECH
    speaker = speech.trial.speaker

    def chosen(selection: Selection) -> np.ndarray:
        return select_targets(selection, speech, speaker, np.random.default_rng(seed))

    assert len(set(chosen("const").tolist())) == 1
    pairs = set(zip(speaker.tolist(), chosen("perm").tolist(), strict=True))
    assert len(pairs) == speech.speakers == len({target for _, target in pairs})
    drawn = chosen("rand")
    assert drawn.min() >= 0 and drawn.max() < len(speech.targets)
    if others:
        assert all(source != target for source, target in pairs)
        assert (drawn != speaker).all()


@pytest.mark.parametrize(
    ("attacker", "selection"),
    [("ignorant", "const"), ("informed", "const"), ("informed", "perm"), ("informed", "rand")],
)
def test_attackers_pair_by_pair(attacker: Attacker, selection: Selection) -> None:
    """An ignorant attacker enrolls original speech; an informed one converts each enrollment
    utterance to the voice of the trial, under perm to that of the enrolled speaker."""
    leaking = Technique("leaking", residual=1.0, leak=0.5)
    actual = attacked(SPEECH, leaking, selection, attacker, "euclidean", seed=5)
    targets = select_targets(selection, SPEECH, SPEECH.trial.speaker, np.random.default_rng(5))
    trial_vectors = SPEECH.targets[targets] + residual(SPEECH.trial, leaking, SPEECH.speakers)
    enrollment_residual = residual(SPEECH.enrollment, leaking, SPEECH.speakers)
    expected: dict[bool, list[float]] = {True: [], False: []}
    for trial, (vector, speaker) in enumerate(
        zip(trial_vectors, SPEECH.trial.speaker, strict=True)
    ):
        for i, enrolled in enumerate(SPEECH.enrollment.speaker):
            target = targets[trial]
            if selection == "perm":
                target = targets[np.flatnonzero(SPEECH.trial.speaker == enrolled)[0]]
            first = SPEECH.targets[target] + enrollment_residual[i]
            if attacker == "ignorant":
                first = SPEECH.enrollment.vectors[i]
            expected[bool(enrolled == speaker)].append(-float(np.linalg.norm(first - vector)))
    for scores, is_target in ((actual.target, True), (actual.nontarget, False)):
        assert scores == pytest.approx(np.sort(expected[is_target]), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("selection", ["const", "perm", "rand"])
def test_aligned_attackers_pair_by_pair(selection: Selection) -> None:
    """Trials are mapped by ridge regression from converted to original speech of other speakers;
    the penalty has the smallest error when each pair is left out and the rest is refitted."""
    leaking = Technique("leaking", residual=1.0, leak=0.5)
    actual = attacked(SPEECH, leaking, selection, "aligned", "cosine", seed=5)
    generator = np.random.default_rng(5)
    targets = select_targets(selection, SPEECH, SPEECH.trial.speaker, generator)
    trials = SPEECH.targets[targets] + residual(SPEECH.trial, leaking, SPEECH.speakers)
    assert SPEECH.training is not None
    training = SPEECH.training
    drawn = select_targets(selection, SPEECH, training.speaker, generator)
    if selection == "const" and drawn[0] == targets[0]:
        drawn = (drawn + 1) % len(SPEECH.targets)
    converted = SPEECH.targets[drawn] + residual(training, leaking, SPEECH.speakers)

    def fit(rows: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x, y = converted[rows], training.vectors[rows]
        centred = x - x.mean(axis=0)
        gram = centred.T @ centred + penalty * np.eye(x.shape[1])
        return x.mean(axis=0), np.linalg.solve(gram, centred.T @ (y - y.mean(axis=0))), y.mean(0)

    def left_out_error(penalty: float) -> float:
        errors = []
        for i in range(len(converted)):
            mean, weights, offset = fit(np.delete(np.arange(len(converted)), i), penalty)
            errors.append((converted[i] - mean) @ weights + offset - training.vectors[i])
        return float(np.square(errors).mean())

    penalty = min(10.0 ** (np.arange(-8, 8) / 2), key=left_out_error)
    mean, weights, offset = fit(np.arange(len(converted)), penalty)
    tested, enrolled = (trials - mean) @ weights, SPEECH.enrollment.vectors - offset
    norms = np.outer(np.linalg.norm(enrolled, axis=1), np.linalg.norm(tested, axis=1))
    cosines = enrolled @ tested.T / norms
    is_target = SPEECH.enrollment.speaker[:, None] == SPEECH.trial.speaker
    assert actual.target == pytest.approx(np.sort(cosines[is_target]), abs=1e-6)
    assert actual.nontarget == pytest.approx(np.sort(cosines[~is_target]), abs=1e-6)


def slow_joint_cosines(
    original: np.ndarray, converted: np.ndarray, speaker: np.ndarray, *sides: np.ndarray
) -> np.ndarray:
    """Cosines of two sides after a discriminant of both kinds of speech, by loops and `eig`."""
    unit = [v / math.sqrt(sum(v * v)) for kind in (original, converted) for v in kind]
    names, size = [*speaker, *speaker], len(unit[0])
    mean, within, between = sum(unit) / len(unit), np.zeros((size, size)), np.zeros((size, size))
    for name in set(names):
        own = [v for v, n in zip(unit, names, strict=True) if n == name]
        center = sum(own) / len(own)
        between += len(own) * np.outer(center - mean, center - mean) / len(unit)
        within += sum(np.outer(v - center, v - center) for v in own) / len(unit)
    within += 0.1 * np.trace(within) / size * np.eye(size)
    values, basis = scipy.linalg.eig(np.linalg.inv(within) @ between)
    basis = basis.real[:, np.argsort(-values.real)[: len(set(names)) - 1]]
    basis /= np.sqrt(np.diagonal(basis.T @ within @ basis))
    mapped = [(side / np.linalg.norm(side, axis=1)[:, None] - mean) @ basis for side in sides]
    first, second = (side / np.linalg.norm(side, axis=1)[:, None] for side in mapped)
    return np.asarray(first @ second.T)


@pytest.mark.parametrize("selection", ["const", "perm", "rand"])
@pytest.mark.parametrize("attacker", ["ignorant", "semi-informed"])
def test_joint_discriminants_pair_by_pair(attacker: Attacker, selection: Selection) -> None:
    """The discriminant is learnt from other speakers' original and converted speech, with random
    numbers that nothing else depends on; enrollment is original or converted."""
    leaking = Technique("leaking", residual=1.0, leak=0.5)
    actual = attacked(SPEECH, leaking, selection, attacker, "lda-joint", seed=5)
    generator = np.random.default_rng(5)
    targets = select_targets(selection, SPEECH, SPEECH.trial.speaker, generator)

    def converted(speech: Utterances, generator: np.random.Generator) -> np.ndarray:
        drawn = select_targets(selection, SPEECH, speech.speaker, generator)
        if selection == "const" and drawn[0] == targets[0]:
            drawn = (drawn + 1) % len(SPEECH.targets)
        return SPEECH.targets[drawn] + residual(speech, leaking, SPEECH.speakers)

    trials = SPEECH.targets[targets] + residual(SPEECH.trial, leaking, SPEECH.speakers)
    enrolled, training = SPEECH.enrollment.vectors, SPEECH.training
    if attacker == "semi-informed":
        enrolled = converted(SPEECH.enrollment, generator)
    learnt_from = converted(training, np.random.Generator(generator.bit_generator.jumped()))
    of = training.vectors, learnt_from, training.speaker
    cosines = slow_joint_cosines(*of, enrolled, trials)
    is_target = SPEECH.enrollment.speaker[:, None] == SPEECH.trial.speaker
    assert actual.target == pytest.approx(np.sort(cosines[is_target]), abs=1e-6)
    assert actual.nontarget == pytest.approx(np.sort(cosines[~is_target]), abs=1e-6)


def test_a_joint_discriminant_changes_no_other_number() -> None:
    """Other linkages' scores, also of attackers that come later, are the same beside it."""
    without = replace(STUDY.attacks, linkages=STUDY.attacks.linkages[:3])
    rows, others = (
        rows_of(records_of(attacks=attacks, vectors=STUDY.vectors)[:1])
        for attacks in (STUDY.attacks, without)
    )
    assert [r for r in rows if r["linkage"] != "lda-joint"] == others


def test_joint_discriminants_link_rotated_speech() -> None:
    """What the back end of original speech does not, as speakers differ elsewhere."""
    found = {
        of: eer("rand", "semi-informed", 0.6, of, rotated=True) for of in ("plda", "lda-joint")
    }
    assert found["lda-joint"] < found["plda"] - 0.02


def eer(
    selection: Selection,
    attacker: Attacker,
    leak: float,
    linkage: Linkage = "plda",
    *,
    rotated: bool = False,
) -> float:
    study = load_study("metric_study")
    assert study.attacks is not None and study.vectors is not None
    speech = simulated_speech(study.attacks, study.vectors, 0)
    technique = Technique("x", residual=1.0, leak=leak, rotated=rotated)
    return kaldi_eer(attacked(speech, technique, selection, attacker, linkage)).value


def test_linkage_follows_from_target_selection_and_attacker() -> None:
    """Without leak no attacker links speech under const and rand; under perm only the informed
    attacker does."""
    pairs: list[tuple[Selection, Attacker]] = [
        *(("const", "informed"), ("rand", "informed"), ("rand", "semi-informed")),
        *(("const", "semi-informed"), ("perm", "semi-informed"), ("perm", "ignorant")),
    ]
    for selection, attacker in pairs:
        assert eer(selection, attacker, 0.0) == pytest.approx(0.5, abs=0.06)
    assert eer("perm", "informed", 0.0) < 0.1
    assert eer("const", "informed", 0.6) < 0.4


@pytest.mark.parametrize("selection", ["const", "perm", "rand"])
def test_aligned_attackers_undo_a_rotation(selection: Selection) -> None:
    assert eer(selection, "ignorant", 0.6, rotated=True) > 0.45
    assert eer(selection, "aligned", 0.6, rotated=True) < 0.36


def test_semi_informed_attackers_draw_another_constant_target() -> None:
    two = replace(SPEECH, targets=np.stack([np.zeros(8), np.full(8, 100.0)]))
    for seed in range(6):
        scores = attacked(two, PLAIN, "const", "semi-informed", "euclidean", seed)
        assert scores.nontarget[-1] < -200  # always the voice that the trials do not have


def test_separation() -> None:
    scores = TrialScores([3.0, 5.0], [0.0, 2.0])
    assert separation(scores) == pytest.approx((4 - 1) / 1)
    assert separation(TrialScores([1.0], [1.0])) == 0


def test_rows_of_the_grid() -> None:
    records = records_of(attacks=STUDY.attacks, vectors=STUDY.vectors)
    assert len(records) == 2 * 3 == len({r.name for r in records})
    rows = rows_of(records[:1])
    assert [(r["attacker"], r["linkage"]) for r in rows] == [
        (attacker, linkage)
        for attacker in ("ignorant", "semi-informed", "informed", "aligned")
        for linkage in ("plda", "cosine", "euclidean", "lda-joint")
    ]
    alone = replace(SPEECH, training=None)
    of = STUDY.attacks, alone, STUDY.attacks.techniques[0], STUDY.attacks.selections[0]
    rows_alone = attack_rows(*of, generator_of(records[0]), study_metrics)
    assert [r["metrics"] for r in rows_alone] == [
        r["metrics"] for r in rows[:-4] if r["linkage"] != "lda-joint"
    ]
    assert all(r["n_target"] == 5 * 3 * 4 and r["n_nontarget"] == 20 * 3 * 4 for r in rows)


# --- similarity matrices


@pytest.mark.parametrize("variant", ["exact", "challenge"])
def test_matrices_of_figure_1(variant: str) -> None:
    study = load_study("metric_study")
    assert study.matrices is not None and study.vectors is not None
    records = records_of(matrices=study.matrices, vectors=study.vectors)
    nothing, lost, ideal = rows_of(records)
    values = nothing["metrics"][variant]
    assert abs(values["deid"]) < 0.1 and abs(values["gvd_db"]) < 0.5
    values = lost["metrics"][variant]
    assert values["deid"] > 0.95 and values["gvd_db"] < -10
    values = ideal["metrics"][variant]
    assert values["deid"] > 0.95 and abs(values["gvd_db"]) < 0.5
    # The same original speech in all three, with a dominant diagonal; no diagonal in what is lost.
    first = np.array(nothing["matrices"][f"{variant}_oo"])
    assert all(np.array_equal(first, r["matrices"][f"{variant}_oo"]) for r in (lost, ideal))
    assert first.shape == (10, 10)
    others = first[~np.eye(10, dtype=bool)]
    assert np.diagonal(first).min() > others.max() and others.mean() < 0.2
    for row, part in ((lost, "oa"), (lost, "aa"), (ideal, "oa")):
        assert np.ptp(row["matrices"][f"{variant}_{part}"]) < 0.2


# --- speech of a tree


def test_speech_of_a_tree(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    speeches = read_tree_speech(tree.root, tree.protocol)
    assert speeches and all(speech.targets_are_speakers for speech in speeches)
    for speech in speeches:
        assert set(speech.enrollment.speaker) <= set(speech.trial.speaker)
        assert len(speech.targets) == speech.speakers
        for speaker in range(speech.speakers):
            own = speech.trial.vectors[speech.trial.speaker == speaker]
            assert speech.targets[speaker] == pytest.approx(own.mean(axis=0))


def test_speakers_that_change_meanwhile_are_those_of_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = SpeechTree(tmp_path)
    (expected,) = read_tree_speech(tree.root, tree.protocol)

    def changing(file: Loaded) -> dict[str, str]:
        speaker_of = read_utt2spk(file)
        file.path.write_text(file.path.read_text() + "later s1\n")
        return speaker_of

    monkeypatch.setattr(attacks, "read_utt2spk", changing)
    (speeches,) = read_tree_speech(tree.root, tree.protocol)
    assert speeches.sha256 == expected.sha256


def test_trees_without_x_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="no x-vectors of an enrollment and a trial set"):
        read_tree_speech(tmp_path, load_protocol("vpc2020"))


@needs_real_tree
def test_attacks_on_real_speech() -> None:
    speeches = read_tree_speech(REAL_TREE, load_protocol("vpc2020"))
    assert [s.name for s in speeches] == ["libri_test_trials_f", "libri_test_trials_m"]
    technique = Technique("x", residual=1.0, leak=0.0)
    for speech in speeches:
        linked = attacked(speech, technique, "perm", "informed", "plda")
        assert linkability(linked).value > 0.5
        unlinked = attacked(speech, technique, "rand", "semi-informed", "plda")
        assert linkability(unlinked).value < 0.15
