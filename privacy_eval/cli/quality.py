"""quality: predicted quality of the speech of a data folder (DNSMOS)."""

from __future__ import annotations

import argparse

from .options import add, add_data, log, path, print_json

EXAMPLE = "--data data/libri_test --format json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_data(parser)
    parser.add_argument("--original", **path("DIR", "original speech, to compare the level with"))
    add(parser, "--cache", "--allow-missing", "--utt2spk", "--seed", "--format")
    add(parser, "--bootstrap", default=1000)


def run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from ..metrics.caveats import CAVEATS, LEVEL, MOST_LEVEL_DIFFERENCE, OTHER_LEVEL
    from ..speech.utility import QUALITIES, level_db, load_dnsmos
    from .audio import audio_reader, speaker_intervals, utterance_values

    dnsmos = load_dnsmos(arguments.cache)
    reader = audio_reader(arguments, mix=True)
    rated = utterance_values(arguments, reader, lambda _, audio: dnsmos.rate(audio))
    values = np.array([[rated[u][q] for u in rated] for q in QUALITIES])
    intervals = speaker_intervals(arguments, list(rated), np.ones(len(rated), np.int64), values)
    mean = dict(zip(QUALITIES, values.mean(axis=1).tolist(), strict=True))
    interval = dict(zip(QUALITIES, intervals, strict=True)) if intervals else None
    if arguments.original is not None:
        other = audio_reader(arguments, mix=True, data=arguments.original)
        levels = utterance_values(arguments, other, lambda _, audio: level_db(audio))
        difference = mean[LEVEL] - sum(levels.values()) / len(levels)
        if abs(difference) > MOST_LEVEL_DIFFERENCE:
            log(f"privacy-eval: warning: {CAVEATS[OTHER_LEVEL].reason}: {difference:+.1f} dB")
    if arguments.format == "json":
        plain = {"utterances": rated, "mean": mean, "interval": interval}
        print_json(plain)
        return 0
    for quality in QUALITIES:
        text = f"{quality.upper():<5} {mean[quality]:.3f}"
        if interval:
            low, high = interval[quality]["low"], interval[quality]["high"]
            text += f", 95 % interval over speakers: {low:.3f} .. {high:.3f}"
        print(text)
    return 0
