"""The wing of attackers that need no neural network."""

from ..wings import Wing

_HERE = __name__.rpartition(".")[0]
_ALIGNED = f"{_HERE}.aligned_scores:aligned_scorings"
_VERBS = f"{_HERE}.verbs"

WING = Wing(
    "attackers",
    attackers={
        "words": f"{_HERE}.tree_scores:words_scorings",
        **dict.fromkeys(("aligned", "lda", "lda-joint", "spectrum"), _ALIGNED),
        "fused": f"{_HERE}.tree_scores:fused_scorings",
    },
    verbs={
        "asv-scores": (_VERBS, "compute the scores of trials from two files of vectors"),
        "text-scores": (
            _VERBS,
            "compute the scores of trials from transcripts: who speaks, by the words",
        ),
        "fuse-scores": (_VERBS, "fuse the scores of several attackers, over folds of speakers"),
    },
)
