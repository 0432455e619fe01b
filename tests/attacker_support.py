"""What the tests of attackers share: golden vectors and scores of ten real speakers."""

from __future__ import annotations

import gzip
from pathlib import Path

from support import GOLDEN

from privacy_eval.io.vectors import Vectors, read_vectors

REAL_B2 = GOLDEN.parent / "attackers/real_b2"


def read_score_file(path: Path) -> dict[tuple[str, str], float]:
    """Read scores in full precision, by enrolled speaker and trial utterance."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return {(s, u): float(v) for s, u, v in map(str.split, text.splitlines())}


def golden_scores(name: str) -> dict[tuple[str, str], float]:
    return read_score_file(REAL_B2 / "scores" / f"{name}.gz")


def golden_vectors() -> dict[tuple[str, str], Vectors]:
    """Vectors by part (train, test) and kind (orig, anon), as the text has them."""
    return {
        (part, kind): read_vectors(REAL_B2 / f"{part}_{kind}.ark.gz", double=True)
        for part in ("train", "test")
        for kind in ("orig", "anon")
    }


def spk2utt_lines(utt2spk: Path) -> list[str]:
    members: dict[str, list[str]] = {}
    for utterance, speaker in map(str.split, utt2spk.read_text().splitlines()):
        members.setdefault(speaker, []).append(utterance)
    return [f"{speaker} {' '.join(of_speaker)}" for speaker, of_speaker in members.items()]
