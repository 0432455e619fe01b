"""The challenge's results.txt, in and out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import ANON, B1, B2, ORIG, SUMMARY

from privacy_eval import PrivacyEvalError
from privacy_eval.io.results_txt import (
    RecognitionBlock,
    ResultsTxt,
    TrialSetBlock,
    VerificationBlock,
    format_results_txt,
    parse_results_txt,
)
from privacy_eval.io.wer import WerLine
from privacy_eval.metrics.eer import eer_percent
from privacy_eval.metrics.zebra import zebra_number

CONDITION = "ASV-libri_dev_enrolls-libri_dev_trials_f"

# Any name that a folder of results can have, and every value that the format can print.
words = st.text(
    st.characters(exclude_categories=["Z", "C"], exclude_characters=":"), min_size=1, max_size=12
)
# A rate is a number of trials over another.
rates = st.integers(0, 10**6).map(lambda n: n / 10**6)
costs = st.floats(0, 500).map(lambda x: round(x, 3)) | st.just(float("inf"))
tiny = st.builds(lambda digit, power: float(f"{digit}e-{power}"), st.integers(1, 9), st.just(5))
disclosures = (
    st.just(0.0) | st.floats(0.001, 9).map(lambda x: round(x, 3)) | tiny | st.just(float("inf"))
)
metrics = st.fixed_dictionaries(
    {},
    optional={
        "eer": rates.map(lambda x: float(f"{100 * x:.4g}") / 100),
        "rocch_eer": rates.map(lambda x: float(f"{100 * x:.3f}") / 100),
        "linkability": rates.map(lambda x: round(x, 6)),
        "zebra_population": disclosures,
    },
).filter(bool)
both_cllr = st.fixed_dictionaries({"cllr_min": costs, "cllr": costs}) | st.just({})
individual = st.tuples(disclosures, st.sampled_from("0ABCDEF")) | st.none()
counts = st.integers(0, 10**6)
wer_lines = st.builds(
    WerLine,
    wer=st.integers(0, 30000).map(lambda n: float(f"{n / 100:.2f}") / 100),
    errors=counts,
    words=counts,
    insertions=counts,
    deletions=counts,
    substitutions=counts,
    decode=st.text("abz_./-", min_size=1, max_size=20).filter(lambda t: "wer_" not in t),
    lm_weight=st.integers(1, 30),
    word_insertion_penalty=st.sampled_from([None, 0.0, 0.5, 1.0]),
)
correlations = st.floats(-1, 1).map(lambda x: round(x, 4))
any_float = st.floats(allow_nan=False)


def with_individual(
    name: str,
    values: dict[str, float],
    cllr: dict[str, float],
    found: tuple[float, str] | None,
) -> VerificationBlock:
    individual_value = {} if found is None else {"zebra_individual": found[0]}
    tag = None if found is None else found[1]
    return VerificationBlock(f"ASV-{name}", {**values, **cllr, **individual_value}, tag)


def unique(blocks: st.SearchStrategy, name: str = "name") -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.lists(blocks, max_size=3, unique_by=lambda block: getattr(block, name))


results_txts = st.builds(
    ResultsTxt,
    unique(st.builds(with_individual, words, metrics, both_cllr, individual)),
    unique(
        st.builds(
            RecognitionBlock,
            words.map(lambda name: f"ASR-{name}"),
            st.lists(wer_lines, min_size=1, max_size=2).map(tuple),
        )
    ),
    unique(
        st.builds(
            TrialSetBlock,
            words,
            st.fixed_dictionaries(
                {"pitch_correlation_mean": correlations, "pitch_correlation_std": correlations}
            ),
        )
    ),
    unique(
        st.builds(
            TrialSetBlock,
            words.filter(lambda name: not name.startswith(("ASV-", "ASR-"))),
            st.fixed_dictionaries({}, optional={"deid": any_float, "gvd_db": any_float}).filter(
                bool
            ),
        )
    ),
).filter(lambda r: bool(r.verification or r.recognition or r.utility or r.similarity))


@settings(max_examples=60)
@given(results_txts)
@example(ResultsTxt([VerificationBlock("ASV-a", {"eer": 0.5, "cllr_min": 1.0, "cllr": 2.0}, None)]))
def test_content_round_trips(content: ResultsTxt) -> None:
    text = format_results_txt(content)
    assert parse_results_txt(text, "r") == content
    assert format_results_txt(parse_results_txt(text, "r")) == text


@pytest.mark.parametrize("path", [B1, B2, ANON, ORIG], ids=lambda p: p.name)
def test_published_files_round_trip(path: Path) -> None:
    content = parse_results_txt(path.read_text(), str(path))
    assert format_results_txt(content).encode() == path.read_bytes()


@pytest.mark.parametrize(
    ("path", "sizes"),
    [(B1, (36, 8, 0, 0)), (B2, (36, 8, 0, 0)), (ANON, (36, 8, 12, 12)), (ORIG, (36, 8, 0, 0))],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_published_files_are_read_in_full(path: Path, sizes: tuple[int, ...]) -> None:
    content = parse_results_txt(path.read_text(), str(path))
    found = (content.verification, content.recognition, content.utility, content.similarity)
    assert tuple(map(len, found)) == sizes
    assert all(len(block.lines) == 2 for block in content.recognition)


def test_values_of_the_first_condition() -> None:
    first = parse_results_txt(ANON.read_text(), "r").verification[0]
    assert first.name == CONDITION
    assert first.tag == "C"
    assert first.metrics == {
        "eer": pytest.approx(0.1491, abs=1e-15),
        "cllr_min": 0.466,
        "cllr": 12.52,
        "rocch_eer": pytest.approx(0.14793, abs=1e-15),
        "linkability": 0.661233,
        "zebra_population": 0.375,
        "zebra_individual": 3.452,
    }


def test_summary_file_is_refused() -> None:
    with pytest.raises(PrivacyEvalError, match=r"^summary:1: not a line of a results\.txt"):
        parse_results_txt(SUMMARY.read_text(), "summary")


def test_blank_lines_and_crlf_are_ignored() -> None:
    text = f"\r\n{CONDITION}\r\n\r\n  EER: 1.5%\r\n"
    assert parse_results_txt(text, "r").verification[0].metrics == {"eer": 0.015}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r: empty file"),
        ("\n \n", "r: empty file"),
        ("  EER: 1%\n", "r:1: a value before any condition: 'EER: 1%'"),
        (f"\n{CONDITION}\n", f"r:2: {CONDITION} is followed by no value"),
        (f"{CONDITION}\n{CONDITION}x\n  EER: 1%\n", "r:1: .* is followed by no value"),
        (f"{CONDITION}\n  EER: 1%\n{CONDITION}\n  EER: 1%\n", f"r:3: duplicate {CONDITION}"),
        (f"{CONDITION}\n  EER: 1%\n\n  EER: 1%\n", "r:4: duplicate eer"),
        (f"{CONDITION}\n  EER: 1\n", "r:2: not a line of a results.txt: 'EER: 1'"),
        (f"{CONDITION}\n  EER: nan%\n", "r:2: not a line"),
        (f"{CONDITION}\n  EER: 1e%\n", "r:2: not a line"),
        (f"{CONDITION}\n  EER: 0x1%\n", "r:2: not a line"),
        (f"{CONDITION}\n  EER: 1_0%\n", "r:2: not a line"),
        (f"{CONDITION}\n  Cllr (min/act): 0.1\n", "r:2: not a line"),
        (f"{CONDITION}\n  Individual: 3.452\n", "r:2: not a line"),
        (f"{CONDITION}\n  Individual: 3.452 (CC)\n", "r:2: not a line"),
        (f"{CONDITION}\n  De-Identification : 0.5\n", "r:2: not a line"),
        ("libri_dev_trials_f\n  EER: 1%\n", "r:2: not a line"),
        ("a b\n  EER: 1%\n", "r:1: not a line of a results.txt: 'a b'"),
        ("EER: 1%\n", "r:1: not a line"),
        ("ASR-libri_dev_asr\n  5.25\n", "r:2: expected '%WER 5.25"),
        (
            "s  Pitch_correlation: mean=0.6 std=0.1\ns  Pitch_correlation: mean=0.6 std=0.1\n",
            "r:2: duplicate pitch correlation of s",
        ),
        ("s  Pitch_correlation: mean=0.6\n", "r:1: not a line"),
        ("s  Pitch_correlation: mean=0.6 std=0.1\n  EER: 1%\n", "r:2: unexpected after a pitch"),
    ],
)
def test_errors_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=f"^{message}"):
        parse_results_txt(text, "r")


@pytest.mark.parametrize("number", range(1, 24))
def test_truncation_loses_no_value_silently(number: int) -> None:
    """Cut in the middle of a line, a file is an error or holds one value less."""
    lines = ANON.read_text().splitlines(keepends=True)
    cut = "".join(lines[:number]) + lines[number].rstrip("\n")[:-2]
    whole = "".join(lines[: number + 1])
    try:
        found = parse_results_txt(cut, "r")
    except PrivacyEvalError as error:
        assert str(error).startswith(f"r:{number + 1}: ")
    else:
        assert lines[number].startswith(("ASV", "  lin", "  ROCCH", "  EER", "  Cllr"))
        assert found != parse_results_txt(whole, "r")


@pytest.mark.parametrize(
    ("eer", "text"),
    [
        (0.0, "0"),
        (1.0, "100"),
        (0.5, "50"),
        (1 / 3, "33.33"),
        (0.08665, "8.665"),
        (0.0292, "2.92"),
        (1e-5, "0.001"),
        (1e-7, "1e-05"),
    ],
)
def test_eer_is_formatted_as_in_kaldi(eer: float, text: str) -> None:
    """Kaldi streams 100 times a float32 with C++'s four digits, which are C's %.4g."""
    assert eer_percent(eer) == text
    assert eer_percent(eer) == f"{float(np.float32(eer)) * 100.0:.4g}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.3749, "0.375"),
        (3.452, "3.452"),
        (0.0005, "0.001"),
        (0.00049, "5e-04"),
        (3e-05, "3e-05"),
        (float("inf"), "inf"),
    ],
)
def test_disclosure_is_formatted_as_in_zebra(value: float, text: str) -> None:
    assert zebra_number(value) == text


def test_largest_exponent_disclosure_round_trips() -> None:
    text = f"{CONDITION}\n  Population: 5e-04 bit\n"
    assert format_results_txt(parse_results_txt(text, "r")) == text
