"""Golden score sets (see PROVENANCE.md beside them) and the paper's discrete cases."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics import TrialScores
from privacy_eval.metrics.pairing import pair

FOLDER = Path(__file__).parents[1] / "data" / "golden" / "scores"

#: Named one by one: a case that is lost fails instead of going unnoticed.
NAMES = (
    "beyond_float32",
    "few_trials",
    "heavy_tails",
    "huge_magnitudes",
    "ignorant_at_chance",
    "inverted",
    "lazy_informed",
    "many_ties",
    "nonmated_in_between",
    "one_bin_of_ties",
    "original_well_separated",
    "perfectly_separated",
)


@dataclass(frozen=True)
class GoldenScores:
    """A golden case: its scores, and what other tools make of them."""

    name: str
    scores: TrialScores
    expected: dict[str, Any]


@cache
def load(name: str) -> GoldenScores:
    """A case, read the way the package reads score files."""
    folder = FOLDER / name
    trials = pair(read_scores(folder / "scores.gz"), read_trials(folder / "trials.gz"))
    return GoldenScores(
        name,
        TrialScores.from_labels(trials.score, trials.is_target),
        json.loads((folder / "expected.json").read_text(encoding="utf-8")),
    )


#: Table 1 of the comparative study: labels of the scores 1 to 8, H target, n nontarget.
TABLE_1 = {1: "nnHnHnHH", 2: "nnHnHHnH", 3: "nnHnHHHn"}


def table_1(case: int) -> TrialScores:
    """One of its three cases."""
    return TrialScores.from_labels(range(1, 9), [label == "H" for label in TABLE_1[case]])
