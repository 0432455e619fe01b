"""similarity: voice similarity matrices, DeID and G_VD."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .options import JOBS, add, add_tree, log, path, print_json, two_usages

if TYPE_CHECKING:
    from ..asv.voice_similarity import SimilarityResult

_LEAST_PROTECTED = 3

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one trial set."""
    stage, files = two_usages(parser, _stage, _files)
    add_tree(stage, common=parser)
    add(parser, "--out", help="output folder of matrices and speakers; over a tree: of all results")
    add(parser, "--allow-missing", "--allow-pipes")
    add(stage, *JOBS, "--isolate", "--details")
    add(files, "--model", "--backend", "--scp-base", "--variant", "--format")
    add(files, "--utt2spk", required=True)
    files.add_argument("--original", required=True, **path("SCP"))
    files.add_argument("--anonymized", required=True, **path("SCP"))


def _files(arguments: argparse.Namespace) -> int:
    from ..asv.voice_similarity import voice_similarity
    from ..io.results_txt import format_metrics
    from ..io.schema import to_plain
    from ..metrics import VARIANTS, similarity_metrics
    from .inputs import load_model, load_vectors

    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    measured = voice_similarity(
        load_vectors(arguments, arguments.original),
        load_vectors(arguments, arguments.anonymized),
        arguments.utt2spk,
        backend=arguments.backend,
        model=load_model(arguments),
        variants=variants,
        allow_missing=arguments.allow_missing,
    )
    for reason in measured.failed.values():
        log(f"privacy-eval: warning: {arguments.original}, {arguments.anonymized}: {reason}")
    if measured.left_out:
        log(f"privacy-eval: left out {measured.left_out} utterances")
    if arguments.out is not None:
        _write_similarity(arguments.out, measured)
    if arguments.format == "json":
        plain: dict[str, object] = {}
        for variant, similarity in measured.by_variant.items():
            values: dict[str, object] = to_plain(similarity_metrics(similarity))
            keys = ("deid", "gvd_db") if variant == "challenge" else tuple(values)
            plain[variant] = {key: values[key] for key in keys}
        plain["speakers"] = len(measured.speakers)
        if arguments.allow_missing:
            plain["utterances_left_out"] = measured.left_out
        print_json(plain)
        return 0
    for variant, similarity in measured.by_variant.items():
        if len(measured.by_variant) > 1:
            print(f"# {variant}")
        for line in format_metrics(similarity_metrics(similarity), kind="matrices"):
            print(line)
    least = f"the least protected (variant {measured.speakers_variant})"
    print(f"# {len(measured.speakers)} speakers; {least}:")
    for speaker in measured.speaker_results[:_LEAST_PROTECTED]:
        linked = "" if speaker.linkability is None else f" linkability {speaker.linkability:.3f}"
        print(f"{speaker.speaker} DeID {speaker.deid:.3f}{linked} evidence {speaker.evidence:.3f}")
    return 0


def _write_similarity(out: Path, measured: SimilarityResult) -> None:
    import numpy as np

    from ..asv.voice_similarity import write_2020
    from ..io.files import atomic_path, write_text
    from ..results.outputs import speakers_csv

    write_2020(out, next(iter(measured.by_variant.values())))
    with atomic_path(out / "similarity.npz") as temporary, open(temporary, "wb") as file:
        np.savez(file, **measured.arrays())
    variant = {"variant": measured.speakers_variant}
    write_text(out / "speakers.csv", speakers_csv((variant, s) for s in measured.speaker_results))


def _stage(arguments: argparse.Namespace) -> int:
    from ..stages.similarity import plan_similarity
    from .inputs import load_experiment, log_if_no_vectors, log_notes, report_outcome, run_settings

    experiment = load_experiment(arguments)
    if log_if_no_vectors(experiment.asv, "voice similarity"):
        return 0
    log_notes(experiment.asv.notes)
    planned = plan_similarity(experiment, ())
    outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
    return report_outcome(arguments, outcome, "voice similarities", "computed")
