"""The one exception that means "your data or your options", never "our bug"."""

from __future__ import annotations


class PrivacyEvalError(Exception):
    """Bad input. The message names the file, the line and what was expected.

    The command line prints it without a traceback and ends with exit code 1.
    """
