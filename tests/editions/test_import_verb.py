"""The verb `import`: results files in, and out again by `export`."""

from __future__ import annotations

import json
from pathlib import Path

from support import ANON, B1, B2, ORIG, SUMMARY, Run, cli


def test_import_and_export(tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    also = f".orig={ORIG}"
    run = cli("import", ANON, "--system", "M", "--conf", "vpc2022", "--also", also, "--out", out)
    assert run.err == (
        f"{out}: M, protocol vpc2022: 72 of 72 conditions, "
        "32 word error rates, 12 pitch correlations, 12 voice similarities\n"
    )
    assert (run.code, run.out) == (0, "")
    assert cli("export", out).out.encode() == ANON.read_bytes()
    assert cli("export", out, "--results-folder", ".orig").out.encode() == ORIG.read_bytes()
    assert cli("export", out, "--out", tmp_path / "again.txt") == Run(0, "", "")
    assert (tmp_path / "again.txt").read_bytes() == ANON.read_bytes()
    run = cli("export", out, "--format", "averages")
    averages = run.out.splitlines()
    assert "Average WER test orig: undefined" in run.err
    assert set(averages) <= set(SUMMARY.read_text().splitlines())
    assert len(averages) == 10
    assert len(cli("export", out, "--format", "csv").out.splitlines()) == 1 + 584
    origin = json.loads(out.read_text())["verification"][0]["provenance"]["imported_from"]
    assert origin["name"] == ANON.name


def test_errors_of_import_write_nothing(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    cases = (
        ((SUMMARY, "--system", "x"), f"{SUMMARY}: protocol vpc2020 has no results folder"),
        ((tmp_path / "no", "--system", "x"), f"{tmp_path}/no: cannot be read"),
        ((B1, "--system", "x", "--conf", "no"), "no: unknown protocol"),
        ((B1, "--system", "x", "--also", f".orig={B2}"), "vpc2020 has no results folder"),
        ((B1, "--system", "x", "--anon-suffix", "_x"), "matches no condition or set"),
    )
    for arguments, message in cases:
        run = cli("import", *arguments, "--out", out)
        assert (run.code, run.out) == (2 if "--conf" in arguments else 1, "")
        assert message in run.err
        assert not out.exists()


def test_one_results_folder_of_a_protocol_is_imported_alone(tmp_path: Path) -> None:
    out = tmp_path / "o.json"
    common = ("--system", "M", "--conf", "vpc2022", "--out", out)
    assert cli("import", ORIG, *common, "--results-folder", ".orig").code == 0
    records = json.loads(out.read_text())["verification"]
    assert {r["asv_model"] for r in records} == {"original"}
    assert cli("export", out, "--results-folder", ".orig").out.encode() == ORIG.read_bytes()
    assert "EER dev anon" not in cli("export", out, "--format", "averages").out


def test_one_system_of_a_shared_results_txt(tmp_path: Path) -> None:
    shared = tmp_path / "results.txt"
    shared.write_text(f"# one\n{B1.read_text()}# two\n{B2.read_text()}")
    for name, path in (("one", B1), ("two", B2)):
        assert cli("import", shared, "--system", name, "--out", tmp_path / "r.json").code == 0
        assert cli("export", tmp_path / "r.json").out == path.read_text()
    run = cli("import", shared, "--system", "three", "--out", tmp_path / "no.json")
    assert (run.code, run.out) == (2, "")
    assert run.err.endswith(f"{shared}: no system 'three'; available: one, two\n")
