#!/usr/bin/env bash
# Guess: roc_curve's drop_intermediate leaves out points that do not change the curve: an EER read
#   from it is the same.
# Seen: a common recipe takes the point where miss and false-alarm rates are nearest. On a
#   straight piece of the curve that point is among those left out by default: here the EER is 0
#   instead of 50 %. drop_intermediate=False is the remedy.
# Why: 2 targets above and 2 below 6 nontargets: at any threshold among these half of the targets
#   are missed. An attacker is said to be perfect, or a system to leak everything.
# Versions: scikit-learn 1.9.1; Python 3.11
set -euo pipefail

packages=(scikit-learn==1.9.1)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import numpy as np
from sklearn.metrics import roc_curve

truth = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1])
scores = np.arange(10, 0, -1) / 10


def rates(**options):
    """Return the false-alarm and miss rate where they are nearest."""
    false_alarm, hit, _ = roc_curve(truth, scores, **options)
    nearest = np.nanargmin(np.abs(1 - hit - false_alarm))
    return float(false_alarm[nearest]), float(1 - hit[nearest])


seen = {"default": rates(), "drop_intermediate=False": rates(drop_intermediate=False)}
recorded = {"default": (0.0, 0.5), "drop_intermediate=False": (0.5, 0.5)}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
