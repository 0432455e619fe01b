"""Attackers who learn from crops, the spectrum and pseudo-voices, over a tree of speech."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from model_support import SYNTHETIC
from support import Run, changed, cli, lines_to, ok, refused

from privacy_eval.io.vectors import read_vectors
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.report.first_screen import front
from privacy_eval.report.notes import voice_sentence
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import Results
from privacy_eval.results.signature import comparability_notes, pseudo_voice
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech

pytest.importorskip("soundfile", reason="audio needs the extra speech")
pytest.importorskip("onnxruntime", reason="the encoder needs onnxruntime")

ONNX = SYNTHETIC / "sherpa_wespeaker.onnx"
OF_CROPS = {"lda", "lda-joint", "plda-crops", "spectrum-lda-joint"}


def run(tree: Path, verb: str, *more: object) -> Run:
    where = ("--tree", tree, "--results", "exp", "--conf", "protocol.yaml")
    return cli("stage", verb, *where, "--allow-outside", *more)


def read(tree: Path) -> ReportData:
    return read_report_data(ReportSources((tree / "exp/privacy_eval/results.json",)))


def all_stages(tree: Path, *more: object) -> Results:
    """Extract, score, evaluate and collect."""
    for verb, *options in (
        ("xvectors", *more),
        ("train-backend",),
        ("asv-scores", *more),
        ("privacy-metrics",),
        ("similarity",),
        ("collect",),
    ):
        done = run(tree, verb, *options)
        assert done.code == 0, (verb, done.err)
    return read_results(tree / "exp/privacy_eval/results.json")


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with training speech, anonymized with a coefficient of its own for every speaker."""
    folder = tmp_path_factory.mktemp("speech")
    source = folder / "simulated"
    write_demo_speech(source, DemoSpeech(speakers=6, training=12, utterances=6, seconds=2.1))
    lines_to(folder / "utt2spk", (source / "training_utt2spk").read_text().splitlines())
    words = ["data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk"]
    words += ["--training", source / "training", "--training-utt2spk", source / "training_utt2spk"]
    ok(cli(*words, "--encoders", ONNX, "--out", folder / "tree"))
    b2 = ("--anonymizer", "mcadams", "--variant", "2022", "--attackers", "all")
    assert run(folder / "tree", "anonymize", *b2).code == 0
    return folder / "tree"


@pytest.fixture(name="tree")
def _tree(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "tree"))


def test_every_attacker_of_crops(tree: Path) -> None:
    assert load_protocol("protocol.yaml", base=tree).crop == 1.0
    results = all_stages(tree, "--attackers", "all")
    found: dict[str, set[tuple[str, str, str | None]]] = {}
    for r in results.verification:
        c = r.condition
        found.setdefault(c.attacker, set()).add((c.enrollment, c.trial, c.attack_model))
    informed = ("anonymized", "anonymized", "semi-informed")
    ignorant = ("original", "anonymized", "ignorant")
    assert found["lda"] == found["plda-crops"] == {informed}
    assert found["lda-joint"] == found["spectrum-lda-joint"] == {informed, ignorant}
    assert found["spectrum"] == found["cosine"]
    assert ("anonymized", "anonymized", "lazy-informed") in found["spectrum"]
    learnt = {r.condition.attacker for r in results.verification if "learnt from" in str(r.remarks)}
    assert learnt == OF_CROPS
    crops = tree / "data/speech_train_anon_crops"
    ids = [line.split()[0] for line in (crops / "segments").read_text().splitlines()]
    vectors = read_vectors(
        tree / "exp/models/spectrum/xvect_speech_train_anon_crops/xvector.scp", tree=tree
    )
    assert {*vectors.ids} <= {*ids} and "-c1" in " ".join(ids)
    # The fusion beside the lazy-informed attacker has no scores of who trains.
    note = next(
        json.loads(path.read_text())
        for path in tree.glob("exp/results*/*enrolls_anon-*/fused/.privacy_eval.json")
    )
    assert not OF_CROPS & {role.removesuffix("_scores") for role in note["inputs"]}
    screen = front(read(tree))
    said = " ".join((*screen.attackers, *(s for _, of in screen.answers for s in of)))
    assert said.startswith("Who trains on anonymized speech: ")
    assert "12 other speakers" in said and "with another seed" in said
    assert "semi-informed" in said
    assert "Not evaluated" not in " ".join(str(w) for w in screen.warnings)
    again = run(tree, "asv-scores", "--attackers", "all")
    assert "new" not in again.out


def test_by_default_they_run_where_the_speech_is(tree: Path) -> None:
    assert run(tree, "xvectors").code == 0
    assert run(tree, "train-backend").code == 0
    ok(run(tree, "asv-scores"))
    scored = {path.parent.name for path in tree.glob("exp/results*/*/*/scores")}
    assert scored == {"spectrum", *OF_CROPS}
    shutil.rmtree(tree / "data/speech_train_anon")
    shutil.rmtree(tree / "exp")
    (tree / "exp").mkdir()
    done = run(tree, "xvectors")
    assert done.code == 0 and not list(tree.glob("exp/models/*/*_crops")), done.err


def test_pseudo_voices_of_a_tree(tree: Path) -> None:
    results = all_stages(tree, "--attackers", "challenge")
    records = results.similarity
    assert {r.facts["drawn"] for r in records} == {"speaker"}
    assert all(pseudo_voice(r.facts) == "speaker" for r in records)
    assert all(0 < r.facts["voices"]["within"][0] < 1 for r in records)
    data = read(tree)
    assert "share a pseudo-voice (by the coefficients)" in voice_sentence(data, results.systems[0])
    assert not [note for note in comparability_notes(results) if "pseudo-voices" in note]
    others = [changed(r, system="other").with_facts(drawn="utterance") for r in records]
    scored = [
        replace(r, condition=replace(r.condition, system="other")) for r in results.verification
    ]
    both = replace(
        results, similarity=(*records, *others), verification=(*results.verification, *scored)
    )
    (note,) = (note for note in comparability_notes(both) if "pseudo-voices" in note)
    assert note.startswith("Not comparable") and " other: " in note
    for side in ("enrolls", "trials_all"):
        path = tree / f"data/speech_{side}_anon/utt2mcadams"
        lines = path.read_text().splitlines()
        lines_to(path, (f"{u.split()[0]} 0.{n + 500}" for n, u in enumerate(lines)))
    results = all_stages(tree, "--attackers", "challenge")
    assert {pseudo_voice(r.facts) for r in results.similarity} == {"utterance"}
    data = read(tree)
    assert "asks for one pseudo-voice a speaker" in voice_sentence(data, results.systems[0])


def test_training_speech_that_is_too_short_or_of_one_crop(tree: Path) -> None:
    protocol = tree / "protocol.yaml"
    text = protocol.read_text()
    crop = next(line for line in text.splitlines() if line.startswith("crop: "))
    protocol.write_text(text.replace(crop, "crop: 5"))
    done = run(tree, "xvectors")
    assert done.code == 0 and "no utterance has 5 s" in done.err
    (tree / "data/speech_train/utt2spk").write_text(
        "".join(
            f"{line.split()[0]} s{n}\n"
            for n, line in enumerate((tree / "data/speech_train/utt2spk").read_text().splitlines())
        )
    )
    protocol.write_text(text.replace(crop, "crop: 2"))
    assert run(tree, "xvectors", "--attackers", "lda,cosine").code == 0
    refused(run(tree, "asv-scores", "--attackers", "lda,cosine"), "--crop")
    assert list(tree.glob("exp/results*/*/scores"))  # the others were scored


def test_the_spectrum_is_no_encoder_of_a_new_tree(tmp_path: Path) -> None:
    source = tmp_path / "simulated"
    write_demo_speech(source, DemoSpeech(speakers=2, training=0, utterances=2, seconds=1.0))
    words = ("data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk")
    done = cli(*words, "--encoders", f"{ONNX} spectrum", "--out", tmp_path / "tree")
    assert done.code == 2 and "without being named" in done.err
    assert not (tmp_path / "tree").exists()


def test_training_speech_that_is_not_read(tree: Path) -> None:
    """Here a command: the other attackers go on."""
    scp = tree / "data/speech_train/wav.scp"
    lines_to(scp, (f"{line.split()[0]} true |" for line in scp.read_text().splitlines()))
    done = run(tree, "xvectors", "--attackers", "spectrum,lda")
    assert "attackers who learn from it are left out" in done.err and "--allow-pipes" in done.err
    assert list(tree.glob("exp/models/spectrum/xvect_speech_enrolls/xvector.scp"))


def test_training_speakers_who_are_tried(tree: Path) -> None:
    enrolled = (tree / "data/speech_enrolls/spk2utt").read_text().split()[0]
    utt2spk = tree / "data/speech_train/utt2spk"
    first, *others = utt2spk.read_text().splitlines()
    lines_to(utt2spk, [f"{first.split()[0]} {enrolled}", *others])
    assert run(tree, "xvectors", "--attackers", "lda-joint").code == 0
    refused(run(tree, "asv-scores", "--attackers", "lda-joint"), "speakers of the trials")
