"""What the form to ask begins with, and what a journey says where nothing could be shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from memshare.doors.pages.screens.journeys import SHOWN
from memshare.operations.backend import Backend
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import answered, graded, text_of

FROM_PAGE = {"origin": "http://127.0.0.1"}
NONE_OLDER = "The pool logic has none that is older than this answer"


Decide = Callable[[TestClient, MemoryClient], object]


def brought_in(memory: MemoryClient, answer: str = "The lamp is red.") -> UUID:
    return memory.add([NewMemory(pool="logic", answer=answer, new_pool=True)])[0]


def keep(here: TestClient, memory: MemoryClient) -> None:
    stale = brought_in(memory)
    memory.edit(Edit(id=stale, by="ada", status="stale"))
    here.post("/inbox/stale", data={"decision": "keep", "memory": str(stale)}, headers=FROM_PAGE)


def tell_apart(here: TestClient, memory: MemoryClient) -> None:
    two = {name: str(brought_in(memory, f"The lamp is {name}.")) for name in ("one", "other")}
    here.post("/inbox/conflict", data={**two, "decision": "one is right"}, headers=FROM_PAGE)


def say_wrong(here: TestClient, _: MemoryClient) -> None:
    here.post("/journeys/t1/feedback", data={"answer": "wrong"}, headers=FROM_PAGE)


def chosen(page: str) -> list[str]:
    """The agent, with the kind, that the form to ask begins with."""
    return re.findall(r'<option value="([^"]+)" selected>', page[page.index('id="what"') :].split("</select>")[0])


def test_the_form_begins_with_the_agent_and_the_kind_that_were_asked_last(here: TestClient) -> None:
    assert chosen(here.get("/").text) == []

    here.post("/journeys", data={"what": "plan/travel", "prompt": "A day in Ely"}, headers=FROM_PAGE)
    assert chosen(here.get("/").text) == ["plan/travel"]

    here.post("/journeys", data={"what": "poem", "prompt": "A lamp"}, headers=FROM_PAGE)
    assert chosen(here.get("/").text) == ["poem"]
    assert chosen(here.get("/?state=settled").text) == ["poem"]
    assert chosen(here.get("/?agent=logic").text) == ["logic"]


def test_the_form_begins_with_the_agent_that_has_memories_where_nobody_has_asked(
    here: TestClient, memory: MemoryClient
) -> None:
    assert chosen(here.get("/").text) == []

    memory.add([NewMemory(pool="plan", answer="The ferry goes at noon.", new_pool=True)])
    assert chosen(here.get("/").text) == ["plan"]

    here.post("/journeys", data={"what": "poem", "prompt": "A lamp"}, headers=FROM_PAGE)
    assert chosen(here.get("/").text) == ["poem"]


def test_a_first_visit_has_four_steps_each_ticked_once_it_is_taken(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    def steps() -> list[str]:
        return re.findall(r'<li class="(?:done|to-come)"><a href="[^"]+">([^<]+)</a>', here.get("/").text)

    assert steps() == ["Bring in", "Ask", "Decide", "See whether it helps"]

    memory.add([NewMemory(pool="logic", answer="The lamp is red.", new_pool=True)])
    answered(backend)
    assert steps() == ["Bring in ✓", "Ask ✓", "Decide", "See whether it helps"]

    graded(backend, "t1", 90)
    assert steps() == ["Bring in ✓", "Ask ✓", "Decide", "See whether it helps"]

    keep(here, memory)
    assert steps() == ["Bring in ✓", "Ask ✓", "Decide ✓", "See whether it helps"]


@pytest.mark.parametrize("decide", [keep, tell_apart, say_wrong])
def test_any_decision_of_a_person_ticks_the_step(
    here: TestClient, backend: Backend, memory: MemoryClient, decide: Decide
) -> None:
    answered(backend, str(brought_in(memory)))
    graded(backend, "t1", 90)
    here.post("/v1/feedback", json={"journey": "t1", "reward": 1.0})  # a program's word, maybe
    assert "Decide ✓" not in here.get("/").text
    here.post("/v1/feedback", json={"journey": "t1", "take_back": True})

    decide(here, memory)

    assert "Decide ✓" in here.get("/").text


def test_a_first_visit_goes_on_until_somebody_decides_though_programs_have_asked_much(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    for number in range(SHOWN):
        answered(backend, journey=f"t{number}")
    assert "A first visit" in here.get("/").text

    keep(here, memory)

    assert "A first visit" not in here.get("/").text


def test_the_form_does_not_begin_with_what_somebody_else_asked(tokened: Tokened) -> None:
    ada, ben = (tokened(name, "admin", pools=None) for name in ("ada", "ben"))
    ada.post("/v1/tasks", json={"agent": "plan", "prompt": "A day in Ely"})
    ben.post("/v1/tasks", json={"agent": "poem", "prompt": "A lamp"})

    assert chosen(ada.get("/").text) == ["plan"]
    assert chosen(ben.get("/").text) == ["poem"]


def test_a_journey_without_memories_says_where_its_pool_had_none(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    answered(backend)

    said = here.get("/journeys/t1").text

    assert f"{NONE_OLDER}: bring one in ." in text_of(said)
    assert 'pool=logic&amp;back=%2Fjourneys%2Ft1#bring-in"' in said

    memory.add([NewMemory(pool="logic", answer="It came later.", new_pool=True)])
    assert NONE_OLDER in text_of(here.get("/journeys/t1").text)


def test_a_journey_without_memories_says_nothing_of_a_pool_that_has_some(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    [old] = memory.add([NewMemory(pool="logic", answer="It was there.", new_pool=True)])
    memory.restore([memory.get(old).model_copy(update={"created": 1_700_000_000.0})])

    answered(backend)

    said = text_of(here.get("/journeys/t1").text)
    assert "No memory was shown." in said
    assert NONE_OLDER not in said
