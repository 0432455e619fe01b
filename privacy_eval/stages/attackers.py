"""Stage 5: attackers beside the challenge's own: which are chosen, what they score, their products;
and the scores of those who read the words alone, and who fuse the scores of others.

Words come from transcripts of a tree: enrollment speech is original; of anonymized trial speech,
what a recognizer heard is taken where the tree has it, else the transcript of the original speech.
Scores are fused over folds that share no speaker. Edited and external score files are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..choices import FOLDS
from ..errors import PrivacyEvalError, UsageError, located
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
    absent,
)
from ..protocol.protocol import ANONYMIZED, ORIGINAL, Attacker, Protocol
from ..results.attacker_costs import AttackerCosts
from ..tree.conditions import Condition, System, by_attacker, original_sets
from ..tree.discovery import first_file
from .access import TRIALS, VECTORS_NOTE, AsvSystems, SystemUnderTest, command_of

if TYPE_CHECKING:
    from ..asv.inputs import Enrollment
    from ..metrics.trials import Trials

#: File beside scores, or x-vectors: the seconds that they took.
SECONDS = ".seconds"


#: Kinds of `MissingInput`: stages go on without the scores of these attackers.
TRAINING, _OPTIONAL = "training speech of attackers", "vectors of other attackers"
TRANSCRIPTS, SCORES = "transcripts", "scores to fuse"

#: Roles of the text of enrollment, and of those of trials: what a recognizer heard of anonymized
#: speech, or what was said; and the ending of those of scores.
ENROLLED_WORDS = "enrollment_text"
RECOGNIZED, SPOKEN = "trial_recognized", "trial_transcript"
_SUFFIX = "_scores"


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
    condition : Condition
        What is scored, by whom.
    asv : AsvSystems
        The tree.
    """

    folder: Path
    condition: Condition
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

    def product(self) -> Product:
        """Return the product of the score file."""
        raise NotImplementedError

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


# Words


def words_products(asv: AsvSystems) -> Iterator[Product]:
    """Yield the scores of all conditions of original enrollment and anonymized trials."""
    for one in attacked(asv, "words"):
        if one.is_ignorant:
            yield _WordsScoring(one.folder, one.condition, asv, one.system).product()


@dataclass(frozen=True)
class _WordsScoring(Scoring):
    """The scores of one condition."""

    system: SystemUnderTest

    def product(self) -> Product:
        return self.score_product({"scoring": "words"})

    def absent(self) -> list[MissingInput]:
        enrolled, tested = self.original_sets
        return absent(
            self.key,
            lambda: self.asv.access.find_enrollment(*enrolled),
            lambda: self._text(enrolled[0]),
            lambda: self._trial_text(tested[0]),
        )

    def find(self, inputs: Inputs) -> Sources:
        enrolled, tested = self.original_sets
        role, trial_text = self._trial_text(tested[0])
        texts = {ENROLLED_WORDS: self._text(enrolled[0]), role: trial_text}
        self.asv.access.check_inside(*texts.values())
        return {**self.compared(), **texts}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from ..attackers.words import words_of_trials
        from ..io.scores import read_trial_list
        from ..io.transcripts import joined_transcripts

        trials = read_trial_list(inputs.load(paths["trials"]))
        speakers, names = trials.enrolled.tolist(), trials.utterance.tolist()
        spoken = paths[RECOGNIZED if RECOGNIZED in paths else SPOKEN]
        try:
            members = self.enrollment().members
            enrolled_texts = joined_transcripts(inputs.load(paths[ENROLLED_WORDS]), members)
            tried = joined_transcripts(inputs.load(spoken), {name: (name,) for name in names})
            scores = words_of_trials(enrolled_texts, tried, speakers, names)
        except PrivacyEvalError as error:
            raise PrivacyEvalError(
                f"{error} (--attackers challenge leaves out the attacker of the words)"
            ) from error
        return self.content(trials.with_columns(score=scores))

    def _text(self, name: str) -> Path:
        path = self.asv.access.tree / "data" / name / "text"
        if not path.is_file():
            raise MissingInput(TRANSCRIPTS, f"data/{name}/text", name)
        return path

    def _trial_text(self, name: str) -> tuple[str, Path]:
        """Return the role of the trials' words, and their file."""
        place = self.condition.data_set, self.condition.split
        recognized = first_file(self.system.recognized.get(place, ()))
        return (SPOKEN, self._text(name)) if recognized is None else (RECOGNIZED, recognized)


# Fusion


def fused_products(asv: AsvSystems) -> Iterator[Product]:
    """Yield the scores of conditions of anonymized trials: those of ignorant attackers, and others
    of the same trials, to which the attackers who need no model of anonymized speech add their
    scores."""

    def trials_of(one: Attacked) -> tuple[object, ...]:
        c = one.condition
        return c.system, c.data_set, c.split, c.gender, asv.access.trial_key(c, asv.protocol)[0]

    every = list(attacked(asv, "fused"))
    ignorant = {trials_of(one): one.folder.parent for one in every if one.is_ignorant}
    for one in every:
        beside = ignorant.get(trials_of(one), one.folder.parent)
        scoring = _FusedScoring(one.folder, one.condition, asv, one.attacker, beside)
        if one.is_ignorant or (one.condition.trial == ANONYMIZED and scoring.adds_to_ignorant()):
            yield scoring.product()


@dataclass(frozen=True)
class _FusedScoring(Scoring):
    """The scores of one condition.

    Attributes
    ----------
    ignorant : Path
        Folder of the condition of an ignorant attacker with the same trials, for scores of
        attackers beside the challenge's own that the condition itself has not.
    """

    attacker: Attacker
    ignorant: Path

    def product(self) -> Product:
        return self.score_product({"scoring": "fused"}, {"folds": FOLDS})

    def score_files(self) -> dict[str, Path]:
        """The score files of other attackers, by their ids."""
        protocol = self.asv.protocol
        folders = {protocol.own_attacker: [self.folder.parent]}
        for other in protocol.other_attackers:
            of_other = by_attacker(self.condition, other, protocol)
            # Who states another attack model knows more than the attackers of this one.
            if other.scoring != "fused" and of_other.asv_model == self.condition.asv_model:
                folders[other.id] = [at / other.id for at in (self.folder.parent, self.ignorant)]
        files = {
            attacker: first_file([at / name for at in places for name in ("scores", "scores.gz")])
            for attacker, places in folders.items()
            if not self.attacker.fuses or attacker in self.attacker.fuses
        }
        return {attacker: path for attacker, path in files.items() if path is not None}

    def adds_to_ignorant(self) -> bool:
        """Whether several attackers have scores, and one of them other than an ignorant one's."""
        files = self.score_files()
        return len(files) > 1 and any(self.folder.parent in path.parents for path in files.values())

    def _scores(self) -> dict[str, Path]:
        files, named = self.score_files(), self.attacker.fuses
        where = relative(self.folder.parent, self.asv.access.tree)
        for attacker in named:
            if attacker not in files:
                raise MissingInput(SCORES, f"{where}: none of {attacker}")
        if len(files) < 2:
            raise MissingInput(SCORES, f"{where}: {len(files)} attackers have scores, not several")
        return files

    def _utt2spk(self) -> Path:
        name = self.original_sets[1][0]
        in_data = self.asv.access.tree / "data" / name / "utt2spk"
        path = first_file([self.key().with_name("utt2spk"), in_data])
        if path is None:
            raise MissingInput(TRIALS, relative(in_data, self.asv.access.tree), name)
        return path

    def absent(self) -> list[MissingInput]:
        return absent(self._utt2spk, self._scores)

    def find(self, inputs: Inputs) -> Sources:
        key = self.key(check=True)
        scores = {f"{name}{_SUFFIX}": path for name, path in self._scores().items()}
        self.asv.access.check_inside(self._utt2spk(), *scores.values())
        return {"trials": key, "utt2spk": self._utt2spk(), **scores}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from ..attackers.fusion import fuse_scores
        from ..io.scores import read_scores, read_trials, with_speakers
        from ..metrics.pairing import score_table

        trials = read_trials(inputs.load(paths["trials"]), format="kaldi")
        names = [role for role in paths if role.endswith(_SUFFIX)]
        files = [read_scores(inputs.load(paths[name]), format="kaldi") for name in names]
        table = score_table(files, trials)
        known = with_speakers(trials, inputs.load(paths["utt2spk"]))
        speakers = known.enrolled_speaker.tolist(), known.trial_speaker.tolist()
        attackers = [name.removesuffix(_SUFFIX) for name in names]
        with located(", ".join(attackers)):
            fused = fuse_scores(table, trials.is_target, *speakers, attackers=attackers)
        return self.content(trials.with_columns(score=fused))
