"""The README and the pages in docs/ say what is true: settings, links, methods."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from memshare.demo.gain import divide
from memshare.demo.text_to_sql import read_questions
from memshare_broker.settings import Settings
from memshare_memory.door.client import METHODS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def links_of(page: Path) -> list[tuple[str, str]]:
    """The path and the heading that each link to a file names; either may be empty."""
    return [
        (path, heading)
        for path, _, heading in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)))
        if "://" not in path
    ]


def headings_of(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    found = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in found}


def test_the_page_of_settings_has_each_of_them_in_its_own_words() -> None:
    page = text_of(ROOT / "docs" / "settings.md")
    rows = [line for line in page.splitlines() if line.startswith("| `MEMSHARE_")]

    for name, field in Settings.model_fields.items():
        default = "unset" if field.default is None else f"`{field.default}`"
        row = f"| `MEMSHARE_{name.upper()}` | {field.description} | {default} |"
        assert row in rows, f"add this row to docs/settings.md: {row}"
    assert len(rows) == len(Settings.model_fields)


@pytest.mark.parametrize("part", Settings.__bases__[:-1], ids=lambda part: part.__name__)
def test_the_page_of_settings_has_a_section_for_each_part_of_them(part: type[BaseModel]) -> None:
    [heading] = re.findall(r"\*(.+)\*", part.__doc__ or "")
    section = text_of(ROOT / "docs" / "settings.md").split(f"## {heading}\n")[1].split("\n## ")[0]

    assert re.findall(r"`MEMSHARE_([A-Z_]+)` \|", section) == [name.upper() for name in part.model_fields]


@each_page
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(page: Path) -> None:
    for path, heading in links_of(page):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not heading or heading in headings_of(target), heading


def test_every_page_is_found_from_the_front_page() -> None:
    linked = {(ROOT / path).resolve() for path, _ in links_of(README)}

    assert {page.resolve() for page in PAGES} <= linked | {README.resolve()}


def test_every_picture_of_a_page_is_made_by_a_browser_test_and_shown() -> None:
    tests = "".join(text_of(file) for file in (ROOT / "tests" / "browser").glob("test_*.py"))
    shown = "".join(text_of(page) for page in [*PAGES, ROOT / "deploy" / "README.md"])

    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert f"pictures/{picture.name}" in shown
        by_hand = picture.suffix == ".svg" or picture.stem == "page-worth"  # of what `memshare demo` leaves
        assert by_hand or f'keep(page, "{picture.stem}")' in tests


def test_the_badges_say_what_the_package_is() -> None:
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    python = project["requires-python"].removeprefix(">=")

    said = {"version": project["version"], "licence": project["license"], "python": f"{python} or newer"}
    for name, words in said.items():
        assert f"pictures/{name}.svg" in text_of(README)
        assert text_of(ROOT / "docs" / "pictures" / f"{name}.svg").count(words) == 2, name


def test_the_front_page_is_read_in_five_minutes() -> None:
    shown = re.sub(r"<!--.*?-->\n", "", text_of(README))

    assert len(shown.splitlines()) <= 120
    assert len(shown.split()) < 1_100


def test_the_ten_lines_ask_what_the_demo_never_does_and_its_pool_answers() -> None:
    [prompt] = re.findall(r'^prompt = "(.+)"$', text_of(README), re.MULTILINE)
    questions = read_questions()

    [asked] = [one for one in questions.of("dev") if one.text == prompt]

    assert asked.sql in {one.sql for one in divide(questions, 200).shared}


@each_page
def test_every_setting_that_a_page_names_is_there(page: Path) -> None:
    known = {f"MEMSHARE_{name.upper()}" for name in Settings.model_fields}

    assert set(re.findall(r"\bMEMSHARE_[A-Z_]+[A-Z]\b", text_of(page))) <= known


def test_every_method_of_the_door_is_described() -> None:
    page = text_of(ROOT / "docs" / "memory-service.md")

    assert {one.name for one in METHODS} == set(re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE))
