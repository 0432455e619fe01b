"""Stage 6, and stage 0 on request: what an audit of the audio of anonymized sets found.

A record holds until the audio changes: a system in whose audio original speech was found is not
ranked before another audit finds none. Results accept it until a `wav.scp` changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, counted
from ..io.files import Inputs, digest, file_names
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    Outcome,
    Product,
    Run,
    Sources,
    bring_up_to_date,
)
from ..results.record_files import record_product, record_text
from ..tree.conditions import AudioCondition
from ..version import __version__
from .access import AsvSystems, Experiment
from .asv_scores import vector_folders
from .vector_sources import VECTORS_NOTE

if TYPE_CHECKING:
    from ..results.records import AudioRecord
    from ..speech.audio import AudioFolders
    from ..speech.audit import AuditedUtterance

_PREFIX = "audio-"
#: Incremented when the same audio yields another record.
_REVISION = 2


def audio_folders(asv: AsvSystems, owners: Mapping[str, str]) -> Iterator[tuple[str, AudioFolders]]:
    """Yield data folders of anonymized enrollment and trial sets whose audio is in the tree, with
    their system; a set that is part of another one with audio is left out.

    `owners`: anonymization suffixes to the system that uses each, or "".
    """
    from ..speech.audio import AudioFolders

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


def owners_of(systems: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return anonymization suffixes to the system that alone uses each, or "", from pairs of
    suffix and system."""
    pairs = list(systems)
    suffixes = [suffix for suffix, _ in pairs]
    return {suffix: name if suffixes.count(suffix) == 1 else "" for suffix, name in pairs}


def make_audits(experiment: Experiment, run: Run, *, every: bool) -> Outcome:
    """Audit anonymized audio that is not audited as it is now: of `every` system, or else of those
    whose x-vectors were extracted from it here."""
    asv = experiment.asv
    owners = owners_of((system.anon_suffix, system.name) for system in experiment.systems)
    chosen = set(owners) if every else _extracted(asv)
    owners = {suffix: name for suffix, name in owners.items() if name and suffix in chosen}
    products = []
    for system, pair in audio_folders(asv, owners):
        condition = _condition(asv, system, pair)
        folder = experiment.records_of(system)
        products.append(_Audit(asv, folder, condition, pair.original.name, pair).product())
    return bring_up_to_date(products, asv.access.inputs, run)


def write_audits(
    asv: AsvSystems,
    out: Path,
    systems: Iterable[str],
    audited: Iterable[tuple[str, AudioFolders, Sequence[AuditedUtterance]]],
) -> None:
    """Write the records of sets that were audited: system, folders and utterances of each.

    Parameters
    ----------
    systems : iterable of str
        All systems of the results, after which folders are named.
    """
    names = file_names(systems)
    for system, pair, utterances in audited:
        condition = _condition(asv, system, pair)
        folder = out / "records" / names[system]
        one = _Audit(asv, folder, condition, pair.original.name, pair, tuple(utterances))
        product = one.product()
        if not one.path.is_file() or one.path.read_bytes() != record_text(one.record(utterances)):
            product.note.unlink(missing_ok=True)  # whatever told that the audio is the same
        bring_up_to_date([product], asv.access.inputs).raise_failed()


def audit_products(experiment: Experiment) -> list[Product]:
    """The records that were made, of all systems; options aside, they are current."""
    suffix = experiment.asv.protocol.results_folders[0].suffix
    products = []
    for system in experiment.names:
        folder = experiment.records_of(system)
        for note in sorted(folder.glob(f".{_PREFIX}*{NOTE}")):
            stored = Fingerprint.read(note)
            if stored is not None:
                audited, original = (str(stored.subject.get(key)) for key in ("name", "original"))
                condition = AudioCondition(system, suffix, audited)
                products.append(_Audit(experiment.asv, folder, condition, original).product())
    return products


def _extracted(asv: AsvSystems) -> set[str]:
    """Return the anonymization suffixes of sets whose x-vectors were extracted here."""
    made = [f.name for f in vector_folders(asv) if Fingerprint.read(f / VECTORS_NOTE) is not None]
    return {suffix for suffix in asv.suffixes if any(name.endswith(suffix) for name in made)}


def _condition(asv: AsvSystems, system: str, pair: AudioFolders) -> AudioCondition:
    suffix = asv.protocol.results_folders[0].suffix
    return AudioCondition(system, suffix, pair.anonymized.name)


@dataclass(frozen=True)
class _Audit:
    """The record of an anonymized set.

    Attributes
    ----------
    pair : AudioFolders or None
        None: as it was made.
    audited : tuple of AuditedUtterance or None
        What an audit found just now.
    """

    asv: AsvSystems
    folder: Path
    condition: AudioCondition
    original: str
    pair: AudioFolders | None = None
    audited: tuple[AuditedUtterance, ...] | None = None

    @property
    def path(self) -> Path:
        (stem,) = file_names([self.condition.name]).values()
        return self.folder / f"{_PREFIX}{stem}.json"

    def product(self) -> Product:
        return record_product(
            self,
            self.asv.access.tree,
            f"{self.condition.system} {self.condition.name}",
            {"original": self.original},
            # Of sizes, times and inodes: reading the files takes as long as half of the audit.
            options={"files": digest(json.dumps(_files(self.pair)).encode())},
            revision=_REVISION,
            cost=self.cost,
            optional=True,
        )

    def cost(self) -> float:
        """Estimate the run time by the size of the files."""
        return 1.0 + sum(size for size, *_ in _files(self.pair).values())

    def find(self, _: Inputs) -> Sources:
        data = self.asv.access.tree / "data"
        names = {"anonymized": self.condition.name, "original": self.original}
        return {role: data / name / "wav.scp" for role, name in names.items()}

    def make(self, *_: object) -> Content:
        from ..speech.audit import RAW, audit_audio

        if self.pair is None:
            raise PrivacyEvalError(f"{self.path}: audit the audio again (check --audio)")
        audited = list(audit_audio(self.pair)) if self.audited is None else self.audited
        record = self.record(audited)
        problems = {RAW: len(record.raw)} | dict(record.problems)
        text = ", ".join(f"{name} ({n})" for name, n in problems.items() if n)
        remark = f"{record.condition.name}: of {counted(len(audited), 'utterance')}: {text}"
        return Content({self.path: record_text(record)}, remarks=(remark,) if text else ())

    def record(self, audited: Sequence[AuditedUtterance]) -> AudioRecord:
        """Summarize what an audit found."""
        from ..results.records import AudioRecord
        from ..speech.audit import RAW

        counts = Counter(problem for one in audited for problem in one.problems)
        raw = [one for one in audited if RAW in one.problems]
        return AudioRecord(
            self.condition,
            self.original,
            len(audited),
            tuple(one.utterance for one in raw),
            sum(one.raw.seconds for one in raw if one.raw is not None),
            dict(sorted(counts.items())),
            {"version": __version__},
        )


def _files(pair: AudioFolders | None) -> dict[str, tuple[int, ...]]:
    """Return size, times and inode of the files of both folders; nothing of folders that cannot be
    read, which an audit reports. A copy may keep its time of change, never that of its inode."""
    try:
        readers = () if pair is None else pair.readers()
    except PrivacyEvalError:
        return {}
    paths = sorted({path for reader in readers for path in reader.files(reader.ids).values()})
    status = {str(path): path.stat() for path in paths if path.is_file()}
    return {n: (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for n, s in status.items()}
