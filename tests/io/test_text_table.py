"""Kaldi's text tables as columns of byte ranges."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_eval import PrivacyEvalError
from privacy_eval.io import text_table
from privacy_eval.io.text_table import Coder, Column, decimals, split_columns


@pytest.fixture(params=[16, 1 << 18], scope="module", autouse=True)
def block(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tables of several blocks, and of one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_table, "_BLOCK", request.param)
        yield


NAME = Path("table")
THREE = ("speaker", "utterance", "score")

#: Fields around the ends of the 8-byte words, and beyond the words kept for every row.
SIZES = (1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40, 64, 65, 1024)
fields = st.one_of(
    st.text("ab", min_size=1, max_size=3),
    st.sampled_from(SIZES[:-3]).map(lambda n: "a" * n),
    st.sampled_from(SIZES[:-3]).map(lambda n: "a" * (n - 1) + "b"),
    st.text(st.characters(min_codepoint=33, exclude_categories=["Cs"]), min_size=1, max_size=12),
)


def column(values: list[str]) -> Column:
    (only,) = split_columns("\n".join(values).encode(), ("id",), NAME)
    return only


# Splitting


@settings(max_examples=60)
@given(
    rows=st.lists(st.lists(fields, min_size=3, max_size=3), min_size=1, max_size=20), data=st.data()
)
def test_fields_and_line_numbers_round_trip(rows: list[list[str]], data: st.DataObject) -> None:
    gap = st.sampled_from([" ", "\t", "  ", " \t"])
    around = st.sampled_from(["", "", " ", "\t"])
    end = st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\n \t\n"])
    lines = []
    for row in rows:
        a, b, c = row
        line = data.draw(around) + a + data.draw(gap) + b + data.draw(gap) + c + data.draw(around)
        lines.append(line + data.draw(end))
    text = "".join(lines)
    if data.draw(st.booleans()):
        text = text.rstrip(" \t\r\n")
    columns = split_columns(text.encode(), THREE, NAME)
    assert [c.tolist() for c in columns] == [list(c) for c in zip(*rows, strict=True)]
    # The line that a row stands on, counted the simple way.
    filled = [i for i, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r")]
    assert [columns[2].line(r) for r in range(len(rows))] == filled


# Errors


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table: empty file, expected lines of <speaker> <utterance> <score>"),
        (b"\n \t\n\r\n", "table: empty file"),
        (
            b"a u1 1\na u2\n",
            r"table:2: expected 3 fields \(<speaker> <utterance> <score>\), found 2",
        ),
        (b"a u1 1\n\na u2 1 x\n", "table:3: expected 3 fields .* found 4: 'a u2 1 x'"),
        (b"a u1\n1 b u2 2\n", "table:1: expected 3 fields .* found 2: 'a u1'"),
        (b"a u1 1 b\nu2 2\n", "table:1: expected 3 fields .* found 4"),
        (b"a u1 1\nb u2 2\nc", "table:3: expected 3 fields .* found 1: 'c'"),
        (b"a u1 1\rb u2 2\r", "table:1: carriage return within the line"),
        (b"a u1 1\nb u\x002 2\n", "table:2: control character 0x00, expected text"),
        (b"a u1 1\n\x1bb u2 2\n", "table:2: control character 0x1b"),
        (b"a u1 1\x0bb u2 2\n", "table:1: control character 0x0b"),
        (b"a u1 1\x0c\nb u2 2\n", "table:1: control character 0x0c"),
        (b"a u1 1\nb u2 2\n\x1a", "table:3: control character 0x1a"),
        (b"a u1 1\n\nb \xff\xfe 2\n", "table:3: not UTF-8 text"),
        (b"a u1 1\nb \xc3 2\n", "table:2: not UTF-8 text"),
        # UTF-16 as some editors save it.
        ("a u1 1\n".encode("utf-16-le"), "table:1: control character 0x00"),
        (b"a u1 1\nb " + b"u" * 1025 + b" 2\n", r"table:2: a field of 1025 bytes \(at most 1024\)"),
    ],
)
def test_malformed_tables_are_located(content: bytes, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        split_columns(content, THREE, NAME)


@given(rows=st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_every_wrong_number_of_fields_is_found(rows: list[int]) -> None:
    """Also where the total is right: fields of one line never make up for another's."""
    content = "".join(" ".join(["x"] * n) + "\n" for n in rows).encode()
    wrong = [(i, n) for i, n in enumerate(rows, 1) if n not in (0, 3)]
    if wrong:
        with pytest.raises(PrivacyEvalError, match=f"table:{wrong[0][0]}: .*found {wrong[0][1]}"):
            split_columns(content, THREE, NAME)
    elif any(rows):
        assert len(split_columns(content, THREE, NAME)[0]) == sum(n == 3 for n in rows)
    else:
        with pytest.raises(PrivacyEvalError, match="empty file"):
            split_columns(content, THREE, NAME)


def test_long_line_is_truncated_in_message() -> None:
    with pytest.raises(PrivacyEvalError, match="expected 3 fields") as caught:
        split_columns(b"x " * 10_000, THREE, NAME)
    assert len(str(caught.value)) < 250


def test_endless_line_is_refused_before_it_is_split() -> None:
    lines = b"a b 1\n" * 400_000  # many, none of which is long
    assert len(split_columns(lines, THREE, NAME)[0]) == 400_000
    with pytest.raises(PrivacyEvalError, match=r"table:400001: a line of over \d+ bytes"):
        split_columns(lines + b"x" * (3 << 20), THREE, NAME)


# Columns


@pytest.mark.parametrize("size", SIZES)
def test_fields_of_any_size(size: int) -> None:
    values = ["x", "y" * size, "z"]
    ids = column(values)
    assert ids.tolist() == values
    assert [ids.text(row) for row in range(3)] == values
    assert ids.size.tolist() == [1, size, 1]


@given(values=st.lists(fields, min_size=1, max_size=20), data=st.data())
def test_take_selects_rows(values: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(values) - 1)))
    taken = column(values).take(np.array(rows, dtype=np.int64))
    assert taken.tolist() == [values[row] for row in rows]
    assert len(taken) == len(rows)


@pytest.mark.parametrize("factor", [text_table._HASH_FACTOR, 0, 1 << 56])
@given(texts=st.lists(st.sampled_from(["a", "b", "aaaaaaaaa", "é" * 20, "x" * 40]), min_size=1))
def test_distinct_texts_in_the_order_of_their_first_rows(factor: int, texts: list[str]) -> None:
    """Also where texts collide in the hash."""
    (column,) = split_columns("\n".join(texts).encode(), ("id",), NAME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_table, "_HASH_FACTOR", factor)
        coder = Coder()
        numbers = coder.codes(column)
    names = coder.names
    assert names == list(dict.fromkeys(texts))
    assert [names[number] for number in numbers] == texts


@pytest.mark.parametrize("factor", [text_table._HASH_FACTOR, 0, 1 << 56])
@pytest.mark.parametrize("bits", [1, 12])
@given(
    blocks=st.lists(
        st.lists(
            st.sampled_from([*"abcdefghij", "é" * 9, "x" * 40, "y" * 200, "y" * 201]), min_size=1
        )
    )
)
def test_codes_of_blocks_are_those_of_a_dictionary(
    factor: int, bits: int, blocks: list[list[str]]
) -> None:
    """Also where texts collide, in tables that grow, and of texts of any length."""
    place: dict[str, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_table, "_HASH_FACTOR", factor)
        patch.setattr(text_table, "_FEWEST_SLOT_BITS", bits)
        coder = Coder()
        for texts in blocks:
            (column,) = split_columns("\n".join(texts).encode(), ("id",), NAME)
            assert coder.codes(column).tolist() == [place.setdefault(t, len(place)) for t in texts]
    assert coder.names == list(place)


@given(
    texts=st.lists(
        st.from_regex(r"[-+]?[0-9]{0,9}\.?[0-9]{0,9}(e-[0-9])?", fullmatch=True).filter(len),
        min_size=1,
    )
)
def test_decimals_are_those_of_float_to_the_last_bit(texts: list[str]) -> None:
    (column,) = split_columns("\n".join(texts).encode(), ("score",), NAME)
    values, others = decimals(column)
    for row, text in enumerate(texts):
        if row not in others:
            assert values[row].hex() == float(text).hex()
        else:
            assert not re.fullmatch(r"-?(?=\.?[0-9])[0-9]{0,7}\.?[0-9]{0,7}", text)


def test_columns_are_iterated_in_order() -> None:
    (column,) = split_columns("b\nä\nb\n".encode(), ("name",), Path("names"))
    assert list(column) == column.tolist() == ["b", "ä", "b"]
    assert np.array(list(column)).shape == (3,)
