"""The challenge's `results.txt`, in and out, and the summaries of its editions.

`results.txt`: per condition the folder's name, then its metrics indented by two spaces; then
word error rates, pitch correlations and DeID/G_VD (see `format_results_txt`). Earlier revisions
print `EER: 12.34` without `%`, `Cllr (min/act): a b`, values that are not indented or run together,
and the summary of 2022 a name with its value on one line; a file may hold several equal runs.

Summaries: `result_for_rank*` and `results_*.txt` of 2024 and 2026, of every revision, and
`RESULTS_summary_*` of 2022.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..errors import InputWarning, PrivacyEvalError, counted
from ..metrics.caveats import NOT_AVAILABLE, withholding_caveat
from ..metrics.registry import METRICS, Kind, of_kind
from .names import BLANKS
from .wer import WerLine, format_wer_line, parse_wer_line

_NUMBER = r"(-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf))"
_PITCH = re.compile(
    rf"(\S+)[ \t]+Pitch_correlation: mean={_NUMBER} std={_NUMBER}(?: chance={_NUMBER})?"
)
_PITCH_KEYS = ("pitch_correlation_mean", "pitch_correlation_std", "pitch_correlation_chance")
_SET_NAME = re.compile(r"[^\s:]+")
#: An EER of early 2022, without `%`.
BARE_EER = re.compile(r"\bEER: ([0-9]+(?:\.[0-9]*)?)(?![0-9.%ex_])")
#: Kinds of values by the fields of `ResultsTxt`.
_PARTS = ("scores", "rates", "utility", "matrices")
_TAG = "tag"
K = TypeVar("K")
#: Values by name: where it is first, how many are repeated, and the values by key.
Found: TypeAlias = dict[K, tuple[str, int, dict[str, Any]]]
Located: TypeAlias = tuple[str, str]
#: A line's pattern, and the names of its numbers.
Form: TypeAlias = tuple[re.Pattern[str], list[str]]
_KEY = re.compile(r"\{([^}]+)\}")
_CAVEAT = "caveat: "
#: Metrics of trial sets, and all that have lines.
_SET_KINDS: tuple[Kind, ...] = ("matrices", "utility")
_KINDS: tuple[Kind, ...] = ("scores", *_SET_KINDS)


@dataclass(frozen=True)
class VerificationBlock:
    """Metrics of one `ASV-*` folder.

    Attributes
    ----------
    metrics : mapping of str to float
        In stored units: rates as fractions.
    tag : str or None
        ZEBRA category, if given.
    caveats : mapping of str to str
        See `metrics.caveats`; not parsed.
    """

    metrics: Mapping[str, float]
    tag: str | None
    caveats: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultsTxt:
    """Content of a results.txt in file order.

    Attributes
    ----------
    verification : dict of str to VerificationBlock
        By the name of the `ASV-*` folder.
    recognition : dict of str to sequence of WerLine
        By the name of the `ASR-*` folder.
    utility, similarity : dicts of str to mapping of str to float
        Values by trial set: `pitch_correlation_mean`, `_std` and, from `pitch`, `_chance`; `deid`
        (fraction) and `gvd_db` (dB).
    caveats : mapping of str to mapping of str to str
        Of recognition, by the name of the folder; not parsed.
    """

    verification: dict[str, VerificationBlock] = field(default_factory=dict)
    recognition: dict[str, Sequence[WerLine]] = field(default_factory=dict)
    utility: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    similarity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    caveats: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def parse_results_txt(text: str, path: str) -> ResultsTxt:
    """Parse a results.txt.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a line of unknown form, out of place, or duplicate; a name
        without values.

    Examples
    --------
    >>> parse_results_txt("ASV-a\\n  EER: 20.5%\\n", "results.txt").verification["ASV-a"].metrics
    {'eer': 0.205}
    """
    bare = [*BARE_EER.finditer(text)]
    if bare:
        where = f"{path}:{text.count(chr(10), 0, bare[0].start()) + 1}"
        if max(float(match[1]) for match in bare) <= 1:
            raise PrivacyEvalError(f"{where}: fraction or percent? Write % behind EERs in percent")
        said = "EERs without % are ROCCH-EERs, as the script of that revision computes"
        warnings.warn(InputWarning(f"{where}: {said}"), stacklevel=2)
    found: Found[tuple[str, str]] = {}
    for where, head, body in _blocks(text, path):
        for at, part, name, values in _block(where, head, body):
            add_values(found, (part, name), values, at)
    if not found:
        raise PrivacyEvalError(f"{path}: empty file: no results (evaluation stopped?)")
    warn_repeated(path, found)
    scores, rates, utility, similarity = (
        {name: of for (part, name), (*_, of) in found.items() if part == wanted}
        for wanted in _PARTS
    )
    return ResultsTxt(
        {name: VerificationBlock(of, of.pop(_TAG, None)) for name, of in scores.items()},
        {name: [*of.values()] for name, of in rates.items()},
        utility,
        similarity,
    )


def add_values(found: Found[K], key: K, values: Mapping[str, Any], where: str) -> None:
    """Add the values of a name, which may occur again with the same ones: files of several runs.

    Parameters
    ----------
    found : mapping
        By name: where it is first, the number of repeated values, and its values.
    where : str
        Beginning of the message of an error: file and line.

    Raises
    ------
    PrivacyEvalError
        Another value than before.
    """
    first, n_repeated, of = found.setdefault(key, (where, 0, {}))
    repeated = [name for name in values if name in of]
    if others := [name for name in repeated if of[name] != values[name]]:
        said = f"another {others[0]} than at {first}: the file has several runs, keep one"
        raise PrivacyEvalError(f"{where}: {said}")
    found[key] = first, n_repeated + len(repeated), {**of, **values}


def warn_repeated(path: str, found: Found[Any]) -> None:
    """Warn of values that a file has more than once."""
    if n_repeated := sum(n for _, n, _ in found.values()):
        said = f"{counted(n_repeated, 'value')} repeated unchanged (several runs?), counted once"
        warnings.warn(InputWarning(f"{path}: {said}"), stacklevel=3)


def _block(
    where: str, head: str, body: list[Located]
) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Read the lines of a name: yield `path:line`, their kind, the name, and values by key."""
    if pitch := _PITCH.fullmatch(head):
        if body:
            raise PrivacyEvalError(f"{body[0][0]}: unexpected after a pitch correlation")
        numbers = (_number(text, where) for text in pitch.groups()[1:] if text)
        yield where, "utility", pitch[1], dict(zip(_PITCH_KEYS, numbers, strict=False))
    elif _SET_NAME.fullmatch(head) is None:
        raise PrivacyEvalError(f"{where}: not a line of a results.txt: {head[:100]!r}")
    elif not body:
        raise PrivacyEvalError(f"{where}: {head} is followed by no value")
    elif head.startswith("ASR-"):
        rates: dict[str, WerLine] = {}
        for at, line in body:
            key = f"%WER {(rate := parse_wer_line(line, at)).decode}"
            rates[key if key not in rates else f"{key} {at}"] = rate
        yield where, "rates", head, rates
    else:
        forms = _forms("scores") if head.startswith("ASV-") else _forms(*_SET_KINDS)
        for at, line in body:
            for key, value in _values(line, at, forms):
                kind = "scores" if key == _TAG else METRICS[key].kind
                yield at, kind, head, {key: value}


def format_results_txt(results: ResultsTxt) -> str:
    """Format the text that `parse_results_txt` parses, digit for digit the challenge's."""
    lines: list[str] = []
    for name, block in results.verification.items():
        lines.append(name)
        lines += [f"  {line}" for line in format_metrics(block.metrics, block.tag, block.caveats)]
    for name, recognized in results.recognition.items():
        lines += [name, *(f"  {format_wer_line(line)}" for line in recognized)]
        lines += [f"  {_CAVEAT}{reason}" for reason in results.caveats.get(name, {}).values()]
    for name, values in results.utility.items():
        if values.keys() >= set(_PITCH_KEYS[:2]):
            of = (f"{k.rpartition('_')[2]}={values[k]:.4f}" for k in _PITCH_KEYS if k in values)
            lines.append(f"{name}  Pitch_correlation: {' '.join(of)}")
    for name in dict.fromkeys((*results.similarity, *results.utility)):
        values = {**results.similarity.get(name, {}), **results.utility.get(name, {})}
        printed = [f"  {line}" for k in _SET_KINDS for line in format_metrics(values, kind=k)]
        lines += [name, *printed] if printed else []
    return "".join(f"{line}\n" for line in lines)


def format_metrics(
    values: Mapping[str, float],
    tag: str | None = None,
    caveats: Mapping[str, str] = MappingProxyType({}),
    *,
    kind: Kind = "scores",
) -> list[str]:
    """Format the challenge's lines of one condition or trial set.

    A value or category withheld for a caveat, or a missing category, is `n/a`; the reasons follow
    in lines of their own.

    Parameters
    ----------
    values : mapping of str to float
        In stored units; lines of missing metrics are skipped.
    tag : str, optional
        ZEBRA category.
    caveats : mapping of str to str, optional
        See `metrics.caveats`.
    kind : {"scores", "matrices", "utility"}
        Metrics to format.

    Examples
    --------
    >>> format_metrics({"eer": 0.205, "rocch_eer": 0.2})
    ['EER: 20.5%', 'ROCCH-EER: 20.000%']
    """
    lines = []
    withheld: dict[str, None] = {}
    for metric in of_kind(kind).values():
        names = _KEY.findall(metric.line)
        if names and values.keys() >= set(names) - {"tag"}:
            line, graded = metric.line, tag
            for name in set(names) - {"tag"}:
                text = METRICS[name].line_number(values[name])
                if (caveat := withholding_caveat(caveats, name)) is not None:
                    withheld[caveat.reason], graded = None, None
                    text = text if caveat.printed else NOT_AVAILABLE
                line = line.replace(f"{{{name}}}", text)
            line = line.replace("{tag}", graded or NOT_AVAILABLE)
            lines.append(line)
    return [*lines, *(f"{_CAVEAT}{reason}" for reason in withheld)]


def _forms(*kinds: Kind) -> list[Form]:
    """Patterns of the lines of metrics, and the names of their numbers."""
    forms, numbers = [], {_TAG: "([0A-Z])"}
    for line in filter(None, (metric.line for kind in kinds for metric in of_kind(kind).values())):
        literal, names = [_literal(part) for part in _KEY.split(line)[::2]], _KEY.findall(line)
        parts = [f"(?:{numbers.get(name, _NUMBER)}|{NOT_AVAILABLE})" for name in names]
        joined = "".join(a + b for a, b in zip(literal, [*parts, ""], strict=True))
        forms.append((re.compile(rf"{joined}[ \t]*"), names))
    return forms


def _literal(part: str) -> str:
    """Make the pattern of what is between numbers; some revisions print no `%`, and a blank for
    `/`."""
    blank = re.sub(r"(\\ )+", "[ \\\\t]+", re.escape(part))
    return "[ \\t]*[/ \\t][ \\t]*" if part == "/" else blank.replace("%", "%?")


def _number(text: str, where: str) -> float:
    """Parse a number. `5e-04` is how one just below 5e-4 is printed, which itself is printed
    as `0.001`: it is taken for that one."""
    value = float(text)
    if math.isinf(value) and not text.endswith("inf"):
        raise PrivacyEvalError(f"{where}: too large a number: {text[:100]!r}")
    return math.nextafter(value, 0) if text == "5e-04" else value


def _blocks(text: str, path: str) -> list[tuple[str, str, list[Located]]]:
    """List names with the values below or behind them, each with `path:line`."""
    known = (metric.line for kind in _KINDS for metric in of_kind(kind).values() if metric.line)
    label = "|".join(("%WER ", *(_literal(_KEY.split(line)[0]) for line in known)))
    named = re.compile(rf"([^\s:]+)[ \t]+((?:{label}).*)")
    value = re.compile(rf"[ \t]|{label}")
    blocks: list[tuple[str, str, list[Located]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        where, stripped = f"{path}:{number}", line.strip(BLANKS)
        if not stripped or stripped.startswith(_CAVEAT):
            continue
        if value.match(line) is None:
            both = named.fullmatch(stripped)
            blocks.append((where, both[1], [(where, both[2])]) if both else (where, stripped, []))
        elif not blocks:
            raise PrivacyEvalError(f"{where}: a value before any condition: {stripped[:100]!r}")
        else:
            blocks[-1][2].append((where, stripped))
    return blocks


def _values(line: str, where: str, forms: Sequence[Form]) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a line by name, and the ZEBRA category, `tag`."""
    rest = line
    while rest:  # several may run together
        match, names = next(((m, n) for form, n in forms if (m := form.match(rest))), (None, []))
        if match is None:
            raise PrivacyEvalError(f"{where}: not a line of a results.txt: {line[:100]!r}")
        rest = rest[match.end() :]
        for name, text in zip(names, match.groups(), strict=True):
            if name == _TAG and text:
                yield name, text
            elif text:  # else not available
                unit = 100 if f"{{{name}}}%" in METRICS[name].line else 1
                value = _number(text, where) / unit
                if unit > 1 and 1 < abs(value) < math.inf:
                    raise PrivacyEvalError(f"{where}: more than 100 %: {line[:100]!r}")
                yield name, value


class TableForm(NamedTuple):
    """Form of a table: its heading, and the columns that identify a row and that hold values (a
    regular expression)."""

    heading: str
    identity: tuple[str, ...]
    values: str


_ASV = ("dataset", "split", "gender", "enrollment", "trial")
_EMOTIONS = "UAR|ACC_(?:ang|hap|neu|sad)"
#: A table of 2024 before March, which does not tell what its ASV model was trained on.
UNTOLD = "asv"
#: Forms of tables by kind; of those with the same columns, the first is that of CSV.
TABLES = {
    UNTOLD: TableForm("ASV results", _ASV, "EER"),
    "asv_orig": TableForm("ASV_eval results", _ASV, "EER"),
    "asv_anon": TableForm("ASV_eval^anon results", _ASV, "EER"),
    "asr": TableForm("ASR results", ("dataset", "split", "asr"), "WER"),
    "folds": TableForm("", ("dataset", "split", "fold", "ser"), _EMOTIONS),  # of CSV
    "ser": TableForm("SER results", ("dataset", "split", "ser"), _EMOTIONS),
}
#: What a file states beside a value: an interval, or what is over the folds of UAR.
_STATED = re.compile("[-_](?=(?:ci[-_](?:lower|upper)|min|max|std)$)")
_STATISTICS = ("mean", "min", "max", "std")
_HEADING = re.compile(r"-{2,9} *(?:Time\b.{0,40}?|(?P<heading>[^- ].{1,60}?)) *-{2,9}")
_PERCENT = re.compile(r"[0-9]{1,5}(?:\.[0-9]{0,17})?(?:[eE][-+]?[0-9]{1,2})?", re.ASCII)
_MISSING = ("nan", "NaN", "None", "<NA>", "NA", "n/a")


def fraction(percent: float) -> float:
    """Divide by 100 without more digits than were printed."""
    return float(Decimal(repr(percent)) / 100)


@dataclass(frozen=True)
class SummaryRow:
    """A row of a table: location, identifying cells, and values in percent by column; what the file
    states beside a value is named as in `UAR-min`, `EER-ci_lower`."""

    where: str
    identity: tuple[str, ...]
    values: Mapping[str, float]

    def stated(self) -> dict[str, float]:
        """Return what the file states beside its values, as fractions."""
        return {name: fraction(value) for name, value in self.values.items() if "-" in name}


@dataclass(frozen=True)
class SummaryTable:
    """A table of a summary.

    Attributes
    ----------
    kind : str
        `ser`, `asr`, `asv_orig`, `asv_anon` (attacker trained on anonymized speech), or `asv`
        (not told).
    rows : tuple of SummaryRow
        What identifies each: data set, split, gender, enrollment and trial speech, or data
        set, split and speech.
    run : int
        Number of `Time` lines before it.
    """

    kind: str
    rows: tuple[SummaryRow, ...]
    run: int

    @property
    def content(self) -> tuple[tuple[Sequence[str], tuple[tuple[str, float], ...]], ...]:
        """The cells of all rows."""
        return tuple((row.identity, tuple(row.values.items())) for row in self.rows)


def parse_rank(text: str, path: str) -> list[SummaryTable]:
    """Parse a `result_for_rank*` or one of its parts.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a heading, column or row of another form.
    """
    tables: list[SummaryTable] = []
    run, kind, at = 0, "", ""
    body: list[tuple[str, str]] = []
    headings = {form.heading: kind for kind, form in TABLES.items() if form.heading}
    for number, line in enumerate([*text.split("\n"), "---- Time ----"], start=1):
        where, line = f"{path}:{number}", " ".join(line.split())
        if match := _HEADING.fullmatch(line):
            if kind:
                tables.append(SummaryTable(kind, _rows(kind, body, at), run))
            run += match["heading"] is None
            kind, at, body = headings.get(match["heading"] or "", ""), where, []
            if match["heading"] and not kind:
                expected = ", ".join(headings)
                raise PrivacyEvalError(f"{where}: unknown heading {line[:80]!r} (not {expected})")
        elif line and kind:
            body.append((where, line))
        elif line:
            raise PrivacyEvalError(f"{where}: expected '---- ... ----', found {line[:80]!r}")
    if not any(table.rows for table in tables):
        raise PrivacyEvalError(f"{path}: no results: no table has rows (evaluation stopped?)")
    return tables


def _rows(kind: str, body: Sequence[tuple[str, str]], where: str) -> tuple[SummaryRow, ...]:
    """Parse the lines of a table below its heading."""
    if len(body) < 2 or body[0][1] == "Empty DataFrame":
        warnings.warn(InputWarning(f"{where}: {TABLES[kind].heading}: no rows"), stacklevel=4)
        return ()
    (at, header), *lines = body
    names, second = header.split(), iter(lines[0][1].split())
    if {*lines[0][1].split()} <= {*_STATISTICS}:
        names = [n if n in TABLES[kind].identity else f"{n}-{next(second, '')}" for n in names]
        del lines[0]
    return table_rows(kind, names, at, ((where, line.split()) for where, line in lines))


def table_rows(
    kind: str, names: Sequence[str], at: str, lines: Iterable[tuple[str, Sequence[str]]]
) -> tuple[SummaryRow, ...]:
    """Make the rows of a table.

    Parameters
    ----------
    kind : str
    names : sequence of str
        The header, in any order, with the statistic of a second line: `UAR-mean`, `UAR-min`.
    at : str
        File and line of the header.
    lines : iterable of (str, sequence of str)
        File and line, and cells, with or without a number before them. One that is nan is left out,
        with a warning; a fold may lack an emotion, which is blank then.
    """
    _, identity, values = TABLES[kind]
    of_recall = kind == "ser"
    columns = [f"UAR-{n}" if of_recall and n in _STATISTICS else n for n in names]
    columns = [_STATED.sub("-", n.removesuffix("-mean")).replace("ci-", "ci_") for n in columns]
    form = re.compile(rf"(?:{values})(?:-(?:ci_lower|ci_upper|min|max|std))?")
    known = (name in identity or form.fullmatch(name) for name in columns)
    needed = {*identity, values.partition("|")[0]}
    if not all(known) or not needed <= {*columns} or len({*columns}) < len(columns):
        raise PrivacyEvalError(
            f"{at}: expected the columns {' '.join(identity)} and {values}, each once, found "
            f"{' '.join(names)[:120]!r}"
        )
    return tuple(_row(kind, columns, cells, where) for where, cells in lines)


def _row(kind: str, columns: Sequence[str], cells: Sequence[str], where: str) -> SummaryRow:
    """Make a row of its cells."""
    if len(cells) == len(columns) + 1 and cells[0].isdecimal():
        cells = cells[1:]
    of, identity = dict(zip(columns, cells, strict=False)), TABLES[kind].identity
    nans = [f"{name} is {text}" for name, text in of.items() if text in _MISSING]
    if nans:
        said = f"{where}: {', '.join(nans)}: left out, so that no average has it (evaluate again)"
        warnings.warn(InputWarning(said), stacklevel=2)
    values = {
        name: float(text) if _PERCENT.fullmatch(text) else math.inf
        for name, text in of.items()
        if not (name in identity or text in _MISSING or (not text and name.startswith("ACC_")))
    }
    highest = 1e6 if kind == "asr" else 100
    if len(cells) != len(columns) or any(value > highest for value in values.values()):
        raise PrivacyEvalError(
            f"{where}: expected {' '.join(columns)}, at most 100 % but for WER, found "
            f"{' '.join(cells)[:120]!r}"
        )
    return SummaryRow(where, tuple(of[name] for name in identity), values)


_AVERAGE = re.compile(r"((?:Weighted a|A)verage [^:]+): (-?\d{1,3}\.\d{3})", re.ASCII)


def summary_averages(text: str) -> Iterator[tuple[int, str, float]]:
    """Yield the line number, title and value of each average of a `RESULTS_summary_*`.

    Examples
    --------
    >>> list(summary_averages("Average WER dev orig: 7.305\\n"))
    [(1, 'Average WER dev orig', 7.305)]
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _AVERAGE.fullmatch(line.strip()):
            yield number, match[1], float(match[2])
