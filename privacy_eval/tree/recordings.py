"""Which recordings are used, and which are left out, as later stages cannot use them."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tabulate import tabulate

from ..choices import grouped
from ..errors import counted, printable
from ..io.csv_text import csv_text
from ..io.files import write_text
from ..speech.audio import CONVERTED
from ..speech.audit import Recording

#: The list of all recordings in a tree, and the script that converts some of them.
LIST, SCRIPT = "recordings.csv", "convert_recordings.sh"

_SHOWN = 50
_COLUMNS = "recording speaker unusable command cautions seconds rate".split()
_COMMAND = "test -e {1} || ffmpeg -nostdin -v error -i {0} -vn -map_metadata -1 -sample_fmt s16 {1}"
_SAME, _WHOSE = "same samples", "; whose is it?"
#: What the report tells of why a recording cannot be used, without names of files.
_REASON = re.compile(
    r"[\w -]+(?= audio, which)|truncated|silent|empty|too short|damaged|not supported|of one name|"
    r"beyond full scale|no (samples|speech|voiced frames|audio|anonymized copy|original recording)"
)


def choose(files: Sequence[Recording]) -> Sequence[Recording]:
    """Choose the usable one of the files of an utterance, such as one that was converted; all of
    them where that is none or several, which is a problem."""
    usable = [one for one in files if not one.problem]
    if len(usable) < 2:
        return usable or files
    names = " and ".join(one.path.name for one in usable)
    problem = f"{len(usable)} recordings of one name ({names})"
    return [replace(one, problem=problem) for one in usable]


def mark_copies(recordings: Iterable[Recording]) -> list[Recording]:
    """Add a caution to recordings that are copies of an earlier one."""
    earlier: dict[str, Recording] = {}
    marked = []
    for one in recordings:
        is_used = one.samples and not one.problem
        same = earlier.setdefault(one.samples, one) if is_used else one
        if same is not one:
            caution = f"{_SAME} as {same.path.name} of {same.speaker}"
            caution += _WHOSE * (one.speaker != same.speaker)
            one = replace(one, cautions=(*one.cautions, caution))
        marked.append(one)
    return marked


def write_list(tree: Path, recordings: Iterable[Recording]) -> list[str]:
    """Write the list of recordings, those that cannot be used first, and the commands that convert
    some of them; return what to print."""
    cells, cautions = list[tuple[object, ...]](), Counter[str]()
    for one in sorted(recordings, key=lambda one: (not one.problem, one.path)):
        problem, hint, _ = one.problem.partition(f"; {CONVERTED}")
        absolute = Path(os.path.abspath(one.path))
        paths = (shlex.quote(str(path)) for path in (absolute, absolute.with_suffix(".flac")))
        command = _COMMAND.format(*paths) if hint else ""
        about = "; ".join(one.cautions), round(one.seconds, 3), one.rate
        cells.append((one.path, one.speaker, problem, command, *about))
        cautions.update(c.partition(" as ")[0] for c in one.cautions if not problem)
    write_text(tree / LIST, csv_text([_COLUMNS, *cells]))
    shown = [row[:3] for row in cells if row[2]]
    lines = tabulate(shown[:_SHOWN], _COLUMNS[:3]).split("\n") if shown else []
    if len(shown) > _SHOWN:
        lines.append(f"and {len(shown) - _SHOWN} more in {tree / LIST}")
    if commands := [f"{row[3]}\n" for row in cells if row[3]]:
        write_text(tree / SCRIPT, "".join(commands))
        how = f"sh {shlex.quote(str(tree / SCRIPT))}"
        lines.append(f"ffmpeg converts {counted(len(commands), 'recording')}: {how}")
    lines += [f"{counted(n, 'recording')}: {c} (see {LIST})" for c, n in cautions.items()]
    lines += [f"{row[0]}: {row[4]}" for row in cells if _WHOSE in str(row[4])][:_SHOWN]
    return [printable(line) for line in lines]


def left_out(
    recordings: Sequence[Recording], percent: float
) -> tuple[set[str], list[str], list[str]]:
    """Return the utterances to leave out, what to say of recordings, and which are too many.

    Parameters
    ----------
    percent : float
        Of the recordings, and of those of the training speech, that may be left out.
    """
    lost = {one.utterance: one.problem for one in recordings if one.problem}
    remarks, faults = list[str](), list[str]()
    for part, members in grouped(recordings, lambda one: one.part).items():
        of_part = {one.utterance for one in members}
        without = of_part & lost.keys()
        text = f"{len(without)} of {len(of_part)} {part} cannot be used"
        if 100 * len(without) > percent * len(of_part):
            remedy = f"mend, convert or remove what {LIST} in the new tree lists"
            faults.append(f"{text}, over --allow-unusable {percent:g} percent; {remedy}")
        elif without:
            found = (_REASON.search(problem) for u, problem in lost.items() if u in without)
            reasons = Counter(match[0] if match else "other" for match in found)
            why = ", ".join(f"{n} {reason}" for reason, n in reasons.most_common())
            remarks.append(f"{text} and were left out: {why}")
    copies = sum(caution.startswith(_SAME) for one in recordings for caution in one.cautions)
    if copies:
        same = f"{counted(copies, 'recording')} with the samples of another one"
        remarks.append(f"{same}: remove them, as copies are linked whoever speaks")
    return {*lost}, remarks, faults
