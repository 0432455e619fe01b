#!/usr/bin/env bash
# Guess: scores that are all equal say nothing: an EER of 50 %, in every package.
# Seen: three values. A common recipe (the point of scikit-learn's roc_curve where the rates are
#   nearest) gives 0, another one (interpolation) and pyannote.metrics 50 %, audmetric 100 %.
# Why: an encoder whose weights were not loaded gives one vector for all speech. By the first
#   recipe it is a perfect attacker, by audmetric one that is always wrong.
# Versions: scikit-learn 1.9.1, scipy 1.17.1, audmetric 1.4.2, pyannote.metrics 4.2.0; Python 3.11
set -euo pipefail

packages=(scikit-learn==1.9.1 scipy==1.17.1 audmetric==1.4.2 pyannote.metrics==4.2.0)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import audmetric
import numpy as np
from pyannote.metrics.binary_classification import det_curve
from scipy.interpolate import interp1d
from scipy.optimize import brentq
from sklearn.metrics import roc_curve

truth, scores = np.array([1, 1, 0, 0, 0]), np.zeros(5)
false_alarm, hit, _ = roc_curve(truth, scores)
nearest = np.nanargmin(np.abs(1 - hit - false_alarm))
seen = {
    "nearest point": float(false_alarm[nearest]),
    "interpolated": round(float(brentq(lambda x: 1 - x - interp1d(false_alarm, hit)(x), 0, 1)), 6),
    "pyannote": float(det_curve(truth, scores)[-1]),
    "audmetric": float(audmetric.equal_error_rate(truth, scores)[0]),
}
recorded = {"nearest point": 0.0, "interpolated": 0.5, "pyannote": 0.5, "audmetric": 1.0}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
