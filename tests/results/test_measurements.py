"""One table of numbers: what is selected, by a slow second implementation; printing and frames."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import B1, imported

import privacy_eval as pe
from privacy_eval.io.schema import to_plain
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.means import Means, averaged_sets
from privacy_eval.results.json_store import to_json
from privacy_eval.results.measurements import COLUMNS, PRESENT, WHOLE, Measurements, measured

VALUES = st.sampled_from(["a", "b", None, 3])
ROWS = st.lists(
    st.fixed_dictionaries(
        {"metric": st.sampled_from(["eer", "cllr"]), "value": st.floats(0, 1)},
        optional={name: VALUES for name in ("system", "group", "gallery", "variant")},
    )
)


@given(ROWS, st.dictionaries(st.sampled_from(["system", "group", "gallery"]), VALUES))
def test_selection_by_loops(rows: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
    table = Measurements.of(rows)
    blank = [{k: v for k, v in row.items() if v is not None} for row in rows]
    assert table.to_rows() == blank and len(table) == len(rows)
    chosen = [r for r in blank if all(r.get(k) == v for k, v in wanted.items())]
    assert table.select(**wanted).to_rows() == chosen
    for _ in range(2):  # the second time by the index of the first
        assert table.find(**wanted) == next(iter(chosen), None)
    several = {name: ["a", None] for name in wanted}
    chosen = [r for r in blank if all(r.get(k) in ("a", None) for k in wanted)]
    assert table.select(**several).to_rows() == chosen
    present = [r for r in blank if all(k in r for k in wanted)]
    assert table.select(**dict.fromkeys(wanted, PRESENT)).to_rows() == present
    grouped = table.groups(*wanted)
    assert sum(map(len, grouped.values())) == len(rows)
    assert all(tuple(r.get(k) for k in wanted) == key for key, of in grouped.items() for r in of)


@given(ROWS)
def test_the_variant_or_the_only_one(rows: list[dict[str, Any]]) -> None:
    table = Measurements.of(rows)
    places = [(r.get("system"), r.get("group"), r.get("gallery")) for r in rows]
    stored = {place for place, r in zip(places, rows, strict=True) if r.get("variant") == "a"}
    chosen = [
        r
        for place, r in zip(places, rows, strict=True)
        if r.get("variant") == "a" or place not in stored
    ]
    assert table.in_variant("a").to_rows() == Measurements.of(chosen).to_rows()


PARTS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.sampled_from("vl"), st.sampled_from("fm")), unique=True
)


@given(PARTS, st.integers(0, 99), st.sampled_from([None, {("v", "f"): 1, ("l", "f"): 3}]))
def test_means_by_loops(
    parts: list[tuple[str, str, str]], seed: int, weights: dict[tuple[str, str], int] | None
) -> None:
    values = {part: (7 * n + seed) % 11 / 10 for n, part in enumerate(parts)}
    rows = [
        {"system": s, "data_set": d, "gender": g, "metric": "eer", "value": v}
        for (s, d, g), v in values.items()
    ]
    if not rows:
        return
    expected = {}
    weight_of = weights or dict.fromkeys([(d, g) for _, d, g in parts], 1)
    for system in dict.fromkeys(s for s, *_ in parts):
        present = {place: values.get((system, *place)) for place in weight_of}
        lacking = [" ".join(place) for place, value in present.items() if value is None]
        total = sum(w * (present[place] or 0) for place, w in weight_of.items())
        mean = None if lacking else pytest.approx(total / sum(weight_of.values()))
        expected[system] = mean, ", ".join(lacking) or None
    means = Measurements.of(rows).mean(("data_set", "gender"), weights)
    assert {r["system"]: (r.get("value"), r.get("missing")) for r in means} == expected
    assert {r["n_parts"] for r in means} == {len(weight_of)}


def row(system: str, metric: str, value: float, **more: Any) -> dict[str, Any]:
    return {"system": system, "metric": metric, "value": value, **more}


def test_differences_orders_and_the_strongest() -> None:
    inverted = {"caveats": {"inverted": "inverted scores"}}
    table = Measurements.of(
        [
            *(row("A", "eer", v, attacker=a) for a, v in (("plda", 0.4), ("lda", 0.1))),
            *(row("B", "eer", v, attacker=a) for a, v in (("plda", 0.3), ("lda", 0.3))),
            row("C", "eer", 0.3, attacker="plda"),
            row("C", "eer", 0.9, attacker="lda", **inverted),
            *(row(s, "wer", v) for s, v in (("A", 0.09), ("B", 0.05), ("C", 0.07))),
        ]
    )
    least = {
        r["system"]: (r["attacker"], r["value"]) for r in table.select(metric="eer").strongest()
    }
    assert least == {"A": ("lda", 0.1), "B": ("plda", 0.3), "C": ("plda", 0.3)}
    ranked = table.select(attacker="plda").rank("eer")
    assert [(r["system"], r["place"]) for r in ranked] == [("A", 1), ("B", 2), ("C", 2)]
    assert [r["system"] for r in table.rank("wer")] == ["B", "C", "A"]
    by_lda = table.select(attacker="lda").rank("eer")  # what is withheld has no place
    assert [(r["system"], r.get("place")) for r in by_lda] == [("B", 1), ("A", 2), ("C", None)]
    found = [(r["metric"], r.get("attacker"), r.get("value")) for r in table.compare("A", "C")]
    assert found == [
        ("eer", "plda", pytest.approx(0.1)),
        ("eer", "lda", None),
        ("wer", None, pytest.approx(0.02)),
    ]
    assert {r["against"] for r in table.compare("A", "C")} == {"C"}
    for wrong in (lambda: table.mean("gender"), lambda: table.rank("eer", "team")):
        with pytest.raises(pe.PrivacyEvalError, match="no column"):
            wrong()
    with pytest.raises(pe.PrivacyEvalError, match="two values of .*select one"):
        Measurements.of([row("A", "eer", 0.1), row("A", "eer", 0.2)]).rank("eer")
    with pytest.raises(pe.PrivacyEvalError, match="no best value"):
        Measurements.of([row("A", "level_db", -20.0)]).rank("level_db")


def test_means_of_results_are_the_reports() -> None:
    """With the protocol's weights, as in the challenge's tables."""
    results = imported(B1)
    protocol = results.protocol
    means = Means(cells_from_results(results), protocol)
    weights = {(d, g): weight for d, g, weight in averaged_sets(protocol, "eer")}
    table = results.measurements.select(**WHOLE, metric="eer").mean(("data_set", "gender"), weights)
    compared = 0
    for r in table:
        if r["attack_model"] != "original":
            of = means.of("eer", r["attack_model"], r["split"], "B1")
            assert r["value"] == of["value"]
            compared += 1
    assert compared == 4


def test_results_are_one_table(tmp_path: Any) -> None:
    path = tmp_path / "results.json"
    path.write_text(to_json(imported(B1, system="<b>")))
    table = pe.load(path)
    results = pe.read_results(path)
    of_sets = table.select(**WHOLE, metric="eer", attack_model="ignorant")
    values = {
        (r.condition.data_set, r.condition.split, r.condition.gender): r.by_variant()["challenge"][
            "eer"
        ]
        for r in results.verification
        if r.condition.attack_model == "ignorant"
    }
    assert {(r["data_set"], r["split"], r["gender"]): r["value"] for r in of_sets} == values
    assert table.values("attack_model")[0] == "original" and {*table.columns} <= {*COLUMNS}
    shown = repr(table)
    assert "measurements of <b>" in shown and "..." in shown and len(shown.splitlines()) < 30
    assert "&lt;b&gt;" in table._repr_html_() and "<b>" not in table._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        table["value"][0] = 1.0
    with pytest.raises(pe.PrivacyEvalError, match="did you mean value"):
        table["valu"]


def test_frames_and_arrow() -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    table = imported(B1).measurements
    arrow = table.to_arrow()
    assert arrow.num_rows == len(table) == len(table.to_frame())
    assert arrow.column("value").to_pylist() == table["value"].tolist()


NUMBERS = st.floats(allow_nan=False) | st.none()
STORED = st.lists(
    st.fixed_dictionaries(
        {"metric": st.sampled_from(["eer", "opinion"]), "value": NUMBERS},
        optional={
            **dict.fromkeys(("low", "p", "p_corrected"), NUMBERS),
            **dict.fromkeys(("n_target", "n_ratings", "gallery"), st.integers(0, 9) | st.none()),
            **dict.fromkeys(("system", "quantity", "variant"), st.text("ab") | st.none()),
            "caveats": st.dictionaries(st.text("ab"), st.text("ab"), max_size=2),
        },
    )
)


@given(STORED)
def test_rows_are_read_back_from_json(rows: list[dict[str, Any]]) -> None:
    table = Measurements.of(rows)
    text = json.dumps(to_plain(table), allow_nan=False)
    assert Measurements.from_plain(json.loads(text), "x").to_rows() == table.to_rows()


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({}, "x: expected a list"),
        ([[]], r"x\[0\]: expected a mapping"),
        ([{}, {"valu": 1}], r"x\[1\]: valu: did you mean value"),
        ([{"value": "0.5"}], r"x\[0\].value: expected a number"),
        ([{"system": 1}], r"x\[0\].system: expected text"),
        ([{"n_target": 1.5}], r"x\[0\].n_target: expected a whole number"),
        ([{"caveats": "few"}], r"x\[0\].caveats: expected a mapping"),
    ],
)
def test_wrong_rows_are_refused_with_their_place(plain: object, message: str) -> None:
    with pytest.raises(pe.PrivacyEvalError, match=message):
        Measurements.from_plain(plain, "x")


def test_only_the_columns_that_are_there_are_written() -> None:
    rows = [measured("opinion", 3.5, (3.0, 4.0), quantity="q"), measured("eer", None, system="s")]
    header, *lines = Measurements.of(rows).compact_csv_rows
    assert [dict(zip(header, line, strict=True)) for line in lines] == [
        {**rows[0], "unit": "rating", "system": None}
    ]
