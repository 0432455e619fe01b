"""text-scores: scores of trials from the words that are spoken."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import UsageError, abbreviate, located
from .options import log, path, positive, value

EXAMPLE = (
    "--enrollment data/libri_test_enrolls --trial data/libri_test_trials_f "
    "--trials data/libri_test_trials_f/trials --out words_f"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    enrolled = "data folder with text and spk2utt, and enrolls if only these are enrolled"
    parser.add_argument("--enrollment", required=True, **path("DIR", enrolled))
    parser.add_argument("--trial", required=True, **path("DIR", "data folder with text"))
    parser.add_argument("--trials", required=True, **path("F", "trial list or key"))
    joined = (
        "join L utterances of a session (the id without its last part); their trials go to "
        "OUT.trials, their members to OUT.joined"
    )
    parser.add_argument("--utterances", **value("L", joined, type=positive))
    parser.add_argument("--out", required=True, **path("F", "score file"))


def run(arguments: argparse.Namespace) -> int:
    """Score the trials; log what the scores do not say."""
    from ..asv.inputs import load_enrollment
    from ..attackers.words import words_of_trials
    from ..io.files import write_text
    from ..io.scores import format_scores
    from ..metrics.trials import Trials

    enrolls = arguments.enrollment / "enrolls"
    enrolls = enrolls if enrolls.is_file() else None
    enrollment = load_enrollment(arguments.enrollment / "spk2utt", enrolls).members
    speakers, names, members, beside = _trials(arguments)
    enrolled_texts = _texts(arguments.enrollment / "text", enrollment, "enrolled speakers")
    trial_texts = _texts(arguments.trial / "text", members, "trial utterances")
    with located(f"{arguments.enrollment}, {arguments.trial}"):
        of_trials = words_of_trials(enrolled_texts, trial_texts, speakers, names)
    for file, text in beside.items():
        write_text(file, text)
    scored = Trials(enrolled=speakers, utterance=names, score=of_trials)
    write_text(arguments.out, format_scores(scored))
    _log_overlap(speakers, [members[n][0] for n in names], members, enrollment)
    return 0


def _trials(
    arguments: argparse.Namespace,
) -> tuple[list[str], list[str], Mapping[str, tuple[str, ...]], dict[Path, str]]:
    """Return enrolled speaker and name of each trial, the utterances of each name, and the texts
    of the files to write beside the scores."""
    from ..attackers.words import join_trials
    from ..io.scores import read_trial_list, read_trials

    if arguments.utterances is None:
        trials = read_trial_list(arguments.trials)
        names = trials.utterance.tolist()
        return trials.enrolled.tolist(), names, {name: (name,) for name in names}, {}
    files = [
        arguments.out.with_name(f"{arguments.out.name}.{kind}") for kind in ("trials", "joined")
    ]
    if arguments.trials.resolve() in [file.resolve() for file in files]:
        raise UsageError(f"--out {arguments.out} would overwrite {arguments.trials}")
    key = read_trials(arguments.trials)
    with located(arguments.trials):
        joined, members = join_trials(key, arguments.utterances)
    speakers, names = joined.enrolled.tolist(), joined.utterance.tolist()
    labels = ("target" if target else "nontarget" for target in joined.is_target)
    lines = zip(speakers, names, labels, strict=True)
    texts = (
        "".join(f"{speaker} {name} {label}\n" for speaker, name, label in lines),
        "".join(f"{name} {' '.join(of)}\n" for name, of in members.items()),
    )
    return speakers, names, members, dict(zip(files, texts, strict=True))


def _texts(path: Path, groups: Mapping[str, Iterable[str]], what: str) -> dict[str, str]:
    """Join the transcripts of each group; log how many groups have no words."""
    from ..io.transcripts import joined_transcripts

    texts = joined_transcripts(path, groups)
    empty = [name for name, text in texts.items() if not text.strip()]
    if empty and len(empty) < len(texts):
        log(
            f"privacy-eval: warning: {path}: {len(empty)} of {len(texts)} {what} have no words: "
            f"{abbreviate(empty)}"
        )
    return texts


def _log_overlap(
    speakers: list[str],
    first: list[str],
    members: Mapping[str, tuple[str, ...]],
    enrollment: Mapping[str, tuple[str, ...]],
) -> None:
    """Log what the trials share with the enrollment: whole utterances, or sessions."""
    from ..attackers.words import session_is_enrolled

    enrolled = {utterance for of_speaker in enrollment.values() for utterance in of_speaker}
    both = sorted({u for of_trial in members.values() for u in of_trial} & enrolled)
    if both:
        log(
            f"privacy-eval: warning: {len(both)} trial utterances are enrolled, too: "
            f"{abbreviate(both)}"
        )
    same = int(session_is_enrolled(speakers, first, enrollment).sum())
    if same:
        log(
            f"privacy-eval: {same} of {len(speakers)} trials are of a session that their speaker "
            "enrolled, whose subject tells words apart, too"
        )
