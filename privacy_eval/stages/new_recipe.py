"""Put a recipe of one's own into a folder: scripts that run what is installed, and a protocol."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from ..errors import PrivacyEvalError
from ..io.files import atomic_path
from ..protocol.protocol import load_protocol
from ..version import ROOT
from .recipe import recipe_of

_DEMO = re.compile(r"# --- demo.*?# --- end of demo\n\n", re.S)


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
