"""`--config`: options of a verb from a file, as Kaldi's programs have it.

The file is the one that a recipe writes: lines of `--name=value`. The command line wins over it,
and options that the verb does not have are ignored.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import UsageError
from ..io.schema import read_option_lines
from ..stages.recipe import stage_number
from .options import HelpFormatter

#: An option of a file: its name and value.
Option = tuple[str, str]

#: Options of a recipe that are called otherwise by the verbs that show its results.
_RENAMED = {"shown-variant": "variant", "shown-system": "system"}

#: The option of a recipe that hands options on to wings: NAME=VALUE, blank-separated.
_SET = "set"

#: Options of a recipe that no verb has by this name.
NOT_OF_VERBS = (*_RENAMED, _SET)

#: What the verbs that show the results of a recipe write into its output folder.
_OUTPUTS = {
    "tables": "tables",
    "figures": "figures",
    "report": "report.html",
    "listening": "subjective",
}


def expand_config(
    verb: str, parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[Path | None, list[str]]:
    """Return the `--config` file of a command line, and its words with the options of the file
    instead."""
    actions = parser._option_string_actions
    path, others = _split_config(words)
    if path is None or "--config" not in actions:
        return None, list(words)
    options = list(_read(path))
    if verb in _OUTPUTS:
        options = _results_options(verb, options)
    given = option_names(others)
    expanded = []
    for name, value in options:
        action = actions.get(f"--{name}")
        if action is not None and value and f"--{name}" not in given:
            expanded += _words(parser, action, f"--{name}", value)
    return path, expanded + others


def unknown_options(path: Path, parsers: Iterable[argparse.ArgumentParser]) -> list[str]:
    """List the options of a file that none of the verbs has."""
    names = {f"--{name}" for name in _RENAMED}
    names.update(*(parser._option_string_actions for parser in parsers))
    return [f"--{name}" for name, _ in _read(path) if f"--{name}" not in names]


def options_of_wings(path: Path) -> list[str]:
    """List the options of a file that are handed on to wings, whether any has them or not."""
    return [f"--{name}" for name, _ in _handed_on(read_option_lines(path))]


def _read(path: Path) -> Iterator[Option]:
    """Yield the options of a file, and those that `set` hands on."""
    options = read_option_lines(path)
    yield from (one for one in options if one[0] != _SET)
    yield from _handed_on(options)


def _handed_on(options: Iterable[Option]) -> Iterator[Option]:
    for text in (word for name, value in options if name == _SET for word in value.split()):
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--{_SET}: expected NAME=VALUE, not {text!r}")
        yield name.lstrip("-").replace("_", "-"), value


def _split_config(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Return the file that `--config` names, and the other words of a command line."""
    parser = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, formatter_class=HelpFormatter
    )
    parser.add_argument("--config", type=Path)
    arguments, others = parser.parse_known_args(list(words))
    return arguments.config, others


def refuse_repeated(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Refuse an option with one value that is given twice."""
    for name, times in option_names(words).items():
        action = parser._option_string_actions.get(name)
        if times > 1 and isinstance(action, argparse._StoreAction):
            parser.error(f"argument {name}: takes one value, but is given {times} times")


def option_names(words: Sequence[str]) -> Counter[str]:
    """Count the options of a command line by name."""
    options = words[: words.index("--")] if "--" in words else words
    return Counter(word.partition("=")[0] for word in options if word.startswith("--"))


def _words(
    parser: argparse.ArgumentParser, action: argparse.Action, option: str, value: str
) -> list[str]:
    """Return the words of a command line for an option of a file."""
    if action.nargs == 0:
        if value not in ("true", "false"):
            parser.error(f"argument {option}: expected true or false, not {value!r}")
        return [option] * (value == "true")
    if isinstance(action, argparse._AppendAction) and action.nargs is None:
        return [f"{option}={word}" for word in value.split()]
    return [f"{option}={value}"]


def _results_options(verb: str, options: Sequence[Option]) -> list[Option]:
    """Translate the options of a recipe for a verb that shows its results."""
    recipe = dict(options)
    tree = Path(recipe.get("tree", ""))
    out = tree / (recipe.get("out") or Path(recipe.get("results", ""), "privacy_eval"))
    conf = recipe.get("conf", "")
    is_path = "/" in conf or conf.endswith((".yaml", ".yml"))
    translated = {
        "results": str(out / "results.json"),
        "conf": str(tree / conf) if is_path else conf,
        "out": str(out / _OUTPUTS[verb]),
        "log-dir": str(out / "log"),
    }
    if recipe.get("tables"):
        translated["tables"] = " ".join(str(tree / name) for name in recipe["tables"].split())
    ratings = tree / (recipe.get("ratings") or "ratings.csv")
    if ratings.exists():
        translated["ratings"] = str(ratings)
    if verb == "report":
        if (out / "figures").is_dir():
            translated["figures"] = str(out / "figures")
        # Without stage 11, that of an earlier run may be of other results.
        stop = recipe.get("stop-stage", "")
        is_earlier = stop.isdecimal() and int(stop) < stage_number("listening")
        is_there = (out / "subjective").is_dir() and not (out / "failed/listening.txt").exists()
        if ratings.exists() and is_there and not is_earlier:
            translated["listening"] = str(out / "subjective")
    if verb == "listening" and recipe.get("system"):
        translated["any-system"] = "true"  # ratings may include systems that are not evaluated
    replaced = {*translated, *_RENAMED.values(), "ratings", "statement"}
    others = [(_RENAMED.get(name, name), v) for name, v in options if name not in replaced]
    return [*translated.items(), *others]
