"""Clicks on the page, over real workers: an answer is wrong, what it was written from, or what somebody imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from memshare.demo.student_server import comparisons
from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import KNOWLEDGE
from memshare_memory.stores.store import Where
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty
from tests.support.grades import AGREES

QUESTION = "How often do I have to clean a bicycle chain?"
RARELY, OFTEN = "Once a year is enough for any chain.", "Clean it every hundred miles, and after each rain."
FERRY, BY_NOW = (
    "A grown-up is charged 12 euros on the boat to Holm.",
    "A grown-up is charged 14 euros on the boat to Holm.",
)
TOLD = "Take 12 euros with you."
FROM_PAGE = {"origin": "http://127.0.0.1"}


def model(body: dict[str, Any]) -> Answer:
    """Copies the example that says once a year, or says what it was told; grades all well, finds no contradiction."""
    if "response_format" not in body and FERRY in str(body):
        return Answer(text=TOLD)
    if "response_format" not in body:
        examples = [one["content"] for one in body["messages"] if one["role"] == "assistant"]
        return Answer(text=next((one for one in examples if RARELY in one), "I do not know."))
    asked = json.loads(body["messages"][-1]["content"])
    return Answer(text=json.dumps(comparisons(asked, AGREES))) if "pairs" in asked else Answer()


@pytest.fixture
def deployment(redis_folder: Path, tmp_path: Path) -> Iterator[Deployment]:
    settings = Settings(data=redis_folder, model="openai:scripted")
    empty(redis_folder)
    workers, more = [["poem", "scorer", "memory"]], {"MEMSHARE_LEARN": "false"}
    with serving(model) as chat, deployed(settings, chat, tmp_path, workers, **more) as running:
        yield running


@pytest.fixture
def page(deployment: Deployment) -> Iterator[TestClient]:
    with closing(Backend(deployment.settings)) as backend:
        app = rest_app(backend)
        app.state.is_same_user = lambda *_: True  # there is no connection that a kernel would know
        yield TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000))


def recalled(page: TestClient) -> list[str]:
    found = page.post("/v1/recall", json={"pool": "poem", "prompt": QUESTION, "k": 10}).json()["memories"]
    return [one["id"] for one in found]


def asked(deployment: Deployment, prompt: str) -> tuple[str, UUID]:
    journey = deployment.settled(deployment.client.submit("poem", prompt, kind="limerick").id)
    assert journey.answer == RARELY
    assert journey.memory_id is not None
    return journey.task_id, journey.memory_id


def test_what_a_person_says_is_wrong_and_what_was_written_from_it_is_not_in_the_next_recall(
    deployment: Deployment, page: TestClient
) -> None:
    memories = deployment.client.memories
    given = [NewMemory(pool="poem", prompt=QUESTION, answer=one, kind="limerick") for one in (RARELY, OFTEN)]
    wrong, right = memories.add(given)
    journey, first = asked(deployment, "Tell me how often a chain of a bicycle needs cleaning")
    _, second = asked(deployment, "My bicycle's chain: when do I clean it again?")
    assert {str(first), str(second)} <= set(recalled(page))

    page.post(f"/journeys/{journey}/feedback", data={"answer": "wrong"}, headers=FROM_PAGE)

    assert {str(first), str(second)}.isdisjoint(recalled(page))
    assert [memories.get(one).status for one in (first, second)] == ["hidden", "stale"]
    page.post(f"/journeys/{journey}/feedback", data={"answer": "undecided"}, headers=FROM_PAGE)
    assert {str(first), str(second)} <= set(recalled(page))

    decision = {"one": str(right), "other": str(wrong), "decision": "one is right"}
    page.post("/inbox/conflict", data=decision, headers=FROM_PAGE)

    assert recalled(page) == [str(right)]
    assert [memories.get(one).status for one in (first, second)] == ["stale", "stale"]
    page.post("/inbox/conflict", data={**decision, "decision": "undecided"}, headers=FROM_PAGE)
    assert {str(first), str(second)} <= set(recalled(page))


def test_what_was_written_from_a_statement_in_other_words_goes_with_it_and_what_was_only_shown_it_does_not(
    deployment: Deployment, page: TestClient
) -> None:
    memories, prompt = deployment.client.memories, "What is a grown-up charged on the boat to Holm?"
    texts = {prompt: FERRY, f"{prompt} Now?": BY_NOW, f"{prompt} And why?": "The boat to Holm has a blue funnel."}
    given = [NewMemory(pool="poem", prompt=of, answer=one, kind=KNOWLEDGE) for of, one in texts.items()]
    wrong, right, beside = memories.add(given)
    journey = deployment.settled(deployment.client.submit("poem", prompt, kind="limerick").id)
    assert {wrong, beside} <= {one.id for one in journey.memories}
    assert journey.answer == TOLD
    written = {one: [each.answer for each in memories.every(Where(parents=[one]))] for one in (wrong, right, beside)}
    assert written == {wrong: [TOLD], right: [], beside: []}

    said = page.post("/v1/feedback", json={"journey": journey.task_id, "reward": 0.0}).json()
    assert said["taken"] == [str(wrong)]
    page.post("/v1/feedback", json={"journey": journey.task_id, "take_back": True})
    decision = {"one": str(right), "other": str(wrong), "decision": "one is right"}
    page.post("/inbox/conflict", data=decision, headers=FROM_PAGE)

    assert memories.get(UUID(str(journey.memory_id))).status == "stale"
    [again] = memories.add([NewMemory(pool="poem", prompt=prompt.rstrip("?"), answer=FERRY.upper(), kind=KNOWLEDGE)])
    assert page.get(f"/v1/memories/{again}").json()["lost_to"] == [str(right)]


@pytest.mark.parametrize("prompt", [None, QUESTION])
def test_what_was_imported_and_is_called_wrong_is_in_no_recall_and_no_import_until_it_is_shown_again(
    deployment: Deployment, page: TestClient, prompt: str | None
) -> None:
    said = FERRY if prompt is None else RARELY
    asked = prompt or "What is a grown-up charged on the boat to Holm?"
    like = (
        "What does a grown-up pay on the boat to Holm?" if prompt is None else "How often must I clean a bike's chain?"
    )
    texts = [{"answer": said, "prompt": prompt}, {"answer": f"**{said}**", "prompt": like}]
    lines = [json.dumps({"pool": "poem"} | {key: text for key, text in one.items() if text}) for one in texts]

    def imported(*some: str) -> tuple[int, int]:
        reply = page.post("/v1/memories/import", json={"lines": "\n".join(some)}).json()
        return reply["new"], reply["left_out"]

    def shown() -> set[str]:
        found = page.post("/v1/recall", json={"pool": "poem", "prompt": asked, "k": 10}).json()["memories"]
        return {one["id"] for one in found}

    assert imported(*lines) == (2, 0)
    ids = {str(one.id) for one in deployment.client.memories.every(Where(pool="poem"))}
    assert shown() & ids == ids
    [wrong] = [one.id for one in deployment.client.memories.every(Where(pool="poem")) if one.answer == said]

    page.post(f"/memories/{wrong}/wrong", data={"why": "It was so until May."}, headers=FROM_PAGE)

    assert shown() == set()
    assert imported(*lines) == (0, 2)
    assert imported(json.dumps({"pool": "poem", "prompt": asked, "answer": said.upper()})) == (0, 1)
    version = page.get(f"/v1/memories/{wrong}").json()["version"]
    page.post(f"/memories/{wrong}/status", data={"status": "active", "version": version}, headers=FROM_PAGE)
    assert shown() == ids
    assert imported(*lines) == (0, 0)
