"""Verbs from results to what is read: tables, figures, report."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..errors import PrivacyEvalError
from ..io.files import digest, read_bytes
from ..listening.store import read_subjective
from ..listening.tables import objective_and_subjective, subjective_tables
from ..listening.tables import summary as test_summary
from ..metrics import REGISTRY
from ..protocol.protocol import Protocol, load_protocol
from ..report.across_systems import comparison_tables, submissions_table
from ..report.figure_folder import made_from as drawn_from
from ..report.figure_folder import read_captions
from ..report.html import Picture, Section, provenance_tables, summary, write_report
from ..report.html import made_from as reported_from
from ..report.per_system import blank_tables, system_tables, table_groups
from ..report.ranking import ranked_by, ranking_table
from ..report.table import Table
from ..report.table_set import write_tables
from ..report.text import FORMATS
from ..report.values import (
    Cells,
    cells_of_published,
    cells_of_results,
    merged,
)
from ..results.arrays import FIGURE_FORMATS, Curves
from ..results.json_store import read_json
from ..results.records import Results, merge
from .options import Verbs, add_job, log, progress

#: In a folder that the verb subjective wrote.
SUBJECTIVE_JSON, SUBJECTIVE_FIGURES = "subjective.json", "figures"


def add_verbs(verbs: Verbs) -> None:
    """The verbs from results to what is read."""
    tables = verbs.add_parser("tables", help="LaTeX, Markdown, text and CSV tables")
    tables.set_defaults(verb=_tables)
    tables.add_argument(
        "--results", nargs="+", type=Path, metavar="results.json", help="default: blank forms"
    )
    tables.add_argument("--out", type=Path, metavar="DIR", help="default: to stdout")
    _add_shared(tables)
    tables.add_argument("--format", choices=list(FORMATS), help="default: all; on stdout text")
    tables.add_argument("--style", choices=["challenge", "booktabs"], default="challenge")
    tables.add_argument(
        "--rank-by",
        choices=ranked_by(),
        default="eer",
        help="metric of the ranking (default: eer)",
    )
    tables.add_argument(
        "--attack-model", metavar="ID", help="of the ranking; default: the one the plan averages"
    )

    figures = verbs.add_parser("figures", help="figures as PNG, PDF and, of curves, pgfplots")
    figures.set_defaults(verb=_figures)
    figures.add_argument("--results", nargs="+", type=Path, metavar="results.json")
    figures.add_argument("--out", required=True, type=Path, metavar="DIR")
    _add_shared(figures)
    figures.add_argument(
        "--format",
        action="append",
        choices=FIGURE_FORMATS,
        help="default: all; may be given several times",
    )
    figures.add_argument(
        "--conventional",
        action="store_true",
        help="also ECE, APE, NBER and NECE plots, one figure per condition of a system",
    )
    add_job(figures, verb="draw")

    report = verbs.add_parser("report", help="one HTML file with tables, figures and provenance")
    report.set_defaults(verb=_report)
    report.add_argument("--results", nargs="+", type=Path, metavar="results.json")
    report.add_argument("--figures", type=Path, metavar="DIR", help="as the verb figures wrote it")
    report.add_argument(
        "--subjective", type=Path, metavar="DIR", help="as the verb subjective wrote it"
    )
    report.add_argument("-o", "--output", required=True, type=Path, metavar="report.html")
    _add_shared(report)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--conf", metavar="FILE", help="default: the plan of the results, or vpc2020"
    )
    parser.add_argument(
        "--published", metavar="NAME", help="published results beside them, or alone: vpc2020"
    )


def _tables(arguments: argparse.Namespace) -> int:
    results, sources = read_sources(arguments)
    curves = curves_of(results, sources)
    cells = cells_of(arguments, results)
    across = across_tables(
        arguments, results, cells, curves, arguments.rank_by, arguments.attack_model
    )
    if arguments.out is not None:
        files = write_tables(
            arguments.out,
            table_groups(results, across),
            results.protocol.title,
            style=arguments.style,
            only=arguments.format,
        )
        print(f"{arguments.out}: {len(files)} files")
        return 0
    render = FORMATS[arguments.format or "text"]
    tables = across + [
        table
        for system in results.systems
        for folder in results.results_folders(system)
        for table in system_tables(results, system, folder)
    ] or blank_tables(results.protocol)
    print("\n".join(render.write(table, arguments.style) for table in tables), end="")
    return 0


def _figures(arguments: argparse.Namespace) -> int:
    from ..report.figures import all_figures, write_figures  # matplotlib: other verbs do without

    _check_sources(arguments)
    results, sources = read_sources(arguments)
    cells = cells_of(arguments, results)
    formats = [f for f in FIGURE_FORMATS if f in (arguments.format or FIGURE_FORMATS)]
    curves, conventional = curves_of(results, sources), arguments.conventional
    written, there = write_figures(
        all_figures(results, cells, curves, conventional=conventional),
        arguments.out,
        made_from=figures_key(arguments, results, conventional=conventional),
        formats=formats,
        job=arguments.job or (1, 1),
        progress=progress(),
    )
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")  # the line of the progress
    print(f"{arguments.out}: {written} figures drawn, {there} there")
    return 0


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


def _report(arguments: argparse.Namespace) -> int:
    _check_sources(arguments)
    results, sources = read_sources(arguments)
    key = report_key(arguments, results)
    if reported_from(arguments.output) == key:
        print(f"{arguments.output}: up to date")
        return 0
    cells = cells_of(arguments, results)
    write_report(
        arguments.output,
        f"{results.protocol.title}: evaluation of voice anonymization",
        _sections(arguments, results, cells, curves_of(results, sources)),
        made_from=key,
    )
    print(arguments.output)
    return 0


def report_key(arguments: argparse.Namespace, results: Results) -> str:
    """Digest of all that a report depends on."""
    folders = [arguments.figures]
    parts = [__version__, made_from_results(arguments, results), arguments.published or ""]
    if arguments.subjective is not None:
        parts.append(digest(read_bytes(arguments.subjective / SUBJECTIVE_JSON)))
        folders.append(arguments.subjective / SUBJECTIVE_FIGURES)
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
    if arguments.subjective is not None:
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
    folder: Path = arguments.subjective
    path = folder / SUBJECTIVE_JSON
    subjective, _ = read_subjective(path)
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
    tables = subjective_tables(
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


def read_sources(arguments: argparse.Namespace) -> tuple[Results, list[tuple[Results, Path]]]:
    """All results together, and each with its file; without any, none under a plan."""
    if not arguments.results:
        return Results(load_protocol(arguments.conf or "vpc2020")), []
    sources = [(read_json(path), path) for path in arguments.results]
    results = merge([results for results, _ in sources])
    if arguments.conf:
        results = results.under(load_protocol(arguments.conf))
    return results, sources


def _check_sources(arguments: argparse.Namespace) -> None:
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
    if attack_model is not None and REGISTRY[metric].kind != "scores":
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: {metric} does not depend on an attack model"
        )
    if attack_model is not None and attack_model not in known:
        raise PrivacyEvalError(
            f"--attack-model {attack_model}: no attack model of the plan {protocol.name}; known: "
            f"{', '.join(known)}"
        )
