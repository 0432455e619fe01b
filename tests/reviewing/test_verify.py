"""Numbers of somebody's results.json are computed again from the files that it names."""

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reviewing_support import edit, make, row
from support import Run, cli, imported, ok, refused, snapshot, write_outputs

from privacy_eval.io.vectors import read_vectors, write_vectors
from privacy_eval.results.json_store import read_results
from privacy_eval.reviewing.verify import DIFFERS, named_files, state_of, verify

SCORES = "exp/B1/results-demo_B1/ASV-libri_dev_enrolls-libri_dev_trials_f/scores"
VECTORS = "exp/models/asv_eval/xvect_01709_1/xvect_libri_dev_trials_f_B1/xvector.scp"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("verify"), "--speaker-names")


@pytest.fixture
def tree(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "tree"))


def of(tree: Path, *options: object) -> Run:
    return cli("verify", tree / "results/results.json", *options)


def test_unchanged_results_are_reproduced_and_nothing_is_written(tree: Path) -> None:
    before = snapshot(tree)
    plain = json.loads(ok(of(tree, "--format", "json")).out)
    assert snapshot(tree) == before
    assert plain["sentence"].startswith("all ") and plain["files"] == {}
    kinds = ("verification", "recognition", "similarity", "identification", "amounts")
    assert {*kinds} <= plain["kinds"].keys()
    assert all(counts.keys() == {"reproduced"} for counts in plain["kinds"].values())
    stored = read_results(tree / "results/results.json")
    values = sum("value" in r for record in stored.records() for r in record.rows)
    assert sum(n["reproduced"] for n in plain["kinds"].values()) > values > 100


@pytest.mark.parametrize("entry", ["value", "low", "high"])
@pytest.mark.parametrize(
    ("kind", "metric", "step"), [("verification", "eer", 1e-5), ("identification", "linkage", 1e-4)]
)
def test_only_what_is_printed_counts(
    tree: Path, kind: str, metric: str, step: float, entry: str
) -> None:
    """EERs have 3 decimals of a percentage, rates of identification 3 or fewer."""

    def add(amount: float) -> Callable[[dict[str, Any]], None]:
        def change(plain: dict[str, Any]) -> None:
            row(plain, kind, metric)[entry] += amount

        return change

    edit(tree, add(0.4 * step if metric == "eer" else 0.04 * step))
    assert of(tree).code == 0
    edit(tree, add(step))
    run = of(tree, "--format", "csv")
    assert run.code == 1
    wrong = [line for line in run.out.splitlines() if "differs" in line]
    assert len(wrong) == 1 and metric in wrong[0] and entry in wrong[0]


def test_an_edited_score_file_is_told_with_its_numbers(tree: Path) -> None:
    lines = (tree / SCORES).read_text().splitlines()
    (tree / SCORES).write_text(
        "\n".join(f"{line.rsplit(' ', 1)[0]} {-n}" for n, line in enumerate(lines))
    )
    found = verify(tree / "results/results.json", tree)
    assert not found.passed
    assert found.files == {SCORES: "with another digest"}
    places = {(n.kind, n.row["name"]) for n in found.numbers if n.state == DIFFERS}
    assert ("verification", Path(SCORES).parent.name) in places
    assert {kind for kind, _ in places} == {"verification"}


def test_files_with_the_same_numbers_pass(tree: Path) -> None:
    """A comment of spaces changes the digest, but no number."""
    text = (tree / SCORES).read_text()
    (tree / SCORES).write_text(text.replace(" ", "  ", 1))
    run = ok(of(tree))
    assert "1 file with another digest" in run.out


@pytest.mark.parametrize("format", ["text", "csv", "json", "latex", "markdown"])
def test_a_missing_score_file_is_named(tree: Path, format: str) -> None:
    (tree / SCORES).unlink()
    run = of(tree, "--format", format)
    assert run.code == 1 and not run.err
    assert "file missing" in run.out or "missing" in run.out


@pytest.mark.parametrize(
    "path", ["../../../etc/passwd", "/etc/passwd", "exp/../../secret", "exp/link"]
)
def test_paths_do_not_lead_out(tree: Path, path: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a b 1\n")
    (tree / "exp/link").symlink_to(tmp_path / "secret")

    def change(plain: dict[str, Any]) -> None:
        for record in plain["verification"]:
            inputs = record["provenance"]["inputs"]
            if inputs["scores"]["path"] == SCORES:
                inputs["scores"]["path"] = path

    edit(tree, change)
    run = of(tree)
    assert run.code == 1 and f"outside the folder ({path})" in run.out
    assert "secret" not in run.out or path == "exp/../../secret"


@given(st.text(max_size=30))
def test_no_path_is_found_outside(folder: Path, path: str) -> None:
    """A path is in place only if what it leads to is below the folder."""
    inner = folder / "inner"
    inner.mkdir(exist_ok=True)
    (inner / "a").touch()
    if not state_of(path, inner):
        assert os.path.realpath(inner / path).startswith(f"{os.path.realpath(inner)}{os.sep}")


def test_results_that_name_no_file_are_not_checked(tmp_path: Path) -> None:
    source = Path("tests/data/golden/results/vpc2020_B1_RESULTS_baseline")
    write_outputs(imported(source), tmp_path)

    def change(plain: dict[str, Any]) -> None:
        for records in plain.values():
            for record in records if isinstance(records, list) else ():
                record["provenance"] = {}

    (tmp_path / "results").mkdir(exist_ok=True)
    shutil.copy(tmp_path / "results.json", tmp_path / "results")
    edit(tmp_path, change)
    run = ok(of(tmp_path))
    assert "none of" in run.out and "name no file" in run.out


def test_results_that_contradict_themselves_are_told_so(tree: Path) -> None:
    def above_its_metric(plain: dict[str, Any]) -> None:
        row(plain, "verification", "cllr")["value"] = 0.0

    edit(tree, above_its_metric)
    refused(of(tree), "cllr_min", "above cllr 0", "contradicts itself", "compared")


def test_other_formats_are_refused(tree: Path) -> None:
    refused(of(tree, "--files", tree / "none"), "none", "no such folder")
    edit(tree, lambda plain: plain.update(format="privacy_eval results 5"))
    refused(of(tree), "results.json", "privacy_eval results 6")
    refused(cli("verify", tree / "none.json"), "none.json")


def test_vectors_of_another_encoder_are_told(tree: Path) -> None:
    scp = tree / VECTORS
    vectors = read_vectors(scp, tree=tree)
    other = np.random.default_rng(0).normal(size=(len(vectors.ids), 3)).astype(np.float32)
    write_vectors(scp, list(vectors.ids), other, tree=tree)
    run = of(tree)
    assert run.code == 1 and "cannot be computed" in run.out and "dimension" in run.out


def test_numbered_speakers_are_checked_by_who_has_the_key(tmp_path: Path) -> None:
    tree = make(tmp_path)
    before = snapshot(tree)
    assert json.loads(ok(of(tree, "--format", "json")).out)["sentence"].startswith("all ")
    assert snapshot(tree) == before
    key = tree / "results/speaker_key.json"
    other = json.loads(key.read_text()) | {"id": "of others"}
    key.write_text(json.dumps(other))
    for _ in range(2):
        run = ok(of(tree))
        assert "of numbered speakers" in run.out and "differ" not in run.out
        key.unlink(missing_ok=True)


def test_scores_that_results_leave_out_are_named(tree: Path) -> None:
    def remove(plain: dict[str, Any]) -> None:
        del plain["verification"][0]

    json_ = ("--format", "json")
    assert ok(cli("verify", tree, *json_)).out == ok(of(tree, *json_)).out
    edit(tree, remove)
    plain = json.loads(ok(of(tree, *json_)).out)
    assert len(plain["left_out"]) == 1
    assert "1 score file without a number" in plain["sentence"]


def test_files_are_found_elsewhere(tree: Path, tmp_path: Path) -> None:
    """The results may be mailed without their tree, and be checked with one."""
    alone = tmp_path / "mail/results.json"
    alone.parent.mkdir()
    shutil.copy(tree / "results/results.json", alone)
    assert ok(cli("verify", alone, "--files", tree)).out.count("all ") == 1
    run = cli("verify", alone, "--files", alone.parent)
    assert run.code == 1 and "none of" in run.out


def test_named_files_of_others_are_read_with_care() -> None:
    class Odd:
        provenance = {"inputs": {"scores": {"path": 3, "sha256": "x"}, "WER": "abc", "a": None}}

    assert list(named_files(Odd())) == [("WER", "WER", "abc")]  # type: ignore[arg-type]


def test_a_number_is_within_half_a_digit_by_hand() -> None:
    from privacy_eval.reviewing.verify import _alike

    half = 0.5e-5
    assert _alike("value", 0.10000, 0.100004, half, "eer")
    assert not _alike("value", 0.10000, 0.10001, half, "eer")
    assert _alike("high", math.inf, math.inf, half, "eer")
    assert not _alike("high", math.inf, 3.0, half, "eer")
    assert not _alike("low", None, 0.1, half, "eer")
    assert not _alike("n_target", 144, 145, half, "eer")
