"""The script that makes the environment, with a stand-in for Python: nothing is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "ensure_env.sh"

# Answers what the script asks an interpreter, and writes down the calls that would install.
FAKE_PYTHON = """#!/bin/bash
case $*:${1-} in
    *version_info*) echo "${FAKE_VERSION-3.11}" ;;
    *_base_executable*) echo "$FAKE_BASE" ;;
    *ensurepip,*) exit "${FAKE_WITHOUT_VENV-0}" ;;
    *base_prefix*) echo "fake ${FAKE_PREFIX-}" ;;
    *:-V) echo "Python ${FAKE_VERSION-3.11}" ;;
    '-m venv'*)
        echo venv >>"$FAKE_CALLS"
        mkdir -p "$3/bin"
        cp "$0" "$3/bin/python"
        ;;
    '-m pip'*)
        echo "pip $PWD ${*: -1}" >>"$FAKE_CALLS"
        case ${FAKE_PIP-} in
            fails) for i in {1..30}; do echo "pip's line $i"; done; exit 1 ;;
            killed) kill -KILL "$PPID"; exit 1 ;;
            slow) sleep 0.3 ;;
        esac
        touch "${0%/*}/privacy-eval"
        chmod +x "${0%/*}/privacy-eval"
        ;;
esac
"""


class Checkout:
    """A folder with the script, the two files it looks at, and the stand-in interpreter."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a [check] out"
        self.bin = folder / "bin"
        self.calls_file = folder / "calls"
        self.venv = self.root / ".venv"
        (self.root / "scripts").mkdir(parents=True)
        shutil.copy(SCRIPT, self.root / "scripts")
        (self.root / "setup.cfg").write_text("[metadata]\n")
        (self.root / "pyproject.toml").write_text("")
        self.bin.mkdir()
        (self.bin / "python3").write_text(FAKE_PYTHON)
        (self.bin / "python3").chmod(0o755)
        self.environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "FAKE_CALLS": str(self.calls_file),
            "FAKE_BASE": str(self.bin / "python3"),
        }

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [shutil.which("bash") or "bash", str(self.root / "scripts/ensure_env.sh"), *arguments],
            cwd="/",
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Run the script, check its exit code, return what it wrote to stderr."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert out == ""
        return err

    def calls(self) -> list[str]:
        """Return the installing calls since the last look."""
        if not self.calls_file.exists():
            return []
        lines = self.calls_file.read_text().replace(f"pip {self.root} ", "pip ").splitlines()
        self.calls_file.unlink()
        return lines


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_missing_python(checkout: Checkout) -> None:
    for tool in ("readlink", "dirname", "cat", "cksum", "sed"):
        (checkout.bin / tool).symlink_to(shutil.which(tool) or tool)
    (checkout.bin / "python3").unlink()
    message = checkout.run(code=1, PATH=str(checkout.bin))
    assert "python3 was not found. Python 3.10 or newer is needed" in message
    assert "apt-get install python3 python3-venv" in message
    assert not checkout.venv.exists()


@pytest.mark.parametrize("version", ["2.7", "3.9"])
def test_python_that_is_too_old(checkout: Checkout, version: str) -> None:
    message = checkout.run(code=1, FAKE_VERSION=version)
    assert f"python3 is Python {version}, but 3.10 or newer is needed" in message
    assert "PRIVACY_EVAL_PYTHON" in message
    assert checkout.calls() == []


@pytest.mark.parametrize("version", ["3.10", "3.14", "4.0"])
def test_python_that_is_new_enough(checkout: Checkout, version: str) -> None:
    checkout.run(FAKE_VERSION=version)
    assert checkout.calls() == ["venv", "pip ."]


def test_python_without_venv(checkout: Checkout) -> None:
    message = checkout.run(code=1, FAKE_WITHOUT_VENV="1")
    assert "apt-get install python3-venv" in message
    assert not checkout.venv.exists()


def test_something_else_than_python(checkout: Checkout) -> None:
    message = checkout.run(code=1, FAKE_VERSION="hello")
    assert "does not seem to be Python: its version reads 'hello'" in message


def test_a_named_interpreter_is_used(checkout: Checkout, tmp_path: Path) -> None:
    other = tmp_path / "other python"
    shutil.move(checkout.bin / "python3", other)
    checkout.run(PRIVACY_EVAL_PYTHON=str(other), FAKE_BASE=str(other))
    assert checkout.calls() == ["venv", "pip ."]


def test_a_named_interpreter_that_is_not_there(checkout: Checkout) -> None:
    checkout.run()
    message = checkout.run(code=1, PRIVACY_EVAL_PYTHON="/no/such/python")
    assert "no interpreter /no/such/python, which PRIVACY_EVAL_PYTHON names" in message


@pytest.mark.parametrize("arguments", [["tests"], ["run", "test"], ["--nonsense"]])
def test_bad_usage(checkout: Checkout, arguments: list[str]) -> None:
    assert "run or test" in checkout.run(*arguments, code=2)
    assert checkout.calls() == []


def test_nothing_is_done_twice(checkout: Checkout) -> None:
    assert "making" in checkout.run("run")
    assert checkout.calls() == ["venv", "pip ."]
    assert checkout.run("run") == ""
    assert checkout.run() == ""
    assert checkout.calls() == []


def test_the_environment_for_tests_also_serves_to_run(checkout: Checkout) -> None:
    checkout.run("run")
    checkout.calls()
    assert "up to date" in checkout.run("test")
    assert checkout.calls() == ["pip .[test]"]
    assert checkout.run("run") == checkout.run("test") == ""
    assert checkout.calls() == []


@pytest.mark.parametrize("name", ["setup.cfg", "pyproject.toml"])
def test_a_changed_file_means_installing_again(checkout: Checkout, name: str) -> None:
    checkout.run()
    checkout.calls()
    (checkout.root / name).write_text("# changed\n")
    checkout.run()
    assert checkout.calls() == ["pip ."]
    assert checkout.run() == ""


def test_a_failed_installation_is_shown_and_tried_again(checkout: Checkout) -> None:
    message = checkout.run(code=1, FAKE_PIP="fails")
    lines = [line.strip() for line in message.splitlines()]
    assert lines[-20:] == [f"pip's line {number}" for number in range(11, 31)]
    assert "pip's line 10" not in lines
    assert "pip's line 1\n" in (checkout.root / ".venv-install.log").read_text()
    checkout.calls()
    checkout.run()
    assert checkout.calls() == ["venv", "pip ."]


def test_a_failed_update_loses_nothing(checkout: Checkout) -> None:
    checkout.run()
    (checkout.venv / "mine").write_text("")
    (checkout.root / "setup.cfg").write_text("# changed\n")
    for _ in range(2):
        checkout.run(code=1, FAKE_PIP="fails")
    checkout.run()
    assert (checkout.venv / "mine").exists()
    assert checkout.run() == ""


@pytest.mark.parametrize("update", [False, True])
def test_after_a_killed_installation_all_is_made_anew(checkout: Checkout, update: bool) -> None:
    if update:
        checkout.run()
        (checkout.root / "setup.cfg").write_text("# changed\n")
    checkout.run(code=-9, FAKE_PIP="killed")
    (checkout.venv / "half").write_text("")
    checkout.calls()
    checkout.run()
    assert checkout.calls() == ["venv", "pip ."]
    assert not (checkout.venv / "half").exists()
    assert checkout.run() == ""


def test_a_folder_that_is_no_environment_is_made_anew(checkout: Checkout) -> None:
    checkout.venv.mkdir()
    checkout.run()
    assert checkout.calls() == ["venv", "pip ."]


def test_an_environment_made_by_hand_is_only_added_to(checkout: Checkout) -> None:
    (checkout.venv / "bin").mkdir(parents=True)
    shutil.copy(checkout.bin / "python3", checkout.venv / "bin/python")
    (checkout.venv / "mine").write_text("")
    checkout.run(code=1, FAKE_PIP="fails")
    checkout.calls()
    checkout.run()
    assert checkout.calls() == ["pip ."]
    assert (checkout.venv / "mine").exists()
    assert checkout.run() == ""


def test_a_moved_checkout_gets_a_new_environment(checkout: Checkout) -> None:
    checkout.run()
    checkout.calls()
    moved = checkout.root.with_name("elsewhere")
    checkout.root.rename(moved)
    checkout.root, checkout.venv = moved, moved / ".venv"
    checkout.run()
    assert checkout.calls() == ["venv", "pip ."]


def test_two_at_once_install_once(checkout: Checkout) -> None:
    processes = [checkout.start(FAKE_PIP="slow") for _ in range(3)]
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert checkout.calls() == ["venv", "pip ."]
