"""Privacy metrics: pure functions on scores.

`TrialScores` are the sorted scores that all of them share, `Replicates` their bootstrap replicates,
which the same functions take; `score_metrics` computes all. Rates are fractions, costs and
disclosures bits, LLRs natural logs.
"""

from . import registry as _registry
from .caveats import CAVEATS as CAVEATS
from .caveats import NOT_AVAILABLE as NOT_AVAILABLE
from .caveats import Caveat as Caveat
from .caveats import caveats_of as caveats_of
from .caveats import find_caveats as find_caveats
from .caveats import find_ties as find_ties
from .caveats import withholding_caveat as withholding_caveat
from .confidence import Interval as Interval
from .confidence import speaker_bootstrap as speaker_bootstrap
from .detection import min_dcf as min_dcf
from .eer import Eer as Eer
from .eer import bengio_mariethoz_interval as bengio_mariethoz_interval
from .eer import kaldi_eer as kaldi_eer
from .eer import rocch_eer as rocch_eer
from .eer import speechbrain_eer as speechbrain_eer
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .linkability import linkability as linkability
from .llr import categorical_tag as categorical_tag
from .llr import cllr as cllr
from .llr import min_cllr as min_cllr
from .llr import zebra as zebra
from .pav import pav as pav
from .registry import METRICS as METRICS
from .registry import NO_WIDTH as NO_WIDTH
from .registry import NO_WIDTH_NOTE as NO_WIDTH_NOTE
from .registry import Label as Label
from .registry import Metric as Metric
from .registry import MetricDescription as MetricDescription
from .registry import describe as describe
from .registry import of_kind as of_kind
from .registry import score_curves as score_curves
from .registry import score_metrics as score_metrics
from .registry import similarity_metrics as similarity_metrics
from .registry import zebra_tag as zebra_tag
from .similarity import similarity_matrix as similarity_matrix
from .trial_scores import VARIANTS as VARIANTS
from .trial_scores import TrialScores as TrialScores
from .trial_scores import Variant as Variant
from .trials import Trials as Trials

_registry.add_metrics_of_wings()  # which import from here
