"""The report in a browser: what its script does, in light and dark, narrow, and on paper."""

import hashlib
import html
import io
import json
import re
import shutil
import subprocess
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import B1, B2, imported

from privacy_eval.metrics import Label
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.answer import answer_picture
from privacy_eval.report.figures.plot import Curve, Panel, Plot
from privacy_eval.report.markup import Markup
from privacy_eval.report.page import Front, Picture, Section, report_page
from privacy_eval.report.table import AVERAGE, Column, Table
from privacy_eval.results.records import merge

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

WIDTH = 400
NO_PICTURE = Markup()
NPM = "https://registry.npmjs.org"
AXE_SHA256 = "9ea2d2d6917da998122bdacfd3b473e31ead53f4b87146c716a12edf89158100"
#: Opens everything, and puts what is wrong into the page.
AXE_RUN = """
for (const details of document.querySelectorAll("details")) details.open = true;
axe.run().then(done => {
  const told = document.createElement("pre");
  told.id = "axe";
  told.textContent = JSON.stringify(done.violations.map(v => [v.id, v.nodes.map(n => n.html)]));
  document.body.append(told);
});
"""

COLUMNS = (Column("Data", align="l"), Column("Gender"), Column("EER, %", r"EER, \%"))
ROWS = (("a|b_1", "female", "9.5"), ("a|b_1", "male", "10.25"), ("c", "female", "2"))
TABLE = Table("t", "Caption", COLUMNS, ((*ROWS, ("c", "male", ""), (AVERAGE, "", "3")),))
BLOCKS = Table(
    "blocks",
    "Of two blocks",
    COLUMNS,
    (ROWS, (("d", "male", "=1+1"), ("d", "female", "-3"), ("e", "male", "4"))),
    headings=(Label("Ignorant"), Label("Informed")),
)

_CELLS = [tuple("n.s." if r != c else "" for c in "ABCDEF") for r in "ABCDEF"]
MATRIX = Table(
    "matrix",
    "Tests of pairs",
    (Column("System", align="l"), *map(Column, "ABCDEF")),
    (tuple((name, *cells) for name, cells in zip("ABCDEF", _CELLS, strict=True)),),
)

#: Wider than paper.
WIDE = Table(
    "wide",
    "Of 40 systems",
    (Column("Named", align="l"), *(Column(f"System {n}") for n in range(1, 41))),
    ((("Row", *(f"{n}.25" for n in range(1, 41))),),),
)

HELPERS = """
const cells = (table, column) => [...document.querySelectorAll(`#tab-${table} tbody tr`)].filter(
  row => !row.hidden && !row.parentElement.hidden && row.cells.length > 1).map(
  row => row.cells[column].textContent);
const head = (table, column) => document.querySelectorAll(`#tab-${table} thead th`)[column];
const select = (table, title) => [...document.getElementById(`tab-${table}`).closest("figure")
  .querySelectorAll("select")].find(s => s.options[0].textContent.startsWith(title));
const pick = (element, value) => {
  element.value = value;
  element.dispatchEvent(new Event("change"));
};
"""

#: Runs in the page after its own script, and puts what it finds into it.
CHECKS = """
const found = {};
found.width = innerWidth;
found.overflow = document.documentElement.scrollWidth - innerWidth;
found.background = getComputedStyle(document.body).backgroundColor;
found.caption = document.querySelector("#tab-t").closest("figure").querySelector("figcaption")
  .offsetWidth;
found.align = [...document.querySelector("#tab-t tbody tr").cells].map(
  cell => getComputedStyle(cell).textAlign);
const box = document.querySelector("#tab-long").parentElement;
document.getElementById("long").querySelector("details").open = true;
box.scrollTop = 500;
box.scrollLeft = 200;
const [corner, outer] = [head("long", 0).getBoundingClientRect(), box.getBoundingClientRect()];
found.sticky = [Math.round(corner.top - outer.top), Math.round(corner.left - outer.left)];
head("t", 2).click();
found.up = cells("t", 2);
head("t", 2).click();
found.down = cells("t", 2);
head("blocks", 2).click();
found.blocks = cells("blocks", 2);
pick(select("t", "Gender"), "female");
found.filtered = cells("t", 0);
found.matrix = document.getElementById("tab-matrix").closest("figure")
  .querySelectorAll("select").length;
found.clipped = [...document.querySelectorAll(".warnings *")].some(
  e => e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY !== "visible");
pick(select("blocks", "Values"), "Informed");
found.block = cells("blocks", 0);
const copies = [];
document.execCommand = () => copies.push(document.querySelector("textarea").value);
const tools = document.querySelector("#tab-t").closest("figure");
for (const button of tools.querySelectorAll("button")) button.click();
for (const kind of ["CSV", "LaTeX"]) {
  copies.push(contents(document.getElementById("tab-blocks"), kind));
}
found.copies = copies;
const closed = document.querySelector("#folded details");
found.closed = closed.open;
location.hash = "#tab-hidden";
follow();
found.opened = closed.open;
pick(document.querySelector("div.select select"), "DET");
found.figures = [...document.querySelectorAll("figure[data-f]")].map(f => f.hidden);
const chosen = select("t", "Gender");
found.address = decodeURIComponent(location.hash);
found.name = chosen.name;
found.values = values(document.querySelector("svg[data-b]"), 280);
const result = document.createElement("pre");
result.id = "found";
result.textContent = JSON.stringify(found);
document.body.append(result);
"""


def page(picture: Markup = NO_PICTURE) -> str:
    line = Curve(np.array([0.0, 1.0]), np.array([0.0, 10.0]), "S & T")
    plot = Plot(
        ((Panel((line,), "x", "y", (0.0, 1.0), (0.0, 10.0), y_scale="log10", title="Errors"),),)
    )
    pictures = tuple(Picture(None, k, plot, (k, "")) for k in ("DET", "ECE"))
    long = Table("long", "Long", (Column("System", align="l"), *map(Column, "abcdefghijkl")), ())
    rows = tuple((f"a long name {n}", *("12.345" for _ in range(12))) for n in range(90))
    hidden = Table("hidden", "Hidden", COLUMNS, (ROWS,))
    return report_page(
        "Title",
        [
            Section("Tables", tables=(TABLE, BLOCKS, MATRIX, WIDE)),
            Section("Long", tables=(Table("long", "Long", long.columns, (rows,)),), folded=True),
            Section("Folded", ("Words of a closed section.",), (hidden,), folded=True),
            Section(
                "Curves",
                parts=(Section("Set", pictures=pictures),),
                facets=("Figure", "Attack model"),
            ),
        ],
        Front(
            (("Fact", "1"),),
            "A verdict.",
            (("S", ("A sentence.",)),),
            (("A warning", ("An item of it.",)), ("Of many", ("one of many, " * 40,))),
            tables=(Table("ranking", "The ranking", COLUMNS, (ROWS,)),),
            answer="An answer.",
            picture=picture,
            cautions=("A caution.",),
        ),
    )


def browse(
    folder: Path, text: str, *options: str, at: str = ""
) -> subprocess.CompletedProcess[str]:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    common = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
    profile = f"--user-data-dir={folder / 'profile'}"
    return subprocess.run(
        [str(CHROMIUM), *common, profile, *options, path.as_uri() + at],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=600,
        cwd=folder,
    )


def console(run: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in run.stderr.splitlines() if ":CONSOLE" in line]


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the checks find in a narrow, dark window."""
    folder = tmp_path_factory.mktemp("browser")
    text = re.sub("script-src '[^']*'", "script-src 'unsafe-inline'", page())
    text = text.replace("</body>", f"<script>{{{HELPERS}{CHECKS}}}</script></body>")
    dark = "--blink-settings=preferredColorScheme=0"
    run = browse(folder, text, "--dump-dom", f"--window-size={WIDTH},800", dark)
    match = re.search('<pre id="found">(.*?)</pre>', run.stdout, re.DOTALL)
    assert match is not None, console(run) or run.stderr[-2000:]
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    return found


def test_tables_sort_with_averages_last(found: dict[str, Any]) -> None:
    assert found["up"] == ["2", "9.5", "10.25", "", "3"]
    assert found["down"] == ["10.25", "9.5", "2", "", "3"]
    assert found["blocks"] == ["2", "9.5", "10.25", "-3", "=1+1", "4"]  # blocks stay apart


def test_tables_are_filtered(found: dict[str, Any]) -> None:
    assert found["filtered"] == ["a|b_1", "c"]
    assert sorted(found["block"]) == ["d", "d", "e"]
    assert found["matrix"] == 0


def test_the_address_keeps_the_filters(found: dict[str, Any], tmp_path: Path) -> None:
    place, _, query = found["address"].partition("?")
    assert place == "#tab-hidden" and f"{found['name']}=female" in query.split("&")
    text = re.sub("script-src '[^']*'", "script-src 'unsafe-inline'", page())
    shown = "setTimeout(() => { document.title = cells('t', 0).join(); }, 100)"
    text = text.replace("</body>", f"<script>{HELPERS}{shown}</script></body>")
    run = browse(
        tmp_path, text, "--dump-dom", "--virtual-time-budget=2000", at=f"#?{found['name']}=female"
    )
    assert "<title>a|b_1,c</title>" in run.stdout


def test_no_rule_of_accessibility_is_broken(tmp_path: Path) -> None:
    """Of the page with everything open, and the picture of the first screen on it."""
    name = "axe-core-4.10.2.tgz"
    try:
        with urllib.request.urlopen(f"{NPM}/axe-core/-/{name}", timeout=60) as answer:
            packed = answer.read()
    except OSError as error:
        pytest.skip(f"{name} cannot be fetched: {error}")
    assert hashlib.sha256(packed).hexdigest() == AXE_SHA256
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        file = archive.extractfile("package/axe.min.js")
        assert file is not None
        axe = file.read().decode().replace("</script", "<\\/script")
    results = merge([imported(B1, system="one"), imported(B2, system="two")])
    picture = answer_picture(ReportData(results, cells_from_results(results)), {})
    text = page(picture)
    text = re.sub("script-src '[^']*'", "script-src 'unsafe-inline'", text)
    text = text.replace("</body>", f"<script>{axe}</script><script>{AXE_RUN}</script></body>")
    run = browse(tmp_path, text, "--dump-dom", "--virtual-time-budget=60000")
    match = re.search('<pre id="axe">(.*?)</pre>', run.stdout, re.DOTALL)
    assert match is not None, run.stderr[-2000:]
    found = json.loads(html.unescape(match[1]))
    assert found == [], found


def test_warnings_are_never_clipped(found: dict[str, Any]) -> None:
    assert found["clipped"] is False


def test_what_is_shown_is_copied(found: dict[str, Any]) -> None:
    latex, csv, markdown, blocks, one_block = found["copies"]
    assert latex.startswith("\\begin{tabular}{llr}") and "Data & Gender & EER, \\% \\\\" in latex
    assert r"a\textbar{}b\_1 & female & 9.5 \\" in latex and "male &" not in latex.replace(
        "female", ""
    )
    assert csv.splitlines() == ['Data,Gender,"EER, %"', "a|b_1,female,9.5", "c,female,2"]
    assert markdown.splitlines()[1:3] == ["| :-- | :-- | --: |", r"| a\|b\_1 | female | 9.5 |"]
    assert "Informed,d,male,'=1+1" in blocks.splitlines()  # no formula of a spreadsheet
    assert "Informed,d,female,-3" in blocks.splitlines()
    # What every row would repeat is said once.
    assert one_block.startswith("% Informed\n\\begin{tabular}{lll}\n")
    assert one_block.count("Informed") == 1


def test_links_open_closed_sections(found: dict[str, Any]) -> None:
    assert (found["closed"], found["opened"]) == (False, True)


def test_figures_are_selected_and_tell_values(found: dict[str, Any]) -> None:
    assert found["figures"] == [False, True]
    assert found["values"] == ["0.500", "S & T: 1.00e+5"]  # the middle of 10^0 to 10^10


def test_narrow_and_dark(found: dict[str, Any]) -> None:
    assert found["width"] <= 500 and found["overflow"] <= 0
    assert found["caption"] > 0.8 * found["width"] - 60
    assert max(map(int, re.findall(r"\d+", found["background"])[:3])) < 64
    assert found["align"] == ["left", "left", "right"]
    assert max(map(abs, found["sticky"])) <= 2  # the head and first column, after scrolling


def test_printed_without_closed_sections_and_errors(tmp_path: Path) -> None:
    """The page as it is, under its own policy."""
    out = tmp_path / "page.pdf"
    run = browse(tmp_path, page(), f"--print-to-pdf={out}", "--no-pdf-header-footer")
    assert out.is_file(), run.stderr[-2000:]
    assert console(run) == []
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    printed = subprocess.run(
        ["pdftotext", str(out), "-"], capture_output=True, text=True, check=True
    ).stdout
    for words in ("A verdict.", "A warning", "An item of it.", "Folded (not printed"):
        assert words in " ".join(printed.split())
    for words in ("Words of a closed section.", "a long name 89", "one of many", "copy LaTeX"):
        assert words not in printed
    first, details, *others = printed.split("\f")
    assert "An answer." in first and "A caution." in first and "A verdict." not in first
    for words in ("A verdict.", "A warning", "A sentence.", "The ranking"):
        assert words in details
    assert "Fact" in printed and "Fact" not in first
    assert "Of two blocks" in others[0]  # the sections begin on a page of their own
    assert "Of two blocks" not in details
    # A part for each third of the columns, with what names the rows.
    assert [printed.count(word) for word in ("Of 40 systems", "Named", "40.25")] == [1, 3, 1]
