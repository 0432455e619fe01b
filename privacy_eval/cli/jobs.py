"""Run a stage in parallel jobs of a runner such as run_jobs.sh or queue.pl (`--cmd`)."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError
from ..version import ROOT
from .options import log, output_folder

#: Exit codes of scripts/split_jobs.sh: the output cannot be written; a job was killed; above:
#: interrupted, or no runner.
OUTPUT_ERROR, _KILLED, _LAST_FAILURE = 3, 4, 125


@dataclass
class Jobs:
    """The parallel jobs of a stage, started when the first product turns out not to be current.

    Attributes
    ----------
    arguments : argparse.Namespace
        Of the verb, which every job runs with `--job J/N`.
    killed : bool, optional
        Once the jobs have ended: whether any was killed.
    """

    arguments: argparse.Namespace
    killed: bool | None = None

    def __call__(self, n_products: int) -> bool:
        """Run the jobs, no more than there are products; return whether any was killed.

        Raises
        ------
        SystemExit
            The verb ends here.
        """
        if self.killed is None:
            self.killed = self._run(n_products)
        return self.killed

    @property
    def began(self) -> int:
        """When the first jobs of the verb began, ns; 0 if none had to."""
        return int(vars(self.arguments).get("jobs_began", 0))

    def _run(self, n_products: int) -> bool:
        arguments = self.arguments
        arguments.jobs_began = self.began or time.time_ns()
        log_dir = arguments.log_dir or output_folder(arguments) / "log"
        number = min(arguments.nj, n_products)
        options = [f"--log-dir={log_dir}", f"--cmd={arguments.cmd}", f"--nj={number}"]
        code = run_script(
            "scripts/split_jobs.sh", arguments.command, *options, "--", *arguments.words
        )
        killed = code == _KILLED
        if code > _LAST_FAILURE or code == OUTPUT_ERROR:
            raise SystemExit(code)
        if killed:  # other failures in a job occur again here
            log("privacy-eval: jobs were killed: doing what they left, one by one")
        return killed


def run_script(name: str, *words: str) -> int:
    """Run a script of the toolkit and return its exit code."""
    root = Path(os.environ.get("PRIVACY_EVAL_ROOT") or ROOT)
    script = root / name
    if not script.is_file():
        raise PrivacyEvalError(f"{script}: no such script; install privacy_eval again")
    # A recipe has put these on the PATH.
    own = (str(root / "scripts"), os.path.dirname(sys.executable))
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *own))
    sys.stdout.flush()
    import subprocess  # only where there is work to do

    with _interrupts_end_the_script():
        code = subprocess.run(
            [str(script), *words],
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode
    return code if code >= 0 else 128 - code


@contextlib.contextmanager
def _interrupts_end_the_script() -> Iterator[None]:
    """Leave Ctrl-C to the script, which ends its jobs, and wait for it."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
