"""Memories over HTTP: found, paged through, brought in, changed without losing a change, and forgotten."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_memory.belief.lift import LiftSums, TaskGroup
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.described import DESCRIPTION, OPERATIONS


def added(client: TestClient, answer: str, **more: object) -> dict:
    response = client.post("/v1/memories", json={"pool": "logic", "answer": answer, **more})
    assert response.status_code == 201, response.text
    return response.json()["memory"]


def test_a_memory_is_brought_in_once_in_the_name_of_the_token(tokened: Tokened) -> None:
    ada, bea = tokened("ada", "curate", "recall"), tokened("bea", "curate", "recall")

    with ThreadPoolExecutor(8) as both:
        answers = list(both.map(lambda who: added(who, "A pier has piles.", prompt="What is a pier?"), [ada, bea] * 4))

    assert len({one["id"] for one in answers}) == 1
    page = ada.get("/v1/memories").json()
    assert [one["answer"] for one in page["memories"]] == ["A pier has piles."]
    assert page["memories"][0]["submitter"] in ("ada", "bea")


def test_pages_follow_each_other_to_the_end(here: TestClient) -> None:
    made = {added(here, f"Fact {number}.", new_pool=True)["id"] for number in range(5)}

    seen: list[str] = []
    cursor = None
    while cursor is not None or not seen:
        page = here.get("/v1/memories", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        seen += [one["id"] for one in page["memories"]]
        cursor = page["next"]

    assert len(seen) == 5
    assert set(seen) == made


def test_a_search_finds_the_nearest(here: TestClient, shelf: dict[str, str]) -> None:
    found = here.post("/v1/memories/search", json={"text": "lamp by the sea", "pool": "logic"}).json()

    [one] = found["memories"]
    assert one["memory"]["id"] == shelf["logic"]
    assert one["similarity"] > 0.5


def test_what_is_not_near_enough_is_found_and_said_not_to_be_an_answer(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    assert shelf
    backend.settings = backend.client.settings = backend.settings.model_copy(update={"near_enough": 0.95})

    far, in_words = (
        here.post("/v1/memories/search", json={"text": text, "pool": "logic"}).json()
        for text in ("old lamp by the sea", "LAMP by")
    )
    recalled = here.post("/v1/recall", json={"pool": "logic", "prompt": "old lamp by the sea"}).json()
    page = here.get("/pool", params={"q": "old lamp by the sea", "pool": "logic"}).text

    assert [one["near"] for one in far["memories"]] == [False]
    assert "Nothing near enough (nearest: 0." in far["far"]
    assert recalled["far"] == far["far"]
    assert "not much like this one" in recalled["memories"][0]["why"]
    assert ([one["near"] for one in in_words["memories"]], in_words["far"]) == ([True], "")
    assert "red lamp by the sea" in page[page.index("<summary>Nothing near enough (nearest: 0.") :]
    assert "1 memory less near than 0.95, the limit that MEMSHARE_NEAR_ENOUGH sets" in page


def test_a_search_and_a_page_take_the_same_conditions(here: TestClient, shelf: dict[str, str]) -> None:
    for conditions, found in (({"kind": "riddle", "words": ["LAMP", "light"]}, 1), ({"until": "2020-01-01"}, 0)):
        searched = here.post("/v1/memories/search", json={"text": "lamp", "pool": "logic", **conditions}).json()
        page = here.get("/v1/memories", params={"pool": "logic", **conditions}).json()

        assert [one["memory"]["id"] for one in searched["memories"]] == [shelf["logic"]] * found
        assert [one["id"] for one in page["memories"]] == [shelf["logic"]] * found


def test_of_two_changes_of_one_version_the_second_is_refused(here: TestClient, shelf: dict[str, str]) -> None:
    place = f"/v1/memories/{shelf['logic']}"
    version = here.get(place).headers["etag"]

    def change(answer: str) -> int:
        return here.patch(place, json={"answer": answer}, headers={"If-Match": version}).status_code

    with ThreadPoolExecutor(6) as everybody:
        statuses = sorted(everybody.map(change, [f"Answer {number}." for number in range(6)]))

    assert statuses == [200] + [412] * 5
    now = here.get(place)
    assert len(now.json()["memory"]["history"]) == 1
    assert now.headers["etag"] != version
    assert here.patch(place, json={"answer": "Anew."}, headers={"If-Match": now.headers["etag"]}).status_code == 200


def test_what_the_service_writes_to_a_memory_is_no_change_of_its_version_and_a_refusal_leads_to_it(
    here: TestClient, shelf: dict[str, str], backend: Backend
) -> None:
    place, form = f"/v1/memories/{shelf['logic']}", {"status": "hidden"}
    read = here.get(place).json()
    named = read["memory"] | {"concepts": {"0": ["Lamp"]}, "confirmed": 1.7e9}
    backend.client.memories.restore([Memory.model_validate(named)])

    page = f"/memories/{shelf['logic']}/status"
    hidden = here.post(page, data={**form, "version": read["version"]}, headers={"origin": "http://127.0.0.1"})
    late = here.post(page, data={**form, "version": read["version"]}, headers={"origin": "http://127.0.0.1"})

    assert hidden.status_code == 200
    assert "It is hidden" in hidden.text
    assert late.status_code == 412
    assert f'href="/memories/{shelf["logic"]}">Look at the memory' in late.text


def test_a_memory_is_valid_until_a_day_that_is_given_or_changed(here: TestClient) -> None:
    new = {"pool": "logic", "answer": "The fair is open.", "new_pool": True, "valid_until": "2099-12-31"}
    added = here.post("/v1/memories", json=new)
    memory = added.json()["memory"]
    assert memory["valid_until"] == 4_102_444_799
    place, version = f"/v1/memories/{memory['id']}", {"If-Match": added.json()["version"]}

    changed = here.patch(place, json={"valid_until": 4_000_000_000}, headers=version)

    assert changed.json()["memory"] == memory | {"valid_until": 4_000_000_000}
    assert "Valid until" in here.get(f"/memories/{memory['id']}").text
    version = {"If-Match": changed.json()["version"]}
    refused = here.patch(place, json={"valid_until": "soon"}, headers=version)
    assert (refused.status_code, "such as 2026-12-31" in refused.json()["detail"]) == (422, True)
    exported = {**changed.json()["memory"], "id": str(UUID(int=1)), "why_hidden": "it is old", "confirmed": 5}
    here.post("/v1/memories/import", json={"lines": json.dumps(exported)})
    assert here.get(f"/v1/memories/{UUID(int=1)}").json()["memory"] == exported


def test_a_change_without_a_version_is_refused(here: TestClient, shelf: dict[str, str]) -> None:
    place = f"/v1/memories/{shelf['logic']}"

    refused = here.patch(place, json={"answer": "Anew."})

    assert refused.status_code == 428
    assert "If-Match" in refused.json()["detail"]
    assert here.patch(place, json={}, headers={"If-Match": "x"}).status_code == 422
    assert here.get(place).json()["memory"]["answer"] == "A light."


def test_a_memory_that_is_forgotten_is_not_found(here: TestClient, shelf: dict[str, str]) -> None:
    place = f"/v1/memories/{shelf['logic']}"

    assert here.delete(place).json() == {"ids": [shelf["logic"]]}

    assert here.get(place).status_code == 404
    assert here.delete(place).status_code == 404
    assert here.patch(place, json={"answer": "x"}, headers={"If-Match": "x"}).status_code == 404


def test_a_pool_that_nobody_has_is_begun_only_on_purpose(here: TestClient) -> None:
    typo = here.post("/v1/memories", json={"pool": "lgoic", "answer": "x"})

    assert typo.status_code == 422
    assert "lgoic" in typo.json()["detail"]
    assert added(here, "x", pool="lgoic", new_pool=True)["pool"] == "lgoic"


def test_the_lift_of_a_memory_and_of_the_pools_that_the_token_sees_is_told(
    tokened: Tokened, shelf: dict[str, str], redis_client: redis.Redis
) -> None:
    sums = LiftSums(redis_client, keep_days=1)
    for pool, memory in shelf.items():
        group = TaskGroup("one withheld", pool, "", "openai:m")
        for number in range(10):
            sums.count(pool, f"shown {number}", 80.0, group, [UUID(memory)], withheld=False)
            sums.count(pool, f"withheld {number}", 70.0, group, [UUID(memory)], withheld=True)
    ada = tokened("ada", "recall")

    told = {"points": 10.0, "error": 0.0, "shown": 10, "withheld": 10}
    assert ada.get(f"/v1/memories/{shelf['logic']}").json()["lift"] == {**told, "needed": 10}
    helps = [one for one in ada.get("/v1/stats").json()["helps"] if one["way"] == "one withheld"]
    assert [(one["agent"], one["tasks"], one["tasks_without"]) for one in helps] == [(None, 10, 10), ("logic", 10, 10)]


def test_pages_of_an_order_follow_each_other_and_the_total_heeds_the_conditions(here: TestClient) -> None:
    for number in range(5):
        added(here, f"Fact {number}.", new_pool=True, kind="even" if number % 2 == 0 else "odd")

    def answers(**asked: object) -> list[str]:
        page = here.get("/v1/memories", params={"order": "created", "limit": 2, **asked}).json()
        return [one["answer"] for one in page["memories"]]

    assert [answers(skip=skip) for skip in (0, 2, 4)] == [["Fact 4.", "Fact 3."], ["Fact 2.", "Fact 1."], ["Fact 0."]]
    assert answers(ascending=True, skip=1) == ["Fact 1.", "Fact 2."]
    counts = here.get("/v1/memories/counts", params={"kind": "even"}).json()
    assert (counts["total"], counts["kind"]) == (3, {"even": 3})
    assert here.get("/v1/memories", params={"skip": 2}).status_code == 422


def test_what_was_written_with_a_memory_in_sight_is_found_by_it(
    here: TestClient, tokened: Tokened, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    logic, poem = (UUID(shelf[pool]) for pool in ("logic", "poem"))
    child = memory.get(logic).model_copy(update={"id": uuid4(), "answer": "A lamp.", "parents": (poem,)})
    memory.restore([child])

    assert [one["id"] for one in here.get("/v1/memories", params={"parent": shelf["poem"]}).json()["memories"]] == [
        str(child.id)
    ]
    other = tokened("other", "recall", pools=("poem",))
    assert other.get("/v1/memories", params={"parent": shelf["poem"]}).json()["memories"] == []
    assert other.get("/v1/memories/counts").json()["total"] == 1


def test_who_was_shown_a_memory_is_told_with_what_came_of_it(
    here: TestClient, tokened: Tokened, shelf: dict[str, str]
) -> None:
    recalled = here.post("/v1/recall", json={"agent": "logic", "prompt": "red lamp"}).json()["recall_id"]
    offered = {"agent": "logic", "prompt": "A red lamp?", "answer": "A light.", "recall_id": recalled}
    pair = here.post("/v1/pairs", json=offered).json()["id"]
    here.post("/v1/feedback", json={"journey": pair, "reward": 0.5})
    here.post("/v1/pairs", json={**offered, "prompt": "Another?", "recall_id": None})

    found = here.get(f"/v1/memories/{shelf['logic']}/shown").json()

    [told] = found["journeys"]
    assert (told["id"], told["prompt"], told["share"], told["feedback"]) == (pair, "A red lamp?", 1.0, 0.5)
    assert (found["total"], found["looked_at"], found["shown"], found["cost"]) == (1, 2, None, None)
    place = f"/v1/memories/{shelf['logic']}/shown"
    assert tokened("viewer", "recall").get(place).json()["total"] == 0
    assert tokened("curator", "recall", "curate").get(place).json()["total"] == 1
    assert tokened("other", "recall", pools=("poem",)).get(place).status_code == 404


UNSEEN = "\u200b\u3164"


@pytest.mark.parametrize("field", ["prompt", "answer"])
def test_a_text_that_shows_nothing_or_is_too_long_comes_in_by_no_door(
    here: TestClient, memory: MemoryClient, field: str
) -> None:
    kept = added(here, "A pier has piles.", prompt="What is a pier?", new_pool=True)
    version = {"If-Match": here.get(f"/v1/memories/{kept['id']}").headers["etag"]}
    pair = {"prompt": "What is a quay?", "answer": "A wall."}

    for text, status, why in ((UNSEEN, 422, "empty"), ("x" * 20_001, 413, "20,001 characters; at most 20,000")):
        told = [
            here.post("/v1/memories", json={"pool": "logic", **pair, field: text}),
            here.patch(f"/v1/memories/{kept['id']}", json={field: text}, headers=version),
            here.post("/v1/pairs", json={"agent": "logic", **pair, field: text}),
        ]
        if field == "prompt":
            told.append(here.post("/v1/tasks", json={"agent": "logic", "prompt": text}))
        assert [one.status_code for one in told] == [status] * len(told), [one.text for one in told]
        assert all(why in one.text for one in told)
    assert [one.answer for one in memory.every(Where())] == ["A pier has piles."]


def test_a_memory_in_another_spelling_is_the_one_that_there_is(here: TestClient) -> None:
    first = added(here, "Au sud de N\u00eemes.", prompt="O\u00f9?", new_pool=True)

    again = added(here, "Au sud de Ni\u0302mes.\u200b", prompt="Ou\u0300?")

    assert again == first


def test_what_is_no_day_is_refused_with_a_day_as_it_is_expected_wherever_one_is_taken(here: TestClient) -> None:
    day = {"since": "2026-11-24T10:00:00"}
    takes = {path: DESCRIPTION["paths"][path].get("get", {}).get("parameters", ()) for _, path in OPERATIONS}
    by_query = [path for path, parameters in takes.items() if "since" in [one["name"] for one in parameters]]
    answers = [here.get(path, params=day) for path in by_query]
    answers.append(here.post("/v1/memories/search", json={"text": "lamp", **day}))
    answers.append(here.post("/v1/recall", json={"prompt": "lamp", "pool": "logic", "filters": day}))

    assert {"/v1/memories", "/v1/memories/counts"} <= set(by_query)
    for answer in answers:
        assert answer.status_code == 422
        assert "since: expected a day such as 2026-11-24 (UTC)" in answer.json()["detail"]
