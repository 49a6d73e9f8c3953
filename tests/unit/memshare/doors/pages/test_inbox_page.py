"""What needs somebody: a card for each kind, one main button on each, and what an operator decides apart."""

from __future__ import annotations

import re
import time
from typing import Any, get_args
from uuid import UUID

import numpy as np
import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.rest.calls.decisions import DuplicateReply, DuplicatesReply, SubmitterReply
from memshare.client.rest.calls.needs import Need
from memshare.doors.pages.render import ENVIRONMENT, labelled
from memshare.doors.pages.screens.inbox import CARDS
from memshare.operations.backend import Backend
from memshare.operations.caller import local_caller
from memshare_broker.delivery.dead_letters import UNREADABLE, letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import BadInput, GiveUp, Reason, TryAgain
from memshare_memory.belief.bandit import Arms, Credit, D
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_scorer.recheck import RECHECKS, Recheck
from tests.unit.memshare.doors.conftest import Tokened, bury
from tests.unit.memshare.doors.pages.journey_records import text_of
from tests.unit.memshare.doors.test_needs import MONDAYS, TUESDAYS, contradictory, stated, written_from

FROM_PAGE = {"origin": "http://127.0.0.1"}


def articles(page: str) -> list[str]:
    return re.findall(r'<article class="item.*?</article>', page, re.DOTALL)


def mains(card: str) -> list[str]:
    return re.findall(r'class="main"[^>]*>([^<]+?) <kbd>', card)


@pytest.mark.parametrize(
    ("reward", "weight", "times", "better"),
    [
        (0.0, 1.0, 3, "A"),
        (0.0, 1.0, 1, ""),  # one wrong verdict decides nothing
        (1.5, 1.0, 3, ""),  # what was never tried may be as good
        (1.5, 0.0, 3, ""),  # being shown is no evidence
    ],
)
def test_a_side_of_a_contradiction_is_the_main_button_where_something_speaks_clearly_for_it_and_says_what(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis,
    reward: float, weight: float, times: int, better: str,
) -> None:  # fmt: skip
    _, newer = contradictory(memory, redis_client)
    for number in range(times):
        Arms(redis_client).add("logic", str(number), [Credit(UUID(newer), np.eye(D)[0] * weight, reward, weight)])

    [conflict] = articles(here.get("/inbox").text)

    assert mains(conflict) == ([f"{better} is right"] if better else [])
    why = "by the grades of tasks that were shown it, its credibility is 1.00, the other's 0."
    assert (f"More speaks for A: {why}" in text_of(conflict)) == bool(better)
    assert ("Nothing speaks clearly for either." in text_of(conflict)) == (not better)


def lost(backend: Backend, pool: str, name: str) -> None:
    """Give up naming the concepts of a memory of a pool."""
    entry = Entry(
        id=name, task="concepts.extract", queue="concepts", body={"pool": pool}, journey=name, stage="extract"
    )
    backend.client.dead_letters.add(letter_for(entry, GiveUp(f"It did not fit {name}."), tries=6))


def test_every_kind_has_a_card() -> None:
    kinds = get_args(Need.model_fields["kind"].annotation)

    assert CARDS.keys() == set(kinds)
    source = ENVIRONMENT.loader.get_source(ENVIRONMENT, "cards.html.j2")[0]  # type: ignore[union-attr]
    assert all(f"macro {kind.replace(' ', '_')}(need" in source for kind in kinds)


def test_dead_letters_of_one_reason_are_one_card_whatever_their_pools_after_what_a_curator_decides(
    here: TestClient, backend: Backend, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    for pool, name in (("logic", "one"), ("logic", "two"), ("poem", "three")):
        lost(backend, pool, name)
    contradictory(memory, redis_client)

    page = here.get("/inbox").text
    first, letters = articles(page)

    assert "A is right" in first
    assert page.index("A is right") < page.index("For whoever runs memshare") < page.index("3 tasks were given up")
    assert ("Try all 3 again" in letters, "Drop all 3" in letters) == (True, True)
    assert [one["pool"] for one in here.get("/v1/needs").json()["needs"]] == [None, "logic"]
    dropped = here.post(
        "/inbox/letter", data={"decision": "drop", "letter": ["one", "two", "three"]}, headers=FROM_PAGE
    )
    assert "Dropped: 3 dead letters." in text_of(dropped.text)
    assert len(articles(here.get("/inbox").text)) == 1


def test_a_card_of_dead_letters_of_several_stages_names_them_and_tries_all_that_can_be_tried(
    here: TestClient, backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "memshare.audit")
    for name, task, error in (("a", "agents.logic", "Colour."), ("b", "agents.poem", "Form."), ("c", UNREADABLE, "{")):
        entry = Entry(id=name, task=task, queue="logic", body={"prompt": "x"}, journey=name, stage="answer")
        backend.client.dead_letters.add(letter_for(entry, BadInput(error), tries=1, kind="malformed"))

    [card] = articles(here.get("/inbox").text)

    said = text_of(card)
    assert "malformed agents.logic, agents.poem, unreadable · the first one's journey" in said
    assert re.search(r"agents\.poem x: Form\. .*unreadable x: \{", said), "each says its own error"
    assert mains(card) == ["Try 2 of them again"]
    forms = re.findall(r"<form.*?</form>", card, re.DOTALL)
    assert [re.findall('name="letter" value="(.)"', form) for form in forms] == [["a", "b"], ["a", "b", "c"]]
    tried = here.post("/inbox/letter", data={"decision": "retry", "letter": ["a", "b"]}, headers=FROM_PAGE)
    assert "Back in the queue: 2 dead letters." in text_of(tried.text)
    assert backend.client.dead_letters.ids() == ["c"]
    assert {one.ids["chosen_with"] for one in caplog.records if one.name == "memshare.audit"} == {"1"}  # type: ignore[attr-defined]


def test_a_card_has_one_main_button_and_what_is_rare_behind_more(
    here: TestClient, backend: Backend, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    contradictory(memory, redis_client)
    bury(backend, "logic", "It went wrong.")

    conflict, letter = articles(here.get("/inbox").text)

    assert mains(letter) == ["Try it again"]
    assert mains(conflict) == []  # of two that are as credible, and were tried as often, neither
    assert "More speaks for" not in conflict
    at_hand, more = conflict.split('<details class="more"')
    assert re.findall(r">([^<>]+?) <kbd>", at_hand) == ["A is right", "B is right", "Both are right"]
    assert re.findall(r">([^<>]+?) <kbd>", more) == ["Forget A", "Forget B", "Change A", "Change B"]


def test_who_may_only_look_is_offered_nothing_to_decide(
    tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    contradictory(memory, redis_client)

    [card] = articles(tokened("viewer", "recall").get("/inbox").text)

    assert "Red or green." in card
    assert not re.search("<button|<form|data-key|#edit", card)


def test_a_dead_letter_says_which_question_it_is_about_and_is_dropped_for_good_by_no_key(
    here: TestClient, backend: Backend
) -> None:
    pair = {"prompt": "What is oiled?", "answer": "The chain.", "pool": "logic"}
    bodies: tuple[tuple[str, dict[str, Any], Reason], ...] = (
        ("agents.logic", pair, "refused"), ("memory_service.settle", {"task": pair}, "too long"),
    )  # fmt: skip
    for name, body, reason in bodies:
        entry = Entry(id=name, task=name, queue="logic", body=body, journey=name, stage="answer")
        backend.client.dead_letters.add(letter_for(entry, GiveUp("It did not fit.", reason), tries=1))

    for card in articles(here.get("/inbox").text):
        assert "What is oiled? The chain. It did not fit." in text_of(card)
        assert 'data-key="d"' not in card
        assert card.index("<details") < card.index('value="drop"') < card.index("</details>")
    assert {one["prompt"] for one in here.get("/v1/dead-letters").json()} == {"What is oiled?"}


def test_a_card_names_no_cause_and_no_button_that_is_not_there(
    here: TestClient, backend: Backend, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [by_hand] = stated(memory, "The lamp is red.")
    memory.edit(Edit(id=by_hand, status="stale"))
    memory.add([NewMemory(pool="nobodys", answer="A light.", new_pool=True)])
    redis_client.hset(
        RECHECKS, "nobodys", Recheck(pool="nobodys", at=7, watched="", why="A check broke.").model_dump_json()
    )
    entry = Entry(id="a", task="agents.logic", queue="logic", body={"prompt": "x"}, journey="a", stage="answer")
    backend.client.dead_letters.add(letter_for(entry, TryAgain("Too often.", reason="rate limit"), tries=0))

    cards = {re.findall('aria-label="([^"]*)"', one)[0]: text_of(one) for one in articles(here.get("/inbox").text)}

    assert cards["stale memory"].startswith("Written from what is gone, or not known: 1 memory")
    assert "graded again" not in cards["stale memory"], "it is a statement"
    assert "A check broke." in cards["recheck"]
    assert "of the rubric of" not in cards["recheck"], "no agent answers from its pool"
    assert "rate limit agents.logic · its journey" in cards["dead letter"], "no try was counted"


def test_looking_for_duplicates_in_vain_says_what_was_looked_for_and_which_two_are_nearest(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    [one, other] = backend.client.memories.judge([UUID(each) for each in shelf.values()])
    nearest = DuplicateReply(memories=(one, other), cosine=0.914)
    looked = DuplicatesReply(pool="logic", looked_at=32, found=0, duplicates=(), nearest=nearest)
    backend.duplicates["logic"] = (time.monotonic(), looked)

    said = here.post("/inbox/duplicate", data={"pool": "logic", "decision": "look"}, headers=FROM_PAGE).text

    wanted = "0 pairs of 32 memories with a similarity of .95 or more, of their prompts, or of statements; the nearest"
    assert f"{wanted} pair has 0.91: “red lamp by the sea” / “red lamp by the sea”." in text_of(said)


@pytest.mark.parametrize(("decision", "right"), [("one is right", 0), ("other is right", 1), ("keep", None)])
def test_nearly_the_same_question_with_another_answer_is_asked_as_a_contradiction_without_a_main_button(
    here: TestClient, backend: Backend, memory: MemoryClient, decision: str, right: int | None
) -> None:
    pairs = [("What does an adult pay?", "An adult pays 12 euros."), ("What do adults pay?", "An adult pays 14 euros.")]
    two = memory.add([NewMemory(pool="logic", prompt=one, answer=other, new_pool=True) for one, other in pairs])
    one, other = memory.judge(two)
    found = DuplicateReply(memories=(one, other), cosine=0.97, differ="12 / 14")
    looked = DuplicatesReply(pool="logic", looked_at=2, found=1, duplicates=(found,))
    backend.duplicates["logic"] = (time.monotonic(), looked)

    [card] = articles(here.get("/inbox?kind=duplicate").text)

    assert "These two may contradict each other" in text_of(card)
    assert "Their answers differ: 12 / 14" in text_of(card)
    assert mains(card) == []
    assert "Forget" not in card
    given = {"one": str(two[0]), "other": str(two[1]), "pool": "logic", "decision": decision}
    here.post("/inbox/duplicate", data=given, headers=FROM_PAGE)
    assert articles(here.get("/inbox?kind=duplicate").text) == []
    lost = [one.memory.id for one in memory.judge(two) if one.lost_to]
    assert lost == ([] if right is None else [two[1 - right]])


def test_what_somebody_cannot_decide_is_not_counted_as_needing_them(
    here: TestClient, tokened: Tokened, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    contradictory(memory, redis_client)

    pages = [here.get("/inbox").text]  # before there is a token
    pages += [one.get("/inbox").text for one in (tokened("ada", "recall"), tokened("bo", "recall", "curate"))]

    counted = [re.findall(r'id="inbox-count"[^>]*>(\d+)<', page) for page in pages]
    assert counted == [["1"], ["0"], ["1"]]
    assert ["To decide takes a token with the right curate" in page for page in pages] == [False, True, False]


def test_pools_that_nobody_has_looked_through_since_the_server_began_are_named(
    here: TestClient, backend: Backend, memory: MemoryClient
) -> None:
    memory.add([NewMemory(pool="logic", answer=f"Lamp {number}.", new_pool=True) for number in range(2)])
    assert "Since this server began nobody looked in logic" in text_of(here.get("/inbox").text)

    looked = DuplicatesReply(pool="logic", looked_at=2, found=0, duplicates=())
    backend.duplicates["logic"] = (time.monotonic(), looked)

    assert "nobody looked in" not in text_of(here.get("/inbox").text)


@pytest.mark.parametrize(
    ("said", "on_page"),
    [
        (
            "Run `memshare rubric approve 'a b.toml'`, then `memshare dead retry 1c6f`.",
            "Approve it in “Needs you”, then try it again.",
        ),
        ("Then `memshare dead retry t1` has this task answered.", "Then trying it again has this task answered."),
        ("some memories: `memshare retriever status` counts them.", "some memories: “Does it help” counts them."),
        ("`memshare agents` lists the agents", "“Agents” lists the agents"),
        (None, ""),
    ],
)
def test_a_command_that_has_a_button_is_told_by_its_button(said: str | None, on_page: str) -> None:
    assert labelled(said) == on_page


def test_a_card_of_what_was_given_up_names_no_command(here: TestClient, backend: Backend) -> None:
    waiting = Entry(id="t1", task="agents.logic", queue="logic", body={"prompt": "x"}, journey="t1", stage="answer")
    error = GiveUp("No model is set; then `memshare dead retry t1` has this task answered.")
    backend.client.dead_letters.add(letter_for(waiting, error, tries=1))

    pages = [text_of(here.get(path).text) for path in ("/inbox", "/now")]

    assert all("memshare dead retry" not in page and "trying it again has this task answered" in page for page in pages)


@pytest.mark.parametrize(("score", "letter"), [(None, "B"), (70, "B"), (95, "A")])
def test_of_two_that_say_the_same_the_one_for_which_less_speaks_is_to_be_forgotten(
    here: TestClient, backend: Backend, memory: MemoryClient, score: float | None, letter: str
) -> None:
    scores = (None if score is None else 90, score)
    two = memory.add(
        [
            NewMemory(pool="logic", prompt=f"What is lit {at}?", answer="A lamp.", score=one, new_pool=True)
            for at, one in enumerate(scores)
        ]
    )
    one, other = memory.judge(two)
    found = DuplicateReply(memories=(one, other), cosine=0.97)
    looked = DuplicatesReply(pool="logic", looked_at=2, found=1, duplicates=(found,))
    backend.duplicates["logic"] = (time.monotonic(), looked)

    [card] = articles(here.get("/inbox?kind=duplicate").text)

    assert "They say the same to nearly the same prompt (cosine 0.970)." in text_of(card)
    assert mains(card) == [f"Forget {letter}"]
    assert ("its answer was graded" in card) == (score is not None)
    gone = re.search(r'name="memory" value="([^"]+)"[^/]+class="main"', card)
    assert gone is not None
    assert gone[1] == str(two["AB".index(letter)])


def test_of_two_that_say_nearly_the_same_the_one_that_was_found_wrong_is_not_the_better(
    here: TestClient, backend: Backend, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    new = [
        NewMemory(pool="logic", prompt=f"What is lit {at}?", answer=answer, score=score, new_pool=True)
        for at, (answer, score) in enumerate([("A lamp.", 70), ("A lamp.", 95), ("A candle.", None)])
    ]
    one, other, right = memory.add(new)
    Conflicts(redis_client).judge("logic", right, other, "right")
    two = {each.memory.id: each for each in memory.judge([one, other])}
    found = DuplicateReply(memories=(two[one], two[other]), cosine=0.97)
    looked = DuplicatesReply(pool="logic", looked_at=3, found=1, duplicates=(found,))
    backend.duplicates["logic"] = (time.monotonic(), looked)

    [card] = articles(here.get("/inbox?kind=duplicate").text)

    assert mains(card) == ["Forget B"]


def test_what_repeats_what_was_found_wrong_is_ticked_and_to_be_forgotten_not_graded_again(
    here: TestClient, memory: MemoryClient
) -> None:
    wrong, right = stated(memory, MONDAYS, TUESDAYS)
    repeats = written_from(memory, wrong, answer=f"{MONDAYS} Come on a Friday.")
    other = written_from(memory, wrong, answer="On any day but the first of a week.")
    here.post("/v1/conflicts", json={"memories": [str(wrong), str(right)], "contradict": True, "right": str(right)})

    [card] = articles(here.get("/inbox").text)

    assert mains(card) == ["Forget"]
    assert re.findall(r'name="memory" value="([^"]+)"( checked)?', card) == [
        (str(repeats), " checked"),
        (str(other), ""),
    ]
    assert "A program's grade, which does not know what is right, shows none of these again." in text_of(card)
    assert not re.search('class="main"[^>]*>Grade again', here.get(f"/memories/{repeats}").text)


def test_what_is_kept_and_has_lost_is_not_said_to_be_shown(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    wrong, right = stated(memory, MONDAYS, TUESDAYS)
    copy = written_from(memory, wrong, answer=MONDAYS)
    Conflicts(redis_client).judge("logic", right, copy, "right")
    memory.edit(Edit(id=copy, status="stale"))

    kept = here.post("/inbox/stale", data={"decision": "keep", "memory": str(copy)}, headers=FROM_PAGE)

    lost = f"Not shown all the same, as memory {str(right)[:8]} was found right: 1."
    assert f"Kept: 1 memory. {lost}" in text_of(kept.text)
    shown = here.post("/pool/several", data={"do": "show", "id": str(copy)}, headers=FROM_PAGE)
    assert "Shown again" not in shown.text
    form = {"status": "hidden", "version": here.get(f"/v1/memories/{copy}").json()["version"]}
    here.post(f"/memories/{copy}/status", data=form, headers=FROM_PAGE)
    form = {"status": "active", "version": here.get(f"/v1/memories/{copy}").json()["version"]}
    assert lost in text_of(here.post(f"/memories/{copy}/status", data=form, headers=FROM_PAGE).text)


@pytest.mark.parametrize(("worth", "button"), [(-0.04, []), (0.1, ["Trust them"])])
def test_to_trust_a_submitter_whose_memories_harm_is_no_main_button(worth: float, button: list[str]) -> None:
    of = SubmitterReply(name="bot2", worth=worth, error=0.03, words=12, proven=False, said=None, by=None)
    need = Need(kind="submitter", key="s", since=None, pool="logic", submitter=of)
    page = ENVIRONMENT.from_string('{% import "cards.html.j2" as cards with context %}{{ cards.submitter(need) }}')

    assert mains(page.render(need=need, who=local_caller(), back="/inbox")) == button
