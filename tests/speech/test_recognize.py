"""Transcripts by a user's recognizer, of a tree and of single data folders."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from model_support import AUDIO
from support import ROOT, Run, cli, ok, refused, times

from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import line_of

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")
pytest.importorskip("kaldialign", reason="the extra wer is not installed")

#: Writes the reference of the set, without its last word where the speech is anonymized.
RECOGNIZE = """import sys
from pathlib import Path
data, out = map(Path, sys.argv[1:3])
original = data.parent / data.name.removesuffix("_B1")
ids = [line.split()[0] for line in (data / "wav.scp").read_text().splitlines()]
lines = dict(line.split(" ", 1) for line in (original / "text").read_text().splitlines())
end = -1 if original != data else None
(out / "text").write_text("".join(f"{u} {' '.join(lines[u].split()[:end])}\\n" for u in ids))
"""
SETS = ("libri_dev_asr", "libri_test_asr")


@pytest.fixture(name="tree")
def _tree(trees: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trees, tmp_path / "tree"))


@pytest.fixture(scope="module", name="trees")
def _trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of an edition with speech of its recognition sets, but no transcripts."""
    root = tmp_path_factory.mktemp("recognize") / "tree"
    sizes = ("--speakers", 3, "--utterances", 3, "--systems", 1)
    assert cli("demo-tree", root, "--conf", "vpc2024", *sizes).code == 0
    shutil.rmtree(root / "exp/asr")
    (root / "small.yaml").write_text(yaml.safe_dump({"extends": "vpc2024"}))
    (root / "recognize.py").write_text(RECOGNIZE)
    for name in SETS:
        for suffix in ("", "_B1"):
            speak(root, f"{name}{suffix}", root / "data" / name / "text")
    return root


def speak(root: Path, name: str, text: Path) -> None:
    folder = root / "data" / name
    folder.mkdir(exist_ok=True)
    ids = [line.split()[0] for line in text.read_text().splitlines()]
    soundfile.write(folder / "u.wav", np.ones(160, np.int16), 16000)
    (folder / "wav.scp").write_text("".join(f"{u} data/{name}/u.wav\n" for u in ids))


def run(tree: Path, verb: str, *more: object) -> Run:
    return cli("stage", verb, "--tree", tree, "--results", "exp", "--conf", "small.yaml", *more)


COMMAND = f"{sys.executable} recognize.py {{in}} {{out}}"


@pytest.mark.wing("utility")
def test_transcripts_of_a_tree_reach_its_word_error_rates(tree: Path) -> None:
    """The last word of every utterance of anonymized speech is deleted."""
    done = run(tree, "recognize", "--recognizer", COMMAND)
    assert done.code == 0 and "(4 new)" in done.out, done.err
    assert " 4 of " in done.out and "data/IEMOCAP_dev/wav.scp" in done.err
    texts = [tree / "exp/asr" / f"{name}{s}" / "text" for name in SETS for s in ("", "_B1")]
    before = times(texts)
    done = run(tree, "recognize", "--recognizer", COMMAND)
    assert "4 up to date, 4 of 8 missing" in done.out and times(texts) == before
    with (tree / "recognize.py").open("a") as file:
        file.write("# second version\n")
    assert "(4 new)" in run(tree, "recognize", "--recognizer", COMMAND).out
    assert run(tree, "privacy-metrics").code == 0
    ok(run(tree, "collect", "--allow-missing"))
    records = read_results(tree / "exp/privacy_eval/results.json").recognition
    lines = (tree / "data/libri_dev_asr/text").read_text().splitlines()
    words = sum(len(line.split()) - 1 for line in lines)
    rates = {r.condition.name: r.find("wer")["value"] for r in records}
    assert rates["ASR-libri_dev_asr"] == 0
    assert rates["ASR-libri_dev_asr_B1"] == pytest.approx(len(lines) / words)
    texts[1].write_text(texts[0].read_text())  # of another program
    done = run(tree, "recognize", "--recognizer", COMMAND)
    assert "1 external" in done.out and texts[1].read_text() == texts[0].read_text()


def test_what_a_command_must_write(tree: Path) -> None:
    done = run(tree, "recognize")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = run(tree, "recognize", "--recognizer", "recognize.sh {in}")
    assert done.code == 2 and "{in} and {out}" in done.err
    for command, message in (
        ("true {in} {out}", "wrote no {out}/text"),
        ("echo why >&2; false {in} {out}", "status 1"),
        ("echo x A > {out}/text; true {in}", "not in"),
        ("head -n 1 {in}/wav.scp > {out}/text", "no transcript of"),
        ("cp -r {in} {out}/text", "text"),
        ("ln -s /etc/passwd {out}/text; true {in}", "text"),
    ):
        done = run(tree, "recognize", "--recognizer", command)
        assert done.code == 1 and message in done.err, command
        assert not list((tree / "exp").rglob("asr/*/text"))


def test_protocols_without_a_place_for_transcripts(tree: Path) -> None:
    (tree / "small.yaml").write_text(
        yaml.safe_dump({"extends": "vpc2024", "recognition": {**_recognition(), "folders": []}})
    )
    refused(run(tree, "recognize", "--recognizer", COMMAND), "privacy-eval recognize --data")


def _recognition() -> dict[str, object]:
    plain = yaml.safe_load((ROOT / "conf/vpc2024.yaml").read_text())["recognition"]
    assert isinstance(plain, dict)
    return plain


@pytest.mark.wing("utility")
def test_one_data_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    data = ("--data", "data/libri_dev_asr_B1", "--out", "asr")
    done = cli("recognize", *data, "--recognizer", COMMAND)
    assert done.code == 0 and "asr/text: recognized" in done.out, done.err
    assert "asr/text: current" in cli("recognize", *data, "--recognizer", COMMAND).out
    done = cli("wer", "--hypothesis", "asr/text", "--reference", "data/libri_dev_asr/text")
    assert done.code == 0 and "%WER" in done.out
    assert cli("recognize", *data).code == 2
    (tree / "data/libri_dev_asr_B1/wav.scp").unlink()
    refused(cli("recognize", *data, "--recognizer", COMMAND), "no speech")


@pytest.mark.wing("utility")
def test_a_tree_of_2020_whose_protocol_names_the_recognizer(tmp_path: Path) -> None:
    """As docs/recognizers.md has it; the challenge's own protocol has no place for transcripts."""
    root = tmp_path / "tree"
    sizes = ("--speakers", 3, "--utterances", 3, "--systems", 1)
    assert cli("demo-tree", root, "--conf", "vpc2020", *sizes).code == 0
    text = (ROOT / "docs/recognizers.md").read_text()
    (block,) = re.findall(r"^```yaml\n(extends: vpc2020\n.*?)^```", text, flags=re.M | re.S)
    (root / "small.yaml").write_text(block)
    (root / "recognize.py").write_text(RECOGNIZE)
    trials = root / "data/libri_dev_trials_f"
    original = root / "data/libri_dev_asr"
    original.mkdir()
    for name in ("text", "utt2spk"):
        shutil.copy(trials / name, original / name)
    for suffix in ("", "_B1"):
        speak(root, f"libri_dev_asr{suffix}", trials / "text")
    done = run(root, "recognize", "--recognizer", COMMAND)
    assert done.code == 0 and "(2 new)" in done.out, done.err
    assert run(root, "asv-scores", "--attackers", "challenge").code == 0
    assert run(root, "privacy-metrics", "--bootstrap", 20).code == 0
    ok(run(root, "collect", "--allow-missing"))
    read = read_results(root / "exp/privacy_eval/results.json").recognition
    records = [r for r in read if r.condition.name.startswith("ASR-libri_dev_asr")]
    assert read != records  # sets that only Kaldi recognized
    rates = {r.condition.trial: (line_of(r).errors, r.facts["asr_model"]) for r in records}
    n_utterances = len((trials / "text").read_text().splitlines())
    assert rates == {"original": (0, "original"), "anonymized": (n_utterances, "original")}
    assert all("low" in r.find("wer") for r in records)
    of_2020 = ("--tree", root, "--results", "exp", "--conf", "vpc2020")
    refused(cli("stage", "recognize", *of_2020, "--recognizer", COMMAND), "docs/recognizers.md")


def examples() -> dict[str, str]:
    """The worked examples by title."""
    text = (ROOT / "docs/recognizers.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    found = {}
    for section in sections:
        block = re.search(r"^```(?:python|text)\n(.*?)^```", section, flags=re.M | re.S)
        found[section.split("\n", 1)[0]] = block[1]
    return found


def test_examples_are_programs_of_twenty_lines() -> None:
    for name, program in examples().items():
        assert len(program.splitlines()) <= 22, name
        if "import" in program:
            compile(program, name, "exec")
    assert list(examples()) == ["pocketsphinx", "sherpa-onnx", "whisper.cpp"]


def test_whisper_example_writes_a_line_per_utterance(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for the program, which prints as it does."""
    monkeypatch.chdir(tree)
    (tree / "recognize.sh").write_text(examples()["whisper.cpp"])
    program = tree / "bin/whisper-cli"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ncat\nprintf '\\n Hello,\\n world.\\n\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    data = ("--data", "data/libri_dev_asr", "--out", "asr")
    ok(cli("recognize", *data, "--recognizer", "bash recognize.sh {in} {out}"))
    lines = (tree / "asr/text").read_text().splitlines()
    assert len(lines) == len((tree / "data/libri_dev_asr/wav.scp").read_text().splitlines())
    assert all(line.endswith(" Hello, world.") for line in lines)


@pytest.mark.models
@pytest.mark.skipif(
    importlib.util.find_spec("pocketsphinx") is None,
    reason="pocketsphinx, whose wheel has its model, is not installed",
)
def test_pocketsphinx_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tone, silence, and real speech, of which it hears most words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recognize.py").write_text(examples()["pocketsphinx"])
    data = tmp_path / "data"
    data.mkdir()
    tone = (9000 * np.sin(np.arange(16000) / 9)).astype(np.int16)
    soundfile.write(data / "u1.wav", tone, 16000)
    soundfile.write(data / "u2.wav", np.zeros(8000, np.int16), 16000)
    shutil.copy(AUDIO / "3005-163389-0002.flac", data / "u3.flac")
    (data / "wav.scp").write_text("u1 data/u1.wav\nu2 data/u2.wav\nu3 data/u3.flac\n")
    command = f"{sys.executable} recognize.py {{in}} {{out}}"
    ok(cli("recognize", "--data", "data", "--recognizer", command, "--out", "asr"))
    lines = (tmp_path / "asr/text").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["u1", "u2", "u3"]
    said = "THE STILLNESS WAS AWFUL CREEPY AND UNCOMFORTABLE"
    assert len({*said.split()} & {*lines[2].split()}) > 3, lines[2]
