"""The challenge's `results.txt`, in and out.

`results.txt`: per condition the folder's name, then its metrics indented by two spaces; then
word error rates, pitch correlations and DeID/G_VD (see `format_results_txt`). Earlier revisions
print `EER: 12.34` without `%`, `Cllr (min/act): a b`, values that are not indented or run together,
and the summary of 2022 a name with its value on one line; a file may hold several equal runs.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

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
