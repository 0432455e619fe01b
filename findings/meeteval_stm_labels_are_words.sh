#!/usr/bin/env bash
# Guess: a reader of STM knows its optional sixth field, the label <o,f0,male>, and the mark
#   IGNORE_TIME_SEGMENT_IN_SCORING, as NIST's sclite does: neither is a word.
# Seen: meeteval keeps both as words of the transcript. In corpora whose STM has labels (TED-LIUM)
#   every segment has a word more that no recognizer says, and the segments that must not be
#   scored are errors. Lines of ;; are left out, as they should be.
# Why: the reference of a public corpus gives 3 errors of 7 words where sclite has no error among
#   4 words: the words of anonymized speech look worse than they are.
# Versions: meeteval 0.4.3; Python 3.11
set -euo pipefail

packages=(meeteval==0.4.3)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import meeteval
from meeteval.io import STM

reference = STM.parse(
    ";; a comment\n"
    "talk 1 ana 0.0 2.0 <o,f0,female> good morning\n"
    "talk 1 ana 2.0 4.0 <o,f0,female> stay here\n"
    "talk 1 ana 4.0 6.0 ignore_time_segment_in_scoring\n"
)
hypothesis = STM.parse("talk 1 ana 0.0 2.0 good morning\ntalk 1 ana 2.0 4.0 stay here\n")
result = meeteval.wer.combine_error_rates(meeteval.wer.cpwer(reference, hypothesis))
seen = {
    "segments": len(reference),
    "first transcript": reference[0].transcript,
    "errors": result.errors,
    "words": result.length,
}
recorded = {
    "segments": 3,
    "first transcript": "<o,f0,female> good morning",
    "errors": 3,
    "words": 7,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
