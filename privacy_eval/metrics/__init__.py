"""Privacy metrics: pure functions on scores, one file per metric.

`TrialScores` are the sorted scores that all of them share; `score_metrics`
computes all. Rates are fractions, costs and disclosures bits, LLRs natural logs.
"""

from .caveats import CAVEATS, NOT_AVAILABLE, Caveat, find_caveats, withholding_caveat
from .cllr import Cllr, cllr, min_cllr
from .confidence import BootstrapReplicates, Interval, speaker_bootstrap
from .detection import MinDcf, min_dcf
from .eer import (
    IMPLAUSIBLE_EER,
    Eer,
    bengio_mariethoz_interval,
    kaldi_eer,
    rocch_eer,
    speechbrain_eer,
)
from .evaluation import Evaluation, evaluate
from .identification import (
    LocalDisclosure,
    RankDisclosure,
    SinglingOut,
    SinglingOutCurve,
    beaters,
    closed_set_linkage,
    linkage_of_beaters,
    local_disclosure,
    rank_disclosure,
    singling_out,
    singling_out_chance,
    singling_out_curve,
)
from .linkability import LINKABILITY_MIN_TARGETS, Linkability, linkability
from .pav import Groups, PavBlocks, pav
from .registry import (
    METRICS,
    Label,
    Metric,
    describe,
    of_kind,
    score_curves,
    score_metrics,
    similarity_metrics,
    zebra_tag,
)
from .similarity import (
    SimilarityMatrix,
    VoiceSimilarity,
    similarity_matrix,
    speaker_linkability,
    voice_similarity,
)
from .trial_scores import VARIANTS, TrialScores, Variant
from .zebra import (
    CATEGORICAL_TAGS,
    EceProfile,
    Zebra,
    categorical_tag,
    ece_profile,
    individual_disclosure,
    population_disclosure,
    zebra,
)

__all__ = [
    "CATEGORICAL_TAGS",
    "CAVEATS",
    "IMPLAUSIBLE_EER",
    "LINKABILITY_MIN_TARGETS",
    "METRICS",
    "NOT_AVAILABLE",
    "VARIANTS",
    "BootstrapReplicates",
    "Caveat",
    "Cllr",
    "EceProfile",
    "Eer",
    "Evaluation",
    "Groups",
    "Interval",
    "Label",
    "Linkability",
    "LocalDisclosure",
    "Metric",
    "MinDcf",
    "PavBlocks",
    "RankDisclosure",
    "SimilarityMatrix",
    "SinglingOut",
    "SinglingOutCurve",
    "TrialScores",
    "Variant",
    "VoiceSimilarity",
    "Zebra",
    "beaters",
    "bengio_mariethoz_interval",
    "categorical_tag",
    "cllr",
    "closed_set_linkage",
    "describe",
    "ece_profile",
    "evaluate",
    "find_caveats",
    "individual_disclosure",
    "kaldi_eer",
    "linkability",
    "linkage_of_beaters",
    "local_disclosure",
    "min_cllr",
    "min_dcf",
    "of_kind",
    "pav",
    "population_disclosure",
    "rank_disclosure",
    "rocch_eer",
    "score_curves",
    "score_metrics",
    "similarity_matrix",
    "similarity_metrics",
    "singling_out",
    "singling_out_chance",
    "singling_out_curve",
    "speaker_bootstrap",
    "speaker_linkability",
    "speechbrain_eer",
    "voice_similarity",
    "withholding_caveat",
    "zebra",
    "zebra_tag",
]
