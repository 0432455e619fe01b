"""The wing of planning: how many speakers or listeners an evaluation needs."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"

WING = Wing(
    "planning",
    verbs={"sample-size": (_VERBS, "how wide intervals will be, by the number of speakers")},
)
