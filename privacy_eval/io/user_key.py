"""The user's secret key, which authenticates fingerprints written by this user."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from pathlib import Path

from ..errors import PrivacyEvalError

_DIGITS = 64  # hexadecimal; 256 bits


def key_path() -> Path:
    """Find where the key belongs: `privacy_eval/key` in the user's state folder.

    Returns
    -------
    Path
        Below `$XDG_STATE_HOME` if that is an absolute path, else below `~/.local/state`.

    Raises
    ------
    PrivacyEvalError
        There is no home folder either.
    """
    return _key_path(os.environ.get("XDG_STATE_HOME", ""), os.environ.get("HOME"))


@functools.lru_cache(maxsize=4)  # it is asked for with every fingerprint
def _key_path(state: str, _home: str | None) -> Path:
    if not os.path.isabs(state):  # a relative path could lead into a submission
        state = os.path.expanduser("~/.local/state")
    if not os.path.isabs(state):
        raise PrivacyEvalError("no home folder; set XDG_STATE_HOME to a folder of yours")
    return Path(state, "privacy_eval", "key")


def user_key(*, create: bool = False) -> bytes | None:
    """Read the key, or create it.

    Parameters
    ----------
    create : bool
        Create a key where there is none; jobs that do so at the same time get the same one.

    Returns
    -------
    bytes or None
        None where there is no key.

    Raises
    ------
    PrivacyEvalError
        The key cannot be read or created, or is damaged.
    """
    path = key_path()
    try:
        if create and not path.exists():
            _create(path)
        return _read(path) if path.exists() else None
    except OSError as error:
        raise PrivacyEvalError(
            f"{path}: cannot read or create the user key "
            f"({error.strerror or error}); set XDG_STATE_HOME to a writable folder"
        ) from error


@functools.lru_cache(maxsize=1)
def _read(path: Path) -> bytes:
    text = path.read_bytes()
    if not re.fullmatch(rb"[0-9a-f]{%d}" % _DIGITS, text):
        raise PrivacyEvalError(
            f"{path}: damaged; remove it to have a new key made (all records are then recomputed)"
        )
    return text


def _create(path: Path) -> None:
    import secrets
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)  # mode 0600
    try:
        with open(handle, "w") as file:
            file.write(secrets.token_hex(_DIGITS // 2))
        with contextlib.suppress(FileExistsError):  # another job was faster
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
