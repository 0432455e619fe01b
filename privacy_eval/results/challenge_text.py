"""The challenge's results.txt of records, and records of its word error rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..io.wer import WerLine, format_wer_line
from ..metrics.printed import CAVEAT, format_metrics
from ..metrics.registry import Kind
from ..metrics.utility import GroupRate, SpeakerErrors
from ..protocol.protocol import Protocol
from ..tree.conditions import Condition
from .measurements import measured, without_blanks
from .records import Record, Results, facts_of_line, line_of

PITCH_KEYS = ("pitch_correlation_mean", "pitch_correlation_std", "pitch_correlation_chance")
#: Metrics of trial sets.
SET_KINDS: tuple[Kind, ...] = ("matrices", "utility")


@dataclass(frozen=True)
class VerificationBlock:
    """Metrics of one `ASV-*` folder.

    Attributes
    ----------
    metrics : mapping of str to float
        In stored units: rates as fractions.
    tag : str or None
        ZEBRA category, if given.
    caveats : mapping of str to str
        See `metrics.caveats`; not parsed.
    """

    metrics: Mapping[str, float]
    tag: str | None
    caveats: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultsTxt:
    """Content of a results.txt in file order.

    Attributes
    ----------
    verification : dict of str to VerificationBlock
        By the name of the `ASV-*` folder.
    recognition : dict of str to sequence of WerLine
        By the name of the `ASR-*` folder.
    utility, similarity : dicts of str to mapping of str to float
        Values by trial set: `pitch_correlation_mean`, `_std` and, from `pitch`, `_chance`; `deid`
        (fraction) and `gvd_db` (dB).
    caveats : mapping of str to mapping of str to str
        Of recognition, by the name of the folder; not parsed.
    """

    verification: dict[str, VerificationBlock] = field(default_factory=dict)
    recognition: dict[str, Sequence[WerLine]] = field(default_factory=dict)
    utility: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    similarity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    caveats: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def to_results_txt(results: Results, system: str, results_folder: str) -> str:
    """Write the challenge's results.txt of one results folder of a system, with SpeechBrain's EER
    only where that is the protocol's."""
    part = results.of(system, results_folder).by_challenge()
    variant, hidden = results.protocol.variant, {"eer_speechbrain"} - {results.protocol.eer}
    recognized: defaultdict[str, list[WerLine]] = defaultdict(list)
    caveats: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for r in part.recognition:
        recognized[r.condition.name].append(line_of(r))
        caveats[r.condition.name].update(r.caveats)
    return format_results_txt(
        ResultsTxt(
            {
                v.condition.name: VerificationBlock(
                    {key: value for key, value in v.values(variant).items() if key not in hidden},
                    v.tag(variant),
                    v.caveats_of(variant),
                )
                for v in part.verification
            },
            dict(recognized),
            {t.condition.name: dict(t.values()) for t in part.utility},
            {t.condition.name: t.values(variant) for t in part.similarity},
            caveats,
        )
    )


def format_results_txt(results: ResultsTxt) -> str:
    """Format the text, digit for digit the challenge's."""
    lines: list[str] = []
    for name, block in results.verification.items():
        lines.append(name)
        lines += [f"  {line}" for line in format_metrics(block.metrics, block.tag, block.caveats)]
    for name, recognized in results.recognition.items():
        lines += [name, *(f"  {format_wer_line(line)}" for line in recognized)]
        lines += [f"  {CAVEAT}{reason}" for reason in results.caveats.get(name, {}).values()]
    for name, values in results.utility.items():
        if values.keys() >= set(PITCH_KEYS[:2]):
            of = (f"{k.rpartition('_')[2]}={values[k]:.4f}" for k in PITCH_KEYS if k in values)
            lines.append(f"{name}  Pitch_correlation: {' '.join(of)}")
    for name in dict.fromkeys((*results.similarity, *results.utility)):
        values = {**results.similarity.get(name, {}), **results.utility.get(name, {})}
        printed = [f"  {line}" for k in SET_KINDS for line in format_metrics(values, kind=k)]
        lines += [name, *printed] if printed else []
    return "".join(f"{line}\n" for line in lines)


def recognition_records(
    lines: Iterable[WerLine],
    protocol: Protocol,
    condition: Condition,
    provenance: Mapping[str, Any],
    *,
    interval: tuple[float, ...] = (),
    speakers: SpeakerErrors | None = None,
    groups: Mapping[str, Mapping[str, GroupRate]] = MappingProxyType({}),
) -> list[Record]:
    """Make records of the `%WER` lines of one `ASR-*` folder, of which a single one may have what
    its transcripts tell: an interval, the counts that it is drawn from, and groups of speakers."""
    recognition, of_groups = protocol.recognition, list[dict[str, Any]]()
    for column, name, of in ((c, n, of) for c, named in groups.items() for n, of in named.items()):
        counts = {"n_speakers": of.n_speakers, "n_words": of.count}
        place = {"group_by": column, "group": name}
        of_groups.append(measured("wer", of.rate, of.interval or None, **place, **counts))
    records = []
    for line in lines:
        *_, recognizer, decoding = "", *line.decode.split("/")
        models = (
            m for m, marker in recognition.language_models.items() if decoding.endswith(marker)
        )
        recognizers = (m for m, folder in recognition.models.items() if folder == recognizer)
        model = {"language_model": next(models, None), "asr_model": next(recognizers, None)}
        rows = [measured("wer", line.wer, interval or None), *of_groups]
        stored = tuple(map(without_blanks, rows))
        facts = {**facts_of_line(line), "speakers": speakers, **model}
        records.append(Record(condition, "recognition", stored, facts, provenance=provenance))
    return records
