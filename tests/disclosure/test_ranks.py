"""Ranks counted in blocks and by array jobs: those of the whole matrix of scores, to the last."""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cli, flipped_bits, ok, refused

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import BACKENDS, BackendName, score_matrix, train_backend
from privacy_eval.asv.inputs import Enrollment, Gallery
from privacy_eval.disclosure import gallery_tests
from privacy_eval.disclosure.accused import shares
from privacy_eval.disclosure.gallery_tests import GalleryTests
from privacy_eval.disclosure.identification import (
    merge_ranks,
    read_all_ranks,
    read_ranks,
    write_ranks,
)
from privacy_eval.disclosure.linkage import beaters
from privacy_eval.io.vectors import Vectors

DIM, JOBS = 3, (1, 2, 3)
#: Few distinct values, so that many speakers sound alike; none whose products cancel out, as what
#: is left of such a sum is a rounding error.
CELLS = st.lists(st.integers(1, 2), min_size=DIM, max_size=DIM)
MODEL = train_backend(
    np.random.default_rng(0).normal(size=(40, DIM)).astype(np.float32),
    [f"s{n % 8}" for n in range(40)],
)


def gallery_of(rows: list[list[int]], letter: str, folder: Path) -> Gallery:
    ids = tuple(f"{letter}{n}" for n in range(len(rows)))
    vectors = Vectors(folder / letter, ids, np.float32(rows).reshape(-1, DIM))
    return Gallery(vectors, Enrollment(folder / "spk2utt", {f"s{i}": (i,) for i in ids}))


@settings(max_examples=40, deadline=None)
@given(
    enrolled=st.lists(CELLS, min_size=2, max_size=9),
    others=st.lists(CELLS, max_size=5),
    spoken=st.lists(CELLS, min_size=1, max_size=6),
    backend=st.sampled_from(BACKENDS),
    block=st.sampled_from([1, 4, 100]),
    jobs=st.integers(1, 4),
)
def test_blocks_and_jobs_have_the_ranks_of_the_whole_matrix(
    folder: Path,
    enrolled: list[list[int]],
    others: list[list[int]],
    spoken: list[list[int]],
    backend: BackendName,
    block: int,
    jobs: int,
) -> None:
    gallery = gallery_of(enrolled, "a", folder)
    distractors = gallery_of(others, "b", folder) if others else None
    tests = Vectors(folder / "t", tuple(f"t{n}" for n in range(len(spoken))), np.float32(spoken))
    own = np.arange(len(spoken)) % (len(enrolled) // 2)  # the other half is not tested
    utt2spk = folder / "utt2spk"
    utt2spk.write_text("".join(f"t{n} sa{speaker}\n" for n, speaker in enumerate(own)))
    options = {"backend": backend, "model": MODEL if backend == "plda" else None}
    scores = score_matrix(np.float32([*enrolled, *others]), 1, tests.matrix, **options)
    order = np.argsort(own, kind="stable")  # tests are sorted by speaker
    expected = tuple(beaters(scores.T, own)[order].tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery_tests, "_BLOCK_SCORES", block)
        options |= {"distractors": distractors}
        attack = GalleryTests(gallery, tests, utt2spk, **options)
        whole = attack.rank()
        parts = {Path(str(n)): attack.rank(job=(n, jobs)) for n in range(jobs, 0, -1)}
    merged = merge_ranks(parts)
    assert whole.beaten == merged.beaten == expected
    assert merged.done == tuple(range(1, jobs + 1))
    same = {"inputs": whole.inputs, "jobs": 1, "done": (1,)}
    assert replace(merged, **same) == whole
    # The names that the highest scores give, shared where they tie.
    counts: Counter[tuple[int, str]] = Counter()
    people = [*gallery.enrollment.members, *(distractors.enrollment.members if others else ())]
    for row, speaker in zip(scores.T.tolist(), own.tolist(), strict=True):
        tied = [name for name, score in zip(people, row, strict=True) if score == max(row)]
        counts.update(dict.fromkeys(((speaker, name) for name in tied), 1 / len(tied)))
    of_pairs = shares(whole.speaker, whole.named)
    found = {(speaker, name): share for speaker, name, share in of_pairs}
    assert found == pytest.approx({(int(s), name): n for (s, name), n in counts.items()})


class Files:
    """Six enrolled speakers, two of them tested, in files."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(1)
        self.folder = folder
        self.write("enroll", [f"e{n}" for n in range(6)], rng)
        self.write("test", [f"t{n}" for n in range(6)], rng)
        (folder / "spk2utt").write_text("".join(f"s{n} e{n}\n" for n in range(6)))
        (folder / "utt2spk").write_text("".join(f"t{n} s{n % 2}\n" for n in range(6)))
        self.command = [
            *("identification", "--backend", "cosine", "--utt2spk", folder / "utt2spk"),
            *("--enroll-vectors", folder / "enroll.ark", "--spk2utt", folder / "spk2utt"),
            *("--trial-vectors", folder / "test.ark"),
        ]

    def write(self, name: str, ids: list[str], rng: np.random.Generator) -> None:
        lines = (f"{i} [ {' '.join(map(str, rng.normal(size=4)))} ]\n" for i in ids)
        (self.folder / f"{name}.ark").write_text("".join(lines))

    def job(self, number: int, *more: object) -> Path:
        out = self.folder / f"ranks.{number}"
        ok(cli(*self.command, "--job", f"{number}/3", "--out", out, *more))
        return out


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.wing("scale")
def test_jobs_and_merge_print_what_one_command_prints(files: Files) -> None:
    first, second, third = (files.job(number) for number in JOBS)
    some, whole = files.folder / "some", files.folder / "whole"
    assert cli("merge", third, first, "--out", some).code == 0
    refused(cli("identification", "--ranks", some), "1 of 3 jobs are missing, first 2")
    run = cli("merge", second, some, "--out", whole)
    assert run.code == 0 and "jobs 3 of 3" in run.err
    again = files.folder / "again"
    assert cli("merge", first, second, third, "--out", again).code == 0
    assert again.read_bytes() == whole.read_bytes()
    how = ("--format", "json", "--rank", 2, "--bootstrap", 20, "--gallery-sizes", "2,6")
    direct, merged = cli(*files.command, *how), cli("identification", "--ranks", whole, *how)
    assert (direct.code, merged.code) == (0, 0), merged.err
    assert json.loads(merged.out) | {"singling_out": 0} == json.loads(direct.out) | {
        "singling_out": 0  # of the sizes that the jobs were given
    }


@pytest.mark.wing("scale")
def test_singling_out_is_what_the_jobs_were_asked_for(files: Files) -> None:
    (files.folder / "utt2spk").write_text("".join(f"t{n} s{n % 2}\n" for n in range(24)))
    files.write("test", [f"t{n}" for n in range(24)], np.random.default_rng(3))
    how, json_ = ("--gallery-sizes", "2", "--bootstrap", 9), ("--format", "json")
    whole = files.folder / "whole"
    assert cli("merge", *(files.job(n, *how) for n in JOBS), "--out", whole).code == 0
    direct = json.loads(cli(*files.command, *how, *json_).out)["singling_out"]
    merged = json.loads(cli("identification", "--ranks", whole, *json_).out)["singling_out"]
    assert merged == direct and len(direct["intervals"]) == 1


@pytest.mark.wing("scale")
def test_parts_that_do_not_add_up_are_refused(files: Files) -> None:
    first, second = files.job(1), files.job(2)
    copy, out = files.folder / "copy", files.folder / "out"
    copy.write_bytes(first.read_bytes())
    refused(cli("merge", first, copy, "--out", out), "job 1 is in both")
    files.write("test", [f"t{n}" for n in range(6)], np.random.default_rng(2))
    refused(cli("merge", second, files.job(1), "--out", out), "other inputs")
    counts = files.folder / "counts"
    counts.write_text("s t 1 target\n")
    for paths in ((first, counts), (counts, first)):
        refused(cli("merge", *paths, "--out", out), str(counts))
    assert not out.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"done": []},
        {"done": [1, 1]},
        {"done": [4]},
        {"beaten": [6] * 6},
        {"beaten": [-1] * 6},
        {"beaten": [1]},
        {"beaten": [1] * 6, "tied": [2] * 6},
        {"tied": [0]},
        {"speaker": [2] * 6},
        {"speaker": [], "beaten": []},
        {"length": 0},
        {"n_distractors": -1},
        {"more": 1},
    ],
)
def test_damaged_ranks_are_refused(files: Files, changes: dict[str, object]) -> None:
    path = files.job(1)
    plain = {**json.loads(path.read_text()), **changes}
    del plain["sha256"]
    plain["sha256"] = hashlib.sha256(f"{json.dumps(plain)}\n".encode()).hexdigest()
    path.write_text(json.dumps(plain))
    with pytest.raises(PrivacyEvalError, match=str(path)) as caught:
        read_ranks(path)
    assert "checksum" not in str(caught.value)


def test_a_flipped_bit_of_ranks_is_refused(files: Files) -> None:
    path = files.job(1)
    ranks = read_ranks(path)
    for position, content in flipped_bits(path.read_bytes(), 300):
        path.write_bytes(content)
        try:
            assert read_ranks(path) == ranks, position
        except PrivacyEvalError as error:
            assert str(error).startswith(str(path)), position


def test_ranks_without_a_checksum_name_what_makes_them_anew(files: Files) -> None:
    path = files.job(1)
    plain = json.loads(path.read_text())
    del plain["sha256"]
    path.write_text(json.dumps(plain))
    with pytest.raises(PrivacyEvalError, match="no checksum.*identification --job"):
        read_ranks(path)


def test_written_ranks_are_read_again(files: Files) -> None:
    ranks = replace(read_ranks(files.job(1)), jobs=1)
    write_ranks(files.folder / "again", ranks)
    assert read_all_ranks(files.folder / "again") == ranks


def test_wrong_usage(files: Files) -> None:
    part, out = files.job(1), files.folder / "x"
    job = ("--job", "1/3")
    for more in (
        *(job, ("--out", out), ("--ranks", part)),
        *((*job, "--out", out, "--rank", 2), (*job, "--out", out, "--sentences", "1,2")),
    ):
        assert cli(*files.command, *more).code == 2
    assert not out.exists()
