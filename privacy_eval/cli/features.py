"""features: MFCC and voice activity of a data folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import PrivacyEvalError
from .options import add, add_features, progress

EXAMPLE = "--data data/libri_test --out feats"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_features(parser)
    add(parser, "--out", required=True, help="output folder: mfcc.scp, mfcc.ark, vad.scp, vad.ark")


def run(arguments: argparse.Namespace) -> int:
    from ..io.scp import archive_writer
    from ..speech.features import voice_activity
    from .audio import audio_of, feature_options, features_of, log_remarks

    options, vad = feature_options(arguments)
    reader, show = audio_of(arguments), progress()
    base = arguments.scp_base or Path()
    written = frames = voiced_frames = 0
    with (
        archive_writer(arguments.out / "mfcc.scp", tree=base) as write_mfcc,
        archive_writer(arguments.out / "vad.scp", tree=base) as write_vad,
    ):
        for name, features in features_of(arguments, reader, options):
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
