#!/usr/bin/env bash
# Guess: where all targets score above all nontargets, the EER is 0; where all score below, 100 %.
# Seen: det_curve averages the four rates at the points before and after the crossing, which
#   scikit-learn's roc_curve puts far apart: 25 % and 75 %, however many trials there are. The
#   EER by scikit-learn's nearest point is 0 and 100 %.
# Why: an attacker who makes no error seems to err in every fourth decision, so that speech
#   without any protection looks half protected.
# Versions: pyannote.metrics 4.2.0, scikit-learn 1.9.1, numpy 2.4.6; Python 3.11
set -euo pipefail

packages=(pyannote.metrics==4.2.0 scikit-learn==1.9.1 numpy==2.4.6)
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
from pyannote.metrics.binary_classification import det_curve
from sklearn.metrics import roc_curve


def eers(truth, scores):
    false_alarm, hit, _ = roc_curve(truth, scores)
    nearest = np.argmin(np.abs(1 - hit - false_alarm))
    by_nearest = (1 - hit[nearest] + false_alarm[nearest]) / 2
    return float(det_curve(truth, scores)[-1]), float(by_nearest)


truth = np.array([1] * 20 + [0] * 80)
scores = np.concatenate([np.linspace(0.6, 0.9, 20), np.linspace(0.1, 0.4, 80)])
seen = {
    "separated (pyannote.metrics, nearest)": eers(truth, scores),
    "the same with the sign changed": eers(truth, -scores),
}
recorded = {
    "separated (pyannote.metrics, nearest)": (0.25, 0.0),
    "the same with the sign changed": (0.75, 1.0),
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
