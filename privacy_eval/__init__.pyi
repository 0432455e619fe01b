# The public names and where they are defined: read by type checkers, and by __init__.py, which
# imports each on first use.
from .asv.backend import PldaBackend as PldaBackend
from .asv.backend import score_matrix as score_matrix
from .asv.backend import train_backend as train_backend
from .asv.model_folder import load_backend as load_backend
from .errors import PrivacyEvalError as PrivacyEvalError
from .io.scores import pair as pair
from .io.scores import read_scores as read_scores
from .io.scores import read_trials as read_trials
from .io.scp import read_vectors as read_vectors
from .metrics import METRICS as METRICS
from .metrics import TrialScores as TrialScores
from .metrics import cllr as cllr
from .metrics import evaluate as evaluate
from .metrics import kaldi_eer as kaldi_eer
from .metrics import linkability as linkability
from .metrics import min_cllr as min_cllr
from .metrics import min_dcf as min_dcf
from .metrics import rocch_eer as rocch_eer
from .metrics import score_metrics as score_metrics
from .metrics import similarity_matrix as similarity_matrix
from .metrics import speaker_bootstrap as speaker_bootstrap
from .metrics import speechbrain_eer as speechbrain_eer
from .metrics import voice_similarity as voice_similarity
from .metrics import zebra as zebra
from .protocol.protocol import load_protocol as load_protocol
from .report.figures.axes import plot_det as plot_det
from .report.figures.axes import plot_ece as plot_ece
from .report.figures.axes import plot_scores as plot_scores
from .results.json_store import read_results as read_results
from .results.signature import signature as signature
from .stages.collect import collect as collect
from .stages.privacy_metrics import evaluate_tree as evaluate_tree
from .tree.discovery import find_systems as find_systems
from .version import __version__ as __version__

load = read_results
