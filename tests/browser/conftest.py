"""What the browser tests have: a headless Chromium, and a folder for pictures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1280, "height": 800}
COLORS = 128  # of a picture that is kept: text stays sharp in a third of the bytes


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium on the PATH (apt install chromium)")
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport=SIZE) as context:
        yield context.new_page()


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[Page, str], None]:
    """Keeps what a page shows, in the folder that PICTURES names, or else in one that nobody keeps."""
    folder = Path(os.environ.get("PICTURES") or tmp_path)

    def save(page: Page, name: str) -> None:
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        with Image.open(path) as picture:
            picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLORS).save(path, optimize=True)

    return save
