"""The verb export: results.txt, CSV or averages from results.json."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import write_text
from ..results.averages import averages, summary_text
from ..results.challenge_text import to_results_txt
from ..results.csv_export import to_csv
from ..results.json_store import read_json
from .options import Verbs, log


def add_verbs(verbs: Verbs) -> None:
    """The verb that writes results.json in other forms."""
    exporting = verbs.add_parser("export", help="results.txt, CSV or averages from results.json")
    exporting.set_defaults(verb=_export)
    exporting.add_argument("results", type=Path, metavar="results.json")
    exporting.add_argument(
        "--format", choices=["results.txt", "csv", "averages"], default="results.txt"
    )
    exporting.add_argument("--system", metavar="NAME", help="default: the only one")
    exporting.add_argument(
        "--results-folder", default="", metavar="SUFFIX", help="which of the plan's folders"
    )
    exporting.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: stdout")


def _export(arguments: argparse.Namespace) -> int:
    results = read_json(arguments.results)
    systems = results.systems
    system = arguments.system or (systems[0] if len(systems) == 1 else None)
    if arguments.format == "csv":
        text = to_csv(results if arguments.system is None else results.of(arguments.system))
    elif system not in systems:
        raise PrivacyEvalError(
            f"{arguments.results}: holds the systems {', '.join(systems)}; choose one of them "
            "with --system"
        )
    elif arguments.format == "averages":
        found = averages(results.of(system))
        text = summary_text(found)
        for average in found:
            if average.value is None:
                log(f"privacy-eval: {average.title}: not known, a part of it is missing")
    elif arguments.results_folder not in results.results_folders(system):
        folders = ", ".join(repr(f) for f in results.results_folders(system))
        raise PrivacyEvalError(
            f"{arguments.results}: {system} has no results folder {arguments.results_folder!r}, "
            f"only {folders}: --results-folder"
        )
    else:
        text = to_results_txt(results, system, arguments.results_folder)
    if arguments.output is None:
        print(text, end="")
    else:
        write_text(arguments.output, text)
    return 0
