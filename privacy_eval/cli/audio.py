"""Read the audio and features named by options; imported only by the verbs that need them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from ..errors import PrivacyEvalError, abbreviate
from ..io.kaldi_options import read_options
from ..speech.audio import AudioReader
from ..speech.features import (
    CHALLENGE_MFCC,
    CHALLENGE_VAD,
    Features,
    MfccOptions,
    VadOptions,
    utterance_features,
)
from .options import log


def audio_of(arguments: argparse.Namespace, *, mix: bool = False) -> AudioReader:
    """Return the reader of a data folder's audio."""
    return AudioReader(
        arguments.data,
        base=arguments.scp_base,
        mix=mix,
        allow_pipes=arguments.allow_pipes,
        allow_outside=arguments.allow_outside,
    )


def feature_options(arguments: argparse.Namespace) -> tuple[MfccOptions, VadOptions]:
    """Return the options of MFCC and voice activity."""
    options, vad = CHALLENGE_MFCC, CHALLENGE_VAD
    if arguments.mfcc_config is not None:
        options = read_options(arguments.mfcc_config, MfccOptions)
    if arguments.vad_config is not None:
        vad = read_options(arguments.vad_config, VadOptions)
    if arguments.dither is not None:
        options = replace(options, dither=arguments.dither)
    return options, vad


def features_of(
    arguments: argparse.Namespace, reader: AudioReader, options: MfccOptions
) -> Iterator[tuple[str, Features]]:
    """Yield the MFCC of utterances; with --allow-missing, log those that cannot be read."""

    def unreadable(name: str, error: PrivacyEvalError) -> None:
        if not arguments.allow_missing:
            raise error
        log(f"privacy-eval: left out: {error}")

    return utterance_features(reader, options, seed=arguments.seed, unreadable=unreadable)


def log_remarks(reader: AudioReader) -> None:
    """Log the reader's remarks, each with the utterances concerned."""
    for remark, names in reader.remarks.items():
        log(f"privacy-eval: warning: {remark}: utterances: {len(names)} ({abbreviate(names)})")
