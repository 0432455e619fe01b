"""What is in a folder of figures, and what they were made from: known without drawing, so
without matplotlib.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..errors import PrivacyEvalError
from ..io.files import locked_folder, read_text, write_text
from ..io.json_text import load_json
from ..results.arrays import FIGURE_FORMATS

#: Names and captions of the figures in a folder.
CAPTIONS = "captions.json"

#: Names of all figures that were begun there.
LISTING = ".figures.list"

_KEY = ".figures.key"


def key_of(made_from: str, formats: Sequence[str]) -> str:
    """What a folder is known by: what its figures depend on, and the programs that drew them."""
    drawn_by = f"{__version__} {importlib.metadata.version('matplotlib')}"
    return f"{made_from} {' '.join(formats)} {drawn_by}\n"


def is_complete(folder: Path, made_from: str, formats: Sequence[str]) -> bool:
    """Whether all figures are there, and made from this."""
    path = folder / _KEY
    if not path.is_file() or read_text(path) != key_of(made_from, formats):
        return False
    if not (folder / CAPTIONS).is_file():
        return False
    captions = read_captions(folder)
    return bool(captions) and all(is_there(folder, name, formats) for name in captions)


def read_captions(folder: Path) -> dict[str, str]:
    """Captions of the figures in a folder by their names, in order.

    Raises
    ------
    PrivacyEvalError
        No such list, or a damaged one.
    """
    plain = load_json(folder / CAPTIONS)
    if not isinstance(plain, dict) or not all(isinstance(v, str) for v in plain.values()):
        raise PrivacyEvalError(f"{folder / CAPTIONS}: expected names and captions of figures")
    return plain


def made_from(folder: Path) -> str:
    """What the figures in a folder were made from, as `write_figures` was told."""
    path = folder / _KEY
    return read_text(path).split(" ", 1)[0] if path.is_file() else ""


def begin(out: Path, key: str) -> None:
    """Make sure that whatever figure of ours is in the folder was made from the same."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PrivacyEvalError(f"{out}: cannot be written ({error.strerror})") from error
    with locked_folder(out):  # another job may begin at the same time
        path, listing = out / _KEY, out / LISTING
        if path.is_file() and read_text(path) == key:
            return
        names = read_text(listing).splitlines() if listing.is_file() else []
        for name in names:
            if Path(name).name == name:
                for extension in FIGURE_FORMATS:
                    (out / f"{name}.{extension}").unlink(missing_ok=True)
        for left in (listing, out / CAPTIONS):
            left.unlink(missing_ok=True)
        write_text(path, key)


def is_there(out: Path, name: str, formats: Sequence[str]) -> bool:
    """Whether a figure has all its files; only curves have TeX, which is written first."""
    return all((out / f"{name}.{f}").is_file() for f in formats if f != "tex" or len(formats) == 1)
