"""export: results.txt, CSV or averages from results.json."""

from __future__ import annotations

import argparse

from ..errors import PrivacyEvalError
from .options import add, log, path, value

EXAMPLE = "results.json --system B1 --out results.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("results", **path("results.json"))
    formats = ["results.txt", "csv", "averages"]
    parser.add_argument("--format", choices=formats, default="results.txt")
    add(parser, "--system", help="default: the only one")
    folder = value("SUFFIX", "results folder of the protocol", default="")
    parser.add_argument("--results-folder", **folder)
    parser.add_argument("--out", **path("FILE", "default: stdout"))


def run(arguments: argparse.Namespace) -> int:
    from ..io.files import write_text
    from ..numbers.challenge_averages import challenge_averages, summary_text
    from ..report.notes import caveat_notes
    from ..results.challenge_text import to_results_txt
    from ..results.json_store import read_results
    from ..results.outputs import to_csv
    from ..results.signature import comparability_notes

    results = read_results(arguments.results)
    for note in (*caveat_notes(results.verification), *comparability_notes(results)):
        log(f"privacy-eval: warning: {note}")
    systems = results.systems
    system = arguments.system or (systems[0] if len(systems) == 1 else None)
    if arguments.format == "csv":
        text = to_csv(results if arguments.system is None else results.of(arguments.system))
    elif system not in systems:
        raise PrivacyEvalError(
            f"{arguments.results}: contains the systems {', '.join(systems)}; choose one of them "
            "with --system"
        )
    elif arguments.format == "averages":
        averages = challenge_averages(results.of(system))
        text = summary_text(averages)
        for average in averages:
            if average.value is None:
                log(f"privacy-eval: {average.title}: undefined, as some of its values are missing")
    elif arguments.results_folder not in results.results_folders(system):
        folders = ", ".join(repr(f) for f in results.results_folders(system))
        raise PrivacyEvalError(
            f"{arguments.results}: {system} has no results folder {arguments.results_folder!r}, "
            f"only {folders}: --results-folder"
        )
    else:
        text = to_results_txt(results, system, arguments.results_folder)
    if arguments.out is None:
        print(text, end="")
    else:
        write_text(arguments.out, text)
    return 0
