"""The stages of the recipe over a tree: `privacy-eval stage NAME|NUMBER`, and their options."""

from __future__ import annotations

import argparse
import functools
import importlib
from collections.abc import Callable, Collection, Sequence

from ..errors import PrivacyEvalError
from ..options import choice, flag, one_of, path, value
from ..stages.options import (
    AmountOptions,
    AttributeOptions,
    GalleryOptions,
    McAdamsOptions,
    MeasureOptions,
    MetricOptions,
)
from ..stages.recipe import every_stage, stage_number, stages_of_wings
from ..wings import of_wings, owner, provided, referred
from .config import NOT_OF_VERBS, option_names
from .options import HelpFormatter, Options, folder_command, log, names_of

_AUDITED = (
    "audit anonymized audio for original speech and faults, true or false (default: audio that "
    "x-vectors in the tree come from)"
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
_NAMES = "name speakers who are not of a challenge's data, instead of S1, S2, ..."

_SUFFIXES = "suffix of anonymized data sets; may be repeated"

_JOBS = "nj cmd log-dir job isolate details"
_READ = f"allow-missing allow-pipes {_JOBS}"


#: The shell that compares stage numbers needs a limit.
STAGE_NUMBERS = range(10**6)
_NUMBER = f"the number of a stage, 0 to {stage_number('listening')}"

#: The options of a tree, its results, systems and outputs, which all stages have.
TREE: Options = {
    "shared": "config tree system keys allow-outside out",
    "--results": {"required": True},
    "--conf": {"default": "vpc2020"},
    "--anon-suffix": {"action": "append", "help": _SUFFIXES},
}
#: What anonymizes.
_ANONYMIZE: Options = {
    "kinds": (McAdamsOptions,),
    "needs": {"anonymizer": "anonymize"},
    "--anonymizer": value("NAME", _ANONYMIZER),
}
STAGES: dict[str, Options] = {
    "data": {},
    "train-backend": {"shared": "lda-dim allow-pipes details"},
    "subsets": {
        "shared": "details",
        "--anonymized": flag("subsets of anonymized speech (default: original)"),
    },
    "anonymize": {"shared": f"attackers allow-pipes {_JOBS}", **_ANONYMIZE},
    "train-encoders": {"shared": f"attackers {_READ}", **_ANONYMIZE},
    "xvectors": {
        "shared": f"encoder front-end cache attackers {_READ}",
        "rules": (
            ("front_end", "encoder", "--front-end needs --encoder FILE"),
            ("extractor", "!encoder", "--extractor and --encoder exclude each other"),
        ),
        "needs": dict.fromkeys(("extractor", "encoder"), "xvectors"),
        "--extractor": value("NAME", _EXTRACTOR, type=folder_command("kaldi")),
    },
    "asv-scores": {"shared": f"attackers {_READ}"},
    "recognize": {"shared": f"recognizer {_READ}", "needs": {"recognizer": "recognize"}},
    "privacy-metrics": {"shared": f"metric {_JOBS}", "kinds": (MetricOptions,)},
    "measures": {
        "shared": f"cache {_READ}",
        "kinds": (MeasureOptions,),
        "needs": dict.fromkeys(("quality", "phones", "audio"), "measures"),
        "--audio": choice(["true", "false"], _AUDITED),
    },
    "similarity": {"shared": _READ},
    "identification": {
        "shared": _READ,
        "kinds": (GalleryOptions, AmountOptions),
        "needs": dict.fromkeys(("sentences", "distractors"), "identification"),
    },
    "attributes": {
        "shared": _READ,
        "kinds": (AttributeOptions,),
        "needs": {"attribute": "attributes"},
        "--attribute": value("FILE:COLUMN", _ATTRIBUTE, action="append", default=[]),
    },
    "collect": {
        "shared": "confirm allow-missing",
        "--speaker-names": flag(_NAMES),
    },
}


#: The options that are looked up, and those that only run.sh reads.
RECIPE: Options = {
    "shared": "utt2spk published distractors attackers",
    "--stage": {"type": one_of(STAGE_NUMBERS, _NUMBER), "default": 0},
    "--stop-stage": {"type": one_of(STAGE_NUMBERS, _NUMBER), "default": STAGE_NUMBERS[-1]},
    "--anonymizer": {},
    "--ratings": path("PATH"),
}


def stage_options() -> dict[str, Options]:
    """Return the options of all stages, also of wings.

    Raises
    ------
    PrivacyEvalError
        A stage of a wing has an option of the recipe.
    """
    added: dict[str, Options] = {}
    for name, stage in stages_of_wings().items():
        kinds = () if stage.options is None else (stage.options,)
        _check_names("stages", name, kinds)
        added[name.replace("_", "-")] = {"shared": _READ, "kinds": kinds, "plan": stage.plan}
    for name, kind in _further_options().items():
        _check_names("options", name, (kind,))
        added[name] = {**STAGES[name], "kinds": (*STAGES[name].get("kinds", ()), kind)}
    return STAGES | added


def _check_names(of: str, name: str, kinds: tuple[type, ...]) -> None:
    """Refuse options of a wing that the recipe has."""
    if taken := names_of({"kinds": kinds}) & _names_of_recipe():
        where = f"wing {owner(of, name)}: stages: {name}: options"
        named = ", ".join(sorted(taken))
        raise PrivacyEvalError(f"{where}: the recipe has {named}; rename the field")


def names_of_wings() -> set[str]:
    """Return the options of the stages of wings."""
    kinds = [stage.options for stage in stages_of_wings().values()]
    return names_of({"kinds": filter(None, (*kinds, *_further_options().values()))})


def _further_options() -> dict[str, type]:
    """Return the dataclasses of options that wings add to stages of the core, by command."""
    return {name: referred(kind) for name, kind in of_wings("options").items()}


@functools.cache
def _names_of_recipe() -> set[str]:
    """Return the options of the recipe, of its stages and of the verbs that show results."""
    from .results import VERBS

    verbs = (VERBS[name] for row in every_stage() for name in row.names if name in VERBS)
    names = set().union(*map(names_of, (TREE, RECIPE, *STAGES.values(), *verbs)))
    return names | {f"--{name}" for name in NOT_OF_VERBS}


def run_stage(arguments: argparse.Namespace) -> int:
    """Run a stage over a tree."""
    runs = vars(importlib.import_module(".stage_runs", __package__))
    row, name = stage_options()[arguments.verb], arguments.verb.replace("-", "_")
    if "plan" in row:
        return int(runs["planned"](arguments, row))
    if run := runs.get(name) or provided(name, needed=False):
        return int(run(arguments))
    log(f"privacy-eval: stage {arguments.verb}: not installed")
    return 0


def stage_keys() -> dict[str, str]:
    """Return the verbs of the stages that are installed by name: `stage NAME`, or that which shows
    results."""
    from . import is_of_files

    known = stage_options()
    names = dict.fromkeys(name.replace("_", "-") for row in every_stage() for name in row.names)
    there = (name for name in names if name in known or is_of_files(name))
    return {name: f"stage {name}" if name in known else name for name in there}


def stage_commands(
    words: Sequence[str], parser_of: Callable[[str], argparse.ArgumentParser]
) -> list[tuple[str, list[str]]]:
    """Return the verbs that the words after `stage` mean, each with its own words: those of a
    number get the options that they have."""
    names = [(row.number, name.replace("_", "-")) for row in every_stage() for name in row.names]
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
    keys_of = stage_keys()
    keys = [keys_of[name] for name in verbs if name in keys_of]
    if not keys:
        log(f"privacy-eval: stage {chosen}: not installed")
    if not chosen.isdigit():
        return [(key, others) for key in keys[:1]]
    options = {key: parser_of(key)._option_string_actions for key in keys}
    every = {name for own in options.values() for name in own}
    if unknown := [name for name in option_names(others) if name not in every]:
        one.error(f"unrecognized arguments: {' '.join(unknown)}")
    commands = [(key, words_of(others, own)) for key, own in options.items()]
    # Those of original speech are stage 3.
    anonymized = ["--anonymized"] * (int(chosen) == stage_number("subsets"))
    return [(k, [*w, *(anonymized if k == "stage subsets" else ())]) for k, w in commands]


def words_of(words: Sequence[str], options: Collection[str]) -> list[str]:
    """Return the words of some options."""
    kept, keep = [], True
    for word in words:
        keep = word.partition("=")[0] in options if word.startswith("--") else keep
        kept += [word] * keep
    return kept
