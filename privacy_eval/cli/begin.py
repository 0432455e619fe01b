"""Verbs to begin with: a recipe of one's own, a self-test, simulated data."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PrivacyEvalError, UsageError, abbreviate
from ..options import flag, one_of, path, value
from .options import Options, log, print_found, progress

if TYPE_CHECKING:
    from .selftest import Case

_LIKE = "default: 12, or, from 2022 on, as in the challenge"
_SPEAKERS = f"trial speakers per trial set; a third more are enrolled ({_LIKE})"
_DEMO = re.compile(r"# --- demo.*?# --- end of demo\n\n", re.S)


def _size(name: str, default: int | None, help: str) -> Options:
    """Describe the option of a size of the demo tree."""

    def size(text: str) -> int:
        from ..simulate import DEMO_SIZES

        return one_of(DEMO_SIZES[name])(text)

    return value("N", help, type=size, default=default)


VERBS: dict[str, Options] = {
    "init": {
        "example": "mine --conf vpc2024",
        "directory": path("DIR", "new or empty folder"),
        "--conf": {
            "help": "bundled protocol to start from: vpc2020, ...",
            "default": "vpc2020",
        },
        "--demo": flag("let run.sh simulate two systems and evaluate them"),
    },
    "selftest": {
        "example": "--format json",
        "shared": "format",
    },
    "demo-tree": {
        "example": "tree --speakers 4 --utterances 3 --systems 20",
        "shared": "seed",
        "directory": path("DIR"),
        "--conf": {"default": "vpc2020", "help": "protocol: one of conf/, or a YAML file"},
        "--speakers": _size("speakers", None, _SPEAKERS),
        "--utterances": _size("utterances", None, f"utterances per speaker ({_LIKE})"),
        "--systems": _size("systems", 2, "B1, B2, S3, S4, ... (default: 2)"),
    },
}


def run_init(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import bundled

    if arguments.conf not in bundled():
        raise UsageError(f"--conf: {arguments.conf}: expected one of {', '.join(bundled())}")
    write_recipe(arguments.directory, arguments.conf, demo=arguments.demo)
    command = shlex.quote(f"{arguments.directory}/run.sh")
    tree = "" if arguments.demo else " --tree TREE"
    log(f"{arguments.directory}: created; next: {command}{tree}")
    return 0


def write_recipe(folder: Path, conf: str, *, demo: bool) -> None:
    """Write run.sh, path.sh, cmd.sh and protocol.yaml into a new or empty folder.

    Parameters
    ----------
    folder : Path
    conf : str
        Name of the bundled protocol that protocol.yaml extends.
    demo : bool
        Whether run.sh simulates the tree that it evaluates.

    Raises
    ------
    PrivacyEvalError
        The folder exists and is not an empty directory.
    """
    from ..io.files import atomic_path
    from ..protocol.protocol import load_protocol
    from ..stages.recipe import recipe_of
    from ..version import ROOT

    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise PrivacyEvalError(f"{folder}: exists and is not an empty folder; choose another one")
    template = {path.name: path for path in (ROOT / "recipes/template").iterdir()}
    template["cmd.sh"] = ROOT / "recipes/vpc2020/cmd.sh"
    texts = {name: path.read_text(encoding="utf-8") for name, path in template.items()}
    recipe, run = recipe_of(load_protocol(conf)), texts["run.sh"]
    run = run.replace("recipes/vpc2020/run.sh", recipe)
    texts["run.sh"] = run if demo else _DEMO.sub("", run)
    path = texts["path.sh"].replace("BIN", shlex.quote(str(_command_folder())))
    texts["path.sh"] = path.replace("ROOT", shlex.quote(str(ROOT)))
    protocol = texts["protocol.yaml"].replace("NAME", conf)
    texts["protocol.yaml"] = protocol.replace("CONF", str(ROOT / "conf"))
    for name, text in texts.items():
        with atomic_path(folder / name) as new:
            new.write_text(text, encoding="utf-8")
        if os.access(template[name], os.X_OK):
            readable = (folder / name).stat().st_mode
            (folder / name).chmod(readable | (readable & 0o444) >> 2)


def _command_folder() -> Path:
    """Return the folder of the command privacy-eval of this installation."""
    places = [os.path.dirname(os.path.abspath(sys.argv[0])), os.path.dirname(sys.executable)]
    search = os.pathsep.join([*places, os.environ.get("PATH", os.defpath)])
    command = shutil.which("privacy-eval", path=search)
    if command is None:
        raise PrivacyEvalError("the command privacy-eval is not on the PATH")
    return Path(command).parent


def run_selftest(arguments: argparse.Namespace) -> int:
    from ..report.single_files import Found, text_table
    from .selftest import run_selftest, summary, versions

    cases = run_selftest()
    failed = [case for case in cases if not case["passed"]]
    plain = {"passed": len(cases) - len(failed), "failed": len(failed), "cases": cases}
    plain |= {"versions": versions(), "summary": summary(cases)}
    notes = ["digits: the fewest decimals that agree, or significant digits of values above 1"]
    for case in failed:
        reason = case.get("error", "{digits} digits agree, {needed} are needed".format(**case))
        notes.append("failed: {name} ({tool}): ".format(**case) + reason)
    notes.append(f"to paste into an issue: {summary(cases)}")
    table = text_table("selftest", "Agreement with other programs", {"": _by_tool(cases)}, notes)
    print_found(Found(plain, cases, [table]), arguments.format)
    return 1 if failed else 0


def _by_tool(cases: list[Case]) -> list[dict[str, str]]:
    """Format a row for each tool and quantity, with the fewest digits of all its data."""

    def tool_and_quantity(case: Case) -> tuple[str, str]:
        return case["tool"], case["name"].split(": ")[-1]

    rows = []
    for (tool, quantity), group in groupby(sorted(cases, key=tool_and_quantity), tool_and_quantity):
        some = list(group)
        names = abbreviate([case["name"] for case in some if not case["passed"]])
        row = {"other program": tool, "quantity": quantity, "cases": str(len(some))}
        row["digits"] = str(min(case["digits"] for case in some))
        rows.append(row | {"failed": names})
    return rows


def run_demo_tree(arguments: argparse.Namespace) -> int:
    from ..protocol.protocol import load_protocol
    from ..simulate import write_demo_tree

    made = write_demo_tree(
        arguments.directory,
        load_protocol(arguments.conf),
        seed=arguments.seed,
        speakers=arguments.speakers,
        utterances=arguments.utterances,
        systems=arguments.systems,
        progress=progress(),
    )
    log(f"{arguments.directory}: {'created' if made else 'already exists'}")
    return 0
