"""collect: results.json, results.csv, results.txt of a tree."""

from __future__ import annotations

import argparse
import textwrap

from ..errors import counted
from .options import add, add_tree, log

_ABSENT_SHOWN = 20
_LINE = 200  # longest line logged; results.json has the full text

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, "--allow-missing")


def run(arguments: argparse.Namespace) -> int:
    from ..report.notes import caveat_notes
    from ..results.outputs import write_outputs
    from ..results.signature import network_notes
    from ..stages.collect import (
        collect_experiment,
        outdated_scores,
        record_fingerprints,
        unusual_word_counts,
    )
    from .inputs import load_experiment, log_unsigned

    experiment = load_experiment(arguments)
    out = experiment.out
    log_unsigned(out, record_fingerprints(experiment)[1])
    results = collect_experiment(experiment, outdated_scores(experiment.asv))
    absent = results.not_evaluated
    for line in absent[:_ABSENT_SHOWN]:
        log(f"privacy-eval: left out: {textwrap.shorten(line, _LINE, placeholder=' ...')}")
    if len(absent) > _ABSENT_SHOWN:
        log(f"privacy-eval: left out: {len(absent) - _ABSENT_SHOWN} more, named in results.json")
    notes = [*caveat_notes(results.verification), *network_notes(results)]
    lines = ((record.condition, record.line) for record in results.recognition)
    notes += [f"{c.system} {text}" for c, text in unusual_word_counts(lines)]
    for note in notes:
        log(f"privacy-eval: warning: {note}")
    if not results.verification:
        log(f"privacy-eval: {out}: no evaluated conditions; nothing written")
        return 1
    write_outputs(results, out)
    print(
        f"{out}: results.json, results.csv, results.txt of "
        f"{counted(len(results.systems), 'system')}, "
        f"{counted(len(results.verification), 'condition')}, "
        f"{counted(len(results.similarity), 'voice similarity')}"
    )
    return 0
