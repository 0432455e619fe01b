"""import: results.json from the challenge's results.txt."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add, add_renamed, log, path, value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("results_txt", **path("RESULTS.txt"))
    add(parser, "--system", required=True, help="name of the system")
    add(parser, "--conf", default="vpc2020")
    add(parser, "--anon-suffix")
    also = value("SUFFIX=FILE", "results.txt of another results folder, e.g. .orig=FILE")
    parser.add_argument("--also", action="append", default=[], type=_suffixed_file, **also)
    folder = value("SUFFIX", "results folder that RESULTS.txt is of, e.g. .orig", default="")
    parser.add_argument("--results-folder", **folder)
    add_renamed(parser, "--out", "-o", "--output", required=True, metavar="results.json")


def run(arguments: argparse.Namespace) -> int:
    from ..io.files import read_text, write_text
    from ..io.inputs import Inputs
    from ..protocol.protocol import load_protocol
    from ..report.values import caveat_notes
    from ..results.challenge_text import extract_system, import_results_txt
    from ..results.json_store import to_json
    from ..results.records import merge
    from ..version import __version__

    protocol = load_protocol(arguments.conf)
    files = {arguments.results_folder: arguments.results_txt, **dict(arguments.also)}
    inputs, parts = Inputs(), []
    for suffix, file in files.items():
        with inputs.supplied(file):
            text = extract_system(read_text(file), str(file), arguments.system)
        origin = {"name": file.name, "sha256": inputs.sha256(file)}
        part = import_results_txt(
            text,
            str(file),
            protocol,
            system=arguments.system,
            results_folder=suffix,
            anon_suffix=arguments.anon_suffix,
            provenance={"version": __version__, "imported_from": origin},
        )
        parts.append(part)
    results = merge(parts)
    write_text(arguments.out, to_json(results))
    for note in caveat_notes(results.verification):
        log(f"privacy-eval: warning: {note}")
    wanted = len(protocol.comparisons) * len(list(protocol.trial_sets()))
    log(
        f"{arguments.out}: {arguments.system}, protocol {protocol.name}: "
        f"{len(results.verification)} conditions ({wanted} in a results folder of the protocol), "
        f"{len(results.recognition)} word error rates, {len(results.utility)} pitch correlations, "
        f"{len(results.similarity)} voice similarities"
    )
    return 0


def _suffixed_file(text: str) -> tuple[str, Path]:
    suffix, equals, path = text.partition("=")
    if not (suffix and equals and path):
        raise argparse.ArgumentTypeError(f"expected SUFFIX=FILE, not {text!r}")
    return suffix, Path(path)
