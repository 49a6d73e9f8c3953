"""That an answer is right or wrong is said on the page of its journey, once, and what is wrong can be forgotten."""

from __future__ import annotations

import html
import json
import re
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.delivery.schema import MESSAGES
from memshare_broker.wire.grades import Settlement
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.people import wrong_answers
from tests.support.memories import remembered
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import PROMPT, answered, graded, record, text_of
from tests.unit.memshare.doors.pages.test_shown_memories import FROM_PAGE, card_of

WRONG, RIGHT = "This answer is wrong", "This answer is right"
MISLED = "it misled: the wrong answer followed it most"


def ended(backend: Backend, *shown: str, kept: str | None = None, total: float = 90) -> None:
    """A journey that came to its end: of an accepted answer, as long as nothing else is said."""
    answered(backend, *shown)
    settled(backend, "t1", kept, total)


def settled(backend: Backend, journey: str, kept: str | None = None, total: float = 90) -> None:
    graded(backend, journey, total)
    memory = UUID(kept) if kept else None
    record(backend, journey, "settle", Settlement(memory_id=memory, outcome="stored", reason="a test"))


def said_on_the_page(client: TestClient, what: str) -> str:
    """The page after somebody pressed a button."""
    return client.post("/journeys/t1/feedback", data={"answer": what}, headers=FROM_PAGE).text


def card(page: str) -> str:
    """What the page tells of what was said."""
    return text_of(page[page.index('<article class="card" id="opinion"') :].split("</article>")[0])


def credited(backend: Backend) -> list[tuple[str, float]]:
    """The memories that the memory service is told of, each with its verdict."""
    sent = [json.loads(text) for text in backend.redis.hvals(MESSAGES)]
    verdicts = [one["body"] for one in sent if one["task"] == "memory_service.credit"]
    return [(one["shown"][0]["id"], one["verdict"]) for one in verdicts]


def test_who_says_that_an_accepted_answer_is_wrong_is_told_what_that_did(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    [kept] = memory.add([NewMemory(pool="logic", prompt="its own", answer="A light.")])
    ended(backend, shelf["logic"], kept=str(kept))
    before = here.get("/journeys/t1").text
    assert WRONG in before
    assert RIGHT in before
    assert MISLED not in before

    page = said_on_the_page(here, "wrong")

    assert credited(backend) == [(shelf["logic"], 0.0)]
    told = card(page)
    assert "You said that this answer is wrong. This memory that it was shown counts for less from now on" in told
    assert f"memory {shelf['logic'][:8]}" in told
    assert "You said that this answer is wrong; it follows this memory closely" in text_of(page)
    assert MISLED in card_of(page, shelf["logic"])
    assert WRONG not in page
    told = here.get("/v1/journeys/t1").json()["opinion"]
    assert told == {"by": "anonymous", "reward": 0.0, "hides": True, "hid": str(kept)}


def test_where_what_somebody_found_right_is_called_wrong_the_page_says_so_and_that_the_other_is_not_shown_either(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    other = str(memory.add([NewMemory(pool="logic", prompt="red lamp by the sea", answer="A star.")])[0])
    ended(backend, kept=shelf["logic"])
    two = [shelf["logic"], other]
    here.post("/v1/conflicts", json={"memories": two, "contradict": True, "right": shelf["logic"]})

    page = said_on_the_page(here, "wrong")

    assert (
        f"Somebody had found it right over memory {other[:8]} : neither is shown, until that is taken back, too."
        in card(page)
    )


def test_what_was_said_twice_counts_once_and_the_first_word_stands(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    ended(backend, shelf["logic"])
    said_on_the_page(here, "wrong")

    page = said_on_the_page(here, "right")

    assert credited(backend) == [(shelf["logic"], 0.0)]
    assert "You said that this answer is wrong." in card(page)


def test_a_right_answer_is_credited_and_asks_for_nothing(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    ended(backend, shelf["logic"], kept=shelf["poem"])

    page = said_on_the_page(here, "right")

    assert credited(backend) == [(shelf["logic"], 1.0)]
    assert "You said that this answer is right. This memory that it was shown counts for more" in card(page)
    assert "Forget the memory" not in card(page)
    assert "it misled" not in page


def test_the_memory_that_was_kept_from_a_wrong_answer_is_forgotten_and_a_right_one_brought_in(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    ended(backend, kept=shelf["logic"])
    page = said_on_the_page(here, "wrong")
    assert "No memory was shown, so none counts for less." in card(page)
    [link] = re.findall(r'href="([^"]+)">Forget the memory that was kept from this answer', page)
    assert "back=/journeys/t1" in link

    asked = dict(re.findall(r'type="hidden" name="(back|id)" value="([^"]+)"', here.get(link).text))
    assert asked == {"back": "/journeys/t1", "id": shelf["logic"]}
    done = here.post("/pool/several/forget", data=asked, headers=FROM_PAGE)

    assert done.url.path == "/journeys/t1"
    assert "The memory that was kept from this answer was forgotten." in card(done.text)
    assert f"memory {shelf['logic'][:8]}, forgotten since" in done.text
    assert "Bring in the right answer" in card(done.text)
    assert "Forget the memory" not in card(done.text)


def test_what_was_kept_from_a_wrong_answer_is_hidden_at_once_and_undo_takes_all_of_that_back(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    ended(backend, kept=shelf["logic"])
    assert here.post("/v1/recall", json={"pool": "logic", "prompt": PROMPT}).json()["memories"]

    page = said_on_the_page(here, "wrong")

    assert "is hidden: no task is shown it." in text_of(page)
    assert here.post("/v1/recall", json={"pool": "logic", "prompt": PROMPT}).json()["memories"] == []
    [undo] = re.findall(r'action="(/journeys/t1/feedback[?][^"]+)"', page)
    undone = here.post(html.unescape(undo), headers=FROM_PAGE).text
    assert memory.get(UUID(shelf["logic"])).status == "active"
    assert "You said that" not in text_of(undone)
    assert WRONG in undone
    assert RIGHT in undone


@pytest.mark.parametrize("what", ["right", "wrong"])
def test_what_was_said_can_be_taken_back_after_a_reload_and_said_anew(
    here: TestClient, backend: Backend, shelf: dict[str, str], what: str
) -> None:
    ended(backend, shelf["logic"])
    said_on_the_page(here, what)
    assert "Take that back" in here.get("/journeys/t1").text

    page = said_on_the_page(here, "undecided")

    assert "Take that back" not in page
    assert WRONG in page
    assert "You said that this answer is right." in card(said_on_the_page(here, "right"))


def test_a_wrong_answer_that_was_accepted_is_green_nowhere_and_found_by_a_filter(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    ended(backend, kept=shelf["logic"])
    green = '<b class="good-text">90.0</b>'
    assert green in here.get("/journeys/t1").text
    assert PROMPT not in text_of(here.get("/?opinion=wrong").text)

    page = said_on_the_page(here, "wrong")

    assert green not in page
    assert "accepted, the threshold is 81.0; since then you said that it is wrong" in text_of(page)
    assert f"Remembered yes: memory {shelf['logic'][:8]} , hidden since" in text_of(page)
    listed = here.get("/?opinion=wrong").text
    assert PROMPT in text_of(listed)
    assert '<span class="chip bad">wrong</span>' in listed


def test_what_still_says_so_is_named_and_hidden_with_one_button(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    new = [NewMemory(pool="logic", prompt=one, answer="A LIGHT.") for one in (PROMPT, "Who wrote the verse?")]
    like, unlike = memory.add(new)
    ended(backend, shelf["logic"])
    page = said_on_the_page(here, "wrong")
    named = f"Tasks are still shown memories that say so: memory {shelf['logic'][:8]} , memory {str(like)[:8]} ."
    assert named in card(page)
    assert str(unlike) not in page

    form = page[page.index('action="/pool/several"') :].split("</form>")[0]
    done = here.post("/pool/several", data=dict(re.findall(r'name="(\w+)" value="([^"]*)"', form)), headers=FROM_PAGE)

    assert done.url.path == "/journeys/t1"
    assert [memory.get(one).status for one in (UUID(shelf["logic"]), like, unlike)] == ["hidden", "hidden", "active"]
    assert "still shown" not in done.text
    [undo] = re.findall(r'action="(/pool/several[?][^"]+)"', done.text)
    later = here.get("/journeys/t1").text
    both = sorted((UUID(shelf["logic"]), like), key=str)
    links = " , ".join(f"memory {str(one)[:8]}" for one in both)
    assert f"2 memories that say so are hidden with it: {links} . Taking that back shows them again." in card(later)
    assert here.get("/v1/journeys/t1").json()["also_hid"] == [*map(str, both)]
    memory.edit(Edit(id=like, status="active"))
    assert (
        f"1 memory that says so is hidden with it: memory {shelf['logic'][:8]} . Taking that back shows it again."
        in card(here.get("/journeys/t1").text)
    )
    memory.edit(Edit(id=like, status="hidden"))
    assert here.post(html.unescape(undo), headers=FROM_PAGE).url.path == "/journeys/t1"
    assert memory.get(like).status == "active"
    assert "hidden with it" not in here.get("/journeys/t1").text
    assert here.get("/v1/journeys/t1").json()["also_hid"] == []


def test_an_answer_is_wrong_with_another_end_too_and_undoing_its_return_keeps_that(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    ended(backend, shelf["logic"])
    said_on_the_page(here, "wrong")
    hide_all(here)
    brought = {"pool": "logic", "prompt": PROMPT, "kind": "riddle", "agent": "logic"}
    address = f"/memories/{shelf['logic']}"

    def refused() -> set[int]:
        return {
            here.post("/v1/memories", json={**brought, "answer": one}).status_code for one in ("A light!", '"a light"')
        }

    assert refused() == {409}

    page = here.get(address).text
    [version] = {*re.findall(r'name="version" value="([^"]*)"', page)}
    shown = here.post(f"{address}/status", data={"status": "active", "version": version}, headers=FROM_PAGE).text
    [undo] = re.findall(rf'action="({address}/status[?][^"]+)"', shown)
    here.post(html.unescape(undo), headers=FROM_PAGE)

    assert memory.get(UUID(shelf["logic"])).status == "hidden"
    assert "called its answer wrong" in here.get(address).text
    assert refused() == {409}

    here.post(
        f"{address}/status",
        data={"status": "active", "version": here.get(f"/v1{address}").json()["version"]},
        headers=FROM_PAGE,
    )
    memory.edit(Edit(id=UUID(shelf["logic"]), answer="A star."))
    assert here.post(html.unescape(undo), headers=FROM_PAGE).status_code == 412
    assert not [*wrong_answers(backend.redis, "A star.")]


def hiding(client: TestClient) -> dict[str, str]:
    """What the button that hides all that says so sends."""
    page = client.get("/journeys/t1").text
    form = page[page.index('action="/pool/several"') :].split("</form>")[0]
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))


def hide_all(client: TestClient) -> str:
    """The page after all that says so was hidden."""
    return client.post("/pool/several", data=hiding(client), headers=FROM_PAGE).text


def test_a_page_that_stood_open_hides_nothing_that_was_corrected_or_taken_back_since(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    [like] = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer="A LIGHT.")])
    ended(backend, shelf["logic"])
    said_on_the_page(here, "wrong")
    stood_open = hiding(here)
    assert str(like) in stood_open["id"]

    memory.edit(Edit(id=like, answer="A star."))
    done = here.post("/pool/several", data=stood_open, headers=FROM_PAGE).text

    assert "Hidden: 1 memory." in done
    assert [memory.get(one).status for one in (UUID(shelf["logic"]), like)] == ["hidden", "active"]
    assert "called wrong" not in text_of(here.get(f"/memories/{like}").text)
    assert here.get("/v1/journeys/t1").json()["also_hid"] == [shelf["logic"]]

    said_on_the_page(here, "undecided")
    done = here.post("/pool/several", data=stood_open, headers=FROM_PAGE).text
    assert "Nothing was changed: none that says so is shown any more." in done
    assert memory.get(UUID(shelf["logic"])).status == "active"


def test_what_was_hidden_as_it_says_so_comes_back_when_the_word_is_taken_back(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    answers = ("A LIGHT.", "a light.", "A Light.")
    like, alike, by_hand = memory.add([NewMemory(pool="logic", prompt=PROMPT, answer=one) for one in answers])
    memory.edit(Edit(id=by_hand, status="hidden"))
    ended(backend, shelf["logic"])
    said_on_the_page(here, "wrong")
    hide_all(here)
    known = (UUID(shelf["logic"]), like, alike, by_hand)
    assert [memory.get(one).status for one in known] == ["hidden"] * 4
    memory.edit(Edit(id=alike, status="active"))

    said_on_the_page(here, "undecided")

    assert [memory.get(one).status for one in known] == ["active", "active", "active", "hidden"]
    said_on_the_page(here, "wrong")
    memory.edit(Edit(id=like, status="hidden"))
    said_on_the_page(here, "undecided")
    assert memory.get(like).status == "hidden", "what was noted of an earlier word counts for none after it"


def test_what_was_shown_again_by_undo_and_hidden_by_hand_stays_hidden(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    ended(backend, shelf["logic"])
    said_on_the_page(here, "wrong")
    [undo] = re.findall(r'action="(/pool/several[?][^"]+)"', hide_all(here))
    here.post(html.unescape(undo), headers=FROM_PAGE)
    memory.edit(Edit(id=UUID(shelf["logic"]), status="hidden"))

    said_on_the_page(here, "undecided")

    assert memory.get(UUID(shelf["logic"])).status == "hidden"


def test_forgetting_what_misled_takes_what_was_written_from_it_with_it(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    [child, _] = remembered("red", answer="A light at sea.", pool="logic", parents=(UUID(shelf["logic"]),))
    memory.restore([child])
    ended(backend, shelf["logic"])
    page = said_on_the_page(here, "wrong")

    [link] = re.findall(r'href="([^"]+)">Forget the memory that misled it', page)

    assert 'name="children" value="yes" checked' in here.get(html.unescape(link)).text
    assert 'name="children" value="yes">' in here.get(f"/memories/{shelf['logic']}/forget").text


def test_the_right_answer_is_brought_in_with_its_question_and_the_wrong_one_before_it(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    ended(backend, kept=shelf["logic"])
    [link] = re.findall(r'href="(/pool[^"]+)#bring-in">Bring in the right answer', said_on_the_page(here, "wrong"))

    form = here.get(html.unescape(link)).text

    form = form[form.index('id="bring-in" open') :]
    assert f'name="prompt" rows="2">\n{PROMPT}</textarea>' in form
    assert 'name="kind" value="riddle"' in form
    assert "In place of this answer: A light." in text_of(form)


def test_a_grade_that_rejected_a_right_answer_blames_no_memory_any_more(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    ended(backend, shelf["logic"], total=20)
    assert "the rejected answer followed it most" in here.get("/journeys/t1").text

    page = said_on_the_page(here, "right")

    assert "followed it most" not in page
    assert "not good enough" not in page


def test_what_a_program_told_by_rest_stands_on_the_page(
    backend: Backend, shelf: dict[str, str], tokened: Tokened
) -> None:
    ended(backend, shelf["logic"])
    checker = tokened("checker", "offer", "watch")
    assert checker.post("/v1/feedback", json={"journey": "t1", "reward": 0.2}).json()["taken"] == [shelf["logic"]]

    watcher = tokened("wanda", "watch", "recall")

    assert "checker said that this answer is wrong." in card(watcher.get("/journeys/t1").text)


@pytest.mark.parametrize("rights", [("watch", "recall"), ("watch", "offer")])
def test_only_who_may_give_feedback_has_the_buttons(
    backend: Backend, shelf: dict[str, str], tokened: Tokened, rights: tuple[str, ...]
) -> None:
    ended(backend, shelf["logic"])
    somebody = tokened("wanda", *rights)

    page = somebody.get("/journeys/t1").text
    origin = {"origin": f"http://{somebody.base_url.netloc.decode()}"}
    answer = somebody.post("/journeys/t1/feedback", data={"answer": "wrong"}, headers=origin)

    assert (WRONG in page) == ("offer" in rights)
    assert ("You said that this answer is wrong" in text_of(answer.text)) == ("offer" in rights)
    assert ("it takes the right 'offer'" in text_of(answer.text)) == ("offer" not in rights)


def test_whoever_made_the_recall_of_a_pair_has_the_buttons_and_nobody_else(
    backend: Backend, tokened: Tokened, shelf: dict[str, str]
) -> None:
    ada, cora = tokened("ada", "recall", "offer", "watch"), tokened("cora", "watch", "offer")
    recall = ada.post("/v1/recall", json={"agent": "logic", "prompt": "a lamp by the sea"}).json()["recall_id"]
    pair = {"agent": "logic", "prompt": "x", "answer": "y", "recall_id": recall}
    journey = ada.post("/v1/pairs", json=pair).json()["id"]
    settled(backend, journey, shelf["logic"])

    assert WRONG in ada.get(f"/journeys/{journey}").text
    assert WRONG not in cora.get(f"/journeys/{journey}").text


def test_what_says_so_to_a_question_that_is_less_alike_is_named_and_hidden_with_a_button_of_its_own(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    long = "A light that burns in the hall all night."
    [other] = memory.add([NewMemory(pool="logic", prompt="Who wrote the verse?", answer=long)])
    answered(backend, shelf["logic"], text=long)
    settled(backend, "t1")

    page = said_on_the_page(here, "wrong")

    named = "say so to questions less like this one (similarity below 0.70): "
    assert f"{named}memory {str(other)[:8]} ." in card(page)
    here.post("/pool/several", data=hiding(here), headers=FROM_PAGE)
    assert memory.get(other).status == "hidden"
