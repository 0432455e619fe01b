"""The wing of listening tests."""

from ..wings import Wing

#: Results and figures in the folder of an evaluated listening test.
RESULTS, FIGURES = "subjective.json", "figures"
#: The lowest and highest rating of the 2020 challenge's listening test.
SCALE = (1.0, 10.0)
#: Minimum number of an evaluator's ratings of a metric; fewer are flagged.
MIN_RATINGS = 10
#: Minimum agreement of an evaluator with the others; less is flagged.
MIN_AGREEMENT = 0.1

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
