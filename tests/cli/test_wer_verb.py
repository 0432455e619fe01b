"""The verb wer: word error rates of transcripts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support import ROOT, cli

GOLDEN = ROOT / "tests" / "data" / "golden" / "wer" / "english_2024"
FILES = ("--hypothesis", GOLDEN / "hyp", "--reference", GOLDEN / "ref")


@pytest.fixture
def utt2spk(tmp_path: Path) -> Path:
    path = tmp_path / "utt2spk"
    ids = [line.split()[0] for line in (GOLDEN / "ref").read_text().splitlines()]
    path.write_text("".join(f"{u} {u.split('-')[0]}\n" for u in ids))
    return path


def test_json_has_pooled_rates_and_speakers(utt2spk: Path) -> None:
    done = cli("wer", *FILES, "--utt2spk", utt2spk, "--bootstrap", 50, "--format", "json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["wer"] == 20 / 39
    counts = {k: found[k] for k in "errors words insertions deletions substitutions".split()}
    assert list(counts.values()) == [20, 39, 8, 4, 8]
    speakers = found["speakers"]
    assert list(speakers) == sorted({u.split("-")[0] for u in utt2spk.read_text().split("\n") if u})
    for key, count in counts.items():
        assert sum(s[key] for s in speakers.values()) == count
    # 19: 18 words, an error and 2 in its three utterances.
    assert (speakers["19"]["words"], speakers["19"]["errors"]) == (18, 3)
    assert found["interval"]["low"] < found["wer"] < found["interval"]["high"]
    assert found["interval"]["replicates"] == 50


def test_text_is_the_line_of_the_challenge() -> None:
    done = cli("wer", *FILES)
    assert done.out.splitlines() == ["%WER 51.28 [ 20 / 39, 8 ins, 4 del, 8 sub ]"]


def test_a_second_recognition_is_compared_over_speakers(utt2spk: Path) -> None:
    versus = ("--versus", GOLDEN / "ref", "--utt2spk", utt2spk)
    found = json.loads(cli("wer", *FILES, *versus, "--format", "json").out)["versus"]
    assert found["difference"] == -20 / 39 and found["wer"] == 0
    assert found["interval"]["high"] < 0 < found["p_value"] <= 1
    done = cli("wer", *FILES, "--versus", GOLDEN / "ref")
    assert done.code == 2 and "--utt2spk" in done.err


def test_utterances_of_one_side_are_refused_or_left_out(tmp_path: Path) -> None:
    lines = (GOLDEN / "hyp").read_text().splitlines(keepends=True)
    hypothesis = tmp_path / "hyp"
    hypothesis.write_text("".join(lines[1:]) + "new A B\n")
    files = ("--hypothesis", hypothesis, "--reference", GOLDEN / "ref")
    done = cli("wer", *files)
    assert done.code == 1 and "1 of " in done.err and "19-1-0000" in done.err
    done = cli("wer", *files, "--allow-missing", "--format", "json")
    assert json.loads(done.out)["left_out"] == {"references": 1, "hypotheses": 1}
    assert json.loads(done.out)["words"] == 39 - 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"u1 A\nu1 B\n", "hyp:2: duplicate"),
        (b"", "empty"),
        (b"u\x00 A\n", "hyp:1: "),
        (b"u1 \xff\n", "hyp:1: not UTF-8"),
        (b"u" * 2000, "hyp:1: "),
        (b"u1 A\ru2 B\r", "hyp:1: control character"),
        (b"u1 A\x1cB\n", "hyp:1: control character"),
        (b"u1 A \x00\n", "hyp:1: control character"),
    ],
)
def test_malformed_transcripts(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "hyp").write_bytes(content)
    done = cli("wer", "--hypothesis", tmp_path / "hyp", "--reference", GOLDEN / "ref")
    assert done.code == 1 and message in done.err


def test_no_words_and_no_speaker(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("u1\n")
    (tmp_path / "utt2spk").write_text("u2 s\n")
    files = ("--hypothesis", tmp_path / "ref", "--reference", tmp_path / "ref")
    done = cli("wer", *files)
    assert done.code == 1 and "no words" in done.err
    (tmp_path / "ref").write_text("u1 A\n")
    done = cli("wer", *files, "--utt2spk", tmp_path / "utt2spk")
    assert done.code == 1 and "no speaker: u1" in done.err


def test_without_kaldialign_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaldialign", None)
    done = cli("wer", *FILES)
    assert done.code == 1 and "pip install kaldialign" in done.err


def test_empty_references(tmp_path: Path) -> None:
    """Each system's errors by its own words: an empty reference has one where it has any."""
    texts = {
        "ref": "u1\nu2 a\nu3\nu4 b\n",
        "second": "u1 x\nu2 a\nu3 y\nu4 b\n",
        "utt2spk": "u1 s1\nu2 s1\nu3 s2\nu4 s2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    first, second = tmp_path / "ref", tmp_path / "second"
    for a, b, difference in ((first, second, 0.5), (second, first, -0.5)):
        options = ("--reference", tmp_path / "ref", "--utt2spk", tmp_path / "utt2spk")
        done = cli("wer", "--hypothesis", a, "--versus", b, *options, "--format", "json")
        versus = json.loads(done.out)["versus"]
        assert versus["difference"] == difference
        assert versus["interval"]["low"] == versus["interval"]["high"] == difference


def test_a_speaker_without_words_has_no_rate(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("u1 .\nu2 a b\n")
    (tmp_path / "hyp").write_text("u1 a b\nu2 a\n")
    (tmp_path / "utt2spk").write_text("u1 s1\nu2 s2\n")
    files = ("--hypothesis", tmp_path / "hyp", "--reference", tmp_path / "ref")
    options = ("--normalization", "vpc2026", "--utt2spk", tmp_path / "utt2spk")
    lines = cli("wer", *files, *options).out.splitlines()
    assert lines[1] == "%WER undefined [ 2 / 0, 2 ins, 0 del, 0 sub ] s1"
    assert lines[2].startswith("%WER 50.00 ")


def test_few_replicates_are_noted(utt2spk: Path) -> None:
    ids = [line.split()[0] for line in utt2spk.read_text().splitlines()]
    utt2spk.write_text("".join(f"{u} {u}\n" for u in ids))
    options = (*FILES, "--utt2spk", utt2spk, "--bootstrap")
    assert "caveat: 2 replicates are too few" in cli("wer", *options, 2).out
    assert "caveat" not in cli("wer", *options, 3000).out


def test_groups_of_speakers(utt2spk: Path, tmp_path: Path) -> None:
    speakers = sorted({line.split()[1] for line in utt2spk.read_text().splitlines()})
    groups = tmp_path / "m.csv"
    rows = [f"{s},{'ab'[i % 2] if i else ''}" for i, s in enumerate(speakers)]
    groups.write_text("\n".join(["speaker,g", *rows, "unheard,c"]) + "\n")
    files = (*FILES, "--utt2spk", utt2spk, "--by", f"{groups}:g")
    found = json.loads(cli("wer", *files, "--bootstrap", 20, "--format", "json").out)
    of_column = found["groups"]["g"]
    assert list(of_column["groups"]) == ["a", "b"]
    for name, of in of_column["groups"].items():
        own = [found["speakers"][s] for i, s in enumerate(speakers) if i and "ab"[i % 2] == name]
        words, errors = (sum(s[key] for s in own) for key in ("words", "errors"))
        assert (of["words"], of["wer"], of["n_speakers"]) == (words, errors / words, len(own))
        assert ("wer_interval" in of) == (len(own) > 3)
    assert f"1 speaker without g, in no group: {speakers[0]}" in of_column["caveats"]
    text = cli("wer", *files).out
    assert "# by g" in text and "too few speakers (below 10) for conclusions: a" in text
    done = cli("wer", *FILES, "--by", f"{groups}:g")
    assert done.code == 2 and "--utt2spk" in done.err


@pytest.mark.parametrize(
    ("rows", "code", "message"),
    [
        (["nobody,a"], 1, "no speaker has a group of g"),
        (["19,a", "19,b"], 1, "m.csv:3: duplicate '19' with another label"),
    ],
)
def test_wrong_groups(
    utt2spk: Path, tmp_path: Path, rows: list[str], code: int, message: str
) -> None:
    groups = tmp_path / "m.csv"
    groups.write_text("\n".join(["speaker,g", *rows]) + "\n")
    done = cli("wer", *FILES, "--utt2spk", utt2spk, "--by", f"{groups}:g")
    assert (done.code, done.out) == (code, "") and message in done.err
