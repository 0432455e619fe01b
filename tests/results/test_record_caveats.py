"""Recognition that cannot be right, scores that two systems have, and what ends their caveats."""

import warnings
from collections.abc import Mapping
from dataclasses import replace

import pytest
import support
from support import B1, imported

from privacy_eval.errors import InputWarning
from privacy_eval.io.wer import WerLine
from privacy_eval.metrics import CAVEATS
from privacy_eval.metrics.caveats import (
    FAR_SET,
    IMPLAUSIBLE_ORIGINAL,
    IMPLAUSIBLE_SET,
    MANY_INSERTIONS,
    PARTIAL,
    RATED_ABOVE,
    SAME_SCORES,
    WORSE_ORIGINAL,
)
from privacy_eval.numbers.cells import ORIGINAL_COLUMN, cells_from_results, is_withheld
from privacy_eval.numbers.means import Means
from privacy_eval.numbers.rankings import rank
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published
from privacy_eval.report.notes import identical_scores
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.measurements import rows_of_values
from privacy_eval.results.record_caveats import today
from privacy_eval.results.records import (
    Record,
    Results,
    merge,
)
from privacy_eval.results.signature import comparability_notes
from privacy_eval.tree.conditions import Condition

ORIGINAL, ANONYMIZED = "original", "anonymized"
PROTOCOL = load_protocol("vpc2022")


def recognized(
    values: Mapping[tuple[str, str, str], float], *, partial: bool = False
) -> tuple[Record, ...]:
    """WER by system, data set and speech, on the test set."""
    return tuple(
        support.recognized(
            Condition(system, "", f"ASR-{data_set}-{speech}", data_set, "test", trial=speech),
            WerLine(wer, *(None,) * 5, "decode", None, None, partial and speech == ANONYMIZED),
            language_model=PROTOCOL.recognition.average,
            asr_model=speech,
        )
        for (system, data_set, speech), wer in values.items()
    )


def results_of(libri: tuple[float, float], vctk: tuple[float, float], system: str = "S") -> Results:
    """WER of original and of anonymized speech of two sets."""
    sets = {"libri": libri, "vctk": vctk}
    values = {
        (system, name, speech): wer
        for name, both in sets.items()
        for speech, wer in zip((ORIGINAL, ANONYMIZED), both, strict=True)
    }
    return Results(PROTOCOL, recognition=recognized(values))


def caveats(results: Results) -> dict[tuple[str, str], list[str]]:
    records = (*results.recognition, *results.emotion, *results.measures)
    return {(r.condition.data_set, r.condition.trial): [*r.caveats] for r in records if r.caveats}


#: The first is from a report on the challenge of 2020: a broken decoding of VCTK.
@pytest.mark.parametrize(
    ("libri", "vctk", "original", "anonymized"),
    [
        ((0.04, 0.07), (0.995, 0.08), [IMPLAUSIBLE_SET], [IMPLAUSIBLE_ORIGINAL]),
        ((0.04, 0.07), (0.501, 0.6), [IMPLAUSIBLE_SET], [IMPLAUSIBLE_ORIGINAL]),
        ((0.04, 0.07), (0.2, 0.12), [WORSE_ORIGINAL], [IMPLAUSIBLE_ORIGINAL]),
        ((0.04, 0.07), (0.12, 0.065), [WORSE_ORIGINAL], [IMPLAUSIBLE_ORIGINAL]),
        ((0.04, 0.07), (0.11, 0.065), [], []),
        ((0.04, 0.07), (0.1281, 0.1044), [], []),  # published, 2022
        ((0.04, 0.07), (0.4, 0.45), [FAR_SET], [IMPLAUSIBLE_ORIGINAL]),
        ((0.018, 0.03), (0.254, 0.444), [], []),  # as of IEMOCAP, 2024
        ((0.04, 0.07), (0.12, 0.99), [], [FAR_SET]),
        ((0.2, 0.6), (0.2, 1.2), [], [MANY_INSERTIONS]),
        ((0.05, 0.25), (0.05, 0.52), [], []),  # French of BM2, 2026
    ],
)
def test_word_errors_that_cannot_be_right(
    libri: tuple[float, float],
    vctk: tuple[float, float],
    original: list[str],
    anonymized: list[str],
) -> None:
    expected = {("vctk", ORIGINAL): original, ("vctk", ANONYMIZED): anonymized}
    assert caveats(results_of(libri, vctk)) == {k: v for k, v in expected.items() if v}


def test_no_published_value_has_a_caveat() -> None:
    for edition in ("vpc2022", "vpc2024", "vpc2026_track1", "vpc2026_track2"):
        words: dict[tuple[str, str, str, str], float] = {}
        recalls: dict[tuple[str, str, str, str], dict[str, float]] = {}
        published = [v for v in load_published(edition) if v.attack_model is None]
        for system in {v.system for v in published} - {"Orig"}:
            for v in (v for v in published if v.system in (system, "Orig")):
                speech = ORIGINAL if v.system == "Orig" else ANONYMIZED
                key = system, v.data_set, v.split, speech
                if v.metric == "wer":
                    words[key] = v.number
                elif v.metric == "uar" or v.metric.startswith("acc_"):
                    recalls.setdefault(key, {})[v.metric] = v.number
        assert words
        recognition = tuple(
            support.recognized(
                Condition(s, "", f"ASR-{d}-{split}-{speech}", d, split, trial=speech),
                WerLine(wer, *(None,) * 5, "", None, None),
            )
            for (s, d, split, speech), wer in words.items()
        )
        emotion = tuple(
            Record(
                Condition(s, "", "ser", d, split, trial=speech), "emotion", rows_of_values(values)
            )
            for (s, d, split, speech), values in recalls.items()
        )
        results = Results(load_protocol(edition), recognition=recognition, emotion=emotion)
        assert caveats(results) == {}


@pytest.mark.parametrize(
    ("original", "anonymized", "folds", "expected"),
    [
        (0.26, 0.25, (), {ORIGINAL: [IMPLAUSIBLE_SET], ANONYMIZED: [IMPLAUSIBLE_ORIGINAL]}),
        (0.31, 0.25, (), {}),
        (0.35, 0.25, (0.15, 0.55, 0.35), {ORIGINAL: [IMPLAUSIBLE_SET]}),
        (0.45, 0.56, (), {ORIGINAL: [WORSE_ORIGINAL], ANONYMIZED: [IMPLAUSIBLE_ORIGINAL]}),
        (0.71, 0.2484, (), {}),  # published, 2026: anonymized speech may be at chance
    ],
)
def test_recall_of_emotions_at_chance(
    original: float, anonymized: float, folds: tuple[float, ...], expected: dict[str, list[str]]
) -> None:
    def record(speech: str, uar: float, folds: tuple[float, ...]) -> Record:
        c = Condition("S", "", "ser", "IEMOCAP", "test", trial=speech)
        values = {"uar": uar, **dict.fromkeys(("acc_ang", "acc_hap", "acc_neu", "acc_sad"), uar)}
        of_folds = ({"metric": "uar", "value": u, "fold": str(n)} for n, u in enumerate(folds))
        not_known = {"metric": "uar", "fold": "without value"}
        return Record(c, "emotion", (*rows_of_values(values), *of_folds, not_known))

    records = record(ORIGINAL, original, folds), record(ANONYMIZED, anonymized, ())
    found = caveats(Results(load_protocol("vpc2024"), emotion=records))
    assert {speech: keys for (_, speech), keys in found.items()} == expected | (
        {ANONYMIZED: [IMPLAUSIBLE_ORIGINAL]} if ORIGINAL in expected else {}
    )


def measured(metric: str, original: float, anonymized: float) -> Results:
    source = "quality" if metric.startswith("dnsmos") else "phones_text"
    return Results(
        load_protocol("vpc2020"),
        measures=tuple(
            support.rows_record(
                "measures",
                Condition("S", "", f"libri_{speech}", "libri", "test", "f", trial=speech),
                rows_of_values({metric: value}),
                source=source,
                n_utterances=10,
                utterances_left_out=0,
            )
            for speech, value in ((ORIGINAL, original), (ANONYMIZED, anonymized))
        ),
    )


def test_phone_errors_and_opinions() -> None:
    original, anonymized = ("libri", ORIGINAL), ("libri", ANONYMIZED)
    broken = {original: [IMPLAUSIBLE_SET], anonymized: [IMPLAUSIBLE_ORIGINAL]}
    assert caveats(measured("per", 0.9, 0.2)) == broken
    assert caveats(measured("per", 0.4, 0.2))[original] == [WORSE_ORIGINAL]
    assert caveats(measured("per", 0.15, 0.2)) == {}
    rated = measured("dnsmos_ovrl", 3.06, 3.26)  # of natural and of synthetic voices
    assert caveats(rated) == {anonymized: [RATED_ABOVE]} and CAVEATS[RATED_ABOVE].ranked
    (note,) = comparability_notes(rated)
    assert "DNSMOS OVRL 3.26, original 3.06" in note and "listeners" in note
    assert caveats(measured("dnsmos_ovrl", 3.06, 3.1)) == {}
    rows = cells_from_results(rated).rows
    cell = next(row for row in rows if row["system"] != ORIGINAL_COLUMN)
    assert cell["caveat"] is CAVEATS[RATED_ABOVE] and not is_withheld(cell)


def averages(results: Results) -> dict[str, float | None]:
    means = Means(cells_from_results(results), results.protocol)
    return {s: means.of("wer", None, "test", s)["value"] for s in (ORIGINAL_COLUMN, "S")}


@pytest.mark.wing("disclosure")
def test_what_is_broken_is_not_averaged_or_ranked_until_confirmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from privacy_eval.disclosure.gate import Policy, Rule, judge

    results = results_of((0.04, 0.07), (0.995, 0.08))
    means = Means(cells_from_results(results), PROTOCOL)
    assert averages(results) == {ORIGINAL_COLUMN: None, "S": None}
    assert means.of("wer", None, "test", "S")["withheld"] == ["vctk"]
    ranking = rank(means, metric="wer", split="test")
    assert not ranking.ranked and "vctk" in ranking.unranked["S"]
    rule = Rule("words", "wer", at_most=0.5, interval="optional")
    (verdict,) = judge(Policy((rule,)), results)
    assert [case.decision for case in verdict.cases][:2] == ["PASS", "UNDECIDED"]
    notes = list(comparability_notes(results))
    assert any("(99.50 %)" in note and "--confirm original:vctk" in note for note in notes)
    marked = [row["data_set"] for row in results.to_rows() if row["caveats"]]
    assert marked == ["vctk", "vctk"]
    assert to_results_txt(results, "S", "").count("caveat: ") == 2
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795824000")  # 2026-11-28
    assert today() == "2026-11-28"
    for name in ("original:vctk", "original"):
        confirmed = results.confirm([name])
        assert confirmed.confirmed == {name: "2026-11-28"} and caveats(confirmed) == {}
        assert averages(confirmed) == pytest.approx({ORIGINAL_COLUMN: 0.5175, "S": 0.075})
        (note,) = comparability_notes(confirmed)
        assert note.startswith("Confirmed on 2026-11-28 by --confirm ") and "99.50" in note
        assert caveats(confirmed.of("S")) == caveats(confirmed.selected(["S"])) == {}
        assert caveats(replace(confirmed, confirmed={})) == caveats(results)


def test_a_name_without_a_caveat_is_told_with_those_that_there_are() -> None:
    results = results_of((0.04, 0.07), (0.995, 0.08))
    with pytest.warns(InputWarning, match=r"--confirm orignal:vctk: .*original:vctk"):
        assert caveats(results.confirm(["orignal:vctk"])) == caveats(results)
    with pytest.warns(InputWarning, match="ends nothing"):
        results_of((0.04, 0.07), (0.05, 0.08)).confirm(["original"])
    with pytest.warns(InputWarning, match="--confirm original:libri"):
        assert results.confirm(["original:libri"]).confirmed == {}


def test_partial_and_far_values_are_confirmed_by_their_system() -> None:
    far = results_of((0.04, 0.07), (0.12, 0.99), "red/a")
    for name in ("red/a", "red/a:vctk", "red", "red:vctk"):
        assert caveats(far.confirm([name])) == {}
    values = {("S", "libri", ORIGINAL): 0.05, ("S", "libri", ANONYMIZED): 0.06}
    partial = Results(PROTOCOL, recognition=recognized(values, partial=True))
    assert caveats(partial) == {("libri", ANONYMIZED): [PARTIAL]}
    assert caveats(partial.confirm(["S:libri"])) == {}


def test_those_of_scores_stay() -> None:
    """`--confirm` ends no caveat of inverted, constant or few scores."""
    confirmable = {key for key, caveat in CAVEATS.items() if caveat.confirmable}
    assert confirmable == {
        PARTIAL,
        SAME_SCORES,
        IMPLAUSIBLE_SET,
        WORSE_ORIGINAL,
        FAR_SET,
        IMPLAUSIBLE_ORIGINAL,
    }


def scored(system: str, files: str) -> Results:
    """A system with score files of its own, or those of another."""
    results = imported(B1, system=system)
    return replace(
        results,
        verification=tuple(
            replace(r, provenance={"inputs": {"scores": {"sha256": f"{files}-{n}"}}})
            for n, r in enumerate(results.verification)
        ),
    )


def held(results: Results) -> set[str]:
    systems = {r.condition.system for r in results.verification if SAME_SCORES in r.caveats}
    for r in results.verification:
        is_held = r.condition.system in systems and not r.condition.is_original
        assert (SAME_SCORES in r.caveats) == is_held
    return systems


@pytest.mark.wing("disclosure")
def test_systems_with_the_same_scores_are_held_back() -> None:
    from privacy_eval.disclosure.gate import Policy, Rule, judge

    results = merge([scored("a", "x"), scored("b", "x"), scored("c", "y")])
    assert held(results) == {"a", "b"} == set(results.held)
    means = Means(cells_from_results(results), results.protocol)
    for metric in ("eer", "wer"):
        ranking = rank(means, metric=metric, split="test")
        assert [r["system"] for r in ranking.ranked] == ["c"]
        assert {"a", "b"} <= {*ranking.unranked}
    rule = Rule("eer", "eer", at_least=0.0, interval="optional", only={"system": ("a",)})
    (verdict,) = judge(Policy((rule,)), results.selected(["a"]))
    assert {case.decision for case in verdict.cases if case.value is not None} == {"UNDECIDED"}
    one = results.confirm(["a"])
    assert held(one) == {"b"} == held(one.selected(["b"]))
    (note,) = identical_scores(one)
    assert note.startswith("Identical scores of a and b")
    assert any("by --confirm" in text and "of a" in text for text in comparability_notes(one))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert held(results.confirm(["a", "b"])) == set()


def test_files_of_a_published_system_hold_back_the_other_only() -> None:
    assert held(merge([scored("B1", "x"), scored("team", "x")])) == {"team"}
    assert held(merge([scored("team", "x"), scored("S2", "x")])) == {"team"}
    assert held(merge([scored("B1", "x"), scored("B2", "x")])) == set()
    results = merge([scored("B1", "x"), scored("red/a", "x"), scored("blue/a", "x")])
    assert held(results) == {"red/a", "blue/a"}
    assert held(results.confirm(["red"])) == {"blue/a"}


def test_merged_results_need_a_confirmation_of_their_own() -> None:
    one = results_of((0.04, 0.07), (0.995, 0.08), "a").confirm(["original"])
    other = results_of((0.04, 0.07), (0.995, 0.08), "b")
    assert len(caveats(merge([one, other]))) == 2
    assert caveats(merge([one, other]).confirm(["original"])) == {}
    assert caveats(merge([one.of("a"), one.of("a")][:1])) == {}
