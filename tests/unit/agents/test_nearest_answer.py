"""Agents without a model: the nearest memory's answer, word for word, and whose it is."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import pytest
import redis

from memshare_agents.answering import nearest_answer
from memshare_agents.roster import Agent, load_roster
from memshare_agents.tasks import AnswerStage
from memshare_broker.wire.grades import QuestionTask
from memshare_broker.wire.messages import AgentPair, AgentTask, Answer, Quoted
from memshare_llm.models import NoModel, NoModelSet
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Found, Recollection
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, note_wrong, said_wrong
from memshare_memory.recall.recall import Recall
from tests.support.memories import remembered

ROSTER = load_roster(None)
POEM: Agent = ROSTER["poem"]
WORDS = "  A lamp [i]so[/i] old,\nI am told. "


def remember(recall: Recall, pool: str, *pairs: tuple[str | None, str]) -> list[Memory]:
    memories = [
        remembered(prompt, answer=answer, pool=pool, submitter=f"person {place}")[0]
        for place, (prompt, answer) in enumerate(pairs)
    ]
    recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    return memories


@pytest.mark.parametrize("agent", ["poem", "reasoning"])
def test_the_answer_is_the_nearest_memorys_word_for_word(recall: Recall, memory: MemoryClient, agent: str) -> None:
    _, near = remember(recall, ROSTER[agent].pool, ("old shoe", "A shoe."), ("old lamp by the sea", WORDS))
    task = AgentTask(prompt="new lamp by the sea", submitter="ada")

    # Without chance: all of its tasks might have had a memory withheld.
    outcome = AnswerStage(ROSTER[agent], NoModel(), memory, 100, withhold=1.0).run("journey-1", task)

    answer = outcome.record
    assert isinstance(answer, Answer)
    assert (answer.answer, answer.model) == (WORDS, "offline")
    [shown] = answer.memories
    assert answer.quoted == Quoted(id=near.id, submitter="person 1", similarity=shown.similarity)
    assert shown.id == near.id
    assert (answer.withheld, answer.steps, answer.usage.prompt_tokens) == (None, (), 0)
    [following] = outcome.followings
    assert isinstance(following.body, AgentPair)
    assert (following.body.answer, following.body.model, following.body.randomized) == (WORDS, "offline", False)


@pytest.mark.parametrize(
    ("of_pool", "prompt", "submitter", "is_said"),
    [
        ("poem", "new lamp by the sea", "ada", True),
        ("poem", "new lamp by the sea", "eve", False),  # who only gave the task has said it
        ("poem", "any lamp by the sea", "ada", False),
        ("plan", "new lamp by the sea", "ada", False),
    ],
)
def test_that_somebody_called_the_same_answer_wrong_is_said_with_it(
    recall: Recall, memory: MemoryClient, redis_client: redis.Redis,
    of_pool: str, prompt: str, submitter: str, *, is_said: bool,
) -> None:  # fmt: skip
    remember(recall, "poem", ("old lamp by the sea", "A lamp."))
    word = WrongAnswer(
        memory=UUID(int=1), pool=of_pool, prompt=prompt, submitter="ada", curated=False, by="cora", journey="t1"
    )
    note_wrong(redis_client, "a lamp", word)
    stage = AnswerStage(POEM, NoModel(), memory, 100, said_wrong=partial(said_wrong, redis_client))

    answer = stage.run("journey-1", AgentTask(prompt="new lamp by the sea", submitter=submitter)).record

    assert isinstance(answer, Answer)
    assert answer.notes == (("cora called this answer to this prompt wrong (journey t1).",) if is_said else ())


def test_that_it_was_called_wrong_in_the_pool_that_it_is_quoted_from_is_said_too(
    recall: Recall, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    [lamp] = remember(recall, "poem", ("old lamp by the sea", "A lamp."))
    about = {"pool": "poem", "prompt": "old lamp by the sea", "submitter": "ada", "by": "cora", "journey": "t1"}
    note_wrong(redis_client, lamp.answer, WrongAnswer(memory=lamp.id, curated=True, **about))
    guide = POEM.model_copy(update={"pool": "plan", "pools": ("plan", "poem")})
    stage = AnswerStage(guide, NoModel(), memory, 100, said_wrong=partial(said_wrong, redis_client))

    answer = stage.run("journey-1", AgentTask(prompt="old lamp by the sea", submitter="ada")).record

    assert isinstance(answer, Answer)
    assert answer.notes == ("cora called this answer to this prompt wrong (journey t1).",)


def test_a_statement_is_quoted_like_an_answer(recall: Recall, memory: MemoryClient) -> None:
    remember(recall, "poem", (None, "The lamp is by the sea."))

    answer = AnswerStage(POEM, NoModel(), memory, 100).run("journey-1", AgentTask(prompt="lamp by the sea")).record

    assert isinstance(answer, Answer)
    assert answer.answer == "The lamp is by the sea."


def test_the_nearest_is_the_most_similar_wherever_words_or_worth_rank_it() -> None:
    memories = [remembered("lamp", answer=f"{place}")[0] for place in range(3)]
    found = tuple(Found(memory=one, similarity=at) for one, at in zip(memories, (0.6, 0.8, 0.7), strict=True))

    said = nearest_answer(Recollection(found=found, embedding=None, retriever_version=0), "journey-1", "poem")

    assert (said.text, [one.id for one in said.shown]) == ("1", [memories[1].id])


def test_a_memory_that_is_not_near_enough_is_no_answer_and_nothing_is_graded(
    recall: Recall, memory: MemoryClient
) -> None:
    [far] = remember(recall, "poem", ("old lamp by the sea", "A lamp."))
    task = AgentTask(prompt="new lamp in the house of a friend")
    stage = AnswerStage(POEM, NoModel(), memory, 100, near_enough=lambda pool: {"poem": 0.95}[pool])

    outcome = stage.run("journey-1", task)

    answer = outcome.record
    assert isinstance(answer, Answer)
    [shown] = answer.memories
    assert shown.id == far.id
    assert f"nearest: {shown.similarity:.2f}" in answer.answer
    assert (answer.quoted, answer.verified, outcome.followings) == (None, False, ())
    assert outcome.kept == {"outcome": "not verified"}


@pytest.mark.parametrize("task", [AgentTask(prompt="shoe"), AgentTask(prompt="lamp", memories=0)])
def test_without_a_memory_the_task_is_given_up_and_says_what_to_set_and_how_to_go_on(
    recall: Recall, memory: MemoryClient, task: AgentTask
) -> None:
    remember(recall, "poem" if task.memories == 0 else "plan", ("lamp", "A lamp."))

    with pytest.raises(NoModelSet, match="There is no chat model") as caught:
        AnswerStage(POEM, NoModel(), memory, 100).run("journey-1", task)

    assert caught.value.reason == "no model"
    assert "MEMSHARE_MODEL" in str(caught.value)
    assert "`memshare dead retry journey-1`" in str(caught.value)


def test_no_question_is_made_up_for_a_standard_answer(memory: MemoryClient) -> None:
    with pytest.raises(NoModelSet):
        AnswerStage(POEM, NoModel(), memory, 100).ask("journey-1", QuestionTask(answer="A lamp.", round=1))
