#!/usr/bin/env bash
# Guess: a function refuses numpy's masked arrays or leaves out what is masked, as numpy's own
#   mean does; functions of one package do alike.
# Seen: scikit-learn's roc_auc_score and scipy's cosine and spearmanr read through the mask
#   without a warning: an AUC of 0.44 where the unmasked trials are separated, a rank correlation
#   of 0 where the unmasked pitch agrees. scipy's kendalltau heeds the mask, and pearsonr fails
#   with "The truth value of an array ... is ambiguous".
# Why: failed trials and unvoiced frames are what people mask. What was to be left out decides the
#   number.
# Versions: scikit-learn 1.9.1, scipy 1.17.1, numpy 2.4.6; Python 3.11
set -euo pipefail

packages=(scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6)
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
from scipy.spatial.distance import cosine
from scipy.stats import kendalltau, pearsonr, spearmanr
from sklearn.metrics import roc_auc_score

truth = np.array([1, 1, 1, 0, 0, 0])
scores = np.ma.array([0.9, 0.8, 0.1, 0.2, 0.3, 0.95], mask=[0, 0, 1, 0, 0, 1])
right = ~scores.mask
pitch = np.ma.array([100.0, 110.0, 120.0, 130.0, 9000.0], mask=[0, 0, 0, 0, 1])
other = np.ma.array([200.0, 210.0, 220.0, 230.0, -9000.0], mask=[0, 0, 0, 0, 1])
seen = {
    "AUC": round(float(roc_auc_score(truth, scores)), 4),
    "AUC of the unmasked": float(roc_auc_score(truth[right], scores.data[right])),
    "cosine distance": round(float(cosine(pitch, other)), 2),
    "cosine distance of the unmasked": round(
        float(cosine(pitch.compressed(), other.compressed())), 2
    ),
    "spearmanr": round(float(spearmanr(pitch, other).statistic), 4),
    "kendalltau": round(float(kendalltau(pitch, other).statistic), 4),
}
try:
    seen["pearsonr"] = round(float(pearsonr(pitch, other).statistic), 4)
except ValueError:
    seen["pearsonr"] = "ValueError"
recorded = {
    "AUC": 0.4444,
    "AUC of the unmasked": 1.0,
    "cosine distance": 2.0,
    "cosine distance of the unmasked": 0.0,
    "spearmanr": 0.0,
    "kendalltau": 1.0,
    "pearsonr": "ValueError",
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
