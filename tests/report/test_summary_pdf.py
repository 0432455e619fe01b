"""Two pages to send: always two, whatever there is to say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import ODD_NAME

from privacy_eval.report.html import Front
from privacy_eval.report.summary_pdf import summary_pdf
from privacy_eval.report.table import Column, Table

SENTENCES = ("Against an attacker who anonymizes too, it leaves an EER of 34.1 %.",) * 3


def front(systems: int) -> Front:
    names = [f"{ODD_NAME} {n}" for n in range(systems)]
    rows = tuple((name, "34.06", "[31.02, 39.06]") for name in names)
    table = Table("t", "A ranking. Of systems", tuple(map(Column, "abc")), (rows,))
    answers = tuple((name, SENTENCES) for name in names)
    return Front((("Systems", "many"),), "One is best.", answers, ("A warning",), (), (table,))


@pytest.mark.parametrize("systems", [1, 150])
def test_two_pages_with_what_fits(systems: int, tmp_path: Path) -> None:
    content = summary_pdf("Title", front(systems))
    assert content == summary_pdf("Title", front(systems))
    assert len(re.findall(rb"/Type /Page\b", content)) == 2
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    (tmp_path / "s.pdf").write_bytes(content)
    text = subprocess.run(
        ["pdftotext", "-layout", str(tmp_path / "s.pdf"), "-"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for words in ("Title", "One is best.", "! A warning.", "EER of 34.1 %"):
        assert words in text
    assert ("more sentences in the report" in text) == (systems > 1)
    assert ("[31.02, 39.06]" in text) == (systems == 1)
    assert ("A ranking: see the report" in text) == (systems > 1)
