"""What the verbs share of options, number types, progress and messages."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import printable

#: Environment variable that asks for progress in lines.
PROGRESS = "PRIVACY_EVAL_PROGRESS"

# More would not end, and tell nothing more.
_MOST_REPLICATES = 1_000_000

#: What options are added to: a parser, or one `Form` of its verb.
Options = Any


class Form:
    """One of the two forms of a verb: options that go together.

    A verb runs either as a stage over a tree or on single files; `over_tree` tells which,
    and ends the command with code 2 where options of both are mixed or needed ones missing.
    """

    def __init__(self, parser: argparse.ArgumentParser, title: str) -> None:
        self.parser = parser
        self.needed: list[argparse.Action] = []
        self._group = parser.add_argument_group(title)
        self._defaults: dict[argparse.Action, Any] = {}

    def add_argument(
        self, *names: str, required: bool = False, default: Any = None, **settings: Any
    ) -> argparse.Action:
        """Add an option; one that is `required` is so in this form only."""
        action = self._group.add_argument(*names, default=argparse.SUPPRESS, **settings)
        self._defaults[action] = False if action.nargs == 0 else default
        if required:
            self.needed.append(action)
        return action

    def given(self, arguments: argparse.Namespace) -> list[str]:
        """Return the names of the form's options that were given, and set the others."""
        given = [a.option_strings[0] for a in self._defaults if hasattr(arguments, a.dest)]
        for action, default in self._defaults.items():
            vars(arguments).setdefault(action.dest, default)
        return given

    def missing(self, arguments: argparse.Namespace) -> str:
        """Return the names of the required options that were not given."""
        needed = (a for a in self.needed if getattr(arguments, a.dest) is None)
        return ", ".join(a.option_strings[0] for a in needed)


def two_forms(parser: argparse.ArgumentParser) -> tuple[Form, Form]:
    """Give a verb two forms: the stage over a tree (with `--results`), and single files."""
    stage = Form(parser, "over a tree (the stage of the recipe)")
    files = Form(parser, "on single files")
    parser.set_defaults(forms=(stage, files))
    return stage, files


def over_tree(arguments: argparse.Namespace, *, tree_as_base: bool = False) -> bool:
    """Tell whether a verb runs as the stage over a tree, not on single files.

    `tree_as_base`: accept `--tree` with single files, as earlier versions named `--scp-base`.
    """
    stage, files = arguments.forms
    of_stage, of_files = stage.given(arguments), files.given(arguments)
    if tree_as_base and of_stage == ["--tree"]:
        of_stage = []
    if of_stage and of_files:
        stage.parser.error(
            f"{of_stage[0]} (over a tree) and {of_files[0]} (single files) exclude each other"
        )
    form, other = (files, stage) if of_files else (stage, files)
    if missing := form.missing(arguments):
        instead = (
            "" if of_stage or of_files else f" (or on single files: {other.missing(arguments)})"
        )
        form.parser.error(f"the following arguments are required: {missing}{instead}")
    return form is stage


def add_tree(options: Options, *, out: str = "", common: Options = None) -> argparse.Action:
    """Add what names a tree, its results and systems; return the option `--out`.

    `common` gets the options that are of both forms; `out` is the help of `--out` then.
    """
    common = common or options
    options.add_argument("--tree", type=Path, default=Path(), metavar="DIR", help="default: .")
    options.add_argument(
        "--results",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder of ASV-* folders, or a collection of such; relative to the tree",
    )
    options.add_argument(
        "--conf",
        default="vpc2020",
        metavar="FILE",
        help="evaluation protocol: vpc2020 (default), vpc2022, or a YAML file relative to the tree",
    )
    options.add_argument(
        "--system", metavar="NAME", help="evaluate this one of several, or name the only one"
    )
    options.add_argument("--anon-suffix", metavar="SUFFIX", help="suffix of anonymized data sets")
    options.add_argument("--keys", type=Path, metavar="DIR", help="folder of trial keys")
    text = "folder relative to the tree; default: RESULTS/privacy_eval"
    if out:
        text = f"{out}; over a tree: {text}"
    output: argparse.Action = common.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help=text,
    )
    common.add_argument(
        "--allow-outside",
        action="store_true",
        help="follow links and paths that lead out of the tree",
    )
    return output


def add_renamed(
    parser: argparse.ArgumentParser,
    name: str,
    *former: str,
    required: bool = False,
    **settings: Any,
) -> None:
    """Add an option for a path; its former names still work and are not listed."""
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument(name, type=Path, **settings)
    group.add_argument(*former, type=Path, dest=name[2:], help=argparse.SUPPRESS)


def add_missing(options: Options, what: str) -> None:
    """Add `--allow-missing`, which leaves out what is missing."""
    options.add_argument(
        "--allow-missing", action="store_true", help=f"leave out {what}, and say so"
    )


def add_pipes(options: Options) -> None:
    """Add `--allow-pipes`."""
    options.add_argument("--allow-pipes", action="store_true", help="run commands in scp files")


def add_scp_base(files: Form) -> None:
    """Add the folder that relative paths in scp files start from."""
    files.add_argument(
        "--scp-base", type=Path, metavar="DIR", help="where paths in scp files start; default: ."
    )


def add_model(files: Form) -> None:
    """Add the model that compares x-vectors."""
    from ..asv.backend import BACKENDS

    files.add_argument("--model", type=Path, metavar="DIR", help="plda, mean.vec, transform.mat")
    files.add_argument("--backend", choices=BACKENDS, default="plda")


def add_variant(options: Options) -> None:
    """Add the variants of metrics, and the format they are printed in."""
    from ..metrics import VARIANTS

    options.add_argument("--variant", choices=[*VARIANTS, "both"], default="both")
    options.add_argument("--format", choices=["text", "json"], default="text")


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """Add how the metrics of a condition are computed."""
    parser.add_argument(
        "--bootstrap",
        type=replicates,
        default=0,
        metavar="N",
        help="95 %% intervals from N bootstrap replicates of speakers (at least 2; usual: 1000)",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="S", help="of the bootstrap")
    parser.add_argument("--utt2spk", type=Path, metavar="F", help="speakers of trial utterances")
    add_missing(parser, "trials without a score and scores without a trial")


def add_job(options: Options, *, after_jobs: bool = False) -> None:
    """Add the job split, and what is done after all jobs."""
    options.add_argument(
        "--job", type=_job, metavar="J/N", help="run job J of N only (default: all)"
    )
    if after_jobs:
        options.add_argument(
            "--after-jobs",
            action="store_true",
            help="after the jobs: make what they left undone, and log a summary",
        )


def add_published(parser: argparse.ArgumentParser) -> None:
    """Add the protocol that results are shown by, and the published ones beside them."""
    parser.add_argument(
        "--conf", metavar="FILE", help="default: the protocol of the results, or vpc2020"
    )
    parser.add_argument(
        "--published", metavar="NAME", help="published results beside them, or alone: vpc2020"
    )


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Add the listening test that a report shows."""
    add_renamed(
        parser,
        "--listening",
        "--subjective",
        metavar="DIR",
        help="as the verb listening wrote it",
    )


def add_results(parser: argparse.ArgumentParser, *, help: str | None = None) -> None:
    """Add the results to show."""
    parser.add_argument("--results", nargs="+", type=Path, metavar="results.json", help=help)


def progress() -> Callable[[int, int, str], None] | None:
    """Return the progress reporter: a live line on a terminal, periodic log lines in a job
    (`scripts/split_jobs.sh` asks for these), otherwise none."""
    if sys.stderr.isatty():
        return show_progress
    return _LogLines().show if os.environ.get(PROGRESS) == "lines" else None


class _LogLines:
    def __init__(self) -> None:
        self._last = -math.inf

    def show(self, done: int, total: int, name: str) -> None:
        if time.monotonic() >= self._last + 1 or done == total:
            self._last = time.monotonic()
            log(_position(done, total, name))


def show_progress(done: int, total: int, name: str) -> None:
    """Show progress in one line of a terminal; a total of 0 is unknown."""
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r\033[K{_position(done, total, name)}{end}")
    sys.stderr.flush()


def _position(done: int, total: int, name: str) -> str:
    return f"{done}/{total} {name}" if total else f"{done} {name}"


def log(text: str) -> None:
    """Log to stderr. Names may be untrusted: control characters are escaped."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr)


def natural(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, not {text!r}")
    return int(text)


def replicates(text: str) -> int:
    if natural(text) == 1 or natural(text) > _MOST_REPLICATES:
        raise argparse.ArgumentTypeError(
            f"expected 0 or 2 to {_MOST_REPLICATES} replicates, not {text}"
        )
    return int(text)


def positive(text: str) -> int:
    if natural(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


def one_of(numbers: range) -> Callable[[str], int]:
    """Return the option type of whole numbers in a range."""

    def number(text: str) -> int:
        if natural(text) not in numbers:
            raise argparse.ArgumentTypeError(
                f"expected a whole number from {numbers[0]} to {numbers[-1]}, not {text!r}"
            )
        return int(text)

    return number


def _job(text: str) -> tuple[int, int]:
    number, slash, total = text.partition("/")
    job = (positive(number), positive(total)) if slash else (0, 0)
    if not 1 <= job[0] <= job[1]:
        raise argparse.ArgumentTypeError(f"expected J/N with 1 <= J <= N, not {text!r}")
    return job
