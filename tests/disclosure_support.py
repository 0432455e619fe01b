"""Records of identification from rates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any

from support import rows_record

from privacy_eval.disclosure.linkage import SinglingOutCurve, SpeakerLinkage
from privacy_eval.disclosure.trees import identification_rows
from privacy_eval.results.records import Record
from privacy_eval.tree.conditions import Condition


@dataclass(frozen=True)
class Galleries:
    """Rates of identification from which `record` is made."""

    condition: Condition
    sizes: tuple[int, ...]
    linkage: tuple[float, ...]
    intervals: tuple[tuple[float, ...], ...] = ()
    rank: int = 1
    length: int = 1
    n_tests: int = 300
    n_test_speakers: int = 8
    n_enrolled: int = 5
    not_enrolled: int = 0
    utterances_left_out: int = 0
    speakers_size: int = 0
    speakers: tuple[SpeakerLinkage, ...] = ()
    singling_out: SinglingOutCurve = SinglingOutCurve()
    instead: tuple[dict[str, Any], ...] = ()
    groups: Mapping[str, Mapping[str, list[dict[str, Any]]]] = field(default_factory=dict)
    genders: tuple[str, ...] = ()
    enrollment_utterances: int = 0
    n_distractors: int = 0
    distractors: str = ""

    def _rows_of_linkage(self) -> list[dict[str, Any]]:
        rows = [
            {"metric": "linkage", "value": value, "gallery": size, "rank": self.rank}
            for value, size in zip(self.linkage, self.sizes, strict=True)
        ]
        bounds = (dict(zip(("low", "high"), ends, strict=True)) for ends in self.intervals)
        return [{**row, **ends} for row, ends in zip_longest(rows, bounds, fillvalue={})]

    @property
    def record(self) -> Record:
        names = "rank length n_tests n_enrolled not_enrolled utterances_left_out n_distractors"
        facts = {name: getattr(self, name) for name in names.split()}
        facts |= {"enrollment_utterances": self.enrollment_utterances, "genders": self.genders}
        facts |= {"distractors": self.distractors or None}
        facts |= {"n_speakers": self.n_test_speakers, "refused": self.singling_out.refused or None}
        found = SimpleNamespace(
            rank=self.rank,
            rows_of_linkage=self._rows_of_linkage(),
            test_speakers=[""] * self.n_test_speakers,
            singling_out=self.singling_out,
            speakers=lambda: self.speakers,
            rows_of_instead=self.instead,
            speakers_size=self.speakers_size,
        )
        rows: Any = identification_rows(found, self.groups)  # type: ignore[arg-type]
        return rows_record("identification", self.condition, rows, **facts)
