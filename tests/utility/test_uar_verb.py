"""The verb uar: recalls from predictions."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from support import ROOT, Run, cli, csv_rows, ok, printed, refused, write

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import METRICS
from privacy_eval.utility.emotions import read_predictions, recalls


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    shutil.unpack_archive(ROOT / "tests/data/golden/editions/trees.tar.xz", folder)
    return folder / "tree2024"


def test_folds_of_the_challenge(tree: Path, tmp_path: Path) -> None:
    """From what the classifier said of each utterance to its `results_folds*.csv`."""
    utt2spk = tmp_path / "utt2spk"
    names = ("IEMOCAP_dev", "IEMOCAP_test")
    utt2spk.write_text("".join((tree / "data" / n / "utt2spk").read_text() for n in names))
    options = ("--predictions", tree / "ser_predictions.csv", "--utt2spk", utt2spk)
    done = ok(cli("uar", *options, "--format", "json"))
    assert "5 speakers" in done.err
    found = json.loads(done.out)
    fold_of = {}
    with open(tree / "ser_predictions.csv", newline="") as file:
        for row in csv.DictReader(file):
            fold_of[row["set"], row["speaker"]] = row["fold"]
    printed = {
        (name, fold_of[name, speaker]): values
        for name, of_set in found.items()
        for speaker, values in of_set["speakers"].items()
    }
    rows = csv_rows(tree / "exp/ser/results_folds_toy.csv")
    assert len(rows) == len(printed) == 20
    for row in rows:
        suffix = "_toy" if row["ser"] == "anon" else ""
        values = printed[f"IEMOCAP_{row['split']}{suffix}", row["fold"]]
        expected = {k.lower(): float(v) for k, v in row.items() if k[:3] in ("UAR", "ACC") and v}
        assert {k: round(100 * v, 3) for k, v in values.items()} == expected


def test_recalls_by_hand() -> None:
    # A class that is only predicted counts 0 in the mean, and has no recall.
    assert recalls(["a", "a"], ["a", "b"]) == {"uar": 0.25, "acc_a": 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("utterance,reference\n", "csv:1"),
        ("utterance,reference,prediction\n", "no predictions"),
        ("utterance,reference,prediction\nu1,a\n", "csv:2"),
        ("utterance,reference,prediction\nu1,a,\n", "csv:2"),
        ("utterance,reference,prediction\nu1,a,b\nu1,a,b\n", "csv:3: duplicate"),
        ('utterance,reference,prediction\nu1,a,"b\n', "csv:"),
        ("utterance,reference,prediction\nu2,a,b\n", "no speaker: u2"),
    ],
)
def test_malformed_predictions(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "p.csv").write_text(content)
    (tmp_path / "utt2spk").write_text("u1 s1\n")
    files = ("--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    refused(cli("uar", *files), message)


def test_text(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("utterance,reference,prediction\nu1,a,a\nu2,b,a\n")
    (tmp_path / "utt2spk").write_text("u1 s1\nu2 s1\n")
    files = ("--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    rows = printed(cli("uar", *files).out)
    assert [row["Value"] for row in rows] == ["50.0000 %", "100.000 %", "0.000 %"] * 2
    assert [row["Fold"] for row in rows] == ["all", "", "", "s1", "", ""]  # the same as above


def test_a_set_named_like_a_speaker(tmp_path: Path) -> None:
    (tmp_path / "utt2spk").write_text("u1 1\nu2 1\nu3 2\nu4 2\n")
    rows = "u1,sad,sad,1\nu2,hap,hap,1\nu3,sad,hap,1\nu4,hap,sad,1\n"
    (tmp_path / "p.csv").write_text(f"utterance,reference,prediction,set\n{rows}")
    done = cli("uar", "--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    rows = [row for row in printed(done.out) if row["Metric"] == METRICS["uar"].sentence]
    assert [(row["Fold"], row["Value"]) for row in rows] == [
        ("all", "50.0000 %"),
        ("1", "100.0000 %"),
        ("2", "0.0000 %"),
    ]


def test_utterances_without_a_prediction_are_refused_or_left_out(tmp_path: Path) -> None:
    """Of any set: those of its speakers; and speakers of no set."""
    (tmp_path / "utt2spk").write_text("u1 1\nu2 1\nu3 2\nu4 3\n")
    rows = "u1,a,a,x\nu2,a,a,x\nu2,a,a,y\nu3,a,a,y\n"
    (tmp_path / "p.csv").write_text(f"utterance,reference,prediction,set\n{rows}")
    options = ("--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    refused(cli("uar", *options), "2 of 4 utterances have no prediction: u1, u4")
    done = cli("uar", *options, "--allow-missing")
    assert done.code == 0 and "left out 2 utterances" in done.err


def test_groups_of_speakers(tmp_path: Path) -> None:
    """Means over the speakers of thirty groups of two, of a single one, and odd labels."""
    speakers = [f"s{i:02d}" for i in range(60)]
    said = {f"{s}-{k}": (s, k) for s in speakers for k in ("sad", "hap")}
    predicted = [f"{u},{k},{'sad' if int(s[1:]) % 3 else k}" for u, (s, k) in said.items()]
    rows = ["utterance,reference,prediction", *predicted]
    (tmp_path / "p.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "utt2spk").write_text("".join(f"{u} {s}\n" for u, (s, _) in said.items()))
    files = ("--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")

    def run(groups: list[str], *options: object) -> Run:
        (tmp_path / "m.csv").write_text("\n".join(["id,g", *groups]) + "\n")
        return cli("uar", *files, "--by", f"{tmp_path / 'm.csv'}:g", *options)

    pairs = run(
        [f"{s},g{i // 2:02d}" for i, s in enumerate(speakers)], "--format", "json", "--bootstrap", 9
    )
    plain = json.loads(pairs.out)
    assert len(plain["groups"]["g"]["groups"]) == 30
    for number, of in enumerate(plain["groups"]["g"]["groups"].values()):
        own = [plain["speakers"][s]["uar"] for s in speakers[2 * number : 2 * number + 2]]
        assert (of["uar"], of["n_speakers"], of["utterances"]) == (sum(own) / 2, 2, 4)
        assert "uar_interval" not in of  # of two speakers
    options = ("--format", "json", "--bootstrap", 9)
    single = json.loads(run([f"{s},all" for s in speakers[1:]], *options).out)
    of = single["groups"]["g"]["groups"]["all"]
    assert of["uar_interval"][0] <= of["uar"] <= of["uar_interval"][1]
    caveats = single["groups"]["g"]["caveats"]
    assert "one group only: nothing to compare it with" in caveats
    assert "1 speaker without g, in no group: s00" in caveats
    assert "By g.\n" in run([f"{s},all" for s in speakers]).out
    refused(run([f"{speakers[0]}-sad,a", f"{speakers[0]}-hap,b"]), "'s00' has several labels of g")
    assert run(["nobody,a"]).code == 1
    assert cli("uar", *files, "--bootstrap", 9).code == 2


def uar_of(tmp_path: Path, references: str, predictions: str, *options: str) -> Run:
    """Of utterances of two speakers in turn."""
    pairs = enumerate(zip(references.split(), predictions.split(), strict=True))
    rows = [(f"u{n}", *pair, f"s{n % 2}") for n, pair in pairs]
    table = "".join(f"{u},{r},{p}\n" for u, r, p, _ in rows)
    (tmp_path / "p.csv").write_text(f"utterance,reference,prediction\n{table}")
    (tmp_path / "utt2spk").write_text("".join(f"{u} {s}\n" for u, *_, s in rows))
    files = ("--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    return cli("uar", *files, *options)


@pytest.mark.parametrize("names", ["exc hap", "excited happy"])
def test_excited_speech_that_the_challenge_counts_as_happy(tmp_path: Path, names: str) -> None:
    """Recalls by hand, of the same predictions with and without two classes of the challenge."""
    exc, hap = names.split()
    references = f"neu {exc} {hap} ang sad {exc} sad ang"
    predictions = f"neu {hap} {hap} ang sad {hap} neu ang"
    done = uar_of(tmp_path, references, predictions, "--format", "json")
    said = f"{exc} is never predicted (2 of 8 references); the challenge counts it as {hap}"
    assert said in done.err and "never a reference" not in done.err
    found = json.loads(done.out)
    both = {name: round(100 * values["uar"], 3) for name, values in found.items()}
    assert both == {"": 58.333, f"{exc} as {hap}": 91.667}
    of_speakers = found[f"{exc} as {hap}"]["speakers"]
    assert [round(100 * of["uar"], 3) for of in of_speakers.values()] == [83.333, 100]
    text = uar_of(tmp_path, references, predictions).out.partition(f"{exc} as {hap}.")[2]
    assert printed(text)[0]["Value"] == "91.6667 %"


def test_five_classes_are_not_merged(tmp_path: Path) -> None:
    done = uar_of(tmp_path, "exc exc hap hap", "exc hap hap hap")
    assert "never" not in done.err and " as " not in done.out


@pytest.mark.parametrize(
    ("references", "predictions", "said"),
    [
        ("ang sad ang sad", "Ang sad Ang sad", "Ang is never a reference (2 of 4 predictions)"),
        (
            "ang sad ang sad",
            "Ang sad Ang sad",
            "ang is never predicted (2 of 4 references): is it Ang?",
        ),
        ("neutral sad", "neu sad", "neutral is never predicted (1 of 2 references): is it neu?"),
        ("0 1 1 1", "00 1 1 1", "is it 00?"),
        ("e0 x x x", "0 x x x", "is it 0?"),
        ("dis sad fea sad", "sad sad sad sad", "fea is never predicted (1 of 4 references)"),
    ],
)
def test_classes_of_one_side_are_named(
    tmp_path: Path, references: str, predictions: str, said: str
) -> None:
    done = uar_of(tmp_path, references, predictions)
    assert done.code == 0 and said in done.err


@pytest.mark.parametrize("predictions", ["e0 e1 e2", "0 1 2", "Ang Hap Sad", "angry happy sadness"])
def test_no_class_in_common_is_an_error(tmp_path: Path, predictions: str) -> None:
    done = uar_of(tmp_path, "ang hap sad", predictions)
    listed = ", ".join(predictions.split())
    assert done.code == 1 and "ang, hap, sad" in done.err and listed in done.err
    assert not done.out


def test_whole_floats_are_classes_of_integers(tmp_path: Path) -> None:
    done = uar_of(tmp_path, "0.0 1.0 0.0 1.0", "0 1 0 0")
    # s0: all of its one class. s1: half of class 1, and 0, only predicted, counts 0: 25 %.
    assert printed(done.out)[0]["Value"] == "62.5000 %" and "never" not in done.err


@pytest.mark.parametrize(
    "text",
    [
        ",utterance,reference,prediction\n0,u1,sad,hap\n",
        "prediction;reference;utt\nhap;sad;u1\n",
        "Reference\tprediction\tfilename\nsad\thap\tu1\n",
        "utterance|prediction|reference|label\nu1|hap|sad|x\n",
    ],
)
def test_predictions_by_name(tmp_path: Path, text: str) -> None:
    (one,) = read_predictions(write(tmp_path / "p.csv", text))
    assert (one.utterance, one.reference, one.prediction) == ("u1", "sad", "hap")


@pytest.mark.parametrize(
    "missing", ["", "NA", "N/A", "nan", "NaN", "NaT", "None", "null", "<NA>", "-", "?"]
)
def test_a_prediction_that_is_missing_is_refused(tmp_path: Path, missing: str) -> None:
    for row in (f"u1,{missing},sad", f"u1,sad,{missing}", f"{missing},sad,sad"):
        path = write(tmp_path / "p.csv", f"utterance,reference,prediction\n{row}\n")
        with pytest.raises(PrivacyEvalError, match="p.csv:2"):
            read_predictions(path)
