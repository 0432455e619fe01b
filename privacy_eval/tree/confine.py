"""Paths that lead out of the tree, and links that must not be written through."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from ..errors import PrivacyEvalError


def outside_of(paths: Iterable[Path | None], roots: list[Path]) -> tuple[Path, ...]:
    """Which paths lead to none of the roots; none do where there are no roots."""
    return tuple(
        path
        for path in paths
        if path is not None
        and roots
        and not any(Path(os.path.realpath(path)).is_relative_to(root) for root in roots)
    )


def leaves_tree(path: Path) -> str:
    """What to say of a path among those `outside`."""
    return (
        f"{path}: is outside the tree and the results ({path.resolve()}); use --allow-outside "
        "to read it"
    )


def refuse_links(out: Path, results: Path) -> None:
    """Make sure that no folder written to was put there as a link by a stranger.

    Raises
    ------
    PrivacyEvalError
        `out` lies in the results and is a link, or holds one.
    """
    if not out.absolute().is_relative_to(results.absolute()):
        return
    held = [Path(at, name) for at, *names in os.walk(out) for name in itertools.chain(*names)]
    for path in (out, *held):
        if path.is_symlink():
            raise PrivacyEvalError(
                f"{path}: is a link within the results and is not written to; name another "
                "folder with --out"
            )
