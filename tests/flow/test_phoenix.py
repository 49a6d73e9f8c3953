"""A real collector: Phoenix is sent a journey of a real deployment, and shows it with its grade."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare_broker.observe.tracing import CONTENT
from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder import BUNDLED
from tests.flow.test_traces import PROMPT, QUEUES, Model
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, wait_for
from tests.support.phoenix_server import MISSING, PROGRAM, Phoenix, phoenix
from tests.support.qdrant_server import emptied

pytestmark = [pytest.mark.skipif(PROGRAM is None, reason=MISSING), pytest.mark.timeout(900)]

KINDS = {"invoke_agent poem": "agent", "chat scripted": "llm", "retrieval poem": "retriever"} | {
    f"embeddings {BUNDLED}": "embedding"
}


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Phoenix]:
    with phoenix(tmp_path) as running:
        yield running


@pytest.fixture
def deployment(collector: Phoenix, redis_folder: Path, tmp_path: Path) -> Iterator[Deployment]:
    empty(redis_folder)
    traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200", CONTENT: "span_only"}
    with serving(Model()) as chat, emptied() as qdrant_url:
        settings = Settings(data=redis_folder, model="openai:scripted", qdrant_url=qdrant_url)
        with deployed(settings, chat, tmp_path, QUEUES, **traced) as running:
            yield running


def test_phoenix_shows_a_journey_with_its_grade(deployment: Deployment, collector: Phoenix) -> None:
    for thing in ("lamp", "harp"):
        sent = deployment.client.submit("poem", PROMPT.format(thing), kind="limerick")
        deployment.settled(sent.id, within=60)
    answer = sent.get(timeout=60)

    def all_there() -> dict[str, dict[str, Any]] | None:
        found = {one["name"]: one for one in collector.spans(UUID(sent.id).hex)}
        return found if found.keys() >= {*KINDS, "score", "settle"} else None

    shown = wait_for(all_there, 60, "the journey in Phoenix")

    print(json.dumps(shown, indent=1))  # `pytest -s` shows what Phoenix has
    assert {name: shown[name]["spanKind"] for name in KINDS} == KINDS
    root = shown["invoke_agent poem"]
    assert root["parentId"] is None
    assert {shown[name]["parentId"] for name in ("answer poem", "score", "settle")} == {root["spanId"]}
    told = json.loads(root["attributes"])
    assert told["llm"]["output_messages"][0]["message"]["content"] == answer["answer"]
    [memory] = json.loads(shown["retrieval poem"]["attributes"])["retrieval"]["documents"]
    assert memory["document"]["id"] == str(answer["memories"][0]["id"])
    assert root["tokenCountTotal"] in (0, None), "Phoenix counts tokens at calls, and none twice"

    # Its grade: events of the scorer's span, and an attribute to filter by. Phoenix makes no annotations of them.
    graded = {one["attributes"]["gen_ai.evaluation.name"]: one["attributes"] for one in shown["score"]["events"]}
    assert {one["name"] for one in shown["score"]["events"]} == {"gen_ai.evaluation.result"}
    assert graded["poem"]["gen_ai.evaluation.score.value"] == 90
    assert graded["poem"]["gen_ai.evaluation.score.label"] == "accepted"
    assert len(graded) > 1
    assert json.loads(shown["score"]["attributes"])["memshare"]["score"] == 90
    assert [one for span in shown.values() for one in span["spanAnnotations"]] == []
