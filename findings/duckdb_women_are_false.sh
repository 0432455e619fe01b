#!/usr/bin/env bash
# Guess: a column of letters is text, and so is a column of ids with hyphens, whatever the rows.
# Seen: a column sex in which all are "f" becomes a column of truth values: all women are False.
#   With one "m" it is text. Ids of three numbers become dates: 1-2-3 is 0001-02-03, and 12-01-05
#   is 2012-01-05, as long as each has a day that exists.
# Why: tables of one gender are usual (the challenge's sets are split so). Ids and groups no
#   longer join with the scores, and a group is named False.
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

tables = {
    "women": "ana,f\nben,f",
    "women and men": "ana,f\nben,m",
    "speaker-session-take": "12-01-05,f\n12-01-06,m",
    "short ids": "1-2-3,f\n1-2-4,m",
    "chapter 121": "84-121-0,f\n84-121-1,m",
}
seen = {}
for name, rows in tables.items():
    with open("table.csv", "w") as file:
        file.write(f"speaker,sex\n{rows}\n")
    values = duckdb.sql("from read_csv('table.csv')").fetchall()
    seen[name] = [tuple(str(value)[:10] for value in row) for row in values]
recorded = {
    "women": [("ana", "False"), ("ben", "False")],
    "women and men": [("ana", "f"), ("ben", "m")],
    "speaker-session-take": [("2012-01-05", "f"), ("2012-01-06", "m")],
    "short ids": [("0001-02-03", "f"), ("0001-02-04", "m")],
    "chapter 121": [("84-121-0", "f"), ("84-121-1", "m")],
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
