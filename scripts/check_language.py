#!/usr/bin/env python3
"""Count the sentences that are hard to read, in what users read, against stored limits.

    scripts/check_language.py                       count, and fail above a limit
    scripts/check_language.py --list "first screen" print the sentences of a part that break a rule
    scripts/check_language.py --store               lower the limits to today's counts
    scripts/check_language.py --demo DIR            of this run of the demo, instead of a new one

Parts are the first screen, the rest of the report, the statement and the closing summary of the
demo, `--help` of all verbs, README.md, and docs/. Tables, code, formulas and examples of commands
are no sentences. The limits are those of scripts/language_limits.json: they may fall, never rise.
"""

from __future__ import annotations

import argparse
import html.parser
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tabulate import tabulate

from privacy_eval.cli import every_verb, parser
from privacy_eval.cli.stages import stage_options

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("language_limits.json")

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
#: Numbers, such as 10 000, but not the digits of a name such as B1 or x86_64.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?: 000)*(?:\.\d+)?(?![\w-])")
_PARTICIPLE = re.compile(
    r"\b(?:\w+(?:ed|wn|ught)|chosen|taken|given|made|found|held|read|left|known)"
    r" (?:as|at|by|for|from|in|into|of|on|to|with|without)\b"
)
_HOME_MADE = re.compile(
    r"\b(?:strangers?|somebody|of ours|made anew|in place|lacking|cut out|says? nothing|holders|"
    r"resampl(?:es|ings?)|non-?mated|doubts?)\b",
    re.IGNORECASE,
)

#: Whether a sentence breaks a rule.
RULES: Mapping[str, Callable[[str], bool]] = {
    "over 20 words": lambda text: len(_WORD.findall(text)) + len(_NUMBER.findall(text)) > 20,
    "over 2 numbers": lambda text: len(_NUMBER.findall(text)) > 2,
    "participles": lambda text: len(_PARTICIPLE.findall(text)) > 1 or "having been" in text,
    "of of of": lambda text: bool(re.search(r"(?:\bof\b[^,;:.]*){3}|\bthat of\b", text)),
    "home-made words": lambda text: bool(_HOME_MADE.search(text)),
}

#: By how many sentences a count may exceed its limit where what is said depends on drawn numbers.
_DRAWN = {"report": 4, "statement": 2}

_END = re.compile(r"(?<=[.!?])[)\"”]?\s+(?=[\"“(\[]?[A-Z0-9`*])")
#: Signatures, and options with a list as their value, are code: one word.
_CODE = re.compile(r"privacy_eval [^| ]+(?:\|[^|]+)+\|\w+:[\w+]+|--[a-z-]+ [\w.-]+(?:,[\w.-]+)+")

#: Their full stop ends no sentence.
_ABBREVIATED = re.compile(r"\b(e\.g|i\.e|cf|vs|et al|Fig|Eq|No|dev|approx)\.")


def sentences(text: str) -> Iterator[str]:
    """Split a paragraph into its sentences: what has three words or more."""
    plain = _CODE.sub("code", " ".join(text.split()))
    shielded = _ABBREVIATED.sub(lambda match: match[0].replace(".", "\0"), plain)
    for one in _END.split(shielded):
        if len(_WORD.findall(one)) > 2:
            yield one.replace("\0", ".")


def of_markdown(text: str) -> Iterator[str]:
    """Yield the sentences of a page: no headings, tables, code or comments."""
    text = re.sub(r"^ *```.*?^ *```|^\$\$.*?^\$\$|<!--.*?-->", "\n", text, flags=re.M | re.S)
    text = re.sub(r"^ *(#|\||!\[|<).*$|^(    |\t).*$", "", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "code", text)
    for block in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", text):
        yield from sentences(re.sub(r"^ *(?:[-*>]|\d+\.) |\*", "", block.strip()))


class _Paragraphs(html.parser.HTMLParser):
    """The text of an HTML page, by whether it is of the first screen."""

    BLOCKS = frozenset("p li dd figcaption caption summary section div article details".split())
    NO_TEXT = frozenset("script style svg table nav h1 h2 h3 h4 title".split())

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[bool, list[str]] = {True: [""], False: [""]}
        self._sections: list[bool] = [False]
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in self.NO_TEXT
        if tag == "section":
            self._sections.append(self._sections[-1] or ("id", "answer") in attrs)
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in self.NO_TEXT
        self._break(tag)
        if tag == "section":
            self._sections.pop()

    def _break(self, tag: str) -> None:
        if tag in self.BLOCKS:
            self.found[self._sections[-1]].append("")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.found[self._sections[-1]][-1] += data


def of_page(path: Path) -> dict[bool, list[str]]:
    """Return the sentences of an HTML file, by whether they are of the first screen."""
    page = _Paragraphs()
    page.feed(path.read_text(encoding="utf-8"))
    return {of: [s for text in texts for s in sentences(text)] for of, texts in page.found.items()}


def of_summary(path: Path) -> Iterator[str]:
    """Yield the notes of a closing summary: its lines without columns."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not re.search(r"\S {2,}\S", line.strip()):
            yield from sentences(line)


def of_help() -> Iterator[str]:
    """Yield the sentences of the help of all verbs and their options, each once."""
    names = [*(f"stage {name}" for name in stage_options()), *every_verb()]
    texts: dict[str, None] = {}
    for name in (name for name in names if name != "stage"):
        try:
            one = parser(name)
        except KeyError:  # a stage without a verb on single files
            continue
        examples = re.sub(r"^  .*$", "", one.epilog or "", flags=re.M)  # commands are code
        texts |= dict.fromkeys(filter(None, (one.description, examples)))
        texts |= dict.fromkeys(action.help for action in one._actions if action.help)
    for text in texts:
        yield from sentences(text)


def run_demo(folder: Path) -> Path:
    """Run the demo into a folder, with few bootstrap replicates, and write its statement."""
    made = folder / "demo"
    results, out = (str(made / "results" / name) for name in ("results.json", "statement.html"))
    report = [sys.executable, "-m", "privacy_eval", "report"]
    commands = [
        [str(ROOT / "recipes/demo/run.sh"), "--dir", str(made), "--bootstrap", "50"],
        [*report, "--statement", "--results", results, "--out", out],
    ]
    for command in commands:
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
        if done.returncode:
            sys.exit(f"exit code {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return made / "results"


def parts(results: Path) -> dict[str, list[str]]:
    """Return the sentences of each part."""
    report, statement = of_page(results / "report.html"), of_page(results / "statement.html")
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return {
        "first screen": report[True],
        "report": report[False],
        "statement": [*statement[True], *statement[False]],
        "closing summary": list(of_summary(results / "tables/summary.txt")),
        "help": list(of_help()),
        "README": list(of_markdown((ROOT / "README.md").read_text(encoding="utf-8"))),
        "docs": [s for page in pages for s in of_markdown(page.read_text(encoding="utf-8"))],
    }


def counted(found: Iterable[str]) -> dict[str, int]:
    """Count the sentences that break each rule."""
    found = list(found)
    return {rule: sum(map(breaks, found)) for rule, breaks in RULES.items()}


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--demo", type=Path, help="results of the demo, with statement.html")
    arguments.add_argument("--list", metavar="PART", help="print the sentences that break a rule")
    arguments.add_argument("--store", action="store_true", help="lower the limits")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = parts(given.demo or run_demo(Path(folder)))
    if given.list:
        for sentence in found[given.list]:
            if broken := [rule for rule, breaks in RULES.items() if breaks(sentence)]:
                print(f"[{', '.join(broken)}] {sentence}")
        return 0
    counts = {part: counted(of) for part, of in found.items()}
    limits: dict[str, dict[str, int]] = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    rows = [(part, len(found[part]), *of.values()) for part, of in counts.items()]
    print(tabulate(rows, headers=["part", "sentences", *RULES]))
    if given.store:
        lower = {
            part: {rule: min(n, limits.get(part, {}).get(rule, n)) for rule, n in of.items()}
            for part, of in counts.items()
        }
        LIMITS.write_text(f"{json.dumps(lower, indent=1)}\n")
        return 0
    above = [
        f"{part}: {n} sentences: {rule}, at most {limits[part][rule]}; "
        f'see scripts/check_language.py --list "{part}"'
        for part, of in counts.items()
        for rule, n in of.items()
        if n > limits[part][rule] + _DRAWN.get(part, 0)
    ]
    print("\n".join(above), file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
