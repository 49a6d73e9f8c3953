from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import pytest
import redis
from pydantic import BaseModel

from memshare_broker.errors import GiveUp, NotYet, TryAgain
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import FirstToken, NoLogprobs, RefusedReply, Reply, UselessReply
from memshare_llm.limits.budget import Metered, Payer, Prices, unmetered
from memshare_llm.limits.usage import UsageLog, Used
from memshare_llm.structured import ask
from tests.support.scripted_chat import ScriptedChat

ASKED = (Turn(role="user", content="Write about the sea."),)
PRICES = Prices.model_validate({"currency": "USD", "scripted": {"prompt": 1_000, "completion": 10_000}})
PAYER = Payer("journey-1", "poem", "ada")
SPENT = Usage(prompt_tokens=10, completion_tokens=5)


class Failing(ScriptedChat):
    """Raises instead of replying."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def reply(self, *_: object) -> Reply:
        raise self.error

    def first_token(self, *_: object) -> FirstToken:
        raise self.error


@pytest.fixture
def usage(redis_client: redis.Redis) -> UsageLog:
    return UsageLog(redis_client)


def test_a_call_is_counted_once_with_what_it_cost(usage: UsageLog) -> None:
    chat = Metered(ScriptedChat("Blue."), PAYER, usage, PRICES)

    reply = chat.reply(ASKED)

    assert reply.text == "Blue."
    assert chat.name == "scripted"
    used = Used(1, 10, 5, pytest.approx(0.06))
    assert usage.today() == {"agent": {"poem": used}, "submitter": {"ada": used}, "model": {"scripted": used}}


def test_a_model_without_a_price_is_counted_at_nothing(usage: UsageLog) -> None:
    Metered(ScriptedChat("Blue."), PAYER, usage, Prices()).reply(ASKED)

    assert usage.used([("agent", "poem")]) == [Used(1, 10, 5, 0.0)]


class Colour(BaseModel):
    name: str


def test_a_reply_that_goes_back_is_two_calls(usage: UsageLog) -> None:
    chat = Metered(ScriptedChat("Blue.", {"name": "blue"}), PAYER, usage, PRICES)

    structured = ask(chat, ASKED, Colour)

    assert structured.value.name == "blue"
    assert usage.used([("agent", "poem")])[0][:3] == (2, 20, 10)


def test_first_tokens_are_counted(usage: UsageLog) -> None:
    def first_tokens(_: Sequence[Turn]) -> Mapping[str, float]:
        return {"Yes": 1.0}

    Metered(ScriptedChat(first_tokens=first_tokens), PAYER, usage, PRICES).first_token(ASKED)

    assert usage.used([("submitter", "ada")])[0][:3] == (1, 10, 1)


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (UselessReply("cut off", "cut off", SPENT), 1),
        (RefusedReply("refused", "refused", SPENT), 1),
        (NoLogprobs("replied without", SPENT), 1),
        (NoLogprobs("was not asked"), 0),
        (TryAgain("429"), 0),
        (GiveUp("401"), 0),
        (NotYet("the limit is used up", 1, "rate scripted"), 0),
    ],
)
def test_a_call_that_fails_is_counted_where_it_was_paid_for(usage: UsageLog, error: Exception, calls: int) -> None:
    chat = Metered(Failing(error), PAYER, usage, PRICES)
    made: list[Callable[[], object]] = [lambda: chat.first_token(ASKED)]
    if not isinstance(error, NoLogprobs):
        made.append(lambda: chat.reply(ASKED))

    for make in made:
        with pytest.raises(type(error)) as caught:
            make()
        assert caught.value is error

    assert usage.used([("agent", "poem")])[0][:3] == tuple(len(made) * calls * count for count in (1, 10, 5))


def test_calls_side_by_side_are_all_counted(usage: UsageLog) -> None:
    chat = Metered(ScriptedChat(*["Blue."] * 40), PAYER, usage, PRICES)
    threads = [threading.Thread(target=lambda: [chat.reply(ASKED) for _ in range(5)]) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert usage.used([("agent", "poem")])[0].calls == 40


def test_without_metering_the_model_is_as_it_is() -> None:
    chat = ScriptedChat("Blue.")

    with unmetered(chat, PAYER) as given:
        assert given is chat
