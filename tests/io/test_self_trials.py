"""Trials of an utterance with itself, and pairs that are listed in both orders."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from support import cli, lines_to

from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics import TrialScores, kaldi_eer
from privacy_eval.metrics.pairing import pair

UTTERANCES = [f"s{s}-u{u}" for s in range(8) for u in range(4)]
SCORE = dict(
    zip(
        itertools.combinations(UTTERANCES, 2),
        np.random.default_rng(0).normal(size=496).round(6).tolist(),
        strict=True,
    )
)


def trials_of(
    folder: Path, pairs: list[tuple[str, str]]
) -> tuple[Path, Path, dict[bool, list[float]]]:
    """Write trials and scores; return also the scores of trials of two recordings, by label."""
    scores, labels, values = [], [], {True: [], False: []}
    for one, other in pairs:
        target = one[:2] == other[:2]
        value = 9.0 if one == other else SCORE[min(one, other), max(one, other)] + target
        scores.append(f"{one} {other} {value}")
        labels.append(f"{one} {other} {'target' if target else 'nontarget'}")
        if one != other:
            values[target].append(value)
    return lines_to(folder / "scores", scores), lines_to(folder / "trials", labels), values


@pytest.mark.parametrize(
    ("pairs", "itself", "twice"),
    [
        (list(itertools.product(UTTERANCES, UTTERANCES)), 32, 496),
        (list(itertools.permutations(UTTERANCES, 2)), 0, 496),
        (list(itertools.combinations(UTTERANCES, 2)), 0, 0),
        ([*itertools.combinations(UTTERANCES, 2), ("s1-u1", "s1-u1")], 1, 0),
        (list(itertools.product(UTTERANCES[::2], UTTERANCES[1::2])), 0, 0),  # two sides
    ],
)
def test_self_trials_are_named_and_left_out(
    tmp_path: Path, pairs: list[tuple[str, str]], itself: int, twice: int
) -> None:
    scores, trials, values = trials_of(tmp_path, pairs)
    paired = pair(read_scores(scores), read_trials(trials))
    expected = [n for n in (itself, twice) if n]
    assert [int(remark.split()[0]) for remark in paired.remarks] == expected
    files = ("--scores", scores, "--trials", trials, "--format", "json")
    whole, rest = cli("metrics", *files), cli("metrics", *files, "--leave-out-self")
    assert whole.err.count("warning") == len(expected)
    assert (f"{itself} target trials compare an utterance with itself" in whole.err) == (itself > 0)
    assert f"left out {itself} trials" in rest.err
    counts = json.loads(whole.out)["n_target"], json.loads(rest.out)["n_target"]
    assert counts == (len(values[True]) + itself, len(values[True]))
    eer = kaldi_eer(TrialScores(values[True], values[False])).value
    assert json.loads(rest.out)["exact"]["eer"] == eer


def test_two_systems_without_self_trials(tmp_path: Path) -> None:
    pairs = list(itertools.product(UTTERANCES, UTTERANCES))
    scores, trials, _ = trials_of(tmp_path, pairs)
    speakers = lines_to(tmp_path / "utt2spk", [f"{u} {u[:2]}" for u in UTTERANCES])
    other = tmp_path / "other"
    other.write_bytes(scores.read_bytes())
    files = ("--scores", scores, "--trials", trials, "--utt2spk", speakers, "--bootstrap", "20")
    run = cli("metrics", *files, "--versus", other, "--leave-out-self")
    assert run.code == 0 and "96 target and 896 nontarget" in run.out
    same = cli("metrics", *files, "--versus", tmp_path / "." / scores.name)
    assert same.code == 2 and f"{scores} is given twice" in same.err
