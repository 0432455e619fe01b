"""One table of numbers: what is selected, by a slow second implementation; printing and frames."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import B1, imported

import privacy_eval as pe
from privacy_eval.io.schema import to_plain
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


def test_results_are_one_table(tmp_path: Any) -> None:
    path = tmp_path / "results.json"
    path.write_text(to_json(imported(B1, system="<b>")))
    table = pe.load(path)
    results = pe.read_results(path)
    of_sets = table.select(**WHOLE, metric="eer", attack_model="ignorant")
    values = {
        (r.condition.data_set, r.condition.split, r.condition.gender): r.metrics["challenge"]["eer"]
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
