"""Read the audio and features named by options; imported only by the verbs that need them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_utt2spk
from ..io.schema import read_options, to_plain
from ..metrics.utility import ratio_bootstrap
from ..speech.audio import Audio, AudioReader
from ..speech.features import (
    CHALLENGE_MFCC,
    CHALLENGE_VAD,
    Features,
    MfccOptions,
    VadOptions,
    utterance_features,
)
from .options import few_replicates, log, progress

T = TypeVar("T")


def audio_reader(
    arguments: argparse.Namespace, *, mix: bool = False, data: Path | None = None
) -> AudioReader:
    """Return the reader of the audio of `--data`, or of another data folder."""
    return AudioReader(
        arguments.data if data is None else data,
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


def iterate_features(
    arguments: argparse.Namespace, reader: AudioReader, options: MfccOptions
) -> Iterator[tuple[str, Features]]:
    """Yield the MFCC of utterances; with --allow-missing, log those that cannot be read."""

    def unreadable(name: str, error: PrivacyEvalError) -> None:
        if not arguments.allow_missing:
            raise error
        log(f"privacy-eval: left out: {error}")

    return utterance_features(reader, options, seed=arguments.seed, unreadable=unreadable)


def utterance_values(
    arguments: argparse.Namespace,
    reader: AudioReader,
    compute: Callable[[str, Audio], T],
    ids: Sequence[str] | None = None,
) -> dict[str, T]:
    """Compute a value of each utterance; with --allow-missing, log those that have none."""
    names, show = reader.ids if ids is None else ids, progress()
    values: dict[str, T] = {}
    for number, name in enumerate(names, 1):
        try:
            audio = reader.read(name)
            if not audio.samples.any():
                reader.remarks.setdefault("no speech, digital silence", []).append(name)
            with located(reader.where(name)):
                values[name] = compute(name, audio)
        except PrivacyEvalError as error:
            if not arguments.allow_missing:
                raise
            log(f"privacy-eval: left out: {error}")
        if show is not None:
            show(number, len(names), name)
    log_remarks(reader)
    if not values:
        raise PrivacyEvalError(f"{arguments.data}: no utterances")
    return values


def speaker_intervals(
    arguments: argparse.Namespace,
    ids: Sequence[str],
    counts: NDArray[np.int64],
    sums: NDArray[np.float64] | NDArray[np.int64],
) -> list[dict[str, Any]]:
    """Compute intervals of pooled rates over speakers, as plain values; none without speakers.

    `counts`, shape (U,), and `sums`, shape (M, U), are of utterances.
    """
    utt2spk = arguments.utt2spk or arguments.data / "utt2spk"
    if not arguments.bootstrap or (arguments.utt2spk is None and not utt2spk.is_file()):
        return []
    speaker_of = read_utt2spk(utt2spk)
    absent = [name for name in ids if name not in speaker_of]
    if absent:
        raise PrivacyEvalError(f"{utt2spk}: no speaker of {abbreviate(absent)}")
    speakers, at = np.unique([speaker_of[name] for name in ids], return_inverse=True)
    of_speaker = np.array([np.bincount(at, row) for row in sums])
    if len(speakers) < 2:
        log("privacy-eval: no interval, as there is one speaker only")
        return []
    for caveat in few_replicates(arguments.bootstrap, len(speakers)):
        log(f"privacy-eval: {caveat}")
    drawn = ratio_bootstrap(
        np.bincount(at, counts).astype(np.int64),
        of_speaker,
        name="rate",
        speakers=speakers.tolist(),
        replicates=arguments.bootstrap,
        seed=arguments.seed,
    )
    return [to_plain(drawn.interval(name)) for name in drawn.values]


def log_remarks(reader: AudioReader) -> None:
    """Log the reader's remarks, each with the utterances concerned."""
    for note in reader.notes():
        log(f"privacy-eval: warning: {note}")
