"""The report: self-contained, escaped, complete."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import ANON, ODD_NAME, imported, pixels, scored, with_first

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import METRICS, Label
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.report.first_screen import _beside_published, contents, front
from privacy_eval.report.notes import grouped_cautions, omissions
from privacy_eval.report.page import Front, Picture, Section, report_page
from privacy_eval.report.sections import provenance_tables
from privacy_eval.report.table import Column, Table

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


class Page(HTMLParser):
    """Elements, links and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))


def table(name: str = "t") -> Table:
    columns = (Column("System", align="l", sparse=True), Column("EER, %", align="r"))
    groups = (((ODD_NAME, "1.5"), (ODD_NAME, "10.2")), (("<script>alert(1)</script>", "2"),))
    return Table(name, f"Caption of {ODD_NAME}", columns, groups)


def report(tmp_path: Path, *sections: Section, title: str = "Title") -> Page:
    (tmp_path / "report.html").write_text(report_page(title, sections))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    return page


def test_nothing_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "f.png").write_bytes(PNG)
    section = Section("Figures", pictures=(Picture(tmp_path / "f.png", "A & B"),))
    page = report(tmp_path, section, Section("Tables", tables=(table(),)))
    sources = [a["src"] or "" for _, a in page.tags if "src" in a]
    (kind, _, data), *others = [source.partition(",") for source in sources]
    assert (kind, others) == ("data:image/webp;base64", [])
    assert pixels(base64.b64decode(data)) == pixels(PNG)
    links = [a["href"] or "" for tag, a in page.tags if "href" in a]
    assert links == ["#figures", "#tables", "#legend"]
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "base")]
    policy = next(a["content"] or "" for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert "default-src 'none'" in policy
    text = (tmp_path / "report.html").read_text()
    script = text.partition("<script>")[2].partition("</script>")[0]
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}'" in policy  # and no other script
    assert not re.search(r"https?://|@import|url\(", text)


def test_an_image_stays_as_it_is_without_webp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("PIL.features.check", lambda name: False)
    (tmp_path / "f.png").write_bytes(PNG)
    page = report(tmp_path, Section("F", pictures=(Picture(tmp_path / "f.png", "A"),)))
    (source,) = [a["src"] for _, a in page.tags if "src" in a]
    assert source == "data:image/png;base64," + base64.b64encode(PNG).decode()


def test_names_are_escaped(tmp_path: Path) -> None:
    page = report(tmp_path, Section(ODD_NAME, (ODD_NAME,), (table(),)), title=ODD_NAME)
    for tag in ("title", "h1", "h2", "p", "td"):
        assert (tag, ODD_NAME) in page.texts
    assert ("td", "<script>alert(1)</script>") in page.texts
    assert [t for t, _ in page.tags if t == "script"] == ["script"]  # ours


def test_every_row_says_of_what_it_is(tmp_path: Path) -> None:
    """Cells that printed tables leave blank below an equal one: rows may be sorted."""
    page = report(tmp_path, Section("T", tables=(table(),)))
    cells = [text for tag, text in page.texts if tag == "td"]
    assert cells == [ODD_NAME, "1.5", ODD_NAME, "10.2", "<script>alert(1)</script>", "2"]


def test_sections_are_folded_where_asked(tmp_path: Path) -> None:
    with_heading = replace(table(), headings=(Label("One"), Label("Two")))
    page = report(
        tmp_path,
        Section("Open", tables=(table(),)),
        Section("Folded", tables=(with_heading,), folded=True),
    )
    assert [t for t, _ in page.tags].count("details") == 3  # with those of contents and legend
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert headings[:2] == ["Open", "Folded"] and len(headings) == 3
    assert ("span", "Two") in page.texts


def test_a_missing_picture_leaves_the_report_before(tmp_path: Path) -> None:
    report(tmp_path, Section("T", tables=(table(),)))
    before = (tmp_path / "report.html").read_bytes()
    broken = Section("F", pictures=(Picture(tmp_path / "no.png", ""),))
    with pytest.raises(PrivacyEvalError, match="no.png: cannot be read"):
        report_page("Title", [broken])
    assert (tmp_path / "report.html").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_how_each_number_was_made() -> None:
    results = imported(ANON, protocol="vpc2022")
    entry = {"path": "data/x/trials", "sha256": "0123456789abcdef"}
    record = scored(
        results.verification[0],
        n_target=7,
        provenance={
            "version": "9.8",
            "inputs": {"trials": entry},
            "options": {"bootstrap": 5, "allow_missing": False},
        },
    )
    results = with_first(results, record)
    conditions, similarity, recognition = provenance_tables(ReportData(results))
    assert conditions.rows[0] == (
        "B1, models trained on anonymized speech",
        record.condition.name,
        "7",
        "",
        "9.8",
        "data/x/trials 0123456789ab",
        "bootstrap: 5",
    )
    assert len(conditions.rows) == len(results.verification)
    assert len(similarity.rows) == len(results.similarity) == 12
    assert len(recognition.rows) == len(results.recognition)


def test_what_is_not_in_it_is_said() -> None:
    results = replace(imported(ANON, protocol="vpc2022"), not_evaluated=("B1: no scores of 3",))
    text = contents(ReportData(results))
    assert "1 system," in text and "12 voice similarities" in text
    assert [*omissions(ReportData(results))][-1] == ("Not evaluated: B1: no scores of 3", ())
    many = replace(results, not_evaluated=tuple(f"condition {n}" for n in range(203)))
    head, items = [*omissions(ReportData(many))][-1]
    assert "203" in head
    assert items[-2:] == ("condition 199", "... and 3 more, listed in results.json")


def test_cautions_count_conditions_by_system_and_list_them() -> None:
    results = imported(ANON, protocol="vpc2022")
    few = tuple(scored(r, n_target=19, n_nontarget=70) for r in results.verification)
    kept = results.verification[2:]
    found = grouped_cautions(ReportData(replace(results, verification=few)))
    ((head, _),) = (one for one in found if one[1] == ("B1: all its conditions",))
    assert head.endswith(f": {len(few)} conditions of B1")
    found = grouped_cautions(ReportData(replace(results, verification=(*few[:2], *kept))))
    labels = ", ".join(r.condition.label for r in few[:2])
    assert f"B1: {labels}" in [item for _, items in found for item in items]


def test_the_answer_is_first_and_its_facts_are_last() -> None:
    first = Front((("Tree", "a folder"),), "The verdict.", (("B1", ("A sentence.",)),))
    page = Page(report_page("Title", [Section("Tables", tables=(table(),))], first))
    texts = [text for tag, text in page.texts if tag not in ("title", "style", "script")]
    expected = ["Title", "The verdict.", "A sentence.", "EER, %", "a folder"]
    assert [text for text in texts if text in expected] == expected


def test_metrics_are_explained_once(tmp_path: Path) -> None:
    page = report(tmp_path, Section("A", tables=(table("a"), table("b"))))
    meaning = METRICS["eer"].meaning
    assert [tag for tag, text in page.texts if meaning in text] == ["dd"]
    assert ("a", {"href": "#legend"}) in page.tags


def test_published_systems_alone_have_an_answer() -> None:
    data = read_report_data(ReportSources(published="vpc2020"))
    first, ranked = front(data), data.main_ranking.ranked
    assert ranked[0]["system"] in first.verdict and ranked[0]["printed"] in first.verdict
    assert not any("your own" in text for text, _ in first.warnings)


def test_the_best_published_system_under_the_retrained_attacker_is_named() -> None:
    """EERs of Table 11 of the supplement, with the weights 0.25, 0.2 and 0.05: 22.167 %."""
    data = read_report_data(ReportSources(published="vpc2020"))
    _, _, stronger = front(data).verdict.partition(". Against an attacker ")
    assert "semi-informed" in stronger and "M1 leaves the highest of 6: 22.17 %" in stronger
    beside = read_report_data(ReportSources(published="vpc2022"))
    assert ". Against" not in front(beside).verdict  # averages are of that attacker


@pytest.mark.parametrize(
    ("interval", "published", "said"),
    [
        (
            (0.3, 0.35),
            "vpc2024",
            "below its interval: A, B; within it (no difference shown): C, D;",
        ),
        (None, "vpc2024", ""),
        ((0.3, 0.35), "vpc2022", None),
        ((0.1, 0.9), "vpc2024", "attacker): within it (no difference shown): A, B, C, D, E."),
    ],
)
def test_what_published_values_say_about_a_system(
    interval: tuple[float, float] | None, published: str, said: str | None
) -> None:
    """Values at the ends are within; a value of another edition says nothing."""
    eers = {"A": 0.1, "B": 0.2999, "C": 0.3, "D": 0.35, "E": 0.36}
    low, high = interval or (None, None)
    rows: list[dict[str, Any]] = [{"system": s, "value": eer} for s, eer in eers.items()]
    rows.append({"system": "mine", "value": 0.32, "low": low, "high": high})
    ranked = sorted(rows, key=lambda row: -row["value"])
    ranking = SimpleNamespace(ranked=ranked, own={"mine"}, by_strongest=False)
    data: Any = SimpleNamespace(
        main_ranking=ranking,
        sources=SimpleNamespace(published=published),
        protocol=load_protocol("vpc2024"),
        systems_by_rank=["mine"],
    )
    sentences = list(_beside_published(data, "mine"))
    if said is None:
        assert sentences == []
        return
    *places, remedy = sentences
    assert "same tree" in remedy and "--bootstrap" in remedy
    assert len(places) == bool(said) and all(said in sentence for sentence in places)
    if said and interval == (0.3, 0.35):
        assert places[0].endswith("above it: E.")
