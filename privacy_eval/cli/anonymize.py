"""anonymize: create the anonymized data folders of a tree."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import PrivacyEvalError
from .mcadams import add_coefficients
from .options import JOBS, add, add_tree, fill, log, value

_BUILT_IN = "mcadams"

#: Printed without `--anonymizer`.
_EXPECTED = """\
No --anonymizer: mcadams (the challenge's baseline B2), or a command of your own, as described in
local/anonymize.sh. Or run your system yourself: each anonymized set is a Kaldi data folder in
{data} (wav.scp, utt2spk, spk2utt, spk2gender), with the list enrolls or trials of the original
set; stage 0 lists the missing ones."""

#: Printed instead where there are anonymized data sets.
_THERE = "{data}: anonymized data sets with the suffixes {there}; --anonymizer would make others"

EXAMPLE = "--tree baseline --results exp --anonymizer mcadams"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    add_tree(parser)
    add(parser, "--allow-pipes", "--attackers", *JOBS, "--isolate", "--details")
    anonymizer = (
        f"{_BUILT_IN} (baseline B2), 'COMMAND {{wav_in}} {{wav_out}}', run for every utterance, or "
        "'COMMAND {in} {out}', for every data folder"
    )
    parser.add_argument("--anonymizer", **value("NAME", anonymizer))
    add_coefficients(parser)
    parser.set_defaults(parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..stages.anonymize import FILES, Command, McAdams, anonymize_tree
    from ..stages.user_command import FOLDERS
    from ..tree.discovery import tree_suffixes
    from .inputs import chosen_attackers, report_outcome, run_settings, tree_access

    protocol = load_protocol(arguments.conf, base=arguments.tree)
    anonymizer = arguments.anonymizer
    if not anonymizer:
        there = ", ".join(tree_suffixes(arguments.tree, protocol))
        data = arguments.tree / "data"
        print(_THERE.format(data=data, there=there) if there else _EXPECTED.format(data=data))
        return 0
    places = {place for place in (*FILES, *FOLDERS) if place in anonymizer}
    if anonymizer != _BUILT_IN and places not in (set(FILES), set(FOLDERS)):
        arguments.parser.error(
            f"--anonymizer takes {_BUILT_IN}, or a command with {' and '.join(FILES)}, or with "
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
        if anonymizer == _BUILT_IN
        else Command(anonymizer, arguments.tree, Path.cwd()),
        run_settings(arguments),
        attackers=chosen_attackers(arguments, protocol) or (),
    )
    if not any(vars(outcome).values()):
        log(f"privacy-eval: {arguments.tree / 'data'}: found no speech for any data set")
    what = "data folders" if places == set(FOLDERS) else "speakers' speech"
    return report_outcome(arguments, outcome, what, "anonymized")
