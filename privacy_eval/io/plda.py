"""Kaldi's PLDA model files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from .files import Loaded, atomic_path
from .kaldi_objects import (
    ObjectFile,
    binary_array,
    open_objects,
    read_binary_array,
    read_text_array,
)

_BEGIN, _END = b"<Plda> ", b"</Plda> "


@dataclass(frozen=True)
class Plda:
    """A PLDA model: z = transform (x - mean) has unit covariance within speakers and
    covariance diag(psi) between them.

    Attributes
    ----------
    mean : float64 array, shape (D,)
    transform : float64 array, shape (D, D)
    psi : float64 array, shape (D,)
        No negative values.
    """

    mean: NDArray[np.float64]
    transform: NDArray[np.float64]
    psi: NDArray[np.float64]


def read_plda(path: Path | Loaded) -> Plda:
    """Read a model, binary or text.

    Raises
    ------
    PrivacyEvalError
        With the file and which part of it: another kind of file, truncated, not finite,
        inconsistent dimensions, a negative psi, trailing content.
    """
    with open_objects(path) as file:
        is_binary = file.peek(2) == b"\0B"
        if is_binary:
            file.read(2)
        read_part = read_binary_array if is_binary else read_text_array
        _expect(file, _BEGIN, is_binary)
        parts = []
        for name, dimensions in (("mean", 1), ("transform", 2), ("psi", 1)):
            file.where = f"{path}: {name}"
            parts.append(read_part(file, dimensions).astype(np.float64))
        file.where = str(path)
        _expect(file, _END, is_binary)
        file.end()
    _check_consistency(str(path), *parts)
    return Plda(*parts)


def write_plda(path: Path, plda: Plda) -> None:
    """Write a model as Kaldi does, byte for byte: doubles, in binary.

    Raises
    ------
    PrivacyEvalError
        Inconsistent dimensions, values that are not finite, a negative psi; cannot be written.
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (plda.mean, plda.transform, plda.psi)]
    _check_consistency(f"{path}: not written", *parts)
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"\0B" + _BEGIN + b"".join(map(binary_array, parts)) + _END)


def _expect(file: ObjectFile, tag: bytes, is_binary: bool) -> None:
    """Read a tag. In text any white space may surround it."""
    if not is_binary:
        file.skip_blanks()
        tag = tag.rstrip()
    actual = file.read(len(tag))
    if actual != tag:
        raise file.error(f"expected {tag.decode().strip()} of a PLDA model, found {actual!r}")


def _check_consistency(
    where: str, mean: NDArray[np.float64], transform: NDArray[np.float64], psi: NDArray[np.float64]
) -> None:
    size, message = mean.size, ""
    if not size or mean.ndim != 1 or transform.shape != (size, size) or psi.shape != (size,):
        shapes = (" x ".join(map(str, part.shape)) for part in (mean, transform, psi))
        message = "inconsistent dimensions: mean {}, transform {}, psi {}".format(*shapes)
    elif bad := sum(int(np.sum(~np.isfinite(part))) for part in (mean, transform, psi)):
        message = f"{bad} values are NaN or infinite"
    elif negative := int(np.sum(psi < 0)):
        message = f"{negative} of {size} values of psi are negative, expected variances"
    if message:
        raise PrivacyEvalError(f"{where}: {message}")
