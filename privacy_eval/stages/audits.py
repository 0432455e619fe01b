"""Stage 0, on request: what an audit of the audio of anonymized sets found, for results.

A record is written after every audit, and accepted until a `wav.scp` changes: a system in whose
audio original speech was found is not ranked before another audit finds none.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from ..io.files import digest, file_names
from ..io.inputs import Inputs
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    Product,
    Sources,
    bring_up_to_date,
)
from ..results.definitions import fields_digest
from ..results.record_files import record_text
from ..tree.conditions import AudioCondition
from .access import Experiment, TreeAccess

if TYPE_CHECKING:
    from ..results.records import AudioRecord

_PREFIX = "audio-"


def write_audits(
    access: TreeAccess, out: Path, systems: Iterable[str], records: Iterable[AudioRecord]
) -> None:
    """Write the records of audited sets.

    Parameters
    ----------
    systems : iterable of str
        All systems of the results, after which folders are named.
    """
    folders = file_names(systems)
    for record in records:
        condition = record.condition
        folder = out / "records" / folders[condition.system]
        product = _product(access, folder, condition, record.original, record_text(record))
        bring_up_to_date([product], access.inputs).raise_failed()


def audit_products(experiment: Experiment) -> list[Product]:
    """The records that were made, of all systems."""
    folders = file_names(system.name for system in experiment.systems)
    suffix = experiment.asv.protocol.results_folders[0].suffix
    products = []
    for system, name in folders.items():
        folder = experiment.out / "records" / name
        for note in sorted(folder.glob(f".{_PREFIX}*{NOTE}")):
            stored = Fingerprint.read(note)
            if stored is not None:
                names = (str(stored.subject.get(key)) for key in ("name", "original"))
                condition = AudioCondition(system, suffix, next(names))
                products.append(_product(experiment.asv.access, folder, condition, next(names)))
    return products


def _product(
    access: TreeAccess,
    folder: Path,
    condition: AudioCondition,
    original: str,
    text: bytes | None = None,
) -> Product:
    """Return the product of a record, whose text an audit gives."""
    stem = f"{_PREFIX}{next(iter(file_names([condition.name]).values()))}"
    path = folder / f"{stem}.json"
    data = access.tree / "data"

    def find(_: Inputs) -> Sources:
        return {
            "anonymized": data / condition.name / "wav.scp",
            "original": data / original / "wav.scp",
        }

    def make(*_: object) -> Content:
        if text is None:
            raise PrivacyEvalError(f"{path}: audit the audio again (check --audio)")
        return Content({path: text})

    return Product(
        f"{condition.system} {condition.name}",
        access.tree,
        folder / f".{stem}{NOTE}",
        (path,),
        find,
        make,
        subject={**vars(condition), "original": original, "fields": fields_digest()},
        options={"found": digest(text or b"")},
    )
