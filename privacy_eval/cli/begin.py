"""Verbs to begin with: a recipe of one's own, a self-test, simulated data, submissions."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OutputError, PrivacyEvalError, UsageError, abbreviate, counted
from ..io.names import check_name
from ..options import flag, one_of, path, value
from .options import Options, log, print_found, progress

if TYPE_CHECKING:
    from ..check.selftest import Case

_LIKE = "default: 12, or, from 2022 on, as in the challenge"
_SPEAKERS = f"trial speakers per trial set; a third more are enrolled ({_LIKE})"
_SYSTEMS = "B1, B2, S3, S4, ... (default: 2)"
_ZIPS = "zips, or folders with zips in them: TEAM/NAME.zip becomes DIR/TEAM/NAME"


def _size(name: str, default: int | None, help: str) -> Options:
    """Describe the option of a size of the demo tree."""

    def size(text: str) -> int:
        from ..simulate import DEMO_SIZES

        return one_of(DEMO_SIZES[name])(text)

    return value("N", help, type=size, default=default)


VERBS: dict[str, Options] = {
    "init": {
        "example": "mine --conf vpc2024",
        "directory": path("DIR", "new or empty folder"),
        "--conf": {
            "help": "bundled protocol to start from: vpc2020, ...",
            "default": "vpc2020",
        },
        "--demo": flag("let run.sh simulate two systems and evaluate them"),
    },
    "selftest": {
        "example": "--format json",
        "shared": "format",
    },
    "demo-tree": {
        "example": "tree --speakers 4 --utterances 3 --systems 20",
        "shared": "seed",
        "directory": path("DIR"),
        "--conf": {"default": "vpc2020"},
        "--speakers": _size("speakers", None, _SPEAKERS),
        "--utterances": _size("utterances", None, f"utterances per speaker ({_LIKE})"),
        "--systems": _size("systems", 2, "B1, B2, S3, S4, ... (default: 2)"),
    },
    "unpack-submissions": {
        "example": "submissions --exp exp",
        "zips": path("ZIP", _ZIPS, nargs="+"),
        "--exp": path("DIR", "results folder of all submissions", required=True),
    },
}


def run_init(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import bundled
    from ..stages.new_recipe import write_recipe

    if arguments.conf not in bundled():
        raise UsageError(f"--conf: {arguments.conf}: expected one of {', '.join(bundled())}")
    write_recipe(arguments.directory, arguments.conf, demo=arguments.demo)
    command = shlex.quote(f"{arguments.directory}/run.sh")
    tree = "" if arguments.demo else " --tree TREE"
    log(f"{arguments.directory}: created; next: {command}{tree}")
    return 0


def run_selftest(arguments: argparse.Namespace) -> int:
    from ..check.selftest import run_selftest, summary, versions
    from ..report.single_files import Found, text_table

    cases = run_selftest()
    failed = [case for case in cases if not case.passed]
    rows = [_plain(case) for case in cases]
    plain = {"passed": len(cases) - len(failed), "failed": len(failed), "cases": rows}
    plain |= {"versions": versions(), "summary": summary(cases)}
    notes = ["digits: the fewest decimals that agree, or significant digits of values above 1"]
    for case in failed:
        reason = case.error or f"{case.digits} digits agree, {case.needed} are needed"
        notes.append(f"failed: {case.name} ({case.tool}): {reason}")
    notes.append(f"to paste into an issue: {summary(cases)}")
    table = text_table("selftest", "Agreement with other programs", {"": _by_tool(cases)}, notes)
    print_found(Found(plain, rows, [table]), arguments.format)
    return 1 if failed else 0


def _plain(case: Case) -> dict[str, object]:
    values = {"name": case.name, "tool": case.tool, "digits": case.digits, "needed": case.needed}
    return {**values, "passed": case.passed, **({"error": case.error} if case.error else {})}


def _by_tool(cases: list[Case]) -> list[dict[str, str]]:
    """Format a row for each tool and quantity, with the fewest digits of all its data."""

    def tool_and_quantity(case: Case) -> tuple[str, str]:
        return case.tool, case.name.split(": ")[-1]

    rows = []
    for (tool, quantity), group in groupby(sorted(cases, key=tool_and_quantity), tool_and_quantity):
        some = list(group)
        names = abbreviate([case.name for case in some if not case.passed])
        row = {"other program": tool, "quantity": quantity, "cases": str(len(some))}
        row["digits"] = str(min(case.digits for case in some))
        rows.append(row | {"failed": names})
    return rows


def run_demo_tree(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..simulate import write_demo_tree

    made = write_demo_tree(
        arguments.directory,
        load_protocol(arguments.conf),
        seed=arguments.seed,
        speakers=arguments.speakers,
        utterances=arguments.utterances,
        systems=arguments.systems,
        progress=progress(),
    )
    log(f"{arguments.directory}: {'created' if made else 'already exists'}")
    return 0


def run_unpack_submissions(arguments: argparse.Namespace) -> int:
    from ..io.zips import unpack_zip

    targets: dict[Path, Path] = {}
    done = current = failed = 0
    for file, name in (pair for given in arguments.zips for pair in _zips(given)):
        try:
            _check_name(file, name, targets)
            targets[name] = file
            is_new = unpack_zip(file, arguments.exp / name, arguments.exp)
        except OutputError:
            raise
        except PrivacyEvalError as error:
            log(f"privacy-eval: {error}")
            failed += 1
        else:
            done, current = done + is_new, current + (not is_new)
    print(f"{arguments.exp}: {counted(done, 'zip')} unpacked, {current} current, {failed} refused")
    return 1 if failed else 0


def _zips(given: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a zip, or those in a folder, with the folder of each relative to all submissions."""
    if not given.is_dir():
        yield given, Path(given.stem)
        return
    for folder, below, names in os.walk(given):
        below.sort()
        for name in sorted(names):
            if name.lower().endswith(".zip") and not name.startswith("."):
                file = Path(folder, name)
                yield file, file.relative_to(given).with_suffix("")


def _check_name(file: Path, name: Path, targets: dict[Path, Path]) -> None:
    """Refuse a folder that would not be searched, would be taken for trial keys, or overlaps with
    that of another zip."""

    for part in name.parts:
        check_name(part, file)
    if any(part.startswith((".", "__MACOSX")) for part in name.parts) or not name.parts:
        raise PrivacyEvalError(f"{file}: folders of this name are not searched; rename it")
    if name.parts[0].startswith("keys-"):
        raise PrivacyEvalError(f"{file}: keys-* are folders of trial keys; rename it")
    for other, source in targets.items():
        if name == other or name in other.parents or other in name.parents:
            raise PrivacyEvalError(f"{file}: would be unpacked over {source}; rename one of them")
