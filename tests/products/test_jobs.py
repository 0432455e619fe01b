"""Estimates of seconds, and shares that take equally long."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import SpeechTree, Tree, lines_to

from privacy_eval.products.freshness import (
    Run,
    estimate_lines,
    metrics_cost,
    scoring_cost,
    similarity_cost,
    split,
)
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.stages.access import AsvSystems, TreeAccess
from privacy_eval.stages.privacy_metrics import condition_cost, evaluate_tree
from privacy_eval.stages.similarity import trial_set_cost
from privacy_eval.tree.discovery import find_systems


def shares_of(seconds: list[float], jobs: int) -> list[list[int]]:
    return [split(range(len(seconds)), seconds, (j, jobs)) for j in range(1, jobs + 1)]


@settings(max_examples=80)
@given(
    seconds=st.lists(st.floats(0, 1e4) | st.sampled_from([0.0, 1.0, 2.0]), max_size=30),
    jobs=st.integers(1, 8),
)
def test_every_piece_is_in_one_share_and_none_is_too_heavy(seconds: list[float], jobs: int) -> None:
    shares = shares_of(seconds, jobs)
    assert sorted(i for part in shares for i in part) == list(range(len(seconds)))
    assert all(part == sorted(part) for part in shares)
    assert shares == shares_of(seconds, jobs)
    heaviest = max(sum(seconds[i] for i in part) for part in shares)
    bound = sum(seconds) / jobs + max(seconds, default=0.0)
    assert heaviest <= bound * (1 + 1e-9)


@given(
    seconds=st.lists(st.integers(0, 50), max_size=20).map(lambda x: [float(i) for i in x]),
    jobs=st.integers(1, 5),
)
def test_shares_by_a_second_implementation(seconds: list[float], jobs: int) -> None:
    loads = np.zeros(jobs)
    expected: list[list[int]] = [[] for _ in range(jobs)]
    for index in np.argsort(-np.array(seconds), kind="stable").tolist():
        lightest = int(np.argmin(loads))  # the first of equal ones
        loads[lightest] += seconds[index]
        expected[lightest].append(index)
    assert shares_of(seconds, jobs) == [sorted(part) for part in expected]


def test_shares_by_hand() -> None:
    assert shares_of([1, 5, 2, 3, 3], 2) == [[1, 2], [0, 3, 4]]
    assert shares_of([], 2) == [[], []]
    assert shares_of([1, 1], 4) == [[0], [1], [], []]


def test_costs_grow_with_the_work_and_no_piece_is_free() -> None:
    for function in (metrics_cost, scoring_cost, similarity_cost):
        costs = [function(n) for n in (0, 10, 10**4, 10**6)]
        assert 0 < costs[0] and costs == sorted(set(costs))
    assert metrics_cost(10**5, 10) < metrics_cost(10**5, 100)


def test_lines_by_the_size_of_a_file(tmp_path: Path) -> None:
    lines = [f"{1000 + i % 40} {1000 + i % 40}-128104-{i:04d} target" for i in range(3000)]
    assert estimate_lines(lines_to(tmp_path / "trials", lines)) == pytest.approx(3000, rel=0.2)
    assert (
        estimate_lines(tmp_path / "none") == estimate_lines(tmp_path) == estimate_lines(None) == 0
    )


def test_lines_of_a_gzip_file_count_unpacked(tmp_path: Path) -> None:
    """A file of little size does not pass for one of few lines, whatever its name."""
    text = b"1 1-128104-0001 0.123456789\n" * 100_000
    for name in ("scores.gz", "scores"):
        (tmp_path / name).write_bytes(gzip.compress(text))
        assert estimate_lines(tmp_path / name) == pytest.approx(100_000, rel=0.2)
    (tmp_path / "cut").write_bytes(b"\x1f\x8b")
    assert 0 <= estimate_lines(tmp_path / "cut") < 10


# --- of a tree

PROTOCOL = load_protocol("vpc2020")


def conditions(root: Path) -> Tree:
    """Three conditions, of which one costs more than the others together."""
    tree = Tree(root)
    tree.keys("libri_dev_trials_f", "libri_dev_trials_f_anon")
    paths = tree.libri("exp/results-now")
    paths[1].write_text(paths[1].read_text() * 4000)
    return tree


def test_the_largest_condition_has_its_own_job(tmp_path: Path) -> None:
    tree = conditions(tmp_path)
    systems = find_systems(tmp_path, tmp_path / "exp", PROTOCOL)
    largest = max(systems[0].conditions, key=condition_cost)
    assert largest.condition.name == "ASV-libri_dev_enrolls-libri_dev_trials_f_anon"
    names = []
    for job in (1, 2, 2, 1):  # records that are there by then change nothing
        outcome = evaluate_tree(systems, tree.root / "out", tree=tmp_path, run=Run((job, 2)))
        names.append({*outcome.made, *outcome.current, *outcome.failed})
    assert names[0] == names[3] == {f"now {largest.condition.name}"}
    assert len(names[1]) == 2 and names[1] == names[2] and not names[0] & names[1]


def test_a_trial_set_costs_by_its_utterances(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "t")
    (trial_set,) = tree.protocol.trial_sets()

    def cost() -> float:
        access = TreeAccess(tree.root, tree.root / "exp")
        return trial_set_cost(trial_set, AsvSystems(access, tree.protocol))

    assert cost() == similarity_cost(12)
    utt2spk = tree.root / "data/libri_dev_trials_f/utt2spk"
    # What lies outside the tree is not read.
    utt2spk.rename(tmp_path / "elsewhere")
    utt2spk.symlink_to(tmp_path / "elsewhere")
    assert cost() == similarity_cost(0)
    utt2spk.unlink()
    assert cost() == similarity_cost(0)
