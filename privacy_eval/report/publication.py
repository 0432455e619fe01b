"""What a report says of itself where it is published: title, date, a sentence, and no paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import counted

if TYPE_CHECKING:
    from typing import TypeVar

    from ..numbers.report_data import ReportData
    from ..results.records import (
        AmountRecord,
        AttributeRecord,
        AudioRecord,
        EmotionRecord,
        IdentificationRecord,
        MeasureRecord,
        RecognitionRecord,
        Results,
        SimilarityRecord,
        VerificationRecord,
    )
    from .page import Front

    Record = TypeVar(
        "Record",
        VerificationRecord,
        SimilarityRecord,
        IdentificationRecord,
        EmotionRecord,
        RecognitionRecord,
        MeasureRecord,
        AmountRecord,
        AttributeRecord,
        AudioRecord,
    )

#: Facts of the first screen that name folders.
_OF_FOLDERS = ("Results", "Tree")


@dataclass(frozen=True)
class Publication:
    """Choices for a report to publish.

    Attributes
    ----------
    public : bool
        Leave out the folders and paths that results were made from, and hints at options.
    title : str
        "" for that of the protocol.
    date, sentence : str
        Below the title; "" for none.
    """

    public: bool = False
    title: str = ""
    date: str = ""
    sentence: str = ""

    def data(self, data: ReportData) -> ReportData:
        """Return the data that the report shows."""
        if not self.public:
            return data
        others = tuple(map(_scored, data.others))
        return replace(data, results=_without_paths(data.results), others=others)

    def front(self, front: Front) -> Front:
        """Return the first screen that the report shows."""
        lead = tuple(line for line in (self.date, self.sentence) if line)
        hidden = _OF_FOLDERS if self.public else ()
        facts = tuple(fact for fact in front.facts if fact[0] not in hidden)
        hints = () if self.public else front.hints
        return replace(front, lead=lead, facts=facts, hints=hints)


def _without_paths(results: Results) -> Results:
    """Return results whose files have the names of their roles, with the same digests."""
    absent = len(results.not_evaluated)
    note = f"{counted(absent, 'note')} of what is missing or was left out, named in the results"
    return replace(
        results,
        verification=tuple(map(_scored, results.verification)),
        similarity=tuple(map(_record, results.similarity)),
        identification=tuple(map(_record, results.identification)),
        emotion=tuple(map(_record, results.emotion)),
        measures=tuple(map(_record, results.measures)),
        amounts=tuple(map(_record, results.amounts)),
        attributes=tuple(map(_record, results.attributes)),
        audio=tuple(map(_record, results.audio)),
        recognition=tuple(
            replace(_record(r), line=replace(r.line, decode="")) for r in results.recognition
        ),
        not_evaluated=(note,) if absent else (),
    )


def _scored(record: VerificationRecord) -> VerificationRecord:
    """Return a record whose remarks name no paths either."""
    parts = (remark.partition(": ") for remark in record.remarks)
    remarks = tuple(
        text if "/" in where else f"{where}{colon}{text}" for where, colon, text in parts
    )
    return replace(_record(record), remarks=remarks).with_caveats(record.caveats)


def _record(record: Record) -> Record:
    return replace(record, provenance=_provenance(record.provenance))


def _provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return provenance without paths; it may be untrusted."""
    inputs, model = provenance.get("inputs"), provenance.get("model")
    entries = inputs.items() if isinstance(inputs, Mapping) else ()
    kept = {key: provenance[key] for key in ("version", "options", "backend") if key in provenance}
    kept["inputs"] = {
        **{k: {"sha256": e.get("sha256", "")} for k, e in entries if isinstance(e, Mapping)},
        **{f"file {n}": e for n, (_, e) in enumerate(entries, 1) if isinstance(e, str)},
    }
    if isinstance(model, Mapping):
        kept["model"] = {name: value for name, value in model.items() if name != "path"}
    return kept
