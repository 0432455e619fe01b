"""Kaldi data folders."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_eval import PrivacyEvalError
from privacy_eval.io.data_dir import (
    combine_data_dirs,
    read_spk2gender,
    read_utt2spk,
    subset_data_dir,
    write_data_dir,
)
from privacy_eval.io.files import Loaded, sweep


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty file, expected lines of <utterance> <speaker>"),
        ("u1 s1\nu2\n", "2: expected 2 fields (<utterance> <speaker>), found 1: 'u2'"),
        ("u1 s1\n\nu2 s2 s3\n", "3: expected 2 fields (<utterance> <speaker>), found 3"),
        ("u1 s1\nu2 s2\n\nu1 s1\n", "4: duplicate utterance 'u1'"),
        ("u1 s1\nu2 s\0\n", "2: control character"),
    ],
)
def test_malformed_utt2spk_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "utt2spk"
    path.write_text(content)
    with pytest.raises(PrivacyEvalError) as caught:
        read_utt2spk(path)
    between = ":" if message[0].isdigit() else ": "
    assert str(caught.value).startswith(f"{path}{between}{message}")


@pytest.mark.parametrize(("text", "where"), [("s1 f\ns2 female\n", 2), ("\n\ns2 x\n", 3)])
def test_gender_other_than_f_or_m_is_refused(tmp_path: Path, text: str, where: int) -> None:
    path = tmp_path / "spk2gender"
    path.write_text(text)
    with pytest.raises(PrivacyEvalError, match=f"^{path}:{where}: gender of 's2' must be f or m"):
        read_spk2gender(path)


def test_genders_in_capitals_are_those_in_lower_case(tmp_path: Path) -> None:
    path = tmp_path / "spk2gender"
    path.write_text("s1 F\ns2 M\ns3 f\n")
    assert read_spk2gender(path) == {"s1": "f", "s2": "m", "s3": "f"}


# --- parts and unions, against filters that go through all lines for every line


@st.composite
def folders(draw: st.DrawFn) -> dict[str, list[str]]:
    """Draw the files of a data folder in any line order, consistent across folders."""
    utterances = draw(
        st.lists(
            st.sampled_from([f"{s}-{n}" for s in "ab0" for n in range(4)]), min_size=1, unique=True
        )
    )
    shuffled = st.permutations(utterances)
    files = {"utt2spk": [f"{u} {u[0]}" for u in draw(shuffled)]}
    recordings = {u: u for u in utterances}
    if draw(st.booleans()):
        recordings = {u: f"r{u[-1]}" for u in utterances}
        files["segments"] = [f"{u} {recordings[u]} 0 {u[-1]}.5" for u in draw(shuffled)]
    else:
        files["text"] = [f"{u}\tsays {u}" for u in draw(shuffled)]
    files["wav.scp"] = [
        f"{r} cat {r} |" for r in dict.fromkeys(recordings[u] for u in draw(shuffled))
    ]
    files["vad.scp"] = [
        f"{u} ark:{u}" for u in draw(st.lists(st.sampled_from(utterances), unique=True))
    ]
    files["spk2gender"] = [f"{s} f" for s in dict.fromkeys(u[0] for u in draw(shuffled))]
    return files


def put(folder: Path, files: dict[str, list[str]]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


def slow_spk2utt(utt2spk: list[str]) -> list[str]:
    pairs = [line.split() for line in utt2spk]
    speakers = list(dict.fromkeys(s for _, s in pairs))
    return [" ".join([s, *(u for u, other in pairs if other == s)]) for s in speakers]


def slow_subset(files: dict[str, list[str]], wanted: Iterable[str]) -> dict[str, list[str]]:
    def having(name: str, keys: set[str]) -> list[str]:
        return [line for line in files[name] if line.split()[0] in keys]

    utterances = set(wanted)
    subset = {
        name: having(name, utterances)
        for name in ("utt2spk", "segments", "text", "vad.scp")
        if name in files
    }
    speakers = {line.split()[1] for line in subset["utt2spk"]}
    recordings = (
        {line.split()[1] for line in subset["segments"]} if "segments" in files else utterances
    )
    subset["wav.scp"] = having("wav.scp", recordings)
    subset["spk2gender"] = having("spk2gender", speakers)
    subset["spk2utt"] = slow_spk2utt(subset["utt2spk"])
    return subset


def as_lines(files: dict[str, bytes]) -> dict[str, list[str]]:
    return {name: content.decode().splitlines() for name, content in files.items()}


@given(folders(), st.data())
def test_subset_agrees_with_filter(
    folder: Path, files: dict[str, list[str]], data: st.DataObject
) -> None:
    utterances = [line.split()[0] for line in files["utt2spk"]]
    wanted = data.draw(st.lists(st.sampled_from(utterances), min_size=1))
    source = put(folder / "source", files)
    content = "".join(f"{u}\n" for u in wanted).encode()
    new, notes = subset_data_dir(source, Loaded(folder / "list", content), "enrolls")
    assert as_lines(dict(new)) == {**slow_subset(files, wanted), "enrolls": wanted}
    with_vad = {line.split()[0] for line in files["vad.scp"]}
    assert len(notes) == (0 if set(wanted) <= with_vad else 1)


@given(st.lists(folders(), min_size=1, max_size=3))
def test_combination_agrees_with_set_union(folder: Path, parts: list[dict[str, list[str]]]) -> None:
    sources = [put(folder / f"p{n}", files) for n, files in enumerate(parts)]
    if len({"segments" in files for files in parts}) == 2:
        with pytest.raises(PrivacyEvalError, match="has no segments file"):
            combine_data_dirs(sources)
        return
    new, _ = combine_data_dirs(sources)
    names = set.intersection(*(set(files) for files in parts))
    expected = {name: sorted({line for files in parts for line in files[name]}) for name in names}
    expected["spk2utt"] = slow_spk2utt(expected["utt2spk"])
    assert as_lines(dict(new)) == expected


def test_failed_replacement_keeps_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "set"
    write_data_dir(target, {"utt2spk": b"old\n"})
    real = os.rename

    def failing(source: Path, to: Path) -> None:
        if source.name == "new":
            raise OSError(28, "No space left on device")
        real(source, to)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(PrivacyEvalError, match=f"^{target}: cannot be written .No space left"):
            write_data_dir(target, {"utt2spk": b"new\n", "text": b""})
    assert [p.name for p in tmp_path.iterdir()] == ["set"]
    assert [p.name for p in target.iterdir()] == ["utt2spk"]
    assert (target / "utt2spk").read_text() == "old\n"
    write_data_dir(target, {"text": b"new\n"})
    assert [p.name for p in target.iterdir()] == ["text"]


def test_files_and_symlinks_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    (tmp_path / "nowhere").symlink_to(tmp_path / "x")
    (tmp_path / "file").write_text("")
    for name in ("link", "nowhere", "file"):
        with pytest.raises(PrivacyEvalError, match="not a directory"):
            write_data_dir(tmp_path / name, {"utt2spk": b""})
    assert list((tmp_path / "other").iterdir()) == []
    with pytest.raises(PrivacyEvalError, match="cannot be written"):
        write_data_dir(tmp_path / "file/set", {"utt2spk": b""})


def test_sweep_removes_only_matching_leftovers(tmp_path: Path) -> None:
    names = [".set.abcd1234.tmp", ".set.x.abcd1234.tmp", ".set.abc.tmp", "set.abcd1234.tmp"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".set.abcd0001.tmp").symlink_to(tmp_path / names[-1])
    sweep(tmp_path / "set")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*names[1:], ".set.abcd0001.tmp"])
    sweep(tmp_path / "nothing" / "set")
