"""Read the audio and features named by options; imported only by the verbs that need them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..cli.options import few_replicates, log, progress
from ..errors import PrivacyEvalError, abbreviate, counted, located
from ..io.data_dir import read_utt2spk
from ..io.schema import to_plain
from ..metrics.utility import SpeakerSums
from .audio import Audio, AudioReader
from .features import (
    CHALLENGE_MFCC,
    CHALLENGE_VAD,
    MfccOptions,
    VadOptions,
    utterance_features,
)
from .xvector import read_options

T = TypeVar("T")
Extracted = tuple[str, Iterator[tuple[str, NDArray[np.float32] | None]]]


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


def kaldi_vectors(arguments: argparse.Namespace, reader: AudioReader) -> Extracted:
    """Return the digest of the network and the vectors of the utterances; with --allow-missing,
    log those that cannot be read."""
    from .xvector import assumed_sizes, load_extractor, utterance_vectors

    options, vad = CHALLENGE_MFCC, CHALLENGE_VAD
    if arguments.mfcc_config is not None:
        options = read_options(arguments.mfcc_config, MfccOptions)
    if arguments.vad_config is not None:
        vad = read_options(arguments.vad_config, VadOptions)
    if arguments.dither is not None:
        options = replace(options, dither=arguments.dither)
    extractor = load_extractor(arguments.model, network=arguments.network)
    if arguments.model is not None and (assumption := assumed_sizes(extractor.sha256)):
        log(f"privacy-eval: {arguments.model}: {assumption}")

    def unreadable(name: str, error: PrivacyEvalError) -> None:
        if not arguments.allow_missing:
            raise error
        log(f"privacy-eval: left out: {error}")

    features = utterance_features(reader, options, seed=arguments.seed, unreadable=unreadable)
    return extractor.sha256["final.raw"], utterance_vectors(extractor, reader, features, vad)


def encoder_vectors(arguments: argparse.Namespace, reader: AudioReader) -> Extracted:
    """Return the digest of the encoder and the vectors of the utterances; utterances without
    vector are logged, and an error at the end without --allow-missing, unless they are crops."""
    from .encoders import EncoderChoice, encode_utterances

    choice = EncoderChoice(arguments.encoder, arguments.front_end, arguments.cache)
    encoder = choice.load()
    refused: dict[str, PrivacyEvalError] = {}

    def refuse(name: str, error: PrivacyEvalError) -> None:
        log(f"privacy-eval: no vector: {error}")
        refused[name] = error

    def vectors() -> Iterator[tuple[str, NDArray[np.float32] | None]]:
        yield from encode_utterances(encoder, reader, refused=refuse)
        if refused and not arguments.allow_missing and arguments.crop is None:
            raise PrivacyEvalError(
                f"{arguments.data}: {counted(len(refused), 'utterance')} without a vector: "
                f"{abbreviate([*refused])} (--allow-missing leaves them out); nothing written"
            ) from next(iter(refused.values()))

    return choice.identity(encoder.sha256), vectors()


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
    measures: Mapping[str, Mapping[str, float]],
    counts: Mapping[str, int] | None = None,
) -> dict[str, Any] | None:
    """Compute intervals of means, or of rates by `counts`, over speakers, as plain values; none
    without speakers. All are by utterance."""
    utt2spk = arguments.utt2spk or arguments.data / "utt2spk"
    if not arguments.bootstrap or (arguments.utt2spk is None and not utt2spk.is_file()):
        return None
    speaker_of, ids = read_utt2spk(utt2spk), next(iter(measures.values()))
    if absent := [name for name in ids if name not in speaker_of]:
        raise PrivacyEvalError(f"{utt2spk}: no speaker of {abbreviate(absent)}")
    speakers = {speaker_of[name] for name in ids}
    if len(speakers) < 2:
        log("privacy-eval: no interval, as there is one speaker only")
        return None
    for caveat in few_replicates(arguments.bootstrap, len(speakers)):
        log(f"privacy-eval: {caveat}")
    drawn = {"replicates": arguments.bootstrap, "seed": arguments.seed}
    sums = {k: SpeakerSums.of(of, speaker_of, counts=counts, **drawn) for k, of in measures.items()}
    return {key: to_plain(of.bootstrap().interval("rate")) for key, of in sums.items()}


def log_remarks(reader: AudioReader) -> None:
    """Log the reader's remarks, each with the utterances concerned."""
    for note in reader.notes():
        log(f"privacy-eval: warning: {note}")
