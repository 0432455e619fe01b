"""What several attackers reach against a system, and whether the words alone reach more."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..choices import LEVEL, grouped
from ..metrics import describe, of_kind
from ..metrics.caveats import MAX_ORIGINAL_EER
from ..metrics.confidence import holm, needed_for_tests, paired_bounds
from ..metrics.evaluation import is_weaker
from ..metrics.strongest import Strongest, strongest
from ..protocol.protocol import AttackModel, Protocol
from ..results.arrays import StoredArrays
from ..results.records import Results, VerificationRecord
from .cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, cells_from_results, system_column
from .groups import by_trial_set
from .means import Difference, Mean, Means, difference, is_paired


@dataclass(frozen=True)
class Attack:
    """Means of a system under an attack model, over the available conditions of a split.

    Attributes
    ----------
    system, split : str
    model : AttackModel
    means : mapping
        By `attack_metrics`, the protocol's EER first.
    deid : Mean
        De-identification, which does not depend on the attack.
    """

    system: str
    split: str
    model: AttackModel
    means: Mapping[str, Mean]
    deid: Mean

    @property
    def eer(self) -> Mean:
        """The mean EER."""
        return next(iter(self.means.values()))


def attack_metrics(protocol: Protocol) -> list[str]:
    """List the metrics on scores that attacks are compared by, the protocol's EER first."""
    keys = (key for key, m in of_kind("scores").items() if m.best and m.compared)
    return list(dict.fromkeys((protocol.eer, *map(protocol.shown, keys))))


def attacks(means: Means, results: Results) -> Iterator[Attack]:
    """Average the values of a single system under every attack model with any record, original
    speech included."""
    (system,) = results.systems
    keys = attack_metrics(means.protocol)
    evaluated = {(r.condition.split, r.condition.attack_model) for r in results.verification}
    for split, model in itertools.product(means.protocol.splits, means.protocol.attack_models):
        if (split, model.id) in evaluated:
            column = ORIGINAL_COLUMN if model.is_original else system_column(system)
            of_scores = {key: means.of(key, model.id, split, column) for key in keys}
            yield Attack(system, split, model, of_scores, means.of("deid", None, split, column))


def least_private(
    results: Results,
) -> dict[str, dict[tuple[str, str, str], VerificationRecord | None]]:
    """Select the least private record of every trial set with several attack models, by metric;
    None where all values are withheld."""
    protocol = results.protocol
    models = {a.id for a in protocol.attack_models if not a.is_original}
    groups = by_trial_set(r for r in results.verification if r.condition.attack_model in models)
    several = {key: of_set for key, of_set in groups.items() if len(of_set) > 1}
    metrics = (key for key, m in of_kind("scores").items() if m.best and m.strongest)
    return {
        key: {place: _least_private(of_set, key, protocol) for place, of_set in several.items()}
        for key in map(protocol.shown, metrics)
    }


def _least_private(
    records: Sequence[VerificationRecord], key: str, protocol: Protocol
) -> VerificationRecord | None:
    values = {
        r.condition: r.values(protocol.variant)[key]
        for r in records
        if key in r.values(protocol.variant) and r.caveat(key, protocol.variant) is None
    }
    least_private = min if describe(key).best == "higher" else max
    informative = [r for r in records if r.condition in values]
    return least_private(informative, key=lambda r: values[r.condition], default=None)


@dataclass(frozen=True)
class AttackerEer:
    """The mean EER of an attacker under an attack model, over the available conditions of a split.

    Attributes
    ----------
    attacker : str
        Id.
    phrase : str
        Title within a sentence: the attack model of the challenge's own attacker, the title of
        another one.
    model : AttackModel
    eer : Mean
    is_words : bool
        Whether the attacker reads the words alone.
    original : Mean or None
        The EER on original speech; None of the challenge's own attacker.
    """

    attacker: str
    phrase: str
    model: AttackModel
    eer: Mean
    is_words: bool = False
    original: Mean | None = None

    @property
    def title(self) -> str:
        """Title at the beginning of a sentence."""
        return self.phrase[:1].upper() + self.phrase[1:]

    @property
    def value(self) -> float:
        """The EER; chance if there is none."""
        return 0.5 if self.eer.of_present is None else self.eer.of_present

    @property
    def is_plausible(self) -> bool:
        """Whether there is a value, of scores that are not implausible."""
        return self.eer.of_present is not None

    @property
    def is_weak(self) -> bool:
        """Whether the attacker errs too often on original speech for its errors to be privacy."""
        eer = None if self.original is None else self.original.of_present
        return eer is not None and eer > MAX_ORIGINAL_EER

    @property
    def trial_sets(self) -> set[tuple[str, str]]:
        """Data sets and genders of the mean."""
        conditions = (c for part in self.eer.parts for c in part.conditions)
        return {(c.data_set, c.gender) for c in conditions}


@dataclass(frozen=True)
class AttackerPair:
    """Two attackers of a system, compared in the same bootstrap replicates.

    Attributes
    ----------
    one, other : AttackerEer
    difference : Difference
        The EER of the one minus that of the other.
    p_holm : float
        Adjusted by Holm's method for all pairs of the system and split.
    """

    one: AttackerEer
    other: AttackerEer
    difference: Difference
    p_holm: float


@dataclass(frozen=True)
class Tried:
    """The attackers that were tried against a system on a split; original speech is not there.

    Attributes
    ----------
    system, split : str
    attackers : tuple of AttackerEer
        The challenge's own first.
    protocol : Protocol
    """

    system: str
    split: str
    attackers: tuple[AttackerEer, ...]
    protocol: Protocol

    @functools.cached_property
    def compared(self) -> tuple[AttackerEer, ...]:
        """Those whose means are over the same trial sets: most of them."""
        plausible = [a for a in self.attackers if a.is_plausible]
        most = max((a.trial_sets for a in plausible), key=len, default=set())
        return tuple(a for a in plausible if a.trial_sets == most)

    @property
    def titles(self) -> frozenset[str]:
        """Titles of those that are compared: systems attacked by others cannot be ranked."""
        return frozenset(a.title for a in self.compared)

    @property
    def partial(self) -> tuple[AttackerEer, ...]:
        """Those whose means are over other trial sets: they are not compared."""
        return tuple(a for a in self.attackers if a.is_plausible and a not in self.compared)

    @property
    def lowest(self) -> AttackerEer | None:
        """The attacker with the lowest EER, if there are several."""
        if len(self.compared) < 2:
            return None
        return min(self.compared, key=lambda a: a.value)

    @functools.cached_property
    def strongest(self) -> Strongest | None:
        """The lowest EER, and corrected for the choice; None unless all were measured in the same
        bootstrap replicates, and of enough speakers that its interval holds it, or that it
        is so low that the interval is known to be too short."""
        replicates = [a.eer.replicates for a in self.compared]
        drawn = [of_one for of_one in replicates if of_one is not None]
        is_shared = len(drawn) == len(replicates) and len({of_one.drawn for of_one in drawn}) == 1
        if len(self.compared) < 2 or not is_shared:
            return None
        values = np.array([of_one.values for of_one in drawn])
        found = strongest([a.value for a in self.compared], values)
        return None if found.is_outside and not found.is_too_low else found

    @property
    def is_too_low(self) -> bool:
        """Whether the interval of the strongest is too short."""
        return self.strongest is not None and self.strongest.is_too_low

    @property
    def corrected_text(self) -> str:
        """The lowest EER corrected for the choice among the attackers, with its interval; ""
        without one."""
        if self.strongest is None or self.lowest is None:
            return ""
        metric, best = describe(self.lowest.eer.metric), self.strongest
        bounds = metric.interval((best.lower, best.upper))
        return f"{metric.format(best.corrected, mean=True)} {bounds}"

    @functools.cached_property
    def pairs(self) -> tuple[AttackerPair, ...]:
        """All two attackers that were measured in the same bootstrap replicates."""
        pairs = [
            (one, other, difference(one.eer, other.eer, named=other.title))
            for one, other in itertools.combinations(self.compared, 2)
            if is_paired(one.eer, other.eer)
        ]
        adjusted = holm([tested.p_value for *_, tested in pairs])
        return tuple(AttackerPair(*pair, p) for pair, p in zip(pairs, adjusted, strict=True))

    @property
    def like_lowest(self) -> set[str]:
        """Titles of the attackers whose EER is not significantly above the lowest by a test."""
        tested = self._tested_against_lowest
        return {title for title, by in tested.items() if not by.significant}

    @property
    def untested(self) -> set[str]:
        """Titles of the attackers that no test compares with the lowest, where it does others."""
        others = set(self.titles) - {self.lowest_title}
        return others - self._tested_against_lowest.keys() if self.pairs else set()

    @functools.cached_property
    def _tested_against_lowest(self) -> dict[str, Difference]:
        of_lowest = [p for p in self.pairs if self.lowest in (p.one, p.other)]
        return {
            (p.other if p.one == self.lowest else p.one).title: p.difference
            for p in of_lowest
            if not p.difference.too_few
        }

    @property
    def lacking_replicates(self) -> str:
        """A note if only the number of replicates keeps a pair from being significant among all."""
        tested = [p for p in self.pairs if not p.difference.too_few and p.p_holm >= 1 - LEVEL]
        bounds = [p.one.eer.replicates for p in tested if p.difference.p_value_is_bound]
        speakers = [drawn.n_speakers for drawn in bounds if drawn is not None]
        return needed_for_tests(min(speakers), len(self.pairs)) if speakers else ""

    @property
    def lowest_title(self) -> str:
        """Title of the attacker with the lowest EER; "" if there are not several."""
        return self.lowest.title if self.lowest is not None else ""

    @property
    def words(self) -> AttackerEer | None:
        """The attacker who reads the words alone."""
        return next((a for a in self.attackers if a.is_words), None)

    @property
    def challenge(self) -> AttackerEer | None:
        """The attacker of the challenge's averages."""
        own = (a for a in self.attackers if not a.is_words)
        return next((a for a in own if a.model.id == self.protocol.average_attack_model), None)

    @functools.cached_property
    def weaker_than_words(self) -> tuple[AttackerEer, ...]:
        """The attackers with a higher EER than the words alone, on the same trial sets."""
        words = self.words
        if words is None or words not in self.compared:
            return ()
        return tuple(a for a in self.compared if self.is_weaker(a, words))

    @functools.cached_property
    def weaker_than_variant(self) -> tuple[tuple[AttackerEer, AttackerEer], ...]:
        """Attackers with a higher EER than an aligned or normalized variant of their own, each
        with the strongest of these."""
        is_variant = self.protocol.is_variant
        return self._weaker(lambda a, b: a.model == b.model and is_variant(b.attacker, a.attacker))

    @functools.cached_property
    def weaker_than_spectrum(self) -> tuple[tuple[AttackerEer, AttackerEer], ...]:
        """Attackers by voice with a higher EER than that of the spectrum, on the same speech."""
        by_spectrum = self.protocol.spectrum_attackers
        knowing = self.protocol.knowing_words | by_spectrum
        return self._weaker(
            lambda one, other: (
                other.attacker in by_spectrum
                and one.attacker not in knowing
                and (one.model.enrollment, one.model.trial)
                == (other.model.enrollment, other.model.trial)
            )
        )

    def _weaker(
        self, should_not_be: Callable[[AttackerEer, AttackerEer], bool]
    ) -> tuple[tuple[AttackerEer, AttackerEer], ...]:
        """Return the attackers weaker than others that they should not be weaker than, each with
        the strongest of these."""
        weaker = []
        for one in self.compared:
            others = (a for a in self.compared if should_not_be(one, a))
            if stronger := [a for a in others if self.is_weaker(one, a)]:
                weaker.append((one, min(stronger, key=lambda a: a.value)))
        return tuple(weaker)

    def is_weaker(self, one: AttackerEer, other: AttackerEer) -> bool:
        """Tell whether an attacker is weaker than another, as in the caveats of records."""
        return is_weaker(one.value, other.value, _paired_bounds(one, other))

    def of_own(self, models: Collection[AttackModel]) -> Tried:
        """Return the same without the challenge's own attacker under other attack models."""
        own = self.protocol.own_attacker
        kept = (a for a in self.attackers if a.attacker != own or a.model in models)
        return replace(self, attackers=tuple(kept))

    @property
    def how_compared(self) -> str:
        """How attackers are compared."""
        tested = "paired by bootstrap replicate"
        return tested if self.is_tested else "by point estimates, not tested"

    @property
    def is_tested(self) -> bool:
        """Whether attackers are compared by a test."""
        return any(_paired_bounds(pair.one, pair.other) for pair in self.pairs)


def _paired_bounds(one: AttackerEer, other: AttackerEer) -> tuple[float, float] | None:
    """Return 95 % bounds of the difference of two EERs; None unless of enough of the same draws."""
    first, second = one.eer.replicates, other.eer.replicates
    if first is None or second is None or not is_paired(one.eer, other.eer):
        return None
    return paired_bounds(first.values, second.values, first.n_speakers)


def tried(
    own: Mapping[str, Sequence[Attack]],
    others: Iterable[VerificationRecord],
    protocol: Protocol,
    arrays: StoredArrays,
) -> dict[tuple[str, str], Tried]:
    """Compare attackers, by evaluated system and split, where others than the challenge's own
    were tried.

    `own`: attacks of the challenge's own attacker by system; `others`: records of the others.
    """
    by_attacker = grouped(others, lambda record: record.condition.attacker)
    means = {
        name: _means(Results(protocol, tuple(of_one)), arrays)
        for name, of_one in by_attacker.items()
    }
    compared = {}
    for system, split in itertools.product(own, protocol.splits):
        beside = [
            one
            for name, of_one in means.items()
            for one in _of_attacker(name, of_one, protocol, system, split)
        ]
        if beside:
            attackers = [
                AttackerEer(protocol.own_attacker, a.model.phrase, a.model, a.eer)
                for a in own[system]
                if a.split == split and not a.model.is_original
            ]
            every = (*attackers, *beside)
            compared[system, split] = Tried(system, split, every, protocol)
    return compared


def _means(results: Results, arrays: StoredArrays) -> Means:
    records = {record.condition: record for record in results.verification}
    return Means(cells_from_results(results), results.protocol, records, arrays)


def _of_attacker(
    name: str, means: Means, protocol: Protocol, system: str, split: str
) -> Iterator[AttackerEer]:
    """Yield the EERs of an attacker, by attack model."""
    attacker = next((a for a in protocol.other_attackers if a.id == name), None)
    title = name if attacker is None else attacker.title
    learns = attacker is not None and attacker.learns
    is_words = name in protocol.word_attackers
    models = [m for m in protocol.attack_models if not m.is_original]
    eers = {m.id: means.of(protocol.eer, m.id, split, system_column(system)) for m in models}
    original = means.of(protocol.eer, ORIGINAL_ATTACK, split, ORIGINAL_COLUMN)
    several = sum(bool(eer.parts) for eer in eers.values()) > 1
    for model in models:
        if eers[model.id].parts:
            how = f"{model.enrollment} enrollment" if learns else model.phrase
            named = f"{title}, {how}" if several else title
            yield AttackerEer(name, named, model, eers[model.id], is_words, original)
