#!/usr/bin/env bash
# Guess: a line of a corpus' TSV is an utterance, and a sentence that begins with a quotation mark
#   is text like any other.
# Seen: pandas, pyarrow and Python's csv take the mark for the beginning of a quoted field: the
#   following lines, up to the next mark, become words of that sentence, and three of six
#   recordings are gone without a word. polars refuses the file; duckdb alone reads six rows.
#   quoting=3 (pandas) or quote_char=False (pyarrow) is the remedy.
# Why: crowdsourced corpora come as TSV without quoting, with sentences of novels and dialogues.
#   Speakers lose recordings, and transcripts hold ids and paths of others.
# Versions: pandas 3.1.1, polars 2.1.0, duckdb 2.0.1, pyarrow 26.0.1; Python 3.11
set -euo pipefail

packages=(pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import csv
import sys

import duckdb
import pandas as pd
import polars as pl
import pyarrow.csv as arrow

sentences = ['"Yes" she said.', '"No, he said.', "fine", 'it is "ok"', 'he left."', "last"]
with open("validated.tsv", "w") as file:
    file.write("client_id\tpath\tsentence\n")
    for number, sentence in enumerate(sentences):
        file.write(f"c{number}\t{number}.mp3\t{sentence}\n")
tabs = arrow.ParseOptions(delimiter="\t")
bare = arrow.ParseOptions(delimiter="\t", quote_char=False)
with open("validated.tsv") as file:
    rows = list(csv.DictReader(file, delimiter="\t"))
seen = {
    "pandas": len(pd.read_csv("validated.tsv", sep="\t")),
    "pyarrow": arrow.read_csv("validated.tsv", parse_options=tabs).num_rows,
    "csv": len(rows),
    "lines in the second sentence": rows[1]["sentence"].count("\n") + 1,
    "duckdb": len(duckdb.sql("from read_csv('validated.tsv')").fetchall()),
    "pandas, quoting=3": len(pd.read_csv("validated.tsv", sep="\t", quoting=3)),
    "pyarrow, quote_char=False": arrow.read_csv("validated.tsv", parse_options=bare).num_rows,
}
try:
    seen["polars"] = pl.read_csv("validated.tsv", separator="\t").height
except pl.exceptions.ComputeError:
    seen["polars"] = "refused"
recorded = {
    "pandas": 4,
    "pyarrow": 4,
    "csv": 4,
    "lines in the second sentence": 3,
    "duckdb": 6,
    "pandas, quoting=3": 6,
    "pyarrow, quote_char=False": 6,
    "polars": "refused",
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
