"""Word error rates of transcripts: pooled, per speaker, with intervals and a paired test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.data_dir import read_utt2spk
from ..io.transcripts import pair_transcripts, speakers_of
from ..metrics.confidence import Interval, difference_p_value, expanded_interval
from ..metrics.wer import Normalization, WordErrors, total, wer_bootstrap, word_errors


@dataclass(frozen=True)
class Recognized:
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


@dataclass(frozen=True)
class Compared:
    """Two hypotheses of the same utterances.

    Attributes
    ----------
    difference : float
        Word error rate of the second minus that of the first.
    interval : Interval
        Over speakers.
    p_value : float
        Two-sided, of no difference.
    """

    difference: float
    interval: Interval
    p_value: float


def recognized(
    hypothesis: Path,
    reference: Path,
    *,
    utt2spk: Path | None = None,
    normalization: Normalization = "none",
    allow_missing: bool = False,
) -> Recognized:
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
        raise PrivacyEvalError(f"{reference}: no words, so that there is no word error rate")
    by_speaker: dict[str, list[WordErrors]] = {}
    if utt2spk is not None:
        speakers = speakers_of(counts, read_utt2spk(utt2spk), utt2spk)
        for speaker, found in zip(speakers, counts.values(), strict=True):
            by_speaker.setdefault(speaker, []).append(found)
    of_speakers = {speaker: total(by_speaker[speaker]) for speaker in sorted(by_speaker)}
    return Recognized(pooled, counts, of_speakers, paired.missing, paired.extra)


def interval(found: Recognized, *, replicates: int, seed: int) -> Interval:
    """Compute the interval of a word error rate over speakers.

    Raises
    ------
    PrivacyEvalError
        Fewer than two speakers.
    """
    counts = found.speakers.values()
    drawn = wer_bootstrap(
        [c.words for c in counts],
        [c.errors for c in counts],
        speakers=list(found.speakers),
        replicates=replicates,
        seed=seed,
    )
    return drawn.interval("wer")


def compare(first: Recognized, second: Recognized, *, replicates: int, seed: int) -> Compared:
    """Compare two hypotheses of the same utterances by a paired bootstrap over speakers.

    Raises
    ------
    PrivacyEvalError
        Other utterances; fewer than two speakers.
    """
    if first.utterances.keys() != second.utterances.keys():
        raise PrivacyEvalError("the two files of hypotheses have different utterances")
    names = list(first.speakers)
    drawn = wer_bootstrap(
        [first.speakers[s].words for s in names],
        [[found.speakers[s].errors for s in names] for found in (first, second)],
        speakers=names,
        replicates=replicates,
        seed=seed,
    )
    differences = drawn.values["wer 1"] - drawn.values["wer 0"]
    return Compared(
        (second.counts.errors - first.counts.errors) / first.counts.words,
        expanded_interval(differences, drawn.n_speakers),
        difference_p_value(differences, drawn.n_speakers),
    )
