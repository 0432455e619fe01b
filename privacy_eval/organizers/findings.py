"""Findings of a check, and the table of them: a row per team and kind of problem."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ..choices import grouped
from ..errors import counted, describe, printable
from ..products.freshness import MissingInput
from ..protocol.protocol import ORIGINAL
from ..stages.access import BACKEND, ENROLLMENT, KEYS, TRIALS, VECTORS, AsvSystems
from ..stages.asv_scores import missing_inputs, missing_training
from ..stages.recipe import STAGES, stage_number
from ..stages.subsets import creatable_folders
from ..tree.conditions import Condition

#: Source of what no stage creates.
TEAM = "submitted by the team"
EVALUATION = "by the evaluation of the challenge, run before this one"
SHARED = "the tree can hold the x-vectors of only one system per anonymization suffix"


def stages(*names: str | int) -> str:
    """Stages of the recipe that run one after the other, by name or number, as text."""
    numbers = (stage_number(stage) if isinstance(stage, str) else stage for stage in names)
    return ", then ".join(f"stage {number}" for number in dict.fromkeys(numbers))


#: Remedy for scores whose inputs are all in the tree.
CREATABLE = f"{stages('asv_scores')} computes them, or says why not"


class Remedies:
    """What creates missing results of a tree.

    Attributes
    ----------
    shared : collection of str
        Anonymization suffixes of several systems.
    """

    def __init__(self, asv: AsvSystems, shared: Collection[str]) -> None:
        self.asv, self.access, self.protocol, self.shared = asv, asv.access, asv.protocol, shared
        self._subsets: dict[str, set[str]] = {}
        self._lacking: dict[tuple[Condition, str], tuple[list[MissingInput], str]] = {}

    def lacking(self, condition: Condition, suffix: str) -> tuple[list[MissingInput], str]:
        """Return the missing inputs of a condition's scores, and what creates the scores; systems
        of one suffix share both."""
        shared = replace(condition, system="", results_folder=""), suffix
        if shared not in self._lacking:
            missing = missing_inputs(condition, suffix, self.asv)
            self._lacking[shared] = missing, self.of_scores(missing, suffix)
        return self._lacking[shared]

    def of_scores(self, missing: Sequence[MissingInput], suffix: str) -> str:
        """Return what creates scores that lack some inputs, or none."""
        if self.protocol.has_own_scoring:
            return EVALUATION
        if suffix in self.shared:
            return TEAM
        return self.of_inputs(missing, suffix) or CREATABLE

    def of_inputs(self, missing: Sequence[MissingInput], suffix: str) -> str:
        """Name missing inputs, and what creates each."""
        texts = []
        for error in missing:
            new = error.kind == VECTORS and suffix and error.name.endswith(suffix)
            texts.append(f"{'anonymized ' * bool(new)}{error.kind} ({self.source(error, suffix)})")
        return f"needs {', '.join(dict.fromkeys(texts))}" if missing else ""

    def source(self, error: MissingInput, suffix: str) -> str:
        """Return what creates a missing input."""
        if error.kind == KEYS and self.access.keys is not None:
            return TEAM
        if error.kind in (KEYS, ENROLLMENT, TRIALS):
            sources = ["--keys DIR"] * (error.kind == KEYS)
            if not self.protocol.has_own_scoring:
                sources.insert(0, stages(self._data_stage(error.name)))
            return " or ".join(sources)
        if error.kind == VECTORS:
            return self._vectors_source(error.name, suffix, error.folder)
        if error.kind == BACKEND:
            return self._backend_source(error.name, suffix)
        return error.where

    def _backend_source(self, trained_on: str, suffix: str) -> str:
        model = self.protocol.asv_model(trained_on)
        has_speech = model is not None and (
            (self.access.tree / "data" / model.training_name(suffix) / "wav.scp").is_file()
        )
        if model is None or (model.trained_on == ORIGINAL and not has_speech):
            return stages("data")
        without = missing_training(model, suffix, self.asv)
        if without and has_speech:
            return stages("train_backend")  # once it has extracted the x-vectors
        training = f", from x-vectors of {model.training_name(suffix)}" if without else ""
        first = min(stage.number for stage in STAGES if "train_backend" in stage.names)
        return stages(first) + training

    def _vectors_source(self, name: str, suffix: str, folder: str) -> str:
        data = self.access.tree / "data" / name
        if (data / "wav.scp").is_file():
            if (self.access.tree / folder / "final.raw").is_file():
                return stages("xvectors")
            return f"{stages('xvectors')}, with final.raw of {stages('data')} or --extractor"
        if data.is_dir():
            return f"{TEAM}, as there is no wav.scp"
        return stages(self._data_stage(name, suffix if name.endswith(suffix) else ""), "xvectors")

    def _data_stage(self, name: str, suffix: str = "") -> int:
        """The stage that creates a data folder."""
        if suffix not in self._subsets:
            self._subsets[suffix] = creatable_folders(self.access.tree, self.protocol, suffix)
        if name not in self._subsets[suffix]:
            return stage_number("anonymize" if suffix else "data")
        both = [stage.number for stage in STAGES if "subsets" in stage.names]
        return max(both) if suffix else min(both)


#: The problems of conditions without scores.
NO_SCORES, OUTDATED = "no scores", "no scores of the current trials"

#: Status of a team, the worst last: all expected conditions can be evaluated and ranked; something
#: is missing, or keeps it out of a ranking; something is damaged or contradicts itself.
READY, INCOMPLETE, ERROR = STATUSES = ("ready", "incomplete", "error")

#: Maximum number of items in a row, and of their characters.
_ITEMS, _LENGTH = 3, 240


@dataclass(frozen=True)
class Finding:
    """A problem of a team, or of the tree as a whole.

    Attributes
    ----------
    problem : str
        Findings of a team with the same problem and remedy share a row.
    item : str
        The data set or condition concerned, and the number of affected entries.
    team : str
        "" for the tree as a whole.
    status : str
        What it makes of the team's status; `READY` for a warning.
    file : Path or None
    line : int or None
    remedy : str
        What creates a missing result, or its missing inputs.
    detail : str
        Only shown where every item is listed.
    """

    problem: str
    item: str
    team: str = ""
    status: str = READY
    file: Path | None = None
    line: int | None = None
    remedy: str = ""
    detail: str = ""


def failure(
    problem: str, error: Exception, *, item: str = "", team: str = "", file: Path | None = None
) -> Finding:
    """Return the finding of an exception, with the file (else `file`) and line that it names."""
    line, text = None, describe(error)
    for match in re.finditer(r"(?::(\d+))?(?: and .*?)?:\s", text):
        if os.path.lexists(text[: match.start()]):
            file, line = Path(text[: match.start()]), int(match[1]) if match[1] else None
            text = text[match.end() :]
            break
    text = " ".join(text.split())
    return Finding(problem, f"{item}: {text}" if item else text, team, ERROR, file, line)


class Row(NamedTuple):
    """A row of the table: a team, and one of its problems with the first file and line of it."""

    team: str
    conditions: int
    expected: int
    status: str
    problem: str
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Report:
    """Result of checking a tree.

    Attributes
    ----------
    counts : dict
        By team, the numbers of conditions that can be evaluated and that the protocol expects.
    findings : sequence of Finding
    """

    counts: dict[str, tuple[int, int]]
    findings: Sequence[Finding]

    @property
    def totals(self) -> tuple[int, int]:
        """The counts of all teams together."""
        ready, expected = zip(*self.counts.values(), strict=True)
        return sum(ready), sum(expected)

    def number(self, status: str) -> int:
        """Return the number of findings that make a status."""
        return len({f for f in self.findings if f.status == status})

    def rows(self, *, details: bool = False) -> list[Row]:
        """Return the table: first the tree as a whole, then the teams, each with its worst
        problems first. With details, findings do not share rows."""
        rows, by_team = [], grouped(self.findings, lambda f: f.team)
        for team, counts in sorted({**self.counts, "": self.totals}.items()):
            found = dict.fromkeys(by_team.get(team, ()))
            own = sorted(found, key=lambda f: -STATUSES.index(f.status))
            groups = grouped(own, lambda f: f if details else (f.problem, f.remedy))
            status = own[0].status if own else READY
            for group in groups.values():
                file = None if group[0].file is None else str(group[0].file)
                text = _text(group, details)
                rows.append(Row(team, *counts, status, text, file, group[0].line))
            if team and not own:
                rows.append(Row(team, *counts, status, "", None, None))
        return rows

    def lines(self, tree: Path, *, details: bool = False) -> list[str]:
        """Return the table as text; files are relative to the tree."""
        from tabulate import tabulate

        cells = []
        previous = None
        for row in self.rows(details=details):
            place = f"; first: {row.file.removeprefix(f'{tree}/')}" if row.file else ""
            place += f":{row.line}" if row.line else ""
            number = f"{row.conditions}/{row.expected}" if row.team else ""
            about = (row.team or "(tree)", number, row.status)
            named = ("", "", "") if row.team == previous else about
            cells.append([*map(printable, named), printable(row.problem + place)])
            previous = row.team
        headers = ("team", "conditions", "status", "problem")
        return tabulate(cells, headers, tablefmt="plain", disable_numparse=True).splitlines()

    def summary(self) -> str:
        """Return the status of all teams as a sentence."""
        ready, expected = self.totals
        conditions = f"{counted(expected, 'condition')} of {counted(len(self.counts), 'system')}"
        errors, warnings = self.number(ERROR), self.number(READY)
        incomplete = len({f.team for f in self.findings if f.status == INCOMPLETE} - {""})
        missing = {f for f in self.findings if f.problem in (NO_SCORES, OUTDATED)}
        creatable = len({f for f in missing if f.remedy == CREATABLE})
        if errors:
            text = f"not ready: {counted(errors, 'error')} (--details lists each)"
            text += f"; {ready} of {conditions} can be evaluated"
        elif not ready:
            text = f"none of {conditions} can be evaluated yet"
        elif ready == expected:
            text = f"ready: all {conditions} have scores and a trial key"
            if incomplete:
                unranked = f"but {counted(incomplete, 'system')} cannot be ranked"
                text = f"ready in part: all {conditions} have scores, {unranked}"
        else:
            text = f"ready in part: {ready} of {conditions} have scores and a trial key"
        if missing:
            some = f"{creatable} of " * (creatable < len(missing))
            source = f"{stages('asv_scores')} computes {some}them"
            source = source if creatable else "see above what makes them"
            text += f"; {len(missing)} of {expected} score files missing: {source}"
        return text + (f"; {counted(warnings, 'warning')}" if warnings else "")


def _text(findings: Iterable[Finding], details: bool) -> str:
    """Describe findings of one problem: their number, the first of them, and the remedy."""
    first, *others = findings
    remedy = f" [{first.remedy}]" if first.remedy else ""
    if details:
        return f"{first.problem}: {first.item}{remedy}" + (f"; {first.detail}" * bool(first.detail))
    items = [
        f.item if len(f.item) <= _LENGTH else f"{f.item[:_LENGTH].rsplit(' ', 1)[0]} ..."
        for f in findings
    ]
    shown = items[:_ITEMS]
    while len(shown) > 1 and sum(map(len, shown)) > _LENGTH:
        shown.pop()
    more = f"; {len(items) - len(shown)} more (--details lists all)" * (len(shown) < len(items))
    return f"{first.problem} ({len(items)}): {'; '.join(shown)}{more}{remedy}"
