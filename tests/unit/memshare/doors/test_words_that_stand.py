"""A word on an answer holds at every door as long as it stands, and takes with it what it did, and no more."""

from __future__ import annotations

import html
import re
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.wire.grades import Settlement
from memshare_broker.wire.spaces import Spaces
from memshare_memory.belief.promotions import Promotions
from memshare_memory.curate.requests import Edit, Forget, NewMemory, RestoreForgotten
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, note_wrong
from tests.support.memories import remembered
from tests.unit.memshare.doors.pages.journey_records import PROMPT, answered, graded, record, text_of
from tests.unit.memshare.doors.pages.test_opinion import ended, hide_all, said_on_the_page
from tests.unit.memshare.doors.pages.test_shown_memories import FROM_PAGE


@pytest.fixture
def kept(backend: Backend, memory: MemoryClient) -> Memory:
    """What the answer of a journey became."""
    [kept, _] = remembered(PROMPT, answer="A light.", pool="logic", task_id="t1", submitter="ada")
    memory.restore([kept])
    ended(backend, kept=str(kept.id))
    return kept


def test_undoing_that_all_was_hidden_lifts_no_other_word(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    one = UUID(shelf["logic"])
    ended(backend, shelf["logic"])
    said_on_the_page(here, "wrong")
    [undo] = re.findall(r'action="(/pool/several[?][^"]+)"', hide_all(here))
    answered(backend, journey="t2")
    graded(backend, "t2", 90)
    record(backend, "t2", "settle", Settlement(memory_id=one, outcome="duplicate", reason="a test"))
    here.post("/v1/feedback", json={"journey": "t2", "reward": 0.0})

    page = text_of(here.post(html.unescape(undo), headers=FROM_PAGE).text)

    assert "anonymous called the same answer wrong (journey t2), and that stands." in page
    assert memory.get(one).status == "hidden"
    here.post("/v1/feedback", json={"journey": "t2", "take_back": True})
    said_on_the_page(here, "undecided")
    assert memory.get(one).status == "active"


def test_what_was_kept_is_brought_back_as_it_was_before_its_answer_and_its_source_were_called_wrong(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    parents = (UUID(shelf["logic"]),)
    [kept, _] = remembered(PROMPT, answer="A light.", pool="logic", task_id="t1", submitter="ada", parents=parents)
    memory.restore([kept])
    ended(backend, shelf["logic"], kept=str(kept.id))
    said_on_the_page(here, "wrong")
    hide_all(here)
    assert [memory.get(one).status for one in (UUID(shelf["logic"]), kept.id)] == ["hidden", "hidden"]
    here.post("/pool/several/forget", data={"id": str(kept.id)}, headers=FROM_PAGE)
    said_on_the_page(here, "undecided")

    page = text_of(here.post(f"/memories/{kept.id}/restore", headers=FROM_PAGE).text)

    assert "It is back, as it was." in page
    assert "It is stale" not in page
    assert [memory.get(one).status for one in (UUID(shelf["logic"]), kept.id)] == ["active", "active"]


def test_what_says_a_part_of_a_wrong_answer_alone_is_not_among_what_still_says_so(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    [one] = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer="A light at sea.", new_pool=True)])

    for journey, more in (("t1", " It is green, and shines on all days but Mondays."), ("t2", " Yes.")):
        answered(backend, str(one), journey=journey, text=f"A light at sea.{more}")
        graded(backend, journey, 90)
        page = here.post(f"/journeys/{journey}/feedback", data={"answer": "wrong"}, headers=FROM_PAGE).text
        assert "it misled" in page
        assert ("Hide all that say so" in page) == (journey == "t2")


def test_what_was_written_from_a_wrong_answer_comes_back_once_the_word_and_the_correction_are_taken_back(
    here: TestClient, memory: MemoryClient, kept: Memory
) -> None:
    [child, _] = remembered("red", answer="A light.", pool="logic", parents=(kept.id,), task_id="t9")
    memory.restore([child])
    said_on_the_page(here, "wrong")
    memory.edit(Edit(id=kept.id, answer="A bell."))
    assert [memory.get(one.id).status for one in (kept, child)] == ["active", "stale"]

    said_on_the_page(here, "undecided")

    assert [cause.became for cause in memory.get(child.id).because] == ["changed"]
    memory.edit(Edit(id=kept.id, answer="A light."))
    assert [memory.get(one.id).status for one in (kept, child)] == ["active", "active"]


@pytest.mark.parametrize("said_first", [True, False])
def test_what_lies_in_the_trash_comes_back_as_what_is_said_of_it_then(
    here: TestClient, memory: MemoryClient, kept: Memory, *, said_first: bool
) -> None:
    if said_first:
        said_on_the_page(here, "wrong")
    memory.forget(Forget(ids=(kept.id,)))
    said_on_the_page(here, "undecided" if said_first else "wrong")

    memory.restore_forgotten(RestoreForgotten(ids=(kept.id,)))

    assert memory.get(kept.id).status == ("active" if said_first else "hidden")
    if not said_first:
        said_on_the_page(here, "undecided")
        assert memory.get(kept.id).status == "active"


def test_what_was_called_wrong_is_promoted_to_no_pool_where_it_was(
    here: TestClient, backend: Backend, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    ended(backend)
    said_on_the_page(here, "wrong")
    [own, _] = remembered(PROMPT, answer="a light", pool="mine/ada", submitter="ada", task_id="t8", score=90)
    memory.restore([own])
    spaces = Spaces(pools=("mine/ada", "logic"), helped=1)
    assert Promotions(redis_client).note(own, spaces, "ada", "another lamp", checked=False)

    def promote() -> int:
        return here.post(f"/v1/promotions/{own.id}", json={"decision": "promote"}).status_code

    assert promote() == 409
    assert memory.stats().by_pool == {"mine/ada": 1}
    said_on_the_page(here, "undecided")
    assert promote() == 200


def test_what_was_called_wrong_for_a_like_question_is_not_promoted(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [own, _] = remembered("What floats?", answer="A buoy with a red lamp.", pool="mine/ada", task_id="t8", score=90)
    memory.restore([own])
    assert Promotions(redis_client).note(own, Spaces(pools=("mine/ada", "logic"), helped=1), "ada", "x", checked=False)
    word = WrongAnswer(memory=own.id, pool="logic", prompt="What floats there?", submitter="eve", curated=True)
    note_wrong(redis_client, own.answer, word)

    assert here.post(f"/v1/promotions/{own.id}", json={"decision": "promote"}).status_code == 409


def test_an_answer_that_was_called_wrong_is_not_used_again(here: TestClient, backend: Backend) -> None:
    def submitted() -> str:
        return backend.client.submit("logic", PROMPT, reuse=True).id

    first = submitted()
    assert submitted() == first
    answered(backend, journey=first)
    graded(backend, first, 90)

    here.post(f"/journeys/{first}/feedback", data={"answer": "wrong"}, headers=FROM_PAGE)
    assert submitted() != first

    here.post(f"/journeys/{first}/feedback", data={"answer": "undecided"}, headers=FROM_PAGE)
    assert submitted() == first


@pytest.mark.parametrize("of", ["logic", "team"])  # of its own pool, or promoted to another one
def test_a_word_on_what_lies_in_the_trash_makes_stale_what_was_written_from_it_until_it_is_taken_back(
    here: TestClient, memory: MemoryClient, kept: Memory, of: str
) -> None:
    [child, _] = remembered("Lit?", answer="A light.", pool=of, task_id="t2", parents=(kept.id,))
    memory.restore([child])
    memory.forget(Forget(ids=(kept.id,)))

    page = said_on_the_page(here, "wrong")

    assert "was forgotten; what follows it is stale" in text_of(page)
    assert memory.get(child.id).status == "stale"
    said_on_the_page(here, "undecided")
    assert memory.get(child.id).status == "active"


def test_what_lost_to_another_memory_is_not_promoted_until_that_is_taken_back(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    both = [remembered(PROMPT, answer=one, pool="mine/ada", submitter="ada")[0] for one in ("a light", "a bell")]
    memory.restore(both)
    ids = [str(one.id) for one in both]
    spaces = Spaces(pools=("mine/ada", "logic"), helped=1)
    assert Promotions(redis_client).note(both[0], spaces, "ada", "another lamp", checked=False)

    for decision, status in ({"contradict": True, "right": ids[1]}, 409), ({"undecided": True}, 200):
        here.post("/v1/conflicts", json={"memories": ids, **decision})
        assert here.post(f"/v1/promotions/{ids[0]}", json={"decision": "promote"}).status_code == status
