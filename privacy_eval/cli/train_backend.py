"""The verbs train-backend and train-tree: back ends from x-vectors."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..asv.model_folder import save_backend, train_on
from ..io.data_dir import read_utt2spk
from ..protocol.protocol import load_protocol
from ..stages.train_backend import train_models
from .options import (
    Verbs,
    add_pipes,
    add_reading,
    add_tree,
    log,
    place_of,
    positive,
    read_vectors_of,
    report_outcome,
    targets_of,
)


def add_verbs(verbs: Verbs) -> None:
    """The verbs of back ends."""
    train = verbs.add_parser("train-backend", help="mean.vec, transform.mat, plda from x-vectors")
    train.set_defaults(verb=_train)
    train.add_argument("--vectors", required=True, type=Path, metavar="SCP")
    train.add_argument("--utt2spk", required=True, type=Path, metavar="F")
    train.add_argument("--lda-dim", type=positive, metavar="D", help="default: 200, or all")
    train.add_argument("--total-covariance-factor", type=float, default=0.0, metavar="F")
    train.add_argument("--out", required=True, type=Path, metavar="DIR")
    add_reading(train)
    train_tree = verbs.add_parser("train-tree", help="back ends that a tree lacks")
    train_tree.set_defaults(verb=_train_tree)
    add_tree(train_tree)
    add_pipes(train_tree)


def _train(arguments: argparse.Namespace) -> int:
    vectors = read_vectors_of(arguments, arguments.vectors)
    model = train_on(
        vectors,
        arguments.utt2spk,
        lda_dim=arguments.lda_dim,
        total_covariance_factor=arguments.total_covariance_factor,
    )
    (arguments.out / "plda").unlink(missing_ok=True)  # killed from here on, there is no model
    save_backend(arguments.out, model)
    speaker_of = read_utt2spk(arguments.utt2spk)
    speakers = len({speaker_of[u] for u in vectors.ids})
    print(f"{arguments.out}: back end from {len(vectors.ids)} x-vectors of {speakers} speakers")
    return 0


def _train_tree(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.conf, base=arguments.tree)
    targets, notes = targets_of(arguments, protocol)
    for note in notes:
        log(f"privacy-eval: {note}")
    outcome = train_models(targets, place_of(arguments), protocol)
    report_outcome(outcome, "back ends", "trained")
    return 1 if outcome.failed else 0
