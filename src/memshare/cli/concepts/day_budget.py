"""What exploring may use in a day: so many calls of models, or so much money."""

from __future__ import annotations

from dataclasses import dataclass

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_llm.limits.budget import in_words
from memshare_llm.limits.prices import load_prices
from memshare_llm.limits.usage import UsageLog, Used

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

    def questions_left(self, asked_today: int, most: int) -> int:
        """How many of at most so many questions fit: one takes `USUAL_CALLS`, and as much money as those of today."""
        if self._short_of_money(asked_today):
            return 0
        left = most if self.calls is None else min(most, (self.calls - self._calls(asked_today)) // USUAL_CALLS)
        return max(0, left)

    def why_full(self, asked_today: int) -> str:
        """Why no other question fits."""
        if self._short_of_money(asked_today):
            return f"{in_words(self.used().money)} of {self.money:g} in money of today are used"
        used = self._calls(asked_today)
        return f"{used:,} of {self.calls:,} calls of today are used, and a question takes {USUAL_CALLS}"

    def _calls(self, asked_today: int) -> int:
        """Those of today. A question counts as `USUAL_CALLS` at least, for its last ones come when it is answered."""
        return max(self.used().calls, USUAL_CALLS * asked_today)

    def _short_of_money(self, asked_today: int) -> bool:
        spent = self.used().money
        return self.money is not None and spent + spent / max(1, asked_today) > self.money

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
