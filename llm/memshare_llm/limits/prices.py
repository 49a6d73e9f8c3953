"""What a call to a chat model costs, by the file that `MEMSHARE_PRICES` names."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from memshare_broker.toml_files import TomlForm, load
from memshare_broker.wire.messages import Usage

PER = 1_000_000  # tokens that a price is for
SHIPPED = Path(__file__).with_name("prices.toml")
"""Prices of common models, with the day on which they were so."""


class Price(TomlForm):
    """The price of a million tokens of a prompt and of a completion, and of a prompt's tokens that were cached."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="as `prompt`, if left out")

    def cost(self, usage: Usage) -> float:
        cached = self.prompt if self.cached is None else self.cached
        prompt = (usage.prompt_tokens - usage.cached_tokens) * self.prompt + usage.cached_tokens * cached
        return (prompt + usage.completion_tokens * self.completion) / PER


class Prices(BaseModel):
    """A file of prices: `currency`, and a table for each model, by its whole name (`openai:NAME`)."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Price] = Field(init=False)

    currency: str | None = Field(default=None, min_length=1, max_length=10)
    as_of: date | None = Field(default=None, description="the day on which they were so")

    def of(self, model: str) -> Price | None:
        return (self.__pydantic_extra__ or {}).get(model)

    def cost(self, model: str, usage: Usage) -> float:
        """What the tokens cost, in the file's currency; 0 for a model without a price."""
        price = self.of(model)
        return price.cost(usage) if price else 0.0


def load_prices(path: Path | None) -> Prices:
    """The prices of a file, none without one; raises `BadInput` as FILE:LINE: reason."""
    return Prices() if path is None else load(path, Prices)
