"""Every command of the README runs in a copy of the checkout, and the files its demo makes are
checked; the README's Python is run by pytest's doctest collection."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from study_support import small_file
from support import ROOT, Run, cli, executable, run_program, snapshot, times

TEST_COMMAND = "./scripts/test.sh"
#: A second run of what the demo has done.
AGAIN = "--results exp --out results"


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


#: The command; figures that the demo has drawn before become dots, which takes no time.
PRIVACY_EVAL = f"""#!{sys.executable}
import sys
from privacy_eval.cli import main
if sys.argv[1] == "figures" and "results_B1" in " ".join(sys.argv):
    sys.path.append({str(ROOT / "tests")!r})
    import pytest, support
    support.undrawn(pytest.MonkeyPatch())
sys.exit(main())
"""


class Copy:
    """A copy of the checkout, without what was built in it, whose .venv is the interpreter that
    runs this; what the commands printed, and the demo's files around its second run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.demo = root / "recipes/demo/work"
        ignore = shutil.ignore_patterns("work")
        for name in ("recipes", "scripts", "local", "conf", "privacy_eval", "tests/data"):
            shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignore)
        for name in ("setup.cfg", "pyproject.toml"):
            shutil.copy(ROOT / name, root)
        # The whole study takes minutes.
        study = root / "recipes/metric_study/run.sh"
        text = study.read_text()
        small = text.replace("conf=metric_study ", f"conf={small_file(root.parent)} ")
        assert small != text
        study.write_text(small)
        venv = root / ".venv"
        executable(venv / "bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        executable(venv / "bin/privacy-eval", PRIVACY_EVAL)
        made_from = f"{root}\n" + "".join(
            (root / name).read_text() for name in ("setup.cfg", "pyproject.toml")
        )
        fingerprint = subprocess.run(
            ["cksum"], input=made_from, capture_output=True, text=True, check=True
        ).stdout.strip()
        (venv / ".privacy_eval_stamp").write_text(f"test\n{fingerprint}\n{root}\n")
        self.printed: dict[str, Run] = {}
        self.states: list[dict[str, object]] = []

    def run_all(self) -> None:
        path = f"{self.root}/.venv/bin:/usr/local/bin:/usr/bin:/bin"
        for command in commands():
            if command == TEST_COMMAND:  # runs this test
                continue
            if AGAIN in command:
                self.states.append(self.state())
            run = run_program("bash", "-c", command, cwd=self.root, PATH=path)
            assert run.code == 0, f"{command}\n{run.out}\n{run.err}"
            self.printed[command] = run
            if AGAIN in command:
                self.states.append(self.state())

    def of_the_demo(self) -> dict[str, bytes]:
        """The demo's tree and results, without what other commands put beside them; without
        logs, which contain times."""
        return {
            name: content
            for name, content in snapshot(self.demo).items()
            if name.startswith(("data/", "exp/", "results/", "demo_tree.json", "ratings.csv"))
            and not name.startswith("results/log/")
        }

    def state(self) -> dict[str, object]:
        """The demo's files, and when its records were written."""
        return {
            **self.of_the_demo(),
            "times": times((self.demo / "results/records").rglob("*.json")),
        }


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    before = snapshot(ROOT / "recipes")
    copy = Copy(tmp_path_factory.mktemp("readme").resolve() / "a copy")
    copy.run_all()
    yield copy
    assert snapshot(ROOT / "recipes") == before


def test_commands_print_and_write_what_the_readme_says(ran: Copy) -> None:
    verbs = {c: re.search(r"privacy-eval (\S+)", c) for c in ran.printed}
    printed = {verb[1]: ran.printed[c].out for c, verb in verbs.items() if verb is not None}
    assert "ASV-libri_test_enrolls-libri_test_trials_f\n  EER: " in printed["export"]
    assert printed["metrics"].startswith("# challenge\nEER  ")
    assert printed["similarity"].startswith("# challenge\nDe-Identification : ")
    assert "enrolled speakers (0 distractors)\ngroup of 2: " in printed["identification"]
    assert printed["check"].startswith("ready: all ")
    for folder, most in (("results", 220), ("results_B1", 190)):
        out = ran.demo / folder
        drawn = {kind: len(list((out / "figures").glob(f"*.{kind}"))) for kind in ("png", "pdf")}
        assert 40 < drawn["png"] == drawn["pdf"] <= most
        assert (out / "report.html").stat().st_size > (1_000_000 if folder == "results" else 0)
        assert "<h2>Subjective evaluation</h2>" in (out / "report.html").read_text()
        assert (out / "subjective/figures/subjective_violin.png").is_file()
    listening_test = ran.demo / "listening_test/tables"
    assert (listening_test / "subjective_tests_speech_published.tex").is_file()


def test_import_and_export_give_the_same_text(ran: Copy) -> None:
    export = next(c for c in ran.printed if " export " in c)
    source = re.search(r"import (\S+)", "\n".join(ran.printed))
    assert source is not None
    assert ran.printed[export].out == (ran.root / source[1]).read_text(encoding="utf-8")


def test_the_test_command_is_what_ci_runs() -> None:
    assert TEST_COMMAND in commands()
    assert TEST_COMMAND in (ROOT / ".ci/run").read_text(encoding="utf-8")


# The demo


def test_a_second_run_changes_no_byte(ran: Copy) -> None:
    said = next(done.err for c, done in ran.printed.items() if AGAIN in c)
    assert "Stages up to 10 have nothing to do" in said
    before, after = ran.states
    assert len(before) > 1000
    assert before == after


def test_the_demo_ends_with_results_and_tables(ran: Copy) -> None:
    out = ran.demo / "results"
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
    linked = sum(len(r["sizes"]) for r in plain["identification"])
    assert linked > 2 * 72
    with open(out / "results.csv") as file:
        assert sum(1 for _ in csv.DictReader(file)) == 72 * 2 * 12 + 32 + 24 * 2 * 5 + linked
    with open(out / "speakers.csv") as file:
        assert sum(1 for _ in csv.DictReader(file)) == 24 * 12
    text = (out / "results.txt").read_text()
    assert text.startswith("# B1\nASV-libri_dev_enrolls-libri_dev_trials_f\n  EER: ")
    assert text.count("  EER: ") == 72
    assert text.count("%WER") == 32
    assert text.count("De-Identification : ") == text.count("voice distinctiveness : ") == 24
    if shutil.which("pdflatex"):
        assert (out / "tables" / "tables.pdf").read_bytes().startswith(b"%PDF")


def test_recipe_adds_scores_and_data_folders_to_the_tree(ran: Copy, tmp_path: Path) -> None:
    """Scores with a note each, subsets and combined data folders; the rest is kept."""
    assert cli("demo-tree", tmp_path / "t").code == 0
    tree, demo = snapshot(tmp_path / "t"), ran.of_the_demo()
    assert {name: demo[name] for name in tree} == tree
    added = [n for n in demo if n not in tree]
    assert {n.split("/")[0] for n in added} == {"data", "exp", "results"}
    scores = [n.rpartition("/") for n in added if n.startswith("exp/")]
    assert len(scores) == 2 * 72
    assert {Path(folder).name.split("-")[0] for folder, _, _ in scores} == {"ASV"}
    assert {name for _, _, name in scores} == {"scores", ".privacy_eval.json"}
    folders = {n.split("/")[1] for n in added if n.startswith("data/")}
    # Of every system the 8 trial sets of VCTK, and the combined sets of one kind of speech.
    assert len(folders) == 2 * 8 + (4 + 4 + 4) + 2 * (4 + 4)
    assert not [n for n in added if n.startswith("data/") and not demo[n]]
