"""Read what tables, figures and the report are made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..io.files import digest, read_bytes
from ..protocol.protocol import Protocol, load_protocol
from ..results.arrays import Curves
from ..results.json_store import read_json
from ..results.records import Results, merge
from .values import Cells, cells_of_published, cells_of_results, merged

# The protocol of no results at all.
_USUAL = "vpc2020"


@dataclass(frozen=True)
class ReportData:
    """What tables, figures and the report are made of.

    Attributes
    ----------
    results : Results
        Of all results files; without any, no records under a protocol.
    cells : Cells
        Their values, and those of published systems beside them.
    curves : Curves
        The arrays stored beside the results files.
    published : str
        Name of the published results; "" for none.
    paths : tuple of Path
        The results files.
    """

    results: Results
    cells: Cells = field(default_factory=lambda: Cells({}, ()))
    curves: Curves = field(default_factory=lambda: Curves(()))
    published: str = ""
    paths: tuple[Path, ...] = ()

    @property
    def protocol(self) -> Protocol:
        """The protocol of the results."""
        return self.results.protocol

    def digest(self) -> str:
        """Digest of the results files, the protocol, and whether there are arrays."""
        sources = [
            (digest(read_bytes(path)), (path.parent / "records").is_dir()) for path in self.paths
        ]
        return digest(json.dumps([self.protocol.to_dict(), sources]).encode())


def read_report_data(
    paths: Sequence[Path], *, conf: str | None = None, published: str | None = None
) -> ReportData:
    """Read results files, and published results beside them.

    Parameters
    ----------
    paths : sequence of Path
        May be empty.
    conf : str, optional
        Name or file of a protocol, instead of that of the results.
    published : str, optional
        Name of published results.

    Raises
    ------
    PrivacyEvalError
        Damaged results, results under different protocols, unknown published results.
    """
    sources = [(read_json(path), path) for path in paths]
    results = merge([r for r, _ in sources]) if sources else Results(load_protocol(conf or _USUAL))
    if sources and conf:
        results = results.under(load_protocol(conf))
    cells = cells_of_results(results)
    if published:
        cells = merged([cells, cells_of_published(published)])
    return ReportData(results, cells, Curves(sources), published or "", tuple(paths))
