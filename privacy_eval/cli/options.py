"""Options, number types, progress and messages shared by the verbs."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ..choices import FIGURE_FORMATS as FIGURE_FORMATS
from ..choices import MOST_REPLICATES
from ..errors import PrivacyEvalError, UsageError, in_job, printable
from ..io.files import refuse_symlinks_below

T = TypeVar("T")

#: Environment variable: file of the messages that a run of a recipe has logged, see `log_once`.
LOGGED = "PRIVACY_EVAL_LOGGED"

#: A container of options: a parser, or one `Usage` of its verb.
Options = Any


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. argparse makes a formatter for every option that is added:
    this one finds the width without importing `shutil`, which takes as long as adding them all."""

    def __init__(self, prog: str) -> None:
        try:
            columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size().columns
        except (OSError, ValueError):
            columns = 0
        super().__init__(prog, width=(columns if columns > 0 else 80) - 2)


class Usage:
    """One of the two usages of a verb: options that go together.

    A verb runs either as a stage over a tree or on single files; `runs_as_stage` decides which,
    and exits with code 2 if options of both are mixed or required ones are missing.
    """

    def __init__(self, parser: argparse.ArgumentParser, title: str) -> None:
        self.parser = parser
        self.needed: list[str] = []
        self._group = parser.add_argument_group(title)
        self._defaults: dict[argparse.Action, Any] = {}

    @property
    def actions(self) -> Collection[argparse.Action]:
        """The options of this usage."""
        return self._defaults.keys()

    def add_argument(
        self, *names: str, required: bool = False, default: Any = None, **settings: Any
    ) -> None:
        """Add an option; `required` applies to this usage only."""
        action = self._group.add_argument(*names, default=argparse.SUPPRESS, **settings)
        self._defaults[action] = False if action.nargs == 0 else default
        if required:
            self.needed.append(names[0])

    def given(self, arguments: argparse.Namespace) -> list[str]:
        """Return the names of the usage's options in use, and set the others to their defaults."""
        given = [a.option_strings[0] for a in self._defaults if hasattr(arguments, a.dest)]
        for action, default in self._defaults.items():
            vars(arguments).setdefault(action.dest, default)
        return given

    def missing(self, arguments: argparse.Namespace) -> str:
        """Return the names of the required options that were not given."""
        given = vars(arguments)
        return ", ".join(n for n in self.needed if given[n[2:].replace("-", "_")] is None)


def two_usages(
    parser: argparse.ArgumentParser, *runs: Callable[[argparse.Namespace], int], needed: str = ""
) -> tuple[Usage, Usage]:
    """Give a verb two usages: the stage over a tree (with `--results`), and single files.

    `runs`: what each runs, of verbs without a function `run`; `needed`: an option of both usages
    that single files need.
    """
    stage = Usage(parser, "over a tree (the stage of the recipe)")
    files = Usage(parser, "on single files")
    files.needed += [needed] if needed else []
    parser.set_defaults(usages=(stage, files))
    if runs:
        over_tree, on_files = runs
        parser.set_defaults(run=lambda a: over_tree(a) if runs_as_stage(a) else on_files(a))
    return stage, files


def runs_as_stage(arguments: argparse.Namespace) -> bool:
    """Tell whether a verb runs as the stage over a tree, not on single files."""
    stage, files = arguments.usages
    of_stage, of_files = stage.given(arguments), files.given(arguments)
    if of_stage and of_files:
        stage.parser.error(
            f"{of_stage[0]} (over a tree) and {of_files[0]} (single files) exclude each other"
        )
    usage, other = (files, stage) if of_files else (stage, files)
    if missing := usage.missing(arguments):
        instead = (
            "" if of_stage or of_files else f" (or on single files: {other.missing(arguments)})"
        )
        usage.parser.error(f"the following arguments are required: {missing}{instead}")
    return usage is stage


def natural(text: str) -> int:
    """Parse a non-negative integer."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, not {text!r}")
    return int(text)


def replicates(text: str) -> int:
    """Parse a number of bootstrap replicates."""
    if natural(text) == 1 or natural(text) > MOST_REPLICATES:
        raise argparse.ArgumentTypeError(
            f"expected 0 or 2 to {MOST_REPLICATES} replicates, not {text}"
        )
    return int(text)


def positive(text: str) -> int:
    """Parse a positive integer."""
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


def folder_command(known: str = "") -> Callable[[str], str]:
    """Parse a command that is run for data folders, or a known name; empty is none."""

    def parse(text: str) -> str:
        from ..stages.user_command import FOLDERS

        if text not in ("", known) and not all(place in text for place in FOLDERS):
            expected = f"{known} or a command" if known else "a command"
            raise argparse.ArgumentTypeError(
                f"expected {expected} with {' and '.join(FOLDERS)}, not {text!r}"
            )
        return text

    return parse


def job(text: str) -> tuple[int, int]:
    """Parse a job split J/N."""
    number, slash, total = text.partition("/")
    split = (positive(number), positive(total)) if slash else (0, 0)
    if not 1 <= split[0] <= split[1]:
        raise argparse.ArgumentTypeError(f"expected J/N with 1 <= J <= N, not {text!r}")
    return split


def value(metavar: str, help: str | None = None, **settings: Any) -> dict[str, Any]:
    """Describe an option with a value."""
    return {"metavar": metavar, "help": help, **settings}


def path(metavar: str, help: str | None = None, **settings: Any) -> dict[str, Any]:
    """Describe an option with a path."""
    return {"metavar": metavar, "help": help, "type": Path, **settings}


def choice(choices: Sequence[str], help: str | None = None, **settings: Any) -> dict[str, Any]:
    """Describe an option with one of several values."""
    return {"choices": choices, "help": help, **settings}


def flag(help: str) -> dict[str, Any]:
    """Describe an option without a value."""
    return {"action": "store_true", "help": help}


_REPLICATES = "95 %% intervals from N bootstrap replicates of speakers (at least 2; usual: 1000)"

#: Options of several verbs, so that they are spelled alike.
SHARED: dict[str, dict[str, Any]] = {
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
    "--allow-missing": flag("leave out missing inputs, and log them"),
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
    "--utt2spk": path("F", "speakers of trial utterances"),
    "--attackers": value(
        "ID,...",
        "attackers of the protocol: all, challenge (its own), or ids (default: challenge and, "
        "where there are transcripts, words)",
    ),
    "--confirm": value(
        "NAME[:DATA_SET]",
        "implausible values, or scores that another system has, too, are right: of a system, a "
        "team or `original` speech (of a data set only); may be repeated",
        action="append",
        default=[],
    ),
    "--distractors": value("SET", "data set of more enrolled speakers for identification"),
    "--bootstrap": value("N", _REPLICATES, type=replicates, default=0),
    "--seed": value("N", "random seed; default: 0", type=natural, default=0),
    "--variant": choice(["challenge", "exact", "both"], default="both"),
    "--format": choice(["text", "json"], default="text"),
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

#: Options of a verb that can run in parallel jobs.
JOBS = ("--nj", "--cmd", "--log-dir", "--job")

#: Options for computing the metrics of a condition.
METRIC_OPTIONS = ("--bootstrap", "--seed", "--utt2spk", "--allow-missing")


def add(options: Options, *names: str, **changes: Any) -> None:
    """Add shared options, with the `changes` of this verb."""
    for name in names:
        options.add_argument(name, **{**SHARED[name], **changes})


def fill(kind: type[T], arguments: argparse.Namespace, **others: Any) -> T:
    """Return options as a dataclass, whose fields have the names of the options; those that the
    verb does not have keep their defaults."""
    values = {**vars(arguments), **others}
    names = [f.name for f in fields(kind) if f.name in values]  # type: ignore[arg-type]
    return kind(**{name: values[name] for name in names})


def output_folder(arguments: argparse.Namespace) -> Path:
    """Return the output folder of a stage over a tree; refuse symlinks within the results."""
    results = arguments.tree / arguments.results
    out: Path = arguments.tree / arguments.out if arguments.out else results / "privacy_eval"
    refuse_symlinks_below(out, results)
    return out


def add_tree(options: Options, common: Options = None) -> None:
    """Add the options for a tree, its results, systems and outputs.

    `common` receives the options of both usages of a verb, except `--out`, which differs.
    """
    add(options, "--config", "--tree", "--system", "--keys")
    several = "suffix of anonymized data sets; may be repeated"
    add(options, "--anon-suffix", action="append", help=several)
    add(options, "--results", required=True)
    add(options, "--conf", default="vpc2020")
    add(common or options, "--allow-outside")
    if common is None:
        add(options, "--out")


def add_metric(parser: Options, dest: str = "user_metrics") -> None:
    """Add the option for user-defined metrics, which `main` registers while a verb runs."""
    metric = value(
        "NAME=FILE.py:FUNCTION",
        "user-defined metric, a function of TrialScores; FILE.py is executed",
    )
    parser.add_argument(
        "--metric", action="append", default=[], type=_user_metric, dest=dest, **metric
    )


def _user_metric(text: str) -> str:
    from ..io.user_metrics import check_user_metric

    try:
        return check_user_metric(text)
    except PrivacyEvalError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the options for results, their protocol, and published results to compare with."""
    results = path("results.json", "default: published results alone")
    parser.add_argument("--results", nargs="+", action="extend", **results)
    add(parser, "--config", "--confirm")
    add(parser, "--conf", help="default: the protocol of the results, or vpc2020")
    add(parser, "--published")
    variants = choice(["challenge", "exact"], "of the metrics shown; default: the protocol's")
    parser.add_argument("--variant", **variants)
    systems = "show only this system; several, in this order, by repeating the option"
    parser.add_argument("--system", **value("NAME", systems, action="append"))
    strongest = "rank systems, and draw the plane, by the strongest attacker that was tried"
    parser.add_argument("--by-strongest", **flag(strongest))
    utility = "utility in the plane, in place of wer,uar: dnsmos_ovrl, per_original, ..."
    parser.add_argument("--utility", **value("KEY,...", utility))
    tables = path("FILE.yaml", "tables of one's own, see docs/extending.md; may be repeated")
    parser.add_argument("--tables", action="append", default=[], **tables)
    parser.set_defaults(user_metrics=())  # results may describe some, to forget at the end


def add_data(parser: Options, common: Options = None) -> None:
    """Add the data folder of the audio; `common` receives the options of both usages of a verb."""
    parser.add_argument("--data", required=True, **path("DIR", "folder with wav.scp"))
    base = "base folder of relative paths in wav.scp; default: . or else the data folder"
    add(parser, "--scp-base", help=base)
    add(common or parser, "--allow-pipes")
    if common is None:
        add(parser, "--allow-outside")


def add_features(parser: Options, common: Options = None) -> None:
    """Add the data folder and the options of feature extraction."""
    add_data(parser, common)
    add(common or parser, "--allow-missing")
    default = "Kaldi's option file; default: the challenge's options"
    parser.add_argument("--mfcc-config", **path("FILE", default))
    parser.add_argument("--vad-config", **path("FILE", default))
    dither = "standard deviation of noise added to the samples; default: 0, or that of the file"
    parser.add_argument("--dither", **value("X", dither, type=number))
    add(parser, "--seed", help="seed of the dither; default: 0")


def number(text: str) -> float:
    """Parse a non-negative number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number from 0, not {text!r}")
    return value


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


def print_json(content: object) -> None:
    """Print results as JSON, as `to_plain` makes them plain."""
    import json

    from ..io.schema import to_plain

    print(json.dumps(to_plain(content), indent=1, ensure_ascii=False, allow_nan=False))


def refuse_given(arguments: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse the first of the options that was given."""
    for name in names:
        if vars(arguments).get(name):
            raise UsageError(f"--{name.replace('_', '-')} {why}")


def check_plot(file: Path | None) -> None:
    """Refuse a plot of another format than those that can be written."""
    if file is not None and file.suffix[1:] not in FIGURE_FORMATS:
        raise UsageError(f"--plot: {file}: expected a name that ends in pdf, png or tex")
