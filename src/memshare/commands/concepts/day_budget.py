"""What exploring may use in a day: so many calls of models, or so much money."""

from __future__ import annotations

from dataclasses import dataclass

from memshare.broker.errors import BadInput
from memshare.broker.settings import Settings
from memshare.llm.limits.prices import load_prices
from memshare.llm.limits.usage import UsageLog, Used

USUAL_CALLS = 6
"""Of one question: it is written, answered, graded, compared, learnt from, and its concepts are named."""


@dataclass(frozen=True)
class DayBudget:
    """The limits of a UTC day for one submitter; None is no limit."""

    usage: UsageLog
    submitter: str
    calls: int | None
    money: float | None

    def used(self) -> Used:
        """What the submitter has used today."""
        [used] = self.usage.used([("submitter", self.submitter)])
        return used

    def has_room(self, asked_today: int) -> bool:
        """Whether another question is likely to fit: one takes `USUAL_CALLS`, and as much money as those of today.

        Those of today count as so many calls at least, for the last ones of a question come when it is answered.
        """
        used = self.used()
        if self.calls is not None and max(used.calls, USUAL_CALLS * asked_today) + USUAL_CALLS > self.calls:
            return False
        return self.money is None or used.money + used.money / max(1, asked_today) <= self.money

    def in_words(self) -> str:
        """The limits."""
        limits = [f"{self.calls:,} calls"] if self.calls is not None else []
        return " and ".join([*limits, *([f"{self.money:g} in money"] if self.money is not None else [])])


def require_prices(settings: Settings) -> None:
    """Raises `BadInput` where a model has no price, and so no money would ever be counted."""
    prices = load_prices(settings.prices)
    models = [settings.model_for("agents"), settings.model_for("scorer"), settings.model_for("trainer")]
    if without := sorted({model for model in models if prices.of(model) is None}):
        raise BadInput(
            f"--budget needs the prices of {', '.join(without)}, in the file that MEMSHARE_PRICES names. Or limit the"
            " calls with --calls N."
        )
