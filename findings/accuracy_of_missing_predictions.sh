#!/usr/bin/env bash
# Guess: (label == prediction).mean() is one number in every data frame.
# Seen: where a prediction is missing, pandas counts it as wrong, polars and duckdb leave it out:
#   accuracies of 0.5 and 0.67 for the same four rows. The error rate differs likewise.
# Why: recognizers of emotion, sex or accent give no answer for some anonymized recordings. An
#   attacker who answers seldom looks better in one package than in the other.
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
import sys

import duckdb
import pandas as pd
import polars as pl

rows = {"label": ["ang", "hap", "sad", "neu"], "prediction": ["ang", "hap", None, "hap"]}
frame, other = pd.DataFrame(rows), pl.DataFrame(rows)
rates = duckdb.sql(
    "select avg((label = prediction)::int), avg((label <> prediction)::int) from frame"
).fetchall()[0]
seen = {
    "pandas": (
        float((frame["label"] == frame["prediction"]).mean()),
        float((frame["label"] != frame["prediction"]).mean()),
    ),
    "polars": (
        round((other["label"] == other["prediction"]).mean(), 4),
        round((other["label"] != other["prediction"]).mean(), 4),
    ),
    "duckdb": tuple(round(rate, 4) for rate in rates),
}
recorded = {"pandas": (0.5, 0.5), "polars": (0.6667, 0.3333), "duckdb": (0.6667, 0.3333)}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
