"""A provider that repeats the key it was given: it stands in no error, dead letter or journey."""

from __future__ import annotations

import traceback

import pytest
import redis

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.observe.safe_text import hide, masked
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import NoLogprobs
from memshare_llm.models import open_chat
from tests.support.chat_script import Answer
from tests.support.chat_server import serving

KEY = "Zq7vT0mY3kPw9Lx2"  # looks like no key that is known by its form
ASKED = (Turn(role="user", content="hello"),)


def failed(provider: str, answer: Answer, monkeypatch: pytest.MonkeyPatch) -> TryAgain | GiveUp:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(lambda _body: answer) as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url)
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
        with pytest.raises((TryAgain, GiveUp)) as caught:
            open_chat(f"{provider}:small", timeout=10, connections=1).reply(ASKED)
    return caught.value


@pytest.mark.parametrize("provider", ["openai", "mistral"])
@pytest.mark.parametrize("status", [400, 401, 403, 422, 429, 500])
def test_an_error_says_what_the_provider_said_without_the_key(
    provider: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Answer(status=status, text=f"Incorrect API key provided: {KEY}. Find yours on our page.")

    error = failed(provider, answer, monkeypatch)

    assert "Incorrect API key provided: …. Find yours" in str(error)
    assert KEY not in "".join(traceback.format_exception(error)), "Celery keeps it with the task's result"


@pytest.mark.parametrize(
    "answer", [Answer(refusal=f"I know your key: {KEY}"), Answer(raw=f"the key {KEY}".encode(), status=502)]
)
def test_a_refusal_and_a_page_do_not_show_it_either(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    error = failed("openai", answer, monkeypatch)

    assert "key" in str(error)
    assert KEY not in "".join(traceback.format_exception(error))


def test_a_model_that_tells_no_probabilities_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(lambda _body: Answer(status=400, text=f"no logprobs for {KEY}")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with pytest.raises(NoLogprobs, match="no logprobs for …") as caught:
            open_chat("openai:small", timeout=10, connections=1).first_token(ASKED)

    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_dead_letter_and_its_journey_do_not_show_it(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed("openai", Answer(status=401, text=f"Incorrect: {KEY}"), monkeypatch)
    entry = Entry(id="1", task="agents.poem", queue="poem", body={"prompt": "x"}, journey="1", stage="answer")
    ledger = Ledger(redis_client, keep_days=1)
    letters = DeadLetters(redis_client, ledger)

    letters.add(letter_for(entry, KeyError(f"a bug that shows {KEY}"), tries=1))

    letter = letters.get("1")
    assert "a bug that shows …" in letter.error
    assert "a bug that shows …" in letter.traceback
    assert "a bug that shows …" in str(ledger.journey("1"))
    assert KEY not in f"{letter} {ledger.journey('1')}"


def test_a_short_key_is_not_cut_out_of_words() -> None:
    hide("none")

    assert masked("none of it") == "none of it"
