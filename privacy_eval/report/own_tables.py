"""Tables that are no entries of conf/tables: single speakers, and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..choices import SITUATIONS, grouped
from ..metrics import describe
from ..metrics.caveats import few_speakers
from ..metrics.identification import SpeakerLinkage
from ..numbers.disclosures import inferred
from ..numbers.identification import mean_halves, overlaps, speakers_size
from ..numbers.report_data import ReportData
from ..results.measurements import PRESENT
from ..results.records import Record, Results, speakers_of
from .disclosures_in_words import OVERLAP, overlap_notes
from .split_tables import table_of_records, value_text
from .table import AMONG_MANY, INFERENCE, LEAST_PROTECTED, Column, Key, Table, aligned, nonempty

#: Speakers in a table of the least protected ones.
WORST_SPEAKERS = 3

_SITUATIONS = (
    "Classifier of original speech, tested on original speech (o-o, what there is to protect) and "
    "on anonymized speech (o-a); a-a: it learned from anonymized speech, too. UAR: unweighted "
    "average recall of utterances; chance is 1 / classes",
    "Risk: share of what a control that says the most frequent label misses that the stronger of "
    "o-a and a-a guesses, a vote per speaker (anonymeter)",
)
_SHORT = dict(zip(SITUATIONS, ("o-o", "o-a", "a-a"), strict=True))

#: Columns of speakers: metrics, and values of speakers only.
_SPEAKER: Mapping[str, Column | None] = {
    "deid": None,
    "similarity_oo": Column("oo", r"$M_{oo}$"),
    "similarity_oa": Column("oa", r"$M_{oa}$"),
    "similarity_aa": Column("aa", r"$M_{aa}$"),
    "linkability": None,
    "evidence": Column("Evidence, log10 LR", r"$\log_{10}(l)$"),
}


def speakers_table(data: ReportData, title: str) -> Table:
    """The least protected speakers of every trial set, hidden in averages."""
    by_set = data.measurements.select(metric=[*_SPEAKER]).groups("name", "asv_model")

    def rows(r: Record) -> Iterator[Key]:
        of_set = by_set.get((r.condition.name, r.condition.asv_model), [])
        by_speaker = grouped(
            (row for row in of_set if "speaker" in row), lambda row: row["speaker"]
        )
        for speaker in [*by_speaker][:WORST_SPEAKERS]:
            found = {row["metric"]: row for row in by_speaker[speaker]}
            yield speaker, *(value_text(found.get(key, {}), detailed=True) for key in _SPEAKER)
        if by_speaker:
            whole = (r for r in of_set if "speaker" not in r and r["metric"] == "deid")
            of_variant = {row["variant"]: row for row in whole}
            row = of_variant.get("exact", next(iter(of_variant.values()), {}))
            yield "all", value_text(row, detailed=True), *[""] * (len(_SPEAKER) - 1)

    similarity = data.measurements.select(metric="similarity_oo", speaker=PRESENT)
    variants = sorted(similarity.values("variant"))
    columns = (
        Column("Speaker", align="l"),
        *(column or Column(*describe(key).column) for key, column in _SPEAKER.items()),
    )
    caption = (
        f"The {WORST_SPEAKERS} least protected speakers of each trial set, and the value of all "
        f"its speakers: {title} (variant {' or '.join(variants) or 'exact'}; voice "
        "similarity of the speaker to itself among original (oo), original and anonymized (oa), "
        "anonymized utterances (aa); the strongest evidence that links an original with an "
        "anonymized utterance)."
    )
    return table_of_records(
        Table("speakers", caption, columns, section=LEAST_PROTECTED),
        data.protocol,
        data.results.similarity,
        rows,
        by_attack=False,
    )


def identification_speakers_table(data: ReportData, title: str) -> Table:
    """The most often found speakers of every trial set and attack model, hidden in averages."""
    records = [r for r in data.results.identification if speakers_of(r)]

    def rows(r: Record) -> Iterator[Key]:
        for of_rate in _most_often_found(speakers_of(r)):
            tied = len(of_rate) > 1
            who = f"{len(of_rate)} speakers alike" if tied else of_rate[0].speaker
            rates = zip(*((s.linkage, s.first, s.second) for s in of_rate), strict=True)
            percent = (_span(f"{100 * v:.1f}" for v in sorted(values)) for values in rates)
            tests = _span(map(str, sorted(s.n_tests for s in of_rate)))
            yield str(speakers_size(r)), who, tests, *percent

    columns = [Column("N", align="r", sparse=True), Column("Speaker", align="l")]
    columns += aligned("r", "Tests", "Found, %", "Tests 1, 3, ...", "Tests 2, 4, ...")
    notes = []
    if (halves := mean_halves(data.counted_identification)) is not None:
        first, second = halves
        notes.append(
            "The worst of many speakers are so partly by chance. The "
            f"quarter selected on tests 1, 3, ... is found in {100 * first:.1f} % of these, but in "
            f"{100 * second:.1f} % of tests 2, 4, ... (means over trial sets)"
        )
    plain, statistics = overlap_notes(data.protocol, overlaps(data.counted_identification))
    notes += [*plain, *([f"{OVERLAP}: {'; '.join(statistics)}"] if statistics else [])]
    caption = (
        f"The {WORST_SPEAKERS} most often found speakers of each trial set: {title} (in groups "
        "of N enrolled speakers)."
    )
    return table_of_records(
        Table(
            "identification_speakers",
            caption,
            tuple(columns),
            notes=tuple(notes),
            section=AMONG_MANY,
        ),
        data.protocol,
        records,
        rows,
    )


def _most_often_found(speakers: Sequence[SpeakerLinkage]) -> Iterator[Sequence[SpeakerLinkage]]:
    """Yield the most often found speakers one by one; those who tie with the last of them and with
    more speakers together, as nothing but the order of their ids would choose among them."""
    last = speakers[:WORST_SPEAKERS][-1].linkage
    above = [s for s in speakers if s.linkage > last]
    tied = [s for s in speakers if s.linkage == last]
    yield from ([s] for s in above)
    yield from [[s] for s in tied] if len(above) + len(tied) <= WORST_SPEAKERS else [tied]


def _span(texts: Iterable[str]) -> str:
    """Write the first and last of sorted values, or what they have in common."""
    first, *_, last = [*texts] * 2
    return first if first == last else f"{first} to {last}"


def attribute_table(results: Results, title: str) -> Table:
    """Tabulate what vectors give away about attributes: a row per data set, split and attribute."""
    protocol = results.protocol

    def row(r: Record) -> Key:
        (risk, recalls), classes = inferred(r), r.facts["classes"]
        bits = r.find("attribute_bits", situation=risk["situation"])
        few = "*" * bool(few_speakers(classes))
        return (
            protocol.data_set(r.condition.data_set).row_name(r.condition.split) + few,
            r.condition.attribute,
            ", ".join(f"{name} {n}" for name, n in classes.items()),
            f"{100 / len(classes):.3g}",
            *(value_text(recalls[s]) for s in SITUATIONS),
            value_text(bits),
            _SHORT[risk["situation"]],
            "{value:.2f} [{low:.2f}, {high:.2f}]".format(**risk),
        )

    columns = [Column("Data", align="l", sparse=True), *aligned("l", "Attribute", "Speakers")]
    columns += aligned("r", "Chance, %", *(f"UAR {_SHORT[s]}, %" for s in SITUATIONS))
    columns += aligned("r", "Bits", "Reported", "Risk")
    caveats = dict.fromkeys(few_speakers(r.facts["classes"]) for r in results.attributes)
    rows = [
        [row(r) for r in results.attributes if r.condition.split == split]
        for split in protocol.splits
    ]
    return Table(
        "attributes",
        f"What vectors give away about attributes of speakers: {title}.",
        tuple(columns),
        nonempty(rows),
        notes=(*_SITUATIONS, *(f"* {caveat}" for caveat in caveats if caveat)),
        turned=True,
        section=INFERENCE,
        title="By data set",
    )
