"""Printable names, and names that look alike."""

import pytest

from privacy_eval import PrivacyEvalError
from privacy_eval.io.names import check_name, is_printable, look_alike

UNPRINTABLE = {
    "line feed": "a\nb",
    "carriage return": "a\rb",
    "escape": "\x1b[31ma",
    "next line": "a\x85b",
    "line separator": "a\u2028b",
    "right-to-left override": "\u202ea",
    "isolate": "\u2066a",
    "zero-width space": "a\u200bb",
    "zero-width joiner": "a\u200db",
    "byte order mark": "a\ufeffb",
    "soft hyphen": "a\xadb",
    "variation selector": "a\ufe0fb",
    "grapheme joiner": "a\u034fb",
    "filler": "a\u3164b",
    "tag": "a\U000e0041b",
    "no-break space": "a\xa0b",
    "half of a surrogate pair": "a\udcffb",
    "blank at the end": "a ",
    "blank at the beginning": " a",
}


@pytest.mark.parametrize("kind", UNPRINTABLE)
def test_unprintable_names_are_refused(kind: str) -> None:
    name = UNPRINTABLE[kind]
    assert not is_printable(name)
    with pytest.raises(PrivacyEvalError, match="^x: the name ") as refused:
        check_name(name, "x")
    assert str(refused.value).isascii() and str(refused.value).isprintable()


@pytest.mark.parametrize("name", ["", "B1", "50 % & Co", "\u8a9e\u97f3", "e\u0301t\xe9", "-o <x>"])
def test_printable_names(name: str) -> None:
    check_name(name, "x")


def test_names_that_look_alike() -> None:
    names = ["B1", "\uff221", "b1", "B1", "stra\xdfe", "STRASSE", "\xe9", "e\u0301", "B2"]
    assert look_alike(names) == [
        ["B1", "\uff221", "b1"],
        ["stra\xdfe", "STRASSE"],
        ["\xe9", "e\u0301"],
    ]
