"""gate: judge results by a policy: pass, fail or undecided."""

from __future__ import annotations

import argparse

from ..errors import PrivacyEvalError, UsageError, abbreviate, printable
from .options import add, path, print_json

EXAMPLE = "--policy policy.yaml exp/results.json --junit gate.xml"

#: Exit codes by decision; 2 also for an unreadable policy or results, and wrong usage.
EXIT = {"PASS": 0, "FAIL": 1, "ERROR": 2, "UNDECIDED": 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("results", **path("results.json"))
    parser.add_argument("--policy", required=True, **path("FILE", "rules, a YAML file"))
    add(parser, "--confirm")
    add(parser, "--system", help="judge only this system; default: all of them")
    parser.add_argument("--junit", **path("FILE", "write JUnit XML for a build server"))
    parser.add_argument("--markdown", **path("FILE", "write a summary in Markdown"))
    add(parser, "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict; anything that hinders it is exit code 2, never that of a decision."""
    try:
        return _run(arguments)
    except PrivacyEvalError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror or error}") from error


def _run(arguments: argparse.Namespace) -> int:
    from ..io.files import write_text
    from ..numbers.gate import judge, read_policy
    from ..report.verdict import verdict_junit, verdict_markdown, verdict_text
    from ..results.json_store import read_results

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
