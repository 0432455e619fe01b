"""Encoders that are trained for the attackers of a tree: with a checkpoint that stands in for a
trained one where torch does not matter, and from speech to the report with torch."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import soundfile
from model_support import DATA
from support import ROOT, Run, cli, executable, lines_to, ok, refused, run_program, times

from privacy_eval import PrivacyEvalError
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.results.json_store import read_results
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech
from privacy_eval.training import trees, verbs
from privacy_eval.training.options import CHECKPOINT, ENCODER, REPORT, Training

pytestmark = pytest.mark.wing("training")

needs_torch = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("torch", "onnx", "onnxruntime"))),
    reason="the extra train is not installed",
)
MODEL = "exp/models/ecapa_anon"
#: What `training.json` says of a network of 512 channels.
TRAINED = {
    "options": {"channels": 512},
    "data": {"speakers": 921, "hours_learnt": 363.6},
    "held_out": {
        "speakers": 40,
        "n_target": 900,
        "n_nontarget": 78_900,
        "crop": 3.0,
        "spectrum_eer": 0.12,
    },
    "device": "cuda",
    "epochs": [
        {"held_out_eer": 0.31, "seconds": 0.0},
        {"held_out_eer": 0.034, "seconds": 120.0},
    ],
}


def stage(tree: Path, name: object, *more: object, attackers: str = "ecapa,ecapa-lda") -> Run:
    where = ("--tree", tree, "--results", "exp", "--conf", "protocol.yaml", "--allow-outside")
    named = ("--attackers", attackers) if attackers else ()
    named += ("--lda-dim", "4") * (name == 5)
    return cli("stage", name, *where, *named, *more)


def make_tree(folder: Path, **sizes: Any) -> Path:
    source = folder / "simulated"
    write_demo_speech(source, DemoSpeech(**sizes))
    words = ["data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk"]
    words += ["--training", source / "training", "--training-utt2spk", source / "training_utt2spk"]
    ok(cli(*words, "--model", source / "extractor", "--out", folder / "tree"))
    (folder / "tree/protocol.yaml").open("a").write("crop: 0.5\n")
    return folder / "tree"


@pytest.fixture(scope="module", name="original")
def _original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of original speech."""
    sizes = {"speakers": 4, "training": 6, "utterances": 3, "seconds": 1.1}
    return make_tree(tmp_path_factory.mktemp("speech"), **sizes)


@pytest.fixture(scope="module", name="anonymized")
def _anonymized(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with anonymized speech, also of training."""
    tree = Path(shutil.copytree(original, tmp_path_factory.mktemp("anonymized") / "tree"))
    ok(stage(tree, "anonymize", "--anonymizer", "mcadams"))
    assert (tree / "data/speech_train_anon/wav.scp").is_file()
    return tree


@pytest.fixture(name="tree")
def _tree(anonymized: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(anonymized, tmp_path / "tree"))


@dataclass
class StandIn:
    """What trains, in the place of torch; `folders`: where it did so."""

    folders: list[Path]
    killed: bool = False

    def __call__(self, data: list[Path], out: Path, options: Any, *_: object, **__: Any) -> Any:
        self.folders.append(out)
        (out / "cache").mkdir(parents=True, exist_ok=True)
        if self.killed:
            raise KeyboardInterrupt
        shutil.copy(DATA / "ecapa/embedding_model.ckpt", out / CHECKPOINT)
        (out / ENCODER).write_bytes(b"onnx")
        report = {**TRAINED, "options": {"channels": options.channels or 512}}
        (out / REPORT).write_text(json.dumps(report))
        ids = [line.split()[0] for line in (data[0] / "wav.scp").open()]
        read = SimpleNamespace(ids=ids[2:])
        return SimpleNamespace(
            report=lambda: report, classes=["a", "b"], recordings=read, options=options
        )


@pytest.fixture(name="stand_in")
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    one = StandIn([])
    monkeypatch.setattr(trees, "trained", one)
    monkeypatch.setattr(trees, "device_of", lambda name: "cpu")
    return one


def scores(tree: Path) -> Iterator[Path]:
    yield from tree.glob("exp/results*/*/ecapa*/scores")


def test_an_encoder_of_its_own_attacks_anonymized_speech(tree: Path, stand_in: StandIn) -> None:
    run = ok(stage(tree, 5, "--channels", 16, attackers="challenge,ecapa,ecapa-lda"))
    assert "trained encoders: 1 up to date (1 new)" in run.out
    assert not [*tree.glob("exp/asv_anon*"), *tree.glob(f"{MODEL}/training_*/cache")]
    assert {path.parent.name for path in scores(tree)} == {"ecapa", "ecapa-lda"}
    sides = {path.parents[1].name.split("-")[1:][0] for path in scores(tree)}
    assert sides == {"speech_enrolls_anon"}
    for name in ("privacy-metrics", "collect"):
        ok(stage(tree, name, attackers=""))
    records = read_results(tree / "exp/privacy_eval/results.json").verification
    found = [r for r in records if r.condition.attacker.startswith("ecapa")]
    assert {r.condition.attack_model for r in found} == {"semi-informed"}
    for record in found:
        text = " ".join(record.remarks)
        assert "learnt from 921 other speakers, 364 hours of anonymized speech" in text
        assert "16 channels; training took about 2 minutes on a GPU, 1 epoch" in text
        assert "40 speakers that it did not learn from: EER 3.4 %, untrained 31.0 %" in text
        assert "fewer than" in text
    words = ("--results", tree / "exp/privacy_eval/results.json", "--out", tree / "report.html")
    ok(cli("report", *words))
    page = (tree / "report.html").read_text()
    assert "The encoder that was trained for anon: ECAPA-TDNN of 16 channels." in page
    assert "Training took about 2 minutes on a GPU, 1 epoch." in page
    assert "On 40 speakers that it did not learn from" in page


def test_what_is_current_is_kept_and_what_is_stale_is_trained(
    tree: Path, stand_in: StandIn
) -> None:
    ok(stage(tree, "train-encoders", "--channels", 16))
    before = times(tree.glob(f"{MODEL}/*.*"))
    ok(stage(tree, "train-encoders", "--channels", 16, "--device", "cuda"))
    ok(stage(tree, "train-encoders", attackers=""))  # with the options that it was trained with
    ok(stage(tree, "train-encoders", attackers="spectrum"))
    assert len(stand_in.folders) == 1 and times(tree.glob(f"{MODEL}/*.*")) == before
    ok(stage(tree, "train-encoders", "--channels", 16, "--seed", 1))
    ok(stage(tree, "train-encoders", "--channels", 24, "--seed", 1))
    recording = tree / "data/speech_train_anon/wav/t000-000.wav"
    samples, rate = soundfile.read(recording)
    soundfile.write(recording, samples[::-1], rate)
    run = ok(stage(tree, "train-encoders", attackers=""))
    assert "changed: speech" in run.err
    assert len({*stand_in.folders}) == 4
    for name in (ENCODER, CHECKPOINT):  # deleted on purpose, and not asked for since
        (tree / MODEL / name).unlink()
    ok(stage(tree, "train-encoders", attackers=""))
    assert len(stand_in.folders) == 4


def test_options_that_are_not_named_stay(tree: Path, stand_in: StandIn) -> None:
    ok(stage(tree, "train-encoders", "--channels", 16, "--epochs", 2))
    ok(stage(tree, "train-encoders"))
    assert len(stand_in.folders) == 1
    ok(stage(tree, "train-encoders", "--seed", 3))
    options = json.loads((tree / MODEL / ".privacy_eval.json").read_text())["options"]
    assert (options["channels"], options["epochs"], options["seed"]) == (16, 2, 3)


def test_an_encoder_of_somebody_else_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"mine")
    with pytest.raises(PrivacyEvalError, match="choose another folder"):
        verbs.trained([tmp_path], tmp_path, Training(), "cpu", nj=1, leave_out=False)
    (tmp_path / CHECKPOINT).rename(tmp_path / "begin.ckpt")
    begun = Training(init=tmp_path / "begin.ckpt")
    with pytest.raises(PrivacyEvalError, match="not a file of torch.save"):  # before the speech
        verbs.trained([tmp_path], tmp_path, begun, "cpu", nj=1, leave_out=False)


def test_scores_follow_their_encoder(tree: Path, stand_in: StandIn) -> None:
    """By default, those that are there are kept current."""
    ok(stage(tree, 5, attackers="ecapa"))
    before = times(scores(tree))
    ok(stage(tree, 5, attackers=""))
    assert len(before) == 1 and before.items() <= times(scores(tree)).items()
    for name in ("privacy-metrics", "collect"):
        ok(stage(tree, name, attackers=""))
    results = tree / "exp/privacy_eval/results.json"  # with no score of the challenge's attacker
    ok(cli("report", "--results", results, "--out", tree / "report.html"))
    note = tree / MODEL / "xvect_speech_enrolls_anon/.xvectors.json"
    extractor = json.loads(note.read_text())["inputs"]["extractor"]
    assert extractor["path"] == CHECKPOINT
    (tree / MODEL / CHECKPOINT).write_bytes(bytes(10))  # edited, so another program's
    refused(stage(tree, 5, attackers=""), "edited since it was made", CHECKPOINT)


def test_a_killed_training_goes_on_where_it_was(tree: Path, stand_in: StandIn) -> None:
    stand_in.killed = True
    assert stage(tree, "train-encoders").code == 130
    assert not (tree / MODEL / CHECKPOINT).exists()
    assert stage(tree, "train-encoders", "--seed", 2).code == 130
    stand_in.killed = False
    ok(stage(tree, "train-encoders", "--seed", 2))
    first, second, third = stand_in.folders
    assert second == third != first and not first.exists()


def test_an_encoder_of_another_program_is_kept(tree: Path, stand_in: StandIn) -> None:
    (tree / MODEL).mkdir(parents=True)
    shutil.copy(DATA / "ecapa/embedding_model.ckpt", tree / MODEL)
    run = ok(stage(tree, 5))
    assert not stand_in.folders and "1 external" in run.out
    assert "learnt from speech that is not known" in run.err
    shutil.rmtree(tree / "data/speech_train_anon")  # which the other program had elsewhere
    ok(stage(tree, "asv-scores", attackers="ecapa"))
    (note,) = tree.glob("exp/results*/*/ecapa/.privacy_eval.json")
    assert {*json.loads(note.read_text())["inputs"]} >= {"enrollment", "trials", "extractor"}
    assert "training_utt2spk" not in note.read_text()


def test_the_training_speech_is_anonymized_where_it_is_missing(
    original: Path, stand_in: StandIn, tmp_path: Path
) -> None:
    tree = Path(shutil.copytree(original, tmp_path / "tree"))
    run = ok(stage(tree, "train-encoders"))
    assert "no training speech of attackers" in run.err and "--anonymizer" in run.err
    assert "data/speech_train_anon/wav.scp" in run.err and not stand_in.folders
    ok(stage(tree, "train-encoders", "--anonymizer", "mcadams"))
    assert len(stand_in.folders) == 1
    assert (tree / "data/speech_train_anon/wav.scp").is_file()
    assert not [*tree.glob("data/speech_enrolls_anon*")]  # as the system under test made it


def test_the_others_go_on_without_the_library(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    run = ok(stage(tree, 5, attackers="ecapa,ecapa-lda,spectrum"))
    assert "pip install 'privacy_eval[train]'" in run.err
    assert "no encoder for" in run.err and f"{MODEL}/{CHECKPOINT}" in run.err
    assert [*tree.glob("exp/results*/*/spectrum/scores")] and not [*scores(tree)]


def test_it_says_before_how_long_it_takes(tree: Path, stand_in: StandIn) -> None:
    options = ("--epochs", 10, "--crop", 3, "--device")
    text = ok(stage(tree, "train-encoders", *options, "cpu")).err
    assert (
        "train it on 18 utterances from the beginning takes about" in text
        and "GPU" not in text.splitlines()[0]
    )
    # 300 batches of 8 crops at 10,200 crops a second, and 50 s to begin
    text = ok(stage(tree, "train-encoders", *options, "cuda", "--seed", 1)).err
    assert "takes under a minute on a GPU" in text
    again = ok(stage(tree, "train-encoders", *options, "auto", "--seed", 1)).err
    assert "takes" not in again


def test_a_queue_is_asked_for_a_gpu(
    tree: Path, stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training that no job has done is not begun here, where there may be none."""
    runner = executable(tmp_path / "queue", f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n')
    run = refused(stage(tree, "train-encoders", "--nj", 4, "--cmd", f"{runner} --mem 4G"))
    assert "no job has trained it" in run.err and not stand_in.folders
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("--mem 4G --gpu 1 JOB=1:1 ")
    refused(stage(tree, "train-encoders", "--cmd", runner, "--device", "cpu"))
    assert "--gpu" not in (tmp_path / "asked").read_text().splitlines()[1]
    ok(stage(tree, "train-encoders", "--cmd", "run_jobs.sh"))
    assert len(stand_in.folders) == 1


def test_training_speech_of_a_speaker_of_the_trials(tree: Path, stand_in: StandIn) -> None:
    (speaker, *_) = (tree / "data/speech_enrolls/spk2utt").read_text().split()
    path = tree / "data/speech_train_anon/utt2spk"
    lines = [line.split() for line in path.read_text().splitlines()]
    lines_to(path, [f"{u} {speaker if s == 't000' else s}" for u, s in lines])
    refused(stage(tree, 5, attackers="ecapa"), "3 of 18 utterances are of speakers of the trials")
    assert not [*scores(tree)]


def test_recordings_that_are_all_shorter_than_a_crop(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "device_of", lambda name: "cpu")
    run = stage(tree, "train-encoders", "--crop", 9)
    refused(run, f"{MODEL}: 18 recordings of 18 shorter than a crop of 9 s", "--crop")
    assert not (tree / MODEL / CHECKPOINT).exists()


@needs_torch
def test_one_speaker_to_train_on(tree: Path) -> None:
    path = tree / "data/speech_train_anon/utt2spk"
    lines_to(path, [f"{line.split()[0]} t000" for line in path.read_text().splitlines()])
    run = stage(tree, "train-encoders", "--crop", 1)
    refused(run, f"{MODEL}: 1 speaker in the training speech; at least 2 are needed")


def test_without_a_name_it_is_not_trained(tree: Path, stand_in: StandIn) -> None:
    ok(stage(tree, 5, attackers=""))
    assert not stand_in.folders and not (tree / "exp/models").joinpath("ecapa_anon").exists()


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ("exp/ecapa{suffix}/a.ckpt", "encoder must be"),
        ("exp/models/ecapa/a{suffix}.ckpt", "encoder must be"),
        ("exp/models/../{suffix}/a.ckpt", "encoder must be"),
        ("exp/models/ecapa{suffix}/a.txt", "encoder must be"),
    ],
)
def test_encoders_of_each_system_have_a_place(tmp_path: Path, encoder: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    one = f"{{id: own, title: own, scoring: cosine, encoder: '{encoder}'}}"
    lines_to(path, ["extends: vpc2020", f"more_attackers: [{one}]"])
    with pytest.raises(PrivacyEvalError, match=message):
        load_protocol(str(path))


@needs_torch
def test_from_speech_to_the_report(tmp_path: Path) -> None:
    """The recipe makes everything, and a second run nothing."""
    sizes = {"speakers": 4, "training": 12, "utterances": 3, "seconds": 1.1}
    tree = make_tree(tmp_path, **sizes)
    program = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m privacy_eval "$@"\n'
    executable(tmp_path / "venv/bin/privacy-eval", program)
    words = ("--tree", tree, "--results", "exp", "--conf", "protocol.yaml", "--out", "results")
    words += ("--stage", 4, "--anonymizer", "mcadams", "--lda-dim", 4)
    words += ("--attackers", "ecapa,ecapa-lda", "--set", "channels=16 epochs=1 batch=16 crop=1")
    words += ("--allow-outside", "true", "--stop-stage")
    run = ok(run_recipe(tmp_path, *words, 8))
    assert "trained encoders: 1 up to date (1 new)" in run.out
    report = json.loads((tree / MODEL / REPORT).read_text())
    assert report["options"]["channels"] == 16 and report["device"] == "cpu"
    results = read_results(tree / "results/results.json").verification
    assert {r.condition.attacker for r in results} == {"ecapa", "ecapa-lda"}
    assert all("ECAPA-TDNN of 16 channels" in " ".join(r.remarks) for r in results)
    trained = times((tree / MODEL).glob("*.*"))
    ok(run_recipe(tmp_path, *words, 5))
    assert times((tree / MODEL).glob("*.*")) == trained


def run_recipe(folder: Path, *words: object) -> Run:
    recipe = ROOT / "recipes/vpc2020/run.sh"
    return run_program(recipe, *words, cwd=folder, VIRTUAL_ENV=str(folder / "venv"))
