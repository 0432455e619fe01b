#!/usr/bin/env bash
# Guess: a line of the reference is scored against the same line of the hypothesis, as in every
#   tool that takes a line per utterance; an empty line is an empty transcript.
# Seen: lines of no or one character are left out of either file by itself ("I", a word of one
#   Chinese character, an empty output of the recognizer) and the rest is paired anew. Where both
#   files lose as many lines, utterances are scored against others, and nothing is said.
# Why: recognizers print nothing for badly anonymized speech. Here 3 of 7 words are wrong, and the
#   command says that all are.
# Versions: jiwer 4.0.0; Python 3.11
set -euo pipefail

packages=(jiwer==4.0.0)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import subprocess
import sys

import jiwer

reference = ["good morning", "stay here", "come back", "I"]
hypothesis = ["", "stay here", "come back", "I see"]
for name, lines in (("reference", reference), ("hypothesis", hypothesis)):
    with open(name, "w") as file:
        file.writelines(line + "\n" for line in lines)
command = ["venv/bin/jiwer", "-r", "reference", "-h", "hypothesis"]
seen = {
    "command": float(subprocess.run(command, check=True, capture_output=True).stdout),
    "function": round(jiwer.wer(reference, hypothesis), 4),
}
recorded = {"command": 1.0, "function": round(3 / 7, 4)}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
