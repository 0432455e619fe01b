"""recognize: transcripts of speech by a recognizer of your own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .options import (
    JOBS,
    add,
    add_data,
    add_tree,
    folder_command,
    log,
    path,
    runs_as_stage,
    two_usages,
    value,
)

if TYPE_CHECKING:
    from ..stages.user_command import UserCommand

EXAMPLE = "--data data/libri_test_anon --recognizer 'python3 recognize.py {in} {out}' --out asr"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one data folder."""
    stage, files = two_usages(parser)
    add_tree(stage, common=parser)
    add_data(files, common=parser)
    files.add_argument("--out", **path("DIR", "folder of the transcripts, DIR/text"), required=True)
    add(stage, *JOBS, "--isolate", "--details")
    add(parser, "--allow-missing")
    command = "'COMMAND {in} {out}': reads the data folder {in}, and writes {out}/text"
    parser.add_argument("--recognizer", **value("COMMAND", command, type=folder_command()))
    parser.set_defaults(parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from ..stages.user_command import UserCommand

    is_stage, text = runs_as_stage(arguments), arguments.recognizer
    if not text:
        if not is_stage:
            arguments.parser.error("the following arguments are required: --recognizer")
        return 0  # transcripts are the recognizer's
    tree = arguments.tree if is_stage else arguments.scp_base or Path()
    command = UserCommand(text, tree, Path.cwd(), "recognizer")
    return _stage(arguments, command) if is_stage else _files(arguments, command)


def _stage(arguments: argparse.Namespace, command: UserCommand) -> int:
    from ..stages.user_command import plan_recognition
    from .inputs import load_experiment, report_outcome, run_settings

    experiment = load_experiment(arguments, warn=False)
    planned = plan_recognition(experiment, command)
    outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
    return report_outcome(arguments, outcome, "sets of transcripts", "recognized")


def _files(arguments: argparse.Namespace, command: UserCommand) -> int:
    from ..products.freshness import bring_up_to_date
    from ..stages.access import TreeAccess
    from ..stages.user_command import Recognition

    base, out = command.tree, arguments.out
    out.mkdir(parents=True, exist_ok=True)
    access = TreeAccess(
        base,
        out,
        arguments.data,
        arguments.allow_pipes,
        arguments.allow_outside,
        arguments.allow_missing,
    )
    product = Recognition(str(out), arguments.data, out, command, access).product()
    outcome = bring_up_to_date([product], access.inputs, allow_missing=arguments.allow_missing)
    outcome.raise_failed()
    for error in outcome.missing.values():
        log(f"privacy-eval: {error}")
    for text in outcome.left_out.values():
        log(f"privacy-eval: {text}")
    what = "external, kept" if outcome.kept else "recognized" if outcome.made else "current"
    print(f"{out / 'text'}: {what}" if not outcome.missing else "nothing recognized")
    return 1 if outcome.missing else 0
