"""What the page of a journey, and the lists that lead to it, say of what the stages recorded."""

from __future__ import annotations

import re
import time
from pathlib import Path
from uuid import UUID

from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.journey_records import unname
from memshare_broker.delivery.schema import journey_key
from memshare_broker.errors import GiveUp, NotYet
from memshare_broker.wire.lessons import Compared, Lesson
from memshare_broker.wire.messages import Usage
from memshare_memory.curate.requests import Edit
from memshare_memory.door.client import MemoryClient
from tests.unit.memshare.doors.conftest import Tokened, bury
from tests.unit.memshare.doors.pages.journey_records import (
    AGENT,
    MODEL,
    PROMPT,
    answered,
    entry,
    graded,
    record,
    text_of,
    unanswered,
)


def test_a_dead_letter_that_was_dropped_cannot_be_tried_again(here: TestClient, backend: Backend) -> None:
    letter = bury(backend, "logic", "It went wrong.")
    journey = backend.client.dead_letters.get(letter).entry.journey
    assert "Try the failed step again" in here.get(f"/journeys/{journey}").text
    assert here.get(f"/v1/journeys/{journey}").json()["dead_letter"] == letter

    here.delete(f"/v1/dead-letters/{letter}")

    page = here.get(f"/journeys/{journey}").text
    assert "Try the failed step again" not in page
    assert "It went wrong." in page
    assert here.get(f"/v1/journeys/{journey}").json()["dead_letter"] is None


def test_a_journey_says_who_tried_it_again_or_dropped_it_and_with_how_many_others(
    here: TestClient, backend: Backend
) -> None:
    for one in ("t1", "t2", "t3"):
        backend.client.ledger.open(entry(one, "answer"))
        backend.client.dead_letters.add(letter_for(entry(one, "answer"), GiveUp("It went wrong."), tries=1))

    page = {"origin": "http://127.0.0.1"}
    here.post("/inbox/letter", data={"decision": "retry", "letter": ["t1", "t2"]}, headers=page)
    here.delete("/v1/dead-letters/t3")

    again, dropped = (here.get(f"/v1/journeys/{one}").json()["decided"] for one in ("t2", "t3"))
    assert [(one["did"], one["others"]) for one in (again, dropped)] == [("tried again", 1), ("dropped", 0)]
    assert again["by"] == "anonymous"
    assert re.search(r"Tried again by anonymous ?, .*, chosen with 1 other\.", text_of(here.get("/journeys/t1").text))
    unname(backend.redis, "anonymous")
    assert here.get("/v1/journeys/t1").json()["decided"]["by"] == "somebody"


def test_a_letter_that_is_kept_longer_than_its_journey_leaves_no_journey_behind(
    here: TestClient, backend: Backend
) -> None:
    letter = bury(backend, "logic", "It went wrong.")
    key = journey_key(backend.client.dead_letters.get(letter).entry.journey)
    backend.redis.delete(key)

    here.delete(f"/v1/dead-letters/{letter}")

    assert not backend.redis.exists(key)


def test_the_cost_of_every_hop_stands_in_tokens_and_money(here: TestClient, backend: Backend, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(f'currency = "EUR"\n["{MODEL}"]\nprompt = 2.0\ncompletion = 10.0\n')
    backend.settings = backend.settings.model_copy(update={"prices": prices})
    answered(backend)
    graded(backend, "t1", 90)
    asked = Usage(prompt_tokens=7)
    lesson = Lesson(outcome="learnt", reason="a test", labelled_by="json", model="openai:other", usage=asked)
    record(backend, "t1", "learn", lesson)
    compared = Compared(memory_id=UUID(int=1), contradicted={}, compared=1, model=MODEL, usage=Usage(prompt_tokens=250))
    record(backend, "t1", "compare", compared)

    said = text_of(here.get("/journeys/t1").text)

    assert f"answer {MODEL} 1,000 100 0.003000" in said
    assert f"grade {MODEL} 500 0 0.001000" in said
    assert "lesson openai:other 7 0 –" in said
    assert f"comparison {MODEL} 250 0 0.000500" in said
    assert "1,757 100 0.004500 Without what has no price." in said


def test_words_in_common_are_words_that_say_something(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    edited = Edit(id=UUID(shelf["logic"]), prompt="When does a lamp shine over the sea?", answer="At night.")
    backend.client.memories.edit(edited)
    answered(backend, shelf["logic"])

    page = here.get("/journeys/t1").text

    common = page[page.index("Words in common") :].split("</p>")[0]
    assert re.findall(r"<bdi>(\w+)</bdi>", common) == ["lamp", "shine"]


def test_the_prompt_is_shown_as_it_was_sent_also_where_a_memory_was_edited_since(
    here: TestClient, backend: Backend, shelf: dict[str, str], memory: MemoryClient
) -> None:
    answered(backend, shelf["logic"])
    turns = here.get("/v1/journeys/t1/prompt").json()["turns"]
    assert [one["role"] for one in turns] == ["system", "user", "assistant", "user"]
    assert [one["content"] for one in turns[1:]] == ["red lamp by the sea", "A light.", PROMPT]
    assert "riddle" in turns[0]["content"].casefold()

    memory.edit(Edit(id=UUID(shelf["logic"]), answer="A dark lamp."))
    sent = here.get("/v1/journeys/t1/prompt").json()
    assert sent["turns"] == turns
    assert any(shelf["logic"] in one and "something else" in one for one in sent["changed"])
    assert "As it was sent" in here.get("/journeys/t1").text

    here.delete(f"/v1/memories/{shelf['logic']}")
    sent = here.get("/v1/journeys/t1/prompt").json()
    assert [one["content"] for one in sent["turns"][1:]] == [PROMPT]
    assert any(shelf["logic"] in one and "forgotten" in one for one in sent["changed"])


def test_the_prompt_says_that_the_agents_file_was_written_since(
    here: TestClient, backend: Backend, tmp_path: Path
) -> None:
    answered(backend)
    assert here.get("/v1/journeys/t1/prompt").json()["changed"] == []
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "logic.toml").write_text(AGENT)

    backend.client.settings = backend.settings.model_copy(update={"agents_dir": agents})

    sent = here.get("/v1/journeys/t1/prompt").json()
    assert sent["turns"][0]["content"].startswith("Be brief.\n\nRhyme.")
    assert any("'logic' was written since" in one for one in sent["changed"])


def test_a_pair_that_somebody_brought_has_no_prompt(here: TestClient) -> None:
    pair = here.post("/v1/pairs", json={"agent": "logic", "prompt": "x", "answer": "y"}).json()["id"]

    assert here.get(f"/v1/journeys/{pair}/prompt").status_code == 422
    assert "As it was sent" not in here.get(f"/journeys/{pair}").text


def test_a_token_that_watches_sees_the_journeys_of_its_pools_and_changes_nothing(
    here: TestClient, backend: Backend, tokened: Tokened
) -> None:
    answered(backend)
    task = here.post("/v1/tasks", json={"agent": "poem", "prompt": "A limerick"}).json()["id"]
    watcher, reader = tokened("wanda", "watch", "recall"), tokened("rita", "recall")

    assert [one["id"] for one in watcher.get("/v1/journeys").json()["journeys"]] == ["t1"]
    assert watcher.get("/v1/journeys/t1").json()["answer"] == "A light."
    assert watcher.get("/v1/journeys/t1/prompt").status_code == 200
    assert watcher.get(f"/v1/journeys/{task}").status_code == 404
    assert reader.get("/v1/journeys/t1").status_code == 404
    assert reader.get("/v1/journeys").json()["journeys"] == []
    assert watcher.post("/v1/journeys/t1/again", json={}).status_code == 403
    assert watcher.delete("/v1/journeys/t1").status_code == 403
    assert watcher.post("/v1/memories", json={"pool": "logic", "answer": "x"}).status_code == 403


def test_a_list_of_journeys_is_of_what_was_asked_for(here: TestClient, backend: Backend) -> None:
    for name, total in (("good", 90), ("poor", 20)):
        answered(backend, journey=name)
        graded(backend, name, total)
    queued = here.post("/v1/tasks", json={"agent": "logic", "prompt": "What has keys?"}).json()["id"]

    def listed(**wanted: str) -> list[str]:
        return [one["id"] for one in here.get("/v1/journeys", params=wanted).json()["journeys"]]

    assert listed(accepted="true") == ["good"]
    assert listed(accepted="false") == ["poor"]
    assert listed(state="queued") == [queued]
    assert listed(submitter="ada") == ["poor", "good"]
    assert listed(submitter="ada", state="graded", accepted="true") == ["good"]
    assert listed(after=str(time.time() - 60)) == [queued, "poor", "good"]
    assert listed(after=str(time.time() + 60)) == []

    page = here.get("/?state=queued&agent=logic&within=3600").text
    on = re.findall(r'<a href="([^"]+)" aria-current="true"><bdi>([^<]+)</bdi>', page)
    assert {name: to for to, name in on} == {
        "logic": "/?state=queued&amp;within=3600", "waiting": "/?agent=logic&amp;within=3600",
        "last hour": "/?agent=logic&amp;state=queued",
    }  # fmt: skip
    assert '<a href="/?agent=logic&amp;state=dead&amp;within=3600">' in page
    assert text_of(page).count("What has keys?") == 1
    assert [here.get(f"/?{wrong}").status_code for wrong in ("state=lost", "within=long")] == [422, 422]


def test_the_numbers_of_now_lead_to_the_journeys_that_they_count(here: TestClient, backend: Backend) -> None:
    here.post("/v1/tasks", json={"agent": "logic", "prompt": "What has keys?"})
    pair = {"agent": "logic", "prompt": "x", "answer": "y"}
    here.post("/v1/pairs", json=pair)
    backend.client.ledger.fail(entry("t9", "answer"), "busy")

    page = here.get("/now").text

    links = re.findall(r'<a href="([^"]+)">([\d,]+[^<]*)</a>', page)
    assert ("/?accepted=true", "0 accepted") in links
    assert ("/?accepted=false", "0 not") in links
    assert ("/?state=answered", "1") in links  # the queue of the scorer


def test_what_the_last_consolidation_brought_stands_beside_the_retrievers(
    here: TestClient, backend: Backend, tokened: Tokened
) -> None:
    assert here.get("/v1/retrievers").json()["last"] is None
    figure = '{"before": 0.5, "after": 0.75, "error": 0.02}'
    result = (
        '{"encoder_before": "one", "encoder": "two", "pools": ["logic"], "lessons": 120, "memories": 900,'
        f' "first_helps": {figure}, "held_out_ndcg": null, "probe_ndcg": null}}'
    )
    kept = {"outcome": "consolidated", "at": time.time(), "reason": "of the pool logic", "result": result}

    backend.redis.hset("memshare:consolidation", mapping=kept)

    last = here.get("/v1/retrievers").json()["last"]
    assert last["figures"] == {"first_helps": {"before": 0.5, "after": 0.75, "error": 0.02}}
    assert (last["encoder_before"], last["encoder"], last["memories"]) == ("one", "two", 900)
    assert last["held_out"] is None, "nobody knows it of an older record"
    assert "in lessons held out 0.500 0.750 ± 0.020" in text_of(here.get("/worth").text)
    kept["result"] = result.replace('"memories"', '"held_out": 7, "memories"')
    backend.redis.hset("memshare:consolidation", mapping=kept)
    assert here.get("/v1/retrievers").json()["last"]["held_out"] == 7
    page = here.get("/worth").text
    assert "of 120 lessons and right answers" in text_of(page)
    assert "in 7 lessons held out 0.500 0.750 ± 0.020" in text_of(page[page.index("<summary>Measured at that time") :])
    assert tokened("rita", "recall").get("/v1/retrievers").json()["last"]["reason"] == ""


def test_what_is_asked_again_is_not_said_to_be_without_memories_before_it_is_answered(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    answered(backend, shelf["logic"])
    backend.client.ledger.open(entry("t2", "answer"))
    backend.client.ledger.park(entry("t2", "answer"), NotYet("A model is being asked about it.", 240, hold="batch"))

    waiting = text_of(here.get("/journeys/t2?beside=t1").text)
    listed = text_of(here.get("/").text)
    answered(backend, journey="t2")

    assert "This one Not answered yet." in waiting
    assert "waiting waits" not in listed
    assert "This one, without memories" in text_of(here.get("/journeys/t2?beside=t1").text)


def test_what_nothing_is_near_enough_to_is_not_called_answered(here: TestClient, backend: Backend) -> None:
    unanswered(backend)

    page = here.get("/journeys/t1").text
    assert "<span>not answered</span>" in page
    assert "As it was sent" not in page, "no model was sent anything"
    assert '<span class="state unanswered">nothing near enough</span>' in here.get("/").text
    for wanted, found in (("unanswered", 1), ("answered", 0)):
        listed = here.get(f"/v1/journeys?state={wanted}").json()["journeys"]
        assert [one["state"] for one in listed] == [wanted] * found
