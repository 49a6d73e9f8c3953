from __future__ import annotations

import os

import pytest
import redis

from memshare_broker.errors import MemshareError
from memshare_trainer.consolidation.consolidation_state import (
    ALIVE,
    STATE,
    Consolidated,
    Trial,
    Worse,
    clear_killed,
    read_state,
    recorded,
    tried,
)
from memshare_trainer.lesson import Figure

DONE = Consolidated(encoder_before="a", encoder="a@1", pools=("poem",), lessons=90, memories=7)
BETTER = Figure(before=0.6, after=0.7, error=0.02)
TRIED = Trial(
    at=1, seconds=60, encoder="a", pools=("poem",), lessons=90, held_out=10, memories=7, accepted=True,
    first_helps=BETTER, held_out_ndcg=BETTER, probe_ndcg=BETTER,
)  # fmt: skip


def test_it_says_that_it_runs_and_then_what_came_of_it(redis_client: redis.Redis) -> None:
    def work() -> Consolidated:
        state = read_state(redis_client)
        assert state.running == os.getpid()
        assert state.since
        return DONE

    recorded(redis_client, 100, work)

    state = read_state(redis_client)
    assert (state.running, state.since, state.lessons) == (None, None, 100)
    assert (state.outcome, state.result) == ("consolidated", DONE)
    assert redis_client.hget(STATE, "running") == ""


def test_a_refused_one_counts_its_lessons_and_one_that_failed_does_not(redis_client: redis.Redis) -> None:
    def fail(error: MemshareError) -> Consolidated:
        raise error

    with pytest.raises(Worse):
        recorded(redis_client, 100, lambda: fail(Worse("It is worse.")))
    refused = read_state(redis_client)
    with pytest.raises(MemshareError):
        recorded(redis_client, 150, lambda: fail(MemshareError("No disk.")))
    failed = read_state(redis_client)

    assert (refused.outcome, refused.lessons, refused.reason) == ("refused", 100, "It is worse.")
    assert (failed.outcome, failed.lessons, failed.reason) == ("failed", 100, "No disk.")


def test_a_trial_is_noted_beside_the_last_consolidation(redis_client: redis.Redis) -> None:
    def work() -> Trial:
        assert read_state(redis_client).running == os.getpid()
        return TRIED

    recorded(redis_client, 100, lambda: DONE)
    before = read_state(redis_client)

    tried(redis_client, work)

    assert read_state(redis_client) == before.model_copy(update={"trial": TRIED})


def test_nobody_waits_for_one_that_was_killed(redis_client: redis.Redis) -> None:
    redis_client.hset(STATE, mapping={"running": 1, "since": 1})
    redis_client.set(ALIVE, 1)
    clear_killed(redis_client)
    assert read_state(redis_client).running == 1

    redis_client.delete(ALIVE)

    assert read_state(redis_client).running is None
    clear_killed(redis_client)
    assert redis_client.hget(STATE, "running") == ""
