"""The slow back end and the slow similarity matrices agree with Kaldi and with the challenge."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import reference_backend as slow

from privacy_eval.errors import PrivacyEvalError

sys.path.append(str(Path(__file__).resolve().parent / "metrics"))
import reference_similarity as matrices  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]

GOLDEN = ROOT.parent / "shared" / "golden" / "plda"
REAL_TREE = ROOT.parent / "shared" / "real_tree"
MODELS = REAL_TREE / "exp" / "models" / "asv_eval" / "xvect_01709_1"
TRAINED = MODELS / "xvect_train_clean_360"

golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="Kaldi's numbers are not there")
real = pytest.mark.skipif(not REAL_TREE.is_dir(), reason="the tree of real speech is not there")


def largest_difference(got: slow.Vectors, want: slow.Vectors) -> float:
    assert list(got) == list(want)
    return max(float(np.abs(got[key] - want[key]).max()) for key in want)


def largest_difference_of_lines(got: list[str], want: list[str]) -> float:
    assert [line.split()[:2] for line in got] == [line.split()[:2] for line in want]
    return max(
        abs(float(a.split()[2]) - float(b.split()[2])) for a, b in zip(got, want, strict=True)
    )


# --- Kaldi's programs on simulated speakers


@pytest.fixture(scope="module")
def utterances() -> slow.Vectors:
    return slow.read_archive(GOLDEN / "utt.bin.ark")


@pytest.fixture(scope="module")
def spk2utt() -> slow.Lists:
    return slow.read_lists(GOLDEN / "spk2utt")


def golden_counts() -> dict[str, int]:
    return {name: int(n) for name, (n,) in slow.read_lists(GOLDEN / "num_utts.txt").items()}


def golden_lines(name: str) -> list[str]:
    return (GOLDEN / name).read_text().splitlines()


def golden_scores(
    model: slow.Plda, utterances: slow.Vectors, enrolled: slow.Vectors | None = None
) -> list[str]:
    """As scores.s0 was made."""
    enrolled = slow.read_archive(GOLDEN / "spk.txt") if enrolled is None else enrolled
    trials = slow.read_trials(GOLDEN / "trials")
    return slow.plda_scores(model, enrolled, golden_counts(), utterances, trials)


@golden
def test_text_and_binary_files_hold_the_same(utterances: slow.Vectors) -> None:
    assert largest_difference(slow.read_archive(GOLDEN / "utt.txt.ark"), utterances) == 0.0
    for name, text_name in (("plda.bin", "plda.txt"), ("plda.s01", "plda.s01.txt")):
        binary, text = slow.read_plda(GOLDEN / name), slow.read_plda(GOLDEN / text_name)
        for part in ("mean", "transform", "psi"):
            a, b = getattr(binary, part), getattr(text, part)
            assert a.shape == b.shape
            assert a == pytest.approx(b, rel=5e-7)


@golden
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("cent.txt", lambda x: slow.subtract_mean(x, slow.read_array(GOLDEN / "mean.vec"))),
        ("lda_out.txt", lambda x: slow.transform(x, slow.read_array(GOLDEN / "lda.txt"))),
        ("len.txt", slow.normalize_length),
        ("len1.txt", lambda x: slow.normalize_length(x, scale_up=False)),
    ],
)
def test_steps(
    name: str, step: Callable[[slow.Vector], slow.Vector], utterances: slow.Vectors
) -> None:
    got = {key: step(x) for key, x in utterances.items()}
    assert largest_difference(got, slow.read_archive(GOLDEN / name)) < 2e-6


@golden
def test_means_of_speakers(utterances: slow.Vectors) -> None:
    lists = slow.read_lists(GOLDEN / "enroll_spk2utt")
    means = slow.speaker_means({**lists, "nobody": ["missing"]}, utterances)
    assert largest_difference(means, slow.read_archive(GOLDEN / "spk.txt")) < 1e-6
    assert slow.speaker_counts(lists, utterances) == golden_counts()
    got = golden_scores(slow.read_plda(GOLDEN / "plda.bin"), utterances, means)
    assert largest_difference_of_lines(got, golden_lines("scores.s0")) < 2e-5


@golden
@pytest.mark.parametrize(
    ("name", "smoothing", "with_counts", "normalization"),
    [
        ("scores.s0", 0.0, True, "counts"),
        ("scores.s01", 0.1, True, "counts"),
        ("scores.simple", 0.0, True, "simple"),
        ("scores.nonorm", 0.0, False, "none"),
    ],
)
def test_score_files_line_for_line(
    name: str, smoothing: float, with_counts: bool, normalization: str, utterances: slow.Vectors
) -> None:
    got = slow.plda_scores(
        slow.smoothed(slow.read_plda(GOLDEN / "plda.bin"), smoothing),
        slow.read_archive(GOLDEN / "spk.txt"),
        golden_counts() if with_counts else {},
        utterances,
        slow.read_trials(GOLDEN / "trials"),
        normalization,
    )
    assert got == golden_lines(name)


@golden
def test_smoothing() -> None:
    got = slow.smoothed(slow.read_plda(GOLDEN / "plda.bin"), 0.1)
    want = slow.read_plda(GOLDEN / "plda.s01")
    assert got.transform == pytest.approx(want.transform, abs=1e-14)
    assert got.psi == pytest.approx(want.psi, abs=1e-14)


@golden
def test_trained_mean_and_lda(utterances: slow.Vectors, spk2utt: slow.Lists) -> None:
    mean = slow.read_array(GOLDEN / "mean.vec")
    assert slow.train_mean(utterances.values()) == pytest.approx(mean, abs=1e-6)
    got = slow.train_lda(spk2utt, utterances, 16, 0.1)
    want = slow.read_array(GOLDEN / "lda.txt")
    signs = np.sign((got * want).sum(axis=1, keepdims=True))
    assert got * signs == pytest.approx(want, abs=2e-6)


@golden
def test_trained_plda(utterances: slow.Vectors, spk2utt: slow.Lists) -> None:
    got, want = slow.train_plda(spk2utt, utterances), slow.read_plda(GOLDEN / "plda.bin")
    signs = np.sign((got.transform * want.transform).sum(axis=1, keepdims=True))
    assert got.mean == pytest.approx(want.mean, abs=1e-12)
    assert got.psi == pytest.approx(want.psi, abs=1e-10)
    assert got.transform * signs == pytest.approx(want.transform, abs=1e-10)
    lines = golden_scores(got, utterances)
    assert largest_difference_of_lines(lines, golden_lines("scores.s0")) < 1e-4


# --- the back end by hand


def test_a_transform_has_an_offset_or_none() -> None:
    x = np.array([1.0, 2.0], np.float32)
    assert slow.transform(x, np.array([[1.0, 1.0], [0.0, -1.0]])).tolist() == [3.0, -2.0]
    assert slow.transform(x, np.array([[1.0, 1.0, 0.5]])).tolist() == [3.5]
    with pytest.raises(PrivacyEvalError):
        slow.transform(x, np.ones((1, 4)))


def test_a_zero_vector_stays_zero() -> None:
    assert slow.normalize_length(np.zeros(3, np.float32)).tolist() == [0.0, 0.0, 0.0]


def test_a_score_in_one_dimension() -> None:
    """Against the densities themselves: y given e is N(mu, v), y alone N(0, 1 + psi)."""
    model = slow.Plda(np.zeros(1), np.eye(1), np.array([3.0]))
    e, y = np.array([0.5], np.float32), np.array([-1.25], np.float32)

    def log_density(x: float, mean: float, variance: float) -> float:
        return -0.5 * (math.log(2.0 * math.pi * variance) + (x - mean) ** 2 / variance)

    for n in (1, 4):
        mu, v = n * 3.0 / (n * 3.0 + 1.0) * 0.5, 1.0 + 3.0 / (n * 3.0 + 1.0)
        want = log_density(-1.25, mu, v) - log_density(-1.25, 0.0, 4.0)
        assert slow.log_likelihood_ratio(model, e, n, y) == pytest.approx(want, rel=1e-6)


def test_commands_in_a_list_of_vectors_are_refused(tmp_path: Path) -> None:
    (tmp_path / "xvector.scp").write_text("utt copy-vector ark:xvector.ark - |\n")
    with pytest.raises(PrivacyEvalError):
        slow.read_scp(tmp_path / "xvector.scp", tmp_path)


def test_training_needs_enough_vectors() -> None:
    vectors = {f"u{k}": np.array([k, k * k], np.float32) for k in range(4)}
    with pytest.raises(PrivacyEvalError):
        slow.train_plda({"a": ["u0", "u1"]}, vectors)
    with pytest.raises(PrivacyEvalError):
        slow.train_plda({f"s{k}": [f"u{k}"] for k in range(4)}, vectors)


def test_a_back_end_trained_like_the_challenge_tells_speakers_apart() -> None:
    generator = np.random.default_rng(1)
    centres = generator.normal(scale=3.0, size=(12, 6))
    vectors = {
        f"s{s}-u{u}": (5.0 + centre + generator.normal(size=6)).astype(np.float32)
        for s, centre in enumerate(centres)
        for u in range(6)
    }
    spk2utt = {f"s{s}": [f"s{s}-u{u}" for u in range(6)] for s in range(12)}
    mean, matrix, model = slow.train_back_end(spk2utt, vectors, 4)
    assert matrix.shape == (4, 7)
    assert np.abs(matrix[:, -1]).max() < 1e-5  # what LDA sees is centred
    ready = slow.similarity_vectors(model, mean, matrix, vectors)
    pairs = matrices.unordered_pairs(list(vectors))
    scores = slow.pair_scores(model, ready, ready, pairs)
    same = [score for (a, b), score in scores.items() if a[:3] == b[:3]]
    other = [score for (a, b), score in scores.items() if a[:3] != b[:3]]
    assert np.mean(same) > np.mean(other) + 5.0


# --- real speech


def real_back_end() -> tuple[slow.Plda, slow.Vector, np.ndarray]:
    return (
        slow.read_plda(TRAINED / "plda"),
        slow.read_array(TRAINED / "mean.vec"),
        slow.read_array(TRAINED / "transform.mat"),
    )


def real_vectors(name: str) -> slow.Vectors:
    return slow.read_scp(MODELS / f"xvect_{name}" / "xvector.scp", REAL_TREE)


@real
def test_scores_of_a_real_condition() -> None:
    enroll, trials = "libri_test_enrolls", "libri_test_trials_f_anon"
    got = slow.challenge_scores(
        *real_back_end(),
        slow.read_lists(REAL_TREE / "data" / enroll / "spk2utt"),
        real_vectors(enroll),
        real_vectors(trials),
        slow.read_trials(REAL_TREE / "data" / trials / "trials"),
    )
    scores = REAL_TREE / "exp" / "results-kaldi" / f"ASV-{enroll}-{trials}" / "scores"
    assert largest_difference_of_lines(got, scores.read_text().splitlines()) < 3e-4


@real
def test_similarity_of_real_speech() -> None:
    name = "libri_test_trials_m"
    spoken = slow.read_lists(REAL_TREE / "data" / name / "utt2spk")
    speaker = {utterance: words[0] for utterance, words in spoken.items()}
    original = slow.similarity_vectors(*real_back_end(), real_vectors(name))
    anonymized = slow.similarity_vectors(*real_back_end(), real_vectors(f"{name}_anon"))
    model = real_back_end()[0]
    pairs = matrices.pairs_of(list(original), list(anonymized), "exact")
    scores = {
        "oo": slow.pair_scores(model, original, original, pairs["oo"]),
        "oa": slow.pair_scores(model, original, anonymized, pairs["oa"]),
        "aa": slow.pair_scores(model, anonymized, anonymized, pairs["aa"]),
    }
    expected = json.loads((REAL_TREE / "expected.json").read_text())["similarity"][f"{name}_anon"]
    for variant, want in (("challenge", expected), ("exact", expected["exact"])):
        got = matrices.similarity(scores, speaker, list(original), variant, list(anonymized))
        for key in ("deid", "gvd_db", "d_diag_oo", "d_diag_oa", "d_diag_aa"):
            if key in want:
                assert getattr(got, key) == pytest.approx(want[key], abs=1e-4), (variant, key)
        assert len(got.oo.speakers) == expected["exact"]["speakers"]


# --- similarity by hand


def speakers_of(ids: list[str]) -> dict[str, str]:
    """The speaker is the first letter."""
    return {utterance: utterance[0] for utterance in ids}


def some_score(a: str, b: str) -> float:
    """The second letter is a place on a line; a third one only tells ids apart."""
    return 5.0 - abs(int(a[1]) - int(b[1]))


def test_pairs() -> None:
    ids = ["a1", "a2", "b1"]
    unordered = [("a1", "a2"), ("a1", "b1"), ("a2", "b1")]
    assert matrices.unordered_pairs(ids) == unordered
    assert matrices.challenge_pairs(ids, ids) == unordered
    assert matrices.ordered_pairs(ids, ids) == [
        ("a1", "a2"),
        ("a1", "b1"),
        ("a2", "a1"),
        ("a2", "b1"),
        ("b1", "a1"),
        ("b1", "a2"),
    ]
    # Another order of the second list brings the same index with different ids.
    assert matrices.challenge_pairs(ids, ["a2", "a1", "b1"]) == [
        ("a1", "a2"),
        ("a1", "b1"),
        ("a2", "a1"),
        ("a2", "b1"),
    ]


def test_calibration_by_hand() -> None:
    """Scores n:1, t:2, n:2, t:3 and Laplace's dummies."""
    ids = ["a0", "a1", "b0", "b1"]
    score = {("a0", "b0"): 1.0, ("a0", "a1"): 2.0, ("a0", "b1"): 2.0, ("b0", "b1"): 3.0}
    pairs = list(score)
    exact = matrices.calibrate(pairs, score, speakers_of(ids), "exact")
    # t n | n | t n | t | t n: the first three pool to 1/3, the tie is 1/2, then t t n is 2/3.
    want = [math.log(0.5), 0.0, 0.0, math.log(2.0)]
    assert [entry.llr for entry in exact] == pytest.approx(want)
    challenge = matrices.calibrate(pairs, score, speakers_of(ids), "challenge")
    # t n | n | n | t | t | t n: 1/4 four times, then 3/4; places 0, 2, 1, 3 in sorted order.
    llrs = [-math.log(3.0), math.log(3.0), -math.log(3.0), math.log(3.0)]
    want = [llr + k * 1e-6 / 4 for llr, k in zip(llrs, (0, 2, 1, 3), strict=True)]
    assert [entry.llr for entry in challenge] == pytest.approx(want, abs=1e-12)


def test_cells_by_hand() -> None:
    entries = [
        matrices.Calibrated(("a0", "a1"), True, 2.0),
        matrices.Calibrated(("a0", "b0"), False, -1.0),
        matrices.Calibrated(("b0", "a1"), False, -2.0),
        matrices.Calibrated(("b0", "b1"), True, 1.0),
    ]
    ids = ["a0", "b0", "a1", "b1"]
    exact = matrices.exact_matrix(entries, speakers_of(ids), ids, cross=False)
    assert exact.cells["a", "b"] == exact.cells["b", "a"] == matrices.sigmoid(-1.5)
    cross = matrices.exact_matrix(entries, speakers_of(ids), ids, cross=True)
    assert cross.cells["a", "b"] == matrices.sigmoid(-1.0)
    assert cross.cells["b", "a"] == matrices.sigmoid(-2.0)
    challenge = matrices.challenge_matrix(entries, speakers_of(ids))
    assert challenge.cells["a", "b"] == challenge.cells["b", "a"] == matrices.sigmoid(-1.0)
    assert challenge.cells["a", "a"] == exact.cells["a", "a"] == matrices.sigmoid(2.0)


def test_d_diag_of_extreme_matrices() -> None:
    speakers = ["a", "b", "c"]
    for same, other, want in ((1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.3, 0.3, 0.0)):
        cells = {(a, b): same if a == b else other for a in speakers for b in speakers}
        assert matrices.d_diag(matrices.Matrix(speakers, cells)) == pytest.approx(want)


@pytest.mark.parametrize("variant", ["exact", "challenge"])
def test_doing_nothing_gains_nothing(variant: str) -> None:
    ids = ["a0x", "a1x", "a1y", "b5x", "b6x", "b4x", "c9x", "c8x", "c8y"]
    scores = dict.fromkeys(("oo", "oa", "aa"), some_score)
    got = matrices.similarity(scores, speakers_of(ids), ids, variant)
    if variant == "challenge":
        assert got.deid == 0.0
    else:  # every pair twice in oa: Laplace's dummies weigh less there
        assert -0.1 < got.deid < 0.0
    assert got.gvd_db == 0.0
    assert got.d_diag_oo > 0.5
    for matrix in (got.oo, got.oa, got.aa):  # as symmetric as the score
        transposed = [list(column) for column in zip(*matrix.rows(), strict=True)]
        assert np.array(matrix.rows()) == pytest.approx(np.array(transposed), abs=1e-12)


def test_a_list_not_grouped_by_speaker_changes_the_challenge_only() -> None:
    grouped = ["a0", "a1", "a4", "b3", "b5", "b6"]
    mixed = ["b3", "a0", "b5", "a4", "a1", "b6"]
    speaker = speakers_of(grouped)
    value = {}
    for variant in ("exact", "challenge"):
        for name, ids in (("grouped", grouped), ("mixed", mixed)):
            pairs = matrices.pairs_of(ids, ids, variant)["oo"]
            matrix = matrices.matrix_of(pairs, some_score, speaker, ids, variant, cross=False)
            value[variant, name] = matrices.d_diag(matrix)
    assert value["exact", "grouped"] == pytest.approx(value["exact", "mixed"], abs=1e-12)
    assert abs(value["challenge", "grouped"] - value["challenge", "mixed"]) > 1e-3


def test_a_last_speaker_with_one_utterance() -> None:
    ids = ["a0", "a1", "b5", "b6", "c9"]
    scores = dict.fromkeys(("oo", "oa", "aa"), some_score)
    got = matrices.similarity(scores, speakers_of(ids), ids, "challenge")
    assert got.oo.speakers == got.oa.speakers == ["a", "b"]
    with pytest.raises(PrivacyEvalError):
        matrices.similarity(scores, speakers_of(ids), ids, "exact")


@pytest.mark.parametrize("variant", ["exact", "challenge"])
def test_one_speaker_is_an_error(variant: str) -> None:
    scores = dict.fromkeys(("oo", "oa", "aa"), some_score)
    with pytest.raises(PrivacyEvalError):
        matrices.similarity(scores, speakers_of(["a0", "a1"]), ["a0", "a1"], variant)


def test_speakers_alike_are_an_error() -> None:
    ids = ["a0", "a1", "b0", "b1"]
    scores = dict.fromkeys(("oo", "oa", "aa"), lambda _a, _b: 1.0)
    with pytest.raises(PrivacyEvalError):
        matrices.similarity(scores, speakers_of(ids), ids, "exact")
