"""What a check found, laid out for one screen or in full."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 100, 40
#: Rows of systems on a screen; a challenge has about as many.
ROWS = 20
#: Lines that a section has at least, however many systems there are: title, one, and how many
#: more.
_LEAST = 3
#: Lines of the screen for one finding.
_LINES_OF_ONE = 2
_DETAILS = "--details lists them"


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    kind : str
        What it is; findings of a kind stand together.
    item : str
        Where, and how much of it; "" where the kind says all.
    detail : str
        What there is to say of the item where there is room for it.
    """

    kind: str
    item: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Section:
    """Findings under a title."""

    title: str
    findings: tuple[Finding, ...]

    def by_kind(self) -> dict[str, dict[str, list[str]]]:
        """Items of every kind, each once, in the order found, with their details."""
        kinds: dict[str, dict[str, list[str]]] = {}
        for finding in self.findings:
            items = kinds.setdefault(finding.kind, {})
            if finding.item:
                details = items.setdefault(finding.item, [])
                details += [finding.detail] if finding.detail else []
        return kinds


@dataclass(frozen=True)
class Report:
    """What there is to say of a tree.

    Attributes
    ----------
    ready : bool
        Whether what is there can be evaluated.
    verdict : str
        The first line.
    head, rows, foot : tuple of str
        Lines above all sections, the table of systems with its heading, lines below.
    sections : tuple of Section
        The most important first.
    whole : int
        How many of the last rows are of systems that lack nothing, and may be left out where
        others need the room.
    """

    ready: bool
    verdict: str
    head: tuple[str, ...]
    rows: tuple[str, ...]
    sections: tuple[Section, ...]
    foot: tuple[str, ...]
    whole: int = 0

    def screen(self) -> list[str]:
        """About `HEIGHT` lines of at most `WIDTH` columns, however much was found."""
        heading, *rows = self.rows or ("",)
        shown = rows[: min(ROWS, len(rows) - self.whole)]
        left = len(rows) - len(shown)
        more = [f"  ... {left} more systems, {_DETAILS}"] if left else []
        if left and left == self.whole:
            more = [f"  ... and {left} more, which lack nothing"]
        above = [*_wrapped(self.verdict), *self.head, *([heading] if rows else []), *shown, *more]
        sections = [s for s in self.sections if s.findings]
        room = HEIGHT - len(above) - len(self.foot)
        full = [_lines(s, _LINES_OF_ONE) for s in sections]
        below: list[str] = []
        for section, lines, given in zip(sections, full, _shares(full, room), strict=True):
            below += lines if len(lines) <= given else _cut(_lines(section, 1), given)
        return [_one_line(line) for line in (*above, *below, *self.foot)]

    def details(self) -> list[str]:
        """All that was found, an item per line."""
        lines = [self.verdict, *self.head, *self.rows]
        for section in self.sections:
            if section.findings:
                lines.append(section.title)
            for kind, items in section.by_kind().items():
                lines.append(f"  {kind}" + (f": {len(items)}" if items else ""))
                for item, details in items.items():
                    lines += [f"    {item}", *(f"      {detail}" for detail in details)]
        return [printable(line) for line in (*lines, *self.foot)]


def printable(text: str) -> str:
    """Text of strangers for a terminal: what is no character of a line becomes an escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def cut(text: str, width: int) -> str:
    """At most so many characters, where the end tells least."""
    return text if len(text) <= width else f"{text[: width - 4]} ..."


def _one_line(text: str) -> str:
    return cut(printable(text), WIDTH)


def _lines(section: Section, each: int) -> list[str]:
    lines = [section.title]
    for kind, items in section.by_kind().items():
        number = f" {len(items)}:" if len(items) > 1 else ""
        text = f"{kind}:{number} {'; '.join(items)}" if items else kind
        lines += _wrapped(f"  {text}", each)
    return lines


def _wrapped(text: str, most: int = _LINES_OF_ONE) -> list[str]:
    lines = textwrap.wrap(
        printable(text), WIDTH, subsequent_indent="      ", break_on_hyphens=False
    )
    if len(lines) > most:  # textwrap's own way would drop a last word that is longer than a line
        lines = [*lines[: most - 1], cut(f"{lines[most - 1]} {lines[most].strip()}", WIDTH)]
    return lines


def _cut(lines: Sequence[str], room: int) -> list[str]:
    if len(lines) <= room:
        return list(lines)
    left = len(lines) - room + 1
    return [*lines[: room - 1], f"  ... {left} more, {_DETAILS}"]


def _shares(sections: Iterable[Sequence[str]], room: int) -> list[int]:
    """How many lines each of several sections gets: the first all that it needs, if a few
    remain for each of the others; these what they need, unless that is more than their equal
    share of the rest."""
    needs = [len(lines) for lines in sections]
    given = [0] * len(needs)
    if needs:
        given[0] = min(needs[0], max(room - _LEAST * (len(needs) - 1), _LEAST))
        room -= given[0]
    waiting = sorted(range(1, len(needs)), key=needs.__getitem__)
    for place, i in enumerate(waiting):
        equal = room // (len(waiting) - place)
        given[i] = min(needs[i], max(equal, _LEAST))
        room -= given[i]
    return given
