"""Calls of every chat model in a trace, as the conventions for generative AI have them."""

import json
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from memshare_broker.observe import tracing
from memshare_broker.settings_file import PROVIDERS
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Chat, UselessReply
from memshare_llm.limits.budget import Timed
from memshare_llm.models import open_chat
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.traced import named, traced

ASKED = (Turn(role="user", content="Write about the sea."),)
CONVENTIONAL = {"openai": "openai", "mistral": "mistral_ai"}


def completion(finish_reason: str) -> Answer:
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": "Blue."}}
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 7,
        "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    body = {"id": "chatcmpl-7", "model": "small-2026-11-01", "object": "chat.completion", "created": 1}
    return Answer(raw=json.dumps(body | {"choices": [choice], "usage": usage}).encode())


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def finish_reason() -> str:
    return "stop"


@pytest.fixture
def chat(provider: str, finish_reason: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(lambda _body: completion(finish_reason)) as server:
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "test")
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url)
        chat = open_chat(f"{provider}:small", timeout=10, connections=1)
        yield Timed(chat, lambda _model, _seconds: None)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    with traced(monkeypatch) as kept:
        yield kept


def test_a_call_tells_its_models_tokens_and_finish_reason(
    chat: Chat, provider: str, spans: InMemorySpanExporter
) -> None:
    with tracing.stage("lamp-1", "answer poem", {}, {}):
        chat.reply(ASKED)

    span = named(spans, "chat small")
    assert span.kind is SpanKind.CLIENT
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": CONVENTIONAL[provider],
        "gen_ai.request.model": "small",
        "gen_ai.output.type": "text",
        "gen_ai.response.id": "chatcmpl-7",
        "gen_ai.response.model": "small-2026-11-01",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 8,
        "gen_ai.usage.reasoning.output_tokens": 3,
    }


@pytest.mark.parametrize("finish_reason", ["length"])
def test_a_call_that_was_of_no_use_tells_why_and_what_it_took(chat: Chat, spans: InMemorySpanExporter) -> None:
    with pytest.raises(UselessReply), tracing.stage("lamp-1", "answer poem", {}, {}):
        chat.reply(ASKED)

    span = named(spans, "chat small")
    assert span.attributes is not None
    assert span.attributes["error.type"] == "cut off"
    assert span.attributes["gen_ai.response.finish_reasons"] == ("length",)
    assert span.attributes["gen_ai.usage.output_tokens"] == 7
    assert span.status.status_code is StatusCode.ERROR


def test_what_was_asked_and_said_is_told_where_content_is_taken(
    chat: Chat, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(tracing.CONTENT, "true")

    with tracing.stage("lamp-1", "answer poem", {}, {}):
        chat.reply(ASKED)

    told = named(spans, "chat small").attributes or {}
    [asked] = json.loads(str(told["gen_ai.input.messages"]))
    [said] = json.loads(str(told["gen_ai.output.messages"]))
    assert (asked["role"], asked["parts"][0]["content"]) == ("user", "Write about the sea.")
    assert (said["role"], said["parts"][0]["content"]) == ("assistant", "Blue.")
