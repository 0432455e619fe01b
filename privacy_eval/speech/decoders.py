"""Commands of a wav.scp that decode one file, and may convert its rate and channels.

What they print follows from the file, so that they need not be run.
"""

from __future__ import annotations

import re
import shlex

from ..errors import PrivacyEvalError, shorten

_QUOTED = re.compile("'[^']*'")
_SHELL = re.compile(r"[$`;&|<>()*?\[\]{}~#!\n\\]")

_FILE, _RATE, _ONE = "(?P<file>[^-].*)", r"(?P<rate>[1-9]\d{0,5}k?)", "(?P<channels>1)"
_TO_PIPE = frozenset({"file", "wav", "output"})
#: By program, options with their values, and groups without which it does something else.
_DECODERS = {
    "cat": (_FILE, {"file"}),
    "flac": (f"-s|(?P<c>-c)|(?P<d>-d)|{_FILE}", {"file", "c", "d"}),
    "sox": (
        rf"\A(-t (wav|flac) )?{_FILE}|-t (?P<wav>wav)|-e signed-integer|-b 16|(?P<output>-)|"
        f"(-r|rate) {_RATE}|(-c|channels) {_ONE}|remix (?P<track>[1-9])",
        _TO_PIPE,
    ),
    "ffmpeg": (
        r"-(y|nostdin|hide_banner|nostats|vn)|-(v|loglevel) -?\w+|-threads \d+|"
        r"-(acodec|c:a|codec:a) pcm_s16le|-sample_fmt s16|-(ab|b:a) \w+|-map 0:a(:0)?|"
        rf"-i {_FILE}|-f (?P<wav>wav)|-ar {_RATE}|-ac {_ONE}|-map_channel 0\.0\.(?P<channel>\d)|"
        r"(?P<output>(-|pipe:1?)(?=\n\Z))",
        _TO_PIPE,
    ),
}
_NUMBERS = {"rate", "channels", "channel", "track"}
_LONG = {"--stdout": "-c", "--decode": "-d", "--silent": "-s", "--totally-silent": "-s"}


def file_of_command(command: str) -> tuple[str, dict[str, int]]:
    """Find the file that a command decodes, and how it is converted.

    Parameters
    ----------
    command : str
        Without the `|` at its end.

    Returns
    -------
    (str, dict of str to int)
        The file and its conversion: empty if samples stay as they are, else to 16 `bits`, and to
        a `rate` in Hz, one of the channels (`channel`, from 0), or their mean (`channels` is 1).

    Raises
    ------
    PrivacyEvalError
        Another program, or an option that is not known.

    Examples
    --------
    >>> file_of_command("flac -c -d -s 'a b.flac'")
    ('a b.flac', {})
    >>> file_of_command("ffmpeg -v error -i a.flac -f wav -ar 16000 -")
    ('a.flac', {'rate': 16000, 'bits': 16})
    """
    try:
        program, *words = shlex.split("" if _SHELL.search(_QUOTED.sub("", command)) else command)
    except ValueError:
        program, words = "", []
    if program not in _DECODERS:
        raise PrivacyEvalError(f"understood is one command of {', '.join(_DECODERS)}")
    options, needs = _DECODERS[program]
    text = "".join(f"{_LONG.get(word, word)}\n" for word in words)
    if program == "flac":  # -cd is -c -d
        text = re.sub(r"(?m)(?<=^-)[cds]+$", lambda m: "\n-".join(m[0]), text)
    found, at = dict[str, str](), 0
    while at < len(text):
        match = re.compile(f"(?:{options})\n".replace(" ", "\n")).match(text, at)
        new = {k: v for k, v in (match.groupdict() if match else {}).items() if v}
        if match is None or found.keys() & new.keys():
            unknown = " ".join(text[at:].split("\n")[:2]).strip()
            raise PrivacyEvalError(f"{program}: {shorten(unknown)} is not understood")
        found, at = found | new, match.end()
    if needs - found.keys() or next(iter(found)) not in ("file", "c", "d"):
        raise PrivacyEvalError(
            f"{program}: expected a file, then {', '.join(sorted(needs - {'file'}))}"
        )
    numbers = {n: int(found[n].replace("k", "000")) for n in _NUMBERS & found.keys()}
    if "track" in numbers:
        numbers["channel"] = numbers.pop("track") - 1
    return found["file"], numbers | ({"bits": 16} if "output" in needs else {})
