"""The wing of listening tests."""

from ..wings import Wing

_HERE = __name__.rpartition(".")[0]

WING = Wing(
    "listening",
    verbs={
        "listening": (
            f"{_HERE}.verbs",
            "evaluate the ratings of a listening test: metrics, tables and figures",
        )
    },
    provides={"variances of ratings": f"{_HERE}.evaluation:pilot_variances"},
    inserts={"listening": f"{_HERE}.verbs:listening_insert"},
)
