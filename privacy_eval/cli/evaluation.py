"""Verbs from scores to tables: metrics, evaluate, collect, tables, import, export, check."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..check import check_tree, not_there
from ..errors import PrivacyEvalError, abbreviate
from ..io.files import digest, read_bytes, read_text, write_text
from ..io.results_txt import format_metrics
from ..io.schema import to_plain
from ..io.scores import pair, read_scores, read_trials
from ..metrics import VARIANTS, Interval
from ..metrics.eer import eer_percent
from ..protocol.protocol import load_protocol
from ..report.values import caveats
from ..results.averages import averages, summary_text
from ..results.challenge_text import import_results_txt, part_of_system, to_results_txt
from ..results.csv_export import to_csv
from ..results.json_store import read_json, to_json
from ..results.records import Results, merge
from ..simulate import DEMO_SIZES, write_demo_tree
from ..stages.asv_scores import Models, find_targets, stale_scores
from ..stages.collect import collect, write_outputs
from ..stages.privacy_metrics import Options, evaluate, evaluate_trials
from ..stages.similarity import collect_similarities
from ..tree.conditions import System
from .options import (
    Verbs,
    add_job,
    add_tree,
    log,
    natural,
    one_of,
    place_of,
    positive,
    progress,
    replicates,
    say_needed,
    systems_of,
)

_ABSENT_SHOWN = 20
_LINE = 200  # of what is said; results.json has all of it


def add_verbs(verbs: Verbs) -> None:
    """The verbs from scores to tables."""
    metrics = verbs.add_parser("metrics", help="all metrics of one score file")
    metrics.set_defaults(verb=_metrics)
    metrics.add_argument("--scores", required=True, type=Path, metavar="F")
    metrics.add_argument("--trials", required=True, type=Path, metavar="F", help="trial key")
    metrics.add_argument("--variant", choices=[*VARIANTS, "both"], default="both")
    metrics.add_argument("--format", choices=["text", "json"], default="text")
    add_options(metrics)

    evaluation = verbs.add_parser("evaluate", help="metrics of every condition of a tree")
    evaluation.set_defaults(verb=_evaluate)
    add_tree(evaluation)
    add_options(evaluation)
    evaluation.add_argument("--nj", type=positive, default=1, help="processes at once")
    add_job(evaluation)

    collection = verbs.add_parser("collect", help="results.json, results.csv, results.txt")
    collection.set_defaults(verb=_collect)
    add_tree(collection)
    collection.add_argument(
        "--allow-missing", action="store_true", help="leave out what is not evaluated, and say so"
    )

    importing = verbs.add_parser("import", help="results.json from the challenge's results.txt")
    importing.set_defaults(verb=_import)
    importing.add_argument("results_txt", type=Path, metavar="RESULTS.txt")
    importing.add_argument("--system", required=True, metavar="NAME")
    importing.add_argument("--conf", default="vpc2020", metavar="FILE")
    importing.add_argument(
        "--also",
        action="append",
        default=[],
        type=_suffixed_file,
        metavar="SUFFIX=FILE",
        help="the results.txt of another results folder of the plan, e.g. .orig=FILE",
    )
    importing.add_argument(
        "--results-folder",
        default="",
        metavar="SUFFIX",
        help="which of the plan's results folders RESULTS.txt is of, e.g. .orig",
    )
    importing.add_argument("--anon-suffix", metavar="SUFFIX")
    importing.add_argument("-o", "--output", required=True, type=Path, metavar="results.json")

    exporting = verbs.add_parser("export", help="results.txt, CSV or averages from results.json")
    exporting.set_defaults(verb=_export)
    exporting.add_argument("results", type=Path, metavar="results.json")
    exporting.add_argument(
        "--format", choices=["results.txt", "csv", "averages"], default="results.txt"
    )
    exporting.add_argument("--system", metavar="NAME", help="default: the only one")
    exporting.add_argument(
        "--results-folder", default="", metavar="SUFFIX", help="which of the plan's folders"
    )
    exporting.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: stdout")

    check = verbs.add_parser(
        "check", help="whether a tree is complete, what in it is odd, what it costs to evaluate"
    )
    check.set_defaults(verb=_check)
    add_tree(check)
    check.add_argument(
        "--allow-missing",
        action="store_true",
        help="exit 0 even where something cannot be evaluated; trials without a score are no error",
    )
    check.add_argument("--details", action="store_true", help="every item, not one screen")
    check.add_argument(
        "--quick", action="store_true", help="leave score files unread (a second per million lines)"
    )
    check.add_argument("--nj", type=positive, default=2, help="jobs that the cost is of (2)")
    check.add_argument(
        "--bootstrap", type=replicates, default=0, metavar="N", help="resamplings that it is of"
    )

    demo = verbs.add_parser("demo-tree", help="a simulated challenge tree")
    demo.set_defaults(verb=_demo_tree)
    demo.add_argument("directory", type=Path, metavar="DIR")
    demo.add_argument("--seed", type=natural, default=0)
    demo.add_argument("--conf", default="vpc2020", metavar="FILE")
    for name, size, text in (
        ("speakers", 12, "that try in every trial set; a third more are enrolled"),
        ("utterances", 12, "of each of them"),
        ("systems", 2, "B1, B2, S3, S4, ..."),
    ):
        demo.add_argument(
            f"--{name}",
            type=one_of(DEMO_SIZES[name]),
            default=size,
            metavar="N",
            help=f"{text} (default: {size})",
        )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap",
        type=replicates,
        default=0,
        metavar="N",
        help="95 %% intervals from N resamplings of speakers (at least 2; usual: 1000)",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="S")
    parser.add_argument("--utt2spk", type=Path, metavar="F", help="speakers of trial utterances")
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="leave out trials without a score and scores without a trial, and say so",
    )


def _metrics(arguments: argparse.Namespace) -> int:
    options = options_of(arguments, Path())
    trials = pair(
        read_scores(arguments.scores),
        read_trials(arguments.trials),
        allow_missing=options.allow_missing,
    )
    utt2spk = options.utt2spk or arguments.trials.parent / "utt2spk"
    metrics, tags, intervals, scores = evaluate_trials(trials, options, utt2spk)
    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    if trials.missing or trials.extra:
        log(
            f"privacy-eval: left out {trials.missing} trials without a score and "
            f"{trials.extra} scores without a trial"
        )
    if arguments.format == "json":
        plain: dict[str, object] = {"n_target": scores.n_target, "n_nontarget": scores.n_nontarget}
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
        for line in format_metrics(metrics[variant], tags[variant]):
            print(line)
        for p_target in ("0.01", "0.001"):
            print(f"minDCF(p-target={p_target}): {metrics[variant][f'min_dcf_{p_target}']:.4f}")
        for key, interval in intervals.get(variant, {}).items():
            print(f"95 % interval over speakers, {key}: {_interval_text(key, interval)}")
    return 0


def _interval_text(key: str, interval: Interval) -> str:
    if key == "eer":
        return f"{eer_percent(interval.low)}% .. {eer_percent(interval.high)}%"
    if key == "rocch_eer":
        return f"{100 * interval.low:.3f}% .. {100 * interval.high:.3f}%"
    return f"{interval.low:.3f} .. {interval.high:.3f}"


def _evaluate(arguments: argparse.Namespace) -> int:
    systems, _, out = systems_of(arguments)
    outcome = evaluate(
        systems,
        out,
        tree=arguments.tree,
        options=options_of(arguments, arguments.tree),
        nj=arguments.nj,
        job=arguments.job or (1, 1),
        announce=say_needed if arguments.job else None,
        progress=progress(),
    )
    for failure in outcome.failures:
        log(f"{failure.system} {failure.condition}: {failure.reason}")
    failed = Counter(failure.system for failure in outcome.failures)
    of_systems = ", ".join(f"{system} ({count})" for system, count in failed.items())
    log(
        f"privacy-eval: {len(outcome.computed)} conditions computed, "
        f"{len(outcome.up_to_date)} up to date, {len(outcome.failures)} failed"
        + (f": {of_systems}" if failed else "")
    )
    return 1 if outcome.failures else 0


def _collect(arguments: argparse.Namespace) -> int:
    systems, protocol, out = systems_of(arguments)
    place = place_of(arguments)
    targets, _ = find_targets(
        place, protocol, name=arguments.system, anon_suffix=arguments.anon_suffix
    )
    models = Models(place, protocol)
    results = collected(systems, out, models, stale_scores(targets, models))
    absent = results.not_evaluated
    for line in absent[:_ABSENT_SHOWN]:
        log(f"privacy-eval: left out: {textwrap.shorten(line, _LINE, placeholder=' ...')}")
    if len(absent) > _ABSENT_SHOWN:
        log(f"privacy-eval: left out: {len(absent) - _ABSENT_SHOWN} more, named in results.json")
    for why, records in caveats(results.verification, ["eer"], protocol.variant).items():
        names = [f"{r.condition.system} {r.condition.name}" for r in records]
        log(f"privacy-eval: warning: {why}, of {len(names)} conditions: {abbreviate(names)}")
    if not results.verification:
        log(f"privacy-eval: {out}: nothing is left: results of no condition; nothing is written")
        return 1
    write_outputs(results, out)
    print(
        f"{out}: results.json, results.csv, results.txt of {len(results.systems)} systems, "
        f"{len(results.verification)} conditions, {len(results.similarity)} voice similarities"
    )
    return 0


def collected(
    systems: list[System], out: Path, models: Models, stale: Mapping[str, str]
) -> Results:
    """All that `results.json` holds; `stale` as of `collect`."""
    place, protocol = models.place, models.protocol
    results = collect(
        systems, out, protocol, tree=place.tree, partial=place.allow_missing, stale=stale
    )
    similarity, changed = collect_similarities(systems, models, out)
    if changed and not place.allow_missing:
        raise PrivacyEvalError(
            f"{out}: compute the voice similarity anew (or leave it out with --allow-missing): "
            + "; ".join(changed)
        )
    absent = not_there(systems, protocol, place.tree, place.results, place.keys, similarity)
    return replace(
        results,
        similarity=tuple(similarity),
        not_evaluated=(*results.not_evaluated, *changed, *absent),
    )


def _import(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.conf)
    files = {arguments.results_folder: arguments.results_txt, **dict(arguments.also)}
    parts = [
        import_results_txt(
            part_of_system(read_text(path), str(path), arguments.system),
            str(path),
            protocol,
            system=arguments.system,
            results_folder=suffix,
            anon_suffix=arguments.anon_suffix,
            provenance={
                "version": __version__,
                "imported_from": {"name": path.name, "sha256": digest(read_bytes(path))},
            },
        )
        for suffix, path in files.items()
    ]
    results = merge(parts)
    write_text(arguments.output, to_json(results))
    wanted = len(protocol.comparisons) * len(list(protocol.trial_sets()))
    log(
        f"{arguments.output}: {arguments.system} under the plan {protocol.name}: "
        f"{len(results.verification)} conditions ({wanted} in a results folder of the plan), "
        f"{len(results.recognition)} word error rates, {len(results.utility)} pitch correlations, "
        f"{len(results.similarity)} voice similarities"
    )
    return 0


def _export(arguments: argparse.Namespace) -> int:
    results = read_json(arguments.results)
    systems = results.systems
    system = arguments.system or (systems[0] if len(systems) == 1 else None)
    if arguments.format == "csv":
        text = to_csv(results if arguments.system is None else results.of(arguments.system))
    elif system not in systems:
        raise PrivacyEvalError(
            f"{arguments.results}: holds the systems {', '.join(systems)}; choose one of them "
            "with --system"
        )
    elif arguments.format == "averages":
        found = averages(results.of(system))
        text = summary_text(found)
        for average in found:
            if average.value is None:
                log(f"privacy-eval: {average.title}: not known, a part of it is missing")
    elif arguments.results_folder not in results.results_folders(system):
        folders = ", ".join(repr(f) for f in results.results_folders(system))
        raise PrivacyEvalError(
            f"{arguments.results}: {system} has no results folder {arguments.results_folder!r}, "
            f"only {folders}: --results-folder"
        )
    else:
        text = to_results_txt(results, system, arguments.results_folder)
    if arguments.output is None:
        print(text, end="")
    else:
        write_text(arguments.output, text)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    systems, protocol, _ = systems_of(arguments, needed=False, warn=False)
    report = check_tree(
        systems,
        Models(place_of(arguments), protocol),
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
        read=not arguments.quick,
        nj=arguments.nj,
        replicates=arguments.bootstrap,
        progress=progress(),
    )
    print("\n".join(report.details() if arguments.details else report.screen()))
    return 0 if report.ready or arguments.allow_missing else 1


def _demo_tree(arguments: argparse.Namespace) -> int:
    made = write_demo_tree(
        arguments.directory,
        load_protocol(arguments.conf),
        seed=arguments.seed,
        speakers=arguments.speakers,
        utterances=arguments.utterances,
        systems=arguments.systems,
        progress=progress(),
    )
    log(f"{arguments.directory}: {'made' if made else 'there already'}")
    return 0


def options_of(arguments: argparse.Namespace, base: Path) -> Options:
    return Options(
        bootstrap=arguments.bootstrap,
        seed=arguments.seed,
        allow_missing=arguments.allow_missing,
        utt2spk=None if arguments.utt2spk is None else base / arguments.utt2spk,
    )


def _suffixed_file(text: str) -> tuple[str, Path]:
    suffix, equals, path = text.partition("=")
    if not (suffix and equals and path):
        raise argparse.ArgumentTypeError(f"expected SUFFIX=FILE, not {text!r}")
    return suffix, Path(path)
