from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import anyio
import pytest
from fastapi.testclient import TestClient

from memshare.doors.pages import stream
from memshare.doors.pages.needs import Count
from memshare.doors.pages.stream import Pulse, changes
from memshare.operations.backend import Backend
from memshare_broker.errors import Unreachable

EVENT = re.compile(r"event: (\w+)\ndata: (.*)\n\n")


def events_of(looks: Iterator[str | Exception], seen: str, count: Callable[[], Count] = Count) -> list[str]:
    """What a page is told while these are what is seen, one after the other."""
    ended: list[bool] = []

    def look() -> str:
        try:
            found = next(looks)
        except StopIteration:
            ended.append(True)
            return last[-1]
        if isinstance(found, Exception):
            raise found
        last.append(found)
        return found

    async def collect() -> list[str]:
        return [one async for one in changes(look, seen, count, lambda: bool(ended))]

    last = [seen]
    told = "".join(anyio.run(collect))
    return [f"{name} {data}".strip() for name, data in EVENT.findall(told)]


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LOOKS_EVERY", 0.0)


def test_a_change_between_the_page_and_its_stream_is_not_missed() -> None:
    assert events_of(iter(["b", "b"]), seen="a") == ["changed"]


def test_nothing_is_said_while_nothing_changes() -> None:
    assert events_of(iter(["a", "a", "a"]), seen="a") == []


def test_what_is_away_is_named_once_and_the_page_is_told_when_it_is_back() -> None:
    away = Unreachable("Redis does not\nanswer.")

    assert events_of(iter([away, away, "a"]), seen="a") == [
        "away Redis does not answer.", "back It answers again.", "changed",
    ]  # fmt: skip


def test_the_number_is_told_at_first_and_when_it_is_another_one() -> None:
    numbers = iter([2, 2, 3, 3, 3])

    assert events_of(iter(["a", "a", "a"]), "a", lambda: Count(next(numbers))) == ["inbox 2", "inbox 3"]


def test_a_memory_service_that_is_away_is_named_and_the_number_stays_until_it_is_back() -> None:
    counts = iter([Count(2), Count(0, "It does not answer."), Count(0, "It does not answer."), Count(3), Count(3)])

    assert events_of(iter(["a", "a", "a", "a"]), "a", lambda: next(counts)) == [
        "inbox 2", "away It does not answer.", "back It answers again.", "changed", "inbox 3",
    ]  # fmt: skip


def test_the_more_time_pages_take_the_rarer_they_are_told_of_changes(
    here: TestClient, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "BEATS_EVERY", 0.0)
    monkeypatch.setattr(stream, "SHARE", 1e-9)
    pulse, task = Pulse(backend), {"agent": "logic", "prompt": "What has keys?"}

    beats = [pulse.beat()]
    here.post("/v1/tasks", json=task)
    beats.append(pulse.beat())
    with pulse.showing():
        here.get("/")
    beats.append(pulse.beat())  # the next one is due after so many times what that took
    here.post("/v1/tasks", json=task)
    beats.append(pulse.beat())

    assert beats[0] != beats[1] == beats[2] == beats[3]
