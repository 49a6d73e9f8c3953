"""Memories wait for each other, to be asked about in one call; none is lost on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
import redis
from pydantic import BaseModel

from memshare_broker.delivery.hops import EXTRACT
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import PARKED
from memshare_broker.errors import GiveUp, NotYet, Reason, TryAgain
from memshare_broker.wire.lessons import Extracted, ExtractTask
from memshare_broker.wire.messages import Turn, Usage
from memshare_concepts.worker import Extracting
from memshare_llm.batches import GATHER_AGAIN, MOST, Batches
from memshare_llm.chat import RefusedReply, Reply
from memshare_llm.limits.budget import unmetered
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat

CONCEPTS = {"subjects": ["A", "B"], "general_1": ["C"], "general_2": [], "general_3": [], "general_4": []}
BAD = "unspeakable"


class Namer(ScriptedChat):
    """Names the last word of a prompt as its topic, and refuses a call about what is unspeakable."""

    away = False
    most = 99
    reason: Reason = "time-out"
    """Why a call about more memories than `most` fails."""
    refusal: Reason = "refused"

    def reply(self, turns: Sequence[Turn], _schema: type[BaseModel] | None = None) -> Reply:
        if self.away:
            raise TryAgain("Away.", reason="connection")
        self.conversations.append(tuple(turns))
        memories = json.loads(turns[-1].content)["memories"]
        usage = Usage(prompt_tokens=103, completion_tokens=50)
        if len(memories) > self.most:
            raise (
                GiveUp("Too much.", self.reason)
                if self.reason == "too long"
                else TryAgain("Too much.", reason=self.reason)
            )
        if any(BAD in one["prompt"] for one in memories.values()):
            raise RefusedReply("No.", self.refusal, usage)
        named = {name: CONCEPTS | {"topic": one["prompt"].split()[-1]} for name, one in memories.items()}
        return Reply(text=json.dumps(named), model=self.name, usage=usage)


@pytest.fixture
def chat() -> Namer:
    return Namer()


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, 1)


@pytest.fixture
def make(chat: Namer, memory: MemoryClient, redis_client: redis.Redis, ledger: Ledger) -> Callable[..., Extracting]:
    def worker(wait: float = 60, check_caps: Any = lambda _agent, _submitter: None) -> Extracting:
        return Extracting(chat, memory, unmetered, check_caps, Batches(EXTRACT, "concepts", redis_client, ledger, wait))

    return worker


@pytest.fixture
def tasks(memory: MemoryClient, redis_client: redis.Redis) -> Callable[..., list[ExtractTask]]:
    def of(*words: str, submitter: str = "ada") -> list[ExtractTask]:
        """A memory for each word, whose message waits beside its queue."""
        found: list[Memory] = [remembered(f"What of {word}", answer=f"It is {word}.", pool="plan")[0] for word in words]
        memory.restore(found)
        made = [
            ExtractTask(journey=f"journey {one.id}", pool="plan", memory_id=one.id, agent="plan", submitter=submitter)
            for one in found
        ]
        redis_client.zadd(PARKED, {EXTRACT.next(task, task.journey).id: 1e12 for task in made})
        return made

    return of


def named(worker: Extracting, task: ExtractTask) -> Extracted:
    outcome = worker.run(task.journey, task)
    assert isinstance(outcome.record, Extracted)
    assert outcome.ended == "named"
    return outcome.record


def wait(worker: Extracting, tasks: Sequence[ExtractTask]) -> list[float]:
    """For how many seconds each is told to wait."""
    seconds = []
    for task in tasks:
        with pytest.raises(NotYet) as told:
            worker.run(task.journey, task)
        seconds.append(told.value.wait)
    return seconds


def woken(client: redis.Redis, tasks: Sequence[ExtractTask]) -> list[bool]:
    return [client.zscore(PARKED, EXTRACT.next(task, task.journey).id) == 0 for task in tasks]


def test_ten_memories_are_asked_about_in_one_call_and_each_message_brings_its_own(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer, redis_client: redis.Redis
) -> None:
    some, worker = tasks(*(f"Word{letter}" for letter in "abcdefghij")), make()

    assert wait(worker, some[:-1]) == pytest.approx([60] * 9, abs=5)
    last = named(worker, some[-1])
    assert woken(redis_client, some[:-1]) == [True] * 9
    others = [named(worker, task) for task in some[:-1]]

    assert len(chat.conversations) == 1
    assert [one.concepts["0"] for one in (*others, last)] == [(f"Word{letter}",) for letter in "abcdefghij"]
    assert [one.journey for one in others] == [task.journey for task in some[:-1]]
    assert sum(one.usage.prompt_tokens for one in (*others, last)) == 103
    assert (last.usage.prompt_tokens, others[0].usage.prompt_tokens) == (13, 10)


def test_messages_that_come_at_the_same_time_make_full_calls(
    tasks: Callable[..., list[ExtractTask]], redis_client: redis.Redis, ledger: Ledger
) -> None:
    batches = Batches(EXTRACT, "concepts", redis_client, ledger, 60)
    together = Barrier(8)

    def gather(some: Sequence[ExtractTask]) -> list[int]:
        """How many each call of a thread is about."""
        together.wait()
        calls = []
        for task in some:
            with suppress(NotYet):
                calls.append(len(batches.gather(task)))
        return calls

    some = tasks(*(f"Word{number}" for number in range(8 * 5 * MOST)))
    with ThreadPoolExecutor(8) as threads:
        calls = [size for one in threads.map(gather, [some[first::8] for first in range(8)]) for size in one]

    assert calls == [MOST] * 40


def test_what_has_waited_long_enough_is_asked_about_with_those_that_are_there(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    some = tasks("Owl", "Elk", "Cat")
    wait(make(), some)

    found = [named(make(wait=0), task) for task in some]

    assert [one.concepts["0"] for one in found] == [("Owl",), ("Elk",), ("Cat",)]
    assert len(chat.conversations) == 1


def test_a_call_that_failed_while_all_go_on_waiting_is_among_the_last_errors(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer, ledger: Ledger
) -> None:
    some = tasks("Owl", "Elk", "Cat")
    chat.most = 1
    wait(make(), some)
    wait(make(wait=0), some[:1])

    assert ledger.failed() == {"time-out": 1}
    assert ledger.last_failed()["time-out"]["error"] == "Too much."


def test_those_of_another_submitter_pay_for_themselves(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    own, other = tasks("Owl", "Elk"), tasks("Cat", submitter="bob")
    wait(make(), [*own, *other])

    named(make(wait=0), own[0])

    [(_, asked)] = chat.conversations
    assert [one["prompt"] for one in json.loads(asked.content)["memories"].values()] == ["What of Owl", "What of Elk"]


def test_what_the_model_will_not_speak_of_keeps_nobody_else_from_their_concepts(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    some = tasks("Owl", BAD, "Elk")
    wait(make(), some)

    assert named(make(wait=0), some[0]).concepts["0"] == ("Owl",)
    with pytest.raises(RefusedReply):
        make().run(some[1].journey, some[1])
    assert named(make(), some[2]).concepts["0"] == ("Elk",)
    assert len(chat.conversations) == 4, "together, and each by itself"


@pytest.mark.parametrize("reason", ["time-out", "cut off", "invalid reply", "too long"])
def test_a_call_that_is_too_much_for_the_model_is_shared_by_half_as_many_from_then_on(
    reason: Reason, make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    some = tasks(*(f"Word{letter}" for letter in "abcdefghij"))
    chat.most, chat.reason = 3, reason
    wait(make(), some[:-1])

    tries, left = 0, [*reversed(some)]
    while left:
        with suppress(NotYet):
            tries += 1
            assert named(make(wait=0), left[0]).concepts["0"] == (f"Word{'abcdefghij'[len(left) - 1]}",)
            left.pop(0)
        assert tries < 30

    sizes = [len(json.loads(turns[-1].content)["memories"]) for turns in chat.conversations]
    assert sizes == [10, 5, *[2] * 5]


@pytest.mark.parametrize("reason", ["time-out", "invalid reply", "too long"])
def test_one_that_is_too_much_by_itself_is_left_out_and_not_asked_about_again(
    reason: Reason, make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    (task,) = tasks("Owl")
    chat.most, chat.reason = 0, reason

    outcome = make(wait=0).run(task.journey, task)

    assert (outcome.ended, outcome.following) == ("not named", None)
    assert outcome.goes_without is not None
    assert outcome.goes_without.reason == reason
    assert len(chat.conversations) == 1


def test_what_a_content_filter_refuses_by_itself_is_left_out(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    good, bad = tasks("Owl", f"{BAD} Elk")
    chat.refusal = "content filter"
    wait(make(), [good, bad])

    assert named(make(wait=0), good).concepts["0"] == ("Owl",)
    assert make().run(bad.journey, bad).ended == "not named"


def test_another_model_is_asked_about_as_many_as_before(redis_client: redis.Redis, ledger: Ledger) -> None:
    def batches(model: str) -> Batches[ExtractTask, Extracted]:
        return Batches(EXTRACT, "concepts", redis_client, ledger, 0, model=model)

    batches("openai:small")._halve(10)

    assert batches("openai:small").together() == 5
    assert batches("openai:large").together() == MOST


def test_where_the_model_is_away_all_wait_again_and_are_asked_about_together_later(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    some = tasks("Owl", "Elk")
    wait(make(), some)

    chat.away = True
    with pytest.raises(TryAgain):
        make(wait=0).run(some[0].journey, some[0])
    chat.away = False

    assert [named(make(wait=0), task).concepts["0"] for task in reversed(some)] == [("Elk",), ("Owl",)]
    assert len(chat.conversations) == 1


def test_a_batch_whose_worker_was_killed_is_begun_again_and_one_that_is_under_way_is_not(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer, ledger: Ledger,
    redis_client: redis.Redis,
) -> None:  # fmt: skip
    first, second = tasks("Owl", "Elk")
    entry = EXTRACT.next(first, first.journey).entry()
    batches: Batches[ExtractTask, Extracted] = Batches(EXTRACT, "concepts", redis_client, ledger, 0)
    wait(make(), [first, second])
    ledger.open(entry)
    ledger.begin(entry, "a worker")
    assert [one.task for one in batches.gather(first)] == [first, second]

    assert wait(make(wait=0), [second]) == [2]
    redis_client.delete("memshare:lives")  # as the sweeper does when the worker is gone

    assert named(make(wait=0), second).concepts["0"] == ("Elk",)
    assert len(chat.conversations) == 1


def test_what_had_waited_long_enough_when_its_worker_was_killed_waits_for_its_batch_alone(
    make: Callable[..., Extracting],
    tasks: Callable[..., list[ExtractTask]],
    ledger: Ledger,
    redis_client: redis.Redis,
) -> None:
    first, second = tasks("Owl", "Elk")
    batches: Batches[ExtractTask, Extracted] = Batches(EXTRACT, "concepts", redis_client, ledger, 0)
    wait(make(), [second])
    [waiting] = redis_client.keys("memshare:concepts_waiting:*")
    redis_client.zincrby(waiting, -50, second.model_dump_json())
    batches.gather(first)  # and then its worker is killed

    assert wait(make(), [first, second]) == [pytest.approx(60, abs=2), pytest.approx(10, abs=2)]
    redis_client.zincrby(waiting, -50, second.model_dump_json())
    batches.gather(first)

    assert wait(make(), [second]) == [pytest.approx(GATHER_AGAIN, abs=1)]


def test_what_is_forgotten_while_it_waits_is_not_asked_about(
    make: Callable[..., Extracting], tasks: Callable[..., list[ExtractTask]], chat: Namer
) -> None:
    some = tasks("Owl", "Elk")
    gone = some[1].model_copy(update={"memory_id": UUID(int=9), "journey": "gone"})
    worker = make()
    wait(worker, some)

    assert worker.run("gone", gone).ended == "gone"
    named(make(wait=0), some[0])

    assert len(json.loads(chat.conversations[0][-1].content)["memories"]) == 2 < MOST
