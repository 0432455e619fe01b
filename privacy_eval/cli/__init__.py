"""The command line: `privacy-eval VERB ...`, one verb per stage of the recipe.

Results go to stdout, progress and messages to stderr. Exit code 0: done; 1: bad data,
named in the message; 2: wrong usage; 130: interrupted.

Each verb is a module with `add_arguments(parser)` and `run(arguments)`, which returns the
exit code. Imports that only `run` needs are inside it: a recipe starts dozens of commands, and
`--help` must respond at once.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from ..errors import OutputError, PrivacyEvalError, UsageError
from ..version import __version__
from .options import log

#: Exit code of a job that cannot write its output, so that no further job is started.
JOB_OUTPUT_ERROR = 3

#: The verbs by purpose, each implemented in the module of the same name.
GROUPS: dict[str, dict[str, str]] = {
    "try it on simulated data": {
        "demo-tree": "simulate a challenge tree",
        "demo-speech": "simulate folders of speech",
    },
    "evaluate single files": {
        "metrics": "compute the privacy metrics of one score file",
        "zebra": "compute the ZEBRA metrics and profile of one score file",
        "wer": "compute word error rates of transcripts, with intervals over speakers",
        "uar": "compute emotion recognition recalls (UAR) from predictions",
        "pitch": "compute the pitch correlation of original and anonymized speech",
    },
    "evaluate a tree, stage by stage": {
        "check": "check a tree: missing inputs, original/anonymized mismatches, implausible scores",
        "train-backend": "train PLDA back ends on x-vectors",
        "subsets": "make the evaluation subsets of the data folders",
        "anonymize": "anonymize the data folders of a tree with baseline B2 or an external command",
        "asv-scores": "compute the speaker verification scores of the trials from x-vectors",
        "privacy-metrics": "compute the privacy metrics of every trial condition",
        "similarity": "compute voice similarity matrices, DeID and G_VD",
        "identification": "compute speaker identification rates in galleries, from x-vectors",
        "collect": "write results.json, results.csv and results.txt of a tree",
    },
    "show results": {
        "tables": "write LaTeX, Markdown, text and CSV tables",
        "figures": "draw figures as PNG and PDF, and curves also as pgfplots",
        "report": "write one HTML file with tables, figures and provenance",
        "import": "convert the results files of a challenge to results.json",
        "export": "convert results.json to results.txt, CSV or averages",
    },
    "evaluate a listening test": {
        "listening": "evaluate the ratings of a listening test: metrics, tables and figures",
    },
    "prepare speech": {
        "data-dir": "create a tree from folders of audio: data folders, trials, protocol",
        "mcadams": "anonymize the speech of a data folder by the McAdams coefficient (baseline B2)",
        "xvectors": "extract the x-vectors of a data folder with Kaldi's networks",
    },
    "study the metrics themselves": {
        "study": "run simulations that show what each metric is sensitive to",
        "study-report": "write tables, figures and report of a metric study",
    },
    "for scripts and shells": {
        "pending": "print the first stage of the recipe, from 5 on, with work to do",
        "completion": "print the bash or zsh completion script for verbs and options",
    },
}

VERBS = {verb: purpose for verbs in GROUPS.values() for verb, purpose in verbs.items()}

#: Verb names of earlier versions: still accepted, but not listed.
FORMER_VERBS = {
    "evaluate": "privacy-metrics",
    "score": "asv-scores",
    "score-tree": "asv-scores",
    "train-tree": "train-backend",
    "similarity-tree": "similarity",
    "subjective": "listening",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # print names of arbitrary bytes
        sys.stdout.reconfigure(errors="backslashreplace")
    _ignore_matplotlibrc()
    words = sys.argv[1:] if argv is None else list(argv)
    verb = next(iter(words), "")
    chosen = parser(verb)
    if not verb:
        print(chosen.format_help(), end="", file=sys.stderr)
        return 2
    if not verb.startswith("-") and verb not in {*VERBS, *FORMER_VERBS}:
        chosen.error(f"no verb {verb!r}{_suggestion(verb)} (--help lists them)")
    arguments = chosen.parse_args(words)
    try:
        with _user_metrics(arguments):
            code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except PrivacyEvalError as error:
        log(f"privacy-eval: {error}")
        if isinstance(error, UsageError):
            return 2
        in_jobs = vars(arguments).get("job") or vars(arguments).get("isolate")
        return JOB_OUTPUT_ERROR if isinstance(error, OutputError) and in_jobs else 1
    except BrokenPipeError:
        # The reader of our output has exited (head, a closed pager).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # unreadable inputs raise PrivacyEvalError: this is an output
        log(f"privacy-eval: {error.filename or 'standard output'}: {error.strerror or error}")
        return 1
    except MemoryError:
        log("privacy-eval: not enough memory")
        return 1
    except KeyboardInterrupt:
        log("privacy-eval: interrupted; finished work is kept, run it again to resume")
        return 130


def _user_metrics(arguments: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Register the user-defined metrics of `--metric`, and any that results files describe, while
    the verb runs."""
    if "user_metrics" not in vars(arguments):
        return contextlib.nullcontext()
    from ..io.user_metrics import load_user_metrics, registered

    return registered(load_user_metrics(arguments.user_metrics))


def _ignore_matplotlibrc() -> None:
    """Import matplotlib from another folder if the current, possibly untrusted one has a
    `matplotlibrc`, which would take precedence."""
    if os.path.lexists("matplotlibrc"):
        here = os.open(".", os.O_RDONLY)
        try:
            os.chdir(os.sep)
            importlib.import_module("matplotlib")
        finally:
            os.fchdir(here)
            os.close(here)


def parser(verb: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of one verb with its options, or one that lists all verbs."""
    as_written = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        prog="privacy-eval",
        usage="%(prog)s [-h] [--version] VERB ...",
        description="Evaluation of voice anonymization.",
        formatter_class=as_written,
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = top.add_subparsers(
        prog="privacy-eval", metavar="VERB", required=True, dest="verb", help=argparse.SUPPRESS
    )
    current = FORMER_VERBS.get(verb or "", verb)
    if verb is None or current not in VERBS:
        top.epilog = _listed() + "\n\noptions and an example of each: privacy-eval VERB --help"
        for name in VERBS:
            verbs.add_parser(name)
        return top
    module = _module(current)
    purpose = VERBS[current]
    one = verbs.add_parser(
        verb,
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        epilog=f"example:\n  privacy-eval {current} {module.EXAMPLE}",
        formatter_class=as_written,
    )
    one.set_defaults(run=module.run)
    module.add_arguments(one)
    return top


def _module(verb: str) -> Any:
    name = "import_" if verb == "import" else verb.replace("-", "_")
    return importlib.import_module(f".{name}", __name__)


def _listed() -> str:
    """List the verbs, by group."""
    lines = []
    for title, verbs in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {verb:<16} {purpose}" for verb, purpose in verbs.items()]
    return "\n".join(lines[1:])


def _suggestion(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, [*VERBS, *FORMER_VERBS])
    return f"; did you mean {' or '.join(near)}?" if near else ""
