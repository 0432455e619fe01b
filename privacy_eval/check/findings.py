"""Findings of a check, and the report that lists them by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import printable

#: Maximum number of items per kind in a report without details, and of their characters.
_ITEMS, _LENGTH = 3, 240


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    kind : str
        Findings of one kind share a line of the report.
    item : str
        The file, data set or condition concerned, and the number of affected entries.
    detail : str
        Listed below the item with `--details` only.
    """

    kind: str
    item: str
    detail: str = ""


@dataclass(frozen=True)
class Section:
    """Findings under a title."""

    title: str
    findings: Sequence[Finding]

    @property
    def kinds(self) -> dict[str, dict[str, dict[str, None]]]:
        """Items of every kind, with their details, each once."""
        kinds: dict[str, dict[str, dict[str, None]]] = {}
        for finding in self.findings:
            items = kinds.setdefault(finding.kind, {})
            items.setdefault(finding.item, {})[finding.detail] = None
        return kinds

    def __len__(self) -> int:
        return sum(map(len, self.kinds.values()))

    def lines(self, details: bool) -> list[str]:
        """Lines of the report: one per kind, or one per item and detail."""
        lines = [f"{self.title}: {len(self)}"] if self.findings else []
        for kind, items in self.kinds.items():
            head = f"  {kind} ({len(items)}):"
            if details:
                lines.append(head)
                for item, texts in items.items():
                    lines += [f"    {item}", *(f"      {text}" for text in texts if text)]
            else:
                lines.append(f"{head} {_first([*items])}")
        return lines


def _first(items: Sequence[str]) -> str:
    """Join the first items, at least one, in a line of moderate length."""
    texts = [i if len(i) <= _LENGTH else f"{i[:_LENGTH]} ..." for i in items[:_ITEMS]]
    while len(texts) > 1 and sum(map(len, texts)) > _LENGTH:
        texts.pop()
    return "; ".join(texts) + ("; ..." if len(texts) < len(items) else "")


@dataclass(frozen=True)
class Report:
    """Result of checking a tree.

    Attributes
    ----------
    ready : bool
        Whether the scores in the tree can be evaluated.
    head : sequence of str
        Status, protocol and folders, and a table of the systems.
    sections : sequence of Section
    foot : sequence of str
    """

    ready: bool
    head: Sequence[str]
    sections: Sequence[Section]
    foot: Sequence[str]

    def lines(self, *, details: bool = False) -> list[str]:
        """The report, with the first items of every kind of finding or with all."""
        body = [line for section in self.sections for line in section.lines(details)]
        hint = ["--details lists every item"] if body and not details else []
        return [printable(line) for line in (*self.head, *body, *self.foot, *hint)]
