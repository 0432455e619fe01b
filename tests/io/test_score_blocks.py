"""Scores and labels read in blocks: the same as read whole, or not taken at all."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cli, lines_to

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io import score_blocks
from privacy_eval.io.score_blocks import (
    LabelledScores,
    join_blocks,
    memory_of_whole_files,
    read_in_key_order,
)
from privacy_eval.io.scores import pair, read_scores, read_trials

TRIALS = [f"spk{n % 3} utt{n // 2} {'target' if n % 4 == 0 else 'nontarget'}" for n in range(40)]
SCORES = [f"spk{n % 3} utt{n // 2} {n / 7 - 2:.5g}" for n in range(40)]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_blocks, "_BLOCK_BYTES", 128)
    monkeypatch.setattr(score_blocks, "_EXAMINED", 1)


def files(folder: Path, scores: list[str], trials: list[str]) -> tuple[Path, Path]:
    return lines_to(folder / "scores", scores), lines_to(folder / "trials", trials)


@settings(max_examples=60, deadline=None)
@given(
    scores=st.permutations(SCORES[:7]).map(lambda rows: rows[:6]) | st.just(SCORES[:7]),
    trials=st.permutations(TRIALS[:7]) | st.just(TRIALS[:7]),
    changed=st.sampled_from(["", "repeat", "blank", "cut", "nan", "label", "word"]),
)
def test_what_is_read_in_blocks_is_what_is_read_whole(
    tmp_path_factory: pytest.TempPathFactory, scores: list[str], trials: list[str], changed: str
) -> None:
    edits = {
        "repeat": ([*scores, scores[0]], [*trials, trials[0]]),
        "blank": ([scores[0], "", *scores[1:]], trials),
        "cut": ([*scores[:-1], scores[-1].rsplit(" ", 1)[0]], trials),
        "nan": ([*scores[:-1], scores[-1].rsplit(" ", 1)[0] + " nan"], trials),
        "label": (scores, [trials[0], trials[1].replace("target", "1"), *trials[2:]]),
        "word": ([s + " more" for s in scores], trials),
    }
    paths = files(tmp_path_factory.mktemp("blocks"), *edits.get(changed, (scores, trials)))
    found = read_in_key_order(*paths, join_blocks)
    labelled = found and found[1]
    try:
        paired = pair(read_scores(paths[0]), read_trials(paths[1]))
    except PrivacyEvalError:
        assert labelled is None
        return
    in_order = [line.split()[:2] for line in scores] == [line.split()[:2] for line in trials]
    assert (labelled is not None) == in_order
    if labelled is not None:
        assert np.array_equal(labelled.score, paired.score)
        assert np.array_equal(labelled.is_target, paired.is_target)


def test_labels_beside_the_scores_distances_gzip_and_a_byte_order_mark(tmp_path: Path) -> None:
    own = [f"{s} {int(t.endswith(' target'))}" for s, t in zip(SCORES, TRIALS, strict=True)]
    path = tmp_path / "scores.gz"
    path.write_bytes(gzip.compress(("\n".join(own) + "\n").encode("utf-8-sig")))
    found = read_in_key_order(path, None, join_blocks, distance=True)
    assert found is not None and found[0] == "wespeaker"
    labelled = found[1]
    assert labelled.score.tolist() == [-float(line.split()[2]) for line in SCORES]
    assert labelled.is_target.tolist() == [n % 4 == 0 for n in range(40)]
    key = lines_to(tmp_path / "trials", TRIALS)
    both = read_in_key_order(path, key, join_blocks)
    assert both is not None and np.array_equal(both[1].is_target, labelled.is_target)
    contrary = lines_to(tmp_path / "contrary", [*TRIALS[:-1], TRIALS[-1].replace("non", "")])
    assert read_in_key_order(path, contrary, join_blocks) is None


def test_files_that_are_left_to_the_ordinary_reader(tmp_path: Path) -> None:
    scores, trials = files(tmp_path, SCORES, TRIALS)
    assert read_in_key_order(scores, trials, join_blocks) is not None
    assert read_in_key_order(tmp_path / "absent", trials, join_blocks) is None
    assert read_in_key_order(scores, None, join_blocks) is None  # no labels
    scores.write_text(scores.read_text().rstrip("\n"))
    assert read_in_key_order(scores, trials, join_blocks) is None
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"s u 1\n" * 99)[:-9])
    assert read_in_key_order(packed, trials, join_blocks) is None
    short = lines_to(tmp_path / "short", SCORES[:-1])
    assert read_in_key_order(short, trials, join_blocks) is None
    assert read_in_key_order(lines_to(tmp_path / "scores", SCORES), short, join_blocks) is None


@pytest.mark.parametrize("constant", ["", "speaker", "utterance", "nearly"])
def test_blocks_do_not_hide_constant_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str
) -> None:
    """The ids tell: in blocks, the verdict on the same trials is that of the whole files."""
    monkeypatch.setattr(score_blocks, "_BLOCK_BYTES", 1024)
    scores, trials = [], []
    for n in range(120):
        s, u = n // 20, n % 20
        value = {"speaker": s / 7, "utterance": u / 7, "nearly": s / 7 + n * 1e-9}
        scores.append(f"s{s} u{u} {value.get(constant, n * 37 % 120 / 7)!r}")
        trials.append(f"s{s} u{u} {'target' if u % 6 == s else 'nontarget'}")
    in_order, _ = paths = files(tmp_path, scores, trials)
    assert (read_in_key_order(*paths, join_blocks) is None) == bool(constant)
    shuffled = lines_to(tmp_path / "shuffled", scores[::-1])
    key = "constant_enrolled" if constant == "utterance" else "constant_trials"
    for path in (in_order, shuffled):
        run = cli("metrics", "--scores", path, "--trials", paths[1], "--format", "json")
        assert (key in json.loads(run.out)["caveats"]) == bool(constant)


def test_memory_is_compared_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, trials = files(tmp_path, SCORES[::-1], TRIALS)
    sizes = scores.stat().st_size, trials.stat().st_size
    assert memory_of_whole_files([scores, trials]) >= 4 * sum(sizes)
    assert "memory" not in cli("metrics", "--scores", scores, "--trials", trials).err
    monkeypatch.setattr("os.sysconf", lambda name: 1)
    run = cli("metrics", "--scores", scores, "--trials", trials)
    assert run.code == 0 and "GiB of memory" in run.err and "count" in run.err


def test_counts_in_blocks_have_the_same_bytes(tmp_path: Path) -> None:
    scores, trials = files(tmp_path, SCORES, TRIALS)
    shuffled = lines_to(tmp_path / "shuffled", SCORES[::-1])
    written = [tmp_path / "a", tmp_path / "b"]
    for path, out in zip((scores, shuffled), written, strict=True):
        assert cli("count", "--scores", path, "--trials", trials, "--out", out).code == 0
    assert written[0].read_bytes() == written[1].read_bytes()


def test_a_score_file_that_is_rewritten_between_two_blocks_is_refused(tmp_path: Path) -> None:
    paths = files(tmp_path, SCORES, TRIALS)
    os.utime(paths[0], ns=(0, 0))

    def rewrite(blocks: Iterator[LabelledScores]) -> None:
        next(blocks)
        with paths[0].open("r+b") as file:
            file.write(b"spk0")
        for _ in blocks:
            pass

    with pytest.raises(PrivacyEvalError, match=f"^{paths[0]}: changed while it was read"):
        read_in_key_order(*paths, rewrite)


def test_lists_whose_utterances_never_repeat_are_read_in_blocks(tmp_path: Path) -> None:
    """Ids that occur once cannot be constant: most lists of single trials need little memory."""
    lines = [f"spk{n % 3} utt{n}" for n in range(40)]
    scores = [f"{line} {n / 7 - 2:.5g}" for n, line in enumerate(lines)]
    trials = [f"{line} {'nontarget' if n % 4 else 'target'}" for n, line in enumerate(lines)]
    found = read_in_key_order(*files(tmp_path, scores, trials), join_blocks)
    assert found is not None and found[1].is_target.sum() == 10
