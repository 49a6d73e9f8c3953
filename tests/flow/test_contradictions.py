"""What contradicts what, found by real workers: one question of its own for each new memory that is near another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare_broker.app import queue_named
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import ConflictDecision, Edit, NewMemory
from memshare_memory.door.messages import RecallRequest
from memshare_memory.memory import KNOWLEDGE
from tests.support.chat_script import Answer, well
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, wait_for
from tests.support.terminal import Terminal

MUSEUM = "When is the museum closed?"


def model(body: dict[str, Any]) -> Answer:
    """Says that two memories contradict each other where one names Mondays and the other Tuesdays."""
    if "response_format" not in body:
        told = next(iter(days(str(body))), "nobody knows")
        return Answer(text=f"Reply to: {body['messages'][-1]['content']} {told}")
    asked = json.loads(body["messages"][-1]["content"])
    if "pairs" not in asked:
        return well(body)
    verdicts = [
        {
            "pair": int(number),
            "claims": "Two days.",
            "contradicts": {days(asked["texts"][one]["answer"]) for one in pair} == BOTH,
        }
        for number, pair in asked["pairs"].items()
    ]
    return Answer(text=json.dumps({"comparisons": verdicts}))


BOTH = {("Monday",), ("Tuesday",)}


def days(text: str) -> tuple[str, ...]:
    return tuple(day for day in ("Monday", "Tuesday") if day in text)


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    settings = Settings(data=redis_folder, model="openai:scripted")
    empty(redis_folder)
    logs = tmp_path_factory.mktemp("logs")
    workers, more = [["poem", "scorer", "memory"]], {"MEMSHARE_LEARN": "false"}  # there is no trainer
    with serving(model) as chat, deployed(settings, chat, logs, workers, **more) as running:
        yield running


def add(deployment: Deployment, answer: str, pool: str, prompt: str | None = None, kind: str | None = None) -> UUID:
    return deployment.client.memories.add(
        [NewMemory(pool=pool, prompt=prompt, answer=answer, kind=kind, new_pool=True)]
    )[0]


def questions(deployment: Deployment, text: str) -> list[dict[str, Any]]:
    """The comparisons that the model was asked for in which a text stands."""
    bodies = [body for body in deployment.chat.requests if "response_format" in body]
    asked = [json.loads(body["messages"][-1]["content"]) for body in bodies]
    return [one for one in asked if "pairs" in one and text in json.dumps(one)]


def shown(deployment: Deployment, text: str, pool: str) -> list[str]:
    recollection = deployment.client.memories.recall(RecallRequest(pool=pool, text=text, k=3))
    return [one.memory.answer for one in recollection.found]


def offer(deployment: Deployment, prompt: str, answer: str, **more: Any) -> UUID | None:
    """Have a pair graded and settled, as one that an agent of somebody else gave."""
    pair = {"agent": "logic", "pool": "logic", "rubric": "logic", "kind": "riddle", "prompt": prompt, "answer": answer}
    sent = deployment.client.app.send_task(
        "scorer.offer", [pair | more], queue=queue_named("scorer"), ignore_result=True
    )
    wait_for(lambda: deployment.client.ledger.journey(sent.id), 20, "a worker to take the pair")
    journey = deployment.settled(sent.id)
    assert journey.outcome == "stored", journey
    return journey.memory_id


def test_two_opposite_statements_about_one_thing_are_a_conflict_at_once(deployment: Deployment) -> None:
    one = add(deployment, "The museum is closed on Mondays.", "museum", MUSEUM, KNOWLEDGE)
    other = add(deployment, "The museum is closed on Tuesdays.", "museum", MUSEUM, KNOWLEDGE)
    bare = add(deployment, "The museum in the park is closed every Tuesday.", "museum")

    def pairs() -> bool:
        found = {frozenset(one.memories) for one in deployment.client.memories.conflicts("museum")}
        return found >= {frozenset((one, other)), frozenset((one, bare))}

    wait_for(pairs, 20, "both to contradict the first")
    assert len(deployment.client.memories.conflicts("museum")) == 2

    asked = len(questions(deployment, "museum"))
    add(deployment, "The museum is closed on Tuesdays.", "museum", MUSEUM, KNOWLEDGE)
    add(deployment, "The museum is closed on Tuesdays and has a café.", "museum", MUSEUM, KNOWLEDGE)
    wait_for(lambda: len(questions(deployment, "museum")) > asked, 20, "what is new to be compared")
    assert len(questions(deployment, "museum")) == asked + 1, "what is there already is not asked for again"


def test_another_form_of_an_answer_is_no_contradiction_and_its_own_memory_is_still_found(
    deployment: Deployment,
) -> None:
    letter, telegram = "Write a long letter about owls at night", "Write a long letter about owls at night, please"
    offer(deployment, letter, "Dear owl, how softly you fly.")
    offer(deployment, telegram, "OWL FLIES SOFTLY STOP")
    wait_for(lambda: questions(deployment, "OWL FLIES"), 20, "the two to be compared")

    assert deployment.client.memories.conflicts("logic") == []
    assert shown(deployment, letter, "logic")[0] == "Dear owl, how softly you fly."


def test_a_comparison_is_counted_in_the_costs_of_its_submitter(deployment: Deployment) -> None:
    before = len(questions(deployment, "heron"))
    for answer in ("A grey heron waits on Mondays.", "A grey heron waits on Tuesdays."):
        offer(deployment, "Write a verse about a heron", answer, submitter="heron-keeper")
    wait_for(lambda: len(questions(deployment, "heron")) > before, 20, "the two to be compared")

    def calls() -> int:
        with connect(deployment.settings.redis) as client:
            counts = {
                name: amount
                for key in client.scan_iter("memshare:usage:????-??-??")
                for name, amount in client.hgetall(key).items()
            }
        return int(float(counts.get("calls submitter heron-keeper", 0)))

    wait_for(lambda: calls() >= 3, 10, "two gradings and a comparison to be counted")


def test_a_person_decides_what_contradicts_what(deployment: Deployment) -> None:
    one = add(deployment, "The pool is cleaned on Mondays.", "bath", "When is the pool cleaned?", KNOWLEDGE)
    other = add(deployment, "The pool is cleaned on Tuesdays.", "bath", "When is the pool being cleaned?", KNOWLEDGE)
    memories = deployment.client.memories
    wait_for(lambda: memories.conflicts("bath"), 20, "the two to contradict each other")
    both = shown(deployment, "When is the pool being cleaned?", "bath")
    assert both[0].endswith("Mondays."), "of equal ones the older is before the other"
    assert len(both) == 2

    memories.decide(ConflictDecision(memories=(one, other), contradict=True))
    assert shown(deployment, "When is the pool being cleaned?", "bath") == both[:1]

    memories.decide(ConflictDecision(memories=(one, other), contradict=False))
    assert memories.conflicts("bath") == []
    assert len(shown(deployment, "When is the pool being cleaned?", "bath")) == 2


def test_answers_to_one_question_that_are_both_right_are_shown_together(deployment: Deployment) -> None:
    about, memories = "When is the harbour dredged?", deployment.client.memories
    days = [f"The harbour is dredged on {day}." for day in ("Mondays", "Tuesdays")]
    one, other = (add(deployment, text, "harbour", about, KNOWLEDGE) for text in days)
    wait_for(lambda: memories.conflicts("harbour"), 20, "the two to contradict each other")
    assert shown(deployment, about, "harbour") == days[:1]

    memories.decide(ConflictDecision(memories=(one, other), contradict=False))
    assert sorted(shown(deployment, about, "harbour")) == days

    memories.decide(ConflictDecision(memories=(one, other), undecided=True))
    assert shown(deployment, about, "harbour") == days[:1]


def test_the_same_edit_after_its_undo_is_compared_again(deployment: Deployment) -> None:
    memories = deployment.client.memories
    texts = [f"The gate is shut on {day}." for day in ("Mondays", "Sundays", "Tuesdays")]
    right, loser = (add(deployment, text, "gate", "When is the gate shut?", KNOWLEDGE) for text in texts[:2])
    memories.decide(ConflictDecision(memories=(right, loser), contradict=True, right=right))

    def contradict() -> bool:
        return any(one.right is None for one in memories.conflicts("gate"))

    memories.edit(Edit(id=loser, answer=texts[2]))
    wait_for(contradict, 20, "the edited loser to contradict the other again")
    memories.edit(Edit(id=loser, answer=texts[1]))
    assert not contradict()
    memories.edit(Edit(id=loser, answer=texts[2]))
    assert shown(deployment, "When is the gate shut?", "gate")[0] == texts[0]

    wait_for(contradict, 20, "the same text to be compared again")


def test_what_agents_wrote_from_what_a_person_finds_wrong_is_stale_until_that_is_taken_back(
    deployment: Deployment,
) -> None:
    terminal, memories = Terminal(deployment.settings.data), deployment.client.memories
    about = "When is the lighthouse closed?"
    wrong = add(deployment, "The lighthouse is closed on Mondays.", "poem", about, KNOWLEDGE)
    right = add(deployment, "The lighthouse is closed on Tuesdays.", "poem", f"{about} Say when.", KNOWLEDGE)
    wait_for(lambda: memories.conflicts("poem"), 20, "the two to contradict each other")
    journey = deployment.settled(deployment.client.submit("poem", f"{about} Tell me.", kind="limerick").id)
    assert wrong in {one.id for one in journey.memories}
    assert journey.memory_id is not None
    written = str(journey.memory_id)

    said = terminal.run("memories", "conflicts", "--right", str(right), str(wrong))
    assert "1 memory written from the other one: stale now" in " ".join(said.stderr.split())
    [stale] = terminal.json("memories", "list", "--pool", "poem", "--status", "stale")
    assert stale["id"] == written
    assert [(one["memory"], one["became"]) for one in stale["because"]] == [(str(wrong), "found wrong")]
    assert f"{str(wrong)[:8]} was found wrong" in " ".join(terminal.run("memories", "show", written).stdout.split())
    assert "Not shown, for a person found right" in terminal.run("memories", "show", str(wrong)).stdout

    terminal.run("memories", "conflicts", "--undecided", str(right), str(wrong))
    assert memories.get(journey.memory_id).status == "active"


@pytest.mark.parametrize("is_fact_first", [True, False])
def test_a_fact_that_denies_what_an_agent_answered_before_or_later_is_a_conflict(
    deployment: Deployment, is_fact_first: bool
) -> None:
    place = "pass" if is_fact_first else "lock"
    told = [
        lambda: add(deployment, f"The {place} closes on a Monday in October", "logic"),
        lambda: offer(deployment, f"When does the {place} close?", f"The {place} closes on a Tuesday in September."),
    ]
    ids = {tell() for tell in (told if is_fact_first else reversed(told))}

    wait_for(
        lambda: ids in [{*one.memories} for one in deployment.client.memories.conflicts("logic")],
        20, "the two to contradict each other",
    )  # fmt: skip
