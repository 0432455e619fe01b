"""Word error rates of transcripts: pooled, per speaker, with intervals and a paired test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from ..choices import MISSING, Variant, grouped
from ..errors import PrivacyEvalError
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.schema import SPARSE, from_plain, load_json
from ..io.transcripts import Forms, pair_transcripts, speakers_of
from ..io.user_tables import Labels
from ..metrics.confidence import Interval
from ..metrics.utility import (
    GroupRate,
    Normalization,
    RateDifference,
    SpeakerErrors,
    WordErrors,
    fold_writing,
    group_rates,
    rate_difference,
    split_words,
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
    speaker_of : mapping
        By utterance: of `utt2spk`, or else as the references name them; empty without.
    notes : tuple of str
        How the files were read, and which errors are of their form only.
    """

    counts: WordErrors
    utterances: Mapping[str, WordErrors]
    speakers: Mapping[str, WordErrors]
    missing: int
    extra: int
    speaker_of: Mapping[str, str]
    notes: tuple[str, ...]


#: What exporters write for a transcript that is missing, and nobody says in this form.
_NOTHING = MISSING & {"None", "nan", "NaN", "<NA>", "NULL"}
#: What texts may differ in that is no word, what to do about it, and how to fold it.
_WRITING: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "letter case or punctuation": ("wer --normalization vpc2026 ignores them", fold_writing),
    "apostrophes or other marks": ("write them alike", partial(fold_writing, every=True)),
}


def count_word_errors(
    hypothesis: Path | Loaded,
    reference: Path | Loaded,
    *,
    utt2spk: Path | Loaded | None = None,
    normalization: Normalization = "none",
    variant: Variant = "exact",
    allow_missing: bool = False,
) -> WordErrorCounts:
    """Count the word errors of a file of hypotheses.

    Raises
    ------
    PrivacyEvalError
        Malformed files; utterances without hypothesis, reference or speaker; no reference words.
    """
    paired = pair_transcripts(reference, hypothesis, allow_missing=allow_missing)
    rules: dict[str, Any] = {"normalization": normalization, "variant": variant}
    counts = {utterance: _fewest(forms, **rules) for utterance, forms in paired.forms.items()}
    pooled = total(counts.values())
    if not pooled.words:
        raise PrivacyEvalError(f"{reference}: no words: the word error rate is undefined")
    speaker_of = paired.speakers
    if utt2spk is not None:
        speakers = speakers_of(counts, read_utt2spk(utt2spk), utt2spk)
        speaker_of = dict(zip(counts, speakers, strict=True))
    by_speaker = sorted(grouped(speaker_of, speaker_of.__getitem__).items())
    of_speakers = {speaker: total(map(counts.__getitem__, own)) for speaker, own in by_speaker}
    said = (f"{Path(hypothesis).name}: {r}" for r in _remarks(paired.forms, counts, rules))
    left_out, notes = (paired.missing, paired.extra), (*paired.notes, *said)
    return WordErrorCounts(pooled, counts, of_speakers, *left_out, speaker_of, notes)


def _fewest(forms: Forms, *, written: Callable[[str], str] = str, **rules: Any) -> WordErrors:
    """Count the errors of a reference and a hypothesis in the forms that have the fewest."""
    ways = (word_errors(*map(written, pair), **rules) for pair in product(*forms))
    return min(ways, key=lambda errors: (errors.errors, errors.substitutions))


def _remarks(
    forms: Mapping[str, Forms], counts: Mapping[str, WordErrors], rules: Mapping[str, Any]
) -> Iterator[str]:
    """Say how many sides are empty, and which errors are of writing only."""
    pooled = total(counts.values())
    texts = list(zip(*([pair[0][0], pair[1][0]] for pair in forms.values()), strict=True))
    empty = [sum(not split_words(t, rules["normalization"]) for t in side) for side in texts]
    if any(empty):
        yield f"empty references: {empty[0]}, empty hypotheses: {empty[1]}"
    if nothing := Counter(t.strip() for side in texts for t in side if t.strip() in _NOTHING):
        yield f"the word {' or '.join(nothing)} is all of {nothing.total()} transcripts: missing?"
    other = {**rules, "variant": "challenge" if rules["variant"] == "exact" else "exact"}
    differing = total(_fewest(pair, **other) for pair in forms.values())
    if differing != pooled:
        why = "counts an empty side as a word" if any(empty) else "tells Unicode's forms apart"
        rate = f"{100 * (differing.wer or 0):.2f} % [ {differing.errors} / {differing.words} ]"
        yield f"wer --variant {other['variant']}: {rate}; challenge {why}"
    wrong, left = [forms[u] for u, errors in counts.items() if errors.errors], pooled.errors
    for what, (remedy, fold) in _WRITING.items():
        folded = sum(_fewest(pair, written=fold, **rules).errors for pair in wrong)
        if folded < left:
            yield f"{left - folded} of {pooled.errors} errors are of {what} only; {remedy}"
        left = folded


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
    counted: WordErrorCounts, labels: Labels, *, replicates: int, seed: int
) -> tuple[dict[str, GroupRate], list[str]]:
    """Compute the word error rate of each group of speakers, with intervals if `replicates` of a
    bootstrap are drawn; also return the speakers without a group.

    Raises
    ------
    PrivacyEvalError
        As `Labels.of_speakers`.
    """
    group_of, without = labels.groups(counted.speaker_of)
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
