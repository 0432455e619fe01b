"""Stage 7: error rates of every attacker by the number of sentences of a test.

Where the vectors that an attacker compares are in the tree, those of the sentences of a test are
averaged; of attackers without vectors, and of submissions without them, the scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_utt2dur, read_utt2spk
from ..io.files import Inputs, Loaded
from ..io.names import sessions_of
from ..products.freshness import (
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Source,
    Sources,
)
from ..protocol.protocol import ORIGINAL
from ..results.record_files import record_product, record_text
from ..tree.conditions import ConditionFiles, TrialCondition, original_sets
from ..tree.discovery import first_file
from ..version import __version__
from .access import AsvSystems, Experiment
from .aligned_scores import AlignedScoring, aligned_scorings
from .identification import missing_inputs
from .privacy_metrics import condition_cost, scores_and_key
from .vector_sources import asv_sources

if TYPE_CHECKING:
    from ..asv.galleries import KnownSpeech
    from ..asv.inputs import Enrollment
    from ..metrics.amount import AmountCurve
    from ..metrics.trials import Trials

#: Incremented when the same inputs yield different numbers.
_REVISION = 2

#: Files of a data folder that tell durations, the first that is there: of audio, its headers.
_DURATIONS = ("utt2dur", "wav.scp")


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
    return experiment.asv.access.bring_up_to_date(products, run)


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
    aligned : AlignedScoring or None
        How these are compared by an aligned attacker.
    seconds : dict
        Durations by the file that tells them: read once for all conditions.
    """

    files: ConditionFiles
    anon_suffix: str
    path: Path
    asv: AsvSystems
    has_vectors: bool
    aligned: AlignedScoring | None
    options: AmountOptions
    seconds: dict[Path, dict[str, float]] = field(compare=False, repr=False)

    @property
    def condition(self) -> TrialCondition:
        return self.files.condition

    @property
    def by_vectors(self) -> bool:
        """Whether vectors are averaged, or else scores."""
        if self.aligned is not None:
            return self.has_vectors and not self.aligned.absent()
        return self.has_vectors and not missing_inputs(self.condition, self.anon_suffix, self.asv)

    def product(self) -> Product:
        options = self.options
        return record_product(
            self,
            self.asv.access.tree,
            f"{self.condition.system} {self.condition.label}",
            options={
                **asdict(options),
                "seed": options.seed if options.bootstrap else 0,
                **({"ids": list(ids)} if (ids := self.asv.protocol.ids) else {}),
            },
            revision=_REVISION,
            cost=lambda: condition_cost(self.files) * (1 + options.bootstrap),
        )

    def find(self, inputs: Inputs) -> Sources:
        scores, key = scores_and_key(self.files, self.asv.access.tree, inputs)
        utt2spk = self.files.utt2spk or key.parent / "utt2spk"
        if not utt2spk.is_file():
            raise PrivacyEvalError(f"{utt2spk}: no such file (speakers of the trial utterances)")
        own: dict[str, Path | Source] = {"trials": key, "utt2spk": utt2spk}
        own |= self._durations()
        if (enrollment := self._enrollment()) is not None:
            own["enrollment"] = Source(enrollment.path, enrollment.digest)
        if not self.by_vectors:
            return {**own, "scores": scores}
        if self.aligned is not None:
            return {**self.aligned.find(inputs), **own}
        enrolled, tested = original_sets(self.condition, self.asv.protocol)
        model, sets = self.condition.asv_model, {"enrollment": enrolled, "trial": tested}
        plda = self.asv.default_backend(model) == "plda"
        return asv_sources(self.asv, (model, self.anon_suffix), sets, inputs, own, plda=plda)

    def _enrollment(self) -> Enrollment | None:
        """The enrolled speakers; None for scores without a data folder."""
        try:
            return self.asv.enrollment(*original_sets(self.condition, self.asv.protocol)[0])
        except MissingInput:
            return None

    def _durations(self) -> dict[str, Path]:
        """The files that tell the durations of the trial utterances, or else of the original ones,
        if there are any."""
        data, name = self.asv.access.tree / "data", self.condition.trial_set
        folders = dict.fromkeys((name, original_sets(self.condition, self.asv.protocol)[1][0]))
        path = first_file([data / folder / file for folder in folders for file in _DURATIONS])
        files = {} if path is None else {"durations": path}
        if path is not None and path.name != _DURATIONS[0]:
            segments = path.with_name("segments")
            files |= {"segments": segments} if segments.is_file() else {}
        self.asv.access.check_inside(*files.values())
        return files

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ..io.scores import read_scores, read_trials
        from ..metrics.pairing import pair
        from ..results.records import AmountRecord

        trials = read_trials(inputs.load(paths["trials"]), format="kaldi")
        utt2spk, left_out = inputs.load(paths["utt2spk"]), 0
        known, notes = self._known(inputs, paths, utt2spk)
        if "scores" in paths:
            scores = read_scores(inputs.load(paths["scores"]), format="kaldi")
            allowed = self.asv.access.allow_missing
            paired = pair(scores, trials, allow_missing=allowed, ids=self.asv.protocol.ids)
            left_out = paired.missing + paired.extra
            curve = self._of_scores(paired, paths["scores"], utt2spk, known)
        else:
            curve = self._of_vectors(trials, paths, utt2spk, known)
        remark = f"{left_out} trials and scores left out" if left_out else ""
        record = AmountRecord(
            self.condition,
            "scores" if "scores" in paths else "vectors",
            len(trials.enrolled.used),
            curve.all,
            curve.equal,
            curve.one_session,
            curve.any_session,
            (remark,) if remark else (),
            {"version": __version__, **made_of.provenance()},
        )
        record.check()
        return Content({self.path: record_text(record)}, remark, notes=notes)

    def _known(
        self, inputs: Inputs, paths: Paths, utt2spk: Loaded
    ) -> tuple[KnownSpeech, tuple[str, ...]]:
        """Read what else is known of the test utterances; also say why durations are not."""
        from ..asv.galleries import KnownSpeech

        speaker_of, notes = read_utt2spk(utt2spk), tuple[str, ...]()
        path, enrollment = paths.get("durations"), self._enrollment()
        if path is not None and path not in self.seconds:
            try:
                self.seconds[path] = self._read_seconds(inputs, path, speaker_of)
            except PrivacyEvalError as error:
                if path.name == _DURATIONS[0]:
                    raise
                self.seconds[path] = {}
                notes = (f"seconds of tests are not known: {error}",)
        members = {} if enrollment is None else enrollment.members
        enrolled = {u: speaker for speaker, of in members.items() for u in of}
        sessions = sessions_of({**enrolled, **speaker_of})
        return KnownSpeech(self.seconds[path] if path else {}, sessions), notes

    def _read_seconds(
        self, inputs: Inputs, path: Path, utterances: Collection[str]
    ) -> dict[str, float]:
        """Read the durations of the trial utterances; no command of a wav.scp is run.

        Raises
        ------
        PrivacyEvalError
            Of an utterance there is none.
        """
        if path.name == _DURATIONS[0]:
            return read_utt2dur(inputs.load(path), utterances)
        from ..speech.audio import AudioReader

        access = self.asv.access
        options = {"allow_pipes": True, "allow_outside": access.allow_outside}
        reader = AudioReader(path.parent, base=access.tree, **options)
        if missing := sorted({*utterances} - {*reader.ids}):
            raise PrivacyEvalError(f"{path}: no audio of {abbreviate(missing)}")
        return {utterance: reader.seconds(utterance) for utterance in utterances}

    def _of_scores(
        self, paired: Trials, scores: Path, utt2spk: Loaded, known: KnownSpeech
    ) -> AmountCurve:
        from ..io.scores import with_speakers
        from ..metrics.amount import amounts

        options = self.options
        drawn = {"bootstrap": options.bootstrap, "seed": options.seed}
        with located(scores):
            trials = known.beside(with_speakers(paired, utt2spk))
            return amounts(trials, options.sentences, **drawn)

    def _of_vectors(
        self, trials: Trials, paths: Paths, utt2spk: Loaded, known: KnownSpeech
    ) -> AmountCurve:
        """Compare tests of the trial key's utterances with the speakers whom it enrolls, as scores
        do."""
        from ..asv.galleries import Gallery, GalleryTests

        model, access = self.condition.asv_model, self.asv.access
        speakers = trials.enrolled.used
        enrollment = self.asv.enrollment(*original_sets(self.condition, self.asv.protocol)[0])
        members = {s: u for s, u in enrollment.members.items() if s in {*speakers}}
        if unknown := sorted({*speakers} - members.keys()):
            raise PrivacyEvalError(
                f"{enrollment.path}: {len(unknown)} speakers of {paths['trials']} are not "
                f"enrolled: {abbreviate(unknown)}"
            )
        enrolled, options, scorer = replace(enrollment, members=members), self.options, None
        compared: dict[str, Any] = {
            "allow_missing": access.allow_missing,
            "replicates": options.bootstrap,
            "seed": options.seed,
        }
        if self.aligned is not None:
            attack = self.aligned.attack(paths, trials)
            sides, scorer = (attack.enrolled, attack.tried), attack.scorer
        else:
            names = (paths[f"{role}_vectors"] for role in ("enrollment", "trial"))
            first, second = (self.asv.compared_vectors(model, path) for path in names)
            sides, compared["backend"] = (first, second), self.asv.default_backend(model)
            compared["model"] = self.asv.backend(model, self.anon_suffix)
        tests = GalleryTests(Gallery(sides[0], enrolled), sides[1], utt2spk, **compared)
        tried = {*trials.utterance.used}
        return tests.amounts(options.sentences, scorer=scorer, tried=tried, known=known)


def _amounts(experiment: Experiment, options: AmountOptions) -> Iterator[_Amounts]:
    """Yield the records of conditions with scores that are attacks, or of original speech."""
    aligned, seconds = aligned_scorings(experiment.asv), dict[Path, dict[str, float]]()
    encoders = {a.id: a for a in experiment.asv.protocol.encoder_attackers}
    for system in experiment.systems:
        asv = experiment.asv.of_system(system)
        under_test = system.name in experiment.under_test
        for files in system.conditions:
            c = files.condition
            if c.attack_model is None or files.scores is None:
                continue
            folder = experiment.records_of(system.name, c.results_folder)
            path = folder / f"amount-{c.record_name}.json"
            own, scoring, compared = asv, aligned.get(c), c.is_by_challenge or c in aligned
            if c.attacker in encoders and c.asv_model == ORIGINAL:
                own, compared = asv.of_attacker(encoders[c.attacker]), True
            has_vectors = under_test and compared
            suffix = system.anon_suffix
            yield _Amounts(files, suffix, path, own, has_vectors, scoring, options, seconds)
