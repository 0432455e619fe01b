"""What the main results and the first screen of the report say of the results they are of."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import B1, B2, Tree, cli, imported, scored, three_conditions

from privacy_eval.metrics import METRICS
from privacy_eval.numbers.cells import (
    ORIGINAL_COLUMN,
    cells_from_published,
    cells_from_results,
    merge_cells,
)
from privacy_eval.numbers.means import Means
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.products.freshness import key_path
from privacy_eval.protocol.published import load_published_results
from privacy_eval.report import main_results
from privacy_eval.report.answer import attack_rows
from privacy_eval.report.latex import Layout
from privacy_eval.report.main_results import main_results_table, summary_table
from privacy_eval.report.sections import report_sections
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.measurements import Row
from privacy_eval.results.records import Results, merge

UNSIGNED = "not made by this user"

PUBLISHED = cells_from_published(load_published_results("vpc2020"))


def in_part(results: Results, data_set: str) -> Results:
    records = (r for r in results.verification if r.condition.data_set == data_set)
    return replace(results, verification=tuple(records), recognition=())


def test_missing_data_sets_are_named() -> None:
    whole = imported(B1, system="mine")
    assert len(whole.verification) == 36 and not ReportData(whole).gaps
    results = in_part(whole, "libri")
    data = ReportData(results, cells_from_results(results))
    front, _, _ = report_sections(replace(data, sources=ReportSources((Path("results.json"),))))
    table = main_results_table(data)
    assert [table.columns[n].title for n in Layout(table).named] == [
        *("System", "Split", "Attack model")
    ]
    for lines in (dict(front.warnings), table.notes):
        (line,) = (text for text in lines if "of the protocol's" in text)
        assert line.startswith("mine: 12 of the protocol's 36 conditions; missing: ")
        titles = [d.title for d in results.protocol.data_sets if d.id != "libri"]
        # Both genders under the attack models that need no retrained model.
        assert all(f"{title} {split} (6)" in line for title in titles for split in ("dev", "test"))
        assert "LibriSpeech" not in line
        assert any("no table of averages" in text for text in lines)


def test_original_speech_comes_first_and_columns_have_values() -> None:
    whole = imported(B1, system="mine")
    table = main_results_table(ReportData(whole, cells_from_results(whole)))
    titles = [column.title for column in table.columns]
    assert any("WER" in title for title in titles)
    assert not any("UAR" in title for title in titles)
    n_splits = len(whole.protocol.splits)
    assert [row[0] for row in table.rows[: n_splits + 1]] == ["Original speech"] * n_splits + [
        "mine"
    ]
    cells = cells_from_results(whole)
    for row, split in zip(table.rows, whole.protocol.splits, strict=False):
        value = Means(cells, whole.protocol).of("eer", "original", split, ORIGINAL_COLUMN)["value"]
        assert value is not None
        assert row[titles.index("EER, %")] == METRICS["eer"].format(value)
    assert all(any(row[n] not in ("", "n/a") for row in table.rows) for n in range(6, len(titles)))


@pytest.mark.parametrize("number", [0, 5, 9])
def test_the_closing_summary_is_short(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most eight columns and five notes; its numbers are those of the main results."""
    results = merge([imported(B1, system="one"), imported(B2, system="two")])
    data = ReportData(results, cells_from_results(results))
    monkeypatch.setattr(
        main_results, "front_cautions", lambda _: map("Note {}.".format, range(number))
    )
    table, whole = summary_table(data), main_results_table(data)
    assert table is not None and whole is not None
    assert [row[0] for row in table.rows] == [*attack_rows(data)]
    assert len(table.columns) <= 8 and len(table.notes) == min(number, 5)
    if number > 5:
        assert table.notes[0] == "Note 0" and str(number - 4) in table.notes[-1]
    title = data.protocol.split_title(data.main_split)
    eer = [c.title for c in table.columns].index("EER, %")
    column = [c.title for c in whole.columns].index("EER, %")
    for row in table.rows:
        every = [r[column] for r in whole.rows if r[:2] == (row[0], title)]
        assert row[eer] == min(every, key=float)


def test_the_closing_summary_has_no_more_columns_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = imported(B1, system="one")
    data = ReportData(whole, cells_from_results(whole))
    row: Row = {"printed": "1"}
    monkeypatch.setattr(main_results, "costs", lambda _: dict.fromkeys(METRICS, {"one": row}))
    named = {"named": {"one": "2"}, "least protected": {"one": "3"}}
    vars(data)["disclosed"] = SimpleNamespace(columns=lambda: named)
    table = summary_table(data)
    assert table is not None and len(table.columns) == 8


def test_averages_with_missing_parts_say_so_in_a_note() -> None:
    results = imported(B1, system="mine")
    results = replace(results, recognition=())
    tables = system_tables(ReportData(results), "mine", "")
    table = next(t for t in tables if t.name == "averages")
    assert table.caption == "The challenge's averages: mine."
    (note,) = (note for note in table.notes if "missing" in note)
    assert "WER, %, anon" in note and "itch" not in note  # which is not of this edition


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = three_conditions(tmp_path_factory.mktemp("tree"))
    common = ("--tree", tree.root, "--results", "exp", "--out", "out")
    assert cli("stage", "privacy-metrics", *common).code == 0
    assert not cli("stage", "collect", *common, "--allow-missing").out.endswith(" (unchanged)\n")
    assert cli("stage", "collect", *common, "--allow-missing").out.endswith(" (unchanged)\n")
    return tree


def products(tree: Tree) -> dict[str, str]:
    out = tree.root / "out"
    results = ("--results", out / "results.json")
    assert cli("tables", *results, "--out", out / "tables").code == 0
    assert cli("report", *results, "--out", out / "report.html").code == 0
    page = (out / "report.html").read_text()
    first = page.partition('<section id="details">')[2].partition("<table")[0]
    texts = {path.name: path.read_text() for path in (out / "tables").glob("*.txt")}
    return {**texts, "report.html": first}


def test_results_of_others_are_named_in_products(tree: Tree) -> None:
    for name, text in products(tree).items():
        assert UNSIGNED not in text, name
    path = tree.root / "out/results.json"
    made = path.read_bytes()
    path.write_bytes(made.replace(b'"system": "now"', b'"system": "won"'))
    assert path.read_bytes() != made
    for name, text in products(tree).items():
        assert f"results.json (won): {UNSIGNED}" in text, name
    path.write_bytes(made)
    assert not any(UNSIGNED in text for text in products(tree).values())
    key, state = key_path(), tree.root / "state"
    assert key.is_file()
    before = os.environ["XDG_STATE_HOME"]
    os.environ["XDG_STATE_HOME"] = str(state)  # another user
    try:
        assert all(UNSIGNED in text for text in products(tree).values())
    finally:
        os.environ["XDG_STATE_HOME"] = before


def test_intervals_that_are_absent_or_too_narrow_are_explained(tree: Tree) -> None:
    common = ("--tree", tree.root, "--results", "exp", "--out", "boot")
    assert cli("stage", "privacy-metrics", *common, "--bootstrap", 5).code == 0
    assert cli("stage", "collect", *common, "--allow-missing").code == 0
    data = read_report_data(ReportSources((tree.root / "boot/results.json",)))
    table = main_results_table(data)
    assert table is not None and not any(row[5] for row in table.rows)
    assert any("95 % interval: only where every condition" in note for note in table.notes)
    assert any("Too few bootstrap replicates" in note for note in table.notes)


@pytest.mark.parametrize(
    ("better", "too_few", "said"),
    [
        (True, "", "is significant"),
        (False, "", "is not significant"),
        (False, "speakers", "Too few speakers to test"),
    ],
)
def test_only_a_significant_difference_is_no_perhaps(better: bool, too_few: str, said: str) -> None:
    results = merge([imported(B1, system="one"), imported(B2, system="two")])
    data = ReportData(results, cells_from_results(results))
    first, second = data.main_ranking.ranked
    tested = {"against": second["system"], "value": 0.1, "low": 0.01, "high": 0.2}
    tested |= {"better": better, "too_few": too_few}
    ranked = ({**first, "next": tested}, second)
    vars(data)["main_ranking"] = replace(data.main_ranking, ranked=ranked)
    verdict = report_sections(data)[0].verdict
    assert (said in verdict, verdict.startswith("Perhaps ")) == (True, not better)


def test_published_word_error_rates_do_not_fill_in_for_ones_own() -> None:
    """Nothing in the row of original speech would say whose they are."""
    whole = imported(B1, system="mine")
    own = replace(
        whole, recognition=tuple(r for r in whole.recognition if r.condition.trial != "original")
    )
    assert 0 < len(own.recognition) < len(whole.recognition)
    published = cells_from_published(load_published_results("vpc2022"))
    assert published.get("wer", None, "test", "libri", "", ORIGINAL_COLUMN) is not None
    for results, is_there in ((whole, True), (own, False)):
        cells = merge_cells([cells_from_results(results), published])
        table = main_results_table(ReportData(results, cells))
        column = [c.title for c in table.columns].index("WER, %")
        original = [row[column] for row in table.rows if row[0] == "Original speech"]
        assert original and (original == ["n/a"] * len(original)) != is_there


def test_the_first_screen_answers_about_the_evaluated_systems() -> None:
    """Not about published ones beside them."""
    results = merge([imported(B1, system="one"), imported(B2, system="two")])
    own = cells_from_results(results)
    alone, beside = (
        report_sections(ReportData(results, cells))[0]
        for cells in (own, merge_cells([own, PUBLISHED]))
    )
    better = alone.verdict.partition(" ")[0]
    for front in (alone, beside):
        assert [system for system, _ in front.answers][0] == better
        assert f"{better} protects better: EER" in front.verdict
        assert f"% of {'two' if better == 'one' else 'one'}" in front.verdict  # not "the next"
        assert "without bootstrap replicates" in front.verdict
    assert "published" not in alone.verdict and "with published ones" in beside.verdict
    for speakers, said in ((19, False), (20, True)):
        few = replace(
            results,
            verification=tuple(scored(r, n_speakers=speakers) for r in results.verification),
        )
        cells = merge_cells([cells_from_results(few), PUBLISHED])
        front = report_sections(ReportData(few, cells))[0]
        assert ("with published ones" in front.verdict) == said
    tied = merge([imported(B1, system="one"), imported(B1, system="two")])
    verdict = report_sections(ReportData(tied, cells_from_results(tied)))[0].verdict
    assert "one and two leave the same EER" in verdict and "protects" not in verdict
    sentences = " ".join(alone.answers[0][1])
    assert "Guessing gives 50 %" in sentences and "does not know of the anonymization" in sentences
    values = {
        f"{METRICS['eer'].format(value)} %"
        for attack in ("ignorant", "lazy-informed")
        for value in [Means(own, results.protocol).of("eer", attack, "test", better)["value"]]
        if value is not None
    }
    assert len(values) == 2 and all(f"EER {value}" in sentences for value in values)
