"""Stage 6: transcripts of speech by a user's recognizer, for word error rates.

The command is run once per data set and writes Kaldi's `text`. External transcripts are kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import Inputs, read_bytes
from ..io.transcripts import read_transcripts
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    Outcome,
    Paths,
    Product,
    Run,
    Sources,
)
from ..protocol.protocol import ORIGINAL, Protocol
from ..tree.conditions import System, recognition_conditions
from .access import Experiment, TreeAccess
from .user_command import UserCommand, check_written

#: The file that the command writes to its folder, and the transcripts of a set.
TEXT = "text"

#: Folder, within that of the transcripts, that the command writes to; it is removed afterwards.
_WRITTEN = "recognized"


@dataclass(frozen=True)
class Recognition:
    """The transcripts of a data folder.

    Attributes
    ----------
    name : str
        In messages.
    data : Path
        Folder with wav.scp.
    out : Path
        Folder of `text`.
    command : UserCommand
        With `{in}` and `{out}`.
    access : TreeAccess
    """

    name: str
    data: Path
    out: Path
    command: UserCommand
    access: TreeAccess

    def product(self) -> Product:
        """Return the transcripts, kept if they are external."""
        product = Product(
            self.name,
            self.access.tree,
            self.out / f".recognized{NOTE}",
            (self.out / TEXT,),
            self.find,
            self.make,
            options={"command": self.command.text},
            guarded=True,
        )
        if not (self.data / "wav.scp").is_file():
            return product
        reader = self.access.audio_reader(self.data)
        targets = {name: reader.target(name) for name in reader.ids}
        return replace(product, options={**product.options, "targets": targets})

    def find(self, inputs: Inputs) -> Sources:
        """Return the audio files, and those that the command names."""
        self.access.existing("speech", self.data / "wav.scp", self.data.name)
        reader = self.access.audio_reader(self.data)
        return {**reader.existing_files(reader.ids), **self.command.sources()}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        """Run the command, and check what it wrote."""
        written = self.out / _WRITTEN
        self.access.check_inside(written)
        if written.exists():  # of a killed run, maybe of other speech
            shutil.rmtree(written)
        written.mkdir(parents=True)
        self.command.run_on(self.data, written)
        if not (written / TEXT).is_file():
            raise PrivacyEvalError(f"the recognizer wrote no {{out}}/{TEXT}: {self.command.text}")
        self.access.check_inside(written / TEXT)
        text, reader = written / TEXT, self.access.audio_reader(self.data)
        recognized, allow = read_transcripts(text), self.access.allow_missing
        left_out = check_written(text, recognized, "transcript", reader, allow)
        content = read_bytes(written / TEXT)
        shutil.rmtree(written)
        return Content({self.out / TEXT: content}, left_out)


def recognize_tree(experiment: Experiment, command: UserCommand, run: Run = Run()) -> Outcome:
    """Recognize the speech of all recognition sets of the systems that have no transcripts, or none
    that are current.

    Raises
    ------
    PrivacyEvalError
        The protocol has no place for transcripts.
    """
    access, protocol = experiment.asv.access, experiment.asv.protocol
    if not protocol.recognition.folders:
        raise PrivacyEvalError(
            f"protocol {protocol.name} has word error rates of other recognizers than yours: name "
            "yours in a protocol that extends it (recognition: folders; see docs/recognizers.md), "
            "or recognize single data folders: privacy-eval recognize --data DIR --out TEXT"
        )
    products = {
        product.files: product
        for system in experiment.systems
        for product in _of_system(system, protocol, access, command)
    }
    return access.bring_up_to_date(products.values(), run)


def _of_system(
    system: System, protocol: Protocol, access: TreeAccess, command: UserCommand
) -> Iterator[Product]:
    """Yield the transcripts of a system; of original speech those that it shares with others."""
    named = {files.condition.name: files.folder for files in system.recognition}
    found = {name: folder for name, folder in named.items() if folder.name != name}  # not Kaldi's
    part = protocol.results_folders[0]
    conditions = recognition_conditions(protocol, part, system.anon_suffix, system.name)
    for name, condition in conditions.items():
        exps = system.original_exps[::-1] if condition.speech == ORIGINAL else system.exps
        exps = exps or tuple(folder.parent for folder in system.folders[:1])
        if not exps:
            continue
        folder = name.removeprefix("ASR-")
        out = found.get(name, exps[0] / protocol.recognition.folders[0] / folder)
        data = access.tree / "data" / folder
        yield Recognition(f"transcripts of {folder}", data, out, command, access).product()
