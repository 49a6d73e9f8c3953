from __future__ import annotations

from contextlib import nullcontext

import pytest
import redis

from memshare_agents.roster import load_roster
from memshare_agents.tasks import AnswerStage
from memshare_broker.errors import BadInput, NotYet
from memshare_broker.wire.messages import AgentTask
from memshare_llm.limits.budget import Budget, Cap, Holder, Metered, Prices
from memshare_llm.limits.usage import UsageLog, Used
from memshare_memory.door.client import MemoryClient
from memshare_memory.recall.recall import Recall
from tests.support.scripted_chat import ScriptedChat


def never() -> Recall:
    raise AssertionError("memories are recalled, which an encoder of a provider is paid for")


def test_a_task_over_its_cap_waits_before_anything_is_paid(redis_client: redis.Redis) -> None:
    budget = Budget(redis_client, UsageLog(redis_client))
    budget.set(Holder("submitter", "ada"), Cap(tokens=0))
    chat = ScriptedChat("There was a lamp")
    poem = load_roster(None)["poem"]
    answering = AnswerStage(poem, chat, never, 100, check_caps=budget.check)

    with pytest.raises(NotYet) as caught:
        answering.run("journey-1", AgentTask(prompt="lamp", submitter="ada"))

    assert caught.value.hold == "submitter ada"
    assert chat.conversations == []
    with pytest.raises(BadInput):  # waiting would not make it better
        answering.run("journey-1", AgentTask(prompt="lamp" * 100, submitter="ada"))


def test_an_answer_is_charged_to_its_agent_and_its_submitter(redis_client: redis.Redis, memory: MemoryClient) -> None:
    usage = UsageLog(redis_client)
    poem = load_roster(None)["poem"]
    answering = AnswerStage(
        poem,
        ScriptedChat("There was a lamp"),
        memory,
        100,
        metering=lambda chat, payer: nullcontext(Metered(chat, payer, usage, Prices())),
    )

    answering.run("journey-1", AgentTask(prompt="lamp", submitter="ada"))

    assert usage.used([("agent", "poem"), ("submitter", "ada")]) == [Used(1, 10, 5), Used(1, 10, 5)]
