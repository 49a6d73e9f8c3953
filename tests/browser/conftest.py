"""What the browser tests have: a headless Chromium, a deployment with its page, and a folder for pictures."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from memshare.operate.supervisor import begin_command
from memshare.operations.backend import Backend
from memshare_broker.settings import Settings
from tests.browser.people import QUEUES, said
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty
from tests.support.served import served

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1280, "height": 800}
WITHOUT = (
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
    "PaintHolding,OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch"
)
"""The first two are pages below the address bar, for which each window of a headless Chromium starts a process.

The others are of those that Playwright turns off: Chromium goes by the last list that it is given."""
COLORS = 256  # of a picture that is kept: with half of them the dots of a chart lost theirs


_open = ExitStack()
"""What is closed after the last test of this folder: asyncio, which others use, cannot run beside it."""


@functools.cache
def _chromium(path: str) -> Browser:
    playwright = _open.enter_context(sync_playwright())
    return _open.enter_context(playwright.chromium.launch(executable_path=path, args=[WITHOUT]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        _chromium.cache_clear()
        _open.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all files of this folder, without the windows that others have left open."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium on the PATH (apt install chromium)")
    running = _chromium(path)
    yield running
    for context in running.contexts:
        context.close()


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Workers, and a folder of agents and rubrics that is empty."""
    empty(redis_folder)
    agents = tmp_path_factory.mktemp("agents")
    settings = Settings(data=redis_folder, model="openai:scripted", agents_dir=agents)
    more = {"MEMSHARE_AGENTS_DIR": str(agents)}
    with serving(said) as chat, deployed(settings, chat, tmp_path_factory.mktemp("logs"), [QUEUES], **more) as running:
        yield running


@pytest.fixture(scope="module")
def url(deployment: Deployment) -> Iterator[str]:
    with (
        closing(Backend(deployment.settings, command=partial(begin_command, deployment.settings))) as backend,
        served(backend) as address,
    ):
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport=SIZE) as context:
        yield context.new_page()


@pytest.fixture
def keep() -> Callable[[Page, str], None]:
    """Keeps what a page shows, in the folder that PICTURES names; without one, pictures are of no use."""

    def save(page: Page, name: str) -> None:
        if not (folder := os.environ.get("PICTURES")):
            return
        path = Path(folder) / f"{name}.png"
        page.screenshot(path=path)
        with Image.open(path) as picture:
            picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLORS).save(path, optimize=True)

    return save
