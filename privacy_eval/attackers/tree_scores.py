"""Stage 5: the scores of attackers who read the words alone, and who fuse the scores of others.

Words come from transcripts of a tree: enrollment speech is original; of anonymized trial speech,
what a recognizer heard is taken where the tree has it, else the transcript of the original speech.
Scores are fused over folds that share no speaker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..choices import FOLDS
from ..errors import PrivacyEvalError, located
from ..io.files import Inputs, relative
from ..products.freshness import Content, Fingerprint, MissingInput, Paths, Product, Sources, absent
from ..protocol.protocol import ANONYMIZED
from ..stages.access import TRIALS, AsvSystems, SystemUnderTest
from ..stages.attackers import (
    ENROLLED_WORDS,
    RECOGNIZED,
    SCORES,
    SPOKEN,
    TRANSCRIPTS,
    Attacked,
    Scoring,
)
from ..tree.conditions import by_attacker
from ..tree.discovery import first_file

#: Ending of the roles of scores.
_SUFFIX = "_scores"

# Words


def words_scorings(asv: AsvSystems, conditions: Sequence[Attacked]) -> Iterator[Scoring]:
    """Yield the scores of conditions of original enrollment and anonymized trials."""
    for one in conditions:
        if one.is_ignorant:
            yield _WordsScoring(one.folder, one.condition, asv, one.system)


@dataclass(frozen=True)
class _WordsScoring(Scoring):
    """The scores of one condition."""

    system: SystemUnderTest

    @property
    def by_default(self) -> bool:
        return True

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
        from ..io.scores import read_trial_list
        from ..io.transcripts import joined_transcripts
        from .words import words_of_trials

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


def fused_scorings(asv: AsvSystems, conditions: Sequence[Attacked]) -> Iterator[Scoring]:
    """Yield the scores of conditions of anonymized trials: those of ignorant attackers, and others
    of the same trials, to which the attackers who need no model of anonymized speech add their
    scores."""

    def trials_of(one: Attacked) -> tuple[object, ...]:
        c = one.condition
        return c.system, c.data_set, c.split, c.gender, asv.access.trial_key(c, asv.protocol)[0]

    ignorant = {trials_of(one): one.folder.parent for one in conditions if one.is_ignorant}
    for one in conditions:
        beside = ignorant.get(trials_of(one), one.folder.parent)
        scoring = _FusedScoring(one.folder, one.condition, asv, beside)
        if one.is_ignorant or (one.condition.trial == ANONYMIZED and scoring.adds_to_ignorant()):
            yield scoring


@dataclass(frozen=True)
class _FusedScoring(Scoring):
    """The scores of one condition.

    Attributes
    ----------
    ignorant : Path
        Folder of the condition of an ignorant attacker with the same trials, for scores of
        attackers beside the challenge's own that the condition itself has not.
    """

    ignorant: Path

    @property
    def of_scores(self) -> bool:
        return True

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
        from ..io.scores import read_scores, read_trials, with_speakers
        from ..metrics.pairing import score_table
        from .fusion import fuse_scores

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
