"""Own speech without a model: the advice of data-dir leads to a report that names nobody."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from model_support import if_model
from support import cli, ok, run_program

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")

#: Distinctive names, one of which has a hyphen, one a dot and one another script.
NAMES = ("anneliese_wagenbach", "Bartholomew", "carmichael-99", "dunja.krasniqi", "Эмиль", "fx77q")
EXTRACTOR = """\
import sys
from pathlib import Path

import numpy as np
from privacy_eval.speech.audio import AudioReader

data, out = map(Path, sys.argv[1:])
vectors = {}
for utterance, audio in AudioReader(data, allow_outside=True):
    power = np.abs(np.fft.rfft(audio.samples)) ** 2
    vectors[utterance] = np.log([1 + band.mean() for band in np.array_split(power, 40)])
np.savez(out / "xvector.npz", ids=list(vectors), vectors=list(vectors.values()))
"""


def named_in(text: str) -> list[str]:
    """The speakers whose names are in a text, however JSON or HTML writes them."""
    plain = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
    return [name for name in NAMES if name.casefold() in plain.casefold()]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recordings, and what the lines that data-dir printed led to."""
    work = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    for folder, change in (("speech", 0.0), ("changed", 0.5)):
        for number, name in enumerate(NAMES):
            (work / folder / name).mkdir(parents=True)
            for take in range(4):
                noise = rng.normal(size=8000) * 0.05
                pitch = np.sin(np.arange(8000) * (0.05 + 0.02 * number + change * take / 50))
                path = work / folder / name / f"take{take}.wav"
                soundfile.write(path, (noise + 0.2 * pitch).astype(np.float32), 16000)
    (work / "bands.py").write_text(EXTRACTOR)
    (work / "speech/spk2gender").write_text(
        "".join(f"{n} {'fm'[i % 2]}\n" for i, n in enumerate(NAMES))
    )
    sources = ("--original", "speech", "--anonymized", "changed", "--out", "tree")
    run = ok(run_program("privacy-eval", "data-dir", *sources, cwd=work))
    lines = run.out.splitlines()
    entries = [line.strip() for line in lines if re.match(" +(asv_models|attackers): ", line)]
    protocol = work / "tree/protocol.yaml"
    whole = re.sub(
        r"^asv_models:\n(?:  .*\n)+", "\n".join(entries) + "\n", protocol.read_text(), flags=re.M
    )
    protocol.write_text(whole)
    assert len(entries) == 2 and "'COMMAND {in} {out}'" in run.out
    (words,) = (shlex.split(line.partition(": ")[2]) for line in lines if line.startswith("Next: "))
    assert words[words.index("--out") + 1] == "results"
    words += ["--extractor", "python bands.py {in} {out}", "--statement", "true", "--nj", "1"]
    ok(run_program((work / words[0]).resolve(), *words[1:], cwd=work))
    return work


def products(folder: Path) -> list[Path]:
    """The files to show to others: neither the key nor records and logs."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    kept = [p for p in paths if p.relative_to(folder).parts[0] not in ("records", "log")]
    return [p for p in kept if p.name != "speaker_key.json"]


def test_nobody_is_named_in_what_leaves(work: Path) -> None:
    results = work / "tree/results"
    names = {path.name for path in products(results)}
    assert {"report.html", "statement.html", "speakers.csv", "results.json", "results.csv"} <= names
    for path in products(results):
        assert not named_in(path.read_bytes().decode(errors="replace")), path
        assert not named_in(path.name)
    key = results / "speaker_key.json"
    assert key.stat().st_mode & 0o777 == 0o600
    assert {*json.loads(key.read_text())["speakers"].values()} == {*NAMES}
    report = (results / "report.html").read_text()
    assert re.search(r"\bS[1-6]\b", report) and "Speakers are numbered" in report


def test_a_second_run_changes_nothing(work: Path) -> None:
    results = work / "tree/results"
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    tree = (
        "--tree",
        work / "tree",
        "--results",
        "exp",
        "--out",
        "results",
        "--conf",
        "protocol.yaml",
    )
    ok(cli("stage", "collect", *tree, "--allow-outside"))
    (results / ".results.privacy_eval.json").unlink()
    ok(cli("stage", "collect", *tree, "--allow-outside"))
    for name in ("results.json", "speakers.csv", "speaker_key.json"):
        assert (results / name).read_bytes() == before[results / name]


def test_names_are_shown_on_request_but_not_in_public(work: Path, tmp_path: Path) -> None:
    tree = ("--tree", work / "tree", "--results", "exp", "--conf", "protocol.yaml")
    ok(cli("stage", "collect", *tree, "--allow-outside", "--out", "results", "--speaker-names"))
    results = work / "tree/results/results.json"
    assert sorted(named_in((results.parent / "speakers.csv").read_text())) == sorted(NAMES)
    ok(cli("report", "--results", results, "--out", tmp_path / "r.html"))
    text = (tmp_path / "r.html").read_text()
    assert named_in(text) and "Speakers are named by ids" in text
    for more in (("--public",), ("--statement",)):
        ok(cli("report", "--results", results, *more, "--out", tmp_path / "public.html"))
        assert not named_in((tmp_path / "public.html").read_text())
    ok(cli("stage", "collect", *tree, "--allow-outside", "--out", "results"))
    assert not named_in((results.parent / "speakers.csv").read_text())


def test_the_advice_asks_for_a_command_only_where_there_is_no_network(
    work: Path, tmp_path: Path
) -> None:
    (tmp_path / "network").mkdir()
    (tmp_path / "network/final.raw").write_bytes(b"")
    sources = ("--original", work / "speech", "--out", tmp_path / "tree")
    run = ok(cli("data-dir", *sources, "--model", tmp_path / "network"))
    assert "--extractor" not in run.out and "plda, mean.vec" in run.out
    assert "attackers: [{id: cosine" in run.out


@if_model("ge2e")
def test_an_encoder_needs_no_advice(work: Path, tmp_path: Path) -> None:
    sources = ("--original", work / "speech", "--out", tmp_path / "tree")
    run = ok(cli("data-dir", *sources, "--encoders", "ge2e-raw"))
    assert "First copy" not in run.out and "attackers: [" not in run.out
