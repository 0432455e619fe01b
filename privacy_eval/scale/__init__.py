"""The wing of numbers of trials that one machine does not hold: counts of scores that add up."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"

WING = Wing(
    "scale",
    verbs={
        "count": (_VERBS, "count scores in a table that adds up over files, machines and jobs"),
        "merge": (_VERBS, "add counts of parts of the scores"),
        "count-metrics": (_VERBS, "compute the privacy metrics of counts, each between two bounds"),
    },
)
