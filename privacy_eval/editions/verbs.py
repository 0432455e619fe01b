"""Results files of the challenge's editions, made results.json."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..cli.options import Options, log
from ..errors import UsageError, counted
from ..io.files import ask_if_cut, digest, load, read_text, write_text
from ..options import path, value

_RESULTS_TXT = (
    "results.txt, result_for_rank*, RESULTS_summary_*, results*.csv or results_folds*.csv"
)
_ALSO = "another file, with its attack model or folder, e.g. .orig=FILE"
_MODELS = "attack model of a file, or of its blocks in order, or .orig"


def _named_file(text: str) -> tuple[str, Path]:
    models, equals, path = text.partition("=")
    if not (models and equals and path):
        raise argparse.ArgumentTypeError(f"expected MODEL=FILE, not {text!r}")
    return models, Path(path)


VERBS: dict[str, Options] = {
    "import": {
        "example": "results.txt --system B1 --conf vpc2020 --out results.json",
        "shared": "anon-suffix confirm",
        "results_txt": path("FILE", _RESULTS_TXT),
        "--system": {"help": "name of the system", "required": True},
        "--conf": {"default": "vpc2020"},
        "--also": value("MODEL=FILE", _ALSO, action="append", default=[], type=_named_file),
        "--attack-model --results-folder": value("MODEL,..", _MODELS),
        "--out": path("results.json", required=True),
    },
}


def run_import(arguments: argparse.Namespace) -> int:
    from ..products.freshness import write_set
    from ..protocol.protocol import load_protocol
    from ..report.notes import caveat_notes
    from ..results.json_store import to_json
    from ..results.record_caveats import today
    from ..results.record_files import confirmed_days, import_note
    from ..results.records import merge
    from ..results.signature import comparability_notes
    from ..version import __version__
    from .importer import Importer, check_averages

    protocol = load_protocol(arguments.conf)
    files = [(arguments.attack_model, arguments.results_txt), *arguments.also]
    out, parts = arguments.out, []
    if out.resolve() in [file.resolve() for _, file in files]:
        raise UsageError(f"--out {out} would overwrite a file to import: give another name")
    anon_suffix = protocol.anon_suffix if arguments.anon_suffix is None else arguments.anon_suffix
    for models, file in files:
        loaded = load(file)
        origin = {"name": file.name, "sha256": digest(loaded.content)}
        provenance = {"version": __version__, "imported_from": origin}
        importer = Importer(str(file), protocol, arguments.system, anon_suffix, provenance)
        text = read_text(loaded)
        parts.append(importer.read(text, [] if models is None else models.split(",")))
        ask_if_cut(file, text)
        check_averages(parts[-1], text, str(file))
    out = arguments.out
    results = replace(merge(parts), day=today())
    results = results.confirm(arguments.confirm, confirmed_days(out))
    if results.confirmed:  # signed, as those of others are not believed
        write_set(out.parent, {out.name: to_json(results)}, note=import_note(out))
    else:
        write_text(out, to_json(results))
    attacks, p = {v.condition.attack_model for v in results.verification}, results.protocol
    if attacks and p.average_attack_model not in attacks:
        missing = f"no EER of the {p.average_attack_model} attack, by which {p.name} ranks"
        log(f"privacy-eval: warning: {missing}: is the file cut? --also adds another one")
    for note in (*caveat_notes(results.verification), *comparability_notes(results)):
        log(f"privacy-eval: warning: {note}")
    wanted = len(p.comparisons) * len(list(p.trial_sets())) * len(p.results_folders)
    log(
        f"{out}: {arguments.system}, protocol {p.name}: {len(results.verification)} of {wanted} "
        f"conditions, {counted(len(results.recognition), 'word error rate')}, "
        f"{counted(len(results.utility), 'pitch correlation')}, "
        f"{counted(len(results.similarity), 'voice similarity')}"
        + (f", {counted(len(results.emotion), 'emotion recognition')}" if results.emotion else "")
    )
    return 0
