"""What failed in the stages of a run: `failed/<verb>.txt` in the output folder, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..io.files import read_text, write_text

_FOLDER = "failed"
#: Not before `collect`, which names the others.
_OTHERS = ("collect", "listening")


def record_failures(out: Path, verb: str, failed: Mapping[str, str], *, more: bool) -> None:
    """Write what a verb could not make, and why: `more` than, or in place of, what is there."""
    file = out / _FOLDER / f"{verb.replace('-', '_')}.txt"
    earlier = read_text(file).splitlines() if more and file.is_file() else []
    lines = [f"{name}: {why}" if why else name for name, why in failed.items()]
    lines = list(dict.fromkeys([*earlier, *(" ".join(line.split()) for line in lines)]))
    if lines:
        write_text(file, "".join(f"{line}\n" for line in lines))
    else:
        file.unlink(missing_ok=True)


def read_failures(out: Path) -> dict[str, list[str]]:
    """Read what the stages before `collect` could not make, by verb."""
    files = sorted((out / _FOLDER).glob("*.txt"))
    return {f.stem: read_text(f).splitlines() for f in files if f.stem not in _OTHERS}
