"""The EER of a score file, as a notebook has it: joined with its key by Polars, by scikit-learn.

Usage: one_eer.py SCORES TRIALS
"""

import sys

import numpy as np
import polars as pl
from sklearn.metrics import roc_curve


def read(path: str, last: str) -> pl.DataFrame:
    """Read a file of two columns of ids and another one."""
    return pl.read_csv(
        path,
        separator=" ",
        has_header=False,
        new_columns=["enrolled", "utterance", last],
        schema_overrides={"column_1": pl.String, "column_2": pl.String},
    )


scores, key = read(sys.argv[1], "score"), read(sys.argv[2], "label")
trials = scores.join(key, on=["enrolled", "utterance"])
assert trials.height == scores.height == key.height
false_alarm, hit, _ = roc_curve(trials["label"].to_numpy() == "target", trials["score"].to_numpy())
crossing = np.argmin(np.abs(1 - hit - false_alarm))
print((1 - hit[crossing] + false_alarm[crossing]) / 2)
