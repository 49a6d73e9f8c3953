"""The page while a service that it needs is away: it says which, shows what it can, and goes on by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, expect

from memshare.operations.backend import Backend
from memshare_broker.settings import Settings
from tests.browser.people import add, bury, looking, said
from tests.faults.redis_process import RedisProcess
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, patient
from tests.support.served import served

MEMORY = ("memory",)
STREAM = "**/pages/stream*"
WITHIN = 120_000  # milliseconds for a page to notice, beside other work too


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    """A Redis that no other test has, to be ended."""
    running = RedisProcess(tmp_path_factory.mktemp("away"), {})
    yield running
    running.stop()


@pytest.fixture(scope="module")
def there(own_redis: RedisProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Workers on it; the memory service is a process of its own."""
    settings = Settings(data=own_redis.data, model="openai:scripted")
    logs = tmp_path_factory.mktemp("logs")
    with serving(said) as chat, deployed(settings, chat, logs, [("logic", "scorer"), MEMORY]) as running:
        yield running


@pytest.fixture(scope="module")
def address(there: Deployment) -> Iterator[str]:
    with closing(Backend(there.settings)) as backend, served(backend) as url:
        yield url


@contextlib.contextmanager
def without_memory_service(there: Deployment) -> Iterator[None]:
    process = there.processes[MEMORY]
    process.terminate()
    process.wait(patient(60))
    try:
        yield
    finally:
        there.start(MEMORY)
        there.client.memories.wait_until_ready(60)


def test_an_open_page_says_that_the_memory_service_is_away_and_goes_on_once_it_is_back(
    browser: Browser, there: Deployment, address: str
) -> None:
    add(there, "lamps burn oil")
    bury(there, "away-1", "The model refused this one.")

    with looking(browser, expected=True) as inbox, looking(browser, expected=True) as pool:
        page = inbox.see("/inbox", address)
        expect(page.locator(".item")).to_have_count(1)
        expect(page.locator("#inbox-count")).to_have_text("1")
        with without_memory_service(there):
            expect(page.locator("#connection")).to_contain_text("The memory service does not answer", timeout=WITHIN)
            expect(page.locator("#inbox-count")).to_have_text("1")

            page = inbox.see("/inbox", address)  # whole, while it is away
            expect(page.locator("#connection")).to_contain_text("The memory service does not answer", timeout=WITHIN)
            expect(page.get_by_text("Some of it cannot be shown now.")).to_be_visible()
            expect(page.locator(".item")).to_contain_text("The model refused this one.")
            other = pool.see("/pool", address)
            expect(other.get_by_text("This page asks again by itself")).to_be_visible()

        expect(page.locator("#connection")).to_be_hidden(timeout=WITHIN)
        expect(page.get_by_text("Some of it cannot be shown now.")).to_have_count(0)
        expect(other.get_by_text("About lamps burn oil")).to_be_visible(timeout=WITHIN)


def test_an_open_page_says_that_redis_is_away_and_goes_on_once_it_is_back(
    browser: Browser, there: Deployment, own_redis: RedisProcess, address: str
) -> None:
    with (
        looking(browser, expected=True) as watched,
        looking(browser, expected=True) as second,
        looking(browser, expected=True) as late,
    ):
        page = watched.see("/now", address)
        late.page.route(STREAM, lambda route: route.abort())
        late.see("/now", address)
        expect(page.locator("#connection")).to_be_hidden()
        own_redis.kill()
        late.page.unroute(STREAM)
        try:
            for one in (page, late.page):
                expect(one.locator("#connection")).to_contain_text("Redis", timeout=WITHIN)
            expect(page.locator("#connection")).to_contain_text("goes on by itself")
            other = second.see("/", address)
            expect(other.get_by_text("This did not work")).to_be_visible()
            expect(other.get_by_text("This page asks again by itself")).to_be_visible()
        finally:
            own_redis.start()
        bury(there, "away-2", "It went wrong meanwhile.")

        expect(page.locator("#connection")).to_be_hidden(timeout=WITHIN)
        expect(page.get_by_text("It went wrong meanwhile.")).to_be_visible(timeout=WITHIN)
        expect(other.get_by_role("heading", name="Journeys")).to_be_visible(timeout=WITHIN)
