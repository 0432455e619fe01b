"""Verbs of attackers on single files: scores of vectors and of words, several of them fused."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import ALIGNMENTS, FOLDS, LEAST_FOLDS
from ..cli.options import Options, log
from ..errors import UsageError, abbreviate, located
from ..io.files import write_text
from ..options import choice, flag, path, positive, value

if TYPE_CHECKING:
    from ..asv.inputs import Enrollment
    from ..asv.trials import Scorer
    from ..io.vectors import Vectors
    from ..metrics.trials import Trials
    from .alignment import Alignment, Cohorts

_ALIGN = "map enrollment to trial vectors of unit length, as learnt from pairs"
_STANDARDIZE = "each side by the vectors of its listed utterances: mean 0, deviation 1"
_CROPS = (
    "vectors of crops of training speech: compare by the discriminant learnt from them; repeatable"
)
_ENROLLED = "data folder with text and spk2utt, and enrolls if only these are enrolled"
_JOINED = (
    "join L utterances of a session (the id without its last part); trials: OUT.trials, "
    "members: OUT.joined"
)
_FUSED = "scores of an attacker; to be repeated"
_FOLDS = f"of speakers: no model scores the speakers it was trained on; default: {FOLDS}"

_ALONE = "--standardize and --lda go with --backend cosine, without --align"
_COHORT = "cohort cohort_anonymized cohort_spk2utt"
_NORMALIZES = "score normalization needs --cohort, --cohort-anonymized, --cohort-spk2utt"

VERBS: dict[str, Options] = {
    "asv-scores": {
        "example": "--backend cosine --enroll-vectors e.scp --spk2utt spk2utt "
        "--trial-vectors t.scp --trials trials --out scores",
        "shared": "model backend scp-base allow-missing allow-pipes allow-outside",
        "rules": (
            ("lda_utt2spk lda_dim lda_ridge", "lda", "{} goes with --lda"),
            ("lda", "lda_utt2spk", "{} needs --lda-utt2spk"),
            ("lda standardize", "!align", _ALONE),
            (f"align_from align_to {_COHORT} top", "align", "{} goes with --align"),
            (f"{_COHORT} top", _COHORT, _NORMALIZES),
        ),
        "--enroll-vectors": path("SCP", required=True),
        "--spk2utt": path("F", "of the enrollment", required=True),
        "--enrolls": path("F", "enroll only these utterances"),
        "--trial-vectors": path("SCP", required=True),
        "--trials": path("F", "trial list or key", required=True),
        "--out": {"help": "score file", "required": True},
        "--align": choice(ALIGNMENTS, _ALIGN),
        "--align-from": path("SCP", "original vectors of training speech"),
        "--align-to": path("SCP", "anonymized vectors of the same utterances"),
        "--cohort": path("SCP", "original vectors for S-norm, or AS-norm by --top"),
        "--cohort-anonymized": path("SCP", "anonymized vectors for it"),
        "--cohort-spk2utt": path("F", "of both"),
        "--top": value("N", "normalize by the N largest scores with the cohort", type=positive),
        "--standardize": flag(_STANDARDIZE),
        "--lda": path("SCP", _CROPS, action="append", default=[]),
        "--lda-utt2spk": path("F", "speakers of all crops"),
        "--lda-dim": {"metavar": "K", "help": "at most"},
        "--lda-ridge": value("R", "of --lda: default 0.1", type=float),
    },
    "text-scores": {
        "example": "--enrollment data/libri_test_enrolls --trial data/libri_test_trials_f "
        "--trials data/libri_test_trials_f/trials --out words_f",
        "--enrollment": path("DIR", _ENROLLED, required=True),
        "--trial": path("DIR", "data folder with text", required=True),
        "--trials": path("F", "trial list or key", required=True),
        "--utterances": value("L", _JOINED, type=positive),
        "--out": {"metavar": "F", "help": "score file", "required": True},
    },
    "fuse-scores": {
        "example": "--scores voice --scores words --trials data/libri_test_trials/trials "
        "--utt2spk data/libri_test_trials/utt2spk --out fused",
        "--scores": path("F", _FUSED, action="append", required=True),
        "--trials": path("F", "trial key", required=True),
        "--utt2spk": {"required": True},
        "--folds": value("N", _FOLDS, type=positive, default=FOLDS),
        "--out": {"metavar": "F", "help": "score file", "required": True},
    },
}


def run_asv_scores(arguments: argparse.Namespace) -> int:
    from ..asv.inputs import load_enrollment
    from ..asv.trials import score_trials
    from ..cli.inputs import load_model, load_vectors
    from ..io.scores import format_scores, read_trial_list

    _check_alignment(arguments)
    learns = bool(arguments.lda) or arguments.standardize
    aligned = arguments.align is not None
    enrollment = load_enrollment(arguments.spk2utt, arguments.enrolls)
    trials = read_trial_list(arguments.trials)
    enrolled, tried = (
        load_vectors(arguments, path, double=aligned or learns)
        for path in (arguments.enroll_vectors, arguments.trial_vectors)
    )
    if learns:
        enrolled, tried = _mapped(arguments, enrollment, trials, enrolled, tried)
    scored, left_out, remarks = score_trials(
        enrolled,
        enrollment,
        tried,
        trials,
        backend=_aligned(arguments, enrollment, trials) if aligned or learns else arguments.backend,
        model=None if aligned or learns else load_model(arguments),
        allow_missing=arguments.allow_missing,
    )
    write_text(arguments.out, format_scores(scored))
    for text in filter(None, (*remarks, left_out)):
        log(f"privacy-eval: {text}")
    return 0


def _check_alignment(arguments: argparse.Namespace) -> None:
    """Refuse what rules cannot say."""
    if arguments.backend != "cosine" and (arguments.lda or arguments.standardize):
        raise UsageError(_ALONE)
    if arguments.align is not None and arguments.backend != "cosine":
        raise UsageError("--align goes with --backend cosine")
    if arguments.align not in (None, "none") and not (arguments.align_from and arguments.align_to):
        raise UsageError(f"--align {arguments.align} needs --align-from, --align-to")


def _aligned(arguments: argparse.Namespace, enrollment: Enrollment, trials: Trials) -> Scorer:
    """Score by the cosine of aligned vectors, normalized if there is a cohort."""
    from .aligned_scores import aligned_scorer
    from .alignment import Alignment

    if arguments.align is None:
        return aligned_scorer(Alignment(), None)
    alignment = _learn(arguments, enrollment, trials)
    return aligned_scorer(alignment, _cohorts(arguments, enrollment, trials))


def _mapped(
    arguments: argparse.Namespace,
    enrollment: Enrollment,
    trials: Trials,
    enrolled: Vectors,
    tried: Vectors,
) -> tuple[Vectors, Vectors]:
    """Return the vectors of both sides, standardized and as a discriminant sees them."""
    from ..asv.shared_speech import training_remarks
    from ..cli.inputs import load_vectors
    from ..io.data_dir import speakers_of_crops
    from .discriminant import compared_sides, learn_lda, other_conditions

    learnt, remarks, standardize = None, list[str](), arguments.standardize
    if arguments.lda:
        utt2spk: Path = arguments.lda_utt2spk
        sets = [load_vectors(arguments, path, double=True) for path in arguments.lda]
        speaker_of = speakers_of_crops(utt2spk, (u for of in sets for u in of.ids))
        _refuse_shared(utt2spk, speaker_of, enrollment, trials)
        options = {"dimensions": arguments.lda_dim, "ridge": arguments.lda_ridge}
        given = {name: value for name, value in options.items() if value is not None}
        learnt = learn_lda(sets, speaker_of, f"{utt2spk}", standardize=standardize, **given)
        remarks = training_remarks(speaker_of.values(), f"{utt2spk}")
    first, second, more = compared_sides(
        enrolled,
        enrollment.members,
        tried,
        trials,
        standardize=standardize,
        learnt=learnt,
        allow_missing=arguments.allow_missing,
    )
    if arguments.lda and not standardize:
        remarks += other_conditions(sets[-1], speaker_of, tried, trials, f"{utt2spk}")
    for text in (*remarks, *more):
        log(f"privacy-eval: {text}")
    return first, second


def _learn(arguments: argparse.Namespace, enrollment: Enrollment, trials: Trials) -> Alignment:
    """Learn the alignment from the utterances that both sides have."""
    from ..cli.inputs import load_vectors
    from ..io.data_dir import read_spk2utt
    from .alignment import Alignment, describe_pairs, learn_alignment, pairs_of

    if arguments.align == "none":
        return Alignment()
    original = load_vectors(arguments, arguments.align_from, double=True)
    anonymized = load_vectors(arguments, arguments.align_to, double=True)
    pairs = pairs_of(original, anonymized)
    speakers: dict[str, str] = {}
    if arguments.cohort_spk2utt is not None:
        members = read_spk2utt(arguments.cohort_spk2utt)
        speakers = {u: speaker for speaker, of_speaker in members.items() for u in of_speaker}
    _refuse_shared(arguments.align_from, {u: speakers.get(u) for u in pairs}, enrollment, trials)
    where = f"{original.path}, {anonymized.path}"
    for remark in describe_pairs(arguments.align, original, anonymized, pairs, where):
        log(f"privacy-eval: {remark}")
    return learn_alignment(arguments.align, original, anonymized, pairs)


def _cohorts(
    arguments: argparse.Namespace, enrollment: Enrollment, trials: Trials
) -> Cohorts | None:
    """Return the mean vectors of the training speakers that scores are normalized by."""
    from ..cli.inputs import load_vectors
    from ..io.data_dir import read_spk2utt
    from .alignment import learn_cohorts

    if arguments.cohort is None:
        return None
    spk2utt: Path = arguments.cohort_spk2utt
    members = read_spk2utt(spk2utt)
    _refuse_shared(spk2utt, {u: s for s, us in members.items() for u in us}, enrollment, trials)
    if arguments.top is not None and arguments.top > len(members):
        log(
            f"privacy-eval: warning: {spk2utt}: --top {arguments.top} is more than the "
            f"{len(members)} speakers of the cohort: all of them count"
        )
    original = load_vectors(arguments, arguments.cohort, double=True)
    anonymized = load_vectors(arguments, arguments.cohort_anonymized, double=True)
    return learn_cohorts(members, original, anonymized, arguments.top, f"{spk2utt}")


def _refuse_shared(
    path: Path, training: Mapping[str, str | None], enrollment: Enrollment, trials: Trials
) -> None:
    from ..asv.shared_speech import refuse_shared

    refuse_shared(path, training, enrollment.members, trials.utterance.used)


def run_text_scores(arguments: argparse.Namespace) -> int:
    """Score the trials; log what the scores do not say."""
    from ..asv.inputs import load_enrollment
    from ..io.scores import format_scores
    from ..metrics.trials import Trials
    from .words import words_of_trials

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
    from ..io.scores import read_trial_list, read_trials
    from .words import join_trials

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
    from ..asv.shared_speech import session_is_enrolled

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


def run_fuse_scores(arguments: argparse.Namespace) -> int:
    from ..io.scores import format_scores, read_scores, read_trials, with_speakers
    from ..metrics.pairing import score_table
    from .fusion import fuse_scores

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
