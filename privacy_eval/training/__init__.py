"""The wing of training: an ECAPA-TDNN, as the challenges attack with, trained on given speech."""

from ..wings import Wing

WING = Wing(
    "training",
    requires=("speech",),
    verbs={
        "train-encoder": (
            f"{__name__}.verbs",
            "train a speaker encoder (ECAPA-TDNN) on data folders, as the semi-informed attacker",
        )
    },
    options={"train-encoders": f"{__name__}.options:TreeTraining"},
    provides={"train_encoders": f"{__name__}.trees:train_encoders"},
)
