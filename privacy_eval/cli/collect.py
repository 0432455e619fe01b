"""collect: results.json, results.csv, results.txt of a tree."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, abbreviate, counted
from .options import add, add_tree, flag, log, progress

if TYPE_CHECKING:
    from pathlib import Path

    from ..results.records import Results

_FAILED = "failed: "
_SHOWN, _LINE = 10, 200  # lines logged, and their length; left_out.txt has the full text

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, "--allow-missing", "--confirm")
    names = "name speakers who are not of a challenge's data, instead of S1, S2, ..."
    parser.add_argument("--speaker-names", **flag(names))


def run(arguments: argparse.Namespace) -> int:
    from ..products.freshness import bring_up_to_date
    from ..stages.collect import (
        outdated_scores,
        record_fingerprints,
        record_products,
        results_product,
    )
    from .inputs import exit_code, load_experiment, log_notes, log_unsigned

    experiment = load_experiment(arguments)
    out, inputs, records = experiment.out, experiment.asv.access.inputs, record_products(experiment)
    log_unsigned(out, record_fingerprints(records, inputs, progress())[1])
    stale = outdated_scores(experiment.asv, progress())
    product = results_product(
        experiment,
        records,
        stale,
        lambda results: _remarks(results, out),
        confirm=arguments.confirm,
        speaker_names=arguments.speaker_names,
    )
    outcome = bring_up_to_date([product], inputs)
    outcome.raise_failed()
    *notes, summary = [note.removeprefix(f"{out}: ") for note in outcome.notes]
    failed = [note.removeprefix(_FAILED) for note in notes if note.startswith(_FAILED)]
    code = exit_code(arguments, dict.fromkeys(failed, ""))
    if failed:
        log(f"privacy-eval: {counted(len(failed), 'result')} failed: {abbreviate(failed)}")
    log_notes(note for note in notes if not note.startswith(_FAILED))
    print(f"{out}: {summary}" + ", current" * bool(outcome.current))
    return code


def _remarks(results: Results, out: Path) -> list[str]:
    """Return what failed, what was left out, warnings, and last a summary.

    Raises
    ------
    PrivacyEvalError
        There is no evaluated condition.
    """
    from ..protocol.protocol import LEARNT
    from ..report.notes import caveat_notes
    from ..results.signature import comparability_notes

    remarks = [f"{_FAILED}{line}" for line in results.failures]
    left_out = results.not_evaluated
    shown = (textwrap.shorten(line, _LINE, placeholder=" ...") for line in left_out[:_SHOWN])
    remarks += [f"left out: {line}" for line in shown]
    if more := len(left_out[_SHOWN:]):
        remarks.append(f"left out: {more} more, named in {out / 'left_out.txt'}")
    notes = [*caveat_notes(results.verification), *comparability_notes(results)]
    remarks += [f"warning: {note}" for note in notes if f": {LEARNT} " not in note]
    if not results.verification:
        for remark in remarks[:_SHOWN]:
            log(f"privacy-eval: {remark}")
        raise PrivacyEvalError(
            f"{out}: no evaluated conditions; nothing written, so results that are there are "
            "of an earlier run (stage 6 evaluates)"
        )
    counts = (
        counted(len(results.systems), "system"),
        counted(len(results.verification), "condition"),
        counted(len(results.similarity), "voice similarity"),
    )
    return [*remarks, f"results.json, results.csv, results.txt of {', '.join(counts)}"]
