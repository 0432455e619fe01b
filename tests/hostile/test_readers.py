"""Every reader of strangers' files against inputs changed at random.

A million of each by hand: scripts/fuzz.py --inputs 1000000.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import mutate, mutate_json
from readers import (
    PLAN,
    RATINGS,
    READERS,
    WER,
    Failure,
    Reader,
    anything,
    fuzz,
    memory_folder,
    scores,
    try_one,
)
from support import ROOT

from privacy_eval import PrivacyEvalError
from privacy_eval.io.scores import read_scores

INPUTS = 10_000
#: Every tenth of a run's inputs at least is read, or nothing of a right answer is tried.
LEAST_READ = 0.1


def _published(value: bytes) -> bytes:
    header = b"metric,unit,attack_model,split,data_set,gender,system,value,table\n"
    return header + b"eer,percent,,dev,libri,f,B1,%s,2\n" % value


@pytest.fixture(scope="module")
def tried() -> Iterator[dict[str, Future[tuple[int, int]]]]:
    """All readers at once, in two processes."""
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory_folder()) as folder,
        ProcessPoolExecutor(2, mp_context=spawn) as pool,
    ):
        yield {
            name: pool.submit(fuzz, name, Path(folder) / name, inputs=INPUTS) for name in READERS
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", READERS)
def test_any_input_is_read_right_or_refused(
    name: str, tried: dict[str, Future[tuple[int, int]]]
) -> None:
    read, refused = tried[name].result()
    assert read + refused == INPUTS
    assert read >= LEAST_READ * INPUTS


#: Inputs that were answered wrongly once: by another exception, by a number that the text does
#: not hold, by lines counted otherwise than an editor does. Whether they are read now.
FOUND: dict[str, tuple[str, bytes, bool]] = {
    "a no-break space in spk2utt": ("spk2utt", "s u\u00a0v\n".encode(), True),
    "a line separator in spk2utt": ("spk2utt", "s u\u2028t v\n".encode(), True),
    "NUL in spk2utt": ("spk2utt", b"s u\0\n", False),
    "a long id in spk2utt": ("spk2utt", b"s " + b"u" * 1025, False),
    "a long id in a list": ("data_dir", b"enrolls\n" + gzip.compress(b"u" * 20000 + b"\n"), False),
    "a mark and a line before an archive": ("text_archive", b"\xef\xbb\xbf\na [ 1 ]\n", True),
    "Arabic digits of a WER": ("wer", WER.replace(b"2089", "\u0662".encode()), False),
    "a WER without end": ("wer", WER.replace(b"5.25", b"9" * 400 + b".25"), False),
    "words without end": ("wer", WER.replace(b"39783", b"9" * 5000), False),
    "leading zeros": ("wer", WER.replace(b"2089", b"02089"), False),
    "a no-break space behind a WER": (
        "wer",
        WER.replace(b"wer_13", "wer_13 \u00a0".encode()),
        False,
    ),
    "a line separator in a WER": ("wer", WER.replace(b"wer_13", "wer_13\u2028x".encode()), False),
    "a lone return in a WER": ("wer", b"\r" + WER, True),
    "an EER without end": ("results_txt", b"ASV-a\n  EER: 1e999%\n", False),
    "an EER of any size": ("results_txt", b"ASV-a\n  EER: 1e300%\n", False),
    "an EER in Arabic digits": ("results_txt", "ASV-a\n  EER: \u0661%\n".encode(), False),
    "a line separator in results": ("results_txt", "ASV-a\u2028  EER: 1%\n".encode(), False),
    "a form feed in results": ("results_txt", b"ASV-a\x0c  EER: 1%\n", False),
    "an indent of another kind": ("results_txt", "ASV-a\n\u2003 EER: 1%\n".encode(), False),
    "a system in 999 parts": ("import", b"# B2\n" * 999, False),
    "sixty-fold floats": ("yaml", b"a: " + b"1:" * 200 + b"1.0", False),
    "merge keys": ("yaml", b"a: {<<: {x: 1}}", False),
    "a key twice": ("yaml", b"a: 1\na: 2\n", False),
    "a key twice by another spelling": ("yaml", b"1: x\n0x1: y\n", False),
    "NUL in JSON": ("captions", b'{"a": "\\u0000"}', False),
    "half a surrogate pair": ("captions", b'{"a": "\\ud800"}', False),
    "a whole surrogate pair": ("captions", b'{"a": "\\ud83d\\ude00"}', True),
    "no curves at all": ("curves", b"", False),
    "a unit separator behind a rating": (
        "ratings",
        RATINGS.replace(b"9,8", b"9\x1f,8"),
        False,
    ),
    "a no-break space behind a rating": (
        "ratings",
        RATINGS.replace(b"9,8", "9\xa0,8".encode()),
        True,
    ),
    "a published number without end": ("published", _published(b"9" * 400), False),
    "a published cell without end": ("published", _published(b"9" * (1 << 18)), False),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_answered_wrongly_once(name: str, tmp_path: Path) -> None:
    reader, content, is_read = FOUND[name]
    path = tmp_path / READERS[reader].name
    path.parent.mkdir(exist_ok=True)
    assert try_one(READERS[reader], path, content) is is_read


# The suite itself: what it must not let through


def wrong(path: Path, how: str) -> object:
    content = path.read_bytes()
    if b"nan" in content:
        if how == "another exception":
            raise KeyError("nan")
        if how == "no file":
            raise PrivacyEvalError("a number is wrong")
        if how == "no line":
            raise PrivacyEvalError(f"{path}: a number is wrong")
        if how == "wrong line":
            raise PrivacyEvalError(f"{path}:999: a number is wrong")
        if how == "a hang":
            while True:
                time.sleep(1)
        if how == "memory":
            return bytearray(1 << 40)
        return "read"
    return read_scores(path)


@pytest.mark.parametrize(
    ("how", "message"),
    {
        "another exception": "KeyError: 'nan'",
        "no file": "the file is not named",
        "no line": "no line is named",
        "wrong line": "wrong line|:999:",
        "a hang": "Hang",
        "memory": "MemoryError",
        "read": "read as 'read'",
    }.items(),
)
def test_a_wrong_answer_is_found_and_made_small(
    how: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = READERS["scores"]
    broken = replace(reader, read=lambda path: wrong(path, how), check=anything)
    monkeypatch.setitem(READERS, "scores", broken)  # type: ignore[attr-defined]
    monkeypatch.setattr("readers.SECONDS", 0.2)
    with pytest.raises(Failure, match=message) as failure:
        fuzz("scores", tmp_path, inputs=3000)
    small = str(failure.value).split("for the input ")[1].splitlines()[0]
    assert "nan" in small
    assert how == "a hang" or len(small) < 40
    assert "scripts/fuzz.py --reader scores --seed 0 --first" in str(failure.value)


def test_an_input_refused_without_need_is_found(tmp_path: Path) -> None:
    def refuse(path: Path) -> object:
        raise PrivacyEvalError(f"{path}:1: no")

    broken = Reader(lambda rng: b"", refuse, anything, lambda content: scores(content) is None)
    assert try_one(broken, tmp_path / "x", b"s u nan") is False
    with pytest.raises(AssertionError, match="refused"):
        try_one(broken, tmp_path / "x", b"s u 1")


def test_the_same_seed_gives_the_same_inputs() -> None:
    for reader in READERS.values():
        one, two = ([reader.generate(random.Random(n)) for n in range(99)] for _ in range(2))
        assert one == two
    assert len(set(one)) > 50


def test_changes_are_of_every_kind() -> None:
    content = b"a b 1\nc d 2\n"
    found = {mutate(random.Random(n), [content]) for n in range(3000)}
    assert {content, b"", content.replace(b"\n", b"\r\n"), b"a b 1\n", b"c d 2\na b 1\n"} <= found
    assert any(c.startswith(b"\x1f\x8b") for c in found)
    assert any(len(c) > 1000 for c in found)
    kinds = {mutate_json(random.Random(n), [b'{"a": [1, 2], "b": "c"}']) for n in range(2000)}
    assert {b'{"a": [1, 2]}', b'{"b": "c"}', b'{"a": [1, 1, 2], "b": "c"}'} <= kinds


def test_the_script(tmp_path: Path) -> None:
    run = [sys.executable, str(ROOT / "scripts/fuzz.py"), "--inputs", "50", "--reader", "wer"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wer: 50 inputs, ")
    assert done.stderr == ""


# Structured inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("structured")


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
numbers = (
    st.floats().map(repr)
    | st.floats().map(float.hex)
    | st.integers().map(str)
    | st.text("0123456789.eE+-_xinfa", min_size=1, max_size=8)
    | st.text(st.characters(categories=["Nd", "Nl", "No"]), min_size=1, max_size=4)
)
blanks = st.text(" \t", min_size=1, max_size=3)
ends = st.sampled_from(["\n", "\r\n", "\n\n", " \n", "\r", "\u2028", "\x0b", ""])


@settings(max_examples=300)
@given(
    rows=st.lists(st.tuples(ids, blanks, ids, blanks, numbers, ends), min_size=1, max_size=4),
    mark=st.sampled_from(["", "\ufeff", "\ufeff\ufeff", "\ufffe"]),
)
def test_scores_of_any_text(folder: Path, rows: list[tuple[str, ...]], mark: str) -> None:
    """Ids and numbers of every script, all kinds of blanks and line ends."""
    content = (mark + "".join("".join(row) for row in rows)).encode()
    try_one(READERS["scores"], folder / "scores", content)


@settings(max_examples=200)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
        max_leaves=6,
    ),
    entry=st.sampled_from(["splits", "data_sets", "recognition", "genders", "data_folders"]),
)
def test_plans_of_any_values(folder: Path, value: object, entry: str) -> None:
    try_one(READERS["plan"], folder / "plan", json.dumps({**PLAN, entry: value}).encode())


@settings(max_examples=200)
@given(
    shape=st.lists(st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-2, 70000), max_size=2),
    code=st.sampled_from([b"FV ", b"DV ", b"FM ", b"DM ", b"CM ", b"CM2"]),
    size=st.integers(0, 64),
    behind=st.binary(max_size=4),
)
def test_binary_headers_of_any_size(
    folder: Path, shape: list[int], code: bytes, size: int, behind: bytes
) -> None:
    """A header alone reserves nothing."""
    header = b"".join(b"\4" + struct.pack("<i", n) for n in shape)
    content = b"\0B" + code + header + bytes(size) + behind
    for name in ("vector", "matrix"):
        try_one(READERS[name], folder / name, content)
