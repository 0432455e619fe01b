"""import: results.json from the results files of the challenges."""

from __future__ import annotations

import argparse
from pathlib import Path

from .options import add, log, path, value

EXAMPLE = "results.txt --system B1 --conf vpc2020 --out results.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    what = "results.txt, result_for_rank*, RESULTS_summary_*, results*.csv or results_folds*.csv"
    parser.add_argument("results_txt", **path("FILE", what))
    add(parser, "--system", required=True, help="name of the system")
    add(parser, "--conf", default="vpc2020")
    add(parser, "--anon-suffix", "--confirm")
    also = value("SUFFIX=FILE", "another file, of the results folder SUFFIX, e.g. .orig=FILE")
    parser.add_argument("--also", action="append", default=[], type=_suffixed_file, **also)
    folder = value("SUFFIX", "results folder of the file, e.g. .orig (default: the main one)")
    parser.add_argument("--results-folder", **folder)
    parser.add_argument("--out", required=True, **path("results.json"))


def run(arguments: argparse.Namespace) -> int:
    from ..errors import counted
    from ..io.files import digest, load, read_text, write_text
    from ..numbers.challenge_averages import check_averages
    from ..numbers.comparability import comparability_notes
    from ..products.freshness import write_set
    from ..protocol.protocol import load_protocol
    from ..report.notes import caveat_notes
    from ..results.editions import Importer
    from ..results.json_store import to_json
    from ..results.record_files import confirmed_days, import_note
    from ..results.records import merge
    from ..version import __version__

    protocol = load_protocol(arguments.conf)
    files = [(arguments.results_folder, arguments.results_txt), *arguments.also]
    parts = []
    own = arguments.anon_suffix
    anon_suffix = protocol.anon_suffix if own is None else own
    for suffix, file in files:
        loaded = load(file)
        origin = {"name": file.name, "sha256": digest(loaded.content)}
        provenance = {"version": __version__, "imported_from": origin}
        importer = Importer(str(file), protocol, arguments.system, anon_suffix, provenance)
        text = read_text(loaded)
        parts.append(importer.read(text, suffix))
        check_averages(parts[-1], text, str(file))
    out = arguments.out
    results = merge(parts).confirm(arguments.confirm, confirmed_days(out))
    if results.confirmed:  # signed, as those of others are not believed
        write_set(out.parent, {out.name: to_json(results)}, note=import_note(out))
    else:
        write_text(out, to_json(results))
    for note in (*caveat_notes(results.verification), *comparability_notes(results)):
        log(f"privacy-eval: warning: {note}")
    wanted = len(protocol.comparisons) * len(list(protocol.trial_sets()))
    log(
        f"{out}: {arguments.system}, protocol {protocol.name}: "
        f"{counted(len(results.verification), 'condition')} ({wanted} in a results folder of the "
        f"protocol), {counted(len(results.recognition), 'word error rate')}, "
        f"{counted(len(results.utility), 'pitch correlation')}, "
        f"{counted(len(results.similarity), 'voice similarity')}"
        + (f", {counted(len(results.emotion), 'emotion recognition')}" if results.emotion else "")
    )
    return 0


def _suffixed_file(text: str) -> tuple[str, Path]:
    suffix, equals, path = text.partition("=")
    if not (suffix and equals and path):
        raise argparse.ArgumentTypeError(f"expected SUFFIX=FILE, not {text!r}")
    return suffix, Path(path)
