"""The verbs similarity and similarity-tree: voice similarity, DeID and G_VD."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from ..asv.voice_similarity import Measured, measure, write_2020
from ..io.files import atomic_path, write_text
from ..io.results_txt import similarity_lines
from ..io.schema import to_plain
from ..metrics import VARIANTS
from ..results.csv_export import speakers_csv
from ..stages.similarity import make_similarities
from .options import (
    IN_PLACE,
    Verbs,
    add_finishing,
    add_missing,
    add_model,
    add_pipes,
    add_reading,
    add_tree,
    load_model,
    log,
    place_of,
    progress,
    read_vectors_of,
    report_outcome,
    say_needed,
    systems_of,
    targets_of,
)

_LEAST_PROTECTED = 3


def add_verbs(verbs: Verbs) -> None:
    """The verbs of voice similarity."""
    similarity = verbs.add_parser("similarity", help="voice similarity, DeID, G_VD of a trial set")
    similarity.set_defaults(verb=_similarity)
    add_model(similarity)
    similarity.add_argument("--original", required=True, type=Path, metavar="SCP")
    similarity.add_argument("--anonymized", required=True, type=Path, metavar="SCP")
    similarity.add_argument("--utt2spk", required=True, type=Path, metavar="F")
    similarity.add_argument("--variant", choices=[*VARIANTS, "both"], default="both")
    similarity.add_argument("--format", choices=["json", "text"], default="text")
    similarity.add_argument("--out", type=Path, metavar="DIR", help="matrices and speakers go here")
    add_reading(similarity)
    add_missing(similarity)
    similarity_tree = verbs.add_parser(
        "similarity-tree", help="voice similarity, DeID, G_VD of every trial set of a tree"
    )
    similarity_tree.set_defaults(verb=_similarity_tree)
    add_tree(similarity_tree)
    add_pipes(similarity_tree)
    add_missing(similarity_tree)
    add_finishing(similarity_tree)


def _similarity(arguments: argparse.Namespace) -> int:
    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    measured = measure(
        read_vectors_of(arguments, arguments.original),
        read_vectors_of(arguments, arguments.anonymized),
        arguments.utt2spk,
        backend=arguments.backend,
        model=load_model(arguments),
        variants=variants,
        allow_missing=arguments.allow_missing,
    )
    if measured.left_out:
        log(f"privacy-eval: left out {measured.left_out} utterances")
    if arguments.out is not None:
        _write_similarity(arguments.out, measured)
    if arguments.format == "json":
        plain: dict[str, object] = {}
        for variant, similarity in measured.by_variant.items():
            values: dict[str, object] = to_plain(similarity.summary())
            shown = ("deid", "gvd_db") if variant == "challenge" else tuple(values)
            plain[variant] = {key: values[key] for key in shown}
        plain["speakers"] = len(measured.speakers)
        if arguments.allow_missing:
            plain["utterances_left_out"] = measured.left_out
        print(json.dumps(plain, indent=1, allow_nan=False))
        return 0
    for variant, similarity in measured.by_variant.items():
        if len(measured.by_variant) > 1:
            print(f"# {variant}")
        for line in similarity_lines(similarity.summary()):
            print(line)
    print(f"# {len(measured.speakers)} speakers; the least protected:")
    for speaker in measured.of_speakers[:_LEAST_PROTECTED]:
        linked = "" if speaker.linkability is None else f" linkability {speaker.linkability:.3f}"
        print(f"{speaker.speaker} DeID {speaker.deid:.3f}{linked} evidence {speaker.evidence:.3f}")
    return 0


def _write_similarity(out: Path, measured: Measured) -> None:
    write_2020(out, next(iter(measured.by_variant.values())))
    with atomic_path(out / "similarity.npz") as temporary, open(temporary, "wb") as file:
        np.savez(file, **measured.arrays())
    write_text(out / "speakers.csv", speakers_csv(({}, s) for s in measured.of_speakers))


def _similarity_tree(arguments: argparse.Namespace) -> int:
    systems, protocol, out = systems_of(arguments)
    targets, notes = targets_of(arguments, protocol)
    for note in notes:
        log(f"privacy-eval: {note}")
    outcome = make_similarities(
        systems,
        [target.name for target in targets],
        place_of(arguments),
        protocol,
        out,
        job=arguments.job or (1, 1),
        announce=say_needed if arguments.job else None,
        progress=progress(),
    )
    report_outcome(outcome, "voice similarities", IN_PLACE if arguments.after_jobs else "computed")
    return 1 if outcome.failed else 0
