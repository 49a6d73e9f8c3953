"""Calls that wait for a provider's batch: none is lost, and none is asked twice, whatever is killed when."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
import redis

from memshare.client.pools import model_doubts
from memshare_broker.delivery.hops import SCORE
from memshare_broker.delivery.schema import PARKED
from memshare_broker.delivery.sweeper import ParkedMessages
from memshare_broker.presence import Presence
from memshare_broker.wire.messages import Turn
from memshare_llm import deferred
from memshare_llm.chat import Chat, Deferred, UselessReply
from memshare_llm.deferred import BATCHES, DeferredCalls, deferring
from memshare_llm.limits.budget import Metered, Metering, Payer, Prices
from memshare_llm.limits.usage import UsageLog
from memshare_llm.models import open_batch_api, open_chat
from memshare_llm.structured import ReplyForm, ask
from tests.support.batch_server import BatchServer, serving_batches
from tests.support.chat_script import Answer

PRICES = {"openai:scripted": {"prompt": 1_000_000, "completion": 0}}


class Colour(ReplyForm):
    name: str


class Killed(BaseException):
    """Ends a step as if its process had been killed."""


def kill(*_: object) -> None:
    raise Killed


def said(body: Mapping[str, object]) -> Answer:
    """Of each question its own reply."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return Answer(json.dumps({"name": f"reply to {messages[-1]['content']}"}))


@pytest.fixture(params=["openai", "mistral"])
def model(request: pytest.FixtureRequest) -> str:
    return f"{request.param}:scripted"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    with serving_batches(said) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("MISTRAL_BASE_URL", server.url)
        monkeypatch.setenv("MISTRAL_API_KEY", "test")
        yield server


Opened = Callable[[], DeferredCalls]


@pytest.fixture
def usage(redis_client: redis.Redis) -> Iterator[UsageLog]:
    log = UsageLog(redis_client)
    yield log
    log.flush()  # or what it has yet to write would be of the next test


@pytest.fixture
def opened(model: str, redis_client: redis.Redis, usage: UsageLog, server: BatchServer) -> Opened:  # noqa: ARG001
    """Opens the calls anew, as another process does, which takes a turn whenever it is told to."""

    def calls() -> DeferredCalls:
        api = open_batch_api(model, timeout=10)
        assert api is not None
        prices = Prices.model_validate(PRICES)
        return DeferredCalls(redis_client, api, usage, prices, gather=0, every=0.001)

    return calls


class Asking:
    """Messages that ask a model a question each, as their tasks do."""

    def __init__(self, model: str, client: redis.Redis, opened: Opened, usage: UsageLog) -> None:
        self._chat = open_chat(model, timeout=10, connections=1)
        self._client = client
        self._opened = opened
        self._usage = usage

    def __call__(self, question: str, times: int = 1) -> list[str] | None:
        """The replies to a message's question, or None where the message is to wait; then it does."""
        payer = Payer(f"journey of {question}", "poem", "ada")
        with deferring(self._metering(), self._opened(), SCORE)(self._chat, payer) as chat:
            try:
                return [self._ask(chat, question) for _ in range(times)]
            except Deferred as error:
                self._client.zadd(PARKED, {SCORE.id_in(payer.journey): 1e12})
                self.why = str(error)
                return None

    def _ask(self, chat: Chat, question: str) -> str:
        return ask(chat, [Turn(role="user", content=question)], Colour).value.name

    def _metering(self) -> Metering:
        @contextmanager
        def metered(chat: Chat, payer: Payer) -> Iterator[Chat]:
            yield Metered(chat, payer, self._usage, Prices())

        return metered

    def is_woken(self, question: str) -> bool:
        return self._client.zscore(PARKED, SCORE.id_in(f"journey of {question}")) == 0


@pytest.fixture
def asking(model: str, redis_client: redis.Redis, opened: Opened, usage: UsageLog) -> Asking:
    opened().take_turn()  # somebody hands in
    return Asking(model, redis_client, opened, usage)


def turn(opened: Opened, client: redis.Redis) -> None:
    """A turn of another process, some time later."""
    client.delete(*client.scan_iter("memshare:deferred:ready:*:turn"), "none")
    opened().take_turn()


def test_what_can_wait_is_asked_in_one_batch_and_each_gets_its_own_reply(
    asking: Asking, opened: Opened, server: BatchServer, redis_client: redis.Redis
) -> None:
    questions = ["red", "blue", "green"]

    assert [asking(one) for one in questions] == [None] * 3
    assert "the next batch" in asking.why
    turn(opened, redis_client)
    assert [asking(one) for one in questions] == [None] * 3
    assert "batch-1 of" in asking.why
    turn(opened, redis_client)
    assert not any(map(asking.is_woken, questions))
    server.end_jobs()
    turn(opened, redis_client)

    assert all(map(asking.is_woken, questions))
    assert [asking(one) for one in questions] == [[f"reply to {one}"] for one in questions]
    assert (len(server.jobs), len(server.asked), server.requests) == (1, 3, [])
    assert redis_client.hgetall(BATCHES) == {}


@pytest.mark.parametrize("model", ["openai:scripted"])
def test_a_deferred_call_is_counted_once_at_half_its_price(
    asking: Asking, opened: Opened, server: BatchServer, redis_client: redis.Redis, usage: UsageLog
) -> None:
    asking("red and blue")
    turn(opened, redis_client)
    server.end_jobs()
    turn(opened, redis_client)
    asking("red and blue")
    asking("red and blue")

    [used] = usage.used([("submitter", "ada")])
    assert (used.calls, used.prompt_tokens, used.money) == (1, 3, 1.5)


STEPS = ["before the hand-in", "after the file", "after the hand-in", "after a look", "before waking"]


@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_is_killed_at_any_step_loses_no_call_and_asks_none_twice(
    step: str,
    asking: Asking,
    opened: Opened,
    server: BatchServer,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    questions = ["red", "blue"]
    assert [asking(one) for one in questions] == [None] * 2

    def killed_turn(name: str, *, late: bool = False) -> None:
        calls = opened()
        called = getattr(calls.api, name)

        def killed(*args: object) -> None:
            if late:
                called(*args)
            raise Killed

        monkeypatch.setattr(calls.api, name, killed)
        redis_client.delete(*redis_client.scan_iter("memshare:deferred:ready:*:turn"), "none")
        with pytest.raises(Killed):
            calls.take_turn()

    if step == "before the hand-in":
        killed_turn("submit")
    elif step == "after the file":
        server.new_file(b"")
        killed_turn("submit")
    elif step == "after the hand-in":
        killed_turn("submit", late=True)
    turn(opened, redis_client)
    assert len(server.jobs) == 1
    server.end_jobs()
    if step == "after a look":
        killed_turn("download")
    elif step == "before waking":
        with monkeypatch.context() as patched:
            patched.setattr(ParkedMessages, "wake", kill)
            with pytest.raises(Killed):
                turn(opened, redis_client)
    turn(opened, redis_client)
    turn(opened, redis_client)

    assert [asking(one) for one in questions] == [[f"reply to {one}"] for one in questions]
    assert (len(server.asked), server.requests) == (2, [])


def test_what_failed_or_came_too_late_is_asked_in_the_ordinary_way_and_the_rest_is_not(
    asking: Asking, opened: Opened, server: BatchServer, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    questions = ["red", "blue", "green", "grey"]
    for one in questions:
        asking(one)
    turn(opened, redis_client)

    server.end_jobs(failing=[0], lost=[2])
    with caplog.at_level(logging.WARNING):
        turn(opened, redis_client)

    assert [asking(one) for one in questions] == [[f"reply to {one}"] for one in questions]
    asked = {body["messages"][-1]["content"] for body in server.requests}
    assert len(server.requests) == len(asked) == 2
    assert asked < {*questions}
    assert "2 of 4 calls have no reply" in caplog.text


@pytest.mark.parametrize("status", ["failed", "expired", "cancelled"])
@pytest.mark.parametrize("model", ["openai:scripted"])
def test_a_batch_that_brought_nothing_is_asked_in_the_ordinary_way(
    status: str, asking: Asking, opened: Opened, server: BatchServer, redis_client: redis.Redis
) -> None:
    asking("red")
    turn(opened, redis_client)
    server.end_jobs(status=status, lost=[0])
    turn(opened, redis_client)

    assert asking("red") == ["reply to red"]
    assert len(server.requests) == 1


def test_where_a_server_has_no_batches_the_calls_are_ordinary_ones_and_it_is_said_once(
    asking: Asking,
    opened: Opened,
    server: BatchServer,
    redis_client: redis.Redis,
    model: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.has_batches = False
    with caplog.at_level(logging.WARNING):
        assert [asking(one) for one in ("red", "blue")] == [None] * 2
        turn(opened, redis_client)
        assert asking.is_woken("red")
        answers = [asking(one) for one in ("red", "blue", "green")]
        turn(opened, redis_client)

    assert answers == [["reply to red"], ["reply to blue"], ["reply to green"]]
    assert len(server.requests) == 3
    assert caplog.text.count("took no batch") == 1
    worker = Presence(node="trainer@here", pid=7, incarnation="x", queues=("trainer",), trainer_model=model)
    [sentence] = model_doubts(redis_client, [worker])  # which `up` and the page show
    assert sentence.startswith(f"MEMSHARE_BATCH_API is set, and {model} took no batch: {model} answered 404")


def test_a_provider_that_is_away_is_asked_again_and_not_for_ever(
    asking: Asking,
    opened: Opened,
    server: BatchServer,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking("red")
    server.away = True
    turn(opened, redis_client)
    assert asking("red") is None

    server.away = False
    turn(opened, redis_client)
    assert len(server.jobs) == 1
    server.away = True
    monkeypatch.setattr(deferred, "IN_TIME", {False: -1.0, True: -1.0})
    turn(opened, redis_client)
    assert asking("red") == ["reply to red"]


def test_where_nobody_hands_in_nothing_is_deferred(
    model: str, opened: Opened, server: BatchServer, redis_client: redis.Redis, usage: UsageLog
) -> None:
    assert Asking(model, redis_client, opened, usage)("red") == ["reply to red"]
    assert len(server.requests) == 1


def test_the_same_question_of_a_message_is_asked_as_often_as_it_asks(
    asking: Asking, opened: Opened, server: BatchServer, redis_client: redis.Redis
) -> None:
    for _ in range(3):
        assert asking("red", times=3) is None
        turn(opened, redis_client)
        server.end_jobs()
        turn(opened, redis_client)

    assert asking("red", times=3) == ["reply to red"] * 3
    assert (len(server.asked), server.requests) == (3, [])


def test_a_reply_that_does_not_fit_goes_back_at_once_and_is_not_taken_again(
    asking: Asking, opened: Opened, server: BatchServer, redis_client: redis.Redis
) -> None:
    asking("red")
    turn(opened, redis_client)
    server.script = lambda _: Answer('{"shade": "red"}')
    server.end_jobs()
    turn(opened, redis_client)
    server.script = said

    [answer] = asking("red") or []
    assert answer.startswith("reply to This does not fit the schema")
    assert asking("red") == ["reply to red"]
    assert (len(server.asked), len(server.requests)) == (1, 2)


@pytest.mark.parametrize("model", ["openai:scripted"])
def test_a_reply_that_was_cut_off_is_counted_and_asked_for_in_the_ordinary_way(
    asking: Asking, opened: Opened, server: BatchServer, redis_client: redis.Redis, usage: UsageLog
) -> None:
    asking("red")
    turn(opened, redis_client)
    server.script = lambda _: Answer('{"name": "r', finish_reason="length")
    server.end_jobs()
    turn(opened, redis_client)
    server.script = said

    with pytest.raises(UselessReply):
        asking("red")
    assert asking("red") == ["reply to red"]
    assert usage.used([("agent", "poem")])[0].calls == 2


def test_a_batch_waits_for_others_until_it_is_full_or_the_first_has_waited(
    model: str, redis_client: redis.Redis, server: BatchServer, usage: UsageLog
) -> None:
    def calls() -> DeferredCalls:
        api = open_batch_api(model, timeout=10)
        assert api is not None
        return DeferredCalls(redis_client, api, usage, Prices(), gather=600, every=0.001, most=2)

    calls().take_turn()
    asking = Asking(model, redis_client, calls, usage)
    asking("red")
    turn(calls, redis_client)
    assert server.jobs == {}

    for one in ("blue", "green"):
        asking(one)
    turn(calls, redis_client)
    assert len(server.asked) == 2


def test_a_job_that_another_process_is_about_to_hand_in_is_handed_in_once(
    asking: Asking,
    opened: Opened,
    server: BatchServer,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking("red")
    redis_client.delete(*redis_client.scan_iter("memshare:deferred:ready:*:turn"), "none")
    first, second = opened(), opened()
    submit = first.api.submit

    def slowly(name: str, requests: Mapping[str, object]) -> str:
        redis_client.delete(*redis_client.scan_iter("memshare:deferred:ready:*:turn"), "none")
        second.take_turn()
        return submit(name, requests)

    monkeypatch.setattr(first.api, "submit", slowly)
    first.take_turn()

    assert len(server.jobs) == 1
