"""The challenge's `results.txt`, in and out.

Per condition the folder's name, then its metrics indented by two spaces; then
word error rates, pitch correlations and DeID/G_VD (see `format_results_txt`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import PrivacyEvalError
from .wer import BLANKS, WerLine, format_wer_line, parse_wer_line

_NUMBER = r"(-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf))"
_PITCH = re.compile(rf"(\S+)  Pitch_correlation: mean={_NUMBER} std={_NUMBER}")
_PITCH_KEYS = ("pitch_correlation_mean", "pitch_correlation_std")
_SET_NAME = re.compile(r"[^\s:]+")

_PERCENT = 100
# Pattern of a line, the names of its numbers, and what makes stored units of them.
_VERIFICATION_LINES = (
    (re.compile(rf"EER: {_NUMBER}%"), ("eer",), _PERCENT),
    (re.compile(rf"Cllr \(min/act\): {_NUMBER}/{_NUMBER}"), ("cllr_min", "cllr"), 1),
    (re.compile(rf"ROCCH-EER: {_NUMBER}%"), ("rocch_eer",), _PERCENT),
    (re.compile(rf"linkability: {_NUMBER}"), ("linkability",), 1),
    (re.compile(rf"Population: {_NUMBER} bit"), ("zebra_population",), 1),
    (re.compile(rf"Individual: {_NUMBER} \(([0A-Z])\)"), ("zebra_individual",), 1),
)
_SIMILARITY_LINES = (
    (re.compile(rf"De-Identification : {_NUMBER}"), ("deid",), 1),
    (re.compile(rf"Gain of voice distinctiveness : {_NUMBER}"), ("gvd_db",), 1),
)


@dataclass(frozen=True)
class VerificationBlock:
    """One `ASV-*` folder.

    Attributes
    ----------
    name : str
    metrics : mapping of str to float
        In stored units: rates as fractions.
    tag : str or None
        ZEBRA category where it is given.
    """

    name: str
    metrics: Mapping[str, float]
    tag: str | None


@dataclass(frozen=True)
class RecognitionBlock:
    """One `ASR-*` folder.

    Attributes
    ----------
    name : str
    lines : tuple of WerLine
    """

    name: str
    lines: tuple[WerLine, ...]


@dataclass(frozen=True)
class TrialSetBlock:
    """One trial set.

    Attributes
    ----------
    name : str
    values : mapping of str to float
        `pitch_correlation_mean` and `pitch_correlation_std`, or `deid` (fraction) and
        `gvd_db` (dB).
    """

    name: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class ResultsTxt:
    """Content of a results.txt in file order.

    Attributes
    ----------
    verification : list of VerificationBlock
    recognition : list of RecognitionBlock
    pitch, similarity : lists of TrialSetBlock
    """

    verification: list[VerificationBlock] = field(default_factory=list)
    recognition: list[RecognitionBlock] = field(default_factory=list)
    pitch: list[TrialSetBlock] = field(default_factory=list)
    similarity: list[TrialSetBlock] = field(default_factory=list)


def parse_results_txt(text: str, path: str) -> ResultsTxt:
    """Parse a results.txt.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Returns
    -------
    ResultsTxt

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a line of unknown form, out of place, or duplicate; a name
        without values.

    Examples
    --------
    >>> parse_results_txt("ASV-a\\n  EER: 20.5%\\n", "results.txt").verification[0].metrics
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
            numbers = (_number(text, where) for text in pitch.groups()[1:])
            values = dict(zip(_PITCH_KEYS, numbers, strict=True))
            results.pitch.append(TrialSetBlock(pitch[1], values))
        elif _SET_NAME.fullmatch(head) is None:
            raise PrivacyEvalError(f"{where}: not a line of a results.txt: {head[:100]!r}")
        elif not body:
            raise PrivacyEvalError(f"{where}: {head} is followed by no value")
        elif head.startswith("ASV-"):
            values, tag = _values(body, _VERIFICATION_LINES)
            results.verification.append(VerificationBlock(head, values, tag))
        elif head.startswith("ASR-"):
            lines = tuple(parse_wer_line(line, line_where) for line_where, line in body)
            results.recognition.append(RecognitionBlock(head, lines))
        else:
            values, _ = _values(body, _SIMILARITY_LINES)
            results.similarity.append(TrialSetBlock(head, values))
    if not names:
        raise PrivacyEvalError(f"{path}: empty file, expected a results.txt")
    return results


def format_results_txt(results: ResultsTxt) -> str:
    """Format the text that `parse_results_txt` parses, digit for digit the challenge's.

    Parameters
    ----------
    results : ResultsTxt

    Returns
    -------
    str
    """
    lines: list[str] = []
    for block in results.verification:
        lines.append(block.name)
        lines += [f"  {line}" for line in format_metrics(block.metrics, block.tag)]
    for recognition in results.recognition:
        lines.append(recognition.name)
        lines += [f"  {format_wer_line(line)}" for line in recognition.lines]
    for pitch in results.pitch:
        mean, std = (pitch.values[key] for key in _PITCH_KEYS)
        lines.append(f"{pitch.name}  Pitch_correlation: mean={mean:.4f} std={std:.4f}")
    for similarity in results.similarity:
        lines.append(similarity.name)
        lines += [f"  {line}" for line in similarity_lines(similarity.values)]
    return "".join(f"{line}\n" for line in lines)


def format_metrics(metrics: Mapping[str, float], tag: str | None) -> list[str]:
    """Format the challenge's lines of one condition.

    Parameters
    ----------
    metrics : mapping of str to float
        In stored units; lines of absent metrics are skipped.
    tag : str or None
        ZEBRA category.

    Returns
    -------
    list of str

    Examples
    --------
    >>> format_metrics({"eer": 0.205, "rocch_eer": 0.2}, None)
    ['EER: 20.5%', 'ROCCH-EER: 20.000%']
    """
    lines = []
    if "eer" in metrics:
        lines.append(f"EER: {eer_percent(metrics['eer'])}%")
    if "cllr_min" in metrics and "cllr" in metrics:
        lines.append(f"Cllr (min/act): {metrics['cllr_min']:.3f}/{metrics['cllr']:.3f}")
    if "rocch_eer" in metrics:
        lines.append(f"ROCCH-EER: {100 * metrics['rocch_eer']:.3f}%")
    if "linkability" in metrics:
        lines.append(f"linkability: {metrics['linkability']:f}")
    if "zebra_population" in metrics:
        lines.append(f"Population: {zebra_number(metrics['zebra_population'])} bit")
    if "zebra_individual" in metrics:
        lines.append(f"Individual: {zebra_number(metrics['zebra_individual'])} ({tag})")
    return lines


def similarity_lines(values: Mapping[str, float]) -> list[str]:
    """Format the challenge's lines of a trial set's voice similarity.

    Parameters
    ----------
    values : mapping of str to float
        `deid` (fraction) and `gvd_db` (dB), or one of them.

    Returns
    -------
    list of str
    """
    lines = []
    if "deid" in values:
        lines.append(f"De-Identification : {values['deid']!r}")
    if "gvd_db" in values:
        lines.append(f"Gain of voice distinctiveness : {values['gvd_db']!r}")
    return lines


def eer_percent(eer: float) -> str:
    """Format an EER as Kaldi's compute-eer does: a float32, four digits.

    Parameters
    ----------
    eer : float
        Fraction.

    Returns
    -------
    str
        Percent, without the sign.

    Examples
    --------
    >>> eer_percent(1 / 3)
    '33.33'
    """
    return f"{100.0 * float(np.float32(eer)):.4g}"


def zebra_number(value: float) -> str:
    """Format a number as the ZEBRA toolkit does.

    Parameters
    ----------
    value : float

    Returns
    -------
    str

    Examples
    --------
    >>> [zebra_number(x) for x in (0.375, 3e-5, 0.0)]
    ['0.375', '3e-05', '0']
    """
    if value == 0:
        return "0"
    return f"{value:.3f}" if abs(value) >= 5e-4 else f"{value:.0e}"


def _number(text: str, where: str) -> float:
    """Parse a number. `5e-04` is how one just below 5e-4 is printed, which itself is printed
    as `0.001`: it is taken for that one."""
    value = float(text)
    if math.isinf(value) and not text.endswith("inf"):
        raise PrivacyEvalError(f"{where}: too large a number: {text[:100]!r}")
    return float(np.nextafter(value, 0)) if text == "5e-04" else value


Located = tuple[str, str]


def _blocks(text: str, path: str) -> Iterable[tuple[str, str, list[Located]]]:
    """Yield unindented lines with the indented ones below them, each with `path:line`."""
    block: tuple[str, str, list[Located]] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        where, stripped = f"{path}:{number}", line.strip(BLANKS)
        if not stripped:
            continue
        if line[0] not in BLANKS:
            if block is not None:
                yield block
            block = (where, stripped, [])
        elif block is None:
            raise PrivacyEvalError(f"{where}: a value before any condition: {stripped[:100]!r}")
        else:
            block[2].append((where, stripped))
    if block is not None:
        yield block


def _values(
    body: list[Located], forms: tuple[tuple[re.Pattern[str], tuple[str, ...], int], ...]
) -> tuple[dict[str, float], str | None]:
    """Parse the numbers of a block's lines by name, and the ZEBRA category if there is one."""
    values: dict[str, float] = {}
    tag: str | None = None
    for where, line in body:
        for pattern, names, scale in forms:
            match = pattern.fullmatch(line)
            if match is None:
                continue
            if names[0] in values:
                raise PrivacyEvalError(f"{where}: duplicate {names[0]}")
            numbers = match.groups()[: len(names)]
            values |= {n: _number(x, where) / scale for n, x in zip(names, numbers, strict=True)}
            if scale == _PERCENT and any(1 < abs(values[n]) < math.inf for n in names):
                raise PrivacyEvalError(f"{where}: more than 100 %: {line[:100]!r}")
            if len(match.groups()) > len(names):
                tag = match.groups()[-1]
            break
        else:
            raise PrivacyEvalError(f"{where}: not a line of a results.txt: {line[:100]!r}")
    return values, tag
