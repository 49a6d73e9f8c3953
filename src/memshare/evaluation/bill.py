"""What an experiment took, as its own Redis has counted it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from memshare.evaluation.folder import Run
from memshare_broker.settings import Settings
from memshare_llm.limits.prices import load_prices


def bill(paid: Mapping[str, float], started: float, settings: Settings) -> Run:
    """The calls, tokens and money among the metrics that were `paid`, by their fields in Redis."""
    calls: dict[str, int] = {}
    tokens: dict[str, dict[str, int]] = {}
    money = 0.0
    for field, amount in paid.items():
        name, labels = json.loads(field)
        if name == "memshare_model_calls_total":
            calls[labels["model"]] = calls.get(labels["model"], 0) + round(amount)
        elif name == "memshare_model_tokens_total":
            of_model = tokens.setdefault(labels["model"], {})
            of_model[labels["type"]] = of_model.get(labels["type"], 0) + round(amount)
        elif name == "memshare_model_money_total":
            money += amount
    currency = load_prices(settings.prices).currency
    return Run(
        started=started,
        seconds=round(time.time() - started, 1),
        calls=calls,
        tokens=tokens,
        money=money if currency else None,
        currency=currency,
    )
