"""Tables with a header, as pandas, polars, R and corpora write them, are read by names."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import cli, ok, printed, refused, write

from privacy_eval import PrivacyEvalError
from privacy_eval.errors import UsageError
from privacy_eval.io.data_dir import read_spk2gender, read_utt2dur, read_utt2spk
from privacy_eval.io.user_tables import read_labels, read_measures

#: Numbers as ids of speakers, as LibriSpeech has them: an index of rows looks alike.
SEX = {"2": "m", "0": "f", "1": "f", "3": "m"}

#: Tables of speakers as programs write them.
TABLES = {
    "pandas to_csv": ",speaker,sex\n0,2,m\n1,0,f\n2,1,f\n3,3,m\n",
    "pandas index=False": "speaker,sex\n2,m\n0,f\n1,f\n3,m\n",
    "columns in another order": ",sex,speaker\n0,m,2\n1,f,0\n2,f,1\n3,m,3\n",
    "a filtered frame": ",speaker,sex\n3,2,m\n5,0,f\n11,1,f\n12,3,m\n",
    "to_csv of to_csv": "Unnamed: 0.1,Unnamed: 0,speaker,sex\n0,0,2,m\n1,1,0,f\n2,2,1,f\n3,3,3,m\n",
    "reset_index": ",index,speaker,sex\n0,3,2,m\n1,2,0,f\n2,1,1,f\n3,0,3,m\n",
    "index_label": "index,sex,spk_id\n0,m,2\n1,f,0\n2,f,1\n3,m,3\n",
    "QUOTE_NONNUMERIC": '"","speaker","sex"\n0,"2","m"\n1,"0","f"\n2,"1","f"\n3,"3","m"\n',
    "R write.csv": '"","speaker","sex"\n"1","2","m"\n"2","0","f"\n"3","1","f"\n"4","3","m"\n',
    "R write.csv2": '"";"speaker";"sex"\n"1";2;"m"\n"2";0;"f"\n"3";1;"f"\n"4";3;"m"\n',
    "R write.table": '"speaker" "sex"\n"1" 2 "m"\n"2" 0 "f"\n"3" 1 "f"\n"4" 3 "m"\n',
    "R tabs": "speaker\tsex\n1\t2\tm\n2\t0\tf\n3\t1\tf\n4\t3\tm\n",
    "Excel": "\ufeffSpeaker ID;Sex\r\n2;m\r\n0;f\r\n1;f\r\n3;m\r\n",
    "a series by speaker": ",sex\n2,m\n0,f\n1,f\n12,m\n".replace("12", "30"),
    "LibriSpeech": "; readers\n;\n;ID  |SEX| SUBSET  | NAME\n2  | M | dev | A |CBW|Simon\n"
    "0  | F | dev | B\n1  | F | test | C\n3  | M | test | D, E\n",
    "TIMIT": ";  Speakers\n;ID  Sex DR\n2 M  6\n0  F 1\n1   F  1\n3 M 8\n",
    "VoxCeleb": "VoxCeleb1 ID\tVGGFace1 ID\tGender \n2\tA_B\tm\n0\tC\tf\n1\tD\tf\n3\tE\tm\n",
    "Common Voice": "client_id\tpath\tsegment\tgender\n"
    "2\ta.mp3\t\tm\n2\tb.mp3\t\tm\n0\tc.mp3\t\tf\n1\td.mp3\t\tf\n3\te.mp3\t\tm\n",
    "several rows of an id": "utt,speaker,sex\na,2,m\nb,2,m\nc,0,f\nd,1,f\ne,3,m\n",
    "an unknown name": "Set ID,Other ID,sex\n2,a,m\n0,b,f\n1,c,f\n3,d,m\n",
    "floats": "speaker,sex\n2.0,m\n0.0,f\n1.0,f\n3.0,m\n",
}
UTT2SPK = {"a": "2", "b": "2", "c": "0", "d": "1", "e": "3"}
OF_AUDIO = {f"{name}.mp3": speaker for name, speaker in UTT2SPK.items()}


@pytest.mark.parametrize("name", TABLES)
def test_labels_of_speakers(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "t.csv", TABLES[name])
    column = "gender" if "ender" in TABLES[name] else "sex"
    labels = read_labels(f"{path}:{column}")
    of_audio = name == "Common Voice"
    speakers = OF_AUDIO if of_audio else UTT2SPK
    if name == "a series by speaker":
        speakers = {**UTT2SPK, "e": "30"}
    found = {s: label.lower() for s, label in labels.of_speakers(speakers).items()}
    assert found == {s if s in found else "30": sex for s, sex in SEX.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",sex\n0,f\n1,m\n", "rows are numbered"),
        (",number,sex\n0,1089,f\n1,121,m\n", "rows are numbered"),
        ("speaker,spk,sex\n1,2,f\n2,1,m\n", "'speaker' or 'spk'"),
        ("speaker,file,sex\ns1,a,f\ns2,b,m\n", "'speaker' or 'file'"),
        ("speaker,sex\ns1,f\n,m\n", ":3: not a name"),
        ("speaker,sex\ns1,f\nNaN,m\n", ":3: not a name"),
        ("speaker sex\ns1 f\ns2 very male\n", ":3: expected 2 cells, found 3"),
        ("speaker;sex\ns1;f\ns1;m\n", ":3: duplicate 's1' with another label, by the column"),
        ("speaker,sex\n1,f\n1.0,m\n", ":3: duplicate '1'"),
    ],
)
def test_tables_without_sure_ids(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        read_labels(f"{write(tmp_path / 't.csv', text)}:sex")


def test_a_table_needs_the_name_of_a_column(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", TABLES["pandas to_csv"])
    with pytest.raises(UsageError, match="t.csv:COLUMN"):
        read_labels(str(path))
    with pytest.raises(UsageError, match="expected one column 'accent', found .*'sex'"):
        read_labels(f"{path}:accent")
    with pytest.raises(UsageError, match="expected one column 'speaker'"):
        read_labels(f"{path}:speaker")


def test_columns_whose_names_differ_in_case(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "speaker,Sex,sex\ns1,a,f\n")
    assert read_labels(f"{path}:Sex").by_id == {"s1": "a"}
    with pytest.raises(UsageError, match="expected one column 'SEX'"):
        read_labels(f"{path}:SEX")


def test_speakers_that_are_floats_in_one_file(tmp_path: Path) -> None:
    """As pandas writes a column of numbers that had a missing one: the same intervals."""
    scores, _ = scores_of_two_sexes(tmp_path)
    rows = (tmp_path / "utt2spk").read_text().split("\n")[:-1]
    table = write(
        tmp_path / "t.csv", "utt,speaker\n" + "".join(f"{r.replace(' ', ',')}.0\n" for r in rows)
    )
    options = ("--scores", scores, "--bootstrap", 20, "--format", "json", "--utt2spk")
    done, plain = cli("metrics", *options, table), cli("metrics", *options, tmp_path / "utt2spk")
    assert (done.code, done.out) == (0, plain.out), done.err


MISSING = ["", "NA", "N/A", "nan", "NaN", "NaT", "None", "null", "<NA>", "-", "?"]


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("kaldi", [True, False])
def test_a_missing_label_is_no_label(tmp_path: Path, missing: str, kaldi: bool) -> None:
    if kaldi and not missing:
        return
    rows = {"s1": "us", "s2": missing, "s3": "uk", "s4": "Nan"}
    head, mark = ("", " ") if kaldi else ("speaker,accent\n", ",")
    path = write(
        tmp_path / "spk2accent", head + "".join(f"{s}{mark}{a}\n" for s, a in rows.items())
    )
    labels = read_labels(str(path) if kaldi else f"{path}:accent")
    found, without = labels.groups({s: s for s in rows})
    assert (found, without) == ({"s1": "us", "s3": "uk", "s4": "Nan"}, ["s2"])
    assert "missing (1), Nan (1), uk (1), us (1)" in labels.notes[0]


@pytest.mark.parametrize(("codes", "missing"), [("0 1 -1 2", 1), ("1 -1 1 -1", 0), ("a -1 0 1", 0)])
def test_a_code_below_zero(tmp_path: Path, codes: str, missing: int) -> None:
    """Categories of pandas have the code -1 where they are missing."""
    rows = "".join(f"s{n},{code}\n" for n, code in enumerate(codes.split()))
    labels = read_labels(f"{write(tmp_path / 't.csv', 'speaker,accent' + chr(10) + rows)}:accent")
    assert [*labels.by_id.values()].count("") == missing


def test_ages_are_floats_once_one_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "speaker,age\ns1,25.0\ns2,\ns3,64.0\n")
    labels = read_labels(f"{path}:age")
    assert labels.groups({s: s for s in ("s1", "s2", "s3")})[0] == {
        "s1": "under_30",
        "s3": "from_50",
    }
    assert any("25.0 is taken for 25" in note for note in labels.notes)


def test_labels_that_differ_in_case_are_named(tmp_path: Path) -> None:
    notes = read_labels(
        f"{write(tmp_path / 't.csv', 'speaker,sex' + chr(10) + 'a,f' + chr(10) + 'b,F')}:sex"
    ).notes
    assert any("look alike: f, F" in note or "look alike: F, f" in note for note in notes)


def scores_of_two_sexes(tmp_path: Path) -> tuple[Path, dict[str, float]]:
    """Trials of 20 speakers who are numbers, and the EER within women, sorted by hand."""
    generator = np.random.default_rng(4)
    people = [str(n) for n in range(20)]
    sex = {p: "f" if int(p) % 2 else "m" for p in people}
    rows, within = [], {True: [], False: []}  # type: ignore[var-annotated]
    for e in people:
        for t in people:
            for k in range(4):
                score = generator.normal() + (3 if e == t and sex[e] == "f" else 1 if e == t else 0)
                rows.append(f"{e} {t}-{k} {score:.6f} {'target' if e == t else 'nontarget'}\n")
                if sex[e] == sex[t] == "f":
                    within[e == t].append(round(score, 6))
    path = write(tmp_path / "scores", "".join(rows))
    write(tmp_path / "utt2spk", "".join(f"{p}-{k} {p}\n" for p in people for k in range(4)))
    # Kaldi's compute-eer: the threshold is the target score at which both errors meet.
    target, nontarget = sorted(within[True]), sorted(within[False])
    size = next(
        position
        for position in range(len(target))
        if nontarget[max(0, len(nontarget) - 1 - int(len(nontarget) * position / len(target)))]
        < target[position]
    )
    return path, {"f": 100 * size / len(target)}


@pytest.mark.wing("disclosure")
def test_groups_by_a_table_with_an_index(tmp_path: Path) -> None:
    """The numbers of rows are speakers, too: women had the scores of other people."""
    scores, expected = scores_of_two_sexes(tmp_path)
    order = np.random.default_rng(5).permutation(20).tolist()
    rows = "".join(f"{n},{p},{'f' if p % 2 else 'm'}\n" for n, p in enumerate(order))
    table = write(tmp_path / "speakers.csv", f",speaker,sex\n{rows}")
    options = ("--scores", scores, "--utt2spk", tmp_path / "utt2spk", "--format", "json")
    done = ok(cli("metrics", *options, "--by", f"{table}:sex"))
    assert "by the column 'speaker': f (10), m (10)" in done.err
    groups = json.loads(done.out)["groups"]["sex"]["groups"]
    assert round(100 * groups["f"]["within"]["eer"], 9) == expected["f"]


@pytest.mark.wing("disclosure")
def test_groups_of_other_people_are_refused(tmp_path: Path) -> None:
    scores, _ = scores_of_two_sexes(tmp_path)
    table = write(tmp_path / "t.csv", ",speaker,sex\n0,p225,f\n1,p226,m\n")
    options = ("--scores", scores, "--utt2spk", tmp_path / "utt2spk", "--by", f"{table}:sex")
    refused(cli("metrics", *options), "no speaker has a group of sex", "it names p225, p226")


@pytest.mark.parametrize(
    "text",
    [
        ",filename,len_in_sec,OVRL\n0,wav/u1.wav,1.5,3.25\n1,wav/u2.wav,2,2.5\n",
        "deg;OVRL;len_in_sec\nwav/u1.wav;3.25;1.5\nwav/u2.wav;2.5;2\n",
        "OVRL\tlen_in_sec\tutt_id\n3.25\t1.5\tu1\n2.5\t2\tu2\n",
        "utterance OVRL len_in_sec\nu1 3.25 1.5\nu2 2.5 2\n",
        '"utt" "OVRL" "len_in_sec"\n"1" "u1" 3.25 1.5\n"2" "u2" 2.5 2\n',
        "OVRL|len_in_sec|speaker|audio_filepath\r\n3.25|1.5|235|u1\r\n2.5|2|1089|u2\r\n",
        "clip,file,OVRL,len_in_sec\nx,u1,3.25,1.5\nx,u2,2.5,2\n",
    ],
)
def test_measures_by_name(tmp_path: Path, text: str) -> None:
    measures = read_measures(write(tmp_path / "m.csv", text)).values
    assert measures == {"OVRL": {"u1": 3.25, "u2": 2.5}, "len_in_sec": {"u1": 1.5, "u2": 2}}


def test_a_series_of_measures_has_a_number_as_name(tmp_path: Path) -> None:
    assert read_measures(write(tmp_path / "m.csv", ",0\nu1,3.5\n")).values == {"0": {"u1": 3.5}}
    assert read_measures(write(tmp_path / "n", "utterance mos\nu1 3.5\n")).values == {
        "mos": {"u1": 3.5}
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("utterance;mos\nu1;3,5\nu2;4,0\n", ":2: .*decimal point, found '3,5'"),
        ("utterance;mos;n\nu1;3,5;1\n", ":2: .*decimal point, found '3,5'"),
        ("utterance,mos,n\nu1,,1\nu2,3.5,2\n", ":2: .*found ''"),
        ("utterance,mos\nu1,NaN\nu2,3.5\n", ":2: .*found 'NaN'"),
        ("utterance,mos\nu1,2\n,3.5\n", ":3: not an utterance"),
        (",mos,noi\n0,3.5,2\n1,4.5,3\n", "rows are numbered"),
        ("wav,file,mos\na,b,3\nc,d,4\n", "'wav' or 'file'"),
    ],
)
def test_measures_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        read_measures(write(tmp_path / "m.csv", text))


@pytest.mark.wing("utility")
def test_the_column_of_ids_is_said(tmp_path: Path) -> None:
    done = cli("measures", "--file", write(tmp_path / "m.csv", ",file,mos\n0,u1,3\n1,u2,4\n"))
    assert "utterances by the column 'file'" in done.err
    assert printed(done.out) == [{"Metric": "mos", "Value": "3.500", "Utterances": "2"}]


@pytest.mark.wing("listening")
@pytest.mark.parametrize("missing", MISSING)
def test_a_rater_who_is_missing_is_nobody(tmp_path: Path, missing: str) -> None:
    """And the index of rows that a data frame has is no rating."""
    from privacy_eval.listening.ratings import read_ratings

    text = ",evaluator,system,trial,naturalness\n0,ann,B1,u1,7\n1,{},B1,u2,6\n"
    assert read_ratings([write(tmp_path / "r.csv", text.format("bob"))]).score.tolist() == [7, 6]
    with pytest.raises(PrivacyEvalError, match="r.csv:3: evaluator is blank or missing"):
        read_ratings([write(tmp_path / "r.csv", text.format(missing))])


@pytest.mark.parametrize(
    "text",
    [
        "u1 s1\nu2 s2\n",
        "utterance,speaker\nu1,s1\nu2,s2\n",
        ",spk,utt\n0,s1,u1\n1,s2,u2\n",
        "utt_id\tspk_id\tsex\r\nu1\ts1\tf\r\n\r\nu2\ts2\tm\r\n",
        '"file" "speaker"\n"1" "u1" "s1"\n"2" "u2" "s2"\n',
        "utt spk\nu1 s1\nu2 s2\n",
        "id spk\nu1 s1\nu2 s2\n",
        "name\tspeaker\tfile_type\nu1\ts1\twav\nu2\ts2\twav\n",
        "path;client_id;age\nu1;s1;\nu2;s2;30\n",
    ],
)
def test_utt2spk_with_a_header(tmp_path: Path, text: str) -> None:
    assert read_utt2spk(write(tmp_path / "utt2spk", text)) == {"u1": "s1", "u2": "s2"}


def test_other_files_of_a_data_folder_with_a_header(tmp_path: Path) -> None:
    table = write(tmp_path / "t", ",sex,duration,speaker,utt\n0,F,1.5,s1,u1\n1,m,2,s2,u2\n")
    assert read_spk2gender(table) == {"s1": "f", "s2": "m"}
    assert read_utt2dur(table, ["u1"]) == {"u1": 1.5, "u2": 2.0}
    with pytest.raises(PrivacyEvalError, match="t:3: duplicate utterance"):
        read_utt2spk(write(table, "utt,speaker\nu1,s1\nu1,s2\n"))
    with pytest.raises(PrivacyEvalError, match="t:2: .*'John Smith'"):
        read_utt2spk(write(table, "utt,speaker\nu1,John Smith\n"))


@pytest.mark.parametrize("missing", ["None", "nan", "NaN", "NA", "<NA>", "NaT", "null", "-"])
def test_a_missing_speaker_is_nobody(tmp_path: Path, missing: str) -> None:
    """As lhotse writes supervisions without a speaker, and R and NumPy their missing values."""
    path = write(tmp_path / "utt2spk", f"u1 s1\nu2 {missing}\nu3 {missing}\n")
    with pytest.raises(
        PrivacyEvalError, match=f"utt2spk:2: no speaker of 2 utterances, but '{missing}'"
    ):
        read_utt2spk(path)
    with pytest.raises(PrivacyEvalError, match="utt2spk:3"):
        read_utt2spk(write(path, f"utt,spk\nu1,s1\nu2,{missing}\n"))


def test_people_may_be_called_na(tmp_path: Path) -> None:
    """Where the ids of utterances begin with the speaker's, as Kaldi's do; and Nan is a name."""
    path = write(tmp_path / "utt2spk", "NA-1 NA\nNA-2 NA\nu3 Nan\n")
    assert set(read_utt2spk(path).values()) == {"NA", "Nan"}
