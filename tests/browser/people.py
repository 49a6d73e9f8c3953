"""What the tests of the page for people share: a model, and a page on which anything that goes wrong is noted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_memory.curate.requests import NewMemory
from tests.support.chat_script import Answer
from tests.support.deployment import Deployment
from tests.support.grades import ranges

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
QUEUES = ("poem", "logic", "scorer", "memory")
WRONG = "A boat of lead that sinks to the bed of the sea at noon."
RIGHT = "A candle, for it grows shorter the longer it stands and weeps."
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7*7 }}"
HOSTILE = f"{MARKUP}\u202eevil\x1b[2J <b hx-get=/x>bold</b>"
STRICT = "Short riddles, graded strictly"
SERIOUS = ("serious", "critical")
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
        assert wrong == [], wrong


def bury(deployment: Deployment, name: str, why: str) -> None:
    """Have a task of the agent poem given up, under this name and for this reason."""
    entry = Entry(
        id=name, task="agents.poem", queue="poem", body={"prompt": why}, journey=name, stage="answer", begins=True
    )
    deployment.client.dead_letters.add(letter_for(entry, GiveUp(why), tries=1))


def said(body: dict[str, Any]) -> Answer:
    """A model that repeats the wrong answer where it is shown it, and a grader that sees that it is wrong."""
    turns = body["messages"]
    if "response_format" in body and "only_memories" in turns[-1]["content"]:
        cites = [{"memory": "memory_1", "why": f"It says so. {HOSTILE}"}]
        answer = {"answer": f"{RIGHT} {HOSTILE}", "own_knowledge": "", "questions": []}
        return Answer(text=json.dumps({"cites": cites, "suffices": True, **answer}))
    if "response_format" in body:
        bad = WRONG in json.dumps(turns)
        good = 0.5 if STRICT in turns[0]["content"] else 0.9
        return Answer(text=json.dumps(ranges(body, 0.2 if bad else good)))
    if HOSTILE[:30] in turns[-1]["content"]:
        return Answer(text=f"{HOSTILE} is what you said.")
    return Answer(text=WRONG if any(turn["content"] == WRONG for turn in turns) else RIGHT)


def add(deployment: Deployment, *answers: str, **fields: Any) -> list[UUID]:
    """Bring memories in."""
    new = [
        NewMemory(**{"pool": "logic", "new_pool": True, "prompt": f"About {one}", "answer": one, **fields})
        for one in answers
    ]
    return deployment.client.memories.add(new)


def require_readable(page: Page) -> None:
    """Fail for a page that does not fit its window, or that some people cannot read."""
    page.wait_for_load_state()  # with its style
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
    found = Axe().run(page).response["violations"]
    serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]
    assert serious == [], page.url


def require_harmless(page: Page) -> None:
    """Fail for a page on which a text of somebody is more than text; in a field that is changed it stands as it is."""
    assert page.locator("main img, main script, main b[hx-get]").count() == 0, page.url
    page.evaluate("document.querySelectorAll('textarea').forEach(one => one.remove())")
    assert "\u202e" not in page.content(), page.url
    assert "\x1b" not in page.content(), page.url


def press(item: Locator, key: str) -> None:
    """Press a key on an item, as soon as the page's script listens."""
    item.page.wait_for_load_state()
    item.focus()
    item.page.keyboard.press(key)
