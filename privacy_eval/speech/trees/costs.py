"""What anonymization costs: wall and processor time, peak memory and the speech that was converted,
by the length of recordings.

Stage 4 leaves a file beside what it made, as these differ from run to run: no fingerprint of speech
has them, and a run that makes nothing keeps them. A file of the same form tells them of speech that
was anonymized elsewhere. Costs of all data folders of a system add up to one record.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from ...errors import PrivacyEvalError, counted, printable
from ...io.files import Inputs, digest, paths_outside, read_text, write_text
from ...io.names import check_name
from ...io.schema import SPARSE, from_plain, parse_json
from ...io.yaml_text import parse_yaml
from ...products.freshness import NOTE, Content, Fingerprint, Paths, Product, Sources
from ...results.record_files import record_text
from ...stages.access import Experiment, owners_of
from ...stages.attackers import SECONDS
from ...stages.records import Recorded
from ...tree.conditions import Condition
from .recordings import evaluated_sets, training_sets

T = TypeVar("T")

#: The file that a folder of anonymized speech from elsewhere may bring; in a tree it is
#: `data/anonymization_cost<suffix>.yaml`.
STATED_FILE = "anonymization_cost{suffix}.yaml"
#: Of what recordings are; `any` where they were not measured one by one.
Length = Literal["any", "under 3 s", "3 to 10 s", "over 10 s"]
ANY: Length = "any"
_HOUR = 3600.0
#: Units of `ru_maxrss` in a MiB; macOS has bytes.
_KIB = 2.0**20 if sys.platform == "darwin" else 2.0**10
_LONGEST_TEXT, _MOST = 200, 1e12
_REVISION = 2


@dataclass(frozen=True)
class Part:
    """Recordings that belong to no other part, and the seconds that converting them took."""

    recordings: int
    speech_seconds: float
    wall_seconds: float
    processor_seconds: float | None = None
    length: Length = "any"

    def __post_init__(self) -> None:
        """Refuse numbers that no measurement gives."""
        for name, number in vars(self).items():
            least = 1 if name == "recordings" else 0
            if isinstance(number, int | float) and not least <= number <= _MOST:
                raise PrivacyEvalError(f"{name}: {number:g}: expected {least} to {_MOST:g}")


@dataclass(frozen=True)
class Costs:
    """Costs of some speech.

    Attributes
    ----------
    machine : str
        Processor, cores, memory, versions.
    parts : tuple of Part
    peak_memory_mib : float or None
        The greatest of one process.
    """

    machine: str
    parts: tuple[Part, ...]
    peak_memory_mib: Annotated[float | None, SPARSE] = None

    def __post_init__(self) -> None:
        """Refuse what cannot be printed or measured."""
        check_name(self.machine, "machine")
        if not 0 < len(self.machine) <= _LONGEST_TEXT:
            raise PrivacyEvalError(f"machine: expected 1 to {_LONGEST_TEXT} characters")
        if not self.parts:
            raise PrivacyEvalError("parts: expected at least one")
        if self.peak_memory_mib is not None and not 0 < self.peak_memory_mib <= _MOST:
            raise PrivacyEvalError(f"peak_memory_mib: expected a number above 0 to {_MOST:g}")


def read_costs(path: Path) -> Costs:
    """Read a file of costs.

    Parameters
    ----------
    path : Path
        YAML, or the JSON of stage 4.

    Raises
    ------
    PrivacyEvalError
        With file and entry: not YAML; an entry that is missing, unknown or out of range.
    """
    parse = parse_json if path.name.endswith(SECONDS) else parse_yaml
    return from_plain(Costs, parse(read_text(path), str(path)), str(path))


def this_machine() -> str:
    """Describe the machine, without names of host or user."""
    model, info = platform.machine(), Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    model = next((n.partition(":")[2] for n in lines if n.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2.0**30
    cores, python = os.cpu_count(), platform.python_version()
    text = f"{' '.join(model.split())}, {cores} cores, {memory:.0f} GiB, Python {python}"
    return printable(text)[:_LONGEST_TEXT]


@dataclass
class Meter:
    """Measures conversions of this process, one after the other, for the file `path`."""

    path: Path
    parts: list[Part] = field(default_factory=list)

    def run(self, convert: Callable[[], T], seconds_of: Callable[[], Iterable[float]]) -> T:
        """Convert recordings, and measure it.

        Parameters
        ----------
        seconds_of : callable
            Returns the seconds of each, which is not measured.
        """
        wall, processor = time.monotonic(), _used()[0]
        result = convert()
        spent = time.monotonic() - wall, _used()[0] - processor
        try:
            seconds = [*seconds_of()]
        except PrivacyEvalError:  # of a length that cannot be told nothing is known
            return result
        length = _length(seconds[0]) if len(seconds) == 1 else ANY
        self.parts.append(Part(len(seconds), math.fsum(seconds), *spent, length))
        return result

    def write(self) -> None:
        """Write what was measured in the place of an earlier file."""
        if not self.parts:
            self.path.unlink(missing_ok=True)
            return
        costs = Costs(this_machine(), tuple(_added(self.parts)), _used()[1])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.path, record_text(costs).decode())


def _used() -> tuple[float, float]:
    """Return the processor time of this process and the commands that it has run, and the greatest
    memory, MiB: of a command at least that of this process, which it begins as."""
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = math.fsum(use.ru_utime + use.ru_stime for use in of)
    return seconds, max(use.ru_maxrss for use in of) / _KIB


def _length(seconds: float) -> Length:
    return "under 3 s" if seconds < 3 else "3 to 10 s" if seconds <= 10 else "over 10 s"


def _added(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the sums of the parts of each length."""
    of_length = defaultdict[Length, list[Part]](list)
    for part in parts:
        of_length[part.length].append(part)
    for length in get_args(Length):
        if parts := of_length.get(length, []):
            yield replace(_sum(parts), length=length)


def _sum(parts: Sequence[Part]) -> Part:
    """Add up parts; processor time is unknown where that of one is."""
    processor = [p.processor_seconds for p in parts if p.processor_seconds is not None]
    return Part(
        sum(p.recordings for p in parts),
        math.fsum(p.speech_seconds for p in parts),
        math.fsum(p.wall_seconds for p in parts),
        math.fsum(processor) if len(processor) == len(parts) else None,
    )


def cost_rows(costs: Sequence[Costs], **more: str) -> Iterator[dict[str, Any]]:
    """Yield the measurements of costs on one machine: by length, and of all recordings. Without
    speech there is no real-time factor."""
    parts = list(_added(part for of in costs for part in of.parts))
    named = [(part.length, part) for part in parts if part.length != ANY]
    peaks = [of.peak_memory_mib for of in costs if of.peak_memory_mib is not None]
    for length, part in (("all", _sum(parts)), *named):
        counted: dict[str, Any] = {**more, "duration": length, "n_utterances": part.recordings}
        values = {"speech_hours": part.speech_seconds / _HOUR}
        for name, seconds in (("wall", part.wall_seconds), ("processor", part.processor_seconds)):
            if seconds is not None:
                values[f"{name}_hours"] = seconds / _HOUR
                if part.speech_seconds > 0:
                    values[f"{name}_factor"] = seconds / part.speech_seconds
        if length == "all" and peaks:
            values["peak_memory"] = max(peaks)
        yield from ({**counted, "metric": key, "value": value} for key, value in values.items())


@dataclass(frozen=True)
class _Record(Recorded):
    """The costs of a system: the file that states some, and those that stage 4 left, each with
    whether this user made what it is beside."""

    stated: Path
    left: Mapping[Path, bool]

    @property
    def attributes(self) -> dict[str, Any]:
        # By their digest: there is a file for each speaker, named after them.
        digests = [(is_own, digest(path.read_bytes())) for path, is_own in self.left.items()]
        of_left = digest(repr(digests).encode())
        return {"subject": {"costs": of_left}, "revision": _REVISION}

    def find(self, _: Inputs) -> Sources:
        """Return the file that states costs."""
        self.asv.access.check_inside(self.stated)
        return {"stated costs": self.stated} if self.stated.is_file() else {}

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        """Add up all costs by machine. A faulty file is left out: no other number needs it."""
        groups, faults = defaultdict[tuple[str, str], list[Costs]](list), list[str]()
        for path, is_own in (*((path, False) for path in paths.values()), *self.left.items()):
            try:
                costs = read_costs(path)
            except PrivacyEvalError as error:
                faults.append(str(error).replace(f"{self.asv.access.tree}/", ""))
                continue
            groups["measured" if is_own else "stated", costs.machine].append(costs)
        every = sorted(groups.items())
        rows = [r for (source, m), of in every for r in cost_rows(of, source=source, machine=m)]
        empty = any(r["metric"] == "speech_hours" and not r["value"] for r in rows)
        said = ["recordings of length 0: no real-time factor"] * empty
        if faults:
            said.append(f"{counted(len(faults), 'file')} of costs left out: {faults[0]}")
        remarks = tuple(f"{self.condition.system}: {text}" for text in said)
        record = self.record_of("rows", rows, made_of, remarks=remarks)
        return Content({self.path: record_text(record)}, remarks=remarks)


def plan_costs(experiment: Experiment, options: object = None) -> Iterator[Product]:
    """Yield the record of every system that alone has its anonymized data folders, and costs."""
    access, protocol = experiment.asv.access, experiment.asv.protocol
    data, learning = access.tree / "data", [a.id for a in protocol.other_attackers]
    training = training_sets(access.tree, protocol, learning)
    names = dict.fromkeys((*evaluated_sets(access.tree, protocol), *training))
    owners = owners_of((system.anon_suffix, system.name) for system in experiment.systems)
    for suffix, system in owners.items():
        stated = data / STATED_FILE.format(suffix=suffix)
        found = (pair for name in names for pair in _left(data / f"{name}{suffix}"))
        left = {path: own for path, own in found if not any(paths_outside([path], access.roots))}
        if system and suffix and (left or stated.is_file()):
            condition = Condition(system, protocol.results_folders[0].suffix, "anonymization")
            path = experiment.records_of(system) / "costs.json"
            yield _Record(condition, path, experiment.asv, None, stated, left).product()


def _left(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the files that stage 4 left of a data folder and of its speakers, and whether this user
    has made what they are beside."""
    files = [(folder / SECONDS, folder / NOTE)]
    of_speakers = sorted((folder / "wav").glob(f".*{SECONDS}"))
    files += [(path, path.with_suffix(".json")) for path in of_speakers]
    for path, note in files:
        if path.is_file():
            yield path, Fingerprint.read(note) is not None
