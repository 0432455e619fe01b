"""The checkout, built and installed by pip."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

#: Messages of pip if it cannot download build requirements.
_UNREACHABLE = re.compile(
    r"No matching distribution found|Could not find a version|Failed to establish|"
    r"Temporary failure|Max retries|ConnectionError|ProxyError|timed out"
)
#: Messages of a build if the environment lacks build tools.
_NO_TOOLS = re.compile(r"bdist_wheel|No module named|BackendUnavailable|Cannot import 'setuptools")
#: What is built or made in a clone, and the tests but for their data.
_LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv*", "build", "work", "test_*", "__pycache__", "*.egg-info", ".*_cache", ".hyp*")
)


def pip(verb: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--retries", "0"]
    return subprocess.run(
        [sys.executable, "-m", "pip", verb, *options, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def pip_with_checkout(folder: Path, verb: str, *options: str) -> None:
    """Run a verb of pip on a copy of the sources, and delete the copy; skip where pip is not there
    or lacks tools that it cannot get."""
    sources = folder / "sources"
    shutil.copytree(ROOT, sources, symlinks=True, ignore=_LEFT_OUT)
    usual = ("--no-deps", *options, str(sources))
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        pytest.skip("there is no pip in this environment")
    done = pip(verb, "--no-build-isolation", *usual, cwd=folder)
    if done.returncode and _NO_TOOLS.search(done.stderr):
        shutil.rmtree(sources / "build", ignore_errors=True)
        done = pip(verb, *usual, cwd=folder)
        if done.returncode and _UNREACHABLE.search(done.stderr):
            pytest.skip("neither setuptools and wheel here nor a registry to get them from")
    assert done.returncode == 0, done.stderr[-2000:]
    shutil.rmtree(sources)
