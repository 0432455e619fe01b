"""Word error rates of transcripts: pooled, per speaker, with intervals and a paired test; and
those of a tree's recognized sets (stage 6)."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.confine import outside_message
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded, file_names
from ..io.inputs import Inputs
from ..io.json_text import load_json
from ..io.schema import from_plain, to_plain
from ..io.transcripts import pair_transcripts, speakers_of
from ..metrics.confidence import Interval, difference_p_value, expanded_interval
from ..metrics.wer import (
    Normalization,
    SpeakerErrors,
    WordErrors,
    total,
    wer_bootstrap,
    word_errors,
)
from ..products.freshness import NOTE, Content, Fingerprint, Paths, Product, Sources
from ..tree.conditions import RecognitionCondition, RecognitionFiles, System, Transcripts

#: Incremented when the same inputs yield another record.
_REVISION = 2


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


@dataclass(frozen=True)
class WerDifference:
    """Comparison of two files of hypotheses for the same utterances.

    Attributes
    ----------
    difference : float
        Word error rate of the second minus that of the first.
    interval : Interval
        Over speakers.
    p_value : float
        Two-sided, for the null hypothesis of no difference.
    """

    difference: float
    interval: Interval
    p_value: float


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
    return _by_speaker(counted, replicates, seed).bootstrap().interval("wer")


def _by_speaker(counted: WordErrorCounts, replicates: int, seed: int) -> SpeakerErrors:
    counts = counted.speakers.values()
    return SpeakerErrors(
        tuple(counted.speakers),
        tuple(c.words for c in counts),
        tuple(c.errors for c in counts),
        replicates,
        seed,
    )


def compare(
    first: WordErrorCounts, second: WordErrorCounts, *, replicates: int, seed: int
) -> WerDifference:
    """Compare two hypotheses of the same utterances by a paired bootstrap over speakers.

    Raises
    ------
    PrivacyEvalError
        Different utterances; fewer than two speakers.
    """
    if first.utterances.keys() != second.utterances.keys():
        raise PrivacyEvalError("the two files of hypotheses have different utterances")
    names = list(first.speakers)
    drawn = wer_bootstrap(
        [[counted.speakers[s].words for s in names] for counted in (first, second)],
        [[counted.speakers[s].errors for s in names] for counted in (first, second)],
        speakers=names,
        replicates=replicates,
        seed=seed,
    )
    differences = drawn.values["wer 1"] - drawn.values["wer 0"]
    return WerDifference(
        second.counts.errors / second.counts.words - first.counts.errors / first.counts.words,
        expanded_interval(differences, drawn.n_speakers),
        difference_p_value(differences, drawn.n_speakers),
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
    """

    counts: WordErrors
    speaker_interval: tuple[float, ...] = ()
    left_out: int = 0
    speakers: SpeakerErrors | None = None


@dataclass(frozen=True)
class _Transcribed:
    """The word errors of one recognized set."""

    files: RecognitionFiles
    transcripts: Transcripts
    path: Path
    tree: Path
    bootstrap: int
    seed: int
    allow_missing: bool

    def product(self) -> Product:
        condition = self.files.condition
        return Product(
            f"{condition.system} {condition.name}",
            self.tree,
            self.path.with_name(f".{self.path.stem}{NOTE}"),
            (self.path,),
            self.find,
            self.make,
            subject={"normalization": self.transcripts.normalization},
            options={"bootstrap": self.bootstrap, "seed": self.seed if self.bootstrap else 0},
            revision=_REVISION,
        )

    def find(self, inputs: Inputs) -> Sources:
        if self.files.outside:
            raise PrivacyEvalError(outside_message(self.files.outside[0]))
        given = self.transcripts
        paths = {"hypothesis": given.hypothesis, "reference": given.reference}
        if self.bootstrap:
            if given.utt2spk is None:
                raise PrivacyEvalError(
                    f"{given.reference.parent}: no utt2spk, required by a bootstrap over speakers"
                )
            paths["utt2spk"] = given.utt2spk
        return paths

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        files = {role: inputs.load(path) for role, path in paths.items()}
        errors = count_word_errors(
            files["hypothesis"],
            files["reference"],
            utt2spk=files.get("utt2spk"),
            normalization=self.transcripts.normalization,
            allow_missing=self.allow_missing,
        )
        bounds: tuple[float, ...] = ()
        speakers = None
        if self.bootstrap:
            speakers = _by_speaker(errors, self.bootstrap, self.seed)
            drawn = speakers.bootstrap().interval("wer")
            bounds = drawn.low, drawn.high
        left_out = errors.missing + errors.extra
        record = SetWordErrors(errors.counts, bounds, left_out, speakers)
        text = json.dumps(to_plain(record), indent=1, allow_nan=False)
        note = f"{left_out} transcripts left out" if left_out else ""
        return Content({self.path: f"{text}\n".encode()}, note)


def transcript_products(
    systems: Iterable[System],
    out: Path,
    tree: Path,
    *,
    bootstrap: int = 0,
    seed: int = 0,
    allow_missing: bool = False,
) -> dict[RecognitionCondition, Product]:
    """Return the word errors of the recognized sets with transcripts; sets that have rates only
    if words can be aligned."""
    systems = list(systems)
    names = file_names(system.name for system in systems)
    options = tree, bootstrap, seed, allow_missing
    products = {}
    for name, files in ((names[s.name], files) for s in systems for files in s.recognition):
        path = out / "records" / name / f"recognition-{files.folder.name}.json"
        given = files.transcripts
        if given is not None and (not given.is_rated or can_align()):
            products[files.condition] = _Transcribed(files, given, path, *options).product()
    return products


def can_align() -> bool:
    """Whether the library that aligns words is installed."""
    return importlib.util.find_spec("kaldialign") is not None


def without_intervals(systems: Iterable[System]) -> list[str]:
    """List the sets that have transcripts but no intervals, as their words cannot be aligned."""
    if can_align():
        return []
    sets = (files for system in systems for files in system.recognition)
    return [f"{f.condition.system} {f.condition.name}" for f in sets if f.transcripts is not None]


def rated_words(
    files: RecognitionFiles, inputs: Inputs, *, allow_missing: bool
) -> WordErrors | None:
    """Count the word errors of a set's transcripts if it has rates to compare with them.

    Raises
    ------
    PrivacyEvalError
        As `count_word_errors`.
    """
    given = files.transcripts
    if given is None or not given.is_rated or not can_align():
        return None
    errors = count_word_errors(
        inputs.load(given.hypothesis),
        inputs.load(given.reference),
        normalization=given.normalization,
        allow_missing=allow_missing,
    )
    return errors.counts


def read_set_word_errors(path: Path) -> SetWordErrors:
    """Read the record of a product of `transcript_products`.

    Raises
    ------
    PrivacyEvalError
        Damaged.
    """
    return from_plain(SetWordErrors, load_json(path), str(path))
