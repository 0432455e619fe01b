"""Stage 5: attackers beside the challenge's own: which are chosen, what they score, their products.

Ways of scoring are the core's, and those of wings. Edited and external score files are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from typing import Protocol as Interface

from ..errors import UsageError
from ..io.files import Inputs, relative
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Paths,
    Product,
    Source,
    Sources,
    fingerprint_of,
)
from ..protocol.protocol import (
    ANONYMIZED,
    COEFFICIENTS,
    LEARNT,
    ORIGINAL,
    SCORINGS,
    Attacker,
    Protocol,
)
from ..results.attacker_costs import AttackerCosts
from ..tree.conditions import Condition, System, by_attacker, original_sets
from ..wings import of_wings, referred
from .access import VECTORS_NOTE, AsvSystems, SystemUnderTest, command_of

if TYPE_CHECKING:
    from ..asv.inputs import Conversations, Enrollment, Gallery
    from ..io.vectors import Vectors
    from ..metrics.pav import FloatArray
    from ..metrics.trials import Trials

#: File beside scores, or x-vectors: the seconds that they took.
SECONDS = ".seconds"


#: Kinds of `MissingInput`: stages go on without the scores of these attackers.
TRAINING, _OPTIONAL = "training speech of attackers", "vectors of other attackers"
UNSCORED = "vectors by a checkpoint"
TRANSCRIPTS, SCORES = "transcripts", "scores to fuse"

#: Roles of the text of enrollment, and of those of trials: what a recognizer heard of anonymized
#: speech, or what was said.
ENROLLED_WORDS = "enrollment_text"
RECOGNIZED, SPOKEN = "trial_recognized", "trial_transcript"


def as_optional(error: MissingInput, kind: str = _OPTIONAL) -> MissingInput:
    """Return a missing input that stages go on without."""
    return MissingInput(kind, error.where, error.name, error.folder)


@dataclass(frozen=True)
class Scoring:
    """The scores of one condition by one attacker.

    Attributes
    ----------
    folder : Path
        Where the scores are.
    condition : Condition
        What is scored, by whom.
    asv : AsvSystems
        The tree.
    """

    folder: Path
    condition: Condition
    asv: AsvSystems

    @property
    def by_default(self) -> bool:
        """Whether it is made where its inputs are there, unless attackers are named."""
        return False

    @property
    def of_scores(self) -> bool:
        """Whether it takes the scores of others, so that it comes after them."""
        return False

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

    def vector_sets(self) -> list[tuple[str, str, str]]:
        """Return the data sets whose vectors are compared: name, suffix and model folder."""
        return []

    def product(self) -> Product:
        """Return the product of the score file."""
        return self.score_product({"scoring": self.attacker.scoring})

    @property
    def attacker(self) -> Attacker:
        """The protocol's attacker."""
        id = self.condition.attacker
        return next(a for a in self.asv.protocol.attackers if a.id == id)

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


class VectorScoring(Scoring):
    """Scores of an attacker who compares vectors in a way of its own, also means of several."""

    def attack(self, paths: Paths, trials: Trials) -> Attack:
        """Read what the attacker compares, and learn how."""
        raise NotImplementedError


class Attack(Interface):
    """What an attacker compares: vectors of enrollment and of trials; and how: what scores all
    speakers of a gallery with tests, float64 array, shape (enrolled, tests)."""

    @property
    def enrolled(self) -> Vectors: ...
    @property
    def tried(self) -> Vectors: ...
    def scorer(self, gallery: Gallery) -> Callable[[Conversations], FloatArray]: ...


def attacker_costs(
    systems: Iterable[System], vectors: Iterable[Path] = (), tree: Path = Path()
) -> AttackerCosts:
    """Add up the seconds that scoring by each attacker and extracting `vectors`, the folders of
    data sets, took, where this program did; also tell the commands that extracted some."""
    seconds: dict[str, float] = {}
    for files in (files for system in systems for files in system.conditions):
        value = _read_seconds(files.folder / SECONDS)
        if files.scores is not None and value is not None:
            attacker = files.condition.attacker
            seconds[attacker] = seconds.get(attacker, 0) + value
    folders = sorted(set(vectors))
    parts = (path for f in folders for path in (f / SECONDS, *f.glob(f"parts/*{SECONDS}")))
    extracted = round(sum(filter(None, map(_read_seconds, parts)), 0.0), 3)
    texts = ((f.parent, command_of(Fingerprint.read(f / VECTORS_NOTE))) for f in folders)
    commands = {relative(model, tree): text for model, text in texts if text is not None}
    of_attackers = {attacker: round(total, 3) for attacker, total in sorted(seconds.items())}
    return AttackerCosts(of_attackers, extracted, commands=commands)


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
    beside : Condition
        That of the challenge's own attacker.
    """

    attacker: Attacker
    system: SystemUnderTest
    folder: Path
    condition: Condition
    beside: Condition

    @property
    def is_ignorant(self) -> bool:
        """Whether original enrollment meets anonymized trials, with a model of original speech."""
        c = self.beside
        return (c.enrollment, c.trial, c.asv_model) == (ORIGINAL, ANONYMIZED, ORIGINAL)


def attacked(asv: AsvSystems, way: str) -> Iterator[Attacked]:
    """Yield all conditions of every attacker that scores in a way, such as `words`."""
    attackers = [a for a in asv.protocol.other_attackers if a.way == way]
    for system in asv.under_test if attackers else ():
        for folder, condition in system.scored_conditions(asv.protocol):
            for attacker in attackers:
                own = by_attacker(condition, attacker, asv.protocol)
                yield Attacked(attacker, system, folder / attacker.id, own, condition)


#: A way of scoring of a wing: of the tree, and all conditions of its attackers.
Way = Callable[[AsvSystems, Sequence[Attacked]], Iterable[Scoring]]


def scorings_of_wings(asv: AsvSystems) -> Iterator[Scoring]:
    """Yield the scores of all conditions by the attackers whose ways of scoring are of wings; names
    of one way share what it learns."""
    names: dict[str, list[str]] = {}
    for name, way in of_wings("attackers", SCORINGS).items():
        names.setdefault(way, []).append(name)
    for way, of_way in names.items():
        conditions = [one for name in of_way for one in attacked(asv, name)]
        yield from referred(way)(asv, conditions) if conditions else ()


def not_installed(protocol: Protocol) -> str:
    """Say which attackers of a protocol nothing scores; "" for none."""
    known = {*SCORINGS, *of_wings("attackers", SCORINGS)}
    names = [a.id for a in protocol.other_attackers if a.way not in known]
    return f"not installed: what scores {', '.join(names)}" if names else ""


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


def trained_remarks(asv: AsvSystems, attacker: Attacker, suffix: str) -> list[str]:
    """Say what the encoder of a system learnt from, if an attacker's is trained: what is known of
    one that was trained here."""
    path = asv.access.tree / attacker.encoder_file(suffix)
    made = fingerprint_of(path, asv.access.inputs) if attacker.is_trained else None
    unknown = f"{LEARNT} speech that is not known: {relative(path, asv.access.tree)} is external"
    return [unknown] * attacker.is_trained if made is None else [*made.remarks]


def learnt_from(speakers: Collection[str], seconds: float, speech: str, data: Path) -> list[str]:
    """Say what an attacker learnt from, and what limits that; `speakers`: of each crop; `data`: the
    anonymized data folder, of another seed where stage 4 drew coefficients for it."""
    from ..asv.shared_speech import training_remarks

    who, minutes = f"{len({*speakers})} other speakers", len(speakers) * seconds / 60
    text = f"{LEARNT} {who}, {minutes:.3g} minutes of {speech} speech, of the same system"
    text += " with another seed" * (data / COEFFICIENTS).is_file()
    return [text, *training_remarks(speakers, data.name)]
