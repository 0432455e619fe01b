"""Verbs for scripts and shells: completion, and the check of a recipe's options."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from ..errors import PrivacyEvalError, UsageError
from ..options import choice, path
from ..stages.recipe import every_stage, recipe_of, stage_number, stages_of_wings
from ..wings import absent, told
from .options import HelpFormatter, Options, add_options, log, output_folder
from .stages import RECIPE, TREE, names_of_wings, stage_keys

if TYPE_CHECKING:
    from ..protocol.protocol import Protocol

VERBS: dict[str, Options] = {
    "completion": {
        "example": "bash > ~/.local/share/bash-completion/completions/privacy-eval",
        "shell": choice(["bash", "zsh"]),
    },
    "check-options": {
        "example": "exp/privacy_eval/options.conf",
        "file": path("FILE", "options.conf: a line --name=value for each option"),
    },
}


#: Lets zsh use the bash completion function.
_BASHCOMPINIT = "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"

_FUNCTION = """\
_privacy_eval() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words="" start=""
    # bash makes = a word of its own, zsh does not.
    case $word in
        =) word="" ;;
        --*=*) before=${{word%%=*}} start=${{word%%=*}}= word=${{word#*=}} ;;
        *) [ "$before" != = ] || before=${{COMP_WORDS[COMP_CWORD - 2]}} ;;
    esac
    case $word in *,*) start+=${{word%,*}}, word=${{word##*,}} ;; esac
    local verb=${{COMP_WORDS[1]}}
    if [ "$verb" = stage ]; then verb="stage ${{COMP_WORDS[2]}}"; fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs}"
    elif [ "$COMP_CWORD" -eq 2 ] && [ "${{COMP_WORDS[1]}}" = stage ]; then
        words="{stages}"
    else
        case "$verb $before" in
{values}
        esac
        if [ -z "$words" ] && [[ $word == -* ]]; then
            case "$verb" in
{options}
            esac
        fi
    fi
    COMPREPLY=($(compgen -P "$start" -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _privacy_eval privacy-eval
"""


def run_completion(arguments: argparse.Namespace) -> int:
    from . import every_verb, is_of_files

    values, options = [], []
    verbs = [name for name in every_verb() if is_of_files(name)]
    stages = {f"stage {name}": key for name, key in stage_keys().items()}
    for words, key in {**dict(zip(verbs, verbs, strict=True)), **stages}.items():
        named = dict(_options(key))
        options.append(f'"{words}") words="{" ".join(named)}" ;;')
        values += [f'"{words} {n}") words="{" ".join(v)}" ;;' for n, v in named.items() if v]
    text = _FUNCTION.format(
        verbs=" ".join(["stage", *verbs]),
        stages=" ".join(stage_keys()),
        values="\n".join(f"            {line}" for line in values),
        options="\n".join(f"                {line}" for line in options),
    )
    print((_BASHCOMPINIT if arguments.shell == "zsh" else "") + text, end="")
    return 0


def _options(verb: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of every listed option and its choices, if any."""
    from ..metrics import of_kind
    from ..protocol.protocol import bundled
    from ..protocol.published import published_names
    from . import parser

    bundles = {
        "--conf": bundled(),
        "--published": published_names(),
        "--metrics": list(of_kind("scores")),
    }
    for action in parser(verb)._actions:
        if action.help != argparse.SUPPRESS:
            for name in action.option_strings:
                yield name, bundles.get(name, [str(value) for value in action.choices or ()])


#: Beginning of references to functions of this repository, whose stages recipes list themselves.
_OWN = "privacy_eval."


class _Parser(argparse.ArgumentParser):
    """A parser that raises an error, without the usage of a verb that the user did not call."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))


def run_check_options(arguments: argparse.Namespace) -> int:
    from . import parse, parser
    from .config import expand_config, options_of_wings, unknown_options

    recipe = _Parser(allow_abbrev=False, formatter_class=HelpFormatter)
    for part in (TREE, RECIPE):
        add_options(recipe, part)
    config = ["--config", str(arguments.file)]
    verbs = stage_keys().values()
    if unknown := unknown_options(arguments.file, [recipe, *map(parser, verbs)]):
        handed_on = options_of_wings(arguments.file)
        if others := [name for name in unknown if name not in handed_on]:
            raise UsageError(f"unknown option {', '.join(others)}")
        if not absent():
            known = ", ".join(sorted(names_of_wings())) or "none"
            raise UsageError(f"--set: unknown {', '.join(unknown)}; options of wings: {known}")
        log(f"privacy-eval: warning: --set: no stage has {', '.join(unknown)}")
    for line in told():
        if line.startswith("not installed"):
            log(f"privacy-eval: {line}: what it adds is left out")
    options = recipe.parse_args(expand_config("", recipe, config)[1])
    for verb in verbs:
        parse(verb, config, _Parser)
    if options.stop_stage < options.stage:
        raise UsageError(f"--stop-stage {options.stop_stage} comes before --stage {options.stage}")
    code = _check_values(options)
    if code == 0:
        of_others = {n for n, s in stages_of_wings().items() if not s.plan.startswith(_OWN)}
        for row in every_stage():
            if of_others.intersection(row.names):
                print(f"{row.number:2} | {row.names[0]} | {row.what} | {row.flow}")
    return code


def _check_values(options: argparse.Namespace) -> int:
    """Log what does not exist, and return the exit code."""
    from ..protocol.protocol import load_protocol
    from ..protocol.published import load_systems
    from ..stages.attackers import not_installed
    from .inputs import chosen_attackers

    tree, results = options.tree, options.tree / options.results
    try:
        protocol = load_protocol(options.conf, base=tree)
    except PrivacyEvalError as error:
        log(f"privacy-eval: --conf: {error}")
        return 2 if isinstance(error, UsageError) else 1
    if other := _other_edition(options, protocol):
        raise UsageError(other)
    chosen_attackers(options, protocol)
    if left_out := not_installed(protocol):
        log(f"privacy-eval: {left_out}")
    problems = _check_names(options, protocol)
    if options.published:
        try:
            load_systems(options.published)
        except PrivacyEvalError as error:
            problems.append(f"--published: {error}")
    files = {"keys": "folder", "utt2spk": "file"}
    if options.stop_stage >= stage_number("listening"):
        files["ratings"] = "file or folder"
    for name, kind in files.items():
        value = getattr(options, name)
        if value is not None and not (tree / value).exists():
            problems.append(f"--{name}: {tree / value}: no such {kind}")
    for problem in problems:
        log(f"privacy-eval: {problem}")
    if problems:
        return 2
    if options.stage > stage_number("asv_scores") and not results.is_dir():
        raise PrivacyEvalError(f"{results}: no such folder; --results is relative to --tree")
    output_folder(options)
    _log_external_results(options)
    return 0


def _other_edition(options: argparse.Namespace, protocol: Protocol) -> str | None:
    """Describe the edition that the tree looks like, if it is not the bundled one chosen."""
    from ..protocol.protocol import bundled
    from ..tree.discovery import looks_like

    tree = options.tree
    other = (
        looks_like(tree, tree / options.results, protocol) if options.conf in bundled() else None
    )
    if other is None:
        return None
    return (
        f"{tree}: looks like a tree of {other.title}, not of {protocol.title}: "
        f"{recipe_of(other)} --tree {tree} --conf {other.name}"
    )


def _check_names(options: argparse.Namespace, protocol: Protocol) -> list[str]:
    """Check the names of systems, data sets, results folders and anonymization suffixes."""
    from .inputs import check_distractors, load_asv_systems, load_experiment

    anonymizes = options.anonymizer and options.stage <= stage_number("anonymize")
    try:
        check_distractors(options)
        if (options.tree / options.results).exists() and not anonymizes:
            load_experiment(options, needed=False, warn=False)
        else:
            load_asv_systems(options, protocol, anonymized=not anonymizes)
    except UsageError as error:
        return [str(error)]
    except PrivacyEvalError:  # the stage reports it
        pass
    return []


def _log_external_results(options: argparse.Namespace) -> None:
    """Log that the results to show were not made by this user."""
    from ..results.record_files import made_by_user

    path = output_folder(options) / "results.json"
    if options.stage > stage_number("collect") and path.exists() and not made_by_user(path):
        log(
            f"privacy-eval: warning: {path} was not made by this user's recipe, and is shown as "
            f"it is (--stage {stage_number('privacy_metrics')} recomputes it)"
        )
