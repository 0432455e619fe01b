"""CSV texts: the same cells for every reader, and no formula for any."""

import csv
import io
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privacy_eval.io.csv_text import csv_text

cells = st.text(st.sampled_from("a1;,\t\r\n\"' =+-@\uff1d\u2028x"), max_size=8)
tables = st.lists(st.lists(cells, min_size=2, max_size=4), min_size=1, max_size=4)


def read(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


@given(tables)
@example([["a\r=cmd|x", "b"]])
@example([["a;b", "c"]])
def test_cells_come_back(rows: list[list[str]]) -> None:
    """But for the apostrophes in front of formulas."""
    found = read(csv_text(rows))
    assert [[c.replace("'", "") for c in row] for row in found] == [
        [c.replace("'", "") for c in row] for row in rows
    ]


def is_formula(cell: str) -> bool:
    start = unicodedata.normalize("NFKC", cell).lstrip(" \"'" if cell[:1] != "'" else "")[:1]
    numbers = set("+-0123456789 .,eH[]")
    return start in ("=", "@") or (start in ("+", "-") and not set(cell) <= numbers)


@given(tables)
@example([["x", 'a;"=cmd"']])
@example([["x", "a;;=cmd"]])
@example([["\uff1dcmd", "\uff0bcmd()"]])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_reader_finds_a_formula(delimiter: str, rows: list[list[str]]) -> None:
    """Each splits lines at its own delimiter; lines begin with names, not with numbers."""
    text = csv_text(["x", *row] for row in rows)
    found = [cell for row in read(text, delimiter) for cell in row]
    assert not [cell for cell in found if is_formula(cell)]


def test_numbers_and_intervals_are_no_formulas() -> None:
    row = ["-1.5", "+2", "-0.5 [-1.0, 2.0]", "-inf"]
    assert read(csv_text([row])) == [row]
