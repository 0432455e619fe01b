"""Privacy against utility: tables, thresholds and the plane."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from support import (
    PUBLISHED_FILES,
    csv_rows,
    recognized,
    rows_record,
    scored,
    verification_record,
    with_line,
    with_row,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.io.wer import WerLine
from privacy_eval.metrics.utility import SpeakerErrors
from privacy_eval.numbers.cells import cells_from_published, cells_from_results, merge_cells
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published, load_published_results, load_systems
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.report.figures.plane import figures, pareto_front
from privacy_eval.report.first_screen import front, text_for_a_paper
from privacy_eval.report.main_results import main_results_table, ranking_table
from privacy_eval.report.side_by_side import paper_tables
from privacy_eval.report.table import Table
from privacy_eval.report.table_formats import table_files, to_csv
from privacy_eval.report.utility_tables import threshold_note, utility_tables
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.measurements import rows_of_values
from privacy_eval.results.records import Results, line_of
from privacy_eval.tree.conditions import recognition_conditions, trial_conditions

PROTOCOL = load_protocol("vpc2024")
MAIN, ORIGINAL = PROTOCOL.results_folders


def results_of(values: Mapping[str, tuple[float, float | None, float | None]]) -> Results:
    """Systems with an EER, a WER and a UAR on the test set."""
    verification, recognition, emotion = [], [], []
    for system, (eer, wer, uar) in values.items():
        for c in trial_conditions(PROTOCOL, MAIN, "_anon", system).values():
            if (c.split, c.attack_model) == ("test", "semi-informed"):
                metrics = {"challenge": {"eer_speechbrain": eer, "eer": 0.01}}
                verification.append(verification_record(c, metrics))
        for d in recognition_conditions(PROTOCOL, ORIGINAL, "_anon", system).values():
            if (d.data_set, d.split, d.trial) == ("libri", "test", "anonymized") and wer:
                line = WerLine(wer, *(None,) * 5, "asr/x", None, None)
                models = {"language_model": "none", "asr_model": "original"}
                recognition.append(recognized(d, line, **models))
            if (d.data_set, d.split, d.trial) == ("IEMOCAP", "test", "anonymized") and uar:
                emotion.append(rows_record("emotion", d, [{"metric": "uar", "value": uar}]))
    return Results(PROTOCOL, tuple(verification), tuple(recognition), emotion=tuple(emotion))


def test_the_main_results_have_the_eer_of_the_protocol() -> None:
    table = main_results_table(data_of(results_of({"a": (0.12, 0.05, 0.60)})))
    assert table is not None and table.columns[4].title == "EER (SpeechBrain), %"
    assert [row[4] for row in table.rows] == ["12.00"]
    titles = [column.title for column in table.columns]
    assert titles[-2:] == ["WER, %", "UAR, %"] and not any("DeID" in title for title in titles)
    assert table.rows[0][-2:] == ("5.00", "60.00")


def data_of(results: Results, published: str = "") -> ReportData:
    cells = cells_from_results(results)
    if published:
        document = load_published_results(published)
        beside = cells_from_published(document, beside=cells.systems)
        cells = merge_cells([cells, beside])
    return ReportData(results, cells, sources=ReportSources(published=published))


FOUR = results_of(
    {
        "a": (0.12, 0.05, 0.60),
        "b": (0.31, 0.04, 0.50),
        "c": (0.35, 0.09, 0.55),
        "d": (0.05, 0.03, 0.70),
        "e": (0.45, None, 0.40),
    }
)


def tables_of(data: ReportData) -> dict[str, Table]:
    return {table.name: table for table in utility_tables(data)}


def test_thresholds_by_hand() -> None:
    table = tables_of(data_of(FOUR))["thresholds_test"]
    assert [h.title for h in table.headings] == [f"EER of {n} % or more" for n in (10, 20, 30, 40)]
    names = [[row[0] for row in group] for group in table.groups]
    assert names == [["b", "a", "c", "e"], ["b", "c", "e"], ["b", "c", "e"], ["e"]]
    # Of those at 10 % or more: the WER of b is the least, the UAR of a the greatest.
    assert [row[2:] for row in table.groups[0]] == [
        ("4.00", "1", "50.00", "3"),
        ("5.00", "2", "60.00", "1"),
        ("9.00", "3", "55.00", "2"),
        ("", "", "40.00", "4"),
    ]


def test_thresholds_within_an_interval_are_named() -> None:
    bounds = {"a": (None, None), "b": (0.29, 0.33), "c": (0.31, 0.39), "d": (0.35, 0.41)}
    systems = [
        {"system": s, "utility": {"wer": {}} if s != "d" else {}, "low": low, "high": high}
        for s, (low, high) in bounds.items()
    ]
    data = SimpleNamespace(protocol=PROTOCOL, trade_offs={"test": systems})
    note = threshold_note(cast(ReportData, data), "test")
    assert note.endswith("a threshold: b (30 %)") and "without their uncertainty" in note
    without = threshold_note(data_of(FOUR), "test")
    assert without in note and "interval" not in without
    assert without in tables_of(data_of(FOUR))["thresholds_test"].notes
    assert without in paper_tables(data_of(FOUR))[0].notes


def with_interval(results: Results) -> Results:
    bounds = {"challenge": {"eer_speechbrain": (0.1, 0.2)}}
    records = (scored(r, speaker_intervals=bounds) for r in results.verification)
    return replace(results, verification=tuple(records))


@pytest.mark.wing("disclosure")
def test_word_errors_of_other_words_are_marked_and_not_ranked() -> None:
    from privacy_eval.disclosure.gate import Policy, Rule, judge

    lines = (
        with_line(r, words=1000 if r.condition.system == "b" else 15355) for r in FOUR.recognition
    )
    results = replace(FOUR, recognition=tuple(lines))
    data = data_of(results)
    thresholds = tables_of(data)["thresholds_test"]
    assert {row[0]: row[2:4] for row in thresholds.groups[0]} == {
        "a": ("5.00", "1"),
        "c": ("9.00", "2"),
        "b": ("", ""),
        "e": ("", ""),
    }
    utility = tables_of(data)["utility_test"]
    assert [cell for cell in utility.rows[0] if cell.endswith("?")] == ["4.00?"]
    for table in (utility, thresholds):
        assert any("libri_test_asr_anon: 1000 words, most have 15355" in n for n in table.notes)
    rule = Rule("words", "wer", at_most=0.06, interval="optional")
    (verdict,) = judge(Policy((rule,)), results)
    told = [case.of for case in verdict.cases if "another number of words" in case.reason]
    assert [of.split(",")[0] for of in told] == ["b"]


@pytest.mark.wing("disclosure")
@pytest.mark.parametrize("has_path", [True, False])  # as best_wer.sh appends it, or not
def test_partial_word_errors_are_marked_and_not_averaged(has_path: bool) -> None:
    from privacy_eval.disclosure.gate import Policy, Rule, judge

    lines = (
        with_line(r, partial=True, decode=line_of(r).decode * has_path).with_facts(
            **({} if has_path else {"language_model": None, "asr_model": None}),
        )
        if r.condition.system == "b"
        else r
        for r in FOUR.recognition
    )
    results = replace(FOUR, recognition=tuple(lines))
    data = data_of(results)
    reason = "partial: recognition of some utterances is missing"
    tables = tables_of(data)
    assert {row[0]: row[2] for row in tables["thresholds_test"].rows}["b"] == ""
    utility = tables["utility_test"]
    assert "4.00?" in utility.rows[0] and any(reason in note for note in utility.notes)
    assert "b" not in artists(next(iter(figures(data))))[0]
    rule = Rule("words", "wer", at_most=0.06, interval="optional")
    (verdict,) = judge(Policy((rule,)), results)
    assert [case.of.split(",")[0] for case in verdict.cases if case.reason == reason] == ["b"]
    measured = results.measurements
    assert [r["system"] for r in measured if reason in r["caveats"].values()] == ["b"]


def test_a_threshold_that_no_system_reaches_says_none() -> None:
    table = tables_of(data_of(results_of({"a": (0.12, 0.05, 0.60), "b": (0.15, 0.04, 0.5)})))
    groups = table["thresholds_test"].groups
    assert [[row[0] for row in group] for group in groups] == [["b", "a"], *[["none"]] * 3]


def test_results_txt_tells_two_eers_apart() -> None:
    text = to_results_txt(results_of({"a": (0.12, None, None)}), "a", "")
    assert "  EER: 1%\n" in text and "  EER (SpeechBrain): 12.000%\n" in text


def test_utility_side_by_side() -> None:
    table = tables_of(data_of(FOUR))["utility_test"]
    assert [column.title for column in table.columns] == ["Data", *"abcde"]
    assert [row[0] for row in table.rows] == ["libri_test", "IEMOCAP_test"]
    assert table.rows[0][1:] == ("5.00", "4.00", "9.00", "3.00", "")
    assert table.notes == ("e: no WER",)
    assert "utility_dev" not in tables_of(data_of(FOUR))


def test_pareto_front_by_hand() -> None:
    points = [(1.0, 5.0), (2.0, 4.0), (2.0, 3.0), (3.0, 1.0), (2.5, 1.0), (1.0, 5.0)]
    assert pareto_front(points) == [(1.0, 5.0), (2.0, 4.0), (3.0, 1.0)]


def artists(drawing: Drawing) -> list[dict[str, list[tuple[float, float]]]]:
    """Named lines of each panel."""
    return [
        {
            str(line.get_gid()): [(float(x), float(y)) for x, y in line.get_xydata()]
            for line in axes.get_lines()
            if line.get_gid()
        }
        for axes in drawing.canvas.axes
    ]


def test_plane_has_the_points_of_both_values() -> None:
    (drawing,) = figures(data_of(FOUR))
    wer, uar = artists(drawing)
    assert drawing.name == "plane_test" and "not drawn there: e" in drawing.caption
    assert wer.keys() == {*"abcd", "Pareto front"} and uar.keys() == {*"abcde", "Pareto front"}
    assert wer["a"] == [(pytest.approx(12), pytest.approx(5))]
    assert [round(x) for x, _ in wer["Pareto front"]] == [5, 31, 35]
    assert [round(x) for x, _ in uar["Pareto front"]] == [5, 12, 35, 45]


def test_incomplete_systems_are_not_drawn() -> None:
    """e has the best EER, and would be on the front of EER and recall."""
    records = tuple(
        scored(r, trials_without_score=int(r.condition.system == "e")) for r in FOUR.verification
    )
    data = data_of(replace(FOUR, verification=records))
    (drawing,) = figures(data)
    uar = artists(drawing)[1]
    assert "e" not in uar and "uninformative: e." in drawing.caption
    assert [round(x) for x, _ in uar["Pareto front"]] == [5, 12, 35]
    (table,) = (t for n, t in tables_of(data).items() if n == "thresholds_test")
    assert {row[0] for row in table.rows} & {"c", "e"} == {"c"}


def test_plane_has_intervals_of_word_error_rates() -> None:
    results = results_of({"a": (0.12, 0.05, 0.60), "b": (0.3, 0.06, 0.55)})
    rates = tuple(with_row(r, "wer", low=0.04, high=0.07) for r in results.recognition)
    results = replace(results, recognition=rates)
    (drawing,) = figures(data_of(results))
    wer, uar = (
        [np.round(line.get_ydata(), 9).tolist() for line in axes.lines]
        for axes in drawing.canvas.axes
    )
    assert wer.count([4.0, 7.0]) == 2 and [4.0, 7.0] not in uar


def resampled(errors: Mapping[str, tuple[int, ...]]) -> Results:
    """Systems with word errors of speakers who say 100 words each."""
    words = {s: (100,) * len(of) for s, of in errors.items()}
    counts = {
        s: SpeakerErrors(tuple(f"s{n}" for n in range(len(of))), words[s], of, 50, 1)
        for s, of in errors.items()
    }
    results = results_of(
        {s: (0.1 + 0.01 * n, of.sums.rate, 0.5) for n, (s, of) in enumerate(counts.items())}
    )
    rates = tuple(r.with_facts(speakers=counts[r.condition.system]) for r in results.recognition)
    results = replace(results, recognition=rates)
    results.check()
    return results


def test_word_error_rates_of_systems_are_compared_paired() -> None:
    """b has 5 errors more of each speaker: in every replicate, too; c has other speakers."""
    errors = (1, 9, 4, 7, 30, 2, 5, 8)
    data = data_of(resampled({"b": tuple(n + 5 for n in errors), "a": errors, "c": (20,) * 3}))
    ranking = data.word_error_rankings["test"]
    assert [r["system"] for r in ranking.ranked] == ["a", "b", "c"]
    first, second, _ = ranking.ranked
    assert first["next"]["against"] == "b"
    assert np.allclose([first["next"][name] for name in ("value", "low", "high")], -0.05)
    assert not second.get("next") and "not paired" in second["why_not"]
    table = ranking_table(ranking)
    assert table.name == "ranking_wer_voice_test" and "most useful first" in table.caption
    assert not data_of(FOUR).word_error_rankings  # nothing to compare


def test_word_error_rates_are_shown_with_their_intervals() -> None:
    results = resampled({"a": (1, 9, 4, 7), "b": (2, 3, 8, 9)})
    rates = tuple(with_row(r, "wer", low=0.04, high=0.07) for r in results.recognition)
    data = data_of(replace(results, recognition=rates))
    utility = tables_of(data)["utility_test"]
    assert utility.rows[0][1:] == ("5.25 [4.00, 7.00]", "5.50 [4.00, 7.00]")
    assert '"5.25 [4.00, 7.00]",5.25,4.00,7.00' in to_csv([utility])
    summary = main_results_table(data)
    assert summary is not None and {row[-2][:6] for row in summary.rows} == {"5.25 [", "5.50 ["}
    thresholds = tables_of(data)["thresholds_test"]
    assert "5.25 [" in thresholds.rows[0][2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speakers": ("x", "x")}, "distinct speakers"),
        ({"errors": (1,)}, "distinct speakers"),
        ({"replicates": 10**9}, "replicates"),
        ({"words": (0, 100)}, "two speakers"),
        ({"errors": (50, 50)}, "contradicts"),
        ({"errors": (-1, 7)}, "errors|count|-1"),
    ],
)
def test_forged_word_errors_of_speakers_are_refused(
    changes: dict[str, tuple[int, ...]], message: str
) -> None:
    results = resampled({"a": (2, 4)})
    (record,) = results.recognition
    of_speakers = replace(record.facts["speakers"], **changes)  # type: ignore[arg-type]
    forged = record.with_facts(speakers=of_speakers)
    with pytest.raises(PrivacyEvalError, match=message):
        forged.check()


def sentences_of(results: Results, start: str) -> list[str]:
    answers = front(data_of(results)).answers
    return [s for _, sentences in answers for s in sentences if s.startswith(start)]


def test_word_error_rates_without_interval_are_named_beside_scores_with_one() -> None:
    results = resampled({"a": (1, 9, 4, 7), "b": (2, 3, 8, 9)})
    rates = tuple(
        r.with_facts(speakers=None) if r.condition.system == "b" else r for r in results.recognition
    )
    bounds = {"challenge": {"eer_speechbrain": (0.1, 0.2)}}
    scores = tuple(scored(r, speaker_intervals=bounds) for r in results.verification)
    data = data_of(replace(results, verification=scores, recognition=rates))
    summary = main_results_table(data)
    assert [n for n in summary.notes if n.startswith("WER of b without interval")]
    without = main_results_table(data_of(FOUR))
    assert without is not None and not any("without interval" in note for note in without.notes)


def test_the_first_screen_tells_utility_with_its_uncertainty() -> None:
    results = resampled({"a": (1, 9, 4, 7), "b": (6, 14, 9, 12)})
    mean = data_of(results).means.of("wer", None, "test", "a")
    low, high = mean["low"], mean["high"]
    words = sentences_of(results, "Words")
    assert "5.25 % wrong" in words[1]
    picture = front(data_of(results)).picture
    assert f"5.25 % [{100 * low:.2f}, {100 * high:.2f}]" in picture
    verdict = front(data_of(results)).verdict
    assert "a keeps words better: WER 5.25 % against 10.25 % of b" in verdict
    assert "keeps words" not in front(data_of(FOUR)).verdict  # no test is possible


def test_the_index_has_the_verdict_as_text_for_a_paper() -> None:
    name = "``` <script>"
    data = data_of(with_interval(resampled({name: (1, 9, 4, 7), "b": (6, 14, 9, 12)})))
    text = text_for_a_paper(data)
    assert front(data).verdict in text and "semi-informed attack model, test set" in text
    assert "bootstrap over speakers" in text
    assert "bootstrap over speakers" not in text_for_a_paper(data_of(FOUR))
    index = table_files([paper_tables(data)], "t", text=text)["README.md"]
    code = [line for line in index.splitlines() if line.startswith("    ")]
    assert " ".join(map(str.strip, code)) == text and name in text
    assert name not in "".join(set(index.splitlines()) - {*code})
    assert text_for_a_paper(replace(data, results=Results(PROTOCOL))) == ""


def test_the_first_screen_has_a_sentence_on_emotions() -> None:
    results = results_of({"a": (0.12, None, 0.60)})
    (sentence,) = sentences_of(results, "Emotions")
    assert "60.00 %" in sentence and "no uncertainty" in sentence
    recalls = {"acc_sad": 0.5, "acc_hap": 0.7}
    folds = {"1": {"uar": 0.5, "acc_sad": 0.4, "acc_hap": 0.6}, "2": {"uar": 0.7, **recalls}}
    folds["2"] |= {"acc_sad": 0.6, "acc_hap": 0.8}
    (record,) = results.emotion
    of_folds = (rows_of_values(values, fold=fold) for fold, values in folds.items())
    rows = (*rows_of_values({"uar": 0.6, **recalls}), *chain(*of_folds))
    results = replace(results, emotion=(replace(record, rows=rows),))
    results.check()
    plain, intervals = paper_tables(data_of(with_interval(results)))
    assert [row[-1] for row in intervals.groups[1]] == ["60.00", "50.00 to 70.00"]
    assert [row[-1] for row in plain.groups[1]] == ["60.00"]
    (sentence,) = sentences_of(results, "Emotions")
    assert "50 % is chance" in sentence and "2 folds" in sentence and "50.0 to 70.0 %" in sentence


def test_the_plane_says_who_is_left_out_as_implausible() -> None:
    values = {"a": (0.12, 0.05, 0.6), "b": (0.3, 0.04, 0.5), "inverted": (0.9, 0.03, 0.7)}
    results = results_of(values)
    records = tuple(
        scored(r, metrics={"challenge": {"eer_speechbrain": 0.9, "eer": 0.9}})
        if r.condition.system == "inverted"
        else r
        for r in results.verification
    )
    (drawing,) = figures(data_of(replace(results, verification=records)))
    assert "uninformative: inverted" in drawing.caption
    assert "inverted" not in artists(drawing)[0]
    (drawing,) = figures(data_of(FOUR))
    assert not re.search("uninformative|average EER,|one point", drawing.caption)


def test_the_plane_names_systems_without_values_and_those_at_one_point() -> None:
    values = {"a": (0.12, 0.05, 0.6), "b": (0.12001, 0.05, 0.5), "bare": (0.4, 0.1, None)}
    results = results_of(values)
    scored = tuple(r for r in results.verification if r.condition.system != "bare")
    (drawing,) = figures(data_of(replace(results, verification=scored)))
    assert "average EER, and not drawn: bare." in drawing.caption
    assert "At one point: b, a." in drawing.caption


def test_plane_of_forty_systems_has_numbers_and_their_key() -> None:
    many = {f"s{n}": (0.01 * n, 0.05 + 0.001 * (n % 7), 0.5) for n in range(1, 41)}
    (drawing,) = figures(data_of(results_of(many)))
    key = {text.get_text() for text in drawing.canvas.legends[0].get_texts()}
    assert key == {f"{41 - n} s{n}" for n in range(1, 41)}  # by EER
    for axes in drawing.canvas.axes:
        assert {t.get_text() for t in axes.texts} - {""} == {f"{n}" for n in range(1, 41)}


def test_labels_of_close_systems_do_not_collide() -> None:
    """Twelve systems of nearly the same values."""
    many = {f"system {n}": (0.3 + 0.001 * (n % 3), 0.05 + 1e-4 * n, 0.5) for n in range(11)}
    many["far away"] = (0.1, 0.2, 0.4)
    (drawing,) = figures(data_of(results_of(many)))
    renderer = drawing.canvas.canvas.get_renderer()
    for axes in drawing.canvas.axes:
        texts = [text for text in axes.texts if text.get_text()]
        boxes = [text.get_window_extent(renderer) for text in texts]
        assert {text.get_text() for text in texts} == set(many)
        frame = axes.get_window_extent(renderer)
        for n, box in enumerate(boxes):
            assert frame.x0 - 2 <= box.x0 and box.x1 <= frame.x1 + 2
            assert not any(box.overlaps(other) for other in boxes[:n])
    ids = {line.get_gid(): line for line in drawing.canvas.axes[0].lines if line.get_gid()}
    looks = {(line.get_marker(), line.get_color()) for s, line in ids.items() if s in many}
    assert len(looks) == 12


def test_a_front_of_one_system_is_no_line() -> None:
    (drawing,) = figures(data_of(results_of({"a": (0.3, 0.05, 0.6), "b": (0.2, 0.06, 0.5)})))
    assert "Pareto" not in drawing.caption
    assert not any("Pareto front" in of_axes for of_axes in artists(drawing))
    assert drawing.canvas.get_suptitle()


def test_published_systems_beside_ones_own() -> None:
    data = data_of(FOUR, "vpc2024")
    found = {t["system"]: t for t in data.trade_offs["test"]}
    # Averages of the published test EERs of women and men.
    expected = {"B1": 6.07, "B2": 4.52, "B3": 27.32, "B4": 30.27, "B5": 34.34, "B6": 21.14}
    for system, eer in expected.items():
        assert f"{100 * found[system]['value']:.2f}" == f"{eer:.2f}"
        assert len(found[system]["utility"]) == 2
    (table,) = (t for n, t in tables_of(data).items() if n == "thresholds_test")
    sources = {row[0]: row[1] for row in table.rows}
    assert sources["b"] == "submitted" and sources["B5"] == "published"
    drawing = next(d for d in figures(data) if d.name == "plane_test")
    assert "Grey: published" in drawing.caption


# --- published data


@pytest.mark.parametrize("name", ["vpc2022", "vpc2024", "vpc2026_track1", "vpc2026_track2"])
def test_published_values_fit_their_protocol(name: str) -> None:
    protocol, systems = load_protocol(name), load_systems(name)
    known = {s.id for s in systems.systems} | {"Orig"}
    sets = {d.id for d in (*protocol.data_sets, *protocol.recognition.data_sets, *protocol.emotion)}
    attacks = {a.id for a in protocol.attack_models}
    for p in load_published(name):
        assert p.system in known and p.data_set in sets and p.split in protocol.splits
        assert p.attack_model is None or p.attack_model in attacks
        assert p.gender in ("", *protocol.genders)
    assert bool(systems.note) == name.startswith("vpc2026")


@pytest.mark.parametrize("name", ["vpc2022", "vpc2024", "vpc2026_track1", "vpc2026_track2"])
def test_published_values_are_in_their_files(name: str) -> None:
    """`table` is the line of the file that the system's details name."""
    details = {s.id: s.details for s in load_systems(name).systems}
    first = next(iter(details.values()))
    for p in load_published(name):
        path = PUBLISHED_FILES / name / details.get(p.system, first)
        line = Path(path).read_text().split("\n")[p.table - 1]
        assert re.search(rf"(?<![\d.]){re.escape(p.value)}(?!\d)", line), (p, line)
        assert p.data_set.split("_")[0] in line and p.split in line


def test_no_published_value_of_anonymized_speech_is_missing() -> None:
    rows = [
        r
        for r in csv_rows(PUBLISHED_FILES / "published_2024_2026.csv")
        if "sarina" not in r["source"]
    ]
    for name in ("vpc2024", "vpc2026_track1", "vpc2026_track2"):
        expected = sorted(
            r["value_as_printed"]
            for r in rows
            if r["edition"] == name and r["trial_or_speech"] == "anon"
        )
        found = sorted(p.value for p in load_published(name) if p.system != "Orig")
        assert found == expected
