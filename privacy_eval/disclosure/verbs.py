"""The verbs `gate`, `identification` and `attributes`, and the statement of the verb `report`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..cli.group_options import BY, Groups, group_rows, group_tables, plain_groups, read_by
from ..cli.options import Options, log, plot_file, print_json, progress
from ..errors import PrivacyEvalError, UsageError, abbreviate, counted, located, printable
from ..io.csv_text import csv_text
from ..io.files import write_text
from ..io.schema import to_plain
from ..options import choice, path, sizes, value
from ..stages.options import AmountOptions, AttributeOptions, GalleryOptions
from .gallery_tests import sessions_of

if TYPE_CHECKING:
    from ..asv.inputs import Gallery
    from ..io.vectors import Vectors
    from ..report.single_files import Found
    from ..report.table import Table
    from .amount import Amount, AmountCurve
    from .attributes import AttributeInference
    from .gallery_tests import GalleryTests, KnownSpeech
    from .identification import Identification, RankedTests

_GALLERY_SIZES = "default: 2,5,10,20,... and all enrolled speakers"
_FROM_SCORES = (
    "with --trials: the amount of speech from scores, averaged, where there are no vectors"
)
_UTT2DUR = "with --sentences: durations of test utterances, to tell the seconds of tests"
_PLOT = "also plot the error rates by the amount of speech: a pdf, png or tex file"
_LABELS = "table of speakers or utterances, and its column; or spk2gender"

_OF_VECTORS, _NO_SCORES = (
    "enroll_vectors spk2utt trial_vectors",
    "{} and --scores exclude each other",
)

VERBS: dict[str, Options] = {
    "gate": {
        "example": "--policy policy.yaml exp/results.json --junit gate.xml",
        "shared": "confirm",
        "results": path("results.json"),
        "--policy": path("FILE", "rules, a YAML file", required=True),
        "--system": {"help": "judge only this system; default: all of them"},
        "--junit": path("FILE", "write JUnit XML for a build server"),
        "--markdown": path("FILE", "write a summary in Markdown"),
        "--format": choice(["text", "json"], default="text"),
    },
    "identification": {
        "example": "--enroll-vectors enrolled.scp --spk2utt spk2utt --trial-vectors tests.scp "
        "--utt2spk utt2spk --backend cosine --rank 5 --bootstrap 1000",
        "shared": "model scp-base format allow-pipes allow-outside",
        "kinds": (GalleryOptions, AmountOptions),
        "rules": (
            ("plot utt2dur", "sentences", "{} goes with --sentences"),
            (f"{_OF_VECTORS} model distractors", "!ranks", "{} and --ranks exclude each other"),
            ("utt2spk sentences by scores job out", "!ranks", "{} and --ranks exclude each other"),
            (f"{_OF_VECTORS} model gallery_sizes by", "!scores", _NO_SCORES),
            ("distractors", "distractors_spk2utt", "{} goes with --distractors-spk2utt"),
            ("distractors_spk2utt", "distractors", "{} goes with --distractors"),
            ("sentences", "!distractors", "{} goes without --distractors"),
            ("job", "out", "on single files, {} goes with --out"),
            ("out", "job", "on single files, {} goes with --job"),
            ("sentences by", "!job", "{} goes without --job"),
        ),
        "--enroll-vectors": path("SCP"),
        "--spk2utt": path("F", "of the enrollment"),
        "--trial-vectors": path("SCP"),
        "--utt2spk": {},
        "--distractors-spk2utt": path("F", "of the distractors"),
        "--gallery-sizes": value("N,N,...", _GALLERY_SIZES, type=sizes),
        "--scores": path("F", _FROM_SCORES),
        "--trials": path("F", "trial key of the scores"),
        "--ranks": path("F", "ranks of all jobs, merged; without vectors"),
        "--utt2dur": path("F", _UTT2DUR),
        "--plot": value("FILE", _PLOT, type=plot_file),
        "--by": BY,
        "--job": {"help": "job J of N, of a large gallery, for `merge` (default: all)"},
        "--out": {"help": "ranks of a --job, to write"},
    },
    "attributes": {
        "example": "--vectors original.scp --anon-vectors anonymized.scp --utt2spk utt2spk "
        "--labels speakers.csv:gender",
        "shared": "scp-base format allow-missing allow-pipes allow-outside",
        "kinds": (AttributeOptions,),
        "--vectors": path("SCP", "of original speech", required=True),
        "--anon-vectors": path("SCP", "of the same utterances, anonymized"),
        "--utt2spk": {"help": "speakers of the utterances", "required": True},
        "--labels": value("FILE:COLUMN", _LABELS, required=True),
        "--out": {"metavar": "CSV", "help": "the predictions"},
    },
}


def write_statement(arguments: argparse.Namespace) -> int:
    """Write the statement of `report --statement`."""
    from ..cli.inputs import report_sources
    from ..numbers.report_data import read_report_data
    from ..report.tables_and_report import Publication
    from . import statement
    from .evidence import read_evidence

    if arguments.out.suffix not in (".html", ".md"):
        raise UsageError(f"--out: {arguments.out}: expected a name that ends in .html or .md")
    evidence = [one for file in arguments.evidence for one in read_evidence(file)]
    data = read_report_data(report_sources(arguments))
    data = Publication(public=True).data(data, keep_key=False)  # it names nobody
    systems = len(data.results.systems)
    if not 1 <= systems <= statement.MOST_SYSTEMS:
        raise UsageError(
            f"--statement: about one to {statement.MOST_SYSTEMS} systems, not "
            f"{counted(systems, 'system')} (--system NAME)"
        )
    title = arguments.title or statement.statement_title(data)
    parts = statement.statement_parts(data, evidence)
    as_html = arguments.out.suffix == ".html"
    compose = statement.statement_html if as_html else statement.statement_markdown
    write_text(arguments.out, compose(title, parts))
    arguments.ending.append(str(arguments.out))
    return 0


#: Exit codes by decision; 2 also for an unreadable policy or results, and wrong usage.
EXIT = {"PASS": 0, "FAIL": 1, "ERROR": 2, "UNDECIDED": 3}


def run_gate(arguments: argparse.Namespace) -> int:
    """Print the verdict; anything that hinders it is exit code 2, never that of a decision."""
    try:
        return _run(arguments)
    except PrivacyEvalError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror or error}") from error


def _run(arguments: argparse.Namespace) -> int:
    from ..results.json_store import read_results
    from .gate import (
        combine,
        judge,
        read_policy,
        verdict_junit,
        verdict_markdown,
        verdict_text,
    )

    _remove_old(arguments)
    policy = read_policy(arguments.policy)
    results = read_results(arguments.results).confirm(arguments.confirm)
    if arguments.system is not None:
        results = results.selected([arguments.system])
    rules = judge(policy, results)
    decision = combine(rule.decision for rule in rules)
    if arguments.junit is not None:
        of = f"{printable(arguments.policy.stem)}: {abbreviate(results.systems)}"
        write_text(arguments.junit, verdict_junit(rules, of))
    if arguments.markdown is not None:
        write_text(arguments.markdown, verdict_markdown(rules))
    if arguments.format == "json":
        print_json({"decision": decision, "rules": [rule.to_dict() for rule in rules]})
    else:
        print(verdict_text(rules), end="")
    return EXIT[decision]


def _remove_old(arguments: argparse.Namespace) -> None:
    """Remove the files of an earlier run, so that none shows its verdict after an error."""
    inputs = {arguments.policy.resolve(), arguments.results.resolve()}
    for out in (arguments.junit, arguments.markdown):
        if out is not None and out.resolve() in inputs:
            raise UsageError(f"{out} is an input")
        if out is not None and out.is_file():
            out.unlink()


def run_identification(arguments: argparse.Namespace) -> Found | int:
    scores_only, ranks_only = arguments.scores is not None, arguments.ranks is not None
    if ranks_only:
        return _ranks(arguments)
    needed = ("trials utt2spk sentences" if scores_only else f"{_OF_VECTORS} utt2spk").split()
    missing = [f"--{name.replace('_', '-')}" for name in needed if not vars(arguments)[name]]
    if missing:
        arguments.usage_error(f"the following arguments are required: {', '.join(missing)}")
    return _scores(arguments) if scores_only else _files(arguments)


def _files(arguments: argparse.Namespace) -> Found | int:
    from ..asv.inputs import Gallery, load_enrollment
    from ..cli.inputs import load_model, load_vectors
    from .gallery_tests import GalleryTests
    from .identification import identified, write_ranks

    if arguments.job is not None and arguments.rank > 1:
        raise UsageError("--rank goes without --job; give it with --ranks, after `merge`")

    def gallery(vectors: str, spk2utt: str) -> Gallery:
        options = vars(arguments)
        return Gallery(
            load_vectors(arguments, Path(options[vectors])), load_enrollment(options[spk2utt])
        )

    more = arguments.distractors and gallery("distractors", "distractors_spk2utt")
    tests = GalleryTests(
        gallery("enroll_vectors", "spk2utt"),
        load_vectors(arguments, arguments.trial_vectors),
        arguments.utt2spk,
        arguments.backend,
        load_model(arguments),
        arguments.length,
        more,
        replicates=arguments.bootstrap,
        seed=arguments.seed,
    )
    galleries, drawn = arguments.gallery_sizes, (arguments.bootstrap, arguments.seed)
    ranks = tests.rank(galleries, arguments.job, progress())
    if arguments.job is not None:
        write_ranks(arguments.out, ranks)
        _log_ranks(arguments.out, ranks)
        return 0
    curve = _amount_of_vectors(arguments, tests)
    groups = _groups(arguments, tests)
    return _found(identified(ranks, galleries, arguments.rank, *drawn), curve, groups)


def _groups(arguments: argparse.Namespace, tests: GalleryTests) -> Groups:
    """Return the rates of groups of speakers in galleries of their own, with intervals if there is
    a bootstrap: of the whole one, and of one as large as the smallest."""
    plain = {}
    for labels in read_by(arguments.by or ()):
        group_of, without = tests.groups(labels)
        found = tests.identify_groups(group_of, arguments.rank)
        groups: dict[str, dict[str, Any]] = {}
        for name, rows in found.items():
            counts = {key: rows[0][key] for key in ("n_tests", "n_speakers", "n_enrolled")}
            groups[name] = {**counts, "equal_size": rows[0].get("gallery")}
            for key, row in (("linkage", rows[-1]), ("linkage_equal", rows[0])):
                groups[name][key] = row.get("value")
                if row.get("low") is not None:
                    groups[name][f"{key}_interval"] = row["low"], row["high"]
        plain[labels.column] = plain_groups(groups, labels, without)
    return plain


def _ranks(arguments: argparse.Namespace) -> Found:
    from .identification import identified, read_all_ranks

    ranks = read_all_ranks(arguments.ranks)
    with located(arguments.ranks):
        drawn = arguments.bootstrap, arguments.seed
        return _found(identified(ranks, arguments.gallery_sizes, arguments.rank, *drawn))


def merge_files(paths: Sequence[Path], out: Path) -> bool:
    """Add files of ranks; False if they hold none."""
    from .identification import holds_ranks, merge_ranks, read_ranks, write_ranks

    if not holds_ranks(paths[0]):
        return False
    ranks = merge_ranks({path: read_ranks(path) for path in paths})
    write_ranks(out, ranks)
    _log_ranks(out, ranks)
    return True


def _log_ranks(out: Path, ranks: RankedTests) -> None:
    """Log what a file of ranks holds."""
    done = f"jobs {len(ranks.done)} of {ranks.jobs}"
    log(f"privacy-eval: {out}: {counted(len(ranks.speaker), 'test')}, {done}")


def _found(
    attack: Identification, curve: AmountCurve | None = None, groups: Groups = MappingProxyType({})
) -> Found:
    from ..report.single_files import Found, number_table

    plain: dict[str, Any] = {
        "n_tests": len(attack.speaker),
        "n_test_speakers": len(attack.test_speakers),
        "n_enrolled": attack.n_enrolled,
        "n_distractors": attack.n_distractors,
        "not_enrolled": len(attack.not_enrolled),
        "utterances_left_out": attack.utterances_left_out,
        "sizes": attack.sizes,
        "linkage": attack.linkage.tolist(),
        "chance": attack.chance.tolist(),
        "tied": attack.ties,
        "caveats": attack.notes,
    }
    plain |= {"speakers_size": attack.speakers_size, "speakers": attack.speakers()}
    plain["named_instead"] = attack.instead
    singled = attack.singling_out
    plain["singling_out"] = {**to_plain(singled), "chance": singled.chance()}
    if attack.bounds:
        plain["intervals"] = attack.bounds
    rows = attack.to_rows()
    tables = [number_table("identification", attack.heading, rows, attack.notes)]
    if curve:
        plain |= _plain_amounts(curve)
        rows += curve.to_rows()
        tables.append(_amount_table(curve, "vectors"))
    if groups:
        plain["groups"] = groups
        rates = {"linkage": "n_enrolled", "linkage_equal": "equal_size"}
        rows += group_rows(groups, rates)
        note = "compare groups by galleries of the same size, that of the smallest group"
        tables += group_tables(groups, rates, note)
    return Found(plain, rows, tables)


def _amount_of_vectors(arguments: argparse.Namespace, tests: GalleryTests) -> AmountCurve | None:
    """Compute and plot the curve over the amount of speech, if it was asked for."""
    if not arguments.sentences:
        return None
    known = _known(arguments, tests.gallery.enrollment.members)
    curve = tests.amounts(arguments.sentences, known=known)
    _plot(arguments, curve)
    return curve


def _known(
    arguments: argparse.Namespace, enrolled: Mapping[str, Sequence[str]] | None = None
) -> KnownSpeech:
    """Read what else is known of the test utterances."""
    from ..io.data_dir import read_utt2dur, read_utt2spk
    from .gallery_tests import KnownSpeech

    speaker_of = read_utt2spk(arguments.utt2spk)
    members = {u: speaker for speaker, of in (enrolled or {}).items() for u in of}
    path = arguments.utt2dur
    seconds = {} if path is None else read_utt2dur(path, speaker_of)
    return KnownSpeech(seconds, sessions_of({**members, **speaker_of}))


def _scores(arguments: argparse.Namespace) -> Found:
    from ..io.scores import read_scores, read_trials, with_speakers
    from ..metrics.pairing import pair
    from ..report.single_files import Found
    from .amount import amounts

    trials = pair(read_scores(arguments.scores), read_trials(arguments.trials))
    with located(arguments.scores):
        trials = _known(arguments).beside(with_speakers(trials, arguments.utt2spk))
        drawn = {"bootstrap": arguments.bootstrap, "seed": arguments.seed}
        curve = amounts(trials, arguments.sentences, **drawn)
    _plot(arguments, curve)
    return Found(_plain_amounts(curve), curve.to_rows(), [_amount_table(curve, "scores")])


def _plot(arguments: argparse.Namespace, curve: AmountCurve) -> None:
    if arguments.plot is None:
        return
    from ..report.figures.drawing import Drawing, write
    from ..results.measurements import Measurements
    from .figures import amount_plot
    from .numbers import by_length

    file: Path = arguments.plot
    rows = by_length(Measurements.of(curve.to_rows()), speakers="equal")
    drawing = Drawing(file.stem, "Error rates by the amount of speech.", amount_plot({"": rows}))
    write(drawing, file.parent, [file.suffix[1:]])


def _plain_amounts(curve: AmountCurve) -> dict[str, object]:
    """Plain values: with all speakers at each length, with the same ones at all lengths, and, where
    sessions are known, of tests within one session beside all tests of the same speakers."""
    names = ("conversations", "speakers", "eer", "rank1")
    intervals = (*names, "eer_interval", "rank1_interval", "seconds")

    def values(amounts: Sequence[Amount], names: Sequence[str]) -> dict[str, dict[str, object]]:
        return {str(a.length): {n: getattr(a, n) for n in names} for a in amounts}

    plain: dict[str, object] = {
        "amount": values(curve.all, names),
        "amount_of_equal_speakers": values(curve.equal, intervals),
    }
    if curve.one_session:
        plain["amount_of_one_session"] = values(curve.one_session, intervals)
        plain["amount_of_any_session"] = values(curve.any_session, intervals)
    return plain


def _amount_table(curve: AmountCurve, averaged: str) -> Table:
    from ..report.single_files import table_of

    return table_of("amount", curve, f"Error rates by the amount of speech ({averaged} averaged)")


#: What each situation is, for the text.
_TITLES = {
    "orig_to_orig": "original speech (what there is to protect)",
    "orig_to_anon": "anonymized speech, classifier of original (ignorant attacker)",
    "anon_to_anon": "anonymized speech, classifier of anonymized (informed attacker)",
}


def run_attributes(arguments: argparse.Namespace) -> Found:
    from ..cli.inputs import load_vectors
    from ..io.data_dir import read_utt2spk
    from ..report.single_files import Found, number_table
    from .attributes import infer_attribute, reported_situation

    if arguments.folds < 2:
        raise UsageError("--folds must be at least 2")
    if not arguments.bootstrap:
        raise UsageError("--bootstrap must be at least 2")
    (labels,) = read_by([arguments.labels])
    utt2spk = read_utt2spk(arguments.utt2spk)
    files = [arguments.vectors, *filter(None, [arguments.anon_vectors])]
    vectors = [load_vectors(arguments, file) for file in files]
    label_of = labels.of_speakers(utt2spk)
    if unlabelled := len(set(utt2spk.values())) - len(label_of):
        log(f"privacy-eval: left out {unlabelled} speakers without {labels.column}")
    utterances = _utterances(arguments, vectors, utt2spk, label_of)
    speakers = [utt2spk[utterance] for utterance in utterances]
    matrices = [v.matrix[v.rows(utterances, str(arguments.utt2spk))] for v in vectors]
    for each in vectors:
        each.warn_if_equal(utterances)
    with located(arguments.labels):
        results = infer_attribute(
            matrices[0],
            [label_of[speaker] for speaker in speakers],
            speakers,
            anonymized=matrices[1] if len(matrices) > 1 else None,
            folds=arguments.folds,
            bootstrap=arguments.bootstrap,
            seed=arguments.seed,
        )
    if arguments.out:
        _write_predictions(arguments, results, utterances, label_of, utt2spk)
    for note in results.notes:
        log(f"privacy-eval: {note}")
    reported = reported_situation(results)
    titles = {**_TITLES, reported: f"{_TITLES[reported]}, reported"}
    rows = [{**row, "situation": titles[row["situation"]]} for row in results.to_rows()]
    caption = f"{labels.column}: {len(utterances)} utterances of {results.heading}"
    table = number_table("attributes", caption, rows)
    return Found({**_plain_attributes(results), "reported": reported}, results.to_rows(), [table])


def _utterances(
    arguments: argparse.Namespace,
    vectors: Sequence[Vectors],
    utt2spk: Mapping[str, str],
    label_of: Mapping[str, str],
) -> list[str]:
    """List the utterances of labelled speakers; with `--allow-missing` those with all vectors."""
    utterances = [name for name, speaker in utt2spk.items() if speaker in label_of]
    if arguments.allow_missing:
        there = [name for name in utterances if all(name in v for v in vectors)]
        if len(there) < len(utterances):
            log(f"privacy-eval: left out {len(utterances) - len(there)} utterances without vectors")
        utterances = there
    if not utterances:
        raise PrivacyEvalError(f"{arguments.utt2spk}: no utterance has a label and vectors")
    return utterances


def _plain_attributes(results: Mapping[str, AttributeInference]) -> dict[str, dict[str, object]]:
    return {
        name: {
            "uar": result.uar,
            "interval": list(result.interval),
            "bits": result.bits,
            "risk": result.risk["value"],
            "risk_interval": [result.risk["low"], result.risk["high"]],
        }
        for name, result in results.items()
    }


def _write_predictions(
    arguments: argparse.Namespace,
    results: Mapping[str, AttributeInference],
    utterances: Sequence[str],
    label_of: Mapping[str, str],
    utt2spk: Mapping[str, str],
) -> None:
    """Write the prediction of each utterance in each situation."""

    rows: list[tuple[object, ...]] = [("set", "utterance", "speaker", "reference", "prediction")]
    for name, result in results.items():
        for utterance, prediction in zip(utterances, result.predictions.tolist(), strict=True):
            speaker = utt2spk[utterance]
            rows.append((name, utterance, speaker, label_of[speaker], prediction))
    write_text(arguments.out, csv_text(rows))
