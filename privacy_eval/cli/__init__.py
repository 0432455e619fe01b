"""The command line: `privacy-eval VERB ...`, and `privacy-eval stage NAME ...` over a tree.

Results go to stdout, progress and messages to stderr. Exit code 0: done; 1: bad data,
named in the message; 2: wrong usage; 130: interrupted.

A verb is a row of options in `VERBS` of a module, and its function `run_VERB(arguments)`, which
returns the exit code or, on single files, what it found, which is printed in any format. Imports
that only the latter needs are inside it: a recipe starts dozens of commands, and `--help` must
respond at once. A stage is a row of `stages.STAGES`, which names its plan, or a function of
`stage_runs`; a verb of the same name is of single files.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..errors import InputWarning, OutputError, PrivacyEvalError, UsageError
from ..stages.recipe import stages_of_wings
from ..version import __version__
from ..wings import absent, installed, of_wings, referred, told
from .config import expand_config, option_names, refuse_repeated
from .jobs import OUTPUT_ERROR
from .options import HelpFormatter, Options, add_options, check_rules, end_with, log, print_found
from .stages import STAGES, TREE, run_stage, stage_commands, stage_options

#: The core's verbs by purpose.
GROUPS: dict[str, dict[str, str]] = {
    "begin": {
        "init": "put a recipe of your own into a folder: run.sh, path.sh, cmd.sh and a protocol",
        "selftest": "compare the numbers of this machine with those of other programs",
    },
    "try it on simulated data": {
        "demo-tree": "simulate a challenge tree",
    },
    "evaluate single files": {
        "metrics": "compute the privacy metrics of one score file",
    },
    "evaluate a tree": {
        "stage": "run a stage of the recipe: privacy-eval stage NAME|NUMBER",
    },
    "stages of the recipe (*: also a verb on single files)": {
        "train-backend": "train PLDA back ends on x-vectors",
        "subsets": "make the evaluation subsets of the data folders",
        "anonymize": "anonymize the data folders of a tree with baseline B2 or an external command",
        "asv-scores": "compute the speaker verification scores of the trials from x-vectors",
        "privacy-metrics": "compute the privacy metrics of every trial condition",
        "measures": "compute quality and phone errors of speech, or means of other tools' measures",
        "similarity": "compute voice similarity matrices, DeID and G_VD",
        "recognize": "transcribe speech with a recognizer of your own, for word error rates",
        "collect": "write results.json, results.csv and results.txt of a tree",
    },
    "show results": {
        "tables": "write LaTeX, Markdown, text and CSV tables",
        "figures": "draw figures as PNG and PDF, and curves also as pgfplots",
        "report": "write one HTML file with tables, figures and provenance",
        "export": "convert results.json to results.txt, CSV or averages",
    },
    "for scripts and shells": {
        "check-options": "check the options of the recipe before its first stage",
        "completion": "print the bash or zsh completion script for verbs and options",
    },
}

#: Exit code of the stages of a number, one of which cannot begin after another has failed.
CANNOT_BEGIN = 4

PURPOSES = {name: purpose for names in GROUPS.values() for name, purpose in names.items()}

#: The verbs on single files, and others that need no tree, by module.
MODULES = {
    "begin": "init selftest demo-tree",
    "metrics": "metrics",
    "vectors": "train-backend similarity",
    "results": "tables figures report export",
    "shells": "check-options completion",
}
MODULE_OF = {verb: module for module, verbs in MODULES.items() for verb in verbs.split()}


def groups() -> dict[str, dict[str, str]]:
    """Return the verbs by purpose, and those that wings add by wing."""
    added = {
        f"wing {wing.name}": {n: what for n, (_, what) in wing.verbs.items() if n not in PURPOSES}
        for wing in installed()
    }
    return GROUPS | {title: verbs for title, verbs in added.items() if verbs}


def every_verb() -> dict[str, str]:
    """Return what each verb does."""
    verbs = {verb: what for of_group in groups().values() for verb, what in of_group.items()}
    stages = {n.replace("_", "-"): stage.what for n, stage in stages_of_wings().items()}
    return stages | verbs


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the shell
            setattr(sys, stream, open(os.devnull, "w"))
    if isinstance(sys.stdout, io.TextIOWrapper):  # print names of arbitrary bytes
        sys.stdout.reconfigure(errors="backslashreplace")
    _ignore_matplotlibrc()
    words = sys.argv[1:] if argv is None else list(argv)
    verb = next(iter(words), "")
    arguments, code, ending = argparse.Namespace(), 0, list[str]()
    try:
        if verb == "--version":
            return _version()
        if verb != "stage" and not is_of_files(verb):
            return _no_verb(verb)
        for one, others in commands(words):
            arguments = parse(one, others)
            arguments.ending = ending
            with _user_metrics(arguments), _logged_warnings():
                done = arguments.run(arguments)
                if not isinstance(done, int):
                    print_found(done, arguments.format)
                    done = 0
                code = max(code, done)
            sys.stdout.flush()
            if code > 1:
                return code
        if ending:
            end_with(ending)
        return code
    except PrivacyEvalError as error:
        text = f"{error} {error.__cause__}"
        lost = ".scp:" in text and "no such file" in text.lower()
        lost = lost and vars(arguments).get("scp_base", "") is None
        hint = "; relative paths in an scp file: --scp-base names their folder" * lost
        log(f"privacy-eval: {error}{hint}")
        if isinstance(error, UsageError):
            return 2
        in_jobs = vars(arguments).get("job") or vars(arguments).get("isolate")
        if isinstance(error, OutputError) and in_jobs:
            return OUTPUT_ERROR
        return CANNOT_BEGIN if code else 1
    except BrokenPipeError:
        # The reader of our output has exited (head, a closed pager).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # unreadable inputs raise PrivacyEvalError: this is an output
        log(f"privacy-eval: {error.filename or 'standard output'}: {error.strerror or error}")
        return 1 if vars(arguments) else 2  # wrong usage, where stderr is full
    except MemoryError:
        log("privacy-eval: not enough memory")
        return 1
    except KeyboardInterrupt:
        log("privacy-eval: interrupted; finished work is kept, run it again to resume")
        return 130


@contextlib.contextmanager
def _user_metrics(arguments: argparse.Namespace) -> Iterator[None]:
    """Register the metrics of `--metric` while the verb runs; forget at its end also those that
    results describe."""
    own = vars(arguments).get("user_metrics", ())
    registry = "privacy_eval.metrics.registry"  # not loaded for verbs that may not need it
    if own or registry in sys.modules:
        from ..io.user_metrics import load_user_metrics, registered

        with registered(load_user_metrics(own)):
            yield
        return
    try:
        yield
    finally:
        if registry in sys.modules:
            from ..metrics.registry import forget_all_but_built_in

            forget_all_but_built_in()


@contextlib.contextmanager
def _logged_warnings() -> Iterator[None]:
    """Log caveats about inputs, each once."""
    with warnings.catch_warnings():
        other, told = warnings.showwarning, set[str]()
        warnings.simplefilter("default", InputWarning)

        def show(message: Warning, category: type[Warning], *where: Any) -> None:
            if not isinstance(message, InputWarning):
                other(message, category, *where)
            elif str(message) not in told:
                told.add(str(message))
                log(f"privacy-eval: warning: {message}")

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _ignore_matplotlibrc() -> None:
    """Import matplotlib from another folder if the current, possibly untrusted one has a
    `matplotlibrc`, which would take precedence."""
    if os.path.lexists("matplotlibrc"):
        here = os.open(".", os.O_RDONLY)
        try:
            os.chdir(os.sep)
            with contextlib.suppress(Exception):  # whoever draws tells it
                importlib.import_module("matplotlib")
        finally:
            os.fchdir(here)
            os.close(here)


def commands(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return what a command line means: verbs, or `stage NAME`, each with its words."""
    verb, *others = words
    if verb == "stage":
        return stage_commands(others, parser)
    if verb in STAGES:
        own, of_tree = (parser(key)._option_string_actions for key in (verb, f"stage {verb}"))
        if names := [n for n in option_names(others) if n in of_tree and n not in own]:
            raise UsageError(f"{names[0]} is of a tree: privacy-eval stage {verb}")
    return [(verb, others)]


def is_of_files(verb: str) -> bool:
    """Tell whether a verb works on single files, or needs no tree."""
    return verb in MODULE_OF or verb in of_wings("verbs", MODULE_OF)


def parse(
    verb: str,
    words: Sequence[str],
    kind: type[argparse.ArgumentParser] = argparse.ArgumentParser,
) -> argparse.Namespace:
    """Parse the command line of a verb, with the options of its `--config` file."""
    one = parser(verb, kind)
    if words and words[0][:1] != "-" and not one._get_positional_actions():
        example = str(one.epilog).split("\n")[1].strip()
        one.error(f"{words[0]!r}: files are named by options, as in {example}")
    refuse_repeated(one, words)
    config, expanded = expand_config(verb, one, words)
    refuse_repeated(one, expanded)
    arguments = argparse.Namespace(command=verb, verb=verb.removeprefix("stage "), words=expanded)
    if config is not None:
        arguments.config = config
    one.parse_args(expanded, arguments)
    arguments.rules(arguments)
    return arguments


def parser(
    verb: str, kind: type[argparse.ArgumentParser] = argparse.ArgumentParser
) -> argparse.ArgumentParser:
    """Return the parser of a verb, or of `stage NAME`."""
    name, parts = verb.removeprefix("stage "), [TREE]
    if name != verb:
        run: Callable[[argparse.Namespace], Any] = run_stage
        example = f"stage {name} --tree baseline --results exp"
        parts.append(stage_options()[name])
    else:
        options, run = _of_module(verb)
        parts = [options]
        example = f"{verb} {options['example']}"
        if verb in STAGES:
            example += f"\n\nover a tree: privacy-eval stage {verb} --help"
    purpose = every_verb().get(name, name)
    one = kind(
        prog=f"privacy-eval {verb}",
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        epilog=f"example:\n  privacy-eval {example}",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    one.set_defaults(run=run, rules=partial(check_rules, parts[-1]), usage_error=one.error)
    for part in parts:
        add_options(one, part)
    return one


def _of_module(verb: str) -> tuple[Options, Callable[[argparse.Namespace], Any]]:
    """Return the options and the function of a verb on single files."""
    function = f"run_{verb.replace('-', '_')}"
    if verb in MODULE_OF:
        module = vars(importlib.import_module(f".{MODULE_OF[verb]}", __name__))
        return module["VERBS"][verb], module[function]
    name, _ = of_wings("verbs")[verb]
    return referred(f"{name}:VERBS")[verb], referred(f"{name}:{function}")


def _version() -> int:
    """Print the version, whatever is wrong with a wing, and the wings."""
    lines = [f"privacy-eval {__version__}"]
    try:
        lines += told()
    finally:
        print("\n".join(lines))
    return 0


def _no_verb(word: str) -> int:
    """Print the help, the version, or that there is no such verb; return the exit code."""
    top = argparse.ArgumentParser(
        prog="privacy-eval",
        usage="%(prog)s [-h] [--version] VERB ...",
        description="Evaluation of voice anonymization.",
        epilog=_listed() + "\n\noptions and an example of each: privacy-eval VERB --help",
        formatter_class=HelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    if not word:
        print(top.format_help(), end="", file=sys.stderr)
        return 2
    if word.startswith("-"):
        top.parse_args([word])
    if word in stage_options():
        top.error(f"{word} is a stage: privacy-eval stage {word}")
    missing = "".join(f"; not installed: wing {name}" for name in absent())
    top.error(f"no verb {word!r}{_suggestion(word)} (--help lists them{missing})")


def _listed() -> str:
    """List the verbs, by group."""
    lines = []
    for title, names in groups().items():
        lines += ["", f"{title}:"]
        for name, purpose in names.items():
            both = "*" * (name in STAGES and is_of_files(name))
            lines.append(f"  {name + both:<16} {purpose}")
    return "\n".join(lines[1:])


def _suggestion(word: str) -> str:
    from difflib import get_close_matches

    known = {n: n if n == "stage" or is_of_files(n) else f"stage {n}" for n in every_verb()}
    near = [known[name] for name in get_close_matches(word, known)]
    return f"; did you mean {' or '.join(near)}?" if near else ""
