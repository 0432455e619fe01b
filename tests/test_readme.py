"""Every command of the README is run, and what its demo makes is looked at; the README's
Python is run by pytest's doctest collection."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import pytest
from support import ROOT, cli, snapshot, times

DEMO = ROOT / "recipes/demo/work"
TEST_COMMAND = "./scripts/test.sh"
#: Of what the demo has made already.
AGAIN = "--results exp --out results"

Done = subprocess.CompletedProcess[str]


def commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.M | re.S)
    assert {kind for kind, _ in blocks} == {"bash", "python"}
    return [line for kind, body in blocks if kind == "bash" for line in in_context(body)]


def in_context(block: str) -> list[str]:
    """The commands of a block, each after what the block does to the shell before it."""
    found, context = [], ""
    for line in block.splitlines():
        if re.match(r"cd |\w+=", line):
            context += f"{line} && "
        else:
            found.append(context + line)
    return found


def run(command: str) -> Done:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@dataclass(frozen=True)
class Outputs:
    """What the commands wrote, and the demo's files before and after it was run again."""

    printed: Mapping[str, Done]
    before: Mapping[str, object]
    after: Mapping[str, object]


def of_the_demo() -> dict[str, bytes]:
    """The demo's tree and results, without what other commands put beside them; without logs,
    which hold times."""
    return {
        name: content
        for name, content in snapshot(DEMO).items()
        if name.startswith(("data/", "exp/", "results/", "demo_tree.json", "ratings.csv"))
        and not name.startswith("results/log/")
    }


def state() -> dict[str, object]:
    """The demo's files, and when its records were written."""
    return {**of_the_demo(), "times": times((DEMO / "results/records").rglob("*.json"))}


@pytest.fixture(scope="module")
def ran() -> Outputs:
    """All commands, one after the other."""
    printed, states = {}, []
    for command in commands():
        if command == TEST_COMMAND:  # runs this test: CI calls it, see below
            continue
        if AGAIN in command:
            states.append(state())
        done = run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        printed[command] = done
        if AGAIN in command:
            states.append(state())
    return Outputs(printed, *states)


def test_commands_say_and_make_what_they_should(ran: Outputs) -> None:
    verbs = {c: re.search(r"privacy-eval (\S+)", c) for c in ran.printed}
    printed = {verb[1]: ran.printed[c].stdout for c, verb in verbs.items() if verb is not None}
    assert "ASV-libri_test_enrolls-libri_test_trials_f\n  EER: " in printed["export"]
    assert printed["metrics"].startswith("# challenge\nEER: ")
    assert printed["similarity"].startswith("# challenge\nDe-Identification : ")
    assert printed["check"].startswith("ready: all ")
    for folder, most in (("results", 200), ("results_B1", 120)):
        out = DEMO / folder
        drawn = {kind: len(list((out / "figures").glob(f"*.{kind}"))) for kind in ("png", "pdf")}
        assert 40 < drawn["png"] == drawn["pdf"] <= most
        assert (out / "report.html").stat().st_size > 1_000_000
        assert "<h2>Subjective evaluation</h2>" in (out / "report.html").read_text()
        assert (out / "subjective/figures/subjective_violin.png").is_file()
    listening_test = DEMO / "listening_test/tables"
    assert (listening_test / "subjective_tests_speech_published.tex").is_file()


def test_import_and_export_of_the_readme_give_the_same_text(ran: Outputs) -> None:
    export = next(c for c in ran.printed if " export " in c)
    source = re.search(r"import (\S+)", "\n".join(ran.printed))
    assert source is not None
    assert ran.printed[export].stdout == (ROOT / source[1]).read_text(encoding="utf-8")


def test_the_test_command_is_what_ci_runs() -> None:
    assert TEST_COMMAND in commands()
    assert TEST_COMMAND in (ROOT / ".ci/run").read_text(encoding="utf-8")


# The demo


def test_a_second_run_changes_no_byte(ran: Outputs) -> None:
    said = next(done.stderr for c, done in ran.printed.items() if AGAIN in c)
    assert "Stages up to 10 have nothing to do" in said
    assert len(ran.before) > 1000
    assert ran.before == ran.after


def test_the_demo_ends_with_results_and_tables(ran: Outputs) -> None:
    out = DEMO / "results"
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


def test_the_systems_are_shaped_like_the_baselines(ran: Outputs) -> None:
    """B1 near chance for the ignorant attacker, B2 in between; the original well apart."""
    plain = json.loads((DEMO / "results" / "results.json").read_text())
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


def test_another_seed_gives_other_vectors(ran: Outputs, tmp_path: Path) -> None:
    """Nothing of the tree but its x-vectors, back ends, word error rates and ratings depends
    on the seed."""
    assert cli("demo-tree", tmp_path / "t", "--seed", "5").code == 0
    one, two = of_the_demo(), snapshot(tmp_path / "t")
    assert set(two) < set(one)
    different = {name.split("/")[0] for name in two if one[name] != two[name]}
    assert different == {"exp", "ratings.csv", "demo_tree.json"}


def test_what_the_recipe_added_to_the_tree(ran: Outputs, tmp_path: Path) -> None:
    """Scores with a note each, and the data folders cut out of and united from others."""
    assert cli("demo-tree", tmp_path / "t").code == 0
    tree = snapshot(tmp_path / "t")
    added = [n for n in of_the_demo() if n not in tree]
    assert {n.split("/")[0] for n in added} == {"data", "exp", "results"}
    scores = [n.rpartition("/") for n in added if n.startswith("exp/")]
    assert len(scores) == 2 * 72
    assert {Path(folder).name.split("-")[0] for folder, _, _ in scores} == {"ASV"}
    assert {name for _, _, name in scores} == {"scores", ".privacy_eval.json"}
    folders = {n.split("/")[1] for n in added if n.startswith("data/")}
    # Of every system the 8 trial sets of VCTK; what holds several sets of one kind of speech.
    assert len(folders) == 2 * 8 + (4 + 4 + 4) + 2 * (4 + 4)
    assert not [n for n in added if n.startswith("data/") and not (DEMO / n).stat().st_size]
