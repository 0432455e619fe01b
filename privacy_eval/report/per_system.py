"""The challenge's result tables of one system: rows and columns, of records only.

Verification tables have the rows of the challenge's own converter: by data set and
gender, the three pairs of speech o-o, o-a, a-a (enrollment, trial; o: original, a:
anonymized), and a block of columns per split. Cells without a record stay blank; a
data set, or a pair of speech, without any record has no rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..io.files import file_names
from ..metrics import (
    NOT_AVAILABLE,
    VARIANTS,
    Variant,
    describe,
    of_kind,
)
from ..metrics.caveats import marked_text
from ..numbers.attacks import attacks
from ..numbers.cells import cells_from_results
from ..numbers.challenge_averages import challenge_averages
from ..numbers.means import Mean
from ..numbers.notes import bias_notes, caveat_notes, evaluated_text, few_replicates
from ..numbers.report_data import ReportData
from ..protocol.protocol import ORIGINAL, SPEECH, Protocol
from ..results.arrays import Curves
from ..results.records import (
    Results,
    SimilarityRecord,
    VerificationRecord,
)
from ..results.signature import network_notes, signature
from ..tree.conditions import SetCondition
from .forms import (
    LETTER,
    WORST_SPEAKERS,
    Form,
    Key,
    by_trial_set,
    condition_groups,
    metric_columns,
    metric_text,
    metric_texts,
    nonempty,
    set_groups,
)
from .identification import identification_speakers_table, identification_table, singling_out_table
from .table import FILES_ONLY, LEAST_PROTECTED, VARIANTS_DIFFER, Column, Table, aligned

#: Columns that identify a trial condition of a set.
_CONDITION = [Column("Enroll", rule=True), Column("Trial"), Column("Gen")]


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


#: Tables of intervals: a page is wide enough for three columns of them.
_INTERVALS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("eer", "cllr_min", "cllr"),
    "intervals_privacy": ("rocch_eer", "linkability", "zebra_population"),
    "intervals_individual": ("zebra_individual", "min_dcf_0.01", "min_dcf_0.001"),
    "intervals_miss": ("miss_at_fa_0.01", "miss_at_fa_0.001"),
}


#: Metrics in the table of strongest attack models: overall, and at low false-alarm rates.
_STRONGEST = ("eer", "linkability", "zebra_population", "miss_at_fa_0.01", "miss_at_fa_0.001")


#: Tables of values that do not depend on x-vectors.
_WITHOUT_NETWORK = ("asr", "emotion")
_AVERAGED = ("eer", "cllr_min", "linkability")


#: Columns of speakers: metrics, and values of speakers only.
_SPEAKER: Mapping[str, Column | None] = {
    "deid": None,
    "similarity_oo": Column("oo", r"$M_{oo}$"),
    "similarity_oa": Column("oa", r"$M_{oa}$"),
    "similarity_aa": Column("aa", r"$M_{aa}$"),
    "linkability": None,
    "evidence": Column("Evidence, log10 LR", r"$\log_{10}(l)$"),
}


def table_groups(
    results: Results, across: Iterable[Table] = (), curves: Curves | None = None
) -> list[list[Table]]:
    """Return the tables of every system as groups of a table set. Comments state the provenance
    of the results.

    Parameters
    ----------
    across : iterable of Table
        Tables of all systems side by side, which come first.
    curves : Curves, optional
        Source of the bootstrap replicates of averages.
    """
    across = list(across)
    groups = [across] if across else []
    folders = [(s, f) for s in results.systems for f in results.results_folders(s)]
    tables_of = {f"{s}{f}": system_tables(results, s, f, curves) for s, f in folders}
    bases = file_names(tables_of)
    groups += [
        [replace(table, name=f"{bases[base]}_{table.name}") for table in tables]
        for base, tables in tables_of.items()
    ]
    comment = signature(results, variant=results.protocol.variant) if results.systems else ""
    return [[replace(table, comment=comment) for table in group] for group in groups]


def system_tables(
    results: Results, system: str, results_folder: str, curves: Curves | None = None
) -> list[Table]:
    """Return the tables with any value of one results folder of a system; for the first folder
    also, over all folders, the strongest attack models and the averages, with intervals if there
    are `curves`."""
    tables = _all_tables(results.of(system, results_folder), f"{system}{results_folder}")
    whole = results.of(system)
    if results_folder == results.results_folders(system)[0]:
        tables += [strongest_table(whole, system), averages_table(whole, system)]
        tables += [average_interval_table(whole, system, curves)] if curves else []
    networks = network_notes(whole)
    few = few_replicates(whole, curves) if curves else ""

    def notes(name: str) -> list[str]:
        of_network = [] if name in _WITHOUT_NETWORK else networks
        return [*of_network, few] if few and name.startswith("intervals") else of_network

    section = f"System {system}{results_folder}"
    return [
        replace(t, section=t.section or section, notes=(*t.notes, *notes(t.name)))
        for t in tables
        if t.rows
    ]


def _verification_forms(protocol: Protocol) -> dict[str, tuple[str, tuple[str, ...]]]:
    grouped = {key for _, keys in _VERIFICATION.values() for key in keys}
    alone = {
        key: (metric.sentence, (key,))
        for key, metric in of_kind("scores").items()
        if metric.tabled and key not in grouped
    }
    forms = {
        name: (caption, tuple(map(protocol.shown, keys)))
        for name, (caption, keys) in _VERIFICATION.items()
    }
    return {**forms, **alone}


def _all_tables(part: Results, title: str) -> list[Table]:
    splits = part.protocol.splits
    forms = _verification_forms(part.protocol)
    return [
        *(verification_table(part, f"asv_{s}", title, *forms["asv"], [s]) for s in splits),
        replace(
            verification_table(part, "asv", title, *forms.pop("asv"), splits), section=FILES_ONLY
        ),
        *(verification_table(part, name, title, *form, splits) for name, form in forms.items()),
        recognition_table(part, title),
        emotion_table(part, title),
        trial_set_table(part, title),
        speakers_table(part, title),
        identification_table(part, title),
        singling_out_table(part, title),
        identification_speakers_table(part, title),
        *(
            interval_table(
                part, f"{name}_{split}", title, list(map(part.protocol.shown, keys)), split
            )
            for split in splits
            for name, keys in _INTERVALS.items()
        ),
        variants_table(part, title),
        eers_table(part, title),
    ]


def verification_table(
    results: Results,
    name: str,
    title: str,
    caption: str,
    keys: Sequence[str],
    splits: Sequence[str],
) -> Table:
    """Verification metrics: a row per data set, gender and pair of speech."""
    protocol, variant = results.protocol, results.protocol.variant
    records = [r for r in results.verification if r.condition.split in splits]
    cells: dict[Key, Sequence[str]] = {}
    partial = []
    for r in records:
        c = r.condition
        key = (c.split, c.data_set, c.gender, c.enrollment, c.trial)
        cells[key] = metric_texts(keys, r.values(variant), r.tag(variant), r.caveats)
        partial += [(key, r)] if r.left_out else []
    # Rows that were not evaluated are omitted.
    pairs = {(r.condition.enrollment, r.condition.trial) for r in records}
    note = "o: original, a: anonymized speech"
    if partial:
        note += (
            f"; *: {sum(r.trials_without_score or 0 for _, r in partial)} trials without a score "
            f"and {sum(r.scores_without_trial or 0 for _, r in partial)} scores without a trial "
            "left out"
        )
    form = Form(
        results,
        cells,
        values=metric_columns(keys),
        condition=_CONDITION,
        flagged={key for key, _ in partial},
    )
    groups = [
        [keys for keys in group if keys[0][2:] in pairs] for group in condition_groups(protocol)
    ]
    with_values = form.splits_with_values
    heading = caption
    if len(with_values) == 1:
        heading += f", {protocol.split_title(with_values[0])}"
    evaluated = _evaluated(records, variant)
    table = form.table(name, heading, f"{heading}: {title} ({note}). {evaluated}", groups)
    return replace(table, notes=tuple(caveat_notes(records, keys, marked=True)))


def strongest_table(results: Results, title: str) -> Table:
    """The least private value over all attack models, for each metric."""
    protocol, variant = results.protocol, results.protocol.variant
    attacks = {a.id for a in protocol.attack_models if not a.is_original}
    records = [r for r in results.verification if r.condition.attack_model in attacks]
    several = {key: of_set for key, of_set in by_trial_set(records).items() if len(of_set) > 1}
    columns = {
        key: [_strongest(of_set, key, variant) for of_set in several.values()]
        for key in map(protocol.shown, _STRONGEST)
    }
    keys = [key for key, cells in columns.items() if set(cells) != {NOT_AVAILABLE}]
    form = Form(
        results,
        {key: [columns[k][i] for k in keys] for i, key in enumerate(several)},
        values=metric_columns(keys),
        condition=[Column("Gen", rule=True)],
    )
    rows = [((d, g), (g,)) for d, g in itertools.product(protocol.table_rows, protocol.genders)]
    heading = "The strongest of the attack models, by each metric"
    caption = f"{heading}: {title}. {_evaluated(records, variant)}"
    table = form.table("strongest", heading, caption, [rows])
    return replace(table, fit="landscape")


def _strongest(records: Sequence[VerificationRecord], key: str, variant: Variant) -> str:
    """Return the least private value and its attack model, ignoring withheld values."""
    metric, found = describe(key), list[tuple[float, VerificationRecord]]()
    for r in records:
        value = r.values(variant).get(key, math.nan)
        if not math.isnan(value) and r.caveat(key) is None:
            found.append((-value if metric.best == "higher" else value, r))
    if not found:
        return NOT_AVAILABLE
    _, strongest = max(found, key=lambda pair: pair[0])
    text = metric.format(strongest.values(variant)[key], detailed=True)
    return f"{text} {strongest.condition.attack_model}"


def _evaluated(records: Sequence[VerificationRecord], variant: Variant) -> str:
    """Describe in a caption the trials, speakers and model behind the values."""
    return evaluated_text(
        variant,
        [r.n_target + r.n_nontarget for r in records if r.n_target and r.n_nontarget],
        [r.n_speakers for r in records if r.n_speakers],
        {r.condition.asv_model for r in records},
    )


def recognition_table(results: Results, title: str) -> Table:
    """Word error rates: a row per data set and speech, a column per language model."""
    protocol = results.protocol
    models = list(protocol.recognition.language_models)
    rates: dict[Key, list[list[str]]] = {}
    for r in results.recognition:
        if r.language_model is not None:
            c = r.condition
            key = (c.split, c.data_set, r.asr_model or "?", c.speech)
            cells = rates.setdefault(key, [[] for _ in models])
            # Kaldi prints two decimals, the editions without language models three.
            decimals = None if len(models) > 1 else 3
            text = describe("wer").format(r.line.wer, detailed=True, decimals=decimals)
            cells[models.index(r.language_model)].append(text)
    recognizers = sorted({key[2] for key in rates}, key=lambda m: (m != ORIGINAL, m)) or ["?"]
    several = len(recognizers) > 1
    form = Form(
        results,
        {key: [" / ".join(texts) for texts in cells] for key, cells in rates.items()},
        values=[Column(f"WER, %, {m} LM", rf"WER, \%, LM$_\mathrm{{{m[0]}}}$") for m in models]
        if len(models) > 1
        else [Column("WER, %")],
        condition=[Column("Data", rule=True), *([Column("Recognizer")] if several else [])],
        data_sets=protocol.recognition.data_sets,
    )
    groups = [
        [((d.id, model, s), (LETTER[s], *([model] if several else []))) for s in SPEECH]
        for model, d in itertools.product(recognizers, protocol.recognition.data_sets)
    ]
    letters = ", ".join(f"{m[0]}: {m}" for m in models)
    note = f"; LM: language model, {letters}" if len(models) > 1 else ""
    heading = "Speech recognition"
    caption = f"{heading}: {title} (o: original, a: anonymized speech{note})."
    return form.table("asr", heading, caption, groups)


def emotion_table(results: Results, title: str) -> Table:
    """Emotion recognition: a row per data set and speech."""
    protocol = results.protocol
    present = {key for r in results.emotion for key in r.values}
    keys = [key for key in of_kind("emotion") if key in present]
    form = Form(
        results,
        {
            (r.condition.split, r.condition.data_set, r.condition.speech): metric_texts(
                keys, r.values
            )
            for r in results.emotion
        },
        values=metric_columns(keys),
        condition=[Column("Data", rule=True)],
        data_sets=protocol.emotion,
    )
    groups = [[((d.id, s), (LETTER[s],)) for s in SPEECH] for d in protocol.emotion]
    folds = {len(r.folds) for r in results.emotion} - {0}
    few = f"; means over {max(folds)} speakers, too few for an interval" if folds else ""
    heading = "Emotion recognition, unweighted average recall and recall of each emotion"
    caption = f"{heading}: {title} (o: original, a: anonymized speech{few})."
    return form.table("emotion", heading, caption, groups)


def trial_set_table(results: Results, title: str) -> Table:
    """Utility and voice similarity of trial sets."""
    protocol = results.protocol
    values: dict[Key, dict[str, float]] = {}
    partial: dict[Key, int] = {}
    measured: list[tuple[SetCondition, Mapping[str, float], int | None]]
    measured = [(u.condition, u.values, None) for u in results.utility]
    measured += [
        (s.condition, s.values(protocol.variant), s.utterances_left_out) for s in results.similarity
    ]
    for c, found, left_out in measured:
        key = (c.split, c.data_set, c.gender)
        values.setdefault(key, {}).update(found)
        if left_out:
            partial[key] = left_out
    keys = [key for key in _of_sets() if any(key in found for found in values.values())]
    form = Form(
        results,
        {key: metric_texts(keys, found) for key, found in values.items()},
        values=metric_columns(keys),
        condition=[Column("Gen", rule=True)],
        flagged=set(partial),
    )
    groups = [[((d, g), (g,)) for g in protocol.genders] for d in protocol.table_rows]
    utility = {key for u in results.utility for key in u.values}
    names = [m.name for key, m in of_kind("utility").items() if key in utility]
    if {"pitch_correlation_mean", "pitch_correlation_std"} <= utility:
        names = ["pitch correlation (mean, standard deviation)", *names[2:]]
    heading = " and ".join(names + (["voice similarity"] if results.similarity else []))
    heading = heading[:1].upper() + heading[1:]
    note = f" (*: {sum(partial.values())} utterances left out)" if partial else ""
    return form.table("voice", heading, f"{heading}: {title}{note}.", groups)


def interval_table(
    results: Results, name: str, title: str, keys: Sequence[str], split: str
) -> Table:
    """Values with their 95 % intervals from the bootstrap over speakers."""
    protocol, variant = results.protocol, results.protocol.variant
    records = [r for r in results.verification if r.speaker_intervals.get(variant)]
    records = [r for r in records if r.condition.split == split]
    cells: dict[Key, list[str]] = {}
    for r in records:
        c = r.condition
        key = (c.split, c.data_set, c.gender, c.enrollment, c.trial)
        cells[key] = [_interval_text(metric, r, variant) for metric in keys]
    values = [Column(*describe(key).column) for key in keys]  # without the tag of ZEBRA
    form = Form(results, cells, values=values, condition=_CONDITION)
    groups = [
        [keys for keys in group if (split, *keys[0]) in cells]
        for group in condition_groups(protocol)
    ]
    heading = (
        f"95 % intervals of {', '.join(describe(key).name for key in keys)} from resampling "
        f"speakers, {protocol.split_title(split)}"
    )
    evaluated = _evaluated(records, variant)
    caption = f"{heading}: {title} (o: original, a: anonymized speech). {evaluated}"
    notes = (*caveat_notes(records, keys, marked=True), *bias_notes(keys))
    return replace(form.table(name, heading, caption, groups), notes=notes)


def _interval_text(key: str, record: VerificationRecord, variant: Variant) -> str:
    """Format a value with its interval; "" without one."""
    bounds = record.speaker_intervals[variant].get(key, ())
    text = metric_text(key, record.values(variant).get(key) if bounds else None, record.caveats)
    if text in ("", NOT_AVAILABLE):
        return text
    return "{} [{}, {}]".format(text, *(metric_text(key, bound) for bound in bounds))


def average_interval_table(results: Results, title: str, curves: Curves) -> Table:
    """Weighted averages with their 95 % intervals from the bootstrap over speakers: a row per
    split and attack model."""
    protocol = results.protocol
    data = ReportData(results, cells_from_results(results), curves)
    groups: dict[str, list[tuple[str, ...]]] = {}
    for attack in attacks(data, *_AVERAGED[1:]):
        cells = [_mean_text(attack.means[key]) for key in (protocol.eer, *_AVERAGED[1:])]
        if any(cells):
            split = protocol.split_title(attack.split)
            groups.setdefault(split, []).append((split, attack.model.title, *cells))
    columns = (
        Column("Split", align="l"),
        Column("Attack model", align="l", rule=True),
        *metric_columns(_AVERAGED),
    )
    heading = (
        "95 % intervals from resampling speakers of averages over data sets and genders with the "
        "protocol's weights"
    )
    caption = f"{heading}: {title}."
    resampled = [r for r in results.verification if r.speaker_intervals]
    notes = (*caveat_notes(resampled, _AVERAGED, marked=True), *bias_notes(_AVERAGED))
    rows = nonempty(groups.values())
    return Table("intervals_averages", caption, columns, rows, notes=notes, title=heading)


def _mean_text(mean: Mean) -> str:
    """Format a weighted average with its interval; "" without replicates of all conditions."""
    if mean.value is None or mean.interval is None:
        return ""
    bounds = ", ".join(metric_text(mean.metric, bound) for bound in mean.interval)
    return marked_text(f"{mean.plain_text(detailed=True)} [{bounds}]", mean.caveat)


def speakers_table(results: Results, title: str) -> Table:
    """The least protected speakers of every trial set, hidden in averages."""

    def rows(r: SimilarityRecord) -> list[Key]:
        speakers = r.speakers[:WORST_SPEAKERS]
        return [(s.speaker, *metric_texts(list(_SPEAKER), vars(s))) for s in speakers]

    columns = (
        Column("Trial set", align="l"),
        Column("Gen"),
        Column("Speaker", align="l"),
        *(column or Column(*describe(key).column) for key, column in _SPEAKER.items()),
    )
    caption = (
        f"The {WORST_SPEAKERS} least protected speakers of each trial set: {title} (voice "
        "similarity of the speaker to itself among original (oo), original and anonymized (oa), "
        "anonymized utterances (aa); the strongest evidence that links an original with an "
        "anonymized utterance)."
    )
    groups = set_groups(results.protocol, results.similarity, rows)
    return Table("speakers", caption, columns, groups, section=LEAST_PROTECTED)


def averages_table(results: Results, title: str) -> Table:
    """The challenge's weighted averages, a column per split."""
    splits = results.protocol.splits
    rows: dict[str, dict[str, str]] = {}
    for average in challenge_averages(results):
        rows.setdefault(average.quantity, {})[average.split] = average.text
    known = tuple((q, *cells.values()) for q, cells in rows.items() if any(cells.values()))
    unknown = [q for q, cells in rows.items() if not any(cells.values())]
    titles = map(results.protocol.split_title, splits)
    columns = (*aligned("l", "Average"), *aligned("r", *titles))
    notes = caveat_notes(results.verification, ["eer"], marked=True)
    if unknown:
        notes.append(
            f"No average of {'; '.join(unknown)}: values of some data sets or genders are missing"
        )
    heading = "Averages over data sets"
    caption, groups = f"{heading}: {title}.", nonempty([known])
    return Table("averages", caption, columns, groups, notes=tuple(notes), title=heading)


def variants_table(results: Results, title: str) -> Table:
    """Cells of the other tables that differ between the two variants of a metric."""
    verified = [r for r in results.verification if r.metrics.keys() >= set(VARIANTS)]
    stored: list[tuple[str, list[str], Mapping[str, Mapping[str, float]], Mapping[str, Any]]]
    stored = [
        (r.condition.name, list(of_kind("scores")), r.metrics, {v: r.tag(v) for v in VARIANTS})
        for r in verified
    ]
    stored += [(s.condition.name, _of_sets(), s.metrics, {}) for s in results.similarity]
    groups = []
    for name, keys, metrics, tags in stored:
        one, other = (metric_texts(keys, metrics.get(v, {}), tags.get(v, "")) for v in VARIANTS)
        titles = (column.title for column in metric_columns(keys))
        groups.append(
            [
                (name, *texts)
                for texts in zip(titles, one, other, strict=True)
                if all(texts) and texts[1] != texts[2]
            ]
        )
    columns = (*aligned("l", "Condition", "Metric"), *aligned("r", *VARIANTS))
    caption = f"Values that the released scripts print differently from their definition: {title}."
    return Table("variants", caption, columns, nonempty(groups), section=VARIANTS_DIFFER)


def eers_table(results: Results, title: str) -> Table:
    """The EERs of Kaldi and SpeechBrain where they differ."""
    both = ("eer", "eer_speechbrain")
    rows: list[tuple[str, ...]] = []
    for r in results.verification:
        texts = metric_texts(both, r.values(results.protocol.variant), None, r.caveats)
        if len({*texts} - {""}) > 1:
            rows.append((r.condition.name, *texts))
    columns = (*aligned("l", "Condition"), *aligned("r", "Kaldi", "SpeechBrain"))
    caption = f"EER, %, of Kaldi and of SpeechBrain where they differ: {title}."
    return Table("eers", caption, columns, nonempty([rows]), section=VARIANTS_DIFFER)


def _of_sets() -> list[str]:
    """List the metrics of trial sets."""
    metrics = {**of_kind("utility"), **of_kind("matrices")}
    return [key for key, metric in metrics.items() if metric.tabled]
