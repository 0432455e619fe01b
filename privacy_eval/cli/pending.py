"""The verb that says where the recipe has to begin.

Run again, a recipe would start a dozen processes only to find that nothing changed. This
finds it out in one, by the content of the files, as the stages themselves do, and reads
every set of x-vectors once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import cached_property

from ..errors import PrivacyEvalError
from ..io.confine import refuse_symlinks_below
from ..io.files import is_written
from ..listening.report import listening_key
from ..protocol.protocol import bundled
from ..report.data import ReportSources
from ..report.figure_folder import is_complete
from ..report.html import made_from as reported_from
from ..report.per_system import table_groups
from ..report.report import across_tables, figures_key, report_key
from ..report.table_set import LISTED_IN, table_files
from ..results.arrays import FIGURE_FORMATS
from ..results.records import Results
from ..stages.asv_scores import Models, Scored, find_targets, make_scores, stale_scores
from ..stages.collect import output_files
from ..stages.privacy_metrics import evaluate
from ..stages.recipe import number_of
from ..stages.similarity import make_similarities
from ..stages.subsets import make_subsets
from .collect import collected
from .inputs import options_of, place_of, systems_of
from .options import METRICS, add, add_listening, add_tree, log, natural
from .report import log_notes, read_shown

_FIRST, _LAST = number_of("asv_scores"), number_of("report")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, *METRICS, "--allow-pipes", "--published", "--conventional")
    parser.add_argument("--stage", type=natural, default=_FIRST, metavar="N", help="first stage")
    parser.add_argument("--stop-stage", type=natural, default=_LAST, metavar="N", help="last stage")
    add_listening(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the first stage that has anything to do or to log, else the one after the last.

    Before a first run that is the first one asked for.
    """
    first = max(arguments.stage, _FIRST)
    tree, results = arguments.tree, arguments.tree / arguments.results
    out = tree / (arguments.out or results / "privacy_eval")
    refuse_symlinks_below(out, results)
    if not out.is_dir():
        print(first)
        return 0
    try:
        stages = _Stages(arguments)
        while first <= min(arguments.stop_stage, _LAST) and not stages.work[first]():
            first += 1
    except PrivacyEvalError as error:
        log(f"privacy-eval: from stage {first} on: {error}")
    print(first)
    return 0


class _Stages:
    """Whether there is anything to do in each stage, or anything to say."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._systems, self._config, self._out = systems_of(arguments)
        self._place = place_of(arguments)
        self._targets, self._notes = find_targets(
            self._place, self._config, name=arguments.system, anon_suffix=arguments.anon_suffix
        )
        self._models = Models(self._place, self._config)
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
            number_of(name): query for name, query in queries.items()
        }

    def _scores(self) -> bool:
        if self._notes:
            return True
        suffixes = {target.anon_suffix: None for target in self._targets}
        made = make_subsets(
            self._place.tree,
            self._config,
            suffixes=list(suffixes),
            allow_outside=self._place.allow_outside,
            dry_run=True,
        )
        scored = make_scores(
            self._targets, self._place, self._config, models=self._models, dry_run=True
        )
        self._stale = {}  # or else there is something to do
        return bool(made.made) or _something(scored)

    def _metrics(self) -> bool:
        outcome = evaluate(
            self._systems,
            self._out,
            tree=self._place.tree,
            options=options_of(self._arguments, self._place.tree),
            dry_run=True,
        )
        return bool(outcome.computed or outcome.failures)

    def _similarity(self) -> bool:
        return _something(
            make_similarities(
                self._systems,
                [target.name for target in self._targets],
                self._place,
                self._config,
                self._out,
                models=self._models,
                dry_run=True,
            )
        )

    def _outputs(self) -> bool:
        files = output_files(self._results)
        return bool(self._results.not_evaluated) or not is_written(
            self._out, files, listed_in=".results.list"
        )

    def _tables(self) -> bool:
        across, notes = across_tables(read_shown(self._shown))
        log_notes(notes)
        files = table_files(table_groups(self._results, across), self._results.protocol.title)
        return not is_written(self._out / "tables", files, listed_in=LISTED_IN)

    def _figures(self) -> bool:
        sources, figures = self._shown, self._out / "figures"
        made_from = figures_key(sources, conventional=self._arguments.conventional)
        if not is_complete(figures, made_from, FIGURE_FORMATS):
            return True
        test = self._arguments.listening
        key = report_key(sources, figures, listening_key(test) if test is not None else ())
        return reported_from(self._out / "report.html") != key

    @cached_property
    def _results(self) -> Results:
        if self._stale is None:
            self._stale = stale_scores(self._targets, self._models)
        return collected(self._systems, self._out, self._models, self._stale)

    @property
    def _shown(self) -> ReportSources:
        """What the recipe makes tables, figures and report of."""
        conf = self._arguments.conf
        return ReportSources(
            (self._out / "results.json",),
            conf if conf in bundled() else str(self._place.tree / conf),
            self._arguments.published or "",
        )


def _something(scored: Scored) -> bool:
    """Whether anything would be made, or said of what cannot be."""
    return bool(scored.made or scored.failed or scored.lacking or scored.left_out)
