"""X-vectors of Kaldi's networks against Kaldi's own."""

import gzip
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import kaldiio
import numpy as np
import pytest
from numpy.typing import NDArray
from support import REAL_SPEECH, ROOT, needs_real_speech

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.speech.nnet3 import Network
from privacy_eval.speech.nnet3_file import read_model
from privacy_eval.speech.xvector import Extractor, assumed_sizes, load_extractor

GOLDEN = ROOT / "tests" / "data" / "speech" / "networks"
CONFIG = GOLDEN / "extract.config"
VOICED = dict(kaldiio.load_ark(str(GOLDEN / "voiced.ark")))
SHORT = {"edge-samples80", "edge-short20ms", "edge-short200ms"}  # under 25 voiced frames

Vectors = dict[str, NDArray[np.float64]]


def golden(path: Path) -> Vectors:
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0]: np.array(words[2:-1], dtype=float) for words in lines}


def model(tmp_path: Path, name: str) -> Path:
    """A network of the golden data, unpacked if it is a text."""
    packed = GOLDEN / f"{name}.gz"
    if not packed.is_file():
        return GOLDEN / name
    (tmp_path / name).write_bytes(gzip.decompress(packed.read_bytes()))
    return tmp_path / name


def extractor(path: Path, config: Path | None = CONFIG) -> Extractor:
    return Extractor(Network(read_model(path, config)))


def distance(actual: NDArray[np.float32], expected: NDArray[np.float64]) -> float:
    """Relative L2."""
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


def check(actual: Extractor, expected: Vectors, voiced: dict[str, NDArray[np.float32]]) -> None:
    vectors = {name: actual.extract(features) for name, features in voiced.items()}
    assert {name for name, vector in vectors.items() if vector is not None} == set(expected)
    for name, vector in expected.items():
        got = vectors[name]
        assert got is not None and got.dtype == np.float32
        assert distance(got, vector) < (1e-3 if name.startswith("edge") else 1e-4), name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("small.final.raw", "small.c10000.txt"),
        ("nobn.final.raw", "nobn.c10000.txt"),
        ("ftdnn.final.raw", "ftdnn.c10000.txt"),
        ("ftdnn.final.txt", "ftdnn.fromtext.txt"),
        ("small2.oldstyle.txt", "small2.oldstyle.c10000.txt"),
    ],
)
def test_vectors_equal_those_of_kaldi(tmp_path: Path, name: str, expected: str) -> None:
    config = None if name.startswith("nobn") else CONFIG
    check(extractor(model(tmp_path, name), config), golden(GOLDEN / expected), VOICED)


@pytest.mark.parametrize("name", ["small", "nobn", "ftdnn"])
@pytest.mark.parametrize("pad", [True, False])
def test_chunks_equal_those_of_kaldi(name: str, pad: bool) -> None:
    config = None if name == "nobn" else CONFIG
    chunked = replace(
        extractor(GOLDEN / f"{name}.final.raw", config), max_chunk_size=300, pad_input=pad
    )
    expected = golden(GOLDEN / f"{name}.c300.{'pad' if pad else 'nopad'}.txt")
    assert (SHORT & set(expected)) == (SHORT if pad else set())
    check(chunked, expected, VOICED)


def test_own_output_equals_that_of_kaldi() -> None:
    actual = extractor(GOLDEN / "ftdnn.final.raw", None)
    check(actual, golden(GOLDEN / "ftdnn.output.txt"), VOICED)
    vector = actual.extract(VOICED["367-130732-0000"])
    assert vector.sum() == pytest.approx(1)


def test_pooled_statistics_equal_those_of_kaldi() -> None:
    network = Network(read_model(GOLDEN / "small.final.raw"), "stats-pooling-0-10000")
    for name, expected in golden(GOLDEN / "small.pooled.txt").items():
        _, values = network.compute(VOICED[name])
        (mean, stddev), (kaldi_mean, kaldi_stddev) = np.split(values[0], 2), np.split(expected, 2)
        np.testing.assert_allclose(mean, kaldi_mean, atol=1e-5)
        # Kaldi subtracts squares in float32, which leaves noise where a unit is constant.
        np.testing.assert_allclose(stddev**2, kaldi_stddev**2, rtol=1e-5, atol=3e-6)


def test_layer_equals_that_of_kaldi() -> None:
    network = Network(read_model(GOLDEN / "small.final.raw"), "tdnn3.batchnorm")
    ((name, expected),) = kaldiio.load_ark(str(GOLDEN / "small.tdnn3.batchnorm.ark"))
    times, values = network.compute(VOICED[name], range(len(expected)))
    assert times.tolist() == list(range(7, len(expected) - 7))
    np.testing.assert_allclose(values, expected[7:-7], atol=1e-4)


def test_no_frames_give_no_vector() -> None:
    assert extractor(GOLDEN / "nobn.final.raw", None).extract(np.empty((0, 30), "f4")) is None


def test_chunk_too_short_for_the_network_is_refused() -> None:
    unpadded = replace(extractor(GOLDEN / "small.final.raw"), min_chunk_size=1)
    with pytest.raises(PrivacyEvalError, match=r"small.final.raw: 2 frames are too few"):
        unpadded.extract(VOICED["edge-short20ms"])


def test_features_of_another_dimension_are_refused() -> None:
    with pytest.raises(PrivacyEvalError, match="expected 30 columns"):
        extractor(GOLDEN / "small.final.raw").extract(np.zeros((100, 24), "f4"))


def test_blocks_do_not_show() -> None:
    """Long features, cut into blocks, give the mean over what their parts give."""
    network = Network(read_model(GOLDEN / "nobn.final.raw"), "stats-pooling")
    features = np.concatenate(list(VOICED.values()) * 6)
    _, whole = network.compute(features)
    frames = Network(read_model(GOLDEN / "nobn.final.raw"), "dense4.relu")
    times, values = frames.compute(features, range(len(features)))
    assert len(times) > 5000
    dim = values.shape[1]
    np.testing.assert_allclose(whole[0, -2 * dim : -dim], values.mean(axis=0), rtol=1e-5, atol=1e-6)


def test_folder_of_an_extractor(tmp_path: Path) -> None:
    (tmp_path / "final.raw").symlink_to(GOLDEN / "small.final.raw")
    plain = load_extractor(tmp_path)
    assert plain.network.output == "output" and (plain.min_chunk_size == 25)
    assert "25 and 10000 frames" in assumed_sizes(plain.sha256)
    (tmp_path / "extract.config").write_bytes(CONFIG.read_bytes())
    (tmp_path / "min_chunk_size").write_text("30\n")
    (tmp_path / "max_chunk_size").write_text("-1\n")
    actual = load_extractor(tmp_path)
    assert (actual.min_chunk_size, actual.max_chunk_size) == (30, -1)
    assert actual.network.output_columns == 64 and not assumed_sizes(actual.sha256)
    assert set(actual.sha256) == {"final.raw", "extract.config", "min_chunk_size", "max_chunk_size"}
    other = load_extractor(tmp_path, network=GOLDEN / "small2.oldstyle.txt.gz")
    assert other.sha256["final.raw"] != actual.sha256["final.raw"]
    (tmp_path / "max_chunk_size").write_text("29\n")
    with pytest.raises(PrivacyEvalError, match="max_chunk_size is 29 frames, fewer than"):
        load_extractor(tmp_path)
    (tmp_path / "min_chunk_size").write_text("many\n")
    with pytest.raises(PrivacyEvalError, match="min_chunk_size:1: expected a number of frames"):
        load_extractor(tmp_path)


def test_folder_without_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match=r"no file final.raw"):
        load_extractor(tmp_path)


SCRIPT = """
import sys, kaldiio
from pathlib import Path
from privacy_eval.speech.xvector import load_extractor
found = load_extractor(network=Path(sys.argv[1]))
voiced = dict(kaldiio.load_ark(sys.argv[2]))
for name in sys.argv[3:]:
    print(name, found.extract(voiced[name]).tobytes().hex())
"""


def test_vectors_depend_on_the_utterance_alone() -> None:
    """One process or a process per utterance: the same bytes."""

    def run(*names: str) -> list[str]:
        command = [sys.executable, "-c", SCRIPT, GOLDEN / "nobn.final.raw", GOLDEN / "voiced.ark"]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [*command, *names], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    names = ("367-130732-0000", "edge-samples80", "2609-156975-0003")
    assert run(*names) == [line for name in names for line in run(name)]


@pytest.fixture(scope="module")
def all_voiced() -> dict[str, NDArray[np.float32]]:
    return dict(kaldiio.load_ark(str(REAL_SPEECH / "features" / "voiced.ark")))


@pytest.fixture(scope="module")
def full_network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "final.raw"
    script = REAL_SPEECH / "nets" / "gen_fullsize_net.py"
    subprocess.run([sys.executable, script, path, "7"], check=True)
    return path


@needs_real_speech
@pytest.mark.parametrize("name", ["small", "small2", "nobn", "ftdnn", "full"])
@pytest.mark.parametrize("chunks", ["c10000", "c300.pad", "c300.nopad"])
def test_whole_set_equals_kaldi(
    name: str, chunks: str, all_voiced: dict[str, NDArray[np.float32]], full_network: Path
) -> None:
    path = full_network if name == "full" else REAL_SPEECH / "nets" / f"{name}.final.raw"
    actual = extractor(path, None if name == "nobn" else CONFIG)
    if chunks != "c10000":
        actual = replace(actual, max_chunk_size=300, pad_input=chunks == "c300.pad")
    check(actual, golden(REAL_SPEECH / "xvectors" / f"{name}.{chunks}.txt"), all_voiced)


@needs_real_speech
@pytest.mark.parametrize("kind", ["small.long", "small.long.nopad", "full.long"])
def test_long_features_equal_kaldi(
    kind: str, all_voiced: dict[str, NDArray[np.float32]], full_network: Path
) -> None:
    once = [all_voiced[name] for name in sorted(all_voiced) if not name.startswith("edge")]
    whole = np.concatenate(once * 2)
    assert len(whole) == 18064
    path = full_network if kind.startswith("full") else GOLDEN / "small.final.raw"
    actual = replace(extractor(path), pad_input=not kind.endswith("nopad"))
    for name, expected in golden(REAL_SPEECH / "xvectors" / f"{kind}.txt").items():
        vector = actual.extract(whole[:10010] if name.endswith("10010") else whole)
        assert vector is not None
        assert distance(vector, expected) < 1e-4
