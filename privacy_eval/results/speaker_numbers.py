"""Numbers in the place of speakers' names, and the key to them, which only its owner can read."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ..choices import grouped
from ..errors import PrivacyEvalError
from ..io.files import write_text
from ..io.schema import from_plain, load_json, to_plain
from ..metrics.utility import SpeakerErrors, SpeakerSums
from .records import KINDS, Results

#: The key, beside results.json.
KEY = "speaker_key.json"
#: Fields that hold names of speakers, and those of texts in which they may be.
_NAMES = ("speaker", "speakers")
_TEXTS = ("remarks", "facts", "not_evaluated", "provenance", "rows")


def _by_name(name: str) -> tuple[int, str]:
    return len(name), name


@dataclass(frozen=True)
class _Key:
    """A random id, and the speakers by number."""

    id: str = field(default_factory=lambda: secrets.token_hex(4))
    speakers: Mapping[str, str] = field(default_factory=dict)


def _ordered(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows with those of speakers at the end, by a value, then by new name: an order of old
    names would tell them."""
    of_speakers = grouped(rows, lambda row: row.get("speaker", ""))
    whole = of_speakers.pop("", [])

    def order(speaker: str) -> tuple[object, ...]:
        rows = reversed(of_speakers[speaker])
        values = {row["metric"]: row.get("value") or 0.0 for row in rows}
        signs = {"deid": 1, "linkability": -1, "linkage": -1, "named_instead": -1}
        found = [sign * values.get(metric, 0.0) for metric, sign in signs.items()]
        return *found, *_by_name(speaker)

    return [*whole, *(row for s in sorted(of_speakers, key=order) for row in of_speakers[s])]


def numbered(
    results: Results, folder: Path, others: Iterable[str] = (), *, keep: bool = True
) -> Results:
    """Return results whose speakers are S1, S2, ..., by the key in a folder, which gets the names
    that it lacks in a random order, as an order by name or a digest would tell something.

    `others`: names that are in texts only; `keep`: whether the key is written.

    Raises
    ------
    PrivacyEvalError
        A key that is damaged, or cannot be written.
    """
    path, named = folder / KEY, dict[str, str]()
    key = from_plain(_Key, load_json(path), str(path)) if path.exists() else _Key()
    number_of = {name: number for number, name in key.speakers.items()}
    if {*number_of.values()} != {f"S{n}" for n in range(1, len(key.speakers) + 1)} or not key.id:
        said = "damaged, expected S1, S2, ...: restore it, or remove it to number all anew"
        raise PrivacyEvalError(f"{path}: {said}")
    renamed(results, lambda name: named.setdefault(name, name))
    for group in (named, others):
        new = sorted({*group} - number_of.keys())
        secrets.SystemRandom().shuffle(new)
        number_of |= {name: f"S{n}" for n, name in enumerate(new, len(number_of) + 1)}
    if keep and len(number_of) > len(key.speakers):
        key = _Key(key.id, {number: name for name, number in number_of.items()})
        text = json.dumps(to_plain(key), indent=1, ensure_ascii=False)
        write_text(path, f"{text}\n", mode=0o600)
    results = renamed(results, number_of.__getitem__, _replacement(number_of))
    return replace(results, speaker_key=key.id)


def renamed(
    results: Results, name_of: Callable[[str], str], text_of: Callable[[str], str] = str
) -> Results:
    """Return results with other names of speakers, in the order of these, and texts that hold
    them."""

    def changed(value: Any, entry: str = "") -> Any:
        if isinstance(value, str):
            return (name_of if entry in _NAMES else text_of)(value)
        if isinstance(value, tuple | list):
            of_type = type(value)
            value = [changed(one, entry) for one in value]
            return of_type(_ordered(value) if entry == "rows" else value)
        if isinstance(value, Mapping) and entry == "provenance":
            # A file of one speaker may be named like them: its path is left out.
            files = {
                text_of(role): {"sha256": of.get("sha256", "")}
                if text_of(role) != role and isinstance(of, Mapping)
                else changed(of, entry)
                for role, of in value.items()
            }
            return dict(sorted(files.items(), key=lambda item: _by_name(item[0])))
        if isinstance(value, Mapping):
            of_rows = entry == "rows"  # whose `speakers` tells how many
            own = {name for name in _NAMES if name == "speaker" or not of_rows}
            return {n: changed(one, n if n in own else "") for n, one in value.items()}
        if not is_dataclass(value) or isinstance(value, type):
            return value
        names = [f.name for f in fields(value) if f.name in (*_NAMES, *_TEXTS)]
        new: Any = replace(value, **{name: changed(getattr(value, name), name) for name in names})
        if isinstance(new, SpeakerSums | SpeakerErrors):
            lists = {f: v for f, v in vars(new).items() if isinstance(v, tuple)}
            rows = sorted(zip(*lists.values(), strict=True), key=lambda row: _by_name(row[0]))
            ordered: dict[str, Any] = dict(zip(lists, zip(*rows, strict=True), strict=False))
            new = replace(new, **ordered)
        return new

    parts = (*KINDS, "protocol", "not_evaluated", "failed")
    return replace(results, **{part: changed(getattr(results, part)) for part in parts})


def kept_apart(parts: Iterable[Results]) -> tuple[Results, ...]:
    """Return results of several keys, whose S1 are different people, with keys in their names."""
    parts = tuple(parts)
    is_one = len({part.speaker_key for part in parts}) == 1
    return tuple(
        part
        if is_one or not part.speaker_key
        else renamed(part, f"{{}} ({part.speaker_key})".format)
        for part in parts
    )


def _replacement(number_of: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces names in texts, also at the beginning of utterances' ids:
    those of digits only there or after "speaker", as they may be other numbers."""
    names = sorted(number_of, key=len, reverse=True)
    of_digits = r"(?:(?<=speaker ){0}(?!\d)|{0}(?=[-_/.]))"
    ends = (of_digits.format(n) if n.isdigit() else rf"{re.escape(n)}(?![^\W\d_])" for n in names)
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(ends) or '(?!)'})")
    return lambda text: pattern.sub(lambda found: number_of[found[0]], text)
