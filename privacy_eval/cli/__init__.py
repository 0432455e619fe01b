"""The command line: `privacy-eval VERB ...`, one verb per stage of the recipe.

Results go to stdout, progress and messages to stderr. Exit code 0: done; 1: bad data,
named in the message; 2: wrong usage; 130: interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence

from .. import __version__
from ..errors import PrivacyEvalError
from . import evaluation, pending, report, speaker, study, subjective, zebra
from .options import say


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of any bytes can be printed
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = parser().parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
    try:
        code = verb(arguments)
        sys.stdout.flush()
        return code
    except PrivacyEvalError as error:
        say(f"privacy-eval: {error}")
        return 1
    except BrokenPipeError:
        # The reader of our output is gone (head, a closed pager): nothing left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # files are met with errors of ours: this is the output
        say(f"privacy-eval: {error.filename or 'standard output'}: {error.strerror or error}")
        return 1
    except MemoryError:
        say("privacy-eval: there is not enough memory")
        return 1
    except KeyboardInterrupt:
        say("privacy-eval: interrupted; what is finished is kept, run it again to go on")
        return 130


def parser() -> argparse.ArgumentParser:
    """All verbs with their options."""
    top = argparse.ArgumentParser(
        prog="privacy-eval", description="Evaluation of voice anonymization."
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = top.add_subparsers(metavar="VERB", required=True)
    evaluation.add_verbs(verbs)
    speaker.add_verbs(verbs)
    pending.add_verbs(verbs)
    report.add_verbs(verbs)
    subjective.add_verbs(verbs)
    zebra.add_verbs(verbs)
    study.add_verbs(verbs)
    return top
