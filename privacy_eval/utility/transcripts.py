"""Stage 6: the word errors of recognized sets with transcripts, each a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import Inputs, file_names, outside_message
from ..products.freshness import Content, Fingerprint, Paths, Product, Sources
from ..results.record_files import record_text
from ..stages.options import MetricOptions
from ..stages.privacy_metrics import can_align
from ..stages.records import label_sources, labels_in_tree, note_of, without_group
from ..tree.conditions import Condition, RecognitionFiles, System, Transcripts

#: Incremented when the same inputs yield different numbers.
_REVISION = 4


@dataclass(frozen=True)
class _Transcribed:
    """The word errors of one recognized set."""

    files: RecognitionFiles
    transcripts: Transcripts
    path: Path
    tree: Path
    options: MetricOptions

    def product(self) -> Product:
        condition = self.files.condition
        return Product(
            f"{condition.system} {condition.name}",
            self.tree,
            note_of(self.path),
            (self.path,),
            self.find,
            self.make,
            subject=self.transcripts.rules,
            options=self.options.made_with,
            revision=_REVISION,
            optional=True,
        )

    def find(self, inputs: Inputs) -> Sources:
        if self.files.outside:
            raise PrivacyEvalError(outside_message(self.files.outside[0]))
        given, options = self.transcripts, self.options
        paths = {"hypothesis": given.hypothesis, "reference": given.reference}
        if options.bootstrap or options.groups:
            if given.utt2spk is None:
                what = "a bootstrap over speakers" if options.bootstrap else "groups of speakers"
                raise PrivacyEvalError(f"{given.reference.parent}: no utt2spk, required by {what}")
            paths["utt2spk"] = given.utt2spk
        return paths | label_sources(options.groups, self.tree, inputs)

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from .word_errors import count_word_errors, group_word_errors, set_word_errors

        roles = ("hypothesis", "reference", "utt2spk")
        files = {role: inputs.load(paths[role]) for role in roles if role in paths}
        errors = count_word_errors(
            files["hypothesis"],
            files["reference"],
            utt2spk=files.get("utt2spk"),
            **self.transcripts.rules,
            allow_missing=self.options.allow_missing,
        )
        drawn = {"replicates": self.options.bootstrap, "seed": self.options.seed}
        record, remarks = set_word_errors(errors, **drawn), list(errors.notes)
        for labels in labels_in_tree(self.options.groups, self.tree):
            of_groups, without = group_word_errors(errors, labels, **drawn)
            if of_groups:
                record = replace(record, groups={**record.groups, labels.column: of_groups})
            remarks += without_group(labels, self.tree, without, len(errors.speakers))
        note = f"{record.left_out} transcripts left out" if record.left_out else ""
        return Content({self.path: record_text(record)}, note, tuple(remarks))


def plan_transcripts(
    systems: Iterable[System], out: Path, tree: Path, options: MetricOptions
) -> dict[Condition, Product]:
    """Return the word errors of the recognized sets with transcripts, also by groups of speakers;
    sets that have rates only if words can be aligned."""
    systems = list(systems)
    names = file_names(system.name for system in systems)
    products = {}
    for name, files in ((names[s.name], files) for s in systems for files in s.recognition):
        path = out / "records" / name / f"recognition-{files.folder.name}.json"
        given = files.transcripts
        if given is not None and (not given.is_rated or can_align()):
            one = _Transcribed(files, given, path, tree, options)
            products[files.condition] = one.product()
    return products
