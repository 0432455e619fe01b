"""What the stages of speech do over a tree: a function of each, which logs and returns the exit
code."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

from ...choices import SPECTRUM
from ...cli.inputs import (
    chosen_attackers,
    load_asv_systems,
    load_experiment,
    log_notes,
    report_outcome,
    run_settings,
    tree_access,
)
from ...cli.jobs import run_script
from ...cli.options import log, use_one_thread
from ...errors import PrivacyEvalError, UsageError, abbreviate
from ...options import fill
from ...products.freshness import Outcome
from ...protocol.protocol import ENCODERS_FOLDER, load_protocol
from ...stages.access import AsvSystems, Experiment
from ...stages.options import FOLDERS, MeasureOptions
from ...tree.discovery import tree_suffixes

_KALDI, _MCADAMS = "kaldi", "mcadams"

#: Printed where there are no anonymized data sets, and no `--anonymizer`.
_EXPECTED = """\
--anonymizer is mcadams (the challenge's baseline B2), or a command of your own, as described in
local/anonymize.sh. Or run your system yourself: each anonymized set is a Kaldi data folder in
{data} (wav.scp, utt2spk, spk2utt, spk2gender), with the list enrolls or trials of the original
set; stage 0 lists the missing ones."""


def anonymize(arguments: argparse.Namespace, *, evaluated: bool = True) -> int:
    """Stage 4; without the `evaluated` speech, only training speech."""
    from .anonymize import FILES, Command, McAdams, anonymize_tree

    protocol, anonymizer = load_protocol(arguments.conf, base=arguments.tree), arguments.anonymizer
    if not anonymizer:
        there = [f"data/*{suffix}" for suffix in tree_suffixes(arguments.tree, protocol)]
        if there:
            text = f"nothing to anonymize: {abbreviate(there)} are there"
        else:
            print(_EXPECTED.format(data=arguments.tree / "data"))
            text = "anonymized data sets are missing; --anonymizer makes them"
        arguments.ending.append(text)
        return 0
    places = {place for place in (*FILES, *FOLDERS) if place in anonymizer}
    if anonymizer != _MCADAMS and places not in (set(FILES), set(FOLDERS)):
        arguments.usage_error(
            f"--anonymizer takes {_MCADAMS}, or a command with {' and '.join(FILES)}, or with "
            f"{' and '.join(FOLDERS)}"
        )
    suffixes = arguments.anon_suffix or [protocol.anon_suffix]
    if len(suffixes) > 1:
        raise PrivacyEvalError("--anonymizer creates the data sets of one --anon-suffix at a time")
    outcome = anonymize_tree(
        tree_access(arguments),
        protocol,
        suffixes[0],
        fill(McAdams, arguments)
        if anonymizer == _MCADAMS
        else Command(anonymizer, arguments.tree, Path.cwd()),
        run_settings(arguments),
        attackers=chosen_attackers(arguments, protocol) or (),
        evaluated=evaluated,
    )
    if not any(vars(outcome).values()):
        log(f"privacy-eval: {arguments.tree / 'data'}: found no speech for any data set")
    what = "data folders" if places == set(FOLDERS) else "speakers' speech"
    return report_outcome(arguments, outcome, what)


def xvectors(arguments: argparse.Namespace) -> int:
    """Stage 5."""
    use_one_thread()
    from ...stages.asv_scores import checkpoint_sets, vector_sets
    from .recordings import default_attackers, make_crops
    from .user_command import UserCommand

    text, protocol = arguments.extractor, load_protocol(arguments.conf, base=arguments.tree)
    attackers = named_attackers = chosen_attackers(arguments, protocol)
    asv = load_asv_systems(arguments, protocol)
    if attackers is None:
        extracts = bool(text or arguments.encoder)
        attackers = default_attackers(asv, extracts=extracts, cache=arguments.cache)
    if arguments.encoder == SPECTRUM:
        raise UsageError(
            f"--encoder {SPECTRUM} goes with --data: in a tree the attacker {SPECTRUM} has it"
        )
    if text and protocol.has_own_scoring and not protocol.external_vector_folders:
        raise UsageError(
            f"--extractor: in protocol {protocol.name} no attacker has vectors of a command: name "
            f"one with `encoder: {ENCODERS_FOLDER}/NAME` (docs/attackers.md)"
        )
    run = run_settings(arguments)
    crops = make_crops(asv, attackers, run)
    log_notes(
        f"{name}: {text}: attackers who learn from it are left out"
        for name, text in crops.failed.items()
    )
    if arguments.extractor == _KALDI:
        if code := _extract_with_kaldi(arguments, asv, attackers):
            return code
        text = None  # the encoders that attackers name follow
    what = "parts of sets of x-vectors" if arguments.job and not text else "sets of x-vectors"
    outcome = Outcome()
    is_own = named_attackers is None or protocol.own_attacker in named_attackers
    if is_own and checkpoint_sets(asv):
        from .xvectors import make_checkpoint_vectors

        outcome = make_checkpoint_vectors(asv, run)
    if not vector_sets(asv, attackers):  # no speech: nothing to load the extractor for
        return report_outcome(arguments, outcome, what)
    from ..encoders import EncoderChoice
    from .xvectors import EXTRACTOR, make_vectors

    command = UserCommand(text, arguments.tree, Path.cwd(), "extractor") if text else None
    named, cache = arguments.encoder, arguments.cache
    encoder = EncoderChoice(named, arguments.front_end, cache) if named is not None else None
    outcome.add(make_vectors(asv, run, attackers, command, encoder, cache))
    code = report_outcome(arguments, outcome, what)
    if EXTRACTOR in {error.kind for error in outcome.missing.values()}:
        log(
            "privacy-eval: --extractor 'COMMAND {in} {out}' or --encoder ge2e or FILE.ckpt takes "
            "the place of an x-vector extractor, compared with `backend: cosine` in the protocol "
            "(docs/extractors.md)"
            + "; stage 1 of the recipe prints where to get one"
            * (not protocol.has_own_scoring)
        )
    return code


def _extract_with_kaldi(
    arguments: argparse.Namespace, asv: AsvSystems, attackers: Collection[str]
) -> int:
    runner = [f"--nj={arguments.nj}", *([f"--cmd={arguments.cmd}"] if arguments.cmd else [])]
    for name, folder in missing_vectors(asv, attackers):
        if asv.protocol.encoder_of(folder, asv.suffixes)[0]:
            continue
        of_set = (f"--tree={arguments.tree}", f"--set={name}", f"--model={folder}")
        if code := run_script("local/kaldi_xvectors.sh", *of_set, *runner):
            return code
    return 0


def missing_vectors(asv: AsvSystems, attackers: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return those of `vector_sets` that have no x-vectors."""
    from ...asv.inputs import vector_file
    from ...stages.asv_scores import vector_sets

    tree = asv.access.tree
    return [
        (name, folder)
        for name, folder in vector_sets(asv, attackers)
        if vector_file(tree / folder / f"xvect_{name}") is None
    ]


def recognize(arguments: argparse.Namespace) -> int:
    """Stage 6."""
    from .user_command import UserCommand, plan_recognition

    if not arguments.recognizer:
        return 0  # transcripts are the recognizer's
    command = UserCommand(arguments.recognizer, arguments.tree, Path.cwd(), "recognizer")
    experiment = load_experiment(arguments, warn=False)
    planned = plan_recognition(experiment, command)
    outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
    return report_outcome(arguments, outcome, "sets of transcripts")


def measures(arguments: argparse.Namespace) -> int:
    """Stage 6."""
    from .measures import make_measures

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    measured = arguments.quality or arguments.phones or protocol.measures
    has_audio = any((arguments.tree / "data").glob("*/wav.scp"))
    if not measured and (arguments.audio == "false" or not has_audio):
        return 0  # nothing was asked for
    experiment, run, code = load_experiment(arguments, warn=False), run_settings(arguments), 0
    if measured:
        if arguments.quality or arguments.phones:
            log_notes(experiment.asv.notes)
        outcome = make_measures(experiment, fill(MeasureOptions, arguments), run)
        code = report_outcome(arguments, outcome, "measures")
    return max(code, _audits(arguments, experiment)) if arguments.audio != "false" else code


def _audits(arguments: argparse.Namespace, experiment: Experiment) -> int:
    """Audit anonymized audio; without --audio, a set that cannot be read is only told."""
    from .measures import plan_audits

    planned = plan_audits(experiment, arguments.audio == "true")
    outcome = experiment.asv.access.bring_up_to_date(planned, run_settings(arguments))
    if arguments.audio is None:
        outcome.notes += [f"not audited: {message}" for message in outcome.failed.values()]
        outcome.failed = {}
        if not (outcome.made or outcome.current or outcome.notes):
            return 0
    return report_outcome(arguments, outcome, "audits of audio")
