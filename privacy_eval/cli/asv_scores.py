"""The verbs score and score-tree: scores of trials from x-vectors."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..asv.trials import load_enrollment, score_trials
from ..io.files import write_text
from ..io.scores import read_trial_list
from ..protocol.protocol import load_protocol
from ..stages.asv_scores import BACKEND, VECTORS, make_scores, missing_vectors
from .options import (
    IN_PLACE,
    Verbs,
    add_finishing,
    add_missing,
    add_model,
    add_pipes,
    add_reading,
    add_tree,
    load_model,
    log,
    place_of,
    progress,
    read_vectors_of,
    report_outcome,
    targets_of,
)


def add_verbs(verbs: Verbs) -> None:
    """The verbs of scores."""
    score = verbs.add_parser("score", help="scores of trials from x-vectors")
    score.set_defaults(verb=_score)
    add_model(score)
    score.add_argument("--enroll-vectors", required=True, type=Path, metavar="SCP")
    score.add_argument("--spk2utt", required=True, type=Path, metavar="F", help="of the enrollment")
    score.add_argument("--enrolls", type=Path, metavar="F", help="enroll only these utterances")
    score.add_argument("--trial-vectors", required=True, type=Path, metavar="SCP")
    score.add_argument("--trials", required=True, type=Path, metavar="F")
    score.add_argument("--out", required=True, type=Path, metavar="F", help="the score file")
    add_reading(score)
    add_missing(score)
    score_tree = verbs.add_parser("score-tree", help="scores of every condition of a tree")
    score_tree.set_defaults(verb=_score_tree)
    add_tree(score_tree)
    add_pipes(score_tree)
    add_missing(score_tree)
    add_finishing(score_tree)
    score_tree.add_argument(
        "--missing-vectors",
        action="store_true",
        help="only list data sets without x-vectors, each with the model folder they go into",
    )


def _score(arguments: argparse.Namespace) -> int:
    model = load_model(arguments)
    scored = score_trials(
        read_vectors_of(arguments, arguments.enroll_vectors),
        load_enrollment(arguments.spk2utt, arguments.enrolls),
        read_vectors_of(arguments, arguments.trial_vectors),
        read_trial_list(arguments.trials),
        backend=arguments.backend,
        model=model,
        allow_missing=arguments.allow_missing,
    )
    write_text(arguments.out, scored.text())
    if scored.trials_left_out or scored.enrollment_left_out:
        log(
            f"privacy-eval: left out {scored.trials_left_out} trials and "
            f"{scored.enrollment_left_out} enrollment utterances without x-vectors"
        )
    return 0


def _score_tree(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.conf, base=arguments.tree)
    targets, notes = targets_of(arguments, protocol)
    if arguments.missing_vectors:
        for name, folder in missing_vectors(targets, place_of(arguments), protocol):
            print(name, folder)
        return 0
    for note in notes:
        log(f"privacy-eval: {note}")
    outcome = make_scores(
        targets,
        place_of(arguments),
        protocol,
        job=arguments.job or (1, 1),
        progress=progress(),
    )
    report_outcome(outcome, "score files", IN_PLACE if arguments.after_jobs else "made")
    kinds = {kind for kind, _ in outcome.lacking.values()}
    if VECTORS in kinds:
        log(
            "privacy-eval: x-vectors come from Kaldi's extractor: stage 5 of the recipe runs it on "
            "sets with a wav.scp where KALDI_ROOT is set; or put an xvector.scp where it says"
        )
    needed = any(kind.startswith((VECTORS, BACKEND)) for kind in kinds)
    if needed and not arguments.allow_missing:
        log("privacy-eval: goes on without them with --allow-missing")
    return 1 if outcome.failed or (needed and not arguments.allow_missing) else 0
