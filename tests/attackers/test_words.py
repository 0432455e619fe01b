"""The words attacker: scikit-learn's scores of odd and of real transcripts, a slow second
implementation, joined utterances, and the verb."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from attacker_support import REAL_B2, golden_scores, read_score_file
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ATTACKERS, GOLDEN, Run, cli, lines_to, needs_attackers, ok

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.shared_speech import session_is_enrolled
from privacy_eval.attackers.words import (
    join_trials,
    join_utterances,
    t_norm,
    text_cosines,
    words_scores,
)
from privacy_eval.io.data_dir import read_spk2utt
from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics import TrialScores, kaldi_eer
from privacy_eval.metrics.trials import Trials

EDGE = json.loads((GOLDEN.parent / "attackers/words_edge.json").read_text(encoding="utf-8"))


def test_odd_transcripts_have_the_scores_of_scikit_learn() -> None:
    """Accents, hyphens, Chinese, letters whose lower case is longer, empty and unknown text."""
    texts = [list(EDGE[side].values()) for side in ("enroll", "trial")]
    cosines = text_cosines(*texts, ["words", "characters"])
    assert cosines == pytest.approx(
        np.array([EDGE["word_cosine"], EDGE["char_cosine"]]), rel=0, abs=1e-9
    )
    assert words_scores(*texts) == pytest.approx(np.array(EDGE["words"]), rel=0, abs=1e-9)


# --- a slow second implementation


def slow_terms(text: str, kind: str) -> Counter[str]:
    words = text.lower().split()
    if kind == "words":
        return Counter(words)
    terms: Counter[str] = Counter()
    for word in words:
        padded = f" {word} "
        for n in (3, 4, 5):
            for start in range(max(len(padded) - n, 0) + 1):
                terms[padded[start : start + n]] += 1
            if len(padded) <= n:
                break
    return terms


def slow_cosine(first: dict[str, float], second: dict[str, float]) -> float:
    lengths = (math.sqrt(sum(x * x for x in v.values())) for v in (first, second))
    product = math.prod(lengths)
    return sum(x * second.get(t, 0) for t, x in first.items()) / product if product else 0.0


def slow_scores(enrollment: Sequence[str], trial: Sequence[str]) -> list[list[float]]:
    columns = []
    for text in trial:
        column = []
        for document in enrollment:
            cosines = []
            for kind in ("words", "characters"):
                documents = [slow_terms(other, kind) for other in enrollment]
                vectors = [
                    {
                        term: (1 + math.log(count))
                        * (math.log((1 + len(documents)) / (1 + df)) + 1)
                        for term, count in slow_terms(one, kind).items()
                        if (df := sum(term in d for d in documents))
                    }
                    for one in (document, text)
                ]
                cosines.append(slow_cosine(*vectors))
            column.append(statistics.fmean(cosines))
        mean, deviation = statistics.fmean(column), statistics.pstdev(column)
        columns.append([(c - mean) / deviation if deviation > 1e-12 else 0.0 for c in column])
    return [list(row) for row in zip(*columns, strict=True)]


TEXTS = st.lists(st.sampled_from(["a", "the", "castle", "CASTLE", "ça", "x-ray"]), max_size=6)


@settings(max_examples=25, deadline=None)
@given(
    enrollment=st.lists(TEXTS.map(" ".join), min_size=2, max_size=4),
    trial=st.lists(TEXTS.map("  ".join), min_size=1, max_size=3),
)
def test_scores_are_those_of_a_slow_second_implementation(
    enrollment: list[str], trial: list[str]
) -> None:
    if not any(enrollment) or not any(trial):
        with pytest.raises(PrivacyEvalError, match="has words"):
            words_scores(enrollment, trial)
        return
    expected = np.array(slow_scores(enrollment, trial))
    assert words_scores(enrollment, trial) == pytest.approx(expected, rel=0, abs=1e-6)


def test_a_single_enrolled_speaker_has_no_score() -> None:
    with pytest.raises(PrivacyEvalError, match="at least 2"):
        words_scores(["a b"], ["a"])


def test_scores_of_a_trial_have_mean_0_and_deviation_1() -> None:
    drawn = np.random.default_rng(0).normal(3, 7, size=(5, 4))
    normalized = t_norm(drawn)
    assert normalized.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert normalized.std(axis=0) == pytest.approx(np.ones(4))
    assert np.array_equal(np.argsort(normalized, axis=0), np.argsort(drawn, axis=0))


# --- joined utterances and sessions


def test_utterances_are_joined_within_sessions_in_the_order_of_ids() -> None:
    ids = ["b-1-2", "b-1-1", "a-1-1", "b-1-10", "b-1-3", "b-2-1", "alone"]
    assert join_utterances(ids, 2) == {
        "b-1-1-x2": ("b-1-1", "b-1-10"),
        "b-1-2-x2": ("b-1-2", "b-1-3"),
    }
    assert list(join_utterances(ids, 1)) == ["a-1-1", "alone", *sorted(ids)[2:]]


def test_a_joined_trial_has_all_its_utterances_tried() -> None:
    def trials(*rows: tuple[str, str, bool]) -> Trials:
        enrolled, utterance, label = zip(*rows, strict=True)
        return Trials(enrolled=enrolled, utterance=utterance, label=label)

    tried = trials(("b", "a-1", False), ("a", "a-2", True), ("a", "a-1", True), ("b", "c-1", False))
    joined, members = join_trials(tried, 2)
    assert (joined.enrolled.tolist(), joined.utterance.tolist()) == (["a"], ["a-1-x2"])
    assert joined.is_target.all() and members == {"a-1-x2": ("a-1", "a-2")}
    with pytest.raises(PrivacyEvalError, match="no session with 3"):
        join_trials(tried, 3)
    with pytest.raises(PrivacyEvalError, match="a a-1-x2"):
        join_trials(trials(("a", "a-1", True), ("a", "a-2", False)), 2)


# --- the verb


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Enrollment and trial folder of the ten real speakers."""
    text = (REAL_B2 / "text").read_text(encoding="utf-8")
    speaker_of = dict(map(str.split, (REAL_B2 / "test_utt2spk").read_text().splitlines()))
    enrolls = (REAL_B2 / "enrolls").read_text().split()
    by_speaker: dict[str, list[str]] = {}
    for utterance, speaker in speaker_of.items():
        by_speaker.setdefault(speaker, []).append(utterance)
    for name in ("enroll", "trial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(text, encoding="utf-8")
    lines_to(tmp_path / "enroll/spk2utt", [f"{s} {' '.join(u)}" for s, u in by_speaker.items()])
    lines_to(tmp_path / "enroll/enrolls", enrolls)
    lines_to(tmp_path / "trial/trials", (REAL_B2 / "trials").read_text().splitlines())
    return tmp_path


def text_scores(folder: Path, *more: object) -> Run:
    return cli(
        *("text-scores", "--enrollment", folder / "enroll", "--trial", folder / "trial"),
        *("--trials", folder / "trial/trials", "--out", folder / "scores", *more),
    )


def test_the_verb_scores_real_transcripts_as_scikit_learn_does(folders: Path) -> None:
    run = text_scores(folders)
    assert run.code == 0 and run.out == ""
    written, expected = read_score_file(folders / "scores"), golden_scores("words")
    assert list(written) == list(expected)
    assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-9)
    assert "50 of 500 trials are of a session" in run.err


def test_the_verb_reads_lists_of_enrolled_utterances(folders: Path) -> None:
    """Of VoxCeleb's format, whose enrolled utterances are the speakers of spk2utt."""
    enrolled, tried = folders / "enroll", folders / "trial/trials"
    known = (enrolled / "enrolls").read_text().split()[:3]
    (enrolled / "enrolls").unlink()
    lines_to(enrolled / "spk2utt", [f"{utterance} {utterance}" for utterance in known])
    trials = [line.split() for line in tried.read_text().splitlines()[:20]]
    pairs = [(e, u) for e in known for u in dict.fromkeys(u for _, u, _ in trials)]
    lines_to(tried, [f"{int(e[:4] == u[:4])} {e} {u}" for e, u in pairs])
    ok(text_scores(folders))
    scores = read_scores(folders / "scores")
    assert list(zip(scores.enrolled, scores.utterance, strict=True)) == pairs
    assert len(read_trials(tried).is_target) == len(pairs)


def test_the_verb_joins_utterances(folders: Path) -> None:
    ok(text_scores(folders, "--utterances", 5))
    key = read_trials(folders / "scores.trials")
    joined = dict(
        line.split(" ", 1) for line in (folders / "scores.joined").read_text().splitlines()
    )
    assert all(len(members.split()) == 5 and "-x5" in name for name, members in joined.items())
    assert set(key.utterance) == set(joined) and len(key.is_target) == 10 * len(joined)
    assert key.is_target.sum() == len(joined)
    assert list(read_scores(folders / "scores").utterance) == list(key.utterance)


def break_folder(folder: Path, what: str) -> None:
    text = folder / "trial/text"
    if what == "one speaker":
        lines_to(folder / "enroll/enrolls", (folder / "enroll/enrolls").read_text().split()[:5])
        speaker = (folder / "enroll/spk2utt").read_text().split()[0]
        lines = (folder / "trial/trials").read_text().splitlines()
        lines_to(folder / "trial/trials", [t for t in lines if t.split()[0] == speaker])
    elif what == "no text":
        text.unlink()
    elif what == "empty text":
        text.write_text("")
    elif what == "no words":
        lines_to(text, [line.split()[0] for line in text.read_text().splitlines()])
    elif what == "another set":
        lines_to(text, [f"other-{line}" for line in text.read_text().splitlines()])
    elif what == "another language":
        lines_to(text, [f"{line.split()[0]} 東京 大阪" for line in text.read_text().splitlines()])
    elif what == "unknown speaker":
        lines_to(folder / "trial/trials", ["nobody 1688-142285-0005 target"])


@pytest.mark.parametrize(
    ("what", "fact"),
    [
        ("one speaker", "at least 2"),
        ("no text", "trial/text"),
        ("empty text", "trial/text: empty file"),
        ("no words", "no trial transcript has words"),
        ("another set", "50 of 50 utterances have no transcript"),
        ("another language", "are both transcripts of one set?"),
        ("unknown speaker", "1 speakers are not enrolled"),
    ],
)
def test_bad_transcripts_are_clear_errors(folders: Path, what: str, fact: str) -> None:
    break_folder(folders, what)
    run = text_scores(folders)
    assert run.code == 1 and fact in run.err and "Traceback" not in run.err
    assert not (folders / "scores").exists()


def test_empty_transcripts_are_a_caveat(folders: Path) -> None:
    lines = (folders / "trial/text").read_text().splitlines()
    tried = (folders / "trial/trials").read_text().split()[1]
    kept = [line if line.split()[0] != tried else tried for line in lines]
    lines_to(folders / "trial/text", kept)
    run = text_scores(folders)
    assert run.code == 0 and f"1 of 50 trial utterances have no words: {tried}" in run.err
    assert {s for (_, u), s in read_score_file(folders / "scores").items() if u == tried} == {0.0}


def test_the_trial_key_is_not_overwritten(folders: Path) -> None:
    trials = folders / "trial/trials"
    out = ("--utterances", 5, "--out", folders / "trial/words")
    run = cli(
        *("text-scores", "--enrollment", folders / "enroll", "--trial", folders / "trial"),
        *("--trials", trials.rename(folders / "trial/words.trials"), *out),
    )
    assert run.code == 2 and "overwrite" in run.err


# --- all golden scores, where they are


@needs_attackers
@pytest.mark.parametrize("gender", ["f", "m"])
@pytest.mark.parametrize("suffix", ["", "_x5"])
def test_libri_test_clean(gender: str, suffix: str, tmp_path: Path) -> None:
    """Scores, joined trials, and error rates by whether the session is enrolled."""
    golden, name = ATTACKERS / "words", f"libri_test_trials_{gender}"
    folder, out = golden / "libri_test_enrolls", tmp_path / "scores"
    run = cli(
        *("text-scores", "--enrollment", folder, "--trial", golden / name),
        *("--trials", golden / name / "trials", "--out", out),
        *(("--utterances", 5) if suffix else ()),
    )
    assert run.code == 0
    written = read_score_file(out)
    expected = read_score_file(golden / f"scores/{name}{suffix}.words.gz")
    assert list(written) == list(expected)
    assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-9)
    if suffix:
        for kind in ("trials", "joined"):
            beside = out.with_name(f"scores.{kind}")
            assert beside.read_text() == (golden / f"{name}{suffix}" / kind).read_text()
    facts = json.loads((golden / "libri_test_expected.json").read_text())[f"{name}{suffix}"]
    key = read_trials(golden / f"{name}{suffix}" / "trials")
    scores, first = np.array(list(written.values())), [u.split("-x")[0] for u in key.utterance]
    enrolled = session_is_enrolled(list(key.enrolled), first, read_spk2utt(folder / "spk2utt"))
    for stratum, part in (("session_enrolled", enrolled), ("session_not_enrolled", ~enrolled)):
        targets = scores[key.is_target & part]
        assert targets.size == facts["words"][stratum]["targets"]
        eer = kaldi_eer(TrialScores(targets, scores[~key.is_target])).value
        assert eer == pytest.approx(facts["words"][stratum]["eer_kaldi"], abs=1e-12)
