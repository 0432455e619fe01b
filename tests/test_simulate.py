"""Simulated scores with a known EER, and the demo tree."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import OTHER_PLAN, cli, command, snapshot

from privacy_eval import PrivacyEvalError
from privacy_eval.config import load_config
from privacy_eval.io.scores import pair, read_scores, read_trials
from privacy_eval.metrics import TrialScores, kaldi_eer
from privacy_eval.simulate import ScoreModel, simulate_trials, write_demo_tree

CONFIG = load_config("vpc2020")


@given(st.floats(0.001, 0.999), st.floats(-100, 100), st.floats(0.1, 50))
def test_a_model_has_the_eer_it_is_asked_for(eer: float, offset: float, scale: float) -> None:
    assert ScoreModel.with_eer(eer, offset=offset, scale=scale).eer == pytest.approx(eer, abs=1e-12)


def test_deviations_are_those_of_sums_of_independent_effects() -> None:
    model = ScoreModel(1.0, target_speaker=2.0, enrolled_speaker=3.0, trial_speaker=4.0, pair=5.0)
    assert model.target_deviation == pytest.approx(math.sqrt(1 + 4), abs=1e-12)
    assert model.nontarget_deviation == pytest.approx(math.sqrt(1 + 9 + 16 + 25), abs=1e-12)


@pytest.mark.parametrize("eer", [0.04, 0.16, 0.33, 0.48])
def test_the_eer_of_a_large_sample_is_the_models(eer: float) -> None:
    """Decisions on two trials correlate at most as their scores do. So with S speakers and
    two utterances of each the variance of the miss rate is at most eer (1 - eer) / S times
    r + (1 - r) / 2, r being the share of the speaker's effect; that of the false-alarm rate
    at most times the shares of the enrolled and the trial speaker, and a little for pairs.
    The EER errs less than both together: four deviations are the margin."""
    speakers = 800
    model = ScoreModel.with_eer(eer, offset=-30.0, scale=7.0)
    trials = simulate_trials(
        model,
        enrolled=speakers,
        speakers=speakers,
        utterances=2,
        generator=np.random.default_rng(7),
    )
    found = kaldi_eer(TrialScores.from_labels(trials.score, trials.is_target)).value
    share = model.target_speaker**2 / model.target_deviation**2
    misses = share + (1 - share) / 2
    alarms = (model.enrolled_speaker**2 + model.trial_speaker**2) / model.nontarget_deviation**2
    margin = 4 * math.sqrt(eer * (1 - eer) * (misses + alarms + 2 / speakers) / speakers)
    assert abs(found - eer) < margin
    assert margin < 0.07


def test_the_sample_has_every_trial_once() -> None:
    trials = simulate_trials(
        ScoreModel(1.0), enrolled=5, speakers=3, utterances=2, generator=np.random.default_rng(1)
    )
    keys = set(
        zip(
            trials.enrolled_speaker.tolist(),
            trials.trial_speaker.tolist(),
            trials.utterance.tolist(),
            strict=True,
        )
    )
    assert len(keys) == trials.score.size == 30
    assert trials.is_target.sum() == 6
    assert np.array_equal(trials.is_target, trials.enrolled_speaker == trials.trial_speaker)


def test_effects_are_shared_by_the_trials_of_a_speaker() -> None:
    """Two trials of one speaker correlate as the model's variances say."""
    model = ScoreModel(0.0, target_speaker=3.0)
    trials = simulate_trials(
        model, enrolled=600, speakers=600, utterances=2, generator=np.random.default_rng(3)
    )
    targets = trials.score[trials.is_target].reshape(-1, 2)
    expected = 9 / 10
    # The deviation of a correlation of n pairs is (1 - r^2) / sqrt(n).
    margin = 4 * (1 - expected**2) / math.sqrt(len(targets))
    assert np.corrcoef(targets.T)[0, 1] == pytest.approx(expected, abs=margin)


@pytest.mark.parametrize(
    "numbers", [(1, 1, 1), (3, 4, 1), (3, 0, 1), (3, 3, 0)], ids=lambda n: "-".join(map(str, n))
)
def test_impossible_numbers(numbers: tuple[int, int, int]) -> None:
    enrolled, speakers, utterances = numbers
    with pytest.raises(ValueError, match="need two enrolled speakers"):
        simulate_trials(
            ScoreModel(1.0),
            enrolled=enrolled,
            speakers=speakers,
            utterances=utterances,
            generator=np.random.default_rng(1),
        )


# --- the demo tree


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulate") / "tree"
    assert write_demo_tree(folder, CONFIG, seed=3)
    return folder


def test_the_same_seed_gives_the_same_bytes(tree: Path, tmp_path: Path) -> None:
    assert write_demo_tree(tmp_path / "other place", CONFIG, seed=3)
    assert snapshot(tmp_path / "other place") == snapshot(tree)


def test_another_seed_changes_every_score_file(tree: Path, tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", CONFIG, seed=4)
    one, two = snapshot(tree), snapshot(tmp_path / "t")
    scores = {name for name in one if name.endswith("/scores")}
    assert len(scores) == 72
    assert {n for n in one if one[n] != two[n] and not n.endswith("/WER")} == {
        *scores,
        "demo_tree.json",
    }


def test_it_is_left_alone_where_it_is(tree: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    assert not write_demo_tree(tree, CONFIG, seed=3)
    assert {p: p.stat().st_mtime_ns for p in tree.rglob("*")} == before
    assert not list(tree.parent.glob(".*.partial"))


def test_every_score_has_its_trial(tree: Path) -> None:
    for folder in sorted(tree.glob("exp/*/results-*/ASV-*")):
        trial_set = folder.name.split("-")[2]
        pairs = pair(
            read_scores(folder / "scores"), read_trials(tree / "data" / trial_set / "trials")
        )
        assert (pairs.missing, pairs.extra) == (0, 0)
        assert pairs.is_target.sum() == 144


def test_data_folders_agree_with_each_other(tree: Path) -> None:
    folders = sorted(p for p in (tree / "data").iterdir())
    assert len(folders) == 12 * 2 + 4 * 2
    for folder in folders:
        utt2spk = dict(line.split() for line in (folder / "utt2spk").read_text().splitlines())
        spk2utt = {
            line.split()[0]: line.split()[1:]
            for line in (folder / "spk2utt").read_text().splitlines()
        }
        genders = dict(line.split() for line in (folder / "spk2gender").read_text().splitlines())
        assert {u: s for s, us in spk2utt.items() for u in us} == utt2spk
        assert set(genders) == set(spk2utt)
        assert list(utt2spk) == sorted(utt2spk)
        if "trials" in folder.name:
            assert set(genders.values()) == {"f" if "_f" in folder.name else "m"}
            lines = [line.split() for line in (folder / "trials").read_text().splitlines()]
            assert all((utt2spk[u] == s) == (label == "target") for s, u, label in lines)
        else:
            assert set((folder / "enrolls").read_text().split()) == set(utt2spk)


@pytest.mark.parametrize("content", ["a file", "a folder", "another seed", "no marker"])
def test_foreign_folders_are_refused_and_left_alone(content: str, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    if content == "a file":
        folder.write_text("mine")
    elif content == "a folder":
        (folder / "sub").mkdir(parents=True)
    else:
        folder.mkdir()
        marker = {"demo_tree": 1, "seed": 9} if content == "another seed" else {}
        (folder / "demo_tree.json").write_text(json.dumps(marker))
    before = snapshot(tmp_path)
    with pytest.raises(PrivacyEvalError, match=f"^{folder}: holds something other than the demo"):
        write_demo_tree(folder, CONFIG)
    assert snapshot(tmp_path) == before
    run = cli("demo-tree", folder)
    assert (run.code, run.out) == (1, "")


def test_what_a_killed_run_left_is_made_anew(tree: Path, tmp_path: Path) -> None:
    left = tmp_path / ".t.9999999999.partial" / "data"
    left.mkdir(parents=True)
    (left / "rubbish").write_text("x")
    (tmp_path / "t").mkdir()
    assert write_demo_tree(tmp_path / "t", CONFIG, seed=3)
    assert snapshot(tmp_path / "t") == snapshot(tree)
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


def test_into_the_empty_folder_one_is_in(tmp_path: Path) -> None:
    run = command("demo-tree", ".", cwd=tmp_path)
    assert "Traceback" not in run.err


def test_a_plan_of_other_comparisons_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "radio.yaml").write_text(OTHER_PLAN)
    run = cli("demo-tree", tmp_path / "t", "--conf", tmp_path / "radio.yaml")
    assert run.code in (0, 1)


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    first = cli("demo-tree", tmp_path / "t")
    again = cli("demo-tree", tmp_path / "t")
    assert (first.code, first.err) == (0, f"{tmp_path}/t: made\n")
    assert (again.code, again.err) == (0, f"{tmp_path}/t: there already\n")
