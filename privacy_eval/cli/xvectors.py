"""xvectors: extract vectors with Kaldi's networks or an encoder, of a tree or a data folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import ENCODERS, SPECTRUM
from ..errors import PrivacyEvalError, UsageError, abbreviate, counted
from .options import (
    JOBS,
    add,
    add_features,
    add_tree,
    folder_command,
    log,
    path,
    progress,
    runs_as_stage,
    two_usages,
    value,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..speech.audio import AudioReader
    from ..speech.encoders import EncoderChoice
    from ..stages.access import AsvSystems

    Extracted = tuple[str, Iterator[tuple[str, NDArray[np.float32] | None]]]

#: Environment variables that set the number of threads of linear algebra libraries.
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

_KALDI = "kaldi"

EXAMPLE = "--data data/libri_test --model xvector_nnet_1a --out xvect_libri_test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one data folder."""
    stage, files = two_usages(parser, needed="--out")
    add_tree(stage, common=parser)
    add_features(files, common=parser)
    add(stage, *JOBS, "--isolate", "--details", "--attackers")
    extractor = (
        f"{_KALDI} (its programs, at KALDI_ROOT), or 'COMMAND {{in}} {{out}}', run for every data "
        "folder (default: the built-in extractor)"
    )
    stage.add_argument("--extractor", **value("NAME", extractor, type=folder_command(_KALDI)))
    model = "folder of the extractor: final.raw, extract.config, min_chunk_size, max_chunk_size"
    files.add_argument("--model", **path("DIR", model))
    files.add_argument("--network", **path("FILE", "nnet3 raw model, instead of final.raw"))
    names = f"{', '.join(ENCODERS)} or FILE.onnx, instead of a Kaldi network"
    parser.add_argument("--encoder", **value("NAME", names))
    crop = "of whole pieces of the utterances, <utterance>-c<k>, without the rest"
    files.add_argument("--crop", **value("SECONDS", crop, type=float))
    front_end = "of FILE.onnx: wespeaker, sherpa, 3dspeaker or FILE.yaml; default: its metadata"
    parser.add_argument("--front-end", **value("NAME", front_end))
    add(parser, "--cache")
    out = "folder of xvector.scp, xvector.ark, spk_xvector.scp and spk_xvector.ark"
    add(parser, "--out", help=f"{out}; not needed over a tree")
    parser.set_defaults(parser=parser)


def run(arguments: argparse.Namespace) -> int:
    # One thread, set before NumPy is imported: identical bytes on any number of cores.
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    if arguments.encoder is None and arguments.front_end is not None:
        arguments.parser.error("--front-end needs --encoder FILE.onnx")
    return _stage(arguments) if runs_as_stage(arguments) else _files(arguments)


def _stage(arguments: argparse.Namespace) -> int:
    from ..products.freshness import Outcome
    from ..protocol.protocol import ENCODERS_FOLDER, load_protocol
    from ..stages.asv_scores import default_attackers, vector_sets
    from ..stages.subsets import make_crops
    from ..stages.user_command import UserCommand
    from .inputs import (
        chosen_attackers,
        load_asv_systems,
        log_notes,
        report_outcome,
        run_settings,
    )

    text = arguments.extractor
    protocol = load_protocol(arguments.conf, base=arguments.tree)
    attackers = chosen_attackers(arguments, protocol)
    asv = load_asv_systems(arguments, protocol)
    if attackers is None:
        extracts = bool(text or arguments.encoder)
        attackers = default_attackers(asv, extracts=extracts, cache=arguments.cache)
    if arguments.extractor and arguments.encoder:
        arguments.parser.error("--extractor and --encoder exclude each other")
    if arguments.encoder == SPECTRUM:
        raise UsageError(
            f"--encoder {SPECTRUM} goes with --data: in a tree the attacker {SPECTRUM} has it"
        )
    if text and protocol.has_own_scoring and not protocol.external_vector_folders:
        raise UsageError(
            f"--extractor: in protocol {protocol.name} no attacker has vectors of a command: name "
            f"one with `encoder: {ENCODERS_FOLDER}/NAME` (docs/attackers.md)"
        )
    run = run_settings(arguments)
    crops = make_crops(asv, attackers, run)
    log_notes(
        f"{name}: {text}: attackers who learn from it are left out"
        for name, text in crops.failed.items()
    )
    if arguments.extractor == _KALDI:
        if code := _extract_with_kaldi(arguments, asv, attackers):
            return code
        text = None  # the encoders that attackers name follow
    what = "parts of sets of x-vectors" if arguments.job and not text else "sets of x-vectors"
    if not vector_sets(asv, attackers):  # no speech: nothing to load the extractor for
        return report_outcome(arguments, Outcome(), what)
    from ..stages.xvectors import EXTRACTOR, make_vectors

    command = UserCommand(text, arguments.tree, Path.cwd(), "extractor") if text else None
    encoder = _encoder(arguments)
    outcome = make_vectors(asv, run, attackers, command, encoder, arguments.cache)
    code = report_outcome(arguments, outcome, what)
    if EXTRACTOR in {error.kind for error in outcome.missing.values()}:
        log(
            "privacy-eval: --extractor 'COMMAND {in} {out}' or --encoder ge2e takes the place of "
            "an x-vector extractor, compared with `backend: cosine` in the protocol "
            "(docs/extractors.md)"
            + "; stage 1 of the recipe prints where to get one"
            * (not protocol.has_own_scoring)
        )
    return code


def _extract_with_kaldi(
    arguments: argparse.Namespace, asv: AsvSystems, attackers: Collection[str]
) -> int:
    from ..stages.asv_scores import missing_vectors
    from .jobs import run_script

    runner = [f"--nj={arguments.nj}", *([f"--cmd={arguments.cmd}"] if arguments.cmd else [])]
    for name, folder in missing_vectors(asv, attackers):
        if asv.protocol.encoder_of(folder)[0]:
            continue
        of_set = (f"--tree={arguments.tree}", f"--set={name}", f"--model={folder}")
        if code := run_script("local/kaldi_xvectors.sh", *of_set, *runner):
            return code
    return 0


def _files(arguments: argparse.Namespace) -> int:
    _check_usage(arguments)
    import numpy as np

    from ..asv.model_folder import save_vectors
    from ..io.data_dir import read_utt2spk, utterance_of
    from .audio import audio_reader, log_remarks

    utt2spk, base = arguments.data / "utt2spk", arguments.scp_base or Path()
    read_utt2spk(utt2spk)  # fail before the work, not after it
    reader, show = audio_reader(arguments, mix=arguments.encoder is not None), progress()
    if arguments.crop is not None:
        whole, reader = len(reader.ids), reader.cropped(arguments.crop)
        if short := whole - len({*map(utterance_of, reader.ids)}):
            log(f"privacy-eval: {counted(short, 'utterance')} shorter than {arguments.crop:g} s")
    network, extracted = (_with_encoder if arguments.encoder else _with_kaldi)(arguments, reader)
    vectors = {}
    for number, (name, vector) in enumerate(extracted, 1):
        if vector is not None:
            vectors[name] = vector
        if show is not None:
            show(number, len(reader.ids), name)
    log_remarks(reader)
    if not vectors:
        raise PrivacyEvalError(f"{arguments.data}: no utterance has an x-vector; nothing written")
    matrix = np.stack(list(vectors.values()))
    speakers = save_vectors(arguments.out, list(vectors), matrix, utt2spk, tree=base)
    what = "utterances" if arguments.crop is None else "crops"
    print(
        f"{arguments.out}: x-vectors of {len(vectors)} of {len(reader.ids)} {what} and of "
        f"{speakers} speakers, network {network[:8]}"
    )
    return 0


def _check_usage(arguments: argparse.Namespace) -> None:
    kaldi = [arguments.model, arguments.network, arguments.mfcc_config, arguments.vad_config]
    if arguments.encoder is None and arguments.model is None and arguments.network is None:
        arguments.parser.error("one is required: --model or --network, or --encoder")
    if arguments.encoder is not None and any(option is not None for option in kaldi):
        arguments.parser.error("--encoder excludes --model, --network, --mfcc-config, --vad-config")


def _encoder(arguments: argparse.Namespace) -> EncoderChoice | None:
    from ..speech.encoders import EncoderChoice

    if arguments.encoder is None:
        return None
    return EncoderChoice(arguments.encoder, arguments.front_end, arguments.cache)


def _with_kaldi(arguments: argparse.Namespace, reader: AudioReader) -> Extracted:
    """Return the digest of the network and the vectors of the utterances."""
    from ..speech.xvector import assumed_sizes, load_extractor, utterance_vectors
    from .audio import feature_options, iterate_features

    options, vad = feature_options(arguments)
    extractor = load_extractor(arguments.model, network=arguments.network)
    if arguments.model is not None and (assumption := assumed_sizes(extractor.sha256)):
        log(f"privacy-eval: {arguments.model}: {assumption}")
    features = iterate_features(arguments, reader, options)
    return extractor.sha256["final.raw"], utterance_vectors(extractor, reader, features, vad)


def _with_encoder(arguments: argparse.Namespace, reader: AudioReader) -> Extracted:
    """Return the digest of the encoder and the vectors of the utterances; utterances without
    vector are logged, and an error at the end without --allow-missing, unless they are crops."""
    from ..speech.encoders import encode_utterances

    choice = _encoder(arguments)
    assert choice is not None
    encoder = choice.load()
    refused: list[str] = []

    def refuse(name: str, error: PrivacyEvalError) -> None:
        log(f"privacy-eval: no vector: {error}")
        refused.append(name)

    def vectors() -> Iterator[tuple[str, NDArray[np.float32] | None]]:
        yield from encode_utterances(encoder, reader, refused=refuse)
        if refused and not arguments.allow_missing and arguments.crop is None:
            raise PrivacyEvalError(
                f"{arguments.data}: {counted(len(refused), 'utterance')} without a vector: "
                f"{abbreviate(refused)} (--allow-missing leaves them out); nothing written"
            )

    return choice.identity(encoder.sha256), vectors()
