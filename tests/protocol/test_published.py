"""Published results: complete, consistent with each other, and readable.

They were transcribed from papers once (conf/published/README.md); these checks need no paper.
"""

import dataclasses
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
import yaml
from support import B1, B2, ROOT, import_results_txt

from privacy_eval import PrivacyEvalError
from privacy_eval.metrics import METRICS
from privacy_eval.metrics.eer import eer_percent
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
VALUES = load_published("vpc2020")
P_VALUES = load_p_values("vpc2020")
OF_SIMILARITY = load_published("voice_similarity")
SYSTEMS = load_systems("vpc2020")
KNOWN = yaml.safe_load((FOLDER / "known_differences.yaml").read_text())
SUBJECTIVE = "subjective_"
LISTENED = "Orig B1 O1 M1 S2 A2 B2 D1 I1 K2".split()
#: Digits after the point; Table 18 has 3, the similarity paper 2.
DECIMALS = {
    **{"eer": 2, "cllr": 1, "cllr_min": 3, "linkability": 3, "gvd_db": 2, "deid": 1},
    **{"zebra_population": 3, "zebra_individual": 3},
}


# --- the data

Cell = tuple[str, ...]


def cell(value: PublishedValue) -> Cell:
    return value.metric, value.split, value.data_set, value.gender, value.system


VERIFICATION, ZEBRA = ["eer", "cllr", "cllr_min"], ["zebra_population", "zebra_individual"]
BOTH, SEMI = ["ignorant", "lazy-informed"], ["semi-informed"]
SUBJECTIVE_PAIRS = [
    pair
    for metric in ("eer", "rocch_eer", "cllr_min", "cllr")
    for pair in ((metric, "ignorant"), (SUBJECTIVE + metric, None))
]
#: Metrics and attack models of tables, and the number of their systems.
TABLES = {
    (2, 3): (itertools.product(VERIFICATION, BOTH), 19),
    (4, 5): (itertools.product(ZEBRA, BOTH), 19),
    (6, 7): (itertools.product(["linkability"], BOTH), 19),
    (8, 9): (itertools.product(["gvd_db", "deid"], [None]), 18),
    (10, 11): (itertools.product(VERIFICATION, SEMI), 7),
    (12, 13): (itertools.product(ZEBRA, SEMI), 7),
    (14, 15): (itertools.product(["linkability"], SEMI), 7),
    (18,): (SUBJECTIVE_PAIRS, 10),
}


@pytest.mark.parametrize("tables", TABLES)
def test_tables_have_every_cell_once_and_in_order(tables: tuple[int, ...]) -> None:
    blocks, n_systems = list(TABLES[tables][0]), TABLES[tables][1]
    data_sets = ["libri", "vctk_different", "vctk_common"]
    if tables == (18,):
        data_sets[1:] = data_sets[:0:-1]
    for table, split in zip(tables, ("test",) if tables == (18,) else ("dev", "test"), strict=True):
        values = [v for v in VALUES if v.table == table]
        systems = list(dict.fromkeys(v.system for v in values))
        assert len(systems) == n_systems
        assert [(*(v.metric, v.attack_model), *cell(v)[1:]) for v in values] == [
            (*block, split, *row, system)
            for block in blocks
            for row in itertools.product(data_sets, "fm")
            for system in systems
        ]


def test_p_values_are_symmetric() -> None:
    parts = {
        16: ("similarity_same_speaker", "similarity_different_speaker"),
        17: ("naturalness", "intelligibility"),
    }
    assert [(p.table, p.metric, p.system, p.other_system) for p in P_VALUES] == [
        (table, SUBJECTIVE + part, *pair)
        for table, metrics in parts.items()
        for part in metrics
        for pair in itertools.permutations(LISTENED, 2)
    ]
    printed = {(p.metric, p.system, p.other_system): p.value for p in P_VALUES}
    assert all(printed[m, b, a] == value for (m, a, b), value in printed.items())
    assert sum(p.value == "<< 0.01" for p in P_VALUES) == 200
    for p in P_VALUES:
        if p.number is not None:
            assert 1e-4 <= p.number < 1
            assert (p.number < 0.01) == (len(p.value) == len("0.0001")), p


def test_values_of_the_similarity_paper() -> None:
    actual = [(v.data_set, v.gender, v.system, v.metric) for v in OF_SIMILARITY]
    assert actual == list(
        itertools.product(
            ("libri", "vctk_different", "vctk_common"), "fm", ("B1", "B2"), ("deid", "gvd_db")
        )
    )
    assert {(v.table, v.split, v.attack_model) for v in OF_SIMILARITY} == {(2, "dev", None)}


def test_ids_are_those_of_the_protocol_and_metrics() -> None:
    protocol = load_protocol("vpc2020")
    for value in (*VALUES, *OF_SIMILARITY):
        assert value.attack_model in {None, *(a.id for a in protocol.attack_models)}
        assert value.data_set in {d.id for d in protocol.data_sets}
        assert value.split in protocol.splits and value.gender in protocol.genders
        unit = METRICS[value.metric.removeprefix(SUBJECTIVE)].unit
        assert value.unit == unit or (value.unit, unit) == ("percent", "fraction")


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
#: Of the similarity paper.
SIMILARITY_BY_HAND = """\
 2 deid             -             dev  libri          m B1   100
 2 deid             -             dev  libri          f B1   99.54
 2 deid             -             dev  vctk_common    m B1   99.96
 2 gvd_db           -             dev  vctk_common    f B1   -7.46
 2 gvd_db           -             dev  vctk_different m B2   -2.98
"""
HAND_TYPED = [(VALUES, line) for line in (BY_HAND + CHOSEN_BY_HAND).splitlines()]
HAND_TYPED += [(OF_SIMILARITY, line) for line in SIMILARITY_BY_HAND.splitlines()]


@pytest.mark.parametrize(("values", "line"), HAND_TYPED, ids=[line for _, line in HAND_TYPED])
def test_cells_typed_by_hand(values: tuple[PublishedValue, ...], line: str) -> None:
    table, *place, expected = line.split()
    place[1:2] = [None if place[1] == "-" else place[1]]  # type: ignore[list-item]
    (actual,) = (
        v.value
        for v in values
        if [v.metric, v.attack_model, v.split, v.data_set, v.gender, v.system] == place
        and v.table == int(table)
    )
    assert actual == expected


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
def test_p_values_typed_by_hand(part: str, system: str, other: str, expected: str) -> None:
    (actual,) = (
        p.value
        for p in P_VALUES
        if (p.metric, p.system, p.other_system) == (SUBJECTIVE + part, system, other)
    )
    assert actual == expected


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
    teams = {s.id: s.team for s in SYSTEMS.systems}
    assert teams["O1"] == "Oxford System Security Lab"
    assert {name: f.colour for name, f in SYSTEMS.families.items()} == {"B1": "blue", "B2": "red"}


def test_system_ids_encode_team_role_and_deadline() -> None:
    families = defaultdict(set)
    for system in SYSTEMS.systems:
        parts = re.fullmatch(r"([A-Z])([12])(c[1-9])?", system.id)
        if system.team is None:
            assert (system.role, system.deadline, system.family) == ("baseline", None, system.id)
        else:
            role = "contrastive" if parts[3] else "primary"
            assert (system.role, system.deadline) == (role, int(parts[2]))
            assert system.team[0] == parts[1]
        families[system.team or system.id].add((system.family, system.anonymized_training_data))
    assert {len(kinds) for kinds in families.values()} == {1}  # a team's systems are of one kind


# --- consistency


def place(value: PublishedValue) -> str:
    attack = [value.attack_model] if value.attack_model else []
    row = f"{value.split} {value.data_set} {value.gender}"
    return ", ".join([f"Table {value.table}", value.metric, *attack, row, value.system])


def decimals(value: PublishedValue) -> int:
    if value in OF_SIMILARITY:
        return 2
    return 3 if value.table == 18 else DECIMALS[value.metric]


def agree(first: str, second: str, *digits: int) -> bool:
    """Whether two printed numbers with these digits after the point can be roundings of one."""
    half = sum(Decimal(5).scaleb(-d - 1) for d in digits)
    return abs(Decimal(first) - Decimal(second)) < half


@pytest.mark.parametrize("name", ["supplement", "voice_similarity"])
def test_digits_differ_from_those_of_the_table_as_listed(name: str) -> None:
    actual = []
    for value in VALUES if name == "supplement" else OF_SIMILARITY:
        if -int(Decimal(value.value).as_tuple().exponent) != decimals(value):
            meant = f"{Decimal(value.value):.{decimals(value)}f}"
            actual.append({"place": place(value), "printed": value.value, "meant": meant})
    assert actual == KNOWN["slips"][name]["digits"]


RANGES = {
    "eer": (0.0, 100.0),
    "rocch_eer": (0.0, 50.0),
    "cllr": (0.0, math.inf),
    "cllr_min": (0.0, 1.0),
    "linkability": (0.0, 1.0),
    "zebra_population": (0.0, 1 / math.log(4)),
    "zebra_individual": (0.0, math.inf),
    "deid": (-math.inf, 100.0),
    "gvd_db": (-math.inf, math.inf),
}


def test_values_are_within_the_range_of_their_metric() -> None:
    for value in (*VALUES, *OF_SIMILARITY):
        low, high = RANGES[value.metric.removeprefix(SUBJECTIVE)]
        assert low <= float(value.value) <= high, place(value)


def entropy(p: float) -> float:
    """Binary entropy in bits, of p up to one half."""
    p = min(max(p, 1e-300), 0.5)
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))


def test_metrics_of_one_set_of_scores_fit_each_other() -> None:
    """With e the ROCCH-EER: e <= EER, 2 e <= min Cllr <= h(e) (h the binary entropy), and
    min Cllr <= Cllr; the population disclosure is close to (1 - min Cllr) / log 4."""
    scores: dict[tuple[object, ...], dict[str, float]] = defaultdict(dict)
    for value in VALUES:
        kind = SUBJECTIVE if value.metric.startswith(SUBJECTIVE) else ""
        # Table 18 differs from Table 3 in some cells.
        key = (kind, value.table == 18, value.attack_model, *cell(value)[1:])
        scores[key][value.metric.removeprefix(kind)] = value.number
    with_minimum = {key: metrics for key, metrics in scores.items() if "cllr_min" in metrics}
    assert len(with_minimum) == 6 * (2 * (19 + 19) + 7 + 7 + 2 * 10)
    rounding = 0.0006
    for key, metrics in with_minimum.items():
        minimum, eer = metrics["cllr_min"], metrics["eer"]
        assert minimum <= metrics["cllr"] + 0.05, key
        assert minimum <= entropy(min(eer + 1e-4, 0.5)) + rounding, key
        if "rocch_eer" in metrics:
            hull = metrics["rocch_eer"]
            assert hull <= eer + 1e-5, key
            assert 2 * hull - rounding <= minimum <= entropy(hull + 1e-5) + rounding, key
        if "zebra_population" in metrics:
            expected = (1 - minimum) / math.log(4)
            assert metrics["zebra_population"] == pytest.approx(expected, abs=0.015), key


def test_original_speech_is_the_same_in_all_tables() -> None:
    seen: dict[Cell, PublishedValue] = {}
    for value in VALUES:
        if value.system == "Orig":
            first = seen.setdefault(cell(value), value)
            assert agree(first.value, value.value, decimals(first), decimals(value)), place(value)


def differences(
    values: Iterable[PublishedValue], others: dict[Any, tuple[str, int]], key: Any
) -> list[list[str]]:
    """The cells that do not agree with other texts, given with their digits, as listed."""
    actual = []
    for value in values:
        text, digits = others.get(key(value), (value.value, 9))
        if not agree(value.value, text, decimals(value), digits):
            where = (value.attack_model or "", *cell(value)[1:])
            actual.append([value.metric, *where, value.value, text])
    return actual


@pytest.mark.parametrize(
    ("system", "results", "tables", "listed_as", "count", "compared"),
    [
        ("Orig", B1, range(2, 19), "", 0, 132),
        ("B1", B1, range(2, 19), "", 0, 96),
        ("B2", B2, (2, 3), "Tables 2 and 3, results.txt of B2", 49, 72),
        ("B2", B2, (18,), "", 0, 24),
    ],
)
def test_tables_differ_from_results_txt_as_listed(
    system: str, results: Any, tables: Iterable[int], listed_as: str, count: int, compared: int
) -> None:
    records = import_results_txt(results.read_text(), "", load_protocol("vpc2020"), system="x")
    printed = {}
    for record in records.verification:
        c = record.condition
        where = (c.attack_model, c.split, c.data_set, c.gender)
        for metric, value in record.values("challenge").items():
            text = f"{value * (100 if metric == 'rocch_eer' else 1):.3f}"
            digits = 3
            if metric == "eer":  # four significant digits, trailing zeros left out
                text = eer_percent(value)
                digits = 4 - len(text.partition(".")[0])
            printed[(metric, *where)] = text, digits

    def key(value: PublishedValue) -> tuple[object, ...]:
        attack = "original" if system == "Orig" else value.attack_model
        return value.metric, attack, *cell(value)[1:4]

    values = [v for v in VALUES if v.system == system and v.table in tables]
    assert sum(key(value) in printed for value in values) == compared
    differing = differences(values, printed, key)
    assert len(differing) == count
    assert sorted(differing) == sorted(KNOWN["differences"].get(listed_as, []))


@pytest.mark.parametrize(
    ("table", "others", "listed_as", "count", "compared"),
    [
        (3, [v for v in VALUES if v.table == 18], "Table 3, Table 18", 23, 180),
        (8, OF_SIMILARITY, "Table 8, similarity paper", 9, 24),
    ],
)
def test_tables_differ_from_each_other_as_listed(
    table: int, others: list[PublishedValue], listed_as: str, count: int, compared: int
) -> None:
    printed = {cell(v): (v.value, decimals(v)) for v in others}
    values = [v for v in VALUES if v.table == table and v.attack_model in (None, "ignorant")]
    assert sum(cell(v) in printed for v in values) == compared
    differing = differences(values, printed, cell)
    assert len(differing) == count
    assert sorted(differing) == sorted(KNOWN["differences"][listed_as])


def test_readme_counts_values_and_differences() -> None:
    text = (FOLDER / "README.md").read_text()
    for phrase in ("49 of its 72 cells", "23 of 180 objective cells", "9 of 24 cells"):
        assert phrase in text
    for number in (len(VALUES), len(P_VALUES), len(OF_SIMILARITY)):
        assert f"| {number} " in text
    assert len(KNOWN["differences"]) == 3


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
    editions = ["vpc2022", "vpc2024", "vpc2026_track1", "vpc2026_track2"]
    assert published_names() == ["voice_similarity", "vpc2020", *editions]
    for load, name in (
        (load_published, "vpc1999"),
        (load_published, "vpc2020_p_values"),
        (load_published, "../published/vpc2020"),
        (load_p_values, "voice_similarity"),
        (load_systems, "vpc1999"),
    ):
        with pytest.raises(PrivacyEvalError, match="no published results of this name; known: v"):
            load(name)


HEAD = ",".join(f.name for f in dataclasses.fields(PublishedValue))
P_HEAD = ",".join(f.name for f in dataclasses.fields(PublishedPValue))


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_values, "", "x:1: expected the columns metric,"),
        (parse_values, f"{HEAD},more\n", "x:1: expected the columns"),
        (parse_values, f"{HEAD}\neer,percent\n", "x:2: expected 9 cells, found 2"),
        (parse_values, f"{HEAD}\neer,percent,,dev,libri,f,B1,5.0 %,2\n", "x:2: not a value: '5.0"),
        (parse_values, f"{HEAD}\neer,percent,,dev,libri,f,B1,nan,2\n", "x:2: not a value"),
        (parse_values, f"{HEAD}\neer,percent,,dev,libri,f,B1,5.0,two\n", "x:2: not a table: "),
        (parse_p_values, HEAD, "x:1: expected the columns"),
        (parse_p_values, f"{P_HEAD}\nm,A1,B1,<< 0.01,16\nm,B1,A1,< 0.01,16\n", "x:3: not a value"),
    ],
)
def test_a_wrong_table_is_refused(
    parse: Callable[[str, str], object], text: str, message: str
) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        parse(text, "x")
