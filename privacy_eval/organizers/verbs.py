"""Verbs of organizers: the check of a tree, and the zips of submissions."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cli.options import Options, log, print_json, progress
from ..cli.stages import TREE
from ..errors import OutputError, PrivacyEvalError, counted
from ..io.csv_text import csv_text
from ..io.names import check_name
from ..options import choice, flag, path
from ..wings import provided

if TYPE_CHECKING:
    from .findings import Finding

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
        "needs": {"audio": "audit"},
        "--allow-missing": {"help": _ALLOWED},
        "--quick": flag("do not read score files (about 1 s per million trials)"),
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
    from ..stages.access import AsvSystems, Experiment, new_system
    from .findings import ERROR, Row
    from .tree import check_tree

    audit = provided("audit") if arguments.audio else None
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
    if audit is not None:
        audited = (_finding(**one) for one in audit(arguments, Experiment(systems, out, asv), new))
        report = replace(report, findings=[*report.findings, *audited])
    rows = report.rows(details=arguments.details)
    if arguments.format == "csv":
        print(csv_text([Row._fields, *rows]), end="")
    elif arguments.format == "json":
        print_json([row._asdict() for row in rows])
    else:
        print(
            f"protocol: {protocol.title} ({protocol.name}); tree: {access.tree}; "
            f"scores: {access.results}"
        )
        lines = report.lines(access.tree, details=arguments.details)
        if not ((access.tree / "data").exists() or access.results.exists() or arguments.details):
            lines = ["nothing is here yet: get data and models of the challenge first"]
        print("\n".join(lines))
        if arguments.quick:
            print("score files were not read (--quick)")
        arguments.ending.append(report.summary())
    return 1 if report.number(ERROR) and not arguments.allow_missing else 0


def _finding(*, error: Exception | None = None, **of: Any) -> Finding:
    """Return the finding of a problem of audio, or of an error."""
    from .findings import Finding, failure

    return Finding(**of) if error is None else failure(error=error, **of)


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
