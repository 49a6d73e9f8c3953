"""Agents of others share in the pool over REST and by plain Celery, on real workers and a real `memshare serve`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from celery import Celery

from memshare.broker.app import kombu_url
from memshare.broker.connection import connect
from memshare.broker.errors import BadInput
from memshare.broker.settings import Settings
from memshare.memory_service.stores.store import Where
from memshare.serve.tokens import TOKENS, Tokens
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, wait_for

QUEUES = ("logic", "scorer", "memory", "trainer")
BAD = "I do not know"


def model(body: dict) -> Answer:
    """Good grades for every answer but a bad one."""
    if "response_format" not in body or BAD not in json.dumps(body["messages"]):
        return Answer()
    schema = body["response_format"]["json_schema"]["schema"]
    return Answer(text=json.dumps({name: {"low": 0, "high": 0} for name in schema["properties"]}))


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with connect(Settings(data=redis_folder).redis) as client:
        client.flushall()
    with serving(model) as chat:
        settings = Settings(data=redis_folder, model="openai:scripted")
        with deployed(settings, chat, tmp_path_factory.mktemp("logs"), [QUEUES]) as running:
            yield running


class Door:
    """A `memshare serve` of its own."""

    def __init__(self, deployment: Deployment, *options: str) -> None:
        log = (deployment.logs / "serve.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "memshare", "serve", "--port", "0", "--json", *options],
                cwd=ROOT, env=deployment.environment, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (deployment.logs / "serve.log").read_text()
        self.url: str = json.loads(line)["url"]
        wait_for(self._answers, 30, "serve to answer")

    def _answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/openapi.json").status_code == 200
        except httpx2.ConnectError:
            return False

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._reap()

    def end(self) -> None:
        self.process.terminate()
        self._reap()

    def _reap(self) -> None:
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def served(deployment: Deployment, *options: str) -> Iterator[Door]:
    door = Door(deployment, *options)
    try:
        yield door
    finally:
        if door.process.poll() is None:
            door.end()


@pytest.fixture(scope="module")
def door(deployment: Deployment) -> Iterator[Door]:
    with served(deployment) as one:
        yield one


@pytest.fixture(scope="module")
def tokens(deployment: Deployment) -> dict[str, str]:
    """The tokens of two people who share the pool `logic`."""
    with connect(deployment.settings.redis) as client:
        may = ("recall", "offer", "submit")
        return {name: Tokens(client).create(name, may, ("logic",)) for name in ("ada", "bea")}


def asking(door: Door, token: str) -> httpx2.Client:
    return httpx2.Client(base_url=door.url, headers={"Authorization": f"Bearer {token}"}, timeout=60)


@pytest.fixture
def ada(door: Door, tokens: dict[str, str]) -> Iterator[httpx2.Client]:
    with asking(door, tokens["ada"]) as client:
        yield client


@pytest.fixture
def bea(door: Door, tokens: dict[str, str]) -> Iterator[httpx2.Client]:
    with asking(door, tokens["bea"]) as client:
        yield client


def recalled(client: httpx2.Client, prompt: str, **more: object) -> dict:
    return client.post("/v1/recall", json={"agent": "logic", "prompt": prompt, **more}).raise_for_status().json()


def offered(client: httpx2.Client, prompt: str, answer: str, **more: object) -> dict:
    """The journey of a pair, at its end."""
    pair = {"agent": "logic", "kind": "riddle", "prompt": prompt, "answer": answer, **more}
    accepted = client.post("/v1/pairs", json=pair).raise_for_status().json()
    journey = client.get(accepted["journey"], params={"wait": 30}).raise_for_status().json()
    assert journey["ended"], journey
    return journey


def test_three_calls_share_a_good_answer_and_credit_what_helped(
    ada: httpx2.Client, bea: httpx2.Client, deployment: Deployment
) -> None:
    first = offered(ada, "A riddle about an astrolabe in the fog", "A brass sky in a hand.", model="adas-own")
    assert (first["outcome"], first["submitter"]) == ("stored", "ada")
    bad = offered(ada, "A riddle about an astrolabe in the rain", BAD)
    assert bad["outcome"] == "rejected"

    found = recalled(bea, "A riddle about an astrolabe in the snow", format="messages")

    shown = [one["id"] for one in found["memories"]]
    assert shown == [first["memory_id"]]
    assert found["messages"][-1] == {"role": "assistant", "content": "A brass sky in a hand."}
    second = offered(bea, "A riddle about an astrolabe in the snow", "A star in a glove.", recall_id=found["recall_id"])
    told = bea.post("/v1/feedback", json={"journey": second["id"], "reward": 1.0}).raise_for_status().json()
    assert told["taken"] == shown

    def credited_twice() -> bool:
        again = recalled(ada, "A riddle about an astrolabe in the fog")["memories"]
        return any(one["id"] == shown[0] and one["credits"] == 2 for one in again)

    wait_for(credited_twice, 30, "the credits of the score and of the outcome")
    memory = deployment.client.memories.get(UUID(first["memory_id"]))
    assert (memory.model, memory.task_id) == ("adas-own", first["id"])
    assert [voucher.submitter for voucher in memory.vouchers] == ["bea"]
    assert bea.get(f"/v1/journeys/{second['id']}").json()["feedback"] == {shown[0]: 1.0}


def test_memshares_own_agent_is_shown_what_others_offered(ada: httpx2.Client, bea: httpx2.Client) -> None:
    mine = offered(ada, "A riddle about a sextant on the quay", "An angle that drinks the sun.")

    task = bea.post("/v1/tasks", json={"agent": "logic", "prompt": "A riddle about a sextant on the ice"}).json()
    journey = bea.get(task["journey"], params={"wait": 30}).json()

    assert journey["state"] == "settled"
    assert mine["memory_id"] in [one["id"] for one in journey["memories"]]
    assert journey["submitter"] == "bea"
    assert ada.get(task["journey"]).status_code == 404


def test_the_events_of_a_journey_come_as_they_happen(ada: httpx2.Client) -> None:
    pair = {"agent": "logic", "prompt": "A riddle about a bell buoy", "answer": "It rings for no meal."}
    accepted = ada.post("/v1/pairs", json=pair).json()

    with ada.stream("GET", accepted["journey"] + "/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = list(response.iter_lines())

    states = [line.partition(": ")[2] for line in lines if line.startswith("event:")]
    last = json.loads([line for line in lines if line.startswith("data:")][-1].partition(": ")[2])
    assert states[-1] == "settled"
    assert set(states) <= {"queued", "graded", "settled"}
    assert last["outcome"] == "stored"


def test_what_two_clients_offer_at_once_is_stored_once(
    ada: httpx2.Client, bea: httpx2.Client, deployment: Deployment
) -> None:
    prompt, answer = "A riddle about a lead line", "It knows how deep it is."

    with ThreadPoolExecutor(8) as everybody:
        journeys = list(everybody.map(lambda who: offered(who, prompt, answer), [ada, bea] * 6))

    outcomes = [one["outcome"] for one in journeys]
    assert sorted(outcomes) == ["duplicate"] * 11 + ["stored"]
    assert len({one["memory_id"] for one in journeys}) == 1
    assert [one.answer for one in deployment.client.memories.every(Where(pool="logic"))].count(answer) == 1


@pytest.fixture
def celery(deployment: Deployment) -> Celery:
    """A client that knows Celery alone."""
    url = kombu_url(deployment.settings.redis)
    return Celery(broker=url, backend=url, set_as_current=False)


def test_plain_celery_recalls_and_offers(celery: Celery, deployment: Deployment, ada: httpx2.Client) -> None:
    known = offered(ada, "A riddle about a foghorn in spring", "A cow that has no field.")
    asked = celery.send_task(
        "memory_service.recall", [{"pool": "logic", "text": "A riddle about a foghorn in May", "k": 1}], queue="memory"
    )
    [found] = asked.get(timeout=30)["found"]
    assert found["memory"]["id"] == known["memory_id"]

    pair = {
        "agent": "logic", "pool": "logic", "rubric": "logic", "kind": "riddle", "submitter": "cron",
        "prompt": "A riddle about a foghorn in May", "answer": "It calls and nobody comes.",
        "shown": [{"id": found["memory"]["id"], "similarity": found["similarity"]}],
    }  # fmt: skip
    sent = celery.send_task("scorer.offer", [pair], queue="scorer")

    def journey() -> str | None:
        try:
            return deployment.client.journey(sent.id).outcome
        except BadInput:  # nobody has taken it yet
            return None

    assert wait_for(journey, 30, "the pair to be settled") == "stored"
    whole = deployment.client.journey(sent.id)
    assert (whole.submitter, whole.answer) == ("cron", "It calls and nobody comes.")
    assert [str(one.id) for one in whole.memories] == [known["memory_id"]]


def test_a_pair_from_outside_cannot_take_the_id_of_anothers_journey(
    celery: Celery, deployment: Deployment, ada: httpx2.Client
) -> None:
    mine = offered(ada, "A riddle about a capstan", "Many walk and none arrives.")
    pair = {"agent": "logic", "pool": "logic", "rubric": "logic", "prompt": "x", "answer": BAD, "submitter": "ada"}
    count = len(deployment.client.dead_letters.all())

    celery.send_task("scorer.offer", [pair], queue="scorer", task_id=mine["id"])
    celery.send_task("scorer.score", [{**pair, "journey": mine["id"], "shown": []}], queue="scorer")

    wait_for(lambda: len(deployment.client.dead_letters.all()) == count + 2, 30, "both to be refused")
    now = ada.get(f"/v1/journeys/{mine['id']}").json()
    assert {**now, "lesson": None} == {**mine, "lesson": None}


def test_a_serve_that_is_killed_under_load_loses_no_pair_that_it_accepted(
    deployment: Deployment, tokens: dict[str, str]
) -> None:
    accepted: dict[str, str] = {}
    enough, over = threading.Event(), threading.Event()

    def load(door: Door, worker: int) -> None:
        with asking(door, tokens["ada"]) as client:
            for number in range(1_000):
                key = f"load-{worker}-{number}"
                pair = {"agent": "logic", "prompt": f"Knot {key}", "answer": f"Rope {key}", "idempotency_key": key}
                try:
                    response = client.post("/v1/pairs", json=pair)
                except httpx2.TransportError:
                    return
                assert response.status_code == 202, response.text
                accepted[key] = response.json()["id"]
                if len(accepted) >= 60:
                    enough.set()
                if over.is_set():
                    return

    with served(deployment) as door, ThreadPoolExecutor(8) as pool:
        loads = [pool.submit(load, door, worker) for worker in range(8)]
        assert enough.wait(60)
        door.kill()
        over.set()
        for one in loads:
            one.result()

    ended = {key: deployment.client.wait(one, 120) for key, one in accepted.items()}
    assert {one.state for one in ended.values()} == {"settled"}
    with served(deployment) as door, asking(door, tokens["ada"]) as client:
        key, one = next(iter(accepted.items()))
        pair = {"agent": "logic", "prompt": f"Knot {key}", "answer": f"Rope {key}", "idempotency_key": key}
        assert client.post("/v1/pairs", json=pair).json()["id"] == one


def test_serve_asks_for_a_token_wherever_it_is_asked_from(door: Door) -> None:
    assert httpx2.get(f"{door.url}/v1/stats").status_code == 401
    assert httpx2.get(f"{door.url}/v1/stats", headers={"Authorization": "Bearer msh_ada_0"}).status_code == 401


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root can ask as somebody else")
def test_another_user_of_the_machine_is_not_served_without_a_token(deployment: Deployment, door: Door) -> None:
    ask = (
        "import encodings.idna, os, sys, urllib.request as web; os.setuid(int(sys.argv[1]));"
        "web.urlopen(sys.argv[2] + '/v1/stats')"
    )

    def asked(user: int) -> str:
        command = [sys.executable, "-c", ask, str(user), door.url]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    with connect(deployment.settings.redis) as client:
        kept = client.hgetall(TOKENS)
        client.delete(TOKENS)
        try:
            assert asked(0) == ""
            assert "HTTP Error 401" in asked(65_534)
        finally:
            client.hset(TOKENS, mapping=kept)
