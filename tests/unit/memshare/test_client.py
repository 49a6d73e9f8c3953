from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from celery.exceptions import TimeoutError as CeleryTimeoutError
from celery.states import FAILURE, SUCCESS

import memshare
from memshare.client.client import Client
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import MESSAGES, Entry
from memshare_broker.delivery.submission import Submission
from memshare_broker.errors import BadInput, GiveUp, NotYet, TryAgain, Unreachable
from memshare_broker.presence import AgentCard, Presence, announce
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from tests.support.deployment import wait_for


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Client]:
    """A client whose Redis does not run."""
    with closing(Client(Settings(data=tmp_path / "none", prompt_limit=100))) as client:
        yield client


@pytest.fixture
def client(settings: Settings, redis_client: redis.Redis) -> Iterator[Client]:
    """A client of an empty Redis without workers."""
    assert redis_client.dbsize() == 0
    with closing(Client(settings)) as client:
        yield client


def test_a_task_can_be_checked_while_redis_is_down(alone: Client) -> None:
    task = alone.check("poem", {"prompt": "A lamp", "kind": "limerick", "memories": 0})

    assert (task.text, task.kind, task.memories) == ("A lamp", "limerick", 0)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"prompt": "A lamp", "kind": "haiku"},
            "Agent 'poem' has no kind 'haiku'. It has: limerick, wuyanlvshi, sonnet.",
        ),
        ({"prompt": " "}, "The task: the prompt is empty."),
        ({}, "The task: give a 'prompt', or a conversation as 'messages': one of the two."),
        (
            {"prompt": "x" * 101},
            "The prompt has 101 characters; at most 100 are taken. Split it, or raise MEMSHARE_PROMPT_LIMIT.",
        ),
        (
            {"messages": [{"role": "user", "content": "x" * 101}]},
            "The prompt has 101 characters; at most 100 are taken. Split it, or raise MEMSHARE_PROMPT_LIMIT.",
        ),
        ({"prompt": "A lamp", "memories": 21}, "The task: memories: Input should be less than or equal to 20, not 21."),
        ({"prompt": "A \ud83d"}, "The task holds half a character, \\ud83d (a surrogate alone), which is no text."),
        (
            {"messages": [{"role": "user", "content": "caf\udce9"}]},
            "The task holds the byte 0xe9, which is not UTF-8.",
        ),
        (
            {"prompt": "A lamp", "submitter": "\ud83d"},
            "The task holds half a character, \\ud83d (a surrogate alone), which is no text.",
        ),
        ({"prompt": "A lamp", "colour": "red"}, "The task: 'colour' is none of its fields."),
    ],
)
def test_what_the_agent_would_refuse_is_refused_at_once(alone: Client, body: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadInput) as caught:
        alone.check("poem", body)

    assert str(caught.value) == expected


def test_a_prompt_as_long_as_the_limit_is_taken(alone: Client) -> None:
    assert len(alone.check("poem", {"prompt": "x" * 100}).text) == 100


def test_a_task_cannot_be_submitted_while_redis_is_down(alone: Client) -> None:
    start = r"Start `memshare up`\. .* set MEMSHARE_DATA to that"
    with pytest.raises(Unreachable, match=rf"Redis does not answer at unix://.*/none/redis\.sock\. {start}"):
        alone.submit("poem", "A lamp")


def test_an_unknown_agent_is_refused_with_the_known_ones(client: Client) -> None:
    with pytest.raises(BadInput, match=r"No agent is called 'novel'\. There are: logic, plan, poem, reasoning\."):
        client.submit("novel", "A lamp")


def test_an_agent_that_only_a_worker_knows_can_be_submitted_to(client: Client, redis_client: redis.Redis) -> None:
    card = AgentCard(name="cook", kinds=("soup",), pool="kitchen", model="offline")
    announce(redis_client, Presence(node="far", pid=1, incarnation="a", queues=("cook",), agents=(card,)))

    assert client.check("cook", {"prompt": "Leeks", "kind": "soup"}).kind == "soup"
    assert sorted(client.agents()) == ["cook", "logic", "plan", "poem", "reasoning"]


def test_a_file_that_cannot_be_used_keeps_nobody_from_the_other_agents(
    settings: Settings, tmp_path: Path, redis_client: redis.Redis
) -> None:
    (tmp_path / "cook.toml").write_text("x = = 1")
    with closing(Client(settings.model_copy(update={"agents_dir": tmp_path}))) as client:
        assert client.check("poem", {"prompt": "A lamp"}).text == "A lamp"
        with pytest.raises(BadInput, match=r"cook\.toml:1: this is not valid TOML"):
            client.check("cook", {"prompt": "Leeks"})

        card = AgentCard(name="cook", kinds=(), pool="kitchen", model="offline")
        announce(redis_client, Presence(node="far", pid=1, incarnation="a", queues=("cook",), agents=(card,)))
        assert client.check("cook", {"prompt": "Leeks"}).text == "Leeks"


@pytest.mark.parametrize("priority", [-1, 10])
def test_a_priority_out_of_range_is_refused_and_nothing_is_sent(client: Client, priority: int) -> None:
    with pytest.raises(BadInput, match="The task: priority: Input should be "):
        client.submit("poem", "A lamp", priority=priority)

    assert client.ledger.open_messages() == {}


def test_a_submitted_task_is_in_the_ledger_and_in_its_queue(client: Client, redis_client: redis.Redis) -> None:
    submitted = client.submit("poem", "A lamp", kind="limerick", submitter="ada")

    journey = client.journey(submitted.id)
    assert (journey.state, journey.agent, journey.kind) == ("queued", "poem", "limerick")
    assert (journey.prompt, journey.submitter) == ("A lamp", "ada")
    assert client.ledger.open_messages() == {"poem": 1}
    assert sum(redis_client.llen(key) for key in redis_client.scan_iter("poem*")) == 1


def test_a_task_with_an_id_that_is_open_is_not_sent_twice(client: Client, redis_client: redis.Redis) -> None:
    first = client.submit_task("poem", {"prompt": "A lamp"}, task_id="lamp-1")
    again = client.submit_task("poem", {"prompt": "A lamp"}, task_id="lamp-1")

    assert first.id == again.id == "lamp-1"
    assert client.ledger.open_messages() == {"poem": 1}
    assert sum(redis_client.llen(key) for key in redis_client.scan_iter("poem*")) == 1


def test_waiting_for_a_task_ends_with_its_journey(client: Client, redis_client: redis.Redis) -> None:
    task = client.submit("poem", "A limerick")
    with pytest.raises(TryAgain, match=f"Task {task.id} is queued after 0.1 s, and not at its end"):
        client.wait(task.id, timeout=0.1)
    entry = Entry.model_validate_json(redis_client.hget(MESSAGES, task.id))
    client.ledger.begin(entry, "incarnation")
    client.ledger.park(entry, NotYet("The cap is reached.", 1_000, hold="agent poem"))
    with pytest.raises(TryAgain, match=r"It waits: The cap is reached\."):
        client.wait(task.id, timeout=0.1)

    ending = threading.Timer(0.2, client.dead_letters.add, [letter_for(entry, GiveUp("It refuses."), tries=1)])
    ending.start()

    assert client.wait(task.id, timeout=20).state == "dead"
    with pytest.raises(BadInput, match="No task has the id 'another'"):
        client.wait("another", timeout=20)


def test_a_task_that_is_not_to_be_remembered_says_so_on_its_way(client: Client) -> None:
    client.submit_task("poem", {"prompt": "A lamp"}, task_id="kept")
    client.submit("poem", "A lamp", remember=False)

    bodies = [record["task"]["body"]["remember"] for record in journeys(client)]
    assert sorted(bodies) == [False, True]


def journeys(client: Client) -> list[dict[str, Any]]:
    ids = [key.split(":")[-1] for key in client._redis.scan_iter("memshare:journey:*")]
    return [client.ledger.journey(one) for one in ids]


def test_a_question_to_the_memory_service_says_so_when_none_is_there(client: Client) -> None:
    with pytest.raises(TryAgain, match=r"The memory service does not answer at .*memory\.sock.*Start `memshare up`"):
        client.memories.stats()


def tell(redis_client: redis.Redis, task: Submission, result: dict[str, Any], status: str = SUCCESS) -> None:
    """Store and announce the result of a task as a worker's Celery does."""
    meta = {"task_id": task.id, "status": status, "result": result, "traceback": None, "children": []}
    key = f"celery-task-meta-{task.id}"
    redis_client.set(key, json.dumps(meta))
    redis_client.publish(key, json.dumps(meta))


def test_threads_share_a_client_one_submits_while_others_wait_for_answers(
    client: Client, redis_client: redis.Redis
) -> None:
    answers: dict[int, dict[str, Any]] = {}

    def wait(number: int, task: Submission) -> None:
        answers[number] = task.get(timeout=20)

    tasks = [client.submit("poem", f"Lamp {number}") for number in range(60)]
    waiting = [threading.Thread(target=wait, args=pair) for pair in enumerate(tasks[:30])]
    for thread in waiting:
        thread.start()
    wait_for(lambda: len(redis_client.pubsub_channels("celery-task-meta-*")) == 30, 20, "30 threads to wait")
    for number, task in enumerate(tasks):
        more = client.submit("poem", f"Another lamp {number}")
        tell(redis_client, task, {"answer": f"{number}"})
        tell(redis_client, more, {"answer": "more"})
    for thread in waiting:
        thread.join(30)

    assert answers == {number: {"answer": f"{number}"} for number in range(30)}
    assert tasks[40].get(timeout=1) == {"answer": "40"}
    assert more.get() == {"answer": "more"}
    assert redis_client.pubsub_channels("celery-task-meta-*") == []


def test_an_answer_that_is_not_there_in_time_is_a_time_out_and_a_given_up_task_its_reason(
    client: Client, redis_client: redis.Redis
) -> None:
    task = client.submit("poem", "A lamp")

    with pytest.raises(CeleryTimeoutError, match=task.id):
        task.get(timeout=0.05)
    assert (task.state, task.ready()) == ("PENDING", False)

    error = {"exc_type": "GiveUp", "exc_module": "memshare_broker.errors", "exc_message": ["It refuses."]}
    tell(redis_client, task, error, FAILURE)
    with pytest.raises(GiveUp, match="It refuses"):
        task.get(timeout=20)
    assert (task.state, task.ready()) == ("FAILURE", True)


def test_an_answer_whose_news_got_lost_is_found_all_the_same(client: Client, redis_client: redis.Redis) -> None:
    task = client.submit("poem", "A lamp")

    def tell_nobody() -> None:
        redis_client.client_kill_filter(_type="pubsub")
        tell(redis_client, task, {"answer": "It shines."})

    threading.Timer(0.2, tell_nobody).start()

    assert task.get(timeout=20) == {"answer": "It shines."}


def test_an_answer_cannot_be_waited_for_while_redis_is_down(alone: Client) -> None:
    with pytest.raises(Unreachable, match="Start `memshare up`"):
        alone.result("1c6f").get(timeout=0.1)


def test_a_memory_that_holds_half_a_character_is_refused_before_it_is_sent(alone: Client) -> None:
    with pytest.raises(BadInput, match="The request holds half a character"):
        alone.memories.add([NewMemory(pool="poem", answer="half \ud83d")])


def test_the_same_task_of_a_submitter_is_reused_within_a_day_and_no_other(client: Client) -> None:
    first = client.submit("poem", "A lamp", submitter="ada", reuse=True).id

    assert client.submit("poem", "A lamp", submitter="ada", reuse=True, priority=9).id == first
    others = [
        client.submit("poem", "A lamp", submitter="bob", reuse=True),
        client.submit("poem", "A lamp", submitter="ada", kind="limerick", reuse=True),
        client.submit("poem", "A lamp", submitter="ada"),
    ]
    assert len({first, *(one.id for one in others)}) == 4
    assert client.ledger.open_messages()["poem"] == 4


def test_a_task_that_was_cancelled_is_not_reused(client: Client) -> None:
    first = client.submit("poem", "A lamp", reuse=True).id
    client.cancel(first)

    assert client.submit("poem", "A lamp", reuse=True).id != first


def test_a_client_is_closed_by_its_block_and_its_memories_are_typed(
    memory: MemoryClient, settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    assert memory
    own = settings.model_copy(update={"redis_url": settings.redis, "data": tmp_path})

    with memshare.Client(own) as client:
        [identity] = client.memories.add([memshare.NewMemory(pool="logic", answer="A pier has piles.", new_pool=True)])
        wanted = memshare.SearchRequest(text="a pier", k=3, where=memshare.Where(pool="logic"))
        assert [one.memory.id for one in client.memories.search(wanted)] == [identity]
        edited = client.memories.edit(memshare.Edit(id=identity, answer="A pier stands on piles."))
        assert edited.answer == "A pier stands on piles."
        assert client.memories.forget(memshare.Forget(ids=(identity,))) == [identity]

        connected = len(redis_client.client_list())
        client.workers()
        assert len(redis_client.client_list()) == connected + 1

    assert len(redis_client.client_list()) == connected


def test_an_answer_can_be_awaited(client: Client, redis_client: redis.Redis) -> None:
    redis_client.set("celery-task-meta-1", json.dumps({"status": SUCCESS, "result": {"answer": "A buoy."}}))

    assert asyncio.run(client.result("1").aget(timeout=5)) == {"answer": "A buoy."}
