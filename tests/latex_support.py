"""Typesetting of tables and figures by LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed"
)


def compiled(folder: Path, name: str = "tables.tex", runs: int = 1) -> str:
    """Compile a document; return the log of the last run, which alone writes the PDF."""
    log = ""
    for run in range(1, runs + 1):
        draft = ["-draftmode"] * (run < runs)
        done = subprocess.run(
            ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", *draft, name],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=600,
        )
        log = (folder / name).with_suffix(".log").read_text(errors="replace")
        assert done.returncode == 0, log[-3000:]
    return log


def well_set_paper(folder: Path) -> None:
    """Compile all tables of a folder in a paper of two columns that loads booktabs alone."""
    tables = sorted(path.name for path in folder.glob("*.tex") if path.name != "tables.tex")
    assert tables
    preamble = (
        r"\documentclass[a4paper,twocolumn]{article}\usepackage[margin=20mm]{geometry}"
        r"\usepackage{booktabs}\begin{document}"
    )
    lines = [preamble, *(rf"\input{{{name}}}\clearpage" for name in tables), r"\end{document}"]
    (folder / "article.tex").write_text("\n".join(lines))
    log = compiled(folder, "article.tex")
    for wrong in ("Overfull", "multiply defined", "Missing char", "too large"):
        assert wrong not in log, wrong


def well_set(folder: Path) -> None:
    """Compile a document of tables twice, without a complaint on their layout or labels."""
    log = compiled(folder, runs=2)
    for wrong in ("Overfull", "undefined", "multiply defined", "Missing char", "too large"):
        assert wrong not in log, wrong


def rows_are_identified(path: Path) -> int:
    """Check that the columns that all parts of a divided table have tell its rows apart, and that
    no continued row lacks values; return the number of divided tables of the file."""
    tables: list[list[str]] = []
    for call in path.read_text(encoding="utf-8").split("\n\\privacyevaltable{")[1:]:
        if not call.partition("}{")[2].startswith("}"):
            tables.append([])
        tables[-1].append(call)
    divided = [parts for parts in tables if len(parts) > 1]
    for parts in divided:
        titles = [cells_of(part.splitlines()[1]) for part in parts]
        named = [n for n, title in enumerate(titles[1]) if all(title in of for of in titles)]
        for number, part in enumerate(parts):
            _identified(path.name, part, titles[number], [titles[1][n] for n in named], number)
    return len(divided)


def _identified(name: str, part: str, titles: list[str], named: list[str], number: int) -> None:
    rows: set[tuple[str, ...]] = set()
    for block in re.split(r"\n\\privacyevalblock", part)[1:]:
        heading, above = block.splitlines()[0].partition("{")[2], [""] * len(titles)
        heading = heading.partition("{")[2]
        for line in block.splitlines():
            if line.endswith(r" \\"):
                cells = cells_of(line)
                above = [cell or of for cell, of in zip(cells, above, strict=True)]
                key = (heading, *(above[titles.index(title)] for title in named))
                assert key not in rows, (name, key)
                rows.add(key)
                filled = [c for c, t in zip(cells, titles, strict=True) if t not in named]
                assert not number or any(filled), (name, line)


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r" \\"))]
