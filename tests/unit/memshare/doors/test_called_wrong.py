"""A memory is called wrong, whoever brought it in: it is hidden with its copies, refused at every door, and comes back
whole."""

from __future__ import annotations

import html
import json
import re
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.people import WRONG_ANSWERS, wrong_prompts
from tests.support.memories import remembered
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import PROMPT, text_of
from tests.unit.memshare.doors.pages.test_opinion import ended
from tests.unit.memshare.doors.pages.test_shown_memories import FROM_PAGE

SAYS = "The red lamp shines from dusk to dawn."
WHY = "It was switched off in May."


def brought_in(memory: MemoryClient, prompt: str | None, *copies: str | None) -> list[UUID]:
    """A memory, its copies that are typed in another way, and what says the same to a far question."""
    given = [NewMemory(pool="logic", prompt=prompt, answer=SAYS, new_pool=True)]
    given += [NewMemory(pool="logic", prompt=one, answer=f"**{SAYS}**", new_pool=True) for one in copies]
    return memory.add([*given, NewMemory(pool="logic", prompt="Who wrote the verse?", answer=SAYS, new_pool=True)])


def kept_from_an_answer(backend: Backend, memory: MemoryClient) -> Memory:
    """A memory that a task of ada wrote, whose journey `t1` knows that."""
    [kept, _] = remembered(PROMPT, answer="A light.", pool="logic", task_id="t1", submitter="ada")
    memory.restore([kept])
    ended(backend, kept=str(kept.id))
    return kept


def statuses(memory: MemoryClient, ids: list[UUID]) -> list[str]:
    return [memory.get(one).status for one in ids]


def show_again(client: TestClient, one: UUID) -> None:
    version = client.get(f"/v1/memories/{one}").json()["version"]
    done = client.patch(f"/v1/memories/{one}", json={"status": "active"}, headers={"if-match": version})
    assert done.status_code == 200


@pytest.mark.parametrize("prompt", [None, PROMPT])
def test_what_was_brought_in_is_hidden_with_its_copies_refused_and_shown_again_with_them(
    tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis,
    prompt: str | None,
) -> None:  # fmt: skip
    like = "When does the red lamp shine again?" if prompt else "Does the red lamp shine from dusk to dawn?"
    [wrong, *copies, far] = brought_in(memory, prompt, None, like)
    [child, _] = remembered("Is it lit at night?", answer=SAYS[:-1] + ", yes.", pool="logic", parents=(wrong,))
    memory.restore([child])
    cora, admin = tokened("cora", "curate", "recall"), tokened("ines", "admin", pools=None)

    done = cora.post(f"/v1/memories/{wrong}/wrong", json={"why": WHY})

    assert done.status_code == 200
    assert {*done.json()["ids"]} == {*map(str, (wrong, *copies))}
    assert statuses(memory, [wrong, *copies, child.id, far]) == ["hidden"] * 3 + ["stale", "active"]
    word = {"by": "cora", "journey": "", "why": WHY, "copy_of": None}
    assert cora.get(f"/v1/memories/{wrong}").json()["called_wrong"] == word
    assert cora.get(f"/v1/memories/{copies[0]}").json()["called_wrong"] == {**word, "copy_of": str(wrong)}
    for asked in (prompt, None, like):
        given = {"pool": "logic", "answer": SAYS.upper()} | ({"prompt": asked} if asked else {})
        refused = cora.post("/v1/memories", json=given)
        assert refused.status_code == 409
        assert refused.json()["detail"].startswith(
            f"This answer was called wrong by 'cora' (memory {str(wrong)[:8]}: {WHY}), so it is not brought in."
        )
        file = {"lines": json.dumps(given), "dry_run": True}
        assert admin.post("/v1/memories/import", json=file).json()["left_out"] == 1
    listed = cora.get("/v1/memories", params={"status": "found wrong"}).json()["memories"]
    assert {one["id"] for one in listed} == {*map(str, (wrong, *copies))}

    show_again(cora, wrong)

    assert statuses(memory, [wrong, *copies, child.id, far]) == ["active"] * 5
    assert not redis_client.exists(WRONG_ANSWERS)
    assert cora.post("/v1/memories", json=given).status_code == 201


def test_a_copy_that_another_word_hides_stays_hidden_and_a_copy_alone_can_be_shown_again(
    tokened: Tokened, memory: MemoryClient
) -> None:
    [first, second, _] = brought_in(memory, PROMPT, None)
    cora = tokened("cora", "curate", "recall")
    cora.post(f"/v1/memories/{first}/wrong", json={})
    cora.post(f"/v1/memories/{second}/wrong", json={})

    show_again(cora, first)
    assert statuses(memory, [first, second]) == ["active", "hidden"]
    cora.post(f"/v1/memories/{first}/wrong", json={})
    show_again(cora, second)

    assert statuses(memory, [first, second]) == ["hidden", "active"]


@pytest.mark.parametrize("is_shown_again", [True, False])
def test_what_a_task_wrote_goes_by_the_word_on_its_journey(
    backend: Backend, tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis, *, is_shown_again: bool
) -> None:
    [copy] = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer="a light", new_pool=True)])
    kept = kept_from_an_answer(backend, memory)
    cora = tokened("cora", "curate", "recall")

    cora.post(f"/v1/memories/{kept.id}/wrong", json={"why": WHY})

    assert statuses(memory, [kept.id, copy]) == ["hidden", "hidden"]
    journey = cora.get("/v1/journeys/t1").json()
    assert (journey["opinion"]["by"], journey["opinion"]["reward"], journey["also_hid"]) == ("cora", 0, [str(copy)])
    word = {"by": "cora", "journey": "t1", "why": WHY, "copy_of": None}
    assert cora.get(f"/v1/memories/{kept.id}").json()["called_wrong"] == word

    if is_shown_again:
        show_again(cora, kept.id)
    else:
        cora.post("/v1/feedback", json={"journey": "t1", "take_back": True})

    assert statuses(memory, [kept.id, copy]) == ["active", "active"]
    assert not redis_client.exists(WRONG_ANSWERS)


def test_a_word_on_a_memory_counts_beside_one_that_its_answer_is_right(
    backend: Backend, tokened: Tokened, memory: MemoryClient
) -> None:
    kept = kept_from_an_answer(backend, memory)
    tokened("ada", "offer").post("/v1/feedback", json={"journey": "t1", "reward": 1.0})
    cora = tokened("cora", "curate", "recall")

    cora.post(f"/v1/memories/{kept.id}/wrong", json={})

    assert memory.get(kept.id).status == "hidden"
    assert cora.get("/v1/journeys/t1").json()["opinion"]["reward"] == 1.0
    show_again(cora, kept.id)
    assert memory.get(kept.id).status == "active"


def test_a_word_on_a_memory_outlives_the_word_on_a_journey_that_says_the_same(
    backend: Backend, tokened: Tokened, memory: MemoryClient
) -> None:
    [wrong] = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer="A light.", new_pool=True)])
    ended(backend, kept=str(wrong))
    cora = tokened("cora", "curate", "recall")
    cora.post("/v1/feedback", json={"journey": "t1", "reward": 0.0})
    cora.post(f"/v1/memories/{wrong}/wrong", json={})

    cora.post("/v1/feedback", json={"journey": "t1", "take_back": True})

    assert memory.get(wrong).status == "hidden"
    show_again(cora, wrong)
    assert memory.get(wrong).status == "active"


def test_a_corrected_memory_is_shown_and_its_old_text_is_wrong_for_tasks_still(
    tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [wrong, _] = brought_in(memory, None)
    tokened("cora", "curate", "recall").post(f"/v1/memories/{wrong}/wrong", json={})

    memory.edit(Edit(id=wrong, answer="The red lamp is switched off."))

    assert memory.get(wrong).status == "active"
    assert [*wrong_prompts(redis_client, "logic", SAYS, "bob")] == [SAYS]


def test_who_does_not_curate_calls_no_memory_wrong(tokened: Tokened, memory: MemoryClient) -> None:
    [one, _] = brought_in(memory, None)

    assert tokened("ada", "recall", "offer").post(f"/v1/memories/{one}/wrong", json={}).status_code == 403
    assert memory.get(one).status == "active"


def undone(page: str) -> str:
    """The address at which the button "Undo" of a page takes back what was done last."""
    [undo] = re.findall(r'action="([^"]+)"[^>]*>(?:(?!</form>).)*Undo', page, re.DOTALL)
    return html.unescape(undo)


def test_the_page_calls_a_memory_wrong_says_why_and_takes_either_back(here: TestClient, memory: MemoryClient) -> None:
    [wrong, copy, _] = brought_in(memory, None, PROMPT + " From dusk to dawn?")
    assert "It is wrong …" in here.get(f"/memories/{wrong}").text

    page = here.post(f"/memories/{wrong}/wrong", data={"why": WHY}, headers=FROM_PAGE).text

    assert "Hidden, as it is wrong, with what says the same: 2 memories." in text_of(page)
    assert f"It is hidden, as anonymous called it wrong: {WHY}" in text_of(page)
    assert "It is wrong …" not in page
    assert f'/memories/{wrong}">another memory</a> that says the same' in here.get(f"/memories/{copy}").text
    page = here.post(undone(page), headers=FROM_PAGE).text
    assert statuses(memory, [wrong, copy]) == ["active", "active"]
    here.post(f"/memories/{wrong}/wrong", data={"why": WHY}, headers=FROM_PAGE)
    version = here.get(f"/v1/memories/{wrong}").json()["version"]
    page = here.post(f"/memories/{wrong}/status", data={"status": "active", "version": version}, headers=FROM_PAGE).text
    assert statuses(memory, [wrong, copy]) == ["active", "active"]
    page = here.post(undone(page), headers=FROM_PAGE).text
    assert f"It is hidden, as anonymous called it wrong: {WHY}" in text_of(page)
    assert statuses(memory, [wrong, copy]) == ["hidden", "hidden"]


def test_undo_on_the_page_takes_the_word_on_the_journey_back(
    here: TestClient, backend: Backend, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    kept = kept_from_an_answer(backend, memory)

    page = here.post(f"/memories/{kept.id}/wrong", headers=FROM_PAGE).text
    here.post(undone(page), headers=FROM_PAGE)

    assert here.get("/v1/journeys/t1").json()["opinion"] is None
    assert memory.get(kept.id).status == "active"
    assert not redis_client.exists(WRONG_ANSWERS)


def test_a_memory_whose_word_is_taken_back_stays_hidden_while_one_on_a_copy_stands(
    backend: Backend, tokened: Tokened, memory: MemoryClient
) -> None:
    kept = kept_from_an_answer(backend, memory)
    cora = tokened("cora", "curate", "recall")
    cora.post("/v1/feedback", json={"journey": "t1", "reward": 0.0})
    copy = UUID(int=7)
    memory.restore([kept.model_copy(update={"id": copy, "task_id": None})])
    cora.post(f"/v1/memories/{copy}/wrong", json={})

    done = cora.post("/v1/feedback", json={"journey": "t1", "take_back": True}).json()

    assert done["hidden"] == str(kept.id)
    assert statuses(memory, [kept.id, copy]) == ["hidden", "hidden"]
    show_again(cora, copy)
    assert statuses(memory, [kept.id, copy]) == ["active", "active"]
