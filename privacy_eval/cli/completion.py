"""completion: bash and zsh completion, generated from the parsers of the verbs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from .options import choice

EXAMPLE = "bash > ~/.local/share/bash-completion/completions/privacy-eval"

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
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs}"
    else
        case "${{COMP_WORDS[1]}} $before" in
{values}
        esac
        if [ -z "$words" ] && [[ $word == -* ]]; then
            case ${{COMP_WORDS[1]}} in
{options}
            esac
        fi
    fi
    COMPREPLY=($(compgen -P "$start" -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _privacy_eval privacy-eval
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("shell", **choice(["bash", "zsh"]))


def run(arguments: argparse.Namespace) -> int:
    from . import VERBS

    values, options = [], []
    for verb in VERBS:
        named = list(_options(verb))
        options.append(f'{verb}) words="{" ".join(n for n, _ in named)}" ;;')
        values += [f'"{verb} {n}") words="{" ".join(v)}" ;;' for n, v in named if v]
    text = _FUNCTION.format(
        verbs=" ".join(VERBS),
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
