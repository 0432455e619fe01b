"""Records are rebuilt when metrics or their own fields change, not when documentation does."""

import pytest

from privacy_eval.results import record_files

REGISTRY = '''"""Registry."""

# A comment.
METRICS = [Metric("eer", decimals=2)]
'''
RECORDS = '''class Record:
    """A record.

    Attributes
    ----------
    value : float
    """

    value: float = 0.0

    def check(self) -> None:
        limit: float = 1.0


KINDS: Mapping[str, Kind] = {
    # A fact.
    "verification": Kind(
        {"n_target": Fact(int, 1)},
    ),
}
'''


def digests(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[str, str]:
    monkeypatch.setattr(record_files, "_source", lambda _: text)
    record_files.metrics_digest.cache_clear()
    record_files.fields_digest.cache_clear()
    try:
        return record_files.metrics_digest(), record_files.fields_digest()
    finally:
        record_files.metrics_digest.cache_clear()
        record_files.fields_digest.cache_clear()


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("Registry.", "All metrics.", False),
        ("# A comment.", "# Another.", False),
        ("decimals=2", "decimals=3", True),
        ('"eer"', '"eer2"', True),
    ],
)
def test_digest_of_metrics(
    old: str, new: str, changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = digests(monkeypatch, REGISTRY)
    after, _ = digests(monkeypatch, REGISTRY.replace(old, new))
    assert (before != after) is changed


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("A record.", "One record.", False),
        ("limit: float = 1.0", "limit: float = 2.0", False),
        ("value: float = 0.0", "value: int = 0", True),
        ("    value: float = 0.0\n", "    value: float = 0.0\n    more: int = 0\n", True),
        ("class Record:", "class Record(Base):", True),
        ("Fact(int, 1)", "Fact(int, 0)", True),
        ("# A fact.", "# Another.", False),
    ],
)
def test_digest_of_fields(
    old: str, new: str, changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, before = digests(monkeypatch, RECORDS)
    _, after = digests(monkeypatch, RECORDS.replace(old, new))
    assert (before != after) is changed


def test_sources_are_those_of_the_registry_and_the_records() -> None:
    assert "METRICS: dict[str, Metric]" in record_files._source("metrics/registry.py")
    assert "class Record:" in record_files._source("results/records.py")
