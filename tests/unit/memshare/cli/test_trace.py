"""What `memshare trace` shows of a journey. The real command line, door and Redis."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
import redis

from memshare.operations.backend import Backend
from memshare.operations.caller import local_caller
from memshare.operations.journeys import own_journey
from memshare_broker.delivery.hops import SCORE
from memshare_broker.delivery.journey_records import ALSO_HID, OPINION, note
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import INCARNATIONS, Entry, trace_key
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import Opinion
from memshare_broker.wire.messages import AgentTask, Answer, RegradePair, Shown, Usage
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.memories import remembered
from tests.support.terminal import Terminal

TASK = "6dd6cc48-7a52-5b35-8f6e-0d2b7a9c4e11"
LONG = "Which books of the library were lent more than twice in May, and by whom? " * 4


@pytest.fixture
def memories(memory: MemoryClient) -> list[Memory]:
    found = [remembered(f"{name} {LONG}")[0] for name in ("lamp", "shoe", "boat", "harp")]
    memory.restore(found)
    return found


def answered(
    client: redis.Redis, shown: list[Shown], withheld: Shown | None, said: str = "A lamp.", **fields: Any
) -> None:
    ledger = Ledger(client, keep_days=1)
    entry = Entry(
        id=TASK, task="agents.poem", queue="poem", journey=TASK, stage="answer", begins=True, has_result=True,
        body=AgentTask(prompt="new lamp").model_dump(mode="json", exclude_none=True),
    )  # fmt: skip
    assert ledger.open(entry, 0)
    answer = Answer(
        task_id=TASK, agent="poem", kind=None, answer=said, model="scripted", memories=tuple(shown),
        retriever_version=0, usage=Usage(), seconds=0.1, withheld=withheld, **fields,
    )  # fmt: skip
    ledger.commit(entry, answer.model_dump(mode="json"))


@pytest.mark.parametrize("width", [80, 200])
def test_a_memory_is_shown_on_one_line_with_its_first_words_and_how_it_helped(
    terminal: Terminal, redis_client: redis.Redis, memories: list[Memory], width: int
) -> None:
    lamp, shoe, boat, harp = memories
    shown = [
        Shown(id=lamp.id, similarity=0.9, share=0.4),
        Shown(id=shoe.id, similarity=0.8, share=0, proven=False),
        Shown(id=boat.id, similarity=0.7),
    ]
    answered(redis_client, shown, withheld=Shown(id=harp.id, similarity=0.6))
    terminal.environment["COLUMNS"] = str(width)

    said = terminal.run("trace", TASK).stdout

    lines = {line[:8]: " ".join(line.split()) for line in said.splitlines()}
    assert lines[str(lamp.id)[:8]].startswith(f"{str(lamp.id)[:8]} 0.900 40% of the answer lamp Which books")
    assert lines[str(shoe.id)[:8]].startswith(f"{str(shoe.id)[:8]} 0.800 0% of the answer, unproven shoe Which")
    assert lines[str(boat.id)[:8]].startswith(f"{str(boat.id)[:8]} 0.700 not judged boat Which books")
    assert lines[str(harp.id)[:8]].startswith(f"{str(harp.id)[:8]} 0.600 withheld at random harp Which books")
    widths = [len(line.rstrip()) for line in said.splitlines()]
    assert width - 2 <= max(widths) <= width
    assert str(lamp.id) not in said


@pytest.mark.parametrize(
    ("encoding", "shown"), [("ascii", "caf? ? > ?"), ("latin-1", "café ? > ?"), ("cp1252", "café € > ?")]
)
def test_the_text_of_a_model_is_shown_in_any_encoding_and_its_json_is_exact(
    terminal: Terminal, redis_client: redis.Redis, memories: list[Memory], encoding: str, shown: str
) -> None:
    said = "café € → 🍸"
    answered(redis_client, [], withheld=Shown(id=memories[0].id, similarity=0.6), said=said)

    assert terminal.encoded(encoding, "result", TASK).stdout == f"{shown}\n"
    assert shown in terminal.encoded(encoding, "trace", TASK).stdout
    for name in ("result", "trace"):
        text = terminal.encoded(encoding, name, TASK, "--json").stdout
        assert text.isascii()
        assert json.loads(text)["answer"] == said
    assert json.loads(terminal.run("trace", TASK, "--json").stdout)["answer"] == said
    assert said in terminal.run("trace", TASK, "--json").stdout


def test_a_result_says_that_somebody_called_the_answer_wrong(terminal: Terminal, redis_client: redis.Redis) -> None:
    answered(redis_client, [], None)
    assert not terminal.run("result", TASK).stderr

    note(redis_client, TASK, OPINION, Opinion(by="cora", reward=0).model_dump(mode="json"))

    assert "cora said that the answer is wrong." in terminal.run("result", TASK).stderr


def test_an_answer_that_nobody_grades_has_an_end_that_says_so(terminal: Terminal, redis_client: redis.Redis) -> None:
    answered(redis_client, [], None, said="Nothing near enough.", verified=False)

    assert "It ends here: it is no answer, so it is neither graded nor remembered." in " ".join(
        terminal.run("trace", TASK).stdout.split()
    )


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/Los_Angeles"])
def test_moments_are_in_utc_as_the_days_of_filters_are(
    terminal: Terminal, redis_client: redis.Redis, memories: list[Memory], zone: str
) -> None:
    answered(redis_client, [], withheld=Shown(id=memories[0].id, similarity=0.6))
    submitted = terminal.json("trace", TASK)["submitted"]
    terminal.environment["TZ"] = zone

    said = terminal.run("trace", TASK).stdout
    shown = terminal.run("memories", "show", str(memories[0].id)).stdout

    assert f"{datetime.fromtimestamp(submitted, UTC):%Y-%m-%d %H:%M:%S} UTC" in said
    assert f"{datetime.fromtimestamp(memories[0].created, UTC):%Y-%m-%d %H:%M:%S} UTC" in shown


def test_a_trace_is_shown_without_the_pool(
    terminal: Terminal, redis_client: redis.Redis, memories: list[Memory]
) -> None:
    lamp, shoe, *_ = memories
    answered(redis_client, [Shown(id=lamp.id, similarity=0.9)], withheld=Shown(id=shoe.id, similarity=0.6))
    terminal.environment["MEMSHARE_DATA"] += "-without-a-service"

    said = terminal.run("trace", TASK).stdout

    assert str(lamp.id)[:8] in said
    assert "withheld at random" in said


def test_a_trace_whose_details_are_gone_says_so_and_shows_the_rest(
    terminal: Terminal, redis_client: redis.Redis, memories: list[Memory]
) -> None:
    lamp, shoe, *_ = memories
    answered(redis_client, [Shown(id=lamp.id, similarity=0.9)], withheld=Shown(id=shoe.id, similarity=0.6))
    redis_client.delete(trace_key(TASK))  # as it ends by itself

    said = terminal.run("trace", TASK).stdout
    tree = terminal.run("trace", TASK, "--tree", code=2).stderr

    assert "Its details were kept for a day (MEMSHARE_KEEP_TRACES_DAYS)." in said
    assert "A lamp." in said
    assert str(lamp.id)[:8] in said
    assert "are gone. Its details were kept for a day" in tree


def test_as_json_a_trace_is_the_reply_of_rest_and_has_both_names_of_its_id(
    terminal: Terminal, redis_client: redis.Redis, settings: Settings
) -> None:
    answered(redis_client, [], None)
    with closing(Backend(settings)) as backend:
        told = own_journey(backend, local_caller(), TASK)

    assert terminal.json("trace", TASK) == told.model_dump(mode="json") | {"task_id": TASK}
    assert told.id == TASK
    answer = terminal.json("result", TASK)
    assert (answer["id"], answer["task_id"], answer["answer"]) == (TASK, TASK, "A lamp.")


def test_a_task_that_goes_on_says_what_is_to_come_and_whether_a_worker_is_at_it(
    terminal: Terminal, redis_client: redis.Redis
) -> None:
    entry = Entry(
        id=TASK, task="agents.poem", queue="poem", journey=TASK, stage="answer", begins=True, has_result=True,
        body=AgentTask(prompt="new lamp").model_dump(mode="json", exclude_none=True),
    )  # fmt: skip
    Ledger(redis_client, keep_days=1).open(entry, 0)

    queued = terminal.run("trace", TASK).stdout
    redis_client.hset(INCARNATIONS, TASK, "one")
    running = terminal.run("trace", TASK).stdout

    assert "to come: answer, grade, whether it is remembered. It waits in a queue" in queued
    assert "to come: answer, grade, whether it is remembered. A worker is at it." in running


def test_a_memory_graded_again_is_not_told_as_a_task_that_was_shown_nothing(
    terminal: Terminal, redis_client: redis.Redis
) -> None:
    pair = RegradePair(
        journey=TASK, agent="poem", kind=None, pool="poem", rubric="poem", prompt="A lamp", answer="Red.",
        submitter="eve", memory_id=UUID(int=1),
    )  # fmt: skip
    Ledger(redis_client, keep_days=1).open(SCORE.next(pair, TASK, begins=True).entry())

    told = terminal.run("trace", TASK).stdout

    assert "its answer" in told
    assert "No memory was shown" not in told


def test_what_was_hidden_as_it_says_the_same_is_counted(terminal: Terminal, redis_client: redis.Redis) -> None:
    answered(redis_client, [], None)
    note(redis_client, TASK, OPINION, Opinion(by="cora", reward=0, hides=True).model_dump(mode="json"))
    assert "hidden with it" not in terminal.run("trace", TASK).stdout

    note(redis_client, TASK, ALSO_HID, [str(UUID(int=1)), str(UUID(int=2))])

    told = " ".join(terminal.run("trace", TASK).stdout.split())
    assert "which hides what it became; 2 memories that say so were hidden with it" in told
    assert json.loads(terminal.run("trace", TASK, "--json").stdout)["also_hid"] == [str(UUID(int=1)), str(UUID(int=2))]
