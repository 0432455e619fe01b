"""Artificial voice similarity matrices (Figure 1 of the voice similarity paper), with the back end,
calibration and metrics used for real speech.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from ..asv.backend import score_matrix
from ..io.schema import to_plain
from ..metrics import VARIANTS, similarity_matrix, similarity_metrics, voice_similarity
from ..simulate import Anonymization
from .attacks import simulated_backend, voice_model
from .protocol import MatricesExperiment, VectorSettings
from .tasks import Metrics, Row, Task, plain


def matrix_tasks(experiment: MatricesExperiment, vectors: VectorSettings) -> Iterator[Task]:
    """Yield one task, as all cases share the original speech; a row per case."""
    inputs = [to_plain(experiment), to_plain(vectors)]
    yield Task("matrices", "cases", inputs, functools.partial(_matrices, experiment, vectors))


def _matrices(
    experiment: MatricesExperiment,
    vectors: VectorSettings,
    generator: np.random.Generator,
    metrics: Metrics,
) -> list[Row]:
    model, backend = voice_model(vectors), simulated_backend(vectors, generator)
    speaker = np.repeat(np.arange(experiment.speakers, dtype=np.int64), experiment.utterances)
    voices = model.voices(experiment.speakers, generator)[speaker]
    original = model.utterances(voices, generator).astype(np.float32)
    oo = score_matrix(original, 1, original, model=backend)
    counterpart = np.arange(speaker.size, dtype=np.int64)
    rows: list[Row] = []
    for case in experiment.cases:
        kind = Anonymization(case.keep, pseudo=case.pseudo, noise=case.noise * vectors.within)
        pseudo = kind.pseudo_voices(experiment.speakers, model, generator)[speaker]
        utterances = model.utterances(voices, generator)
        anonymized = kind.anonymize(utterances, pseudo, generator).astype(np.float32)
        oa = score_matrix(original, 1, anonymized, model=backend)
        aa = score_matrix(anonymized, 1, anonymized, model=backend)
        values, matrices = {}, {}
        for variant in VARIANTS:
            similarity = voice_similarity(
                similarity_matrix(oo, speaker, variant=variant),
                similarity_matrix(oa, speaker, column_of=counterpart, variant=variant),
                similarity_matrix(aa, speaker, variant=variant),
            )
            values[variant] = similarity_metrics(similarity)
            for name in ("oo", "oa", "aa"):
                matrices[f"{variant}_{name}"] = plain(getattr(similarity, name).values)
        rows.append({"title": case.title, "metrics": values, "matrices": matrices})
    return rows
