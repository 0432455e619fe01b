"""What a report says of itself where it is published: title, date, a sentence, and no paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import counted

if TYPE_CHECKING:
    from ..numbers.report_data import ReportData
    from ..results.records import Results
    from .page import Front


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
        from ..results.speaker_numbers import numbered

        whole = replace(data.results, verification=(*data.results.verification, *data.others))
        if not whole.speaker_key and data.sources.paths:
            whole = numbered(whole, data.sources.paths[0].parent)
        whole = _without_paths(whole)
        others = tuple(r for r in whole.verification if not r.condition.is_by_challenge)
        return replace(data, results=whole.by_challenge(), others=others)

    def front(self, front: Front) -> Front:
        """Return the first screen that the report shows."""
        lead = tuple(line for line in (self.date, self.sentence) if line)
        hidden = ("Results", "Tree") if self.public else ()  # they name folders
        facts = tuple(fact for fact in front.facts if fact[0] not in hidden)
        hints = () if self.public else front.hints
        return replace(front, lead=lead, facts=facts, hints=hints)


def _without_paths(results: Results) -> Results:
    """Return results whose files have the names of their roles, with the same digests."""
    from ..results.records import RECORD_KINDS

    absent = len(results.not_evaluated) + len(results.failures)
    note = f"{counted(absent, 'note')} of what is missing or was left out, named in the results"
    changed: dict[str, Any] = {"not_evaluated": (note,) if absent else ()}
    changed |= {kind: tuple(map(_record, getattr(results, kind))) for kind in RECORD_KINDS}
    return replace(results, failed=dict.fromkeys(results.failed, ()), **changed)


def _record(record: Any) -> Any:
    """Return a record whose provenance, remarks and decoding name no paths."""
    bare: dict[str, Any] = {"provenance": _provenance(record.provenance)}
    if hasattr(record, "line"):
        bare["line"] = replace(record.line, decode="")
    if hasattr(record, "remarks"):
        parts = (remark.partition(": ") for remark in record.remarks)
        bare["remarks"] = tuple(of[2] if "/" in of[0] else "".join(of) for of in parts)
    return replace(record, **bare).with_caveats(record.caveats)


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
