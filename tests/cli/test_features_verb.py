"""The verb that computes features of a data folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from speech_support import EVERYWHERE, archive, voicing
from support import cli, snapshot, write


@pytest.fixture(name="data")
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    noise = (np.random.default_rng(0).normal(size=8000) * 1000).astype(np.int16)
    soundfile.write("a.wav", noise, 16000)
    soundfile.write("b.wav", noise[:50], 16000)
    write(tmp_path / "data" / "wav.scp", "u1 a.wav\nu2 b.wav\n")
    return tmp_path / "data"


@pytest.mark.parametrize("speech", EVERYWHERE)
def test_archives_of_golden_speech(speech: Path, tmp_path: Path) -> None:
    done = cli("features", "--data", speech, "--out", tmp_path)
    assert done.code == 0, done.err
    assert "edge-rate8k" in done.err
    assert "edge-samples79" in done.err
    features, voiced = archive(tmp_path / "mfcc.ark"), archive(tmp_path / "vad.ark")
    expected = voicing(speech / "features/vad.txt")
    assert features.keys() == voiced.keys()
    assert features.keys() - expected.keys() == {"edge-float32", "edge-pcm24", "edge-pcm8"}
    for name, frames in expected.items():
        assert voiced[name].dtype == np.float32
        assert (voiced[name] == frames).all()
        assert len(features[name]) == len(frames)
    lines = (line.split() for line in (tmp_path / "vad.scp").read_text().splitlines())
    assert [name for name, _ in lines] == list(voiced)


def test_option_files(data: Path) -> None:
    mfcc = write(data / "mfcc.conf", "--num-ceps=5\n")
    vad = write(data / "vad.conf", "--vad-energy-threshold=99\n")
    configs = ("--mfcc-config", mfcc, "--vad-config", vad)
    assert cli("features", "--data", data, "--out", "out", *configs).code == 0
    assert archive(Path("out/mfcc.ark"))["u1"].shape == (48, 5)
    assert not archive(Path("out/vad.ark"))["u1"].any()
    write(mfcc, "--num-ceps=5\n--cepstral-liver=22\n")
    done = cli("features", "--data", data, "--out", "out", *configs)
    assert done.code == 1
    assert f"{mfcc}:2: unknown option" in done.err


def test_dither_is_of_the_seed(data: Path) -> None:
    def ark(*options: object) -> bytes:
        assert cli("features", "--data", data, "--out", "out", *options).code == 0
        return Path("out/mfcc.ark").read_bytes()

    assert ark("--dither", 1) == ark("--dither", 1, "--seed", 0) != ark("--dither", 1, "--seed", 1)
    assert ark() == ark("--dither", 0) == ark("--seed", 1) != ark("--dither", 1)
    assert cli("features", "--data", data, "--out", "out", "--dither", "-1").code == 2


def test_damaged_speech_is_refused_or_left_out_on_request(data: Path) -> None:
    write(data / "wav.scp", "u1 a.wav\nu2 b.wav\nu3 none.wav\n")
    done = cli("features", "--data", data, "--out", "out")
    assert done.code == 1
    assert "wav.scp:3: u3 (none.wav)" in done.err
    assert not Path("out").exists() or not snapshot(Path("out"))
    done = cli("features", "--data", data, "--out", "out", "--allow-missing")
    assert done.code == 0
    assert "left out: " in done.err
    assert archive(Path("out/mfcc.ark")).keys() == {"u1"}


def test_no_features_at_all_is_an_error(data: Path) -> None:
    write(data / "wav.scp", "u2 b.wav\n")
    done = cli("features", "--data", data, "--out", "out")
    assert done.code == 1
    assert "no utterance has features" in done.err
    assert not snapshot(Path("out"))
