"""Predicted quality against speechmos."""

import json
from typing import Any

import numpy as np
import pytest
from model_support import (
    DATA,
    MODELS,
    audio,
    listed,
    needs_golden_models,
    needs_model,
    needs_onnxruntime,
    needs_soxr,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.utility import _nine_seconds, _p808_input, level_db, load_dnsmos

GOLDEN: dict[str, Any] = json.loads((DATA / "quality" / "dnsmos.json").read_text())


def test_windows_of_short_and_long_utterances() -> None:
    for samples, count in GOLDEN["windows"].items():
        windows = _nine_seconds(np.arange(int(samples), dtype=np.float32))
        assert len(windows) == count, samples
        assert all(window.size == 144160 for window in windows)
        assert windows[-1][0] == (count - 1) * 16000 % int(samples)


@needs_model("dnsmos")
@needs_onnxruntime
@needs_soxr
def test_values_of_speech() -> None:
    rate = load_dnsmos()
    for name, golden in GOLDEN["values"].items():
        found = rate(audio(name))
        assert {key: found[key] for key in golden} == pytest.approx(golden, abs=1e-3), name
    for samples, message in ((np.zeros(0, np.int16), "no samples"), ([40000.0], "full scale")):
        with pytest.raises(PrivacyEvalError, match=message):
            rate(Audio(np.asarray(samples), 16000))


@needs_golden_models
def test_mel_spectrogram_of_p808() -> None:
    with np.load(MODELS / "quality" / "dnsmos_mel.npz", allow_pickle=False) as golden:
        for name in golden.files:
            if name.startswith("segment_"):
                found = _p808_input(golden[name])
                expected = golden[name.replace("segment_", "p808_mel_")]
                assert np.abs(found - expected).max() < 1e-5


@needs_golden_models
@needs_model("dnsmos")
@needs_onnxruntime
@needs_soxr
def test_values_of_golden_speech() -> None:
    """Three utterances of the list; all take minutes."""
    golden = json.loads((MODELS / "quality" / "dnsmos.json").read_text())
    rate = load_dnsmos()
    for name, path in list(listed("dnsmos").items())[:3]:
        wanted = {key: golden[name][key] for key in ("sig", "bak", "ovrl", "p808")}
        found = rate(audio(path))
        assert {key: found[key] for key in wanted} == pytest.approx(wanted, abs=1e-3), name


def test_level() -> None:
    """A sine of full scale has -3.01 dB, half of its amplitude 6.02 dB less."""
    sine = 32768 * np.sin(2 * np.pi * np.arange(16000) / 100)
    for samples, level in (
        (sine, -3.0103),
        (sine / 2, -9.0309),
        (0 * sine, -100),
        (sine[:0], -100),
    ):
        assert level_db(Audio(samples, 16000)) == pytest.approx(level, abs=1e-3)
