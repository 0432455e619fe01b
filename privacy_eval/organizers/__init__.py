"""The wing of organizers: what is wrong with a tree, and submissions."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"
_CHECK = "check a tree: missing inputs, original/anonymized mismatches, implausible scores"

WING = Wing(
    "organizers",
    verbs={
        "check": (_VERBS, _CHECK),
        "unpack-submissions": (
            _VERBS,
            "unpack the zips of submissions, each into a folder of its own",
        ),
    },
)
