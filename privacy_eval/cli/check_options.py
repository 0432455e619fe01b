"""check-options: check the options of the recipe, which it wrote to a file, before any work.

All verbs of its stages parse the file. Names of systems, data sets and files are looked up, which
a stage would do much later, or once per job.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from ..errors import PrivacyEvalError, UsageError
from ..stages.recipe import STAGES, recipe_of, stage_number
from .options import HelpFormatter, add, add_tree, log, one_of, output_folder, path

if TYPE_CHECKING:
    from ..protocol.protocol import Protocol

#: The shell that compares stage numbers needs a limit.
_NUMBERS = range(10**6)

EXAMPLE = "exp/privacy_eval/options.conf"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("file", **path("FILE", "options.conf: a line --name=value for each option"))


class _Parser(argparse.ArgumentParser):
    """A parser that raises an error, without the usage of a verb that the user did not call."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))


def run(arguments: argparse.Namespace) -> int:
    from . import VERBS, parse, parser
    from .config import expand_config, unknown_options

    recipe = _Parser(allow_abbrev=False, formatter_class=HelpFormatter)
    _add_recipe_options(recipe)
    config = ["--config", str(arguments.file)]
    verbs = [name.replace("_", "-") for stage in STAGES for name in stage.names]
    verbs = [verb for verb in dict.fromkeys(verbs) if verb in VERBS]
    if names := unknown_options(arguments.file, [recipe, *map(parser, verbs)]):
        raise UsageError(f"unknown option {', '.join(names)}")
    options = recipe.parse_args(expand_config("", recipe, config)[1])
    for verb in verbs:
        parse(verb, config, _Parser)
    if options.stop_stage < options.stage:
        raise UsageError(f"--stop-stage {options.stop_stage} comes before --stage {options.stage}")
    return _check_values(options)


def _add_recipe_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that are looked up, and those that only run.sh reads."""
    add_tree(parser)
    add(parser, "--utt2spk", "--published", "--distractors", "--attackers")
    parser.add_argument("--stage", type=one_of(_NUMBERS), default=0)
    parser.add_argument("--stop-stage", type=one_of(_NUMBERS), default=_NUMBERS[-1])
    parser.add_argument("--anonymizer")
    parser.add_argument("--ratings", **path("PATH"))


def _check_values(options: argparse.Namespace) -> int:
    """Log what does not exist, and return the exit code."""
    from ..protocol.protocol import load_protocol
    from ..protocol.published import load_systems
    from .inputs import chosen_attackers

    tree, results = options.tree, options.tree / options.results
    try:
        protocol = load_protocol(options.conf, base=tree)
    except PrivacyEvalError as error:
        log(f"privacy-eval: --conf: {error}")
        return 2 if isinstance(error, UsageError) else 1
    if other := _other_edition(options, protocol):
        raise UsageError(other)
    chosen_attackers(options, protocol)
    problems = _check_names(options, protocol)
    if options.published:
        try:
            load_systems(options.published)
        except PrivacyEvalError as error:
            problems.append(f"--published: {error}")
    files = {"keys": "folder", "utt2spk": "file"}
    if options.stop_stage >= stage_number("listening"):
        files["ratings"] = "file or folder"
    for name, kind in files.items():
        value = getattr(options, name)
        if value is not None and not (tree / value).exists():
            problems.append(f"--{name}: {tree / value}: no such {kind}")
    for problem in problems:
        log(f"privacy-eval: {problem}")
    if problems:
        return 2
    if options.stage > stage_number("asv_scores") and not results.is_dir():
        raise PrivacyEvalError(f"{results}: no such folder; --results is relative to --tree")
    output_folder(options)
    _log_external_results(options)
    return 0


def _other_edition(options: argparse.Namespace, protocol: Protocol) -> str | None:
    """Describe the edition that the tree looks like, if it is not the bundled one chosen."""
    from ..protocol.protocol import bundled
    from ..tree.discovery import looks_like

    tree = options.tree
    other = (
        looks_like(tree, tree / options.results, protocol) if options.conf in bundled() else None
    )
    if other is None:
        return None
    return (
        f"{tree}: looks like a tree of {other.title}, not of {protocol.title}: "
        f"{recipe_of(other)} --tree {tree} --conf {other.name}"
    )


def _check_names(options: argparse.Namespace, protocol: Protocol) -> list[str]:
    """Check the names of systems, data sets, results folders and anonymization suffixes."""
    from .identification import check_distractors
    from .inputs import load_asv_systems, load_experiment

    anonymizes = options.anonymizer and options.stage <= stage_number("anonymize")
    try:
        check_distractors(options)
        if (options.tree / options.results).exists() and not anonymizes:
            load_experiment(options, needed=False, warn=False)
        else:
            load_asv_systems(options, protocol, anonymized=not anonymizes)
    except UsageError as error:
        return [str(error)]
    except PrivacyEvalError:  # the stage reports it
        pass
    return []


def _log_external_results(options: argparse.Namespace) -> None:
    """Log that the results to show were not made by this user."""
    from ..results.record_files import made_by_user

    path = output_folder(options) / "results.json"
    if options.stage > stage_number("collect") and path.exists() and not made_by_user(path):
        log(
            f"privacy-eval: warning: {path} was not made by this user's recipe, and is shown as "
            f"it is (--stage {stage_number('privacy_metrics')} recomputes it)"
        )
