"""metrics: privacy metrics of one score file, or of two arrays of scores."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.score_formats import KEY_FORMATS, SCORE_FORMATS
from .options import (
    METRICS,
    Options,
    add,
    add_metric,
    choice,
    flag,
    log,
    path,
)

if TYPE_CHECKING:
    from ..io.scores import PairedTrials
    from ..metrics import Variant
    from ..stages.privacy_metrics import ConditionMetrics

SCORES = path("F", "score file; - is stdin")

EXAMPLE = "--scores scores --trials data/libri_test_trials_f/trials --bootstrap 1000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--scores", **SCORES)
    either.add_argument("--target", **path("NPY", "array of target scores, with --nontarget"))
    parser.add_argument("--nontarget", **path("NPY", "array of nontarget scores"))
    parser.set_defaults(usage_error=parser.error)
    add_files(parser)
    add(parser, *METRICS)
    add_metric(parser)


def add_files(options: Options) -> None:
    """Add the options for input files and output."""
    options.add_argument("--trials", **path("F", "trial key, if the scores have no labels"))
    keys = choice(tuple(KEY_FORMATS), "format of the trial key; default: detected")
    options.add_argument("--key-format", **keys)
    options.add_argument("--speakers", **flag("also the EER of each enrolled speaker"))
    options.add_argument("--distance", **flag("the scores are distances: negate them"))
    add(options, "--variant")
    formats = "text or json: output format; others: format of the scores (default: detected)"
    options.add_argument(
        "--format",
        action=_Format,
        choices=["text", "json", *SCORE_FORMATS],
        default="text",
        help=formats,
        metavar="FORMAT",
    )


class _Format(argparse.Action):
    """Option for the output format and, if repeated, the format of the scores."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        name = "score_format" if values in SCORE_FORMATS else self.dest
        setattr(namespace, name, values)


def read_paired(arguments: argparse.Namespace, allow_missing: bool) -> PairedTrials:
    """Read scores and labels in any format; log the format if it is not Kaldi's."""
    from ..io.scores import pair, read_scores, read_trials

    path = Path("/dev/fd/0") if arguments.scores == Path("-") else arguments.scores
    named = getattr(arguments, "score_format", None)
    scores = read_scores(path, format=named, distance=arguments.distance)
    if named is None and scores.format != "kaldi":
        log(f"privacy-eval: {path}: read as the format {scores.format}")
    if arguments.trials is None:
        return pair(scores, scores.key())
    return pair(
        scores,
        read_trials(arguments.trials, format=arguments.key_format),
        allow_missing=allow_missing,
    )


def _of_arrays(arguments: argparse.Namespace) -> ConditionMetrics:
    """Compute the metrics of two arrays of scores, without speaker labels."""
    from ..io.arrays import read_score_array
    from ..metrics import TrialScores
    from ..stages.privacy_metrics import evaluate_scores

    if arguments.bootstrap:
        arguments.usage_error(
            "--bootstrap resamples speakers, which arrays do not identify: intervals of "
            "independent trials would be far too narrow"
        )
    sign = -1 if arguments.distance else 1
    arrays = (read_score_array(path) for path in (arguments.target, arguments.nontarget))
    return evaluate_scores(TrialScores(*(sign * array.astype(float) for array in arrays)))


def run(arguments: argparse.Namespace) -> int:
    """Print the metrics of a score file or, only as the verb `metrics`, of two arrays."""
    given = vars(arguments)
    if given.get("target") is None:
        if given.get("nontarget") is not None:
            arguments.usage_error("--nontarget goes with --target")
        return _run_on_file(arguments)
    if arguments.nontarget is None:
        arguments.usage_error("--target goes with --nontarget")
    if of_files := [
        n for n in ("trials", "key_format", "utt2spk", "allow_missing", "speakers") if given[n]
    ]:
        arguments.usage_error(f"--{of_files[0].replace('_', '-')} goes with --scores")
    _show(arguments, _of_arrays(arguments), {})
    return 0


def _run_on_file(arguments: argparse.Namespace) -> int:
    from ..io.scores import OPEN_END
    from ..stages.privacy_metrics import evaluate_trials
    from .inputs import metric_options

    options = metric_options(arguments, Path())
    trials = read_paired(arguments, options.allow_missing)
    utt2spk = options.utt2spk or (arguments.trials or arguments.scores).parent / "utt2spk"
    found = evaluate_trials(trials, options, utt2spk)
    for file in trials.ends_open:
        log(f"privacy-eval: warning: {file}: {OPEN_END}")
    if trials.missing or trials.extra:
        log(
            f"privacy-eval: left out {trials.missing} trials without a score and "
            f"{trials.extra} scores without a trial"
        )
    more: dict[str, object] = {}
    if options.allow_missing:
        more = {"trials_without_score": trials.missing, "scores_without_trial": trials.extra}
    if arguments.speakers:
        more["speakers"] = _speakers(trials)
    _show(arguments, found, more)
    return 0


def _speakers(trials: PairedTrials) -> list[dict[str, object]]:
    """Compute the EER of each enrolled speaker, and log how many have too few trials."""
    from ..io.schema import to_plain
    from ..metrics.eer import speaker_eers

    speakers = trials.speaker.tolist()
    found = speaker_eers(trials.score, trials.is_target, speakers)
    few = len(set(speakers)) - len(found)
    if few:
        log(f"privacy-eval: no EER of {few} speakers with fewer than 10 targets or no nontargets")
    return [to_plain(speaker) for speaker in found]


def _show(arguments: argparse.Namespace, found: ConditionMetrics, more: Mapping[str, Any]) -> None:
    """Print metrics and intervals, with the additional fields `more`."""
    from ..io.schema import to_plain
    from ..metrics import VARIANTS, withholding_caveat
    from ..metrics.eer import eer_percent

    metrics, tags, intervals = found.metrics, found.tags, found.intervals
    scores = found.scores
    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    if arguments.format == "json":
        plain: dict[str, object] = {"n_target": scores.n_target, "n_nontarget": scores.n_nontarget}
        plain["caveats"] = found.caveats
        for variant in variants:
            plain[variant] = {**to_plain(metrics[variant]), "zebra_tag": tags[variant]}
        if intervals:
            plain["intervals"] = to_plain({v: intervals[v] for v in variants})
        print(json.dumps({**plain, **more}, indent=1, allow_nan=False))
        return
    for variant in variants:
        title = [variant] if len(variants) > 1 else []
        title += ["95 % intervals over speakers"] if intervals else []
        if title:
            print(f"# {', '.join(title)}")
        for line in _lines(found, variant):
            print(line)
    for reason in dict.fromkeys(
        caveat.reason
        for key in metrics[variants[0]]
        if (caveat := withholding_caveat(found.caveats, key)) is not None
    ):
        print(f"caveat: {reason}")
    for speaker in more.get("speakers", ()):
        print(f"EER of {speaker['speaker']}, at most 50 %: {eer_percent(speaker['eer'])}%")


def _lines(found: ConditionMetrics, variant: Variant) -> list[str]:
    """Format a line per metric: name, value, unit and interval, in columns."""
    from tabulate import tabulate

    from ..metrics import Evaluation

    scores, tag = found.scores, found.tags[variant]
    counts = scores.n_target, scores.n_nontarget
    intervals = found.intervals.get(variant, {})
    one = Evaluation(found.metrics[variant], tag, *counts, variant, found.caveats, intervals)
    rows = [list(row.values()) for row in one.to_rows()]
    return tabulate(rows, tablefmt="plain", disable_numparse=True).splitlines()
