"""The challenge's result tables of one system: rows and columns, from records only.

Verification tables have the rows of the challenge's own converter: by data set and
gender, the three comparisons o-o, o-a, a-a (enrollment, trial; o: original, a:
anonymized), and a block of columns per split. Cells without a record stay blank; a
data set without any record has no rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..io.files import file_names, write_set
from ..io.results_txt import zebra_number
from ..metrics import VARIANTS
from ..protocol.protocol import ORIGINAL, SPEECH, Protocol
from ..results.averages import averages
from ..results.records import Results, VerificationRecord
from .latex import latex_document
from .table import Column, Style, Table
from .text import FORMATS
from .titles import TITLES
from .values import caveats

_LETTER = {speech: speech[0] for speech in SPEECH}


@dataclass(frozen=True)
class _Quantity:
    """A column of values.

    Attributes
    ----------
    column : Column
    key : str
        Of the stored value, or "tag" for the ZEBRA category.
    factor : float
        From the stored unit to the printed one.
    decimals : int
    """

    column: Column
    key: str
    factor: float = 1.0
    decimals: int = 3

    def text(self, record: VerificationRecord, protocol: Protocol) -> str:
        if self.key == "tag":
            return record.tag(protocol.variant) or ""
        return self.of(record.values(protocol.variant))

    def of(self, metrics: Mapping[str, float | None]) -> str:
        value = metrics.get(self.key)
        return "" if value is None else self.format(value)

    def format(self, value: float) -> str:
        if self.key.startswith("zebra"):
            return zebra_number(value)
        return f"{self.factor * value:.{self.decimals}f}"


def _titled(key: str, *, decimals: int = 3) -> _Quantity:
    titles = TITLES[key]
    return _Quantity(titles.column, key, 100 if titles.percent else 1, decimals)


_QUANTITIES = {
    **{
        key: _titled(key)
        for key in (
            "eer",
            "cllr_min",
            "cllr",
            "rocch_eer",
            "linkability",
            "zebra_population",
            "zebra_individual",
        )
    },
    "tag": _Quantity(Column("Tag"), "tag"),
    **{key: _titled(key, decimals=4) for key in ("min_dcf_0.01", "min_dcf_0.001")},
}

#: What trial sets have beside verification.
_VOICE_QUANTITIES = (
    _Quantity(Column("Pitch corr.", "Pitch"), "pitch_correlation_mean"),
    _Quantity(Column("Pitch std.", "Std."), "pitch_correlation_std"),
    _titled("deid", decimals=1),
    _titled("gvd_db", decimals=2),
)

#: What a speaker has.
_SPEAKER_QUANTITIES = (
    _titled("deid", decimals=1),
    _Quantity(Column("oo", r"$M_{oo}$"), "similarity_oo"),
    _Quantity(Column("oa", r"$M_{oa}$"), "similarity_oa"),
    _Quantity(Column("aa", r"$M_{aa}$"), "similarity_aa"),
    _titled("linkability"),
    _Quantity(Column("Evidence, log10 LR", r"$\log_{10}(l)$"), "evidence"),
)

_LEAST_PROTECTED = 3

#: Verification tables by name: what the caption says and the columns of values.
_VERIFICATION: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "asv": ("Speaker verification", ("eer", "cllr_min", "cllr")),
    "rocch_eer": ("EER of the ROC convex hull", ("rocch_eer",)),
    "linkability": ("Linkability", ("linkability",)),
    "zebra": (
        "ZEBRA: expected and worst-case disclosure",
        ("zebra_population", "zebra_individual", "tag"),
    ),
    "min_dcf": ("Minimum detection cost", ("min_dcf_0.01", "min_dcf_0.001")),
}

#: Tables of intervals: a page is wide enough for three columns of them.
_INTERVALS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("eer", "cllr_min", "cllr"),
    "intervals_privacy": ("rocch_eer", "linkability", "zebra_population"),
}


def system_tables(results: Results, system: str, results_folder: str) -> list[Table]:
    """All tables of one results folder of a system for which there is any value; with
    the first folder come the averages, which take all folders together."""
    tables = _all_tables(results.of(system, results_folder), f"{system}{results_folder}")
    if results_folder == results.results_folders(system)[0]:
        tables.append(averages_table(results.of(system), system))
    return [table for table in tables if table.rows]


def blank_tables(protocol: Protocol) -> list[Table]:
    """The forms that a plan's tables have, without a value."""
    forms = {*_VERIFICATION, "asr"}
    return [t for t in _all_tables(Results(protocol), "no results") if t.name in forms]


def _all_tables(part: Results, title: str) -> list[Table]:
    splits = part.protocol.splits
    caption, keys = _VERIFICATION["asv"]
    return [
        *(
            verification_table(part, f"asv_{split}", title, caption, keys, splits=(split,))
            for split in splits
        ),
        *(
            verification_table(part, name, title, caption, keys, splits=splits)
            for name, (caption, keys) in _VERIFICATION.items()
        ),
        recognition_table(part, title),
        trial_set_table(part, title),
        speakers_table(part, title),
        *(
            interval_table(part, f"{name}_{split}", title, keys, split=split)
            for split in splits
            for name, keys in _INTERVALS.items()
        ),
        variants_table(part, title),
    ]


def verification_table(
    results: Results,
    name: str,
    title: str,
    caption: str,
    keys: Sequence[str],
    *,
    splits: Sequence[str],
) -> Table:
    """Values of verification metrics: a row per data set, gender and comparison."""
    protocol = results.protocol
    quantities = [_QUANTITIES[key] for key in keys]
    found = {
        (
            r.condition.split,
            r.condition.data_set,
            r.condition.gender,
            r.condition.enrollment,
            r.condition.trial,
        ): [q.text(r, protocol) for q in quantities]
        for r in results.verification
    }
    found = {place: cells for place, cells in found.items() if any(cells)}
    incomplete = {
        (
            r.condition.split,
            r.condition.data_set,
            r.condition.gender,
            r.condition.enrollment,
            r.condition.trial,
        )
        for r in results.verification
        if r.left_out
    }
    data_sets, splits = _present(
        protocol.table_rows, splits, {(p[1], p[0]) for p in found}, not results.systems
    )
    condition = (Column("Enroll", rule=True), Column("Trial"), Column("Gen"))

    def block(split: str, place: tuple[str, str, str, str]) -> tuple[str, ...]:
        name = protocol.data_set(place[0]).row_name(split)
        mark = "*" if (split, *place) in incomplete else ""
        return (name + mark, *found.get((split, *place), [""] * len(quantities)))

    def row(data_set: str, gender: str, enrollment: str, trial: str) -> _Row:
        return _Row(
            {split: block(split, (data_set, gender, enrollment, trial)) for split in splits},
            (_LETTER[enrollment], _LETTER[trial], gender),
        )

    groups = [
        [row(data_set, gender, c.enrollment, c.trial) for c in protocol.comparisons]
        for data_set in data_sets
        for gender in protocol.genders
    ]
    shown = f", {protocol.split_title(splits[0])}" if len(splits) == 1 else ""
    note = "o: original, a: anonymized speech"
    partial = [r for r in results.verification if r.left_out and r.condition.split in splits]
    if partial:
        note += (
            f"; *: {sum(r.trials_without_score or 0 for r in partial)} trials without a score and "
            f"{sum(r.scores_without_trial or 0 for r in partial)} scores without a trial left out"
        )
    caption = f"{caption}{shown}: {title} ({note})."
    columns = [q.column for q in quantities]
    table = _by_splits(protocol, name, caption, groups, splits, columns, condition)
    records = [r for r in results.verification if r.condition.split in splits]
    return replace(table, notes=tuple(caveats(records, keys, protocol.variant)))


def recognition_table(results: Results, title: str) -> Table:
    """Word error rates: a row per data set and speech, a column per language model."""
    protocol = results.protocol
    models = list(protocol.recognition.language_models)
    sets = {d.id: d for d in protocol.recognition.data_sets}
    found: dict[tuple[str | None, ...], dict[str, list[str]]] = {}
    for r in results.recognition:
        place = (r.asr_model, r.condition.split, r.condition.data_set, r.condition.speech)
        if r.language_model is not None:
            cells = found.setdefault(place, {})
            cells.setdefault(r.language_model, []).append(f"{100 * r.wer:.2f}")
    recognizers = sorted({p[0] for p in found}, key=lambda m: (m != ORIGINAL, m or "")) or [None]
    data_sets, splits = _present(
        list(sets),
        protocol.splits,
        {(str(p[2]), str(p[1])) for p in found},
        not results.systems,
    )

    def row(recognizer: str | None, data_set: str, speech: str) -> _Row:
        cells = {
            split: (
                sets[data_set].row_name(split),
                *(
                    " / ".join(found.get((recognizer, split, data_set, speech), {}).get(model, []))
                    for model in models
                ),
            )
            for split in splits
        }
        return _Row(cells, (_LETTER[speech], *([recognizer or "?"] if several else [])))

    several = len(recognizers) > 1
    groups = [
        [row(recognizer, data_set, speech) for speech in SPEECH]
        for recognizer in recognizers
        for data_set in data_sets
    ]
    columns = [Column(f"WER, %, {m} LM", rf"WER, \%, LM$_\mathrm{{{m[0]}}}$") for m in models]
    condition = (Column("Data", rule=True), *([Column("Recognizer")] if several else []))
    letters = ", ".join(f"{m[0]}: {m}" for m in models)
    caption = (
        f"Speech recognition: {title} (o: original, a: anonymized speech; LM: language model, "
        f"{letters})."
    )
    return _by_splits(protocol, "asr", caption, groups, splits, columns, condition)


def trial_set_table(results: Results, title: str) -> Table:
    """Pitch correlation, DeID and G_VD of the trial sets that have any of them."""
    protocol = results.protocol
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for r in results.pitch:
        found.setdefault((r.condition.split, r.condition.data_set, r.condition.gender), {}).update(
            r.values
        )
    for s in results.similarity:
        found.setdefault((s.condition.split, s.condition.data_set, s.condition.gender), {}).update(
            s.values(protocol.variant)
        )
    partial = {
        (s.condition.split, s.condition.data_set, s.condition.gender): s.utterances_left_out
        for s in results.similarity
        if s.utterances_left_out
    }
    kept = [q for q in _VOICE_QUANTITIES if any(q.key in values for values in found.values())]
    data_sets, splits = _present(
        protocol.table_rows, protocol.splits, {(p[1], p[0]) for p in found}, False
    )

    def block(split: str, data_set: str, gender: str) -> tuple[str, ...]:
        values = found.get((split, data_set, gender), {})
        mark = "*" if (split, data_set, gender) in partial else ""
        return (protocol.data_set(data_set).row_name(split) + mark, *(q.of(values) for q in kept))

    groups = [
        [
            _Row({split: block(split, data_set, gender) for split in splits}, (gender,))
            for gender in protocol.genders
        ]
        for data_set in data_sets
    ]
    shown = ["Pitch correlation (mean, standard deviation)"] if results.pitch else []
    shown += ["voice similarity"] if results.similarity else []
    note = ""
    if partial:
        note = f" (*: {sum(partial.values())} utterances left out)"
    caption = f"{' and '.join(shown).capitalize()}: {title}{note}."
    columns = [q.column for q in kept]
    condition = (Column("Gen", rule=True),)
    return _by_splits(protocol, "voice", caption, groups, splits, columns, condition)


def interval_table(
    results: Results, name: str, title: str, keys: Sequence[str], *, split: str
) -> Table:
    """Values with their 95 % intervals from the bootstrap over speakers, where there
    are any."""
    protocol = results.protocol
    groups: list[list[tuple[str, ...]]] = []
    number = itertools.count(1)
    for data_set, gender in itertools.product(protocol.table_rows, protocol.genders):
        group = []
        for r in results.verification:
            intervals = r.speaker_intervals.get(protocol.variant, {})
            if (r.condition.data_set, r.condition.split, r.condition.gender) != (
                data_set,
                split,
                gender,
            ) or not intervals:
                continue
            cells = []
            for key in keys:
                q, value = _QUANTITIES[key], r.values(protocol.variant).get(key)
                if value is None or key not in intervals:
                    cells.append("")
                    continue
                low, high = (q.format(bound) for bound in intervals[key])
                cells.append(f"{q.format(value)} [{low}, {high}]")
            row = protocol.data_set(data_set).row_name(split)
            place = (_LETTER[r.condition.enrollment], _LETTER[r.condition.trial], gender)
            group.append((str(next(number)), row, *cells, *place))
        groups.append(group)
    columns = (
        Column("#"),
        Column(protocol.split_title(split), align="l"),
        *(_QUANTITIES[key].column for key in keys),
        Column("Enroll", rule=True),
        Column("Trial"),
        Column("Gen"),
    )
    caption = (
        f"95 % intervals from resampling speakers, {protocol.split_title(split)}: {title} "
        "(o: original, a: anonymized speech)."
    )
    shown = [
        r
        for r in results.verification
        if r.condition.split == split and r.speaker_intervals.get(protocol.variant)
    ]
    notes = tuple(caveats(shown, keys, protocol.variant))
    return Table(name, caption, columns, _without_empty(groups), notes=notes)


def speakers_table(results: Results, title: str) -> Table:
    """The least protected speakers of every trial set: an average hides them."""
    protocol = results.protocol
    groups = []
    places = itertools.product(protocol.splits, protocol.table_rows, protocol.genders)
    found = {
        (r.condition.split, r.condition.data_set, r.condition.gender): r.speakers
        for r in results.similarity
    }
    for split, data_set, gender in places:
        row_name = protocol.data_set(data_set).row_name(split)
        groups.append(
            [
                (row_name, gender, s.speaker, *(q.of(vars(s)) for q in _SPEAKER_QUANTITIES))
                for s in found.get((split, data_set, gender), ())[:_LEAST_PROTECTED]
            ]
        )
    columns = (
        Column("Trial set", align="l"),
        Column("Gen"),
        Column("Speaker", align="l"),
        *(q.column for q in _SPEAKER_QUANTITIES),
    )
    caption = (
        f"The {_LEAST_PROTECTED} least protected speakers of each trial set: {title} (voice "
        "similarity of the speaker to itself among original (oo), original and anonymized (oa), "
        "anonymized utterances (aa); the strongest evidence that links an original with an "
        "anonymized utterance)."
    )
    return Table("speakers", caption, columns, _without_empty(groups))


def averages_table(results: Results, title: str) -> Table:
    """The challenge's weighted averages, a column per split."""
    splits = results.protocol.splits
    found: dict[str, dict[str, str]] = {}
    computed = averages(results)
    for average in computed:
        if average.value is not None:
            found.setdefault(average.quantity, {})[average.split] = f"{average.value:.3f}"
    rows = tuple((q, *(cells.get(split, "") for split in splits)) for q, cells in found.items())
    columns = (
        Column("Average", align="l"),
        *(Column(results.protocol.split_title(split), align="r") for split in splits),
    )
    unknown = dict.fromkeys(a.quantity for a in computed if a.quantity not in found)
    caption = f"Averages over data sets: {title}"
    if unknown:
        caption += f" (not known, as parts are missing: {'; '.join(unknown)})"
    return Table("averages", f"{caption}.", columns, _without_empty([rows]))


def variants_table(results: Results, title: str) -> Table:
    """Cells of the other tables that the two variants of a metric print differently."""
    rows = []
    for r in results.verification:
        if not all(variant in r.metrics for variant in VARIANTS):
            continue
        for key, q in _QUANTITIES.items():
            values = [
                r.zebra_tag.get(v, "") if key == "tag" else q.of(r.metrics[v]) for v in VARIANTS
            ]
            if all(values) and len(set(values)) > 1:
                rows.append((r.condition.name, q.column.title, *values))
    for s in results.similarity:
        for q in _VOICE_QUANTITIES:
            values = [q.of(s.metrics.get(v, {})) for v in VARIANTS]
            if all(values) and len(set(values)) > 1:
                rows.append((s.condition.trial_set, q.column.title, *values))
    grouped = [list(g) for _, g in itertools.groupby(rows, key=lambda row: row[0])]
    columns = (
        Column("Condition", align="l"),
        Column("Metric", align="l"),
        *(Column(variant, align="r") for variant in VARIANTS),
    )
    caption = f"Values that the released scripts print differently from their definition: {title}."
    return Table("variants", caption, columns, _without_empty(grouped))


def write_tables(
    results: Results,
    out: Path,
    *,
    style: Style = "challenge",
    only: str | None = None,
    across: Iterable[Table] = (),
) -> list[Path]:
    """Write `table_files`. Tables that an earlier call wrote there and that are none of these
    are removed."""
    files = table_files(results, style=style, only=only, across=across)
    return write_set(out, files, listed_in=".tables.list")


def table_files(
    results: Results,
    *,
    style: Style = "challenge",
    only: str | None = None,
    across: Iterable[Table] = (),
) -> dict[str, str]:
    """Every table of every system in every format (or in one), and with LaTeX `tables.tex`, a
    document that includes them all: contents by name. Without any, the plan's blank forms.

    Parameters
    ----------
    across : iterable of Table
        Tables of all systems side by side, which come first.
    """
    places = [(s, f) for s in results.systems for f in results.results_folders(s)]
    parts = [(f"{s}{f}", system_tables(results, s, f)) for s, f in places]
    across = list(across)
    if not parts and not across:
        parts = [(results.protocol.name, blank_tables(results.protocol))]
    bases = file_names(base for base, _ in parts)
    own = [f"{bases[base]}_{table.name}" for base, tables in parts for table in tables]
    names = file_names([*own, *(table.name for table in across)])
    formats = {kind: f for kind, f in FORMATS.items() if only in (None, kind)}
    files: dict[str, str] = {}
    included: list[list[str]] = []
    for table in across:
        table = replace(table, name=names[table.name])
        for form in formats.values():
            files[f"{table.name}{form.extension}"] = form.write(table, style)
        included.append([f"{table.name}.tex"])
    for base, tables in parts:
        included.append([])
        shown: list[Table] = []
        for table in tables:
            table = replace(table, name=names[f"{bases[base]}_{table.name}"])
            for form in formats.values():
                files[f"{table.name}{form.extension}"] = form.write(table, style)
            if not any((t.columns, t.groups) == (table.columns, table.groups) for t in shown):
                included[-1].append(f"{table.name}.tex")
            shown.append(table)
    if "latex" in formats:
        files["tables.tex"] = latex_document(results.protocol.title, included)
    return files


@dataclass(frozen=True)
class _Row:
    """A row before its blocks stand side by side: set name and values by split, and
    what is the same for all splits."""

    by_split: Mapping[str, tuple[str, ...]]
    condition: tuple[str, ...]


def _by_splits(
    protocol: Protocol,
    name: str,
    caption: str,
    groups: Iterable[Iterable[_Row]],
    splits: Sequence[str],
    values: Sequence[Column],
    condition: Sequence[Column],
) -> Table:
    """The first split's block, the condition's columns, then the other splits' blocks."""
    number = itertools.count(1)
    columns: list[Column] = [Column("#")]
    for index, split in enumerate(splits):
        heading = Column(protocol.split_title(split), align="l", rule=index > 0)
        columns += [heading, *values]
        if index == 0:
            columns += condition
    rows = tuple(
        tuple(
            (
                str(next(number)),
                *row.by_split[splits[0]],
                *row.condition,
                *(cell for split in splits[1:] for cell in row.by_split[split]),
            )
            for row in group
        )
        for group in groups
    )
    return Table(name, caption, tuple(columns), _without_empty(rows))


def _present(
    data_sets: Sequence[str],
    splits: Sequence[str],
    found: set[tuple[str, str]],
    blank_form: bool,
) -> tuple[list[str], list[str]]:
    """Data sets and splits that have any value; all of them for a blank form."""
    if blank_form:
        return list(data_sets), list(splits)
    return (
        [d for d in data_sets if any((d, s) in found for s in splits)],
        [s for s in splits if any((d, s) in found for d in data_sets)],
    )


def _without_empty(
    groups: Iterable[Iterable[tuple[str, ...]]],
) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(rows for group in groups if (rows := tuple(group)))
