"""How many memories an agent's task is shown: what it says itself, else its agent's file, else what was learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Never

import pytest
import redis
from pydantic import BaseModel

from memshare_agents.roster import Agent, load_roster
from memshare_agents.tasks import AnswerStage
from memshare_broker.delivery.hops import NextMessage
from memshare_broker.errors import TryAgain
from memshare_broker.wire.messages import AgentPair, AgentTask, Examples, Turn
from memshare_memory.belief.lift import HowMany, LiftSums, without_grade
from memshare_memory.door.client import MemoryClient
from memshare_memory.recall.recall import Recall
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat

POEM: Agent = load_roster(None)["poem"]


class Away(ScriptedChat):
    """A model whose server does not answer."""

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Never:  # noqa: ARG002
        raise TryAgain("It is away.", reason="model away")


@pytest.fixture
def learnt(redis_client: redis.Redis, recall: Recall) -> HowMany:
    """Of a pool of eight memories in which one alone helped."""
    memories = [remembered(f"lamp {number}", answer=f"Verse {number}", pool="poem")[0] for number in range(8)]
    recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    bandit = HowMany(redis_client)
    for number, score in ((0, 20.0), (1, 90.0), (3, 30.0), (6, 30.0)):
        for at in range(40):
            bandit.count("poem", None, f"{number} {at}", score, Examples(model="scripted", number=number))
    return bandit


def handed_on(stage: AnswerStage, task: AgentTask) -> AgentPair:
    following = stage.run("journey-1", task).following
    assert isinstance(following, NextMessage)
    assert isinstance(following.body, AgentPair)
    return following.body


def test_it_is_learnt_where_nobody_says_it_and_handed_on_to_be_counted(learnt: HowMany, memory: MemoryClient) -> None:
    stage = AnswerStage(POEM, ScriptedChat("A verse."), memory, 100, how_many=learnt)

    pair = handed_on(stage, AgentTask(prompt="a lamp"))

    assert len(pair.shown) == 1
    assert pair.examples == Examples(model="scripted", number=1)


@pytest.mark.parametrize(
    ("agent", "task", "shown"),
    [
        (POEM, AgentTask(prompt="a lamp", memories=2), 2),
        (POEM.model_copy(update={"memories": 4}), AgentTask(prompt="a lamp"), 4),
        (POEM.model_copy(update={"memories": 4}), AgentTask(prompt="a lamp", memories=0), 0),
    ],
)
def test_what_a_task_or_an_agents_file_says_is_not_learnt_from(
    agent: Agent, task: AgentTask, shown: int, learnt: HowMany, memory: MemoryClient
) -> None:
    stage = AnswerStage(agent, ScriptedChat("A verse."), memory, 100, how_many=learnt)

    pair = handed_on(stage, task)

    assert (len(pair.shown), pair.examples) == (shown, None)


@pytest.mark.parametrize(("remember", "noted"), [(True, {"all withheld", "only one withheld"}), (False, set())])
def test_a_task_on_which_chance_decided_is_noted_once_its_model_fails_and_not_while_it_waits(
    learnt: HowMany, memory: MemoryClient, redis_client: redis.Redis, remember: bool, noted: set[str]
) -> None:
    sums = LiftSums(redis_client)
    stage = AnswerStage(POEM, ScriptedChat(), memory, 100, how_many=learnt, withhold=0.05, lift=sums)
    by_chance = (f"task {at}" for at in range(500))
    chosen = {one: learnt.choose("poem", "scripted", None, one) for one in by_chance}
    journey = next(one for one, examples in chosen.items() if examples.by_chance and examples.number == 1)

    waits = replace(stage, chat=Away())
    with pytest.raises(TryAgain):
        waits.run(journey, AgentTask(prompt="a lamp", remember=remember))
    replace(stage, chat=ScriptedChat("A verse.")).run(journey, AgentTask(prompt="a lamp", remember=remember))
    assert without_grade(redis_client, "poem") == []

    for _ in range(2):
        with pytest.raises(AssertionError, match="script is over"):
            stage.run(journey, AgentTask(prompt="a lamp", remember=remember))

    found = without_grade(redis_client, "poem")
    assert {group.way for group, *_ in found} == noted
    assert {(group.agent, group.kind, group.model) for group, *_ in found} <= {("poem", "", "scripted")}
    assert all(shown.tasks + without.tasks == 1 for _, shown, without in found)
