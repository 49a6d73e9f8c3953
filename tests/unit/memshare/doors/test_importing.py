"""A file of memories over REST: looked at first, then brought in whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from fastapi.testclient import TestClient

from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import memory_id
from memshare_memory.people import WRONG_ANSWERS, WrongAnswer, note_wrong
from memshare_memory.stores.store import Where
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import text_of

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
    assert "'nowhere' (1 line)" in told["refused"][2]["why"]

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


def test_lines_are_read_as_the_command_line_reads_them(here: TestClient, memory: MemoryClient) -> None:
    turns = [{"role": "user", "content": "What has keys?"}, {"role": "assistant", "content": "A piano."}]
    poor = [turns[0], turns[1] | {"weight": 0}]

    told = ask(here, {"messages": turns, "memory_id": "1c6f"}, {"messages": poor}, {**PAIR, "answer": "A clock.\u200b"})

    assert (told["new"], told["left_out"]) == (2, 1)
    assert [*told["places"].values()] == [["line 2"]]
    assert ask(here, PAIR)["there"] == 1, "the same in another spelling"
    assert in_pool(memory) == [("What has hands?", "anonymous"), ("What has keys?", "anonymous")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"answer": "one", "answer": "two"}', "the key 'answer' stands twice"),
        ({"messages": [], "tools": [{}]}, "tool calls are not taken"),
        ({**PAIR, "answer": "x" * 20_001}, "20,001 characters; at most 20,000"),
        ({**PAIR, "prompt": "\u200b"}, "prompt: it is empty"),
    ],
)
def test_a_line_is_refused_with_its_number_and_the_true_reason(
    here: TestClient, memory: MemoryClient, line: object, why: str
) -> None:
    [refused] = ask(here, PAIR, line, dry_run=True)["refused"]

    assert refused["line"] == 2
    assert why in refused["why"]
    assert why in ask(here, PAIR, line)["detail"]
    assert in_pool(memory) == []


@pytest.mark.parametrize("lines", ["\n \n", "\ufeff", "[]"])
def test_a_file_in_which_nothing_stands_is_refused(here: TestClient, lines: str) -> None:
    told = here.post("/v1/memories/import", json={"lines": lines}).json()

    assert "The file is empty: expected lines such as" in told["detail"]


GRADED = "prompt,answer,stars\nWhat runs?,A river.,5\nWhat stands?,A dog.,1\nWhat sings?,A kettle.,\n"


def test_a_table_of_graded_answers_is_looked_at_and_brought_in_by_its_score(
    here: TestClient, memory: MemoryClient
) -> None:
    chosen = {"source": "table", "score": "stars", "at_least": 4, "scale": "1:5", "new_pool": True}

    told = ask(here, GRADED, **chosen, dry_run=True)
    assert (told["new"], told["left_out"]) == (1, 2)
    assert told["why"] == {"under the score": 1, "no such score": 1}
    assert told["places"] == {"under the score": ["line 3"], "no such score": ["line 4"]}
    assert in_pool(memory) == []

    assert ask(here, GRADED, **chosen)["new"] == 1
    assert ask(here, GRADED, **chosen)["there"] == 1
    assert [(one.prompt, one.answer, one.score) for one in memory.every(Where())] == [("What runs?", "A river.", 100)]
    assert "with --at-least" in ask(here, GRADED, source="table", score="stars", scale="1:5")["detail"]
    assert "from 1 to 5" in ask(here, GRADED, source="table", score="stars", at_least=4)["detail"]


def test_a_pool_that_no_agent_answers_from_is_told_with_what_to_do(here: TestClient, memory: MemoryClient) -> None:
    assert ask(here, PAIR)["unread"] == ""

    told = ask(here, {**PAIR, "pool": "bikes"}, new_pool=True)["unread"]

    assert told.startswith("No agent answers from this pool: 'bikes'. Write pool = \"bikes\" into the file of an agent")
    assert "logic, plan" in told
    assert memory.stats().by_pool["bikes"] == 1
    assert told in text_of(here.get("/pool?pool=bikes").text)
    assert "No agent answers" not in here.get("/pool?pool=logic").text


@pytest.mark.parametrize("prompt", ["what has  hands", "What has hands.", "\u201cWhat ha\u00ads hands?\u201d"])
def test_what_was_called_wrong_is_left_out_however_its_prompt_is_typed(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis, prompt: str
) -> None:
    call_wrong(redis_client)

    assert ask(here, {**PAIR, "prompt": prompt})["left_out"] == 1
    added = here.post("/v1/memories", json={"pool": "logic", "prompt": prompt, "answer": "a clock!", "new_pool": True})

    assert added.status_code == 409
    assert in_pool(memory) == []


@pytest.mark.parametrize("is_table", [True, False])
def test_what_was_called_wrong_for_that_prompt_is_left_out_and_named_and_the_rest_comes_in(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis, is_table: bool
) -> None:
    call_wrong(redis_client)
    lines: tuple[object, ...] = (
        PAIR,
        {**PAIR, "prompt": "What strikes?"},
        {"prompt": "What runs?", "answer": "A river."},
    )
    if is_table:
        lines = ("prompt,answer", "What has hands?,A clock.", "What strikes?,A clock.", "What runs?,A river.")

    told = ask(here, *lines, source="table" if is_table else None)

    [why] = told["why"]
    assert (told["new"], told["left_out"], told["refused"]) == (2, 1, [])
    assert why.startswith(
        f"line {1 + is_table}, 'What has hands?': This answer was called wrong by 'cora' (journey t1), so it is not"
    )
    assert {prompt for prompt, _ in in_pool(memory)} == {"What strikes?", "What runs?"}


def test_what_was_called_wrong_comes_back_hidden_as_it_was_exported(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    ask(here, PAIR)
    [kept] = memory.every(Where())
    call_wrong(redis_client)
    hidden = kept.model_copy(update={"status": "hidden"})

    assert ask(here, kept.model_dump(mode="json"))["left_out"] == 1
    assert ask(here, hidden.model_dump(mode="json"))["left_out"] == 0
    assert [*memory.every(Where())] == [hidden]


def test_what_was_called_wrong_is_looked_up_once_for_a_whole_file(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    call_wrong(redis_client)

    def looks(*lines: object) -> int:
        before = calls(redis_client)
        assert ask(here, *lines, dry_run=True)["left_out"] == len(lines)
        return calls(redis_client) - before

    assert memory.stats()
    one = looks(PAIR)
    assert one > 0
    assert looks(*({**PAIR, "answer": f"A clock{end}"} for end in (".", "!", ""))) == one


def test_no_words_on_other_answers_are_read(here: TestClient, memory: MemoryClient, redis_client: redis.Redis) -> None:
    assert memory.stats()
    call_wrong(redis_client)
    redis_client.hset(WRONG_ANSWERS, "another 1", "no word at all")

    assert ask(here, PAIR, dry_run=True)["left_out"] == 1


def calls(client: redis.Redis) -> int:
    """How often the hashes of Redis were searched."""
    found = client.info("commandstats")
    return sum(found.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("hscan", "hkeys", "hgetall"))


def call_wrong(client: redis.Redis) -> None:
    about = {"prompt": "What has hands?", "by": "cora", "journey": "t1"}
    own = memory_id("logic", "What has hands?", "A clock.")
    note_wrong(client, "A clock.", WrongAnswer(memory=own, pool="logic", submitter="ada", curated=True, **about))
