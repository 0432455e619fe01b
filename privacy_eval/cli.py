"""The command line: `privacy-eval VERB ...`, one verb per stage of the recipe.

Results go to stdout, progress and messages to stderr. Exit code 0: done; 1: bad data,
named in the message; 2: wrong usage; 130: interrupted.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import __version__
from .averages import averages, summary_text
from .check import check_systems
from .config import Config, bundled, load_config
from .errors import PrivacyEvalError
from .evaluate import (
    Options,
    collect,
    evaluate,
    evaluate_trials,
    refuse_links,
    write_outputs,
)
from .io.files import digest, read_bytes, read_text, write_text
from .io.results_txt import eer_percent, format_metrics
from .io.scores import pair, read_scores, read_trials
from .metrics import VARIANTS, Interval
from .report.render import FORMATS
from .report.tables import blank_tables, system_tables, write_tables
from .results import (
    Results,
    import_results_txt,
    merge,
    part_of_system,
    read_json,
    to_csv,
    to_json,
    to_results_txt,
)
from .schema import to_plain
from .simulate import write_demo_tree
from .tree import System, find_systems


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of any bytes can be printed
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = _parser().parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
    try:
        code = verb(arguments)
        sys.stdout.flush()
        return code
    except PrivacyEvalError as error:
        _say(f"privacy-eval: {error}")
        return 1
    except BrokenPipeError:
        # The reader of our output is gone (head, a closed pager): nothing left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # files are met with errors of ours: this is the output
        _say(f"privacy-eval: {error.filename or 'standard output'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        _say("privacy-eval: interrupted; what is finished is kept, run it again to go on")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="privacy-eval", description="Evaluation of voice anonymization."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    metrics = verbs.add_parser("metrics", help="all metrics of one score file")
    metrics.set_defaults(verb=_metrics)
    metrics.add_argument("--scores", required=True, type=Path, metavar="F")
    metrics.add_argument("--trials", required=True, type=Path, metavar="F", help="trial key")
    metrics.add_argument("--variant", choices=[*VARIANTS, "both"], default="both")
    metrics.add_argument("--format", choices=["text", "json"], default="text")
    _add_options(metrics)

    evaluation = verbs.add_parser("evaluate", help="metrics of every condition of a tree")
    evaluation.set_defaults(verb=_evaluate)
    _add_tree(evaluation)
    _add_options(evaluation)
    evaluation.add_argument("--nj", type=_positive, default=1, help="processes at once")
    evaluation.add_argument(
        "--job", type=_share, default=(1, 1), metavar="J/N", help="do the J-th of N equal shares"
    )

    collection = verbs.add_parser("collect", help="results.json, results.csv, results.txt")
    collection.set_defaults(verb=_collect)
    _add_tree(collection)
    collection.add_argument(
        "--allow-missing", action="store_true", help="leave out what is not evaluated, and say so"
    )

    tables = verbs.add_parser("tables", help="LaTeX, Markdown, text and CSV tables")
    tables.set_defaults(verb=_tables)
    tables.add_argument(
        "--results", nargs="+", type=Path, metavar="results.json", help="default: blank forms"
    )
    tables.add_argument("--out", type=Path, metavar="DIR", help="default: to stdout")
    tables.add_argument("--conf", metavar="FILE", help="default: the plan of the results")
    tables.add_argument("--format", choices=list(FORMATS), help="default: all; on stdout text")
    tables.add_argument("--style", choices=["challenge", "booktabs"], default="challenge")

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

    check = verbs.add_parser("check", help="what a tree holds and lacks")
    check.set_defaults(verb=_check)
    _add_tree(check)
    check.add_argument(
        "--allow-missing", action="store_true", help="exit 0 even where a trial key is missing"
    )

    demo = verbs.add_parser("demo-tree", help="a small simulated challenge tree")
    demo.set_defaults(verb=_demo_tree)
    demo.add_argument("directory", type=Path, metavar="DIR")
    demo.add_argument("--seed", type=_natural, default=0)
    demo.add_argument("--conf", default="vpc2020", metavar="FILE")
    return parser


def _add_tree(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tree", type=Path, default=Path(), metavar="DIR", help="default: .")
    parser.add_argument(
        "--results",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder of ASV-* folders, or a collection of such; relative to the tree",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="relative to the tree; default: RESULTS/privacy_eval",
    )
    parser.add_argument(
        "--conf",
        default="vpc2020",
        metavar="FILE",
        help=f"{', '.join(bundled())}, or a YAML file relative to the tree",
    )
    parser.add_argument(
        "--system", metavar="NAME", help="evaluate this one of several, or name the only one"
    )
    parser.add_argument("--anon-suffix", metavar="SUFFIX", help="what marks anonymized sets")
    parser.add_argument(
        "--allow-outside", action="store_true", help="follow links that lead out of the tree"
    )
    parser.add_argument("--keys", type=Path, metavar="DIR", help="folder of trial keys")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bootstrap",
        type=_replicates,
        default=0,
        metavar="N",
        help="95 %% intervals from N resamplings of speakers (at least 2; usual: 1000)",
    )
    parser.add_argument("--seed", type=_natural, default=0, metavar="S")
    parser.add_argument("--utt2spk", type=Path, metavar="F", help="speakers of trial utterances")
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="leave out trials without a score and scores without a trial, and say so",
    )


def _metrics(arguments: argparse.Namespace) -> int:
    options = _options(arguments, Path())
    trials = pair(
        read_scores(arguments.scores),
        read_trials(arguments.trials),
        allow_missing=options.allow_missing,
    )
    utt2spk = options.utt2spk or arguments.trials.parent / "utt2spk"
    metrics, tags, intervals, scores = evaluate_trials(trials, options, utt2spk)
    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    if trials.missing or trials.extra:
        _say(
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
    systems, _, out = _systems(arguments)
    outcome = evaluate(
        systems,
        out,
        tree=arguments.tree,
        options=_options(arguments, arguments.tree),
        nj=arguments.nj,
        job=arguments.job,
        progress=_progress if sys.stderr.isatty() else None,
    )
    for failure in outcome.failures:
        _say(f"{failure.system} {failure.condition}: {failure.reason}")
    _say(
        f"privacy-eval: {len(outcome.computed)} conditions computed, "
        f"{len(outcome.up_to_date)} up to date, {len(outcome.failures)} failed"
    )
    return 1 if outcome.failures else 0


def _collect(arguments: argparse.Namespace) -> int:
    systems, config, out = _systems(arguments)
    results = collect(systems, out, config, tree=arguments.tree, partial=arguments.allow_missing)
    if results.not_evaluated:
        _say(f"privacy-eval: left out: {'; '.join(results.not_evaluated)}")
    write_outputs(results, out)
    print(
        f"{out}: results.json, results.csv, results.txt of {len(results.systems)} systems, "
        f"{len(results.verification)} conditions"
    )
    return 0


def _tables(arguments: argparse.Namespace) -> int:
    config = load_config(arguments.conf) if arguments.conf else None
    if arguments.results is None:
        results = Results(config or load_config("vpc2020"))
    else:
        results = merge([read_json(path) for path in arguments.results])
        if config is not None:
            results = results.under(config)
    if arguments.out is not None:
        files = write_tables(results, arguments.out, style=arguments.style, only=arguments.format)
        print(f"{arguments.out}: {len(files)} files")
        return 0
    render = FORMATS[arguments.format or "text"]
    tables = [
        table
        for system in results.systems
        for folder in results.results_folders(system)
        for table in system_tables(results, system, folder)
    ] or blank_tables(results.config)
    print("\n".join(render.write(table, arguments.style) for table in tables), end="")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    config = load_config(arguments.conf)
    files = {arguments.results_folder: arguments.results_txt, **dict(arguments.also)}
    parts = [
        import_results_txt(
            part_of_system(read_text(path), str(path), arguments.system),
            str(path),
            config,
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
    wanted = len(config.comparisons) * len(list(config.trial_sets()))
    _say(
        f"{arguments.output}: {arguments.system} under the plan {config.name}: "
        f"{len(results.verification)} conditions ({wanted} in a results folder of the plan), "
        f"{len(results.recognition)} word error rates, {len(results.pitch)} pitch correlations, "
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
                _say(f"privacy-eval: {average.title}: not known, a part of it is missing")
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
    systems, config, _ = _systems(arguments, needed=False)
    report = check_systems(systems, config, arguments.tree)
    print("\n".join(report.lines))
    return 0 if report.ready or arguments.allow_missing else 1


def _demo_tree(arguments: argparse.Namespace) -> int:
    made = write_demo_tree(arguments.directory, load_config(arguments.conf), seed=arguments.seed)
    _say(f"{arguments.directory}: {'made' if made else 'there already'}")
    return 0


def _systems(
    arguments: argparse.Namespace, *, needed: bool = True
) -> tuple[list[System], Config, Path]:
    """Systems, plan and output folder that the options of a tree name."""
    tree: Path = arguments.tree
    if not tree.is_dir():
        raise PrivacyEvalError(f"{tree}: no such folder (experiment tree)")
    config = load_config(arguments.conf, base=tree)
    results = tree / arguments.results
    out = tree / (arguments.out or arguments.results / "privacy_eval")
    if not needed and not results.exists():
        _say(f"privacy-eval: {results}: not there yet (results folder)")
        return [], config, out
    refuse_links(out, results)
    systems = find_systems(
        tree,
        results,
        config,
        name=arguments.system,
        anon_suffix=arguments.anon_suffix,
        keys=None if arguments.keys is None else tree / arguments.keys,
        allow_outside=arguments.allow_outside,
    )
    if needed and not systems:
        raise PrivacyEvalError(
            f"{results}: no results, expected folders ASV-<enrollment set>-<trial set> in it, or "
            "folders results-* that hold them at most three levels below"
        )
    for folder in sorted({folder for system in systems for folder in system.unknown}):
        _say(
            f"privacy-eval: warning: {folder}: no condition of the plan {config.name}, left out "
            "(another plan: --conf; another mark of anonymized sets: --anon-suffix)"
        )
    return systems, config, out


def _options(arguments: argparse.Namespace, base: Path) -> Options:
    return Options(
        bootstrap=arguments.bootstrap,
        seed=arguments.seed,
        allow_missing=arguments.allow_missing,
        utt2spk=None if arguments.utt2spk is None else base / arguments.utt2spk,
    )


def _progress(done: int, total: int, name: str) -> None:
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r\033[K{done}/{total} {name}{end}")
    sys.stderr.flush()


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, not {text!r}")
    return int(text)


def _replicates(text: str) -> int:
    if _natural(text) == 1:
        raise argparse.ArgumentTypeError("expected 0 or at least 2 resamplings, not 1")
    return int(text)


def _positive(text: str) -> int:
    if _natural(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


def _share(text: str) -> tuple[int, int]:
    number, slash, total = text.partition("/")
    share = (_positive(number), _positive(total)) if slash else (0, 0)
    if not 1 <= share[0] <= share[1]:
        raise argparse.ArgumentTypeError(f"expected J/N with 1 <= J <= N, not {text!r}")
    return share


def _suffixed_file(text: str) -> tuple[str, Path]:
    suffix, equals, path = text.partition("=")
    if not (suffix and equals and path):
        raise argparse.ArgumentTypeError(f"expected SUFFIX=FILE, not {text!r}")
    return suffix, Path(path)
