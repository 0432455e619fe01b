"""Who is named instead: by hand, against slow enumeration, in tables and sentences."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_identification_tables import conditions, record, results

import privacy_eval as pe
from privacy_eval import PrivacyEvalError
from privacy_eval.disclosure.accused import (
    MOST_LISTED,
    Highest,
    Top,
    merged_names,
    named_instead,
    shares,
)
from privacy_eval.disclosure.in_words import identification_sentences
from privacy_eval.disclosure.numbers import named_for_others
from privacy_eval.disclosure.statement import statement_parts
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.records import Results
from privacy_eval.results.speaker_numbers import KEY, numbered

Named = list[tuple[int, str, float]]


def by_name(found: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["speaker"]: one for one in found}


def test_rates_by_hand() -> None:
    """a is heard twice, named b; b once, rightly; c twice, named a and b. So of the four tests of
    others three name b, of the three of others than a one names a."""
    named = [(0, "b", 2.0), (1, "b", 1.0), (2, "a", 1.0), (2, "b", 1.0)]
    b, a = named_instead(named, ["a", "b", "c"], [2, 1, 2], 3)
    assert (b["speaker"], b["value"], b["n_tests"], b["n_speakers"]) == ("b", 3 / 4, 4, 2)
    assert (a["speaker"], a["value"], a["n_tests"], a["n_speakers"]) == ("a", 1 / 3, 3, 2)
    assert b["p"] is b["low"] is None  # no draws were asked for


def test_p_value_by_hand() -> None:
    """Two tests, of a and of b, both name c, of three people. By guessing, any person has the rate
    1 if b's test names a (1 in 3), if a's test names b, or if both name c: 1 - (4 - 1) / 9."""
    (c,) = named_instead([(0, "c", 1), (1, "c", 1)], "ab", [1, 1], 3, replicates=6000)
    assert c["value"] == 1
    assert c["p"] == pytest.approx(2 / 3, abs=0.03)


def slow_rates(
    counts: Sequence[Sequence[float]], tests: Sequence[int], n_enrolled: int
) -> list[float]:
    """The rate of each enrolled person; the first ones speak the tests."""
    rates = []
    for person in range(n_enrolled):
        others = [s for s in range(len(tests)) if s != person]
        asked = sum(tests[s] for s in others)
        rates.append(sum(counts[s][person] for s in others) / asked if asked else 0.0)
    return rates


def slow_p(
    counts: list[list[float]], tests: list[int], groups: Sequence[int], rate: float
) -> float:
    """How many of all permutations of all rows within groups have so high a rate of anybody."""
    n, blocks = len(groups), [[j for j, g in enumerate(groups) if g == of] for of in set(groups)]
    orders = []
    for of_blocks in itertools.product(*(itertools.permutations(block) for block in blocks)):
        order = [0] * n
        for block, permuted in zip(blocks, of_blocks, strict=True):
            for place, taken in zip(block, permuted, strict=True):
                order[place] = taken
        orders.append(order)
    reached = [
        max(slow_rates([[row[j] for j in o] for row, o in zip(counts, of, strict=True)], tests, n))
        >= rate - 1e-9
        for of in itertools.product(orders, repeat=len(counts))
    ]
    return sum(reached) / len(reached)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_rates_and_p_values_agree_with_enumeration(data: st.DataObject) -> None:
    n_speakers, n_enrolled = data.draw(st.sampled_from([(1, 3), (2, 2), (2, 3), (2, 4), (3, 3)]))
    people = [f"p{n}" for n in range(n_enrolled)]
    groups = data.draw(st.lists(st.integers(0, 1), min_size=n_enrolled, max_size=n_enrolled))
    names = st.lists(st.sampled_from(people), min_size=1, max_size=4)
    said = [data.draw(names) for _ in range(n_speakers)]
    tests = [len(of) for of in said]
    counts = [[float(of.count(p)) for p in people] for of in said]
    named = [(s, p, float(of.count(p))) for s, of in enumerate(said) for p in sorted({*of})]
    group_of = dict(zip(people, map(str, groups), strict=True))
    found = named_instead(named, people[:n_speakers], tests, group_of, replicates=1500, seed=1)
    rates = slow_rates(counts, tests, n_enrolled)
    assert {one["speaker"]: pytest.approx(one["value"]) for one in found} == {
        p: rate for p, rate in zip(people, rates, strict=True) if rate > 0
    }
    assert [one["value"] for one in found] == sorted((one["value"] for one in found), reverse=True)
    for one in found:
        if n_speakers == 1:
            assert one["p"] is None
        else:
            assert one["p"] == pytest.approx(slow_p(counts, tests, groups, one["value"]), abs=0.07)


def test_the_tests_of_a_speaker_are_one_observation() -> None:
    """Speaker 0 is always taken for x, all others for themselves: of 330 tests 30 name x, but only
    one voice does. Where every voice is taken for x in a third of its tests, it is no chance."""
    speakers = [f"s{n}" for n in range(12)]
    own: Named = [(n, s, 30.0) for n, s in enumerate(speakers) if n]
    (x,) = named_instead([(0, "x", 30.0), *own], speakers, [30] * 12, 40, replicates=999)
    assert x["value"] == 1 / 12 and x["p"] is not None and x["p"] > 0.3
    hub: Named = [(n, "x", 10.0) for n in range(12)]
    hub += [(n, s, 20.0) for n, s in enumerate(speakers)]
    (x,) = named_instead(hub, speakers, [30] * 12, 40, replicates=999)
    assert x["value"] == 1 / 3 and x["p"] is not None and x["p"] < 0.03


def test_what_the_gender_gives_away_is_no_accusation() -> None:
    """Women are taken for women, and for any of them alike."""
    generator = np.random.default_rng(2)
    women, men = [f"f{n}" for n in range(8)], [f"m{n}" for n in range(24)]
    named = []
    for n in range(8):
        counts = generator.multinomial(400, np.full(8, 1 / 8))
        named += [(n, w, float(c)) for w, c in zip(women, counts, strict=True)]
    drawn: dict[str, Any] = {"replicates": 499}
    blind = named_instead(named, women, [400] * 8, 32, **drawn)[0]
    group_of = {person: person[0] for person in (*women, *men)}
    informed = named_instead(named, women, [400] * 8, group_of, **drawn)[0]
    assert blind["p"] is not None and informed["p"] is not None
    assert blind["value"] == informed["value"]
    assert blind["p"] < 0.01 < 0.05 < informed["p"]


def test_guessing_is_rarely_found_to_be_more() -> None:
    """Of 150 made-up sets in which every test of a speaker names one person at random, at most
    about one in twenty may be below 5 %: 16 or more of 150 has a probability of 0.3 %."""
    below = 0
    for seed in range(150):
        who = np.random.default_rng(seed).integers(12, size=10)
        named = [(s, f"p{w:02}", 5.0) for s, w in enumerate(who)]
        speakers = [f"p{n:02}" for n in range(10)]
        found = named_instead(named, speakers, [5] * 10, 12, replicates=199, seed=seed)
        below += bool(found and found[0]["p"] is not None and found[0]["p"] <= 0.05)
    assert below < 16


def test_singular_cases() -> None:
    assert named_instead([(0, "a", 3.0)], ["a"], [3], 1, replicates=9) == []  # a gallery of one
    (alone,) = named_instead([(0, "b", 3.0)], ["a"], [3], 2, replicates=9)
    assert (alone["value"], alone["n_speakers"], alone["low"], alone["p"]) == (1, 1, None, None)
    every: Named = [(n, p, 0.5) for n in range(2) for p in "abcd"]
    tied = named_instead(every, "ab", [2, 2], 4, replicates=99)
    assert [one["speaker"] for one in tied] == list("abcd")
    assert {(one["value"], one["p"]) for one in tied} == {(0.25, 1.0)}  # all alike: guessing
    many: Named = [(0, f"x{n:02}", 1.0) for n in range(50)]
    assert len(named_instead(many, ["a"], [50], 60)) == MOST_LISTED
    large = named_instead([(0, "c", 1), (1, "c", 1)], "ab", [1, 1], 10**6, replicates=9)
    assert large[0]["p"] is None and large[0]["low"] is not None
    certain = named_instead([(0, "c", 1), (1, "c", 1)], "ab", [1, 1], 3, replicates=99)
    assert certain[0]["high"] == 1 and certain[0]["low"] is not None and certain[0]["low"] < 0.5


@pytest.mark.parametrize(
    ("tests", "groups", "message"),
    [
        ([1], 3, "number of tests per speaker"),
        ([1, 0], 3, "number of tests per speaker"),
        ([1, 1], 2, "3 people, but 2 enrolled"),
        ([1, 1], {"a": "f", "b": "f"}, "3 people, but 2 enrolled"),
    ],
)
def test_invalid_input(tests: list[int], groups: Mapping[str, str] | int, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        named_instead([(0, "c", 1)], ["a", "b"], tests, groups)


def test_the_highest_of_blocks_share_a_test() -> None:
    """Test 0 names b and d alike, test 1 only c, which the second block has."""
    highest = Highest(2)
    highest.add(["a", "b"], [[1.0, 2.0], [3.0, 2.0]])
    highest.add(["c", "d"], [[0.0, 5.0], [3.0, 1.0]])
    assert highest.named == (Top(3.0, ("b", "d")), Top(5.0, ("c",)))
    assert shares([0, 0], highest.named) == [(0, "b", 0.5), (0, "d", 0.5), (0, "c", 1.0)]


def test_parts_of_a_gallery_add_up() -> None:
    one = Top(3.0, ("b",)), Top(), Top(-1.0, ("a",)), Top()
    other = Top(3.0, ("d",)), Top(-5.0, ("c",)), Top(-2.0, ("c",)), Top()
    both = Top(3.0, ("b", "d")), Top(-5.0, ("c",)), Top(-1.0, ("a",)), Top()
    assert merged_names(one, other) == merged_names(other, one) == both
    assert merged_names(one, ()) == ()


def test_identify_tells_who_is_named() -> None:
    """Scores of three people with u of a, which names c, and v of b, which names b."""
    rows = [("a", "u", 1, 1), ("b", "u", 0, 0), ("c", "u", 2, 0)]
    rows += [("a", "v", 0, 0), ("b", "v", 3, 1), ("c", "v", 1, 0)]
    columns = zip(("enrolled", "utterance", "score", "label"), zip(*rows, strict=True), strict=True)
    attack = pe.identify({name: list(of) for name, of in columns}, [2], bootstrap=0)
    (c,) = attack.instead
    assert [c[key] for key in ("speaker", "value", "n_tests", "n_speakers")] == ["c", 0.5, 2, 2]
    assert c["low"] is c["high"] is c["p"] is None
    (row,) = (row for row in attack.to_rows() if row["metric"] == "named_instead")
    assert (row["speaker"], row["value"], row["chance"], row["rank"]) == ("c", 0.5, 1 / 3, 1)


def row(name: str, value: float, p: float | None = None, gallery: int = 16) -> dict[str, Any]:
    bounds = {} if p is None else {"low": value / 2, "high": value, "p": p}
    counts = {"n_tests": 200, "n_speakers": 8}
    place = {"metric": "named_instead", "gallery": gallery, "speaker": name}
    return {**place, "value": value, **counts, **bounds}


def accused(ignorant: Sequence[dict[str, Any]], lazy: Sequence[dict[str, Any]] = ()) -> Results:
    """Records of original speech, which names x most, and of two attackers."""
    of = conditions()
    return results(
        record(of["original"], instead=(row("x", 0.9, 0.0005),)),
        record(of["ignorant"], instead=tuple(ignorant)),
        record(of["lazy-informed"], instead=tuple(lazy)),
    )


def test_the_least_p_value_is_chosen_and_corrected() -> None:
    """Original speech is no attack on the anonymizer; of two attacks the p-value counts twice."""
    made = accused([row("y", 0.31, 0.001), row("z", 0.2, 0.4)], [row("w", 0.5, 0.03)])
    found = named_for_others(made.identification)
    assert found is not None
    assert (found["speaker"], found["p"], found["among"]) == ("y", 0.002, 2)
    assert found["chance"] == 1 / 16 and found["is_more"] is True
    one = named_for_others(accused([row("y", 0.31, 0.03)], [row("w", 0.5, 0.04)]).identification)
    assert one is not None and one["p"] == 0.06 and one["is_more"] is False
    assert named_for_others(accused([]).identification) is None
    rare = named_for_others(accused([row("y", 0.05, 0.001)]).identification)
    assert rare is not None and rare["is_more"] is False  # less often than by guessing


@pytest.mark.parametrize(
    ("p", "verdict"), [(0.001, "evidence against"), (0.4, "can be chance"), (None, "not tested")]
)
def test_sentences_say_what_to_do(p: float | None, verdict: str) -> None:
    made = accused([row("y", 0.31, p)])
    (sentence,) = (s for s in identification_sentences(ReportData(made)) if "one and the same" in s)
    assert "ignorant attacker" in sentence and "31 % of tests" in sentence
    assert "6.25 %" in sentence and verdict in sentence and " y" not in sentence
    parts = statement_parts(ReportData(made))
    items = " ".join(item for part in parts for item in part.items)
    assert "one and the same" in items and verdict in items
    rows = [row for part in parts for row in part.rows if "taken for the same" in " ".join(row)]
    assert len(rows) == 1 and ("p = 0.001" in rows[0][2]) == (p == 0.001)


def test_the_table_names_the_most_accused_of_each_attack(tmp_path: Path) -> None:
    alike = [row("y", 0.25, 0.5), row("z", 0.25, 0.5)]
    made = accused([row("z", 0.1, 0.9), row("y", 0.31, 0.001)], alike)
    (table,) = (
        t
        for t in system_tables(ReportData(made), "B1", "")
        if t.name == "identification_named_instead"
    )
    place = {c.title: n for n, c in enumerate(table.columns)}
    cells = [(r[place["Speaker"]], r[place["Guessing, %"]], r[place["p"]]) for r in table.rows]
    assert cells == [("x", "6.25", "< 0.001"), ("y", "6.25", "0.001"), ("2 alike", "6.25", "0.500")]
    hidden = numbered(made, tmp_path)
    names = {one for r in hidden.identification for one in r.measurements.values("speaker")}
    assert all(name.startswith("S") for name in names)
    assert (tmp_path / KEY).is_file()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gallery": 9}, "gallery of 16"),
        ({"p": 1.5}, "p-value"),
        ({"value": 1.5}, "0 to 1"),
        ({"n_tests": None}, "n_tests"),
    ],
)
def test_records_are_checked(change: dict[str, Any], message: str) -> None:
    wrong = {n: v for n, v in {**row("y", 0.31, 0.1), **change}.items() if v is not None}
    with pytest.raises(PrivacyEvalError, match=message):
        accused([wrong])
