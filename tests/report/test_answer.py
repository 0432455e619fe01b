"""The first screen: the answer in one sentence, its picture, and at most five cautions."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import B1, B2, imported, scored

from privacy_eval.metrics import METRICS
from privacy_eval.metrics.confidence import BootstrapReplicates
from privacy_eval.numbers.cells import cells_from_results, system_column
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.report import answer
from privacy_eval.report.answer import (
    UNPROTECTED,
    answer_picture,
    answer_sentence,
    attack_rows,
    costs,
    described,
)
from privacy_eval.report.first_screen import front
from privacy_eval.results.measurements import Row
from privacy_eval.results.records import Results, merge

MINE = imported(B1, system="one")
BOTH = merge([MINE, imported(B2, system="two")])


def data_of(results: Results) -> ReportData:
    return ReportData(results, cells_from_results(results))


def with_tests(patch: pytest.MonkeyPatch, **differ: Any) -> None:
    """All two EERs were compared by a test."""

    def compared(one: Row, other: Row, named: str) -> Row:
        found = {"p": 0.001, "better": True, "too_few": "", **differ}
        return {**found, "better": one is not other and found["better"]}

    patch.setattr(answer, "is_paired", lambda one, other: True)
    patch.setattr(answer, "difference", compared)


def attacks_of(
    *eers: float, noise: float = 0.01, size: int = 1000, design: str = "one"
) -> list[Row]:
    """Attacks on a system, the lowest EER the best; their replicates differ by own draws."""
    rows = []
    for number, eer in enumerate(eers):
        drawn = eer + 0.01 * np.random.default_rng(number + int(1e4 * eer)).standard_normal(size)
        replicates = BootstrapReplicates({"eer": drawn}, 40, design, 0)
        row = {"metric": "eer", "of_present": eer, "replicates": replicates}
        rows.append({**row, "is_best": eer == min(eers)})
    return rows


@pytest.mark.parametrize(
    ("ones", "others", "found"),
    [
        (attacks_of(0.4, 0.45), attacks_of(0.3, 0.4), "certain"),
        (attacks_of(0.31, 0.45), attacks_of(0.3, 0.4), "uncertain"),
        (attacks_of(0.337, 0.45), attacks_of(0.3, 0.4), "certain"),
        # Another attack may be the best one: the choice is corrected for.
        (attacks_of(0.337, 0.45), attacks_of(0.3, 0.302, 0.303, 0.304), "uncertain"),
        # A test on the best attack alone would say nothing of the other one.
        (attacks_of(0.4, 0.29), attacks_of(0.3, 0.4), "uncertain"),
        (attacks_of(0.4), attacks_of(0.3, design="another"), "untested"),
        (attacks_of(0.4, size=20), attacks_of(0.3, size=20), "replicates"),
    ],
)
def test_a_system_is_better_if_all_attacks_on_it_err_more(
    ones: list[Row], others: list[Row], found: str
) -> None:
    assert answer._compared(ones, others) == found


def words_and_numbers(sentence: str) -> tuple[int, int]:
    numbers = len(re.findall(r"(?<!\w)\d[\d.]*", sentence))
    return len(re.findall(r"\b[^\W\d_][\w-]*", sentence)) + numbers, numbers


@pytest.mark.parametrize(
    ("differ", "said"),
    [
        ({}, "certainly protects better than"),
        ({"better": False}, "is certainly better"),
        ({"too_few": "speakers"}, "Too few speakers to compare"),
    ],
)
def test_the_answer_says_what_a_test_allows(
    differ: Mapping[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tests(monkeypatch, **differ)
    data = data_of(BOTH)
    sentence = answer_sentence(data)
    assert said in sentence
    rows = attack_rows(data)
    for system in BOTH.systems:
        best = min(100 * row["of_present"] for row in rows[system])
        (marked,) = (row for row in rows[system] if row["is_best"])
        assert 100 * marked["of_present"] == best
        assert f"{best:.0f} %" in sentence or f"{best:.1f} %" in sentence
    n_words, n_numbers = words_and_numbers(sentence)
    assert n_words <= 20 and n_numbers <= 2


def test_without_replicates_no_system_is_said_to_protect_better() -> None:
    assert "Untested" in answer_sentence(data_of(BOTH))


def test_one_system_is_compared_with_guessing() -> None:
    sentence = answer_sentence(data_of(MINE))
    assert "one" in sentence and "50 %" in sentence and words_and_numbers(sentence)[0] <= 20


def test_a_system_that_wins_against_the_best_attack_alone_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the ignorant attack, the first system's EERs are made the lowest of all."""
    weakened = tuple(
        replace(r, rows=tuple({**row, "value": 0.01} for row in r.rows if row["metric"] == "eer"))
        if r.condition.system == first and r.condition.attack_model == "ignorant"
        else r
        for first in [data_of(BOTH).systems_by_rank[0]]
        for r in BOTH.verification
    )
    data = data_of(replace(BOTH, verification=weakened))
    first, second = data.systems_by_rank
    assert [*attack_rows(data)] == [UNPROTECTED, second, first]
    sentence = answer_sentence(data)
    assert "depends" in sentence and sentence.index(second) < sentence.index(first)
    assert words_and_numbers(sentence)[0] <= 20
    with_tests(monkeypatch, better=False)
    assert "is certainly better" in answer_sentence(data)


def test_systems_that_faced_different_attacks_are_not_compared_by_the_best() -> None:
    """Published systems: the semi-informed attacker was trained for some of them only."""
    data = read_report_data(ReportSources(published="vpc2020"))
    first, second, *_ = [r["system"] for r in data.main_ranking.ranked]
    rows = attack_rows(data)
    assert {r["title"] for r in rows[first]} < {r["title"] for r in rows[second]}
    sentence = answer_sentence(data)
    assert first in sentence and second in sentence and "different attacks" in sentence
    assert words_and_numbers(sentence)[0] <= 20


def test_the_picture_has_a_row_per_system_and_a_mark_per_attack() -> None:
    data = data_of(BOTH)
    rows, page = attack_rows(data), str(answer_picture(data, {"Named": {"one": "<7 %"}}))
    assert list(rows) == [UNPROTECTED, *data.systems_by_rank]
    assert all(page.count(f'<tr id="{system}">') == 1 for system in data.systems_by_rank)
    assert page.count('role="img"') == sum(map(len, rows.values())) > 3
    for system, of in rows.items():
        for row in of:
            text = described(system, row)
            assert row["printed"] in text and row["title"] in text and f'"{text}"' in page
            assert f"left:{min(200 * row['of_present'], 100):.4g}%" in page
    assert "&lt;7 %" in page and "<7 %" not in page
    assert {"wer"} == costs(data).keys() and METRICS["wer"].format(0.5) == "50.00"


def test_an_eer_beyond_guessing_ends_at_the_edge_with_its_number() -> None:
    high = replace(
        MINE,
        verification=tuple(
            replace(
                r, rows=tuple({**row, "value": 0.6} for row in r.rows if row["metric"] == "eer")
            )
            if r.condition.attack_model == "ignorant"
            else r
            for r in MINE.verification
        ),
    )
    page = str(answer_picture(data_of(high), {}))
    assert re.search(r'style="left:100%[^>]*><b>60\.00<', page)


def test_a_system_without_a_valid_eer_has_no_mark() -> None:
    data = data_of(replace(MINE, verification=()))
    assert attack_rows(data).get("one", []) == [] and answer_sentence(data) == ""


def test_at_most_five_cautions_each_one_short_sentence() -> None:
    few = tuple(scored(r, n_speakers=8) for r in BOTH.verification)
    data = data_of(replace(BOTH, verification=few, failed={"one": ("x: y",)}))
    shown = front(data)
    assert 2 < len(shown.cautions) <= 5
    assert "failed" in shown.cautions[0] and any("8 speakers" in text for text in shown.cautions)
    for text in shown.cautions:
        n_words, n_numbers = words_and_numbers(text)
        assert n_words <= 20 and n_numbers <= 2 and ":" in text  # what to do


def test_ranks_are_those_of_the_ranking_and_of_programs() -> None:
    data = data_of(merge([BOTH, imported(B1, system="three")]))
    of_ranking = {r["system"]: n for n, r in enumerate(data.main_ranking.ranked, start=1)}
    ((head, column),) = answer.ranks(data).items()
    assert data.protocol.average_attack.phrase in head
    assert column == {s: str(of_ranking[system_column(s)]) for s in ("one", "two", "three")}
    plain = json.loads(answer.answer_json(data, "T", ()))
    assert {s["system"]: str(s["rank"]) for s in plain["systems"] if s["rank"]} == column


def test_no_two_of_many_attacks_look_alike() -> None:
    assert len({answer.look_of(number) for number in range(64)}) == 64
