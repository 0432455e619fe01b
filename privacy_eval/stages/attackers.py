"""Attackers beside the challenge's own: which are chosen, what they score, and their products."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from ..io.files import Inputs
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Paths,
    Product,
    Source,
    Sources,
)
from ..protocol.protocol import ANONYMIZED, ORIGINAL, Attacker, Protocol
from ..results.attacker_costs import AttackerCosts
from ..tree.conditions import System, TrialCondition, by_attacker, original_sets
from .access import AsvSystems, SystemUnderTest

if TYPE_CHECKING:
    from ..asv.inputs import Enrollment
    from ..metrics.trials import Trials

#: File beside scores, or x-vectors: the seconds that they took.
SECONDS = ".seconds"


#: Kinds of `MissingInput`: stages go on without the scores of these attackers.
TRAINING, _OPTIONAL = "training speech of attackers", "vectors of other attackers"


def as_optional(error: MissingInput) -> MissingInput:
    """Return a missing input that stages go on without."""
    return MissingInput(_OPTIONAL, error.where, error.name, error.folder)


@dataclass(frozen=True)
class Scoring:
    """The scores of one condition by one attacker.

    Attributes
    ----------
    folder : Path
        Where the scores are.
    condition : TrialCondition
        What is scored, by whom.
    asv : AsvSystems
        The tree.
    """

    folder: Path
    condition: TrialCondition
    asv: AsvSystems

    def absent(self) -> list[MissingInput]:
        """Return missing inputs, without reading any file."""
        raise NotImplementedError

    def find(self, inputs: Inputs) -> Sources:
        """Return the inputs by role."""
        raise NotImplementedError

    def make(self, inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        """Compute the scores."""
        raise NotImplementedError

    @property
    def original_sets(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Original set and suffix of enrollment and of trials."""
        return original_sets(self.condition, self.asv.protocol)

    def key(self, *, check: bool = False) -> Path:
        """The key of the trials."""
        return self.asv.access.find_key(self.condition, self.asv.protocol, check=check)

    def enrollment(self) -> Enrollment:
        """The enrolled speakers."""
        return self.asv.enrollment(*self.original_sets[0])

    def compared(self) -> dict[str, Path | Source]:
        """Return the sources of enrolled speakers and trials."""
        enrollment = self.enrollment()
        entry = Source(enrollment.path, enrollment.digest)
        return {"enrollment": entry, "trials": self.key(check=True)}

    def content(self, trials: Trials, left_out: str = "", remarks: Sequence[str] = ()) -> Content:
        """Return the score file."""
        from ..io.scores import format_scores

        text = format_scores(trials)
        return Content({self.folder / "scores": text.encode()}, left_out, tuple(remarks))

    def score_product(
        self, subject: Mapping[str, Any], options: Mapping[str, Any] | None = None
    ) -> Product:
        """Return the product of the score file: an external one is kept."""
        access, folder = self.asv.access, self.folder
        return Product(
            f"{self.condition.system} {self.condition.label}",
            access.tree,
            folder / NOTE,
            (folder / "scores",),
            self.find,
            self.make,
            subject=subject,
            options=options or {},
            cost=partial(self.asv.scoring_cost, self.condition),
            guarded=True,
            rivals=(folder / "scores.gz",),
            within=access.results,
            absent=self.absent,
            seconds=folder / SECONDS,
        )


def attacker_costs(systems: Iterable[System], vectors: Iterable[Path] = ()) -> AttackerCosts:
    """Add up the seconds that scoring by each attacker and extracting `vectors`, the folders of
    data sets, took, where this program did."""
    seconds: dict[str, float] = {}
    for files in (files for system in systems for files in system.conditions):
        value = _read_seconds(files.folder / SECONDS)
        if files.scores is not None and value is not None:
            attacker = files.condition.attacker
            seconds[attacker] = seconds.get(attacker, 0) + value
    extracted = [
        _read_seconds(path)
        for folder in sorted(set(vectors))
        for path in (folder / SECONDS, *folder.glob(f"parts/*{SECONDS}"))
    ]
    of_attackers = {attacker: round(total, 3) for attacker, total in sorted(seconds.items())}
    return AttackerCosts(of_attackers, round(sum(filter(None, extracted), 0.0), 3))


def _read_seconds(path: Path) -> float | None:
    """Read the seconds that a product took; None of files that this program has not written."""
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        text = file.read(40)
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


class Attacked(NamedTuple):
    """A condition that an attacker beside the challenge's own scores.

    Attributes
    ----------
    folder : Path
        Of the attacker, in the condition's folder.
    beside : TrialCondition
        That of the challenge's own attacker.
    """

    attacker: Attacker
    system: SystemUnderTest
    folder: Path
    condition: TrialCondition
    beside: TrialCondition

    @property
    def is_ignorant(self) -> bool:
        """Whether original enrollment meets anonymized trials, with a model of original speech."""
        c = self.beside
        return (c.enrollment, c.trial, c.asv_model) == (ORIGINAL, ANONYMIZED, ORIGINAL)


def attacked(asv: AsvSystems, scoring: str) -> Iterator[Attacked]:
    """Yield all conditions of every attacker that scores in a way, such as `words`."""
    attackers = [a for a in asv.protocol.other_attackers if a.scoring == scoring]
    for system in asv.under_test if attackers else ():
        for folder, condition in system.scored_conditions(asv.protocol):
            for attacker in attackers:
                own = by_attacker(condition, attacker, asv.protocol)
                yield Attacked(attacker, system, folder / attacker.id, own, condition)


def select_attackers(protocol: Protocol, names: str) -> set[str]:
    """Return the ids of attackers that are named, separated by commas: of the protocol,
    `challenge` (its own) or `all`.

    Raises
    ------
    UsageError
        No such attacker.
    """
    every = {protocol.own_attacker, *(attacker.id for attacker in protocol.other_attackers)}
    chosen: set[str] = set()
    for name in filter(None, (name.strip() for name in names.split(","))):
        if name not in (*every, "challenge", "all"):
            raise UsageError(
                f"--attackers: no attacker {name!r} in protocol {protocol.name}: all, challenge, "
                f"{', '.join(sorted(every))}"
            )
        chosen |= every if name == "all" else {{"challenge": protocol.own_attacker}.get(name, name)}
    return chosen
