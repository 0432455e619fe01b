"""The verb `gate`, and the statement of the verb `report`."""

from __future__ import annotations

import argparse

from ..cli.options import Options, print_json
from ..errors import PrivacyEvalError, UsageError, abbreviate, counted, printable
from ..io.files import write_text
from ..options import choice, path

VERBS: dict[str, Options] = {
    "gate": {
        "example": "--policy policy.yaml exp/results.json --junit gate.xml",
        "shared": "confirm",
        "results": path("results.json"),
        "--policy": path("FILE", "rules, a YAML file", required=True),
        "--system": {"help": "judge only this system; default: all of them"},
        "--junit": path("FILE", "write JUnit XML for a build server"),
        "--markdown": path("FILE", "write a summary in Markdown"),
        "--format": choice(["text", "json"], default="text"),
    },
}


def write_statement(arguments: argparse.Namespace) -> int:
    """Write the statement of `report --statement`."""
    from ..cli.inputs import report_sources
    from ..io.evidence import ComparedGroups, InferredAttribute, SpeechAmount, read_evidence
    from ..numbers.report_data import read_report_data
    from ..report.tables_and_report import Publication
    from . import statement

    if arguments.out.suffix not in (".html", ".md"):
        raise UsageError(f"--out: {arguments.out}: expected a name that ends in .html or .md")
    read = [one for file in arguments.evidence for one in read_evidence(file)]
    data = Publication(public=True).data(read_report_data(report_sources(arguments, needed=True)))
    systems = len(data.results.systems)
    if not 1 <= systems <= statement.MOST_SYSTEMS:
        raise UsageError(
            f"--statement: about one to {statement.MOST_SYSTEMS} systems, not "
            f"{counted(systems, 'system')} (--system NAME)"
        )
    evidence = statement.Evidence(
        tuple(one for one in read if isinstance(one, InferredAttribute)),
        tuple(one for one in read if isinstance(one, SpeechAmount)),
        tuple(one for one in read if isinstance(one, ComparedGroups)),
    )
    title = arguments.title or statement.statement_title(data)
    parts = statement.statement_parts(data, evidence)
    as_html = arguments.out.suffix == ".html"
    compose = statement.statement_html if as_html else statement.statement_markdown
    write_text(arguments.out, compose(title, parts))
    print(arguments.out)
    return 0


#: Exit codes by decision; 2 also for an unreadable policy or results, and wrong usage.
EXIT = {"PASS": 0, "FAIL": 1, "ERROR": 2, "UNDECIDED": 3}


def run_gate(arguments: argparse.Namespace) -> int:
    """Print the verdict; anything that hinders it is exit code 2, never that of a decision."""
    try:
        return _run(arguments)
    except PrivacyEvalError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror or error}") from error


def _run(arguments: argparse.Namespace) -> int:
    from ..results.json_store import read_results
    from .gate import judge, read_policy
    from .verdict import verdict_junit, verdict_markdown, verdict_text

    _remove_old(arguments)
    policy = read_policy(arguments.policy)
    results = read_results(arguments.results).confirm(arguments.confirm)
    if arguments.system is not None:
        results = results.selected([arguments.system])
    verdict = judge(policy, results)
    if arguments.junit is not None:
        of = f"{printable(arguments.policy.stem)}: {abbreviate(results.systems)}"
        write_text(arguments.junit, verdict_junit(verdict, of))
    if arguments.markdown is not None:
        write_text(arguments.markdown, verdict_markdown(verdict))
    if arguments.format == "json":
        rules = [rule.to_dict() for rule in verdict.rules]
        print_json({"decision": verdict.decision, "rules": rules})
    else:
        print(verdict_text(verdict), end="")
    return EXIT[verdict.decision]


def _remove_old(arguments: argparse.Namespace) -> None:
    """Remove the files of an earlier run, so that none shows its verdict after an error."""
    inputs = {arguments.policy.resolve(), arguments.results.resolve()}
    for out in (arguments.junit, arguments.markdown):
        if out is not None and out.resolve() in inputs:
            raise UsageError(f"{out} is an input")
        if out is not None and out.is_file():
            out.unlink()
