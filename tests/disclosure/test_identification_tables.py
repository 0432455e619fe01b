"""Identification in tables, sentences and figures, of records made by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from disclosure_support import Galleries
from support import ANON, declared_table, imported, similarity_record

from privacy_eval import PrivacyEvalError
from privacy_eval.disclosure.figures import identification_figures
from privacy_eval.disclosure.in_words import identification_sentences
from privacy_eval.disclosure.linkage import (
    SinglingOutCurve,
    SpeakerLinkage,
    linkage_of_beaters,
    wilson_interval,
)
from privacy_eval.disclosure.numbers import worst_protected
from privacy_eval.disclosure.report import Disclosed
from privacy_eval.metrics.similarity import OF_SPEAKER
from privacy_eval.numbers.cells import cells_from_results, interval_of
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.protocol.protocol import DataFolder, load_protocol
from privacy_eval.report.first_screen import front
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.records import Results
from privacy_eval.tree.conditions import Condition, trial_conditions

PROTOCOL = load_protocol("vpc2020")
SPEAKERS = tuple(SpeakerLinkage(f"s{i}", 10, 1 - i / 10, 1 - i / 10, i / 10) for i in range(8))


def conditions(system: str = "B1") -> dict[str, Condition]:
    """Those of libri test f, by attack model."""
    found = {
        c.attack_model: c
        for part in PROTOCOL.results_folders
        for c in trial_conditions(PROTOCOL, part, "_anon", system).values()
        if (c.data_set, c.split, c.gender) == ("libri", "test", "f")
    }
    return {str(a.id): found[a.id] for a in PROTOCOL.attack_models if a.id in found}


def record(condition: Condition, **values: object) -> Galleries:
    made = Galleries(
        condition, (2, 5, 10, 16), (0.9, 0.7, 0.34, 0.2), (), 1, 1, 300, 8, 16, 0, 0, 10, SPEAKERS
    )
    return replace(made, **values)  # type: ignore[arg-type]


def rates_of(results: Results) -> Disclosed:
    return Disclosed(ReportData(results))


def results(*galleries: Galleries) -> Results:
    found = Results(PROTOCOL, identification=tuple(of.record for of in galleries))
    found.check()
    return found


def across(made: Results, name: str) -> list[dict[str, str]]:
    """The rows of a table over all systems, by the titles of its columns."""
    (table,) = (t for t in Disclosed(ReportData(made)).across() if t.name == name)
    return [dict(zip((c.title for c in table.columns), row, strict=True)) for row in table.rows]


def test_the_worst_protected_is_the_worst_under_any_attack() -> None:
    """By hand: the ignorant attacker finds s9 in 9 of 12 tests, the ranked one nobody so often."""
    of = conditions()
    made = results(
        record(of["original"]),
        record(of["lazy-informed"], speakers=(SpeakerLinkage("s8", 12, 0.58, 0.58, 0.58),)),
        record(of["ignorant"], speakers=(SpeakerLinkage("s9", 12, 0.75, 0.75, 0.75),)),
    )
    ((_, sentences),) = front(ReportData(made, cells_from_results(made))).answers
    (worst,) = (s for s in sentences if s.startswith("Least protected"))
    assert "speaker: s9" in worst and "ignorant attacker" in worst
    assert "in 9 of 12 tests" in worst and "worst of 2 results" in worst and "biased" not in worst
    table = declared_table(made, "identification_speakers")
    (row,) = (row for row in table.rows if "s9" in row)
    assert row[6:8] == ("75.0", "[46.8, 91.1]")


@pytest.mark.parametrize(
    ("deid", "words"),
    [(float("-inf"), "not de-identified at all"), (0.25, "de-identified by 25.0 %")],
)
def test_the_least_de_identified_speaker_is_told_in_words(deid: float, words: str) -> None:
    records = imported(ANON, protocol="vpc2022").similarity
    speaker = dict(zip(OF_SPEAKER, ("s9", deid, 0.0, 0.0, 0.0, None, 0.0), strict=True))
    similarity = (
        similarity_record(r.condition, {"challenge": r.values("challenge")}, (speaker,))
        for r in records
    )
    made = Results(PROTOCOL, similarity=tuple(similarity))
    ((_, sentences),) = front(ReportData(made, cells_from_results(made))).answers
    (worst,) = (s for s in sentences if s.startswith("Least protected"))
    assert words in worst and "together by 86.3 % (variant exact)" in worst
    assert "the worst of " in worst and "inf" not in worst


def test_the_worst_protected_is_found_most_above_chance() -> None:
    """By hand: 7 of 10 in a group of 5 are 50 points above chance, 68 of 100 among 20 are 63."""
    of = conditions()
    small = replace(record(of["ignorant"]), sizes=(2, 5), linkage=(0.9, 0.7), n_enrolled=5)
    large = replace(record(of["lazy-informed"]), sizes=(2, 20), linkage=(0.9, 0.5), n_enrolled=20)
    small = replace(small, speakers_size=5, speakers=(SpeakerLinkage("few", 10, 0.7, 0.7, 0.7),))
    large = replace(
        large, speakers_size=20, speakers=(SpeakerLinkage("many", 100, 0.68, 0.68, 0.68),)
    )
    worst = worst_protected((small.record, large.record))
    assert worst is not None and (worst["speaker"], worst["value"]) == ("many", 0.68)


def test_the_strongest_attacker_finds_most_above_chance() -> None:
    """By hand: 60 % in a group of 5 are 40 points above chance, 55 % in a group of 16 are 49."""
    of = conditions()
    small = record(of["ignorant"], sizes=(5,), linkage=(0.6,), speakers=(), speakers_size=0)
    large = record(of["lazy-informed"], sizes=(16,), linkage=(0.55,), speakers=(), speakers_size=0)
    said = identification_sentences(ReportData(results(small, large)))
    (strongest,) = (s for s in said if "names" in s)
    assert "lazy-informed" in strongest and "55 %" in strongest and "16 people" in strongest


def test_the_largest_group_is_named_with_what_allows_more() -> None:
    table = declared_table(results(record(conditions()["ignorant"])), "identification")
    assert "up to 16 people" in table.notes[1] and "--distractors" in table.notes[1]
    with pytest.raises(PrivacyEvalError, match="must be 1 to 3, .*--distractors"):
        linkage_of_beaters([0, 1], 3, [4])


def test_a_table_of_more_ranks_says_so() -> None:
    """By guessing, one of the five highest of ten is the right one half of the time."""
    one = replace(record(conditions()["ignorant"]), rank=5, sizes=(10,), linkage=(0.75,))
    one = replace(one, intervals=())
    first = replace(record(conditions()["lazy-informed"]), sizes=(10,), linkage=(0.5,))
    said = [
        (table.caption, table.notes[0].rpartition(": ")[2])
        for of in ((one,), (one, first), (first,))
        for table in [declared_table(results(*of), "identification")]
    ]
    five, mixed, alone = said
    assert "among the 5 highest scores" in five[0] and five[1] == "50 %"
    assert "among the 1 or 5 highest scores" in mixed[0] and mixed[1] == "10 or 50 %"
    assert "scores highest" in alone[0] and alone[1] == "10 %"


def test_wilson_intervals_are_the_published_ones() -> None:
    """Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    published = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (successes, n), bounds in published.items():
        assert wilson_interval(successes / n, n) == pytest.approx(bounds, abs=5e-5)


def test_sentences_say_what_a_number_means() -> None:
    of = conditions()
    made = results(
        record(of["ignorant"]),
        record(of["original"], rank=3, linkage=(1.0, 0.9, 0.8, 0.75)),
        record(of["lazy-informed"], sizes=(50, 100), n_enrolled=100, linkage=(0.2, 0.1),
               speakers=(), speakers_size=0),
    )  # fmt: skip
    ignorant, largest = identification_sentences(ReportData(made))  # no group of at most 20
    assert "2 to 100 people" in largest and "--distractors" in largest
    for part in ("B1", "16 people", "ignorant", "20 % of tests", "6.25 %"):
        assert part in ignorant
    rows = across(made, "identified")
    shown = [(r["Attack model"], r["People"], r["Picks"], r["Named, %"]) for r in rows]
    assert shown == [("Ignorant", "16", "1", "20"), ("Original", "16", "3", "75")]
    assert [r["Named by guessing, %"] for r in rows] == ["6.25", "18.8"]


def test_sentences_are_of_the_largest_group_that_all_sets_have() -> None:
    one = conditions()["ignorant"]
    smaller = record(replace(one, gender="m"), sizes=(2, 5, 10), linkage=(0.5, 0.4, 0.1),
                     n_enrolled=10, n_tests=100)  # fmt: skip
    sentence, _ = identification_sentences(ReportData(results(record(one), smaller)))
    # (300 * 0.34 + 100 * 0.1) / 400
    assert "10 people" in sentence and " 28 % of tests." in sentence and "gives 10 %" in sentence


BOUNDS = ((0.8, 0.95), (0.6, 0.8), (0.3, 0.38), (0.1, 0.3))


def test_sentences_say_how_sure_and_what_a_test_is_of() -> None:
    """By hand: means of 0.34 (300 tests) and 0.14 (100); distances to the lower bound 0.03 and 0.02
    after weighting, to the upper one 0.03 and 0.01; of other speakers their squares add up."""
    one = conditions()["ignorant"]
    women = record(one, intervals=BOUNDS, genders=("f", "m"), enrollment_utterances=56)
    women = replace(women, sizes=(2, 5, 10), linkage=(0.9, 0.7, 0.34), intervals=BOUNDS[:3])
    others = tuple(replace(s, speaker=f"m{s.speaker}") for s in SPEAKERS)
    men = replace(women, condition=replace(one, gender="m"), linkage=(0.9, 0.7, 0.14), n_tests=100,
                  intervals=(*BOUNDS[:2], (0.06, 0.18)), speakers=others)  # fmt: skip
    made = results(women, men)
    (rates,) = rates_of(made).identified.values()
    below, above = np.hypot(0.03, 0.02), np.hypot(0.03, 0.01)
    assert interval_of(rates) == pytest.approx((0.29 - below, 0.29 + above))
    (row,) = across(made, "identified")
    assert (row["People"], row["Genders"], row["Named, %"]) == ("10", "mixed", "29 [25, 32]")
    assert (row["Tests"], row["Recordings of a test"], row["Recordings enrolled"]) == (
        *("400", "1", "3.5"),
    )
    same = results(women, replace(men, speakers=SPEAKERS))
    (wider,) = rates_of(same).identified.values()
    assert interval_of(wider) == pytest.approx((0.24, 0.33))
    (unknown,) = rates_of(results(record(one))).identified.values()
    assert interval_of(unknown) is None and unknown["enrollment"] is None


def test_the_most_often_found_speakers_are_a_biased_pick() -> None:
    of = conditions()
    others = tuple(
        replace(s, speaker=f"s{i}") for s, i in zip(SPEAKERS, (1, 7, 0, *range(2, 7)), strict=False)
    )
    made = results(record(of["ignorant"]), record(of["lazy-informed"], speakers=others))
    table = declared_table(made, "identification_speakers")
    assert [row[4] for row in table.rows] == ["s0", "s1", "s2", "s1", "s7", "s0"]
    (biased,) = table.notes
    assert "95.0 % of these" in biased and "5.0 % do" in biased
    (overlap,) = across(made, "overlap")
    assert (overlap["Attack model"], overlap["Other attack model"]) == ("Ignorant", "Lazy-informed")
    # {s0, s1} and {s1, s7}
    assert overlap["In both quarters, %"].startswith("50 [") and overlap["By chance, %"] == "25"
    assert overlap["Jaccard index"].startswith("0.33 [")
    # Ranks of s0 to s7: 1 to 8, and 3, 1, 4, 5, 6, 7, 8, 2: 1 - 6 * 46 / (8 * 63).
    assert overlap["Rank correlation"].startswith("0.45 [")


@pytest.mark.parametrize("how", ["combine", "gender_weights"])
def test_tests_in_two_trial_sets_are_counted_once(how: str) -> None:
    """The mixed set repeats the tests of its parts: 50 tests are not 100, nor their interval that
    of more; without the mixed set its parts count."""
    name = "libri_{split}_trials_"
    folder = DataFolder(f"{name}all", combine=(f"{name}f", f"{name}m"))
    protocol = replace(
        PROTOCOL,
        genders={**PROTOCOL.genders, "all": "all"},
        data_folders=(folder,) if how == "combine" else (),
        gender_weights={"f": 0, "m": 0} if how == "gender_weights" else {},
    )
    one = conditions()["ignorant"]
    others = tuple(replace(s, speaker=f"m{s.speaker}") for s in SPEAKERS)
    women, men, everybody = (
        record(replace(one, gender=gender), genders=("f", "m"), n_tests=n, intervals=BOUNDS,
               speakers=speakers)
        for gender, n, speakers in (
            ("f", 20, SPEAKERS), ("m", 30, others), ("all", 50, (*SPEAKERS, *others)))
    )  # fmt: skip
    records = tuple(of.record for of in (women, men, everybody))
    data = ReportData(Results(protocol, identification=records))
    (rates,) = Disclosed(data).identified.values()
    assert rates["n_tests"] == 50 and interval_of(rates) == pytest.approx(BOUNDS[-1])
    assert across(data.results, "identified")[0]["Tests"] == "50"
    ((_, answers),) = front(ReportData(data.results, cells_from_results(data.results))).answers
    (worst,) = (s for s in answers if s.startswith("Least protected"))
    assert "worst of 16 results" in worst
    (parts,) = rates_of(Results(protocol, identification=records[:2])).identified.values()
    assert parts["n_tests"] == 50 and interval_of(parts) != pytest.approx(BOUNDS[-1])


def alike(*linkage: float) -> tuple[SpeakerLinkage, ...]:
    return tuple(SpeakerLinkage(f"s{i}", 5 + i % 2, v, v, v) for i, v in enumerate(linkage))


def test_speakers_who_tie_are_not_told_apart() -> None:
    of = conditions()
    attacks = of["ignorant"], of["lazy-informed"]
    made = results(*(record(c, speakers=alike(*[1.0] * 10)) for c in attacks))
    data = ReportData(made, cells_from_results(made))
    table = declared_table(made, "identification_speakers")
    assert [row[3:] for row in table.rows] == [
        ("10", "10 speakers alike", "5 to 6", "100.0", "[56.6, 100.0]", "100.0", "100.0")
    ] * 2
    assert not table.notes
    ((_, answers),) = front(data).answers
    (worst,) = (s for s in answers if s.startswith("Least protected"))
    assert "all 10 alike" in worst and "speaker: s" not in worst
    assert "5 of 5 tests, or as often" in worst and "worst of" not in worst


def test_some_ties_widen_what_chance_gives() -> None:
    """By hand: of 10 speakers the quarter is of 4 who tie, and of 3; by chance 4 * 3 / 10 are in
    both, of 3.5 on average: 34 %. Where 6 tie there is no quarter."""
    of = conditions()
    one, other = alike(1, 1, 1, 1, *[0.5] * 6), alike(0.9, 0.8, 0.7, *[0.5] * 7)
    compared = record(of["ignorant"], speakers=one), record(of["lazy-informed"], speakers=other)
    table = declared_table(results(*compared), "identification_speakers")
    assert [row[4] for row in table.rows] == ["4 speakers alike", "s0", "s1", "s2"]
    (overlap,) = across(results(*compared), "overlap")
    assert overlap["By chance, %"] == "34"
    most = replace(compared[0], speakers=alike(*[1.0] * 6, *[0.5] * 4))
    names = {t.name for t in Disclosed(ReportData(results(most, compared[1]))).across()}
    assert names == {"identified"}


SINGLED = SinglingOutCurve((2, 8), (0.75, 0.5), 8)


def test_singling_out_in_words_table_and_figure() -> None:
    """Who knows nothing: (1/2)^1, and (7/8)^7 = 0.3927."""
    of = conditions()
    refused = SinglingOutCurve(n_speakers=1, refused="too few tests")
    made = results(
        record(of["ignorant"], singling_out=SINGLED),
        record(of["lazy-informed"], singling_out=refused),
    )
    ignorant, lazy = across(made, "identified")
    assert (ignorant["Voices"], ignorant["Singled out, %"]) == ("8", "50")
    assert ignorant["Singled out by guessing, %"] == "39" and not lazy["Voices"]
    table = declared_table(made, "identification_singling_out")
    assert [row[3:] for row in table.rows] == [("8", "75.0", "50.0")]
    assert "50.0, 39.3" in table.notes[0]
    assert not table.bold
    assert "1 row" in table.notes[2] and "too few tests" in table.notes[2]
    drawn = [d for d in identification_figures(ReportData(made)) if "singling" in d.name]
    (figure,) = drawn
    own, chance = figure.plot.curves
    assert own.y.tolist() == [75, 50]
    assert chance.y[[0, -1]].tolist() == pytest.approx([50, 100 * (7 / 8) ** 7])


def test_systems_have_their_worst_speakers_in_common() -> None:
    one, other = conditions("B1"), conditions("B2")
    made = results(
        *(record(of["original"]) for of in (one, other)),  # the same speech
        *(record(c) for c in (one["ignorant"], one["lazy-informed"], other["ignorant"])),
    )
    first, second, _ = identification_sentences(ReportData(made))
    assert first.startswith("B1") and "16 people" in first and "20 % of tests" in first
    assert second.startswith("B2")
    (overlap,) = (row for row in across(made, "overlap") if row["System"] == "All systems")
    assert (overlap["Attack model"], overlap["Other attack model"]) == ("Ignorant", "the same")
    assert overlap["In both quarters, %"].startswith("100 [")
    assert overlap["Jaccard index"].startswith("1.00 [")


def test_no_speakers_no_table() -> None:
    one = record(conditions()["ignorant"], speakers=(), speakers_size=0)
    tables = system_tables(ReportData(results(one)), "B1", "")
    assert "identification_speakers" not in {table.name for table in tables}
    assert "identification" in {table.name for table in tables}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"speakers_size": 17}, "gallery size"),
        ({"speakers_size": 0}, "gallery size"),
        ({"speakers": (replace(SPEAKERS[0], linkage=1.1),)}, "0 to 1"),
        ({"speakers": (replace(SPEAKERS[0], second=-0.1),)}, "0 to 1"),
        ({"speakers": (replace(SPEAKERS[0], speaker="a\x1bb"),)}, "unprintable"),
        ({"singling_out": replace(SINGLED, values=(0.5,))}, "singling_out: no value"),
        ({"singling_out": replace(SINGLED, n_speakers=7)}, "another size"),
        ({"singling_out": replace(SINGLED, values=(0.5, 1.5))}, "0 to 1"),
        ({"singling_out": replace(SINGLED, refused="a\x1bb")}, "unprintable"),
        ({"distractors": "a\x1bb"}, "unprintable"),
        ({"genders": ("\x1b",)}, "unprintable"),
        ({"n_distractors": 17}, "n_distractors"),
        ({"enrollment_utterances": 15}, "enrollment_utterances"),
        ({"enrollment_utterances": -1}, "enrollment_utterances"),
    ],
)
def test_records_are_checked(change: dict[str, object], message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        results(record(conditions()["ignorant"], **change))


def test_figures_have_bands_and_a_dot_per_speaker(tmp_path: Path) -> None:
    bounds = ((0.8, 0.95), (0.6, 0.8), (0.3, 0.4), (0.1, 0.3))
    of = conditions()
    data = ReportData(results(record(of["ignorant"], intervals=bounds), record(of["original"])))
    curves, dots = identification_figures(data)
    assert "Bands" in curves.caption
    (band,) = (c for c in curves.plot.curves if c.fill)
    assert band.y.tolist() == pytest.approx([95, 80, 40, 30])
    assert band.base is not None and band.base.tolist() == pytest.approx([80, 60, 30, 10])
    assert dots.name.startswith("identification_speakers")
    assert "highest among 10" in dots.caption
    own, original, chance = dots.plot.curves
    assert own.marker_points[:, 1].tolist() == pytest.approx([100 * s.linkage for s in SPEAKERS])
    assert original.name == "Orig"
    assert chance.y.tolist() == [10, 10]


def test_many_systems_have_no_bands() -> None:
    bounds = ((0.8, 0.95), (0.6, 0.8), (0.3, 0.4), (0.1, 0.3))
    many = [record(conditions(f"T{i}")["ignorant"], intervals=bounds) for i in range(20)]
    curves, _ = identification_figures(ReportData(results(*many)))
    assert not any(c.fill for c in curves.plot.curves)
    assert "Bands" not in curves.caption
