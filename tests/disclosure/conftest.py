"""Golden scores and strategies are those of the tests of metrics."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "metrics"))
