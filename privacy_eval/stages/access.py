"""An experiment tree as the stages read it: systems under test, ASV systems, x-vectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..asv.inputs import BACKEND_FILES, Enrollment, TreeVectors, backend_folder, load_enrollment
from ..choices import grouped
from ..errors import PrivacyEvalError, UsageError
from ..io.files import Inputs, check_inside, file_names, relative
from ..products.freshness import (
    Fingerprint,
    MissingInput,
    Outcome,
    Product,
    Run,
    Source,
    Sources,
    bring_up_to_date,
    estimate_lines,
    scoring_cost,
    source_from_fingerprint,
)
from ..protocol.protocol import (
    ANONYMIZED,
    CROPS,
    ORIGINAL,
    PLDA_CROPS,
    AsvModel,
    Attacker,
    Protocol,
    ResultsFolder,
)
from ..tree.conditions import Condition, System, original_sets, trial_conditions
from ..tree.discovery import (
    check_new_results,
    check_suffixes,
    find_key,
    find_key_folders,
    find_systems,
    first_file,
    folder_suffixes,
    guess_suffix,
    key_paths,
    parent_hint,
    results_folders,
)

if TYPE_CHECKING:
    from ..asv.backend import BackendName, PldaBackend
    from ..io.vectors import Vectors

#: The fingerprint of a set's x-vectors, the role of the network in it, and the option of it that is
#: a user's command.
VECTORS_NOTE, EXTRACTOR_ROLE, COMMAND = ".xvectors.json", "extractor", "command"
#: Kinds of `MissingInput`.
VECTORS, BACKEND, KEYS = "x-vectors", "back end", "trial keys"
ENROLLMENT, TRIALS = "enrollment sets", "trial sets"
INPUTS = (VECTORS, BACKEND, KEYS, ENROLLMENT, TRIALS)


@dataclass(frozen=True)
class TreeAccess:
    """A tree, which of its files may be read, and the inputs that a command has read so far.

    Attributes
    ----------
    keys : Path or None
        The only folder to take trial keys from.
    allow_pipes, allow_outside, allow_missing : bool
        Run commands in scp files; follow paths out of the tree; leave out utterances
        without a vector.
    """

    tree: Path
    results: Path
    keys: Path | None = None
    allow_pipes: bool = False
    allow_outside: bool = False
    allow_missing: bool = False
    inputs: Inputs = field(default_factory=Inputs, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.inputs.roots = self.roots

    @property
    def roots(self) -> list[Path]:
        """Folders that may be read; empty if all may."""
        roots = [] if self.allow_outside else [self.tree, self.results, self.keys]
        return [path for path in roots if path is not None]

    @cached_property
    def key_folders(self) -> list[Path]:
        """Folders of trial keys beside `data/`."""
        if self.keys is not None:
            return [self.keys]
        return find_key_folders(*(f for f in (self.tree, self.results) if f.is_dir()))

    def trial_key(self, condition: Condition, protocol: Protocol) -> tuple[Path | None, list[Path]]:
        """Return the trial key of a condition, and the paths searched for it."""
        data = self.tree / "data" if self.keys is None else None
        tried = key_paths(condition, protocol, data, self.key_folders)
        return first_file(tried), tried

    def find_key(self, condition: Condition, protocol: Protocol, *, check: bool = False) -> Path:
        """The key of a condition's trials.

        Parameters
        ----------
        check : bool
            Make sure that keys beside it agree.

        Raises
        ------
        MissingInput
        PrivacyEvalError
            As `tree.discovery.find_key`.
        """
        key, tried = self.trial_key(condition, protocol)
        if check:
            self.check_inside(*(path for path in tried if path.is_file()))
            key = find_key(tried, self.inputs)
        if key is None:
            name = original_sets(condition, protocol)[1][0]
            raise MissingInput(KEYS, relative(tried[0], self.tree), name)
        return key

    def find_enrollment(self, name: str, suffix: str) -> tuple[Path, ...]:
        """Return spk2utt of an enrollment set and, if there is one, its list of utterances; an
        anonymized set without a data folder uses those of the original set.

        Raises
        ------
        MissingInput
        """
        data = self.tree / "data"
        for folder in dict.fromkeys((data / f"{name}{suffix}", data / name)):
            speakers = first_file([folder / "spk2utt", folder / "utt2spk"])
            if speakers is not None:
                enrolls = folder / "enrolls"
                return (speakers, enrolls) if enrolls.is_file() else (speakers,)
        raise MissingInput(ENROLLMENT, f"data/{name}{suffix}/spk2utt", name)

    def find_utt2spk(self, name: str) -> Path:
        """utt2spk of a trial set.

        Raises
        ------
        MissingInput
        """
        path = self.tree / "data" / name / "utt2spk"
        if not path.is_file():
            raise MissingInput(TRIALS, relative(path, self.tree), name)
        return path

    def existing(self, kind: str, path: Path, name: str = "") -> Path:
        """Return a file of the tree, which must be there, and not lead out of it.

        Raises
        ------
        MissingInput
        """
        if not path.is_file():
            raise MissingInput(kind, relative(path, self.tree), name)
        self.check_inside(path)
        return path

    def bring_up_to_date(self, products: Iterable[Product], run: Run) -> Outcome:
        """Make the products that are not current; leave out what is missing if that is allowed."""
        return bring_up_to_date(products, self.inputs, run, allow_missing=self.allow_missing)

    def check_in_tree(self, *paths: Path) -> None:
        """Refuse symbolic links out of the tree, including links into the results folder."""
        if not self.allow_outside:
            check_inside(paths, [self.tree])

    def check_inside(self, *paths: Path) -> None:
        """Refuse symbolic links out of the tree, the results folder and the keys folder."""
        check_inside(paths, self.roots)


@dataclass(frozen=True)
class SystemUnderTest:
    """A system whose conditions are scored from the tree's own x-vectors.

    Attributes
    ----------
    anon_suffix : str
        Suffix of its anonymized sets.
    folders : tuple of (Path, ResultsFolder)
        Its results folders, existing or not, and their entries in the protocol.
    of_edition : tuple of (Path, Condition)
        Folders in which an edition's own evaluation left scores, or where a checkpoint can.
    by_checkpoint : tuple of (Path, Condition)
        The latter, whether or not they have scores.
    recognized : mapping
        What recognizers heard of anonymized speech, by data set and split.
    exps, original_exps : tuple of Path
        As of `System`: where an edition's own evaluation left x-vectors.
    """

    name: str
    anon_suffix: str
    folders: tuple[tuple[Path, ResultsFolder], ...]
    of_edition: tuple[tuple[Path, Condition], ...] = ()
    by_checkpoint: tuple[tuple[Path, Condition], ...] = ()
    recognized: Mapping[tuple[str, str], tuple[Path, ...]] = field(default_factory=dict)
    exps: tuple[Path, ...] = ()
    original_exps: tuple[Path, ...] = ()

    @classmethod
    def of(cls, system: System, results: Path, protocol: Protocol) -> SystemUnderTest:
        """Take a system of the results folder."""
        able = system.by_checkpoint if protocol.has_own_scoring else ()
        left = {
            files.folder: files.condition
            for files in system.conditions
            if protocol.has_own_scoring and files.condition.is_by_challenge and files.scores
        }
        left |= {folder: condition for folder, condition in able if folder not in left}
        recognized: dict[tuple[str, str], tuple[Path, ...]] = {}
        for heard in system.recognition:
            c = heard.condition
            if heard.transcripts is not None and c.trial == ANONYMIZED and not heard.outside:
                recognized[c.data_set, c.split] = (heard.transcripts.hypothesis,)
        folders, exps = results_folders(system, results, protocol), system.exps
        of_system = system.name, system.anon_suffix, tuple(folders)
        return cls(*of_system, (*left.items(),), able, recognized, exps, system.original_exps)

    def scored_conditions(self, protocol: Protocol) -> Iterable[tuple[Path, Condition]]:
        """The conditions that the challenge's own attacker scores, here or elsewhere, each with its
        folder."""
        return self.of_edition if protocol.has_own_scoring else self.conditions(protocol)

    def conditions(self, protocol: Protocol) -> Iterator[tuple[Path, Condition]]:
        """The protocol's conditions, each with its folder."""
        for results, part in self.folders:
            for name, condition in trial_conditions(
                protocol, part, self.anon_suffix, self.name
            ).items():
                yield results / name, condition


def systems_under_test(
    access: TreeAccess,
    protocol: Protocol,
    *,
    systems: Sequence[System] | None = None,
    name: str | None = None,
    anon_suffix: str | Sequence[str] | None = None,
    anonymized: bool = True,
) -> tuple[list[SystemUnderTest], list[str]]:
    """Return the systems that can be scored from the tree, and notes on why others cannot.

    A tree has one set of x-vectors for every anonymization suffix. Systems that share a
    suffix, as in an organizer's collection of submissions, are skipped: the tree cannot
    hold the x-vectors of all of them. Those of an edition are in the folders of the teams.

    Parameters
    ----------
    systems : sequence of System, optional
        Those of the results folder, if already known.
    anonymized : bool
        Whether their anonymized data sets should already exist.

    Raises
    ------
    PrivacyEvalError
        As `find_systems`.
    UsageError
        As `check_suffixes` and `check_new_results`.
    """
    results = access.results
    for folder, what in ((access.tree, "experiment tree"), (access.keys, "keys")):
        if folder is not None and not folder.is_dir():
            raise PrivacyEvalError(f"{folder}: no such folder ({what}){parent_hint(access.tree)}")
    if systems is None and results.is_dir():
        systems = find_systems(
            access.tree,
            results,
            protocol,
            name=name,
            anon_suffix=anon_suffix,
            keys=access.keys,
            allow_outside=access.allow_outside,
        )
    unnamed = [s for s in systems or () if s.problem is not None and not s.unmatched]
    if unnamed and unnamed == systems:
        raise PrivacyEvalError(str(unnamed[0].problem))
    systems = [s for s in systems or () if s not in unnamed]
    suffixes = [anon_suffix] if isinstance(anon_suffix, str) else anon_suffix or ()
    if anonymized:
        check_suffixes(suffixes, systems, access.tree, protocol)
    if not systems:
        named = results.name.startswith("results-") and results.parent.is_dir()
        if not results.is_dir() and not named:
            is_there = (access.tree / "data").is_dir()
            remedy = "create it" if is_there else "get data and models first"
            raise PrivacyEvalError(
                f"{results}: no such folder (results folder); {remedy}, or name another "
                f"by --results{parent_hint(access.tree)}"
            )
        if not results.is_dir():
            check_new_results(results, protocol)
        if name is not None and "/" in name:
            raise UsageError(f"{results}: no system {name!r}; a new one has a name without /")
        if len(suffixes) > 1:
            return [new_system(access, protocol, name=None, anon_suffix=s) for s in suffixes], []
        suffix = next(iter(suffixes), None)
        return [new_system(access, protocol, name=name, anon_suffix=suffix)], []
    sharing = grouped(systems, lambda system: (system.anon_suffix, system.exps[:1]))
    notes = [
        f"{', '.join(s.name for s in several)}: all have the anonymization suffix {suffix!r}, but "
        "the tree can hold the x-vectors of only one of them: no scores are computed for these "
        "systems (--system NAME chooses one)"
        for (suffix, _), several in sharing.items()
        if len(several) > 1
    ]
    notes += [str(system.problem) for system in unnamed]
    alone = [system for (system, *others) in sharing.values() if not others]
    shared = _sharing_speech(alone)
    notes += [
        f"{', '.join(names)}: checkpoints of several systems, and data/*{suffix} has the speech of "
        "only one: nothing is scored by them (--system NAME chooses one)"
        for suffix, names in shared.items()
    ]
    alone = [replace(s, by_checkpoint=()) if s.anon_suffix in shared else s for s in alone]
    return [SystemUnderTest.of(system, results, protocol) for system in alone], notes


def _sharing_speech(systems: Iterable[System]) -> dict[str, list[str]]:
    """Return the anonymization suffixes of several systems with a checkpoint, and their names."""
    able = grouped((s for s in systems if s.by_checkpoint), lambda system: system.anon_suffix)
    return {suffix: [s.name for s in of] for suffix, of in able.items() if len(of) > 1}


def new_system(
    access: TreeAccess, protocol: Protocol, *, name: str | None, anon_suffix: str | None
) -> SystemUnderTest:
    """A system that has no results folder with conditions yet."""
    own = folder_suffixes(access.results, protocol)
    suffix = anon_suffix or guess_suffix([protocol.anon_suffix, *own], protocol, access.tree)
    folders = results_folders(None, access.results, protocol, name=name, anon_suffix=suffix)
    main = folders[0][0].name.removeprefix("results-")
    return SystemUnderTest(name or main, suffix, tuple(folders))


class AsvSystems:
    """The ASV systems of a tree: back ends and x-vectors, each read once.

    Attributes
    ----------
    notes : tuple of str
        Why other systems are excluded, see `systems_under_test`.
    """

    def __init__(
        self,
        access: TreeAccess,
        protocol: Protocol,
        under_test: Iterable[SystemUnderTest] = (),
        notes: Iterable[str] = (),
    ) -> None:
        self.access, self.protocol = access, protocol
        self.under_test, self.notes = tuple(under_test), tuple(notes)
        self._backends: dict[Path, PldaBackend] = {}
        self._vectors: dict[Path, TreeVectors] = {}
        self._enrollments: dict[tuple[Path, ...], Enrollment] = {}
        self._exps: tuple[Path, ...] = (access.results,)
        self._original_exps: tuple[Path, ...] = (access.results,)

    def of_system(self, system: System | SystemUnderTest) -> AsvSystems:
        """Return these ASV systems as they are for a system: with the x-vectors that an edition's
        own evaluation left in its team's folder, and of original speech also in shared ones."""
        asv = copy(self)
        asv._exps = system.exps or asv._exps
        asv._original_exps = system.original_exps or asv._original_exps
        return asv

    def of_attacker(self, attacker: Attacker) -> AsvSystems:
        """Return these ASV systems with the vectors that an attacker compares, and its back end."""
        protocol, model = self.protocol, self.protocol.asv_model(ORIGINAL)
        model = attacker.vectors if attacker.encoder else model
        training = protocol.attacker_training
        if attacker.scoring == PLDA_CROPS and model is not None:
            model = replace(model, backend="plda", training_set=f"{training}{{suffix}}{CROPS}")
        if model is None or model in protocol.asv_models:
            return self
        asv = copy(self)
        asv.protocol = replace(protocol, asv_models=(model,), training_set=training)
        return asv

    def model_folder(self, trained_on: str, suffix: str) -> tuple[AsvModel, str]:
        """The model trained on original or anonymized speech, and its folder.

        Raises
        ------
        MissingInput
            The protocol has no such model.
        """
        model = self.protocol.asv_model(trained_on)
        if model is None:
            kind = f"model trained on {trained_on} speech"
            raise MissingInput(kind, f"not in protocol {self.protocol.name}")
        return model, model.model_folder(suffix)

    @property
    def reads_saved_vectors(self) -> bool:
        """Whether x-vectors are those left by an edition's own evaluation."""
        return self.protocol.has_own_scoring and bool(self.protocol.speaker_vectors)

    def default_backend(self, trained_on: str) -> BackendName:
        """Return the back end of the model trained on original or anonymized speech; cosine for
        x-vectors left by an edition's own evaluation."""
        if self.reads_saved_vectors:
            return "cosine"
        model = self.protocol.asv_model(trained_on)
        return "plda" if model is None else model.backend

    def find_backend(self, trained_on: str, suffix: str) -> Path | None:
        """Return the folder of the back end trained on original or anonymized speech, or None if
        none is needed.

        Raises
        ------
        MissingInput
        """
        if self.default_backend(trained_on) != "plda":
            return None
        model, within = self.model_folder(trained_on, suffix)
        folder = backend_folder(self.access.tree, model, suffix)
        if folder is None:
            where = f"{within}/xvect_{model.training_name(suffix)}/plda"
            raise MissingInput(
                BACKEND,
                f"{where} (with mean.vec, transform.mat), or in {within}",
                trained_on,
                folder=within,
            )
        return folder

    def backend(self, trained_on: str, suffix: str) -> PldaBackend | None:
        """Load the back end trained on original or anonymized speech, if one is needed.

        Raises
        ------
        MissingInput
        PrivacyEvalError
            It is damaged, or leads out of the tree.
        """
        folder = self.find_backend(trained_on, suffix)
        if folder is None:
            return None
        if folder not in self._backends:
            from ..asv.model_folder import load_backend

            self.access.check_inside(*(folder / name for name in BACKEND_FILES))
            self._backends[folder] = load_backend(folder, self.access.inputs.load).model
        return self._backends[folder]

    def backend_files(self, trained_on: str, suffix: str) -> dict[str, Path]:
        """Find the files of that back end, none if it is not needed.

        Raises
        ------
        MissingInput
        PrivacyEvalError
            It leads out of the tree.
        """
        folder = self.find_backend(trained_on, suffix)
        files = {} if folder is None else {name: folder / name for name in BACKEND_FILES}
        there = {name: path for name, path in files.items() if path.is_file()}
        self.access.check_inside(*there.values())
        return there

    @property
    def suffixes(self) -> list[str]:
        """The anonymization suffixes of the systems under test."""
        return list(dict.fromkeys(system.anon_suffix for system in self.under_test))

    def trained_encoders(self, attackers: Collection[str]) -> dict[Path, str]:
        """Return the encoders of the systems under test that attackers need trained, each with
        the anonymization suffix of its system."""
        trained = [a for a in self.protocol.attackers if a.is_trained and a.id in attackers]
        pairs = itertools.product(trained, self.suffixes)
        return {self.access.tree / a.encoder_file(suffix): suffix for a, suffix in pairs}

    def has_saved_vectors(self) -> bool:
        """Whether the edition's own evaluation left x-vectors of any trial set."""
        left = self.protocol.saved_vector_paths
        return any(
            (exp / path).is_file()
            for system in self.under_test
            for exp in system.original_exps or (self.access.results,)
            for part in self.protocol.results_folders
            for trial_set in self.protocol.trial_sets()
            for path in left(part.asv_model, system.anon_suffix, trial_set.trials_name)
        )

    def vectors(self, folder: Path) -> TreeVectors:
        """The x-vectors of a model folder."""
        if folder not in self._vectors:
            self._vectors[folder] = TreeVectors(
                self.access.tree,
                self.protocol,
                folder,
                allow_pipes=self.access.allow_pipes,
                allow_outside=self.access.allow_outside,
                load=self.access.inputs.load,
            )
        return self._vectors[folder]

    def find_vectors(self, trained_on: str, anon_suffix: str, name: str, suffix: str) -> Path:
        """The scp of the x-vectors of a set.

        Raises
        ------
        MissingInput
            None of the candidate files exists.
        """
        if self.reads_saved_vectors:
            left = self.protocol.saved_vector_paths(trained_on, anon_suffix, f"{name}{suffix}")
            is_shared = trained_on == ORIGINAL and not suffix
            exps = self._original_exps if is_shared else self._exps
            saved = [exp / at for exp in exps for at in left]
            path = first_file(saved)
            if path is None:
                where = " or ".join(relative(p, self.access.tree) for p in saved)
                raise MissingInput(VECTORS, where, f"{name}{suffix}")
            return path
        _, folder = self.model_folder(trained_on, anon_suffix)
        vectors = self.vectors(self.access.tree / folder)
        path = vectors.find(name, suffix)
        if path is None:
            tried = (relative(p, self.access.tree) for p in vectors.candidates(name, suffix))
            raise MissingInput(VECTORS, " or ".join(tried), f"{name}{suffix}", folder)
        return path

    def finders(self, model: tuple[str, str], *sets: tuple[str, str]) -> list[Callable[[], object]]:
        """Return functions that find a model's back end and the x-vectors of sets, for `absent`."""
        vectors = [partial(self.find_vectors, *model, *name) for name in sets]
        return [partial(self.find_backend, *model), *vectors]

    def scoring_cost(self, condition: Condition) -> float:
        """Estimate the run time of scoring the trials of a condition."""
        key, _ = self.access.trial_key(condition, self.protocol)
        return scoring_cost(estimate_lines(key))

    def vectors_source(self, scp: Path) -> Source:
        """Return x-vectors that `find_vectors` found as a source, with the digest of their
        content."""
        return Source(scp, self.vectors(scp.parents[1]).digest(scp))

    def sources(
        self,
        model: tuple[str, str],
        sets: Mapping[str, tuple[str, str]],
        inputs: Inputs,
        own: Sources,
        *,
        plda: bool = True,
    ) -> Sources:
        """Return the inputs of a product: the back end of a model if PLDA is needed, `own` sources,
        x-vectors of sets by role, and their network if it is known and the same for all."""
        backend = self.backend_files(*model) if plda else {}
        scps = {role: self.find_vectors(*model, *name) for role, name in sets.items()}
        vectors = {f"{r}_vectors": self.vectors_source(p) for r, p in scps.items()}
        networks = {
            source_from_fingerprint(scp, EXTRACTOR_ROLE, self.access.tree, inputs, VECTORS_NOTE)
            for scp in scps.values()
        }
        network = networks.pop() if len(networks) == 1 else None
        return {**backend, **own, **vectors, **({EXTRACTOR_ROLE: network} if network else {})}

    def read_vectors(self, scp: Path, *, double: bool = False) -> Vectors:
        """Read x-vectors that `find_vectors` found; `double` as in `io.vectors.read_vectors`.
        Vectors of zeros may be left out as missing ones."""
        vectors = self.vectors(scp.parents[1]).read(scp, double=double)
        return vectors.without_zeros() if self.access.allow_missing else vectors

    def compared_vectors(self, trained_on: str, scp: Path) -> Vectors:
        """Read x-vectors as a model's back end averages and compares them: those of `cosine` are
        of unit length, but for the ones that an edition's own evaluation left.

        Raises
        ------
        PrivacyEvalError
            As `read_vectors`; a vector of zeros, unless what is missing is left out.
        """
        vectors = self.read_vectors(scp)
        if self.reads_saved_vectors or self.default_backend(trained_on) != "cosine":
            return vectors
        from ..asv.cosine import unit_vectors

        vectors.rows(vectors.ids, "all")
        unit = unit_vectors(vectors.matrix).astype(vectors.matrix.dtype)
        return replace(vectors, matrix=unit)

    def enrollment(self, name: str, suffix: str) -> Enrollment:
        """Read the enrolled speakers of a set and their utterances.

        Raises
        ------
        MissingInput
        """
        files = self.access.find_enrollment(name, suffix)
        self.access.check_inside(*files)
        if files not in self._enrollments:
            self._enrollments[files] = load_enrollment(*map(self.access.inputs.load, files))
        return self._enrollments[files]


@dataclass(frozen=True)
class Experiment:
    """An experiment tree under evaluation.

    Attributes
    ----------
    systems : list of System
        All systems of the results folder; output folders are named after them.
    out : Path
        Where results are written.
    """

    systems: list[System]
    out: Path
    asv: AsvSystems

    def __post_init__(self) -> None:
        inputs = self.asv.access.inputs
        inputs.roots = [*inputs.roots, self.out] if inputs.roots else []

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of the systems in file names."""
        return file_names(system.name for system in self.systems)

    @property
    def parts(self) -> list[tuple[System, ResultsFolder]]:
        """The systems with each of their results folders."""
        every = itertools.product(self.systems, self.asv.protocol.results_folders)
        return [(system, part) for system, part in every if part.suffix in system.parts]

    def planned(self, options: object) -> Iterator[tuple[System, ResultsFolder, AsvSystems]]:
        """Yield the systems under test, or, where there are no options to make anything with, all
        of them, with each of their results folders, and the tree as it is for the system."""
        for system, part in self.parts:
            if options is None or system.name in self.under_test:
                yield system, part, self.asv.of_system(system)

    def records_of(self, system: str, results_folder: str = "") -> Path:
        """Return the folder of a system's records."""
        return self.out / "records" / f"{self.names[system]}{results_folder}"

    @cached_property
    def under_test(self) -> set[str]:
        """Names of the systems whose x-vectors the tree has."""
        return {system.name for system in self.asv.under_test}


def owners_of(systems: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return anonymization suffixes to the system that alone uses each, or "", from pairs of
    suffix and system."""
    pairs = list(systems)
    suffixes = [suffix for suffix, _ in pairs]
    return {suffix: name if suffixes.count(suffix) == 1 else "" for suffix, name in pairs}


def command_of(stored: Fingerprint | None) -> str | None:
    """Return the command that made x-vectors; None of others."""
    text = None if stored is None else stored.options.get(COMMAND)
    return text if isinstance(text, str) else None
