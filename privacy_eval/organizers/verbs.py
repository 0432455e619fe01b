"""Verbs of organizers: the check of a tree, and the zips of submissions."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..cli.options import Options, log, print_json, progress
from ..cli.stages import TREE
from ..errors import OutputError, PrivacyEvalError, counted
from ..io.csv_text import csv_text
from ..io.files import write_text
from ..io.names import check_name
from ..options import choice, flag, path

if TYPE_CHECKING:
    from ..stages.access import AsvSystems
    from .audio import AudioAudit
    from .findings import Report

_ALLOWED = "exit 0 even if something cannot be evaluated; accept trials without a score"
_AUDIO = "also audit the anonymized audio: faults, duplicates, tags, original speech still in it"
_ROWS = "csv, json: a row per team and problem; default: text"
_ZIPS = "zips, or folders with zips in them: TEAM/NAME.zip becomes DIR/TEAM/NAME"

VERBS: dict[str, Options] = {
    "check": {
        **TREE,
        "example": "--tree baseline --results exp",
        "shared": f"{TREE['shared']} details confirm",
        "rules": (("audio_table", "audio", "--audio-table goes with --audio"),),
        "--allow-missing": {"help": _ALLOWED},
        "--quick": flag("do not read score files (about 1 s per 10^6 trials)"),
        "--audio": flag(_AUDIO),
        "--audio-table": path("CSV", "where to write what --audio found, a row per utterance"),
        "--nj": {"help": "processes of --audio; default: 1"},
        "--format": choice(["text", "csv", "json"], _ROWS),
    },
    "unpack-submissions": {
        "example": "submissions --exp exp",
        "zips": path("ZIP", _ZIPS, nargs="+"),
        "--exp": path("DIR", "results folder of all submissions", required=True),
    },
}


def run_check(arguments: argparse.Namespace) -> int:
    """Stage 0 of the recipe."""
    from ..cli.inputs import load_systems, tree_access
    from ..stages.access import AsvSystems, new_system
    from ..stages.measures import owners_of, write_audits
    from .findings import ERROR, Row
    from .tree import check_tree

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
    from .audio import audit_tree

    audit = audit_tree(asv, owners, jobs=arguments.nj, progress=progress())
    if arguments.audio_table is not None:
        write_text(arguments.audio_table, audit.table())
    return replace(report, findings=[*report.findings, *audit.findings]), audit


def run_unpack_submissions(arguments: argparse.Namespace) -> int:
    from .zips import unpack_zip

    targets: dict[Path, Path] = {}
    done = current = failed = 0
    for file, name in (pair for given in arguments.zips for pair in _zips(given)):
        try:
            _check_name(file, name, targets)
            targets[name] = file
            is_new = unpack_zip(file, arguments.exp / name, arguments.exp)
        except OutputError:
            raise
        except PrivacyEvalError as error:
            log(f"privacy-eval: {error}")
            failed += 1
        else:
            done, current = done + is_new, current + (not is_new)
    print(f"{arguments.exp}: {counted(done, 'zip')} unpacked, {current} current, {failed} refused")
    return 1 if failed else 0


def _zips(given: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a zip, or those in a folder, with the folder of each relative to all submissions."""
    if not given.is_dir():
        yield given, Path(given.stem)
        return
    for folder, below, names in os.walk(given):
        below.sort()
        for name in sorted(names):
            if name.lower().endswith(".zip") and not name.startswith("."):
                file = Path(folder, name)
                yield file, file.relative_to(given).with_suffix("")


def _check_name(file: Path, name: Path, targets: dict[Path, Path]) -> None:
    """Refuse a folder that would not be searched, would be taken for trial keys, or overlaps with
    that of another zip."""

    for part in name.parts:
        check_name(part, file)
    if any(part.startswith((".", "__MACOSX")) for part in name.parts) or not name.parts:
        raise PrivacyEvalError(f"{file}: folders of this name are not searched; rename it")
    if name.parts[0].startswith("keys-"):
        raise PrivacyEvalError(f"{file}: keys-* are folders of trial keys; rename it")
    for other, source in targets.items():
        if name == other or name in other.parents or other in name.parents:
            raise PrivacyEvalError(f"{file}: would be unpacked over {source}; rename one of them")
