"""What the tests of attackers share: golden vectors and scores of ten real speakers."""

from __future__ import annotations

import gzip
from pathlib import Path

from support import GOLDEN

REAL_B2 = GOLDEN.parent / "attackers/real_b2"


def read_score_file(path: Path) -> dict[tuple[str, str], float]:
    """Read scores in full precision, by enrolled speaker and trial utterance."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return {(s, u): float(v) for s, u, v in map(str.split, text.splitlines())}


def golden_scores(name: str) -> dict[tuple[str, str], float]:
    return read_score_file(REAL_B2 / "scores" / f"{name}.gz")
