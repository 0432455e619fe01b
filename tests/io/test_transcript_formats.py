"""Transcripts of every format against sclite, meeteval and jiwer, and Kaldi's text, which is what
looks like none of them."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import ROOT, cli, printed, refused

from privacy_eval import PrivacyEvalError
from privacy_eval.io.files import Loaded
from privacy_eval.io.transcripts import (
    LINE_FORMATS,
    pair_transcripts,
    read_segments,
    read_transcripts,
)
from privacy_eval.metrics.utility import WordErrors

if TYPE_CHECKING:
    from privacy_eval.utility.word_errors import WordErrorCounts

GOLDEN = ROOT / "tests" / "data" / "golden" / "sclite"
SCLITE = json.loads((GOLDEN / "expected.json").read_text())
OTHERS = json.loads((GOLDEN / "meeteval_jiwer.json").read_text())


def as_errors(counts: dict[str, int]) -> WordErrors:
    return WordErrors(*(counts[k] for k in ("words", "insertions", "deletions", "substitutions")))


def count(reference: str, hypothesis: str) -> "WordErrorCounts":
    return count_word_errors(GOLDEN / hypothesis, GOLDEN / reference)


def count_word_errors(hypothesis: Path | Loaded, reference: Path | Loaded) -> "WordErrorCounts":
    from privacy_eval.utility import word_errors

    return word_errors.count_word_errors(hypothesis, reference)


@pytest.mark.wing("utility")
@pytest.mark.parametrize(
    ("name", "reference", "hypothesis"),
    [
        ("plain -s", "plain_ref.trn", "plain_hyp.trn"),
        ("accents -s", "accents_ref.trn", "accents_hyp.trn"),
        ("special", "special_ref.trn", "special_hyp.trn"),  # alternatives, marks, empty sides
        ("meeting -s", "meeting.stm", "meeting.ctm"),
        ("meeting -s", "meeting.stm", "meeting_noconf.ctm"),
    ],
)
def test_counts_are_those_of_sclite(name: str, reference: str, hypothesis: str) -> None:
    found, expected = count(reference, hypothesis), SCLITE[name]
    counts = [expected["all"][key] for key in ("words", "ins", "del", "sub")]
    assert found.counts == WordErrors(*counts)
    speakers = {name: [c.words, c.errors] for name, c in found.speakers.items()}
    assert speakers == expected["speakers"]


@pytest.mark.wing("utility")
def test_errors_are_the_fewest_where_those_of_sclite_are_not() -> None:
    """24 of meeteval and jiwer; the weights 4, 3, 3 of sclite make 26."""
    assert count("costs_ref.trn", "costs_hyp.trn").counts.errors == 24
    assert SCLITE["costs"]["all"]["errors"] == 26


@pytest.mark.wing("utility")
def test_a_missing_hypothesis_is_named_in_every_format(tmp_path: Path) -> None:
    files = ("--reference", GOLDEN / "plain_ref.trn", "--hypothesis", GOLDEN / "partial_hyp.trn")
    refused(cli("wer", *files), "2 of 16", "piet-0012, rosa-11")
    done = cli("wer", *files, "--allow-missing", "--format", "json")
    # 12 of sclite, which folds capitals, and 4 of these.
    assert json.loads(done.out)["words"] == SCLITE["partial"]["all"]["words"] == 68
    assert json.loads(done.out)["errors"] == SCLITE["partial"]["all"]["errors"] + 4
    done = cli("wer", "--reference", GOLDEN / "meeting.stm", "--hypothesis", GOLDEN / "partial.ctm")
    assert done.code == 0 and "yard08" in done.err  # deletions, as for sclite
    row = printed(done.out)[0]
    assert (row["Deletions"], row["Words"]) == ("10", "24")


@pytest.mark.wing("utility")
def test_a_ctm_with_an_unknown_channel_is_refused() -> None:
    text = (GOLDEN / "meeting.ctm").read_text().replace("yard08 1", "yard08 A")
    with pytest.raises(PrivacyEvalError, match="1 recordings or channels .*: yard08 A"):
        count_word_errors(Loaded(Path("h.ctm"), text.encode()), GOLDEN / "meeting.stm")


@pytest.mark.wing("utility")
@pytest.mark.parametrize("reference", ["ref.stm", "ref.seglst.json"])
@pytest.mark.parametrize("hypothesis", ["hyp.stm", "hyp.seglst.json"])
def test_segments_pair_across_formats_as_sessions_of_meeteval(
    reference: str, hypothesis: str
) -> None:
    found = count(reference, hypothesis)
    assert found.counts.words == OTHERS["siso of ref and hyp"]["words"] == 24
    assert found.counts.errors == OTHERS["siso of ref and hyp"]["errors"] == 11
    assert list(found.speakers) == ["olga", "piet", "quin", "rosa"]


@pytest.mark.wing("utility")
def test_speakers_of_segments_serve_the_bootstrap_groups_and_comparison(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("speaker,g\nolga,a\npiet,b\nquin,a\nrosa,b\n")
    files = ("--reference", GOLDEN / "ref.stm", "--hypothesis", GOLDEN / "hyp.stm")
    more = ("--bootstrap", 20, "--by", f"{tmp_path / 'm.csv'}:g", "--versus", GOLDEN / "ref.stm")
    done = cli("wer", *files, *more, "--format", "json")
    found = json.loads(done.out)
    assert found["groups"]["g"]["groups"]["a"]["words"] == 8 + 8
    assert found["versus"]["difference"] == -11 / 24 and found["interval"]["low"] > 0
    assert "4 speakers" in done.err and "olga, piet, quin, rosa" in done.err


WORDS = {"8101-01": "the harbour was quiet", "8101-02": "and the ferry was late", "8102-01": ""}
HEARD = {"8101-01": "the harbour was quiet", "8101-02": "and a ferry was late", "8102-01": "so"}


def _csv(
    words: dict[str, str], separator: str = ",", header: tuple[str, ...] = ("id", "text")
) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerows([header, *words.items()])
    return text.getvalue()


def _index_column(words: dict[str, str]) -> str:
    rows = (f"{n},{w},spk{u[:4]},/a/{u}.flac" for n, (u, w) in enumerate(words.items()))
    return "\n".join(["Unnamed: 0,Sentence,speaker_id,path", *rows]) + "\n"


def _json_lines(words: dict[str, str], id: str = "audio_filepath", text: str = "text") -> str:
    form = "/d/{}.wav" if "path" in id else "{}"
    return "".join(json.dumps({id: form.format(u), text: w}) + "\n" for u, w in words.items())


FORMATS: dict[str, Callable[[dict[str, str]], str]] = {
    "kaldi": lambda words: "".join(f"{u} {w}\n" for u, w in words.items()),
    "kaldi, tabs": lambda words: "".join(f"{u}\t{w}\r\n" for u, w in words.items()),
    "trn": lambda words: ";; x\n\n" + "".join(f"{w} ({u})\n" for u, w in words.items()),
    "stm": lambda words: "".join(f"{u} 1 x{u[:4]} 0.00 2.5 {w}\n" for u, w in words.items()),
    "stm, labels": lambda words: "".join(
        f"{u} A x{u[:4]} 0.0 2.5 <o,f0> {w}\n" for u, w in reversed(words.items())
    ),
    "csv": _csv,
    "blanks": lambda words: _csv(words, " ", ("utt_id", "text")),
    "tsv": lambda words: _csv(words, "\t", ("utt_id", "transcription")),
    "semicolons": lambda words: _csv(words, ";", ("File", "Words")),
    "bars": lambda words: "".join(f"{u}|{w}\n" for u, w in {"path": "sentence", **words}.items()),
    "ljspeech": lambda words: "".join(f"{u}|{w}\n" for u, w in words.items()),
    "index": _index_column,
    "nemo": _json_lines,
    "wenet": lambda words: _json_lines(words, "key", "txt"),
    "seglst": lambda words: json.dumps(
        [{"session_id": u, "speaker": u[:4], "words": w} for u, w in words.items()], indent=2
    ),
    "lhotse": lambda words: "".join(
        json.dumps({"id": u, "recording_id": "r", "start": n, "duration": 1.5, "text": w}) + "\n"
        for n, (u, w) in enumerate(words.items())
    ),
}


@pytest.mark.wing("utility")
@pytest.mark.parametrize("hypothesis", FORMATS)
@pytest.mark.parametrize("reference", FORMATS)
def test_formats_pair_by_their_ids(reference: str, hypothesis: str) -> None:
    """By hand: one word of 9 is another, one is inserted into an utterance without words."""
    ref, hyp = FORMATS[reference](WORDS).encode(), FORMATS[hypothesis](HEARD).encode()
    found = count_word_errors(Loaded(Path("h"), hyp), Loaded(Path("r"), ref))
    assert found.counts == WordErrors(9, 1, 0, 1)


@pytest.mark.parametrize("name", FORMATS)
def test_formats_have_the_same_words(name: str) -> None:
    read = read_transcripts(Loaded(Path("r"), FORMATS[name](WORDS).encode()))
    assert {u: w.split() for u, w in read.items()} == {u: w.split() for u, w in WORDS.items()}


def test_cells_with_line_ends_and_blanks_are_one_text() -> None:
    table = b'id, text ,n\r\n u1 ,"so\nit, is",1\r\nu2,"",2\r\n'
    assert read_transcripts(Loaded(Path("x"), table)) == {"u1": "so it, is", "u2": ""}


def test_files_of_one_name_in_several_folders_keep_their_folders() -> None:
    table = b"path\ttext\na/1.wav\tso\nb/1.wav\tit\n"
    assert list(read_transcripts(Loaded(Path("x"), table))) == ["a/1.wav", "b/1.wav"]
    assert list(read_transcripts(Loaded(Path("x"), table.replace(b"b/1", b"b/2")))) == ["1", "2"]


@pytest.mark.wing("utility")
def test_a_manifest_with_both_is_reference_and_hypothesis(tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    rows = [{"audio_filepath": f"{u}.wav", "text": WORDS[u], "pred_text": HEARD[u]} for u in WORDS]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = cli("wer", "--reference", file, "--hypothesis", file)
    (row,) = printed(done.out)
    assert [*row.values()] == ["WER", "22.22 %", "2", "9", "1", "0", "1"]
    assert "pred_text" in done.err


@pytest.mark.wing("utility")
def test_parts_of_one_recording_pair_by_their_times() -> None:
    def manifest(words: list[str]) -> Loaded:
        rows = [
            {"audio_filepath": "/d/talk.wav", "offset": 2 * n, "duration": 1.5, "text": w}
            for n, w in enumerate(words)
        ]
        return Loaded(Path("m"), "".join(json.dumps(row) + "\n" for row in rows).encode())

    found = count_word_errors(manifest(["a b", "c"]), manifest(["a b", "d"]))
    assert found.counts == WordErrors(3, 0, 0, 1)
    ctm = b"talk 1 0.2 0.3 a\ntalk 1 2.2 0.3 d\ntalk 1 0.9 0.3 b\n"  # not in order of time
    found = count_word_errors(Loaded(Path("h"), ctm), manifest(["a b", "d"]))
    assert found.counts == WordErrors(3, 0, 0, 0)


@pytest.mark.wing("utility")
def test_a_ctm_pairs_with_whole_recordings() -> None:
    ctm = b"u1 1 0.9 0.3 b\nu1 1 0.2 0.3 a\nu2 1 2.2 0.3 d\n"
    for side in ("u1 a b\nu2 c\n", "a b (u1)\nc (u2)\n"):
        found = count_word_errors(
            Loaded(Path("h"), ctm), Loaded(Path("x.trn" * ("(" in side)), side.encode())
        )
        assert found.counts == WordErrors(3, 0, 0, 1)


@pytest.mark.wing("utility")
def test_speakers_and_words_that_are_numbers() -> None:
    stm = b"r 1 1089 0.00 4.00 so\nr 1 121 4.00 5.5 it is\n"
    ctm = b"r 1 0.1 0.2 3\nr 1 0.5 0.2 14\nr 1 4.5 0.2 2\n"
    name, segments = read_segments(Loaded(Path("x"), stm))
    assert name == "STM" and [s.speaker for s in segments] == ["1089", "121"]
    name, segments = read_segments(Loaded(Path("x"), ctm))
    assert name == "CTM" and [s.words for s in segments] == ["3", "14", "2"]
    found = count_word_errors(Loaded(Path("h"), ctm), Loaded(Path("r"), stm))
    assert found.counts == WordErrors(3, 1, 1, 2)  # so: 3 14; it is: 2
    whole = Loaded(Path("x.ctm"), b"r 1 0 1 3 0.95\nr 1 2 1 14 0.95\n")
    assert [s.words for s in read_segments(whole)[1]] == ["3", "14"]


@pytest.mark.wing("utility")
def test_segments_that_are_not_scored() -> None:
    unscored = b"r A ann 0.0 2.0 x ignore_time_segment_in_scoring y\nr A ann 2.0 4.0 so it is\n"
    scored = b"r A ann 0.0 2.0 well\nr A ann 2.0 4.0 so is it\n"
    found = count_word_errors(Loaded(Path("h"), scored), Loaded(Path("r"), unscored))
    assert (found.counts.words, found.counts.errors) == (3, 2)
    ctm = b"r A 0.5 0.2 noise\nr A 1.9 0.2 so\nr A 2.5 0.2 it\n"  # so: its middle is the border
    found = count_word_errors(Loaded(Path("h"), ctm), Loaded(Path("r"), unscored))
    assert found.counts == WordErrors(3, 0, 1, 0)
    with pytest.raises(PrivacyEvalError, match="1 of 2 utterances have no hypothesis"):
        count_word_errors(Loaded(Path("h"), unscored), Loaded(Path("r"), scored))


@pytest.mark.wing("utility")
def test_words_of_a_ctm_in_gaps_and_at_the_ends() -> None:
    """In a gap to the next segment, before the first to it, after the last to the last."""
    stm = b"r A ann 1.0 2.0 a b\nr A bob 3.0 4.0 c d e\n"
    ctm = b"r A 4.5 0.2 e\nr A 0.1 0.2 a\nr A 2.1 0.2 c\nr A 3.5 0.2 d\nr A 1.5 0.2 b\n"
    found = count_word_errors(Loaded(Path("h"), ctm), Loaded(Path("r"), stm))
    assert found.counts == WordErrors(5, 0, 0, 0)


@pytest.mark.wing("utility")
def test_a_ctm_does_not_tell_overlapping_speakers_apart() -> None:
    stm = b"r A a 0.0 4.0 one two three\nr A b 2.0 6.0 four five six\n"
    ctm = b"r A 0.1 0.2 one\nr A 2.5 0.2 four\n"
    with pytest.raises(PrivacyEvalError, match="r.stm:2: overlaps with r.stm:1"):
        count_word_errors(Loaded(Path("h.ctm"), ctm), Loaded(Path("r.stm"), stm))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\n00:00:01,000 --> 00:00:02,000\nso it is\n", "subtitles"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\nso it is\n", "subtitles"),
        ('#!MLF!#\n"*/u1.lab"\nso\nit\n.\n', "HTK"),
        ('File type = "ooTextFile"\nObject class = "TextGrid"\n', "Praat"),
        ("<?xml version='1.0'?>\n<text id='u1'>so</text>\n", "XML"),
        ("SPEAKER r 1 0.00 2.00 <NA> <NA> ann <NA> <NA>\n" * 2, "RTTM"),
        ("LJ001|Raw, text|raw text\nLJ002|More|more\n", "between bars"),
        ("u1-0:\tref=['so', 'it']\nu1-0:\thyp=['so']\n", "icefall"),
        ("u1,so it is\nu2,well\n", "CSV without a header"),
        ("id,wer\nu1,so it is\n", "found id, wer"),
        (";; made by hand\nu1 so it is\n", "comments"),
        ("utt_id\tasr\nu1\tso it is\n", "found utt_id, asr"),
        ("utt_id text\nu1 so it is\n", "expected 2 cells"),
        ("id,text,Text\nu1,so,it\n", "found text, Text"),
        ("id,text,text\nu1,so,it\n", "found text, text"),
        ('{"u1": "so it is", "u2": "well"}\n', "found u1, u2"),
        ('{\n "u1": "so it is"\n}\n', "found u1"),
        ("[]", "found none"),
        ('[{"id": "u1",\n', "not JSON"),
        ("start\tend\ttext\n0\t100\tso\n", "one name of ids"),
        ("id,text,sentence\nu1,so,So.\n", "text, sentence"),
        ('{"id": "u1", "score": 3}\n', "one name of ids and one of words"),
        ('{"id": "u1", "text": "so"}\n{"id": "u2"}\n', "x:2: expected id and text"),
        ('[{"id": "u1", "text": null}]\n', "x: item 1: expected id and text"),
        ('[{"id": "u1", "text": "a"}, 3]\n', "x: item 2: expected id and text"),
        ('[{"session_id": "u", "words": "a", "start_time": "0:01", "end_time": 2}]', "seconds"),
        ("r 1 a 2.0 1.0 so\nr 1 a 3.0 4.0 so\n", "x:1: expected begin and end in seconds"),
        ("so it (s1)\nso (s2)\nso\n", "x:3: 1 lines are not of the format trn"),
        ("so { it (s1)\nso (s2)\n", "alternatives"),
        ("r 1 a 1.0 2.0 so\nr 1 a 1.00 2 so\n", "x:2: duplicate utterance r a 1 2 1"),
        ('id,text\n"u1,so\n', "malformed CSV"),
    ],
)
def test_no_other_format_is_read_as_kaldis_text(content: str, message: str) -> None:
    file = Loaded(Path("x"), content.encode())
    with pytest.raises(PrivacyEvalError, match=re.escape(message)):
        pair_transcripts(file, file)


WORD = st.one_of(
    st.sampled_from(
        ["(uh)", "wo-", "3", "42", "1.5", "{", "/", "@", "A", "I", "it's", "id", "text"]
    ),
    st.text(st.characters(categories=["L", "N", "M"]), min_size=1, max_size=8),
)
ID = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,12}", fullmatch=True)


@given(st.dictionaries(ID, st.lists(WORD, max_size=6), min_size=2, max_size=8))
@example({"u1": ["1", "2", "3", "4", "5"], "u2": ["5", "6", "7", "8", "9"]})
@example({"u1": ["so", "on,", "id,text", "|"], "u2": ["well"]})
@example({"1": ["-->", "so"], "2": ["-->", "it"]})
@example({"u1": ["so", "(laughs)"], "u2": ["well", "(laughs)"]})
@example({"ann": ["so", "(uh-huh)"], "bob": ["well", "(uh-huh)"]})
@example({"u1": ["A", "flight", "10", "12"], "u2": ["A", "flight", "7", "8"]})
@example({"s1-u1": ["so", "(s1-u1)"], "s1-u2": ["well", "(s1-u2)"]})
def test_kaldis_text_is_never_taken_for_another(words: dict[str, list[str]]) -> None:
    text = "".join(f"{u} {' '.join(w)}\n" for u, w in words.items())
    name, segments = read_segments(Loaded(Path("text"), text.encode()))
    assert name == ""
    assert {s.recording: s.words.split() for s in segments} == {
        u: " ".join(w).split() for u, w in words.items()
    }


def test_one_line_of_kaldis_text_with_numbers_or_parentheses() -> None:
    for line in ("u1 so (laughs)", "u1 A 3 4 5", "u1 3 1 4 1 5 9", "u1 take it (twenty-1)"):
        assert read_segments(Loaded(Path("x"), line.encode()))[0] == ""


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_endings_of_names_tell_what_lines_do_not(name: str) -> None:
    """Whole seconds, and ids without digits, might be words."""
    lines = {"STM": "r 1 ann 0 4 so it is", "CTM": "r 1 0 4 so", "trn": "so it is (ann)"}
    if name in lines:
        content = lines[name].encode()
        assert read_segments(Loaded(Path("x"), content))[0] == ""
        assert read_segments(Loaded(Path(f"x.{name.upper()}.gz"), content))[0] == name
