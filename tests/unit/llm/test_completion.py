from __future__ import annotations

import json
from typing import Any

import pytest

from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import NoLogprobs, RefusedReply, UselessReply
from memshare_llm.completion import MAX_TEXT, read_completion
from memshare_llm.providers.openai_chat import read_first_token

SPENT = Usage(prompt_tokens=10, completion_tokens=5)


def body(text: str | None = "Blue.", finish_reason: str = "stop", refusal: str | None = None) -> str:
    choice: dict[str, Any] = {"message": {"content": text, "refusal": refusal}, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})


@pytest.mark.parametrize(
    ("completion", "raised", "reason"),
    [
        (body("half a", "length"), UselessReply, "cut off"),
        (body(" "), UselessReply, "invalid reply"),
        (body(None), UselessReply, "invalid reply"),
        (body(finish_reason="error"), UselessReply, "server error"),
        (body("x" * (MAX_TEXT + 1)), RefusedReply, "too long"),
        (body(None, refusal="I would rather not."), RefusedReply, "refused"),
        (body("", "content_filter"), RefusedReply, "content filter"),
    ],
)
def test_a_reply_that_cannot_be_used_tells_what_it_took_and_why(
    completion: str, raised: type[UselessReply | RefusedReply], reason: str
) -> None:
    with pytest.raises(raised) as caught:
        read_completion("openai:small", completion)

    assert caught.value.usage == SPENT
    assert caught.value.reason == reason
    assert isinstance(caught.value, TryAgain if raised is UselessReply else GiveUp)


def test_what_is_no_completion_tells_of_no_usage() -> None:
    with pytest.raises(TryAgain) as caught:
        read_completion("openai:small", "}{")

    assert not isinstance(caught.value, UselessReply)
    assert caught.value.reason == "invalid reply"


def test_a_reply_without_the_log_probabilities_that_were_asked_for_was_paid() -> None:
    with pytest.raises(NoLogprobs) as caught:
        read_first_token("openai:small", body())

    assert caught.value.usage == SPENT
