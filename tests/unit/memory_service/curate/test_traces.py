"""What is purged leaves no trace in Redis: written by the real ledger, and looked for by its words in every key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import pytest
import redis

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.journey_records import OPINION, note, noted, unpack
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import JOURNEY, RESULT, Entry
from memshare_broker.errors import GiveUp
from memshare_broker.observe.metrics import DEAD_REASONS
from memshare_broker.wire.grades import Opinion
from memshare_broker.wire.messages import AgentTask, Usage, derived_id
from memshare_llm.limits.usage import Charge, UsageLog
from memshare_memory.curate.traces import remove_traces
from memshare_memory.people import WrongAnswer, note_wrong, wrong_answers

SECRET = "the zebra at the gate"
MEMORY, OTHER = derived_id("a memory"), derived_id("another one")


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


def entry(name: str, submitter: str, prompt: str = SECRET) -> Entry:
    body = AgentTask(prompt=prompt, submitter=submitter).model_dump(mode="json", exclude_none=True)
    return Entry(
        id=name, task="agents.poem", queue="poem", body=body, journey=name, stage="answer", begins=True, has_result=True
    )


def answered(ledger: Ledger, one: Entry, **record: object) -> None:
    """A task that has ended, with what its answer says."""
    assert ledger.open(one, 0)
    ledger.commit(one, {"answer": one.body["prompt"], **record})  # type: ignore[call-overload, index]


def texts(client: redis.Redis) -> Iterator[str]:
    """Everything that Redis has, unpacked."""
    for key in client.scan_iter():
        yield str(key)
        kind = client.type(key)
        if kind == "string":
            yield str(client.get(key))
        elif kind == "hash":
            fields = client.execute_command("HGETALL", key, NEVER_DECODE=True)
            for name, value in fields.items():
                yield name.decode()
                yield json.dumps(unpack(value)) if value[:1] in (b"\x01", b"{", b"[") else value.decode()


def known(client: redis.Redis, words: str) -> bool:
    return any(words in text for text in texts(client))


def purge(
    client: redis.Redis, *, memories: tuple[UUID, ...] = (), tasks: tuple[str, ...] = (), submitter: str | None = None
) -> tuple[int, int, int]:
    purged = remove_traces(client, memories, tasks, submitter)
    return purged.journeys, purged.dead_letters, purged.open_messages


def test_the_trace_and_the_result_of_a_memorys_task_go(ledger: Ledger, redis_client: redis.Redis) -> None:
    answered(ledger, entry("task-1", "ada"))
    redis_client.set(RESULT + "task-1", json.dumps({"answer": SECRET}))
    answered(ledger, entry("task-2", "bob", "an old shoe"))
    assert known(redis_client, SECRET)

    assert purge(redis_client, tasks=("task-1",)) == (1, 0, 0)

    assert not known(redis_client, SECRET)
    assert list(redis_client.scan_iter(JOURNEY + "*")) == [JOURNEY + "task-2"]


def test_the_trace_of_a_task_that_was_shown_it_goes_as_it_may_quote_it(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    answered(ledger, entry("task-1", "ada"), memories=[{"id": str(MEMORY)}])
    answered(ledger, entry("task-2", "ada", "an old shoe"), memories=[{"id": str(OTHER)}])

    assert purge(redis_client, memories=(MEMORY,)) == (1, 0, 0)

    assert not known(redis_client, SECRET)
    assert known(redis_client, "an old shoe")


def test_all_that_a_submitter_sent_goes_with_their_dead_letters_and_usage(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    answered(ledger, entry("task-1", "mallory"))
    dead = entry("task-2", "mallory")
    ledger.open(dead, 0)
    DeadLetters(redis_client, ledger).add(letter_for(dead, GiveUp(f"It is no poem: {SECRET}"), tries=1))
    answered(ledger, entry("task-3", "bob", "an old shoe"))
    usage = UsageLog(redis_client)
    for submitter in ("mallory", "bob"):
        usage.add(Charge("poem", submitter, "offline", Usage(prompt_tokens=7), 0.0))
    usage.flush()
    assert known(redis_client, "submitter mallory")

    assert purge(redis_client, submitter="mallory") == (2, 1, 0)

    assert not known(redis_client, SECRET)
    assert not known(redis_client, "mallory")
    assert not redis_client.exists(DEAD_REASONS)
    assert known(redis_client, "submitter bob")
    assert usage.today()["agent"]["poem"].prompt_tokens == 14, "what the agent used is no secret"


def test_a_task_that_is_under_way_is_counted_and_left_to_its_worker(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry("task-1", "mallory"), 0)

    assert purge(redis_client, submitter="mallory")[2] == 1

    assert ledger.open_messages() == {"poem": 1}


def test_of_what_is_known_for_ever_the_question_goes_and_the_outcome_stays(redis_client: redis.Redis) -> None:
    kept = {"question": SECRET, "total": 90.0, "outcome": "stored", "memory_id": str(MEMORY)}
    redis_client.hset("memshare:kept", "journey", json.dumps(kept))

    purge(redis_client, memories=(MEMORY,))

    assert not known(redis_client, SECRET)
    assert json.loads(redis_client.hget("memshare:kept", "journey") or "")["outcome"] == "stored"


def test_what_a_purged_person_said_of_others_answers_stays_without_their_name(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    answered(ledger, entry("task-1", "bob"))
    note(redis_client, "task-1", OPINION, Opinion(by="mallory", reward=0).model_dump(mode="json"))
    wrong = WrongAnswer(
        memory=MEMORY, pool="poem", prompt="A lamp?", submitter="bob", curated=True, by="mallory", journey="task-1"
    )
    note_wrong(redis_client, "Yes.", wrong)

    assert purge(redis_client, submitter="mallory") == (0, 0, 0)

    assert not known(redis_client, "mallory")
    assert noted(redis_client, "task-1", OPINION) == Opinion(by="somebody", reward=0).model_dump(mode="json")
    left = [one.model_copy(update={"marked": ""}) for one in wrong_answers(redis_client)]
    assert left == [wrong.model_copy(update={"by": "somebody"})]
