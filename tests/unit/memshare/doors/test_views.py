"""Who says what: all answers of a pool to one question, with who holds each and how it fared."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare_broker.wire.lessons import Compared
from memshare_broker.wire.messages import Usage
from memshare_memory.belief.bandit import Arms, Credit, in_general
from memshare_memory.belief.lift import LiftSums, TaskGroup
from memshare_memory.contradictions import Conflicts
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory, memory_id
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import text_of

QUESTION, POOL = "When is the museum closed?", "logic"


def kept(memory: MemoryClient, prompt: str | None, answer: str, submitter: str, **more: Any) -> UUID:
    pool = more.pop("pool", POOL)
    fields = {"id": memory_id(pool, prompt, answer), "created": 1.0, "submitter": submitter, **more}
    return memory.restore([Memory(pool=pool, prompt=prompt, answer=answer, **fields)])[0]


def contradict(client: redis.Redis, one: UUID, other: UUID) -> None:
    compared = Compared(memory_id=one, contradicted={other: "Two days."}, compared=1, model="scripted", usage=Usage())
    Conflicts(client).note(POOL, compared, [other])


@pytest.fixture
def ids(memory: MemoryClient, redis_client: redis.Redis) -> dict[str, UUID]:
    """Three answers to one question, two of which agree; one that contradicts one of them; and others."""
    found = {
        "monday": kept(memory, QUESTION, "On Mondays.", "ada", score=90.0, source="guide.pdf"),
        "same": kept(memory, "When is the museum closed", "on  mondays", "bea", score=70.0, created=2.0),
        "tuesday": kept(memory, QUESTION, "On Tuesdays.", "cy", created=3.0),
        "hidden": kept(memory, QUESTION, "Never.", "dan", created=4.0, status="hidden"),
        "rival": kept(memory, None, "The town hall shuts at noon each Sunday.", "eve", created=5.0),
        "other": kept(memory, "How high is the tower?", "Ten metres.", "fay"),
        "foreign": kept(memory, QUESTION, "On Fridays.", "gil", pool="poem"),
    }
    contradict(redis_client, found["tuesday"], found["monday"])
    contradict(redis_client, found["rival"], found["tuesday"])
    return found


def views(client: TestClient, **asked: object) -> list[dict[str, Any]]:
    response = client.post("/v1/views", json={name: str(what) for name, what in asked.items()})
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["views"]
    return found


def test_the_answers_to_a_question_are_told_with_who_holds_them(here: TestClient, ids: dict[str, UUID]) -> None:
    monday, tuesday, rival, hidden = views(here, pool=POOL, question=QUESTION)

    assert monday["held_by"] == {"ada": 1, "bea": 1}
    assert monday["memories"] == [str(ids["monday"]), str(ids["same"])]
    assert (monday["score"], monday["sources"], monday["since"]) == (80.0, ["guide.pdf"], 1.0)
    assert [one["answer"] for one in (tuesday, hidden)] == ["On Tuesdays.", "Never."]
    assert (hidden["status"], monday["status"]) == ("hidden", "active")
    assert rival["memories"] == [str(ids["rival"])], "its text is another, and what it says contradicts Tuesdays"
    assert [one["contradicts"] for one in (monday, tuesday, rival, hidden)] == [[1], [0, 2], [1], []]


def test_those_of_a_memory_are_those_of_its_question(here: TestClient, ids: dict[str, UUID]) -> None:
    assert views(here, memory=ids["hidden"]) == views(here, pool=POOL, question=QUESTION)
    assert [one["answer"] for one in views(here, memory=ids["other"])] == ["Ten metres."]
    assert len(views(here, memory=ids["rival"])) == 3, "by what it contradicts"


def test_how_each_fared_is_told_and_what_a_person_found_right_stands_first(
    here: TestClient, ids: dict[str, UUID], redis_client: redis.Redis
) -> None:
    group = TaskGroup("one withheld", "logic", "", "openai:m")
    for number in range(10):
        for withheld, score in ((False, 80.0), (True, 70.0)):
            LiftSums(redis_client).count(POOL, f"{withheld} {number}", score, group, [ids["same"]], withheld=withheld)
    two = {"memories": [str(ids["tuesday"]), str(ids["monday"])], "contradict": True, "right": str(ids["tuesday"])}
    assert here.post("/v1/conflicts", json=two).status_code == 200

    found = views(here, pool=POOL, question=QUESTION)

    assert [one["right"] for one in found] == [True, None, None, False]
    assert [found[0]["answer"], found[3]["held_by"]] == ["On Tuesdays.", {"bea": 1, "ada": 1}]
    assert (found[3]["lift"]["points"], found[0]["lift"]["points"]) == (10.0, None)


def test_what_a_statement_earned_does_not_put_it_before_a_pair_that_a_person_brought_in(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    told = Memory(
        id=memory_id(POOL, None, "On Sundays."), pool=POOL, prompt=QUESTION, answer="On Sundays.", kind="knowledge",
        task_id="1", created=1.0,
    )  # fmt: skip
    memory.restore([told])
    kept(memory, QUESTION, "On Mondays.", "ada", created=2.0)
    Arms(redis_client).add(POOL, "1", [Credit(told.id, in_general(told), 1.0)])

    assert [one["answer"] for one in views(here, pool=POOL, question=QUESTION)] == ["On Mondays.", "On Sundays."]


def test_nothing_of_a_pool_that_is_not_theirs_is_told(tokened: Tokened, ids: dict[str, UUID]) -> None:
    ada = tokened("ada", "recall")

    assert all("Fridays" not in one["answer"] for one in views(ada, pool=POOL, question=QUESTION))
    assert ada.post("/v1/views", json={"memory": str(ids["foreign"])}).status_code == 404
    assert ada.post("/v1/views", json={"pool": "poem", "question": QUESTION}).status_code == 404
    assert tokened("bea", "offer").post("/v1/views", json={"pool": POOL, "question": QUESTION}).status_code == 403
    assert ada.post("/v1/views", json={"pool": POOL}).status_code == 422, "whose?"


def test_the_page_shows_them_and_a_memory_and_a_contradiction_lead_there(
    here: TestClient, ids: dict[str, UUID]
) -> None:
    link = f"/memories/{ids['monday']}/views"

    page = text_of(here.get(link).text)

    assert "by ada , bea , since" in page
    assert "contradicts 2 · memory" in page
    assert ("On Tuesdays." in page, "Ten metres." in page) == (True, False)
    assert all(f'href="{link}"' in here.get(at).text for at in (f"/memories/{ids['monday']}", "/inbox"))
