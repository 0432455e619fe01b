#!/usr/bin/env bash
# Guess: dtype=str keeps every name as it is written, and a join never matches a missing value
#   with a missing value, as in SQL.
# Seen: pandas reads the speakers NA, None, nan and null of utt2spk as missing, also with
#   dtype=str (a speaker Nan stays), and merge() pairs all that are missing with each other:
#   people with such names or initials become one person. keep_default_na=False is the remedy.
#   groupby() leaves them out, where polars and duckdb keep a row for them.
# Why: trials made by joining utt2spk with itself have target trials of two people, and a mean
#   over speakers has fewer speakers: nothing says so.
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

with open("utt2spk", "w") as file:
    file.write("u1 ana\nu2 NA\nu3 None\nu4 nan\nu5 null\nu6 Nan\n")
names = {"sep": " ", "header": None, "names": ["utterance", "speaker"], "dtype": str}
frame = pd.read_csv("utt2spk", **names)
kept = pd.read_csv("utt2spk", **names, keep_default_na=False)
other = pl.DataFrame({"speaker": ["ana", None, None, None, None, "Nan"]})
join = "select count(*) from frame as a join frame as b using (speaker)"
seen = {
    "missing": int(frame["speaker"].isna().sum()),
    "pairs of one speaker, pandas": len(frame.merge(frame, on="speaker")),
    "pairs of one speaker, polars": other.join(other, on="speaker").height,
    "pairs of one speaker, duckdb": duckdb.sql(join).fetchall()[0][0],
    "speakers of groupby, pandas": len(frame.groupby("speaker").size()),
    "speakers of group_by, polars": other.group_by("speaker").len().height,
    "pairs with keep_default_na=False": len(kept.merge(kept, on="speaker")),
}
recorded = {
    "missing": 4,
    "pairs of one speaker, pandas": 1 + 4 * 4 + 1,
    "pairs of one speaker, polars": 2,
    "pairs of one speaker, duckdb": 2,
    "speakers of groupby, pandas": 2,
    "speakers of group_by, polars": 3,
    "pairs with keep_default_na=False": 6,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
