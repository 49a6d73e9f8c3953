"""Budgets: what may be used in a UTC day, and what was used."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message


class Spent(BaseModel):
    """Usage of an agent, submitter or model; for a model also whether it has a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    priced: bool | None = None


class Capped(BaseModel):
    """A cap, what is used and left of it, and how many tasks wait for it; None where there is no limit."""

    kind: Literal["agent", "submitter"]
    name: str
    tokens: int | None
    money: float | None
    tokens_used: int
    money_used: float
    tokens_left: int | None
    money_left: float | None
    waiting: int


class Spending(BaseModel):
    """A UTC day's spending."""

    day: str
    currency: str | None
    caps: list[Capped]
    agents: dict[str, Spent]
    submitters: dict[str, Spent]
    models: dict[str, Spent]


class CapReply(Message):
    """A cap as it is now; null is no limit."""

    kind: Literal["agent", "submitter"]
    name: str
    tokens: int | None
    money: float | None
    go_on: int = Field(description="how many tasks that waited for it go on now")
    unpriced: tuple[str, ...] = Field(description="models that a cap in money does not hold, as they have no price")


class Budgets(Calls[Asked]):
    """Daily limits, and the usage so far."""

    @call("get_budgets", "GET", "/v1/budgets")
    def get(self) -> Spending:
        """Caps, what is left of them, which tasks wait, and what was used today: by you, and by agents of your pools.

        Whoever sees all pools with the right `admin` is told of every submitter and model.
        """

    @call("post_cap", "POST", "/v1/budgets", repeatable=False)
    def set(
        self,
        kind: Literal["agent", "submitter"],
        name: str,
        *,
        tokens: int | None = None,
        money: float | None = None,
        none: bool = False,
    ) -> CapReply:
        """Set, raise or, with `none`, take away what an agent or a submitter may use in a UTC day.

        It takes the right `admin` for all pools. What is not named is unchanged. Tasks that wait for it go on at once.
        """
