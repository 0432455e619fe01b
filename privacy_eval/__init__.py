"""Evaluation of voice anonymization on Kaldi experiment trees."""

from importlib.metadata import version

from .errors import PrivacyEvalError

__version__ = version("privacy_eval")
__all__ = ["PrivacyEvalError", "__version__"]
