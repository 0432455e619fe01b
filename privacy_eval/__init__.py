"""Evaluation of voice anonymization on Kaldi experiment trees.

All that a notebook needs is reachable from here and imported on first use:

>>> import privacy_eval as pe
>>> result = pe.evaluate(target=[3, 5, 7, 8], nontarget=[1, 2, 4, 6])
>>> round(result.values["cllr_min"], 3), result.values["rocch_eer"]
(0.5, 0.25)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import PrivacyEvalError

if TYPE_CHECKING:
    from .asv.backend import PldaBackend, score_matrix, train_backend
    from .asv.model_folder import load_backend
    from .io.scores import pair, read_scores, read_trials
    from .io.scp import read_vectors
    from .metrics import (
        METRICS,
        TrialScores,
        cllr,
        compare,
        evaluate,
        kaldi_eer,
        linkability,
        min_cllr,
        min_dcf,
        rocch_eer,
        score_metrics,
        similarity_matrix,
        speaker_bootstrap,
        speechbrain_eer,
        voice_similarity,
        zebra,
    )
    from .protocol.protocol import load_protocol
    from .report.figures.axes import plot_det, plot_ece, plot_scores
    from .results.json_store import read_json as load
    from .results.json_store import read_json as read_results
    from .results.signature import signature
    from .stages.collect import collect
    from .stages.privacy_metrics import evaluate as evaluate_tree
    from .tree.discovery import find_systems

from .version import __version__

__all__ = [
    "METRICS",
    "PldaBackend",
    "PrivacyEvalError",
    "TrialScores",
    "__version__",
    "cllr",
    "collect",
    "compare",
    "evaluate",
    "evaluate_tree",
    "find_systems",
    "kaldi_eer",
    "linkability",
    "load",
    "load_backend",
    "load_protocol",
    "min_cllr",
    "min_dcf",
    "pair",
    "plot_det",
    "plot_ece",
    "plot_scores",
    "read_results",
    "read_scores",
    "read_trials",
    "read_vectors",
    "rocch_eer",
    "score_matrix",
    "score_metrics",
    "signature",
    "similarity_matrix",
    "speaker_bootstrap",
    "speechbrain_eer",
    "train_backend",
    "voice_similarity",
    "zebra",
]

#: Lazy names by module, as in the imports above, which only type checkers follow:
#: `privacy-eval VERB --help` must not wait for scipy.
_MODULES = {
    "asv.backend": "PldaBackend score_matrix train_backend",
    "asv.model_folder": "load_backend",
    "io.scores": "pair read_scores read_trials",
    "io.scp": "read_vectors",
    "metrics": "METRICS TrialScores cllr compare evaluate kaldi_eer linkability min_cllr min_dcf "
    "rocch_eer score_metrics similarity_matrix speaker_bootstrap speechbrain_eer "
    "voice_similarity zebra",
    "protocol.protocol": "load_protocol",
    "report.figures.axes": "plot_det plot_ece plot_scores",
    "results.json_store": "load read_results",
    "results.signature": "signature",
    "stages.collect": "collect",
    "stages.privacy_metrics": "evaluate_tree",
    "tree.discovery": "find_systems",
}
_RENAMED = {"load": "read_json", "read_results": "read_json", "evaluate_tree": "evaluate"}
_LAZY = {
    name: f"{module}.{_RENAMED.get(name, name)}"
    for module, names in _MODULES.items()
    for name in names.split()
}


if not TYPE_CHECKING:  # which would take any name for a public one

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _LAZY[name].rpartition(".")
        value = getattr(importlib.import_module(f".{module}", __name__), attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
