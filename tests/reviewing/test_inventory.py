"""Files with personal data are listed, and only what can be spared is deleted."""

import json
import shutil
from pathlib import Path

import pytest
from reviewing_support import make
from support import cli, ok, refused, snapshot

from privacy_eval.reviewing.inventory import SPARED, inventory, kind_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("inventory"))


@pytest.fixture
def tree(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "tree"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("corpus/S1/a.WAV", "recordings"),
        ("data/x/wav.scp", "lists, keys and transcripts"),
        ("data/libri_dev_trials_f/trials", "lists, keys and transcripts"),
        ("keys-2020/x/trials", "lists, keys and transcripts"),
        ("exp/B1/results-x/ASV-a-b/scores", "scores"),
        ("exp/B1/results-x/ASV-a-b/scores.gz", "scores"),
        ("exp/models/asv_eval/xvect_01709_1/xvect_a/xvector.ark", "vectors"),
        ("exp/a/asv_orig/cosine_out/emb_xvect/s/utt-level/speaker_vectors.pt", "vectors"),
        ("exp/models/asv_eval/xvect_01709_1/xvect_train/plda", "models"),
        ("exp/models/ge2e.onnx", "models"),
        ("results/measures/dnsmos/libri/S1.json", "caches"),
        ("results/records/B1/ASV-a-b.npz", "per-speaker values"),
        ("results/results.json", "per-speaker values"),
        ("results/speaker_key.json", "keys of pseudonyms"),
        ("ratings.csv", "ratings"),
        ("results/records/xvect/cache/scores", "scores"),
        ("exp/models/ge2e/xvect_a/parts/1.json", "vectors"),
        ("results/log/xvectors.1.log", "logs"),
        ("results/similarity_matrices_B1/a.npy", "per-speaker values"),
        ("data/a_anon/wav/.S1.json", "lists, keys and transcripts"),
        ("results/results.txt", None),
        ("exp/B1/results-x/ASR-a/WER", None),
        ("README.md", None),
    ],
)
def test_kinds(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


def test_every_file_is_listed_once_with_its_size(tree: Path) -> None:
    before = snapshot(tree)
    plain = json.loads(ok(cli("inventory", tree, "--format", "json")).out)
    assert snapshot(tree) == before
    sizes = {file["path"]: file["size"] for file in plain["files"]}
    assert len(sizes) == len(plain["files"]) > 50
    assert all((tree / path).stat().st_size == size for path, size in sizes.items())
    kinds = {file["kind"] for file in plain["files"]}
    assert {"vectors", "models", "scores", "keys of pseudonyms", "per-speaker values"} <= kinds
    run = ok(cli("inventory", tree, "--details"))
    assert all(path in run.out for path in sizes)
    assert str(sum(1 for f in plain["files"] if f["kind"] == "vectors")) in run.out


def test_tables_and_report_are_made_after_deletion(tree: Path, tmp_path: Path) -> None:
    listed, _ = inventory(tree)
    results = tree / "results/results.json"
    before = ok(cli("tables", "--results", results)).out
    run = ok(cli("inventory", tree, "--delete"))
    deleted = [file for file in listed if file["kind"] in SPARED]
    assert f"{len(deleted)} files deleted" in run.out and deleted
    left = {file["path"] for file in listed} - {file["path"] for file in deleted}
    assert all((tree / path).is_file() for path in left)
    assert not any((tree / file["path"]).exists() for file in deleted)
    assert {file["kind"] for file in inventory(tree)[0]}.isdisjoint(SPARED)
    assert ok(cli("tables", "--results", results)).out == before
    figures, page = tmp_path / "figures", tmp_path / "report.html"
    ok(cli("figures", "--results", results, "--out", figures, "--format", "png"))
    ok(cli("report", "--results", results, "--figures", figures, "--out", page))
    assert page.stat().st_size > 10_000
    assert "deleted" in ok(cli("inventory", tree, "--delete")).out


def test_links_are_neither_followed_nor_deleted(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside/xvect_a"
    outside.mkdir(parents=True)
    (outside / "xvector.ark").write_bytes(b"x")
    (tree / "exp/models/linked").symlink_to(outside)
    (tree / "exp/models/xvector.ark").symlink_to(outside / "xvector.ark")
    run = ok(cli("inventory", tree, "--delete"))
    assert "2 links not followed" in run.out
    assert (outside / "xvector.ark").exists() and (tree / "exp/models/xvector.ark").is_symlink()


def test_programs_and_recordings_are_left_alone(tree: Path) -> None:
    kept = ["venv/lib/site-packages/x.pth", "corpus/xvect_a/cache/a.wav", "exp/cache/scores"]
    for name in kept:
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_bytes(b"x")
    (tree / "venv/pyvenv.cfg").touch()
    ok(cli("inventory", tree, "--delete"))
    assert all((tree / name).exists() for name in kept)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"x")
    refused(cli("inventory", tmp_path, "--delete"), str(tmp_path), "results.json")
    refused(cli("inventory", tmp_path / "none"), "none")
    assert (tmp_path / "model.onnx").exists()
