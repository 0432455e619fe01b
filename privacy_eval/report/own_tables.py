"""Rows of tables of single speakers, and of attributes, with what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..asv.attributes import few_speakers
from ..choices import SITUATIONS, grouped
from ..metrics.identification import SpeakerLinkage
from ..numbers.disclosures import inferred
from ..numbers.identification import mean_halves, overlaps, speakers_size
from ..numbers.report_data import ReportData
from ..results.measurements import PRESENT, Measurements
from ..results.records import speakers_of
from .declared import Part, value_text
from .disclosures_in_words import OVERLAP, overlap_notes

#: Speakers in a table of the least protected ones.
WORST_SPEAKERS = 3

_SHORT = dict(zip(SITUATIONS, ("oo", "oa", "aa"), strict=True))

_OF_SPEAKERS = (
    *("deid", "similarity_oo", "similarity_oa", "similarity_aa"),
    *("linkability", "evidence"),
)
_PLACE = ("results_folder", "name", "data_set", "split", "gender", "asv_model")


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


def most_often_found(_: Measurements, data: ReportData) -> Part:
    """Write how often the speakers of every trial set and attack model who are found most often
    are found, hidden in averages."""
    rows = []
    for r in filter(speakers_of, data.results.identification):
        for of_rate in _most_often_found(speakers_of(r)):
            tied = len(of_rate) > 1
            who = f"{len(of_rate)} speakers alike" if tied else of_rate[0].speaker
            rates = zip(*((s.linkage, s.first, s.second) for s in of_rate), strict=True)
            percent = (_span(f"{100 * v:.1f}" for v in sorted(values)) for values in rates)
            tests = _span(map(str, sorted(s.n_tests for s in of_rate)))
            texts = dict(zip(("found", "first", "second"), percent, strict=True))
            of = {"gallery": speakers_size(r), "speaker": who, "tests": tests}
            rows.append({**vars(r.condition), **of, **texts})
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
    return Measurements.of(rows), {}, notes


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


def attributes(_: Measurements, data: ReportData) -> Part:
    """Write what vectors give away about attributes of each data set and split."""
    rows, notes = [], dict[str, None]()
    for r in data.results.attributes:
        (risk, recalls), classes, c = inferred(r), r.facts["classes"], r.condition
        few = few_speakers(classes)
        notes |= {f"* {few}": None} if few else {}
        name = data.protocol.data_set(c.data_set).row_name(c.split) + "*" * bool(few)
        bits = r.find("attribute_bits", situation=risk["situation"])
        texts = {
            "data": name,
            "speakers": ", ".join(f"{name} {n}" for name, n in classes.items()),
            "chance": f"{100 / len(classes):.3g}",
            **{short: value_text(recalls[s]) for s, short in _SHORT.items()},
            "bits": value_text(bits),
            "reported": "-".join(_SHORT[risk["situation"]]),
            "risk": "{value:.2f} [{low:.2f}, {high:.2f}]".format(**risk),
        }
        rows.append({**vars(c), **texts})
    rows.sort(key=lambda row: data.protocol.splits.index(row["split"]))
    return Measurements.of(rows), {}, [*notes]
