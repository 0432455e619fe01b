"""Back ends of speaker verification: against Kaldi's programs, a slow second implementation
and numbers by hand."""

import gzip
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import reference_backend as slow
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import ROOT

import privacy_eval.asv.backend as module
from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import (
    LDA_DIM,
    FloatMatrix,
    LengthNormalization,
    PldaBackend,
    apply_transform,
    cosine_scores,
    euclidean_scores,
    global_mean,
    normalize_length,
    plda_scores,
    plda_transform,
    score_matrix,
    speaker_means,
    subtract_mean,
    train_backend,
    train_lda,
    train_plda,
)
from privacy_eval.io.vectors import Plda, Vectors, read_matrix, read_plda, read_vector, read_vectors

GOLDEN = ROOT / "tests" / "data" / "golden" / "plda"

#: Names of ways to scale a vector, ours and the slow implementation's.
NORMALIZATIONS: dict[LengthNormalization, str] = {
    "expected": "counts",
    "simple": "simple",
    "none": "none",
}

seeds = st.integers(0, 2**32)
each_normalization = pytest.mark.parametrize("normalization", list(NORMALIZATIONS))


def rows(*values: list[float]) -> FloatMatrix:
    return np.array(values, dtype=np.float32)


def text_lines(name: str) -> list[str]:
    path = GOLDEN / name
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode().splitlines()


def vectors(name: str) -> Vectors:
    return read_vectors(GOLDEN / name)


@cache
def utterances() -> Vectors:
    return vectors("utt.bin.ark")


@cache
def golden_speakers() -> list[str]:
    """The speaker of every golden vector."""
    speaker_of = dict(line.split() for line in text_lines("utt2spk"))
    return [speaker_of[name] for name in utterances().ids]


def golden_scores(
    plda: Plda,
    *,
    with_counts: bool = True,
    normalization: LengthNormalization = "expected",
    enrolled: FloatMatrix | None = None,
) -> list[str]:
    """Lines of a score file: speakers of spk.txt against all vectors, in the trials' order."""
    speakers = vectors("spk.txt")
    number = dict(line.split() for line in text_lines("num_utts.txt"))
    counts = np.array([int(number[s]) if with_counts else 1 for s in speakers.ids])
    scores = plda_scores(
        plda_transform(
            speakers.matrix if enrolled is None else enrolled,
            plda,
            counts,
            normalization=normalization,
        ),
        counts,
        plda_transform(utterances().matrix, plda, normalization=normalization),
        plda,
    )
    trials = [line.split()[:2] for line in text_lines("trials")]
    first = speakers.rows([speaker for speaker, _ in trials], "the trials")
    second = utterances().rows([utterance for _, utterance in trials], "the trials")
    return [
        f"{speaker} {utterance} {score:.7g}"
        for (speaker, utterance), score in zip(trials, scores[first, second].tolist(), strict=True)
    ]


def largest_difference(got: list[str], want: list[str]) -> float:
    """Compare the scores trial by trial."""
    assert [line.split()[:2] for line in got] == [line.split()[:2] for line in want]
    pairs = zip(got, want, strict=True)
    return max(abs(float(a.split()[2]) - float(b.split()[2])) for a, b in pairs)


# --- Kaldi's programs


@pytest.mark.parametrize(
    ("name", "model", "options"),
    [
        ("scores.s0.gz", "plda.bin", {}),
        ("scores.s01.gz", "plda.s01", {}),
        ("scores.simple.gz", "plda.bin", {"normalization": "simple"}),
        ("scores.nonorm.gz", "plda.bin", {"normalization": "none", "with_counts": False}),
    ],
)
def test_scores_equal_kaldi_line_by_line(name: str, model: str, options: dict[str, str]) -> None:
    want = text_lines(name)
    assert len(want) == 2000
    assert golden_scores(read_plda(GOLDEN / model), **options) == want  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("cent.txt.gz", lambda x: subtract_mean(x, read_vector(GOLDEN / "mean.vec"))),
        ("lda_out.txt", lambda x: apply_transform(x, read_matrix(GOLDEN / "lda.txt"))),
        ("len.txt.gz", normalize_length),
        ("len1.txt.gz", lambda x: normalize_length(x, scale_up=False)),
    ],
)
def test_steps_agree_with_kaldi(name: str, step: Callable[[FloatMatrix], FloatMatrix]) -> None:
    want = vectors(name)
    assert want.ids == utterances().ids
    actual = step(utterances().matrix)
    assert actual.dtype == np.float32
    assert np.abs(actual - want.matrix).max() < 1e-6


def test_speaker_means_agree_with_kaldi() -> None:
    members = dict(line.split(maxsplit=1) for line in text_lines("enroll_spk2utt"))
    want = vectors("spk.txt")
    means, counts = speaker_means(
        utterances().matrix, [utterances().rows(members[s].split(), "enrollment") for s in want.ids]
    )
    assert np.abs(means - want.matrix).max() < 1e-6
    assert [f"{s} {n}" for s, n in zip(want.ids, counts, strict=True)] == [
        " ".join(line.split()) for line in text_lines("num_utts.txt")
    ]
    scores = golden_scores(read_plda(GOLDEN / "plda.bin"), enrolled=means)
    assert largest_difference(scores, text_lines("scores.s0.gz")) < 2e-5


def test_global_mean_agrees_with_kaldi() -> None:
    assert np.abs(global_mean(utterances().matrix) - read_vector(GOLDEN / "mean.vec")).max() < 1e-6


def test_lda_training_agrees_with_kaldi() -> None:
    want = read_matrix(GOLDEN / "lda.txt")
    actual = train_lda(
        utterances().matrix, golden_speakers(), lda_dim=16, total_covariance_factor=0.1
    )
    assert actual.shape == want.shape
    assert actual.dtype == np.float32
    signs = np.sign((actual * want).sum(axis=1, keepdims=True))
    assert np.abs(actual * signs - want).max() < 1e-6


def test_plda_training_agrees_with_kaldi() -> None:
    actual = train_plda(utterances().matrix, golden_speakers())
    want = read_plda(GOLDEN / "plda.bin")
    signs = np.sign((actual.transform * want.transform).sum(axis=1, keepdims=True))
    assert actual.mean == pytest.approx(want.mean, abs=1e-12)
    assert actual.psi == pytest.approx(want.psi, abs=1e-10)
    assert actual.transform * signs == pytest.approx(want.transform, abs=1e-10)
    assert largest_difference(golden_scores(actual), text_lines("scores.s0.gz")) < 1e-4


# --- against the slow implementation


def draw_matrix(generator: np.random.Generator, count: int, dimension: int) -> FloatMatrix:
    scale = generator.choice([1e-3, 1.0, 30.0])
    return (scale * generator.normal(size=(count, dimension))).astype(np.float32)


def draw_plda(generator: np.random.Generator, dimension: int) -> Plda:
    psi = generator.choice([0.0, 1e-9, 0.3, 4.0, 1e3], size=dimension)
    psi *= generator.uniform(0.5, 1.5, size=dimension)
    transform = generator.normal(size=(dimension, dimension))
    return Plda(generator.normal(size=dimension), transform, psi)


def as_slow(plda: Plda) -> slow.Plda:
    return slow.Plda(plda.mean, plda.transform, plda.psi)


def one_float32_apart(want: NDArray[np.float32]) -> NDArray[np.float64]:
    """Spacing of float32 at the largest value: the allowed rounding difference."""
    return np.spacing(np.abs(want).max()).astype(np.float64) + np.zeros(want.shape)


def assert_near(actual: NDArray[np.float32], want: object) -> None:
    expected = np.array(want, dtype=np.float32)
    assert actual.dtype == np.float32
    assert actual.shape == expected.shape
    assert (np.abs(actual - expected) <= one_float32_apart(expected)).all()


@settings(max_examples=40)
@given(seed=seeds, dimension=st.integers(1, 6), offset=st.booleans())
def test_steps_agree_with_reference(seed: int, dimension: int, offset: bool) -> None:
    generator = np.random.default_rng(seed)
    x = draw_matrix(generator, 5, dimension)
    mean = draw_matrix(generator, 1, dimension)[0]
    matrix = draw_matrix(generator, int(generator.integers(1, 8)), dimension + offset)
    assert subtract_mean(x, mean).tolist() == [slow.subtract_mean(v, mean).tolist() for v in x]
    assert_near(apply_transform(x, matrix), [slow.transform(v, matrix) for v in x])
    for scale_up in (True, False):
        assert_near(
            normalize_length(x, scale_up=scale_up),
            [slow.normalize_length(v, scale_up=scale_up) for v in x],
        )


@settings(max_examples=40)
@given(
    seed=seeds,
    members=st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=9), min_size=1, max_size=5),
)
def test_means_agree_with_reference(seed: int, members: list[list[int]]) -> None:
    """Bit for bit: the sum is float32, in the order of the utterances."""
    x = draw_matrix(np.random.default_rng(seed), 7, 4)
    means, counts = speaker_means(x, members)
    assert means.tolist() == [slow.mean_of([x[row] for row in own]).tolist() for own in members]
    assert counts.tolist() == [len(own) for own in members]


@each_normalization
@settings(max_examples=40)
@given(seed=seeds, dimension=st.integers(1, 6), same_count=st.booleans())
def test_plda_agrees_with_reference(
    seed: int, dimension: int, same_count: bool, normalization: LengthNormalization
) -> None:
    generator = np.random.default_rng(seed)
    plda = draw_plda(generator, dimension)
    enrolled, trial = draw_matrix(generator, 4, dimension), draw_matrix(generator, 6, dimension)
    counts = generator.integers(1, 40, size=4)
    if same_count:
        counts[:] = counts[0]
    first = plda_transform(enrolled, plda, counts, normalization=normalization)
    second = plda_transform(trial, plda, normalization=normalization)
    name, model = NORMALIZATIONS[normalization], as_slow(plda)
    for actual, x, n in ((first, enrolled, counts.tolist()), (second, trial, [1] * 6)):
        want = [slow.plda_transform(model, v, m, name) for v, m in zip(x, n, strict=True)]
        for row, expected in zip(actual, want, strict=True):
            assert_near(row, expected)
    scores = plda_scores(first, counts, second, plda)
    assert scores.dtype == np.float32
    want = np.array(
        [
            [slow.log_likelihood_ratio(model, e, n, y) for y in second]
            for e, n in zip(first, counts.tolist(), strict=True)
        ]
    )
    # Terms that cancel may be far larger than the score.
    largest = max(float((v.astype(np.float64) ** 2).sum()) for v in (*first, *second))
    allowed = np.spacing(np.abs(want).astype(np.float32)) + 1e-13 * (largest + 1)
    assert (np.abs(scores - want) <= allowed).all()
    if same_count:
        assert np.array_equal(scores, plda_scores(first, int(counts[0]), second, plda))


def draw_speakers(
    generator: np.random.Generator, dimension: int, counts: list[int]
) -> tuple[FloatMatrix, list[str]]:
    """Vectors of speakers that differ, in a mixed order."""
    names = [f"s{number}" for number, count in enumerate(counts) for _ in range(count)]
    centres = generator.normal(scale=2, size=(len(counts), dimension))
    stretch = generator.uniform(0.3, 3, size=dimension)
    number = np.repeat(np.arange(len(counts)), counts)
    x = (centres[number] + generator.normal(size=(len(names), dimension))) * stretch + 4
    order = generator.permutation(len(names))
    return x[order].astype(np.float32), [names[i] for i in order]


def as_lists(x: FloatMatrix, names: list[str]) -> tuple[slow.Lists, slow.Vectors]:
    """Vectors and their speakers as the slow implementation takes them."""
    spk2utt: slow.Lists = {}
    for row, name in enumerate(names):
        spk2utt.setdefault(name, []).append(f"u{row}")
    return spk2utt, {f"u{row}": v for row, v in enumerate(x)}


unequal_counts = st.lists(st.integers(1, 9), min_size=8, max_size=14)


@settings(max_examples=30)
@given(
    seed=seeds,
    dimension=st.integers(1, 5),
    counts=unequal_counts,
    factor=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_lda_agrees_with_reference(
    seed: int, dimension: int, counts: list[int], factor: float
) -> None:
    """Equal up to the signs of rows, which are sorted by their eigenvalues."""
    assume(sum(counts) > len(counts) + dimension)
    x, names = draw_speakers(np.random.default_rng(seed), dimension, counts)
    actual = train_lda(x, names, lda_dim=dimension, total_covariance_factor=factor)
    want = slow.train_lda(*as_lists(x, names), dimension, float(np.float32(factor)))
    square, expected = (m[:, :-1].T @ m[:, :-1] for m in (actual, want))
    assert square == pytest.approx(expected, rel=1e-3, abs=1e-4 * float(np.abs(expected).max()))
    signs = np.sign((actual * want).sum(axis=1, keepdims=True))
    close = np.abs(actual * signs - want).max(axis=1) < 1e-3 * np.abs(want).max()
    assert close.all() or dimension > 1  # eigenvectors of near eigenvalues may mix
    for lda_dim in range(1, dimension):
        fewer = train_lda(x, names, lda_dim=lda_dim, total_covariance_factor=factor)
        assert np.array_equal(fewer, actual[:lda_dim])


@settings(max_examples=30)
@given(seed=seeds, dimension=st.integers(1, 5), counts=unequal_counts)
def test_plda_training_agrees_with_reference(seed: int, dimension: int, counts: list[int]) -> None:
    assume(sum(counts) > len(counts) + dimension)
    x, names = draw_speakers(np.random.default_rng(seed), dimension, counts)
    actual, want = train_plda(x, names), slow.train_plda(*as_lists(x, names))
    assert actual.mean == pytest.approx(want.mean, rel=1e-12, abs=1e-12)
    assert actual.psi == pytest.approx(want.psi, rel=1e-8, abs=1e-10)
    assert (np.diff(actual.psi) <= 0).all()
    # Inverse covariance within speakers, and covariance between them in its terms: what
    # does not depend on signs, nor on which eigenvector of equal ones is taken.
    for diagonal in (lambda p: np.ones_like(p.psi), lambda p: p.psi):
        square, expected = (
            p.transform.T @ np.diag(diagonal(p)) @ p.transform for p in (actual, want)
        )
        assert square == pytest.approx(expected, abs=1e-8 * float(np.abs(expected).max()))


@settings(max_examples=40)
@given(seed=seeds, counts=unequal_counts, lda_dim=st.integers(1, 4))
def test_trained_backend_agrees_with_reference(seed: int, counts: list[int], lda_dim: int) -> None:
    """From raw x-vectors to scores, by a model trained from raw x-vectors."""
    assume(sum(counts) > len(counts) + 4)
    generator = np.random.default_rng(seed)
    x, names = draw_speakers(generator, 4, counts)
    model = train_backend(x, names, lda_dim=lda_dim)
    assert model.mean is not None
    assert model.dimension() == 4
    spk2utt, by_id = as_lists(x, names)
    mean, matrix, plda = slow.train_back_end(spk2utt, by_id, lda_dim)
    ready = [normalize_length(m) for m in (model.transform[:, :-1], matrix[:, :-1])]
    assume(np.abs(np.abs(ready[0]) - np.abs(ready[1])).max() < 1e-4)  # no eigenvalues alike
    lines = slow.challenge_scores(
        plda, mean, matrix, spk2utt, by_id, by_id, [(s, u) for s in spk2utt for u in by_id]
    )
    members = [[int(u[1:]) for u in own] for own in spk2utt.values()]
    scores = score_matrix(*speaker_means(x, members), x, model=model)
    want = np.array([float(line.split()[2]) for line in lines]).reshape(scores.shape)
    assert np.abs(scores - want).max() < 1e-3 * max(1, np.abs(want).max())


@settings(max_examples=30)
@given(seed=seeds, dimension=st.integers(1, 6), tied=st.booleans())
def test_cosine_and_euclidean_agree_with_loops(seed: int, dimension: int, tied: bool) -> None:
    generator = np.random.default_rng(seed)
    enrolled, trial = draw_matrix(generator, 4, dimension), draw_matrix(generator, 5, dimension)
    if tied:
        enrolled, trial = (np.round(x / np.abs(x).max() * 2) for x in (enrolled, trial))
        trial[0] = enrolled[0]
    offset = np.float32(generator.choice([0.0, 1000.0]))
    cosine, euclidean = (
        cosine_scores(enrolled, trial),
        euclidean_scores(enrolled + offset, trial + offset),
    )
    for i, e in enumerate(enrolled.astype(float).tolist()):
        for j, y in enumerate(trial.astype(float).tolist()):
            norms = math.hypot(*e) * math.hypot(*y)
            want = sum(a * b for a, b in zip(e, y, strict=True)) / norms if norms else 0.0
            assert cosine[i, j] == pytest.approx(want, abs=2e-7)
            shifted = [float(v) for v in (enrolled[i] + offset) - 0.0]
            other = [float(v) for v in (trial[j] + offset) - 0.0]
            assert euclidean[i, j] == pytest.approx(-math.dist(shifted, other), rel=2e-7)
    if tied:
        assert euclidean[0, 0] == 0


# --- by hand


def log_density(x: float, mean: float, variance: float) -> float:
    return -0.5 * (math.log(2 * math.pi * variance) + (x - mean) ** 2 / variance)


def test_plda_scores_in_one_dimension() -> None:
    """Against the densities: y given e is N(mu, v), y alone N(0, 1 + psi)."""
    plda = Plda(np.array([1.0]), np.array([[2.0]]), np.array([3.0]))
    enrolled, trial = rows([0.5], [-2.0]), rows([-1.25], [4.0], [0.0])
    counts = [1, 4]
    scores = plda_scores(enrolled, counts, trial, plda)
    for i, n in enumerate(counts):
        mu, v = n * 3 / (n * 3 + 1) * float(enrolled[i, 0]), 1 + 3 / (n * 3 + 1)
        for j, y in enumerate(trial[:, 0].tolist()):
            want = log_density(y, mu, v) - log_density(y, 0, 4)
            assert scores[i, j] == pytest.approx(want, rel=1e-6)


def test_plda_transform_by_hand() -> None:
    """z = 2 (x - 1): (4, -6). With psi (3, 0) and n = 1: 16/4 + 36/1 = 40, factor
    sqrt(2/40); with n = 4: 16/3.25 + 36/0.25; simple: 52."""
    plda = Plda(np.ones(2), 2 * np.eye(2), np.array([3.0, 0.0]))
    x = rows([3, -2])
    z = np.array([[4.0, -6.0]])
    for n, energy in ((1, 40), (4, 16 / 3.25 + 144)):
        assert plda_transform(x, plda, n) == pytest.approx(z * math.sqrt(2 / energy), rel=1e-6)
    simple = plda_transform(x, plda, 4, normalization="simple")
    assert simple == pytest.approx(z * math.sqrt(2 / 52), rel=1e-6)
    assert plda_transform(x, plda, 4, normalization="none").tolist() == z.tolist()


def test_preparing_by_hand() -> None:
    """(3, 4, 1) - (1, 0, 1) = (2, 4, 0); by the transform (2 + 1, 4 - 8) = (3, -4) of norm
    5; to norm sqrt(2)."""
    model = PldaBackend(
        Plda(np.zeros(2), np.eye(2), np.ones(2)),
        np.array([1, 0, 1], dtype=np.float32),
        rows([1, 0, 0, 1], [0, 1, 5, -8]),
    )
    want = np.array([[3, -4]]) * math.sqrt(2) / 5
    assert model.prepare([[3, 4, 1]]) == pytest.approx(want, rel=1e-6)
    assert model.dimension() == 3


def test_means_and_lengths_by_hand() -> None:
    x = rows([1, 2], [3, 6], [-3, 4])
    means, counts = speaker_means(x, [[0, 1], [2], [1, 1]])
    assert means.tolist() == [[2, 4], [-3, 4], [3, 6]]
    assert counts.tolist() == [2, 1, 2]
    assert normalize_length(x[2:], scale_up=False) == pytest.approx(rows([-0.6, 0.8]))
    assert normalize_length(x[2:]) == pytest.approx(rows([-0.6, 0.8]) * math.sqrt(2))


def test_cosine_and_euclidean_by_hand() -> None:
    enrolled, trial = rows([3, 4], [0, 0], [0, -1e-30]), rows([4, 3], [-3, -4], [0, 0])
    cosine = cosine_scores(enrolled, trial)
    assert cosine == pytest.approx(rows([0.96, -1, 0], [0, 0, 0], [-0.6, 0.8, 0]), rel=1e-6)
    euclidean = euclidean_scores(enrolled[:2], trial)
    assert euclidean == pytest.approx(rows([-math.sqrt(2), -10, -5], [-5, -5, 0]), rel=1e-6)


# --- singular cases


def test_a_zero_vector_stays_zero() -> None:
    zero = np.zeros((2, 3), dtype=np.float32)
    plda = Plda(np.zeros(3), np.eye(3), np.array([2.0, 1.0, 0.0]))
    assert not normalize_length(zero).any()
    assert not normalize_length(zero, scale_up=False).any()
    for normalization in NORMALIZATIONS:
        assert not plda_transform(zero, plda, [1, 5], normalization=normalization).any()
    # 1/2 sum log(1 + psi) - log v: (1/2) log of 3 / (5/3) and 2 / (3/2).
    want = 0.5 * math.log(3 / (5 / 3) * 2 / 1.5)
    assert score_matrix(zero, 1, zero, model=PldaBackend(plda)) == pytest.approx(
        np.full((2, 2), want), rel=1e-6
    )


@pytest.mark.filterwarnings("error")
@settings(max_examples=60)
@given(
    x=st.lists(
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=4,
    )
)
@example(x=[[1e-42, 0, 0], [1e-40, 1e-41, 0], [0, 1e-37, 0], [0, 3e38, -3e38]])
def test_any_vector_is_normalized(x: list[list[float]]) -> None:
    """The shortest vectors may become zero; none becomes NaN."""
    matrix = rows(*x)
    for scale_up, length in ((True, math.sqrt(3)), (False, 1)):
        actual = normalize_length(matrix, scale_up=scale_up)
        norm = np.linalg.norm(actual.astype(np.float64), axis=1)
        long_enough = np.linalg.norm(matrix.astype(np.float64), axis=1) > 3e-38
        assert norm[long_enough] == pytest.approx(np.full(long_enough.sum(), length), rel=1e-6)
        assert ((norm == 0) | (np.abs(norm - length) < 1e-6))[~long_enough].all()


def test_zero_between_speaker_variance_is_uninformative() -> None:
    plda = Plda(np.zeros(3), np.eye(3), np.zeros(3))
    x = draw_matrix(np.random.default_rng(0), 5, 3)
    scores = plda_scores(x[:2], [1, 7], x, plda)
    assert not scores.any()
    assert not score_matrix(x, 3, x, model=PldaBackend(plda)).any()


@pytest.mark.parametrize("backend", ["plda", "cosine", "euclidean"])
def test_equal_vectors_have_equal_scores(backend: str) -> None:
    generator = np.random.default_rng(1)
    x, names = draw_speakers(generator, 7, [4] * 9)
    same = np.repeat(x[:1], 33, axis=0)
    scores = score_matrix(same, 1, same, backend=backend, model=train_backend(x, names))  # type: ignore[arg-type]
    assert np.unique(scores).size == 1
    assert scores[0, 0] == {"cosine": 1, "euclidean": 0}.get(backend, scores[0, 0])
    assert not np.signbit(scores).any()  # no score file says -0


@settings(max_examples=30)
@given(seed=seeds, dimension=st.integers(1, 20))
def test_equal_vectors_have_zero_distance(seed: int, dimension: int) -> None:
    """Near vectors have an accurate distance at any offset."""
    generator = np.random.default_rng(seed)
    x = draw_matrix(generator, 12, dimension) + np.float32(generator.choice([0, 100]))
    assert not np.diagonal(euclidean_scores(x, x)).any()
    near = np.nextafter(x, np.float32(np.inf))
    want = [-math.dist(a, b) for a, b in zip(x.tolist(), near.tolist(), strict=True)]
    assert np.diagonal(euclidean_scores(x, near)) == pytest.approx(np.array(want), rel=1e-6)


@pytest.mark.filterwarnings("error")
def test_huge_vectors_give_infinite_scores() -> None:
    """Callers refuse them; no warning is raised."""
    x = np.full((2, 3), 3e38, dtype=np.float32)
    model = PldaBackend(Plda(np.zeros(3), np.eye(3), np.ones(3)), -x[0], None)
    assert np.isnan(score_matrix(x, 1, x, model=model)).all()
    assert np.isinf(speaker_means(x, [[0, 1]])[0]).all()
    assert score_matrix(x, 1, -x, backend="euclidean").tolist() == [[-np.inf] * 2] * 2
    assert score_matrix(x, 1, -x, backend="cosine") == pytest.approx(np.full((2, 2), -1.0))


# --- properties


@settings(max_examples=30)
@given(seed=seeds, dimension=st.integers(1, 6))
def test_single_utterance_scores_are_symmetric(seed: int, dimension: int) -> None:
    generator = np.random.default_rng(seed)
    x, plda = draw_matrix(generator, 6, dimension), draw_plda(generator, dimension)
    for scores in (
        score_matrix(x, 1, x, model=PldaBackend(plda)),
        cosine_scores(x, x),
        euclidean_scores(x, x),
    ):
        assert np.abs(scores - scores.T).max() <= 4e-7 * np.abs(scores).max()


@settings(max_examples=30)
@given(seed=seeds, n=st.integers(1, 9))
def test_scores_do_not_depend_on_signs_and_order_of_rows(seed: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    x, plda = draw_matrix(generator, 6, 4), draw_plda(generator, 4)
    signs, order = generator.choice([-1.0, 1.0], size=4), generator.permutation(4)
    turned = Plda(plda.mean, (signs[:, None] * plda.transform)[order], plda.psi[order])
    actual, want = (score_matrix(x, n, x, model=PldaBackend(p)) for p in (turned, plda))
    assert np.abs(actual - want).max() <= 1e-5 * max(1, np.abs(want).max())


@pytest.mark.parametrize("backend", ["plda", "cosine", "euclidean"])
@pytest.mark.parametrize("block_rows", [1, 2, 5])
def test_scores_do_not_depend_on_blocks(
    backend: str, block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many speakers are scored in blocks."""
    generator = np.random.default_rng(2)
    enrolled, trial = draw_matrix(generator, 7, 4), draw_matrix(generator, 9, 4)
    counts, model = generator.integers(1, 4, size=7), PldaBackend(draw_plda(generator, 4))
    arguments = (enrolled, counts, trial)
    want = score_matrix(*arguments, backend=backend, model=model)  # type: ignore[arg-type]
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 9 * block_rows)
    scores = score_matrix(*arguments, backend=backend, model=model)  # type: ignore[arg-type]
    assert np.abs(scores - want).max() <= 4e-7 * np.abs(want).max()


def test_default_lda_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LDA_DIM == 200
    x, names = draw_speakers(np.random.default_rng(0), 6, [5] * 8)
    for lda_dim, rows_of_lda in ((200, 6), (4, 4)):
        monkeypatch.setattr(module, "LDA_DIM", lda_dim)
        model = train_backend(x, names)
        assert model.transform.shape == (rows_of_lda, 7)
        assert model.plda.psi.size == rows_of_lda


def test_arguments_are_not_modified() -> None:
    generator = np.random.default_rng(5)
    x, names = draw_speakers(generator, 3, [4] * 6)
    x.flags.writeable = False
    model = train_backend(x, names)
    for array in (model.mean, model.transform, model.plda.mean, model.plda.transform):
        array.flags.writeable = False
    for backend in module.BACKENDS:
        score_matrix(x, 1, x, backend=backend, model=model)
    speaker_means(x, [[0, 1]])


# --- errors


def small_model(
    plda: int, transform: tuple[int, int] | None = None, mean: int | None = None
) -> PldaBackend:
    return PldaBackend(
        Plda(np.zeros(plda), np.eye(plda), np.ones(plda)),
        None if mean is None else np.zeros(mean, dtype=np.float32),
        None if transform is None else np.zeros(transform, dtype=np.float32),
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (small_model(2, (3, 4), 4), "LDA gives 3 dimensions, PLDA expects 2"),
        (small_model(2, (2, 4), 5), "mean has 5 dimensions, the next step expects 3 or 4"),
        (small_model(2, (2, 4), 2), "mean has 2 dimensions, the next step expects 3 or 4"),
        (small_model(2, None, 3), "mean has 3 dimensions, the next step expects 2$"),
    ],
)
def test_inconsistent_models_are_refused(model: PldaBackend, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        model.dimension()
    with pytest.raises(PrivacyEvalError, match=message):
        model.prepare(np.zeros((1, 4)))


@pytest.mark.parametrize(
    ("model", "dimension"),
    [
        (small_model(2), 2),
        (small_model(2, (2, 4), 4), 4),
        (small_model(2, (2, 4), 3), 3),
        (small_model(2, None, 2), 2),
    ],
)
def test_dimensions_of_models(model: PldaBackend, dimension: int) -> None:
    assert model.dimension() == dimension
    assert model.prepare(np.ones((3, dimension))).shape == (3, 2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (small_model(2, (2, 4), 4), "vectors of 5 dimensions, the model's mean has 4"),
        (small_model(2, (2, 4)), "vectors of 5 dimensions, the transform takes 4 or 3"),
        (small_model(2), "vectors of 5 dimensions, the PLDA model has 2"),
    ],
)
def test_vectors_of_another_dimension_are_refused(model: PldaBackend, message: str) -> None:
    x = np.ones((2, 5), dtype=np.float32)
    with pytest.raises(PrivacyEvalError, match=message):
        score_matrix(x, 1, x, model=model)


def test_enrollment_and_trial_dimensions_must_agree() -> None:
    x, y = np.ones((2, 5), dtype=np.float32), np.ones((2, 4), dtype=np.float32)
    for backend in module.BACKENDS:
        with pytest.raises(PrivacyEvalError, match="of 5 dimensions, trial vectors of 4"):
            score_matrix(x, 1, y, backend=backend, model=small_model(5))


def test_invalid_arguments_are_errors() -> None:
    x = np.ones((2, 3), dtype=np.float32)
    with pytest.raises(PrivacyEvalError, match="plda with a model"):
        score_matrix(x, 1, x)
    with pytest.raises(PrivacyEvalError, match="expected a back end of"):
        score_matrix(x, 1, x, backend="lda", model=small_model(3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="normalization must be one of .* not 'counts'"):
        plda_transform(x, small_model(3).plda, normalization="counts")  # type: ignore[arg-type]
    for members in ([], [[0], []]):
        with pytest.raises(ValueError, match="every speaker needs an utterance"):
            speaker_means(x, members)
    with pytest.raises(ValueError, match="2 vectors but 3 speakers"):
        train_plda(x, ["a", "b", "c"])


TRAINING = draw_speakers(np.random.default_rng(0), 3, [4] * 5)


@pytest.mark.parametrize("lda_dim", [0, -1, 4])
def test_lda_dimension_out_of_range_is_refused(lda_dim: int) -> None:
    with pytest.raises(PrivacyEvalError, match=f"LDA to {lda_dim} dimensions: expected 1 to 3"):
        train_backend(*TRAINING, lda_dim=lda_dim)


@pytest.mark.parametrize("factor", [-0.1, 1.5, math.nan])
def test_covariance_factor_out_of_range_is_refused(factor: float) -> None:
    with pytest.raises(PrivacyEvalError, match="factor must be within 0 and 1"):
        train_backend(*TRAINING, total_covariance_factor=factor)


def test_training_needs_speakers_and_vectors() -> None:
    x, names = TRAINING
    for train in (train_backend, train_plda):
        with pytest.raises(PrivacyEvalError, match="at least two speakers"):
            train(x, ["one"] * len(x))
    with pytest.raises(PrivacyEvalError, match="needs a speaker with at least two vectors"):
        train_plda(x, [str(i) for i in range(len(x))])
    with pytest.raises(PrivacyEvalError, match="of 3 dimensions needs more .* there are 3"):
        train_plda(x[:3], ["a", "a", "b"])
    assert train_plda(x[:4], ["a", "a", "b", "b"]).psi.size == 3


@settings(max_examples=60)
@given(
    seed=seeds,
    dimension=st.integers(1, 4),
    counts=st.lists(st.integers(1, 6), min_size=2, max_size=8),
    scale=st.sampled_from([1e-3, 1.0, 100.0]),
)
def test_identical_vectors_per_speaker_are_refused(
    seed: int, dimension: int, counts: list[int], scale: float
) -> None:
    """Rounding is not taken for within-speaker variance."""
    generator = np.random.default_rng(seed)
    voices = (scale * generator.normal(size=(len(counts), dimension))).astype(np.float32)
    names = [f"s{i}" for i, count in enumerate(counts) for _ in range(count)]
    with pytest.raises(
        PrivacyEvalError, match="every speaker has a single vector or identical ones"
    ):
        train_backend(np.repeat(voices, counts, axis=0), names)


@pytest.mark.filterwarnings("error")
def test_training_vectors_beyond_float32_are_refused() -> None:
    """They overflow when centred."""
    x = np.full((20, 3), 3.3e38, dtype=np.float32)
    x[::9] *= -1
    with pytest.raises(PrivacyEvalError, match="too large for float32"):
        train_backend(x, TRAINING[1])
