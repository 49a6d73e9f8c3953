"""The agent with an engine: what a task's answer, its trace and its grading get of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from memshare_agents.reasoning.engine import Reasoner
from memshare_agents.reasoning.run_state import RunLimits
from memshare_agents.roster import Agent, load_roster
from memshare_agents.tasks import AnswerStage
from memshare_broker.delivery.hops import CREDIT, SCORE
from memshare_broker.delivery.stage import Outcome
from memshare_broker.errors import BadInput, NotYet
from memshare_broker.wire.grades import VerdictTask
from memshare_broker.wire.messages import AgentPair, AgentTask, Answer, Step, Turn, Usage
from memshare_llm.build import Unfinished
from memshare_llm.chat import Chat, Reply
from memshare_llm.limits.budget import Payer
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat
from tests.support.shelf import (
    CHECK,
    RESPOND,
    answered,
    coordinate,
    document_id,
    judged,
    planned,
    search,
    sources,
)

AGENT: Agent = load_roster(None)["reasoning"]
DOCUMENTS = {"mill.html": "The mill was built by Ada Korn."}


def answering(memory: MemoryClient, chat: Chat, chats: dict[str, Chat] | None = None, **limits: float) -> AnswerStage:
    reasoner = Reasoner(RunLimits(**limits), chat, chats or {}, sources(DOCUMENTS))  # type: ignore[arg-type]
    return AnswerStage(AGENT, chat, memory, 1_000, reasoner=reasoner)


def answer(outcome: Outcome) -> Answer:
    assert isinstance(outcome.record, Answer)
    return outcome.record


def remember(recall: Recall, prompt: str, text: str, model: str | None = None) -> Memory:
    memory = remembered(prompt, answer=text, pool="reasoning", model=model)[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def verified(*shares: Any) -> ScriptedChat:
    used = dict(shares)
    return ScriptedChat(
        planned(search("mill"), RESPOND, CHECK), answered("Ada Korn.", *used), judged(True, "It says so.", **used)
    )


def test_a_verified_answer_is_the_models_own_words_and_goes_to_the_scorer(recall: Recall, memory: MemoryClient) -> None:
    stored = remember(recall, "who built the mill", "Ada Korn did.")

    outcome = answering(memory, verified(("k1", 0.75), ("k2", 0.25))).run(
        "journey-1", AgentTask(prompt="Who built the mill?", submitter="ada")
    )

    found = answer(outcome)
    assert (found.answer, found.model, found.agent) == ("Ada Korn.", "scripted", "reasoning")
    assert [(one.id, one.share) for one in found.memories] == [(stored.id, 0.75), (document_id("mill.html"), 0.25)]
    assert found.usage == Usage(prompt_tokens=30, completion_tokens=15)
    assert [step.operator for step in found.steps] == ["coordinator", "searcher", "responder", "discriminator"]
    assert outcome.following is not None
    assert outcome.following.hop is SCORE
    pair = outcome.following.body
    assert isinstance(pair, AgentPair)
    assert (pair.prompt, pair.answer, pair.pool, pair.rubric) == (
        "Who built the mill?", "Ada Korn.", "reasoning", "integrated"
    )  # fmt: skip
    assert pair.shown == found.memories


@pytest.mark.parametrize(("most", "handed_on"), [(0, []), (5, ["Who built it?"])])
def test_sub_questions_are_handed_on_with_the_answer_where_the_agent_is_told_to(
    memory: MemoryClient, most: int, handed_on: list[str]
) -> None:
    chat = ScriptedChat(
        planned(coordinate("Who built it?"), RESPOND), planned(search("mill"), RESPOND), answered("Ada Korn.", "k1"),
        judged(True, k1=1.0), answered("Ada Korn, in 1841.", "k2"), judged(True, k2=1.0),
    )  # fmt: skip

    outcome = answering(memory, chat, sub_questions=most).run("journey-1", AgentTask(prompt="Who, and when?"))

    graded, judgement = outcome.followings
    assert isinstance(graded.body, AgentPair)
    assert [one.question for one in graded.body.parts] == handed_on
    assert [one.id for part in graded.body.parts for one in part.shown] == [document_id("mill.html") for _ in handed_on]
    assert isinstance(judgement.body, VerdictTask)
    [of_part] = judgement.body.answers
    assert (of_part.verdict, [(one.id, one.share) for one in of_part.shown]) == (1.0, [(document_id("mill.html"), 1.0)])


def test_a_memory_that_was_found_and_not_used_is_not_said_to_be_shown(recall: Recall, memory: MemoryClient) -> None:
    remember(recall, "who built the mill", "Ada Korn did.")

    outcome = answering(memory, verified(("k2", 1.0))).run("journey-1", AgentTask(prompt="Who built the mill?"))

    assert [one.id for one in answer(outcome).memories] == [document_id("mill.html")]


def test_an_answer_that_was_rejected_says_so_and_is_not_graded_but_its_knowledge_is_blamed(
    recall: Recall, memory: MemoryClient
) -> None:
    stored = remember(recall, "who built the mill", "Bob did.")
    chat = ScriptedChat(
        planned(search("mill", "memory"), RESPOND, CHECK), answered("Bob.", "k1"),
        judged(False, "It is a guess", k1=1.0), planned(coordinate()),
    )  # fmt: skip

    outcome = answering(memory, chat, steps=5).run("journey-1", AgentTask(prompt="Who built the mill?"))

    assert answer(outcome).answer == (
        "This could not be verified: it reached its limit of 5 steps. "
        "The last answer, which was rejected (It is a guess), was:\n\nBob."
    )
    assert outcome.following is not None
    assert outcome.following.hop is CREDIT
    blamed = outcome.following.body
    assert isinstance(blamed, VerdictTask)
    assert (blamed.verdict, blamed.prompt, blamed.pool) == (0.0, "Who built the mill?", "reasoning")
    assert [(one.id, one.share) for one in blamed.shown] == [(stored.id, 1.0)]


def test_an_answer_that_was_not_checked_says_so_and_nothing_follows(recall: Recall, memory: MemoryClient) -> None:
    remember(recall, "who built the mill", "Bob did.")
    chat = ScriptedChat(planned(search("mill"), RESPOND, CHECK), answered("Bob.", "k1"))

    outcome = answering(memory, chat, tokens=30).run("journey-1", AgentTask(prompt="Who built the mill?"))

    assert answer(outcome).answer == (
        "This could not be verified: its budget of 30 tokens is used up. "
        "The last answer, which was not checked, was:\n\nBob."
    )
    assert [one.share for one in answer(outcome).memories] == [None]
    assert outcome.following is None


def test_a_rejected_answer_that_rested_on_no_memory_blames_none(memory: MemoryClient) -> None:
    chat = ScriptedChat(
        planned(search("mill"), RESPOND, CHECK), answered("Bob.", "k1"), judged(False), planned(coordinate())
    )

    outcome = answering(memory, chat, steps=5).run("journey-1", AgentTask(prompt="Who built the mill?"))

    assert [one.share for one in answer(outcome).memories] == [0.0]
    assert outcome.following is None


def test_a_run_that_had_to_wait_does_not_pay_again_for_what_was_said(memory: MemoryClient) -> None:
    class Held(ScriptedChat):
        held = True

        def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
            if self.held:
                raise NotYet("The rate limit is used up.", 10, hold="rate small")
            return super().reply(turns, schema)

    big, small = ScriptedChat(planned(search("mill"), RESPOND, CHECK), answered("Ada.", "k1")), Held(judged(True))
    small.name = "small"
    unfinished = Unfinished()
    working = replace(
        answering(memory, big, {"discriminator": small}),
        metering=lambda chat, payer: unfinished.resumed(chat, payer.journey),
    )
    task = AgentTask(prompt="Who built the mill?")

    with pytest.raises(NotYet):
        working.run("journey-1", task)
    small.held = False
    outcome = working.run("journey-1", task)

    assert answer(outcome).answer == "Ada."
    assert len(big.conversations) == 2


def test_a_run_without_any_answer_says_so(memory: MemoryClient) -> None:
    chat = ScriptedChat(*[planned(coordinate())] * 9)

    outcome = answering(memory, chat, steps=9).run("journey-1", AgentTask(prompt="Who built the mill?"))

    assert answer(outcome).answer == (
        "This could not be verified: it reached its limit of 9 steps. No answer was found."
    )
    assert outcome.following is None


def test_every_model_is_paid_by_the_task_and_its_replies_are_kept_apart(memory: MemoryClient) -> None:
    payers: dict[str, Payer] = {}

    @contextmanager
    def metered(chat: Chat, payer: Payer) -> Iterator[Chat]:
        payers[chat.name] = payer
        yield chat

    big = ScriptedChat(planned(RESPOND, CHECK), answered("Ada."))
    small = ScriptedChat(judged(True))
    small.name = "small"
    working = replace(answering(memory, big, {"discriminator": small, "browser": small}), metering=metered)

    outcome = working.run("journey-1", AgentTask(prompt="Who built the mill?", submitter="ada"))

    assert [step.model for step in answer(outcome).steps] == ["scripted", "scripted", "small"]
    assert payers == {
        "scripted": Payer("journey-1 scripted", "reasoning", "ada"),
        "small": Payer("journey-1 small", "reasoning", "ada"),
    }


def test_a_model_of_an_operator_that_there_is_not_is_refused(memory: MemoryClient) -> None:
    chat = ScriptedChat()

    with pytest.raises(BadInput, match=r"\[models\] names 'poet', which is no operator. There are: coordinator, "):
        answering(memory, chat, {"poet": chat})


def test_a_task_without_memories_does_not_search_the_pool(recall: Recall, memory: MemoryClient) -> None:
    remember(recall, "who built the mill", "Bob did.")
    chat = ScriptedChat(planned(search("mill", "memory"), RESPOND, CHECK), answered("Ada."), judged(True))

    outcome = answering(memory, chat).run("journey-1", AgentTask(prompt="Who built the mill?", memories=0))

    assert answer(outcome).steps[1].said == "memory: 0 found"


@pytest.mark.parametrize("words", ["x" * 50_000, "汉" * 50_000])
def test_what_is_recorded_of_a_run_is_bounded(memory: MemoryClient, words: str) -> None:
    chat = ScriptedChat(
        planned(search("mill")) | {"thought": words[:2_000]}, planned(RESPOND, CHECK), answered(words[:20_000]),
        judged(True, words[:2_000]),
    )  # fmt: skip

    found = answer(answering(memory, chat).run("journey-1", AgentTask(prompt="Who?")))

    assert max(len(step.said) for step in found.steps) == 1_000
    assert len(found.answer) == 20_000
    assert all(isinstance(step, Step) and len(step.model_dump_json()) < 10_000 for step in found.steps)
