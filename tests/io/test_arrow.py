"""Scores and keys in Parquet and Arrow files: the same as in text, and damaged ones refused."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cli, lines_to

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io import text_table
from privacy_eval.io.scores import read_scores, read_trial_list, read_trials
from privacy_eval.io.text_table import arrow_blocks
from privacy_eval.metrics.pairing import pair

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra `arrow` is not installed")

COLUMNS = {
    "enroll": ["s1", "s1", "sp\u00e9", "s1"],
    "test": ["u1", "u2", "u1", "a-much-longer-utterance-than-thirty-two-bytes"],
    "score": [1.5, -2.0, 0.25, 3.0],
    "label": [True, False, False, True],
    "seconds": [1, 2, 3, 4],
}
TEXT = [f"{e} {t} {s} {int(x)}" for e, t, s, x, _ in zip(*COLUMNS.values(), strict=True)]


def parquet(path: Path, columns: Mapping[str, Any]) -> Path:
    pq.write_table(pa.table(dict(columns)), path, row_group_size=3)
    return path


def arrow(path: Path, columns: Mapping[str, Any]) -> Path:
    table = pa.table(dict(columns))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return path


WRITERS = pytest.mark.parametrize("write", [parquet, arrow])
Write = Callable[[Path, Mapping[str, Any]], Path]


@WRITERS
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"label": ["target", "nontarget", "nontarget", "target"]},
        {"label": [1, 0, 0, 1], "score": pa.array([1.5, -2, 0.25, 3], pa.float32())},
        {"enroll": pa.array(COLUMNS["enroll"]).dictionary_encode()},
        {"test": pa.array(COLUMNS["test"], pa.large_string())},
    ],
)
def test_the_same_as_in_text(tmp_path: Path, write: Write, change: Mapping[str, Any]) -> None:
    scores = read_scores(write(tmp_path / "scores", {**COLUMNS, **change}))
    text = read_scores(lines_to(tmp_path / "text", TEXT))
    assert scores.origins[0].format == "arrow" and not scores.ends_open
    for name in ("enrolled", "utterance"):
        assert getattr(scores, name).tolist() == getattr(text, name).tolist()
    assert np.array_equal(scores.score, text.score)
    assert np.array_equal(scores.is_target, text.is_target)
    assert np.array_equal(pair(scores, text).is_target, text.is_target)


@WRITERS
def test_parts_are_read_as_text_is(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of three rows, with labels of their own or of a key."""
    monkeypatch.setattr(text_table, "_BATCH_ROWS", 3)
    table = write(tmp_path / "scores", COLUMNS)

    def score_at(names: Sequence[str]) -> dict[str, int]:
        return {"score": names.index("score")}

    assert [len(part["score"]) for part in arrow_blocks(table, score_at)] == [3, 1]
    rows = [line.split() for line in TEXT]
    words = [f"{e} {t} {'target' if x == '1' else 'nontarget'}" for e, t, _, x in rows]
    for trials in (None, lines_to(tmp_path / "key", words)):
        labelled = pair(read_scores(table), None if trials is None else read_trials(trials))
        assert labelled.score.tolist() == COLUMNS["score"]
        assert labelled.is_target.tolist() == COLUMNS["label"]


@WRITERS
def test_keys_and_trial_lists(tmp_path: Path, write: Write) -> None:
    key = write(tmp_path / "key", {n: COLUMNS[n] for n in ("label", "test", "enroll")})
    assert read_trials(key).is_target.tolist() == COLUMNS["label"]
    assert read_trial_list(key).utterance.tolist() == COLUMNS["test"]
    scores = lines_to(tmp_path / "scores", [line.rsplit(" ", 1)[0] for line in TEXT[::-1]])
    run = cli("metrics", "--scores", scores, "--trials", key, "--metrics", "rocch_eer")
    assert (run.code, "2 target and 2 nontarget" in run.out) == (0, True), run.err


@WRITERS
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"enroll": ["s1", None, "s2", "s1"]}, "column enroll: row 2: no value"),
        ({"score": [1.0, 2.0, None, 1.0]}, "column score: row 3: no value"),
        ({"score": [1.0, 2.0, 3.0, float("nan")]}, ":4: .*finite"),
        ({"test": ["u1", "", "u3", "u4"]}, ":2: expected a word in the column test"),
        ({"test": ["u1", "u2", "u3 x", "u4"]}, ":3: expected a word in the column test"),
        ({"test": ["u1", "u2", "u3", "u" * 1025]}, ":4: expected a word in the column test"),
        ({"test": ["u1", "u2", "u3", "u1"]}, ":4: 1 duplicate"),
        ({"label": [0, 1, 2, 1]}, ":3: expected the label"),
        ({"label": ["yes", "no", "no", "yes"]}, "expected the label"),
        ({"enroll": [[1], [2], [3], [4]]}, "not a Parquet or Arrow table"),
        ({"Enroll": ["a"] * 4}, "'enroll' and 'Enroll'"),
        ({"enroll": ["s1"] * 3 + ["s2"], "score": ["a", "b", "c", "d"]}, ":1: .*finite"),
    ],
)
def test_what_text_could_not_hold_is_refused(
    tmp_path: Path, write: Write, change: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        read_scores(write(tmp_path / "scores", {**COLUMNS, **change}))


@WRITERS
def test_other_tables_are_refused(tmp_path: Path, write: Write) -> None:
    for columns, message in (
        ({"a": [1]}, "--columns"),
        ({"enroll": ["a"], "score": [1.0]}, "--columns"),
        ({"enroll": ["a"], "test": ["b"]}, "no column of scores"),
        ({"enroll": pa.array([], pa.string()), "test": pa.array([], pa.string())}, "no rows"),
    ):
        with pytest.raises(PrivacyEvalError, match=message):
            read_scores(write(tmp_path / "scores", columns))


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    pq.write_table(pa.table({name: ["a" * 900] * 60_000 for name in ("enroll", "test")}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(PrivacyEvalError, match="larger than"):
        read_trial_list(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damage_is_an_error_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    content = bytearray(
        data.draw(st.sampled_from([parquet, arrow]))(folder / "x", COLUMNS).read_bytes()
    )
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = folder / "damaged"
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    try:
        assert np.isfinite(read_scores(path).score).all()
    except PrivacyEvalError:
        pass


def test_without_pyarrow_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path / "scores", COLUMNS)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PrivacyEvalError, match="pip install pyarrow"):
        read_scores(path)
