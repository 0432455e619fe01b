"""Back ends on disk, who is enrolled, and scores of trials; Kaldi's scores of real speech."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_backend as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from support import REAL_TREE, ROOT, assert_golden, lines_to, needs_real_tree

import privacy_eval as pe
from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import BACKENDS, BackendName, PldaBackend, score_matrix, train_backend
from privacy_eval.asv.inputs import Enrollment, TreeVectors, backend_folder, load_enrollment
from privacy_eval.asv.model_folder import StoredBackend, load_backend, save_backend
from privacy_eval.asv.trials import score_trials
from privacy_eval.errors import InputWarning
from privacy_eval.io.scores import format_scores, read_scores, read_trial_list, read_trials
from privacy_eval.io.vectors import (
    Plda,
    Vectors,
    read_plda,
    read_vectors,
    write_plda,
    write_vector,
    write_vectors,
)
from privacy_eval.metrics import (
    VARIANTS,
    TrialScores,
    Variant,
    kaldi_eer,
    score_metrics,
    similarity_matrix,
    similarity_metrics,
    zebra_tag,
)
from privacy_eval.metrics.pairing import pair
from privacy_eval.metrics.similarity import deid_and_gvd
from privacy_eval.metrics.trials import Trials
from privacy_eval.protocol.protocol import AsvModel, load_protocol

GOLDEN = ROOT / "tests" / "data" / "golden" / "plda"
HERE = Path("vectors.scp")


def make_vectors(ids: Sequence[str], matrix: ArrayLike, path: Path = HERE) -> Vectors:
    return Vectors(path, tuple(ids), np.array(matrix, dtype=np.float32))


def random_vectors(ids: Sequence[str], seed: int = 0, dimension: int = 3) -> Vectors:
    return make_vectors(ids, np.random.default_rng(seed).normal(size=(len(ids), dimension)))


def random_model(dimension: int = 3, seed: int = 0) -> PldaBackend:
    generator = np.random.default_rng(seed)
    speakers = [f"s{i % 6}" for i in range(30)]
    voices = generator.normal(scale=2, size=(6, dimension))[[i % 6 for i in range(30)]]
    x = voices + generator.normal(size=(30, dimension)) + 1
    return train_backend(x.astype(np.float32), speakers)


def enrollment_of(**members: str) -> Enrollment:
    return Enrollment(Path("spk2utt"), {s: tuple(u.split()) for s, u in members.items()})


@pytest.fixture
def trial_list(tmp_path: Path) -> Any:
    def write(*lines: str) -> Trials:
        return read_trial_list(lines_to(tmp_path / "trials", lines))

    return write


ENROLLED = random_vectors(["a1", "a2", "b1", "b2", "c1"], seed=1)
TRIAL = random_vectors(["t1", "t2", "t3"], seed=2)
MEMBERS = enrollment_of(a="a1 a2", b="b2 b1", c="c1")


# --- models


def test_model_folder_round_trips(tmp_path: Path) -> None:
    """`mean.vec` is text of 7 digits, as Kaldi writes it; the others are binary."""
    model = random_model(5)
    save_backend(tmp_path, model)
    stored = load_backend(tmp_path)
    assert model.mean is not None and model.transform is not None
    assert stored.model.mean == pytest.approx(model.mean, rel=1e-6)
    assert stored.model.transform is not None
    assert np.array_equal(stored.model.transform, model.transform)
    for part in ("mean", "transform", "psi"):
        assert np.array_equal(getattr(stored.model.plda, part), getattr(model.plda, part))
    assert stored.folder == tmp_path
    assert set(stored.sha256) == {"plda", "mean.vec", "transform.mat"}
    assert (tmp_path / "mean.vec").read_text().startswith(" [ ")
    again = tmp_path / "again"
    again.mkdir()
    save_backend(again, stored.model)
    assert load_backend(again).sha256 == stored.sha256


def test_model_with_plda_only(tmp_path: Path) -> None:
    plda = read_plda(GOLDEN / "plda.bin")
    save_backend(tmp_path, PldaBackend(plda))
    assert [p.name for p in tmp_path.iterdir()] == ["plda"]
    stored = load_backend(tmp_path)
    assert stored.model.mean is stored.model.transform is None
    assert set(stored.sha256) == {"plda"}
    write_vector(tmp_path / "mean.vec", np.zeros(32))
    changed = load_backend(tmp_path)
    assert changed.model.dimension() == 32
    assert set(changed.sha256) == {"plda", "mean.vec"}


def test_invalid_model_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match=f"{tmp_path}: no file plda, expected plda, mean"):
        load_backend(tmp_path)
    write_plda(tmp_path / "plda", Plda(np.zeros(3), np.eye(3), np.ones(3)))
    write_vector(tmp_path / "mean.vec", np.zeros(4))
    with pytest.raises(PrivacyEvalError, match=f"{tmp_path}: the mean has 4 dim.* expects 3"):
        load_backend(tmp_path)
    (tmp_path / "plda").write_bytes((tmp_path / "plda").read_bytes()[:40])
    with pytest.raises(PrivacyEvalError, match="plda"):
        load_backend(tmp_path)


# --- enrollment


def test_enrollment_from_spk2utt_or_utt2spk(tmp_path: Path) -> None:
    spk2utt = lines_to(tmp_path / "spk2utt", ["b b1 b2", "a a2 a1"])
    utt2spk = lines_to(tmp_path / "utt2spk", ["b1 b", "a2 a", "b2 b", "a1 a"])
    first, second = load_enrollment(spk2utt), load_enrollment(utt2spk)
    assert first.members == second.members == {"b": ("b1", "b2"), "a": ("a2", "a1")}
    assert (first.path, second.path) == (spk2utt, utt2spk)
    assert first.digest == second.digest


def test_enrollment_of_listed_utterances(tmp_path: Path) -> None:
    spk2utt = lines_to(tmp_path / "spk2utt", ["b b1 b2", "a a2 a1", "c c1"])
    enrolls = lines_to(tmp_path / "enrolls", ["a1", "b2", "b1"])
    enrollment = load_enrollment(spk2utt, enrolls)
    assert enrollment.members == {"b": ("b1", "b2"), "a": ("a1",)}
    assert enrollment.path == enrolls


def test_enrollment_digest_covers_content() -> None:
    one = enrollment_of(a="a1 a2", b="b1")
    assert one.digest == Enrollment(Path("x"), {"b": ("b1",), "a": ("a1", "a2")}).digest
    for other in (
        enrollment_of(a="a1", b="b1"),
        enrollment_of(a="a1", b="a2 b1"),
        enrollment_of(a="a1 a2", c="b1"),
    ):
        assert other.digest != one.digest


def test_mismatched_enrollment_lists_are_refused(tmp_path: Path) -> None:
    spk2utt = lines_to(tmp_path / "spk2utt", ["a a1 a2"])
    enrolls = lines_to(tmp_path / "enrolls", ["a1", "x1", "a2", "x2"])
    message = f"{enrolls}:2: 2 utterances have no speaker in {spk2utt}: x1, x2$"
    with pytest.raises(PrivacyEvalError, match=message):
        load_enrollment(spk2utt, enrolls)
    lines_to(enrolls, [f"x{i}" for i in range(9)])
    with pytest.raises(PrivacyEvalError, match=r"9 utterances .*: x0, x1, x2, x3, x4, \.\.\.$"):
        load_enrollment(spk2utt, enrolls)
    lines_to(spk2utt, ["a a1", "b"])
    with pytest.raises(PrivacyEvalError, match=f"{spk2utt}:2: speaker 'b' has no utterance"):
        load_enrollment(spk2utt)


# --- lists of trials


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["s1 u1", "s1 u2", "s1 u1"], ":3: .*trial"),
        (["s1 u1 target", "s1 u2"], r":2: expected 3 fields \(<enrolled> <utterance> <target"),
        (["s1 u1", "s1 u2 target"], r":2: expected 2 fields \(<enrolled> <utterance>\), found 3"),
        (["s1"], ":1: expected 2 fields .* found 1"),
        (["s1 u1 target 4"], ":1: expected 3 fields .* found 4"),
        ([], "empty file"),
        (["", " "], "empty file"),
    ],
)
def test_invalid_trial_lists_are_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    path = lines_to(tmp_path / "trials", lines)
    with pytest.raises(PrivacyEvalError, match=f"{path}.*{message}|{path}{message}"):
        read_trial_list(path)


# --- scores


def score(
    trials: Trials,
    *,
    enrolled: Vectors = ENROLLED,
    members: Enrollment = MEMBERS,
    trial: Vectors = TRIAL,
    **options: Any,
) -> tuple[Trials, str, tuple[str, ...]]:
    """Scores by cosine, or by a model if one is given."""
    options = {"backend": "plda" if "model" in options else "cosine", **options}
    return score_trials(enrolled, members, trial, trials, **options)


def text_of(scored: Trials) -> list[str]:
    return format_scores(scored).splitlines()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_scores_follow_the_trial_order(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """As the slow implementation, from raw vectors to text: up to the last digits."""
    generator = np.random.default_rng(seed)
    every = [f"{s} {t}" for s in "abc" for t in TRIAL.ids]
    kept = generator.permutation(every)[: generator.integers(1, len(every) + 1)]
    path = lines_to(tmp_path_factory.mktemp("trials") / "trials", kept)
    model = random_model()
    scored, left_out, _ = score(read_trial_list(path), model=model)
    assert model.mean is not None and model.transform is not None
    want = slow.challenge_scores(
        slow.Plda(model.plda.mean, model.plda.transform, model.plda.psi),
        model.mean,
        model.transform,
        MEMBERS.members,
        dict(zip(ENROLLED.ids, ENROLLED.matrix, strict=True)),
        dict(zip(TRIAL.ids, TRIAL.matrix, strict=True)),
        [line.split() for line in kept],
    )
    assert (scored.missing, left_out) == (0, "")
    assert scored.score.dtype == np.float32
    for line, expected in zip(text_of(scored), want, strict=True):
        assert line.split()[:2] == expected.split()[:2]
        assert float(line.split()[2]) == pytest.approx(float(expected.split()[2]), abs=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend(backend: BackendName, trial_list: Any) -> None:
    """Speaker b is the mean of two utterances, t2 one of three."""
    model = random_model()
    scored, _, _ = score(trial_list("b t2"), backend=backend, model=model)
    mean = ENROLLED.matrix[[3, 2]].sum(axis=0, keepdims=True) / np.float32(2)
    want = score_matrix(mean, 2, TRIAL.matrix[1:2], backend=backend, model=model)
    assert scored.score == pytest.approx(want[0], rel=1e-6)


def test_score_text_format(trial_list: Any) -> None:
    trials = trial_list("s1 ü1", "s1 u2", "s2 u3", "s2 u4", "s3 u5", "s3 u6")
    scores = np.float32([1.5, -123.456789, 1e-7, 16777216, -0.1, 12345678])
    assert text_of(trials.with_columns(score=scores)) == [
        "s1 ü1 1.5",
        "s1 u2 -123.4568",
        "s2 u3 1e-07",
        "s2 u4 1.677722e+07",
        "s3 u5 -0.1",
        "s3 u6 1.234568e+07",
    ]


def test_speakers_without_enrollment_are_refused(trial_list: Any) -> None:
    trials = trial_list("a t1", "x t1", "y t2", "x t2")
    for allow_missing in (False, True):
        with pytest.raises(PrivacyEvalError, match="trials: 2 speakers are not enrolled in spk2"):
            score(trials, allow_missing=allow_missing)


def test_utterances_without_vector(trial_list: Any) -> None:
    """Speaker b has one vector, d none; t8 and t9 are missing."""
    members = enrollment_of(a="a1 a2", b="b9 b2", d="d1 d2", unasked="z1")
    trials = trial_list("d t1", "b t9", "a t3", "b t3", "a t8", "d t9", "b t1")
    message = "vectors.scp: no vector for 3 ids of the enrollment in spk2utt: "
    with pytest.raises(PrivacyEvalError, match=message):
        score(trials, members=members, model=random_model())
    scored, left_out, _ = score(trials, members=members, model=random_model(), allow_missing=True)
    assert scored.missing == 4 and left_out.startswith("4 trials and 3 enrollment utterances")
    fewer = enrollment_of(a="a1 a2", b="b2")
    want, _, _ = score(trial_list("a t3", "b t3", "b t1"), members=fewer, model=random_model())
    assert text_of(scored) == text_of(want)
    message = "no vector for 2 ids of the trials in .*trials: t[89], t[89]"
    with pytest.raises(PrivacyEvalError, match=message):
        score(trial_list("a t1", "a t8", "b t9", "c t8"))


def test_recordings_that_are_enrolled_and_tried_are_named(trial_list: Any) -> None:
    vectors = random_vectors(["a1", "a2", "b1", "t1"], dimension=8)
    enrollment = enrollment_of(a="a1 a2", b="b1")
    for lines, number in ((("a a1", "a t1", "b a2", "b b1"), 2), (("a t1", "a b1", "b a1"), 0)):
        *_, said = score_trials(vectors, enrollment, vectors, trial_list(*lines), backend="cosine")
        assert [w.split()[1] for w in said] == [str(number)] * bool(number)


@pytest.mark.parametrize("backend", ["cosine", "euclidean"])
def test_vectors_of_zeros_are_no_vectors(backend: BackendName, trial_list: Any) -> None:
    """Of silence, say: they have no direction, and a cosine of 0 with everybody."""
    enrollment = enrollment_of(a="a1 a2", b="b1")
    enrolled = make_vectors(["a1", "a2", "b1"], [[1, 0], [0, 0], [0, 1]], Path("e.scp"))
    tried = make_vectors(["u", "v"], [[0.0, 0.0], [1.0, 2.0]], Path("t.scp"))
    trials = trial_list("a u", "a v", "b u", "b v")
    with pytest.raises(PrivacyEvalError, match=r"e\.scp: 1 vectors are zero .*: a2 \("):
        score_trials(enrolled, enrollment, tried, trials, backend=backend)
    options: dict[str, Any] = {"backend": backend, "allow_missing": True}
    scored, left_out, _ = score_trials(enrolled, enrollment, tried, trials, **options)
    assert scored.utterance.tolist() == ["v", "v"]
    assert scored.missing == 2 and left_out.startswith("2 trials and 1 enrollment utterances")


@pytest.mark.parametrize(
    ("noise", "equal", "named"),
    [
        (0.0, 48, "48 of 48"),
        (1e-4, 30, "30 of 48"),
        (0.0, 24, ""),
        (3e-2, 48, ""),
        (0.0, -48, "48 of 48"),  # pairs of equal vectors
    ],
)
def test_equal_vectors_are_named(noise: float, equal: int, named: str, trial_list: Any) -> None:
    """More than half of a side within 1 - cosine < 1e-6 of another, whatever their length."""
    drawn = np.random.default_rng(0)
    ids = [f"u{n}" for n in range(48)]
    matrix = drawn.normal(size=(48, 192))
    if equal < 0:
        matrix[1::2] = 3 * matrix[::2]
    else:
        matrix[:equal] = matrix[0] * drawn.uniform(0.5, 2, size=(equal, 1))
    matrix *= 1 + noise * drawn.normal(size=matrix.shape)
    other = make_vectors(["e1", "e2"], drawn.normal(size=(2, 192)))
    enrollment = enrollment_of(e1="e1", e2="e2")
    trials = trial_list(*(f"{e} {u}" for e in ("e1", "e2") for u in ids))
    vectors = make_vectors(ids, matrix)
    *_, said = score_trials(other, enrollment, vectors, trials, backend="cosine")
    assert [w.split(" vectors")[0] for w in said] == [f"warning: {named} trial"] * bool(named)
    swapped = enrollment_of(**{u: u for u in ids})
    trials = trial_list(*(f"{u} {e}" for e in ("e1", "e2") for u in ids))
    *_, said = score_trials(vectors, swapped, other, trials, backend="cosine")
    assert [f"{named} enrollment" in w for w in said] == [True] * bool(named)


@pytest.mark.parametrize("line", ["a t9", "d t1"])
def test_no_trial_to_score_is_an_error(line: str, trial_list: Any) -> None:
    members = enrollment_of(a="a1", d="d1")
    with pytest.raises(PrivacyEvalError, match="trials: no trial whose utterances have vectors"):
        score(trial_list(line), members=members, allow_missing=True)


def test_mismatched_dimensions_are_refused(trial_list: Any) -> None:
    wide = random_vectors(TRIAL.ids, dimension=4)
    trials = trial_list("a t1")
    with pytest.raises(PrivacyEvalError, match="vectors.scp, vectors.scp: enrollment vectors of 3"):
        score(trials, trial=wide)
    with pytest.raises(PrivacyEvalError, match=r"vectors.scp: vectors of 3 .* mean has 5"):
        score(trials, model=random_model(5))


@pytest.mark.filterwarnings("error")
def test_scores_beyond_float32_are_refused(trial_list: Any) -> None:
    huge = make_vectors(ENROLLED.ids, np.full((5, 3), 3e38))
    with pytest.raises(PrivacyEvalError, match="2 scores are not finite: vectors or model contain"):
        score(trial_list("a t1", "a t2"), enrolled=huge, model=random_model())


# --- arrays


def people(seed: int, enrolled: int = 3, tried: int = 4) -> tuple[np.ndarray, list[str]]:
    """Vectors of several utterances of five speakers, around a voice of each."""
    names = [*"abcde" * enrolled] if seed == 0 else [*"abcde" * tried]
    voices = {name: np.random.default_rng(n).normal(size=6) for n, name in enumerate("abcde")}
    noise = np.random.default_rng(seed + 9).normal(size=(len(names), 6))
    return np.array([voices[name] for name in names]) + 0.3 * noise, names


@pytest.mark.parametrize("backend", ["cosine", "euclidean", "plda", "callable"])
def test_scores_of_arrays_are_those_of_a_slow_loop(backend: Any) -> None:
    """Of every pair of speaker and utterance, from the mean of the speaker's vectors."""
    (first, enrolled), (second, spoken) = people(0), people(1)
    model = train_backend(first, enrolled, lda_dim=2) if backend == "plda" else None

    def one(mean: Any, vector: Any) -> float:
        if backend == "plda":
            plda = slow.Plda(model.plda.mean, model.plda.transform, model.plda.psi)
            lines = slow.challenge_scores(
                plda, model.mean, model.transform, {"m": ("m1", "m2", "m3")},
                {f"m{n}": row for n, row in enumerate(np.float32(mean), 1)},
                {"t": np.float32(vector)}, [("m", "t")],
            )  # fmt: skip
            return float(lines[0].split()[2])
        mean = np.mean(mean, axis=0)
        if backend == "cosine":
            return float(mean @ vector / np.linalg.norm(mean) / np.linalg.norm(vector))
        power = 2 if backend == "euclidean" else 1
        return -float((np.abs(mean - vector) ** power).sum() ** (1 / power))

    def manhattan(means: Any, tried: Any) -> Any:
        return -np.abs(means[:, None] - tried).sum(axis=-1)

    by = manhattan if backend == "callable" else backend
    trials = pe.score(
        first, second, enrolled=enrolled, trial_speaker=spoken, backend=by, model=model
    )
    assert trials.enrolled.tolist() == [name for name in "abcde" for _ in spoken]
    assert trials.utterance.tolist() == [str(n) for n in range(20)] * 5
    assert trials.is_target.tolist() == [name == s for name in "abcde" for s in spoken]
    assert trials.trial_speaker.tolist() == spoken * 5
    own = np.array(enrolled)
    want = [one(first[own == name], vector) for name in "abcde" for vector in second]
    assert trials.score == pytest.approx(np.array(want), rel=1e-5, abs=2e-5)


def test_arrays_mappings_and_files_have_the_same_scores(tmp_path: Path) -> None:
    (first, enrolled), (second, spoken) = people(0), people(1)
    ids = [f"u{n}" for n in range(20)]
    want = pe.score(first, second, enrolled=enrolled, trial_speaker=spoken, utterance=ids)
    scp = tmp_path / "xvector.scp"
    write_vectors(scp, ids, second, tree=tmp_path)
    utt2spk = lines_to(tmp_path / "utt2spk", map(" ".join, zip(ids, spoken, strict=True)))
    vectors = read_vectors(scp, tree=tmp_path)
    by_id = dict(zip(ids, spoken, strict=True))
    for found in (
        pe.score(first.tolist(), vectors, enrolled=enrolled, trial_speaker=str(utt2spk)),
        pe.score(first, vectors, enrolled=np.array(enrolled), trial_speaker=by_id),
        pe.score(
            {f"e{n}": row for n, row in enumerate(first)},
            dict(zip(ids, second, strict=True)),
            enrolled={f"e{n}": name for n, name in enumerate(enrolled)},
            trial_speaker=by_id,
        ),
    ):
        assert found.utterance.tolist() == want.utterance.tolist()
        assert np.array_equal(found.score, want.score)
        assert np.array_equal(found.is_target, want.is_target)
    listed = {"enrolled": ["c", "a"], "utterance": ["u3", "u0"], "label": [0, 1], "sex": ["f", "m"]}
    some = pe.score(first, vectors, enrolled=enrolled, trials=listed)
    rows = [2 * 20 + 3, 0]
    assert np.array_equal(some.score, want.score[rows]) and some.is_target.tolist() == [False, True]
    assert some["sex"].tolist() == ["f", "m"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trial": np.ones((20, 5))}, "enrollment vectors of 6 dimensions, trial vectors of 5"),
        ({"enrollment": np.full((15, 6), np.nan)}, "15 enrollment vectors .* NaN"),
        ({"enrollment": np.full((15, 6), 1e300)}, "15 enrollment vectors .* too large"),
        ({"trial": np.zeros((20, 6))}, "trial vectors: 20 vectors are zero"),
        ({"enrolled": ["a"] * 14}, "14 enrolled speakers for 15 enrollment vectors"),
        ({"trial_speaker": ["a"] * 21}, "21 trial speakers for 20 trial vectors"),
        ({"enrolled": {"enrolled-0": "a"}}, "14 enrollment vectors have no enrolled speaker: .*-1"),
        ({"trial_speaker": {"0": "a"}}, "19 trial utterances have no trial speaker: 1, 2"),
        ({"utterance": ["u"] * 20}, "20 ids, 1 of them different, for 20 trial vectors"),
        ({"trials": {"enrolled": ["z"], "utterance": ["0"]}}, "1 speakers are not enrolled .*: z"),
        ({"trials": {"enrolled": ["a"], "utterance": ["99"]}}, "no vector for 1 ids of .*: 99"),
        ({"backend": lambda first, second: first}, r"shape \(5, 6\) instead of \(5, 20\)"),
        ({"backend": lambda first, second: first @ second.T * np.nan}, "100 scores are not finite"),
    ],
)
def test_arrays_that_cannot_be_scored(changed: dict[str, Any], message: str) -> None:
    (first, enrolled), (second, spoken) = people(0), people(1)
    given = {"enrollment": first, "trial": second, "enrolled": enrolled, "trial_speaker": spoken}
    with pytest.raises(PrivacyEvalError, match=message):
        pe.score(**{**given, **changed})
    if "trial" not in changed:
        with pytest.raises(PrivacyEvalError, match="plda with a model"):
            pe.score(**given, backend="plda")


def test_equal_vectors_of_arrays_are_a_warning() -> None:
    (first, enrolled), (second, _) = people(0), people(1)
    with pytest.warns(InputWarning, match="20 of 20 trial vectors are equal"):
        pe.score(first, second[:1].repeat(20, axis=0), enrolled=enrolled)


# --- x-vectors of a tree


def put(folder: Path, name: str, tree: Path, count: int = 2) -> Path:
    scp = folder / f"xvect_{name}" / "xvector.scp"
    scp.parent.mkdir(parents=True)
    ids = [f"{name}-{i}" for i in range(count)]
    write_vectors(scp, ids, np.arange(2.0 * count).reshape(count, 2), tree=tree)
    return scp


def test_vectors_of_a_set_or_its_supersets(tmp_path: Path) -> None:
    folder = tmp_path / "exp" / "model"
    vectors = TreeVectors(tmp_path, load_protocol("vpc2020"), folder)
    wanted = ("vctk_dev_trials_f_common", "_anon")
    names = [path.parent.name for path in vectors.candidates(*wanted)]
    assert names[:3] == [
        "xvect_vctk_dev_trials_f_common_anon",
        "xvect_vctk_dev_trials_f_all_anon",
        "xvect_vctk_dev_trials_all_anon",
    ]
    assert vectors.find(*wanted) is None
    for name in ("vctk_dev_trials_all", "vctk_dev_trials_f_common"):
        put(folder, name, tmp_path)  # not anonymized
    assert vectors.find(*wanted) is None
    for name in ("vctk_dev_trials_all", "vctk_dev_trials_f_all", "vctk_dev_trials_f_common"):
        scp = put(folder, f"{name}_anon", tmp_path)
        assert vectors.find(*wanted) == scp


def test_vectors_are_read_once_and_within_the_tree(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    folder = tree / "exp"
    scp = put(folder, "a_set", tree)
    vectors = TreeVectors(tree, load_protocol("vpc2020"), folder)
    actual = vectors.read(scp)
    assert actual.ids == ("a_set-0", "a_set-1")
    scp.unlink()
    assert vectors.read(scp) is actual
    link = folder / "xvect_linked" / "xvector.scp"
    link.parent.mkdir()
    link.symlink_to(put(outside, "other", outside))
    with pytest.raises(PrivacyEvalError, match="outside the tree .*--allow-outside"):
        vectors.read(link)


def test_backend_folder_candidates(tmp_path: Path) -> None:
    model = AsvModel("anonymized", "exp/anon{suffix}/net", "train{suffix}")
    folder = tmp_path / "exp" / "anon_x" / "net"
    assert backend_folder(tmp_path, model, "_x") is None
    for place in (folder, folder / "xvect_train_x"):  # the latter comes first
        place.mkdir(parents=True)
        (place / "mean.vec").touch()
        assert backend_folder(tmp_path, model, "_x") != place
        (place / "plda").touch()
        assert backend_folder(tmp_path, model, "_x") == place
    assert backend_folder(tmp_path, model, "_y") is None


# --- real speech

MODELS = REAL_TREE / "exp" / "models" / "asv_eval" / "xvect_01709_1"
CONDITIONS = [
    f"ASV-libri_test_enrolls{enrolled}-libri_test_trials_{gender}{trial}"
    for gender in "fm"
    for enrolled, trial in (("", ""), ("", "_anon"), ("_anon", "_anon"))
]
TRIAL_SETS = ["libri_test_trials_f", "libri_test_trials_m"]


@cache
def expected() -> Mapping[str, Any]:
    return json.loads((REAL_TREE / "expected.json").read_text())  # type: ignore[no-any-return]


@cache
def real_vectors(name: str) -> Vectors:
    return read_vectors(MODELS / f"xvect_{name}" / "xvector.scp", tree=REAL_TREE)


@cache
def real_model() -> StoredBackend:
    return load_backend(MODELS / "xvect_train_clean_360")


@cache
def real_scores(condition: str) -> Trials:
    _, enrolled, trial = condition.split("-")
    data = REAL_TREE / "data"
    return score_trials(
        real_vectors(enrolled),
        load_enrollment(data / enrolled / "spk2utt", data / enrolled / "enrolls"),
        real_vectors(trial),
        read_trial_list(data / trial / "trials"),
        model=real_model().model,
    )[0]


def scores_by_trial(lines: Iterable[str]) -> dict[tuple[str, str], float]:
    return {(s, u): float(score) for s, u, score in map(str.split, lines)}


@needs_real_tree
def test_every_real_condition_is_tested() -> None:
    assert sorted(expected()["conditions"]) == sorted(CONDITIONS)
    folders = (REAL_TREE / "exp" / "results-kaldi").glob("ASV-*")
    assert sorted(folder.name for folder in folders) == sorted(CONDITIONS)
    assert sorted(expected()["similarity"]) == [f"{name}_anon" for name in TRIAL_SETS]


@needs_real_tree
@pytest.mark.parametrize("condition", CONDITIONS)
def test_real_scores_agree_with_kaldi(condition: str) -> None:
    """Float32 matrix work of another processor: its last digits differ."""
    kaldi = REAL_TREE / "exp" / "results-kaldi" / condition / "scores"
    want = scores_by_trial(kaldi.read_text().splitlines())
    actual = scores_by_trial(text_of(real_scores(condition)))
    assert list(actual) == list(want)
    assert max(abs(actual[trial] - want[trial]) for trial in want) < 3e-4


@needs_real_tree
@pytest.mark.parametrize("condition", CONDITIONS)
def test_metrics_of_real_conditions(condition: str, tmp_path: Path) -> None:
    """Our scores, written and read, against what independent tools make of Kaldi's. Min DCF
    of the released scripts is known to the digits they print."""
    scores = tmp_path / "scores"
    scores.write_text(format_scores(real_scores(condition)))
    key = REAL_TREE / "data" / condition.split("-")[2] / "trials"
    trials = pair(read_scores(scores), read_trials(key))
    actual = TrialScores.from_labels(trials.score, trials.is_target)
    want = expected()["conditions"][condition]
    assert (actual.n_target, actual.n_nontarget) == (want["n_target"], want["n_nontarget"])
    eer = kaldi_eer(actual)
    assert f"{100 * eer.value:.4g}" == want["kaldi_compute_eer_stdout"]
    assert eer.threshold == pytest.approx(want["reference"]["eer_threshold"], abs=3e-4)
    names: list[tuple[Variant, str]] = [("challenge", "reference"), ("exact", "exact")]
    for variant, name in names:
        values = score_metrics(actual, variant=variant)
        tag = zebra_tag(values, variant)
        assert_golden({**values, "zebra_tag": tag}, want[name], tolerance=1e-5)
        assert {*want[name]} >= {"cllr", "cllr_min", "linkability", "zebra_population"}


@needs_real_tree
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", TRIAL_SETS)
def test_similarity_of_real_speech(name: str, variant: Variant) -> None:
    original, anonymized = real_vectors(name), real_vectors(f"{name}_anon")
    assert original.ids == anonymized.ids
    lines = (REAL_TREE / "data" / name / "utt2spk").read_text().splitlines()
    speaker_of = dict(line.split() for line in lines)
    speakers = sorted(set(speaker_of.values()))
    speaker = np.array([speakers.index(speaker_of[u]) for u in original.ids])
    matrices = []
    for first, second, column_of in (
        (original, original, None),
        (original, anonymized, np.arange(speaker.size)),
        (anonymized, anonymized, None),
    ):
        scores = score_matrix(first.matrix, 1, second.matrix, model=real_model().model)
        matrices.append(similarity_matrix(scores, speaker, column_of=column_of, variant=variant))
    actual = similarity_metrics(deid_and_gvd(*matrices))
    want = expected()["similarity"][f"{name}_anon"]
    if variant == "exact":
        want = want["exact"]
        assert len(speakers) == want["speakers"]
    keys = [key for key in actual if key in want]
    assert len(keys) == (5 if variant == "exact" else 2)
    for key in keys:
        assert actual[key] == pytest.approx(want[key], abs=1e-4), key


def test_a_column_of_vectors_is_a_matrix() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    vectors, names = np.random.default_rng(2).normal(size=(2, 6, 4)), list("aabbcc")
    expected = pe.score(*vectors, enrolled=names, trial_speaker=names)
    columns = (pandas.Series([*of]) for of in vectors)
    found = pe.score(*columns, enrolled=names, trial_speaker=names)
    assert found.score.tolist() == expected.score.tolist()
