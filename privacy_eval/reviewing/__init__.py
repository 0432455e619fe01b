"""The wing of reviewers: results computed again or against earlier ones, and personal data."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"

WING = Wing(
    "reviewing",
    verbs={
        "verify": (_VERBS, "compute the numbers of a results.json again from the files it names"),
        "inventory": (_VERBS, "list the files of a run that hold personal data, or delete some"),
    },
)
