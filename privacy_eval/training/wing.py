"""The wing of training: an ECAPA-TDNN, as the challenges attack with, trained on given speech."""

from ..wings import Wing

_HERE = __name__.rpartition(".")[0]

WING = Wing(
    "training",
    requires=("speech",),
    verbs={
        "train-encoder": (
            f"{_HERE}.verbs",
            "train a speaker encoder (ECAPA-TDNN) on data folders, as the semi-informed attacker",
        )
    },
    options={"train-encoders": f"{_HERE}.options:TreeTraining"},
    provides={"train_encoders": f"{_HERE}.trees:train_encoders"},
)
