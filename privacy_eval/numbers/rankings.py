"""Rankings of systems by one metric under one attack model, with intervals and paired tests
from the stored bootstrap replicates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ..errors import UsageError
from ..metrics import METRICS
from ..metrics.caveats import RAW_SPEECH, SAME_SCORES
from ..metrics.confidence import BootstrapReplicates
from ..protocol.protocol import Protocol
from ..results.measurements import Row
from ..results.records import Record
from .attackers import Tried
from .cells import ORIGINAL_COLUMN, system_column
from .means import LACKS, NO_VALUES, Means, difference, is_paired


def ranking_metrics() -> list[str]:
    """List the metrics for rankings: those with a best value, of trial sets."""
    return [key for key, m in METRICS.items() if m.best is not None and key not in ("wer", "uar")]


def check_ranking_metric(metric: str) -> None:
    """Refuse a metric that neither this version nor the results read so far rank by."""
    if metric not in (expected := ranking_metrics()):
        raise UsageError(f"--rank-by: no ranking by {metric!r}, only by {', '.join(expected)}")


@dataclass(frozen=True)
class Ranking:
    """A ranking of systems, the most private first.

    Attributes
    ----------
    means : Means
        Of evaluated systems, with their replicates, and of published ones.
    metric : str
    attack_model : str or None
    split : str
    ranked : tuple of mapping
        Rows of means, without a caveat: `next`, the difference to the next system of the same
        draws, if there is one, or `why_not`, why the next evaluated system cannot be paired;
        `tried`, all attackers, where others than the challenge's own were tried.
    unranked : mapping
        Systems without a rank, each with the reason.
    shared_sets : str
        The data sets (and gender) that all systems have, if only these are averaged over.
    lacking : tuple of str
        The systems without values of the others, with the reason.
    by_strongest : bool
        Ordered by the strongest attacker of each system, not by the mean.
    """

    means: Means
    metric: str
    attack_model: str | None
    split: str
    ranked: tuple[Row, ...]
    unranked: Mapping[str, str]
    shared_sets: str = ""
    lacking: tuple[str, ...] = ()
    by_strongest: bool = False

    @property
    def protocol(self) -> Protocol:
        """Its data sets and genders are averaged over."""
        return self.means.protocol

    @property
    def own(self) -> frozenset[str]:
        """Evaluated systems; the others are published."""
        return self.means.cells.own

    @property
    def replicates(self) -> list[BootstrapReplicates]:
        """Those of the ranked systems that have some."""
        return [r["replicates"] for r in self.ranked if r["replicates"] is not None]

    @property
    def records(self) -> list[Record]:
        """Those of scores that averages of evaluated systems are over."""
        sets = {(d.id, g) for d in self.protocol.data_sets for g in self.protocol.genders}
        place = self.attack_model, self.split
        records = (r for of in self.means.cells.results for r in of.verification)
        return [
            r
            for r in records
            if self.attack_model is not None
            and (r.condition.attack_model, r.condition.split) == place
            and (r.condition.data_set, r.condition.gender) in sets
        ]

    @property
    def is_empty(self) -> bool:
        """Whether no system has any of its values."""
        return not self.ranked and all(r == NO_VALUES for r in self.unranked.values())


def with_attackers(
    ranking: Ranking, tried: Mapping[tuple[str, str], Tried], *, by_strongest: bool
) -> Ranking:
    """Put the strongest attacker of each system beside its mean, if the ranking is by the EER over
    all sets; `by_strongest`: and rank by its EER as measured, without tests, as an order of chosen
    numbers has none."""
    of_systems = {
        system_column(s): one for (s, split), one in tried.items() if split == ranking.split
    }
    if ranking.metric != ranking.protocol.eer or ranking.shared_sets or not of_systems:
        return ranking
    ranked = [{**r, "tried": of_systems.get(r["system"])} for r in ranking.ranked]
    if not by_strongest:
        return replace(ranking, ranked=tuple(ranked))
    every = frozenset().union(*(of.titles for r in ranked if (of := r["tried"]) is not None))
    lowest: dict[str, float] = {}
    without: dict[str, str] = {}
    for r in ranked:
        if r["tried"] is None or r["tried"].lowest is None:
            without[r["system"]] = _ONE_ATTACKER
        elif r["tried"].titles != every:
            without[r["system"]] = _OTHER_ATTACKERS
        else:
            lowest[r["system"]] = r["tried"].lowest["of_present"]
    order = [{**r, "next": None, "why_not": ""} for r in ranked if r["system"] in lowest]
    order.sort(key=lambda r: -lowest[r["system"]])
    unranked = {**without, **ranking.unranked}
    return replace(ranking, ranked=tuple(order), unranked=unranked, by_strongest=True)


def rankings(
    means: Means, *, metric: str, attack_model: str | None = None, split: str
) -> list[Ranking]:
    """Rank systems and, if some lack values, also over the data sets (and genders) that all
    systems have; see `rank`."""
    whole = rank(means, metric=metric, attack_model=attack_model, split=split)
    shared = _shared_sets(means, whole)
    if whole.is_empty or shared == means.protocol:
        return [] if whole.is_empty else [whole]
    if shared is None:
        return [whole]
    failed = means.cells.failed & whole.unranked.keys()  # nobody gains by what failed
    ranked = tuple(s for s in means.cells.systems if s not in failed)
    of_shared = replace(means, protocol=shared, cells=replace(means.cells, systems=ranked))
    part = rank(of_shared, metric=metric, attack_model=attack_model, split=split)
    named = ", ".join(d.title for d in shared.data_sets)
    if shared.genders != means.protocol.genders:
        named += f" ({', '.join(shared.genders.values())})"
    reasons = [f"{s}: {why}" for s, why in whole.unranked.items() if why.startswith(LACKS)]
    part = replace(part, shared_sets=named, lacking=tuple(reasons))
    return [whole, part] if whole.ranked else [part]


def _shared_sets(means: Means, ranking: Ranking) -> Protocol | None:
    """Restrict the protocol to the data sets for which every system with any value has all
    values, of all genders or of one; None if there are none."""
    protocol, attack = means.protocol, ranking.attack_model
    present: dict[str, set[tuple[str, str]]] = {}
    table = means.cells.rows.select(metric=ranking.metric, attack_model=attack, split=ranking.split)
    for row in table:
        if row["system"] != ORIGINAL_COLUMN:
            present.setdefault(row["system"], set()).add((row["data_set"], row["gender"]))
    common = set.intersection(*present.values()) if present else set()
    choices = []
    for genders in (tuple(protocol.genders), *((g,) for g in protocol.genders)):
        whole = tuple(d for d in protocol.data_sets if all((d.id, g) in common for g in genders))
        choices.append(
            (len(whole) * len(genders), whole, {g: protocol.genders[g] for g in genders})
        )
    number, data_sets, titles = max(choices, key=lambda choice: choice[0])
    return replace(protocol, data_sets=data_sets, genders=titles) if number else None


def rank(means: Means, *, metric: str, attack_model: str | None = None, split: str) -> Ranking:
    """Rank systems by their average over data sets and genders, with the protocol's weights.

    The average of each replicate is over the replicates of the conditions: those of the same
    speakers are the same draws, others independent ones. Two systems are paired
    only if every condition has the same design, seed and number of replicates in both.

    Parameters
    ----------
    means : Means
    metric, attack_model, split : str
        `metric` is one of `ranking_metrics()`, or `wer`; the attack model is by default the one
        that the protocol averages. Of metrics without attack models only `wer` has replicates.

    Raises
    ------
    ValueError
        A metric without a best value.
    """
    if metric not in (expected := [*ranking_metrics(), "wer"]):
        raise ValueError(f"no ranking by {metric}, only by {', '.join(expected)}")
    protocol, cells = means.protocol, means.cells
    if attack_model is None and METRICS[metric].kind == "scores":
        attack_model = protocol.average_attack_model
    held = {
        system_column(r.condition.system): why
        for key, why in _HELD.items()
        for of in cells.results
        for r in of.verification
        if key in r.caveats
    }
    of_systems = {s: means.of(metric, attack_model, split, s) for s in cells.systems}
    sign = 1 if METRICS[metric].best == "higher" else -1
    # A stable sort: equal systems keep the order of the columns.
    complete = (m for s, m in of_systems.items() if m["value"] is not None and s not in held)
    order = sorted(complete, key=lambda m: -sign * m["value"])
    ranked = [_compared(one, order[n:], sign, cells.own) for n, one in enumerate(order, 1)]
    unranked = {s: m["why_blank"] for s, m in of_systems.items() if m["value"] is None}
    unranked |= {s: why for s, why in held.items() if s in of_systems}
    return Ranking(means, metric, attack_model, split, tuple(ranked), unranked)


#: Reasons why a system is not ranked.
_ONE_ATTACKER = "no other attacker was tried"
_OTHER_ATTACKERS = "fewer attackers, or not on all trial sets"
_HELD = {
    SAME_SCORES: "same scores as another system",
    RAW_SPEECH: "original speech is still in its anonymized audio",
}


def _compared(one: Row, others: Sequence[Row], sign: int, own: AbstractSet[str]) -> Row:
    """Compare a system with the first of the others that has the same draws: published systems,
    which have no replicates, and submissions with other trials may be in between."""
    if one["replicates"] is None:
        return one
    resampled = [other for other in others if other["replicates"] is not None]
    for other in resampled:
        if is_paired(one, other):
            following = difference(one, other, named=other["system"], sign=sign)
            return {**one, "next": following}
    if resampled:
        why_not = "not paired: different trials, speakers, seed or number of replicates"
        return {**one, "why_not": why_not}
    if any(other["system"] in own for other in others):
        return {**one, "why_not": "not paired: no replicates of one of the two"}
    return one
