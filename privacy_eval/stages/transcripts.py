"""Stage 6: word errors of the recognized sets of a tree that have transcripts."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError
from ..io.files import Inputs, file_names, outside_message
from ..products.freshness import NOTE, Content, Fingerprint, Paths, Product, Sources
from ..results.record_files import record_text
from ..tree.conditions import RecognitionCondition, RecognitionFiles, System, Transcripts
from .group_trials import label_sources, labels_in_tree, without_group

if TYPE_CHECKING:
    from ..metrics.utility import WordErrors

#: Incremented when the same inputs yield another record.
_REVISION = 4


@dataclass(frozen=True)
class _Transcribed:
    """The word errors of one recognized set."""

    files: RecognitionFiles
    transcripts: Transcripts
    path: Path
    tree: Path
    bootstrap: int
    seed: int
    allow_missing: bool
    groups: tuple[str, ...]

    def product(self) -> Product:
        condition = self.files.condition
        return Product(
            f"{condition.system} {condition.name}",
            self.tree,
            self.path.with_name(f".{self.path.stem}{NOTE}"),
            (self.path,),
            self.find,
            self.make,
            subject=self.transcripts.rules,
            options={
                "bootstrap": self.bootstrap,
                "seed": self.seed if self.bootstrap else 0,
                **({"groups": list(self.groups)} if self.groups else {}),
            },
            revision=_REVISION,
            optional=True,
        )

    def find(self, inputs: Inputs) -> Sources:
        if self.files.outside:
            raise PrivacyEvalError(outside_message(self.files.outside[0]))
        given = self.transcripts
        paths = {"hypothesis": given.hypothesis, "reference": given.reference}
        if self.bootstrap or self.groups:
            if given.utt2spk is None:
                what = "a bootstrap over speakers" if self.bootstrap else "groups of speakers"
                raise PrivacyEvalError(f"{given.reference.parent}: no utt2spk, required by {what}")
            paths["utt2spk"] = given.utt2spk
        return paths | label_sources(self.groups, self.tree, inputs)

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from .word_errors import count_word_errors, group_word_errors, set_word_errors

        roles = ("hypothesis", "reference", "utt2spk")
        files = {role: inputs.load(paths[role]) for role in roles if role in paths}
        errors = count_word_errors(
            files["hypothesis"],
            files["reference"],
            utt2spk=files.get("utt2spk"),
            **self.transcripts.rules,
            allow_missing=self.allow_missing,
        )
        drawn = {"replicates": self.bootstrap, "seed": self.seed}
        record, remarks = set_word_errors(errors, **drawn), list(errors.notes)
        for labels in labels_in_tree(self.groups, self.tree):
            of_groups, without = group_word_errors(errors, labels, **drawn)
            if of_groups:
                record = replace(record, groups={**record.groups, labels.column: of_groups})
            remarks += without_group(labels, self.tree, without, len(errors.speakers))
        note = f"{record.left_out} transcripts left out" if record.left_out else ""
        return Content({self.path: record_text(record)}, note, tuple(remarks))


def transcript_products(
    systems: Iterable[System],
    out: Path,
    tree: Path,
    *,
    bootstrap: int = 0,
    seed: int = 0,
    allow_missing: bool = False,
    groups: tuple[str, ...] = (),
) -> dict[RecognitionCondition, Product]:
    """Return the word errors of the recognized sets with transcripts, also by groups of speakers
    of each `FILE:COLUMN`; sets that have rates only if words can be aligned."""
    systems = list(systems)
    names = file_names(system.name for system in systems)
    options = tree, bootstrap, seed, allow_missing, groups
    products = {}
    for name, files in ((names[s.name], files) for s in systems for files in s.recognition):
        path = out / "records" / name / f"recognition-{files.folder.name}.json"
        given = files.transcripts
        if given is not None and (not given.is_rated or can_align()):
            products[files.condition] = _Transcribed(files, given, path, *options).product()
    return products


def can_align() -> bool:
    """Whether the library that aligns words is installed."""
    return importlib.util.find_spec("kaldialign") is not None


def without_intervals(systems: Iterable[System]) -> list[str]:
    """List the sets that have transcripts but no intervals, as their words cannot be aligned."""
    if can_align():
        return []
    sets = (files for system in systems for files in system.recognition)
    return [f"{f.condition.system} {f.condition.name}" for f in sets if f.transcripts is not None]


def rated_words(
    files: RecognitionFiles, inputs: Inputs, *, allow_missing: bool
) -> WordErrors | None:
    """Count the word errors of a set's transcripts if it has rates to compare with them.

    Raises
    ------
    PrivacyEvalError
        As `count_word_errors`.
    """
    given = files.transcripts
    if given is None or not given.is_rated or not can_align():
        return None
    from .word_errors import count_word_errors

    errors = count_word_errors(
        inputs.load(given.hypothesis),
        inputs.load(given.reference),
        allow_missing=allow_missing,
        **{**given.rules, "variant": "challenge"},
    )
    return errors.counts
