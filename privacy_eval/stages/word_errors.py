"""Word error rates of transcripts: pooled, per speaker, with intervals and a paired test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from ..errors import PrivacyEvalError
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.json_text import load_json
from ..io.labels import Labels
from ..io.schema import SPARSE, from_plain
from ..io.transcripts import pair_transcripts, speakers_of
from ..metrics.confidence import Interval
from ..metrics.wer import (
    GroupRate,
    Normalization,
    RateDifference,
    SpeakerErrors,
    WordErrors,
    group_rates,
    rate_difference,
    total,
    word_errors,
)


@dataclass(frozen=True)
class WordErrorCounts:
    """Word errors of one file of hypotheses.

    Attributes
    ----------
    counts : WordErrors
        Of all utterances.
    utterances : mapping
        Word errors by utterance.
    speakers : mapping
        Word errors by speaker; empty without `utt2spk`.
    missing, extra : int
        Utterances without hypothesis, and without reference, left out on request.
    """

    counts: WordErrors
    utterances: Mapping[str, WordErrors]
    speakers: Mapping[str, WordErrors]
    missing: int
    extra: int


def count_word_errors(
    hypothesis: Path | Loaded,
    reference: Path | Loaded,
    *,
    utt2spk: Path | Loaded | None = None,
    normalization: Normalization = "none",
    allow_missing: bool = False,
) -> WordErrorCounts:
    """Count the word errors of a file of hypotheses.

    Raises
    ------
    PrivacyEvalError
        Malformed files; utterances without hypothesis, reference or speaker; no reference words.
    """
    paired = pair_transcripts(reference, hypothesis, allow_missing=allow_missing)
    counts = {
        utterance: word_errors(*texts, normalization=normalization)
        for utterance, texts in paired.texts.items()
    }
    pooled = total(counts.values())
    if not pooled.words:
        raise PrivacyEvalError(f"{reference}: no words: the word error rate is undefined")
    by_speaker: dict[str, list[WordErrors]] = {}
    if utt2spk is not None:
        speakers = speakers_of(counts, read_utt2spk(utt2spk), utt2spk)
        for speaker, errors in zip(speakers, counts.values(), strict=True):
            by_speaker.setdefault(speaker, []).append(errors)
    of_speakers = {speaker: total(by_speaker[speaker]) for speaker in sorted(by_speaker)}
    return WordErrorCounts(pooled, counts, of_speakers, paired.missing, paired.extra)


def interval(counted: WordErrorCounts, *, replicates: int, seed: int) -> Interval:
    """Compute the interval of a word error rate over speakers.

    Raises
    ------
    PrivacyEvalError
        Fewer than two speakers.
    """
    return _by_speaker(counted, replicates, seed).sums.bootstrap().interval("rate")


def _by_speaker(counted: WordErrorCounts, replicates: int, seed: int) -> SpeakerErrors:
    counts = counted.speakers.values()
    return SpeakerErrors(
        tuple(counted.speakers),
        tuple(c.words for c in counts),
        tuple(c.errors for c in counts),
        replicates,
        seed,
    )


def group_word_errors(
    counted: WordErrorCounts, labels: Labels, utt2spk: Path | Loaded, *, replicates: int, seed: int
) -> tuple[dict[str, GroupRate], list[str]]:
    """Compute the word error rate of each group of speakers, with intervals if `replicates` of a
    bootstrap are drawn; also return the speakers without a group.

    Raises
    ------
    PrivacyEvalError
        As `Labels.of_speakers`.
    """
    speaker_of = {u: s for u, s in read_utt2spk(utt2spk).items() if s in counted.speakers}
    group_of, without = labels.groups(speaker_of)
    return group_rates(_by_speaker(counted, replicates, seed).sums, group_of), without


def compare(
    first: WordErrorCounts, second: WordErrorCounts, *, replicates: int, seed: int
) -> RateDifference:
    """Compare two hypotheses of the same utterances by a paired bootstrap over speakers.

    Raises
    ------
    PrivacyEvalError
        Different utterances; fewer than two speakers.
    """
    if first.utterances.keys() != second.utterances.keys():
        raise PrivacyEvalError("the two files of hypotheses have different utterances")
    names = list(first.speakers)
    return rate_difference(
        [[counted.speakers[s].words for s in names] for counted in (first, second)],
        [[counted.speakers[s].errors for s in names] for counted in (first, second)],
        speakers=names,
        replicates=replicates,
        seed=seed,
    )


@dataclass(frozen=True)
class SetWordErrors:
    """Word errors of the transcripts of a set in a tree.

    Attributes
    ----------
    speaker_interval : tuple of float
        95 % bounds from the bootstrap over speakers; empty without.
    left_out : int
        Utterances without reference or hypothesis, left out on request.
    speakers : SpeakerErrors or None
        Those of the bootstrap.
    groups : mapping
        By column of metadata, then by group of speakers.
    """

    counts: WordErrors
    speaker_interval: tuple[float, ...] = ()
    left_out: int = 0
    speakers: SpeakerErrors | None = None
    groups: Annotated[Mapping[str, Mapping[str, GroupRate]], SPARSE] = field(default_factory=dict)


def set_word_errors(counted: WordErrorCounts, *, replicates: int, seed: int) -> SetWordErrors:
    """Compose the word errors of a set, with intervals if `replicates` of a bootstrap are drawn."""
    left_out = counted.missing + counted.extra
    if not replicates:
        return SetWordErrors(counted.counts, (), left_out)
    speakers = _by_speaker(counted, replicates, seed)
    drawn = speakers.sums.bootstrap().interval("rate")
    return SetWordErrors(counted.counts, (drawn.low, drawn.high), left_out, speakers)


def read_set_word_errors(path: Path) -> SetWordErrors:
    """Read the record of a product of `transcript_products`.

    Raises
    ------
    PrivacyEvalError
        Damaged.
    """
    return from_plain(SetWordErrors, load_json(path), str(path))
