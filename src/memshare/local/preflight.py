"""What is looked at before workers are started, so that a person reads what is wrong at once."""

from __future__ import annotations

from collections.abc import Iterable

from memshare.agents.roster import load_roster
from memshare.broker.settings import Settings
from memshare.llm.limits.prices import load_prices
from memshare.llm.models import open_chat
from memshare.scorer.rubric import all_rubrics


def check(settings: Settings) -> None:
    """Raise `BadInput` for what a worker would refuse: a broken file, a model it cannot open, a missing key."""
    roster = load_roster(settings.agents_dir)
    all_rubrics(settings.agents_dir)
    load_prices(settings.prices)
    named = {agent.model for agent in roster.values() if agent.model}
    parts = {settings.model_for("agents"), settings.model_for("scorer"), settings.model_for("trainer")}
    check_models(settings, parts | named)


def check_models(settings: Settings, models: Iterable[str]) -> None:
    """Raise `BadInput` for a model that cannot be opened: an unknown name, a missing key. Nobody is called."""
    for model in models:
        open_chat(model, timeout=settings.model_timeout, connections=1)
