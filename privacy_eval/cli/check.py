"""check: missing inputs, mismatches and implausible scores of a tree."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError
from .options import add, add_tree, flag, path, print_json, progress

if TYPE_CHECKING:
    from ..check import Report
    from ..check.audio import AudioAudit
    from ..stages.access import AsvSystems

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="exit 0 even if something cannot be evaluated; accept trials without a score",
    )
    add(parser, "--details", "--confirm")
    parser.add_argument(
        "--quick", action="store_true", help="do not read score files (about 1 s per 10^6 trials)"
    )
    audio = "also audit the anonymized audio: faults, duplicates, tags, original speech still in it"
    parser.add_argument("--audio", **flag(audio))
    table = "where to write what --audio found, a row per utterance"
    parser.add_argument("--audio-table", **path("CSV", table))
    add(parser, "--nj", help="processes of --audio; default: 1")
    rows = "csv, json: a row per team and problem; default: text"
    add(parser, "--format", choices=["text", "csv", "json"], help=rows)


def run(arguments: argparse.Namespace) -> int:
    from ..check import ERROR, Row, check_tree
    from ..io.csv_text import csv_text
    from ..stages.access import AsvSystems, new_system
    from ..stages.measures import owners_of, write_audits
    from .inputs import load_systems, tree_access

    if arguments.audio_table is not None and not arguments.audio:
        raise UsageError("--audio-table goes with --audio")
    systems, protocol, out = load_systems(arguments, needed=False, warn=False)
    access = tree_access(arguments)
    asv = AsvSystems(access, protocol)
    new = new_system(
        access,
        protocol,
        name=arguments.system,
        anon_suffix=(arguments.anon_suffix or [None])[0],
    )
    report = check_tree(
        systems,
        asv,
        new,
        read=not arguments.quick,
        out=out,
        confirm=arguments.confirm,
        progress=progress(),
    )
    if arguments.audio:
        pairs = [(s.anon_suffix, s.name) for s in systems] or [(new.anon_suffix, new.name)]
        report, audit = _with_audio(arguments, report, asv, owners_of(pairs))
        if systems:
            known = [(team, pair, found) for team, pair, found in audit.sets if team and found]
            write_audits(asv, out, [system.name for system in systems], known)
    rows = report.rows(details=arguments.details)
    if arguments.format == "csv":
        print(csv_text([Row._fields, *rows]), end="")
    elif arguments.format == "json":
        print_json([row._asdict() for row in rows])
    else:
        print(report.summary())
        print(
            f"protocol: {protocol.title} ({protocol.name}); tree: {access.tree}; "
            f"results: {access.results}"
        )
        print("\n".join(report.lines(access.tree, details=arguments.details)))
        if arguments.quick:
            print("score files were not read (--quick)")
    return 1 if report.number(ERROR) and not arguments.allow_missing else 0


def _with_audio(
    arguments: argparse.Namespace, report: Report, asv: AsvSystems, owners: Mapping[str, str]
) -> tuple[Report, AudioAudit]:
    """Add the findings of the audit of audio, and write its table; also return the audit."""
    from ..check.audio import audit_tree
    from ..io.files import write_text

    audit = audit_tree(asv, owners, jobs=arguments.nj, progress=progress())
    if arguments.audio_table is not None:
        write_text(arguments.audio_table, audit.table())
    return replace(report, findings=[*report.findings, *audit.findings]), audit
