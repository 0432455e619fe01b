"""How Hypothesis runs in all tests, and in which order files of tests begin."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import missing_extras
import pytest
from hypothesis import HealthCheck, settings
from preloaded import preloaded

from privacy_eval.wings import absent

# Before NumPy is loaded: threads of several processes would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No deadline: a busy machine must not fail a test.
settings.register_profile(
    "privacy_eval",
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("privacy_eval")

# What takes longest begins first, and with it what waits for clusters and kills, so that no core
# is left waiting at the end.
_FIRST = (
    "test_readme.py",
    "test_one_failure.py",
    "test_runners.py",
    "test_extending.py",
    "test_runs_at_once.py",
    "test_site.py",
    "test_speech_demo.py",
    "test_submissions.py",
    "test_crashes.py",
    "test_parallel_jobs.py",
    "test_kinds.py",
    "test_freshness.py",
    "test_stage5.py",
    "test_metric_study.py",
    "test_install.py",
    "test_report.py",
    "test_demo_tree.py",
    "test_speaker_scripts.py",
)


def pytest_configure(config: pytest.Config) -> None:
    if missing_extras.ABSENT:
        config.pluginmanager.register(missing_extras)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("wing"):
            if mark.args[0] in absent():
                item.add_marker(pytest.mark.skip(f"needs the wing {mark.args[0]}"))

    def place(item: pytest.Item) -> int:
        name = item.path.name
        return _FIRST.index(name) if name in _FIRST else len(_FIRST)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """What is imported and collected stays: no search for garbage need look through it again."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of all tests and of the programs that they run, not the user's."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        # Hundreds of commands import the package: let the first one compile it.
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield folder


@pytest.fixture(scope="session")
def preloaded_venv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for VIRTUAL_ENV, whose command does not import anything; see preloaded.py."""
    venv = tmp_path_factory.mktemp("preloaded")
    server = preloaded(venv / "bin/privacy-eval", Path(__file__).resolve().parents[1])
    yield venv
    server.communicate()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property."""
    return tmp_path_factory.mktemp("examples")
