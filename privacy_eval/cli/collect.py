"""collect: results.json, results.csv, results.txt of a tree."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, counted
from .options import add, add_metric, add_tree, log

if TYPE_CHECKING:
    from ..results.records import Results
    from ..stages.access import AsvSystems
    from ..tree.conditions import System

_ABSENT_SHOWN = 20
_LINE = 200  # characters that are logged; results.json has all

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, "--allow-missing")
    add_metric(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..report.values import caveat_notes
    from ..results.signature import network_notes
    from ..stages.collect import noted_records, outdated_scores, write_outputs
    from .inputs import asv_of, log_unsigned, systems_of

    systems, protocol, out = systems_of(arguments)
    asv, under_test, _ = asv_of(arguments, protocol, systems)
    log_unsigned(out, noted_records(systems, asv, out)[1])
    results = collected(systems, out, asv, outdated_scores(under_test, asv))
    absent = results.not_evaluated
    for line in absent[:_ABSENT_SHOWN]:
        log(f"privacy-eval: left out: {textwrap.shorten(line, _LINE, placeholder=' ...')}")
    if len(absent) > _ABSENT_SHOWN:
        log(f"privacy-eval: left out: {len(absent) - _ABSENT_SHOWN} more, named in results.json")
    for note in (*caveat_notes(results.verification), *network_notes(results)):
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


def collected(
    systems: list[System], out: Path, asv: AsvSystems, stale: Mapping[str, str]
) -> Results:
    """Return all that `results.json` holds; `stale` as of `collect`."""
    from dataclasses import replace

    from ..check import not_evaluated
    from ..results.records import IdentificationRecord, SimilarityRecord
    from ..stages.collect import collect, current_records
    from ..stages.identification import identification_products
    from ..stages.similarity import similarity_products

    access, protocol = asv.access, asv.protocol
    results = collect(
        systems,
        out,
        protocol,
        tree=access.tree,
        partial=access.allow_missing,
        stale=stale,
        inputs=access.inputs,
    )
    similarity, changed = current_records(
        similarity_products(systems, asv, out), SimilarityRecord, access.inputs
    )
    identification, stale_galleries = current_records(
        identification_products(systems, asv, out), IdentificationRecord, access.inputs
    )
    changed += stale_galleries
    if changed and not access.allow_missing:
        raise PrivacyEvalError(
            f"{out}: compute voice similarity and identification again (or leave them out with "
            "--allow-missing): " + "; ".join(changed)
        )
    absent = not_evaluated(systems, asv, similarity)
    return replace(
        results,
        similarity=tuple(similarity),
        identification=tuple(identification),
        not_evaluated=(*results.not_evaluated, *changed, *absent),
    )
