"""Kaldi's word error rate lines."""

from dataclasses import replace
from pathlib import Path

import pytest
from support import ANON, B1, B2, ORIG, lines_to

from privacy_eval import PrivacyEvalError
from privacy_eval.io.files import digest
from privacy_eval.io.schema import to_plain
from privacy_eval.io.wer import WerLine, format_wer_line, parse_wer_line, read_wer_folder

LINE = "%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] exp/asr/decode_x_tgsmall/wer_12_0.5"


def test_kaldi_line_is_parsed() -> None:
    assert parse_wer_line(LINE, "f:1") == WerLine(
        wer=pytest.approx(0.0525, abs=1e-15),  # type: ignore[arg-type]
        errors=2089,
        words=39783,
        insertions=172,
        deletions=250,
        substitutions=1667,
        decode="exp/asr/decode_x_tgsmall",
        lm_weight=12,
        word_insertion_penalty=0.5,
    )


@pytest.mark.parametrize("path", [B1, B2, ANON, ORIG], ids=lambda p: p.name)
def test_published_lines_round_trip(path: Path) -> None:
    lines = [t.strip() for t in path.read_text().splitlines() if "%WER" in t]
    assert len(lines) == 16
    for line in lines:
        parsed = parse_wer_line(line, "f:1")
        assert format_wer_line(parsed) == line
        assert parsed.insertions + parsed.deletions + parsed.substitutions == parsed.errors
        assert parsed.wer == pytest.approx(parsed.errors / parsed.words, abs=5.1e-5)


@pytest.mark.parametrize(
    "path", ["", " wer", " a/b/wer_best", " x/wer_012_0.5", " a/wer_12_0.5/b", " a/wer_12_0.50"]
)
def test_other_file_names_are_kept_unchanged(path: str) -> None:
    line = LINE.partition(" exp")[0] + path
    parsed = parse_wer_line(line, "f:1")
    assert (parsed.decode, parsed.lm_weight) == (path.strip(), None)
    assert format_wer_line(parsed) == line


@pytest.mark.parametrize("path", ["", " exp/asr/decode_x_tgsmall/wer_12_0.5"])
def test_partial_recognition_is_no_path(path: str) -> None:
    """As `compute-wer --mode=present` prints it where hypotheses are missing."""
    line = f"{LINE.partition(' exp')[0]} [PARTIAL]{path}"
    parsed = parse_wer_line(line, "f:1")
    assert parsed.partial and format_wer_line(parsed) == line
    assert replace(parsed, partial=False) == parse_wer_line(line.replace(" [PARTIAL]", ""), "f:1")
    assert to_plain(parsed)["partial"] is True and "partial" not in to_plain(
        parse_wer_line(LINE, "f:1")
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        LINE + " [PARTIAL]",
        LINE.replace("]", "] [partial]"),
        "%WER",
        "%SER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] x",
        LINE.replace("5.25", "5.2"),
        LINE.replace("5.25", "nan"),
        LINE.replace("5.25", "-5.25"),
        LINE.replace(" ins", ""),
        LINE.replace("172", "1e2"),
        LINE + " twice",
        LINE.replace("]", ""),
        LINE.replace("250 del, 1667 sub", "1667 sub, 250 del"),
    ],
)
def test_malformed_line_is_refused(line: str) -> None:
    with pytest.raises(PrivacyEvalError, match=r"^f:7: expected '%WER 5\.25 \[.*found"):
        parse_wer_line(line, "f:7")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("5.25", "0.01", r"%WER 0\.01 contradicts 2089 errors / 39783 words \(5\.25 %\)"),
        ("5.25", "5.24", "contradicts"),
        ("5.25", "5.26", "contradicts"),
        ("39783", "3978", r"\(52\.51 %\)"),
        ("39783", "0", "undefined"),
        ("172 ins", "173 ins", r"2089 errors contradict 173 \+ 250 \+ 1667 = 2090"),
    ],
)
def test_contradicting_counts_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=rf"^WER:3: .*{message}"):
        parse_wer_line(LINE.replace(old, new), "WER:3")


@pytest.mark.parametrize("percent", ["10.62", "10.63"])
def test_either_neighbor_of_a_half_is_accepted(percent: str) -> None:
    """17/160 is 10.625 %; single precision may round it either way."""
    line = f"%WER {percent} [ 17 / 160, 1 ins, 2 del, 14 sub ] x"
    assert parse_wer_line(line, "f:1").words == 160


def test_file_wer_is_preferred(tmp_path: Path) -> None:
    named = lines_to(tmp_path / "WER", ["some words", LINE, "", f"  {LINE}"])
    lines_to(tmp_path / "other", [LINE])
    lines, sources = read_wer_folder(tmp_path)
    assert lines == [parse_wer_line(LINE, "f:1")] * 2
    assert sources == {named: digest(named.read_bytes())}


def test_all_files_are_searched_without_file_wer(tmp_path: Path) -> None:
    second = lines_to(tmp_path / "b", [LINE.replace("39783", "104450").replace("5.25", "2.00")])
    first = lines_to(tmp_path / "a", [LINE.replace("39783", "208900").replace("5.25", "1.00")])
    lines_to(tmp_path / "c", ["nothing"])
    lines_to(tmp_path / ".hidden", [LINE])
    lines_to(tmp_path / "folder" / "d", [LINE])
    lines, sources = read_wer_folder(tmp_path)
    assert [line.wer for line in lines] == [0.01, 0.02]
    assert list(sources) == [first, second]


def test_folder_without_valid_lines_is_refused(tmp_path: Path) -> None:
    lines_to(tmp_path / "a", ["nothing"])
    with pytest.raises(PrivacyEvalError, match=f"^{tmp_path}: no '%WER' line"):
        read_wer_folder(tmp_path)
    lines_to(tmp_path / "b", ["", LINE, "%WER 1 of 2"])
    with pytest.raises(PrivacyEvalError, match=f"^{tmp_path}/b:3: expected '%WER 5.25"):
        read_wer_folder(tmp_path)
