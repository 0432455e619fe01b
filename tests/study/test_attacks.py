"""Conversion, target selection and attackers, against what their definitions say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_support import small_study
from support import REAL_TREE, SpeechTree

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import score_matrix
from privacy_eval.metrics import TrialScores, kaldi_eer, linkability
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.study.attacks import (
    Speech,
    Utterances,
    attack_tasks,
    attacked_scores,
    residual,
    select_targets,
    separation,
    simulated_speech,
    speech_of_tree,
)
from privacy_eval.study.protocol import Attacker, Selection, Technique, load_study
from privacy_eval.study.tasks import Metrics

PLAN = small_study()
assert PLAN.attacks is not None and PLAN.vectors is not None
SPEECH = simulated_speech(PLAN.attacks, PLAN.vectors, 0)
PLAIN = Technique("plain", residual=0.5, leak=0.0)


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


def test_without_leak_the_mean_of_converted_speech_is_the_target() -> None:
    targets = select_targets("perm", SPEECH, SPEECH.trial.speaker, np.random.default_rng(1))
    converted = SPEECH.targets[targets] + residual(SPEECH.trial, PLAIN, SPEECH.speakers)
    for speaker in range(SPEECH.speakers):
        own = SPEECH.trial.speaker == speaker
        assert converted[own].mean(axis=0) == pytest.approx(SPEECH.targets[targets[own][0]])


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


def test_every_target_is_drawn_as_often() -> None:
    speech = to_other_speakers(SPEECH)
    speaker = np.zeros(6000, np.int64)
    drawn = select_targets("rand", speech, speaker, np.random.default_rng(2))
    counts = np.bincount(drawn, minlength=len(speech.targets))[1:]
    expected = speaker.size / counts.size
    assert abs(counts - expected).max() < 5 * np.sqrt(expected)


@pytest.mark.parametrize("selection", ["const", "perm", "rand"])
def test_an_informed_attacker_one_pair_at_a_time(selection: Selection) -> None:
    """Each enrollment utterance is converted to the voice that the trial has."""
    leaking = Technique("leaking", residual=1.0, leak=0.5)
    found = attacked_scores(
        SPEECH, leaking, selection, "informed", ["euclidean"], np.random.default_rng(5)
    )["euclidean"]
    targets = select_targets(selection, SPEECH, SPEECH.trial.speaker, np.random.default_rng(5))
    tried = SPEECH.targets[targets] + residual(SPEECH.trial, leaking, SPEECH.speakers)
    kept = residual(SPEECH.enrollment, leaking, SPEECH.speakers)
    target_scores, nontarget_scores = [], []
    for trial, (vector, speaker) in enumerate(zip(tried, SPEECH.trial.speaker, strict=True)):
        for own, enrolled in zip(kept, SPEECH.enrollment.speaker, strict=True):
            target = targets[trial]
            if selection == "perm":  # the enrolled speaker's own
                target = targets[np.flatnonzero(SPEECH.trial.speaker == enrolled)[0]]
            score = -np.linalg.norm(SPEECH.targets[target] + own - vector)
            (target_scores if enrolled == speaker else nontarget_scores).append(score)
    assert found.target == pytest.approx(np.sort(target_scores), rel=1e-4, abs=1e-4)
    assert found.nontarget == pytest.approx(np.sort(nontarget_scores), rel=1e-4, abs=1e-4)


def test_an_ignorant_attacker_enrolls_original_speech() -> None:
    found = attacked_scores(
        SPEECH, PLAIN, "const", "ignorant", ["cosine"], np.random.default_rng(5)
    )["cosine"]
    targets = select_targets("const", SPEECH, SPEECH.trial.speaker, np.random.default_rng(5))
    tried = SPEECH.targets[targets] + residual(SPEECH.trial, PLAIN, SPEECH.speakers)
    scores = score_matrix(
        SPEECH.enrollment.vectors.astype(np.float32),
        1,
        tried.astype(np.float32),
        backend="cosine",
    )
    assert np.sort(np.concatenate([found.target, found.nontarget])) == pytest.approx(
        np.sort(scores.ravel())
    )


def eer(selection: Selection, attacker: Attacker, leak: float) -> float:
    plan = load_study("metric_study")
    assert plan.attacks is not None and plan.vectors is not None
    speech = simulated_speech(plan.attacks, plan.vectors, 0)
    technique = Technique("x", residual=1.0, leak=leak)
    scores = attacked_scores(
        speech, technique, selection, attacker, ["plda"], np.random.default_rng(0)
    )["plda"]
    return kaldi_eer(scores).value


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


def test_semi_informed_attackers_draw_another_constant_target() -> None:
    two = replace(SPEECH, targets=np.stack([np.zeros(8), np.full(8, 100.0)]))
    for seed in range(6):
        scores = attacked_scores(
            two, PLAIN, "const", "semi-informed", ["euclidean"], np.random.default_rng(seed)
        )["euclidean"]
        assert scores.nontarget[-1] < -200  # always the voice that the trials do not have


def test_separation() -> None:
    scores = TrialScores([3.0, 5.0], [0.0, 2.0])
    assert separation(scores) == pytest.approx((4 - 1) / 1)
    assert separation(TrialScores([1.0], [1.0])) == 0


def test_rows_of_the_grid() -> None:
    assert PLAN.attacks is not None
    tasks = list(attack_tasks(PLAN.attacks, [SPEECH]))
    assert len(tasks) == 2 * 3 == len({task.name for task in tasks})
    rows = tasks[0].compute(np.random.default_rng(0), Metrics())
    assert [(r["attacker"], r["linkage"]) for r in rows] == [
        (attacker, linkage)
        for attacker in ("ignorant", "semi-informed", "informed")
        for linkage in ("plda", "cosine", "euclidean")
    ]
    assert all(r["n_target"] == 5 * 3 * 4 and r["n_nontarget"] == 20 * 3 * 4 for r in rows)


# --- speech of a tree


def test_speech_of_a_tree(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    found = speech_of_tree(tree.root, tree.protocol)
    assert found and all(speech.targets_are_speakers for speech in found)
    for speech in found:
        assert set(speech.enrollment.speaker) <= set(speech.trial.speaker)
        assert len(speech.targets) == speech.speakers
        for speaker in range(speech.speakers):
            own = speech.trial.vectors[speech.trial.speaker == speaker]
            assert speech.targets[speaker] == pytest.approx(own.mean(axis=0))


def test_a_tree_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="no x-vectors of an enrollment and a trial set"):
        speech_of_tree(tmp_path, load_protocol("vpc2020"))


@pytest.mark.skipif(not REAL_TREE.is_dir(), reason="the tree of real speech is not here")
def test_attacks_on_real_speech() -> None:
    speeches = speech_of_tree(REAL_TREE, load_protocol("vpc2020"))
    assert [s.name for s in speeches] == ["libri_test_trials_f", "libri_test_trials_m"]
    technique = Technique("x", residual=1.0, leak=0.0)
    for speech in speeches:

        def linked(selection: Selection, attacker: Attacker, speech: Speech = speech) -> float:
            scores = attacked_scores(
                speech, technique, selection, attacker, ["plda"], np.random.default_rng(0)
            )["plda"]
            return linkability(scores).value

        assert linked("perm", "informed") > 0.5
        assert linked("rand", "semi-informed") < 0.15
