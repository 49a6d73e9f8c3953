"""What anybody may push into a queue, on a worker that serves it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import redis
from celery import Celery

from memshare_broker.app import kombu_url
from memshare_broker.delivery.schema import PARKED, UNACKED, UNACKED_INDEX
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, patient, wait_for
from tests.support.message_shapes import Shape, shapes

SHAPES = 500
GOOD_EACH = 10  # shapes
LATER = 200


@pytest.fixture
def settings(redis_folder: Path) -> Settings:
    return Settings(data=redis_folder, model="openai:scripted")


def test_whatever_lies_in_a_queue_ends_and_the_worker_goes_on(
    settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    hostile = shapes(SHAPES, "poem", "agents.poem")
    assert len(hostile) == SHAPES

    with serving(lambda _: Answer()) as chat, deployed(settings, chat, tmp_path, [["memory"], ["poem"]]) as running:
        process = running.processes[("poem",)]
        good = []
        for number, shape in enumerate(hostile, 1):
            redis_client.lpush("poem", shape.raw)
            if number % GOOD_EACH == 0:
                good.append(running.client.submit("poem", f"after {shape.mark}", priority=0))
        for task in good:
            assert process.poll() is None, running.log(["poem"])
            assert task.get(timeout=60)["answer"]
        wait_for(lambda: not redis_client.hlen(UNACKED), 30, "every message to be struck off")
        assert set(hostile) - ended(running, hostile) == set()
        assert process.poll() is None
        assert not redis_client.exists(UNACKED, UNACKED_INDEX)
        asked, kept = answered(running), dead(running)
        assert len(asked) > SHAPES / 10, "some of them are tasks all the same"
        assert len(kept) > SHAPES
        assert len({letter.error for letter in running.client.dead_letters.all()}) > 50, "each says what is wrong"


def ended(running: Deployment, hostile: Sequence[Shape]) -> set[Shape]:
    """The shapes that were answered, are kept as dead letters, were not begun in time, or wait for theirs."""
    ledger, asked, kept = running.client.ledger, answered(running), dead(running)
    return {
        shape
        for shape in hostile
        if shape.mark in asked
        or shape.raw.decode(errors="backslashreplace") in kept
        or any(shape.mark in text for text in kept)
        or {"answer", "cancelled"} & ledger.journey(shape.mark).keys()
        or ledger.parked.why(shape.mark)
    }


def answered(running: Deployment) -> set[str]:
    prompts = [body["messages"][-1]["content"] for body in running.chat.requests]
    return {prompt for prompt in prompts if prompt.startswith("shape-poem-")}


def dead(running: Deployment) -> set[str]:
    """The ids of the dead letters, and what they say."""
    letters = running.client.dead_letters.all()
    return {letter.entry.id for letter in letters} | {str(letter.entry.body) for letter in letters}


@pytest.mark.usefixtures("redis_client")
def test_half_a_character_from_another_client_is_a_dead_letter_and_its_caller_is_told(
    settings: Settings, tmp_path: Path
) -> None:
    other = Celery("other", broker=kombu_url(settings.redis), backend=kombu_url(settings.redis), set_as_current=False)
    with serving(lambda _: Answer()) as chat, deployed(settings, chat, tmp_path, [["poem"]]) as running:
        task = other.send_task("agents.poem", [{"prompt": "half a \ud83d"}], queue="poem")

        with pytest.raises(Exception, match="half a character"):
            task.get(timeout=30)

        (letter,) = running.client.dead_letters.all()
        assert (letter.entry.id, letter.reason) == (task.id, "malformed")
        assert "half a \\\\ud83d" in str(letter.entry.body), "as it came"
    del task
    gc.collect()
    other.close()


def test_many_tasks_for_later_leave_room_for_others_and_run_when_their_time_comes(
    settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    other = Celery("other", broker=kombu_url(settings.redis), set_as_current=False)
    with serving(lambda _: Answer()) as chat, deployed(settings, chat, tmp_path, [["memory"], ["poem"]]) as running:
        ledger = running.client.ledger
        with other.producer_or_acquire() as producer:
            for number in range(LATER):
                countdown = 60 if number % 2 else 3_600
                body = {"prompt": f"later {number}"}
                other.send_task("agents.poem", [body], queue="poem", countdown=countdown, producer=producer)
        assert running.client.submit("poem", "now").get(timeout=60)["answer"]
        wait_for(lambda: len(ledger.parked.all()) == LATER, 60, "all of them to wait beside their queue")
        assert not redis_client.exists(UNACKED), "no worker holds them"

        process = running.processes[("poem",)]
        process.terminate()
        process.wait(patient(60))
        running.start(["poem"])
        running.wait_until_ready()
        assert running.client.submit("poem", "after a restart").get(timeout=60)["answer"]
        assert not any("later" in body["messages"][-1]["content"] for body in chat.requests)

        for one in ledger.parked.all():
            redis_client.zadd(PARKED, {one.id: 0})  # their time has come
        wait_for(lambda: len(asked_later(running)) == LATER, 120, "all of them to be answered")
    other.close()


def asked_later(running: Deployment) -> set[str]:
    prompts = [body["messages"][-1]["content"] for body in running.chat.requests]
    return {prompt for prompt in prompts if prompt.startswith("later ")}


def test_a_worker_whose_consumer_fails_ends_with_a_status_that_says_so(
    settings: Settings, redis_client: redis.Redis
) -> None:
    code = (
        "from memshare_broker import celery_patches\n"
        "def fail(*_):\n"
        "    raise ArithmeticError('a fault of ours')\n"
        "celery_patches.read_envelope = fail\n"
        "from memshare.cli.main import main\n"
        "main()\n"
    )
    environment = os.environ | {"MEMSHARE_DATA": str(settings.data), "MEMSHARE_MODEL": "offline"}
    redis_client.lpush("poem", "anything")

    ended = subprocess.run(
        [sys.executable, "-c", code, "worker", "poem"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert b"a fault of ours" in ended.stderr + ended.stdout
    assert ended.returncode == 1
