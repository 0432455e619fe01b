"""Read what the options of a verb name: systems, protocol, models, x-vectors."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..asv.backend import PldaBackend
from ..asv.model_folder import BACKEND_FILES, load_backend
from ..errors import PrivacyEvalError, abbreviate
from ..io.confine import refuse_symlinks_below
from ..io.names import look_alike
from ..io.scp import Vectors, read_vectors
from ..protocol.protocol import Protocol, load_protocol
from ..speech.audio import AudioReader
from ..stages.access import AsvSystems, SystemUnderTest, TreeAccess, systems_under_test
from ..stages.collect import unsigned_records
from ..stages.freshness import UNSIGNED, Outcome, Run
from ..stages.jobs import Cost, needed_bytes
from ..stages.privacy_metrics import Options
from ..tree.conditions import System
from ..tree.discovery import (
    find_systems,
    parent_hint,
    sibling_results_folders,
    suffix_of_unmatched,
    tree_suffixes,
    unmatched_folders,
)
from .options import log, progress

IN_PLACE = "in place"


def systems_of(
    arguments: argparse.Namespace, *, needed: bool = True, warn: bool = True
) -> tuple[list[System], Protocol, Path]:
    """Return the systems, protocol and output folder that the options of a tree name.

    `warn`: log a warning of folders that match no condition, or may be no systems.
    """
    tree: Path = arguments.tree
    if not tree.is_dir():
        raise PrivacyEvalError(f"{tree}: no such folder (experiment tree)")
    protocol = load_protocol(arguments.conf, base=tree)
    results = tree / arguments.results
    out = tree / (arguments.out or arguments.results / "privacy_eval")
    if not needed and not results.exists():
        log(f"privacy-eval: {results}: not there yet (results folder){parent_hint(tree)}")
        return [], protocol, out
    refuse_symlinks_below(out, results)
    systems = find_systems(
        tree,
        results,
        protocol,
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
        keys=None if arguments.keys is None else tree / arguments.keys,
        allow_outside=arguments.allow_outside,
    )
    if needed and not systems:
        raise PrivacyEvalError(
            f"{results}: no results, expected folders ASV-<enrollment set>-<trial set> in it, or "
            f"folders results-* below that hold them{parent_hint(tree)}"
        )
    if warn:
        for parent, names in unmatched_folders(systems).items():
            guess = suffix_of_unmatched(names, protocol)
            log(
                f"privacy-eval: warning: {parent}: skipped {len(names)} folders that match no "
                f"condition of protocol {protocol.name} (check --conf and --anon-suffix): "
                f"{abbreviate(names)}"
                + (f"; to evaluate those of another suffix: --anon-suffix {guess}" if guess else "")
            )
        for group in look_alike(system.name for system in systems):
            log(f"privacy-eval: warning: names of systems look alike: {', '.join(group)}")
        for parent, names in sibling_results_folders(systems, results).items():
            log(
                f"privacy-eval: warning: {parent}: {abbreviate(names)} are treated as separate "
                "systems; move aside any that are not"
            )
    return systems, protocol, out


def access_of(arguments: argparse.Namespace) -> TreeAccess:
    """Return where files of a tree are, and what may be read."""
    tree: Path = arguments.tree
    return TreeAccess(
        tree,
        tree / arguments.results,
        keys=None if arguments.keys is None else tree / arguments.keys,
        allow_pipes=getattr(arguments, "allow_pipes", False),
        allow_outside=arguments.allow_outside,
        allow_missing=getattr(arguments, "allow_missing", False),
    )


def log_memory(costs: Sequence[Cost]) -> None:
    """Log the memory that a job needs, before it begins and may be killed for want of it."""
    gib = needed_bytes(costs) / 2**30
    log(f"privacy-eval: this job needs about {gib:.1f} GiB of memory")


def options_of(arguments: argparse.Namespace, base: Path) -> Options:
    return Options(
        bootstrap=arguments.bootstrap,
        seed=arguments.seed,
        allow_missing=arguments.allow_missing,
        utt2spk=None if arguments.utt2spk is None else base / arguments.utt2spk,
    )


def asv_of(
    arguments: argparse.Namespace, protocol: Protocol, systems: list[System] | None = None
) -> tuple[AsvSystems, list[SystemUnderTest], list[str]]:
    """Return the ASV systems of a tree, the systems under test, and why others are left alone.

    `systems`: those of the results folder, if they are known already.
    """
    access = access_of(arguments)
    wanted, present = arguments.anon_suffix, tree_suffixes(access.tree, protocol)
    if wanted is not None and present and wanted not in present:
        log(
            f"privacy-eval: warning: {access.tree / 'data'}: no data set with anonymization suffix "
            f"{wanted!r}; is it --anon-suffix {present[0]}?"
        )
    found, notes = systems_under_test(
        access,
        protocol,
        systems=systems,
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
    )
    return AsvSystems(access, protocol), found, notes


def log_unsigned(systems: list[System], asv: AsvSystems, out: Path) -> None:
    """Log how many records do not count, as somebody else made them."""
    names = unsigned_records(systems, asv, out)
    if names:
        log(
            f"privacy-eval: {out / 'records'}: {len(names)} records do not count and are "
            f"recomputed: {UNSIGNED}: {abbreviate(names)}"
        )


def run_of(arguments: argparse.Namespace) -> Run:
    """Return how a stage runs."""
    job = getattr(arguments, "job", None)
    announce = log_memory if job else None
    return Run(job or (1, 1), getattr(arguments, "nj", 1), announce=announce, progress=progress())


def load_model(arguments: argparse.Namespace) -> PldaBackend | None:
    if arguments.backend != "plda":
        return None
    if arguments.model is None:
        raise PrivacyEvalError("the back end plda needs --model, a folder with plda in it")
    stored = load_backend(arguments.model)
    for name in BACKEND_FILES[1:]:
        if name not in stored.sha256:
            log(f"privacy-eval: {arguments.model}: no {name}, continuing without it")
    return stored.model


def read_vectors_of(arguments: argparse.Namespace, path: Path) -> Vectors:
    return read_vectors(
        path,
        tree=arguments.scp_base or arguments.tree,
        allow_pipes=arguments.allow_pipes,
        allow_outside=arguments.allow_outside,
    )


def audio_of(arguments: argparse.Namespace, *, mix: bool = False) -> AudioReader:
    """Return the reader of a data folder's audio."""
    return AudioReader(
        arguments.data,
        base=arguments.scp_base,
        mix=mix,
        allow_pipes=arguments.allow_pipes,
        allow_outside=arguments.allow_outside,
    )


def log_remarks(reader: AudioReader) -> None:
    """Log what there is to say of the utterances that were read."""
    for remark, names in reader.remarks.items():
        log(f"privacy-eval: warning: {remark}: utterances: {len(names)} ({abbreviate(names)})")


def report_outcome(outcome: Outcome, what: str, done: str) -> None:
    """Log what became of the products of a stage, and print their numbers."""
    left_out = [f"{name}: {text}" for name, text in outcome.left_out.items()]
    rebuilt = [f"{name}: changed: {text}" for name, text in outcome.rebuilt.items()]
    for text, lines in (
        ("external, kept", outcome.kept),
        ("rebuilt", rebuilt),
        ("made without some of their input", left_out),
        ("note", outcome.notes),
    ):
        if lines:
            log(f"privacy-eval: {text}: {len(lines)}:")
            for line in lines:
                log(f"  {line}")
    by_kind: dict[str, list[str]] = {}
    for error in outcome.missing.values():
        by_kind.setdefault(error.kind, []).append(error.where)
    for kind, places in by_kind.items():
        log(
            f"privacy-eval: {len(places)} {what} not {done}, no {kind}: "
            + abbreviate(list(dict.fromkeys(places)))
        )
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    made = {done: outcome.made, "current": outcome.current}
    if done == IN_PLACE:  # what the jobs before made is current by now
        made = {done: [*outcome.made, *outcome.current]}
    counts = {
        **made,
        "external": outcome.kept,
        "missing an input": outcome.missing,
        "failed": outcome.failed,
    }
    print(f"{what}: " + ", ".join(f"{len(names)} {text}" for text, names in counts.items()))
