"""Commands of users: anonymizers and extractors of x-vectors, run in the tree by a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError, printable, shorten

#: What words of a command that is run for a data folder become: that folder, and the one to write.
FOLDERS = ("{in}", "{out}")

#: End of a command's messages that is kept.
_LAST_BYTES = 1 << 16
_WORD = re.compile(r"[^\s'\"|&;<>()$`\\{}=]+")


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

    def _located(self, word: str) -> str:
        """Make a word absolute if only the caller has a file of this path."""
        path = self.caller / word
        if os.path.isabs(word) or not path.exists() or (self.tree / word).exists():
            return word
        if "/" not in word and (path.is_dir() or shutil.which(word)):
            return word
        return shlex.quote(os.path.abspath(path))
