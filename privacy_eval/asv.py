"""Speaker verification in a tree: the models, the x-vectors of data sets, and scores of
trials from both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backend import BackEndName, Model, score_matrix, speaker_means, train_model
from .config import AsvModel, Config
from .errors import PrivacyEvalError, some
from .io.data_dir import read_list, read_spk2utt, read_utt2spk
from .io.files import digest, read_bytes, relative
from .io.plda import read_plda, write_plda
from .io.scores import TrialList
from .io.text_table import Column, unique_fields
from .io.vectors import (
    Vectors,
    read_matrix,
    read_vector,
    read_vectors,
    vector_places,
    write_matrix,
    write_vector,
)

#: Files of a back end; only the first must be there.
MODEL_FILES = ("plda", "mean.vec", "transform.mat")


@dataclass(frozen=True)
class StoredModel:
    """A back end on disk.

    Attributes
    ----------
    folder : Path
    model : Model
    sha256 : mapping
        Digest of each of its files by name.
    """

    folder: Path
    model: Model
    sha256: Mapping[str, str]

    def noted(self, tree: Path) -> dict[str, object]:
        """What is noted of it beside what was made with it."""
        return {"path": relative(self.folder, tree), "sha256": dict(self.sha256)}


@dataclass(frozen=True)
class Enrollment:
    """Who is enrolled with which utterances.

    Attributes
    ----------
    path : Path
        Where that is said.
    members : mapping
        Utterances by speaker.
    """

    path: Path
    members: Mapping[str, tuple[str, ...]]

    @property
    def digest(self) -> str:
        """SHA-256 of who is enrolled with what, in any order of the files."""
        lines = sorted(f"{s} {' '.join(u)}\n" for s, u in self.members.items())
        return digest("".join(lines).encode())


@dataclass(frozen=True)
class ScoredTrials:
    """Trials with their scores, shape (P,), and how many trials and enrollment utterances
    were left out for want of a vector."""

    speaker: Column
    utterance: Column
    score: NDArray[np.float32]
    trials_left_out: int
    enrollment_left_out: int

    def text(self) -> str:
        """A score file, as Kaldi's ivector-plda-scoring prints it."""
        columns = (self.speaker.tolist(), self.utterance.tolist(), self.score.tolist())
        return "".join(map("{} {} {:.7g}\n".format, *columns))


def load_model(folder: Path) -> StoredModel:
    """Read a back end: `plda`, and `mean.vec` and `transform.mat` where they are.

    Raises
    ------
    PrivacyEvalError
        No `plda`, a damaged file, dimensions that do not fit each other.
    """
    paths = {name: folder / name for name in MODEL_FILES if (folder / name).is_file()}
    if "plda" not in paths:
        raise PrivacyEvalError(f"{folder}: no file plda, expected {', '.join(MODEL_FILES)}")
    model = Model(
        read_plda(paths["plda"]),
        read_vector(paths["mean.vec"]) if "mean.vec" in paths else None,
        read_matrix(paths["transform.mat"]) if "transform.mat" in paths else None,
    )
    try:
        model.dimension()
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{folder}: {error}") from error
    sha256 = {name: digest(read_bytes(path)) for name, path in paths.items()}
    return StoredModel(folder, model, sha256)


def save_model(folder: Path, model: Model) -> None:
    """Write a back end; `plda`, by which it is known, comes last."""
    if model.mean is not None:
        write_vector(folder / "mean.vec", model.mean, binary=False)
    if model.transform is not None:
        write_matrix(folder / "transform.mat", model.transform)
    write_plda(folder / "plda", model.plda)


def train_on(vectors: Vectors, utt2spk: Path, **options: Any) -> Model:
    """A back end from x-vectors and their speakers; options as of `train_model`.

    Raises
    ------
    PrivacyEvalError
        A vector without a speaker; as `train_model`.
    """
    speaker_of = read_utt2spk(utt2spk)
    unknown = [u for u in vectors.ids if u not in speaker_of]
    if unknown:
        raise PrivacyEvalError(
            f"{vectors.path}: {len(unknown)} utterances have no speaker in {utt2spk}: "
            f"{some(unknown)}"
        )
    try:
        return train_model(vectors.matrix, [speaker_of[u] for u in vectors.ids], **options)
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{vectors.path}: {error}") from error


def load_enrollment(spk2utt: Path, enrolls: Path | None = None) -> Enrollment:
    """Who is enrolled: a spk2utt (or a utt2spk, by its name), all of it or only the
    utterances that a list names.

    Raises
    ------
    PrivacyEvalError
        A malformed file; an utterance of the list that has no speaker.
    """
    if spk2utt.name.startswith("utt2spk"):
        members: dict[str, tuple[str, ...]] = {}
        for utterance, speaker in read_utt2spk(spk2utt).items():
            members[speaker] = (*members.get(speaker, ()), utterance)
    else:
        members = read_spk2utt(spk2utt)
    if enrolls is None:
        return Enrollment(spk2utt, members)
    wanted = {u.decode("utf-8", "backslashreplace"): n for u, n in _lines(enrolls).items()}
    known = {u for utterances in members.values() for u in utterances}
    unknown = [u for u in wanted if u not in known]
    if unknown:
        raise PrivacyEvalError(
            f"{enrolls}:{wanted[unknown[0]]}: {len(unknown)} utterances have no speaker in "
            f"{spk2utt}: {some(unknown)}"
        )
    kept = {s: tuple(u for u in own if u in wanted) for s, own in members.items()}
    return Enrollment(enrolls, {s: own for s, own in kept.items() if own})


def score_trials(
    enrolled: Vectors,
    enrollment: Enrollment,
    tested: Vectors,
    trials: TrialList,
    *,
    back_end: BackEndName = "plda",
    model: Model | None = None,
    allow_missing: bool = False,
) -> ScoredTrials:
    """Scores of a list of trials, in its order.

    Parameters
    ----------
    allow_missing : bool
        Leave out utterances that have no vector, and count them.

    Raises
    ------
    PrivacyEvalError
        A speaker without enrollment, an utterance without a vector, dimensions that do
        not fit, scores beyond float32's range; nothing left to score.
    """
    speakers, speaker = unique_fields(trials.speaker)
    utterances, utterance = unique_fields(trials.utterance)
    strangers = sorted(s for s in speakers if s not in enrollment.members)
    if strangers:
        raise PrivacyEvalError(
            f"{trials.path}: {len(strangers)} speakers are not enrolled in {enrollment.path}: "
            f"{some(strangers)}"
        )
    members = [enrollment.members[s] for s in speakers]
    known, unspoken = (
        np.array([not allow_missing or x in vectors for x in names], dtype=np.bool_)
        for vectors, names in ((tested, utterances), (enrolled, [u for m in members for u in m]))
    )
    if allow_missing:
        members = [tuple(u for u in m if u in enrolled) for m in members]
    has_vector = np.array([bool(m) for m in members])
    kept = np.flatnonzero(known[utterance] & has_vector[speaker])
    if not kept.size:
        raise PrivacyEvalError(f"{trials.path}: no trial whose utterances have vectors")
    enrolled_rows = enrolled.rows(
        [u for m in members for u in m], f"the enrollment in {enrollment.path}"
    )
    of_speaker = np.split(enrolled_rows, np.cumsum([len(m) for m in members if m])[:-1])
    rows = tested.rows(
        [u for u, there in zip(utterances, known, strict=True) if there],
        f"the trials in {trials.path}",
    )
    means, counts = speaker_means(enrolled.matrix, of_speaker)
    try:
        matrix = score_matrix(means, counts, tested.matrix[rows], back_end=back_end, model=model)
    except PrivacyEvalError as error:
        raise PrivacyEvalError(f"{enrolled.path}, {tested.path}: {error}") from error
    place = (np.cumsum(has_vector) - 1, np.cumsum(known) - 1)
    scores = matrix[place[0][speaker[kept]], place[1][utterance[kept]]]
    if not np.isfinite(scores).all():
        raise PrivacyEvalError(
            f"{enrolled.path}, {tested.path}: {int((~np.isfinite(scores)).sum())} scores are not "
            "finite: vectors or model hold huge values"
        )
    return ScoredTrials(
        trials.speaker.take(kept),
        trials.utterance.take(kept),
        scores,
        trials_left_out=len(trials.speaker) - kept.size,
        enrollment_left_out=int((~unspoken).sum()),
    )


class TreeVectors:
    """The x-vectors that one model made of a tree's data sets, each read once.

    Parameters
    ----------
    folder : Path
        The model folder.
    """

    def __init__(
        self,
        tree: Path,
        config: Config,
        folder: Path,
        *,
        allow_pipes: bool = False,
        allow_outside: bool = False,
    ) -> None:
        self._tree, self._config, self.folder = tree, config, folder
        self._allow_pipes, self._allow_outside = allow_pipes, allow_outside
        self._read: dict[Path, Vectors] = {}
        self._places: dict[Path, Mapping[str, str]] = {}

    def candidates(self, name: str, suffix: str) -> list[Path]:
        """Where the x-vectors of a set may be: its own, then those of sets that hold it."""
        names = (name, *self._config.holders(name))
        return [self.folder / f"xvect_{n}{suffix}" / "xvector.scp" for n in names]

    def find(self, name: str, suffix: str) -> Path | None:
        """The first candidate that is there."""
        return next((p for p in self.candidates(name, suffix) if p.is_file()), None)

    def read(self, path: Path) -> Vectors:
        """The x-vectors of an scp.

        Raises
        ------
        PrivacyEvalError
            As `read_vectors`; a file that leads out of the tree.
        """
        if path not in self._read:
            self._read[path] = self._vectors(path)
        return self._read[path]

    def places(self, path: Path) -> Mapping[str, str]:
        """Where an scp says that each x-vector is, see `vector_places`; of an archive only
        the ids. Errors as of `read`."""
        if path not in self._places:
            self._check_inside(path)
            places = vector_places(path)
            self._places[path] = (
                dict.fromkeys(self.read(path).ids, "") if places is None else places
            )
        return self._places[path]

    def some(self, path: Path, ids: Collection[str]) -> Vectors:
        """The x-vectors of some ids of an scp, or more than these; errors as of `read`."""
        return self._read[path] if path in self._read else self._vectors(path, ids)

    def _vectors(self, path: Path, only: Collection[str] | None = None) -> Vectors:
        self._check_inside(path)
        return read_vectors(
            path,
            tree=self._tree,
            allow_pipes=self._allow_pipes,
            allow_outside=self._allow_outside,
            only=only,
        )

    def _check_inside(self, path: Path) -> None:
        root = self._tree.resolve()
        if not self._allow_outside and not path.resolve().is_relative_to(root):
            raise PrivacyEvalError(
                f"{path}: leads out of the tree to {path.resolve()}; --allow-outside reads it all "
                "the same"
            )


def back_end_folder(tree: Path, model: AsvModel, suffix: str) -> Path | None:
    """Where the back end of a model lies, if it is there."""
    folder = tree / model.model_folder(suffix)
    candidates = (folder / f"xvect_{model.training_name(suffix)}", folder)
    return next((f for f in candidates if (f / "plda").is_file()), None)


def _lines(enrolls: Path) -> Mapping[bytes, int]:
    return read_list(enrolls, "enrolls").lines
