from __future__ import annotations

import json

import httpx2
import pytest

from memshare.broker.errors import GiveUp, TryAgain
from memshare.llm.providers.http_client import ReplyTooLong
from memshare.llm.providers.http_errors import translate


@pytest.mark.parametrize(
    ("status", "code", "raised", "reason"),
    [
        (429, None, TryAgain, "rate limit"),
        (429, "insufficient_quota", GiveUp, "credentials"),
        (500, None, TryAgain, "server error"),
        (503, None, TryAgain, "server error"),
        (408, None, TryAgain, "time-out"),
        (409, None, TryAgain, "busy"),
        (400, None, GiveUp, "refused"),
        (400, "context_length_exceeded", GiveUp, "too long"),
        (413, None, GiveUp, "too long"),
        (401, None, GiveUp, "credentials"),
        (403, None, GiveUp, "credentials"),
        (403, "model_not_found", GiveUp, "unknown model"),
        (404, None, GiveUp, "unknown model"),
        (422, None, GiveUp, "refused"),
    ],
)
def test_a_response_says_why_it_failed(
    status: int, code: str | None, raised: type[TryAgain | GiveUp], reason: str
) -> None:
    response = httpx2.Response(status, text=json.dumps({"error": {"message": "no", "code": code}}))

    error = translate("openai:small", ValueError("the SDK's own"), response)

    assert type(error) is raised
    assert error.reason == reason


@pytest.mark.parametrize(
    ("cause", "raised", "reason"),
    [
        (httpx2.ReadTimeout("slow"), TryAgain, "time-out"),
        (httpx2.ConnectError("away"), TryAgain, "connection"),
        (ReplyTooLong("long"), GiveUp, "too long"),
    ],
)
def test_a_call_without_a_response_says_why_it_failed(
    cause: Exception, raised: type[TryAgain | GiveUp], reason: str
) -> None:
    error = translate("openai:small", cause)

    assert type(error) is raised
    assert error.reason == reason
