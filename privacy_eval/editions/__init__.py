"""The wing of results files of the challenge's editions, 2020 to 2026."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"

WING = Wing(
    "editions",
    verbs={"import": (_VERBS, "convert the results files of a challenge to results.json")},
)
