"""A memory whose answer was called wrong says so where it stands, and is shown again once a person corrects it."""

from __future__ import annotations

import html
import re
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.wire.grades import Settlement
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import PROMPT, answered, graded, record, text_of
from tests.unit.memshare.doors.pages.test_opinion import card, ended, hide_all, said_on_the_page
from tests.unit.memshare.doors.pages.test_shown_memories import FROM_PAGE
from tests.unit.memshare.doors.test_needs import written_from


@pytest.fixture
def imported(memory: MemoryClient, shelf: dict[str, str]) -> UUID:
    """A memory that says to the same question what the answer of the journey says."""
    assert shelf
    [one] = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer="A light.", submitter="ines")])
    return one


def change(client: TestClient, memory: UUID, **texts: str) -> str:
    """The page after a person has changed a memory, coming from the journey."""
    form = client.get(f"/memories/{memory}?back=/journeys/t1").text
    [version] = re.findall(r'name="version" value="([^"]+)"><input type="hidden" name="back"', form)
    fields = {"prompt": PROMPT, "version": version, "back": "/journeys/t1", **texts}
    return client.post(f"/memories/{memory}", data=fields, headers=FROM_PAGE).text


def undo(client: TestClient, page: str) -> str:
    [to] = re.findall(r'action="([^"]+text-before[^"]+)"', page)
    return client.post(html.unescape(to), headers=FROM_PAGE).text


def test_a_corrected_memory_is_shown_again_and_hidden_with_its_old_text(
    here: TestClient, backend: Backend, imported: UUID, memory: MemoryClient
) -> None:
    ended(backend, str(imported))
    said_on_the_page(here, "wrong")
    assert memory.get(imported).status == "hidden"

    page = change(here, imported, answer="A bell.")

    assert "The memory was changed, and is shown again. Ask again" in text_of(page)
    assert memory.get(imported).status == "active"
    assert (
        here.post("/v1/recall", json={"pool": "logic", "prompt": PROMPT}).json()["memories"][0]["answer"] == "A bell."
    )
    told = card(page)
    assert "was changed since: tasks are shown what it says now." in told
    assert "changed since, and begins anew" in told
    for gone in ("still shown", "Forget the memory"):
        assert gone not in told

    undo(here, page)

    assert memory.get(imported).status == "hidden", "it says what was called wrong"
    said_on_the_page(here, "undecided")
    assert memory.get(imported).status == "active"


def test_who_brings_in_what_was_corrected_since_is_told_so_and_sees_what_it_says_now(
    here: TestClient, imported: UUID
) -> None:
    change(here, imported, answer="A bell.")

    given = {"pool": "logic", "prompt": PROMPT, "answer": "A light.", "back": "/journeys/t1"}
    done = here.post("/pool", data=given, headers=FROM_PAGE)

    assert done.url.path == f"/memories/{imported}"
    assert "It was there already, and was changed since: this is what it says now." in text_of(done.text)
    assert "It is in the pool" in text_of(
        here.post("/pool", data={**given, "answer": "A bell!"}, headers=FROM_PAGE).text
    )


def test_undoing_that_a_memory_is_shown_again_gives_every_word_back_to_whom_it_is_of(
    backend: Backend, imported: UUID, memory: MemoryClient, tokened: Tokened
) -> None:
    here, ines = (tokened(name, "curate", "recall") for name in ("cora", "ines"))
    for journey, client in (("t1", here), ("t2", ines)):
        answered(backend, journey=journey)
        graded(backend, journey, 90)
        client.post("/v1/feedback", json={"journey": journey, "reward": 0.0})
    fields = {"status": "active", "version": here.get(f"/v1/memories/{imported}").json()["version"]}
    from_there = {"origin": "http://testserver"}
    shown = here.post(f"/memories/{imported}/status", data=fields, headers=from_there).text
    assert memory.get(imported).status == "active"
    [to] = re.findall(r'action="([^"]+)"><button>Undo', shown)
    here.post(html.unescape(to), headers=from_there)

    here.post("/v1/feedback", json={"journey": "t1", "take_back": True})

    assert memory.get(imported).status == "hidden", "ines has not taken hers back"
    assert here.get(f"/v1/memories/{imported}").json()["called_wrong"] == {
        "by": "ines",
        "why": "",
        "journey": "t2",
        "copy_of": None,
    }


def test_the_page_of_a_memory_names_what_contradicts_it_before_it_asks_what_to_do(
    here: TestClient, imported: UUID, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [other] = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer="No light.")])
    Conflicts(redis_client).judge("logic", imported, other, "contradict")

    page = here.get(f"/memories/{imported}").text

    assert page.index("Contradicted by") < page.index(f'href="/memories/{other}"') < page.index(">Hide<")


@pytest.mark.parametrize("again", ["A LIGHT", "a light!", "“A light”"])
def test_a_corrected_memory_is_hidden_again_however_its_old_text_is_typed(
    here: TestClient, backend: Backend, imported: UUID, memory: MemoryClient, again: str
) -> None:
    ended(backend, str(imported))
    said_on_the_page(here, "wrong")
    change(here, imported, answer="A bell.")

    page = change(here, imported, answer=again)

    assert memory.get(imported).status == "hidden"
    assert "The memory was changed. It is hidden, as anonymous called that wrong." in text_of(page)
    said_on_the_page(here, "undecided")
    assert memory.get(imported).status == "active"


def test_the_page_says_whose_word_still_hides_a_memory(
    here: TestClient, backend: Backend, imported: UUID, memory: MemoryClient
) -> None:
    ended(backend)
    answered(backend, journey="t2")
    graded(backend, "t2", 90)
    here.post("/journeys/t2/feedback", data={"answer": "wrong"}, headers=FROM_PAGE)
    said_on_the_page(here, "wrong")

    page = text_of(said_on_the_page(here, "undecided"))

    assert (
        "nothing is said of this answer. anonymous called the same answer wrong (journey t2), and that stands." in page
    )
    assert memory.get(imported).status == "hidden"
    assert 'href="/journeys/t2#opinion"' in here.get(f"/memories/{imported}").text


def test_what_is_shown_again_may_be_remembered_only_if_no_word_on_it_stands(
    here: TestClient, backend: Backend, shelf: dict[str, str], imported: UUID
) -> None:
    ended(backend, shelf["logic"], kept=str(imported))
    said_on_the_page(here, "wrong")
    hide_all(here)

    def shown(one: str) -> str:
        fields = {"status": "active", "version": here.get(f"/v1/memories/{one}").json()["version"]}
        return text_of(here.post(f"/memories/{one}/status", data=fields, headers=FROM_PAGE).text)

    first, last = shown(shelf["logic"]), shown(str(imported))

    assert "It is shown again. anonymous called the same answer wrong (journey t1), and that stands." in first
    assert "It is shown again. What anonymous called wrong may be remembered again." in last


def test_what_was_hidden_by_hand_or_keeps_its_answer_is_still_hidden_and_the_page_says_so(
    here: TestClient, backend: Backend, imported: UUID, memory: MemoryClient
) -> None:
    memory.edit(Edit(id=imported, status="hidden"))
    ended(backend)
    said_on_the_page(here, "wrong")

    page = change(here, imported, answer="A bell.")

    assert memory.get(imported).status == "hidden"
    assert "The memory was changed. It is still hidden." in text_of(page)
    assert "Show it again" in page
    memory.edit(Edit(id=imported, answer="A light.", status="active"))
    answered(backend, journey="t1")
    here.post("/v1/feedback", json={"journey": "t1", "take_back": True})
    said_on_the_page(here, "wrong")
    change(here, imported, answer="A light.", prompt="Which lamp?")
    assert memory.get(imported).status == "hidden", "its answer is the same"


def test_an_answer_is_called_wrong_after_its_memory_was_corrected_and_that_stays_shown(
    here: TestClient, backend: Backend, imported: UUID, memory: MemoryClient
) -> None:
    ended(backend, kept=str(imported))
    memory.edit(Edit(id=imported, answer="A bell."))

    told = card(said_on_the_page(here, "wrong"))

    assert memory.get(imported).status == "active"
    assert "was changed since: tasks are shown what it says now." in told
    assert "Bring in the right answer" in told


def test_a_memory_that_misled_and_was_corrected_says_so_no_more(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    ended(backend, shelf["logic"])
    said = card(said_on_the_page(here, "wrong"))
    assert f"Tasks are still shown memories that say so: memory {shelf['logic'][:8]}" in said
    assert "Forget the memory that misled it" in said

    told = card(change(here, UUID(shelf["logic"]), answer="A light is red.", prompt="red lamp by the sea"))

    assert "still shown" not in told
    assert "misled" not in told


def test_it_is_said_which_memory_is_hidden_why_and_by_whom_and_how_it_comes_back(
    backend: Backend, imported: UUID, tokened: Tokened
) -> None:
    ended(backend, str(imported))
    cora = tokened("cora", "curate", "recall")
    assert cora.post("/v1/feedback", json={"journey": "t1", "reward": 0.0}).json()["hidden"] == str(imported)

    told = card(cora.get("/journeys/t1").text)

    assert f"The memory that says the same, by ines , ( memory {str(imported)[:8]} ) is hidden, as cora said so" in told
    assert "Taking that back shows it again, unless somebody else called it wrong, too." in told
    assert "kept from this answer" not in told
    page = cora.get(f"/memories/{imported}").text
    assert "It is hidden, as cora called its answer wrong" in text_of(page)
    assert 'href="/journeys/t1#opinion"' in page
    assert "Show it again" in page
    reply = cora.get(f"/v1/memories/{imported}").json()
    assert reply["called_wrong"] == {"by": "cora", "why": "", "journey": "t1", "copy_of": None}
    listed = cora.post("/v1/memories/search", json={"text": PROMPT, "status": "found wrong"}).json()["memories"]
    assert [one["memory"]["id"] for one in listed] == [str(imported)]

    edited = {"status": "active"}
    cora.patch(f"/v1/memories/{imported}", json=edited, headers={"if-match": reply["version"]})

    assert cora.get(f"/v1/memories/{imported}").json()["called_wrong"] is None
    assert cora.get("/v1/memories/counts?status=found wrong").json()["total"] == 0


def test_what_is_hidden_as_it_says_so_says_why_too(here: TestClient, backend: Backend, shelf: dict[str, str]) -> None:
    ended(backend, shelf["logic"])
    said_on_the_page(here, "wrong")

    hide_all(here)

    called = here.get(f"/v1/memories/{shelf['logic']}").json()["called_wrong"]
    assert called == {"by": "anonymous", "why": "", "journey": "t1", "copy_of": None}


def test_taking_a_word_back_confirms_no_memory(
    here: TestClient, backend: Backend, imported: UUID, memory: MemoryClient
) -> None:
    ended(backend, str(imported))
    said_on_the_page(here, "wrong")

    said_on_the_page(here, "undecided")

    assert (memory.get(imported).status, memory.get(imported).confirmed) == ("active", None)


def test_both_are_right_is_taken_back_on_the_page_of_either(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis, shelf: dict[str, str]
) -> None:
    [other] = memory.add([NewMemory(pool="logic", prompt="red lamp by the sea", answer="No light.")])
    one, conflicts = UUID(shelf["logic"]), Conflicts(redis_client)
    conflicts.judge("logic", one, other, "contradict")
    decision = {"one": str(one), "other": str(other), "decision": "both are right"}
    here.post("/inbox/conflict", data=decision, headers=FROM_PAGE)
    assert here.get(f"/v1/memories/{other}").json()["both_right"] == [str(one)]

    page = here.get(f"/memories/{one}").text

    assert "A person said that both are right, it and" in page
    form = page[page.index('action="/inbox/conflict"') :].split("</form>")[0]
    assert "Take the decision back" in form
    given = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    assert "It is undecided again." in here.post("/inbox/conflict", data=given, headers=FROM_PAGE).text
    assert [pair.confirmed for pair in conflicts.pairs("logic")] == [False]


def test_the_line_says_what_was_not_done(here: TestClient, backend: Backend, imported: UUID) -> None:
    def line(journey: str) -> str:
        return text_of(re.findall(r'<ol class="hops".*?</ol>', here.get(f"/journeys/{journey}").text, re.DOTALL)[0])

    answered(backend, journey="nobody")
    record(backend, "nobody", "score", Settlement(memory_id=None, outcome="not graded", reason="no model"))
    answered(backend, journey="twice")
    graded(backend, "twice", 90)
    record(backend, "twice", "settle", Settlement(memory_id=imported, outcome="duplicate", reason="it is there"))

    assert "not graded" in line("nobody")
    assert "not remembered" in line("twice")
    assert "not graded" not in line("twice")


def test_a_right_answer_that_was_graded_too_low_is_kept_with_a_button(here: TestClient, backend: Backend) -> None:
    answered(backend)
    graded(backend, "t1", 20)
    record(backend, "t1", "settle", Settlement(memory_id=None, outcome="rejected", reason="too low"))
    page = said_on_the_page(here, "right")
    [link] = re.findall(r'href="(/pool[^"]+)#bring-in">Keep it as a memory', page)

    form = here.get(html.unescape(link)).text

    assert "A light.</textarea>" in form
    assert "In place of this answer" not in form


def test_what_was_called_wrong_is_not_brought_in_until_that_is_taken_back(here: TestClient, backend: Backend) -> None:
    ended(backend)
    assert "Bring in the right answer" in card(said_on_the_page(here, "wrong")), "also where nothing was kept"
    given = {"pool": "logic", "prompt": PROMPT, "answer": "a light.", "new_pool": True}

    refused = here.post("/v1/memories", json=given)

    assert refused.status_code == 409
    assert "(journey t1)" in refused.json()["detail"]
    assert here.post("/v1/memories", json={**given, "prompt": "Who?"}).status_code == 201
    assert "called wrong by" in here.post("/pool", data={**given, "new_pool": "yes"}, headers=FROM_PAGE).text
    said_on_the_page(here, "undecided")
    assert here.post("/v1/memories", json=given).status_code == 201


def test_of_a_pair_it_is_said_why_no_grade_moves_its_credibility(
    here: TestClient, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    [statement] = memory.add([NewMemory(pool="logic", answer="The lamp is red.")])

    assert "1 is untested" in here.get(f"/memories/{statement}").text
    page = text_of(here.get(f"/memories/{shelf['logic']}").text)
    assert "none: of a prompt with an answer the retriever learns what it is worth" in page
    assert "1 is untested" not in page


def test_what_was_written_from_a_memory_that_is_hidden_is_named_and_hidden_with_a_button(
    here: TestClient, memory: MemoryClient, imported: UUID
) -> None:
    copy = written_from(memory, imported, answer="A light.")
    version = here.get(f"/v1/memories/{imported}").json()["version"]

    page = here.post(f"/memories/{imported}/status", data={"status": "hidden", "version": version}, headers=FROM_PAGE)

    assert "Tasks are still shown what was written from it:" in text_of(page.text)
    form = page.text[page.text.index('action="/pool/several"') :].split("</form>")[0]
    done = here.post("/pool/several", data=dict(re.findall(r'name="(\w+)" value="([^"]*)"', form)), headers=FROM_PAGE)
    assert memory.get(copy).status == "hidden"
    assert "still shown" not in done.text
