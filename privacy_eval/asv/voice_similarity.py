"""Voice similarity of a trial set: from x-vectors to matrices, DeID, G_VD and speakers."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..choices import NAMES_2020
from ..errors import PrivacyEvalError, abbreviate, located
from ..io.files import Loaded
from ..io.vectors import Vectors
from ..metrics import VARIANTS, Variant, similarity_matrix, similarity_metrics
from ..metrics.caveats import MIN_RANKED_TARGETS
from ..metrics.printed import Printed, format_metrics
from ..metrics.similarity import (
    OF_SPEAKER,
    SimilarityMatrix,
    VoiceSimilarity,
    deid_and_gvd,
    speaker_linkability,
)
from .backend import BackendName, PldaBackend, score_matrix
from .trials import AnyVectors, Names, as_vectors, speakers_of

_KINDS = ("oo", "oa", "aa")

_BY_POSITION = (
    "; this variant leaves out pairs by their position, as the scripts of 2020 do: bring the "
    "original and the anonymized x-vectors into one order, or take the variant exact"
)


@dataclass(frozen=True, repr=False)
class SimilarityResult(Printed):
    """Voice similarity of one set.

    Attributes
    ----------
    speakers : tuple of S str
        In the order of the matrices' rows.
    n_utterances : int
    left_out : int
        Utterances left out on request.
    by_variant : mapping of Variant to VoiceSimilarity
    linkability : tuple of S float or None
        None for speakers with fewer same-speaker pairs than a histogram of two bins needs.
    failed : mapping of Variant to str
        Why variants have no matrices.
    """

    speakers: tuple[str, ...]
    n_utterances: int
    left_out: int
    by_variant: Mapping[Variant, VoiceSimilarity]
    linkability: tuple[float | None, ...]
    failed: Mapping[Variant, str] = field(default_factory=dict)

    @property
    def speakers_variant(self) -> Variant:
        """The variant of the results by speaker: exact, if computed."""
        return "exact" if "exact" in self.by_variant else next(iter(self.by_variant))

    @property
    def speaker_results(self) -> tuple[dict[str, Any], ...]:
        """Results by speaker, the least protected first."""
        similarity = self.by_variant[self.speakers_variant]
        diagonals = (getattr(similarity, kind).diagonal.tolist() for kind in _KINDS)
        deid, evidence = similarity.speaker_deid().tolist(), similarity.oa.evidence.tolist()
        columns = zip(self.speakers, deid, *diagonals, self.linkability, evidence, strict=True)
        each = [dict(zip(OF_SPEAKER, values, strict=True)) for values in columns]
        return tuple(
            sorted(each, key=lambda s: (s["deid"], -(s["linkability"] or 0.0), s["speaker"]))
        )

    @property
    def heading(self) -> str:
        """Numbers of speakers and of utterances."""
        return f"{len(self.speakers)} speakers, {self.n_utterances} utterances"

    @property
    def notes(self) -> list[str]:
        """Why variants are missing."""
        return [*self.failed.values()]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return DeID (a fraction) and G_VD (dB) by variant as rows of numbers."""
        return [
            {"variant": variant, "metric": metric, "value": value}
            for variant, similarity in self.by_variant.items()
            for metric, value in similarity_metrics(similarity).items()
        ]

    def speaker_rows(self) -> list[dict[str, Any]]:
        """Return the results by speaker as rows of numbers, the least protected first."""
        return [
            {"variant": self.speakers_variant, "speaker": of["speaker"], "n_speakers": 1}
            | {"metric": metric, "value": value}
            for of in self.speaker_results
            for metric, value in of.items()
            if metric != "speaker" and value is not None
        ]

    def arrays(self) -> dict[str, Any]:
        """Return the matrices of every variant, for the figures."""
        arrays: dict[str, Any] = {"speakers": np.array(self.speakers)}
        for variant, similarity in self.by_variant.items():
            for kind in _KINDS:
                arrays[f"{variant}_{kind}"] = getattr(similarity, kind).values
        return arrays


def voice_similarity(
    original: AnyVectors,
    anonymized: AnyVectors,
    speakers: Names,
    *,
    backend: BackendName = "cosine",
    model: PldaBackend | None = None,
    variants: Sequence[Variant] = VARIANTS,
    part: bool = False,
    allow_missing: bool = False,
) -> SimilarityResult:
    """Measure voice similarity of original and anonymized utterances of the same ids.

    Parameters
    ----------
    original, anonymized : Vectors, mapping of str to array_like, or array_like, shape (U, D)
        Arrays are of the same utterances in one order; others are compared by their ids.
    speakers : array_like of str, mapping of str to str, Path or Loaded
        Speaker of each original vector, in their order or by id, or a utt2spk: the utterances of
        the set.
    backend : {"cosine", "euclidean", "plda"}
    model : PldaBackend
        For `plda` only.
    variants : sequence of Variant
    part : bool
        The vectors may be those of a larger set.
    allow_missing : bool
        Leave out utterances without both vectors, and speakers left with one.

    Returns
    -------
    SimilarityResult

    Raises
    ------
    PrivacyEvalError
        An utterance without original or anonymized vector; unless `part`, a vector without
        speaker; a speaker with a single utterance; one speaker only; D_diag of the original
        voices is 0; inconsistent dimensions. Where a single variant cannot be computed, the
        result names it in `failed`.

    Examples
    --------
    >>> names = np.repeat(["a", "b", "c"], 4)
    >>> voices = 5 * np.eye(3).repeat(4, axis=0) + np.random.default_rng(0).normal(size=(12, 3))
    >>> result = voice_similarity(voices, voices, names)
    >>> result.by_variant["exact"].oo.values.shape, result.by_variant["exact"].gvd_db
    ((3, 3), 0.0)
    """
    sides = as_vectors(original, "original"), as_vectors(anonymized, "anonymized")
    speaker_of = speakers_of(sides[0], speakers, "speakers")
    where = speakers if isinstance(speakers, str | Path | Loaded) else "speakers"
    compared = _select_utterances(*sides, f"{where}", speaker_of, part, allow_missing)
    for vectors in sides:
        vectors.warn_if_equal(compared)
    names = tuple(sorted(set(compared.values())))
    number = {s: i for i, s in enumerate(names)}
    ids, others = ([u for u in vectors.ids if u in compared] for vectors in sides)
    column = {u: i for i, u in enumerate(others)}
    of_rows = np.array([number[compared[u]] for u in ids])
    of_columns = np.array([number[compared[u]] for u in column])
    column_of = np.array([column[u] for u in ids])
    first, second = (
        vectors.matrix[vectors.rows(of, f"{where}")]
        for vectors, of in zip(sides, (ids, others), strict=True)
    )
    matrices: dict[Variant, list[SimilarityMatrix]] = {variant: [] for variant in variants}
    failed: dict[Variant, str] = {}
    linkability: tuple[float | None, ...] = ()
    counts = np.bincount(of_rows)
    with located(", ".join(str(vectors.path) for vectors in sides)):
        for rows, columns, speaker, paired in (
            (first, first, of_rows, None),
            (first, second, of_rows, column_of),
            (second, second, of_columns, None),
        ):
            scores = score_matrix(rows, 1, columns, backend=backend, model=model)
            if not np.isfinite(scores).all():
                raise PrivacyEvalError(
                    "scores are not finite: vectors or model contain huge values"
                )
            for variant in list(matrices):
                try:
                    matrix = similarity_matrix(scores, speaker, column_of=paired, variant=variant)
                    matrices[variant].append(matrix)
                except PrivacyEvalError as error:
                    del matrices[variant]
                    by_position = _BY_POSITION if variant == "challenge" else ""
                    failed[variant] = f"variant {variant}: {error}{by_position}"
            if paired is not None:
                values = speaker_linkability(scores, speaker, column_of=paired).tolist()
                enough = counts * (counts - 1) >= MIN_RANKED_TARGETS["exact"]
                linkability = tuple(
                    v if e else None for v, e in zip(values, enough.tolist(), strict=True)
                )
            del scores  # large sets leave room for one such matrix only
        if not matrices:
            raise PrivacyEvalError("; ".join(failed.values()))
        by_variant = {variant: deid_and_gvd(*three) for variant, three in matrices.items()}
    left_out = len(speaker_of) - len(ids)
    return SimilarityResult(names, len(ids), left_out, by_variant, linkability, failed)


def _select_utterances(
    original: Vectors,
    anonymized: Vectors,
    utt2spk: str,
    speaker_of: Mapping[str, str],
    part: bool,
    allow_missing: bool,
) -> dict[str, str]:
    """Select the utterances to compare, with their speakers."""
    for vectors in (original, anonymized):
        unknown = [u for u in vectors.ids if u not in speaker_of]
        if unknown and not part:
            raise PrivacyEvalError(
                f"{vectors.path}: {len(unknown)} utterances have no speaker in {utt2spk}: "
                f"{abbreviate(unknown)}"
            )
        if not allow_missing:
            vectors.rows([*speaker_of], utt2spk)
    compared = {u: s for u, s in speaker_of.items() if u in original and u in anonymized}
    counts = Counter(compared.values())
    single = sorted(s for s, count in counts.items() if count == 1)
    if allow_missing:
        compared = {u: s for u, s in compared.items() if counts[s] > 1}
    elif single:
        raise PrivacyEvalError(
            f"{utt2spk}: {len(single)} speakers have a single utterance, so no same-speaker pair: "
            f"{abbreviate(single)} (--allow-missing leaves them out)"
        )
    if len(set(compared.values())) < 2:
        raise PrivacyEvalError(
            f"{utt2spk}: {'one speaker only' if compared else 'no utterance to compare'}; voice "
            "similarity compares speakers"
        )
    return compared


def files_2020(similarity: VoiceSimilarity) -> dict[str, bytes]:
    """Format the files that the scripts of 2020 write for a trial set.

    Parameters
    ----------
    similarity : VoiceSimilarity

    Returns
    -------
    dict of str to bytes
    """
    contents = []
    for kind in _KINDS:
        file = io.BytesIO()
        np.save(file, getattr(similarity, kind).values)
        contents.append(file.getvalue())
    lines = format_metrics(similarity_metrics(similarity), kind="matrices")
    contents += [f"{line}\n".encode() for line in lines]
    return dict(zip(NAMES_2020, contents, strict=True))
