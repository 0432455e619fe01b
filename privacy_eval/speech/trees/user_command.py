"""Commands of users, run in the tree by a shell: anonymizers, extractors of x-vectors, recognizers.

Those of stage 6 write transcripts of speech, for word error rates: a recognizer is run once per
data set and writes Kaldi's `text`. External transcripts are kept.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import PrivacyEvalError, abbreviate, printable, shorten
from ...io.files import Inputs, read_bytes, relative
from ...io.transcripts import read_transcripts
from ...products.freshness import NOTE, Content, Fingerprint, Paths, Product, Sources
from ...protocol.protocol import ORIGINAL, Protocol
from ...stages.access import Experiment, TreeAccess
from ...stages.options import FOLDERS
from ...tree.conditions import System, recognition_conditions
from .recordings import audio_reader

if TYPE_CHECKING:
    from ..audio import AudioReader

#: End of a command's messages that is kept.
_LAST_BYTES = 1 << 16
#: What roles of files that a command names begin with.
_ROLE = "program "
#: Endings of files that a command reads; others it may write, such as a log.
_READ = (".py", ".sh", ".pl", ".onnx", ".pt", ".yaml", ".yml", ".json")
#: What to do about what a command did not write, beside leaving it out.
_HINTS = {"transcript": "one without words is a line with the id alone; "}

#: The file that a recognizer writes to its folder, and the transcripts of a set.
TEXT = "text"
#: Folder, within that of the transcripts, that it writes to; it is removed afterwards.
_WRITTEN = "recognized"

_WORD = re.compile(r"[^\s'\"|&;<>()$`\\{}=]+")


def check_written(
    path: Path, written: Collection[str], what: str, reader: AudioReader, allow_missing: bool
) -> str:
    """Check that a command wrote a `what` of every utterance, and nothing else; return what is left
    out."""
    ids, hint = set(reader.ids), _HINTS.get(what, "")
    if unknown := sorted(set(written) - ids):
        raise PrivacyEvalError(
            f"{path}: {len(unknown)} {what}s of utterances that are not in {reader.data}: "
            f"{abbreviate(unknown)}"
        )
    missing = sorted(ids.difference(written))
    if missing and not allow_missing:
        raise PrivacyEvalError(
            f"{path}: no {what} of {len(missing)} utterances: {abbreviate(missing)} "
            f"({hint}--allow-missing leaves them out)"
        )
    return f"{len(missing)} utterances without {what}s left out" if missing else ""


@dataclass(frozen=True)
class UserCommand:
    """A user's command.

    Attributes
    ----------
    text : str
        With placeholders such as `{in}` and `{out}`.
    tree : Path
        Folder to run it in.
    caller : Path
        Folder that relative paths of programs and files refer to that the tree does not have.
    role : str
        What the command is, for messages.
    """

    text: str
    tree: Path
    caller: Path
    role: str = "anonymizer"

    def run(self, paths: Mapping[str, str]) -> str:
        """Run the command with paths in the place of placeholders, and return its messages
        (stderr).

        Raises
        ------
        PrivacyEvalError
            It ended with another status than 0, with its last message, or cannot be run.
        """
        command = _WORD.sub(lambda match: self._located(match[0]), self.text)
        for place, path in paths.items():
            command = command.replace(place, shlex.quote(path))
        with tempfile.TemporaryFile() as file:
            try:
                status = subprocess.run(
                    command,
                    shell=True,
                    cwd=self.tree,
                    stdin=subprocess.DEVNULL,
                    stderr=file,
                    check=False,
                ).returncode
            except OSError as error:
                raise PrivacyEvalError(f"{self.text}: cannot be run ({error.strerror})") from error
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            messages = file.read().decode("utf-8", "replace").strip()
        if status:
            last = messages.rpartition("\n")[2]
            for place, path in paths.items():  # so that one cause has one message
                last = last.replace(path, place)
            cause = f": {shorten(printable(last))}" if last else ""
            raise PrivacyEvalError(
                f"the {self.role} ended with status {status}: {self.text}{cause}"
            )
        return messages

    def run_on(self, data: Path, out: Path, more: Mapping[str, str] | None = None) -> None:
        """Run the command on a data folder of the tree, and print its messages.

        `out`: the folder to write; `more`: further places.
        """
        folders = (relative(folder, self.tree) for folder in (data, out))
        if messages := self.run({**dict(zip(FOLDERS, folders, strict=True)), **(more or {})}):
            print(messages, file=sys.stderr)

    @contextlib.contextmanager
    def output(
        self, data: Path, out: Path, more: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """Run the command on a data folder; the folder that it writes is removed afterwards."""
        if out.exists():  # of a killed run, maybe of other speech
            shutil.rmtree(out)
        out.mkdir(parents=True)
        self.run_on(data, out, more)
        yield
        shutil.rmtree(out)

    def sources(self) -> dict[str, Path]:
        """Return the programs, scripts, models and settings that the command names, by role."""
        named = {
            word: self.tree / (self._of_caller(word) or word) for word in _WORD.findall(self.text)
        }
        return {
            f"{_ROLE}{word}": path.resolve()
            for word, path in named.items()
            if path.is_file() and (path.suffix in _READ or os.access(path, os.X_OK))
        }

    def earlier_sources(self, stored: Fingerprint) -> dict[str, Path]:
        """Return those that a product was made with, wherever the command was run from."""
        # As text: `..` after a link of the tree's path would lead elsewhere.
        return {
            role: Path(os.path.abspath(self.tree / entry.path))
            for role, entry in stored.inputs.items()
            if role.startswith(_ROLE)
        }

    def _located(self, word: str) -> str:
        path = self._of_caller(word)
        return word if path is None else shlex.quote(path)

    def _of_caller(self, word: str) -> str | None:
        """Return the absolute path of a word if only the caller has a file of this path."""
        path = self.caller / word
        if os.path.isabs(word) or not path.exists() or (self.tree / word).exists():
            return None
        if "/" not in word and (path.is_dir() or shutil.which(word)):
            return None
        return os.path.abspath(path)


# Recognizers


def recognition(
    name: str, data: Path, out: Path, command: UserCommand, access: TreeAccess
) -> Product:
    """Return the transcripts of a data folder, kept if they are external.

    Parameters
    ----------
    name : str
        In messages.
    data : Path
        Folder with wav.scp.
    out : Path
        Folder of `text`.
    command : UserCommand
        With `{in}` and `{out}`.
    """
    written = out / _WRITTEN

    def find(inputs: Inputs) -> Sources:
        access.existing("speech", data / "wav.scp", data.name)
        reader = audio_reader(access, data)
        return {**reader.existing_files(reader.ids), **command.sources()}

    def make(inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        access.check_inside(written)
        with command.output(data, written):
            text, reader = written / TEXT, audio_reader(access, data)
            if not text.is_file():
                raise PrivacyEvalError(f"the recognizer wrote no {{out}}/{TEXT}: {command.text}")
            access.check_inside(text)
            recognized, allow = read_transcripts(text), access.allow_missing
            left_out = check_written(text, recognized, "transcript", reader, allow)
            return Content({out / TEXT: read_bytes(text)}, left_out)

    options: dict[str, Any] = {"command": command.text}
    if (data / "wav.scp").is_file():
        reader = audio_reader(access, data)
        options["targets"] = {name: reader.target(name) for name in reader.ids}
    note, files = out / f".recognized{NOTE}", (out / TEXT,)
    return Product(name, access.tree, note, files, find, make, options=options, guarded=True)


def plan_recognition(experiment: Experiment, command: UserCommand) -> list[Product]:
    """Return the transcripts of all recognition sets of the systems.

    Raises
    ------
    PrivacyEvalError
        The protocol has no place for transcripts.
    """
    protocol = experiment.asv.protocol
    if not protocol.recognition.folders:
        raise PrivacyEvalError(
            f"protocol {protocol.name} has word error rates of other recognizers than yours: name "
            "yours in a protocol that extends it (recognition: folders; see docs/recognizers.md), "
            "or recognize single data folders: privacy-eval recognize --data DIR --out TEXT"
        )
    every = (_of_system(s, protocol, experiment.asv.access, command) for s in experiment.systems)
    return [*{product.files: product for products in every for product in products}.values()]


def _of_system(
    system: System, protocol: Protocol, access: TreeAccess, command: UserCommand
) -> Iterator[Product]:
    """Yield the transcripts of a system; of original speech those that it shares with others."""
    named = {files.condition.name: files.folder for files in system.recognition}
    found = {name: folder for name, folder in named.items() if folder.name != name}  # not Kaldi's
    part = protocol.results_folders[0]
    conditions = recognition_conditions(protocol, part, system.anon_suffix, system.name)
    for name, condition in conditions.items():
        exps = system.original_exps[::-1] if condition.trial == ORIGINAL else system.exps
        exps = exps or tuple(folder.parent for folder in system.folders[:1])
        if not exps:
            continue
        folder = name.removeprefix("ASR-")
        out = found.get(name, exps[0] / protocol.recognition.folders[0] / folder)
        data = access.tree / "data" / folder
        yield recognition(f"transcripts of {folder}", data, out, command, access)
