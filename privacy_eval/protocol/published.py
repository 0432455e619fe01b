"""Published results of the challenge as data, and the systems they are of.

The files travel with the package in `conf/published`, whose README.md says what they
were transcribed from, how they are checked, and what is odd in them.
"""

from __future__ import annotations

import csv
import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Literal

import yaml

from ..errors import PrivacyEvalError
from ..io.schema import from_plain

#: What is printed where a p-value lies far below the bound; such a value has no number.
FAR_BELOW = re.compile(r"<< [0-9]+\.[0-9]+")

PERCENT = "percent"

_PRINTED = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")

_P_VALUES = "_p_values"

_FOLDER = "privacy_eval.conf.published"


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
        Ids of the plan vpc2020.
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
        """The value in the unit of records: rates are fractions.

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
        """The p-value; None where only `<< 0.01` is printed."""
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
        The baseline it was developed from, or "other".
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
    family: Literal["B1", "B2", "other"]
    role: Literal["baseline", "primary", "contrastive"]
    deadline: int | None
    anonymized_training_data: bool


@dataclass(frozen=True)
class PublishedSystems:
    """The systems of a document.

    Attributes
    ----------
    systems : tuple of PublishedSystem
    colours : mapping
        Colour of a system's name by its family; families without one are left out.
    coloured_in : tuple of str
        The figures and tables in which names are coloured.
    """

    systems: tuple[PublishedSystem, ...]
    colours: Mapping[str, str]
    coloured_in: tuple[str, ...]

    def system(self, name: str) -> PublishedSystem:
        """The system of an id.

        Raises
        ------
        PrivacyEvalError
            There is none.
        """
        for system in self.systems:
            if system.id == name:
                return system
        known = ", ".join(s.id for s in self.systems)
        raise PrivacyEvalError(f"{name}: no published system; there are {known}")

    def colour(self, name: str) -> str | None:
        """Colour of the name of a system; None of one without a colour, and of Orig."""
        families = {s.id: s.family for s in self.systems}
        return self.colours.get(families.get(name, ""))


def published_names() -> list[str]:
    """Names that `load_published` knows."""
    return [stem for stem in _tables() if not stem.endswith(_P_VALUES)]


def load_published(name: str) -> tuple[PublishedValue, ...]:
    """Every value of the tables of a document, in the document's order.

    Parameters
    ----------
    name : str
        One of `published_names()`: `vpc2020`, Tables 2-15 and 18 of the supplement of the
        VoicePrivacy 2020 Challenge; `voice_similarity`, Table 2 of the paper on voice
        similarity matrices.

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
    return parse_values(_text(f"{name}.csv", name, published_names()), f"{name}.csv")


def load_p_values(name: str) -> tuple[PublishedPValue, ...]:
    """Every p-value of a document's significance tests, each pair of systems twice: row
    by row as printed.

    Raises
    ------
    PrivacyEvalError
        A name other than `vpc2020`.
    """
    known = [stem.removesuffix(_P_VALUES) for stem in _tables() if stem.endswith(_P_VALUES)]
    file = f"{name}{_P_VALUES}.csv"
    return parse_p_values(_text(file, name, known), file)


def load_systems(name: str) -> PublishedSystems:
    """The systems of a document, in its order, the baselines first.

    Raises
    ------
    PrivacyEvalError
        A name other than those of `published_names()`.
    """
    plain = yaml.safe_load(_read("systems.yaml"))
    if name not in plain:
        raise _unknown(name, list(plain))
    return from_plain(PublishedSystems, plain[name], f"systems.yaml: {name}")


def parse_values(text: str, where: str) -> tuple[PublishedValue, ...]:
    """Values from CSV text; `where` opens the message of any error."""
    columns = [f.name for f in fields(PublishedValue)]
    return tuple(
        PublishedValue(
            metric=row["metric"],
            unit=row["unit"],
            attack_model=row["attack_model"] or None,
            split=row["split"],
            data_set=row["data_set"],
            gender=row["gender"],
            system=row["system"],
            value=_printed(row["value"], _PRINTED, line),
            table=int(row["table"]),
        )
        for line, row in _rows(text, columns, where)
    )


def parse_p_values(text: str, where: str) -> tuple[PublishedPValue, ...]:
    """P-values from CSV text; `where` opens the message of any error."""
    columns = [f.name for f in fields(PublishedPValue)]
    form = re.compile(f"{FAR_BELOW.pattern}|{_PRINTED.pattern}")
    return tuple(
        PublishedPValue(
            metric=row["metric"],
            system=row["system"],
            other_system=row["other_system"],
            value=_printed(row["value"], form, line),
            table=int(row["table"]),
        )
        for line, row in _rows(text, columns, where)
    )


def _rows(text: str, columns: list[str], where: str) -> list[tuple[str, dict[str, str]]]:
    """The rows of a CSV text of exactly these columns, each with its place."""
    try:
        header, *lines = csv.reader(text.split("\n")) if text else [[]]
    except csv.Error as error:  # a cell of over 128 KiB
        raise PrivacyEvalError(f"{where}: not CSV ({error})") from error
    if lines and not lines[-1]:
        del lines[-1]
    if header != columns:
        raise PrivacyEvalError(f"{where}:1: expected the columns {','.join(columns)}")
    rows = []
    for number, cells in enumerate(lines, start=2):
        place = f"{where}:{number}"
        if len(cells) != len(columns):
            raise PrivacyEvalError(f"{place}: expected {len(columns)} cells, found {len(cells)}")
        row = dict(zip(columns, cells, strict=True))
        if re.fullmatch(r"[0-9]{1,4}", row["table"]) is None:
            raise PrivacyEvalError(f"{place}: no number of a table: {row['table'][:100]!r}")
        rows.append((place, row))
    return rows


def _printed(value: str, form: re.Pattern[str], where: str) -> str:
    if form.fullmatch(value) is None:
        raise PrivacyEvalError(f"{where}: no printed number: {value[:100]!r}")
    return value


def _tables() -> list[str]:
    names = (entry.name for entry in importlib.resources.files(_FOLDER).iterdir())
    return sorted(name.removesuffix(".csv") for name in names if name.endswith(".csv"))


def _text(file: str, name: str, known: list[str]) -> str:
    if name not in known:
        raise _unknown(name, known)
    return _read(file)


def _read(file: str) -> str:
    return importlib.resources.files(_FOLDER).joinpath(file).read_text(encoding="utf-8")


def _unknown(name: str, known: list[str]) -> PrivacyEvalError:
    return PrivacyEvalError(f"{name}: nothing published of this name; known: {', '.join(known)}")
