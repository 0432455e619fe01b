"""Speakers, sessions, genders and words of a folder of speech, and trials designed from them."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from support import Run, cli, lines_to, ok, recording_to, refused

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.speech.trees.from_audio import PROTOCOL
from privacy_eval.speech.trees.speech_folder import read_speech_folder

#: Chapters of each speaker, with their numbers of utterances.
CHAPTERS = {"11": {"1": 3, "2": 2, "3": 1}, "12": {"7": 2, "8": 4}, "13": {"5": 5}, "14": {"6": 4}}
GENDERS = {"11": "F", "12": "F", "13": "M", "14": "M"}


def touch(folder: Path, *names: str) -> None:
    for name in names:
        recording_to(folder / name)


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
    run = ok(design(corpus))
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
    assert [f.name for f in protocol.folders] == ["speech_trials_all"]
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
    ok(cli("data-dir", "--original", corpus / "dev", "--out", corpus.parent / "tree"))
    names = {path.name for path in (corpus.parent / "tree/data").iterdir()}
    assert names == {"speech_enrolls", "speech_trials_f", "speech_trials_all"}
    assert not load_protocol(PROTOCOL, base=corpus.parent / "tree").folders


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
    touch(tmp_path, *files, "p1/.hidden.wav")
    lines_to(tmp_path / "notes.txt", ["no recording"])
    level = None if files[0].count("/") == 1 else 1
    speech = read_speech_folder(tmp_path, level=level)
    assert list(speech.audio) == ids and not speech.gender_of and not speech.said
    first = files[0].split("/")
    assert speech.speaker_of[ids[0]] == first[0].replace(" ", "_")
    assert speech.session_of[ids[0]] == "/".join(first[1:-1]).replace(" ", "_")
    lines_to(tmp_path / "text", (f"{name} words" for name in ids))
    assert read_speech_folder(tmp_path, level=level).said == dict.fromkeys(ids, "words")
    lines_to(tmp_path / "text", (f"{name} words" for name in ids[1:]))
    partial = read_speech_folder(tmp_path, level=level)
    assert not partial.said and ids[0] in partial.remarks[0]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ([], "no audio"),
        (["a.wav", "s/b.wav"], "outside of a speaker"),
        (["a.wav", "b.wav"], "--utt2spk"),
        (["p/p_1_mic1.flac", "p/p_1_mic2.flac", "q/q_1_mic1.flac"], "p_1"),
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


def layout(root: Path, places: Iterable[str], *names: str) -> None:
    """Files in every folder, with {0} for its own name, {1} for that of the folder above, ..."""
    for place in places:
        folders = place.split("/")[::-1]
        touch(root / place, *(f"{name.format(*folders)}.wav" for name in names))


@pytest.mark.parametrize(
    ("places", "name", "level", "speakers"),
    [
        # Parallel sentences; letters, of which not all are genders; actors are speakers.
        (["alice", "bob", "carol"], "sentence", 1, "alice bob carol"),
        (["d", "e", "f"], "s", 1, "d e f"),
        (["Actor_01", "Actor_02"], "03-01-01-01-01-01", 1, "Actor_01 Actor_02"),
        # VCTK.
        (["wav48/p225", "wav48/s5"], "{0}_00", 2, "p225 s5"),
        (
            ["VCTK-Corpus-0.92/wav48_silence_trimmed/p225", "VCTK-Corpus-0.92/wav48/p9"],
            *("{0}_", 3, "p225 p9"),
        ),
        # All files are named by the folders of one level, below none but groups and parts.
        (["A1/monday", "A1/friday", "B2/monday"], "{1}-{0}", 1, "A1 B2"),
        (["0001/Angry/train", "0002/Sad/test"], "{2}_00", 1, "0001 0002"),
        (["female/train/u7", "male/test/u8"], "{0}_x", 3, "u7 u8"),
        # LibriTTS, MLS, and LibriSpeech in other folders.
        (["train-clean-100/84/121", "dev-clean/85/7"], "{1}_{0}_000007_00", None, "84 85"),
        (["train/audio/84/121", "test/audio/85/7"], "{1}_{0}_", None, "84 85"),
        (["any/84/121", "thing/85/7"], "{1}-{0}-", None, "84 85"),
    ],
)
def test_layouts_that_tell_their_speakers(
    tmp_path: Path, places: list[str], name: str, level: int | None, speakers: str
) -> None:
    layout(tmp_path, places, f"{name}1", f"{name}2")
    speech = read_speech_folder(tmp_path)
    assert sorted(set(speech.speaker_of.values())) == speakers.split()
    assert speech.level == level and not speech.caveats
    assert all(u.startswith(s) for u, s in speech.speaker_of.items())
    assert speech.speakers.endswith(f": {len(speakers.split())}: {speakers.replace(' ', ', ')}")


@pytest.mark.parametrize(
    ("places", "name", "named"),
    [
        # TIMIT, VoxCeleb, IEMOCAP.
        (["DR1/FABC0", "DR1/MDEF0", "DR2/FGHI0"], "SA", "level 2: 3 folders: FABC0, FGHI0, MDEF0"),
        (["dev/wav/id1/v", "test/wav/id2/v"], "0", "level 4: 2 folders of 1 name: v"),
        (
            ["Session1/sentences/wav/Ses01F_impro01", "Session2/sentences/wav/Ses02M_x"],
            "{0}_F",
            "4",
        ),
        # Other names than in the files, as of AISHELL, L2-ARCTIC, TORGO, m-ailabs and AMI.
        (["train/S0002", "dev/S0003"], "BAC009{0}W", "level 2: 2 folders: S0002, S0003"),
        (["ABA/wav", "SKA/wav"], "arctic_a", "level 1: 2 folders: ABA, SKA"),
        (["F/F01/Session1/wav", "M/M01/Session1/wav"], "0", "level 2: 2 folders: F01, M01"),
        (["by_book/female/ann/emma/wavs", "by_book/male/bob/faust/wavs"], "{1}_", "level 3"),
        (["ES2002a/audio", "ES2003b/audio"], "{1}.Headset-", "ES2002a, ES2003b"),
        # Named by two levels, or below folders that may be speakers.
        (["A/A_01", "B/B_02"], "{0}_", "level 2: 2 folders: A_01, B_02"),
        (["ann/genesis", "bob/exodus"], "{0}_", "level 1: 2 folders: ann, bob"),
        (["p1/s", "p12/s"], "p12_", "level 1: 2 folders: p1, p12"),
        # Folders that are no speakers.
        *(
            (names.split(), "x", "look like no speakers")
            for names in (
                *(
                    "f m",
                    "Female MALE",
                    "boys girls",
                    "TRAIN dev test",
                    "DR1 dr2",
                    "Session1 Session2",
                ),
                *(
                    "Ses01 Ses02",
                    "part1 part2",
                    "disc1 CD2",
                    "batch_1 batch_2",
                    "wav audio",
                    "clips",
                ),
                *(
                    "clean other",
                    "train-clean-100 test-other",
                    "original anonymized",
                    "enroll trials",
                ),
                *("OAF_angry YAF_sad", "p1_session1 p1_session2", "p1 p2 p3 test", "north South"),
                *(
                    "ann-20080201-x bob-20090101-y",
                    "2023-01-05 2023-01-06",
                    "English French",
                    "visit1 visit2",
                ),
                *("ES2002a IS1000b", "Bmr001 Bed002", "monday friday", "patients controls"),
            )
        ),
    ],
)
def test_layouts_that_do_not_are_refused_with_all_levels(
    tmp_path: Path, places: list[str], name: str, named: str
) -> None:
    layout(tmp_path, places, f"{name}1", f"{name}2")
    with pytest.raises(PrivacyEvalError, match=re.escape(named)) as caught:
        read_speech_folder(tmp_path)
    assert all(text in str(caught.value) for text in ("level 1: ", "--speaker-level", "--utt2spk"))


@pytest.mark.parametrize(
    ("table", "lines", "genders"),
    [
        ("spk2gender", ["A f", "B m", "C m"], {"A": "f", "B": "m"}),
        ("utt2spk", ["x A", "y B"], {}),
        ("SPEAKERS.TXT", [";ID", "A | F | x", "B | M | x"], {"A": "f", "B": "m"}),
        (
            "speaker-info.txt",
            ["ID  AGE  GENDER", "A  23  F  English", "B 40 M"],
            {"A": "f", "B": "m"},
        ),
    ],
)
def test_a_list_in_the_folder_tells_the_level(
    tmp_path: Path, table: str, lines: list[str], genders: dict[str, str]
) -> None:
    layout(tmp_path, ["x/A/s", "x/B/s", "y/B/t"], "1", "2")
    lines_to(tmp_path / table, lines)
    speech = read_speech_folder(tmp_path)
    assert speech.level == 2 and speech.gender_of == genders
    assert speech.speaker_of["B-y-t-1"] == "B" and speech.session_of["B-y-t-1"] == "y/t"
    (recurring,) = speech.caveats
    assert "B (x/B and y/B)" in recurring
    touch(tmp_path, "x/D/s/1.wav")
    with pytest.raises(PrivacyEvalError, match="level 2: 4 folders of 3 names: A, B, D"):
        read_speech_folder(tmp_path)


def test_names_that_differ_in_blanks_alone_are_said_to_be_one(tmp_path: Path) -> None:
    touch(tmp_path, "A B/1.wav", "A_B/2.wav", "C/1.wav")
    (recurring,) = read_speech_folder(tmp_path).caveats
    assert recurring.endswith(f"1: A_B ({tmp_path.name}/A B and {tmp_path.name}/A_B)")


def test_a_list_that_names_others_than_the_folders_is_not_overruled(tmp_path: Path) -> None:
    layout(tmp_path, ["A", "B"], "1", "2")
    lines_to(tmp_path / "utt2spk", ["1 A", "2 C"])
    with pytest.raises(PrivacyEvalError, match="utt2spk.*--utt2spk.*: 1: B"):
        read_speech_folder(tmp_path)


def test_first_versions_of_vctk_list_numbers(tmp_path: Path) -> None:
    layout(tmp_path, ["p225", "p226"], "{0}_1")
    lines_to(tmp_path / "speaker-info.txt", ["ID  AGE  GENDER", "225  23  F  English", "226 22 M"])
    assert read_speech_folder(tmp_path).gender_of == {"p225": "f", "p226": "m"}


def levelled(tmp_path: Path, places: list[str], *more: object) -> Run:
    layout(tmp_path / "in", places, "1", "2", "3")
    return cli("data-dir", "--original", tmp_path / "in", "--out", tmp_path / "tree", *more)


def test_speakers_of_a_level_are_printed_and_written(tmp_path: Path) -> None:
    run = ok(levelled(tmp_path, [f"DR{n % 3}/S{n}" for n in range(6)], "--speaker-level", 2))
    assert "speakers (level 2, folders): 6: S0, S1, S2, S3, S4, ..." in run.out
    assert "Speakers (level 2, folders): 6: S0" in (tmp_path / "tree" / PROTOCOL).read_text()
    assert set(utterances(tmp_path / "tree", "speech_trials_all").values()) == {
        f"S{n}" for n in range(6)
    }
    assert "two speakers" not in run.err and "check that these are speakers" not in run.err


@pytest.mark.parametrize("more", [(), ("--anonymized",), ("--training",)])
def test_the_level_is_that_of_all_folders(tmp_path: Path, more: tuple[str, ...]) -> None:
    speakers = "tu" if more == ("--training",) else "ab"
    layout(tmp_path / "other", [f"x/{s}/y" for s in speakers], "1", "2", "3")
    level = ("--speaker-level", 2, *(word for o in more for word in (o, tmp_path / "other")))
    run = ok(levelled(tmp_path, ["x/a/y", "x/b/y"], *level))
    assert "two speakers carry no claim" in run.err
    assert ("training speakers (level 2, folders): 2: t, u" in run.out) == (speakers == "tu")
    anonymized = tmp_path / "tree/data/speech_enrolls_anon/wav.scp"
    assert anonymized.is_file() == (more == ("--anonymized",))


def test_an_anonymized_copy_has_the_level_that_a_list_of_the_original_tells(tmp_path: Path) -> None:
    layout(tmp_path / "anonymized", ["x/a/y", "x/b/y", "x/c/y"], "1", "2", "3")
    lines_to(tmp_path / "spk2gender", ["a f", "b f", "c m"])
    lists = ("--spk2gender", tmp_path / "spk2gender", "--anonymized", tmp_path / "anonymized")
    run = levelled(tmp_path, ["x/a/y", "x/b/y", "x/c/y"], *lists)
    assert run.code == 0 and "speakers (level 2, folders): 3: a, b, c" in run.out, run.err


@pytest.mark.parametrize(
    ("places", "level", "named"),
    [
        (["f/01", "f/02", "m/01"], 2, "different people (rename them, or list the speakers"),
        (["DR1/a", "DR1/b", "DR2/a"], 2, "1: a (DR1/a and DR2/a)"),
        (["p/x", "q"], 2, "outside of a speaker's folder, which is at level 2"),
        (["p/x", "p/y"], 1, "two speakers"),
    ],
)
def test_levels_that_hold_no_speakers_are_refused(
    tmp_path: Path, places: list[str], level: int, named: str
) -> None:
    run = levelled(tmp_path, places, "--speaker-level", level)
    assert run.code == 1 and named in run.err and "Traceback" not in run.err


def test_a_level_that_looks_wrong_is_taken_with_a_caution_in_the_report(tmp_path: Path) -> None:
    run = ok(levelled(tmp_path, ["Session1/a", "Session2/a", "Session3/b"], "--speaker-level", 1))
    remarks = load_protocol(PROTOCOL, base=tmp_path / "tree").remarks
    assert (
        "these are speakers: Session1, Session2, Session3" in remarks[0] and remarks[0] in run.err
    )


def test_a_speaker_of_several_sessions_above_is_one(tmp_path: Path) -> None:
    places = [f"Session{n}/{who}" for n in (1, 2) for who in "abc"]
    run = levelled(tmp_path, places, "--speaker-level", 2)
    assert run.code == 0 and "3: a (Session1/a and Session2/a), b" in run.err, run.err
    enrolled = utterances(tmp_path / "tree", "speech_enrolls")
    assert enrolled == {f"{who}-Session1-{n}": who for who in "abc" for n in (1, 2, 3)}


def test_a_level_does_not_make_chapters_of_training_speech_speakers(tmp_path: Path) -> None:
    layout(tmp_path / "other", ["84/121", "85/7"], "{1}-{0}-1", "{1}-{0}-2")
    level = ("--speaker-level", 2, "--training", tmp_path / "other")
    refused(levelled(tmp_path, ["x/a", "x/b", "x/c"], *level), "2: 84, 85", "--training-utt2spk")


def test_a_level_is_not_given_with_a_list_of_all_speakers(tmp_path: Path) -> None:
    lists = ("--utt2spk", tmp_path / "x", "--speaker-level", 1)
    assert levelled(tmp_path, ["p", "q"], *lists).code == 2


def test_a_list_of_groups_is_taken_with_a_caution(tmp_path: Path) -> None:
    layout(tmp_path / "in", ["x"], *(f"u{n}" for n in range(6)))
    lines_to(tmp_path / "utt2spk", [f"u{n} {'fm'[n % 2]}" for n in range(6)])
    lists = ("--original", tmp_path / "in", "--utt2spk", tmp_path / "utt2spk")
    run = cli("data-dir", *lists, "--out", tmp_path / "tree")
    assert run.code == 0 and "these are speakers: f, m" in run.err, run.err
    assert "speakers (utt2spk): 2: f, m" in run.out


def test_speakers_that_look_alike_and_originals_for_anonymized_are_cautions(tmp_path: Path) -> None:
    layout(tmp_path / "audio", ["Anna", "anna", "bert"], "1", "2", "3")
    run = cli(
        *("data-dir", "--original", tmp_path / "audio", "--out", tmp_path / "tree"),
        *("--anonymized", tmp_path / "audio"),
    )
    assert run.code == 0 and "look alike: Anna, anna" in run.err, run.err
    assert "nothing is anonymized" in run.err
    assert "look alike: Anna, anna" in (tmp_path / "tree/protocol.yaml").read_text()
