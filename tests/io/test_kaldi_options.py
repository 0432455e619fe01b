"""Kaldi's option files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from support import write

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.schema import read_options


@dataclass(frozen=True)
class Toy:
    num_ceps: int = 13
    low_freq: float = 20.0
    snip_edges: bool = True
    window_type: str = "povey"

    def __post_init__(self) -> None:
        if self.num_ceps > 100:
            raise ValueError("too many")


def test_options_are_read_with_comments_and_blanks(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mfcc.conf",
        "# options\n\n--num-ceps=30 # the default is 13\r\n  --low-freq = -1.5e1\n"
        "--snip-edges=false\n--window-type=hamming",
    )
    assert read_options(path, Toy) == Toy(30, -15.0, False, "hamming")
    assert read_options(write(path, "--snip-edges\n"), Toy) == Toy()
    assert read_options(write(path, ""), Toy) == Toy()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\n--frame-warp=1\n", 2, "unknown option '--frame-warp'.*--num-ceps"),
        ("num-ceps=3", 1, "unknown option"),
        ("--num-ceps 3", 1, "unknown option"),
        ("--num-ceps=3\n--num-ceps=3", 2, "duplicate"),
        ("--num-ceps=3.5", 1, "whole number"),
        ("--num-ceps", 1, "whole number"),
        ("--num-ceps=1_0", 1, "whole number"),
        ("--low-freq=nan", 1, "expected a number"),
        ("--low-freq=1e99", 1, "expected a number"),
        ("--low-freq=\u0663", 1, "expected a number"),
        ("--snip-edges=maybe", 1, "true or false"),
        ("--snip-edges=", 1, "true or false"),
        ("--window-type=", 1, "expected a value"),
        ("--num-ceps=" + "9" * 5000, 1, "whole number"),
    ],
)
def test_bad_lines_are_refused(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = write(tmp_path / "mfcc.conf", text)
    with pytest.raises(PrivacyEvalError, match=rf"^{path}:{line}: .*{message}"):
        read_options(path, Toy)


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "mfcc.conf", "--num-ceps=101")
    with pytest.raises(PrivacyEvalError, match=f"^{path}: too many"):
        read_options(path, Toy)
