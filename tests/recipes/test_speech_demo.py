"""The recipe from simulated speech to tables: the order of the attack models, kills, real audio."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from crashes import Runs
from support import ROOT, Run, metrics_of, ok, run_program, snapshot, until

RUN = ROOT / "recipes/speech_demo/run.sh"
#: Enough to see that it works; not for numbers.
SMALL = ("--speakers", 4, "--training", 16, "--utterances", 4, "--seconds", 1, "--stop-stage", 5)


def recipe(folder: Path, *options: object) -> Run:
    return run_program(RUN, "--dir", folder, *options, cwd=folder.parent)


def mean_eer(folder: Path) -> dict[str, float]:
    """The mean over genders by attack model of the challenge's attacker, else by attacker, in
    percent."""
    plain = json.loads((folder / "tree/results/results.json").read_text())
    found: dict[str, list[float]] = {}
    for record in plain["verification"]:
        if "attack_model" in record:
            eer = metrics_of(record)["challenge"]["rocch_eer"]
            own = record["attacker"] == "plda"
            name = record["attack_model"] if own else record["attacker"]
            found.setdefault(name, []).append(100 * eer)
    return {attack: float(np.mean(values)) for attack, values in found.items()}


def products(folder: Path) -> dict[str, bytes]:
    """All files but logs, which tell times."""
    return {name: data for name, data in snapshot(folder).items() if "/log/" not in name}


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("speech") / "demo"
    ok(recipe(folder, *SMALL))
    return folder


def test_the_attack_models_are_in_the_order_of_what_they_know(tmp_path: Path) -> None:
    """EERs of fewer trials are too coarse."""
    made = tmp_path / "demo"
    run = recipe(
        made,
        *("--training", 40, "--utterances", 8, "--seconds", 2, "--stop-stage", 9),
        *("--attackers", "all"),
    )
    assert run.code == 0, run.err
    assert "|asv:" in (made / "tree/results/tables/more/B2_asv_test.tex").read_text()
    eer = mean_eer(made)
    assert eer["original"] < 10
    assert eer["ignorant"] > eer["lazy-informed"] > eer["semi-informed"] > eer["original"]
    aligned = {"ridge-reverse", "ridge-reverse-asnorm", "procrustes"}
    assert eer.keys() > {*aligned, "words", "fused"}
    assert max(eer[attacker] for attacker in aligned) < 45
    assert eer["fused"] < min(eer["words"], eer["ignorant"])
    tree = made / "tree"
    results = json.loads((tree / "results/results.json").read_text())
    for kind in ("verification", "similarity", "identification"):
        heard = [r for r in results[kind] if r.get("attacker") not in ("words", "fused")]
        inputs = [record["provenance"]["inputs"] for record in heard]
        assert inputs and all("extractor" in of_record for of_record in inputs)
    assert "not known to be the challenge's" in run.err
    assert {p.name for p in (tree / "results/tables/more").glob("B2*_asv_test.*")}
    assert not (tree / "exp/models/asv/plda").exists()
    for training in ("speech_train", "speech_train_anon"):
        assert (tree / f"exp/models/asv/xvect_{training}/plda").is_file()


def test_killed_and_started_again_it_ends_with_the_same_bytes(
    made: Path, preloaded_venv: Path, tmp_path: Path
) -> None:
    """Killed with all its jobs after the first x-vectors, which follow anonymized speech."""
    whole = products(made)
    before = made.with_name("whole")
    made.rename(before)
    try:
        shutil.copytree(before, made)
        for folder in [*made.glob("tree/exp/results*"), *made.glob("tree/exp/models/asv/xvect_*")]:
            shutil.rmtree(folder)
        shutil.rmtree(made / "tree/results")
        with Runs(tmp_path, lambda folder: [str(RUN), f"--dir={folder}", *map(str, SMALL)]) as runs:
            first = runs.start(made)
            vectors = "tree/exp/models/asv/xvect_*/xvector.scp"
            assert until(lambda: [*made.glob(vectors)] or first.poll() is not None)
            runs.kill(first, everything=True)
            runs.finish(made, VIRTUAL_ENV=str(preloaded_venv))
        assert products(made) == whole
    finally:
        if made.exists():
            made.rename(made.with_name("again"))
        before.rename(made)


def test_a_second_run_makes_nothing(made: Path) -> None:
    run = ok(recipe(made, *SMALL))
    assert "simulated: already exists" in run.err and "tree: already exists" in run.out


def test_audio_of_ones_own_needs_its_speakers(tmp_path: Path) -> None:
    assert recipe(tmp_path / "x", "--speech", tmp_path).code == 2
