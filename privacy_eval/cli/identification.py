"""identification: speaker identification rates in galleries of several sizes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .options import (
    JOBS,
    add,
    add_tree,
    fill,
    log,
    path,
    positive,
    runs_as_stage,
    two_usages,
    value,
)

if TYPE_CHECKING:
    from ..asv.galleries import Identification
    from ..metrics import Interval

EXAMPLE = "--tree baseline --results exp --rank 5 --bootstrap 1000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stage, and those of one trial set."""
    stage, files = two_usages(parser)
    add_tree(stage, common=parser)
    add(stage, "--out", *JOBS, "--isolate", "--details", "--allow-missing")
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
    add(files, "--model", "--scp-base", "--format")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(map(positive, text.split(","))))


def run(arguments: argparse.Namespace) -> int:
    return _stage(arguments) if runs_as_stage(arguments) else _files(arguments)


def check_distractors(arguments: argparse.Namespace) -> None:
    """Refuse distractors that are no data set of the tree."""
    name, data = arguments.distractors, arguments.tree / "data"
    if name is not None and ("/" in name or not (data / name).is_dir()):
        raise UsageError(f"--distractors: {data}: no data set {name!r}")


def _stage(arguments: argparse.Namespace) -> int:
    from ..stages.identification import GalleryOptions, make_identifications
    from .inputs import load_experiment, log_if_no_vectors, log_notes, report_outcome, run_settings

    experiment = load_experiment(arguments)
    if log_if_no_vectors(experiment.asv, "identification"):
        return 0
    log_notes(experiment.asv.notes)
    check_distractors(arguments)
    options = fill(GalleryOptions, arguments)
    outcome = make_identifications(experiment, run_settings(arguments), options)
    return report_outcome(arguments, outcome, "identifications", "computed")


def _files(arguments: argparse.Namespace) -> int:
    from ..asv.enrollment import load_enrollment
    from ..asv.galleries import Gallery, identify
    from ..errors import PrivacyEvalError
    from ..io.schema import to_plain
    from .inputs import load_model, load_vectors

    if (arguments.distractors is None) != (arguments.distractors_spk2utt is None):
        raise PrivacyEvalError("--distractors and --distractors-spk2utt go together")

    def gallery(vectors: str, spk2utt: str) -> Gallery:
        options = vars(arguments)
        return Gallery(
            load_vectors(arguments, Path(options[vectors])), load_enrollment(options[spk2utt])
        )

    more = arguments.distractors and gallery("distractors", "distractors_spk2utt")
    attack = identify(
        gallery("enroll_vectors", "spk2utt"),
        load_vectors(arguments, arguments.trial_vectors),
        arguments.utt2spk,
        backend=arguments.backend,
        model=load_model(arguments),
        sizes=arguments.gallery_sizes,
        rank=arguments.rank,
        length=arguments.length,
        distractors=more,
        seed=arguments.seed,
    )
    intervals = attack.intervals(arguments.bootstrap, arguments.seed) if arguments.bootstrap else ()
    if attack.utterances_left_out:
        log(
            f"privacy-eval: left out {attack.utterances_left_out} utterances: "
            f"{len(attack.not_enrolled)} speakers are not enrolled"
            + (f", others do not fill a test of {attack.length}" if attack.length > 1 else "")
        )
    if arguments.format == "json":
        plain = {
            "n_tests": attack.beaten.size,
            "n_test_speakers": len(attack.test_speakers),
            "n_enrolled": attack.n_enrolled,
            "n_distractors": attack.n_distractors,
            "not_enrolled": len(attack.not_enrolled),
            "utterances_left_out": attack.utterances_left_out,
            "sizes": list(attack.sizes),
            "linkage": attack.linkage.tolist(),
            "chance": attack.chance.tolist(),
        }
        plain["speakers_size"], plain["speakers"] = (
            attack.speakers_size,
            to_plain(attack.speakers()),
        )
        singled = attack.singling_out
        plain["singling_out"] = {**to_plain(singled), "chance": singled.chance()}
        if intervals:
            plain["intervals"] = to_plain(intervals)
        print(json.dumps(plain, indent=1, allow_nan=False))
    else:
        _print_text(attack, intervals)
    return 0


def _print_text(attack: Identification, intervals: Sequence[Interval]) -> None:
    print(
        f"{attack.beaten.size} tests of {len(attack.test_speakers)} speakers, {attack.n_enrolled} "
        f"enrolled speakers ({attack.n_distractors} distractors)"
    )
    for i, size in enumerate(attack.sizes):
        among = f", {intervals[i].low:.1%} .. {intervals[i].high:.1%}" if intervals else ""
        print(
            f"group of {size}: {attack.linkage[i]:.1%} found{among}; chance {attack.chance[i]:.1%}"
        )
    singled = attack.singling_out
    if singled.refused:
        print(f"no singling out: {singled.refused}")
    for size, found_once, chance in zip(
        singled.sizes, singled.values, singled.chance(), strict=True
    ):
        print(f"singled out of {size}: {found_once:.1%}; chance {chance:.1%}")
