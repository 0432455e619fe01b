"""The commands of recipes are forks of one process, but where processes are killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module", autouse=True)
def _preloaded(preloaded_venv: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(preloaded_venv))
        yield
