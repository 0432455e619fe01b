"""init: a recipe of one's own in a folder."""

from __future__ import annotations

import argparse
import shlex

from ..errors import UsageError
from .options import add, flag, log, path

EXAMPLE = "mine --conf vpc2024"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("directory", **path("DIR", "new or empty folder"))
    add(parser, "--conf", default="vpc2020", help="bundled protocol to start from: vpc2020, ...")
    parser.add_argument("--demo", **flag("let run.sh simulate two systems and evaluate them"))


def run(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import bundled
    from ..stages.new_recipe import write_recipe

    if arguments.conf not in bundled():
        raise UsageError(f"--conf: {arguments.conf}: expected one of {', '.join(bundled())}")
    write_recipe(arguments.directory, arguments.conf, demo=arguments.demo)
    command = shlex.quote(f"{arguments.directory}/run.sh")
    tree = "" if arguments.demo else " --tree TREE"
    log(f"{arguments.directory}: created; next: {command}{tree}")
    return 0
