"""Fusion of attackers: scikit-learn's models, a slow second implementation, folds without shared
speakers, and the verb."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from attacker_support import REAL_B2, golden_scores, read_score_file
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import Run, cli, lines_to

from privacy_eval import PrivacyEvalError
from privacy_eval.attackers.fusion import fuse_scores, speaker_folds, train_fusion

ATTACKS = ("cosine", "ridge_reverse", "words")
FACTS = json.loads((REAL_B2 / "fusion.json").read_text())


@pytest.fixture(scope="module")
def real() -> tuple[NDArray[np.float64], NDArray[np.bool_], list[str], list[str]]:
    """Scores of three attackers, labels, and speakers of both sides."""
    trials = [line.split() for line in (REAL_B2 / "trials").read_text().splitlines()]
    speaker_of = dict(map(str.split, (REAL_B2 / "test_utt2spk").read_text().splitlines()))
    scores = np.array([list(golden_scores(name).values()) for name in ATTACKS]).T
    is_target = np.array([label == "target" for *_, label in trials])
    return scores, is_target, [s for s, *_ in trials], [speaker_of[u] for _, u, _ in trials]


@pytest.mark.parametrize(("name", "folds"), [("fused", 10), ("fused_5_folds", 5)])
def test_fused_scores_are_those_of_scikit_learn(name: str, folds: int, real: tuple) -> None:
    expected = list(golden_scores(name).values())
    assert fuse_scores(*real, folds=folds) == pytest.approx(expected, rel=0, abs=1e-6)


def test_models_are_those_of_scikit_learn(real: tuple) -> None:
    """Of every pair of folds, trained on trials without a speaker of either."""
    scores, is_target, *speakers = real
    numbers = dict(map(str.split, (REAL_B2 / "folds").read_text().splitlines()))
    sides = speaker_folds(*speakers, 10)
    for side, names in zip(sides, speakers, strict=True):
        assert side.tolist() == [int(numbers[name]) for name in names]
    for pair, facts in FACTS["models"].items():
        folds = [int(fold) for fold in pair.split()]
        kept = ~np.isin(sides[0], folds) & ~np.isin(sides[1], folds)
        assert kept.sum() == facts["trained_on"]
        weights, offset = train_fusion(scores[kept], is_target[kept])
        assert weights == pytest.approx(facts["weights"], rel=1e-6)
        assert offset == pytest.approx(facts["offset"], rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), st.integers(2, 12), st.integers(2, 12), st.integers(0, 99))
def test_models_are_those_of_a_general_optimizer(k: int, t: int, n: int, seed: int) -> None:
    """Also where a threshold separates targets from nontargets."""
    scores = np.random.default_rng(seed).normal(size=(t + n, k))
    is_target = np.arange(t + n) < t
    scores[is_target] += seed % 7
    standard = (scores - scores.mean(axis=0)) / scores.std(axis=0)

    def objective(solution: NDArray[np.float64]) -> float:
        llr = standard @ solution[:-1] + solution[-1]
        losses = np.logaddexp(0, -llr[is_target]).mean() + np.logaddexp(0, llr[~is_target]).mean()
        return float(losses / 2 + 1e-3 / 2 * solution[:-1] @ solution[:-1])

    weights, offset = train_fusion(scores, is_target)
    own = np.append(weights * scores.std(axis=0), offset + weights @ scores.mean(axis=0))
    best = scipy.optimize.minimize(objective, np.zeros(k + 1), options={"gtol": 1e-7})
    assert objective(own) <= best.fun + 1e-9
    assert own == pytest.approx(best.x, abs=2e-2)


def test_no_trial_teaches_the_model_of_its_speakers(real: tuple) -> None:
    """Labels of all trials of a speaker change no score of this speaker's trials."""
    scores, is_target, enrolled, tried = real
    speaker = enrolled[0]
    of_speaker = (np.array(enrolled) == speaker) | (np.array(tried) == speaker)
    other = np.where(of_speaker, ~is_target, is_target)
    before, after = (fuse_scores(scores, y, enrolled, tried) for y in (is_target, other))
    assert np.array_equal(before[of_speaker], after[of_speaker])
    assert not np.array_equal(before[~of_speaker], after[~of_speaker])


def test_what_cannot_be_fused_is_an_error(real: tuple) -> None:
    scores, is_target, enrolled, tried = real
    with pytest.raises(PrivacyEvalError, match="fold 1 of 10.* attacker 2 are the same"):
        fuse_scores(np.column_stack([scores[:, 0], np.ones(len(scores))]), *real[1:])
    # Equal without fold 10 only; the mean of 0.1 is rounded, so that its deviation is not 0.
    same = np.where(np.any([side == 9 for side in speaker_folds(enrolled, tried, 10)], 0), 1, 0.1)
    with pytest.raises(PrivacyEvalError, match="folds 1 and 10 of 10.* words are the same"):
        fuse_scores(np.column_stack([scores[:, 0], same]), *real[1:], attackers=["voice", "words"])
    with pytest.raises(PrivacyEvalError, match="attacker 1 are too large"):
        fuse_scores(1e308 * np.sign(scores), *real[1:])
    with pytest.raises(PrivacyEvalError, match="no target trial is left"):
        fuse_scores([[1.0], [0.0], [2.0]], [True, False, False], list("aab"), list("abb"))
    with pytest.raises(ValueError, match="at least 4"):
        fuse_scores(scores, is_target, enrolled, tried, folds=3)
    with pytest.raises(ValueError, match="numbers of trials"):
        fuse_scores(scores[:3], is_target, enrolled, tried)


# --- the verb


def verb(out: Path, *more: object, trials: Path = REAL_B2 / "trials") -> Run:
    scores = [w for name in ATTACKS[:2] for w in ("--scores", REAL_B2 / f"scores/{name}.gz")]
    key = ("--trials", trials, "--utt2spk", REAL_B2 / "test_utt2spk")
    return cli("fuse-scores", *scores, *key, "--out", out, *more)


def test_the_verb_writes_golden_scores_in_any_order_of_the_files(tmp_path: Path) -> None:
    lines = [f"{s} {u} {v!r}" for (s, u), v in golden_scores("words").items()]
    run = verb(tmp_path / "fused", "--scores", lines_to(tmp_path / "words", lines[::-1]))
    assert run.code == 0 and run.out == run.err == ""
    written, expected = read_score_file(tmp_path / "fused"), golden_scores("fused")
    assert list(written) == list(expected)
    assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-6)


def test_other_trials_and_few_folds_are_refused(tmp_path: Path) -> None:
    lines = [f"{s} {u} {v!r}" for (s, u), v in golden_scores("words").items()]
    fewer = lines_to(tmp_path / "fewer", lines[1:])
    for more, code, fact in (
        (("--scores", fewer), 1, str(fewer)),
        (("--folds", 3), 2, "at least 4"),
    ):
        run = verb(tmp_path / "fused", *more)
        assert run.code == code and fact in run.err and not (tmp_path / "fused").exists()
