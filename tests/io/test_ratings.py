"""Files of ratings: what is read, and what is refused with file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.ratings import COLUMNS, TEMPLATE, Ratings, joint_codes, read_ratings

HEADER = "evaluator,system,data_set,gender,trial,enrollment,same_speaker"
ALL = ",".join(COLUMNS)
GOOD = f"""{ALL}
ann,Original,libri,f,u1,e1,yes,9,10,8
ann,B1,libri,f,u1,e1,yes,5,,3
bob,B1,libri,f,u1,e2,no,4,7,
"""


def write(folder: Path, text: str, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, **options: object) -> Ratings:
    return read_ratings([write(folder, text)], **options)  # type: ignore[arg-type]


def test_every_answer_is_one_rating(tmp_path: Path) -> None:
    ratings = read(tmp_path, GOOD)
    assert list(
        zip(ratings.metric, ratings.evaluator, ratings.system, ratings.score, strict=True)
    ) == [
        ("naturalness", "ann", "Original", 9),
        ("naturalness", "ann", "B1", 5),
        ("naturalness", "bob", "B1", 4),
        ("intelligibility", "ann", "Original", 10),
        ("intelligibility", "bob", "B1", 7),
        ("similarity", "ann", "Original", 8),
        ("similarity", "ann", "B1", 3),
    ]
    assert ratings.same_speaker.tolist() == [1, 1, 0, 1, 0, 1, 1]
    assert set(ratings.data_set) == {"libri"} and ratings.scale == (1, 10)
    assert list(ratings.sources) == [str(tmp_path / "ratings.csv")]
    assert len(ratings.take(ratings.evaluator == "bob")) == 2


def test_the_template_is_read(tmp_path: Path) -> None:
    ratings = read(
        tmp_path,
        TEMPLATE,
        systems=["B1"],
        data_sets=["libri", "vctk_different"],
        genders=["f", "m"],
    )
    assert len(ratings) == 14


def test_columns_may_be_missing_and_in_any_order(tmp_path: Path) -> None:
    ratings = read(tmp_path, "naturalness,trial,system,evaluator\n7.5,u1,B1,ann\n")
    assert ratings.score.tolist() == [7.5]
    assert (ratings.data_set[0], ratings.enrollment[0], ratings.same_speaker[0]) == ("", "", -1)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace(",", " , "),
        GOOD.replace("ann", '"ann"').replace("yes", "TRUE").replace("no,", "0,"),
        GOOD.rstrip("\n"),
    ],
    ids=["byte order mark", "carriage returns", "blank lines", "blanks", "quotes", "open end"],
)
def test_what_spreadsheets_write_reads_the_same(tmp_path: Path, text: str) -> None:
    expected, found = read(tmp_path, GOOD), read(tmp_path, text)
    for name in ("metric", "score", "evaluator", "system", "trial", "enrollment", "same_speaker"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def test_a_folder_of_one_file_per_metric_reads_the_same(tmp_path: Path) -> None:
    whole = read(tmp_path, GOOD)
    folder = tmp_path / "ratings"
    folder.mkdir()
    lines = {
        "naturalness": ["ann,Original,9", "ann,B1,5", "bob,B1,4"],
        "intelligibility": ["ann,Original,10", "bob,B1,7"],
        "similarity": ["ann,Original,8", "ann,B1,3"],
    }
    for metric, of_metric in lines.items():
        rows = []
        for line in of_metric:
            name, system, score = line.split(",")
            pair = "e1,yes" if name == "ann" else "e2,no"
            rows.append(f"{name},{system},libri,f,u1,{pair},{score}\n")
        write(folder, f"{HEADER},score\n{''.join(rows)}", f"{metric}.csv")
    parts = read_ratings([folder])
    assert len(parts.sources) == 3

    def content(ratings: Ratings) -> list[tuple[object, ...]]:
        columns = (ratings.metric, ratings.evaluator, ratings.system, ratings.score)
        return sorted(zip(*(c.tolist() for c in (*columns, ratings.same_speaker)), strict=True))

    assert content(parts) == content(whole)


def test_an_odd_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="no ratings, expected naturalness.csv or"):
        read_ratings([tmp_path])
    write(tmp_path, GOOD, "quality.csv")
    with pytest.raises(PrivacyEvalError, match="quality.csv: .* one file per metric: naturalness"):
        read_ratings([tmp_path])
    path = write(tmp_path, GOOD)
    with pytest.raises(PrivacyEvalError, match="the same file of ratings is given twice"):
        read_ratings([path, tmp_path / ".." / tmp_path.name / "ratings.csv"])


ROW = "ann,B1,libri,f,u1,e1,yes"
WRONG = {
    "empty": ("", r"ratings.csv: empty file, expected the columns evaluator,system"),
    "no rows": (f"{ALL}\n", r":1: no ratings below"),
    "semicolons": (GOOD.replace(",", ";"), r":1: expected cells separated by commas"),
    "unknown column": (GOOD.replace("gender", "sex"), r":1: unknown column 'sex', expected some"),
    "column twice": (GOOD.replace("gender", "trial"), r":1: duplicate column 'trial'"),
    "no evaluator": ("system,trial,naturalness\nB1,u,5\n", r":1: the column 'evaluator' is miss"),
    "no system": ("evaluator,trial,naturalness\na,u,5\n", r":1: the column 'system' is missing"),
    "no trial": ("evaluator,system,naturalness\na,B1,5\n", r":1: the column 'trial' is missing"),
    "no metric": (f"{HEADER}\n{ROW}\n", r":1: no column of ratings: naturalness, intellig"),
    "similarity of what": (
        "evaluator,system,trial,similarity\na,B1,u,5\n",
        r":1: the column 'same_speaker' is missing \(needed with similarity\)",
    ),
    "too few cells": (f"{ALL}\n{ROW},5,5\n", r":2: expected 10 cells, found 9"),
    "too high": (
        GOOD.replace(",9,10,8", ",11,10,8"),
        r":2: naturalness: 11 is not within .* 1 to 10",
    ),
    "too low": (GOOD.replace(",4,7,", ",4,0.9,"), r":4: intelligibility: 0.9 is not within"),
    "no number": (GOOD.replace(",5,,3", ",5,,x"), r":3: similarity: expected a number, found 'x'"),
    "underscore": (GOOD.replace(",5,,3", ",5,,1_0"), r":3: similarity: expected a number, found"),
    "not a number": (GOOD.replace(",5,,3", ",5,,nan"), r":3: similarity: expected a number"),
    "no rating": (GOOD.replace(",4,7,", ",,,"), r":4: no rating in this line"),
    "blank evaluator": (GOOD.replace("bob", " "), r":4: evaluator is blank"),
    "blank gender": (GOOD.replace("libri,f,u1,e2", "libri,,u1,e2"), r":4: gender is blank; leave"),
    "unknown system": (
        GOOD.replace("bob,B1", "bob,B3"),
        r":4: unknown system 'B3', known: Original, B1",
    ),
    "unknown data set": (
        GOOD.replace("libri", "ted"),
        r":2: unknown data_set 'ted'.* \(and 2 more: line 3, 4\)",
    ),
    "unknown gender": (
        GOOD.replace(",f,", ",female,"),
        r":2: unknown gender 'female', known: f, m",
    ),
    "original misspelt": (
        GOOD.replace("Original", "orig"),
        r":2: original speech is the system 'Ori",
    ),
    "strange same_speaker": (
        GOOD.replace(",yes,5", ",maybe,5"),
        r":3: same_speaker: expected 1, true",
    ),
    "similarity without": (GOOD.replace(",yes,5", ",,5"), r":3: similarity is rated, but same_sp"),
    "rated twice": (
        GOOD + "ann,B1,libri,f,u1,e1,yes,5,6,\n",
        r"ratings.csv:5: naturalness of u1 with e1, system B1, is rated by ann for the second "
        r"time, first in .*ratings.csv:3$",
    ),
    "three lines rated twice": (
        GOOD + "ann,Original,libri,f,u1,e1,yes,9,10,8\n" * 3,
        r"ratings.csv:5: naturalness .*ratings.csv:2 \(and 2 more: line 6, 7\)$",
    ),
    "two data sets": (
        GOOD + "bob,B1,vctk,f,u1,e1,yes,5,6,\n",
        r":5: data_set of trial u1 is 'vctk', but 'libri' in .*:2",
    ),
    "two genders": (
        GOOD + "bob,B1,libri,m,u1,e1,yes,5,6,\n",
        r":5: gender of trial u1 is 'm', but 'f' in",
    ),
    "two kinds": (
        GOOD + "bob,B1,libri,f,u1,e1,no,5,6,\n",
        r":5: same_speaker of u1 with e1 is 'no', but 'yes' in .*:2",
    ),
    "open quote": (GOOD + '"bob,B1\n', r":5: not CSV"),
    "endless name": (GOOD.replace("bob", "b" * 300), r":4: evaluator: not a name or number"),
    "control character": (GOOD.replace("bob", "b\x07b"), r":4: evaluator: not a name or number"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        read(tmp_path, text, systems=["B1"], data_sets=["libri", "vctk"], genders=["f", "m"])


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_bytes(GOOD.encode() + b"\xff\n")
    with pytest.raises(PrivacyEvalError, match=r"ratings.csv:5: not UTF-8"):
        read_ratings([tmp_path / "ratings.csv"])


def test_duplicates_are_found_across_files(tmp_path: Path) -> None:
    one, other = write(tmp_path, GOOD), write(tmp_path, GOOD, "more.csv")
    with pytest.raises(PrivacyEvalError, match=r"more.csv:2: .*first in .*ratings.csv:2 \(and 2"):
        read_ratings([one, other])


def test_another_scale(tmp_path: Path) -> None:
    text = "evaluator,system,trial,naturalness\nann,B1,u,-1.5\n"
    assert read(tmp_path, text, scale=(-3, 3)).score.tolist() == [-1.5]
    with pytest.raises(PrivacyEvalError, match="scale of ratings from 5 to 5 has no extent"):
        read(tmp_path, text, scale=(5, 5))


def test_any_system_where_none_are_known(tmp_path: Path) -> None:
    assert set(read(tmp_path, GOOD.replace("B1", "50%_x & Co")).system) == {
        "Original",
        "50%_x & Co",
    }


def test_codes_tell_rows_apart_as_tuples_do() -> None:
    columns = [np.array(list("aabbab")), np.array(list("xyxyxx"))]
    code = joint_codes(columns).tolist()
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    for i in range(6):
        for j in range(6):
            assert (code[i] == code[j]) is (rows[i] == rows[j])
