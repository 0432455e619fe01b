"""Word error rates of transcripts: pooled, per speaker, with intervals and a paired test.

Rates are fractions, all errors by all reference words; words are aligned by kaldialign, the extra
`wer` of the package.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from ..choices import MISSING, NORMALIZATIONS, VARIANTS, Normalization, Variant, grouped
from ..errors import PrivacyEvalError
from ..io.data_dir import read_utt2spk
from ..io.files import Inputs, Loaded
from ..io.schema import SPARSE, from_plain, load_json
from ..io.transcripts import Forms, pair_transcripts, speakers_of
from ..io.user_tables import Labels
from ..metrics.confidence import Interval
from ..metrics.utility import GroupRate, SpeakerErrors, WordErrors, align_symbols
from ..stages.privacy_metrics import can_align
from ..tree.conditions import RecognitionFiles
from .rates import group_rates, rate_difference

#: Characters that VoicePrivacy 2026 (track 2) deletes without a blank. Inverted marks of Spanish
#: and curly quotes stay, and `est-elle` becomes one word: the references hardly have such marks,
#: so that the rates of Spanish and French are too high.
_DELETED = str.maketrans("", "", '.,!?;:»«"()[]…—–-')
_HAN = re.compile("[\u4e00-\u9fff]")


def total(counts: Iterable[WordErrors]) -> WordErrors:
    """Pool counts.

    Parameters
    ----------
    counts : iterable of WordErrors

    Returns
    -------
    WordErrors

    Examples
    --------
    >>> total([WordErrors(3, 0, 0, 1), WordErrors(1, 1, 0, 0)]).wer
    0.5
    """
    return WordErrors(*map(sum, zip((0, 0, 0, 0), *map(astuple, counts), strict=True)))


def split_words(text: str, normalization: Normalization = "none") -> list[str]:
    """Split a transcript into words as an edition of the challenge does.

    Parameters
    ----------
    text : str
    normalization : {"none", "vpc2026"}
        `none` (2024, and track 1 of 2026): case and punctuation count. `vpc2026` (track 2, behind
        Whisper): lower case, some punctuation deleted; of a text with Han characters (U+4E00 to
        U+9FFF) only these, each a word, so that Japanese loses its kana and Chinese its digits.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        Another normalization.

    Examples
    --------
    >>> split_words("Où est-elle ?", "vpc2026")
    ['où', 'estelle']
    >>> split_words("3月と4日", "vpc2026")
    ['月', '日']
    """
    if normalization == "none":
        return text.split()
    if normalization != "vpc2026":
        raise ValueError(f"normalization must be one of {NORMALIZATIONS}, not {normalization!r}")
    return _HAN.findall(text) or text.lower().translate(_DELETED).split()


def fold_writing(text: str, *, every: bool = False) -> str:
    """Return a text in lower case without the punctuation that `vpc2026` deletes.

    Parameters
    ----------
    text : str
    every : bool
        Also without apostrophes, curly quotes and whatever else Unicode counts as punctuation.

    Returns
    -------
    str

    Examples
    --------
    >>> fold_writing("Don't stop."), fold_writing("¡Don’t stop!", every=True)
    ("don't stop", 'dont stop')
    """
    folded = text.lower().translate(_DELETED)
    if not every:
        return folded
    return "".join(c for c in folded if c != "\u02bc" and unicodedata.category(c)[0] not in "PS")


def word_errors(
    reference: str,
    hypothesis: str,
    *,
    normalization: Normalization = "none",
    variant: Variant = "exact",
) -> WordErrors:
    """Count the errors of one utterance.

    Parameters
    ----------
    reference, hypothesis : str
    normalization : {"none", "vpc2026"}
        See `split_words`.
    variant : {"exact", "challenge"}
        `exact`: an empty side has no words, and text that is canonically equivalent in Unicode is
        equal, as for compute-wer and sclite. `challenge`, as its scripts: characters are compared
        as they are, and with `none` an empty side counts as one empty word (SpeechBrain 0.5).

    Returns
    -------
    WordErrors

    Raises
    ------
    PrivacyEvalError
        kaldialign is not installed.
    ValueError
        Another normalization or variant.

    Examples
    --------
    >>> word_errors("A B C", "A X C D")
    WordErrors(words=3, insertions=1, deletions=0, substitutions=1)
    >>> word_errors("", "A B").words, word_errors("", "A B", variant="challenge")
    (0, WordErrors(words=1, insertions=1, deletions=0, substitutions=1))
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {VARIANTS}, not {variant!r}")
    texts = (reference, hypothesis)
    if variant == "exact":
        texts = (unicodedata.normalize("NFC", reference), unicodedata.normalize("NFC", hypothesis))
    sides = [split_words(text, normalization) for text in texts]
    if variant == "challenge" and normalization == "none" and any(sides):
        sides = [words or [""] for words in sides]
    return align_symbols(*sides, purpose="word error rates of transcripts")


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


def rated_words(files: RecognitionFiles, inputs: Inputs, allow_missing: bool) -> WordErrors | None:
    """Count the word errors of a set's transcripts if it has rates to compare with them.

    Raises
    ------
    PrivacyEvalError
        As `count_word_errors`.
    """
    given = files.transcripts
    if given is None or not given.is_rated or not can_align():
        return None
    return count_word_errors(
        inputs.load(given.hypothesis),
        inputs.load(given.reference),
        allow_missing=allow_missing,
        **{**given.rules, "variant": "challenge"},
    ).counts


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
) -> dict[str, Any]:
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
    """Read the record of a product of `plan_transcripts`.

    Raises
    ------
    PrivacyEvalError
        Damaged.
    """
    return from_plain(SetWordErrors, load_json(path), str(path))
