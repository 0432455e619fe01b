#!/usr/bin/env bash
# Guess: the mean recall over classes is the UAR, by whatever function: a class that no recording
#   has, has no recall.
# Seen: recall_score(average="macro") and audmetric count a class that was predicted only as a
#   recall of 0; balanced_accuracy_score leaves it out: 0.50 and 0.75 for the same four rows.
# Why: recognizers of emotion know more classes than a corpus has. One wrong guess outside them
#   costs a quarter of the UAR by one function and nothing more by the other.
# Versions: scikit-learn 1.9.1, audmetric 1.4.2; Python 3.11
set -euo pipefail

packages=(scikit-learn==1.9.1 audmetric==1.4.2)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys
import warnings

import audmetric
from sklearn.metrics import balanced_accuracy_score, recall_score

warnings.simplefilter("ignore")
truth, prediction = ["ang", "ang", "hap", "hap"], ["ang", "ang", "hap", "fear"]
seen = {
    "recall_score": float(recall_score(truth, prediction, average="macro")),
    "audmetric": float(audmetric.unweighted_average_recall(truth, prediction)),
    "balanced_accuracy_score": float(balanced_accuracy_score(truth, prediction)),
}
recorded = {"recall_score": 0.5, "audmetric": 0.5, "balanced_accuracy_score": 0.75}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
