"""attributes: what vectors of a tree, or of single files, give away about gender or another
attribute of speakers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..choices import ATTRIBUTE_FOLDS
from ..errors import PrivacyEvalError, UsageError, located
from .group_options import read_by
from .options import (
    JOBS,
    add,
    add_tree,
    fill,
    log,
    path,
    positive,
    print_json,
    runs_as_stage,
    two_usages,
    value,
)

if TYPE_CHECKING:
    from ..attackers.attributes import AttributeInference
    from ..io.scp import Vectors

EXAMPLE = (
    "--vectors original.scp --anon-vectors anonymized.scp --utt2spk data/libri_test/utt2spk "
    "--labels speakers.csv:gender"
)

#: Bootstrap replicates by default, and over a tree where the recipe has none.
_REPLICATES = 1000
_BOOTSTRAP = "95 %% intervals from N bootstrap replicates of speakers; default: 1000"

#: What each situation is, for the text.
_TITLES = {
    "orig_to_orig": "original speech (what there is to protect)",
    "orig_to_anon": "anonymized speech, classifier of original (ignorant attacker)",
    "anon_to_anon": "anonymized speech, classifier of anonymized (informed attacker)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    stage, files = two_usages(parser)
    add_tree(stage, common=parser)
    add(stage, *JOBS, "--isolate", "--details")
    of_tree = "gender, or a column of a CSV in the tree; default: those of the protocol, if any"
    names = value("FILE:COLUMN", of_tree, action="append", default=[])
    stage.add_argument("--attribute", **names)
    files.add_argument("--vectors", required=True, **path("SCP", "of original speech"))
    files.add_argument("--anon-vectors", **path("SCP", "of the same utterances, anonymized"))
    add(files, "--utt2spk", required=True, help="speakers of the utterances")
    labels = "table of speakers or utterances, and its column; or spk2gender"
    files.add_argument("--labels", required=True, **value("FILE:COLUMN", labels))
    folds = f"of speakers, who are never in training and test; default: {ATTRIBUTE_FOLDS}"
    parser.add_argument("--folds", **value("N", folds, type=positive, default=ATTRIBUTE_FOLDS))
    out = "folder, by default RESULTS/privacy_eval; on single files, a CSV of the predictions"
    parser.add_argument("--out", **path("PATH", out))
    add(parser, "--bootstrap", default=_REPLICATES, help=_BOOTSTRAP)
    add(parser, "--seed", "--allow-missing", "--allow-pipes")
    add(files, "--scp-base", "--format")


def run(arguments: argparse.Namespace) -> int:
    if arguments.folds < 2:
        raise UsageError("--folds must be at least 2")
    return _stage(arguments) if runs_as_stage(arguments) else _files(arguments)


def _stage(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol

    labels = arguments.attribute or load_protocol(arguments.conf, base=arguments.tree).attributes
    if not labels:
        return 0  # nothing was asked for
    from ..stages.disclosure import AttributeOptions, plan_attributes
    from .inputs import load_experiment, log_if_no_vectors, log_notes, report_outcome, run_settings

    experiment = load_experiment(arguments, warn=False)
    if log_if_no_vectors(experiment.asv, "attributes"):
        return 0
    log_notes(experiment.asv.notes)
    replicates = arguments.bootstrap or _REPLICATES
    options = [fill(AttributeOptions, arguments, bootstrap=replicates, labels=n) for n in labels]
    planned = plan_attributes(experiment, options)
    outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
    return report_outcome(arguments, outcome, "attributes", "computed")


def _files(arguments: argparse.Namespace) -> int:
    from ..attackers.attributes import infer_attribute, reported_situation
    from ..io.data_dir import read_utt2spk
    from .inputs import load_vectors

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
    if arguments.format == "json":
        print_json({**_plain(results), "reported": reported})
    else:
        print(f"{labels.column}: {len(utterances)} utterances of {results.heading}")
        _print_text(results, reported)
    return 0


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


def _plain(results: Mapping[str, AttributeInference]) -> dict[str, dict[str, object]]:
    return {
        name: {
            "uar": result.uar,
            "interval": list(result.interval),
            "bits": result.bits,
            "risk": result.risk.value,
            "risk_interval": [result.risk.low, result.risk.high],
        }
        for name, result in results.items()
    }


def _print_text(results: Mapping[str, AttributeInference], reported: str) -> None:
    for name, result in results.items():
        (low, high), risk = result.interval, result.risk
        print(
            f"{_TITLES[name]}: UAR {result.uar:.1%}, {low:.1%} .. {high:.1%}; "
            f"{result.bits:.3f} bit; risk per speaker {risk.value:.2f}, "
            f"{risk.low:.2f} .. {risk.high:.2f}" + (" (reported)" if name == reported else "")
        )


def _write_predictions(
    arguments: argparse.Namespace,
    results: Mapping[str, AttributeInference],
    utterances: Sequence[str],
    label_of: Mapping[str, str],
    utt2spk: Mapping[str, str],
) -> None:
    """Write the prediction of each utterance in each situation."""
    from ..io.csv_text import csv_text
    from ..io.files import write_text

    rows: list[tuple[object, ...]] = [("set", "utterance", "speaker", "reference", "prediction")]
    for name, result in results.items():
        for utterance, prediction in zip(utterances, result.predictions.tolist(), strict=True):
            speaker = utt2spk[utterance]
            rows.append((name, utterance, speaker, label_of[speaker], prediction))
    write_text(arguments.out, csv_text(rows))
