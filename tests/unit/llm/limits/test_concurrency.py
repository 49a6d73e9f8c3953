from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
import redis
from pydantic import BaseModel

from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp, NotYet, Reason, TryAgain
from memshare_broker.presence import INCARNATIONS_THERE
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import FirstToken, RefusedReply, Reply, UselessReply
from memshare_llm.limits import concurrency
from memshare_llm.limits.concurrency import (
    MISFITS,
    STATE,
    ConcurrencyLimited,
    Lane,
    Outcome,
    Permit,
    ServerLimit,
    last_calls,
)
from memshare_llm.structured import DoesNotFit, ReplyForm, ask
from tests.support.deployment import patient

ASKED = (Turn(role="user", content="Write about the sea."),)
SERVER = "http://127.0.0.1:8099/v1"


class Mark(ReplyForm):
    points: int


class Served:
    """A chat model whose calls take what `act` says of how many there are at once."""

    name = "openai:small"

    def __init__(self, act: Callable[[int], Reply]) -> None:
        self._act = act
        self._lock = threading.Lock()
        self.at_once = self.most = self.calls = 0

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:  # noqa: ARG002
        with self._lock:
            self.at_once += 1
            self.calls += 1
            self.most = max(self.most, self.at_once)
        try:
            return self._act(self.at_once)
        finally:
            with self._lock:
                self.at_once -= 1

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        raise NotImplementedError


def said(text: str = "Blue.") -> Reply:
    return Reply(text=text, model="openai:small", usage=Usage(prompt_tokens=8, completion_tokens=8))


def limit(client: redis.Redis, lane: Lane = "answers", model: str = "openai:small", timeout: float = 10) -> ServerLimit:
    return ServerLimit(client, SERVER, model, lane, timeout=timeout)


def state(client: redis.Redis) -> dict[str, float]:
    return {str(name): float(value) for name, value in client.hgetall(f"memshare:server:{SERVER}").items()}


def held(client: redis.Redis, lane: Lane, number: int) -> list[Permit]:
    """So many calls that have begun and do not end."""
    client.hset(f"memshare:server:{SERVER}", "limit", 100)
    one = limit(client, lane)
    fit(client, one)
    permits = [one.enter(f"{lane} {at}", "text") for at in range(number)]
    assert all(permits)
    return [permit for permit in permits if permit]


def fit(client: redis.Redis, one: ServerLimit) -> None:
    """Let a reply of this lane have fitted once."""
    client.hset("memshare:misfits", f"{one.model}\x1f{one.lane}\x1ftext", "0 0 1")


def ended(client: redis.Redis, outcome: Outcome, model: str = "openai:small") -> None:
    """Let a call of the model have ended like this."""
    one = limit(client, model=model)
    permit = one.enter("call", "text")
    assert permit is not None
    one.leave(permit, outcome, 0)


def run(client: redis.Redis, pace: Callable[[int], float], calls: int) -> list[float]:
    """The limit after each of so many calls, one of which ends where no more may begin; each call takes by its
    neighbours."""
    one, open_calls, seen = limit(client), list[tuple[int, Permit]](), list[float]()
    for at in range(calls):
        while permit := one.enter(f"call {at} {len(open_calls)} {time.monotonic_ns()}", "text"):
            open_calls.append((permit.calls, permit))
        beside = len(open_calls)
        _, permit = open_calls.pop(0)
        one.leave(permit, "fit", pace(beside))
        seen.append(state(client)["limit"])
    for _, permit in open_calls:
        one.leave(permit, "other", 0)
    return seen


@pytest.mark.parametrize("slots", [1, 4, 16, 64])
def test_a_server_with_so_many_slots_gets_them_all_and_its_queue_stays_short(
    slots: int, redis_client: redis.Redis
) -> None:
    seen = run(redis_client, lambda calls: 0.1 * max(1.0, calls / slots), 1_500)

    settled = sorted(seen[-300:])
    assert slots <= settled[150] <= 4 * slots


def test_a_server_whose_calls_share_one_processor_gets_few_at_once(redis_client: redis.Redis) -> None:
    seen = run(redis_client, lambda calls: 0.1 * (1 + 0.8 * (calls - 1)), 500)

    assert max(seen[100:]) < 5


def test_a_server_that_gets_slower_gets_fewer_and_more_again_once_it_is_fast(redis_client: redis.Redis) -> None:
    fast = run(redis_client, lambda _: 0.1, 300)[-1]
    slow = run(redis_client, lambda calls: 0.1 * max(1.0, calls / 2), 2_000)[-1]
    again = run(redis_client, lambda _: 0.1, 4_000)[-1]

    assert fast > 50
    assert slow < 12
    assert again > 2 * slow


def test_a_server_that_gets_slower_by_itself_is_asked_alone_again_and_gets_many(redis_client: redis.Redis) -> None:
    one = limit(redis_client)
    for at in range(3):  # before there is much to do each call is alone, and short
        permit = one.enter(f"first {at}", "text")
        assert permit
        one.leave(permit, "fit", 0.018)

    seen = run(redis_client, lambda _: 0.118, 500)

    assert seen[20] < 3
    assert seen[-1] > 20


@pytest.mark.parametrize("reason", ["time-out", "rate limit"])
def test_a_time_out_or_a_refusal_halves_the_limit_once_for_calls_that_were_sent_together(
    reason: Reason, redis_client: redis.Redis
) -> None:
    held(redis_client, "answers", 8)
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 40)

    def fail(_: int) -> Reply:
        raise TryAgain("Too much.", reason=reason)

    chat = ConcurrencyLimited(Served(fail), limit(redis_client))
    for _ in range(5):
        with pytest.raises(TryAgain):
            chat.reply(ASKED)

    assert state(redis_client)["limit"] == 20


def test_who_finds_no_place_is_told_that_the_last_call_timed_out(redis_client: redis.Redis) -> None:
    def fail(_: int) -> Reply:
        raise TryAgain("Too long.", reason="time-out")

    with pytest.raises(TryAgain):
        ConcurrencyLimited(Served(fail), limit(redis_client)).reply(ASKED)
    held(redis_client, "answers", 8)
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 8)

    with pytest.raises(NotYet, match="as it can do at once, and its last call timed out"):
        ConcurrencyLimited(Served(fail), limit(redis_client), patience=0).reply(ASKED)


def test_a_call_alone_that_takes_too_long_says_nothing_of_how_many_a_server_can_do(redis_client: redis.Redis) -> None:
    def fail(_: int) -> Reply:
        raise TryAgain("Too long.", reason="time-out")

    redis_client.hset(f"memshare:server:{SERVER}", "limit", 6)
    with pytest.raises(TryAgain):
        ConcurrencyLimited(Served(fail), limit(redis_client)).reply(ASKED)

    assert state(redis_client)["limit"] == 6


def test_threads_of_several_processes_never_exceed_what_was_found(redis_client: redis.Redis) -> None:
    def act(at_once: int) -> Reply:
        time.sleep(0.01 * max(1, at_once - 3))
        return said()

    served = Served(act)
    workers = [ConcurrencyLimited(served, limit(redis_client)) for _ in range(2)]
    with ThreadPoolExecutor(64) as threads:
        replies = list(threads.map(lambda at: workers[at % 2].reply(ASKED).text, range(400)))

    assert replies == ["Blue."] * 400
    assert 3 <= served.most <= 24, "sixty-four want to"


def test_answers_go_before_grades_and_grades_before_what_nobody_waits_for(redis_client: redis.Redis) -> None:
    permits = held(redis_client, "answers", 4)
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 4)
    lanes: list[Lane] = ["concepts", "grades", "answers"]
    ones = {lane: limit(redis_client, lane) for lane in lanes}
    for one in ones.values():
        fit(redis_client, one)
    assert [ones[lane].enter(lane, "text") for lane in lanes] == [None, None, None]

    began = []
    for permit in permits:
        limit(redis_client).leave(permit, "other", 0)
        began += [lane for lane in lanes if ones[lane].enter(lane, "text")]

    assert began[:2] == ["answers", "grades"]


def test_what_nobody_waits_for_begins_only_where_little_goes_on_and_waits_a_second_at_most(
    redis_client: redis.Redis,
) -> None:
    held(redis_client, "answers", 3)
    chat = ConcurrencyLimited(Served(lambda _: said()), limit(redis_client, "labels"))

    redis_client.hset(f"memshare:server:{SERVER}", "limit", 8)
    began = time.monotonic()
    with pytest.raises(NotYet):
        chat.reply(ASKED)
    took = time.monotonic() - began
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 16)

    assert took < patient(2)
    assert chat.reply(ASKED).text == "Blue."


def test_what_was_held_back_for_ten_minutes_has_its_turn_one_at_a_time(redis_client: redis.Redis) -> None:
    held(redis_client, "answers", 3)
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 8)
    one = limit(redis_client, "concepts")
    assert one.enter("a", "text") is None

    redis_client.hincrbyfloat(f"memshare:server:{SERVER}", "held", -601)

    assert one.enter("a", "text")
    redis_client.hset(f"memshare:server:{SERVER}", "held", time.time() - 601)
    assert one.enter("b", "text") is None


def test_what_gave_way_has_not_had_its_turn(redis_client: redis.Redis) -> None:
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 2)
    one = limit(redis_client, "labels")

    for outcome, is_held in (("other", True), ("fit", False)):
        permit = one.enter("a", "text")
        assert permit
        one.leave(permit, outcome, 0.1)  # type: ignore[arg-type]
        assert ("held" in state(redis_client)) == is_held


def test_what_gave_way_for_ten_minutes_gives_way_no_more(redis_client: redis.Redis) -> None:
    redis_client.hset(f"memshare:server:{SERVER}", mapping={"limit": 2, "held": time.time() - 601})

    permit = limit(redis_client, "labels").enter("a", "text")

    assert permit
    assert permit.overdue


def test_what_the_breaker_alone_holds_back_keeps_no_other_from_a_free_place(redis_client: redis.Redis) -> None:
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 8)
    redis_client.hset("memshare:misfits", "openai:small\x1fanswers\x1ftext", "9 0 1")
    answers = limit(redis_client)
    assert answers.enter("a", "text")
    assert answers.enter("b", "text") is None

    assert limit(redis_client, "grades").enter("c", "text")


def test_a_refusal_of_too_many_requests_is_no_misfit(redis_client: redis.Redis) -> None:
    one = limit(redis_client, "labels")
    for at in range(12):
        permit = one.enter(f"call {at}", "text")
        assert permit
        one.leave(permit, "refused", 0)

    assert one.enter("next", "text")


def test_a_rate_limit_that_one_call_met_holds_back_the_models_others_until_its_time(redis_client: redis.Redis) -> None:
    def limited(_: int) -> Reply:
        raise TryAgain("openai:small answered 429: Slow down.", 1.5, "rate limit")

    first = ConcurrencyLimited(Served(limited), limit(redis_client))
    served = Served(lambda _: said())
    other = ConcurrencyLimited(served, limit(redis_client, "labels"))
    with pytest.raises(TryAgain):
        first.reply(ASKED)

    with pytest.raises(TryAgain, match="429 to another call") as held:
        other.reply(ASKED)

    assert (served.calls, held.value.reason, held.value.asked) == (0, "rate limit", False)
    assert 0 < (held.value.wait or 0) <= 1.5
    ended(redis_client, "fit", "openai:large")
    time.sleep(held.value.wait or 0)
    assert other.reply(ASKED) == said()


def test_a_rate_limit_of_days_is_looked_at_again_after_five_minutes(redis_client: redis.Redis) -> None:
    one = limit(redis_client)
    permit = one.enter("call", "text")
    assert permit
    one.leave(permit, "refused", 0, 86_400)

    with pytest.raises(TryAgain) as held:
        one.enter("next", "text")

    assert 290 < (held.value.wait or 0) <= 300


@pytest.mark.parametrize(("lane", "pauses"), [("labels", True), ("concepts", True), ("answers", False)])
@pytest.mark.parametrize("reason", ["content filter", "refused"])
def test_ten_refusals_in_a_row_pause_what_nobody_waits_for_alone(
    reason: Reason, lane: Lane, pauses: bool, redis_client: redis.Redis
) -> None:
    def refuse(_: int) -> Reply:
        raise GiveUp("It is not to be said.", reason)

    served = Served(refuse)
    chat = ConcurrencyLimited(served, limit(redis_client, lane))
    for _ in range(MISFITS):
        with pytest.raises(GiveUp):
            chat.reply(ASKED)

    with pytest.raises(NotYet if pauses else GiveUp):
        chat.reply(ASKED)
    assert served.calls == MISFITS + (not pauses)
    assert {*last_calls(redis_client)["openai:small"]} in ({"filtered"}, {"declined"}), "it is said why they failed"


def test_the_limit_rises_at_a_server_that_counts_no_tokens(redis_client: redis.Redis) -> None:
    uncounted = Reply(text="Blue.", model="openai:small", usage=Usage())
    chat = ConcurrencyLimited(Served(lambda _: uncounted), limit(redis_client))

    for _ in range(5):
        chat.reply(ASKED)

    assert state(redis_client)["limit"] > 1


def test_the_first_call_that_takes_long_keeps_nobody_waiting(redis_client: redis.Redis) -> None:
    one = limit(redis_client)

    began = [one.enter(f"call {at}", "text") for at in range(5)]

    assert [bool(permit) for permit in began] == [True, True, True, True, False]
    assert began[3]
    one.leave(began[3], "fit", 0.1)  # how long one alone takes is not known yet: the others come first
    assert not one.enter("next", "text")


def test_a_call_that_ends_alone_was_alone_only_if_no_other_began_meanwhile(redis_client: redis.Redis) -> None:
    one = limit(redis_client)
    first = one.enter("first", "text")
    second = one.enter("second", "text")
    assert first
    assert second

    one.leave(second, "fit", 0.2)
    one.leave(first, "fit", 0.4)
    assert "alone" not in state(redis_client)

    third = one.enter("third", "text")
    assert third
    one.leave(third, "fit", 0.1)
    assert state(redis_client)["alone"] == 0.1


def test_a_caller_that_was_killed_holds_its_place_for_the_time_of_a_call(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memshare_llm.limits.concurrency.GRACE", 0.1)
    redis_client.hset(f"memshare:server:{SERVER}", "limit", 1)
    killed = limit(redis_client, timeout=0.1)
    assert killed.enter("killed", "text")

    began = time.monotonic()
    assert ConcurrencyLimited(Served(lambda _: said()), limit(redis_client)).reply(ASKED).text == "Blue."

    assert 0.1 < time.monotonic() - began < patient(5)


def test_an_answer_is_given_though_redis_is_away_when_it_has_come(redis_client: redis.Redis) -> None:
    class Away(ServerLimit):
        def leave(self, *_: Any) -> None:
            raise redis.ConnectionError("away")

    chat = ConcurrencyLimited(Served(lambda _: said()), Away(redis_client, SERVER, "m", "answers", timeout=10))

    assert chat.reply(ASKED).text == "Blue."


def misfits(kind: str) -> Callable[[int], Reply]:
    def act(_: int) -> Reply:
        if kind == "prose":
            return said("I would say 9 of 10.")
        if kind == "cut off":
            raise UselessReply("cut off", "cut off", Usage(completion_tokens=9))
        raise RefusedReply("white space", "cut off", Usage(completion_tokens=9))

    return act


@pytest.mark.parametrize("kind", ["prose", "cut off", "white space"])
def test_what_never_fits_is_paid_for_only_until_it_is_known(kind: str, redis_client: redis.Redis) -> None:
    served = Served(misfits(kind))
    held_back: list[NotYet] = []

    def one(_: int) -> None:
        chat = ConcurrencyLimited(served, limit(redis_client, "grades"), patience=30)
        try:
            ask(chat, ASKED, Mark)
        except NotYet as error:
            held_back.append(error)
        except DoesNotFit:
            return
        except (UselessReply, RefusedReply):
            return

    with ThreadPoolExecutor(32) as threads:
        list(threads.map(one, range(1_000)))

    assert MISFITS <= served.calls <= 16
    assert len(held_back) > 900
    assert "for grades, so" in str(held_back[-1]), "the schema has no name for people"
    assert held_back[-1].wait > 200


def test_the_breaker_lets_one_call_try_now_and_then_and_closes_where_it_fits(redis_client: redis.Redis) -> None:
    replies = iter([*["prose"] * 11, *['{"points": 3}'] * 9])
    chat = ConcurrencyLimited(Served(lambda _: said(next(replies))), limit(redis_client, "grades"))
    for _ in range(MISFITS):
        chat.reply(ASKED, Mark)
    (key,) = redis_client.hkeys("memshare:misfits")

    def reopened() -> int:
        """How many of three calls are let through, five minutes later."""
        redis_client.hset("memshare:misfits", key, f"{MISFITS} 1 0")
        let_through = 0
        for _ in range(3):
            try:
                chat.reply(ASKED, Mark)
                let_through += 1
            except NotYet:
                continue
        return let_through

    assert reopened() == 1, "it did not fit"
    assert reopened() == 3, "it did"


def test_what_the_breaker_held_back_goes_on_at_once_when_it_closes(redis_client: redis.Redis) -> None:
    replies = iter([*["prose"] * MISFITS, *['{"points": 3}'] * 2])
    chat = ConcurrencyLimited(Served(lambda _: said(next(replies))), limit(redis_client, "grades"))
    for _ in range(MISFITS):
        chat.reply(ASKED, Mark)
    with pytest.raises(NotYet) as held_back:
        chat.reply(ASKED, Mark)
    ledger, of_other = (
        Ledger(redis_client, keep_days=1),
        NotYet("Others.", 300, hold="misfits openai:large grades Mark"),
    )
    for name, why in (("t1", held_back.value), ("t2", of_other)):
        one = Entry(id=name, task="scorer.score", queue="scorer", body={}, journey=name, stage="score", begins=True)
        ledger.open(one)
        ledger.park(one, why)
    assert ledger.parked.release(10) == []

    (key,) = redis_client.hkeys("memshare:misfits")
    redis_client.hset("memshare:misfits", key, f"{MISFITS} 1 0")
    chat.reply(ASKED, Mark)

    assert [one.id for one in ledger.parked.release(10)] == ["t1"]


def test_it_is_known_how_the_last_calls_of_each_model_ended(redis_client: redis.Redis) -> None:
    def fails() -> Reply:
        raise TryAgain("500", reason="server error")

    acts: list[Callable[[], Reply]] = [said, fails, lambda: said("prose"), said]
    for act in acts:
        chat = ConcurrencyLimited(Served(lambda _, act=act: act()), limit(redis_client))
        with suppress(TryAgain):
            chat.reply(ASKED, Mark if act is acts[2] else None)
    for outcome in ("slow", "yielded", "away"):
        ended(redis_client, outcome, "openai:large")

    assert concurrency.last_calls(redis_client) == {
        "openai:small": ["fit", "misfit", "broken", "fit"],
        "openai:large": ["away", "slow"],
    }

    for _ in range(4):
        ended(redis_client, "refused")
    assert concurrency.last_calls(redis_client)["openai:small"] == [*["refused"] * 4, "fit", "misfit"]

    when, _, rest = str(redis_client.hget("memshare:calls", "openai:small")).partition(" ")
    redis_client.hset("memshare:calls", "openai:small", f"{float(when) - 600} {rest}")
    assert concurrency.last_calls(redis_client).keys() == {"openai:large"}


def test_another_kind_lane_or_model_is_not_held_back(redis_client: redis.Redis) -> None:
    served = Served(lambda _: said("prose"))
    chat = ConcurrencyLimited(served, limit(redis_client, "grades"))
    for _ in range(MISFITS):
        chat.reply(ASKED, Mark)

    with pytest.raises(NotYet):
        chat.reply(ASKED, Mark)

    assert chat.reply(ASKED).text == "prose"
    assert ConcurrencyLimited(served, limit(redis_client, "answers")).reply(ASKED, Mark).text == "prose"
    assert ConcurrencyLimited(served, limit(redis_client, "grades", "openai:large")).reply(ASKED, Mark).text == "prose"


def test_a_misfit_now_and_then_opens_nothing(redis_client: redis.Redis) -> None:
    replies = iter(["prose" if at % 3 else '{"points": 3}' for at in range(100)])
    chat = ConcurrencyLimited(Served(lambda _: said(next(replies))), limit(redis_client, "grades"))

    for _ in range(100):
        chat.reply(ASKED, Mark)


def test_a_call_of_a_worker_that_was_killed_ends_when_that_is_noticed(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_client.sadd(INCARNATIONS_THERE, "killed", "there")
    for worker, call in (("killed", "a"), ("killed", "b"), ("there", "c"), ("a command's", "d")):
        monkeypatch.setattr(concurrency, "WORKER_INCARNATION", worker)
        assert limit(redis_client).enter(call, "text") is not None
    assert limit(redis_client).enter("e", "text") is None

    redis_client.srem(INCARNATIONS_THERE, "killed")
    monkeypatch.setattr(concurrency, "WORKER_INCARNATION", "there")

    permit = limit(redis_client).enter("e", "text")
    assert permit is not None
    assert permit.calls == 3, "a command is no worker, and its call lasts"
    limit(redis_client).leave(permit, "fit", 0.1)
    assert redis_client.zcard(f"{STATE}{SERVER}:calls") == 2


def test_however_many_wait_few_look_again_at_a_time(redis_client: redis.Redis) -> None:
    server = limit(redis_client, "concepts")
    redis_client.hset(server._state, "limit", 4)

    some, all_others = sorted(server.turn() for _ in range(4)), [server.turn() for _ in range(236)]

    assert some[0] >= concurrency.SOON
    assert some[-1] <= 7, "few come back soon"
    assert max(all_others) == pytest.approx(concurrency.LATER, abs=5), "the 240th is the one of two minutes later"
    for second in range(10, 110, 10):
        assert sum(second <= turn < second + 10 for turn in all_others) == pytest.approx(20, abs=6)

    redis_client.hset(server._state, "turn", time.time() + 5_000)
    assert server.turn() <= concurrency.LATER + concurrency.APART, "none waits for long after the others are gone"


def test_what_nobody_waits_for_is_told_when_its_turn_comes(redis_client: redis.Redis) -> None:
    held(redis_client, "answers", 4)
    redis_client.hset(f"{STATE}{SERVER}", mapping={"limit": 4, "turn": time.time() + 50})
    background = ConcurrencyLimited(Served(lambda _: said()), limit(redis_client, "concepts"))

    with pytest.raises(NotYet) as caught:
        background.reply(ASKED)

    assert 45 < caught.value.wait < 55
