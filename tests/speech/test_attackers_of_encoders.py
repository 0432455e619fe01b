"""Attackers who compare the vectors of speaker encoders that the protocol names."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from model_support import SYNTHETIC, needs_onnxruntime, pin_tiny_ge2e
from support import ROOT, Run, cli, lines_to, ok, run_program

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.files import digest
from privacy_eval.protocol.protocol import ORIGINAL, AsvModel, Attacker, load_protocol
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")

NOTE = ".privacy_eval.json"
ONNX = SYNTHETIC / "sherpa_wespeaker.onnx"


def of(tree: Path, verb: str, *more: object) -> Run:
    where = ("--tree", tree, "--results", "exp", "--conf", "protocol.yaml", "--allow-outside")
    run = ok(cli("stage", verb, *where, *more))
    return run


@needs_onnxruntime
@pytest.mark.wing("attackers")
def test_two_encoders_attack_one_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel, source, tree = pin_tiny_ge2e(tmp_path, monkeypatch), tmp_path / "s", tmp_path / "tree"
    write_demo_speech(source, DemoSpeech(speakers=2, training=2, utterances=4, seconds=1.0))
    design = ["data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk"]
    design += ["--training", source / "training", "--out", tree]
    design += ["--training-utt2spk", source / "training_utt2spk"]
    design += ["--encoders", f"ge2e-raw {ONNX}", "--text", source / "speech_text"]
    missing = cli(*design)
    assert missing.code == 1 and "get-model ge2e" in missing.err and not tree.exists()
    assert cli("get-model", "ge2e", "--model-file", wheel).code == 0
    assert cli(*design).code == 0
    of(tree, "anonymize", "--anonymizer", "mcadams", "--attackers", "all")
    of(tree, "xvectors", "--attackers", "challenge")
    assert not (tree / "exp/models/sherpa_wespeaker").exists()
    of(tree, "xvectors", "--attackers", "all")
    own = {"cosine", "ridge-reverse", "procrustes"}
    others = {f"sherpa_wespeaker{more}" for more in ("", "-ridge-reverse", "-procrustes")}
    of(tree, "asv-scores", "--attackers", ",".join(["words", *own, *others]))
    scored = {
        (path.parent.name if path.parent.name[:4] != "ASV-" else "cosine")
        for path in tree.glob("exp/results*/**/ASV-speech_enrolls-speech_trials_all_anon/**/scores")
    }
    assert scored == {*own, *others, "words"}
    assert "id: fused" not in (tree / "protocol.yaml").read_text().replace('"', "")
    notes = {
        name: json.loads(
            next(tree.glob(f"exp/results*/*trials_all_anon/{name}/{NOTE}")).read_text()
        )
        for name in ("sherpa_wespeaker", "procrustes", "sherpa_wespeaker-procrustes")
    }
    sha256 = digest(ONNX.read_bytes())
    assert sha256 in json.dumps(notes["sherpa_wespeaker"])
    assert sha256 in json.dumps(notes["sherpa_wespeaker-procrustes"])
    assert sha256 not in json.dumps(notes["procrustes"])
    lazy = tree.glob("exp/results*/ASV-speech_enrolls_anon-*/sherpa_wespeaker/scores")
    assert len(list(lazy)) == 1
    of(tree, "privacy-metrics")
    of(tree, "collect")
    costs = json.loads((tree / "exp/privacy_eval/attacker_seconds.json").read_text())
    parts = tree.glob("exp/models/*/xvect_*/parts/*.seconds")
    assert costs["seconds"].keys() == scored
    assert costs["extraction"] == pytest.approx(sum(float(p.read_text()) for p in parts))
    assert costs["extraction"] > 0


def protocol_of(folder: Path, *attackers: str) -> Path:
    lines = "".join(f"  - {{{attacker}}}\n" for attacker in attackers)
    model = "{trained_on: original, folder: exp/models/ge2e, backend: cosine}"
    path = folder / "p.yaml"
    path.write_text(f"extends: vpc2020\nasv_models: [{model}]\nattackers:\n{lines}")
    return path


@needs_onnxruntime
def test_an_encoder_attacks_a_tree_of_2024(tmp_path: Path) -> None:
    """Beside the challenge's attacker, where the model trained on original speech has scores."""
    shutil.unpack_archive(ROOT / "tests/data/golden/editions/trees.tar.xz", tmp_path)
    tree = tmp_path / "tree2024"
    noise = np.random.default_rng(0).normal(0, 3000, (8, 8000)).astype(np.int16)
    for number, samples in enumerate(noise):
        soundfile.write(tree / f"noise{number}.wav", samples, 16000)
    for name in ("enrolls", "trials_f"):
        for data in tree.glob(f"data/libri_test_{name}*"):
            lines = enumerate((data / "utt2spk").read_text().splitlines())
            scp = (f"{line.split()[0]} noise{number % 8}.wav" for number, line in lines)
            lines_to(data / "wav.scp", scp)
    run = run_program(
        *(ROOT / "recipes/vpc2024/run.sh", "--tree", tree, "--stage", 5, "--stop-stage", 5),
        *("--encoder", ONNX, "--nj", 1, "--allow-missing"),
        cwd=tmp_path,
    )
    assert run.code == 0, run.err
    scored = {path.parents[1].name for path in tree.glob("exp/*/*/sherpa_wespeaker/scores")}
    pairs = (("", ""), ("", "_toy"), ("_toy", "_toy"))
    assert scored == {f"libri_test_enrolls{e}-libri_test_trials_f{t}" for e, t in pairs}
    assert not list(tree.glob("exp/asv_anon*/*/sherpa_wespeaker"))


OWN = "id: cosine, title: t, scoring: cosine"


def test_variants_are_of_the_same_encoder(tmp_path: Path) -> None:
    aligned = "title: t, scoring: aligned, alignment: procrustes"
    path = protocol_of(
        tmp_path,
        f"{OWN}, encoder: ge2e",
        f"id: procrustes, {aligned}",
        "id: d, title: t, scoring: cosine, encoder: d-vector",
        f"id: d-procrustes, {aligned}, encoder: d-vector",
        f"id: d-normal, {aligned}, encoder: d-vector, norm: snorm",
    )
    protocol = load_protocol(str(path))
    ids = [a.id for a in protocol.attackers]
    variants = {(a, b) for a in ids for b in ids if protocol.is_variant(a, b)}
    assert variants == {
        ("procrustes", "cosine"),
        ("d-procrustes", "d"),
        ("d-normal", "d"),
        ("d-normal", "d-procrustes"),
    }
    assert protocol.encoder_of("exp/models/d-vector") == ("d-vector", "")
    assert protocol.encoder_of("exp/models/other") == ("", "")
    onnx = Attacker("o", "t", scoring="cosine", encoder="/far/away/net.onnx")
    assert onnx.vectors == AsvModel(ORIGINAL, "exp/models/net", backend="cosine")


@pytest.mark.parametrize(
    ("attackers", "named"),
    [
        ((f"{OWN}, encoder: d-vector",), "exp/models/d-vector"),
        ((OWN, "id: d, title: t, scoring: cosine"), "challenge's own"),
        ((OWN, "id: w, title: t, scoring: words, encoder: ge2e"), "no encoder"),
        ((OWN, "id: l, title: t, scoring: lda, attack_model: half-informed"), "semi-informed"),
        ((OWN, "id: d, title: t, scoring: cosine, encoder: x-vector"), "d-vector"),
        ((OWN, "id: d, title: t, scoring: cosine, encoder: models/mine"), "a folder exp/models/N"),
        ((OWN, "id: d, title: t, scoring: cosine, encoder: exp/models/mine.2"), "no dots"),
        ((OWN, "id: d, title: t, scoring: cosine, encoder: exp/models/../x"), "a folder"),
        ((OWN, "id: d, title: t, scoring: cosine, encoder: ge2e, front_end: sherpa"), "in a file"),
        ((OWN, "id: d, title: t, scoring: cosine, encoder: 'a b.onnx'"), "file names"),
    ],
)
def test_wrong_entries_are_refused(tmp_path: Path, attackers: list[str], named: str) -> None:
    with pytest.raises(PrivacyEvalError, match=named):
        load_protocol(str(protocol_of(tmp_path, *attackers)))


def test_the_spectrum_is_no_challenges_own_attacker(tmp_path: Path) -> None:
    path = protocol_of(tmp_path, f"{OWN}, encoder: spectrum")
    path.write_text(path.read_text().replace("exp/models/ge2e", "exp/models/spectrum"))
    with pytest.raises(PrivacyEvalError, match="encoder spectrum is not that of the first"):
        load_protocol(str(path))
