"""Stage 6: measures of the speech of trial sets: predicted quality, phone errors, files of other
tools; and, in stage 0 on request, what an audit of the audio of anonymized sets found.

What a network says of the utterances of a speaker is one product below `<out>/measures/`, so that a
killed run resumes; a trial set has a record of each measure, which is made of these.

The record of an audit holds until the audio changes: a system in whose audio original speech was
found is not ranked before another audit finds none. Results accept it until a `wav.scp` changes.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...choices import grouped
from ...errors import PrivacyEvalError, abbreviate, counted, located
from ...io.data_dir import read_utt2spk
from ...io.files import Inputs, digest, file_names
from ...io.schema import SPARSE, from_plain, load_json, to_plain
from ...products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Sources,
    bring_up_to_date,
)
from ...protocol.protocol import ANONYMIZED, MEASURED, ORIGINAL, Measure, Protocol, TrialSet
from ...results.record_files import record_text
from ...stages.access import VECTORS_NOTE, AsvSystems, Experiment, TreeAccess, owners_of
from ...stages.asv_scores import vector_folders
from ...stages.options import MeasureOptions
from ...stages.records import Recorded, note_of
from ...tree.conditions import Condition
from .recordings import audio_reader

if TYPE_CHECKING:
    from ...metrics.registry import MetricDescription
    from ...results.records import Record
    from ..audio import Audio, AudioFolders, AudioReader
    from ..audit import AuditedUtterance
    from ..utility import PhoneRecognizer

#: Sources of measures that networks compute here.
QUALITY, PHONES, PHONES_TEXT = MEASURED
_NETWORKS: Mapping[str, str] = {QUALITY: "dnsmos", PHONES: "phones"}
#: Kinds of `MissingInput`.
SPEECH, TRANSCRIPTS, FILES = "speech", "transcripts", "files of measures"
UNMEASURED = "measures of all speakers"
#: Incremented when the same speech yields other measures.
_REVISIONS = {QUALITY: 2, PHONES: 1}
#: Incremented when the same measures yield another record.
_RECORD_REVISION = 2
#: Incremented when the same audio yields another record.
_AUDIT_REVISION = 2

_PREFIX = "audio-"


@dataclass(frozen=True)
class UtteranceMeasures:
    """What a network says of the utterances of a speaker.

    Attributes
    ----------
    quality : mapping
        Opinion scores by utterance.
    phones : mapping
        Recognized phones by utterance, separated by blanks.
    left_out : int
        Utterances that were left out on request.
    """

    quality: Annotated[Mapping[str, Mapping[str, float]], SPARSE] = field(default_factory=dict)
    phones: Annotated[Mapping[str, str], SPARSE] = field(default_factory=dict)
    left_out: int = 0


def _networks(options: MeasureOptions) -> list[str]:
    """The networks that run."""
    return [name for name in (QUALITY, PHONES) if vars(options)[name]]


def _sources(options: MeasureOptions) -> list[str]:
    """The sources of the measures that networks give."""
    by_text = PHONES_TEXT if options.phone_reference == "text" else PHONES
    return [by_text if name == PHONES else name for name in _networks(options)]


def make_measures(experiment: Experiment, options: MeasureOptions, run: Run = Run()) -> Outcome:
    """Compute the measures of the trial sets of systems that are not current.

    Speech is measured in the jobs of the `run`; the records are made when all jobs are done.
    """
    access = experiment.asv.access
    outcome = Outcome()
    speech = list(_speech_products(experiment, options, outcome.failed))
    measured = access.bring_up_to_date(speech, run)
    outcome.failed |= measured.failed
    outcome.left_out |= measured.left_out
    outcome.notes += measured.notes if run.job == (1, 1) else ()
    if run.job == (1, 1):
        records = plan_measures(experiment, options)
        outcome.add(bring_up_to_date(records, access.inputs, Run(dry_run=run.dry_run)))
        if measured.failed or measured.missing:  # that says why there is no record
            missing = outcome.missing.items()
            outcome.missing = {n: error for n, error in missing if error.kind != UNMEASURED}
            outcome.missing |= measured.missing
    else:
        outcome.add(measured)
    return outcome


# Speech


def _speech(
    access: TreeAccess,
    options: MeasureOptions,
    network: str,
    reader: AudioReader,
    spoken: tuple[str, Sequence[str]],
    path: Path,
) -> Product:
    """Return what a network says of a speaker and the utterances in a data folder."""
    from ..models import MODELS

    speaker, utterances = spoken

    def find(inputs: Inputs) -> Sources:
        return reader.existing_files(utterances)

    def make(inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        measure, values, refused = _network(network, options.cache), dict[str, Any](), []
        reader.remarks.clear()
        for name in utterances:
            try:
                audio = reader.read(name)
                with located(reader.where(name)):
                    values[name] = measure(audio)
            except PrivacyEvalError:
                if not access.allow_missing:
                    raise
                refused.append(name)
        measures = UtteranceMeasures(**{network: values}, left_out=len(refused))
        left_out = f"left out: {abbreviate(refused)}" if refused else ""
        return Content({path: record_text(measures)}, left_out, reader.notes())

    return Product(
        f"{network} of {reader.data.name}, speaker {speaker}",
        access.tree,
        note_of(path),
        (path,),
        find,
        make,
        subject={"network": network, "model": [*MODELS[_NETWORKS[network]].files.values()]},
        options={"targets": {name: reader.target(name) for name in utterances}},
        revision=_REVISIONS[network],
        optional=True,
        cost=lambda: 1.0 + reader.size(utterances),
    )


@functools.cache
def _network(name: str, cache: Path | None) -> Callable[[Audio], object]:
    """Load a network, once per process."""
    if name == QUALITY:
        from ..utility import load_dnsmos

        return load_dnsmos(cache)
    recognizer = _phone_recognizer()
    return lambda audio: " ".join(recognizer.recognize(audio))


@functools.cache
def _phone_recognizer() -> PhoneRecognizer:
    from ..utility import load_phone_recognizer

    return load_phone_recognizer()


def _speakers(access: TreeAccess, folder: str) -> dict[str, list[str]]:
    """Return the utterances of a data folder by speaker."""
    path = access.tree / "data" / folder / "utt2spk"
    speaker_of = read_utt2spk(access.existing(SPEECH, path, folder))
    return grouped(speaker_of, speaker_of.__getitem__)


def _speech_path(out: Path, network: str, folder: str, file_name: str) -> Path:
    return out / "measures" / network / folder / f"{file_name}.json"


def _speech_products(
    experiment: Experiment, options: MeasureOptions, failed: dict[str, str]
) -> Iterator[Product]:
    """Yield what networks say of every speaker of the trial sets; `failed` gets the data folders
    with speech that cannot be read, and why."""
    access, protocol = experiment.asv.access, experiment.asv.protocol
    conditions = (
        condition
        for system in experiment.systems
        if _networks(options) and system.name in experiment.under_test
        for condition, _ in measure_conditions(protocol, system.anon_suffix, system.name)
    )
    for folder in dict.fromkeys(condition.name for condition in conditions):
        data = access.tree / "data" / folder
        if not all((data / name).is_file() for name in ("wav.scp", "utt2spk")):
            continue  # the record says so
        try:
            reader, speakers = audio_reader(access, data, mix=True), _speakers(access, folder)
        except PrivacyEvalError as error:
            failed[folder] = str(error)
            continue
        ids = set(reader.ids)
        names = file_names(speakers)
        for network in _networks(options):
            for speaker, utterances in speakers.items():
                path = _speech_path(experiment.out, network, folder, names[speaker])
                spoken = speaker, [u for u in utterances if u in ids]
                yield _speech(access, options, network, reader, spoken, path)


# Records


@dataclass(frozen=True)
class _SetRecord(Recorded):
    """The record of a measure of a trial set; `out`: folder of what networks say."""

    condition: Condition
    options: MeasureOptions
    out: Path
    original: str
    source: str
    measure: Measure | None = None

    @property
    def access(self) -> TreeAccess:
        return self.asv.access

    @property
    def attributes(self) -> dict[str, Any]:
        options = self.options
        measure = {"measure": to_plain(self.measure)} if self.measure else {}
        return {
            "name": f"{self.condition.system}: {self.source} of {self.condition.name}",
            "subject": {"source": self.source, **measure},
            "options": {"bootstrap": options.bootstrap, "seed": options.bootstrap and options.seed},
            "revision": _RECORD_REVISION,
        }

    @cached_property
    def speakers_folder(self) -> str:
        """The data folder that names the speakers; of anonymized speech without one, that of the
        original speech."""
        data, names = self.access.tree / "data", (self.condition.name, self.original)
        there = (name for name in names if (data / name / "utt2spk").is_file())
        return next(there, names[0])

    @cached_property
    def speaker_of(self) -> dict[str, str]:
        """Speakers of the utterances."""
        by_speaker = _speakers(self.access, self.speakers_folder)
        return {u: speaker for speaker, of in by_speaker.items() for u in of}

    def find(self, inputs: Inputs) -> Sources:
        tree, name = self.access.tree, self.condition.name
        if self.measure is not None:
            path = tree / self.measure.file.format(set=name, system=self.condition.system)
            utt2spk = tree / "data" / self.speakers_folder / "utt2spk"
            return {
                "measure": self.access.existing(FILES, path, name),
                "utt2spk": self.access.existing("speakers", utt2spk, name),
            }
        sources = dict(self._speech(name))
        if self.source == PHONES_TEXT:
            text = tree / "data" / self.original / "text"
            sources["text"] = self.access.existing(TRANSCRIPTS, text, name)
        elif self.source == PHONES:
            sources |= self._speech(self.original, prefix="original ")
        return sources

    def _speech(self, folder: str, prefix: str = "") -> Iterator[tuple[str, Path]]:
        """Yield what the network said of the speakers of a data folder."""
        names = file_names(_speakers(self.access, folder))
        network = PHONES if self.source == PHONES_TEXT else self.source
        for speaker, file_name in names.items():
            path = _speech_path(self.out, network, folder, file_name)
            if not path.is_file():
                has_speech = (self.access.tree / "data" / folder / "wav.scp").is_file()
                kind = UNMEASURED if has_speech else SPEECH
                raise MissingInput(kind, f"data/{folder}/wav.scp", folder)
            yield f"{prefix}speaker {speaker}", path

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ...metrics.caveats import LEVEL

        counts: dict[str, int] | None = None
        left_out = 0
        if self.measure is not None:
            values, left_out = self._external(inputs, paths)
        else:
            measured = self._read(paths, "speaker ")
            left_out = measured.left_out
            if self.source == QUALITY:
                of = measured.quality
                names = {k: k if k == LEVEL else f"dnsmos_{k}" for k in next(iter(of.values()))}
                values = {name: {u: q[k] for u, q in of.items()} for k, name in names.items()}
            else:
                errors, counts = self._phone_errors(measured, inputs, paths)
                values = {"per" if self.source == PHONES_TEXT else "per_original": errors}
                left_out += len(measured.phones) - len(errors)
        record = self._record(values, counts, left_out, made_of)
        note = f"{left_out} utterances left out" if left_out else ""
        return Content({self.path: record_text(record)}, note)

    def _record(
        self,
        values: Mapping[str, Mapping[str, float]],
        counts: Mapping[str, int] | None,
        left_out: int,
        made_of: Fingerprint,
    ) -> Record:
        from ...io.user_metrics import check_descriptions
        from ...metrics.utility import SpeakerSums

        options, of_first = self.options, next(iter(values.values()))
        sums: dict[str, SpeakerSums] = {}
        drawn = {"replicates": options.bootstrap, "seed": options.seed}
        if options.bootstrap and len({self.speaker_of[u] for u in of_first}) > 1:
            of_speakers = self.speaker_of
            sums = {
                key: SpeakerSums.of(of, of_speakers, counts=counts, **drawn)
                for key, of in values.items()
            }
        intervals = {key: of.bootstrap().interval("rate") for key, of in sums.items()}
        bounds = {key: {"low": i.low, "high": i.high} for key, i in intervals.items()}
        total = sum(counts.values()) if counts is not None else len(of_first)
        if not total:
            raise PrivacyEvalError(f"{self.condition.name}: the references have no phones")
        facts = {
            "source": self.source,
            "n_utterances": len(of_first),
            "utterances_left_out": left_out,
            "speakers": sums or None,
        }
        means = {key: math.fsum(of.values()) / total for key, of in values.items()}
        kept = {} if self.measure is None else {self.measure.id: described(self.measure)}
        check_descriptions(kept, f"measures: {self.measure and self.measure.id}")
        rows = [{"metric": k, "value": v, **bounds.get(k, {})} for k, v in means.items()]
        return self.record_of("measures", rows, made_of, facts=facts, described=kept)

    def _read(self, paths: Paths, prefix: str) -> UtteranceMeasures:
        """Read what the network said of all speakers whose role begins with a prefix."""
        quality: dict[str, Mapping[str, float]] = {}
        phones: dict[str, str] = {}
        left_out = 0
        for role, path in paths.items():
            if role.startswith(prefix):
                one = from_plain(UtteranceMeasures, load_json(path), str(path))
                quality |= one.quality
                phones |= one.phones
                left_out += one.left_out
        if not (quality or phones):
            raise PrivacyEvalError(f"data/{self.condition.name}: no utterances")
        return UtteranceMeasures(quality, phones, left_out)

    def _phone_errors(
        self, measured: UtteranceMeasures, inputs: Inputs, paths: Paths
    ) -> tuple[dict[str, float], dict[str, int]]:
        """Count errors and phones of the reference by utterance."""
        from ...io.transcripts import read_transcripts
        from ..utility import phone_errors

        if self.source == PHONES_TEXT:
            pronounce = _phone_recognizer().pronounce
            texts = read_transcripts(inputs.load(paths["text"]))
            references = {u: pronounce(texts[u]) for u in measured.phones if u in texts}
        else:
            original = self._read(paths, "original ").phones
            references = {u: text.split() for u, text in original.items()}
        absent = [u for u in measured.phones if u not in references]
        if absent and not self.access.allow_missing:
            raise PrivacyEvalError(
                f"{self.condition.name}: no reference phones of {len(absent)} utterances: "
                f"{abbreviate(absent)}"
            )
        counted = {
            u: phone_errors(references[u], text.split())
            for u, text in measured.phones.items()
            if u in references
        }
        errors = {u: float(c.errors) for u, c in counted.items()}
        return errors, {u: c.words for u, c in counted.items()}

    def _external(self, inputs: Inputs, paths: Paths) -> tuple[dict[str, dict[str, float]], int]:
        """Read the values of another tool, of the utterances of the trial set."""
        from ...io.user_tables import read_measures

        assert self.measure is not None
        path, column = paths["measure"], self.measure.column
        columns = read_measures(inputs.load(path)).values
        if column not in columns and (column or len(columns) > 1):
            raise PrivacyEvalError(
                f"{path}: expected the column {column or 'that the protocol names'}, found "
                f"{abbreviate(list(columns))} (measures: {self.measure.id}: column)"
            )
        values = columns[column or next(iter(columns))]
        speakers = self.speaker_of
        missing = [u for u in speakers if u not in values]
        extra = [u for u in values if u not in speakers]
        if (missing or extra) and not self.access.allow_missing:
            what = "no value of" if missing else "values of unknown"
            raise PrivacyEvalError(
                f"{path}: {what} {len(missing or extra)} utterances of {self.condition.name}: "
                f"{abbreviate(missing or extra)}"
            )
        present = {u: value for u, value in values.items() if u in speakers}
        if not present:
            raise PrivacyEvalError(f"{path}: no utterance of {self.condition.name}")
        return {self.measure.id: present}, len(missing) + len(extra)


def described(measure: Measure) -> MetricDescription:
    """Describe another tool's measure for results files."""
    from ...metrics.registry import MetricDescription

    return MetricDescription(
        "measures",
        measure.unit,
        measure.title,
        measure.title,
        measure.meaning,
        measure.best,
        measure.range,
        decimals=measure.decimals,
        detail=measure.decimals,
    )


def plan_measures(
    experiment: Experiment, options: MeasureOptions | None = None
) -> Iterator[Product]:
    """Yield the records of the chosen sources, or, without options, those that are there: of
    networks, only of systems whose speech the tree has, and the phones of original speech only
    against transcripts."""
    protocol, made_with = experiment.asv.protocol, options or MeasureOptions()
    own: dict[str, Measure | None] = {measure.id: measure for measure in protocol.measures}
    for system in experiment.systems:
        folder = experiment.records_of(system.name)
        networks = _sources(made_with) if options else MEASURED
        sources = own | dict.fromkeys(networks if system.name in experiment.under_test else ())
        conditions = measure_conditions(protocol, system.anon_suffix, system.name)
        for (condition, trial_set), source in itertools.product(conditions, sources):
            if condition.trial == ORIGINAL and source == PHONES:
                continue  # they are the reference
            path = folder / f"measures-{source}-{condition.name}.json"
            if options or path.is_file():
                of = condition, path, experiment.asv, made_with, experiment.out
                yield _SetRecord(*of, trial_set.trials_name, source, sources[source]).product()


# Audits of audio


def audio_folders(asv: AsvSystems, owners: Mapping[str, str]) -> Iterator[tuple[str, AudioFolders]]:
    """Yield data folders of anonymized enrollment and trial sets whose audio is in the tree, with
    their system; a set that is part of another one with audio is left out.

    `owners`: anonymization suffixes to the system that uses each, or "".
    """
    from ..audio import AudioFolders

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


def plan_audits(experiment: Experiment, every: bool | None = None) -> Iterator[Product]:
    """Yield the audits of anonymized audio: of `every` system, or of those whose x-vectors were
    extracted from it here; None: the records that were made, of all systems."""
    asv = experiment.asv
    if every is None:
        for system in experiment.names:
            folder = experiment.records_of(system)
            for stored in map(Fingerprint.read, sorted(folder.glob(f".{_PREFIX}*{NOTE}"))):
                if stored is not None:  # options aside, it is current
                    names = (str(stored.subject.get(key)) for key in ("name", "original"))
                    yield _audit(asv, folder, system, *names).product()
        return
    owners = owners_of((system.anon_suffix, system.name) for system in experiment.systems)
    chosen = set(owners) if every else _extracted(asv)
    owners = {suffix: name for suffix, name in owners.items() if name and suffix in chosen}
    for system, pair in audio_folders(asv, owners):
        folder, original = experiment.records_of(system), pair.original.name
        yield _audit(asv, folder, system, pair.anonymized.name, original, pair).product()


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
        of = out / "records" / names[system], system, pair.anonymized.name, pair.original.name
        one = _audit(asv, *of, pair, tuple(utterances))
        product = one.product()
        if not one.path.is_file() or one.path.read_bytes() != record_text(one.record(utterances)):
            product.note.unlink(missing_ok=True)  # whatever told that the audio is the same
        bring_up_to_date([product], asv.access.inputs).raise_failed()


def _extracted(asv: AsvSystems) -> set[str]:
    """Return the anonymization suffixes of sets whose x-vectors were extracted here."""
    made = [f.name for f in vector_folders(asv) if Fingerprint.read(f / VECTORS_NOTE) is not None]
    return {suffix for suffix in asv.suffixes if any(name.endswith(suffix) for name in made)}


def _audit(
    asv: AsvSystems, folder: Path, system: str, name: str, original: str, *found: Any
) -> _Audit:
    """Return the record of an anonymized set in the folder of a system's records."""
    condition = Condition(system, asv.protocol.results_folders[0].suffix, name)
    (stem,) = file_names([name]).values()
    return _Audit(condition, folder / f"{_PREFIX}{stem}.json", asv, None, original, *found)


@dataclass(frozen=True)
class _Audit(Recorded):
    """The record of an anonymized set.

    Attributes
    ----------
    pair : AudioFolders or None
        None: as it was made.
    audited : tuple of AuditedUtterance or None
        What an audit found just now.
    """

    condition: Condition
    original: str
    pair: AudioFolders | None = None
    audited: tuple[AuditedUtterance, ...] | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        return {
            "subject": {"original": self.original},
            # Of sizes, times and inodes: reading the files takes as long as half of the audit.
            "options": {"files": digest(json.dumps(_files(self.pair)).encode())},
            "revision": _AUDIT_REVISION,
            "cost": self.cost,
            "optional": True,
        }

    def cost(self) -> float:
        """Estimate the run time by the size of the files."""
        return 1.0 + sum(size for size, *_ in _files(self.pair).values())

    def find(self, _: Inputs) -> Sources:
        data = self.asv.access.tree / "data"
        names = {"anonymized": self.condition.name, "original": self.original}
        return {role: data / name / "wav.scp" for role, name in names.items()}

    def make(self, *_: object) -> Content:
        from ..audit import RAW, audit_audio

        if self.pair is None:
            raise PrivacyEvalError(f"{self.path}: audit the audio again (check --audio)")
        audited = list(audit_audio(self.pair)) if self.audited is None else self.audited
        record = self.record(audited)
        problems = {RAW: 0} | record.facts["problems"]
        text = ", ".join(f"{name} ({n})" for name, n in problems.items() if n)
        remark = f"{record.condition.name}: of {counted(len(audited), 'utterance')}: {text}"
        return Content({self.path: record_text(record)}, remarks=(remark,) if text else ())

    def record(self, audited: Sequence[AuditedUtterance]) -> Record:
        """Summarize what an audit found."""
        from ..audit import RAW

        counts = Counter(problem for one in audited for problem in one.problems)
        raw = [one for one in audited if RAW in one.problems]
        facts = {
            "original": self.original,
            "n_utterances": len(audited),
            "raw": tuple(one.utterance for one in raw),
            "raw_seconds": float(sum(one.raw.seconds for one in raw if one.raw is not None)),
            "problems": dict(sorted(counts.items())),
        }
        rows = [{"metric": "raw_utterances", "value": len(raw), "trial": ANONYMIZED}]
        return self.record_of("audio", rows, facts=facts)


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


def measure_conditions(
    protocol: Protocol, anon_suffix: str, system: str
) -> Iterator[tuple[Condition, TrialSet]]:
    """Yield the speech of every trial set that averages are over, original before anonymized."""
    part = protocol.results_folders[0]
    weights = protocol.gender_weights
    for t in (t for t in protocol.trial_sets() if weights.get(t.gender, 1)):
        for speech, suffix in ((ORIGINAL, ""), (ANONYMIZED, anon_suffix)):
            place = t.data_set.id, t.split, t.gender
            name = f"{t.trials_name}{suffix}"
            yield Condition(system, part.suffix, name, *place, trial=speech), t
