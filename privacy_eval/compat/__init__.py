"""The wing of other programs' interfaces."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"

WING = Wing(
    "compat",
    verbs={"zebra": (_VERBS, "compute the ZEBRA metrics and profile of one score file")},
)
