"""Pitch correlation against the challenges' own function, and its verb."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support import ROOT, cli, csv_rows, printed, refused

from privacy_eval import PrivacyEvalError
from privacy_eval.speech import utility
from privacy_eval.speech.utility import mismatched_pairs, pitch_correlation, read_track

PITCH = ROOT / "tests" / "data" / "golden" / "pitch"


def rows_of(name: str) -> list[dict[str, str]]:
    return csv_rows(PITCH / name)


def test_golden_tracks() -> None:
    rows = rows_of("expected_f0_tracks.csv")
    assert len(rows) == 10
    for row in rows:
        original, anonymized = (
            read_track(PITCH / f"{row['case']}.{speech}.f0") for speech in SIDES
        )
        assert original.size == int(row["frames_original"])
        expected = pytest.approx(float(row["correlation"]), abs=1e-9)
        assert pitch_correlation(original, anonymized) == expected, row["case"]


def test_long_tracks_are_correlated_likewise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utility, "_MOST_DIRECT", 0)
    test_golden_tracks()
    test_pitch_by_hand()
    track = np.random.default_rng(1).uniform(80, 400, 200_000)  # direct: minutes
    track[:9_000] = track[-9_000:] = 0
    assert pitch_correlation(track, np.roll(track, 7_000)) == pytest.approx(1)


def speech_like(random: np.random.Generator) -> list[float]:
    """A track of voiced stretches and pauses, and a melody, that are its own."""
    voiced: list[bool] = []
    while len(voiced) < 500:
        voiced += [True] * random.integers(10, 60) + [False] * random.integers(5, 40)
    melody = 150 * np.exp(np.cumsum(random.normal(0, 0.01, len(voiced))))
    return [float(f) if v else 0.0 for f, v in zip(melody.clip(80, 400), voiced, strict=True)]


def of_set(folder: Path, tracks: list[list[float]]) -> Path:
    folder.mkdir()
    for i, track in enumerate(tracks):
        (folder / f"u{i:02}.f0").write_text("".join(f"{f}\n" for f in track))
    return folder


def test_speech_without_the_speaker_has_the_value_by_chance(tmp_path: Path) -> None:
    """Known truth: tracks that have nothing of the original are correlated, as the lag is chosen;
    the value by chance tells them from the same tracks, of which 1 is kept."""
    random = np.random.default_rng(5)
    original = of_set(tmp_path / "o", [speech_like(random) for _ in range(30)])
    other = of_set(tmp_path / "a", [speech_like(random) for _ in range(30)])
    found = {}
    for name, folder in (("other", other), ("same", original)):
        run = cli("pitch", "--original", original, "--anonymized", folder, "--format", "json")
        found[name] = json.loads(run.out)
    assert found["other"]["mean"] > 0.1  # far above 0, and alone it looks like a quarter is kept
    assert found["other"]["mean"] == pytest.approx(found["other"]["chance"], abs=0.04)
    assert found["same"]["mean"] == pytest.approx(1) and found["same"]["chance"] < 0.3


def test_a_single_utterance_has_no_value_by_chance(folders: dict[str, Path]) -> None:
    assert mismatched_pairs({"u": ""}) == mismatched_pairs({}) == []
    for folder in folders.values():
        (folder / "longer_anon.f0").unlink()
    assert json.loads(cli("pitch", *options(folders), "--format", "json").out)["chance"] is None
    assert "chance" not in cli("pitch", *options(folders)).out


@pytest.mark.parametrize(("size", "is_said"), [(119, False), (121, True), (82, True), (84, False)])
def test_lengths_that_differ_are_counted(tmp_path: Path, size: int, is_said: bool) -> None:
    track = [100.0 + i % 7 for i in range(200)]
    original = of_set(tmp_path / "o", [track[:100], track[:100]])
    anonymized = of_set(tmp_path / "a", [track[:size], track[:100]])
    words = ("pitch", "--original", original, "--anonymized", anonymized)
    run = cli(*words, "--format", "json")
    assert json.loads(run.out)["stretched"] == ["u00"] * is_said
    assert ("20 %" in run.err and "u00" in run.err) == is_said


SIDES = ("original", "anonymized")


def test_pitch_by_hand() -> None:
    # Frequencies out of 75 to 500 Hz count as unvoiced.
    assert pitch_correlation([0, 100, 0, 0], [0, 100, 74.9, 501]) == 1
    # The lag: the same contour, two frames later.
    assert pitch_correlation([0, 0, 100, 200, 0, 0], [100, 200, 0, 0, 0, 0]) == 1
    assert pitch_correlation([100, 100], [100, 100]) == 0
    for track in ([], [[100.0]], [np.nan], [-1.0]):
        with pytest.raises(PrivacyEvalError, match="original pitch track"):
            pitch_correlation(track, [100.0])


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Folders of tracks of two utterances."""
    made = {}
    for speech in SIDES:
        made[speech] = tmp_path / speech
        made[speech].mkdir()
        for case in ("shifted_7", "longer_anon"):
            shutil.copy(PITCH / f"{case}.{speech}.f0", made[speech] / f"{case}.f0")
    return made


def options(folders: dict[str, Path]) -> tuple[object, ...]:
    return tuple(part for speech, path in folders.items() for part in (f"--{speech}", path))


def test_verb_on_tracks(folders: dict[str, Path]) -> None:
    plain = json.loads(cli("pitch", *options(folders), "--format", "json").out)
    expected = {r["case"]: float(r["correlation"]) for r in rows_of("expected_f0_tracks.csv")}
    values = [expected[case] for case in ("shifted_7", "longer_anon")]
    assert sorted(plain["utterances"].values()) == pytest.approx(sorted(values), abs=1e-9)
    assert plain["mean"] == pytest.approx(np.mean(values), abs=1e-9)
    assert plain["std"] == pytest.approx(np.std(values), abs=1e-9)


def test_verb_names_what_is_missing_or_damaged(folders: dict[str, Path]) -> None:
    path = folders["anonymized"] / "shifted_7.f0"
    path.write_text(path.read_text() + "nan\n")
    refused(cli("pitch", *options(folders)), f"{path}:201")
    path.unlink()
    refused(cli("pitch", *options(folders)), "shifted_7")
    assert cli("pitch", *options(folders), "--allow-missing").code == 0


def test_links_out_of_a_folder_of_tracks_are_not_read(folders: dict[str, Path]) -> None:
    path = folders["anonymized"] / "shifted_7.f0"
    elsewhere = path.replace(folders["anonymized"].parent / "elsewhere.f0")
    path.symlink_to(elsewhere)
    refused(cli("pitch", *options(folders)), "--allow-outside")
    assert cli("pitch", *options(folders), "--allow-outside").code == 0


def test_tracks_have_plain_numbers(folders: dict[str, Path]) -> None:
    for text in ("1_0", "\u0661"):
        (folders["anonymized"] / "shifted_7.f0").write_text(f"{text}\n")
        refused(cli("pitch", *options(folders)), "not a frequency")


@pytest.fixture
def audio(tmp_path: Path) -> dict[str, Path]:
    """Data folders of three utterances."""
    made = {}
    for speech in SIDES:
        made[speech] = tmp_path / f"{speech}_trials_f"
        made[speech].mkdir()
        for utterance in ("u1", "u2", "u3"):
            shutil.copy(PITCH / f"{utterance}.{speech}.wav", made[speech] / f"{utterance}.wav")
        lines = (f"{u} {made[speech] / u}.wav\n" for u in ("u1", "u2", "u3"))
        (made[speech] / "wav.scp").write_text("".join(lines))
    return made


def test_verb_on_audio(audio: dict[str, Path]) -> None:
    plain = json.loads(cli("pitch", *options(audio), "--format", "json").out)
    for row in rows_of("expected_wav.csv"):
        expected = pytest.approx(float(row["correlation_from_wav_file"]), abs=1e-9)
        assert plain["utterances"][row["utterance"]] == expected
    line = (PITCH / "expected_line.txt").read_text()
    run = cli("pitch", *options(audio), "--name", "toy_trials_f")
    values = [row["Value"] for row in printed(run.out)]
    assert line.split()[0] in run.out and values[2] == f"{plain['chance']:.3f}"
    assert [f"{float(x):.3f}" for x in re.findall("=([0-9.]+)", line)] == values[:2]


def test_the_channels_that_are_not_read_are_said(audio: dict[str, Path]) -> None:
    for speech in SIDES:
        assert "several channels" not in cli("pitch", *options(audio)).err
        path = audio[speech] / "u2.wav"
        samples, rate = soundfile.read(path, dtype="int16")
        soundfile.write(path, np.stack([samples, samples], axis=1), rate)
        (line,) = [x for x in cli("pitch", *options(audio)).err.splitlines() if "channels" in x]
        assert f"{audio[speech]}: several channels, only the first is read" in line
        soundfile.write(path, samples, rate)


def test_without_praat_the_extra_is_named(
    audio: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "parselmouth", None)
    refused(cli("pitch", *options(audio)), "-m pip install praat-parselmouth")


@pytest.mark.parametrize("n", [2, 3, 7, 40, 700])
@pytest.mark.parametrize("n_speakers", [1, 2, 5])
def test_mismatched_pairs(n: int, n_speakers: int) -> None:
    speaker_of = {f"u{i}": f"s{i % n_speakers}" for i in range(n)}
    pairs = mismatched_pairs(speaker_of)
    assert len(pairs) >= min(n, 2) and len(set(pairs)) == len(pairs)
    assert all(a != b for a, b in pairs)
    if len(set(speaker_of.values())) > 1:
        assert all(speaker_of[a] != speaker_of[b] for a, b in pairs)
    assert pairs == mismatched_pairs(dict(reversed(speaker_of.items())))
