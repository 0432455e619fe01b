"""Tables in people's own documents: of one column and two, slides, boxes, other languages."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from latex_support import compiled, needs_latex
from support import ODD_NAME

from privacy_eval.metrics import Label
from privacy_eval.report.latex import to_latex
from privacy_eval.report.table import Column, Style, Table

PACKAGES: dict[Style, str] = {
    "booktabs": r"\usepackage{booktabs}",
    "challenge": r"\usepackage{array,graphicx,colortbl,color,pdflscape}",
}

#: Preambles, and what is around all tables.
DOCUMENTS = {
    "one column": (r"\documentclass{article}", "%s"),
    "12 pt": (r"\documentclass[12pt,a4paper]{article}", r"{\small %s}"),
    "122 x 193 mm": (
        r"\documentclass{article}\usepackage[textwidth=122mm,textheight=193mm]{geometry}",
        "%s",
    ),
    "two columns": (r"\documentclass[twocolumn]{article}\usepackage{hyperref,caption}", "%s"),
    "columns of a text": (
        r"\documentclass{article}\usepackage{multicol}",
        r"\begin{multicols}{2}%s\end{multicols}",
    ),
    "IEEEtran": (r"\documentclass[conference]{IEEEtran}", "%s"),
    "llncs": (r"\documentclass{llncs}", "%s"),
    "elsarticle": (r"\documentclass[preprint,12pt]{elsarticle}", "%s"),
    "slides": (r"\documentclass{beamer}", r"\begin{frame}[allowframebreaks]{A title}%s\end{frame}"),
    "wide slides": (
        r"\documentclass[aspectratio=169]{beamer}",
        r"\begin{frame}[allowframebreaks]{A title}%s\end{frame}",
    ),
    "spanish": (r"\documentclass{article}\usepackage[spanish]{babel}", "%s"),
    "turkish": (r"\documentclass{article}\usepackage[turkish]{babel}", "%s"),
}
CLASSES = {"IEEEtran": "IEEEtran.cls", "llncs": "llncs.cls", "elsarticle": "elsarticle.cls"}
NEEDED = CLASSES | {
    "slides": "beamer.cls",
    "wide slides": "beamer.cls",
    "columns of a text": "multicol.sty",
    "spanish": "spanish.ldf",
    "turkish": "turkish.ldf",
}


def installed(name: str) -> bool:
    found = subprocess.run(["kpsewhich", name], capture_output=True, check=False)
    return found.returncode == 0


def summary(systems: int) -> Table:
    """Many columns, eight rows of each system with intervals, long notes."""
    left = [Column(t, align="l", sparse=t == "System") for t in ("System", "Split", "Attack model")]
    values = [Column(t) for t in ("Conditions", "EER, %", "95 % interval", "min Cllr", "DeID, %")]
    groups = tuple(
        tuple(
            (f"{ODD_NAME} {s}", "Dev. set", "Lazy-informed", "6", f"3{r}.97", "[27.19, 35.89]")
            + ("0.825", "99.0")
            for r in range(8)
        )
        for s in range(systems)
    )
    notes = ("A note of many words that says what the numbers of this table are and are not",) * 4
    return Table("t", "Averages over data sets.", (*left, *values), groups, notes=notes)


def blocks(systems: int) -> Table:
    """A column for each system, of hostile names where there are few, and headings of blocks."""
    names = [f"{ODD_NAME} {s}" if systems < 3 else f"S{s}" for s in range(systems)]
    columns = (Column("Data", align="l", sparse=True), Column("Gender", align="l"))
    rows = tuple((f"Set {r // 2}", "fm"[r % 2], *["45.83"] * systems) for r in range(14))
    title = Label("A heading that is longer than all of the columns, as that of disclosure is, %")
    own = tuple(Column(n, highlight=i == 0, turned=systems > 10) for i, n in enumerate(names))
    bold = frozenset({(0, 2)})
    return Table("t", "Blocks.", (*columns, *own), (rows, rows), (title, Label("EER")), bold)


def document(folder: Path, kind: str, *tables: tuple[Style, Table]) -> str:
    """Compile tables in their styles in a document; return its log."""
    preamble, around = DOCUMENTS[kind]
    for style, table in tables:
        (folder / f"{table.name}.tex").write_text(to_latex(table, style), encoding="utf-8")
    inputs = "\n\n".join(rf"\input{{{table.name}}}" for _, table in tables)
    packages = "".join(PACKAGES[style] for style in dict(tables))
    text = f"{preamble}{packages}\n\\begin{{document}}\n{around % inputs}\n\\end{{document}}"
    (folder / "tables.tex").write_text(text)
    return compiled(folder, runs=2)


@needs_latex
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_tables_fit_every_document(kind: str, tmp_path: Path) -> None:
    """In both styles, in one document."""
    if kind in NEEDED and not installed(NEEDED[kind]):
        pytest.skip(f"{NEEDED[kind]} is not installed")
    tables = (summary(1), summary(6), blocks(2), blocks(12))
    log = document(
        tmp_path,
        kind,
        *(
            (style, replace(t, name=f"{style}{i}"))
            for style in PACKAGES
            for i, t in enumerate(tables)
        ),
    )
    for wrong in ("Overfull", "too large", "multiply defined", "Missing char", "There were undef"):
        assert wrong not in log, wrong


@needs_latex
def test_a_document_chooses_the_float(tmp_path: Path) -> None:
    """In a box and in another float tables are in place; a document may define its own float."""
    (tmp_path / "t.tex").write_text(to_latex(summary(1)))
    own = r"\newcommand{\privacyevalfloat}[1]{\typeout{MINE}\begin{figure}[p]#1\end{figure}}"
    places = (
        r"\begin{figure*}\input{t}\end{figure*}",
        r"\noindent\begin{minipage}{\textwidth}\input{t}\end{minipage}",
    )
    for number, (before, place) in enumerate(
        [("", places[0]), ("", places[1]), (own, r"\input{t}")]
    ):
        text = r"\documentclass{article}\usepackage{booktabs,graphicx}" + before
        text += f"\\begin{{document}}\n{place}\n\\end{{document}}\n"
        (tmp_path / "tables.tex").write_text(text)
        log = compiled(tmp_path, runs=2)
        assert "Overfull" not in log and log.count("MINE\n") == (number == 2)


@needs_latex
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_rows_after_a_page_break_say_what_they_are_of(tmp_path: Path) -> None:
    """Every row once; the first below the titles names its system, on every page."""
    columns = (Column("System", align="l", sparse=True), Column("Attack"), Column("EER"))
    cells = tuple((f"system{n // 30}", f"a{n}", f"{n}.5") for n in range(120))
    log = document(tmp_path, "one column", ("booktabs", Table("t", "c", columns, (cells,))))
    assert "Overfull" not in log and "(3 pages" in log
    run = ["pdftotext", "-layout", "tables.pdf", "-"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    pages = [page.split() for page in done.stdout.split("\f") if page.strip()]
    words = [word for page in pages for word in page]
    assert [w for w in words if w[0] == "a"] == [row[1] for row in cells]
    for page in pages:
        first = page[page.index("EER") + 1 :][:3]
        assert tuple(first) == cells[int(first[1][1:])]
