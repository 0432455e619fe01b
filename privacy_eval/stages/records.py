"""Records that stages make of a tree: what each is of, and what makes it.

A stage says `plan(experiment, options)`: the products that there can be, of the systems under
test; without options those of all systems, with the options that they were made with, so that
stage 8 can tell which are current. Making them, in jobs, is `TreeAccess.bring_up_to_date`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import PrivacyEvalError, known_names
from ..io.files import Inputs, check_inside, relative
from ..io.user_tables import Labels, path_of_labels, read_labels
from ..products.freshness import NOTE, Content, Fingerprint, Paths, Product, Sources
from ..results.record_files import fields_digest, record_text
from ..tree.conditions import Condition
from ..version import __version__
from ..wings import referred
from .access import AsvSystems, Experiment
from .recipe import stages_of_wings

if TYPE_CHECKING:
    from ..results.records import Record

T = TypeVar("T")

#: Of a subject: the stage of a wing.
STAGE = "stage"


@dataclass(frozen=True)
class Recorded:
    """The record of one condition.

    Attributes
    ----------
    condition : Any
        A dataclass of results, with `system`.
    path : Path
        The record.
    asv : AsvSystems
        The tree, as it is for the system.
    options : Any
        A dataclass: what the numbers depend on beside files.
    """

    condition: Any
    path: Path
    asv: AsvSystems
    options: Any

    def find(self, inputs: Inputs) -> Sources:
        """Return the inputs by role; raise `MissingInput`."""
        raise NotImplementedError

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        """Compute the record."""
        raise NotImplementedError

    def measured(self, rows: Iterable[Mapping[str, Any]], made_of: Fingerprint) -> Content:
        """Return the record of rows of measurements, each with the circumstances of the
        condition: one of its name, as many may be of one condition.

        Raises
        ------
        PrivacyEvalError
            A key of a row is no column; as `Record.check`.
        """
        from ..metrics.registry import BUILT_IN, METRICS
        from ..results.measurements import CIRCUMSTANCES, COUNTS, VALUES

        rows = [{n: v.item() if hasattr(v, "item") else v for n, v in row.items()} for row in rows]
        columns = (*CIRCUMSTANCES, *COUNTS, *VALUES)
        for name in (name for row in rows for name in row if name not in columns):
            raise PrivacyEvalError(f"rows: no column {name!r}: {known_names(name, columns)}")
        known = {name: vars(self.condition).get(name) for name in CIRCUMSTANCES[2:]}
        known = {name: value for name, value in known.items() if value}
        own = Condition(self.condition.system, self.condition.results_folder, self.path.stem)
        record = self.record_of("rows", [{**known, **row} for row in rows], made_of, condition=own)
        described = {
            k: METRICS[k].description for k in sorted(record.keys() & METRICS.keys() - BUILT_IN)
        }
        return Content({self.path: record_text(replace(record, described=described))})

    def record_of(
        self,
        kind: str,
        rows: Iterable[Mapping[str, Any]],
        made_of: Fingerprint | None = None,
        **more: Any,
    ) -> Record:
        """Return the record of rows, checked.

        Parameters
        ----------
        kind : str
            Of `results.records.KINDS`.
        **more
            Further fields of the record.
        """
        from ..results.records import Record

        provenance = {"version": __version__, **(made_of.provenance() if made_of else {})}
        shared = {"condition": self.condition, "provenance": provenance}
        record = Record(kind=kind, rows=tuple(rows), **{**shared, **more})
        record.check()
        return record

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the product that are not the usual ones."""
        return {}

    def product(self) -> Product:
        """Return the product."""
        condition, attributes = self.condition, self.attributes
        about = {**vars(condition), "fields": fields_digest(), **attributes.pop("subject", {})}
        usual = {
            "name": f"{condition.system} {getattr(condition, 'label', condition.name)}",
            "base": self.asv.access.tree,
            "note": note_of(self.path),
            "files": (self.path,),
            "options": asdict(self.options) if self.options else {},
        }
        made = {"find": self.find, "make": self.make, "subject": about}
        return Product(**{**usual, **made, **attributes})


def note_of(path: Path) -> Path:
    """Return the fingerprint of a record."""
    return path.with_name(f".{path.stem}{NOTE}")


def is_left(path: Path) -> bool:
    """Tell whether a record, or the fingerprint of one, is there."""
    return path.is_file() or note_of(path).is_file()


def options_of(note: Path, kind: type[T]) -> T:
    """Return the options that a fingerprint tells; the default ones if there is none."""
    stored = Fingerprint.read(note)
    known = {} if stored is None else stored.options
    return kind(**{f.name: known[f.name] for f in fields(kind) if f.name in known})  # type: ignore[arg-type]


def products_of_wing(name: str, experiment: Experiment, options: Any = None) -> Iterator[Product]:
    """Yield the products of a stage of a wing, which name it: beside those of the core of the same
    condition, and once it is not installed."""
    plan = referred(stages_of_wings()[name].plan)
    for product in plan(experiment, options):
        subject = {**product.subject, STAGE: name}
        yield replace(product, name=f"{product.name} {name}", subject=subject)


# Groups of speakers by columns of metadata


def label_sources(groups: Iterable[str], tree: Path, inputs: Inputs) -> dict[str, Path]:
    """Return the files of metadata, each `FILE:COLUMN` relative to the tree, by role.

    Raises
    ------
    PrivacyEvalError
        One is outside of the tree.
    """
    paths = sorted({path_of_labels(tree / text) for text in groups})
    check_inside(paths, inputs.roots, "groups: ")
    return {f"groups of {relative(path, tree)}": path for path in paths}


def labels_in_tree(groups: Iterable[str], tree: Path) -> Iterator[Labels]:
    """Read the labels of every `FILE:COLUMN`, relative to the tree."""
    return (read_labels(str(tree / text)) for text in groups)


def without_group(labels: Labels, tree: Path, without: Sequence[str], n_speakers: int) -> list[str]:
    """Say how many of the speakers are in no group; nothing if all are in one."""
    of = f"{len(without)} of {n_speakers} speakers are in no group of {labels.column}"
    return [f"{relative(labels.path, tree)}: {of}"] if without else []
