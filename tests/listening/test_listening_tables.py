"""Tables of listening tests: the supplement's Tables 16 to 18, and those of a new test."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from latex_support import compiled, needs_latex
from listening_support import PROTOCOL, ratings_of, simulated
from support import B1, ODD_NAME, ROOT, changed, csv_rows, imported, record_at

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.listening.evaluation import (
    DETECTION_METRICS,
    QUANTITIES,
    ListeningTest,
    evaluate_ratings,
)
from privacy_eval.listening.tables import (
    TESTS,
    listening_test_tables,
    objective_and_subjective,
    objective_subjective_table,
    p_value_text,
    quantity_titles,
    summary,
)
from privacy_eval.report.table import Table
from privacy_eval.report.table_formats import write_tables
from privacy_eval.results.measurements import PRESENT

ALL = [(d.id, g) for d in PROTOCOL.data_sets for g in PROTOCOL.genders]


def evaluated(folder: Path, *systems: str) -> ListeningTest:
    ratings = ratings_of(simulated(*systems, places=ALL), folder)
    return evaluate_ratings(ratings, PROTOCOL)[0]


@pytest.fixture(scope="module")
def test(tmp_path_factory: pytest.TempPathFactory) -> ListeningTest:
    return evaluated(tmp_path_factory.mktemp("test"), "B1", "B2")


def tables_of(test: ListeningTest | None, published: str | None = None) -> dict[str, Table]:
    cells = objective_and_subjective(test, None, published)
    tables = listening_test_tables(test, cells, PROTOCOL, "test", published=published)
    return {table.name: table for table in tables}


def published_rows(name: str) -> list[dict[str, str]]:
    return csv_rows(ROOT / "conf" / "published" / name)


def test_p_values_of_tables_16_and_17_are_printed_digit_for_digit() -> None:
    tables = tables_of(None, "vpc2020")
    printed = {}
    for name, quantities in zip(TESTS, (QUANTITIES[2:], QUANTITIES[:2]), strict=True):
        names = [column.title.replace("Original", "Orig") for column in tables[name].columns[1:]]
        for quantity, rows in zip(quantities, tables[name].groups, strict=True):
            assert [row[0].replace("Original", "Orig") for row in rows] == names
            for row in rows:
                system = row[0].replace("Original", "Orig")
                cells = zip(names, row[1:], strict=True)
                printed.update({(quantity, system, n): text for n, text in cells if text})
    assert printed == {
        (p["metric"].removeprefix("subjective_"), p["system"], p["other_system"]): p[
            "value"
        ].replace("<<", "<")
        for p in published_rows("vpc2020_p_values.csv")
    }


def test_values_of_table_18_are_printed_digit_for_digit() -> None:
    table = tables_of(None, "vpc2020")["objective_subjective"]
    kinds = [heading.title.rpartition(" \u2013 ")[2] for heading in table.headings]
    assert kinds == ["objective", "subjective"] * 4
    titles = {d.title: d.id for d in PROTOCOL.data_sets}
    genders = {title: gender for gender, title in PROTOCOL.genders.items()}
    keys = [f"{p}{m}" for m in DETECTION_METRICS for p in ("", "subjective_")]
    printed = {
        (key, titles[row[0]], genders[row[1]], column.title): text
        for key, rows in zip(keys, table.groups, strict=True)
        for row in rows
        for column, text in zip(table.columns[2:], row[2:], strict=True)
        if text
    }
    assert printed == {
        (p["metric"], p["data_set"], p["gender"], p["system"]): p["value"]
        for p in published_rows("vpc2020.csv")
        if p["table"] == "18"
    }


def test_significant_p_values_are_bold() -> None:
    for name in TESTS:
        table = tables_of(None, "vpc2020")[name]
        for i, row in enumerate(table.rows):
            for j, cell in enumerate(row[1:], start=1):
                significant = cell == "< 0.01" or (cell != "" and Decimal(cell) < Decimal("0.01"))
                assert ((i, j) in table.bold) is significant
        assert 0 < len(table.bold) < 180


def test_p_values_are_formatted_as_in_the_supplement() -> None:
    values = (1.0, 0.0105, 0.01, 0.0099, 0.00057, 1e-4, 9.99e-5, 0.0)
    texts = ("1.000", "0.011", "0.010", "0.0099", "0.0006", "0.0001", "< 0.0001", "< 0.0001")
    assert tuple(map(p_value_text, values)) == texts


def test_holm_correction_is_printed_with_a_note(test: ListeningTest) -> None:
    corrected = tables_of(replace(test, holm=True))
    plain = tables_of(test)
    different = 0
    for name in TESTS:
        assert "with Holm's correction" in corrected[name].notes[1]
        assert "not corrected" in plain[name].notes[1]
        assert "overstate" in plain[name].caption and "independent" in plain[name].notes[0]
        pairs = zip(corrected[name].rows, plain[name].rows, strict=True)
        different += sum(a != b for rows in pairs for a, b in zip(*rows, strict=True))
    tests = test.measurements.select(metric="mann_whitney")
    expected = sum(p_value_text(t["p"]) != p_value_text(t["p_corrected"]) for t in tests)
    assert different == 2 * expected > 0


def value_of(test: ListeningTest, *place: str) -> Mapping[str, float]:
    """Metrics of similarity ratings by system, data set and gender."""
    of = test.detections[("similarity", *place)]
    return {row["metric"]: row["value"] for row in of if row.get("variant") == "exact"}


def test_subjective_metrics_have_the_form_of_table_18(test: ListeningTest) -> None:
    table = tables_of(test)["objective_subjective"]
    titles = ("EER, %", "ROCCH-EER, %", "min Cllr, bit", "Cllr, bit")
    assert [h.title for h in table.headings] == [f"{title} \u2013 subjective" for title in titles]
    values = value_of(test, "B2", "vctk_common", "f")
    rows = [r for r in table.rows if r[:2] == ("VCTK (common)", "female")]
    percent = [100 * values["eer"], 100 * values["rocch_eer"], values["cllr_min"], values["cllr"]]
    assert [r[-1] for r in rows] == [f"{value:.3f}" for value in percent]


def test_objective_values_of_the_same_systems_are_shown(test: ListeningTest) -> None:
    """By the challenge's own attacker, whatever others reach."""
    results = imported(B1)
    others = tuple(
        changed(r, attacker="words", metrics={"challenge": {"eer": 0.01}})
        for r in results.verification
    )
    every = replace(results, verification=(*others, *results.verification))
    cells = objective_and_subjective(test, every)
    table = objective_subjective_table(cells, PROTOCOL, "test")
    assert len(table.headings) == 8
    assert "ignorant attack model" in table.caption
    record = record_at(results, "ignorant", "test", "libri", "f")
    row = table.groups[0][0]
    header = [c.title for c in table.columns]
    assert header == ["Data", "Gender", "Orig", "B1", "B2"]
    assert row[3] == f"{100 * record.values('challenge')['eer']:.3f}"
    assert row[4] == ""  # B2 has no objective results


def test_published_systems_are_shown_with_submitted_ones(test: ListeningTest) -> None:
    tables = tables_of(test, "vpc2020")
    header = [c.title for c in tables["objective_subjective"].columns]
    assert header[2:7] == ["Orig", "B1", "B2", "B1 (published)", "O1"]
    own = [c.title for c in tables["objective_subjective"].columns if c.highlight]
    assert own == ["B1", "B2"]
    assert any("objective values as published" in n for n in tables["objective_subjective"].notes)
    for name in TESTS:
        assert len(tables[name].columns) == 4
        assert len(tables[f"{name}_published"].columns) == 11
    with pytest.raises(PrivacyEvalError, match="vpc1999"):
        tables_of(test, "vpc1999")


def test_variant_is_stated_for_submitted_systems_only(test: ListeningTest) -> None:
    alone = tables_of(None, "vpc2020")["objective_subjective"]
    assert not any("exact" in note for note in alone.notes)
    for published in (None, "vpc2020"):
        notes = tables_of(test, published)["objective_subjective"].notes
        assert sum("(submitted systems: exact)" in note for note in notes) == 1


def test_the_summary_has_every_distribution(test: ListeningTest) -> None:
    table = tables_of(test)["subjective_summary"]
    assert [h.title for h in table.headings] == [quantity_titles()[q] for q in QUANTITIES]
    means = test.measurements.select(metric="rank_mean")
    rows = [(d["system"], str(d["n_ratings"]), f"{d['value']:.3f}") for d in means]
    assert [r[:3] for r in table.rows] == rows


def test_mean_opinions_and_their_differences_are_tabulated(test: ListeningTest) -> None:
    tables = tables_of(test)
    opinions, differences = (tables[f"subjective_{n}"] for n in ("opinions", "opinion_tests"))
    assert "from 1 to 10" in opinions.caption and "speakers" in opinions.notes[0]
    of = test.measurements.select(metric="opinion", against=None)
    for row, o in zip(opinions.rows, of, strict=True):
        numbers = (o["n_ratings"], o["n_listeners"], o["n_speakers"])
        assert row[:4] == (o["system"], *map(str, numbers))
        assert row[4] == f"{o['value']:.2f} [{o['low']:.2f}, {o['high']:.2f}]"
    of = test.measurements.select(metric="opinion", against=PRESENT)
    for number, (row, t) in enumerate(zip(differences.rows, of, strict=True)):
        assert row[:2] == (t["system"], t["against"])
        assert row[2].startswith(f"{t['value']:+.2f} [{t['low']:.2f}, ")
        assert ((number, 4) in differences.bold) == (t["p_corrected"] < 0.05)
        excludes_zero = t["low"] > 0 or t["high"] < 0
        assert excludes_zero or (number, 4) not in differences.bold
    assert 0 < len(differences.bold) < len(differences.rows)
    without = {"measurements": test.measurements.select(against=None)}
    alone = replace(test, opinion_units="utterances", ignored_columns=("age",), **without)
    tables = tables_of(alone)
    assert "no column speaker" in tables["subjective_opinions"].notes[0]
    assert "subjective_opinion_tests" not in tables
    assert any("age" in line for line in summary(alone))


def test_variants_that_print_differently_are_listed(test: ListeningTest) -> None:
    table = tables_of(test)["subjective_variants"]
    assert all(exact != challenge for *_, exact, challenge in table.rows)
    differ = 0
    for (quantity, _, data_set, gender), of in test.detections.items():
        if quantity == "similarity" and (data_set is None) == (gender is None):
            texts = {f"{row['value']:.3f}" for row in of if row["metric"] == "cllr_min"}
            differ += len(texts) > 1
    assert sum(row[2] == "min Cllr" for row in table.rows) == differ > 0


def test_blocks_of_significance_tests_are_lettered(tmp_path: Path, test: ListeningTest) -> None:
    headings = [h.title for h in tables_of(test)["subjective_tests_speech"].headings]
    assert headings == ["(a) Naturalness", "(b) Intelligibility"]
    lines = (f"{e},{s},{s}-{e},{1 + n + e}" for e in range(3) for n, s in enumerate(("B1", "B2")))
    text = "\n".join(["evaluator,system,trial,intelligibility", *lines, ""])
    alone = evaluate_ratings(ratings_of(text, tmp_path), PROTOCOL)[0]
    table = tables_of(alone)["subjective_tests_speech"]
    assert [h.title for h in table.headings] == ["(a) Intelligibility"]
    assert "ubjective intelligibility (" in table.caption


def test_flagged_evaluators_are_named(test: ListeningTest) -> None:
    table = tables_of(test)["subjective_evaluators"]
    flagged = {(e["evaluator"], e["quantity"]) for e in test.flagged}
    assert {(r[0], r[1]) for r in table.rows} == flagged
    assert "listener05 (one value), " in summary(test)[1]
    assert "subjective_evaluators" not in tables_of(
        replace(test, measurements=test.measurements.select(evaluator=None))
    )
    left_out = replace(test, evaluators_left_out=("listener17",))
    assert "Left out on request: listener17." in summary(left_out)
    assert "listener17" in tables_of(left_out)["subjective_summary"].notes[1]


@needs_latex
def test_tables_of_odd_names_compile(tmp_path: Path) -> None:
    names = [ODD_NAME, "Orig $x$", *(f"long_system_name_{i}" for i in range(10))]
    test = evaluated(tmp_path, *names)
    cells = objective_and_subjective(test, None, "vpc2020")
    tables = listening_test_tables(test, cells, PROTOCOL, "test", published="vpc2020")
    write_tables(tmp_path / "tables", [tables], f"A test & {ODD_NAME}")
    compiled(tmp_path / "tables")
