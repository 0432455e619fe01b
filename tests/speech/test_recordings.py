"""Every recording is looked at before any work; what cannot be used is listed, and left out."""

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_support import AUDIO, needs_soxr, needs_webrtcvad
from support import Run, cli, csv_rows, ok, recording_to, refused

from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.speech.audio import kind_of_audio, read_recording
from privacy_eval.speech.audit import look_at
from privacy_eval.speech.trees.from_audio import PROTOCOL

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")

RATE = 16000


def speech(seconds: float = 2.0) -> np.ndarray:
    samples, rate = soundfile.read(sorted(AUDIO.glob("*"))[0], dtype="float64")
    start = int(np.argmax(np.convolve(samples**2, np.ones(4000), "valid")))
    assert rate == RATE
    start = max(0, min(start, len(samples) - int(seconds * RATE)))
    part = samples[start : start + int(seconds * RATE)]
    return np.asarray(0.5 * part / np.abs(part).max())


def click(at: float = 0.0) -> np.ndarray:
    samples = np.full(2 * RATE, at)
    samples[RATE] = 0.9
    return samples


def stereo(left: float, right: float) -> np.ndarray:
    return np.stack([left * speech(), right * speech()], axis=1)


def with_nan() -> np.ndarray:
    samples = speech()
    samples[99] = np.nan
    return samples


FLOAT = {"subtype": "FLOAT"}
#: Samples, rate and how they are written, and the reason if they cannot be used.
SAMPLES: dict[str, tuple[Callable[[], np.ndarray], int, dict[str, Any], str]] = {
    "silent": (lambda: np.zeros(RATE), RATE, {}, "silent"),
    "dither": (lambda: np.tile([1, 0, -1, 0], 4000) / 32768, RATE, {}, "silent"),
    "no samples": (lambda: np.zeros(0), RATE, {}, "no samples"),
    "0.05 s": (lambda: speech(0.05), RATE, {}, "0.05 s"),
    "1 kHz": (speech, 1000, {}, "1000 Hz"),
    "4 kHz": (speech, 4000, {}, ""),
    "96 kHz": (speech, 96000, {}, ""),
    "192 kHz": (speech, 192000, {}, ""),
    "three channels": (lambda: np.stack([speech()] * 3, axis=1), RATE, {}, ""),
    "right channel silent": (lambda: stereo(1, 0), RATE, {}, ""),
    "left channel silent": (lambda: stereo(0, 1), RATE, {}, "first channel"),
    "opposite channels": (lambda: stereo(1, -1), RATE, {}, "average of channels"),
    "not a number": (with_nan, RATE, FLOAT, "NaN"),
    "float": (speech, RATE, FLOAT, ""),
    "float beyond 1": (lambda: 4 * speech(), RATE, FLOAT, "beyond full scale (2 times)"),
    "float of integers": (lambda: 2e4 * speech(), RATE, FLOAT, "beyond full scale"),
    "24 bits": (speech, RATE, {"subtype": "PCM_24"}, ""),
    "8 bits": (speech, RATE, {"subtype": "PCM_U8"}, ""),
    "mu-law": (speech, 8000, {"subtype": "ULAW"}, ""),
    "A-law": (speech, 8000, {"subtype": "ALAW"}, ""),
    "ADPCM": (speech, RATE, {"subtype": "IMA_ADPCM"}, "not supported"),
    "offset": (lambda: 0.4 + speech(), RATE, {}, ""),
    "MP3": (speech, RATE, {"format": "MP3"}, ""),
    "Vorbis": (speech, RATE, {"format": "OGG"}, ""),
    "Opus": (speech, RATE, {"format": "OGG", "subtype": "OPUS"}, ""),
    "FLAC": (speech, RATE, {"format": "FLAC"}, ""),
    "AIFF": (speech, RATE, {"format": "AIFF"}, "AIFF audio"),
    "AU": (speech, RATE, {"format": "AU"}, "AU audio"),
    "SPHERE": (speech, RATE, {"format": "NIST"}, "NIST SPHERE audio"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_content_decides_whether_a_recording_is_used(tmp_path: Path, name: str) -> None:
    make, rate, how, problem = SAMPLES[name]
    path = tmp_path / "o'Neil müller 李.wav"
    soundfile.write(path, make(), rate, **{"format": "WAV", **how})
    seen = look_at(path)
    assert problem in seen.problem and bool(seen.problem) == bool(problem)
    if not problem:
        assert (seen.rate, seen.seconds) == (rate, pytest.approx(2 * RATE / rate, abs=0.01))


@needs_webrtcvad
@needs_soxr
@pytest.mark.parametrize(
    ("samples", "problem"),
    [
        (click(), "no speech"),
        (click(0.3), "no speech"),
        (1e-4 * np.random.default_rng(0).normal(size=RATE), "no speech"),
        (speech(0.15), "of speech, needed are 0.45 s"),
        (speech(0.3), "of speech, needed are 0.45 s"),
        (speech(1.0), ""),
    ],
)
def test_ge2e_must_find_speech_also_once_it_is_anonymized(
    tmp_path: Path, samples: np.ndarray, problem: str
) -> None:
    path = tmp_path / "u.wav"
    soundfile.write(path, samples, RATE)
    assert not look_at(path).problem  # for encoders that take anything
    assert problem in look_at(path, ("ge2e",)).problem
    assert bool(look_at(path, ("ge2e",)).problem) == bool(problem)
    if len(samples) == 4800:  # with copies that are there already, any speech is enough
        assert not look_at(path, ("ge2e",), anonymized=False).problem


def test_cautions_do_not_make_a_recording_unusable(tmp_path: Path) -> None:
    for name, samples, caution in (
        ("clipped", np.clip(40 * speech(), -1, 1), "clipped"),
        ("quiet", 1e-3 * speech(), "level below"),
        ("two", stereo(1, 1), "several channels"),
    ):
        soundfile.write(tmp_path / f"{name}.wav", samples, RATE)
        seen = look_at(tmp_path / f"{name}.wav")
        assert not seen.problem and any(caution in one for one in seen.cautions)


def test_formats_are_told_by_how_they_begin() -> None:
    heads = {
        b"RIFF\0\0\0\0WAVE": "WAV",
        b"\xff\xfb\x90\x64": "MP3",
        b"ID3\4\0": "MP3",
        b"NIST_1A\n   1024\n": "NIST SPHERE",
        b"\0\0\0 ftypM4A ": "MPEG-4",
        b"\0\0\0 ftyp3gp4": "MPEG-4",
        b"\xff\xf1\x50\x80": "AAC",
        b"#!AMR-WB\n": "AMR",
        bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"): "Windows Media",
        b"\x1a\x45\xdf\xa3": "Matroska",
    }
    assert {head: kind_of_audio(head) for head in heads} == heads
    for other in (
        b"\0\0\0 ftypheic",
        b"\xff\xd8\xff\xe0",
        b"\xff\xfea\0",
        b"RIFF\0\0\0\0WEBP",
        b"",
    ):
        assert not kind_of_audio(other)


def test_compressed_speech_is_clipped_at_full_scale_and_whole(tmp_path: Path) -> None:
    square = 0.999 * np.sign(np.sin(np.arange(2 * RATE) * 2 * np.pi * 440 / RATE))
    for name, how in (("a.mp3", {}), ("a.ogg", {}), ("b.ogg", {"subtype": "OPUS"})):
        soundfile.write(tmp_path / name, square, RATE, **how)
        audio, _ = read_recording(tmp_path / name)
        exact, _ = soundfile.read(tmp_path / name, dtype="float64")
        expected = np.clip(exact * 32768, -32768, 32767)
        assert np.abs(exact).max() > 1
        assert np.abs(audio.samples - expected).max() < 0.01


def frames_of_mp3(content: bytes) -> list[bytes]:
    """Frames of MPEG-2 at 16 kHz, layer 3."""
    kbits = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
    frames, at = [], 0
    while at + 4 <= len(content):
        assert content[at] == 0xFF
        size = 72 * kbits[content[at + 2] >> 4] * 1000 // RATE + (content[at + 2] >> 1 & 1)
        frames.append(content[at : at + size])
        at += size
    return frames


def test_a_part_of_an_mp3_is_not_taken_for_all_of_it(tmp_path: Path) -> None:
    samples = np.concatenate([np.zeros(4 * RATE), speech(), speech(), speech()])
    whole = tmp_path / "whole.mp3"
    soundfile.write(whole, samples, RATE, bitrate_mode="VARIABLE", compression_level=0.5)
    assert not look_at(whole).problem
    frames = frames_of_mp3(whole.read_bytes())
    path = tmp_path / "a.mp3"
    path.write_bytes(b"".join(frames[: len(frames) // 2]))
    assert "truncated" in look_at(path).problem
    path.write_bytes(b"".join(frames[1:]))  # without the frame that tells the length
    assert "%" in look_at(path).problem or "truncated" in look_at(path).problem


# Folders


class Folder:
    """Speech of three speakers, ten recordings each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for speaker in ("ann", "björn", "李明"):
            for number in range(10):
                recording_to(self.path(f"{speaker}/take {number}.wav"))

    def path(self, name: str, of: str = "speech") -> Path:
        return self.root / of / name

    def look(self, *more: object) -> Run:
        places = ("--original", self.root / "speech", "--out", self.root / "tree")
        return cli("data-dir", *places, *more)

    def listed(self) -> dict[str, dict[str, str]]:
        rows = [row for row in csv_rows(self.root / "tree/recordings.csv") if row["unusable"]]
        return {str(Path(row["recording"]).relative_to(self.root)): row for row in rows}

    def used(self, suffix: str = "") -> set[str]:
        lists = (self.root / "tree/data").glob(f"speech_*s{suffix}/wav.scp")
        lists = [*lists, *(self.root / "tree/data").glob(f"speech_*_all{suffix}/wav.scp")]
        lines = [line for path in lists for line in path.read_text("utf-8").splitlines()]
        return {str(Path(line.split(None, 1)[1]).relative_to(self.root)) for line in lines}

    @property
    def remarks(self) -> str:
        return "\n".join(load_protocol(str(self.root / "tree" / PROTOCOL)).remarks)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_what_cannot_be_used_is_left_out_and_counted(folder: Folder) -> None:
    folder.path("ann/take 3.wav").write_bytes(folder.path("ann/take 3.wav").read_bytes()[:44])
    folder.path("notes.txt").write_text("no recording")
    folder.path("ann/picture.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    run = ok(folder.look("--allow-unusable", "5%"))
    assert "take 3.wav" in run.out and "truncated" in run.out and "1 of 30" in run.err
    assert list(folder.listed()) == ["speech/ann/take 3.wav"]
    assert len(folder.used()) == 29 and "speech/ann/take 3.wav" not in folder.used()
    assert "1 of 30 recordings" in folder.remarks and "1 truncated" in folder.remarks


def test_the_report_gives_the_reasons_by_count_and_no_name(folder: Folder) -> None:
    for number, samples in enumerate((speech()[:640], speech()[:700], np.zeros(RATE))):
        soundfile.write(folder.path(f"ann/take {number}.wav"), samples, RATE)
    folder.path("ann/take 3.wav").write_bytes(b"\0\0\0 ftypM4A ")
    folder.path("ann/take 4.wav").write_bytes(b"NIST_1A\n   1024\n")
    folder.path("ann/take 5.wav").write_bytes(b"")
    shutil.copy(folder.path("björn/take 0.wav"), folder.path("björn/take 0.flac"))
    assert folder.look("--allow-unusable", 50).code == 0
    (remark,) = (line for line in folder.remarks.splitlines() if "left out" in line)
    assert remark.startswith("7 of 30 ")
    assert {*remark.partition("out: ")[2].split(", ")} == {
        *("2 too short", "1 silent", "1 MPEG-4", "1 NIST SPHERE", "1 empty", "1 of one name")
    }


def test_all_faults_of_the_speakers_come_with_the_list(folder: Folder) -> None:
    for number in range(1, 10):
        folder.path(f"ann/take {number}.wav").unlink()
    for number in range(6):
        folder.path(f"björn/take {number}.wav").write_bytes(b"")
    run = refused(folder.look(), "6 of 21", ": 1: ann")
    assert "add recordings" in run.err and "empty" in run.out
    assert len(folder.listed()) == 6 and not (folder.root / "tree/data").exists()
    folder.path("ann/take 0.wav").write_bytes(b"")
    run = folder.look("--allow-unusable", 100)  # of ann nothing is left
    assert run.code == 1 and ": 1: ann" in run.err
    for number in range(6, 10):
        folder.path(f"björn/take {number}.wav").write_bytes(b"")
    refused(folder.look("--allow-unusable", 100), ": 2: ann, björn")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: p.with_name(f"{p.stem}_anon.wav"), "files end in _anon"),
        (lambda p: p.with_name(f"B2-{p.name}"), "files begin with B2-"),
        (lambda p: p.parent.with_name(f"{p.parent.name}_x") / p.name, "folders end in _x"),
    ],
)
def test_copies_that_are_all_named_otherwise_are_one_fault(
    folder: Folder, change: Callable[[Path], Path], says: str
) -> None:
    for path in sorted((folder.root / "speech").glob("*/*")):
        copy = change(folder.root / "copies" / path.relative_to(folder.root / "speech"))
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    run = folder.look("--anonymized", folder.root / "copies")
    assert run.code == 1 and says in run.err and "rename" in run.err and not run.out


def test_more_than_is_allowed_stops_with_the_whole_list(folder: Folder) -> None:
    for number in range(2):
        folder.path(f"björn/take {number}.wav").write_bytes(b"")
    for number in range(9):
        folder.path(f"ann/take {number}.wav").write_bytes(b"not audio")
    run = folder.look("--allow-unusable", 20)
    assert run.code == 1 and "11 of 30" in run.err and len(folder.listed()) == 11
    assert not (folder.root / "tree/data").exists()
    run = folder.look("--allow-unusable", 100)  # ann would have no trial
    assert run.code == 1 and "11 of 30" not in run.err and ": 1: ann" in run.err
    assert len(folder.listed()) == 11
    recording_to(folder.path("ann/take 0.wav"))
    assert folder.look("--allow-unusable", 100).code == 0 and len(folder.used()) == 20
    assert folder.look("--allow-unusable", "some").code == 2


def test_an_original_is_left_out_with_its_copy_and_the_other_way_round(folder: Folder) -> None:
    copies = folder.root / "copies"
    shutil.copytree(folder.root / "speech", copies)
    (copies / "ann/take 0.wav").unlink()
    damaged = copies / "ann/take 1.wav"
    damaged.write_bytes(damaged.read_bytes()[:-99])
    folder.path("ann/take 2.wav").write_bytes(b"")
    folder.path("ann/take 3.wav").unlink()
    run = folder.look("--anonymized", copies, "--allow-unusable", 14)
    assert run.code == 0 and "4 of 30" in run.err, run.err
    names = {name: row["unusable"] for name, row in folder.listed().items()}
    assert names.keys() == {
        *("speech/ann/take 0.wav", "copies/ann/take 1.wav"),
        *("speech/ann/take 2.wav", "copies/ann/take 3.wav"),
    }
    assert "no anonymized copy" in names["speech/ann/take 0.wav"]
    assert "no original" in names["copies/ann/take 3.wav"]
    kept = {f"ann/take {n}.wav" for n in range(4, 10)}
    assert {n for n in folder.used() if "ann" in n} == {f"speech/{n}" for n in kept}
    assert {n for n in folder.used("_anon") if "ann" in n} == {f"copies/{n}" for n in kept}


def test_of_several_files_of_one_name_the_usable_one_is_taken(folder: Folder) -> None:
    wav = folder.path("ann/take 0.wav")
    soundfile.write(wav.with_suffix(".flac"), *soundfile.read(wav))
    run = folder.look()
    assert run.code == 0 and "take 0.flac and take 0.wav" in run.out and len(folder.used()) == 29
    shutil.rmtree(folder.root / "tree")
    wav.write_bytes(b"NIST_1A\n   1024\n")
    assert folder.look().code == 0 and not folder.listed()
    assert "speech/ann/take 0.flac" in folder.used() and len(folder.used()) == 30
    shutil.rmtree(folder.root / "tree")
    wav.with_suffix(".flac").write_bytes(b"")
    assert folder.look().code == 0
    assert {*folder.listed()} == {"speech/ann/take 0.flac", "speech/ann/take 0.wav"}
    assert "1 of 30 recordings" in folder.remarks


def test_copies_of_a_recording_are_a_caution_in_the_report(folder: Folder) -> None:
    shutil.copy(folder.path("ann/take 0.wav"), folder.path("ann/take 7.wav"))
    assert folder.look().code == 0
    assert "1 recording with the samples of another one" in folder.remarks
    shutil.rmtree(folder.root / "tree")
    shutil.copy(folder.path("ann/take 1.wav"), folder.path("björn/take 8.wav"))
    run = folder.look()
    (line,) = (line for line in run.out.splitlines() if "whose is it" in line)
    assert "björn/take 8.wav" in line and "take 1.wav of ann" in line
    assert "2 recordings: same samples (see recordings.csv)" in run.out
    shutil.rmtree(folder.root / "tree")
    assert folder.look("--anonymized", folder.root / "speech").code == 0
    assert "2 recordings with the samples of another one" in folder.remarks


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_the_printed_command_converts_what_is_not_read(folder: Folder) -> None:
    soundfile.write(folder.path("ann/take 0.wav"), speech(), RATE, format="NIST")
    source = folder.root / "s.wav"
    soundfile.write(source, speech(), RATE)
    for number, suffix in enumerate(("m4a", "aac", "wma", "webm"), 1):
        folder.path(f"ann/take {number}.wav").unlink()
        made = folder.path(f"ann/take {number}.{suffix}")
        subprocess.run(["ffmpeg", "-v", "error", "-i", source, made], check=True)
    folder.path("björn/take 0.wav").rename(folder.path("björn/o'Neil's $take 0.wav"))
    odd = folder.path("björn/o'Neil's $take 0.wav")
    soundfile.write(odd, 3 * speech(), RATE, subtype="FLOAT")
    run = folder.look("--allow-unusable", 0)
    assert run.code == 1 and len(folder.listed()) == 6
    (command,) = (line for line in run.out.splitlines() if "sh " in line)
    for _ in range(2):  # what is converted is skipped
        sh, where = command[command.index("sh ") :], folder.root
        done = subprocess.run(sh, shell=True, check=True, cwd=where, capture_output=True)
        assert not done.stdout + done.stderr
    assert odd.with_suffix(".flac").is_file()
    ok(folder.look("--allow-unusable", 0))
    converted = {Path(name).name for name in folder.used() if name.endswith(".flac")}
    assert converted == {f"take {n}.flac" for n in range(5)} | {"o'Neil's $take 0.flac"}


def test_a_header_that_tells_more_than_the_file_holds_is_no_recording(tmp_path: Path) -> None:
    head = b"RIFF" + struct.pack("<I", 96036) + b"WAVEfmt " + struct.pack("<I", 16)
    head += struct.pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16) + b"data" + struct.pack("<I", 96000)
    (tmp_path / "u.wav").write_bytes(head)
    assert len(head) == 44 and "truncated" in look_at(tmp_path / "u.wav").problem
    assert look_at(tmp_path / "u.wav").problem.endswith("chunk data")
    (tmp_path / "u.wav").write_bytes(head[:30])
    assert look_at(tmp_path / "u.wav").problem.endswith("chunk fmt")
