"""What the tests of the page for people share: a page on which anything that goes wrong is noted, and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
EXPECTED = ("status of 4", "status of 5", "net::ERR_")
"""Parts of what a browser says of a refusal or a lost connection, which tests bring about."""


@dataclass
class Watched:
    """A page, and what its browser complained of: scripts that failed, and what the content policy forbade."""

    page: Page
    said: list[str] = field(default_factory=list)

    def see(self, path: str, url: str) -> Page:
        """Go to a path."""
        self.page.goto(url + path)
        return self.page


@contextmanager
def looking(browser: Browser, *, expected: bool = False, **options: Any) -> Iterator[Watched]:
    """A page of a new browser window; at the end nothing may have gone wrong on it, but what is `expected`."""
    with browser.new_context(**{"viewport": DESK, **options}) as context:
        watched = Watched(context.new_page())
        watched.page.on("console", lambda message: watched.said.append(message.text))
        watched.page.on("pageerror", lambda error: watched.said.append(str(error)))
        watched.page.on("dialog", lambda dialog: watched.said.append(dialog.message))
        yield watched
        wrong = [one for one in watched.said if not (expected and any(part in one for part in EXPECTED))]
        assert wrong == []
