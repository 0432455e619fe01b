"""Published results: complete, consistent, as the papers have them, and readable."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import GOLDEN, ROOT

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import REGISTRY
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import (
    PublishedPValue,
    PublishedValue,
    load_p_values,
    load_published,
    load_systems,
    parse_p_values,
    parse_values,
    published_names,
)

FOLDER = ROOT / "conf" / "published"
PAPERS = ROOT.parent / "shared" / "papers"
SUPPLEMENT = PAPERS / "vpc2020_supplement.txt"
SIMILARITY = PAPERS / "voice_similarity_matrices.txt"
with_papers = pytest.mark.skipif(not SUPPLEMENT.is_file(), reason="the papers are not there")

VALUES = load_published("vpc2020")
P_VALUES = load_p_values("vpc2020")
OF_SIMILARITY = load_published("voice_similarity")
SYSTEMS = load_systems("vpc2020")
SUBJECTIVE = "subjective_"

#: Blocks, rows and columns of every table, counted by hand.
SIZES = {
    2: (6, 6, 19),
    3: (6, 6, 19),
    4: (4, 6, 19),
    5: (4, 6, 19),
    6: (2, 6, 19),
    7: (2, 6, 19),
    8: (2, 6, 18),
    9: (2, 6, 18),
    10: (3, 6, 7),
    11: (3, 6, 7),
    12: (2, 6, 7),
    13: (2, 6, 7),
    14: (1, 6, 7),
    15: (1, 6, 7),
    18: (8, 6, 10),
}


def load_script() -> ModuleType:
    path = ROOT / "scripts" / "transcribe_published.py"
    spec = importlib.util.spec_from_file_location("transcribe_published", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


script = load_script()
DATA = script.read_published(FOLDER)


# --- the data


@pytest.mark.parametrize("table", SIZES)
def test_every_table_has_its_rows_and_columns(table: int) -> None:
    values = [v for v in VALUES if v.table == table]
    blocks = {(v.metric, v.attack_model) for v in values}
    rows = {(v.data_set, v.gender) for v in values}
    systems = {v.system for v in values}
    assert (len(blocks), len(rows), len(systems)) == SIZES[table]
    places = {(v.metric, v.attack_model, v.data_set, v.gender, v.system) for v in values}
    assert len(values) == len(places) == len(blocks) * len(rows) * len(systems)
    assert {v.split for v in values} == {"dev" if table < 18 and table % 2 == 0 else "test"}


def test_there_are_4152_values_in_the_order_of_the_document() -> None:
    assert {v.table for v in VALUES} == set(SIZES)
    assert len(VALUES) == sum(b * r * c for b, r, c in SIZES.values()) == 4152
    assert [v.table for v in VALUES] == sorted(v.table for v in VALUES)


def test_p_values_and_similarity_are_apart() -> None:
    assert Counter((p.table, p.metric) for p in P_VALUES) == {
        (16, "subjective_similarity_same_speaker"): 90,
        (16, "subjective_similarity_different_speaker"): 90,
        (17, "subjective_naturalness"): 90,
        (17, "subjective_intelligibility"): 90,
    }
    assert sum(p.value == "<< 0.01" for p in P_VALUES) == 200
    assert Counter((v.metric, v.system) for v in OF_SIMILARITY) == {
        (metric, system): 6 for metric in ("deid", "gvd_db") for system in ("B1", "B2")
    }


def test_ids_are_those_of_the_plan_and_of_the_metrics() -> None:
    plan = load_protocol("vpc2020")
    for value in (*VALUES, *OF_SIMILARITY):
        assert value.attack_model in {None, *(a.id for a in plan.attack_models)}
        assert value.data_set in {d.id for d in plan.data_sets}
        assert value.split in plan.splits and value.gender in plan.genders
        unit = REGISTRY[value.metric.removeprefix(SUBJECTIVE)].unit
        assert value.unit == unit or (value.unit, unit) == ("percent", "fraction")
    for kind, without_attack in (("deid", True), ("gvd_db", True), ("eer", False)):
        assert {v.attack_model is None for v in VALUES if v.metric == kind} == {without_attack}
    assert {v.metric for v in VALUES if v.metric.startswith(SUBJECTIVE)} == {
        f"{SUBJECTIVE}{metric}" for metric in ("eer", "rocch_eer", "cllr_min", "cllr")
    }


#: Typed in by hand from the text of the supplement; places drawn at random.
BY_HAND = """\
 2 cllr_min         lazy-informed dev  vctk_different m K2   0.304
 2 eer              lazy-informed dev  vctk_different m K2   9.03
 2 cllr_min         ignorant      dev  libri          f S1   0.970
 3 cllr             lazy-informed test vctk_common    m S1   34.0
 3 cllr_min         ignorant      test libri          m M1c2 0.608
 3 cllr             lazy-informed test libri          m S1   44.8
 4 zebra_population lazy-informed dev  vctk_common    m D1   0.429
 4 zebra_individual ignorant      dev  vctk_different f M1c4 2.193
 5 zebra_population ignorant      test vctk_common    f D1   0.138
 5 zebra_individual ignorant      test vctk_common    f M1c4 2.100
 6 linkability      ignorant      dev  libri          m B2   0.563
 6 linkability      lazy-informed dev  libri          f B1   0.223
 7 linkability      lazy-informed test vctk_common    f O1c1 0.169
 7 linkability      ignorant      test vctk_different m B2   0.375
 8 gvd_db           -             dev  vctk_different f S2c1 -9.82
 8 gvd_db           -             dev  vctk_common    m S2   -16.34
 9 deid             -             test vctk_different m M1c2 76.2
 9 gvd_db           -             test vctk_different f S1c1 -8.35
10 cllr             semi-informed dev  vctk_common    m Orig 1.6
10 eer              semi-informed dev  vctk_different f S2   13.03
11 cllr             semi-informed test vctk_different f M1   10.4
11 cllr             semi-informed test vctk_different f B1   3.6
12 zebra_population semi-informed dev  libri          m K2   0.671
12 zebra_population semi-informed dev  vctk_different f K2   0.663
13 zebra_individual semi-informed test vctk_different f K2   3.894
13 zebra_individual semi-informed test vctk_common    m B2   3.630
14 linkability      semi-informed dev  vctk_common    f K2   0.951
14 linkability      semi-informed dev  vctk_common    f B2   0.900
15 linkability      semi-informed test libri          f B2   0.891
15 linkability      semi-informed test vctk_common    f Orig 0.924
18 eer              ignorant      test vctk_common    f A2   48.550
18 cllr             ignorant      test vctk_different m B2   101.697
18 subjective_cllr  -             test vctk_different f B2   1.031
"""
#: The same, for cells that could go wrong: corners, rows with slips, lacking digits, signs.
CHOSEN_BY_HAND = """\
 2 eer              ignorant      dev  libri          f Orig 8.66
 3 eer              ignorant      test libri          m M1c4 19.6
 3 eer              ignorant      test vctk_different f O1c1 43.0
 9 gvd_db           -             test vctk_different f K2   0.25
13 zebra_population semi-informed test vctk_different m B1   0.446
13 zebra_individual semi-informed test vctk_different m B1   2.589
14 linkability      semi-informed dev  vctk_different m K2   0.836
15 linkability      semi-informed test vctk_different m O1   0.531
18 eer              ignorant      test libri          f Orig 7.664
18 subjective_cllr  -             test vctk_different m K2   1.063
"""


@pytest.mark.parametrize("line", (BY_HAND + CHOSEN_BY_HAND).splitlines())
def test_cells_typed_in_by_hand(line: str) -> None:
    table, *place, expected = line.split()
    place[1:2] = [None if place[1] == "-" else place[1]]  # type: ignore[list-item]
    (found,) = (
        v.value
        for v in VALUES
        if [v.metric, v.attack_model, v.split, v.data_set, v.gender, v.system] == place
        and v.table == int(table)
    )
    assert found == expected


@pytest.mark.parametrize(
    ("part", "system", "other", "expected"),
    [
        ("similarity_different_speaker", "K2", "A2", "<< 0.01"),
        ("similarity_different_speaker", "O1", "S2", "<< 0.01"),
        ("similarity_different_speaker", "S2", "K2", "0.977"),
        ("similarity_same_speaker", "B2", "K2", "<< 0.01"),
        ("similarity_same_speaker", "A2", "O1", "0.266"),
        ("similarity_same_speaker", "S2", "I1", "0.0087"),
        ("naturalness", "D1", "S2", "0.0026"),
        ("intelligibility", "Orig", "M1", "<< 0.01"),
        ("intelligibility", "S2", "I1", "<< 0.01"),
        ("intelligibility", "B1", "A2", "0.866"),
    ],
)
def test_p_values_typed_in_by_hand(part: str, system: str, other: str, expected: str) -> None:
    (found,) = (
        p.value
        for p in P_VALUES
        if (p.metric, p.system, p.other_system) == (SUBJECTIVE + part, system, other)
    )
    assert found == expected


@pytest.mark.parametrize(
    ("metric", "data_set", "gender", "system", "expected"),
    [
        ("deid", "libri", "m", "B1", "100"),
        ("deid", "libri", "f", "B1", "99.54"),
        ("deid", "vctk_common", "m", "B1", "99.96"),
        ("gvd_db", "vctk_common", "f", "B1", "-7.46"),
        ("gvd_db", "vctk_different", "m", "B2", "-2.98"),
    ],
)
def test_similarity_typed_in_by_hand(
    metric: str, data_set: str, gender: str, system: str, expected: str
) -> None:
    (found,) = (
        v.value
        for v in OF_SIMILARITY
        if (v.metric, v.data_set, v.gender, v.system) == (metric, data_set, gender, system)
    )
    assert found == expected


def test_systems() -> None:
    ids = [s.id for s in SYSTEMS.systems]
    assert len(set(ids)) == len(ids) == 18
    assert {v.system for v in VALUES} == {"Orig", *ids}
    assert {p.system for p in P_VALUES} < {"Orig", *ids}
    assert {s.id for s in SYSTEMS.systems if s.family == "B2"} == {"B2", "D1"}
    assert {s.id for s in SYSTEMS.systems if s.family == "other"} == {"I1", "K2"}
    contrastive = {s.id for s in SYSTEMS.systems if s.role == "contrastive"}
    assert contrastive == {"M1c1", "M1c2", "M1c3", "M1c4", "O1c1", "S1c1", "S2c1"}
    retrained = {v.system for v in VALUES if v.attack_model == "semi-informed"}
    assert retrained - {"Orig", "B1", "B2"} == {
        s.id
        for s in SYSTEMS.systems
        if s.anonymized_training_data and s.role == "primary" and s.id != "S1"
    }
    assert load_systems("voice_similarity").systems == SYSTEMS.systems[:2]
    assert {v.system for v in OF_SIMILARITY} == {"B1", "B2"}
    assert SYSTEMS.system("O1").team == "Oxford System Security Lab"
    colours = {name: SYSTEMS.colour(name) for name in ("A1", "D1", "K2", "Orig")}
    assert colours == {"A1": "blue", "D1": "red", "K2": None, "Orig": None}


# --- the checks


def test_all_checks_pass() -> None:
    checks = script.checks_without_papers(DATA, GOLDEN)
    assert [check.text for check in checks if check.problems] == []
    assert all(check.compared for check in checks)


def test_known_differences_are_as_many_as_the_readme_says() -> None:
    assert {name: len(cells) for name, cells in DATA.differences.items()} == {
        "Tables 2 and 3, results.txt of B2": 49,
        "Table 3, Table 18": 23,
        "Table 8, similarity paper": 9,
    }
    of = {d.system for d in DATA.differences["Table 3, Table 18"]}
    assert of == {"B2", "I1", "M1", "S2"}
    text = (FOLDER / "README.md").read_text()
    for said in ("49 of its 72 cells", "23 of 180 objective cells", "9 of 24 cells"):
        assert said in text
    for number in (len(VALUES), len(P_VALUES), len(OF_SIMILARITY)):
        assert f"| {number} " in text


def changed(index: int, **entries: object) -> Any:
    """The data with something else in one cell of the big table."""
    values = list(VALUES)
    values[index] = dataclasses.replace(values[index], **entries)  # type: ignore[arg-type]
    return dataclasses.replace(DATA, values=tuple(values))


def index_of(table: int, metric: str, attack: str | None, row: str, system: str) -> int:
    """Place of a cell in the big table."""
    (found,) = (
        index
        for index, v in enumerate(VALUES)
        if (v.table, v.metric, v.attack_model, v.system) == (table, metric, attack, system)
        and f"{v.data_set} {v.gender}" == row
    )
    return found


@pytest.mark.parametrize(
    ("cell", "value", "titles"),
    [
        ((2, "eer", "ignorant", "libri f", "B1"), "50.15", ["B1, results.txt of B1"]),
        (
            (6, "linkability", "lazy-informed", "vctk_common m", "Orig"),
            "0.936",
            ["column Orig: the same in all tables"],
        ),
        (
            (3, "eer", "ignorant", "vctk_different f", "I1"),
            "29.58",
            ["Table 3, Table 18"],
        ),
        ((3, "cllr", "ignorant", "libri m", "K2"), "159.9", ["Table 3, Table 18"]),
        (
            (2, "eer", "lazy-informed", "libri m", "B2"),
            "10.56",
            ["Tables 2 and 3, results.txt of B2"],
        ),
        ((8, "deid", None, "libri m", "B2"), "41.3", ["Table 8, similarity paper"]),
        ((8, "deid", None, "libri m", "A1"), "100.1", ["values within the range"]),
        ((7, "linkability", "ignorant", "libri m", "A1"), "0.74", ["supplement: digits"]),
        ((3, "eer", "ignorant", "libri m", "M1c4"), "19.60", ["supplement: digits"]),
        (
            (4, "zebra_population", "ignorant", "libri f", "B2"),
            "0.334",
            ["population disclosure goes with min Cllr"],
        ),
        (
            (18, "subjective_cllr_min", None, "libri f", "K2"),
            "0.494",
            ["EER, ROCCH-EER, min Cllr and Cllr go together"],
        ),
    ],
)
def test_a_changed_cell_is_found(
    cell: tuple[int, str, str | None, str, str], value: str, titles: list[str]
) -> None:
    data = changed(index_of(*cell), value=value)
    failed = [c.title for c in script.checks_without_papers(data, GOLDEN) if c.problems]
    assert len(failed) == len(titles)
    assert all(f.startswith(title) for f, title in zip(failed, titles, strict=True))


def test_rows_that_are_exchanged_lacking_or_of_another_unit_are_found() -> None:
    first = script.check_cells([*VALUES[1:], VALUES[0]])
    assert len(first.problems) == 1 and "expected (2, 'eer'" in first.problems[0]
    assert "Table 2: 683 cells, expected 684" in script.check_cells(VALUES[1:]).problems
    assert "unit fraction" in script.check_cells(changed(0, unit="fraction").values).problems[0]
    assert script.check_p_values(P_VALUES[1:]).problems
    asymmetric = [dataclasses.replace(P_VALUES[0], value="0.500"), *P_VALUES[1:]]
    assert script.check_p_values(asymmetric).problems == (
        "Table 16, subjective_similarity_same_speaker, B1, Orig: << 0.01, 0.500",
    )


def test_a_list_of_differences_may_not_hold_more_or_less_than_there_are() -> None:
    for name, known in DATA.differences.items():
        other = dataclasses.replace(known[0], second="1.0")
        for listed in ((*known, other), known[1:], (*known, known[0])):
            data = dataclasses.replace(DATA, differences={**DATA.differences, name: listed})
            assert any(check.problems for check in script.check_comparisons(data, GOLDEN))
    data = dataclasses.replace(DATA, differences={**DATA.differences, "Table 1, Table 2": ()})
    assert script.check_comparisons(data, GOLDEN)[-1].problems == (
        "no comparison 'Table 1, Table 2'",
    )


@pytest.mark.parametrize(
    ("first", "second", "digits", "expected"),
    [
        ("8.66", "8.665", (2, 3), True),
        ("8.67", "8.665", (2, 3), True),
        ("8.65", "8.665", (2, 3), False),
        ("0.618", "0.617", (3, 3), False),
        ("28.24", "28.3", (2, 2), False),
        ("46.1", "46.100", (2, 3), True),
        ("46.1", "46.140", (2, 3), False),
    ],
)
def test_roundings(first: str, second: str, digits: tuple[int, int], expected: bool) -> None:
    assert script.agree(first, second, *digits) is expected
    assert script.agree(second, first, *reversed(digits)) is expected


# --- with the papers at hand


@with_papers
def test_the_script_makes_the_same_files_byte_for_byte(tmp_path: Path) -> None:
    run = script_main("--supplement", SUPPLEMENT, "--similarity", SIMILARITY, "--folder", tmp_path)
    assert run == 0
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(made) == {"vpc2020.csv", "vpc2020_p_values.csv", "voice_similarity.csv"}
    for name, content in made.items():
        assert (FOLDER / name).read_bytes() == content


@with_papers
def test_the_whole_check_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert script_main("--supplement", SUPPLEMENT, "--similarity", SIMILARITY, "--check") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 20 and all(line.startswith("ok ") for line in lines)


@with_papers
def test_every_number_of_the_tables_is_there_in_order() -> None:
    """A second, simpler reading: the cells of all rows that begin with a label."""
    rows = (
        line.rstrip("\t").split("\t")
        for line in SUPPLEMENT.read_text().splitlines()
        if re.match(r"(LibriSpeech|VCTK [(a-z)]+|)\t(fe)?male\t", line)
    )
    assert [cell for row in rows for cell in row[2:]] == [v.value for v in VALUES]


DAMAGE = {
    "number": ("\t46.88\t", "\t46,88\t", r":163: A1: no number: '46,88'"),
    "mark": ("\t46.88\t", "\t**46.88**\t", r":163: A1: no number"),
    "cell lacking": ("\t46.88\t", "\t", r":163: expected 19 values, found 18"),
    "label": ("VCTK different\tfemale\t2.86\t49.69", "VCTK\tfemale\t2.86", r":165: Table 2, row 3"),
    "gender": ("\tmale\t1.24\t54.19", "\tmen\t1.24\t54.19", r":164: Table 2, row 2: no gender"),
    "columns": ("Orig\tA1\tA2", "Orig\tA2\tA1", r":162: Table 2: expected other columns"),
    "heading": ("EER – Ignorant (oa)", "FAR – Ignorant (oa)", r":161: no known heading"),
    "block": ("EER – Ignorant (oa)", "EER – Lazy-informed (aa)", r":161: Table 2: expected"),
    "split": (
        "attack models on the test data. Larger EER",
        "attack models on the development data. Larger EER",
        ":210: Table 3: expected a caption of the test set",
    ),
    "caption": ("\nTable 7: ", "\nTable seven: ", "no caption of Table 7"),
    "caption twice": ("\nTable 7: ", "\nTable 6: ", "a second caption of Table 6"),
    "p-value": ("\t0.027\t0.0057", "\t.027\t0.0057", "O1: no p-value: '.027'"),
    "diagonal": ("K2\t$\\ll 0.01$\t", "K2\t\t", "only the diagonal may and must be empty"),
    "part": ("\n(b) Different-speaker", "\n(b)", "no line '\\(b\\) Different-speaker'"),
}


@with_papers
@pytest.mark.parametrize(("old", "new", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_text_is_refused(old: str, new: str, message: str) -> None:
    text = SUPPLEMENT.read_text()
    assert old in text
    with pytest.raises(PrivacyEvalError, match=message):
        script.transcribe_supplement(text.replace(old, new, 1), SUPPLEMENT)


@with_papers
def test_a_changed_text_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another number, a mended slip and a star lost: three checks say so, and no other."""
    text = SUPPLEMENT.read_text()
    for old, new in (
        ("\t46.88\t", "\t46.89\t"),
        ("female\t3.921", "male\t3.921"),
        (r"\textcircled{K} \star", r"\textcircled{K}"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "s.txt").write_text(text)
    options = ("--supplement", tmp_path / "s.txt", "--similarity", SIMILARITY, "--check")
    assert script_main(*options) == 1
    out = capsys.readouterr().out
    failed = re.findall(r"^FAILED  (.*?) \(", out, re.M)
    assert failed == [
        "vpc2020.csv: as transcribed anew",
        "supplement: labels of rows",
        "systems.yaml: as Table 1 has it",
    ]
    assert "vpc2020.csv:3: eer,percent,ignorant,dev,libri,f,A1,46.88,2, in the paper " in out
    assert "row 4 (vctk_different): listed as a slip, but is none" in out


def test_the_check_without_papers_and_wrong_options(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "transcribe_published.py")]
    missing = ["--supplement", "s.txt", "--similarity", "v.txt"]
    for options, code, said in (
        (["--check"], 0, "ok      Tables 2-15, 18: every cell once, in order (4152)"),
        ([], 2, "name both papers"),
        (["--check", "--supplement", "s.txt"], 2, "name both papers"),
        (missing, 1, "error: s.txt: cannot be read"),
        ([*missing, "--check"], 1, "error: s.txt: cannot be read"),
    ):
        done = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert said in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def script_main(*arguments: object) -> int:
    before, sys.argv = sys.argv, ["transcribe_published.py", *map(str, arguments)]
    try:
        return int(script.main())
    finally:
        sys.argv = before


# --- reading


def test_numbers_are_in_the_unit_of_records() -> None:
    units = {v.unit for v in VALUES}
    assert units == {"percent", "bit", "fraction", "log10 LR", "dB"}
    assert VALUES[0].value == "8.66" and VALUES[0].number == 0.0866
    assert {v.number for v in VALUES if v.value == "-16.34"} == {-16.34}
    for value in VALUES:
        factor = 100 if value.unit == "percent" else 1
        assert value.number * factor == pytest.approx(float(value.value), abs=1e-12)
    assert {p.number for p in P_VALUES if p.value == "<< 0.01"} == {None}
    assert next(p.number for p in P_VALUES if p.value == "0.0087") == 0.0087


def test_unknown_names() -> None:
    assert published_names() == ["voice_similarity", "vpc2020"]
    for load, name in (
        (load_published, "vpc1999"),
        (load_published, "vpc2020_p_values"),
        (load_published, "../published/vpc2020"),
        (load_p_values, "voice_similarity"),
        (load_systems, "vpc2022"),
    ):
        with pytest.raises(PrivacyEvalError, match="nothing published of this name; known: v"):
            load(name)
    with pytest.raises(PrivacyEvalError, match="Z9: no published system; there are B1, B2"):
        SYSTEMS.system("Z9")


HEAD = ",".join(f.name for f in dataclasses.fields(PublishedValue))
P_HEAD = ",".join(f.name for f in dataclasses.fields(PublishedPValue))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x:1: expected the columns metric,"),
        (f"{HEAD},more\n", "x:1: expected the columns"),
        (f"{HEAD}\neer,percent\n", "x:2: expected 9 cells, found 2"),
        (f"{HEAD}\neer,percent,,dev,libri,f,B1,5.0 %,2\n", "x:2: no printed number: '5.0 %'"),
        (f"{HEAD}\neer,percent,,dev,libri,f,B1,nan,2\n", "x:2: no printed number"),
        (f"{HEAD}\neer,percent,,dev,libri,f,B1,5.0,two\n", "x:2: no number of a table"),
    ],
)
def test_a_wrong_table_is_refused(text: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        parse_values(text, "x")


def test_a_wrong_table_of_p_values_is_refused() -> None:
    with pytest.raises(PrivacyEvalError, match="x:1: expected the columns"):
        parse_p_values(HEAD, "x")
    with pytest.raises(PrivacyEvalError, match="x:3: no printed number: '< 0.01'"):
        parse_p_values(f"{P_HEAD}\nm,A1,B1,<< 0.01,16\nm,B1,A1,< 0.01,16\n", "x")
