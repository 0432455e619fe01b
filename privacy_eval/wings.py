"""Wings: packages that add to the toolkit, found by the entry points of the group
`privacy_eval.wings`.

The core imports none. A wing's object names what it adds, by names that nothing else has. Functions
are "MODULE:NAME" there, imported once they are needed: every command looks the wings up.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import PrivacyEvalError, describe
from .version import ROOT

GROUP = "privacy_eval.wings"

#: "MODULE:NAME": a function, or another object.
Reference = str

#: The entries of the group in entry_points.txt, and in setup.cfg where the toolkit runs from
#: source: what an earlier installation says of it may be outdated.
_INSTALLED = re.compile(r"^\[privacy_eval\.wings\]\n((?:[^\[].*\n?)*)", re.MULTILINE)
_IN_SOURCE = re.compile(r"^privacy_eval\.wings =\n((?: .*\n?)*)", re.MULTILINE)
_ENTRY = re.compile(r"^\s*([\w.-]+)\s*=\s*([\w.]+:\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Stage:
    """A stage of the recipe that a wing adds.

    Attributes
    ----------
    number : int
        It runs after the core's stages of this number.
    what : str
        What it makes, such as "noise levels".
    flow : str
        Its input -> output.
    plan : Reference
        Of an `Experiment` and the options: the products. Without options: those that may be there,
        of which the ones in the folder of records are collected.
    options : type, optional
        A dataclass, see `options.option`.
    """

    number: int
    what: str
    flow: str
    plan: Reference
    options: type | None = None


@dataclass(frozen=True)
class Wing:
    """What a wing adds, by name.

    Attributes
    ----------
    name : str
        That of its entry point.
    requires : tuple of str
        Other wings that it imports: without them it is not installed.
    metrics : mapping of str to mapping
        The fields of `metrics.Metric` by key: `kind`, `unit`, `name`, ...; `function` is a
        reference.
    circumstances, counts : mapping of str to str
        Of its measurements, in order: titles of columns.
    attackers : mapping of str to Reference
        By ways of scoring that a protocol's attackers may name, see `stages.attackers.Way`.
    stages : mapping of str to Stage
    verbs : mapping of str to (str, str)
        The module with options and function of each, as those in `cli`, and what it does.
    tables : tuple of Path
        Files of entries of tables.
    figures : mapping of str to (str, str)
        The module with the function `figures`, and the title of the section.
    sections : mapping of str to Reference
        Sections of the report by title: of `ReportData`, their sentences.
    inserts : mapping of str to Reference
        Sections of other sources, by the option of the verb `report` that names the folder: of this
        folder, an `Insert`.
    """

    name: str
    requires: tuple[str, ...] = ()
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    circumstances: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    attackers: Mapping[str, Reference] = field(default_factory=dict)
    stages: Mapping[str, Stage] = field(default_factory=dict)
    verbs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tables: tuple[Path, ...] = ()
    figures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    sections: Mapping[str, Reference] = field(default_factory=dict)
    inserts: Mapping[str, Reference] = field(default_factory=dict)


def installed() -> Collection[Wing]:
    """Return the wings that are installed, by name."""
    return _found()[0].values()


def absent() -> Mapping[str, str]:
    """Return why wings that entry points name are not installed."""
    return _found()[1]


def told() -> list[str]:
    """Say which wings are installed, and which are not."""
    names = ", ".join(wing.name for wing in installed())
    missing = [f"not installed: wing {name} ({why})" for name, why in absent().items()]
    return [f"wings: {names}"] * bool(names) + missing


def of_wings(kind: str, core: Collection[str] = ()) -> dict[str, Any]:
    """Return what the wings add of a kind, by name.

    Parameters
    ----------
    kind : str
        An attribute of `Wing`.
    core : collection of str
        Names that the core has.

    Raises
    ------
    PrivacyEvalError
        The core or another wing has the name; one of a column or stage is no identifier.
    """
    found: dict[str, Any] = {}
    for wing in installed():
        for name, entry in getattr(wing, kind).items():
            if name in core or name in found:
                of = "the core" if name in core else "another wing"
                raise PrivacyEvalError(f"wing {wing.name}: {kind}: {of} has {name!r}; rename it")
            if kind in ("circumstances", "counts", "stages") and not name.isidentifier():
                text = "expected letters, digits and underscores"
                raise PrivacyEvalError(f"wing {wing.name}: {kind}: {name!r}: {text}")
            found[name] = entry
    return found


def referred(reference: Reference) -> Any:
    """Import what a wing names.

    Raises
    ------
    PrivacyEvalError
        It cannot be imported.
    """
    module, _, name = reference.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        why = describe(error) if isinstance(error, Exception) else "it exits"
        raise PrivacyEvalError(f"wing: {reference}: cannot be imported ({why})") from error


@functools.cache
def _found() -> tuple[dict[str, Wing], dict[str, str]]:
    """Return the wings by name, and why others are not installed."""
    wings: dict[str, Wing] = {}
    missing: dict[str, str] = {}
    for name, reference in sorted(_entries().items()):
        wing = _load(name, reference)
        if wing is None:
            missing[name] = f"no module {reference.partition(':')[0]}"
        else:
            wings[name] = wing
    while True:
        needed = {name: {*wing.requires} - wings.keys() for name, wing in wings.items()}
        lacking = {name: others for name, others in needed.items() if others}
        if not lacking:
            return wings, missing
        for name, others in lacking.items():
            del wings[name]
            missing[name] = f"needs {', '.join(sorted(others))}"


def _load(name: str, reference: Reference) -> Wing | None:
    """Import a wing's object; None if its module is not there."""
    module, _, attribute = reference.partition(":")
    try:
        wing = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            return None
        why = describe(error)
    except (Exception, SystemExit) as error:  # others' code may raise anything
        why = describe(error) if isinstance(error, Exception) else "it exits"
    else:
        if isinstance(wing, Wing) and wing.name == name:
            return wing
        why = f"expected a Wing of this name, found {str(wing)[:80]}"
    raise PrivacyEvalError(f"wing {name}: {reference}: cannot be imported ({why})")


def _entries() -> dict[str, Reference]:
    """Return the wings that entry points name. `importlib.metadata` does the same, but importing
    it takes longer than all else that a command needs for its `--help`."""
    own = ROOT / "setup.cfg"
    texts = [own.read_text(encoding="utf-8")] if own.is_file() else []
    found = dict(_named(_IN_SOURCE, texts))
    seen = {"privacy_eval"} if texts else set[str]()
    for folder in map(Path, sys.path):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            package, ending = os.path.splitext(name)
            distribution = package.partition("-")[0].lower()
            if ending not in (".dist-info", ".egg-info") or distribution in seen:
                continue
            seen.add(distribution)  # the first on the path is the one that is imported
            try:
                text = (folder / name / "entry_points.txt").read_text(encoding="utf-8")
            except OSError:
                continue
            for wing, reference in _named(_INSTALLED, [text]):
                if found.setdefault(wing, reference) != reference:
                    raise PrivacyEvalError(f"two wings {wing}: {found[wing]}, {reference}")
    return found


def _named(section: re.Pattern[str], texts: Iterable[str]) -> Iterator[tuple[str, Reference]]:
    for text in texts:
        for lines in section.findall(text):
            yield from _ENTRY.findall(lines)
