"""What an experiment will take, before anything is paid for."""

from __future__ import annotations

from typing import NamedTuple

from broker.settings import Settings
from llm.prices import load_prices
from memshare.evaluation.evaluate import PREPARED, run
from memshare.evaluation.folder import Folder, read_preparation
from memshare.evaluation.rehearsal import Rehearsal
from memshare.evaluation.request import Request, plan_of


class Expected(NamedTuple):
    """What an experiment will take; the tokens, and so the money, are an estimate."""

    tasks: int
    calls: dict[str, int]
    tokens: dict[str, int]
    money: float
    unpriced: tuple[str, ...]
    currency: str | None


def expect(request: Request, settings: Settings) -> Expected:
    """Go through the experiment without calling anybody, and count."""
    rehearsal = Rehearsal(settings.model_for("scorer"), settings.model_for("trainer"), settings.scorer_votes)
    if Folder(request.out / request.experiment.name).result() is not None:
        return Expected(0, {}, {}, 0.0, (), None)
    known = read_preparation(request.out / PREPARED, plan_of(request, settings))
    run(request, rehearsal, settings, known)
    prices = load_prices(settings.prices)
    usages = {model: rehearsal.usage(model) for model in rehearsal.calls}
    return Expected(
        rehearsal.tasks,
        dict(rehearsal.calls),
        {model: usage.prompt_tokens + usage.completion_tokens for model, usage in usages.items()},
        sum(prices.cost(model, usage) for model, usage in usages.items()),
        tuple(model for model in usages if model != "offline" and prices.of(model) is None),
        prices.currency,
    )
