"""JSON files of strangers."""

from __future__ import annotations

from pathlib import Path

import pytest

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io import schema


@pytest.mark.parametrize(
    "text", ["[{},{},{},{}]", "[[[[[[[[1]]]]]]]]", '{"a": [1, 2, 3, 4, 5, 6]}']
)
def test_more_values_than_fit_into_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    schema.load_json(path)
    monkeypatch.setattr(schema, "MAX_VALUES", 6)
    with pytest.raises(PrivacyEvalError, match=f"^{path}: more than 6 values"):
        schema.load_json(path)
