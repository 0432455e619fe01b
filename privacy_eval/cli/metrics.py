"""metrics: privacy metrics of one score file, or of two arrays of scores."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..choices import ID_RULES
from ..errors import UsageError, counted, located
from ..io.score_formats import KEY_FORMATS, SCORE_FORMATS
from .group_options import add_by
from .metric_extras import (
    groups_of_trials,
    plain_report,
    print_groups,
    print_worst_case,
)
from .options import (
    METRIC_OPTIONS,
    Options,
    add,
    add_metric,
    check_plot,
    choice,
    few_replicates,
    flag,
    log,
    number,
    path,
    value,
)

if TYPE_CHECKING:
    from ..metrics import Evaluation, Metric, Variant
    from ..metrics.comparison import Comparison
    from ..metrics.trials import Trials
    from ..stages.privacy_metrics import ConditionMetrics

#: Options that need a score file, whose trials have names.
_OF_FILES = (
    "trials",
    "key_format",
    "score_format",
    "utt2spk",
    "enroll_utt2spk",
    "allow_missing",
    "speakers",
    "versus",
    "leave_out_self",
    "columns",
    "ids",
)

#: Options that print more than metrics.
_BESIDE = ("strongest", "speakers", "dialects", "worst_case", "by")

SCORES = path("F", "score file; - is stdin")

LOG10 = flag("the scores are log10 LRs: make natural ones, which Cllr takes, of them")

EXAMPLE = "--scores scores --trials data/libri_test_trials_f/trials --bootstrap 1000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    either = parser.add_mutually_exclusive_group(required=True)
    several = "score file; - is stdin; several, of different attackers, with --strongest"
    either.add_argument("--scores", **value("F", several, action="append"))
    either.add_argument("--target", **path("NPY", "array of target scores, with --nontarget"))
    either.add_argument("--counts", **path("C", "counts of scores, by the verbs count and merge"))
    parser.add_argument("--nontarget", **path("NPY", "array of nontarget scores"))
    parser.set_defaults(usage_error=parser.error)
    corrected = "the lowest EER of several attackers, and corrected for the choice among them"
    parser.add_argument("--strongest", **flag(corrected))
    dialects = "also EER and min DCF as Kaldi, SpeechBrain, NIST and others define them"
    parser.add_argument("--dialects", **flag(dialects))
    four_ways = "also the largest |log likelihood ratio|, estimated four ways, and that of chance"
    parser.add_argument("--worst-case", **flag(four_ways))
    parser.add_argument("--leave-out-self", **flag("leave out trials of an utterance with itself"))
    add_by(parser)
    add_files(parser)
    add(parser, *METRIC_OPTIONS)
    add_metric(parser)


def add_columns(options: Options) -> None:
    """Add the option that names the columns of a table of trials."""
    named = (
        "names of the columns enrolled, utterance, score, label, trial_speaker ... of scores and "
        "key, or, of scores without a header, their numbers"
    )
    options.add_argument("--columns", **value("COLUMN=NAME,...", named, type=_columns, default={}))


def _columns(text: str) -> dict[str, str]:
    """Parse names of columns by field."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(field.isidentifier() and name for field, _, name in pairs):
        raise argparse.ArgumentTypeError(f"expected COLUMN=NAME,..., not {text!r}")
    return {field: name for field, _, name in pairs}


def _rules(text: str) -> tuple[str, ...]:
    """Parse what is done with ids."""
    rules = tuple(text.split(","))
    if unknown := [rule for rule in rules if rule not in ID_RULES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(ID_RULES)}")
    return rules


def add_files(options: Options) -> None:
    """Add the options for input files and output."""
    add_columns(options)
    bridging = f"bridge ids that differ by rule, of scores and key: {', '.join(ID_RULES)}"
    options.add_argument("--ids", **value("RULE,...", bridging, type=_rules, default=()))
    options.add_argument("--trials", **path("F", "trial key, if the scores have no labels"))
    keys = choice(tuple(KEY_FORMATS), "format of the trial key; default: detected")
    options.add_argument("--key-format", **keys)
    options.add_argument("--speakers", **flag("also the EER of each enrolled speaker"))
    options.add_argument("--distance", **flag("the scores are distances: negate them"))
    options.add_argument("--log10", **LOG10)
    add(options, "--variant")
    scores = choice(list(SCORE_FORMATS), "format of the scores; default: detected")
    options.add_argument("--score-format", **scores)
    versus = "scores of another system for the same trials: paired test; may be repeated"
    options.add_argument("--versus", action="append", **value("F", versus))
    enrolled = "speakers of the enrolled utterances or models"
    options.add_argument("--enroll-utt2spk", **path("F", enrolled))
    operating = "min DCF at this prior of targets; may be repeated"
    options.add_argument("--p-target", action="append", **value("P", operating, type=number))
    for name, what in (("--c-miss", "miss"), ("--c-fa", "false alarm")):
        cost = f"cost of a {what}, of every --p-target or one for each; default: 1"
        options.add_argument(name, action="append", **value("C", cost, type=number))
    plotted = "also plot DET curves and ECE profiles: a pdf, png or tex file"
    options.add_argument("--plot", **path("FILE", plotted))
    shown = "print only these metrics, by their keys (as --format json prints them); default: all"
    options.add_argument("--metrics", **value("KEY,...", shown, type=_keys))
    formats = "csv: a row per system, variant and metric, rates as fractions; latex: booktabs"
    printed = ["text", "csv", "json", "latex"]
    add(options, "--format", choices=printed, type=_output_format, help=formats)


def _output_format(text: str) -> str:
    """Tell the format of the output from those of scores."""
    if text in SCORE_FORMATS and text != "csv":
        raise argparse.ArgumentTypeError(f"{text} is a format of scores: --score-format {text}")
    return text


def _keys(text: str) -> list[str]:
    """Parse a list of metrics; repeated ones count once."""
    return list(dict.fromkeys(filter(None, text.split(","))))


def read_file(arguments: argparse.Namespace, path: Path) -> Trials:
    """Read a score file in any format; log the format if it is not Kaldi's."""
    from ..io.scores import read_scores

    path = Path("/dev/fd/0") if path == Path("-") else path
    unit = {"distance": arguments.distance, "log10": arguments.log10}
    columns = arguments.columns
    if arguments.trials is not None:
        columns = {field: name for field, name in columns.items() if field != "label"}
    scores = read_scores(path, format=arguments.score_format, columns=columns, **unit)
    format = scores.origins[0].format
    if arguments.score_format is None and format not in ("kaldi", "columns"):
        log(f"privacy-eval: {path}: read as the format {format}")
    return scores


def read_key(arguments: argparse.Namespace) -> Trials | None:
    """Read the trial key in any format, if there is one."""
    from ..io.score_formats import columns_of_key
    from ..io.scores import read_trials

    if arguments.trials is None:
        return None
    columns = columns_of_key(arguments.columns)
    return read_trials(arguments.trials, format=arguments.key_format, columns=columns)


def read_paired(arguments: argparse.Namespace, allow_missing: bool) -> Trials:
    """Read scores and labels in any format."""
    from ..metrics.pairing import pair

    scores, key = read_file(arguments, arguments.scores), read_key(arguments)
    paired = pair(scores, key, allow_missing=allow_missing, ids=arguments.ids)
    named = {"is_target" if f == "label" else f: name for f, name in arguments.columns.items()}
    if absent := [name for field, name in named.items() if field not in paired]:
        raise UsageError(f"--columns: neither scores nor key have a column {absent[0]!r}")
    return paired


def operating_points(arguments: argparse.Namespace) -> list[Metric]:
    """Return the minimum detection costs at the operating points that were asked for."""
    from ..metrics.registry import METRICS, min_dcf_metric

    priors = arguments.p_target or []
    costs = []
    for option in ("c_miss", "c_fa"):
        given = vars(arguments)[option] or [1]
        if len(given) not in (1, len(priors)):
            raise UsageError(
                f"--{option.replace('_', '-')} is given {len(given)} times for {len(priors)} of "
                "--p-target: give one for all of them, or one for each"
            )
        costs.append(given * len(priors) if len(given) == 1 else given)
    try:
        points = [min_dcf_metric(*point) for point in zip(priors, *costs, strict=True)]
    except ValueError as error:
        raise UsageError(str(error)) from error
    if arguments.metrics is not None:  # what else was asked for
        own = [text.partition("=")[0] for text in arguments.user_metrics]
        asked = (*arguments.metrics, *(point.key for point in points), *own)
        arguments.metrics = list(dict.fromkeys(asked))
    return [point for point in points if point.key not in METRICS]


def _of_arrays(arguments: argparse.Namespace) -> ConditionMetrics:
    """Compute the metrics of two arrays of scores, without speaker labels."""
    from ..io.scores import in_unit, read_score_array
    from ..metrics import TrialScores
    from ..stages.privacy_metrics import evaluate_scores

    if arguments.bootstrap:
        arguments.usage_error(
            "--bootstrap resamples speakers, which arrays do not identify: intervals of "
            "independent trials would be far too narrow"
        )
    arrays = (read_score_array(path) for path in (arguments.target, arguments.nontarget))
    unit = partial(in_unit, distance=arguments.distance, log10=arguments.log10)
    return evaluate_scores(TrialScores(*map(unit, arrays)))


def run(arguments: argparse.Namespace) -> int:
    """Print the metrics of a score file or, only as the verb `metrics`, of two arrays."""
    given = vars(arguments)
    if given.get("counts") is not None:
        return _run_on_counts(arguments)
    check_plot(arguments.plot)
    beside = [name for name in _BESIDE if given.get(name)]
    if beside and arguments.format in ("csv", "latex"):
        option = beside[0].replace("_", "-")
        raise UsageError(f"--{option} goes with --format text or json")
    if given.get("target") is None:
        if given.get("nontarget") is not None:
            arguments.usage_error("--nontarget goes with --target")
        return _run_on_file(arguments, _attackers(arguments))
    if arguments.nontarget is None:
        arguments.usage_error("--target goes with --nontarget")
    if of_files := [name for name in (*_OF_FILES, "strongest", "by") if given[name]]:
        arguments.usage_error(f"--{of_files[0].replace('_', '-')} goes with --scores")
    from ..metrics.registry import registered

    with registered(operating_points(arguments)):
        _check_keys(arguments)
        evaluated = _of_arrays(arguments)
        _show(arguments, evaluated, {})
        _write_plot(arguments, evaluated)
    return 0


def _run_on_counts(arguments: argparse.Namespace) -> int:
    """Print the metrics of counted scores in their brackets."""
    from tabulate import tabulate

    from ..io.counts import read_counts
    from ..io.schema import to_plain
    from ..metrics.counts import Bracket, count_metrics

    names = (*_OF_FILES, *_BESIDE, "bootstrap", "nontarget", "distance", "log10", "plot")
    for name in (*names, "metrics", "p_target", "user_metrics"):
        if vars(arguments)[name]:
            option = {"user_metrics": "metric"}.get(name, name.replace("_", "-"))
            arguments.usage_error(f"--{option} does not go with --counts")
    if arguments.format not in ("text", "json"):
        raise UsageError("--counts goes with --format text or json")
    shards = read_counts(arguments.counts)
    with located(arguments.counts):
        metrics = count_metrics(shards.counts)
    if shards.missing:
        log(
            f"privacy-eval: warning: {arguments.counts}: {counted(shards.missing, 'trial')} of the "
            "list without a score: merge the counts of all parts"
        )
    if arguments.format == "json":
        print(json.dumps(to_plain(metrics), indent=1, allow_nan=False))
        return 0
    rows = []
    for name, known in vars(metrics).items():
        ends = (known.low, known.high) if isinstance(known, Bracket) else (known, known)
        rows.append((name, *("needs 32 bits" if end is None else f"{end:.9g}" for end in ends)))
    print(tabulate(rows, headers=("metric", "at least", "at most"), disable_numparse=True))
    return 0


def _attackers(arguments: argparse.Namespace) -> list[str]:
    """Return the score files as given, and make the first one that to evaluate."""
    if isinstance(arguments.scores, Path):  # of the verb `privacy-metrics`
        return []
    first, *others = arguments.scores
    if others and not arguments.strongest:
        raise UsageError(
            "several --scores go with --strongest; --versus tests two against each other"
        )
    if arguments.strongest:
        conflicting = [n for n in ("versus", *_BESIDE[1:], "metrics") if vars(arguments)[n]]
        if conflicting:
            option = conflicting[0].replace("_", "-")
            raise UsageError(f"--{option} does not go with --strongest")
        if not arguments.bootstrap:
            raise UsageError("--strongest needs bootstrap replicates: give --bootstrap N, too")
        if len({first, *others}) <= len(others):
            raise UsageError("--strongest: a score file is given twice")
    arguments.scores, arguments.name = Path(first), first
    return [first, *others]


def _run_on_file(arguments: argparse.Namespace, attackers: Sequence[str]) -> int:
    from ..metrics.registry import registered
    from ..stages.privacy_metrics import evaluate_trials
    from .inputs import metric_options

    if arguments.versus and not arguments.bootstrap:
        raise UsageError("--versus compares bootstrap replicates: give --bootstrap N, too")
    options = metric_options(arguments, Path())
    trials = read_paired(arguments, options.allow_missing)
    speakers = (
        options.utt2spk or (arguments.trials or arguments.scores).parent / "utt2spk",
        arguments.enroll_utt2spk,
    )
    others = {
        given: _read_same_trials(arguments, Path(given), trials)
        for given in arguments.versus or attackers[1:]
    }
    if vars(arguments).get("leave_out_self"):
        log(f"privacy-eval: left out {trials.n_self} trials of an utterance with itself")
        trials = trials.without_self
        others = {given: other.without_self for given, other in others.items()}
    for warning in trials.remarks:
        log(f"privacy-eval: warning: {warning}")
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
    if vars(arguments).get("worst_case"):
        from ..metrics import worst_case

        more["worst_case"] = worst_case(trials, seed=arguments.seed)
    if by := vars(arguments).get("by"):
        drawn = {"bootstrap": options.bootstrap, "seed": options.seed}
        more["groups"] = groups_of_trials(trials, by, speakers, **drawn)
    with registered(operating_points(arguments)):
        _check_keys(arguments)
        evaluated = evaluate_trials(trials, options, *speakers)
        compared = {
            given: evaluate_trials(other, options, *speakers) for given, other in others.items()
        }
        if vars(arguments).get("strongest"):
            from .strongest_attacker import show_strongest

            show_strongest(arguments, {attackers[0]: evaluated, **compared}, more)
        else:
            _show(arguments, evaluated, more, compared)
        _write_plot(arguments, evaluated, compared)
    return 0


def _read_same_trials(arguments: argparse.Namespace, path: Path, trials: Trials) -> Trials:
    """Read the scores of another system, which must be of the same trials."""
    from ..metrics.pairing import pair

    if path == Path("-"):
        raise UsageError("only the first --scores may be stdin")
    scores = read_file(arguments, path)
    ids = [rule for rule in arguments.ids if rule != "swap"]  # which the trials are already
    return pair(scores, trials, hint="systems are compared on the same trials", ids=ids)


def _speakers(trials: Trials) -> list[dict[str, object]]:
    """Compute the EER of each enrolled speaker, and log how many have too few trials."""
    from ..io.schema import to_plain
    from ..metrics.eer import speaker_eers

    speakers = trials.enrolled.tolist()
    eers = speaker_eers(trials.score, trials.is_target, speakers)
    few = len(set(speakers)) - len(eers)
    if few:
        log(f"privacy-eval: no EER of {few} speakers with fewer than 10 targets or no nontargets")
    return [to_plain(speaker) for speaker in eers]


def _show(
    arguments: argparse.Namespace,
    evaluated: ConditionMetrics,
    more: Mapping[str, Any],
    compared: Mapping[str, ConditionMetrics] = MappingProxyType({}),
) -> None:
    """Print metrics, intervals and comparisons, with the additional fields `more`."""
    from ..io.schema import to_plain
    from ..metrics import VARIANTS, eer_dialects, min_dcf_dialects, worst_case
    from ..metrics.caveats import DECIMAL
    from ..metrics.eer import eer_percent

    evaluated = _only(evaluated, arguments.metrics)
    if arguments.log10:  # which the caveat advises
        caveats = {key: why for key, why in evaluated.caveats.items() if key != DECIMAL}
        evaluated = replace(evaluated, caveats=caveats)
    compared = {given: _only(other, arguments.metrics) for given, other in compared.items()}
    if vars(arguments).get("dialects"):  # of the verb `metrics` only
        more = {**more, "dialects": eer_dialects(evaluated.scores)}
        more["min_dcf_dialects"] = min_dcf_dialects(evaluated.scores)
    if vars(arguments).get("worst_case") and "worst_case" not in more:
        more = {**more, "worst_case": worst_case(evaluated.scores, seed=arguments.seed)}
    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    systems = {_name(arguments): evaluated, **compared}
    comparisons = {v: _compare(systems, v) for v in variants if compared}
    if arguments.format == "json":
        if "groups" in more:
            groups = {column: plain_report(*of) for column, of in more["groups"].items()}
            more = {**more, "groups": groups}
        plain = evaluated.to_plain(variants) | to_plain(more)
        if comparisons:
            plain["versus"] = {
                name: {v: to_plain(comparisons[v].differences[name]) for v in comparisons}
                for name in compared
            }
        print(json.dumps(plain, indent=1, allow_nan=False))
        return
    if arguments.format in ("csv", "latex"):
        from ..report.score_file_tables import score_files_csv, score_files_latex

        evaluations = {v: {n: _evaluation(s, v) for n, s in systems.items()} for v in variants}
        write = score_files_csv if arguments.format == "csv" else score_files_latex
        print(write(evaluations, comparisons), end="")
        return
    _print_text(evaluated, variants)
    for speaker in more.get("speakers", ()):
        print(f"EER of {speaker['speaker']}, at most 50 %: {eer_percent(speaker['eer'])}%")
    if "dialects" in more:
        _print_dialects(more["dialects"], more["min_dcf_dialects"])
    if "worst_case" in more:
        print_worst_case(more["worst_case"], evaluated.scores)
    for column, of_column in more.get("groups", {}).items():
        print_groups(column, *of_column)
    if comparisons:
        _print_versus(arguments, comparisons, compared)


def _print_dialects(eers: Mapping[str, float | None], costs: Mapping[str, float]) -> None:
    """Print EER and minimum cost as other programs define them, and why they differ."""
    from tabulate import tabulate

    from ..metrics import DIALECTS, MIN_DCF_DIALECTS

    rows = [
        (name, "n/a" if eer is None else f"{100 * eer:.3f}", *astuple(DIALECTS[name]))
        for name, eer in eers.items()
    ]
    headers = ("EER as", "%", "programs", "definition")
    print(f"\n{tabulate(rows, headers=headers, disable_numparse=True)}")
    rows = [(n, f"{cost:.4g}", *astuple(MIN_DCF_DIALECTS[n])) for n, cost in costs.items()]
    headers = ("min DCF at 0.01 as", "value", *headers[2:])
    print(f"\n{tabulate(rows, headers=headers, disable_numparse=True)}")


def _name(arguments: argparse.Namespace) -> str:
    """Return the name of the (first) score file as given."""
    return str(vars(arguments).get("name") or arguments.scores or arguments.target)


def _check_keys(arguments: argparse.Namespace) -> None:
    """Refuse metrics that are not computed."""
    from ..metrics import of_kind

    computed = of_kind("scores")
    if unknown := [key for key in arguments.metrics or () if key not in computed]:
        raise UsageError(f"--metrics: no metric {unknown[0]!r}, only {', '.join(computed)}")


def _only(evaluated: ConditionMetrics, keys: Sequence[str] | None) -> ConditionMetrics:
    """Restrict metrics, their replicates and caveats to those of `keys`, in this order."""
    from ..metrics import CAVEATS

    if keys is None:
        return evaluated
    drawn = evaluated.replicates
    if drawn is not None:
        values = {
            f"{v} {key}": drawn.values[f"{v} {key}"] for v in evaluated.metrics for key in keys
        }
        drawn = replace(drawn, values=values)
    return replace(
        evaluated,
        metrics={v: {key: of[key] for key in keys} for v, of in evaluated.metrics.items()},
        caveats={
            c: why for c, why in evaluated.caveats.items() if any(map(CAVEATS[c].concerns, keys))
        },
        replicates=drawn,
    )


def _print_versus(
    arguments: argparse.Namespace,
    comparisons: Mapping[Variant, Comparison],
    compared: Mapping[str, ConditionMetrics],
) -> None:
    """Print the comparison with each other system, and of further variants the values that
    differ."""
    from tabulate import tabulate

    from ..metrics import METRICS, NOT_AVAILABLE
    from ..report.score_file_tables import differing_rows

    for name, other in compared.items():
        rows = {variant: comparison.cells(name) for variant, comparison in comparisons.items()}
        for variant, of_variant in rows.items():
            for row, key in zip(of_variant, comparisons[variant].values, strict=True):
                drawn = other.intervals[variant][key]
                bounds = METRICS[key].interval((drawn.low, drawn.high), detailed=True)
                if row["other"] != NOT_AVAILABLE:
                    row["other"] += f" {bounds}"
        for printed, (variant, different) in enumerate(differing_rows(rows)):
            title = f"{_name(arguments)} against {name} ({variant}), difference = first - other"
            if printed:
                title += ", where values differ" if different else ": the same values"
            print(f"\n# {title}")
            if different:
                print(tabulate(different, headers="keys", disable_numparse=True))
    _print_if_without_width(
        row for c in comparisons.values() for name in compared for row in c.cells(name)
    )
    for name, other in compared.items():
        reasons = (why for v in comparisons for why in _evaluation(other, v).reasons)
        for reason in dict.fromkeys(reasons):
            print(f"caveat of {name}: {reason}")
    comparison = next(iter(comparisons.values()))
    print(
        f"p: two-sided, paired by the bootstrap over {comparison.n_speakers} speakers; "
        f"{arguments.bootstrap} replicates resolve p down to {comparison.least_p_value:.3g}"
    )
    if len(compared) > 1:
        print(
            f"p (Holm): corrected, for each metric alone, over the {len(compared)} comparisons of "
            f"{_name(arguments)} with each of {', '.join(compared)}, which are not compared with "
            "each other"
        )
    for note in comparison.notes:
        print(note)


def _compare(systems: Mapping[str, ConditionMetrics], variant: Variant) -> Comparison:
    from ..metrics.comparison import paired_comparison

    replicates = [s.replicates for s in systems.values() if s.replicates is not None]
    values = {name: s.metrics[variant] for name, s in systems.items()}
    return paired_comparison(values, replicates, variant, [s.caveats for s in systems.values()])


def _print_text(evaluated: ConditionMetrics, variants: Sequence[Variant]) -> None:
    """Print a line per metric of the first variant and those that differ in others, then counts."""
    from ..report.score_file_tables import differing_rows

    scores, replicates = evaluated.scores, evaluated.replicates
    counts = f"{scores.n_target} target and {scores.n_nontarget} nontarget trials"
    if replicates is not None:
        counts += f", {replicates.n_speakers} speakers with target trials"
    evaluations = {variant: _evaluation(evaluated, variant) for variant in variants}
    rows = {variant: of.cells() for variant, of in evaluations.items()}
    for printed, (variant, different) in enumerate(differing_rows(rows)):
        title: list[str] = [variant] if len(variants) > 1 else []
        if printed:
            title.append("where it differs" if different else "the same values")
        if evaluated.intervals:
            title.append("95 % intervals over speakers")
        if title:
            print(f"# {', '.join(title)}")
        if different:
            widths = {key: max(len(row[key]) for row in different) for key in different[0]}
            for row in different:
                print("  ".join(f"{row[key]:{width}}" for key, width in widths.items()).rstrip())
    print(counts)
    _print_if_without_width(row for of_variant in rows.values() for row in of_variant)
    for note in dict.fromkeys(note for of in evaluations.values() for note in of.notes):
        print(f"caveat: {note}")
    if replicates is not None:
        size = next(iter(replicates.values.values())).size
        for caveat in few_replicates(size, replicates.n_speakers):
            print(f"caveat: {caveat}")


def _print_if_without_width(rows: Iterable[Mapping[str, str]]) -> None:
    """Explain what is printed in place of intervals without width, if there are any."""
    from ..metrics import NO_WIDTH, NO_WIDTH_NOTE

    if any(NO_WIDTH in row.values() for row in rows):
        print(NO_WIDTH_NOTE)


def _evaluation(evaluated: ConditionMetrics, variant: Variant) -> Evaluation:
    """Return one variant of the metrics."""
    from ..metrics import Evaluation, caveats_of

    scores, caveats = evaluated.scores, caveats_of(evaluated.caveats, variant)
    counts, tag = (scores.n_target, scores.n_nontarget), evaluated.tags[variant]
    values, intervals = evaluated.metrics[variant], evaluated.intervals.get(variant, {})
    return Evaluation(values, tag, *counts, variant, caveats, intervals, scores)


def _write_plot(
    arguments: argparse.Namespace,
    evaluated: ConditionMetrics,
    compared: Mapping[str, ConditionMetrics] = MappingProxyType({}),
) -> None:
    """Write the plot of all systems, if it was asked for."""
    if arguments.plot is None:
        return
    from ..report.figures.axes import score_plot
    from ..report.figures.drawing import Drawing, write

    variant: Variant = "exact" if arguments.variant == "both" else arguments.variant
    named = {_name(arguments): evaluated, **compared}
    plot = score_plot({name: _evaluation(of, variant) for name, of in named.items()})
    file: Path = arguments.plot
    write(Drawing(file.stem, "DET curves and ECE profiles", plot), file.parent, [file.suffix[1:]])
