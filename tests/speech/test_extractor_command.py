"""X-vectors of a tree by a user's command: what it gets, what it may write, what is made again."""

import json
import re
import shlex
import shutil
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, Run, cli, ok, refused, times

from privacy_eval.io.vectors import read_vectors
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech

pytest.importorskip("soundfile", reason="audio needs the extra speech")

#: Power in 20 bands of each recording, saved in the format that the third argument names.
EXTRACT = """import sys, wave
from pathlib import Path
import numpy as np
data, out, form = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
vectors = {}
for line in (data / "wav.scp").read_text().splitlines():
    utterance, path = line.split(" ", 1)
    with wave.open(path) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
    power = np.abs(np.fft.rfft(samples)) ** 2
    vectors[utterance] = np.log([band.mean() + 1 for band in np.array_split(power, 20)])
ids, matrix = list(vectors), np.array(list(vectors.values()))
if form == "npz":
    np.savez(out / "xvector.npz", **vectors)
elif form == "npy":
    np.save(out / "xvector.npy", matrix.astype(np.float32))
    (out / "xvector.txt").write_text("".join(f"{u}\\n" for u in ids))
elif form == "scp":
    (out / "xvector.scp").write_text("".join(f"{u} {out}/{u}.vec\\n" for u in ids))
    for u, v in vectors.items():
        (out / f"{u}.vec").write_text("[ " + " ".join(map(repr, v.tolist())) + " ]\\n")
elif form == "fewer":
    np.savez(out / "xvector.npz", **dict(list(vectors.items())[1:]))
elif form == "more":
    np.savez(out / "xvector.npz", unknown=matrix[0], **vectors)
elif form == "two":
    np.savez(out / "xvector.npz", **vectors)
    np.savez(out / "speaker_vectors.pt.npz", **vectors)
    (out / "speaker_vectors.pt.npz").rename(out / "xvector.h5")
elif form == "pickle":
    np.savez(out / "xvector.npz", u=np.array([{}], dtype=object))
"""
SETS = ("speech_enrolls", "speech_trials_all")
PYTHON = shlex.quote(sys.executable)


class Tree:
    """A tree of simulated speech, copied as if anonymized, with a cosine back end."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, verb: str, *more: object) -> Run:
        where = ("--tree", self.root, "--results", "exp", "--conf", "cosine.yaml")
        return cli("stage", verb, *where, "--allow-outside", *more)

    def extract(self, form: str = "npz", *more: object, command: str | None = None) -> Run:
        text = command or f"{PYTHON} extract.py {{in}} {{out}} {form}"
        return self.run("xvectors", "--extractor", text, *more)

    def folder(self, name: str) -> Path:
        return self.root / f"exp/models/own/xvect_{name}"

    def vectors(self, name: str) -> dict[str, np.ndarray]:
        read = read_vectors(self.folder(name) / "xvector.scp", tree=self.root)
        return dict(zip(read.ids, read.matrix, strict=True))

    def expected(self, name: str) -> dict[str, np.ndarray]:
        """The bands again, of what wav.scp names."""
        bands = {}
        for line in (self.root / "data" / name / "wav.scp").read_text().splitlines():
            utterance, path = line.split(" ", 1)
            with wave.open(str(self.root / path)) as file:
                samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
            power = np.abs(np.fft.rfft(samples)) ** 2
            bands[utterance] = np.log([b.mean() + 1 for b in np.array_split(power, 20)])
        return bands


@pytest.fixture(scope="module", name="speech")
def _speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("speech")
    source = folder / "simulated"
    write_demo_speech(source, DemoSpeech(speakers=3, training=2, utterances=4, seconds=1.0))
    words = ["data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk"]
    words += ["--anonymized", source / "speech", "--out", folder / "tree"]
    assert cli(*words).code == 0
    protocol = f"""\
extends: {folder}/tree/protocol.yaml
asv_models:
  - {{trained_on: original, folder: exp/models/own, backend: cosine}}
attackers:
  - {{id: cosine, title: cosine of bands, scoring: cosine}}
"""
    (folder / "tree/cosine.yaml").write_text(protocol)
    (folder / "tree/extract.py").write_text(EXTRACT)
    (folder / "tree/exp").mkdir(exist_ok=True)
    return folder / "tree"


@pytest.fixture(name="tree")
def _tree(speech: Path, tmp_path: Path) -> Tree:
    return Tree(Path(shutil.copytree(speech, tmp_path / "a tree")))


@pytest.mark.parametrize("form", ["npz", "npy", "scp"])
def test_a_command_makes_the_vectors_of_every_set(tree: Tree, form: str) -> None:
    run = tree.extract(form)
    assert (run.code, "(4 new)" in run.out) == (0, True), run.err
    for name in SETS:
        vectors, expected = tree.vectors(name), tree.expected(name)
        assert list(vectors) == list(expected)
        for utterance, vector in vectors.items():
            assert vector == pytest.approx(expected[utterance], rel=1e-6)
        assert not (tree.folder(name) / "extracted").exists()
    assert "(3 new)" in tree.run("asv-scores").out
    before = times(tree.folder(SETS[0]).iterdir())
    assert "4 up to date\n" in tree.extract(form).out
    assert times(tree.folder(SETS[0]).iterdir()) == before


def test_a_changed_command_or_speech_is_extracted_again(tree: Tree) -> None:
    tree.extract()
    assert "(4 new)" in tree.extract("npy").out
    line = (tree.root / f"data/{SETS[1]}/wav.scp").read_text().splitlines()[0]
    path = tree.root / line.split(" ", 1)[1]
    own = tree.root / "own.wav"
    shutil.copy(path, own)
    scp = tree.root / f"data/{SETS[1]}/wav.scp"
    scp.write_text(scp.read_text().replace(line, f"{line.split()[0]} own.wav"))
    assert "4 up to date (1 new)" in tree.extract("npy").out
    with wave.open(str(own), "rb") as file:
        parameters, frames = file.getparams(), file.readframes(file.getnframes())
    with wave.open(str(own), "wb") as file:
        file.setparams(parameters)
        file.writeframes(frames[::-1])
    # Without the command nothing is run: what is current is kept, and the rest is an error.
    run = tree.run("xvectors")
    assert (
        run.code == 1 and "3 up to date, 1 of 4" in run.out and "name an extractor again" in run.err
    )
    assert "4 up to date (1 new)" in tree.extract("npy").out
    assert tree.run("xvectors").code == 0


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("nothing", "the extractor wrote none of xvector.scp, "),
        ("fewer", "no x-vector of 1 utterances"),
        ("more", "1 x-vectors of utterances that are not in "),
        ("two", "expected one: xvector.npz, xvector.h5"),
        ("pickle", "Python objects, which are never read"),
    ],
)
def test_other_output_is_refused(tree: Tree, form: str, message: str) -> None:
    run = tree.extract(form)
    assert run.code == 1 and message in run.err and " 4 of " in run.out
    assert not list(tree.root.glob("exp/models/own/xvect_*/xvector.scp"))
    if form == "fewer":
        run = tree.extract(form, "--allow-missing")
        assert run.code == 0 and len(tree.vectors(SETS[0])) == len(tree.expected(SETS[0])) - 1


def test_a_failure_has_one_message_with_its_cause(tree: Tree) -> None:
    run = tree.extract(command="echo no GPU in {in} >&2; exit 3 # {out}")
    assert run.code == 1 and run.err.count("status 3") == 1
    assert "no GPU in {in}" in run.err and "(4)" in run.err
    refused(tree.extract(command="extract.py {in}"), "{in} and {out}", code=2)


def test_programs_beside_the_caller_and_the_model_folder(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    shutil.move(tree.root / "extract.py", tmp_path / "here/mine.py")
    monkeypatch.chdir(tmp_path / "here")
    command = f"echo {{model}} >&2; {PYTHON} mine.py {{in}} {{out}} npz"
    run = tree.extract(command=command)
    assert run.code == 0 and "exp/models/own" in run.err
    monkeypatch.chdir(tmp_path)  # the program is found again without the command, too
    assert "4 up to date\n" in tree.run("xvectors").out
    (tmp_path / "link").symlink_to(tmp_path / "here/deep/er", target_is_directory=True)
    (tmp_path / "here/deep/er").mkdir(parents=True)
    linked = Tree(Path(shutil.copytree(tree.root, tmp_path / "link/tree")))
    monkeypatch.chdir(tmp_path / "here")
    assert "(4 new)" in linked.extract(command=f"true; {command}").out
    assert "4 up to date\n" in linked.run("xvectors").out
    Path("mine.py").write_text(f"{EXTRACT}# second version\n")
    Path("mine.log").write_text("which a command may write")
    refused(tree.run("xvectors"), "a file of the command, has changed")
    assert "(4 new)" in tree.extract(command=command).out
    logged = command + " # mine.log"
    assert "(4 new)" in tree.extract(command=logged).out
    Path("mine.log").write_text("another text")
    assert "4 up to date\n" in tree.extract(command=logged).out


def test_external_vectors_are_kept(tree: Tree) -> None:
    folder = tree.folder(SETS[0])
    folder.mkdir(parents=True)
    np.savez(folder / "xvector.npz", **tree.expected(SETS[0]))
    run = tree.extract()
    assert "(3 new)" in run.out and "1 external" in run.out
    assert [path.name for path in folder.iterdir()] == ["xvector.npz"]
    assert "(3 new)" in tree.run("asv-scores").out


def test_a_command_makes_the_vectors_of_an_attacker_beside_the_own(tree: Tree) -> None:
    tree.extract()
    own = {name: tree.vectors(name) for name in SETS}
    before = times(tree.folder(SETS[0]).iterdir())
    more = "{id: mine, title: mine, scoring: cosine, encoder: exp/models/mine}"
    with (tree.root / "cosine.yaml").open("a") as protocol:
        protocol.write(f"more_attackers: [{more}]\n")
    run = tree.extract(command=f"{PYTHON} extract.py {{in}} {{out}} npy; touch {{model}}/run")
    assert (run.code, "8 up to date (4 new)" in run.out) == (0, True), run.err
    assert times(tree.folder(SETS[0]).iterdir()) == before
    assert (tree.root / "exp/models/mine/run").is_file()
    assert not (tree.root / "exp/models/own/run").exists()
    assert "(6 new)" in tree.run("asv-scores").out
    scores = [p for p in tree.root.glob("exp/results*/ASV-*/mine/scores")]
    assert len(scores) == 3
    for path in scores:  # of the same vectors
        assert path.read_text() == (path.parents[1] / "scores").read_text()
    assert all((tree.vectors(n)[u] == v).all() for n, of in own.items() for u, v in of.items())
    out = tree.root / "exp/privacy_eval"
    for verb in ("privacy-metrics", "collect"):
        assert tree.run(verb).code == 0
    ok(cli("report", "--results", out / "results.json", "--out", out / "report.html"))
    report = (out / "report.html").read_text()
    assert "exp/models/mine were extracted by the command" in report
    assert "{in} {out} npy; touch {model}/run" in report


def test_a_command_needs_an_attacker_where_scores_are_the_challenges(tmp_path: Path) -> None:
    (tmp_path / "exp/asv_orig").mkdir(parents=True)
    run = cli(
        *("stage", "xvectors", "--tree", tmp_path, "--results", "exp", "--conf", "vpc2024"),
        *("--anon-suffix", "_a", "--extractor", "true {in} {out}"),
    )
    assert run.code == 2 and "encoder: exp/models/NAME" in run.err


def test_what_a_killed_command_left_is_removed(tree: Tree) -> None:
    left = tree.folder(SETS[0]) / "extracted"
    left.mkdir(parents=True)
    (left / "xvector.npy").write_bytes(b"half")
    assert "(4 new)" in tree.extract().out and not left.exists()


def test_nothing_is_removed_through_links(tree: Tree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "extracted/mine").mkdir(parents=True)
    tree.folder(SETS[0]).parent.mkdir(parents=True)
    tree.folder(SETS[0]).symlink_to(outside)
    for scp in tree.root.glob("data/*/wav.scp"):  # speech within the tree
        lines = [line.split(" ", 1) for line in scp.read_text().splitlines()]
        for utterance, path in lines:
            shutil.copy(tree.root / path, tree.root / f"{utterance}.wav")
        scp.write_text("".join(f"{utterance} {utterance}.wav\n" for utterance, _ in lines))
    where = ("--tree", tree.root, "--results", "exp", "--conf", "cosine.yaml")
    run = cli("stage", "xvectors", *where, "--extractor", f"{PYTHON} extract.py {{in}} {{out}} npz")
    assert run.code == 1 and "(3 new)" in run.out and " 1 of " in run.out, run.err
    assert "--allow-outside" in run.err
    assert [path.name for path in outside.rglob("*")] == ["extracted", "mine"]


def test_jobs_share_the_sets(tree: Tree) -> None:
    for number in (1, 2):
        assert tree.extract("npz", "--job", f"{number}/2").code == 0
    assert "4 up to date\n" in tree.extract().out


def test_fingerprint_names_command_and_speech(tree: Tree) -> None:
    tree.extract()
    note = json.loads((tree.folder(SETS[0]) / ".xvectors.json").read_text())
    assert note["options"]["command"] == f"{PYTHON} extract.py {{in}} {{out}} npz"
    assert {"utt2spk", *tree.expected(SETS[0])} <= set(note["inputs"])


#: In place of the packages of the page's examples, which need networks: a tensor is an array, and
#: the vector of an utterance is made of its samples.
STANDINS = {
    "torch/__init__.py": """import contextlib
import numpy as np
class Tensor(np.ndarray):
    def cpu(self):
        return self
    def numpy(self):
        return np.asarray(self)
class cuda:
    is_available = staticmethod(lambda: False)
no_grad = contextlib.nullcontext
def from_numpy(array):
    assert isinstance(array, np.ndarray) and array.dtype == np.float32
    return array.view(Tensor)
def embed(samples):
    assert samples.shape[0] == 1
    parts = np.array_split(np.abs(np.fft.rfft(np.asarray(samples[0]))) ** 2, 8)
    return np.float32([np.log(part.mean()) for part in parts]).view(Tensor)
""",
    "speechbrain/__init__.py": "",
    "speechbrain/inference/__init__.py": "",
    "speechbrain/inference/speaker.py": """import torch
class EncoderClassifier:
    @classmethod
    def from_hparams(cls, source, savedir=None, run_opts=None):
        assert source == "speechbrain/spkrec-ecapa-voxceleb" and run_opts == {"device": "cpu"}
        return cls()
    def encode_batch(self, wavs):
        assert abs(wavs).max() <= 1
        return torch.embed(wavs)[None, None]
""",
    "wespeaker/__init__.py": """import torch
class Speaker:
    def set_device(self, device):
        assert device == "cpu"
    def extract_embedding_from_pcm(self, pcm, sample_rate):
        assert abs(pcm).max() > 1
        return torch.embed(pcm)
def load_model(language):
    assert language == "english"
    return Speaker()
""",
}


@pytest.mark.parametrize("name", ["extract_ecapa", "extract_wespeaker"])
def test_examples_of_the_page_run_with_standins(tree: Tree, name: str) -> None:
    page = (ROOT / "docs/extractors.md").read_text(encoding="utf-8")
    (script,) = re.findall(rf"^```python\n(# {name}\.py: .*?)^```", page, re.M | re.S)
    (tree.root / f"{name}.py").write_text(script)
    for path, text in STANDINS.items():
        file = tree.root / "standins" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    python = f'PYTHONPATH="$PWD/standins:{ROOT}" {PYTHON}'
    run = tree.extract(command=f"{python} {name}.py {{in}} {{out}}")
    assert (run.code, "(4 new)" in run.out) == (0, True), run.err
    assert len(next(iter(tree.vectors(SETS[0]).values()))) == 8
    assert "(3 new)" in tree.run("asv-scores").out
