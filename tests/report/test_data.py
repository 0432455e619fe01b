"""Sources of tables, figures and the report."""

from __future__ import annotations

from pathlib import Path

from support import B1, imported

from privacy_eval.report.data import ReportSources
from privacy_eval.results.json_store import to_json


def test_digest_is_the_same_whether_the_protocol_is_named_or_not(tmp_path: Path) -> None:
    """The recipe names it to draw figures; a report without --conf shows them."""
    path = tmp_path / "results.json"
    path.write_text(to_json(imported(B1)))
    assert ReportSources((path,)).digest() == ReportSources((path,), "vpc2020").digest()
    assert ReportSources((path,)).digest() != ReportSources((path,), "vpc2022").digest()
