"""features: MFCC and voice activity of a data folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import PrivacyEvalError
from .options import add, add_data, log, number, path, progress, value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_data(parser)
    add(parser, "--allow-missing")
    add(parser, "--out", required=True, help="folder of mfcc.scp, mfcc.ark, vad.scp and vad.ark")
    default = "Kaldi's option file; default: the challenge's options"
    parser.add_argument("--mfcc-config", **path("FILE", default))
    parser.add_argument("--vad-config", **path("FILE", default))
    dither = "standard deviation of noise added to the samples; default: 0, or that of the file"
    parser.add_argument("--dither", **value("X", dither, type=number))
    add(parser, "--seed", help="of the dither")


def run(arguments: argparse.Namespace) -> int:
    from dataclasses import replace

    from ..io.kaldi_options import read_options
    from ..io.scp import archive_writer
    from ..speech.features import (
        CHALLENGE_MFCC,
        CHALLENGE_VAD,
        MfccOptions,
        VadOptions,
        utterance_features,
        voice_activity,
    )
    from .inputs import audio_of, log_remarks

    options, vad = CHALLENGE_MFCC, CHALLENGE_VAD
    if arguments.mfcc_config is not None:
        options = read_options(arguments.mfcc_config, MfccOptions)
    if arguments.vad_config is not None:
        vad = read_options(arguments.vad_config, VadOptions)
    if arguments.dither is not None:
        options = replace(options, dither=arguments.dither)
    reader, show = audio_of(arguments), progress()
    missing: list[str] = []

    def unreadable(name: str, error: PrivacyEvalError) -> None:
        if not arguments.allow_missing:
            raise error
        log(f"privacy-eval: left out: {error}")
        missing.append(name)

    base = arguments.scp_base or Path()
    written = frames = voiced_frames = 0
    with (
        archive_writer(arguments.out / "mfcc.scp", tree=base) as write_mfcc,
        archive_writer(arguments.out / "vad.scp", tree=base) as write_vad,
    ):
        for name, features in utterance_features(
            reader, options, seed=arguments.seed, unreadable=unreadable
        ):
            voiced = voice_activity(features, vad)
            write_mfcc(name, features)
            write_vad(name, voiced.astype("float32"))
            written, frames = written + 1, frames + len(features)
            voiced_frames += int(voiced.sum())
            if show is not None:
                show(written, len(reader.ids), name)
        log_remarks(reader)
        if not written:
            raise PrivacyEvalError(f"{arguments.data}: no utterance has features; nothing written")
    print(
        f"{arguments.out}: features of {written} of {len(reader.ids)} utterances, {frames} frames, "
        f"{voiced_frames} voiced"
    )
    return 0
