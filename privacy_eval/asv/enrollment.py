"""What speaker verification compares: vectors, the utterances of each speaker, the speaker of each
utterance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_list, read_spk2utt, read_utt2spk
from ..io.files import Loaded, digest
from ..io.scp import Vectors
from ..metrics.arguments import as_names, as_numbers

#: Vectors as they are read, by id, or as the rows of an array.
AnyVectors = Vectors | Mapping[str, Any] | ArrayLike
#: Names of vectors in their order, by id, or a utt2spk.
Names = Mapping[Any, Any] | ArrayLike | Path | Loaded


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

    @property
    def digest(self) -> str:
        """SHA-256 of speakers and utterances, independent of the order of the files."""
        lines = sorted(f"{s} {' '.join(u)}\n" for s, u in self.members.items())
        return digest("".join(lines).encode())


def load_listed_enrollment(path: Path) -> Enrollment:
    """Read the enrollment that a file stands for: a spk2utt or utt2spk, or a list of utterances
    whose speakers are in such a file beside it.

    Parameters
    ----------
    path : Path
        `Enrollment.path` of another reading.

    Returns
    -------
    Enrollment

    Raises
    ------
    PrivacyEvalError
        As `load_enrollment`; no speakers beside the list.
    """
    if path.name.startswith(("spk2utt", "utt2spk")):
        return load_enrollment(path)
    beside = (path.with_name(name) for name in ("spk2utt", "utt2spk"))
    speakers = next((file for file in beside if file.is_file()), None)
    if speakers is None:
        raise PrivacyEvalError(f"{path}: neither spk2utt nor utt2spk beside it")
    return load_enrollment(speakers, path)


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
    lines = read_list(enrolls, "enrolls").lines
    listed = {u.decode("utf-8", "backslashreplace"): n for u, n in lines.items()}
    with_speaker = {u for utterances in members.values() for u in utterances}
    unknown = [u for u in listed if u not in with_speaker]
    if unknown:
        raise PrivacyEvalError(
            f"{enrolls}:{listed[unknown[0]]}: {len(unknown)} utterances have no speaker in "
            f"{spk2utt}: {abbreviate(unknown)}"
        )
    selected = {s: tuple(u for u in all_of if u in listed) for s, all_of in members.items()}
    return Enrollment(Path(enrolls), {s: some for s, some in selected.items() if some})


def as_vectors(
    values: AnyVectors, what: str, ids: ArrayLike | None = None, prefix: str = ""
) -> Vectors:
    """Give the rows of an array ids, by default their numbers; they are rounded to float32.

    Parameters
    ----------
    values : Vectors, mapping of str to array_like, or array_like, shape (N, D)
    what : str
        Which vectors they are, for messages.
    ids : array_like of str, shape (N,), optional
    prefix : str
        Of numbers as ids.

    Returns
    -------
    Vectors

    Raises
    ------
    PrivacyEvalError
        No matrix; values that are not finite; another number of ids, or one twice.

    Examples
    --------
    >>> as_vectors([[1, 2], [3, 4]], "trial").ids
    ('0', '1')
    """
    if isinstance(values, Vectors):
        return values
    ids = [*values] if isinstance(values, Mapping) else ids
    rows: ArrayLike = [*values.values()] if isinstance(values, Mapping) else values
    try:
        matrix = as_numbers(rows, f"{what} vectors")
    except ValueError as error:
        raise PrivacyEvalError(f"{what} vectors are not all of one dimension") from error
    if matrix.ndim != 2 or not matrix.size:
        raise PrivacyEvalError(
            f"{what} vectors must be the rows of an array, not of shape {matrix.shape}"
        )
    with np.errstate(over="ignore"):
        single = matrix.astype(np.float32)
    if bad := np.flatnonzero(~np.isfinite(single).all(axis=1)).tolist():
        raise PrivacyEvalError(
            f"{len(bad)} {what} vectors have values that are NaN, infinite or too large, at index "
            f"{abbreviate([*map(str, bad)])}: leave them out"
        )
    numbers = [f"{prefix}{row}" for row in range(len(matrix))]
    names = numbers if ids is None else as_names(ids, "ids").tolist()
    if not len(matrix) == len(names) == len({*names}):
        raise PrivacyEvalError(
            f"{len(names)} ids, {len({*names})} of them different, for {len(matrix)} {what} "
            "vectors: give each vector one"
        )
    single.setflags(write=False)
    return Vectors(Path(f"{what} vectors"), tuple(names), single)


def speakers_of(vectors: Vectors, speakers: Names, what: str) -> Mapping[str, str]:
    """Return the speaker of each vector by its id.

    Parameters
    ----------
    vectors : Vectors
    speakers : array_like of str, mapping, Path or Loaded
        In the order of the vectors, by id, or a utt2spk.
    what : str
        For messages.

    Returns
    -------
    mapping of str to str

    Raises
    ------
    PrivacyEvalError
        Another number of names; a missing one; an invalid utt2spk.

    Examples
    --------
    >>> speakers_of(as_vectors([[1, 2], [3, 4]], "trial"), ["a", "b"], "speakers")
    {'0': 'a', '1': 'b'}
    """
    if isinstance(speakers, str | Path | Loaded):
        return read_utt2spk(Path(speakers) if isinstance(speakers, str) else speakers)
    ids = [*map(str, speakers)] if isinstance(speakers, Mapping) else vectors.ids
    given = [*speakers.values()] if isinstance(speakers, Mapping) else speakers
    names = as_names(given, what).tolist()
    if len(names) != len(ids):
        raise PrivacyEvalError(
            f"{len(names)} {what} for {len(ids)} {vectors.path}: give each vector one"
        )
    return dict(zip(ids, names, strict=True))
