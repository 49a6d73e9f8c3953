"""The page that describes the requests, in a real browser: all that it loads is of the server itself."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from playwright.sync_api import Browser

from memshare.operations.backend import Backend
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from tests.support.served import served


@pytest.fixture
def url(settings: Settings, redis_client: redis.Redis, tmp_path: Path) -> Iterator[str]:
    assert redis_client.ping()
    own = settings.model_copy(update={"redis_url": settings.redis, "data": tmp_path})
    open_signer(own, make=True)
    with closing(Backend(own)) as backend, served(backend) as address:
        yield address


def test_requests_are_shown_and_tried_and_nothing_is_loaded_from_elsewhere(browser: Browser, url: str) -> None:
    page = browser.new_page()
    told: list[str] = []
    asked: set[str | None] = set()
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.add(urllib.parse.urlsplit(request.url).hostname))

    page.goto(url)
    page.get_by_role("link", name="requests and replies").click()
    page.locator("[id$=get_agents]").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    page.locator(".live-responses-table .response-col_status", has_text="200").wait_for()

    assert page.locator(".opblock").count() > 20
    assert told == []
    assert asked - {None} == {"127.0.0.1"}
    page.close()
