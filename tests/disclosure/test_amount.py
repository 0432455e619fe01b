"""Amount of speech of vectors and of scores: golden values, a slow version, the verb, bad input."""

import gzip
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from support import ROOT, Run, cli, lines_to, ok, printed, write

from privacy_eval import PrivacyEvalError, TrialScores, kaldi_eer
from privacy_eval.disclosure.amount import Amount, Tests, amount_curve, amounts
from privacy_eval.disclosure.gallery_tests import KnownSpeech, sessions_of
from privacy_eval.io.scores import read_scores, read_trials, with_speakers
from privacy_eval.metrics.pairing import pair

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
    run = ok(cli("identification", *options[:-2], *drawn))
    rows = [[row[k] for k in ("Sentences", "n", "Speakers")] for row in printed(run.out)[-12:]]
    assert ["3", "192", "24"] in rows and "of the same 10 speakers at every length" in run.out
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
        (("--spk2utt", "x"), "--spk2utt and --scores exclude each other"),
        (("--gallery-sizes", "2"), "--gallery-sizes and --scores exclude each other"),
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


# --- seconds, sessions, equal speakers: a slow second implementation

#: Spoken utterances by speaker: session and number; scores are compared or not.
SESSIONS = st.lists(st.integers(0, 2), min_size=1, max_size=9)


def slow_rates(
    runs: list[list[str]], scores: dict[tuple[str, str], float], speakers: list[str]
) -> tuple[int, int, float | None, float, float] | None:
    """Tests, speakers, EER, rank-1 rate and mean seconds (the utterances' numbers + 1) of runs."""
    target, nontarget, hits, spoken, seconds = [], [], [], [], []
    for run in runs:
        own = run[0].split("-")[0]
        means = {
            s: sum(scores[s, u] for u in run) / len(run)
            for s in speakers
            if all((s, u) in scores for u in run)
        }
        if own not in means:
            continue
        others = [value for s, value in means.items() if s != own]
        target.append(means[own])
        nontarget += others
        tied = sum(value == means[own] for value in others)  # drawn among
        hits.append(0 if any(value > means[own] for value in others) else 1 / (1 + tied))
        spoken.append(own)
        seconds.append(sum(int(u.split("-")[2]) + 1 for u in run))
    if not hits:
        return None
    eer = kaldi_eer(TrialScores(target, nontarget)).value if nontarget else None
    mean = sum(seconds) / len(seconds)
    return len(hits), len(set(spoken)), eer, sum(hits) / len(hits), mean


def consecutive(utterances: list[str], length: int) -> list[list[str]]:
    return [utterances[i : i + length] for i in range(0, len(utterances) - length + 1, length)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_seconds_sessions_and_equal_speakers_one_by_one(data: st.DataObject) -> None:
    sessions = data.draw(st.lists(SESSIONS, min_size=2, max_size=3))
    speakers = [f"s{k}" for k in range(len(sessions))]
    spoken = {
        s: sorted(f"{s}-c{c}-{number}" for number, c in enumerate(of))
        for s, of in zip(speakers, sessions, strict=True)
    }
    utterances = [u for of in spoken.values() for u in of]
    number = st.sampled_from([-1.0, 0.0, 0.5, 2.0, None])
    drawn = {(s, u): data.draw(number) for s in speakers for u in utterances}
    scores = {pair: value for pair, value in drawn.items() if value is not None}
    if {u.startswith(f"{s}-") for s, u in scores} != {True, False}:
        return  # no target or no nontarget: an error of the trials
    speaker_of = {u: s for s, of in spoken.items() for u in of}
    known = KnownSpeech(
        {u: int(u.split("-")[2]) + 1.0 for u in utterances}, sessions_of(speaker_of)
    )
    assert bool(known.sessions) == any(len(set(of)) > 1 for of in sessions)
    tried = {u for _, u in scores}  # the trial list does not know of others
    spoken = {s: [u for u in of if u in tried] for s, of in spoken.items()}
    lengths = (1, 2, 3)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("scores", "trials", "utt2spk")]
        lines_to(paths[0], (f"{s} {u} {value}" for (s, u), value in scores.items()))
        kind = {True: "target", False: "nontarget"}
        lines_to(paths[1], (f"{s} {u} {kind[u.startswith(f'{s}-')]}" for s, u in scores))
        lines_to(paths[2], (f"{u} {s}" for u, s in speaker_of.items()))
        paired = pair(read_scores(paths[0]), read_trials(paths[1]))
        paired = known.beside(with_speakers(paired, paths[2]))
        runs = {n: [r for of in spoken.values() for r in consecutive(of, n)] for n in lengths}
        rates = {n: slow_rates(runs[n], scores, speakers) for n in lengths}
        tested = [
            {r[0].split("-")[0] for r in runs[n] if slow_rates([r], scores, speakers)}
            for n in lengths
            if rates[n]
        ]
        same = set.intersection(*tested)
        if not same:
            with pytest.raises(PrivacyEvalError, match="tests of every length"):
                amounts(paired, lengths)
            return
        curve = amounts(paired, lengths)

    def values(amounts: Sequence[Amount]) -> list[tuple]:
        return [
            (a.length, (a.conversations, a.speakers, a.eer, approx(a.rank1), approx(a.seconds)))
            for a in amounts
            if a.conversations
        ]

    def of(chosen: dict[int, list[list[str]]], kept: set[str] | None = None) -> list[tuple]:
        some = {
            n: [r for r in chosen[n] if kept is None or r[0].split("-")[0] in kept] for n in chosen
        }
        found = {n: slow_rates(some[n], scores, speakers) for n in some}
        return [(n, rate) for n, rate in found.items() if rate]

    assert values(curve.all) == of(runs)
    assert values(curve.equal) == of(runs, same)
    within: dict[int, list[list[str]]] = {}
    for n in rates if known.sessions else ():
        cut = [
            r
            for s in speakers
            for c in range(3)
            for r in consecutive([u for u in spoken[s] if u.startswith(f"{s}-c{c}-")], n)
        ]
        speak = {r[0].split("-")[0] for r in cut if slow_rates([r], scores, speakers)}
        if rates[n] and len(speak) > 1:
            within[n] = cut
    assert values(curve.one_session) == of(within)
    for one, whole in zip(curve.one_session, curve.any_session, strict=True):
        kept = {r[0].split("-")[0] for r in within[one.length] if slow_rates([r], scores, speakers)}
        assert values([whole]) == of({one.length: runs[one.length]}, kept)


def test_a_length_without_whole_tests_is_not_compared_within_sessions() -> None:
    """Trials may be missing where a test of several utterances crosses sessions."""
    tests: Tests = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([0, 1])
    none = np.empty((0, 2)), np.empty(0, dtype=np.int64)
    curve = amount_curve({1: tests, 2: none}, ["a", "b"], within_sessions={1: tests, 2: tests})
    assert [a.length for a in curve.one_session] == [a.length for a in curve.any_session] == [1]


def test_vectors_and_scores_have_the_same_tests(tmp_path: Path) -> None:
    """Of unit vectors and cosines also the same ranks; sessions are those of the ids."""
    generator = np.random.default_rng(1)
    spoken = [f"s{k}-{c}-{i}" for k in range(4) for c in "ab" for i in range(3 + k)]
    speaker_of = {u: u[:2] for u in spoken}
    matrix = generator.normal(size=(len(spoken), 6))
    matrix += 2 * np.repeat(generator.normal(size=(4, 6)), [6, 8, 10, 12], axis=0)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    enrolled = matrix[[0, 6, 14, 24]]
    lines_to(tmp_path / "utt2spk", (f"{u} {s}" for u, s in speaker_of.items()))
    lines_to(tmp_path / "spk2utt", (f"s{k} s{k}-e-0" for k in range(4)))
    lines_to(tmp_path / "utt2dur", (f"{u} {1 + n % 3}" for n, u in enumerate(spoken)))
    cosines = {
        (f"s{k}", u): enrolled[k] @ matrix[n] for k in range(4) for n, u in enumerate(spoken)
    }
    label = {True: "target", False: "nontarget"}
    lines_to(tmp_path / "scores", (f"{s} {u} {value:.17g}" for (s, u), value in cosines.items()))
    lines_to(tmp_path / "trials", (f"{s} {u} {label[s == u[:2]]}" for s, u in cosines))
    np.savez(
        tmp_path / "enroll.npz", ids=np.array([f"s{k}-e-0" for k in range(4)]), matrix=enrolled
    )
    np.savez(tmp_path / "test.npz", ids=np.array(spoken), matrix=matrix)
    shared = [
        *("--utt2spk", tmp_path / "utt2spk", "--utt2dur", tmp_path / "utt2dur"),
        *("--sentences", "1,2,4", "--format", "json"),
    ]
    vectors = [
        *("--enroll-vectors", tmp_path / "enroll.npz", "--spk2utt", tmp_path / "spk2utt"),
        *("--trial-vectors", tmp_path / "test.npz", "--backend", "cosine"),
    ]
    files = ["--scores", tmp_path / "scores", "--trials", tmp_path / "trials"]
    by_vectors, by_scores = (
        json.loads(cli("identification", *options, *shared).out) for options in (vectors, files)
    )
    for kind in ("amount_of_equal_speakers", "amount_of_one_session", "amount_of_any_session"):
        assert by_vectors[kind].keys() == by_scores[kind].keys()
        for length, of in by_scores[kind].items():
            for name in ("conversations", "speakers", "rank1", "seconds"):
                assert by_vectors[kind][length][name] == of[name]
    assert by_scores["amount_of_one_session"]["4"]["speakers"] == 3  # of 4, 5 and 6 in a session
    # The first two of three utterances of a session: durations 1 2 3, in turn.
    assert by_scores["amount_of_equal_speakers"]["1"]["seconds"] == approx(2, abs=0.05)
    text = cli("identification", *files, *shared[:-2]).out
    assert "within one session" in text and "all of the same speakers" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("s00-u00 2 3", "utt2dur:1"),
        ("s00-u00 -1", "expected seconds"),
        ("s00-u00 inf", "expected seconds"),
        ("s00-u00 x", "expected seconds"),
        ("s00-u00 2", "no duration of 599 utterances"),
    ],
)
def test_wrong_durations(line: str, message: str, tmp_path: Path) -> None:
    options = scores_of(tmp_path)
    lines_to(tmp_path / "utt2dur", [line])
    run = cli("identification", *options, "--utt2dur", tmp_path / "utt2dur")
    assert (run.code, message in run.err) == (1, True), run.err
