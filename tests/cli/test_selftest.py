"""selftest: agreement with other programs on the machine at hand."""

import json
import math
import shutil
from pathlib import Path

import pytest
from support import ROOT, cli, ok

from privacy_eval.cli import selftest
from privacy_eval.cli.selftest import agreeing_digits, run_selftest

GOLDEN = ROOT / "tests/data/golden"


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the golden files of a group each, for the test to change."""
    for name in ("dialects", "eer", "gvd", "identification", "plda", "scores/few_trials"):
        shutil.copytree(GOLDEN / name, tmp_path / "golden" / name)
    monkeypatch.setattr(selftest, "GOLDEN", tmp_path / "golden")
    return tmp_path / "golden"


def test_all_cases_agree_and_name_tool_and_digits() -> None:
    run = ok(cli("selftest", "--format", "json"))
    plain = json.loads(run.out)
    assert (plain["passed"], plain["failed"]) == (len(plain["cases"]), 0)
    assert {"name", "tool", "digits"} <= set(plain["cases"][0])
    sets = [path.parent.name for path in GOLDEN.glob("scores/*/expected.json")]
    names = {case["name"] for case in plain["cases"]}
    assert len(sets) == 12 and {f"{name}: cllr_min" for name in sets} <= names
    speechbrain = [c["digits"] for c in plain["cases"] if c["tool"].startswith("SpeechBrain")]
    assert speechbrain == [15] * 78
    assert {"numpy", "scipy", "BLAS"} <= set(plain["versions"])


def test_the_text_ends_with_a_line_for_an_issue(golden: Path) -> None:
    run = ok(cli("selftest"))
    last = run.out.splitlines()[-1]
    passed = len(run_selftest())
    assert f"{passed} of {passed} cases agree" in last and "numpy" in last and "BLAS" in last


def test_a_damaged_value_fails(golden: Path) -> None:
    path = golden / "scores/few_trials/expected.json"
    expected = json.loads(path.read_text())
    expected["exact"]["cllr_min"] += 1e-7
    path.write_text(json.dumps(expected))
    run = cli("selftest", "--format", "json")
    plain = json.loads(run.out)
    assert (run.code, plain["failed"]) == (1, 1)
    (failed,) = (case for case in plain["cases"] if not case["passed"])
    assert (failed["name"], failed["digits"]) == ("few_trials: cllr_min", 7)
    text = cli("selftest")
    assert text.code == 1 and "failed: few_trials: cllr_min" in text.out


def test_a_library_that_fails_is_a_failed_case(
    golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "plda_scores", lambda *_: 1 / 0)
    run = cli("selftest", "--format", "json")
    (failed,) = (case for case in json.loads(run.out)["cases"] if not case["passed"])
    assert run.code == 1 and failed["tool"].startswith("Kaldi 5.5")
    assert failed["error"].startswith("ZeroDivisionError")


def test_a_missing_golden_file_is_named(golden: Path) -> None:
    (golden / "plda/plda.bin").unlink()
    run = cli("selftest")
    assert run.code == 1 and "plda.bin" in run.err and run.out == ""


@pytest.mark.parametrize(
    ("value", "expected", "digits"),
    [
        (0.5, 0.5, 15),
        (math.inf, math.inf, 15),
        (math.inf, 0.5, 0),
        (math.nan, 0.5, 0),
        (0.5, 0.501, 2),
        (200.0, 200.02, 4),
        (3.0, -3.0, 0),
    ],
)
def test_agreeing_digits(value: float, expected: float, digits: int) -> None:
    assert agreeing_digits(value, expected) == digits
