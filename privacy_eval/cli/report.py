"""The verb report: one HTML file with tables, figures and provenance."""

from __future__ import annotations

import argparse
import functools
import json
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..errors import PrivacyEvalError
from ..io.files import digest, read_bytes
from ..listening.store import read_listening_test
from ..listening.tables import listening_test_tables, objective_and_subjective
from ..listening.tables import summary as test_summary
from ..metrics import METRICS
from ..protocol.protocol import Protocol, load_protocol
from ..report.across_systems import comparison_tables, submissions_table
from ..report.figure_folder import made_from as drawn_from
from ..report.figure_folder import read_captions
from ..report.html import Picture, Section, provenance_tables, summary, write_report
from ..report.html import made_from as reported_from
from ..report.per_system import system_tables
from ..report.ranking import ranking_table
from ..report.table import Table
from ..report.values import Cells, cells_of_published, cells_of_results, merged
from ..results.arrays import Curves
from ..results.json_store import read_json
from ..results.records import Results, merge
from .options import add_listening, add_published, add_renamed, add_results, log

#: In a folder that the verb subjective wrote.
SUBJECTIVE_JSON, SUBJECTIVE_FIGURES = "subjective.json", "figures"

#: Figures by what their names begin with.
_FIGURE_SECTIONS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("Privacy of the systems", ("bars",), False),
    ("ZEBRA profiles", ("ece",), True),
    ("Conventional plots", ("conventional",), True),
    ("Linkability", ("linkability",), True),
    ("Voice similarity", ("matrices",), True),
    ("Detection error trade-off", ("det",), True),
    ("Metric against metric", ("scatter",), True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_results(parser)
    parser.add_argument("--figures", type=Path, metavar="DIR", help="as the verb figures wrote it")
    add_listening(parser)
    add_renamed(parser, "--out", "-o", "--output", required=True, metavar="report.html")
    add_published(parser)


def figures_key(arguments: argparse.Namespace, results: Results, *, conventional: bool) -> str:
    """All that the figures of results depend on."""
    made_from = made_from_results(arguments, results)
    return f"{made_from}:{arguments.published or ''}:{conventional}"


def made_from_results(arguments: argparse.Namespace, results: Results) -> str:
    """Digest of the results that figures are drawn from."""
    sources = [
        (digest(read_bytes(path)), (path.parent / "records").is_dir())
        for path in arguments.results or ()
    ]
    return digest(json.dumps([results.protocol.to_dict(), sources]).encode())


def run(arguments: argparse.Namespace) -> int:
    check_sources(arguments)
    results, sources = read_sources(arguments)
    key = report_key(arguments, results)
    if reported_from(arguments.out) == key:
        print(f"{arguments.out}: up to date")
        return 0
    cells = cells_of(arguments, results)
    write_report(
        arguments.out,
        f"{results.protocol.title}: evaluation of voice anonymization",
        _sections(arguments, results, cells, curves_of(results, sources)),
        made_from=key,
    )
    print(arguments.out)
    return 0


def report_key(arguments: argparse.Namespace, results: Results) -> str:
    """Digest of all that a report depends on."""
    folders = [arguments.figures]
    parts = [__version__, made_from_results(arguments, results), arguments.published or ""]
    if arguments.listening is not None:
        parts.append(digest(read_bytes(arguments.listening / SUBJECTIVE_JSON)))
        folders.append(arguments.listening / SUBJECTIVE_FIGURES)
    for folder in folders:
        captions = {} if folder is None else read_captions(folder)
        parts.append("" if folder is None else f"{drawn_from(folder)} {json.dumps(captions)}")
    return digest(json.dumps(parts).encode())


def _sections(
    arguments: argparse.Namespace, results: Results, cells: Cells, curves: Curves
) -> list[Section]:
    """The report, part by part."""
    places = [(s, f) for s in results.systems for f in results.results_folders(s)]
    own = {
        place: [replace(t, name=f"{number}-{t.name}") for t in system_tables(results, *place)]
        for number, place in enumerate(places)
    }
    named = {
        kind: [t for tables in own.values() for t in tables if t.name.endswith(f"-{kind}")]
        for kind in ("variants", "speakers")
    }
    said = summary(results) if arguments.results else [f"Published results: {arguments.published}."]
    sections = [Section("Summary", (*said, *cells.notes))]
    across = across_tables(arguments, results, cells, curves, "eer", None)
    if across:
        sections.append(Section("Systems side by side", tables=tuple(across)))
    if arguments.listening is not None:
        sections.append(_subjective_section(arguments, results))
    if arguments.figures is not None:
        captions = read_captions(arguments.figures)
        if drawn_from(arguments.figures).split(":")[0] != made_from_results(arguments, results):
            raise PrivacyEvalError(
                f"{arguments.figures}: figures of other results, or made before these changed; "
                "draw them anew with privacy-eval figures"
            )
        for title, prefixes, folded in _FIGURE_SECTIONS:
            pictures = [
                Picture(arguments.figures / f"{name}.png", caption)
                for name, caption in captions.items()
                if name.startswith(prefixes)
            ]
            if pictures:
                sections.append(Section(title, pictures=tuple(pictures), folded=folded))
    if named["variants"]:
        sections.append(
            Section(
                "Where the two variants differ",
                (
                    "Values that the released scripts (challenge) print differently from their "
                    "definition (exact).",
                ),
                tuple(named["variants"]),
                folded=True,
            )
        )
    if named["speakers"]:
        sections.append(
            Section(
                "The least protected speakers",
                ("An average hides the speaker who is not protected.",),
                tuple(named["speakers"]),
            )
        )
    apart = [table for tables in named.values() for table in tables]
    for (system, folder), tables in own.items():
        rest = tuple(t for t in tables if t not in apart)
        sections.append(Section(f"System {system}{folder}", tables=rest, folded=True))
    if arguments.results:
        sections.append(
            Section(
                "How each number was made",
                (
                    "Files with the first digits of their SHA-256; results.json has them whole. Of "
                    "gzip files it is that of the unpacked content. Paths are relative to the "
                    "tree.",
                ),
                tuple(provenance_tables(results)),
                folded=True,
            )
        )
    return sections


def _subjective_section(arguments: argparse.Namespace, results: Results) -> Section:
    """What a listening test said, with the figures beside its results."""
    folder: Path = arguments.listening
    path = folder / SUBJECTIVE_JSON
    subjective, _ = read_listening_test(path)
    if subjective.protocol.name != results.protocol.name:
        raise PrivacyEvalError(
            f"{path}: of the protocol {subjective.protocol.name}, the results of "
            f"{results.protocol.name}"
        )
    figures = folder / SUBJECTIVE_FIGURES
    objective = made_from_results(arguments, results) if arguments.results else ""
    now = subjective_made_from(path, objective)
    if not drawn_from(figures).startswith(now):
        raise PrivacyEvalError(
            f"{figures}: figures of other ratings or results; draw them anew with privacy-eval "
            "subjective"
        )
    cells = objective_and_subjective(subjective, results, arguments.published)
    tables = listening_test_tables(
        subjective, cells, results.protocol, subjective.split, published=arguments.published
    )
    return Section(
        "Subjective evaluation",
        tuple(test_summary(subjective)),
        tuple(tables),
        tuple(Picture(figures / f"{n}.png", c) for n, c in read_captions(figures).items()),
    )


def subjective_made_from(path: Path, results: str) -> str:
    """What figures of a listening test are made from: its subjective.json and results."""
    return f"{digest(read_bytes(path))}:{results}"


def read_sources(arguments: argparse.Namespace) -> tuple[Results, list[tuple[Results, Path]]]:
    """All results together, and each with its file; without any, none under a plan."""
    if not arguments.results:
        return Results(load_protocol(arguments.conf or "vpc2020")), []
    sources = [(read_json(path), path) for path in arguments.results]
    results = merge([results for results, _ in sources])
    if arguments.conf:
        results = results.under(load_protocol(arguments.conf))
    return results, sources


def check_sources(arguments: argparse.Namespace) -> None:
    if not arguments.results and not arguments.published:
        raise PrivacyEvalError("nothing to show: neither --results nor --published is given")


def curves_of(results: Results, sources: list[tuple[Results, Path]]) -> Curves:
    """Curves and matrices beside the results; what is missing is said."""
    curves = Curves(sources)
    absent = curves.absent(results)
    if absent:
        log(
            f"privacy-eval: curves of {absent} records are not there (folder records/ beside "
            "results.json): no figures of these, no resamples of speakers"
        )
    return curves


def cells_of(arguments: argparse.Namespace, results: Results) -> Cells:
    """Values of the results, and of published systems where they are asked for."""
    own = cells_of_results(results)
    if not arguments.published:
        return own
    return merged([own, cells_of_published(arguments.published)])


def across_tables(
    arguments: argparse.Namespace,
    results: Results,
    cells: Cells,
    curves: Curves,
    metric: str,
    attack_model: str | None,
) -> list[Table]:
    """Tables with a column per system, and the rankings."""
    _check_attack_model(results.protocol, metric, attack_model)
    if not arguments.published and len(results.systems) < 2:
        return []
    tables = comparison_tables(cells, results.protocol, coloured=bool(arguments.published))
    for note in cells.notes:
        log(f"privacy-eval: {note}")
    rank = functools.partial(
        ranking_table, results, curves, metric=metric, attack_model=attack_model
    )
    rankings: list[Table | None] = []
    for split in results.protocol.splits:
        rankings.append(rank(split=split, cells=cells))
        if arguments.published and len(results.systems) > 1:
            # Published systems between one's own leave no two of these to be compared.
            own = rank(split=split)
            rankings.append(own and replace(own, name=f"{own.name}_own"))
    found = [t for t in rankings if t is not None]
    if not found:
        under = f" under the attack model {attack_model}" if attack_model else ""
        log(f"privacy-eval: no ranking by {metric}{under}: no system has values of it")
    submissions = submissions_table(arguments.published) if arguments.published else None
    return [*([submissions] if submissions else []), *tables, *found]


def _check_attack_model(protocol: Protocol, metric: str, attack_model: str | None) -> None:
    """Whether there can be a ranking under the attack model asked for."""
    known = [a.id for a in protocol.attack_models if not a.is_original]
    if attack_model is not None and METRICS[metric].kind != "scores":
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: {metric} does not depend on an attack model"
        )
    if attack_model is not None and attack_model not in known:
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: no attack model of the plan {protocol.name}; known: "
            f"{', '.join(known)}"
        )
