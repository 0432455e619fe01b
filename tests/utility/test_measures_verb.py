"""The verb measures: means of other tools' measures, and comparisons of systems."""

import csv
import io
import json
from pathlib import Path

import pytest
from support import cli, printed, refused

from privacy_eval import PrivacyEvalError
from privacy_eval.io.user_tables import read_measures

#: Speaker means 2 and 4, of two and one utterances.
ROWS = "utterance,mos,who\nu1,1.5,ann\nu2,2.5,ann\nu3,4,bob\n"


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> dict[str, Path]:
    contents = {
        "own": ROWS,
        "other": "deg,mos\nwav/u3.wav,3\nwav/u1.wav,0.5\nwav/u2.flac,1.5\n",
        "kaldi": "u1 1.5\nu2 2.5\nu3 4\n",
        "utt2spk": "u1 a\nu2 a\nu3 b\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return {name: tmp_path / name for name in contents}


def test_means_have_intervals_over_speakers(files: dict[str, Path]) -> None:
    run = cli("measures", "--file", files["own"], "--utt2spk", files["utt2spk"], "--format", "json")
    assert run.code == 0 and "who" in run.err
    plain = json.loads(run.out)
    assert (plain["utterances"], plain["speakers"]) == (3, 2)
    mos = plain["measures"]["mos"]
    assert mos["mean"] == 8 / 3
    assert (mos["interval"]["low"], mos["interval"]["high"]) == (2, 4)  # one speaker drawn twice
    run = cli("measures", "--file", files["kaldi"], "--utt2spk", files["utt2spk"])
    (row,) = printed(run.out)
    assert (row["Value"], row["95 % interval"]) == ("2.667", "[2.000, 4.000]")
    assert (row["Utterances"], row["Speakers"]) == ("3", "2")


def test_two_systems_are_compared_by_utterance(files: dict[str, Path]) -> None:
    """Every value is lower by 1 exactly, whatever speakers are drawn."""
    pair = ("--file", files["kaldi"], "--versus", files["other"], "--utt2spk", files["utt2spk"])
    run = cli("measures", *pair, "--format", "json")
    versus = json.loads(run.out)["measures"]["value"]["versus"]
    assert versus["mean"] == 5 / 3 and versus["difference"] == pytest.approx(-1)
    assert (versus["interval"]["low"], versus["interval"]["high"]) == pytest.approx((-1, -1))
    assert 0 < versus["p_value"] <= 1
    *_, row = csv.DictReader(io.StringIO(cli("measures", *pair, "--format", "csv").out))
    assert (row["metric"], row["system"]) == ("value", str(files["other"]))
    assert row["against"] == str(files["kaldi"]) and float(row["value"]) == pytest.approx(-1)
    assert printed(cli("measures", *pair).out)[2]["Value"] == "-1.000"


def test_utterances_of_one_file_are_refused_or_left_out(files: dict[str, Path]) -> None:
    files["other"].write_text("utterance,mos\nu1,1\nu2,2\nu4,3\n")
    pair = ("--file", files["own"], "--versus", files["other"], "--utt2spk", files["utt2spk"])
    refused(cli("measures", *pair), f"{files['other']}: 1 of 3 utterances", "u3")
    files["utt2spk"].write_text("u1 a\nu2 b\n")
    run = cli("measures", *pair, "--allow-missing", "--format", "json")
    assert run.code == 0 and json.loads(run.out)["utterances"] == 2, run.err
    files["utt2spk"].write_text("u1 a\nu2 b\nu3 b\n")
    files["other"].write_text("utterance,stoi\nu1,1\nu2,1\nu3,1\n")
    assert cli("measures", *pair).code == 0  # one measure in each file
    files["own"].write_text("utterance,a,b\nu1,1,1\nu2,1,1\n")
    refused(cli("measures", *pair), "none of the measures")


def test_without_speakers_there_is_no_interval(files: dict[str, Path]) -> None:
    run = cli("measures", "--file", files["own"], "--format", "json")
    assert json.loads(run.out)["measures"]["mos"]["interval"] is None and "--utt2spk" in run.err
    run = cli("measures", "--file", files["own"], "--versus", files["other"])
    assert run.code == 2 and "--utt2spk" in run.err
    files["utt2spk"].write_text("u1 a\nu2 a\n")
    refused(cli("measures", "--file", files["own"], "--utt2spk", files["utt2spk"]), "u3")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a header"),
        ("mos\n1\n", "expected a header"),
        ("utterance,mos\n", "no utterances"),
        ("utterance,mos\nu1,good\n", ":2: no column has a number"),
        ("utterance,mos\nu1,1\nu2,\n", ":3: expected a number"),
        ("utterance,mos\nu1,1\nu2,nan\n", ":3: expected a number"),
        ("utterance,mos\nu1,1e999\n", ":2: expected a number"),
        ("utterance,mos\nu1,1\nu1,2\n", ":3: duplicate utterance u1"),
        ("utterance,mos\nu1,1\na/u1.wav,2\n", ":3: duplicate utterance u1"),
        ("utterance,mos,mos\nu1,1,2\n", ":1: expected a header"),
        ("utterance,mos\nu1,1,2\n", ":2: expected 2 cells"),
        ("u1 1\nu2\n", ":2: expected 2 fields"),
        ("u1 1\nu2 x\n", ":2: expected a number"),
        ("utterance,mos\n,1\n", ":2: not an utterance"),
    ],
)
def test_damaged_files_are_refused_with_file_and_line(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "f"
    path.write_text(content)
    with pytest.raises(PrivacyEvalError, match="^" + str(path)) as refused:
        read_measures(path)
    assert message in str(refused.value)
