"""results.json: round trips, invalid files, merging, import and export."""

import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import (
    ANON,
    B1,
    B2,
    MODELS_2022,
    ORIG,
    changed_protocol,
    csv_rows,
    import_results_txt,
    imported,
    metrics_of,
    models_of,
    put_value,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import METRICS
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.results.arrays import StoredArrays
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.json_store import FORMAT, read_results, to_json
from privacy_eval.results.outputs import to_csv
from privacy_eval.results.record_files import read_record, record_content
from privacy_eval.results.records import Results, merge

KINDS = ("verification", "recognition", "utility", "similarity")
Plain = dict[str, Any]

#: Format of numbers of a record in results.txt, by their path in the record. Others are not
#: there.
#: Entries that lead to a value.
Place = tuple[str | int, ...]

PRINTED: dict[Place, Callable[[float], str]] = {
    ("rows", "eer"): lambda v: f"{100 * v:.4g}",
    ("rows", "cllr_min"): lambda v: f"{v:.3f}",
    ("rows", "cllr"): lambda v: f"{v:.3f}",
    ("rows", "rocch_eer"): lambda v: f"{100 * v:.3f}",
    ("rows", "linkability"): lambda v: f"{v:.6f}",
    ("rows", "zebra_population"): lambda v: f"{v:.3f}",
    ("rows", "zebra_individual"): lambda v: f"{v:.3f}",
    ("rows", "wer"): lambda v: f"{100 * v:.2f}",
    ("rows", "pitch_correlation_mean"): lambda v: f"{v:.4f}",
    ("rows", "pitch_correlation_std"): lambda v: f"{v:.4f}",
    ("facts", "errors"): str,
    ("facts", "n_words"): str,
    ("facts", "insertions"): str,
    ("facts", "deletions"): str,
    ("facts", "substitutions"): str,
    ("facts", "lm_weight"): str,
    ("facts", "word_insertion_penalty"): repr,
    ("rows", "deid"): repr,
    ("rows", "gvd_db"): repr,
}
_TOKENS = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\binf\b)")


def tokens(text: str) -> list[str]:
    """Split a text into numbers and the rest."""
    return _TOKENS.split(text)


def leaves(value: object, place: Place = ()) -> Iterator[tuple[Place, object]]:
    """Iterate over all scalars in plain values, with their paths."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*place, index))
    else:
        yield place, value


def numbers(record: Plain) -> list[Place]:
    """Paths of all numbers of a record."""
    return [p for p, v in leaves(record) if isinstance(v, (int, float)) and not isinstance(v, bool)]


def put(record: Plain, place: Place, value: object) -> None:
    for key in place[:-1]:
        record = record[key]
    record[place[-1]] = value


def at(record: Plain, place: Place) -> Any:
    for key in place:
        record = record[key]
    return record


def named(record: Plain, place: Place) -> Place:
    """The place of a number, of a row by its metric."""
    return ("rows", at(record, place[:-1])["metric"]) if place[0] == "rows" else place


def other(place: Place, value: Any) -> Any:
    """Another value within the range, by an amount that every output shows."""
    if place[-1] == "eer":
        return 0.4321 if value < 0.4 else 0.5432  # four digits, above ROCCH-EER
    if place[-1] == "rocch_eer":  # at most the EER
        return value / 2
    if isinstance(value, int):
        return value + 1
    if place[-1] == "zebra_individual":  # of the same category
        return int(value) + (0.25 if value % 1 > 0.5 else 0.75)
    return value + (0.25 if value < 0.45 else -0.25)


def document(results: Results) -> Plain:
    plain: Plain = json.loads(to_json(results))
    return plain


def written(folder: Path, plain: object) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(plain))
    return path


def _stored(folder: Path, plain: Plain) -> Results:
    return read_results(written(folder, plain))


PUBLISHED = {"B1": (B1,), "B2": (B2,), "2022": (ANON, ORIG)}


@pytest.fixture(params=PUBLISHED, name="results")
def _results(request: pytest.FixtureRequest) -> Results:
    protocol = "vpc2022" if request.param == "2022" else "vpc2020"
    return imported(*PUBLISHED[request.param], protocol=protocol)


def test_json_comes_back(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(to_json(results))
    assert read_results(path) == results
    assert to_json(read_results(path)) == to_json(results)


@pytest.mark.parametrize(
    ("path", "protocol", "folder"),
    [(B1, "vpc2020", ""), (B2, "vpc2020", ""), (ANON, "vpc2022", ""), (ORIG, "vpc2022", ".orig")],
    ids=["B1", "B2", "anon", "orig"],
)
def test_export_equals_import(path: Path, protocol: str, folder: str, tmp_path: Path) -> None:
    """Through the file, not only through memory; both folders of 2022 in one store."""
    whole = imported(*(PUBLISHED["2022"] if protocol == "vpc2022" else (path,)), protocol=protocol)
    stored = _stored(tmp_path, document(whole))
    assert to_results_txt(stored, "B1", folder).encode() == path.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_one_number_changed_changes_that_number(
    results: Results, kind: str, tmp_path: Path
) -> None:
    """Every number of every record, through the file. One that the text does not show
    changes nothing."""
    plain = document(results)
    alone = {**plain, **{k: [] for k in KINDS}}
    changed_paths = set()
    for record in plain[kind]:
        folder = record["results_folder"]
        before = tokens(to_results_txt(_stored(tmp_path, {**alone, kind: [record]}), "B1", folder))
        for place in numbers(record):
            changed = copy.deepcopy(record)
            value = other(named(record, place), at(record, place))
            put(changed, place, value)
            stored = _stored(tmp_path, {**alone, kind: [changed]})
            after = tokens(to_results_txt(stored, "B1", folder))
            different = [(x, y) for x, y in zip(before, after, strict=True) if x != y]
            key = named(record, place)
            if key in PRINTED:
                assert different == [(PRINTED[key](at(record, place)), PRINTED[key](value))]
            else:
                assert different == []
            changed_paths.add(key)
    first = plain[kind][0] if plain[kind] else {}
    expected = {*PRINTED} & {named(first, place) for place, _ in leaves(first)}
    assert expected <= changed_paths


@pytest.mark.parametrize("metric", ["cllr", "zebra_individual"])
def test_infinite_values(metric: str, tmp_path: Path) -> None:
    """`inf` in JSON is the string; in results.txt a word that reads back."""
    plain = document(imported(ANON, protocol="vpc2022"))
    put_value(plain["verification"][0], metric, "inf")
    if metric == "zebra_individual":
        rows = plain["verification"][0]["rows"]
        next(row for row in rows if row["metric"] == metric)["tag"] = "F"
    stored = _stored(tmp_path, plain)
    assert stored.verification[0].by_variant()["challenge"][metric] == float("inf")
    assert metrics_of(document(stored)["verification"][0])["challenge"][metric] == "inf"
    text = to_results_txt(stored, "B1", "")
    assert text.count("inf") == 1
    again = import_results_txt(text, "r", stored.protocol, system="B1")
    assert again.verification[0].by_variant() == stored.verification[0].by_variant()


@pytest.mark.parametrize("value", ["inf", "-inf", -0.5, 1.5])
@pytest.mark.parametrize(
    "metric", ["eer", "rocch_eer", "cllr_min", "linkability", "zebra_population"]
)
def test_values_out_of_range_are_refused(metric: str, value: object, tmp_path: Path) -> None:
    plain = document(imported(ANON, protocol="vpc2022"))
    put_value(plain["verification"][0], metric, value)
    with pytest.raises(PrivacyEvalError, match=f"{metric}: .* is not within 0 to"):
        _stored(tmp_path, plain)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("EER: 14.91%", "EER: -1%", "eer: .* is not within 0 to 1"),
        ("EER: 14.91%", "EER: inf%", "eer: .* is not within 0 to 1"),
        ("0.466/12.520", "1.466/12.520", "cllr_min: .* is not within 0 to 1"),
        ("0.466/12.520", "0.999/0.001", "cllr_min 0.999 is above cllr 0.001"),
        ("linkability: 0.661233", "linkability: 1.661233", "linkability: .* is not within 0 to 1"),
        (" 3.452 (C)", " 3.452 (A)", "'A' contradicts zebra_individual 3.452, which is C"),
    ],
)
def test_results_txt_is_checked_like_results_json(old: str, new: str, message: str) -> None:
    text, protocol = ANON.read_text(), load_protocol("vpc2022")
    assert import_results_txt(text, "r", protocol, system="B1").verification
    assert old in text
    with pytest.raises(PrivacyEvalError, match=f"^r: .*{message}"):
        import_results_txt(text.replace(old, new, 1), "r", protocol, system="B1")


# --- invalid files


def removed(kind: str, name: str) -> Callable[[Plain], object]:
    return lambda d: d[kind][0].pop(name)


def altered(kind: str, **entries: object) -> Callable[[Plain], object]:
    return lambda d: d[kind][0].update(entries)


def fact(kind: str, **entries: object) -> Callable[[Plain], object]:
    return lambda d: d[kind][0].setdefault("facts", {}).update(entries)


def row_of(kind: str, **entries: object) -> Callable[[Plain], object]:
    return lambda d: d[kind][0]["rows"][0].update(entries)


def metric(**entries: object) -> Callable[[Plain], object]:
    def change(plain: Plain) -> None:
        for name, value in entries.items():
            put_value(plain["verification"][0], name, value)

    return change


MALFORMED: dict[str, tuple[Callable[[Plain], object], str]] = {
    "missing entry": (removed("verification", "split"), "record of B1 .*: libri, f, no split"),
    "missing wer": (removed("recognition", "rows"), r"recognition\[0\]: entry 'rows' is missing"),
    "missing kind": (lambda d: d.pop("utility"), "entry 'utility' is missing"),
    "unknown entry": (altered("verification", foo=1), r"unknown entry 'foo'"),
    "unknown entry on top": (lambda d: d.update(foo=1), r"unknown entry 'foo'"),
    "text for a number": (metric(eer="5"), "value: expected a number, found '5'"),
    "fraction of a word": (fact("recognition", n_words=1.5), "words: expected a whole number"),
    "record is text": (lambda d: d["verification"].insert(0, "x"), "expected a mapping, found 'x'"),
    "former format": (
        lambda d: d.update(format="privacy_eval results 4"),
        f"expected the format '{FORMAT}'",
    ),
    "other format": (lambda d: d.update(format="results 9"), f"expected the format '{FORMAT}'"),
    "no format": (lambda d: d.pop("format"), "not a results.json"),
    "no protocol": (lambda d: d.pop("protocol"), "entry 'protocol' is missing"),
    "invalid protocol": (lambda d: d["protocol"].update(splits=[]), "splits must not be empty"),
    "unknown in protocol": (lambda d: d["protocol"].update(x=1), "protocol: unknown entry 'x'"),
    "a number too large": (metric(eer=10**400), "value: a number is too large"),
    "a negative rate": (metric(eer=-0.01), "B1 ASV-.*: eer: -0.01 is not within 0 to 1"),
    "a rate above one": (metric(rocch_eer=1e300), r"rocch_eer: 1e\+300 is not within 0 to 1"),
    "a negative cost": (metric(cllr=-1), "cllr: -1 is not within 0 to inf"),
    "a disclosure above all": (metric(zebra_population=0.73), "zebra_population: 0.73 is not with"),
    "no targets": (fact("verification", n_target=0), "n_target: 0 is less than 1"),
    "fewer than none": (fact("verification", trials_without_score=-3), "-3 is less than 0"),
    "bounds the wrong way round": (
        fact("verification", eer_interval_if_independent=[0.2, 0.1]),
        r"expected an interval \[low, high\] with low <= high",
    ),
    "words below none": (fact("recognition", n_words=-1), "words: -1 is less than 0"),
    "a negative WER": (
        altered("recognition", rows=[{"metric": "wer", "value": -0.5}]),
        "wer: -0.5 is not within 0",
    ),
    "a row without metric": (
        lambda d: d["verification"][0]["rows"][0].pop("metric"),
        "rows: .* metric in every row",
    ),
    "a system without name": (altered("verification", system=""), "the system has no name"),
}


@pytest.mark.parametrize(("change", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_store_is_refused(
    change: Callable[[Plain], object], message: str, tmp_path: Path
) -> None:
    plain = document(imported(B1))
    change(plain)
    path = written(tmp_path, plain)
    with pytest.raises(PrivacyEvalError, match=message) as caught:
        read_results(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_rows_of_a_session_may_lack_counts(tmp_path: Path) -> None:
    plain = document(imported(B1))
    of_session = {"metric": "eer", "variant": "challenge", "session": "enrolled", "value": 0.1}
    plain["verification"][0]["rows"].append(of_session)
    (record, *_) = read_results(written(tmp_path, plain)).verification
    assert record.find("eer", session="enrolled")["value"] == 0.1
    assert not record.caveats


NAN = re.sub(r'"value": [\d.]+', '"value": NaN', to_json(imported(B1)), count=1).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1: not JSON"),
        (b"{\n\n 'a': 1}", ":3: not JSON"),
        (b"[]", ": not a results.json"),
        (b"null", ": not a results.json"),
        (b'{"format":\n NaN}', ": NaN is not a JSON number"),
        (NAN, ": NaN is not a JSON number"),
        (b'{"format": -Infinity}', ": -Infinity is not a JSON number"),
        (b'{"a": "\xff"}', ":1: not UTF-8 text"),
        (b"[" * 100_000, ": not JSON"),
        (b'{"format": 1} x', ":1: not JSON"),
        (b'{"a": [{"b": 1, "c": 2, "b": 1}]}', ": duplicate 'b' in one object"),
        pytest.param(b'{"format": ' + b"1" * 5000 + b"}", ": not"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_invalid_json_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(PrivacyEvalError, match=f"^{re.escape(str(path))}{message}"):
        read_results(path)


#: Stores that are well-formed but hold what no output has a place for. Every output made
#: of them must be an error of ours or hold the value; none may fall over.
UNPLACED: dict[str, Callable[[Plain], object]] = {
    "unknown metric": metric(foo=0.5),
    "unknown value of a trial set": row_of("similarity", metric="zzz", value=1.0),
    "voice similarity of a variant of its own": row_of("similarity", variant="mine"),
    "voice similarity of one number": lambda d: d["similarity"][0]["rows"].pop(),
    "voice similarity of none": altered("similarity", rows=[]),
    "pitch without its values": altered("utility", rows=[]),
    "an interval without an end": row_of("verification", low=0.1),
    "intervals of one metric only": row_of("verification", low=0.1, high=0.2),
    "a second variant of one metric only": lambda d: put_value(
        d["verification"][0], "eer", 0.1, "exact"
    ),
}


@pytest.mark.parametrize("change", UNPLACED.values(), ids=UNPLACED)
def test_a_store_with_unplaced_values_breaks_no_output(
    change: Callable[[Plain], object], tmp_path: Path
) -> None:
    from privacy_eval.numbers.report_data import ReportData
    from privacy_eval.report.system_tables import table_groups
    from privacy_eval.report.table_formats import write_tables

    plain = document(imported(ANON, protocol="vpc2022"))
    change(plain)
    path = written(tmp_path, plain)
    try:
        stored = read_results(path)
        to_results_txt(stored, "B1", "")
        to_csv(stored)
        write_tables(tmp_path / "tables", table_groups(ReportData(stored)), "t")
    except PrivacyEvalError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("entry", ["data_set", "gender", "split", "enrollment", "results_folder"])
def test_a_record_that_does_not_fit_its_protocol_is_refused(entry: str, tmp_path: Path) -> None:
    plain = document(imported(B1))
    plain["verification"][0][entry] = "nowhere"
    with pytest.raises(PrivacyEvalError, match="nowhere"):
        _stored(tmp_path, plain)


# --- several files


def test_two_systems_in_one_store() -> None:
    both = merge([imported(B1, system="B1"), imported(B2, system="B2")])
    assert both.systems == ["B1", "B2"]
    assert to_results_txt(both, "B2", "").encode() == B2.read_bytes()
    assert both.of("B2") == imported(B2, system="B2")


@pytest.mark.parametrize("kind", KINDS)
def test_duplicate_records_are_refused(kind: str) -> None:
    results = imported(ANON, protocol="vpc2022")
    part = replace(Results(results.protocol), **{kind: getattr(results, kind)})
    with pytest.raises(PrivacyEvalError, match="system 'B1': duplicate A?.* two results files"):
        merge([part, part])


def test_results_under_different_protocols_are_not_merged() -> None:
    with pytest.raises(PrivacyEvalError, match="under different protocols") as caught:
        merge([imported(B1), imported(ANON, protocol="vpc2022", system="M")])
    assert "vpc2020" in str(caught.value) and "M: vpc2022" in str(caught.value)
    assert "name: vpc2020 / vpc2022, title: " in str(caught.value)
    one = imported(B1)
    other = replace(one, protocol=replace(one.protocol, title="Mine, simulated data"))
    with pytest.raises(PrivacyEvalError) as caught:
        merge([one, other])
    assert str(caught.value).endswith("title: VoicePrivacy 2020 / Mine, simulated data differ")


def test_failures_of_a_system_in_several_files_are_all_kept() -> None:
    """Also those of original speech, which concern every file."""
    parts = [replace(imported(B1), failed={"B1": ("B1 a: x", "original: y")})]
    parts.append(replace(Results(parts[0].protocol), failed={"B1": ("original: y", "B1 b: z")}))
    assert merge(parts).failed == {"B1": ("B1 a: x", "original: y", "B1 b: z")}


def test_results_with_another_protocol() -> None:
    results = imported(B1)
    moved = results.under(load_protocol("vpc2022"))
    assert moved.protocol.name == "vpc2022"
    assert moved.verification == results.verification
    assert moved.recognition == results.recognition


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (changed_protocol(splits=["dev"]), "record of B1 .*: libri, test, f, results folder ''"),
        (
            changed_protocol(genders={"m": "male"}),
            "record of B1 .*: libri, dev, f, results folder ''",
        ),
        (
            changed_protocol(results_folders=[{"suffix": ".x", "asv_model": "original"}]),
            "record of B1 .*: libri, dev, f, results folder ''",
        ),
    ],
    ids=["splits", "genders", "folders"],
)
def test_a_protocol_that_does_not_fit_a_record(protocol: Any, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        imported(B1).under(protocol)


# --- import


def test_conditions_of_an_import() -> None:
    results = imported(ANON, ORIG, protocol="vpc2022")
    models = {
        (r.condition.results_folder, r.condition.enrollment[0] + "-" + r.condition.trial[0]): (
            r.condition.asv_model,
            r.condition.attack_model,
        )
        for r in results.verification
    }
    assert models == MODELS_2022
    assert {models_of(r) for r in results.recognition} == {
        ("small", "anonymized"),
        ("large", "anonymized"),
    }


def test_another_suffix() -> None:
    text = B1.read_text().replace("_anon-", "_mine-").replace("_anon\n", "_mine\n")
    protocol = load_protocol("vpc2020")
    with pytest.raises(PrivacyEvalError, match="_mine matches no condition"):
        import_results_txt(text, "r", protocol, system="B1")
    results = import_results_txt(text, "r", protocol, system="B1", anon_suffix="_mine")
    assert to_results_txt(results, "B1", "") == text
    assert results.verification[1].condition.trial == "anonymized"


def test_import_of_an_unknown_results_folder() -> None:
    with pytest.raises(PrivacyEvalError, match="no results folder with suffix '.orig'"):
        import_results_txt(
            B1.read_text(), "r", load_protocol("vpc2020"), system="B1", results_folder=".orig"
        )


# --- CSV


def test_csv_has_a_line_for_every_number() -> None:
    results = imported(ANON, ORIG, protocol="vpc2022")
    rows = csv_rows(to_csv(results))
    plain = document(results)
    wanted = sum(
        place[-1] == "value"
        for kind in KINDS
        for record in plain[kind]
        for place in numbers(record)
    )
    assert len(rows) == wanted == 72 * 7 + 32 + 12 * 2 + 12 * 2
    for row in rows:
        metric_name = "wer" if row["metric"].startswith("wer_") else row["metric"]
        assert row["unit"] == METRICS[metric_name].unit
    first = rows[0]
    assert (first["system"], first["metric"], first["unit"], first["variant"]) == (
        "B1",
        "eer",
        "fraction",
        "challenge",
    )
    assert float(first["value"]) == pytest.approx(0.1491, abs=1e-15)


@pytest.mark.parametrize(
    "name", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+cmd()", "-A1", "\uff1dA1", 'a,"b"; %_& é']
)
def test_no_name_is_a_formula_in_a_spreadsheet(name: str) -> None:
    rows = csv_rows(to_csv(imported(B1, system=name)))
    assert {row["system"] for row in rows} == {name if name[0] == "a" else f"'{name}"}
    assert any(row["value"].startswith("0.") for row in rows)


def test_a_language_model_that_the_protocol_lacks_is_refused(tmp_path: Path) -> None:
    plain = document(imported(B1))
    plain["recognition"][0]["facts"]["language_model"] = "other"
    with pytest.raises(PrivacyEvalError, match="does not fit protocol .*language model other"):
        _stored(tmp_path, plain)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("bootstrap_seed", 0.5, "bootstrap_seed is no whole number"),
        ("bootstrap_speakers", math.inf, "bootstrap_speakers is no whole number"),
        ("bootstrap_seed", [1], "bootstrap_seed has 1 dimensions"),
        ("bootstrap_design", 1, "bootstrap_design is no text"),
        ("bootstrap_exact_eer", ["x"], "bootstrap_exact_eer is not numeric"),
    ],
)
def test_replicates_of_strangers_are_checked(
    name: str, value: object, said: str, tmp_path: Path
) -> None:
    results = imported(B1, system="M")
    draws = {"design": "d", "seed": 0, "speakers": 30, "exact_eer": [0.1, 0.2]}
    arrays = {f"bootstrap_{entry}": np.array(of) for entry, of in draws.items()}
    path = tmp_path / "records/M/x.json"
    path.parent.mkdir(parents=True)
    for of in (arrays, {**arrays, name: np.array(value)}):
        for file, content in record_content(path, results.verification[0], of).items():
            file.write_bytes(content)
        record = read_record(path)
        stored = StoredArrays([(replace(results, verification=(record,)), tmp_path / "r.json")])
        if of is arrays:
            drawn = stored.replicates(record, "exact", "eer")
            assert drawn is not None and drawn.n_speakers == 30
            assert drawn.values["eer"].tolist() == [0.1, 0.2]
            assert stored.replicates(record, "challenge", "eer") is None
        else:
            with pytest.raises(PrivacyEvalError, match=said):
                stored.replicates(record, "exact", "eer")
