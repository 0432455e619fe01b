"""The script that makes the environment, with a stand-in for Python: nothing is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support import ROOT, executable

# Answers what the script asks an interpreter, and logs the calls that would install.
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
INSTALLED = ["venv", "pip .[speech,wer]"]


class Checkout:
    """A folder with the script, the two files it looks at, and the stand-in interpreter."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a [check] out"
        self.calls_file = folder / "calls"
        (self.root / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/ensure_env.sh", self.root / "scripts")
        (self.root / "setup.cfg").write_text("[metadata]\n")
        (self.root / "pyproject.toml").write_text("")
        self.python = executable(folder / "bin/python3", FAKE_PYTHON)
        self.environment = {
            "PATH": f"{self.python.parent}:/usr/bin:/bin",
            "FAKE_CALLS": str(self.calls_file),
            "FAKE_BASE": str(self.python),
        }

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

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
        out, err = process.communicate(timeout=600)
        assert (process.returncode, out) == (code, ""), err
        return err

    def calls(self) -> list[str]:
        """Return the installing calls since the last look."""
        if not self.calls_file.exists():
            return []
        lines = self.calls_file.read_text().replace(f"pip {self.root} ", "pip ").splitlines()
        self.calls_file.unlink()
        return lines

    def is_current(self) -> bool:
        return self.run() == "" and self.calls() == []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture
def installed(checkout: Checkout) -> Checkout:
    checkout.run()
    assert checkout.calls() == INSTALLED
    return checkout


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"FAKE_VERSION": "2.7"}, "python3 is Python 2.7, but 3.10 or newer is needed"),
        ({"FAKE_VERSION": "3.9"}, "python3 is Python 3.9, but 3.10 or newer is needed"),
        ({"FAKE_VERSION": "hello"}, "its version reads 'hello'"),
        ({"FAKE_WITHOUT_VENV": "1"}, "apt-get install python3-venv"),
        ({"PRIVACY_EVAL_PYTHON": "/no/such"}, "/no/such, which PRIVACY_EVAL_PYTHON names"),
    ],
)
def test_unsuitable_python(environment: dict[str, str], message: str, checkout: Checkout) -> None:
    assert message in checkout.run(code=1, **environment)
    assert checkout.calls() == []
    assert not checkout.venv.exists()


def test_missing_python(checkout: Checkout) -> None:
    for tool in ("readlink", "dirname", "cat", "cksum", "sed"):
        (checkout.python.parent / tool).symlink_to(shutil.which(tool) or tool)
    checkout.python.unlink()
    message = checkout.run(code=1, PATH=str(checkout.python.parent))
    assert "Python 3.10 or newer is needed" in message
    assert "apt-get install python3 python3-venv" in message
    assert not checkout.venv.exists()


@pytest.mark.parametrize("version", ["3.10", "3.14", "4.0"])
def test_suitable_python(checkout: Checkout, version: str) -> None:
    checkout.run(FAKE_VERSION=version)
    assert checkout.calls() == INSTALLED


def test_interpreter_named_in_the_environment(checkout: Checkout, tmp_path: Path) -> None:
    other = shutil.move(checkout.python, tmp_path / "other python")
    checkout.run(PRIVACY_EVAL_PYTHON=str(other), FAKE_BASE=str(other))
    assert checkout.calls() == INSTALLED


@pytest.mark.parametrize("arguments", [["tests"], ["run", "test"], ["--nonsense"]])
def test_bad_usage(checkout: Checkout, arguments: list[str]) -> None:
    assert "run, models or test" in checkout.run(*arguments, code=2)
    assert checkout.calls() == []


def test_environment_for_tests_also_serves_to_run(installed: Checkout) -> None:
    assert installed.is_current()
    installed.run("models")
    assert installed.calls() == ["pip .[speech,wer,ge2e,onnx,phones]"]
    assert installed.run("run") == installed.run("models") == ""
    assert installed.calls() == []
    installed.run("test")
    assert installed.calls() == ["pip .[test]"]
    assert installed.run("run") == installed.run("models") == installed.run("test") == ""
    assert installed.calls() == []


@pytest.mark.parametrize("name", ["setup.cfg", "pyproject.toml"])
def test_changed_requirements_are_installed(installed: Checkout, name: str) -> None:
    (installed.root / name).write_text("# changed\n")
    installed.run()
    assert installed.calls() == ["pip .[speech,wer]"]
    assert installed.is_current()


def test_failed_installation_is_shown_and_repeated(checkout: Checkout) -> None:
    lines = [line.strip() for line in checkout.run(code=1, FAKE_PIP="fails").splitlines()]
    assert lines[-20:] == [f"pip's line {number}" for number in range(11, 31)]
    assert "pip's line 10" not in lines
    assert "pip's line 1\n" in (checkout.root / ".venv-install.log").read_text()
    checkout.calls()
    checkout.run()
    assert checkout.calls() == INSTALLED


def test_failed_update_loses_nothing(installed: Checkout) -> None:
    (installed.venv / "mine").write_text("")
    (installed.root / "setup.cfg").write_text("# changed\n")
    for _ in range(2):
        installed.run(code=1, FAKE_PIP="fails")
    installed.run()
    installed.calls()
    assert (installed.venv / "mine").exists()
    assert installed.is_current()


@pytest.mark.parametrize("update", [False, True])
def test_killed_installation_is_rebuilt(checkout: Checkout, update: bool) -> None:
    if update:
        checkout.run()
        (checkout.root / "setup.cfg").write_text("# changed\n")
    checkout.run(code=-9, FAKE_PIP="killed")
    (checkout.venv / "half").write_text("")
    checkout.calls()
    checkout.run()
    assert checkout.calls() == INSTALLED
    assert not (checkout.venv / "half").exists()
    assert checkout.is_current()


def test_a_folder_without_an_environment_is_rebuilt(checkout: Checkout) -> None:
    checkout.venv.mkdir()
    checkout.run()
    assert checkout.calls() == INSTALLED


def test_environment_made_by_hand_is_extended(checkout: Checkout) -> None:
    executable(checkout.venv / "bin/python", FAKE_PYTHON)
    (checkout.venv / "mine").write_text("")
    checkout.run(code=1, FAKE_PIP="fails")
    checkout.calls()
    checkout.run()
    assert checkout.calls() == ["pip .[speech,wer]"]
    assert (checkout.venv / "mine").exists()
    assert checkout.is_current()


def test_moved_checkout_gets_a_new_environment(installed: Checkout) -> None:
    installed.root = installed.root.rename(installed.root.with_name("moved"))
    installed.run()
    assert installed.calls() == INSTALLED


def test_concurrent_runs_install_once(checkout: Checkout) -> None:
    for process in [checkout.start(FAKE_PIP="slow") for _ in range(3)]:
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    assert checkout.calls() == INSTALLED
