"""Encoders in ONNX files and their front ends, against the programs that they are made for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from model_support import SYNTHETIC, audio, expected, needs_model, needs_onnxruntime

from privacy_eval import PrivacyEvalError
from privacy_eval.speech import onnx_encoder
from privacy_eval.speech.models import load_model
from privacy_eval.speech.onnx_encoder import (
    FRONT_ENDS,
    FrontEnd,
    OnnxEncoder,
    front_end_from_metadata,
    open_onnx,
    read_front_end,
)

UTTERANCE = "367-130732-0000"


def synthetic(name: str, front_end: FrontEnd | None = None) -> OnnxEncoder:
    return open_onnx((SYNTHETIC / f"{name}.onnx").read_bytes(), name, front_end)


@pytest.mark.parametrize(
    ("name", "front_end"),
    [
        ("wespeaker", FRONT_ENDS["wespeaker"]),
        ("sherpa", FRONT_ENDS["sherpa"]),
        ("kaldi40", replace(FRONT_ENDS["sherpa"], band=(20.0, 7600.0), bins=40)),
    ],
)
def test_features_equal_those_of_kaldi_native_fbank(name: str, front_end: FrontEnd) -> None:
    found = replace(front_end, mean=False).compute(audio(UTTERANCE))
    golden = expected()[f"fbank_{name}_{UTTERANCE}"]
    assert found.shape == golden.shape
    assert np.abs(found - golden).mean() < 5e-5 and np.abs(found - golden).max() < 0.01


def test_frames_of_short_utterances() -> None:
    for name, snipped, whole in (("edge-samples79", 0, 0), ("edge-short20ms", 0, 2)):
        for edges, count in (("snip", snipped), ("mirror", whole)):
            front_end = FrontEnd("fbank", edges=edges)  # type: ignore[arg-type]
            if count:
                assert len(front_end.compute(audio(name))) == count
            else:
                with pytest.raises(PrivacyEvalError, match="too short"):
                    front_end.compute(audio(name))


@needs_onnxruntime
@pytest.mark.parametrize(
    ("model", "front_end", "program"),
    [
        ("wespeaker", "wespeaker", "wespeaker"),
        ("wespeaker", "wespeaker", "wespeakerruntime"),
        ("sherpa_wespeaker", None, "sherpa_wespeaker"),
        ("sherpa_3dspeaker", None, "sherpa_3dspeaker"),
        ("waveform", None, "waveform"),
    ],
)
def test_vectors_equal_those_of_the_programs(
    model: str, front_end: str | None, program: str
) -> None:
    encoder = synthetic(model, FRONT_ENDS[front_end] if front_end else None)
    golden = expected()
    names = [name for name in golden if name.rpartition("_")[0] == program]
    assert len(names) > 3
    for name in names:
        utterance = name.rpartition("_")[2]
        if utterance == "edge-silence1s":
            with pytest.raises(PrivacyEvalError, match="no speech"):
                encoder.encode(audio(utterance))
        else:
            assert np.abs(encoder.encode(audio(utterance)) - golden[name]).max() < 2e-4, name


@needs_onnxruntime
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad_custom_op", "Mystery"),
        ("bad_external_data", "external data"),
        ("bad_frame_output", "per frame"),
        ("bad_nan_output", "not finite"),
        ("bad_not_onnx", "refused by onnxruntime"),
        ("bad_two_inputs", "one input, found 2"),
        ("odd_fixed_200_frames", "length 200 only"),
    ],
)
def test_faulty_files_are_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=f"^{name}: .*{message}"):
        synthetic(name, FRONT_ENDS["wespeaker"]).encode(audio(UTTERANCE))


@needs_onnxruntime
def test_unusual_inputs() -> None:
    forty = synthetic("odd_fbank40", FRONT_ENDS["wespeaker"])
    assert forty.front_end.bins == 40 and forty.encode(audio(UTTERANCE)).shape == (32,)
    fixed = synthetic("odd_fixed_200_frames", replace(FRONT_ENDS["wespeaker"], chunk=(200,)))
    windows = fixed.front_end.compute(audio(UTTERANCE))
    assert windows.shape == (1, 200, 80)
    golden = synthetic("wespeaker", FRONT_ENDS["wespeaker"]).session.run(windows)[0]
    found = fixed.encode(audio(UTTERANCE))
    assert np.abs(found - golden / np.linalg.norm(golden)).max() < 1e-6
    with pytest.raises(PrivacyEvalError, match="--front-end"):
        synthetic("wespeaker")
    with pytest.raises(PrivacyEvalError, match="gives a waveform"):
        synthetic("wespeaker", FrontEnd("waveform"))


@needs_onnxruntime
def test_the_death_of_the_process_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(onnx_encoder, "_WORKER", worker)
    with pytest.raises(PrivacyEvalError, match="^wespeaker: onnxruntime ended by signal 11"):
        synthetic("wespeaker")


def test_front_ends_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(
        "input: fbank\nwindow: hamming\nedges: mirror\nband: [20, 7600]\nscaling: 32768\n"
        "mean: true\nchunk: 200\n"
    )
    assert read_front_end(path) == FrontEnd(
        "fbank", "hamming", "mirror", (20.0, 7600.0), 32768, True, (200,)
    )
    for wrong in (
        "input: mfcc",
        "input: fbank\nwindow: square",
        "input: fbank\nband: [20]",
        "input: fbank\nchunk: [80, 90]",
        "input: mel\nedges: mirror",
        "input: fbank\nwindows: hamming",
        "[]",
        "input: !!python/object/apply:os.system [id]",
    ):
        path.write_text(wrong)
        with pytest.raises(PrivacyEvalError, match=f"^{path}"):
            read_front_end(path)


def test_metadata_that_are_not_understood() -> None:
    assert front_end_from_metadata({"author": "x"}, "f") is None
    for metadata in (
        {"framework": "nemo"},
        {"framework": "wespeaker", "normalize_samples": "2"},
        {"framework": "wespeaker", "sample_rate": "fast"},
        {"voicefilter_lite_config": "{"},
        {"voicefilter_lite_config": "{}"},
    ):
        with pytest.raises(PrivacyEvalError, match="^f: its metadata"):
            front_end_from_metadata(metadata, "f")


@needs_model("d-vector")
@needs_onnxruntime
def test_d_vectors_of_speech() -> None:
    encoder = open_onnx(load_model("d-vector"), "d-vector")
    for name, vector in expected().items():
        if name.startswith("dvector_"):
            assert encoder.encode(audio(name.rpartition("_")[2])) @ vector > 0.9995
