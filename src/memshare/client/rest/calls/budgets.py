"""Budgets: what may be used in a UTC day, and what was used."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare.client.spending import Spending
from memshare_broker.wire.messages import Message


class CapReply(Message):
    """A cap as it is now; null is no limit."""

    kind: Literal["agent", "submitter"]
    name: str
    tokens: int | None
    money: float | None
    go_on: int = Field(description="how many tasks that waited for it go on now")
    unpriced: tuple[str, ...] = Field(description="models that a cap in money does not hold, as they have no price")


class Budgets(Calls[Asked]):
    """What may be used in a day, and what was."""

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
