"""Which recordings of folders are used, and which are left out, as later stages cannot use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PrivacyEvalError, abbreviate, counted
from ..speech.recordings import Recording

#: The list of all recordings in a tree.
LIST = "recordings.csv"


@dataclass(frozen=True)
class Row:
    """A recording of the list.

    Attributes
    ----------
    path : Path
    utterance, speaker : str
    seen : Recording
    is_training : bool
        Whether it is training speech.
    """

    path: Path
    utterance: str
    speaker: str
    seen: Recording
    is_training: bool = False


def choose(
    files: Mapping[str, Path],
    named_alike: Mapping[Path, Sequence[Path]],
    seen: Mapping[Path, Recording],
) -> dict[str, tuple[Path, Recording]]:
    """Choose the usable one of the files of every utterance, such as one that was converted.

    Parameters
    ----------
    files : mapping
        The first file by utterance.
    named_alike : mapping
        All files that differ from the first in what follows the dot alone.
    """
    chosen: dict[str, tuple[Path, Recording]] = {}
    for utterance, first in files.items():
        several = named_alike.get(first, (first,))
        usable = [path for path in several if not seen.get(path, Recording()).problem]
        path = (usable or several)[0]
        one = seen.get(path, Recording())
        if len(usable) > 1:
            names = " and ".join(path.name for path in usable)
            one = replace(one, problem=f"{len(usable)} recordings of one name ({names})")
        chosen[utterance] = path, one
    return chosen


def with_copies(rows: Iterable[Row]) -> tuple[list[Row], int]:
    """Add a caution to original recordings that are copies of an earlier one; also count them."""
    earlier: dict[str, Row] = {}
    heard = set[str]()
    marked, count = [], 0
    for row in rows:
        samples = row.seen.samples
        is_known = row.utterance in heard  # its original was before
        heard.add(row.utterance)
        usable = samples and not (row.seen.problem or is_known)
        same = earlier.setdefault(samples, row) if usable else row
        if same is not row:
            caution = f"same samples as {same.path.name} of {same.speaker}"
            seen = replace(row.seen, cautions=(*row.seen.cautions, caution))
            row, count = replace(row, seen=seen), count + 1
        marked.append(row)
    return marked, count


def left_out(
    rows: Sequence[Row], percent: float, least: int, tree: Path
) -> tuple[set[str], list[str]]:
    """Return the utterances to leave out, and what to say of them.

    Parameters
    ----------
    percent : float
        Of the recordings, and of those of the training speech, that may be left out.
    least : int
        Recordings that every speaker needs.

    Raises
    ------
    PrivacyEvalError
        More than allowed; a speaker with too few others.
    """
    lost = {row.utterance for row in rows if row.seen.problem}
    speaker_of = {r.utterance: r.speaker for r in rows if r.speaker and not r.is_training}
    kept = Counter(speaker for u, speaker in speaker_of.items() if u not in lost)
    before = Counter(speaker_of.values())
    few = [s for s in sorted(before) if kept[s] < least <= before[s]]
    problems, remarks = [], []
    for is_training, what in ((False, "recordings"), (True, "training recordings")):
        all_of = {row.utterance for row in rows if row.is_training == is_training}
        without = all_of & lost
        text = f"{len(without)} of {len(all_of)} {what} cannot be used"
        if 100 * len(without) > percent * len(all_of):
            share = f"{100 * len(without) / len(all_of):.3g} %"
            allowed = f"--allow-unusable {percent:g}"
            problems.append(f"{text} ({share}), more than {allowed} allows")
        elif without:
            remarks.append(f"{text} and were left out; {LIST} says why")
    if few:
        needed = f"{counted(len(few), 'speaker')} would keep fewer than {least} recordings"
        problems.append(f"{needed}, too few to enroll and to try: {abbreviate(few)}")
    if problems:
        remedy = f"mend, convert or remove what {tree / LIST} lists"
        raise PrivacyEvalError(f"{'; '.join(problems)}; {remedy}")
    return lost, remarks
