"""The challenge's result tables of one system: rows and columns, from records only.

Verification tables have the rows of the challenge's own converter: by data set and
gender, the three comparisons o-o, o-a, a-a (enrollment, trial; o: original, a:
anonymized), and a block of columns per split. Cells without a record stay blank; a
data set without any record has no rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..io.files import file_names
from ..metrics import VARIANTS, describe, of_kind
from ..protocol.protocol import ORIGINAL, SPEECH, Protocol
from ..results.averages import averages
from ..results.records import Results
from .table import Column, Table
from .values import caveats

_LETTER = {speech: speech[0] for speech in SPEECH}

_TAG = "Tag"

_LEAST_PROTECTED = 3

#: Verification tables of several metrics, or with a caption of their own: caption and metrics.
#: Every other metric on scores has a table of its own.
_VERIFICATION: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "asv": ("Speaker verification", ("eer", "cllr_min", "cllr")),
    "rocch_eer": ("EER of the ROC convex hull", ("rocch_eer",)),
    "linkability": ("Linkability", ("linkability",)),
    "zebra": (
        "ZEBRA: expected and worst-case disclosure",
        ("zebra_population", "zebra_individual"),
    ),
    "min_dcf": ("Minimum detection cost", ("min_dcf_0.01", "min_dcf_0.001")),
}

#: Tables of intervals: a page is wide enough for three columns of them.
_INTERVALS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("eer", "cllr_min", "cllr"),
    "intervals_privacy": ("rocch_eer", "linkability", "zebra_population"),
}

#: Columns of speakers: metrics, and what only a speaker has.
_SPEAKER: Mapping[str, Column | None] = {
    "deid": None,
    "similarity_oo": Column("oo", r"$M_{oo}$"),
    "similarity_oa": Column("oa", r"$M_{oa}$"),
    "similarity_aa": Column("aa", r"$M_{aa}$"),
    "linkability": None,
    "evidence": Column("Evidence, log10 LR", r"$\log_{10}(l)$"),
}


def table_groups(results: Results, across: Iterable[Table] = ()) -> list[list[Table]]:
    """The tables of every system as groups of a table set, or the protocol's blank forms.

    Parameters
    ----------
    across : iterable of Table
        Tables of all systems side by side, which come first.
    """
    groups = [[table] for table in across]
    places = [(s, f) for s in results.systems for f in results.results_folders(s)]
    parts = {f"{s}{f}": system_tables(results, s, f) for s, f in places}
    if not parts and not groups:
        parts = {results.protocol.name: blank_tables(results.protocol)}
    bases = file_names(parts)
    return groups + [
        [replace(table, name=f"{bases[base]}_{table.name}") for table in tables]
        for base, tables in parts.items()
    ]


def system_tables(results: Results, system: str, results_folder: str) -> list[Table]:
    """All tables of one results folder of a system for which there is any value; with
    the first folder come the averages, which take all folders together."""
    tables = _all_tables(results.of(system, results_folder), f"{system}{results_folder}")
    if results_folder == results.results_folders(system)[0]:
        tables.append(averages_table(results.of(system), system))
    return [table for table in tables if table.rows]


def blank_tables(protocol: Protocol) -> list[Table]:
    """The forms that a protocol's tables have, without a value."""
    forms = {*_verification_forms(), "asr"}
    return [t for t in _all_tables(Results(protocol), "no results") if t.name in forms]


def _verification_forms() -> dict[str, tuple[str, tuple[str, ...]]]:
    grouped = {key for _, keys in _VERIFICATION.values() for key in keys}
    alone = {k: (m.sentence, (k,)) for k, m in of_kind("scores").items() if k not in grouped}
    return {**_VERIFICATION, **alone}


def _all_tables(part: Results, title: str) -> list[Table]:
    splits = part.protocol.splits
    forms = _verification_forms()
    return [
        *(verification_table(part, f"asv_{s}", title, *forms["asv"], [s]) for s in splits),
        *(verification_table(part, name, title, *form, splits) for name, form in forms.items()),
        recognition_table(part, title),
        trial_set_table(part, title),
        speakers_table(part, title),
        *(
            interval_table(part, f"{name}_{split}", title, keys, split)
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
    splits: Sequence[str],
) -> Table:
    """Values of verification metrics: a row per data set, gender and comparison."""
    protocol, variant = results.protocol, results.protocol.variant
    found: dict[_Key, Sequence[str]] = {}
    partial = []
    for r in (r for r in results.verification if r.condition.split in splits):
        c = r.condition
        at = (c.split, c.data_set, c.gender, c.enrollment, c.trial)
        found[at] = list(_texts(keys, r.values(variant), r.tag(variant)).values())
        partial += [(at, r)] if r.left_out else []
    note = "o: original, a: anonymized speech"
    if partial:
        note += (
            f"; *: {sum(r.trials_without_score or 0 for _, r in partial)} trials without a score "
            f"and {sum(r.scores_without_trial or 0 for _, r in partial)} scores without a trial "
            "left out"
        )
    form = _Form(
        results,
        found,
        splits=splits,
        values=_columns(keys),
        condition=[Column("Enroll", rule=True), Column("Trial"), Column("Gen")],
        row_name=lambda data_set, split: protocol.data_set(data_set).row_name(split),
        marked={at for at, _ in partial},
    )
    groups = [
        [
            ((d, g, c.enrollment, c.trial), (_LETTER[c.enrollment], _LETTER[c.trial], g))
            for c in protocol.comparisons
        ]
        for d, g in itertools.product(protocol.table_rows, protocol.genders)
    ]
    shown = form.shown_splits
    of_split = f", {protocol.split_title(shown[0])}" if len(shown) == 1 else ""
    table = form.table(name, f"{caption}{of_split}: {title} ({note}).", groups)
    records = [r for r in results.verification if r.condition.split in splits]
    return replace(table, notes=tuple(caveats(records, keys, variant)))


def recognition_table(results: Results, title: str) -> Table:
    """Word error rates: a row per data set and speech, a column per language model."""
    protocol = results.protocol
    models = list(protocol.recognition.language_models)
    sets = {d.id: d for d in protocol.recognition.data_sets}
    rates: dict[tuple[str, ...], list[list[str]]] = {}
    for r in results.recognition:
        if r.language_model is not None:
            c = r.condition
            at = (c.split, c.data_set, r.asr_model or "?", c.speech)
            cells = rates.setdefault(at, [[] for _ in models])
            cells[models.index(r.language_model)].append(
                describe("wer").format(r.wer, detailed=True)
            )
    recognizers = sorted({at[2] for at in rates}, key=lambda m: (m != ORIGINAL, m)) or ["?"]
    several = len(recognizers) > 1
    form = _Form(
        results,
        {at: [" / ".join(texts) for texts in cells] for at, cells in rates.items()},
        splits=protocol.splits,
        values=[Column(f"WER, %, {m} LM", rf"WER, \%, LM$_\mathrm{{{m[0]}}}$") for m in models],
        condition=[Column("Data", rule=True), *([Column("Recognizer")] if several else [])],
        row_name=lambda data_set, split: sets[data_set].row_name(split),
    )
    groups = [
        [((d, model, s), (_LETTER[s], *([model] if several else []))) for s in SPEECH]
        for model, d in itertools.product(recognizers, sets)
    ]
    letters = ", ".join(f"{m[0]}: {m}" for m in models)
    caption = (
        f"Speech recognition: {title} (o: original, a: anonymized speech; LM: language model, "
        f"{letters})."
    )
    return form.table("asr", caption, groups)


def trial_set_table(results: Results, title: str) -> Table:
    """Utility and voice similarity of the trial sets that have any of them."""
    protocol = results.protocol
    values: dict[tuple[str, ...], dict[str, float]] = {}
    partial: dict[tuple[str, ...], int] = {}
    for u in results.utility:
        c = u.condition
        values.setdefault((c.split, c.data_set, c.gender), {}).update(u.values)
    for s in results.similarity:
        at = (s.condition.split, s.condition.data_set, s.condition.gender)
        values.setdefault(at, {}).update(s.values(protocol.variant))
        if s.utterances_left_out:
            partial[at] = s.utterances_left_out
    keys = [key for key in _of_sets() if any(key in found for found in values.values())]
    form = _Form(
        results,
        {at: list(_texts(keys, found).values()) for at, found in values.items()},
        splits=protocol.splits,
        values=_columns(keys),
        condition=[Column("Gen", rule=True)],
        row_name=lambda data_set, split: protocol.data_set(data_set).row_name(split),
        marked=set(partial),
    )
    groups = [[((d, g), (g,)) for g in protocol.genders] for d in protocol.table_rows]
    utility = {key for u in results.utility for key in u.values}
    shown = [m.name for key, m in of_kind("utility").items() if key in utility]
    if {"pitch_correlation_mean", "pitch_correlation_std"} <= utility:
        shown = ["pitch correlation (mean, standard deviation)", *shown[2:]]
    shown += ["voice similarity"] if results.similarity else []
    note = f" (*: {sum(partial.values())} utterances left out)" if partial else ""
    start = " and ".join(shown)
    return form.table("voice", f"{start[:1].upper()}{start[1:]}: {title}{note}.", groups)


def interval_table(
    results: Results, name: str, title: str, keys: Sequence[str], split: str
) -> Table:
    """Values with their 95 % intervals from the bootstrap over speakers, where there
    are any."""
    protocol, variant = results.protocol, results.protocol.variant
    groups: dict[tuple[str, str], list[tuple[str, ...]]] = {
        at: [] for at in itertools.product(protocol.table_rows, protocol.genders)
    }
    shown = [r for r in results.verification if r.speaker_intervals.get(variant)]
    shown = [r for r in shown if r.condition.split == split]
    for r in shown:
        c, intervals = r.condition, r.speaker_intervals[variant]
        values = _texts(keys, {k: v for k, v in r.values(variant).items() if k in intervals})
        bounds = [
            _texts(keys, {key: interval[side] for key, interval in intervals.items()}).values()
            for side in (0, 1)
        ]
        cells = (
            f"{value} [{low}, {high}]" if value else ""
            for value, low, high in zip(values.values(), *bounds, strict=True)
        )
        row = protocol.data_set(c.data_set).row_name(split)
        at = (c.data_set, c.gender)
        groups[at].append((row, *cells, _LETTER[c.enrollment], _LETTER[c.trial], c.gender))
    columns = (
        Column(protocol.split_title(split), align="l"),
        *_columns(keys),
        Column("Enroll", rule=True),
        Column("Trial"),
        Column("Gen"),
    )
    caption = (
        f"95 % intervals from resampling speakers, {protocol.split_title(split)}: {title} "
        "(o: original, a: anonymized speech)."
    )
    notes = tuple(caveats(shown, keys, variant))
    return _numbered(Table(name, caption, columns, _filled(groups.values()), notes=notes))


def speakers_table(results: Results, title: str) -> Table:
    """The least protected speakers of every trial set: an average hides them."""
    protocol = results.protocol
    found = {
        (r.condition.split, r.condition.data_set, r.condition.gender): r.speakers
        for r in results.similarity
    }
    groups = [
        [
            (
                protocol.data_set(data_set).row_name(split),
                gender,
                s.speaker,
                *_texts(list(_SPEAKER), vars(s)).values(),
            )
            for s in found.get((split, data_set, gender), ())[:_LEAST_PROTECTED]
        ]
        for split, data_set, gender in itertools.product(
            protocol.splits, protocol.table_rows, protocol.genders
        )
    ]
    columns = (
        Column("Trial set", align="l"),
        Column("Gen"),
        Column("Speaker", align="l"),
        *(column or Column(*describe(key).column) for key, column in _SPEAKER.items()),
    )
    caption = (
        f"The {_LEAST_PROTECTED} least protected speakers of each trial set: {title} (voice "
        "similarity of the speaker to itself among original (oo), original and anonymized (oa), "
        "anonymized utterances (aa); the strongest evidence that links an original with an "
        "anonymized utterance)."
    )
    return Table("speakers", caption, columns, _filled(groups))


def averages_table(results: Results, title: str) -> Table:
    """The challenge's weighted averages, a column per split."""
    splits = results.protocol.splits
    rows: dict[str, dict[str, str]] = {}
    for average in averages(results):
        text = "" if average.value is None else f"{average.value:.3f}"
        rows.setdefault(average.quantity, {})[average.split] = text
    known = tuple((q, *cells.values()) for q, cells in rows.items() if any(cells.values()))
    unknown = [q for q, cells in rows.items() if not any(cells.values())]
    columns = (
        Column("Average", align="l"),
        *(Column(results.protocol.split_title(split), align="r") for split in splits),
    )
    caption = f"Averages over data sets: {title}"
    if unknown:
        caption += f" (not known, as parts are missing: {'; '.join(unknown)})"
    return Table("averages", f"{caption}.", columns, _filled([known]))


def variants_table(results: Results, title: str) -> Table:
    """Cells of the other tables that the two variants of a metric print differently."""
    groups = []
    scores, of_sets = list(of_kind("scores")), _of_sets()
    printed = [
        *(
            (
                r.condition.name,
                [_texts(scores, r.metrics[v], r.zebra_tag.get(v, "")) for v in VARIANTS],
            )
            for r in results.verification
            if r.metrics.keys() >= set(VARIANTS)
        ),
        *(
            (s.condition.name, [_texts(of_sets, s.metrics.get(v, {})) for v in VARIANTS])
            for s in results.similarity
        ),
    ]
    for name, (one, other) in printed:
        groups.append(
            [
                (name, metric, text, other[metric])
                for metric, text in one.items()
                if text and other[metric] and text != other[metric]
            ]
        )
    columns = (
        Column("Condition", align="l"),
        Column("Metric", align="l"),
        *(Column(variant, align="r") for variant in VARIANTS),
    )
    caption = f"Values that the released scripts print differently from their definition: {title}."
    return Table("variants", caption, columns, _filled(groups))


def _of_sets() -> list[str]:
    """Metrics of trial sets."""
    metrics = {**of_kind("utility"), **of_kind("matrices")}
    return [key for key, metric in metrics.items() if metric.tabled]


def _columns(keys: Sequence[str]) -> list[Column]:
    columns = [Column(*describe(key).column) for key in keys]
    if "zebra_individual" in keys:
        columns.insert(keys.index("zebra_individual") + 1, Column(_TAG))
    return columns


def _texts(
    keys: Sequence[str], values: Mapping[str, Any], tag: str | None = None
) -> dict[str, str]:
    """What is printed of values, "" of missing ones, by the title of the column."""
    printed = {}
    for key in keys:
        metric, value = describe(key), values.get(key)
        text = "" if value is None else metric.format(value, detailed=True)
        printed[metric.column.title] = text
        if key == "zebra_individual":
            printed[_TAG] = tag or ""
    return printed


_Key = tuple[str, ...]


@dataclass(frozen=True)
class _Form:
    """Tables of a row per place and a block of columns per split.

    Attributes
    ----------
    found : mapping
        Cells of a block by split and place, a data set first.
    values : list of Column
        Of a block.
    condition : list of Column
        What a place is, in every table once.
    row_name : callable
        The name of a data set in a split.
    marked : set
        Splits and places with a `*`.
    """

    results: Results
    found: Mapping[_Key, Sequence[str]]
    splits: Sequence[str]
    values: Sequence[Column]
    condition: Sequence[Column]
    row_name: Callable[[str, str], str]
    marked: Collection[_Key] = frozenset()

    @property
    def shown_splits(self) -> list[str]:
        """The splits that have any value; all of a blank form."""
        present = {at[0] for at, cells in self.found.items() if any(cells)}
        return [s for s in self.splits if s in present or not self.results.systems]

    def table(
        self, name: str, caption: str, groups: Iterable[Iterable[tuple[_Key, _Key]]]
    ) -> Table:
        """The first split's block, the condition's columns, then the other splits' blocks, of
        the data sets and splits that have any value; of all in a blank form. Groups hold
        places with the cells of their condition."""
        blank, splits = not self.results.systems, self.shown_splits
        present = {at[1] for at, cells in self.found.items() if any(cells)}
        columns: list[Column] = []
        for split in splits:
            title = self.results.protocol.split_title(split)
            columns += [Column(title, align="l", rule=bool(columns)), *self.values]
            columns += self.condition if split == splits[0] else []

        def row(place: _Key, condition: _Key) -> Iterator[str]:
            for split in splits:
                at = (split, *place)
                yield self.row_name(place[0], split) + ("*" if at in self.marked else "")
                yield from self.found.get(at, [""] * len(self.values))
                yield from condition if split == splits[0] else ()

        rows = [
            [tuple(row(*place)) for place in group if blank or place[0][0] in present]
            for group in groups
        ]
        return _numbered(Table(name, caption, tuple(columns), _filled(rows)))


def _numbered(table: Table) -> Table:
    """The table with the number of each row before it."""
    number = itertools.count(1)
    groups = tuple(tuple((str(next(number)), *row) for row in group) for group in table.groups)
    return replace(table, columns=(Column("#"), *table.columns), groups=groups)


def _filled(groups: Iterable[Iterable[tuple[str, ...]]]) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """The groups that have rows."""
    return tuple(rows for group in groups if (rows := tuple(group)))
