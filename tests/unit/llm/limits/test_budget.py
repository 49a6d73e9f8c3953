from __future__ import annotations

import pytest
import redis

from memshare_broker.errors import NotYet
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.budget import JITTER, Budget, Cap, Holder
from memshare_llm.limits.usage import Charge, UsageLog, Used

POEM, ADA = Holder("agent", "poem"), Holder("submitter", "Ada Lovelace")
EIGHT = 1_795_262_400.0 + 8 * 3_600  # Unix time of 2026-11-21 20:00 UTC


@pytest.fixture
def usage(redis_client: redis.Redis) -> UsageLog:
    return UsageLog(redis_client, clock=lambda: EIGHT)


@pytest.fixture
def budget(redis_client: redis.Redis, usage: UsageLog) -> Budget:
    return Budget(redis_client, usage, clock=lambda: EIGHT)


def spend(usage: UsageLog, tokens: int = 0, money: float = 0.0) -> None:
    usage.add(Charge("poem", "Ada Lovelace", "openai:small", Usage(completion_tokens=tokens), money))


@pytest.mark.parametrize(
    ("cap", "used", "reached"),
    [
        (Cap(tokens=10), Used(1, 4, 5), None),
        (Cap(tokens=10), Used(1, 4, 6), ("tokens", "10 tokens, is used up (10)")),
        (Cap(tokens=10_000), Used(1, 10_412), ("tokens", "10,000 tokens, is used up (10,412)")),
        (Cap(tokens=0), Used(), ("tokens", "0 tokens, is used up (0)")),
        (Cap(money=2.5), Used(9, 9, 9, 2.4999), None),
        (Cap(money=2.5), Used(9, 9, 9, 2.5), ("money", "2.50 in money, is used up (2.50)")),
        (Cap(money=0.001), Used(9, 9, 9, 0.0012), ("money", "0.0010 in money, is used up (0.0012)")),
        (Cap(tokens=10, money=2.5), Used(1, 1, 1, 3), ("money", "2.50 in money, is used up (3.00)")),
        (Cap(), Used(1, 10**9, 10**9, 10**9), None),
    ],
)
def test_a_cap_is_reached_when_all_of_it_is_used(cap: Cap, used: Used, reached: tuple[str, str] | None) -> None:
    assert cap.reached(used) == reached


def test_a_task_over_the_cap_of_its_agent_waits_for_the_next_utc_day(budget: Budget, usage: UsageLog) -> None:
    budget.set(POEM, Cap(tokens=10))
    spend(usage, 9)
    budget.check("poem", "bob")
    spend(usage, 3)

    with pytest.raises(NotYet) as caught:
        budget.check("poem", "bob")

    assert str(caught.value) == (
        "The cap of agent 'poem' for today, 10 tokens, is used up (12). It goes on at 00:00 UTC, or when it is raised: "
        "memshare budget set --agent poem --tokens N."
    )
    assert caught.value.hold == POEM.hold == "agent poem"
    assert 4 * 3_600 <= caught.value.wait <= 4 * 3_600 + JITTER
    budget.check("plan", "bob")


def test_a_submitters_cap_holds_for_every_agent_and_names_a_command_that_can_be_pasted(
    budget: Budget, usage: UsageLog
) -> None:
    budget.set(ADA, Cap(money=1))
    spend(usage, money=1.5)

    with pytest.raises(NotYet, match=r"submitter 'Ada Lovelace'.*--submitter 'Ada Lovelace' --money N") as caught:
        budget.check("plan", "Ada Lovelace")

    assert caught.value.hold == "submitter Ada Lovelace"
    budget.check("poem", "bob")


def test_a_cap_that_is_raised_or_taken_away_lets_tasks_through(budget: Budget, usage: UsageLog) -> None:
    spend(usage, 12)
    for cap in (Cap(tokens=100), None):
        budget.set(POEM, Cap(tokens=10))
        with pytest.raises(NotYet):
            budget.check("poem", "bob")

        budget.set(POEM, cap)

        budget.check("poem", "bob")
    assert budget.caps() == {}


def test_caps_are_listed_by_kind_and_name(budget: Budget) -> None:
    for holder in (ADA, POEM, Holder("agent", "logic")):
        budget.set(holder, Cap(tokens=10, money=2.5))

    assert list(budget.caps()) == [Holder("agent", "logic"), POEM, ADA]
    assert budget.caps()[ADA] == Cap(tokens=10, money=2.5)
