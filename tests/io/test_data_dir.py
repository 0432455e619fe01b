"""Kaldi data folders."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_eval import PrivacyEvalError
from privacy_eval.io.data_dir import read_spk2gender, read_utt2spk

words = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=9
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@given(st.dictionaries(words, words, min_size=1, max_size=8), st.sampled_from([" ", "\t", "  "]))
def test_any_mapping_comes_back_in_order(
    folder: Path, mapping: dict[str, str], between: str
) -> None:
    path = folder / "utt2spk"
    path.write_text("".join(f"{k}{between}{v}\n" for k, v in mapping.items()), encoding="utf-8")
    assert list(read_utt2spk(path).items()) == list(mapping.items())


def test_gzip_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "spk2gender.gz"
    path.write_bytes(gzip.compress(b"\n s1 f\r\n\n\ts2  m"))
    assert read_spk2gender(path) == {"s1": "f", "s2": "m"}


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
def test_errors_of_utt2spk(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "utt2spk"
    path.write_text(content)
    with pytest.raises(PrivacyEvalError) as caught:
        read_utt2spk(path)
    between = ":" if message[0].isdigit() else ": "
    assert str(caught.value).startswith(f"{path}{between}{message}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match=f"^{tmp_path}/utt2spk: cannot be read"):
        read_utt2spk(tmp_path / "utt2spk")


def test_a_gender_is_f_or_m(tmp_path: Path) -> None:
    path = tmp_path / "spk2gender"
    path.write_text("s1 f\ns2 female\n")
    with pytest.raises(PrivacyEvalError, match=f"^{path}:2: gender of 's2' must be f or m"):
        read_spk2gender(path)


def test_the_line_of_a_wrong_gender_counts_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "spk2gender"
    path.write_text("\n\ns1 x\n")
    with pytest.raises(PrivacyEvalError, match=f"^{path}:3: "):
        read_spk2gender(path)
