"""Audit of anonymized audio: constructed faults, real speech, the verb."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support import REAL_SPEECH, cli, csv_rows, lines_to, needs_real_speech

from privacy_eval.speech import audit
from privacy_eval.speech.audio import CHANNELS, Audio
from privacy_eval.speech.audit import (
    AudioFolders,
    audit_audio,
    audit_utterance,
    file_tags,
    find_raw_speech,
)
from privacy_eval.speech.mcadams import convert_to_int16

soundfile = pytest.importorskip("soundfile", reason="audio needs soundfile")

RATE = 16000
Signal = NDArray[np.int16]


def speech(seed: int, seconds: float = 5) -> Signal:
    """Noise with the slow changes of loudness, and the spectrum, of speech."""
    generator = np.random.default_rng(seed)
    n = round(seconds * RATE)
    noise = np.convolve(generator.normal(size=n), np.hanning(9), "same")
    loudness = 0.6 + 0.4 * np.sin(2 * np.pi * 3 * np.arange(n) / RATE + seed)
    return np.round(900 * noise * loudness).astype(np.int16)


def part(gain: float, share: float, delay: int) -> Callable[[Signal, Signal], Signal]:
    """Return what replaces a share of anonymized speech by the original."""

    def replace(x: Signal, y: Signal) -> Signal:
        size = round(share * x.size)
        y = y.copy()
        y[20000 + delay : 20000 + delay + size] = np.round(gain * x[20000 : 20000 + size])
        return y

    return replace


COPIES: dict[str, Callable[[Signal, Signal], Signal]] = {
    "identical": lambda x, y: x,
    "scaled": lambda x, y: np.round(0.2 * x).astype(np.int16),
    "inverted": lambda x, y: -x,
    "delayed by 1 s": lambda x, y: np.concatenate([np.zeros(RATE, np.int16), x]),
    "shortened": lambda x, y: x[3333:],
    "with noise": lambda x, y: (x + y // 20).astype(np.int16),
    "1 % in place": part(1, 0.01, 0),
    "1 % scaled": part(-0.5, 0.01, 0),
    "1 % delayed": part(1, 0.01, 12345),
    "1 % scaled and delayed": part(0.5, 0.01, -7777),
    "10 % quiet": part(0.05, 0.1, 0),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_the_original_are_found(name: str) -> None:
    for seed in range(3):
        x, y = speech(seed), speech(seed + 100)
        raw = find_raw_speech(x, COPIES[name](x, y), RATE)
        assert raw.is_raw
        if "1 %" in name:
            assert raw.share == pytest.approx(0.01, abs=0.004)
        if name == "delayed by 1 s":
            assert raw.delay == pytest.approx(1)


def test_other_speech_is_not_raw() -> None:
    for seed in range(5):
        raw = find_raw_speech(speech(seed), speech(seed + 50, 4), RATE)
        assert (raw.is_raw, raw.seconds) == (False, 0)


@pytest.mark.parametrize("samples", [np.zeros(RATE), np.zeros(3), np.ones(RATE), np.zeros(0)])
def test_nothing_to_compare(samples: NDArray[np.float64]) -> None:
    assert not find_raw_speech(speech(0), samples, RATE).is_raw
    assert not find_raw_speech(samples, speech(0), RATE).is_raw


@needs_real_speech
@pytest.mark.parametrize("coefficient", [0.5, 0.8, 0.9])
def test_real_anonymized_speech_is_not_raw(coefficient: float) -> None:
    files = sorted((REAL_SPEECH / "audio").rglob("*.flac"))[::3]
    assert files
    for file in files:
        x, rate = soundfile.read(file, dtype="int16")
        y = convert_to_int16(x, rate, coefficient=coefficient, variant="2020")
        assert not find_raw_speech(x, y, rate).is_raw
        middle, size = x.size // 2, x.size // 100
        loud = middle + int(np.argmax(np.abs(x[middle:-size].astype(np.int64))))
        y[loud : loud + size] = x[loud : loud + size]
        assert find_raw_speech(x, y, rate).is_raw


def test_faults_of_samples() -> None:
    x = Audio(speech(1), RATE)
    loud = np.clip(speech(2).astype(np.int64) * 40, -32768, 32767).astype(np.int16)
    for samples, rate, problems in (
        (np.zeros(0, np.int16), RATE, {audit.EMPTY}),
        (np.zeros(80000, np.int16), RATE, {audit.SILENT}),
        (loud, RATE, {audit.CLIPPED}),
        (speech(2, 2), RATE, {audit.LENGTH}),
        (speech(2, 2.5), RATE // 2, {audit.RATE}),
        (speech(2), RATE, set()),
    ):
        assert set(audit_utterance(Audio(samples, rate), x).problems) == problems


def write_folder(folder: Path, recordings: dict[str, Signal]) -> None:
    folder.mkdir(parents=True)
    for name, samples in recordings.items():
        soundfile.write(folder / f"{name}.wav", samples, RATE)
    lines_to(folder / "wav.scp", (f"{n} {folder / n}.wav" for n in recordings))


@pytest.fixture
def folders(tmp_path: Path) -> AudioFolders:
    """Eight utterances, each with a fault of its own but the first."""
    original, anonymized = tmp_path / "data/set", tmp_path / "data/set_anon"
    names = ("fine", "copy", "bytes", "samples", "tags", "nan", "gone", "lost")
    x = {name: speech(n) for n, name in enumerate(names)}
    y = {name: speech(n + 20) for n, name in enumerate(names)}
    y["copy"] = x["copy"]
    y["bytes"] = y["samples"] = y["fine"]
    write_folder(original, x)
    write_folder(anonymized, {n: s for n, s in y.items() if n != "lost"})
    soundfile.write(anonymized / "samples.wav", y["fine"], RATE, subtype="PCM_24")
    with soundfile.SoundFile(anonymized / "tags.wav", "w", RATE, 1) as file:
        file.artist = "speaker 1234"
        file.write(y["tags"])
    not_finite = np.append(y["nan"] / 32768, np.nan).astype(np.float32)
    soundfile.write(anonymized / "nan.wav", not_finite, RATE, subtype="FLOAT")
    (anonymized / "gone.wav").unlink()
    return AudioFolders(original, anonymized, tmp_path)


@pytest.mark.parametrize("jobs", [1, 2])
def test_faults_of_files(folders: AudioFolders, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_CHUNK", 3)
    problems = {one.utterance: list(one.problems) for one in audit_audio(folders, jobs=jobs)}
    assert problems == {
        "fine": [],
        "copy": [audit.RAW],
        "bytes": [audit.SAME_BYTES],
        "samples": [audit.SAME_SAMPLES],
        "tags": [audit.TAGS],
        "nan": [audit.UNREADABLE],
        "gone": [audit.MISSING],
        "lost": [audit.MISSING],
    }


@pytest.mark.parametrize("sides", [("original",), ("anonymized",), ("original", "anonymized")])
def test_channels_that_are_not_read_are_said(folders: AudioFolders, sides: tuple[str, ...]) -> None:
    for side in sides:
        path = getattr(folders, side) / "fine.wav"
        first = soundfile.read(path, dtype="int16")[0]
        soundfile.write(path, np.stack([first, 0 * first], axis=1), RATE)
    problems = {one.utterance: one.problems for one in audit_audio(folders)}
    assert problems["fine"][CHANNELS] == " and ".join(sides)
    assert [u for u, of in problems.items() if CHANNELS in of] == ["fine"]


def test_tags_of_flac(tmp_path: Path) -> None:
    with soundfile.SoundFile(tmp_path / "x.flac", "w", RATE, 1) as file:
        file.title = "1688-142285-0000"
        file.write(speech(0, 1))
    assert file_tags((tmp_path / "x.flac").read_bytes()) == {"TITLE": "1688-142285-0000"}


@pytest.mark.parametrize("kind", ["wav", "flac"])
def test_damaged_tags_are_read_without_error(kind: str, tmp_path: Path) -> None:
    soundfile.write(tmp_path / f"x.{kind}", speech(0, 0.1), RATE)
    content = bytearray((tmp_path / f"x.{kind}").read_bytes()[:400])
    generator = np.random.default_rng(0)
    for _ in range(300):
        content[int(generator.integers(4, 400))] = int(generator.integers(256))
        file_tags(bytes(content))


@pytest.mark.wing("organizers")
def test_the_verb(tmp_path: Path) -> None:
    """A tree of the challenge's names, whose trial set has raw speech in one utterance."""
    for name, faulty in (("libri_dev_enrolls", False), ("libri_dev_trials_f", True)):
        x = {f"{name}-{n}": speech(n, 2) for n in range(3)}
        y = {key: speech(n + 20, 2) for n, key in enumerate(x)}
        if faulty:
            y[f"{name}-1"] = x[f"{name}-1"]
        for suffix, recordings in (("", x), ("_anon", y)):
            write_folder(tmp_path / "data" / f"{name}{suffix}", recordings)
            lines_to(tmp_path / "data" / f"{name}{suffix}/utt2spk", (f"{u} s" for u in recordings))
    (tmp_path / "exp").mkdir()
    common = ("stage", "check", "--tree", tmp_path, "--results", "exp", "--anon-suffix", "_anon")
    table = tmp_path / "audit.csv"
    run = cli(*common, "--audio", "--audio-table", table, "--format", "json")
    problems = [row for row in json.loads(run.out) if "original speech" in row["problem"]]
    assert (run.code, len(problems)) == (1, 1)
    assert problems[0]["status"] == "error"
    assert "libri_dev_trials_f_anon (1 of 3: libri_dev_trials_f-1" in problems[0]["problem"]
    rows = csv_rows(table.read_text())
    assert len(rows) == 6
    assert [row["utterance"] for row in rows if row["problems"]] == ["libri_dev_trials_f-1"]
    assert "anonymized audio" not in cli(*common).out
    assert cli(*common, "--audio-table", table).code == 2
    scp = lines_to(tmp_path / "data/libri_dev_enrolls_anon/wav.scp", ["libri_dev_enrolls-0"])
    run = cli(*common, "--audio", "--format", "json")
    (row,) = (r for r in json.loads(run.out) if r["problem"].startswith("anonymized audio"))
    assert (run.code, row["status"], row["file"], row["line"]) == (1, "error", str(scp), 1)
