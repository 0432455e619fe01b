"""Tables and the report as products: their inputs and composition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import counted
from ..numbers.report_sources import ReportSources
from ..products.freshness import NOTE, Content, Product, Progress
from ..version import __version__
from ..wings import of_wings
from .figures import folder_digest

if TYPE_CHECKING:
    from ..numbers.report_data import ReportData
    from ..results.records import Record, Results
    from .page import Front, Section
    from .table import Style, Table


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

    def data(self, data: ReportData, *, keep_key: bool = True) -> ReportData:
        """Return the data that the report shows; `keep_key`: who S1 to Sn are is written beside the
        results, as the report names them."""
        if not self.public:
            return data
        from ..results.speaker_numbers import numbered

        whole = replace(data.results, verification=(*data.results.verification, *data.others))
        if not whole.speaker_key and data.sources.paths:
            whole = numbered(whole, data.sources.paths[0].parent, keep=keep_key)
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
    from ..results.records import KINDS

    absent = len(results.not_evaluated) + len(results.failures)
    note = f"{counted(absent, 'note')} of what is missing or was left out, named in the results"
    changed: dict[str, Any] = {"not_evaluated": (note,) if absent else ()}
    changed |= {kind: tuple(map(_record, getattr(results, kind))) for kind in KINDS}
    return replace(results, failed=dict.fromkeys(results.failed, ()), **changed)


def _record(record: Record) -> Record:
    """Return a record whose provenance, remarks and decoding name no paths."""
    facts = {**record.facts, **({"decode": ""} if "decode" in record.facts else {})}
    parts = (remark.partition(": ") for remark in record.remarks)
    remarks = tuple(of[2] if "/" in of[0] else "".join(of) for of in parts)
    bare = replace(record, provenance=_provenance(record.provenance), facts=facts, remarks=remarks)
    return bare.with_caveats(record.caveats)


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


def tables_product(
    sources: ReportSources,
    out: Path,
    *,
    style: Style = "booktabs",
    formats: tuple[str, ...] = (),
    begin: Progress | None = None,
) -> Product:
    """Return a folder of tables as a product.

    Parameters
    ----------
    style : {"booktabs", "challenge"}
    formats : tuple of str
        Beside LaTeX and CSV.
    begin : Progress, optional
        Called before each step.
    """
    begin = begin or (lambda *_: None)

    def make(*_: object) -> Content:
        from ..numbers.report_data import read_report_data
        from .first_screen import text_for_a_paper
        from .table_formats import table_files

        begin(0, 3, f"{out.name}: reading results")
        data = read_report_data(sources)
        begin(1, 3, f"{out.name}: tables")
        groups, remarks = all_tables(data)
        begin(2, 3, f"{out.name}: their files")
        title, text = data.protocol.title, text_for_a_paper(data)
        files = table_files(groups, title, style=style, formats=formats, text=text)
        content = {out / name: text.encode() for name, text in files.items()}
        begin(3, 3, out.name)
        return Content(content, remarks=tuple(remarks), notes=data.missing_arrays)

    return Product(
        str(out),
        out,
        out / NOTE,
        (),
        lambda _: {},
        make,
        subject={"version": __version__, **sources.subject()},
        options={"style": style, "formats": formats},
        revision=7,
    )


def all_tables(data: ReportData) -> tuple[list[list[Table]], list[str]]:
    """Return all tables, those of several systems and a group for each system, and notes for the
    log. Tables say if this user did not make their results."""
    from .declared import tables_of_ones_own
    from .main_results import SUMMARY, attackers_table, main_results_table, summary_table
    from .notes import cautions
    from .side_by_side import across_tables, paper_tables
    from .system_tables import table_groups

    across, remarks = across_tables(data)
    answers = (summary_table(data), main_results_table(data), attackers_table(data))
    first = [
        *tables_of_ones_own(data),
        *paper_tables(data),
        *(table for table in answers if table is not None),
    ]

    def with_notes(table: Table) -> Table:
        notes = (*(data.unsigned if table.name != SUMMARY else ()), *table.notes)
        return replace(table, notes=notes, parts=tuple(map(with_notes, table.parts)))

    groups = [list(map(with_notes, group)) for group in table_groups(data, first + across)]
    return groups, [*cautions(data), *remarks]


_FOR_ONESELF = Publication()


#: A section of the report from another source, such as a listening test: what it depends on, and
#: the function that composes it.
Insert = tuple[tuple[str, ...], Callable[["ReportData"], "Section"]]


def report_product(
    sources: ReportSources,
    out: Path,
    *,
    figures: Path | None = None,
    insert: Insert | None = None,
    publication: Publication = _FOR_ONESELF,
    begin: Progress | None = None,
) -> Product:
    """Return the report as a product.

    Parameters
    ----------
    figures : Path, optional
        A folder of figures of the same results.
    insert : Insert, optional
    publication : Publication
    begin : Progress, optional
        Called before each step.
    """
    begin = begin or (lambda *_: None)
    added = sorted((*of_wings("sections"), *of_wings("figures")))
    beside = (out.with_name(f"{out.stem}.answer.json"),) * publication.public

    def make(*_: object) -> Content:
        from ..numbers.report_data import read_report_data
        from .answer import answer_json
        from .page import report_page
        from .sections import report_sections

        begin(0, 3, f"{out.name}: reading results")
        data = publication.data(read_report_data(sources))
        begin(1, 3, f"{out.name}: tables and figures")
        inserted = [insert[1](data)] if insert is not None else []
        front, sections, remarks = report_sections(data, figures=figures, inserted=inserted)
        begin(2, 3, f"{out.name}: the page")
        title = publication.title or f"{data.protocol.title}: evaluation of voice anonymization"
        if publication.title and data.protocol.is_simulated:
            title += " (simulated data)"
        content = {out: report_page(title, sections, publication.front(front)).encode()}
        if publication.public:
            content[beside[0]] = answer_json(data, title, front.cautions).encode()
        begin(3, 3, out.name)
        return Content(content, remarks=tuple(remarks), notes=data.missing_arrays)

    return Product(
        str(out),
        out.parent,
        out.with_name(f".{out.name}{NOTE}"),
        (out, *beside),
        lambda _: {},
        make,
        subject={
            "version": __version__,
            **sources.subject(),
            "listening": insert[0] if insert is not None else (),
            "figures": folder_digest(figures) if figures is not None else "",
            "publication": asdict(publication),
            **({"wings": added} if added else {}),
        },
        revision=6,
    )
