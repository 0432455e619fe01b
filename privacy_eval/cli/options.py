"""Options, number types, progress and messages shared by the verbs."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import ENCODERS, FIGURE_FORMATS, VARIANTS, Variant
from ..errors import PrivacyEvalError, UsageError, in_job, printable
from ..io.files import refuse_symlinks_below
from ..io.schema import to_plain
from ..options import choice, described, flag, job, path, positive, value
from ..stages.options import FOLDERS, MetricOptions
from ..wings import provided

if TYPE_CHECKING:
    from ..report.single_files import Found

#: Environment variable: file of the messages that a run of a recipe has logged, see `log_once`.
LOGGED = "PRIVACY_EVAL_LOGGED"
#: Environment variable: file of what stages end with, see `end_with`.
ENDING = "PRIVACY_EVAL_ENDING"

#: Environment variables that set the number of threads of linear algebra libraries.
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

#: The options of a verb: settings by name (or names, separated by blanks), as `add_argument` takes
#: them, or what differs from those of `SHARED`; beside them:
#: `example` : str, a command line;
#: `shared` : str, names of further options of `SHARED`;
#: `kinds` : tuple of type, dataclasses of whose fields options are made;
#: `plan` : str, of a stage without a function: what plans its products, MODULE:NAME of an
#: `Experiment` and its options, of `kinds`;
#: `needs` : dict, of options that need it, what the core leaves to a wing, see `wings.provided`;
#: `either` : str, names of options of which exactly one is required;
#: `rules` : of (options, others, text): options, those that each of them needs or, after `!`, one
#: that each excludes, and what is said otherwise, with the option in the place of `{}`.
Options = dict[str, Any]
_ABOUT = {"example", "shared", "kinds", "plan", "needs", "either", "rules"}


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. argparse makes a formatter for every option that is added:
    this one finds the width without importing `shutil`, which takes as long as adding them all."""

    def __init__(self, prog: str) -> None:
        try:
            columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size().columns
        except (OSError, ValueError):
            columns = 0
        super().__init__(prog, width=(columns if columns > 0 else 80) - 2)


def folder_command(known: str = "") -> Callable[[str], str]:
    """Parse a command that is run for data folders, or a known name; empty is none."""

    def parse(text: str) -> str:
        if text not in ("", known) and not all(place in text for place in FOLDERS):
            expected = f"{known} or a command" if known else "a command"
            raise argparse.ArgumentTypeError(
                f"expected {expected} with {' and '.join(FOLDERS)}, not {text!r}"
            )
        return text

    return parse


def _user_metric(text: str) -> str:
    from ..io.user_metrics import check_user_metric

    try:
        return check_user_metric(text)
    except PrivacyEvalError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


#: Names of further formats of files of tables.
_FORMATS = {"md": "markdown", "txt": "text"}


def _formats(text: str) -> tuple[str, ...]:
    if unknown := [name for name in text.split(",") if name and name not in _FORMATS]:
        more = f"only {', '.join(_FORMATS)}, beside LaTeX and CSV, which are always written"
        raise argparse.ArgumentTypeError(f"no format {unknown[0]!r}, {more}")
    return tuple(_FORMATS[name] for name in text.split(",") if name)


#: Options of several verbs, so that they are spelled alike.
SHARED: dict[str, dict[str, Any]] = {
    **described(MetricOptions),
    "--tree": path("DIR", "experiment tree; default: .", default=Path()),
    "--results": path("DIR", "folder of ASV-* or results-* folders, relative to the tree"),
    "--conf": value(
        "FILE", "protocol: vpc2020 (default), another one of conf/, or a YAML file in the tree"
    ),
    "--system": value("NAME", "evaluate only this system, or name the only one"),
    "--anon-suffix": value("SUFFIX", "suffix of anonymized data sets"),
    "--keys": path("DIR", "folder of trial keys"),
    "--out": path("PATH", "folder relative to the tree; default: RESULTS/privacy_eval"),
    "--allow-outside": flag("follow links and paths that lead out of the tree"),
    "--allow-pipes": flag("run commands in scp files"),
    "--config": path("FILE", "options of the recipe, as it writes them to options.conf"),
    "--nj": value("N", "number of parallel jobs", type=positive, default=1),
    "--cmd": value("CMD", "runner of the jobs, with its options (default: no jobs)"),
    "--log-dir": path("DIR", "where the logs of the jobs go (default: log in the output folder)"),
    "--job": value("J/N", "run job J of N only (default: all)", type=job),
    "--isolate": flag("make each product in a separate process, so that only a killed one fails"),
    "--details": flag("list every item"),
    "--scp-base": path("DIR", "base folder of relative paths in scp files; default: ."),
    "--cache": path("DIR", "folder of downloaded models; default: the user's cache"),
    "--model": path("DIR", "plda, mean.vec, transform.mat"),
    "--backend": choice(["plda", "cosine", "euclidean"], default="plda"),
    "--attackers": value(
        "ID,...",
        "attackers of the protocol: all, challenge (its own), or ids (default: challenge and, "
        "where there are transcripts, words)",
    ),
    "--confirm": value(
        "NAME[:DATA_SET]",
        "implausible values, or another system's scores, are right: of a system, team or "
        "`original` speech (of one data set); repeatable",
        action="append",
        default=[],
    ),
    "--distractors": value("SET", "data set of more enrolled speakers for identification"),
    "--metric": value(
        "NAME=FILE.py:FUNCTION",
        "user-defined metric, a function of TrialScores; FILE.py is executed",
        action="append",
        default=[],
        type=_user_metric,
        dest="user_metrics",
    ),
    "--lda-dim": value(
        "D", "dimension of LDA; default: 200, or the x-vectors' dimension", type=positive
    ),
    "--recognizer": value(
        "COMMAND",
        "'COMMAND {in} {out}': reads the data folder {in}, and writes {out}/text",
        type=folder_command(),
    ),
    "--encoder": value(
        "NAME", f"{', '.join(ENCODERS)}, FILE.onnx or FILE.ckpt, instead of a Kaldi network"
    ),
    "--front-end": value(
        "NAME",
        "of FILE.onnx: wespeaker, sherpa, 3dspeaker, speechbrain, FILE.yaml; default: its metadata",
    ),
    "--variant": choice([*VARIANTS, "both"], default="both"),
    "--format": choice(
        ["text", "csv", "json", "latex", "markdown"],
        "csv: a row per number, rates as fractions; latex: booktabs",
        default="text",
    ),
    "--formats": value(
        "LIST",
        "files of tables also as md, txt, beside LaTeX and tables.csv with all cells",
        type=_formats,
        default=(),
    ),
    "--published": value(
        "NAME", "published results to compare with, or alone: vpc2020, vpc2022, vpc2024, ..."
    ),
    "--table-style": choice(
        ["booktabs", "challenge"], "challenge: ruled like the challenge's", default="booktabs"
    ),
    "--conventional": flag("also ECE, APE, NBER and NECE plots of every condition"),
    "--all-figures": flag("also curves (DET, ECE, ...) of every condition, other metrics, splits"),
    "--whiskers": choice(
        ["speakers", "independent"],
        "95 %% intervals of bars: bootstrap over speakers, or as in the challenge's figures, which "
        "assume independent trials (far too narrow)",
        default="speakers",
    ),
}


def add_options(parser: argparse.ArgumentParser, options: Options) -> None:
    """Add the options of a verb to a parser."""
    either = options.get("either", "").split()
    group = parser.add_mutually_exclusive_group(required=True) if either else parser
    for name, settings in _settings(options).items():
        to: Any = group if name in either else parser
        to.add_argument(*name.split(), **settings)


def names_of(options: Options) -> set[str]:
    """Return the names of the options of a verb."""
    return {word for names in _settings(options) for word in names.split()}


def _settings(options: Options) -> dict[str, dict[str, Any]]:
    """Return the settings of the options of a verb, as `add_argument` takes them, by name."""
    own = {n: SHARED.get(n, {}) | one for n, one in options.items() if n not in _ABOUT}
    of_kinds = {n: one for kind in options.get("kinds", ()) for n, one in described(kind).items()}
    shared = {f"--{n}": SHARED[f"--{n}"] for n in options.get("shared", "").split()}
    return {**own, **of_kinds, **shared}


def check_rules(options: Options, arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    given = {"metric": arguments.user_metrics} if "user_metrics" in arguments else {}
    given |= vars(arguments)
    for names, others, text in options.get("rules", ()):
        there = all(given[other] for other in others.lstrip("!").split())
        for name in names.split() if there == others.startswith("!") else ():
            if given[name]:
                raise UsageError(text.format(f"--{name.replace('_', '-')}"))
    for name, needed in options.get("needs", {}).items():
        if given[name] and given[name] != "false":
            provided(needed)


def use_one_thread() -> None:
    """Let linear algebra use one thread, before NumPy is imported: identical bytes on any number
    of cores."""
    os.environ.update(dict.fromkeys(_THREADS, "1"))


def output_folder(arguments: argparse.Namespace) -> Path:
    """Return the output folder of a stage over a tree; refuse symlinks within the results."""
    results = arguments.tree / arguments.results
    out: Path = arguments.tree / arguments.out if arguments.out else results / "privacy_eval"
    refuse_symlinks_below(out, results)
    return out


def progress() -> Callable[[int, int, str], None] | None:
    """Return the progress reporter: a live line on a terminal, periodic log lines in a job
    (`scripts/split_jobs.sh` asks for these), otherwise none."""
    if sys.stderr.isatty():
        return _LiveLine().show
    return _LogLines().show if in_job() else None


def beginnings() -> Callable[[int, int, str], None] | None:
    """Return a callable that reports each item before it starts, as it may exhaust memory."""
    if sys.stderr.isatty():
        return _LiveLine().show
    if not in_job():
        return None
    return lambda done, total, name: log(f"{done}/{total} done; next: {name}")


class _LogLines:
    def __init__(self) -> None:
        self._last = -math.inf

    def show(self, done: int, total: int, name: str) -> None:
        if time.monotonic() >= self._last + 1 or done == total:
            self._last = time.monotonic()
            log(_position(done, total, name))


class _LiveLine:
    """Progress on one line of a terminal, with the estimated time left, by the pace since it was
    first shown; total 0: unknown."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def show(self, done: int, total: int, name: str) -> None:
        now, left = time.monotonic(), ""
        before, began = self._first = self._first or (done, now)
        if before < done < total and now > began + 2:
            left = f", about {(now - began) * (total - done) / (done - before):.0f} s left"
        line = "" if done == total else _position(done, total, name) + left
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()


def _position(done: int, total: int, name: str) -> str:
    return f"{done}/{total} {name}" if total else f"{done} {name}"


def few_replicates(replicates: int, n_speakers: int) -> list[str]:
    """Return a caveat if intervals over speakers need more bootstrap replicates."""
    from ..metrics.confidence import least_replicates
    from ..numbers.challenge_averages import too_few_replicates

    least = least_replicates(n_speakers)
    return too_few_replicates([least] * (replicates < least))


def log_once(text: str, key: str | None = None) -> None:
    """Log a message unless an earlier command of the same run of a recipe has: the recipe names a
    file of these messages in the environment.

    `key`: what makes it the same message; by default the text.
    """
    file = os.environ.get(LOGGED)
    if file is None or in_job():
        log(text)
        return
    line = " ".join((text if key is None else key).removeprefix("warning: ").split())
    try:
        with open(file, "a+", encoding="utf-8", errors="surrogateescape") as logged:
            logged.seek(0)
            if f"{line}\n" in logged:
                return
            logged.write(f"{line}\n")
    except OSError:  # better twice than never
        pass
    log(text)


def end_with(parts: Iterable[str]) -> None:
    """Print the line that a stage ends with: what there is now, and what is missing. A recipe,
    whose stage may be several commands, names a file of it in the environment."""
    line = printable("; ".join(filter(None, parts)) or "nothing to do")
    file = None if in_job() else os.environ.get(ENDING)
    with open(file, "a") if file else nullcontext() as ended:
        print(line, file=ended)


def log(text: str) -> None:
    """Log to stderr. Names may be untrusted: control characters are escaped.

    A terminal shows warnings in colour, unless `NO_COLOR` is set.
    """
    lines = "\n".join(map(printable, text.split("\n")))
    if "warning: " in lines and sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        lines = f"\033[33m{lines}\033[0m"
    try:
        print(lines, file=sys.stderr)
    except OSError:  # a full disk: messages are lost, never a result
        sys.stderr = open(os.devnull, "w")


def print_found(found: Found, form: str) -> None:
    """Print what a verb on single files found in the format that was asked for."""
    if form == "json":
        print_json(found.plain)
    elif form == "csv":
        from ..io.csv_text import csv_text
        from ..results.measurements import Measurements

        print(csv_text(Measurements.of(found.rows).lines), end="")
    else:
        from ..report.table_formats import in_format

        print("\n".join(in_format(table, form) for table in found.tables), end="")


def print_json(content: object) -> None:
    """Print results as JSON, as `to_plain` makes them plain."""
    import json

    print(json.dumps(to_plain(content), indent=1, ensure_ascii=False, allow_nan=False))


def shown_variants(arguments: argparse.Namespace) -> Sequence[Variant]:
    """Return the variants to print."""
    return VARIANTS if arguments.variant == "both" else (arguments.variant,)


def plot_file(text: str) -> Path:
    """Parse the name of a plot in a format that can be written."""
    if Path(text).suffix[1:] not in FIGURE_FORMATS:
        raise argparse.ArgumentTypeError(f"{text}: expected a name that ends in pdf, png or tex")
    return Path(text)
