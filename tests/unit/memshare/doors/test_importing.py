"""A file of memories over REST: looked at first, then brought in whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memshare_memory.door.client import MemoryClient
from memshare_memory.stores.store import Where
from tests.unit.memshare.doors.conftest import Tokened

PAIR = {"prompt": "What has hands?", "answer": "A clock."}


def ask(client: TestClient, *lines: object, **more: object) -> dict[str, Any]:
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    return client.post("/v1/memories/import", json={"lines": text, "pool": "logic", **more}).json()


def in_pool(memory: MemoryClient) -> list[tuple[str | None, str]]:
    return sorted((one.prompt, one.submitter) for one in memory.every(Where(pool="logic")))


def test_a_dry_run_tells_what_is_new_and_does_nothing(here: TestClient, memory: MemoryClient) -> None:
    ask(here, PAIR)

    told = ask(here, PAIR, PAIR, {"answer": "Doors open."}, dry_run=True)

    assert (told["new"], told["there"], told["refused"]) == (1, 1, [])
    assert told["examples"] == [{"pool": "logic", "prompt": None, "answer": "Doors open."}]
    assert in_pool(memory) == [("What has hands?", "anonymous")]


def test_one_wrong_line_and_nothing_is_brought_in(here: TestClient, memory: MemoryClient) -> None:
    lines = (PAIR, {"prompt": "x"}, "", "no JSON", {**PAIR, "pool": "nowhere"})

    told = ask(here, *lines, dry_run=True)
    assert [one["line"] for one in told["refused"]] == [2, 4, None]
    assert "'nowhere' (1 lines)" in told["refused"][2]["why"]

    assert "line 2:" in ask(here, *lines)["detail"]
    assert in_pool(memory) == []
    assert ask(here, *lines[::4], new_pool=True)["new"] == 2


def test_what_was_exported_comes_back_as_it_was(here: TestClient, memory: MemoryClient) -> None:
    ask(here, {**PAIR, "submitter": "ada", "score": 90})
    exported = [one.model_dump(mode="json") for one in memory.every(Where())]
    here.delete(f"/v1/memories/{exported[0]['id']}")

    assert ask(here, *exported)["new"] == 1
    assert [one.model_dump(mode="json") for one in memory.every(Where())] == exported


@pytest.mark.parametrize(("may", "pools"), [("curate", None), ("admin", ("logic",))])
def test_it_takes_who_may_do_everything(
    tokened: Tokened, memory: MemoryClient, may: str, pools: tuple[str, ...] | None
) -> None:
    assert ask(tokened("ada", may, pools=pools), PAIR)["status"] == 403
    assert in_pool(memory) == []


def test_a_line_without_a_submitter_is_of_who_brings_it_in(tokened: Tokened, memory: MemoryClient) -> None:
    ask(tokened("owner", "admin", pools=None), PAIR)

    assert in_pool(memory) == [("What has hands?", "owner")]
