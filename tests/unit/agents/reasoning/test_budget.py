from __future__ import annotations

import pytest

from memshare_agents.reasoning.run_state import Paid, RunBudget, RunLimits, UsedUp
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Reply, UselessReply
from tests.support.scripted_chat import ScriptedChat

ASKED = (Turn(role="user", content="Well?"),)


def test_no_call_begins_once_the_tokens_are_used_up() -> None:
    chat = ScriptedChat("a", "b", "c")  # 15 tokens each
    paid = Paid(chat, budget := RunBudget(RunLimits(tokens=30)))

    paid.reply(ASKED)
    paid.reply(ASKED)
    with pytest.raises(UsedUp, match="its budget of 30 tokens is used up"):
        paid.reply(ASKED)

    assert len(chat.conversations) == 2
    assert paid.usage == budget.usage == Usage(prompt_tokens=20, completion_tokens=10)


def test_no_call_begins_once_the_time_is_over() -> None:
    now = 100.0
    chat = ScriptedChat("a", "b")
    paid = Paid(chat, RunBudget(RunLimits(seconds=60), clock=lambda: now))

    paid.reply(ASKED)
    now = 160.0
    with pytest.raises(UsedUp, match="its time of 60 seconds is over"):
        paid.reply(ASKED)

    assert len(chat.conversations) == 1


def test_a_useless_reply_is_paid_for_too() -> None:
    class Useless(ScriptedChat):
        def reply(self, *_: object) -> Reply:
            raise UselessReply("cut off", "cut off", Usage(completion_tokens=7))

    paid = Paid(Useless(), budget := RunBudget(RunLimits()))

    with pytest.raises(UselessReply):
        paid.reply(ASKED)

    assert paid.usage == budget.usage == Usage(completion_tokens=7)


def test_each_step_has_its_own_account_and_all_share_one_budget() -> None:
    chat, budget = ScriptedChat("a", "b"), RunBudget(RunLimits())
    first, second = Paid(chat, budget), Paid(chat, budget)

    first.reply(ASKED)
    second.reply(ASKED)

    assert (first.usage.prompt_tokens, second.usage.prompt_tokens, budget.usage.prompt_tokens) == (10, 10, 20)
