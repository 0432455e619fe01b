"""Utility: word errors against the challenges' own functions."""

import json
import unicodedata
from pathlib import Path
from typing import TypedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import csv_rows

from privacy_eval import PrivacyEvalError
from privacy_eval.choices import NORMALIZATIONS, VARIANTS, Variant
from privacy_eval.io.transcripts import pair_transcripts
from privacy_eval.metrics.utility import (
    Normalization,
    SpeakerErrors,
    SpeakerSums,
    WordErrors,
    group_rates,
    ratio_bootstrap,
    split_words,
    total,
    word_errors,
)

WER = Path(__file__).parents[1] / "data" / "golden" / "wer"

CASES: dict[str, Normalization] = {
    "english_2024": "none",
    **dict.fromkeys(("english_2026", "french_2026", "chinese_2026", "japanese_2026"), "vpc2026"),
}


class Rules(TypedDict):
    normalization: Normalization
    variant: Variant


@pytest.mark.parametrize("name", CASES)
def test_golden_counts_and_rates(name: str) -> None:
    expected = json.loads((WER / name / "expected.json").read_text())
    texts = pair_transcripts(WER / name / "ref", WER / name / "hyp").texts
    rules: Rules = {"normalization": CASES[name], "variant": "challenge"}
    actual = {u: word_errors(*texts[u], **rules) for u in texts}
    pooled = total(actual.values())
    assert 100 * pooled.errors / pooled.words == expected["WER"]
    counts = ("num_scored_tokens", "insertions", "deletions", "substitutions")
    assert pooled == WordErrors(*(expected[key] for key in counts))
    rows = csv_rows(WER / name / "expected_utterances.csv")
    assert {row["utterance"] for row in rows} == actual.keys()
    for row in rows:
        counts = ("num_ref_tokens", "insertions", "deletions", "substitutions")
        assert actual[row["utterance"]] == WordErrors(*(int(row[key]) for key in counts)), row


def test_empty_sides_by_hand() -> None:
    """Challenge of 2024: an empty side is one empty word, unless both are; else no word."""
    assert word_errors("A B", "", variant="challenge") == WordErrors(2, 0, 1, 1)
    assert word_errors("", "A B", variant="challenge") == WordErrors(1, 1, 0, 1)
    assert word_errors("A B", "") == WordErrors(2, 0, 2, 0)
    assert word_errors("", "A B") == WordErrors(0, 2, 0, 0)
    for rules in (Rules(normalization=n, variant=v) for n in NORMALIZATIONS for v in VARIANTS):
        assert word_errors("", "", **rules) == WordErrors(0, 0, 0, 0)
    assert word_errors("a b", "", normalization="vpc2026", variant="challenge") == WordErrors(
        2, 0, 2, 0
    )
    assert word_errors("", "").wer is None
    with pytest.raises(ValueError, match="variant"):
        word_errors("", "", variant="both")  # type: ignore[arg-type]


def test_empty_sides_as_jiwer_and_meeteval_count_them() -> None:
    """The same texts as of the challenge's golden counts, by other programs."""
    expected = json.loads((WER.parent / "sclite" / "meeteval_jiwer.json").read_text())
    texts = pair_transcripts(WER / "english_2024" / "ref", WER / "english_2024" / "hyp").texts
    found = total(word_errors(*pair) for pair in texts.values())
    for counts in expected["english_2024"].values():
        keys = ("words", "insertions", "deletions", "substitutions")
        assert found == WordErrors(*(counts[key] for key in keys))


@given(text=st.text(st.characters(categories=["L", "M", "Zs"]), max_size=20))
def test_canonically_equivalent_text_is_no_error(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    for normalization in NORMALIZATIONS:
        assert word_errors(*forms, normalization=normalization).errors == 0
    assert (
        word_errors("l’été", unicodedata.normalize("NFD", "l’été"), variant="challenge").errors == 1
    )


def test_normalization_of_2026_by_hand() -> None:
    assert split_words("«Est-elle» là… ?", "vpc2026") == ["estelle", "là"]
    assert split_words("¿Qué “hora” es?", "vpc2026") == ["¿qué", "“hora”", "es"]
    assert split_words("A, B.") == ["A,", "B."]
    # U+4E00 and U+9FFF are the limits.
    assert split_words("\u4dff\u4e00\u9fff\ua000", "vpc2026") == ["\u4e00", "\u9fff"]
    with pytest.raises(ValueError, match="normalization"):
        split_words("a", "other")  # type: ignore[arg-type]


def test_bootstrap_is_of_pooled_rates_and_paired() -> None:
    """Against a loop over the same draws; a recognizer with twice the errors has twice the rate."""
    words, errors = [10, 20, 70], [5, 1, 7]
    options = dict(name="wer", speakers=["a", "b", "c"], replicates=200, seed=3)
    both = np.array([errors, [2 * e for e in errors]])
    actual = ratio_bootstrap(np.array(words), both, **options)  # type: ignore[arg-type]
    rates = actual.values["wer 0"]
    assert np.array_equal(actual.values["wer 1"], 2 * rates)
    possible = {
        sum(errors[i] for i in draw) / sum(words[i] for i in draw) for draw in np.ndindex(3, 3, 3)
    }
    assert set(rates) <= possible and len(set(rates)) == len(possible)
    alone = ratio_bootstrap(np.array(words), both[0], **options)  # type: ignore[arg-type]
    assert np.array_equal(alone.values["wer"], rates) and alone.n_speakers == 3


def test_bootstrap_needs_two_speakers_with_words() -> None:
    with pytest.raises(PrivacyEvalError, match="two speakers"):
        SpeakerErrors(("a", "b"), (10, 0), (1, 0), replicates=10, seed=0).sums.bootstrap()
    with pytest.raises(ValueError, match="replicates"):
        SpeakerErrors(("a", "b"), (10, 5), (1, 0), replicates=1, seed=0).sums.bootstrap()
    assert SpeakerErrors(("a", "b"), (10, 5), (1, 0), replicates=2, seed=0).sums.bootstrap()


def test_values_of_utterances_are_summed_by_speaker() -> None:
    values, speaker_of = {"b1": 1.0, "a1": 2.0, "a2": 4.0}, {"a1": "a", "a2": "a", "b1": "b"}
    sums = SpeakerSums.of(values, speaker_of, replicates=2, seed=0)
    assert (sums.speakers, sums.counts, sums.sums) == (("a", "b"), (2, 1), (6.0, 1.0))
    words = {"a1": 10, "a2": 20, "b1": 5}
    assert SpeakerSums.of(values, speaker_of, counts=words, replicates=2, seed=0).counts == (30, 5)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 5), st.sampled_from(["a", "b", ""])),
        min_size=1,
        max_size=8,
    ),
    replicates=st.sampled_from([0, 20]),
)
def test_rates_of_groups_are_those_of_their_speakers(
    rows: list[tuple[int, int, str]], replicates: int
) -> None:
    names = tuple(f"s{i}" for i in range(len(rows)))
    sums = SpeakerSums(names, tuple(r[0] for r in rows), tuple(r[1] for r in rows), replicates, 3)
    group_of = {name: row[2] for name, row in zip(names, rows, strict=True) if row[2]}
    found = group_rates(sums, group_of)
    assert list(found) == sorted(set(group_of.values()))
    for group, of in found.items():
        own = [(name, *row[:2]) for name, row in zip(names, rows, strict=True) if row[2] == group]
        words, errors = (sum(row[i] for row in own) for i in (1, 2))
        n_speakers = sum(row[1] > 0 for row in own)
        assert (of.count, of.n_speakers) == (words, n_speakers)
        assert of.rate == (errors / words if words else None)
        if replicates and n_speakers > 3:  # as of these speakers alone
            alone = SpeakerSums(*zip(*own, strict=True), replicates, 3).bootstrap()
            assert of.interval == (alone.interval("rate").low, alone.interval("rate").high)
        else:
            assert of.interval == ()
