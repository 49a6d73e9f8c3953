from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel

from memshare_broker.errors import NotYet, Reason, TryAgain
from memshare_broker.wire.messages import Turn
from memshare_llm import build as resumed
from memshare_llm.build import Unfinished
from memshare_llm.chat import FirstToken, Reply
from tests.support.scripted_chat import ScriptedChat

BLUE, RED = (Turn(role="user", content="Blue?"),), (Turn(role="user", content="Red?"),)


class Allowance(ScriptedChat):
    """Replies so many times, then raises; `allow` grants more."""

    def __init__(self, calls: int, error: Exception | None = None) -> None:
        super().__init__(*(f"reply {number}" for number in range(100)), first_tokens=lambda _: {"Yes": 1.0})
        self.left = calls
        self.error = error or NotYet("the limit is used up", 1, "rate scripted")

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        self._spend()
        return super().reply(turns, schema)

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        self._spend()
        return super().first_token(turns)

    def _spend(self) -> None:
        with self._lock:
            if not self.left:
                raise self.error
            self.left -= 1


def votes(unfinished: Unfinished, chat: ScriptedChat, task: str, count: int) -> list[str]:
    """So many replies to the same question side by side, as the scorer asks."""
    with unfinished.resumed(chat, task) as model, ThreadPoolExecutor(count) as threads:
        return [reply.text for reply in threads.map(lambda _: model.reply(BLUE), range(count))]


def test_a_task_of_more_calls_than_a_limit_grants_ends_and_asks_for_each_once() -> None:
    unfinished, chat = Unfinished(), Allowance(calls=2)
    goes = 0
    while True:
        goes += 1
        try:
            told = votes(unfinished, chat, "journey-1", 7)
            break
        except NotYet:
            chat.left = 2

    assert goes == 4
    assert sorted(told) == [f"reply {number}" for number in range(7)]
    assert len(chat.conversations) == 7


def test_what_was_said_answers_the_same_question_alone() -> None:
    unfinished, chat = Unfinished(), Allowance(calls=2)

    def go() -> None:
        with unfinished.resumed(chat, "journey-1") as model:
            model.reply(BLUE)
            model.first_token(BLUE)
            model.reply(RED)

    with pytest.raises(NotYet):
        go()
    chat.left = 10

    with unfinished.resumed(chat, "journey-1") as model:
        assert model.reply(RED).text == "reply 1"
        assert model.first_token(BLUE).probabilities == {"Yes": 1.0}
        assert model.reply(BLUE).text == "reply 0"
        assert model.reply(BLUE).text == "reply 2"

    assert len(chat.asked_for_first_tokens) == 1


def test_another_task_is_given_nothing_of_it() -> None:
    unfinished, chat = Unfinished(), Allowance(calls=1)
    with pytest.raises(NotYet):
        votes(unfinished, chat, "journey-1", 2)
    chat.left = 10

    assert votes(unfinished, chat, "journey-2", 1) == ["reply 1"]


@pytest.mark.parametrize("reason", ["server error", "time-out", "connection", "rate limit"])
def test_a_task_that_is_stopped_from_outside_does_not_pay_again(reason: Reason) -> None:
    unfinished, chat = Unfinished(), Allowance(calls=1, error=TryAgain("it hung up", reason=reason))
    with pytest.raises(TryAgain):
        votes(unfinished, chat, "journey-1", 2)
    chat.left = 1

    assert sorted(votes(unfinished, chat, "journey-1", 2)) == ["reply 0", "reply 1"]


@pytest.mark.parametrize("error", [TryAgain("it does not fit", reason="invalid reply"), None])
def test_a_task_whose_replies_were_of_no_use_begins_anew(error: Exception | None) -> None:
    unfinished, chat = Unfinished(), Allowance(calls=1, error=error or ValueError("a bug"))
    with pytest.raises((TryAgain, ValueError)):
        votes(unfinished, chat, "journey-1", 2)
    chat.left = 10

    assert votes(unfinished, chat, "journey-1", 1) == ["reply 1"]


def test_a_task_that_has_ended_is_forgotten() -> None:
    unfinished, chat = Unfinished(), Allowance(calls=1)
    with pytest.raises(NotYet):
        votes(unfinished, chat, "journey-1", 2)
    chat.left = 10
    votes(unfinished, chat, "journey-1", 2)

    assert votes(unfinished, chat, "journey-1", 1) == ["reply 2"]


def test_of_too_many_tasks_that_wait_the_oldest_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumed, "MOST_TASKS", 2)
    unfinished, chat = Unfinished(), Allowance(calls=0)
    for task in ("journey-1", "journey-2", "journey-3"):
        chat.left = 1
        with pytest.raises(NotYet):
            votes(unfinished, chat, task, 2)
    chat.left = 10

    assert votes(unfinished, chat, "journey-3", 1) == ["reply 2"]
    assert votes(unfinished, chat, "journey-1", 1) == ["reply 3"]


def test_what_one_go_did_not_come_to_is_still_there_for_the_next() -> None:
    unfinished, chat = Unfinished(), Allowance(calls=1)

    def go(*questions: Sequence[Turn]) -> list[str]:
        with unfinished.resumed(chat, "journey-1") as model:
            return [model.reply(question).text for question in questions]

    with pytest.raises(NotYet):
        go(BLUE, RED)
    with pytest.raises(NotYet):
        go(RED, BLUE)
    chat.left = 1

    assert go(RED, BLUE) == ["reply 1", "reply 0"]
