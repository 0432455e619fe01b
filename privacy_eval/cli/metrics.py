"""Verbs on one score file: its privacy metrics, and those of several attackers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import COLUMNS, ID_RULES, SPECTRUM
from ..errors import UsageError, counted
from ..io.schema import to_plain
from ..io.score_formats import KEY_FORMATS, SCORE_FORMATS, columns_of_key
from ..options import choice, flag, number, path, value
from ..wings import provided
from .group_options import BY
from .options import Options, few_replicates, log, plot_file, shown_variants

if TYPE_CHECKING:
    from ..metrics import Evaluation, Metric, Trials, TrialScores, Variant
    from ..report.single_files import Found
    from ..report.table import Table

_COLUMNS = (
    "columns enrolled, utterance, score, label, trial_speaker ... of scores and key, by name; "
    "by number if scores have no header"
)
_IDS = f"bridge ids that differ by rule, of scores and key: {', '.join(ID_RULES)}"
_VERSUS = "scores of another system for the same trials: paired test; may be repeated"
_P_TARGET = "min DCF at this prior of targets; may be repeated"
_COST = "cost of a {}, of every --p-target or one for each; default: 1"
_METRICS = "print only these metrics, by their keys (as --format json prints them); default: all"
_SEVERAL = "score file; - is stdin; several, of different attackers, with --strongest"
_STRONGEST = "the lowest EER of several attackers, and corrected for the choice among them"
_PLOT = "also plot DET curves and ECE profiles: a pdf, png or tex file"
_DIALECTS = "also EER and min DCF as Kaldi, SpeechBrain, NIST and others define them"
_WORST_CASE = "also the largest |log likelihood ratio|, by four estimates, and by chance"


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
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(ID_RULES)}")
    return rules


def _output_format(text: str) -> str:
    """Tell the format of the output from those of scores."""
    if text in SCORE_FORMATS and text != "csv":
        raise argparse.ArgumentTypeError(f"{text} is a format of scores: --score-format {text}")
    return text


def _keys(text: str) -> list[str]:
    """Parse a list of metrics; repeated ones count once."""
    return list(dict.fromkeys(filter(None, text.split(","))))


#: How scores and trial key are read.
READING = {
    "--trials": path("F", "trial key, if the scores have no labels"),
    "--columns": value("COLUMN=NAME,...", _COLUMNS, type=_columns, default={}),
    "--key-format": choice(KEY_FORMATS, "format of the trial key; default: detected"),
    "--score-format": choice(SCORE_FORMATS, "format of the scores; default: detected"),
    "--distance": flag("the scores are distances: negate them"),
    "--log10": flag("the scores are log10 LRs: make natural ones, which Cllr takes, of them"),
}
SCORES = path("F", "score file; - is stdin")
#: Options that need a score file, whose trials have names; that print more than metrics.
_OF_FILES = (
    "trials key_format score_format utt2spk enroll_utt2spk allow_missing speakers versus "
    "leave_out_self columns ids"
)
_BESIDE = "strongest speakers dialects worst_case by"
_ALONE = "{} does not go with --strongest"

VERBS: dict[str, Options] = {
    "metrics": {
        "example": "--scores scores --trials data/libri_test/trials --bootstrap 1000",
        "shared": "variant bootstrap seed utt2spk allow-missing metric",
        "either": "--scores --target",
        "needs": {"worst_case": "worst case", "by": "metrics of groups"},
        "rules": (
            ("nontarget", "target", "{} goes with --target"),
            ("target", "nontarget", "{} goes with --nontarget"),
            (f"{_OF_FILES} strongest by", "scores", "{} goes with --scores"),
            ("speakers dialects worst_case by versus metrics", "!strongest", _ALONE),
            ("strongest", "bootstrap", "{} needs bootstrap replicates: give --bootstrap N, too"),
            ("versus", "bootstrap", "{} compares bootstrap replicates: give --bootstrap N, too"),
        ),
        "--scores": value("F", _SEVERAL, action="append"),
        "--target": path("NPY", "array of target scores, with --nontarget"),
        "--nontarget": path("NPY", "array of nontarget scores"),
        "--strongest": flag(_STRONGEST),
        "--dialects": flag(_DIALECTS),
        "--worst-case": flag(_WORST_CASE),
        "--leave-out-self": flag("leave out trials of an utterance with itself"),
        "--by": BY,
        **READING,
        "--ids": value("RULE,...", _IDS, type=_rules, default=()),
        "--speakers": flag("also the EER of each enrolled speaker"),
        "--versus": value("F", _VERSUS, action="append"),
        "--enroll-utt2spk": path("F", "speakers of the enrolled utterances or models"),
        "--p-target": value("P", _P_TARGET, action="append", type=number),
        "--c-miss": value("C", _COST.format("miss"), action="append", type=number),
        "--c-fa": value("C", _COST.format("false alarm"), action="append", type=number),
        "--plot": value("FILE", _PLOT, type=plot_file),
        "--metrics": value("KEY,...", _METRICS, type=_keys),
        "--format": {"type": _output_format},
    },
}


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
    if absent := {field: name for field, name in named.items() if field not in paired}:
        field, name = next(iter(absent.items()))
        if any(field in usual for usual in COLUMNS.values()):
            raise UsageError(f"--columns: {field} may be several: give {', '.join(COLUMNS)}")
        raise UsageError(f"--columns: neither scores nor key have a column {name!r}")
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


def _of_arrays(arguments: argparse.Namespace) -> TrialScores:
    """Read two arrays of scores, without speaker labels."""
    from ..io.scores import in_unit, read_score_array
    from ..metrics import TrialScores

    if arguments.bootstrap:
        arguments.usage_error(
            "--bootstrap resamples speakers, which arrays do not identify: intervals of "
            "independent trials would be far too narrow"
        )
    arrays = (read_score_array(path) for path in (arguments.target, arguments.nontarget))
    unit = partial(in_unit, distance=arguments.distance, log10=arguments.log10)
    return TrialScores(*map(unit, arrays))


def run_metrics(arguments: argparse.Namespace) -> Found:
    """Find the metrics of a score file, or of two arrays."""
    if arguments.format == "csv" and any(vars(arguments)[name] for name in _BESIDE.split()):
        raise UsageError(f"--format csv has metrics only, without --{', --'.join(_BESIDE.split())}")
    if arguments.target is None:
        return _of_files(arguments)
    from ..metrics.evaluation import evaluate_variants
    from ..metrics.registry import registered

    with registered(operating_points(arguments)):
        return _found(arguments, {str(arguments.target): evaluate_variants(_of_arrays(arguments))})


def _systems(arguments: argparse.Namespace) -> list[str]:
    """Return the score files as given, the one to evaluate first."""
    names = arguments.scores
    if len(names) > 1 and not arguments.strongest:
        raise UsageError(
            "several --scores go with --strongest; --versus tests two against each other"
        )
    names = [*names, *(arguments.versus or ())]
    files = [Path(name).resolve() for name in names]
    if twice := [name for place, name in enumerate(names) if files[place] in files[:place]]:
        option = "strongest" if arguments.strongest else "versus"
        raise UsageError(f"--{option}: {twice[0]} is given twice; name scores of another system")
    return names


def _of_files(arguments: argparse.Namespace) -> Found:
    from ..metrics.registry import registered

    first, *others = _systems(arguments)
    arguments.scores = Path(first)
    trials = read_paired(arguments, arguments.allow_missing)
    systems = {first: trials}
    systems |= {name: _read_same_trials(arguments, Path(name), trials) for name in others}
    if arguments.leave_out_self:
        log(f"privacy-eval: left out {trials.n_self} trials of an utterance with itself")
        systems = {name: of.without_self for name, of in systems.items()}
    trials = systems[first]
    for warning in trials.remarks:
        log(f"privacy-eval: warning: {warning}")
    if trials.missing or trials.extra:
        log(
            f"privacy-eval: left out {trials.missing} trials without a score and "
            f"{trials.extra} scores without a trial"
        )
    speakers = (
        arguments.utt2spk or (arguments.trials or arguments.scores).parent / "utt2spk",
        arguments.enroll_utt2spk,
    )
    with registered(operating_points(arguments)):
        _check_keys(arguments)
        evaluated = {name: _evaluate(arguments, of, speakers) for name, of in systems.items()}
        if arguments.strongest:
            _write_plot(arguments, evaluated)
            found = _strongest(arguments, evaluated)
        else:
            found = _found(arguments, evaluated, trials, speakers)
    if arguments.allow_missing:
        left_out = {"trials_without_score": trials.missing, "scores_without_trial": trials.extra}
        found = replace(found, plain={**found.plain, **left_out})
    return found


def _evaluate(
    arguments: argparse.Namespace, trials: Trials, speakers: tuple[Path, Path | None]
) -> dict[Variant, Evaluation]:
    """Compute all metrics in both variants, with intervals if there is a bootstrap."""
    from ..metrics.confidence import speaker_bootstrap
    from ..metrics.evaluation import evaluate_variants

    if not arguments.bootstrap:
        return evaluate_variants(trials)
    from ..io.scores import with_speakers

    trials = with_speakers(trials, *speakers)
    drawn = speaker_bootstrap(trials, replicates=arguments.bootstrap, seed=arguments.seed)
    return evaluate_variants(trials, drawn)


def _read_same_trials(arguments: argparse.Namespace, path: Path, trials: Trials) -> Trials:
    """Read the scores of another system, which must be of the same trials."""
    from ..metrics.pairing import pair

    if path == Path("-"):
        raise UsageError("only the first --scores may be stdin")
    scores = read_file(arguments, path)
    ids = [rule for rule in arguments.ids if rule != "swap"]  # which the trials are already
    return pair(scores, trials, hint="systems are compared on the same trials", ids=ids)


def _speakers(trials: Trials) -> Sequence[Mapping[str, Any]]:
    """Compute the EER of each enrolled speaker, and log how many have too few trials."""
    from ..metrics.eer import speaker_eers

    speakers = trials.enrolled.tolist()
    eers = speaker_eers(trials.score, trials.is_target, speakers)
    few = len(set(speakers)) - len(eers)
    if few:
        log(f"privacy-eval: no EER of {few} speakers with fewer than 10 targets or no nontargets")
    return eers


def _found(
    arguments: argparse.Namespace,
    evaluated: Mapping[str, Mapping[Variant, Evaluation]],
    trials: Trials | None = None,
    speakers: tuple[Path, Path | None] | None = None,
) -> Found:
    """Return metrics, intervals and comparisons, and what else was asked for."""
    from ..metrics.caveats import DECIMAL
    from ..metrics.evaluation import compare_evaluations
    from ..report.single_files import Found, score_rows, score_table

    _check_keys(arguments)
    _write_plot(arguments, evaluated)
    keys, (first, *others) = arguments.metrics, evaluated
    if keys is not None:
        evaluated = {n: {v: e.only(keys) for v, e in of.items()} for n, of in evaluated.items()}
    own = dict(evaluated[first])
    if arguments.log10:  # which the caveat advises
        for variant, of in own.items():
            caveats = {key: why for key, why in of.caveats.items() if key != DECIMAL}
            own[variant] = replace(of, caveats=caveats)
        evaluated = {**evaluated, first: own}
    shown = {v: {name: of[v] for name, of in evaluated.items()} for v in shown_variants(arguments)}
    comparisons = {v: compare_evaluations(of) for v, of in shown.items()} if others else {}
    plain, few = plain_metrics(arguments, own), list[str]()
    if comparisons:
        plain["versus"] = {
            name: {v: of.differences[name] for v, of in comparisons.items()} for name in others
        }
    if (drawn := own["exact"].replicates) is not None:
        few = few_replicates(arguments.bootstrap, drawn.n_speakers)
    tables = [score_table(shown, comparisons, few)]
    given = own["exact"].scores if trials is None else trials
    for more, of_more in _more(arguments, own["exact"].scores, given, speakers):
        plain |= more
        tables += of_more
    return Found(plain, list(score_rows(shown, comparisons)), tables)


def _more(
    arguments: argparse.Namespace,
    scores: TrialScores,
    trials: Any,
    speakers: Any,
) -> Iterator[tuple[dict[str, object], list[Table]]]:
    """Yield what else was asked for, for JSON and as tables.

    `trials`: or the scores of arrays, of which less can be asked; `speakers`: files of theirs.
    """
    from ..report.single_files import number_table, table_of

    if arguments.speakers:
        eers = _speakers(trials)
        rows = [{"speaker": of["speaker"], "metric": "eer", "value": of["eer"]} for of in eers]
        table = number_table("speakers", "EER of each speaker, at most 50 %", rows)
        yield {"speakers": eers}, [table]
    if arguments.worst_case:
        worst = provided("worst case")(trials, seed=arguments.seed)
        yield {"worst_case": worst}, [table_of("worst_case", worst)]
    if arguments.by:
        yield provided("metrics of groups")(arguments, trials, speakers)
    if arguments.dialects:
        yield _dialects(scores)


def _dialects(scores: TrialScores) -> tuple[dict[str, object], list[Table]]:
    """Return EER and minimum cost as other programs define them, and why they differ."""
    from ..metrics import NOT_AVAILABLE, dialects
    from ..report.single_files import text_table

    eers, costs = dialects.eer_dialects(scores), dialects.min_dcf_dialects(scores)
    texts = {n: NOT_AVAILABLE if eer is None else f"{100 * eer:.3f}" for n, eer in eers.items()}
    of_eer = [{"EER as": n, "%": text, **vars(dialects.DIALECTS[n])} for n, text in texts.items()]
    of_cost = [
        {"min DCF at 0.01 as": n, "value": f"{cost:.4g}", **vars(dialects.MIN_DCF_DIALECTS[n])}
        for n, cost in costs.items()
    ]
    return {"dialects": eers, "min_dcf_dialects": costs}, [
        text_table("dialects", "EER as other programs define it", {"": of_eer}),
        text_table("min_dcf_dialects", "Minimum cost as other programs define it", {"": of_cost}),
    ]


def _check_keys(arguments: argparse.Namespace) -> None:
    """Refuse metrics that are not computed."""
    from ..metrics import of_kind

    computed = of_kind("scores")
    if unknown := [key for key in arguments.metrics or () if key not in computed]:
        raise UsageError(f"--metrics: no metric {unknown[0]!r}, only {', '.join(computed)}")


def _write_plot(
    arguments: argparse.Namespace, evaluated: Mapping[str, Mapping[Variant, Evaluation]]
) -> None:
    """Write the plot of all systems, if it was asked for."""
    if arguments.plot is None:
        return
    from ..report.figures.axes import score_plot
    from ..report.figures.drawing import Drawing, write

    variant: Variant = "exact" if arguments.variant == "both" else arguments.variant
    plot = score_plot({name: of[variant] for name, of in evaluated.items()})
    file: Path = arguments.plot
    write(Drawing(file.stem, "DET curves and ECE profiles", plot), file.parent, [file.suffix[1:]])


def plain_metrics(
    arguments: argparse.Namespace, evaluated: Mapping[Variant, Evaluation]
) -> dict[str, Any]:
    """Return counts, caveats, metrics and intervals as plain values for JSON."""
    from ..metrics import CAVEATS, zebra_tag

    exact, variants = evaluated["exact"], shown_variants(arguments)
    caveats = {key: why for of in evaluated.values() for key, why in of.caveats.items()}
    plain: dict[str, Any] = {"n_target": exact.n_target, "n_nontarget": exact.n_nontarget}
    plain["caveats"] = {key: caveats[key] for key in CAVEATS if key in caveats}
    for variant in variants:
        plain[variant] = dict(values := evaluated[variant].values)
        if "zebra_individual" in values:
            plain[variant]["zebra_tag"] = zebra_tag(values, variant)
    if exact.intervals:
        plain["intervals"] = {v: evaluated[v].intervals for v in variants}
    return plain


def _strongest(
    arguments: argparse.Namespace, attackers: Mapping[str, Mapping[Variant, Evaluation]]
) -> Found:
    """Return the EERs of all attackers, the lowest one, and that corrected for the choice."""
    from ..metrics import withholding_caveat
    from ..metrics.strongest import strongest
    from ..report.single_files import Found, number_table

    names, exact = list(attackers), {name: of["exact"] for name, of in attackers.items()}
    drawn = [of.replicates for of in exact.values() if of.replicates is not None]
    eers = [of["eer"] for of in exact.values()]
    result = strongest(eers, [of.values["exact eer"] for of in drawn])
    caveats = [*few_replicates(arguments.bootstrap, drawn[0].n_speakers), *result.notes]
    weaker = {name: _overestimates(name, exact) for name in names}
    rivals = [names[rival] for rival in result.rivals]
    plain = to_plain(result) | {"name": names[result.name], "rivals": rivals}
    del plain["eers"]
    each = {name: plain_metrics(arguments, of) for name, of in attackers.items()}
    rows, notes = [], list(caveats)
    for name, reasons in weaker.items():
        each[name]["caveats"] |= reasons
        withheld = withholding_caveat({**exact[name].caveats, **reasons}, "eer")
        causes = [*([withheld.reason] if withheld else []), *reasons.values()]
        notes += [f"{name}: {reason}" for reason in causes]
        (row,) = exact[name].only(["eer"]).to_rows()
        told = "strongest" if name == plain["name"] else "not told from it" * (name in rivals)
        rows.append({"attacker": name, **row, "compared": told})
    of_all = {"metric": "eer", "low": result.lower, "high": result.upper}
    tried = f"strongest of {counted(result.attackers, 'attacker')}, corrected for the choice"
    rows.append({"attacker": tried, "value": result.corrected, **of_all})
    table = number_table("strongest", f"The strongest attacker: {plain['name']}", rows, notes)
    return Found({"strongest": plain, "caveats": caveats, "attackers": each}, rows, [table])


def attacker_id(file: str) -> str:
    """Return the id of the attacker that a score file is named by, such as `ridge-reverse`; of a
    file `scores`, as trees have them, its folder names it, unless that is of a condition ("").

    Examples
    --------
    >>> attacker_id("out/ridge_reverse.gz"), attacker_id("ASV-a-b/words/scores")
    ('ridge-reverse', 'words')
    >>> attacker_id("ASV-a-b/scores")
    ''
    """
    path = Path(file)
    name = path.name.split(".")[0]
    if name == "scores":
        name = "" if path.parent.name.startswith("ASV-") else path.parent.name
    return name.lower().replace("_", "-")


def _overestimates(name: str, attackers: Mapping[str, Evaluation]) -> dict[str, str]:
    """Return the caveats of an attacker weaker than the words alone, than the spectrum, or than an
    aligned or normalized variant of its own, as files are named."""
    from ..metrics.caveats import WEAKER_THAN_SPECTRUM, WEAKER_THAN_VARIANT, WEAKER_THAN_WORDS
    from ..metrics.confidence import paired_bounds
    from ..metrics.evaluation import is_weaker, overestimate_reason
    from ..protocol.protocol import CHALLENGE_ATTACKERS, WORDS, is_variant

    own, one, caveats = attackers[name], attacker_id(name), dict[str, str]()
    floors = {WORDS: WEAKER_THAN_WORDS, SPECTRUM: WEAKER_THAN_SPECTRUM}
    for other, of in sorted(attackers.items(), key=lambda o: -o[1]["eer"]):
        two = attacker_id(other)
        key = floors.get(two, "") * (one not in (WORDS, "fused", two))
        key = key or WEAKER_THAN_VARIANT * is_variant(two, one, ("", *CHALLENGE_ATTACKERS))
        if not key:
            continue
        first, second = (r for r in (own.replicates, of.replicates) if r is not None)
        one_eer, two_eer = (r.values["exact eer"] for r in (first, second))
        bounds = paired_bounds(one_eer, two_eer, first.n_speakers)
        if is_weaker(own["eer"], of["eer"], bounds):
            caveats[key] = overestimate_reason(key, "eer", of["eer"], bounds, other)
    return {key: caveats[key] for key in (*floors.values(), WEAKER_THAN_VARIANT) if key in caveats}
