"""What the stages over a tree do: a function of each, which logs and returns the exit code."""

from __future__ import annotations

import argparse
import itertools
import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, abbreviate, counted, enumerated, missing_library
from ..options import fill
from ..products.freshness import Outcome, Product, bring_up_to_date
from ..protocol.protocol import LEARNT, Protocol, load_protocol
from ..stages.access import BACKEND, KEYS, VECTORS, Experiment
from ..stages.options import MetricOptions
from ..stages.recipe import every_stage, stages_of_wings
from ..tree.discovery import suffix_hint
from ..wings import provided, referred
from .inputs import (
    chosen_attackers,
    end_if_no_vectors,
    end_if_not_applicable,
    exit_code,
    load_asv_systems,
    load_experiment,
    log_items,
    log_notes,
    log_unsigned,
    report_outcome,
    run_settings,
    tree_access,
    what_there_is,
)
from .jobs import run_script
from .options import ENDING, Options, log, progress

if TYPE_CHECKING:
    from ..results.records import Results


_FAILED = "failed: "
_SHOWN, _LINE = 10, 200  # lines logged, and their length; left_out.txt has the full text


def _protocol(arguments: argparse.Namespace) -> Protocol:
    return load_protocol(arguments.conf, base=arguments.tree)


def make(
    arguments: argparse.Namespace,
    experiment: Experiment,
    planned: Iterable[Product],
    what: str,
) -> int:
    """Make what is planned, in the jobs that are asked for, and report the outcome."""
    outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
    return report_outcome(arguments, outcome, what)


def planned(arguments: argparse.Namespace, row: Options) -> int:
    """A stage of which only its plan is known, such as those of wings."""
    from ..stages.records import products_of_wing

    name = arguments.verb.replace("-", "_")
    what = next(stage.what for stage in every_stage() if name in stage.names)
    options = next((fill(kind, arguments) for kind in row.get("kinds", ())), None)
    experiment = load_experiment(arguments, warn=False)
    if name in stages_of_wings():
        products = products_of_wing(name, experiment, options)
    else:
        products = referred(row["plan"])(experiment, options)
    return make(arguments, experiment, products, what)


def data(arguments: argparse.Namespace) -> int:
    """Stage 1."""
    folders = ("data", "exp/models")
    missing = [name for name in folders if not (arguments.tree / name).is_dir()]
    there = f"{enumerated(folders)} are there; stage 0 says what they lack"
    where = f"{enumerated(missing)} missing: the text above says where to get them"
    arguments.ending.append(where if missing else there)
    return run_script("local/data.sh", f"--tree={arguments.tree}")


def train_backend(arguments: argparse.Namespace) -> int:
    """Stage 2."""
    from ..stages.asv_scores import train_backends

    protocol = _protocol(arguments)
    asv = load_asv_systems(arguments, protocol, anonymized=False)
    outcome = train_backends(asv, lda_dim=arguments.lda_dim)
    nothing = not any(vars(outcome).values())
    if nothing and end_if_not_applicable(arguments, protocol, "training of back ends"):
        return 0
    log_notes(asv.notes)
    return report_outcome(arguments, outcome, "back ends")


def subsets(arguments: argparse.Namespace) -> int:
    """Stages 3 and 5."""
    from ..stages.subsets import make_subsets

    protocol, suffixes = _protocol(arguments), [""]
    if arguments.anonymized:
        suffixes = load_asv_systems(arguments, protocol).suffixes
        if arguments.anon_suffix is None:  # derived from arbitrary folder names
            data = arguments.tree / "data"
            names = [path.name for path in data.glob("*") if path.is_dir()]
            unused = [s for s in suffixes if not any(name.endswith(s) for name in names)]
            suffixes = [s for s in suffixes if s not in unused]
            for suffix in unused:
                log(f"privacy-eval: {data}: no data set with suffix {suffix!r}")
    outcome = make_subsets(tree_access(arguments), protocol, suffixes=suffixes)
    log_items(arguments, "data folders", outcome.notes)
    log_items(arguments, *_not_made(arguments, outcome, protocol, suffixes))
    what = "anonymized data folders" if arguments.anonymized else "data folders"
    arguments.ending.append(what_there_is(arguments, outcome, what))
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    return exit_code(arguments, outcome.failed)


def _not_made(
    arguments: argparse.Namespace, outcome: Outcome, protocol: Protocol, suffixes: list[str]
) -> tuple[str, list[str]]:
    """Return title and items of the folders whose sources are missing.

    Anonymized ones without an original are left to stage 3, except with `--details`.
    """
    folders = {folder.name: folder for folder in protocol.folders}
    data_sets: Counter[str] = Counter()
    items = []
    for name, suffix in itertools.product(folders, suffixes):
        error = outcome.missing.get(name + suffix)
        has_original = (arguments.tree / "data" / name).is_dir()
        if error is None or (suffix and not has_original and not arguments.details):
            continue
        source = folders[name]
        while source.cut_from is None and source.combine[0] in folders:
            source = folders[source.combine[0]]
        data_sets[f"{source.cut_from or source.name}{suffix}"] += 1
        items.append(name + suffix + f": {error.where}" * arguments.details)
    counts = ", ".join(f"{name} {number}" for name, number in data_sets.items())
    return f"data folders not made, as their sources are missing ({counts})", items


def asv_scores(arguments: argparse.Namespace) -> int:
    """Stage 5."""
    from ..stages.asv_scores import make_scores, score_products

    protocol = _protocol(arguments)
    attackers = chosen_attackers(arguments, protocol)
    asv = load_asv_systems(arguments, protocol)
    log_notes(asv.notes)
    if not score_products(asv) and end_if_not_applicable(arguments, protocol, "score files"):
        return 0
    outcome = make_scores(asv, run_settings(arguments), attackers)
    needed = {n: e for n, e in outcome.missing.items() if e.kind.startswith((VECTORS, BACKEND))}
    code = report_outcome(arguments, outcome, "score files")
    if outcome.missing and (hint := suffix_hint(arguments.tree, protocol, asv.suffixes)):
        log(f"privacy-eval: {hint}")
    kinds = {error.kind for error in outcome.missing.values()}
    if KEYS in kinds:
        log("privacy-eval: --keys DIR names the folder of the trial keys")
    if VECTORS in kinds:
        where_from = " (stage 1 prints where to get it)" * (not protocol.has_own_scoring)
        log(
            "privacy-eval: stage 5 of the recipe extracts x-vectors of sets with a wav.scp, using "
            f"final.raw of the model folder{where_from} or --extractor; or "
            "provide xvector.scp, .npz, .npy, .h5 or speaker_vectors.pt at the path listed above"
        )
    if not needed or arguments.allow_missing:
        return code
    log("privacy-eval: --allow-missing continues without them")
    if outcome.made or outcome.current or outcome.kept:  # else there is nothing to go on with
        exit_code(arguments, {name: str(error) for name, error in needed.items()})
    return 1


def privacy_metrics(arguments: argparse.Namespace) -> int:
    """Stage 6."""
    from ..stages.privacy_metrics import GROUPS, WORD_ERRORS, evaluate_tree, without_intervals

    experiment = load_experiment(arguments)
    protocol, utt2spk = experiment.asv.protocol, arguments.utt2spk
    own = {
        "utt2spk": None if utt2spk is None else arguments.tree / utt2spk,
        "groups": protocol.groups,
        "ids": protocol.ids,
    }
    options = fill(MetricOptions, arguments, **own)
    if not arguments.job:
        _log_earlier_records(experiment, options)
    try:
        provided(GROUPS, needed=bool(options.groups))
    except PrivacyEvalError as error:
        log(f"privacy-eval: warning: {error}")
    outcome = evaluate_tree(
        experiment.systems,
        experiment.out,
        tree=arguments.tree,
        options=options,
        run=run_settings(arguments, nj=arguments.nj),
        inputs=experiment.asv.access.inputs,
    )
    wanted = options.bootstrap or options.groups
    unaligned = without_intervals(experiment.systems) if wanted else []
    if unaligned:
        what = f"{'intervals' if options.bootstrap else 'groups'} of word error rates"
        is_wing = provided(WORD_ERRORS, needed=False)
        why = missing_library(what, "kaldialign") if is_wing else f"{what}: not installed"
        log(f"privacy-eval: warning: {why}: none of {abbreviate(unaligned)}")
    _log_remarks(arguments, outcome.notes)
    told = replace(outcome, notes=[], left_out={})  # with the remarks
    code = report_outcome(arguments, told, "evaluated trial conditions")
    every = [c for system in experiment.systems for c in system.conditions]
    known = [c.scores is not None for c in every if c.condition.is_by_challenge]
    if missing := known.count(False):
        source = "the challenge's own evaluation" if protocol.has_own_scoring else "stage 5"
        text = f"{missing} of {len(known)} score files missing: {source} computes them"
        arguments.ending.append(text)
    return code


def _log_remarks(arguments: argparse.Namespace, remarks: Sequence[str]) -> None:
    """Log the remarks on records, those of one caveat together."""
    from ..stages.privacy_metrics import WARNING

    log_items(
        arguments, "conditions", [remark for remark in remarks if f": {WARNING}" not in remark]
    )
    conditions: dict[str, list[str]] = {}
    for remark in remarks:
        name, warning, reason = remark.partition(f": {WARNING}")
        if warning:
            conditions.setdefault(reason, []).append(name)
    for reason, names in conditions.items():
        number = counted(len(names), "condition")
        log(f"privacy-eval: {WARNING}{reason}: {number}: {abbreviate(names)}")


def _log_earlier_records(experiment: Experiment, options: MetricOptions) -> None:
    """Log which records of earlier runs are ignored, and which lose their intervals."""
    from ..stages.collect import record_fingerprints
    from ..stages.privacy_metrics import condition_products, dropped_intervals

    access = experiment.asv.access
    records = condition_products(experiment.systems, experiment.out, access.tree)
    fingerprints, unsigned = record_fingerprints(records, access.inputs, progress())
    log_unsigned(experiment.out, unsigned)
    for replicates, number in dropped_intervals(fingerprints, options).items():
        log(
            f"privacy-eval: the previous run used --bootstrap {replicates}; without it, "
            f"{number} conditions lose their intervals of {replicates} replicates"
        )


def similarity(arguments: argparse.Namespace) -> int:
    """Stage 7."""
    from ..stages.similarity import plan_similarity

    experiment = load_experiment(arguments)
    if end_if_no_vectors(arguments, experiment.asv, "voice similarity"):
        return 0
    log_notes(experiment.asv.notes)
    return make(arguments, experiment, plan_similarity(experiment, ()), "voice similarities")


def collect(arguments: argparse.Namespace) -> int:
    """Stage 8."""
    from ..stages import collect as collecting

    experiment = load_experiment(arguments)
    out, inputs, records = (
        experiment.out,
        experiment.asv.access.inputs,
        collecting.record_products(experiment),
    )
    log_unsigned(out, collecting.record_fingerprints(records, inputs, progress())[1])
    stale = collecting.outdated_scores(experiment.asv, progress())
    product = collecting.results_product(
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
    for note in failed[:_SHOWN] * (ENDING not in os.environ):  # a recipe names them at its end
        log(f"privacy-eval: failed: {note}")
    log_notes(note for note in notes if not note.startswith(_FAILED))
    arguments.ending.append(f"{out}/{summary}{' (unchanged)' * bool(outcome.current)}")
    if failed:
        arguments.ending.append(f"{len(failed)} results failed: {out / 'failed'} says why")
    return code


def _remarks(results: Results, out: Path) -> list[str]:
    """Return what failed, what was left out, warnings, and last a summary.

    Raises
    ------
    PrivacyEvalError
        There is no evaluated condition.
    """
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
        counted(len(results.verification), "trial condition"),
        counted(len(results.similarity), "voice similarity"),
    )
    summary = f"results.json, results.csv and results.txt hold {enumerated(counts)}"
    missing = f"; left_out.txt has {counted(len(left_out), 'note')} of what is missing"
    return [*remarks, summary + missing * bool(left_out)]
