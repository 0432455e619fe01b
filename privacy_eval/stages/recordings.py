"""Stage 3 of own speech: look at every recording before any work. What was seen of the recordings
of a folder is kept until they change."""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tabulate import tabulate

from ..choices import grouped
from ..errors import counted
from ..io.csv_text import csv_text
from ..io.files import digest, file_names, write_text
from ..io.inputs import Inputs
from ..io.json_text import load_json
from ..io.schema import from_plain, to_plain
from ..products.freshness import Content, Product, Run, Source, Sources, bring_up_to_date
from ..speech.audio import CONVERTED
from ..speech.recordings import Recording, Uses, look_at
from ..tree.recordings import LIST, Row

#: The script in a tree that converts recordings.
SCRIPT = "convert_recordings.sh"

_PART_RECORDINGS, _SHOWN = 100, 50
_COLUMNS = "recording speaker unusable command cautions seconds rate channels".split()
#: Incremented when the same recordings look otherwise.
_REVISION = 1


@dataclass(frozen=True)
class _Part:
    """Some recordings of a folder, and the file of what was seen of them."""

    path: Path
    recordings: tuple[Path, ...]
    uses: Uses

    def product(self) -> Product:
        return Product(
            f"recordings of {self.recordings[0].parent}",
            self.path.parent,
            self.path.with_name(f".{self.path.name}"),
            (self.path,),
            self.find,
            self.make,
            options={"uses": asdict(self.uses), "files": [path.name for path in self.recordings]},
            revision=_REVISION,
        )

    def find(self, _: Inputs) -> Sources:
        readable = [path for path in self.recordings if path.is_file() and os.access(path, os.R_OK)]
        return {path.name: Source(path, digest(path.read_bytes())) for path in readable}

    def make(self, *_: object) -> Content:
        seen = [look_at(path, self.uses) for path in self.recordings]
        return Content({self.path: json.dumps(to_plain(seen)).encode()})

    def seen(self) -> dict[Path, Recording]:
        plain = load_json(self.path)
        kept = [from_plain(Recording, one, str(self.path)) for one in plain]
        return dict(zip(self.recordings, kept, strict=True))


def look_at_recordings(
    tree: Path, paths: Sequence[Path], uses: Uses, run: Run = Run()
) -> dict[Path, Recording]:
    """Look at recordings that changed since they were last looked at.

    Parameters
    ----------
    tree : Path
        Tree that keeps what was seen.
    """
    parts = list(_parts(tree / "recordings", paths, uses))
    bring_up_to_date((part.product() for part in parts), Inputs(), run).raise_failed()
    return {path: one for part in parts for path, one in part.seen().items()}


def _parts(store: Path, paths: Sequence[Path], uses: Uses) -> Iterator[_Part]:
    common = os.path.commonpath([os.path.abspath(path.parent) for path in paths])
    folders = grouped(sorted(set(paths)), lambda path: os.path.relpath(path.parent, common))
    for folder, name in file_names(folders).items():
        of = folders[folder]
        for n in range(0, len(of), _PART_RECORDINGS):
            path = store / f"{name}-{n // _PART_RECORDINGS}.json"
            yield _Part(path, tuple(of[n : n + _PART_RECORDINGS]), uses)


def write_list(tree: Path, rows: Sequence[Row]) -> list[str]:
    """Write the list of recordings, those that cannot be used first, and the commands that convert
    some of them; return what to print."""
    unusable = sorted((row for row in rows if row.seen.problem), key=lambda row: str(row.path))
    used = [row for row in rows if not row.seen.problem]
    commands, cells = list[str](), list[tuple[object, ...]]()
    for row in (*unusable, *used):
        seen, (problem, hint, _) = row.seen, row.seen.problem.partition(f"; {CONVERTED}")
        commands += [_command(row.path)] * bool(hint)
        about = commands[-1] if hint else "", "; ".join(seen.cautions), round(seen.seconds, 3)
        cells.append((row.path, row.speaker, problem, *about, seen.rate, seen.channels))
    write_text(tree / LIST, csv_text([_COLUMNS, *cells]))
    cautions = Counter(c.partition(" as ")[0] for row in used for c in row.seen.cautions)
    lines = [f"{counted(n, 'recording')}: {caution}" for caution, n in cautions.items()]
    if commands:
        write_text(tree / SCRIPT, "".join(f"{command}\n" for command in commands))
        how = f"sh {shlex.quote(str(tree / SCRIPT))}"
        lines.insert(0, f"ffmpeg converts {counted(len(commands), 'recording')}: {how}")
    if len(unusable) > _SHOWN:
        lines.insert(0, f"and {len(unusable) - _SHOWN} more in {tree / LIST}")
    shown = [row[:3] for row in cells[: min(_SHOWN, len(unusable))]]
    return [*tabulate(shown, _COLUMNS[:3]).split("\n"), *lines] if shown else lines


def _command(recording: Path) -> str:
    """Return the command that converts a recording."""
    path = Path(os.path.abspath(recording))
    names = shlex.quote(str(path)), shlex.quote(str(path.with_suffix(".flac")))
    return "ffmpeg -nostdin -v error -n -i {} -vn -map_metadata -1 -sample_fmt s16 {}".format(
        *names
    )
