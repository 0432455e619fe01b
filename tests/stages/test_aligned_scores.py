"""Aligned, normalized and fused attackers of a tree: golden scores, what they need, what is made
again, and what they must not have learnt from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacker_support import REAL_B2, golden_scores, read_score_file, spk2utt_lines
from support import ATTACKERS, Run, Tree, cli, lines_to, needs_attackers, snapshot, times

from privacy_eval import PrivacyEvalError, load_protocol
from privacy_eval.attackers import training
from privacy_eval.choices import ALIGNMENTS
from privacy_eval.products.freshness import NOTE

MODEL = "exp/models/asv_eval/xvect_01709_1"
ENROLLS, TRIALS = "libri_test_enrolls", "libri_test_trials_f"
OA = f"ASV-{ENROLLS}-{TRIALS}_anon"
NORMALIZED = ("none", "procrustes", "ridge-reverse")
#: Ids of attackers, and the entries of the protocol that define them.
ALIGNED = {
    **{name: f"alignment: {name}" for name in ALIGNMENTS},
    **{
        f"{name}-{n}": f"alignment: {name}, norm: {n}"
        for name in NORMALIZED
        for n in ("snorm", "asnorm")
    },
}
ENTRIES = "\n".join(
    f"  - {{id: {name}, title: {name}, scoring: aligned, {how}}}" for name, how in ALIGNED.items()
)
PROTOCOL = f"""\
extends: vpc2020
name: ten_speakers
splits: [test]
genders: {{f: all}}
data_sets:
  - {{id: libri, title: Libri, row: libri_test, enrollment: {ENROLLS}, trials: {TRIALS}, weight: 1}}
table_rows: [libri]
data_folders: []
attackers:
  - {{id: plda, title: PLDA, scoring: plda}}
{ENTRIES}
  - {{id: words, title: words, knows: [words], scoring: words}}
  - {{id: fused, title: fusion, scoring: fused, fuses: [none, ridge-reverse, words]}}
"""


class GoldenTree:
    """Golden vectors, lists and transcripts of a folder in the layout of a tree."""

    def __init__(self, root: Path, golden: Path) -> None:
        self.root = root
        lines_to(root / "protocol.yaml", PROTOCOL.splitlines())
        for part, name in (("test", ENROLLS), ("test", TRIALS), ("train", "train_clean_360")):
            data = root / "data" / name
            utt2spk = golden / f"{part}_utt2spk"
            lines_to(data / "utt2spk", utt2spk.read_text().splitlines())
            lines_to(data / "spk2utt", spk2utt_lines(utt2spk))
            for kind, suffix in (("orig", ""), ("anon", "_anon")):
                scp = root / MODEL / f"xvect_{name}{suffix}/xvector.scp"
                scp.parent.mkdir(parents=True)
                shutil.copy(golden / f"{part}_{kind}.ark.gz", scp)
            if (golden / "text").exists():
                lines_to(data / "text", (golden / "text").read_text().splitlines())
        for name, file in ((ENROLLS, "enrolls"), (TRIALS, "trials")):
            lines_to(root / "data" / name / file, (golden / file).read_text().splitlines())
        (root / "exp/results-anon").mkdir(parents=True)

    def scored(self, attackers: str) -> Run:
        return cli(
            *("asv-scores", "--tree", self.root, "--results", "exp", "--conf", "protocol.yaml"),
            *("--attackers", attackers),
        )

    def scores(self, attacker: str) -> Path:
        return self.root / "exp/results-anon" / OA / attacker / "scores"


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> GoldenTree:
    return GoldenTree(tmp_path / "tree", REAL_B2)


def golden_name(attacker: str) -> str:
    """The golden file of an attacker."""
    return attacker.replace("none", "cosine").replace("-", "_")


def test_scores_are_golden(tree: GoldenTree) -> None:
    """With 251 pairs of 256 dimensions the rotation of Procrustes is not unique: its scores depend
    on rounding in the fourth decimal."""
    run = tree.scored(",".join((*ALIGNED, "words", "fused")))
    assert run.code == 0 and f"{len(ALIGNED) + 2} made" in run.out, run.err
    assert "251 pairs for 256 dimensions" in run.err
    tolerances = {"procrustes": 5e-3, "procrustes-snorm": 5e-2, "procrustes-asnorm": 5e-2}
    tolerances["fused"] = 1e-6
    for attacker in (*ALIGNED, "words", "fused"):
        written, expected = (
            read_score_file(tree.scores(attacker)),
            golden_scores(golden_name(attacker)),
        )
        assert list(written) == list(expected)
        tolerance = tolerances.get(attacker, 1e-9)
        assert list(written.values()) == pytest.approx(
            list(expected.values()), rel=0, abs=tolerance
        )
