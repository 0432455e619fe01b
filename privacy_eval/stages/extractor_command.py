"""Stage 5: extract the x-vectors of a tree's data sets by a user's command.

The command is run once per data set and writes x-vectors of any format; they are checked, and
stored as the built-in extractor stores them. External x-vectors are kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from ..asv.inputs import KALDI_VECTORS, OTHER_VECTORS, TreeVectors, vector_file
from ..errors import PrivacyEvalError, describe
from ..io.files import Inputs
from ..io.vectors import Vectors
from ..products.freshness import (
    Content,
    Fingerprint,
    Outcome,
    Paths,
    Product,
    Run,
    Sources,
)
from ..speech.audio import AudioReader
from .access import AsvSystems
from .attackers import SECONDS
from .user_command import UserCommand, check_written
from .vector_sources import COMMAND, VECTORS_NOTE, VectorSet, command_of, packed_vectors

#: What the word for the model folder becomes, beside the folders.
MODEL = "{model}"

#: Folder, within that of the x-vectors, that the command writes to; it is removed afterwards.
_WRITTEN = "extracted"


def extract_by_command(
    asv: AsvSystems, sets: Iterable[tuple[str, str]], command: UserCommand, run: Run = Run()
) -> Outcome:
    """Extract the x-vectors of data sets, pairs of name and model folder, that are not current."""
    products, failed = [], {}
    for name, folder in sets:
        extraction = _Extraction(name, folder, asv, command, command.sources())
        try:
            products.append(extraction.product())
        except PrivacyEvalError as error:
            failed[extraction.name] = describe(error)
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
    product = _Extraction(data_set, model_folder, asv, command, programs).product()
    if product.is_foreign(asv.access.inputs):
        return None
    if product.is_current(asv.access.inputs):
        return Outcome(current=[product.name])
    message = (
        f"its speech, or a file of the command, has changed since --extractor {text!r}; "
        "name an extractor again"
    )
    return Outcome(failed={product.name: message})


@dataclass(frozen=True)
class _Extraction(VectorSet):
    """Those that a command makes."""

    command: UserCommand
    programs: Mapping[str, Path]

    @cached_property
    def reader(self) -> AudioReader:
        return self.asv.access.audio_reader(self.data)

    def product(self) -> Product:
        targets = {name: self.reader.target(name) for name in self.reader.ids}
        return replace(
            super().product(),
            options={COMMAND: self.command.text, "targets": targets},
            cost=partial(float, 1 + self.reader.size(self.reader.ids)),
            seconds=self.folder / SECONDS,
        )

    def find(self, inputs: Inputs) -> Sources:
        utt2spk = self.asv.access.existing("speakers", self.data / "utt2spk")
        speech = self.reader.existing_files(self.reader.ids)
        return {"utt2spk": utt2spk, **speech, **self.programs}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        tree, written = self.asv.access.tree, self.folder / _WRITTEN
        self.asv.access.check_in_tree(written)
        if written.exists():  # of a killed run, maybe of other speech
            shutil.rmtree(written)
        written.mkdir(parents=True)
        self.command.run_on(self.data, written, {MODEL: self.model_folder})
        vectors = self._read(written)
        written_ids = set(vectors.ids)
        ids = [name for name in self.reader.ids if name in written_ids]
        allow = self.asv.access.allow_missing
        left_out = check_written(vectors.path, vectors.ids, "x-vector", self.reader, allow)
        matrix = vectors.matrix[vectors.rows(ids, str(self.data))]
        content = packed_vectors(self.folder, ids, matrix, paths["utt2spk"], tree)
        shutil.rmtree(written)
        return Content(content, left_out)

    def _read(self, written: Path) -> Vectors:
        """Read what the command wrote."""
        access = self.asv.access
        file = vector_file(written)
        if file is None:
            raise PrivacyEvalError(
                f"the extractor wrote none of {', '.join((KALDI_VECTORS, *OTHER_VECTORS))} to "
                f"{{out}}: {self.command.text}"
            )
        allow_outside = access.allow_outside
        vectors = TreeVectors(access.tree, self.asv.protocol, written, allow_outside=allow_outside)
        read = vectors.read(file)
        return read.without_zeros() if access.allow_missing else read
