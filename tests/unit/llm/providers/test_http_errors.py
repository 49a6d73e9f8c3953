from __future__ import annotations

import json
import math
import random

import httpx2
import openai
import pytest

from memshare_broker.errors import GiveUp, TryAgain
from memshare_llm.providers.http_client import ReplyTooLong, retry_after, translate


@pytest.mark.parametrize(
    ("status", "code", "raised", "reason"),
    [
        (429, None, TryAgain, "rate limit"),
        (429, "insufficient_quota", GiveUp, "quota"),
        (500, None, TryAgain, "server error"),
        (501, None, TryAgain, "server error"),
        (502, None, TryAgain, "model away"),
        (503, None, TryAgain, "model away"),
        (529, None, TryAgain, "model away"),
        (504, None, TryAgain, "time-out"),
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
        (400, "content_filter", GiveUp, "content filter"),
        (403, "content_policy_violation", GiveUp, "content filter"),
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
    ("path", "words", "is_named"),
    [
        ("/chat/completions", "404 page not found", True),
        ("/v1/chat/completions/chat/completions", "Not Found", True),
        ("/v1/chat/completions", "no such model", False),
        ("/openai/chat/completions", "The model 'small' does not exist.", False),
        ("/v1/batches", "Not Found", False),
    ],
)
def test_a_path_that_a_server_has_not_is_named_with_the_setting(path: str, words: str, is_named: bool) -> None:
    request = httpx2.Request("POST", f"http://127.0.0.1:8000{path}")
    response = httpx2.Response(404, text=words, request=request)

    said = str(translate("openai:small", openai.NotFoundError("no", response=response, body=None), response))

    assert (f"(there is no {path}: OPENAI_BASE_URL should end in /v1)" in said) is is_named


def test_a_prompt_that_a_rate_limit_never_has_room_for_is_too_long() -> None:
    said = "Request too large for small on tokens per min (TPM): Limit 30000, Requested 45000."
    response = httpx2.Response(429, text=json.dumps({"error": {"message": said, "code": "rate_limit_exceeded"}}))

    error = translate("openai:small", ValueError("the SDK's own"), response)

    assert (type(error), error.reason) == (GiveUp, "too long")


@pytest.mark.parametrize(
    ("cause", "raised", "reason"),
    [
        (httpx2.ReadTimeout("slow"), TryAgain, "time-out"),
        (httpx2.ConnectError("away"), TryAgain, "model away"),
        (httpx2.ConnectTimeout("away"), TryAgain, "model away"),
        (ReplyTooLong("long"), GiveUp, "too long"),
    ],
)
def test_a_call_without_a_response_says_why_it_failed(
    cause: Exception, raised: type[TryAgain | GiveUp], reason: str
) -> None:
    error = translate("openai:small", cause)

    assert type(error) is raised
    assert error.reason == reason


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "-7"}, 0.0),
        ({"retry-after-ms": "-1"}, 0.0),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "-inf"}, None),
        ({"retry-after": "NaN"}, None),
        ({"retry-after": "9" * 5_000}, None),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
        ({"retry-after": "Mon, 99 Foo 2026 99:99:99 +9999"}, None),
        ({"retry-after": "\x00"}, None),
        ({"retry-after": ","}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_wait_that_is_asked_for_is_a_number_of_seconds_or_none(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers) == wait


def test_no_header_that_asks_to_wait_is_an_error_of_ours() -> None:
    seeded = random.Random(13)
    parts = [
        "Mon",
        ", ",
        "01",
        " Jan",
        " 2026",
        " 00:00:00",
        " GMT",
        "+",
        "-",
        ":",
        "9999999999",
        "٣",
        "1_0",
        ".",
        "e9",
    ]

    for _ in range(5_000):
        wait = retry_after({"retry-after": "".join(seeded.choices(parts, k=seeded.randint(1, 8)))})
        assert wait is None or (math.isfinite(wait) and wait >= 0)


@pytest.mark.parametrize(("wait", "kept"), [(math.nan, None), (math.inf, None), (-3.0, 0.0), (7.0, 7.0), (None, None)])
def test_an_error_asks_for_no_wait_that_is_none(wait: float | None, kept: float | None) -> None:
    assert TryAgain("busy", wait).wait == kept
