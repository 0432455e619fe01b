"""The curves and matrices stored beside records: what figures are drawn from."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..io.files import digest, read_bytes
from ..results import Results, SimilarityRecord, VerificationRecord

#: What figures are written as; only curves as TeX.
FIGURE_FORMATS = ("png", "pdf", "tex")

Arrays = Mapping[str, NDArray[Any]]


class Curves:
    """Curves of the records of some results.json files.

    Parameters
    ----------
    sources : iterable of (Results, Path)
        Results as they were read, and the file; `records/` is beside it.
    """

    def __init__(self, sources: Iterable[tuple[Results, Path]]) -> None:
        self._folders: dict[tuple[str, str], list[Path]] = {}
        for results, path in sources:
            for system in results.systems:
                for suffix in results.results_folders(system):
                    folders = self._folders.setdefault((system, suffix), [])
                    folders.append(path.parent / "records")

    def absent(self, results: Results) -> int:
        """How many records were written with curves that are not beside the results."""
        records: list[VerificationRecord | SimilarityRecord]
        records = [*results.verification, *results.similarity]
        return sum(r.curves is not None and not self._paths(r) for r in records)

    def of(self, record: VerificationRecord | SimilarityRecord) -> Arrays | None:
        """The arrays of a record by name; None where it has none (imported results) or
        they are not beside the results.

        Raises
        ------
        PrivacyEvalError
            They are not those that the record was written with.
        """
        paths = self._paths(record)
        if not paths:
            return None
        for path in paths:
            content = read_bytes(path)
            if digest(content) == record.curves_sha256:
                break
        else:
            raise PrivacyEvalError(
                f"{path}: not the curves of the record in results.json; run stages 6 to 8 again"
            )
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except Exception as error:  # zipfile and NumPy raise a dozen kinds of what is damaged
            raise PrivacyEvalError(f"{path}: damaged ({error})") from error

    def _paths(self, record: VerificationRecord | SimilarityRecord) -> list[Path]:
        """Where the curves of a record may be: a system may be spread over several files,
        each with its own `records/`."""
        if record.curves is None:
            return []
        relative = Path(record.curves)
        if relative.is_absolute() or ".." in relative.parts:
            return []
        folders = self._folders.get((record.system, record.results_folder), [])
        return [f / record.curves for f in folders if (f / record.curves).is_file()]
