"""The stages of recipes/vpc2020, each once: recipes, `check`, `check-options` read this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import wings

if TYPE_CHECKING:
    from ..protocol.protocol import Protocol

# Number, names (privacy-eval stage NAME, whose log has the name, too), what, input -> output.
TABLE = """
 0 | check                         | check the tree                          | inputs, scores -> what is missing, mismatched or implausible
 1 | data                          | data and models: where to get them      | the challenge's organizers -> data/, exp/models/
 2 | train_encoders, train_backend | models of the semi-informed attacker    | anonymized training speech, its x-vectors -> encoder; plda, transform.mat, mean.vec
 3 | subsets                       | evaluation subsets                      | data/<set>, its lists -> data/<set>_enrolls, _trials_*
 4 | anonymize                     | anonymization, baseline B2 or your own  | data/<set> -> its anonymized copy
 5 | subsets, train_encoders, xvectors, train_backend, asv_scores | speaker verification scores | speech or x-vectors, back end, trials; transcripts -> RESULTS/.../ASV-*/scores
 6 | recognize, privacy_metrics, measures | privacy metrics of every condition      | RESULTS/.../ASV-*/scores, trial keys; speech -> OUT/records
 7 | similarity, identification, attributes | DeID, G_VD; finding speakers; inference | x-vectors, back end, scores -> OUT/records
 8 | collect                       | collect the results                     | OUT/records -> OUT/results.json, results.csv, results.txt
 9 | tables                        | tables for LaTeX, Markdown, text, CSV   | OUT/results.json -> OUT/tables
10 | figures, report               | figures, and one report to read         | OUT/results.json -> OUT/figures, OUT/report.html
11 | listening                     | listening test, if there are ratings    | ratings.csv -> OUT/subjective, OUT/report.html
"""  # noqa: E501


@dataclass(frozen=True)
class Stage:
    """A stage of the recipe.

    Attributes
    ----------
    number : int
    names : tuple of str
        Of its scripts, verbs and logs, as they run.
    what : str
    flow : str
        Its input -> output.
    """

    number: int
    names: tuple[str, ...]
    what: str
    flow: str


def parse_stage(line: str) -> Stage:
    """Read a row of the table."""
    number, names, what, flow = (column.strip() for column in line.split("|"))
    return Stage(int(number), tuple(names.split(", ")), what, flow)


STAGES = tuple(map(parse_stage, TABLE.strip().splitlines()))


def stages_of_wings() -> dict[str, wings.Stage]:
    """Return the stages that wings add, by name."""
    return wings.of_wings("stages", {name for stage in STAGES for name in stage.names})


def every_stage() -> list[Stage]:
    """Return the stages of the core and of wings, by number."""
    added = stages_of_wings().items()
    own = (Stage(stage.number, (name,), stage.what, stage.flow) for name, stage in added)
    return sorted((*STAGES, *own), key=lambda stage: stage.number)


def recipe_of(protocol: Protocol) -> str:
    """Return the recipe that evaluates trees of an edition."""
    return f"recipes/{'vpc2024' if protocol.has_own_scoring else 'vpc2020'}/run.sh"


def stage_number(name: str) -> int:
    """Return the number of the stage with a script name; the last one if there are several."""
    return next(s.number for s in reversed(STAGES) if name in s.names)
