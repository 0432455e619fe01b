"""The verb wer: word error rates of transcripts."""

import json
import sys
from pathlib import Path

import pytest
from support import ROOT, Run, cli, ok, printed, refused

GOLDEN = ROOT / "tests" / "data" / "golden" / "wer" / "english_2024"
FILES = ("--hypothesis", GOLDEN / "hyp", "--reference", GOLDEN / "ref")


@pytest.fixture
def utt2spk(tmp_path: Path) -> Path:
    path = tmp_path / "utt2spk"
    ids = [line.split()[0] for line in (GOLDEN / "ref").read_text().splitlines()]
    path.write_text("".join(f"{u} {u.split('-')[0]}\n" for u in ids))
    return path


def test_json_has_pooled_rates_and_speakers(utt2spk: Path) -> None:
    done = ok(cli("wer", *FILES, "--utt2spk", utt2spk, "--bootstrap", 50, "--format", "json"))
    found = json.loads(done.out)
    assert found["wer"] == 20 / 38  # as jiwer; an empty reference has no word
    counts = {k: found[k] for k in "errors words insertions deletions substitutions".split()}
    assert list(counts.values()) == [20, 38, 9, 5, 6]
    speakers = found["speakers"]
    assert list(speakers) == sorted({u.split("-")[0] for u in utt2spk.read_text().split("\n") if u})
    for key, count in counts.items():
        assert sum(s[key] for s in speakers.values()) == count
    # 19: 18 words, an error and 2 in its three utterances.
    assert (speakers["19"]["words"], speakers["19"]["errors"]) == (18, 3)
    assert found["interval"]["low"] < found["wer"] < found["interval"]["high"]
    assert found["interval"]["replicates"] == 50


def line(run: Run, number: int = 0) -> str:
    """A row as compute-wer writes it."""
    row = printed(run.out)[number]
    names = ("Value", "Errors", "Words", "Insertions", "Deletions", "Substitutions")
    return "{} [ {} / {}, {} ins, {} del, {} sub ]".format(*(row[name] for name in names))


def test_text_is_the_line_of_either_variant() -> None:
    done = cli("wer", *FILES, "--variant", "challenge")
    assert line(done) == "51.28 % [ 20 / 39, 8 ins, 4 del, 8 sub ]"
    done = cli("wer", *FILES)
    assert line(done) == "52.63 % [ 20 / 38, 9 ins, 5 del, 6 sub ]"
    assert "51.28 % [ 20 / 39 ]" in done.err  # the other one beside it


def test_errors_of_writing_are_told_from_words() -> None:
    """UPPER CASE, upper case; STAYS, STAYS.; DON'T, DONT."""
    done = cli("wer", *FILES)
    assert "4 of 20 errors are of letter case or punctuation" in done.err
    assert "--normalization vpc2026" in done.err
    assert "1 of 20 errors are of apostrophes" in done.err
    done = cli("wer", *FILES, "--normalization", "vpc2026")
    assert "letter case" not in done.err and "1 of 16 errors are of apostrophes" in done.err


WRITINGS = [
    (
        "THE HARBOUR WAS QUIET\n",
        "The harbor was quiet.\n",
        "none",
        4,
        "3 of 4 errors are of letter",
    ),
    ("where is it\n", "Where is it?\n", "none", 2, "2 of 2 errors are of letter"),
    ("it's late\n", "it’s late\n", "vpc2026", 1, "1 of 1 errors are of apostrophes"),
    ("l'eau « froide »\n", "l’eau froide\n", "none", 3, "2 of 3 errors are of letter"),
    (
        "我们 走 了\n",
        "我们 走 了。\n",
        "none",
        1,
        "1 of 1 errors are of apostrophes or other marks",
    ),
    ("“so” it is\n", "so it is\n", "vpc2026", 1, "1 of 1 errors are of apostrophes"),
    ("so it is\n", "...\n", "vpc2026", 3, "empty references: 0, empty hypotheses: 1"),
    ("une idée\n", "une ide\u0301e\n", "none", 0, "--variant challenge: 50.00 % [ 1 / 2 ]"),
    ("\ud55c\uae00 읽기\n", "\u1112\u1161\u11ab\u1100\u1173\u11af 읽기\n", "vpc2026", 0, "Unicode"),
]


@pytest.mark.parametrize(("reference", "hypothesis", "normalization", "errors", "note"), WRITINGS)
def test_writing_is_no_word(
    tmp_path: Path, reference: str, hypothesis: str, normalization: str, errors: int, note: str
) -> None:
    (tmp_path / "ref").write_text(f"u1 {reference}")
    (tmp_path / "hyp").write_text(f"u1 {hypothesis}")
    files = ("--reference", tmp_path / "ref", "--hypothesis", tmp_path / "hyp")
    done = cli("wer", *files, "--normalization", normalization, "--format", "json")
    found = json.loads(done.out)
    assert found["errors"] == errors and note in done.err
    assert [n for n in found["notes"] if note in n]


def test_words_that_differ_say_nothing_of_writing(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("u1 a b\nu2 c\n")
    (tmp_path / "hyp").write_text("u1 a d\nu2 c\n")
    done = cli("wer", "--reference", tmp_path / "ref", "--hypothesis", tmp_path / "hyp")
    assert (done.err, line(done)) == ("", "33.33 % [ 1 / 3, 0 ins, 0 del, 1 sub ]")


EMPTY = (
    "s1-u1 the north gate is open\ns1-u2 were walking on the ice\ns1-u3\n"
    "s2-u1 about twelve of us\ns2-u2 when a cart came along\n",
    "s1-u1 the north gate was open\ns1-u2\ns1-u3 thank you\ns2-u1 about twelve us\n"
    "s2-u2 when a cart came along\n",
)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("exact", "47.37 % [ 9 / 19, 2 ins, 6 del, 1 sub ]"),  # compute-wer, sclite, jiwer
        ("challenge", "45.00 % [ 9 / 20, 1 ins, 5 del, 3 sub ]"),  # SpeechBrain 0.5
    ],
)
def test_empty_sides_in_both_variants(tmp_path: Path, variant: str, expected: str) -> None:
    for name, text in zip(("ref", "hyp"), EMPTY, strict=True):
        (tmp_path / name).write_text(text)
    files = ("--reference", tmp_path / "ref", "--hypothesis", tmp_path / "hyp")
    done = cli("wer", *files, "--variant", variant)
    assert line(done) == expected
    assert "empty references: 1, empty hypotheses: 1" in done.err


def test_no_hypothesis_has_a_word(tmp_path: Path) -> None:
    lines = [line for line in EMPTY[0].splitlines() if " " in line]
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "hyp").write_text("".join(f"{line.split()[0]}\n" for line in lines))
    done = cli("wer", "--reference", tmp_path / "ref", "--hypothesis", tmp_path / "hyp")
    assert line(done) == "100.00 % [ 19 / 19, 0 ins, 19 del, 0 sub ]"
    assert "empty references: 0, empty hypotheses: 4" in done.err


def test_a_second_recognition_is_compared_over_speakers(utt2spk: Path) -> None:
    versus = ("--versus", GOLDEN / "ref", "--utt2spk", utt2spk)
    found = json.loads(cli("wer", *FILES, *versus, "--format", "json").out)["versus"]
    assert found["difference"] == -20 / 38 and found["wer"] == 0
    assert found["interval"]["high"] < 0 < found["p_value"] <= 1
    refused(cli("wer", *FILES, "--versus", GOLDEN / "ref"), "--utt2spk", code=2)


def test_utterances_of_one_side_are_refused_or_left_out(tmp_path: Path) -> None:
    lines = (GOLDEN / "hyp").read_text().splitlines(keepends=True)
    hypothesis = tmp_path / "hyp"
    hypothesis.write_text("".join(lines[1:]) + "new A B\n")
    files = ("--hypothesis", hypothesis, "--reference", GOLDEN / "ref")
    refused(cli("wer", *files), "1 of ", "19-1-0000")
    done = cli("wer", *files, "--allow-missing", "--format", "json")
    assert json.loads(done.out)["left_out"] == {"references": 1, "hypotheses": 1}
    assert json.loads(done.out)["words"] == 38 - 6


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
    refused(cli("wer", "--hypothesis", tmp_path / "hyp", "--reference", GOLDEN / "ref"), message)


def test_no_words_and_no_speaker(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("u1\n")
    (tmp_path / "utt2spk").write_text("u2 s\n")
    files = ("--hypothesis", tmp_path / "ref", "--reference", tmp_path / "ref")
    refused(cli("wer", *files), "no words")
    (tmp_path / "ref").write_text("u1 A\n")
    refused(cli("wer", *files, "--utt2spk", tmp_path / "utt2spk"), "no speaker: u1")


def test_without_kaldialign_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaldialign", None)
    refused(cli("wer", *FILES), "pip install kaldialign")


def test_empty_references(tmp_path: Path) -> None:
    """Challenge: each system's errors by its own words, as an empty reference has one where it has
    any hypothesis. Exact: 0 and 2 errors in 2 words."""
    texts = {
        "ref": "u1\nu2 a\nu3\nu4 b\n",
        "second": "u1 x\nu2 a\nu3 y\nu4 b\n",
        "utt2spk": "u1 s1\nu2 s1\nu3 s2\nu4 s2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    first, second = tmp_path / "ref", tmp_path / "second"
    cases = (("challenge", 0.5), ("exact", 1.0))
    for a, b, variant, difference in (
        (a, b, variant, sign * difference)
        for a, b, sign in ((first, second, 1), (second, first, -1))
        for variant, difference in cases
    ):
        options = ("--reference", first, "--utt2spk", tmp_path / "utt2spk", "--variant", variant)
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
    run = cli("wer", *files, *options)
    assert line(run, 1) == "n/a [ 2 / 0, 2 ins, 0 del, 0 sub ]"
    assert [row["Speaker"] for row in printed(run.out)] == ["all", "s1", "s2"]
    assert line(run, 2).startswith("50.00 % ")


def test_few_replicates_are_noted(utt2spk: Path) -> None:
    ids = [line.split()[0] for line in utt2spk.read_text().splitlines()]
    utt2spk.write_text("".join(f"{u} {u}\n" for u in ids))
    options = (*FILES, "--utt2spk", utt2spk, "--bootstrap")
    assert "Too few bootstrap replicates" in cli("wer", *options, 2).out
    assert "Too few" not in cli("wer", *options, 3000).out


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
    assert "By g.\n" in text and "too few speakers (below 10) for conclusions: a" in text
    refused(cli("wer", *FILES, "--by", f"{groups}:g"), "--utt2spk", code=2)


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
