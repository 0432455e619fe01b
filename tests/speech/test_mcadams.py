"""McAdams anonymization against the released scripts' output."""

import json
from pathlib import Path

import numpy as np
import pytest
import reference_speech as reference
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from speech_support import EVERYWHERE, SPEECH
from support import nonempty

from privacy_eval.speech import mcadams
from privacy_eval.speech.audio import AudioReader
from privacy_eval.speech.mcadams import (
    convert,
    convert_to_int16,
    derive_coefficient,
    linear_prediction,
    to_int16,
)


def released(path: Path) -> np.ndarray:
    samples, _ = soundfile.read(path, dtype="int16")
    return samples.astype(int)  # type: ignore[no-any-return]


@pytest.mark.parametrize("speech", EVERYWHERE)
@pytest.mark.parametrize("coefficient", [0.5, 0.65, 0.8, 0.9])
def test_conversion_of_2022_is_the_released_scripts(speech: Path, coefficient: float) -> None:
    reader = AudioReader(speech)
    files = sorted((speech / f"mcadams/2022_a{coefficient}").iterdir())
    assert len(files) >= 2
    for file in files:
        audio = reader.read(file.stem)
        got = to_int16(convert(audio.samples, audio.rate, coefficient=coefficient))
        off = np.abs(got - released(file))
        assert off.max() <= (1 if file.stem.startswith("edge") else 0), file.stem


@pytest.mark.parametrize("speech", EVERYWHERE)
def test_conversion_of_2020_is_the_released_scripts(speech: Path) -> None:
    reader = AudioReader(speech, mix=True)
    for file in nonempty((speech / "mcadams/2020_a0.8_float").iterdir()):
        audio, expected = reader.read(file.stem), np.load(file)
        got = convert(audio.samples, audio.rate, variant="2020")
        assert audio.rate == expected["fs"]
        if np.isnan(expected["y"]).any():  # no frame at all: here, silence
            assert file.stem == "edge-short20ms"
            assert not got.any()
        else:
            assert np.abs(got - expected["y"]).max() * 32768 < 0.02
    for file in nonempty((speech / "mcadams/2020_a0.8_sox16").iterdir()):
        audio = reader.read(file.stem)
        got = to_int16(convert(audio.samples, audio.rate, variant="2020"), "2020")
        assert np.abs(got - released(file)).max() <= 1


def test_prediction_is_that_of_the_released_script() -> None:
    golden = json.loads((SPEECH / "mcadams/frames_367-130732-0000_a0.8.json").read_text())
    samples = AudioReader(SPEECH).read(golden["utterance"]).samples / 32768 + 2.0**-23
    shape = np.sqrt(np.hanning(320) / (np.hanning(320).sum() / 160))
    for frame in nonempty(golden["frames"]):
        begin = frame["first_sample"]
        windowed = samples[begin : begin + 320] * shape
        assert windowed[100:108] == pytest.approx(frame["windowed_input_100_107"], abs=1e-12)
        got = linear_prediction(windowed[None] + 2.0**-23)[0]
        assert got == pytest.approx(np.array(frame["lpc"]), abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(arrays(np.float64, st.tuples(st.integers(1, 3), st.just(60)), elements=st.floats(-1, 1)))
def test_linear_prediction(frames: np.ndarray) -> None:
    frames = frames + np.random.default_rng(0).normal(size=frames.shape)  # of full rank
    for frame, got in zip(frames, linear_prediction(frames), strict=True):
        assert got == pytest.approx(np.array(reference.burg(frame.tolist(), 20)), abs=1e-8)


@pytest.mark.parametrize(
    "samples",
    [
        np.full(8000, 1234, np.int16),
        np.full(8000, -1, np.int16),
        np.zeros(8000, np.int16),
        np.where(np.arange(8000) % 2, 32767, -32768).astype(np.int16),
        np.repeat(np.int16([0, 5000, 0]), 3000),
        np.eye(1, 8000, 4000).ravel() * 32767,
    ],
)
def test_frames_without_formants_give_finite_speech(samples: np.ndarray) -> None:
    for variant in ("2020", "2022"):
        got = convert(samples, 16000, variant=variant)
        assert np.isfinite(got).all()
        assert np.abs(got).max() == 1


def test_a_constant_is_left_as_it_is() -> None:
    got = convert(np.full(16000, 700, np.int16), 16000)
    assert not got[:160].any()
    # Squared windows add up to about 1 where two frames overlap.
    assert np.ptp(got[320:15680]) < 0.01


@pytest.mark.parametrize("size", [0, 1, 479])
def test_speech_without_a_whole_frame_becomes_silence(size: int) -> None:
    got = convert(np.full(size, 5, np.int16), 16000)
    assert got.shape == (size,)
    assert not got.any()


def test_blocks_of_frames_do_not_show() -> None:
    speech = AudioReader(SPEECH).read("367-130732-0000").samples
    twice = np.concatenate([speech, np.zeros(-speech.size % 160, np.int16)] * 5)
    part = convert(twice, 16000)
    period = twice.size // 5
    # Repeated speech, which begins with a frame, is converted alike, whatever block it is in.
    one, other = part[period + 320 : 2 * period - 320], part[3 * period + 320 : 4 * period - 320]
    assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("variant", ["2020", "2022"])
def test_long_recordings_are_converted_alike_in_less_memory(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    speech = AudioReader(SPEECH).read("367-130732-0000").samples
    some = [speech[:size] for size in (0, 1, 479, 480, 80000, 82133, 90001)]
    whole = [convert_to_int16(part, 22050, variant=variant) for part in some]
    for part, actual in zip(some, whole, strict=True):
        assert np.array_equal(actual, to_int16(convert(part, 22050, variant=variant), variant))
    monkeypatch.setattr(mcadams, "_LONG", -1)
    monkeypatch.setattr(mcadams, "convert", None)
    for part, actual in zip(some, whole, strict=True):
        assert np.array_equal(convert_to_int16(part, 22050, variant=variant), actual)


def test_coefficients_are_uniform_and_depend_on_seed_and_data_set() -> None:
    drawn = np.array([derive_coefficient(str(n)) for n in range(2000)])
    assert 0.5 <= drawn.min() < 0.501
    assert 0.899 < drawn.max() <= 0.9
    assert drawn.mean() == pytest.approx(0.7, abs=0.01)
    values = {
        derive_coefficient("1", seed=seed, data_set=data)
        for seed in (0, 1)
        for data in ("", "enrolls", "trials")
    }
    assert len(values) == 6


@pytest.mark.parametrize(
    ("options", "rate"), [({"coefficient": 0.0}, 16000), ({}, 1999), ({"variant": "2021"}, 16000)]
)
def test_impossible_options_are_refused(options: dict, rate: int) -> None:
    with pytest.raises(ValueError, match="rate"):
        convert(np.zeros(1000, np.int16), rate, **options)
