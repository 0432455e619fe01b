"""Sources of tables, figures and the report."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import B1, B2, imported, scored

from privacy_eval import PrivacyEvalError
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.report.comparison_tables import comparison_tables
from privacy_eval.results.arrays import Arrays, StoredArrays
from privacy_eval.results.json_store import to_json
from privacy_eval.results.records import Record, merge


def test_digest_is_the_same_whether_the_protocol_is_named_or_not(tmp_path: Path) -> None:
    """The recipe names it to draw figures; a report without --conf shows them."""
    path = tmp_path / "results.json"
    path.write_text(to_json(imported(B1)))
    assert ReportSources((path,)).digest() == ReportSources((path,), "vpc2020").digest()
    assert ReportSources((path,)).digest() != ReportSources((path,), "vpc2022").digest()


def test_selected_systems_are_shown_in_the_order_asked_for(tmp_path: Path) -> None:
    results = merge([imported(B1), imported(B2, system="B2")])
    path = tmp_path / "results.json"
    path.write_text(to_json(results), encoding="utf-8")
    shown = read_report_data(ReportSources((path,), systems=("B2", "B1")))
    assert shown.results.systems == ["B2", "B1"]
    tables = comparison_tables(shown.means)
    titles = [column.title for column in tables[0].columns]
    assert titles.index("B2") < titles.index("B1")
    (one,) = read_report_data(ReportSources((path,), systems=("B1",))).results.systems
    assert one == "B1"
    with pytest.raises(PrivacyEvalError, match="B3"):
        read_report_data(ReportSources((path,), systems=("B3",)))


def test_another_variant_than_the_protocols_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(to_json(imported(B1)), encoding="utf-8")
    usual, exact = (ReportSources((path,), variant=v) for v in (None, "exact"))
    assert usual.digest() != exact.digest()
    assert read_report_data(exact).protocol.variant == "exact"
    assert read_report_data(usual).protocol.variant != "exact"


def test_published_results_alone_have_their_own_protocol() -> None:
    shown = read_report_data(ReportSources(published="vpc2024"))
    assert shown.protocol.name == "vpc2024" and shown.cells.systems
    assert read_report_data(ReportSources(published="voice_similarity")).protocol.name == "vpc2020"


class CountedReads(StoredArrays):
    """Replicates that were never written, and how often they were read."""

    def __init__(self) -> None:
        super().__init__(())
        self.reads = 0

    def of(self, record: Record) -> Arrays:
        self.reads += 1
        return {
            "bootstrap_challenge_eer": np.linspace(0.1, 0.2, 5),
            "bootstrap_exact_eer": np.linspace(0.3, 0.4, 5),
            "bootstrap_challenge_cllr_min": np.linspace(0.5, 0.6, 5),
            "bootstrap_design": np.array("d"),
            "bootstrap_seed": np.array(0),
            "bootstrap_speakers": np.array(30),
        }


def test_replicates_of_an_average_are_read_once() -> None:
    results = imported(B1, system="M")
    intervals = {"challenge": {"eer": (0.1, 0.2)}}
    records = tuple(scored(r, speaker_intervals=intervals) for r in results.verification)
    results, curves = replace(results, verification=records), CountedReads()
    data = ReportData(results, cells_from_results(results), curves)
    first = data.means.of("eer", "lazy-informed", "dev", "M")
    assert first["replicates"] is not None
    assert curves.reads == len(first["parts"]) == 6
    other = data.means.of("cllr_min", "lazy-informed", "dev", "M")
    assert other["replicates"].values["cllr_min"].mean() > 0.5
    assert curves.reads == 6
    assert data.means.of("eer", "lazy-informed", "dev", "M")["low"] == first["low"]
    assert curves.reads == 6
    other = data.means.of("eer", "lazy-informed", "test", "M")
    assert other["replicates"] is not None and other["value"] != first["value"]
    assert curves.reads == 12
    for _ in range(2):
        assert data.lacking_replicates.keys() == {"M"}
    assert curves.reads == len(records) == 36


class ByGender(CountedReads):
    """Three replicates: of women 0.1, 0.2, 0.3, of men 0.3, 0.4, 0.5."""

    def of(self, record: Record) -> Arrays:
        first = 0.1 if record.condition.gender == "f" else 0.3
        values = first + np.array([0.0, 0.1, 0.2])
        return {**super().of(record), "bootstrap_challenge_eer": values}


def test_replicates_of_an_average_have_the_weights_of_genders() -> None:
    """Women weigh 3 and men 1, in all data sets: the first one is (3 * 0.1 + 0.3) / 4 = 0.15."""
    results = imported(B1, system="M")
    protocol = replace(results.protocol, gender_weights={"f": 3, "m": 1})
    results = replace(results, protocol=protocol)
    data = ReportData(results, cells_from_results(results), ByGender())
    found = data.means.of("eer", "lazy-informed", "dev", "M")["replicates"]
    assert found.values["eer"] == pytest.approx([0.15, 0.25, 0.35])


def test_results_files_are_read_once(tmp_path: Path) -> None:
    """What a report shows is what its digest is of, though the file changes in between."""
    path = tmp_path / "results.json"
    path.write_text(to_json(imported(B1)))
    sources = ReportSources((path,))
    assert sources.digest() == sources.digest()
    path.write_text("{}")
    assert read_report_data(sources).results == imported(B1)


def test_published_results_of_another_edition_are_noted() -> None:
    """But not the similarity paper's, which are of 2020."""

    def notes(published: str, conf: str) -> list[str]:
        cells = read_report_data(ReportSources((), conf, published=published)).cells
        return [note for note in cells.notes if "another edition" in note]

    assert "--published vpc2024" in notes("vpc2020", "vpc2024")[0]
    assert notes("vpc2020", "vpc2020") == notes("voice_similarity", "vpc2020") == []
