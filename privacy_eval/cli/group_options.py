"""Groups of speakers in verbs on single files: the option, caveats, and tables of rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import PrivacyEvalError, UsageError, abbreviate, counted
from ..options import value
from .options import log

if TYPE_CHECKING:
    from ..io.user_tables import Labels


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
    from ..metrics.groups import few_speakers

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


def print_rates(
    column: str, plain: Mapping[str, Any], counts: Mapping[str, str], rates: Mapping[str, str]
) -> None:
    """Print the values of `plain_groups` as a table.

    Parameters
    ----------
    counts, rates : mapping of str to str
        Headings by key; the bounds of a rate are in `<key>_interval`, if there are any.
    """
    from tabulate import tabulate

    from ..metrics import METRICS

    percent = METRICS["eer"]

    def rate(of: Mapping[str, Any], key: str) -> str:
        if of[key] is None:
            return "n/a"
        return f"{percent.format(of[key])} {percent.interval(of.get(f'{key}_interval'))}".rstrip()

    rows = [
        (name, *("n/a" if of[k] is None else of[k] for k in counts), *(rate(of, k) for k in rates))
        for name, of in plain["groups"].items()
    ]
    print(f"\n# by {column}")
    heads = (column, *counts.values(), *rates.values())
    print(tabulate(rows, headers=heads, disable_numparse=True))
    for caveat in plain["caveats"]:
        print(f"caveat: {caveat}")
    print("caveat: differences between groups are not tested")
