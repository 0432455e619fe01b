"""Amount of speech of vectors and of scores: golden values, the verb, bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, Run, cli, lines_to, write

GOLDEN = ROOT / "tests" / "data" / "golden" / "amount"
FACTS = json.loads((GOLDEN / "expected.json").read_text())
SHARED = ROOT.parent / "shared" / "disclosure" / "amount"
LENGTHS = ("--sentences", "1,2,3,5,10,30")


def vectors_of(folder: Path, source: Path) -> list[object]:
    """Write a golden set of vectors as files; return the verb's options."""
    sets = np.load(source)
    speakers, utterances, dimension = sets["enroll"].shape
    enrolled = [[f"s{k:02d}-e{i}" for i in range(utterances)] for k in range(speakers)]
    spoken = [(f"s{k:02d}-t{i:04d}", f"s{k:02d}") for i, k in enumerate(sets["test_speaker"])]
    matrix = sets["enroll"].reshape(-1, dimension)
    np.savez(folder / "enroll.npz", ids=np.ravel(enrolled), matrix=matrix)
    np.savez(folder / "test.npz", ids=np.array([u for u, _ in spoken]), matrix=sets["test"])
    lines_to(folder / "spk2utt", (f"s{k:02d} {' '.join(u)}" for k, u in enumerate(enrolled)))
    lines_to(folder / "utt2spk", map(" ".join, spoken))
    return [
        *("--enroll-vectors", folder / "enroll.npz", "--spk2utt", folder / "spk2utt"),
        *("--trial-vectors", folder / "test.npz", "--utt2spk", folder / "utt2spk"),
        *("--backend", "cosine", *LENGTHS, "--format", "json"),
    ]


def scores_of(folder: Path) -> list[object]:
    """Write the golden scores as files; return the verb's options."""
    lines = gzip.decompress((GOLDEN / "scores.gz").read_bytes()).decode().splitlines()
    trials = [line.split()[:2] for line in lines]
    lines_to(folder / "scores", lines)
    label = {True: "target", False: "nontarget"}
    lines_to(folder / "trials", (f"{s} {u} {label[u.startswith(f'{s}-')]}" for s, u in trials))
    lines_to(folder / "utt2spk", (f"{u} {u[:3]}" for u in sorted({u for _, u in trials})))
    return [
        *("--scores", folder / "scores", "--trials", folder / "trials"),
        *("--utt2spk", folder / "utt2spk", *LENGTHS, "--format", "json"),
    ]


def assert_golden(run: Run, facts: dict) -> None:
    assert run.code == 0, run.err
    amount = json.loads(run.out)["amount"]
    assert set(amount) == set(facts)
    for length, expected in facts.items():
        values = amount[length]
        assert set(values) == {"conversations", "speakers", "eer", "rank1"}
        assert values["conversations"] == expected["n_target"]
        assert values["speakers"] == expected["speakers"]
        assert values["eer"] == pytest.approx(expected["eer_kaldi"], abs=1e-6)
        assert values["rank1"] == pytest.approx(expected["rank1_ties_lost"], abs=1e-9)


def test_averaged_vectors(tmp_path: Path) -> None:
    run = cli("identification", *vectors_of(tmp_path, GOLDEN / "unequal_counts.npz"))
    assert_golden(run, FACTS["unequal_counts"])
    equal = json.loads(run.out)["amount_of_equal_speakers"]
    assert {values["speakers"] for values in equal.values()} == {10}


def test_averaged_scores(tmp_path: Path) -> None:
    assert_golden(cli("identification", *scores_of(tmp_path)), FACTS["score_file"])


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no golden amounts of speech ({SHARED})")
@pytest.mark.parametrize("name", ["weak", "strong", "session_effect"])
def test_more_sets_of_vectors(name: str, tmp_path: Path) -> None:
    expected = json.loads((SHARED / "expected.json").read_text())[name]["L"]
    facts = {
        length: {**of["vectors_averaged"], "speakers": of["speakers_with_a_conversation"]}
        for length, of in expected.items()
    }
    assert_golden(cli("identification", *vectors_of(tmp_path, SHARED / f"{name}.npz")), facts)


def test_text_and_plot(tmp_path: Path) -> None:
    options = vectors_of(tmp_path, GOLDEN / "unequal_counts.npz")
    drawn = ("--format", "text", "--bootstrap", 20, "--plot", tmp_path / "amount.png")
    run = cli("identification", *options[:-2], *drawn)
    assert run.code == 0, run.err
    assert "3 sentences: 192 tests of 24 speakers" in run.out
    assert "the same 10 speakers at every length" in run.out
    assert "with 30 sentences instead of 1" in run.out
    assert (tmp_path / "amount.png").read_bytes().startswith(b"\x89PNG")


def test_pairs_that_were_not_scored_are_not_compared(tmp_path: Path) -> None:
    """Trials with half of the other speakers: fewer nontargets, the same tests."""
    options = scores_of(tmp_path)
    for name in ("scores", "trials"):
        lines = (tmp_path / name).read_text().splitlines()
        kept = [w for w in lines if w[:3] == w.split()[1][:3] or int(w[1:3]) % 2 == 0]
        lines_to(tmp_path / name, kept)
    amount = json.loads(cli("identification", *options).out)["amount"]
    for length, expected in FACTS["score_file"].items():
        assert amount[length]["conversations"] == expected["n_target"]
        assert amount[length]["rank1"] >= expected["rank1_ties_lost"]


def test_speakers_enrolled_twice(tmp_path: Path) -> None:
    options = scores_of(tmp_path)
    for name in ("scores", "trials"):
        text = (tmp_path / name).read_text()
        more = text.replace("s00 ", "s00-u00 ", 3)
        write(tmp_path / name, more)
    run = cli("identification", *options)
    assert (run.code, "21 enrolled ids of 20 speakers" in run.err) == (1, True)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--plot", "amount.xls"), "expected a name that ends in"),
        (("--spk2utt", "x"), "--scores and --spk2utt exclude each other"),
        (("--gallery-sizes", "2"), "--scores and --gallery-sizes exclude each other"),
    ],
)
def test_options_that_do_not_go_together(more: tuple, message: str, tmp_path: Path) -> None:
    run = cli("identification", *scores_of(tmp_path), *more)
    assert (run.code, message in run.err) == (2, True)


def test_plots_need_lengths(tmp_path: Path) -> None:
    options = vectors_of(tmp_path, GOLDEN / "unequal_counts.npz")
    assert cli("identification", *options[:10], "--plot", tmp_path / "x.png").code == 2


def test_no_speaker_has_as_many_utterances(tmp_path: Path) -> None:
    options = vectors_of(tmp_path, GOLDEN / "unequal_counts.npz")
    run = cli("identification", *("99" if o == LENGTHS[1] else o for o in options))
    assert (run.code, "no enrolled speaker" in run.err) == (1, True)
