"""uar: recalls of emotion recognition from predictions."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .options import add, log, path

EXAMPLE = "--predictions predictions.csv --utt2spk data/IEMOCAP_test/utt2spk"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    columns = "CSV with the columns utterance, reference, prediction and, optionally, set"
    parser.add_argument("--predictions", required=True, **path("CSV", columns))
    add(parser, "--utt2spk", required=True, help="speakers of the utterances")
    add(parser, "--format")


def run(arguments: argparse.Namespace) -> int:
    from ..io.data_dir import read_utt2spk
    from ..io.predictions import Prediction, read_predictions
    from ..io.transcripts import speakers_of
    from ..metrics.recall import mean_of_folds, recalls
    from ..metrics.registry import describe

    utt2spk = read_utt2spk(arguments.utt2spk)
    by_set: dict[str, list[Prediction]] = {}
    for one in read_predictions(arguments.predictions):
        by_set.setdefault(one.set, []).append(one)
    plain: dict[str, Any] = {}
    for name, predictions in by_set.items():
        speakers = speakers_of((p.utterance for p in predictions), utt2spk, arguments.utt2spk)
        of_speaker: dict[str, list[Prediction]] = {}
        for speaker, one in zip(speakers, predictions, strict=True):
            of_speaker.setdefault(speaker, []).append(one)
        folds = {
            speaker: recalls([p.reference for p in utterances], [p.prediction for p in utterances])
            for speaker, utterances in sorted(of_speaker.items())
        }
        plain[name] = {**mean_of_folds(folds), "speakers": folds}
    fewest = min(len(values["speakers"]) for values in plain.values())
    log(
        f"privacy-eval: means over {fewest} speakers: compare systems speaker by speaker; an "
        "interval over so few speakers is uninformative"
        if fewest < 20
        else f"privacy-eval: means over {fewest} speakers"
    )
    if arguments.format == "json":
        printed = plain[""] if list(plain) == [""] else plain
        print(json.dumps(printed, indent=1, ensure_ascii=False, allow_nan=False))
        return 0
    for name, values in plain.items():
        for row, numbers in {name: values, **values["speakers"]}.items():
            texts = (
                f"{key} {describe('uar').format(number, decimals=3)}"
                for key, number in numbers.items()
                if key != "speakers"
            )
            print(" ".join(filter(None, (row, *texts))))
    return 0
