"""The speed measurements: they run the package that they import, and notice a loss of speed."""

import importlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
PACKAGE = Path(__file__).parents[2] / "privacy_eval"
_PRINTED_TO_STDERR = "import privacy_eval, sys; sys.exit(privacy_eval.__file__)"
PAIRING = "reading and pairing, 1e+06 lines, shuffled"


def run(command: str, path: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`measuring.run` in another folder, where the package is found by PYTHONPATH."""
    program = f"import sys; sys.path.append({str(SCRIPTS)!r}); from benchmarks.measuring import run"
    return subprocess.run(
        [sys.executable, "-c", f"{program}; {command}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_use_the_package_of_a_relative_path(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "privacy_eval").symlink_to(PACKAGE)
    command = f"run([sys.executable, '-c', {_PRINTED_TO_STDERR!r}])"
    done = run(command, "elsewhere", tmp_path)
    assert done.returncode == 1
    assert str(tmp_path / "elsewhere" / "privacy_eval" / "__init__.py") in done.stderr


def test_a_command_that_cannot_start_is_named(tmp_path: Path) -> None:
    done = run("run(['/no/such/program'])", str(PACKAGE.parent), tmp_path)
    assert done.returncode == 1
    assert "/no/such/program" in done.stderr.splitlines()[-1] and "CalledProcess" not in done.stderr


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    module = importlib.import_module("bench")
    monkeypatch.setattr(module, "PAUSE", 0)
    return module


def row(bench: Any, work: str, *costs: float, packages: tuple[str, ...] = ()) -> Any:
    """A row of these ratios: the plain operation costs 2."""
    ours, limit = tuple(2 * cost for cost in costs), (2.0,) * len(costs)
    goals = (1.0,) * len(costs)
    sides = (lambda: ours), (lambda: limit)
    return bench.Row(work, "bytes.split", goals, lambda _: sides, packages=packages)


@pytest.fixture
def stored(bench: Any, tmp_path: Path) -> Path:
    path = tmp_path / "ratios.json"
    bench.write_ratios(path, {PAIRING: [1.3]})
    return path


def test_a_loss_of_speed_fails(
    bench: Any, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not bench.check([row(bench, PAIRING, 1.85)], stored)
    fault = capsys.readouterr().err
    # 1.25 * 1.3 = 1.625
    assert all(text in fault for text in (PAIRING, "1.85", "1.3", "1.62"))


def test_what_noise_can_explain_passes(bench: Any, stored: Path) -> None:
    assert bench.check([row(bench, PAIRING, 1.6)], stored)


def test_a_loss_of_memory_fails(bench: Any, stored: Path) -> None:
    bench.write_ratios(stored, {"command": [0.5, 0.25]})
    assert bench.check([row(bench, "command", 0.6, 0.25)], stored)
    assert not bench.check([row(bench, "command", 0.5, 0.33)], stored)


def test_a_row_is_measured_again_before_it_fails(bench: Any, stored: Path) -> None:
    prepared = itertools.chain([1.85, 1.9, 1.3], itertools.repeat(1.85))
    ratios = row(bench, PAIRING, 1.0)

    def prepare(folder: Path) -> Any:
        return row(bench, PAIRING, next(prepared)).prepare(folder)

    noisy = bench.Row(PAIRING, ratios.limit, ratios.goals, prepare)
    assert bench.check([noisy], stored)
    assert not bench.check([noisy], stored)


def test_the_best_turn_counts_or_the_median_without_the_first(bench: Any) -> None:
    def ratios(best: bool) -> tuple[float, ...]:
        costs = iter([(3.0,), (4.0,), (8.0,), (9.0,)])
        sides = (lambda: next(costs)), (lambda: (2.0,))
        return bench.measure(bench.Row("", "", (1.0,), lambda _: sides), 3, best=best).ratios

    assert ratios(best=True) == (1.5,)
    assert ratios(best=False) == (4.0,)


def test_rows_and_stored_ratios_correspond(
    bench: Any, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not bench.check([row(bench, PAIRING, 1.0), row(bench, "new", 1.0)], stored)
    assert "new" in capsys.readouterr().err
    assert not bench.check([], stored)
    assert PAIRING in capsys.readouterr().err


def test_a_row_without_its_packages_is_left_out_and_named(
    bench: Any, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.check([row(bench, PAIRING, 9.0, packages=("no_such_library",))], stored)
    assert "no_such_library" in capsys.readouterr().out


def test_store_writes_lower_ratios_and_new_rows_only(bench: Any, stored: Path) -> None:
    bench.write_ratios(stored, {PAIRING: [1.3], "faster": [1.3, 0.5], "gone": [1.0]})
    rows = [row(bench, PAIRING, 1.4), row(bench, "faster", 1.1, 0.6), row(bench, "new", 2.0)]
    assert bench.check(rows, stored, store=True)
    found = json.loads(stored.read_text())
    assert found["ratios"] == {PAIRING: [1.3], "faster": [1.1, 0.5], "new": [2.0]}
    assert "NumPy" in found["measured"]


def test_every_checked_row_is_stored(bench: Any) -> None:
    rows = [row for group in bench.OF_ROWS for row in bench.rows_of(group, 1)]
    works = [row.work for row in rows]
    assert len(set(works)) == len(works)
    assert {row.work for row in rows if row.checked} == set(bench.read_ratios(bench.STORED))
