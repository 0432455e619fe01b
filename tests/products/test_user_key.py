"""The user's key: made once, by whichever job is first, for nobody else to read."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.products.freshness import key_path, user_key


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_it_is_made_on_request_only_and_readable_by_its_owner_only(state: Path) -> None:
    assert user_key() is None and not state.exists()
    made = user_key(create=True)
    assert made and made == user_key() == user_key(create=True)
    path = state / "privacy_eval/key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["key"]


def test_jobs_that_begin_together_get_the_same_key(state: Path) -> None:
    code = "from privacy_eval.products.freshness import user_key as key; print(key(create=True))"
    jobs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(6)
    ]
    assert len({job.communicate()[0] for job in jobs}) == 1
    assert [p.name for p in (state / "privacy_eval").iterdir()] == ["key"]


@pytest.mark.parametrize("state", ["", "exp/state"])
def test_a_relative_state_folder_is_not_used(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be looked for in the folder one is in, which may be a submission."""
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert key_path() == tmp_path / ".local/state/privacy_eval/key"


@pytest.mark.parametrize("content", ["", "0" * 63, "0" * 65, "x" * 64])
def test_a_damaged_key_is_refused(state: Path, content: str) -> None:
    path = state / "privacy_eval/key"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(PrivacyEvalError, match="key: damaged; remove it"):
        user_key(create=True)


def test_a_folder_in_its_place_is_an_error(state: Path) -> None:
    (state / "privacy_eval/key").mkdir(parents=True)
    with pytest.raises(PrivacyEvalError, match="set XDG_STATE_HOME"):
        user_key(create=True)
