"""Reading audio: formats, segments, commands, and files that lie."""

import os
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from speech_support import SPEECH
from support import write

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.speech import audio
from privacy_eval.speech.audio import (
    CHANNELS,
    MIXED,
    NOT_16_BIT,
    OTHER_LENGTH,
    AudioReader,
    file_of_command,
    resample,
)

LHOTSE = "ffmpeg -threads 1 -i {} -ar {} -map_channel 0.0.{}  -f wav -threads 1 pipe:1"
RAMP = np.arange(-800, 800, dtype=np.int16) * 40


def reader_of(folder: Path, *lines: str, segments: str = "", **options: object) -> AudioReader:
    """The reader of a data folder with these lines in wav.scp."""
    write(folder / "wav.scp", "".join(f"{line}\n" for line in lines))
    if segments:
        write(folder / "segments", segments)
    return AudioReader(folder, base=folder, **options)  # type: ignore[arg-type]


def ramp(folder: Path, name: str = "a.wav", samples: np.ndarray = RAMP, **options: object) -> bytes:
    """Write an audio file; its bytes."""
    soundfile.write(folder / name, samples, 16000, **options)
    return (folder / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "subtype", "step"),
    [
        ("a.wav", "PCM_16", 0),
        ("a.flac", "PCM_16", 0),
        ("a.wav", "PCM_24", 0),
        ("a.flac", "PCM_24", 0),
        ("a.wav", "PCM_32", 0),
        ("a.wav", "FLOAT", 0),
        ("a.wav", "DOUBLE", 0),
        ("a.wav", "PCM_U8", 256),
        ("a.flac", "PCM_S8", 256),
    ],
)
def test_all_encodings_are_on_the_scale_of_16_bits(
    tmp_path: Path, name: str, subtype: str, step: int
) -> None:
    samples = RAMP / 32768 if subtype in ("FLOAT", "DOUBLE") else RAMP
    ramp(tmp_path, name, samples, subtype=subtype)
    reader = reader_of(tmp_path, f"u {name}")
    got = reader.read("u")
    assert got.rate == 16000
    assert np.abs(got.samples.astype(float) - RAMP).max() <= step
    assert reader.remarks == ({} if subtype == "PCM_16" else {NOT_16_BIT: ["u"]})


def test_channels(tmp_path: Path) -> None:
    ramp(tmp_path, samples=np.stack([RAMP, RAMP // 2 + 1], axis=1))
    reader = reader_of(tmp_path, "u a.wav")
    assert (reader.read("u").samples == RAMP).all()
    assert reader.remarks == {CHANNELS: ["u"]}
    mixed = reader_of(tmp_path, "u a.wav", mix=True)
    assert (mixed.read("u").samples == RAMP / 2 + (RAMP // 2 + 1) / 2).all()
    assert mixed.remarks == {MIXED: ["u"]} and mixed.notes() == (f"{MIXED}: 1 (u)",)


def test_a_reader_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ramp(tmp_path)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(PrivacyEvalError, match="-m pip install soundfile"):
        reader_of(tmp_path, "u a.wav").read("u")


def test_paths_begin_here_or_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "tree" / "data"
    data.mkdir(parents=True)
    ramp(data)
    write(data / "wav.scp", "u a.wav\n")
    monkeypatch.chdir(data.parent)
    assert AudioReader(data).path("u") == data / "a.wav"
    ramp(data.parent)
    assert AudioReader(data).path("u") == Path("a.wav")
    monkeypatch.chdir(tmp_path)
    write(data / "wav.scp", f"u {tmp_path}/tree/a.wav\n")
    assert AudioReader(data).read("u").samples.size == RAMP.size


def test_paths_outside_need_permission(tmp_path: Path) -> None:
    ramp(tmp_path)
    folder = tmp_path / "data"
    for line in ("u ../a.wav", "u flac -cds ../a.wav |", f"u {tmp_path / 'a.wav'}"):
        with pytest.raises(PrivacyEvalError, match=r"wav.scp:1: u .*--allow-outside"):
            reader_of(folder, line)
        assert reader_of(folder, line, allow_outside=True).ids == ("u",)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("flac -c -d -s a.flac", "a.flac"),
        ("flac -cds a.flac ", "a.flac"),
        ("flac -d --stdout --silent 'a b.flac'", "a b.flac"),
        ("cat a.wav", "a.wav"),
        ("sox a.flac -t wav -", "a.flac"),
        ("sox a.flac -t wav -r 16000 -b 16 -c 1 -e signed-integer -", "a.flac"),
        ("sox a.wav -t wav -r 8k -", "a.wav"),
        ("sox -t flac a.flac -c 1 -t wav - rate 16k", "a.flac"),
        ("sox a.flac -t wav - remix 2", "a.flac"),
        ("cat 'a (1).wav'", "a (1).wav"),
        # As lhotse 1.33 writes it, with two blanks; VoxCeleb's recipe of Kaldi; usual others.
        (f"{LHOTSE.format('a.flac', 16000, 0)}", "a.flac"),
        ("ffmpeg -v 8 -i a.wav -f wav -acodec pcm_s16le -", "a.wav"),
        (
            "ffmpeg -nostdin -hide_banner -loglevel error -y -i a.wav -ac 1 -ar 16000 -f wav -",
            "a.wav",
        ),
        ("ffmpeg -i 'a b.wav' -vn -c:a pcm_s16le -ab 16 -f wav pipe:", "a b.wav"),
        ("/usr/bin/flac -c -d a.flac", None),
        ("flac -c -d -s a.flac b.flac", None),
        ("flac -d -s a.flac", None),
        ("flac -c -d --skip=100 a.flac", None),
        ("flac -c -d -- a.flac", None),
        ("cat a.wav b.wav", None),
        ("cat -", None),
        ("cat", None),
        ("cat *.wav", None),
        ("cat $(touch x)", None),
        ("cat a.wav; touch x", None),
        ("cat 'a.wav", None),
        ("cat a.wav | cat", None),
        ("cat a.wav > b", None),
        ("sox a.wav -t wav - speed 1.1", None),
        ("sox -v 0.5 a.wav -t wav -", None),
        ("sox a.wav -t wav -r 16000 -r 8000 -", None),
        ("sox a.wav -t flac -", None),
        ("sox a.wav -r 16000 -", None),
        ("sox - -t wav -", None),
        ("sph2pipe -f wav a.sph", None),
        ("sph2pipe a.sph -f wav -c 1 -p | ffmpeg -threads 1 -i pipe:0 -f wav pipe:1", None),
        ("", None),
    ],
)
def test_commands_that_are_a_file(command: str, file: str | None) -> None:
    if file is not None:
        assert file_of_command(command)[0] == file
        return
    with pytest.raises(PrivacyEvalError):
        file_of_command(command)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("ffmpeg -ss 1 -i a.wav -f wav -", "-ss 1"),
        ("ffmpeg -i a.wav -af volume=2 -f wav -", "-af volume=2"),
        ("ffmpeg -i a.wav -ac 2 -f wav -", "-ac 2"),
        ("ffmpeg -i a.wav -acodec pcm_f32le -f wav -", "-acodec pcm_f32le"),
        ("ffmpeg -i a.wav -ar 8000 -ar 16000 -f wav -", "-ar 16000"),
        ("ffmpeg -i a.wav -i b.wav -f wav -", "-i b.wav"),
        ("ffmpeg -i a.wav -f wav - -ar 8000", "- -ar"),
        ("ffmpeg -i a.wav -f flac -", "-f flac"),
        ("ffmpeg -i a b.wav -f wav -", "b.wav"),
        ("ffmpeg -ar 8000 -i a.wav -f wav -", "expected a file"),
        ("ffmpeg -i a.wav -", "wav"),
        ("ffmpeg -i a.wav -f wav out.wav", "out.wav"),
        ("sox a.wav -t wav -b 24 -", "-b 24"),
        ("sox a.wav -t wav -c 2 -", "-c 2"),
        ("sox a.wav -t wav - speed 1.1", "speed 1.1"),
        ("mpg123 -q -w - a.mp3", "flac, sox, ffmpeg"),
    ],
)
def test_what_is_not_understood_is_named(tmp_path: Path, command: str, named: str) -> None:
    ramp(tmp_path)
    with pytest.raises(PrivacyEvalError, match=r"wav.scp:1: u .*--allow-pipes") as caught:
        reader_of(tmp_path, f"u {command} |")
    assert named in str(caught.value)


#: Of ffmpeg 5.1.9 and sox 14.4.2, made by tests/data/decoders/make.sh.
DECODED = Path(__file__).resolve().parents[1] / "data" / "decoders"


@pytest.mark.parametrize(
    ("command", "output", "most"),
    [
        (LHOTSE.format("stereo.flac", 16000, 1), "channel1.wav", 0.0),
        ("sox stereo.flac -t wav - remix 2", "channel1.wav", 0.0),
        ("ffmpeg -v error -i stereo.flac -ac 1 -f wav -", "mean.wav", 0.001),
        ("sox stereo.flac -t wav -c 1 -", "mean.wav", 0.001),
        ("ffmpeg -i deep.flac -f wav -", "deep.wav", 0.001),
        (LHOTSE.format("mono.flac", 8000, 0), "rate8000.wav", 0.03),
        ("sox mono.flac -t wav -r 8k -b 16 -c 1 -", "rate8000.wav", 0.03),
        (LHOTSE.format("mono.flac", 22050, 0), "rate22050.wav", 0.03),
    ],
)
def test_conversions_equal_those_of_the_program(
    tmp_path: Path, command: str, output: str, most: float
) -> None:
    """Up to half a step where it mixes or rounds; in the band that both resamplers pass."""
    write(tmp_path / "wav.scp", f"u {command} |\n")
    reader = AudioReader(tmp_path, base=DECODED, allow_outside=True)
    found, (expected, rate) = reader.read("u"), soundfile.read(DECODED / output, dtype="int16")
    assert found.rate == rate and found.samples.dtype == np.int16 and reader.remarks == {}
    assert found.samples.shape == expected.shape
    differ = np.sqrt(((found.samples - expected.astype(float)) ** 2).mean())
    assert differ <= most * np.sqrt((expected.astype(float) ** 2).mean())
    assert reader.seconds("u") == pytest.approx(found.samples.size / rate, abs=1 / rate)


def test_nothing_is_run_and_segments_are_cut_after_conversion(tmp_path: Path) -> None:
    both = np.stack([RAMP, RAMP // 2], axis=1)
    ramp(tmp_path, "a.flac", both)
    lines = [f"{c} {LHOTSE.format('a.flac', 8000, c)} |" for c in (0, 1)]
    reader = reader_of(tmp_path, *lines, segments="u 1 0.02 0.05\nv 0 0.05 -1\n")
    whole = resample(RAMP // 2, 16000, 8000)
    assert np.abs(reader.read("u").samples - whole[160:400]).max() <= 0.5
    assert reader.read("v").samples.size == 400 and reader.read("v").rate == 8000


@pytest.mark.parametrize("command", ["ffmpeg -i a.wav -ac 1 -f wav -", "sox a.wav -t wav -c 1 -"])
def test_more_than_two_channels_are_not_mixed(tmp_path: Path, command: str) -> None:
    """ffmpeg weights those of surround sound."""
    ramp(tmp_path, samples=np.stack([RAMP] * 3, axis=1))
    with pytest.raises(PrivacyEvalError, match="mixes 3 channels.*choose one"):
        reader_of(tmp_path, f"u {command} |").read("u")


@pytest.mark.parametrize("rate", [900, 999999])
def test_rates_that_no_speech_has_are_refused(tmp_path: Path, rate: int) -> None:
    ramp(tmp_path)
    with pytest.raises(PrivacyEvalError, match=f"to {rate} Hz"):
        reader_of(tmp_path, f"u ffmpeg -i a.wav -ar {rate} -f wav - |").read("u")


def test_recordings_of_another_length_than_reco2dur_are_named(tmp_path: Path) -> None:
    """lhotse exports copies at another speed with the command of the original."""
    ramp(tmp_path)
    write(tmp_path / "reco2dur", "a 0.1\na_sp0.9 0.2\nb 0.13\n")
    reader = reader_of(tmp_path, "a a.wav", "a_sp0.9 a.wav", "b a.wav")
    assert len(list(reader)) == 3
    assert reader.remarks == {OTHER_LENGTH: ["a_sp0.9"]}


def test_segments_of_five_columns_choose_the_channel(tmp_path: Path) -> None:
    """From 0, as in Kaldi's extract-segments."""
    ramp(tmp_path, samples=np.stack([RAMP, RAMP // 2], axis=1))
    segments = "u r 0.01 0.02 1\nv r 0.01 0.02 0\n"
    for mix in (False, True):
        reader = reader_of(tmp_path, "r a.wav", segments=segments, mix=mix)
        assert (reader.read("u").samples == RAMP[160:320] // 2).all()
        assert (reader.read("v").samples == RAMP[160:320]).all()
        assert reader.remarks == {} and reader.target("u") != reader.target("v")


def test_seconds_are_those_of_the_samples(tmp_path: Path) -> None:
    ramp(tmp_path)
    segments = "u1 r 0.01 0.02\nu2 r 0.05 -1\nu3 r 0 0.5\nu4 r 0.05 0.13\n"
    reader = reader_of(tmp_path, "r a.wav", segments=segments)
    for name, found in reader:
        assert reader.seconds(name) == found.samples.size / found.rate


def test_other_commands_run_on_request_only(tmp_path: Path) -> None:
    ramp(tmp_path)
    line = "u touch ran; cat a.wav |"
    with pytest.raises(PrivacyEvalError, match=r"wav.scp:1: u .*--allow-pipes"):
        reader_of(tmp_path, line)
    assert not (tmp_path / "ran").exists()
    reader = reader_of(tmp_path, line, allow_pipes=True)
    assert (reader.read("u").samples == RAMP).all()
    assert (tmp_path / "ran").exists()
    with pytest.raises(PrivacyEvalError, match="status 3"):
        reader_of(tmp_path, "u cat a.wav; exit 3 |", allow_pipes=True).read("u")


def test_a_streamed_file_has_no_size(tmp_path: Path) -> None:
    content = bytearray(ramp(tmp_path))
    for size in (0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFF000):
        content[40:44] = struct.pack("<I", size)
        write(tmp_path / "a.wav", bytes(content))
        assert (reader_of(tmp_path, "u a.wav").read("u").samples == RAMP).all()


def test_segments(tmp_path: Path) -> None:
    ramp(tmp_path, "a.flac")
    segments = "u1 r 0.01 0.02\nu2 r 0.05 -1\nu3 r 0 0.5\n"
    reader = reader_of(tmp_path, "r a.flac", segments=segments)
    assert (reader.read("u1").samples == RAMP[160:320]).all()
    assert (reader.read("u2").samples == RAMP[800:]).all()
    assert (reader.read("u3").samples == RAMP).all()


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ("u1 r 0.2 0.3\n", r"segments:1: u1 .*begins at 0.2 s"),
        ("u1 r 0.01 0.8\n", r"segments:1: u1 .*ends at 0.8 s"),
        ("u1 r 1e308 1.1e308\n", r"segments:1: u1 .*begins at 1e\+308 s"),
        ("u1 r 1e308 -1\n", r"segments:1: u1 .*begins at 1e\+308 s"),
        ("u1 r 0 1e308\n", r"segments:1: u1 .*ends at 1e\+308 s"),
        ("u1 r 0.01 0.0100001\n", r"segments:1: u1 .*no samples"),
        ("u1 r 0 1_0\n", r"segments:1: u1: expected seconds"),
        ("u1 r 0 \u0661\n", r"segments:1: u1: expected seconds"),
        ("u1 r 0.02 0.01\n", r"segments:1: u1: expected seconds"),
        ("u1 r nan 0.01\n", r"segments:1: u1: expected seconds"),
        ("u1 r x 0.01\n", r"segments:1: u1: expected seconds"),
        ("u1 r -3 0.01\n", r"segments:1: u1: expected seconds"),
        ("u1 q 0 0.01\n", r"segments:1: u1: recording 'q'"),
        ("u1 r 0 0.01\nu1 r 0 0.01\n", r"segments:2: u1: duplicate"),
        ("u1 r 0\n", r"segments:1: expected 4 fields"),
        ("u1 r 0 0.01 2\n", r"segments:1: u1 .*no channel 2"),
        ("u1 r 0 0.01 A\n", r"segments:1: u1: expected a channel"),
        ("u1 r 0 0.01 0 0\n", r"segments:1: expected 4 fields"),
        ("u1 r 0 0.01 0\nu2 r 0 0.01\n", r"segments:2: expected 5 fields"),
    ],
)
def test_bad_segments_are_refused(tmp_path: Path, segments: str, message: str) -> None:
    ramp(tmp_path)
    with pytest.raises(PrivacyEvalError, match=message):
        reader_of(tmp_path, "r a.wav", segments=segments).read("u1")


def patched(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


DAMAGED = {
    "cut": (lambda c: c[:-100], "truncated"),
    "without samples": (lambda c: c[:36], "truncated"),
    "within the header": (lambda c: c[:20], "truncated"),
    "empty": (lambda c: b"", "an empty file"),
    "a mark of FLAC": (lambda c: b"fLaC", "truncated"),
    "text": (lambda c: b"RIFF is a word", "no audio"),
    "more samples than bytes": (lambda c: patched(c, 40, b"\xff\xff\xff\x70"), "truncated"),
    "samples of no size": (lambda c: patched(c, 40, b"\0\0\0\0"), "damaged"),
    "fewer samples than bytes": (lambda c: patched(c, 40, b"\x10\0\0\0"), "damaged"),
    "another rate": (lambda c: patched(c, 24, b"\x40\x1f"), "contradicts itself"),
    "other channels": (lambda c: patched(c, 22, b"\2"), "contradicts itself"),
    "no channels": (lambda c: patched(c, 22, b"\0"), "contradicts itself"),
    "another format": (lambda c: patched(c, 20, b"\x55"), "not supported|contradicts"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_wav_is_refused(tmp_path: Path, name: str) -> None:
    change, message = DAMAGED[name]
    write(tmp_path / "b.wav", change(ramp(tmp_path)))
    with pytest.raises(PrivacyEvalError, match=rf"wav.scp:1: u \(b.wav\): .*({message})"):
        reader_of(tmp_path, "u b.wav").read("u")


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "PCM_S8"])
@pytest.mark.parametrize(
    "change",
    [
        lambda c: c[:-200],
        lambda c: patched(c, 22, b"\0\0\x0a\0"),
        lambda c: c[:60],
        lambda c: c[:30],
        lambda c: patched(c, 22, b"\xff\xff\xff\xff"),  # samples
        lambda c: patched(c, 22, b"\0\0\0\x10"),
        lambda c: patched(c, 30, b"\1\2\3"),  # MD5
        lambda c: patched(c, len(c) - 300, b"\0\0\0"),
        lambda c: patched(c, 18, b"\xff"),  # rate
    ],
)
def test_damaged_flac_is_refused(tmp_path: Path, change: object, subtype: str) -> None:
    noise = np.random.default_rng(0).integers(-9999, 9999, 16000).astype(np.int16)
    content = ramp(tmp_path, "a.flac", noise, subtype=subtype)
    write(tmp_path / "b.flac", change(content))  # type: ignore[operator]
    with pytest.raises(PrivacyEvalError, match=r"wav.scp:1: u \(b.flac\): "):
        reader_of(tmp_path, "u b.flac").read("u")


def test_samples_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    for value in (np.nan, np.inf, 3e38):
        ramp(tmp_path, samples=np.float32([0, value, 0]), subtype="FLOAT")
        with pytest.raises(PrivacyEvalError, match="NaN or infinite"):
            reader_of(tmp_path, "u a.wav").read("u")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.wav")
    (tmp_path / "folder.wav").mkdir()
    for name, message in (
        ("fifo.wav", "regular"),
        ("folder.wav", "directory|regular"),
        ("none.wav", "No such file"),
    ):
        with pytest.raises(PrivacyEvalError, match=rf"wav.scp:1: u \({name}\): .*({message})"):
            reader_of(tmp_path, f"u {name}").read("u")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["u"], "expected <utterance> <file>"),
        (["u a.wav", "u b.wav"], "wav.scp:2: duplicate"),
        (["u | cat"], "command that is written to"),
        (["u a.ark:17"], "within an archive"),
    ],
)
def test_bad_lines_are_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        reader_of(tmp_path, *lines)


def test_too_long_audio_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ramp(tmp_path)
    monkeypatch.setattr(audio, "MAX_SAMPLES", 1000)
    with pytest.raises(PrivacyEvalError, match="over 1000 samples"):
        reader_of(tmp_path, "u a.wav").read("u")


def test_blocks_of_a_long_file_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Constant samples are compressed beyond what is set aside at first.
    samples = np.repeat(np.int16([1, -7, 300]), 40000)
    ramp(tmp_path, "a.flac", samples)
    monkeypatch.setattr(audio, "_BLOCK_SAMPLES", 999)
    assert (reader_of(tmp_path, "u a.flac").read("u").samples == samples).all()


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
def test_resampling_keeps_a_tone(rate: int) -> None:
    tone = 1000 * np.sin(2 * np.pi * 440 * np.arange(rate // 2) / rate)
    got = resample(tone, rate, 16000)
    expected = 1000 * np.sin(2 * np.pi * 440 * np.arange(8000) / 16000)
    assert got.size == 8000
    assert got[200:-200] == pytest.approx(expected[200:-200], abs=8)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 160])
def test_resampled_instants_are_before_the_end(size: int) -> None:
    assert resample(np.ones(size, np.int16), 48000, 16000).size == -(-size // 3)
    assert resample(np.ones(size, np.int16), 44100, 16000).size == -(-size * 160 // 441)


def test_golden_edge_files(tmp_path: Path) -> None:
    sizes = {n: a.samples.size for n, a in AudioReader(SPEECH) if n.startswith("edge-s")}
    assert sizes["edge-samples79"] == 79
    assert sizes["edge-silpad"] == 72000


def test_a_streamed_file_is_converted_and_has_no_other_length(tmp_path: Path) -> None:
    content = bytearray(ramp(tmp_path))
    content[40:44] = struct.pack("<I", 0xFFFFFFFF)
    write(tmp_path / "a.wav", bytes(content))
    write(tmp_path / "reco2dur", "u 0.1\nv 0.1\n")
    reader = reader_of(tmp_path, "u ffmpeg -i a.wav -ar 8000 -f wav - |", "v a.wav")
    assert [found.samples.size for _, found in reader] == [800, 1600]
    assert reader.remarks == {}


def test_speech_exchanged_after_its_check_is_not_read(tmp_path: Path) -> None:
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("secret")
    (tree / "u1.wav").write_text("speech")
    write(tree / "wav.scp", "u1 u1.wav\n")
    reader = AudioReader(tree, base=tree)
    (tree / "u1.wav").unlink()
    (tree / "u1.wav").symlink_to(secret)
    with pytest.raises(PrivacyEvalError, match="--allow-outside"):
        reader.read("u1")
