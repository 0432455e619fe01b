"""The challenge's `results.txt`, in and out.

Per condition the folder's name, then its metrics indented by two spaces; then
word error rates, pitch correlations and DeID/G_VD (see `format_results_txt`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ..errors import PrivacyEvalError
from ..metrics.caveats import NOT_AVAILABLE, withholding_caveat
from ..metrics.registry import METRICS, Kind, of_kind
from .wer import BLANKS, WerLine, format_wer_line, parse_wer_line

_NUMBER = r"(-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf))"
_PITCH = re.compile(
    rf"(\S+)  Pitch_correlation: mean={_NUMBER} std={_NUMBER}(?: chance={_NUMBER})?"
)
_PITCH_KEYS = ("pitch_correlation_mean", "pitch_correlation_std", "pitch_correlation_chance")
_SET_NAME = re.compile(r"[^\s:]+")
_KEY = re.compile(r"\{([^}]+)\}")
_CAVEAT = "caveat: "
#: Metrics of trial sets.
_SET_KINDS: tuple[Kind, ...] = ("matrices", "utility")


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
    utility: dict[str, Mapping[str, float]] = field(default_factory=dict)
    similarity: dict[str, Mapping[str, float]] = field(default_factory=dict)
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
    results = ResultsTxt()
    names: set[str] = set()
    for where, head, body in _blocks(text, path):
        pitch = _PITCH.fullmatch(head)
        name = f"pitch correlation of {pitch[1]}" if pitch else head
        if name in names:
            raise PrivacyEvalError(f"{where}: duplicate {name}")
        names.add(name)
        if pitch is not None:
            if body:
                raise PrivacyEvalError(f"{body[0][0]}: unexpected after a pitch correlation")
            numbers = (_number(text, where) for text in pitch.groups()[1:] if text)
            values = dict(zip(_PITCH_KEYS, numbers, strict=False))
            results.utility[pitch[1]] = {**results.utility.get(pitch[1], {}), **values}
        elif _SET_NAME.fullmatch(head) is None:
            raise PrivacyEvalError(f"{where}: not a line of a results.txt: {head[:100]!r}")
        elif not body:
            raise PrivacyEvalError(f"{where}: {head} is followed by no value")
        elif head.startswith("ASV-"):
            values, tag = _values(body, "scores")
            results.verification[head] = VerificationBlock(values, tag)
        elif head.startswith("ASR-"):
            body = [(at, line) for at, line in body if not line.startswith(_CAVEAT)]
            results.recognition[head] = [parse_wer_line(line, at) for at, line in body]
        else:
            values, _ = _values(body, "matrices", "utility")
            for key, value in values.items():
                sets = results.similarity if METRICS[key].kind == "matrices" else results.utility
                sets[head] = {**sets.get(head, {}), key: value}
    if not names:
        raise PrivacyEvalError(f"{path}: empty file, expected a results.txt")
    return results


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


def _forms(*kinds: Kind) -> list[tuple[re.Pattern[str], list[str]]]:
    """Patterns of the lines of metrics, and the names of their numbers."""
    forms = []
    for line in (metric.line for kind in kinds for metric in of_kind(kind).values()):
        if line:
            literal = [re.escape(part) for part in _KEY.split(line)[::2]]
            names = _KEY.findall(line)
            numbers = {"tag": "([0A-Z])"}
            parts = [f"(?:{numbers.get(name, _NUMBER)}|{NOT_AVAILABLE})" for name in names]
            joined = "".join(a + b for a, b in zip(literal, [*parts, ""], strict=True))
            forms.append((re.compile(joined), names))
    return forms


def _number(text: str, where: str) -> float:
    """Parse a number. `5e-04` is how one just below 5e-4 is printed, which itself is printed
    as `0.001`: it is taken for that one."""
    value = float(text)
    if math.isinf(value) and not text.endswith("inf"):
        raise PrivacyEvalError(f"{where}: too large a number: {text[:100]!r}")
    return float(np.nextafter(value, 0)) if text == "5e-04" else value


Located = tuple[str, str]


def _blocks(text: str, path: str) -> list[tuple[str, str, list[Located]]]:
    """List unindented lines with the indented ones below them, each with `path:line`."""
    blocks: list[tuple[str, str, list[Located]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        where, stripped = f"{path}:{number}", line.strip(BLANKS)
        if not stripped:
            continue
        if line[0] not in BLANKS:
            blocks.append((where, stripped, []))
        elif not blocks:
            raise PrivacyEvalError(f"{where}: a value before any condition: {stripped[:100]!r}")
        else:
            blocks[-1][2].append((where, stripped))
    return blocks


def _values(body: list[Located], *kinds: Kind) -> tuple[dict[str, float], str | None]:
    """Read the numbers of a block's lines by name, and the ZEBRA category if there is one."""
    values: dict[str, float] = {}
    tag: str | None = None
    forms = _forms(*kinds)
    for where, line in body:
        if line.startswith(_CAVEAT):
            continue
        match, names = next(
            ((m, names) for pattern, names in forms if (m := pattern.fullmatch(line))), (None, [])
        )
        if match is None:
            raise PrivacyEvalError(f"{where}: not a line of a results.txt: {line[:100]!r}")
        for name, text in zip(names, match.groups(), strict=True):
            if text is None:  # not available
                continue
            if name == "tag":
                tag = text
                continue
            if name in values:
                raise PrivacyEvalError(f"{where}: duplicate {name}")
            values[name] = _number(text, where) / (100 if "%" in line else 1)
            if "%" in line and 1 < abs(values[name]) < math.inf:
                raise PrivacyEvalError(f"{where}: more than 100 %: {line[:100]!r}")
    return values, tag
