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


def read_failures(out: Path) -> list[str]:
    """Read what the stages before `collect` could not make."""
    files = sorted((out / _FOLDER).glob("*.txt"))
    texts = (read_text(file) for file in files if file.stem not in _OTHERS)
    return [line for text in texts for line in text.splitlines()]
