"""Training of encoders: what is read needs no torch; the rest is skipped without it."""

import errno
import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.signal
import soundfile
from model_support import DATA
from support import cli, ok, refused

from privacy_eval import PrivacyEvalError
from privacy_eval.errors import OutputError
from privacy_eval.io.vectors import read_vectors
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech
from privacy_eval.training import recordings as reading
from privacy_eval.training.options import Training
from privacy_eval.training.recordings import Recordings, check_lengths, read_recordings

pytestmark = pytest.mark.wing("training")

needs_torch = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("torch", "onnx", "onnxruntime"))),
    reason="the extra train is not installed",
)
ECAPA = DATA / "ecapa"


def speech(folder: Path, speakers: int, utterances: int = 2, seconds: float = 1.5) -> Path:
    """Write a data folder of simulated speech."""
    demo = DemoSpeech(speakers=0, training=speakers, utterances=utterances, seconds=seconds)
    write_demo_speech(folder / "source", demo)
    paths = sorted((folder / "source/training").iterdir())
    (folder / "wav.scp").write_text("".join(f"{p.stem} {p}\n" for p in paths))
    (folder / "utt2spk").write_text((folder / "source/training_utt2spk").read_text())
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return speech(tmp_path_factory.mktemp("voices") / "data", 24, 4)


def read(folder: Path, cache: Path, nj: int = 1) -> Recordings:
    return read_recordings([folder], cache, nj, {"allow_outside": True})


def train(data: Path, out: Path, **options: Any) -> Any:
    from privacy_eval.training.learn import Learner

    chosen = {"channels": 16, "epochs": 3, "batch": 16, "crop": 1.0, **options}
    recordings = read(data, out / "cache")
    return Learner(recordings, Training(**chosen), out, "cpu")


def test_the_cache_holds_the_samples(data: Path, tmp_path: Path) -> None:
    recordings = read(data, tmp_path, nj=2)
    assert len(recordings.ids) == 96 and len({*recordings.speakers}) == 24
    index = recordings.ids.index("t003-002")
    samples, _ = soundfile.read(data / "source/training/t003-002.wav", dtype="int16")
    assert recordings.samples[index].tolist() == samples.tolist()
    crops = recordings.crops(np.array([index, 0]), np.array([5, 100]), 50)
    assert crops[0].tolist() == samples[5:55].tolist() and crops.shape == (2, 50)


def test_a_part_that_is_there_is_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_PART_UTTERANCES", 30)
    first = read(data, tmp_path)
    stems = {path.stem for path in tmp_path.iterdir()}
    assert len(stems) == 4
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.i16")}
    lost = min(times)
    lost.with_suffix(".json").unlink()  # as if it was killed before this part was whole
    assert read(data, tmp_path).sha256 == first.sha256
    assert {p for p, time in times.items() if p.stat().st_mtime_ns != time} == {lost}


def test_changed_speech_is_read_again(tmp_path: Path) -> None:
    folder = speech(tmp_path / "data", 3)
    before = read(folder, tmp_path / "cache")
    changed = np.arange(16000, dtype=np.int16)
    soundfile.write(folder / "source/training/t000-000.wav", changed, 16000)
    after = read(folder, tmp_path / "cache")
    assert after.sha256 != before.sha256
    assert after.samples[0].tolist() == changed.tolist()


def test_damaged_cache_is_named(data: Path, tmp_path: Path) -> None:
    read(data, tmp_path)
    (part,) = tmp_path.glob("*.i16")
    part.write_bytes(part.read_bytes()[:-2])
    with pytest.raises(PrivacyEvalError, match="damaged; remove the folder"):
        read(data, tmp_path)


def test_a_full_disk_leaves_no_part(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_: object) -> None: ...
        def map(self, function: Callable[[Any], None], parts: list[Any]) -> Any:
            return map(function, parts)

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(reading, "ProcessPoolExecutor", lambda *_: Full())
    monkeypatch.setattr(reading.np, "rint", fails)
    with pytest.raises(OutputError, match=os.strerror(errno.ENOSPC)):
        read(data, tmp_path)
    assert not [*tmp_path.glob("*.json"), *tmp_path.glob("*.i16")]


def test_recordings_shorter_than_a_crop(data: Path, tmp_path: Path) -> None:
    folder = speech(tmp_path / "short", 2, 1, 0.8)
    recordings = read_recordings([data, folder], tmp_path / "c", 1, {"allow_outside": True})
    with pytest.raises(PrivacyEvalError, match="2 recordings of 98 .*t000-000, t001-000.*--crop"):
        check_lengths(recordings, 1, leave_out=False)
    assert len(check_lengths(recordings, 1, leave_out=True).ids) == 96
    assert Training(crop=3, speeds=True).longest == pytest.approx(3.3)
    with pytest.raises(PrivacyEvalError, match="98 recordings of 98"):
        check_lengths(recordings, 9, leave_out=True)


def test_silence_is_named(tmp_path: Path) -> None:
    folder = speech(tmp_path / "data", 2)
    silence = np.zeros(16000, np.int16)
    soundfile.write(folder / "source/training/t001-000.wav", silence, 16000)
    with pytest.raises(PrivacyEvalError, match="t001-000.*silence"):
        read(folder, tmp_path / "cache")


@needs_torch
def test_features_and_loss_are_speechbrains() -> None:
    import torch

    from privacy_eval.training.network import Classes, Features

    samples, _ = soundfile.read(ECAPA / "2033-164914-0004.flac", dtype="float32")
    with np.load(ECAPA / "golden.npz", allow_pickle=False) as golden:
        features = Features()(torch.tensor(samples)[None])[0].numpy()
        assert np.abs(features - golden["features"]).max() < 1.2e-3
        head = Classes(*golden["aam weight"].shape)
        head.weight.data = torch.tensor(golden["aam weight"])
        loss = head(torch.tensor(golden["aam vectors"]), torch.tensor(golden["aam labels"]))
        assert float(loss.detach()) == pytest.approx(float(golden["aam loss"]), rel=1e-6)


@needs_torch
def test_torch_computes_what_numpy_does() -> None:
    import torch

    from privacy_eval.speech.ecapa import read_ecapa
    from privacy_eval.training.network import Network, checkpoint

    network = Network(24).eval()
    for name, tensor in network.state_dict().items():
        if name.endswith(("running_mean", "running_var")):
            tensor.uniform_(0.5, 2)
    features = torch.randn(2, 50, 80) * 9
    with torch.inference_mode():
        vectors = network(features).numpy()
    ours = read_ecapa(checkpoint(network), "x")
    for inputs, vector in zip(features.numpy(), vectors, strict=True):
        assert ours.vector(inputs) == pytest.approx(vector, rel=1e-3, abs=1e-4)


@needs_torch
@pytest.mark.parametrize("speed", [(9, 10), (11, 10)])
def test_speeds_are_those_of_scipy(speed: tuple[int, int]) -> None:
    import torch

    from privacy_eval.training.network import resampled

    times = np.arange(16000) / 16000
    tones = sum(np.sin(2 * np.pi * f * times + f) for f in (200, 1234, 3000, 5600))
    found = resampled(torch.tensor(tones[None], dtype=torch.float32), speed)[0].numpy()
    wanted = scipy.signal.resample_poly(tones, speed[1], speed[0], window=("kaiser", 9.0))
    inner = slice(300, min(len(found), len(wanted)) - 300)
    assert np.abs(found[inner] - wanted[inner]).max() < 0.03


@needs_torch
def test_it_learns_speakers_that_it_never_heard(tmp_path: Path) -> None:
    folder = speech(tmp_path / "data", 40, 8, 3.0)
    learner = train(folder, tmp_path / "out", channels=64, epochs=5, batch=256, crop=2.0)
    learner.run()
    rates = [epoch["held_out_eer"] for epoch in learner.epochs]
    assert rates[-1] <= rates[0] / 2


@needs_torch
def test_a_killed_run_ends_with_the_same_weights(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privacy_eval.training.learn import Learner

    options = {"speeds": True, "noise": True}
    whole = train(data, tmp_path / "whole", **options)
    whole.run()
    rates = [epoch["held_out_eer"] for epoch in whole.epochs]
    assert len(rates) == 4 and None not in rates
    assert whole.epochs[-1]["loss"] < whole.epochs[1]["loss"]
    keep = Learner._keep

    def killed(self: Any, epoch: dict[str, Any]) -> None:
        if epoch["epoch"] == 2:
            raise KeyboardInterrupt
        keep(self, epoch)

    monkeypatch.setattr(Learner, "_keep", killed)
    with pytest.raises(KeyboardInterrupt):
        train(data, tmp_path / "again", **options).run()
    monkeypatch.undo()
    train(data, tmp_path / "again", **options).run()
    ends = [(tmp_path / n / "embedding_model.ckpt").read_bytes() for n in ("whole", "again")]
    assert ends[0] == ends[1]
    report = json.loads((tmp_path / "again/training.json").read_text())
    assert [e["held_out_eer"] for e in report["epochs"]] == rates
    held_out = {"speakers": 4, "n_target": 24, "n_nontarget": 96, "crop": 1.0}
    assert held_out.items() <= report["held_out"].items()
    assert 0 <= report["held_out"]["spectrum_eer"] < 0.5
    assert report["data"]["speakers"] == 20 and report["data"]["utterances"] == 96
    with pytest.raises(PrivacyEvalError, match="--seed"):
        train(data, tmp_path / "again", **options, seed=1).run()
    (tmp_path / "again/state.pt").write_bytes(b"PK")
    with pytest.raises(PrivacyEvalError, match=r"state\.pt: damaged"):
        train(data, tmp_path / "again", **options).run()


@needs_torch
def test_the_verb_and_what_reads_its_encoder(data: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "out", ("--data", data, "--allow-outside", "--device", "cpu")
    small = ("--channels", 16, "--epochs", 1, "--batch", 16, "--crop", 1)
    run = ok(cli("train-encoder", *options, *small, "--out", out))
    assert "learnt 20 speakers; EER of 4 others" in run.out and "24 target" in run.out
    vectors = []
    for name in ("encoder.onnx", "embedding_model.ckpt"):
        made = tmp_path / name.replace(".", "_")
        ok(cli("xvectors", "--encoder", out / name, "--out", made, *options[:3]))
        vectors.append(read_vectors(made / "xvector.scp").matrix)
    assert vectors[0].shape == (96, 192)
    assert np.abs(vectors[0] - vectors[1]).max() < 1e-3 * np.abs(vectors[0]).max()
    on = ("--init", out / "embedding_model.ckpt", "--out", tmp_path / "on")
    ok(cli("train-encoder", *options, *small[2:], *on))
    report = json.loads((tmp_path / "on/training.json").read_text())
    first = json.loads((out / "training.json").read_text())
    assert report["epochs"][0]["held_out_eer"] == first["epochs"][1]["held_out_eer"]
    assert report["options"]["channels"] == 16
    refused(
        cli("train-encoder", *options, "--crop", 0.05, "--out", tmp_path / "no"), "at least", code=2
    )
    other = ("--channels", 24, "--init", out / "embedding_model.ckpt", "--out", tmp_path / "no")
    refused(cli("train-encoder", *options, *other, "--crop", 1), "of 16 channels")


@needs_torch
def test_one_speaker_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="1 speaker in the training speech"):
        train(speech(tmp_path / "data", 1), tmp_path / "out")


@needs_torch
def test_few_speakers_are_not_held_out(tmp_path: Path) -> None:
    learner = train(speech(tmp_path / "data", 3, 3), tmp_path / "out", epochs=1)
    learner.run()
    assert [epoch["held_out_eer"] for epoch in learner.epochs] == [None, None]
    assert "untested" in learner.summary()


@needs_torch
def test_a_loss_that_is_not_finite(data: Path, tmp_path: Path) -> None:
    learner = train(data, tmp_path / "out", peak=1e30)
    with pytest.raises(PrivacyEvalError, match="not finite; a lower --peak"):
        learner.run()
    assert not (tmp_path / "out/encoder.onnx").exists()


@needs_torch
def test_too_little_memory_of_a_gpu(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    learner = train(data, tmp_path / "out")

    def fails(_: object) -> None:
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(learner, "features", fails)
    with pytest.raises(PrivacyEvalError, match=f"batches of {learner.batch} .*--batch"):
        learner._step(*next(learner._batches(np.random.default_rng(0))))


@needs_torch
def test_other_checkpoints_are_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "x.ckpt").write_bytes((DATA / "ge2e/tiny_good.pt").read_bytes())
    with pytest.raises(PrivacyEvalError, match=r"x\.ckpt: expected SpeechBrain's ECAPA-TDNN"):
        train(data, tmp_path / "out", init=tmp_path / "x.ckpt").run()


@needs_torch
def test_rates(data: Path, tmp_path: Path) -> None:
    learner = train(data, tmp_path / "a")
    rates = [learner._rate(step) for step in range(3 * learner.steps)]
    assert max(rates) == pytest.approx(learner.options.highest, rel=0.01) and min(rates) > 0
    assert np.argmax(rates) == pytest.approx(0.3 * len(rates), abs=2)
    challenge = train(data, tmp_path / "b", rate="cyclic", peak=2e-3)
    assert challenge._rate(0) == 1e-8
    for step, rate in ((65000, 2e-3), (32500, 1e-3), (97500, 1e-3)):
        assert challenge._rate(step) == pytest.approx(rate, rel=1e-4)
