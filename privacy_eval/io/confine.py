"""Paths outside the tree; symlinks and special files that must not be written to."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from ..errors import PrivacyEvalError, shorten


def paths_outside(paths: Iterable[Path | None], roots: Iterable[Path]) -> tuple[Path, ...]:
    """Select the paths that lead to none of the roots.

    Parameters
    ----------
    paths : iterable of (Path or None)
        None is skipped.
    roots : iterable of Path
        Folders that may be read; where there are none, everything may.
    """
    roots = list(roots)
    if not roots:
        return ()
    return tuple(path for path in paths if path is not None and not _leads_to_any(path, roots))


def _leads_to_any(path: Path, roots: Iterable[Path]) -> bool:
    path = path.absolute()
    real = os.path.join(_real_folder(path.parent), path.name)
    if path.name == ".." or os.path.islink(real):
        real = os.path.realpath(path)
    return _is_below_any(real, roots)


def _is_below_any(real: str, roots: Iterable[Path]) -> bool:
    folders = (os.path.join(_real_folder(root.absolute()), "") for root in roots)
    return any(f"{real}/".startswith(folder) for folder in folders)


@functools.lru_cache(maxsize=4096)
def _real_folder(folder: Path) -> str:
    """Resolve the links of a folder, once per command: whoever opens a file within roots makes sure
    of where it is (`io.files.open_regular`)."""
    return os.path.realpath(folder)


def check_inside(paths: Iterable[Path | None], roots: Iterable[Path], where: str = "") -> None:
    """Make sure that paths lead to one of the roots.

    Parameters
    ----------
    paths, roots
        As of `paths_outside`.
    where : str
        Origin of the paths, at the beginning of the message.

    Raises
    ------
    PrivacyEvalError
        Names the first path outside, and the option that allows it.
    """
    for path in paths_outside(paths, roots):
        raise PrivacyEvalError(where + outside_message(path))


def check_real_path(real: str, roots: Iterable[Path]) -> None:
    """As `check_inside`, of a path whose links are resolved."""
    if not _is_below_any(real, roots):
        raise PrivacyEvalError(outside_message(Path(real)))


def outside_message(path: Path) -> str:
    """Return the error message for a path outside the roots."""
    if not os.path.exists(path):
        return f"{shorten(str(path))}: no such file (is it of another machine?)"
    return (
        f"{shorten(str(path))}: is outside the tree and the results "
        f"({shorten(os.path.realpath(path))}); use --allow-outside to read it"
    )


def refuse_symlinks(path: Path, results: Path) -> None:
    """Refuse to write to symlinks and special files in the results, which may be untrusted.

    Parameters
    ----------
    path : Path
        To be written. Checked are it and the folders above it, up to `results` or the folder
        that both are in.

    Raises
    ------
    PrivacyEvalError
        Names the first symlink or special file.
    """
    root, path = Path(os.path.abspath(results)), Path(os.path.abspath(path))
    _refuse(itertools.takewhile(lambda p: not root.is_relative_to(p), (path, *path.parents)))


def refuse_symlinks_below(out: Path, results: Path) -> None:
    """Refuse an output folder within the results that is, or contains, a symlink or special file.

    Parameters
    ----------
    out : Path
        Nothing is checked where it is not within `results`.

    Raises
    ------
    PrivacyEvalError
        Names the first symlink or special file.
    """
    if out.absolute().is_relative_to(results.absolute()):
        refuse_symlinks(out, results)
        _refuse([out])
        _refuse_below(out)


def _refuse_below(folder: Path) -> None:
    try:
        entries = os.scandir(folder)
    except OSError:  # not there, or not readable: whoever writes to it reports it
        return
    with entries:
        # An entry knows what it is: no further call to the system for each of many files.
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _refuse_below(Path(entry))
            elif not entry.is_file(follow_symlinks=False):
                _refuse([Path(entry)])


def _refuse(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_symlink():
            raise PrivacyEvalError(
                f"{path}: refusing to write through a symlink inside the results folder; choose "
                "another --out"
            )
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise PrivacyEvalError(
                f"{path}: refusing to write next to a named pipe, socket or device; remove it or "
                "choose another --out"
            )
