"""measures: quality, phone errors and other tools' measures of the speech of a tree; or means of
one file of measures, and comparisons of two systems."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .options import (
    JOBS,
    add,
    add_tree,
    choice,
    few_replicates,
    flag,
    log,
    path,
    print_json,
    two_usages,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ..io.measures import Measures
    from ..products.freshness import Run
    from ..stages.access import Experiment

EXAMPLE = "--file nisqa.csv --utt2spk data/libri_test/utt2spk --versus nisqa_original.csv"

#: Default number of bootstrap replicates of one file.
_REPLICATES = 1000

_COLUMNS = (
    "measure utterances speakers mean low_95 high_95 versus difference difference_low_95 "
    "difference_high_95 p_value"
).split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one file."""
    parser.set_defaults(parser=parser)
    stage, files = two_usages(parser, _stage, _files)
    add_tree(stage)
    add(stage, "--allow-pipes", *JOBS, "--isolate", "--details", "--cache")
    stage.add_argument("--quality", **flag("predict the quality of speech (DNSMOS)"))
    stage.add_argument("--phones", **flag("recognize phones, and count errors"))
    reference = "original: phones of the original speech (default); text: of English transcripts"
    references = choice(["original", "text"], reference, default="original")
    stage.add_argument("--phone-reference", **references)
    audio = (
        "audit anonymized audio for original speech and faults, true or false (default: audio that "
        "x-vectors were extracted from in the tree)"
    )
    stage.add_argument("--audio", **choice(["true", "false"], audio, default=None))
    file = "table with a header, a column of it utterance or file, or lines 'UTT VALUE'"
    files.add_argument("--file", required=True, **path("F", file))
    versus = "the same measures of a second system: paired test over speakers"
    files.add_argument("--versus", **path("G", versus))
    add(files, "--utt2spk", help="speakers of the utterances, for intervals and tests")
    add(files, "--format", choices=["text", "json", "csv"], help="csv: a row per measure")
    add(parser, "--allow-missing", "--seed")
    replicates = "bootstrap replicates of speakers; default: 1000, over a tree none"
    add(parser, "--bootstrap", default=None, help=replicates)


def _stage(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    measured = arguments.quality or arguments.phones or protocol.measures
    has_audio = any((arguments.tree / "data").glob("*/wav.scp"))
    if not measured and (arguments.audio == "false" or not has_audio):
        return 0  # nothing was asked for
    from ..stages.measures import Options, make_measures
    from .inputs import load_experiment, log_notes, report_outcome, run_settings
    from .options import fill

    experiment, run, code = load_experiment(arguments, warn=False), run_settings(arguments), 0
    if measured:
        if arguments.quality or arguments.phones:
            log_notes(experiment.asv.notes)
        options = fill(Options, arguments, bootstrap=arguments.bootstrap or 0)
        outcome = make_measures(experiment, options, run)
        code = report_outcome(arguments, outcome, "measures", "computed")
    return max(code, _audit(arguments, experiment, run)) if arguments.audio != "false" else code


def _audit(arguments: argparse.Namespace, experiment: Experiment, run: Run) -> int:
    """Audit anonymized audio; without --audio, a set that cannot be read is only told."""
    from ..stages.measures import plan_audits
    from .inputs import report_outcome

    planned = plan_audits(experiment, arguments.audio == "true")
    outcome = experiment.asv.access.bring_up_to_date(planned, run)
    if arguments.audio is None:
        outcome.notes += [f"not audited: {message}" for message in outcome.failed.values()]
        outcome.failed = {}
        if not (outcome.made or outcome.current or outcome.notes):
            return 0
    return report_outcome(arguments, outcome, "audits of audio", "made")


def _files(arguments: argparse.Namespace) -> int:
    from ..io.csv_text import csv_text
    from ..io.data_dir import read_utt2spk
    from ..io.measures import read_measures
    from ..io.transcripts import speakers_of

    if arguments.bootstrap is None:
        arguments.bootstrap = _REPLICATES
    if arguments.versus is not None and (arguments.utt2spk is None or not arguments.bootstrap):
        arguments.parser.error("--versus needs --utt2spk and --bootstrap")
    first = read_measures(arguments.file)
    _log_ignored(arguments.file, first)
    second: dict[str, dict[str, float]] = {}
    if arguments.versus is not None:
        second = _paired(arguments, first)
    ids = list(next(iter(first.values.values())))
    speaker_of: dict[str, str] = {}
    if arguments.utt2spk is not None:
        speakers = speakers_of(ids, read_utt2spk(arguments.utt2spk), arguments.utt2spk)
        speaker_of = dict(zip(ids, speakers, strict=True))
    number = len(set(speaker_of.values()))
    if not speaker_of:
        log("privacy-eval: no intervals without --utt2spk")
    elif number < 2:
        log("privacy-eval: no intervals, as there is one speaker only")
    elif arguments.bootstrap:
        for caveat in few_replicates(arguments.bootstrap, number):
            log(f"privacy-eval: {caveat}")
    plain: dict[str, Any] = {"utterances": len(ids), "speakers": number or None}
    plain["measures"] = {
        name: _described(arguments, values, second.get(name), speaker_of)
        for name, values in first.values.items()
    }
    if arguments.format == "json":
        print_json(plain)
    elif arguments.format == "csv":
        print(csv_text([_COLUMNS, *_rows(plain)]), end="")
    else:
        for name, of in plain["measures"].items():
            print(_line(name, of, plain))
            if "versus" in of:
                print(_versus_line(arguments.versus, of["versus"]))
    return 0


def _log_ignored(file: Path, measures: Measures) -> None:
    from ..errors import abbreviate

    if measures.ids:
        log(f"privacy-eval: {file}: utterances by the column {measures.ids!r}")
    if measures.ignored:
        log(
            f"privacy-eval: {file}: columns without numbers ignored: {abbreviate(measures.ignored)}"
        )


def _paired(arguments: argparse.Namespace, first: Measures) -> dict[str, dict[str, float]]:
    """Read the measures of the second system that the first has, too, of the same utterances;
    with --allow-missing, both are left with the utterances that both have."""
    from ..errors import PrivacyEvalError, abbreviate
    from ..io.measures import read_measures
    from ..io.transcripts import refuse_utterances

    others = read_measures(arguments.versus)
    _log_ignored(arguments.versus, others)
    theirs = others.values
    if len(first.values) == len(theirs) == 1:  # whatever their names
        theirs = dict(zip(first.values, theirs.values(), strict=True))
    shared = [name for name in first.values if name in theirs]
    if not shared:
        raise PrivacyEvalError(
            f"{arguments.versus}: none of the measures of {arguments.file} "
            f"({abbreviate(list(first.values))}), only {abbreviate(list(theirs))}"
        )
    if alone := [name for name in first.values if name not in theirs]:
        log(f"privacy-eval: {arguments.versus}: no {abbreviate(alone)}: not compared")
    own, other = first.values[shared[0]], theirs[shared[0]]
    missing, extra = ([u for u in a if u not in b] for a, b in ((own, other), (other, own)))
    if not arguments.allow_missing:
        refuse_utterances(arguments.versus, "have no value", missing, len(own))
        refuse_utterances(arguments.file, "have no value", extra, len(other))
    if missing or extra:
        log(f"privacy-eval: left out utterances of one file only: {len(missing) + len(extra)}")
    both = [u for u in own if u in other]
    if not both:
        raise PrivacyEvalError(f"{arguments.versus}: no utterance of {arguments.file}")
    for of_system in (first.values, theirs):
        of_system.update({name: {u: of[u] for u in both} for name, of in of_system.items()})
    return {name: theirs[name] for name in shared}


def _described(
    arguments: argparse.Namespace,
    values: Mapping[str, float],
    other: Mapping[str, float] | None,
    speaker_of: Mapping[str, str],
) -> dict[str, Any]:
    """Compute mean and interval of a measure, and its difference of another system."""
    import math

    from ..io.schema import to_plain
    from ..metrics.wer import SpeakerSums, rate_difference

    plain: dict[str, Any] = {"mean": math.fsum(values.values()) / len(values), "interval": None}
    drawn = {"replicates": arguments.bootstrap, "seed": arguments.seed}
    if arguments.bootstrap and len(set(speaker_of.values())) > 1:
        plain["interval"] = to_plain(
            SpeakerSums.of(values, speaker_of, **drawn).bootstrap().interval("rate")
        )
    if other is not None:
        sums = [SpeakerSums.of(of, speaker_of, **drawn) for of in (values, other)]
        tested = rate_difference(
            [one.counts for one in sums],
            [one.sums for one in sums],
            speakers=sums[0].speakers,
            **drawn,
        )
        plain["versus"] = {"mean": math.fsum(other.values()) / len(other), **to_plain(tested)}
    return plain


def _rows(plain: Mapping[str, Any]) -> Iterable[list[object]]:
    for name, of in plain["measures"].items():
        interval, versus = of["interval"] or {}, of.get("versus", {})
        difference = versus.get("interval", {})
        yield [
            *(name, plain["utterances"], plain["speakers"], of["mean"]),
            *(interval.get("low"), interval.get("high")),
            *(versus.get("mean"), versus.get("difference")),
            *(difference.get("low"), difference.get("high"), versus.get("p_value")),
        ]


def _line(name: str, of: Mapping[str, Any], plain: Mapping[str, Any]) -> str:
    text = f"{name} {of['mean']:.4g} ({plain['utterances']} utterances)"
    if of["interval"]:
        low, high = of["interval"]["low"], of["interval"]["high"]
        text += f", 95 % interval over {plain['speakers']} speakers: {low:.4g} .. {high:.4g}"
    return text


def _versus_line(file: Path, versus: Mapping[str, Any]) -> str:
    low, high = versus["interval"]["low"], versus["interval"]["high"]
    return (
        f"  {file.name} {versus['mean']:.4g}, difference {versus['difference']:.4g}, 95 % interval "
        f"{low:.4g} .. {high:.4g}, p = {versus['p_value']:.3g}"
    )
