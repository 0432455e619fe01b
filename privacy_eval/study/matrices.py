"""Artificial voice similarity matrices (Figure 1 of the voice similarity paper), with the back end,
calibration and metrics used for real speech.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from ..asv.voice_similarity import voice_similarity
from ..io.schema import to_plain
from ..metrics import similarity_metrics
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
    speaker = np.repeat(np.arange(experiment.speakers), experiment.utterances)
    names = np.char.zfill(speaker.astype(np.str_), 9)  # in the order of the numbers
    voices = model.voices(experiment.speakers, generator)[speaker]
    original = model.utterances(voices, generator)
    rows: list[Row] = []
    for case in experiment.cases:
        kind = Anonymization(case.keep, pseudo=case.pseudo, noise=case.noise * vectors.within)
        pseudo = kind.pseudo_voices(experiment.speakers, model, generator)[speaker]
        anonymized = kind.anonymize(model.utterances(voices, generator), pseudo, generator)
        measured = voice_similarity(original, anonymized, names, backend="plda", model=backend)
        arrays = measured.arrays()
        del arrays["speakers"]
        values = {v: similarity_metrics(one) for v, one in measured.by_variant.items()}
        matrices = {name: plain(matrix) for name, matrix in arrays.items()}
        rows.append({"title": case.title, "metrics": values, "matrices": matrices})
    return rows
