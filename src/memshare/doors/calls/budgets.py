"""Budgets: what may be used in a UTC day, and what was used."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from memshare.client.rest.calls.budgets import Budgets, CapReply
from memshare.client.spending import Spending, set_cap, spending
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.caller import audit
from memshare.doors.serving import serves
from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message
from memshare_llm.limits.budget import Cap, Holder


class CapForm(Message):
    """Whom a cap is for, and what of it is new."""

    kind: Literal["agent", "submitter"]
    name: Label
    tokens: int | None = Field(default=None, ge=0, le=2**53)
    money: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    none: bool = Field(default=False, description="whether the cap is taken away")

    @model_validator(mode="after")
    def _one_of_both(self) -> CapForm:
        if self.none == (self.tokens is not None or self.money is not None):
            raise ValueError("say what the cap is with 'tokens' or 'money', or take it away with 'none'")
        return self


@serves(Budgets.get)
def budgets(backend: BackendNow, caller: CallerNow) -> Spending:
    """The spending of today, without what is not the caller's to know."""
    found = spending(backend.client, backend.redis)

    def may_know(kind: str, name: str) -> bool:
        return caller.may_all or (caller.sees(backend.pool_of(name)) if kind == "agent" else name == caller.name)

    return found.model_copy(
        update={
            "caps": [one for one in found.caps if may_know(one.kind, one.name)],
            "agents": {name: spent for name, spent in found.agents.items() if may_know("agent", name)},
            "submitters": {name: spent for name, spent in found.submitters.items() if may_know("submitter", name)},
            "models": found.models if caller.may_all else {},
        }
    )


@serves(Budgets.set)
def set_one(backend: BackendNow, caller: CallerNow, form: CapForm) -> CapReply:
    """Set a cap; raises `BadInput` for an agent that there is not, and for money where calls have no price."""
    caller.require_all()
    holder, cap = Holder(form.kind, form.name), None if form.none else Cap(tokens=form.tokens, money=form.money)
    done = set_cap(backend.client, backend.redis, holder, cap)
    audit(caller, "cap", kind=form.kind, name=form.name, **done.cap.model_dump())
    return CapReply(**holder._asdict(), **done.cap.model_dump(), go_on=done.go_on, unpriced=tuple(done.unpriced))
