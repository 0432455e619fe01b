"""The spectrum: golden vectors, singular audio, crops, the verb."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from support import ATTACKERS, ROOT, cli, lines_to, needs_attackers, ok, refused, write

from privacy_eval.choices import ENCODERS, PINNED_ENCODERS
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.vectors import read_vectors
from privacy_eval.speech.audio import Audio, AudioReader
from privacy_eval.speech.encoders import EncoderChoice, Spectrum
from privacy_eval.speech.features import MfccOptions, fbank
from privacy_eval.speech.models import MODELS

LIBRISPEECH = ROOT.parent / "shared" / "models/speech/LibriSpeech/test-other"


@needs_attackers
def test_golden_vectors(tmp_path: Path) -> None:
    """Of recordings of ten speakers; the features are those of torchaudio."""
    golden = np.load(ATTACKERS / "spectrum/real_b2/test_orig.npz")
    names = golden["ids"].tolist()[::7]
    paths = (next(LIBRISPEECH.glob(f"*/*/{name}.flac")) for name in names)
    lines_to(tmp_path / "wav.scp", (f"{n} {p}" for n, p in zip(names, paths, strict=True)))
    lines_to(tmp_path / "utt2spk", (f"{n} {n.split('-')[0]}" for n in names))
    out = tmp_path / "out"
    run = cli(
        *("xvectors", "--encoder", "spectrum", "--data", tmp_path, "--out", out), "--allow-outside"
    )
    assert run.code == 0, run.err
    vectors = read_vectors(out / "xvector.scp")
    assert vectors.ids == tuple(names)
    assert abs(vectors.matrix - golden["vectors"][::7]).max() < 2e-3


def slow_vector(samples: np.ndarray) -> np.ndarray:
    """The definition, with loops over frames and coefficients."""
    mel = fbank(samples, MfccOptions(num_mel_bins=80)).astype(float)
    level = sorted(mel.mean(axis=1))
    place = 0.3 * (len(level) - 1)
    low = int(place)
    quiet = level[low] + (place - low) * (level[low + 1] - level[low])
    kept = np.array([frame for frame in mel if frame.mean() > quiet])
    basis = [
        np.cos(np.pi * k * (np.arange(80) + 0.5) / 80) * np.sqrt((1 if k == 0 else 2) / 80)
        for k in range(30)
    ]
    cepstra = np.array([[float(frame @ b) for b in basis] for frame in kept])
    changes = [np.std([b - a for a, b in zip(c, c[1:], strict=False)]) for c in cepstra.T]
    pairs = [
        np.corrcoef(cepstra[:, i], cepstra[:, j])[0, 1] for i in range(30) for j in range(i + 1, 30)
    ]
    return np.array([*kept.mean(axis=0), *kept.std(axis=0), *changes, *pairs])


@pytest.mark.parametrize("seed", range(3))
def test_the_definition(seed: int) -> None:
    generator = np.random.default_rng(seed)
    samples = np.cumsum(generator.normal(0, 500, 8000)).clip(-32768, 32767).astype(np.int16)
    found = Spectrum().encode(Audio(samples, 16000))
    assert found is not None
    assert found == pytest.approx(slow_vector(samples), abs=1e-4)


@pytest.mark.parametrize(
    "samples", [np.zeros(16000), np.zeros(0), np.ones(100), np.full(16000, 100.0)]
)
def test_silence_has_no_vector(samples: np.ndarray) -> None:
    assert Spectrum().encode(Audio(samples.astype(np.int16), 16000)) is None


def test_other_rates_are_resampled() -> None:
    noise = np.random.default_rng(0).normal(0, 1000, 48000).astype(np.float32)
    vector = Spectrum().encode(Audio(noise, 48000))
    assert vector is not None and vector.shape == (625,) and np.isfinite(vector).all()


def test_results_know_the_digest_of_every_pinned_encoder() -> None:
    of_file = {name: [*MODELS[m].files.values()][0] if m else "" for name, m in ENCODERS.items()}
    digests = {EncoderChoice(name).identity(sha256): name for name, sha256 in of_file.items()}
    assert digests == PINNED_ENCODERS


def test_it_has_no_files() -> None:
    assert EncoderChoice("spectrum").files == {}


# --- crops


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Noise of 2.5 s, silence of 2 s, and 0.5 s."""
    noise = np.random.default_rng(0).normal(0, 1000, 40000).astype(np.int16)
    for name, samples in (("a", noise), ("b", np.zeros(32000, np.int16)), ("c", noise[:8000])):
        soundfile.write(tmp_path / f"{name}.wav", samples, 16000)
    lines_to(tmp_path / "wav.scp", (f"{u} {u}.wav" for u in "abc"))
    lines_to(tmp_path / "utt2spk", (f"{u} s{u}" for u in "abc"))
    return tmp_path


def test_crops_are_whole_pieces_from_the_start(data: Path) -> None:
    reader = AudioReader(data, base=data)
    crops = reader.cropped(1.0)
    assert crops.ids == ("a-c0", "a-c1", "b-c0", "b-c1")
    whole, second = reader.read("a").samples, crops.read("a-c1").samples
    assert np.array_equal(second, whole[16000:32000])
    assert crops.segment("a-c1") == "a-c1 a 1.000000 2.000000"
    with pytest.raises(PrivacyEvalError, match="no utterance has 4 s"):
        reader.cropped(4.0)


def test_crops_of_segments_and_channels(data: Path) -> None:
    lines_to(data / "segments", ["u1 a 0.5 2.5 0", "u2 b 0.25 -1 0"])
    crops = AudioReader(data, base=data).cropped(0.7)
    assert crops.ids == ("u1-c0", "u1-c1", "u2-c0", "u2-c1")
    assert crops.segment("u1-c1") == "u1-c1 a 1.200000 1.900000 0"
    assert crops.read("u1-c1").samples.size == 11200


def test_vectors_of_crops(data: Path) -> None:
    out = data / "out"
    words = ("xvectors", "--encoder", "spectrum", "--data", data, "--out", out)
    run = ok(cli(*words, "--crop", 1, "--scp-base", data))
    assert "2 of 4 crops and of 1 speakers" in run.out and "b-c0" in run.err
    vectors = read_vectors(out / "xvector.scp", tree=data)
    assert vectors.ids == ("a-c0", "a-c1")
    assert "sa" in (out / "spk_xvector.scp").read_text()
    refused(cli(*words, "--crop", 0), "at least 0.1")


def test_relative_paths_that_lead_nowhere_name_the_option(data: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "of/wav.scp", "a a.wav\n").parent
    write(folder / "utt2spk", "a s\n")
    words = ("xvectors", "--encoder", "spectrum", "--data", folder, "--out", tmp_path / "out")
    refused(cli(*words), "--scp-base names their folder")
    named = cli(*words, "--scp-base", folder)
    assert named.code == 1 and "--scp-base" not in named.err
    ok(cli(*words, "--scp-base", data))
