"""The challenge's result tables of one system: rows and columns.

Verification tables have the rows of the challenge's own converter: by data set and
gender, the three pairs of speech o-o, o-a, a-a (enrollment, trial; o: original, a:
anonymized), and a block of columns per split. Cells without a record stay blank; a
data set, or a pair of speech, without any record has no rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..choices import grouped
from ..io.files import file_names
from ..metrics import NOT_AVAILABLE, VARIANTS, describe, of_kind, withholding_caveat
from ..metrics.caveats import marked_text
from ..metrics.registry import Kind
from ..numbers.cells import interval_of, is_withheld
from ..numbers.groups import lacking_groups
from ..numbers.report_data import ReportData
from ..protocol.protocol import CHALLENGE_ATTACKERS, ORIGINAL, SPEECH
from ..results.measurements import PRESENT, WHOLE, Measurements, metric_of
from ..results.record_caveats import utility_notes
from ..results.records import Results
from ..results.signature import network_notes
from .declared import bundled_entries, declared_tables
from .main_results import pairs_table
from .notes import (
    averaged_text,
    blank_notes,
    caveat_notes,
    interval_notes,
)
from .own_tables import (
    attribute_table,
    identification_speakers_table,
    speakers_table,
)
from .split_tables import LETTER, SplitTable, metric_columns, split_cells, value_text
from .table import (
    FILES_ONLY,
    VARIANTS_DIFFER,
    Column,
    Key,
    Table,
    aligned,
    nonempty,
)

#: Verification tables of several metrics or with a special caption: caption and metrics. Every
#: other metric on scores gets a separate table.
_VERIFICATION: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "asv": ("Speaker verification", ("eer", "cllr_min", "cllr")),
    "rocch_eer": ("EER of the ROC convex hull", ("rocch_eer",)),
    "linkability": ("Linkability", ("linkability",)),
    "zebra": (
        "ZEBRA: expected and worst-case disclosure",
        ("zebra_population", "zebra_individual"),
    ),
    "min_dcf": ("Minimum detection cost", ("min_dcf_0.01", "min_dcf_0.001")),
    "miss_rate": (
        "Miss rate at low false-alarm rates",
        ("miss_at_fa_0.01", "miss_at_fa_0.001"),
    ),
}


#: Tables of values that do not depend on x-vectors.
_WITHOUT_NETWORK = ("asr", "emotion", "measures")


def table_groups(data: ReportData, across: Iterable[Table] = ()) -> list[list[Table]]:
    """Return the tables of every system as groups of a table set, named `SYSTEM_NAME`, such as
    `B1_asv_test`. Comments state the provenance of the results.

    Parameters
    ----------
    across : iterable of Table
        Tables of all systems side by side, which come first.
    """
    across = list(across)
    groups = [across] if across else []
    tables_of = {f"{s}{f}": system_tables(data, s, f) for s, f in data.by_folder}
    bases = file_names(tables_of)
    groups += [
        [replace(table, name=f"{bases[base]}_{table.name}") for table in tables]
        for base, tables in tables_of.items()
    ]
    return [[replace(table, comment=data.signature) for table in group] for group in groups]


def system_tables(data: ReportData, system: str, results_folder: str) -> list[Table]:
    """Return the tables with any value of one results folder of a system; for the first folder
    also, over all folders, the strongest attack models and the averages."""
    whole, name = data.by_system[system], data.evaluations[system, results_folder]
    folder = data.by_folder[system, results_folder]
    part = folder.results
    is_first = results_folder == next(f for s, f in data.by_folder if s == system)
    tables = [
        *(of_splits.table() for of_splits in _verification_tables(folder, name)),
        _recognition(part, name).table(),
        _emotion(folder, name).table(),
        _measures(folder, name).table(),
        _trial_sets(folder, name).table(),
        *([_strongest_attacks(whole, system).table()] if is_first else ()),
        speakers_table(folder, name),
        *_declared(folder, name),
        identification_speakers_table(folder, name),
        attribute_table(part, name),
        variants_table(folder, name),
    ]
    if is_first:
        tables += [averages_table(data, system), attack_table(data, system)]
        tables.append(pairs_table(data, system))

    def notes(table: Table) -> list[str]:
        has_intervals = any(column.interval for column in table.columns)
        return [
            *table.notes,
            *(network_notes(whole.results) if table.name not in _WITHOUT_NETWORK else ()),
            *(whole.narrow_intervals if has_intervals else ()),
        ]

    section = f"System {name}"
    return [
        replace(table, section=table.section or section, notes=tuple(notes(table)))
        for table in tables
        if table.rows
    ]


def _declared(data: ReportData, name: str) -> list[Table]:
    """Return the tables of a results folder that are entries; the first of each column of groups
    says what the tree does not tell of it."""
    tables = list(declared_tables(data, bundled_entries("system"), name))
    for column in data.group_columns:
        lacking = lacking_groups(data.results, column)
        of_column = (n for n, t in enumerate(tables) if t.title.startswith(f"By {column}"))
        if (first := next(of_column, None)) is not None:
            tables[first] = replace(tables[first], notes=(*tables[first].notes, *lacking))
    return tables


def _verification_tables(data: ReportData, system: str) -> Iterator[SplitTable]:
    """Describe the tables of verification metrics: that of the first metrics also for each split,
    where the intervals find a place."""
    protocol = data.protocol
    grouped = {key for _, keys in _VERIFICATION.values() for key in keys}
    alone = {
        key: (metric.sentence, (key,))
        for key, metric in of_kind("scores").items()
        if metric.tabled and key not in grouped
    }
    tables = {
        name: (caption, tuple(map(protocol.shown, keys)))
        for name, (caption, keys) in {**_VERIFICATION, **alone}.items()
    }
    caption, keys = tables.pop("asv")
    for split in protocol.splits:
        yield _verification(data, system, f"asv_{split}", caption, keys, [split])
    values = _verification(data, system, "asv", caption, keys, protocol.splits)
    cells = {key: [text.partition(" [")[0] for text in of] for key, of in values.cells.items()}
    columns = metric_columns(keys)
    yield replace(values, cells=cells, values=columns, resampled=(), section=FILES_ONLY)
    for name, (caption, keys) in tables.items():
        yield _verification(data, system, name, caption, keys, protocol.splits)


def _verification(
    data: ReportData,
    system: str,
    name: str,
    caption: str,
    keys: Sequence[str],
    splits: Sequence[str],
) -> SplitTable:
    """Describe a table of verification metrics with their intervals: a row per data set, gender
    and pair of speech."""
    protocol = data.protocol
    rows = _of_sets(data).select(split=splits, asr_model=None, enrollment=PRESENT)
    found = split_cells(rows, keys, ("gender", "enrollment", "trial"))
    note, tells_nothing = "o: original, a: anonymized speech", {}
    if all(key.startswith("min_dcf") for key in keys):
        ignoring = describe(keys[0]).format(1.0, detailed=True)
        tells_nothing = {ignoring: f"a minimum cost of {ignoring}, that of ignoring the scores"}
    if found.partial:
        note += (
            f"; *: {found.left_out('trials_without_score')} trials without a score and "
            f"{found.left_out('scores_without_trial')} scores without a trial left out"
        )
    title, with_values = caption, {key[0] for key, texts in found.cells.items() if any(texts)}
    if len(with_values) == 1:
        title += f", {protocol.split_name(*with_values)}"
    # Rows that were not evaluated are omitted.
    pairs = {key[3:] for key in found.cells}
    return SplitTable(
        protocol,
        name,
        title,
        f"{title}: {system} ({note}).",
        found.cells,
        metric_columns(keys, found.resampled),
        [Column("Enroll", rule=True), Column("Trial"), Column("Gen")],
        [
            [
                ((d, g, c.enrollment, c.trial), (LETTER[c.enrollment], LETTER[c.trial], g))
                for c in protocol.comparisons
                if (c.enrollment, c.trial) in pairs
            ]
            for d, g in itertools.product(protocol.table_rows, protocol.genders)
        ],
        flagged=found.partial.keys(),
        records=[r for r in data.results.verification if r.condition.split in splits],
        metrics=keys,
        resampled=found.resampled,
        tells_nothing=tells_nothing,
    )


def _of_sets(data: ReportData) -> Measurements:
    """Return the values of whole trial sets in the protocol's variant, by the challenge's own
    attacker."""
    own = data.measurements.select(**WHOLE, attacker=(None, *CHALLENGE_ATTACKERS))
    return own.in_variant(data.protocol.variant)


def _strongest_attacks(data: ReportData, system: str) -> SplitTable:
    """Describe the table of the least private value over all attack models, by each metric."""
    protocol = data.protocol
    attacks = {a.id for a in protocol.attack_models if not a.is_original}
    records = [r for r in data.results.verification if r.condition.attack_model in attacks]
    rows = data.cells.rows.select(attack_model=attacks)
    sets = rows.groups("split", "data_set", "gender")
    several = [key for key, of in sets.items() if len({row["attack_model"] for row in of}) > 1]
    metrics = (key for key, m in of_kind("scores").items() if m.best and m.strongest)
    found = {key: _least_private(rows, key) for key in map(protocol.shown, metrics)}
    keys = [key for key, of_key in found.items() if any(place in of_key for place in several)]
    cells = {p: [found[k].get(p, NOT_AVAILABLE) for k in keys] for p in several if keys}
    title = "The strongest of the challenge's attack models, by each metric"
    return SplitTable(
        protocol,
        "strongest",
        title,
        f"{title}: {system}.",
        cells,
        [Column(*describe(key).column) for key in keys],
        [Column("Gen", rule=True)],
        [[((d, g), (g,)) for d, g in itertools.product(protocol.table_rows, protocol.genders)]],
        records=records,
        notes=["Attackers beside the challenge's own are in the table of attackers"]
        if data.others
        else [],
        turned=True,
    )


def _least_private(rows: Measurements, key: str) -> dict[Key, str]:
    """Write the least private value of each trial set, and whose it is, unless all are withheld."""
    values, metric = (r for r in rows.select(metric=key) if not is_withheld(r)), describe(key)
    by_set = grouped(values, lambda row: (row["split"], row["data_set"], row["gender"]))
    chosen = min if metric.best == "higher" else max
    least = {place: chosen(of, key=lambda r: float(r["value"])) for place, of in by_set.items()}
    return {
        place: f"{metric.format(row['value'], detailed=True)} {row['attack_model']}"
        for place, row in least.items()
    }


def _recognition(results: Results, system: str) -> SplitTable:
    """Describe the table of word error rates: a row per data set and speech, a column per language
    model."""
    protocol = results.protocol
    models = list(protocol.recognition.language_models)
    rates: dict[Key, list[list[str]]] = {}
    for r in results.recognition:
        if (language_model := r.facts.get("language_model")) is not None:
            c, row = r.condition, r.find("wer", group_by=None)
            key = (c.split, c.data_set, r.facts.get("asr_model", "?"), c.trial)
            cells = rates.setdefault(key, [[] for _ in models])
            # Kaldi prints two decimals, the editions without language models three.
            decimals = None if len(models) > 1 else 3
            metric, bounds = describe("wer"), interval_of(row)
            text = metric.format(row["value"], detailed=True, decimals=decimals)
            text = marked_text(text, withholding_caveat(r.caveats, "wer"))
            interval = metric.interval(bounds, detailed=True, decimals=decimals)
            text = f"{text} {interval}".rstrip()
            cells[models.index(language_model)].append(text)
    recognizers = sorted({key[2] for key in rates}, key=lambda m: (m != ORIGINAL, m)) or ["?"]
    several = len(recognizers) > 1
    letters = ", ".join(f"{m[0]}: {m}" for m in models)
    note = f"; LM: language model, {letters}" if len(models) > 1 else ""
    resampled = all(len(texts) < 2 for cells in rates.values() for texts in cells) and any(
        interval_of(r.find("wer", group_by=None)) for r in results.recognition
    )
    title = "Speech recognition"
    return SplitTable(
        protocol,
        "asr",
        title,
        f"{title}: {system} (o: original, a: anonymized speech{note}).",
        {key: [" / ".join(texts) for texts in cells] for key, cells in rates.items()},
        [Column(f"WER, %, {m} LM", rf"WER, \%, LM$_\mathrm{{{m[0]}}}$") for m in models]
        if len(models) > 1
        else [Column("WER, %", interval=resampled)],
        [Column("Data", rule=True), *([Column("Recognizer")] if several else [])],
        [
            [((d.id, model, s), (LETTER[s], *([model] if several else []))) for s in SPEECH]
            for model, d in itertools.product(recognizers, protocol.recognition.data_sets)
        ],
        data_sets=protocol.recognition.data_sets,
        notes=utility_notes(results.recognition),
    )


def _emotion(data: ReportData, system: str) -> SplitTable:
    """Describe the table of emotion recognition: a row per data set and speech."""
    protocol, records = data.protocol, data.results.emotion
    rows = _of_sets(data)
    keys = _present(rows, "emotion")
    folds = {len(r.measurements.values("fold")) for r in records} - {0}
    few = f"; means over {max(folds)} speakers, too few for an interval" if folds else ""
    title = "Emotion recognition, unweighted average recall and recall of each emotion"
    return SplitTable(
        protocol,
        "emotion",
        title,
        f"{title}: {system} (o: original, a: anonymized speech{few}).",
        split_cells(rows, keys, ("trial",)).cells,
        metric_columns(keys),
        [Column("Data", rule=True)],
        [[((d.id, s), (LETTER[s],)) for s in SPEECH] for d in protocol.emotion],
        data_sets=protocol.emotion,
        notes=utility_notes(records),
    )


def _measures(data: ReportData, system: str) -> SplitTable:
    """Describe the table of measures of speech: a row per trial set and speech."""
    protocol, rows = data.protocol, _of_sets(data)
    keys = _present(rows, "measures")
    found = split_cells(rows.select(source=PRESENT), keys, ("gender", "trial"))
    left_out = found.left_out("utterances_left_out")
    note = f"; *: {left_out} utterances left out" if left_out else ""
    title = "Measures of speech"
    return SplitTable(
        protocol,
        "measures",
        title,
        f"{title}: {system} (o: original, a: anonymized speech{note}).",
        found.cells,
        metric_columns(keys, found.resampled),
        [Column("Gen"), Column("Data", rule=True)],
        [
            [((d, g, s), (g, LETTER[s])) for g in protocol.genders for s in SPEECH]
            for d in protocol.table_rows
        ],
        flagged=found.partial.keys(),
        notes=[
            *(describe(key).explanation.rstrip(".") for key in keys),
            *utility_notes(data.results.measures),
        ],
    )


def _trial_sets(data: ReportData, system: str) -> SplitTable:
    """Describe the table of utility and voice similarity of trial sets."""
    protocol, rows = data.protocol, _of_sets(data).select(gender=PRESENT)
    keys = [*_present(rows, "utility"), *_present(rows, "matrices")]
    found = split_cells(rows, [key for key in keys if describe(key).tabled], ("gender",))
    names = [describe(key).name for key in _present(rows, "utility")]
    keys = [key for key in keys if describe(key).tabled]
    notes = [describe(key).explanation.rstrip(".") for key in keys]
    if {"pitch_correlation_mean", "pitch_correlation_std"} <= {*keys}:
        names = ["pitch correlation (mean, standard deviation)", *names[2:]]
    if "pitch_correlation_mean" in keys and "pitch_correlation_chance" not in keys:
        notes.append("Imported pitch correlations: the set's own value by chance is not known")
    title = " and ".join(names + (["voice similarity"] if data.results.similarity else []))
    title = title[:1].upper() + title[1:]
    left_out = found.left_out("utterances_left_out")
    note = f" (*: {left_out} utterances left out)" if left_out else ""
    return SplitTable(
        protocol,
        "voice",
        title,
        f"{title}: {system}{note}.",
        found.cells,
        metric_columns(keys),
        [Column("Gen", rule=True)],
        [[((d, g), (g,)) for g in protocol.genders] for d in protocol.table_rows],
        flagged=found.partial.keys(),
        notes=notes,
    )


def _present(rows: Measurements, kind: Kind) -> list[str]:
    """List the metrics of a kind that have values."""
    present = {*rows.values("metric")}
    return [key for key in of_kind(kind) if key in present]


def averages_table(data: ReportData, system: str) -> Table:
    """The challenge's weighted averages, a column per split."""
    results = data.by_system[system].results
    rows: dict[str, dict[str, str]] = {}
    averages = data.challenge_averages[system]
    for average in averages:
        rows.setdefault(average["quantity"], {})[average["split"]] = average["printed"]
    told = {a["quantity"] for a in averages if a["value"] is not None or a["withheld"]}
    complete = tuple((q, *cells.values()) for q, cells in rows.items() if q in told)
    missing = [q for q in rows if q not in told]
    titles = map(data.protocol.split_title, data.protocol.splits)
    columns = (*aligned("l", "Average"), *aligned("r", *titles))
    notes = caveat_notes(results.verification, [data.protocol.eer], marked=True)
    notes += blank_notes((a["split"], a) for a in averages)
    if missing:
        notes.append(
            f"No average of {'; '.join(missing)}: values of some data sets or genders are missing"
        )
    heading = "The challenge's averages"
    caption, groups = f"{heading}: {system}.", nonempty([complete])
    return Table("averages", caption, columns, groups, notes=tuple(notes), title=heading)


def attack_table(data: ReportData, system: str) -> Table:
    """Weighted averages with their intervals: a row per split and attack model."""
    protocol, attacks = data.protocol, data.attacks[system]
    keys = dict.fromkeys(k for a in attacks for k, m in a["means"].items() if m["parts"])
    groups: dict[str, list[tuple[str, ...]]] = {}
    resampled = set()
    for attack in attacks:
        means = [attack["means"][key] for key in keys]
        if any(mean["value"] is not None or mean["withheld"] for mean in means):
            split = protocol.split_title(attack["split"])
            texts = (value_text(mean, detailed=True) for mean in means)
            groups.setdefault(split, []).append((split, attack["model"].title, *texts))
            resampled |= {mean["metric"] for mean in means if interval_of(mean) is not None}
    columns = (
        Column("Split", align="l"),
        Column("Attack model", align="l", rule=True),
        *(Column(*describe(key).column, interval=key in resampled) for key in keys),
    )
    records = data.by_system[system].results.verification
    heading = averaged_text(protocol)
    heading = heading[:1].upper() + heading[1:]
    notes = (
        *interval_notes(data.results.records(), [key for key in keys if key in resampled]),
        *caveat_notes(records, keys, protocol.variant, marked=True),
        *blank_notes((a["model"].title, a["means"][key]) for a in attacks for key in keys),
    )
    rows = nonempty(groups.values())
    caption = f"{heading}: {system}."
    return Table("attacks", caption, columns, rows, notes=notes, title=heading)


def variants_table(data: ReportData, title: str) -> Table:
    """Values that differ between the two variants of a metric, and the EERs of Kaldi and
    SpeechBrain where they differ."""
    own = data.measurements.select(**WHOLE, attacker=(None, *CHALLENGE_ATTACKERS))
    of_variants: list[Key] = []
    places = ("name", "enrollment", "trial", "asv_model", "metric")
    tabled = [key for key in (*of_kind("scores"), *of_kind("matrices")) if metric_of(key).tabled]
    for (name, *_, key), rows in own.select(metric=tabled, variant=PRESENT).groups(*places).items():
        by_variant = {row["variant"]: row for row in rows}
        if by_variant.keys() >= {*VARIANTS}:
            pair = [by_variant[variant] for variant in VARIANTS]
            texts = [value_text(row, detailed=True, interval=False) for row in pair]
            tags = [row.get("tag", "") for row in pair]
            for column, both in zip(metric_columns([key]), (texts, tags), strict=False):
                of_variants += [(name, column.title, *both)] * (all(both) and both[0] != both[1])
    of_eers: list[Key] = []
    eers = ("eer", "eer_speechbrain")
    shown = own.in_variant(data.protocol.variant).select(metric=eers)
    for (name,), rows in shown.groups("name").items():
        by_key = {r["metric"]: value_text(r, detailed=True, interval=False) for r in rows}
        texts = [by_key.get(key, "") for key in eers]
        if len({*texts} - {""}) > 1:
            of_eers.append((name, describe("eer").column.title, *texts))
    return Table(
        "variants",
        "Values that the released scripts print differently from their definition, and EERs of "
        f"Kaldi and SpeechBrain that differ: {title}.",
        (
            *aligned("l", "Condition", "Metric"),
            *aligned("r", "challenge / Kaldi", "exact / SpeechBrain"),
        ),
        nonempty([of_variants, of_eers]),
        section=VARIANTS_DIFFER,
    )
