from __future__ import annotations

import pytest

from memshare_broker.errors import BadInput
from memshare_broker.settings import load_settings
from memshare_broker.settings_file import RateLimit, parse_rate_limits, rate_limit_for


def test_limits_are_read_by_model() -> None:
    limits = parse_rate_limits(" openai:gpt-5.6-luna = 500 requests, 200_000 tokens;mistral:*=60 requests; ")

    assert limits == {
        "openai:gpt-5.6-luna": RateLimit(requests=500, tokens=200_000),
        "mistral:*": RateLimit(requests=60, tokens=None),
    }
    assert parse_rate_limits("") == {}


@pytest.mark.parametrize(
    ("model", "requests"),
    [
        ("openai:small", 1),
        ("openai:smaller", 3),
        ("openai:org/model:7b", 2),
        ("mistral:small", None),
    ],
)
def test_a_models_own_name_goes_before_a_pattern_and_an_earlier_pattern_before_a_later(
    model: str, requests: int | None
) -> None:
    limits = parse_rate_limits("openai:org*=2 requests; openai:*=3 requests; openai:small=1 requests")

    found = rate_limit_for(model, limits)

    assert (found and found.requests) == requests


def test_only_the_star_is_special_in_a_pattern() -> None:
    assert rate_limit_for("openai:gpt-5x6", parse_rate_limits("openai:gpt-5.6*=1 requests")) is None


@pytest.mark.parametrize(
    "text",
    [
        "60",
        "=60 requests",
        "openai:small=",
        "openai:small=60",
        "openai:small=0 requests",
        "openai:small=-5 requests",
        "openai:small=1.5 requests",
        "openai:small=60 calls",
        "openai:small=60 requests 100 tokens",
        "openai:small=60 requests, 70 requests",
        "openai:small=60 requests; openai:small=70 tokens",
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_expected(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSHARE_RATE_LIMITS", text)

    with pytest.raises(
        BadInput, match=r"MEMSHARE_RATE_LIMITS=.* cannot be used: .* expected MODEL=N requests, N tokens"
    ):
        load_settings()
