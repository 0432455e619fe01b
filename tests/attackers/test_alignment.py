"""Aligned and normalized attackers: golden scores of real and of simulated vectors, slow second
implementations, and the verb."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from attacker_support import REAL_B2, golden_scores, golden_vectors, read_score_file, spk2utt_lines
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import ATTACKERS, Run, cli, command, lines_to, needs_attackers, options_of

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.cosine import mean_unit_vectors, unit_vectors
from privacy_eval.asv.inputs import load_enrollment
from privacy_eval.asv.shared_speech import shared_speakers
from privacy_eval.attackers.alignment import (
    PENALTIES,
    Alignment,
    AlignmentName,
    Cohorts,
    align,
    aligned_scores,
    cohort_statistics,
    normalize_scores,
    ridge,
)
from privacy_eval.choices import ALIGNMENTS
from privacy_eval.io.scores import read_trial_list

Array = NDArray[np.float64]


def drawn(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


# --- slow second implementations


def left_out_errors(x: Array, y: Array) -> list[float]:
    """Fit without each row, for each penalty, and predict it."""
    errors = []
    for penalty in PENALTIES:
        squares = []
        for row in range(len(x)):
            kept = np.arange(len(x)) != row
            mean_x, mean_y = x[kept].mean(axis=0), y[kept].mean(axis=0)
            a, b = x[kept] - mean_x, y[kept] - mean_y
            matrix = np.linalg.solve(a.T @ a + penalty * np.eye(x.shape[1]), a.T @ b)
            squares.append((mean_y + (x[row] - mean_x) @ matrix - y[row]) ** 2)
        errors.append(float(np.mean(squares)))
    return errors


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_ridge_leaves_out_one_pair_at_a_time(rows: int, d: int, m: int, seed: int) -> None:
    """Also with fewer pairs than dimensions."""
    x, y = unit_vectors(drawn(seed, rows, d)), drawn(seed + 1, rows, m)
    matrix, errors = ridge(x, y)
    assert errors == pytest.approx(left_out_errors(x, y), rel=1e-6)
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    solved = np.linalg.solve(a.T @ a + PENALTIES[errors.argmin()] * np.eye(d), a.T @ b)
    assert matrix == pytest.approx(solved, rel=1e-6, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(2, 7), st.integers(2, 9), st.integers(0, 99)
)
def test_normalization_is_that_of_loops(e: int, t: int, c: int, top: int, seed: int) -> None:
    enrolled, tried = drawn(seed, e, 3), drawn(seed + 1, t, 3)
    cohorts = Cohorts(drawn(seed + 2, c, 3), drawn(seed + 3, c, 3), top)
    alignment = align("centered", drawn(seed + 4, 5, 3), drawn(seed + 5, 5, 3))

    def cosine(a: Array, b: Array) -> float:
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    a = [x - alignment.original.offset for x in enrolled]
    b = [x - alignment.anonymized.offset for x in tried]
    scores = aligned_scores(enrolled, tried, alignment, cohorts)
    for i, j in np.ndindex(e, t):
        parts = []
        for one, others in (
            (a[i], [x - alignment.anonymized.offset for x in cohorts.anonymized]),
            (b[j], [x - alignment.original.offset for x in cohorts.original]),
        ):
            largest = sorted((cosine(one, other) for other in others), reverse=True)[:top]
            mean = sum(largest) / len(largest)
            deviation = np.sqrt(sum((x - mean) ** 2 for x in largest) / len(largest))
            parts.append((cosine(a[i], b[j]) - mean) / deviation)
        assert scores[i, j] == pytest.approx(sum(parts) / 2, rel=1e-6)


def test_procrustes_is_the_best_rotation() -> None:
    a, b = unit_vectors(drawn(0, 30, 4)), unit_vectors(drawn(1, 30, 4))
    learnt = align("procrustes", a, b)
    matrix = learnt.original.matrix
    expected, _ = scipy.linalg.orthogonal_procrustes(a - a.mean(axis=0), b - b.mean(axis=0))
    assert matrix == pytest.approx(expected)
    # Whichever side is turned: the cosines are the same.
    e, t = drawn(2, 3, 4), drawn(3, 5, 4)
    back = Alignment(learnt.original, learnt.anonymized)
    turned = (t - learnt.anonymized.offset) @ matrix.T
    plain = unit_vectors(e - learnt.original.offset) @ unit_vectors(turned).T
    assert aligned_scores(e, t, back) == pytest.approx(plain)


def test_large_blocks_are_computed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, cohort = drawn(0, 40, 3), drawn(1, 40, 3), drawn(2, 6, 3)
    whole = ridge(x, y)[1], cohort_statistics(x, cohort, 2)
    monkeypatch.setattr("privacy_eval.attackers.alignment._VALUES_AT_ONCE", 20)
    monkeypatch.setattr("privacy_eval.attackers.alignment._SCORES_AT_ONCE", 20)
    pieces = ridge(x, y)[1], cohort_statistics(x, cohort, 2)
    assert all(a == pytest.approx(b) for a, b in zip(pieces, whole, strict=True))


@pytest.mark.parametrize(
    ("what", "fact"),
    [
        (lambda: align("shift", [[1.0]], [[1.0]]), "at least 2 pairs"),
        (lambda: align("shift", [[1.0], [0.0]], [[1.0]]), "pairs"),
        (lambda: unit_vectors([[1.0], [0.0]]), "1 of 2 vectors are zero"),
        (lambda: cohort_statistics([[1.0]], [[2.0]]), "cohort of 1 speakers"),
        (lambda: cohort_statistics([[1.0]], [[2.0, 1.0]]), "1 and of 2 dimensions"),
        (
            lambda: aligned_scores(np.eye(3), np.eye(3), align("centered", np.eye(2), np.eye(2))),
            "learnt from those of 2",
        ),
    ],
)
def test_what_cannot_be_computed_is_an_error(what: object, fact: str) -> None:
    assert callable(what)
    with pytest.raises(PrivacyEvalError, match=fact):
        what()


def test_normalized_scores_do_not_depend_on_the_scale_of_the_cohorts() -> None:
    scores, e, t = (
        drawn(0, 3, 4),
        np.array([[1.0] * 3, [2.0] * 3]),
        np.array([[0.0] * 4, [1.0] * 4]),
    )
    assert normalize_scores(5 * scores, 5 * e, 5 * t) == pytest.approx(
        normalize_scores(scores, e, t)
    )


# --- golden scores


@pytest.fixture(scope="module")
def real() -> dict[tuple[str, str], Array]:
    return {key: unit_vectors(v.matrix) for key, v in golden_vectors().items()}


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """spk2utt of the speakers of the trials, and of training."""
    folder = tmp_path_factory.mktemp("lists")
    for part in ("train", "test"):
        lines_to(folder / part, spk2utt_lines(REAL_B2 / f"{part}_utt2spk"))
    return folder


@pytest.fixture(scope="module")
def real_sides(real: dict[tuple[str, str], Array], lists: Path) -> tuple[Array, Array, list[Array]]:
    """Enrolled means, trial vectors, and where each trial of the list is."""
    ids = list(golden_vectors()["test", "orig"].ids)
    enrollment = load_enrollment(lists / "test", REAL_B2 / "enrolls").members
    groups = [np.array([ids.index(u) for u in members]) for members in enrollment.values()]
    trials = read_trial_list(REAL_B2 / "trials")
    names = list(enrollment)
    at = [
        np.array([names.index(s) for s in trials.enrolled]),
        np.array([ids.index(u) for u in trials.utterance]),
    ]
    return mean_unit_vectors(real["test", "orig"], groups), real["test", "anon"], at


GOLDEN_SCORES = [
    *((name, "") for name in ALIGNMENTS),
    *(
        (name, kind)
        for name in ("none", "procrustes", "ridge-reverse")
        for kind in ("snorm", "asnorm")
    ),
]


@pytest.mark.parametrize(("name", "kind"), GOLDEN_SCORES)
def test_scores_of_real_speech_are_golden(
    name: AlignmentName,
    kind: str,
    real: dict[tuple[str, str], Array],
    real_sides: tuple[Array, Array, list[Array]],
) -> None:
    enrolled, tried, at = real_sides
    alignment = align(name, real["train", "orig"], real["train", "anon"])
    people = golden_vectors()["train", "orig"].ids
    speaker_of = dict(map(str.split, (REAL_B2 / "train_utt2spk").read_text().splitlines()))
    speakers = np.array([speaker_of[u] for u in people])
    groups = [np.flatnonzero(speakers == s) for s in np.unique(speakers)]
    means = (mean_unit_vectors(real["train", k], groups) for k in ("orig", "anon"))
    cohorts = Cohorts(*means, 100 if kind == "asnorm" else None) if kind else None
    scores = aligned_scores(enrolled, tried, alignment, cohorts)[tuple(at)]
    file = "_".join(["cosine" if name == "none" else name.replace("-", "_"), *filter(None, [kind])])
    expected = list(golden_scores(file).values())
    assert scores == pytest.approx(expected, rel=0, abs=1e-9)


#: Kernels that OpenBLAS takes instead of the machine's own; others ignore the name.
KERNELS = ("", "Prescott", "Nehalem", "Haswell")
DECOMPOSITIONS: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {
    "scipy gesdd": partial(scipy.linalg.svd, lapack_driver="gesdd"),
    "scipy gesvd": partial(scipy.linalg.svd, lapack_driver="gesvd"),
    "numpy": np.linalg.svd,
}


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
@pytest.mark.parametrize("pairs", [5, 40, 251])
def test_rotation_does_not_depend_on_the_decomposition(
    decomposition: str,
    pairs: int,
    real: dict[tuple[str, str], Array],
    real_sides: tuple[Array, Array, list[Array]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows and dimensions in another order, too, are other bases of the null spaces."""
    enrolled, tried, _ = real_sides
    a, b = (real["train", kind][:pairs] for kind in ("orig", "anon"))
    expected = aligned_scores(enrolled, tried, align("procrustes", a, b))
    monkeypatch.setattr(scipy.linalg, "svd", DECOMPOSITIONS[decomposition])
    assert aligned_scores(enrolled, tried, align("procrustes", a, b)) == pytest.approx(
        expected, rel=0, abs=1e-8
    )
    order = np.random.default_rng(0).permutation(a.shape[1])
    turned = align("procrustes", a[::-1, order], b[::-1, order])
    scores = aligned_scores(enrolled[:, order], tried[:, order], turned)
    assert scores == pytest.approx(expected, rel=0, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rotation_does_not_depend_on_the_processor(
    kernel: str, lists: Path, tmp_path: Path
) -> None:
    out = tmp_path / "scores"
    run = command(
        *map(str, verb_options(lists, out, "--align", "procrustes", *TRAIN)),
        cwd=tmp_path,
        OPENBLAS_CORETYPE=kernel,
    )
    assert run.code == 0, run.err
    written, expected = read_score_file(out), golden_scores("procrustes")
    assert list(written) == list(expected)
    assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-8)


def test_penalties_and_errors_are_those_of_scikit_learn(real: dict[tuple[str, str], Array]) -> None:
    facts = json.loads((REAL_B2 / "vectors.json").read_text())
    for name, sides in (("ridge_forward", ("orig", "anon")), ("ridge_reverse", ("anon", "orig"))):
        _, errors = ridge(*(real["train", side] for side in sides))
        assert PENALTIES[errors.argmin()] == pytest.approx(facts[name]["alpha"], rel=1e-12)
        expected = list(facts[name]["leave_one_out_mse"].values())
        assert errors == pytest.approx(expected, rel=1e-9)


# --- whom an attacker has learnt from


@pytest.mark.parametrize(
    ("training", "shared"),
    [
        ({"9-a-1": None, "8-b-1": None}, []),
        ({"9-a-1": None, "1-b-7": None}, ["1-b-7"]),
        ({"9-a-1": "9", "x7": "2"}, ["x7"]),
        ({"1-b-7": "9"}, []),  # its speaker is told
        ({"3-a-2": None}, ["3-a-2"]),  # not enrolled, but tested
        ({"3-a-1": "9"}, ["3-a-1"]),  # the very utterance
    ],
)
def test_training_utterances_of_speakers_of_the_trials(
    training: dict[str, str | None], shared: list[str]
) -> None:
    enrollment = {"1": ["1-a-1", "1-a-2"], "2": ["2-a-1"]}
    assert shared_speakers(training, enrollment, ["1-b-1", "3-a-1"]) == shared


# --- the verb


TRAIN = ("--align-from", REAL_B2 / "train_orig.ark.gz", "--align-to", REAL_B2 / "train_anon.ark.gz")


def cohort(lists: Path) -> tuple[object, ...]:
    both = ("--cohort", TRAIN[1], "--cohort-anonymized", TRAIN[3])
    return (*both, "--cohort-spk2utt", lists / "train")


def verb_options(lists: Path, out: Path, *more: object) -> tuple[object, ...]:
    return (
        *("asv-scores", "--backend", "cosine", "--enroll-vectors", REAL_B2 / "test_orig.ark.gz"),
        *("--spk2utt", lists / "test", "--enrolls", REAL_B2 / "enrolls", "--out", out),
        *("--trial-vectors", REAL_B2 / "test_anon.ark.gz", "--trials", REAL_B2 / "trials", *more),
    )


def verb(lists: Path, out: Path, *more: object) -> Run:
    return cli(*verb_options(lists, out, *more))


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("cosine", ("--align", "none")),
        ("shift", ("--align", "shift", *TRAIN)),
        ("procrustes", ("--align", "procrustes", *TRAIN)),
        ("procrustes_asnorm", ("--align", "procrustes", *TRAIN, "--top", 100)),
        ("ridge_reverse", ("--align", "ridge-reverse", *TRAIN)),
        ("ridge_reverse_asnorm", ("--align", "ridge-reverse", *TRAIN, "--top", 100)),
        ("cosine_snorm", ("--align", "none")),
    ],
)
def test_the_verb_writes_golden_scores(
    name: str, more: tuple[object, ...], lists: Path, tmp_path: Path
) -> None:
    cohorts = cohort(lists) if "norm" in name else ()
    run = verb(lists, tmp_path / "scores", *more, *cohorts)
    assert run.code == 0 and run.out == "", run.err
    written, expected = read_score_file(tmp_path / "scores"), golden_scores(name)
    assert list(written) == list(expected)
    assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-9)
    learns_map = bool({"procrustes", "ridge-reverse"} & {*more})
    assert ("251 pairs for 256 dimensions" in run.err) is learns_map


def test_pairs_are_those_of_both_sides(lists: Path, tmp_path: Path) -> None:
    """Utterances that only one side has are said to be left out; their order does not matter."""
    vectors = golden_vectors()
    rows = slice(0, 40)
    for name, step in (("orig", 1), ("anon", -1)):
        v = vectors["train", name]
        ids, matrix = v.ids[rows][::step], v.matrix[rows][::step]
        some = zip(ids[(2 if step < 0 else 0) :], matrix[(2 if step < 0 else 0) :], strict=True)
        lines_to(tmp_path / name, [f"{u} [ {' '.join(map(repr, x.tolist()))} ]" for u, x in some])
    run = verb(
        *(lists, tmp_path / "scores", "--align", "centered"),
        *("--align-from", tmp_path / "orig", "--align-to", tmp_path / "anon"),
    )
    assert run.code == 0 and "left out 2 utterances" in run.err
    assert "dimensions" not in run.err  # means need no more pairs
    both = set(vectors["train", "orig"].ids[:38])
    means = [
        unit_vectors(v.matrix[[u in both for u in v.ids]]).mean(axis=0)
        for v in (vectors["train", "orig"], vectors["train", "anon"])
    ]
    (speaker, utterance), score = next(iter(read_score_file(tmp_path / "scores").items()))
    enrolled = load_enrollment(lists / "test", REAL_B2 / "enrolls").members[speaker]
    orig, anon = vectors["test", "orig"], vectors["test", "anon"]
    a = unit_vectors(orig.matrix[[u in enrolled for u in orig.ids]]).mean(axis=0) - means[0]
    b = unit_vectors(anon.matrix[[u == utterance for u in anon.ids]])[0] - means[1]
    assert score == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)), abs=1e-12)


OWN = ("--align-from", REAL_B2 / "test_orig.ark.gz", "--align-to", REAL_B2 / "test_anon.ark.gz")
MIXED = ("--align-from", REAL_B2 / "test_orig.ark.gz", "--align-to", REAL_B2 / "train_anon.ark.gz")


@pytest.mark.parametrize(
    ("more", "code", "fact"),
    [
        (("--align", "shift", *OWN), 1, "100 of 100 utterances are of speakers of the trials"),
        (("--align", "shift", *MIXED), 1, "no utterance is in both"),
        (("--align", "none", "cohort of the trials"), 1, "of speakers of the trials"),
        (("--align", "shift"), 2, "--align-from"),
        (TRAIN, 2, "goes with --align"),
        (("--align", "shift", *TRAIN, "--backend", "plda"), 2, "--backend cosine"),
        (("--align", "none", "--top", 3), 2, "--cohort-spk2utt"),
        (("--align", "none", "--cohort", TRAIN[1]), 2, "--cohort-spk2utt"),
    ],
)
def test_what_does_not_go_together_is_refused(
    more: tuple[object, ...], code: int, fact: str, lists: Path, tmp_path: Path
) -> None:
    if "cohort of the trials" in more:
        vectors = ("--cohort", OWN[1], "--cohort-anonymized", OWN[3])
        more = (*more[:2], *vectors, "--cohort-spk2utt", lists / "test")
    given = ["--backend", "cosine"] if "--backend" not in more else []
    run = cli(
        *("asv-scores", *given, "--enroll-vectors", REAL_B2 / "test_orig.ark.gz"),
        *("--spk2utt", lists / "test", "--trial-vectors", REAL_B2 / "test_anon.ark.gz"),
        *("--trials", REAL_B2 / "trials", "--out", tmp_path / "scores", *more),
    )
    assert run.code == code and fact in run.err and not (tmp_path / "scores").exists()


def test_a_cohort_smaller_than_top_is_a_caveat(lists: Path, tmp_path: Path) -> None:
    speakers = len((lists / "train").read_text().splitlines())
    run = verb(lists, tmp_path / "top", "--align", "none", "--top", 9999, *cohort(lists))
    assert run.code == 0 and f"{speakers} speakers of the cohort" in run.err
    assert verb(lists, tmp_path / "all", "--align", "none", *cohort(lists)).code == 0
    assert (tmp_path / "top").read_text() == (tmp_path / "all").read_text()


def test_the_verb_has_every_alignment() -> None:
    assert tuple(options_of("asv-scores")["align"].choices) == ALIGNMENTS


# --- all golden scores, where they are


@needs_attackers
def test_simulated_vectors(tmp_path: Path) -> None:
    golden = ATTACKERS / "vectors/simulated"
    for part in ("train", "test"):
        lines_to(tmp_path / part, spk2utt_lines(golden / f"{part}_utt2spk"))
    train = [golden / f"train_{kind}.ark.gz" for kind in ("orig", "anon")]
    cohorts = ("--cohort", train[0], "--cohort-anonymized", train[1])
    for name in ("procrustes", "ridge-reverse"):
        run = cli(
            *("asv-scores", "--backend", "cosine", "--align", name),
            *("--align-from", train[0], "--align-to", train[1]),
            *("--enroll-vectors", golden / "test_orig.ark.gz", "--spk2utt", tmp_path / "test"),
            *("--enrolls", golden / "enrolls", "--trials", golden / "trials"),
            *("--trial-vectors", golden / "test_anon.ark.gz", "--out", tmp_path / "scores"),
            *(*cohorts, "--cohort-spk2utt", tmp_path / "train", "--top", 100),
        )
        assert run.code == 0 and run.err == ""
        written = read_score_file(tmp_path / "scores")
        expected = read_score_file(golden / f"scores/{name.replace('-', '_')}_asnorm.gz")
        assert list(written) == list(expected)
        assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-9)
