"""Rankings of systems by one metric under one attack model, with intervals and paired tests
from the stored bootstrap replicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ..choices import LEVEL
from ..errors import UsageError
from ..metrics import CAVEATS, METRICS
from ..metrics.caveats import RAW_SPEECH, SAME_SCORES
from ..metrics.confidence import least_replicates
from ..metrics.strongest import Strongest
from ..protocol.protocol import Protocol
from ..results.records import VerificationRecord
from .attackers import Tried
from .cells import ORIGINAL_COLUMN, select, system_column
from .means import LACKS, NO_VALUES, Difference, Mean, Means, difference, is_paired, least_p_value


def ranking_metrics() -> list[str]:
    """List the metrics for rankings: those with a best value, of trial sets."""
    return [key for key, m in METRICS.items() if m.best is not None and key not in ("wer", "uar")]


def check_ranking_metric(metric: str) -> None:
    """Refuse a metric that neither this version nor the results read so far rank by."""
    if metric not in (expected := ranking_metrics()):
        raise UsageError(f"--rank-by: no ranking by {metric!r}, only by {', '.join(expected)}")


@dataclass(frozen=True)
class RankedSystem:
    """One system of the ranking.

    Attributes
    ----------
    system : str
    mean : Mean
        Of all data sets and genders, without a caveat.
    next : Difference or None
        With the next system of the same draws; None if there is none.
    why_not : str
        Why the next evaluated system cannot be paired, if none can be.
    tried : Tried or None
        All attackers, where others than the challenge's own were tried.
    """

    system: str
    mean: Mean
    next: Difference | None = None
    why_not: str = ""
    tried: Tried | None = None

    @property
    def strongest(self) -> Strongest | None:
        """The strongest attacker, if several were measured in the same replicates."""
        return self.tried.strongest if self.tried is not None else None

    @property
    def value(self) -> float:
        """The average, in the unit of records."""
        assert self.mean.value is not None
        return self.mean.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % bounds; None without replicates."""
        return self.mean.interval


@dataclass(frozen=True)
class Ranking:
    """A ranking of systems, the most private first.

    Attributes
    ----------
    metric : str
    attack_model : str or None
    split : str
    protocol : Protocol
        Its data sets and genders are averaged over.
    ranked : tuple of RankedSystem
    unranked : mapping
        Systems without a rank, each with the reason.
    replicates : tuple of int
        Numbers of bootstrap replicates; empty if there are none.
    least_replicates : float
        Number of replicates that the level requires for the system with the fewest speakers.
    n_speakers : int
        Those of that system; 0 without replicates.
    least_p_value : float
        The smallest that the replicates and speakers of every system can reach.
    own : frozenset of str
        Evaluated systems; the others are published.
    records : tuple of VerificationRecord
        Those that averages of evaluated systems are over.
    caveats : tuple of str
        Reasons of caveats on systems, not on single values.
    not_comparable : tuple of str
        Notes on values that must not be compared.
    shared_sets : str
        The data sets (and gender) that all systems have, if only these are averaged over.
    lacking : tuple of str
        The systems without values of the others, with the reason.
    by_strongest : bool
        Ordered by the strongest attacker of each system, not by the mean.
    """

    metric: str
    attack_model: str | None
    split: str
    protocol: Protocol
    ranked: tuple[RankedSystem, ...]
    unranked: Mapping[str, str]
    replicates: tuple[int, ...]
    least_replicates: float = 0.0
    n_speakers: int = 0
    least_p_value: float = 0.0
    own: frozenset[str] = frozenset()
    records: tuple[VerificationRecord, ...] = ()
    caveats: tuple[str, ...] = ()
    not_comparable: tuple[str, ...] = ()
    shared_sets: str = ""
    lacking: tuple[str, ...] = ()
    by_strongest: bool = False

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
    ranked = [replace(r, tried=of_systems.get(r.system)) for r in ranking.ranked]
    if not by_strongest:
        return replace(ranking, ranked=tuple(ranked))
    every = frozenset().union(*(r.tried.titles for r in ranked if r.tried is not None))
    lowest: dict[str, float] = {}
    without: dict[str, str] = {}
    for r in ranked:
        if r.tried is None or r.tried.lowest is None:
            without[r.system] = _ONE_ATTACKER
        elif r.tried.titles != every:
            without[r.system] = _OTHER_ATTACKERS
        else:
            lowest[r.system] = r.tried.lowest.value
    order = [replace(r, next=None, why_not="") for r in ranked if r.system in lowest]
    order.sort(key=lambda r: -lowest[r.system])
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
    for key in select(means.cells, metric=ranking.metric, attack_model=attack, split=ranking.split):
        if key.system != ORIGINAL_COLUMN:
            present.setdefault(key.system, set()).add((key.data_set, key.gender))
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
        Of evaluated systems, with their replicates, and of published ones.
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
    records = means.records.values()
    held = {
        system_column(r.condition.system): why
        for key, why in _HELD.items()
        for r in records
        if key in r.caveats
    }
    of_systems = {s: means.of(metric, attack_model, split, s) for s in cells.systems}
    sign = 1 if METRICS[metric].best == "higher" else -1
    # A stable sort: equal systems keep the order of the columns.
    complete = (
        RankedSystem(s, m) for s, m in of_systems.items() if m.value is not None and s not in held
    )
    order = sorted(complete, key=lambda r: -sign * r.value)
    ranked = []
    for index, one in enumerate(order):
        if one.mean.replicates is not None:
            one = _compared(one, order[index + 1 :], sign, cells.own)
        ranked.append(one)
    unranked = {
        system: mean.why_blank for system, mean in of_systems.items() if mean.value is None
    } | {s: why for s, why in held.items() if s in of_systems}
    drawn = [r.mean.replicates for r in order if r.mean.replicates is not None]
    numbers = tuple(sorted({r.values.size for r in drawn}))
    least = max((least_replicates(r.n_speakers, LEVEL) for r in drawn), default=0.0)
    n_speakers = min((r.n_speakers for r in drawn), default=0)
    p_values = (least_p_value(r) for r in drawn)
    values = select(cells, metric=metric, attack_model=attack_model, split=split).values()
    caveats = [cell.caveat for cell in values if cell.caveat is not None]
    return Ranking(
        metric=metric,
        attack_model=attack_model,
        split=split,
        protocol=protocol,
        ranked=tuple(ranked),
        unranked=unranked,
        replicates=numbers,
        least_replicates=least,
        n_speakers=n_speakers,
        least_p_value=max(p_values, default=0.0),
        own=cells.own,
        records=tuple(_averaged_records(means, attack_model, split)),
        caveats=tuple(dict.fromkeys(c.reason for c in caveats if c not in CAVEATS.values())),
        not_comparable=cells.scores_not_comparable
        if METRICS[metric].kind == "scores"
        else cells.not_comparable,
    )


def _averaged_records(
    means: Means, attack_model: str | None, split: str
) -> Iterator[VerificationRecord]:
    """Yield the records of scores that are averaged over."""
    if attack_model is None:
        return
    sets = {(d.id, g) for d in means.protocol.data_sets for g in means.protocol.genders}
    for c, record in means.records.items():
        if (c.attack_model, c.split) == (attack_model, split) and (c.data_set, c.gender) in sets:
            yield record


#: Reasons why a system is not ranked.
_ONE_ATTACKER = "no other attacker was tried"
_OTHER_ATTACKERS = "fewer attackers, or not on all trial sets"
_HELD = {
    SAME_SCORES: "same scores as another system",
    RAW_SPEECH: "original speech is still in its anonymized audio",
}


def _compared(
    one: RankedSystem, others: Sequence[RankedSystem], sign: int, own: AbstractSet[str]
) -> RankedSystem:
    """Compare a system with the first of the others that has the same draws: published systems,
    which have no replicates, and submissions with other trials may be in between."""
    resampled = [r for r in others if r.mean.replicates is not None]
    for other in resampled:
        if is_paired(one.mean, other.mean):
            following = difference(one.mean, other.mean, named=other.system, sign=sign)
            return replace(one, next=following)
    if resampled:
        why_not = "not paired: different trials, speakers, seed or number of replicates"
        return replace(one, why_not=why_not)
    if any(r.system in own for r in others):
        return replace(one, why_not="not paired: no replicates of one of the two")
    return one
