"""pitch: pitch correlation of original and anonymized speech."""

from __future__ import annotations

import argparse

from ..errors import PrivacyEvalError, abbreviate, located
from .options import add, log, path, print_json, progress, value

EXAMPLE = "--original data/libri_test --anonymized data/libri_test_anon"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    folder = "data folder with wav.scp, or folder of <utterance>.f0 (Hz every 10 ms)"
    parser.add_argument("--original", required=True, **path("DIR", folder))
    parser.add_argument("--anonymized", required=True, **path("DIR", folder))
    parser.add_argument(
        "--name", **value("SET", "name of the set (default: the original folder's)")
    )
    add(parser, "--scp-base", default=None)
    add(parser, "--allow-missing", "--allow-pipes", "--allow-outside", "--format")


def run(arguments: argparse.Namespace) -> int:
    from ..io.data_dir import read_utt2spk
    from ..io.results_txt import ResultsTxt, format_results_txt
    from ..metrics.utility import mean_and_std, mismatched_pairs, pitch_correlation
    from ..speech.utility import tracks_of

    original, anonymized = (
        tracks_of(
            folder,
            base=arguments.scp_base,
            allow_pipes=arguments.allow_pipes,
            allow_outside=arguments.allow_outside,
        )
        for folder in (arguments.original, arguments.anonymized)
    )
    both = [utterance for utterance in original if utterance in anonymized]
    alone = sorted(original.keys() ^ anonymized.keys())
    if alone and not arguments.allow_missing:
        raise PrivacyEvalError(
            f"{arguments.anonymized}: {len(alone)} utterances are only here or only in "
            f"{arguments.original}: {abbreviate(alone)}"
        )
    if alone:
        log(f"privacy-eval: left out {len(alone)} utterances: {abbreviate(alone)}")
    report, correlations, tracks = progress(), {}, {}
    for number, utterance in enumerate(both, start=1):
        with located(utterance):
            tracks[utterance] = original[utterance](), anonymized[utterance]()
            correlations[utterance] = pitch_correlation(*tracks[utterance])
        if report is not None:
            report(number, len(both), utterance)
    mean, std = mean_and_std(list(correlations.values()))
    utt2spk = arguments.original / "utt2spk"
    speaker_of = read_utt2spk(utt2spk) if utt2spk.is_file() else {}
    pairs = mismatched_pairs({u: speaker_of.get(u, "") for u in both})
    by_chance = [pitch_correlation(tracks[a][0], tracks[b][1]) for a, b in pairs]
    chance = mean_and_std(by_chance)[0] if by_chance else None
    stretched = [u for u, (a, b) in tracks.items() if not 1 / 1.2 <= a.size / b.size <= 1.2]
    if stretched:
        text = "lengths differ by more than 20 %, and stretching lowers the correlation"
        log(f"privacy-eval: warning: {text}: {len(stretched)} ({abbreviate(stretched)})")
    name = arguments.name or arguments.original.resolve().name
    if arguments.format == "json":
        of_set = {"mean": mean, "std": std, "chance": chance}
        plain = {**of_set, "stretched": stretched, "utterances": correlations}
        print_json(plain)
        return 0
    values = {"pitch_correlation_mean": mean, "pitch_correlation_std": std}
    if chance is not None:
        values["pitch_correlation_chance"] = chance
    print(format_results_txt(ResultsTxt(utility={name: values})), end="")
    return 0
