"""What scores are made of: the utterances that each speaker enrolls, and the back end and the
x-vectors in the model folders of a tree. Reading vectors needs NumPy.

The x-vectors of a set are one file in `xvect_<set>`, of any format that `read_vectors` reads.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_list, read_spk2utt, read_utt2spk
from ..io.files import Inputs, Loaded, check_inside, digest
from ..io.vector_digest import stored_digest
from ..protocol.protocol import CROPS, AsvModel, Protocol

if TYPE_CHECKING:
    from ..io.vectors import Vectors
    from ..metrics.pav import IntArray


@dataclass(frozen=True)
class Enrollment:
    """Enrollment utterances of each speaker.

    Attributes
    ----------
    path : Path
        File that lists them.
    members : mapping of str to tuple of str
        Utterances by speaker.
    """

    path: Path
    members: Mapping[str, tuple[str, ...]]

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of speakers and utterances, independent of the order of the files."""
        lines = sorted(f"{s} {' '.join(u)}\n" for s, u in self.members.items())
        return digest("".join(lines).encode())


@dataclass(frozen=True)
class Gallery:
    """Speakers among whom a test speaker is identified.

    Attributes
    ----------
    vectors : Vectors
    enrollment : Enrollment
    """

    vectors: Vectors
    enrollment: Enrollment

    def present(self) -> Gallery:
        """Restrict the gallery to the speakers and utterances with vectors."""
        members = self.enrollment.members.items()
        there = {speaker: tuple(u for u in of if u in self.vectors) for speaker, of in members}
        return self.with_members({speaker: of for speaker, of in there.items() if of})

    def of(self, speakers: Iterable[str]) -> Gallery:
        """Restrict the gallery to some of its speakers, in this order."""
        return self.with_members({s: self.enrollment.members[s] for s in speakers})

    def with_members(self, members: Mapping[str, tuple[str, ...]]) -> Gallery:
        """Replace the speakers and their utterances."""
        return replace(self, enrollment=replace(self.enrollment, members=members))

    def rows(self) -> IntArray:
        """Find the vectors of all speakers, one after the other.

        Raises
        ------
        PrivacyEvalError
            An utterance without vector.
        """
        utterances = [u for some in self.enrollment.members.values() for u in some]
        return self.vectors.rows(utterances, f"the enrollment in {self.enrollment.path}")

    @property
    def size(self) -> int:
        """Number of enrollment utterances."""
        return sum(map(len, self.enrollment.members.values()))


@dataclass(frozen=True)
class Conversations:
    """Tests of several utterances each.

    Attributes
    ----------
    vectors : Vectors
    utterances : mapping of str to list of str
        Of each test speaker, in whole tests.
    length : int
        Utterances per test: consecutive ones, whose vectors are averaged.
    """

    vectors: Vectors
    utterances: Mapping[str, Sequence[str]]
    length: int

    @property
    def used(self) -> list[str]:
        """All utterances."""
        return [u for of_speaker in self.utterances.values() for u in of_speaker]

    @property
    def speaker(self) -> IntArray:
        """Number of the speaker of each test, shape (tests,)."""
        import numpy as np

        tests = [len(u) // self.length for u in self.utterances.values()]
        return np.repeat(np.arange(len(tests)), tests)


def load_listed_enrollment(path: Path, inputs: Inputs) -> Enrollment:
    """Read the enrollment that a file stands for: a spk2utt or utt2spk, or a list of utterances
    whose speakers are in such a file beside it.

    Parameters
    ----------
    path : Path
        `Enrollment.path` of another reading.
    inputs : Inputs
        What has read files before, and reads these.

    Returns
    -------
    Enrollment

    Raises
    ------
    PrivacyEvalError
        As `load_enrollment`; no speakers beside the list.
    """
    if path.name.startswith(("spk2utt", "utt2spk")):
        return _parsed(inputs.load(path))
    beside = (path.with_name(name) for name in ("spk2utt", "utt2spk"))
    speakers = next((file for file in beside if file.is_file()), None)
    if speakers is None:
        raise PrivacyEvalError(f"{path}: neither spk2utt nor utt2spk beside it")
    return _parsed(inputs.load(speakers), inputs.load(path))


@functools.lru_cache(maxsize=64)
def _parsed(speakers: Loaded, enrolls: Loaded | None = None) -> Enrollment:
    """Parse the files of an enrollment, which many conditions share, once."""
    return load_enrollment(speakers, enrolls)


def load_enrollment(spk2utt: Path | Loaded, enrolls: Path | Loaded | None = None) -> Enrollment:
    """Read the enrollment utterances of each speaker.

    Parameters
    ----------
    spk2utt : Path or Loaded
        A spk2utt, or a utt2spk by its name.
    enrolls : Path or Loaded, optional
        A list of the utterances to take; all, unless given.

    Returns
    -------
    Enrollment

    Raises
    ------
    PrivacyEvalError
        A malformed file; an utterance of the list that has no speaker.
    """
    if Path(spk2utt).name.startswith("utt2spk"):
        members: dict[str, tuple[str, ...]] = {}
        for utterance, speaker in read_utt2spk(spk2utt).items():
            members[speaker] = (*members.get(speaker, ()), utterance)
    else:
        members = read_spk2utt(spk2utt)
    if enrolls is None:
        return Enrollment(Path(spk2utt), members)
    lines = read_list(enrolls, "enrolls").items()
    listed = {u.decode("utf-8", "backslashreplace"): n for u, n in lines}
    with_speaker = {u for utterances in members.values() for u in utterances}
    unknown = [u for u in listed if u not in with_speaker]
    if unknown:
        raise PrivacyEvalError(
            f"{enrolls}:{listed[unknown[0]]}: {len(unknown)} utterances have no speaker in "
            f"{spk2utt}: {abbreviate(unknown)}"
        )
    selected = {s: tuple(u for u in all_of if u in listed) for s, all_of in members.items()}
    return Enrollment(Path(enrolls), {s: some for s, some in selected.items() if some})


#: File of x-vectors as Kaldi writes them, and names that those of other extractors have.
KALDI_VECTORS = "xvector.scp"
OTHER_VECTORS = (
    *(f"xvector{suffix}" for suffix in (".npz", ".npy", ".h5", ".hdf5")),
    "speaker_vectors.pt",
)
#: Files of a back end; only the first is required.
BACKEND_FILES = ("plda", "mean.vec", "transform.mat")


class TreeVectors:
    """The x-vectors of a tree's data sets from one model, each read once.

    Parameters
    ----------
    tree : Path
    protocol : Protocol
    folder : Path
        The model folder.
    allow_pipes, allow_outside : bool
        As in `read_vectors`.
    load : callable, optional
        Loads the file, which is otherwise read from disk.
    """

    def __init__(
        self,
        tree: Path,
        protocol: Protocol,
        folder: Path,
        *,
        allow_pipes: bool = False,
        allow_outside: bool = False,
        load: Callable[[Path], Path | Loaded] = Path,
    ) -> None:
        self._tree, self._protocol, self.folder = tree, protocol, folder
        self._allow_pipes, self._allow_outside = allow_pipes, allow_outside
        self._load = load
        self._read: dict[tuple[Path, bool], Vectors] = {}
        self._digests: dict[Path, str] = {}
        self._own: dict[tuple[str, str], Path] = {}
        self._locations: dict[Path, Mapping[str, str]] = {}

    def candidates(self, name: str, suffix: str) -> Iterator[Path]:
        """Yield possible paths of a set's x-vectors: in its own folder, then in those of its
        supersets."""
        for one in (name, *self._protocol.supersets(name)):
            folder = self.folder / f"xvect_{one}{suffix}"
            yield vector_file(folder) or folder / KALDI_VECTORS

    def find(self, name: str, suffix: str) -> Path | None:
        """Return the first existing candidate."""
        if (name, suffix) not in self._own:
            own, *others = self.candidates(name, suffix)
            if not own.is_file():  # it may be made later, and then comes first
                return next((path for path in others if path.is_file()), None)
            self._own[name, suffix] = own
        return self._own[name, suffix]

    def read(self, path: Path, *, double: bool = False) -> Vectors:
        """Read the x-vectors of a file; `double` as in `read_vectors`.

        Raises
        ------
        PrivacyEvalError
            As `read_vectors`; a file outside the tree, one that has changed since `digest`, or one
            of several in a folder.
        """
        if (path, double) not in self._read:
            vectors = self._vectors(path, double=double)
            if self._digests.setdefault(path, vectors.digest) != vectors.digest:
                raise PrivacyEvalError(f"{path}: its vectors changed while they were read")
            self._read[path, double] = vectors
        return self._read[path, double]

    def digest(self, path: Path) -> str:
        """Compute the digest of the x-vectors of a file, of an scp usually without parsing them;
        raises as `read` does."""
        if path not in self._digests:
            self._check(path)
            roots = [] if self._allow_outside else [self._tree, path.parent]
            stored = stored_digest(self._load(path), tree=self._tree, roots=roots)
            self._digests[path] = stored or self.read(path).digest
        return self._digests[path]

    def locations(self, path: Path) -> Mapping[str, str]:
        """Read the location of each x-vector from an scp, see `vector_locations`; other files
        give ids only. Raises as `read` does."""
        if path not in self._locations:
            self._check(path)
            from ..io.vectors import vector_locations

            locations = vector_locations(path)
            self._locations[path] = (
                dict.fromkeys(self.read(path).ids, "") if locations is None else locations
            )
        return self._locations[path]

    def read_some(self, path: Path, ids: Collection[str]) -> Vectors:
        """Read at least the x-vectors of some ids of a file; raises as `read` does."""
        return self._read.get((path, False)) or self._vectors(path, ids)

    def _vectors(
        self, path: Path, only: Collection[str] | None = None, *, double: bool = False
    ) -> Vectors:
        from ..io.vectors import read_vectors

        self._check(path)
        return read_vectors(
            self._load(path),
            tree=self._tree,
            allow_pipes=self._allow_pipes,
            allow_outside=self._allow_outside,
            only=only,
            double=double,
        )

    def _check(self, path: Path) -> None:
        if not self._allow_outside:
            check_inside([path], [self._tree])
        if len(names := _vector_files(path.parent)) > 1:
            raise PrivacyEvalError(
                f"{path.parent}: x-vectors in {len(names)} files, expected one: {', '.join(names)}"
            )


def vector_file(folder: Path) -> Path | None:
    """Find the file of x-vectors in the folder of a set.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    Path or None
        The first of several, which are an error when they are read.
    """
    return next((folder / name for name in _vector_files(folder)), None)


def _vector_files(folder: Path) -> list[str]:
    """List files of x-vectors in the folder of a set; of several, none is read."""
    try:
        there = set(os.listdir(folder))  # one call to the system, not one for every name
    except OSError:
        return []
    names = [name for name in (KALDI_VECTORS, *OTHER_VECTORS) if name in there]
    return [name for name in names if (folder / name).is_file()]


def backend_folder(tree: Path, model: AsvModel, suffix: str) -> Path | None:
    """Find the back end of an ASV model.

    Parameters
    ----------
    tree : Path
    model : AsvModel
    suffix : str
        Anonymization suffix of its training set.

    Returns
    -------
    Path or None
        The folder of its `plda`.
    """
    folder = tree / model.model_folder(suffix)
    training = folder / f"xvect_{model.training_name(suffix)}"
    # That of an attacker, who learns from crops, is not the ASV model's.
    candidates = (training,) if model.training_set.endswith(CROPS) else (training, folder)
    return next((f for f in candidates if (f / "plda").is_file()), None)
