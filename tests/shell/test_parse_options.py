"""The option parser that the recipes and stage scripts share."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """#!/usr/bin/env bash
# Does one thing.
#
# Does it well.
set -euo pipefail

# --- options
stage=0             # first stage
out_dir=            # where "it" goes
cmd="run.pl --m 4"  # runner
keep_log=false      # keep the log
# --- end of options
hidden=untouched

. "$PARSER"
printf '%s\\n' "$stage" "$out_dir" "$cmd" "$keep_log" "$hidden" "$PATH" "$@"
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    path = folder / "thing.sh"
    path.write_text(SCRIPT)
    return path


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(script), *arguments],
        env={"PATH": "/usr/bin:/bin", "PARSER": str(ROOT / "scripts/parse_options.sh")},
        capture_output=True,
        text=True,
        check=False,
    )


def values(script: Path, *arguments: str) -> list[str]:
    result = run(script, *arguments)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout.splitlines()


DEFAULTS = ["0", "", "run.pl --m 4", "false", "untouched", "/usr/bin:/bin"]


def test_without_options_the_defaults_stay(script: Path) -> None:
    assert values(script)[:6] == DEFAULTS


@pytest.mark.parametrize(
    "arguments",
    [
        ["--stage", "3", "--out-dir", "a b"],
        ["--stage=3", "--out-dir=a b"],
        ["--stage", "1", "--out_dir=a b", "--stage", "3"],
    ],
)
def test_both_forms_set_the_variable(script: Path, arguments: list[str]) -> None:
    assert values(script, *arguments)[:6] == ["3", "a b", *DEFAULTS[2:]]


def test_values_are_taken_as_they_are(script: Path, tmp_path: Path) -> None:
    text = f"$(touch {tmp_path}/made) `id` \\ \" ' * = --x"
    assert values(script, f"--out-dir={text}")[1] == text
    assert not (tmp_path / "made").exists()


def test_an_empty_value_must_be_said(script: Path) -> None:
    assert values(script, "--cmd=", "--stage", "")[:3] == ["", "", ""]


@pytest.mark.parametrize(
    ("arguments", "rest"),
    [
        (["--stage", "2", "word", "--stage", "5"], ["word", "--stage", "5"]),
        (["--stage", "2", "--", "--stage", "5 6"], ["--stage", "5 6"]),
        (["--stage", "2", "-1", "-"], ["-1", "-"]),
    ],
)
def test_parsing_stops_and_leaves_the_rest(
    script: Path, arguments: list[str], rest: list[str]
) -> None:
    output = values(script, *arguments)
    assert output[0] == "2"
    assert output[6:] == rest


@pytest.mark.parametrize(
    "name",
    ["--nonsense", "--path", "--PATH", "--ifs", "--IFS", "--hidden", "--", "-x", "--_po_names"]
    + ["--stage[0]", "--a[$(exit 9)]"],
)
def test_only_declared_names_are_options(script: Path, name: str) -> None:
    option = f"{name}=x" if name != "-x" else name
    result = run(script, option)
    assert result.returncode == 2
    assert f"thing.sh: unknown option {name}" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("arguments", [["--stage"], ["--stage", "--out-dir", "x"]])
def test_a_missing_value_is_an_error(script: Path, arguments: list[str]) -> None:
    result = run(script, *arguments)
    assert result.returncode == 2
    assert "option --stage needs a value" in result.stderr


@pytest.mark.parametrize("value", ["yes", "1", "", "True", "true false"])
def test_a_switch_takes_only_true_and_false(script: Path, value: str) -> None:
    result = run(script, f"--keep-log={value}")
    assert result.returncode == 2
    assert f"--keep-log takes true or false, not '{value}'" in result.stderr
    assert values(script, "--keep-log", "true")[3] == "true"


def test_a_text_that_was_set_to_true_stays_a_text(script: Path) -> None:
    assert values(script, "--out-dir", "true", "--out-dir", "elsewhere")[1] == "elsewhere"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--stage", "3", "--help"]])
def test_help_is_made_from_the_declarations(script: Path, arguments: list[str]) -> None:
    assert values(script, *arguments) == [
        "Does one thing.",
        "",
        "Does it well.",
        "",
        "Options and their defaults:",
        "  --stage 0            first stage",
        '  --out-dir ""         where "it" goes',
        "  --cmd run.pl --m 4   runner",
        "  --keep-log false     keep the log",
    ]


def test_no_helper_names_are_left_behind(script: Path) -> None:
    script.write_text(SCRIPT + "compgen -v _po_ || compgen -A function _po_ || echo none\n")
    assert values(script)[-1] == "none"


@pytest.mark.parametrize("arguments", [["--keep-log"], ["--keep-log", "--stage", "0"]])
def test_a_switch_may_stand_alone(script: Path, arguments: list[str]) -> None:
    assert values(script, *arguments)[3] == "true"
