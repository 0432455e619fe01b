#!/usr/bin/env python3
"""Published results as data: from the text of two papers to `conf/published/*.csv`.

    scripts/transcribe_published.py --supplement S.txt --similarity V.txt           writes the CSVs
    scripts/transcribe_published.py --supplement S.txt --similarity V.txt --check   all checks
    scripts/transcribe_published.py --check                        those that need no paper

S.txt is the supplement of the VoicePrivacy 2020 Challenge (hal-03335126v6), V.txt the paper
on voice similarity matrices, both as text with the cells of tables between tabs.

--check writes nothing. It compares the committed files with new ones, table with table, and
tables with the results.txt published for the baselines. Slips of the documents and cells that
differ must be those of known_differences.yaml, no more and no less; otherwise the exit code is 1.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from privacy_eval import PrivacyEvalError
from privacy_eval.io.files import read_text, write_text
from privacy_eval.io.schema import from_plain
from privacy_eval.metrics import REGISTRY
from privacy_eval.metrics.eer import eer_percent
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import (
    PublishedPValue,
    PublishedSystems,
    PublishedValue,
    parse_p_values,
    parse_values,
)
from privacy_eval.results.challenge_text import import_results_txt

ROOT = Path(__file__).resolve().parents[1]
VALUES, P_VALUES, SIMILARITY = "vpc2020.csv", "vpc2020_p_values.csv", "voice_similarity.csv"
KNOWN, SYSTEMS = "known_differences.yaml", "systems.yaml"
RESULTS_TXT = {"B1": "vpc2020_B1_RESULTS_baseline", "B2": "vpc2020_B2_RESULTS_mcadams"}

# --- what the documents hold

ORIG = "Orig"
ALL = tuple(
    "A1 A2 B1 B2 D1 I1 K2 M1 M1c1 M1c2 M1c3 M1c4 O1 O1c1 S2 S1 S1c1 S2c1".split()  # as printed
)
RETRAINED = tuple("B1 B2 O1 M1 S2 K2".split())
LISTENED = tuple("B1 O1 M1 S2 A2 B2 D1 I1 K2".split())
LIBRI, DIFFERENT, COMMON = "libri", "vctk_different", "vctk_common"
GENDERS = {"f": "female", "m": "male"}
PERCENT = "percent"
#: Metrics that are printed in another unit than that of records.
PRINTED_UNITS = {"eer": PERCENT, "rocch_eer": PERCENT, "deid": PERCENT}
SUBJECTIVE = "subjective_"
#: Digits after the point in Tables 2 to 15; Table 18 has 3, the similarity paper 2.
DECIMALS = {
    "eer": 2,
    "cllr": 1,
    "cllr_min": 3,
    "zebra_population": 3,
    "zebra_individual": 3,
    "linkability": 3,
    "gvd_db": 2,
    "deid": 1,
}
#: Headings of blocks without spaces and backslashes, before and after the dash.
METRIC_HEADINGS = {
    "EER": "eer",
    "ROCCH-EER": "rocch_eer",
    "C_{lr}": "cllr",
    "C_{lr}^{min}": "cllr_min",
    "ZEBRA:Expectedprivacydisclosure(population),bit": "zebra_population",
    "ZEBRA:Expectedprivacydisclosure(population)": "zebra_population",
    "ZEBRA:worst-caseprivacydisclosure(individual)": "zebra_individual",
    "Linkability": "linkability",
    "Gainofvoicedistinctiveness(G_{VD})": "gvd_db",
    "De-identification(DeID)": "deid",
}
#: What the caption of a table says of its split.
CAPTIONS = {"dev": "development data", "test": "test "}
IGNORANT, LAZY, SEMI = "ignorant", "lazy-informed", "semi-informed"
ATTACK_HEADINGS = {
    "Ignorant(oa)": IGNORANT,
    "Lazy-informed(aa)": LAZY,
    "Semi-informed(aa)": SEMI,
    "Semi-informed": SEMI,
    "objective": IGNORANT,  # "computed for the ignorant attack model": caption of Table 18
    "subjective": None,
    "": None,
}

Block = tuple[str, str | None]  # metric and attack model


@dataclass(frozen=True)
class Layout:
    """What a table of the supplement holds, row by row as printed."""

    split: str
    systems: tuple[str, ...]
    blocks: tuple[Block, ...]
    titles: Mapping[str, str]

    def rows(self) -> list[tuple[str, str]]:
        """Data set and gender of every row of a block."""
        return list(itertools.product(self.titles, GENDERS))


def _layouts() -> dict[int, Layout]:
    titles = {LIBRI: "LibriSpeech", DIFFERENT: "VCTK different", COMMON: "VCTK common"}
    verification = ("eer", "cllr", "cllr_min")
    zebra = ("zebra_population", "zebra_individual")

    def blocks(metrics: Iterable[str], *attacks: str | None) -> tuple[Block, ...]:
        return tuple(itertools.product(metrics, attacks))

    layouts = {}
    for first, systems, content in (
        (2, (ORIG, *ALL), blocks(verification, IGNORANT, LAZY)),
        (4, (ORIG, *ALL), blocks(zebra, IGNORANT, LAZY)),
        (6, (ORIG, *ALL), blocks(["linkability"], IGNORANT, LAZY)),
        (8, ALL, blocks(["gvd_db", "deid"], None)),
        (10, (ORIG, *RETRAINED), blocks(verification, SEMI)),
        (12, (ORIG, *RETRAINED), blocks(zebra, SEMI)),
        (14, (ORIG, *RETRAINED), blocks(["linkability"], SEMI)),
    ):
        layouts[first] = Layout("dev", systems, content, titles)
        layouts[first + 1] = Layout("test", systems, content, titles)
    pairs = [
        ((metric, IGNORANT), (SUBJECTIVE + metric, None))
        for metric in ("eer", "rocch_eer", "cllr_min", "cllr")
    ]
    layouts[18] = Layout(
        "test",
        (ORIG, *LISTENED),
        tuple(itertools.chain.from_iterable(pairs)),
        {LIBRI: "LibriSpeech", COMMON: "VCTK (common)", DIFFERENT: "VCTK (different)"},
    )
    return layouts


LAYOUTS = _layouts()
#: The two parts of Tables 16 and 17.
P_PARTS = {
    16: {
        "(a) Same-speaker": SUBJECTIVE + "similarity_same_speaker",
        "(b) Different-speaker": SUBJECTIVE + "similarity_different_speaker",
    },
    17: {
        "(a) Naturalness": SUBJECTIVE + "naturalness",
        "(b) Intelligibility": SUBJECTIVE + "intelligibility",
    },
}
FAR_BELOW = {r"$\ll 0.01$": "<< 0.01"}
#: Short names of the similarity paper's Table 2; those of its Table 1 have slips.
SHORT_NAMES = {
    "ldtf": (LIBRI, "f"),
    "ldtm": (LIBRI, "m"),
    "vdtf": (DIFFERENT, "f"),
    "vdtm": (DIFFERENT, "m"),
    "vdtfc": (COMMON, "f"),
    "vdtmc": (COMMON, "m"),
}
SIMILARITY_COLUMNS = (("B1", "deid"), ("B1", "gvd_db"), ("B2", "deid"), ("B2", "gvd_db"))


@dataclass(frozen=True)
class Slip:
    """What a document prints and what is meant."""

    place: str
    printed: str
    meant: str


def unit(metric: str) -> str:
    """Unit that a metric is printed in."""
    plain = metric.removeprefix(SUBJECTIVE)
    return PRINTED_UNITS.get(plain, REGISTRY[plain].unit)


def decimals(value: PublishedValue, source: str = VALUES) -> int:
    """Digits after the point that a value's table has, though some cells lack zeros."""
    if source == SIMILARITY:
        return 2
    return 3 if value.table == 18 else DECIMALS[value.metric]


def place(value: PublishedValue) -> str:
    """Where a value stands, for messages and lists."""
    attack = [value.attack_model] if value.attack_model else []
    row = f"{value.split} {value.data_set} {value.gender}"
    return ", ".join([f"Table {value.table}", value.metric, *attack, row, value.system])


# --- reading the documents


class Tabbed:
    """The lines of a table: those with tabs, and titles among them, one after another."""

    def __init__(self, path: Path, lines: Sequence[tuple[int, str]]) -> None:
        self.path = path
        self.lines = list(lines)

    def next(self, what: str) -> tuple[int, list[str]]:
        """Number and cells of the next line with tabs, without empty cells at its end."""
        while self.lines and "\t" not in self.lines[0][1]:
            self.lines.pop(0)
        if not self.lines:
            raise PrivacyEvalError(f"{self.path}: the table ends where {what} is expected")
        number, line = self.lines.pop(0)
        return number, [cell.strip() for cell in line.rstrip("\t").split("\t")]

    def skip_to(self, title: str) -> None:
        """Go on after the line that is a title."""
        while self.lines:
            if self.lines.pop(0)[1].strip() == title:
                return
        raise PrivacyEvalError(f"{self.path}: no line {title!r}")

    def error(self, number: int, message: str) -> PrivacyEvalError:
        return PrivacyEvalError(f"{self.path}:{number}: {message}")

    def end(self) -> None:
        """Raises if there is another line with tabs."""
        for number, line in self.lines:
            if "\t" in line:
                raise self.error(number, f"unexpected after the table: {line[:60]!r}")


def tables_of(text: str, path: Path) -> dict[int, Tabbed]:
    """The lines from each table's caption to the next caption."""
    lines: dict[int, list[tuple[int, str]]] = {}
    table = 0
    for number, line in enumerate(text.splitlines(), start=1):
        caption = re.match(r"Table (\d+): ", line)
        if caption:
            table = int(caption[1])
            if table in lines:
                raise PrivacyEvalError(f"{path}:{number}: a second caption of Table {table}")
        lines.setdefault(table, []).append((number, line))
    return {table: Tabbed(path, of_table) for table, of_table in lines.items()}


def transcribe_supplement(
    text: str, path: Path
) -> tuple[list[PublishedValue], list[PublishedPValue], list[Slip]]:
    """Values of Tables 2-15 and 18, p-values of Tables 16 and 17, and the slips in rows."""
    tables = tables_of(text, path)
    missing = sorted({*LAYOUTS, *P_PARTS} - set(tables))
    if missing:
        raise PrivacyEvalError(f"{path}: no caption of Table {missing[0]}")
    values: list[PublishedValue] = []
    slips: list[Slip] = []
    for table, layout in LAYOUTS.items():
        number, caption = tables[table].lines[0]
        if CAPTIONS[layout.split] not in caption:
            message = f"Table {table}: expected a caption of the {layout.split} set"
            raise tables[table].error(number, message)
        for block in layout.blocks:
            values += _block(tables[table], table, layout, block, slips)
        tables[table].end()
    p_values: list[PublishedPValue] = []
    for table, parts in P_PARTS.items():
        for title, metric in parts.items():
            tables[table].skip_to(title)
            p_values += _matrix(tables[table], table, metric)
        tables[table].end()
    return values, p_values, slips


def _block(
    lines: Tabbed, table: int, layout: Layout, block: Block, slips: list[Slip]
) -> Iterator[PublishedValue]:
    """A heading, the names of the systems, and a row for each data set and gender."""
    metric, attack_model = block
    number, cells = lines.next(f"the heading of {metric}")
    heading = re.sub(r"[\s\\]", "", "".join(cells))
    what, _, who = heading.partition("–")
    try:
        found = METRIC_HEADINGS[what], ATTACK_HEADINGS[who]
    except KeyError:
        raise lines.error(number, f"no known heading: {heading[:60]!r}") from None
    if who == "subjective":
        found = SUBJECTIVE + found[0], found[1]
    if found != block:
        raise lines.error(number, f"Table {table}: expected {block}, found {found}")
    number, cells = lines.next("a line of systems")
    if cells != ["Data", "Gender", *layout.systems]:
        raise lines.error(number, f"Table {table}: expected other columns than {cells}")
    for row, (data_set, gender) in enumerate(layout.rows(), start=1):
        number, (title, printed_gender, *printed) = lines.next(f"row {row} of {metric}")
        # The name of a data set is one cell beside two rows.
        if title != (layout.titles[data_set] if gender == "f" else ""):
            raise lines.error(number, f"Table {table}, row {row}: unexpected {title!r}")
        if printed_gender not in GENDERS.values():
            raise lines.error(number, f"Table {table}, row {row}: no gender: {printed_gender!r}")
        if printed_gender != GENDERS[gender]:
            where = f"Table {table}, {metric}, {attack_model}, row {row} ({data_set})"
            slips.append(Slip(where, printed_gender, GENDERS[gender]))
        if len(printed) != len(layout.systems):
            raise lines.error(
                number, f"expected {len(layout.systems)} values, found {len(printed)}"
            )
        for system, cell in zip(layout.systems, printed, strict=True):
            if re.fullmatch(r"-?[0-9]+\.[0-9]+", cell) is None:
                raise lines.error(number, f"{system}: no number: {cell[:60]!r}")
            yield PublishedValue(
                metric=metric,
                unit=unit(metric),
                attack_model=attack_model,
                split=layout.split,
                data_set=data_set,
                gender=gender,
                system=system,
                value=cell,
                table=table,
            )


def _matrix(lines: Tabbed, table: int, metric: str) -> Iterator[PublishedPValue]:
    """P-values of every two systems; nothing stands on the diagonal."""
    systems = (ORIG, *LISTENED)
    titles = ["Original", *LISTENED]
    number, cells = lines.next("a line of systems")
    if cells != ["", *titles]:
        raise lines.error(number, f"Table {table}: expected other columns than {cells}")
    for system, title in zip(systems, titles, strict=True):
        number, (name, *printed) = lines.next(f"the row {title}")
        printed += [""] * (len(systems) - len(printed))
        if name != title or len(printed) != len(systems):
            raise lines.error(number, f"Table {table}: expected the row {title}, as long as others")
        for other, cell in zip(systems, printed, strict=True):
            if (cell == "") != (system == other):
                raise lines.error(number, f"{other}: only the diagonal may and must be empty")
            value = FAR_BELOW.get(cell, cell)
            if cell and value == cell and re.fullmatch(r"0\.[0-9]{3,4}", cell) is None:
                raise lines.error(number, f"{other}: no p-value: {cell[:60]!r}")
            if cell:
                yield PublishedPValue(metric, system, other, value, table)


def transcribe_similarity(text: str, path: Path) -> tuple[list[PublishedValue], list[Slip]]:
    """Table 2 of the paper on voice similarity matrices, and the slips in its Table 1. The
    captions stand below the tables."""
    lines = Tabbed(path, list(enumerate(text.splitlines(), start=1)))
    slips = []
    number, cells = lines.next("Table 1")
    if cells != ["#", "Official name", "Short name"]:
        raise lines.error(number, f"expected the head of Table 1, found {cells}")
    for row, (short, (data_set, gender)) in enumerate(SHORT_NAMES.items(), start=1):
        official = trials_name("dev", data_set, gender)
        number, cells = lines.next("a row of Table 1")
        if cells[:2] != [str(row), official] or len(cells) != 3:
            raise lines.error(number, f"expected row {row} of Table 1, found {cells}")
        if cells[2] != short:
            slips.append(Slip(f"Table 1, row {row} ({official})", cells[2], short))
    heads = (
        ["set", "primary baseline", "", "secondary baseline"],
        ["", *["DeID [%]", "G_{VD} [dB]"] * 2],
    )
    for head in heads:
        number, cells = lines.next("the head of Table 2")
        if cells != head:
            raise lines.error(number, f"expected the head of Table 2, found {cells}")
    values = []
    for short, (data_set, gender) in SHORT_NAMES.items():
        number, (name, *printed) = lines.next("a row of Table 2")
        if name != short or len(printed) != len(SIMILARITY_COLUMNS):
            raise lines.error(number, f"expected the row {short} of Table 2, found {name!r}")
        for (system, metric), cell in zip(SIMILARITY_COLUMNS, printed, strict=True):
            if re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", cell) is None:
                raise lines.error(number, f"{system}: no number: {cell[:60]!r}")
            values.append(
                PublishedValue(
                    metric=metric,
                    unit=unit(metric),
                    attack_model=None,
                    split="dev",
                    data_set=data_set,
                    gender=gender,
                    system=system,
                    value=cell,
                    table=2,
                )
            )
    lines.end()
    return values, slips


def trials_name(split: str, data_set: str, gender: str) -> str:
    """Name of a trial set of the challenge."""
    (found,) = (
        t.trials_name
        for t in load_protocol("vpc2020").trial_sets()
        if (t.split, t.data_set.id, t.gender) == (split, data_set, gender)
    )
    return found


def systems_of_table_1(text: str, path: Path) -> list[tuple[str, str, str, str, bool]]:
    """Team, reference, system, details, and whether a star stands beside the team."""
    lines = tables_of(text, path)[1]
    number, cells = lines.next("the head of Table 1")
    if cells != ["Team (Reference)", "System (Details)"]:
        raise lines.error(number, f"expected the head of Table 1, found {cells}")
    found = []
    while "\t" in lines.lines[0][1]:
        number, cells = lines.next("a team")
        team = re.match(r"(.+?) \(([^)]+)\)(.*)", cells[0])
        if team is None or len(cells) != 2:
            raise lines.error(number, f"no team: {cells[0][:60]!r}")
        parts = re.split(r"(?:^|(?<=\)) )([A-Z][12](?:c[1-9])?) (?=\()", cells[1])
        for system, details in zip(parts[1::2], parts[2::2], strict=True):
            star = r"\star" in team[3]
            found.append((team[1], team[2], system, details[1:-1], star))
    return found


# --- files


def to_csv(kind: type, rows: Iterable[Any]) -> str:
    """Dataclass instances as CSV, None as an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f.name for f in fields(kind)])
    writer.writerows(astuple(row) for row in rows)
    return out.getvalue()


def transcribe(supplement: Path, similarity: Path) -> tuple[dict[str, str], list[Slip], list[Slip]]:
    """Contents of the CSV files by name, and the slips in rows of both papers."""
    values, p_values, slips = transcribe_supplement(read_text(supplement), supplement)
    of_similarity, similarity_slips = transcribe_similarity(read_text(similarity), similarity)
    files = {
        VALUES: to_csv(PublishedValue, values),
        P_VALUES: to_csv(PublishedPValue, p_values),
        SIMILARITY: to_csv(PublishedValue, of_similarity),
    }
    return files, slips, similarity_slips


@dataclass(frozen=True)
class KnownSlips:
    """The slips of one document: those in the labels of rows and the digits of cells, which
    the script finds, and those in the text, found by reading."""

    rows: tuple[Slip, ...]
    digits: tuple[Slip, ...]
    text: tuple[Slip, ...]


@dataclass(frozen=True)
class Known:
    """known_differences.yaml: slips by document, differing cells by comparison."""

    slips: Mapping[str, KnownSlips]
    differences: Mapping[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True)
class Difference:
    """A cell that two sources give differently."""

    metric: str
    attack_model: str
    split: str
    data_set: str
    gender: str
    system: str
    first: str
    second: str


@dataclass(frozen=True)
class Published:
    """Everything in the folder."""

    values: tuple[PublishedValue, ...]
    p_values: tuple[PublishedPValue, ...]
    similarity: tuple[PublishedValue, ...]
    slips: Mapping[str, KnownSlips]
    differences: Mapping[str, tuple[Difference, ...]]
    systems: PublishedSystems


def read_published(folder: Path) -> Published:
    """The files of a folder like conf/published."""
    known = from_plain(Known, yaml.safe_load(read_text(folder / KNOWN)), str(folder / KNOWN))
    for name, cells in known.differences.items():
        for cell in cells:
            if len(cell) != len(fields(Difference)):
                raise PrivacyEvalError(f"{folder / KNOWN}: {name}: not a cell: {cell}")
    systems = yaml.safe_load(read_text(folder / SYSTEMS))["vpc2020"]
    return Published(
        values=parse_values(read_text(folder / VALUES), VALUES),
        p_values=parse_p_values(read_text(folder / P_VALUES), P_VALUES),
        similarity=parse_values(read_text(folder / SIMILARITY), SIMILARITY),
        slips=known.slips,
        differences={
            name: tuple(Difference(*cell) for cell in cells)
            for name, cells in known.differences.items()
        },
        systems=from_plain(PublishedSystems, systems, str(folder / SYSTEMS)),
    )


# --- checks


@dataclass(frozen=True)
class Check:
    """What was compared, how often, and every problem that was found."""

    title: str
    compared: int
    problems: tuple[str, ...]

    @property
    def text(self) -> str:
        """A line, and one for every problem."""
        if not self.problems:
            return f"ok      {self.title} ({self.compared})"
        head = f"FAILED  {self.title} ({self.compared}): {len(self.problems)} problems"
        return "\n".join([head, *(f"        {problem}" for problem in self.problems)])


def agree(first: str, second: str, first_decimals: int, second_decimals: int) -> bool:
    """Whether two printed numbers can be roundings of one. With as many digits they are equal."""
    half = sum(Decimal(5).scaleb(-d - 1) for d in (first_decimals, second_decimals))
    return abs(Decimal(first) - Decimal(second)) < half


Cell = tuple[str, str, str, str, str]  # metric, split, data set, gender, system


def cell_of(value: PublishedValue) -> Cell:
    return value.metric, value.split, value.data_set, value.gender, value.system


def check_cells(values: Sequence[PublishedValue]) -> Check:
    """Rows, columns and their order in every table: as the supplement's tables have them."""
    expected = [
        (table, metric, attack, layout.split, data_set, gender, system)
        for table, layout in LAYOUTS.items()
        for metric, attack in layout.blocks
        for data_set, gender in layout.rows()
        for system in layout.systems
    ]
    found = [
        (v.table, v.metric, v.attack_model, v.split, v.data_set, v.gender, v.system) for v in values
    ]
    problems = []
    if found != expected:
        counts, wanted = Counter(c[0] for c in found), Counter(c[0] for c in expected)
        problems = [
            f"Table {table}: {counts[table]} cells, expected {wanted[table]}"
            for table in sorted({*counts, *wanted})
            if counts[table] != wanted[table]
        ]
        pairs = itertools.zip_longest(found, expected)
        problems += [f"expected {e}, found {f}" for f, e in pairs if f != e][:1]
    problems += [f"{place(v)}: unit {v.unit}" for v in values if v.unit != unit(v.metric)]
    return Check("Tables 2-15, 18: every cell once, in order", len(values), tuple(problems))


def check_p_values(p_values: Sequence[PublishedPValue]) -> Check:
    """Every pair twice, and the same both times."""
    systems = (ORIG, *LISTENED)
    expected = [
        (table, metric, system, other)
        for table, parts in P_PARTS.items()
        for metric in parts.values()
        for system, other in itertools.permutations(systems, 2)
    ]
    problems = []
    if [(p.table, p.metric, p.system, p.other_system) for p in p_values] != expected:
        problems.append(f"not the {len(expected)} cells of Tables 16, 17 in order")
    printed = {(p.metric, p.system, p.other_system): p for p in p_values}
    for (metric, system, other), p in printed.items():
        mirrored = printed.get((metric, other, system))
        if mirrored is not None and mirrored.value != p.value and system < other:
            problems.append(
                f"Table {p.table}, {metric}, {system}, {other}: {p.value}, {mirrored.value}"
            )
        if p.number is not None and not 1e-4 <= p.number < 1:
            problems.append(f"Table {p.table}, {metric}, {system}, {other}: {p.value}")
        if p.number is not None and (p.number < 0.01) != (len(p.value) == len("0.0001")):
            problems.append(
                f"Table {p.table}, {metric}, {system}, {other}: digits of {p.value} (3, 4 below "
                "0.01)"
            )
    return Check("Tables 16, 17: every pair twice, the same", len(p_values), tuple(problems))


def check_similarity_cells(values: Sequence[PublishedValue]) -> Check:
    expected = [
        (2, metric, None, "dev", data_set, gender, system)
        for data_set, gender in SHORT_NAMES.values()
        for system, metric in SIMILARITY_COLUMNS
    ]
    found = [
        (v.table, v.metric, v.attack_model, v.split, v.data_set, v.gender, v.system) for v in values
    ]
    problems = [] if found == expected else [f"not the {len(expected)} cells in order"]
    problems += [f"{place(v)}: unit {v.unit}" for v in values if v.unit != unit(v.metric)]
    title = "similarity paper, Table 2: every cell once, in order"
    return Check(title, len(values), tuple(problems))


def check_digits(data: Published) -> list[Check]:
    """Digits after the point: those of the table, or a zero lacking that is a known slip."""
    checks = []
    for name, source, values in (
        ("supplement", VALUES, data.values),
        ("voice_similarity", SIMILARITY, data.similarity),
    ):
        found = []
        for value in values:
            wanted = decimals(value, source)
            printed = -int(Decimal(value.value).as_tuple().exponent)
            if printed != wanted:
                meant = f"{Decimal(value.value):.{wanted}f}"
                found.append(Slip(place(value), value.value, meant))
        title = f"{name}: digits after the point"
        checks.append(Check(title, len(values), _unlisted(found, data.slips[name].digits)))
    return checks


def _unlisted(found: Iterable[Slip], known: Iterable[Slip]) -> tuple[str, ...]:
    """What of one list is missing in the other."""
    new, old = dict.fromkeys(found), dict.fromkeys(known)
    problems = [f"{s.place}: prints {s.printed}, not {s.meant}" for s in new if s not in old]
    problems += [f"{s.place}: listed as a slip, but is none" for s in old if s not in new]
    return tuple(problems)


def check_ranges(values: Sequence[PublishedValue]) -> Check:
    """Values within the range of their metric."""
    ranges = {
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
    problems = []
    for value in values:
        low, high = ranges[value.metric.removeprefix(SUBJECTIVE)]
        if not low <= float(value.value) <= high:
            problems.append(f"{place(value)}: {value.value}")
    return Check("values within the range of their metric", len(values), tuple(problems))


def check_relations(values: Sequence[PublishedValue]) -> list[Check]:
    """What must hold between metrics of one set of scores: a row or column that was
    exchanged shows.

    With e the ROCCH-EER: e <= EER, 2 e <= min Cllr <= h(e) (h the binary entropy), and
    min Cllr <= Cllr. The population disclosure is close to (1 - min Cllr) / log 4.
    """
    scores: dict[tuple[object, ...], dict[str, PublishedValue]] = defaultdict(dict)
    for value in values:
        kind = SUBJECTIVE if value.metric.startswith(SUBJECTIVE) else ""
        # Table 18 differs from Table 3 in some cells.
        key = (kind, value.table == 18, value.attack_model, *cell_of(value)[1:])
        scores[key][value.metric.removeprefix(kind)] = value
    bounds, disclosures = 0, 0
    outside, off = [], []
    for metrics in scores.values():
        if "cllr_min" not in metrics:
            continue
        bounds += 1
        minimum, actual = (float(metrics[m].value) for m in ("cllr_min", "cllr"))
        eer = float(metrics["eer"].value) / 100
        rounding = 0.0006
        good = minimum <= actual + 0.05 and minimum <= entropy(min(eer + 1e-4, 0.5)) + rounding
        if "rocch_eer" in metrics:
            hull = float(metrics["rocch_eer"].value) / 100
            good &= hull <= eer + 1e-5
            good &= 2 * hull - rounding <= minimum <= entropy(hull + 1e-5) + rounding
        if not good:
            outside.append(f"{place(metrics['cllr_min'])}: {minimum} does not go with the EER")
        if "zebra_population" in metrics:
            disclosures += 1
            population = metrics["zebra_population"]
            if abs(population.number - (1 - minimum) / math.log(4)) > 0.015:
                off.append(f"{place(population)}: {population.value} at min Cllr {minimum}")
    return [
        Check("EER, ROCCH-EER, min Cllr and Cllr go together", bounds, tuple(outside)),
        Check("population disclosure goes with min Cllr", disclosures, tuple(off)),
    ]


def entropy(p: float) -> float:
    """Of a bit that is 1 with probability p, in bits."""
    p = min(max(p, 1e-300), 0.5)
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))


def check_original(values: Sequence[PublishedValue]) -> Check:
    """The column Orig is the same in all tables."""
    seen: dict[Cell, list[PublishedValue]] = defaultdict(list)
    for value in values:
        if value.system == ORIG:
            seen[cell_of(value)].append(value)
    problems, compared = [], 0
    for first, *others in seen.values():
        for other in others:
            compared += 1
            if not agree(first.value, other.value, decimals(first), decimals(other)):
                problems.append(
                    f"{place(other)}: {other.value}, in Table {first.table} {first.value}"
                )
    return Check("column Orig: the same in all tables", compared, tuple(problems))


def results_cells(path: Path) -> dict[tuple[str, str, str, str, str], tuple[str, int]]:
    """Numbers of a results.txt as printed there, with their digits after the point, by
    metric, attack model, split, data set and gender."""
    results = import_results_txt(read_text(path), str(path), load_protocol("vpc2020"), system="x")
    cells = {}
    for record in results.verification:
        for metric, number in record.values("challenge").items():
            if metric == "eer":  # four significant digits, zeros at the end left out
                text = eer_percent(number)
                digits = 4 - len(text.partition(".")[0])
            else:
                text, digits = f"{number * (100 if metric == 'rocch_eer' else 1):.3f}", 3
            c = record.condition
            key = (metric, c.attack_model or "", c.split, c.data_set, c.gender)
            cells[key] = text, digits
    return cells


def compare_with_results(
    values: Iterable[PublishedValue], results: Path
) -> tuple[int, list[Difference]]:
    """Values of original speech, an ignorant and a lazy-informed attacker with a results.txt."""
    cells = results_cells(results)
    compared, differences = 0, []
    for value in values:
        attack = "original" if value.system == ORIG else value.attack_model or ""
        key = (value.metric, attack, value.split, value.data_set, value.gender)
        if value.metric not in ("eer", "rocch_eer", "cllr", "cllr_min") or attack == SEMI:
            continue
        text, digits = cells[key]
        compared += 1
        if not agree(value.value, text, decimals(value), digits):
            differences.append(_difference(value, text))
    return compared, differences


def _difference(value: PublishedValue, second: str) -> Difference:
    return Difference(
        metric=value.metric,
        attack_model=value.attack_model or "",
        split=value.split,
        data_set=value.data_set,
        gender=value.gender,
        system=value.system,
        first=value.value,
        second=second,
    )


def compare_tables(
    first: Mapping[Cell, PublishedValue],
    second: Iterable[PublishedValue],
    source: str,
) -> tuple[int, list[Difference]]:
    """Cells of one table with those of another; `source` is the file of the second."""
    compared, differences = 0, []
    for other in second:
        value = first.get(cell_of(other))
        if value is not None:
            compared += 1
            if not agree(value.value, other.value, decimals(value), decimals(other, source)):
                differences.append(_difference(value, other.value))
    return compared, differences


def comparisons(data: Published, golden: Path) -> dict[str, tuple[int, list[Difference]]]:
    """Every comparison whose differences are listed: how many cells, and which differ."""

    def pick(system: str, *tables: int) -> list[PublishedValue]:
        wanted = (v for v in data.values if v.table in tables and v.system == system)
        return [v for v in wanted if not v.metric.startswith(SUBJECTIVE)]

    b1, b2 = (golden / RESULTS_TXT[name] for name in ("B1", "B2"))
    made = {}
    for title, chosen, path in (
        ("Orig, results.txt of B1", pick(ORIG, *LAYOUTS), b1),
        ("B1, results.txt of B1", pick("B1", *LAYOUTS), b1),
        ("Tables 2 and 3, results.txt of B2", pick("B2", 2, 3), b2),
        ("Table 18, results.txt of B2", pick("B2", 18), b2),
    ):
        made[title] = compare_with_results(chosen, path)
    ignorant = {cell_of(v): v for v in data.values if v.table == 3 and v.attack_model == IGNORANT}
    table_18 = [v for v in data.values if v.table == 18]
    made["Table 3, Table 18"] = compare_tables(ignorant, table_18, VALUES)
    table_8 = {cell_of(v): v for v in data.values if v.table == 8}
    made["Table 8, similarity paper"] = compare_tables(table_8, data.similarity, SIMILARITY)
    return made


def check_comparisons(data: Published, golden: Path) -> list[Check]:
    """Cells differ exactly where it is known that they do."""
    checks = []
    made = comparisons(data, golden)
    for title, (compared, found) in made.items():
        known = data.differences.get(title, ())
        problems = [
            f"{d.metric} {d.attack_model} {d.split} {d.data_set} {d.gender} {d.system}: "
            f"{d.first}, {d.second}: {why}"
            for why, differences, others in (
                ("not listed", found, known),
                ("listed, but does not differ so", known, found),
            )
            for d in differences
            if d not in others
        ]
        checks.append(
            Check(f"{title}: {len(found)} cells differ, as listed", compared, tuple(problems))
        )
    problems = [f"no comparison {name!r}" for name in data.differences if name not in made]
    for name, known in data.differences.items():
        problems += [f"{name}: twice: {d}" for d, count in Counter(known).items() if count > 1]
    return [*checks, Check(f"{KNOWN}: names, once each", len(data.differences), tuple(problems))]


def check_systems(data: Published) -> Check:
    """Systems are those of the tables, and an id says what its parts mean."""
    problems = []
    ids = [s.id for s in data.systems.systems]
    if sorted(ids) != sorted(ALL):
        problems.append(f"not the systems of the tables: {ids}")
    for system in data.systems.systems:
        parts = re.fullmatch(r"([A-Z])([12])(c[1-9])?", system.id)
        role = "contrastive" if "c" in system.id else "primary"
        if system.team is None:
            role = "baseline"
        deadline = int(system.id[1]) if system.team else None
        if (
            parts is None
            or (system.role, system.deadline) != (role, deadline)
            or (system.team is not None and system.team[0] != system.id[0])
            or (system.team is None and system.family != system.id)
        ):
            problems.append(f"{system}: id, team, role, deadline and family do not go together")
    families = defaultdict(set)
    for system in data.systems.systems:
        families[system.team or system.id].add((system.family, system.anonymized_training_data))
    mixed = [team for team, kinds in families.items() if len(kinds) > 1]
    problems += [f"{team}: systems of two kinds" for team in mixed]
    return Check(SYSTEMS, len(ids), tuple(problems))


def checks_without_papers(data: Published, golden: Path) -> list[Check]:
    """All checks of the committed files alone, and with the results.txt of the baselines."""
    return [
        check_cells(data.values),
        check_p_values(data.p_values),
        check_similarity_cells(data.similarity),
        *check_digits(data),
        check_ranges([*data.values, *data.similarity]),
        *check_relations(data.values),
        check_original(data.values),
        *check_comparisons(data, golden),
        check_systems(data),
    ]


def checks_with_papers(
    data: Published, folder: Path, supplement: Path, similarity: Path
) -> list[Check]:
    """The committed files against new ones, and the slips against the papers."""
    files, slips, similarity_slips = transcribe(supplement, similarity)
    checks = []
    for name, text in files.items():
        old, new = read_text(folder / name).splitlines(), text.splitlines()
        pairs = enumerate(itertools.zip_longest(old, new, fillvalue="nothing"), start=1)
        different = [f"{name}:{n}: {a}, in the paper {b}" for n, (a, b) in pairs if a != b]
        if not different and read_text(folder / name) != text:
            different = [f"{name}: other ends of lines"]
        checks.append(Check(f"{name}: as transcribed anew", len(new) - 1, tuple(different)))
    for name, path, found in (
        ("supplement", supplement, slips),
        ("voice_similarity", similarity, similarity_slips),
    ):
        known = data.slips[name]
        checks.append(Check(f"{name}: labels of rows", len(found), _unlisted(found, known.rows)))
        text = read_text(path)
        gone = [f"{s.place}: no {s.printed!r} there" for s in known.text if s.printed not in text]
        checks.append(Check(f"{name}: slips in the text", len(known.text), tuple(gone)))
    printed = systems_of_table_1(read_text(supplement), supplement)
    listed = [
        (s.team, s.reference, s.id, s.details, s.anonymized_training_data)
        for s in data.systems.systems
        if s.team is not None
    ]
    problems = [f"in Table 1 only: {row}" for row in printed if row not in listed]
    problems += [f"not in Table 1: {row}" for row in listed if row not in printed]
    text = " ".join(read_text(supplement).split())
    problems += [
        f"{s.id}: not in section 2"
        for s in data.systems.systems
        if s.team is None and f"{s.details} ({s.reference})" not in text
    ]
    if listed != printed and not problems:
        problems = ["other order than in Table 1"]
    checks.append(Check(f"{SYSTEMS}: as Table 1 has it", len(printed), tuple(problems)))
    return checks


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--supplement", type=Path, metavar="FILE")
    parser.add_argument("--similarity", type=Path, metavar="FILE")
    parser.add_argument(
        "--golden",
        type=Path,
        metavar="DIR",
        default=ROOT / "tests/data/golden/results",
        help="folder with the results.txt of both baselines (default: the tests' own)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        default=ROOT / "conf/published",
        help="where the data are (default: conf/published)",
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    papers = [p for p in (options.supplement, options.similarity) if p is not None]
    if len(papers) == 1 or not (papers or options.check):
        parser.error("name both papers: --supplement FILE --similarity FILE")
    try:
        if not options.check:
            files, _, _ = transcribe(options.supplement, options.similarity)
            for name, text in files.items():
                write_text(options.folder / name, text)
                print(f"{options.folder / name}: {text.count(chr(10)) - 1} values")
            return 0
        data = read_published(options.folder)
        checks = checks_without_papers(data, options.golden)
        if papers:
            checks += checks_with_papers(
                data, options.folder, options.supplement, options.similarity
            )
    except PrivacyEvalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for check in checks:
        print(check.text)
    return 1 if any(check.problems for check in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
