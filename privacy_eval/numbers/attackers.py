"""What several attackers reach against a system, and whether the words alone reach more."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..choices import LEVEL, grouped
from ..metrics import describe, of_kind
from ..metrics.caveats import MAX_ORIGINAL_EER
from ..metrics.confidence import BootstrapReplicates, holm, needed_for_tests
from ..metrics.evaluation import is_weaker
from ..metrics.strongest import Strongest, strongest
from ..protocol.protocol import AttackModel, Protocol
from ..results.arrays import StoredArrays
from ..results.measurements import Row
from ..results.records import Record, Results
from .cells import ORIGINAL_ATTACK, ORIGINAL_COLUMN, cells_from_results, system_column
from .means import Means, difference, is_paired


def attack_metrics(protocol: Protocol) -> list[str]:
    """List the metrics on scores that attacks are compared by, the protocol's EER first."""
    keys = (key for key, m in of_kind("scores").items() if m.best and m.compared)
    return list(dict.fromkeys((protocol.eer, *map(protocol.shown, keys))))


def attacks(means: Means, results: Results) -> Iterator[Row]:
    """Average the values of a single system under every attack model with any record, original
    speech included: rows of the protocol's EER over the available conditions of a split, each with
    its `model` and, by `attack_metrics`, all `means`."""
    (system,) = results.systems
    keys = attack_metrics(means.protocol)
    evaluated = {(r.condition.split, r.condition.attack_model) for r in results.verification}
    for split, model in itertools.product(means.protocol.splits, means.protocol.attack_models):
        if (split, model.id) in evaluated:
            column = ORIGINAL_COLUMN if model.is_original else system_column(system)
            of_scores = {key: means.of(key, model.id, split, column) for key in keys}
            eer = of_scores[means.protocol.eer]
            yield {**eer, "system": system, "model": model, "means": of_scores}


def is_weak(attacker: Row) -> bool:
    """Tell whether an attacker errs too often on original speech for its errors to be privacy."""
    original = attacker.get("original")
    eer = None if original is None else original["of_present"]
    return eer is not None and eer > MAX_ORIGINAL_EER


def _trial_sets(attacker: Row) -> set[tuple[str, str]]:
    """Return data sets and genders of the mean."""
    return {(row["data_set"], row["gender"]) for row in attacker["parts"]}


@dataclass(frozen=True)
class Tried:
    """The attackers that were tried against a system on a split; original speech is not there.

    Attributes
    ----------
    system, split : str
    attackers : tuple of mapping
        Rows of mean EERs under an attack model, over the available conditions of the split, the
        challenge's own first. `attacker` is its id; `phrase` its title within a sentence (the
        attack model of the challenge's own attacker, the title of another one) and `title` at its
        beginning; `model` the attack model; `is_words` whether it reads the words alone; `original`
        the EER of another one than the challenge's own on original speech.
    protocol : Protocol
    """

    system: str
    split: str
    attackers: tuple[Row, ...]
    protocol: Protocol

    @functools.cached_property
    def compared(self) -> tuple[Row, ...]:
        """Those whose means are over the same trial sets: most of them."""
        return tuple(a for a in self._plausible if _trial_sets(a) == self._most)

    @property
    def _plausible(self) -> list[Row]:
        """Those with a value, of scores that are not implausible."""
        return [a for a in self.attackers if a["of_present"] is not None]

    @property
    def _most(self) -> set[tuple[str, str]]:
        return max(map(_trial_sets, self._plausible), key=len, default=set())

    @property
    def titles(self) -> frozenset[str]:
        """Titles of those that are compared: systems attacked by others cannot be ranked."""
        return frozenset(a["title"] for a in self.compared)

    @property
    def partial(self) -> tuple[Row, ...]:
        """Those whose means are over other trial sets: they are not compared."""
        return tuple(a for a in self._plausible if _trial_sets(a) != self._most)

    @property
    def lowest(self) -> Row | None:
        """The attacker with the lowest EER, if there are several."""
        if len(self.compared) < 2:
            return None
        return min(self.compared, key=_eer)

    @functools.cached_property
    def strongest(self) -> Strongest | None:
        """The lowest EER, and corrected for the choice; None unless all were measured in the same
        bootstrap replicates, and of enough speakers that its interval holds it, or that it
        is so low that the interval is known to be too short."""
        compared = self.compared
        if len(compared) < 2 or not all(is_paired(compared[0], a) for a in compared):
            return None
        values = np.array([a["replicates"].values[a["metric"]] for a in compared])
        found = strongest([*map(_eer, compared)], values)
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
        metric, best = describe(self.lowest["metric"]), self.strongest
        bounds = metric.interval((best.lower, best.upper))
        return f"{metric.format(best.corrected, mean=True)} {bounds}"

    @functools.cached_property
    def pairs(self) -> list[Row]:
        """All two attackers that were measured in the same bootstrap replicates: rows of the EER of
        `one` minus that of the `other`, with `p_holm`, adjusted for all pairs."""
        pairs = [
            {**difference(one, other, named=other["title"]), "one": one, "other": other}
            for one, other in itertools.combinations(self.compared, 2)
            if is_paired(one, other)
        ]
        adjusted = holm([pair["p"] for pair in pairs])
        return [{**pair, "p_holm": p} for pair, p in zip(pairs, adjusted, strict=True)]

    @property
    def like_lowest(self) -> set[str]:
        """Titles of the attackers whose EER is not significantly above the lowest by a test."""
        tested = self._tested_against_lowest
        return {title for title, by in tested.items() if not by["significant"]}

    @property
    def untested(self) -> set[str]:
        """Titles of the attackers that no test compares with the lowest, where it does others."""
        others = set(self.titles) - {self.lowest_title}
        return others - self._tested_against_lowest.keys() if self.pairs else set()

    @functools.cached_property
    def _tested_against_lowest(self) -> dict[str, Row]:
        tested = {}
        for p in (p for p in self.pairs if not p["too_few"]):
            if self.lowest is p["one"] or self.lowest is p["other"]:
                other = p["other"] if self.lowest is p["one"] else p["one"]
                tested[other["title"]] = p
        return tested

    @property
    def lacking_replicates(self) -> str:
        """A note if only the number of replicates keeps a pair from being significant among all."""
        tested = [p for p in self.pairs if not p["too_few"] and p["p_holm"] >= 1 - LEVEL]
        speakers = [p["one"]["replicates"].n_speakers for p in tested if p["p_is_bound"]]
        return needed_for_tests(min(speakers), len(self.pairs)) if speakers else ""

    @property
    def lowest_title(self) -> str:
        """Title of the attacker with the lowest EER; "" if there are not several."""
        return self.lowest["title"] if self.lowest is not None else ""

    @property
    def words(self) -> Row | None:
        """The attacker who reads the words alone."""
        return next((a for a in self.attackers if a["is_words"]), None)

    @property
    def challenge(self) -> Row | None:
        """The attacker of the challenge's averages."""
        average = self.protocol.average_attack_model
        own = (a for a in self.attackers if not a["is_words"])
        return next((a for a in own if a["model"].id == average), None)

    @functools.cached_property
    def weaker(self) -> Mapping[str, list[tuple[Row, Row]]]:
        """The attackers with a higher EER than others that they should not be weaker than, each
        with the strongest of these: by voice than the `words` alone on the same trial sets or the
        `spectrum` of the same speech, any than an aligned or normalized `variant` of its own."""
        protocol = self.protocol
        spectrum, knowing = protocol.spectrum_attackers, protocol.knowing_words

        def kinds(one: Row, other: Row) -> Mapping[str, bool]:
            by, than = one["attacker"], other["attacker"]
            speech = ((of["model"].enrollment, of["model"].trial) for of in (one, other))
            is_like = by not in knowing | spectrum and len({*speech}) == 1
            return {
                "words": other["is_words"] and by not in knowing,
                "spectrum": than in spectrum and is_like,
                "variant": one["model"] == other["model"] and protocol.is_variant(than, by),
            }

        weaker: dict[str, list[tuple[Row, Row]]] = {"words": [], "spectrum": [], "variant": []}
        for one, (kind, pairs) in itertools.product(self.compared, weaker.items()):
            others = (a for a in self.compared if kinds(one, a)[kind] and self.is_weaker(one, a))
            if (strongest := min(others, key=_eer, default=None)) is not None:
                pairs.append((one, strongest))
        return weaker

    def is_weaker(self, one: Row, other: Row) -> bool:
        """Tell whether an attacker is weaker than another, as in the caveats of records."""
        return is_weaker(_eer(one), _eer(other), _paired_bounds(one, other))

    def of_own(self, models: Collection[AttackModel]) -> Tried:
        """Return the same without the challenge's own attacker under other attack models."""
        own = self.protocol.own_attacker
        kept = (a for a in self.attackers if a["attacker"] != own or a["model"] in models)
        return replace(self, attackers=tuple(kept))

    @property
    def how_compared(self) -> str:
        """How attackers are compared."""
        tested = "paired by bootstrap replicate"
        return tested if self.is_tested else "by point estimates, not tested"

    @property
    def is_tested(self) -> bool:
        """Whether attackers are compared by a test."""
        return any(_paired_bounds(pair["one"], pair["other"]) for pair in self.pairs)


def _eer(attacker: Row) -> float:
    """Return the mean EER of the available conditions."""
    return float(attacker["of_present"])


def _paired_bounds(one: Row, other: Row) -> tuple[float, float] | None:
    """Return 95 % bounds of the difference of two EERs; None unless of enough of the same draws."""
    if not is_paired(one, other):
        return None
    first: BootstrapReplicates = one["replicates"]
    return first.above(other["replicates"], one["metric"])


def tried(
    own: Mapping[str, Sequence[Row]],
    others: Iterable[Record],
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
                _named(a, protocol.own_attacker, a["model"].phrase)
                for a in own[system]
                if a["split"] == split and not a["model"].is_original
            ]
            every = (*attackers, *beside)
            compared[system, split] = Tried(system, split, every, protocol)
    return compared


def with_attackers(
    systems: Iterable[Row],
    tried: Mapping[tuple[str, str], Tried],
    split: str,
    *,
    by_strongest: bool,
) -> list[Row]:
    """Add the strongest attacker of each system, `lowest`, and `strongest`, the same corrected for
    the choice, where all were measured in the same replicates; `by_strongest`: only systems that
    have one, by its EER."""
    rows = {system_column(s): row for (s, of), row in tried.items() if of == split and row.lowest}
    found = []
    for t in systems:
        row = rows.get(t["system"])
        if row is None or row.lowest is None:
            found += [t] * (not by_strongest)
            continue
        best = row.strongest
        more: dict[str, Any] = {"lowest": row.lowest}
        if by_strongest:
            low, high = (best.lower, best.upper) if best is not None else (None, None)
            more = {"value": row.lowest["of_present"], "low": low, "high": high}
        found.append({**t, **more, "strongest": best})
    return found


def _means(results: Results, arrays: StoredArrays) -> Means:
    return Means(cells_from_results(results), results.protocol, arrays)


def _of_attacker(
    name: str, means: Means, protocol: Protocol, system: str, split: str
) -> Iterator[Row]:
    """Yield the EERs of an attacker, by attack model."""
    attacker = next((a for a in protocol.other_attackers if a.id == name), None)
    title = name if attacker is None else attacker.title
    learns = attacker is not None and attacker.learns
    is_words = name in protocol.word_attackers
    models = [m for m in protocol.attack_models if not m.is_original]
    eers = {m.id: means.of(protocol.eer, m.id, split, system_column(system)) for m in models}
    original = means.of(protocol.eer, ORIGINAL_ATTACK, split, ORIGINAL_COLUMN)
    several = sum(bool(eer["parts"]) for eer in eers.values()) > 1
    for model in models:
        if eers[model.id]["parts"]:
            how = f"{model.enrollment} enrollment" if learns else model.phrase
            named = f"{title}, {how}" if several else title
            of_model = {**eers[model.id], "model": model}
            yield _named(of_model, name, named, is_words=is_words, original=original)


def _named(
    eer: Row, attacker: str, phrase: str, *, is_words: bool = False, original: Row | None = None
) -> Row:
    """Name the attacker of a mean EER under a model."""
    title = phrase[:1].upper() + phrase[1:]
    of = {"attacker": attacker, "phrase": phrase, "title": title}
    return {**eer, **of, "is_words": is_words, "original": original}
