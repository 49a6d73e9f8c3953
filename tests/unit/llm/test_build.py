from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from memshare_broker.errors import BadInput, NotYet
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Turn
from memshare_llm.build import open_budget, open_limited, open_metering
from memshare_llm.limits.budget import Cap, Holder, Payer
from memshare_llm.limits.rate_limits import RateLimited
from memshare_llm.limits.usage import UsageLog, Used
from tests.support.chat_server import serving
from tests.support.deployment import wait_for
from tests.support.scripted_chat import ScriptedChat

ASKED = (Turn(role="user", content="A riddle about rain"),)
MODEL = "openai:scripted"
PAYER = Payer("journey-1", "logic", "ada")


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server with the model that is opened."""
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield


def with_(settings: Settings, **more: object) -> Settings:
    return settings.model_copy(update=more)


def test_only_a_model_with_a_limit_waits_for_one(settings: Settings) -> None:
    others = with_(settings, rate_limits="openai:small=1 requests")
    own = with_(settings, rate_limits="openai:scripted=1 requests")

    assert not isinstance(open_limited(settings, MODEL, "answers", connections=1), RateLimited)
    assert not isinstance(open_limited(others, MODEL, "answers", connections=1), RateLimited)
    assert isinstance(open_limited(own, MODEL, "answers", connections=1), RateLimited)


def test_a_workers_calls_wait_for_the_limit_are_counted_at_their_price_and_are_not_made_twice(
    settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    (tmp_path / "prices.toml").write_text('["openai:scripted"]\nprompt = 1_000_000\ncompletion = 0\n')
    settings = with_(settings, rate_limits=f"{MODEL}=2 requests", prices=tmp_path / "prices.toml")
    chat, metering = open_limited(settings, MODEL, "answers", connections=1), open_metering(settings)

    def three_calls() -> None:
        with metering(chat, PAYER) as model:
            for _ in range(3):
                model.reply(ASKED)

    with pytest.raises(NotYet):
        three_calls()
    usage = UsageLog(redis_client)
    wait_for(lambda: usage.used([("agent", "logic")])[0].calls == 2, 5, "both calls to be counted")
    (used,) = usage.used([("agent", "logic")])
    assert used.money == used.prompt_tokens > 0

    redis_client.delete(*redis_client.scan_iter("memshare:rate*"))  # as a minute later
    three_calls()

    wait_for(lambda: usage.used([("agent", "logic")])[0].calls == 3, 5, "the third call to be counted")


def test_the_caps_see_what_the_metering_of_the_same_process_counted(
    settings: Settings, redis_client: redis.Redis
) -> None:
    budget = open_budget(settings)
    budget.set(Holder("submitter", "ada"), Cap(tokens=1))
    budget.check("logic", "ada")

    with open_metering(settings)(ScriptedChat("A riddle."), PAYER) as model:
        model.reply(ASKED)

    with pytest.raises(NotYet):
        budget.check("logic", "ada")
    assert UsageLog(redis_client).used([("agent", "plan")]) == [Used()]


def test_a_wrong_file_of_prices_is_refused_when_a_worker_is_built(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"prices\.toml cannot be read"):
        open_metering(with_(settings, prices=tmp_path / "prices.toml"))
