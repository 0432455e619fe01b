#!/usr/bin/env bash
# Guess: EnglishTextNormalizer writes numbers in one way and leaves words that are no numbers
#   alone; other numbers stay other words.
# Seen: "oh" is the digit 0 wherever it stands, also in names ("O'Hara" is "0 hara"), "second" is
#   "2nd", and "three two" becomes "32" as "thirty two" does. Hesitations vanish from both sides.
# Why: content and names are what a listener identifies people by. Words that were lost in
#   anonymization count as correct, and the number of words changes.
# Versions: whisper-normalizer 0.1.15; Python 3.11
set -euo pipefail

packages=(whisper-normalizer==0.1.15)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

from whisper_normalizer.english import EnglishTextNormalizer

normalize = EnglishTextNormalizer()
recorded = {
    "oh no": "0 no",
    "zero no": "0 no",
    "Neil O'Hara": "neil 0 hara",
    "wait a second": "wait a 2nd",
    "three two": "32",
    "thirty two": "32",
    "uh hmm yes": "yes",
}
seen = {text: normalize(text) for text in recorded}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
