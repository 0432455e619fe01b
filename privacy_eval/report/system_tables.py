"""The challenge's result tables of one system: rows and columns.

Verification tables have the rows of the challenge's own converter: by data set and
gender, the three pairs of speech o-o, o-a, a-a (enrollment, trial; o: original, a:
anonymized), and a block of columns per split. Cells without a record stay blank; a
data set, or a pair of speech, without any record has no rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..choices import grouped
from ..io.files import file_names
from ..metrics import NOT_AVAILABLE, VARIANTS, describe, of_kind
from ..numbers.cells import interval_of
from ..numbers.report_data import ReportData
from ..protocol.protocol import CHALLENGE_ATTACKERS
from ..results.measurements import PRESENT, WHOLE, Measurements, Row, metric_of
from ..results.record_caveats import utility_notes
from ..results.signature import network_notes
from .declared import (
    Part,
    bundled_entries,
    declared_tables,
    left_out_text,
    ordered_metrics,
    value_text,
)
from .main_results import pairs_table
from .notes import averaged_text, blank_notes, caveat_notes, evaluated_note, interval_notes
from .table import Table

#: Speakers in a table of the least protected ones.
WORST_SPEAKERS = 3

_OF_SPEAKERS = (
    *("deid", "similarity_oo", "similarity_oa", "similarity_aa"),
    *("linkability", "evidence"),
)
_PLACE = ("results_folder", "name", "data_set", "split", "gender", "asv_model")

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
    is_first = results_folder == next(f for s, f in data.by_folder if s == system)
    entries = [e for e in bundled_entries("system") if is_first or e.name not in _WHOLE]
    parts: dict[str, Callable[..., Part]] = {**_PARTS}
    parts |= {n: functools.partial(part, data, system) for n, part in _WHOLE.items()}
    if folder.disclosed:
        entries, more = folder.disclosed.tables(entries)
        parts |= more
    tables = list(declared_tables(folder, entries, name, parts))
    if is_first and (pairs := pairs_table(data, system)) is not None:
        tables.append(pairs)
    if folder.disclosed:
        tables = list(folder.disclosed.with_lacking(tables))

    def notes(table: Table) -> list[str]:
        has_intervals = any(" [" in cell for row in table.rows for cell in row)
        return [
            *table.notes,
            *(network_notes(whole.results) if table.name not in _WITHOUT_NETWORK else ()),
            *(whole.narrow_intervals if has_intervals and not table.section else ()),
        ]

    section = f"System {name}"
    return [
        replace(table, section=table.section or section, notes=tuple(notes(table)))
        for table in tables
        if table.rows
    ]


def least_protected(_: Measurements, data: ReportData) -> Part:
    """Write the values of the least protected speakers of every trial set, hidden in averages, and
    of all its speakers."""
    rows = []
    own = data.measurements.select(metric=_OF_SPEAKERS)
    for of_set in own.groups("name", "asv_model").values():
        by_speaker = grouped((r for r in of_set if "speaker" in r), lambda r: r["speaker"])
        whole = [r for r in of_set if "speaker" not in r and r["metric"] == "deid"]
        of_all = sorted(whole, key=lambda r: r["variant"] != "exact")[:1] if by_speaker else []
        shown = [(s, row) for s in [*by_speaker][:WORST_SPEAKERS] for row in by_speaker[s]]
        for speaker, row in [*shown, *(("all", row) for row in of_all)]:
            of = {n: row[n] for n in (*_PLACE, "metric") if n in row}
            rows.append({**of, "speaker": speaker, "printed": value_text(row, detailed=True)})
    similarity = data.measurements.select(metric="similarity_oo", speaker=PRESENT)
    variants = sorted(similarity.values("variant"))
    return Measurements.of(rows), {"variants": " or ".join(variants) or "exact"}, ()


def _consistency(_: Measurements, data: ReportData) -> Part:
    """Write how alike the utterances of a speaker are, and how many speakers share a voice."""
    rows = []
    for r in (r for r in data.results.similarity if r.facts.get("voices")):
        texts = {n: "{:.2f} [{:.2f}, {:.2f}]".format(*of) for n, of in r.facts["voices"].items()}
        texts["collisions"] = f"{100 * r.facts['voices']['collisions'][0]:.0f}"
        rows.append({**vars(r.condition), **texts, "n_speakers": str(r.facts["n_speakers"])})
    return Measurements.of(rows), {}, ()


def _strongest(data: ReportData, system: str, *_: object) -> Part:
    """Write the least private value of a trial set over the challenge's attack models, and whose it
    is, by each metric; n/a where all are withheld."""
    protocol, whole, place = data.protocol, data.by_system[system], ("split", "data_set", "gender")
    attacks = {a.id for a in protocol.attack_models if not a.is_original}
    values = whole.cells.rows.select(attack_model=attacks)
    sets = values.groups(*place)
    several = [of for of, rows in sets.items() if len({row["attack_model"] for row in rows}) > 1]
    shown = ("attack_model", "metric", "value", "caveats")
    keys = [protocol.shown(k) for k, m in of_kind("scores").items() if m.best and m.strongest]
    plain = ({n: row.get(n) for n in (*place, *shown)} for row in values.select(metric=keys))
    every = Measurements.of(plain)
    least = every.strongest("attack_model") if len(every) else every
    rows = []
    for key in least.values("metric"):
        of_sets = least.select(metric=key).groups(*place)
        for of in several if not of_sets.keys().isdisjoint(several) else ():
            text = NOT_AVAILABLE
            for row in of_sets.get(of, ()):
                text = f"{describe(key).format(row['value'], detailed=True)} {row['attack_model']}"
            rows.append({**dict(zip(place, of, strict=True)), "metric": key, "printed": text})
    records = [r for r in whole.results.verification if r.condition.attack_model in attacks]
    notes = [evaluated_note(records, protocol.variant)]
    if data.others:
        notes.append("Attackers beside the challenge's own are in the table of attackers")
    return Measurements.of(rows), {"system": system}, notes


def _averages(data: ReportData, system: str, *_: object) -> Part:
    """Write the averages of the challenge's summary, and say which are missing."""
    averages, records = data.challenge_averages[system], data.by_system[system].results.verification
    told = {a["quantity"] for a in averages if a["value"] is not None or a["withheld"]}
    notes = caveat_notes(records, [data.protocol.eer], marked=True)
    notes += blank_notes((a["split"], a) for a in averages)
    if missing := dict.fromkeys(a["quantity"] for a in averages if a["quantity"] not in told):
        notes.append(
            f"No average of {'; '.join(missing)}: values of some data sets or genders are missing"
        )
    rows = ({n: a[n] for n in ("metric", "split", "quantity", "printed")} for a in averages)
    return Measurements.of(r for r in rows if r["quantity"] in told), {"system": system}, notes


def _attacks(data: ReportData, system: str, *_: object) -> Part:
    """Write weighted averages with their intervals under every attack model."""
    protocol, attacks = data.protocol, data.attacks[system]
    keys = list(dict.fromkeys(k for a in attacks for k, m in a["means"].items() if m["parts"]))
    means = [(a, a["means"][key]) for a in attacks for key in keys]
    told = [a for a, mean in means if mean["value"] is not None or mean["withheld"]]
    rows = [
        {
            "metric": mean["metric"],
            "split": protocol.split_title(a["split"]),
            "attack_model": a["model"].title,
            "printed": value_text(mean, detailed=True),
        }
        for a, mean in means
        if a in told
    ]
    drawn = {mean["metric"] for _, mean in means if interval_of(mean)}
    heading = averaged_text(protocol)
    notes = [
        *interval_notes(data.results.records(), [key for key in keys if key in drawn]),
        *caveat_notes(
            data.by_system[system].results.verification, keys, protocol.variant, marked=True
        ),
        *blank_notes((a["model"].title, mean) for a, mean in means),
    ]
    words = {"system": system, "averages": heading[:1].upper() + heading[1:]}
    return Measurements.of(rows), words, notes


def _variants(_: Measurements, data: ReportData) -> Part:
    """Write values that differ between the two variants of a metric, and the EERs of Kaldi and
    SpeechBrain where they differ."""
    own = data.measurements.select(**WHOLE, attacker=(None, *CHALLENGE_ATTACKERS))
    rows: list[Row] = []

    def add(of: Row, case: str, texts: Sequence[str], **more: str) -> None:
        if all(texts) and texts[0] != texts[1]:
            place = {name: of[name] for name in places if name in of} | {"case": case} | more
            both = zip(VARIANTS, texts, strict=True)
            rows.extend({**place, "variant": variant, "printed": text} for variant, text in both)

    places = ("name", "enrollment", "trial", "asv_model", "metric")
    tabled = [key for key in (*of_kind("scores"), *of_kind("matrices")) if metric_of(key).tabled]
    for of in own.select(metric=tabled, variant=VARIANTS).groups(*places).values():
        if len(pair := sorted({row["variant"]: row for row in of}.items())) == len(VARIANTS):
            texts = [value_text(row, detailed=True, interval=False) for _, row in pair]
            add(of[0], metric_of(of[0]["metric"]).column.title, texts)
            add(of[0], "Tag", [row.get("tag", "") for _, row in pair])
    eers = ("eer", "eer_speechbrain")
    shown = own.in_variant(data.protocol.variant).select(metric=eers)
    for of in shown.groups("name").values():
        by_key = {r["metric"]: value_text(r, detailed=True, interval=False) for r in of}
        add(of[0], describe("eer").column.title, [by_key.get(key, "") for key in eers], key="EERs")
    return Measurements.of(rows), {}, ()


def _recognition(rows: Measurements, data: ReportData) -> Part:
    """Write word error rates: Kaldi prints two decimals, the editions without language models
    three."""
    models = data.protocol.recognition.language_models
    how: dict[str, Any] = {"detailed": True, "decimals": None if len(models) > 1 else 3}
    known = ({**row, "asr_model": row.get("asr_model", "?")} for row in rows)
    alike = [*Measurements.of(known).select(language_model=PRESENT).groups(*_RATE).values()]
    texts = (" / ".join(value_text(row, **how) for row in of) for of in alike)
    shown = ({**of[0], "printed": text} for of, text in zip(alike, texts, strict=True))
    drawn = {} if all(len(of) == 1 for of in alike) else {"low": None}
    letters = ", ".join(f"{m[0]}: {m}" for m in models)
    words = {"models": f"; LM: language model, {letters}" * (len(models) > 1)}
    notes = utility_notes(data.results.recognition)
    return Measurements.of(row | drawn for row in shown), words, notes


_RATE = ("split", "data_set", "asr_model", "trial", "language_model")


def _emotion(rows: Measurements, data: ReportData) -> Part:
    records = data.results.emotion
    folds = {len(r.measurements.values("fold")) for r in records} - {0}
    few = f"; means over {max(folds)} speakers, too few for an interval" if folds else ""
    return rows, {"folds": few}, utility_notes(records)


def _measures(rows: Measurements, data: ReportData) -> Part:
    return rows, {}, [*_explained(rows), *utility_notes(data.results.measures)]


def _explained(rows: Measurements) -> list[str]:
    """Explain the metrics of rows."""
    present = ordered_metrics(rows.values("metric"))
    return [describe(key).explanation.rstrip(".") for key in present]


def _voice(rows: Measurements, data: ReportData) -> Part:
    """Name the metrics of utility, and voice similarity."""
    present = ordered_metrics(rows.values("metric"))
    names = [describe(key).name for key in present if describe(key).kind == "utility"]
    notes = _explained(rows)
    if {"pitch_correlation_mean", "pitch_correlation_std"} <= {*present}:
        names = ["pitch correlation (mean, standard deviation)", *names[2:]]
    if "pitch_correlation_mean" in present and "pitch_correlation_chance" not in present:
        notes.append("Imported pitch correlations: the set's own value by chance is not known")
    title = " and ".join(names + ["voice similarity"] * bool(data.results.similarity))
    left_out = left_out_text(rows)
    title = title[:1].upper() + title[1:]
    return rows, {"measured": title, "in_brackets": f" ({left_out})" * bool(left_out)}, notes


_PARTS: Mapping[str, Callable[[Measurements, ReportData], Part]] = {
    "variants": _variants,
    "asr": _recognition,
    "emotion": _emotion,
    "measures": _measures,
    "voice": _voice,
    "speakers": least_protected,
    "consistency": _consistency,
}

#: The same of a system over all its results folders.
_WHOLE: Mapping[str, Callable[..., Part]] = {
    "strongest": _strongest,
    "averages": _averages,
    "attacks": _attacks,
}
