"""The wing of results files of the challenge's editions."""

from ..wings import Wing

_VERBS = f"{__name__.rpartition('.')[0]}.verbs"

WING = Wing(
    "editions",
    verbs={"import": (_VERBS, "convert the results files of a challenge to results.json")},
)
