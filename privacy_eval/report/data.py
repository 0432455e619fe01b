"""Read what tables, figures and the report are made of: results, published results, arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..io.files import digest, read_bytes
from ..protocol.protocol import Protocol, load_protocol
from ..results.arrays import Curves
from ..results.json_store import read_json
from ..results.records import Results, merge
from .values import Cells, cells_from_published, cells_from_results, merge_cells

# The protocol of no results at all.
_USUAL = "vpc2020"

#: Intervals that bars are drawn with.
Whiskers = Literal["speakers", "independent"]


@dataclass(frozen=True)
class ReportSources:
    """Where tables, figures and the report come from.

    Attributes
    ----------
    paths : tuple of Path
        The results files; without any there are no records.
    conf : str or None
        Name or file of a protocol, instead of that of the results.
    published : str
        Name of the published results beside them; "" for none.
    """

    paths: tuple[Path, ...] = ()
    conf: str | None = None
    published: str = ""

    def digest(self) -> str:
        """Digest of the results files, the protocol, and whether there are arrays."""
        files = [
            (digest(read_bytes(path)), path.with_name("records").is_dir()) for path in self.paths
        ]
        if self.conf or not self.paths:
            protocol = load_protocol(self.conf or _USUAL)
        else:  # the same digest whether the protocol of the results is named or not
            protocol = read_json(self.paths[0]).protocol
        return digest(json.dumps([protocol.to_dict(), files]).encode())

    def read(self) -> ReportData:
        """Read all of them.

        Raises
        ------
        PrivacyEvalError
            Damaged results, results under different protocols, unknown published results.
        """
        read = [(read_json(path), path) for path in self.paths]
        if read:
            results = merge([results for results, _ in read])
            results = results.under(load_protocol(self.conf)) if self.conf else results
        else:
            results = Results(load_protocol(self.conf or _USUAL))
        cells = cells_from_results(results)
        if self.published:
            cells = merge_cells([cells, cells_from_published(self.published)])
        return ReportData(results, cells, Curves(read), self)


@dataclass(frozen=True)
class ReportData:
    """What tables, figures and the report are made of.

    Attributes
    ----------
    results : Results
        Of all results files.
    cells : Cells
        Their values, and those of published systems beside them.
    curves : Curves
        The arrays stored beside the results files.
    sources : ReportSources
    whiskers : {"speakers", "independent"}
        What the whiskers of bars are.
    """

    results: Results
    cells: Cells = field(default_factory=lambda: Cells({}, ()))
    curves: Curves = field(default_factory=lambda: Curves(()))
    sources: ReportSources = ReportSources()
    whiskers: Whiskers = "speakers"

    @property
    def protocol(self) -> Protocol:
        """The protocol of the results."""
        return self.results.protocol
