"""Stages 4 and 5 over a tree of speech: anonymized data folders, x-vectors, back ends, scores."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from model_support import DATA, pin_tiny_ge2e
from support import ROOT, Run, cli, lines_to, ok, refused, snapshot, times

from privacy_eval.io.files import Inputs, digest
from privacy_eval.io.vectors import read_vectors
from privacy_eval.results.json_store import read_results
from privacy_eval.speech.audio import AudioReader
from privacy_eval.speech.encoders import EncoderChoice
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech
from privacy_eval.speech.trees.xvectors import network_source

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")

COPY = """import shutil, sys
from pathlib import Path
data, out = map(Path, sys.argv[1:3])
(out / "wav").mkdir(exist_ok=True)
lines = []
for line in (data / "wav.scp").read_text().splitlines():
    utterance, path = line.split(" ", 1)
    shutil.copy(path, out / "wav" / f"{utterance}.wav")
    lines.append(f"{utterance} {out}/wav/{utterance}.wav\\n")
(out / "wav.scp").write_text("".join(lines[: int(sys.argv[3])]))
"""


class Tree:
    """A tree of simulated speech, without anonymized speech."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, verb: str, *more: object) -> Run:
        where = ("--tree", self.root, "--results", "exp", "--conf", "protocol.yaml")
        return cli("stage", verb, *where, "--allow-outside", *more)

    def command(self, keep: int = 1000) -> str:
        (self.root / "copy.py").write_text(COPY)
        return f"python3 copy.py {{in}} {{out}} {keep}"

    def data(self, name: str) -> Path:
        return self.root / "data" / name


@pytest.fixture(scope="module", name="speech")
def _speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree, its speech beside it."""
    folder = tmp_path_factory.mktemp("speech")
    source = folder / "simulated"
    write_demo_speech(source, DemoSpeech(speakers=4, training=16, utterances=4, seconds=1.0))
    words = ["data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk"]
    words += ["--training", source / "training", "--training-utt2spk", source / "training_utt2spk"]
    words += ["--model", source / "extractor", "--out", folder / "tree"]
    assert cli(*words).code == 0
    return folder / "tree"


@pytest.fixture(name="tree")
def _tree(speech: Path, tmp_path: Path) -> Tree:
    return Tree(Path(shutil.copytree(speech, tmp_path / "tree")))


SETS = ("speech_enrolls", "speech_trials_all", "speech_train")


def test_all_sets_are_anonymized_and_found_current(tree: Tree) -> None:
    run = tree.run("anonymize", "--anonymizer", "mcadams", "--variant", "2022")
    assert (run.code, "(24 new)" in run.out) == (0, True)
    for name in SETS:
        new = tree.data(f"{name}_anon")
        assert (new / "utt2spk").read_bytes() == (tree.data(name) / "utt2spk").read_bytes()
        reader = AudioReader(new, base=tree.root)
        original = AudioReader(tree.data(name), allow_outside=True)
        assert reader.ids == original.ids
        assert all(audio.samples.size == original.read(name).samples.size for name, audio in reader)
    before = times(tree.data("speech_train_anon").rglob("*.wav"))
    run = tree.run("anonymize", "--anonymizer", "mcadams", "--variant", "2022")
    assert "24 up to date\n" in run.out
    assert times(tree.data("speech_train_anon").rglob("*.wav")) == before


def test_coefficients_are_of_speakers_and_in_training_of_utterances(tree: Tree) -> None:
    def coefficients(name: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for line in (tree.data(f"{name}_anon") / "utt2mcadams").read_text().splitlines():
            utterance, value = line.split()
            found.setdefault(utterance[:4], set()).add(value)
        return found

    tree.run("anonymize", "--anonymizer", "mcadams", "--variant", "2022")
    assert coefficients("speech_enrolls") == coefficients("speech_trials_all")
    assert {len(values) for values in coefficients("speech_enrolls").values()} == {1}
    assert {len(values) for values in coefficients("speech_train").values()} == {4}
    tree.run("anonymize", "--anonymizer", "mcadams", "--variant", "2022", "--per-set")
    assert coefficients("speech_enrolls") != coefficients("speech_trials_all")


@pytest.mark.wing("attackers")
def test_jobs_and_a_single_run_make_the_same_bytes(tree: Tree, tmp_path: Path) -> None:
    other = Tree(Path(shutil.copytree(tree.root, tmp_path / "other")))
    b2 = ("anonymize", "--anonymizer", "mcadams")
    for number in (1, 2):
        assert tree.run(*b2, "--job", f"{number}/2").code == 0
    assert not (tree.data("speech_train_anon") / "wav.scp").exists()
    assert "24 up to date\n" in tree.run(*b2).out
    for number in (1, 2):
        assert tree.run("xvectors", "--job", f"{number}/2").code == 0
    assert "(10 new)" in tree.run("xvectors").out
    other.run(*b2)
    assert "(10 new)" in other.run("xvectors").out
    assert snapshot(tree.root) == snapshot(other.root)


def test_a_command_writes_the_data_folders(tree: Tree) -> None:
    run = tree.run("anonymize", "--anonymizer", tree.command())
    assert (run.code, "(3 new)" in run.out) == (0, True), run.err
    for name in SETS:
        original, new = tree.data(name), tree.data(f"{name}_anon")
        same = {p.name for p in new.iterdir() if p.suffix != ".scp" and p.is_file()}
        assert {"utt2spk", "spk2utt"} <= same and not (new / ".privacy_eval.running").exists()
        assert AudioReader(new, base=tree.root).ids == AudioReader(original, allow_outside=True).ids
    assert "3 up to date\n" in tree.run("anonymize", "--anonymizer", tree.command()).out


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("exit 3 # {in} {out}", "status 3"),
        ("true {in} {out}", "no wav.scp"),
        ("", "speech_enrolls_anon/wav.scp: no utterances: 6"),
    ],
)
def test_a_command_that_fails_leaves_no_data_folder(tree: Tree, command: str, named: str) -> None:
    refused(tree.run("anonymize", "--anonymizer", command or tree.command(keep=2)), named)
    assert not (tree.data("speech_enrolls_anon") / ".privacy_eval.json").exists()
    assert "(3 new)" in tree.run("anonymize", "--anonymizer", tree.command()).out


def test_a_command_for_single_files_is_run_for_every_utterance(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where its script is, beside the tree
    (tmp_path / "copy.sh").write_text('cp "$1" "$2"\n')
    words = ("anonymize", "--anonymizer", "sh copy.sh {wav_in} {wav_out}")
    shutil.rmtree(tree.data("speech_train"))
    run = tree.run(*words)
    assert (run.code, "(8 new)" in run.out) == (0, True), run.err
    for name in SETS[:2]:
        new, original = tree.data(f"{name}_anon"), tree.data(name)
        speech = dict(AudioReader(new, base=tree.root))
        assert list(speech) == list(AudioReader(original, allow_outside=True).ids)
        for utterance, audio in AudioReader(original, allow_outside=True):
            np.testing.assert_array_equal(speech[utterance].samples, audio.samples)
        assert (new / "utt2spk").read_bytes() == (original / "utt2spk").read_bytes()
        assert not (new / "utt2mcadams").exists()
    assert "8 up to date\n" in tree.run(*words).out
    (tree.data("speech_enrolls_anon") / "wav" / "s000-000.wav").unlink()
    assert "8 up to date (1 new)" in tree.run(*words).out
    (tmp_path / "copy.sh").write_text('cp "$1" "$2"  # second version\n')
    assert "(8 new)" in tree.run(*words).out


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        ("sh -c 'echo no model in \"$0\" >&2; exit 3' {wav_in} {wav_out}", "no model in {wav_in}"),
        ("true {wav_in} {wav_out}", "wrote no {wav_out}"),
        ("cp protocol.yaml {wav_out}; : {wav_in}", "something else than a WAV file"),
        ("sh -c 'echo bad >&2; exit 3' {in} {out}", "status 3"),
    ],
)
def test_the_cause_of_all_failures_is_printed_once(tree: Tree, command: str, cause: str) -> None:
    shutil.rmtree(tree.data("speech_train"))
    run = tree.run("anonymize", "--anonymizer", command)
    assert run.code == 1 and run.err.count(cause) == 1, run.err
    if "{wav_in}" in command:
        assert "(8)" in run.err and "first: s000-000" in run.err
    assert not (tree.data("speech_enrolls_anon") / "wav.scp").exists()


def test_external_data_folders_are_kept(tree: Tree) -> None:
    lines_to(tree.data("speech_enrolls_anon") / "wav.scp", ["s000-000 mine.wav"])
    run = tree.run("anonymize", "--anonymizer", "mcadams")
    assert "1 external" in run.out
    assert len(list(tree.data("speech_enrolls_anon").iterdir())) == 1


def test_an_anonymizer_is_mcadams_or_a_command_with_both_folders(tree: Tree) -> None:
    for words in ("sox {in}", "sox {wav_in}", "sox {in} {wav_out}", "sox {wav_in} {wav_out} {in}"):
        assert tree.run("anonymize", "--anonymizer", words).code == 2


@pytest.mark.wing("attackers")
def test_x_vectors_of_all_sets_back_ends_and_scores(tree: Tree) -> None:
    tree.run("anonymize", "--anonymizer", "mcadams")
    run = tree.run("xvectors")
    assert "(10 new)" in run.out  # of the network, and the spectrum of all but the training sets
    assert "25 and 10000 frames" in run.err  # no files give the sizes
    model = tree.root / "exp/models/asv"
    alone = tree.root / "alone"
    words = ("--data", tree.data("speech_enrolls"), "--model", model, "--out", alone)
    assert cli("xvectors", *words, "--allow-outside").code == 0
    of_tree = read_vectors(model / "xvect_speech_enrolls/xvector.scp", tree=tree.root)
    of_folder = read_vectors(alone / "xvector.scp")
    assert of_tree.ids == of_folder.ids
    assert np.array_equal(of_tree.matrix, of_folder.matrix)
    assert "(2 new)" in tree.run("train-backend").out
    assert "10 up to date\n" in tree.run("xvectors").out  # also with a back end beside them
    assert "score files: 9 up to date (9 new)" in tree.run("asv-scores").out
    note = json.loads(
        next((tree.root / "exp").glob("results-*/ASV-*/.privacy_eval.json")).read_text()
    )
    assert note["inputs"]["extractor"]["path"] == "exp/models/asv/final.raw"


@pytest.mark.wing("organizers")
def test_audio_that_x_vectors_were_extracted_from_is_audited_once(tree: Tree) -> None:
    assert tree.run("anonymize", "--anonymizer", tree.command()).code == 0  # a copy
    tree.run("subsets", "--anonymized")
    for verb in ("xvectors", "train-backend", "asv-scores", "privacy-metrics", "similarity"):
        assert tree.run(verb).code == 0
    assert tree.run("measures", "--audio", "false").out == ""
    run = tree.run("measures")
    assert run.code == 0 and "audits of audio: 2 up to date (2 new)" in run.out, run.err
    assert "speech_trials_all_anon: of 8 utterances: original speech is still in (8)" in run.err
    assert "2 up to date\n" in tree.run("measures").out
    assert tree.run("collect").code == 0
    results = read_results(tree.root / "exp/privacy_eval/results.json")
    assert results.raw_systems and len(results.audio) == 2
    # Audio that changes is audited again, whatever its wav.scp says.
    original = {}
    for path in (tree.root / "data").glob("speech_*_anon/wav/*.wav"):
        original[path] = path.read_bytes()
        samples, rate = soundfile.read(path)
        soundfile.write(path, np.random.default_rng(0).uniform(-0.1, 0.1, samples.size), rate)
    run = tree.run("measures")
    assert run.code == 0 and "(2 new)" in run.out and "original speech" not in run.err, run.err
    assert tree.run("check", "--audio", "--allow-missing").code == 0
    assert "2 up to date\n" in tree.run("measures").out
    for path, content in original.items():  # of the same size, under the time of what it replaces
        old = path.stat()
        with path.open("r+b") as file:
            file.write(content)
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
        assert path.stat().st_size == old.st_size
    run = tree.run("measures")
    assert "(2 new)" in run.out and "original speech is still in (8)" in run.err, run.err
    scp = tree.data("speech_trials_all_anon") / "wav.scp"
    lines_to(scp, (f"{line.split()[0]} touch x |" for line in scp.read_text().splitlines()))
    run = tree.run("measures")
    assert run.code == 0 and "not audited" in run.err and "--allow-pipes" in run.err
    assert tree.run("measures", "--audio", "true").code == 1


def test_utterances_without_voiced_frames_are_named_and_counted(tree: Tree) -> None:
    scp = tree.data("speech_enrolls") / "wav.scp"
    silence = tree.root / "silence.wav"
    soundfile.write(silence, np.zeros(16000, np.int16), 16000)
    first, *others = scp.read_text().splitlines()
    lines_to(scp, [f"{first.split()[0]} silence.wav", *others])
    run = ok(tree.run("xvectors"))
    assert "no voiced frames: 1 (s000-000)" in run.err
    assert "no voiced frames: 1 (s000-000)" in tree.run("xvectors").err  # also later
    assert tree.run("train-backend").code == 0
    message = tree.run("asv-scores").err  # the cause with its remedy
    assert "s000-000 (utterances without voiced frames" in message
    assert "--allow-missing" in message


def test_x_vectors_need_an_extractor_and_those_of_others_are_kept(tree: Tree) -> None:
    (tree.root / "exp/models/asv/final.raw").unlink()
    given = tree.root / "exp/models/asv/xvect_speech_enrolls"
    lines_to(given / "xvector.scp", ["s000-000 x.ark:9"])
    run = ok(tree.run("xvectors"))
    assert "1 external, 2 of 5 missing" in run.out and "final.raw" in run.err
    assert [p.name for p in given.iterdir()] == ["xvector.scp"]


def test_audio_that_cannot_be_read_is_named_or_left_out_on_request(tree: Tree) -> None:
    scp = tree.data("speech_enrolls") / "wav.scp"
    (tree.root / "bad.wav").write_bytes(b"RIFF")
    first, *others = scp.read_text().splitlines()
    lines_to(scp, [f"{first.split()[0]} bad.wav", *others])
    refused(tree.run("xvectors"), "wav.scp:1", "s000-000")
    assert not (tree.root / "exp/models/asv/xvect_speech_enrolls/xvector.scp").exists()
    assert tree.run("xvectors", "--allow-missing").code == 0
    vectors = read_vectors(
        tree.root / "exp/models/asv/xvect_speech_enrolls/xvector.scp", tree=tree.root
    )
    assert len(vectors.ids) == len(others)


def test_another_output_is_another_network(tmp_path: Path) -> None:
    """An `extract.config` that scales the x-vectors is not hidden behind the network's digest."""
    network, config = tmp_path / "final.raw", tmp_path / "extract.config"
    network.write_bytes(b"network")
    plain = hashlib.sha256(b"network").hexdigest()
    assert network_source({"final.raw": network}, Inputs()).sha256 == plain
    files = {"final.raw": network, "extract.config": config}
    shutil.copy(ROOT / "tests/data/speech/networks/extract.config", config)
    assert network_source(files, Inputs()).sha256 == plain
    digests = set()
    for line in ("Scale(-2, tdnn6.affine)", "tdnn5.affine"):
        config.write_text(f"output-node name=output input={line}\n")
        digests.add(network_source(files, Inputs()).sha256)
    assert len(digests - {plain}) == 2


def test_an_encoder_in_place_of_the_network(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors, a back end and scores of an encoder, whose digest the scores record."""
    wheel = pin_tiny_ge2e(tmp_path, monkeypatch)
    encoder = ("--encoder", "ge2e-raw")
    assert tree.run("anonymize", "--anonymizer", "mcadams").code == 0
    refused(tree.run("xvectors", *encoder), "get-model ge2e")
    assert cli("get-model", "ge2e", "--model-file", wheel).code == 0
    for number in (1, 2):
        assert tree.run("xvectors", *encoder, "--job", f"{number}/2").code == 0
    ok(tree.run("xvectors", *encoder))
    sets = sorted(tree.root.glob("exp/models/asv/xvect_*/xvector.scp"))
    assert sets and all(read_vectors(s, tree=tree.root).matrix.shape[1] == 6 for s in sets)
    before = times(sets)
    assert tree.run("xvectors", *encoder).code == 0 and times(sets) == before
    assert tree.run("train-backend").code == 0
    ok(tree.run("asv-scores"))
    sha256 = EncoderChoice("ge2e-raw").identity(
        digest((DATA / "ge2e" / "tiny_good.pt").read_bytes())
    )
    notes = [path.read_text() for path in tree.root.glob("exp/results*/*/.privacy_eval.json")]
    assert notes and all(sha256 in note and "cache" not in note for note in notes)
    assert tree.run("xvectors").code == 0  # by the network again
    assert all(read_vectors(s, tree=tree.root).matrix.shape[1] != 6 for s in sets)
    assert tree.run("xvectors", *encoder, "--extractor", "kaldi").code == 2
