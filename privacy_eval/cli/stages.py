"""The stages of the recipe over a tree: `privacy-eval stage NAME|NUMBER`, and their options."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..options import choice, flag, path, value
from ..stages.options import (
    AmountOptions,
    AttributeOptions,
    GalleryOptions,
    McAdamsOptions,
    MeasureOptions,
)
from ..stages.recipe import STAGES as RECIPE
from ..stages.recipe import stage_number
from .config import option_names
from .options import SHARED, HelpFormatter, add_kind, add_tree, folder_command

_AUDIO = "also audit the anonymized audio: faults, duplicates, tags, original speech still in it"
_AUDITED = (
    "audit anonymized audio for original speech and faults, true or false (default: audio that "
    "x-vectors were extracted from in the tree)"
)
_ANONYMIZER = (
    "mcadams (baseline B2), 'COMMAND {wav_in} {wav_out}', run for every utterance, or "
    "'COMMAND {in} {out}', for every data folder"
)
_EXTRACTOR = (
    "kaldi (its programs, at KALDI_ROOT), or 'COMMAND {in} {out}', run for every data folder "
    "(default: the built-in extractor)"
)
_ATTRIBUTE = "gender, or a column of a CSV in the tree; default: those of the protocol, if any"
_ALLOWED = "exit 0 even if something cannot be evaluated; accept trials without a score"
_ROWS = "csv, json: a row per team and problem; default: text"
_NAMES = "name speakers who are not of a challenge's data, instead of S1, S2, ..."

_JOBS = "nj cmd log-dir job isolate details"


@dataclass(frozen=True)
class StageVerb:
    """The options of a stage beside those of its tree, and rules for them.

    Attributes
    ----------
    shared : str
        Names of options that several verbs have.
    own : mapping
        Options of this stage, or what differs in it, as `add_argument` takes them.
    kinds : tuple of type
        Dataclasses of options.
    rules : tuple of (str, str, str)
        An option, one that it needs or excludes, and what is said otherwise; `!` before the second
        one: they exclude each other.
    """

    shared: str
    own: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    kinds: tuple[type, ...] = ()
    rules: tuple[tuple[str, str, str], ...] = ()


STAGES: dict[str, StageVerb] = {
    "data": StageVerb(""),
    "check": StageVerb(
        "allow-missing details confirm quick audio audio-table nj format",
        {
            "allow-missing": {"help": _ALLOWED},
            "quick": flag("do not read score files (about 1 s per 10^6 trials)"),
            "audio": flag(_AUDIO),
            "audio-table": path("CSV", "where to write what --audio found, a row per utterance"),
            "nj": {"help": "processes of --audio; default: 1"},
            "format": choice(["text", "csv", "json"], _ROWS),
        },
        rules=(("audio_table", "audio", "--audio-table goes with --audio"),),
    ),
    "train-backend": StageVerb("allow-pipes lda-dim details"),
    "subsets": StageVerb(
        "details anonymized",
        {"anonymized": flag("subsets of anonymized speech (default: original)")},
    ),
    "anonymize": StageVerb(
        f"allow-pipes attackers {_JOBS} anonymizer",
        {"anonymizer": value("NAME", _ANONYMIZER)},
        (McAdamsOptions,),
    ),
    "xvectors": StageVerb(
        f"allow-pipes allow-missing {_JOBS} attackers extractor encoder front-end cache",
        {"extractor": value("NAME", _EXTRACTOR, type=folder_command("kaldi"))},
        rules=(
            ("front_end", "encoder", "--front-end needs --encoder FILE.onnx"),
            ("extractor", "!encoder", "--extractor and --encoder exclude each other"),
        ),
    ),
    "asv-scores": StageVerb(f"allow-missing allow-pipes {_JOBS} attackers"),
    "recognize": StageVerb(f"allow-pipes allow-missing {_JOBS} recognizer"),
    "privacy-metrics": StageVerb(f"{_JOBS} bootstrap seed utt2spk allow-missing metric"),
    "measures": StageVerb(
        f"allow-pipes allow-missing {_JOBS} bootstrap seed cache audio",
        {"audio": choice(["true", "false"], _AUDITED)},
        (MeasureOptions,),
    ),
    "similarity": StageVerb(f"allow-missing allow-pipes {_JOBS}"),
    "identification": StageVerb(
        f"allow-missing allow-pipes {_JOBS} bootstrap seed",
        kinds=(GalleryOptions, AmountOptions),
    ),
    "attributes": StageVerb(
        f"allow-missing allow-pipes {_JOBS} seed attribute",
        {"attribute": value("FILE:COLUMN", _ATTRIBUTE, action="append", default=[])},
        (AttributeOptions,),
    ),
    "collect": StageVerb("allow-missing confirm speaker-names", {"speaker-names": flag(_NAMES)}),
}


def add_stage_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options of a stage."""
    stage = STAGES[name]
    add_tree(parser)
    for one in stage.shared.split():
        parser.add_argument(f"--{one}", **{**SHARED.get(f"--{one}", {}), **stage.own.get(one, {})})
    add_kind(parser, *stage.kinds)


def run_stage(arguments: argparse.Namespace) -> int:
    """Run a stage, once its options are known to go together."""
    given = vars(arguments)
    for option, other, text in STAGES[arguments.verb].rules:
        if given[option] and bool(given[other.lstrip("!")]) == other.startswith("!"):
            arguments.usage_error(text)
    runs = vars(importlib.import_module(".stage_runs", __package__))
    code: int = runs[arguments.verb.replace("-", "_")](arguments)
    return code


def stage_commands(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the verbs that the words after `stage` mean, each with its own words: those of a
    number get the options that they have."""
    from . import parser

    names = [(row.number, name.replace("_", "-")) for row in RECIPE for name in row.names]
    listed = "\n".join(f"  {number:>2}  {name}" for number, name in names)
    one = argparse.ArgumentParser(
        prog="privacy-eval stage",
        description="Run a stage of the recipe over a tree, or all stages of a number.",
        epilog=f"stages:\n{listed}\n\noptions of one: privacy-eval stage NAME --help",
        formatter_class=HelpFormatter,
    )
    one.add_argument("stage", metavar="NAME|NUMBER")
    chosen, others = one.parse_args(words[:1]).stage.replace("_", "-"), list(words[1:])
    verbs = dict.fromkeys(name for number, name in names if chosen in (str(number), name))
    if not verbs:
        one.error(f"no stage {chosen!r} (--help lists them)")
    keys = [f"stage {name}" if name in STAGES else name for name in verbs]
    if not chosen.isdigit():
        return [(keys[0], others)]
    known = {key: parser(key)._option_string_actions for key in keys}
    if unknown := [n for n in option_names(others) if not any(n in own for own in known.values())]:
        one.error(f"unrecognized arguments: {' '.join(unknown)}")
    commands = [(key, _words_of(others, own)) for key, own in known.items()]
    # Those of original speech are stage 3.
    anonymized = ["--anonymized"] * (int(chosen) == stage_number("subsets"))
    return [(k, [*w, *(anonymized if k == "stage subsets" else ())]) for k, w in commands]


def _words_of(words: Sequence[str], options: Collection[str]) -> list[str]:
    """Return the words of some options."""
    kept, keep = [], True
    for word in words:
        keep = word.partition("=")[0] in options if word.startswith("--") else keep
        kept += [word] * keep
    return kept
