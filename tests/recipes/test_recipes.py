"""The demo recipe for real: from nothing to tables, and again."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from statistics import mean

import pytest
from support import ROOT, cli, snapshot

RUN = ROOT / "recipes" / "demo" / "run.sh"


def finish(folder: Path) -> str:
    """The demo's output; without its figures, which take most of the time: the README's test
    draws them."""
    done = subprocess.run(
        [str(RUN), "--dir", str(folder), "--stop-stage", "9"],
        cwd=folder.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=170,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo that ran undisturbed."""
    folder = tmp_path_factory.mktemp("demo") / "a folder"
    text = finish(folder)
    assert "Stage 9: tables" in text
    return folder


def test_the_demo_ends_with_results_and_tables(demo: Path) -> None:
    out = demo / "results"
    plain = json.loads((out / "results.json").read_text())
    names = {(r["system"], r["condition"]) for r in plain["verification"]}
    assert len(plain["verification"]) == len(names) == 72
    assert len({r["trial_set"].split("_B")[0] for r in plain["verification"]}) == 12
    sets = {(r["system"], r["trial_set"]) for r in plain["similarity"]}
    assert len(plain["similarity"]) == len(sets) == 24
    assert len(plain["recognition"]) == 2 * 8 * 2
    assert plain["not_evaluated"] == []
    for system in ("B1", "B2"):
        for table in ("asv_dev", "asv_test", "asv", "rocch_eer", "linkability", "zebra") + (
            ("asr", "voice", "speakers")
        ):
            assert (out / "tables" / f"{system}_{table}.tex").stat().st_size > 300
            assert (out / "tables" / f"{system}_{table}.md").exists()
    with open(out / "results.csv") as file:
        assert sum(1 for _ in csv.DictReader(file)) == 72 * 2 * 9 + 32 + 24 * 2 * 5
    with open(out / "speakers.csv") as file:
        assert sum(1 for _ in csv.DictReader(file)) == 24 * 12
    text = (out / "results.txt").read_text()
    assert text.startswith("# B1\nASV-libri_dev_enrolls-libri_dev_trials_f\n  EER: ")
    assert text.count("  EER: ") == 72
    assert text.count("%WER") == 32
    assert text.count("De-Identification : ") == text.count("voice distinctiveness : ") == 24
    if shutil.which("pdflatex"):
        assert (out / "tables" / "tables.pdf").read_bytes().startswith(b"%PDF")


def test_the_systems_are_shaped_like_the_baselines(demo: Path) -> None:
    """B1 near chance for the ignorant attacker, B2 in between; the original well apart."""
    plain = json.loads((demo / "results" / "results.json").read_text())
    eers: dict[tuple[str, str], list[float]] = {}
    originals: dict[str, set[float]] = {}
    for record in plain["verification"]:
        eer = record["metrics"]["exact"]["eer"]
        eers.setdefault((record["system"], record["attack_model"]), []).append(eer)
        if record["attack_model"] == "original":
            originals.setdefault(record["condition"], set()).add(eer)
    found = {place: mean(values) for place, values in eers.items()}
    assert all(len(values) == 12 for values in eers.values())
    assert 0.43 < found["B1", "ignorant"] < 0.55
    assert 0.18 < found["B2", "ignorant"] < 0.34
    for system in ("B1", "B2"):
        assert found[system, "original"] < 0.09
        assert found[system, "original"] < found[system, "lazy-informed"]
        assert found[system, "lazy-informed"] < found[system, "ignorant"]
    assert found["B2", "lazy-informed"] < found["B1", "lazy-informed"]
    assert all(len(values) == 1 for values in originals.values())


def test_a_second_run_changes_no_byte(demo: Path) -> None:
    before = snapshot(demo)
    times = {p: p.stat().st_mtime_ns for p in (demo / "results/records").rglob("*.json")}
    finish(demo)
    after = snapshot(demo)
    logs = {name for name in {*before, *after} if name.startswith("results/log/")}
    assert {n: c for n, c in before.items() if n not in logs} == {
        n: c for n, c in after.items() if n not in logs
    }
    assert {p: p.stat().st_mtime_ns for p in times} == times


def test_another_seed_gives_other_vectors(demo: Path, tmp_path: Path) -> None:
    """Nothing of the tree but its x-vectors, back ends, word error rates and ratings depends
    on the seed."""
    assert cli("demo-tree", tmp_path / "t", "--seed", "5").code == 0
    one, two = snapshot(demo), snapshot(tmp_path / "t")
    assert set(two) < set(one)
    different = {name.split("/")[0] for name in two if one[name] != two[name]}
    assert different == {"exp", "ratings.csv", "demo_tree.json"}


def test_what_the_recipe_added_to_the_tree(demo: Path, tmp_path: Path) -> None:
    """Scores with a note each, and the data folders cut out of and united from others."""
    assert cli("demo-tree", tmp_path / "t").code == 0
    tree = snapshot(tmp_path / "t")
    added = {n: c for n, c in snapshot(demo).items() if n not in tree}
    assert {n.split("/")[0] for n in added} == {"data", "exp", "results"}
    scores = [n.rpartition("/") for n in added if n.startswith("exp/")]
    assert len(scores) == 2 * 72
    assert {Path(folder).name.split("-")[0] for folder, _, _ in scores} == {"ASV"}
    assert {name for _, _, name in scores} == {"scores", ".privacy_eval.json"}
    folders = {n.split("/")[1] for n in added if n.startswith("data/")}
    # Of every system the 8 trial sets of VCTK; what holds several sets of one kind of speech.
    assert len(folders) == 2 * 8 + (4 + 4 + 4) + 2 * (4 + 4)
    assert not [n for n in added if n.startswith("data/") and not (demo / n).stat().st_size]
