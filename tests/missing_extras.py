"""A plugin of pytest where extras are not installed: tests that need one skip, and say which."""

import re
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from privacy_eval import PrivacyEvalError

#: Packages of extras whose name is not that of their module.
_OTHER_NAMES = {"webrtcvad": "webrtcvad-wheels", "parselmouth": "praat-parselmouth"}
#: Packages of extras by module, those that are not installed.
ABSENT = {
    module: _OTHER_NAMES.get(module, module)
    for module in (
        *("soundfile", "h5py", "pyarrow", "kaldialign", "parselmouth"),
        *("webrtcvad", "soxr", "onnxruntime", "hama"),
    )
    if find_spec(module) is None
}
#: Messages of errors since a test began.
_RAISED: list[str] = []


def _remember(self: PrivacyEvalError, *arguments: object) -> None:
    _RAISED.extend(map(str, arguments))
    Exception.__init__(self, *arguments)


def _skip(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Make a failure a skip if it, or an error that was raised, names an extra that is absent."""
    if report.outcome != "failed":
        return
    text = "\n".join([report.longreprtext, *_RAISED])
    for module, package in ABSENT.items():
        if re.search(rf"No module named '{module}|pip install [^\n]*\b{package}\b", text):
            report.outcome = "skipped"
            path = report.nodeid.partition("::")[0]
            report.longrepr = (path, 0, f"Skipped: needs {package}, which is not installed")


def pytest_configure() -> None:
    PrivacyEvalError.__init__ = _remember  # type: ignore[method-assign]


def pytest_runtest_setup() -> None:
    _RAISED.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    outcome = yield
    _skip(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    _skip(outcome.get_result())
