"""fuse-scores: log-likelihood ratios from the scores of several attackers."""

from __future__ import annotations

import argparse

from ..choices import FOLDS, LEAST_FOLDS
from ..errors import UsageError, located
from .options import add, path, positive, value

EXAMPLE = (
    "--scores voice --scores words --trials data/libri_test_trials/trials "
    "--utt2spk data/libri_test_trials/utt2spk --out fused"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    scores = path("F", "scores of an attacker; to be repeated", action="append", required=True)
    parser.add_argument("--scores", **scores)
    parser.add_argument("--trials", required=True, **path("F", "trial key"))
    add(parser, "--utt2spk", required=True)
    folds = (
        f"of speakers, who are never scored by a model that was trained on them; default: {FOLDS}"
    )
    parser.add_argument("--folds", **value("N", folds, type=positive, default=FOLDS))
    parser.add_argument("--out", required=True, **path("F", "score file"))


def run(arguments: argparse.Namespace) -> int:
    from ..attackers.fusion import fuse_scores
    from ..io.files import write_text
    from ..io.scores import format_scores, read_scores, read_trials, with_speakers
    from ..metrics.pairing import score_table

    if arguments.folds < LEAST_FOLDS:
        raise UsageError(f"--folds: at least {LEAST_FOLDS} are needed, not {arguments.folds}")
    files = [read_scores(file) for file in arguments.scores]
    trials = read_trials(arguments.trials)
    table, known = score_table(files, trials), with_speakers(trials, arguments.utt2spk)
    speakers = known.enrolled_speaker.tolist(), known.trial_speaker.tolist()
    names, folds = [str(file) for file in arguments.scores], arguments.folds
    with located(", ".join(names)):
        fused = fuse_scores(table, trials.is_target, *speakers, folds=folds, attackers=names)
    write_text(arguments.out, format_scores(trials.with_columns(score=fused)))
    return 0
