"""Stage 7: error rates of every attacker by the number of sentences of a test.

Where the x-vectors that the challenge's attacker compares are in the tree, those of the sentences
of a test are averaged; of other attackers, and of submissions without vectors, the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, abbreviate
from ..io.files import Loaded, file_names
from ..io.inputs import Inputs
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    Outcome,
    Paths,
    Product,
    Run,
    Source,
    Sources,
    bring_up_to_date,
)
from ..results.definitions import fields_digest
from ..results.record_files import record_text
from ..tree.conditions import ConditionFiles, TrialCondition, original_sets
from ..version import __version__
from .access import AsvSystems, Experiment
from .identification import missing_inputs
from .privacy_metrics import condition_cost, scores_and_key
from .vector_sources import asv_sources

if TYPE_CHECKING:
    from ..io.scores import PairedTrials
    from ..metrics.amount import AmountCurve

#: Incremented when the same inputs yield different numbers.
_REVISION = 1


@dataclass(frozen=True)
class AmountOptions:
    """Options that affect the numbers of a record.

    Attributes
    ----------
    sentences : tuple of int
        Numbers of utterances per test.
    bootstrap, seed : int
        Replicates of speakers, 0 for none, and their seed.
    """

    sentences: tuple[int, ...] = ()
    bootstrap: int = 0
    seed: int = 0


def make_amounts(experiment: Experiment, run: Run, options: AmountOptions) -> Outcome:
    """Compute the records of all conditions with scores that are not current."""
    products = [one.product() for one in _amounts(experiment, options)]
    access = experiment.asv.access
    return bring_up_to_date(products, access.inputs, run, allow_missing=access.allow_missing)


def amount_products(experiment: Experiment) -> list[Product]:
    """The records of all systems, made or not."""
    return [one.product() for one in _amounts(experiment, AmountOptions())]


@dataclass(frozen=True)
class _Amounts:
    """The record of one condition.

    Attributes
    ----------
    has_vectors : bool
        Whether the tree may have the x-vectors that its scores are of.
    """

    files: ConditionFiles
    anon_suffix: str
    path: Path
    asv: AsvSystems
    has_vectors: bool
    options: AmountOptions

    @property
    def condition(self) -> TrialCondition:
        return self.files.condition

    @property
    def by_vectors(self) -> bool:
        """Whether vectors are averaged, or else scores."""
        return self.has_vectors and not missing_inputs(self.condition, self.anon_suffix, self.asv)

    def product(self) -> Product:
        options = self.options
        return Product(
            f"{self.condition.system} {self.condition.label}",
            self.asv.access.tree,
            self.path.with_name(f".{self.path.stem}{NOTE}"),
            (self.path,),
            self.find,
            self.make,
            subject={**asdict(self.condition), "fields": fields_digest()},
            options={**asdict(options), "seed": options.seed if options.bootstrap else 0},
            revision=_REVISION,
            cost=lambda: condition_cost(self.files) * (1 + options.bootstrap),
        )

    def find(self, inputs: Inputs) -> Sources:
        scores, key = scores_and_key(self.files, self.asv.access.tree, inputs)
        utt2spk = self.files.utt2spk or key.parent / "utt2spk"
        if not utt2spk.is_file():
            raise PrivacyEvalError(f"{utt2spk}: no such file (speakers of the trial utterances)")
        own: dict[str, Path | Source] = {"trials": key, "utt2spk": utt2spk}
        if not self.by_vectors:
            return {**own, "scores": scores}
        enrolled, tested = original_sets(self.condition, self.asv.protocol)
        enrollment = self.asv.enrollment(*enrolled)
        own["enrollment"] = Source(enrollment.path, enrollment.digest)
        model, sets = self.condition.asv_model, {"enrollment": enrolled, "trial": tested}
        plda = self.asv.default_backend(model) == "plda"
        return asv_sources(self.asv, (model, self.anon_suffix), sets, inputs, own, plda=plda)

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ..io.scores import pair, read_scores, read_trials
        from ..io.text_table import unique_fields
        from ..results.records import AmountRecord

        trials = read_trials(inputs.load(paths["trials"]), format="kaldi")
        enrolled = unique_fields(trials.speaker)[0]
        utt2spk, left_out = inputs.load(paths["utt2spk"]), 0
        if "scores" in paths:
            scores = read_scores(inputs.load(paths["scores"]), format="kaldi")
            paired = pair(scores, trials, allow_missing=self.asv.access.allow_missing)
            left_out = paired.missing + paired.extra
            curve = self._of_scores(paired, paths["scores"], utt2spk)
        else:
            curve = self._of_vectors(enrolled, paths, utt2spk)
        remark = f"{left_out} trials and scores left out" if left_out else ""
        record = AmountRecord(
            self.condition,
            "scores" if "scores" in paths else "vectors",
            len(enrolled),
            curve.all,
            curve.equal,
            (remark,) if remark else (),
            {"version": __version__, **made_of.provenance()},
        )
        record.check()
        return Content({self.path: record_text(record)}, remark)

    def _of_scores(self, paired: PairedTrials, scores: Path, utt2spk: Loaded) -> AmountCurve:
        from ..asv.amount import amount_of_scores

        options = self.options
        drawn = {"replicates": options.bootstrap, "seed": options.seed}
        try:
            return amount_of_scores(paired, utt2spk, options.sentences, **drawn)
        except PrivacyEvalError as error:
            raise PrivacyEvalError(f"{scores}: {error}") from error

    def _of_vectors(self, speakers: list[str], paths: Paths, utt2spk: Loaded) -> AmountCurve:
        """Compare every test with the speakers whom the trial key enrolls, as scores do."""
        from ..asv.amount import amount_of_vectors
        from ..asv.galleries import Gallery

        model = self.condition.asv_model
        enrollment = self.asv.enrollment(*original_sets(self.condition, self.asv.protocol)[0])
        members = {s: u for s, u in enrollment.members.items() if s in {*speakers}}
        if unknown := sorted({*speakers} - members.keys()):
            raise PrivacyEvalError(
                f"{enrollment.path}: {len(unknown)} speakers of {paths['trials']} are not "
                f"enrolled: {abbreviate(unknown)}"
            )
        vectors = self.asv.compared_vectors(model, paths["enrollment_vectors"])
        return amount_of_vectors(
            Gallery(vectors, replace(enrollment, members=members)),
            self.asv.compared_vectors(model, paths["trial_vectors"]),
            utt2spk,
            self.options.sentences,
            backend=self.asv.default_backend(model),
            model=self.asv.backend(model, self.anon_suffix),
            allow_missing=self.asv.access.allow_missing,
            replicates=self.options.bootstrap,
            seed=self.options.seed,
        )


def _amounts(experiment: Experiment, options: AmountOptions) -> Iterator[_Amounts]:
    """Yield the records of conditions with scores that are attacks, or of original speech."""
    names = file_names(system.name for system in experiment.systems)
    for system in experiment.systems:
        own = experiment.asv.of_system(system)
        under_test = system.name in experiment.under_test
        for files in system.conditions:
            c = files.condition
            if c.attack_model is None or files.scores is None:
                continue
            folder = experiment.out / "records" / f"{names[system.name]}{c.results_folder}"
            path = folder / f"amount-{c.record_name}.json"
            has_vectors = under_test and c.is_by_challenge
            yield _Amounts(files, system.anon_suffix, path, own, has_vectors, options)
