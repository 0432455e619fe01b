"""uar: recalls of emotion recognition from predictions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .group_options import add_by, plain_groups, print_rates, read_by
from .options import add, log, path, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from ..io.user_tables import Prediction

#: Predictions by set and speaker.
_Sets = dict[str, dict[str, list["Prediction"]]]

EXAMPLE = "--predictions predictions.csv --utt2spk data/IEMOCAP_test/utt2spk"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    columns = "table with the columns utterance, reference, prediction and, optionally, set"
    parser.add_argument("--predictions", required=True, **path("CSV", columns))
    add(parser, "--utt2spk", required=True, help="speakers of the utterances")
    add_by(parser)
    add(parser, "--bootstrap", help="replicates over speakers, for intervals of groups")
    add(parser, "--seed", "--allow-missing", "--format")


def run(arguments: argparse.Namespace) -> int:
    from ..io.data_dir import read_utt2spk
    from ..io.transcripts import refuse_utterances, speakers_of
    from ..io.user_tables import read_predictions
    from ..metrics.utility import mean_of_folds, recalls

    if arguments.bootstrap and not arguments.by:
        raise UsageError("--bootstrap goes with --by")
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
            plain[name]["groups"] = _groups(arguments, of_speaker, folds)
    fewest = min(len(values["speakers"]) for values in plain.values())
    few = ": compare systems speaker by speaker; an interval over so few speakers is uninformative"
    n_classes = sum(key.startswith("acc_") for key in next(iter(plain.values())))
    guess = f"by chance the UAR of {n_classes} classes is {100 / n_classes:.3g} %"
    log(f"privacy-eval: {guess}; means over {fewest} speakers{few * (fewest < 20)}")
    if missing:
        log(f"privacy-eval: left out {len(missing)} utterances without a prediction")
    if arguments.format == "json":
        content = plain[""] if list(plain) == [""] else plain
        print_json(content)
        return 0
    for name, values in plain.items():
        print(_line(name, values))
        for speaker, of_speaker_values in values["speakers"].items():
            print(f"  {_line(speaker, of_speaker_values)}")
        counts = {"n_speakers": "speakers", "utterances": "utterances"}
        for column, groups in values.get("groups", {}).items():
            print_rates(column, groups, counts, {"uar": "UAR, %"})
    return 0


def _merged(path: Path, by_set: _Sets) -> _Sets:
    """Log classes that only references or predictions have; return sets once more, under another
    name, in which those count as another class that the challenge counts so."""
    from ..io.names import vocabulary_notes
    from ..metrics.utility import MERGED

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


def _groups(
    arguments: argparse.Namespace,
    of_speaker: Mapping[str, Sequence[Prediction]],
    folds: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """Return the mean UAR over the speakers of each group as plain values, with intervals if there
    is a bootstrap."""
    from ..metrics.utility import SpeakerSums, group_rates

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


def _line(name: str, values: Mapping[str, Any]) -> str:
    from ..metrics.registry import describe

    texts = (
        f"{key} {describe('uar').format(value, decimals=3)}"
        for key, value in values.items()
        if key not in ("speakers", "groups")
    )
    return " ".join(filter(None, (name, *texts)))
