"""A tree of folders of audio: data folders, trials, protocol, and what is refused."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest
from support import ODD_NAME, Run, cli, lines_to, recording_to, snapshot

from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.tree.from_audio import PROTOCOL

SPEAKERS = {"a": "f", "b": "f", "c": "m", "d": "m"}
UTTERANCES = {f"{s}{n}": s for s in SPEAKERS for n in range(1, 6)}


class Audio:
    """Two folders of audio of the same utterances, and their lists."""

    def __init__(self, root: Path) -> None:
        self.root, self.tree = root, root / "tree"
        for folder in ("original", "anonymized"):
            self.add(folder, UTTERANCES)
        lines_to(root / "utt2spk", [f"{u} {s}" for u, s in reversed(UTTERANCES.items())])
        lines_to(root / "spk2gender", [f"{s} {g}" for s, g in SPEAKERS.items()])

    def add(self, folder: str, utterances: Iterable[str]) -> None:
        for number, name in enumerate(utterances):
            kind = "wav" if number % 2 else "FLAC"
            recording_to(self.root / folder / name[0] / f"{name}.{kind}")

    def train(self) -> tuple[str, Path, str, Path]:
        """Training speech of another speaker."""
        self.add("training", ["t1", "t2"])
        lines_to(self.root / "training_utt2spk", ["t1 t", "t2 t"])
        folder = self.root / "training"
        return "--training", folder, "--training-utt2spk", self.root / "training_utt2spk"

    def make(self, *more: object, anonymized: bool = True) -> Run:
        required = ("--original", self.root / "original", "--utt2spk", self.root / "utt2spk")
        other = ("--anonymized", self.root / "anonymized") if anonymized else ()
        return cli("data-dir", *required, *other, "--out", self.tree, *more)

    def by_gender(self, *more: object) -> Run:
        return self.make("--spk2gender", self.root / "spk2gender", *more)

    def lines(self, name: str) -> list[str]:
        return (self.tree / "data" / name).read_text().splitlines()


@pytest.fixture(name="audio")
def _audio(tmp_path: Path) -> Audio:
    return Audio(tmp_path / ODD_NAME)


def test_half_of_the_utterances_enroll_and_the_others_are_trials_within_a_gender(
    audio: Audio,
) -> None:
    assert audio.by_gender().code == 0
    assert audio.lines("speech_enrolls/enrolls") == [f"{s}{n}" for s in "abcd" for n in (1, 2)]
    assert audio.lines("speech_trials_f/trials") == [
        f"{e} {s}{n} {'target' if e == s else 'nontarget'}"
        for e in "ab"
        for s in "ab"
        for n in (3, 4, 5)
    ]
    assert audio.lines("speech_trials_m/utt2spk") == [
        f"{s}{n} {s}" for s in "cd" for n in (3, 4, 5)
    ]
    assert audio.lines("speech_trials_m/spk2utt") == ["c c3 c4 c5", "d d3 d4 d5"]
    assert audio.lines("speech_trials_m/spk2gender") == ["c m", "d m"]
    speakers, sessions = load_protocol("protocol.yaml", base=audio.tree).remarks
    assert "with 4 speakers and 3 trials of each" in speakers and "carry no claim" in speakers
    assert "sessions of the recordings are not known" in sessions
    for name in ("speech_enrolls", "speech_trials_f", "speech_trials_m"):
        lists = {p.name: p.read_bytes() for p in (audio.tree / "data" / name).iterdir()}
        copied = {p.name: p.read_bytes() for p in (audio.tree / f"data/{name}_anon").iterdir()}
        assert lists.pop("wav.scp") != copied.pop("wav.scp") and lists == copied


def test_every_utterance_has_the_path_of_its_audio(audio: Audio) -> None:
    assert audio.make().code == 0
    for folder, suffix in (("original", ""), ("anonymized", "_anon")):
        for line in audio.lines(f"speech_trials_all{suffix}/wav.scp"):
            utterance, path = line.split(" ", 1)
            assert Path(path).is_file() and Path(path).stem == utterance
            assert Path(path).is_relative_to(audio.root / folder)


def test_the_protocol_has_the_sets_of_the_tree(audio: Audio) -> None:
    audio.by_gender()
    protocol = load_protocol(PROTOCOL, base=audio.tree)
    sets = {name for t in protocol.trial_sets() for name in (t.enrollment_name, t.trials_name)}
    assert sets == {"speech_enrolls", "speech_trials_f", "speech_trials_m"}
    assert [part.asv_model for part in protocol.results_folders] == ["original"]
    text = (audio.tree / PROTOCOL).read_text()
    assert "half" in text and "same gender" in text


def test_without_genders_trials_are_against_all_speakers(audio: Audio) -> None:
    audio.make("--enroll", 4)
    assert len(audio.lines("speech_trials_all/trials")) == 4 * 4
    assert len(audio.lines("speech_enrolls/enrolls")) == 4 * 4
    assert "first 4 of" in (audio.tree / PROTOCOL).read_text()
    assert not (audio.tree / "data/speech_enrolls/spk2gender").exists()


@pytest.mark.parametrize("has_anonymized_training", [False, True])
def test_training_speech_makes_the_semi_informed_attacker(
    audio: Audio, has_anonymized_training: bool
) -> None:
    training = audio.train()
    if has_anonymized_training:
        audio.add("anonymized", ["t1", "t2"])
    assert audio.make(*training).code == 0
    assert audio.lines("speech_train/utt2spk") == ["t1 t", "t2 t"]
    assert (audio.tree / "data/speech_train_anon").is_dir() == has_anonymized_training
    parts = load_protocol(PROTOCOL, base=audio.tree).results_folders
    trained_on = {"original", "anonymized"} if has_anonymized_training else {"original"}
    assert {part.asv_model for part in parts} == trained_on


def test_the_next_command_fits_the_tree(audio: Audio) -> None:
    def next_words(done: Run) -> list[str]:
        return shlex.split(done.out.splitlines()[-1])

    words = next_words(audio.make())
    assert words[-1] == "--allow-outside" and "5" in words and str(audio.tree) in words
    assert (Path.cwd() / words[1]).is_file()
    audio.tree = audio.root / "stage 4"
    assert {"4", "--anonymizer"} <= set(next_words(audio.make(anonymized=False)))
    assert not (audio.tree / "data/speech_enrolls_anon").exists()
    assert list((audio.tree / "exp/models/asv").iterdir()) == []  # results go beside the model
    audio.tree = audio.root  # audio inside the tree
    assert "--allow-outside" not in next_words(audio.make())
    assert audio.lines("speech_enrolls/wav.scp")[0] == "a1 original/a/a1.FLAC"


def test_an_extractor_is_copied_and_needed_files_are_named(audio: Audio) -> None:
    model = audio.root / "model"
    model.mkdir()
    (model / "final.raw").write_bytes(b"net")
    done = audio.make("--model", model)
    assert "25 and 10000 frames" in done.out
    assert (audio.tree / "exp/models/asv/final.raw").read_bytes() == b"net"
    assert "plda" in done.out and "final.raw" not in done.out
    assert "extractors.md" in done.out
    (model / "final.raw").unlink()
    audio.tree = audio.root / "other"
    assert audio.make("--model", model).code == 1
    assert not audio.tree.exists()


def test_a_tree_is_kept_and_completed_but_never_overwritten(audio: Audio) -> None:
    audio.make()
    before = snapshot(audio.tree)
    assert "already exists" in audio.make().out
    (audio.tree / PROTOCOL).unlink()  # as a killed run leaves it
    assert audio.make().code == 0
    assert snapshot(audio.tree) == before
    changed = audio.make("--enroll", 1)
    assert changed.code == 1 and "enrolls" in changed.err
    assert snapshot(audio.tree) == before


def spoil(audio: Audio, how: str) -> None:
    original, utt2spk = audio.root / "original", audio.root / "utt2spk"
    if how == "no audio":
        for path in (audio.root / "anonymized/c").glob("c[34]*"):
            path.unlink()
    elif how == "two files":
        recording_to(original / "a1.wav")
    elif how == "unknown":
        recording_to(original / "zz.wav")
    elif how == "one utterance":
        lines_to(utt2spk, [*utt2spk.read_text().splitlines(), "e1 e"])
        lines_to(audio.root / "spk2gender", [f"{s} f" for s in "abcde"])
        recording_to(original / "e1.wav")
    elif how == "duplicate":
        lines_to(utt2spk, [*utt2spk.read_text().splitlines(), "a1 b"])
    elif how == "no gender":
        lines_to(audio.root / "spk2gender", ["a f", "b f", "c m"])
    elif how == "alone":
        lines_to(audio.root / "spk2gender", ["a f", "b f", "c f", "d m"])
    elif how == "path":
        (original / "a").rename(original / "a\nb")


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ("no audio", ["2 of 20 recordings", "--allow-unusable"]),
        ("two files", ["a1.wav", "a1.FLAC"]),
        ("unknown", ["original", "zz"]),
        ("one utterance", ["utt2spk", ": e"]),
        ("duplicate", ["utt2spk:21", "'a1'"]),
        ("no gender", ["spk2gender", ": d"]),
        ("alone", ["gender m", ": d"]),
        ("path", ["wav.scp", "rename"]),
    ],
)
def test_what_cannot_be_evaluated_is_refused(audio: Audio, how: str, named: list[str]) -> None:
    spoil(audio, how)
    done = audio.by_gender()
    assert done.code == 1
    assert all(piece in done.err for piece in named)
    assert not (audio.tree / PROTOCOL).exists() and not (audio.tree / "data").exists()


def test_speakers_with_too_few_utterances_are_counted(audio: Audio) -> None:
    done = audio.make("--enroll", 5)
    assert done.code == 1 and "4: a, b, c, d" in done.err


def test_speech_must_not_train_and_test_the_same_speaker(audio: Audio) -> None:
    training = audio.train()
    lines_to(audio.root / "training_utt2spk", ["t1 t", "t2 a"])
    done = audio.make(*training)
    assert done.code == 1 and "a" in done.err and not audio.tree.exists()
    assert audio.make(*training[2:]).code == 2


def test_transcripts_go_to_the_sets_of_original_speech(audio: Audio) -> None:
    text = audio.root / "text"
    lines_to(text, (f"{u} says  {u}" for u in [*UTTERANCES, "other"]))
    assert audio.by_gender("--text", text, *audio.train()).code == 0
    names = {p.parent.name for p in audio.tree.rglob("text")}
    assert names == {"speech_enrolls", "speech_trials_f", "speech_trials_m"}
    for name in names:
        spoken = [line.split()[0] for line in audio.lines(f"{name}/utt2spk")]
        assert audio.lines(f"{name}/text") == [f"{u} says  {u}" for u in spoken]
    lines_to(text, (f"{u} says {u}" for u in list(UTTERANCES)[1:]))
    done = audio.by_gender("--text", text)
    assert done.code == 1 and "no transcript" in done.err and next(iter(UTTERANCES)) in done.err
