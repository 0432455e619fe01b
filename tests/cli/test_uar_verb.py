"""The verb uar: recalls from predictions."""

from __future__ import annotations

import csv
import json
import tarfile
from pathlib import Path

import pytest
from support import ROOT, Run, cli

from privacy_eval.metrics.recall import recalls


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    with tarfile.open(ROOT / "tests/data/golden/editions/trees.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "tree2024"


def test_folds_of_the_challenge(tree: Path, tmp_path: Path) -> None:
    """From what the classifier said of each utterance to its `results_folds*.csv`."""
    utt2spk = tmp_path / "utt2spk"
    names = ("IEMOCAP_dev", "IEMOCAP_test")
    utt2spk.write_text("".join((tree / "data" / n / "utt2spk").read_text() for n in names))
    options = ("--predictions", tree / "ser_predictions.csv", "--utt2spk", utt2spk)
    done = cli("uar", *options, "--format", "json")
    assert done.code == 0, done.err
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
    with open(tree / "exp/ser/results_folds_toy.csv", newline="") as file:
        rows = list(csv.DictReader(file))
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
    done = cli("uar", *files)
    assert done.code == 1 and message in done.err


def test_text(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("utterance,reference,prediction\nu1,a,a\nu2,b,a\n")
    (tmp_path / "utt2spk").write_text("u1 s1\nu2 s1\n")
    files = ("--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    assert cli("uar", *files).out.splitlines() == [
        "uar 50.000 acc_a 100.000 acc_b 0.000",
        "  s1 uar 50.000 acc_a 100.000 acc_b 0.000",
    ]


def test_a_set_named_like_a_speaker(tmp_path: Path) -> None:
    (tmp_path / "utt2spk").write_text("u1 1\nu2 1\nu3 2\nu4 2\n")
    rows = "u1,sad,sad,1\nu2,hap,hap,1\nu3,sad,hap,1\nu4,hap,sad,1\n"
    (tmp_path / "p.csv").write_text(f"utterance,reference,prediction,set\n{rows}")
    done = cli("uar", "--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    assert [line.split(" acc_")[0] for line in done.out.splitlines()] == [
        "1 uar 50.000",
        "  1 uar 100.000",
        "  2 uar 0.000",
    ]


def test_utterances_without_a_prediction_are_refused_or_left_out(tmp_path: Path) -> None:
    """Of any set: those of its speakers; and speakers of no set."""
    (tmp_path / "utt2spk").write_text("u1 1\nu2 1\nu3 2\nu4 3\n")
    rows = "u1,a,a,x\nu2,a,a,x\nu2,a,a,y\nu3,a,a,y\n"
    (tmp_path / "p.csv").write_text(f"utterance,reference,prediction,set\n{rows}")
    options = ("--predictions", tmp_path / "p.csv", "--utt2spk", tmp_path / "utt2spk")
    done = cli("uar", *options)
    assert done.code == 1
    assert "2 of 4 utterances have no prediction: u1, u4" in done.err
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
    assert "one group of g only: nothing to compare it with" in caveats
    assert "1 speaker without g, in no group: s00" in caveats
    assert "# by g" in run([f"{s},all" for s in speakers]).out
    contradictory = run([f"{speakers[0]}-sad,a", f"{speakers[0]}-hap,b"])
    assert contradictory.code == 1 and "'s00' has several labels of g" in contradictory.err
    assert run(["nobody,a"]).code == 1
    assert cli("uar", *files, "--bootstrap", 9).code == 2
