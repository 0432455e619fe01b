"""The verbs quality and phones, with recognizers that are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from support import cli, ok, printed, refused

from privacy_eval import PrivacyEvalError
from privacy_eval.speech import utility
from privacy_eval.speech.audio import Audio

pytest.importorskip("kaldialign", reason="the extra wer is not installed")


class Quality:
    def rate(self, audio: Audio) -> dict[str, float]:
        if audio.samples.size < 200:
            raise PrivacyEvalError("too short")
        return dict.fromkeys(utility.QUALITIES, audio.samples.size / 1000)


class Recognizer:
    """A phone per hundred samples."""

    def recognize(self, audio: Audio) -> list[str]:
        return ["a"] * (audio.samples.size // 100)

    def pronounce(self, text: str) -> list[str]:
        return list(text.strip())


@pytest.fixture(name="data")
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(utility, "load_dnsmos", lambda cache: Quality().rate)
    monkeypatch.setattr(utility, "load_phone_recognizer", Recognizer)
    return folder(tmp_path / "data", {"s1-a": 1000, "s1-b": 3000, "s2-a": 2000})


def folder(path: Path, sizes: dict[str, int]) -> Path:
    path.mkdir()
    for name, size in sizes.items():
        soundfile.write(path / f"{name}.wav", np.ones(size, np.int16), 16000)
    (path / "wav.scp").write_text("".join(f"{n} {path}/{n}.wav\n" for n in sizes))
    (path / "utt2spk").write_text("".join(f"{n} {n[:2]}\n" for n in sizes))
    return path


def result(*words: object) -> dict[str, Any]:
    run = ok(cli(*words, "--allow-outside", "--format", "json"))
    plain: dict[str, Any] = json.loads(run.out)
    return plain


def test_quality(data: Path) -> None:
    plain = result("quality", "--data", data)
    names = ("sig", "bak", "ovrl", "p808", "level_db")
    assert plain["utterances"]["s1-b"] == dict.fromkeys(names, 3.0)
    assert plain["mean"] == dict.fromkeys(names, 2.0)
    interval = plain["interval"]["ovrl"]
    assert (interval["low"], interval["high"]) == (2.0, 2.0)  # both speakers have this mean
    rows = printed(cli("quality", "--data", data, "--allow-outside").out)
    assert [row["Value"] for row in rows] == [*["2.000"] * 4, "2.0 dB"] and len(rows) == len(names)


@pytest.mark.parametrize(("factor", "said"), [(4, "-12.0 dB"), (0.25, "+12.0 dB"), (1.9, "")])
def test_another_level_than_that_of_original_speech(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, said: str
) -> None:
    class Level(Quality):
        def rate(self, audio: Audio) -> dict[str, float]:
            return {**super().rate(audio), "level_db": utility.level_db(audio)}

    monkeypatch.setattr(utility, "load_dnsmos", lambda cache: Level().rate)
    folders = {}
    for name, peak in (("o", 1000 * factor), ("a", 1000)):
        folders[name] = folder(tmp_path / name, {"s1-a": 1000, "s2-a": 1000})
        for utterance in ("s1-a", "s2-a"):
            samples = np.full(1000, peak, np.int16)
            soundfile.write(folders[name] / f"{utterance}.wav", samples, 16000)
    words = ("quality", "--data", folders["a"], "--allow-outside")
    assert "level" not in cli(*words).err
    run = cli(*words, "--original", folders["o"])
    assert run.code == 0 and printed(run.out)[-1]["Value"] == "-30.3 dB"
    assert (f"at one level: {said}" in run.err) == bool(said)
    assert ("level" in run.err) == bool(said)


def test_intervals_need_speakers(data: Path) -> None:
    (data / "utt2spk").write_text("".join(f"{n} s\n" for n in ("s1-a", "s1-b", "s2-a")))
    assert result("quality", "--data", data)["interval"] is None
    (data / "utt2spk").unlink()
    assert result("quality", "--data", data)["interval"] is None
    other = data / "speakers"
    other.write_text("s1-a x\n")
    run = cli("quality", "--data", data, "--utt2spk", other, "--allow-outside")
    assert run.code == 1 and "no speaker of s1-b, s2-a" in run.err


def test_utterances_that_are_refused_are_named(data: Path) -> None:
    soundfile.write(data / "s1-b.wav", np.ones(100, np.int16), 16000)
    run = cli("quality", "--data", data, "--allow-outside")
    assert run.code == 1 and f"{data}/wav.scp:2: s1-b" in run.err and "too short" in run.err
    plain = result("quality", "--data", data, "--allow-missing")
    assert list(plain["utterances"]) == ["s1-a", "s2-a"] and plain["mean"]["sig"] == 1.5


@pytest.mark.parametrize("words", [("quality",), ("phones", "--reference-text", "TEXT")])
def test_averaged_channels_are_said(data: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    for name in ("s1-a", "s2-a"):
        soundfile.write(data / f"{name}.wav", np.ones((1000, 2), np.int16), 16000)
    (tmp_path / "text").write_text("s1-a a\ns1-b a\ns2-a a\n")
    words = tuple(str(tmp_path / "text") if word == "TEXT" else word for word in words)
    run = cli(*words, "--data", data, "--allow-outside")
    assert run.code == 0 and "several channels, averaged: 2 (s1-a, s2-a)" in run.err, run.err


def test_paths_and_commands_are_confined(data: Path) -> None:
    for verb, more in (("quality", ()), ("phones", ("--original", data))):
        assert cli(verb, "--data", data, *more, "--scp-base", data).code == 0
        (data / "wav.scp").write_text("s1-a touch x; cat s1-a.wav |\n")
        refused(cli(verb, "--data", data, *more, "--scp-base", data), "--allow-pipes")
        (data / "wav.scp").write_text("s1-a s1-a.wav\n")


def test_phones_of_a_text(data: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(f"s1-a {'a' * 10}\ns1-b {'a' * 29}b\ns2-a {'a' * 10}\n")
    plain = result("phones", "--data", data, "--reference-text", text)
    assert (plain["errors"], plain["phones"], plain["per"]) == (11, 50, 0.22)
    assert plain["utterances"]["s1-b"] == {"errors": 1, "phones": 30}
    assert (plain["interval"]["low"], plain["interval"]["high"]) == (1 / 40, 1.0)
    run = cli("phones", "--data", data, "--reference-text", text, "--allow-outside")
    (row,) = printed(run.out)
    assert (row["Value"], row["Errors"], row["Phones"]) == ("22.00 %", "11", "50")
    text.write_text(f"s1-a {'a' * 10}\n")
    run = cli("phones", "--data", data, "--reference-text", text, "--allow-outside")
    assert run.code == 1 and "2 utterances: s1-b, s2-a" in run.err
    plain = result("phones", "--data", data, "--reference-text", text, "--allow-missing")
    assert (plain["errors"], plain["phones"], plain["interval"]) == (0, 10, None)


def test_phones_of_the_original_speech(data: Path, tmp_path: Path) -> None:
    original = folder(tmp_path / "original", {"s1-a": 1100, "s1-b": 3000, "s2-a": 2000})
    plain = result("phones", "--data", data, "--original", original)
    assert (plain["errors"], plain["phones"]) == (1, 61)


def test_one_reference_is_needed(data: Path) -> None:
    assert cli("phones", "--data", data).code == 2
    assert cli("phones", "--data", data, "--original", data, "--reference-text", data).code == 2
