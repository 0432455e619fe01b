#!/usr/bin/env python3
"""Draw docs/answer.png: the first screen of the demo's report, by Chromium.

scripts/report_picture.py recipes/demo/work/results docs/answer.png
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

WINDOW, PART = "1400,700", (215, 8, 1385, 552)


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
    picture.quantize(128, Image.Quantize.MAXCOVERAGE).save(arguments.out, optimize=True)


if __name__ == "__main__":
    main()
