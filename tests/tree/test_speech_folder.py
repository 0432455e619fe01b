"""Speakers, sessions, genders and words of a folder of speech, and trials designed from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Run, cli, lines_to

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.tree.from_audio import PROTOCOL
from privacy_eval.tree.speech_folder import read_speech_folder

#: Chapters of each speaker, with their numbers of utterances.
CHAPTERS = {"11": {"1": 3, "2": 2, "3": 1}, "12": {"7": 2, "8": 4}, "13": {"5": 5}, "14": {"6": 4}}
GENDERS = {"11": "F", "12": "F", "13": "M", "14": "M"}


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


@pytest.fixture(name="corpus")
def _corpus(tmp_path: Path) -> Path:
    """A corpus in LibriSpeech's layout."""
    root = tmp_path / "LibriSpeech"
    for speaker, chapters in CHAPTERS.items():
        for chapter, count in chapters.items():
            ids = [f"{speaker}-{chapter}-{n:04d}" for n in range(count)]
            folder = root / "dev" / speaker / chapter
            touch(folder, *(f"{name}.flac" for name in ids))
            lines_to(folder / f"{speaker}-{chapter}.trans.txt", (f"{n} WORDS OF {n}" for n in ids))
    rows = [f"{s} | {g} | dev | 8.0 | A | Name" for s, g in GENDERS.items()]
    lines_to(root / "SPEAKERS.TXT", ["; a comment", *rows, "99 | M | other | 1 | B"])
    return root


def design(corpus: Path, *more: object) -> Run:
    return cli("data-dir", "--original", corpus, "--out", corpus.parent / "tree", *more)


def utterances(tree: Path, name: str) -> dict[str, str]:
    lines = (tree / "data" / name / "utt2spk").read_text().splitlines()
    return dict((line.split()[0], line.split()[1]) for line in lines)


@pytest.mark.parametrize("where", [".", "dev"])
def test_the_layout_of_librispeech(corpus: Path, where: str) -> None:
    speech = read_speech_folder(corpus / where)
    assert list(speech.audio) == sorted(speech.audio) and len(speech.audio) == 21
    assert speech.speaker_of["12-8-0003"] == "12" and speech.session_of["12-8-0003"] == "8"
    assert speech.gender_of == {speaker: gender.lower() for speaker, gender in GENDERS.items()}
    assert speech.said["14-6-0000"] == "WORDS OF 14-6-0000" and not speech.remarks


def test_enrollment_and_trials_are_of_different_sessions(corpus: Path) -> None:
    run = design(corpus)
    assert run.code == 0, run.err
    tree = corpus.parent / "tree"
    enrolled, tried = (utterances(tree, f"speech_{n}") for n in ("enrolls", "trials_all"))
    assert enrolled.keys().isdisjoint(tried) and len(enrolled) + len(tried) == 21
    of_session = {name.rpartition("-")[0] for name in enrolled}
    assert of_session == {"11-1", "12-7", "13-5", "14-6"}
    shared = of_session & {name.rpartition("-")[0] for name in tried}
    assert shared == {"13-5", "14-6"} and "2 speakers of 4 with a single session" in run.err
    assert "4 speakers" in run.err and "EER of 20 %" in run.err


def test_trials_are_within_a_gender_and_across(corpus: Path) -> None:
    assert design(corpus).code == 0
    tree = corpus.parent / "tree"
    pairs: dict[str, set[tuple[str, str]]] = {}
    for name in ("f", "m", "all"):
        speaker_of = utterances(tree, f"speech_trials_{name}")
        lines = (tree / f"data/speech_trials_{name}/trials").read_text().splitlines()
        trials = [line.split() for line in lines]
        assert all((e == speaker_of[u]) == (kind == "target") for e, u, kind in trials)
        pairs[name] = {(e, u) for e, u, _ in trials}
        assert len(pairs[name]) == len(trials)
    assert pairs["f"] | pairs["m"] < pairs["all"] and not pairs["f"] & pairs["m"]
    assert len(pairs["all"]) == 4 * len(utterances(tree, "speech_trials_all"))
    protocol = load_protocol(PROTOCOL, base=tree)
    assert protocol.gender_weights == {"f": 0, "m": 0}
    assert [f.name for f in protocol.folders()] == ["speech_trials_all"]
    assert "carry no claim" in protocol.remarks[0]
    assert (tree / "data/speech_trials_f/text").is_file()


def test_so_many_utterances_enroll_of_the_first_sessions(corpus: Path) -> None:
    assert design(corpus, "--enroll", 1).code == 0
    tree = corpus.parent / "tree"
    assert list(utterances(tree, "speech_enrolls")) == [
        *("11-1-0000", "12-7-0000", "13-5-0000", "14-6-0000")
    ]
    tried = utterances(tree, "speech_trials_all")
    assert "11-1-0001" not in tried and "11-2-0000" in tried and "13-5-0001" in tried


def test_a_lone_speaker_of_a_gender_is_tried_against_all(corpus: Path) -> None:
    lines_to(corpus / "dev/spk2gender", ["11 f", "12 f", "13 f", "14 m"])
    run = cli("data-dir", "--original", corpus / "dev", "--out", corpus.parent / "tree")
    assert run.code == 0, run.err
    names = {path.name for path in (corpus.parent / "tree/data").iterdir()}
    assert names == {"speech_enrolls", "speech_trials_f", "speech_trials_all"}
    assert not load_protocol(PROTOCOL, base=corpus.parent / "tree").folders()


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        (["p1/p1_001.wav", "p1/p1_002.wav", "p2/p2_001.flac"], ["p1_001", "p1_002", "p2_001"]),
        (["id1/x/1.wav", "id1/y/1.wav", "id2/x/1.WAV"], ["id1-x-1", "id1-y-1", "id2-x-1"]),
        (["A B/s 1/take 1.wav", "C/s/t.wav"], ["A_B-s_1-take_1", "C-s-t"]),
    ],
)
def test_folders_are_speakers_and_sessions(
    tmp_path: Path, files: list[str], ids: list[str]
) -> None:
    touch(tmp_path, *files, "p1/.hidden.wav", "notes.txt")
    speech = read_speech_folder(tmp_path)
    assert list(speech.audio) == ids and not speech.gender_of and not speech.said
    first = files[0].split("/")
    assert speech.speaker_of[ids[0]] == first[0].replace(" ", "_")
    assert speech.session_of[ids[0]] == "/".join(first[1:-1]).replace(" ", "_")
    lines_to(tmp_path / "text", (f"{name} words" for name in ids))
    assert read_speech_folder(tmp_path).said == dict.fromkeys(ids, "words")
    lines_to(tmp_path / "text", (f"{name} words" for name in ids[1:]))
    partial = read_speech_folder(tmp_path)
    assert not partial.said and ids[0] in partial.remarks[0]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ([], "no audio"),
        (["a.wav", "s/b.wav"], "outside of a speaker"),
        (["p/p_1_mic1.flac", "p/p_1_mic2.flac", "q/q_1_mic1.flac"], "p_1"),
        (["p/p_1.wav", "p/p_1.flac"], "two audio files"),
    ],
)
def test_other_folders_are_refused(tmp_path: Path, files: list[str], named: str) -> None:
    touch(tmp_path, *files)
    with pytest.raises(PrivacyEvalError, match=named):
        read_speech_folder(tmp_path)


@pytest.mark.parametrize(
    ("line", "named"), [("11 | X | dev", r"SPEAKERS.TXT:1"), ("11 | F | dev", "no gender")]
)
def test_damaged_lists_of_speakers_are_refused(corpus: Path, line: str, named: str) -> None:
    lines_to(corpus / "SPEAKERS.TXT", [line])
    with pytest.raises(PrivacyEvalError, match=named):
        read_speech_folder(corpus)
