"""Compare the folders of attackers' scores with the attackers of the protocol."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import counted
from ..protocol.protocol import Protocol
from .conditions import System
from .keys import first_file, subfolders


@dataclass(frozen=True)
class AttackerProblem:
    """Scores in a folder that names no attacker, or an attacker of other programs without scores.

    Attributes
    ----------
    system : str
    text : str
        The name, with a similar one if there is one.
    folder : Path or None
        The first folder of that name; None for an attacker without scores.
    """

    system: str
    text: str
    folder: Path | None = None


def attacker_problems(systems: Iterable[System], protocol: Protocol) -> Iterator[AttackerProblem]:
    """Yield, for every system, score folders that no attacker of the protocol claims, then its
    attackers from outside of which no condition has scores."""
    attackers = {a.id: a for a in protocol.other_attackers}
    for system in systems:
        unclaimed: dict[str, list[Path]] = {}
        for folder in _condition_folders(system):
            for child in subfolders(folder):
                if child.name not in attackers and first_file(_scores(child)):
                    unclaimed.setdefault(child.name, []).append(child)
        present = {c.condition.attacker for c in system.conditions if c.scores is not None}
        absent = [a for a in attackers if attackers[a].scoring == "outside" and a not in present]
        for name, folders in unclaimed.items():
            unused = [a for a in attackers if a not in present]
            similar = _similar(name, unused) or _similar(name, attackers)
            hint = f" (is it {similar}?)" if similar else ""
            text = f"{name}{hint} in {counted(len(folders), 'condition')}"
            yield AttackerProblem(system.name, text, folders[0])
        for name in absent:
            similar = _similar(name, unclaimed)
            yield AttackerProblem(system.name, name + (f" (is it {similar}?)" if similar else ""))


def _condition_folders(system: System) -> list[Path]:
    folders = (
        files.folder if files.condition.is_by_challenge else files.folder.parent
        for files in system.conditions
    )
    return list(dict.fromkeys(folders))


def _scores(folder: Path) -> list[Path]:
    return [folder / "scores", folder / "scores.gz"]


def _similar(name: str, names: Iterable[str]) -> str:
    """Return the most similar of some names; "" if there is none."""
    by_lower = {other.lower(): other for other in names}
    return next((by_lower[n] for n in difflib.get_close_matches(name.lower(), by_lower, 1)), "")
