"""The one store of results: records, kept as results.json, also written as CSV and as
the challenge's results.txt, and read from both JSON and results.txt.

results.json is the truth. Rates are fractions, disclosures and costs bits, G_VD dB.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from . import __version__
from .config import SPEECH, Config, config_from_dict
from .errors import PrivacyEvalError, some
from .io.csv_text import csv_text
from .io.files import read_text
from .io.results_txt import (
    RecognitionBlock,
    ResultsTxt,
    TrialSetBlock,
    VerificationBlock,
    format_results_txt,
    parse_results_txt,
)
from .io.wer import WerLine
from .metrics import METRICS, VARIANTS, Variant
from .schema import from_plain, to_plain
from .tree import condition_meaning, recognition_meaning

FORMAT = "privacy_eval results 2"

#: Units of all stored values.
UNITS: Mapping[str, str] = {
    **{info.key: info.unit for info in METRICS.values()},
    "wer": "fraction",
    "pitch_correlation_mean": "correlation",
    "pitch_correlation_std": "correlation",
    "deid": "fraction",
    "gvd_db": "dB",
    "d_diag_oo": "difference of similarities",
    "d_diag_oa": "difference of similarities",
    "d_diag_aa": "difference of similarities",
}

#: What `SimilarityRecord.metrics` may hold, each with its range; the first two are the
#: challenge's.
SIMILARITY_METRICS: Mapping[str, tuple[float, float]] = {
    "deid": (-math.inf, 1),
    "gvd_db": (-math.inf, math.inf),
    "d_diag_oo": (0, 1),
    "d_diag_oa": (0, 1),
    "d_diag_aa": (0, 1),
}
# What the released scripts' shortcuts may be off, and rounded numbers.
_SLACK = 1e-3


@dataclass(frozen=True)
class VerificationRecord:
    """Metrics of one condition.

    Attributes
    ----------
    system, results_folder, condition, data_set, split, gender, enrollment, trial,
    asv_model, attack_model, enrollment_set, trial_set
        As in `tree.Condition`; `condition` is the folder's name.
    metrics : mapping
        By variant (`challenge`, `exact`), then by metric.
    zebra_tag : mapping
        Category of the individual disclosure by variant.
    n_target, n_nontarget : int or None
        Numbers of trials; None where they are not known (imported results).
    eer_interval_if_independent : tuple or None
        95 % interval of the EER if trials were independent (Bengio & Mariethoz), which
        they are not.
    speaker_intervals : mapping
        By variant and metric: 95 % bounds from the bootstrap over speakers.
    trials_without_score, scores_without_trial : int or None
        How many were left out, on explicit request; None where it is not known.
    curves, curves_sha256 : str or None
        File of the curves (.npz) below `records/`, and its digest.
    provenance : mapping
        Digests of inputs, options, version.
    """

    system: str
    results_folder: str
    condition: str
    data_set: str
    split: str
    gender: str
    enrollment: str
    trial: str
    asv_model: str
    attack_model: str | None
    enrollment_set: str
    trial_set: str
    metrics: Mapping[str, Mapping[str, float]]
    zebra_tag: Mapping[str, str]
    n_target: int | None = None
    n_nontarget: int | None = None
    eer_interval_if_independent: tuple[float, ...] | None = None
    speaker_intervals: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    trials_without_score: int | None = None
    scores_without_trial: int | None = None
    curves: str | None = None
    curves_sha256: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def values(self, variant: Variant) -> Mapping[str, float]:
        """Metrics of a variant; of the only one there is where that is another."""
        return _of_variant(self.metrics, variant)

    @property
    def left_out(self) -> int:
        """Trials and scores that were left out on request."""
        return (self.trials_without_score or 0) + (self.scores_without_trial or 0)

    def tag(self, variant: Variant) -> str | None:
        """ZEBRA category of a variant, with `values`' way out."""
        if variant in self.zebra_tag or len(self.zebra_tag) != 1:
            return self.zebra_tag.get(variant)
        return next(iter(self.zebra_tag.values()))


@dataclass(frozen=True)
class RecognitionRecord:
    """One word error rate.

    Attributes
    ----------
    name : str
        The folder, `ASR-<set>`.
    speech : str
        `original` or `anonymized`.
    language_model, asr_model : str or None
        Ids of the plan; None where the decoding's path names none.
    wer : float
        Fraction, to the four decimals that Kaldi prints.
    errors, words, insertions, deletions, substitutions : int
    decode : str
        Folder of the decoding.
    lm_weight : int or None
    word_insertion_penalty : float or None
    """

    system: str
    results_folder: str
    name: str
    data_set: str
    split: str
    speech: str
    language_model: str | None
    asr_model: str | None
    wer: float
    errors: int
    words: int
    insertions: int
    deletions: int
    substitutions: int
    decode: str
    lm_weight: int | None
    word_insertion_penalty: float | None
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PitchRecord:
    """Pitch correlation of a trial set: `pitch_correlation_mean` and
    `pitch_correlation_std`."""

    system: str
    results_folder: str
    trial_set: str
    data_set: str
    split: str
    gender: str
    values: Mapping[str, float]
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SpeakerSimilarity:
    """One speaker's part in the voice similarity of a trial set, `exact` variant.

    Attributes
    ----------
    speaker : str
    deid : float
        Its own de-identification (fraction); lower is less protected.
    similarity_oo, similarity_oa, similarity_aa : float
        Its entries on the diagonals of the three matrices.
    linkability : float or None
        D_sys of its original utterances with its own and with others' anonymized ones;
        None with fewer than 20 pairs of its own, which D_sys says nothing of.
    evidence : float
        log10 of the largest LLR by which one of its original utterances is linked with one
        of its anonymized ones; negative where none is.
    """

    speaker: str
    deid: float
    similarity_oo: float
    similarity_oa: float
    similarity_aa: float
    linkability: float | None
    evidence: float


@dataclass(frozen=True)
class SimilarityRecord:
    """Voice similarity of a trial set.

    Attributes
    ----------
    asv_model : str
        What the speaker-verification model that measured it was trained on.
    metrics : mapping
        By variant, then by `SIMILARITY_METRICS`: `deid` (fraction), `gvd_db` (dB) and
        D_diag of the three matrices.
    n_speakers, n_utterances : int or None
        None where they are not known (imported results).
    utterances_left_out : int or None
        How many were left out, on explicit request: without a vector, or of a speaker left
        with one.
    speakers : tuple of SpeakerSimilarity
        From the least to the best protected by their DeID.
    curves, curves_sha256 : str or None
        File of the matrices (.npz) below `records/`, and its digest.
    """

    system: str
    results_folder: str
    asv_model: str
    trial_set: str
    data_set: str
    split: str
    gender: str
    metrics: Mapping[str, Mapping[str, float]]
    n_speakers: int | None = None
    n_utterances: int | None = None
    utterances_left_out: int | None = None
    speakers: tuple[SpeakerSimilarity, ...] = ()
    curves: str | None = None
    curves_sha256: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def values(self, variant: Variant) -> Mapping[str, float]:
        """Metrics of a variant; of the only one there is where that is another."""
        return _of_variant(self.metrics, variant)


def _of_variant(
    metrics: Mapping[str, Mapping[str, float]], variant: Variant
) -> Mapping[str, float]:
    if variant in metrics or len(metrics) != 1:
        return metrics.get(variant, {})
    return next(iter(metrics.values()))


AnyRecord = VerificationRecord | RecognitionRecord | PitchRecord | SimilarityRecord


@dataclass(frozen=True)
class Results:
    """Records of one or more systems under one plan.

    Attributes
    ----------
    config : Config
    verification, recognition, pitch, similarity : tuples of records
    not_evaluated : tuple of str
        Conditions that were left out on request, each with the reason.
    """

    config: Config
    verification: tuple[VerificationRecord, ...] = ()
    recognition: tuple[RecognitionRecord, ...] = ()
    pitch: tuple[PitchRecord, ...] = ()
    similarity: tuple[SimilarityRecord, ...] = ()
    not_evaluated: tuple[str, ...] = ()

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in order of their first record."""
        return list(dict.fromkeys(r.system for r in self._records()))

    def results_folders(self, system: str) -> list[str]:
        """Suffixes of the results folders that a system has records of."""
        return sorted({r.results_folder for r in self._records() if r.system == system})

    def of(self, system: str, results_folder: str | None = None) -> Results:
        """The records of one system, or of one of its results folders."""

        def kept(record: Any) -> bool:
            return record.system == system and results_folder in (None, record.results_folder)

        return Results(
            self.config,
            tuple(filter(kept, self.verification)),
            tuple(filter(kept, self.recognition)),
            tuple(filter(kept, self.pitch)),
            tuple(filter(kept, self.similarity)),
        )

    def under(self, config: Config) -> Results:
        """The same records under another plan, checked."""
        results = replace(self, config=config)
        results.check()
        return results

    def check(self) -> None:
        """Make sure that every record has a place in the plan, of its own, and every value a
        meaning.

        Raises
        ------
        PrivacyEvalError
            Names the first that has none.
        """
        config = self.config
        trial_sets = {(t.data_set.id, t.split, t.gender) for t in config.trial_sets()}
        decoded = {(d.id, s) for d in config.recognition.data_sets for s in config.splits}
        suffixes = {f.suffix for f in config.results_folders}
        taken: set[tuple[object, ...]] = set()
        for r in self._records():
            place: tuple[str, ...] = (r.data_set, r.split)
            speech: set[str | None] = set()
            if not r.system:
                raise PrivacyEvalError(f"{_name(r)}: the system has no name")
            if isinstance(r, RecognitionRecord):
                _check_recognition(r)
                known = place in decoded
                speech = {r.speech, r.asr_model} - {None}
            else:
                place = (*place, r.gender)
                known = place in trial_sets
            if isinstance(r, VerificationRecord):
                speech = {r.enrollment, r.trial, r.asv_model}
                _check_values(r)
            elif isinstance(r, PitchRecord):
                _check_pitch(r)
            elif isinstance(r, SimilarityRecord):
                speech = {r.asv_model}
                _check_similarity(r)
            strange = sorted(str(word) for word in speech - set(SPEECH))
            if not known or strange or r.results_folder not in suffixes:
                raise PrivacyEvalError(
                    f"the plan {config.name} has no place for a record of {r.system}: "
                    f"{', '.join([*place, *strange])}, results folder {r.results_folder!r}"
                )
            if isinstance(r, VerificationRecord):
                place = (*place, r.enrollment, r.trial)
            full = (type(r), r.system, r.results_folder, place)
            if full in taken and not isinstance(r, RecognitionRecord):
                raise PrivacyEvalError(f"{r.system} {_name(r)}: {', '.join(place)} stands twice")
            taken.add(full)

    def _records(self) -> Iterator[AnyRecord]:
        yield from self.verification
        yield from self.recognition
        yield from self.pitch
        yield from self.similarity


def _check_values(record: VerificationRecord) -> None:
    where = f"{record.system} {record.condition}"
    for kind, by_variant in (
        ("metrics", record.metrics),
        ("speaker_intervals", record.speaker_intervals),
    ):
        for variant, values in by_variant.items():
            for key in values:
                if variant not in VARIANTS or key not in METRICS:
                    raise PrivacyEvalError(f"{where}: {kind}: unknown value {variant} {key}")
    for variant, metrics in record.metrics.items():
        for key, value in metrics.items():
            _check_range(f"{where}: {variant} {key}", value, 0, METRICS[key].largest)
    bounds = [b for by_metric in record.speaker_intervals.values() for b in by_metric.values()]
    for b in (*bounds, record.eer_interval_if_independent or (0.0, 1.0)):
        if len(b) != 2 or b[0] > b[1]:
            raise PrivacyEvalError(f"{where}: an interval has two bounds, the lower one first")
    _check_counts(record, where, 1, "n_target", "n_nontarget")
    _check_counts(record, where, 0, "trials_without_score", "scores_without_trial")


def _check_recognition(record: RecognitionRecord) -> None:
    where = f"{record.system} {record.name}"
    _check_range(f"{where}: wer", record.wer, 0)
    _check_counts(record, where, 0, "errors", "words", "insertions", "deletions", "substitutions")


def _check_range(what: str, value: float, low: float, high: float = math.inf) -> None:
    # Infinite is what the released scripts may make of anything.
    if not (low - _SLACK <= value <= high + _SLACK or value == math.inf):
        raise PrivacyEvalError(f"{what}: {value:g} is not within {low:g} to {high:g}")


def _check_counts(record: AnyRecord, where: str, low: int, *names: str) -> None:
    for name in names:
        count = getattr(record, name)
        if count is not None and count < low:
            raise PrivacyEvalError(f"{where}: {name}: {count} is less than {low}")


def _check_pitch(record: PitchRecord) -> None:
    expected = {"pitch_correlation_mean", "pitch_correlation_std"}
    if set(record.values) != expected:
        raise PrivacyEvalError(
            f"{record.system} {record.trial_set}: expected {' and '.join(sorted(expected))}, "
            f"found {', '.join(sorted(record.values)) or 'nothing'}"
        )
    where = f"{record.system} {record.trial_set}"
    _check_range(f"{where}: pitch_correlation_mean", record.values["pitch_correlation_mean"], -1, 1)
    _check_range(f"{where}: pitch_correlation_std", record.values["pitch_correlation_std"], 0, 1)


def _check_similarity(record: SimilarityRecord) -> None:
    where = f"{record.system} {record.trial_set}"
    if not any(record.metrics.values()):
        raise PrivacyEvalError(f"{where}: expected {' or '.join(SIMILARITY_METRICS)}")
    for variant, values in record.metrics.items():
        for key in values:
            if variant not in VARIANTS or key not in SIMILARITY_METRICS:
                raise PrivacyEvalError(f"{where}: metrics: unknown value {variant} {key}")
            low, high = SIMILARITY_METRICS[key]
            _check_range(f"{where}: {variant} {key}", values[key], low, high)
    _check_counts(record, where, 0, "n_speakers", "n_utterances", "utterances_left_out")


def to_json(results: Results) -> str:
    """results.json: the same results give the same bytes."""
    plain = {
        "format": FORMAT,
        "version": __version__,
        "units": dict(UNITS),
        **{key: value for key, value in to_plain(results).items() if key != "config"},
        "config": results.config.to_dict(),
    }
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> Results:
    """Read a results.json.

    Raises
    ------
    PrivacyEvalError
        Unreadable, no JSON, another format, a missing, unknown or wrong entry.
    """
    plain = load_json(path)
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise PrivacyEvalError(f"{path}: not a results.json (expected the format {FORMAT!r})")
    config = config_from_dict(plain.get("config"), f"{path}: config")
    body = {k: v for k, v in plain.items() if k not in ("format", "version", "units", "config")}
    read = from_plain(_Body, body, str(path))
    results = Results(
        config,
        read.verification,
        read.recognition,
        read.pitch,
        read.similarity,
        read.not_evaluated,
    )
    try:
        results.check()
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{path}: {error}") from error
    return results


@dataclass(frozen=True)
class _Body:
    """Entries of results.json beside its header."""

    verification: tuple[VerificationRecord, ...]
    recognition: tuple[RecognitionRecord, ...]
    pitch: tuple[PitchRecord, ...]
    similarity: tuple[SimilarityRecord, ...]
    not_evaluated: tuple[str, ...]


def load_json(path: Path) -> Any:
    """Plain values of a JSON file; NaN, which is no JSON, is refused, NUL and halves of
    surrogate pairs, which are no text, and a name that stands twice in an object, of whose
    values one would be lost."""

    def refuse(constant: str) -> None:
        raise PrivacyEvalError(f"{path}: {constant} is no JSON number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            again = next(n for i, (n, _) in enumerate(pairs) if n in dict(pairs[:i]))
            raise PrivacyEvalError(f"{path}: {again[:80]!r} stands twice in one object")
        return found

    try:
        text = read_text(path)
        plain = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
        if "\\u0000" in text:
            raise PrivacyEvalError(f"{path}: NUL within a text")
        if re.search(r"\\u[dD][89a-fA-F]", text):
            json.dumps(plain, ensure_ascii=False).encode()
        return plain
    except UnicodeEncodeError as error:
        raise PrivacyEvalError(f"{path}: not text (half of a surrogate pair)") from error
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise PrivacyEvalError(f"{path}{line}: not JSON ({error})") from error


CSV_COLUMNS = (
    "system",
    "results_folder",
    "name",
    "data_set",
    "split",
    "gender",
    "enrollment",
    "trial",
    "model",
    "attack_model",
    "n_target",
    "n_nontarget",
    "trials_without_score",
    "scores_without_trial",
    "variant",
    "metric",
    "unit",
    "value",
    "low_95",
    "high_95",
)


def to_csv(results: Results) -> str:
    """results.csv: one line per value, with its unit."""
    rows = ([row.get(name) for name in CSV_COLUMNS] for row in _csv_rows(results))
    return csv_text([CSV_COLUMNS, *rows])


def _csv_rows(results: Results) -> Iterator[dict[str, object]]:
    for v in results.verification:
        shared = {
            "system": v.system,
            "results_folder": v.results_folder,
            "name": v.condition,
            "data_set": v.data_set,
            "split": v.split,
            "gender": v.gender,
            "enrollment": v.enrollment,
            "trial": v.trial,
            "model": v.asv_model,
            "attack_model": v.attack_model,
            "n_target": v.n_target,
            "n_nontarget": v.n_nontarget,
            "trials_without_score": v.trials_without_score,
            "scores_without_trial": v.scores_without_trial,
        }
        for variant, metrics in v.metrics.items():
            intervals = v.speaker_intervals.get(variant, {})
            for metric, value in metrics.items():
                low, high = intervals.get(metric, (None, None))
                yield {
                    **shared,
                    "variant": variant,
                    "metric": metric,
                    "unit": UNITS[metric],
                    "value": value,
                    "low_95": low,
                    "high_95": high,
                }
    for r in results.recognition:
        yield {
            "system": r.system,
            "results_folder": r.results_folder,
            "name": r.name,
            "data_set": r.data_set,
            "split": r.split,
            "trial": r.speech,
            "model": r.asr_model,
            "metric": f"wer_{r.language_model}" if r.language_model else "wer",
            "unit": UNITS["wer"],
            "value": r.wer,
        }
    of_trial_sets: list[tuple[PitchRecord | SimilarityRecord, str | None, Mapping[str, float]]] = [
        *((p, None, p.values) for p in results.pitch),
        *(
            (s, variant, values)
            for s in results.similarity
            for variant, values in s.metrics.items()
        ),
    ]
    for t, of_variant, values in of_trial_sets:
        for metric, value in values.items():
            yield {
                "system": t.system,
                "results_folder": t.results_folder,
                "name": t.trial_set,
                "data_set": t.data_set,
                "split": t.split,
                "gender": t.gender,
                "variant": of_variant,
                "metric": metric,
                "unit": UNITS[metric],
                "value": value,
            }


def speakers_csv(speakers: Iterable[tuple[Mapping[str, str], SpeakerSimilarity]]) -> str:
    """Speakers with the columns that say of which set they are, a line each."""
    rows = [{**place, **to_plain(speaker)} for place, speaker in speakers]
    columns = list(rows[0]) if rows else _SPEAKER_COLUMNS
    return csv_text([columns, *(row.values() for row in rows)])


_SPEAKER_PLACE = ("system", "results_folder", "trial_set", "data_set", "split", "gender")
_SPEAKER_COLUMNS = (*_SPEAKER_PLACE, *(f.name for f in fields(SpeakerSimilarity)))


def to_speakers_csv(results: Results) -> str:
    """speakers.csv: every speaker of every trial set, the least protected first."""
    return speakers_csv(
        ({name: getattr(r, name) for name in _SPEAKER_PLACE}, speaker)
        for r in results.similarity
        for speaker in r.speakers
    )


def to_results_txt(results: Results, system: str, results_folder: str) -> str:
    """The challenge's results.txt of one results folder of a system."""
    part = results.of(system, results_folder)
    variant = results.config.variant
    recognized: dict[str, list[WerLine]] = {}
    for r in part.recognition:
        line = WerLine(**{f.name: getattr(r, f.name) for f in fields(WerLine)})
        recognized.setdefault(r.name, []).append(line)
    return format_results_txt(
        ResultsTxt(
            [
                VerificationBlock(v.condition, v.values(variant), v.tag(variant))
                for v in part.verification
            ],
            [RecognitionBlock(name, tuple(lines)) for name, lines in recognized.items()],
            [TrialSetBlock(t.trial_set, t.values) for t in part.pitch],
            [TrialSetBlock(t.trial_set, t.values(variant)) for t in part.similarity],
        )
    )


def part_of_system(text: str, path: str, system: str) -> str:
    """The part of a results.txt that several systems share (`# SYSTEM` before each);
    all of one that has no such lines. Other parts become blank lines, so that line
    numbers stay.

    Raises
    ------
    PrivacyEvalError
        The system is not among them.
    """
    lines = text.split("\n")
    owners = [line[2:].strip() for line in lines if line.startswith("# ")]
    if not owners:
        return text
    if system not in owners:
        raise PrivacyEvalError(f"{path}: no system {system!r} in it, only {some(owners)}")
    owner, kept = "", []
    for line in lines:
        if line.startswith("# "):
            owner, line = line[2:].strip(), ""
        kept.append(line if owner == system else "")
    return "\n".join(kept) + "\n"


def import_results_txt(
    text: str,
    path: str,
    config: Config,
    *,
    system: str,
    results_folder: str = "",
    anon_suffix: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Results:
    """Records of a results.txt that the challenge's scripts wrote.

    Its numbers are the `challenge` variant. Their digits are kept: exporting gives
    the same text again.

    Parameters
    ----------
    results_folder : str
        Suffix of the plan's results folder that the file is of.

    Raises
    ------
    PrivacyEvalError
        A line of no known form; a condition or set that the plan does not know.
    """
    parsed = parse_results_txt(text, path)
    folder = next((f for f in config.results_folders if f.suffix == results_folder), None)
    if folder is None:
        suffixes = ", ".join(repr(f.suffix) for f in config.results_folders)
        raise PrivacyEvalError(
            f"{config.name}: no results folder with suffix {results_folder!r} (it has {suffixes})"
        )
    suffix = config.anon_suffix if anon_suffix is None else anon_suffix
    origin = dict(provenance or {})
    verification = []
    for block in parsed.verification:
        meaning = condition_meaning(config, block.name, suffix)
        if meaning is None:
            raise _unknown(path, block.name, config)
        verification.append(
            VerificationRecord(
                system=system,
                results_folder=results_folder,
                condition=block.name,
                data_set=meaning.trial_set.data_set.id,
                split=meaning.trial_set.split,
                gender=meaning.trial_set.gender,
                enrollment=meaning.enrollment,
                trial=meaning.trial,
                asv_model=folder.asv_model,
                attack_model=config.attack_model(
                    meaning.enrollment, meaning.trial, folder.asv_model
                ),
                enrollment_set=meaning.enrollment_name,
                trial_set=meaning.trial_name,
                metrics={"challenge": block.metrics},
                zebra_tag={} if block.tag is None else {"challenge": block.tag},
                provenance=origin,
            )
        )
    recognition: list[RecognitionRecord] = []
    for decoded in parsed.recognition:
        place = recognition_meaning(config, decoded.name, suffix)
        if place is None:
            raise _unknown(path, decoded.name, config)
        recognition += recognition_records(
            decoded.lines, config, system, results_folder, decoded.name, place, origin
        )
    trial_sets = {t.trials_name: t for t in config.trial_sets()}

    def place_of(block: TrialSetBlock) -> dict[str, Any]:
        if block.name not in trial_sets:
            raise _unknown(path, block.name, config)
        t = trial_sets[block.name]
        return {
            "system": system,
            "results_folder": results_folder,
            "trial_set": block.name,
            "data_set": t.data_set.id,
            "split": t.split,
            "gender": t.gender,
        }

    return Results(
        config,
        tuple(verification),
        tuple(recognition),
        tuple(PitchRecord(**place_of(b), values=b.values, provenance=origin) for b in parsed.pitch),
        tuple(
            SimilarityRecord(
                **place_of(b),
                asv_model=folder.asv_model,
                metrics={"challenge": b.values},
                provenance=origin,
            )
            for b in parsed.similarity
        ),
    )


def recognition_records(
    lines: Iterable[WerLine],
    config: Config,
    system: str,
    results_folder: str,
    name: str,
    place: tuple[str, str, str],
    provenance: Mapping[str, Any],
) -> list[RecognitionRecord]:
    """Records of the `%WER` lines of one `ASR-*` folder; `place` is its data set, split
    and speech."""
    data_set, split, speech = place
    return [
        RecognitionRecord(
            system=system,
            results_folder=results_folder,
            name=name,
            data_set=data_set,
            split=split,
            speech=speech,
            language_model=_language_model(config, line.decode),
            asr_model=_asr_model(config, line.decode),
            **to_plain(line),
            provenance=provenance,
        )
        for line in lines
    ]


def merge(parts: Iterable[Results]) -> Results:
    """Results of several files under one plan.

    Raises
    ------
    PrivacyEvalError
        Different plans; a condition that two files give for one system.
    """
    parts = list(parts)
    config = parts[0].config
    if any(part.config != config for part in parts):
        raise PrivacyEvalError("results under different plans cannot be put together")
    merged = Results(
        config,
        tuple(r for part in parts for r in part.verification),
        tuple(r for part in parts for r in part.recognition),
        tuple(r for part in parts for r in part.pitch),
        tuple(r for part in parts for r in part.similarity),
        tuple(n for part in parts for n in part.not_evaluated),
    )
    seen: set[tuple[str, str, str, str]] = set()
    for part in parts:
        keys = [
            (kind, r.system, r.results_folder, _name(r))
            for kind, records in (
                ("verification", part.verification),
                ("recognition", part.recognition),
                ("pitch", part.pitch),
                ("similarity", part.similarity),
            )
            for r in records
        ]
        for key in keys:
            if key in seen:
                raise PrivacyEvalError(f"system {key[1]!r}: {key[3]} stands in two results files")
        seen.update(keys)
    return merged


def _name(record: AnyRecord) -> str:
    if isinstance(record, VerificationRecord):
        return record.condition
    return record.name if isinstance(record, RecognitionRecord) else record.trial_set


def _language_model(config: Config, decode: str) -> str | None:
    folder = decode.rsplit("/", 1)[-1]
    for name, marker in config.recognition.language_models.items():
        if folder.endswith(marker):
            return name
    return None


def _asr_model(config: Config, decode: str) -> str | None:
    above = decode.split("/")[-2:-1]
    for name, folder in config.recognition.models.items():
        if above == [folder]:
            return name
    return None


def _unknown(path: str, name: str, config: Config) -> PrivacyEvalError:
    return PrivacyEvalError(
        f"{path}: {name} is no condition or set of the plan {config.name} (another plan: --conf; "
        f"another suffix than {config.anon_suffix}: --anon-suffix)"
    )
