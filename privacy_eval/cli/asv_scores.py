"""asv-scores: speaker verification scores from x-vectors."""

from __future__ import annotations

import argparse

from .options import JOBS, add, add_tree, log, path, runs_as_stage, two_usages

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one trial list."""
    stage, files = two_usages(parser, needed="--out")
    add_tree(stage, common=parser)
    add(parser, "--out", help="score file; not needed over a tree")
    add(parser, "--allow-missing", "--allow-pipes")
    add(stage, *JOBS, "--isolate", "--details")
    add(files, "--model", "--backend", "--scp-base")
    files.add_argument("--enroll-vectors", required=True, **path("SCP"))
    files.add_argument("--spk2utt", required=True, **path("F", "of the enrollment"))
    files.add_argument("--enrolls", **path("F", "enroll only these utterances"))
    files.add_argument("--trial-vectors", required=True, **path("SCP"))
    files.add_argument("--trials", required=True, **path("F", "trial list or key"))


def run(arguments: argparse.Namespace) -> int:
    stage = runs_as_stage(arguments)
    return _stage(arguments) if stage else _files(arguments)


def _files(arguments: argparse.Namespace) -> int:
    from ..asv.trials import load_enrollment, score_trials
    from ..io.files import write_text
    from ..io.scores import read_trial_list
    from .inputs import load_model, load_vectors

    model = load_model(arguments)
    scored = score_trials(
        load_vectors(arguments, arguments.enroll_vectors),
        load_enrollment(arguments.spk2utt, arguments.enrolls),
        load_vectors(arguments, arguments.trial_vectors),
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


def _stage(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..stages.access import BACKEND, VECTORS
    from ..stages.asv_scores import make_scores
    from ..tree.discovery import suffix_hint
    from .inputs import (
        load_asv_systems,
        log_if_not_applicable,
        log_notes,
        report_outcome,
        run_settings,
    )

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    if log_if_not_applicable(protocol, "scoring of x-vectors"):
        return 0
    asv = load_asv_systems(arguments, protocol)
    log_notes(asv.notes)
    outcome = make_scores(asv, run_settings(arguments))
    code = report_outcome(arguments, outcome, "score files")
    if outcome.missing and (hint := suffix_hint(arguments.tree, protocol, asv.suffixes)):
        log(f"privacy-eval: {hint}")
    kinds = {error.kind for error in outcome.missing.values()}
    if VECTORS in kinds:
        log(
            "privacy-eval: stage 5 of the recipe extracts x-vectors of sets with a wav.scp, using "
            "final.raw of the model folder (stage 1 prints where to get it); or provide "
            "xvector.scp at the path listed above"
        )
    needed = any(kind.startswith((VECTORS, BACKEND)) for kind in kinds)
    if needed and not arguments.allow_missing:
        log("privacy-eval: --allow-missing continues without them")
    return 1 if needed and not arguments.allow_missing else code
