"""Notes on numbers, in words: caveats, intervals, and what was evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..choices import LEVEL, grouped
from ..errors import abbreviate, counted, enumerated
from ..metrics import CAVEATS, Metric, describe
from ..metrics.caveats import WEAK_ATTACKER, note_of
from ..metrics.printed import bias_notes
from ..metrics.similarity import VERDICTS
from ..numbers.cells import system_column
from ..protocol.protocol import LEARNT
from ..results.record_caveats import shared_scores
from ..results.signature import pseudo_voice, voices_of

if TYPE_CHECKING:
    from ..numbers.report_data import ReportData
    from ..protocol.protocol import Protocol
    from ..results.measurements import Row
    from ..results.records import Record, Results
    from ..tree.conditions import Condition

#: Flag of original-speech values whose source differs from that of the adjacent columns.
OTHER_SOURCE_MARK = "\u00a7"

# Number of lines on conditions that were not evaluated, of possibly thousands.
_ABSENT_SHOWN = 200

#: A sentence, and the items that it is about.
Note = tuple[str, tuple[str, ...]]


def caveat_notes(
    records: Iterable[Record],
    metrics: Collection[str] | None = None,
    variant: str = "",
    *,
    marked: bool = False,
) -> list[str]:
    """Describe the caveats of records, each with its conditions.

    Parameters
    ----------
    metrics : collection of str, optional
        Only caveats that concern any of them, with the number of conditions of each system; else
        those that are announced, with the first conditions, and remarks on the files.
    variant : str
        Only caveats of values of this variant; of both by default.
    marked : bool
        For a table that marks the values.
    """
    records = list(records)

    def listed(conditions: Sequence[Condition]) -> str:
        if metrics is not None:
            return counted_conditions(conditions)
        names = [f"{c.system} {c.label}" for c in conditions]
        return f"{counted(len(conditions), 'condition')}: {abbreviate(names)}"

    return [
        f"{note_of(CAVEATS[key]) if marked else CAVEATS[key].reason}: {listed(conditions)}"
        for key, conditions in _with_caveats(records, metrics, variant).items()
    ] + [*dict.fromkeys(remark for r in records for remark in r.remarks if metrics is None)]


def _with_caveats(
    records: Iterable[Record], metrics: Collection[str] | None, variant: str = ""
) -> dict[str, list[Condition]]:
    """Map the caveats of records that concern any of the metrics to their conditions."""
    conditions: dict[str, list[Condition]] = {}
    for r in records:
        present = {metric for values in r.by_variant().values() for metric in values}
        concerned = present if metrics is None else present.intersection(metrics)
        for key in r.caveats_of(variant):
            told = metrics is not None or CAVEATS[key].announced
            if told and any(map(CAVEATS[key].concerns, concerned)):
                conditions.setdefault(key, []).append(r.condition)
    return conditions


def blank_notes(means: Iterable[tuple[str, Row]]) -> list[str]:
    """Name the averages of systems that are blank because parts of them are withheld."""
    withheld = ((s, m) for s, m in means if m["withheld"])
    blank = [f"{s} {describe(m['metric']).name} ({m['why_blank']})" for s, m in withheld]
    return [f"No average: {abbreviate(list(dict.fromkeys(blank)))}"] if blank else []


def drawn_notes(
    results: Results, conditions: Collection[Condition], metrics: Collection[str]
) -> list[str]:
    """Describe the caveats of the conditions of a figure, and those that follow from original
    speech of the same split."""
    drawn = set(conditions)
    splits = {(c.system, c.split) for c in drawn}
    return caveat_notes(
        (
            r
            for r in results.verification
            if r.condition in drawn
            or WEAK_ATTACKER in r.caveats
            and (r.condition.system, r.condition.split) in splits
        ),
        metrics,
        results.protocol.variant,
    )


def evaluated_note(
    records: Sequence[Record], variant: str, asv_models: Collection[str] = ()
) -> str:
    """Describe the trials, speakers and model behind the values of records, and their variant.

    Examples
    --------
    >>> evaluated_note([], "exact", ["original"])
    'ASV model trained on original speech; variant exact'
    """
    facts = [r.facts for r in records]
    trials = [of["n_target"] + of["n_nontarget"] for of in facts if "n_nontarget" in of]
    speakers = [of["n_speakers"] for of in facts if of.get("n_speakers")]
    counts = [
        f"{min(numbers)}" if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"
        for numbers in (trials, speakers)
        if numbers
    ]
    of = " of ".join(f"{n} {what}" for n, what in zip(counts, ("trials", "speakers"), strict=False))
    asv_models = asv_models or {r.condition.asv_model for r in records}
    models = " and ".join(sorted(asv_models, reverse=True))
    model = f"ASV model trained on {models} speech" if models else ""
    text = "; ".join(filter(None, (f"{of} each" if of else "", model, f"variant {variant}")))
    return f"{text[:1].upper()}{text[1:]}"


def averaged_text(protocol: Protocol) -> str:
    """Describe in a caption what averages are over.

    Examples
    --------
    >>> from privacy_eval.protocol.protocol import load_protocol
    >>> averaged_text(load_protocol("vpc2024"))
    "averages over genders with the protocol's weights"
    """
    several = {"data sets": protocol.data_sets, "genders": protocol.genders}
    over = " and ".join(name for name, values in several.items() if len(values) > 1)
    return f"averages over {over} with the protocol's weights" if over else "values"


def directions_text(metrics: Iterable[Metric]) -> str:
    """Describe the better values of metrics, and those of chance.

    Examples
    --------
    >>> from privacy_eval.metrics import METRICS
    >>> directions_text([METRICS["wer"], METRICS["cllr"]])
    'WER: lower is more useful (by chance 100 % or more)'
    """
    ranked = [m for m in dict.fromkeys(metrics) if m.direction]
    chances = (f" (by chance {m.chance})" if m.chance else "" for m in ranked)
    texts = (f"{m.name}: {m.direction}{c}" for m, c in zip(ranked, chances, strict=True))
    return ". ".join(text[:1].upper() + text[1:] for text in texts)


def interval_notes(records: Iterable[Record], metrics: Sequence[str]) -> list[str]:
    """Return notes on the intervals in brackets of metrics, if there are any: what they are, and
    which are biased."""
    given = (r.provenance.get("options") for r in records)
    numbers = {o.get("bootstrap") for o in given if isinstance(o, Mapping)}
    drawn = " or ".join(str(n) for n in sorted(n for n in numbers if isinstance(n, int) and n > 0))
    of = f" ({drawn} replicates)" if drawn else ""
    note = (
        f"In brackets: {100 * LEVEL:g} % intervals, bootstrap over speakers{of}. They are widened "
        "where speakers are few (Hesterberg 2015)"
    )
    return [note, *bias_notes(metrics)] if metrics else []


def words_not_resampled(data: ReportData, systems: Iterable[str]) -> list[str]:
    """Return a note on the systems whose word error rates have no interval although those of their
    scores have one."""
    asked = {
        system_column(r.condition.system) for r in data.results.verification if r.has_intervals
    }
    names = [s for s in systems if s in asked]
    why = (
        "without interval: transcripts or kaldialign were missing. Install both (pip install "
        "'privacy_eval[wer]'), and run the recipe from stage 6 on"
    )
    return [f"WER of {abbreviate(names)} {why}"][: len(names)]


def cautions(data: ReportData) -> list[str]:
    """Return notes on values that are uninformative or must not be compared."""
    return [
        *caveat_notes(data.results.verification),
        *data.cells.not_comparable,
        *data.cells.notes,
    ]


def front_notes(data: ReportData, not_evaluated: Iterable[str]) -> tuple[Note, ...]:
    """Return the warnings of the first screen, each once.

    `not_evaluated`: warnings on attackers without values.
    """
    notes: list[Note] = [(text[:1].upper() + text[1:], ()) for text in data.protocol.remarks]
    notes += [*((text, ()) for text in data.unsigned), *grouped_cautions(data)]
    if data.results.systems:
        notes += [*((text, ()) for text in identical_scores(data.results)), *omissions(data)]
        notes += ((text, ()) for text in (*not_evaluated, *data.narrow_intervals))
    return tuple(dict.fromkeys(notes))


def voice_sentence(data: ReportData, system: str) -> str:
    """Say whose voice anonymized speech has; "" if that was not measured."""
    if (facts := voices_of(data.results, system)) is None:
        return ""
    look, known = pseudo_voice(facts), " (by the coefficients)" * ("drawn" in facts)
    text = f"Whose voice: {VERDICTS[look]}{known}."
    if shared := facts["voices"]["collisions"][0]:
        text += f" {100 * shared:.0f} % of the pairs of speakers have become the same voice."
    level, found = data.protocol.level, {"set": "", "original": "", "": ""}.get(look, look)
    if found and level and found != level:
        text += f" The protocol asks for one pseudo-voice a {level}."
    return text


def identical_scores(results: Results) -> Iterator[str]:
    """Name systems that share scores of anonymized speech."""
    for systems, number in shared_scores(results).items():
        yield f"Identical scores of {enumerated(systems)}: {counted(number, 'score file')}"


def omissions(data: ReportData) -> Iterator[Note]:
    """Yield notes on what is missing or was left out, each with its items."""
    if failures := tuple(data.results.failures):
        text = f"{counted(len(failures), 'result')} failed, and averages that lack them are blank"
        yield f"{text}: mend the files, and run the recipe again", failures[:_ABSENT_SHOWN]
    yield from ((text, ()) for text in data.gaps)
    partial = [r.condition for r in data.results.verification if r.left_out]
    if partial:
        items = conditions_by_system(partial, data.results)
        yield f"Trials left out on request: {counted_conditions(partial)}", items
    absent = data.results.not_evaluated
    if len(absent) == 1:
        yield f"Not evaluated: {absent[0]}", ()
    elif absent:
        more = len(absent) - _ABSENT_SHOWN
        rest = [f"... and {more} more, listed in results.json"] * (more > 0)
        lines = (*absent[:_ABSENT_SHOWN], *rest)
        yield f"Not evaluated: {counted(len(absent), 'note')} on what is missing", lines


def grouped_cautions(data: ReportData) -> list[Note]:
    """Return the same notes, which count the conditions of each system, with these by system."""
    records = data.results.verification
    groups = [
        (
            f"{CAVEATS[key].reason}: {counted_conditions(conditions)}",
            conditions_by_system(conditions, data.results),
        )
        for key, conditions in _with_caveats(records, None).items()
    ]
    every = dict.fromkeys(remark for r in (*records, *data.others) for remark in r.remarks)
    remarks = (remark for remark in every if f": {LEARNT} " not in remark)  # no caution
    return groups + [(n, ()) for n in (*remarks, *data.cells.not_comparable, *data.cells.notes)]


def counted_conditions(conditions: Sequence[Condition]) -> str:
    """Count conditions by system, such as `20 conditions of B1, 2 of B2`."""
    (first, number), *others = Counter(c.system for c in conditions).items()
    parts = [f"{counted(number, 'condition')} of {first}", *(f"{n} of {s}" for s, n in others)]
    return abbreviate(parts)


def conditions_by_system(conditions: Sequence[Condition], results: Results) -> tuple[str, ...]:
    """List conditions, a line for each system, unless they are all of its conditions."""
    of_all = Counter(r.condition.system for r in results.verification)
    return tuple(
        f"{system}: all its conditions"
        if len(own) == of_all[system] > 1
        else f"{system}: {', '.join(c.label for c in own)}"
        for system, own in grouped(conditions, lambda c: c.system).items()
    )
