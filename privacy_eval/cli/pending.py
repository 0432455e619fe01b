"""The verb that says where the recipe has to begin.

Run again, a recipe would start a dozen processes only to find that nothing changed. This
finds it out in one, by the content of the files, as the stages themselves do, and reads
every set of x-vectors once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import PrivacyEvalError
from ..protocol.protocol import bundled
from ..report.figure_folder import figure_folder
from ..stages.asv_scores import make_scores
from ..stages.collect import outdated_scores, outputs
from ..stages.freshness import Run
from ..stages.privacy_metrics import evaluate
from ..stages.similarity import make_similarities
from ..stages.subsets import make_subsets
from .collect import collected
from .options import Verbs, add_options, add_tree, asv_of, log, natural, options_of, systems_of
from .report import drawn_from_results, report_product
from .tables import tables_product

_FIRST, _LAST = 5, 10


def add_verbs(verbs: Verbs) -> None:
    """The verb that says where the recipe has to begin."""
    pending = verbs.add_parser(
        "pending", help="the first stage of the recipe, from 5 on, that has anything to do"
    )
    pending.set_defaults(verb=_pending)
    add_tree(pending)
    add_options(pending)
    pending.add_argument(
        "--allow-pipes", action="store_true", help="run commands that stand in scp files"
    )
    pending.add_argument("--stage", type=natural, default=_FIRST, metavar="N", help="first stage")
    pending.add_argument(
        "--stop-stage", type=natural, default=_LAST, metavar="N", help="last stage"
    )
    pending.add_argument("--published", metavar="NAME", help="published results beside")
    pending.add_argument("--conventional", action="store_true", help="ECE, APE plots and so on")
    pending.add_argument(
        "--subjective", type=Path, metavar="DIR", help="a listening test that the report has"
    )


def _pending(arguments: argparse.Namespace) -> int:
    """Print the first stage that has anything to do or to say; the one after the last where
    none has."""
    first = max(arguments.stage, _FIRST)
    try:
        stages = _Stages(arguments)
        while first <= min(arguments.stop_stage, _LAST) and not stages.work[first]():
            first += 1
    except PrivacyEvalError as error:
        log(f"privacy-eval: from stage {first} on: {error}")
    print(first)
    return 0


class _Stages:
    """Whether there is anything to do in each stage, or anything to say: dry runs of it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._systems, self._protocol, self._out = systems_of(arguments)
        self._asv, self._under_test, self._notes = asv_of(arguments, self._protocol, self._systems)
        self._access = self._asv.access
        self._run = Run(dry_run=True)
        self._stale: Mapping[str, str] | None = None
        self.work: Mapping[int, Callable[[], bool]] = {
            5: self._scores,
            6: self._metrics,
            7: self._similarity,
            8: self._outputs,
            9: self._tables,
            10: self._figures,
        }

    def _scores(self) -> bool:
        if self._notes:
            return True
        suffixes = list(dict.fromkeys(system.anon_suffix for system in self._under_test))
        subsets = make_subsets(self._access, self._protocol, suffixes=suffixes, dry_run=True)
        scores = make_scores(self._under_test, self._asv, self._run)
        self._stale = {}  # or else there is something to do
        return bool(subsets.made or scores.has_work or scores.left_out)

    def _metrics(self) -> bool:
        return evaluate(
            self._systems,
            self._out,
            tree=self._access.tree,
            options=options_of(self._arguments, self._access.tree),
            run=self._run,
            inputs=self._access.inputs,
        ).has_work

    def _similarity(self) -> bool:
        names = [system.name for system in self._under_test]
        outcome = make_similarities(self._systems, names, self._asv, self._out, self._run)
        return bool(outcome.has_work or outcome.left_out)

    def _outputs(self) -> bool:
        if self._stale is None:
            self._stale = outdated_scores(self._under_test, self._asv)
        results = collected(self._systems, self._out, self._asv, self._stale)
        product = outputs(results, self._out)
        return bool(results.not_evaluated) or not product.is_current(self._access.inputs)

    def _tables(self) -> bool:
        return not tables_product(self._shown).is_current(self._access.inputs)

    def _figures(self) -> bool:
        shown = self._shown
        drawn_from = drawn_from_results(shown, conventional=self._arguments.conventional)
        if not figure_folder(shown.figures, drawn_from).is_current(self._access.inputs):
            return True
        return not report_product(shown).is_current(self._access.inputs)

    @property
    def _shown(self) -> argparse.Namespace:
        """What the recipe tells the verbs that make tables, figures and report."""
        conf = self._arguments.conf
        return argparse.Namespace(
            results=[self._out / "results.json"],
            conf=conf if conf in bundled() else str(self._access.tree / conf),
            published=self._arguments.published,
            style="challenge",
            format=None,
            rank_by="eer",
            attack_model=None,
            out=self._out / "tables",
            figures=self._out / "figures",
            subjective=self._arguments.subjective,
            output=self._out / "report.html",
        )
