"""Kaldi's data folders as speech, as lhotse exports them; names that macOS decomposed."""

from __future__ import annotations

import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support import Run, cli, lines_to

from privacy_eval.speech.audio import AudioReader, resample

NOISE = np.random.default_rng(0).integers(-9999, 9999, (16000, 2)).astype(np.int16)
IDS = ("a-1", "a-2", "b-1", "b-2")
#: As lhotse 1.33.0 exports everything but WAV files of one channel.
FFMPEG = "ffmpeg -threads 1 -i {} -ar {} -map_channel 0.0.{}  -f wav -threads 1 pipe:1 |"


@pytest.fixture(name="data")
def _data(tmp_path: Path) -> Path:
    """A flac, a wav, the second channel of a stereo file, and a resampled recording."""
    files = {"a-1": "a-1.flac", "a-2": "a-2.wav", "b-1": "b-1.flac", "b-2": "b-2.flac"}
    for name, file in files.items():
        samples = NOISE if name == "b-1" else NOISE[:, 0]
        soundfile.write(tmp_path / file, samples, 16000)
    rates = {"a-1": 16000, "b-1": 16000, "b-2": 8000}
    paths = {name: tmp_path / file for name, file in files.items()}
    commands = {u: FFMPEG.format(paths[u], r, int(u == "b-1")) for u, r in rates.items()}
    data = tmp_path / "data"
    lines_to(data / "wav.scp", [f"{u} {commands.get(u, paths[u])}" for u in IDS])
    lines_to(data / "segments", [f"{u} {u} {0.25 if u == 'a-2' else 0.0} 1.0" for u in IDS])
    lines_to(data / "reco2dur", [f"{u} 1.0" for u in IDS])
    lines_to(data / "utt2spk", [f"{u} {u[0]}" for u in IDS])
    lines_to(data / "text", [f"{u} GOOD MORNING" for u in IDS])
    return data


def made(original: Path, tree: Path, *more: object) -> Run:
    return cli("data-dir", "--original", original, "--out", tree, *more)


def test_an_export_of_lhotse_is_a_tree(data: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    done = made(data, tree, "--encoders", "ge2e", "--anonymized", data)
    assert done.code == 0, done.err
    assert "2 utterances of 2 speakers" in done.out and "a, b" in done.out
    text = [(tree / f"data/speech_{n}/text").read_text() for n in ("enrolls", "trials_all")]
    assert sorted("".join(text).splitlines()) == [f"{u} GOOD MORNING" for u in IDS]
    found = {}
    for name in ("speech_enrolls", "speech_trials_all"):
        found |= dict(AudioReader(tree / "data" / name, base=tree))
    assert {u: audio.rate for u, audio in found.items()} == dict.fromkeys(IDS, 16000) | {
        "b-2": 8000
    }
    assert (found["a-1"].samples == NOISE[:, 0]).all()
    assert (found["a-2"].samples == NOISE[4000:, 0]).all()
    assert (found["b-1"].samples == NOISE[:, 1]).all()
    assert np.abs(found["b-2"].samples - resample(NOISE[:, 0], 16000, 8000)).max() <= 0.5
    again = made(data, tree, "--encoders", "ge2e", "--anonymized", data)
    assert again.code == 0 and "already exists" in again.out


def test_plain_files_are_linked_and_stale_ones_removed(data: Path, tmp_path: Path) -> None:
    (data / "segments").unlink()
    tree = tmp_path / "tree"
    assert made(data, tree).code == 0
    link = tree / "audio_of_wav_scp/original/a-2.wav"
    assert link.is_symlink() and link.resolve() == tmp_path / "a-2.wav"
    (tree / "audio_of_wav_scp/original/old.flac").write_bytes(b"fLaC")
    assert made(data, tree).code == 0
    assert not (tree / "audio_of_wav_scp/original/old.flac").exists()


def test_a_copy_at_another_speed_is_refused(data: Path, tmp_path: Path) -> None:
    """lhotse 1.33.0 names the file of the original, without its transform."""
    for name, line in (
        ("wav.scp", f"b-2_sp0.9 {FFMPEG.format(tmp_path / 'b-2.flac', 16000, 0)}"),
        ("segments", "b-2_sp0.9 b-2_sp0.9 0.0 1.11125"),
        ("reco2dur", "b-2_sp0.9 1.11125"),
        ("utt2spk", "b-2_sp0.9 b"),
    ):
        with (data / name).open("a") as file:
            file.write(f"{line}\n")
    done = made(data, tmp_path / "tree")
    assert done.code == 1 and "reco2dur" in done.err and "b-2_sp0.9" in done.err
    assert not (tmp_path / "tree" / "protocol.yaml").exists()


@pytest.mark.parametrize("role", ["original", "training"])
def test_a_data_folder_without_speakers_is_named(data: Path, tmp_path: Path, role: str) -> None:
    other = shutil.copytree(data, tmp_path / "other")
    lacking = data if role == "original" else other
    (lacking / "utt2spk").unlink()
    done = made(data, tmp_path / "tree", "--training", other)
    assert done.code == 1 and str(lacking / "utt2spk") in done.err
    assert "audio_of_wav_scp" not in done.err


def test_files_in_the_tree_that_a_wav_scp_names_stay(data: Path, tmp_path: Path) -> None:
    """The new tree is where the audio is, below audio/original."""
    place = tmp_path / "tree/audio/original"
    lines_to(place / "wav.scp", [f"{u} {place / u}.wav" for u in IDS])
    lines_to(place / "utt2spk", [f"{u} {u[0]}" for u in IDS])
    for number, utterance in enumerate(IDS):
        soundfile.write(place / f"{utterance}.wav", NOISE[number:, 0], 16000)
    before = {path: path.read_bytes() for path in place.iterdir()}
    assert made(place, tmp_path / "tree").code == 0
    assert {path: path.read_bytes() for path in place.iterdir()} == before


@pytest.mark.parametrize("name", ["../x", "a/b", ".x"])
def test_ids_that_cannot_name_a_file_are_refused(data: Path, tmp_path: Path, name: str) -> None:
    lines_to(data / "wav.scp", [f"{name} {tmp_path / 'a-1.flac'}"])
    (data / "segments").unlink()
    done = made(data, tmp_path / "tree")
    assert done.code == 1 and "cannot name a file" in done.err


# Names

PEOPLE = {f"{s}_{n}": s for s in ("Zo\u00eb", "J\u00f6rg") for n in range(4)}
FORMS = [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")]


def named(folder: Path, form: str, *, level: bool = False) -> Path:
    """Write a recording of everybody."""
    for utterance, speaker in PEOPLE.items():
        place = folder / unicodedata.normalize(form, speaker) if level else folder
        place.mkdir(parents=True, exist_ok=True)
        name = unicodedata.normalize(form, f"{utterance}.wav")
        soundfile.write(place / name, NOISE[:1600, 0], 16000)
    return folder


def listed(path: Path, form: str, lines: list[str]) -> Path:
    return lines_to(path, [unicodedata.normalize(form, line) for line in lines])


@pytest.mark.parametrize(("of_files", "of_lists"), FORMS)
def test_decomposed_names_match_composed_ones(tmp_path: Path, of_files: str, of_lists: str) -> None:
    original = named(tmp_path / "wav", of_files)
    utt2spk = listed(tmp_path / "utt2spk", of_lists, [f"{u} {s}" for u, s in PEOPLE.items()])
    genders = ["Zo\u00eb f", "J\u00f6rg m", "x m"]
    options = {
        "--anonymized": named(tmp_path / "anonymized", of_lists),
        "--text": listed(tmp_path / "text", of_files, [f"{u} good" for u in PEOPLE]),
        "--utt2spk": utt2spk,
    }
    done = made(original, tmp_path / "tree", *(x for pair in options.items() for x in pair))
    assert done.code == 0, done.err
    assert "decomposed" in done.err
    lines = (tmp_path / "tree/data/speech_trials_all/wav.scp").read_text().splitlines()
    assert {line.split()[0] for line in lines} <= PEOPLE.keys()
    assert AudioReader(tmp_path / "tree/data/speech_trials_all", allow_outside=True).read(
        lines[0].split()[0]
    )
    folders = named(tmp_path / "folders", of_files, level=True)
    spk2gender = listed(tmp_path / "spk2gender", of_lists, genders)
    done = made(folders, tmp_path / "tree2", "--spk2gender", spk2gender)
    assert done.code == 0, done.err


def test_two_names_of_one_form_are_named(tmp_path: Path) -> None:
    original = named(named(tmp_path / "wav", "NFC"), "NFD")
    utt2spk = listed(tmp_path / "utt2spk", "NFC", [f"{u} {s}" for u, s in PEOPLE.items()])
    done = made(original, tmp_path / "tree", "--utt2spk", utt2spk)
    assert done.code == 1 and "Zo\u00eb_0" in done.err and "rename" in done.err


@pytest.mark.parametrize(("of_files", "of_lists"), FORMS[:2])
def test_a_wav_scp_may_have_the_other_form(tmp_path: Path, of_files: str, of_lists: str) -> None:
    named(tmp_path / "wav", of_files)
    listed(tmp_path / "wav.scp", of_lists, [f"{u} wav/{u}.wav" for u in PEOPLE])
    reader = AudioReader(tmp_path, base=tmp_path)
    assert all(audio.samples.size == 1600 for _, audio in reader)
