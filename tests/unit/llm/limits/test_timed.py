"""Calls of models, timed."""

import pytest

from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import FirstToken, NoLogprobs, Reply, UselessReply
from memshare_llm.limits.budget import Timed

TURNS = [Turn(role="user", content="x")]


class Says:
    """A chat model that says or raises one thing."""

    name = "openai:m"

    def __init__(self, what: Reply | FirstToken | Exception) -> None:
        self._what = what

    def reply(self, *_: object):
        if isinstance(self._what, Exception):
            raise self._what
        return self._what

    first_token = reply


@pytest.mark.parametrize(
    ("what", "times"),
    [
        (Reply(text="y", model="openai:m", usage=Usage()), 1),
        (UselessReply("cut off", "cut off", Usage(prompt_tokens=1)), 1),
        (NoLogprobs("none", Usage(prompt_tokens=1)), 1),
        (NoLogprobs("not asked"), 0),
        (ConnectionError("away"), 0),
    ],
    ids=["a reply", "one of no use", "no log-probabilities", "not asked", "no reply"],
)
def test_a_call_is_timed_if_it_got_a_reply(what: Reply | Exception, times: int) -> None:
    noted: list[tuple[str, float]] = []
    chat = Timed(Says(what), lambda *call: noted.append(call))

    if isinstance(what, Exception):
        with pytest.raises(type(what)):
            chat.first_token(TURNS)
    else:
        assert chat.reply(TURNS) is what

    assert [name for name, _ in noted] == ["openai:m"] * times
    assert all(seconds >= 0 for _, seconds in noted)
