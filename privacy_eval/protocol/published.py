"""Published results of the challenge and their systems.

The files are bundled in `conf/published`; the README.md there documents their sources, checks
and irregularities.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal

from ..errors import PrivacyEvalError, UsageError
from ..io.csv_text import csv_rows
from ..io.schema import from_plain
from ..io.yaml_text import parse_yaml
from .protocol import resource, resources

#: Printed for p-values far below the bound, without a number.
FAR_BELOW = re.compile(r"<< [0-9]+\.[0-9]+")

PERCENT = "percent"

_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,17})?")

_P_VALUES = "_p_values"

_FOLDER = "conf/published"


@dataclass(frozen=True)
class PublishedValue:
    """One cell of a published table.

    Attributes
    ----------
    metric : str
        Key in `results.UNITS`, or `subjective_` and such a key: computed from scores of a
        listening test.
    unit : str
        Unit of what is printed; "percent" where records hold fractions.
    attack_model : str or None
        That of the table's heading, also in the column Orig of original speech; None
        where there is none (DeID, G_VD, subjective metrics).
    split, data_set, gender : str
        Ids of the protocol vpc2020.
    system : str
        Id of a `PublishedSystem`, or Orig.
    value : str
        As printed, digit for digit.
    table : int
    """

    metric: str
    unit: str
    attack_model: str | None
    split: str
    data_set: str
    gender: str
    system: str
    value: str
    table: int

    @property
    def number(self) -> float:
        """Return the value in the unit of records: rates are fractions.

        Examples
        --------
        >>> load_published("vpc2020")[3].value, load_published("vpc2020")[3].number
        ('50.14', 0.5014)
        """
        printed = Decimal(self.value)
        return float(printed / 100 if self.unit == PERCENT else printed)


@dataclass(frozen=True)
class PublishedPValue:
    """One cell of a published table of significance tests between two systems.

    Attributes
    ----------
    metric : str
        What evaluators rated: `subjective_naturalness`, `subjective_intelligibility`,
        `subjective_similarity_same_speaker` or `subjective_similarity_different_speaker`.
    system, other_system : str
        Row and column of the cell: ids of `PublishedSystem`s, or Orig.
    value : str
        As printed; `<< 0.01` where no digits are.
    table : int
    """

    metric: str
    system: str
    other_system: str
    value: str
    table: int

    @property
    def number(self) -> float | None:
        """Return the p-value; None where only `<< 0.01` is printed."""
        return None if FAR_BELOW.fullmatch(self.value) else float(self.value)


@dataclass(frozen=True)
class PublishedSystem:
    """One anonymization system.

    Attributes
    ----------
    id : str
    team : str or None
        None for the baselines.
    reference, details : str
        As the document has them.
    family : str
        The baseline it was developed from, or "other"; `PublishedSystems.families` has styles.
    role : str
        "baseline", "primary" or "contrastive".
    deadline : int or None
        First or second one of the submissions; None for the baselines.
    anonymized_training_data : bool
        Whether the team submitted anonymized training data, too.
    """

    id: str
    team: str | None
    reference: str
    details: str
    family: str
    role: Literal["baseline", "primary", "contrastive"]
    deadline: int | None
    anonymized_training_data: bool


@dataclass(frozen=True)
class Family:
    """Style of the names of systems of one family.

    Attributes
    ----------
    colour, figure_colour : str
        LaTeX colour, and one that figures print well.
    slant : str
        In figures, for grey printers.
    """

    colour: str
    figure_colour: str
    slant: Literal["upright", "italic"]


@dataclass(frozen=True)
class PublishedSystems:
    """The systems of a document.

    Attributes
    ----------
    systems : tuple of PublishedSystem
    families : mapping
        Style of names by family; families without one are left out.
    note : str
        Warning on the values.
    source : str
        The document, unless it is what all systems refer to.
    """

    systems: tuple[PublishedSystem, ...]
    families: Mapping[str, Family]
    note: str = ""
    source: str = ""

    @property
    def noun(self) -> str:
        """What they are called together."""
        only = all(system.role == "baseline" for system in self.systems)
        return "published baseline" if only else "published system"

    @property
    def origin(self) -> str:
        """Whose values they are, and of which document."""
        documents = dict.fromkeys(system.reference for system in self.systems)
        return f"{self.noun}s ({self.source or '; '.join(documents)})"


@dataclass(frozen=True)
class PublishedResults:
    """Values and systems of a document, one of `published_names()`."""

    name: str
    values: tuple[PublishedValue, ...]
    systems: PublishedSystems


def published_names() -> list[str]:
    """List the names for `load_published`."""
    return [name for name in resources(_FOLDER, ".csv") if not name.endswith(_P_VALUES)]


def load_published(name: str) -> tuple[PublishedValue, ...]:
    """Load every value of the tables of a document, in the document's order.

    Parameters
    ----------
    name : str
        One of `published_names()`: `vpc2020`, Tables 2-15 and 18 of the supplement of the
        VoicePrivacy 2020 Challenge; `voice_similarity`, Table 2 of the paper on voice
        similarity matrices; `vpc2022`, `vpc2024`, `vpc2026_track1`, `vpc2026_track2`, result
        files of the baselines, where `table` is the line of the file.

    Raises
    ------
    PrivacyEvalError
        Unknown name.

    Examples
    --------
    >>> values = load_published("vpc2020")
    >>> len(values)
    4152
    >>> values[3].system, values[3].metric, values[3].value, values[3].unit
    ('B1', 'eer', '50.14', 'percent')
    """
    return parse_values(_read(f"{name}.csv", name, published_names()), f"{name}.csv")


def load_published_results(name: str) -> PublishedResults:
    """Load the values and the systems of a document; raise as `load_published`."""
    return PublishedResults(name, load_published(name), load_systems(name))


def load_p_values(name: str) -> tuple[PublishedPValue, ...]:
    """Load every p-value of a document's significance tests row by row, each pair of systems
    twice, as printed.

    Raises
    ------
    PrivacyEvalError
        A name other than `vpc2020`.
    """
    files = resources(_FOLDER, ".csv")
    names = [name.removesuffix(_P_VALUES) for name in files if name.endswith(_P_VALUES)]
    file = f"{name}{_P_VALUES}.csv"
    return parse_p_values(_read(file, name, names), file)


def load_systems(name: str) -> PublishedSystems:
    """Load the systems of a document, in its order, the baselines first.

    Raises
    ------
    PrivacyEvalError
        A name other than those of `published_names()`.
    """
    plain: Any = parse_yaml(_read("systems.yaml", name), "systems.yaml", trusted=True)
    if name not in plain:
        raise _unknown(name, list(plain))
    return from_plain(PublishedSystems, plain[name], f"systems.yaml: {name}")


def parse_values(text: str, where: str) -> tuple[PublishedValue, ...]:
    """Parse values from CSV text; `where` begins error messages."""
    return tuple(
        PublishedValue(**{**row, "attack_model": row["attack_model"] or None})
        for row in _rows(text, PublishedValue, _NUMBER, where)
    )


def parse_p_values(text: str, where: str) -> tuple[PublishedPValue, ...]:
    """Parse p-values from CSV text; `where` begins error messages."""
    form = re.compile(f"{FAR_BELOW.pattern}|{_NUMBER.pattern}")
    return tuple(PublishedPValue(**row) for row in _rows(text, PublishedPValue, form, where))


def _rows(text: str, kind: type, form: re.Pattern[str], where: str) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a CSV text with the fields of a dataclass as columns."""
    columns = [f.name for f in fields(kind)]
    rows = csv_rows(text, where)
    if next(rows, None) != (1, columns):
        raise PrivacyEvalError(f"{where}:1: expected the columns {','.join(columns)}")
    for number, cells in rows:
        row: dict[str, Any] = dict(zip(columns, cells, strict=True))
        for name, expected in (("table", re.compile("[0-9]{1,4}")), ("value", form)):
            if expected.fullmatch(row[name]) is None:
                raise PrivacyEvalError(f"{where}:{number}: not a {name}: {row[name][:100]!r}")
        yield {**row, "table": int(row["table"])}


def _read(file: str, name: str, known: Collection[str] | None = None) -> str:
    """Read a bundled file, which is of one of the known names."""
    if known is not None and name not in known:
        raise _unknown(name, known)
    return (resource(_FOLDER) / file).read_text(encoding="utf-8")


def _unknown(name: str, names: Collection[str]) -> UsageError:
    return UsageError(f"{name}: no published results of this name; known: {', '.join(names)}")
