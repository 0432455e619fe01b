"""The GE2E encoder against Resemblyzer."""

import numpy as np
import pytest
from model_support import (
    DATA,
    MODELS,
    audio,
    expected,
    flags,
    listed,
    needs_golden_models,
    needs_model,
    needs_soxr,
    needs_webrtcvad,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.ge2e import (
    prepare,
    raise_level,
    read_ge2e,
    smooth,
    speech_flags,
    window_starts,
)
from privacy_eval.speech.models import load_model

TINY = DATA / "ge2e"
TOLERANCE = 2e-6
SILENT = {"edge-short200ms", "edge-short20ms", "edge-silence1s", "edge-constant"}


@pytest.mark.parametrize("name", ["tiny_good", "other_zip_format"])
def test_network_of_random_weights(name: str) -> None:
    encoder = read_ge2e((TINY / f"{name}.pt").read_bytes(), name)
    with np.load(TINY / "tiny.npz", allow_pickle=False) as golden:
        vectors = encoder.encode_windows(golden["mel"])
        assert np.abs(vectors - golden["embedding"]).max() < TOLERANCE


@pytest.mark.parametrize("path", sorted(TINY.glob("bad_*.pt")), ids=lambda path: path.stem)
def test_faulty_weights_are_refused(path: object, capfd: pytest.CaptureFixture[str]) -> None:
    content = (TINY / str(path)).read_bytes()
    with pytest.raises(PrivacyEvalError, match="^weights: "):
        read_ge2e(content, "weights")
    assert "MUST-NOT-BE-PRINTED" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("double", "no matri"),
        ("nan", "linear.bias has values that are not finite"),
        ("missing_weight", "no tensor lstm.weight_hh_l1"),
    ],
)
def test_weights_that_are_faulty_in_themselves_are_named(name: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        read_ge2e((TINY / f"bad_{name}.pt").read_bytes(), "weights")


def test_windows_of_utterances() -> None:
    for golden in flags()["windows"].values():
        starts, end = window_starts(golden["samples"])
        if "starts" in golden:
            assert [160 * start for start in starts] == golden["starts"]
        else:
            assert (len(starts), end) == (golden["count"], golden["end"])


def test_smoothed_flags_keep_the_samples_that_resemblyzer_keeps() -> None:
    for golden in flags()["utterances"].values():
        voiced = np.array([flag == "1" for flag in golden["vad"]], np.bool_)
        assert 480 * smooth(voiced).sum() == golden["samples_kept"]


@needs_webrtcvad
def test_speech_flags() -> None:
    for name in ("367-130732-0000", "edge-silpad", "edge-short260ms"):
        samples = raise_level(audio(name).samples / np.float32(32768))
        windows = samples[: samples.size // 480 * 480].reshape(-1, 480)
        found = "".join(str(int(flag)) for flag in speech_flags(windows))
        assert found == flags()["utterances"][name]["vad"]


@needs_webrtcvad
@needs_soxr
def test_prepared_samples() -> None:
    for name, golden in flags()["utterances"].items():
        assert prepare(audio(name)).size == golden["samples_kept"], name


def test_utterances_without_speech_are_refused() -> None:
    content = (TINY / "tiny_good.pt").read_bytes()
    for samples in (np.zeros(0, np.int16), np.zeros(16000, np.int16)):
        for vad in (False, True):
            with pytest.raises(PrivacyEvalError, match="no speech"):
                read_ge2e(content, "x", vad=vad).encode(Audio(samples, 16000))


def test_a_long_utterance_is_the_mean_of_its_windows() -> None:
    """More windows than are computed at once, each one computed alone."""
    encoder = read_ge2e((TINY / "tiny_good.pt").read_bytes(), "x", vad=False)
    mel = np.random.default_rng(1).random((130, 160, 40), np.float32)
    alone = [encoder.encode_windows(mel[n : n + 1])[0] for n in range(len(mel))]
    assert np.abs(encoder.encode_windows(mel) - alone).max() < 1e-6


@needs_model("ge2e")
def test_vectors_of_speech() -> None:
    raw = read_ge2e(load_model("ge2e"), "x", vad=False)
    golden = {n.removeprefix("ge2e_raw_"): v for n, v in expected().items() if "_raw_" in n}
    for name, vector in golden.items():
        found = raw.encode(audio(name))
        assert abs(np.linalg.norm(found) - 1) < 1e-6
        if "rate" in name:
            assert found @ vector > 0.999, name
        else:
            assert np.abs(found - vector).max() < TOLERANCE, name


@needs_model("ge2e")
@needs_webrtcvad
@needs_soxr
def test_vectors_of_prepared_speech() -> None:
    full = read_ge2e(load_model("ge2e"), "x")
    golden = {n.removeprefix("ge2e_full_"): v for n, v in expected().items() if "_full_" in n}
    for name, vector in golden.items():
        if name in SILENT:
            with pytest.raises(PrivacyEvalError, match="no speech"):
                full.encode(audio(name))
        else:
            assert np.abs(full.encode(audio(name)) - vector).max() < TOLERANCE, name


@needs_golden_models
@needs_model("ge2e")
@needs_webrtcvad
@needs_soxr
def test_vectors_of_all_golden_speech() -> None:
    content = load_model("ge2e")
    encoders = {kind: read_ge2e(content, "x", vad=kind == "full") for kind in ("full", "raw")}
    with np.load(MODELS / "ge2e" / "ge2e.npz", allow_pickle=False) as golden:
        for name, path in listed("ge2e_dvector").items():
            if not name.startswith("edge"):
                for kind, encoder in encoders.items():
                    difference = encoder.encode(audio(path)) - golden[f"{kind}_{name}"]
                    assert np.abs(difference).max() < TOLERANCE, (kind, name)
