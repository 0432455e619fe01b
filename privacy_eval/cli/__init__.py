"""The command line: `privacy-eval VERB ...`, one verb per stage of the recipe.

Results go to stdout, progress and messages to stderr. Exit code 0: done; 1: bad data,
named in the message; 2: wrong usage; 130: interrupted.

Each verb is a module with `add_arguments(parser)` and `run(arguments)`, which returns the
exit code. What only `run` needs is imported there: a recipe starts dozens of commands, and
`--help` answers at once.
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

#: Exit code of a job whose output cannot be written, so that no other need begin.
OUTPUT_OF_JOB = 3

#: The verbs by what they are for, each in the module of its name.
GROUPS: dict[str, dict[str, str]] = {
    "try it on simulated data": {
        "demo-tree": "simulate a challenge tree",
        "demo-speech": "simulate folders of speech",
    },
    "evaluate single files": {
        "metrics": "compute the privacy metrics of one score file",
        "zebra": "compute ZEBRA of one score file: numbers and profile",
        "wer": "compute word error rates of transcripts, with intervals over speakers",
        "uar": "compute recalls of emotion recognition from predictions",
        "pitch": "compute the pitch correlation of original and anonymized speech",
    },
    "evaluate a tree, stage by stage": {
        "check": "check a tree: missing inputs, original/anonymized mismatches, implausible scores",
        "train-backend": "train PLDA back ends on x-vectors",
        "subsets": "make the evaluation subsets of the data folders",
        "anonymize": "anonymize the data folders of a tree, by baseline B2 or a command",
        "asv-scores": "score trials of speaker verification from x-vectors",
        "privacy-metrics": "compute the privacy metrics of every trial condition",
        "similarity": "compute voice similarity matrices, DeID and G_VD",
        "identification": "compute how often a speaker is found in galleries, from x-vectors",
        "collect": "write results.json, results.csv and results.txt of a tree",
    },
    "show results": {
        "tables": "write LaTeX, Markdown, text and CSV tables",
        "figures": "draw figures as PNG, PDF and, of curves, pgfplots",
        "report": "write one HTML file with tables, figures and provenance",
        "import": "convert the results files of a challenge to results.json",
        "export": "convert results.json to results.txt, CSV or averages",
    },
    "evaluate a listening test": {
        "listening": "evaluate the ratings of a listening test: metrics, tables and figures",
    },
    "prepare speech": {
        "data-dir": "make a tree of folders of audio: data folders, trials, protocol",
        "mcadams": "anonymize the speech of a data folder by the McAdams coefficient (baseline B2)",
        "features": "compute MFCC and voice activity of a data folder",
        "xvectors": "extract the x-vectors of a data folder with Kaldi's networks",
    },
    "study the metrics themselves": {
        "study": "run simulations that show what each metric sees",
        "study-report": "write tables, figures and report of a metric study",
    },
    "for scripts and shells": {
        "pending": "print the first stage of the recipe, from 5 on, that has anything to do",
        "completion": "print the completion of verbs and options, to be read by bash or zsh",
    },
}

VERBS = {verb: purpose for verbs in GROUPS.values() for verb, purpose in verbs.items()}

#: Verbs of earlier versions, which still work and are not listed.
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
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of any bytes can be printed
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
        return OUTPUT_OF_JOB if isinstance(error, OutputError) and in_jobs else 1
    except BrokenPipeError:
        # The reader of our output is gone (head, a closed pager): nothing left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # input files raise errors of ours: this is the output
        log(f"privacy-eval: {error.filename or 'standard output'}: {error.strerror or error}")
        return 1
    except MemoryError:
        log("privacy-eval: not enough memory")
        return 1
    except KeyboardInterrupt:
        log("privacy-eval: interrupted; finished work is kept, run it again to resume")
        return 130


def _user_metrics(arguments: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Have the metrics that `--metric` names in the registry."""
    if not vars(arguments).get("user_metrics"):
        return contextlib.nullcontext()
    from ..io.user_metrics import load_user_metrics, registered

    return registered(load_user_metrics(arguments.user_metrics))


def _ignore_matplotlibrc() -> None:
    """Import matplotlib in another folder if the current one, perhaps of somebody else, has a
    `matplotlibrc`, which would come first."""
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
        top.epilog = _listed() + "\n\noptions and an example of one: privacy-eval VERB --help"
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
