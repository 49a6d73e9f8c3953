"""The site of docs/: whole, with every page in its navigation, and nothing in it is loaded from another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?([^"'\s>]+)|<link\b[^>]*\bhref=["']?([^"'\s>]+)"""
)
CSS_LOADED = re.compile(r"""(?:url\(|@import\s)\s*["']?([^"')\s;]+)""")
SLEEPING = {"https://unpkg.com/mermaid@11/dist/mermaid.min.js", "https://unpkg.com/resize-observer-polyfill"}
"""What the theme's script would load: for a page with a Mermaid diagram, and into browsers from before 2020."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def elsewhere(addresses: list[str]) -> set[str]:
    return {one for one in addresses if re.match(r"(https?:)?//", one)}


def test_every_page_is_reached_from_the_first_one(site: Path) -> None:
    linked = set(re.findall(r'href="?([^"#\s>]+)', (site / "index.html").read_text(encoding="utf-8")))

    assert {f"{page.stem}.html" for page in (ROOT / "docs").glob("*.md")} <= linked
    assert {
        f"reference/{name}.html" for name in ("commands", "files", "messages", "metrics", "python", "rest")
    } <= linked


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    pages = {file: file.read_text(encoding="utf-8") for file in site.rglob("*.html")}
    for file, page in pages.items():
        assert not elsewhere([script or link for script, link in LOADED.findall(page)]), file
        assert not elsewhere(CSS_LOADED.findall(page)), file
        assert 'class="mermaid"' not in page, file
    for file in site.rglob("*.css"):
        assert not elsewhere(CSS_LOADED.findall(file.read_text(encoding="utf-8"))), file
    scripts = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.js"))
    assert set(re.findall(r"""["'](https?://[^"'`\s]+/[^"'`\s]+)["']""", scripts)) <= SLEEPING


def test_links_to_files_of_the_repository_lead_to_what_stands_in_them(site: Path) -> None:
    agents = (site / "agents.html").read_text(encoding="utf-8")

    assert 'href="repository/agents/memshare_agents/roster/poem.toml.html"' in agents
    shown = (site / "repository/agents/memshare_agents/roster/poem.toml.html").read_text(encoding="utf-8")
    assert "limerick" in shown


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("commands", "memshare memories forget"),
        ("python", "AsyncMemory.recall"),
        ("rest", "POST /v1/pairs"),
        ("messages", "memory_service.recall"),
        ("messages", "concepts.extract"),
        ("metrics", "memshare_score"),
        ("metrics", "memshare_worker_concurrency"),
    ],
)
def test_the_reference_has_what_the_code_has(site: Path, page: str, told: str) -> None:
    assert told in (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
