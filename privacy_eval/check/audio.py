"""Audit the audio of a tree's anonymized sets: a row per utterance, findings per system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..errors import PrivacyEvalError, abbreviate
from ..io.csv_text import csv_text
from ..products.freshness import Progress
from ..results.records import AudioRecord
from ..speech.audit import CLIPPED, LENGTH, RAW, TAGS, AudioFolders, AuditedUtterance, audit_audio
from ..stages.access import AsvSystems
from ..tree.conditions import AudioCondition
from ..version import __version__
from .findings import ERROR, READY, Finding, failure

RAW_SPEECH = "original speech in anonymized audio: not to be ranked"
AUDIO = "anonymized audio"
_COLUMNS = (
    *("system", "set", "utterance", "file", "problems", "seconds", "length_ratio", "clipped"),
    *("raw_seconds", "raw_share", "raw_delay", "correlation"),
)
#: Problems that speech may have for good reasons.
_WARNINGS = (CLIPPED, LENGTH, TAGS)


@dataclass(frozen=True)
class AudioAudit:
    """Findings of an audit, all utterances by system and anonymized set, and records of sets whose
    system is known."""

    findings: tuple[Finding, ...]
    utterances: tuple[tuple[str, str, AuditedUtterance], ...]
    records: tuple[AudioRecord, ...] = ()

    def table(self) -> str:
        """Return a CSV with a row per utterance."""
        rows: list[tuple[object, ...]] = [_COLUMNS]
        for system, name, one in self.utterances:
            raw = one.raw
            problems = "; ".join(f"{p} ({d})" if d else p for p, d in one.problems.items())
            found = () if raw is None else (raw.seconds, raw.share, raw.delay, raw.correlation)
            numbers = (one.seconds, one.length_ratio, one.clipped, *found)
            cells = [None if x is None else round(x, 5) for x in numbers]
            cells += [None] * (7 - len(cells))
            rows.append((system, name, one.utterance, one.file, problems, *cells))
        return csv_text(rows)


def audit_tree(
    asv: AsvSystems,
    owners: Mapping[str, str],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> AudioAudit:
    """Audit the anonymized enrollment and trial sets whose audio is in the tree.

    Parameters
    ----------
    asv : AsvSystems
    owners : mapping
        Anonymization suffixes to the system that uses each, or "".
    jobs : int
        Processes.

    Returns
    -------
    AudioAudit
    """
    findings: list[Finding] = []
    utterances: list[tuple[str, str, AuditedUtterance]] = []
    records: list[AudioRecord] = []
    folders = list(_folders(asv, owners))
    for number, (team, pair) in enumerate(folders, 1):
        name = pair.anonymized.name
        try:
            audited = list(audit_audio(pair, jobs=jobs))
        except PrivacyEvalError as error:
            findings.append(failure(AUDIO, error, team=team, file=pair.anonymized / "wav.scp"))
            continue
        findings += _findings(team, pair, audited)
        utterances += ((team, name, one) for one in audited)
        if team and audited:
            part = asv.protocol.results_folders[0]
            records.append(_record(AudioCondition(team, part.suffix, name), pair, audited))
        if progress is not None:
            progress(number, len(folders), name)
    if not folders:
        text = "no anonymized set with a wav.scp beside that of its original set: nothing audited"
        findings.append(Finding(AUDIO, text))
    return AudioAudit(tuple(findings), tuple(utterances), tuple(records))


def _record(
    condition: AudioCondition, pair: AudioFolders, audited: list[AuditedUtterance]
) -> AudioRecord:
    """Summarize the audit of a set."""
    counts = Counter(problem for one in audited for problem in one.problems)
    raw = [one for one in audited if RAW in one.problems]
    return AudioRecord(
        condition,
        pair.original.name,
        len(audited),
        tuple(one.utterance for one in raw),
        sum(one.raw.seconds for one in raw if one.raw is not None),
        dict(sorted(counts.items())),
        {"version": __version__},
    )


def _folders(asv: AsvSystems, owners: Mapping[str, str]) -> Iterator[tuple[str, AudioFolders]]:
    """Yield data folders with audio; a set that is part of another one with audio is left out."""
    access, protocol = asv.access, asv.protocol
    trial_sets = list(protocol.trial_sets())
    names = [n for t in trial_sets for n in (t.enrollment_name, t.trials_name)]
    for suffix, team in owners.items():
        chosen: dict[str, AudioFolders] = {}
        for name in names:
            for one in (*reversed(protocol.supersets(name)), name):
                original, copy = (access.tree / "data" / f"{one}{s}" for s in ("", suffix))
                if suffix and all((f / "wav.scp").is_file() for f in (original, copy)):
                    chosen[one] = AudioFolders(original, copy, access.tree, access.allow_outside)
                    break
        yield from ((team, pair) for pair in chosen.values())


def _findings(team: str, pair: AudioFolders, audited: list[AuditedUtterance]) -> Iterator[Finding]:
    by_problem: dict[str, list[AuditedUtterance]] = {}
    for one in audited:
        for problem in one.problems:
            by_problem.setdefault(problem, []).append(one)
    for problem, concerned in by_problem.items():
        names = [f"{one.utterance} {one.problems[problem]}".strip() for one in concerned]
        yield Finding(
            RAW_SPEECH if problem == RAW else f"{AUDIO}: {problem}",
            f"{pair.anonymized.name} ({len(concerned)} of {len(audited)}: {abbreviate(names)})",
            team,
            READY if problem in _WARNINGS else ERROR,
            pair.anonymized / "wav.scp",
            detail="; ".join(names),
        )
