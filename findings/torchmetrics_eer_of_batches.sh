#!/usr/bin/env bash
# Guess: scores are collected batch by batch, so the EER is that of all scores, however they were
#   divided into batches.
# Seen: each batch that has a score outside [0, 1] goes through a sigmoid, the others stay as they
#   are, and both are pooled. The cosines of 24 trials have an EER of 25 % in one batch and of 42 %
#   in batches of eight, four or two.
# Why: cosines of speaker vectors are negative only now and then. In the small batches of a
#   validation loop a voice seems to be anonymized far better.
# Versions: torchmetrics 1.9.0, torch 2.13.0, numpy 2.4.6; Python 3.11
set -euo pipefail

packages=(torchmetrics==1.9.0 torch==2.13.0 numpy==2.4.6)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import torch
from torchmetrics.classification import BinaryEER

# Twelve steps of cosines: targets from 0.1 to 0.65, nontargets from -0.2 to 0.35.
targets = [round(0.1 + 0.05 * step, 2) for step in range(12)]
nontargets = [round(-0.2 + 0.05 * step, 2) for step in range(12)]
trials = [pair for both in zip(targets, nontargets) for pair in zip(both, (1, 0))]
trials = sorted(trials, key=lambda trial: round(trial[0] * 100) * 7 % 31)


def eer(size):
    metric = BinaryEER(thresholds=None)
    for start in range(0, len(trials), size):
        scores, labels = zip(*trials[start : start + size])
        metric.update(torch.tensor(scores), torch.tensor(labels))
    return round(float(metric.compute()), 4)


seen = {f"batches of {size}": eer(size) for size in (24, 8, 4, 2)}
recorded = {
    "batches of 24": 0.25,
    "batches of 8": 0.4167,
    "batches of 4": 0.4167,
    "batches of 2": 0.4167,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
