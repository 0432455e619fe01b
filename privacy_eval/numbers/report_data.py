"""What tables, figures, sentences and listening tests are made of: results, the values of
published systems beside them, and stored arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..choices import LEAST_SPEAKERS
from ..errors import UsageError, abbreviate
from ..io.user_metrics import register
from ..metrics.confidence import least_replicates
from ..products.freshness import UNSIGNED
from ..protocol.protocol import Protocol, bundled
from ..protocol.published import published_names
from ..results.arrays import StoredArrays
from ..results.measurements import Measurements, Row
from ..results.record_files import made_by_user
from ..results.records import Record, Results, merge
from ..results.rows import measurements_of
from ..results.signature import signature
from ..wings import provided
from .attackers import Tried, attacks, tried
from .cells import (
    ORIGINAL_ATTACK,
    ORIGINAL_COLUMN,
    Cells,
    cells_from_published,
    cells_from_results,
    merge_cells,
    system_column,
)
from .challenge_averages import challenge_averages, coverage, too_few_replicates
from .means import Means, trade_offs, utility_metrics
from .rankings import Ranking, check_ranking_metric, rank, rankings, with_attackers
from .report_sources import DISCLOSED, ReportSources

#: Intervals that bars are drawn with.
Whiskers = Literal["speakers", "independent"]


def main_split(protocol: Protocol, records: Iterable[Record]) -> str:
    """Return the split that sentences describe: the last with records, usually the test set."""
    present = {vars(r.condition)["split"] for r in records}
    return next((s for s in reversed(protocol.splits) if s in present), protocol.splits[-1])


@dataclass(frozen=True)
class ReportData:
    """Data of tables, figures and the report.

    Attributes
    ----------
    results : Results
        Of all results files, by the challenge's own attacker.
    cells : Cells
        Their values, and those of published systems beside them.
    arrays : StoredArrays
        Curves, matrices and replicates beside the results files.
    sources : ReportSources
    unsigned : tuple of str
        Notes on results files that this user did not make, or that were edited since.
    whiskers : {"speakers", "independent"}
        Type of the intervals that bars show as whiskers.
    others : tuple of Record
        By other attackers.
    """

    results: Results
    cells: Cells = field(default_factory=Cells)
    arrays: StoredArrays = field(default_factory=lambda: StoredArrays(()))
    sources: ReportSources = ReportSources()
    unsigned: tuple[str, ...] = ()
    whiskers: Whiskers = "speakers"
    others: tuple[Record, ...] = ()

    @property
    def protocol(self) -> Protocol:
        """The protocol of the results."""
        return self.results.protocol

    @functools.cached_property
    def measurements(self) -> Measurements:
        """All numbers of the results, by all attackers."""
        folders = {(s, f) for s in self.results.systems for f in self.results.results_folders(s)}
        places = ((r, (r.condition.system, r.condition.results_folder)) for r in self.others)
        others = (r for r, place in places if place in folders)
        return measurements_of((*self.results.records(), *others))

    @functools.cached_property
    def means(self) -> Means:
        """Averages of the cells, with replicates."""
        return Means(self.cells, self.protocol, self.arrays)

    @functools.cached_property
    def rankings(self) -> Mapping[str, list[Ranking]]:
        """Rankings of all systems, and of what all of them have, by split."""
        metric, attack = self.protocol.shown(self.sources.rank_by), self.sources.attack_model
        by_strongest = self.sources.by_strongest
        return {
            s: [
                with_attackers(ranking, self.tried, by_strongest=by_strongest)
                for ranking in rankings(self.means, metric=metric, attack_model=attack, split=s)
            ]
            for s in self.protocol.splits
        }

    @functools.cached_property
    def word_error_rankings(self) -> Mapping[str, Ranking]:
        """Rankings by word error rate, by split, where replicates allow to compare systems."""
        of_splits = {s: rank(self.means, metric="wer", split=s) for s in self.protocol.splits}
        return {s: ranking for s, ranking in of_splits.items() if ranking.replicates}

    @property
    def systems_by_rank(self) -> list[str]:
        """The evaluated systems as they are ranked, those without a rank last; chosen ones as they
        were chosen."""
        if self.sources.systems:
            return list(self.results.systems)
        order = {r["system"]: n for n, r in enumerate(self.main_ranking.ranked)}
        return sorted(self.results.systems, key=lambda s: order.get(system_column(s), len(order)))

    @functools.cached_property
    def main_ranking(self) -> Ranking:
        """The ranking that sentences describe: by the protocol's EER."""
        ranking = rank(self.means, metric=self.protocol.eer, split=self.main_split)
        return with_attackers(ranking, self.tried, by_strongest=self.sources.by_strongest)

    @functools.cached_property
    def trade_offs(self) -> Mapping[str, list[Row]]:
        """Privacy and utility of the systems, by split."""
        return {s: trade_offs(self.means, s) for s in self.protocol.splits}

    @functools.cached_property
    def attacks(self) -> Mapping[str, list[Row]]:
        """What every attacker reaches, by evaluated system."""
        return {s: list(attacks(of.means, of.results)) for s, of in self.by_system.items()}

    @functools.cached_property
    def tried(self) -> Mapping[tuple[str, str], Tried]:
        """All attackers by evaluated system and split, where others than the challenge's own were
        tried."""
        return tried(self.attacks, self.others, self.protocol, self.arrays) if self.others else {}

    @functools.cached_property
    def original_eer(self) -> Row:
        """The EER of original speech on the main split, which is shown beside all systems."""
        key = self.protocol.eer, ORIGINAL_ATTACK, self.main_split, ORIGINAL_COLUMN
        return self.means.of(*key)

    @functools.cached_property
    def signature(self) -> str:
        """What determines the numbers, in one line; "" without evaluated systems."""
        results = self.results
        return signature(results, variant=self.protocol.variant) if results.systems else ""

    @functools.cached_property
    def unpublished(self) -> ReportData:
        """The evaluated systems without published ones."""
        if self.cells.own == set(self.cells.systems):
            return self
        return replace(self, cells=cells_from_results(self.results))

    @functools.cached_property
    def by_system(self) -> Mapping[str, ReportData]:
        """Each evaluated system alone."""
        results = {system: self.results.of(system) for system in self.results.systems}
        return {
            s: replace(self, results=r, cells=cells_from_results(r)) for s, r in results.items()
        }

    @functools.cached_property
    def by_folder(self) -> Mapping[tuple[str, str], ReportData]:
        """The records of each results folder of every evaluated system alone."""
        results = self.results
        folders = ((s, f) for s in results.systems for f in results.results_folders(s))
        return {(s, f): replace(self, results=results.of(s, f)) for s, f in folders}

    @functools.cached_property
    def evaluations(self) -> Mapping[tuple[str, str], str]:
        """Names of the evaluations of systems, by system and results folder."""
        return {place: self.protocol.evaluation(*place) for place in self.by_folder}

    @functools.cached_property
    def main_split(self) -> str:
        """The split that sentences describe."""
        return main_split(self.protocol, self.results.verification)

    @functools.cached_property
    def disclosed(self) -> Any:
        """What the wing of disclosure says of identification, amounts of speech and attributes;
        None where it is not installed."""
        said = provided(DISCLOSED, needed=False)
        return said and said(self)

    @functools.cached_property
    def challenge_averages(self) -> Mapping[str, list[Row]]:
        """The averages of the challenge's summary, by system."""
        return {s: challenge_averages(data.results) for s, data in self.by_system.items()}

    @functools.cached_property
    def most_speakers(self) -> int | None:
        """The largest number of speakers of a trial set of the main split; None if unknown."""
        records = (r for r in self.results.verification if r.condition.split == self.main_split)
        return max(
            (r.facts["n_speakers"] for r in records if "n_speakers" in r.facts), default=None
        )

    @property
    def has_few_speakers(self) -> bool:
        """Whether these are known to be too few to judge an anonymizer."""
        return self.most_speakers is not None and self.most_speakers < LEAST_SPEAKERS

    @functools.cached_property
    def gaps(self) -> list[str]:
        """Sentences on conditions and averages that are missing."""
        return coverage(self.results, self.challenge_averages)

    @functools.cached_property
    def lacking_replicates(self) -> Mapping[str, float]:
        """Number of bootstrap replicates that intervals of a system need, where some condition has
        fewer for its speakers."""
        needed: dict[str, float] = {}
        for r in self.results.verification:
            key = self.protocol.variant, "eer"
            drawn = self.arrays.replicates(r, *key) if r.has_intervals else None
            if drawn is None or drawn.n_speakers < 2:
                continue
            system, least = r.condition.system, least_replicates(drawn.n_speakers)
            if drawn.values["eer"].size < least:
                needed[system] = max(needed.get(system, 0.0), least)
        return needed

    @functools.cached_property
    def narrow_intervals(self) -> list[str]:
        """A note if intervals are too narrow because of too few replicates or speakers."""
        return too_few_replicates(self.lacking_replicates.values())

    @property
    def missing_arrays(self) -> tuple[str, ...]:
        """A note if arrays of records are missing."""
        missing = self.arrays.absent(self.results)
        if not missing:
            return ()
        return (
            f"curves of {missing} records are missing (folder records/ beside results.json): no "
            "figures of these, no bootstrap over speakers",
        )


def read_report_data(sources: ReportSources) -> ReportData:
    """Read all sources.

    Raises
    ------
    PrivacyEvalError
        Damaged results, results under different protocols, unknown published results.
    """
    days = {name: day for part in sources.results for name, day in part.confirmed.items()}
    results = merge(sources.results).confirm(sources.confirmed, days)
    results = results.selected(sources.systems) if sources.systems else results
    protocol = sources.named_protocol or results.protocol
    protocol = replace(protocol, variant=sources.variant or protocol.variant)
    if results.speaker_key:  # the protocol's own remarks may name speakers
        protocol = replace(protocol, remarks=results.protocol.remarks)
    results = results if protocol == results.protocol else results.under(protocol)
    if unknown := [m for m in sources.utility if m not in (expected := utility_metrics())]:
        raise UsageError(f"--utility: no utility {unknown[0]!r}, only {', '.join(expected)}")
    others = tuple(r for r in results.verification if not r.condition.is_by_challenge)
    results = results.by_challenge()
    register(results.described)
    check_ranking_metric(sources.rank_by)
    cells = cells_from_results(results)
    if sources.published_results is not None:
        beside = cells_from_published(sources.published_results, beside=cells.systems)
        if protocol.name in published_names() and sources.published in {*bundled()} - {
            protocol.name
        }:
            other = (
                f"Published results {sources.published} are of another edition than the protocol"
            )
            beside = replace(beside, notes=(*beside.notes, f"{other}: --published {protocol.name}"))
        cells = merge_cells([cells, beside]) if cells.systems else beside
    read = list(zip(sources.results, sources.paths, strict=False))
    unsigned = tuple(
        f"{path.name} ({abbreviate(of.systems)}): {UNSIGNED}, or edited since; its numbers are "
        "shown as they are"
        for of, path in read
        if not made_by_user(path)
    )
    return ReportData(results, cells, StoredArrays(read), sources, unsigned, others=others)
