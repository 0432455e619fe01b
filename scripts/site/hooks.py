"""Pages of the site that are not in docs/: README, files that pages link to, and docstrings."""

from __future__ import annotations

import importlib
import json
import logging
import os
import pkgutil
import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from privacy_eval.report.figures import kinds

ROOT = Path(__file__).resolve().parents[2]

#: Packages whose docstrings follow numpydoc.
DOCUMENTED = ("metrics", "asv", "attackers", "disclosure", "speech")

#: Pictures of each kind of figure.
_PICTURES = 3

#: At the beginning of pages that the search leaves out.
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"

_LOG = logging.getLogger("mkdocs.hooks")
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_READER = re.compile(r"^\| ([^|]+) \| (.*\]\(docs/.*) \|$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let the navigation have README's table of readers, each page under its first one."""
    first: dict[str, str] = {}
    for reader, links in _READER.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        for page in re.findall(r"\]\(docs/(\w+\.md)", links):
            first.setdefault(page, reader.capitalize())
    readers = [{of: [p for p in first if first[p] == of]} for of in dict.fromkeys(first.values())]
    config.nav = [*config.nav[:1], *readers, *config.nav[1:]]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for path in _linked():
        if page_of(path) not in files.src_uris:
            files.append(File.generated(config, page_of(path), content=_page(path)))
    for name, text in _reference():
        files.append(File.generated(config, f"api/{name}.md", content=text))
    worker = (Path(__file__).parent / "iframe-worker.js").read_text(encoding="utf-8")
    files.append(File.generated(config, "assets/iframe-worker.js", content=worker))
    for name, content in _gallery(os.environ.get("SITE_FIGURES", "").split()):
        files.append(File.generated(config, f"figures/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to the pages of the files that they name."""
    at = next((p for p in _linked() if page_of(p) == page.file.src_uri), None)
    return markdown if at is None else _relink(markdown, at)


def page_of(path: str) -> str:
    """Return the page of a file of the repository.

    Examples
    --------
    >>> page_of("docs/faq.md"), page_of("README.md"), page_of("local/anonymize.sh")
    ('faq.md', 'index.md', 'repository/local/anonymize.sh.md')
    """
    if path == "README.md":
        return "index.md"
    page = path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}"
    return page if page.endswith(".md") else f"{page}.md"


@cache
def _linked() -> tuple[str, ...]:
    """List README, the pages of docs/ and all files of the repository that they link to."""
    paths = ["README.md", *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))]
    for path in paths:
        if path.endswith(".md") or (ROOT / path).is_dir():
            paths += [p for p in _targets(path) if p not in paths]
    return tuple(path for path in paths if not path.endswith(".png"))


def _targets(path: str) -> list[str]:
    if (ROOT / path).is_dir():  # described by what lies in it
        return [str(p.relative_to(ROOT)) for p in sorted((ROOT / path).rglob("PROVENANCE.md"))]
    text = _CODE.sub("", (ROOT / path).read_text(encoding="utf-8"))
    folder = posixpath.dirname(path)
    names = [posixpath.normpath(posixpath.join(folder, link[2])) for link in _LINK.finditer(text)]
    return [name for name in dict.fromkeys(names) if (ROOT / name).exists()]


def _page(path: str) -> str:
    """Return a file as a page: text files as they are, folders by their descriptions; the search
    finds the pages of docs/ alone."""
    hidden = page_of(path).startswith("repository/")
    return f"{_NOT_SEARCHED if hidden else ''}{_content(path)}"


def _content(path: str) -> str:
    file = ROOT / path
    if file.is_dir():
        folder = posixpath.dirname(path)
        names = [posixpath.relpath(target, folder) for target in _targets(path)]
        return "\n".join([f"# {path}\n", *(f"* [{name}]({name})" for name in names)])
    text = file.read_text(encoding="utf-8")
    return text if path.endswith(".md") else f"# {path}\n\n```\n{text}```\n"


def _relink(markdown: str, at: str) -> str:
    """Replace the links of a file at `at` by those to the pages of what they name."""
    folder, here = posixpath.dirname(at), posixpath.dirname(page_of(at))

    def page(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        there = target.removeprefix("docs/") if target.endswith(".png") else page_of(target)
        return f"{link[1]}{posixpath.relpath(there, here or '.')}{link[3] or ''})"

    parts, end = [], 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(page, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(page, markdown[end:])])


def _reference() -> Iterator[tuple[str, str]]:
    """Yield the pages of the Python interface: what the package exports, and whole packages."""
    import privacy_eval as pe

    exported = [getattr(pe, name) for name in pe.__all__ if not name.startswith("_")]
    places = sorted({f"{o.__module__}.{o.__qualname__}" for o in exported if hasattr(o, "__name__")})
    elsewhere = [place for place in places if place.split(".")[1] in DOCUMENTED]
    lines = [
        "# Python interface",
        "`import privacy_eval as pe` has all that follows. On the pages of the packages:",
        ", ".join(f"[`pe.{place.rsplit('.', 1)[1]}`][{place}]" for place in elsewhere),
        *(f"::: {place}" for place in places if place not in elsewhere),
    ]
    yield "privacy_eval", "\n\n".join(lines)
    for package in DOCUMENTED:
        module = importlib.import_module(f"privacy_eval.{package}")
        names = [m.name for m in pkgutil.iter_modules(module.__path__) if m.name[0] != "_"]
        modules = [f"::: privacy_eval.{package}.{name}" for name in names]
        yield package, "\n\n".join([f"# privacy_eval.{package}", *modules])


def _gallery(folders: Sequence[str]) -> Iterator[tuple[str, str | bytes]]:
    """Yield a page of a few figures of each kind, and the figures."""
    lines = ["# Figures", "", "Of simulated data (`scripts/build_site.sh --draw`)."]
    sections: dict[str, list[tuple[str, Path, str]]] = {}
    for number, folder in enumerate(map(Path, folders), 1):
        captions = json.loads((folder / "captions.json").read_text(encoding="utf-8"))
        for name, entry in captions.items():
            pictures = folder.glob(f"{name}.png")
            named = [(f"{number}_{path.name}", path, entry["caption"]) for path in pictures]
            sections.setdefault(entry["section"], []).extend(named)
    for section, named in sections.items():
        lines += ["", f"## {section}"]
        for name, picture, caption in named[:_PICTURES]:
            yield name, picture.read_bytes()
            lines += ["", f"![{picture.stem}]({name})", "", caption]
    if not sections:
        lines += ["", "This site was built without figures: `scripts/build_site.sh --draw`."]
    elif missing := [kind.section for kind in kinds() if not sections.get(kind.section)]:
        _LOG.warning("no picture of the kinds of figure %s", ", ".join(missing))
    yield "index.md", "\n".join(lines)
