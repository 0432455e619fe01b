"""The recipe on real speech against an evaluation of the same speech by independent code."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_support import (
    MODELS,
    needs_golden_models,
    needs_model,
    needs_onnxruntime,
    needs_soxr,
    needs_webrtcvad,
)
from support import ROOT, Run, cli, metrics_of, ok, recording_to, refused, run_program

from privacy_eval.speech import models

pytest.importorskip("soundfile", reason="audio needs the extra speech")

RUN = ROOT / "recipes/real_speech/run.sh"
CORPUS = MODELS / "speech/LibriSpeech"
#: Names of the models in the golden scores, and suffixes of enrollment and trials by condition.
NAMES = {"cosine": "ge2e", "d-vector": "dvector"}
SUFFIXES = {"oo": ("", ""), "oa": ("", "_anon"), "aa": ("_anon", "_anon")}

takes_minutes = pytest.mark.skipif(
    not os.environ.get("PRIVACY_EVAL_WHOLE_RECIPE"),
    reason="takes minutes (PRIVACY_EVAL_WHOLE_RECIPE=1 runs it)",
)


def golden(attacker: str, condition: str) -> tuple[np.ndarray, list[str], list[str]]:
    """Scores of all enrolled speakers and trials, and the names of both."""
    speech = "orig" if condition == "oo" else "a0.8"
    with np.load(MODELS / "real_run/scores.npz", allow_pickle=False) as arrays:
        scores = arrays[f"{NAMES[attacker]}__{speech}__{condition}"]
        return scores, [str(s) for s in arrays["speakers"]], [str(u) for u in arrays["utts"]]


def differences(tree: Path, attacker: str, condition: str) -> np.ndarray:
    """Differences of the scores against all speakers from the golden ones."""
    enrolled, tried = SUFFIXES[condition]
    name = f"ASV-speech_enrolls{enrolled}-speech_trials_all{tried}"
    (folder,) = tree.glob(f"exp/results*/{name}")
    path = folder / "scores" if attacker == "cosine" else folder / attacker / "scores"
    scores, speakers, utterances = golden(attacker, condition)
    lines = [line.split() for line in path.read_text().splitlines()]
    expected = [scores[speakers.index(s), utterances.index(u)] for s, u, _ in lines]
    return np.abs(np.array([float(score) for *_, score in lines]) - expected)


@needs_golden_models
@needs_model("ge2e")
@needs_webrtcvad
@needs_soxr
def test_scores_of_two_speakers(tmp_path: Path) -> None:
    """Enough to see that every step agrees; all ten speakers take minutes."""
    corpus, tree = tmp_path / "speech", tmp_path / "tree"
    for speaker in ("367", "2609"):
        for path in sorted((CORPUS / "test-other" / speaker).glob("*/*.flac"))[:6]:
            at = corpus / speaker / path.parent.name
            at.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, at)
    where = ("--tree", tree, "--results", "exp", "--conf", "protocol.yaml", "--allow-outside")

    def done(*words: object) -> Run:
        run = ok(cli(*words))
        return run

    done("data-dir", "--original", corpus, "--enroll", 5, "--encoders", "ge2e", "--out", tree)
    b2 = ("--anonymizer", "mcadams", "--variant", 2022, "--coefficient", 0.8)
    done("stage", "anonymize", *where, *b2)
    done("stage", "xvectors", *where)
    done("stage", "asv-scores", *where)
    for condition in SUFFIXES:
        assert differences(tree, "cosine", condition).max() < 1e-5


@takes_minutes
@needs_golden_models
@needs_model("ge2e")
@needs_model("d-vector")
@needs_webrtcvad
@needs_soxr
@needs_onnxruntime
def test_ten_speakers_have_the_numbers_of_independent_code(tmp_path: Path) -> None:
    speech = ("--speech", CORPUS / "test-other", "--training", CORPUS / "train-clean-100")
    less = ("--quality", "false", "--phones", "false")  # tests of their own
    ok(run_program(RUN, *speech, *less, "--dir", tmp_path, cwd=tmp_path, VIRTUAL_ENV=""))
    tree = tmp_path / "tree"
    for condition in SUFFIXES:
        assert differences(tree, "cosine", condition).max() < 1e-5
        assert differences(tree, "d-vector", condition).max() < 0.02
    results = json.loads((tree / "results/results.json").read_text())
    expected = json.loads((MODELS / "real_run/expected.json").read_text())
    numbers = {
        (r["attacker"], r["attack_model"], r["gender"]): metrics_of(r)["exact"]["eer"]
        for r in results["verification"]
    }
    attacks = {"oo": "original", "oa": "ignorant", "aa": "lazy-informed"}
    for attacker, model in NAMES.items():
        for condition, attack in attacks.items():
            wanted = expected[f"{model}/{'orig' if condition == 'oo' else 'a0.8'}/{condition}"]
            for gender in ("f", "m", "all"):
                target = 1 / wanted[gender]["targets"] if model == "dvector" else 0
                eer = numbers[attacker, attack, gender]
                assert abs(eer - wanted[gender]["eer_kaldi"]) <= target + 1e-12
    procrustes = expected["ge2e/a0.8/oa_procrustes"]["all"]
    assert abs(numbers["procrustes", "ignorant", "all"] - procrustes["eer_kaldi"]) <= 0.02 + 1e-12
    first = rank_one(results)
    assert {c: first[a] for c, a in attacks.items()} == {
        c: expected[f"ge2e/{'orig' if c == 'oo' else 'a0.8'}/{c}"]["rank1"] for c in attacks
    }
    report = (tree / "results/report.html").read_text()
    assert "carry no claim" in report and "10 speakers" in report


def rank_one(results: dict[str, Any]) -> dict[str, float]:
    """Linkage in a group of all ten speakers, of the trials of both genders."""
    return {
        record["attack_model"]: pytest.approx(record["linkage"][record["sizes"].index(10)])
        for record in results["identification"]
        if record["gender"] == "all"
    }


def test_without_speech_the_recipe_says_where_to_get_some(tmp_path: Path) -> None:
    refused(run_program(RUN, cwd=tmp_path), "openslr.org/12", code=2)
    assert not any(tmp_path.iterdir())


@needs_onnxruntime
@needs_soxr
def test_missing_models_are_named_before_any_work(tmp_path: Path) -> None:
    speech = tmp_path / "speech"
    for name in ("a/a1", "a/a2", "b/b1", "b/b2"):
        (speech / name).parent.mkdir(parents=True, exist_ok=True)
        (speech / f"{name}.wav").touch()
    command = (
        RUN,
        "--speech",
        speech,
        "--dir",
        tmp_path / "work",
        "--encoders",
        "ge2e-raw d-vector",
    )
    command += ("--quality", "false", "--phones", "false")
    run = run_program(*command, cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert run.code == 1 and not (tmp_path / "work").exists()
    assert "get it with: privacy-eval get-model ge2e d-vector" in run.err


@needs_onnxruntime
@needs_soxr
def test_models_are_checked_without_downloading_them(tmp_path: Path) -> None:
    check = ("get-model", "dnsmos", "--check", "--libraries", "--cache", tmp_path)
    assert cli(*check).code == 0
    run = cli("get-model", "dnsmos", "--check", "--cache", tmp_path)
    assert run.code == 1 and f"get-model dnsmos --cache {tmp_path}" in run.err
    assert not any(tmp_path.iterdir())
    libraries = {"no_such_module": "first", "nor_this": "second==1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(models.LIBRARIES, "dnsmos", libraries)
        patch.setitem(models.LIBRARIES, "phones", {"no_such_module": "first", "or_this": "third"})
        run = cli("get-model", "d-vector", "dnsmos", "phones", "--check")
        assert run.code == 1 and run.err.rstrip().endswith("pip install first second==1 third")
    both = ("get-model", "ge2e-raw", "dnsmos")
    assert cli(*both, "--model-file", tmp_path / "wheel").code == 2
    assert "get-model ge2e dnsmos --cache" in cli(*both, "--check", "--cache", tmp_path).err


@needs_onnxruntime
def test_levels_and_lists_of_speakers_are_handed_on(tmp_path: Path) -> None:
    for place, name in (("in/x/a", "a1"), ("in/x/a", "a2"), ("in/x/b", "b1"), ("in/x/b", "b2")):
        recording_to(tmp_path / place / f"{name}_.wav")
    recording_to(tmp_path / "other/u.wav")
    (tmp_path / "list").write_text("u t\n")
    (tmp_path / "lists").write_text("".join(f"{s}{n}_ {s}\n" for s in "ab" for n in "12"))
    (tmp_path / "e.onnx").touch()
    stages = ("--encoders", "e.onnx", "--stage", 3, "--stop-stage", 3)
    training = ("--training", "other", "--training-utt2spk", "list")
    for how, taken in (
        (("--speaker-level", 2), "speakers (level 2, folders): 2: a, b"),
        (("--utt2spk", "lists"), "speakers (lists): 2: a, b"),
    ):
        words = ("--speech", "in", *how, *training, "--dir", how[0].strip("-"), *stages)
        run = run_program(RUN, *words, cwd=tmp_path)
        assert run.code == 0 and taken in run.out, run.err
        assert "training speakers (list): 1: t" in run.out
    run = run_program(RUN, "--speech", "in", *training, "--dir", "none", *stages, cwd=tmp_path)
    assert run.code == 1 and "--speaker-level" in run.err
