#!/usr/bin/env bash
# Guess: words are what white space separates, as for str.split(), Kaldi and meeteval.
# Seen: jiwer 4 splits words at the blank only: "good<tab>morning" is one word, and so are words
#   with a line break or an ideographic space (CJK text) between them. meeteval splits at each.
# Why: transcripts cut from tables and TextGrids hold tabs: identical words are errors, here 2 of
#   3, and two tools that agree otherwise print 67 and 0 % for the same file.
# Versions: jiwer 4.0.0, meeteval 0.4.3; Python 3.11
set -euo pipefail

packages=(jiwer==4.0.0 meeteval==0.4.3)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import jiwer
from meeteval.wer.wer.siso import siso_word_error_rate

reference = "good morning everybody"
seen = {}
for name, space in (("tab", "\t"), ("line break", "\n"), ("ideographic space", "\u3000")):
    hypothesis = f"good{space}morning everybody"
    seen[f"{name}, jiwer"] = round(jiwer.wer(reference, hypothesis), 4)
    seen[f"{name}, meeteval"] = siso_word_error_rate(reference, hypothesis).error_rate
recorded = {name: 0.0 if name.endswith("meeteval") else 0.6667 for name in seen}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
