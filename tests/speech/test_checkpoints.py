"""Scores of a tree of 2024 from recordings, by the checkpoints that lie in it."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_support import DATA
from numpy.typing import NDArray
from support import Run, cli, lines_to, ok, refused, snapshot, until, write
from test_ecapa import checkpoint, tensors_of

from privacy_eval import PrivacyEvalError
from privacy_eval.io.arrays import read_torch_vectors, write_torch_vectors
from privacy_eval.io.files import digest
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.ecapa import read_ecapa
from privacy_eval.speech.trees.demo_speech import RATE, draw_voice, speak

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")

CHECKPOINT = DATA / "ecapa" / "embedding_model.ckpt"
NOTE = ".privacy_eval.json"
ENROLLS, TRIALS = "libri_test_enrolls", "libri_test_trials_f"
CONDITIONS = [
    f"{ENROLLS}-{TRIALS}",
    f"{ENROLLS}-{TRIALS}_b2",
    f"{ENROLLS}_b2-{TRIALS}_b2",
]
WITHIN = "cosine_out/emb_xvect/{set}/utt-level/speaker_vectors.pt"
MODELS = {"asv_orig": "embedding_model.ckpt", "asv_anon_b2": "CKPT+epoch9/embedding_model.ckpt"}
SPEAKERS = ("1", "2", "3")


def write_set(tree: Path, name: str, part: str, seed: int) -> None:
    draw, data = np.random.default_rng(seed), tree / "data" / name
    spoken = {f"{s}-{part}{n}": s for s in SPEAKERS for n in range(2)}
    for utterance, speaker in spoken.items():
        voice = draw_voice("f", np.random.default_rng(int(speaker) + seed % 2 * 100))
        samples = np.pad(speak(voice, 1.0, draw), draw.integers(1, 900, 2))
        path = data / "wav" / f"{utterance}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, samples, RATE)
    lines_to(data / "wav.scp", [f"{u} data/{name}/wav/{u}.wav" for u in spoken])
    lines_to(data / "utt2spk", [f"{u} {s}" for u, s in spoken.items()])
    lines_to(data / "spk2gender", [f"{s} f" for s in SPEAKERS])
    if part == "t":
        pairs = itertools.product(SPEAKERS, spoken.items())
        words = {True: "target", False: "nontarget"}
        lines_to(data / "trials", [f"{e} {u} {words[e == s]}" for e, (u, s) in pairs])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with speech, the model of original speech, and one checkpoint of a training."""
    tree = tmp_path_factory.mktemp("recorded")
    sets = [(ENROLLS, "e"), (f"{ENROLLS}_b2", "e"), (TRIALS, "t"), (f"{TRIALS}_b2", "t")]
    for seed, (name, part) in enumerate(sets):
        write_set(tree, name, part, seed)
    content = CHECKPOINT.read_bytes()
    write(tree / "exp/asv_orig" / MODELS["asv_orig"], content)
    other = tensors_of(content)
    other["fc.conv.weight"] = -other["fc.conv.weight"][:, ::-1]
    write(tree / "exp/asv_anon_b2" / MODELS["asv_anon_b2"], checkpoint(other))
    conf = "extends: vpc2024\nname: small\nsplits: [test]\ngenders: {f: female}\n"
    write(tree / "small.yaml", conf)
    return tree


@pytest.fixture
def tree(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "tree"))


@pytest.fixture(scope="module")
def scored(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree after stage 5."""
    tree = tmp_path_factory.mktemp("scored") / "tree"
    shutil.copytree(recorded, tree)
    stage5(tree)
    return tree


@pytest.fixture
def finished(scored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scored, tmp_path / "finished"))


OPTIONS = ("--results", "exp", "--conf", "small.yaml")


def stage(tree: Path, verb: str, *more: object) -> Run:
    return cli("stage", verb, "--tree", tree, *OPTIONS, *more)


def stage5(tree: Path, *more: object) -> str:
    """Compute the challenge's own scores, and return the last lines of both stages."""
    named = ("--attackers", "challenge", *more)
    return "".join(ok(stage(tree, verb, *named)).out for verb in ("xvectors", "asv-scores"))


def scores(path: Path) -> dict[tuple[str, str], float]:
    lines = (line.split() for line in path.read_text().splitlines())
    return {(enrolled, utterance): float(score) for enrolled, utterance, score in lines}


def by_hand(
    tree: Path, model: Path, condition: str, *, unit: bool = False
) -> dict[tuple[str, str], float]:
    """Score by NumPy: means of the vectors of trimmed recordings of peak 1."""
    encoder = read_ecapa(model.read_bytes(), "checkpoint")

    @cache
    def vector(name: str, utterance: str) -> NDArray[np.float64]:
        samples, rate = soundfile.read(tree / f"data/{name}/wav/{utterance}.wav", dtype="int16")
        sounds = np.flatnonzero(samples)
        assert 0 < sounds[0] and sounds[-1] < len(samples) - 1  # there are zeros to remove
        kept = samples[sounds[0] : sounds[-1] + 1].astype(np.float64)
        loud = (kept / np.abs(kept).max() * 32768).astype(np.float32)
        found = encoder.encode(Audio(loud, rate)).astype(np.float64)
        return found / np.linalg.norm(found) if unit else found

    enrolls, trials = condition.split("-")
    result = {}
    for line in (tree / "data" / TRIALS / "trials").read_text().splitlines():
        speaker, utterance, _ = line.split()
        mean = np.mean([vector(enrolls, f"{speaker}-e{n}") for n in range(2)], axis=0)
        tried = vector(trials, utterance)
        cosine = mean @ tried / np.linalg.norm(mean) / np.linalg.norm(tried)
        result[speaker, utterance] = float(cosine)
    return result


def test_scores_are_cosines_of_means_of_trimmed_recordings(scored: Path) -> None:
    for (model, file), condition in itertools.product(MODELS.items(), CONDITIONS):
        folder = scored / "exp" / model
        found = scores(folder / condition / "scores")
        wanted = by_hand(scored, folder / file, condition)
        assert list(found) == list(wanted)
        assert np.ptp([*found.values()]) > 0.02
        assert [*found.values()] == pytest.approx([*wanted.values()], abs=1e-6)


def test_embeddings_are_normalized_if_the_protocol_says_so(finished: Path) -> None:
    before = scores(finished / "exp/asv_orig" / CONDITIONS[0] / "scores")
    with (finished / "small.yaml").open("a") as file:
        file.write("normalize_embeddings: true\n")
    shutil.rmtree(finished / "exp/asv_anon_b2")
    stage5(finished)
    folder = finished / "exp/asv_orig"
    found = scores(folder / CONDITIONS[0] / "scores")
    wanted = by_hand(finished, folder / MODELS["asv_orig"], CONDITIONS[0], unit=True)
    assert [*found.values()] == pytest.approx([*wanted.values()], abs=1e-6)
    assert found != before
    _, matrix = read_torch_vectors(folder / WITHIN.replace("{set}", ENROLLS))
    assert np.linalg.norm(matrix, axis=1) == pytest.approx(1, abs=1e-6)


def test_files_are_the_evaluations_and_say_what_made_them(scored: Path) -> None:
    for model, file in MODELS.items():
        sha256 = digest((scored / "exp" / model / file).read_bytes())
        for condition in CONDITIONS:
            note = json.loads((scored / "exp" / model / condition / NOTE).read_text())
            assert note["inputs"]["extractor"]["sha256"] == sha256
        for name in (ENROLLS, TRIALS, f"{ENROLLS}_b2", f"{TRIALS}_b2"):
            ids, matrix = read_torch_vectors(scored / "exp" / model / WITHIN.replace("{set}", name))
            assert [f"{u.partition('-')[0]}" for u in ids] == [s for s in SPEAKERS for _ in "12"]
            assert matrix.shape[0] == 6


def test_an_unchanged_rerun_makes_nothing_and_another_checkpoint_all(finished: Path) -> None:
    before = snapshot(finished)
    assert "new" not in stage5(finished)
    assert snapshot(finished) == before
    other = finished / "exp/asv_anon_b2" / MODELS["asv_anon_b2"]
    shutil.copy(other, finished / "exp/asv_orig" / MODELS["asv_orig"])
    assert "8 up to date (4 new)" in (said := stage5(finished))
    assert "6 up to date (3 new)" in said
    scores_of = [finished / "exp" / model / CONDITIONS[0] / "scores" for model in MODELS]
    assert scores_of[0].read_bytes() == scores_of[1].read_bytes()


def test_speech_that_changes_is_encoded_again(finished: Path) -> None:
    wav = finished / f"data/{TRIALS}_b2/wav/1-t0.wav"
    shutil.copy(wav.with_name("2-t0.wav"), wav)
    assert "8 up to date (2 new)" in (said := stage5(finished))
    assert "6 up to date (4 new)" in said
    again = scores(finished / "exp/asv_orig" / CONDITIONS[2] / "scores")
    assert again["1", "1-t0"] == again["1", "2-t0"]


def test_killed_and_resumed(tree: Path, scored: Path) -> None:
    words = ("-m", "privacy_eval", "stage", "xvectors", "--tree", str(tree), *OPTIONS)
    process = subprocess.Popen([sys.executable, *words], start_new_session=True)
    until(lambda: [*tree.glob("exp/asv*/**/parts/*.ark")] or process.poll() is not None)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    there = {path: path.stat().st_mtime_ns for path in tree.glob("exp/asv*/**/parts/*.ark")}
    assert there
    stage5(tree)
    assert {path: path.stat().st_mtime_ns for path in there} == there
    for path in scored.glob("exp/asv*/**/scores"):
        assert (tree / path.relative_to(scored)).read_bytes() == path.read_bytes()


def test_parallel_jobs_give_the_same_scores(tree: Path, scored: Path) -> None:
    stage5(tree, "--nj", 2, "--cmd", "run_jobs.sh")
    for path in scored.glob("exp/asv*/**/scores"):
        assert (tree / path.relative_to(scored)).read_bytes() == path.read_bytes()


def test_what_another_program_left_is_kept_and_used(tree: Path) -> None:
    foreign = tree / "exp/asv_orig" / CONDITIONS[2] / "scores"
    write(foreign, (text := b"1 1-t0 0.5\n"))
    vectors = tree / "exp/asv_orig" / WITHIN.replace("{set}", TRIALS)
    ids = [f"{s}-t{n}" for s in SPEAKERS for n in range(2)]
    given_vectors = np.random.default_rng(0).normal(size=(6, 48)).astype(np.float32)
    for name, part in ((TRIALS, "-t"), (ENROLLS, "-e")):
        at = tree / "exp/asv_orig" / WITHIN.replace("{set}", name)
        at.parent.mkdir(parents=True)
        write_torch_vectors(at, [u.replace("-t", part) for u in ids], given_vectors)
    content = vectors.read_bytes()
    said = stage5(tree)
    assert foreign.read_bytes() == text and vectors.read_bytes() == content
    assert "2 external" in said and "1 external" in said
    found = scores(tree / "exp/asv_orig" / CONDITIONS[0] / "scores")
    mean, tried = given_vectors[:2].mean(axis=0), given_vectors[2]
    cosine = mean @ tried / np.linalg.norm(mean) / np.linalg.norm(tried)
    assert found["1", "2-t0"] == pytest.approx(cosine, abs=1e-6)


def two(tree: Path) -> None:
    write(tree / "exp/asv_orig/CKPT+best/embedding_model.ckpt", CHECKPOINT.read_bytes())


def of_wavlm(tree: Path) -> None:
    tensors = tensors_of(CHECKPOINT.read_bytes())
    first = tensors["blocks.0.conv.conv.weight"]
    tensors["blocks.0.conv.conv.weight"] = np.zeros((len(first), 1104, 5), np.float32)
    write(tree / "exp/asv_orig" / MODELS["asv_orig"], checkpoint(tensors))


def garbage(tree: Path) -> None:
    write(tree / "exp/asv_orig" / MODELS["asv_orig"], b"no checkpoint")


def elsewhere(tree: Path) -> None:
    path = tree / "exp/asv_orig" / MODELS["asv_orig"]
    path.rename(tree.parent / "elsewhere.ckpt")
    path.symlink_to(tree.parent / "elsewhere.ckpt")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (two, ("which checkpoint", "CKPT+best", "move the others")),
        (of_wavlm, ("embedding_model.ckpt", "WavLM")),
        (garbage, ("embedding_model.ckpt", "not a file of torch.save")),
        (elsewhere, ("embedding_model.ckpt", "--allow-outside")),
    ],
)
def test_bad_checkpoints(tree: Path, spoil: Callable[[Path], None], words: tuple[str, ...]) -> None:
    spoil(tree)
    run = refused(stage(tree, "xvectors", "--attackers", "challenge"), *words)
    assert "Traceback" not in run.err
    assert "4 up to date (4 new)" in run.out and "4 of 8 failed" in run.out
    said = ok(stage(tree, "asv-scores", "--attackers", "challenge")).out
    assert "3 of 6 missing" in said and "checkpoint" in said
    assert not [*tree.glob("exp/asv_orig/*/scores")]


def test_without_recordings_the_last_line_says_what_is_missing(tree: Path) -> None:
    (tree / f"data/{ENROLLS}_b2/wav.scp").unlink()
    said = stage5(tree)
    assert "2 of 8 missing (no speech" in said and "2 of 6 missing" in said
    assert len([*tree.glob("exp/asv*/*/scores")]) == 4
    check = ok(cli("check", "--tree", tree, *OPTIONS))
    assert "stage 5" in check.out


def test_the_model_of_original_speech_alone_is_enough(tree: Path) -> None:
    shutil.rmtree(tree / "exp/asv_anon_b2")
    stage5(tree)
    assert sorted(p.parent.name for p in tree.glob("exp/*/*/scores")) == sorted(CONDITIONS)
    ok(stage(tree, "privacy-metrics"))
    collected = ok(stage(tree, "collect"))
    assert "published" not in collected.err  # as of scores that the evaluation left


def test_a_recording_that_cannot_be_read(tree: Path) -> None:
    wav = write(tree / f"data/{ENROLLS}_b2/wav/2-e0.wav", b"no audio")
    refused(stage(tree, "xvectors", "--attackers", "challenge"), "2-e0")
    said = stage5(tree, "--allow-missing")
    assert "8 up to date" in said and "6 up to date" in said
    folder = tree / "exp/asv_orig"
    ids, matrix = read_torch_vectors(folder / WITHIN.replace("{set}", wav.parts[-3]))
    assert "2-e0" not in ids
    _, tried = read_torch_vectors(folder / WITHIN.replace("{set}", f"{TRIALS}_b2"))
    one = matrix[ids.index("2-e1")]
    cosine = one @ tried[0] / np.linalg.norm(one) / np.linalg.norm(tried[0])
    found = scores(folder / CONDITIONS[2] / "scores")
    assert found["2", "1-t0"] == pytest.approx(float(cosine), abs=1e-6)


def test_teams_that_share_speech_are_not_scored(tree: Path) -> None:
    for team in ("t1", "t2"):
        shutil.copytree(tree / "exp/asv_anon_b2", tree / "exp" / team / "asv_anon_b2")
    shutil.rmtree(tree / "exp/asv_anon_b2")
    shutil.rmtree(tree / "exp/asv_orig")
    run = ok(stage(tree, "asv-scores", "--attackers", "challenge"))
    assert "t1/b2, t2/b2" in run.err and "--system" in run.err
    stage5(tree, "--system", "t1/b2")
    assert {path.parts[-4] for path in tree.glob("exp/**/scores")} == {"t1"}


NETWORK = replace(read_ecapa(CHECKPOINT.read_bytes(), "checkpoint"), of_2024=True)


@settings(max_examples=5)
@given(before=st.integers(0, 3000), after=st.integers(0, 3000), scale=st.sampled_from([0.3, 1, 2]))
def test_zeros_at_the_ends_and_loudness_do_not_matter(
    before: int, after: int, scale: float
) -> None:
    samples = speak(draw_voice("m", np.random.default_rng(1)), 0.8, np.random.default_rng(2))
    samples = np.trim_zeros(samples).astype(np.float32)
    plain = NETWORK.encode(Audio(samples, RATE))
    changed = NETWORK.encode(Audio(np.pad(samples * np.float32(scale), (before, after)), RATE))
    assert changed == pytest.approx(plain, abs=1e-4 * float(np.abs(plain).max()))


def test_silence_is_no_speech() -> None:
    for samples in (np.zeros(RATE, np.int16), np.zeros(0, np.int16)):
        with pytest.raises(PrivacyEvalError, match="no speech"):
            NETWORK.encode(Audio(samples, RATE))


def test_numbers_from_a_checkpoint_are_verified(finished: Path) -> None:
    for verb in ("privacy-metrics", "similarity", "identification", "costs", "collect"):
        stage(finished, verb)
    plain = json.loads(ok(cli("verify", finished / "exp/privacy_eval", "--format", "json")).out)
    kinds = ("verification", "similarity", "identification")
    assert {*kinds} <= plain["kinds"].keys() and plain["files"] == {}
    assert all(plain["kinds"][kind].keys() == {"reproduced"} for kind in kinds)
