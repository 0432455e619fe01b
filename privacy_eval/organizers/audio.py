"""Audit the audio of a tree's anonymized sets: a row per utterance, findings per system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import PrivacyEvalError, abbreviate
from ..io.csv_text import csv_text
from ..products.freshness import Progress
from ..speech.audio import CHANNELS, AudioFolders
from ..speech.audit import CLIPPED, LENGTH, RAW, TAGS, AuditedUtterance, audit_audio
from ..stages.access import AsvSystems
from ..stages.measures import audio_folders
from .findings import ERROR, READY, Finding, failure

RAW_SPEECH = "original speech in anonymized audio: not to be ranked"
AUDIO = "anonymized audio"
_COLUMNS = (
    *("system", "set", "utterance", "file", "problems", "seconds", "length_ratio", "clipped"),
    *("raw_seconds", "raw_share", "raw_delay", "correlation"),
)
#: Problems that speech may have for good reasons.
_WARNINGS = (CLIPPED, LENGTH, CHANNELS, TAGS)


@dataclass(frozen=True)
class AudioAudit:
    """Findings of an audit, and all utterances by system and folders."""

    findings: tuple[Finding, ...]
    sets: tuple[tuple[str, AudioFolders, tuple[AuditedUtterance, ...]], ...]

    def table(self) -> str:
        """Return a CSV with a row per utterance."""
        rows: list[tuple[object, ...]] = [_COLUMNS]
        found = ((team, pair, one) for team, pair, audited in self.sets for one in audited)
        for team, pair, one in found:
            raw = one.raw
            problems = "; ".join(f"{p} ({d})" if d else p for p, d in one.problems.items())
            of_raw = () if raw is None else (raw.seconds, raw.share, raw.delay, raw.correlation)
            numbers = (one.seconds, one.length_ratio, one.clipped, *of_raw)
            cells = [None if x is None else round(x, 5) for x in numbers]
            cells += [None] * (7 - len(cells))
            name = pair.anonymized.name
            rows.append((team, name, one.utterance, one.file, problems, *cells))
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
    sets: list[tuple[str, AudioFolders, tuple[AuditedUtterance, ...]]] = []
    folders = list(audio_folders(asv, owners))
    for number, (team, pair) in enumerate(folders, 1):
        name = pair.anonymized.name
        try:
            audited = tuple(audit_audio(pair, jobs=jobs))
        except PrivacyEvalError as error:
            findings.append(failure(AUDIO, error, team=team, file=pair.anonymized / "wav.scp"))
            continue
        findings += _findings(team, pair, audited)
        sets.append((team, pair, audited))
        if progress is not None:
            progress(number, len(folders), name)
    if not folders:
        text = "no anonymized set with a wav.scp beside that of its original set: nothing audited"
        findings.append(Finding(AUDIO, text))
    return AudioAudit(tuple(findings), tuple(sets))


def _findings(
    team: str, pair: AudioFolders, audited: Sequence[AuditedUtterance]
) -> Iterator[Finding]:
    for problem in dict.fromkeys(problem for one in audited for problem in one.problems):
        concerned = [one for one in audited if problem in one.problems]
        names = [f"{one.utterance} {one.problems[problem]}".strip() for one in concerned]
        item = f"{pair.anonymized.name} ({len(concerned)} of {len(audited)}: {abbreviate(names)})"
        what = RAW_SPEECH if problem == RAW else f"{AUDIO}: {problem}"
        status, file = READY if problem in _WARNINGS else ERROR, pair.anonymized / "wav.scp"
        yield Finding(what, item, team, status, file, detail="; ".join(names))
