"""Results that print as tables, with what must be known about their values below."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import missing_library
from .registry import METRICS

if TYPE_CHECKING:
    import pandas as pd

#: What chance alone reaches, from simulations of 50 to 1000 targets: docs/metrics.md.
CHANCE_OF_ZEBRA = (
    "Worst-case disclosure of scores without any information: tag B in 12 to 13 % of score sets "
    "(95 % quantile 1.3 to 1.6), so tag A or a low B is no evidence of a leak"
)


def bias_notes(metrics: Sequence[str]) -> list[str]:
    """Return a note on the bootstrap intervals of metrics that repeated trials bias, if any.

    Parameters
    ----------
    metrics : sequence of str
        In `METRICS`.

    Returns
    -------
    list of str
    """
    names = [METRICS[key].name for key in metrics if METRICS[key].repeats_matter]
    return [
        f"Intervals of {' and '.join(names)} are biased to the less private side and need not "
        "include the value: bootstrap replicates repeat trials, which counts as more evidence; "
        "most of it cancels in differences"
    ][: len(names)]


class Printed:
    """A result that is a table where it is printed: as text, as HTML in a notebook, in LaTeX."""

    @property
    def heading(self) -> str:
        """What the table is of."""
        return ""

    @property
    def notes(self) -> list[str]:
        """What must be known about the values."""
        return []

    def to_rows(self) -> list[dict[str, Any]]:
        """List the values as numbers in their units: rates are fractions."""
        raise NotImplementedError

    def cells(self) -> list[dict[str, str]]:
        """Format the values as rows of the printed table: numbers in four digits."""
        rows = self.to_rows()
        given = {name: None for row in rows for name, value in row.items() if value is not None}
        return [{name: _text(row[name]) for name in given} for row in rows]

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame of pandas, which must be installed, of `to_rows`."""
        try:
            import pandas as pd
        except ImportError as error:
            raise missing_library("data frames", "pandas") from error
        return pd.DataFrame(self.to_rows())

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self.heading, self._table("plain"), *self.notes)))

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note, quote=False)}</li>" for note in self.notes)
        return f"<p>{html.escape(self.heading)}</p>{self._table('html')}<ul>{notes}</ul>"

    def _repr_latex_(self) -> str:
        return self._table("latex_longtable")

    def _table(self, form: str) -> str:
        from tabulate import tabulate

        return tabulate(self.cells(), headers="keys", tablefmt=form, disable_numparse=True)


def _text(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
