"""The challenge's results.txt, in and out."""

from pathlib import Path

import pytest
from support import ANON, B1, B2, ORIG, SUMMARY

from privacy_eval import PrivacyEvalError
from privacy_eval.editions.results_txt import parse_results_txt
from privacy_eval.metrics.registry import METRICS, of_kind
from privacy_eval.results.challenge_text import ResultsTxt, VerificationBlock, format_results_txt

CONDITION = "ASV-libri_dev_enrolls-libri_dev_trials_f"


@pytest.mark.parametrize(
    "text",
    [
        f"{CONDITION}\n  EER: 100%\n  Cllr (min/act): 0.466/inf\n  ROCCH-EER: 0.000%\n",
        f"{CONDITION}\n  EER: 1e-05%\n  linkability: 1.000000\n  Population: 0 bit\n",
        f"{CONDITION}\n  Population: 3e-05 bit\n  Individual: inf (F)\n",
        f"{CONDITION}\n  Population: 5e-04 bit\n  Individual: 0 (0)\n",
        "ASR-a-b\n  %WER 300.00 [ 3 / 1, 2 ins, 0 del, 1 sub ] a/../b\n"
        "  %WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] x/wer_12_0.5\n",
        "\u8a9e  Pitch_correlation: mean=-1.0000 std=0.0001\n",
        "s  Pitch_correlation: mean=0.3560 std=0.1000 chance=0.2570\n",
        "s\n  De-Identification : -inf\n  Gain of voice distinctiveness : 5e-324\n",
        "s\n  De-Identification : 0.1\nt\n  Gain of voice distinctiveness : -1e+300\n",
    ],
)
def test_text_round_trips(text: str) -> None:
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
    assert all(len(lines) == 2 for lines in content.recognition.values())


def test_values_of_the_first_condition() -> None:
    name, first = next(iter(parse_results_txt(ANON.read_text(), "r").verification.items()))
    assert name == CONDITION
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
    with pytest.raises(PrivacyEvalError, match=r"^summary:57: not a line of a results\.txt"):
        parse_results_txt(SUMMARY.read_text(), "summary")


def test_blank_lines_and_crlf_are_ignored() -> None:
    text = f"\r\n{CONDITION}\r\n\r\n  EER: 1.5%\r\n"
    assert parse_results_txt(text, "r").verification[CONDITION].metrics == {"eer": 0.015}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r: empty file"),
        ("\n \n", "r: empty file"),
        ("  EER: 1%\n", "r:1: a value before any condition: 'EER: 1%'"),
        (f"\n{CONDITION}\n", f"r:2: {CONDITION} is followed by no value"),
        (f"{CONDITION}\n{CONDITION}x\n  EER: 1%\n", "r:1: .* is followed by no value"),
        (f"{CONDITION}\n  EER: 1%\n{CONDITION}\n  EER: 2%\n", "r:4: another eer than at r:2"),
        (f"{CONDITION}\n  EER: 1%\n\n  EER: 2%\n", "r:4: another eer"),
        (f"{CONDITION}\n  EER: 1\n", "r:2: fraction or percent"),
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
        ("EER: 1%\n", "r:1: a value before any condition"),
        ("ASR-libri_dev_asr\n  5.25\n", "r:2: expected '%WER 5.25"),
        (
            "s  Pitch_correlation: mean=0.6 std=0.1\ns  Pitch_correlation: mean=0.7 std=0.1\n",
            "r:2: another pitch_correlation_mean than at r:1",
        ),
        ("s  Pitch_correlation: mean=0.6\n", "r:1: not a line"),
        ("s  Pitch_correlation: mean=0.6 std=0.1\n  EER: 1%\n", "r:2: unexpected after a pitch"),
    ],
)
def test_errors_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=f"^{message}"):
        parse_results_txt(text, "r")


def test_lines_of_results_txt_are_read_back() -> None:
    # What has no line there is in results.json and results.csv only.
    lines = "".join(metric.line for metric in METRICS.values())
    values = {key: 0.25 for key in of_kind("scores") if f"{{{key}}}" in lines}
    assert {"eer", "cllr", "cllr_min", "rocch_eer", "linkability"} <= values.keys()
    assert {"zebra_population", "zebra_individual"} <= values.keys()
    blocks = {"ASV-a-b": VerificationBlock(values, "A")}
    text = format_results_txt(ResultsTxt(blocks))
    assert parse_results_txt(text, "r").verification == blocks
