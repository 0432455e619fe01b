#!/usr/bin/env python3
"""Do the tests notice wrong arithmetic? Change metrics, attackers, the pairing of scores and
trials, the reading of results, averages, rankings and the gate at random places, one at a time,
and run their tests.

    pip install cosmic-ray; scripts/mutate.py --mutants 120 --seed 1
    scripts/mutate.py --mutants 120 --seed 1 --only 3 17     some of these mutants again

A place is drawn first, then one of cosmic-ray's changes of it, such as < for <= or 1 for 0; types
are left alone. Tests named after the module run first, then those that import it,
then those of its room, until one fails. A mutant that no test notices is printed with its change:
it is the same program, or a test is missing. Works on a copy: the clone is never changed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import MutationVisitor, mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parents[1]
#: Tests of the modules in each folder.
TESTS = {
    "metrics": ("tests/metrics", "tests/attackers", "tests/asv"),
    "attackers": ("tests/attackers",),
    "disclosure": ("tests/disclosure",),
    "io": ("tests/io",),
    "numbers": ("tests/numbers", "tests/report"),
    "results": ("tests/results", "tests/numbers", "tests/report"),
    "scale": ("tests/scale",),
}
#: The modules of a room that are changed; of other rooms all are.
SOME = {
    "io": ("scores", "text_table"),
    "numbers": ("cells", "means", "challenge_averages", "rankings"),
    "disclosure": (
        "accused",
        "linkage",
        "identification",
        "amount",
        "worst_case",
        "attributes",
        "gate",
    ),
    "results": ("rows", "measurements", "json_store"),
    "scale": ("counts",),
}
#: Changes of the program's form rather than of its numbers.
LEFT_OUT = ("Variable", "RemoveDecorator", "ExceptionReplacer")
SECONDS = 1200
#: What tests import, once for all runs; not the package.
LOADED = ("hypothesis", "numpy", "scipy.optimize", "scipy.special", "scipy.stats")


class Places(MutationVisitor):
    """Collect where an operator can change a module."""

    def __init__(self, operator: object) -> None:
        super().__init__(-1, operator)
        self.found: list[tuple[int, int]] = []

    def visit(self, node: object) -> object:
        self.found += [start for start, _ in self.operator.mutation_positions(node)]
        return node


def modules() -> list[Path]:
    package = ROOT / "privacy_eval"
    found = [p for room in TESTS.keys() - SOME.keys() for p in package.glob(f"{room}/[a-z]*.py")]
    some = (package / f"{room}/{name}.py" for room, names in SOME.items() for name in names)
    return sorted([*found, *some])


def places(module: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """The operators, and the number of the occurrence, by line and column."""
    source = module.read_text(encoding="utf-8")
    tree, still = get_ast(source), set(unchanged_lines(ast.parse(source)))
    found = defaultdict(list)
    for name in operator_names():
        if not any(word in name for word in LEFT_OUT):
            visitor = Places(get_operator(name)())
            visitor.walk(tree)
            for occurrence, place in enumerate(visitor.found):
                if place not in still:
                    found[place].append((name, occurrence))
    return found


def unchanged_lines(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Every place within types, which do not do anything."""
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for inner in ast.walk(part) if part is not None else ():
                if isinstance(inner, ast.BinOp):
                    line, column = inner.left.end_lineno, inner.left.end_col_offset
                    yield from ((line, column + blanks) for blanks in range(3))


def draw(n: int, seed: int) -> list[tuple[Path, tuple[int, int], str, int]]:
    generator = random.Random(seed)
    every = [(m, place, some) for m in modules() for place, some in sorted(places(m).items())]
    drawn = generator.sample(every, n)
    return [(m, place, *generator.choice(some)) for m, place, some in drawn]


def noticed(module: Path, copy: Path) -> bool:
    """Whether a test fails, or does not end."""
    imported = re.compile(rf"^(from|import)\b.*\b{module.stem}\b", re.MULTILINE)
    folders = (copy / folder for folder in TESTS[module.parent.name])
    every = [test for folder in folders for test in sorted(folder.glob("test_*.py"))]
    named = [t for t in every if module.stem in t.name]
    users = [t for t in every if t not in named and imported.search(t.read_text())]
    for tests in ([module, *named], users, [t for t in every if t not in (*named, *users)]):
        run = multiprocessing.get_context("fork").Process(target=run_tests, args=(tests, copy))
        run.start()
        run.join(SECONDS)
        run.kill()
        run.join()
        if run.exitcode:
            return True
    return False


def run_tests(tests: list[Path], copy: Path) -> None:
    """Run tests of the copy in this process, which ends."""
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silent, stream)
    code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *map(str, tests)])
    os._exit(0 if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of mutants")
    arguments = parser.parse_args()
    mutants = list(enumerate(draw(arguments.mutants, arguments.seed), 1))
    wanted = [m for m in mutants if arguments.only is None or m[0] in arguments.only]
    for name in LOADED:
        importlib.import_module(name)
    killed, rooms = 0, {module.parent.name: module for _, (module, *_) in wanted}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".*", "work"))
        for number, (module, (line, _), operator, occurrence) in wanted:
            target = copy / module.relative_to(ROOT)
            source = module.read_text(encoding="utf-8")
            changed = mutate_code(source, get_operator(operator)(), occurrence)
            target.write_text(changed, encoding="utf-8")
            found = noticed(target, copy)
            target.write_text(source, encoding="utf-8")
            killed += found
            where = f"{number}: {module.relative_to(ROOT)}:{line} {operator.split('/')[-1]}"
            print(f"{'killed  ' if found else 'SURVIVED'} {where}", flush=True)
            if not found:
                rooms.pop(module.parent.name, None)
                print(f"    {source.splitlines()[line - 1].strip()}")
                print(f"    {changed.splitlines()[line - 1].strip()}", flush=True)
        for room, module in rooms.items():  # of which no mutant survived
            if noticed(copy / module.relative_to(ROOT), copy):
                raise SystemExit(f"tests of {room} fail without any change")
    print(f"{killed} of {len(wanted)} mutants killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
