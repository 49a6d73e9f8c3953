from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import redis

from memshare_broker import redis_server
from memshare_broker.connection import connect
from memshare_broker.observe.metrics import METRICS
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.usage import Charge, UsageLog, Used, day_of, seconds_left
from tests.support.deployment import patient, wait_for

NOON = 1_795_262_400.0  # Unix time of 2026-11-21 12:00 UTC


def charge(agent: str = "poem", submitter: str = "ada", model: str = "openai:small", money: float = 0.25) -> Charge:
    return Charge(agent, submitter, model, Usage(prompt_tokens=10, completion_tokens=5), money)


def test_a_day_is_a_utc_day_whatever_the_machines_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        assert (day_of(NOON), day_of(NOON + 43_199), day_of(NOON + 43_200)) == (
            "2026-11-21",
            "2026-11-21",
            "2026-11-22",
        )
        assert seconds_left(NOON) == 43_200
    finally:
        monkeypatch.undo()
        time.tzset()


def test_cached_and_reasoning_tokens_are_counted_beside_those_they_are_among(redis_client: redis.Redis) -> None:
    usage = UsageLog(redis_client)
    took = Usage(prompt_tokens=9_000, completion_tokens=30, cached_tokens=8_500, reasoning_tokens=20)

    usage.add(charge()._replace(usage=took))
    usage.add(charge())

    (used,) = usage.used([("agent", "poem")])
    assert (used.cached_tokens, used.reasoning_tokens) == (8_500, 20)
    assert used.tokens == 9_030 + 15


def test_a_call_counts_for_its_agent_its_submitter_and_its_model(redis_client: redis.Redis) -> None:
    usage = UsageLog(redis_client)

    usage.add(charge(submitter="Ada Lovelace: x"))
    usage.add(charge(submitter="bob", model="mistral:small"))

    once, twice = Used(1, 10, 5, 0.25), Used(2, 20, 10, 0.5)
    assert usage.today() == {
        "agent": {"poem": twice},
        "submitter": {"Ada Lovelace: x": once, "bob": once},
        "model": {"openai:small": once, "mistral:small": once},
    }
    assert usage.used([("agent", "poem"), ("submitter", "bob"), ("agent", "plan")]) == [twice, once, Used()]
    assert twice.tokens == 30


def test_what_has_no_agent_counts_for_its_submitter_alone(redis_client: redis.Redis) -> None:
    usage = UsageLog(redis_client)

    usage.add(charge(agent=""))

    assert usage.today()["agent"] == {}
    assert usage.today()["submitter"]["ada"].calls == 1


def test_the_next_day_begins_at_nothing_and_the_day_before_is_forgotten_in_time(redis_client: redis.Redis) -> None:
    now = NOON
    usage = UsageLog(redis_client, clock=lambda: now)
    usage.add(charge())
    assert usage.today()["agent"]["poem"].calls == 1

    now = NOON + 43_200

    assert usage.used([("agent", "poem")]) == [Used()]
    assert usage.today()["agent"] == {}
    assert 86_400 < redis_client.ttl("memshare:usage:2026-11-21") <= 2 * 86_400


def test_every_call_of_many_threads_and_processes_is_counted_once(redis_client: redis.Redis) -> None:
    logs = [UsageLog(redis_client), UsageLog(redis_client)]  # each is what one process has

    def work(log: UsageLog) -> None:
        for _ in range(50):
            log.add(charge(money=0.1))

    threads = [threading.Thread(target=work, args=(log,)) for log in logs for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for log in logs:
        log.today()  # writes what waits
    (used,) = UsageLog(redis_client).used([("agent", "poem")])
    assert used.calls == 400
    assert used.tokens == 6_000
    assert used.money == pytest.approx(40)


def test_what_calls_used_is_written_in_a_moment_by_itself(redis_client: redis.Redis) -> None:
    usage, reader = UsageLog(redis_client), UsageLog(redis_client)

    usage.add(charge())

    wait_for(lambda: reader.used([("agent", "poem")])[0].calls == 1, 5, "the call to be counted")
    usage.took("openai:small", 0.2)
    wait_for(lambda: "memshare_model_seconds_sum" in str(redis_client.hkeys(METRICS)), 5, "its seconds")


ENDS = """
import os, sys
from memshare_broker.connection import connect
from memshare_broker.worker import take_last_steps
from memshare_broker.wire.messages import Usage
from memshare_llm.limits import usage
from memshare_llm.limits.usage import Charge, UsageLog
usage.EVERY = 60
UsageLog(connect(sys.argv[1])).add(Charge("poem", "ada", "openai:small", Usage(prompt_tokens=10), 0.25))
"""


@pytest.mark.parametrize("end", ["", "take_last_steps(); os._exit(0)", "raise SystemExit(1)"])
def test_what_the_last_calls_used_is_written_before_a_process_ends(
    settings: Settings, redis_client: redis.Redis, end: str
) -> None:
    subprocess.run([sys.executable, "-c", ENDS + end, settings.redis], check=False, timeout=60)

    assert UsageLog(redis_client).used([("agent", "poem")])[0].calls == 1


def test_a_call_does_not_wait_for_a_redis_that_is_frozen(tmp_path: Path) -> None:
    process = redis_server.start(tmp_path)
    with connect(redis_server.socket_url(tmp_path), tries=20) as client:
        usage = UsageLog(client)
        usage.add(charge())
        assert usage.today()["agent"]["poem"].calls == 1
        process.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            for _ in range(50):
                usage.add(charge())
            took = time.monotonic() - began
        finally:
            process.send_signal(signal.SIGCONT)
        assert took < patient(5), "the connection's own time limit is 30 s"
        assert usage.today()["agent"]["poem"].calls == 51
    process.terminate()
    process.wait(10)


class LosesReplies(redis.Redis):
    """A real client; the replies of its first scripts get lost on the way back."""

    lost = 0

    def execute_command(self, *args: Any, **options: Any) -> Any:
        reply = super().execute_command(*args, **options)
        if self.lost and args[0] == "EVALSHA":
            self.lost -= 1
            raise redis.ConnectionError("the reply got lost")
        return reply


@pytest.mark.usefixtures("redis_client")
def test_a_count_whose_reply_got_lost_is_not_written_twice(settings: Settings) -> None:
    with LosesReplies.from_url(settings.redis, decode_responses=True) as client:
        usage = UsageLog(client)
        usage.add(charge())
        assert usage.used([("agent", "poem")])[0].calls == 1  # the script is known to Redis from here on
        client.lost = 1
        usage.add(charge())
        wait_for(lambda: client.lost == 0, 5, "the reply to get lost")

        assert usage.used([("agent", "poem")])[0].calls == 2
        usage.add(charge())

        assert usage.used([("agent", "poem")])[0].calls == 3


def test_what_is_counted_while_redis_is_away_is_written_when_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def started() -> Sequence[Any]:
        process = redis_server.start(tmp_path)
        with connect(redis_server.socket_url(tmp_path), tries=0) as one:
            wait_for(lambda: answers(one), 10, "Redis")
        return [process]

    def answers(one: redis.Redis) -> bool:
        try:
            return bool(one.ping())
        except redis.ConnectionError:
            return False

    (process,) = started()
    with connect(redis_server.socket_url(tmp_path), tries=0) as client:
        usage = UsageLog(client)
        usage.add(charge())
        assert usage.used([("agent", "poem")])[0].calls == 1
        process.kill()
        process.wait(10)

        usage.add(charge())
        usage.add(charge())
        wait_for(lambda: "memshare-usage failed" in caplog.text, 10, "it to be said that Redis is away")

        (process,) = started()
        try:
            usage.add(charge())
            wait_for(lambda: usage.used([("agent", "poem")])[0].calls >= 4, 5, "all four calls")
            assert usage.used([("agent", "poem")]) == [Used(4, 40, 20, 1.0)]
        finally:
            process.terminate()
            process.wait(10)
