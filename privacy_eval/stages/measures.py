"""Stage 6: measures of the speech of trial sets: predicted quality, phone errors, files of other
tools.

What a network says of the utterances of a speaker is one product below `<out>/measures/`, so that a
killed run resumes; a trial set has a record of each measure, which is made of these.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..choices import grouped
from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_utt2spk
from ..io.files import Inputs, file_names
from ..io.schema import SPARSE, from_plain, load_json, to_plain
from ..products.freshness import (
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
from ..protocol.protocol import MEASURED, ORIGINAL, Measure
from ..results.record_files import record_product, record_text
from ..tree.conditions import MeasureCondition, measure_conditions
from ..version import __version__
from .access import Experiment, TreeAccess

if TYPE_CHECKING:
    from ..metrics.registry import MetricDescription
    from ..results.records import MeasureRecord
    from ..speech.audio import Audio, AudioReader
    from ..speech.utility import PhoneRecognizer

#: Sources of measures that networks compute here.
QUALITY, PHONES, PHONES_TEXT = MEASURED
Network = Literal["quality", "phones"]
#: What the phones of anonymized speech are compared with.
Reference = Literal["original", "text"]

_NETWORKS: Mapping[str, str] = {QUALITY: "dnsmos", PHONES: "phones"}
#: Kinds of `MissingInput`.
SPEECH, TRANSCRIPTS, FILES = "speech", "transcripts", "files of measures"
UNMEASURED = "measures of all speakers"
#: Incremented when the same speech yields other measures.
_REVISIONS = {QUALITY: 2, PHONES: 1}
#: Incremented when the same measures yield another record.
_RECORD_REVISION = 2


@dataclass(frozen=True)
class Options:
    """Options of the stage.

    Attributes
    ----------
    quality, phones : bool
        Which networks run.
    phone_reference : {"original", "text"}
        Phones of the original speech, or the pronunciations of the transcripts (English).
    bootstrap, seed : int
        As of `privacy_metrics.Options`.
    cache : Path or None
        Folder of downloaded models.
    """

    quality: bool = False
    phones: bool = False
    phone_reference: Reference = "original"
    bootstrap: int = 0
    seed: int = 0
    cache: Path | None = None

    @property
    def networks(self) -> list[Network]:
        """The networks that run."""
        wanted: dict[Network, bool] = {"quality": self.quality, "phones": self.phones}
        return [name for name, is_wanted in wanted.items() if is_wanted]

    @property
    def sources(self) -> set[str]:
        """The sources of the measures that networks give."""
        by_text = self.phones and self.phone_reference == "text"
        return {PHONES_TEXT if by_text and name == PHONES else name for name in self.networks}


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


def make_measures(experiment: Experiment, options: Options, run: Run = Run()) -> Outcome:
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
        chosen = {*options.sources, *(m.id for m in experiment.asv.protocol.measures)}
        records = [o.product() for o in _records(experiment, options) if o.source in chosen]
        outcome.add(bring_up_to_date(records, access.inputs, Run(dry_run=run.dry_run)))
        if measured.failed or measured.missing:  # that says why there is no record
            missing = outcome.missing.items()
            outcome.missing = {n: error for n, error in missing if error.kind != UNMEASURED}
            outcome.missing |= measured.missing
    else:
        outcome.add(measured)
    return outcome


def measure_products(experiment: Experiment) -> list[Product]:
    """The measure records of all systems that were made."""
    return [one.product() for one in _records(experiment, Options()) if one.path.is_file()]


# Speech


@dataclass(frozen=True)
class _Speech:
    """The utterances of a speaker in a data folder, and the network that measures them."""

    access: TreeAccess
    network: str
    folder: str
    speaker: str
    utterances: tuple[str, ...]
    reader: AudioReader
    path: Path
    cache: Path | None

    def product(self) -> Product:
        from ..speech.models import MODELS

        targets = {name: self.reader.target(name) for name in self.utterances}
        model = [file.sha256 for file in MODELS[_NETWORKS[self.network]].files]
        return Product(
            f"{self.network} of {self.folder}, speaker {self.speaker}",
            self.access.tree,
            self.path.with_name(f".{self.path.stem}{NOTE}"),
            (self.path,),
            self.find,
            self.make,
            subject={"network": self.network, "model": model},
            options={"targets": targets},
            revision=_REVISIONS[self.network],
            optional=True,
            cost=lambda: 1.0 + self.reader.size(self.utterances),
        )

    def find(self, inputs: Inputs) -> Sources:
        return self.reader.existing_files(self.utterances)

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        measure = _network(self.network, self.cache)
        values: dict[str, Any] = {}
        refused = []
        self.reader.remarks.clear()
        for name in self.utterances:
            try:
                audio = self.reader.read(name)
                with located(self.reader.where(name)):
                    values[name] = measure(audio)
            except PrivacyEvalError:
                if not self.access.allow_missing:
                    raise
                refused.append(name)
        measures = UtteranceMeasures(**{self.network: values}, left_out=len(refused))
        left_out = f"left out: {abbreviate(refused)}" if refused else ""
        return Content({self.path: record_text(measures)}, left_out, self.reader.notes())


@functools.cache
def _network(name: str, cache: Path | None) -> Callable[[Audio], object]:
    """Load a network, once per process."""
    if name == QUALITY:
        from ..speech.utility import load_dnsmos

        return load_dnsmos(cache).rate
    recognizer = _phone_recognizer()
    return lambda audio: " ".join(recognizer.recognize(audio))


@functools.cache
def _phone_recognizer() -> PhoneRecognizer:
    from ..speech.utility import load_phone_recognizer

    return load_phone_recognizer()


def _speakers(access: TreeAccess, folder: str) -> dict[str, list[str]]:
    """Return the utterances of a data folder by speaker."""
    path = access.tree / "data" / folder / "utt2spk"
    speaker_of = read_utt2spk(access.existing(SPEECH, path, folder))
    return grouped(speaker_of, speaker_of.__getitem__)


def _speech_path(out: Path, network: str, folder: str, file_name: str) -> Path:
    return out / "measures" / network / folder / f"{file_name}.json"


def _speech_products(
    experiment: Experiment, options: Options, failed: dict[str, str]
) -> Iterator[Product]:
    """Yield what networks say of every speaker of the trial sets; `failed` gets the data folders
    with speech that cannot be read, and why."""
    access, protocol = experiment.asv.access, experiment.asv.protocol
    conditions = (
        condition
        for system in experiment.systems
        if options.networks and system.name in experiment.under_test
        for condition, _ in measure_conditions(protocol, system.anon_suffix, system.name)
    )
    for folder in dict.fromkeys(condition.name for condition in conditions):
        data = access.tree / "data" / folder
        if not all((data / name).is_file() for name in ("wav.scp", "utt2spk")):
            continue  # the record says so
        try:
            reader, speakers = access.audio_reader(data, mix=True), _speakers(access, folder)
        except PrivacyEvalError as error:
            failed[folder] = str(error)
            continue
        ids = set(reader.ids)
        names = file_names(speakers)
        for network in options.networks:
            for speaker, utterances in speakers.items():
                path = _speech_path(experiment.out, network, folder, names[speaker])
                present = tuple(u for u in utterances if u in ids)
                of_speaker = (access, network, folder, speaker, present, reader, path)
                yield _Speech(*of_speaker, options.cache).product()


# Records


@dataclass(frozen=True)
class _SetRecord:
    """The record of a measure of a trial set."""

    experiment: Experiment
    condition: MeasureCondition
    original: str
    source: str
    options: Options
    path: Path
    measure: Measure | None = None

    @property
    def access(self) -> TreeAccess:
        return self.experiment.asv.access

    def product(self) -> Product:
        options = self.options
        measure = {"measure": to_plain(self.measure)} if self.measure else {}
        return record_product(
            self,
            self.access.tree,
            f"{self.condition.system}: {self.source} of {self.condition.name}",
            {"source": self.source, **measure},
            options={"bootstrap": options.bootstrap, "seed": options.bootstrap and options.seed},
            revision=_RECORD_REVISION,
        )

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
            path = _speech_path(self.experiment.out, network, folder, file_name)
            if not path.is_file():
                has_speech = (self.access.tree / "data" / folder / "wav.scp").is_file()
                kind = UNMEASURED if has_speech else SPEECH
                raise MissingInput(kind, f"data/{folder}/wav.scp", folder)
            yield f"{prefix}speaker {speaker}", path

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ..metrics.caveats import LEVEL

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
    ) -> MeasureRecord:
        from ..io.user_metrics import check_descriptions
        from ..metrics.utility import SpeakerSums
        from ..results.records import MeasureRecord

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
        total = sum(counts.values()) if counts is not None else len(of_first)
        if not total:
            raise PrivacyEvalError(f"{self.condition.name}: the references have no phones")
        record = MeasureRecord(
            self.condition,
            self.source,
            {key: math.fsum(of.values()) / total for key, of in values.items()},
            n_utterances=len(of_first),
            utterances_left_out=left_out,
            speaker_intervals={key: (i.low, i.high) for key, i in intervals.items()},
            speakers=sums,
            provenance={"version": __version__, **made_of.provenance()},
        )
        if self.measure is not None:
            record = replace(record, described={self.measure.id: described(self.measure)})
            check_descriptions(record.described, f"measures: {self.measure.id}")
        record.check()
        return record

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
        from ..io.transcripts import read_transcripts
        from ..speech.utility import phone_errors

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
        from ..io.user_tables import read_measures

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
    from ..metrics.registry import MetricDescription

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


def _records(experiment: Experiment, options: Options) -> Iterator[_SetRecord]:
    """Yield the records of all sources: of networks, only of systems whose speech the tree has,
    and the phones of original speech only against transcripts."""
    protocol = experiment.asv.protocol
    for system in experiment.systems:
        folder = experiment.records_of(system.name)
        conditions = measure_conditions(protocol, system.anon_suffix, system.name)
        for condition, trial_set in conditions:
            sources: dict[str, Measure | None] = {m.id: m for m in protocol.measures}
            if system.name in experiment.under_test:
                sources |= dict.fromkeys(MEASURED)
            if condition.speech == ORIGINAL:
                sources.pop(PHONES, None)  # they are the reference
            for source, measure in sources.items():
                path = folder / f"measures-{source}-{condition.name}.json"
                original = trial_set.trials_name
                yield _SetRecord(experiment, condition, original, source, options, path, measure)
