#!/usr/bin/env bash
# Guess: JSON has types: what stands in quotation marks stays text. polars and duckdb agree.
# Seen: pandas.read_json makes numbers of quoted ids: "0012" is 12, and "12_345" is the speaker
#   12345. A column start_time or end_time whose numbers are all above 31,536,000 (samples, say)
#   becomes dates of 1971. dtype=False keeps everything as it is.
# Why: NeMo's manifests and SegLST are JSON. Two speakers become one, so trials of two people are
#   target trials; ids of other files no longer match.
# Versions: pandas 3.1.1, polars 2.1.0, duckdb 2.0.1; Python 3.11
set -euo pipefail

packages=(pandas==3.1.1 polars==2.1.0 duckdb==2.0.1)
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
import pandas as pd
import polars as pl

with open("manifest.json", "w") as file:
    file.write(
        '{"words": "a", "session_id": "0012", "speaker": "12_345", "start_time": 40000000}\n'
        '{"words": "b", "session_id": "0013", "speaker": "12345", "start_time": 50000000}\n'
    )
table = pd.read_json("manifest.json", lines=True)
untyped = pd.read_json("manifest.json", lines=True, dtype=False)
other = pl.read_ndjson("manifest.json")
query = "select session_id, speaker from read_json('manifest.json')"
seen = {
    "pandas, sessions": table["session_id"].tolist(),
    "pandas, speakers": table["speaker"].nunique(),
    "pandas, first start": str(table["start_time"][0]),
    "dtype=False, sessions": untyped["session_id"].tolist(),
    "dtype=False, speakers": untyped["speaker"].nunique(),
    "dtype=False, first start": float(untyped["start_time"][0]),
    "polars": other.select("session_id", "speaker").rows(),
    "duckdb": duckdb.sql(query).fetchall(),
}
recorded = {
    "pandas, sessions": [12, 13],
    "pandas, speakers": 1,
    "pandas, first start": "1971-04-08 23:06:40",
    "dtype=False, sessions": ["0012", "0013"],
    "dtype=False, speakers": 2,
    "dtype=False, first start": 4e7,
    "polars": [("0012", "12_345"), ("0013", "12345")],
    "duckdb": [("0012", "12_345"), ("0013", "12345")],
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
