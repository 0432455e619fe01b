"""The command line: `privacy-eval VERB ...`, one verb per stage of the recipe.

Results go to stdout, progress and messages to stderr. Exit code 0: done; 1: bad data,
named in the message; 2: wrong usage; 130: interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from .. import __version__
from ..errors import PrivacyEvalError
from .options import log

#: All verbs. A verb is in the module of its name, but for these.
_VERBS = (
    *("metrics", "evaluate", "collect", "import", "export", "check", "demo-tree"),
    *("subsets", "train-backend", "train-tree", "score", "score-tree"),
    *("similarity", "similarity-tree", "pending", "tables", "figures", "report"),
    *("subjective", "zebra", "study", "study-report"),
)
_MODULES = {
    "evaluate": "privacy_metrics",
    "import": "import_",
    "train-tree": "train_backend",
    "score": "asv_scores",
    "score-tree": "asv_scores",
    "similarity-tree": "similarity",
    "subjective": "listening",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of any bytes can be printed
        sys.stdout.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if argv is None else list(argv)
    arguments = parser(*words[:1]).parse_args(words)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
    try:
        code = verb(arguments)
        sys.stdout.flush()
        return code
    except PrivacyEvalError as error:
        log(f"privacy-eval: {error}")
        return 1
    except BrokenPipeError:
        # The reader of our output is gone (head, a closed pager): nothing left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # files are met with errors of ours: this is the output
        log(f"privacy-eval: {error.filename or 'standard output'}: {error.strerror or error}")
        return 1
    except MemoryError:
        log("privacy-eval: there is not enough memory")
        return 1
    except KeyboardInterrupt:
        log("privacy-eval: interrupted; what is finished is kept, run it again to go on")
        return 130


def parser(verb: str | None = None) -> argparse.ArgumentParser:
    """All verbs with their options; with a verb's name those of its module."""
    top = argparse.ArgumentParser(
        prog="privacy-eval", description="Evaluation of voice anonymization."
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = top.add_subparsers(metavar="VERB", required=True)
    # A command loads the module of its verb alone: a recipe starts dozens of commands, and to
    # load all of it takes as long as most of them run.
    wanted = [verb] if verb in _VERBS else _VERBS
    for module in dict.fromkeys(_MODULES.get(v, v.replace("-", "_")) for v in wanted):
        importlib.import_module(f".{module}", __name__).add_verbs(verbs)
    return top
