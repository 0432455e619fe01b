"""Tables of listening tests: the supplement's Tables 16 to 18, and one's own."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from support import B1, ODD_NAME, ROOT, imported

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.ratings import read_ratings
from privacy_eval.listening.evaluation import QUANTITIES, Subjective, evaluate_ratings
from privacy_eval.listening.tables import (
    QUANTITY_TITLES,
    TESTS,
    objective_and_subjective,
    p_value_text,
    subjective_tables,
    summary,
)
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_systems
from privacy_eval.report.latex import to_latex
from privacy_eval.report.table import Table
from privacy_eval.report.table_set import write_tables
from privacy_eval.report.text import to_csv
from privacy_eval.simulate.ratings import simulate_ratings

PLAN = load_protocol("vpc2020")
SUPPLEMENT = ROOT.parent / "shared" / "papers" / "vpc2020_supplement.txt"
KEY = "".join(
    f"{{0}}{e} {{0}}{s}-{u} {'target' if e == s else 'nontarget'}\n"
    for e in range(3)
    for s in range(3)
    for u in range(5)
)


def evaluated(folder: Path, *systems: str, **options: object) -> Subjective:
    places = [(d.id, g) for d in PLAN.data_sets for g in PLAN.genders]
    text = simulate_ratings(systems, {place: KEY.format("".join(place)) for place in places})
    path = folder / "ratings.csv"
    path.write_text(text)
    return evaluate_ratings(read_ratings([path]), PLAN, **options)[0]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def test(tmp_path_factory: pytest.TempPathFactory) -> Subjective:
    return evaluated(tmp_path_factory.mktemp("test"), "B1", "B2")


def own_tables(test: Subjective, published: str | None = None) -> dict[str, Table]:
    cells = objective_and_subjective(test, None, published)
    tables = subjective_tables(test, cells, PLAN, test.split, published=published)
    return {table.name: table for table in tables}


def published_tables() -> dict[str, Table]:
    cells = objective_and_subjective(None, None, "vpc2020")
    tables = subjective_tables(None, cells, PLAN, "test", published="vpc2020")
    return {table.name: table for table in tables}


# --- the supplement's tables


def printed(table: Table) -> list[list[str]]:
    """Rows that LaTeX prints, header first, headings of blocks left out."""
    rows = []
    for line in to_latex(table).splitlines():
        if line.endswith(r" \\"):
            line = line.removesuffix(r" \\").replace(r"$\ll$", "<<")
            line = re.sub(r"\\textcolor\{\w+\}\{(.*?\})\}", r"\1", line)
            rows.append(
                [re.sub(r"\\textbf\{([^{}]*)\}", r"\1", c).strip() for c in line.split(" & ")]
            )
    return rows


def supplement_blocks() -> dict[str, list[list[str]]]:
    """Rows with tabs by what stands before them, of Tables 16 to 18."""
    blocks: dict[str, list[list[str]]] = {}
    number, before = 0, ""
    for line in SUPPLEMENT.read_text().splitlines():
        caption = re.match(r"Table (\d+):", line)
        if caption:
            number = int(caption[1])
        cells = line.split("\t")
        if number >= 16 and len(cells) > 5 and any(cells[1:]):
            while len(cells) > 11 and not cells[-1] and number == 18:
                cells = cells[:-1]
            plain = [c.replace(r"$\ll 0.01$", "<< 0.01") for c in cells]
            blocks.setdefault(f"{number} {before}", []).append(plain)
        elif line.strip():
            before = line.strip()
    return blocks


@pytest.mark.skipif(not SUPPLEMENT.is_file(), reason="the papers are not there")
def test_tables_16_and_17_are_regenerated_digit_for_digit() -> None:
    made, wanted = published_tables(), supplement_blocks()
    for name, number, letters in (
        ("subjective_tests_similarity", 16, ["(a) Same-speaker", "(b) Different-speaker"]),
        ("subjective_tests_speech", 17, ["(a) Naturalness", "(b) Intelligibility"]),
    ):
        header, *rows = printed(made[name])
        for place, letter in enumerate(letters):
            expected = wanted[f"{number} {letter}"]
            assert header == expected[0]
            assert rows[10 * place : 10 * place + 10] == expected[1:]
        assert len(rows) == 20


@pytest.mark.skipif(not SUPPLEMENT.is_file(), reason="the papers are not there")
def test_table_18_is_regenerated_digit_for_digit() -> None:
    made = published_tables()["objective_subjective"]
    wanted = [rows for name, rows in supplement_blocks().items() if name.startswith("18 ")]
    assert len(wanted) == 8
    header, *rows = printed(made)
    for place, block in enumerate(wanted):
        assert header == block[0]
        assert rows[6 * place : 6 * place + 6] == block[1:]
    kinds = [h.title.rpartition(" \u2013 ")[2] for h in made.headings]
    assert kinds == ["objective", "subjective"] * 4


def test_significant_p_values_are_bold() -> None:
    for name in TESTS:
        table = published_tables()[name]
        for i, row in enumerate(table.rows):
            for j, cell in enumerate(row[1:], start=1):
                significant = cell == "<< 0.01" or (cell != "" and Decimal(cell) < Decimal("0.01"))
                assert ((i, j) in table.bold) is significant
        assert 0 < len(table.bold) < 180


def test_names_are_coloured_by_family() -> None:
    family = {s.id: s.family for s in load_systems("vpc2020").systems}
    for table in published_tables().values():
        for column in table.columns:
            colours = {"B1": "blue", "B2": "red"}
            assert column.colour == colours.get(family.get(column.title, ""))


@pytest.mark.parametrize(
    ("p_value", "text"),
    [
        (1.0, "1.000"),
        (0.0105, "0.011"),
        (0.01, "0.010"),
        (0.0099, "0.0099"),
        (0.00057, "0.0006"),
        (1e-4, "0.0001"),
        (9.99e-5, "<< 0.01"),
        (0.0, "<< 0.01"),
    ],
)
def test_p_values_are_printed_as_in_the_supplement(p_value: float, text: str) -> None:
    assert p_value_text(p_value) == text


# --- one's own test


def test_own_tests_fill_both_triangles(test: Subjective) -> None:
    tables = own_tables(test)
    for name, (_, quantities) in TESTS.items():
        rows = list(csv.reader(io.StringIO(to_csv(tables[name]))))
        assert rows[0] == ["Block", "", "Original", "B1", "B2"]
        for t in test.tests:
            if t.quantity not in quantities:
                continue
            block = rows[1 + 3 * quantities.index(t.quantity) :][:3]
            at = {row[1]: row for row in block}
            text = p_value_text(t.p_value)
            assert at[t.system][rows[0].index(t.other_system)] == text
            assert at[t.other_system][rows[0].index(t.system)] == text
            assert at[t.system][rows[0].index(t.system)] == ""


def test_holms_correction_is_shown_and_said(test: Subjective) -> None:
    corrected = own_tables(replace(test, holm=True))
    plain = own_tables(test)
    different = 0
    for name in TESTS:
        assert "with Holm's correction" in corrected[name].notes[0]
        assert "not corrected" in plain[name].notes[0]
        pairs = zip(corrected[name].rows, plain[name].rows, strict=True)
        different += sum(a != b for rows in pairs for a, b in zip(*rows, strict=True))
    expected = sum(p_value_text(t.p_value) != p_value_text(t.p_holm) for t in test.tests)
    assert different == 2 * expected > 0


def test_own_metrics_stand_in_the_form_of_table_18(test: Subjective) -> None:
    table = own_tables(test)["objective_subjective"]
    assert [h.title for h in table.headings] == [
        f"{metric} \u2013 subjective"
        for metric in ("EER, %", "ROCCH-EER, %", "min Cllr, bit", "Cllr, bit")
    ]
    (found,) = [
        d
        for d in test.detections
        if (d.quantity, d.system, d.data_set, d.gender) == ("similarity", "B2", "vctk_common", "f")
    ]
    rows = [r for r in table.rows if r[:2] == ("VCTK (common)", "female")]
    values = found.metrics["exact"]
    assert [r[-1] for r in rows] == [
        f"{100 * values['eer']:.3f}",
        f"{100 * values['rocch_eer']:.3f}",
        f"{values['cllr_min']:.3f}",
        f"{values['cllr']:.3f}",
    ]


def test_objective_values_stand_beside(test: Subjective) -> None:
    results = imported(B1)
    cells = objective_and_subjective(test, results)
    (table,) = [
        t for t in subjective_tables(test, cells, PLAN, "test") if t.name == "objective_subjective"
    ]
    assert len(table.headings) == 8
    assert "ignorant attack model" in table.caption
    (record,) = [
        r
        for r in results.verification
        if (r.condition.attack_model, r.condition.split, r.condition.data_set, r.condition.gender)
        == ("ignorant", "test", "libri", "f")
    ]
    row = table.groups[0][0]
    header = [c.title for c in table.columns]
    assert header == ["Data", "Gender", "Orig", "B1", "B2"]
    assert row[3] == f"{100 * record.metrics['challenge']['eer']:.3f}"
    assert row[4] == ""  # B2 has no objective results


def test_published_systems_stand_beside_own_ones(test: Subjective) -> None:
    tables = own_tables(test, "vpc2020")
    header = [c.title for c in tables["objective_subjective"].columns]
    assert header[2:7] == ["Orig", "B1", "B2", "B1 (published)", "O1"]
    own = [c.title for c in tables["objective_subjective"].columns if c.highlight]
    assert own == ["B1", "B2"]
    assert any("objective values as published" in n for n in tables["objective_subjective"].notes)
    for name in TESTS:
        assert len(tables[name].columns) == 4
        assert len(tables[f"{name}_published"].columns) == 11
    with pytest.raises(PrivacyEvalError, match="nothing published of this name"):
        own_tables(test, "vpc1999")


def test_the_variant_is_said_of_own_values_only(test: Subjective) -> None:
    alone = published_tables()["objective_subjective"]
    assert not any("exact" in note for note in alone.notes)
    for published in (None, "vpc2020"):
        notes = own_tables(test, published)["objective_subjective"].notes
        assert sum("(own systems: exact)" in note for note in notes) == 1


def test_the_summary_has_every_distribution(test: Subjective) -> None:
    table = own_tables(test)["subjective_summary"]
    assert [h.title for h in table.headings] == [QUANTITY_TITLES[q] for q in QUANTITIES]
    rows = [(d.system, str(d.n), f"{d.mean:.3f}") for d in test.distributions]
    assert [r[:3] for r in table.rows] == rows


def test_variants_that_print_differently_are_listed(test: Subjective) -> None:
    table = own_tables(test)["subjective_variants"]
    assert table.rows
    assert all(row[3] != row[4] for row in table.rows)
    shown = [
        d
        for d in test.detections
        if d.quantity == "similarity" and (d.data_set is None) == (d.gender is None)
    ]
    differ = sum(
        f"{d.metrics['exact']['cllr_min']:.3f}" != f"{d.metrics['challenge']['cllr_min']:.3f}"
        for d in shown
    )
    assert sum(row[2] == "min Cllr" for row in table.rows) == differ > 0


def test_evaluators_to_look_at_are_named(test: Subjective) -> None:
    table = own_tables(test)["subjective_evaluators"]
    assert {(r[0], r[1]) for r in table.rows} == {(e.evaluator, e.metric) for e in test.flagged}
    assert "listener05 (one value), " in summary(test)[1]
    assert "unless --leave-out names them" in summary(test)[1]
    assert "subjective_evaluators" not in own_tables(replace(test, evaluators=()))
    left_out = replace(test, evaluators_left_out=("listener17",))
    assert "Left out on request: listener17." in summary(left_out)
    assert "listener17" in own_tables(left_out)["subjective_summary"].notes[1]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_tables_of_odd_names_compile(tmp_path: Path) -> None:
    names = [ODD_NAME, "Orig $x$", *(f"long_system_name_{i}" for i in range(10))]
    test = evaluated(tmp_path, *names)
    cells = objective_and_subjective(test, None, "vpc2020")
    tables = subjective_tables(test, cells, PLAN, "test", published="vpc2020")
    files = write_tables(tmp_path / "tables", [tables], f"A test & {ODD_NAME}")
    before = {f.name: f.read_bytes() for f in files}
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "tables.tex"],
        cwd=tmp_path / "tables",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    again = write_tables(tmp_path / "tables", [tables], f"A test & {ODD_NAME}")
    assert {f.name: f.read_bytes() for f in again} == before
