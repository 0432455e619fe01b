"""Identification from x-vectors: galleries, conversations, distractors, intervals."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import BACKEND, ENROLLS, TRIALS, SpeechTree, cli, ok, printed

import privacy_eval as pe
from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import BACKENDS, BackendName, score_matrix
from privacy_eval.asv.inputs import Enrollment, Gallery
from privacy_eval.disclosure.gallery_tests import GalleryTests
from privacy_eval.disclosure.identification import Identification, identified, ranked
from privacy_eval.disclosure.linkage import closed_set_linkage, linkage_of_beaters
from privacy_eval.io.vectors import Vectors
from privacy_eval.metrics.trials import Trials

N_SPEAKERS, PER_SPEAKER, DIM = 8, 6, 5


class People:
    """Speakers with enrollment and test utterances; two test speakers are not enrolled."""

    def __init__(self, folder: Path, noise: float = 0.7, tests: int = PER_SPEAKER) -> None:
        rng = np.random.default_rng(3)
        names = [f"s{i}" for i in range(N_SPEAKERS)]
        voices = rng.normal(size=(N_SPEAKERS, DIM))

        def vectors(kind: str, speakers: list[int], each: int = PER_SPEAKER) -> Vectors:
            ids = [f"{names[s]}-{kind}{n:x}" for s in speakers for n in range(each)]
            rows = np.repeat(voices[speakers], each, axis=0)
            matrix = np.float32(rows + noise * rng.normal(size=rows.shape))
            return Vectors(folder / f"{kind}.scp", tuple(ids), matrix)

        enrolled = vectors("e", list(range(N_SPEAKERS - 2)))
        self.gallery = Gallery(enrolled, self.enrollment(enrolled, folder))
        self.tests = vectors("t", list(range(N_SPEAKERS)), tests)
        self.utt2spk = folder / "utt2spk"
        self.utt2spk.write_text("".join(f"{u} {u.split('-')[0]}\n" for u in self.tests.ids))
        others = vectors("e", [6, 7])
        others = replace(others, ids=tuple(f"x{u}" for u in others.ids))
        self.distractors = Gallery(others, self.enrollment(others, folder))

    @staticmethod
    def enrollment(vectors: Vectors, folder: Path) -> Enrollment:
        members: dict[str, tuple[str, ...]] = {}
        for utterance in vectors.ids:
            speaker = utterance.split("-")[0]
            members[speaker] = (*members.get(speaker, ()), utterance)
        return Enrollment(folder / "spk2utt", members)

    def identify(self, sizes: list[int] | None = None, **options: Any) -> Identification:
        options = {"backend": "cosine", **options}
        attack = GalleryTests(self.gallery, self.tests, self.utt2spk, **options)
        return identified(attack.rank(sizes), sizes)


@pytest.fixture(name="people")
def _people(tmp_path: Path) -> People:
    return People(tmp_path)


@pytest.mark.parametrize("backend", ["cosine", "euclidean"])
@pytest.mark.parametrize("length", [1, 3])
def test_linkage_of_means(people: People, backend: BackendName, length: int) -> None:
    identification = people.identify(backend=backend, length=length, sizes=[2, 6])
    means = people.gallery.vectors.matrix.astype(float).reshape(-1, PER_SPEAKER, DIM).mean(axis=1)
    tests = people.tests.matrix[: 6 * PER_SPEAKER].astype(float).reshape(-1, length, DIM)
    tests = tests.mean(axis=1)
    if length > 1:
        tests /= np.linalg.norm(tests, axis=1, keepdims=True)
    scores = -np.linalg.norm(tests[:, None] - means, axis=2)
    if backend == "cosine":
        norms = np.linalg.norm(tests, axis=1)[:, None] * np.linalg.norm(means, axis=1)
        scores = tests @ means.T / norms
    own = np.repeat(np.arange(6), PER_SPEAKER // length)
    expected = closed_set_linkage(scores, own, [2, 6])
    assert identification.linkage.tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    assert 1 / 6 < identification.linkage[1] < 1  # neither chance nor trivial
    assert identification.chance.tolist() == [1 / 2, 1 / 6]


def test_speakers_who_are_not_enrolled_are_counted(people: People) -> None:
    identification = people.identify(length=4)
    assert identification.not_enrolled == ("s6", "s7")
    assert identification.utterances_left_out == 2 * PER_SPEAKER + 6 * (PER_SPEAKER - 4)
    assert len(identification.beaten) == 6
    assert identification.sizes == (2, 5, 6)


def test_distractors_enlarge_the_gallery(people: People) -> None:
    alone = people.identify(sizes=[2, 6])
    identification = people.identify(sizes=[2, 8], distractors=people.distractors)
    assert (identification.n_enrolled, identification.n_distractors) == (8, 2)
    assert (identification.counts >= alone.counts).all()
    assert 0 < alone.enrollment_utterances < identification.enrollment_utterances
    assert alone.enrollment_utterances == people.gallery.size
    with pytest.raises(PrivacyEvalError, match="6 distractors"):
        people.identify(distractors=people.gallery)


def test_speakers_are_compared_in_galleries_of_at_most_20(people: People) -> None:
    identification = people.identify(sizes=[2, 5, 6])
    assert identification.speakers_size == 6
    assert {s.speaker for s in identification.speakers()} == set(identification.test_speakers)
    for s in identification.speakers():
        own = identification.test_speakers.index(s.speaker)
        beaten = identification.counts[0, np.array(identification.speaker) == own]
        assert s.n_tests == beaten.size
        assert [s.linkage] == pytest.approx(linkage_of_beaters(beaten, 6, [6]).tolist())
    large = replace(identification, sizes=(21, 50))
    assert (large.speakers_size, large.speakers()) == (0, ())


@pytest.mark.parametrize(("beaten", "rate"), [(5, 0), (0, 1)])
def test_no_interval_claims_certainty_of_a_rate(people: People, beaten: int, rate: int) -> None:
    """Of 144 tests of 6 speakers none is identified, or all are: the rate may still be another one,
    as the tests of a speaker are alike. Six speakers count, not 144 tests."""
    given = people.identify(sizes=[1, 3])
    speaker = np.arange(144) % len(given.test_speakers)
    same = np.array([np.full(144, beaten), np.zeros(144, np.int64)])
    identification = identified(ranked(given.test_speakers, speaker, same, 6), [1, 3])
    assert identification.linkage.tolist() == [1, rate]
    certain, interval = identification.intervals(10, seed=0)
    assert (certain.low, certain.high) == (1, 1)  # in a group of one
    # The root of the score equation |p - rate| = z sqrt(p (1 - p) / n) beside the rate.
    z, n = 1.959964**2, len(given.test_speakers)
    bounds = sorted([rate, abs(rate - z / (n + z))])
    assert [interval.low, interval.high] == pytest.approx(bounds, abs=1e-6)


def test_intervals_are_those_of_drawn_speakers(people: People) -> None:
    identification = people.identify(sizes=[1, 3])
    certain, interval = identification.intervals(200, seed=1)
    assert (certain.low, certain.high) == (1, 1)
    assert interval.low < identification.linkage[1] < interval.high
    values = []
    for drawn in np.random.default_rng(1).multinomial(6, np.full(6, 1 / 6), 200):
        beaten = np.concatenate(
            [
                np.tile(identification.counts[0, np.array(identification.speaker) == s], n)
                for s, n in enumerate(drawn)
            ]
        )
        values.append(linkage_of_beaters(beaten, 6, [3])[0])
    assert min(values) - 1e-12 <= interval.low
    assert any(abs(v - interval.low) < 1e-12 for v in values)
    assert any(abs(v - interval.high) < 1e-12 for v in values)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"length": 7}, "7 utterances"), ({"sizes": [7]}, "1 to 6"), ({"backend": "plda"}, "model")],
)
def test_what_the_data_cannot_give(people: People, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        people.identify(**options)


def test_an_utterance_without_vector(people: People) -> None:
    with people.utt2spk.open("a") as file:
        file.write("s1-lost s1\n")
    with pytest.raises(PrivacyEvalError, match="s1-lost"):
        people.identify()


# --- from trials


def compared(people: People) -> Trials:
    """The scores of all pairs, shuffled; labels by the names of utterances."""
    names = list(people.gallery.enrollment.members)
    means = people.gallery.vectors.matrix.reshape(len(names), -1, DIM).sum(axis=1)
    matrix = score_matrix(means * np.float32(1 / 6), 6, people.tests.matrix, backend="cosine")
    pairs = [(name, u) for name in names for u in people.tests.ids]
    order = np.random.default_rng(5).permutation(len(pairs))
    return Trials(
        enrolled=[pairs[row][0] for row in order],
        utterance=[pairs[row][1] for row in order],
        score=matrix.ravel()[order],
        label=[pairs[row][1].startswith(f"{pairs[row][0]}-") for row in order],
    )


def test_trials_and_vectors_have_the_same_rates(tmp_path: Path) -> None:
    """And the same intervals and singling out, whatever the order of the trials."""
    people = People(tmp_path, tests=12)
    for sizes in (None, [2, 4]):
        options: dict[str, Any] = {"replicates": 60, "seed": 3, "backend": "cosine"}
        ranks = GalleryTests(people.gallery, people.tests, people.utt2spk, **options).rank(sizes)
        want = identified(ranks, sizes, 2, 60, 3)
        found = pe.identify(compared(people), sizes, rank=2, bootstrap=60, seed=3)
        assert found.to_rows() == want.to_rows()
        assert (found.bounds, found.singling_out) == (want.bounds, want.singling_out)
        assert found.notes[0].replace("their speakers", "2 speakers") == want.notes[0]
    alone = pe.singling_out(compared(people), [2, 4], bootstrap=60, seed=3)
    assert alone == want.singling_out and len(alone.to_rows()) == 3


def test_rows_of_rates_are_those_of_a_slow_count(people: People) -> None:
    """Of the whole gallery: by counting who scores higher, and the entropy of the ranks."""
    trials = compared(people)
    by_test: dict[str, dict[str, float]] = {}
    for name, u, value in zip(trials.enrolled, trials.utterance, trials.score, strict=True):
        by_test.setdefault(u, {})[name] = float(value)
    ranks = [
        sum(value >= of[u.split("-")[0]] for value in of.values())
        for u, of in by_test.items()
        if u.split("-")[0] in of
    ]
    share = [ranks.count(rank) / len(ranks) for rank in range(1, 7)]
    bits = [(p, math.log2(6 * p)) for p in share if p]
    rows = {(row["metric"], row["gallery"]): row for row in pe.identify(trials).to_rows()}
    assert rows["rank1", 6]["value"] == pytest.approx(share[0])
    assert rows["rank1", 6]["low"] <= share[0] <= rows["rank1", 6]["high"]
    assert rows["rank_disclosure", 6]["value"] == pytest.approx(sum(p * bit for p, bit in bits))
    assert rows["rank_disclosure_max", 6]["value"] == pytest.approx(max(bit for _, bit in bits))


def test_trials_that_cannot_tell_who_is_identified(people: People) -> None:
    trials = compared(people)
    pairs = [*zip(trials.enrolled, trials.utterance, strict=True)]
    row = pairs.index(("s2", "s0-t1"))
    for changed, message in (
        (trials.take(np.arange(len(pairs)) != row), "1 of 216 pairs .*: s2 s0-t1;"),
        (trials.select(enrolled=["s0", "s1"]).take(slice(0, 40)), "pairs of enrolled speaker"),
        (trials.take(~trials.is_target), "no target trials"),
        (trials.with_columns(is_target=trials.score > -2), "several target trials: s0-t0"),
        (trials.with_columns(is_target=None), "no column label"),
    ):
        with pytest.raises(PrivacyEvalError, match=message):
            pe.identify(changed)
    with pytest.raises(PrivacyEvalError, match="1 to 6"):
        pe.identify(trials, [10, 100])


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_verb(tmp_path: Path, backend: BackendName) -> None:
    tree = SpeechTree(tmp_path / "tree")
    data = tree.root / "data"
    arguments = (
        *("--model", tree.root / BACKEND, "--backend", backend),
        *("--enroll-vectors", tree.scp(ENROLLS), "--spk2utt", data / ENROLLS / "spk2utt"),
        *("--trial-vectors", tree.scp(TRIALS), "--utt2spk", data / TRIALS / "utt2spk"),
        *("--scp-base", tree.root),
    )
    run = ok(cli("identification", *arguments, "--format", "json", "--bootstrap", 20))
    curve = json.loads(run.out)
    assert curve["sizes"][-1] == curve["n_enrolled"]
    assert curve["chance"] == pytest.approx([1 / n for n in curve["sizes"]])
    assert all(0 <= x <= 1 for x in curve["linkage"])
    for value, interval in zip(curve["linkage"], curve["intervals"], strict=True):
        assert interval["low"] <= value <= interval["high"]
    text = cli("identification", *arguments, "--gallery-sizes", "2").out
    assert abs(float(printed(text)[0]["Value"][:-2]) - 100 * curve["linkage"][0]) < 1e-3
    wrong = cli("identification", *arguments, "--distractors", tree.scp(TRIALS))
    assert wrong.code == 2
    assert "--distractors-spk2utt" in wrong.err
