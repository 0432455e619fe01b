"""Verbs from data and x-vectors to scores and voice similarity: subsets, train-backend,
score, similarity, and the same for a whole tree.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..asv.backend import BACKENDS, PldaBackend
from ..asv.model_folder import BACKEND_FILES, load_backend, save_backend, train_on
from ..asv.trials import load_enrollment, score_trials
from ..asv.voice_similarity import Measured, measure, write_2020
from ..errors import PrivacyEvalError
from ..io.data_dir import read_utt2spk
from ..io.files import atomic_path, write_text
from ..io.results_txt import similarity_lines
from ..io.schema import to_plain
from ..io.scores import read_trial_list
from ..io.scp import Vectors, read_vectors
from ..metrics import VARIANTS, similarity_metrics
from ..protocol.protocol import Protocol, load_protocol
from ..results.csv_export import speakers_csv
from ..stages.asv_scores import (
    BACKEND,
    VECTORS,
    Scored,
    Target,
    find_targets,
    make_scores,
    missing_vectors,
)
from ..stages.similarity import make_similarities
from ..stages.subsets import make_subsets
from ..stages.train_backend import train_models
from .options import (
    Verbs,
    add_job,
    add_tree,
    log,
    place_of,
    positive,
    progress,
    say_needed,
    systems_of,
)

_SHOWN = 3
_IN_PLACE = "in place"


def add_verbs(verbs: Verbs) -> None:
    """The verbs from data and x-vectors to scores and voice similarity."""
    subsets = verbs.add_parser("subsets", help="cut and unite the data folders of the evaluation")
    subsets.set_defaults(verb=_subsets)
    add_tree(subsets)
    subsets.add_argument(
        "--anonymized", action="store_true", help="those of anonymized speech (default: original)"
    )

    train = verbs.add_parser("train-backend", help="mean.vec, transform.mat, plda from x-vectors")
    train.set_defaults(verb=_train)
    train.add_argument("--vectors", required=True, type=Path, metavar="SCP")
    train.add_argument("--utt2spk", required=True, type=Path, metavar="F")
    train.add_argument("--lda-dim", type=positive, metavar="D", help="default: 200, or all")
    train.add_argument("--total-covariance-factor", type=float, default=0.0, metavar="F")
    train.add_argument("--out", required=True, type=Path, metavar="DIR")
    _add_reading(train)

    train_tree = verbs.add_parser("train-tree", help="back ends that a tree lacks")
    train_tree.set_defaults(verb=_train_tree)
    add_tree(train_tree)
    _add_pipes(train_tree)

    score = verbs.add_parser("score", help="scores of trials from x-vectors")
    score.set_defaults(verb=_score)
    _add_model(score)
    score.add_argument("--enroll-vectors", required=True, type=Path, metavar="SCP")
    score.add_argument("--spk2utt", required=True, type=Path, metavar="F", help="of the enrollment")
    score.add_argument("--enrolls", type=Path, metavar="F", help="enroll only these utterances")
    score.add_argument("--trial-vectors", required=True, type=Path, metavar="SCP")
    score.add_argument("--trials", required=True, type=Path, metavar="F")
    score.add_argument("--out", required=True, type=Path, metavar="F", help="the score file")
    _add_reading(score)
    _add_missing(score)

    score_tree = verbs.add_parser("score-tree", help="scores of every condition of a tree")
    score_tree.set_defaults(verb=_score_tree)
    add_tree(score_tree)
    _add_pipes(score_tree)
    _add_missing(score_tree)
    _add_job(score_tree)
    score_tree.add_argument(
        "--missing-vectors",
        action="store_true",
        help="only list data sets without x-vectors, each with the model folder they go into",
    )

    similarity = verbs.add_parser("similarity", help="voice similarity, DeID, G_VD of a trial set")
    similarity.set_defaults(verb=_similarity)
    _add_model(similarity)
    similarity.add_argument("--original", required=True, type=Path, metavar="SCP")
    similarity.add_argument("--anonymized", required=True, type=Path, metavar="SCP")
    similarity.add_argument("--utt2spk", required=True, type=Path, metavar="F")
    similarity.add_argument("--variant", choices=[*VARIANTS, "both"], default="both")
    similarity.add_argument("--format", choices=["json", "text"], default="text")
    similarity.add_argument("--out", type=Path, metavar="DIR", help="matrices and speakers go here")
    _add_reading(similarity)
    _add_missing(similarity)

    similarity_tree = verbs.add_parser(
        "similarity-tree", help="voice similarity, DeID, G_VD of every trial set of a tree"
    )
    similarity_tree.set_defaults(verb=_similarity_tree)
    add_tree(similarity_tree)
    _add_pipes(similarity_tree)
    _add_missing(similarity_tree)
    _add_job(similarity_tree)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, metavar="DIR", help="plda, mean.vec, transform.mat")
    parser.add_argument("--backend", choices=BACKENDS, default="plda")


def _add_pipes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-pipes", action="store_true", help="run commands that stand in scp files"
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tree", type=Path, default=Path(), metavar="DIR", help="where paths in scp files start"
    )
    parser.add_argument(
        "--allow-outside", action="store_true", help="follow paths that lead out of the tree"
    )
    _add_pipes(parser)


def _add_missing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="leave out utterances without an x-vector, and say so",
    )


def _add_job(parser: argparse.ArgumentParser) -> None:
    add_job(parser)
    parser.add_argument(
        "--after-jobs", action="store_true", help="jobs did it: do what is left, say how it stands"
    )


def _subsets(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.conf, base=arguments.tree)
    suffixes = [""]
    if arguments.anonymized:
        targets, _ = _targets(arguments, protocol)
        suffixes = list(dict.fromkeys(target.anon_suffix for target in targets))
        if arguments.anon_suffix is None:  # they are from folders' names, which may be any
            unused = [s for s in suffixes if not _has_sets(arguments.tree / "data", s)]
            suffixes = [s for s in suffixes if s not in unused]
            for suffix in unused:
                log(f"privacy-eval: {arguments.tree / 'data'}: no set is marked by {suffix!r}")
    made = make_subsets(
        arguments.tree, protocol, suffixes=suffixes, allow_outside=arguments.allow_outside
    )
    for note in made.notes:
        log(f"privacy-eval: {note}")
    for reason, names in _by_reason(made.lacking).items():
        log(f"privacy-eval: not made: {_some(names)}: {reason}")
    print(
        f"{arguments.tree / 'data'}: {len(made.made)} folders made, {len(made.kept)} there, "
        f"{len(made.lacking)} lack what they are made of"
    )
    return 0


def _has_sets(data: Path, suffix: str) -> bool:
    return data.is_dir() and any(p.is_dir() and p.name.endswith(suffix) for p in data.iterdir())


def _train(arguments: argparse.Namespace) -> int:
    vectors = _read(arguments, arguments.vectors)
    model = train_on(
        vectors,
        arguments.utt2spk,
        lda_dim=arguments.lda_dim,
        total_covariance_factor=arguments.total_covariance_factor,
    )
    (arguments.out / "plda").unlink(missing_ok=True)  # killed from here on, there is no model
    save_backend(arguments.out, model)
    speaker_of = read_utt2spk(arguments.utt2spk)
    speakers = len({speaker_of[u] for u in vectors.ids})
    print(f"{arguments.out}: back end from {len(vectors.ids)} x-vectors of {speakers} speakers")
    return 0


def _train_tree(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.conf, base=arguments.tree)
    targets, notes = _targets(arguments, protocol)
    for note in notes:
        log(f"privacy-eval: {note}")
    outcome = train_models(targets, place_of(arguments), protocol)
    _report(outcome, "back ends", "trained")
    return 1 if outcome.failed else 0


def _score(arguments: argparse.Namespace) -> int:
    model = _load_model(arguments)
    scored = score_trials(
        _read(arguments, arguments.enroll_vectors),
        load_enrollment(arguments.spk2utt, arguments.enrolls),
        _read(arguments, arguments.trial_vectors),
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
    targets, notes = _targets(arguments, protocol)
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
    _report(outcome, "score files", _IN_PLACE if arguments.after_jobs else "made")
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


def _similarity(arguments: argparse.Namespace) -> int:
    variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
    measured = measure(
        _read(arguments, arguments.original),
        _read(arguments, arguments.anonymized),
        arguments.utt2spk,
        backend=arguments.backend,
        model=_load_model(arguments),
        variants=variants,
        allow_missing=arguments.allow_missing,
    )
    if measured.left_out:
        log(f"privacy-eval: left out {measured.left_out} utterances")
    if arguments.out is not None:
        _write_similarity(arguments.out, measured)
    if arguments.format == "json":
        plain: dict[str, object] = {}
        for variant, similarity in measured.by_variant.items():
            values: dict[str, object] = to_plain(similarity_metrics(similarity))
            shown = ("deid", "gvd_db") if variant == "challenge" else tuple(values)
            plain[variant] = {key: values[key] for key in shown}
        plain["speakers"] = len(measured.speakers)
        if arguments.allow_missing:
            plain["utterances_left_out"] = measured.left_out
        print(json.dumps(plain, indent=1, allow_nan=False))
        return 0
    for variant, similarity in measured.by_variant.items():
        if len(measured.by_variant) > 1:
            print(f"# {variant}")
        for line in similarity_lines(similarity_metrics(similarity)):
            print(line)
    print(f"# {len(measured.speakers)} speakers; the least protected:")
    for speaker in measured.of_speakers[:_SHOWN]:
        linked = "" if speaker.linkability is None else f" linkability {speaker.linkability:.3f}"
        print(f"{speaker.speaker} DeID {speaker.deid:.3f}{linked} evidence {speaker.evidence:.3f}")
    return 0


def _write_similarity(out: Path, measured: Measured) -> None:
    write_2020(out, next(iter(measured.by_variant.values())))
    with atomic_path(out / "similarity.npz") as temporary, open(temporary, "wb") as file:
        np.savez(file, **measured.arrays())
    write_text(out / "speakers.csv", speakers_csv(({}, s) for s in measured.of_speakers))


def _similarity_tree(arguments: argparse.Namespace) -> int:
    systems, protocol, out = systems_of(arguments)
    targets, notes = _targets(arguments, protocol)
    for note in notes:
        log(f"privacy-eval: {note}")
    outcome = make_similarities(
        systems,
        [target.name for target in targets],
        place_of(arguments),
        protocol,
        out,
        job=arguments.job or (1, 1),
        announce=say_needed if arguments.job else None,
        progress=progress(),
    )
    _report(outcome, "voice similarities", _IN_PLACE if arguments.after_jobs else "computed")
    return 1 if outcome.failed else 0


def _targets(arguments: argparse.Namespace, protocol: Protocol) -> tuple[list[Target], list[str]]:
    return find_targets(
        place_of(arguments), protocol, name=arguments.system, anon_suffix=arguments.anon_suffix
    )


def _load_model(arguments: argparse.Namespace) -> PldaBackend | None:
    if arguments.backend != "plda":
        return None
    if arguments.model is None:
        raise PrivacyEvalError("the back end plda needs --model, a folder with plda in it")
    stored = load_backend(arguments.model)
    for name in BACKEND_FILES[1:]:
        if name not in stored.sha256:
            log(f"privacy-eval: {arguments.model}: no {name}, goes on without")
    return stored.model


def _read(arguments: argparse.Namespace, path: Path) -> Vectors:
    return read_vectors(
        path,
        tree=arguments.tree,
        allow_pipes=arguments.allow_pipes,
        allow_outside=arguments.allow_outside,
    )


def _report(outcome: Scored, what: str, done: str) -> None:
    """Say what became of a tree's conditions or sets."""
    for text, names in (
        ("of others, kept as they are", outcome.kept),
        ("made anew", outcome.made_anew),
        ("made without some utterances", outcome.left_out),
    ):
        if names:
            log(f"privacy-eval: {text}: {len(names)}:")
            for name in names:
                log(f"  {name}")
    by_kind: dict[str, list[str]] = {}
    for kind, where in outcome.lacking.values():
        by_kind.setdefault(kind, []).append(where)
    for kind, places in by_kind.items():
        log(
            f"privacy-eval: {len(places)} {what} not {done}, no {kind}: "
            + _some(list(dict.fromkeys(places)))
        )
    for name, message in outcome.failed.items():
        log(f"{name}: {message}")
    ours = {done: outcome.made, "up to date": outcome.up_to_date}
    if done == _IN_PLACE:  # what the jobs before made is up to date by now
        ours = {done: [*outcome.made, *outcome.up_to_date]}
    counts = {
        **ours,
        "of others": outcome.kept,
        "not possible": outcome.lacking,
        "failed": outcome.failed,
    }
    print(f"{what}: " + ", ".join(f"{len(names)} {text}" for text, names in counts.items()))


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        grouped.setdefault(reason, []).append(name)
    return grouped


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
