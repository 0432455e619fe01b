"""Every command of the README is run; its Python is run by pytest's doctest collection."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEST_COMMAND = "./scripts/test.sh"


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


def run(command: str) -> "subprocess.CompletedProcess[str]":
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_run_in_order() -> None:
    outputs, messages = {}, {}
    for command in commands():
        if command == TEST_COMMAND:  # runs this test: CI calls it, see the next test
            continue
        done = run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        outputs[command], messages[command] = done.stdout, done.stderr
    verbs = {c: re.search(r"privacy-eval (\S+)", c) for c in outputs}
    printed = {verb[1]: outputs[command] for command, verb in verbs.items() if verb is not None}
    assert "ASV-libri_test_enrolls-libri_test_trials_f\n  EER: " in printed["export"]
    assert printed["metrics"].startswith("# challenge\nEER: ")
    assert printed["similarity"].startswith("# challenge\nDe-Identification : ")
    assert "complete: every condition of the plan has scores" in printed["check"]
    again = next(c for c in outputs if "--results exp --out results" in c)
    assert "Stages up to 10 have nothing to do" in messages[again]
    assert (ROOT / "recipes/demo/work/results/tables/B2_asv.tex").is_file()
    for folder, most in (("results", 200), ("results_B1", 120)):
        out = ROOT / "recipes/demo/work" / folder
        drawn = {kind: len(list((out / "figures").glob(f"*.{kind}"))) for kind in ("png", "pdf")}
        assert 40 < drawn["png"] == drawn["pdf"] <= most
        assert (out / "report.html").stat().st_size > 1_000_000
        assert "<h2>Subjective evaluation</h2>" in (out / "report.html").read_text()
        assert (out / "subjective/figures/subjective_violin.png").is_file()
    listening_test = ROOT / "recipes/demo/work/listening_test/tables"
    assert (listening_test / "subjective_tests_speech_published.tex").is_file()


def test_import_and_export_of_the_readme_give_the_same_text() -> None:
    export = next(c for c in commands() if " export " in c)
    source = re.search(r"import (\S+)", "\n".join(commands()))
    assert source is not None
    assert run(export).stdout == (ROOT / source[1]).read_text(encoding="utf-8")


def test_the_test_command_is_what_ci_runs() -> None:
    assert TEST_COMMAND in commands()
    assert TEST_COMMAND in (ROOT / ".ci/run").read_text(encoding="utf-8")
