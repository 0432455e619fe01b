"""Read whole files, each input of a command once; write files and folders atomically.

Paths out of the tree are refused, and so are symlinks and special files that would be written to.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import gzip
import hashlib
import io
import itertools
import os
import re
import stat
import sys
import warnings
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..errors import ChangedError, InputWarning, OutputError, PrivacyEvalError, shorten

#: Limit for any input file.
MAX_BYTES = 8 << 30
#: Limit for texts that become Python objects, which take many times their size: results.json,
#: results.txt, spk2utt.
MAX_TEXT_BYTES = 512 << 20
#: Maximum expansion ratio of a gzip file larger than _HARMLESS_BYTES. Trials and scores reach 20,
#: a gzip bomb 1000.
_MAX_RATIO = 200
_HARMLESS_BYTES = 64 << 20
_PIECE_BYTES = 64 << 20
_HASHED_BYTES = 1 << 20
#: Of a file that is read line by line.
_BLOCK_BYTES = 1 << 20
#: Folders of a shell's `<(command)` pipes, where no submission can be.
_SHELL_PIPES = ("/dev/fd", "/proc/self/fd")
#: Average bytes per line that a `LineLimit` allows; lines of scores and trials have about 30.
_LINE_BYTES = 256
# Characters of one part of a file name; file systems take 255 bytes of the whole.
_LONGEST_NAME = 120
#: Attempts to open a file that is exchanged meanwhile, as by another run that writes it anew.
_OPENED_AGAIN = 5
GZIP_MAGIC = b"\x1f\x8b"
ARROW_MAGIC, ARROW_STREAM, PARQUET_MAGIC = b"ARROW1", b"\xff" * 4, b"PAR1"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
#: Beginnings of files that are no text: what they are, and the remedy.
_KINDS = {
    b"ORC": "Apache ORC: write it as Parquet",
    b"\x28\xb5\x2f\xfd": "packed by zstd: unpack it, or pack it by gzip",
    b"BZh": "packed by bzip2: unpack it, or pack it by gzip",
    b"\xfd7zXZ": "packed by xz: unpack it, or pack it by gzip",
    b"PK\3\4": "a zip archive, such as .xlsx: save it as CSV",
    b"FEA1": "Feather of version 1: write it as Parquet",
    b"SQLite": "a database of SQLite: write it as CSV",
    b"\x80": "a pickle, which is never read: write it as CSV",
    **{magic: "no text: write it as CSV" for magic in (PARQUET_MAGIC, ARROW_MAGIC, b"\x89HDF")},
}
#: Asked of files of lines whose last line does not end.
OPEN_END = "no newline at the end of its last line: was it cut?"
_NOTHING_WRITABLE = (errno.ENOSPC, errno.EROFS, errno.EDQUOT)

#: Limit of the contents stored for later readers, in addition to the last two files.
_KEPT_BYTES = 64 << 20


class BinaryStream(Protocol):
    """A binary stream that is read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""

    def seek(self, offset: int, /) -> int:
        """Go to a position, counted from the beginning."""


@contextlib.contextmanager
def reading(where: object) -> Iterator[None]:
    """Convert errors while a file is read into a `PrivacyEvalError`.

    Parameters
    ----------
    where : object
        Beginning of the message, usually the path.

    Raises
    ------
    PrivacyEvalError
        The block raised an error of gzip, of the operating system or of memory.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PrivacyEvalError(f"{where}: truncated or damaged gzip file ({error})") from error
    except OSError as error:
        raise PrivacyEvalError(f"{where}: cannot be read ({error.strerror or error})") from error
    except MemoryError as error:
        raise PrivacyEvalError(f"{where}: not enough memory to read the file") from error


@contextlib.contextmanager
def opened(
    path: Path, where: object, roots: Sequence[Path] = (), pipes: Collection[str] = ()
) -> Iterator[io.FileIO]:
    """Open a regular file for a block of reading, see `open_regular`.

    Parameters
    ----------
    where : object
        Beginning of errors, usually the path.
    roots, pipes
        See `open_regular`.

    Raises
    ------
    PrivacyEvalError
        Missing, unreadable, not a regular file, changed in the meantime.
    """
    try:
        with reading(where):
            raw = open_regular(path, roots=roots, pipes=pipes)
    except ValueError as error:  # a NUL within
        raise PrivacyEvalError(f"{where}: not a path ({error})") from error
    with raw, _unchanged(raw, where):
        yield raw


@contextlib.contextmanager
def _unchanged(file: io.FileIO, where: object) -> Iterator[None]:
    """Refuse a file that changes while it is read, also under its old time."""
    with io.FileIO(os.dup(file.fileno())) as own:  # who reads may close the file
        before = os.fstat(own.fileno())
        try:
            yield
        finally:  # also after an error, perhaps for what is half written
            after = os.fstat(own.fileno())
            same = (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
            # A new link or an exchanged name changes this time, too, but nothing that is read.
            linked = after.st_nlink != before.st_nlink or after.st_ctime_ns == before.st_ctime_ns
            if stat.S_ISREG(before.st_mode) and not (same and linked):
                change = "changed while it was read; begin again when it is whole"
                raise ChangedError(f"{where}: {change}")


@dataclass(frozen=True)
class Loaded(os.PathLike[str]):
    """A file with its content, which readers take in place of its path.

    Attributes
    ----------
    content : bytes
        Unpacked if it is gzip, without byte order mark.
    """

    path: Path
    content: bytes = field(repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


def load(path: Path) -> Loaded:
    """Read a file for several readers."""
    return Loaded(path, read_bytes(path))


@dataclass(frozen=True)
class LineLimit:
    """A limit for the lines of a file, so that an untrusted one cannot fill the memory.

    Attributes
    ----------
    reason : str
        For the message.
    """

    lines: int
    reason: str


def read_bytes(
    path: Path | Loaded,
    *,
    max_bytes: int = MAX_BYTES,
    limit: LineLimit | None = None,
    roots: Sequence[Path] = (),
) -> bytes:
    """Read a file, unpacked if it is gzip (whatever its name), without a byte order mark; UTF-16
    that begins with one becomes UTF-8.

    Parameters
    ----------
    max_bytes : int
        Limit for the unpacked content.
    limit : LineLimit, optional
        Limit for its lines; reading ends where it is exceeded.
    roots : sequence of Path
        See `open_regular`.

    Raises
    ------
    PrivacyEvalError
        Missing, unreadable, not a regular file, truncated, larger than `max_bytes` or than
        memory, a gzip bomb; more lines than `limit`, with the first of these.
    """
    most = limit.lines if limit is not None else sys.maxsize
    max_bytes = min(max_bytes, _LINE_BYTES * most)
    if isinstance(path, Loaded):
        data = path.content
    else:
        with unpacked(path, path, roots, _SHELL_PIPES) as (file, allowed):
            max_bytes = min(max_bytes, allowed)
            data = _read_up_to(max_bytes, file, most)
    if limit is not None and data.count(b"\n") > most:
        raise PrivacyEvalError(f"{path}:{most + 1}: more than {most} lines ({limit.reason})")
    if len(data) > max_bytes:
        raise PrivacyEvalError(f"{path}: larger than {max_bytes} bytes (unpacked, if it is gzip)")
    return data if isinstance(path, Loaded) else _as_utf8(data)


def _as_utf8(data: bytes) -> bytes:
    """Remove a byte order mark, of UTF-16 with its encoding."""
    if data.startswith(UTF16_BOMS):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode("utf-16").encode()
    return data.removeprefix(UTF8_BOM)


def read_blocks(
    path: Path | Loaded, *, limit: LineLimit | None = None
) -> Generator[bytes, None, None]:
    """Read a file as `read_bytes` does, in blocks of whole lines; the last may lack its newline.

    Raises
    ------
    PrivacyEvalError
        As `read_bytes`, whose message may be better; a pipe; a line longer than a block.
    """
    most = limit.lines if limit is not None else sys.maxsize
    with unpacked(path, path) as (file, left):
        block = (piece := file.read(_BLOCK_BYTES)).removeprefix(UTF8_BOM)
        while block:
            left -= len(piece)
            piece = file.read(_BLOCK_BYTES)
            end = block.rfind(b"\n") + 1 if piece else len(block)
            if limit is not None:
                most -= block.count(b"\n", 0, end)
            if not end or left < 0 or most < 0 or block.startswith(UTF16_BOMS):
                raise PrivacyEvalError(f"{path}: larger than is read in blocks")
            yield block[:end]
            block = block[end:] + piece


@contextlib.contextmanager
def unpacked(
    path: Path | Loaded, where: object, roots: Sequence[Path] = (), pipes: Collection[str] = ()
) -> Iterator[tuple[BinaryStream, int]]:
    """Open a file, unpacked if it is gzip, for a block of reading; also yield the most bytes that
    it may have.

    Parameters
    ----------
    where, roots, pipes
        As of `opened`.

    Raises
    ------
    PrivacyEvalError
        As of `opened`; a damaged gzip file.
    """
    if isinstance(path, Loaded):
        yield io.BytesIO(path.content), MAX_BYTES
        return
    with opened(path, where, roots, pipes) as raw, reading(where), io.BufferedReader(raw) as file:
        if not file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
            yield file, MAX_BYTES
            return
        piped = not file.seekable()
        packed = io.BytesIO(_read_up_to(MAX_BYTES, file, sys.maxsize)) if piped else file
        size = packed.seek(0, os.SEEK_END)
        packed.seek(0)
        with gzip.open(packed) as content:
            yield content, max_unpacked_bytes(size)


def open_regular(
    path: Path | str, *, pipes: Collection[str] = (), roots: Sequence[Path] = ()
) -> io.FileIO:
    """Open a regular file, without waiting for the other end of a named pipe.

    Parameters
    ----------
    pipes : collection of str
        Folders of open pipes, which may be read, too.
    roots : sequence of Path
        A path within one of them must lead to one of them, also while links are exchanged.

    Raises
    ------
    OSError
        It cannot be opened, or is a named pipe, a socket, a device or a folder.
    PrivacyEvalError
        It leads out of the roots, or is exchanged again and again.
    """
    below = f"{os.path.abspath(path)}/"
    if any(below.startswith(os.path.join(os.path.abspath(root), "")) for root in roots):
        return _open_within(Path(path), roots)
    piped = os.path.dirname(path) in pipes
    flags = os.O_RDONLY | os.O_CLOEXEC | (0 if piped else os.O_NONBLOCK)
    handle = os.open(path, flags)
    mode = os.fstat(handle).st_mode
    if not (stat.S_ISREG(mode) or (piped and stat.S_ISFIFO(mode))):
        os.close(handle)
        folder = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else ""
        if folder and next(Path(path).rglob("*.parquet"), None):
            folder = (
                "a folder of Parquet files: write them as one file, as pyarrow.dataset.dataset("
                "FOLDER, partitioning='hive').to_table() reads them"
            )
        raise OSError(errno.EINVAL, folder or "not a regular file")
    return io.FileIO(handle)


def _open_within(path: Path, roots: Sequence[Path]) -> io.FileIO:
    """Open a regular file; make sure that it is the one within the roots that the path leads to."""
    for _ in range(_OPENED_AGAIN):
        file = open_regular(path)
        with contextlib.suppress(OSError):
            real = os.path.realpath(path)
            if os.path.samestat(os.lstat(real), os.fstat(file.fileno())):
                if not _is_below_any(real, roots):
                    raise PrivacyEvalError(outside_message(Path(real)))
                return file
        file.close()  # exchanged in the meantime
    raise PrivacyEvalError(f"{path}: changed while it was opened")


def _read_up_to(max_bytes: int, file: BinaryStream, max_lines: int) -> bytes:
    """Read all of a file, or a little more than `max_bytes` or `max_lines` of it."""
    pieces = []
    left = max_bytes + 1
    while left > 0 and max_lines >= 0 and (piece := file.read(min(left, _PIECE_BYTES))):
        pieces.append(piece)
        left -= len(piece)
        if max_lines < sys.maxsize and len(piece) == _PIECE_BYTES:  # else it is the last one
            max_lines -= piece.count(b"\n")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def max_unpacked_bytes(packed: int) -> int:
    """Compute the largest allowed unpacked size of a gzip file, against gzip bombs.

    Parameters
    ----------
    packed : int
        Size of the file in bytes.

    Returns
    -------
    int
        Bytes.
    """
    return max(_HARMLESS_BYTES, min(MAX_BYTES, _MAX_RATIO * packed))


def read_text(path: Path | Loaded) -> str:
    """Read a UTF-8 file of at most `MAX_TEXT_BYTES`.

    Raises
    ------
    PrivacyEvalError
        As `read_bytes`; bytes that are not UTF-8, with the line.
    """
    data = read_bytes(path, max_bytes=MAX_TEXT_BYTES)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise no_text(data, error.start, path) from error


def no_text(
    data: bytes, position: int, path: object, what: str = "not UTF-8 text"
) -> PrivacyEvalError:
    """Make the error of a file that is no text at a position, with its kind if that is known."""
    if kind := next((kind for magic, kind in _KINDS.items() if data.startswith(magic)), ""):
        return PrivacyEvalError(f"{path}: this is {kind}")
    line = data.count(b"\n", 0, position) + 1
    return PrivacyEvalError(f"{path}:{line}: {what}: save it as text in UTF-8")


def ask_if_cut(path: object, content: bytes | str) -> None:
    """Warn of a file of lines whose last line does not end."""
    if content and content[-1:] not in (b"\n", "\n"):
        warnings.warn(f"{path}: {OPEN_END}", InputWarning, stacklevel=2)


def command_output(command: str, folder: Path, where: str, most: int) -> bytes:
    """Run a command that the user allows, and return what it prints.

    Parameters
    ----------
    most : int
        Bytes.

    Raises
    ------
    PrivacyEvalError
        It cannot be run, fails, or prints more.
    """
    import subprocess

    try:
        with subprocess.Popen(
            command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            content = process.stdout.read(most + 1)
    except OSError as error:
        raise PrivacyEvalError(f"{where}: cannot be run ({error.strerror or error})") from error
    if len(content) > most:
        raise PrivacyEvalError(f"{where}: the command prints over {most} bytes")
    if process.returncode:
        raise PrivacyEvalError(f"{where}: the command ended with status {process.returncode}")
    return content


def large_digest(path: Path, more_than: int, roots: Sequence[Path] = ()) -> str | None:
    """Compute the SHA-256 of a large uncompressed file, without byte order mark, in chunks.

    Parameters
    ----------
    more_than : int
        Bytes.
    roots : sequence of Path
        See `open_regular`.

    Returns
    -------
    str or None
        64 hexadecimal digits; None if the file is not larger than that, is gzip or missing, or
        is larger than `MAX_BYTES`.

    Raises
    ------
    PrivacyEvalError
        Unreadable, or not a regular file.
    """
    try:
        if not more_than < os.stat(path).st_size <= MAX_BYTES:
            return None
    except OSError:
        return None
    with reading(path), open_regular(path, roots=roots) as file, _unchanged(file, path):
        piece = file.read(_HASHED_BYTES)
        if piece.startswith((GZIP_MAGIC, *UTF16_BOMS)):
            return None
        sha256 = hashlib.sha256(piece.removeprefix(UTF8_BOM))
        while piece := file.read(_HASHED_BYTES):
            sha256.update(piece)
    return sha256.hexdigest()


def digest(data: bytes) -> str:
    """Compute a SHA-256.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def atomic_path(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` when the block succeeds.

    A missing folder is created. A symbolic link is replaced, never followed, as it may be
    untrusted. On any error `path` stays as it was; leftovers of a killed writer are removed by
    the next one.

    Raises
    ------
    PrivacyEvalError
        `path` is a folder, a device or the like; it cannot be written.
    """
    if path.exists() and not path.is_file():
        raise PrivacyEvalError(
            f"{path}: exists but is not a regular file; refusing to overwrite it"
        )
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = _locked_temporary(path, folder=False)
    try:
        with _writing(path):
            yield temporary
            os.chmod(temporary, mode & ~_umask())
            sweep(path)  # first: once the file is there, it may never be written again
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces `path`, which may exist, when the block succeeds.

    Parameters
    ----------
    path : Path
        A missing parent is created.

    Raises
    ------
    PrivacyEvalError
        `path` is a symbolic link or no folder; it cannot be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise PrivacyEvalError(f"{path}: exists but is not a directory; refusing to overwrite it")
    with _writing(path):
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = _locked_temporary(path, folder=True)
        try:
            new, old = temporary / "new", temporary / "old"
            new.mkdir()
            yield new
            if path.exists():
                os.rename(path, old)
            try:
                os.rename(new, path)
            except BaseException:
                if old.exists():
                    os.rename(old, path)
                raise
        finally:
            import shutil

            shutil.rmtree(temporary, ignore_errors=True)
            os.close(handle)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = OutputError if error.errno in _NOTHING_WRITABLE else PrivacyEvalError
        raise kind(f"{path}: cannot be written ({error.strerror or error})") from error


def _locked_temporary(path: Path, *, folder: bool) -> tuple[int, Path]:
    """Create a hidden file or folder next to `path`, locked while its writer lives."""
    import tempfile  # slow to import, and not needed where all is current

    parent, prefix, suffix = os.path.realpath(path.parent), f".{path.name}.", ".tmp"
    while True:
        if folder:
            name = tempfile.mkdtemp(suffix, prefix, parent)
            try:
                handle = _open(name)
            except FileNotFoundError:  # swept at once by another process
                continue
        else:
            handle, name = tempfile.mkstemp(suffix, prefix, parent)
        with contextlib.suppress(OSError):  # a file system without locks is not swept either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(name):  # not swept between creation and lock
            return handle, Path(name)
        os.close(handle)


#: Name of a temporary file; the group is that of the file it is for.
_TEMPORARY = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.tmp", re.DOTALL)


def sweep(*paths: Path) -> None:
    """Remove temporary files and folders for `paths` whose writers are gone."""
    names_in: dict[Path, set[str]] = {}
    for path in paths:
        names_in.setdefault(path.parent, set()).add(path.name)
    for folder, names in names_in.items():
        for name in os.listdir(folder) if folder.is_dir() else ():
            temporary = _TEMPORARY.fullmatch(name)
            if temporary is None or temporary[1] not in names:
                continue
            left = folder / name
            with contextlib.suppress(OSError), _opened(left) as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
                import shutil

                shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder, waiting for other processes that do."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # no folder, or a file system without locks
            fcntl.flock(stack.enter_context(_opened(folder.resolve())), fcntl.LOCK_EX)
        yield


def _open(path: Path | str) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    handle = _open(path)
    try:
        yield handle
    finally:
        os.close(handle)


def relative(path: Path, tree: Path) -> str:
    """Format a path relative to the tree, as records store it.

    Returns
    -------
    str
        Relative to the tree, with `/`.
    """
    inner, base = str(path), f"{tree}/"
    if inner.startswith(base) and ".." not in inner:  # usual, and much faster
        return inner[len(base) :]
    return Path(os.path.relpath(path, tree)).as_posix()


def write_text(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a UTF-8 file atomically."""
    write_bytes(path, text.encode(), mode=mode)


def write_bytes(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file atomically."""
    with atomic_path(path, mode) as temporary:
        temporary.write_bytes(content)


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Map each name to a plain ASCII file name; distinct names get distinct file names.

    Characters special to a shell, TeX or a file system become `_`. Names that would collide (on
    any file system) get a piece of their digest, which also replaces the middle of a name that
    is too long.

    Examples
    --------
    >>> file_names(["B1", "a/b"])
    {'B1': 'B1', 'a/b': 'a_b'}
    """
    cleaned = {name: re.sub(r"[^A-Za-z0-9.+-]+", "_", name).strip("._-") or "_" for name in names}
    taken = Counter(file.casefold() for file in cleaned.values())
    files = {}
    for name, file in cleaned.items():
        piece = digest(name.encode())[:8]
        if len(file) > _LONGEST_NAME:
            file = f"{file[: _LONGEST_NAME // 2]}-{piece}-{file[-_LONGEST_NAME // 3 :]}"
        elif taken[file.casefold()] > 1:
            file = f"{file}-{piece}"
        files[name] = file
    return files


def paths_outside(paths: Iterable[Path | None], roots: Iterable[Path]) -> tuple[Path, ...]:
    """Select the paths that lead to none of the roots.

    Parameters
    ----------
    paths : iterable of (Path or None)
        None is skipped.
    roots : iterable of Path
        Folders that may be read; where there are none, everything may.
    """
    roots = list(roots)
    if not roots:
        return ()
    return tuple(path for path in paths if path is not None and not _leads_to_any(path, roots))


def _leads_to_any(path: Path, roots: Iterable[Path]) -> bool:
    path = path.absolute()
    real = os.path.join(_real_folder(path.parent), path.name)
    if path.name == ".." or os.path.islink(real):
        real = os.path.realpath(path)
    return _is_below_any(real, roots)


def _is_below_any(real: str, roots: Iterable[Path]) -> bool:
    folders = (os.path.join(_real_folder(root.absolute()), "") for root in roots)
    return any(f"{real}/".startswith(folder) for folder in folders)


@functools.lru_cache(maxsize=4096)
def _real_folder(folder: Path) -> str:
    """Resolve the links of a folder, once per command: whoever opens a file within roots makes sure
    of where it is (`io.files.open_regular`)."""
    return os.path.realpath(folder)


def check_inside(paths: Iterable[Path | None], roots: Iterable[Path], where: str = "") -> None:
    """Make sure that paths lead to one of the roots.

    Parameters
    ----------
    paths, roots
        As of `paths_outside`.
    where : str
        Origin of the paths, at the beginning of the message.

    Raises
    ------
    PrivacyEvalError
        Names the first path outside, and the option that allows it.
    """
    for path in paths_outside(paths, roots):
        raise PrivacyEvalError(where + outside_message(path))


def outside_message(path: Path) -> str:
    """Return the error message for a path outside the roots."""
    if not os.path.exists(path):
        return f"{shorten(str(path))}: no such file (is it of another machine?)"
    return (
        f"{shorten(str(path))}: is outside the tree and the results "
        f"({shorten(os.path.realpath(path))}); use --allow-outside to read it"
    )


def refuse_symlinks(path: Path, results: Path) -> None:
    """Refuse to write to symlinks and special files in the results, which may be untrusted.

    Parameters
    ----------
    path : Path
        To be written. Checked are it and the folders above it, up to `results` or the folder
        that both are in.

    Raises
    ------
    PrivacyEvalError
        Names the first symlink or special file.
    """
    root, path = Path(os.path.abspath(results)), Path(os.path.abspath(path))
    _refuse(itertools.takewhile(lambda p: not root.is_relative_to(p), (path, *path.parents)))


def refuse_symlinks_below(out: Path, results: Path) -> None:
    """Refuse an output folder within the results that is, or contains, a symlink or special file.

    Parameters
    ----------
    out : Path
        Nothing is checked where it is not within `results`.

    Raises
    ------
    PrivacyEvalError
        Names the first symlink or special file.
    """
    if out.absolute().is_relative_to(results.absolute()):
        refuse_symlinks(out, results)
        _refuse([out])
        _refuse_below(out)


def _refuse_below(folder: Path) -> None:
    try:
        entries = os.scandir(folder)
    except OSError:  # not there, or not readable: whoever writes to it reports it
        return
    with entries:
        # An entry knows what it is: no further call to the system for each of many files.
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _refuse_below(Path(entry))
            elif not entry.is_file(follow_symlinks=False):
                _refuse([Path(entry)])


def _refuse(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_symlink():
            raise PrivacyEvalError(
                f"{path}: refusing to write through a symlink inside the results folder; choose "
                "another --out"
            )
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise PrivacyEvalError(
                f"{path}: refusing to write next to a named pipe, socket or device; remove it or "
                "choose another --out"
            )


class Inputs:
    """Digests of the input files of a command, and their contents for the readers.

    A file is read from disk once: its content is hashed, and handed on to the reader that
    parses it (`load`). What changes on disk in between is not seen. Large uncompressed files,
    such as an hour of speech, are hashed in chunks and read again when they are parsed; a change
    in between is an error.

    Attributes
    ----------
    roots : sequence of Path
        Folders that paths within them must not lead out of.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self.roots = roots
        self._sha256: dict[Path, str] = {}
        # Sorted, each with a slash at its end: those of a folder stand together.
        self._names: list[str] = []
        self._content: dict[Path, bytes] = {}
        self._kept = 0

    def sha256(self, path: Path, limit: LineLimit | None = None) -> str:
        """Return the SHA-256 of the (unpacked) content of a file.

        Raises
        ------
        PrivacyEvalError
            As `read_bytes`.
        """
        if path not in self._sha256:
            large = large_digest(path, _KEPT_BYTES, self.roots) if limit is None else None
            if large is None:
                self._read(path, limit)
            else:
                self._hashed(path, large)
        return self._sha256[path]

    def load(self, path: Path) -> Loaded:
        """Return a file with the content that is hashed, for its reader.

        Raises
        ------
        PrivacyEvalError
            As `read_bytes`; a large file has changed since it was hashed.
        """
        content = self._content[path] if path in self._content else self._read(path)
        return Loaded(path, content)

    def forget(self, folder: Path) -> None:
        """Forget a file, or all files of a folder, that was written in the meantime."""
        # "0" is the character after "/".
        first, last = (bisect_left(self._names, f"{folder}{end}") for end in "/0")
        for path in map(Path, self._names[first:last]):
            del self._sha256[path]
            self._drop(path)
        del self._names[first:last]

    def _hashed(self, path: Path, sha256: str) -> None:
        if self._sha256.setdefault(path, sha256) != sha256:
            raise PrivacyEvalError(f"{path}: changed while it was read")
        name = f"{path}/"
        place = bisect_left(self._names, name)
        if self._names[place : place + 1] != [name]:
            self._names.insert(place, name)

    def _read(self, path: Path, limit: LineLimit | None = None) -> bytes:
        content = read_bytes(path, limit=limit, roots=self.roots)
        self._hashed(path, digest(content))
        self._drop(path)
        self._content[path] = content
        self._kept += len(content)
        while self._kept > _KEPT_BYTES and len(self._content) > 2:
            self._drop(next(iter(self._content)))
        return content

    def _drop(self, path: Path) -> None:
        """Forget the stored content of a file."""
        self._kept -= len(self._content.pop(path, b""))
