"""The rooms of the package: each imports only from those below it."""

import ast
import functools
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import privacy_eval
from privacy_eval.wings import installed

PACKAGE = Path(privacy_eval.__file__).parent

#: From the top down. What stands in one line does not know of each other.
ROOMS = (
    ("study", "training"),
    ("attackers", "compat", "curves", "disclosure", "editions", "listening")
    + ("organizers", "planning", "reviewing", "scale", "speech", "utility"),
    ("cli",),
    ("report",),
    ("numbers", "simulate", "stages"),
    ("results",),
    ("products",),
    ("tree",),
    ("asv",),
    ("protocol",),
    ("io",),
    ("metrics",),
    ("options", "wings"),
    ("choices", "errors", "version"),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


@functools.cache
def modules() -> dict[tuple[str, ...], Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] != "conf":
            found[parts] = path
    return found


@functools.cache
def imported(module: tuple[str, ...], path: Path) -> list[tuple[str, ...]]:
    """Modules of the package that a module imports, also within functions."""
    known, found = modules(), []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = module[: len(module) - node.level]
            base = (*base, *node.module.split(".")) if node.module else base
            for alias in node.names:
                for target in ((*base, alias.name), base, (*base, "__init__")):
                    if target in known:
                        found.append(target)
                        break
    return found


def test_no_import_goes_up() -> None:
    up = {
        (".".join(module), ".".join(target))
        for module, path in modules().items()
        for target in imported(module, path)
        if module[0] in LEVEL
        and target[0] in LEVEL
        and module[0] != target[0]
        and LEVEL[target[0]] <= LEVEL[module[0]]
    }
    assert not up


def test_every_room_has_its_level() -> None:
    rooms = {module[0] for module in modules()} - {"__init__", "__main__"}
    assert rooms == set(LEVEL)


def test_no_import_goes_in_a_circle() -> None:
    """`__init__` files re-export what is below them; everything else forms no circle."""
    graph = {
        module: {t for t in imported(module, path) if t[-1] != "__init__" and t != module}
        for module, path in modules().items()
        if module[-1] != "__init__"
    }
    graphlib.TopologicalSorter(graph).prepare()


CONTRIBUTING = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_map_shows_the_rooms() -> None:
    rooms = CONTRIBUTING.split("| room |")[1].split("\n\n")[0].splitlines()[2:]
    assert tuple(tuple(re.findall(r"`(\w+)`", line.split("|")[1])) for line in rooms) == ROOMS


def test_modules_that_are_named_exist() -> None:
    for name in re.findall(r"`((?:\w+/)+\w+\.py)`", CONTRIBUTING):
        assert (PACKAGE / name).exists() or (PACKAGE.parent / name).exists(), name


def test_rooms_above_the_command_line_are_the_wings_of_setup_cfg() -> None:
    """A wing imports another only if its object says that it requires it."""
    above = {room for rooms in ROOMS[: ROOMS.index(("cli",))] for room in rooms}
    text = (PACKAGE.parent / "setup.cfg").read_text(encoding="utf-8")
    declared = re.findall(r"^    (\w+) = privacy_eval\.(\w+):WING$", text, re.M)
    assert {name for name, _ in declared} == {room for _, room in declared} == above
    requires = {wing.name: wing.requires for wing in installed()}
    for module, path in modules().items():
        if module[0] in above:
            others = {target[0] for target in imported(module, path)} & above - {module[0]}
            assert others <= {*requires[module[0]]}, module


def test_the_objects_of_wings_import_nothing_heavy() -> None:
    script = (
        "import sys; from privacy_eval import wings; wings.installed()\n"
        "print(sorted(name for name in sys.modules if name.startswith('privacy_eval.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    light = {"errors", "version", "wings", *(f"{w.name}" for w in installed())}
    assert {f"privacy_eval.{name}" for name in light} == {*ast.literal_eval(done.stdout.decode())}
