"""What a task is shown, and what becomes of its answer where that changes while it is under way, on real workers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare.client.journey import Journey
from memshare.demo.student_server import comparisons
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import Edit, Forget, NewMemory
from memshare_memory.memory import KNOWLEDGE
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, wait_for
from tests.support.grades import AGREES
from tests.support.terminal import Terminal

MODEL = "openai:scripted"
SLOWLY = "Take your time"
MONDAYS, TUESDAYS = "The museum is closed on Mondays.", "The museum is closed on Tuesdays."


class Chat:
    """Answers at once, but a task that says to take its time only when it is told to go on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def __call__(self, body: dict[str, Any]) -> Answer:
        last = body["messages"][-1]["content"]
        if "response_format" not in body:
            if SLOWLY in last:
                assert self.go_on.wait(30)
            told = MONDAYS if MONDAYS in str(body["messages"]) else ""
            return Answer(text=f"Reply to: {last} {told}")
        asked = json.loads(last)
        if "pairs" in asked:
            return Answer(text=json.dumps(comparisons(asked, AGREES)))
        return Answer()  # a good grade


@pytest.fixture(scope="module")
def chat() -> Chat:
    return Chat()


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory, chat: Chat) -> Iterator[Deployment]:
    settings = Settings(data=redis_folder, model=MODEL)
    empty(redis_folder)
    logs = tmp_path_factory.mktemp("logs")
    workers = [["poem", "scorer", "memory"]]
    with serving(chat) as server, deployed(settings, server, logs, workers) as running:
        yield running


@pytest.fixture
def terminal(deployment: Deployment) -> Terminal:
    return Terminal(deployment.settings.data)


def statement(deployment: Deployment, about: str) -> UUID:
    [added] = deployment.client.memories.add([NewMemory(pool="poem", prompt=about, answer=MONDAYS, kind=KNOWLEDGE)])
    return added


def asked(deployment: Deployment, prompt: str, kind: str = "limerick", **more: Any) -> Journey:
    submitted = deployment.client.submit("poem", prompt, kind=kind, **more)
    return deployment.settled(submitted.id)


def shown(journey: Journey) -> set[UUID]:
    return {one.id for one in journey.memories}


@pytest.mark.parametrize("what", ["changed", "forgotten"])
def test_an_answer_under_way_while_a_statement_that_it_was_shown_changes_or_goes_is_stale(
    deployment: Deployment, chat: Chat, terminal: Terminal, what: str
) -> None:
    about = f"When is the museum of the {what} town open?"
    known, memories = statement(deployment, about), deployment.client.memories
    chat.go_on.clear()
    answered = asked(deployment, f"{about} Say it at once.")
    submitted = deployment.client.submit("poem", f"{about} {SLOWLY}.", kind="limerick")
    wait_for(lambda: SLOWLY in str(deployment.chat.requests[-1]["messages"][-1]["content"]), 20, "the task to be asked")

    if what == "changed":
        memories.edit(Edit(id=known, answer=TUESDAYS))
    else:
        memories.forget(Forget(ids=(known,)))
    chat.go_on.set()
    journey = deployment.settled(submitted.id)

    assert known in shown(answered)
    assert known in shown(journey)
    assert journey.memory_id is not None
    assert answered.memory_id is not None
    assert (memories.get(journey.memory_id).status, memories.get(answered.memory_id).status) == ("stale", "stale")
    said = f"stored: the memory {str(known)[:8]} was {what} after it was shown, so this answer is stale"
    assert said in " ".join(terminal.run("trace", submitted.id).stdout.split())
    after = asked(deployment, f"{about} Say it again.")
    assert not shown(after) & {journey.memory_id, answered.memory_id}
    assert after.memory_id is not None
    assert memories.get(after.memory_id).status == "active"


def test_a_task_is_not_shown_what_came_of_the_same_task_of_the_same_submitter(deployment: Deployment) -> None:
    prompt = "A limerick about a walrus in a hat"
    first = asked(deployment, prompt, submitter="ada")

    again = asked(deployment, f"  {prompt.upper()} ", submitter="ada")
    like_it = asked(deployment, f"{prompt} and a scarf", submitter="ada")
    of_another = asked(deployment, prompt, submitter="ben")

    assert first.memory_id is not None
    assert first.memory_id not in shown(again)
    assert first.memory_id in shown(like_it)
    assert first.memory_id in shown(of_another)
