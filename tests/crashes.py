"""Kill runs at random moments and compare the results of the next run."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from support import (
    ENROLLS,
    SMALL_PROTOCOL_2022,
    TRIALS,
    SpeechTree,
    lines_to,
    snapshot,
    trial_lines,
)

from privacy_eval.simulate.demo_tree import simulate_ratings

OUT = "exp/privacy_eval"
#: What is left out of every comparison: logs, which have times.
LOGS = (f"{OUT}/log/", f"{OUT}/options.conf")
#: Fingerprints end so; they say more while a product is being written, and are compared at the
#: end only.
GROWING = ".privacy_eval.json"

_OWN_MODEL = "exp/models/user_asv_eval_anon/xvect_01709_1"
_MARK = "PRIVACY_EVAL_CRASH_TEST"

#: The command of a run on a tree.
Command = Callable[[Path], Sequence[str]]


def crash_tree(folder: Path) -> Path:
    """A tree on which every stage from 2 to 11 has something to do: a back end to train, data
    folders to combine, scores, records, similarities, word error rates, tables and figures, a
    listening test."""
    tree = SpeechTree(folder, protocol=SMALL_PROTOCOL_2022)
    tree.training_set("train_clean_360_anon", _OWN_MODEL)
    for mark in ("", "_anon"):
        for name in (ENROLLS, TRIALS):
            tree.vectors(name + mark, model=_OWN_MODEL)
        lines_to(
            folder / f"{tree.results}/ASR-libri_dev_asr{mark}/WER",
            [
                "%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] "
                "exp/models/asr_eval/decode_tgsmall/wer_12_0.5"
            ],
        )
    names = {line.split()[0] for path in folder.glob("data/*/spk2utt") for line in open(path)}
    key = {"id": "0a", "speakers": {f"S{n}": name for n, name in enumerate(sorted(names), 1)}}
    (folder / OUT).mkdir(parents=True, exist_ok=True)
    (folder / OUT / "speaker_key.json").write_text(json.dumps(key))  # else numbers are random
    keys = {("libri", "f"): "".join(f"{line}\n" for line in trial_lines())}
    (folder / "ratings.csv").write_text(simulate_ratings(["anon"], keys))
    return folder


def products(folder: Path) -> dict[str, bytes]:
    """Read all files of a tree, normalized for comparison."""
    actual = {n: c for n, c in snapshot(folder).items() if not n.startswith(LOGS)}
    return actual


def half_written(folder: Path, whole: Mapping[str, bytes]) -> list[str]:
    """Files under their own names that are not those of a whole run: a run writes each once,
    so that at any moment it is there as it will be or not at all."""
    return sorted(
        name
        for name, content in products(folder).items()
        if not name.endswith(GROWING)
        and whole.get(name) != content
        and not any(part.startswith(".") and ".tmp" in part for part in name.split("/"))
        and not Path(name).name.startswith((".tables.pdf.", ".run."))
    )


def differences(actual: Mapping[str, bytes], expected: Mapping[str, bytes]) -> list[str]:
    """List files that are missing, additional or different."""
    return sorted(name for name in {*actual, *expected} if actual.get(name) != expected.get(name))


class Runs:
    """Processes of one command on one tree, all of whose processes can be found.

    Parameters
    ----------
    folder : Path
        Where logs and temporary files go.
    """

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder = folder
        self.command = command
        self._mark = uuid.uuid4().hex
        self._log = folder / "run.log"

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self, tree: Path, **environment: str) -> subprocess.Popen[bytes]:
        temporary = self.folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if k not in ("KALDI_ROOT", "VIRTUAL_ENV")}
        with open(self._log, "wb") as log:
            return subprocess.Popen(
                self.command(tree),
                env={**kept, **environment, _MARK: self._mark, "TMPDIR": str(temporary)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self, tree: Path, *, seconds: float = 900, **environment: str) -> float:
        """Run to the end; return the seconds it took."""
        begin = time.monotonic()
        code = self.start(tree, **environment).wait(timeout=seconds)
        if code != 0:
            text = self._log.read_text(errors="replace")
            raise AssertionError(f"a run ended with {code}:\n{text[-3000:]}")
        return time.monotonic() - begin

    def kill(self, process: subprocess.Popen[bytes], *, everything: bool) -> None:
        """kill -9: the group of the run (its jobs, in groups of their own, are then ended by
        their guard while the next run begins), or every process that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if everything:
            self.end()

    def end(self) -> None:
        """Kill all processes that the runs started, and wait for them."""
        while left := list(self._processes()):
            for number in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.005)

    def _processes(self) -> Iterator[int]:
        mark = f"{_MARK}={self._mark}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                is_zombie = b") Z " in (entry / "stat").read_bytes()
                if not is_zombie and mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def undisturbed(runs: Runs, tree: Path) -> tuple[dict[str, bytes], float]:
    """Return the products of an undisturbed run, and the seconds it takes.

    Raises
    ------
    AssertionError
        It changes what was there, or a second run changes anything.
    """
    folder = runs.folder / "whole"
    shutil.copytree(tree, folder)
    duration = runs.finish(folder)
    whole = products(folder)
    inputs = products(tree)
    _assert_same({name: whole.get(name, b"") for name in inputs}, inputs, "a run changed input")
    runs.finish(folder)
    _assert_same(products(folder), whole, "a second run changed files")
    return whole, duration


def crash(
    runs: Runs,
    tree: Path,
    whole: Mapping[str, bytes],
    *,
    duration: float,
    kills: int,
    in_a_row: int,
    moments: random.Random,
    log: Callable[[str], None] = lambda text: None,
) -> tuple[int, int]:
    """Kill runs at random moments, `in_a_row` on one tree before a run may end; that must
    give the bytes of a run that nothing disturbed.

    Parameters
    ----------
    whole : mapping
        Those bytes.
    duration : float
        Seconds within which the kills fall.

    Returns
    -------
    tuple of int
        Numbers of runs killed and run to the end.

    Raises
    ------
    AssertionError
        Names the files of other bytes.
    """
    n_killed, n_finished = 0, 0
    victim = runs.folder / "killed"
    while n_killed < kills:
        shutil.rmtree(victim, ignore_errors=True)
        shutil.copytree(tree, victim)
        for _ in range(min(in_a_row, kills - n_killed)):
            process = runs.start(victim)
            try:
                process.wait(timeout=moments.uniform(0, duration))
                break  # it was faster: nothing is left to be killed
            except subprocess.TimeoutExpired:
                runs.kill(process, everything=moments.random() < 0.5)
            n_killed += 1
            half = half_written(victim, whole)
            assert not half, f"kill {n_killed} left half of {', '.join(half[:9])}"
        runs.finish(victim)
        runs.end()
        n_finished += 1
        _assert_same(products(victim), whole, f"other bytes after kill {n_killed}")
        log(f"{n_killed} of {kills} kills, {n_finished} runs to the end, all equal")
    return n_killed, n_finished


def _assert_same(actual: Mapping[str, bytes], expected: Mapping[str, bytes], message: str) -> None:
    different = differences(actual, expected)
    assert not different, f"{message}: {', '.join(different[:9])} ({len(different)} files)"
