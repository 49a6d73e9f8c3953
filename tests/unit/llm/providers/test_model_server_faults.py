"""Every fault of a model server ends as a reply or as an error that says whether to try again, in time."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Chat, Reply
from memshare_llm.completion import MOST_TOKENS
from memshare_llm.models import open_chat
from tests.support.deployment import patient
from tests.support.model_faults import FAULTS, Fault, packed
from tests.support.raw_server import raw_server

ASKED = (Turn(role="user", content="Which colour has the sea?"),)
BOMBS = [name for name in FAULTS if "bomb" in name]


@pytest.fixture(params=["openai", "mistral"])
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return str(request.param)


def ended(chat: Chat) -> str:
    try:
        reply = chat.reply(ASKED)
    except TryAgain as error:
        said, end = str(error), "again"
    except GiveUp as error:
        said, end = str(error), "never"
    else:
        return _used(reply)
    assert said.startswith(chat.name)
    assert len(said) < 1_000
    return end


def _used(reply: Reply) -> str:
    assert reply.text.replace("caf�", "�").replace("�", "Blue.") == "Blue."
    assert 0 <= reply.usage.prompt_tokens <= MOST_TOKENS
    assert 0 <= reply.usage.completion_tokens <= MOST_TOKENS
    return "reply"


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in FAULTS.items()])
def test_a_fault_ends_in_time_and_says_whether_to_try_again(
    fault: Fault, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw_server(fault.given()) as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
        chat = open_chat(f"{provider}:small", timeout=0.5 if fault.slow else 5, connections=1)
        began = time.monotonic()

        assert ended(chat) == fault.end

        assert time.monotonic() - began < patient(3 if fault.slow else 10)
        assert len(server.asked) == 1, "neither tried again by the SDK nor followed to elsewhere"


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_unpacked_no_further_than_a_reply_may_be_long(
    name: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed("gzip", 600), packed("deflate", 600)
    with raw_server(FAULTS[name].given()) as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
        chat = open_chat(f"{provider}:small", timeout=20, connections=1)
        tracemalloc.start()
        try:
            assert ended(chat) == "never"
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak < 60_000_000, "600 MB are packed in it"
