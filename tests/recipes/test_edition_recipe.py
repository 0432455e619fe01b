"""The recipe of 2024 and 2026 on trees that the challenges' own code has written."""

from __future__ import annotations

import csv
import tarfile
from pathlib import Path

import pytest
from support import ROOT, run_program

from privacy_eval.results.json_store import read_json

RUN = ROOT / "recipes" / "vpc2024" / "run.sh"


@pytest.mark.parametrize(
    ("name", "options", "original"),
    [("tree2024", (), "asv_orig"), ("tree2026", ("--conf", "vpc2026_track1"), "asv_ssl")],
)
def test_every_eer_through_the_recipe(
    name: str, options: tuple[str, ...], original: str, tmp_path: Path
) -> None:
    with tarfile.open(ROOT / "tests/data/golden/editions/trees.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    tree = tmp_path / name
    done = run_program(RUN, "--tree", tree, "--stop-stage", "8", *options, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.err.count("does not apply") >= 2
    results = read_json(tree / "exp/privacy_eval/results.json")
    found = {
        (c.asv_model, c.split, c.gender, c.enrollment[:4], c.trial[:4]): str(round(100 * eer, 3))
        for v in results.verification
        for c, eer in [(v.condition, v.metrics["challenge"]["eer_speechbrain"])]
    }
    expected = {}
    for model, folder in (("original", original), ("anonymized", "asv_anon_toy")):
        with open(tree / "exp" / folder / "results_toy.csv", newline="") as file:
            for row in csv.DictReader(file):
                key = (row["split"], row["gender"], row["enrollment"][:4], row["trial"][:4])
                expected[(model, *key)] = row["EER"]
    assert found == expected
    assert not results.not_evaluated
