"""Voice distinctiveness against VoicePAT's function on calibrated scores."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from support import ROOT

from privacy_eval.metrics import similarity_matrix

GOLDEN = ROOT / "tests" / "data" / "golden" / "gvd"


def scores_of(name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rows = [line.split() for line in (GOLDEN / name).read_text().splitlines()]
    utterances = list(dict.fromkeys(row[0] for row in rows))
    place = {utterance: n for n, utterance in enumerate(utterances)}
    scores = np.zeros((len(place), len(place)), dtype=np.float32)
    for first, second, score in rows:
        scores[place[first], place[second]] = float(score)
    speakers = sorted({u.split("-")[0] for u in utterances})
    return scores, np.array([speakers.index(u.split("-")[0]) for u in utterances])


def test_diagonal_dominance_and_gain_of_calibrated_scores() -> None:
    """It calibrates every ordered pair and adds 1e-8 for each rank, so that ties differ."""
    with open(GOLDEN / "expected.csv", newline="") as file:
        expected = {row["quantity"]: float(row["value"]) for row in csv.DictReader(file)}
    actual = []
    for name in ("osp_osp", "psp_psp"):
        scores, speaker = scores_of(f"scores_output_{name}")
        matrix = similarity_matrix(scores, speaker, column_of=np.arange(speaker.size))
        actual.append(matrix.d_diag)
        wanted = expected[f"diagonal_dominance_{name}_calibrated"]
        assert matrix.d_diag == pytest.approx(wanted, abs=1e-7)
    gain = 10 * math.log10(actual[1] / actual[0])
    assert gain == pytest.approx(expected["gvd_if_calibrated_scores_were_used"], abs=1e-5)
