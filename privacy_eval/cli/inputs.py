"""Load the inputs named by options: systems, protocol, models, x-vectors."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import DEMO_MARKER, grouped
from ..errors import FIRST, PrivacyEvalError, UsageError, abbreviate, counted, in_job, printable
from ..io.files import Inputs
from ..io.names import look_alike
from ..options import fill
from ..products.freshness import UNSIGNED, Outcome, Product, Run, bring_up_to_date, record_failures
from ..protocol.protocol import Protocol, load_protocol
from ..stages.access import INPUTS, AsvSystems, Experiment, TreeAccess, systems_under_test
from ..tree.conditions import System
from ..tree.discovery import (
    attacker_problems,
    check_suffixes,
    find_systems,
    parent_hint,
    sibling_results_folders,
    suffix_of_unmatched,
    teams_without_systems,
    unmatched_folders,
)
from ..wings import installed
from .jobs import Jobs
from .options import LOGGED, beginnings, log, log_once, output_folder, progress

if TYPE_CHECKING:
    from ..asv.backend import PldaBackend
    from ..io.vectors import Vectors
    from ..numbers.report_sources import ReportSources


def load_systems(
    arguments: argparse.Namespace, *, needed: bool = True, warn: bool = True
) -> tuple[list[System], Protocol, Path]:
    """Return the systems, protocol and output folder that the options of a tree name.

    `warn`: warn about folders that match no condition or may not be systems.
    """
    tree: Path = arguments.tree
    if not tree.is_dir():
        raise PrivacyEvalError(f"{tree}: no such folder (experiment tree)")
    protocol = load_protocol(arguments.conf, base=tree)
    protocol = protocol.simulated() if (tree / DEMO_MARKER).is_file() else protocol
    results = tree / arguments.results
    out = output_folder(arguments)
    if not needed and not results.exists():
        log(f"privacy-eval: {results}: does not exist yet (results folder){parent_hint(tree)}")
        return [], protocol, out
    systems = find_systems(
        tree,
        results,
        protocol,
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
        keys=None if arguments.keys is None else tree / arguments.keys,
        allow_outside=arguments.allow_outside,
    )
    hint = parent_hint(tree, results)
    if hint and not any(c.trials for system in systems for c in system.conditions):
        raise UsageError(f"{tree}: no trial keys{hint}")
    if needed:
        require_systems(arguments, systems, protocol)
    if warn:
        warn_of_folders(systems, results, protocol)
    return systems, protocol, out


def require_systems(
    arguments: argparse.Namespace, systems: list[System], protocol: Protocol
) -> None:
    """Raise an error if there are no systems, or neither data nor results with a suffix."""
    tree, results = arguments.tree, arguments.tree / arguments.results
    check_suffixes(arguments.anon_suffix or (), systems, tree, protocol)
    if not systems:
        raise PrivacyEvalError(
            f"{results}: no results, expected folders ASV-<enrollment set>-<trial set>, or "
            f"folders results-* that contain them{parent_hint(tree)}"
        )


def warn_of_folders(systems: list[System], results: Path, protocol: Protocol) -> None:
    """Warn about folders that match no condition or may not be systems, and look-alike names."""
    for parent, names in unmatched_folders(systems).items():
        guess = suffix_of_unmatched(names, protocol)
        log_once(
            f"privacy-eval: warning: {parent}: skipped {counted(len(names), 'folder')} "
            f"that match no condition of protocol {protocol.name} (check --conf and "
            f"--anon-suffix): {abbreviate(names)}"
            + (f"; to evaluate those of another suffix: --anon-suffix {guess}" if guess else "")
        )
    for folder in teams_without_systems(results, systems, protocol):
        log_once(
            f"privacy-eval: warning: {printable(str(folder))}: no scores of any system; left out"
        )
    for group in look_alike(system.name for system in systems):
        log_once(f"privacy-eval: warning: system names look alike: {', '.join(group)}")
    for parent, names in sibling_results_folders(systems, results).items():
        log_once(
            f"privacy-eval: warning: {parent}: {abbreviate(names)} are treated as separate "
            "systems; move aside any that are not"
        )
    for system, name, found in attacker_problems(systems, protocol):
        if found is not None:
            text = f"{found}: scores of no attacker of protocol {protocol.name}, left out"
        else:
            text = f"attacker of protocol {protocol.name} without scores"
        log_once(f"privacy-eval: warning: {text}: {system}: {name}")


def tree_access(arguments: argparse.Namespace) -> TreeAccess:
    """Return the paths of a tree, and which of its files may be read."""
    tree: Path = arguments.tree
    keys = None if arguments.keys is None else tree / arguments.keys
    return fill(TreeAccess, arguments, results=tree / arguments.results, keys=keys)


def load_asv_systems(
    arguments: argparse.Namespace,
    protocol: Protocol,
    systems: list[System] | None = None,
    *,
    anonymized: bool = True,
) -> AsvSystems:
    """Return the ASV systems of a tree.

    `systems`: those of the results folder, if already known; `anonymized`: whether their
    anonymized data sets should already exist.
    """
    access = tree_access(arguments)
    under_test, notes = systems_under_test(
        access,
        protocol,
        systems=systems,
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
        anonymized=anonymized,
    )
    return AsvSystems(access, protocol, under_test, notes)


def load_experiment(
    arguments: argparse.Namespace, *, needed: bool = True, warn: bool = True
) -> Experiment:
    """Return the experiment that the options of a tree name; arguments as for `load_systems`."""
    systems, protocol, out = load_systems(arguments, needed=needed, warn=warn)
    return Experiment(systems, out, load_asv_systems(arguments, protocol, systems))


def end_if_not_applicable(arguments: argparse.Namespace, protocol: Protocol, what: str) -> bool:
    """Tell and return whether a stage that scores x-vectors does not apply to the protocol."""
    if protocol.has_own_scoring:
        text = f"{what}: does not apply, as the evaluation of {protocol.name} computes the scores"
        arguments.ending.append(text)
    return protocol.has_own_scoring


def end_if_no_vectors(arguments: argparse.Namespace, asv: AsvSystems, what: str) -> bool:
    """Tell and return whether an edition with its own scoring left no x-vectors."""
    protocol = asv.protocol
    if not protocol.has_own_scoring or asv.has_saved_vectors():
        return False
    arguments.ending.append(
        f"{what}: does not apply, as the evaluation of protocol {protocol.name} left no x-vectors "
        f"({asv.access.results}/<model>/{protocol.speaker_vectors})"
    )
    return True


def log_unsigned(out: Path, names: Sequence[str]) -> None:
    """Log how many records are ignored because another user wrote or edited them."""
    if names:
        log(
            f"privacy-eval: {out / 'records'}: {counted(len(names), 'record')} not counted, and "
            f"recomputed: {UNSIGNED}, or edited since: {abbreviate(names)}"
        )


def report_sources(arguments: argparse.Namespace) -> ReportSources:
    """Return the results to show; raise an error if there are none."""
    from ..numbers.report_sources import ReportSources

    if not arguments.results and not arguments.published:
        raise PrivacyEvalError("nothing to show: neither --results nor --published is given")
    return ReportSources(
        tuple(arguments.results or ()),
        arguments.conf,
        arguments.published or "",
        arguments.variant,
        tuple(arguments.system or ()),
        arguments.by_strongest,
        tuple((arguments.utility or "").split(",")) if arguments.utility else (),
        tuple(arguments.confirm),
        (*arguments.tables, *(path for wing in installed() for path in wing.tables)),
    )


def write_products(products: Iterable[Product]) -> Iterator[tuple[Product, bool]]:
    """Write products that are not current, log their notes, and yield which were current."""
    for product in products:
        outcome = bring_up_to_date([product], Inputs())
        outcome.raise_failed()
        for note in outcome.notes:
            log_once(f"privacy-eval: {note}", note.removeprefix(f"{product.name}: "))
        yield product, bool(outcome.current)


def log_notes(notes: Iterable[str]) -> None:
    """Log notes for the user."""
    for note in notes:
        log_once(f"privacy-eval: {note}", note)


def chosen_attackers(arguments: argparse.Namespace, protocol: Protocol) -> set[str] | None:
    """Return the ids of the named attackers, see `select_attackers`; None: those run by default."""
    from ..stages.attackers import select_attackers

    named = arguments.attackers
    return None if named is None else select_attackers(protocol, named)


def run_settings(arguments: argparse.Namespace, *, nj: int = 1) -> Run:
    """Return the run settings of a stage.

    `nj`: processes without jobs.
    """
    job = arguments.job
    return Run(
        job or (1, 1),
        1 if arguments.cmd else nj,
        isolated=getattr(arguments, "isolate", False),
        start_jobs=Jobs(arguments) if arguments.cmd and not job else None,
        begin=beginnings(),
        progress=progress(),
    )


def load_model(arguments: argparse.Namespace) -> PldaBackend | None:
    from ..asv.inputs import BACKEND_FILES
    from ..asv.model_folder import load_backend

    if arguments.backend != "plda":
        return None
    if arguments.model is None:
        raise PrivacyEvalError("the back end plda needs --model, a folder that contains plda")
    stored = load_backend(arguments.model)
    for name in BACKEND_FILES[1:]:
        if name not in stored.sha256:
            log(f"privacy-eval: {arguments.model}: no {name}, continuing without it")
    return stored.model


def load_vectors(arguments: argparse.Namespace, path: Path, *, double: bool = False) -> Vectors:
    from ..io.vectors import read_vectors

    vectors = read_vectors(
        path,
        double=double,
        tree=arguments.scp_base or Path(),
        allow_pipes=arguments.allow_pipes,
        allow_outside=arguments.allow_outside,
    )
    return vectors.without_zeros() if vars(arguments).get("allow_missing") else vectors


def report_outcome(arguments: argparse.Namespace, outcome: Outcome, what: str) -> int:
    """Log the outcome of a stage, a line per kind of message; tell in its last line what there is,
    and return the exit code.

    Jobs log every item, as `--details` does.
    """
    left_out = [f"{name}: {text}" for name, text in outcome.left_out.items()]
    kept = what.removesuffix("s") if len(outcome.kept) == 1 else what
    rebuilt = [f"{name}: changed: {text}" for name, text in outcome.rebuilt.items()]
    for text, items in (
        (f"{kept} supplied or edited, used unchanged", outcome.kept),
        ("rebuilt", rebuilt),
        ("made without some of their input", left_out),
        (what, outcome.notes),
    ):
        log_items(arguments, text, items)
    for kind, names in grouped(outcome.missing, lambda name: outcome.missing[name].kind).items():
        where = {name: outcome.missing[name].where for name in names}
        places = abbreviate(list(dict.fromkeys(where.values())))
        log(f"privacy-eval: no {kind} for {len(where)} {what}: {places}")
        if arguments.details or in_job():
            log("\n".join(f"  {name}: {place}" for name, place in where.items()))
    causes = grouped(outcome.failed, lambda name: outcome.failed[name].partition(FIRST)[0])
    for names in causes.values():
        others = f" ({len(names)})" if len(names) > 1 else ""
        log(f"{abbreviate(names)}{others}: {outcome.failed[names[0]]}")
    arguments.ending.append(what_there_is(arguments, outcome, what))
    return exit_code(arguments, outcome.failed)


def what_there_is(arguments: argparse.Namespace, outcome: Outcome, what: str) -> str:
    """Say how many products there are, and what is missing; "" where there could be none."""
    made = len(outcome.made)
    kinds = dict.fromkeys(error.kind for error in outcome.missing.values())
    why = [f"no {kind}" for kind in kinds]
    why += ["stage 0 says how to get them"] * any(kind in INPUTS for kind in kinds)
    there = made + len(outcome.current)
    number = there + sum(map(len, (outcome.kept, outcome.missing, outcome.failed)))
    counts = {
        f"up to date{f' ({made} new)' * bool(made)}": there,
        "external": len(outcome.kept),
        f"of {number} missing ({'; '.join(why)})": len(outcome.missing),
        f"of {number} failed (see above)": len(outcome.failed),
    }
    said = ", ".join(f"{count} {text}" for text, count in counts.items() if count)
    return f"{what}: {said}" if said else ""


def exit_code(arguments: argparse.Namespace, failed: Mapping[str, str]) -> int:
    """Return the exit code of a stage, and record what failed in it for those that follow."""
    if not vars(arguments).get("job"):  # what fails in a job fails again in the stage
        more = LOGGED in os.environ or vars(arguments).get("recorded", False)  # than of this run
        record_failures(output_folder(arguments), arguments.verb, failed, more=more)
        arguments.recorded = True
    return 1 if failed else 0


def log_items(arguments: argparse.Namespace, title: str, items: Sequence[str]) -> None:
    """Log how many items there are, and the first five; in a job and with `--details` all.

    What is said of several names, in items of the form `NAME: TEXT`, is logged once, before these.
    """
    if items and (arguments.details or in_job()):
        log(f"privacy-eval: {len(items)} {title}:" + "".join(f"\n  {item}" for item in items))
    elif items:
        names_of: dict[str, list[str]] = {}
        for name, _, text in (item.partition(": ") for item in items):
            names_of.setdefault(text, []).append(name)
        said = [
            f"{text} ({abbreviate(names)})"
            if text and names[1:]
            else ": ".join(filter(None, (abbreviate(names), text)))
            for text, names in names_of.items()
        ]
        more = " (--details lists all)" if len(items) > 5 else ""
        log(f"privacy-eval: {len(items)} {title}: {abbreviate(said)}{more}")


def check_distractors(arguments: argparse.Namespace) -> None:
    """Refuse distractors that are no data set of the tree."""
    name, data = arguments.distractors, arguments.tree / "data"
    if name is not None and ("/" in name or not (data / name).is_dir()):
        raise UsageError(f"--distractors: {data}: no data set {name!r}")
