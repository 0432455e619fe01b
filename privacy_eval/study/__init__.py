"""The wing of the metric study: simulations that show what each metric detects and misses."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"

WING = Wing(
    "study",
    requires=("attackers", "curves"),
    verbs={
        "study": (_VERBS, "run simulations that show what each metric is sensitive to"),
        "study-report": (_VERBS, "write tables, figures and report of a metric study"),
    },
)
