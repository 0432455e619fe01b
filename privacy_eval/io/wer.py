"""Kaldi's word error rate lines:
`%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] .../decode_X_tgsmall/wer_12_0.5`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from ..errors import PrivacyEvalError
from .files import Inputs, digest, read_text
from .names import BLANKS, check_name
from .schema import SPARSE

_COUNT = "(?:0|[1-9][0-9]{0,14})"
_KINDS = ("insertions", "deletions", "substitutions")
_LINE = re.compile(
    rf"%WER (?P<wer>{_COUNT}\.[0-9]{{2}}) \[ (?P<errors>{_COUNT}) / (?P<words>{_COUNT}), "
    + ", ".join(f"(?P<{kind}>{_COUNT}) {kind[:3]}" for kind in _KINDS)
    + r" \](?P<partial> \[PARTIAL\])?(?: (?P<path>\S+))?"
)
# Half of the last decimal; Kaldi divides in single precision before it rounds.
_ROUNDING, _FLOAT32 = Fraction(1, 200), Fraction(1, 1 << 22)
_DECODE = re.compile(
    r"(?P<folder>.+)/wer_(?P<weight>[1-9]\d{0,8})(?:_(?P<penalty>\d\.\d+))?", re.ASCII
)


@dataclass(frozen=True)
class WerLine:
    """One result of speech recognition.

    Attributes
    ----------
    wer : float
        Fraction, to the four decimals that Kaldi prints.
    errors, words, insertions, deletions, substitutions : int or None
        None where only the rate is known (imported results).
    decode : str
        Folder of the decoding; if the file's name is not of Kaldi's form
        `wer_WEIGHT_PENALTY`, the whole path.
    partial : bool
        Utterances without a hypothesis are left out (compute-wer's `--mode=present`).
    """

    wer: float
    errors: int | None
    words: int | None
    insertions: int | None
    deletions: int | None
    substitutions: int | None
    decode: str
    lm_weight: int | None
    word_insertion_penalty: float | None
    partial: Annotated[bool, SPARSE] = False


def parse_wer_line(text: str, where: str) -> WerLine:
    """Parse one line.

    Parameters
    ----------
    where : str
        Beginning of the message of an error: file and line.

    Raises
    ------
    PrivacyEvalError
        Not a line of Kaldi's form; a percentage or number of errors that contradicts the counts.

    Examples
    --------
    >>> line = "%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] decode/wer_12_0.5"
    >>> parse_wer_line(line, "WER:1").wer
    0.0525
    """
    match = _LINE.fullmatch(text.strip(BLANKS))
    if match is None:
        raise PrivacyEvalError(
            f"{where}: expected '%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] path', "
            f"found {text.strip()[:100]!r}"
        )
    decode, weight, penalty = match["path"] or "", None, None
    name = _DECODE.fullmatch(decode)
    if name is not None and name["penalty"] in (None, repr(float(name["penalty"] or 0))):
        decode, weight = name["folder"], int(name["weight"])
        penalty = None if name["penalty"] is None else float(name["penalty"])
    check_name(decode, where)
    counts: dict[str, Any] = {name: int(match[name]) for name in ("errors", "words", *_KINDS)}
    errors, words, *kinds = counts.values()
    if errors != sum(kinds):
        raise PrivacyEvalError(
            f"{where}: {errors} errors contradict {' + '.join(map(str, kinds))} = {sum(kinds)} "
            "insertions, deletions and substitutions"
        )
    percent = Fraction(100 * errors, words) if words else None
    if percent is None or abs(percent - Fraction(match["wer"])) > _ROUNDING + percent * _FLOAT32:
        actual = "undefined" if percent is None else f"{float(percent):.2f} %"
        raise PrivacyEvalError(
            f"{where}: %WER {match['wer']} contradicts {errors} errors / {words} words ({actual})"
        )
    rate = float(match["wer"]) / 100
    named: dict[str, Any] = {"lm_weight": weight, "word_insertion_penalty": penalty}
    return WerLine(rate, **counts, **named, decode=decode, partial=match["partial"] is not None)


def format_wer_line(line: WerLine) -> str:
    """Format the line that `parse_wer_line` parses."""
    path = line.decode
    if line.lm_weight is not None:
        path += f"/wer_{line.lm_weight}"
        if line.word_insertion_penalty is not None:
            path += f"_{line.word_insertion_penalty!r}"
    if line.errors is None:
        return f"%WER {100 * line.wer:.3f} {path}".rstrip()
    kinds = ", ".join(f"{getattr(line, kind)} {kind[:3]}" for kind in _KINDS)
    counts = f"[ {line.errors} / {line.words}, {kinds} ]" + " [PARTIAL]" * line.partial
    return f"%WER {100 * line.wer:.2f} {counts} {path}".rstrip()


def exact_wer(line: WerLine) -> float:
    """Compute the rate from the counts of a line, where it has them.

    Returns
    -------
    float
        Fraction.

    Examples
    --------
    >>> exact_wer(parse_wer_line("%WER 33.33 [ 1 / 3, 1 ins, 0 del, 0 sub ]", "wer:1"))
    0.3333333333333333
    """
    return line.errors / line.words if line.errors is not None and line.words else line.wer


def read_wer_folder(
    folder: Path, *, refused: list[str] | None = None, inputs: Inputs | None = None
) -> tuple[list[WerLine], dict[Path, str]]:
    """Read all `%WER` lines of an `ASR-*` folder of the results.

    Parameters
    ----------
    folder : Path
        The challenge writes them to its file `WER`; if that is missing, every file is
        searched.
    refused : list of str, optional
        Leave out malformed lines, and append the message of each.
    inputs : Inputs, optional
        Reads the files.

    Returns
    -------
    sources : dict of Path to str
        SHA-256 of the files with such lines.

    Raises
    ------
    PrivacyEvalError
        With file and line: a malformed line, unless `refused`; no `%WER` line at all.
    """
    named = folder / "WER"
    files = (
        [named]
        if named.is_file()
        else sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    )
    lines: list[WerLine] = []
    sources: dict[Path, str] = {}
    for path in files:
        content = read_text(path if inputs is None else inputs.load(path))
        for number, text in enumerate(content.split("\n"), start=1):
            if text.lstrip(BLANKS).startswith("%WER"):
                try:
                    lines.append(parse_wer_line(text, f"{path}:{number}"))
                    if path not in sources:
                        sources[path] = digest(content.encode())
                except PrivacyEvalError as error:
                    if refused is None:
                        raise
                    refused.append(str(error))
    if not (lines or refused):
        raise PrivacyEvalError(f"{folder}: no '%WER' line in any of its files")
    return lines, sources
