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
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from .errors import PrivacyEvalError, describe, printable
from .version import ROOT

GROUP = "privacy_eval.wings"
_OWN = "privacy_eval"

#: "MODULE:NAME": a function, or another object.
Reference = str

#: The entries of the group in entry_points.txt, and in setup.cfg where the toolkit runs from
#: source: what an earlier installation says of it may be outdated.
_INSTALLED = re.compile(r"^\[privacy_eval\.wings\]\n((?:[^\[].*\n?)*)", re.MULTILINE)
_IN_SOURCE = re.compile(r"^privacy_eval\.wings =\n((?: .*\n?)*)", re.MULTILINE)
_ENTRY = re.compile(r"^\s*([\w.-]+)\s*=\s*([\w.]+)\s*:\s*(\w+)", re.MULTILINE)

#: The stages that recipes run by number, and so with those of wings.
NUMBERS = (5, 6, 7)

#: Ends messages about names that wings may add.
OR_ABSENT = " (or of a wing that is not installed?)"


@dataclass(frozen=True)
class Stage:
    """A stage of the recipe that a wing adds.

    Attributes
    ----------
    number : int
        It runs after the core's stages of this number, one of `NUMBERS`.
    what : str
        What it makes, such as "noise levels".
    flow : str
        Its input -> output.
    plan : Reference
        Of an `Experiment` and the options: the products. With None: those that may be there, of
        which the ones in the folder of records are collected. None, too, where it has no options.
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
        The fields of `metrics.Metric` by key: `kind`, `unit`, `name`, ...; `function`, a reference,
        is left out of numbers that only a stage makes.
    circumstances, counts : mapping of str to str
        Of its measurements, in order: titles of columns.
    attackers : mapping of str to Reference
        By ways of scoring that a protocol's attackers may name, see `stages.attackers.Way`.
    stages : mapping of str to Stage
    options : mapping of str to Reference
        Further options, a dataclass, by commands of the core whose function the wing provides.
    verbs : mapping of str to (str, str)
        The module with options and function of each, as those in `cli`, and what it does.
    tables : tuple of Path
        Files of entries of tables.
    figures : mapping of str to tuple of str
        Of each kind the function, a reference: of `ReportData`, its drawings; the title of the
        section; `curves` or `conventional` if they are, see `report.figures.FigureKind`.
    sections : mapping of str to Reference
        Sections of the report by title, which none of the core's has: of `ReportData`, their
        sentences.
    inserts : mapping of str to Reference
        Sections of other sources, by the option of the verb `report` that names the folder: of this
        folder, an `Insert`.
    provides : mapping of str to Reference
        Functions that the core leaves to wings, such as that of a stage of the recipe, by the name
        that it asks for, see `provided`.
    """

    name: str
    requires: tuple[str, ...] = ()
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    circumstances: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    attackers: Mapping[str, Reference] = field(default_factory=dict)
    stages: Mapping[str, Stage] = field(default_factory=dict)
    options: Mapping[str, Reference] = field(default_factory=dict)
    verbs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tables: tuple[Path, ...] = ()
    figures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sections: Mapping[str, Reference] = field(default_factory=dict)
    inserts: Mapping[str, Reference] = field(default_factory=dict)
    provides: Mapping[str, Reference] = field(default_factory=dict)


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
        for name, entry in _added(wing, kind):
            if name in core or name in found:
                of = "the core" if name in core else f"wing {owner(kind, name)}"
                raise PrivacyEvalError(f"wing {wing.name}: {kind}: {of} has {name!r}; rename it")
            if kind in ("circumstances", "counts", "stages") and not name.isidentifier():
                text = "expected letters, digits and underscores"
                raise PrivacyEvalError(f"wing {wing.name}: {kind}: {name!r}: {text}")
            found[name] = entry
    return found


def owner(kind: str, name: str) -> str:
    """Return the first wing that adds something of a kind."""
    return next(wing.name for wing in installed() if name in dict(_added(wing, kind)))


def _added(wing: Wing, kind: str) -> list[tuple[str, Any]]:
    """List what a wing adds of a kind; a stage's name may have hyphens, as its command has."""
    named = getattr(wing, kind).items()
    return [(n.replace("-", "_") if kind == "stages" else n, of) for n, of in named]


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
        named = [wing.name for wing in installed() if f"'{module}" in repr(wing)]
        of = f"wing {' or '.join(named)}"
        raise PrivacyEvalError(f"{of}: {reference}: cannot be imported ({why})") from error


def provided(name: str, *, needed: bool = True) -> Any:
    """Return a function that the core leaves to wings; None of one that is not `needed` where no
    wing that is installed has it.

    Raises
    ------
    PrivacyEvalError
        No wing that is installed has it; it cannot be imported.
    """
    reference = of_wings("provides").get(name)
    if reference is None and needed:
        missing = "; ".join(f"wing {wing} ({why})" for wing, why in absent().items())
        raise PrivacyEvalError(f"{name}: not installed: {missing or 'a wing that has it'}")
    return reference and referred(reference)


@functools.cache
def _found() -> tuple[dict[str, Wing], dict[str, str]]:
    """Return the wings by name, and why others are not installed."""
    wings: dict[str, Wing] = {}
    missing: dict[str, str] = {}
    for name, (reference, package) in sorted(_entries().items()):
        wing = _load(name, reference, package)
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


def _load(name: str, reference: Reference, package: str) -> Wing | None:
    """Import a wing's object; None if its module is not there."""
    module, _, attribute = reference.partition(":")
    try:
        imported = importlib.import_module(module)
        if getattr(imported, "__file__", None) is None:  # a folder that is left, without its code
            return None
        wing = getattr(imported, attribute)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            return None
        why = describe(error)
    except (Exception, SystemExit) as error:  # others' code may raise anything
        why = describe(error) if isinstance(error, Exception) else "it exits"
    else:
        if isinstance(wing, Wing) and wing.name == name:
            if package != _OWN:  # which mypy has checked
                _check(wing)
            return wing
        found = f"one named {wing.name!r}" if isinstance(wing, Wing) else _shown(wing)
        why = f"expected a Wing named {name!r}, as its entry point, found {found}"
    raise PrivacyEvalError(
        f"wing {name}: {reference}: cannot be imported ({why}); repair or uninstall the package "
        f"{package}, which stops every command"
    )


def _check(wing: Wing) -> None:
    """Refuse a wing with a value that is not of its field's type."""
    _check_types(wing, f"wing {wing.name}")
    for name, stage in wing.stages.items():
        where = f"wing {wing.name}: stages: {name}"
        _check_types(stage, where)
        if stage.number not in NUMBERS:
            numbers = ", ".join(map(str, NUMBERS))
            expected = f"expected one that recipes run ({numbers}), found {stage.number}"
            raise PrivacyEvalError(f"{where}: number: {expected}")
        if stage.options is not None and not is_dataclass(stage.options):
            found = _shown(stage.options)
            raise PrivacyEvalError(f"{where}: options: expected a dataclass, found {found}")
    for name, kind in wing.figures.items():
        if len(kind) < 2 or not {*kind[2:]} <= {"curves", "conventional"}:
            expected = "expected a function, a title and perhaps curves or conventional, found "
            raise PrivacyEvalError(f"wing {wing.name}: figures: {name}: {expected}{_shown(kind)}")
    for key, entry in wing.metrics.items():
        if not isinstance(function := entry.get("function", ""), str):
            expected = f"function: expected 'MODULE:NAME', found {_shown(function)}"
            raise PrivacyEvalError(f"wing {wing.name}: metrics: {key}: {expected}")


def _check_types(of: Wing | Stage, where: str) -> None:
    kinds = get_type_hints(type(of))
    for one in fields(of):
        value = getattr(of, one.name)
        if not _fits(value, kinds[one.name]):
            expected = f"expected {one.type}, found {_shown(value)}"
            raise PrivacyEvalError(f"{where}: {one.name}: {expected}")


def _fits(value: object, kind: Any) -> bool:
    """Tell whether a value is of an annotated type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_fits(value, one) for one in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = inner[:1] * len(value) if inner[-1] is ... else inner
        return len(kinds) == len(value) and all(map(_fits, value, kinds))
    if origin is Mapping:
        pairs = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(_fits(name, inner[0]) and _fits(entry, inner[1]) for name, entry in pairs)
    return kind is Any or isinstance(value, kind)


def _shown(value: object) -> str:
    return printable(repr(value))[:80]


def _entries() -> dict[str, tuple[Reference, str]]:
    """Return the wings that entry points name, each with its package. `importlib.metadata` does the
    same, but importing it takes longer than all else that a command needs for its `--help`."""
    own = ROOT / "setup.cfg"
    texts = [own.read_text(encoding="utf-8")] if own.is_file() else []
    found = {name: (of, _OWN) for name, of in _named(_IN_SOURCE, texts)}
    seen = {_OWN} if texts else set[str]()
    for folder in (path or os.curdir for path in sys.path):
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
                with open(f"{folder}/{name}/entry_points.txt", encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            for wing, reference in _named(_INSTALLED, [text]):
                other, of = found.setdefault(wing, (reference, distribution))
                if other != reference:
                    both = f"{other} of the package {of}, {reference} of {distribution}"
                    raise PrivacyEvalError(f"two wings {wing}: {both}")
    return found


def _named(section: re.Pattern[str], texts: Iterable[str]) -> Iterator[tuple[str, Reference]]:
    for text in texts:
        for lines in section.findall(text):
            yield from ((name, f"{module}:{of}") for name, module, of in _ENTRY.findall(lines))
