"""The first plan for a question sees the memories nearest to it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from memshare_agents.reasoning.engine import OPERATORS, Engine, shown_in
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.reasoning.run_state import RunLimits
from memshare_llm.chat import Chat
from memshare_memory.door.client import MemoryClient
from memshare_memory.recall.recall import Recall
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat
from tests.support.shelf import CHECK, RESPOND, answered, coordinate, judged, planned, sources

BUILT, BORN = "Who built the mill?", "Where was Ada Korn born?"


@pytest.fixture
def stored(recall: Recall) -> dict[str, UUID]:
    """Two memories, by their prompts."""
    made = [
        remembered(one, answer=text, pool="reasoning")[0] for one, text in ((BUILT, "Ada Korn."), (BORN, "In Ulm."))
    ]
    recall.store.put(list(zip(made, recall.vectors(made), strict=True)))
    return {one.prompt or "": one.id for one in made}


def engine(memory: MemoryClient, chat: Chat, k: int = 1) -> Engine:
    return Engine(OPERATORS, RunLimits(), lambda _: chat, Knowledge(memory, "reasoning", k, "hybrid"), sources())


def known(chat: ScriptedChat, place: int) -> list[Any]:
    return [one["title"] for one in json.loads(chat.conversations[place][-1].content)["knowledge"]]


def test_a_plan_to_respond_at_once_answers_from_what_is_known(memory: MemoryClient, stored: dict[str, UUID]) -> None:
    chat = ScriptedChat(planned(RESPOND, CHECK), answered("Ada Korn.", "k1"), judged(True, k1=1.0))

    found = engine(memory, chat).run(BUILT, "Answer.")

    assert found.verified
    assert [step.operator for step in found.steps] == ["coordinator", "responder", "discriminator"]
    assert known(chat, 0) == [BUILT]
    assert found.steps[0].knowledge == (stored[BUILT],)
    assert [(one.id, one.share) for one in shown_in(found)] == [(stored[BUILT], 1.0)]


def test_memories_are_recalled_for_each_sub_question_and_once_for_each(
    memory: MemoryClient, stored: dict[str, UUID]
) -> None:
    chat = ScriptedChat(
        planned(coordinate(BORN), RESPOND),
        planned(RESPOND), answered("In Rome."), judged(False), planned(RESPOND), answered("In Ulm.", "k2"),
        judged(True, k2=1.0), answered("Ada Korn, of Ulm.", "k1", "k4"), judged(True, k1=0.5, k4=0.5),
    )  # fmt: skip
    running = engine(memory, chat)

    found = running.run(BUILT, "Answer.")

    assert found.verified
    assert (known(chat, 0), known(chat, 1)) == ([BUILT], [BUILT, BORN])
    assert len(running.knowledge.seconds) == 2
    assert {one.id for one in shown_in(found)} == set(stored.values())


def test_the_first_recall_can_be_left_out_to_measure_it(memory: MemoryClient, stored: dict[str, UUID]) -> None:
    chat = ScriptedChat(planned(RESPOND, CHECK), answered("I cannot tell."), judged(True))
    without = replace(engine(memory, chat), recalls_first=False)

    found = without.run(BUILT, "Answer.")

    assert stored
    assert known(chat, 0) == []
    assert without.knowledge.seconds == []
    assert shown_in(found) == ()
