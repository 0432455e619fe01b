"""Word errors against the challenges' own functions, and rates of groups."""

import json
import unicodedata
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, csv_rows

from privacy_eval.choices import NORMALIZATIONS, VARIANTS, Normalization, Variant
from privacy_eval.io.transcripts import pair_transcripts
from privacy_eval.metrics.utility import SpeakerSums, WordErrors
from privacy_eval.utility.rates import group_rates
from privacy_eval.utility.word_errors import split_words, total, word_errors

WER = ROOT / "tests/data/golden/wer"

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
