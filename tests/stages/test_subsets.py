"""Data folders made of the challenge's: small trees laid out by hand."""

import fcntl
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import changed_protocol, lines_to, snapshot

from privacy_eval import PrivacyEvalError
from privacy_eval.products.freshness import NOTE, Outcome
from privacy_eval.protocol.protocol import Protocol, load_protocol, protocol_from_dict
from privacy_eval.stages.access import TreeAccess
from privacy_eval.stages.subsets import make_subsets

PROTOCOL = load_protocol("vpc2020")

# Who says what: by list of the challenge the utterances it names, of two women and two men.
LIBRI = {
    "enrolls": ["fa-1", "fb-1", "ma-1", "mb-1"],
    "trials_f": ["fa-2", "fa-3", "fb-2"],
    "trials_m": ["ma-2", "mb-2", "mb-3"],
}
VCTK = {
    "enrolls_mic2": ["fa-1", "fb-1", "ma-1", "mb-1"],
    "trials_f_mic2": ["fa-2", "fb-2"],
    "trials_m_mic2": ["ma-2", "mb-2"],
    "trials_f_common_mic2": ["fa-8", "fb-8"],
    "trials_m_common_mic2": ["ma-8", "mb-8"],
}
UNUSED = ["fa-9", "mb-9"]

# The sets of one split and what each holds, worked out from the two tables above.
LIBRI_SETS = {
    "enrolls": ["fa-1", "fb-1", "ma-1", "mb-1"],
    "trials_f": ["fa-2", "fa-3", "fb-2"],
    "trials_m": ["ma-2", "mb-2", "mb-3"],
    "trials_all": ["fa-2", "fa-3", "fb-2", "ma-2", "mb-2", "mb-3"],
    "asr": ["fa-2", "fa-3", "fb-2", "ma-2", "mb-2", "mb-3"],
}
VCTK_SETS = {
    "enrolls": ["fa-1", "fb-1", "ma-1", "mb-1"],
    "trials_f": ["fa-2", "fb-2"],
    "trials_m": ["ma-2", "mb-2"],
    "trials_f_common": ["fa-8", "fb-8"],
    "trials_m_common": ["ma-8", "mb-8"],
    "trials_f_all": ["fa-2", "fa-8", "fb-2", "fb-8"],
    "trials_m_all": ["ma-2", "ma-8", "mb-2", "mb-8"],
    "trials_all": ["fa-2", "fa-8", "fb-2", "fb-8", "ma-2", "ma-8", "mb-2", "mb-8"],
    "asr": ["fa-2", "fa-8", "fb-2", "fb-8", "ma-2", "ma-8", "mb-2", "mb-8"],
}


def sets(*splits: str, suffix: str = "") -> dict[str, list[str]]:
    """Every set that is to be made and its utterances."""
    return {
        f"{corpus}_{split}_{name}{suffix}": utterances
        for split in splits
        for corpus, found in (("libri", LIBRI_SETS), ("vctk", VCTK_SETS))
        for name, utterances in found.items()
    }


def speaker(utterance: str) -> str:
    return utterance[:2]


def folder_of(path: Path, utterances: list[str], *, kind: str = "original") -> Path:
    """A data folder as the challenge has them."""
    lines_to(path / "wav.scp", (f"{u} sox  {kind}/{u}.flac -t wav - |" for u in utterances))
    lines_to(path / "utt2spk", (f"{u} {speaker(u)}" for u in utterances))
    lines_to(path / "text", (f"{u} WORDS OF {u.upper()}" for u in utterances))
    speakers = list(dict.fromkeys(map(speaker, utterances)))
    spoken = {s: [u for u in utterances if speaker(u) == s] for s in speakers}
    lines_to(path / "spk2utt", (f"{s} {' '.join(u)}" for s, u in spoken.items()))
    lines_to(path / "spk2gender", (f"{s} {s[0]}" for s in speakers))
    return path


def trial_list(utterances: list[str]) -> list[str]:
    """All trials of enrolled speakers of one gender with some utterances, by speaker."""
    enrolled = [f"{utterances[0][0]}{letter}" for letter in "ab"]
    return [
        f"{s} {u} {'target' if s == speaker(u) else 'nontarget'}"
        for s, u in itertools.product(enrolled, utterances)
    ]


def challenge(root: Path, *splits: str) -> Path:
    """`data/` as it is before stage 3."""
    for split in splits or ("dev",):
        for corpus, lists in (("libri", LIBRI), ("vctk", VCTK)):
            folder = root / "data" / f"{corpus}_{split}"
            used = list(dict.fromkeys(itertools.chain(*lists.values())))
            folder_of(folder, sorted(used + UNUSED))
            for name, utterances in lists.items():
                trials = name.startswith("trials")
                lines_to(folder / name, trial_list(utterances) if trials else utterances)
    return root


def anonymized(root: Path, *names: str, suffix: str = "_anon") -> None:
    """Data folders as an anonymizer leaves them: no lists in them."""
    for name in names:
        folder_of(root / "data" / (name + suffix), sets("dev", "test")[name], kind="anonymized")


def by_anonymizer(root: Path, *splits: str, suffix: str = "_anon") -> None:
    """The sets that the challenge's anonymization gives."""
    for split in splits or ("dev",):
        anonymized(
            root,
            *(f"libri_{split}_{name}" for name in ("enrolls", "trials_f", "trials_m")),
            *(f"vctk_{split}_{name}" for name in ("enrolls", "trials_f_all", "trials_m_all")),
            suffix=suffix,
        )


def make(
    root: Path, *suffixes: str, protocol: Protocol = PROTOCOL, outside: bool = False
) -> Outcome:
    access = TreeAccess(root, root / "exp", allow_outside=outside)
    outcome = make_subsets(access, protocol, suffixes=suffixes or ("",))
    outcome.raise_failed()
    return outcome


def needs(outcome: Outcome) -> dict[str, str]:
    """What the folders need that could not be made."""
    return {name: error.where for name, error in outcome.missing.items()}


def check_folder(path: Path, utterances: list[str], *, kind: str = "original") -> None:
    """The files of a folder that `folder_of` would have written for these utterances."""
    speakers = list(dict.fromkeys(map(speaker, utterances)))
    spoken = [f"{s} {' '.join(u for u in utterances if speaker(u) == s)}" for s in speakers]
    expected = {
        "wav.scp": [f"{u} sox  {kind}/{u}.flac -t wav - |" for u in utterances],
        "utt2spk": [f"{u} {speaker(u)}" for u in utterances],
        "text": [f"{u} WORDS OF {u.upper()}" for u in utterances],
        "spk2utt": spoken,
        "spk2gender": [f"{s} {s[0]}" for s in speakers],
    }
    found = {
        file.name: file.read_text().splitlines()
        for file in path.iterdir()
        if file.name not in (NOTE, "enrolls", "trials")
    }
    assert found == expected, path


def inodes(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file and folder: where it is on the disk, when it changed, what it holds."""
    return {
        str(p): (p.stat().st_ino, p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"")
        for p in [root, *root.rglob("*")]
    }


# --- stage 3


def test_all_sets_of_the_challenge(tmp_path: Path) -> None:
    made = make(challenge(tmp_path, "dev", "test"))
    expected = sets("dev", "test")
    assert sorted(made.made) == sorted(expected)
    assert (made.kept, made.missing, made.notes) == ([], {}, [])
    for name, utterances in expected.items():
        check_folder(tmp_path / "data" / name, utterances)
    assert sorted(p.name for p in (tmp_path / "data").iterdir()) == sorted(
        [*expected, "libri_dev", "libri_test", "vctk_dev", "vctk_test"]
    )


def test_lists_go_along(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    make(tmp_path)

    def lists(name: str) -> dict[str, str]:
        kinds = ("enrolls", "trials")
        return {p.name: p.read_text() for p in (data / name).iterdir() if p.name in kinds}

    libri, vctk = data / "libri_dev", data / "vctk_dev"
    assert lists("libri_dev_enrolls") == {"enrolls": (libri / "enrolls").read_text()}
    assert lists("vctk_dev_enrolls") == {"enrolls": (vctk / "enrolls_mic2").read_text()}
    f, m = (libri / "trials_f").read_text(), (libri / "trials_m").read_text()
    assert lists("libri_dev_trials_f") == {"trials": f}
    assert lists("libri_dev_trials_all") == lists("libri_dev_asr") == {"trials": f + m}
    parts = [
        (vctk / f"trials_{part}_mic2").read_text() for part in ("f", "f_common", "m", "m_common")
    ]
    assert lists("vctk_dev_trials_m_common") == {"trials": parts[3]}
    assert lists("vctk_dev_trials_f_all") == {"trials": parts[0] + parts[1]}
    assert lists("vctk_dev_trials_all") == {"trials": "".join(parts)}


def test_the_order_of_the_source_stays(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    folder_of(data / "libri_dev", ["mb-1", "fb-1", "fb-2", "ma-1", "fa-3", "fa-2", "fa-1"])
    (data / "libri_dev/trials_m").unlink()
    made = make(tmp_path)
    check_folder(data / "libri_dev_trials_f", ["fb-2", "fa-3", "fa-2"])
    check_folder(data / "libri_dev_enrolls", ["mb-1", "fb-1", "ma-1", "fa-1"])
    assert needs(made)["libri_dev_trials_m"] == "needs the list data/libri_dev/trials_m"
    assert needs(made)["libri_dev_asr"] == "needs data/libri_dev_trials_m with utt2spk"


def test_a_combination_is_sorted_in_the_c_locale(tmp_path: Path) -> None:
    data = tmp_path / "data"
    folder_of(data / "libri_dev_trials_f", ["fb-2", "Fa-1", "fa-2"])
    folder_of(data / "libri_dev_trials_m", ["m_-1", "mA-1", "ma-1", "\xe9a-1", "fa-2"])
    assert make(tmp_path).made == ["libri_dev_trials_all", "libri_dev_asr"]
    check_folder(
        data / "libri_dev_asr", ["Fa-1", "fa-2", "fb-2", "mA-1", "m_-1", "ma-1", "\xe9a-1"]
    )


def test_lines_are_copied_byte_for_byte_and_never_run(tmp_path: Path) -> None:
    folder = challenge(tmp_path) / "data/libri_dev"
    utterances = [line.split()[0] for line in (folder / "utt2spk").read_text().splitlines()]
    wav = [
        b"%s\t touch %s/pwned; cat  x | " % (u.encode(), os.fsencode(tmp_path)) for u in utterances
    ]
    (folder / "wav.scp").write_bytes(b"\n".join(wav))  # no line end at the end
    (folder / "text").write_bytes(b"\n\n".join(u.encode() + b" \xe9\xff" for u in utterances))
    make(tmp_path)
    made = tmp_path / "data/libri_dev_trials_f"
    wanted = [n for n, u in enumerate(utterances) if u in LIBRI["trials_f"]]
    assert (made / "wav.scp").read_bytes() == b"".join(wav[n] + b"\n" for n in wanted)
    assert (made / "text").read_bytes() == b"".join(
        utterances[n].encode() + b" \xe9\xff\n" for n in wanted
    )
    assert not (tmp_path / "pwned").exists()


def test_segments(tmp_path: Path) -> None:
    """Recordings are kept that a kept segment is of: r1 holds two women, r2 a man and a
    woman, r3 what no list names."""
    folder = tmp_path / "data/libri_dev"
    segments = {
        "fa-1": "r1 0.0 1.5",
        "fa-2": "r1 1.5 2.0",
        "fb-2": "r2 0 1",
        "ma-2": "r2 1 2",
        "ma-9": "r3 0 1",
    }
    folder_of(folder, list(segments))
    lines_to(folder / "segments", (f"{u} {rest}" for u, rest in segments.items()))
    lines_to(folder / "wav.scp", ["r1 one.wav", "r2 two.wav", "r3 three.wav"])
    lines_to(folder / "reco2file_and_channel", ["r1 one A", "r2 two A", "r3 three A"])
    lines_to(folder / "enrolls", ["fa-1"])
    lines_to(folder / "trials_f", trial_list(["fa-2", "fb-2"]))
    lines_to(folder / "trials_m", trial_list(["ma-2"]))
    make(tmp_path)

    def lines(name: str, file: str) -> list[str]:
        return (tmp_path / "data" / f"libri_dev_{name}" / file).read_text().splitlines()

    assert lines("enrolls", "segments") == ["fa-1 r1 0.0 1.5"]
    assert lines("enrolls", "wav.scp") == ["r1 one.wav"]
    assert lines("trials_f", "wav.scp") == ["r1 one.wav", "r2 two.wav"]
    assert lines("trials_f", "reco2file_and_channel") == ["r1 one A", "r2 two A"]
    assert lines("trials_m", "wav.scp") == ["r2 two.wav"]
    assert lines("trials_m", "reco2file_and_channel") == ["r2 two A"]
    assert lines("asr", "wav.scp") == ["r1 one.wav", "r2 two.wav"]
    assert lines("asr", "segments") == ["fa-2 r1 1.5 2.0", "fb-2 r2 0 1", "ma-2 r2 1 2"]


def test_other_files_by_utterance(tmp_path: Path) -> None:
    folder = challenge(tmp_path) / "data/libri_dev"
    names = ["utt2dur", "utt2num_frames", "utt2lang", "feats.scp", "vad.scp", "reco2dur"]
    for name in names:
        lines_to(folder / name, (f"{u} x" for u in ["fb-2", "fa-2", "fa-1", "fa-3"]))
    lines_to(folder / "frames_of_mine", ["fa-2 x"])
    make(tmp_path)
    made = tmp_path / "data/libri_dev_trials_f"
    for name in names:
        assert (made / name).read_text() == "fb-2 x\nfa-2 x\nfa-3 x\n"
    assert not (made / "frames_of_mine").exists()


def test_missing_lines_are_reported(tmp_path: Path) -> None:
    folder = challenge(tmp_path) / "data/libri_dev"
    lines_to(folder / "utt2dur", ["fa-2 1", "fb-2 1", "ma-2 1", "mb-2 1", "mb-3 1"])
    made = make(tmp_path)
    (note,) = [n for n in made.notes if n.startswith("libri_dev_trials_f:")]
    assert note == f"libri_dev_trials_f: {folder}/utt2dur: no line for 1 utterance: 'fa-3'"
    assert make(tmp_path).notes == made.notes


def test_files_of_some_parts_only_are_left_out_with_a_note(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    folder_of(data / "libri_dev_trials_f", LIBRI["trials_f"])
    lines_to(data / "libri_dev_trials_f/vad.scp", (f"{u} x" for u in LIBRI["trials_f"]))
    made = make(tmp_path)
    assert "libri_dev_trials_f" in made.kept
    there, other = "libri_dev_trials_f", "libri_dev_trials_m"
    lacking = [("vad.scp", other), ("trials", there)] * 2
    for note, (file, folder) in zip(made.notes, lacking, strict=True):
        assert f"has no {file}: missing in {folder}," in note
    assert [note.partition(":")[0] for note in made.notes[1:3]] == [
        "libri_dev_trials_all",
        "libri_dev_asr",
    ]
    check_folder(data / "libri_dev_asr", LIBRI_SETS["asr"])


def test_trials_in_two_parts_stand_once(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    trials = trial_list(["ma-2", "mb-2"])
    lines_to(data / "vctk_dev/trials_m_common_mic2", [trials[1], *trial_list(["ma-8"]), trials[0]])
    make(tmp_path)
    assert (data / "vctk_dev_trials_m_all/trials").read_text().splitlines() == [
        *trials,
        *trial_list(["ma-8"]),
    ]


# --- stage 5


def test_anonymized_sets_of_what_the_anonymizer_gives(tmp_path: Path) -> None:
    by_anonymizer(challenge(tmp_path, "dev", "test"), "dev", "test")
    given = snapshot(tmp_path)
    make(tmp_path)
    made = make(tmp_path, "_anon")
    expected = sets("dev", "test", suffix="_anon")
    kept = [
        f"{corpus}_{split}_{name}_anon"
        for split in ("dev", "test")
        for corpus, all_ in (("libri", ""), ("vctk", "_all"))
        for name in ("enrolls", f"trials_f{all_}", f"trials_m{all_}")
    ]
    assert sorted(made.kept) == sorted(kept)
    assert sorted(made.made) == sorted(set(expected) - set(kept))
    assert (made.missing, made.notes) == ({}, [])
    for name, utterances in expected.items():
        check_folder(tmp_path / "data" / name, utterances, kind="anonymized")
    after = snapshot(tmp_path)
    assert {name: after[name] for name in given} == given
    data = tmp_path / "data"
    for part in ("f", "m", "f_common", "m_common"):
        lists = [data / f"vctk_dev_trials_{part}{s}" / "trials" for s in ("", "_anon")]
        assert lists[0].read_bytes() == lists[1].read_bytes()
    # No lists in the anonymizer's folders, none in what is made of them alone.
    assert not (data / "libri_dev_asr_anon/trials").exists()


def test_any_suffix(tmp_path: Path) -> None:
    by_anonymizer(challenge(tmp_path), suffix="-hidden.2")
    made = make(tmp_path, "", "-hidden.2")
    assert "vctk_dev_trials_f-hidden.2" in made.made
    check_folder(
        tmp_path / "data/vctk_dev_trials_f-hidden.2", VCTK_SETS["trials_f"], kind="anonymized"
    )


def test_the_list_of_the_original_set_serves(tmp_path: Path) -> None:
    """Original sets that came without the folders they were cut out of."""
    make(challenge(tmp_path))
    shutil.rmtree(tmp_path / "data/vctk_dev")
    anonymized(tmp_path, "vctk_dev_trials_f_all")
    made = make(tmp_path, "_anon")
    assert sorted(made.made) == ["vctk_dev_trials_f_anon", "vctk_dev_trials_f_common_anon"]
    check_folder(tmp_path / "data/vctk_dev_trials_f_anon", VCTK_SETS["trials_f"], kind="anonymized")
    shutil.rmtree(tmp_path / "data/vctk_dev_trials_f_anon")
    shutil.rmtree(tmp_path / "data/vctk_dev_trials_f")
    assert needs(make(tmp_path, "_anon"))["vctk_dev_trials_f_anon"] == (
        "needs the list data/vctk_dev/trials_f_mic2 or data/vctk_dev_trials_f/trials"
    )


def test_subsets_are_taken_from_the_nearest_superset(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    anonymized(tmp_path, "vctk_dev_trials_all")
    folder_of(data / "vctk_dev_trials_f_all_anon", VCTK_SETS["trials_f_all"], kind="nearest")
    make(tmp_path, "", "_anon")
    check_folder(data / "vctk_dev_trials_f_anon", VCTK_SETS["trials_f"], kind="nearest")
    check_folder(data / "vctk_dev_trials_m_anon", VCTK_SETS["trials_m"], kind="anonymized")
    check_folder(data / "vctk_dev_trials_m_all_anon", VCTK_SETS["trials_m_all"], kind="anonymized")
    before = inodes(tmp_path)
    assert make(tmp_path, "_anon").made == []  # what we combined is no source of its parts
    assert inodes(tmp_path) == before


def test_sets_are_cut_out_of_the_whole_anonymized_folder(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    folder_of(data / "libri_dev_anon", sorted(itertools.chain(*LIBRI.values())), kind="anonymized")
    made = make(tmp_path, "_anon")
    assert len(made.made) == len(LIBRI_SETS)
    for name, utterances in LIBRI_SETS.items():
        check_folder(data / f"libri_dev_{name}_anon", utterances, kind="anonymized")


def test_speakers_are_those_of_the_anonymized_folder(tmp_path: Path) -> None:
    folder = challenge(tmp_path) / "data/vctk_dev_trials_f_all_anon"
    anonymized(tmp_path, "vctk_dev_trials_f_all")
    lines_to(folder / "utt2spk", (f"{u} p{u[1]}" for u in VCTK_SETS["trials_f_all"]))
    lines_to(folder / "spk2gender", ["pa m", "pb f"])
    make(tmp_path, "", "_anon")
    cut = tmp_path / "data/vctk_dev_trials_f_anon"
    assert (cut / "utt2spk").read_text() == "fa-2 pa\nfb-2 pb\n"
    assert (cut / "spk2utt").read_text() == "pa fa-2\npb fb-2\n"
    assert (cut / "spk2gender").read_text() == "pa m\npb f\n"


def test_original_sets_are_cut_out_of_a_combined_one_by_a_list(tmp_path: Path) -> None:
    data = tmp_path / "data"
    folder_of(data / "vctk_dev_trials_f_all", VCTK_SETS["trials_f_all"])
    assert "vctk_dev_trials_f" in needs(make(tmp_path))
    lines_to(data / "vctk_dev/trials_f_mic2", trial_list(VCTK["trials_f_mic2"]))
    made = make(tmp_path)
    assert made.made == ["vctk_dev_trials_f"]
    check_folder(data / "vctk_dev_trials_f", VCTK_SETS["trials_f"])


def test_missing_inputs_are_reported(tmp_path: Path) -> None:
    challenge(tmp_path)
    made = make(tmp_path, "_anon")
    assert (made.made, made.kept) == ([], [])
    assert set(needs(made)) == set(sets("dev", "test", suffix="_anon"))
    assert needs(made)["libri_dev_enrolls_anon"] == (
        "needs data/libri_dev_enrolls_anon itself, or data/libri_dev_anon with utt2spk"
    )
    assert needs(made)["vctk_test_trials_all_anon"] == (
        "needs data/vctk_test_trials_f_all_anon, data/vctk_test_trials_m_all_anon with utt2spk"
    )
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    assert set(needs(make(nothing))) == set(sets("dev", "test"))
    assert list(nothing.iterdir()) == []


# --- what others made, and what has changed


def test_external_folders_are_kept(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    folder_of(data / "libri_dev_trials_f", ["fa-2"], kind="theirs")
    lines_to(data / "libri_dev_enrolls/enrolls", ["only a list"])
    lines_to(data / "vctk_dev_enrolls" / NOTE, ["{}"])
    before = snapshot(data)
    made = make(tmp_path)
    assert {"libri_dev_trials_f", "libri_dev_enrolls", "vctk_dev_enrolls"} == set(made.kept)
    after = snapshot(data)
    assert {name: after[name] for name in before} == before
    wav = (data / "libri_dev_asr/wav.scp").read_text()
    assert "theirs/fa-2" in wav and "fb-2" not in wav


def test_a_copied_data_folder_counts_as_external(tmp_path: Path) -> None:
    """How anonymizers begin: with a copy whose wav.scp they change."""
    data = challenge(tmp_path) / "data"
    make(tmp_path)
    anonymized(tmp_path, "vctk_dev_trials_f_all")
    theirs = data / "vctk_dev_trials_f_anon"
    shutil.copytree(data / "vctk_dev_trials_f", theirs)
    lines_to(theirs / "wav.scp", ["fa-2 hidden.wav", "fb-2 hidden.wav"])
    assert "vctk_dev_trials_f_anon" in make(tmp_path, "_anon").kept
    assert (theirs / "wav.scp").read_text() == "fa-2 hidden.wav\nfb-2 hidden.wav\n"


def append(line: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(path.read_text() + line)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("text", lambda p: p.write_text(p.read_text().replace("WORDS", "OTHER"))),
        ("wav.scp", append("x-1 x\n")),
        ("spk2gender", lambda p: p.unlink()),
        ("trials_f", lambda p: p.write_text("fa fa-9 target\n")),
        ("utt2lang", lambda p: lines_to(p, ["fa-2 en", "fa-3 en", "fb-2 en"])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_changed_source_rebuilds_its_subsets(
    tmp_path: Path, file: str, change: Callable[[Path], object]
) -> None:
    make(challenge(tmp_path))
    change(tmp_path / "data/libri_dev" / file)
    made = make(tmp_path)
    remade = set(made.made)
    assert {"libri_dev_trials_f"} <= remade
    assert not any(name.startswith("vctk") for name in remade)
    fresh = challenge(tmp_path / "fresh")
    change(fresh / "data/libri_dev" / file)
    make(fresh)
    for name in LIBRI_SETS:
        folders = [root / "data" / f"libri_dev_{name}" for root in (tmp_path, fresh)]
        found = [{k: v for k, v in snapshot(folder).items() if k != NOTE} for folder in folders]
        assert found[0] == found[1]
    assert not [p for p in (tmp_path / "data").iterdir() if p.name.startswith(".")]
    assert make(tmp_path).made == []


def test_a_changed_list_rebuilds_only_its_subsets(tmp_path: Path) -> None:
    make(challenge(tmp_path))
    (tmp_path / "data/vctk_dev/trials_f_mic2").write_text("fa fa-2 target\n")
    assert make(tmp_path).made == [
        "vctk_dev_trials_f",
        "vctk_dev_trials_f_all",
        "vctk_dev_trials_all",
        "vctk_dev_asr",
    ]


def test_features_added_by_kaldi_rebuild_nothing(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    make(tmp_path)
    lines_to(data / "libri_dev_trials_f/feats.scp", ["fa-2 x", "fa-3 x", "fb-2 x"])
    lines_to(data / "libri_dev_trials_f/split4/1/utt2spk", ["fa-2 fa"])
    before = inodes(data)
    assert make(tmp_path).made == []
    assert inodes(data) == before
    append("x-1 x\n")(data / "libri_dev/text")
    made = make(tmp_path)
    assert made.notes == ["libri_dev_trials_f: rebuilt, without feats.scp, split4 added to it"]
    assert not (data / "libri_dev_trials_f/feats.scp").exists()


def test_changed_copies_of_features_rebuild_subsets(tmp_path: Path) -> None:
    folder = challenge(tmp_path) / "data/libri_dev"
    used = [*LIBRI["enrolls"], *LIBRI["trials_f"], *LIBRI["trials_m"]]
    lines_to(folder / "vad.scp", (f"{u} old" for u in used))
    make(tmp_path)
    lines_to(folder / "vad.scp", (f"{u} new" for u in used))
    assert len(make(tmp_path).made) == len(LIBRI_SETS)
    assert "old" not in (tmp_path / "data/libri_dev_asr/vad.scp").read_text()


@pytest.mark.parametrize("file", ["wav.scp", "mine"])
def test_edited_folders_are_kept(tmp_path: Path, file: str) -> None:
    data = challenge(tmp_path) / "data"
    make(tmp_path)
    lines_to(data / "libri_dev_trials_f" / file, (f"{u} by hand" for u in LIBRI["trials_f"]))
    before = snapshot(data / "libri_dev_trials_f")
    append("x-1 x\n")(data / "libri_dev/text")
    made = make(tmp_path)
    assert "libri_dev_trials_f" in made.kept
    assert made.notes[0].startswith(
        f"libri_dev_trials_f: {file} edited since it was made, so it is kept"
    )
    assert snapshot(data / "libri_dev_trials_f") == before


def test_built_folders_are_kept_after_their_source_is_removed(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    make(tmp_path)
    shutil.rmtree(data / "libri_dev")
    before = inodes(data / "libri_dev_enrolls")
    made = make(tmp_path)
    assert made.made == []
    assert not [name for name in needs(made) if "_dev_" in name]
    assert (
        made.notes[0].startswith("libri_dev_enrolls: kept, ") and "data/libri_dev " in made.notes[0]
    )
    assert inodes(data / "libri_dev_enrolls") == before


# --- killed


RUN = """\
import os, pathlib, sys
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.stages.access import TreeAccess
from privacy_eval.stages.subsets import make_subsets
call, left = sys.argv[1], int(sys.argv[2])
real = getattr(os, call)
def counted(*arguments, **options):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    return real(*arguments, **options)
setattr(os, call, counted)
own = getattr(pathlib, "_NormalAccessor", None)  # pathlib of Python 3.10 has a reference of its own
if own is not None and hasattr(own, call):
    setattr(own, call, staticmethod(counted))
here = pathlib.Path(".")
make_subsets(TreeAccess(here, here / "exp"), load_protocol("vpc2020"), suffixes=("",))
"""


def process(root: Path, call: str = "rename", left: int = 10**9) -> subprocess.Popen[bytes]:
    """A run of its own that dies without a word at some call."""
    return subprocess.Popen(
        [sys.executable, "-c", RUN, call, str(left)], cwd=root, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("call", "left"), [("mkdir", 0), ("mkdir", 5), ("rename", 0), ("rename", 3)]
)
def test_killed(tmp_path: Path, call: str, left: int) -> None:
    """What is there afterwards is whole, and the next run makes the rest."""
    make(challenge(tmp_path))
    data = tmp_path / "data"
    text = data / "libri_dev/text"
    text.write_text(text.read_text().replace("WORDS", "OTHER"))
    assert process(tmp_path, call, left).wait(600) == 9
    names = set(sets("dev"))
    left_over = [p for p in data.iterdir() if p.name.startswith(".")]
    assert left_over or (call, left) == ("mkdir", 0)
    for folder in (data / name for name in names if (data / name).exists()):
        marker = json.loads((folder / NOTE).read_text())
        assert {*marker["files"], NOTE} == {p.name for p in folder.iterdir()}
    make(tmp_path)
    assert make(tmp_path).made == []
    assert {p.name for p in data.iterdir()} == names | {"libri_dev", "vctk_dev"}
    for name in LIBRI_SETS:
        assert "WORDS" not in (data / f"libri_dev_{name}" / "text").read_text()
    for name, utterances in VCTK_SETS.items():
        check_folder(data / f"vctk_dev_{name}", utterances)


def test_several_at_once(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    runs = [process(tmp_path) for _ in range(2)]
    assert [run.wait(600) for run in runs] == [0, 0]
    for name, utterances in sets("dev").items():
        check_folder(data / name, utterances)
    assert {p.name for p in data.iterdir()} == set(sets("dev")) | {"libri_dev", "vctk_dev"}


def test_leftovers_are_swept_unless_their_writer_lives(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    dead, living = data / ".libri_dev_asr.abcdefgh.tmp", data / ".libri_dev_asr.abcdefg1.tmp"
    others = data / ".libri_dev_asr.tmp"
    for folder in (dead, living, others):
        folder_of(folder / "new", ["fa-1"])
    handle = os.open(living, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        make(tmp_path)
        assert not dead.exists() and living.exists() and others.exists()
    finally:
        os.close(handle)
    make(tmp_path)
    assert not living.exists() and others.exists()


# --- bad data


ERRORS: Mapping[str, tuple[str, str, str]] = {
    "unknown utterance": (
        "libri_dev/enrolls",
        "fa-1\n\nxx-1\nfa-1\nxx-1\n",
        r"libri_dev/enrolls:3: not in \S+/data/libri_dev/utt2spk: 1 utterance: 'xx-1'$",
    ),
    "many unknown utterances": (
        "libri_dev/trials_f",
        "".join(f"fa x-{n} nontarget\n" for n in range(7)),
        r"trials_f:1: not in \S+: 7 utterances: 'x-0', 'x-1', 'x-2', 'x-3', 'x-4', \.\.\.$",
    ),
    "trial of two fields": ("libri_dev/trials_f", "fa fa-2\n", "trials_f:1: expected 3 fields"),
    "empty list": ("libri_dev/enrolls", "\n", "enrolls: empty file"),
    "utt2spk without speaker": ("libri_dev/utt2spk", "fa-1 fa\nx\n", "utt2spk:2: expected <utt"),
    "utt2spk with three": ("libri_dev/utt2spk", "fa-1 fa x\n", "utt2spk:1: expected <utt"),
    "utterance twice": ("libri_dev/text", "fa-1 A\nx B\nfa-1 A\n", "text:3: duplicate 'fa-1'"),
    "no recording": (
        "libri_dev/wav.scp",
        "fa-1 x\nma-1 x\n",
        r"libri_dev/wav.scp: no line for 2 utterances: 'fb-1', 'mb-1'",
    ),
    "no segment": ("libri_dev/segments", "fa-1 fa-1 0 1\n", "segments: no line for 3 utterances"),
    "segment without recording": ("libri_dev/segments", "fa-1\n", "segments:1: expected <utt"),
    "no gender": (
        "libri_dev/spk2gender",
        "fa f\nmb m\n",
        "libri_dev/spk2gender: no line for 2 speakers: 'fb', 'ma'",
    ),
    "a file as folder": ("libri_dev_asr", "", "libri_dev_asr: exists but is not a folder"),
}


@pytest.mark.parametrize(("file", "content", "message"), ERRORS.values(), ids=ERRORS)
def test_bad_data(tmp_path: Path, file: str, content: str, message: str) -> None:
    data = challenge(tmp_path) / "data"
    (data / file).write_text(content)
    with pytest.raises(PrivacyEvalError) as caught:
        make(tmp_path)
    assert re.search(message, str(caught.value)), caught.value
    assert str(caught.value).startswith(str(data))
    assert not [p for p in data.iterdir() if p.name.startswith(".")]


def test_a_list_and_an_anonymized_folder_that_do_not_agree(tmp_path: Path) -> None:
    data = challenge(tmp_path) / "data"
    folder_of(data / "vctk_dev_trials_f_all_anon", ["fa-2", "fa-8", "fb-8"])
    with pytest.raises(PrivacyEvalError) as caught:
        make(tmp_path, "_anon")
    assert str(caught.value) == (
        f"{data}/vctk_dev/trials_f_mic2:2: not in {data}/vctk_dev_trials_f_all_anon/utt2spk: "
        "1 utterance: 'fb-2'"
    )
    assert not (data / "vctk_dev_trials_f_anon").exists()


def two_parts(root: Path, file: str, line: str) -> tuple[Path, Path]:
    parts = (root / "data/libri_dev_trials_f", root / "data/libri_dev_trials_m")
    for part in parts:
        folder_of(part, ["fa-2", "ma-2"])
        lines_to(part / "trials", ["fa fa-2 target"])
    path = parts[1] / file
    path.write_text(line)
    return parts


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        (
            "text",
            "fa-2 OTHER\n",
            r"{m}/text: another line for 'fa-2' than in {f}/text: 'fa-2 OTHER'",
        ),
        ("utt2spk", "fa-2 xx\n", r"{m}/utt2spk: another line for 'fa-2' than in {f}/utt2spk"),
        ("spk2gender", "fa m\nma m\n", r"{m}/spk2gender: another line for 'fa' than in {f}/"),
        ("trials", "\nfa fa-2 nontarget\n", r"{m}/trials:2: another label than in {f}/trials"),
        ("segments", "fa-2 fa-2 0 1\n", r"{m}/segments: {f} has no segments file"),
    ],
)
def test_parts_that_contradict_each_other(
    tmp_path: Path, file: str, line: str, message: str
) -> None:
    f, m = two_parts(tmp_path, file, line)
    with pytest.raises(PrivacyEvalError, match=message.format(f=f, m=m)):
        make(tmp_path)


def test_a_part_without_recording(tmp_path: Path) -> None:
    two_parts(tmp_path, "wav.scp", "ma-2 x\n")
    (tmp_path / "data/libri_dev_trials_f/wav.scp").write_text("ma-2 x\n")
    with pytest.raises(
        PrivacyEvalError,
        match=r"libri_dev_trials_f \+ libri_dev_trials_m: wav.scp: no line for 1 utterance: 'fa-2'",
    ):
        make(tmp_path)


@pytest.mark.parametrize("suffix", ["/../x", "..", "_a b", "_common", "_all"])
def test_suffixes_that_cannot_be(tmp_path: Path, suffix: str) -> None:
    challenge(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(PrivacyEvalError, match="^suffix "):
        make(tmp_path, "", suffix)
    assert snapshot(tmp_path) == before


def test_no_tree(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="no such folder"):
        make(tmp_path / "x")
    (tmp_path / "data").write_text("")
    with pytest.raises(PrivacyEvalError, match="data: is not a folder"):
        make(tmp_path)


# --- links


def test_a_linked_folder_is_kept_and_not_written_to(tmp_path: Path) -> None:
    data = challenge(tmp_path / "tree") / "data"
    make(tmp_path / "tree")
    shutil.move(data / "libri_dev_enrolls", tmp_path / "libri_dev_enrolls")
    (data / "libri_dev_enrolls").symlink_to(tmp_path / "libri_dev_enrolls")
    append("x-1 x\n")(data / "libri_dev/text")
    before = inodes(tmp_path / "libri_dev_enrolls")
    assert "libri_dev_enrolls" in make(tmp_path / "tree").kept
    assert (data / "libri_dev_enrolls").is_symlink()
    assert inodes(tmp_path / "libri_dev_enrolls") == before


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    data = challenge(tmp_path / "tree") / "data"
    (data / "libri_dev_asr").symlink_to(tmp_path / "outside")
    with pytest.raises(PrivacyEvalError, match="libri_dev_asr: exists but is not a folder"):
        make(tmp_path / "tree")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("what", ["libri_dev", "libri_dev/text"])
def test_sources_outside_the_tree(tmp_path: Path, what: str) -> None:
    path = challenge(tmp_path / "tree") / "data" / what
    shutil.move(path, tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    with pytest.raises(PrivacyEvalError, match="outside the tree .* --allow-outside"):
        make(tmp_path / "tree")
    make(tmp_path / "tree", outside=True)
    check_folder(tmp_path / "tree/data/libri_dev_asr", LIBRI_SETS["asr"])


def test_data_outside_the_tree_is_never_written_to(tmp_path: Path) -> None:
    challenge(tmp_path / "other")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/data").symlink_to(tmp_path / "other/data")
    before = inodes(tmp_path / "other")
    with pytest.raises(
        PrivacyEvalError, match="tree/data: is outside the tree .*refusing to write"
    ):
        make(tmp_path / "tree", outside=True)
    assert inodes(tmp_path / "other") == before
    make(tmp_path / "other")
    made = make(tmp_path / "tree", outside=True)
    assert (made.made, len(made.current)) == ([], len(sets("dev")))


# --- other protocols


def test_a_protocol_of_other_folders(tmp_path: Path) -> None:
    """A part with what the name does not hold is several; order in the file is free."""
    protocol = changed_protocol(
        data_folders=[
            {"name": "all", "combine": ["{split}-{gender}"]},
            {
                "name": "{split}-{gender}",
                "cut_from": "{split}",
                "list": "of-{gender}",
                "list_as": "enrolls",
            },
        ]
    )
    for split, number in (("dev", 1), ("test", 2)):
        folder = folder_of(tmp_path / "data" / split, [f"fa-{number}", f"ma-{number}"])
        lines_to(folder / "of-f", [f"fa-{number}"])
        lines_to(folder / "of-m", [f"ma-{number}"])
    assert make(tmp_path, protocol=protocol).made == ["dev-f", "dev-m", "test-f", "test-m", "all"]
    check_folder(tmp_path / "data/all", ["fa-1", "fa-2", "ma-1", "ma-2"])
    assert (tmp_path / "data/all/enrolls").read_text() == "fa-1\nma-1\nfa-2\nma-2\n"
    assert protocol.supersets("dev-f") == ("all",)


def test_a_protocol_without_folders_makes_none(tmp_path: Path) -> None:
    plain = PROTOCOL.to_dict()
    del plain["data_folders"]
    protocol = protocol_from_dict(plain, "earlier")
    assert make(challenge(tmp_path), protocol=protocol) == Outcome()
    assert protocol.supersets("libri_dev_trials_f") == ()
