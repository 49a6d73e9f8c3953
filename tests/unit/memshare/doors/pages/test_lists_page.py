"""Lists that are sorted by their headings, the figures of a memory, and addresses at which there is nothing."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import PROMPT, answered, graded, text_of

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
    assert here.get("/nope").json()["title"] == "Not Found"
    tokened("viewer", "recall")
    stranger = here.get("/nope", headers=BROWSER, follow_redirects=False)
    assert (stranger.status_code, stranger.headers["location"]) == (303, "/sign-in")


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
