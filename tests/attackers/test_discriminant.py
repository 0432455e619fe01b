"""Attackers who learn from crops, and the spectrum: golden scores, a slow second implementation,
singular cases, the verbs."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from attacker_support import read_score_file
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ATTACKERS, ROOT, Run, cli, lines_to, needs_attackers, ok, refused

import privacy_eval as pe
from privacy_eval.asv.shared_speech import shared_speakers, training_remarks
from privacy_eval.attackers.discriminant import (
    compared_sides,
    lda,
    learn_lda,
    mapped,
    standardization,
)
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.data_dir import utterance_of
from privacy_eval.io.vectors import Vectors
from privacy_eval.metrics.trials import Trials

GOLDEN = ROOT / "tests/data/golden/attackers"
SEMI, SPECTRUM = GOLDEN / "semi", GOLDEN / "spectrum"
SIDES = {"o": "orig", "a": "anon"}


# --- golden scores, by the verb


def scored(out: Path, golden: Path, ends: str, *more: object, lists: Path = SEMI) -> Run:
    """Score a golden set: `ends` are enrollment and trial speech, such as `oa`."""
    of_speaker: dict[str, list[str]] = {}
    for utterance in (lists / "enrolls").read_text().split():
        of_speaker.setdefault(utterance.split("-")[0], []).append(utterance)
    lines_to(out.parent / "spk2utt", (f"{s} {' '.join(us)}" for s, us in of_speaker.items()))
    enrolled, tried = (golden / f"test_{SIDES[end]}.npz" for end in ends)
    return cli(
        *("asv-scores", "--backend", "cosine", "--enroll-vectors", enrolled),
        *("--spk2utt", out.parent / "spk2utt", "--trial-vectors", tried),
        *("--trials", lists / "trials", "--out", out, "--allow-outside", *more),
    )


def crops(golden: Path, kind: str) -> tuple[object, ...]:
    """The options of an attacker's training crops."""
    kinds = ("orig", "anon") if kind == "joint" else ("anon",)
    sets = [word for k in kinds for word in ("--lda", golden / f"train_{k}.npz")]
    return (*sets, "--lda-utt2spk", SEMI / "train_utt2spk")


def check(out: Path, golden: Path) -> None:
    written, expected = read_score_file(out), read_score_file(golden)
    assert list(written) == list(expected)
    assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "ends"), [("anon", "aa"), ("joint", "aa"), ("joint", "oa"), ("joint", "oo")]
)
def test_discriminants_of_golden_crops(tmp_path: Path, kind: str, ends: str) -> None:
    ok(scored(tmp_path / "scores", SEMI, ends, *crops(SEMI, kind)))
    check(tmp_path / "scores", SEMI / f"scores/lda_{kind}_{ends}.gz")


@pytest.mark.parametrize("ends", ["oo", "oa", "aa"])
def test_golden_spectra(tmp_path: Path, ends: str) -> None:
    run = scored(tmp_path / "scores", SPECTRUM, ends, "--standardize")
    assert run.code == 0 and "10 speakers, fewer than 20" in run.err
    check(tmp_path / "scores", SPECTRUM / f"scores/spectrum_{ends}.gz")


@needs_attackers
@pytest.mark.parametrize(("kind", "ends"), [("anon", "aa"), ("joint", "aa"), ("joint", "oa")])
def test_discriminants_of_golden_spectra(tmp_path: Path, kind: str, ends: str) -> None:
    golden = ATTACKERS / "spectrum/real_b2"
    more = ("--standardize", *crops(golden, kind))
    ok(scored(tmp_path / "scores", golden, ends, *more))
    check(tmp_path / "scores", golden / f"scores/spectrum_lda_{kind}_{ends}.gz")


# --- a slow second implementation


def slow_lda(vectors: np.ndarray, names: list[str], most: int, ridge: float) -> np.ndarray:
    """The cosines of all vectors after a discriminant, by whitening and loops."""
    unit = [v / np.sqrt(sum(x * x for x in v)) for v in vectors]
    size, mean = len(unit[0]), sum(unit) / len(unit)
    within, between = np.zeros((size, size)), np.zeros((size, size))
    for name in set(names):
        own = [v for v, n in zip(unit, names, strict=True) if n == name]
        center = sum(own) / len(own)
        between += len(own) * np.outer(center - mean, center - mean) / len(unit)
        for v in own:
            within += np.outer(v - center, v - center) / len(unit)
    within += ridge * np.trace(within) / size * np.eye(size)
    root = np.linalg.inv(np.linalg.cholesky(within))
    left, _, _ = np.linalg.svd(root @ between @ root.T)
    kept = min(most, size, len(set(names)) - 1)
    out = np.array([(root.T @ left[:, :kept]).T @ (v - mean) for v in unit])
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    return out @ out.T


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 7),
    st.lists(st.integers(1, 5), min_size=3, max_size=8).filter(lambda sizes: max(sizes) > 1),
    st.integers(1, 6),
    st.sampled_from([0.01, 0.1, 1.0]),
)
def test_cosines_of_a_second_implementation(
    seed: int, size: int, sizes: list[int], most: int, ridge: float
) -> None:
    generator = np.random.default_rng(seed)
    names = [f"s{n}" for n, count in enumerate(sizes) for _ in range(count)]
    vectors = generator.normal(size=(len(names), size)) + 2 * generator.normal(size=size)
    order = generator.permutation(len(names))
    vectors, names = vectors[order], [names[n] for n in order]
    expected = slow_lda(vectors, names, most, ridge)
    values = pe.lda(vectors, names, dimensions=most, ridge=ridge)(vectors)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    assert values @ values.T == pytest.approx(expected, abs=1e-7)


def test_constant_dimensions_and_other_lengths_change_nothing() -> None:
    generator = np.random.default_rng(1)
    vectors, names = generator.normal(size=(40, 6)), [f"s{n % 8}" for n in range(40)]
    padded = np.hstack([vectors, np.zeros((40, 3))]) * generator.uniform(1, 9, size=(40, 1))
    one = lda(vectors, names, ridge=0.1)(vectors)
    two = lda(padded, names, ridge=0.15)(padded)  # the same penalty: of the mean of 9, not of 6
    assert abs(one) == pytest.approx(abs(two[:, :6]), abs=1e-9)
    constant = np.hstack([vectors, np.full((40, 1), 0.1)])
    assert not standardization(constant)(constant)[:, 6].any()


# --- bad input


@pytest.mark.parametrize(
    ("vectors", "names", "options", "message"),
    [
        (np.eye(3), ["a", "b", "c"], {}, "--crop"),
        (np.eye(3), ["a", "a", "a"], {}, "two speakers"),
        (np.ones((4, 2)), ["a", "a", "b", "b"], {}, "equal"),
        (np.eye(3), ["a", "a"], {}, "2 speakers"),
        (np.array([[1, np.nan], [1, 2], [2, 1]]), ["a", "a", "b"], {}, "not finite"),
        (np.array([[0, 0], [1, 2], [2, 1]]), ["a", "a", "b"], {}, "zero"),
        (np.eye(3), ["a", "a", "b"], {"dimensions": 0}, "at least 1"),
        (np.eye(3), ["a", "a", "b"], {"ridge": 0.0}, "positive"),
    ],
)
def test_what_cannot_be_learnt_from(
    vectors: np.ndarray, names: list[str], options: dict[str, float], message: str
) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        pe.lda(vectors, names, **options)  # type: ignore[arg-type]


def vectors_of(*ids: str, size: int = 3) -> Vectors:
    matrix = np.random.default_rng(0).normal(size=(len(ids), size)).astype(np.float32)
    return Vectors(Path("v"), ids, matrix)


def test_sets_that_do_not_fit() -> None:
    two, three = vectors_of("a-c0", "a-c1", size=2), vectors_of("b-c0", "b-c1")
    speakers = {u: u[0] for u in (*two.ids, *three.ids)}
    with pytest.raises(PrivacyEvalError, match="different dimensions"):
        learn_lda([two, three], speakers, "utt2spk")
    with pytest.raises(PrivacyEvalError, match="no speaker of 2 vectors"):
        learn_lda([three], {}, "utt2spk")
    learnt = learn_lda([vectors_of("a-c0", "a-c1", "b-c0", "b-c1")], speakers, "utt2spk")
    with pytest.raises(PrivacyEvalError, match="2 dimensions"):
        mapped(two, two.ids, "a test", learnt=learnt)


@pytest.mark.parametrize("side", ["anon", "orig"])
def test_speech_of_another_system_is_named(tmp_path: Path, side: str) -> None:
    """Training speech is anonymized, or, as if by another system, original."""
    sets = ("--lda", SEMI / f"train_{side}.npz", "--lda-utt2spk", SEMI / "train_utt2spk")
    run = scored(tmp_path / "scores", SEMI, "aa", *sets)
    assert run.code == 0 and ("another system" in run.err) == (side == "orig")


def test_a_side_of_one_speaker_and_missing_vectors() -> None:
    side = vectors_of("a1", "a2", "b1")
    trials = Trials(enrolled=["a", "a"], utterance=["a1", "b1"], is_target=[True, False])
    one, two = {"a": ["a2"]}, {"a": ["a2"], "b": ["x"]}
    with pytest.raises(PrivacyEvalError, match="one speaker"):
        compared_sides(side, one, side, trials, standardize=True)
    with pytest.raises(PrivacyEvalError, match="no vector for 1 ids"):
        compared_sides(side, two, side, trials)
    first, _, _ = compared_sides(side, two, side, trials, allow_missing=True)
    assert first.ids == ("a2",)


def test_ids_of_crops() -> None:
    assert [utterance_of(u) for u in ("a-b-c12", "a-c0-c1", "a-clip2", "a")] == [
        "a-b",
        "a-c0",
        "",
        "",
    ]
    tried = shared_speakers({"u1-c0": "x", "u2-c0": "x"}, {"a": ["u1"]}, ["u3"])
    assert tried == ["u1-c0"]  # the same recording under another name of the speaker


def test_remarks_on_training_speech() -> None:
    many = [f"s{n}" for n in range(60) for _ in range(2)]
    assert training_remarks(many, "f") == []
    assert "30 training speakers" in training_remarks(many[:60], "f")[0]
    assert "two crops of 60 of 60" in training_remarks(many[::2], "f")[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--lda", SEMI / "train_anon.npz"), "needs --lda-utt2spk"),
        (("--lda-dim", 3), "goes with --lda"),
        (("--standardize", "--align", "none"), "without --align"),
        (("--lda", SEMI / "train_anon.npz", "--lda-utt2spk", SEMI / "trials"), "trials"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, more: tuple[object, ...], message: str
) -> None:
    run = scored(tmp_path / "scores", SEMI, "aa", *more)
    assert run.code in (1, 2) and message in run.err
    assert not (tmp_path / "scores").exists()


@pytest.mark.parametrize("name", ["train_anon", "test_anon", "test_orig"])
def test_vectors_of_another_dimension_are_named(tmp_path: Path, name: str) -> None:
    golden = Path(shutil.copytree(SEMI, tmp_path / "semi"))
    stored = np.load(SEMI / f"{name}.npz")
    np.savez(golden / f"{name}.npz", ids=stored["ids"], vectors=stored["vectors"][:, :200] + 0.01)
    run = scored(tmp_path / "scores", golden, "oa", *crops(golden, "anon"))
    assert run.code == 1 and "dimensions" in run.err and "Traceback" not in run.err


def test_a_data_folders_own_speakers_are_those_of_its_crops(tmp_path: Path) -> None:
    lines = {line.rpartition("-c")[0] for line in (SEMI / "train_utt2spk").read_text().split()}
    lines_to(tmp_path / "utt2spk", (f"{u} {u.split('-')[0]}" for u in sorted(lines - {""})))
    sets = ("--lda", SEMI / "train_anon.npz", "--lda-utt2spk", tmp_path / "utt2spk")
    assert scored(tmp_path / "scores", SEMI, "aa", *sets).code == 0
    check(tmp_path / "scores", SEMI / "scores/lda_anon_aa.gz")


def test_training_speakers_who_are_tried(tmp_path: Path) -> None:
    golden = Path(shutil.copytree(SEMI, tmp_path / "semi"))
    text = (golden / "train_utt2spk").read_text().split("\n", 1)
    crop, _ = text[0].split()
    tried = (golden / "trials").read_text().split()[0]
    (golden / "train_utt2spk").write_text(f"{crop} {tried}\n{text[1]}")
    sets = ("--lda", golden / "train_anon.npz", "--lda-utt2spk", golden / "train_utt2spk")
    refused(scored(tmp_path / "scores", golden, "aa", *sets), crop, "speakers of the trials")
