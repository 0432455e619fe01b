"""Groups of speakers in verbs on single files: the option, caveats, and rates as measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import PrivacyEvalError, UsageError, abbreviate, counted
from ..options import value
from .options import log

if TYPE_CHECKING:
    from ..io.user_tables import Labels
    from ..report.table import Table

#: Of `plain_groups`, by the column of the labels.
Groups = Mapping[str, Mapping[str, Any]]

_COLUMN = "also by groups of speakers: a column of a CSV, or spk2gender; may be repeated"
#: The option that names the groups.
BY = value("FILE:COLUMN", _COLUMN, action="append")


def read_by(by: Sequence[str]) -> list[Labels]:
    """Read the labels of every `FILE:COLUMN`."""
    from ..io.user_tables import read_labels

    labels: dict[str, Labels] = {}
    for one in map(read_labels, by):
        if one.column in labels:
            raise UsageError(f"--by: the column {one.column!r} is given twice")
        labels[one.column] = one
        for note in one.notes:
            log(f"privacy-eval: {note}")
    return [*labels.values()]


def check_groups(groups: object, labels: Labels, without: Sequence[str]) -> None:
    """Refuse labels of which no speaker has one."""
    if not groups:
        nobody = f"no speaker has a group of {labels.column}"
        named = f"{abbreviate(without)}; it names {abbreviate([*labels.by_id])}"
        raise PrivacyEvalError(f"{labels.path}: {nobody}: {named}")


def group_caveats(speakers: Mapping[str, int], column: str, without: Sequence[str]) -> list[str]:
    """Say what the numbers of groups cannot tell, given the number of speakers of each."""
    from ..metrics.strata import few_speakers

    caveats = few_speakers(speakers)
    if without:
        of = f"{counted(len(without), 'speaker')} without {column}"
        caveats.append(f"{of}, in no group: {abbreviate(without)}")
    return caveats


def plain_groups(
    groups: Mapping[str, Mapping[str, Any]], labels: Labels, without: Sequence[str]
) -> dict[str, Any]:
    """Return the values of groups, each with `n_speakers`, and their caveats as plain values."""
    check_groups(groups, labels, without)
    speakers = {name: of["n_speakers"] for name, of in groups.items()}
    return {"groups": groups, "caveats": group_caveats(speakers, labels.column, without)}


def group_rows(groups: Groups, rates: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the rates of groups as measurements.

    `rates`: their names, and those of the sizes of their galleries, if they have some.
    """
    for column, of_column in groups.items():
        for name, of in of_column["groups"].items():
            counts = {f"n_{k.removeprefix('n_')}": v for k, v in of.items() if isinstance(v, int)}
            for key, size in rates.items():
                low, high = of.get(f"{key}_interval") or (None, None)
                gallery = {"gallery": of[size]} if size else {}
                row = {"group_by": column, "group": name, "metric": key.removesuffix("_equal")}
                yield {**row, **gallery, "value": of[key], "low": low, "high": high, **counts}


def group_tables(groups: Groups, rates: Mapping[str, str], *notes: str) -> list[Table]:
    """Return a table of the rates of `group_rows` by every column."""
    from ..report.single_files import number_table

    tables = []
    for number, (column, of_column) in enumerate(groups.items()):
        caveats = [*of_column["caveats"], "differences between groups are not tested", *notes]
        rows = [*group_rows({column: of_column}, rates)]
        tables.append(number_table(f"groups_{number}", f"By {column}", rows, caveats))
    return tables
