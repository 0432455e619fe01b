"""Stage 5: scores of the attacker who reads the words alone, from transcripts of a tree.

Enrollment speech is original; of anonymized trial speech, what a recognizer heard is taken where
the tree has it, else the transcript of the original speech. Edited and external score files are
kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import Inputs
from ..products.freshness import Content, Fingerprint, MissingInput, Paths, Product, Sources, absent
from ..tree.discovery import first_file
from .access import AsvSystems, SystemUnderTest
from .attackers import Scoring, attacked

TRANSCRIPTS = "transcripts"

#: Roles of the text of enrollment, and of those of trials: what a recognizer heard of anonymized
#: speech, or what was said.
ENROLLED_WORDS = "enrollment_text"
RECOGNIZED, SPOKEN = "trial_recognized", "trial_transcript"


def words_products(asv: AsvSystems) -> list[Product]:
    """The scores of all conditions of original enrollment and anonymized trials."""
    return [scoring.product() for scoring in _scorings(asv)]


def _scorings(asv: AsvSystems) -> Iterator[_WordsScoring]:
    for one in attacked(asv, "words"):
        if one.is_ignorant:
            yield _WordsScoring(one.folder, one.condition, asv, one.system)


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
