"""Budgets: what may be used in a UTC day, and what was used."""

from __future__ import annotations

from memshare.client.rest.methods import Asked, Calls, call
from memshare.client.spending import Spending


class Budgets(Calls[Asked]):
    """What may be used in a day, and what was."""

    @call("get_budgets", "GET", "/v1/budgets")
    def get(self) -> Spending:
        """Caps, what is left of them, which tasks wait, and what was used today: by you, and by agents of your pools.

        Whoever sees all pools with the right `admin` is told of every submitter and model.
        """
