"""Verbs on vectors of single files: back ends, similarity."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..io.files import atomic_path, write_bytes, write_text
from ..options import path, value
from .options import Options, log, shown_variants

if TYPE_CHECKING:
    from ..asv.voice_similarity import SimilarityResult
    from ..report.single_files import Found


VERBS: dict[str, Options] = {
    "train-backend": {
        "example": "--vectors xvector.scp --utt2spk data/train/utt2spk --out backend",
        "shared": "lda-dim scp-base allow-pipes allow-outside",
        "--vectors": path("SCP", required=True),
        "--utt2spk": {"help": "speakers of the x-vectors", "required": True},
        "--out": {"help": "output folder of the back end", "required": True},
        "--total-covariance-factor": value("F", type=float, default=0.0),
    },
    "similarity": {
        "example": "--original original.scp --anonymized anonymized.scp --utt2spk utt2spk",
        "shared": "model backend scp-base variant format allow-missing allow-pipes allow-outside",
        "--original": path("SCP", required=True),
        "--anonymized": path("SCP", required=True),
        "--utt2spk": {"required": True},
        "--out": {"help": "output folder of matrices and speakers"},
    },
}


def run_train_backend(arguments: argparse.Namespace) -> int:
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


_LEAST_PROTECTED = 3


def run_similarity(arguments: argparse.Namespace) -> Found:
    from ..asv.voice_similarity import voice_similarity
    from ..metrics import similarity_metrics
    from ..report.single_files import Found, number_table
    from .inputs import load_model, load_vectors

    measured = voice_similarity(
        load_vectors(arguments, arguments.original),
        load_vectors(arguments, arguments.anonymized),
        arguments.utt2spk,
        backend=arguments.backend,
        model=load_model(arguments),
        variants=shown_variants(arguments),
        allow_missing=arguments.allow_missing,
    )
    for reason in measured.failed.values():
        log(f"privacy-eval: warning: {arguments.original}, {arguments.anonymized}: {reason}")
    if measured.left_out:
        log(f"privacy-eval: left out {measured.left_out} utterances")
    if arguments.out is not None:
        _write_similarity(arguments.out, measured)
    plain: dict[str, object] = {}
    for variant, similarity in measured.by_variant.items():
        values = similarity_metrics(similarity)
        keys = ("deid", "gvd_db") if variant == "challenge" else tuple(values)
        plain[variant] = {key: values[key] for key in keys}
    plain["speakers"] = len(measured.speakers)
    if arguments.allow_missing:
        plain["utterances_left_out"] = measured.left_out
    least = [
        {"speaker": of["speaker"], "metric": key, "value": of[key]}
        for of in measured.speaker_results[:_LEAST_PROTECTED]
        for key in ("deid", "linkability", "evidence")
    ]
    title = f"The least protected speakers (variant {measured.speakers_variant})"
    tables = [
        number_table("similarity", measured.heading, measured.to_rows()),
        number_table("speakers", title, least),
    ]
    return Found(plain, measured.to_rows(), tables)


def _write_similarity(out: Path, measured: SimilarityResult) -> None:
    import numpy as np

    from ..asv.voice_similarity import files_2020
    from ..results.outputs import speakers_csv

    for name, content in files_2020(next(iter(measured.by_variant.values()))).items():
        write_bytes(out / name, content)
    with atomic_path(out / "similarity.npz") as temporary, open(temporary, "wb") as file:
        np.savez(file, **measured.arrays())
    variant = {"variant": measured.speakers_variant}
    write_text(out / "speakers.csv", speakers_csv((variant, s) for s in measured.speaker_results))
