"""What attackers cost: the seconds of scoring by each and of extracting x-vectors, in a file
beside results.json, since they differ from run to run."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..io.files import write_text
from ..io.schema import from_plain, load_json, to_plain

_NAME = "attacker_seconds.json"


@dataclass(frozen=True)
class AttackerCosts:
    """Seconds of scoring by each attacker, and of extracting the x-vectors of all, over all
    systems; users' commands that extracted x-vectors, by model folder."""

    seconds: Mapping[str, float]
    extraction: float = 0.0
    commands: Mapping[str, str] = field(default_factory=dict)


def write_costs(out: Path, costs: AttackerCosts) -> None:
    """Write the costs into an output folder, unless they are there; without any, remove those of
    an earlier run."""
    path, text = out / _NAME, json.dumps(to_plain(costs), indent=1) + "\n"
    if costs == _NONE:
        path.unlink(missing_ok=True)
    elif not path.is_file() or path.read_text() != text:
        write_text(path, text)


def read_costs(results: Iterable[Path]) -> AttackerCosts:
    """Read the costs beside results files, added up; none where there is no such file."""
    paths = (path.with_name(_NAME) for path in results)
    costs = [from_plain(AttackerCosts, load_json(p), str(p)) for p in paths if p.is_file()]
    seconds: Counter[str] = Counter()
    for of in costs:
        seconds.update(of.seconds)
    commands = {folder: text for of in costs for folder, text in of.commands.items()}
    return AttackerCosts(seconds, sum(of.extraction for of in costs), commands)


def duration_text(seconds: float) -> str:
    """Write a duration so coarsely that another run rarely takes another one.

    Examples
    --------
    >>> duration_text(3), duration_text(100), duration_text(9000)
    ('under a minute', 'about 2 minutes', 'about 2.5 hours')
    """
    if seconds < 60:
        return "under a minute"
    if seconds < 5400:
        return f"about {math.ceil(seconds / 60)} minutes"
    return f"about {seconds / 3600:.2g} hours"


_NONE = AttackerCosts({})
