"""train-backend: PLDA back ends from x-vectors."""

from __future__ import annotations

import argparse

from .options import add, add_tree, path, positive, two_usages, value

EXAMPLE = "--vectors xvector.scp --utt2spk data/train/utt2spk --out backend"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one back end."""
    stage, files = two_usages(parser, _stage, _files, needed="--out")
    add_tree(stage, common=parser)
    add(parser, "--out", help="output folder of the back end; not needed over a tree")
    add(parser, "--allow-pipes")
    dimension = "dimension of LDA; default: 200, or that of the x-vectors"
    parser.add_argument("--lda-dim", **value("D", dimension, type=positive))
    add(stage, "--details")
    add(files, "--scp-base")
    add(files, "--utt2spk", required=True, help="speakers of the x-vectors")
    files.add_argument("--vectors", required=True, **path("SCP"))
    files.add_argument("--total-covariance-factor", **value("F", type=float, default=0.0))


def _files(arguments: argparse.Namespace) -> int:
    from ..asv.model_folder import save_backend, train_from_vectors
    from ..io.data_dir import read_utt2spk
    from .inputs import load_vectors

    vectors = load_vectors(arguments, arguments.vectors)
    model = train_from_vectors(
        vectors,
        arguments.utt2spk,
        lda_dim=arguments.lda_dim,
        total_covariance_factor=arguments.total_covariance_factor,
    )
    (arguments.out / "plda").unlink(missing_ok=True)  # if killed from here on, no model is left
    save_backend(arguments.out, model)
    speaker_of = read_utt2spk(arguments.utt2spk)
    speakers = len({speaker_of[u] for u in vectors.ids})
    print(f"{arguments.out}: back end from {len(vectors.ids)} x-vectors of {speakers} speakers")
    return 0


def _stage(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..stages.asv_scores import train_backends
    from .inputs import load_asv_systems, log_if_not_applicable, log_notes, report_outcome

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    asv = load_asv_systems(arguments, protocol, anonymized=False)
    outcome = train_backends(asv, lda_dim=arguments.lda_dim)
    nothing = not any(vars(outcome).values())
    if nothing and log_if_not_applicable(protocol, "training of back ends"):
        return 0
    log_notes(asv.notes)
    return report_outcome(arguments, outcome, "back ends", "trained")
