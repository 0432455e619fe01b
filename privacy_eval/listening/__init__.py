"""The wing of listening tests."""

from ..wings import Wing

#: Results and figures in the folder of an evaluated listening test.
RESULTS, FIGURES = "subjective.json", "figures"

WING = Wing(
    "listening",
    verbs={
        "listening": (
            f"{__name__}.verbs",
            "evaluate the ratings of a listening test: metrics, tables and figures",
        )
    },
    provides={"variances of ratings": f"{__name__}.evaluation:pilot_variances"},
    inserts={"listening": f"{__name__}.verbs:listening_insert"},
)
