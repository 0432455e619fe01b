"""Verbs of reviewers, and of those who answer for personal data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..choices import grouped
from ..cli.options import Options, print_found, progress
from ..errors import counted
from ..options import flag, path
from ..report.single_files import Found, text_table

if TYPE_CHECKING:
    from ..report.table import Table
    from .changes import Change

_FILES = "folder that the paths in results.json are relative to; default: its own, or one above"
_AGAINST = "compare with these results instead: what changed beyond noise"
_FAIL = "exit 1 if a number changed beyond noise, for continuous integration"
_DELETE = "delete vectors, models and caches, after they were listed; `verify` then lacks them"

VERBS: dict[str, Options] = {
    "verify": {
        "example": "recipes/demo/work/results/results.json --files recipes/demo/work",
        "shared": "format nj",
        "rules": (
            ("files", "!against", "--files and --against exclude each other"),
            ("fail_on_change", "against", "--fail-on-change goes with --against"),
        ),
        "results": path("results.json", "or the folder that has it"),
        "--files": path("DIR", _FILES),
        "--against": path("OLDER.json", _AGAINST),
        "--fail-on-change": flag(_FAIL),
    },
    "inventory": {
        "example": "recipes/demo/work",
        "shared": "format details",
        "folder": path("DIR", "experiment tree, or folder with results.json"),
        "--delete": flag(_DELETE),
    },
}


def run_verify(arguments: argparse.Namespace) -> int:
    """Compute numbers again, or compare them with earlier ones; return the exit code."""
    from ..products.freshness import Run
    from .verify import DIFFERS, name_of, verify

    if arguments.against is not None:
        return _compare(arguments)
    found = verify(arguments.results, arguments.files, Run(nj=arguments.nj, progress=progress()))
    kinds = grouped(found.numbers, lambda number: number.kind)
    counts = {
        kind: {state: len(numbers) for state, numbers in _by_state(of).items()}
        for kind, of in kinds.items()
    }
    cells = [{"kind": k, **{s: str(n) for s, n in of.items()}} for k, of in counts.items()]
    tables = [text_table("verify", f"{arguments.results}: {found.sentence}", {"": cells})]
    wrong = [number for number in found.numbers if number.state == DIFFERS]
    if wrong:
        lines = [
            {
                "number": name_of(number.row),
                "differs": number.why or "value",
                "stated": _entries(number.row, number.why),
                "computed": _entries(number.again, number.why),
            }
            for number in wrong
            if number.again
        ]
        causes = [f"{name_of(n.row, 2)}: {n.why}" for n in wrong if not n.again]
        tables.append(text_table("verify_numbers", "Numbers that differ", {"": lines}, causes))
    if found.files:
        files = [{"file": name, "state": state} for name, state in found.files.items()]
        tables.append(text_table("verify_files", "Named files", {"": files}))
    rows = [
        {**n.row, "state": n.state, "computed": n.again.get("value"), "why": n.why or None}
        for n in found.numbers
    ]
    plain = {"sentence": found.sentence, "kinds": counts, "files": found.files, "numbers": wrong}
    plain["left_out"] = found.left_out
    print_found(Found(plain, rows, tables), arguments.format)
    return 0 if found.passed else 1


def _compare(arguments: argparse.Namespace) -> int:
    from .changes import BEYOND, OTHER_MODEL, SAME, WITHIN, changes, sentence

    numbers, notes = changes(arguments.results, arguments.against)
    left, states = (WITHIN, SAME, OTHER_MODEL), _by_state(numbers)
    said, shown = sentence(numbers), {s: of for s, of in states.items() if s not in left}
    tables = [_table_of_changes(said, shown, notes)]
    rows = [
        {**n.row, "against": "older", "value": n.difference, "low": n.low, "high": n.high}
        | {"se": n.se, "p": n.p, "p_corrected": n.p_corrected, "state": n.state, "test": n.test}
        for n in numbers
    ]
    plain = {"sentence": said, "notes": notes, "numbers": rows}
    print_found(Found(plain, rows, tables), arguments.format)
    return 1 if arguments.fail_on_change and BEYOND in states else 0


def _table_of_changes(sentence: str, shown: dict[str, list[Change]], notes: Sequence[str]) -> Table:
    from ..results.measurements import metric_of
    from .verify import name_of

    def cells(number: Change) -> dict[str, str]:
        metric = metric_of(number.row["metric"])
        tested = {} if number.p_corrected is None else {"p (Holm)": f"{number.p_corrected:.2g}"}
        both = {"older": number.older, "newer": number.row["value"], "change": number.difference}
        printed = {name: metric.format(value, detailed=True) for name, value in both.items()}
        bounds = None if number.low is None else (number.low, number.high)
        ends = {"95 % interval": metric.interval(bounds, detailed=True)} if bounds else {}  # type: ignore[arg-type]
        named = {"number": name_of(number.row), "unit": metric.printed_unit, **printed, **ends}
        return {**named, **tested, "test": number.test}

    groups = {state: [*map(cells, of)] for state, of in shown.items()}
    return text_table("changes", sentence, groups, notes)


def run_inventory(arguments: argparse.Namespace) -> int:
    """List files with personal data, and delete some of them on request."""
    from .inventory import SPARED, delete, inventory

    files, links = inventory(arguments.folder)
    kinds = grouped(files, lambda file: file["kind"])
    cells = [
        {
            "kind": kind,
            "files": str(len(of)),
            "MB": f"{sum(file['size'] for file in of) / 1e6:.1f}",
            "with --delete": "deleted" if kind in SPARED else "kept",
        }
        for kind, of in kinds.items()
    ]
    total = sum(file["size"] for file in files) / 1e6
    said = f"{counted(len(files), 'file')} with personal data, {total:.1f} MB"
    notes = [f"{counted(links, 'link')} not followed"] * bool(links)
    tables = [text_table("inventory", f"{arguments.folder}: {said}", {"": cells}, notes)]
    if arguments.details:
        lines = {
            kind: [{"file": file["path"], "bytes": str(file["size"])} for file in of]
            for kind, of in kinds.items()
        }
        tables.append(text_table("inventory_files", "Files", lines))
    print_found(Found({"files": files, "links": links}, files, tables), arguments.format)
    if arguments.delete:
        arguments.ending.append(f"{counted(delete(arguments.folder, files), 'file')} deleted")
    return 0


def _entries(row: Mapping[str, Any], names: str) -> str:
    return ", ".join(_text(row.get(name)) for name in names.split(", "))


def _by_state(numbers: Sequence[Any]) -> dict[str, list[Any]]:
    return grouped(numbers, lambda number: number.state)


def _text(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
