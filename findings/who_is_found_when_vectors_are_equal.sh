#!/usr/bin/env bash
# Guess: among equal scores the person who is found is drawn, or the first, alike in every
#   package; a vector that is NaN is refused.
# Seen: by inner product faiss names the first of the enrolled if one is asked for and the last if
#   five are; by distance the first. scikit-learn's nearest neighbor is the first, its
#   top_k_accuracy_score takes the last. A query of NaN is answered with -1, which is the last
#   name in a Python list.
# Why: one voice for all people is no identification, and the rate is then 0 or 100 % by the order
#   of enrollment. Broken vectors are found to be the person enrolled last.
# Versions: faiss-cpu 1.15.1, scikit-learn 1.9.1, numpy 2.4.6; Python 3.11
set -euo pipefail

packages=(faiss-cpu==1.15.1 scikit-learn==1.9.1 numpy==2.4.6)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import faiss
import numpy as np
from sklearn.metrics import top_k_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

people = ["ana", "ben", "cyd", "dan", "eva"]
enrolled = np.ones((5, 4), dtype=np.float32)


def found(index, query, count=1):
    """Return the first of some names that an index of faiss gives a vector."""
    index.add(enrolled)
    return people[index.search(query, count)[1][0, 0]]


def accuracy(person):
    """Return the share of two tests of one person that are right when all scores are equal."""
    truth = [people.index(person)] * 2
    return float(top_k_accuracy_score(truth, np.zeros((2, 5)), k=1, labels=range(5)))


seen = {
    "faiss, inner product, one": found(faiss.IndexFlatIP(4), enrolled[:1]),
    "faiss, inner product, first of five": found(faiss.IndexFlatIP(4), enrolled[:1], 5),
    "faiss, distance": found(faiss.IndexFlatL2(4), enrolled[:1]),
    "faiss, NaN": found(faiss.IndexFlatIP(4), np.full((1, 4), np.nan, dtype=np.float32)),
    "nearest neighbor": str(KNeighborsClassifier(1).fit(enrolled, people).predict(enrolled[:1])[0]),
    "top-1 of ana": accuracy("ana"),
    "top-1 of eva": accuracy("eva"),
}
recorded = {
    "faiss, inner product, one": "ana",
    "faiss, inner product, first of five": "eva",
    "faiss, distance": "ana",
    "faiss, NaN": "eva",
    "nearest neighbor": "ana",
    "top-1 of ana": 0.0,
    "top-1 of eva": 1.0,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
