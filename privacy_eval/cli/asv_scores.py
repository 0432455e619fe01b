"""asv-scores: speaker verification scores from x-vectors."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import ALIGNMENTS
from ..errors import UsageError
from .options import (
    JOBS,
    add,
    add_tree,
    choice,
    flag,
    log,
    path,
    positive,
    refuse_given,
    two_usages,
    value,
)

if TYPE_CHECKING:
    from ..asv.inputs import Enrollment
    from ..asv.trials import Scorer
    from ..attackers.alignment import Alignment, Cohorts
    from ..io.vectors import Vectors
    from ..metrics.trials import Trials

_PAIRS = ("align_from", "align_to")
_LDA = ("lda_utt2spk", "lda_dim", "lda_ridge")
_COHORT = ("cohort", "cohort_anonymized", "cohort_spk2utt")

EXAMPLE = "--tree baseline --results exp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one trial list."""
    stage, files = two_usages(parser, _stage, _files, needed="--out")
    add_tree(stage, common=parser)
    add(parser, "--out", help="score file; not needed over a tree")
    add(parser, "--allow-missing", "--allow-pipes")
    add(stage, *JOBS, "--isolate", "--details", "--attackers")
    add(files, "--model", "--backend", "--scp-base")
    files.add_argument("--enroll-vectors", required=True, **path("SCP"))
    files.add_argument("--spk2utt", required=True, **path("F", "of the enrollment"))
    files.add_argument("--enrolls", **path("F", "enroll only these utterances"))
    files.add_argument("--trial-vectors", required=True, **path("SCP"))
    files.add_argument("--trials", required=True, **path("F", "trial list or key"))
    aligned = "map enrollment to trial vectors of unit length, as learnt from pairs"
    files.add_argument("--align", **choice(ALIGNMENTS, aligned))
    files.add_argument("--align-from", **path("SCP", "original vectors of training speech"))
    files.add_argument("--align-to", **path("SCP", "anonymized vectors of the same utterances"))
    files.add_argument(
        "--cohort", **path("SCP", "original vectors for S-norm, or AS-norm by --top")
    )
    files.add_argument("--cohort-anonymized", **path("SCP", "anonymized vectors for it"))
    files.add_argument("--cohort-spk2utt", **path("F", "of both"))
    top = "normalize by the N largest scores with the cohort"
    files.add_argument("--top", **value("N", top, type=positive))
    alone = "each side by the vectors of its listed utterances: mean 0, deviation 1"
    files.add_argument("--standardize", **flag(alone))
    crops = "vectors of crops of training speech: compare by the discriminant learnt from them"
    files.add_argument("--lda", action="append", default=[], **path("SCP", f"{crops}; repeatable"))
    files.add_argument("--lda-utt2spk", **path("F", "speakers of all crops"))
    files.add_argument("--lda-dim", **value("K", "at most", type=positive))
    files.add_argument("--lda-ridge", **value("R", "of --lda: default 0.1", type=float))


def _files(arguments: argparse.Namespace) -> int:
    from ..asv.inputs import load_enrollment
    from ..asv.trials import score_trials
    from ..io.files import write_text
    from ..io.scores import format_scores, read_trial_list
    from .inputs import load_model, load_vectors

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
    """Refuse options of alignment and normalization that do not go together."""

    def names(options: tuple[str, ...]) -> str:
        return ", ".join(f"--{option.replace('_', '-')}" for option in options)

    def given(options: tuple[str, ...]) -> list[str]:
        return [option for option in options if vars(arguments)[option] is not None]

    if not arguments.lda:
        refuse_given(arguments, _LDA, "goes with --lda")
    elif arguments.lda_utt2spk is None:
        raise UsageError("--lda needs --lda-utt2spk")
    alone = arguments.backend == "cosine" and arguments.align is None
    if (arguments.lda or arguments.standardize) and not alone:
        raise UsageError("--standardize and --lda go with --backend cosine, without --align")
    if arguments.align is None:
        refuse_given(arguments, (*_PAIRS, *_COHORT, "top"), "goes with --align")
        return
    if arguments.backend != "cosine":
        raise UsageError("--align goes with --backend cosine")
    if arguments.align != "none" and len(given(_PAIRS)) < len(_PAIRS):
        raise UsageError(f"--align {arguments.align} needs {names(_PAIRS)}")
    if 0 < len(given(_COHORT)) < len(_COHORT) or (given(("top",)) and not given(_COHORT)):
        raise UsageError(f"score normalization needs {names(_COHORT)}")


def _aligned(arguments: argparse.Namespace, enrollment: Enrollment, trials: Trials) -> Scorer:
    """Score by the cosine of aligned vectors, normalized if there is a cohort."""
    from ..attackers.alignment import Alignment
    from ..stages.aligned_scores import aligned_scorer

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
    from ..attackers.discriminant import (
        compared_sides,
        learn_lda,
        other_conditions,
        training_remarks,
    )
    from ..io.data_dir import speakers_of_crops
    from .inputs import load_vectors

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
    from ..attackers.alignment import Alignment, describe_pairs, learn_alignment, pairs_of
    from ..io.data_dir import read_spk2utt
    from .inputs import load_vectors

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
    from ..attackers.alignment import learn_cohorts
    from ..io.data_dir import read_spk2utt
    from .inputs import load_vectors

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
    from ..attackers.discriminant import refuse_shared

    refuse_shared(path, training, enrollment.members, trials.utterance.used)


def _stage(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..stages.access import BACKEND, KEYS, VECTORS
    from ..stages.asv_scores import make_scores, score_products
    from ..tree.discovery import suffix_hint
    from .inputs import (
        chosen_attackers,
        exit_code,
        load_asv_systems,
        log_if_not_applicable,
        log_notes,
        report_outcome,
        run_settings,
    )

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    attackers = chosen_attackers(arguments, protocol)
    asv = load_asv_systems(arguments, protocol)
    if not score_products(asv) and log_if_not_applicable(protocol, "scoring of x-vectors"):
        return 0
    log_notes(asv.notes)
    outcome = make_scores(asv, run_settings(arguments), attackers)
    needed = {n: e for n, e in outcome.missing.items() if e.kind.startswith((VECTORS, BACKEND))}
    code = report_outcome(arguments, outcome, "score files")
    if outcome.missing and (hint := suffix_hint(arguments.tree, protocol, asv.suffixes)):
        log(f"privacy-eval: {hint}")
    kinds = {error.kind for error in outcome.missing.values()}
    if KEYS in kinds:
        log("privacy-eval: --keys DIR names the folder of the trial keys")
    if VECTORS in kinds:
        where_from = " (stage 1 prints where to get it)" * (not protocol.has_own_scoring)
        log(
            "privacy-eval: stage 5 of the recipe extracts x-vectors of sets with a wav.scp, using "
            f"final.raw of the model folder{where_from} or --extractor; or "
            "provide xvector.scp, .npz, .npy, .h5 or speaker_vectors.pt at the path listed above"
        )
    if not needed or arguments.allow_missing:
        return code
    log("privacy-eval: --allow-missing continues without them")
    if outcome.made or outcome.current or outcome.kept:  # else there is nothing to go on with
        exit_code(arguments, {name: str(error) for name, error in needed.items()})
    return 1
