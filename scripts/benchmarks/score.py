"""Metrics of scores, and what reads and pairs them."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics import VARIANTS, TrialScores, score_metrics, speaker_bootstrap
from privacy_eval.metrics.pairing import pair
from privacy_eval.metrics.trials import Trials
from privacy_eval.simulate import ScoreModel, simulate_trials

from .measuring import Measure, Row, process, processor, program
from .trials import crossed, shuffled, trial_blocks, write_files

#: A program of a few lines that reads, joins and takes one EER.
SCRIPT = Path(__file__).with_name("one_eer.py")


def rows(scale: int) -> Iterator[Row]:
    """Metrics, pairing, whole commands, bootstrap."""
    for trials, share, decimals in itertools.product((10**6, 10**7), (0.1, 0.5), (None, 6, 2)):
        printed = "full precision" if decimals is None else f"{decimals} decimals"
        size = trials // scale
        yield Row(
            f"metrics, both variants, {size:.0e} trials, {share:.0%} targets, {printed}",
            "argsort",
            (5.0,),
            partial(metrics, size, share, decimals),
            checked=trials == 10**6,
        )
    lines = 10**6 // scale
    for order, is_shuffled in (("same order", False), ("shuffled", True)):
        work = f"reading and pairing, {lines:.0e} lines, {order}"
        yield Row(work, "bytes.split", (1.2,), partial(pairing, lines, is_shuffled))
    for order, is_shuffled, goals in (
        ("same order", False, (0.45, 0.25)),
        ("shuffled", True, (0.55, 0.4)),
    ):
        yield Row(
            f"privacy-eval metrics, {lines:.0e} lines, {order}",
            "Polars' join, one EER of scikit-learn",
            goals,
            partial(whole_command, lines, is_shuffled),
            packages=("polars", "sklearn"),
        )
    for library in GROUPED:
        work = f"a frame of {library}, {lines:.0e} rows"
        yield Row(work, "its groupby", (1.5,), partial(frame, library, lines), packages=(library,))
    work = "privacy-eval metrics, 10000 lines, same order"
    yield Row(work, "import numpy", (3.0, 1.8), small_command)
    yield Row(
        "bootstrap, one replicate, both variants, 15300 trials",
        "metrics once",
        (0.3,),
        bootstrap,
    )


def metrics(trials: int, share: float, decimals: int | None, _: Path) -> tuple[Measure, Measure]:
    """Compute all score metrics in both variants against one argsort of the scores, which have no
    ties (decimals None), a few, or hardly anything else."""
    generator = np.random.default_rng(1)
    speakers = round(1 / share)
    drawn = simulated(speakers, trials // speakers**2, generator)
    # Whole speakers that follow each other would be read faster than trials in no order.
    order = generator.permutation(trials)
    scores, is_target = drawn.score[order], drawn.is_target[order]
    if decimals is not None:
        scores = scores.round(decimals)
    return (
        processor(lambda: metrics_of(TrialScores.from_labels(scores, is_target))),
        processor(lambda: np.argsort(scores)),
    )


def simulated(speakers: int, utterances: int, generator: np.random.Generator) -> Trials:
    """Draw trials of so many speakers, each with so many utterances, enrolled and spoken."""
    model = ScoreModel(separation=1.0, scale=10.0)
    sizes = {"enrolled": speakers, "speakers": speakers, "utterances": utterances}
    return simulate_trials(model, **sizes, generator=generator)


def metrics_of(scores: TrialScores) -> None:
    """Compute all metrics in both variants."""
    for variant in VARIANTS:
        score_metrics(scores, variant=variant)


def bootstrap(_: Path) -> tuple[Measure, Measure]:
    """Compute one replicate of all metrics, both variants, against the metrics once on sorted
    scores."""
    drawn = simulated(30, 17, np.random.default_rng(6))
    ordered = drawn.scores
    replicates = 100
    return (
        processor(lambda: speaker_bootstrap(drawn, replicates=replicates, seed=0), replicates),
        processor(lambda: metrics_of(TrialScores(ordered.target, ordered.nontarget))),
    )


def pairing(lines: int, is_shuffled: bool, folder: Path) -> tuple[Measure, Measure]:
    """Read and pair two files against splitting both, in one order, and comparing their ids."""
    aligned, key = write_files(folder, trial_blocks(lines))
    scores = shuffled(aligned) if is_shuffled else aligned

    def split_and_compare() -> None:
        a, b = key.read_bytes().split(), aligned.read_bytes().split()
        assert a[0::3] == b[0::3] and a[1::3] == b[1::3]

    def read_and_pair() -> None:
        pair(read_scores(scores), read_trials(key))

    return processor(read_and_pair), processor(split_and_compare)


def whole_command(lines: int, is_shuffled: bool, folder: Path) -> tuple[Measure, Measure]:
    """Compute all metrics of two files as a command, against a program for one EER."""
    scores, key = write_files(folder, [crossed(lines)])
    key = shuffled(key) if is_shuffled else key
    ours = program("metrics", "--scores", scores, "--trials", key)
    return process(ours), process([sys.executable, str(SCRIPT), str(scores), str(key)])


#: The number of rows of each pair of ids, by the frame's own library.
GROUPED: dict[str, Callable[[Any], object]] = {
    "pandas": lambda frame: frame.groupby(["enrolled", "utterance"]).size(),
    "polars": lambda frame: frame.group_by(["enrolled", "utterance"]).len(),
    "pyarrow": lambda table: table.group_by(["enrolled", "utterance"]).aggregate(
        [([], "count_all")]
    ),
}


def frame(library: str, rows: int, _: Path) -> tuple[Measure, Measure]:
    """Make trials of a data frame against its groupby of both ids."""
    block = crossed(rows)
    lines = [line.split() for line in block.key().decode().splitlines()]
    columns = {
        "enrolled": [line[0] for line in lines],
        "utterance": [line[1] for line in lines],
        "score": block.score,
        "label": block.is_target,
    }
    module = importlib.import_module(library)
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    return processor(lambda: Trials(table)), processor(lambda: GROUPED[library](table))


def small_command(folder: Path) -> tuple[Measure, Measure]:
    """Compute all metrics of two small files as a command, which is mostly its start."""
    scores, key = write_files(folder, [crossed(10_000)])
    ours = program("metrics", "--scores", scores, "--trials", key)
    return process(ours), process([sys.executable, "-c", "import numpy"])
