"""Commands of users: anonymizers and extractors of x-vectors, run in the tree by a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, abbreviate, printable, shorten
from ..io.files import relative
from ..products.freshness import Fingerprint

if TYPE_CHECKING:
    from ..speech.audio import AudioReader

#: What words of a command that is run for a data folder become: that folder, and the one to write.
FOLDERS = ("{in}", "{out}")

#: End of a command's messages that is kept.
_LAST_BYTES = 1 << 16
#: What roles of files that a command names begin with.
_ROLE = "program "
#: Endings of files that a command reads; others it may write, such as a log.
_READ = (".py", ".sh", ".pl", ".onnx", ".pt", ".yaml", ".yml", ".json")
#: What to do about what a command did not write, beside leaving it out.
_HINTS = {"transcript": "one without words is a line with the id alone; "}
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
