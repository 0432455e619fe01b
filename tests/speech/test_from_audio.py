"""A tree of folders of audio: data folders, trials, protocol, and what is refused."""

import shlex
import shutil
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from model_support import needs_model
from support import ODD_NAME, Run, cli, lines_to, ok, recording_to, refused, snapshot

from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.speech.audio import AudioReader, resample
from privacy_eval.speech.trees.from_audio import PROTOCOL

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
    refused(audio.make("--enroll", 1), "enrolls")
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
    refused(audio.make("--enroll", 5), "4: a, b, c, d")


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
    refused(audio.by_gender("--text", text), "no transcript", next(iter(UTTERANCES)))


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


@needs_model("ge2e")
def test_an_export_of_lhotse_is_a_tree(data: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    done = ok(made(data, tree, "--encoders", "ge2e", "--anonymized", data))
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
    refused(made(data, tmp_path / "tree"), "reco2dur", "b-2_sp0.9")
    assert not (tmp_path / "tree" / "protocol.yaml").exists()


@pytest.mark.parametrize("role", ["original", "training"])
def test_a_data_folder_without_speakers_is_named(data: Path, tmp_path: Path, role: str) -> None:
    other = shutil.copytree(data, tmp_path / "other")
    lacking = data if role == "original" else other
    (lacking / "utt2spk").unlink()
    done = refused(made(data, tmp_path / "tree", "--training", other), str(lacking / "utt2spk"))
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
    refused(made(data, tmp_path / "tree"), "cannot name a file")


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
    done = ok(made(original, tmp_path / "tree", *(x for pair in options.items() for x in pair)))
    assert "decomposed" in done.err
    lines = (tmp_path / "tree/data/speech_trials_all/wav.scp").read_text().splitlines()
    assert {line.split()[0] for line in lines} <= PEOPLE.keys()
    assert AudioReader(tmp_path / "tree/data/speech_trials_all", allow_outside=True).read(
        lines[0].split()[0]
    )
    folders = named(tmp_path / "folders", of_files, level=True)
    spk2gender = listed(tmp_path / "spk2gender", of_lists, genders)
    ok(made(folders, tmp_path / "tree2", "--spk2gender", spk2gender))


def test_two_names_of_one_form_are_named(tmp_path: Path) -> None:
    original = named(named(tmp_path / "wav", "NFC"), "NFD")
    utt2spk = listed(tmp_path / "utt2spk", "NFC", [f"{u} {s}" for u, s in PEOPLE.items()])
    refused(made(original, tmp_path / "tree", "--utt2spk", utt2spk), "Zo\u00eb_0", "rename")


@pytest.mark.parametrize(("of_files", "of_lists"), FORMS[:2])
def test_a_wav_scp_may_have_the_other_form(tmp_path: Path, of_files: str, of_lists: str) -> None:
    named(tmp_path / "wav", of_files)
    listed(tmp_path / "wav.scp", of_lists, [f"{u} wav/{u}.wav" for u in PEOPLE])
    reader = AudioReader(tmp_path, base=tmp_path)
    assert all(audio.samples.size == 1600 for _, audio in reader)
