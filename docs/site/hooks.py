"""Hooks of MkDocs: pages from outside docs/ and from the code join the site, and links to them lead there."""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference import reference_pages

ROOT = Path(__file__).parents[2]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "deploy/README.md": "deploy.md",
}
"""Pages that do not lie in docs/, and their names in the site."""

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside, the reference, and a page for each file of the repository that is linked to."""
    pages = {in_site: (ROOT / path).read_text(encoding="utf-8") for path, in_site in OUTSIDE.items()}
    sources = {path: pages[in_site] for path, in_site in OUTSIDE.items()}
    sources |= {f"docs/{one.src_uri}": one.content_string for one in files.documentation_pages()}
    for source, text in sources.items():
        for path in (_target(source, link) for link in LINK.findall(text)):
            if _in_site(path).startswith("repository/") and (ROOT / path).exists():
                pages[_in_site(path)] = _shown(path)
    for in_site, text in (pages | reference_pages()).items():
        files.append(File.generated(config, in_site, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Links between files of the repository as links between pages of the site."""
    here = page.file.src_uri
    if here.startswith(("repository/", "reference/")):
        return markdown
    source = next((path for path, in_site in OUTSIDE.items() if in_site == here), f"docs/{here}")
    folder = PurePosixPath(here).parent

    def to_site(link: re.Match[str]) -> str:
        return f"]({os.path.relpath(_in_site(_target(source, link[1])), folder)}"

    return LINK.sub(to_site, markdown)


def _target(source: str, link: str) -> str:
    """The path in the repository that a link of one of its files leads to."""
    return os.path.normpath(PurePosixPath(source).parent / link)


def _in_site(path: str) -> str:
    """Where the site has a path of the repository."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}.md"


def _shown(path: str) -> str:
    """A page with what stands in a file, or with the names of a folder's files. Search leaves it out."""
    place = ROOT / path
    if place.is_dir():
        names = sorted(one.name for one in place.iterdir() if not one.name.startswith(("_", ".")))
        body = "\n".join(f"- `{name}`" for name in names)
    else:
        body = f"````{place.suffix[1:] or 'text'}\n{place.read_text(encoding='utf-8').rstrip()}\n````"
    return f"---\nsearch: {{exclude: true}}\n---\n# `{path}`\n\n{body}\n"
