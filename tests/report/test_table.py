"""Tables as LaTeX, Markdown, text and CSV, and their escapes."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from latex_support import compiled, needs_latex, rows_are_identified
from support import ODD_NAME, cells_of, csv_rows

from privacy_eval.metrics import Label
from privacy_eval.report.latex import escape_latex, latex_document, to_latex
from privacy_eval.report.table import Column, Style, Table
from privacy_eval.report.table_formats import (
    FORMATS,
    escape_markdown,
    in_format,
    to_csv,
    to_html,
    to_markdown,
    to_text,
)

ODD = [
    ODD_NAME,
    r"back\slash",
    "{brace}",
    "a|b",
    r"\input{/etc/passwd}",
    "<script>alert(1)</script>",
    "$x^2_i$ ~ #1",
    "quo\"te's `tick`",
    "Zoë Müller ×",
    "日本語 ✓",
    "\\\\",
    "%",
]


def table(*rows: tuple[str, ...], caption: str = "A caption.", groups: int = 1) -> Table:
    columns = (Column("#"), Column("Name", align="l"), Column("EER, %", rule=True))
    size = max(1, len(rows) // groups)
    parts = tuple(tuple(rows[i : i + size]) for i in range(0, len(rows), size))
    return Table("name", caption, columns, parts)


def latex_rows(text: str) -> list[str]:
    return [line.removesuffix(r" \\") for line in text.splitlines() if line.endswith(r" \\")]


def latex_cells(row: str) -> list[str]:
    """Cells of a row: an & that is not escaped parts them."""
    return re.split(r"(?<!\\) & ", row)


#: What each escape prints, to read LaTeX back.
PRINTED = {
    r"\S{}": "\u00a7",
    r"\allowbreak{}": "",
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\char34{}": '"',
    r"\dag{}": "\u2020",
    r"\ddag{}": "\u2021",
    r"$\approx$": "\u2248",
    r"$\pm$": "\u00b1",
    r"\textendash{}": "\u2013",
    r"\textquotesingle{}": "'",
    r"\textasciigrave{}": "`",
    **{f"\\{c}": c for c in "{}$&#%_"},
}


def printed(latex: str) -> str:
    """What LaTeX prints of escaped text; anything active that is not an escape fails."""
    pattern = "|".join(re.escape(k) for k in sorted(PRINTED, key=len, reverse=True))
    latex = re.sub(r"(?<=[-,])\{\}(?=[-,])", "", latex)  # what keeps ligatures apart
    rest = re.sub(pattern, "", latex)
    assert not re.search(r"[\\{}$&#%_^~]", rest), latex
    return re.sub(pattern, lambda m: PRINTED[m.group()], latex)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20))
@example(r"\input{/etc/passwd}")
@example("50%_team & Co")
def test_latex_prints_any_ascii(text: str) -> None:
    assert printed(escape_latex(text)) == text


@given(st.text(max_size=20))
@example("日本語 ✓ \u202e")
@example("a\nb\r\n\tc\0\x1b[31m")
def test_latex_of_any_text_is_harmless_and_one_line(text: str) -> None:
    escaped = escape_latex(text)
    shown = printed(escaped)
    assert all(
        " " <= c <= "~" or "\u00c0" <= c <= "\u00ff" or c in "\u00a7\u00b1\u2013\u2020\u2021\u2248"
        for c in shown
    )
    assert len(escaped.splitlines()) <= 1


def test_characters_without_a_glyph_are_named() -> None:
    assert escape_latex("日é✓") == "[U+65E5]é[U+2713]"


@pytest.mark.parametrize("text", ["a--b", "a---b", ",,x"])
def test_latex_ligatures_are_kept_apart(text: str) -> None:
    assert not re.search(r"--|,,", escape_latex(text))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain text, 5.2 (a) a-b", "plain text, 5.2 (a) a-b"),
        ("a|b", r"a\|b"),
        ("a_b", r"a\_b"),
        ("<script>", r"\<script\>"),
        ("a & b", r"a \& b"),
        ("[x](http://y)", r"\[x\](http://y)"),
        ("0.5 [-0.1, 0.9]", "0.5 [-0.1, 0.9]"),
        ("[1, 2](http://y)", r"\[1, 2\](http://y)"),
        ("[1, 2][x]", r"\[1, 2\]\[x\]"),
        ("[1, 2]: http://y", r"\[1, 2\]: http://y"),
        ("# title", r"\# title"),
        ("- item", r"\- item"),
        ("+ item", r"\+ item"),
        ("![i](j)", r"!\[i\](j)"),
        ("`code`", r"\`code\`"),
        ("back\\slash", r"back\\slash"),
        ("two\nlines\r\n| x |", r"two lines \| x \|"),
        ("~~out~~ $x$ ^", r"\~\~out\~\~ \$x\$ \^"),
    ],
)
def test_markdown_is_escaped(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@given(st.text(max_size=20))
def test_markdown_of_any_text_is_one_line_without_markup(text: str) -> None:
    escaped = escape_markdown(text)
    assert len(escaped.splitlines()) <= 1
    bare = re.sub(r"\\[\\`*_{}\[\]#+|<>&~$^-]", "", escaped)
    bare = re.sub(r"\[[-\u2212]?[\d.]+, [-\u2212]?[\d.]+\](?![\[(:])", "", bare)
    assert not re.search(r"[\\`*_\[\]#|<>&~$^]", bare)
    shown = "".join(c if c.isprintable() else " " for c in text)
    assert re.sub(r"\\(.)", r"\1", escaped) == " ".join(shown.split())


# --- whole tables


@pytest.mark.parametrize("style", ["challenge", "booktabs"])
@pytest.mark.parametrize("name", ODD)
def test_every_latex_row_has_all_columns(name: str, style: str) -> None:
    text = to_latex(table(("1", name, "5.0"), ("2", "x", "")), style)  # type: ignore[arg-type]
    rows = [latex_cells(row) for row in latex_rows(text)]
    assert [len(row) for row in rows] == [3, 3, 3]
    expected = "".join(f"[U+{ord(c):04X}]" if ord(c) > 255 else c for c in name)
    assert printed(rows[1][1]) == expected
    assert rows[2] == ["2", "x", ""]


@pytest.mark.parametrize("caption", ODD)
def test_a_caption_is_escaped(caption: str) -> None:
    text = to_latex(table(("1", "x", "5"), caption=caption))
    inner = re.search(r"\\privacyevaltable\{name\}\{(.*)\}\{3\}\{clc\}", text)
    printed(inner.group(1))
    assert r"\input" not in text


def test_challenge_style_has_rules_between_groups() -> None:
    rows = [(str(n), "x", "1.0") for n in range(1, 7)]
    text = to_latex(table(*rows, groups=2), "challenge")
    assert r"\let\toprule\hline\def\midrule{\hline\hline}" in text and "{|c|l||c|}" in text
    assert text.splitlines()[0] == r"% needs \usepackage{graphicx}"
    body = text[text.index(r"\textbf{\#} & \textbf{Name} & \textbf{EER, \%}") :]
    assert [block.count(r" \\") for block in body.split(r"\privacyevalblock{3}{}{%")] == [1, 3, 3]


def test_booktabs_style() -> None:
    text = to_latex(table(("1", "x", "1.0"), ("2", "y", "2.0"), groups=2), "booktabs")
    assert text.count("\\privacyevalblock{1}{}{%\n") == 2
    assert r"\privacyevaltable{name}{A caption.}{3}{clc}{%" in text
    assert "|" not in text and r"\hline" not in text and r"\textbf" not in text


@pytest.mark.parametrize("style", ["challenge", "booktabs"])
@pytest.mark.parametrize("rows", [7, 10, 11, 49])
def test_rows_are_in_blocks_that_say_what_they_are_of(rows: int, style: Style) -> None:
    """A block may begin a page: its first row repeats what identifies it."""
    columns = tuple(Column(title, align="l", sparse=True) for title in ("System", "Split"))
    cells = tuple((f"s{n // 12}", f"t{n // 4}", f"a{n}") for n in range(rows))
    text = to_latex(Table("n", "c", (*columns, Column("Attack")), (cells,)), style)
    blocks = re.split(r"\\privacyeval(?:block\{\d+\}\{\}|more\{\d+\})\{%", text)[-20:]
    blocks = [latex_rows(block) for block in blocks if "a" in "".join(latex_rows(block))][-20:]
    found = [[cell.strip() for cell in latex_cells(row)] for block in blocks for row in block]
    values = [row[2] for row in found if re.fullmatch(r"a\d+", row[2])]
    assert values == [row[2] for row in cells]
    bodies = [block for block in blocks if re.fullmatch(r".*a\d+", block[0])]
    assert max(map(len, bodies)) <= 10 and (len(bodies) == 1) == (rows <= 10)
    for block in bodies:
        first = latex_cells(block[0])
        assert tuple(first) == cells[int(first[2][1:])]


@pytest.mark.parametrize(
    ("cell", "latex"),
    [
        ("-1.939", "$-$1.939"),
        ("inf", r"$\infty$"),
        ("-inf", r"$-$$\infty$"),
        ("", ""),
        ("3e-05", "3e-05"),
        ("information", "information"),
        ("[-1.2, 3.4]", "[$-$1.2, 3.4]"),
        ("1.0 [-2.0, inf]", r"1.0 [$-$2.0, $\infty$]"),
        ("-2.6 \u00b1 8.0", r"$-$2.6 $\pm$ 8.0"),
        ("+4.3 \u00b1 8.5", r"+4.3 $\pm$ 8.5"),
        ("2020-1", "2020-1"),
        ("[-x, 3]", "[-x, 3]"),
    ],
)
def test_numbers_and_intervals_in_latex(cell: str, latex: str) -> None:
    row = latex_cells(latex_rows(to_latex(table(("1", "x", cell))))[1])
    assert row[2].strip() == latex


def test_markdown_table() -> None:
    text = to_markdown(table(("1", "a|b", "5.0"), ("2", "<b>", ""), caption="50%_x"))
    caption, blank, head, rule, *rows = text.splitlines()
    assert (caption, blank) == (r"50%\_x", "")
    assert set(rule) <= set("|:-")
    assert [len(re.split(r"(?<!\\)\|", line)) for line in (head, *rows)] == [5, 5, 5]
    assert r"a\|b" in rows[0] and r"\<b\>" in rows[1]


def test_text_table_sets_groups_apart() -> None:
    rows = [(str(n), f"name {n}", "1.0") for n in range(1, 5)]
    lines = to_text(table(*rows, groups=2)).splitlines()
    assert lines[:2] == ["A caption.", ""]
    assert [line.split()[0] if line else "" for line in lines[4:]] == ["1", "2", "", "3", "4"]
    for line, row in zip([x for x in lines[4:] if x], rows, strict=True):
        assert tuple(re.split(r"\s{2,}", line.strip())) == row


@pytest.mark.parametrize("between", ["\n", "\r", "\x0b", "\x1c", "\u2028", "\x1b[31m"])
def test_line_ends_in_cells_keep_all_rows_of_text(between: str) -> None:
    text = to_text(table(("1", f"a{between}b", "5.0"), ("2", "x", "6.0"), ("3", "y", "7.0")))
    assert [value in text for value in ("5.0", "6.0", "7.0")] == [True, True, True]
    assert len(text.splitlines()) == 4 + 3 and "\x1b" not in text


@pytest.mark.parametrize("name", [*ODD, 'a,"b"\nc'])
def test_csv_comes_back(name: str) -> None:
    made = table(("1", name, "5.0"), ("2", "", ""))
    found = cells_of(to_csv([made]), made.name)
    shown = {"Name": " ".join(name.split("\n"))} if name else {}
    assert found == [{"#": "1", **shown, "EER, %": "5.0"}, {"#": "2"}]


def test_formats() -> None:
    made = {form: in_format(table(("1", "x", "2")), form, "challenge") for form in FORMATS}
    assert list(made) == ["latex", "markdown", "text", "csv"]
    assert [*FORMATS.values()] == [".tex", ".md", ".txt", ".csv"]
    assert all(text.endswith("\n") and "x" in text for text in made.values())


def test_a_table_without_rows() -> None:
    empty = Table("n", "c", (Column("a"), Column("b")), ())
    assert len(latex_rows(to_latex(empty))) == 1
    assert to_csv([empty]).count("\n") == 1
    assert to_text(empty).splitlines()[0] == "c"
    assert to_markdown(empty).startswith("c\n\n")


def test_a_document_names_its_files_and_escapes_its_title() -> None:
    text = latex_document(r"50%_x \input{y}", [["a.tex", "b.tex"], ["c.tex"]])
    assert re.findall(r"^\\input\{(.*)\}$", text, re.M) == ["a.tex", "b.tex", "c.tex"]
    assert text.count(r"\clearpage") == 2
    assert r"50\%\_x \textbackslash{}input\{y\}" in text


@needs_latex
@pytest.mark.parametrize("title", [ODD_NAME, "A long title of a protocol " * 12])
def test_the_title_heads_the_page_of_a_turned_table(title: str, tmp_path: Path) -> None:
    turned = Table("t", "c", (Column("x"),), ((("cell",),),), turned=True)
    (tmp_path / "t.tex").write_text(to_latex(turned, "challenge"))
    (tmp_path / "d.tex").write_text(latex_document(title, [["t.tex"]]))
    log = compiled(tmp_path, "d.tex")
    assert "Overfull" not in log and "(1 page," in log


# --- flags, headings, notes, and tables larger than a page


def flagged() -> Table:
    """Two groups with headings, a best cell, a highlighted and a coloured column."""
    columns = (
        Column("Data", align="l", sparse=True),
        Column("Gender"),
        Column("a_b", highlight=True),
        Column("c", colour="red"),
    )
    rows = (("x", "f", "-1.5", "2.0"), ("x", "m", "3.0", ""), ("Mean", "", "0.8", "0.7"))
    return Table(
        "name",
        "A caption.",
        columns,
        (rows, rows[:2]),
        headings=(Label("EER, %"), Label("min Cllr", r"$C$")),
        bold=frozenset({(0, 2), (1, 2), (3, 3)}),
        bold_means="the best of a row",
        highlight_means="ours & co",
        colour_means="red: B2",
        notes=("One note",),
    )


def test_flags_in_latex() -> None:
    lines = to_latex(flagged(), "challenge").splitlines()
    rows = [line for line in lines if line.endswith(r" \\")]
    assert rows == [
        r"\textbf{Data} & \textbf{Gender} & \textbf{a\_b} & \textcolor{red}{\textbf{c}} \\",
        r"x & f & \textbf{$-$1.5} & 2.0 \\",
        r" & m & \textbf{3.0} &  \\",
        r"Mean &  & 0.8 & 0.7 \\",
        r"x & f & $-$1.5 & \textbf{2.0} \\",
        r" & m & 3.0 &  \\",
    ]
    heading = r"\\privacyevalblock\{\d\}\{\\privacyevalheading\{(.*)\}\}\{%"
    assert [h[1] for line in lines if (h := re.fullmatch(heading, line))] == [r"EER, \%", "$C$"]
    assert any(line.endswith(r"{4}{|l|c|>{\columncolor[gray]{0.9}}c|c|}{%") for line in lines)
    below = r"Bold: the best of a row. Shaded: ours \& co. One note. red: B2."
    assert any(below in line for line in lines)


@needs_latex
def test_a_long_heading_does_not_widen_the_table(tmp_path: Path) -> None:
    long = Label("A heading that is longer than all of the columns together are")
    widths = []
    for number, heading in enumerate((Label("EER"), long)):
        text = to_latex(replace(flagged(), headings=(heading, Label("x"))), "challenge")
        text = text.replace(r"\leavevmode\box0", r"\typeout{WIDTH \the\wd0}\leavevmode\box0")
        (tmp_path / "t.tex").write_text(text)
        (tmp_path / f"{number}.tex").write_text(latex_document("x", [["t.tex"]]))
        log = compiled(tmp_path, f"{number}.tex")
        widths.append(float(re.findall(r"WIDTH ([0-9.]+)pt", log)[0]))
    assert widths[1] == pytest.approx(widths[0], abs=0.5)


def test_flags_in_booktabs() -> None:
    """Without colour: submitted systems have a dagger."""
    long = "A heading that is longer than all of the columns together are"
    text = to_latex(replace(flagged(), headings=(Label(long), Label("x"))))
    assert text.splitlines()[0] == r"% needs \usepackage{booktabs}"
    assert r"Data & Gender & a\_b \dag{} & c \\" in text and r"\dag{}: ours \& co." in text
    assert rf"{{\privacyevalheading{{{long}}}}}" in text and r"{\privacyevalheading{x}}" in text
    assert not re.search(r"color|red:", text)


@pytest.mark.parametrize(("columns", "rows", "tables"), [(3, 5, 1), (15, 5, 1), (60, 5, 4)])
def test_booktabs_continues_columns_that_no_page_holds(
    columns: int, rows: int, tables: int
) -> None:
    titles = (Column("Data", align="l"), *(Column(f"s{i}") for i in range(columns)))
    cells = tuple((f"d{n}", *(f"{n}.{i}" for i in range(columns))) for n in range(rows))
    text = to_latex(Table("n", "c", titles, (cells,)))
    calls = re.findall(r"\\privacyevaltable\{n\}\{(.*?)\}\{", text)
    assert abs(len(calls) - tables) <= 1 and calls == ["c", *[""] * (len(calls) - 1)]
    found = [c for row in latex_rows(text) for c in latex_cells(row) if re.match(r"\d", c)]
    assert sorted(found) == sorted(c for row in cells for c in row[1:])


def test_what_identifies_rows_is_in_every_part_with_the_rows_that_have_values(
    tmp_path: Path,
) -> None:
    """Also a column on the right, and the name above an omitted row; a title stays with values."""
    wide = [f"[{n}7.12, {n}9.87]" for n in range(8)]
    blank = [*wide[:4], *[""] * 4]
    columns = (
        *(Column("System", align="l", sparse=True), Column("Split", align="l")),
        *(Column(f"A long title {n}", rule=n == 3) for n in range(8)),
        Column("Gen", identity=True),
    )
    rows = (("B1", "dev", *blank, "f"), ("B1", "dev", *wide, "m"), ("B1", "test", *blank, "f"))
    table = Table("n", "c", columns, (rows, (("B2", "dev", *blank, "f"),)))
    (tmp_path / "t.tex").write_text(to_latex(table))
    assert rows_are_identified(tmp_path / "t.tex") == 1
    *_, last = to_latex(table).split("\\privacyevaltable{n}{")
    assert [latex_cells(row)[:2] for row in latex_rows(last)[1:]] == [["B1", "dev"]]
    assert "Gen" in last and last.count("privacyevalblock{") == 1


def test_flags_in_markdown() -> None:
    parts = to_markdown(flagged()).split("\n\n")
    assert (parts[0], parts[1], parts[3]) == ("A caption.", "**EER, %**", "**min Cllr**")
    first = [[c.strip() for c in line.split("|")[1:-1]] for line in parts[2].splitlines()]
    assert first[0] == ["Data", "Gender", "a\\_b \u2020", "c"]
    assert first[2:] == [
        ["x", "f", r"**\-1.5**", "2.0"],
        ["", "m", "**3.0**", ""],
        ["Mean", "", "0.8", "0.7"],
    ]
    assert parts[5:] == ["Bold: the best of a row.", "\u2020: ours \\& co.", "One note.\n"]


def test_flags_in_text() -> None:
    lines = to_text(flagged()).splitlines()
    assert [line.split() for line in lines[4:]] == [
        ["EER,", "%"],
        ["x", "f", "-1.5*", "2.0"],
        ["m", "3.0*"],
        ["Mean", "0.8", "0.7"],
        [],
        ["min", "Cllr"],
        ["x", "f", "-1.5", "2.0*"],
        ["m", "3.0"],
        [],
        ["*:", "the", "best", "of", "a", "row."],
        ["\u2020:", "ours", "&", "co."],
        ["One", "note."],
    ]


def test_csv_has_every_cell() -> None:
    found = [tuple(row.values()) for row in cells_of(to_csv([flagged()]), flagged().name)]
    assert found == [
        ("EER, %", "x", "f", "-1.5", "2.0"),
        ("EER, %", "x", "m", "3.0"),
        ("EER, %", "Mean", "0.8", "0.7"),
        ("min Cllr", "x", "f", "-1.5", "2.0"),
        ("min Cllr", "x", "m", "3.0"),
    ]


def test_blocks_of_equal_headings_keep_them_in_csv() -> None:
    made = replace(flagged(), headings=(Label("x"), Label("x")))
    found = cells_of(to_csv([made]), made.name)
    assert [row["Block"] for row in found] == ["x"] * len(made.rows)


def test_numbers_and_bounds_are_columns_of_their_own_in_csv() -> None:
    texts = ("2.940 C", "1.5 A [1.0, inf]", "12/12/16", "-0.5?", "\u22121.2 [\u22122, 3]")
    texts += ("0.7 [n/a]",)
    made = Table("t", "c", (Column("x"),), (tuple((text,) for text in texts),))
    rows = csv_rows(to_csv([made]))
    assert [(row["value"], row["low"], row["high"]) for row in rows] == [
        ("2.940", "", ""),
        ("1.5", "1.0", "inf"),
        ("", "", ""),
        ("", "", ""),
        ("-1.2", "-2", "3"),
        ("0.7", "", ""),
    ]


def test_a_comment_is_in_sources_only_and_stays_one() -> None:
    odd = replace(flagged(), comment="boot:1\n\\input{x} --> <script>")
    assert to_latex(odd).splitlines()[-1] == r"% boot:1 \input{x} --> <script>"
    last = to_markdown(odd).splitlines()[-1]
    assert last == r"<!-- boot:1 \input{x} - -&gt; &lt;script&gt; -->"
    assert "boot" not in to_text(odd) + to_csv([odd]) + to_html(odd)


def test_html() -> None:
    text = to_html(flagged())
    assert '<tr><th colspan="4"><span>min Cllr</span></th></tr>' in text
    words, value = '<td class="l">x</td><td class="l">f</td>', '<td class="own"><b>-1.5</b></td>'
    assert f"<tr>{words}{value}<td>2.0</td></tr>" in text
    assert '<p class="note">Shaded: ours &amp; co.</p>' in text


def test_wrapped_cells() -> None:
    columns = (Column("a"), Column("b", wrap=20))
    wide = Table("n", "c", columns, ((("x", "long text"),),))
    assert (
        '<td class="l">x</td><td class="l" style="white-space: normal; min-width: 20em">'
        in to_html(wide)
    )
    assert r"|c|>{\raggedright\arraybackslash}p{20em}|" in to_latex(wide, "challenge")


@pytest.mark.parametrize("name", ODD)
def test_html_is_escaped(name: str) -> None:
    titles = tuple(map(Column, ("#", name, "EER, %")))
    text = to_html(replace(table(("1", name, "5")), columns=titles, caption=name, notes=(name,)))
    known = "table|figure|figcaption|div|thead|tbody|tr|th|td|p"
    given = '(?: (?:id="tab-name"|class="(?:l|note|table|scroll)"|tabindex="0"))*'
    bare = re.sub(f"</?(?:{known}){given}>", "", text)
    assert "<" not in bare and ">" not in bare
    assert not re.search(r"&(?!amp;|lt;|gt;|quot;|#x27;)", bare)


def test_a_wide_table_holds_every_cell() -> None:
    columns = (Column("Data"), *(Column(f"s{i}") for i in range(60)))
    groups = tuple(
        tuple((f"d{g}.{r}", *(f"{g}.{r}.{i}" for i in range(60))) for r in range(30))
        for g in range(3)
    )
    bold = frozenset({(0, 1), (45, 33), (89, 60)})
    big = Table("n", "c", columns, groups, bold=bold, turned=True)
    big = replace(big, headings=tuple(Label(f"h{g}") for g in range(3)))
    text = to_latex(big, "challenge")
    cells = [c for row in latex_rows(text) for c in latex_cells(row)]
    values = [c for c in cells if re.fullmatch(r"(\\textbf\{)?\d+\.\d+\.\d+\}?", c)]
    best = [f"\\textbf{{{value}}}" for value in ("0.0.0", "1.15.32", "2.29.59")]
    assert sorted(c for c in values if "textbf" in c) == best
    plain = [c.removeprefix(r"\textbf{").removesuffix("}") for c in values]
    assert sorted(plain) == sorted(c for group in groups for row in group for c in row[1:])
    assert text.count(r"\privacyevaltable{n}{c}") == text.count("\\privacyevalturned{%\n") == 1
    assert text.splitlines()[0] == r"% needs \usepackage{graphicx,pdflscape}"


@pytest.mark.parametrize("first", ["[x]", "*x"])
def test_no_row_begins_with_what_ends_the_row_before_it(first: str) -> None:
    columns = (Column("a"), Column("b"))
    text = to_latex(Table("n", "c", columns, ((("1", "2"), (first, "2")),)))
    assert latex_rows(text)[1:] == ["1 & 2", f"{{}}{first} & 2"]


def test_paths_in_captions_and_notes_may_break() -> None:
    table = Table("n", "Of /a_b/c.", (Column("x"),), ((("1",),),), notes=("See /d/e.",))
    text = to_latex(table, "booktabs")
    assert r"/\allowbreak{}a\_b/\allowbreak{}c." in text
    assert r"/\allowbreak{}d/\allowbreak{}e." in text
