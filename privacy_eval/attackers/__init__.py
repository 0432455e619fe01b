"""The wing of attackers without a neural network: words, alignment, score normalization, fusion."""

from ..wings import Wing

_ALIGNED = f"{__name__}.aligned_scores:aligned_scorings"
_VERBS = f"{__name__}.verbs"

WING = Wing(
    "attackers",
    attackers={
        "words": f"{__name__}.tree_scores:words_scorings",
        **dict.fromkeys(("aligned", "lda", "lda-joint", "spectrum"), _ALIGNED),
        "fused": f"{__name__}.tree_scores:fused_scorings",
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
