"""pending: print the first stage of the recipe with work to do.

A repeated run of the recipe would start a dozen processes only to find that nothing has
changed. This verb checks it in one process, by file content as the stages do, and reads
every set of x-vectors once.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, UsageError
from ..stages.recipe import stage_number
from .options import (
    METRICS,
    add,
    add_listening,
    add_metric,
    add_selection,
    add_tree,
    choice,
    flag,
    log,
    natural,
    positive,
    value,
)

if TYPE_CHECKING:
    from ..numbers.report_data import ReportSources
    from ..protocol.protocol import Protocol
    from ..stages.access import Experiment

_FIRST, _LAST = stage_number("asv_scores"), stage_number("report")

EXAMPLE = "--tree baseline --results exp --stage 6"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, *METRICS, "--allow-pipes", "--published", "--distractors")
    add(parser, "--all-figures", "--conventional", "--whiskers", "--table-style")
    add_selection(parser, "shown-")
    add_metric(parser)
    parser.add_argument("--stage", type=natural, default=_FIRST, metavar="N", help="first stage")
    parser.add_argument("--stop-stage", type=natural, default=_LAST, metavar="N", help="last stage")
    parser.add_argument("--nj", **value("N", "also print how many jobs to run", type=positive))
    parser.add_argument("--anonymizer", **value("NAME", "anonymizer of stage 4"))
    parser.add_argument("--only-options", **flag("only check the options; exit code 2 if invalid"))
    parser.add_argument("--extractor", **choice(["kaldi"], "x-vector extractor; default: built in"))
    add_listening(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the first stage with work to do or messages to log; if none, the last stage plus 1.

    Before a first run, print the first requested stage.
    """
    from .inputs import load_experiment

    # Read once, and only if needed.
    experiment = functools.cache(lambda: load_experiment(arguments, needed=False, warn=False))
    if (code := _check_options(arguments, experiment)) or arguments.only_options:
        return code
    first = _first_stage(arguments, experiment)
    in_parallel = arguments.nj is not None and first <= min(arguments.stop_stage, _LAST)
    print(first, *([_jobs(arguments, experiment)] if in_parallel else []))
    return 0


def _check_options(arguments: argparse.Namespace, experiment: Callable[[], Experiment]) -> int:
    """Check early what a run would read much later or once per job; return the exit code."""
    from ..protocol.protocol import load_protocol
    from ..protocol.published import load_systems

    tree = arguments.tree
    try:
        protocol = load_protocol(arguments.conf, base=tree)
    except PrivacyEvalError as error:
        log(f"privacy-eval: --conf: {error}")
        return 2 if isinstance(error, UsageError) else 1
    problems = _check_names(arguments, protocol, experiment)
    if arguments.published:
        try:
            load_systems(arguments.published)
        except PrivacyEvalError as error:
            problems.append(f"--published: {error}")
    if arguments.keys is not None and not (tree / arguments.keys).is_dir():
        problems.append(f"--keys: {tree / arguments.keys}: no such folder")
    if arguments.utt2spk is not None and not (tree / arguments.utt2spk).exists():
        problems.append(f"--utt2spk: {tree / arguments.utt2spk}: no such file")
    for problem in problems:
        log(f"privacy-eval: {problem}")
    return 2 if problems else 0


def _check_names(
    arguments: argparse.Namespace, protocol: Protocol, experiment: Callable[[], Experiment]
) -> list[str]:
    """Check the names of systems, data sets, results folders and anonymization suffixes in
    options."""
    from .identification import gallery_options
    from .inputs import load_asv_systems

    exists = (arguments.tree / arguments.results).exists()
    anonymizes = arguments.anonymizer and arguments.stage <= stage_number("anonymize")
    try:
        gallery_options(arguments)
        if exists and not anonymizes:
            experiment()
        else:
            load_asv_systems(arguments, protocol, anonymized=not anonymizes)
    except UsageError as error:
        return [str(error)]
    except PrivacyEvalError:  # the stage reports it
        pass
    return []


def _jobs(arguments: argparse.Namespace, experiment: Callable[[], Experiment]) -> int:
    """Return the number of jobs with work to do: at most the number of conditions with scores
    or with all inputs of their scores, or of voice similarities."""
    from ..stages.asv_scores import score_products
    from ..stages.similarity import similarity_products

    try:
        found = experiment()
        conditions = [c for system in found.systems for c in system.conditions if c.scores]
        scored = {f"{c.condition.system} {c.condition.label}" for c in conditions}
        scored |= {p.name for p in score_products(found.asv) if not p.absent()}
        similarities = [p for p in similarity_products(found) if not p.absent()]
        return min(int(arguments.nj), max(len(scored), len(similarities), 1))
    except PrivacyEvalError:  # the stage reports it
        return 1


def _first_stage(arguments: argparse.Namespace, experiment: Callable[[], Experiment]) -> int:
    from ..io.confine import refuse_symlinks_below

    first: int = max(arguments.stage, _FIRST)
    tree, results = arguments.tree, arguments.tree / arguments.results
    out = tree / (arguments.out or results / "privacy_eval")
    refuse_symlinks_below(out, results)
    if not (out / "records").is_dir():
        return first
    try:
        stages = _Stages(arguments, experiment())
        stages.announce(first)
        while first <= min(arguments.stop_stage, _LAST) and not stages.work[first]():
            first += 1
    except PrivacyEvalError as error:
        log(f"privacy-eval: from stage {first} on: {error}")
    return first


class _Stages:
    """Dry runs of the stages: whether each has work to do or messages to log."""

    def __init__(self, arguments: argparse.Namespace, experiment: Experiment) -> None:
        from ..products.freshness import Run
        from .inputs import require_systems, warn_of_folders

        self._arguments = arguments
        self._experiment, self._asv, self._out = experiment, experiment.asv, experiment.out
        self._systems, self._access = experiment.systems, experiment.asv.access
        require_systems(arguments, self._systems, self._asv.protocol)
        warn_of_folders(self._systems, self._access.results, self._asv.protocol)
        self._run = Run(dry_run=True)
        self._stale: Mapping[str, str] | None = None
        queries = {
            "asv_scores": self._scores,
            "privacy_metrics": self._metrics,
            "similarity": self._similarity,
            "collect": self._outputs,
            "tables": self._tables,
            "figures": self._figures,
        }
        self.work: Mapping[int, Callable[[], bool]] = {
            stage_number(name): query for name, query in queries.items()
        }

    def announce(self, first: int) -> None:
        """Log which results of earlier runs are not reused."""
        from ..results.outputs import made_by_user
        from ..stages.collect import record_fingerprints
        from ..stages.privacy_metrics import dropped_intervals
        from .inputs import log_unsigned, metric_options

        path = self._out / "results.json"
        if first > stage_number("collect") and path.exists() and not made_by_user(path):
            log(
                f"privacy-eval: warning: {path} was not made by this user's "
                f"recipe, and is shown as it is (--stage {stage_number('privacy_metrics')} "
                "recomputes it)"
            )
        if first > stage_number("privacy_metrics"):
            return
        noted, unsigned = record_fingerprints(self._experiment)
        log_unsigned(self._out, unsigned)
        dropped = dropped_intervals(noted, metric_options(self._arguments, self._access.tree))
        for replicates, records in dropped.items():
            log(
                f"privacy-eval: the previous run used --bootstrap {replicates}; without it, "
                f"{records} conditions lose their intervals of {replicates} replicates"
            )

    def _scores(self) -> bool:
        from ..stages.asv_scores import make_scores
        from ..stages.subsets import make_subsets
        from ..stages.train_backend import train_backends

        asv = self._asv
        if asv.notes:
            return True
        subsets = make_subsets(self._access, asv.protocol, suffixes=asv.suffixes, dry_run=True)
        vectors = self._vectors()
        trained = train_backends(asv, self._run)
        scores = make_scores(asv, self._run)
        self._stale = {}  # outdated scores would count as work below
        return bool(subsets.made or vectors or trained.made or scores.has_work or scores.left_out)

    def _vectors(self) -> bool:
        from ..stages.asv_scores import missing_vectors, vector_sets

        if self._arguments.extractor == "kaldi":
            return bool(missing_vectors(self._asv))
        if not vector_sets(self._asv):
            return False
        from ..stages.xvectors import make_vectors  # imports the audio reader

        return make_vectors(self._asv, self._run).has_work

    def _metrics(self) -> bool:
        from ..stages.privacy_metrics import evaluate_tree
        from .inputs import metric_options

        return evaluate_tree(
            self._systems,
            self._out,
            tree=self._access.tree,
            options=metric_options(self._arguments, self._access.tree),
            run=self._run,
            inputs=self._access.inputs,
        ).has_work

    def _similarity(self) -> bool:
        from ..stages.identification import make_identifications
        from ..stages.similarity import make_similarities
        from .identification import gallery_options

        options = gallery_options(self._arguments)
        outcome = make_similarities(self._experiment, self._run)
        outcome.add(make_identifications(self._experiment, self._run, options))
        return bool(outcome.has_work or outcome.left_out)

    def _outputs(self) -> bool:
        from ..results.outputs import outputs
        from ..stages.collect import collect_experiment, outdated_scores

        if self._stale is None:
            self._stale = outdated_scores(self._asv)
        results = collect_experiment(self._experiment, self._stale)
        product = outputs(results, self._out)
        return bool(results.not_evaluated) or not product.is_current(self._access.inputs)

    def _tables(self) -> bool:
        from ..report.products import TableOptions, tables_product

        options = TableOptions(self._arguments.table_style)
        product = tables_product(self._shown, self._out / "tables", options)
        return not product.is_current(self._access.inputs)

    def _figures(self) -> bool:
        from ..listening.report import listening_insert
        from ..report.figure_folder import figure_folder
        from ..report.products import report_product
        from ..report.report import figures_source

        sources, figures, listening = self._shown, self._out / "figures", self._arguments.listening
        drawn_from = figures_source(
            sources,
            conventional=self._arguments.conventional,
            whiskers=self._arguments.whiskers,
            everything=self._arguments.all_figures,
        )
        if not figure_folder(figures, drawn_from).is_current(self._access.inputs):
            return True
        insert = listening_insert(listening) if listening else None
        path = self._out / "report.html"
        report = report_product(sources, path, figures=figures, insert=insert)
        return not report.is_current(self._access.inputs)

    @property
    def _shown(self) -> ReportSources:
        """The sources of the recipe's tables, figures and report."""
        from ..numbers.report_data import ReportSources
        from ..protocol.protocol import bundled

        conf = self._arguments.conf
        return ReportSources(
            (self._out / "results.json",),
            conf if conf in bundled() else str(self._access.tree / conf),
            self._arguments.published or "",
            self._arguments.shown_variant,
            tuple(self._arguments.shown_system or ()),
        )
