"""Lists that are sorted by their headings, the figures of a memory, and addresses at which there is nothing."""

from __future__ import annotations

import html
import re
from uuid import UUID

import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import PROMPT, answered, entry, graded, text_of
from tests.unit.memshare.doors.test_needs import contradictory

BROWSER = {"accept": "text/html,application/xhtml+xml"}


def headings(page: str) -> list[str]:
    head = page[page.index("<thead>") : page.index("</thead>")]
    return [text_of(one) for one in re.findall(r"<th[^>]*>(.*?)</th>", head)][1:]


def test_an_address_without_a_page_is_a_page_with_the_menu_and_for_programs_a_problem(
    here: TestClient, tokened: Tokened
) -> None:
    page = here.get("/nope", headers=BROWSER)

    assert (page.status_code, "There is no page at this address." in page.text) == (404, True)
    assert "<title>Not found" in page.text
    assert '<nav aria-label="Screens">' in page.text
    assert '<nav aria-label="Screens">' in here.get("/journeys/unknown").text
    assert '<nav aria-label="Screens">' in here.get("/pool/several", headers=BROWSER).text
    assert here.get("/journeys/", headers=BROWSER).text.count("<h1>Journeys</h1>") == 1
    assert here.get("/pool/several").json()["title"] == "Method Not Allowed"
    assert here.get("/nope").json()["title"] == "Not Found"
    tokened("viewer", "recall")
    stranger = here.get("/nope", headers=BROWSER, follow_redirects=False)
    assert (stranger.status_code, stranger.headers["location"]) == (303, "/sign-in?to=%2Fnope")


def test_all_pools_have_a_column_that_one_has_not_and_what_nothing_has_takes_no_column(
    here: TestClient, shelf: dict[str, str]
) -> None:
    assert shelf
    assert headings(here.get("/pool").text) == ["Memory", "Pool", "Kind", "By", "Made ↓"]
    assert headings(here.get("/pool?pool=poem").text) == ["Memory", "By", "Made ↓"]


def test_a_heading_sorts_the_list_and_turns_its_order(here: TestClient, memory: MemoryClient) -> None:
    ids = memory.add([NewMemory(pool="logic", answer=f"Lamp {at}.", new_pool=True) for at in range(3)])
    memory.restore([memory.get(one).model_copy(update={"score": 70.0 + at}) for at, one in enumerate(ids)])

    def listed(query: str) -> list[str]:
        return re.findall(r"<bdi>(Lamp \d)\.</bdi></a>", here.get(f"/pool?pool=logic{query}").text)

    page = here.get("/pool?pool=logic&score_from=10").text
    assert '<a href="/pool?score_from=10&amp;pool=logic&amp;q=&amp;order=score">Score</a>' in page
    assert '&amp;order=-created">Made ↓</a>' in page
    assert (listed("&order=score"), listed("&order=-score")) == (
        ["Lamp 2", "Lamp 1", "Lamp 0"], ["Lamp 0", "Lamp 1", "Lamp 2"],
    )  # fmt: skip
    assert headings(here.get("/pool?pool=logic&order=-score").text) == ["Memory", "Kind", "By", "Score ↑", "Made"]


def test_journeys_are_sorted_by_a_heading_too(here: TestClient, backend: Backend) -> None:
    for at, score in enumerate((70, 90, 80)):
        answered(backend, journey=f"t{at}")
        graded(backend, f"t{at}", score)

    def listed(query: str) -> list[str]:
        return re.findall(r'href="/journeys/(t\d)"', here.get(f"/{query}").text)

    assert listed("?order=score") == ["t1", "t2", "t0"]
    assert listed("?order=-score") == ["t0", "t2", "t1"]
    assert listed("?order=nothing") == listed("") == ["t2", "t1", "t0"]
    page = here.get("/?accepted=true&order=score").text
    assert '<a href="/?accepted=true&amp;order=-score">Score ↓</a>' in page
    assert headings(page)[-1] == "When"


def test_a_list_that_is_cut_says_so_and_has_more(here: TestClient, backend: Backend) -> None:
    for number in range(31):
        backend.client.ledger.open(entry(f"t{number}", "answer"))

    page = here.get("/?state=queued")
    [more] = re.findall(r'These are the latest 30: <a href="([^"]+)">the latest 200</a>', page.text)
    assert page.text.count('href="/journeys/t') == 30

    whole = here.get(html.unescape(more)).text
    assert whole.count('href="/journeys/t') == 31
    assert "These are the latest" not in whole


def test_a_journey_is_headed_by_its_question_and_its_memories_by_the_figures_that_differ(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    [statement] = memory.add([NewMemory(pool="logic", answer="The lamp is red.")])
    answered(backend, shelf["logic"], str(statement))
    graded(backend, "t1", 90)

    page = here.get("/journeys/t1").text

    assert f"<bdi>{PROMPT}</bdi></h1>" in page
    pair, stated = re.findall(r'<dl class="facts">.*?</dl>', page, re.DOTALL)
    assert re.findall(r"<dt>(?:<span[^>]+>)?([^<]+)", pair) == ["Similarity", "Followed by the answer"]
    assert re.findall(r"<dt>(?:<span[^>]+>)?([^<]+)", stated) == [
        "Similarity", "Followed by the answer", "Credibility",
    ]  # fmt: skip


def test_a_page_beyond_the_list_and_a_pool_that_is_not_there_are_no_empty_pool(
    here: TestClient, shelf: dict[str, str]
) -> None:
    assert shelf

    assert "The list ends before this page" in text_of(here.get("/pool?page=99").text)
    assert "No memory is in a pool nosuch" in text_of(here.get("/pool?pool=nosuch").text)


def test_contradicted_memories_and_those_found_wrong_can_be_listed(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis, shelf: dict[str, str]
) -> None:
    right, wrong = contradictory(memory, redis_client)

    def listed(status: str) -> set[str]:
        query = f"/pool?pool=logic&status={status}"
        return set(re.findall(r'<a href="/memories/([0-9a-f-]{36})" dir', here.get(query).text))

    assert listed("contradicted") == {right, wrong}
    assert listed("found wrong") == set()
    here.post("/v1/conflicts", json={"memories": [right, wrong], "contradict": True, "right": right})
    assert (listed("contradicted"), listed("found wrong")) == (set(), {wrong})
    asked = {"pool": "logic", "status": "found wrong", "text": "lamp"}
    found = here.post("/v1/memories/search", json=asked).json()["memories"]
    assert [one["memory"]["id"] for one in found] == [wrong]
    assert here.get("/v1/memories/counts?status=found wrong").json()["total"] == 1
    assert shelf["logic"] in listed("")


def test_the_lowest_score_first_begins_with_one_that_was_graded(
    here: TestClient, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    [graded_one] = memory.add([NewMemory(pool="logic", answer="A lamp.", new_pool=True)])
    memory.restore([memory.get(graded_one).model_copy(update={"score": 70.0})])

    page = here.get("/pool?pool=logic&order=-score").text

    assert f"/memories/{graded_one}" in page
    assert shelf["logic"] not in page
    assert "1 to 1 of 1 memory, lowest score first" in text_of(page)


def test_hiding_the_chosen_with_none_chosen_goes_back_to_the_list_and_says_so(here: TestClient) -> None:
    page = here.post("/pool/several", data={"do": "hide", "pool": "logic"}, headers={"origin": "http://127.0.0.1"})

    assert (page.status_code, page.url.path) == (200, "/pool")
    assert "No memory was chosen" in page.text


def test_a_concept_of_two_levels_stands_once_on_its_memory(
    here: TestClient, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    named = {"0": ("Lamp",), "1": ("Light", "Lamp")}
    memory.restore([memory.get(UUID(shelf["logic"])).model_copy(update={"concepts": named})])

    assert here.get(f"/memories/{shelf['logic']}").text.count("<bdi>Lamp</bdi>") == 1


def test_what_a_cap_refuses_keeps_the_menu_and_leads_to_the_cap_and_nobody_without_a_token_signs_in(
    here: TestClient, shelf: dict[str, str]
) -> None:
    here.post("/v1/budgets", json={"kind": "agent", "name": "logic", "tokens": 0})
    sent = {"origin": "http://127.0.0.1", "referer": "http://127.0.0.1/inbox?kind=x"}

    page = here.post("/inbox/stale", data={"decision": "grade", "memory": shelf["logic"]}, headers=sent)

    assert page.status_code == 429
    assert '<nav aria-label="Screens">' in page.text
    assert '<a href="/now#spent">' in page.text
    again = here.post("/inbox/stale", data={}, headers=sent).text
    assert 'role="alert"' in again
    assert "<h1>Needs you</h1>" in again
    sent["referer"] = "http://127.0.0.1/journeys/none?x=1"
    wrong = here.post("/journeys/none/cancel", headers=sent).text
    assert '<a href="/journeys/none?x=1">Back</a>' in wrong
    assert "another token" not in wrong
