"""The challenge's results.txt from records, and records from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from ..errors import PrivacyEvalError, abbreviate
from ..io.results_txt import (
    RecognitionBlock,
    ResultsTxt,
    TrialSetBlock,
    VerificationBlock,
    format_results_txt,
    parse_results_txt,
)
from ..io.schema import to_plain
from ..io.wer import WerLine
from ..protocol.protocol import Protocol
from ..tree.conditions import condition_meaning, recognition_meaning
from .records import (
    PitchRecord,
    RecognitionRecord,
    Results,
    SimilarityRecord,
    VerificationRecord,
)


def to_results_txt(results: Results, system: str, results_folder: str) -> str:
    """The challenge's results.txt of one results folder of a system."""
    part = results.of(system, results_folder)
    variant = results.protocol.variant
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
        raise PrivacyEvalError(f"{path}: no system {system!r} in it, only {abbreviate(owners)}")
    owner, kept = "", []
    for line in lines:
        if line.startswith("# "):
            owner, line = line[2:].strip(), ""
        kept.append(line if owner == system else "")
    return "\n".join(kept) + "\n"


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
    folder = next((f for f in protocol.results_folders if f.suffix == results_folder), None)
    if folder is None:
        suffixes = ", ".join(repr(f.suffix) for f in protocol.results_folders)
        raise PrivacyEvalError(
            f"{protocol.name}: no results folder with suffix {results_folder!r} (it has {suffixes})"
        )
    suffix = protocol.anon_suffix if anon_suffix is None else anon_suffix
    origin = dict(provenance or {})
    verification = []
    for block in parsed.verification:
        meaning = condition_meaning(protocol, block.name, suffix)
        if meaning is None:
            raise _unknown(path, block.name, protocol)
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
                attack_model=protocol.attack_model(
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
        place = recognition_meaning(protocol, decoded.name, suffix)
        if place is None:
            raise _unknown(path, decoded.name, protocol)
        recognition += recognition_records(
            decoded.lines, protocol, system, results_folder, decoded.name, place, origin
        )
    trial_sets = {t.trials_name: t for t in protocol.trial_sets()}

    def place_of(block: TrialSetBlock) -> dict[str, Any]:
        if block.name not in trial_sets:
            raise _unknown(path, block.name, protocol)
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
        protocol,
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
    protocol: Protocol,
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
            language_model=_language_model(protocol, line.decode),
            asr_model=_asr_model(protocol, line.decode),
            **to_plain(line),
            provenance=provenance,
        )
        for line in lines
    ]


def _language_model(protocol: Protocol, decode: str) -> str | None:
    folder = decode.rsplit("/", 1)[-1]
    for name, marker in protocol.recognition.language_models.items():
        if folder.endswith(marker):
            return name
    return None


def _asr_model(protocol: Protocol, decode: str) -> str | None:
    above = decode.split("/")[-2:-1]
    for name, folder in protocol.recognition.models.items():
        if above == [folder]:
            return name
    return None


def _unknown(path: str, name: str, protocol: Protocol) -> PrivacyEvalError:
    return PrivacyEvalError(
        f"{path}: {name} is no condition or set of the plan {protocol.name} (another plan: --conf; "
        f"another suffix than {protocol.anon_suffix}: --anon-suffix)"
    )
