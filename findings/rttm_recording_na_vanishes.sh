#!/usr/bin/env bash
# Guess: RTTM writes a missing value as <NA>: a speaker NA or None and a recording NA are names.
# Seen: pyannote.database's load_rttm makes the speakers NA and None one NaN, and a recording NA
#   is not in its result at all.
# Why: exporters write None for unknown speakers, and NA is a person's initials: a speaker that is
#   no text breaks comparisons, and a lost recording is scored nowhere.
# Versions: pyannote.database 6.1.1, pyannote.core 6.1.0, pandas 3.1.1; Python 3.11
set -euo pipefail

packages=(pyannote.database==6.1.1 pyannote.core==6.1.0 pandas==3.1.1)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

from pyannote.database.util import load_rttm

with open("reference.rttm", "w") as file:
    for recording, start, speaker in (
        ("r1", 0.0, "ana"), ("r1", 2.0, "NA"), ("r1", 4.0, "None"), ("NA", 0.0, "ben")
    ):
        file.write(f"SPEAKER {recording} 1 {start} 1.0 <NA> <NA> {speaker} <NA> <NA>\n")
recordings = load_rttm("reference.rttm")
labels = [label for _, _, label in recordings["r1"].itertracks(yield_label=True)]
seen = {
    "recordings": sorted(recordings),
    "speakers": [str(label) for label in labels],
    "speakers that are texts": sum(isinstance(label, str) for label in labels),
}
recorded = {
    "recordings": ["r1"],
    "speakers": ["ana", "nan", "nan"],
    "speakers that are texts": 1,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
