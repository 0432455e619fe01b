"""The speed measurements run the package that they import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"
PACKAGE = Path(__file__).parents[2] / "privacy_eval"
_PRINTED_TO_STDERR = "import privacy_eval, sys; sys.exit(privacy_eval.__file__)"


def measured(command: str, path: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`bench.measured` in another folder, where the package is found by PYTHONPATH."""
    run = f"import sys; sys.path.append({str(SCRIPTS)!r}); import bench; {command}"
    return subprocess.run(
        [sys.executable, "-c", run],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_use_the_package_of_a_relative_path(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "privacy_eval").symlink_to(PACKAGE)
    command = f"bench.measured([sys.executable, '-c', {_PRINTED_TO_STDERR!r}])"
    done = measured(command, "elsewhere", tmp_path)
    assert done.returncode == 1
    assert str(tmp_path / "elsewhere" / "privacy_eval" / "__init__.py") in done.stderr


def test_a_command_that_cannot_start_is_named(tmp_path: Path) -> None:
    done = measured("bench.measured(['/no/such/program'])", str(PACKAGE.parent), tmp_path)
    assert done.returncode == 1
    assert "/no/such/program" in done.stderr.splitlines()[-1] and "CalledProcess" not in done.stderr
