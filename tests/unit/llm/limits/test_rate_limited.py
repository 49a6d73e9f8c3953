from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
import redis
from pydantic import BaseModel

from memshare_broker.errors import NotYet
from memshare_broker.settings_file import RateLimit
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import ChatCall, Reply, UselessReply
from memshare_llm.limits.rate_limits import FIRST_GUESS, RateLimited, SharedLimit
from tests.support.scripted_chat import ScriptedChat

ASKED = (Turn(role="system", content="x" * 300), Turn(role="user", content="x" * 100))


class Verbose(ScriptedChat):
    """Each reply takes so many tokens."""

    def __init__(self, *replies: object, usage: Usage) -> None:
        super().__init__(*replies)
        self.usage = usage

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        return super().reply(turns, schema).model_copy(update={"usage": self.usage})


class CutOff(ScriptedChat):
    """Every reply is cut off after 400 tokens."""

    def reply(self, *_: object) -> Reply:
        raise UselessReply("cut off", "cut off", Usage(completion_tokens=400))


def limited(
    client: redis.Redis, chat: ScriptedChat, limit: RateLimit, patience: float = 0, window: int = 60
) -> RateLimited:
    return RateLimited(chat, SharedLimit(client, chat.name, limit, window=window), patience=patience)


def test_a_calls_tokens_are_estimated_by_the_length_of_its_prompt_and_a_completion() -> None:
    assert ChatCall(ASKED).estimate(12.4) == 112


def test_a_call_that_is_not_granted_asks_nobody_and_says_when_it_may_be(redis_client: redis.Redis) -> None:
    chat = ScriptedChat("one", "two", "three")
    model = limited(redis_client, chat, RateLimit(requests=2))
    assert [model.reply(ASKED).text for _ in range(2)] == ["one", "two"]

    with pytest.raises(NotYet, match=r"The rate limit of scripted \(MEMSHARE_RATE_LIMITS\) is used up") as caught:
        model.reply(ASKED)

    assert caught.value.hold == "rate scripted"
    assert 55 < caught.value.wait < 70
    assert len(chat.conversations) == 2


def test_a_call_waits_in_its_thread_where_there_is_room_soon(redis_client: redis.Redis) -> None:
    chat = ScriptedChat("one", "two")
    model = limited(redis_client, chat, RateLimit(requests=1), patience=30, window=1)
    began = time.monotonic()

    assert [model.reply(ASKED).text, model.reply(ASKED).text] == ["one", "two"]

    assert time.monotonic() - began > 0.9


def test_first_tokens_are_limited_as_well(redis_client: redis.Redis) -> None:
    chat = ScriptedChat(first_tokens=lambda _: {"Yes": 1.0})
    model = limited(redis_client, chat, RateLimit(requests=1))
    model.first_token(ASKED)

    with pytest.raises(NotYet):
        model.first_token(ASKED)

    assert len(chat.asked_for_first_tokens) == 1


def test_the_estimate_follows_the_completions_there_were(redis_client: redis.Redis) -> None:
    chat = Verbose(*["x"] * 30, usage=Usage(prompt_tokens=100, completion_tokens=20))
    model = limited(redis_client, chat, RateLimit(tokens=100 + FIRST_GUESS + 9 * 120))

    for _ in range(10):
        model.reply(ASKED)

    with pytest.raises(NotYet):
        model.reply(ASKED)


@pytest.mark.parametrize("kind", [Verbose, CutOff])
def test_tokens_beyond_the_estimate_are_charged_also_where_the_reply_is_useless(
    redis_client: redis.Redis, kind: type[ScriptedChat]
) -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=400)
    chat = Verbose("one", usage=usage) if kind is Verbose else CutOff()
    model = limited(redis_client, chat, RateLimit(tokens=1_000))
    model._completion = 0

    try:
        model.reply((Turn(role="user", content="x" * 40),))
    except UselessReply:
        assert kind is CutOff

    left = SharedLimit(redis_client, chat.name, RateLimit(tokens=1_000))
    assert left.take(601) > 0
    assert left.take(499) == 0


def test_what_the_window_had_no_room_for_is_asked_for_with_the_next_call(redis_client: redis.Redis) -> None:
    chat = Verbose("one", usage=Usage(completion_tokens=FIRST_GUESS + 1_000))
    chat.first_tokens = lambda _: {"Yes": 1.0}
    model = limited(redis_client, chat, RateLimit(tokens=FIRST_GUESS + 600))
    model.reply(())
    redis_client.flushall()  # as a minute later

    model.first_token(())

    left = SharedLimit(redis_client, chat.name, RateLimit(tokens=FIRST_GUESS + 600))
    assert left.take(FIRST_GUESS + 600 - 400) > 0
    assert left.take(FIRST_GUESS + 600 - 420) == 0
