"""Decide which products are current, and rebuild the others.

A product is one or more files that are created together. Its fingerprint, a JSON file stored
next to them, holds the digests of its inputs and of the files themselves: a product is rebuilt
when its inputs, its options or the revision of its format changed, or when its files did.
Fingerprints carry a keyed digest (HMAC-SHA256, `user_key`): one that does not verify with
this user's key is ignored, as it may come from a submission. Files without a fingerprint, or
edited since, are external: a guarded product is then kept.

Products are split into jobs by estimates of run time. Their constants were measured as processor
time of the command line: `metrics` of 10^5, 10^6 and 10^7 trials (with 0, 20 and 100 bootstrap
replicates for the former two), `asv-scores` of 4 * 10^4 to 8 * 10^5 trials, `similarity` of 1000,
5400 and 20 000 utterances, both with x-vectors of 512 dimensions. Costs are only comparable within
a stage.

What failed in the stages of a run is in the output folder: `failed/<verb>.txt`, a line each.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import hmac
import json
import os
import re
import signal
import stat
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ..errors import (
    MissingLibraryError,
    OutputError,
    PrivacyEvalError,
    UsageError,
    describe,
    in_job,
)
from ..io.files import (
    GZIP_MAGIC,
    Inputs,
    digest,
    locked_folder,
    max_unpacked_bytes,
    read_text,
    refuse_symlinks,
    relative,
    sweep,
    write_bytes,
    write_text,
)
from ..io.schema import from_plain, load_json, to_plain

#: The fingerprint of a product that has a folder of its own.
NOTE = ".privacy_eval.json"

#: Environment variable: describe failures with their traceback, as in the log of a job.
DEBUG = "PRIVACY_EVAL_DEBUG"

#: Entry of a fingerprint: the keyed digest of the others.
_HMAC = "hmac"
#: Why a product is rebuilt if its fingerprint was not signed by this user.
UNSIGNED = "not made by this user (no valid keyed digest)"

#: File names that a fingerprint may cause to be removed: it may come from an untrusted tree.
_SAFE_NAME = re.compile(r"(?:[\w+-][\w.+-]{0,200}/)?[\w+-][\w.+-]{0,200}", re.ASCII)

_KEY_DIGITS = 64  # hexadecimal; 256 bits

_FAILURES = "failed"
#: Not before `collect`, which names the others.
_UNNAMED = ("collect", "listening")

T = TypeVar("T")

#: A line of a score file or trial key: speaker, utterance, and score or label; with gzip.
_LINE_BYTES, _PACKED_LINE_BYTES = 30.0, 8.0


def is_safe_name(name: str) -> bool:
    """Whether a file that a fingerprint names may be removed."""
    return _SAFE_NAME.fullmatch(name) is not None


#: Kind of a missing input: a library.
LIBRARY = "library"
#: Progress callback: number of finished products, total, name of the current one.
Progress = Callable[[int, int, str], None]


class MissingInput(Exception):
    """A required input is absent: its kind, expected path, and name and folder if it has one."""

    def __init__(self, kind: str, where: str, name: str = "", folder: str = "") -> None:
        super().__init__(kind, where, name, folder)
        self.kind, self.where, self.name, self.folder = kind, where, name, folder

    def __str__(self) -> str:
        return f"no {self.kind}: {self.where}"


def absent(*finders: Callable[[], object]) -> list[MissingInput]:
    """Collect the `MissingInput` errors that several finders raise."""
    errors = []
    for find in finders:
        try:
            find()
        except MissingInput as error:
            errors.append(error)
    return errors


@dataclass(frozen=True)
class Source:
    """An input of a product: its path and the SHA-256 of its content."""

    path: Path
    sha256: str


#: Inputs of a product by role: a path, or a `Source` if the digest is already known.
Sources = Mapping[str, Path | Source]
Paths = Mapping[str, Path]


@dataclass(frozen=True)
class Content:
    """The generated files of a product.

    Attributes
    ----------
    files : mapping
        Contents by path, in the order of writing.
    left_out : str
        What was left out on request.
    remarks : tuple of str
        Messages for the user, repeated when the product is current.
    notes : tuple of str
        Messages for the user, shown once.
    """

    files: Mapping[Path, bytes]
    left_out: str = ""
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Input:
    path: str
    sha256: str


@dataclass(frozen=True)
class Fingerprint:
    """Digests of the inputs and files of a product, and its options.

    Attributes
    ----------
    key : str
        Name of the product: a copy under another name is not accepted.
    subject, options : mapping
        What the product is of, and the options it was made with.
    inputs : mapping
        Path and SHA-256 by the role of the input.
    files, replaces : mapping
        SHA-256 of the product's files by path, and of those being replaced, so that the files
        are recognized even if the writer is killed.
    """

    key: str
    revision: int
    subject: Mapping[str, Any]
    options: Mapping[str, Any]
    inputs: Mapping[str, _Input]
    files: Mapping[str, str] = field(default_factory=dict)
    replaces: Mapping[str, str] = field(default_factory=dict)
    left_out: str = ""
    remarks: tuple[str, ...] = ()

    def text(self) -> str:
        """The fingerprint as JSON, with its keyed digest."""
        plain = to_plain(self)
        plain[_HMAC] = _keyed_digest(plain, user_key(create=True) or b"")
        return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"

    @staticmethod
    def read(path: Path) -> Fingerprint | None:
        """Read a fingerprint; return None if it is absent, damaged or not signed by this user."""
        key = user_key()
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return None
        if key is None or not stat.S_ISREG(status.st_mode):
            return None
        return _verified(path, key, (status.st_ino, status.st_mtime_ns, status.st_ctime_ns))

    def provenance(self) -> dict[str, Any]:
        """Return inputs and options for the provenance of a record."""
        return {"inputs": to_plain(self.inputs), "options": to_plain(self.options)}


@functools.lru_cache(maxsize=1 << 14)
def _verified(path: Path, key: bytes, _: tuple[int, ...]) -> Fingerprint | None:
    """Read and verify a fingerprint; cached until its file changes."""
    try:
        plain = load_json(path)
        signed = plain.pop(_HMAC, "") if isinstance(plain, dict) else ""
        if not isinstance(signed, str) or not signed.isascii():
            return None
        if not hmac.compare_digest(signed, _keyed_digest(plain, key)):
            return None
        return from_plain(Fingerprint, plain, str(path))
    except PrivacyEvalError:
        return None


def _keyed_digest(plain: object, key: bytes) -> str:
    return hmac.new(key, json.dumps(plain, sort_keys=True).encode(), "sha256").hexdigest()


def source_from_fingerprint(
    path: Path, role: str, base: Path, inputs: Inputs, note: str = NOTE
) -> Source | None:
    """Return the input of a role that a file was created from, according to its fingerprint; None
    if this user did not create it or it was edited since."""
    stored = fingerprint_of(path, inputs, note)
    if stored is None or role not in stored.inputs:
        return None
    source = stored.inputs[role]
    return Source(base / source.path, source.sha256)


def fingerprint_of(path: Path, inputs: Inputs, note: str = NOTE) -> Fingerprint | None:
    """Return the fingerprint that a file was made with; None if this user did not create it or it
    was edited since."""
    stored = Fingerprint.read(path.with_name(note))
    if stored is None or not path.is_file():
        return None
    return stored if inputs.sha256(path) == stored.files.get(path.name) else None


@dataclass
class Outcome:
    """Outcome of a stage: the names of its products by what was done with them.

    Attributes
    ----------
    made : list of str
        New or rebuilt.
    rebuilt : dict
        Those of them that replaced earlier ones, mapped to what had changed.
    current, kept : list of str
        `kept`: external ones.
    missing : dict
        Those that could not be made, mapped to the missing input.
    failed : dict
        Those with invalid inputs, mapped to the error message.
    left_out : dict
        Those made with missing inputs, on request.
    notes : list of str
        Messages for the user.
    """

    made: list[str] = field(default_factory=list)
    rebuilt: dict[str, str] = field(default_factory=dict)
    current: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    missing: dict[str, MissingInput] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def raise_failed(self) -> None:
        """Raise the first failure as an error, where nothing is of use without all products."""
        for message in self.failed.values():
            raise PrivacyEvalError(message)

    def add(self, other: Outcome) -> None:
        """Append the outcome of other products."""
        for name, theirs in vars(other).items():
            own = getattr(self, name)
            (own.update if isinstance(own, dict) else own.extend)(theirs)


@dataclass(frozen=True)
class Product:
    """Files that are made together.

    Attributes
    ----------
    name : str
        In messages.
    base : Path
        Folder that the input paths in the fingerprint are relative to.
    note : Path
        The fingerprint file.
    files : tuple of Path
        The last one is written last; empty if the files are known only once they are made.
    find : callable
        Returns the inputs by role; raises `MissingInput`.
    make : callable
        Returns the content, given the paths of the inputs and the fingerprint.
    subject, options, revision
        See `Fingerprint`; increment the revision when the same inputs yield other content.
    cost : callable
        Estimates the run time, such as `metrics_cost`; called if there is work to do.
    guarded : bool
        Keep external files.
    rivals : tuple of Path
        Files of another tool that take the place of the product.
    within : Path, optional
        A folder from an untrusted source: refuse to write through links in it.
    absent : callable
        Returns missing inputs, without reading any file.
    seconds : Path, optional
        File that tells the seconds of making it; no part of the product, as they differ.
    optional : bool
        Without a library that it needs it is missing, and has not failed.
    """

    name: str
    base: Path
    note: Path
    files: tuple[Path, ...]
    find: Callable[[Inputs], Sources]
    make: Callable[[Inputs, Paths, Fingerprint], Content]
    subject: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 1
    cost: Callable[[], float] = functools.partial(float, 1.0)
    guarded: bool = False
    rivals: tuple[Path, ...] = ()
    within: Path | None = None
    absent: Callable[[], Sequence[MissingInput]] = tuple
    seconds: Path | None = None
    optional: bool = False

    @property
    def key(self) -> str:
        """Name that distinguishes the product from a copy."""
        return self.files[-1].name if self.files else ""

    def fingerprint(self, inputs: Inputs) -> tuple[Fingerprint, Paths]:
        """Compute the fingerprint of the current inputs; also return their paths.

        Raises
        ------
        MissingInput, PrivacyEvalError
            An input is absent, or cannot be read.
        """
        for error in self.absent():
            raise error
        entries, paths = {}, {}
        for role, given in self.find(inputs).items():
            source = given if isinstance(given, Source) else Source(given, inputs.sha256(given))
            entries[role] = _Input(relative(source.path, self.base), source.sha256)
            paths[role] = source.path
        subject, options = to_plain(self.subject), to_plain(self.options)
        return Fingerprint(self.key, self.revision, subject, options, entries), paths

    def read_fingerprint(self) -> Fingerprint | None:
        """Read the stored fingerprint; return None if this user has not made the product."""
        stored = Fingerprint.read(self.note)
        return stored if stored is not None and stored.key == self.key else None

    def is_there(self) -> bool:
        """Whether any file or fingerprint exists, whoever wrote it."""
        return any(path.is_file() for path in self.paths)

    def present(self, inputs: Inputs, stored: Fingerprint | None) -> dict[str, str]:
        """Return the SHA-256 of the existing files."""
        paths: Iterable[Path] = self.files
        if not self.files and stored is not None:
            named = filter(is_safe_name, (*stored.files, *stored.replaces))
            paths = [self.note.parent / name for name in named]
        there = (path for path in paths if path.is_file())
        return {relative(path, self.note.parent): inputs.sha256(path) for path in there}

    def is_whole(self, inputs: Inputs, stored: Fingerprint) -> bool:
        """Whether all files exist, unchanged since they were written."""
        if not stored.files or stored.replaces:
            return False
        return self.present(inputs, stored) == dict(stored.files)

    def foreign(self, inputs: Inputs) -> list[str]:
        """Return the names of files of the product that another tool wrote or edited."""
        for _ in range(2):  # retry once: a concurrent run may be writing
            names = self._foreign(inputs)
            if not names:
                break
            inputs.forget(self.note.parent)
        return names

    def _foreign(self, inputs: Inputs) -> list[str]:
        names = [path.name for path in self.rivals if path.exists()]
        stored = self.read_fingerprint()
        if stored is None:  # do not read the files: they may be untrusted and large
            there = [path.name for path in self.files if path.is_file()]
            return names + there if self.files[-1].is_file() else names
        digests = (stored.files, stored.replaces)
        present = self.present(inputs, None)
        return names + [n for n, sha in present.items() if sha not in [k.get(n) for k in digests]]

    def is_foreign(self, inputs: Inputs) -> bool:
        """Whether another tool wrote or edited files of the product."""
        return bool(self.foreign(inputs))

    def is_current(self, inputs: Inputs, *, options: bool = True) -> bool:
        """Whether the product is complete, unedited and made from the current inputs."""
        stored = self.read_fingerprint()
        if stored is None or not self.is_whole(inputs, stored):
            return False
        try:
            now, _ = self.fingerprint(inputs)
        except Exception:  # reported when the product is made
            return False
        return not self.changes(now, stored, options=options)

    def changes(self, now: Fingerprint, stored: Fingerprint, *, options: bool = True) -> list[str]:
        """Return which inputs and options have changed; without `options`, ignore the options
        and the inputs that only they require."""
        names = [name for name, entry in now.inputs.items() if stored.inputs.get(name) != entry]
        if options:
            names += [name for name in stored.inputs if name not in now.inputs]
            names += ["options"] * (now.options != stored.options)
        if (now.revision, now.subject) != (stored.revision, stored.subject):
            names.append("format")
        return names

    def write(self, inputs: Inputs, content: Content, made_of: Fingerprint) -> None:
        """Write files and fingerprint; remove other files of an earlier version, and of another
        run that writes at the same time.

        Files left by a killed run are rebuilt, not treated as external. Files that already have
        the content, for example from a concurrent run, are not touched, so that readers never
        find them missing.
        """
        folder = self.note.parent
        with contextlib.suppress(OSError):  # reported by the first file
            folder.mkdir(parents=True, exist_ok=True)
        with locked_folder(folder):
            self._write(inputs, content, made_of)

    def _write(self, inputs: Inputs, content: Content, made_of: Fingerprint) -> None:
        stored = self.read_fingerprint()
        folder = self.note.parent
        files = {relative(path, folder): digest(data) for path, data in content.files.items()}
        made_of = replace(made_of, files=files, left_out=content.left_out, remarks=content.remarks)
        for path in content.files:
            inputs.forget(path)
        replaced = self.present(inputs, stored)
        if replaced == files:
            write_text(self.note, made_of.text())
            return
        if self.guarded and len(self.files) > 1:
            self.files[-1].unlink(missing_ok=True)  # without it the product is incomplete
        write_text(self.note, replace(made_of, replaces=replaced).text())
        for path, data in content.files.items():
            write_bytes(path, data)
        for name in replaced.keys() - files.keys():
            (folder / name).unlink(missing_ok=True)
        write_text(self.note, made_of.text())
        for path in content.files:
            inputs.forget(path)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files and the fingerprint."""
        return (*self.files, self.note)


@dataclass(frozen=True)
class Run:
    """Settings of a run.

    Attributes
    ----------
    job : (int, int)
        Number of this job, from 1, and number of jobs; they take about equally long.
    nj : int
        Processes at once; products must then be picklable.
    dry_run : bool
        Write nothing; only determine what would be made.
    isolated : bool
        Make each product in its own process, so that a killed one does not affect the others.
    start_jobs : callable, optional
        Called with the number of products that can be made, if any of them is not current: makes
        them in parallel jobs. Returns whether a job was killed; what is left is then made
        `isolated`.
    begin, progress : Progress, optional
        Called before and after every product.
    """

    job: tuple[int, int] = (1, 1)
    nj: int = 1
    dry_run: bool = False
    isolated: bool = False
    start_jobs: Callable[[int], bool] | None = None
    begin: Progress | None = None
    progress: Progress | None = None


def bring_up_to_date(
    products: Iterable[Product], inputs: Inputs, run: Run = Run(), *, allow_missing: bool = False
) -> Outcome:
    """Make every product that is not current.

    Parameters
    ----------
    allow_missing : bool
        Accept products that were made with missing inputs as current.
    """
    products = list(products)
    if products and not run.dry_run:
        user_key(create=True)  # fail once, not for every product
    products, outcome = _possible(products, inputs)
    if run.start_jobs is not None:
        current = _all_current(products, inputs, allow_missing, run.progress)
        if current is not None:
            outcome.add(current)
            return _with_those_of_jobs(outcome, products, run)
        run = replace(run, isolated=run.start_jobs(len(products)))
        for product in products:
            inputs.forget(product.note.parent)
    if run.job[0] > 1:
        outcome = Outcome()  # reported by the first job
    products = split(products, [product.cost() for product in products], run.job)
    for done, one in enumerate(_outcomes(products, inputs, run, allow_missing), start=1):
        outcome.add(one)
        if run.progress is not None:
            run.progress(done, len(products), products[done - 1].name)
    return _with_those_of_jobs(outcome, products, run)


def _with_those_of_jobs(outcome: Outcome, products: Iterable[Product], run: Run) -> Outcome:
    """Count as made what jobs of this run have made, perhaps for an earlier call."""
    if began := getattr(run.start_jobs, "began", 0):
        noted = {p.name: p.note for p in products if p.name in outcome.current}
        new = [n for n in outcome.current if noted[n].stat().st_mtime_ns >= began]
        outcome.made += new
        outcome.current = [name for name in outcome.current if name not in {*new}]
    return outcome


def _all_current(
    products: Sequence[Product], inputs: Inputs, allow_missing: bool, progress: Progress | None
) -> Outcome | None:
    """Return the outcome of products of which none must be made; None once one must."""
    outcome, total = Outcome(), len(products)
    show = progress or (lambda *_: None)
    for done, product in enumerate(products, start=1):
        one = _bring(product, inputs, allow_missing, dry_run=True)
        if one.made or one.failed:
            show(total, total, product.name)  # of the check
            return None
        outcome.add(one)
        show(done, total, f"checked: {product.name}")
    sweep(*(path for p in products if p.name in outcome.current for path in p.paths))
    return outcome


def _possible(products: Sequence[Product], inputs: Inputs) -> tuple[list[Product], Outcome]:
    """Return the products with all inputs or external files, and the outcome of the others."""
    possible, outcome = [], Outcome()
    for product in products:
        try:
            missing = next(iter(product.absent()), None)
            if missing is None or (product.guarded and product.is_foreign(inputs)):
                possible.append(product)
            else:
                outcome.missing[product.name] = missing
        except Exception as error:
            outcome.failed[product.name] = _failure(error)
    return possible, outcome


def _outcomes(
    products: Sequence[Product], inputs: Inputs, run: Run, allow_missing: bool
) -> Iterator[Outcome]:
    """The outcome of every product, in order."""
    begin = run.begin or (lambda *_: None)
    total, done = len(products), 0
    if run.nj > 1 and total > 1 and not run.isolated:
        from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

        with ProcessPoolExecutor(
            min(run.nj, total), initializer=_begin_worker, initargs=(os.getpid(), inputs.roots)
        ) as pool:
            try:
                futures = [
                    pool.submit(_bring, p, None, allow_missing, run.dry_run) for p in products
                ]
                for product, future in zip(products, futures, strict=True):
                    begin(done, total, product.name)
                    yield future.result()
                    done += 1
            except BrokenProcessPool:
                run = replace(run, isolated=True)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    for product in products[done:]:
        begin(done, total, product.name)
        bring = _bring_isolated if run.isolated else _bring
        yield bring(product, inputs, allow_missing, run.dry_run)
        done += 1


def _bring_isolated(
    product: Product, inputs: Inputs, allow_missing: bool, dry_run: bool
) -> Outcome:
    """Make a product in its own process if it is not current, see `_bring`."""
    import multiprocessing  # slow to import, and not needed if there is nothing to do

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    parent = os.getpid()

    def bring() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _begin_worker(parent)
        try:
            sender.send(_bring(product, inputs, allow_missing, dry_run))
        except PrivacyEvalError as error:
            sender.send(error)

    process = context.Process(target=bring, daemon=True)
    process.start()
    sender.close()
    try:
        result = receiver.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return Outcome(failed={product.name: f"{how} while it was made (not enough memory?)"})
    finally:
        receiver.close()
    process.join()
    if isinstance(result, PrivacyEvalError):
        raise result
    assert isinstance(result, Outcome)
    return result


def _bring(product: Product, inputs: Inputs | None, allow_missing: bool, dry_run: bool) -> Outcome:
    """Make a product if it is not current."""
    name, inputs, outcome = product.name, inputs or _of_worker, Outcome()
    try:
        if product.within is not None:
            refuse_symlinks(product.note.parent, product.within)
        if product.guarded and (foreign := product.foreign(inputs)):
            outcome.kept.append(name)
            why = f"{', '.join(foreign)} edited since it was made"
            if product.read_fingerprint() is None:
                why = UNSIGNED if product.note.is_file() else ""
            if why:
                remedy = "delete it and run this stage again to rebuild it"
                outcome.notes.append(f"{name}: {why}, so it is kept; {remedy}")
            return outcome
        now, paths = product.fingerprint(inputs)
        stored = product.read_fingerprint()
        changes = [] if stored is None else product.changes(now, stored)
        whole = stored is not None and product.is_whole(inputs, stored)
        if stored is not None and whole and not changes and (allow_missing or not stored.left_out):
            if not dry_run:
                sweep(*product.paths)
            outcome.current.append(name)
        else:
            outcome.made.append(name)
            if stored is not None:
                outcome.rebuilt[name] = ", ".join(changes) or "its files"
            elif product.is_there():
                outcome.rebuilt[name] = UNSIGNED
            if dry_run:
                return outcome
            began = time.monotonic()
            content = product.make(inputs, paths, now)
            if product.seconds is not None:  # first, so that a killed run writes them again
                write_text(product.seconds, f"{time.monotonic() - began:.3f}\n")
            product.write(inputs, content, now)
            stored = replace(now, left_out=content.left_out, remarks=content.remarks)
            outcome.notes += [f"{name}: {note}" for note in content.notes]
        if stored.left_out:
            outcome.left_out[name] = stored.left_out
        outcome.notes += [f"{name}: {remark}" for remark in stored.remarks]
    except MissingInput as error:
        return Outcome(missing={name: error})
    except Exception as error:
        if product.optional and isinstance(error, MissingLibraryError | ImportError):
            return Outcome(missing={name: MissingInput(LIBRARY, str(error))})
        return Outcome(failed={name: _failure(error)})
    return outcome


def _failure(error: Exception) -> str:
    """Describe the failure of one product; raise errors that concern all of them."""
    if isinstance(error, OutputError | UsageError):
        raise error
    text = describe(error)
    if not isinstance(error, PrivacyEvalError) and (in_job() or os.environ.get(DEBUG)):
        text += "\n" + "".join(traceback.format_exception(error)).rstrip()
    return text


_of_worker = Inputs()


def _begin_worker(parent: int, roots: Sequence[Path] = ()) -> None:
    """Confine what a worker reads, and make it exit soon after its parent has exited: a killed
    parent cannot stop it."""
    _of_worker.roots = roots

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def file_set(folder: Path, files: Mapping[str, str], *, note: str = NOTE) -> Product:
    """Return the product of a set of text files by name; writing it removes other files of the
    previous set."""
    content = {folder / name: text.encode() for name, text in files.items()}
    digests = sorted((path.name, digest(data)) for path, data in content.items())
    return Product(
        str(folder),
        folder,
        folder / note,
        (),
        lambda _: {},
        lambda *_: Content(content),
        options={"content": digest(json.dumps(digests).encode())},
    )


def write_set(folder: Path, files: Mapping[str, str], *, note: str = NOTE) -> list[Path]:
    """Write a `file_set` if it is not current; return its paths."""
    outcome = bring_up_to_date([file_set(folder, files, note=note)], Inputs())
    outcome.raise_failed()
    return [folder / name for name in files]


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
            _create_key(path)
        return _read_key(path) if path.exists() else None
    except OSError as error:
        raise PrivacyEvalError(
            f"{path}: cannot read or create the user key "
            f"({error.strerror or error}); set XDG_STATE_HOME to a writable folder"
        ) from error


@functools.lru_cache(maxsize=1)
def _read_key(path: Path) -> bytes:
    text = path.read_bytes()
    if not re.fullmatch(rb"[0-9a-f]{%d}" % _KEY_DIGITS, text):
        raise PrivacyEvalError(
            f"{path}: damaged; remove it to have a new key made (all records are then recomputed)"
        )
    return text


def _create_key(path: Path) -> None:
    import secrets
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)  # mode 0600
    try:
        with open(handle, "w") as file:
            file.write(secrets.token_hex(_KEY_DIGITS // 2))
        with contextlib.suppress(FileExistsError):  # another job was faster
            os.link(temporary, path)
    finally:
        os.unlink(temporary)


def record_failures(out: Path, verb: str, failed: Mapping[str, str], *, more: bool) -> None:
    """Write what a verb could not make, and why: `more` than, or in place of, what is there."""
    file = out / _FAILURES / f"{verb.replace('-', '_')}.txt"
    earlier = read_text(file).splitlines() if more and file.is_file() else []
    lines = [f"{name}: {why}" if why else name for name, why in failed.items()]
    lines = list(dict.fromkeys([*earlier, *(" ".join(line.split()) for line in lines)]))
    if lines:
        write_text(file, "".join(f"{line}\n" for line in lines))
    else:
        file.unlink(missing_ok=True)


def read_failures(out: Path) -> dict[str, list[str]]:
    """Read what the stages before `collect` could not make, by verb."""
    files = sorted((out / _FAILURES).glob("*.txt"))
    return {f.stem: read_text(f).splitlines() for f in files if f.stem not in _UNNAMED}


def metrics_cost(trials: float, replicates: int = 0) -> float:
    """Estimate reading, pairing and evaluating a condition in both variants."""
    return 0.1 + trials * (1.1e-6 + 5e-8 * replicates)


def scoring_cost(trials: float) -> float:
    """Estimate scoring a list of trials."""
    return 0.2 + 2e-6 * trials


def similarity_cost(utterances: float) -> float:
    """Estimate the voice similarity of N original and N anonymized utterances."""
    return 0.2 + 2.4e-7 * utterances**2


def split(items: Sequence[T], costs: Sequence[float], job: tuple[int, int]) -> list[T]:
    """Return the work items of one of several jobs, in their original order.

    Items are assigned by decreasing cost to the least loaded job (Graham's
    longest-processing-time rule), so that no job takes longer than an equal share plus the
    costliest item. Jobs that are given the same costs compute the same split. `job` is the number
    of the job, from 1, and the number of jobs.
    """
    number, jobs = job
    loads = [(0.0, j) for j in range(1, jobs + 1)]
    chosen = []
    for index in sorted(range(len(items)), key=lambda i: -costs[i]):
        load, j = loads[0]
        heapq.heapreplace(loads, (load + costs[index], j))
        if j == number:
            chosen.append(index)
    return [items[i] for i in sorted(chosen)]


def estimate_lines(path: Path | None) -> float:
    """Estimate the trials of a score file or trial key from its size; 0 where it is absent.

    A gzip file ends with its unpacked size, so a decompression bomb is not taken for small.
    """
    if path is None or not path.is_file():
        return 0.0
    size = path.stat().st_size
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
            file.seek(-4, os.SEEK_END)
            unpacked = min(int.from_bytes(file.read(4), "little"), max_unpacked_bytes(size))
            return max(size / _PACKED_LINE_BYTES, unpacked / _LINE_BYTES)
    return size / _LINE_BYTES
