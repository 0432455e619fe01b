"""Typesetting of tables and figures by LaTeX."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed"
)


def compiled(folder: Path, name: str = "tables.tex", runs: int = 1) -> str:
    """Compile a document; return the log of the last run."""
    log = ""
    for _ in range(runs):
        done = subprocess.run(
            ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", name],
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
