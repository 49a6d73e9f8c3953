"""`memshare budget show`, as people see it."""

from __future__ import annotations

from collections.abc import Iterator

from memshare.client.spending import Capped, Spending, Spent
from memshare.terminal.console import console, table
from memshare_llm.limits.budget import Cap, in_words


def limits(cap: Cap, currency: str | None) -> list[str]:
    """What a cap allows, in words."""
    tokens = [f"{cap.tokens:,} tokens"] if cap.tokens is not None else []
    return tokens + ([_money(cap.money, currency)] if cap.money is not None else [])


def print_spending(found: Spending) -> None:
    """The caps with what is left of them, then what was used by whom."""
    console.print(f"Used on {found.day}; the day ends at 24:00 UTC.")
    rows = [row for one in found.caps for row in _rows(one, found.currency)]
    if rows:
        console.print(table("cap of", "a day", "used", "left", "tasks waiting", rows=rows))
    else:
        console.print("No caps. Set one: memshare budget set --agent NAME --tokens N")
    for title, spent in (("agent", found.agents), ("submitter", found.submitters), ("model", found.models)):
        if spent:
            used = [(name, *_amounts(one, found.currency)) for name, one in spent.items()]
            console.print()
            console.print(table(title, "calls", "prompt tokens", "completion tokens", "money", rows=used))
    if any(one.priced is False for one in found.models.values()):
        console.print("A model without a price counts as free: MEMSHARE_PRICES names a file of prices.", style="dim")


def _rows(one: Capped, currency: str | None) -> Iterator[tuple[object, ...]]:
    holder = f"{one.kind} {one.name}"
    if one.tokens is not None:
        yield holder, f"{one.tokens:,} tokens", f"{one.tokens_used:,}", f"{one.tokens_left:,}", one.waiting
    if one.money is not None:
        used, left = _money(one.money_used, currency), _money(one.money_left or 0, currency)
        yield holder, _money(one.money, currency), used, left, one.waiting


def _amounts(one: Spent, currency: str | None) -> tuple[object, ...]:
    free = one.priced is False and not one.money
    money = "no price" if free else f"{in_words(one.money)} {currency or ''}".strip()
    return one.calls, f"{one.prompt_tokens:,}", f"{one.completion_tokens:,}", money


def _money(amount: float, currency: str | None) -> str:
    return f"{in_words(amount)} {currency or 'in money'}"
