"""selftest: golden cases of other programs, computed on this machine."""

from __future__ import annotations

import argparse
from itertools import groupby
from typing import TYPE_CHECKING

from ..errors import abbreviate
from .options import add, print_json

if TYPE_CHECKING:
    from ..check.selftest import Case

EXAMPLE = "--format json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add(parser, "--format")


def run(arguments: argparse.Namespace) -> int:
    from ..check.selftest import run_selftest, summary, versions

    cases = run_selftest()
    failed = [case for case in cases if not case.passed]
    if arguments.format == "json":
        plain = {
            "passed": len(cases) - len(failed),
            "failed": len(failed),
            "cases": [_plain(case) for case in cases],
            "versions": versions(),
            "summary": summary(cases),
        }
        print_json(plain)
    else:
        _print_table(cases)
        for case in failed:
            reason = case.error or f"{case.digits} digits agree, {case.needed} are needed"
            print(f"failed: {case.name} ({case.tool}): {reason}")
        print(f"to paste into an issue: {summary(cases)}")
    return 1 if failed else 0


def _plain(case: Case) -> dict[str, object]:
    values = {"name": case.name, "tool": case.tool, "digits": case.digits, "needed": case.needed}
    return {**values, "passed": case.passed, **({"error": case.error} if case.error else {})}


def _print_table(cases: list[Case]) -> None:
    """Print a row for each tool and quantity, with the fewest digits of all its data."""
    from tabulate import tabulate

    def tool_and_quantity(case: Case) -> tuple[str, str]:
        return case.tool, case.name.split(": ")[-1]

    rows = []
    for (tool, quantity), group in groupby(sorted(cases, key=tool_and_quantity), tool_and_quantity):
        some = list(group)
        fewest = min(case.digits for case in some)
        names = abbreviate([case.name for case in some if not case.passed])
        rows.append((tool, quantity, len(some), fewest, f"FAILED: {names}" if names else ""))
    headers = ("other program", "quantity", "cases", "digits", "")
    print(tabulate(rows, headers=headers, disable_numparse=True))
    print("digits: the fewest decimals that agree, or significant digits of values above 1")
