"""Golden speech data, and the whole set that it is from, where that is there."""

from __future__ import annotations

import re
from pathlib import Path

import kaldiio
import numpy as np
import pytest
from support import REAL_SPEECH, ROOT, needs_real_speech

SPEECH = ROOT / "tests" / "data" / "speech"

#: The copied data, and all that they were copied from.
EVERYWHERE = [
    pytest.param(SPEECH, id="copied"),
    pytest.param(REAL_SPEECH, id="all", marks=needs_real_speech),
]


def archive(path: Path) -> dict[str, np.ndarray]:
    """An archive as another reader decodes it."""
    return dict(kaldiio.load_ark(str(path)))


def voicing(path: Path) -> dict[str, np.ndarray]:
    """Vectors of 0 and 1 as text."""
    fields = (line.split(None, 1) for line in path.read_text().splitlines())
    return {name: np.array(re.findall("[01]", row)) == "1" for name, row in fields}
