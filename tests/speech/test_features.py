"""Features against Kaldi's and against a slow second implementation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_speech as reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from speech_support import EVERYWHERE, SPEECH, archive, voicing
from support import write

from privacy_eval import PrivacyEvalError
from privacy_eval.io.vectors import BLANK, open_objects, read_array, to_float32
from privacy_eval.speech.audio import AudioReader
from privacy_eval.speech.features import (
    CHALLENGE_MFCC,
    CHALLENGE_VAD,
    OTHER_RATE,
    TOO_SHORT,
    MfccOptions,
    VadOptions,
    _frames,
    _mel_weights,
    mfcc,
    sliding_cmvn,
    utterance_features,
    voice_activity,
)
from privacy_eval.speech.xvector import read_options

OTHER_ENCODING = ("edge-float32", "edge-pcm24", "edge-pcm8")

MFCC_VARIANTS = {
    "kaldi_default": MfccOptions(),
    "hires40": MfccOptions(num_mel_bins=40, num_ceps=40, high_freq=-400, use_energy=False),
    "c0": replace(CHALLENGE_MFCC, use_energy=False),
    "winenergy": replace(CHALLENGE_MFCC, raw_energy=False, energy_floor=1.0),
    "hamming": replace(
        CHALLENGE_MFCC,
        window_type="hamming",
        cepstral_lifter=0,
        preemphasis=0,
        remove_dc_offset=False,
        snip_edges=True,
    ),
    "upsample8k": replace(CHALLENGE_MFCC, allow_upsample=True),
}
CMVN_VARIANTS: dict[str, dict[str, Any]] = {
    "normvars_center300": {"norm_vars": True},
    "causal300_min100": {"center": False},
    "normvars_causal51_min20": {"window": 51, "center": False, "min_window": 20, "norm_vars": True},
    "center51": {"window": 51},
}
VAD_VARIANTS = {"kaldi_default": VadOptions(), "thr8_scale0_ctx5_prop06": VadOptions(8, 0, 0.6, 5)}


def difference(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    assert got.dtype == np.float32
    assert got.shape == expected.shape
    return np.abs(got.astype(np.float64) - expected)


@pytest.mark.parametrize("speech", EVERYWHERE)
def test_features_and_voicing_are_kaldis(speech: Path) -> None:
    expected, voiced = archive(speech / "features/mfcc.ark"), voicing(speech / "features/vad.txt")
    reader = AudioReader(speech)
    got = {name: f for name, f in utterance_features(reader) if name not in OTHER_ENCODING}
    assert got.keys() == voiced.keys() == {u for u in reader.ids if u in voiced}
    assert reader.remarks[TOO_SHORT] == ["edge-samples79"]
    assert reader.remarks[OTHER_RATE] == ["edge-rate8k"]
    for name, features in got.items():
        assert (voice_activity(features) == voiced[name]).all(), name
        if name in expected:
            off = difference(features, expected[name])
            assert off[:, 0].max() < 1e-5
            assert off.max() < 0.05
            assert off.mean() < 2e-4


@pytest.mark.parametrize("speech", EVERYWHERE)
@pytest.mark.parametrize("name", MFCC_VARIANTS)
def test_other_options_give_kaldis_features(speech: Path, name: str) -> None:
    reader = AudioReader(speech)
    expected = archive(speech / f"features/variants/mfcc_{name}.ark")
    got = dict(utterance_features(reader, MFCC_VARIANTS[name]))
    assert expected
    for utterance, features in expected.items():
        off = difference(got[utterance], features)
        assert off.max() < (0.01 if name == "upsample8k" else 2e-3)
        assert off.mean() < 3e-4


@pytest.mark.parametrize("speech", EVERYWHERE)
def test_normalization_is_kaldis(speech: Path) -> None:
    features = archive(speech / "features/mfcc.ark")
    expected = archive(speech / "features/cmvn.ark")
    common = expected.keys() & features.keys()
    assert "3005-163389-0007" in common
    for name in common:
        assert difference(sliding_cmvn(features[name]), expected[name]).max() < 1e-5


@pytest.mark.parametrize("name", CMVN_VARIANTS)
def test_other_normalization_is_kaldis(name: str) -> None:
    features = archive(SPEECH / "features/mfcc.ark")
    for utterance, expected in archive(SPEECH / f"features/variants/cmvn_{name}.ark").items():
        got = sliding_cmvn(features[utterance], **CMVN_VARIANTS[name])
        assert difference(got, expected).max() < 1e-5


@pytest.mark.parametrize("name", VAD_VARIANTS)
def test_other_voicing_is_kaldis(name: str) -> None:
    features = archive(SPEECH / "features/mfcc.ark")
    for utterance, expected in voicing(SPEECH / f"features/variants/vad_{name}.txt").items():
        assert (voice_activity(features[utterance], VAD_VARIANTS[name]) == expected).all()


@pytest.mark.parametrize("speech", EVERYWHERE)
def test_compressed_features_are_decoded_as_by_kaldi(speech: Path) -> None:
    expected = archive(speech / "features/mfcc_compressed_decoded.ark")
    voiced = voicing(speech / "features/vad_from_compressed.txt")
    seen = set()
    with open_objects(speech / "features/mfcc_compressed.ark") as file:
        while file.peek(1):
            name = (file.until(BLANK, 100) or b"").decode()
            file.read(1)
            seen.add(file.peek(6)[2:5])
            features = to_float32(read_array(file, 2), file.where)
            assert (voice_activity(features) == voiced[name]).all()
            if name in expected:
                assert difference(features, expected[name]).max() < 3e-5
    assert seen == {b"CM ", b"CM2"}


def test_option_files_of_the_challenge_are_the_defaults() -> None:
    assert read_options(SPEECH / "conf/mfcc.conf", MfccOptions) == CHALLENGE_MFCC
    assert read_options(SPEECH / "conf/vad.conf", VadOptions) == CHALLENGE_VAD


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_ceps": 24}, "num-ceps"),
        ({"high_freq": 9000.0}, "Nyquist"),
        ({"low_freq": 4000.0, "high_freq": 3000.0}, "high-freq"),
        ({"frame_length": 0.01}, "samples"),
        ({"frame_length": 1e6}, "samples"),
        ({"frame_shift": 0.0}, "frame-shift"),
        ({"window_type": "kaiser"}, "window-type"),
        ({"htk_compat": True}, "htk-compat"),
        ({"sample_frequency": 500.0}, "sample-frequency"),
        ({"dither": -1.0}, "dither"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MfccOptions(**options)


def test_dither_is_reproducible_and_of_its_size() -> None:
    noisy = replace(CHALLENGE_MFCC, dither=1.0)
    silence = np.zeros(16000, np.int16)
    once, again = (mfcc(silence, noisy, seed=1, utterance="u") for _ in range(2))
    assert (once == again).all()
    assert (once != mfcc(silence, noisy, seed=2, utterance="u")).any()
    assert (once != mfcc(silence, noisy, seed=1, utterance="v")).any()
    # The energy of 400 samples of unit variance.
    assert once[:, 0].mean() == pytest.approx(np.log(400), abs=0.05)


def test_blocks_of_frames_do_not_show() -> None:
    speech = np.random.default_rng(0).integers(-9999, 9999, 16000 * 25).astype(np.int16)
    whole, part = mfcc(speech), mfcc(speech[: 16000 * 5])
    assert len(whole) == 2500
    assert (whole[:490] == part[:490]).all()


SAMPLES = arrays(np.int16, st.integers(1, 90), elements=st.integers(-999, 999))


@settings(deadline=None)
@given(SAMPLES, st.integers(2, 30), st.integers(1, 30), st.booleans())
def test_framing(samples: np.ndarray, window: int, shift: int, snip_edges: bool) -> None:
    options = MfccOptions(
        sample_frequency=1000,
        frame_length=window,
        frame_shift=shift,
        snip_edges=snip_edges,
        num_mel_bins=3,
        num_ceps=2,
    )
    expected = reference.frames(samples.tolist(), options.window, options.shift, snip_edges)
    assert _frames(samples, options).tolist() == expected


@settings(deadline=None, max_examples=25)
@given(
    arrays(np.float64, 64, elements=st.floats(-1000, 1000)),
    st.integers(3, 12),
    st.floats(0, 300),
    st.floats(400, 500),
)
def test_filter_bank(frame: np.ndarray, bins: int, low: float, high: float) -> None:
    options = MfccOptions(
        sample_frequency=1000,
        frame_length=64,
        num_mel_bins=bins,
        num_ceps=3,
        low_freq=low,
        high_freq=high,
    )
    power = np.abs(np.fft.fft(frame)[:32]) ** 2
    expected = reference.mel_energies(frame.tolist(), 1000, bins, low, high)
    scale = max(1.0, power.max())
    assert power @ _mel_weights(options) / scale == pytest.approx(
        np.array(expected) / scale, abs=1e-6
    )


@given(
    arrays(np.float32, st.integers(1, 40), elements=st.integers(-20, 20).map(float)),
    st.integers(-3, 3),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.12, 0.25, 0.5, 0.75]),
    st.integers(0, 5),
)
def test_voicing(
    energy: np.ndarray, threshold: int, scale: float, proportion: float, context: int
) -> None:
    got = voice_activity(energy[:, None], VadOptions(threshold, scale, proportion, context))
    expected = reference.voiced(energy.tolist(), threshold, scale, proportion, context)
    mean = scale * float(energy.mean(dtype=np.float64))
    # Where float32 rounds the threshold, an energy equal to it may fall on either side.
    assume(np.float64(np.float32(threshold + mean)) == threshold + mean)
    assert got.tolist() == expected


@given(
    arrays(np.float32, st.tuples(st.integers(1, 40), st.just(2)), elements=st.integers(-9, 9)),
    st.integers(1, 30),
    st.integers(1, 30),
    st.booleans(),
    st.booleans(),
)
def test_normalization(
    rows: np.ndarray, window: int, least: int, center: bool, variance: bool
) -> None:
    window = max(window, least)
    got = sliding_cmvn(rows, window=window, center=center, min_window=least, norm_vars=variance)
    expected = reference.normalized(rows.tolist(), window, center, least, variance)
    # Of equal values, the variance is rounding, whose floor is 1e-10.
    assert got == pytest.approx(np.array(expected), abs=1e-3 if variance else 1e-5)


# --- option files


@dataclass(frozen=True)
class Toy:
    num_ceps: int = 13
    low_freq: float = 20.0
    snip_edges: bool = True
    window_type: str = "povey"

    def __post_init__(self) -> None:
        if self.num_ceps > 100:
            raise ValueError("too many")


def test_options_are_read_with_comments_and_blanks(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mfcc.conf",
        "# options\n\n--num-ceps=30 # the default is 13\r\n  --low-freq = -1.5e1\n"
        "--snip-edges=false\n--window-type=hamming",
    )
    assert read_options(path, Toy) == Toy(30, -15.0, False, "hamming")
    assert read_options(write(path, "--snip-edges\n"), Toy) == Toy()
    assert read_options(write(path, ""), Toy) == Toy()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\n--frame-warp=1\n", 2, "unknown option '--frame-warp'.*--num-ceps"),
        ("num-ceps=3", 1, "unknown option"),
        ("--num-ceps 3", 1, "unknown option"),
        ("--num-ceps=3\n--num-ceps=3", 2, "duplicate"),
        ("--num-ceps=3.5", 1, "whole number"),
        ("--num-ceps", 1, "whole number"),
        ("--num-ceps=1_0", 1, "whole number"),
        ("--low-freq=nan", 1, "expected a number"),
        ("--low-freq=1e99", 1, "expected a number"),
        ("--low-freq=\u0663", 1, "expected a number"),
        ("--snip-edges=maybe", 1, "true or false"),
        ("--snip-edges=", 1, "true or false"),
        ("--window-type=", 1, "expected a value"),
        ("--num-ceps=" + "9" * 5000, 1, "whole number"),
    ],
)
def test_bad_lines_are_refused(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = write(tmp_path / "mfcc.conf", text)
    with pytest.raises(PrivacyEvalError, match=rf"^{path}:{line}: .*{message}"):
        read_options(path, Toy)


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "mfcc.conf", "--num-ceps=101")
    with pytest.raises(PrivacyEvalError, match=f"^{path}: too many"):
        read_options(path, Toy)
