"""Stage 7: what x-vectors and scores disclose of speakers: who they are, in galleries and by the
amount of speech, and attributes such as their gender.

The gallery of a condition contains all enrolled speakers of its enrollment set, usually of both
genders, and on request those of another data set as distractors; the tests are all utterances of
the trial set. For error rates by the number of sentences of a test, the vectors that an attacker
compares are averaged where the tree has them; of attackers without vectors, and of submissions
without them, the scores. For attributes, the trial sets of a data set and split, of all genders,
are taken together.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import GENDER, SITUATIONS, grouped
from ..cli.inputs import check_distractors, end_if_no_vectors, load_experiment, log_notes
from ..cli.stage_runs import make
from ..errors import PrivacyEvalError, abbreviate, located
from ..io.data_dir import read_spk2gender, read_utt2dur, read_utt2spk
from ..io.files import Inputs, Loaded, file_names, relative
from ..io.user_tables import path_of_labels, read_labels
from ..options import fill
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Paths,
    Product,
    Source,
    Sources,
    absent,
)
from ..protocol.protocol import ANONYMIZED, ORIGINAL, load_protocol
from ..results.record_files import record_content, record_paths, record_text
from ..stages.access import BACKEND, AsvSystems, Experiment
from ..stages.attackers import VectorScoring, scorings_of_wings
from ..stages.options import ATTRIBUTE_REPLICATES, AmountOptions, AttributeOptions, GalleryOptions
from ..stages.privacy_metrics import condition_cost, scores_and_key
from ..stages.records import (
    Recorded,
    is_left,
    label_sources,
    labels_in_tree,
    note_of,
    options_of,
    without_group,
)
from ..tree.conditions import Condition, ConditionFiles, original_sets, trial_conditions
from ..tree.discovery import first_file
from ..version import __version__
from ..wings import provided

if TYPE_CHECKING:
    from ..asv.backend import BackendName
    from ..asv.inputs import Enrollment, Gallery
    from ..io.vectors import Vectors
    from ..metrics.trials import Trials
    from .amount import AmountCurve
    from .attributes import Inferences
    from .gallery_tests import KnownSpeech
    from .identification import Identification

#: Kinds of `MissingInput`.
LABELS, CLASSES = "labels of speakers", "two labels, each of two speakers"

#: Incremented when the same inputs yield different numbers or arrays.
_GALLERIES, _AMOUNTS, _ATTRIBUTES = 4, 2, 1

#: Files of a data folder that tell durations, the first that is there: of audio, its headers.
_DURATIONS = ("utt2dur", "wav.scp")


#: Attributes of `Identification` that its record has.
_ALIKE = (
    *("rank", "length", "n_enrolled", "enrollment_utterances", "utterances_left_out"),
    "n_distractors",
)


def identification_rows(
    found: Identification, groups: Mapping[str, Mapping[str, Iterable[Mapping[str, Any]]]]
) -> Iterator[dict[str, Any]]:
    """Yield rates in galleries, of singling out, of single speakers and halves of their tests, of
    those who are named instead, and of groups by column of metadata."""
    from .linkage import HALVES

    shared, singled = {"rank": found.rank}, found.singling_out
    for row in found.rows_of_linkage:
        yield {**row, "n_speakers": len(found.test_speakers)}
    for row in singled.to_rows():
        rate = {name: row[name] for name in ("metric", "value", "low", "high", "gallery")}
        yield {**rate, "n_speakers": singled.n_speakers}
    for of in found.speakers():
        place = {"gallery": found.speakers_size, "speaker": of.speaker, **shared}
        counts = {"n_tests": of.n_tests, "n_speakers": 1}
        yield {"metric": "linkage", "value": of.linkage, **place, **counts}
        for half, value in zip(HALVES, (of.first, of.second), strict=True):
            yield {"metric": "linkage", "value": value, **place, "fold": half, "n_speakers": 1}
    yield from found.rows_of_instead
    for column, named in groups.items():
        for name, rates in named.items():
            for of_group in rates:
                yield {**of_group, **shared, "group_by": column, "group": name}


@dataclass(frozen=True)
class _Galleries(Recorded):
    """The galleries of one condition."""

    options: GalleryOptions
    anon_suffix: str

    @property
    def attributes(self) -> dict[str, Any]:
        groups = {"groups": list(self.groups)} if self.groups else {}
        return {
            "files": record_paths(self.path),
            "options": {**asdict(self.options), **groups},
            "revision": _GALLERIES,
            "cost": partial(self.asv.scoring_cost, self.condition),
        }

    @property
    def groups(self) -> tuple[str, ...]:
        """`FILE:COLUMN` of the groups of speakers that are evaluated, too."""
        return self.asv.protocol.groups

    @property
    def backend(self) -> BackendName:
        """The requested back end, or by default the one of the ASV model."""
        if self.options.backend != "plda":
            return self.options.backend
        return self.asv.default_backend(self.condition.asv_model)

    def find(self, inputs: Inputs) -> Sources:
        enrolled, tested = original_sets(self.condition, self.asv.protocol)
        more = self.options.distractors
        galleries = {"enrollment": enrolled}
        if more:
            galleries["distractors"] = more, enrolled[1]
        for error in missing_inputs(self.condition, self.anon_suffix, self.asv, more):
            if self.backend == "plda" or error.kind != BACKEND:
                raise error
        model = self.condition.asv_model, self.anon_suffix
        utt2spk = self.asv.access.find_utt2spk(tested[0])
        self.asv.access.check_inside(utt2spk)
        sources: dict[str, Path | Source] = {"utt2spk": utt2spk}
        sources |= label_sources(self.groups, self.asv.access.tree, inputs)
        for role, name in galleries.items():
            enrollment = self.asv.enrollment(*name)
            sources[role] = Source(enrollment.path, enrollment.digest)
            genders = self.asv.access.find_enrollment(*name)[0].with_name("spk2gender")
            if genders.is_file():
                self.asv.access.check_inside(genders)
                sources[f"{role}_genders"] = genders
        sets = {**galleries, "trial": tested}
        return self.asv.sources(model, sets, inputs, sources, plda=self.backend == "plda")

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ..results.measurements import without_blanks
        from .gallery_tests import GalleryTests
        from .identification import identified

        enrolled, _ = original_sets(self.condition, self.asv.protocol)
        more = self.options.distractors
        gallery, genders = self._gallery("enrollment", enrolled, paths, inputs)
        distractors = None
        if more:
            name = more, enrolled[1]
            of_tests = {*genders.values()}
            distractors, of_more = self._gallery("distractors", name, paths, inputs, of_tests)
            genders = {**genders, **of_more} if genders and of_more else {}
        model = self.condition.asv_model, self.anon_suffix
        rank, drawn = self.options.rank, (self.options.bootstrap, self.options.seed)
        tests = GalleryTests(
            gallery,
            self.asv.compared_vectors(self.condition.asv_model, paths["trial_vectors"]),
            inputs.load(paths["utt2spk"]),
            self.backend,
            self.asv.backend(*model) if self.backend == "plda" else None,
            self.options.length,
            distractors,
            self.asv.access.allow_missing,
            *drawn,
        )
        attack = identified(tests.rank(), None, rank, *drawn, genders)
        groups, remarks = {}, []
        for labels in labels_in_tree(self.groups, self.asv.access.tree):
            group_of, without = tests.groups(labels)
            if of_groups := tests.identify_groups(group_of, rank):
                groups[labels.column] = of_groups
            n_own = attack.n_enrolled - attack.n_distractors
            n_speakers = n_own + len(attack.not_enrolled)
            remarks += without_group(labels, self.asv.access.tree, without, n_speakers)
        provenance = {"version": __version__, "backend": self.backend, **made_of.provenance()}
        facts = {
            **{name: getattr(attack, name) for name in _ALIKE},
            "n_tests": len(attack.speaker),
            "n_speakers": len(attack.test_speakers),
            "not_enrolled": len(attack.not_enrolled),
            "distractors": self.options.distractors or None,
            "genders": tuple(sorted({*genders.values()})) or None,
            "refused": attack.singling_out.refused or None,
        }
        rows = map(without_blanks, identification_rows(attack, groups))
        record = self.record_of("identification", rows, facts=facts, provenance=provenance)
        arrays = {
            "speakers": attack.test_speakers,
            "speaker": attack.speaker,
            "beaten": attack.beaten,
        }
        lost = attack.without_vector
        left_out = f"{lost} utterances without x-vectors left out" if lost else ""
        refused = attack.singling_out.refused
        notes = (f"no singling out: {refused}",) if refused else ()
        content = record_content(self.path, record, arrays)
        return Content(content, left_out, tuple(remarks), notes)

    def _gallery(
        self,
        role: str,
        name: tuple[str, str],
        paths: Paths,
        inputs: Inputs,
        only: Collection[str] = (),
    ) -> tuple[Gallery, dict[str, str]]:
        """Read a gallery and the genders of its speakers, none if any is unknown; with `only`,
        leave out speakers of other genders."""
        from ..asv.inputs import Gallery

        trained_on = self.condition.asv_model
        vectors = self.asv.compared_vectors(trained_on, paths[f"{role}_vectors"])
        enrollment, of = self.asv.enrollment(*name), paths.get(f"{role}_genders")
        if of is None:
            return Gallery(vectors, enrollment), {}
        gender_of = read_spk2gender(inputs.load(of))
        if any(speaker not in gender_of for speaker in enrollment.members):
            return Gallery(vectors, enrollment), {}
        members = {s: u for s, u in enrollment.members.items() if not only or gender_of[s] in only}
        if not members:
            raise PrivacyEvalError(f"{of}: no distractor of gender {' or '.join(only)}")
        return Gallery(vectors, replace(enrollment, members=members)), {
            s: gender_of[s] for s in members
        }


def missing_inputs(
    condition: Condition, anon_suffix: str, asv: AsvSystems, distractors: str | None = None
) -> list[MissingInput]:
    """Return the missing inputs of a condition's galleries, without reading any file."""
    enrolled, tested = original_sets(condition, asv.protocol)
    more = (distractors or enrolled[0], enrolled[1])
    return absent(
        lambda: asv.access.find_enrollment(*enrolled),
        lambda: asv.access.find_enrollment(*more),
        lambda: asv.access.find_utt2spk(tested[0]),
        *asv.finders((condition.asv_model, anon_suffix), enrolled, more, tested),
    )


def plan_identification(
    experiment: Experiment, options: GalleryOptions | None = None
) -> Iterator[Product]:
    """Yield the identification records of all attacks; without options, those that are there."""
    for system, part, asv in experiment.planned(options):
        folder = experiment.records_of(system.name, part.suffix)
        conditions = trial_conditions(asv.protocol, part, system.anon_suffix, system.name)
        for name, condition in conditions.items():
            path = folder / f"identification-{name}.json"
            if condition.attack_model is not None and (options or is_left(path)):
                made_with = options or options_of(note_of(path), GalleryOptions)
                yield _Galleries(condition, path, asv, made_with, system.anon_suffix).product()


@dataclass(frozen=True)
class _Amounts(Recorded):
    """The record of one condition.

    Attributes
    ----------
    has_vectors : bool
        Whether the tree may have the x-vectors that its scores are of.
    aligned : VectorScoring or None
        How these are compared by an attacker of a wing.
    seconds : dict
        Durations by the file that tells them: read once for all conditions.
    """

    options: AmountOptions
    files: ConditionFiles
    anon_suffix: str
    has_vectors: bool
    aligned: VectorScoring | None
    seconds: dict[Path, dict[str, float]] = field(compare=False, repr=False)

    @property
    def by_vectors(self) -> bool:
        """Whether vectors are averaged, or else scores."""
        if self.aligned is not None:
            return self.has_vectors and not self.aligned.absent()
        return self.has_vectors and not missing_inputs(self.condition, self.anon_suffix, self.asv)

    @property
    def attributes(self) -> dict[str, Any]:
        options = self.options
        return {
            "options": {
                **asdict(options),
                "seed": options.seed if options.bootstrap else 0,
                **({"ids": list(ids)} if (ids := self.asv.protocol.ids) else {}),
            },
            "revision": _AMOUNTS,
            "cost": lambda: condition_cost(self.files) * (1 + options.bootstrap),
        }

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
        return self.asv.sources((model, self.anon_suffix), sets, inputs, own, plda=plda)

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
        from ..results.measurements import without_blanks

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
        averaged = "scores" if "scores" in paths else "vectors"
        facts = {"averaged": averaged, "n_enrolled": len(trials.enrolled.used)}
        record = self.record_of(
            "amounts",
            map(without_blanks, curve.to_rows()),
            made_of,
            facts=facts,
            remarks=(remark,) if remark else (),
        )
        return Content({self.path: record_text(record)}, remark, notes=notes)

    def _known(
        self, inputs: Inputs, paths: Paths, utt2spk: Loaded
    ) -> tuple[KnownSpeech, tuple[str, ...]]:
        """Read what else is known of the test utterances; also say why durations are not."""
        from .gallery_tests import KnownSpeech, sessions_of

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
        seconds: dict[str, float] = provided("durations")(self.asv.access, path.parent, utterances)
        return seconds

    def _of_scores(
        self, paired: Trials, scores: Path, utt2spk: Loaded, known: KnownSpeech
    ) -> AmountCurve:
        from ..io.scores import with_speakers
        from .amount import amounts

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
        from ..asv.inputs import Gallery
        from .gallery_tests import GalleryTests

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


def plan_amounts(experiment: Experiment, options: AmountOptions | None = None) -> Iterator[Product]:
    """Yield the records of conditions with scores that are attacks, or of original speech, of all
    systems; without options, those that are there."""
    every = scorings_of_wings(experiment.asv)
    aligned = {s.condition: s for s in every if isinstance(s, VectorScoring)}
    seconds = dict[Path, dict[str, float]]()
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
            if options is None and not is_left(path):
                continue
            own, scoring, compared = asv, aligned.get(c), c.is_by_challenge or c in aligned
            if c.attacker in encoders and c.asv_model == ORIGINAL:
                own, compared = asv.of_attacker(encoders[c.attacker]), True
            made_with, has_vectors = options or AmountOptions(), under_test and compared
            one = (c, path, own, made_with, files, system.anon_suffix, has_vectors, scoring)
            yield _Amounts(*one, seconds).product()


@dataclass(frozen=True)
class _Attribute(Recorded):
    """The record of a data set and split.

    Attributes
    ----------
    sets : tuple of str
        Trial sets.
    """

    options: AttributeOptions
    sets: tuple[str, ...]
    anon_suffix: str

    @property
    def attributes(self) -> dict[str, Any]:
        return {"revision": _ATTRIBUTES}

    def find(self, inputs: Inputs) -> Sources:
        access = self.asv.access
        own: dict[str, Path] = {f"utt2spk of {n}": access.find_utt2spk(n) for n in self.sets}
        own |= self._label_files()
        access.check_inside(*own.values())
        label_of, _ = self._label_of_speaker(inputs)
        counts = [*label_of.values()]
        if sum(counts.count(label) > 1 for label in set(counts)) < 2:
            where = " and ".join(relative(p, access.tree) for p in self._label_files().values())
            raise MissingInput(CLASSES, f"{where} ({self.condition.name})", self.condition.name)
        sets = {f"{n}{s}": (n, s) for s in ("", self.anon_suffix) for n in self.sets}
        model = self.condition.asv_model, self.anon_suffix
        return self.asv.sources(model, sets, inputs, own, plda=False)

    def _label_files(self) -> dict[str, Path]:
        """Find the files that name labels, by role."""
        tree = self.asv.access.tree
        if self.options.labels == GENDER:
            files = {f"genders of {n}": tree / "data" / n / "spk2gender" for n in self.sets}
        else:
            files = {"labels": path_of_labels(tree / self.options.labels)}
        for path in files.values():
            if not path.is_file():
                raise MissingInput(LABELS, relative(path, tree), path.name)
        return files

    def _speaker_of(self, inputs: Inputs) -> dict[str, str]:
        """Read the speakers of the utterances."""
        speaker_of: dict[str, str] = {}
        for name in self.sets:
            path = self.asv.access.find_utt2spk(name)
            for utterance, speaker in read_utt2spk(inputs.load(path)).items():
                if speaker_of.setdefault(utterance, speaker) != speaker:
                    raise PrivacyEvalError(
                        f"{path}: {utterance} is of {speaker}, in another trial set of "
                        f"{speaker_of[utterance]}"
                    )
        return speaker_of

    def _label_of_speaker(self, inputs: Inputs) -> tuple[dict[str, str], list[str]]:
        """Read the labels of speakers; also return the speakers without one.

        Raises
        ------
        PrivacyEvalError
            A speaker with several labels, or without a gender.
        """
        speaker_of = self._speaker_of(inputs)
        speakers = sorted({*speaker_of.values()})
        if self.options.labels != GENDER:
            return read_labels(str(self.asv.access.tree / self.options.labels)).groups(speaker_of)
        genders: dict[str, str] = {}
        for path in self._label_files().values():
            for speaker, gender in read_spk2gender(inputs.load(path)).items():
                if genders.setdefault(speaker, gender) != gender:
                    raise PrivacyEvalError(
                        f"{path}: speaker {speaker!r} has another gender than in another trial set"
                    )
        unknown = [s for s in speakers if s not in genders]
        if unknown:
            raise PrivacyEvalError(f"{path}: no gender of {abbreviate(unknown)}")
        return {speaker: genders[speaker] for speaker in speakers}, []

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        import numpy as np

        from .attributes import infer_attribute

        label_of, without = self._label_of_speaker(inputs)
        speaker_of = {u: s for u, s in self._speaker_of(inputs).items() if s in label_of}
        read = partial(self._vectors, paths)
        sets = [[f"{n}{s}" for n in self.sets] for s in ("", self.anon_suffix)]
        both = [dict(chain.from_iterable(map(read, names))) for names in sets]
        lacking = [u for u in speaker_of if any(u not in of for of in both)]
        if lacking and not self.asv.access.allow_missing:
            raise PrivacyEvalError(
                f"{self.condition.name}: {len(lacking)} utterances have no vector of original or "
                f"anonymized speech: {abbreviate(lacking)}"
            )
        utterances = [u for u in speaker_of if all(u in of for of in both)]
        speakers = [speaker_of[u] for u in utterances]
        with located(f"{self.options.labels}, {self.condition.name}"):
            results = infer_attribute(
                np.array([both[0][u] for u in utterances]),
                [label_of[s] for s in speakers],
                speakers,
                anonymized=np.array([both[1][u] for u in utterances]),
                folds=self.options.folds,
                bootstrap=self.options.bootstrap,
                seed=self.options.seed,
            )
        facts = {
            "classes": Counter(sorted(label_of[s] for s in {*speakers})),
            "n_utterances": len(utterances),
            "speakers_left_out": len(without),
            "utterances_left_out": len(lacking),
        }
        record = self.record_of("attributes", self._rows(results), made_of, facts=facts)
        remark = f"{len(without)} of {len(label_of) + len(without)} speakers have no "
        remarks = (remark + self.condition.attribute,) if without else ()
        left_out = f"{len(lacking)} utterances without x-vectors left out" if lacking else ""
        return Content({self.path: record_text(record)}, left_out, remarks)

    def _vectors(self, paths: Paths, name: str) -> Iterator[tuple[str, object]]:
        """Yield the vectors of the utterances of a set."""
        vectors: Vectors = self.asv.read_vectors(paths[f"{name}_vectors"])
        rows = vectors.rows(vectors.ids, name)
        vectors.warn_if_equal(vectors.ids)
        return zip(vectors.ids, vectors.matrix[rows], strict=True)

    def _rows(self, results: Inferences) -> Iterator[dict[str, Any]]:
        """Yield the rows of all situations, with the risk of the one that is reported."""
        from .attributes import reported_situation

        n_speakers, reported = len(results.label_of_speaker), reported_situation(results)
        for row in results.to_rows():
            situation = row["situation"]
            if row["metric"] != "inference_risk" or situation == reported:
                trial = ORIGINAL if situation == SITUATIONS[0] else ANONYMIZED
                yield {**row, "trial": trial, "n_speakers": n_speakers}


def plan_attributes(
    experiment: Experiment, options: Sequence[AttributeOptions] | None = None
) -> Iterator[Product]:
    """Yield the records of attributes, `options` of each."""
    seen: set[tuple[str, str]] = set()
    for system, part, asv in experiment.planned(options):
        folder, vectors = experiment.records_of(system.name, part.suffix), part.asv_model
        model = asv.protocol.asv_model(part.asv_model)
        if model is not None and not asv.protocol.speaker_vectors:
            vectors = model.model_folder(system.anon_suffix)
        if (system.name, vectors) in seen:
            continue  # back ends of the same x-vectors
        seen.add((system.name, vectors))
        notes = sorted(folder.glob(f".attributes-*{NOTE}")) if options is None else ()
        made_with = options or dict.fromkeys(options_of(note, AttributeOptions) for note in notes)
        sets = grouped(asv.protocol.trial_sets(), lambda t: (t.data_set.id, t.split))
        for one, ((data_set, split), trial_sets) in product(made_with, sets.items()):
            column = one.labels if one.labels == GENDER else read_column(one.labels)
            condition = Condition(
                system.name,
                part.suffix,
                f"{data_set}_{split}_{column}",
                data_set,
                split,
                asv_model=part.asv_model,
                attribute=column,
            )
            path = (
                folder / f"{next(iter(file_names([f'attributes-{condition.name}']).values()))}.json"
            )
            unique = tuple(dict.fromkeys(t.trials_name for t in trial_sets))
            if options or one == options_of(note_of(path), AttributeOptions):
                yield _Attribute(condition, path, asv, one, unique, system.anon_suffix).product()


def read_column(labels: str) -> str:
    """Return the name of the attribute that `FILE:COLUMN` names."""
    return labels.rpartition(":")[2] if ":" in labels else Path(labels).name.rpartition("2")[2]


def identification(arguments: argparse.Namespace) -> int:
    """Stage 7."""
    experiment, failed = load_experiment(arguments), 0
    if not end_if_no_vectors(arguments, experiment.asv, "identification"):
        log_notes(experiment.asv.notes)
        check_distractors(arguments)
        planned = plan_identification(experiment, fill(GalleryOptions, arguments))
        failed = make(arguments, experiment, planned, "identifications")
    sentences = arguments.sentences or experiment.asv.protocol.sentences
    if not sentences:
        return failed
    options = fill(AmountOptions, arguments, sentences=tuple(sorted(sentences)))
    planned = plan_amounts(experiment, options)
    return make(arguments, experiment, planned, "amounts of speech") or failed


def attributes(arguments: argparse.Namespace) -> int:
    """Stage 7."""
    labels = arguments.attribute or load_protocol(arguments.conf, base=arguments.tree).attributes
    if not labels:
        return 0  # nothing was asked for
    experiment = load_experiment(arguments, warn=False)
    if end_if_no_vectors(arguments, experiment.asv, "attributes"):
        return 0
    log_notes(experiment.asv.notes)
    replicates = arguments.bootstrap or ATTRIBUTE_REPLICATES
    options = [fill(AttributeOptions, arguments, bootstrap=replicates, labels=n) for n in labels]
    return make(arguments, experiment, plan_attributes(experiment, options), "attributes")
