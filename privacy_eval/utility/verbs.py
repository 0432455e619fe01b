"""Verbs on what recognizers and other tools say: word errors, emotions, measures."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..choices import NORMALIZATIONS, VARIANTS
from ..cli.group_options import BY, group_rows, group_tables, plain_groups, read_by
from ..cli.options import Options, few_replicates, log
from ..errors import PrivacyEvalError, abbreviate
from ..io.schema import to_plain
from ..options import choice, path

if TYPE_CHECKING:
    from pathlib import Path

    from ..io.user_tables import Measures
    from ..metrics.utility import WordErrors
    from ..report.single_files import Found
    from .emotions import Prediction
    from .word_errors import WordErrorCounts

_TRANSCRIPTS = "transcripts: Kaldi's text, STM, CTM, trn, SegLST, manifest, or CSV with a header"
_OTHER_HYPOTHESES = (
    "hypotheses of a second system for the same utterances: paired test over speakers"
)
_NORMALIZATION = "of both texts: none (2024, first track of 2026), vpc2026 (second track)"
_EMPTY = "challenge: an empty side is a word, Unicode's forms differ; default: exact"
_PREDICTIONS = "table with the columns utterance, reference, prediction and, optionally, set"
_FILE = "table with a header, a column of it utterance or file, or lines 'UTT VALUE'"

VERBS: dict[str, Options] = {
    "wer": {
        "example": "--hypothesis text --reference data/libri/text --utt2spk data/libri/utt2spk",
        "shared": "bootstrap seed allow-missing format",
        "--hypothesis": path("TEXT", _TRANSCRIPTS, required=True),
        "--reference": path("TEXT", _TRANSCRIPTS, required=True),
        "--versus": path("TEXT", _OTHER_HYPOTHESES),
        "--normalization": choice(NORMALIZATIONS, _NORMALIZATION, default="none"),
        "--variant": choice(VARIANTS, _EMPTY, default="exact"),
        "--utt2spk": {"help": "speakers of the utterances; default: as STM, ... name them"},
        "--by": BY,
    },
    "uar": {
        "example": "--predictions predictions.csv --utt2spk data/IEMOCAP_test/utt2spk",
        "shared": "seed allow-missing format",
        "rules": (("bootstrap", "by", "--bootstrap goes with --by"),),
        "--predictions": path("CSV", _PREDICTIONS, required=True),
        "--utt2spk": {"help": "speakers of the utterances", "required": True},
        "--by": BY,
        "--bootstrap": {"help": "replicates over speakers, for intervals of groups"},
    },
    "measures": {
        "example": "--file nisqa.csv --utt2spk data/libri_test/utt2spk --versus nisqa_original.csv",
        "shared": "seed allow-missing format",
        "rules": (
            ("versus", "utt2spk", "--versus needs --utt2spk and --bootstrap"),
            ("versus", "bootstrap", "--versus needs --utt2spk and --bootstrap"),
        ),
        "--file": path("F", _FILE, required=True),
        "--versus": path("G", "the same measures of a second system: paired test over speakers"),
        "--utt2spk": {"help": "speakers of the utterances, for intervals and tests"},
        "--bootstrap": {"default": 1000, "help": "bootstrap replicates of speakers; default: 1000"},
    },
}


#: Default number of bootstrap replicates of the comparison.
_REPLICATES = 1000


def run_wer(arguments: argparse.Namespace) -> Found:
    from ..report.single_files import Found, ends, number_table
    from .word_errors import compare, interval

    word_errors = _counted(arguments)
    first, speakers = word_errors[0], word_errors[0].speakers
    drawn = {"replicates": arguments.bootstrap or _REPLICATES, "seed": arguments.seed}
    plain: dict[str, Any] = _plain(first.counts) | {"utterances": len(first.utterances)}
    plain |= {name: vars(arguments)[name] for name in ("normalization", "variant")}
    plain["notes"], caveats = first.notes, list[str]()
    if arguments.bootstrap:
        plain["interval"] = to_plain(interval(first, **drawn))
    name, other = str(arguments.hypothesis), str(arguments.versus)
    rows = [_row(plain, system=name) | ends(plain.get("interval"))]
    if arguments.versus:
        of = _plain(word_errors[1].counts) | to_plain(compare(*word_errors, **drawn))
        tested = {"metric": "wer", "value": of["difference"], "p": of["p_value"]}
        rows += [_row(of, system=other), {"system": other, "against": name, **tested}]
        rows[-1] |= ends(of["interval"])
        plain["versus"] = of
    if arguments.bootstrap or arguments.versus:
        caveats = few_replicates(drawn["replicates"], len(speakers))
    plain["speakers"] = {speaker: _plain(c) for speaker, c in speakers.items()}
    rows += [_row(of, system=name, speaker=s) for s, of in plain["speakers"].items()]
    notes = [_kaldi_line(plain), *caveats]
    tables = [number_table("wer", f"Word errors, variant {arguments.variant}", rows, notes)]
    if arguments.by:
        plain["groups"] = _groups_wer(arguments, first)
        rows += group_rows(plain["groups"], {"wer": ""})
        tables += group_tables(plain["groups"], {"wer": ""})
    if arguments.allow_missing:
        plain["left_out"] = {"references": first.missing, "hypotheses": first.extra}
    return Found(plain, rows, tables)


#: Counts of word errors.
_KINDS = ("errors", "words", "insertions", "deletions", "substitutions")


def _kaldi_line(of: Mapping[str, Any]) -> str:
    """Return the line of Kaldi's scoring, which scripts look for."""
    from ..io.wer import WerLine, format_wer_line

    counts = {kind: of[kind] for kind in _KINDS}
    named: dict[str, Any] = {"decode": "", "lm_weight": None, "word_insertion_penalty": None}
    text = format_wer_line(WerLine(wer=of["wer"] or 0.0, **counts, **named))
    return text if of["words"] else text.replace("%WER 0.00", "%WER undefined", 1)


def _row(of: Mapping[str, Any], **place: str) -> dict[str, Any]:
    """Return word errors as a measurement; without words there is no rate."""
    counts = {f"n_{kind}": of[kind] for kind in _KINDS}
    return {**place, "metric": "wer", "value": of["wer"], **counts}


def _counted(arguments: argparse.Namespace) -> list[WordErrorCounts]:
    """Count the word errors of one or two files, and log what must be known of them."""
    from .word_errors import count_word_errors

    files = [arguments.hypothesis] + ([arguments.versus] if arguments.versus else [])
    options = ("utt2spk", "normalization", "variant", "allow_missing")
    given = {name: vars(arguments)[name] for name in options}
    found = [count_word_errors(file, arguments.reference, **given) for file in files]
    speakers = found[0].speakers
    if not speakers and (arguments.bootstrap or arguments.versus or arguments.by):
        arguments.usage_error("--bootstrap, --versus and --by need --utt2spk")
    for note in dict.fromkeys(note for one in found for note in one.notes):
        log(f"privacy-eval: {note}")
    if speakers and arguments.utt2spk is None:
        log(f"privacy-eval: {len(speakers)} speakers by the transcripts: {abbreviate([*speakers])}")
    for file, one in zip(files, found, strict=True):
        if one.missing or one.extra:
            log(
                f"privacy-eval: {file}: left out {one.missing} references without a hypothesis and "
                f"{one.extra} hypotheses without a reference"
            )
    return found


def _groups_wer(arguments: argparse.Namespace, counted: WordErrorCounts) -> dict[str, Any]:
    """Return the rates of groups of speakers as plain values, with intervals if there is a
    bootstrap."""
    from .word_errors import group_word_errors

    plain = {}
    for labels in read_by(arguments.by):
        drawn = {"replicates": arguments.bootstrap, "seed": arguments.seed}
        rates, without = group_word_errors(counted, labels, **drawn)
        groups = {
            name: {
                "wer": of.rate,
                "words": of.count,
                "n_speakers": of.n_speakers,
                **({"wer_interval": of.interval} if of.interval else {}),
            }
            for name, of in rates.items()
        }
        plain[labels.column] = plain_groups(groups, labels, without)
    return plain


def _plain(counts: WordErrors) -> dict[str, Any]:

    return {"wer": counts.wer, "errors": counts.errors, **to_plain(counts)}


#: Predictions by set and speaker.
_Sets = dict[str, dict[str, list["Prediction"]]]


def run_uar(arguments: argparse.Namespace) -> Found:
    from ..io.data_dir import read_utt2spk
    from ..io.transcripts import refuse_utterances, speakers_of
    from ..metrics.utility import mean_of_folds
    from ..report.single_files import Found, number_table
    from .emotions import read_predictions, recalls

    utt2spk = read_utt2spk(arguments.utt2spk)
    by_set: _Sets = {}
    predictions = read_predictions(arguments.predictions)
    speakers = speakers_of([p.utterance for p in predictions], utt2spk, arguments.utt2spk)
    for one, speaker in zip(predictions, speakers, strict=True):
        by_set.setdefault(one.set, {}).setdefault(speaker, []).append(one)
    missing = _missing(by_set, utt2spk)
    if not arguments.allow_missing:
        refuse_utterances(arguments.predictions, "have no prediction", missing, len(utt2spk))
    plain: dict[str, Any] = {}
    by_set |= _merged(arguments.predictions, by_set)
    for name, of_speaker in by_set.items():
        folds = {
            speaker: recalls([p.reference for p in of], [p.prediction for p in of])
            for speaker, of in sorted(of_speaker.items())
        }
        plain[name] = {**mean_of_folds(folds), "speakers": folds}
        if arguments.by:
            plain[name]["groups"] = _groups_uar(arguments, of_speaker, folds)
    fewest = min(len(values["speakers"]) for values in plain.values())
    few = ": compare systems speaker by speaker; an interval over so few speakers is uninformative"
    n_classes = sum(key.startswith("acc_") for key in next(iter(plain.values())))
    guess = f"by chance the UAR of {n_classes} classes is {100 / n_classes:.3g} %"
    log(f"privacy-eval: {guess}; means over {fewest} speakers{few * (fewest < 20)}")
    if missing:
        log(f"privacy-eval: left out {len(missing)} utterances without a prediction")
    rows, tables = list[dict[str, Any]](), []
    for number, (name, values) in enumerate(plain.items()):
        of_set = [
            {"name": name, "fold": fold, "metric": key, "value": value}
            for fold, of in {"": values, **values["speakers"]}.items()
            for key, value in of.items()
            if key not in ("speakers", "groups")
        ]
        caption = f"Recalls of emotions {name}".rstrip()
        tables.append(number_table(f"uar_{number}", caption, of_set))
        groups = values.get("groups", {})
        rows += [*of_set, *({"name": name, **row} for row in group_rows(groups, {"uar": ""}))]
        tables += group_tables(groups, {"uar": ""})
    return Found(plain[""] if list(plain) == [""] else plain, rows, tables)


def _merged(path: Path, by_set: _Sets) -> _Sets:
    """Log classes that only references or predictions have; return sets once more, under another
    name, in which those count as another class that the challenge counts so."""
    from .emotions import MERGED, vocabulary_notes

    sets: _Sets = {}
    for name, of_speaker in by_set.items():
        pairs = ((p.reference, p.prediction) for of in of_speaker.values() for p in of)
        references, predicted = zip(*pairs, strict=True)
        merged = {a: b for a, b in MERGED.items() if a in references and a not in predicted}
        merged = {a: b for a, b in merged.items() if b in predicted}
        for note in vocabulary_notes(path, (references, predicted), merged):
            log(f"privacy-eval: {note}")
        for emotion in merged:
            sets[f"{name} {emotion} as {merged[emotion]}".strip()] = {
                speaker: [replace(p, reference=merged.get(p.reference, p.reference)) for p in of]
                for speaker, of in of_speaker.items()
            }
    return sets


def _groups_uar(
    arguments: argparse.Namespace,
    of_speaker: Mapping[str, Sequence[Prediction]],
    folds: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """Return the mean UAR over the speakers of each group as plain values, with intervals if there
    is a bootstrap."""
    from ..metrics.utility import SpeakerSums
    from .rates import group_rates

    names = tuple(folds)
    uars = tuple(folds[name]["uar"] for name in names)
    counts = (1,) * len(names)
    sums = SpeakerSums(names, counts, uars, arguments.bootstrap, arguments.seed)
    speaker_of = {p.utterance: speaker for speaker, of in of_speaker.items() for p in of}
    plain = {}
    for labels in read_by(arguments.by):
        group_of, without = labels.groups(speaker_of)
        groups = {
            name: {
                "uar": of.rate,
                "n_speakers": of.n_speakers,
                "utterances": sum(group_of.get(s) == name for s in speaker_of.values()),
                **({"uar_interval": of.interval} if of.interval else {}),
            }
            for name, of in group_rates(sums, group_of).items()
        }
        plain[labels.column] = plain_groups(groups, labels, without)
    return plain


def _missing(
    by_set: Mapping[str, Mapping[str, Sequence[Prediction]]], utt2spk: Mapping[str, str]
) -> list[str]:
    """List the utterances of speakers of no set, and of a set's speakers those that it lacks."""
    speakers = {speaker for of_speaker in by_set.values() for speaker in of_speaker}
    missing = {utterance for utterance, speaker in utt2spk.items() if speaker not in speakers}
    for of_speaker in by_set.values():
        predicted = {p.utterance for of in of_speaker.values() for p in of}
        missing |= {u for u, s in utt2spk.items() if s in of_speaker and u not in predicted}
    return [utterance for utterance in utt2spk if utterance in missing]


def run_measures(arguments: argparse.Namespace) -> Found:
    from ..io.data_dir import read_utt2spk
    from ..io.transcripts import speakers_of
    from ..io.user_tables import read_measures
    from ..report.single_files import Found, ends, number_table

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
    counts = {"n_utterances": len(ids), "n_speakers": number or None}
    rows, one, two = list[dict[str, Any]](), str(arguments.file), str(arguments.versus)
    for name, of in plain["measures"].items():
        row = {"system": one, "metric": name, "value": of["mean"], **ends(of["interval"])}
        rows.append({**row, **counts})
        if versus := of.get("versus"):
            rows.append({"system": two, "metric": name, "value": versus["mean"], **counts})
            row = {"system": two, "against": one, "metric": name, "value": versus["difference"]}
            rows.append({**row, **ends(versus["interval"]), **counts, "p": versus["p_value"]})
    return Found(plain, rows, [number_table("measures", f"Measures of {one}", rows)])


def _log_ignored(file: Path, measures: Measures) -> None:

    if measures.ids:
        log(f"privacy-eval: {file}: utterances by the column {measures.ids!r}")
    if measures.ignored:
        log(
            f"privacy-eval: {file}: columns without numbers ignored: {abbreviate(measures.ignored)}"
        )


def _paired(arguments: argparse.Namespace, first: Measures) -> dict[str, dict[str, float]]:
    """Read the measures of the second system that the first has, too, of the same utterances;
    with --allow-missing, both are left with the utterances that both have."""
    from ..io.transcripts import refuse_utterances
    from ..io.user_tables import read_measures

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

    from ..metrics.utility import SpeakerSums
    from .rates import rate_difference

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
