"""Export the challenge's results.txt from records, and import it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from ..errors import PrivacyEvalError, located
from ..io.names import check_name
from ..io.results_txt import ResultsTxt, VerificationBlock, format_results_txt, parse_results_txt
from ..io.wer import WerLine
from ..metrics.utility import GroupRate, SpeakerErrors
from ..protocol.protocol import Protocol
from ..tree.conditions import (
    Condition,
    recognition_conditions,
    set_condition,
    trial_conditions,
)
from .measurements import Row, measured, rows_of_values, without_blanks
from .records import (
    Record,
    Results,
    facts_of_line,
    line_of,
)

T = TypeVar("T")


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


def _tagged(rows: Iterable[Row], tag: str | None) -> tuple[Row, ...]:
    """Return rows with the category of the individual disclosure."""
    of = {} if tag is None else {"zebra_individual": {"tag": tag}}
    return tuple({**row, **of.get(row["metric"], {})} for row in rows)


def import_results_txt(
    text: str,
    path: str,
    protocol: Protocol,
    *,
    system: str,
    results_folder: str = "",
    anon_suffix: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Results:
    """Import a results.txt that the challenge's scripts wrote.

    Its numbers are the `challenge` variant. Their digits are kept: exporting gives
    the same text again.

    Parameters
    ----------
    results_folder : str
        Suffix of the protocol's results folder that the file belongs to.

    Raises
    ------
    PrivacyEvalError
        A line of unknown form; a condition or set that is not of the protocol; a value out of
        its range, or that contradicts another.
    """
    check_name(system, path)
    parsed = parse_results_txt(text, path)
    folder = next((f for f in protocol.results_folders if f.suffix == results_folder), None)
    if folder is None:
        suffixes = ", ".join(repr(f.suffix) for f in protocol.results_folders)
        raise PrivacyEvalError(
            f"{protocol.name}: no results folder with suffix {results_folder!r} (it has {suffixes})"
        )
    suffix = protocol.anon_suffix if anon_suffix is None else anon_suffix
    origin = dict(provenance or {})
    verified = trial_conditions(protocol, folder, suffix, system)
    decoded = recognition_conditions(protocol, folder, suffix, system)
    sets = {t.trials_name: set_condition(t, folder, system) for t in protocol.trial_sets()}

    def find(name: str, conditions: Mapping[str, T]) -> T:
        if name not in conditions:
            raise PrivacyEvalError(
                f"{path}: {name} matches no condition or set of protocol {protocol.name} (check "
                f"--conf, and --anon-suffix if it is not {protocol.anon_suffix})"
            )
        return conditions[name]

    results = Results(
        protocol,
        tuple(
            Record(
                find(name, verified),
                "verification",
                _tagged(rows_of_values(block.metrics, variant="challenge"), block.tag),
                provenance=origin,
            )
            for name, block in parsed.verification.items()
        ),
        tuple(
            record
            for name, lines in parsed.recognition.items()
            for record in recognition_records(lines, protocol, find(name, decoded), origin)
        ),
        tuple(
            Record(
                replace(find(s, sets), asv_model=""),
                "utility",
                rows_of_values(v),
                provenance=origin,
            )
            for s, v in parsed.utility.items()
        ),
        tuple(
            Record(
                find(s, sets),
                "similarity",
                rows_of_values(v, variant="challenge"),
                provenance=origin,
            )
            for s, v in parsed.similarity.items()
        ),
    )
    with located(path):
        results.check()
    return results


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
