"""The documentation site: complete, readable without network, and not built from broken links."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import ROOT

import privacy_eval as pe
from privacy_eval.report.figures import FigureKind
from privacy_eval.report.figures import kinds as every_kind

pytest.importorskip("mkdocstrings", reason="the extra `docs` is not installed")

KINDS = every_kind()


def build(root: Path, out: Path, *options: object) -> subprocess.CompletedProcess[str]:
    script = root / "scripts/build_site.sh"
    command = [script, "--out", out, *options]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)


def figures(folder: Path, kinds: Sequence[FigureKind]) -> Path:
    """A folder of a picture of each kind."""
    out = folder / f"run{len(kinds)}" / "figures"
    out.mkdir(parents=True)
    captions = {k.name: {"section": k.section, "caption": f"Caption of {k.name}."} for k in kinds}
    for name in captions:
        shutil.copy(ROOT / "docs/answer.png", out / f"{name}.png")
    (out / "captions.json").write_text(json.dumps(captions))
    return out


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the site is made of, without the interface, which takes most of the time."""
    root = tmp_path_factory.mktemp("site")
    for name in ("docs", "scripts", "local", "conf", "tests/data/golden", "recipes"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("work"))
    for file in ROOT.glob("*.*"):
        if file.is_file():
            shutil.copy(file, root)
    shutil.copy(ROOT / "LICENSE", root)
    python = root / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    config = root / "scripts/site/mkdocs.yml"
    text = re.sub(r"  - mkdocstrings:\n(    .*\n)+", "", config.read_text())
    config.write_text(re.sub(r"  - Interface: .*\n", "", text))
    return root


def test_the_site_has_all_pages_and_loads_nothing(tmp_path: Path) -> None:
    folders = figures(tmp_path, KINDS[:3]), figures(tmp_path, KINDS[3:])
    site = tmp_path / "site"
    run = build(ROOT, site, "--figures", folders[0], "--figures", folders[1])
    assert run.returncode == 0, run.stderr
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / page.with_suffix(".html").name).is_file()
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    loading = re.compile(r"""<(?:script|img|iframe)[^>]*\bsrc=["']?(?:https?:)?//|@import""")
    assert not [path.name for path, text in texts.items() if loading.search(text)]
    for text in texts.values():
        assert not re.search(r"""<link[^>]*stylesheet[^>]*href=["']?(?:https?:)?//""", text)
    links = re.compile(r"""<a\b[^>]*\bhref=["']?([^"'#?:>\s]+)[#"'>\s]""")
    pages = {path: text for path, text in texts.items() if path.name != "404.html"}  # of servers
    targets = {path.parent / link for path, text in pages.items() for link in links.findall(text)}
    assert len(targets) >= len(pages)
    assert not sorted(str(path) for path in targets if not path.exists())
    assert "Caption of plane." in texts[site / "figures/index.html"]
    assert len(list(site.glob("figures/*.png"))) == len(KINDS)
    interface = texts[site / "api/privacy_eval.html"]
    public = [name for name in pe.__all__ if callable(getattr(pe, name))]
    assert not [name for name in public if getattr(pe, name).__name__ not in interface]
    index = (site / "search/search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index = ") and "linkability" in index
    assert '"location":"metrics.html' in index and '"location":"repository/' not in index
    assert 'href="participants.html#' in texts[site / "index.html"]  # as README's links
    assert "repository/LICENSE.html" in texts[site / "index.html"]


def test_broken_links_and_pages_that_readme_lacks_end_the_build(copy: Path, tmp_path: Path) -> None:
    page = copy / "docs/faq.md"
    text = page.read_text()
    page.write_text(f"{text}\n[metrics](metrics.md#no-such-heading), [page](no_such_page.md)\n")
    new = copy / "docs/of_no_reader.md"
    new.write_text("# A page\n")
    run = build(copy, tmp_path / "site")
    new.unlink()
    assert run.returncode != 0 and new.name in run.stderr
    assert "no-such-heading" in run.stderr and "no_such_page.md" in run.stderr
    page.write_text(text)
    run = build(copy, tmp_path / "site", "--figures", figures(tmp_path, KINDS[:-1]))
    assert run.returncode != 0 and KINDS[-1].section in run.stderr
