"""metrics: privacy metrics of one score file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from .options import METRICS, Options, add, log, path

if TYPE_CHECKING:
    from ..metrics import Interval


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_files(parser)
    add(parser, *METRICS)


def add_files(options: Options) -> None:
    """Add the files, and how their metrics are printed."""
    options.add_argument("--scores", required=True, **path("F", "score file"))
    options.add_argument("--trials", required=True, **path("F", "trial key"))
    add(options, "--variant", "--format")


def run(arguments: argparse.Namespace) -> int:
    from ..io.results_txt import format_metrics
    from ..io.schema import to_plain
    from ..io.scores import OPEN_END, pair, read_scores, read_trials
    from ..metrics import VARIANTS, withholding_caveat
    from ..stages.privacy_metrics import evaluate_trials
    from .inputs import options_of

    options = options_of(arguments, Path())
    trials = pair(
        read_scores(arguments.scores),
        read_trials(arguments.trials),
        allow_missing=options.allow_missing,
    )
    utt2spk = options.utt2spk or arguments.trials.parent / "utt2spk"
    found = evaluate_trials(trials, options, utt2spk)
    metrics, tags, intervals = found.metrics, found.tags, found.intervals
    scores = found.scores
    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    for file in trials.ends_open:
        log(f"privacy-eval: warning: {file}: {OPEN_END}")
    if trials.missing or trials.extra:
        log(
            f"privacy-eval: left out {trials.missing} trials without a score and "
            f"{trials.extra} scores without a trial"
        )
    if arguments.format == "json":
        plain: dict[str, object] = {"n_target": scores.n_target, "n_nontarget": scores.n_nontarget}
        plain["caveats"] = found.caveats
        for variant in variants:
            plain[variant] = {**to_plain(metrics[variant]), "zebra_tag": tags[variant]}
        if intervals:
            plain["intervals"] = to_plain({v: intervals[v] for v in variants})
        if options.allow_missing:
            plain["trials_without_score"] = trials.missing
            plain["scores_without_trial"] = trials.extra
        print(json.dumps(plain, indent=1, allow_nan=False))
        return 0
    for variant in variants:
        if len(variants) > 1:
            print(f"# {variant}")
        for line in format_metrics(metrics[variant], tags[variant], found.caveats):
            print(line)
        for p_target in ("0.01", "0.001"):
            print(f"minDCF(p-target={p_target}): {metrics[variant][f'min_dcf_{p_target}']:.4f}")
        for key, interval in intervals.get(variant, {}).items():
            caveat = withholding_caveat(found.caveats, key)
            if caveat is None or caveat.printed:
                print(f"95 % interval over speakers, {key}: {_interval_text(key, interval)}")
    return 0


def _interval_text(key: str, interval: Interval) -> str:
    from ..metrics.eer import eer_percent

    if key == "eer":
        return f"{eer_percent(interval.low)}% .. {eer_percent(interval.high)}%"
    if key == "rocch_eer":
        return f"{100 * interval.low:.3f}% .. {100 * interval.high:.3f}%"
    return f"{interval.low:.3f} .. {interval.high:.3f}"
