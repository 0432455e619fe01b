"""The verb xvectors: from audio to x-vectors, against Kaldi's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support import ROOT, Run, cli, ok, refused, write

from privacy_eval.io.vectors import read_vectors
from privacy_eval.speech.xvector import save_vectors

SPEECH = ROOT / "tests" / "data" / "speech"
NETWORKS = SPEECH / "networks"

pytest.importorskip("soundfile", reason="the extra speech is not installed")


def golden(name: str) -> dict[str, np.ndarray]:
    lines = (line.split() for line in (NETWORKS / name).read_text().splitlines())
    return {words[0]: np.array(words[2:-1], dtype=float) for words in lines}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """All golden audio as a data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    files = {path.stem: path for path in sorted((SPEECH / "audio").iterdir())}
    (folder / "wav.scp").write_text("".join(f"{n} {p}\n" for n, p in files.items()))
    (folder / "utt2spk").write_text("".join(f"{n} {n.split('-')[0]}\n" for n in files))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "extractor"
    folder.mkdir()
    shutil.copy(NETWORKS / "small.final.raw", folder / "final.raw")
    shutil.copy(NETWORKS / "extract.config", folder)
    return folder


def test_vectors_equal_those_of_kaldi(tmp_path: Path, data: Path, model: Path) -> None:
    out = tmp_path / "out"
    ok(cli("xvectors", "--data", data, "--model", model, "--out", out, "--allow-outside"))
    vectors = read_vectors(out / "xvector.scp", tree=Path())
    expected = golden("small.speech.txt")
    found = dict(zip(vectors.ids, vectors.matrix, strict=True))
    unread_by_kaldi = {"edge-float32", "edge-pcm24", "edge-pcm8"}
    read = {n: v for n, v in expected.items() if n in (data / "wav.scp").read_text()}
    assert set(found) - unread_by_kaldi == set(read)
    for name, vector in read.items():
        limit = 1e-3 if name.startswith("edge") else 1e-4
        assert np.linalg.norm(found[name] - vector) < limit * np.linalg.norm(vector), name
    speakers = read_vectors(out / "spk_xvector.scp", tree=Path())
    assert speakers.ids == tuple(sorted({name.split("-")[0] for name in found}))
    for name, mean in zip(speakers.ids, speakers.matrix, strict=True):
        own = [row for n, row in found.items() if n.split("-")[0] == name]
        np.testing.assert_allclose(mean, np.mean(own, axis=0), rtol=1e-4, atol=1e-5)


def test_speaker_means_equal_those_of_kaldi(tmp_path: Path) -> None:
    vectors = {n: v for n, v in golden("small.speech.txt").items() if not n.startswith("edge")}
    (tmp_path / "utt2spk").write_text("".join(f"{n} {n.split('-')[0]}\n" for n in vectors))
    matrix = np.stack(list(vectors.values())).astype(np.float32)
    count = save_vectors(tmp_path, list(vectors), matrix, tmp_path / "utt2spk", tree=tmp_path)
    found = read_vectors(tmp_path / "spk_xvector.scp", tree=tmp_path)
    expected = golden("small.spk_mean.txt")
    assert count == 2 and sorted(expected) == sorted(found.ids)
    for name, row in zip(found.ids, found.matrix, strict=True):
        np.testing.assert_allclose(row, expected[name], rtol=2e-6, atol=2e-6)


def test_unvoiced_utterances_are_named(tmp_path: Path, data: Path, model: Path) -> None:
    out = tmp_path / "out"
    run = cli("xvectors", "--data", data, "--model", model, "--out", out, "--allow-outside")
    silent = [n for n in ("edge-constant", "edge-quietnoise", "edge-silence1s") if n in run.err]
    assert silent
    assert f"no voiced frames: {len(silent)} ({', '.join(silent)})" in run.err
    total = len((data / "wav.scp").read_text().splitlines())
    assert f"of {total} utterances" in run.out


def test_only_unvoiced_utterances_are_an_error(tmp_path: Path, data: Path, model: Path) -> None:
    lines = (data / "wav.scp").read_text().splitlines(keepends=True)
    (data / "wav.scp").write_text("".join(n for n in lines if n.startswith("edge-silence")))
    out = tmp_path / "out"
    run = cli("xvectors", "--data", data, "--model", model, "--out", out, "--allow-outside")
    assert run.code == 1
    assert "no utterance has an x-vector" in run.err
    assert not out.exists()


def test_network_file_and_job_splits_give_the_same_bytes(tmp_path: Path, data: Path) -> None:
    """Any number of BLAS threads, and utterances one by one."""
    lines = [
        line
        for line in (data / "wav.scp").read_text().splitlines(keepends=True)
        if "edge" not in line
    ]

    def vectors(name: str, chosen: list[str], threads: str) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "wav.scp").write_text("".join(chosen))
        shutil.copy(data / "utt2spk", folder)
        words = ["xvectors", "--data", folder, "--network", NETWORKS / "nobn.final.raw"]
        words += ["--out", folder, "--allow-outside"]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "privacy_eval", *map(str, words)]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        found = read_vectors(folder / "xvector.scp", tree=Path())
        return {n: row.tobytes() for n, row in zip(found.ids, found.matrix, strict=True)}

    whole = vectors("whole", lines, "1")
    parts = [vectors(f"part{n}", lines[n::3], "2") for n in range(3)]
    assert whole == {name: row for part in parts for name, row in part.items()}
    assert len(whole) == len(lines)


def test_usage_and_missing_model(tmp_path: Path, data: Path) -> None:
    refused(cli("xvectors", "--data", data, "--out", tmp_path), "--model or --network", code=2)
    run = cli("xvectors", "--data", data, "--out", tmp_path / "o", "--model", tmp_path)
    assert run.code == 1
    assert "no file final.raw" in run.err


def test_utterance_without_speaker_is_refused(tmp_path: Path, data: Path, model: Path) -> None:
    lines = (data / "utt2spk").read_text().splitlines(keepends=True)
    (data / "utt2spk").write_text("".join(n for n in lines if not n.startswith("3005")))
    out = tmp_path / "out"
    run = cli("xvectors", "--data", data, "--model", model, "--out", out, "--allow-outside")
    assert run.code == 1
    assert "no speaker of 3 utterances" in run.err and "3005-" in run.err
    assert not out.exists()


@pytest.fixture
def noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of half a second of noise, and of too little for a frame."""
    monkeypatch.chdir(tmp_path)
    samples = (np.random.default_rng(0).normal(size=8000) * 1000).astype(np.int16)
    soundfile.write("a.wav", samples, 16000)
    soundfile.write("b.wav", samples[:50], 16000)
    write(tmp_path / "noise/utt2spk", "u1 s1\nu2 s1\nu3 s1\n")
    write(tmp_path / "noise/wav.scp", "u1 a.wav\nu2 b.wav\n")
    return tmp_path / "noise"


def extract(noise: Path, model: Path, *options: object) -> Run:
    return cli("xvectors", "--data", noise, "--model", model, "--out", "out", *options)


def test_option_files(noise: Path, model: Path) -> None:
    mfcc, vad = noise / "mfcc.conf", write(noise / "vad.conf", "--vad-energy-threshold=99\n")
    assert extract(noise, model).code == 0
    refused(extract(noise, model, "--vad-config", vad), "no utterance has an x-vector")
    run = extract(noise, model, "--mfcc-config", write(mfcc, "--num-ceps=5\n"))
    assert run.code == 1 and "expected 30 columns" in run.err
    run = extract(noise, model, "--mfcc-config", write(mfcc, "--num-ceps=5\n--liver=22\n"))
    assert run.code == 1 and f"{mfcc}:2: unknown option" in run.err


def test_dither_is_reproducible_by_seed(noise: Path, model: Path) -> None:
    def ark(*options: object) -> bytes:
        ok(extract(noise, model, *options))
        return Path("out/xvector.ark").read_bytes()

    assert ark("--dither", 1) == ark("--dither", 1, "--seed", 0) != ark("--dither", 1, "--seed", 1)
    assert ark() == ark("--dither", 0) == ark("--seed", 1) != ark("--dither", 1)
    assert extract(noise, model, "--dither", "-1").code == 2


def test_damaged_speech_is_refused_or_left_out_on_request(noise: Path, model: Path) -> None:
    write(noise / "wav.scp", "u1 a.wav\nu2 b.wav\nu3 none.wav\n")
    refused(extract(noise, model), "wav.scp:3: u3 (none.wav)")
    assert not Path("out").exists()
    run = extract(noise, model, "--allow-missing")
    assert run.code == 0 and "left out: " in run.err
    assert read_vectors(Path("out/xvector.scp"), tree=Path()).ids == ("u1",)
