"""Identification from x-vectors: galleries, conversations, distractors, intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import BACKEND, ENROLLS, TRIALS, SpeechTree, cli

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import BACKENDS, BackendName
from privacy_eval.asv.enrollment import Enrollment
from privacy_eval.asv.galleries import Gallery, Identification, identify
from privacy_eval.io.scp import Vectors
from privacy_eval.metrics import closed_set_linkage, linkage_of_beaters

N_SPEAKERS, PER_SPEAKER, DIM = 8, 6, 5


class People:
    """Speakers with enrollment and test utterances; two test speakers are not enrolled."""

    def __init__(self, folder: Path, noise: float = 0.7) -> None:
        rng = np.random.default_rng(3)
        names = [f"s{i}" for i in range(N_SPEAKERS)]
        voices = rng.normal(size=(N_SPEAKERS, DIM))

        def vectors(kind: str, speakers: list[int]) -> Vectors:
            ids = [f"{names[s]}-{kind}{n}" for s in speakers for n in range(PER_SPEAKER)]
            rows = np.repeat(voices[speakers], PER_SPEAKER, axis=0)
            matrix = np.float32(rows + noise * rng.normal(size=rows.shape))
            return Vectors(folder / f"{kind}.scp", tuple(ids), matrix)

        enrolled = vectors("e", list(range(N_SPEAKERS - 2)))
        self.gallery = Gallery(enrolled, self.enrollment(enrolled, folder))
        self.tests = vectors("t", list(range(N_SPEAKERS)))
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

    def identify(self, **options: Any) -> Identification:
        options = {"backend": "cosine", **options}
        return identify(self.gallery, self.tests, self.utt2spk, **options)


@pytest.fixture(name="people")
def _people(tmp_path: Path) -> People:
    return People(tmp_path)


@pytest.mark.parametrize("backend", ["cosine", "euclidean"])
@pytest.mark.parametrize("length", [1, 3])
def test_linkage_of_means(people: People, backend: BackendName, length: int) -> None:
    identification = people.identify(backend=backend, length=length, sizes=[2, 6], rank=1)
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
    assert identification.beaten.size == 6
    assert identification.sizes == (2, 5, 6)


def test_distractors_enlarge_the_gallery(people: People) -> None:
    alone = people.identify(sizes=[2, 6])
    identification = people.identify(sizes=[2, 8], distractors=people.distractors)
    assert (identification.n_enrolled, identification.n_distractors) == (8, 2)
    assert (identification.beaten >= alone.beaten).all()
    assert 0 < alone.enrollment_utterances < identification.enrollment_utterances
    assert alone.enrollment_utterances == people.gallery.size
    with pytest.raises(PrivacyEvalError, match="6 distractors"):
        people.identify(distractors=people.gallery)


def test_speakers_are_compared_in_galleries_of_at_most_20(people: People) -> None:
    identification = people.identify(sizes=[2, 5, 6])
    assert identification.speakers_size == 6
    assert {s.speaker for s in identification.speakers()} == set(identification.test_speakers)
    for s in identification.speakers():
        beaten = identification.beaten[
            identification.speaker == identification.test_speakers.index(s.speaker)
        ]
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
    same = np.full(144, beaten)
    linkage = np.array([1.0, rate])
    identification = replace(given, speaker=speaker, beaten=same, linkage=linkage)
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
                np.tile(identification.beaten[identification.speaker == s], n)
                for s, n in enumerate(drawn)
            ]
        )
        values.append(linkage_of_beaters(beaten, 6, [3])[0])
    assert min(values) - 1e-12 <= interval.low
    assert any(abs(v - interval.low) < 1e-12 for v in values)
    assert any(abs(v - interval.high) < 1e-12 for v in values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 7}, "7 utterances"),
        ({"sizes": [7]}, "1 to 6"),
        ({"backend": "plda"}, "model"),
    ],
)
def test_what_the_data_cannot_give(people: People, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        people.identify(**options)


def test_an_utterance_without_vector(people: People) -> None:
    with people.utt2spk.open("a") as file:
        file.write("s1-lost s1\n")
    with pytest.raises(PrivacyEvalError, match="s1-lost"):
        people.identify()


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
    run = cli("identification", *arguments, "--format", "json", "--bootstrap", 20)
    assert run.code == 0, run.err
    curve = json.loads(run.out)
    assert curve["sizes"][-1] == curve["n_enrolled"]
    assert curve["chance"] == pytest.approx([1 / n for n in curve["sizes"]])
    assert all(0 <= x <= 1 for x in curve["linkage"])
    for value, interval in zip(curve["linkage"], curve["intervals"], strict=True):
        assert interval["low"] <= value <= interval["high"]
    text = cli("identification", *arguments, "--gallery-sizes", "2").out
    assert f"group of 2: {curve['linkage'][0]:.1%}" in text
    wrong = cli("identification", *arguments, "--distractors", tree.scp(TRIALS))
    assert wrong.code == 1
    assert "--distractors-spk2utt" in wrong.err
