"""Speakers are numbered, by a key that only its owner can read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support import (
    B1,
    cli,
    imported,
    ok,
    rows_record,
    similarity_record,
    speaker_values,
    write_outputs,
)

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics.similarity import OF_SPEAKER
from privacy_eval.metrics.utility import SpeakerSums
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.report.tables_and_report import Publication
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.outputs import output_files
from privacy_eval.results.records import (
    KINDS,
    Results,
    merge,
)
from privacy_eval.results.speaker_numbers import KEY, kept_apart, numbered, renamed
from privacy_eval.tree.conditions import Condition

NAMES = ("Wagenbach", "o'Neil-2", "Эмиль", "jo", "1089", "anna_m")
TRIAL_SET = ("libri_dev_trials_f", "libri", "dev", "f")


def results_of(names: tuple[str, ...] = NAMES) -> Results:
    """Results that name speakers in every place that may."""
    speakers = tuple(
        dict(zip(OF_SPEAKER, (name, 0.1 * n, 0.5, 0.5, 0.5, None, 0.2), strict=True))
        for n, name in enumerate(names)
    )
    of_set = Condition("B1", "", *TRIAL_SET, asv_model="original")
    similarity = similarity_record(of_set, {"exact": {"deid": 0.3}}, speakers)
    counts, sums = tuple(range(1, len(names) + 1)), tuple(map(float, range(1, len(names) + 1)))
    of_set_anonymized = Condition("B1", "", *TRIAL_SET, trial="anonymized")
    of_speakers = {"dnsmos_ovrl": SpeakerSums(names, counts, sums, 10, 0)}
    facts = {"source": "quality", "n_utterances": len(names), "utterances_left_out": 0}
    row = {"metric": "dnsmos_ovrl", "value": 1.0}
    measured = rows_record("measures", of_set_anonymized, [row], **facts, speakers=of_speakers)
    inputs = {
        f"speaker {n}": {"path": f"m/{n.replace('m', '_')}.json", "sha256": "a" * 64} for n in names
    } | {"scores": {"path": "exp/scores", "sha256": "1089" * 16}}
    measured = replace(measured, provenance={"inputs": inputs})
    results = imported(B1, system="B1")
    protocol = replace(results.protocol, remarks=(f"speakers look alike: {names[0]}, x",))
    return replace(
        results,
        protocol=protocol,
        similarity=(similarity,),
        measures=(measured,),
        not_evaluated=tuple(f"no vector of 1089 utterances: {n}-7_1, {n}_2" for n in names),
    )


def test_no_output_has_a_name_and_the_key_is_its_owners(tmp_path: Path) -> None:
    results = numbered(results_of(), tmp_path)
    assert (tmp_path / KEY).stat().st_mode & 0o777 == 0o600
    key = json.loads((tmp_path / KEY).read_text())["speakers"]
    assert sorted(key) == [f"S{n}" for n in range(1, 7)] and sorted(key.values()) == sorted(NAMES)
    for name, text in output_files(results).items():
        text = text.replace("of 1089 utterances", "").replace("1089" * 16, "")
        found = [n for n in NAMES if n in text]
        assert not [n for n in found if n != "jo" or "jo-" in text], name
    number_of = {name: number for number, name in key.items()}
    of_set = speaker_values(results.similarity[0], "deid")
    assert [*of_set] == [number_of[n] for n in NAMES]
    named = speaker_values(results_of().similarity[0], "deid")
    assert [*of_set.values()] == [*named.values()]
    inputs = results.measures[0].provenance["inputs"]
    assert inputs.pop("scores") == {"path": "exp/scores", "sha256": "1089" * 16}
    assert inputs == {f"speaker {number}": {"sha256": "a" * 64} for number in key}
    assert results.not_evaluated[0] == (
        f"no vector of 1089 utterances: {number_of['Wagenbach']}-7_1, {number_of['Wagenbach']}_2"
    )


def test_the_same_speakers_keep_their_numbers_and_new_ones_follow(tmp_path: Path) -> None:
    first = to_json(numbered(results_of(NAMES[:4]), tmp_path))
    key = (tmp_path / KEY).read_text()
    assert to_json(numbered(results_of(NAMES[:4]), tmp_path)) == first
    assert (tmp_path / KEY).read_text() == key
    numbered(results_of(), tmp_path, ["of texts only"])
    more = json.loads((tmp_path / KEY).read_text())["speakers"]
    assert {n: more[n] for n in json.loads(key)["speakers"]} == json.loads(key)["speakers"]
    assert {more["S5"], more["S6"]} == set(NAMES[4:]) and more["S7"] == "of texts only"


def test_numbers_tell_nothing_of_names(tmp_path: Path) -> None:
    """Neither their order nor a digest: every key has an order of its own."""
    orders = set()
    for number in range(20):
        numbered(results_of(), tmp_path / str(number))
        key = json.loads((tmp_path / str(number) / KEY).read_text())
        orders.add(tuple(key["speakers"].values()))
    assert len(orders) > 10


def test_the_order_of_numbers_is_not_that_of_names(tmp_path: Path) -> None:
    """Lists are by value and number: an order by name would give the key away."""
    names = tuple(sorted(NAMES))
    results = results_of(names)
    rows = (
        {**r, "value": 0.3 if r["metric"] == "deid" else 0.5} for r in results.similarity[0].rows
    )
    similarity = replace(results.similarity[0], rows=tuple(rows))
    results = numbered(replace(results, similarity=(similarity,)), tmp_path)
    number_of = {n: s for s, n in json.loads((tmp_path / KEY).read_text())["speakers"].items()}
    numbers = [f"S{n}" for n in range(1, 7)]
    assert [*speaker_values(results.similarity[0], "deid")] == numbers
    [measured] = results.measures
    sums = measured.facts["speakers"]["dnsmos_ovrl"]
    assert list(sums.speakers) == numbers
    assert {s: c for s, c in zip(numbers, sums.counts, strict=True)} == {
        number_of[name]: n for n, name in enumerate(names, 1)
    }
    of_speakers = [k for k in measured.provenance["inputs"] if k.startswith("speaker")]
    assert of_speakers == [f"speaker {number}" for number in numbers]


def test_results_are_read_back_with_the_id_of_their_key(tmp_path: Path) -> None:
    results = numbered(results_of(), tmp_path)
    (tmp_path / "results.json").write_text(to_json(results))
    read = read_results(tmp_path / "results.json")
    assert read.speaker_key == results.speaker_key == read.of("B1").speaker_key != ""
    assert "speaker_key" not in json.loads(to_json(results_of()))


def test_numbers_of_two_keys_are_different_people(tmp_path: Path) -> None:
    one = numbered(results_of(), tmp_path / "a")
    other = numbered(results_of(), tmp_path / "b")
    assert kept_apart([one, one]) == (one, one)
    of_one, of_other = (
        {*speaker_values(r.similarity[0], "deid")} for r in kept_apart([one, other])
    )
    assert not of_one & of_other
    assert f"S1 ({one.speaker_key})" in of_one
    named = results_of()
    assert kept_apart([named, named]) == (named, named)
    assert merge([named]).speaker_key == ""
    back = renamed(one, json.loads((tmp_path / "a" / KEY).read_text())["speakers"].__getitem__)
    assert back.similarity == named.similarity
    sums = (r.measures[0].facts["speakers"]["dnsmos_ovrl"] for r in (back, named))
    assert len({frozenset(zip(s.speakers, s.counts, s.sums, strict=True)) for s in sums}) == 1


@pytest.mark.parametrize("text", ["{}x", "[]", '{"id": 5, "speakers": {}}', '{"speakers": 3}'])
def test_a_damaged_key_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / KEY).write_text(text)
    with pytest.raises(PrivacyEvalError, match=KEY):
        numbered(results_of(), tmp_path)
    assert (tmp_path / KEY).read_text() == text


@pytest.mark.parametrize(
    "speakers", [{"S2": "jo"}, {"S1": "jo", "S2": "jo"}, {"S1": "jo", "x": "anna_m"}]
)
def test_a_key_that_would_mix_people_up_is_refused(
    speakers: dict[str, str], tmp_path: Path
) -> None:
    """A line that is gone would give its number to another speaker."""
    text = json.dumps({"id": "0a", "speakers": speakers})
    (tmp_path / KEY).write_text(text)
    with pytest.raises(PrivacyEvalError, match=f"{KEY}: damaged"):
        numbered(results_of(), tmp_path)
    assert (tmp_path / KEY).read_text() == text


def test_results_moved_without_their_key_stay_as_they_are(tmp_path: Path) -> None:
    results = numbered(results_of(), tmp_path / "a")
    moved = tmp_path / "moved/results.json"
    write_outputs(results, moved.parent)
    data = read_report_data(ReportSources((moved,)))
    public = Publication(public=True).data(data)
    assert public.results.similarity[0].rows == results.similarity[0].rows
    assert public.results.speaker_key == results.speaker_key
    assert not (moved.parent / KEY).exists()


def test_a_statement_numbers_speakers_and_writes_no_key(tmp_path: Path) -> None:
    write_outputs(results_of(), tmp_path)
    results = ("--results", tmp_path / "results.json", "--out", tmp_path / "page.html")
    ok(cli("report", "--statement", *results))
    assert not (tmp_path / KEY).exists()
    ok(cli("report", "--public", *results))
    assert (tmp_path / KEY).is_file()


def test_a_public_report_of_two_keys_is_numbered_by_both(tmp_path: Path) -> None:
    """Neither key gets the other's numbers as names."""
    paths, keys = [], []
    for name in ("A", "B"):
        named = results_of()
        records = {
            kind: tuple(
                replace(r, condition=replace(r.condition, system=name))
                for r in getattr(named, kind)
            )
            for kind in KINDS
        }
        results = numbered(replace(named, **records), tmp_path / name)
        write_outputs(results, tmp_path / name)
        paths.append(tmp_path / name / "results.json")
        keys.append((tmp_path / name / KEY).read_text())
    data = read_report_data(ReportSources(tuple(paths)))
    public = Publication(public=True).data(data)
    found = {s for r in public.results.similarity for s in speaker_values(r, "deid")}
    ids = {json.loads(key)["id"] for key in keys}
    assert found == {f"S{n} ({key})" for n in range(1, 7) for key in ids}
    assert public.results.speaker_key == "+".join(sorted(ids))
    assert [(path.parent / KEY).read_text() for path in paths] == keys
