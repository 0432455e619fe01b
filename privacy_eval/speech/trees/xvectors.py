"""Stage 5: extract the x-vectors of a tree's data sets with Kaldi's networks or an encoder.

The x-vectors of a few hundred utterances are one product, so that jobs share a set and a killed
run resumes; a set is combined once all of its parts are there. A user's command is run once per
data set and writes x-vectors of any format; they are checked, and stored as the built-in extractor
stores them. External x-vectors are kept.

In trees of an edition with its own evaluation, vectors are made by the checkpoints that it left, in
the files that it writes, of recordings as it reads them.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from ...asv.inputs import KALDI_VECTORS, OTHER_VECTORS, TreeVectors, vector_file
from ...errors import PrivacyEvalError, describe
from ...io.arrays import write_torch_vectors
from ...io.files import Inputs, digest, read_bytes, refuse_symlinks, relative
from ...io.vectors import FloatMatrix, Vectors, read_vectors, write_vectors
from ...products.freshness import (
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Source,
    Sources,
    bring_up_to_date,
)
from ...protocol.protocol import CROPS
from ...stages.access import COMMAND, EXTRACTOR_ROLE, VECTORS_NOTE, AsvSystems, command_of
from ...stages.asv_scores import checkpoint_sets, vector_sets
from ...stages.attackers import SECONDS
from ...tree.discovery import checkpoints
from ..audio import AudioReader
from ..ecapa import Ecapa
from ..encoders import Encoder, EncoderChoice, encode_utterances
from ..features import (
    CHALLENGE_MFCC,
    CHALLENGE_VAD,
    MfccOptions,
    VadOptions,
    utterance_features,
)
from ..xvector import (
    EXTRACTOR_FILES,
    Extractor,
    assumed_sizes,
    load_extractor,
    read_options,
    save_vectors,
    utterance_vectors,
)
from .recordings import audio_reader, encoder_of
from .user_command import UserCommand, check_written

#: Kinds of `MissingInput`.
EXTRACTOR, _SPEECH = "x-vector extractor", "speech of data sets"

_PART_UTTERANCES = 250
#: Files of the x-vectors of a set.
_FILES = ("spk_xvector.ark", "spk_xvector.scp", "xvector.ark", "xvector.scp")
#: What the word for the model folder becomes in a command, beside the folders.
MODEL = "{model}"
#: Folder, within that of the x-vectors, that the command writes to; it is removed afterwards.
_WRITTEN = "extracted"
#: Kaldi's option files in a tree.
_MFCC, _VAD = "conf/mfcc.conf", "conf/vad.conf"
_BYTES_PER_SECOND = 32000.0


def make_vectors(
    asv: AsvSystems,
    run: Run = Run(),
    attackers: Collection[str] = (),
    command: UserCommand | None = None,
    encoder: EncoderChoice | None = None,
    cache: Path | None = None,
) -> Outcome:
    """Extract all x-vectors that scores of the systems under test need, by the challenge's own and
    the named attackers, and that are not current.

    Each of several jobs extracts its share of the parts, or of the sets by a command; a run without
    jobs combines the sets. An `encoder` takes the place of Kaldi's networks; without either,
    x-vectors that a command made are kept. The encoders that the protocol's attackers name come
    before both; their models are in the `cache`, by default the user's. Where an attacker names a
    folder of vectors in the place of an encoder, the `command` makes those, and no others.
    """
    names, folders = vector_sets(asv, attackers), asv.protocol.external_vector_folders
    needed, tree = asv.trained_encoders(attackers), asv.access.tree
    untrained = {relative(f.parent, tree): f for f in needed if not f.is_file()}
    shared = {
        f: SharedExtraction(asv, encoder_of(asv, f, cache) or (None if f in folders else encoder))
        for _, f in names
    }
    outcome = Outcome()
    if command is not None:
        by_command = folders or {f for f in shared if shared[f].encoder is None}
        of_command = [(name, f) for name, f in names if f in by_command]
        outcome = extract_by_command(asv, of_command, command, run)
        names = [one for one in names if one not in of_command]
    sets: list[ExtractedSet] = []
    for name, folder in names:
        own = shared[folder]
        if folder in untrained:
            missing = MissingInput("encoder", relative(untrained[folder], tree), folder=folder)
            outcome.missing[f"{folder}/xvect_{name}"] = missing
            continue
        earlier = None if own.encoder else earlier_extraction(asv, name, folder)
        if earlier is None:
            sets.append(ExtractedSet(name, folder, own))
        elif run.job == (1, 1):
            outcome.add(earlier)
    outcome.add(extract(sets, asv, run))
    return outcome


def extract(sets: Sequence[ExtractedSet], asv: AsvSystems, run: Run) -> Outcome:
    """Extract the x-vectors of sets by the built-in extractor."""
    inputs = asv.access.inputs
    parts: list[Part] = []
    outcome = Outcome()
    for one in sets:
        try:
            if not one.product().is_foreign(inputs):
                one.shared.extractor_files(Path(one.model_folder))
                parts += one.parts
        except MissingInput as error:
            outcome.missing[one.name] = error
        except Exception as error:
            outcome.failed[one.name] = describe(error)
    extracted = asv.access.bring_up_to_date([p.product() for p in parts], run)
    if run.job != (1, 1):
        outcome.add(extracted)
        return outcome
    missing = {*extracted.failed, *(extracted.made if run.dry_run else ())}
    incomplete = dict.fromkeys(part.set.name for part in parts if part.name in missing)
    skipped = {*outcome.missing, *outcome.failed, *incomplete}
    whole = [one.product() for one in sets if one.name not in skipped]
    outcome.notes += extracted.notes
    outcome.add(bring_up_to_date(whole, inputs, replace(run, progress=None)))
    outcome.notes += _assumptions(parts if outcome.made else [])
    outcome.made += incomplete if run.dry_run else ()
    outcome.failed |= extracted.failed
    outcome.left_out |= extracted.left_out
    return outcome


def _assumptions(parts: Iterable[Part]) -> list[str]:
    """Name the defaults of the chunk sizes that extractors do not give."""
    folders = {p.set.model_folder: p.set.shared for p in parts if p.set.shared.encoder is None}
    texts = {f: assumed_sizes(shared.extractor_files(Path(f))) for f, shared in folders.items()}
    return [f"{folder}: {text}" for folder, text in texts.items() if text]


@dataclass(frozen=True)
class SharedExtraction:
    """Options, audio readers and extractors shared by sets and parts."""

    asv: AsvSystems
    encoder: EncoderChoice | None = None
    _readers: dict[Path, AudioReader] = field(default_factory=dict)
    _extractors: dict[Path, Extractor] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        return self.asv.access.tree

    @cached_property
    def options(self) -> tuple[MfccOptions, VadOptions]:
        """The tree's options, by default the challenge's."""
        mfcc, vad = self.tree / _MFCC, self.tree / _VAD
        self.asv.access.check_inside(*(path for path in (mfcc, vad) if path.is_file()))
        return (
            read_options(mfcc, MfccOptions) if mfcc.is_file() else CHALLENGE_MFCC,
            read_options(vad, VadOptions) if vad.is_file() else CHALLENGE_VAD,
        )

    def reader(self, data: Path) -> AudioReader:
        if data not in self._readers:
            mix = self.encoder is not None
            self._readers[data] = audio_reader(self.asv.access, data, mix=mix)
        return self._readers[data]

    def extractor_files(self, folder: Path) -> dict[str, Path]:
        """The files of an extractor, the network or model first.

        Raises
        ------
        MissingInput
        """
        if self.encoder is not None:
            return self.encoder.files
        paths = {name: self.tree / folder / name for name in EXTRACTOR_FILES}
        if not paths[EXTRACTOR_FILES[0]].is_file():
            raise MissingInput(EXTRACTOR, f"{folder}/{EXTRACTOR_FILES[0]}", folder=str(folder))
        paths = {name: path for name, path in paths.items() if path.is_file()}
        self.asv.access.check_inside(*paths.values())
        return paths

    def sources(self, folder: Path, inputs: Inputs) -> Sources:
        """The files of an extractor, as fingerprints name them: those of an encoder by its name,
        without the folders of the user's cache."""
        files = self.extractor_files(folder)
        if self.encoder is None:
            return files
        name = self.tree / Path(self.encoder.name).name
        return {role: Source(name, inputs.sha256(path)) for role, path in files.items()}

    def network(self, folder: Path, inputs: Inputs) -> Path | Source:
        """The network or model as results name it."""
        if self.encoder is not None:
            model = self.encoder.files.get("model")
            sha256 = self.encoder.identity("" if model is None else inputs.sha256(model))
            return Source(self.tree / Path(self.encoder.name).name, sha256)
        return network_source(self.extractor_files(folder), inputs)

    @cached_property
    def loaded_encoder(self) -> Encoder:
        assert self.encoder is not None
        return self.encoder.load()

    @property
    def settings(self) -> dict[str, Any]:
        """What vectors depend on beside files."""
        if self.encoder is not None:
            return self.encoder.options
        mfcc, vad = self.options
        return {"mfcc": vars(mfcc), "vad": vars(vad)}

    def extractor(self, folder: Path) -> Extractor:
        if folder not in self._extractors:
            self._extractors[folder] = load_extractor(self.tree / folder)
        return self._extractors[folder]


#: The challenge's `extract.config`; another one makes other x-vectors of the same network.
_CHALLENGE_CONFIG = b"output-node name=output input=tdnn6.affine"


def network_source(files: Mapping[str, Path], inputs: Inputs) -> Source:
    """Return the network of an extractor with the digest that results name it by: of `final.raw`,
    and of `extract.config` where that is not the challenge's."""
    network, config = (files.get(name) for name in EXTRACTOR_FILES[:2])
    assert network is not None
    sha256 = inputs.sha256(network)
    content = _CHALLENGE_CONFIG if config is None else inputs.load(config).content
    if content.split() != _CHALLENGE_CONFIG.split():
        sha256 = digest(f"{sha256} {digest(content)}".encode())
    return Source(network, sha256)


def vectors_product(
    asv: AsvSystems,
    name: str,
    find: Callable[[Inputs], Sources],
    make: Callable[[Inputs, Paths, Fingerprint], Content],
) -> Product:
    """Return the product of the x-vectors in a folder of the tree; external ones, of any format,
    are kept."""
    folder = asv.access.tree / name
    return Product(
        name,
        asv.access.tree,
        folder / VECTORS_NOTE,  # a back end may be there, too
        tuple(folder / file for file in _FILES),
        find,
        make,
        guarded=True,
        rivals=tuple(folder / file for file in OTHER_VECTORS),
    )


def packed_vectors(
    folder: Path, ids: Sequence[str], matrix: FloatMatrix, utt2spk: Path, tree: Path
) -> dict[Path, bytes]:
    """Return the files of a set's x-vectors, in an order in which they may be written."""
    with tempfile.TemporaryDirectory() as scratch:
        new = Path(scratch, relative(folder, tree))
        save_vectors(new, ids, matrix, utt2spk, tree=Path(scratch))
        return {folder / name: read_bytes(new / name) for name in _FILES}


@dataclass(frozen=True)
class ExtractedSet:
    """The x-vectors of a data set that are extracted here."""

    data_set: str
    model_folder: str
    shared: SharedExtraction

    @property
    def name(self) -> str:
        """Folder of the x-vectors, relative to the tree."""
        return f"{self.model_folder}/xvect_{self.data_set}"

    @property
    def folder(self) -> Path:
        return self.shared.tree / self.name

    @property
    def data(self) -> Path:
        """Folder of the speech."""
        return self.shared.tree / "data" / self.data_set

    def product(self) -> Product:
        return vectors_product(self.shared.asv, self.name, self.find, self.make)

    @cached_property
    def parts(self) -> list[Part]:
        ids = self.shared.reader(self.data).ids
        count = -(-len(ids) // _PART_UTTERANCES)
        ranges = (range(n * len(ids) // count, (n + 1) * len(ids) // count) for n in range(count))
        return [Part(self, n, tuple(ids[i] for i in r)) for n, r in enumerate(ranges, 1)]

    def find(self, inputs: Inputs) -> Sources:
        paths = [self.data / "utt2spk", *(part.archive for part in self.parts)]
        missing = [path for path in paths if not path.is_file()]
        if missing:
            raise MissingInput("part of the x-vectors", relative(missing[0], self.shared.tree))
        self.shared.asv.access.check_inside(paths[0])
        network = self.shared.network(Path(self.model_folder), inputs)
        named = {relative(path, self.shared.tree): path for path in paths}
        return {**named, EXTRACTOR_ROLE: network}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        archives = [part.archive for part in self.parts if part.archive.stat().st_size]
        if not archives:
            raise PrivacyEvalError(f"{self.data}: no utterance has an x-vector")
        vectors = [read_vectors(archive) for archive in archives]
        ids = list(itertools.chain.from_iterable(v.ids for v in vectors))
        matrix = np.concatenate([v.matrix for v in vectors])
        return Content(self.packed(ids, matrix))

    def packed(self, ids: Sequence[str], matrix: FloatMatrix) -> dict[Path, bytes]:
        """Return the files, in an order in which they may be written."""
        utt2spk = self.data / "utt2spk"
        return packed_vectors(self.folder, ids, matrix, utt2spk, self.shared.tree)


@dataclass(frozen=True)
class Part:
    """The x-vectors of some of a set's utterances, in an archive that may be empty."""

    set: ExtractedSet
    number: int
    ids: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.set.name} ({self.number} of {len(self.set.parts)})"

    @property
    def archive(self) -> Path:
        return self.set.folder / "parts" / f"{self.number}.ark"

    def product(self) -> Product:
        reader = self.set.shared.reader(self.set.data)
        return Product(
            self.name,
            self.set.shared.tree,
            self.archive.with_suffix(".json"),
            (self.archive,),
            self.find,
            self.make,
            options={
                **self.set.shared.settings,
                "targets": {name: reader.target(name) for name in self.ids},
            },
            cost=partial(float, 0.1 + reader.size(self.ids) / _BYTES_PER_SECOND),
            seconds=self.archive.with_name(f"{self.number}{SECONDS}"),
        )

    def find(self, inputs: Inputs) -> Sources:
        files = self.set.shared.sources(Path(self.set.model_folder), inputs)
        speech = self.set.shared.reader(self.set.data).existing_files(self.ids)
        return {**{f"extractor {n}": p for n, p in files.items()}, **speech}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        shared = self.set.shared
        reader, allow_missing = shared.reader(self.set.data), shared.asv.access.allow_missing
        unreadable: list[str] = []

        def skip(name: str, error: PrivacyEvalError) -> None:
            if not (allow_missing or self.set.data_set.endswith(CROPS)):  # of silence
                raise error
            unreadable.append(str(error))

        reader.remarks.clear()
        if shared.encoder is not None:
            extracted = encode_utterances(shared.loaded_encoder, reader, ids=self.ids, refused=skip)
        else:
            options, vad = shared.options
            features = utterance_features(reader, options, ids=self.ids, unreadable=skip)
            extractor = shared.extractor(Path(self.set.model_folder))
            extracted = utterance_vectors(extractor, reader, features, vad)
        vectors = {name: vector for name, vector in extracted if vector is not None}
        return Content(
            {self.archive: _archive(vectors)},
            left_out="; ".join(unreadable),
            remarks=reader.notes(),
        )


def _archive(vectors: Mapping[str, np.ndarray]) -> bytes:
    if not vectors:
        return b""
    with tempfile.TemporaryDirectory() as scratch:
        scp = Path(scratch, "xvector.scp")
        write_vectors(scp, list(vectors), np.stack(list(vectors.values())), tree=Path(scratch))
        return read_bytes(scp.with_suffix(".ark"))


# By a user's command


def extract_by_command(
    asv: AsvSystems, sets: Iterable[tuple[str, str]], command: UserCommand, run: Run = Run()
) -> Outcome:
    """Extract the x-vectors of data sets, pairs of name and model folder, that are not current."""
    products, failed = [], {}
    for name, folder in sets:
        try:
            products.append(_extraction(asv, name, folder, command, command.sources()))
        except PrivacyEvalError as error:
            failed[f"{folder}/xvect_{name}"] = describe(error)
    outcome = asv.access.bring_up_to_date(products, run)
    outcome.failed |= failed
    return outcome


def earlier_extraction(asv: AsvSystems, data_set: str, model_folder: str) -> Outcome | None:
    """Return whether x-vectors that a command made are current, without running it: they are kept,
    or failed if what they were made from has changed; None of other x-vectors."""
    stored = Fingerprint.read(asv.access.tree / model_folder / f"xvect_{data_set}" / VECTORS_NOTE)
    text = command_of(stored)
    if stored is None or text is None:
        return None
    command = UserCommand(text, asv.access.tree, asv.access.tree)
    programs = command.earlier_sources(stored)
    product = _extraction(asv, data_set, model_folder, command, programs)
    if product.is_foreign(asv.access.inputs):
        return None
    if product.is_current(asv.access.inputs):
        return Outcome(current=[product.name])
    message = (
        f"its speech, or a file of the command, has changed since --extractor {text!r}; "
        "name an extractor again"
    )
    return Outcome(failed={product.name: message})


def _extraction(
    asv: AsvSystems,
    data_set: str,
    model_folder: str,
    command: UserCommand,
    programs: Mapping[str, Path],
) -> Product:
    """Return the product of the x-vectors of a data set that a command makes."""
    access, name = asv.access, f"{model_folder}/xvect_{data_set}"
    data, folder = access.tree / "data" / data_set, access.tree / name
    reader = audio_reader(access, data)

    def find(inputs: Inputs) -> Sources:
        utt2spk = access.existing("speakers", data / "utt2spk")
        return {"utt2spk": utt2spk, **reader.existing_files(reader.ids), **programs}

    def make(inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        written, allow = folder / _WRITTEN, access.allow_missing
        access.check_in_tree(written)
        with command.output(data, written, {MODEL: model_folder}):
            vectors = _read_written(asv, written, command)
            written_ids = set(vectors.ids)
            ids = [name for name in reader.ids if name in written_ids]
            left_out = check_written(vectors.path, vectors.ids, "x-vector", reader, allow)
            matrix = vectors.matrix[vectors.rows(ids, str(data))]
            content = packed_vectors(folder, ids, matrix, paths["utt2spk"], access.tree)
        return Content(content, left_out)

    targets = {name: reader.target(name) for name in reader.ids}
    return replace(
        vectors_product(asv, name, find, make),
        options={COMMAND: command.text, "targets": targets},
        cost=partial(float, 1 + reader.size(reader.ids)),
        seconds=folder / SECONDS,
    )


def _read_written(asv: AsvSystems, written: Path, command: UserCommand) -> Vectors:
    """Read what a command wrote."""
    access, file = asv.access, vector_file(written)
    if file is None:
        raise PrivacyEvalError(
            f"the extractor wrote none of {', '.join((KALDI_VECTORS, *OTHER_VECTORS))} to "
            f"{{out}}: {command.text}"
        )
    outside = access.allow_outside
    read = TreeVectors(access.tree, asv.protocol, written, allow_outside=outside).read(file)
    return read.without_zeros() if access.allow_missing else read


# By the checkpoints of an edition with its own evaluation


@dataclass(frozen=True)
class CheckpointChoice(EncoderChoice):
    """The checkpoint of an ASV model's folder, for recordings as the edition reads them.

    Attributes
    ----------
    normalize : bool
        As of `Ecapa`.
    others : tuple of Path
        Further checkpoints of the folder, of which none is then taken.
    """

    normalize: bool = False
    others: tuple[Path, ...] = ()

    @property
    def files(self) -> dict[str, Path]:
        """As of `EncoderChoice`; several checkpoints are an error."""
        if self.others:
            raise PrivacyEvalError(
                f"{', '.join(map(str, (self.path, *self.others)))}: which checkpoint is the ASV "
                "model's? Keep one, and move the others out of its folder"
            )
        return super().files

    @property
    def options(self) -> dict[str, Any]:
        """As of `EncoderChoice`."""
        own = {"recordings": "peak of 1, no zeros at the ends", "normalize": self.normalize}
        return super().options | own

    def identity(self, sha256: str) -> str:
        """Return the digest that results name vectors by: the checkpoint's, unless vectors are
        normalized."""
        return digest(f"{sha256} unit length".encode()) if self.normalize else sha256

    def load(self) -> Ecapa:
        """Read the network."""
        network = super().load()
        assert isinstance(network, Ecapa)
        return replace(network, of_2024=True, normalize=self.normalize)


def make_checkpoint_vectors(asv: AsvSystems, run: Run = Run()) -> Outcome:
    """Make the vectors that scores by checkpoints need, and that are not current; jobs as of
    `make_vectors`."""
    needed, normalize = checkpoint_sets(asv), asv.protocol.normalize_embeddings
    shared: dict[Path, SharedExtraction] = {}
    for model in dict.fromkeys(model for model, _ in needed):
        one, *others = checkpoints(model)
        choice = CheckpointChoice(str(one), normalize=normalize, others=tuple(others))
        shared[model] = SharedExtraction(asv, choice)
    sets = [
        _CheckpointSet(data_set, relative(model, asv.access.tree), shared[model], path)
        for (model, data_set), path in needed.items()
    ]
    return extract(sets, asv, run)


@dataclass(frozen=True)
class _CheckpointSet(ExtractedSet):
    """The vectors of a data set, in the files that the edition's own evaluation writes."""

    path: Path

    @property
    def name(self) -> str:
        return relative(self.path.parent, self.shared.asv.access.tree)

    @cached_property
    def parts(self) -> list[Part]:
        self.shared.asv.access.existing(_SPEECH, self.data / "wav.scp", self.data_set)
        self.shared.asv.access.check_inside(*self.shared.extractor_files(Path()).values())
        refuse_symlinks(self.folder / "parts", self.shared.asv.access.results)
        return super().parts

    def packed(self, ids: Sequence[str], matrix: FloatMatrix) -> dict[Path, bytes]:
        with tempfile.TemporaryDirectory() as scratch:
            write_torch_vectors(Path(scratch, self.path.name), ids, matrix)
            return {path: read_bytes(Path(scratch, path.name)) for path in self.product().files}

    def product(self) -> Product:
        others = (KALDI_VECTORS, *(n for n in OTHER_VECTORS if n != self.path.name))
        return replace(
            super().product(),
            files=(self.path.with_name("id2idx"), self.path),
            rivals=tuple(self.folder / name for name in others),
            within=self.shared.asv.access.results,
        )
