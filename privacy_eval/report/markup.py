"""HTML elements: every text is escaped, only `Markup` passes as it is."""

from __future__ import annotations

import html
from collections.abc import Iterable

#: How elements without content end.
_EMPTY = {"img": ">", "path": "/>", "rect": "/>"}

#: Elements that end a line of the file.
_LINES = frozenset({"details", "div", "figure", "li", "p", "section", "summary", "tr", "ul"})


class Markup(str):
    """HTML that is written as it is."""


def join(parts: Iterable[str]) -> Markup:
    """Join texts, which are escaped, and markup."""
    return Markup("".join(p if isinstance(p, Markup) else html.escape(p) for p in parts))


def tag(name: str, *content: str, **attributes: object) -> Markup:
    """Write an element with its content and attributes, without those that are None or "".

    Names of attributes have `_` for `-`, and end in `_` where Python has the word.

    Examples
    --------
    >>> tag("h3", "a < b, ", tag("b", "R&D"), class_="note", data_f="x")
    '<h3 class="note" data-f="x">a &lt; b, <b>R&amp;D</b></h3>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value not in (None, "")
    )
    if name in _EMPTY:
        return Markup(f"<{name}{given}{_EMPTY[name]}")
    return Markup(f"<{name}{given}>{join(content)}</{name}>" + "\n" * (name in _LINES))
