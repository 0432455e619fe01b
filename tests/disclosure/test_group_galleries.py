"""Identification within groups of speakers: a slow second implementation, and odd groups."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_eval.asv.inputs import Enrollment, Gallery
from privacy_eval.disclosure.gallery_tests import GalleryTests
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.user_tables import Labels
from privacy_eval.io.vectors import Vectors

N, EACH, DIM = 7, 3, 3
NAMES = [f"s{i}" for i in range(N)]


def people(folder: Path, seed: int) -> tuple[Gallery, Vectors, Path]:
    """Seven test speakers; all but the last are enrolled."""
    rng = np.random.default_rng(seed)
    voices = rng.normal(size=(N, DIM))
    sides = []
    for kind in "et":
        ids = tuple(f"{s}-{kind}{n}" for s in NAMES for n in range(EACH))
        noise = rng.normal(size=(N * EACH, DIM))
        matrix = np.float32(np.repeat(voices, EACH, axis=0) + noise)
        sides.append(Vectors(folder / f"{kind}.scp", ids, matrix))
    members = {s: tuple(f"{s}-e{n}" for n in range(EACH)) for s in NAMES[:-1]}
    (folder / "utt2spk").write_text("".join(f"{u} {u[:2]}\n" for u in sides[1].ids))
    gallery = Gallery(sides[0], Enrollment(folder / "spk2utt", members))
    return gallery, sides[1], folder / "utt2spk"


def slow_groups(
    gallery: Gallery, tests: Vectors, group_of: dict[str, str], length: int
) -> dict[str, tuple[int, int, list[int]]]:
    """By group: speakers, enrolled ones, and how many of the group beat each test's speaker."""

    found = {}
    enrolled = gallery.enrollment.members
    for group in sorted(set(group_of.values())):
        own = [s for s in enrolled if group_of.get(s) == group]
        models = {
            s: sum(
                np.float64(gallery.vectors.matrix[gallery.vectors.ids.index(u)])
                for u in enrolled[s]
            )
            for s in own
        }
        beaten = []
        for speaker in own:
            spoken = [u for u in tests.ids if u[:2] == speaker]
            for start in range(0, len(spoken) - length + 1, length):
                rows = [tests.matrix[tests.ids.index(u)] for u in spoken[start : start + length]]
                test = np.sum(np.float64(rows), axis=0)
                cosine = {
                    s: float(m @ test / np.linalg.norm(m) / np.linalg.norm(test))
                    for s, m in models.items()
                }
                others = (c for s, c in cosine.items() if s != speaker)
                beaten.append(sum(c >= cosine[speaker] for c in others))
        found[group] = len(own), len(beaten), beaten
    return found


@given(
    seed=st.integers(0, 1000),
    labels=st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=N, max_size=N),
    length=st.integers(1, EACH),
    rank=st.integers(1, 2),
)
def test_agrees_with_loops(
    folder: Path, seed: int, labels: list[str], length: int, rank: int
) -> None:
    gallery, tests, utt2spk = people(folder, seed)
    group_of = {s: label for s, label in zip(NAMES, labels, strict=True) if label}
    attack = GalleryTests(gallery, tests, utt2spk, "cosine", length=length)
    found = attack.identify_groups(group_of, rank)
    slow = slow_groups(gallery, tests, group_of, length)
    assert list(found) == list(slow)
    sizes = [n for n, tested, _ in slow.values() if n > 1 and tested]
    for name, (n, tested, beaten) in slow.items():
        of = found[name]
        counts = {"n_enrolled": n, "n_speakers": n, "n_tests": tested}
        assert all(counts.items() <= row.items() for row in of)
        if n < 2:
            assert of == [{"metric": "linkage", **counts}]
            continue
        assert [row["gallery"] for row in of] == sorted({min(sizes), n})
        for size, value in ((row["gallery"], row["value"]) for row in of):
            all_draws = math.comb(n - 1, size - 1)
            hits = [
                sum(math.comb(b, k) * math.comb(n - 1 - b, size - 1 - k) for k in range(rank))
                / all_draws
                for b in beaten
            ]
            assert value == pytest.approx(np.mean(hits), abs=1e-12)


def test_intervals_and_distractors(tmp_path: Path) -> None:
    gallery, tests, utt2spk = people(tmp_path, 1)
    more = Vectors(tmp_path / "d.scp", ("d-1", "x-1"), np.ones((2, DIM), dtype=np.float32))
    distractors = Gallery(more, Enrollment(tmp_path / "d", {"d": ("d-1",), "x": ("x-1",)}))
    group_of = {s: "ab"[i % 2] for i, s in enumerate(NAMES)} | {"d": "a"}
    plain = GalleryTests(gallery, tests, utt2spk, "cosine")
    attack = replace(plain, replicates=50, distractors=distractors)
    found = attack.identify_groups(group_of)
    assert {n: [(row["n_enrolled"], row["gallery"]) for row in of] for n, of in found.items()} == {
        "a": [(4, 3), (4, 4)],  # the last test speaker is not enrolled, a distractor is
        "b": [(3, 3)],
    }
    assert all(row["low"] is None for of in found.values() for row in of)  # of 3 speakers each
    attack = replace(attack, distractors=None)
    all_alike = attack.identify_groups(dict.fromkeys(NAMES, "all"))
    (row,) = all_alike["all"]
    assert row["low"] <= row["value"] <= row["high"]
    whole = plain.identify_groups(dict.fromkeys(NAMES, "all"))
    assert [(row["gallery"], row["low"]) for row in whole["all"]] == [(6, None)]


def test_labels_of_speakers_and_utterances(tmp_path: Path) -> None:
    attack = GalleryTests(*people(tmp_path, 1))

    def groups(by_id: dict[str, str]) -> tuple[dict[str, str], list[str]]:
        return attack.groups(Labels(Path("m.csv"), "g", by_id))

    by_speaker = groups({s: "a" for s in NAMES[1:]})
    assert by_speaker == (dict.fromkeys(NAMES[1:], "a"), ["s0"])
    assert groups({f"{s}-t1": "a" for s in NAMES[1:]}) == by_speaker
    assert groups({f"{s}-e1": "a" for s in NAMES[1:-1]})[1] == ["s0", "s6"]
    with pytest.raises(PrivacyEvalError, match=r"m\.csv: speaker 's1' has several labels of g"):
        groups({"s1-e0": "a", "s1-t0": "b"})
