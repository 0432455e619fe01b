"""Score files and keys of other tools: tiny examples after the tools' descriptions.

Not written by the tools themselves.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cli, ok, printed, write

from privacy_eval import PrivacyEvalError
from privacy_eval.io.score_formats import KEY_FORMATS, SCORE_FORMATS, RecognizedFormat
from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.io.text_table import Column, split_columns
from privacy_eval.metrics.pairing import pair

#: Two targets and two nontargets: scores, and labels as each tool writes them.
TRIALS = [("a.wav", "x.wav", 0.75, True), ("a.wav", "y.wav", -0.5, False),
          ("b.wav", "x.wav", 0.25, False), ("b.wav", "y.wav", 1.5, True)]  # fmt: skip


def text(line: str, header: str = "", labels: tuple[str, str] = ("nontarget", "target")) -> str:
    return header + "".join(
        line.format(e=e, t=t, s=s, l=labels[target]) + "\n" for e, t, s, target in TRIALS
    )


WORDS, DIGITS = ("nontarget", "target"), ("0", "1")
#: By format: a line, the header, and the words for nontarget and target trials.
LINES = {
    "kaldi": ("{e} {t} {s}", "", WORDS),
    "wespeaker": ("{e} {t} {s:.5f} {l}", "", WORDS),
    "speechbrain": ("{e} {t} {l} {s:.6f}", "", DIGITS),
    "3dspeaker": ("{e} {t} {l} {s:.5f}", "", WORDS),
    "voxceleb_trainer": ("{s:.4f} {e} {t}", "", WORDS),
    "nist": ("{e}\t{t}\ta\t{s}", "modelid\tsegmentid\tside\tLLR\n", WORDS),
    "csv": ('"{e}",{t},{l},{s}', "enroll,test,label,score\n", DIGITS),
}
SCORES = {name: text(*line) for name, line in LINES.items()}
LABELLED = [name for name, (line, *_) in LINES.items() if "{l}" in line]
KEYS = {
    "kaldi": text("{e} {t} {l}"),
    "voxceleb": text("{l} {e} {t}", labels=("0", "1")),
    "nist": text("{e}\t{t}\ta\t{l}", "modelid\tsegmentid\tside\ttargettype\n"),
    "csv": text("{e},{t},{l}", "enroll,test,label\n"),
}
SAME_LINES = {"3dspeaker": "speechbrain"}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("guessed", [False, True])
def test_scores(tmp_path: Path, name: str, guessed: bool) -> None:
    path = write(tmp_path / "scores", SCORES[name])
    scores = read_scores(path, format=None if guessed else name)
    assert scores.origins[0].format == (SAME_LINES.get(name, name) if guessed else name)
    assert scores.enrolled.tolist() == [t[0] for t in TRIALS]
    assert scores.utterance.tolist() == [t[1] for t in TRIALS]
    assert scores.score.tolist() == [t[2] for t in TRIALS]
    if name in LABELLED:
        assert pair(scores).is_target.tolist() == [t[3] for t in TRIALS]
    else:
        with pytest.raises(PrivacyEvalError, match="trial key"):
            pair(scores)
    assert read_scores(path, format=name, distance=True).score.tolist() == [-t[2] for t in TRIALS]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("guessed", [False, True])
def test_keys(tmp_path: Path, name: str, guessed: bool) -> None:
    path = write(tmp_path / "trials", KEYS[name])
    key = read_trials(path, format=None if guessed else name)
    assert key.is_target.tolist() == [t[3] for t in TRIALS]
    scores = read_scores(write(tmp_path / "scores", SCORES["kaldi"]))
    assert pair(scores, key).score.tolist() == [t[2] for t in TRIALS]


LABEL_FIRST = ("label", "enrolled", "utterance", "score")


def split_hashes(content: bytes, path: Path) -> dict[str, Column]:
    """A format of `#<speaker> <utterance> <score> <label>` lines."""
    fields = ("enrolled", "utterance", "score", "label")
    return dict(zip(fields, split_columns(content.replace(b"#", b""), fields, path), strict=True))


@pytest.mark.parametrize(
    ("name", "line", "format"),
    [
        ("label_first", "{l} {e} {t} {s}", LABEL_FIRST),
        ("hash", "#{e} {t} {s} {l}", RecognizedFormat(split_hashes, lambda f: f[:1] == b"#")),
    ],
)
def test_an_added_format_is_detected_and_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str, format: object
) -> None:
    path = write(tmp_path / "scores", text(line))
    expected = cli("metrics", "--scores", write(tmp_path / "known", SCORES["wespeaker"])).out
    for formats in (SCORE_FORMATS, KEY_FORMATS):
        monkeypatch.setitem(formats, name, format)  # type: ignore[arg-type]
    detected = cli("metrics", "--scores", path, "--trials", path)
    assert printed(detected.out) == printed(expected) != []
    assert detected.err == f"privacy-eval: {path}: read as the format {name}\n"
    options = ("--score-format", name, "--key-format", name)
    named = cli("metrics", "--scores", path, "--trials", path, *options)
    assert (named.out, named.err) == (detected.out, "")


def test_an_undecided_file_names_the_fields_of_all_formats_that_it_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCORE_FORMATS, "label_first", LABEL_FIRST)  # type: ignore[arg-type]
    with pytest.raises(
        PrivacyEvalError, match=r"--score-format label_first \(--columns label=1,enrolled=2,utt"
    ):
        read_scores(write(tmp_path / "scores", "1 1 0 1\n0 1 0 1\n"), format=None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a x 1 0\na y 0 1\n", "--score-format wespeaker .* --score-format speechbrain"),
        ("a x c 0.5\n", "column 3 or 4"),
        ("1 0\n0 1\n", "score=1,label=2.* or .*label=1,score=2"),
        ("a\nb\n", "scores:1: expected 3 fields"),
        ("1 a.wav b.wav\n", "scores:1: .*number.*'b.wav'"),
        ("a b c\n", "scores:1: .*number.*'c'"),
        ("a b 1 2 3\n", "scores:1: expected 3 fields"),
        ("modelid\tsegmentid\ttargettype\na\tx\ttarget\n", "no column of scores"),
        ("a x target 0.5\na y tgt 0.5\n", "scores:2"),
        ("a x spoof 0.5\na y spoof 0.5\n", "column 3 or 4"),
        ("a x 0.5 target\na y 0.5 spoof\n", "scores:2: expected the label .*'spoof'"),
        ('enroll,test,score\n"a,x,0.5\n', "CSV"),
        ("enroll,test,score\na,x\n", "scores:2: expected 3 cells"),
        (
            "enroll,test,score,score\na,x,1,2\n",
            "scores:1: the columns 'score' and 'score'.*--columns score=",
        ),
    ],
)
def test_no_wrong_guess(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        read_scores(write(tmp_path / "scores", content), format=None)


@pytest.mark.parametrize("last", ["0", "1", "-3"])
def test_speakers_that_are_numbers_are_no_scores(tmp_path: Path, last: str) -> None:
    scores = read_scores(write(tmp_path / "scores", f"1462 u1 {last}\n251 u2 0.5\n"), format=None)
    assert (scores.origins[0].format, scores.enrolled.tolist()) == ("kaldi", ["1462", "251"])


def test_ambiguous_key(tmp_path: Path) -> None:
    path = write(tmp_path / "trials", "1 a 0\n0 b 1\n")
    with pytest.raises(PrivacyEvalError, match="--key-format"):
        read_trials(path, format=None)
    assert read_trials(path, format="voxceleb").is_target.tolist() == [True, False]


def test_a_known_other_format_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "scores", SCORES["speechbrain"])
    with pytest.raises(PrivacyEvalError, match="scores:1: .*--score-format speechbrain"):
        read_scores(path, format="kaldi")


def test_labels_that_contradict_the_key(tmp_path: Path) -> None:
    scores = read_scores(write(tmp_path / "scores", SCORES["wespeaker"]), format="wespeaker")
    key = read_trials(
        write(tmp_path / "trials", KEYS["kaldi"].replace("a.wav y.wav non", "a.wav y.wav "))
    )
    with pytest.raises(PrivacyEvalError, match="scores:2: 1 labels contradict .*a.wav y.wav"):
        pair(scores, key)


@given(st.sampled_from(sorted(SCORES)), st.data())
def test_a_guess_is_right_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """Ids, scores and labels of any kind: what is read without a format is what was written."""
    word = st.sampled_from(["0", "1", "a", "target", "0.5", "1462", "imp"])
    number = st.sampled_from([0.0, 1.0, 0.5, -3.0])
    rows = data.draw(
        st.lists(
            st.tuples(word, word, number, st.booleans()), min_size=1, unique_by=lambda r: r[:2]
        )
    )
    line, header, labels = LINES[name]
    content = header + "".join(
        line.format(e=e, t=t, s=s, l=labels[is_target]) + "\n" for e, t, s, is_target in rows
    )
    path = write(tmp_path_factory.mktemp("guess") / "scores", content)
    try:
        found = read_scores(path, format=None)
    except PrivacyEvalError:
        return
    if name == "voxceleb_trainer" and found.origins[0].format == "kaldi":
        return  # without labels: pairing with the key tells
    assert found.origins[0].format == SAME_LINES.get(name, name)
    assert found.score.tolist() == [row[2] for row in rows]
    if "is_target" in found:
        assert found.is_target.tolist() == [row[3] for row in rows]


def test_bosaris(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="the extra `formats` is not installed")
    path = tmp_path / "scores.h5"
    with h5py.File(path, "w") as file:
        file["ID/row_ids"] = np.array([b"a", b"b"])
        file["ID/column_ids"] = np.array([b"x", b"y", b"z"])
        file["scores"] = np.array([[0.5, 1.25, 2], [-1, 4, 1e-3]])
        file["score_mask"] = np.array([[1, 0, 1], [1, 1, 1]], dtype="u1")
    found = read_scores(path, format=None)
    assert list(zip(found.enrolled.tolist(), found.utterance.tolist(), strict=True)) == [
        ("a", "x"), ("a", "z"), ("b", "x"), ("b", "y"), ("b", "z"),
    ]  # fmt: skip
    assert found.score.tolist() == [0.5, 2, -1, 4, 1e-3]
    with h5py.File(path, "a") as file:
        del file["score_mask"]
    with pytest.raises(PrivacyEvalError, match="BOSARIS"):
        read_scores(path, format=None)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(PrivacyEvalError, match="HDF5"):
        read_scores(path, format=None)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("scores", np.zeros((2, 3)), "shape"),
        ("scores", np.array([[b"x", b"y"], [b"x", b"y"]]), "expected numbers"),
        ("score_mask", np.array([[b"x", b"y"], [b"x", b"y"]]), "BOSARIS"),
        ("ID/row_ids", np.zeros(2), "BOSARIS"),
        ("ID/row_ids", np.array([b"\xff", b"b"]), "UTF-8"),
        ("ID/row_ids", np.array([b"a x 9\na", b"b"]), "expected an id"),
        ("ID/row_ids", (1 << 38,), "larger than"),
        ("scores", (1 << 20, 1 << 20), "larger than"),
        ("scores", "link", "another place"),
    ],
)
def test_other_bosaris_files_are_refused(
    tmp_path: Path, name: str, values: object, message: str
) -> None:
    h5py = pytest.importorskip("h5py", reason="the extra `formats` is not installed")
    path = tmp_path / "scores.h5"
    with h5py.File(path, "w") as file:
        file["ID/row_ids"] = np.array([b"a", b"b"])
        file["ID/column_ids"] = np.array([b"x", b"y"])
        file["scores"] = np.zeros((2, 2))
        file["score_mask"] = np.ones((2, 2), dtype="u1")
        del file[name]
        if isinstance(values, tuple):
            file.create_dataset(name, values, "f8", chunks=True)
        else:
            file[name] = h5py.SoftLink("/ID/row_ids") if isinstance(values, str) else values
    with pytest.raises(PrivacyEvalError, match=message):
        read_scores(path, format=None)


@pytest.mark.parametrize("name", SCORES)
def test_the_verb_reads_all_formats(tmp_path: Path, name: str) -> None:
    scores = write(tmp_path / "scores", SCORES[name])
    key = write(tmp_path / "trials", KEYS["voxceleb"])
    plain = ok(cli("metrics", "--scores", write(tmp_path / "k", SCORES["kaldi"]), "--trials", key))
    found = cli("metrics", "--scores", scores, "--trials", key)
    assert printed(found.out) == printed(plain.out)
    named = cli("metrics", "--scores", scores, "--score-format", name, "--trials", key)
    assert (named.out, named.err) == (found.out, "")
    if name != "csv":  # which the output may be as well
        wrong = cli("metrics", "--scores", scores, "--trials", key, "--format", name)
        assert (wrong.code, f"--score-format {name}" in wrong.err) == (2, True)
    alone = cli("metrics", "--scores", scores, "--score-format", name, "--format", "json")
    if name in LABELLED:
        assert '"n_target": 2' in alone.out
    else:
        assert alone.code == 1
        assert "trial key" in alone.err


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("comment", ["10 dB", "10", "", "a b c"])
def test_other_cells_of_a_table_do_not_become_scores(
    tmp_path: Path, separator: str, comment: str
) -> None:
    rows = [
        ("enroll", "test", "label", "session", "score", "comment"),
        ("s1", "u1", "target", "", "0.1", comment),
        ("s1", "u2", "nontarget", "a b", "9.5", comment),
    ]
    path = tmp_path / "scores"
    path.write_text("".join(separator.join(row) + "\n" for row in rows))
    scores = read_scores(path, format="csv" if separator == "," else "nist")
    assert scores.score.tolist() == [0.1, 9.5]
    assert scores.utterance.tolist() == ["u1", "u2"]


@pytest.mark.parametrize("cell", ['""', "s2 u2", '"s1 u1 target 3\ns2"'])
def test_a_speaker_of_a_table_is_a_word(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(f"enroll,test,score\ns1,u1,0.5\n{cell},u2,4\n")
    with pytest.raises(PrivacyEvalError, match=f"{path}:3: expected a word in the column enroll"):
        read_scores(path, format="csv")


@pytest.mark.parametrize(
    "labels",
    [
        ("imp", "tgt"),
        ("False", "True"),
        ("FALSE", "TRUE"),
        ("Nontarget", "Target"),
        ("non-mated", "mated"),
        ("different", "same"),
        ("impostor", "target"),
        ("impostor", "genuine"),
    ],
)
def test_labels_of_one_rule(tmp_path: Path, labels: tuple[str, str]) -> None:
    """As everywhere, here in any layout, in small letters or with capitals, alone and in blocks."""
    for line, header in (
        ("{e} {t} {l}", ""),
        ("{l} {e} {t}", ""),
        ("{e},{t},{l}", "enroll,test,label\n"),
    ):
        key = write(tmp_path / "trials", text(line, header, labels))
        assert read_trials(key, format=None).is_target.tolist() == [t[3] for t in TRIALS]
        if not header:
            scores = read_scores(write(tmp_path / "scores", SCORES["kaldi"]))
            paired = pair(scores, read_trials(key))
            assert paired.is_target.tolist() == [t[3] for t in TRIALS]


def test_minus_one_beside_one_only(tmp_path: Path) -> None:
    header = "enroll,test,label\n"
    key = write(tmp_path / "key.csv", text("{e},{t},{l}", header, ("-1", "1")))
    assert read_trials(key, format=None).is_target.tolist() == [t[3] for t in TRIALS]
    with pytest.raises(PrivacyEvalError, match="key.csv:4: expected the label 1 or 0, found '-1'"):
        read_trials(write(key, f"{header}a,x,1\na,y,0\nb,x,-1\n"), format=None)


def test_a_quote_between_tabs_hides_no_trial(tmp_path: Path) -> None:
    path = tmp_path / "scores"
    path.write_text('enroll\ttest\tscore\tnote\na\tu1\t0.5\t"a mic\nb\tu2\t1\tend"\n')
    with pytest.raises(PrivacyEvalError, match=f"{path}:2: a quoted cell"):
        read_scores(path)
