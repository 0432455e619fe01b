"""unpack-submissions: zips of submissions, each into a folder of its own."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from .options import log, path

EXAMPLE = "submissions --exp exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    what = "zips, or folders with zips in them: TEAM/NAME.zip becomes DIR/TEAM/NAME"
    parser.add_argument("zips", nargs="+", **path("ZIP", what))
    parser.add_argument("--exp", required=True, **path("DIR", "results folder of all submissions"))


def run(arguments: argparse.Namespace) -> int:
    from ..errors import OutputError, PrivacyEvalError, counted
    from ..io.zips import unpack_zip

    targets: dict[Path, Path] = {}
    done = current = failed = 0
    for file, name in (pair for given in arguments.zips for pair in _zips(given)):
        try:
            _check_name(file, name, targets)
            targets[name] = file
            is_new = unpack_zip(file, arguments.exp / name, arguments.exp)
        except OutputError:
            raise
        except PrivacyEvalError as error:
            log(f"privacy-eval: {error}")
            failed += 1
        else:
            done, current = done + is_new, current + (not is_new)
    print(f"{arguments.exp}: {counted(done, 'zip')} unpacked, {current} current, {failed} refused")
    return 1 if failed else 0


def _zips(given: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a zip, or those in a folder, with the folder of each relative to all submissions."""
    if not given.is_dir():
        yield given, Path(given.stem)
        return
    for folder, below, names in os.walk(given):
        below.sort()
        for name in sorted(names):
            if name.lower().endswith(".zip") and not name.startswith("."):
                file = Path(folder, name)
                yield file, file.relative_to(given).with_suffix("")


def _check_name(file: Path, name: Path, targets: dict[Path, Path]) -> None:
    """Refuse a folder that would not be searched, would be taken for trial keys, or overlaps with
    that of another zip."""
    from ..errors import PrivacyEvalError
    from ..io.names import check_name

    for part in name.parts:
        check_name(part, file)
    if any(part.startswith((".", "__MACOSX")) for part in name.parts) or not name.parts:
        raise PrivacyEvalError(f"{file}: folders of this name are not searched; rename it")
    if name.parts[0].startswith("keys-"):
        raise PrivacyEvalError(f"{file}: keys-* are folders of trial keys; rename it")
    for other, source in targets.items():
        if name == other or name in other.parents or other in name.parents:
            raise PrivacyEvalError(f"{file}: would be unpacked over {source}; rename one of them")
