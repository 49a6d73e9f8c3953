"""Caps and rate limits on real workers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from celery import Celery
from celery.result import AsyncResult

from memshare_broker.app import kombu_url
from memshare_broker.settings import Settings
from memshare_llm.limits.budget import Budget, Cap, Holder
from memshare_llm.limits.usage import UsageLog
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, wait_for
from tests.support.qdrant_server import emptied

QUEUES = ("poem", "plan", "scorer", "memory")
POEM = Holder("agent", "poem")


def asked(deployment: Deployment, prompt: str) -> int:
    """How often the model was given this task."""
    return sum(body["messages"][-1]["content"] == prompt for body in deployment.chat.requests)


def answered(deployment: Deployment, tasks: Sequence[str]) -> int:
    return sum(deployment.client.journey(task).state == "answered" for task in tasks)


def tokens_of(deployment: Deployment) -> int:
    """The tokens of all calls, as the model's server counts them."""
    return sum(len(turn["content"].split()) for body in deployment.chat.requests for turn in body["messages"])


@pytest.fixture
def settings(redis_folder: Path) -> Settings:
    return Settings(data=redis_folder, model="openai:scripted")


def test_tasks_over_a_cap_wait_while_others_go_on_until_it_is_raised(
    settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    usage = UsageLog(redis_client)
    budget = Budget(redis_client, usage)
    with serving() as chat, deployed(settings, chat, tmp_path, [QUEUES]) as deployment:
        client = deployment.client

        # Given a cap that the first task of an agent uses up.
        first = client.submit("poem", "A limerick about a lighthouse", kind="limerick", submitter="ada")
        deployment.settled(first.id)
        wait_for(lambda: usage.used([("agent", "poem")])[0].calls == 2, 10, "the answer and the grading to be counted")
        used = usage.used([("agent", "poem")])[0]
        assert used.prompt_tokens == tokens_of(deployment)
        budget.set(POEM, Cap(tokens=used.tokens))

        # When more tasks come, they wait, and nobody is asked.
        prompts = [f"A limerick about harbour {number}" for number in range(4)]
        late = [client.submit("poem", prompt, kind="limerick").id for prompt in prompts]
        other = client.submit("plan", "A plan to learn Latin", kind="study", submitter="bob").id
        wait_for(lambda: {one.id for one in client.ledger.parked.all()} >= set(late), 30, "the tasks to wait")
        assert deployment.settled(other).outcome == "stored"
        assert [client.journey(task).state for task in late] == ["queued"] * 4
        assert [asked(deployment, prompt) for prompt in prompts] == [0] * 4
        assert {one.hold for one in client.ledger.parked.all()} == {POEM.hold}
        assert usage.used([("agent", "poem")])[0] == used
        wait_for(lambda: usage.used([("agent", "plan")])[0].calls == 2, 10, "the other agent's calls to be counted")

        # Then they end once it is raised, each asked once, and no try is counted.
        budget.set(POEM, Cap(tokens=10**6))
        assert client.ledger.parked.lift(POEM.hold) == 4
        assert {deployment.settled(task).state for task in late} == {"settled"}
        assert [asked(deployment, prompt) for prompt in prompts] == [1] * 4
        assert client.ledger.failed() == {}
        assert client.ledger.parked.all() == []

        # And a message that comes again is not counted again.
        wait_for(lambda: usage.today()["model"]["openai:scripted"].calls == len(chat.requests), 10, "all to be counted")
        again(deployment, prompt := f"A riddle about {uuid4()}", times=3)
        wait_for(lambda: usage.today()["model"]["openai:scripted"].calls >= len(chat.requests), 10, "all to be counted")
        assert asked(deployment, prompt) == 1
        assert usage.today()["model"]["openai:scripted"].calls == len(chat.requests)


def again(deployment: Deployment, prompt: str, times: int) -> None:
    """Send the same message several times, each when the one before has ended."""
    url, task_id = kombu_url(deployment.settings.redis), str(uuid4())
    app = Celery("somebody-else", broker=url, backend=url, set_as_current=False)
    for _ in range(times):
        app.send_task("agents.plan", [{"prompt": prompt}], queue="plan", task_id=task_id)
        assert AsyncResult(task_id, app=app).get(timeout=30)
        deployment.settled(task_id)
        app.backend.forget(task_id)


def test_a_rate_limit_of_all_workers_makes_tasks_wait_and_none_fails(
    redis_folder: Path, redis_client: redis.Redis, tmp_path: Path
) -> None:
    limit = "openai:scripted=6 requests"
    workers = [("poem",), ("plan",), ("memory",)]
    with emptied() as qdrant_url, serving() as chat, contextlib.ExitStack() as running:
        settings = Settings(data=redis_folder, model="openai:scripted", qdrant_url=qdrant_url)
        deployment = running.enter_context(deployed(settings, chat, tmp_path, workers, MEMSHARE_RATE_LIMITS=limit))
        client = deployment.client
        tasks = [client.submit(agent, f"Task {number}").id for number in range(5) for agent in ("poem", "plan")]

        wait_for(lambda: len(client.ledger.parked.all()) + answered(deployment, tasks) == 10, 60, "all of them")

        assert answered(deployment, tasks) == len(chat.requests) == 6
        assert {one.hold for one in client.ledger.parked.all()} == {"rate openai:scripted"}
        assert client.ledger.failed() == {}
        assert client.dead_letters.all() == []
        # The same wait, cut short: what the window took is forgotten, as a minute later.
        for key in redis_client.scan_iter("memshare:rate*"):
            redis_client.delete(key)
        assert client.ledger.parked.lift("rate openai:scripted") == 4
        wait_for(lambda: answered(deployment, tasks) == 10, 30, "every task to end")
        assert len(chat.requests) == 10
