"""The challenge's `results.txt`, read, of every revision.

`results.txt`: per condition the folder's name, then its metrics indented by two spaces; then
word error rates, pitch correlations and DeID/G_VD (see `format_results_txt`). Earlier revisions
print `EER: 12.34` without `%`, `Cllr (min/act): a b`, values that are not indented or run together,
and the summary of 2022 a name with its value on one line; a file may hold several equal runs.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from ..errors import InputWarning, PrivacyEvalError, located
from ..io.names import BLANKS, check_name
from ..io.wer import WerLine, parse_wer_line
from ..metrics.caveats import NOT_AVAILABLE
from ..metrics.printed import CAVEAT, LINE_KEY
from ..metrics.registry import METRICS, Kind, of_kind
from ..protocol.protocol import Protocol
from ..results.challenge_text import (
    PITCH_KEYS,
    SET_KINDS,
    ResultsTxt,
    VerificationBlock,
    recognition_records,
)
from ..results.measurements import Row, rows_of_values
from ..results.records import Record, Results
from ..results.table_records import Found, add_values, warn_repeated
from ..tree.conditions import recognition_conditions, set_condition, trial_conditions

_NUMBER = r"(-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf))"
_PITCH = re.compile(
    rf"(\S+)[ \t]+Pitch_correlation: mean={_NUMBER} std={_NUMBER}(?: chance={_NUMBER})?"
)
_SET_NAME = re.compile(r"[^\s:]+")
#: An EER of early 2022, without `%`.
BARE_EER = re.compile(r"\bEER: ([0-9]+(?:\.[0-9]*)?)(?![0-9.%ex_])")
#: Kinds of values by the fields of `ResultsTxt`.
_PARTS = ("scores", "rates", "utility", "matrices")
_TAG = "tag"
Located: TypeAlias = tuple[str, str]
#: A line's pattern, and the names of its numbers.
Form: TypeAlias = tuple[re.Pattern[str], list[str]]
_KINDS: tuple[Kind, ...] = ("scores", *SET_KINDS)
T = TypeVar("T")


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


def _block(
    where: str, head: str, body: list[Located]
) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Read the lines of a name: yield `path:line`, their kind, the name, and values by key."""
    if pitch := _PITCH.fullmatch(head):
        if body:
            raise PrivacyEvalError(f"{body[0][0]}: unexpected after a pitch correlation")
        numbers = (_number(text, where) for text in pitch.groups()[1:] if text)
        yield where, "utility", pitch[1], dict(zip(PITCH_KEYS, numbers, strict=False))
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
        forms = _forms("scores") if head.startswith("ASV-") else _forms(*SET_KINDS)
        for at, line in body:
            for key, value in _values(line, at, forms):
                kind = "scores" if key == _TAG else METRICS[key].kind
                yield at, kind, head, {key: value}


def _blocks(text: str, path: str) -> list[tuple[str, str, list[Located]]]:
    """List names with the values below or behind them, each with `path:line`."""
    known = (metric.line for kind in _KINDS for metric in of_kind(kind).values() if metric.line)
    label = "|".join(("%WER ", *(_literal(LINE_KEY.split(line)[0]) for line in known)))
    named = re.compile(rf"([^\s:]+)[ \t]+((?:{label}).*)")
    value = re.compile(rf"[ \t]|{label}")
    blocks: list[tuple[str, str, list[Located]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        where, stripped = f"{path}:{number}", line.strip(BLANKS)
        if not stripped or stripped.startswith(CAVEAT):
            continue
        if value.match(line) is None:
            both = named.fullmatch(stripped)
            blocks.append((where, both[1], [(where, both[2])]) if both else (where, stripped, []))
        elif not blocks:
            raise PrivacyEvalError(f"{where}: a value before any condition: {stripped[:100]!r}")
        else:
            blocks[-1][2].append((where, stripped))
    return blocks


def _forms(*kinds: Kind) -> list[Form]:
    """Patterns of the lines of metrics, and the names of their numbers."""
    forms, numbers = [], {_TAG: "([0A-Z])"}
    for line in filter(None, (metric.line for kind in kinds for metric in of_kind(kind).values())):
        names = LINE_KEY.findall(line)
        literal = [_literal(part) for part in LINE_KEY.split(line)[::2]]
        parts = [f"(?:{numbers.get(name, _NUMBER)}|{NOT_AVAILABLE})" for name in names]
        joined = "".join(a + b for a, b in zip(literal, [*parts, ""], strict=True))
        forms.append((re.compile(rf"{joined}[ \t]*"), names))
    return forms


def _literal(part: str) -> str:
    """Make the pattern of what is between numbers; some revisions print no `%`, and a blank for
    `/`."""
    blank = re.sub(r"(\\ )+", "[ \\\\t]+", re.escape(part))
    return "[ \\t]*[/ \\t][ \\t]*" if part == "/" else blank.replace("%", "%?")


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


def _number(text: str, where: str) -> float:
    """Parse a number. `5e-04` is how one just below 5e-4 is printed, which itself is printed
    as `0.001`: it is taken for that one."""
    value = float(text)
    if math.isinf(value) and not text.endswith("inf"):
        raise PrivacyEvalError(f"{where}: too large a number: {text[:100]!r}")
    return math.nextafter(value, 0) if text == "5e-04" else value


def import_results_txt(
    text: str,
    path: str,
    protocol: Protocol,
    *,
    system: str,
    results_folder: str = "",
    anon_suffix: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Results:
    """Import a results.txt that the challenge's scripts wrote.

    Its numbers are the `challenge` variant. Their digits are kept: exporting gives
    the same text again.

    Parameters
    ----------
    results_folder : str
        Suffix of the protocol's results folder that the file belongs to.

    Raises
    ------
    PrivacyEvalError
        A line of unknown form; a condition or set that is not of the protocol; a value out of
        its range, or that contradicts another.
    """
    check_name(system, path)
    parsed = parse_results_txt(text, path)
    folder = next((f for f in protocol.results_folders if f.suffix == results_folder), None)
    if folder is None:
        suffixes = ", ".join(repr(f.suffix) for f in protocol.results_folders)
        raise PrivacyEvalError(
            f"{protocol.name}: no results folder with suffix {results_folder!r} (it has {suffixes})"
        )
    suffix = protocol.anon_suffix if anon_suffix is None else anon_suffix
    origin = dict(provenance or {})
    verified = trial_conditions(protocol, folder, suffix, system)
    decoded = recognition_conditions(protocol, folder, suffix, system)
    sets = {t.trials_name: set_condition(t, folder, system) for t in protocol.trial_sets()}

    def find(name: str, conditions: Mapping[str, T]) -> T:
        if name not in conditions:
            raise PrivacyEvalError(
                f"{path}: {name} matches no condition or set of protocol {protocol.name} (check "
                f"--conf, and --anon-suffix if it is not {protocol.anon_suffix})"
            )
        return conditions[name]

    results = Results(
        protocol,
        tuple(
            Record(
                find(name, verified),
                "verification",
                _tagged(rows_of_values(block.metrics, variant="challenge"), block.tag),
                provenance=origin,
            )
            for name, block in parsed.verification.items()
        ),
        tuple(
            record
            for name, lines in parsed.recognition.items()
            for record in recognition_records(lines, protocol, find(name, decoded), origin)
        ),
        tuple(
            Record(
                replace(find(s, sets), asv_model=""),
                "utility",
                rows_of_values(v),
                provenance=origin,
            )
            for s, v in parsed.utility.items()
        ),
        tuple(
            Record(
                find(s, sets),
                "similarity",
                rows_of_values(v, variant="challenge"),
                provenance=origin,
            )
            for s, v in parsed.similarity.items()
        ),
    )
    with located(path):
        results.check()
    return results


def _tagged(rows: Iterable[Row], tag: str | None) -> tuple[Row, ...]:
    """Return rows with the category of the individual disclosure."""
    of = {} if tag is None else {"zebra_individual": {"tag": tag}}
    return tuple({**row, **of.get(row["metric"], {})} for row in rows)
