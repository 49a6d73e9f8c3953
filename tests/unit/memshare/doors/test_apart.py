"""What is computed apart: shared by who asks the same, bounded, and ended with the last who asks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import anyio
import httpx
import pytest
from anyio import to_thread

from memshare.client.errors import TooManyRequests
from memshare.operations import apart, concepts
from memshare.operations.apart import ASKING, MOST_OF_ALL, MOST_OF_ONE, Apart
from memshare.operations.backend import Backend
from memshare_broker.errors import BadInput, TryAgain
from tests.support.deployment import patient
from tests.support.served import served

HERE = "logic"
P = ParamSpec("P")
T = TypeVar("T")


def refuse(words: str) -> None:
    raise BadInput(words)


def put_off(words: str) -> None:
    raise TryAgain(words, 7)


def noted(folder: Path, seconds: float) -> int:
    (folder / str(os.getpid())).touch()
    time.sleep(seconds)
    return os.getpid()


@pytest.mark.parametrize(("function", "error"), [(refuse, BadInput), (put_off, TryAgain)])
def test_what_goes_wrong_apart_is_told_here(function: Callable[[str], None], error: type[Exception]) -> None:
    with pytest.raises(error, match="so it is") as caught:
        at_a_door("ada", Apart(), function, "so it is")

    assert getattr(caught.value, "wait", 7) == 7
    assert at_a_door("ada", Apart(), len, "abc") == 3


def test_a_command_works_in_its_own_process() -> None:
    assert Apart()(os.getpid) == os.getpid() != at_a_door("ada", Apart(), os.getpid)


def at_a_door(name: str, work: Apart, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    async def stays() -> bool:
        return False

    context = copy_context()
    context.run(ASKING.set, (name, stays))
    return context.run(partial(anyio.run, partial(to_thread.run_sync, partial(work, function, *args, **kwargs))))


def asked_by(name: str, work: Apart, folder: Path, seconds: float) -> int:
    return at_a_door(name, work, noted, folder, seconds)


def test_who_asks_the_same_shares_one_process(tmp_path: Path) -> None:
    work = Apart()
    with ThreadPoolExecutor(5) as threads:
        found = [threads.submit(asked_by, f"{number}", work, tmp_path, 2.0) for number in range(5)]

    assert {one.result() for one in found} == {int(one.name) for one in tmp_path.iterdir()}
    assert len(found) == 5
    assert len(list(tmp_path.iterdir())) == 1


def test_of_one_few_wait_and_of_all_some_more_and_the_others_come_back_later(tmp_path: Path) -> None:
    work = Apart()
    with ThreadPoolExecutor(40) as threads:
        asked = [threads.submit(asked_by, f"{number % 10}", work, tmp_path, 1.5) for number in range(40)]
        errors = [one.exception() for one in asked]

    told = [one for one in errors if one is not None]
    assert {type(one) for one in told} == {TooManyRequests}
    assert len(errors) - len(told) == MOST_OF_ALL
    assert all(one.wait for one in told if isinstance(one, TooManyRequests))
    assert asked_by("0", work, tmp_path, 0.0), "all have gone"


def test_a_process_ends_with_the_last_who_asks(tmp_path: Path) -> None:
    work, began = Apart(), time.monotonic()

    async def has_gone() -> bool:
        return any(tmp_path.iterdir())

    async def ask() -> None:
        ASKING.set(("ada", has_gone))
        await to_thread.run_sync(partial(work, noted, tmp_path, 600.0))

    with pytest.raises(TryAgain, match="gone"):
        anyio.run(ask)

    [process] = [int(one.name) for one in tmp_path.iterdir()]
    while Path(f"/proc/{process}").exists() and time.monotonic() - began < patient(30):
        time.sleep(0.05)
    assert not Path(f"/proc/{process}").exists()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concepts, "_computed", lambda *_: None)
    monkeypatch.setattr(apart, "_result", lambda *_: time.sleep(10))


@pytest.mark.usefixtures("slow", "shelf")
def test_sixty_slow_requests_of_one_token_keep_nobody_waiting(backend: Backend) -> None:
    viewer = backend.tokens.create("viewer", ("recall",), (HERE,))
    other = backend.tokens.create("other", ("recall",), (HERE,))
    with served(backend) as url, ThreadPoolExecutor(60) as threads:

        def asked(token: str, path: str) -> httpx.Response:
            return httpx.get(f"{url}{path}", headers={"Authorization": f"Bearer {token}"}, timeout=30)

        pictures = [threads.submit(asked, viewer, f"/v1/concepts/{HERE}") for _ in range(60)]
        time.sleep(1)
        assert httpx.get(f"{url}/health").text == "ok"
        assert asked(other, "/v1/pools").status_code == 200
        assert 200 not in {one.result().status_code for one in pictures if one.done()}, "none waited for a picture"
        statuses = [one.result().status_code for one in pictures]

    assert statuses.count(429) == 60 - MOST_OF_ONE
