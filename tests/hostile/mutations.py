"""Inputs for readers: valid files, changed at random. The same generator, the same input."""

from __future__ import annotations

import copy
import gzip
import json
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

BOM = b"\xef\xbb\xbf"

#: What strangers' files hold, or what looks like something else.
TOKENS: tuple[bytes, ...] = (
    *(b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"1e400", b"-1e400", b"1e-400", b"1e39"),
    *(b"0x1p3", b"0x10", b"1_0", b"1,5", b"+1", b".5", b"5.", b"-0", b"1e", b"--1", b"1d5"),
    *(b"9" * 30, b"9" * 400, b"9" * 5000, b"0" * 5000, b"x" * 1025, b"1:1", b"1:59:59.5"),
    "\u0661".encode(),  # a digit of another script
    "\uff11".encode(),  # a digit of full width
    "\u0430".encode(),  # Cyrillic, looks like a
    "e\u0301".encode(),  # two code points, looks like one
    *(c.encode() for c in "\u00a0\u2003\u3000\u200b\u2028\u2029\u0085\u202e\ufeff\U0001f600"),
    *(b"\0", b"\0B", b"\x1b[2J", b"\x7f", b"\x0b", b"\x0c", b"\x1c", b"\xff", b"\xc3", b"\xe9"),
    b"\xed\xa0\x80",  # a surrogate, which is no UTF-8
    *(BOM, b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b" ", b"", b"\n  "),
    *(b"target", b"nontarget", b"Target", b"s1", b"u1", b"f", b"m"),
    *(b"..", b"../../x", b"/etc/passwd", b"|", b"x |", b"| x", b":", b":0", b":-1", b"[0:1]"),
    *(b"[", b"]", b"{", b"}", b"(", b")", b",", b"#", b"%", b"\\", b'"', b"'", b"=", b"-", b"<"),
    *(b"$(id)", b"`id`", b"&amp;", b"<b>", b"\\input{x}"),
    *(b"FV ", b"DV ", b"FM ", b"DM ", b"CM ", b"CM2", b"<Plda> ", b"</Plda> "),
    *(struct.pack("<i", n) for n in (-1, 0, 1, 2, 3, 65536, 65537, (1 << 31) - 1, -(1 << 31))),
    *(struct.pack("<f", x) for x in (float("nan"), float("inf"), 3e38)),
    *(struct.pack("<d", x) for x in (float("nan"), float("-inf"), 1e300)),
)


def mutate(rng: random.Random, seeds: Sequence[bytes], tokens: Sequence[bytes] = TOKENS) -> bytes:
    """One of the seeds after some random changes, now and then none."""
    content = rng.choice(seeds)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3, 5, 9))):
        content = rng.choice(_CHANGES)(rng, content, seeds, tokens)
    wrap = rng.random()
    if wrap < 0.02:
        content = content.replace(b"\n", b"\r\n")
    elif wrap < 0.04:
        content = BOM + content
    elif wrap < 0.07:
        content = _packed(content)
        if wrap < 0.06:
            content = rng.choice(_CHANGES)(rng, content, seeds, tokens)
    return content


def mutate_json(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """JSON with some of its values replaced, lost, doubled or moved; now and then changed as
    bytes, too."""
    plain = json.loads(rng.choice(seeds))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        plain = _change_value(rng, plain)
    content = json.dumps(plain, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return mutate(rng, [content]) if rng.random() < 0.2 else content


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=1, mtime=0)


def _range(rng: random.Random, size: int) -> tuple[int, int]:
    """A short piece, rarely a long one."""
    begin = rng.randrange(size + 1)
    longest = size if rng.random() < 0.1 else 8
    return begin, min(size, begin + rng.randint(0, longest))


def _flip(rng: random.Random, c: bytes, *_: Any) -> bytes:
    if not c:
        return c
    at = rng.randrange(len(c))
    return c[:at] + bytes([c[at] ^ 1 << rng.randrange(8)]) + c[at + 1 :]


def _set(rng: random.Random, c: bytes, *_: Any) -> bytes:
    at = rng.randrange(len(c) + 1)
    return c[:at] + bytes([rng.randrange(256)]) + c[at + 1 :]


def _delete(rng: random.Random, c: bytes, *_: Any) -> bytes:
    begin, end = _range(rng, len(c))
    return c[:begin] + c[end:]


def _repeat(rng: random.Random, c: bytes, *_: Any) -> bytes:
    begin, end = _range(rng, len(c))
    return c[:end] + c[begin:end] * rng.choice((1, 1, 2, 50)) + c[end:]


def _truncate(rng: random.Random, c: bytes, *_: Any) -> bytes:
    return c[: rng.randrange(len(c) + 1)]


def _insert(rng: random.Random, c: bytes, _: Any, tokens: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(c) + 1)
    return c[:at] + rng.choice(tokens) + c[at:]


def _overwrite(rng: random.Random, c: bytes, _: Any, tokens: Sequence[bytes]) -> bytes:
    at, token = rng.randrange(len(c) + 1), rng.choice(tokens)
    return c[:at] + token + c[at + len(token) :]


def _splice(rng: random.Random, c: bytes, seeds: Sequence[bytes], _: Any) -> bytes:
    other = rng.choice(seeds)
    return c[: rng.randrange(len(c) + 1)] + other[rng.randrange(len(other) + 1) :]


def _lines(rng: random.Random, c: bytes, *_: Any) -> bytes:
    lines = c.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 1:
        lines.insert(b, lines[a])
    elif kind == 2:
        del lines[a]
    else:
        lines[a] = b""
    return b"\n".join(lines)


def _fields(rng: random.Random, c: bytes, _: Any, tokens: Sequence[bytes]) -> bytes:
    lines = c.split(b"\n")
    at = rng.randrange(len(lines))
    fields = lines[at].split(b" ")
    a, b = rng.randrange(len(fields)), rng.randrange(len(fields))
    kind = rng.randrange(4)
    if kind == 0:
        fields[a], fields[b] = fields[b], fields[a]
    elif kind == 1:
        fields[a] = rng.choice(tokens)
    elif kind == 2:
        fields.insert(a, rng.choice(tokens))
    else:
        del fields[a]
    lines[at] = b" ".join(fields)
    return b"\n".join(lines)


_CHANGES: tuple[Callable[..., bytes], ...] = (
    *(_flip, _set, _delete, _repeat, _truncate, _insert, _insert, _overwrite, _splice),
    *(_lines, _lines, _fields, _fields, _fields),
)

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, 5e-324, 1 << 70, int("9" * 400)),
    *("", " ", "x", "inf", "-inf", "nan", "0", "0.5", "original", "anonymized", "exact", "..", "/"),
    *("a/b", "a\nb", "a\0b", "\x1b[2J", "\ud800", "\u202e", "\u2028", "<b>&", "\\input{x}", "%$#_"),
    *("{split}", "{gender}", "{suffix}", "{x}", "x" * 300, "x" * 5000, "/etc/passwd", "../x"),
    *([], {}, [[]], [{}], {"": ""}, {"x": 1}, [1, 2, 3], [0.5, 0.5], ["a", "a"], [None]),
    [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]],
)


def _change_value(rng: random.Random, plain: Any) -> Any:
    """A value somewhere below replaced, removed, doubled or put elsewhere."""
    if not isinstance(plain, (dict, list)) or not plain or rng.random() < 0.02:
        return copy.deepcopy(rng.choice(_VALUES))
    key = rng.choice(list(plain)) if isinstance(plain, dict) else rng.randrange(len(plain))
    if isinstance(plain[key], (dict, list)) and plain[key] and rng.random() < 0.8:
        plain[key] = _change_value(rng, plain[key])
        return plain
    kind = rng.randrange(6)
    if kind == 0:
        del plain[key]
    elif kind == 1 and isinstance(plain, list):
        plain.insert(key, copy.deepcopy(plain[rng.randrange(len(plain))]))
    elif kind == 1:
        plain[str(rng.choice(_VALUES))[:20]] = copy.deepcopy(plain[key])
    elif kind == 2:
        other = rng.choice(list(plain)) if isinstance(plain, dict) else rng.randrange(len(plain))
        plain[key], plain[other] = plain[other], plain[key]
    else:
        plain[key] = copy.deepcopy(rng.choice(_VALUES))
    return plain
