#!/usr/bin/env python3
"""Draw docs/real_speech.png: the first screen of a report on B2 with ten speakers, by Chromium.

Without attacker_seconds.json, a report does not name the seconds of this machine.

scripts/report_picture.py recipes/real_speech/work/tree/results docs/real_speech.png
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

WINDOW, PART = "1300,1000", (225, 8, 1268, 738)


def main() -> None:
    """Draw the report of a folder of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    page = (arguments.results / "report.html").resolve().as_uri()
    with tempfile.TemporaryDirectory() as folder:
        screen = Path(folder, "screen.png")
        options = [
            "--headless",
            "--no-sandbox",
            f"--window-size={WINDOW}",
            f"--screenshot={screen}",
        ]
        subprocess.run(["chromium", *options, page], check=True, capture_output=True)
        picture = Image.open(screen).convert("RGB").crop(PART)
    picture.quantize(32, dither=Image.Dither.NONE).save(arguments.out, optimize=True)


if __name__ == "__main__":
    main()
