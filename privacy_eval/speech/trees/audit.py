"""Audit the audio of a tree's anonymized sets: a row per utterance, findings per system."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...cli.options import progress
from ...errors import PrivacyEvalError, abbreviate
from ...io.csv_text import csv_text
from ...io.files import write_text
from ...stages.access import Experiment, SystemUnderTest, owners_of
from ..audio import CHANNELS, AudioFolders
from ..audit import CLIPPED, LENGTH, RAW, TAGS, AuditedUtterance, audit_audio
from .measures import audio_folders, write_audits

RAW_SPEECH = "original speech in anonymized audio: not to be ranked"
AUDIO = "anonymized audio"
_COLUMNS = (
    *("system", "set", "utterance", "file", "problems", "seconds", "length_ratio", "clipped"),
    *("raw_seconds", "raw_share", "raw_delay", "correlation"),
)
#: Problems that speech may have for good reasons.
_WARNINGS = (CLIPPED, LENGTH, CHANNELS, TAGS)


#: System, folders and utterances of a set that was audited.
_Audited = tuple[str, AudioFolders, tuple[AuditedUtterance, ...]]


def audit(
    arguments: argparse.Namespace, experiment: Experiment, new: SystemUnderTest
) -> list[dict[str, Any]]:
    """Audit the anonymized enrollment and trial sets whose audio is in the tree: write a table and
    the records of systems, and return the problems, each with those of `problem`, `item`, `team`,
    `status`, `file`, `detail` and `error` that it has.

    `new`: the system of a tree without results.
    """
    systems, asv, show = experiment.systems, experiment.asv, progress()
    pairs = [(s.anon_suffix, s.name) for s in systems] or [(new.anon_suffix, new.name)]
    problems, sets = list[dict[str, Any]](), list[_Audited]()
    folders = list(audio_folders(asv, owners_of(pairs)))
    for number, (team, pair) in enumerate(folders, 1):
        place = {"team": team, "file": pair.anonymized / "wav.scp"}
        try:
            audited = tuple(audit_audio(pair, jobs=arguments.nj))
        except PrivacyEvalError as error:
            problems.append({"problem": AUDIO, "error": error, **place})
            continue
        problems += ({**one, **place} for one in _problems(pair.anonymized.name, audited))
        sets.append((team, pair, audited))
        if show is not None:
            show(number, len(folders), pair.anonymized.name)
    if not folders:
        text = "no anonymized set with a wav.scp beside that of its original set: nothing audited"
        problems.append({"problem": AUDIO, "item": text})
    if arguments.audio_table is not None:
        write_text(arguments.audio_table, _table(sets))
    if systems:
        known = [(team, pair, audited) for team, pair, audited in sets if team and audited]
        write_audits(asv, experiment.out, [system.name for system in systems], known)
    return problems


def _table(sets: Iterable[_Audited]) -> str:
    """Return a CSV with a row per utterance."""
    rows: list[tuple[object, ...]] = [_COLUMNS]
    for team, pair, one in ((team, pair, one) for team, pair, audited in sets for one in audited):
        raw = one.raw
        problems = "; ".join(f"{p} ({d})" if d else p for p, d in one.problems.items())
        of_raw = () if raw is None else (raw.seconds, raw.share, raw.delay, raw.correlation)
        numbers = (one.seconds, one.length_ratio, one.clipped, *of_raw)
        cells = [None if x is None else round(x, 5) for x in numbers]
        cells += [None] * (7 - len(cells))
        rows.append((team, pair.anonymized.name, one.utterance, one.file, problems, *cells))
    return csv_text(rows)


def _problems(name: str, audited: Sequence[AuditedUtterance]) -> Iterator[dict[str, Any]]:
    """Yield the problems of a set's utterances."""
    for problem in dict.fromkeys(problem for one in audited for problem in one.problems):
        concerned = [one for one in audited if problem in one.problems]
        names = [f"{one.utterance} {one.problems[problem]}".strip() for one in concerned]
        item = f"{name} ({len(concerned)} of {len(audited)}: {abbreviate(names)})"
        what = RAW_SPEECH if problem == RAW else f"{AUDIO}: {problem}"
        status = "ready" if problem in _WARNINGS else "error"
        yield {"problem": what, "item": item, "status": status, "detail": "; ".join(names)}
