"""Plain values to dataclasses and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_eval import PrivacyEvalError
from privacy_eval.io import schema
from privacy_eval.io.schema import INLINED, from_plain, to_plain


@dataclass(frozen=True)
class Leaf:
    text: str
    count: int
    value: float
    flag: bool
    kind: Literal["a", "b"]


@dataclass(frozen=True)
class Root:
    leaf: Leaf
    several: tuple[Leaf, ...]
    by_name: Mapping[str, float]
    perhaps: float | None
    anything: Any = None
    more: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


texts = st.text(max_size=5)
numbers = st.floats(allow_nan=False)
leaf_values = st.builds(
    Leaf, texts, st.integers(), numbers, st.booleans(), st.sampled_from(["a", "b"])
)
roots = st.builds(
    Root,
    leaf_values,
    st.lists(leaf_values, max_size=3).map(tuple),
    st.dictionaries(texts, numbers, max_size=3),
    st.none() | numbers,
    st.none() | texts | st.integers(),
    st.dictionaries(texts, st.lists(numbers, max_size=2).map(tuple), max_size=2),
)


@given(roots)
def test_content_round_trips_through_json(root: Root) -> None:
    text = json.dumps(to_plain(root), allow_nan=False)
    assert from_plain(Root, json.loads(text), "f") == root


LEAF = {"text": "t", "count": 1, "value": 0.5, "flag": True, "kind": "a"}
ROOT: dict[str, Any] = {"leaf": LEAF, "several": [], "by_name": {}, "perhaps": None}


def test_defaults_are_optional() -> None:
    assert from_plain(Root, ROOT, "f").more == {}


def test_infinite_values_are_strings() -> None:
    leaf = from_plain(Leaf, {**LEAF, "value": "-inf"}, "f")
    assert leaf.value == float("-inf")
    assert to_plain(leaf)["value"] == "-inf"


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        to_plain({"a": float("nan")})


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("text", 1, "text: expected text, found '1'"),
        ("text", None, "text: expected text, found 'None'"),
        ("text", ["a"], "text: expected text"),
        ("count", "1", "count: expected a whole number, found '1'"),
        ("count", 1.0, "count: expected a whole number, found '1.0'"),
        ("count", True, "count: expected a whole number, found 'True'"),
        ("value", "0.5", "value: expected a number, found '0.5'"),
        ("value", False, "value: expected a number, found 'False'"),
        ("value", "Infinity", "value: expected a number"),
        ("value", float("inf"), "value: expected a finite number"),
        ("value", float("nan"), "value: expected a finite number"),
        ("value", 10**400, "value: expected a finite number"),
        ("flag", 1, "flag: expected true or false, found '1'"),
        ("flag", "true", "flag: expected true or false"),
        ("kind", "c", "kind: expected a or b, found 'c'"),
        ("kind", ["a"], "kind: expected a or b"),
        ("kind", None, "kind: expected a or b"),
    ],
)
def test_wrong_type_is_located(entry: str, value: object, message: str) -> None:
    wrong = {**ROOT, "several": [LEAF, {**LEAF, entry: value}]}
    with pytest.raises(PrivacyEvalError) as caught:
        from_plain(Root, wrong, "file")
    assert str(caught.value).startswith(f"file: several[1]: {message}")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "f: expected a mapping, found a list of 0"),
        (None, "f: expected a mapping, found 'None'"),
        ({**ROOT, "extra": 1}, "f: unknown entry 'extra', expected leaf, several, by_name"),
        ({k: v for k, v in ROOT.items() if k != "leaf"}, "f: entry 'leaf' is missing"),
        ({**ROOT, "leaf": {}}, "f: leaf: entry 'text' is missing"),
        ({**ROOT, "several": {}}, "f: several: expected a list, found a mapping of 0"),
        ({**ROOT, "several": "ab"}, "f: several: expected a list, found 'ab'"),
        ({**ROOT, "by_name": []}, "f: by_name: expected a mapping, found a list of 0"),
        ({**ROOT, "by_name": {"x": "y"}}, "f: by_name.x: expected a number, found 'y'"),
        ({**ROOT, "perhaps": "y"}, "f: perhaps: expected a number, found 'y'"),
        ({**ROOT, "more": {"x": [0.5, None]}}, "f: more.x[1]: expected a number, found 'None'"),
    ],
)
def test_wrong_structure_is_located(wrong: object, message: str) -> None:
    with pytest.raises(PrivacyEvalError) as caught:
        from_plain(Root, wrong, "f")
    assert str(caught.value).startswith(message)


def test_long_value_is_truncated_in_message() -> None:
    with pytest.raises(PrivacyEvalError) as caught:
        from_plain(Leaf, {**LEAF, "count": "x" * 10**6}, "f")
    assert len(str(caught.value)) < 300


def test_nested_value_is_truncated_before_formatting() -> None:
    """The text of this value would have 3 ** 15 words (that of a real bomb, 9 ** 20)."""

    class Counting(list):  # type: ignore[type-arg]
        written = 0

        def __repr__(self) -> str:
            Counting.written += 1
            return super().__repr__()

    value: Any = "x"
    for _ in range(9):
        value = Counting([value] * 3)
    with pytest.raises(PrivacyEvalError, match="text: expected text"):
        from_plain(Leaf, {**LEAF, "text": value}, "f")
    assert Counting.written < 1000


# --- entries of a composed dataclass


@dataclass(frozen=True)
class Inner:
    name: Annotated[str, "title"]
    count: int


@dataclass(frozen=True)
class Outer:
    inner: Annotated[Inner, INLINED]
    more: float = 0.5


def test_inlined_dataclass_round_trips() -> None:
    plain = {"title": "a", "count": 1, "more": 0.25}
    assert to_plain(Outer(Inner("a", 1), 0.25)) == plain
    assert from_plain(Outer, plain, "x") == Outer(Inner("a", 1), 0.25)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"title": "a"}, "x: entry 'count' is missing"),
        ({"title": "a", "count": 1, "inner": {}}, "x: unknown entry 'inner', expected title"),
        ({"title": "a", "count": "1"}, "x: count: expected a whole number"),
    ],
)
def test_wrong_entries_of_inlined_dataclass_are_refused(plain: object, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        from_plain(Outer, plain, "x")


@pytest.mark.parametrize(
    "text", ["[{},{},{},{}]", "[[[[[[[[1]]]]]]]]", '{"a": [1, 2, 3, 4, 5, 6]}']
)
def test_more_values_than_fit_into_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    schema.load_json(path)
    monkeypatch.setattr(schema, "MAX_VALUES", 6)
    with pytest.raises(PrivacyEvalError, match=f"^{path}: more than 6 values"):
        schema.load_json(path)
