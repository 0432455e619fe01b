"""A slow second implementation of the speaker-verification back end, to test against.

Written from the formulas and formats of Kaldi alone, vector by vector and pair by pair,
so that it shares neither code nor shortcuts with the package. Vectors are float32 arrays
wherever a program of Kaldi would have written them; what happens in between is double.
"""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

Vector = np.ndarray
Vectors = dict[str, Vector]
Lists = dict[str, list[str]]


@dataclass(frozen=True)
class Plda:
    """A PLDA model: mean m, transform A, variances psi between speakers; all double."""

    mean: np.ndarray
    transform: np.ndarray
    psi: np.ndarray


# --- reading


def numbers(text: str) -> list[float]:
    """What stands between the brackets of one row or vector."""
    return [float(word) for word in text.replace("[", " ").replace("]", " ").split()]


def read_lists(path: Path) -> Lists:
    """Lines `<name> <word> <word> ...`, as of spk2utt, utt2spk and num_utts."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    return {words[0]: words[1:] for words in lines}


def read_trials(path: Path) -> list[list[str]]:
    """The words of every line."""
    return [line.split() for line in path.read_text().splitlines()]


def read_binary(stream: BinaryIO) -> np.ndarray:
    """One vector or matrix from its token (`FV `, `DV `, `FM `, `DM `) on."""
    token = stream.read(3)
    assert token in (b"FV ", b"DV ", b"FM ", b"DM "), token
    shape = []
    for _ in range(1 if token[1:2] == b"V" else 2):
        assert stream.read(1) == b"\x04"
        shape.append(struct.unpack("<i", stream.read(4))[0])
    code, width = ("f", 4) if token[:1] == b"F" else ("d", 8)
    count = math.prod(shape)
    values = struct.unpack(f"<{count}{code}", stream.read(count * width))
    return np.array(values, dtype=np.float32 if code == "f" else np.float64).reshape(shape)


def read_array(path: Path) -> np.ndarray:
    """A file that holds one vector or one matrix, such as mean.vec and transform.mat; float32."""
    with path.open("rb") as stream:
        if stream.read(2) == b"\0B":
            return read_binary(stream).astype(np.float32)
    text = path.read_text()
    rows = [numbers(line) for line in text.splitlines() if numbers(line)]
    is_vector = text.strip().count("\n") == 0
    return np.array(rows[0] if is_vector else rows, dtype=np.float32)


def read_scp(path: Path, root: Path) -> Vectors:
    """The vectors that a list of `key path:offset` names, in its order."""
    vectors: Vectors = {}
    for line in path.read_text().splitlines():
        key, place = line.split(maxsplit=1)
        archive, _, offset = place.rpartition(":")
        with (root / archive).open("rb") as stream:
            stream.seek(int(offset))
            assert stream.read(2) == b"\0B", key
            vectors[key] = read_binary(stream).astype(np.float32)
    return vectors


def read_plda(path: Path) -> Plda:
    """A PLDA model, binary or text."""
    with path.open("rb") as stream:
        if stream.read(2) == b"\0B":
            assert stream.read(7) == b"<Plda> "
            parts = [read_binary(stream).astype(np.float64) for _ in range(3)]
            assert stream.read(8) == b"</Plda> "
            return Plda(*parts)
    text = path.read_text().replace("</Plda>", "").replace("<Plda>", "")
    rows = [numbers(line) for line in text.splitlines() if numbers(line)]
    return Plda(np.array(rows[0]), np.array(rows[1:-1]), np.array(rows[-1]))


# --- the way of a vector


def subtract_mean(x: Vector, mean: Vector) -> Vector:
    """ivector-subtract-global-mean."""
    return np.array([float(a) - float(b) for a, b in zip(x, mean, strict=True)], np.float32)


def transform(x: Vector, matrix: np.ndarray) -> Vector:
    """transform-vec: M x, or M [x; 1] where M has one column more than x has values."""
    values = [float(a) for a in x]
    if matrix.shape[1] == len(values) + 1:
        values.append(1.0)
    assert matrix.shape[1] == len(values)
    return np.array([dot(row, values) for row in matrix], np.float32)


def normalize_length(x: Vector, *, scale_up: bool = True) -> Vector:
    """ivector-normalize-length: to norm sqrt(D), or 1; a zero vector stays zero."""
    norm = math.sqrt(math.fsum(float(a) ** 2 for a in x))
    ratio = norm / math.sqrt(len(x)) if scale_up else norm
    if ratio == 0.0:
        return x.astype(np.float32)
    return np.array([float(a) / ratio for a in x], np.float32)


def mean_of(vectors: Sequence[Vector]) -> Vector:
    """ivector-mean of one speaker: float32 sum, times 1/count."""
    total = np.zeros(len(vectors[0]), np.float32)
    for vector in vectors:
        total = total + vector.astype(np.float32)
    return total * np.float32(1.0 / len(vectors))


def speaker_means(spk2utt: Mapping[str, Sequence[str]], vectors: Vectors) -> Vectors:
    """ivector-mean over the utterances found; speakers with none are not there."""
    found = {speaker: found_of(speaker, spk2utt, vectors) for speaker in spk2utt}
    return {speaker: mean_of(these) for speaker, these in found.items() if these}


def speaker_counts(spk2utt: Mapping[str, Sequence[str]], vectors: Vectors) -> dict[str, int]:
    """The number of utterances behind each speaker's mean."""
    counts = {speaker: len(found_of(speaker, spk2utt, vectors)) for speaker in spk2utt}
    return {speaker: count for speaker, count in counts.items() if count}


def found_of(speaker: str, spk2utt: Mapping[str, Sequence[str]], vectors: Vectors) -> list[Vector]:
    return [vectors[utterance] for utterance in spk2utt[speaker] if utterance in vectors]


def prepared(x: Vector, mean: Vector, matrix: np.ndarray) -> Vector:
    """From an x-vector, or a mean of some, to what PLDA is fed with."""
    return normalize_length(transform(subtract_mean(x, mean), matrix))


# --- PLDA


def dot(a: Iterable[float], b: Iterable[float]) -> float:
    return float(np.dot(np.asarray(a, np.float64), np.asarray(b, np.float64)))


def plda_transform(model: Plda, x: Vector, n: int = 1, normalization: str = "counts") -> Vector:
    """The vector, mean of n utterances, in the space of the model; double inside, then float32.
    It is scaled by `counts`, by `simple` length normalization or not at all, `none`."""
    centred = [float(a) - float(m) for a, m in zip(x.astype(np.float32), model.mean, strict=True)]
    z = [dot(row, centred) for row in model.transform]
    if normalization == "none":
        factor = 1.0
    else:
        if normalization == "counts":
            length = sum(a * a / (psi + 1.0 / n) for a, psi in zip(z, model.psi, strict=True))
        else:
            length = sum(a * a for a in z)
        factor = math.sqrt(len(z) / length)
    return np.array([factor * a for a in z], np.float32)


def log_likelihood_ratio(model: Plda, enrolled: Vector, n: int, test: Vector) -> float:
    """LLR of two transformed vectors, as the float32 that Kaldi stores."""
    same = different = 0.0
    for psi, e, y in zip(model.psi.tolist(), enrolled.tolist(), test.tolist(), strict=True):
        mu = n * psi / (n * psi + 1.0) * e
        v = 1.0 + psi / (n * psi + 1.0)
        same += math.log(v) + (y - mu) ** 2 / v
        different += math.log(1.0 + psi) + y**2 / (1.0 + psi)
    return float(np.float32(-0.5 * same + 0.5 * different))


def score_line(enrolled: str, test: str, score: float) -> str:
    """A line of a score file."""
    return f"{enrolled} {test} {score:.7g}"


def plda_scores(
    model: Plda,
    enrolled: Vectors,
    counts: Mapping[str, int],
    test: Vectors,
    trials: Iterable[Sequence[str]],
    normalization: str = "counts",
) -> list[str]:
    """ivector-plda-scoring: the lines of the score file.

    A speaker without an entry in `counts` has 1: no --num-utts is an empty mapping.
    """
    speakers = {
        name: plda_transform(model, x, counts.get(name, 1), normalization)
        for name, x in enrolled.items()
    }
    utterances = {name: plda_transform(model, x, 1, normalization) for name, x in test.items()}
    lines = []
    for speaker, utterance, *_ in trials:
        llr = log_likelihood_ratio(
            model, speakers[speaker], counts.get(speaker, 1), utterances[utterance]
        )
        lines.append(score_line(speaker, utterance, llr))
    return lines


def challenge_scores(
    model: Plda,
    mean: Vector,
    matrix: np.ndarray,
    enroll_spk2utt: Mapping[str, Sequence[str]],
    enroll: Vectors,
    test: Vectors,
    trials: Iterable[Sequence[str]],
) -> list[str]:
    """asv_eval: the lines of the score file, from raw x-vectors."""
    means = speaker_means(enroll_spk2utt, enroll)
    return plda_scores(
        model,
        {speaker: prepared(x, mean, matrix) for speaker, x in means.items()},
        speaker_counts(enroll_spk2utt, enroll),
        {utterance: prepared(x, mean, matrix) for utterance, x in test.items()},
        trials,
    )


# --- training


def train_mean(vectors: Iterable[Vector]) -> Vector:
    """mean.vec: the mean of all vectors, summed in double."""
    stack = list(vectors)
    total = np.zeros(len(stack[0]))
    for x in stack:
        total = total + x.astype(np.float64)
    return (total / len(stack)).astype(np.float32)


def outer(a: np.ndarray) -> np.ndarray:
    return np.outer(a, a)


def descending(symmetric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors (columns), the largest eigenvalue first."""
    values, vectors = np.linalg.eigh(symmetric)
    return values[::-1], vectors[:, ::-1]


def by_speaker(spk2utt: Mapping[str, Sequence[str]], vectors: Vectors) -> list[list[np.ndarray]]:
    """Double vectors of every speaker that has any."""
    found = [found_of(speaker, spk2utt, vectors) for speaker in spk2utt]
    return [[x.astype(np.float64) for x in these] for these in found if these]


def train_lda(
    spk2utt: Mapping[str, Sequence[str]], vectors: Vectors, dim: int, total_factor: float
) -> np.ndarray:
    """ivector-compute-lda: dim x (D + 1), the last column an offset; float32."""
    groups = by_speaker(spk2utt, vectors)
    everything = [x for group in groups for x in group]
    mean = train_mean(everything).astype(np.float64)
    size = len(mean)
    total = np.zeros((size, size))
    between = np.zeros((size, size))
    for x in everything:
        total += outer(x - mean)
    for group in groups:
        centre = sum(x - mean for x in group) / len(group)
        between += len(group) * outer(centre)
    total /= len(everything)
    between /= len(everything)
    within = total - between
    values, u = descending(total_factor * total + (1.0 - total_factor) * within)
    floored = [max(value, 1e-6 * values[0]) for value in values]
    whiten = np.diag([value**-0.5 for value in floored]) @ u.T
    _, v = descending(whiten @ between @ whiten.T)
    rows = v[:, :dim].T @ whiten
    return np.column_stack([rows, -rows @ mean]).astype(np.float32)


def train_plda(
    spk2utt: Mapping[str, Sequence[str]], vectors: Vectors, iterations: int = 10
) -> Plda:
    """ivector-compute-plda."""
    groups = by_speaker(spk2utt, vectors)
    count = sum(len(group) for group in groups)
    size = len(groups[0][0])
    means = [sum(group) / len(group) for group in groups]
    mu = sum(means) / len(means)
    scatter = np.zeros((size, size))
    for group, centre in zip(groups, means, strict=True):
        for x in group:
            scatter += outer(x - centre)
    within, between = np.eye(size), np.eye(size)
    for _ in range(iterations):
        between_sum = np.zeros((size, size))
        within_sum = scatter.copy()
        for group, centre in zip(groups, means, strict=True):
            n = len(group)
            posterior = np.linalg.inv(np.linalg.inv(between) + n * np.linalg.inv(within))
            w = posterior @ (n * np.linalg.inv(within)) @ (centre - mu)
            between_sum += posterior + outer(w)
            within_sum += n * (posterior + outer(centre - mu - w))
        between = between_sum / len(groups)
        within = within_sum / count
    whiten = np.linalg.inv(np.linalg.cholesky(within))
    psi, u = descending(whiten @ between @ whiten.T)
    return Plda(mu, u.T @ whiten, np.array([max(value, 0.0) for value in psi]))


def train_back_end(
    spk2utt: Mapping[str, Sequence[str]], vectors: Vectors, dim: int = 200
) -> tuple[Vector, np.ndarray, Plda]:
    """mean.vec, transform.mat and plda, as the challenge trains them."""
    mean = train_mean(vectors.values())
    centred = {key: subtract_mean(x, mean) for key, x in vectors.items()}
    matrix = train_lda(spk2utt, centred, dim, 0.0)
    ready = {key: normalize_length(transform(x, matrix)) for key, x in centred.items()}
    return mean, matrix, train_plda(spk2utt, ready)
