"""Budgets: what may be used in a UTC day, and what was used."""

from __future__ import annotations

import time

from memshare.client.rest.calls.budgets import Budgets
from memshare.client.spending import Spending, spending
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.serving import serves
from memshare_llm.limits.prices import load_prices
from memshare_llm.limits.usage import UsageLog, day_of


@serves(Budgets.get)
def budgets(backend: BackendNow, caller: CallerNow) -> Spending:
    """The spending of today, without what is not the caller's to know."""
    prices = load_prices(backend.settings.prices)
    with backend.reaching():
        used, parked = UsageLog(backend.redis).today(), backend.client.ledger.parked()
        found = spending(day_of(time.time()), backend.budget.caps(), used, parked, prices)
    sees_all = caller.may("admin") and caller.pools is None

    def may_know(kind: str, name: str) -> bool:
        return sees_all or (caller.sees(backend.pool_of(name)) if kind == "agent" else name == caller.name)

    return found.model_copy(
        update={
            "caps": [one for one in found.caps if may_know(one.kind, one.name)],
            "agents": {name: spent for name, spent in found.agents.items() if may_know("agent", name)},
            "submitters": {name: spent for name, spent in found.submitters.items() if may_know("submitter", name)},
            "models": found.models if sees_all else {},
        }
    )
