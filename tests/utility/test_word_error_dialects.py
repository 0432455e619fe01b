"""Word errors as other programs count them: their values."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from support import ROOT

from privacy_eval.io.transcripts import pair_transcripts
from privacy_eval.metrics.utility import SpeakerErrors, WordErrors
from privacy_eval.utility.word_errors import total, word_errors

GOLDEN = ROOT / "tests/data/golden/dialects"
WORDS = json.loads((GOLDEN / "words.json").read_text())


def as_errors(counts: dict[str, int]) -> WordErrors:
    return WordErrors(*(counts[k] for k in ("words", "insertions", "deletions", "substitutions")))


def errors_of(name: str) -> dict[str, WordErrors]:
    files = {
        "costs": [GOLDEN.parent / "sclite" / f"costs_{side}.trn" for side in ("ref", "hyp")],
        "speakers": [GOLDEN / f"words_{side}" for side in ("ref", "hyp")],
    }[name]
    texts = pair_transcripts(*files).texts
    return {utterance: word_errors(*pair) for utterance, pair in texts.items()}


@pytest.mark.parametrize("name", ["costs", "speakers"])
def test_splits_differ_where_totals_do_not(name: str) -> None:
    """jiwer has as many errors, but more of them are substitutions."""
    pytest.importorskip("kaldialign", reason="the extra wer is not installed")
    found = total(errors_of(name).values())
    assert found == as_errors(WORDS[name]["kaldialign"])
    jiwer = as_errors(WORDS[name]["jiwer"])
    assert (jiwer.words, jiwer.errors) == (found.words, found.errors)
    assert jiwer.substitutions > found.substitutions and jiwer.insertions < found.insertions


def test_weights_of_sclite_make_more_errors() -> None:
    """Both have the least cost, 84, at weights 3, 3, 4; ours has 18 * 4 + 6 * 3 = 90."""
    errors = {name: as_errors(WORDS["costs"][name]) for name in WORDS["costs"] if "_ci" not in name}
    costs = {n: 3 * (e.insertions + e.deletions) + 4 * e.substitutions for n, e in errors.items()}
    assert costs["sclite"] == costs["kaldialign, sclite_mode"] == 84 < costs["kaldialign"] == 90
    assert [errors[n].errors for n in ("kaldialign", "sclite", "kaldialign, sclite_mode")] == [
        *(24, 26, 27)
    ]


def test_intervals_over_utterances_are_too_narrow_for_speakers_who_differ() -> None:
    """kaldialign prints the mean of replicates, and 1.96 of their standard deviations, over the
    utterances; ours draws speakers, ten with 0 to 60 % of errors."""
    pytest.importorskip("kaldialign", reason="the extra wer is not installed")
    of_utterance = errors_of("speakers")
    speakers = sorted({utterance.split("-")[0] for utterance in of_utterance})
    pooled = [
        total(c for utterance, c in of_utterance.items() if utterance.startswith(f"{speaker}-"))
        for speaker in speakers
    ]
    words, errors = (tuple(getattr(c, key) for c in pooled) for key in ("words", "errors"))
    ours = SpeakerErrors(tuple(speakers), words, errors, replicates=2000, seed=0).sums
    theirs = WORDS["speakers"]["bootstrap_wer_ci"]
    rates = resampled([rate_counts(c) for c in of_utterance.values()])
    assert theirs["wer"] == pytest.approx(rates.mean(), abs=0.001)
    assert theirs["wer"] != ours.rate == 123 / 720
    assert theirs["ci95"] == pytest.approx(1.96 * rates.std(), rel=0.05)
    drawn = ours.bootstrap().interval("rate")
    assert drawn.high - drawn.low > 2.5 * (theirs["ci95max"] - theirs["ci95min"])


def test_the_mean_of_replicates_is_no_word_error_rate() -> None:
    """Three utterances, 20 words without an error and 3 with 4: 17 % are printed as 52 %, from
    below 0 to above 100 %."""
    pytest.importorskip("kaldialign", reason="the extra wer is not installed")
    case = WORDS["three utterances"]
    pairs = zip(case["ref"], case["hyp"], strict=True)
    counts = [word_errors(*pair) for pair in pairs]
    assert total(counts).wer == pytest.approx(4 / 23)
    printed = case["bootstrap_wer_ci"]
    assert printed["wer"] == pytest.approx(
        resampled([rate_counts(c) for c in counts]).mean(), abs=0.03
    )
    assert printed["ci95min"] < 0 and printed["ci95max"] > 1


def rate_counts(counts: WordErrors) -> tuple[int, int]:
    return counts.words, counts.errors


def resampled(counts: list[tuple[int, int]], replicates: int = 20000) -> NDArray[np.float64]:
    """Word error rates of utterances drawn with replacement."""
    drawn = np.random.default_rng(1).integers(0, len(counts), (replicates, len(counts)))
    words, errors = (np.array(column)[drawn].sum(axis=1) for column in zip(*counts, strict=True))
    return np.asarray(errors / words)
