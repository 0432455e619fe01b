"""The form of findings/ (what the scripts show needs the network: they are run by hand)."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "findings"
FINDINGS = sorted(FOLDER.glob("*.sh"))
ROW = re.compile(r"^\| `(.+?\.sh)` \| (.+?) \| .+ \| .+ \| .+ \|$", re.M)
ROWS = dict(ROW.findall((FOLDER / "README.md").read_text(encoding="utf-8")))


def test_the_table_has_a_row_for_each_finding() -> None:
    assert FINDINGS
    assert sorted(ROWS) == [path.name for path in FINDINGS]


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_a_finding_says_what_was_guessed_and_pins_what_it_runs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    head, body = text.split("set -euo pipefail", 1)
    assert re.findall(r"^# (\w+): \S", head, re.M) == ["Guess", "Seen", "Why", "Versions"]
    assert path.stat().st_mode & 0o111, "cannot be run"
    assert "privacy_eval" not in text
    assert re.search(r"folder=\$\(mktemp -d\)\ntrap 'rm -rf -- \"\$folder\"' EXIT\n", body)
    installs = re.findall(r"pip install (.*)", body)
    assert installs == ['--quiet "${packages[@]}" || exit 2']
    (packages,) = re.findall(r"^packages=\(([^)]*)\)", body, re.M)
    written = re.sub(r"\n# +", " ", head)
    for package in packages.split():
        name, version = package.split("==")
        assert f"{name} {version}" in written, package
        assert f"{name} {version}" in ROWS[path.name], package
