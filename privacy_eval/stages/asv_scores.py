"""Stage 5: compute the scores of a tree's trial conditions from its x-vectors.

External and edited score files are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import UsageError
from ..io.inputs import Inputs
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Source,
    Sources,
    absent,
    bring_up_to_date,
    source_from_fingerprint,
)
from ..protocol.protocol import Protocol
from ..tree.conditions import TrialCondition, original_sets
from .access import AsvSystems
from .train_backend import training_sets
from .words_scores import words_products

#: The fingerprint of a set's x-vectors, and the role of the network in it.
VECTORS_NOTE, EXTRACTOR_ROLE = ".xvectors.json", "extractor"


def make_scores(
    asv: AsvSystems, run: Run = Run(), attackers: Collection[str] | None = None
) -> Outcome:
    """Compute the score files of the systems under test that are not current.

    `attackers`: ids, see `select_attackers`; by default the challenge's own and, wherever the tree
    has transcripts beside what that needs, the words.
    """
    access = asv.access
    if attackers is None:
        products = _own_products(asv)
        scored = {p.note.parent for p in products if p.is_there() or not p.absent()}
        scored |= {folder for system in asv.under_test for folder, _ in system.of_edition}
        products += [
            p for p in words_products(asv) if p.note.parent.parent in scored and not p.absent()
        ]
    else:
        products = _own_products(asv) if asv.protocol.own_attacker in attackers else []
        products += [p for p in words_products(asv) if p.note.parent.name in attackers]
    return bring_up_to_date(products, access.inputs, run, allow_missing=access.allow_missing)


def score_products(asv: AsvSystems) -> list[Product]:
    """The score files of all conditions of the protocol, by every attacker."""
    return _own_products(asv) + words_products(asv)


def _own_products(asv: AsvSystems) -> list[Product]:
    """The score files by the challenge's own attacker."""
    return [scoring.product() for scoring in _scorings(asv)]


def select_attackers(protocol: Protocol, names: str) -> set[str]:
    """Return the ids of attackers that are named, separated by commas: of the protocol,
    `challenge` (its own) or `all`.

    Raises
    ------
    UsageError
        No such attacker.
    """
    every = {protocol.own_attacker, *(attacker.id for attacker in protocol.other_attackers)}
    chosen: set[str] = set()
    for name in filter(None, (name.strip() for name in names.split(","))):
        if name not in (*every, "challenge", "all"):
            raise UsageError(
                f"--attackers: no attacker {name!r} in protocol {protocol.name}: all, challenge, "
                f"{', '.join(sorted(every))}"
            )
        chosen |= every if name == "all" else {{"challenge": protocol.own_attacker}.get(name, name)}
    return chosen


@dataclass(frozen=True)
class _Scoring:
    """The scores of one condition."""

    folder: Path
    condition: TrialCondition
    anon_suffix: str
    asv: AsvSystems

    def product(self) -> Product:
        return Product(
            f"{self.condition.system} {self.condition.label}",
            self.asv.access.tree,
            self.folder / NOTE,
            (self.folder / "scores",),
            self.find,
            self.make,
            subject={"backend": "plda"},
            cost=partial(self.asv.scoring_cost, self.condition),
            guarded=True,
            rivals=(self.folder / "scores.gz",),
            within=self.asv.access.results,
            absent=self.absent,
        )

    def absent(self) -> list[MissingInput]:
        return missing_inputs(self.condition, self.anon_suffix, self.asv)

    def find(self, inputs: Inputs) -> Sources:
        for error in self.absent():
            raise error
        model = self.condition.asv_model, self.anon_suffix
        key = self.asv.access.find_key(self.condition, self.asv.protocol, check=True)
        enrolled, tested = original_sets(self.condition, self.asv.protocol)
        enrollment = self.asv.enrollment(*enrolled)
        own: dict[str, Path | Source] = {
            "enrollment": Source(enrollment.path, enrollment.digest),
            "trials": key,
        }
        sets = {"enrollment": enrolled, "trial": tested}
        return asv_sources(self.asv, model, sets, inputs, own)

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from ..asv.trials import score_trials
        from ..io.scores import read_trial_list

        trials = read_trial_list(inputs.load(paths["trials"]))
        enrolled, _tested = original_sets(self.condition, self.asv.protocol)
        model = self.asv.backend(self.condition.asv_model, self.anon_suffix)
        scored = score_trials(
            self.asv.read_vectors(paths["enrollment_vectors"]),
            self.asv.enrollment(*enrolled),
            self.asv.read_vectors(paths["trial_vectors"]),
            trials,
            model=model,
            allow_missing=self.asv.access.allow_missing,
        )
        left_out = ""
        if scored.trials_left_out or scored.enrollment_left_out:
            left_out = (
                f"{scored.trials_left_out} trials and {scored.enrollment_left_out} enrollment "
                "utterances without x-vectors left out"
            )
        return Content({self.folder / "scores": scored.text().encode()}, left_out)


def asv_sources(
    asv: AsvSystems,
    model: tuple[str, str],
    sets: Mapping[str, tuple[str, str]],
    inputs: Inputs,
    own: Sources,
    *,
    plda: bool = True,
) -> Sources:
    """Return the inputs of a product: PLDA back end if needed, `own` sources, x-vectors of sets
    by role, and their network if it is known and the same for all."""
    backend = asv.backend_files(*model) if plda else {}
    scps = {role: asv.find_vectors(*model, *name) for role, name in sets.items()}
    vectors = {f"{r}_vectors": asv.vectors_source(p) for r, p in scps.items()}
    networks = {
        source_from_fingerprint(scp, EXTRACTOR_ROLE, asv.access.tree, inputs, VECTORS_NOTE)
        for scp in scps.values()
    }
    network = networks.pop() if len(networks) == 1 else None
    return {**backend, **own, **vectors, **({EXTRACTOR_ROLE: network} if network else {})}


def missing_inputs(
    condition: TrialCondition, anon_suffix: str, asv: AsvSystems
) -> list[MissingInput]:
    """Return the missing inputs of a condition's scores, without reading any file."""
    enrolled, tested = original_sets(condition, asv.protocol)
    return absent(
        lambda: asv.access.find_key(condition, asv.protocol),
        lambda: asv.access.find_enrollment(*enrolled),
        *asv.finders((condition.asv_model, anon_suffix), enrolled, tested),
    )


def _scorings(asv: AsvSystems) -> Iterator[_Scoring]:
    for system in () if asv.protocol.has_own_scoring else asv.under_test:
        for folder, condition in system.conditions(asv.protocol):
            yield _Scoring(folder, condition, system.anon_suffix, asv)


def has_computed_scores(folder: Path, inputs: Inputs) -> bool:
    """Whether the scores in a condition's folder were computed by this toolkit."""
    scores = folder / "scores"
    product = Product("", folder, folder / NOTE, (scores,), lambda _: {}, lambda *_: Content({}))
    return scores.is_file() and not product.is_foreign(inputs)


def vector_sets(asv: AsvSystems) -> list[tuple[str, str]]:
    """Return the data sets with speech whose x-vectors are needed for scores or back ends and
    not included in those of a superset: pairs of data set and model folder in the tree."""
    needed = training_sets(asv)
    for scoring in _scorings(asv):
        model = asv.protocol.asv_model(scoring.condition.asv_model)
        if model is None or scoring.product().is_foreign(asv.access.inputs):
            continue
        folder = model.model_folder(scoring.anon_suffix)
        needed += [(*name, folder) for name in original_sets(scoring.condition, asv.protocol)]
    sets: dict[tuple[str, str], None] = {}
    for name, suffix, folder in needed:
        data = asv.access.tree / "data" / f"{name}{suffix}"
        vectors = asv.vectors(asv.access.tree / folder)
        if (data / "wav.scp").is_file() and vectors.find(name, suffix) in (
            None,
            vectors.candidates(name, suffix)[0],
        ):
            sets[data.name, folder] = None
    return list(sets)


def missing_vectors(asv: AsvSystems) -> list[tuple[str, str]]:
    """Return those of `vector_sets` that have no x-vectors."""
    tree = asv.access.tree
    return [
        (name, folder)
        for name, folder in vector_sets(asv)
        if not (tree / folder / f"xvect_{name}" / "xvector.scp").is_file()
    ]
