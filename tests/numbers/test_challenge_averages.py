"""The challenge's averages, against its published summary and averages by hand."""

import re
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from support import (
    ANON,
    B1,
    ORIG,
    SUMMARY,
    averages_of,
    changed,
    imported,
    inverted,
    models_of,
    with_line,
)

from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.challenge_averages import challenge_averages, summary_text
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.records import Results

#: Weights of the data sets, per gender, of the evaluation plan of 2022.
WEIGHTS = {"libri": Decimal("0.25"), "vctk": Decimal("0.20"), "common": Decimal("0.05")}


def published() -> dict[str, str]:
    """The averages at the end of the summary."""
    return dict(re.findall(r"^((?:Weighted a|A)verage .*): (\S+)$", SUMMARY.read_text(), re.M))


@pytest.fixture(name="results")
def _results() -> Results:
    return imported(ANON, ORIG, protocol="vpc2022", system="M")


def weight(trial_set: str) -> Decimal:
    return WEIGHTS["common" if "_common" in trial_set else trial_set.split("_")[0]]


def by_hand(lines: list[tuple[str, str]]) -> str:
    """Weighted mean of (trial set, printed number), in exact decimals."""
    assert sum(weight(name) for name, _ in lines) == 1
    total = sum(weight(name) * Decimal(number) for name, number in lines)
    return str(total.quantize(Decimal("0.001"), ROUND_HALF_UP))


def eers(path: Path, split: str, ending: str) -> list[tuple[str, str]]:
    pattern = rf"^ASV-\w+_{split}_enrolls{ending}-(\w+_{split}_trials_[fm](?:_common)?){ending}\n"
    return re.findall(pattern + r"  EER: (\S+)%", path.read_text(), re.M)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_averages_are_those_of_the_summary(results: Results, split: str) -> None:
    """Each title: by hand from the files' text, by the toolkit, as published."""
    text = ANON.read_text()
    pitch = re.findall(rf"^(\w+_{split}_\S+)  Pitch_correlation: mean=(\S+)", text, re.M)
    gvd = re.findall(
        rf"^(\w+_{split}_\S+)\n.*\n  Gain of voice distinctiveness : (\S+)", text, re.M
    )
    large = re.findall(rf"%WER (\S+) .*decode_\w+_{split}_asr_anon_tglarge", text)
    assert len(large) == 2
    by_title = {
        f"Weighted average EER {split} orig": by_hand(eers(ORIG, split, "")),
        f"Weighted average EER {split} anon": by_hand(eers(ANON, split, "_anon")),
        f"Average WER {split} anon": str((Decimal(large[0]) + Decimal(large[1])) / 2) + "0",
        f"Weighted average pitch correlation {split}": by_hand(pitch),
        f"Weighted average gain of voice distinctiveness {split}": by_hand(gvd),
    }
    found = averages_of(results)
    for title, expected in by_title.items():
        assert expected.rstrip("0") == published()[title].rstrip("0")
        assert f"{found[title]:.3f}" == published()[title]


def test_the_text_is_the_end_of_the_summary(results: Results) -> None:
    """But for the original WER: the published `.orig` file repeats the decodings of the
    recognizer trained on anonymized speech, so those of the other are in neither file."""
    wanted = [
        line
        for line in SUMMARY.read_text().splitlines()
        if "verage" in line and not re.match(r"Average WER \w+ orig", line)
    ]
    assert len(wanted) == len(published()) - 2
    assert summary_text(challenge_averages(results)).splitlines() == wanted
    assert "/asr_eval/" not in ANON.read_text() + ORIG.read_text()


def test_the_original_wer_comes_from_the_decodings_that_the_summary_lists(results: Results) -> None:
    """Where the recognizer trained on original speech is there, its average is too."""
    lines = re.findall(r"^ASR-(\w+)_(dev|test)_asr  %WER (\S+)", SUMMARY.read_text(), re.M)
    assert len(lines) == 4
    template = results.recognition[0]
    records = tuple(
        changed(
            with_line(template, wer=float(number) / 100).with_facts(
                language_model="large", asr_model="original"
            ),
            data_set=data_set,
            split=split,
            trial="original",
        )
        for data_set, split, number in lines
    )
    found = averages_of(replace(results, recognition=records))
    assert f"{found['Average WER dev orig']:.3f}" == published()["Average WER dev orig"]
    assert f"{found['Average WER test orig']:.3f}" == published()["Average WER test orig"]
    assert found["Average WER dev anon"] is None


def test_a_missing_part_leaves_its_average_blank(results: Results) -> None:
    """Any record taken away blanks the averages it is part of, and changes no other. Word
    error rates stand in both files, so here they are taken from one."""
    once = tuple(r for r in results.recognition if r.condition.results_folder == "")
    results = replace(results, recognition=once)
    whole = averages_of(results)
    assert sum(value is None for value in whole.values()) == 2  # the original WER
    for kind in ("verification", "recognition", "utility", "similarity"):
        records = getattr(results, kind)
        for index, record in enumerate(records):
            rest = replace(results, **{kind: records[:index] + records[index + 1 :]})
            found = averages_of(rest)
            blank = {t for t in whole if found[t] is None and whole[t] is not None}
            assert blank == _titles(kind, record)
            assert all(found[t] == whole[t] for t in whole if t not in blank)
            assert len(summary_text(challenge_averages(rest)).splitlines()) == 10 - len(blank)


def test_conflicting_word_error_rates_have_no_average(results: Results) -> None:
    """Results folders may repeat a rate, but not with another value."""
    counted = [
        i
        for i, r in enumerate(results.recognition)
        if (r.condition.split, r.condition.trial, models_of(r)[0]) == ("dev", "anonymized", "large")
    ]
    record = results.recognition[counted[0]]
    other = with_line(record, wer=record.values()["wer"] / 2)
    for more, is_blank in ((record, False), (other, True)):
        added = replace(results, recognition=(*results.recognition, more))
        by_title = averages_of(added)
        assert (by_title["Average WER dev anon"] is None) is is_blank
        assert by_title["Average WER test anon"] is not None
        notes = cells_from_results(added).notes
        assert any("results folders differ: WER of M on" in note for note in notes) is is_blank


def _titles(kind: str, record: Any) -> set[str]:
    """The averages that a record is part of."""
    split = record.condition.split
    if kind == "utility":
        return {f"Weighted average pitch correlation {split}"}
    if kind == "similarity":
        return {f"Weighted average gain of voice distinctiveness {split}"}
    if kind == "recognition":
        counts = models_of(record)[0] == "large" and record.condition.trial == "anonymized"
        return {f"Average WER {split} anon"} if counts else set()
    words = {"original": "orig", "semi-informed": "anon"}
    model = record.condition.attack_model
    return {f"Weighted average EER {split} {words[model]}"} if model in words else set()


def test_under_the_protocol_of_2020_the_anonymized_eer_is_the_lazy_informed_one() -> None:
    found = averages_of(imported(B1))
    assert f"{found['Weighted average EER dev anon']:.3f}" == by_hand(eers(B1, "dev", "_anon"))
    assert f"{found['Weighted average EER test orig']:.3f}" == by_hand(eers(B1, "test", ""))
    assert found["Average WER dev orig"] == pytest.approx((3.83 + 10.79) / 2, abs=1e-12)
    assert not any("pitch" in title for title in found)  # not of this edition


def test_other_attackers_are_not_averaged(results: Results) -> None:
    """Whose records may come before or after those of the challenge's own attacker."""
    others = tuple(
        changed(r, attacker="words", metrics={"challenge": {"eer": 0.01}})
        for r in results.verification
    )
    for records in ((*results.verification, *others), (*others, *results.verification)):
        assert averages_of(replace(results, verification=records)) == averages_of(results)


def test_weights_are_relative(results: Results) -> None:
    """The same averages where all weights are three times as large."""
    protocol = results.protocol
    sets = tuple(replace(d, weight=3 * d.weight) for d in protocol.data_sets)
    decoded = tuple(replace(d, weight=3 * d.weight) for d in protocol.recognition.data_sets)
    recognition = replace(protocol.recognition, data_sets=decoded)
    larger = replace(results, protocol=replace(protocol, data_sets=sets, recognition=recognition))
    for one, other in zip(challenge_averages(results), challenge_averages(larger), strict=True):
        assert one["title"] == other["title"]
        assert other["value"] == pytest.approx(one["value"], abs=1e-14)


def test_averages_of_implausible_values_are_blank_and_named() -> None:
    for systems in ((), ("mine",)):
        results = inverted(*systems).of("mine")
        texts = {a["title"]: a["printed"] for a in challenge_averages(results)}
        for title in ("Weighted average EER test orig", "Weighted average EER dev anon"):
            assert (texts[title] == "") is bool(systems)  # as in the tables
            summary = summary_text(challenge_averages(results)).splitlines()
            named = any(line.startswith(f"No {title}: implausible: 6 of 6") for line in summary)
            assert named is bool(systems)
            assert any(line.startswith(f"{title}: ") for line in summary) is not named
        assert summary[-1].startswith("?: ") is bool(systems)
        tables = system_tables(ReportData(results), "mine", "")
        table = next(t for t in tables if t.name == "averages")
        cells = {row[0]: row[1:] for row in table.rows}
        assert all((cell == "") is bool(systems) for cell in cells["EER, %, orig"])
        assert all(cells["WER, %, orig"])  # of the marked metric alone
        assert any(note.startswith("?: ") for note in table.notes) is bool(systems)
        assert any(note.startswith("No average: dev EER") for note in table.notes) is bool(systems)
