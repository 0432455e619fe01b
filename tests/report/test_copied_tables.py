"""Tables that are copied from the report are escaped like those that are written to files."""

import json
import shutil
import subprocess

import pytest
from support import ROOT

from privacy_eval.io.csv_text import csv_text
from privacy_eval.report.latex import to_latex
from privacy_eval.report.table import Column, Table

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

NAMES = (
    *("[x]", "*star", "=1+1", "\uff1d1+1", ';=HYPERLINK("x","y")', " '=A1", "-x", "a--b,,c"),
    *("{}$&#%_^~<>|\\", "\"'`", "\u2013\u00a7\u2021", "\u00e9\u4e00\U0001f600", "<< 0.01"),
    *("-1.5", "-1.5 [-2.0, inf]", "[0.1, 0.2]", "1e", "inf", "-", "n/a", "a\tb", "a;=b", "B 1"),
)


def copied(kind: str) -> list[str]:
    """The lines of a table with a row per name, as the report's script writes it."""
    script = (ROOT / "privacy_eval/report/report.js").read_text()
    begin, end = script.index("// Cells are escaped as"), script.index("const contents = ")
    rows = json.dumps([[name, "1"] for name in NAMES])
    call = f'written.{kind}(["Name", "Value"], {rows}, ["l", "r"], ["", ""])'
    program = f"{script[begin:end]}\nconsole.log(JSON.stringify({call}));"
    done = subprocess.run(
        [str(NODE), "-"], input=program, capture_output=True, text=True, check=True, timeout=600
    )
    lines = json.loads(done.stdout)
    assert isinstance(lines, list)
    return [line for text in lines for line in text.split("\n")]


def test_latex() -> None:
    columns = (Column("Name", align="l"), Column("Value"))
    text = to_latex(Table("t", "Caption", columns, (tuple((name, "1") for name in NAMES),)))
    lines = copied("LaTeX")
    rows = lines[lines.index("\\midrule") + 1 : lines.index("\\bottomrule")]
    assert len(rows) == len(NAMES)
    assert [row for row in rows if row not in text.splitlines()] == []
    assert rows[0].startswith("{}[x]") and rows[1].startswith("{}*star")


def test_csv() -> None:
    expected = csv_text([("Name", "Value"), *((name, "1") for name in NAMES)])
    assert copied("CSV") == expected.rstrip("\n").split("\n")
