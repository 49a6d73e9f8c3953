from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from memshare_broker.errors import BadInput
from memshare_broker.settings import DEFAULT_MODELS
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.budget import SHIPPED, Price, Prices, load_prices

FILE = """\
currency = "USD"

["openai:gpt-5.6-luna"]
prompt = 0.25
completion = 2.0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(FILE)
    return path


def test_a_price_is_for_a_million_tokens(file: Path) -> None:
    prices = load_prices(file)

    assert prices.currency == "USD"
    assert prices.of("openai:gpt-5.6-luna") == Price(prompt=0.25, completion=2.0)
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=500_000)
    assert prices.cost("openai:gpt-5.6-luna", usage) == pytest.approx(1.25)


@pytest.mark.parametrize(("cached", "cost"), [(0.025, 1.0 + 0.25 * 0.2 + 0.025 * 0.8), (0.0, 1.05), (None, 1.25)])
def test_cached_tokens_have_a_price_of_their_own_or_that_of_the_prompt(cached: float | None, cost: float) -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=800_000, completion_tokens=500_000, reasoning_tokens=400_000)

    assert Price(prompt=0.25, completion=2.0, cached=cached).cost(usage) == pytest.approx(cost)


def test_a_model_without_a_price_costs_nothing(file: Path) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=10)

    assert load_prices(file).of("openai:gpt-5.6") is None
    assert load_prices(file).cost("openai:gpt-5.6", usage) == 0
    assert load_prices(None) == Prices()
    assert Prices().cost("offline", usage) == 0


def test_the_prices_that_come_with_memshare_say_of_which_day_they_are() -> None:
    prices = load_prices(SHIPPED)

    assert prices.currency == "USD"
    assert prices.as_of == date(2026, 11, 26)
    for name, price in (prices.__pydantic_extra__ or {}).items():
        assert name.startswith(("openai:", "mistral:"))
        assert 0 < price.prompt < price.completion, name


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("2.0", "-2.0", "5: openai:gpt-5.6-luna.completion: Input should be greater than or equal to 0, not -2.0."),
        ("2.0", '"much"', "5: openai:gpt-5.6-luna.completion: Input should be a valid number"),
        ("2.0", "inf", "5: openai:gpt-5.6-luna.completion: Input should be a finite number"),
        ("completion = 2.0\n", "", "3: 'openai:gpt-5.6-luna.completion' is missing."),
        ("completion", "output", "3: 'openai:gpt-5.6-luna.completion' is missing."),
        ("completion = 2.0", "completion = 2.0\nother = 1", "6: openai:gpt-5.6-luna.other: no such key is known here."),
        ('"USD"', "1", "1: currency: Input should be a valid string, not 1."),
        ('"USD"', "USD", "1: this is not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(file: Path, before: str, after: str, reason: str) -> None:
    file.write_text(FILE.replace(before, after))

    with pytest.raises(BadInput) as caught:
        load_prices(file)

    assert str(caught.value).startswith(f"{file}:{reason}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"prices\.toml cannot be read"):
        load_prices(tmp_path / "prices.toml")


def test_the_prices_that_come_with_memshare_know_the_models_that_a_key_chooses() -> None:
    prices = load_prices(SHIPPED)

    for model in DEFAULT_MODELS.values():
        price = prices.of(model)
        assert price is not None
        assert price.cached is not None
        assert price.cached < price.prompt < price.completion
