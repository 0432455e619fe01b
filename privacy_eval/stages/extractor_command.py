"""Stage 5: extract the x-vectors of a tree's data sets by a user's command.

The command is run once per data set and writes x-vectors of any format; they are checked, and
stored as the built-in extractor stores them. External x-vectors are kept.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from ..asv.tree_vectors import KALDI_VECTORS, OTHER_VECTORS, TreeVectors, vector_file
from ..errors import PrivacyEvalError, abbreviate, describe
from ..io.files import relative
from ..io.inputs import Inputs
from ..io.scp import Vectors
from ..products.freshness import (
    Content,
    Fingerprint,
    MissingInput,
    Outcome,
    Paths,
    Product,
    Run,
    Sources,
    bring_up_to_date,
)
from ..speech.audio import AudioReader
from .access import AsvSystems
from .attackers import SECONDS
from .user_command import FOLDERS, UserCommand
from .vector_sources import COMMAND, VECTORS_NOTE, command_of, packed_vectors, vector_product

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
        extraction = _Extraction(name, folder, command, command.sources(), asv)
        try:
            products.append(extraction.product())
        except PrivacyEvalError as error:
            failed[extraction.name] = describe(error)
    allow = asv.access.allow_missing
    outcome = bring_up_to_date(products, asv.access.inputs, run, allow_missing=allow)
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
    product = _Extraction(data_set, model_folder, command, programs, asv).product()
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
class _Extraction:
    """The x-vectors of a data set."""

    data_set: str
    model_folder: str
    command: UserCommand
    programs: Mapping[str, Path]
    asv: AsvSystems

    @property
    def name(self) -> str:
        return f"{self.model_folder}/xvect_{self.data_set}"

    @property
    def folder(self) -> Path:
        return self.asv.access.tree / self.name

    @property
    def data(self) -> Path:
        return self.asv.access.tree / "data" / self.data_set

    @cached_property
    def reader(self) -> AudioReader:
        return self.asv.access.audio_reader(self.data)

    def product(self) -> Product:
        speech = self.reader.files(self.reader.ids)
        sizes = (path.stat().st_size for path in speech.values() if path.is_file())
        targets = {name: self.reader.target(name) for name in self.reader.ids}
        product = vector_product(self.asv, self.folder, self.find, self.make)
        return replace(
            product,
            options={COMMAND: self.command.text, "targets": targets},
            cost=partial(float, 1 + sum(sizes)),
            seconds=self.folder / SECONDS,
        )

    def find(self, inputs: Inputs) -> Sources:
        utt2spk = self.data / "utt2spk"
        if not utt2spk.is_file():
            raise MissingInput("speakers", f"data/{self.data_set}/utt2spk")
        self.asv.access.check_inside(utt2spk)
        speech = self.reader.existing_files(self.reader.ids)
        return {"utt2spk": utt2spk, **speech, **self.programs}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        tree, written = self.asv.access.tree, self.folder / _WRITTEN
        self.asv.access.check_in_tree(written)
        if written.exists():  # of a killed run, maybe of other speech
            shutil.rmtree(written)
        written.mkdir(parents=True)
        folders = (relative(folder, tree) for folder in (self.data, written))
        places = dict(zip(FOLDERS, folders, strict=True)) | {MODEL: self.model_folder}
        if messages := self.command.run(places):
            print(messages, file=sys.stderr)
        vectors = self._read(written)
        written_ids = set(vectors.ids)
        ids = [name for name in self.reader.ids if name in written_ids]
        left_out = self._check(vectors, ids)
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

    def _check(self, vectors: Vectors, ids: Sequence[str]) -> str:
        """Check that every utterance has a vector, and nothing else; return what is left out."""
        if unknown := sorted(set(vectors.ids) - set(ids)):
            raise PrivacyEvalError(
                f"{vectors.path}: {len(unknown)} vectors of utterances that are not in "
                f"{self.data}: {abbreviate(unknown)}"
            )
        missing = sorted(set(self.reader.ids) - set(ids))
        if missing and not self.asv.access.allow_missing:
            raise PrivacyEvalError(
                f"{vectors.path}: no vector of {len(missing)} utterances: {abbreviate(missing)} "
                "(--allow-missing leaves them out)"
            )
        return f"{len(missing)} utterances without x-vectors left out" if missing else ""
