"""Inputs for readers: strategies of valid samples with edits."""

import gzip
import json
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

BOM = b"\xef\xbb\xbf"

#: What untrusted files contain, or what looks like something else.
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

#: Bytes of an input, also between its edits: each may repeat 50 times what the one before made, and
#: three of them took the fuzzer itself more memory than its inputs may.
LARGEST = 1 << 18

#: An edit of text: unit, position, number of units replaced, replacement, and its argument.
Edit = tuple[str, int, int, str, int]

_UNITS = {"fields": rb"\s+|\S+", "lines": rb"[^\n]*\n|[^\n]+"}
_EDITED = ("bytes", *_UNITS)
_COUNTS = (1, 0, 2, 8, 10_000)
_KINDS = ("token", "nothing", "copy", "byte", "repeat", "reverse", "bit")
_EDIT = st.tuples(
    st.sampled_from(_EDITED),
    st.integers(0, 10_000),
    st.sampled_from(_COUNTS),
    st.sampled_from(_KINDS),
    st.integers(0, 10_000),
)


def _edited(content: bytes, edits: Sequence[Edit], tokens: Sequence[bytes]) -> bytes:
    for unit, position, count, kind, argument in edits:
        ends = range(len(content) + 1)
        if unit != "bytes":
            ends = [0, *(match.end() for match in re.finditer(_UNITS[unit], content))]
        number = len(ends) - 1

        def cut(first: int, last: int, content: bytes = content, ends: Any = ends) -> bytes:
            return content[ends[first] : ends[min(last, len(ends) - 1)]]

        begin = position % (number + 1)
        old = cut(begin, begin + count)
        if kind == "token":
            new = tokens[argument % len(tokens)]
        elif kind == "copy":
            at = argument % (number + 1)
            new = cut(at, at + max(1, count))
        elif kind == "byte":
            new = bytes([argument % 256])
        elif kind == "repeat":
            new = old * (50 if argument % 8 == 7 else 2)
        elif kind == "reverse":
            last = min(begin + count, number)
            new = b"".join(cut(k, k + 1) for k in range(last - 1, begin - 1, -1))
        elif kind == "bit":
            new = bytes([old[0] ^ 1 << argument % 8]) + old[1:] if old else b""
        else:
            new = b""
        content = (cut(0, begin) + new + cut(min(begin + count, number), number))[:LARGEST]
    return content


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=1, mtime=0)


_WRAPS: tuple[Callable[[bytes], bytes], ...] = (
    *[bytes] * 20,
    lambda content: content.replace(b"\n", b"\r\n"),
    lambda content: BOM + content,
    _packed,
)


def samples_with_edits(
    *samples: bytes, tokens: Sequence[bytes] = TOKENS
) -> st.SearchStrategy[bytes]:
    """Samples with a few edits; some with other line ends, a byte order mark, or packed."""

    def build(
        content: bytes, edits: Sequence[Edit], wrap: Callable[[bytes], bytes], late: Sequence[Edit]
    ) -> bytes:
        return _edited(wrap(_edited(content, edits, tokens)), late, tokens)

    late = st.sampled_from([0] * 8 + [1]).flatmap(lambda n: st.lists(_EDIT, max_size=n))
    edits = st.lists(_EDIT, max_size=3)
    return st.builds(build, st.sampled_from(samples), edits, st.sampled_from(_WRAPS), late)


_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, 5e-324, 1 << 70, int("9" * 400)),
    *("", " ", "x", "inf", "-inf", "nan", "0", "0.5", "original", "anonymized", "exact", "..", "/"),
    *("a/b", "a\nb", "a\0b", "\x1b[2J", "\ud800", "\u202e", "\u2028", "<b>&", "\\input{x}", "%$#_"),
    *("{split}", "{gender}", "{suffix}", "{x}", "x" * 300, "x" * 5000, "/etc/passwd", "../x"),
    *([], {}, [[]], [{}], {"": ""}, {"x": 1}, [1, 2, 3], [0.5, 0.5], ["a", "a"], [None]),
    [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]],
)


def json_with_edits(*samples: Any) -> st.SearchStrategy[bytes]:
    """JSON with values replaced, removed, doubled or exchanged; some edited as bytes, too."""
    texts = [json.dumps(sample) for sample in samples]
    value = st.sampled_from(_VALUES) | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
        max_leaves=6,
    )
    edit = st.tuples(
        st.lists(st.integers(0, 1000), max_size=6),
        st.sampled_from(["replace", "remove", "double", "exchange"]),
        value,
    )

    def build(text: str, edits: Sequence[Any], is_ascii: bool, late: Sequence[Edit]) -> bytes:
        plain = json.loads(text)
        for path, kind, new in edits:
            plain = _edit_value(plain, path, kind, json.loads(json.dumps(new)))
        content = json.dumps(plain, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
        return _edited(content, late, TOKENS)

    late = st.sampled_from([0] * 8 + [2]).flatmap(lambda n: st.lists(_EDIT, max_size=n))
    return st.builds(build, st.sampled_from(texts), st.lists(edit, max_size=2), st.booleans(), late)


def _edit_value(plain: Any, path: Sequence[int], kind: str, new: Any) -> Any:
    """Edit the value below that a path leads to; the value itself where the path is empty."""
    if not path or not isinstance(plain, (dict, list)) or not plain:
        return new
    keys = list(plain) if isinstance(plain, dict) else list(range(len(plain)))
    key = keys[path[0] % len(keys)]
    if len(path) > 1 and isinstance(plain[key], (dict, list)) and plain[key]:
        plain[key] = _edit_value(plain[key], path[1:], kind, new)
    elif kind == "remove":
        del plain[key]
    elif kind == "double" and isinstance(plain, list):
        plain.insert(key, plain[keys[path[-1] % len(keys)]])
    elif kind == "double":
        plain[str(new)[:20]] = plain[key]
    elif kind == "exchange":
        other = keys[path[-1] % len(keys)]
        plain[key], plain[other] = plain[other], plain[key]
    else:
        plain[key] = new
    return plain
