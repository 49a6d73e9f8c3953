"""What the page of a journey says of the memories shown once they were forgotten, or changed."""

from __future__ import annotations

import html
import re
from uuid import UUID

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.wire.grades import PROGRAM
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import ConflictDecision, Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import MODEL, answered, graded, text_of

FROM_PAGE = {"origin": "http://127.0.0.1"}
FOLLOWED = "the rejected answer followed it most"


def card_of(page: str, memory: str) -> str:
    """What the card of a memory says."""
    return text_of(page[page.index(f'id="m-{memory[:8]}"') :].split("</article>")[0])


def test_a_memory_that_misled_is_still_said_to_have_once_it_lies_in_the_trash(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    answered(backend, shelf["logic"])
    graded(backend, "t1", 20)
    before = here.get("/journeys/t1").text
    assert FOLLOWED in before
    assert "forgotten since" not in before

    here.delete(f"/v1/memories/{shelf['logic']}")

    page = here.get("/journeys/t1").text
    card = card_of(page, shelf["logic"])
    assert "follows this memory closely, which was forgotten since: ask again." in text_of(page)
    assert FOLLOWED in card
    assert "forgotten since" in card
    assert "red lamp by the sea A light." in card
    assert "Followed by the answer 100%" in card


@pytest.mark.parametrize(("model", "is_sure"), [(MODEL, False), (PROGRAM, True)])
def test_a_memory_misled_once_a_program_says_so_and_is_what_a_model_rejected_until_then(
    here: TestClient, backend: Backend, shelf: dict[str, str], model: str, is_sure: bool
) -> None:
    answered(backend, shelf["logic"])
    graded(backend, "t1", 20, model)

    page = here.get("/journeys/t1").text

    assert FOLLOWED in card_of(page, shelf["logic"])
    assert ("it misled" in page, 'memory followed misled"' in page, f'bad">it misled: {FOLLOWED}' in page) == (
        is_sure,
    ) * 3


def test_who_may_not_curate_is_told_the_judgement_and_not_what_lies_in_the_trash(
    backend: Backend, shelf: dict[str, str], tokened: Tokened
) -> None:
    answered(backend, shelf["logic"])
    graded(backend, "t1", 20)
    watcher, curator = tokened("wanda", "watch", "recall"), tokened("cora", "watch", "recall", "curate")
    assert "red lamp by the sea" in card_of(watcher.get("/journeys/t1").text, shelf["logic"])

    curator.delete(f"/v1/memories/{shelf['logic']}")

    assert "red lamp by the sea" in card_of(curator.get("/journeys/t1").text, shelf["logic"])
    card = card_of(watcher.get("/journeys/t1").text, shelf["logic"])
    assert FOLLOWED in card
    assert "red lamp by the sea" not in card


def test_a_memory_that_was_changed_keeps_the_share_of_what_it_said_then(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    answered(backend, shelf["logic"])
    graded(backend, "t1", 20)

    memory.edit(Edit(id=UUID(shelf["logic"]), answer="Darkness over all the coast."))

    page = here.get("/journeys/t1").text
    card = card_of(page, shelf["logic"])
    assert "closely, which was changed since: ask again." in text_of(page)
    assert "Darkness over all the coast." in card
    assert "changed since" in card
    assert "Followed by the answer 100%" in card
    assert FOLLOWED in card


def test_a_memory_that_was_found_wrong_since_says_so_and_one_that_was_found_right_is_contradicted_no_more(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    answered(backend, shelf["logic"])
    own, [other] = UUID(shelf["logic"]), memory.add([NewMemory(pool="logic", answer="Darkness.")])

    def said(**what: object) -> str:
        memory.decide(ConflictDecision.model_validate({"memories": (own, other), **what}))
        return card_of(here.get("/journeys/t1").text, shelf["logic"])

    assert "contradicted" in said(contradict=True)
    [third] = memory.add([NewMemory(pool="logic", answer="A dim light.")])
    lost_to_third = ConflictDecision(memories=(other, third), contradict=True, right=third)
    memory.decide(ConflictDecision(memories=(own, other), undecided=True))
    memory.decide(lost_to_third)
    page = here.get(f"/memories/{own}").text + here.get("/pool?pool=logic").text
    assert ("Contradicted by" in page, 'bad">contradicted<' in page) == (False, False), "by what lost to a third one"
    memory.decide(lost_to_third.model_copy(update={"contradict": None, "right": None, "undecided": True}))
    assert 'bad">contradicted<' in here.get("/pool?pool=logic").text
    lost, won = said(contradict=True, right=other), said(contradict=True, right=own)
    assert f"not shown: memory {str(other)[:8]} was found right" in lost
    assert "contradicted" not in lost + won
    assert "not shown: memory" not in won


def test_a_rejected_answer_that_follows_one_of_two_that_contradict_each_other_leads_to_the_decision(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [other] = memory.add([NewMemory(pool="logic", prompt="red lamp by the sea", answer="A star.")])
    both = UUID(shelf["logic"]), other
    answered(backend, shelf["logic"])
    graded(backend, "t1", 5)

    def advice() -> tuple[bool, bool]:
        page = here.get("/journeys/t1").text
        decide = "Two memories contradict each other about this: decide which is right and ask again."
        is_linked = '<a href="/inbox?kind=conflict">decide which is right</a>' in page
        assert is_linked == (decide in text_of(page))
        return is_linked, "If the memory is wrong, forget it" in page

    assert advice() == (False, True)
    Conflicts(redis_client).judge("logic", *both, "contradict")
    assert advice() == (True, False)
    assert "A star." in here.get("/inbox?kind=conflict").text
    memory.decide(ConflictDecision(memories=both, right=both[0]))
    assert advice() == (False, True)


def test_who_calls_an_answer_wrong_that_was_graded_well_is_not_sent_to_its_grade(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    for journey, text, total in (("t1", "Nothing.", 90), ("t2", "Nothing.", 20), ("t3", "A light.", 90)):
        answered(backend, shelf["logic"], journey=journey, text=text)
        graded(backend, journey, total)

    def said(journey: str) -> str:
        page = here.post(f"/journeys/{journey}/feedback", data={"answer": "wrong"}, headers=FROM_PAGE).text
        return text_of(page[page.index('<p class="notice bad">') :].split("</p>")[0])

    assert said("t1") == "You said that this answer is wrong. It follows none of the memories."
    assert said("t2") == "You said that this answer is wrong. It follows none of the memories: look at the grade."
    assert said("t3") == "You said that this answer is wrong; it follows this memory closely."


def test_the_figures_of_what_was_shown_say_the_same_as_who_is_blamed(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    texts = ("The lamp shines from 9 in the evening.", "The lamp shines from 10 in the evening.", "Evening is late.")
    other, own, loosely = map(str, memory.add([NewMemory(pool="logic", answer=one, new_pool=True) for one in texts]))
    answered(backend, other, own, loosely, text="Each lamp shines from 10 in the evening.")
    answered(backend, loosely, journey="t2", text="In the evening.")
    graded(backend, "t1", 90)

    page = here.post("/journeys/t1/feedback", data={"answer": "wrong"}, headers=FROM_PAGE).text
    loose = here.post("/journeys/t2/feedback", data={"answer": "wrong"}, headers=FROM_PAGE).text

    assert here.get("/v1/journeys/t1").json()["feedback"] == {own: 0.0}
    assert "Followed by the answer 0%" in card_of(page, other)
    assert "Followed by the answer 83%" in card_of(page, own)
    assert "the wrong answer followed it most" in card_of(page, own)
    assert here.get("/v1/journeys/t2").json()["feedback"] == {loosely: 0.0}
    assert "Followed by the answer in other words" in card_of(loose, loosely)
    assert "follows none" not in text_of(loose)
    assert "It follows memories below in small part, or in other words" in text_of(loose)
    assert "in other words" in text_of(here.get(f"/memories/{loosely}").text)
    assert "in other words" not in text_of(here.get(f"/memories/{other}").text)
    [told] = here.get(f"/v1/memories/{other}/shown").json()["journeys"]
    assert (told["share"], told["follows"]) == (0.0, False)


def test_a_short_pair_that_is_said_in_a_sentence_is_blamed_and_followed_wholly(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    pairs = [
        NewMemory(pool="logic", prompt="Who bakes?", answer=one, new_pool=True) for one in ("Arne Lund", "Ida Moe")
    ]
    own, other = map(str, memory.add(pairs))
    answered(backend, other, own, text="The baker of the bakery is Arne Lund.")

    page = here.post("/journeys/t1/feedback", data={"answer": "wrong"}, headers=FROM_PAGE).text

    assert here.get("/v1/journeys/t1").json()["feedback"] == {own: 0.0}
    assert "Followed by the answer 100%" in card_of(page, own)
    assert "Followed by the answer 0%" in card_of(page, other)
    assert "the wrong answer followed it most" in card_of(page, own)
    [told] = here.get(f"/v1/memories/{own}/shown").json()["journeys"]
    assert (told["share"], told["follows"]) == (1.0, True)


def test_of_a_memory_that_is_gone_for_good_nothing_is_denied(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    answered(backend, shelf["logic"])
    graded(backend, "t1", 20)
    here.delete(f"/v1/memories/{shelf['logic']}")

    backend.redis.delete(f"memshare:trash:memory:{shelf['logic']}")

    said = text_of(here.get("/journeys/t1").text)
    assert "Whether it follows a memory that is gone cannot be said any more" in said
    assert "follows none" not in said


def test_a_wrong_memory_is_changed_from_the_journey_and_leads_back_to_it(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    answered(backend, shelf["logic"])
    assert '<details class="card" id="edit">' in here.get(f"/memories/{shelf['logic']}").text
    [link] = re.findall(r'href="(/memories/[^"]+)#edit">Change it', here.get("/journeys/t1").text)

    form = here.get(html.unescape(link)).text
    assert '<details class="card" id="edit" open>' in form
    changed = here.post(
        f"/memories/{shelf['logic']}", data=hidden(form, "edit") | {"prompt": "x", "answer": "y"}, headers=FROM_PAGE
    )

    assert changed.url.path == "/journeys/t1"
    assert "The memory was changed. Ask again" in text_of(changed.text)
    [undo] = re.findall(r'action="(/memories/[^"]+/text-before[^"]*)"', changed.text)
    undone = here.post(html.unescape(undo), headers=FROM_PAGE)
    assert undone.url.path == "/journeys/t1"
    assert "red lamp by the sea A light." in card_of(undone.text, shelf["logic"])


def test_undo_and_an_edit_back_say_how_many_answers_are_shown_again(here: TestClient, backend: Backend) -> None:
    memories = backend.client.memories
    [fact] = memories.add([NewMemory(pool="poem", answer="It is on the second floor.", new_pool=True)])
    answer = memories.get(fact).model_copy(
        update={"id": UUID(int=9), "prompt": "Which floor?", "answer": "The second.", "kind": None, "parents": (fact,)}
    )
    memories.restore([answer])
    page, back = f"/memories/{fact}", "Written from this text, and shown again: 1 answer."

    changed = here.post(page, data=hidden(here.get(page).text, "edit") | {"answer": "The third."}, headers=FROM_PAGE)
    assert (memories.get(answer.id).status, back in text_of(changed.text)) == ("stale", False)
    [undo] = re.findall(r'action="(/memories/[^"]+/text-before[^"]*)"', changed.text)
    undone = here.post(html.unescape(undo), headers=FROM_PAGE)
    assert f"It has to prove itself anew. {back}" in text_of(undone.text)
    assert memories.get(answer.id).status == "active"

    for said, again in (("The third.", 0), ("It is on the second floor.", 1)):
        version = here.get(f"/v1{page}").headers["ETag"]
        reply = here.patch(f"/v1{page}", json={"answer": said}, headers={"If-Match": version})
        assert reply.json()["active_again"] == again


def test_once_a_memory_is_forgotten_the_right_fact_is_brought_in_from_the_journey(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    answered(backend, shelf["poem"])
    assert "Bring in the right fact" not in here.get("/journeys/t1").text
    assert '<details class="card" id="bring-in">' in here.get("/pool").text
    here.delete(f"/v1/memories/{shelf['poem']}")
    [link] = re.findall(r'href="(/pool[^"]+)#bring-in">Bring in the right fact', here.get("/journeys/t1").text)

    form = here.get(html.unescape(link)).text
    assert '<details class="card" id="bring-in" open>' in form
    assert 'name="pool" required list="pools" value="poem"' in form
    brought = here.post(
        "/pool", data=hidden(form, "bring-in") | {"pool": "poem", "answer": "A new poem.", "new_pool": "yes"},
        headers=FROM_PAGE,
    )  # fmt: skip

    assert brought.url.path == "/journeys/t1"
    assert "It is in the pool. Ask again" in text_of(brought.text)
    assert backend.client.memories.stats().by_pool["poem"] == 1


def test_what_is_brought_in_though_it_is_hidden_there_says_so_and_how_it_is_shown_again(
    here: TestClient, shelf: dict[str, str], memory: MemoryClient
) -> None:
    memory.edit(Edit(id=UUID(shelf["logic"]), status="hidden"))
    given = {"pool": "logic", "prompt": "red lamp by the sea", "answer": "A light.", "back": "/journeys/t1"}

    brought = here.post("/pool", data=given, headers=FROM_PAGE)

    assert brought.url.path == f"/memories/{shelf['logic']}"
    assert "It is in the pool, but hidden: if it is right, show it again here." in text_of(brought.text)
    assert "Show it again" in brought.text


def hidden(page: str, form: str) -> dict[str, str]:
    """The hidden fields of a form, by the id of what it stands in."""
    part = page[page.index(f'id="{form}"') :].split("</form>")[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', part))
