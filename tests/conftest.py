"""How Hypothesis runs in all tests, and in which order files of tests begin."""

import pytest
from hypothesis import HealthCheck, settings

# No deadline: a busy machine must not fail a test.
settings.register_profile(
    "privacy_eval", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("privacy_eval")

# What takes longest begins first, so that no core is left waiting for it at the end.
_LONGEST = ("test_readme.py", "test_readers.py", "test_stage5.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        name = item.path.name
        return _LONGEST.index(name) if name in _LONGEST else len(_LONGEST)

    items.sort(key=place)
