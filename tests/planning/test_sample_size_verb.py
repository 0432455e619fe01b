"""sample-size: tables, rows and pictures; pilots with and without their files; bad input."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from listening_support import simulated as simulated_ratings
from PIL import Image
from support import B1, cli, csv_rows, imported, ok, refused, scored

from privacy_eval.results.json_store import to_json
from privacy_eval.results.records import Results

#: A simulation that takes a moment.
SMALL = ("--speakers", "4,6", "--utterances", "2", "--listeners", "3,30")


def rows_of(*arguments: object) -> list[dict[str, Any]]:
    run = ok(cli("sample-size", *arguments, "--format", "json"))
    rows: list[dict[str, Any]] = json.loads(run.out)["rows"]
    return rows


def pilot(folder: Path, results: Results) -> Path:
    path = folder / "results.json"
    path.write_text(to_json(results))
    return path


def with_intervals(results: Results, speakers: int = 20) -> Results:
    """Results whose EERs have intervals 10 points wide, without replicates."""
    records = []
    for record in results.verification:
        eers = {v: {"eer": of["eer"]} for v, of in record.by_variant().items()}
        bounds = {v: {"eer": (0.2, 0.3)} for v in eers}
        counts = {"n_target": 400, "n_nontarget": 4000, "n_speakers": speakers}
        records.append(scored(record, speaker_intervals=bounds, **counts))
    return replace(results, verification=tuple(records))


def test_all_metrics_are_simulated(tmp_path: Path) -> None:
    run = ok(cli("sample-size", *SMALL, "--figure", tmp_path / "sizes.png"))
    names = ("EER, %", "Linkability", "DeID", "WER, %", "mean opinion score")
    assert all(name in run.out for name in names)
    assert "correlation of two systems" in run.out and "simulated draws" in run.out
    assert run.out.count("80 % needs") == 5
    with Image.open(tmp_path / "sizes.png") as picture:
        assert picture.width > 1000
    rows = rows_of(*SMALL)
    sizes = [row.get("n_speakers", row.get("n_listeners")) for row in rows]
    assert sizes == [4] * 4 + [6] * 4 + [3, 30]
    assert all(row["width_low"] <= row["width"] <= row["width_high"] for row in rows)
    assert rows == rows_of(*SMALL) != rows_of(*SMALL, "--seed", 1)


def test_formats_and_pictures(tmp_path: Path) -> None:
    options = (*SMALL, "--metrics", "wer,opinion")
    printed = csv_rows(ok(cli("sample-size", *options, "--format", "csv")).out)
    assert [row["metric"] for row in printed] == ["wer", "wer", "opinion", "opinion"]
    for suffix, begins in (("pdf", b"%PDF"), ("tex", b"%")):
        file = tmp_path / f"sizes.{suffix}"
        ok(cli("sample-size", *options, "--figure", file, "--format", "markdown"))
        assert file.read_bytes().startswith(begins)


def test_intervals_of_a_pilot_without_its_files_shrink_with_the_root(tmp_path: Path) -> None:
    path = pilot(tmp_path, with_intervals(imported(B1)))
    rows = rows_of(path, "--speakers", "20,80")
    assert [(row["metric"], row["n_speakers"]) for row in rows] == [("eer", 20), ("eer", 80)]
    # Quantiles of t with 19 and 79 degrees of freedom: 2.0930 and 1.9905.
    assert rows[0]["width"] == pytest.approx(0.1)
    assert rows[1]["width"] == pytest.approx(0.1 / 2 * 1.9905 / 2.0930, rel=1e-4)
    run = ok(cli("sample-size", path))
    assert "records/ has no files" in run.out and "(assumed)" in run.out
    assert "WER cannot be planned" in run.out and "opinion" not in run.out
    refused(cli("sample-size", path, "--metrics", "eer,deid"), "DeID", "stages 7, 8")


def test_pilots_that_tell_nothing(tmp_path: Path) -> None:
    results = imported(B1)
    message = ("results.json", "--bootstrap 1000")
    refused(cli("sample-size", pilot(tmp_path, results)), *message)
    single = with_intervals(results, speakers=1)
    refused(cli("sample-size", pilot(tmp_path, single)), *message, "two speakers")
    alike = [
        scored(record, speaker_intervals={v: {"eer": (0.0, 0.0)} for v in record.by_variant()})
        for record in with_intervals(results).verification
    ]
    path = pilot(tmp_path, replace(results, verification=tuple(alike)))
    refused(cli("sample-size", path), "does not vary")
    refused(cli("sample-size", tmp_path / "none.json"), "none.json")


def test_ratings_of_a_pilot(tmp_path: Path) -> None:
    places = [("libri", "f")]
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(simulated_ratings("Original", "B1", "B2", places=places, speakers=6))
    options = ("--metrics", "opinion", "--ratings", ratings, "--listeners", "10,40")
    few, many = rows_of(*options)
    assert few["width"] > many["width"] and few["power"] < many["power"]
    assert few["width_low"] < few["width"] < few["width_high"]
    lines = ratings.read_text().splitlines()
    of_one = [line for line in lines[1:] if line.startswith(lines[1].split(",")[0])]
    ratings.write_text("\n".join([lines[0], *of_one, ""]))
    refused(cli("sample-size", *options), "ratings.csv", "one listener")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--speakers", "1"), "--speakers: expected 3 or more"),
        (("--speakers", "10,2"), "--speakers"),
        (("--difference", "0"), "--difference: expected more than 0, up to 50"),
        (("--difference", "51"), "--difference"),
        (("--eer", "60"), "--eer"),
        (("--metrics", "eer,mos"), "mos"),
        (("--utterances", "400", "--speakers", "200"), "--utterances: at most 250"),
        (("--rated-speakers", "2"), "--rated-speakers"),
        (("--figure", "sizes.svg"), "pdf, png or tex"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], message: str) -> None:
    refused(cli("sample-size", *options), message, code=2)


def test_a_pilot_takes_the_place_of_the_simulator(tmp_path: Path) -> None:
    path = pilot(tmp_path, imported(B1))
    refused(cli("sample-size", path, "--eer", "20"), "--eer goes without", code=2)
    (tmp_path / "ratings.csv").write_text("nothing\n")
    refused(cli("sample-size", "--ratings", tmp_path / "ratings.csv"), "ratings.csv")
