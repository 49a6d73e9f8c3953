"""Traces of real workers: one for each journey, over all its hops, whatever happens on the way."""

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from celery import Celery

from memshare_broker.app import kombu_url
from memshare_broker.observe.tracing import CONTENT
from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder import BUNDLED
from tests.flow.test_metrics import grade
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, ended, wait_for
from tests.support.otlp_server import Event, OtlpServer, Span, receiving
from tests.support.qdrant_server import emptied

QUEUES = (("poem",), ("scorer",), ("memory",), ("trainer",))
SECRET = "hunter2-hunter2"
CLIENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PROMPT = "A limerick about a {} in the fog"


class Model:
    """Answers and grades well; it can be made to fail, or to wait, at one call of an agent."""

    def __init__(self) -> None:
        self.fails = threading.Event()
        self.waits = threading.Event()
        self.asked = threading.Event()

    def __call__(self, body: dict) -> Answer:
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            graded = any("high" in json.dumps(node) for node in schema.get("$defs", {}).values())
            return Answer(text=grade(body, 90)) if graded else Answer()
        if self.fails.is_set():
            self.fails.clear()
            return Answer(status=500, text="out of order, and the key is sk-abcdefgh12345678")
        if self.waits.is_set():
            self.waits.clear()
            self.asked.set()
            return Answer(delay=60)
        return Answer()


@pytest.fixture
def pool() -> str:
    """The pool of the workers; a test may ask for others."""
    return "threads"


@pytest.fixture
def content() -> str:
    """Where workers are to tell texts; a test may ask for another."""
    return ""


@pytest.fixture
def receiver() -> Iterator[OtlpServer]:
    with receiving() as server:
        yield server


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def deployment(
    pool: str, content: str, model: Model, receiver: OtlpServer, redis_folder: Path, tmp_path: Path
) -> Iterator[Deployment]:
    empty(redis_folder)
    traced = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "OTEL_BLRP_SCHEDULE_DELAY": "200",
        CONTENT: content,
    }
    with serving(model) as chat, emptied() as qdrant_url:
        settings = Settings(data=redis_folder, model="openai:scripted", qdrant_url=qdrant_url)
        with deployed(settings, chat, tmp_path, [], **traced) as running:
            for queues in QUEUES:
                running.start(queues, *(("-P", pool, "-c", "2") if queues in (("poem",), ("scorer",)) else ()))
            running.wait_until_ready()
            yield running


def spans_of(receiver: OtlpServer, task_id: str) -> list[Span]:
    return [span for span in receiver.spans if span.trace == UUID(task_id).hex]


def named(receiver: OtlpServer, task_id: str, *names: str) -> dict[str, Span]:
    """The spans of a journey by name, once these are all there."""
    wait_for(lambda: {one.name for one in spans_of(receiver, task_id)} >= set(names), 30, f"spans named {names}")
    return {span.name: span for span in spans_of(receiver, task_id)}


def evaluations(told: Iterable[Event]) -> dict[object, object]:
    """The values of what was evaluated, by name."""
    each = [one.attributes for one in told if one.name == "gen_ai.evaluation.result"]
    return {one["gen_ai.evaluation.name"]: one["gen_ai.evaluation.score.value"] for one in each}


@pytest.mark.parametrize(("pool", "content"), [("threads", ""), ("prefork", "span_only")])
def test_a_journey_is_one_trace_over_all_its_hops(
    deployment: Deployment, receiver: OtlpServer, model: Model, content: str
) -> None:
    for thing in ("lamp", "harp", "boat"):  # a lesson takes memories to compare with
        sent = deployment.client.submit("poem", f"{PROMPT.format(thing)}, token={SECRET}", kind="limerick")
        deployment.settled(sent.id)

    encoding = f"embeddings {BUNDLED}"
    hops = ("invoke_agent poem", "answer poem", "score", "settle", "learn", "retrieval poem", encoding, "chat scripted")
    found = named(receiver, sent.id, *hops)

    root = found["invoke_agent poem"]
    assert (root.parent, root.kind) == ("", "INTERNAL")
    assert {found[name].parent for name in ("answer poem", "score", "settle", "learn")} == {root.id}
    retrieval = found["retrieval poem"]
    assert retrieval.parent == found["answer poem"].id
    assert {one.kind for name, one in found.items() if name.startswith(("retr", "embe", "chat"))} == {"CLIENT"}
    encoded = [one for one in spans_of(receiver, sent.id) if one.name == encoding and one.parent == retrieval.id]
    assert [one.attributes["gen_ai.embeddings.dimension.count"] for one in encoded] == [384]
    askers = {found[name].id for name in ("answer poem", "score", "learn")}
    assert {one.parent for one in spans_of(receiver, sent.id) if one.name == "chat scripted"} == askers
    assert root.started <= found["answer poem"].started <= root.ended <= found["settle"].ended
    assert root.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert root.attributes["gen_ai.agent.name"] == "poem"
    assert (root.attributes["gen_ai.provider.name"], root.attributes["gen_ai.request.model"]) == ("openai", "scripted")
    assert root.attributes["gen_ai.usage.output_tokens"] > 0
    documents = json.loads(retrieval.attributes["gen_ai.retrieval.documents"])
    shown = {one["id"]: one["similarity"] for one in sent.get(timeout=60)["memories"]}
    assert {one["id"]: one["score"] for one in documents} == shown
    assert len(shown) == 2

    journey = deployment.client.journey(sent.id)
    graded = evaluations(found["score"].events)
    assert graded == {"poem": 90, **dict.fromkeys(journey.score.criteria, pytest.approx(90))}
    assert found["score"].attributes["memshare.score"] == 90
    wait_for(lambda: len(receiver.logs) >= 3 * len(graded), 30, "the log records")
    records = [one for one in receiver.logs if one.trace == UUID(sent.id).hex]
    assert evaluations(records) == graded
    assert {one.span for one in records} == {root.id}, "an evaluation is of the answer, not of the scorer"

    texts = [name for name in (*root.attributes, *retrieval.attributes) if name.endswith((".messages", ".text"))]
    assert bool(texts) == bool(content)
    assert {"content" in one for one in documents} == {bool(content)}
    if content:
        assert f"{PROMPT.format('boat')}, token=…" in root.attributes["gen_ai.input.messages"]
        assert "Reply to:" in root.attributes["gen_ai.output.messages"]
    assert SECRET not in repr(receiver.spans) + repr(receiver.logs)

    answer = found["answer poem"].attributes
    assert answer["memshare.client.journey"] == sent.id
    assert (answer["memshare.agent"], answer["memshare.kind"], answer["memshare.outcome"]) == (
        "poem", "limerick", "answered",
    )  # fmt: skip
    assert answer["messaging.destination.name"] == "poem"
    chat = found["chat scripted"].attributes
    assert (chat["gen_ai.request.model"], chat["gen_ai.response.model"]) == ("scripted", "scripted")
    assert chat["gen_ai.response.finish_reasons"] == ["stop"]
    assert chat["gen_ai.usage.output_tokens"] > 0
    assert found["settle"].attributes["memshare.outcome"] == "stored"
    assert [one.failed for one in spans_of(receiver, sent.id) if one.failed is not None] == []
    # Every span belongs to one of the three journeys.
    assert len({span.trace for span in receiver.spans}) == 3

    model.fails.set()
    retried = deployment.client.submit("poem", PROMPT.format("bell"), kind="limerick")
    deployment.settled(retried.id)
    named(receiver, retried.id, "invoke_agent poem", "score", "settle")
    runs = sorted((one for one in spans_of(receiver, retried.id) if one.name == "answer poem"), key=lambda s: s.started)
    assert [one.failed is None for one in runs] == [False, True]
    assert "out of order" in runs[0].failed
    assert "sk-abc" not in runs[0].failed
    assert runs[0].attributes["error.type"] == "server error"


def test_a_redelivered_task_stays_in_its_trace_and_links_the_one_of_its_client(
    deployment: Deployment, receiver: OtlpServer, model: Model
) -> None:
    app = Celery(broker=kombu_url(deployment.settings.redis), backend=kombu_url(deployment.settings.redis))
    model.waits.set()
    sent = app.send_task(
        "agents.poem", [{"prompt": PROMPT.format("lamp")}], queue="poem", headers={"traceparent": CLIENT}
    )
    assert model.asked.wait(30)
    killed = deployment.processes.pop(("poem",))
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    deployment.start(("poem",))
    deployment.settled(sent.id, within=120)

    named(receiver, sent.id, "invoke_agent poem", "answer poem", "score", "settle")
    assert Counter(one.name for one in spans_of(receiver, sent.id))["invoke_agent poem"] == 1
    assert {span.trace for span in receiver.spans} == {UUID(sent.id).hex}
    sent.forget()
    app.close()


def test_what_is_asked_of_serve_is_in_the_trace_of_who_asks(
    receiver: OtlpServer, redis_folder: Path, tmp_path: Path
) -> None:
    own = {"MEMSHARE_DATA": str(redis_folder), "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
    said = tmp_path / "serve.log"
    with said.open("wb") as file:
        command = [sys.executable, "-m", "memshare", "serve", "--port", "0", "--json"]
        serve = subprocess.Popen(command, env=prepared_python.environment() | own, stdout=file, stderr=file)
    try:
        url = json.loads(wait_for(lambda: said.read_bytes().endswith(b"\n") and said.read_text(), 60, "serve"))["url"]
        for path in ("/v1/agents", "/v1/memories/00000000-0000-0000-0000-000000000001"):
            httpx2.get(url + path, headers={"traceparent": CLIENT})
    finally:
        serve.terminate()
        ended(serve)

    found = {span.name: span for span in receiver.spans}
    assert {"GET /v1/agents", "GET /v1/memories/{memory_id}"} <= set(found)
    _, trace, asker, _ = CLIENT.split("-")
    assert {(span.trace, span.parent) for span in found.values()} == {(trace, asker)}
    assert found["GET /v1/agents"].attributes["http.response.status_code"] == 200
