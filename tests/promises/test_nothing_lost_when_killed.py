"""A worker is killed in the middle of a task."""

import json
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis

from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from memshare_memory.stores.store import Where
from tests.faults.model import Model
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import deployed, wait_for
from tests.support.shelf import RESPOND, answered, coordinate, judged, planned
from tests.support.sub_questions import agents_with_sub_questions

QUEUES = ("poem", "scorer", "memory")


@pytest.mark.usefixtures("redis_client")
def test_what_a_killed_worker_was_doing_is_done_by_the_next_one_and_once(
    redis_folder: Path, tmp_path: Path, redis_client: redis.Redis
) -> None:
    delay = 60.0
    settings = Settings(data=redis_folder, model="openai:scripted")
    with (
        serving(lambda _: Answer(delay=delay)) as chat,
        deployed(settings, chat, tmp_path, [QUEUES], MEMSHARE_LEARN="false") as deployment,
    ):
        tasks = [deployment.client.submit("poem", f"A limerick about kill -9, number {n}") for n in range(5)]
        wait_for(lambda: len(chat.requests) == 5, 30, "the model to be asked")

        worker = deployment.processes.pop(QUEUES)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        delay = 0.0
        deployment.start(QUEUES)

        journeys = [deployment.settled(task.id, within=120) for task in tasks]
        assert [journey.outcome for journey in journeys] == ["stored"] * 5
        assert deployment.client.memories.stats().by_pool["poem"] >= 5
        ledger = deployment.client.ledger
        wait_for(lambda: not any(ledger.open_messages().values()), 30, "every message to end")
        done = ledger.done()
        assert {stage: done[stage] for stage in ("answer", "score", "settle")} == {"answer": 5, "score": 5, "settle": 5}
        assert redis_client.hlen("memshare:lives") == 0


@pytest.mark.usefixtures("redis_client")
def test_every_memory_is_named_and_compared_once_though_the_worker_that_does_both_is_killed(
    redis_folder: Path, tmp_path: Path
) -> None:
    model = Model()
    model.latency = 60.0
    settings = Settings(data=redis_folder, model="openai:scripted")
    workers, more = [("memory",), ("concepts", "scorer")], {"MEMSHARE_CONCEPTS": "true", "MEMSHARE_CONCEPTS_WAIT": "20"}
    with serving(model) as chat, deployed(settings, chat, tmp_path, workers, **more) as deployment:

        def calls(about: str) -> int:
            return sum(f'"{about}"' in request["messages"][-1]["content"] for request in chat.requests)

        facts = [f"The museum of the town has {number} rooms." for number in range(21)]
        ids = deployment.client.memories.add([NewMemory(pool="facts", answer=one, new_pool=True) for one in facts])
        wait_for(lambda: (calls("memories"), calls("pairs")) == (2, 2), 30, "the model to be asked about ten at a time")
        comparisons = deployment.client.ledger.open_messages()["scorer"]

        worker = deployment.processes.pop(("concepts", "scorer"))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        model.latency = 0.0
        deployment.start(("concepts", "scorer"))

        ledger = deployment.client.ledger
        wait_for(lambda: not any(ledger.open_messages().values()), 120, "all to be named and compared")
        assert all(memory.concepts for memory in deployment.client.memories.page(Where(ids=ids)).memories)
        done = ledger.done()
        assert (done["extract"], done["concepts"]) == (21, 21)
        assert done["compare"] == comparisons > 2 * 9
        for about in ("memories", "pairs"):  # nobody saw what was said of the first, and many share a call again
            assert calls(about) <= 2 + 10
        assert deployment.client.memories.stats().by_pool["facts"] == 21


@pytest.mark.usefixtures("redis_client")
def test_every_sub_question_is_one_memory_though_the_worker_that_grades_and_settles_it_is_killed(
    redis_folder: Path, tmp_path: Path
) -> None:
    delay = 60.0
    held = []

    def model(body: dict[str, Any]) -> Answer:
        """Makes one sub-question of each question; the grades of sub-questions are slow."""
        told = json.loads(body["messages"][-1]["content"])
        match body["response_format"]["json_schema"]["name"]:
            case "Plan" if "part_of" in told:
                reply: Any = planned(RESPOND)
            case "Plan":
                reply = planned(coordinate(f"A part of {told['question']}"), RESPOND)
            case "Response":
                reply = answered(f"An answer to {told['question']}")
            case "AnswerJudgement":
                reply = judged(True)
            case "Ranges" if told["prompt"].startswith("A part of"):
                held.append(told["prompt"])
                return Answer(delay=delay)
            case _:
                return Answer()
        return Answer(text=json.dumps(reply))

    settings = Settings(data=redis_folder, model="openai:scripted")
    workers = [("reasoning",), ("scorer", "memory")]
    agents = agents_with_sub_questions(tmp_path / "agents", 2)
    more = {"MEMSHARE_AGENTS_DIR": str(agents), "MEMSHARE_LEARN": "false"}
    with serving(model) as chat, deployed(settings, chat, tmp_path, workers, **more) as deployment:
        client = deployment.client
        tasks = [client.submit("reasoning", f"Question {uuid4()}") for _ in range(5)]
        wait_for(lambda: len(held) == 5, 60, "all sub-questions to be with the scorer")

        worker = deployment.processes.pop(("scorer", "memory"))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        delay = 0.0
        deployment.start(("scorer", "memory"))

        wholes = [deployment.settled(task.id, within=120) for task in tasks]
        parts = [str(part) for whole in wholes for part in whole.parts.values()]
        outcomes = [client.wait(part, 120).outcome for part in parts]
        assert outcomes == ["stored"] * 5
        pool = list(client.memories.every(Where(pool="reasoning")))
        by_prompt = {one.prompt: one for one in pool}
        assert len(pool) == len(by_prompt) == 10
        assert all(by_prompt[f"A part of {one.prompt}"].parents == (one.memory_id,) for one in wholes)
        done = client.ledger.done()
        assert {stage: done[stage] for stage in ("answer", "score", "settle")} == {
            "answer": 5,
            "score": 10,
            "settle": 10,
        }
