#!/usr/bin/env bash
# Guess: a file of texts without a header keeps its first line: nothing in it differs from the
#   other lines.
# Seen: where all columns are texts, duckdb takes the first line for names of columns: of the
#   utterances of utt2spk or of a list of trials the first is missing. Numbers in a column make it
#   right again, so a score file keeps its first line. header = false is the remedy.
# Why: one speaker with a single utterance disappears, and the count of trials is one less than
#   the count of scores; a join of the two drops the difference without a word.
# Versions: duckdb 2.0.1; Python 3.11
set -euo pipefail

packages=(duckdb==2.0.1)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import duckdb

files = {
    "utt2spk": "u1 ana\nu2 ben\nu3 cyd\n",
    "trials": "ana u1 target\nana u2 nontarget\nben u2 target\n",
    "scores": "ana u1 0.9\nana u2 0.1\nben u2 0.7\n",
}
seen = {}
for name, text in files.items():
    with open(name, "w") as file:
        file.write(text)
    seen[name] = len(duckdb.sql(f"from read_csv('{name}', delim=' ')").fetchall())
query = "from read_csv('utt2spk', delim=' ', header=false)"
seen["utt2spk, header=false"] = len(duckdb.sql(query).fetchall())
recorded = {"utt2spk": 2, "trials": 2, "scores": 3, "utt2spk, header=false": 3}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
