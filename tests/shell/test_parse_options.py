"""The option parser that the recipes and stage scripts share."""

from pathlib import Path

import pytest
from support import ROOT, Run, executable, run_program

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
DEFAULTS = ["0", "", "run.pl --m 4", "false", "untouched", "/usr/bin:/bin"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return executable(tmp_path / "a folder with spaces/thing.sh", SCRIPT)


def run(script: Path, *arguments: str) -> Run:
    parser = str(ROOT / "scripts/parse_options.sh")
    return run_program(script, *arguments, cwd=script.parent, PATH="/usr/bin:/bin", PARSER=parser)


def values(script: Path, *arguments: str) -> list[str]:
    result = run(script, *arguments)
    assert (result.code, result.err) == (0, "")
    return result.out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ([], {}),
        (["--stage", "3", "--out-dir", "a b"], {0: "3", 1: "a b"}),
        (["--stage=3", "--out-dir=a b"], {0: "3", 1: "a b"}),
        (["--out_dir=a b", "--stage", "3"], {0: "3", 1: "a b"}),
        (["--cmd=", "--stage", ""], {0: "", 2: ""}),
        (["--keep-log"], {3: "true"}),
        (["--keep-log", "--stage", "1"], {0: "1", 3: "true"}),
        (["--keep-log", "true"], {3: "true"}),
        (["--out-dir", "true", "--stage", "elsewhere"], {0: "elsewhere", 1: "true"}),
    ],
)
def test_options_set_their_variables(
    script: Path, arguments: list[str], changed: dict[int, str]
) -> None:
    expected = [changed.get(n, default) for n, default in enumerate(DEFAULTS)]
    assert values(script, *arguments)[:6] == expected


def test_values_are_not_expanded(script: Path, tmp_path: Path) -> None:
    text = f"$(touch {tmp_path}/made) `id` \\ \" ' * = --x"
    assert values(script, f"--out-dir={text}")[1] == text
    assert not (tmp_path / "made").exists()


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
    assert (output[0], output[6:]) == ("2", rest)


UNKNOWN = ["--nonsense", "--path", "--PATH", "--ifs", "--IFS", "--hidden", "--", "--_po_names"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(([f"{name}=x"], f"unknown option {name}") for name in UNKNOWN),
        *(([f"{name}=x"], f"unknown option {name}") for name in ("--stage[0]", "--a[$(exit 9)]")),
        (["-x"], "unknown option -x"),
        (["--stage"], "option --stage needs a value"),
        (["--stage", "--out-dir", "x"], "option --stage needs a value"),
        (["--stage", "1", "--stage=1"], "option --stage is given twice"),
        (["--out-dir=a", "--stage=1", "--out_dir", "b"], "option --out-dir is given twice"),
        (["--keep-log", "--keep-log"], "option --keep-log is given twice"),
        *(
            ([f"--keep-log={value}"], f"--keep-log takes true or false, not '{value}'")
            for value in ("yes", "1", "", "True", "true false")
        ),
    ],
)
def test_bad_options(script: Path, arguments: list[str], message: str) -> None:
    result = run(script, *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("thing.sh: ") and message in result.err


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


def test_parser_leaves_no_names_behind(script: Path) -> None:
    script.write_text(SCRIPT + "compgen -v _po_ || compgen -A function _po_ || echo none\n")
    assert values(script)[-1] == "none"
