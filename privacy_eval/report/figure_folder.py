"""A folder of figures and a fingerprint of what they were drawn from, read without importing
matplotlib.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import FIGURE_FORMATS
from ..errors import PrivacyEvalError
from ..io.files import Inputs, digest, locked_folder, write_text
from ..io.schema import load_json
from ..numbers.report_sources import ReportSources
from ..products.freshness import NOTE, Content, Fingerprint, Product, is_safe_name
from ..version import __version__
from ..wings import of_wings

if TYPE_CHECKING:
    from .page import Picture

#: Names, sections and captions of the figures in a folder.
CAPTIONS = "captions.json"


class FigureFolder(Product):
    """Figures drawn one by one, by several jobs; the fingerprint is written first."""

    def is_whole(self, inputs: Inputs, stored: Fingerprint) -> bool:
        return all(os.path.isfile(self.note.parent / name) for name in stored.files)

    def begin(self, entries: Mapping[str, Mapping[str, str]], files: Sequence[str]) -> None:
        """Record the figures of this folder, and remove those drawn from other inputs."""
        out = self.note.parent
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PrivacyEvalError(f"{out}: cannot be written ({error.strerror})") from error
        now, _ = self.fingerprint(Inputs())
        now = replace(now, files=dict.fromkeys([*files, CAPTIONS], ""))
        with locked_folder(out):  # another job may begin at the same time
            earlier = self.read_fingerprint()
            stale = earlier is None or bool(self.changes(now, earlier))
            for name in {**now.files, **(earlier.files if earlier is not None else {})}:
                if is_safe_name(name) and (stale or name not in now.files):
                    (out / name).unlink(missing_ok=True)
            if earlier != now:
                write_text(self.note, now.text())
            text = json.dumps(entries, indent=1, ensure_ascii=False)
            write_text(out / CAPTIONS, f"{text}\n")


def _installed_matplotlib() -> list[str]:
    """Name the installed version as its metadata folder does; `importlib.metadata` takes longer to
    import than telling that figures are current."""
    spec = importlib.util.find_spec("matplotlib")
    where = Path() if spec is None or spec.origin is None else Path(spec.origin).parents[1]
    return sorted(path.name for path in where.glob("matplotlib-*-info"))


def figure_folder(
    out: Path, drawn_from: Mapping[str, Any], formats: Sequence[str] = FIGURE_FORMATS
) -> FigureFolder:
    """The figures in a folder.

    Parameters
    ----------
    drawn_from : mapping
        Digests and options of all that the figures depend on.
    """
    drawn_by = " ".join([__version__, *_installed_matplotlib()])
    return FigureFolder(
        str(out),
        out,
        out / NOTE,
        (),
        lambda _: {},
        lambda *_: Content({}),
        subject=drawn_from,
        options={"formats": list(formats), "drawn_by": drawn_by},
        revision=2,
    )


def figures_source(sources: ReportSources, **options: object) -> dict[str, object]:
    """Return all inputs of the figures of results, with the options of `all_figures`."""
    added = sorted(of_wings("figures"))
    return {**sources.subject(), **options, **({"wings": added} if added else {})}


def drawn_from(folder: Path) -> Mapping[str, Any]:
    """Return what the figures in a folder were drawn from, see `figure_folder`."""
    fingerprint = figure_folder(folder, {}).read_fingerprint()
    return {} if fingerprint is None else fingerprint.subject


def folder_digest(folder: Path) -> str:
    """Return a digest of the inputs of a folder of figures and of its captions."""
    return digest(
        json.dumps([drawn_from(folder), load_json(folder / CAPTIONS)], default=dict).encode()
    )


def captions(folder: Path) -> dict[str, dict[str, str]]:
    """Return section and caption of the figures in a folder by their names, in order.

    Raises
    ------
    PrivacyEvalError
        No list of their captions, or a damaged one.
    """
    entries = load_json(folder / CAPTIONS)
    if not isinstance(entries, dict) or not all(
        isinstance(entry, dict)
        and entry.keys() == {"section", "caption"}
        and all(isinstance(text, str) for text in entry.values())
        for entry in entries.values()
    ):
        raise PrivacyEvalError(
            f"{folder / CAPTIONS}: expected names, sections and captions of figures"
        )
    return entries


def pictures(folder: Path) -> list[Picture]:
    """Return the figures in a folder, in order; raises as `captions` does."""
    from .page import Picture

    return [
        Picture(folder / f"{name}.png", entry["caption"], section=entry["section"])
        for name, entry in captions(folder).items()
    ]
