"""Data folders anonymized by the McAdams coefficient: lists, resuming, damaged speech."""

import re
from pathlib import Path

import numpy as np
import pytest
import soundfile
from speech_support import SPEECH
from support import Run, cli, ok, refused, snapshot, write

from privacy_eval.speech.audio import AudioReader
from privacy_eval.speech.mcadams import derive_coefficient

LISTS = {"text": "u1 a\nu2 b\nu3 c\n", "spk2gender": "s1 f\ns2 m\n", "trials": "s1 u1 target\n"}


@pytest.fixture(name="data")
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three utterances of two speakers."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    for name in ("u1", "u2", "u3"):
        samples = (generator.normal(size=4000) * 3000).astype(np.int16)
        soundfile.write(tmp_path / f"{name}.flac", samples, 16000)
    data = tmp_path / "data" / "set_a"
    write(data / "wav.scp", "u1 u1.flac\nu2 flac -cds u2.flac |\nu3 u3.flac\n")
    write(data / "utt2spk", "u1 s1\nu2 s1\nu3 s2\n")
    write(data / "spk2utt", "s1 u1 u2\ns2 u3\n")
    for name, text in LISTS.items():
        write(data / name, text)
    return data


def mcadams(data: Path, *options: object) -> Run:
    return cli("mcadams", "--data", data, "--out", "out", *options)


def coefficients() -> dict[str, float]:
    lines = (line.split() for line in Path("out/utt2mcadams").read_text().splitlines())
    return {name: float(value) for name, value in lines}


@pytest.mark.parametrize(("variant", "said"), [("2020", "averaged"), ("2022", "only the first")])
def test_several_channels_are_said(data: Path, variant: str, said: str) -> None:
    for name in ("u1", "u3"):
        samples, rate = soundfile.read(f"{name}.flac", dtype="int16")
        soundfile.write(f"{name}.flac", np.stack([samples, samples], axis=1), rate)
    run = ok(mcadams(data, "--variant", variant, "--coefficient", 0.8))
    assert re.search(f"several channels, {said}.*: 2 .u1, u3", run.err), run.err


def test_a_data_folder_is_written(data: Path) -> None:
    assert mcadams(data).code == 0
    names = {n for n in snapshot(Path("out")) if "/." not in f"/{n}"}
    wavs = {f"wav/u{n}.wav" for n in (1, 2, 3)}
    copied = {"utt2spk", "spk2utt", "text", "spk2gender"}
    assert names == wavs | copied | {"wav.scp", "utt2mcadams"}
    for name in copied:
        assert (Path("out") / name).read_bytes() == (data / name).read_bytes()
    reader = AudioReader(Path("out"), base=Path())
    assert reader.ids == ("u1", "u2", "u3")
    for _, audio in reader:
        assert (audio.samples.dtype, audio.samples.size) == (np.int16, 4000)
        assert abs(audio.samples.astype(int)).max() in (32767, 32768)
    assert set(coefficients().values()) == {0.8}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--coefficient", "0.7"], ["0.7", "0.7", "0.7"]),
        (["--variant", "2022"], ["s1", "s1", "s2"]),
        (["--variant", "2022", "--seed", 5], ["s1/5", "s1/5", "s2/5"]),
        (["--variant", "2022", "--level", "utterance"], ["u1", "u2", "u3"]),
        (["--variant", "2022", "--coefficient", "0.6"], ["0.6", "0.6", "0.6"]),
    ],
)
def test_coefficients(data: Path, options: list[object], expected: list[str]) -> None:
    assert mcadams(data, *options).code == 0
    for value, source in zip(coefficients().values(), expected, strict=True):
        name, _, seed = source.partition("/")
        drawn = derive_coefficient(name, seed=int(seed or 0)) if name[0] in "su" else float(source)
        assert value == pytest.approx(drawn, abs=1e-6)


def test_coefficients_of_data_sets_differ_on_request(data: Path) -> None:
    mcadams(data, "--variant", "2022", "--per-set")
    expected = derive_coefficient("s1", data_set="set_a")
    assert coefficients()["u1"] == pytest.approx(expected, abs=1e-6)


def test_golden_speech_is_converted_by_the_verb(tmp_path: Path) -> None:
    options = ("--variant", "2022", "--coefficient", "0.8")
    done = ok(cli("mcadams", "--data", SPEECH, "--out", tmp_path / "out", *options))
    for name in ("367-130732-0000", "edge-silpad"):
        got, rate = soundfile.read(tmp_path / "out" / "wav" / f"{name}.wav", dtype="int16")
        expected, _ = soundfile.read(SPEECH / f"mcadams/2022_a0.8/{name}.flac", dtype="int16")
        assert rate == 16000
        assert (got == expected).all()
    assert "shorter than a frame" in done.err


def test_what_is_current_is_kept_and_what_changed_is_converted_again(data: Path) -> None:
    mcadams(data)
    before, stamps = (
        snapshot(Path("out")),
        {p: p.stat().st_mtime_ns for p in Path("out/wav").iterdir()},
    )
    assert "0 converted, 2 current" in mcadams(data).out
    assert stamps == {p: p.stat().st_mtime_ns for p in Path("out/wav").iterdir()}
    Path("out/wav/u3.wav").write_bytes(b"RIFF")  # a killed writer, or an edit
    assert "1 converted, 1 current" in mcadams(data).out
    assert snapshot(Path("out")) == before
    soundfile.write("u1.flac", np.arange(4000, dtype=np.int16), 16000)
    assert "1 converted, 1 current" in mcadams(data).out
    assert "2 converted, 0 current" in mcadams(data, "--variant", "2022").out


def test_damaged_speech_is_named_and_the_rest_is_done(data: Path) -> None:
    Path("u1.flac").write_bytes(b"fLaC")
    refused(mcadams(data), "wav.scp:1: u1 (u1.flac): truncated")
    assert sorted(p.name for p in Path("out/wav").glob("*.wav")) == ["u3.wav"]
    assert not Path("out/wav.scp").exists()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("utt2spk", "u1 s1\nu2 s1\n", "1 utterances are not in utt2spk: u3"),
        ("utt2spk", "u1 s1\nu2 s1\nu3 s2\nu4 s2\n", "1 utterances are not in wav.scp"),
        ("wav.scp", "u1 u1.flac\nu2 u2.flac\nu3 none.flac\n", "wav.scp:3: u3 (none.flac)"),
        ("wav.scp", "u1 u1.flac\nu2 u2.flac\nu3 touch ran |\n", "--allow-pipes"),
    ],
)
def test_incomplete_data_is_refused(data: Path, file: str, text: str, message: str) -> None:
    write(data / file, text)
    refused(mcadams(data), message)
    assert not Path("out/wav.scp").exists()
    assert not Path("ran").exists()


@pytest.mark.parametrize("name", ["../u3", ".u3", "u" * 300])
def test_ids_that_cannot_name_a_file_are_refused(data: Path, name: str) -> None:
    for file in ("utt2spk", "wav.scp"):
        write(data / file, (data / file).read_text().replace("u3 ", f"{name} "))
    refused(mcadams(data), "cannot name a file")
    assert not Path("out").exists()


@pytest.mark.parametrize("value", ["0", "-1", "nan", "11", "x"])
def test_impossible_coefficients_are_wrong_usage(data: Path, value: str) -> None:
    assert mcadams(data, f"--coefficient={value}").code == 2


def test_data_are_not_written_over(data: Path) -> None:
    refused(cli("mcadams", "--data", data, "--out", data), "another folder")
