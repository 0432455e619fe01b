"""Files read in blocks: the same as read whole, with the same messages."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cli, lines_to

import privacy_eval.io.scores as module
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io import files
from privacy_eval.io.files import load
from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics.pairing import pair

TRIALS = [f"spk{n % 3} utt{n // 2} {'target' if n % 4 == 0 else 'nontarget'}" for n in range(40)]
SCORES = [f"spk{n % 3} utt{n // 2} {n / 7 - 2:.5g}" for n in range(40)]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_BLOCK_BYTES", 128)


@settings(max_examples=60, deadline=None)
@given(
    order=st.permutations(range(12)),
    changed=st.sampled_from(["", "repeat", "blank", "cut", "nan", "label", "word", "open"]),
    packed=st.booleans(),
)
def test_what_is_read_in_blocks_is_what_is_read_whole(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], changed: str, packed: bool
) -> None:
    lines = [f"{SCORES[n]} {int('non' not in TRIALS[n])}" for n in order]
    edits = {
        "repeat": [*lines, lines[0]],
        "blank": [*lines[:5], "", " ", *lines[5:]],
        "cut": [*lines[:-1], lines[-1].rsplit(" ", 1)[0]],
        "nan": [*lines[:7], "s u nan 1", *lines[7:]],
        "label": [*lines[:9], "s u 1 target", *lines[9:]],
        "word": [*lines[:11], lines[11] + " more"],
    }
    text = "\n".join(edits.get(changed, lines)) + "\n" * (changed != "open")
    path = tmp_path_factory.mktemp("blocks") / "scores"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = []
    for size in (64, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "_BLOCK_BYTES", size)
            for source in (path, load(path)):
                try:
                    scores = read_scores(source, format="wespeaker")
                    rows = [scores.where(row) for row in range(len(scores))]
                    columns = (scores.enrolled, scores.utterance, scores.score, scores.is_target)
                    found.append(([c.tolist() for c in columns], rows, scores.origins[0].digest))
                except PrivacyEvalError as error:
                    found.append(str(error))
    assert found[0] == found[1] == found[2] == found[3]
    assert isinstance(found[0], str) == (changed in ("repeat", "cut", "nan", "label", "word"))


def test_labels_beside_the_scores_distances_gzip_and_a_byte_order_mark(tmp_path: Path) -> None:
    own = [f"{s} {int(t.endswith(' target'))}" for s, t in zip(SCORES, TRIALS, strict=True)]
    path = tmp_path / "scores.gz"
    path.write_bytes(gzip.compress(("\n".join(own) + "\n").encode("utf-8-sig")))
    scores = read_scores(path, distance=True)
    assert scores.origins[0].format == "wespeaker"
    assert scores.score.tolist() == [-float(line.split()[2]) for line in SCORES]
    assert scores.is_target.tolist() == [n % 4 == 0 for n in range(40)]
    contrary = lines_to(tmp_path / "contrary", [*TRIALS[:-1], TRIALS[-1].replace("non", "")])
    with pytest.raises(PrivacyEvalError, match="1 labels contradict"):
        pair(scores, read_trials(contrary))


def test_a_format_that_only_later_lines_tell(tmp_path: Path) -> None:
    """The first block fits two orders of label and score."""
    lines = [f"a{n} b{n} {n % 2} {n % 2}" for n in range(20)] + ["a b 1 0.5", "c d 0 0.25"]
    scores = read_scores(lines_to(tmp_path / "scores", lines))
    assert scores.origins[0].format == "speechbrain"
    assert scores.score[-2:].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("constant", ["", "speaker", "utterance", "nearly"])
def test_blocks_do_not_hide_constant_scores(tmp_path: Path, constant: str) -> None:
    scores, trials = [], []
    for n in range(120):
        s, u = n // 20, n % 20
        value = {"speaker": s / 7, "utterance": u / 7, "nearly": s / 7 + n * 1e-9}
        scores.append(f"s{s} u{u} {value.get(constant, n * 37 % 120 / 7)!r}")
        trials.append(f"s{s} u{u} {'target' if u % 6 == s else 'nontarget'}")
    listed = lines_to(tmp_path / "trials", trials)
    key = "constant_enrolled" if constant == "utterance" else "constant_trials"
    for order in (scores, scores[::-1]):
        file = lines_to(tmp_path / "scores", order)
        run = cli("metrics", "--scores", file, "--trials", listed, "--format", "json")
        assert (key in json.loads(run.out)["caveats"]) == bool(constant)


@pytest.mark.wing("scale")
def test_counts_do_not_depend_on_the_order(tmp_path: Path) -> None:
    trials, written = lines_to(tmp_path / "trials", TRIALS), []
    for name, lines in (("a", SCORES), ("b", SCORES[::-1])):
        scores, out = lines_to(tmp_path / f"scores_{name}", lines), tmp_path / name
        assert cli("count", "--scores", scores, "--trials", trials, "--out", out).code == 0
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_a_score_file_that_is_rewritten_between_two_blocks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lines_to(tmp_path / "scores", SCORES)
    os.utime(path, ns=(0, 0))
    parse = module.parse_scores

    def rewrite(*arguments: object) -> np.ndarray:
        with path.open("r+b") as file:
            file.write(b"spk0")
        return parse(*arguments)

    monkeypatch.setattr(module, "parse_scores", rewrite)
    with pytest.raises(PrivacyEvalError, match=f"^{path}: changed while it was read"):
        read_scores(path)
