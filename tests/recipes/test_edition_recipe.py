"""The recipe of 2024 and later on a tree that the challenge's own code has written."""

from __future__ import annotations

import csv
import tarfile
from pathlib import Path

from support import ROOT, run_program

from privacy_eval.results.json_store import read_json

RUN = ROOT / "recipes" / "vpc2024" / "run.sh"


def test_every_eer_through_the_recipe(tmp_path: Path) -> None:
    """Its own protocol; for others and all numbers see tests/stages/test_edition_trees.py."""
    with tarfile.open(ROOT / "tests/data/golden/editions/trees.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    tree = tmp_path / "tree2024"
    done = run_program(RUN, "--tree", tree, "--stop-stage", "8", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.err.count("does not apply") >= 2
    results = read_json(tree / "exp/privacy_eval/results.json")
    found = {
        (c.asv_model, c.split, c.gender, c.enrollment[:4], c.trial[:4]): str(round(100 * eer, 3))
        for v in results.verification
        for c, eer in [(v.condition, v.metrics["challenge"]["eer_speechbrain"])]
    }
    expected = {}
    for model, folder in (("original", "asv_orig"), ("anonymized", "asv_anon_toy")):
        with open(tree / "exp" / folder / "results_toy.csv", newline="") as file:
            for row in csv.DictReader(file):
                key = (row["split"], row["gender"], row["enrollment"][:4], row["trial"][:4])
                expected[(model, *key)] = row["EER"]
    assert found == expected
    assert not results.not_evaluated
