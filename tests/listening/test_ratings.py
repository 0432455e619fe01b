"""Files of ratings: what is read, and what is refused with file and line."""

from pathlib import Path

import numpy as np
import pytest

from privacy_eval.choices import RATING_COLUMNS
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.listening.ratings import TEMPLATE, Ratings, joint_codes, read_ratings

HEADER = "evaluator,system,data_set,gender,trial,enrollment,same_speaker"
ALL = ",".join(RATING_COLUMNS)
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


def test_each_cell_is_one_rating(tmp_path: Path) -> None:
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


def test_template_is_valid(tmp_path: Path) -> None:
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
def test_spreadsheet_variants_read_the_same(tmp_path: Path, text: str) -> None:
    expected, found = read(tmp_path, GOOD), read(tmp_path, text)
    for name in ("metric", "score", "evaluator", "system", "trial", "enrollment", "same_speaker"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def test_other_columns_are_ignored_and_named(tmp_path: Path) -> None:
    plain = read(tmp_path, GOOD)
    lines = [f"{line},a\x07b {'x' * 300}," for line in GOOD.splitlines()]
    lines[0] = f"{GOOD.splitlines()[0]},comment,"  # a spreadsheet's trailing comma
    ratings = read(tmp_path, "\n".join([*lines, ""]))
    assert ratings.ignored_columns == ("comment",) and not plain.ignored_columns
    assert ratings.score.tolist() == plain.score.tolist()


def test_a_folder_of_one_file_per_metric_reads_the_same(tmp_path: Path) -> None:
    whole = read(tmp_path, GOOD)
    folder = tmp_path / "ratings"
    folder.mkdir()
    rows = [line.split(",") for line in GOOD.splitlines()[1:]]
    for number, metric in enumerate(("naturalness", "intelligibility", "similarity"), start=7):
        lines = [",".join([*row[:7], row[number]]) for row in rows if row[number]]
        write(folder, "\n".join([f"{HEADER},score", *lines]), f"{metric}.csv")
    parts = read_ratings([folder])
    assert len(parts.sources) == 3

    def content(ratings: Ratings) -> list[tuple[object, ...]]:
        columns = (ratings.metric, ratings.evaluator, ratings.system, ratings.score)
        return sorted(zip(*(c.tolist() for c in (*columns, ratings.same_speaker)), strict=True))

    assert content(parts) == content(whole)


def test_folders_with_wrong_names_and_repeated_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="no ratings, expected naturalness.csv or"):
        read_ratings([tmp_path])
    write(tmp_path, GOOD, "quality.csv")
    with pytest.raises(PrivacyEvalError, match="quality.csv: .* one file per metric: naturalness"):
        read_ratings([tmp_path])
    path = write(tmp_path, GOOD)
    with pytest.raises(PrivacyEvalError, match="duplicate file"):
        read_ratings([path, tmp_path / ".." / tmp_path.name / "ratings.csv"])


ROW = "ann,B1,libri,f,u1,e1,yes"
TOO_FEW_COLUMNS = {
    "evaluator": "system,trial,naturalness\nB1,u,5\n",
    "system": "evaluator,trial,naturalness\na,u,5\n",
    "trial": "evaluator,system,naturalness\na,B1,5\n",
    "same_speaker": "evaluator,system,trial,similarity\na,B1,u,5\n",
}
#: What is wrong, in which line (0: none is named), and what the message says.
WRONG: dict[str, tuple[str, int, str]] = {
    "empty": ("", 0, "empty file, expected the columns evaluator,system"),
    "no rows": (f"{ALL}\n", 1, "no ratings"),
    "semicolons": (GOOD.replace(",", ";"), 1, "comma-separated"),
    "unknown column": (GOOD.replace("gender", "Gender"), 1, "unknown column 'Gender'"),
    "misspelt column": (
        GOOD.replace("naturalness", "naturalnes"),
        1,
        "'naturalnes', probably naturalness",
    ),
    "duplicate column": (GOOD.replace("gender", "trial"), 1, "duplicate column 'trial'"),
    **{name: (text, 1, f"column '{name}' is miss") for name, text in TOO_FEW_COLUMNS.items()},
    "no metric": (f"{HEADER}\n{ROW}\n", 1, "no column of ratings"),
    "too few cells": (f"{ALL}\n{ROW},5,5\n", 2, "expected 10 cells, found 9"),
    "too high": (
        GOOD.replace(",9,10,8", ",11,10,8"),
        2,
        "naturalness: outside .* 1 to 10, found '11'",
    ),
    "too low": (GOOD.replace(",4,7,", ",4,0.9,"), 4, "intelligibility: outside .* '0.9'"),
    **{
        f"the number {text}": (GOOD.replace(",5,,3", f",5,,{text}"), 3, f"similarity: .*'{text}'")
        for text in ("x", "1_0", "nan")
    },
    "no rating": (GOOD.replace(",4,7,", ",,,"), 4, "no rating"),
    "blank evaluator": (GOOD.replace("bob", " "), 4, "evaluator is blank"),
    "blank gender": (GOOD.replace("libri,f,u1,e2", "libri,,u1,e2"), 4, "gender is blank"),
    "unknown system": (GOOD.replace("bob,B1", "bob,B3"), 4, "system: expected Original, B1.* 'B3'"),
    "unknown data set": (GOOD.replace("libri", "ted"), 2, r"'ted' \(and 2 more: line 3, 4\)"),
    "unknown gender": (GOOD.replace(",f,", ",female,"), 2, "gender: expected f, m, found 'female'"),
    "misspelt original": (GOOD.replace("Original", "orig"), 2, "'Original'"),
    "unknown same_speaker": (GOOD.replace(",yes,5", ",maybe,5"), 3, "same_speaker: expected 1,"),
    "similarity without": (GOOD.replace(",yes,5", ",,5"), 3, "same_speaker is blank"),
    "duplicate": (
        GOOD + "ann,B1,libri,f,u1,e1,yes,5,6,\n",
        5,
        "naturalness of u1 with e1, system B1, by ann; first in .*ratings.csv:3$",
    ),
    "three duplicates": (
        GOOD + "ann,Original,libri,f,u1,e1,yes,9,10,8\n" * 3,
        5,
        r"first in .*ratings.csv:2 \(and 2 more: line 6, 7\)$",
    ),
    "two data sets": (
        GOOD + "bob,B1,vctk,f,u1,e1,yes,5,6,\n",
        5,
        "data_set of trial u1 is 'vctk', but 'libri' in .*:2",
    ),
    "two genders": (GOOD + "bob,B1,libri,m,u1,e1,yes,5,6,\n", 5, "gender of trial u1 is 'm'"),
    "both kinds of pair": (
        GOOD + "bob,B1,libri,f,u1,e1,no,5,6,\n",
        5,
        "same_speaker of u1 with e1 is 'no', but 'yes' in .*:2",
    ),
    "open quote": (GOOD + '"bob,B1\n', 5, "malformed CSV"),
    "long name": (GOOD.replace("bob", "b" * 300), 4, "evaluator: expected at most 256"),
    "control character": (GOOD.replace("bob", "b\x07b"), 4, "evaluator: .* printable"),
}


@pytest.mark.parametrize(("text", "line", "message"), WRONG.values(), ids=WRONG)
def test_errors_name_the_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    place = f":{line}" if line else ""
    with pytest.raises(PrivacyEvalError, match=f"ratings.csv{place}: .*{message}"):
        read(tmp_path, text, systems=["B1"], data_sets=["libri", "vctk"], genders=["f", "m"])


def test_invalid_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_bytes(GOOD.encode() + b"\xff\n")
    with pytest.raises(PrivacyEvalError, match=r"ratings.csv:5: not UTF-8"):
        read_ratings([tmp_path / "ratings.csv"])


def test_duplicates_are_found_across_files(tmp_path: Path) -> None:
    one, other = write(tmp_path, GOOD), write(tmp_path, GOOD, "more.csv")
    with pytest.raises(PrivacyEvalError, match=r"more.csv:2: .*first in .*ratings.csv:2 \(and 2"):
        read_ratings([one, other])


def test_pairs_are_compared_as_pairs_not_as_joined_names(tmp_path: Path) -> None:
    """Trial `a with b` and enrollment `c` are not trial `a` and enrollment `b with c`."""
    lines = ("x,B1,a with b,c,yes,5", "x,B1,a,b with c,no,5")
    text = "\n".join(["evaluator,system,trial,enrollment,same_speaker,naturalness", *lines])
    assert read(tmp_path, text + "\n").same_speaker.tolist() == [1, 0]


def test_another_scale(tmp_path: Path) -> None:
    text = "evaluator,system,trial,naturalness\nann,B1,u,-1.5\n"
    assert read(tmp_path, text, scale=(-3, 3)).score.tolist() == [-1.5]
    with pytest.raises(PrivacyEvalError, match="from 5 to 5 is empty"):
        read(tmp_path, text, scale=(5, 5))


def test_any_system_is_accepted_by_default(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD.replace("B1", "50%_x & Co"))
    assert set(found.system) == {"Original", "50%_x & Co"}


def test_joint_codes_distinguish_rows_as_tuples_do() -> None:
    columns = [np.array(list("aabbab")), np.array(list("xyxyxx"))]
    code = joint_codes(columns).tolist()
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    assert [[a == b for a in code] for b in code] == [[a == b for a in rows] for b in rows]
