"""identification: speaker identification rates in galleries of several sizes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, counted, located
from .group_options import add_by, plain_groups, print_rates, read_by
from .options import (
    JOBS,
    add,
    add_tree,
    check_plot,
    fill,
    log,
    path,
    positive,
    print_json,
    progress,
    refuse_given,
    runs_as_stage,
    two_usages,
    value,
)

if TYPE_CHECKING:
    from ..asv.amount import KnownSpeech
    from ..asv.galleries import Gallery, Identification
    from ..asv.ranks import RankedTests
    from ..io.scp import Vectors
    from ..metrics.amount import Amount, AmountCurve

    #: A gallery, the vectors of tests, and the file of their speakers.
    _Compared = tuple[Gallery, Vectors, Path]

EXAMPLE = "--tree baseline --results exp --rank 5 --bootstrap 1000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one trial set."""
    stage, files = two_usages(parser)
    add_tree(stage, common=parser)
    add(stage, *(name for name in JOBS if name != "--job"), "--isolate", "--details")
    add(stage, "--allow-missing")
    split = "run job J of N only; on single files, of a large gallery, for `merge` (default: all)"
    add(parser, "--job", help=split)
    add(parser, "--out", help="over a tree: a folder; on single files: ranks of a --job, to write")
    amounts = (
        "utterances per test, such as 1,2,3,5,10,30: error rates by the amount of speech (over a "
        "tree of every attacker; default: those of the protocol)"
    )
    parser.add_argument("--sentences", **value("L,L,...", amounts, type=_sizes))
    rank = value("K", "hit if among the K highest scores; default: 1", type=positive, default=1)
    parser.add_argument("--rank", **rank)
    length = value("L", "utterances averaged per test; default: 1", type=positive, default=1)
    parser.add_argument("--length", **length)
    add(parser, "--backend", "--allow-pipes", "--bootstrap", "--seed")
    more = "additional enrolled speakers: a data set of the tree or, on single files, x-vectors"
    add(parser, "--distractors", metavar="SET|SCP", help=more)
    files.add_argument("--enroll-vectors", required=True, **path("SCP"))
    files.add_argument("--spk2utt", required=True, **path("F", "of the enrollment"))
    files.add_argument("--trial-vectors", required=True, **path("SCP"))
    add(files, "--utt2spk", required=True)
    files.add_argument("--distractors-spk2utt", **path("F", "of the distractors"))
    sizes = value("N,N,...", "default: 2,5,10,20,... and all enrolled speakers", type=_sizes)
    files.add_argument("--gallery-sizes", **sizes)
    scores = "with --trials: the amount of speech from scores, averaged, where there are no vectors"
    files.add_argument("--scores", **path("F", scores))
    files.add_argument("--trials", **path("F", "trial key of the scores"))
    files.add_argument("--ranks", **path("F", "ranks of all jobs, merged; without vectors"))
    durations = "with --sentences: durations of test utterances, to tell the seconds of tests"
    files.add_argument("--utt2dur", **path("F", durations))
    plotted = "also plot the error rates by the amount of speech: a pdf, png or tex file"
    files.add_argument("--plot", **path("FILE", plotted))
    add_by(files)
    add(files, "--model", "--scp-base", "--format")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(map(positive, text.split(","))))


def run(arguments: argparse.Namespace) -> int:
    if scores_only := hasattr(arguments, "scores"):
        arguments.usages[1].needed[:] = ["--scores", "--trials", "--utt2spk", "--sentences"]
    if ranks_only := hasattr(arguments, "ranks"):
        arguments.usages[1].needed[:] = ["--ranks"]
    if runs_as_stage(arguments):
        return _stage(arguments)
    if ranks_only:
        return _ranks(arguments)
    check_plot(arguments.plot)
    if arguments.plot is not None and arguments.sentences is None:
        raise UsageError("--plot goes with --sentences")
    if arguments.utt2dur is not None and arguments.sentences is None:
        raise UsageError("--utt2dur goes with --sentences")
    return _scores(arguments) if scores_only else _files(arguments)


def check_distractors(arguments: argparse.Namespace) -> None:
    """Refuse distractors that are no data set of the tree."""
    name, data = arguments.distractors, arguments.tree / "data"
    if name is not None and ("/" in name or not (data / name).is_dir()):
        raise UsageError(f"--distractors: {data}: no data set {name!r}")


def _stage(arguments: argparse.Namespace) -> int:
    from ..stages.disclosure import (
        AmountOptions,
        GalleryOptions,
        plan_amounts,
        plan_identification,
    )
    from .inputs import load_experiment, log_if_no_vectors, log_notes, report_outcome, run_settings

    experiment = load_experiment(arguments)
    failed = 0
    if not log_if_no_vectors(experiment.asv, "identification"):
        log_notes(experiment.asv.notes)
        check_distractors(arguments)
        planned = plan_identification(experiment, fill(GalleryOptions, arguments))
        outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
        failed = report_outcome(arguments, outcome, "identifications", "computed")
    sentences = arguments.sentences or experiment.asv.protocol.sentences
    if not sentences:
        return failed
    of_amounts = fill(AmountOptions, arguments, sentences=tuple(sorted(sentences)))
    planned = plan_amounts(experiment, of_amounts)
    outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
    return report_outcome(arguments, outcome, "amounts of speech", "computed") or failed


def _files(arguments: argparse.Namespace) -> int:
    from ..asv.enrollment import load_enrollment
    from ..asv.galleries import Gallery, identified, rank_tests
    from ..asv.ranks import write_ranks
    from ..errors import PrivacyEvalError
    from .inputs import load_model, load_vectors

    _check_job(arguments)
    if (arguments.distractors is None) != (arguments.distractors_spk2utt is None):
        raise PrivacyEvalError("--distractors and --distractors-spk2utt go together")

    def gallery(vectors: str, spk2utt: str) -> Gallery:
        options = vars(arguments)
        return Gallery(
            load_vectors(arguments, Path(options[vectors])), load_enrollment(options[spk2utt])
        )

    more = arguments.distractors and gallery("distractors", "distractors_spk2utt")
    compared = (
        gallery("enroll_vectors", "spk2utt"),
        load_vectors(arguments, arguments.trial_vectors),
        arguments.utt2spk,
    )
    options: dict[str, Any] = {"backend": arguments.backend, "model": load_model(arguments)}
    options |= {"replicates": arguments.bootstrap, "seed": arguments.seed}
    tests: dict[str, Any] = {"length": arguments.length, "distractors": more}
    sizes, drawn = arguments.gallery_sizes, (arguments.bootstrap, arguments.seed)
    tests |= options
    ranks = rank_tests(*compared, sizes=sizes, job=arguments.job, progress=progress(), **tests)
    if arguments.job is not None:
        write_ranks(arguments.out, ranks)
        log_ranks(arguments.out, ranks)
        return 0
    curve = _amount_of_vectors(arguments, compared, options)
    groups = _groups(arguments, compared, tests)
    attack = identified(ranks, sizes, arguments.rank, *drawn)
    return _show(arguments, attack, curve, groups)


def _groups(
    arguments: argparse.Namespace, compared: _Compared, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the rates of groups of speakers in galleries of their own as plain values, with
    intervals if there is a bootstrap: of the whole one, and of one as large as the smallest."""
    from ..asv.group_galleries import groups_of_gallery, identify_groups

    plain, (gallery, _, utt2spk) = {}, compared
    for labels in read_by(arguments.by or ()):
        group_of, without = groups_of_gallery(gallery, utt2spk, labels, options["distractors"])
        found = identify_groups(*compared, group_of, rank=arguments.rank, **options)
        groups: dict[str, dict[str, Any]] = {}
        for name, of in found.items():
            groups[name] = {
                "n_tests": of.n_tests,
                "n_speakers": of.n_test_speakers,
                "n_enrolled": of.n_enrolled,
                "equal_size": of.sizes[0] if of.sizes else None,
            }
            for key, place in (("linkage", -1), ("linkage_equal", 0)):
                groups[name][key] = of.linkage[place] if of.sizes else None
                if of.intervals:
                    groups[name][f"{key}_interval"] = of.intervals[place]
        plain[labels.column] = plain_groups(groups, labels, without)
    return plain


def _check_job(arguments: argparse.Namespace) -> None:
    """Refuse what a job cannot do."""
    if (arguments.job is None) != (arguments.out is None):
        raise UsageError("on single files, --job and --out go together")
    if arguments.job is None:
        return
    if arguments.rank > 1:
        raise UsageError("--rank goes without --job; give it with --ranks, after `merge`")
    refuse_given(arguments, ("sentences", "by"), "goes without --job")


def _ranks(arguments: argparse.Namespace) -> int:
    from ..asv.galleries import identified
    from ..asv.ranks import read_all_ranks

    vectors = ("enroll_vectors", "trial_vectors", "utt2spk", "model", "distractors")
    others = (*vectors, "sentences", "by", "scores", "job", "out")
    refuse_given(arguments, others, "and --ranks exclude each other")
    ranks = read_all_ranks(arguments.ranks)
    with located(arguments.ranks):
        drawn = arguments.bootstrap, arguments.seed
        attack = identified(ranks, arguments.gallery_sizes, arguments.rank, *drawn)
    return _show(arguments, attack)


def log_ranks(out: Path, ranks: RankedTests) -> None:
    """Log what a file of ranks holds."""
    done = f"jobs {len(ranks.done)} of {ranks.jobs}"
    log(f"privacy-eval: {out}: {counted(len(ranks.speaker), 'test')}, {done}")


def _show(
    arguments: argparse.Namespace,
    attack: Identification,
    curve: AmountCurve | None = None,
    groups: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    from ..io.schema import to_plain

    if arguments.format == "json":
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
        singled = attack.singling_out
        plain["singling_out"] = {**to_plain(singled), "chance": singled.chance()}
        if attack.bounds:
            plain["intervals"] = attack.bounds
        plain |= _plain(curve) if curve else {}
        plain |= {"groups": groups} if groups else {}
        print_json(plain)
    else:
        _print_text(attack)
        if curve:
            _print_amount(curve, "vectors")
        counts = {"n_speakers": "speakers", "n_tests": "tests", "n_enrolled": "own gallery"}
        of_size = {"linkage": "found, %", "linkage_equal": "found among N, %"}
        for column, of_column in groups.items():
            print_rates(column, of_column, {**counts, "equal_size": "N"}, of_size)
            print("caveat: compare groups by galleries of N, the size of the smallest group")
    return 0


def _amount_of_vectors(
    arguments: argparse.Namespace, compared: _Compared, options: dict[str, Any]
) -> AmountCurve | None:
    """Compute and plot the curve over the amount of speech, if it was asked for."""
    from ..asv.amount import amount_of_vectors

    if arguments.sentences is None:
        return None
    if arguments.distractors is not None:
        raise UsageError("--sentences goes without --distractors")
    known = _known(arguments, compared[0].enrollment.members)
    curve = amount_of_vectors(*compared, arguments.sentences, known=known, **options)
    _plot(arguments, curve)
    return curve


def _known(
    arguments: argparse.Namespace, enrolled: Mapping[str, Sequence[str]] | None = None
) -> KnownSpeech:
    """Read what else is known of the test utterances."""
    from ..asv.amount import KnownSpeech
    from ..io.data_dir import read_utt2dur, read_utt2spk
    from ..io.ids import sessions_of

    speaker_of = read_utt2spk(arguments.utt2spk)
    members = {u: speaker for speaker, of in (enrolled or {}).items() for u in of}
    path = arguments.utt2dur
    seconds = {} if path is None else read_utt2dur(path, speaker_of)
    return KnownSpeech(seconds, sessions_of({**members, **speaker_of}))


def _scores(arguments: argparse.Namespace) -> int:
    from ..io.scores import read_scores, read_trials
    from ..io.trial_speakers import with_speakers
    from ..metrics.amount import amounts
    from ..metrics.pairing import pair

    vectors = ("enroll_vectors", "spk2utt", "trial_vectors", "model", "gallery_sizes", "by")
    refuse_given(arguments, vectors, "and --scores exclude each other")
    trials = pair(read_scores(arguments.scores), read_trials(arguments.trials))
    with located(arguments.scores):
        trials = _known(arguments).beside(with_speakers(trials, arguments.utt2spk))
        drawn = {"bootstrap": arguments.bootstrap, "seed": arguments.seed}
        curve = amounts(trials, arguments.sentences, **drawn)
    _plot(arguments, curve)
    if arguments.format == "json":
        print_json(_plain(curve))
    else:
        _print_amount(curve, "scores")
    return 0


def _plot(arguments: argparse.Namespace, curve: AmountCurve) -> None:
    if arguments.plot is None:
        return
    from ..report.figures.amount import amount_plot
    from ..report.figures.drawing import Drawing, write

    file: Path = arguments.plot
    drawing = Drawing(file.stem, "Error rates by the amount of speech.", amount_plot(curve))
    write(drawing, file.parent, [file.suffix[1:]])


def _plain(curve: AmountCurve) -> dict[str, object]:
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


def _print_amount(curve: AmountCurve, averaged: str) -> None:
    print(f"amount of speech ({averaged} of the sentences of a test averaged):\n{curve}")


def _print_text(attack: Identification) -> None:
    print(attack.heading)
    texts = {
        f"rank{attack.rank}": "group of {gallery}: {value:.1%} found",
        "singling_out": "singled out of {gallery}: {value:.1%}",
    }
    for row in attack.to_rows():
        if text := texts.get(row["metric"]):
            among = "" if row["low"] is None else ", {low:.1%} .. {high:.1%}"
            print(f"{text}{among}; chance {{chance:.1%}}".format(**row))
    for note in attack.notes:
        print(f"caveat: {note}")
