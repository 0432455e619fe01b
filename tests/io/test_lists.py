"""Lists and tables of other toolkits and spreadsheets: read, or refused with the remedy."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from support import Run, cli, ok, refused, write

from privacy_eval import PrivacyEvalError
from privacy_eval.io.scores import format_scores, read_scores, read_trial_list, read_trials
from privacy_eval.metrics.pairing import pair
from privacy_eval.metrics.trials import Trials

LISTS = Path(__file__).parents[1] / "data/golden/lists"
ROWS = [("a", "x", "0.75", True), ("a", "y", "-0.5", False), ("b", "x", "0.25", False),
        ("b", "y", "1.5", True)]  # fmt: skip
COLUMNS = {"enrolled": "left", "utterance": "right", "score": "sim", "label": "same"}


def table(line: str, header: str = "", labels: tuple[str, str] = ("0", "1")) -> str:
    return header + "".join(
        line.format(e=e, u=u, s=s, c=s.replace(".", ","), l=labels[target]) + "\n"
        for e, u, s, target in ROWS
    )


def eer(run: Run) -> tuple[float, int, int]:
    assert run.code == 0, run.err
    found = json.loads(run.out)
    return round(100 * found["exact"]["eer"], 3), found["n_target"], found["n_nontarget"]


@pytest.mark.parametrize(
    ("files", "options", "percent", "said"),
    [
        (("key_labels_last/scores", "key_labels_last/trials.lst"), (), 18.75, ""),
        (("espnet_pairs/raw_trial_scores",), (), 18.75, "espnet"),
        (
            ("scores_without_ids/answer.txt", "scores_without_ids/key"),
            (),
            18.75,
            "384 scores without ids are read in the order of",
        ),
        (("nist_side/scores.tsv", "nist_side/key.tsv"), (), 14.583, "nist"),
        (("exchanged_key/scores", "exchanged_key/trials"), ("--ids", "swap"), 18.75, ""),
    ],
)
def test_lists_of_other_toolkits(
    files: tuple[str, ...], options: tuple[str, ...], percent: float, said: str
) -> None:
    scores, *key = [LISTS / f"{file}.gz" for file in files]
    trials = ("--trials", key[0]) if key else ()
    run = cli("metrics", "--scores", scores, *trials, *options, "--format", "json")
    assert eer(run) == (percent, 48, 336)
    assert said in run.err


def test_the_exchanged_file_is_named() -> None:
    folder = LISTS / "exchanged_key"
    run = cli("metrics", "--scores", folder / "scores.gz", "--trials", folder / "trials.gz")
    assert run.code == 1
    assert "columns of the key are exchanged" in run.err and "--ids swap" in run.err


SIX = {
    "a spreadsheet's semicolons and decimal commas": table(
        "{e};{u};{c};{l}", "left;right;sim;same\n", ("False", "True")
    ),
    "a notebook's frame with its index": table(
        "{e}-{u},{e},{u},{s},{l}", ",left,right,sim,same\n"
    ),
    "R's write.csv": table('"1","{e}","{u}",{s},{l}', '"","left","right","sim","same"\n',
                           ("FALSE", "TRUE")),
    "tabs": table("{e}\t{u}\t{s}\t{l}", "left\tright\tsim\tsame\n", ("nontarget", "target")),
    "bars": table("{e}|{u}|{s}|{l}", "left|right|sim|same\n"),
    "quoted cells with blanks": table(
        '"{e}","a note, long",{l},{s},"{u}"', 'left,note,same,sim,right\n'
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIX)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    "verb", ["metrics", pytest.param("count", marks=pytest.mark.wing("scale"))]
)
def test_named_columns(tmp_path: Path, name: str, encoding: str, verb: str) -> None:
    path = tmp_path / "scores"
    path.write_bytes(SIX[name].replace("\n", "\r\n").encode(encoding))
    scores = read_scores(path, columns=COLUMNS)
    assert list(zip(scores.enrolled, scores.utterance, strict=True)) == [r[:2] for r in ROWS]
    assert scores.score.tolist() == [float(row[2]) for row in ROWS]
    assert scores.is_target.tolist() == [row[3] for row in ROWS]
    named = ",".join(f"{field}={column}" for field, column in COLUMNS.items())
    more = ("--out", tmp_path / "counts") if verb == "count" else ()
    ok(cli(verb, "--scores", path, "--columns", named, *more))
    refused(cli("metrics", "--scores", path), "'left'", "--columns enrolled=NAME")


@pytest.mark.parametrize("header", [
    "enroll;test;score;label\n", '"enroll";"test";"score";"label"\n', "Enroll;Test;LLR;Key\n",
])  # fmt: skip
def test_usual_names_need_no_option(tmp_path: Path, header: str) -> None:
    scores = read_scores(write(tmp_path / "scores", table("{e};{u};{c};{l}", header)))
    assert scores.score.tolist() == [float(row[2]) for row in ROWS]
    assert scores.is_target.tolist() == [row[3] for row in ROWS]


@pytest.mark.parametrize("mark", [" ", "\t", ",", ";", "|"])
def test_columns_by_number(tmp_path: Path, mark: str) -> None:
    path = write(tmp_path / "scores", table(mark.join(("{l}", "{u}", "fold", "{e}", "{s}"))))
    numbers = {"label": "1", "utterance": "2", "enrolled": "4", "score": "5", "fold": "3"}
    scores = read_scores(path, columns=numbers)
    assert scores.enrolled.tolist() == [row[0] for row in ROWS]
    assert scores.is_target.tolist() == [row[3] for row in ROWS]
    assert scores["fold"].tolist() == ["fold"] * 4


def test_a_key_has_the_names_of_the_option_or_a_layout_of_its_own(tmp_path: Path) -> None:
    named = ",".join(f"{field}={column}" for field, column in COLUMNS.items())
    scores = write(tmp_path / "scores", table("{e},{u},{s}", "left,right,sim\n"))
    keys = [
        write(tmp_path / "named", table("{l},{e},{u}", "same,left,right\n")),
        write(tmp_path / "kaldi", table("{e} {u} {l}", labels=("nontarget", "target"))),
    ]
    for key in keys:
        run = ok(cli("metrics", "--scores", scores, "--trials", key, "--columns", named))
        assert "2 target and 2 nontarget" in run.out
    other = cli("metrics", "--scores", scores, "--trials", keys[1], "--columns", f"{named},sex=f")
    assert (other.code, "'f'" in other.err) == (2, True)


def test_speakers_of_columns_draw_a_bootstrap(tmp_path: Path) -> None:
    lines = [
        f"e{s},u{t}_{n},{(s == t) + (7 * s + 3 * t + n) % 5 / 4},{int(s == t)},s{s},s{t}\n"
        for s in range(4)
        for t in range(4)
        for n in range(3)
    ]
    path = tmp_path / "scores"
    path.write_text("enroll,test,score,label,model_of,talker\n" + "".join(lines))
    named = "trial_speaker=talker,enrolled_speaker=model_of"
    run = cli("metrics", "--scores", path, "--columns", named, "--bootstrap", 20)
    assert run.code == 0 and "4 speakers" in run.out, run.err
    utt2spk = write(
        tmp_path / "u2s", "".join(f"u{t}_{n} s{t}\n" for t in range(4) for n in range(3))
    )
    enroll = write(tmp_path / "e2s", "".join(f"e{s} s{s}\n" for s in range(4)))
    files = ("--utt2spk", utt2spk, "--enroll-utt2spk", enroll)
    assert cli("metrics", "--scores", path, *files, "--bootstrap", 20).out == run.out
    refused(cli("metrics", "--scores", path, "--bootstrap", 20), "--columns trial_speaker=")


@pytest.mark.parametrize("line", ["{s} {l}", "{l} {s}", "{s},{l}", "{l}\t{s}"])
@pytest.mark.parametrize("labels", [("0", "1"), ("nontarget", "target")])
def test_scores_and_labels_without_ids(tmp_path: Path, line: str, labels: tuple[str, str]) -> None:
    path = write(tmp_path / "scores", table(line, labels=labels))
    scores = read_scores(path)
    assert scores.score.tolist() == [float(row[2]) for row in ROWS]
    assert scores.is_target.tolist() == [row[3] for row in ROWS]
    assert "2 target and 2 nontarget" in cli("metrics", "--scores", path).out
    for option in (("--bootstrap", 20), ("--speakers",), ("--leave-out-self",)):
        refused(cli("metrics", "--scores", path, *option), "no column")


def test_decimal_commas_alone(tmp_path: Path) -> None:
    scores = read_scores(write(tmp_path / "scores", "0,82116\n1,25\n-2\n"))
    assert scores.score.tolist() == [0.82116, 1.25, -2.0]


def test_scores_without_ids_beside_a_key(tmp_path: Path) -> None:
    scores = write(tmp_path / "scores", "".join(f"{row[2]}\n" for row in ROWS))
    key = write(tmp_path / "key", table("{e} {u} {l}", labels=("nontarget", "target")))
    with pytest.warns(UserWarning, match="in the order of"):
        paired = pair(read_scores(scores), read_trials(key))
    assert paired.is_target.tolist() == [row[3] for row in ROWS]
    assert paired.utterance.tolist() == [row[1] for row in ROWS]
    write(scores, "0.5\n1\n2\n")
    run = cli("metrics", "--scores", scores, "--trials", key)
    assert run.code == 1 and "3 scores without ids, but 4 trials" in run.err
    labelled = write(tmp_path / "labelled", table("{s} {l}")).read_text().replace("1.5 1", "1.5 0")
    contrary = cli("metrics", "--scores", write(scores, labelled), "--trials", key)
    assert contrary.code == 1 and "labels contradict" in contrary.err


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"1 0\n0 1\n", ["--columns score=1,label=2", "--columns label=1,score=2"]),
        (b"a;b;1.000,5;1\n", ["'1.000,5'"]),
        (b"a b 0.5\na c 1,5\n", ["'1,5'"]),
        (b"enroll,test,score,label,Label\na,x,1,1,1\n", ["'label'", "'Label'", "label=Label"]),
        (b"enroll,score,label\na,1,1\n", ["--columns"]),
        (b"enroll,test,score\n", ["no rows"]),
        (b"enroll,test,score\na,\xe9,1\n", ["scores:2", "UTF-8"]),
        (b"BZh91AY&SY\xff\n", ["bzip2"]),
        (b"(\xb5/\xfd$\xff\n", ["zstd"]),
        (b"ORC\n\x06\x12\n", ["ORC"]),
        (b"PK\3\4\x14\0\xff\n", ["xlsx"]),
    ],
)
def test_refusals_name_the_cause_and_the_remedy(
    tmp_path: Path, content: bytes, messages: list[str]
) -> None:
    path = tmp_path / "scores"
    path.write_bytes(content)
    with pytest.raises(PrivacyEvalError) as caught:
        read_scores(path)
    assert all(message in str(caught.value) for message in messages), caught.value


def test_columns_that_cannot_be_found(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes("Sprecher;Äußerung;score;label\na;u;1,5;1\n".encode("cp1252"))
    for columns in ({}, {"enrolled": "Sprecher", "utterance": "Äußerung"}):
        with pytest.raises(PrivacyEvalError, match="scores.csv:1: not UTF-8"):
            read_scores(path, columns=columns)
    write(path, table("{e},{u},{s},{l},{e}", "enroll,test,sim,label,who\n"))
    with pytest.raises(PrivacyEvalError, match="'sim'.*header"):
        read_scores(path, columns={"enrolled": "1", "utterance": "2", "score": "3", "label": "4"})
    run = cli("metrics", "--scores", path, "--columns", "score=sim,speaker=who")
    assert run.code == 2 and "enrolled, " in run.err and "trial_speaker" in run.err
    other = cli("metrics", "--scores", path, "--columns", "score=sim,room=where")
    assert other.code == 2 and "'where'" in other.err


@pytest.mark.parametrize("line", ["{e},{u},{side},{l}", "{e},{u},{side},{l},x"])
def test_the_key_of_2010_has_no_header(tmp_path: Path, line: str) -> None:
    text = "".join(
        line.format(e="m", u=u, side=side, l=label) + "\n"
        for u, side, label in (("s1", "a", "target"), ("s1", "b", "nontarget"))
    )
    key = read_trials(write(tmp_path / "key", text))
    assert list(zip(key.enrolled, key.utterance, key.is_target, strict=True)) == [
        ("m", "s1_a", True),
        ("m", "s1_b", False),
    ]


def test_a_list_of_trials_may_have_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "list", table("{e} {u}", "enroll test\n"))
    assert read_trial_list(path).utterance.tolist() == [row[1] for row in ROWS]


def test_lines_of_a_quoted_table_count_its_header(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", 'enroll,test,score\n"a",u,1\n"b",u,2\n"a",u,3\n')
    with pytest.raises(PrivacyEvalError, match=r"x\.csv:4: 1 duplicate"):
        read_scores(path)


@pytest.mark.parametrize("odd", ["0.0", '"0'])
def test_ids_that_are_numbers_or_begin_with_a_quote(tmp_path: Path, odd: str) -> None:
    key = read_trials(write(tmp_path / "key", f"a b nontarget\na {odd} target\n"))
    assert key.utterance.tolist() == ["b", odd]


def test_ids_with_blanks_are_not_written() -> None:
    trials = Trials(enrolled=["a"], utterance=["b c"], score=[1.0])
    with pytest.raises(PrivacyEvalError, match="column utterance.*'b c'"):
        format_scores(trials)


# Ids that differ by rule


def key_of(ids: list[tuple[str, str]], folder: Path) -> tuple[Path, Path]:
    scores = "".join(f"{e} {u} {n / 7}\n" for n, (e, u) in enumerate(ids))
    key = table("{e} {u} {l}", labels=("nontarget", "target"))
    return write(folder / "scores", scores), write(folder / "key", key)


@pytest.mark.parametrize(
    ("form", "option"),
    [
        ("{}.wav", "strip-extension"),
        ("id/{}", "basename"),
        ("d1/d2/{}.flac", "basename,strip-extension"),
    ],
)
def test_ids_that_differ_by_rule(tmp_path: Path, form: str, option: str) -> None:
    files = key_of([(form.format(e), form.format(u)) for e, u, *_ in ROWS], tmp_path)
    run = cli("metrics", "--scores", files[0], "--trials", files[1])
    assert run.code == 1 and f"--ids {option}" in run.err
    assert repr(form.format("a")) in run.err and repr(form.format("b")) in run.err
    bridged = cli("metrics", "--scores", files[0], "--trials", files[1], "--ids", option)
    assert bridged.code == 0 and "2 target and 2 nontarget" in bridged.out
    paired = pair(read_scores(files[0]), read_trials(files[1]), ids=option.split(","))
    assert paired.utterance.tolist() == [row[1] for row in ROWS]


def test_capitals_speakers_and_exchanged_columns(tmp_path: Path) -> None:
    for ids, option in (
        ([(e.upper(), u.upper()) for e, u, *_ in ROWS], "lower"),
        ([(e, f"{dict(x='a', y='b')[u]}-{u}") for e, u, *_ in ROWS], "strip-speaker"),
    ):
        scores, key = key_of(ids, tmp_path)
        options = ("metrics", "--scores", scores, "--trials", key, "--allow-missing")
        refused(cli(*options[:-1]), f"--ids {option}")
        assert cli(*options, "--ids", option, "--format", "json").code == 0
    scores, key = key_of([(u, e) for e, u, *_ in ROWS], tmp_path)
    run = cli("metrics", "--scores", scores, "--trials", key)
    assert "columns of the scores are exchanged" in run.err and "--columns" in run.err
    named = ("--columns", "enrolled=2,utterance=1,score=3")
    assert cli("metrics", "--scores", scores, "--trials", key, *named).code == 0


def test_ids_that_become_one_are_an_error(tmp_path: Path) -> None:
    scores, key = key_of([("a", "1/x"), ("a", "2/x"), ("b", "1/x"), ("b", "2/x")], tmp_path)
    run = cli("metrics", "--scores", scores, "--trials", key, "--ids", "basename")
    assert run.code == 1 and "'1/x' and '2/x'" in run.err
    assert cli("metrics", "--scores", scores, "--trials", key, "--ids", "no").code == 2


# Columnar files


def test_frames_of_other_libraries(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
    frame = polars.DataFrame(
        {
            "enroll": [row[0] for row in ROWS],
            "test": [row[1] for row in ROWS],
            "score": [float(row[2]) for row in ROWS],
            "label": ["target" if row[3] else "nontarget" for row in ROWS],
        }
    )
    coded = frame.with_columns(
        polars.col("enroll", "test").cast(polars.Categorical),
        polars.col("label").cast(polars.Enum(["target", "nontarget"])),
    )
    for number, one in enumerate((frame, coded)):
        for end in ("ipc", "ipc_stream", "parquet"):
            path = tmp_path / f"{number}.{end}"
            getattr(one, f"write_{end}")(path)
            scores = read_scores(path)
            assert scores.enrolled.tolist() == [row[0] for row in ROWS]
            assert scores.is_target.tolist() == [row[3] for row in ROWS]
            assert np.array_equal(scores.score, [float(row[2]) for row in ROWS])


def test_categories_streams_and_folders(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
    import pyarrow.parquet as pq

    views = pa.array([row[0] for row in ROWS], pa.string_view())
    columns = {
        "left": pa.DictionaryArray.from_arrays(pa.array([0, 0, 2, 2], pa.uint32()), views),
        "test": [row[1] for row in ROWS],
        "llr": [float(row[2]) for row in ROWS],
        "label": [row[3] for row in ROWS],
    }
    data = pa.table(columns)
    with (
        pa.OSFile(str(tmp_path / "stream"), "wb") as sink,
        pa.ipc.new_stream(sink, data.schema) as writer,
    ):
        writer.write_table(data)
    scores = read_scores(tmp_path / "stream", columns={"enrolled": "left"})
    assert scores.enrolled.tolist() == [row[0] for row in ROWS]
    assert scores.is_target.tolist() == [row[3] for row in ROWS]
    pq.write_to_dataset(pa.table({"a": [1], "b": [2]}), tmp_path / "parts", partition_cols=["b"])
    refused(cli("metrics", "--scores", tmp_path / "parts"), "a folder of Parquet files")
    shutil.rmtree(tmp_path / "parts")
